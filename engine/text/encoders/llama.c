/* Llama: RMS norms before each part, causal attention with rotary positions and shared key heads, a gated SiLU. Qwen3
 * has norms of q and k over a head besides.
 * Source: parameter names and arithmetic of transformers 4.51.3 LlamaModel and Qwen3Model; Touvron et al., LLaMA
 * (arXiv:2302.13971); Qwen3 Technical Report (arXiv:2505.09388). */
#include "engine/text/encoders/encoder_impl.h"

#include <math.h>

typedef struct {
    int64_t layers, width, heads, key_heads, head_dim, inner, vocabulary, max_tokens;
    double eps, theta;
} llama_config;

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(llama_config, layers, "num_hidden_layers", NAN, 1, 1000),
    DIT_CONFIG_INT(llama_config, width, "hidden_size", NAN, 1, 65536),
    DIT_CONFIG_INT(llama_config, heads, "num_attention_heads", NAN, 1, 1024),
    DIT_CONFIG_INT(llama_config, key_heads, "num_key_value_heads", 0, 1, 1024),
    DIT_CONFIG_INT(llama_config, head_dim, "head_dim", 0, 2, 1024),
    DIT_CONFIG_INT(llama_config, inner, "intermediate_size", NAN, 1, 1 << 20),
    DIT_CONFIG_INT(llama_config, vocabulary, "vocab_size", NAN, 1, 1 << 24),
    DIT_CONFIG_INT(llama_config, max_tokens, "max_position_embeddings", 2048, 1, 1 << 24),
    DIT_CONFIG_NUMBER(llama_config, eps, "rms_norm_eps", 1e-6, 0, 1),
    DIT_CONFIG_NUMBER(llama_config, theta, "rope_theta", 10000, 1, 1e9),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {
    {"rope_scaling", "null"}, {"attention_bias", "false"}, {"mlp_bias", "false"}, {"use_sliding_window", "false"}, {0}};

/* Newer releases of transformers write rope_theta into an object of its own. */
static dit_status read_rotation(const dit_config *config, double *theta)
{
    static const dit_config_only plain[] = {{"rope_type", "default"}, {0}};
    const cJSON *rotation = NULL;
    char at[256];
    DIT_TRY(dit_json_optional_object(config->doc, config->object, config->pointer, "rope_parameters", &rotation));
    if (!rotation) return DIT_OK;
    dit_json_pointer_join(at, sizeof at, config->pointer, "rope_parameters");
    const dit_config inner = {config->doc, rotation, at};
    DIT_TRY(dit_config_require_only(&inner, plain));
    return dit_json_optional_number(config->doc, rotation, at, "rope_theta", 1, 1e9, theta);
}

static dit_status read_config(const dit_config *config, text_shape *out)
{
    llama_config c;
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, &c));
    DIT_TRY(read_rotation(config, &c.theta));
    if (!c.key_heads) c.key_heads = c.heads;
    if (!c.head_dim) c.head_dim = c.width / c.heads;
    if (c.head_dim < 2 || c.head_dim % 2)
        return DIT_FAIL(DIT_ERR_SHAPE, "heads of %lld channels cannot be rotated: the width must be even",
                        (long long)c.head_dim);
    *out = (text_shape){.norm = DIT_NORM_RMS, .eps = c.eps, .causal = true, .gated = true, .theta = c.theta};
    out->facts = (dit_text_encoder_facts){.layers = c.layers,
                                          .width = c.width,
                                          .heads = c.heads,
                                          .key_heads = c.key_heads,
                                          .head_dim = c.head_dim,
                                          .inner = c.inner,
                                          .vocabulary = c.vocabulary,
                                          .max_tokens = c.max_tokens};
    return text_activation_read(config, "silu", out);
}

/* What both call their parameters, but for norms of q and k. */
#define LLAMA_NAMES                                                                                                    \
    .tokens = {"embed_tokens.weight"}, .block = "layers.",                                                             \
    .qkv = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}, .out = "self_attn.o_proj",                    \
    .norms = {"input_layernorm", "post_attention_layernorm"}, .in = {"mlp.gate_proj", "mlp.up_proj"},                  \
    .down = "mlp.down_proj", .final_norm = "norm"

const text_class text_llama = {
    .architectures = {"LlamaModel", "LlamaForCausalLM"},
    .model_type = "llama",
    .prefixes = {"", "model."},
    .names = {LLAMA_NAMES},
    .read = read_config,
};

const text_class text_qwen3 = {
    .architectures = {"Qwen3Model", "Qwen3ForCausalLM"},
    .model_type = "qwen3",
    .prefixes = {"", "model."},
    .names = {LLAMA_NAMES, .head_norms = {"self_attn.q_norm", "self_attn.k_norm"}},
    .read = read_config,
};
