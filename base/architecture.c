#include "base/architecture.h"

#include "base/words.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */

/* Every attention and every MLP of a stream ends in a sum over tensor ranks: a block with cross-attention has two
 * attentions and an MLP, one with joint text has an attention and an MLP for each stream, a fused one has one sum. */
#define CROSS_MODULES {[DIT_MODULE_ATTENTION] = {.calls = 1, .image = 1}, [DIT_MODULE_CROSS] = {.image = 1}, \
                       [DIT_MODULE_MLP] = {.image = 1}}
#define CROSS_BLOCK {.sums = {.image = 3}, .modules = CROSS_MODULES}
/* One whose cross-attention tensor ranks may compute whole (engine/models/adaln.c). */
#define ADALN_BLOCK {.sums = {.image = 3, .cross = 1}, .modules = CROSS_MODULES}
#define JOINT_BLOCK {.sums = {.image = 2, .text = 2}, \
                     .modules = {[DIT_MODULE_ATTENTION] = {.calls = 1, .image = 1, .text = 1}, \
                                 [DIT_MODULE_MLP] = {.image = 1, .text = 1}}}
/* One set of weights for both streams; attention and MLP are modules of their own. */
#define UNIFIED_BLOCK {.sums = {.both = 2}, \
                       .modules = {[DIT_MODULE_ATTENTION] = {.calls = 1, .both = 1}, [DIT_MODULE_MLP] = {.both = 1}}}
#define FUSED_BLOCK {.sums = {.both = 1}, .modules = {[DIT_MODULE_FUSED] = {.calls = 1, .both = 1}}}
/* A spatial block and the temporal one after it, which attends within a rank and not to the text. */
#define SPACE_TIME_BLOCK {.sums = {.image = 3 + 2, .cross = 1}, \
                          .modules = {[DIT_MODULE_ATTENTION] = {.calls = 1, .image = 1}, [DIT_MODULE_TEMPORAL] = {.image = 1}, \
                                      [DIT_MODULE_CROSS] = {.image = 1}, [DIT_MODULE_MLP] = {.image = 2}}}
/* A feed-forward network with a convolution over pixels. */
#define CONVOLVED_BLOCK {.sums = {.image = 3, .cross = 1}, .halos = 1, \
                         .modules = {[DIT_MODULE_ATTENTION] = {.calls = 1, .image = 1}, [DIT_MODULE_CROSS] = {.image = 1}, \
                                     [DIT_MODULE_MLP] = {.image = 1, .halos = 1}}}
/* Norms over all heads together: three of the image's rows, one of the text's keys. */
#define NORMED_BLOCK {.sums = {.image = 3, .norms = 3, .memory = 1}, \
                      .modules = {[DIT_MODULE_ATTENTION] = {.calls = 1, .image = 1, .norms = 2}, \
                                  [DIT_MODULE_CROSS] = {.image = 1, .norms = 1}, [DIT_MODULE_MLP] = {.image = 1}}}

