#include "engine/runtime/partition.h"

#include "base/patches.h"
#include "base/stream.h"

#include <stdlib.h>
#include <string.h>

/* Whether the ranks of the axis share the rows of an image. */
static bool is_sequence(int axis)
{
    return dit_axis_get((dit_axis)axis)->sequence;
}

/* This rank among those that share the rows of an image; the fastest axis counts fastest. */
static int64_t sequence_rank_of(const dit_runtime *rt)
{
    int64_t rank = 0;
    for (int axis = DIT_AXIS_COUNT - 1; axis >= 0; axis--)
        if (is_sequence(axis)) rank = rank * dit_comm_size(rt->comm[axis]) + rt->coordinates[axis];
    return rank;
}

/* Counts this rank's rows of the first `held` tokens. Its rows lie in the order of their tokens, so these come first. */
static int64_t count_held(const dit_partition *part, int64_t held)
{
    int64_t count = 0;
    for (int64_t i = 0; held > 0 && i < dit_partition_runs(part); i++) {
        dit_run run = dit_partition_run(part, i);
        int64_t before = held - run.token;
        count += before < 0 ? 0 : before < run.count ? before : run.count;
    }
    return count;
}

dit_partition dit_partition_of(const dit_runtime *rt)
{
    const dit_facts *facts = &rt->facts;
    int64_t cfg = dit_comm_size(rt->comm[DIT_AXIS_CFG]), data = dit_comm_size(rt->comm[DIT_AXIS_DATA]);
    int64_t degree = dit_parallel_sequence_degree(&rt->parallel), sequence_rank = sequence_rank_of(rt);
    bool split = facts->joint && dit_parallel_joint_text(&rt->parallel, facts) == DIT_JOINT_TEXT_SPLIT;
    dit_partition part = {.image_tokens = facts->image_tokens, .text_tokens = dit_facts_text_rows(facts)};
    part.segments = facts->segments > 1 ? facts->segments : 1;
    part.segment_tokens = facts->image_tokens / part.segments;
    part.segment_count = part.segment_tokens / degree;
    if (part.segments > 1 && dit_parallel_cuts_frames(&rt->parallel)) {
        part.whole_segments = true;
        part.segments /= degree;
        part.segment_count = part.segment_tokens;
        part.segment_first = sequence_rank * part.segments;
    }
    part.bands = dit_parallel_bands(&rt->parallel, facts);
    part.sequence_rank = sequence_rank, part.sequence_degree = degree;
    part.reference_tokens = facts->reference_tokens, part.reference_count = facts->reference_tokens / degree;
    part.image_count = part.window_count = part.segments * part.segment_count;
    if (dit_parallel_streams(&rt->parallel)) {
        const dit_stream stream = dit_stream_of(&rt->parallel, facts, rt->coordinates[DIT_AXIS_PIPEFUSION]);
        part.window_count = dit_stream_window_most(&stream);
    }
    part.text_count = split ? part.text_tokens / degree : part.text_tokens;
    part.text_begin = split ? sequence_rank * part.text_count : 0;
    part.text_replicated = !split;
    part.images = facts->num_images / data;
    part.image_first = rt->coordinates[DIT_AXIS_DATA] * part.images;
    part.branches = facts->guidance_branches / cfg;
    part.branch_first = rt->coordinates[DIT_AXIS_CFG] * part.branches;
    part.batch = part.branches * part.images;
    part.held_count = count_held(&part, facts->held_tokens);
    return part;
}

/* Returns the partition of so many of the tokens, all of the latent or all of its reference. */
static dit_partition part_of(const dit_partition *part, int64_t tokens, int64_t count)
{
    dit_partition only = *part;
    only.image_tokens = tokens, only.segment_tokens = tokens / part->segments;
    only.image_count = count, only.segment_count = count / part->segments;
    only.reference_tokens = only.reference_count = 0;
    return only;
}

dit_partition dit_partition_of_latents(const dit_partition *part)
{
    return part_of(part, part->image_tokens - part->reference_tokens, part->image_count - part->reference_count);
}

dit_partition dit_partition_of_references(const dit_partition *part)
{
    return part_of(part, part->reference_tokens, part->reference_count);
}

static int64_t bands_of(const dit_partition *part)
{
    return part->bands > 1 ? part->bands : 1;
}

int64_t dit_partition_runs(const dit_partition *part)
{
    return part->segments * bands_of(part) * (part->reference_tokens ? 2 : 1);
}

