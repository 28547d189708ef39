#include "engine/vae/bands.h"

#include "base/rows.h"
#include "engine/runtime/fault.h"

#include <stdlib.h>
#include <string.h>

dit_status vae_bands_init(vae_bands *b, dit_runtime *rt, dit_comm *comm, int64_t rows, bool tiled)
{
    int ranks = comm ? dit_comm_size(comm) : 1;
    *b = (vae_bands){.rt = rt, .rows = rows, .all_rows = rows};
    if (ranks == 1) return DIT_OK;
    DIT_TRY(dit_rows_check(ranks, &(dit_rows_facts){.height = rows, .tiling = tiled}));
    b->comm = comm;
    b->rows = dit_rows_share(rows, ranks, dit_comm_rank(comm), &b->first);
    dit_comm_set_phase(comm, DIT_PHASE_DECODE);
    return DIT_OK;
}

static dit_status take_doubles(vae_bands *b, int64_t count, double **out)
{
    void *memory;
    DIT_TRY(dit_arena_alloc(&b->rt->comm_arena, count * (int64_t)sizeof **out, &memory));
    *out = memory;
    return DIT_OK;
}

dit_status vae_bands_allocate(vae_bands *b, int64_t picture_floats)
{
    float **const edges[] = {&b->above, &b->below, &b->top, &b->bottom};
    if (!b->comm) return DIT_OK;
    int64_t sums = 2 * b->groups + 1, ranks = dit_comm_size(b->comm);
    void *offsets;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        DIT_TRY(dit_arena_activations(&b->rt->comm_arena, b->edge_floats, edges[i]));
    void *moments;
    DIT_TRY(dit_arena_array(&b->rt->comm_arena, 2 * b->groups, DIT_DTYPE_FP64, &moments));
    b->moments = moments;
    if (b->rt->ledger.on_device) DIT_TRY(dit_arena_fp32(&b->rt->comm_arena, picture_floats, &b->picture));
    DIT_TRY(take_doubles(b, sums, &b->sums));
    DIT_TRY(take_doubles(b, sums * ranks, &b->gathered));
    DIT_TRY(dit_arena_alloc(&b->rt->comm_arena, (ranks + 1) * (int64_t)sizeof *b->offsets, &offsets));
    b->offsets = offsets;
    return DIT_OK;
}

/* Packs row `row` of every frame densely. */
static void pack_row(vae_bands *b, const float *x, int64_t frames, int64_t height, int64_t row_floats, int64_t row,
                     float *to)
{
    ops_copy(b->rt, &(dit_copy_args){.n0 = 1,
                                     .n1 = 1,
                                     .n2 = frames,
                                     .inner = row_floats,
                                     .src = x + row * row_floats,
                                     .src_stride = {0, 0, height * row_floats},
                                     .dst = to,
                                     .dst_stride = {0, 0, row_floats}});
}

/* Sends the first rows up and the last rows down, both at once. */
static dit_status exchange(vae_bands *b, int above, int below, float *from_above, float *from_below, int64_t bytes)
{
    dit_comm_exchange up, down;
    DIT_TRY(dit_comm_exchange_begin(b->comm, b->top, above, from_below, below, bytes, &up));
    DIT_TRY(dit_comm_exchange_begin(b->comm, b->bottom, below, from_above, above, bytes, &down));
    DIT_TRY(dit_comm_exchange_wait(b->comm, &up));
    return dit_comm_exchange_wait(b->comm, &down);
}

void vae_bands_exchange(vae_bands *b, const float *x, int64_t frames, int64_t height, int64_t row_floats, int64_t skip,
                        bool *has_above, bool *has_below)
{
    int rank = dit_comm_rank(b->comm), above = rank > 0 ? rank - 1 : DIT_COMM_NOBODY;
    int below = rank + 1 < dit_comm_size(b->comm) ? rank + 1 : DIT_COMM_NOBODY;
    int64_t bytes = frames * row_floats * (int64_t)sizeof(float), at = skip * row_floats;
    *has_above = above != DIT_COMM_NOBODY, *has_below = below != DIT_COMM_NOBODY;
    if (*has_above) pack_row(b, x, frames, height, row_floats, 0, b->top);
    if (*has_below) pack_row(b, x, frames, height, row_floats, height - 1, b->bottom);
    if (b->status == DIT_OK) b->status = exchange(b, above, below, b->above + at, b->below + at, bytes);
}

