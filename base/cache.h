/* Cache: settings of what a run reuses from step to step instead of computing it, as in a case document.
 *
 * A step runs the first blocks, then either computes the blocks in the middle and keeps what they add to the stream, or
 * (a hit) adds what was kept, and then runs the last blocks. A policy decides which. Policies of kind `schedule` know
 * their steps before the run; `measured` ones compare tensors while they run. engine/cache/ runs them.
 *
 * Policies of modules (base/module.h) keep outputs of the modules of all blocks, before the gate, and a hit computes
 * what is left of the blocks: its modulation and its gates are those of the step.
 *
 * Sources: FBCache is ParaAttention's first-block cache; DBCache is cache-dit's; MagCache: Ma et al. (arXiv:2506.09045);
 * TeaCache: Liu et al. (arXiv:2411.19108); FORA: Selvaraju et al. (arXiv:2407.01425); TaylorSeer: Liu et al.
 * (arXiv:2503.06923), with the steps of diffusers' TaylorSeerCacheConfig; Pyramid Attention Broadcast: Zhao et al.
 * (arXiv:2408.12588); EasyCache: Zhou et al. (arXiv:2507.02860);
 * FasterCache: Lv et al. (arXiv:2410.19355), with the steps and the arithmetic of diffusers' FasterCacheConfig;
 * T-GATE: Zhang et al. (arXiv:2404.02747); DBPrune: cache-dit's; Delta-DiT: Chen et al. (arXiv:2406.01125), from its text, as it has no public program.
 */
#ifndef DIT_BASE_CACHE_H
#define DIT_BASE_CACHE_H

#include "base/facts.h"
#include "base/json_writer.h"
#include "base/parallel.h"
#include "base/patches.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Columns: constant; name; kind; what decides, for people. */
#define DIT_CACHE_LIST(X)                                                                                              \
    X(MASK, "mask", SCHEDULE, "a digit for each step: 1 computes, 0 reuses")                                           \
    X(INTERVAL, "interval", SCHEDULE, "every N-th step computes")                                                      \
    X(MAGCACHE, "magcache", SCHEDULE, "the product of known ratios of residuals, until it has drifted too far")        \
    X(FBCACHE, "fbcache", MEASURED, "how much the first block adds, against the last computed step")                   \
    X(DBCACHE, "dbcache", MEASURED, "how much the first blocks add, against the last computed step")                   \
    X(TEACACHE, "teacache", MEASURED, "a polynomial of how much the first block's input changes, summed over steps")   \
    X(TEACACHE_TIME, "teacache-time", MEASURED, "the same of the timestep's embedding, which all prompts share")       \
    X(FORA, "fora", SCHEDULE, "attentions and MLPs of all blocks in every N-th step")                                  \
    X(TAYLORSEER, "taylorseer", SCHEDULE, "the same, and forecasts of their outputs between")                          \
    X(PAB, "pab", SCHEDULE, "attentions of each kind at a range of its own, between two timesteps")                    \
    X(FASTERCACHE, "fastercache", SCHEDULE, "the same steps; between, attentions go on as from one step to the next")  \
    X(EASYCACHE, "easycache", MEASURED, "how much the latents change, times what outputs made of changes, summed")     \
    X(DBPRUNE, "dbprune", MEASURED, "of each block by itself: how much its input changed since it was computed last")  \
    X(TGATE, "tgate", SCHEDULE, "from a step on, cross-attention is kept, and one guidance branch is left out")        \
    X(MODULES, "modules", SCHEDULE, "a digit for each step and kind of attention or MLP: 1 computes, 0 reuses")        \
    X(DELTA, "delta", SCHEDULE, "every N-th step computes; early steps reuse the rear blocks, late ones the front")

typedef enum {
    DIT_CACHE_NONE,
#define DIT_CACHE_ENUM(constant, ...) DIT_CACHE_##constant,
    DIT_CACHE_LIST(DIT_CACHE_ENUM)
#undef DIT_CACHE_ENUM
        DIT_CACHE_COUNT
} dit_cache_policy;
typedef enum { DIT_CACHE_SCHEDULE, DIT_CACHE_MEASURED } dit_cache_kind;
/* Readings of other programs, which differ from the rules here (docs/caches.md). */
typedef enum {
    DIT_CACHE_CANONICAL, /* ParaAttention's                                                                          */
    DIT_CACHE_DIFFUSERS, /* a value at the threshold is reused                                                       */
    DIT_CACHE_XDIT,      /* a hit loses what the first block added; the reference is one step off what is reused     */
    DIT_CACHE_CACHE_DIT, /* counts hits in a row in its own way, and may reuse between first steps                   */
    DIT_CACHE_VARIANTS
} dit_cache_variant;
typedef enum { DIT_FORECAST_HOLD, DIT_FORECAST_TAYLOR, DIT_FORECAST_LINE, DIT_FORECAST_COUNT } dit_forecast;

