/* Found: what a search is asked, and what it finds. */
#ifndef DIT_SUITE_SEARCH_FOUND_H
#define DIT_SUITE_SEARCH_FOUND_H

#include "base/parallel.h"
#include "suite/explain/meshes.h"
#include "suite/platform/calibration.h"
#include "suite/simulate/bounds.h"
#include "suite/workload/workload.h"

typedef enum {
    SUITE_GOAL_LATENCY,    /* least seconds of one request on all devices                                        */
    SUITE_GOAL_THROUGHPUT, /* least seconds an image: all devices as replicas of one mesh, a request each        */
    SUITE_GOAL_MEMORY,     /* least bytes of the fullest rank on all devices; nothing is simulated               */
    SUITE_GOAL_COST,       /* least money for an image: so many devices as are rented out, as replicas of a mesh   */
    SUITE_GOAL_FRONT,      /* for each number of devices a replica can have, least seconds of one request        */
    SUITE_GOAL_COUNT
} suite_search_goal;
const char *suite_search_goal_name(suite_search_goal goal); /* "latency", "throughput", "memory", "cost", "front" */
const char *const *suite_search_goal_names(void);           /* all of them, NULL at the end               */

/* What so many devices of the platform cost an hour. */
typedef struct {
    int devices;
    double per_hour;
} suite_search_rent;
enum { SUITE_SEARCH_RENTS = 16 };

/* What is told of a search under way: `done` simulations are over, and at most `open` are still to come. */
typedef void (*suite_search_told)(void *context, int done, int open);

/* Zero and NULL mean the model's default run, one image, and what else a comment says. */
typedef struct {
    const char *model, *platform, *profile; /* required; a simulated platform, and the software on it */
    suite_search_goal goal;
    int64_t devices;     /* 0: all of the platform          */
    const char *element; /* NULL: fp16 */
    const char *scope;   /* NULL: "pipeline"                */
    int64_t width_px, height_px, num_frames, text_tokens, steps, num_images;
    suite_search_rent rents[SUITE_SEARCH_RENTS]; /* goal cost: [rent_count] in one currency, which is the caller's */
    int rent_count;
    bool approximate;         /* stages and displaced patches, too                                            */
    bool displaced;           /* those alone, without the exact ones                                          */
    const dit_parallel *mesh; /* this one alone, on as many devices as it has; NULL: all */
    /* goal latency: what these ask for, in place of what follows from the rest, on all devices, or those of `mesh`; NULL:
     * that */
    const suite_meshes_params *meshes;
    bool apart;          /* goal latency: exact meshes and displaced ones do not run against each other */
    bool untuned;        /* of each number of ranks only what nobody searches for: CFG, then Ulysses, then a ring */
    bool bounds_only;    /* simulate nothing: candidates stay open, by their bounds                      */
    bool exhaustive;     /* simulate every mesh that fits: for tests                                     */
    bool fresh;          /* neither read nor write the shape cache                                       */
    double within;       /* 0.02: stop when no mesh can be more than 2 % better; 0: when none can be better */
    double what_if;      /* 2: also which mesh would win if one part of the machine were twice as fast; 0: not asked */
    double scale_bounds; /* for a test that needs wrong bounds; 0: 1                                  */
    int at_once;         /* simulations; 0: as many as cores                                          */
    const char *engine;  /* NULL: ditbench-engine-sim beside this program                             */
    const suite_calibration *calibration; /* NULL: nothing                                            */
    suite_search_told told;               /* NULL: nobody                                             */
    void *context;                        /* of `told`                                                */
} suite_search_request;

typedef enum {
    SUITE_FOUND_OPEN,      /* goal memory: nothing was to be simulated      */
    SUITE_FOUND_SIMULATED, /* now, or before and kept                       */
    SUITE_FOUND_BOUND,     /* excluded: its bound is no better than the best */
    SUITE_FOUND_MEMORY,    /* excluded: a rank needs more than a device has */
    SUITE_FOUND_FAILED,    /* neither bound nor time: `code` and `reason`   */
    SUITE_FOUND_COUNT
} suite_search_state;
const char *suite_search_state_name(suite_search_state state); /* "open", "simulated", "bound", "memory", "failed" */

