/* Says which caches are legal for a model and a mesh. */
#include "base/cache.h"

#include "base/patches.h"

#include <string.h>

static dit_status check_blocks(const dit_cache *cache, const dit_facts *facts)
{
    int64_t both = (int64_t)cache->first + cache->last;
    if (both >= facts->layers)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE,
                                       "first %d and last %d leave none of %s's %lld blocks between them", cache->first,
                                       cache->last, facts->family, (long long)facts->layers),
                              "a cache reuses the blocks in the middle: take fewer first and last ones");
    if (facts->skips && cache->last > cache->first && !dit_cache_is_of_blocks(cache))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "last %d is above first %d", cache->last, cache->first),
            "the last blocks of %s take outputs of the first ones, which every step must run", facts->family);
    return DIT_OK;
}

/* Of delta, which reuses blocks at either end. */
static dit_status check_ends(const dit_cache *cache, const dit_facts *facts)
{
    if (cache->policy != DIT_CACHE_DELTA) return DIT_OK;
    if (cache->blocks >= facts->layers)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "delta reuses %d of %s's %lld blocks", cache->blocks,
                                       facts->family, (long long)facts->layers),
                              "some blocks must run in every step: take fewer");
    if (facts->skips && cache->cut < facts->steps)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "delta reuses the first blocks of %s from step %d on",
                                       facts->family, cache->cut),
                              "its last blocks take outputs of the first ones, which every step must run: a cut at the "
                              "number of steps reuses the rear blocks alone");
    return DIT_OK;
}

/* Branches of one rank are one forward, which computes or reuses for both. */
static dit_status check_branches(const dit_cache *cache, const dit_parallel *parallel, const dit_facts *facts)
{
    if (!cache->separate || dit_parallel_degree(parallel, DIT_AXIS_CFG) > 1) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "cfg separate without a cfg degree of 2"),
        facts->guidance_branches < 2
            ? "%s computes one branch here: leave \"cfg\" out"
            : "both branches of %s are one forward on a rank: give each ranks of its own, or leave \"cfg\" out",
        facts->family);
}

/* Of steps that run the positive branch alone. */
static dit_status check_lone_steps(const dit_cache *cache, const dit_parallel *parallel, const dit_facts *facts)
{
    const char *name = dit_cache_name(cache->policy);
    if (!dit_cache_has_lone_steps(cache)) return DIT_OK;
    if (facts->guidance_branches < 2)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "%s on %s, which computes one branch here", name, facts->family),
            "it leaves out the negative branch of guidance, and there is none");
    if (!facts->lone_branch)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "%s on %s, whose branches are one batch throughout",
                                       name, facts->family),
                              "PixArt and Latte compute the positive branch alone");
    int64_t sharing =
        (int64_t)dit_parallel_degree(parallel, DIT_AXIS_ULYSSES) * dit_parallel_degree(parallel, DIT_AXIS_RING);
    if (cache->unconditional && sharing > 1)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE,
                     "%s with unconditional steps on %lld ranks that share "
                     "an image",
                     name, (long long)sharing),
            "frequencies of a picture need all its rows, and a rank has some: leave \"unconditional\" "
            "out, or use tensor or data ranks");
    if (dit_parallel_degree(parallel, DIT_AXIS_CFG) == 1) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "%s with a cfg degree of %d", name,
                                   dit_parallel_degree(parallel, DIT_AXIS_CFG)),
                          "ranks of the branch that is left out would wait: leave cfg_degree out");
}

/* Of a test of the timestep's embedding. */
static dit_status check_timestep(const dit_cache *cache, const dit_facts *facts)
{
    if (cache->policy != DIT_CACHE_TEACACHE_TIME || facts->time_width) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE,
                                   "teacache-time on %s, which embeds the timestep together "
                                   "with the prompt",
                                   facts->family),
                          "CogVideoX, Wan, PixArt and Latte embed it alone; teacache takes the first block's input");
}

