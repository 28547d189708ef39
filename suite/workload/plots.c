#include "suite/workload/plots.h"

#include "base/expr.h"
#include "reports/figures/figure.h"
#include "reports/records/gate.h"
#include "suite/catalogue/parameter.h"
#include "suite/paths.h"
#include "suite/published/published.h"
#include "suite/workload/matrix.h"
#include "suite/workload/tags.h"

#include <stdio.h>
#include <string.h>

enum { MAX_IDS = 256 };

/* ---- expressions, plots, claims ---------------------------------------------------------------------------------- */

static dit_status check_syntax(const dit_json *doc, const char *pointer, const char *text)
{
    char message[1024];
    dit_status st = dit_expr_check(text);
    if (st == DIT_OK) return DIT_OK;
    snprintf(message, sizeof message, "%s", dit_error_last()->message);
    return dit_json_fail(doc, pointer, st, "%s", message);
}

static dit_status read_expressions(const dit_json *doc, const char *key, const cJSON **out)
{
    char at[SUITE_POINTER];
    int index = 0;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", key, out));
    for (const cJSON *item = *out ? (*out)->child : NULL; item; item = item->next, index++) {
        snprintf(at, sizeof at, "/%s/%d", key, index);
        if (!cJSON_IsString(item))
            return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "%s holds expressions as strings", key);
        DIT_TRY(check_syntax(doc, at, item->valuestring));
    }
    return DIT_OK;
}

/* An identifier that no earlier entry of `array` has. */
static dit_status require_new_id(const dit_json *doc, const cJSON *array, const cJSON *entry, const char *pointer)
{
    const char *id;
    char at[SUITE_POINTER];
    DIT_TRY(suite_require_identifier(doc, entry, pointer, "id", &id));
    for (const cJSON *earlier = array->child; earlier != entry; earlier = earlier->next) {
        if (strcmp(cJSON_GetObjectItemCaseSensitive(earlier, "id")->valuestring, id) != 0) continue;
        dit_json_pointer_join(at, sizeof at, pointer, "id");
        return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "id \"%s\" is taken", id);
    }
    return DIT_OK;
}

static bool is_plot_tag(const char *tag)
{
    static const char *const made_by_reports[] = {"status", "evidence", "label", NULL};
    for (const char *const *name = suite_tag_names(); *name; name++)
        if (strcmp(*name, tag) == 0) return true;
    for (const char *const *name = made_by_reports; *name; name++)
        if (strcmp(*name, tag) == 0) return true;
    return false;
}

/* One tag, or several: "method, model". */
static dit_status check_tags(const dit_json *doc, const cJSON *entry, const char *pointer, const char *key)
{
    const char *list = NULL;
    char at[SUITE_POINTER], tag[64];
    DIT_TRY(dit_json_optional_string(doc, entry, pointer, key, &list));
    dit_json_pointer_join(at, sizeof at, pointer, key);
    while (list && *list) {
        size_t length = strcspn(list, ", ");
        snprintf(tag, sizeof tag, "%.*s", (int)length, list);
        if (!is_plot_tag(tag)) return dit_json_fail_word(doc, at, key, tag, suite_tag_names());
        list += length;
        list += strspn(list, ", ");
    }
    return DIT_OK;
}

static dit_status require_word(const dit_json *doc, const char *pointer, const char *key, const char *word,
                               const char *const *words)
{
    char at[SUITE_POINTER];
    dit_json_pointer_join(at, sizeof at, pointer, key);
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0) return DIT_OK;
    return dit_json_fail_word(doc, at, key, word, words);
}

/* `y` is a metric that figures of this kind draw. */
static dit_status check_metric(const dit_json *doc, const char *pointer, const char *kind, const char *y)
{
    enum { MOST = 8 };
    const report_figure_kind *found = report_figure_kind_find(kind);
    const char *names[MOST + 2] = {found->defaults.y};
    char at[SUITE_POINTER];
    if (report_figure_kind_of(found, y)) return DIT_OK;
    dit_json_pointer_join(at, sizeof at, pointer, "y");
    if (!found->others)
        return dit_error_hint(dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "kind %s draws one thing only", kind),
                              "leave y out");
    for (int i = 0; found->others[i] && i < MOST; i++) names[i + 1] = found->others[i]->defaults.y;
    return dit_json_fail_word(doc, at, "y", y, names);
}