/* A legal mesh. Seconds are those of one request. */
typedef struct {
    char mesh[64]; /* its label, "u4 r2", "u2 pp2 24,33", "patch4 pcpp" */
    dit_parallel parallel;
    bool exact;
    int ranks, replicas; /* ranks of one replica; replicas on all devices, 1 but for throughput and cost */
    double per_hour;     /* goal cost: the rent of all of them */
    suite_search_state state;
    bool kept;              /* simulated before                                       */
    double seconds;         /* simulated; 0: not                                      */
    suite_bounds bounds;    /* bounds.largest: which bound it is; bounds.memory_bytes */
    double value;           /* what the goal makes least: seconds, bytes, or money for 1,000 images; 0: not known */
    double value_bound;     /* the value is no less                                   */
    double behind;          /* by what share value, or its bound, is above the best; NAN: there is no best */
    const suite_case *kase; /* with the document that was simulated; the search's   */
    char code[40], reason[300];
} suite_search_candidate;

/* A mesh that no rule allows. */
typedef struct {
    char mesh[64], code[40], reason[300];
    int ranks;
} suite_search_illegal;

/* What would be if a part of the machine were request.what_if times as fast, by bounds alone: the mesh with the lowest
 * bound then, among those of the winner's goal. */
typedef enum { SUITE_CHANGE_HOST, SUITE_CHANGE_LINKS, SUITE_CHANGE_DEVICE, SUITE_CHANGE_COUNT } suite_search_part;
const char *suite_search_part_name(suite_search_part part); /* "host", "links", "device" */
typedef struct {
    int first, before;        /* candidates: with the lowest bound then, and now; -1: not known */
    double bound_s, before_s; /* their bounds then */
} suite_search_change;

/* The candidates of one number of ranks. */
typedef struct {
    int ranks;
    int winner; /* index of the best candidate of so many ranks that has a value; -1: none, with goal throughput also where
                   all were excluded by bound */
    bool replicas_share_links; /* goals throughput, cost and front: replicas of so many ranks do; what they do to each
                                  other's messages is not counted */
    suite_workload workload;
} suite_search_size;

typedef struct {
    suite_search_request request;       /* as resolved: devices, scope */
    suite_search_candidate *candidates; /* by value, known ones first */
    int count;
    suite_search_illegal *illegal;
    int illegal_count;
    suite_search_size *sizes;
    int size_count;
    suite_workload *uneven; /* one for each mesh whose stages were cut anew */
    int uneven_count;
    int winner; /* of candidates; -1: none. With goal front that of the most devices; with request.apart of the exact ones */
    suite_shape_cache cache; /* where request.fresh does not forbid it, and there are candidates */
    int simulated, kept, by_bound, by_memory, failed; /* how many candidates; simulated: now */
    suite_search_change changes[SUITE_CHANGE_COUNT];  /* with request.what_if */
    double count_s, bounds_s, simulate_s;             /* of this machine's time: expanding, bounds, simulating */
} suite_search;

/* Accepts a zeroed one. */
void suite_search_release(suite_search *search);
/* Whether its value is known: goal memory has one without a simulation. */
bool suite_search_is_known(const suite_search_candidate *candidate);
/* Gives what a request of so many seconds, or the memory, is worth to the goal; less is better. */
double suite_search_value(const suite_search *search, const suite_search_candidate *candidate, double seconds);
/* Whether replicas of several sizes run against each other: goals throughput and cost. */
bool suite_search_has_replicas(suite_search_goal goal);
/* Gives the best candidate with a value, of those that are exact, or displaced; -1: there is none. */
int suite_search_best(const suite_search *search, bool exact);

/* What the simulations of a search, and its bounds, are told. Strings are the search's. */
suite_simulate_params suite_search_params(const suite_search *search);
/* Gives a word of the platform of the search's cases: "profile", "element"; "" without a case. */
const char *suite_search_word(const suite_search *search, const char *key);
/* Computes the bounds of the candidates which[count], bounds[count] in their order, with these parameters: of the first
 * rank of every stage, and of a displaced patch with one neighbour and one with two. They may come from `cache`, which
 * was opened with these parameters, and stay there; NULL: neither. Errors: those of suite_bounds_of. */
dit_status suite_search_bounds(const suite_search *search, const suite_simulate_params *params,
                               const suite_shape_cache *cache, const int *which, int count, suite_bounds *bounds);

#endif
