/* What a policy keeps that reuses the output of the whole forward: what the forward makes of its latents, output less
 * latents, or differences of that from step to step. A hit runs nothing of the model:
 *
 *     output := latents of this step + (output - latents) of the last computed one, or its forecast
 *
 * A test sums, from one computed step to the next, k |latents - those of the step before| / |newest output|, where k is
 * how much the output changed between the last two computed steps over how much the latents did. With guidance, the rows
 * of the positive branch decide for both.
 * Source: EasyCache (arXiv:2507.02860). */
#include "engine/cache/cache_impl.h"

/* The numbers of a test; the operator that writes CHANGED_LATENTS writes the place after it, too, and so does STEP. */
enum { CHANGED_OUTPUT, OUTPUT, CHANGED_LATENTS, STEP, SUMS };

struct dit_output_store {
    int64_t rows, channels; /* of all arrays, [rows, channels] dense                       */
    int64_t asked, first;   /* so many rows decide, from the first                         */
    int64_t ignored;        /* so many of the ranks that decide together have none of them */
    float *latents, *made;  /* of this step; an output                                     */
    float *before;          /* latents of the step before                                  */
    float *input, *output;  /* of the newest computed step                                 */
};

/* ---- making ready ------------------------------------------------------------------------------------------------ */

/* Says which rows and ranks decide: those of the positive branch, which is the last one. */
static void choose_rows(dit_cache_run *run)
{
    struct dit_output_store *store = run->outputs;
    const dit_partition *part = &run->model->params.partition;
    store->asked = part->images * part->image_count;
    store->first = store->rows - store->asked;
    if (part->branches < run->rt->facts.guidance_branches) store->ignored = dit_cache_deciders(run) / 2;
}

static dit_status take_arrays(dit_cache_run *run)
{
    struct dit_output_store *store = run->outputs;
    dit_arena *kept = &run->rt->image, *scratch = &run->rt->step;
    int64_t elements = store->rows * store->channels;
    for (int i = 0; i <= run->settings.order; i++) DIT_TRY(dit_arena_fp32(kept, elements, &run->added[i]));
    DIT_TRY(dit_arena_fp32(scratch, elements, &store->latents));
    DIT_TRY(dit_arena_fp32(scratch, elements, &store->made));
    if (run->settings.order) DIT_TRY(dit_arena_fp32(scratch, elements, &run->now));
    if (dit_cache_is_known(&run->settings)) return DIT_OK;
    DIT_TRY(dit_arena_fp32(kept, elements, &store->before));
    DIT_TRY(dit_arena_fp32(kept, elements, &store->input));
    DIT_TRY(dit_arena_fp32(kept, elements, &store->output));
    return dit_cache_take_sums(run, store->asked);
}

dit_status dit_output_store_create(dit_cache_run *run)
{
    const dit_partition *part = &run->model->params.partition;
    void *memory;
    DIT_TRY(dit_arena_alloc(&run->rt->run, sizeof(struct dit_output_store), &memory));
    run->outputs = memory;
    *run->outputs =
        (struct dit_output_store){.rows = part->batch * part->image_count, .channels = run->rt->facts.token_channels};
    run->kept = run->image = (dit_cache_rows){.batch = part->batch,
                                              .rows = part->image_count,
                                              .width = run->outputs->channels,
                                              .stream_rows = part->image_count};
    choose_rows(run);
    return take_arrays(run);
}

int64_t dit_output_store_bytes(const dit_cache_run *run)
{
    const struct dit_output_store *store = run->outputs;
    int64_t arrays = 3 + run->settings.order + (run->now != NULL) + (store->before ? 3 : 0);
    return arrays * store->rows * store->channels * (int64_t)sizeof(float);
}

/* ---- a test ------------------------------------------------------------------------------------------------------ */

/* Copies the latent's channels of rows, which are `from` and `to` floats apart. */
static void copy_rows(dit_cache_run *run, const float *src, int64_t from, float *dst, int64_t to)
{
    ops_copy(run->rt, &(dit_copy_args){.n0 = 1,
                                       .n1 = run->outputs->rows,
                                       .n2 = 1,
                                       .inner = run->outputs->channels,
                                       .src = src,
                                       .src_stride = {0, from, run->outputs->channels},
                                       .dst = dst,
                                       .dst_stride = {0, to, run->outputs->channels}});
}

