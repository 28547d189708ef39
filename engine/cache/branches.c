/* Steps that run the positive guidance branch alone: what the negative one's output is taken to be. With tgate it is the
 * positive one's, so that guidance of any scale gives that. With fastercache it is
 *
 *     positive + a low + b high
 *
 * where low and high are frequencies of negative - positive of the newest step that ran both; a and b grow from step to
 * step (base/cache.h). Frequencies are those of a frame's plane of one channel, and are parted on the host.
 * Source: T-GATE (arXiv:2404.02747); FasterCache (arXiv:2410.19355) and diffusers' hook of it. */
#include "engine/cache/cache_impl.h"
#include "engine/cache/low_pass.h"

struct dit_branch_store {
    float *low, *high;        /* [images, rows, channels of the latent]                */
    float *positive, *planes; /* the same, of this step; on the host, plane after plane */
    dit_low_pass filter;
};

/* Returns the output's rows of one branch. */
static int64_t rows_of(const dit_cache_run *run)
{
    const dit_partition *part = &run->model->params.partition;
    return part->images * part->image_count;
}

static int64_t elements_of(const dit_cache_run *run)
{
    return rows_of(run) * run->rt->facts.token_channels;
}

dit_status dit_branch_store_create(dit_cache_run *run)
{
    dit_runtime *rt = run->rt;
    const dit_latent *latent = &run->model->params.latent;
    void *memory;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(struct dit_branch_store), &memory));
    struct dit_branch_store *store = run->branches = memory;
    *store = (struct dit_branch_store){0};
    DIT_TRY(dit_arena_fp32(&rt->image, elements_of(run), &store->low));
    DIT_TRY(dit_arena_fp32(&rt->image, elements_of(run), &store->high));
    DIT_TRY(dit_arena_fp32(&rt->step, elements_of(run), &store->positive));
    DIT_TRY(dit_arena_host(&rt->step, elements_of(run), &store->planes));
    return dit_low_pass_create(&rt->step, latent->height, latent->width, &store->filter);
}

int64_t dit_branch_store_bytes(const dit_cache_run *run)
{
    return run->branches ? 2 * elements_of(run) * (int64_t)sizeof(float) : 0;
}

dit_forward_args dit_branch_positive(const dit_cache_run *run, const dit_forward_args *args)
{
    const dit_partition *part = &run->model->params.partition;
    int64_t before = part->batch - part->images, rows = before * part->image_count;
    return (dit_forward_args){.latents = args->latents + rows * run->model->input_channels,
                              .timestep = args->timestep + before,
                              .output = args->output + rows * run->model->output_channels,
                              .step = args->step};
}

/* Copies the latent's channels of one branch's rows, which are `from` and `to` floats apart. */
static void copy_rows(const dit_cache_run *run, const float *src, int64_t from, float *dst, int64_t to)
{
    int64_t channels = run->rt->facts.token_channels;
    ops_copy(run->rt, &(dit_copy_args){.n0 = 1,
                                       .n1 = rows_of(run),
                                       .n2 = 1,
                                       .inner = channels,
                                       .src = src,
                                       .src_stride = {0, from, channels},
                                       .dst = dst,
                                       .dst_stride = {0, to, channels}});
}

/* Parts store->high into low and high frequencies. */
static dit_status part_frequencies(dit_cache_run *run)
{
    struct dit_branch_store *store = run->branches;
    const dit_latent *latent = &run->model->params.latent;
    int64_t elements = elements_of(run), plane = latent->height * latent->width, planes = elements / plane;
    DIT_TRY(dit_runtime_download(run->rt, store->high, elements));
    run->rt->flops.other += (double)planes * dit_low_pass_flops(&store->filter) + (double)elements;
    if (!run->rt->ledger.counting_only) {
        int64_t images = run->model->params.partition.images;
        dit_latent_unpack(latent, DIT_LATENT_CFHW, images, latent->channels, store->high, store->planes);
        for (int64_t i = 0; i < planes; i++) dit_low_pass_run(&store->filter, store->planes + i * plane);
        dit_latent_pack(latent, DIT_LATENT_CFHW, images, latent->channels, store->planes, store->low);
        for (int64_t i = 0; i < elements; i++) store->high[i] -= store->low[i];
    }
    DIT_TRY(dit_runtime_upload(run->rt, store->low, elements));
    return dit_runtime_upload(run->rt, store->high, elements);
}

/* Keeps what the negative branch's output has beyond the positive one's. */
static dit_status keep_difference(dit_cache_run *run, const float *negative, const float *positive)
{
    struct dit_branch_store *store = run->branches;
    int64_t width = run->model->output_channels, channels = run->rt->facts.token_channels;
    copy_rows(run, negative, width, store->high, channels);
    copy_rows(run, positive, width, store->positive, channels);
    ops_combine(run->rt, &(dit_combine_args){.elements = elements_of(run),
                                             .count = 2,
                                             .x = {store->high, store->positive},
                                             .a = {1, -1},
                                             .y = store->high});
    return part_frequencies(run);
}

/* Makes the negative branch's output of the positive one's. */
static void make_negative(dit_cache_run *run, const float *positive, float *negative)
{
    struct dit_branch_store *store = run->branches;
    int64_t width = run->model->output_channels, channels = run->rt->facts.token_channels;
    float weights[2] = {0};
    if (!store) {
        copy_rows(run, positive, width, negative, width);
        return;
    }
    dit_cache_branch_weights(&run->settings, run->state.step, weights);
    copy_rows(run, positive, width, store->positive, channels);
    ops_combine(run->rt, &(dit_combine_args){.elements = elements_of(run),
                                             .count = 3,
                                             .x = {store->positive, store->low, store->high},
                                             .a = {1, weights[0], weights[1]},
                                             .y = store->positive});
    copy_rows(run, store->positive, channels, negative, width);
}

dit_status dit_branch_finish(dit_cache_run *run, const dit_forward_args *args)
{
    const dit_cache *cache = &run->settings;
    int step = run->state.step;
    const float *positive = dit_branch_positive(run, args).output;
    bool wanted = run->branches && step + 1 < run->log.steps && dit_cache_is_lone(cache, step + 1);
    if (dit_cache_is_lone(cache, step)) {
        DIT_TIMED(run->rt, DIT_TIME_CACHE, make_negative(run, positive, args->output));
    } else if (wanted) {
        DIT_TIMED(run->rt, DIT_TIME_CACHE, DIT_TRY(keep_difference(run, args->output, positive)));
    }
    return DIT_OK;
}
