#include "reports/records/gate.h"

#include "base/words.h"

#include <math.h>
#include <stdio.h>

enum { POINTER = 512 };
static const double most_percent = 1000;

/* In the order of report_better. */
static const char *const directions[] = {"lower", "higher", "equal", NULL};

static const char *const metric_names[] = {
#define METRIC_NAME(id, name, ...) name,
    REPORT_METRIC_LIST(METRIC_NAME)
#undef METRIC_NAME
        NULL};

static dit_status read_metric(const dit_json *doc, const cJSON *entry, const char *pointer, const report_gate *gate,
                              report_metric *out)
{
    const char *name;
    char at[POINTER];
    DIT_TRY(dit_json_require_string(doc, entry, pointer, "metric", &name));
    dit_json_pointer_join(at, sizeof at, pointer, "metric");
    if (!report_metric_from_name(name, out)) return dit_json_fail_word(doc, at, "metric", name, metric_names);
    if (!report_metric_is_of_one_case(*out))
        return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "%s is of several cases, and each is judged by itself", name);
    if (gate->rules[*out].named) return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "%s has a rule already", name);
    return DIT_OK;
}

static dit_status read_rule(const dit_json *doc, const cJSON *entry, const char *pointer, report_gate *out)
{
    static const char *const keys[] = {"metric", "better", "margin", NULL};
    report_metric metric;
    const char *better = NULL;
    double percent = NAN;
    char at[POINTER];
    if (!cJSON_IsObject(entry)) return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "gate holds a list of objects");
    DIT_TRY(dit_json_only_keys(doc, entry, pointer, keys));
    DIT_TRY(read_metric(doc, entry, pointer, out, &metric));
    DIT_TRY(dit_json_optional_string(doc, entry, pointer, "better", &better));
    DIT_TRY(dit_json_optional_number(doc, entry, pointer, "margin", 0, most_percent, &percent));
    report_gate_rule rule = {.named = true, .better = report_metric_get(metric)->better, .margin = percent / 100};
    dit_json_pointer_join(at, sizeof at, pointer, "better");
    if (better && dit_words_find(directions, better) < 0)
        return dit_json_fail_word(doc, at, "better", better, directions);
    if (better) rule.better = (report_better)dit_words_find(directions, better);
    out->rules[metric] = rule;
    out->count++;
    return DIT_OK;
}

dit_status report_gate_read(const dit_json *doc, const cJSON *object, const char *pointer, report_gate *out)
{
    const cJSON *list = NULL, *entry;
    char at[POINTER];
    int index = 0;
    *out = (report_gate){0};
    DIT_TRY(dit_json_optional_array(doc, object, pointer, "gate", &list));
    cJSON_ArrayForEach(entry, list)
    {
        snprintf(at, sizeof at, "%.400s/gate/%d", pointer, index++);
        DIT_TRY(read_rule(doc, entry, at, out));
    }
    return DIT_OK;
}

report_gate_rule report_gate_rule_of(const report_gate *gate, report_metric metric)
{
    if (gate->rules[metric].named) return gate->rules[metric];
    return (report_gate_rule){.better = report_metric_get(metric)->better, .margin = NAN};
}
