#include "engine/models/model.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

extern const dit_model_ops dit_model_pixart, dit_model_flux;

/* Every architecture. */
static const dit_model_ops *const architectures[] = {
    &dit_model_pixart,
    &dit_model_flux,
};

dit_status dit_model_find(const char *class_name, const dit_model_ops **out)
{
    char known[512] = "";
    *out = NULL;
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
        if (strcmp(architectures[i]->class_name, class_name) == 0) {
            *out = architectures[i];
            return DIT_OK;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", architectures[i]->class_name);
    }
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "model class \"%s\" is not built", class_name), "built: %s",
                          known);
}

dit_status dit_model_create(const dit_model_params *params, dit_model **out)
{
    const char *class_name;
    const dit_model_ops *ops;
    *out = NULL;
    DIT_TRY(dit_json_require_string(params->doc, params->config, params->pointer, "_class_name", &class_name));
    DIT_TRY(dit_model_find(class_name, &ops));
    dit_model *model = calloc(1, sizeof *model);
    if (!model) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a model");
    *model = (dit_model){.ops = ops, .params = *params, .timestep_divisor = 1.0f};
    dit_status st = ops->create(params, model);
    if (st != DIT_OK) {
        dit_model_free(model);
        return dit_error_note(st, "creating %s", class_name);
    }
    *out = model;
    return DIT_OK;
}

void dit_model_free(dit_model *model)
{
    if (!model) return;
    dit_attention_free(model->attention);
    free(model);
}

dit_status dit_model_prepare(dit_model *model, const dit_condition *condition)
{
    return model->ops->prepare(model, condition);
}

dit_status dit_model_forward(dit_model *model, const dit_forward_args *args)
{
    return model->ops->forward(model, args);
}

dit_status dit_model_tap(dit_model *model, const dit_shards *shards, const char *format, ...)
{
    char name[128];
    va_list args;
    if (!model->params.tap) return DIT_OK;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return model->params.tap->take(model->params.tap, name, shards);
}