static dit_status check_plot(const dit_json *doc, const cJSON *array, const cJSON *plot, const char *pointer)
{
    static const char *const keys[] = {"id",   "kind", "title", "where", "x",    "series", "panel",
                                       "axis", "best", "pair",  "y",     "over", NULL};
    const char *kind, *title, *where = NULL, *axis = NULL, *best = NULL, *y = NULL, *over = NULL;
    char at[SUITE_POINTER];
    DIT_TRY(suite_only_keys(doc, plot, pointer, keys));
    DIT_TRY(require_new_id(doc, array, plot, pointer));
    DIT_TRY(dit_json_require_string(doc, plot, pointer, "kind", &kind));
    DIT_TRY(dit_json_require_string(doc, plot, pointer, "title", &title));
    DIT_TRY(require_word(doc, pointer, "kind", kind, report_figure_kind_names()));
    DIT_TRY(check_tags(doc, plot, pointer, "x"));
    DIT_TRY(check_tags(doc, plot, pointer, "series"));
    DIT_TRY(check_tags(doc, plot, pointer, "panel"));
    DIT_TRY(check_tags(doc, plot, pointer, "pair"));
    DIT_TRY(dit_json_optional_string(doc, plot, pointer, "best", &best));
    DIT_TRY(dit_json_optional_string(doc, plot, pointer, "axis", &axis));
    if (axis) DIT_TRY(require_word(doc, pointer, "axis", axis, report_axis_names()));
    DIT_TRY(dit_json_optional_string(doc, plot, pointer, "y", &y));
    if (y) DIT_TRY(check_metric(doc, pointer, kind, y));
    DIT_TRY(dit_json_optional_string(doc, plot, pointer, "over", &over));
    if (over) DIT_TRY(require_word(doc, pointer, "over", over, report_pareto_costs()));
    dit_json_pointer_join(at, sizeof at, pointer, "over");
    if (over && strcmp(kind, "pareto") != 0)
        return dit_error_hint(dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "kind %s stands over its x", kind),
                              "leave over out");
    DIT_TRY(dit_json_optional_string(doc, plot, pointer, "where", &where));
    dit_json_pointer_join(at, sizeof at, pointer, "where");
    return where ? check_syntax(doc, at, where) : DIT_OK;
}

static dit_status check_claim(const dit_json *doc, const cJSON *array, const cJSON *claim, const char *pointer)
{
    static const char *const keys[] = {"id", "claim", "source", "expr", "partly", "because", "requires", NULL};
    const char *text, *expr, *source = NULL, *partly = NULL, *because = NULL, *required = NULL;
    char at[SUITE_POINTER];
    DIT_TRY(suite_only_keys(doc, claim, pointer, keys));
    DIT_TRY(require_new_id(doc, array, claim, pointer));
    DIT_TRY(dit_json_require_string(doc, claim, pointer, "claim", &text));
    DIT_TRY(dit_json_optional_string(doc, claim, pointer, "source", &source));
    DIT_TRY(dit_json_require_string(doc, claim, pointer, "expr", &expr));
    DIT_TRY(dit_json_optional_string(doc, claim, pointer, "requires", &required));
    dit_json_pointer_join(at, sizeof at, pointer, "expr");
    DIT_TRY(check_syntax(doc, at, expr));
    DIT_TRY(dit_json_optional_string(doc, claim, pointer, "because", &because));
    DIT_TRY(dit_json_optional_string(doc, claim, pointer, "partly", &partly));
    dit_json_pointer_join(at, sizeof at, pointer, "partly");
    if (partly) DIT_TRY(check_syntax(doc, at, partly));
    dit_json_pointer_join(at, sizeof at, pointer, "requires");
    return required ? check_syntax(doc, at, required) : DIT_OK;
}