/* Returns a run of any sequence rank. */
static dit_run run_of(const dit_partition *part, int64_t sequence_rank, int64_t index);

/* Returns one where there is a reference: the even runs are the latent's, the odd ones are the reference's. */
static dit_run run_beside(const dit_partition *part, int64_t sequence_rank, int64_t index)
{
    const dit_partition latents = dit_partition_of_latents(part), references = dit_partition_of_references(part);
    dit_range band = dit_band_cut(part->segment_count, part->reference_count, bands_of(part), index / 2);
    dit_run latent = run_of(&latents, sequence_rank, index / 2);
    dit_run reference = run_of(&references, sequence_rank, index / 2);
    if (index % 2 == 0) return (dit_run){band.first, latent.token, latent.count};
    return (dit_run){band.first + latent.count, latents.image_tokens + reference.token, reference.count};
}

static dit_run run_of(const dit_partition *part, int64_t sequence_rank, int64_t index)
{
    if (part->reference_tokens) return run_beside(part, sequence_rank, index);
    int64_t bands = bands_of(part), segment = index / bands;
    dit_range band = dit_range_cut(part->segment_count, bands, index % bands);
    if (part->whole_segments)
        return (dit_run){.row = index * part->segment_count,
                         .token = (sequence_rank * part->segments + index) * part->segment_count,
                         .count = part->segment_count};
    return (dit_run){.row = segment * part->segment_count + band.first,
                     .token = segment * part->segment_tokens + part->sequence_degree * band.first +
                              sequence_rank * band.count,
                     .count = band.count};
}

dit_run dit_partition_run(const dit_partition *part, int64_t index)
{
    return run_of(part, part->sequence_rank, index);
}

int64_t dit_partition_token(const dit_partition *part, int64_t row)
{
    int64_t last = dit_partition_runs(part) - 1;
    dit_run run = dit_partition_run(part, 0);
    for (int64_t i = 0; i <= last; i++) {
        run = dit_partition_run(part, i);
        if (row < run.row + run.count) break;
    }
    return run.token + row - run.row;
}

void dit_partition_take(const dit_partition *part, const float *whole, int64_t cols, float *local)
{
    for (int64_t i = 0; i < dit_partition_runs(part); i++) {
        dit_run run = dit_partition_run(part, i);
        memcpy(local + run.row * cols, whole + run.token * cols, (size_t)(run.count * cols) * sizeof *local);
    }
}

/* [size][outer][inner] -> [outer][size][inner]: moves a gathered axis from outermost to its place. */
static void move_axis(dit_runtime *rt, const float *src, int64_t size, int64_t outer, int64_t inner, float *dst)
{
    ops_copy(rt, &(dit_copy_args){.n0 = size,
                                  .n1 = outer,
                                  .n2 = 1,
                                  .inner = inner,
                                  .src = src,
                                  .src_stride = {outer * inner, inner, inner},
                                  .dst = dst,
                                  .dst_stride = {inner, size * inner, inner}});
}

/* Gathers [outer][inner] over `axis` into [outer][size][inner]; `scratch` and `full` hold size*outer*inner. */
static dit_status gather_axis(dit_runtime *rt, dit_axis axis, const float *local, int64_t outer, int64_t inner,
                              float *scratch, float *full)
{
    int64_t size = dit_comm_size(rt->comm[axis]);
    if (size == 1) {
        if (local != full) dit_runtime_copy(rt, local, outer * inner, full);
        return DIT_OK;
    }
    DIT_TRY(dit_comm_all_gather(rt->comm[axis], local, scratch, outer * inner * (int64_t)sizeof *local));
    move_axis(rt, scratch, size, outer, inner, full);
    return DIT_OK;
}

/* Copies each run of `from`, which holds the rows of every sequence rank, to its place in out [images, S, cols]. */
static void place_runs(dit_runtime *rt, const dit_partition *part, const float *from, int64_t cols, float *out)
{
    int64_t elements = part->images * part->image_count * cols;
    for (int64_t rank = 0; rank < part->sequence_degree; rank++) {
        for (int64_t i = 0; i < dit_partition_runs(part); i++) {
            dit_run run = run_of(part, rank, i);
            ops_copy(rt, &(dit_copy_args){.n0 = 1,
                                          .n1 = part->images,
                                          .n2 = 1,
                                          .inner = run.count * cols,
                                          .src = from + rank * elements + run.row * cols,
                                          .src_stride = {0, part->image_count * cols, 0},
                                          .dst = out + run.token * cols,
                                          .dst_stride = {0, part->image_tokens * cols, 0}});
        }
    }
}