enum { DIT_CACHE_MAX_STEPS = 1000, DIT_CACHE_MAX_ORDER = 2, DIT_CACHE_COEFFICIENTS = 5 };
/* Of policies that decide for each block: how many blocks a model may have, and digits of a replay, steps times blocks. */
enum { DIT_CACHE_MAX_BLOCKS = 128, DIT_CACHE_MAX_DIGITS = 1 << 13 };

/* All zeros: nothing is reused. Strings have a digit for each step, 1 for a computed one; "": none. */
typedef struct {
    dit_cache_policy policy;
    double threshold;    /* hits lie below it; 0 or less: there is none                                       */
    int first, last;     /* blocks of the whole model that every step runs, before and after the middle       */
    int warmup;          /* so many first steps are computed; 0 is as 1: the first step always is             */
    int max_hits;        /* in all; 0: any number                                                             */
    int max_consecutive; /* one after the other; 0: any number                                                */
    int hits; /* steps that are reused, where no more is known: replay has them evenly spread; 0: no such number */
    int blocks, cut; /* of delta: how many blocks are reused, at the rear before step `cut`, at the front from it on  */
    int unconditional; /* of fastercache: steps from one that runs both guidance branches to the next; 0: all do       */
    double lone_from, lone_to; /* of the same: the positive branch runs alone at timesteps between these              */
    char lone[DIT_CACHE_MAX_STEPS + 1]; /* of the same, a digit for each step: 0 both; 1 to 4 the positive one alone, by
                                           which weights grow; "": timesteps are not known                       */
    int gate; /* of tgate: the first step that reuses cross-attention and runs the positive branch alone */
    int interval; /* of interval, delta, fora, taylorseer: steps from one computed step to the next                             */
    bool mask_is_static;   /* a 0 of the mask reuses without a test; else it only allows the test               */
    dit_forecast forecast; /* what is added on a hit: what was kept, or an extrapolation of it                 */
    int order;             /* of the forecast: differences that it uses, 0 with hold                           */
    double weight;         /* of line: of its difference                                                       */
    double retention;      /* of magcache: the share of first steps that are computed                          */
    int ratio_count;       /* of magcache: how many ratios follow                                              */
    double ratios[DIT_CACHE_MAX_STEPS]; /* mean size of a step's residual over that of the step before        */
    double coefficients
        [DIT_CACHE_COEFFICIENTS]; /* of teacache, also by time: its polynomial, highest power first          */
    char mask[DIT_CACHE_MAX_STEPS + 1];
    char force[DIT_CACHE_MAX_STEPS + 1];   /* a 1 for each step that is computed whatever the policy says        */
    char replay[DIT_CACHE_MAX_STEPS + 1];  /* decisions of an earlier run, taken instead of deciding            */
    char always[DIT_CACHE_MAX_BLOCKS + 1]; /* of dbprune, a digit for each block: 1 is never reused; "": none  */
    unsigned char pruned[DIT_CACHE_MAX_DIGITS / 8]; /* of its replay, a bit for each block of each step: 1 reuses */
    int ranges
        [DIT_MODULE_COUNT]; /* of pab, fastercache and (from its gate on) tgate: steps from one computed output to the
                                     next; 0: computed in every step */
    double from, to;        /* of pab and fastercache: outputs are reused at timesteps between these        */
    char within[DIT_CACHE_MAX_STEPS + 1]; /* of these, a digit for each step: 1 between; "": timesteps are not known */
    dit_cache_variant variant;
    bool separate;       /* each guidance branch decides for itself, on ranks of its own                          */
    int warmup_interval; /* of cache-dit's variant: of the first steps, so many apart are computed; 0: all        */
    dit_module_set table[DIT_CACHE_MAX_STEPS]; /* of modules: the kinds that each step reuses                      */
    int table_steps;                           /* of it                                                            */
    bool dynamic;      /* of dbprune: each block's threshold follows its first values           */
    int replay_blocks; /* of dbprune's replay: digits of a step, a bit each in `pruned`; 0: none */
} dit_cache;