/* What is taken for stated where a source is silent. */
static dit_status check_assume(const dit_json *doc, const cJSON *entry, const char *pointer)
{
    static const char *const keys[] = {"steps", "frames", "hardware", "interconnect", NULL};
    const cJSON *assume = NULL;
    const char *text;
    char at[SUITE_POINTER];
    int64_t count;
    dit_json_pointer_join(at, sizeof at, pointer, "assume");
    DIT_TRY(dit_json_optional_object(doc, entry, pointer, "assume", &assume));
    if (!assume) return DIT_OK;
    DIT_TRY(suite_only_keys(doc, assume, at, keys));
    DIT_TRY(dit_json_optional_int(doc, assume, at, "steps", 1, 100000, &count));
    DIT_TRY(dit_json_optional_int(doc, assume, at, "frames", 1, 1 << 20, &count));
    DIT_TRY(dit_json_optional_string(doc, assume, at, "hardware", &text));
    return dit_json_optional_string(doc, assume, at, "interconnect", &text);
}

/* Refuses a file that is not there or cannot be read: a run would find out only after everything else. */
static dit_status check_points(const dit_json *doc, const char *pointer, const char *file)
{
    suite_published points = {0};
    char path[SUITE_PATH], at[SUITE_POINTER], message[512];
    bool own;
    dit_status st = suite_published_find(doc->path, file, &own, path);
    if (st == DIT_OK) return st = suite_published_read(path, &points), suite_published_release(&points), st;
    if (st != DIT_ERR_NOT_FOUND) return st;
    snprintf(message, sizeof message, "%.500s", dit_error_last()->message);
    dit_json_pointer_join(at, sizeof at, pointer, "file");
    return dit_error_hint(dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "%s", message),
                          "a path relative to the workload, or a name of results/published");
}

/* Checks one entry of "published": a file of points, and an expression that chooses among them. */
static dit_status check_published(const dit_json *doc, const cJSON *array, const cJSON *entry, const char *pointer)
{
    static const char *const keys[] = {"file", "where", "assume", NULL};
    const char *file, *where = NULL;
    char at[SUITE_POINTER];
    (void)array;
    DIT_TRY(suite_only_keys(doc, entry, pointer, keys));
    DIT_TRY(check_assume(doc, entry, pointer));
    DIT_TRY(dit_json_require_string(doc, entry, pointer, "file", &file));
    DIT_TRY(dit_json_optional_string(doc, entry, pointer, "where", &where));
    dit_json_pointer_join(at, sizeof at, pointer, "where");
    if (where) DIT_TRY(check_syntax(doc, at, where));
    return check_points(doc, pointer, file);
}

static dit_status read_entries(const dit_json *doc, const char *key, const cJSON **out,
                               dit_status (*check)(const dit_json *, const cJSON *, const cJSON *, const char *))
{
    char at[SUITE_POINTER];
    int index = 0;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", key, out));
    for (const cJSON *entry = *out ? (*out)->child : NULL; entry; entry = entry->next, index++) {
        snprintf(at, sizeof at, "/%s/%d", key, index);
        if (!cJSON_IsObject(entry)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "%s holds objects", key);
        if (index >= MAX_IDS) return dit_json_fail(doc, at, DIT_ERR_WORKLOAD, "more than %d %s", MAX_IDS, key);
        DIT_TRY(check(doc, *out, entry, at));
    }
    return DIT_OK;
}

/* Sessions keep the list as it is; whoever judges them reads it again. */
static dit_status read_gate(suite_workload *workload)
{
    report_gate gate;
    workload->gate = dit_json_member(workload->source.root, "gate");
    return report_gate_read(&workload->source, workload->source.root, "", &gate);
}

dit_status suite_plots_read(suite_workload *workload)
{
    const dit_json *doc = &workload->source;
    DIT_TRY(read_expressions(doc, "exclude", &workload->matrix->exclude));
    DIT_TRY(read_expressions(doc, "constraints", &workload->matrix->constraints));
    DIT_TRY(read_entries(doc, "plots", &workload->plots, check_plot));
    DIT_TRY(read_entries(doc, "published", &workload->published, check_published));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "notes_for", &workload->notes_for));
    DIT_TRY(read_gate(workload));
    return read_entries(doc, "expect", &workload->expect, check_claim);
}
