/* Activations of MLPs by transformers' names. Source: transformers 4.51.3, activations.py. */
#include "engine/text/encoders/encoder_impl.h"

#include "base/words.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    dit_activation activation;
    float slope;
} activations[] = {
    {"gelu", DIT_ACT_GELU_ERF, 0},
    {"gelu_new", DIT_ACT_GELU_TANH, 0},
    {"gelu_pytorch_tanh", DIT_ACT_GELU_TANH, 0},
    {"quick_gelu", DIT_ACT_SILU, 1.702f}, /* x sigmoid(s x) is SiLU(s x) / s */
    {"relu", DIT_ACT_RELU, 0},
    {"silu", DIT_ACT_SILU, 0},
    {"swish", DIT_ACT_SILU, 0},
};
enum { COUNT = sizeof activations / sizeof *activations };

dit_status text_activation_find(const char *key, const char *name, text_shape *shape)
{
    const char *names[COUNT + 1] = {0};
    for (int i = 0; i < COUNT; i++) {
        names[i] = activations[i].name;
        if (strcmp(names[i], name) != 0) continue;
        shape->activation = activations[i].activation;
        shape->slope = activations[i].slope;
        if (!shape->gated || !shape->slope) return DIT_OK;
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s is %.80s, which is not implemented for an MLP with a gate", key, name);
    }
    return dit_words_hint_all(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s is %.80s, which is not implemented", key, name),
                              "there are", names);
}

dit_status text_activation_read(const dit_config *config, const char *usual, text_shape *shape)
{
    const char *name = usual;
    DIT_TRY(dit_json_optional_string(config->doc, config->object, config->pointer, "hidden_act", &name));
    return text_activation_find("hidden_act", name, shape);
}
