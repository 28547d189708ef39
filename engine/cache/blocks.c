/* What a policy keeps that decides for each block by itself: the image rows of the block's input when it was computed last,
 * and what it added to all rows then. A block is reused while its input has changed by less than its threshold:
 *
 *     stream += kept
 *
 * Of `dynamic` thresholds, each block has its own: 1.25 times the mean of its first values, and at most twice the
 * settings'.
 * Source: DBPrune of cache-dit. */
#include "engine/cache/cache_impl.h"

enum { LEARN = 5 }; /* values from which a dynamic threshold is made */

typedef struct {
    float *input, *added; /* NULL: the block is never reused, or (input) no test decides   */
    double first_values;  /* the sum of the first ones                                     */
    int values;           /* how many of them there were                                   */
    bool computed;        /* in this request                                               */
} kept_block;

struct dit_block_store {
    kept_block *blocks; /* [layers] */
};

static int64_t elements_of(const dit_cache_rows *rows)
{
    return rows->batch * rows->rows * rows->width;
}

dit_status dit_block_store_create(dit_cache_run *run)
{
    dit_runtime *rt = run->rt;
    int64_t layers = rt->facts.layers, count = dit_cache_prunable(&run->settings, layers);
    int64_t image = elements_of(&run->image), all = elements_of(&run->kept);
    bool tested = !dit_cache_is_known(&run->settings);
    float *inputs = NULL, *added;
    void *memory;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(struct dit_block_store), &memory));
    run->blocks = memory;
    DIT_TRY(dit_arena_alloc(&rt->run, layers * (int64_t)sizeof *run->blocks->blocks, &memory));
    run->blocks->blocks = memory;
    DIT_TRY(dit_arena_activations(&rt->image, count * all, &added));
    if (tested) DIT_TRY(dit_arena_activations(&rt->image, count * image, &inputs));
    for (int64_t index = 0; index < layers; index++) {
        kept_block *block = &run->blocks->blocks[index];
        *block = (kept_block){0};
        if (!dit_cache_may_prune(&run->settings, index, layers)) continue;
        block->added = added, added += all;
        if (tested) block->input = inputs, inputs += image;
    }
    if (!tested) return DIT_OK;
    DIT_TRY(dit_arena_activations(&rt->step, image, &run->now));
    return dit_cache_take_sums(run, run->image.batch * run->image.rows);
}

void dit_block_store_reset(dit_cache_run *run)
{
    for (int64_t index = 0; index < run->rt->facts.layers; index++) {
        kept_block *block = &run->blocks->blocks[index];
        block->first_values = 0;
        block->values = 0;
        block->computed = false;
    }
}

int64_t dit_block_store_bytes(const dit_cache_run *run)
{
    int64_t count = dit_cache_prunable(&run->settings, run->rt->facts.layers);
    int64_t elements = count * elements_of(&run->kept);
    if (run->now) elements += (count + 1) * elements_of(&run->image);
    return elements * dit_dtype_bytes(run->rt->ledger.dtype);
}

/* ---- a block ----------------------------------------------------------------------------------------------------- */

static double threshold_of(const dit_cache *cache, const kept_block *block)
{
    double learned = 1.25 * block->first_values / LEARN;
    if (!cache->dynamic || block->values < LEARN) return cache->threshold;
    return fmin(learned, 2 * cache->threshold);
}

/* Returns how far a value is from its threshold, relative to it. */
static double distance(double value, double threshold)
{
    return threshold > 0 ? fabs(value - threshold) / threshold : INFINITY;
}

/* Tests a block's input, which lies in run->now; *nearest: as dit_cache_log has it. */
static dit_status test(dit_cache_run *run, kept_block *block, bool *hit, double *nearest)
{
    double value, threshold = threshold_of(&run->settings, block), least = run->settings.threshold;
    DIT_TRY(dit_cache_compare(run, run->now, block->input, &value));
    run->log.tests++;
    *hit = threshold > 0 && value < threshold && !run->rt->ledger.counting_only;
    if (block->values < LEARN) block->first_values += value, block->values++;
    if (*nearest == DIT_CACHE_UNTESTED || distance(value, threshold) < distance(*nearest, least))
        *nearest = threshold > 0 ? value / threshold * least : value;
    return DIT_OK;
}

/* What the block added is -x before it, and + x after it. */
static dit_status compute(dit_cache_run *run, int64_t index)
{
    kept_block *block = &run->blocks->blocks[index];
    if (block->added) {
        DIT_TIMED(run->rt, DIT_TIME_CACHE, {
            if (block->input) dit_cache_take(run, &run->image, 1, 0, block->input);
            dit_cache_take(run, &run->kept, -1, 0, block->added);
        });
    }
    DIT_TRY(dit_model_some_blocks(run->model, index, 1));
    if (block->added) DIT_TIMED(run->rt, DIT_TIME_CACHE, dit_cache_take(run, &run->kept, 1, 1, block->added));
    block->computed = true;
    return DIT_OK;
}

/* A later block may take the output by a skip. */
static void reuse(dit_cache_run *run, int64_t index)
{
    dit_model *model = run->model;
    dit_cache_add(run, &run->kept, run->blocks->blocks[index].added);
    if (index < run->rt->facts.skips)
        dit_cache_take(run, &run->image, 1, 0, model->skips + index * dit_model_skip_elements(model));
}

/* Decides for a block that may be reused. */
static dit_status decide(dit_cache_run *run, int64_t index, char decision, bool *hit, double *value)
{
    kept_block *block = &run->blocks->blocks[index];
    *hit = decision == DIT_CACHE_HIT && dit_cache_replay_prunes(&run->settings, run->state.step, index);
    if (*hit && !block->computed)
        return DIT_FAIL(DIT_ERR_INTERNAL, "step %d reuses block %lld, which no step computed", run->state.step,
                        (long long)index);
    if (decision != DIT_CACHE_TEST) return DIT_OK;
    DIT_TIMED(run->rt, DIT_TIME_CACHE, {
        dit_cache_take(run, &run->image, 1, 0, run->now);
        DIT_TRY(test(run, block, hit, value));
    });
    return DIT_OK;
}

dit_status dit_block_store_run(dit_cache_run *run, char *decision, double *value)
{
    int64_t layers = run->rt->facts.layers;
    bool any = false;
    for (int64_t index = run->settings.first; index < layers - run->settings.last; index++) {
        bool hit = false;
        if (dit_cache_may_prune(&run->settings, index, layers)) DIT_TRY(decide(run, index, *decision, &hit, value));
        if (!hit) {
            DIT_TRY(compute(run, index));
            continue;
        }
        DIT_TIMED(run->rt, DIT_TIME_CACHE, reuse(run, index));
        dit_cache_log_prune(&run->log, run->state.step, index);
        any = true;
    }
    if (*decision == DIT_CACHE_TEST) *decision = any ? DIT_CACHE_HIT : 't';
    return DIT_OK;
}
