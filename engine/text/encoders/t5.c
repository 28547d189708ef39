/* T5, mT5 and UMT5: RMS norms before each part, attention without scale and with a bias of distances, a gated GELU (T5 1.0: a
 * ReLU without gate), no biases in linear layers. UMT5 has a table of distances in every block, the others only in the first.
 * Source: parameter names and arithmetic of transformers 4.51.3 T5EncoderModel, UMT5EncoderModel; Raffel et al., T5
 * (arXiv:1910.10683); Chung et al., UniMax (arXiv:2304.09151). */
#include "engine/text/encoders/encoder_impl.h"

#include <math.h>
#include <string.h>

typedef struct {
    int64_t layers, width, heads, head_dim, inner, vocabulary, buckets, max_distance;
    double eps;
} t5_config;

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(t5_config, layers, "num_layers", NAN, 1, 1000),
    DIT_CONFIG_INT(t5_config, width, "d_model", NAN, 1, 65536),
    DIT_CONFIG_INT(t5_config, heads, "num_heads", NAN, 1, 1024),
    DIT_CONFIG_INT(t5_config, head_dim, "d_kv", NAN, 1, 1024),
    DIT_CONFIG_INT(t5_config, inner, "d_ff", NAN, 1, 1 << 20),
    DIT_CONFIG_INT(t5_config, vocabulary, "vocab_size", NAN, 1, 1 << 24),
    DIT_CONFIG_INT(t5_config, buckets, "relative_attention_num_buckets", 32, 4, 4096),
    DIT_CONFIG_INT(t5_config, max_distance, "relative_attention_max_distance", 128, 2, 1 << 20),
    DIT_CONFIG_NUMBER(t5_config, eps, "layer_norm_epsilon", 1e-6, 0, 1),
    DIT_CONFIG_END,
};

/* "gated-ACTIVATION" or "ACTIVATION", unless the config's own dense_act_fn and is_gated_act say it. */
static dit_status read_mlp(const dit_config *config, const char *usual, text_shape *out)
{
    static const char gate[] = "gated-";
    const char *kind = usual, *name;
    DIT_TRY(dit_json_optional_string(config->doc, config->object, config->pointer, "feed_forward_proj", &kind));
    out->gated = strncmp(kind, gate, sizeof gate - 1) == 0;
    name = strcmp(kind, "gated-gelu") == 0 ? "gelu_new" : kind + (out->gated ? sizeof gate - 1 : 0);
    DIT_TRY(dit_json_optional_string(config->doc, config->object, config->pointer, "dense_act_fn", &name));
    DIT_TRY(dit_json_optional_bool(config->doc, config->object, config->pointer, "is_gated_act", &out->gated));
    return text_activation_find("feed_forward_proj", name, out);
}

static dit_status read_config(const dit_config *config, const char *usual, text_shape *out)
{
    t5_config c;
    DIT_TRY(dit_config_read(config, fields, &c));
    if (c.buckets % 4 || c.max_distance <= c.buckets / 4)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                        "relative_attention_num_buckets %lld and relative_attention_max_distance %lld do not fit: "
                        "buckets must be a multiple of 4, and distances go beyond a quarter of them",
                        (long long)c.buckets, (long long)c.max_distance);
    *out = (text_shape){
        .norm = DIT_NORM_RMS, .eps = c.eps, .scale = 1, .buckets = c.buckets, .max_distance = c.max_distance};
    out->facts = (dit_text_encoder_facts){.layers = c.layers,
                                          .width = c.width,
                                          .heads = c.heads,
                                          .key_heads = c.heads,
                                          .head_dim = c.head_dim,
                                          .inner = c.inner,
                                          .vocabulary = c.vocabulary};
    return read_mlp(config, usual, out);
}

static dit_status read_t5(const dit_config *config, text_shape *out)
{
    return read_config(config, "relu", out);
}

static dit_status read_mt5(const dit_config *config, text_shape *out)
{
    return read_config(config, "gated-gelu", out);
}

static dit_status read_umt5(const dit_config *config, text_shape *out)
{
    DIT_TRY(read_mt5(config, out));
    out->bias_per_block = true;
    return DIT_OK;
}

#define T5_NAMES                                                                                                       \
    {                                                                                                                  \
        .tokens = {"shared.weight", "encoder.embed_tokens.weight"}, .block = "encoder.block.",                         \
        .qkv = {"layer.0.SelfAttention.q", "layer.0.SelfAttention.k", "layer.0.SelfAttention.v"},                      \
        .out = "layer.0.SelfAttention.o", .norms = {"layer.0.layer_norm", "layer.1.layer_norm"},                       \
        .in = {"layer.1.DenseReluDense.wi_0", "layer.1.DenseReluDense.wi_1"}, .down = "layer.1.DenseReluDense.wo",     \
        .ungated = "layer.1.DenseReluDense.wi", .distances = "layer.0.SelfAttention.relative_attention_bias.weight",   \
        .final_norm = "encoder.final_layer_norm",                                                                      \
    }

const text_class text_t5 = {
    .architectures = {"T5EncoderModel", "T5ForConditionalGeneration", "T5Model"},
    .model_type = "t5",
    .prefixes = {""},
    .names = T5_NAMES,
    .read = read_t5,
};

const text_class text_mt5 = {
    .architectures = {"MT5EncoderModel", "MT5ForConditionalGeneration", "MT5Model"},
    .model_type = "mt5",
    .prefixes = {""},
    .names = T5_NAMES,
    .read = read_mt5,
};

const text_class text_umt5 = {
    .architectures = {"UMT5EncoderModel", "UMT5ForConditionalGeneration", "UMT5Model"},
    .model_type = "umt5",
    .prefixes = {""},
    .names = T5_NAMES,
    .read = read_umt5,
};
