/* CLIP's image encoder: square patches of a picture as tokens behind one of the class, learned positions, a LayerNorm, then the
 * blocks of CLIP's text encoders in which every token sees all.
 * Source: parameter names and arithmetic of transformers 4.51.3 CLIPVisionModel; Radford et al., CLIP (arXiv:2103.00020). */
#include "engine/text/encoders/encoder_impl.h"

typedef struct {
    int64_t layers, width, heads, inner, image_size, patch;
    double eps;
} vision_config;

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(vision_config, layers, "num_hidden_layers", 12, 1, 1000),
    DIT_CONFIG_INT(vision_config, width, "hidden_size", 768, 1, 65536),
    DIT_CONFIG_INT(vision_config, heads, "num_attention_heads", 12, 1, 1024),
    DIT_CONFIG_INT(vision_config, inner, "intermediate_size", 3072, 1, 1 << 20),
    DIT_CONFIG_INT(vision_config, image_size, "image_size", 224, 1, 4096),
    DIT_CONFIG_INT(vision_config, patch, "patch_size", 32, 1, 4096),
    DIT_CONFIG_NUMBER(vision_config, eps, "layer_norm_eps", 1e-5, 0, 1),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {{"num_channels", "3"}, {0}};

static dit_status read_config(const dit_config *config, text_shape *out)
{
    vision_config c;
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, &c));
    int64_t across = c.image_size / c.patch, tokens = across * across + 1;
    if (c.width % c.heads || across < 1)
        return DIT_FAIL(DIT_ERR_SHAPE, "%lld heads of %lld channels, patches of %lld in %lld pixels: they do not fit",
                        (long long)c.heads, (long long)c.width, (long long)c.patch, (long long)c.image_size);
    *out = (text_shape){.norm = DIT_NORM_LAYER, .eps = c.eps, .biases = true, .positions = tokens};
    out->facts = (dit_text_encoder_facts){.layers = c.layers,
                                          .width = c.width,
                                          .heads = c.heads,
                                          .key_heads = c.heads,
                                          .head_dim = c.width / c.heads,
                                          .inner = c.inner,
                                          .max_tokens = tokens,
                                          .image_size = c.image_size,
                                          .patch = c.patch};
    return text_activation_read(config, "quick_gelu", out);
}

const text_class text_clip_vision = {
    .architectures = {"CLIPVisionModel", "CLIPVisionModelWithProjection"},
    .model_type = "clip_vision_model",
    .prefixes = {"vision_model."},
    .names =
        {
            .tokens = {"embeddings.class_embedding"},
            .patches = "embeddings.patch_embedding",
            .positions = "embeddings.position_embedding.weight",
            .embedding_norm = "pre_layrnorm",
            .block = "encoder.layers.",
            .qkv = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
            .out = "self_attn.out_proj",
            .norms = {"layer_norm1", "layer_norm2"},
            .in = {"mlp.fc1"},
            .down = "mlp.fc2",
        },
    .read = read_config,
};
