/* Checks one rule after the other; the first broken rule is reported. */
#include "base/legality.h"

#include "base/patches.h"

static dit_status check_stages(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t stages = dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION);
    if (stages > DIT_MAX_STAGES)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "pipefusion_degree %lld is above %d",
                                       (long long)stages, DIT_MAX_STAGES),
                              "put more ranks into ulysses, ring, cfg or data degrees");
    if (stages > 1 && parallel->stage_method == DIT_STAGE_TPP) return DIT_OK; /* check_stream */
    if (stages > 1 && stages > facts->layers)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_STAGES,
                                       "pipefusion_degree %lld is above the number of blocks of %s, %lld",
                                       (long long)stages, facts->family, (long long)facts->layers),
                              "every stage needs at least one block");
    return DIT_OK;
}

static dit_status check_listed_stages(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t stages = dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION), sum = 0;
    if (stages == 1 || !parallel->stage_blocks[0]) return DIT_OK;
    for (int64_t i = 0; i < stages; i++) {
        if (parallel->stage_blocks[i] < 1)
            return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_STAGES,
                                           "attn_layer_num_for_pp: stage %lld of %lld has %d blocks", (long long)i,
                                           (long long)stages, parallel->stage_blocks[i]),
                                  "give every stage at least one block, or leave the list out");
        sum += parallel->stage_blocks[i];
    }
    if (sum != facts->layers)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_STAGES,
                                       "attn_layer_num_for_pp: the stages have %lld blocks together, but %s has %lld",
                                       (long long)sum, facts->family, (long long)facts->layers),
                              "list numbers that add up to %lld, or leave the list out", (long long)facts->layers);
    return DIT_OK;
}

static dit_status check_patches(const dit_parallel *parallel, const dit_facts *facts)
{
    static const dit_axis others[] = {DIT_AXIS_ULYSSES, DIT_AXIS_RING, DIT_AXIS_PIPEFUSION};
    int64_t degree = dit_parallel_degree(parallel, DIT_AXIS_PATCH);
    (void)facts;
    for (size_t i = 0; i < sizeof others / sizeof *others && degree > 1; i++)
        if (dit_parallel_degree(parallel, others[i]) > 1)
            return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "patch_degree %lld (%s) beside %s %lld",
                                           (long long)degree, dit_patch_method_name(parallel->patch_method),
                                           dit_axis_key(others[i]),
                                           (long long)dit_parallel_degree(parallel, others[i])),
                                  "displaced patches can be combined with tensor, cfg and data degrees only");
    return DIT_OK;
}

static dit_status check_frame_counts(const dit_parallel *parallel, int64_t ranks, int64_t own)
{
    if (parallel->halo_frames < 0 || parallel->halo_frames > own)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "halo_frames %d is not in [0, %lld], a rank's frames",
                                       parallel->halo_frames, (long long)own),
                              "a halo reaches no farther than the neighbour: use fewer halo frames or fewer ranks");
    if (parallel->global_frames < 0 || parallel->global_frames % ranks || parallel->global_frames / ranks > own)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE,
                                       "global_frames %d is no multiple of patch_degree %lld up to %lld, all frames",
                                       parallel->global_frames, (long long)ranks, (long long)(ranks * own)),
                              "every rank gives as many of its frames to all; 0: none");
    return DIT_OK;
}

/* Checks patches that are runs of frames. Frames are those of tokens, which patch_t may have put together. */
static dit_status check_frames(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t ranks = dit_parallel_degree(parallel, DIT_AXIS_PATCH), frames = dit_facts_frames(facts);
    const char *name = dit_patch_method_name(parallel->patch_method);
    if (!dit_parallel_cuts_frames(parallel)) return DIT_OK;
    if (facts->reference_tokens)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD,
                                       "%s cuts a clip by frames, but %lld tokens of a reference belong to no frame",
                                       name, (long long)facts->reference_tokens),
                              "cut the latent and its reference: patch_method distrifusion");
    if (frames < 2)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "%s cuts a clip by frames, but %s makes one frame",
                                       name, facts->family),
                              "take a video model and more num_frames, or cut the image: patch_method distrifusion");
    if (frames % ranks)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_TOKENS,
                                       "%lld frames of tokens not divisible by patch_degree %lld (%s)",
                                       (long long)frames, (long long)ranks, name),
                              "choose num_frames so that every rank has as many frames: a VAE makes one of several, "
                              "and a patch may span two");
    return check_frame_counts(parallel, ranks, frames / ranks);
}

