/* BERT: a LayerNorm after each part, attention both ways, learned positions and types of tokens, exact GELU.
 * Source: parameter names and arithmetic of transformers 4.51.3 BertModel; Devlin et al., BERT (arXiv:1810.04805). */
#include "engine/text/encoders/encoder_impl.h"

#include <math.h>

typedef struct {
    int64_t layers, width, heads, inner, vocabulary, positions, types;
    double eps;
} bert_config;

static const dit_config_field fields[] = {
    DIT_CONFIG_INT(bert_config, layers, "num_hidden_layers", NAN, 1, 1000),
    DIT_CONFIG_INT(bert_config, width, "hidden_size", NAN, 1, 65536),
    DIT_CONFIG_INT(bert_config, heads, "num_attention_heads", NAN, 1, 1024),
    DIT_CONFIG_INT(bert_config, inner, "intermediate_size", NAN, 1, 1 << 20),
    DIT_CONFIG_INT(bert_config, vocabulary, "vocab_size", NAN, 1, 1 << 24),
    DIT_CONFIG_INT(bert_config, positions, "max_position_embeddings", 512, 1, 1 << 20),
    DIT_CONFIG_INT(bert_config, types, "type_vocab_size", 2, 1, 65536),
    DIT_CONFIG_NUMBER(bert_config, eps, "layer_norm_eps", 1e-12, 0, 1),
    DIT_CONFIG_END,
};

static const dit_config_only only[] = {{"position_embedding_type", "absolute"}, {"is_decoder", "false"}, {0}};

static dit_status read_config(const dit_config *config, text_shape *out)
{
    bert_config c;
    DIT_TRY(dit_config_require_only(config, only));
    DIT_TRY(dit_config_read(config, fields, &c));
    if (c.width % c.heads)
        return DIT_FAIL(DIT_ERR_SHAPE, "num_attention_heads %lld do not divide hidden_size %lld", (long long)c.heads,
                        (long long)c.width);
    *out = (text_shape){.norm = DIT_NORM_LAYER,
                        .eps = c.eps,
                        .norm_after = true,
                        .biases = true,
                        .positions = c.positions,
                        .types = c.types};
    out->facts = (dit_text_encoder_facts){.layers = c.layers,
                                          .width = c.width,
                                          .heads = c.heads,
                                          .key_heads = c.heads,
                                          .head_dim = c.width / c.heads,
                                          .inner = c.inner,
                                          .vocabulary = c.vocabulary,
                                          .max_tokens = c.positions};
    return text_activation_read(config, "gelu", out);
}

const text_class text_bert = {
    .architectures = {"BertModel", "BertForMaskedLM", "BertForPreTraining"},
    .model_type = "bert",
    .prefixes = {"", "bert."},
    .names =
        {
            .tokens = {"embeddings.word_embeddings.weight"},
            .positions = "embeddings.position_embeddings.weight",
            .types = "embeddings.token_type_embeddings.weight",
            .embedding_norm = "embeddings.LayerNorm",
            .block = "encoder.layer.",
            .qkv = {"attention.self.query", "attention.self.key", "attention.self.value"},
            .out = "attention.output.dense",
            .norms = {"attention.output.LayerNorm", "output.LayerNorm"},
            .in = {"intermediate.dense"},
            .down = "output.dense",
        },
    .read = read_config,
};
