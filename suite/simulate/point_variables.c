#include "suite/simulate/point_variables.h"

#include "base/expr.h"
#include "suite/simulate/point_class.h"

#include <stdio.h>
#include <string.h>

static const char *text_variable(const suite_point *point, const char *name)
{
    const suite_published_point *published = point->published;
    const struct {
        const char *name, *value;
    } texts[] = {
        {"status", point->skip ? "skipped" : "understood"},
        {"reason", suite_skip_code(point->skip)},
        {"model", point->model ? point->model : published->model},
        {"source", published->source},
        {"metric", published->metric},
        {"method", published->method},
        {"mesh", suite_point_mesh(point)},
        {"reach", suite_point_reach(point)},
        {"kind", suite_point_kind(point)},
        {"software", suite_point_software(point)},
        {"hardware", published->hardware},
        {"interconnect", published->interconnect},
        {"platform", point->platform ? point->platform : ""},
        {"profile", point->profile ? point->profile : ""},
        {"runtime", published->runtime},
        {"provenance", published->provenance},
        {"mark", published->status},
        {"resolution", published->resolution},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i].name, name) == 0) return texts[i].value;
    return NULL;
}

static bool number_variable(const suite_point *point, const char *name, double *out)
{
    const suite_published_point *published = point->published;
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"index", published->index},
        {"tokens", (double)published->seq_len},
        {"heads", (double)published->heads},
        {"head_dim", (double)published->head_dim},
        {"width_px", (double)point->width_px},
        {"height_px", (double)point->height_px},
        {"frames", (double)published->frames},
        {"steps", (double)published->steps},
        {"batch", (double)published->batch},
        {"gpus", (double)published->gpus},
        {"value", published->has_value ? published->value : 0},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        *out = numbers[i].value;
        if (strcmp(numbers[i].name, name) == 0) return true;
    }
    return false;
}

dit_status suite_point_text(const suite_point *point, const char *name, char *out, size_t size)
{
    const char *text = text_variable(point, name);
    double number;
    if (!text && !number_variable(point, name, &number))
        return DIT_FAIL(DIT_ERR_NOT_FOUND, "a published point has no \"%s\"", name);
    if (text)
        snprintf(out, size, "%s", text);
    else
        snprintf(out, size, "%.9g", number);
    return DIT_OK;
}

static dit_status variable(void *context, const char *name, dit_value *out)
{
    const suite_point *point = context;
    *out = (dit_value){.kind = DIT_VALUE_STRING, .string = text_variable(point, name)};
    if (out->string) return DIT_OK;
    out->kind = DIT_VALUE_NUMBER;
    if (number_variable(point, name, &out->number)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_NOT_FOUND, "a published point has no \"%s\"", name);
}

dit_status suite_point_test(const suite_point *point, const char *expression, bool *out)
{
    const dit_expr_scope scope = {.variable = variable, .context = (void *)(uintptr_t)point};
    return dit_expr_test(expression, &scope, out);
}

/* Of a point that is not understood yet: what it was understood as is not known. */
static dit_status printed_variable(void *context, const char *name, dit_value *out)
{
    static const char *const understood[] = {"status",   "reason",   "model",   "mesh",     "reach",     "kind",
                                             "software", "platform", "profile", "width_px", "height_px", NULL};
    for (const char *const *one = understood; *one; one++)
        if (strcmp(*one, name) == 0) return DIT_FAIL(DIT_ERR_NOT_FOUND, "%s is not known yet", name);
    return variable(context, name, out);
}

bool suite_point_ruled_out(const suite_published_point *published, const char *expression)
{
    suite_point bare = {.published = published};
    const dit_expr_scope scope = {.variable = printed_variable, .context = &bare};
    bool holds = true;
    bool known = dit_expr_test(expression, &scope, &holds) == DIT_OK;
    if (!known) dit_error_clear();
    return known && !holds;
}