static dit_status check_stream_frames(const dit_parallel *parallel, int64_t frames)
{
    const char *name = dit_stage_method_name(parallel->stage_method);
    bool of_steps = parallel->stage_method == DIT_STAGE_TPP;
    int block = parallel->block_frames, context = parallel->context_frames;
    if (block < 1 || frames % block)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_TOKENS, "%lld frames of tokens not divisible by block_frames %d (%s)",
                     (long long)frames, block, name),
            "choose num_frames so that all blocks are alike: a VAE makes one of several frames, and a "
            "patch may span two");
    if (context >= 0 && (of_steps ? context % block == 0 && context < frames + block : context <= block)) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "context_frames %d with block_frames %d (%s)", context, block, name),
        of_steps ? "a block of tpp sees whole blocks before it: take a multiple of block_frames, no more "
                   "than the clip has"
                 : "a block of dualparal sees a part of the one before and of the one behind it: no "
                   "more than block_frames");
}

/* Axes that go with a stream are those that do not cut its blocks. */
static dit_status check_stream_axes(const dit_parallel *parallel)
{
    static const dit_axis others[] = {DIT_AXIS_ULYSSES, DIT_AXIS_RING, DIT_AXIS_TENSOR};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (dit_parallel_degree(parallel, others[i]) > 1)
            return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "%s beside %s %d",
                                           dit_stage_method_name(parallel->stage_method), dit_axis_key(others[i]),
                                           dit_parallel_degree(parallel, others[i])),
                                  "blocks of frames go through whole stages: cfg and data degrees can be beside them");
    return DIT_OK;
}

/* What of a model has no way through a stream; NULL: nothing. */
static const char *why_no_stream(const dit_facts *facts)
{
    if (facts->segments > 1) return "it attends within frames and over time";
    if (facts->reference_tokens) return "tokens of its reference belong to no frame";
    if (facts->held_tokens) return "its first frame is given, and has a time of its own";
    if (facts->joint) return "its text goes through the blocks with the frames";
    return facts->skips ? "its blocks have skips" : NULL;
}

/* Checks stages that stream blocks of frames (base/stream.h). */
static dit_status check_stream(const dit_parallel *parallel, const dit_facts *facts)
{
    const char *name = dit_stage_method_name(parallel->stage_method);
    int64_t stages = dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION), frames = dit_facts_frames(facts);
    if (!dit_parallel_streams(parallel)) return DIT_OK;
    DIT_TRY(check_stream_axes(parallel));
    if (frames < 2)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "%s streams frames, but %s makes one frame", name, facts->family),
            "take a video model and more num_frames, or stage_method pipefusion");
    if (why_no_stream(facts))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "%s of %s is not built: %s", name, facts->family, why_no_stream(facts)),
            "streams are built for models like Wan, whose blocks pass on the tokens of frames alone");
    if (facts->two_transformers)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "%s beside two transformers", name),
                              "blocks at different steps would need both in turn, and see K and V of the other one");
    if (parallel->warmup_steps)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "%s with warmup_steps %d", name, parallel->warmup_steps),
            "blocks are at different steps, so that none is synchronous: leave it out");
    if (parallel->stage_method == DIT_STAGE_TPP && stages > facts->steps)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_STAGES, "pipefusion_degree %lld is above the %lld steps (%s)",
                                       (long long)stages, (long long)facts->steps, name),
                              "every stage has at least one step");
    if (parallel->stage_method == DIT_STAGE_TPP && parallel->stage_blocks[0])
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_STAGES, "attn_layer_num_for_pp with %s", name),
                              "its stages have steps, all with all layers: leave the list out");
    return check_stream_frames(parallel, frames);
}

