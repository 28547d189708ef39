#include "base/cache_impl.h"

#include <math.h>

/* ---- names ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    dit_cache_kind kind;
    const char *about;
} rows[DIT_CACHE_COUNT] = {[DIT_CACHE_NONE] = {"none", DIT_CACHE_SCHEDULE, "every step is computed"},
#define CACHE_ROW(constant, name, kind, about) [DIT_CACHE_##constant] = {name, DIT_CACHE_##kind, about},
                           DIT_CACHE_LIST(CACHE_ROW)
#undef CACHE_ROW
};

const char *const *dit_cache_names(void)
{
    static const char *const names[] = {
#define CACHE_NAME(constant, name, ...) name,
        DIT_CACHE_LIST(CACHE_NAME)
#undef CACHE_NAME
            NULL};
    return names;
}

const char *const *dit_forecast_names(void)
{
    static const char *const words[DIT_FORECAST_COUNT + 1] = {"hold", "taylor", "line", NULL};
    return words;
}

const char *const *dit_cache_variant_words(void)
{
    static const char *const words[DIT_CACHE_VARIANTS + 1] = {"canonical", "diffusers", "xdit", "cache-dit", NULL};
    return words;
}

const char *const *dit_cache_keys(dit_cache_policy policy)
{
#define COMMON "policy", "warmup", "max_hits", "max_consecutive", "force", "forecast", "replay"
    static const char *const mask[] = {COMMON, "mask", "first", "last", NULL};
    static const char *const interval[] = {COMMON, "interval", NULL};
    static const char *const magcache[] = {COMMON, "threshold", "ratios", "retention", NULL};
    static const char *const fbcache[] = {
        COMMON, "hits", "cfg", "threshold", "mask", "mask_policy", "variant", "warmup_interval", NULL};
    static const char *const teacache[] = {COMMON, "hits", "cfg", "threshold", "coefficients", NULL};
    static const char *const teacache_time[] = {COMMON, "hits", "threshold", "coefficients", NULL};
    static const char *const dbcache[] = {COMMON,  "hits", "cfg",     "threshold",       "mask", "mask_policy",
                                          "first", "last", "variant", "warmup_interval", NULL};
    static const char *const fora[] = {"policy", "warmup", "max_hits", "max_consecutive",
                                       "force",  "replay", "interval", NULL};
    static const char *const taylorseer[] = {COMMON, "interval", NULL};
    static const char *const pab[] = {"policy", "attention", "temporal", "cross", "timesteps", NULL};
    static const char *const fastercache[] = {
        "policy", "attention", "temporal", "timesteps", "weight", "unconditional", "unconditional_timesteps", NULL};
    static const char *const tgate[] = {"policy", "gate", "attention", NULL};
    static const char *const modules[] = {"policy", "attention", "temporal", "cross", "mlp", "fused", NULL};
    static const char *const delta[] = {"policy", "interval", "blocks", "cut", "warmup", NULL};
    static const char *const easycache[] = {COMMON, "threshold", NULL};
    static const char *const dbprune[] = {"policy", "cfg",     "threshold", "first",  "last", "warmup",
                                          "force",  "dynamic", "always",    "replay", NULL};
#undef COMMON
    static const char *const *const all[DIT_CACHE_COUNT] = {[DIT_CACHE_MASK] = mask,
                                                            [DIT_CACHE_INTERVAL] = interval,
                                                            [DIT_CACHE_MAGCACHE] = magcache,
                                                            [DIT_CACHE_FBCACHE] = fbcache,
                                                            [DIT_CACHE_DBCACHE] = dbcache,
                                                            [DIT_CACHE_TEACACHE_TIME] = teacache_time,
                                                            [DIT_CACHE_TEACACHE] = teacache,
                                                            [DIT_CACHE_FORA] = fora,
                                                            [DIT_CACHE_PAB] = pab,
                                                            [DIT_CACHE_TAYLORSEER] = taylorseer,
                                                            [DIT_CACHE_EASYCACHE] = easycache,
                                                            [DIT_CACHE_DBPRUNE] = dbprune,
                                                            [DIT_CACHE_MODULES] = modules,
                                                            [DIT_CACHE_DELTA] = delta,
                                                            [DIT_CACHE_FASTERCACHE] = fastercache,
                                                            [DIT_CACHE_TGATE] = tgate};
    return all[policy];
}

const char *dit_cache_name(dit_cache_policy policy)
{
    return rows[policy].name;
}

const char *dit_cache_about(dit_cache_policy policy)
{
    return rows[policy].about;
}

dit_cache_kind dit_cache_kind_of(dit_cache_policy policy)
{
    return rows[policy].kind;
}

/* ---- modules ----------------------------------------------------------------------------------------------------- */