static const dit_architecture architectures[] = {
    {.class_name = "CogVideoXTransformer3DModel", .kinds = {{"num_layers", JOINT_BLOCK}},
     .time_key = "time_embed_dim", .time_width = 512, .time_alone = true, .joint = true, .guidance_branches = 2},
    {.class_name = "Flux2Transformer2DModel",
     .kinds = {{"num_layers", JOINT_BLOCK}, {"num_single_layers", FUSED_BLOCK}},
     .joint = true, .guidance_branches = 1, .references = DIT_MOST_REFERENCES},
    {.class_name = "FluxTransformer2DModel",
     .kinds = {{"num_layers", JOINT_BLOCK}, {"num_single_layers", FUSED_BLOCK}},
     .joint = true, .guidance_branches = 1, .references = 1},
    {.class_name = "HunyuanDiT2DModel", .kinds = {{"num_layers", CROSS_BLOCK}},
     .text_keys = {"text_len", "text_len_t5"}, .paired = true, .prepares = true, .guidance_branches = 2,
     .rescales_guidance = true},
    {.class_name = "HunyuanVideo15Transformer3DModel", .kinds = {{"num_layers", JOINT_BLOCK}},
     .beside_keys = {"glyph_tokens", "picture_tokens"}, .beside_tokens = {256, 729},
     .time_alone = true, .joint = true, .guidance_branches = 2},
    {.class_name = "HunyuanVideoTransformer3DModel",
     .kinds = {{"num_layers", JOINT_BLOCK}, {"num_single_layers", FUSED_BLOCK}},
     .joint = true, .guidance_branches = 1},
    {.class_name = "LatteTransformer3DModel", .kinds = {{"num_layers", SPACE_TIME_BLOCK}},
     .per_frame = true, .cross_is_hidden = true, .guidance_branches = 2, .lone_branch = true,
     .time_alone = true, .prepares = true},
    {.class_name = "LTX2VideoTransformer3DModel", .kinds = {{"num_layers", NORMED_BLOCK}},
     .cross_is_hidden = true, .guidance_branches = 2, .time_alone = true, .prepares = true},
    {.class_name = "LTXVideoTransformer3DModel", .kinds = {{"num_layers", NORMED_BLOCK}},
     .cross_is_hidden = true, .guidance_branches = 2, .time_alone = true, .prepares = true,
     .samples_first = true, .holds = true, .rescales_guidance = true},
    {.class_name = "Lumina2Transformer2DModel",
     .kinds = {{"num_refiner_layers", UNIFIED_BLOCK}, {"num_layers", UNIFIED_BLOCK}},
     .width_key = "hidden_size", .text_multiple = 1, .joint = true, .guidance_branches = 2,
     .guidance_norm_kind = DIT_GUIDANCE_NORM_ROWS},
    {.class_name = "MochiTransformer3DModel", .kinds = {{"num_layers", JOINT_BLOCK}},
     .text_width_key = "pooled_projection_dim", .text_width = 1536,
     .drops_text = true, .joint = true, .guidance_branches = 2},
    {.class_name = "PixArtTransformer2DModel", .kinds = {{"num_layers", ADALN_BLOCK}},
     .cross_is_hidden = true, .guidance_branches = 2, .lone_branch = true,
     .time_alone = true, .prepares = true},
    {.class_name = "QwenImageTransformer2DModel", .kinds = {{"num_layers", JOINT_BLOCK}},
     .joint = true, .guidance_branches = 2, .references = DIT_MOST_REFERENCES},
    {.class_name = "SanaTransformer2DModel", .kinds = {{"num_layers", CONVOLVED_BLOCK}},
     .convolved_key = "mlp_ratio", .convolved_ratio = 2.5, .linear_attention = true,
     .cross_is_hidden = true, .guidance_branches = 2, .lone_branch = true, .time_alone = true,
     .prepares = true},
    {.class_name = "SD3Transformer2DModel", .kinds = {{"num_layers", JOINT_BLOCK}},
     .dual_key = "dual_attention_layers", .drops_text = true, .joint = true, .guidance_branches = 2},
    {.class_name = "WanTransformer3DModel", .kinds = {{"num_layers", NORMED_BLOCK}},
     .picture_key = "image_dim", .picture_tokens = 257, .guidance_branches = 2, .time_alone = true,
     .prepares = true, .holds = true},
    {.class_name = "ZImageTransformer2DModel",
     .kinds = {{"n_refiner_layers", UNIFIED_BLOCK}, {"n_layers", UNIFIED_BLOCK}},
     .heads_key = "n_heads", .width_key = "dim", .text_multiple = 32, .joint = true, .guidance_branches = 2,
     .guidance_offset = 1, .guidance_norm_kind = DIT_GUIDANCE_NORM_WHOLE},
};
/* clang-format on */
enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

const dit_architecture *dit_architecture_get(int index)
{
    return index >= 0 && index < ARCHITECTURES ? &architectures[index] : NULL;
}

const dit_architecture *dit_architecture_find(const char *class_name)
{
    for (int i = 0; i < ARCHITECTURES; i++)
        if (strcmp(architectures[i].class_name, class_name) == 0) return &architectures[i];
    return NULL;
}

dit_status dit_architecture_from_config(const dit_json *doc, const cJSON *config, const char *pointer,
                                        const dit_architecture **out)
{
    const char *name;
    const char *names[ARCHITECTURES + 1] = {NULL};
    char at[300];
    DIT_TRY(dit_json_require_string(doc, config, pointer, "_class_name", &name));
    *out = dit_architecture_find(name);
    if (*out) return DIT_OK;
    for (int i = 0; i < ARCHITECTURES; i++) names[i] = architectures[i].class_name;
    snprintf(at, sizeof at, "%s/_class_name", pointer);
    return dit_words_hint_all(dit_json_fail(doc, at, DIT_ERR_UNSUPPORTED, "model class \"%s\" is not built", name),
                              "built", names);
}

/* ---- facts of one config ----------------------------------------------------------------------------------------- */

static bool is_dual(const dit_architecture_sizes *sizes, int64_t layer)
{
    for (int i = 0; i < sizes->dual_count; i++)
        if (sizes->dual[i] == layer) return true;
    return false;
}

