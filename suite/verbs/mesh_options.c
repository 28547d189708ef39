#include "suite/verbs/mesh_options.h"

#include "base/label.h"
#include "base/log.h"
#include "base/patches.h"
#include "base/words.h"

#include <string.h>

static suite_option degree_option(const char *name, const char *help, dit_axis axis, int64_t *degree)
{
    return (suite_option){name, 0, SUITE_OPTION_INT, "N", help, degree, 1, dit_axis_get(axis)->greatest};
}

int suite_degree_options(int64_t degree[DIT_AXIS_COUNT], suite_option *options)
{
    int count = 0;
    for (int place = 0; place < DIT_GROUP_COUNT; place++) {
        dit_axis axis = dit_axis_at_label(place);
        const dit_axis_info *info = dit_axis_get(axis);
        if (axis >= DIT_AXIS_COUNT) continue;
        options[count++] = degree_option(dit_axis_key(axis), info->help, axis, &degree[axis]);
        if (info->xdit) options[count++] = degree_option(info->xdit, "as xDiT calls it", axis, &degree[axis]);
    }
    return count;
}

void suite_displaced_options(suite_displaced *displaced, suite_option *options)
{
    const suite_option rows[SUITE_DISPLACED_OPTIONS] = {
        {"num_pipeline_patch", 0, SUITE_OPTION_INT, "N",
         "bands that follow each other through the stages (default: one a stage)", &displaced->num_pipeline_patch, 1,
         4096},
        {"warmup_steps", 0, SUITE_OPTION_INT, "N",
         "synchronous steps of a pipeline or of patches (1; of video-infinity 0)", &displaced->warmup_steps, 0, 100000},
        {"attn_layer_num_for_pp", 0, SUITE_OPTION_STRING, "A,B,..",
         "blocks of each stage (default: as even as possible)", &displaced->stage_blocks, 0, 0},
        {"patch_method", 0, SUITE_OPTION_STRING, "NAME", "the method of displaced patches (distrifusion)",
         &displaced->patch_method, 0, 0},
        {"patch_fraction", 0, SUITE_OPTION_NUMBER, "F", "pcpp: the share of a neighbour's rows that a rank gets (0.5)",
         &displaced->patch_fraction, 0, 0},
        {"halo_frames", 0, SUITE_OPTION_INT, "N", "video-infinity: frames of each neighbour that a rank sees (1)",
         &displaced->halo_frames, 0, 1 << 20},
        {"global_frames", 0, SUITE_OPTION_INT, "N", "video-infinity: frames that all ranks see (one of each rank)",
         &displaced->global_frames, 0, 1 << 20},
        {"stage_method", 0, SUITE_OPTION_STRING, "NAME", "what stages have and hand on (pipefusion)",
         &displaced->stage_method, 0, 0},
        {"block_frames", 0, SUITE_OPTION_INT, "N", "dualparal, tpp: frames of tokens of a block",
         &displaced->block_frames, 1, 1 << 20},
        {"context_frames", 0, SUITE_OPTION_INT, "N", "dualparal, tpp: frames that a block sees beside it (a block's)",
         &displaced->context_frames, 0, 1 << 20},
    };
    memcpy(options, rows, sizeof rows);
}

void suite_shard_options(suite_shards *shards, suite_option *options)
{
    const dit_axis_info *info = dit_axis_get(DIT_AXIS_FSDP);
    const suite_option rows[SUITE_SHARD_OPTIONS] = {
        degree_option(dit_axis_key(DIT_AXIS_FSDP), info->help, DIT_AXIS_FSDP, &shards->degree),
        degree_option(info->xdit, "as xDiT calls it", DIT_AXIS_FSDP, &shards->degree),
        {"fsdp_prefetch", 0, SUITE_OPTION_INT, "N", "with --fsdp_degree: blocks that are gathered ahead (1)",
         &shards->prefetch, 0, 64},
    };
    memcpy(options, rows, sizeof rows);
}

dit_status suite_shards_settle(const suite_shards *shards, dit_parallel *out)
{
    out->fsdp_degree = (int)shards->degree;
    if (shards->degree > 1) out->fsdp_prefetch = shards->prefetch < 0 ? 1 : (int)shards->prefetch;
    if (shards->degree > 1 || shards->prefetch < 0) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--fsdp_prefetch without --fsdp_degree above 1"),
                          "weights that are whole are not gathered");
}

static dit_status settle_stages(const char *text, dit_parallel *out)
{
    int stages = out->degree[DIT_AXIS_PIPEFUSION] > 1 ? out->degree[DIT_AXIS_PIPEFUSION] : 1, count = 0;
    if (!dit_stage_blocks_from_text(text, out->stage_blocks, &count))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_USAGE, "--attn_layer_num_for_pp: '%s' is not a list of blocks per stage", text),
            "write one number per stage with commas, for example 7,7,6,8");
    if (count == stages) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_USAGE, "--attn_layer_num_for_pp lists %d stages, but pipefusion_degree is %d", count, stages),
        "list as many numbers as there are stages");
}

static void settle_frames(const suite_displaced *displaced, dit_parallel *out)
{
    bool said = displaced->halo_frames >= 0 || displaced->global_frames >= 0;
    if (!dit_parallel_cuts_frames(out)) {
        if (said)
            dit_log_info("--halo_frames and --global_frames change nothing: only --patch_method %s reads them",
                         dit_patch_method_name(DIT_PATCH_FRAMES));
        return;
    }
    out->halo_frames = displaced->halo_frames < 0 ? 1 : (int)displaced->halo_frames;
    out->global_frames = displaced->global_frames < 0 ? out->degree[DIT_AXIS_PATCH] : (int)displaced->global_frames;
}

