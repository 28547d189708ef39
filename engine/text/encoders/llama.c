/* Llama: RMS norms before each part, causal attention with rotary positions and shared key heads, a gated SiLU. Qwen3
 * has norms of q and k over a head besides; Qwen2.5-VL's language part has biases of q, k and v, Mistral 3's none.
 * Source: parameter names and arithmetic of transformers 4.51.3 LlamaModel and Qwen3Model, and 5.23.0
 * Qwen2_5_VLForConditionalGeneration and Mistral3ForConditionalGeneration; Touvron et al., LLaMA (arXiv:2302.13971);
 * Qwen3 Technical Report (arXiv:2505.09388). */
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
    {"attention_bias", "false"}, {"mlp_bias", "false"}, {"use_sliding_window", "false"}, {0}};

static dit_status read_config(const dit_config *config, text_shape *out)
{
    llama_config c;
    double theta = 0;
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(text_rotation_read(config, &theta));
    DIT_TRY(dit_config_read(config, fields, &c));
    if (theta > 0) c.theta = theta;
    if (!c.key_heads) c.key_heads = c.heads;
    if (!c.head_dim) c.head_dim = c.width / c.heads;
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

/* Reads the language part of a model that sees pictures, too: an object of its own, or the config itself. */
static dit_status read_language(const dit_config *config, text_shape *out)
{
    const cJSON *object = NULL;
    char at[256];
    DIT_TRY(dit_json_optional_object(config->doc, config->object, config->pointer, "text_config", &object));
    if (!object) return read_config(config, out);
    dit_json_pointer_join(at, sizeof at, config->pointer, "text_config");
    return read_config(&(dit_config){config->doc, object, at}, out);
}

/* Reads how many angles of a head are about time, rows and columns of a place in a picture: "mrope_section" in the object about
 * rotations, wherever that stands. */
static dit_status read_sections(const dit_config *config, text_shape *out)
{
    static const char *const keys[] = {"rope_parameters", "rope_scaling"};
    const cJSON *text = dit_json_member(config->object, "text_config");
    int count = -1;
    for (int i = 0; i < 2 && count < 0; i++) {
        const cJSON *rotation = dit_json_member(text ? text : config->object, keys[i]);
        if (!cJSON_IsObject(rotation)) rotation = dit_json_member(config->object, keys[i]);
        if (!cJSON_IsObject(rotation)) continue;
        DIT_TRY(dit_config_read_ints(&(dit_config){config->doc, rotation, config->pointer}, "mrope_section", 0, 1024, 3,
                                     out->sections, &count));
    }
    int64_t angles = out->facts.head_dim / 2;
    if (count < 0 && angles == 64) { /* the class's own */
        out->sections[0] = 16, out->sections[1] = out->sections[2] = 24;
        return DIT_OK;
    }
    if (count < 0) out->sections[0] = angles;
    if (count < 0 || (count == 3 && out->sections[0] + out->sections[1] + out->sections[2] == angles)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "mrope_section does not divide the %lld angles of a head among three axes",
                    (long long)angles);
}

static dit_status read_qwen25_vl(const dit_config *config, text_shape *out)
{
    enum { PICTURE_TOKEN = 151655 };
    DIT_TRY(read_language(config, out));
    DIT_TRY(read_sections(config, out));
    out->qkv_biases = true;
    out->facts.picture_token = PICTURE_TOKEN;
    return dit_json_optional_int(config->doc, config->object, config->pointer, "image_token_id", 1, 1 << 24,
                                 &out->facts.picture_token);
}

/* Tokens within the window see all before them, so that no more of them are taken. */
static dit_status read_mistral3(const dit_config *config, text_shape *out)
{
    int64_t window = 0;
    DIT_TRY(read_language(config, out));
    const cJSON *text = dit_json_member(config->object, "text_config");
    if (cJSON_IsNull(dit_json_member(text, "sliding_window"))) return DIT_OK;
    char at[256];
    dit_json_pointer_join(at, sizeof at, config->pointer, "text_config");
    DIT_TRY(dit_json_optional_int(config->doc, text, at, "sliding_window", 1, 1 << 24, &window));
    if (window && window < out->facts.max_tokens) out->facts.max_tokens = window;
    return DIT_OK;
}

/* What all call their parameters, but for norms of q and k. */
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

/* Where the language part of a model that sees pictures stands in a file. */
#define LANGUAGE_PREFIXES                                                                                              \
    {                                                                                                                  \
        "", "model.", "model.language_model.", "language_model.", "language_model.model."                              \
    }

const text_class text_qwen25_vl = {
    .architectures = {"Qwen2_5_VLForConditionalGeneration", "Qwen2_5_VLModel", "Qwen2_5_VLTextModel"},
    .model_type = "qwen2_5_vl",
    .prefixes = LANGUAGE_PREFIXES,
    .names = {LLAMA_NAMES},
    .read = read_qwen25_vl,
    .tower = &text_qwen25_vision,
};

const text_class text_mistral3 = {
    .architectures = {"Mistral3ForConditionalGeneration", "Mistral3Model"},
    .model_type = "mistral3",
    .prefixes = LANGUAGE_PREFIXES,
    .names = {LLAMA_NAMES},
    .read = read_mistral3,
};