/* Block `index` of a kind. Whoever attends twice has one sum more. */
static dit_block_run block_at(const dit_architecture *architecture, const dit_architecture_sizes *sizes, int kind,
                              int64_t index)
{
    dit_block_run block = architecture->kinds[kind].block;
    bool textless = architecture->drops_text && index == sizes->blocks[kind] - 1;
    if (kind == 0 && is_dual(sizes, index))
        block.image_layers++, block.sums.image++, block.modules[DIT_MODULE_ATTENTION].image++;
    if (textless) block.sums.text = 0;
    for (int module = 0; module < DIT_MODULE_COUNT && textless; module++) block.modules[module].text = 0;
    return block;
}

static dit_status add_blocks(const dit_architecture *architecture, const dit_architecture_sizes *sizes, int kind,
                             dit_facts *facts)
{
    for (int64_t first = 0, next; first < sizes->blocks[kind]; first = next) {
        dit_block_run block = block_at(architecture, sizes, kind, first), other;
        for (next = first + 1; next < sizes->blocks[kind]; next++) {
            other = block_at(architecture, sizes, kind, next);
            if (memcmp(&other, &block, sizeof block) != 0) break;
        }
        DIT_TRY(dit_facts_add_blocks(facts, next - first, &block));
    }
    return DIT_OK;
}

dit_status dit_architecture_fill(const dit_architecture *architecture, const dit_architecture_sizes *sizes,
                                 dit_facts *facts)
{
    snprintf(facts->family, sizeof facts->family, "%s", architecture->class_name);
    facts->heads = sizes->heads, facts->head_dim = sizes->head_dim;
    facts->joint = architecture->joint;
    facts->linear_attention = architecture->linear_attention;
    facts->halo_channels = 2 * sizes->convolved; /* values and gates */
    facts->text_width = sizes->text_width;
    facts->text_multiple = architecture->text_multiple;
    facts->text_beside = sizes->text_beside;
    facts->guidance_branches = architecture->guidance_branches;
    facts->guidance_offset = architecture->guidance_offset;
    facts->guidance_norm_kind = architecture->guidance_norm_kind;
    facts->lone_branch = architecture->lone_branch;
    if (architecture->time_alone)
        facts->time_width = sizes->time_width ? sizes->time_width : sizes->heads * sizes->head_dim;
    facts->picture_tokens = sizes->picture ? architecture->picture_tokens : 0;
    facts->segments = architecture->per_frame;
    facts->prepares = architecture->prepares + (architecture->prepares && facts->picture_tokens);
    for (int kind = 0; kind < DIT_BLOCK_KINDS; kind++) DIT_TRY(add_blocks(architecture, sizes, kind, facts));
    if (architecture->paired && facts->layers > 2) facts->skips = facts->layers / 2 - 1;
    return DIT_OK;
}

dit_status dit_architecture_refer(int64_t height_px, int64_t width_px, dit_facts *facts)
{
    const dit_architecture *architecture = dit_architecture_find(facts->family);
    dit_latent reference = facts->latent;
    if (height_px == 0 && width_px == 0) return DIT_OK;
    if (!architecture || !architecture->references)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s takes no reference picture", facts->family),
                              "FLUX.1 Kontext, FLUX.2 and Qwen-Image-Edit do");
    if (facts->reference_count == architecture->references)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s takes at most %d reference pictures", facts->family,
                        architecture->references);
    dit_status st = dit_latent_resize(&reference, height_px, width_px, 1);
    if (st != DIT_OK) return dit_error_note(st, "the reference picture");
    int64_t tokens = dit_latent_tokens(&reference);
    facts->references[facts->reference_count++] =
        (dit_token_grid){reference.height / reference.patch, reference.width / reference.patch};
    facts->reference_tokens += tokens;
    facts->image_tokens += tokens;
    return DIT_OK;
}

dit_status dit_architecture_hold(bool first_frame, dit_facts *facts)
{
    const dit_architecture *architecture = dit_architecture_find(facts->family);
    if (!first_frame) return DIT_OK;
    if (!architecture || !architecture->holds)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "no clip of %s begins with latents that are given", facts->family),
            "those of Wan 2.2 TI2V-5B and of LTX-Video do");
    int64_t frames = dit_facts_frames(facts);
    if (frames < 2)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_RESOLUTION, "the clip has one latent frame, which the picture is already"),
            "ask for more frames");
    facts->held_tokens = facts->image_tokens / frames;
    return DIT_OK;
}
