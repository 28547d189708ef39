#include "reports/records/claim_names.h"

#include "base/words.h"
#include "reports/records/claims.h"
#include "reports/records/metrics.h"

#include <stdio.h>
#include <string.h>

enum { NAMES_MOST = 192 };

typedef struct {
    const report_claim_names *names;
    bool metrics, open;
} name_check;

/* What every case has beside its tags. */
static const char *const of_every_case[] = {"status", "evidence", "label", NULL};

static bool holds_word(const char *const *words, const char *word)
{
    while (*words && strcmp(*words, word) != 0) words++;
    return *words;
}

static void add_words(const char **list, int *count, const char *const *words)
{
    for (; *words && *count < NAMES_MOST; words++) list[(*count)++] = *words;
    list[*count] = NULL;
}

static void add_metrics(const char **list, int *count)
{
    for (int m = 0; m < REPORT_METRIC_COUNT && *count < NAMES_MOST; m++)
        list[(*count)++] = report_metric_get((report_metric)m)->name;
    list[*count] = NULL;
}

/* "no metric "latency"", and what may have been meant, or else the hint `otherwise` (NULL: all there are). */
static dit_status unknown(const char *what, const char *name, const char *const *words, const char *otherwise)
{
    const char *near = dit_nearest_word(name, words);
    for (int i = 0; !near && words[i]; i++) /* "latency" of "latency_s" */
        if (strlen(name) >= 4 && strncmp(words[i], name, strlen(name)) == 0) near = words[i];
    dit_status st = DIT_FAIL(DIT_ERR_EXPRESSION, "there is no %s \"%.100s\"", what, name);
    if (near) return dit_error_hint(st, "did you mean \"%s\"?", near);
    if (otherwise) return dit_error_hint(st, "%s", otherwise);
    return dit_words_hint_all(st, "there are", words);
}

/* ---- over one case ----------------------------------------------------------------------------------------------- */

static bool is_tag(const name_check *check, const char *name)
{
    return holds_word(check->names->tags, name) || holds_word(of_every_case, name);
}

static dit_status check_name(void *context, const char *name)
{
    const name_check *check = context;
    const char *words[NAMES_MOST + 1];
    report_metric metric;
    int count = 0;
    if (is_tag(check, name) || (check->metrics && report_metric_from_name(name, &metric))) return DIT_OK;
    add_words(words, &count, check->names->tags);
    add_words(words, &count, of_every_case);
    if (check->metrics) add_metrics(words, &count);
    return unknown(check->metrics ? "tag or metric" : "tag", name, words,
                   "`ditbench expand WORKLOAD --json` shows the tags; a value stands in quotes: method == 'ring'");
}

/* One of `words`; of a fixed list. */
static dit_status check_word(const char *what, const dit_value *value, const char *const *words)
{
    if (value->kind != DIT_VALUE_STRING) return DIT_FAIL(DIT_ERR_EXPRESSION, "%s is a text, this is not", what);
    return holds_word(words, value->string) ? DIT_OK : unknown(what, value->string, words, NULL);
}

static dit_status check_value(const name_check *check, const char *name, const dit_value *value)
{
    static const char *const evidences[] = {"measured", "simulated", NULL};
    report_metric metric;
    if (strcmp(name, "status") == 0) return check_word(name, value, dit_outcome_names());
    if (strcmp(name, "evidence") == 0) return check_word(name, value, evidences);
    if (strcmp(name, "label") == 0) return DIT_OK;
    if (holds_word(check->names->tags, name))
        return check->names->value(check->names->context, name, value, check->open);
    if (!report_metric_from_name(name, &metric) || value->kind != DIT_VALUE_STRING) return DIT_OK;
    return DIT_FAIL(DIT_ERR_EXPRESSION, "%s is a number, '%.100s' is a text", name, value->string);
}

static dit_status check_compared(void *context, const char *name, const dit_value *value)
{
    return check_value(context, name, value);
}

static dit_status check_builtin(void *context, const char *name, const dit_expr_argument *arguments, int count, int *at)
{
    (void)context, (void)arguments, (void)count, (void)at;
    if (holds_word(dit_expr_function_names(), name)) return DIT_OK;
    return unknown("function", name, dit_expr_function_names(), NULL);
}