static dit_status check_length(const char *what, const char *digits, int64_t steps)
{
    if (!digits[0] || (int64_t)strlen(digits) == steps) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "the cache's %s has %d steps, but the run has %lld", what,
                                   (int)strlen(digits), (long long)steps),
                          "write a digit for each step");
}

static dit_status check_modules(const dit_cache *cache, const dit_facts *facts)
{
    static const char *const names[] = {
#define MODULE_MEANING(constant, name, meaning) meaning,
        DIT_MODULE_LIST(MODULE_MEANING)
#undef MODULE_MEANING
    };
    const dit_block_run all = dit_facts_blocks(facts, 0, facts->layers);
    const dit_module_set wanted = dit_cache_modules(cache);
    if (cache->policy == DIT_CACHE_FORA || cache->policy == DIT_CACHE_TAYLORSEER) return DIT_OK;
    if (dit_cache_has_ranges(cache) && all.modules[DIT_MODULE_FUSED].both)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE,
                                       "%s on %s, in whose single blocks attention has no output of its own",
                                       dit_cache_name(cache->policy), facts->family),
                              "fora and taylorseer reuse what such a block adds as a whole");
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++)
        if (dit_module_in(wanted, (dit_module)kind) && !all.modules[kind].image && !all.modules[kind].both)
            return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "%s reuses %s, which %s does not have",
                                           dit_cache_name(cache->policy), dit_module_names()[kind], facts->family),
                                  "\"%s\" is %s: leave it out", dit_module_names()[kind], names[kind]);
    return DIT_OK;
}

/* Of policies that decide for each block. */
static dit_status check_each_block(const dit_cache *cache, const dit_facts *facts)
{
    if (!dit_cache_is_of_blocks(cache)) return DIT_OK;
    if (facts->layers > DIT_CACHE_MAX_BLOCKS)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "dbprune on %lld blocks", (long long)facts->layers),
                              "it decides for %d blocks at most", (int)DIT_CACHE_MAX_BLOCKS);
    const char *beyond = cache->always[0] ? strchr(cache->always + facts->layers, '1') : NULL;
    if (beyond)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "\"always\" names block %d of %lld",
                                       (int)(beyond - cache->always), (long long)facts->layers),
                              "blocks are counted from 0");
    if (dit_cache_prunable(cache, facts->layers) == 0)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "dbprune may reuse none of %s's blocks", facts->family),
            "take fewer first, last and \"always\" ones");
    if (cache->replay_blocks && cache->replay_blocks != facts->layers)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "the cache's replay has %d blocks, but %s has %lld",
                                       cache->replay_blocks, facts->family, (long long)facts->layers),
                              "write a digit for each block of a step");
    return DIT_OK;
}

/* Of a replay for each block: what was never computed, and what the settings compute always, cannot be reused. */
static dit_status check_block_replay(const dit_cache *cache, const dit_facts *facts)
{
    for (int step = 0; cache->replay[step] && cache->replay_blocks; step++)
        for (int64_t block = 0; block < facts->layers; block++)
            if (dit_cache_replay_prunes(cache, step, block) && !dit_cache_may_prune(cache, block, facts->layers))
                return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE,
                                               "step %d of the cache's replay reuses block %lld, which its settings "
                                               "compute in every step",
                                               step, (long long)block),
                                      "first, last and \"always\" blocks are never reused");
    return DIT_OK;
}