static void copy(dit_cache_run *run, const float *src, float *dst)
{
    copy_rows(run, src, run->outputs->channels, dst, run->outputs->channels);
}

/* Sums |a - b| and |b| over the rows that decide, from place `at` on. */
static void sum_difference(dit_cache_run *run, const float *a, const float *b, int at)
{
    const struct dit_output_store *store = run->outputs;
    int64_t from = store->first * store->channels;
    ops_difference(run->rt, &(dit_difference_args){.rows = store->asked,
                                                   .cols = store->channels,
                                                   .a = a + from,
                                                   .b = b + from,
                                                   .of_rows = run->of_rows,
                                                   .sums = run->sums + at});
}

void dit_output_store_begin(dit_cache_run *run, const dit_forward_args *args)
{
    copy_rows(run, args->latents, run->model->input_channels, run->outputs->latents, run->outputs->channels);
}

dit_status dit_output_store_measure(dit_cache_run *run, double *value)
{
    const double *all;
    double sums[SUMS] = {0};
    sum_difference(run, run->outputs->latents, run->outputs->before, STEP);
    DIT_TRY(dit_cache_gather_sums(run, &all));
    *value = 0;
    if (run->rt->ledger.counting_only) return DIT_OK;
    for (int64_t rank = run->outputs->ignored; rank < dit_cache_deciders(run); rank++)
        for (int i = 0; i < SUMS; i++) sums[i] += all[rank * SUMS + i];
    if (sums[STEP] == 0) return DIT_OK; /* the latents are those of the step before */
    *value = sums[CHANGED_OUTPUT] / sums[CHANGED_LATENTS] * (sums[STEP] / sums[OUTPUT]);
    if (isfinite(*value)) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_NONFINITE, "step %d: the cache compares %g, %g, %g and %g, which gives no number",
                 run->state.step, sums[CHANGED_OUTPUT], sums[CHANGED_LATENTS], sums[STEP], sums[OUTPUT]),
        "look at the outputs of the two steps that were computed last: something overflowed, is zero "
        "or did not change");
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

/* What a computed step leaves for later ones. */
static void keep(dit_cache_run *run)
{
    struct dit_output_store *store = run->outputs;
    bool another = run->state.step > run->state.hits; /* a step has been computed before */
    if (store->before && another) {
        sum_difference(run, store->output, store->made, CHANGED_OUTPUT);
        sum_difference(run, store->input, store->latents, CHANGED_LATENTS);
    }
    if (store->before) {
        copy(run, store->latents, store->input);
        copy(run, store->made, store->output);
    }
    ops_combine(run->rt, &(dit_combine_args){.elements = store->rows * store->channels,
                                             .count = 2,
                                             .x = {store->made, store->latents},
                                             .a = {1, -1},
                                             .y = dit_cache_change(run)});
    dit_cache_renew(run);
}

static void reuse(dit_cache_run *run)
{
    struct dit_output_store *store = run->outputs;
    dit_combine_args args = {
        .elements = store->rows * store->channels, .count = 1, .x = {store->latents}, .a = {1}, .y = store->made};
    for (int i = 0; i <= run->differences; i++) {
        args.x[args.count] = run->added[i];
        args.a[args.count++] = dit_cache_weight(&run->settings, i, dit_cache_age(run));
    }
    ops_combine(run->rt, &args);
}

dit_status dit_output_store_forward(dit_cache_run *run, const dit_forward_args *args, bool hit)
{
    struct dit_output_store *store = run->outputs;
    int64_t width = run->model->output_channels;
    if (!hit) DIT_TRY(dit_model_forward(run->model, args));
    DIT_TIMED(run->rt, DIT_TIME_CACHE, {
        if (hit) {
            reuse(run);
            copy_rows(run, store->made, store->channels, args->output, width);
        } else {
            copy_rows(run, args->output, width, store->made, store->channels);
            keep(run);
        }
        if (store->before) copy(run, store->latents, store->before);
    });
    return DIT_OK;
}