dit_status report_filter_names_check(const char *expr, const report_claim_names *names, bool metrics, bool open)
{
    name_check check = {names, metrics, open};
    const dit_expr_visitor visitor = {check_name, check_compared, check_builtin, &check};
    return dit_expr_visit(expr, &visitor);
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static dit_status check_bare_name(void *context, const char *name)
{
    report_metric metric;
    (void)context;
    dit_status st = DIT_FAIL(DIT_ERR_EXPRESSION, "\"%.100s\" stands alone", name);
    if (report_metric_from_name(name, &metric))
        return dit_error_hint(st, "fold it over cases: median('%s'), or test each case: all('%s < 1')", name, name);
    return dit_error_hint(st, "values of tags stand in quotes: method='%.60s'; tests of single cases inside all('...')",
                          name);
}

static dit_status check_nothing(void *context, const char *name, const dit_value *value)
{
    (void)context, (void)name, (void)value;
    return DIT_OK;
}

static dit_status check_metric(const dit_expr_argument *argument)
{
    const char *words[NAMES_MOST + 1];
    report_metric metric;
    int count = 0;
    bool text = !argument->name && argument->value.kind == DIT_VALUE_STRING;
    if (!text)
        return dit_error_hint(DIT_FAIL(DIT_ERR_EXPRESSION, "write a metric in quotes as the first argument"),
                              "as in median('latency_s', method='ring')");
    if (report_metric_from_name(argument->value.string, &metric)) return DIT_OK;
    add_metrics(words, &count);
    return unknown("metric", argument->value.string, words, NULL);
}

/* Which cases a call is about. In a count no case is an answer too. */
static dit_status check_selection(const name_check *check, const dit_expr_argument *argument, bool counts)
{
    const name_check single = {check->names, true, check->open || counts};
    if (!argument->name)
        return dit_error_hint(DIT_FAIL(DIT_ERR_EXPRESSION, "only the first argument has no name"),
                              "write TAG=VALUE or where='...'");
    if (strcmp(argument->name, "where") == 0) {
        if (argument->value.kind == DIT_VALUE_STRING)
            return report_filter_names_check(argument->value.string, check->names, true, single.open);
        return dit_error_hint(DIT_FAIL(DIT_ERR_EXPRESSION, "write an expression in quotes after where="),
                              "as in where='world_size > 1'");
    }
    DIT_TRY(check_name((void *)(uintptr_t)&single, argument->name));
    return check_value(&single, argument->name, &argument->value);
}

static dit_status check_test(const name_check *check, const dit_expr_argument *argument)
{
    if (!argument->name && argument->value.kind == DIT_VALUE_STRING)
        return report_filter_names_check(argument->value.string, check->names, true, check->open);
    return dit_error_hint(DIT_FAIL(DIT_ERR_EXPRESSION, "write an expression in quotes as the first argument"),
                          "as in all('rel_l2 < 1e-5')");
}

static dit_status check_scale(const char *function, const dit_expr_argument *arguments, int count)
{
    bool text = count > 0 && !arguments[0].name && arguments[0].value.kind == DIT_VALUE_STRING;
    if (text && holds_word(report_claim_scales(), arguments[0].value.string)) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_EXPRESSION, "write 'place' or 'noise' as the first argument of %s()", function),
        "as in %s('place', model='shapes-pixart')", function);
}

/* The first argument of what is no count: a metric, or an expression over single cases. */
static dit_status check_first(const name_check *check, const char *function, const dit_expr_argument *arguments,
                              int count)
{
    bool tests = strcmp(function, "all") == 0 || strcmp(function, "any") == 0;
    if (report_claim_is_likeness(function)) return check_scale(function, arguments, count);
    if (count > 0) return tests ? check_test(check, arguments) : check_metric(arguments);
    return dit_error_hint(DIT_FAIL(DIT_ERR_EXPRESSION, "%s() needs an argument", function), "as in %s",
                          tests ? "all('rel_l2 < 1e-5')" : "median('latency_s', method='ring')");
}

static bool is_arithmetic(const char *function, const dit_expr_argument *arguments, int count)
{
    bool text = count > 0 && !arguments[0].name && arguments[0].value.kind == DIT_VALUE_STRING;
    return holds_word(dit_expr_function_names(), function) && !text;
}

/* Whether the argument is over='metric' or at=NUMBER. */
static bool is_of_line(const dit_expr_argument *argument)
{
    report_metric metric;
    if (!argument->name) return false;
    if (strcmp(argument->name, "at") == 0) return argument->value.kind != DIT_VALUE_STRING;
    return strcmp(argument->name, "over") == 0 && argument->value.kind == DIT_VALUE_STRING &&
           report_metric_from_name(argument->value.string, &metric);
}

static dit_status check_call(void *context, const char *function, const dit_expr_argument *arguments, int count,
                             int *at)
{
    const name_check *check = context;
    const char *words[NAMES_MOST + 1];
    bool counts = strcmp(function, "count") == 0;
    int known = 0;
    add_words(words, &known, report_claim_functions());
    add_words(words, &known, dit_expr_function_names());
    if (!holds_word(words, function)) return unknown("function", function, words, NULL);
    if (is_arithmetic(function, arguments, count)) return DIT_OK;
    if (count > 0) *at = 0;
    if (!counts) DIT_TRY(check_first(check, function, arguments, count));
    for (int i = counts ? 0 : 1; i < count; i++) {
        *at = i;
        if (report_claim_is_line(function) && is_of_line(&arguments[i])) continue;
        DIT_TRY(check_selection(check, &arguments[i], counts));
    }
    return DIT_OK;
}

dit_status report_claim_names_check(const char *expr, const report_claim_names *names, bool open)
{
    name_check check = {names, true, open};
    const dit_expr_visitor visitor = {check_bare_name, check_nothing, check_call, &check};
    return dit_expr_visit(expr, &visitor);
}