static dit_status settle_patches(const suite_displaced *displaced, dit_parallel *out)
{
    const char *const *words = dit_patch_method_names();
    const char *method = displaced->patch_method ? displaced->patch_method : words[0];
    if (!dit_patch_method_from_name(method, &out->patch_method))
        return dit_fail_word(DIT_ERR_USAGE, "--patch_method", method, words);
    if (displaced->patch_fraction < 0 || displaced->patch_fraction > 1)
        return DIT_FAIL(DIT_ERR_USAGE, "--patch_fraction: %g is outside (0, 1]", displaced->patch_fraction);
    if (out->degree[DIT_AXIS_PATCH] > 1 && out->patch_method == DIT_PATCH_PCPP)
        out->patch_fraction = displaced->patch_fraction;
    else if (displaced->patch_fraction > 0)
        dit_log_info("--patch_fraction changes nothing: only --patch_method %s reads it",
                     dit_patch_method_name(DIT_PATCH_PCPP));
    settle_frames(displaced, out);
    return DIT_OK;
}

/* *streams: blocks of frames go through the stages, and nothing is synchronous. */
static dit_status settle_stream(const suite_displaced *displaced, dit_parallel *out, bool *streams)
{
    const char *const *words = dit_stage_method_names();
    const char *method = displaced->stage_method ? displaced->stage_method : words[0];
    if (!dit_stage_method_from_name(method, &out->stage_method))
        return dit_fail_word(DIT_ERR_USAGE, "--stage_method", method, words);
    *streams = dit_parallel_streams(out);
    if (!*streams) {
        if (displaced->block_frames || displaced->context_frames >= 0)
            dit_log_info("--block_frames and --context_frames change nothing: only stages of %s and %s read them",
                         words[1], words[2]);
        return DIT_OK;
    }
    if (!displaced->block_frames)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--stage_method %s without --block_frames", method),
                              "say how many frames of tokens a block has; they divide the clip's");
    out->block_frames = (int)displaced->block_frames;
    out->context_frames = (int)(displaced->context_frames < 0 ? displaced->block_frames : displaced->context_frames);
    return DIT_OK;
}

dit_status suite_displaced_settle(const suite_displaced *displaced, dit_parallel *out)
{
    bool pipeline = out->degree[DIT_AXIS_PIPEFUSION] > 1, patches = out->degree[DIT_AXIS_PATCH] > 1;
    bool streams = false;
    DIT_TRY(settle_patches(displaced, out));
    DIT_TRY(settle_stream(displaced, out, &streams));
    if (displaced->stage_blocks) DIT_TRY(settle_stages(displaced->stage_blocks, out));
    if (streams) return DIT_OK;
    if (pipeline || patches)
        out->warmup_steps = displaced->warmup_steps < 0 ? !dit_parallel_cuts_frames(out) : (int)displaced->warmup_steps;
    else if (displaced->warmup_steps >= 0)
        dit_log_info("--warmup_steps changes nothing: without stages and patches every step is synchronous");
    if (pipeline)
        out->num_pipeline_patch = (int)displaced->num_pipeline_patch;
    else if (displaced->num_pipeline_patch)
        dit_log_info("--num_pipeline_patch changes nothing: there is one stage, and the sequence is not cut");
    return DIT_OK;
}

void suite_attention_settle(const char *attention, dit_parallel *out)
{
    int index = dit_words_find(dit_ring_method_names_of_models(), attention);
    if (index >= 0 && out->degree[DIT_AXIS_RING] > 1) out->ring_method = (dit_ring_method)index;
}

void suite_offload_options(suite_offload *offload, suite_option *options)
{
    const suite_option rows[SUITE_OFFLOAD_OPTIONS] = {
        {"offload", 0, SUITE_OPTION_STRING, "TIER",
         "disk or host: weights of blocks are read when a block needs them (docs/memory.md)", &offload->tier, 0, 0},
        {"resident_weights", 0, SUITE_OPTION_INT, "BYTES", "with --offload: bytes that they may take at once",
         &offload->resident_weights, 1, INT64_C(1) << 50},
        {"offload_policy", 0, SUITE_OPTION_STRING, "NAME", "which of them go: prefetch (default), belady, lru",
         &offload->policy, 0, 0},
        {"offload_depth", 0, SUITE_OPTION_INT, "N", "with prefetch: blocks that are read ahead (1)", &offload->depth, 1,
         64},
    };
    memcpy(options, rows, sizeof rows);
}

dit_status suite_offload_settle(const suite_offload *offload, dit_offload *out)
{
    int tier = offload->tier ? dit_words_find(dit_offload_tiers, offload->tier) : DIT_OFFLOAD_NONE;
    int policy = offload->policy ? dit_words_find(dit_residency_policies, offload->policy) : DIT_RESIDENCY_PREFETCH;
    *out = (dit_offload){0};
    if (tier < 0) return dit_fail_word(DIT_ERR_USAGE, "--offload", offload->tier, dit_offload_tiers);
    if (policy < 0) return dit_fail_word(DIT_ERR_USAGE, "--offload_policy", offload->policy, dit_residency_policies);
    if (tier == DIT_OFFLOAD_NONE && (offload->policy || offload->resident_weights || offload->depth))
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "weights that do not stream have no policy and no room"),
                              "add --offload disk or --offload host");
    if (tier == DIT_OFFLOAD_NONE) return DIT_OK;
    *out = (dit_offload){.tier = (dit_offload_tier)tier,
                         .policy = (dit_residency_policy)policy,
                         .resident_weights = offload->resident_weights};
    if (policy == DIT_RESIDENCY_PREFETCH) out->depth = offload->depth ? (int)offload->depth : 1;
    return DIT_OK;
}