/* Checks the settings of pipelines and patches. */
static dit_status check_displaced(const dit_parallel *parallel, const dit_facts *facts)
{
    (void)facts;
    if (!dit_parallel_is_displaced(parallel)) return DIT_OK;
    if (parallel->warmup_steps < 0)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "warmup_steps %d is below 0", parallel->warmup_steps),
                              "0 starts with an uncounted synchronous forward");
    if (parallel->num_pipeline_patch < 0)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "num_pipeline_patch %d is below 1", parallel->num_pipeline_patch),
            "0 means one band per stage");
    if (!(parallel->patch_fraction >= 0 && parallel->patch_fraction <= 1))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "patch_fraction %g is not in (0, 1]", parallel->patch_fraction),
            "it is the part of a neighbour's rows that a rank gets; 0 means a half");
    return DIT_OK;
}

static dit_status check_world(const dit_parallel *parallel, const dit_facts *facts)
{
    (void)facts;
    if (dit_parallel_world_size(parallel) > 65536)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "the degrees multiply to more than 65536 ranks");
    return DIT_OK;
}

static dit_status check_rows(const dit_parallel *parallel, const dit_facts *facts)
{
    dit_parallel mesh = *parallel;
    mesh.rows_degree = 1;
    int ranks = dit_parallel_world_size(&mesh);
    if (parallel->rows_degree <= 1 || parallel->rows_degree == ranks || (ranks == 1 && !facts->heads)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_PRODUCT,
                                   "rows_degree %d is neither 1 nor the number of ranks, %d", parallel->rows_degree,
                                   ranks),
                          "an image is decoded by one rank or by all");
}

static dit_status check_cfg(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t degree = dit_parallel_degree(parallel, DIT_AXIS_CFG);
    if (degree > 2)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "cfg_degree %lld is neither 1 nor 2", (long long)degree),
            "classifier-free guidance has two branches");
    if (degree == 2 && facts->guidance_branches != 2)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CFG,
                                       "cfg_degree 2 needs two guidance branches, but %s runs %lld", facts->family,
                                       (long long)facts->guidance_branches),
                              "a guidance-distilled model takes the scale as an input; leave cfg_degree at 1");
    return DIT_OK;
}

static dit_status check_heads(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t degree = dit_parallel_degree(parallel, DIT_AXIS_ULYSSES),
            tensor = dit_parallel_degree(parallel, DIT_AXIS_TENSOR);
    if (facts->linear_attention) degree = 1; /* its heads stay where they are */
    if (tensor > 1 && facts->heads % (tensor * degree))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_HEADS, "heads %lld not divisible by tensor_degree %lld x ulysses_degree %lld",
                     (long long)facts->heads, (long long)tensor, (long long)degree),
            "tensor ranks share the heads first, then Ulysses ranks those of a tensor rank; ring_degree "
            "has no head limit");
    if (facts->heads % degree)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_HEADS, "heads %lld not divisible by ulysses_degree %lld",
                                       (long long)facts->heads, (long long)degree),
                              "ring_degree has no head limit");
    return DIT_OK;
}

static dit_status check_tokens(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t degree = dit_parallel_sequence_degree(parallel), segments = facts->segments > 1 ? facts->segments : 1;
    int64_t tokens = facts->image_tokens / segments;
    bool patches = dit_parallel_degree(parallel, DIT_AXIS_PATCH) > 1;
    if (dit_parallel_cuts_frames(parallel)) return DIT_OK; /* check_frames: whole frames */
    if (facts->reference_tokens % degree)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_TOKENS, "reference tokens %lld not divisible by %s %lld",
                     (long long)facts->reference_tokens, patches ? "patch_degree" : "ring_degree x ulysses_degree",
                     (long long)degree),
            "every rank has its share of both: choose a size of the reference that the sequence degree "
            "divides");
    if (tokens % degree || (facts->heads && tokens < 1))
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_TOKENS, "image tokens %lld%s not divisible by %s %lld",
                                       (long long)tokens, segments > 1 ? " of a frame" : "",
                                       patches ? "patch_degree" : "ring_degree x ulysses_degree", (long long)degree),
                              "choose a resolution whose token count the sequence degree divides");
    return DIT_OK;
}