/* Beside K and V of other steps, whole blocks are reused at steps that are known. The legality of lengths is checked. */
static dit_status check_displaced(const dit_cache *cache, const dit_parallel *parallel, const dit_facts *facts)
{
    char digits[DIT_CACHE_MAX_STEPS + 1];
    bool known = dit_cache_is_known(cache), whole = !dit_cache_modules(cache) && !dit_cache_is_of_blocks(cache);
    if (!dit_parallel_is_displaced(parallel)) return DIT_OK;
    if (!known || !whole || dit_cache_is_of_outputs(cache) || cache->variant == DIT_CACHE_XDIT ||
        cache->policy == DIT_CACHE_DELTA || cache->separate)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "%s beside stages or displaced patches", dit_cache_name(cache->policy)),
            !known ? "its tests compare rows whose K and V have different ages; mask, interval and magcache know their "
                     "steps before the run, as replay does"
            : whole ? "what is reused there is what one run of blocks adds, as with mask, interval and magcache"
                    : "it reuses attentions, whose K and V other ranks await in every step; mask, interval and "
                      "magcache reuse whole blocks");
    dit_cache_decide_all(cache, (int)facts->steps, '1', digits);
    const char *first = strchr(digits, '0');
    if (!first || first - digits >= parallel->warmup_steps) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "%s reuses step %d, which is synchronous",
                                   dit_cache_name(cache->policy), (int)(first - digits)),
                          "the first %d steps (warmup_steps) bring all K and V up to date: compute them, as "
                          "\"warmup\": %d does",
                          parallel->warmup_steps, parallel->warmup_steps);
}

/* Around reused attention the stream would still be exchanged. */
static dit_status check_switch(const dit_cache *cache, const dit_parallel *parallel)
{
    if (parallel->ring_method != DIT_RING_SWITCH || !dit_cache_modules(cache)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "%s, which reuses modules, beside %s",
                                   dit_cache_name(cache->policy), dit_ring_method_name(DIT_RING_SWITCH)),
                          "the stream is exchanged around each block, whatever runs inside: reuse whole blocks, or use "
                          "ulysses or ring");
}

/* The oracle of frames makes a step in several sweeps, in which a cache would count as many steps; blocks of a stream are
 * at steps of their own. */
static dit_status check_frames(const dit_cache *cache, const dit_parallel *parallel)
{
    bool streams = dit_parallel_streams(parallel);
    if (!dit_parallel_cuts_frames(parallel) && !streams) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "%s beside %s", dit_cache_name(cache->policy),
                                   streams ? dit_stage_method_name(parallel->stage_method)
                                           : dit_patch_method_name(parallel->patch_method)),
                          "nothing checks what a cached run must give there: set cache to none");
}

dit_status dit_cache_check(const dit_cache *cache, const dit_parallel *parallel, const dit_facts *facts)
{
    if (cache->policy == DIT_CACHE_NONE) return DIT_OK;
    if (facts->steps > DIT_CACHE_MAX_STEPS)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "a cache beside %lld steps", (long long)facts->steps),
                              "a cached run has at most %d steps", (int)DIT_CACHE_MAX_STEPS);
    if (facts->two_transformers)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "a cache beside two transformers"),
                              "what the first one kept says nothing of the second: set cache to none");
    if (parallel->fsdp_degree > 1)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "a cache beside fsdp_degree %d", parallel->fsdp_degree),
            "blocks that a step leaves out would be gathered for nothing, and not by all ranks alike: "
            "set cache to none, or fsdp_degree to 1");
    DIT_TRY(check_frames(cache, parallel));
    DIT_TRY(check_blocks(cache, facts));
    DIT_TRY(check_branches(cache, parallel, facts));
    DIT_TRY(check_lone_steps(cache, parallel, facts));
    DIT_TRY(check_timestep(cache, facts));
    DIT_TRY(check_ends(cache, facts));
    DIT_TRY(check_modules(cache, facts));
    DIT_TRY(check_switch(cache, parallel));
    DIT_TRY(check_each_block(cache, facts));
    DIT_TRY(check_block_replay(cache, facts));
    DIT_TRY(check_length("mask", cache->mask, facts->steps));
    if (cache->table_steps && cache->table_steps != facts->steps)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "the cache's table has %d steps, but the run has %lld",
                                       cache->table_steps, (long long)facts->steps),
                              "write a digit for each step");
    DIT_TRY(check_length("replay", cache->replay, facts->steps));
    if (cache->replay[0] == '0')
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "the cache's replay reuses in the first step"),
                              "nothing has been computed then: the first digit must be 1");
    return check_displaced(cache, parallel, facts);
}