/* Names of policies without "none", and of forecasts, NULL at the end. */
const char *const *dit_cache_names(void);
const char *const *dit_forecast_names(void);
const char *dit_cache_name(dit_cache_policy policy); /* "none" for NONE */
const char *dit_cache_about(dit_cache_policy policy);
dit_cache_kind dit_cache_kind_of(dit_cache_policy policy);

/* Reads {"policy": "fbcache", "threshold": 0.08, ...}; unknown keys, and keys that the policy does not read, are errors.
 * Defaults are those in use: fbcache first 1, threshold 0.08; dbcache first 8, warmup 8, threshold 0.08; teacache
 * threshold 0.25. `steps`: of the run; 0: unknown, then strings and "force" may have any length. Errors: DIT_ERR_JSON_*. */
dit_status dit_cache_read(const dit_json *doc, const cJSON *object, const char *pointer, int steps, dit_cache *out);
/* Writes all that the policy reads, as dit_cache_read takes it; a mask as digits. */
void dit_cache_to_json(dit_json_writer *w, const dit_cache *cache, cJSON *object);
/* Writes "fbcache(0.08)", "dbcache(F8 b0 0.08)", "interval(3)", with "+taylor1" of a forecast. Where there are lists or
 * digits for steps, four digits tell them apart: "mask(17 of 28 #3f1a)". */
void dit_cache_label(const dit_cache *cache, char *out, size_t size);

/* True if kinds of modules have ranges of steps of their own, between two timesteps. */
bool dit_cache_has_ranges(const dit_cache *cache);
/* True if a reused output continues those of the two steps before, which may have been reused themselves. */
bool dit_cache_rolls(const dit_cache *cache);
/* True if some steps run the positive guidance branch alone; what is kept then is of this branch. */
bool dit_cache_has_lone_steps(const dit_cache *cache);
/* True if this step does. */
bool dit_cache_is_lone(const dit_cache *cache, int step);
/* Of fastercache, in such a step: weights of the low and the high frequencies of what the negative branch's output had
 * beyond the positive one's when both ran last. */
void dit_cache_branch_weights(const dit_cache *cache, int step, float weights[2]);
/* Returns the kinds of modules that the policy reuses; none: it reuses middle blocks. */
dit_module_set dit_cache_modules(const dit_cache *cache);
/* Returns the blocks of `layers` that a step may reuse: those in the middle; of delta, rear or front ones. */
dit_range dit_cache_middle(const dit_cache *cache, int64_t layers, int step);
/* True if a step has blocks after the reused ones, which read rows of text, too. */
bool dit_cache_keeps_text(const dit_cache *cache);
/* True if what is reused is neither blocks nor modules, but what the whole forward makes of its latents. */
bool dit_cache_is_of_outputs(const dit_cache *cache);
/* True if the policy decides for each block by itself. */
bool dit_cache_is_of_blocks(const dit_cache *cache);
/* True if it may reuse block `index` of `layers`: one in the middle that is not named. */
bool dit_cache_may_prune(const dit_cache *cache, int64_t index, int64_t layers);
/* Returns how many of them there are. */
int64_t dit_cache_prunable(const dit_cache *cache, int64_t layers);
/* True if the replay of a policy of blocks reuses this one in this step. */
bool dit_cache_replay_prunes(const dit_cache *cache, int step, int64_t block);
/* True if a polynomial of changes is summed over steps. */
bool dit_cache_sums_changes(const dit_cache *cache);
/* True if all ranks compare equal values, and exchange none. */
bool dit_cache_is_alike(const dit_cache *cache);
/* Returns the numbers that a rank sends in a test. */
int dit_cache_sums(const dit_cache *cache);
/* Tells a policy that goes by timesteps which ones the run has: float timestep[steps]. Does nothing to others. */
void dit_cache_place(dit_cache *cache, const float *timestep, int steps);
/* True if the policy goes by timesteps and does not know them yet: then its steps count as computed. */
bool dit_cache_awaits_timesteps(const dit_cache *cache);

