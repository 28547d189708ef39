/* T5 (v1.1), mT5 and UMT5: RMS norms before each part, attention without scale and with a bias of distances, a gated
 * GELU, no biases in linear layers. UMT5 has a table of distances in every block, the others only in the first.
 * Source: parameter names and arithmetic of transformers 4.51.3 T5EncoderModel, UMT5EncoderModel; Raffel et al., T5
 * (arXiv:1910.10683); Chung et al., UniMax (arXiv:2304.09151). */
#include "engine/text/encoders/encoder_impl.h"

#include <math.h>

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

static const dit_config_only only[] = {{"feed_forward_proj", "gated-gelu"}, {"dense_act_fn", "gelu_new"}, {0}};

static dit_status read_config(const dit_config *config, text_shape *out)
{
    t5_config c;
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, &c));
    if (c.buckets % 4 || c.max_distance <= c.buckets / 4)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                        "relative_attention_num_buckets %lld and relative_attention_max_distance %lld do not fit: "
                        "buckets must be a multiple of 4, and distances go beyond a quarter of them",
                        (long long)c.buckets, (long long)c.max_distance);
    *out = (text_shape){.norm = DIT_NORM_RMS,
                        .eps = c.eps,
                        .gated = true,
                        .activation = DIT_ACT_GELU_TANH,
                        .scale = 1,
                        .buckets = c.buckets,
                        .max_distance = c.max_distance};
    out->facts = (dit_text_encoder_facts){.layers = c.layers,
                                          .width = c.width,
                                          .heads = c.heads,
                                          .key_heads = c.heads,
                                          .head_dim = c.head_dim,
                                          .inner = c.inner,
                                          .vocabulary = c.vocabulary};
    return DIT_OK;
}

/* T5's default MLP has no gate, and this form is not built. */
static dit_status read_t5(const dit_config *config, text_shape *out)
{
    if (!dit_json_member(config->object, "feed_forward_proj"))
        return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                        "feed_forward_proj is absent, which means relu, but only gated-gelu is implemented");
    return read_config(config, out);
}

static dit_status read_umt5(const dit_config *config, text_shape *out)
{
    DIT_TRY(read_config(config, out));
    out->bias_per_block = true;
    return DIT_OK;
}

#define T5_NAMES                                                                                                       \
    {                                                                                                                  \
        .tokens = {"shared.weight", "encoder.embed_tokens.weight"}, .block = "encoder.block.",                         \
        .qkv = {"layer.0.SelfAttention.q", "layer.0.SelfAttention.k", "layer.0.SelfAttention.v"},                      \
        .out = "layer.0.SelfAttention.o", .norms = {"layer.0.layer_norm", "layer.1.layer_norm"},                       \
        .in = {"layer.1.DenseReluDense.wi_0", "layer.1.DenseReluDense.wi_1"}, .down = "layer.1.DenseReluDense.wo",     \
        .distances = "layer.0.SelfAttention.relative_attention_bias.weight", .final_norm = "encoder.final_layer_norm", \
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
    .read = read_config,
};

const text_class text_umt5 = {
    .architectures = {"UMT5EncoderModel", "UMT5ForConditionalGeneration", "UMT5Model"},
    .model_type = "umt5",
    .prefixes = {""},
    .names = T5_NAMES,
    .read = read_umt5,
};