static void swap(float **a, float **b)
{
    float *kept = *a;
    *a = *b, *b = kept;
}

dit_status dit_partition_gather_latents(dit_runtime *rt, const dit_partition *part, const float *local, int64_t cols,
                                        float *scratch, float *full)
{
    int64_t elements = part->images * part->image_count * cols, data = dit_comm_size(rt->comm[DIT_AXIS_DATA]);
    float *to = scratch, *other = full;
    const float *from = local;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        int64_t size = dit_comm_size(rt->comm[axis]);
        if (size == 1 || !is_sequence(axis)) continue;
        DIT_TRY(dit_comm_all_gather(rt->comm[axis], from, to, elements * (int64_t)sizeof *from));
        elements *= size;
        from = to;
        swap(&to, &other);
    }
    place_runs(rt, part, from, cols, to);
    if (data > 1) {
        DIT_TRY(dit_comm_all_gather(rt->comm[DIT_AXIS_DATA], to, other, elements * (int64_t)sizeof *to));
        swap(&to, &other);
    }
    if (to != full) dit_runtime_copy(rt, to, data * elements, full);
    return DIT_OK;
}

/* Copies one piece (rows begin.. of each batch entry) densely and gathers the whole over the given axes. Both lie in
 * operators' arrays. */
static dit_status gather_rows(dit_runtime *rt, const dit_shards *shards, int64_t batch, int64_t begin, int64_t rows,
                              bool sequence, float *scratch, float *full)
{
    int64_t held = rows, cols = shards->cols, cfg = shards->batched ? dit_comm_size(rt->comm[DIT_AXIS_CFG]) : 1;
    ops_copy(rt, &(dit_copy_args){.n0 = batch,
                                  .n1 = rows,
                                  .n2 = 1,
                                  .inner = cols,
                                  .src = shards->data + begin * shards->ld,
                                  .src_stride = {shards->batch_stride, shards->ld, cols},
                                  .dst = full,
                                  .dst_stride = {rows * cols, cols, cols}});
    for (int axis = 0; axis < DIT_AXIS_COUNT && sequence; axis++) {
        if (!is_sequence(axis)) continue;
        DIT_TRY(gather_axis(rt, (dit_axis)axis, full, batch, held * cols, scratch, full));
        held *= dit_comm_size(rt->comm[axis]);
    }
    return cfg > 1 ? gather_axis(rt, DIT_AXIS_CFG, full, 1, batch * held * cols, scratch, full) : DIT_OK;
}

/* Gathers one piece into host memory; *out is malloc'ed. */
static dit_status collect_rows(dit_runtime *rt, const dit_shards *shards, int64_t batch, int64_t begin, int64_t rows,
                               bool sequence, float **out, int64_t *full_rows)
{
    int64_t shared = sequence ? dit_parallel_sequence_degree(&rt->parallel) : 1;
    int64_t cfg = shards->batched ? dit_comm_size(rt->comm[DIT_AXIS_CFG]) : 1;
    int64_t elements = batch * rows * shared * cfg * shards->cols;
    dit_arena_mark mark = dit_arena_get_mark(&rt->step);
    float *full, *scratch;
    *full_rows = rows * shared;
    *out = malloc((size_t)(elements + 1) * sizeof **out);
    dit_status st = *out ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory to collect %lld floats", (long long)elements);
    if (st == DIT_OK) st = dit_arena_fp32(&rt->step, elements, &full);
    if (st == DIT_OK) st = dit_arena_fp32(&rt->step, elements, &scratch);
    if (st == DIT_OK) st = gather_rows(rt, shards, batch, begin, rows, sequence && shared > 1, scratch, full);
    if (st == DIT_OK) st = dit_runtime_download(rt, full, elements);
    if (st == DIT_OK) memcpy(*out, full, (size_t)elements * sizeof **out);
    dit_arena_release_to(&rt->step, mark);
    if (st != DIT_OK) {
        free(*out);
        *out = NULL;
    }
    return st;
}