static dit_status check_text(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t degree = dit_parallel_sequence_degree(parallel);
    if (!facts->joint || parallel->joint_text != DIT_JOINT_TEXT_SPLIT) return DIT_OK;
    if (!dit_parallel_sees_all(parallel))
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_TEXT,
                                       "joint_text split: with %s no rank would see all %lld text tokens",
                                       dit_patch_method_name(parallel->patch_method), (long long)facts->text_tokens),
                              "use joint_text replicate or auto, or patch_method distrifusion");
    if (dit_facts_text_rows(facts) % degree)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_TEXT,
                                       "joint_text split: text tokens %lld not divisible by %lld",
                                       (long long)dit_facts_text_rows(facts), (long long)degree),
                              "use joint_text replicate or auto");
    return DIT_OK;
}

static dit_status check_images(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t degree = dit_parallel_degree(parallel, DIT_AXIS_DATA);
    if (facts->num_images % degree)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_BATCH, "num_images %lld not divisible by data_degree %lld",
                                       (long long)facts->num_images, (long long)degree),
                              "give every data rank an equal number of images");
    return DIT_OK;
}

/* Video-Infinity takes none. K and V of a step before say nothing where the other transformer made them. */
static dit_status check_transformers(const dit_parallel *parallel, const dit_facts *facts)
{
    if (!facts->two_transformers || dit_parallel_stale_steps(parallel, facts) == 0) return DIT_OK;
    if (dit_parallel_cuts_frames(parallel)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD,
                                   "%d steps would use K and V of the step before, and the model has two transformers",
                                   dit_parallel_stale_steps(parallel, facts)),
                          "make every step synchronous: warmup_steps %lld", (long long)facts->steps);
}

/* A pipeline has the bands of a step one after the other, and a norm is over rows that bands divide. */
static dit_status check_norms(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t stages = dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION);
    if (stages == 1 || !dit_facts_guidance_sums(facts)) return DIT_OK;
    const char *key = dit_facts_guidance_norms(facts) ? "cfg_normalization" : "guidance_rescale";
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "%s beside pipefusion_degree %lld", key, (long long)stages),
        "it needs all rows of a step at one time: use ulysses, ring, patch, tensor or cfg degrees, or %s 0", key);
}

static dit_status check_ring(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t ring = dit_parallel_degree(parallel, DIT_AXIS_RING);
    const char *name = dit_ring_method_name(parallel->ring_method);
    (void)facts;
    if (parallel->ring_method != DIT_RING_MERGE && ring == 1)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "%s with ring_degree 1", name),
                              "it is a method of the ring axis: use ring_degree above 1, or leave it out");
    if (parallel->inner_ring && parallel->ring_method != DIT_RING_DOUBLE)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "inner_ring %d with %s", parallel->inner_ring, name),
                              "only %s has inner rings", dit_ring_method_name(DIT_RING_DOUBLE));
    return dit_inner_ring_check(ring, parallel->inner_ring);
}

/* Switching between frames and places needs both to divide, and blocks of each kind. */
static dit_status check_switch(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t ring = dit_parallel_degree(parallel, DIT_AXIS_RING);
    const char *name = dit_ring_method_name(DIT_RING_SWITCH);
    if (parallel->ring_method != DIT_RING_SWITCH) return DIT_OK;
    if (facts->segments <= 1)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "%s with %s, which attends to all tokens at once", name, facts->family),
            "it is for models whose blocks attend within frames and over time, and for two frames or "
            "more; use ulysses or ring");
    if (dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION) > 1)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "%s beside pipefusion_degree %d", name,
                                       dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION)),
                              "a band has rows of every frame, and none whole; use ulysses inside a pipeline");
    if (facts->segments % ring)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_TOKENS, "%lld frames not divisible by ring_degree %lld of %s",
                                       (long long)facts->segments, (long long)ring, name),
                              "choose a number of frames that the ring degree divides");
    return DIT_OK;
}