bool dit_cache_has_ranges(const dit_cache *cache)
{
    return cache->policy == DIT_CACHE_PAB || cache->policy == DIT_CACHE_FASTERCACHE;
}

bool dit_cache_rolls(const dit_cache *cache)
{
    return cache->policy == DIT_CACHE_FASTERCACHE;
}

bool dit_cache_has_lone_steps(const dit_cache *cache)
{
    return cache->policy == DIT_CACHE_TGATE || cache->unconditional > 0;
}

bool dit_cache_is_lone(const dit_cache *cache, int step)
{
    if (cache->policy == DIT_CACHE_TGATE) return step >= cache->gate;
    return cache->lone[0] && cache->lone[step] != '0';
}

/* What a digit of `lone` says of the weights of low and high frequencies, beyond 1. */
enum { LOW_GROWS = 1, HIGH_GROWS = 2 };

void dit_cache_branch_weights(const dit_cache *cache, int step, float weights[2])
{
    const float growth = 1.1f; /* of the paper, section 3.3, and of diffusers */
    weights[0] = weights[1] = 1;
    for (; dit_cache_is_lone(cache, step); step--) {
        int grows = cache->lone[step] - '1';
        if (grows & LOW_GROWS) weights[0] *= growth;
        if (grows & HIGH_GROWS) weights[1] *= growth;
    }
}

/* Says which steps run the positive branch alone, and at which of them weights grow; timesteps are diffusers'. */
static void place_lone(dit_cache *cache, const float *timestep, int steps)
{
    for (int step = 0; step < steps; step++) {
        float t = timestep[step];
        bool lone = step % cache->unconditional && t > cache->lone_from && t < cache->lone_to;
        int grows = (t > 99 && t < 901 ? LOW_GROWS : 0) | (t > -1 && t < 301 ? HIGH_GROWS : 0);
        cache->lone[step] = (char)(lone ? '1' + grows : '0');
    }
    cache->lone[steps] = 0;
}

dit_module_set dit_cache_modules(const dit_cache *cache)
{
    dit_module_set set = cache->policy == DIT_CACHE_TGATE ? 1 << DIT_MODULE_CROSS : 0;
    if (cache->policy == DIT_CACHE_FORA || cache->policy == DIT_CACHE_TAYLORSEER) return DIT_MODULES_ALL;
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++)
        if (cache->ranges[kind]) set |= (dit_module_set)(1 << kind);
    for (int step = 0; step < cache->table_steps; step++) set |= cache->table[step];
    return set;
}

dit_range dit_cache_middle(const dit_cache *cache, int64_t layers, int step)
{
    if (cache->policy != DIT_CACHE_DELTA) return (dit_range){cache->first, layers - cache->first - cache->last};
    return (dit_range){step < cache->cut ? layers - cache->blocks : 0, cache->blocks};
}

bool dit_cache_keeps_text(const dit_cache *cache)
{
    return cache->last > 0 || dit_cache_is_of_blocks(cache) || cache->policy == DIT_CACHE_DELTA;
}

bool dit_cache_is_of_outputs(const dit_cache *cache)
{
    return cache->policy == DIT_CACHE_EASYCACHE;
}

