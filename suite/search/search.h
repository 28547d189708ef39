/* Search: the best mesh of a model on a simulated machine, and why it is the best.
 *
 * Every legal mesh gets a lower bound of its simulated time (suite/simulate/bounds.h). Meshes are simulated in the order
 * of their bounds until the next bound is no lower than the best time found: all others are slower, so the answer is
 * that of simulating every mesh. What was simulated before is taken from the shape cache.
 *
 *     suite_search_request request = {.model = "flux.1-dev", .platform = "8xh100-sxm", .profile = "torch-compile",
 *                                     .goal = SUITE_GOAL_FRONT};
 *     suite_search found;
 *     DIT_TRY(suite_search_run(&request, &found));
 *     for (int i = 0; i < found.size_count; i++)
 *         if (found.sizes[i].winner >= 0) use(&found.candidates[found.sizes[i].winner]);
 *     suite_search_release(&found);
 */
#ifndef DIT_SUITE_SEARCH_SEARCH_H
#define DIT_SUITE_SEARCH_SEARCH_H

#include "base/parallel.h"
#include "suite/platform/calibration.h"
#include "suite/simulate/bounds.h"
#include "suite/workload/workload.h"

typedef enum {
    SUITE_GOAL_LATENCY,    /* least seconds of one request on all devices                                        */
    SUITE_GOAL_THROUGHPUT, /* least seconds an image: all devices as replicas of one mesh, a request each        */
    SUITE_GOAL_MEMORY,     /* least bytes of the fullest rank on all devices; nothing is simulated               */
    SUITE_GOAL_FRONT,      /* for each number of devices a replica can have, least seconds of one request        */
    SUITE_GOAL_COUNT
} suite_search_goal;
const char *suite_search_goal_name(suite_search_goal goal); /* "latency", "throughput", "memory", "front" */
const char *const *suite_search_goal_names(void);           /* all of them, NULL at the end               */
bool suite_search_goal_from_name(const char *name, suite_search_goal *out);

/* What is told of a search under way: `done` simulations are over, and at most `open` are still to come. */
typedef void (*suite_search_told)(void *context, int done, int open);

/* Zero and NULL mean the model's default run, one image, and what else a comment says. */
typedef struct {
    const char *model, *platform, *profile; /* required; a simulated platform, and the software on it */
    suite_search_goal goal;
    int64_t devices;     /* 0: all of the platform          */
    const char *element; /* NULL: what the platform computes in */
    const char *scope;   /* NULL: "pipeline"                */
    int64_t width_px, height_px, num_frames, text_tokens, steps, num_images;
    bool approximate;    /* stages and displaced patches, too                                            */
    bool exhaustive;     /* simulate every mesh that fits: for tests                                     */
    bool fresh;          /* neither read nor write the shape cache                                       */
    double within;       /* 0.02: stop when no mesh can be more than 2 % better; 0: when none can be better */
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
    char mesh[64]; /* its label, "u4 r2" */
    dit_parallel parallel;
    bool exact;
    int ranks, replicas; /* ranks of one replica; replicas on all devices, 1 but for throughput */
    suite_search_state state;
    bool kept;              /* simulated before                                       */
    double seconds;         /* simulated; 0: not                                      */
    suite_bounds bounds;    /* bounds.largest: which bound it is; bounds.memory_bytes */
    double value;           /* what the goal makes least; 0: not known                */
    double value_bound;     /* the value is no less                                   */
    double behind;          /* by what share value, or its bound, is above the best   */
    const suite_case *kase; /* with the document that was simulated; the search's   */
    char code[40], reason[300];
} suite_search_candidate;

/* A mesh that no rule allows. */
typedef struct {
    char mesh[64], code[40], reason[300];
    int ranks;
} suite_search_illegal;

/* The candidates of one number of ranks. */
typedef struct {
    int ranks, winner; /* index of the best candidate; -1: none fits; with goal throughput of all sizes together */
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
    int winner; /* of candidates; -1: none. With goal front that of the most devices */
    int simulated, kept, by_bound, by_memory, failed; /* how many candidates; simulated: now */
    bool replicas_share_links; /* goal throughput: what replicas do to each other's messages is not counted */
    double count_s, bounds_s, simulate_s; /* of this machine's time: expanding, bounds, simulating */
} suite_search;

/* Searches. The caller releases `out`, which accepts a zeroed one. Errors: DIT_ERR_NOT_FOUND; DIT_ERR_USAGE for a
 * platform that is not simulated or has fewer devices; those of suite_bounds_of; DIT_ERR_INTERRUPTED. That no mesh fits
 * is no error: winner is -1. */
dit_status suite_search_run(const suite_search_request *request, suite_search *out);
void suite_search_release(suite_search *search);

#endif