void vae_bands_reduce(vae_bands *b, const dit_group_norm_args *args)
{
    double count = (double)(args->frames * args->height * args->width * (args->C / args->groups));
    double *moments = b->moments, *sums = b->sums;
    const int64_t groups = args->batch * args->groups;
    dit_group_norm_args own = *args;
    own.moments = moments;
    ops_group_moments(b->rt, &own);
    if (b->status == DIT_OK) b->status = dit_runtime_download(b->rt, moments, 2 * groups);
    const double between = dit_fault_variance() ? 0 : 1; /* weight of the ranks' different means in the variance */
    for (int64_t g = 0; g < groups; g++) {
        sums[2 * g] = count * moments[2 * g];
        sums[2 * g + 1] = count * (moments[2 * g + 1] + between * moments[2 * g] * moments[2 * g]);
    }
    sums[2 * groups] = count;
    if (b->status == DIT_OK) b->status = dit_comm_all_reduce(b->comm, sums, 2 * groups + 1, b->gathered);
    for (int64_t g = 0; g < groups; g++) {
        double mean = sums[2 * g] / sums[2 * groups];
        double variance = sums[2 * g + 1] / sums[2 * groups] - between * mean * mean;
        moments[2 * g] = mean;
        moments[2 * g + 1] = variance > 0 ? variance : 0;
    }
    if (b->status == DIT_OK) b->status = dit_runtime_upload(b->rt, moments, 2 * groups);
}

dit_status vae_bands_gather(vae_bands *b, float *image, int64_t planes, int64_t width, int64_t spatial)
{
    int ranks = dit_comm_size(b->comm);
    int64_t row_bytes = spatial * width * (int64_t)sizeof *image;
    DIT_TRY(b->status);
    b->offsets[0] = 0;
    for (int rank = 0; rank < ranks; rank++) {
        int64_t first, rows = dit_rows_share(b->all_rows, ranks, rank, &first);
        b->offsets[rank + 1] = (first + rows) * row_bytes;
    }
    int64_t floats = b->all_rows * spatial * width;
    float *gathered = b->picture ? b->picture : image;
    if (b->picture) memcpy(gathered, image, (size_t)(planes * floats) * sizeof *image);
    DIT_TRY(dit_runtime_upload(b->rt, b->picture, b->picture ? planes * floats : 0));
    for (int64_t plane = 0; plane < planes; plane++)
        DIT_TRY(dit_comm_all_gather_pieces(b->comm, gathered + plane * floats, b->offsets));
    DIT_TRY(dit_runtime_download(b->rt, b->picture, b->picture ? planes * floats : 0));
    if (b->picture) memcpy(image, gathered, (size_t)(planes * floats) * sizeof *image);
    return DIT_OK;
}

dit_status vae_bands_collect(vae_bands *b, const float *x, int64_t frames, int64_t height, int64_t row_floats,
                             int64_t *all_height, float **out)
{
    int ranks = dit_comm_size(b->comm);
    int64_t whole = b->all_rows * (height / b->rows) * row_floats;
    int64_t *offsets = calloc((size_t)ranks + 1, sizeof *offsets);
    *all_height = b->all_rows * (height / b->rows);
    *out = malloc((size_t)(frames * whole) * sizeof **out);
    dit_status st =
        offsets && *out ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory to collect %lld rows", (long long)*all_height);
    for (int64_t t = 0; t < frames && st == DIT_OK; t++) {
        char *frame = NULL;
        st = dit_comm_collect(b->comm, x + t * height * row_floats, height * row_floats * (int64_t)sizeof *x, &frame,
                              offsets);
        if (st == DIT_OK) memcpy(*out + t * whole, frame, (size_t)whole * sizeof **out);
        free(frame);
    }
    free(offsets);
    if (st != DIT_OK) {
        free(*out);
        *out = NULL;
    }
    return st;
}