bool dit_cache_is_of_blocks(const dit_cache *cache)
{
    return cache->policy == DIT_CACHE_DBPRUNE;
}

bool dit_cache_may_prune(const dit_cache *cache, int64_t index, int64_t layers)
{
    return index >= cache->first && index < layers - cache->last &&
           !(index < DIT_CACHE_MAX_BLOCKS && cache->always[0] && cache->always[index] == '1');
}

int64_t dit_cache_prunable(const dit_cache *cache, int64_t layers)
{
    int64_t count = 0;
    for (int64_t index = 0; index < layers; index++) count += dit_cache_may_prune(cache, index, layers);
    return count;
}

bool dit_cache_replay_prunes(const dit_cache *cache, int step, int64_t block)
{
    int64_t bit = (int64_t)step * cache->replay_blocks + block;
    return block < cache->replay_blocks && cache->pruned[bit / 8] >> bit % 8 & 1;
}

bool dit_cache_sums_changes(const dit_cache *cache)
{
    return cache->policy == DIT_CACHE_TEACACHE || cache->policy == DIT_CACHE_TEACACHE_TIME;
}

bool dit_cache_is_alike(const dit_cache *cache)
{
    return cache->policy == DIT_CACHE_TEACACHE_TIME;
}

int dit_cache_sums(const dit_cache *cache)
{
    return cache->policy == DIT_CACHE_EASYCACHE ? 4 : 2;
}

bool dit_cache_awaits_timesteps(const dit_cache *cache)
{
    return dit_cache_has_ranges(cache) && !cache->within[0];
}

void dit_cache_place(dit_cache *cache, const float *timestep, int steps)
{
    if (cache->unconditional) place_lone(cache, timestep, steps);
    if (!dit_cache_has_ranges(cache)) return;
    for (int step = 0; step < steps; step++)
        cache->within[step] = timestep[step] > cache->from && timestep[step] < cache->to ? '1' : '0';
    cache->within[steps] = 0;
}

/* The kinds that are reused by their ranges: an output is computed in every range-th step, counted from the first. */
static dit_module_set broadcast(const dit_cache *cache, int step)
{
    dit_module_set set = 0;
    if (!cache->within[0] || cache->within[step] != '1') return 0;
    if (cache->unconditional && !dit_cache_is_lone(cache, step)) return 0; /* both branches compute */
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++)
        if (cache->ranges[kind] && step % cache->ranges[kind]) set |= (dit_module_set)(1 << kind);
    return set;
}

/* What tgate reuses: nothing before its gate. */
static dit_module_set gated(const dit_cache *cache, int step)
{
    int range = cache->ranges[DIT_MODULE_ATTENTION];
    if (step < cache->gate) return 0;
    return (dit_module_set)(1 << DIT_MODULE_CROSS |
                            (range && (step - cache->gate) % range ? 1 << DIT_MODULE_ATTENTION : 0));
}

dit_module_set dit_cache_reused(const dit_cache *cache, int step, char decision)
{
    if (decision != DIT_CACHE_HIT) return 0;
    if (cache->policy == DIT_CACHE_MODULES) return cache->table[step];
    if (cache->policy == DIT_CACHE_TGATE) return gated(cache, step);
    return dit_cache_has_ranges(cache) ? broadcast(cache, step) : dit_cache_modules(cache);
}

/* ---- decisions --------------------------------------------------------------------------------------------------- */

bool dit_cache_is_known(const dit_cache *cache)
{
    return cache->replay[0] || cache->hits || cache->mask_is_static ||
           dit_cache_kind_of(cache->policy) == DIT_CACHE_SCHEDULE;
}

bool dit_cache_looks(const dit_cache *cache)
{
    return !dit_cache_is_known(cache) || cache->variant == DIT_CACHE_XDIT;
}

dit_status dit_cache_check_known(const dit_cache *cache)
{
    if (dit_cache_is_known(cache)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "a simulation cannot know what %s will decide",
                                   dit_cache_name(cache->policy)),
                          "name its decisions (\"replay\": a digit for each step; \"hits\": how many steps it reuses, "
                          "which are spread evenly), or take a mask or an interval");
}

