#include "engine/sampling/guidance_norm.h"

#include <math.h>
#include <string.h>

/* Axes whose ranks share rows. */
static const dit_axis shared[] = {DIT_AXIS_ULYSSES, DIT_AXIS_RING, DIT_AXIS_PATCH};
enum { SHARED = sizeof shared / sizeof *shared };
enum { GUIDED, POSITIVE, BOTH };

static int64_t count_squares(const dit_guidance_norm *n)
{
    return n->part->images * n->part->image_count * n->pieces;
}

static int64_t count_sums(const dit_guidance_norm *n)
{
    return n->part->images * n->norms;
}

dit_status dit_guidance_norm_create(dit_runtime *rt, const dit_partition *partition, dit_guidance_norm *out)
{
    const dit_latent *latent = &rt->facts.latent;
    int64_t most = 1;
    void *memory;
    *out = (dit_guidance_norm){.rt = rt,
                               .part = partition,
                               .pieces = latent->channels * latent->patch_t * latent->patch,
                               .norms = dit_facts_guidance_norms(&rt->facts)};
    if (!out->norms) return DIT_OK;
    for (int i = 0; i < SHARED; i++)
        if (dit_comm_size(rt->comm[shared[i]]) > most) most = dit_comm_size(rt->comm[shared[i]]);
    DIT_TRY(dit_arena_array(&rt->step, BOTH * count_squares(out), DIT_DTYPE_FP64, &memory));
    out->squares = memory;
    DIT_TRY(dit_arena_alloc(&rt->comm_arena, BOTH * count_sums(out) * (int64_t)sizeof *out->sums, &memory));
    out->sums = memory;
    DIT_TRY(dit_arena_alloc(&rt->comm_arena, most * BOTH * count_sums(out) * (int64_t)sizeof *out->sums, &memory));
    out->gathered = memory;
    return DIT_OK;
}

/* Which norm of its image a piece of a row counts in. The floats of a token are (c, dt, dy, dx). */
static int64_t norm_of(const dit_guidance_norm *n, int64_t token, int64_t piece)
{
    const dit_latent *latent = &n->rt->facts.latent;
    int64_t patch = latent->patch, across = latent->width / patch, down = latent->height / patch;
    if (n->norms == 1) return 0;
    int64_t frame = token / (across * down) * latent->patch_t + piece / patch % latent->patch_t;
    int64_t y = token / across % down * patch + piece % patch;
    return (piece / (patch * latent->patch_t) * latent->frames + frame) * latent->height + y;
}

/* What is done with a number of one row and piece: `sums` has the two sums that it counts in, `count` numbers apart. */
typedef void (*visit)(const dit_guidance_norm *n, int64_t number, double *sums, int64_t count);

/* Visits all numbers of squares; each row's token is looked up once. Nothing where arrays are only counted. */
static void visit_squares(const dit_guidance_norm *n, visit each)
{
    int64_t rows = dit_runtime_values(n->rt, n->part->images * n->part->image_count);
    for (int64_t row = 0; row < rows; row++) {
        int64_t token = dit_partition_token(n->part, row % n->part->image_count);
        double *image = n->sums + row / n->part->image_count * n->norms;
        for (int64_t piece = 0; piece < n->pieces; piece++)
            each(n, row * n->pieces + piece, image + norm_of(n, token, piece), count_sums(n));
    }
}

static dit_row_norm_args squares_of(const dit_guidance_norm *n, const float *x, int which)
{
    int64_t rows = count_squares(n), cols = n->rt->facts.latent.patch;
    return (dit_row_norm_args){.batch = 1,
                               .rows = rows,
                               .cols = cols,
                               .x = (float *)(uintptr_t)x,
                               .ld = cols,
                               .stride = rows * cols,
                               .squares = n->squares + which * rows,
                               .ranks = 1,
                               .total_cols = cols};
}

static void add_square(const dit_guidance_norm *n, int64_t number, double *sums, int64_t count)
{
    for (int which = 0; which < BOTH; which++) sums[which * count] += n->squares[which * count_squares(n) + number];
}

/* Sums of this rank, then of all that share its image's rows. */
static dit_status add_up(const dit_guidance_norm *n)
{
    int64_t sums = BOTH * count_sums(n);
    DIT_TRY(dit_runtime_download(n->rt, n->squares, BOTH * count_squares(n)));
    memset(n->sums, 0, (size_t)dit_runtime_values(n->rt, sums) * sizeof *n->sums);
    visit_squares(n, add_square);
    for (int i = 0; i < SHARED; i++) {
        dit_comm *comm = n->rt->comm[shared[i]];
        if (dit_comm_size(comm) > 1) DIT_TRY(dit_comm_all_reduce(comm, n->sums, sums, n->gathered));
    }
    return DIT_OK;
}

/* The square of the norm that a guided one is to have. */
static double wanted(const dit_facts *facts, double guided, double positive)
{
    double most = facts->cfg_normalization * facts->cfg_normalization * positive;
    if (facts->guidance_norm_kind == DIT_GUIDANCE_NORM_ROWS) return positive;
    return guided < most ? guided : most;
}

