/* Pipelines and patches: which blocks a stage has, which rows a band, how many steps are stale, and which plain run
 * must give the same. */
#include "base/patches.h"

#include <math.h>

dit_range dit_range_cut(int64_t total, int64_t pieces, int64_t index)
{
    int64_t first = total * index / pieces;
    return (dit_range){first, total * (index + 1) / pieces - first};
}

dit_range dit_band_cut(int64_t rows, int64_t references, int64_t bands, int64_t index)
{
    dit_range latent = dit_range_cut(rows - references, bands, index), beside = dit_range_cut(references, bands, index);
    return (dit_range){latent.first + beside.first, latent.count + beside.count};
}

bool dit_parallel_streams(const dit_parallel *parallel)
{
    return dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION) > 1 && parallel->stage_method != DIT_STAGE_PIPEFUSION;
}

dit_range dit_parallel_stage(const dit_parallel *parallel, const dit_facts *facts, int stage)
{
    int64_t stages = dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION), first = 0;
    if (parallel->stage_method == DIT_STAGE_TPP) return (dit_range){0, facts->layers};
    if (stages == 1 || !parallel->stage_blocks[0]) return dit_range_cut(facts->layers, stages, stage);
    for (int i = 0; i < stage; i++) first += parallel->stage_blocks[i];
    return (dit_range){first, parallel->stage_blocks[stage]};
}

int64_t dit_parallel_bands(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t stages = dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION),
            segments = facts->segments > 1 ? facts->segments : 1;
    int64_t rows = dit_facts_latent_tokens(facts) / segments / dit_parallel_sequence_degree(parallel);
    int64_t bands = parallel->num_pipeline_patch ? parallel->num_pipeline_patch : stages;
    if (stages == 1) return 1;
    if (dit_parallel_streams(parallel)) return dit_facts_frames(facts) / parallel->block_frames;
    return bands < rows ? bands : rows;
}

int dit_parallel_stale_steps(const dit_parallel *parallel, const dit_facts *facts)
{
    if (!dit_parallel_is_displaced(parallel)) return 0;
    return facts->steps > parallel->warmup_steps ? (int)facts->steps - parallel->warmup_steps : 0;
}

bool dit_parallel_cuts_frames(const dit_parallel *parallel)
{
    return dit_parallel_degree(parallel, DIT_AXIS_PATCH) > 1 && parallel->patch_method == DIT_PATCH_FRAMES;
}

/* Nothing of a step is kept for the next one. */
static bool forgets(const dit_parallel *parallel)
{
    bool naive = dit_parallel_degree(parallel, DIT_AXIS_PATCH) > 1 && parallel->patch_method == DIT_PATCH_NAIVE;
    return naive || dit_parallel_cuts_frames(parallel) || dit_parallel_streams(parallel);
}

bool dit_parallel_has_fill(const dit_parallel *parallel, const dit_facts *facts)
{
    bool filled = dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION) > 1 && parallel->habits.stores_filled;
    return !forgets(parallel) && !filled && parallel->warmup_steps == 0 &&
           dit_parallel_stale_steps(parallel, facts) > 0;
}

static double fraction_of(const dit_parallel *parallel)
{
    return parallel->patch_fraction > 0 ? parallel->patch_fraction : 0.5;
}

int64_t dit_parallel_shared_rows(const dit_parallel *parallel, int64_t rows)
{
    int64_t shared = (int64_t)ceil(fraction_of(parallel) * (double)rows);
    return shared < rows ? shared : rows;
}

int64_t dit_parallel_shared_beside(const dit_parallel *parallel, int64_t rows, int64_t references)
{
    return dit_parallel_shared_rows(parallel, rows - references) + dit_parallel_shared_rows(parallel, references);
}

bool dit_parallel_sees_all(const dit_parallel *parallel)
{
    return dit_parallel_degree(parallel, DIT_AXIS_PATCH) == 1 || parallel->patch_method == DIT_PATCH_DISTRIFUSION;
}

dit_joint_text dit_parallel_joint_text(const dit_parallel *parallel, const dit_facts *facts)
{
    if (!facts->joint) return DIT_JOINT_TEXT_REPLICATE;
    if (parallel->joint_text != DIT_JOINT_TEXT_AUTO) return parallel->joint_text;
    if (!dit_parallel_sees_all(parallel)) return DIT_JOINT_TEXT_REPLICATE;
    return dit_facts_text_rows(facts) % dit_parallel_sequence_degree(parallel) == 0 ? DIT_JOINT_TEXT_SPLIT
                                                                                    : DIT_JOINT_TEXT_REPLICATE;
}

/* Of a stream, how many stages there are changes nothing. */
static void emulate_stream(const dit_parallel *parallel, dit_parallel *out)
{
    out->degree[DIT_AXIS_PIPEFUSION] = 2;
    out->stage_method = parallel->stage_method;
    out->block_frames = parallel->block_frames, out->context_frames = parallel->context_frames;
    out->joint_text = DIT_JOINT_TEXT_REPLICATE;
}

/* Makes the emulated form of a pipeline: two stages, because their number changes nothing, and bands over the rows of
 * all sequence ranks. */
static void emulate_pipeline(const dit_parallel *parallel, const dit_facts *facts, dit_parallel *out)
{
    out->degree[DIT_AXIS_PIPEFUSION] = 2;
    out->degree[DIT_AXIS_RING] = dit_parallel_sequence_degree(parallel);
    out->num_pipeline_patch = (int)dit_parallel_bands(parallel, facts);
    out->joint_text = DIT_JOINT_TEXT_REPLICATE;
}

static void emulate_patches(const dit_parallel *parallel, const dit_facts *facts, dit_parallel *out)
{
    out->degree[DIT_AXIS_PATCH] = parallel->degree[DIT_AXIS_PATCH];
    out->patch_method = parallel->patch_method;
    out->patch_fraction = parallel->patch_method == DIT_PATCH_PCPP ? fraction_of(parallel) : 0;
    if (parallel->patch_method == DIT_PATCH_FRAMES)
        out->halo_frames = parallel->halo_frames, out->global_frames = parallel->global_frames;
    out->joint_text = dit_parallel_joint_text(parallel, facts);
}

dit_parallel dit_parallel_emulated(const dit_parallel *parallel, const dit_facts *facts)
{
    dit_parallel out = {.warmup_steps = parallel->warmup_steps, .rows_degree = 1};
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) out.degree[axis] = 1;
    if (dit_parallel_streams(parallel))
        emulate_stream(parallel, &out);
    else if (dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION) > 1)
        emulate_pipeline(parallel, facts, &out);
    else if (dit_parallel_degree(parallel, DIT_AXIS_PATCH) > 1)
        emulate_patches(parallel, facts, &out);
    else
        out.warmup_steps = 0;
    return out;
}