/* The ratio of step `step`: the nearest of those that were measured with another number of steps, ties to even. */
static double ratio_of(const dit_cache *cache, int step, int steps)
{
    if (steps < 2 || step == 0) return 1;
    return cache->ratios[(int)nearbyint((double)step * (cache->ratio_count - 1) / (steps - 1))];
}

static bool ratios_count(const dit_cache *cache, int step, int steps)
{
    return cache->policy == DIT_CACHE_MAGCACHE && step >= (int)(cache->retention * steps + 0.5);
}

static char plan_magcache(const dit_cache *cache, const dit_cache_state *state, int steps)
{
    double product = (1 + state->product) * ratio_of(cache, state->step, steps);
    if (!ratios_count(cache, state->step, steps)) return 'm';
    return cache->threshold > 0 && state->drift + fabs(1 - product) <= cache->threshold ? DIT_CACHE_HIT : 't';
}

/* What the policy itself says of a step that neither warm-up nor force nor a limit decides. */
static char plan_policy(const dit_cache *cache, const dit_cache_state *state, int steps)
{
    int step = state->step;
    switch (cache->policy) {
    case DIT_CACHE_TAYLORSEER: return (step - cache->warmup - 1) % cache->interval == 0 ? 'm' : DIT_CACHE_HIT;
    case DIT_CACHE_FASTERCACHE:
    case DIT_CACHE_PAB: return broadcast(cache, step) || dit_cache_is_lone(cache, step) ? DIT_CACHE_HIT : 'm';
    case DIT_CACHE_DELTA: /* what the other end added is of no use beyond the cut */
        return step % cache->interval == 0 || step == cache->cut || step == steps - 1 ? 'm' : DIT_CACHE_HIT;
    case DIT_CACHE_TGATE: return step >= cache->gate ? DIT_CACHE_HIT : 'm';
    case DIT_CACHE_MODULES: return cache->table[step] ? DIT_CACHE_HIT : 'm';
    case DIT_CACHE_FORA:
    case DIT_CACHE_INTERVAL: return step % cache->interval == 0 || step == steps - 1 ? 'm' : DIT_CACHE_HIT;
    case DIT_CACHE_MAGCACHE: return plan_magcache(cache, state, steps);
    case DIT_CACHE_MASK: return DIT_CACHE_HIT; /* the mask allows it */
    case DIT_CACHE_TEACACHE_TIME:
    case DIT_CACHE_TEACACHE: return step == steps - 1 ? 'm' : DIT_CACHE_TEST;
    case DIT_CACHE_EASYCACHE: /* two computed steps tell what outputs make of changes */
        return step == steps - 1 || step - state->hits < 2 ? 'm' : DIT_CACHE_TEST;
    default: return cache->mask_is_static ? DIT_CACHE_HIT : DIT_CACHE_TEST;
    }
}

/* One of the first steps, which compute; cache-dit may leave some of them to the test. */
static bool is_first(const dit_cache *cache, int step)
{
    return step < cache->warmup && (!cache->warmup_interval || step % cache->warmup_interval == 0);
}

char dit_cache_plan(const dit_cache *cache, const dit_cache_state *state, int steps)
{
    int step = state->step;
    if (cache->policy == DIT_CACHE_NONE) return 'm';
    if (cache->replay[0]) return cache->replay[step] == '1' ? 'm' : DIT_CACHE_HIT;
    if (step == 0 || is_first(cache, step)) return 'w';
    if (cache->force[0] && cache->force[step] == '1') return 'f';
    if (cache->mask[0] && cache->mask[step] == '1') return 'm';
    char policy = plan_policy(cache, state, steps);
    if (policy != DIT_CACHE_HIT && policy != DIT_CACHE_TEST) return policy;
    if (cache->max_hits && state->hits >= cache->max_hits) return 'k';
    int row = cache->variant == DIT_CACHE_CACHE_DIT ? state->counted : state->consecutive;
    if (cache->max_consecutive && row >= cache->max_consecutive) return 'k';
    return policy;
}