/* Checks settings against the model, the mesh and the number of steps. Errors: DIT_ERR_CONSTRAINT_CACHE where the mesh
 * uses K and V of the step before and the policy tests, reuses modules, or leaves out a synchronous step; where first and
 * last leave no block between them, where the model lacks modules of the
 * policy, where strings have another length than the run, or where a step would reuse what was never computed. */
dit_status dit_cache_check(const dit_cache *cache, const dit_parallel *parallel, const dit_facts *facts);

/* True if decisions are known before the run: those of a schedule, of a static mask, replayed and counted ones. */
bool dit_cache_is_known(const dit_cache *cache);
/* True if it looks at the stream in every step: to decide or, with the variant of xdit, because a hit takes away what the
 * first block added. */
bool dit_cache_looks(const dit_cache *cache);
/* Errors: DIT_ERR_CONSTRAINT_CACHE where they are not, for those who compute nothing. */
dit_status dit_cache_check_known(const dit_cache *cache);
/* Why a step is computed or reused, a letter each: w first steps, f forced, m mask or schedule, k a limit, t a test, '.'
 * reused. DIT_CACHE_TEST: a test must decide. */
enum { DIT_CACHE_HIT = '.', DIT_CACHE_TEST = '?' };
/* What deciding remembers from step to step. All zeros before the first one. */
typedef struct {
    int step, hits, consecutive; /* consecutive: hits since the newest computed step                        */
    int counted;                 /* hits in a row, as cache-dit counts them                                 */
    double product, drift;       /* of magcache: the product of ratios less one, and the sum of its sizes   */
    double sum,
        tested; /* of teacache (also by time), easycache: since the newest computed step; what was compared last   */
} dit_cache_state;
/* Says what step `state->step` of `steps` does, as far as settings alone tell. Changes nothing. */
char dit_cache_plan(const dit_cache *cache, const dit_cache_state *state, int steps);
/* Returns what a test compares with the threshold, given what was measured: that itself, or its sum so far. */
double dit_cache_tested(const dit_cache *cache, dit_cache_state *state, double measured);
/* Says whether a tested value reuses: it lies below a threshold above 0; with the variant of diffusers, not above it. */
bool dit_cache_reuses(const dit_cache *cache, double tested);
/* Returns the kinds of modules that a step reuses, given its decision; 0 where the policy reuses blocks. */
dit_module_set dit_cache_reused(const dit_cache *cache, int step, char decision);
/* Takes note of the decision, which is a letter, and goes on to the next step. */
void dit_cache_note(const dit_cache *cache, dit_cache_state *state, int steps, char decision);
/* Writes the decisions of all steps, `steps` digits, 1 for a computed one. Those of a test are `otherwise`: 1 or 0. */
void dit_cache_decide_all(const dit_cache *cache, int steps, char otherwise, char *out);

/* What the closed forms need to know of a run's decisions. */
typedef struct {
    int64_t first, last;     /* blocks that run in every step, as in the settings */
    int64_t hits;            /* steps that reuse the blocks between               */
    int64_t ends, late_hits; /* of delta: so many blocks at one end are reused, and hits that reuse the front */
    int64_t tests;           /* steps at which ranks agree on a test              */
    bool separate;           /* guidance branches do not agree                     */
    bool alike;              /* all ranks test equal values, and exchange none     */
    int64_t more_sums;       /* numbers beyond two that a rank sends in a test     */
    bool of_modules;         /* what is reused are not those blocks, but modules  */
    int64_t modules[DIT_MODULE_COUNT];      /* steps that reuse those of each kind */
    int64_t lone;                           /* further steps, of the positive branch alone        */
    int64_t lone_modules[DIT_MODULE_COUNT]; /* those of them that reuse each kind               */
    bool of_blocks;                         /* what is reused are blocks, each by itself          */
    int64_t blocks[DIT_CACHE_MAX_BLOCKS];   /* steps that reuse each of them                   */
} dit_cache_use;
/* Counts a step that reuses these kinds of modules. */
void dit_cache_count_modules(const dit_cache *cache, int step, dit_module_set reused, dit_cache_use *use);
/* What settings alone tell of it. Steps that a test decides count as computed. */
dit_cache_use dit_cache_planned_use(const dit_cache *cache, int steps);

#ifdef __cplusplus
}
#endif
#endif