/* [entries][outer][inner][cols] -> [entries][inner][outer][cols], in place */
static dit_status swap_axes(int64_t entries, int64_t outer, int64_t inner, int64_t cols, float *data)
{
    int64_t elements = outer * inner * cols;
    float *entry = malloc((size_t)(elements + 1) * sizeof *entry);
    if (!entry) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to turn %lld rows", (long long)(outer * inner));
    for (int64_t e = 0; e < entries; e++, data += elements) {
        memcpy(entry, data, (size_t)elements * sizeof *entry);
        for (int64_t o = 0; o < outer; o++)
            for (int64_t i = 0; i < inner; i++)
                memcpy(data + (i * outer + o) * cols, entry + (o * inner + i) * cols, (size_t)cols * sizeof *entry);
    }
    free(entry);
    return DIT_OK;
}

/* Collects image rows; every segment is gathered as an entry of its own. */
static dit_status collect_image(dit_runtime *rt, const dit_partition *part, const dit_shards *shards, int64_t batch,
                                float **out, int64_t *rows)
{
    dit_shards pieces = *shards;
    if (bands_of(part) > 1) return DIT_FAIL(DIT_ERR_UNSUPPORTED, "tensors of a pipeline's ranks cannot be collected");
    if (part->whole_segments)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "tensors of ranks with whole frames cannot be collected");
    if (part->segments > 1 && batch > 1 && shards->batch_stride != part->image_count * shards->ld)
        return DIT_FAIL(DIT_ERR_INTERNAL, "segments can be collected only from entries that follow each other");
    if (part->segments > 1) pieces.batch_stride = part->segment_count * shards->ld;
    DIT_TRY(collect_rows(rt, &pieces, batch * part->segments, 0, part->segment_count, true, out, rows));
    *rows *= part->segments;
    int64_t entries = batch * (shards->batched ? dit_comm_size(rt->comm[DIT_AXIS_CFG]) : 1);
    if (shards->layout == DIT_LAYOUT_ACROSS)
        return swap_axes(entries, part->segments, part->segment_tokens, shards->cols, *out);
    if (shards->layout == DIT_LAYOUT_PLANES) return swap_axes(entries, part->image_tokens, shards->cols, 1, *out);
    return DIT_OK;
}

/* Joins text rows, then image rows, of each batch entry. */
static dit_status stitch(const float *text, int64_t text_rows, const float *image, int64_t image_rows, int64_t batch,
                         int64_t cols, float **out)
{
    int64_t rows = text_rows + image_rows;
    *out = malloc((size_t)(batch * rows * cols + 1) * sizeof **out);
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to stitch %lld rows", (long long)(batch * rows));
    for (int64_t b = 0; b < batch; b++) {
        memcpy(*out + b * rows * cols, text + b * text_rows * cols, (size_t)(text_rows * cols) * sizeof **out);
        memcpy(*out + (b * rows + text_rows) * cols, image + b * image_rows * cols,
               (size_t)(image_rows * cols) * sizeof **out);
    }
    return DIT_OK;
}

dit_status dit_partition_collect(dit_runtime *rt, const dit_partition *part, const dit_shards *shards, float **out,
                                 int64_t *elements)
{
    int64_t batch = shards->batched ? part->batch : 1;
    int64_t full_batch = batch * (shards->batched ? dit_comm_size(rt->comm[DIT_AXIS_CFG]) : 1);
    float *text = NULL, *image = NULL;
    int64_t text_rows = 0, image_rows = 0, rows = 0;
    dit_status st = DIT_OK;
    switch (shards->layout) {
    case DIT_LAYOUT_IMAGE:
    case DIT_LAYOUT_ACROSS:
    case DIT_LAYOUT_PLANES: st = collect_image(rt, part, shards, batch, out, &rows); break;
    case DIT_LAYOUT_TEXT:
        st = collect_rows(rt, shards, batch, 0, part->text_count, !part->text_replicated, out, &rows);
        break;
    case DIT_LAYOUT_GLOBAL: st = collect_rows(rt, shards, batch, 0, shards->rows, false, out, &rows); break;
    case DIT_LAYOUT_JOINT:
        st = collect_rows(rt, shards, batch, 0, part->text_count, !part->text_replicated, &text, &text_rows);
        if (st == DIT_OK)
            st = collect_rows(rt, shards, batch, part->text_count, part->image_count, true, &image, &image_rows);
        if (st == DIT_OK) st = stitch(text, text_rows, image, image_rows, full_batch, shards->cols, out);
        rows = text_rows + image_rows;
        break;
    default: st = DIT_FAIL(DIT_ERR_INTERNAL, "layout %d", (int)shards->layout);
    }
    free(text);
    free(image);
    *elements = full_batch * rows * shards->cols;
    return st;
}