double dit_cache_tested(const dit_cache *cache, dit_cache_state *state, double measured)
{
    double value = 0;
    if (cache->policy == DIT_CACHE_EASYCACHE) return state->tested = state->sum + measured;
    if (!dit_cache_sums_changes(cache)) return state->tested = measured;
    for (int i = 0; i < DIT_CACHE_COEFFICIENTS; i++) value = value * measured + cache->coefficients[i];
    return state->tested = state->sum + value;
}

bool dit_cache_reuses(const dit_cache *cache, double tested)
{
    if (cache->variant == DIT_CACHE_DIFFUSERS) return tested <= cache->threshold;
    return cache->threshold > 0 && tested < cache->threshold;
}

/* cache-dit begins to count at the second hit of a row, with 2, and at the very first hit; only the limit sets it back. */
static int count_in_a_row(const dit_cache_state *state, char decision)
{
    if (decision == 'k') return 0;
    if (decision != DIT_CACHE_HIT) return state->counted;
    if (state->hits == 0) return state->counted + 1;
    if (state->consecutive == 0) return state->counted;
    return state->counted + (state->counted == 0 ? 2 : 1);
}

void dit_cache_note(const dit_cache *cache, dit_cache_state *state, int steps, char decision)
{
    bool hit = decision == DIT_CACHE_HIT;
    state->sum = hit ? state->tested : 0;
    if (hit && ratios_count(cache, state->step, steps)) {
        state->product = (1 + state->product) * ratio_of(cache, state->step, steps) - 1;
        state->drift += fabs(state->product);
    }
    if (!hit) state->product = state->drift = 0;
    state->counted = count_in_a_row(state, decision);
    state->hits += hit;
    state->consecutive = hit ? state->consecutive + 1 : 0;
    state->step++;
}

void dit_cache_decide_all(const dit_cache *cache, int steps, char otherwise, char *out)
{
    dit_cache_state state = {0};
    for (int step = 0; step < steps; step++) {
        char decision = dit_cache_plan(cache, &state, steps);
        if (decision == DIT_CACHE_TEST) decision = otherwise == '1' ? 't' : DIT_CACHE_HIT;
        out[step] = decision == DIT_CACHE_HIT ? '0' : '1';
        dit_cache_note(cache, &state, steps, decision);
    }
    out[steps] = 0;
}

void dit_cache_count_modules(const dit_cache *cache, int step, dit_module_set reused, dit_cache_use *use)
{
    bool lone = dit_cache_is_lone(cache, step);
    int64_t *modules = lone ? use->lone_modules : use->modules;
    use->lone += lone;
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++) modules[kind] += dit_module_in(reused, (dit_module)kind);
}

dit_cache_use dit_cache_planned_use(const dit_cache *cache, int steps)
{
    dit_cache_use use = {.first = cache->first,
                         .last = cache->last,
                         .ends = cache->blocks,
                         .separate = cache->separate,
                         .alike = dit_cache_is_alike(cache),
                         .more_sums = dit_cache_sums(cache) - 2,
                         .of_modules = dit_cache_modules(cache),
                         .of_blocks = dit_cache_is_of_blocks(cache)};
    dit_cache_state state = {0};
    while (state.step < steps) {
        char decision = dit_cache_plan(cache, &state, steps);
        dit_cache_count_modules(cache, state.step, dit_cache_reused(cache, state.step, decision), &use);
        for (int block = 0; block < cache->replay_blocks; block++)
            use.blocks[block] += dit_cache_replay_prunes(cache, state.step, block);
        use.tests += decision == DIT_CACHE_TEST;
        use.hits += decision == DIT_CACHE_HIT;
        use.late_hits += decision == DIT_CACHE_HIT && state.step >= cache->cut;
        dit_cache_note(cache, &state, steps, decision == DIT_CACHE_TEST ? 't' : decision);
    }
    return use;
}
