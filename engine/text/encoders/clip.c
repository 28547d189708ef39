/* CLIP's text encoders: LayerNorms before each part, causal attention, learned positions, pooled text at the end token.
 * CLIP-L has the activation quick_gelu, and CLIP-G the exact GELU. CLIPTextModel gives the pooled text itself, and
 * CLIPTextModelWithProjection its projection.
 * Source: parameter names and arithmetic of transformers 4.51.3 CLIPTextModel; Radford et al., CLIP (arXiv:2103.00020).
 */
#include "engine/text/encoders/encoder_impl.h"

#include <math.h>

/* Configs of OpenAI's checkpoints say 2, which is no end token of theirs; the library then takes the largest id. */
enum { UNKNOWN_END = 2 };

typedef struct {
    int64_t layers, width, heads, inner, vocabulary, positions, projection, end_token;
    double eps;
} clip_config;

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(clip_config, layers, "num_hidden_layers", NAN, 1, 1000),
    DIT_CONFIG_INT(clip_config, width, "hidden_size", NAN, 1, 65536),
    DIT_CONFIG_INT(clip_config, heads, "num_attention_heads", NAN, 1, 1024),
    DIT_CONFIG_INT(clip_config, inner, "intermediate_size", NAN, 1, 1 << 20),
    DIT_CONFIG_INT(clip_config, vocabulary, "vocab_size", 49408, 1, 1 << 24),
    DIT_CONFIG_INT(clip_config, positions, "max_position_embeddings", 77, 1, 1 << 20),
    DIT_CONFIG_INT(clip_config, projection, "projection_dim", 512, 1, 65536),
    DIT_CONFIG_INT(clip_config, end_token, "eos_token_id", 49407, 0, 1 << 24),
    DIT_CONFIG_NUMBER(clip_config, eps, "layer_norm_eps", 1e-5, 0, 1),
    DIT_CONFIG_END,
};

static dit_status read_config(const dit_config *config, text_shape *out)
{
    clip_config c;
    DIT_TRY(dit_config_read(config, fields, &c));
    if (c.width % c.heads)
        return DIT_FAIL(DIT_ERR_SHAPE, "num_attention_heads %lld do not divide hidden_size %lld", (long long)c.heads,
                        (long long)c.width);
    *out = (text_shape){.norm = DIT_NORM_LAYER,
                        .eps = c.eps,
                        .causal = true,
                        .biases = true,
                        .positions = c.positions,
                        .end_token = c.end_token == UNKNOWN_END ? 0 : c.end_token};
    out->facts = (dit_text_encoder_facts){.layers = c.layers,
                                          .width = c.width,
                                          .heads = c.heads,
                                          .key_heads = c.heads,
                                          .head_dim = c.width / c.heads,
                                          .inner = c.inner,
                                          .vocabulary = c.vocabulary,
                                          .max_tokens = c.positions,
                                          .pooled = c.width};
    return text_activation_read(config, "quick_gelu", out);
}

static dit_status read_projected(const dit_config *config, text_shape *out)
{
    clip_config c;
    DIT_TRY(read_config(config, out));
    DIT_TRY(dit_config_read(config, fields, &c));
    out->projected = true;
    out->facts.pooled = c.projection;
    return DIT_OK;
}

#define CLIP_NAMES                                                                                                     \
    {                                                                                                                  \
        .tokens = {"embeddings.token_embedding.weight"}, .positions = "embeddings.position_embedding.weight",          \
        .block = "encoder.layers.", .qkv = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},               \
        .out = "self_attn.out_proj", .norms = {"layer_norm1", "layer_norm2"}, .in = {"mlp.fc1"}, .down = "mlp.fc2",    \
        .final_norm = "final_layer_norm", .projection = "text_projection",                                             \
    }

const text_class text_clip = {
    .architectures = {"CLIPTextModel"},
    .model_type = "clip_text_model",
    .prefixes = {"text_model."},
    .names = CLIP_NAMES,
    .read = read_config,
};

const text_class text_clip_projected = {
    .architectures = {"CLIPTextModelWithProjection"},
    .model_type = "",
    .prefixes = {"text_model."},
    .names = CLIP_NAMES,
    .read = read_projected,
};