/* Replaces the squares of a number by those of the whole norms: what the guided one has, and what it is to have. */
static void put_wanted(const dit_guidance_norm *n, int64_t number, double *sums, int64_t count)
{
    n->squares[GUIDED * count_squares(n) + number] = sums[GUIDED * count];
    n->squares[POSITIVE * count_squares(n) + number] =
        wanted(&n->rt->facts, sums[GUIDED * count], sums[POSITIVE * count]);
}

dit_status dit_guidance_norm_apply(const dit_guidance_norm *n, const float *positive, float *guided)
{
    dit_row_norm_args of_positive = squares_of(n, positive, POSITIVE), of_guided = squares_of(n, guided, GUIDED);
    int64_t count = count_squares(n);
    ops_row_squares(n->rt, &of_positive);
    ops_row_squares(n->rt, &of_guided);
    DIT_TRY(add_up(n));
    visit_squares(n, put_wanted);
    DIT_TRY(dit_runtime_upload(n->rt, n->squares, BOTH * count));
    of_guided.like = n->squares + POSITIVE * count;
    ops_row_scale(n->rt, &of_guided);
    return DIT_OK;
}

/* ---- deviations -------------------------------------------------------------------------------------------------- */

enum { SUM_GUIDED, SUM_GUIDED_SQUARED, SUM_POSITIVE, SUM_POSITIVE_SQUARED, SUMS };

dit_status dit_guidance_rescale_create(dit_runtime *rt, const dit_partition *partition, dit_guidance_rescale *out)
{
    int64_t most = 1, bytes = partition->images * SUMS * (int64_t)sizeof *out->sums;
    void *memory;
    *out = (dit_guidance_rescale){.rt = rt, .part = partition};
    if (!(rt->facts.guidance_rescale > 0) || !dit_facts_guidance_sums(&rt->facts)) return DIT_OK;
    for (int i = 0; i < SHARED; i++)
        if (dit_comm_size(rt->comm[shared[i]]) > most) most = dit_comm_size(rt->comm[shared[i]]);
    DIT_TRY(dit_arena_alloc(&rt->comm_arena, bytes, &memory));
    out->sums = memory;
    DIT_TRY(dit_arena_alloc(&rt->comm_arena, most * bytes, &memory));
    out->gathered = memory;
    return DIT_OK;
}

/* Floats of an image that this rank has. */
static int64_t own_values(const dit_guidance_rescale *r)
{
    return r->part->image_count * r->rt->facts.token_channels;
}

/* Adds values and squares of every image to sums[which] and the one behind it. */
static void add_values(const dit_guidance_rescale *r, const float *x, int which)
{
    int64_t values = own_values(r), all = dit_runtime_values(r->rt, r->part->images * values);
    for (int64_t i = 0; i < all; i++) {
        double *sums = r->sums + i / values * SUMS + which;
        sums[0] += x[i];
        sums[1] += (double)x[i] * x[i];
    }
}

static double variance(double sum, double squares, double count)
{
    return (squares - sum * sum / count) / (count - 1);
}

/* What an image's guided prediction is multiplied by. */
static float factor_of(const dit_guidance_rescale *r, const double *sums)
{
    const dit_facts *facts = &r->rt->facts;
    double count = (double)(dit_facts_latent_tokens(facts) * facts->token_channels);
    double guided = variance(sums[SUM_GUIDED], sums[SUM_GUIDED_SQUARED], count);
    double positive = variance(sums[SUM_POSITIVE], sums[SUM_POSITIVE_SQUARED], count);
    return (float)(facts->guidance_rescale * sqrt(positive / guided) + 1 - facts->guidance_rescale);
}

dit_status dit_guidance_rescale_apply(const dit_guidance_rescale *r, const float *positive, float *guided)
{
    int64_t images = r->part->images, values = own_values(r);
    DIT_TRY(dit_runtime_download(r->rt, positive, images * values));
    DIT_TRY(dit_runtime_download(r->rt, guided, images * values));
    memset(r->sums, 0, (size_t)dit_runtime_values(r->rt, images * SUMS) * sizeof *r->sums);
    add_values(r, guided, SUM_GUIDED);
    add_values(r, positive, SUM_POSITIVE);
    for (int i = 0; i < SHARED; i++) {
        dit_comm *comm = r->rt->comm[shared[i]];
        if (dit_comm_size(comm) > 1) DIT_TRY(dit_comm_all_reduce(comm, r->sums, images * SUMS, r->gathered));
    }
    for (int64_t image = 0; image < images; image++) {
        float factor = r->rt->ledger.counting_only ? 1 : factor_of(r, r->sums + image * SUMS),
              *x = guided + image * values;
        ops_combine(r->rt, &(dit_combine_args){.elements = values, .count = 1, .x = {x}, .a = {factor}, .y = x});
    }
    return DIT_OK;
}
