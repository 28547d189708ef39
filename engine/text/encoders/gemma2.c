/* Gemma 2: RMS norms before and behind each part, with weights that are stored less 1; embeddings times the root of the
 * width; causal attention with rotary positions, shared key heads and capped logits, which sees a window in every second
 * block; a gated GELU.
 * Source: parameter names and arithmetic of transformers 4.51.3 and 5.23.0 Gemma2Model; Gemma 2 (arXiv:2408.00118),
 * section 2. Logits are capped as 5.23.0 does it; 4.51.3 takes "sdpa" unless it is told "eager", and leaves the cap out.
 */
#include "engine/text/encoders/encoder_impl.h"

#include "base/words.h"

#include <math.h>

typedef struct {
    int64_t layers, width, heads, key_heads, head_dim, inner, vocabulary, max_tokens, window;
    double eps, theta, scalar, cap;
} gemma2_config;

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(gemma2_config, layers, "num_hidden_layers", 26, 1, TEXT_MOST_WINDOWS),
    DIT_CONFIG_INT(gemma2_config, width, "hidden_size", 2304, 1, 65536),
    DIT_CONFIG_INT(gemma2_config, heads, "num_attention_heads", 8, 1, 1024),
    DIT_CONFIG_INT(gemma2_config, key_heads, "num_key_value_heads", 4, 1, 1024),
    DIT_CONFIG_INT(gemma2_config, head_dim, "head_dim", 256, 2, 1024),
    DIT_CONFIG_INT(gemma2_config, inner, "intermediate_size", 9216, 1, 1 << 20),
    DIT_CONFIG_INT(gemma2_config, vocabulary, "vocab_size", 256000, 1, 1 << 24),
    DIT_CONFIG_INT(gemma2_config, max_tokens, "max_position_embeddings", 8192, 1, 1 << 24),
    DIT_CONFIG_INT(gemma2_config, window, "sliding_window", 4096, 1, 1 << 24),
    DIT_CONFIG_NUMBER(gemma2_config, eps, "rms_norm_eps", 1e-6, 0, 1),
    DIT_CONFIG_NUMBER(gemma2_config, theta, "rope_theta", 10000, 1, 1e9),
    DIT_CONFIG_NUMBER(gemma2_config, scalar, "query_pre_attn_scalar", 256, 1e-3, 1e9),
    /* The library always writes the key, so that an absent one is null: no cap. */
    DIT_CONFIG_NUMBER(gemma2_config, cap, "attn_logit_softcapping", 0, 1e-3, 1e9),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {{"attention_bias", "false"}, {"use_bidirectional_attention", "false"}, {0}};

/* Which blocks have a window: every second one, from the first on, unless the config lists them. */
static dit_status read_slides(const dit_config *config, int64_t layers, bool *out)
{
    static const char *const kinds[] = {"full_attention", "sliding_attention", NULL};
    const cJSON *list = NULL;
    DIT_TRY(dit_json_optional_array(config->doc, config->object, config->pointer, "layer_types", &list));
    for (int64_t i = 0; i < layers; i++) out[i] = i % 2 == 0;
    if (!list) return DIT_OK;
    if (cJSON_GetArraySize(list) != layers)
        return dit_json_fail(config->doc, config->pointer, DIT_ERR_JSON_VALUE,
                             "layer_types has %d entries for %lld blocks", cJSON_GetArraySize(list), (long long)layers);
    const cJSON *item = list->child;
    for (int64_t i = 0; i < layers; i++, item = item->next) {
        int kind = cJSON_IsString(item) ? dit_words_find(kinds, item->valuestring) : -1;
        if (kind < 0)
            return dit_words_hint_all(dit_json_fail(config->doc, config->pointer, DIT_ERR_UNSUPPORTED,
                                                    "layer_types[%lld] is not implemented", (long long)i),
                                      "there are", kinds);
        out[i] = kind == 1;
    }
    return DIT_OK;
}

static dit_status read_gemma2(const dit_config *config, text_shape *out)
{
    gemma2_config c;
    const char *activation = "gelu_pytorch_tanh";
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, &c));
    DIT_TRY(text_rotation_read(config, &c.theta));
    DIT_TRY(dit_json_optional_string(config->doc, config->object, config->pointer, "hidden_activation", &activation));
    *out = (text_shape){.norm = DIT_NORM_RMS,
                        .eps = c.eps,
                        .causal = true,
                        .gated = true,
                        .theta = c.theta,
                        .scale = 1 / sqrt(c.scalar),
                        .cap = c.cap,
                        .embedding_scale = sqrt((double)c.width),
                        .norms_add_one = true,
                        .norms_outputs = true,
                        .window = c.window};
    out->facts = (dit_text_encoder_facts){.layers = c.layers,
                                          .width = c.width,
                                          .heads = c.heads,
                                          .key_heads = c.key_heads,
                                          .head_dim = c.head_dim,
                                          .inner = c.inner,
                                          .vocabulary = c.vocabulary,
                                          .max_tokens = c.max_tokens};
    DIT_TRY(read_slides(config, c.layers, out->slides));
    return text_activation_find("hidden_activation", activation, out);
}

const text_class text_gemma2 = {
    .architectures = {"Gemma2Model", "Gemma2ForCausalLM"},
    .model_type = "gemma2",
    .prefixes = {"", "model."},
    .names =
        {
            .tokens = {"embed_tokens.weight"},
            .block = "layers.",
            .qkv = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
            .out = "self_attn.o_proj",
            .norms = {"input_layernorm", "pre_feedforward_layernorm"},
            .output_norms = {"post_attention_layernorm", "post_feedforward_layernorm"},
            .in = {"mlp.gate_proj", "mlp.up_proj"},
            .down = "mlp.down_proj",
            .final_norm = "norm",
        },
    .read = read_gemma2,
};
