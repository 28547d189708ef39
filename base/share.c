#include "base/share.h"

#include "base/mesh.h"
#include "base/patches.h"
#include "base/stream.h"

static dit_passes passes_of(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t stale = dit_parallel_stale_steps(parallel, facts), bands = dit_parallel_bands(parallel, facts);
    int64_t whole = facts->steps - stale + dit_parallel_has_fill(parallel, facts);
    int64_t texts = parallel->habits.text_with_every_band ? bands : 1;
    return (dit_passes){.whole = whole, .stale = stale, .bands = bands, .text = whole + stale * texts};
}

dit_block_run dit_share_stage_blocks(const dit_parallel *parallel, const dit_facts *facts, int stage)
{
    dit_range own = dit_parallel_stage(parallel, facts, stage);
    return dit_facts_blocks(facts, own.first, own.count);
}

/* Counts those along the one axis that may share an image whose convolutions need rows of others (legality.c). */
static int64_t neighbours_of(const dit_parallel *parallel, const int coordinates[DIT_AXIS_COUNT])
{
    dit_axis axis = dit_parallel_degree(parallel, DIT_AXIS_RING) > 1 ? DIT_AXIS_RING : DIT_AXIS_ULYSSES;
    return (coordinates[axis] > 0) + (coordinates[axis] < dit_parallel_degree(parallel, axis) - 1);
}

static dit_share mesh_of(const dit_parallel *parallel, const dit_facts *facts, int rank)
{
    int coordinates[DIT_AXIS_COUNT];
    dit_mesh_coordinates(parallel, rank, coordinates);
    return (dit_share){.element = facts->element_bytes ? facts->element_bytes : (int64_t)sizeof(float),
                       .u = dit_parallel_degree(parallel, DIT_AXIS_ULYSSES),
                       .r = dit_parallel_degree(parallel, DIT_AXIS_RING),
                       .t = dit_parallel_degree(parallel, DIT_AXIS_TENSOR),
                       .patch = dit_parallel_degree(parallel, DIT_AXIS_PATCH),
                       .stages = dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION),
                       .cfg = dit_parallel_degree(parallel, DIT_AXIS_CFG),
                       .data = dit_parallel_degree(parallel, DIT_AXIS_DATA),
                       .stage = coordinates[DIT_AXIS_PIPEFUSION],
                       .part = coordinates[DIT_AXIS_PATCH],
                       .neighbours = neighbours_of(parallel, coordinates),
                       .passes = passes_of(parallel, facts),
                       .blocks = dit_share_stage_blocks(parallel, facts, coordinates[DIT_AXIS_PIPEFUSION])};
}

dit_share dit_share_of(const dit_parallel *parallel, const dit_facts *facts, int rank)
{
    dit_share s = mesh_of(parallel, facts, rank);
    int64_t ranks = dit_parallel_sequence_degree(parallel);
    if (dit_parallel_streams(parallel)) {
        s.stream = dit_stream_of(parallel, facts, s.stage);
        s.passes.stale = s.stream.steps.count, s.passes.text = s.passes.stale * s.stream.blocks;
    }
    s.images = facts->num_images / s.data;
    s.batch = s.images * facts->guidance_branches / s.cfg;
    s.image_rows = s.moving_rows = facts->image_tokens / ranks;
    s.reference_rows = facts->reference_tokens / ranks;
    s.segments = facts->segments > 1 ? facts->segments : 1;
    s.frames = dit_parallel_cuts_frames(parallel) ? dit_facts_frames(facts) / s.patch : 0;
    if (s.frames && s.segments > 1) s.segments = s.frames;
    s.hidden = facts->heads / s.t * facts->head_dim;
    if (facts->linear_attention) s.state = s.hidden * (facts->head_dim + 1);
    if (facts->halo_channels && facts->latent.patch)
        s.edge = facts->latent.width / facts->latent.patch * facts->halo_channels / s.t;
    if (facts->joint && dit_parallel_joint_text(parallel, facts) == DIT_JOINT_TEXT_SPLIT)
        s.moving_rows += dit_facts_text_rows(facts) / ranks;
    else if (facts->joint)
        s.replicated_rows = dit_facts_text_rows(facts);
    return s;
}