/* Linear attention adds up sums over all keys of a step, so nobody needs keys and values, and no band or stale patch has
 * such a sum. Rows next to a rank's own come from one neighbour on each side. */
static dit_status check_linear(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t ulysses = dit_parallel_degree(parallel, DIT_AXIS_ULYSSES),
            ring = dit_parallel_degree(parallel, DIT_AXIS_RING);
    if (!facts->linear_attention) return DIT_OK;
    if (dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION) > 1)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD,
                                       "pipefusion_degree %d with %s, whose attention is linear",
                                       dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION), facts->family),
                              "its sums are over all rows of a step, and bands come one after the other: use ulysses, "
                              "ring, tensor, cfg or data degrees");
    if (dit_parallel_degree(parallel, DIT_AXIS_PATCH) > 1)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "%s with %s, whose attention is linear",
                     dit_patch_method_name(parallel->patch_method), facts->family),
            "there are no keys and values of the step before to attend to: use ulysses or ring degrees, "
            "which add up small sums");
    if (parallel->ring_method != DIT_RING_MERGE)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "%s with %s, whose attention is linear",
                                       dit_ring_method_name(parallel->ring_method), facts->family),
                              "its ranks exchange no keys and values in any order: leave the method out");
    if (ulysses > 1 && ring > 1)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD,
                                       "ulysses_degree %lld beside ring_degree %lld with %s, whose attention is linear",
                                       (long long)ulysses, (long long)ring, facts->family),
                              "both would add up the same sums: use ulysses_degree %lld alone",
                              (long long)(ulysses * ring));
    return DIT_OK;
}

/* Ranks hold whole rows of pixels, and tensor ranks equal shares of the channels. */
static dit_status check_convolutions(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t ranks = dit_parallel_sequence_degree(parallel), tensor = dit_parallel_degree(parallel, DIT_AXIS_TENSOR);
    int64_t rows = facts->latent.patch ? facts->latent.height / facts->latent.patch : 0;
    if (!facts->halo_channels) return DIT_OK;
    if (rows % ranks)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_TOKENS,
                                       "%lld rows of tokens not divisible by ring_degree x ulysses_degree %lld",
                                       (long long)rows, (long long)ranks),
                              "%s has 3 x 3 convolutions, whose ranks hold whole rows: choose a height that divides",
                              facts->family);
    if (facts->halo_channels / 2 % tensor)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "%lld channels not divisible by tensor_degree %lld",
                                       (long long)facts->halo_channels / 2, (long long)tensor),
                              "tensor ranks of %s have equal shares of its convolutions", facts->family);
    return DIT_OK;
}

/* Tensor ranks and stages have other weights. */
static dit_status check_shards(const dit_parallel *parallel, const dit_facts *facts)
{
    int degree = dit_parallel_degree(parallel, DIT_AXIS_FSDP), equals = dit_parallel_equal_ranks(parallel);
    if (degree == 1) return DIT_OK;
    if (equals % degree)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_PRODUCT,
                                       "fsdp_degree %d does not divide the %d ranks that hold equal weights", degree,
                                       equals),
                              "shards lie over ranks of the ulysses, ring, patch, cfg and data axes: tensor ranks and "
                              "pipefusion stages hold other weights");
    if (facts->two_transformers)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "fsdp_degree %d beside two transformers", degree),
                              "weights of one transformer alone can lie in shards; divide them by tensor_degree");
    return DIT_OK;
}

dit_status dit_parallel_check(const dit_parallel *parallel, const dit_facts *facts)
{
    static dit_status (*const rules[])(const dit_parallel *, const dit_facts *) = {
        check_world,  check_stream,    check_stages, check_listed_stages, check_patches,
        check_frames, check_displaced, check_rows,   check_cfg,           check_heads,
        check_tokens, check_text,      check_images, check_transformers,  check_ring,
        check_switch, check_norms,     check_linear, check_convolutions,  check_shards,
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) DIT_TRY(rules[i](parallel, facts));
    return DIT_OK;
}
