#include "reports/records/claims.h"

#include "base/expr.h"
#include "reports/records/agreement.h"
#include "reports/records/likeness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLAIM_CALLS = 8, CLAIM_ENOUGH = 6 };

static const char line_name[] = "on_line";
static const char likeness_low[] = "rank_correlation_low", likeness_high[] = "rank_correlation_high";
static const char *const likeness_scales[] = {"place", "noise", NULL};

/* Which end of its interval a timing value is read at. */
typedef enum { END_MEDIAN, END_LOW, END_HIGH } interval_end;

/* One evaluation of a claim. `ends` bit k says at which end call number k is read while `probing`. */
typedef struct {
    const report_table *table;
    report_judgement *judgement;
    bool undecided; /* reason is in the judgement */
    bool timing, low_n;
    bool probing; /* reading at interval ends: numbers are already noted */
    unsigned ends;
    int calls;       /* made so far in this evaluation */
    bool *looked_at; /* of each case of the table: the claim reads it */
} claim_state;

const char *report_verdict_name(report_verdict verdict)
{
    static const char *const names[] = {"holds", "partly", "fails", "undecided"};
    return names[verdict];
}

const char *report_verdict_reproduction(report_verdict verdict)
{
    static const char *const words[] = {"reproduced", "partly", "not reproduced", "undecided"};
    return words[verdict];
}

const char *report_judgement_word(const report_judgement *judgement)
{
    static const char *const alone[] = {"holds (simulated)", "holds in part (simulated)", "fails (simulated)",
                                        "undecided"};
    if (!judgement->simulated) return report_verdict_name(judgement->verdict);
    return judgement->compared ? report_verdict_reproduction(judgement->verdict) : alone[judgement->verdict];
}

bool report_claim_shows_note(const report_claim *claim, const report_judgement *judgement)
{
    bool missed = judgement->verdict == REPORT_CLAIM_FAILS || judgement->verdict == REPORT_CLAIM_PARTLY;
    return claim->because && claim->noted && missed;
}

const char *report_judgement_evidence(const report_judgement *judgement)
{
    if (judgement->measured && judgement->simulated) return "measured and simulated";
    return judgement->measured ? "measured" : judgement->simulated ? "simulated" : "";
}

void report_judgement_release(report_judgement *judgement)
{
    dit_buffer_release(&judgement->numbers);
}

/* Leaves the evaluation with a reason; the first one counts. */
static dit_status leave_undecided(claim_state *state, const char *format, const char *detail)
{
    if (!state->undecided) snprintf(state->judgement->reason, sizeof state->judgement->reason, format, detail);
    state->undecided = true;
    return DIT_FAIL(DIT_ERR_CLAIM, "%s", state->judgement->reason);
}

/* ---- selecting --------------------------------------------------------------------------------------------------- */

/* A case as an expression sees it. */
typedef struct {
    const report_case *kase;
    const char *lacks; /* the metric that it was asked for and has no number of */
} case_scope;

/* What an expression says of one case. */
typedef enum { CASE_NO, CASE_YES, CASE_LACKS } case_answer;

static dit_status case_variable(void *context, const char *name, dit_value *out)
{
    case_scope *scope = context;
    report_metric metric;
    dit_status st = report_case_value(scope->kase, name, out);
    if (st == DIT_ERR_NOT_FOUND && report_metric_from_name(name, &metric))
        scope->lacks = report_metric_get(metric)->name;
    return st;
}

/* "LABEL has no latency_s (failed)" */
static void say_lacking(const report_case *kase, const char *metric, char *out, size_t size)
{
    bool full = kase->status == DIT_OUTCOME_OOM;
    snprintf(out, size, "%.200s has no %.60s (%s)%s", kase->label, metric, dit_outcome_name(kase->status),
             full ? "; status='ok' leaves such cases out" : "");
}

/* Evaluates `expr` on one case, into *out; `lacking` says what is missing where the answer is CASE_LACKS. A name that
 * nobody has makes the claim undecided. */
static dit_status test_case(claim_state *state, const report_case *kase, const char *expr, case_answer *out,
                            char lacking[400])
{
    case_scope seen = {kase, NULL};
    const dit_expr_scope scope = {.variable = case_variable, .context = &seen};
    bool truth = false;
    dit_status st = dit_expr_test(expr, &scope, &truth);
    *out = st != DIT_OK ? CASE_LACKS : truth ? CASE_YES : CASE_NO;
    if (st == DIT_OK) return DIT_OK;
    if (seen.lacks) return say_lacking(kase, seen.lacks, lacking, 400), dit_error_clear(), DIT_OK;
    char message[400];
    snprintf(message, sizeof message, "%.120s: %.260s", kase->label, dit_error_last()->message);
    return leave_undecided(state, "%s", message);
}

/* Whether `where` selects the case. One that ran out of memory has no number that could. */
static dit_status selects(claim_state *state, const report_case *kase, const char *where, bool *out)
{
    case_answer answer;
    char lacking[400];
    DIT_TRY(test_case(state, kase, where, &answer, lacking));
    *out = answer == CASE_YES;
    if (answer != CASE_LACKS || kase->status == DIT_OUTCOME_OOM) return DIT_OK;
    return leave_undecided(state, "%s", lacking);
}

static bool argument_equals(const report_case *kase, const dit_expr_argument *argument)
{
    dit_value value;
    if (report_case_value(kase, argument->name, &value) != DIT_OK || value.kind != argument->value.kind) return false;
    if (value.kind == DIT_VALUE_STRING) return strcmp(value.string, argument->value.string) == 0;
    return value.number == argument->value.number;
}

static bool any_case_has(const report_table *table, const char *tag)
{
    dit_value value;
    for (int i = 0; i < table->case_count; i++) {
        if (report_case_value(&table->cases[i], tag, &value) == DIT_OK) return true;
    }
    return false;
}

static dit_status matches(claim_state *state, const report_case *kase, const dit_expr_argument *arguments, int count,
                          bool *out)
{
    *out = true;
    for (int i = 0; i < count && *out; i++) {
        if (!arguments[i].name) return leave_undecided(state, "%s", "only the first argument goes without a name");
        if (strcmp(arguments[i].name, "where") == 0 && arguments[i].value.kind == DIT_VALUE_STRING) {
            DIT_TRY(selects(state, kase, arguments[i].value.string, out));
        } else {
            *out = argument_equals(kase, &arguments[i]);
        }
    }
    return DIT_OK;
}

static void note_evidence(claim_state *state, const report_case *kase)
{
    *(report_case_is_simulated(kase) ? &state->judgement->simulated : &state->judgement->measured) = true;
    state->looked_at[kase - state->table->cases] = true;
}

/* The cases that match, into *out (from malloc). A tag that no case has is a slip of the pen: undecided. */
static dit_status select_cases(claim_state *state, const dit_expr_argument *arguments, int count,
                               const report_case ***out, int *found)
{
    const report_table *table = state->table;
    dit_status st = DIT_OK;
    *found = 0;
    *out = NULL;
    for (int i = 0; i < count; i++) {
        const char *name = arguments[i].name;
        if (name && strcmp(name, "where") != 0 && table->case_count && !any_case_has(table, name)) {
            return leave_undecided(state, "no case has a tag \"%.60s\"", name);
        }
    }
    *out = malloc(((size_t)table->case_count + 1) * sizeof **out);
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a claim");
    for (int i = 0; i < table->case_count && st == DIT_OK; i++) {
        bool wanted = false;
        if (report_case_is_oracle(&table->cases[i])) continue;
        st = matches(state, &table->cases[i], arguments, count, &wanted);
        if (!wanted) continue;
        (*out)[(*found)++] = &table->cases[i];
        note_evidence(state, &table->cases[i]);
    }
    if (st != DIT_OK) free(*out);
    return st;
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static double fold_median(const double *values, int n)
{
    return dit_stats_median(values, n);
}
static double fold_min(const double *values, int n)
{
    return dit_stats_summarise(values, n).min;
}
static double fold_max(const double *values, int n)
{
    return dit_stats_summarise(values, n).max;
}
static double fold_mean(const double *values, int n)
{
    return dit_stats_summarise(values, n).mean;
}

static double fold_geomean(const double *values, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += log(values[i]);
    return exp(sum / n);
}

static const struct {
    const char *name;
    double (*fold)(const double *, int);
} folds[] = {
    {"median", fold_median}, {"min", fold_min}, {"max", fold_max}, {"mean", fold_mean}, {"geomean", fold_geomean}};

static void note_call(claim_state *state, const char *name, const dit_expr_argument *arguments, int count)
{
    dit_buffer *out = &state->judgement->numbers;
    if (out->used) dit_buffer_char(out, '\n');
    dit_buffer_printf(out, "%s(", name);
    for (int i = 0; i < count; i++) {
        const dit_value *value = &arguments[i].value;
        if (i) dit_buffer_text(out, ", ");
        if (arguments[i].name) dit_buffer_printf(out, "%s=", arguments[i].name);
        if (value->kind == DIT_VALUE_STRING)
            dit_buffer_printf(out, "'%s'", value->string);
        else if (value->kind == DIT_VALUE_BOOL)
            dit_buffer_text(out, value->number != 0 ? "true" : "false");
        else
            dit_buffer_printf(out, "%.10g", value->number);
    }
    dit_buffer_text(out, ")");
}

typedef struct {
    double median, low, high;
    int cases, n; /* n: of the case with fewest processes */
} folded;

static void note_folded(claim_state *state, const report_metric_info *info, const folded *value)
{
    char median[REPORT_NUMBER_TEXT], low[REPORT_NUMBER_TEXT], high[REPORT_NUMBER_TEXT];
    dit_buffer *out = &state->judgement->numbers;
    report_format(info->unit, value->median, median);
    report_format(info->unit, value->low, low);
    report_format(info->unit, value->high, high);
    dit_buffer_printf(out, " = %s", median);
    if (value->low != value->high) dit_buffer_printf(out, " [%s, %s]", low, high);
    dit_buffer_printf(out, ", %d case%s, n = %d", value->cases, value->cases == 1 ? "" : "s", value->n);
}

static dit_status fold_cases(double (*fold)(const double *, int), report_metric metric, const report_case *const *cases,
                             int count, folded *out)
{
    double *values = malloc((size_t)count * 3 * sizeof *values);
    if (!values) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a claim");
    *out = (folded){.cases = count, .n = cases[0]->metric[metric].n};
    for (int i = 0; i < count; i++) {
        const dit_summary *summary = &cases[i]->metric[metric];
        values[i] = summary->median;
        values[count + i] = summary->low;
        values[2 * count + i] = summary->high;
        if (summary->n < out->n) out->n = summary->n;
    }
    out->median = fold(values, count);
    out->low = fold(values + count, count);
    out->high = fold(values + 2 * count, count);
    free(values);
    return DIT_OK;
}

/* Every matching case must have the metric: a claim about cases that failed is not decided by the others. */
static dit_status require_numbers(claim_state *state, const report_metric_info *info, report_metric metric,
                                  const report_case *const *cases, int count)
{
    char detail[400];
    if (count <= 0) return leave_undecided(state, "no case matches %s", "the arguments");
    for (int i = 0; i < count; i++) {
        if (cases[i]->metric[metric].n > 0) continue;
        say_lacking(cases[i], info->name, detail, sizeof detail);
        return leave_undecided(state, "%s", detail);
    }
    return DIT_OK;
}

/* Virtual time is exact: it needs no n. */
static void note_timing(claim_state *state, const report_metric_info *info, const report_case *kase, int n)
{
    if (info->repeats != REPORT_REPEATS_CLOCK || (report_case_is_simulated(kase) && !info->comparison)) return;
    state->timing = true;
    if (n < CLAIM_ENOUGH) state->low_n = true;
}

/* Where a metric compares: leaves the cases that are held against a number, even those that have none themselves. */
static int keep_compared(const report_metric_info *info, report_metric metric, const report_case **cases, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        bool alone = info->comparison && cases[i]->metric[metric].n == 0 && !cases[i]->unanswered;
        if (!alone) cases[kept++] = cases[i];
    }
    return kept;
}

/* What cannot run is not the best: leaves the cases that did not run out of memory, where a fold asks for the best. */
static int keep_runnable(double (*fold)(const double *, int), report_metric metric, const report_case **cases,
                         int count)
{
    report_better better = report_metric_get(metric)->better;
    bool best =
        (fold == fold_min && better == REPORT_BETTER_LOWER) || (fold == fold_max && better == REPORT_BETTER_HIGHER);
    int kept = 0;
    for (int i = 0; i < count; i++) {
        bool full = cases[i]->status == DIT_OUTCOME_OOM && cases[i]->metric[metric].n == 0;
        if (!best || !full) cases[kept++] = cases[i];
    }
    return best && kept == 0 ? count : kept;
}

static dit_status fold_metric(claim_state *state, double (*fold)(const double *, int), report_metric metric,
                              const report_case *const *cases, int count, dit_value *out)
{
    const report_metric_info *info = report_metric_get(metric);
    folded value = {0};
    DIT_TRY(require_numbers(state, info, metric, cases, count));
    DIT_TRY(fold_cases(fold, metric, cases, count, &value));
    for (int i = 0; i < count; i++) note_timing(state, info, cases[i], cases[i]->metric[metric].n);
    if (!state->probing) note_folded(state, info, &value);
    *out = (dit_value){DIT_VALUE_NUMBER, value.median, NULL};
    if (state->probing && info->repeats == REPORT_REPEATS_CLOCK)
        out->number = state->ends >> state->calls & 1 ? value.high : value.low;
    state->calls++;
    return DIT_OK;
}

static dit_status call_fold(claim_state *state, const char *name, double (*fold)(const double *, int),
                            const dit_expr_argument *arguments, int count, dit_value *out)
{
    const report_case **cases = NULL;
    report_metric metric;
    int found = 0;
    if (arguments[0].name || !report_metric_from_name(arguments[0].value.string, &metric)) {
        return leave_undecided(state, "no metric \"%.60s\"", arguments[0].value.string);
    }
    if (!state->probing) note_call(state, name, arguments, count);
    DIT_TRY(select_cases(state, arguments + 1, count - 1, &cases, &found));
    found = keep_compared(report_metric_get(metric), metric, cases, found);
    int kept = keep_runnable(fold, metric, cases, found);
    dit_status st = fold_metric(state, fold, metric, cases, kept, out);
    if (st == DIT_OK && kept < found && !state->probing)
        dit_buffer_printf(&state->judgement->numbers, "; %d out of memory left out", found - kept);
    free(cases);
    return st;
}

/* That no case matches is what all of them say. */
static void note_none(claim_state *state)
{
    for (int i = 0; i < state->table->case_count; i++) {
        if (!report_case_is_oracle(&state->table->cases[i])) note_evidence(state, &state->table->cases[i]);
    }
}

static dit_status call_count(claim_state *state, const dit_expr_argument *arguments, int count, dit_value *out)
{
    const report_case **cases = NULL;
    int found = 0;
    if (!state->probing) note_call(state, "count", arguments, count);
    DIT_TRY(select_cases(state, arguments, count, &cases, &found));
    free(cases);
    if (found == 0) note_none(state);
    if (!state->probing) dit_buffer_printf(&state->judgement->numbers, " = %d", found);
    *out = (dit_value){DIT_VALUE_NUMBER, found, NULL};
    return DIT_OK;
}

/* Notes which metrics an expression over single cases reads, so that timing needs its n there too. */
static void note_metrics_in(claim_state *state, const char *expr, const report_case *kase)
{
    for (int m = 0; m < REPORT_METRIC_COUNT; m++) {
        const report_metric_info *info = report_metric_get((report_metric)m);
        if (strstr(expr, info->name)) note_timing(state, info, kase, kase->metric[m].n);
    }
}

/* How an expression came out over cases. */
typedef struct {
    int yes, no;                  /* answers */
    int full, missing;            /* cases without the number: out of memory, for any other reason */
    const report_case *exception; /* the first that is no */
    char lacking[400];            /* the first that has no number; one that did not run out of memory before others */
} case_answers;

static dit_status ask_cases(claim_state *state, const char *expr, const report_case *const *cases, int count,
                            case_answers *out)
{
    *out = (case_answers){0};
    for (int i = 0; i < count; i++) {
        case_answer answer;
        char lacking[400];
        DIT_TRY(test_case(state, cases[i], expr, &answer, lacking));
        if (answer != CASE_LACKS) note_metrics_in(state, expr, cases[i]);
        out->yes += answer == CASE_YES;
        out->no += answer == CASE_NO;
        if (answer == CASE_NO && !out->exception) out->exception = cases[i];
        if (answer != CASE_LACKS) continue;
        bool full = cases[i]->status == DIT_OUTCOME_OOM;
        if (!out->lacking[0] || (!full && !out->missing)) memcpy(out->lacking, lacking, sizeof lacking);
        *(full ? &out->full : &out->missing) += 1;
    }
    return DIT_OK;
}

/* A case that ran out of memory is no example of anything, so any() goes on without it; whether it would be an
 * exception nobody knows, so all() does not. Other missing numbers leave both open. */
static bool are_answered(const case_answers *answers, bool all)
{
    if (all) return answers->no > 0 || answers->full + answers->missing == 0;
    return answers->yes > 0 || answers->missing == 0;
}

static dit_status test_cases(claim_state *state, const char *expr, const report_case *const *cases, int count, bool all,
                             dit_value *out)
{
    dit_buffer *numbers = &state->judgement->numbers;
    case_answers answers;
    if (count == 0) return leave_undecided(state, "no case matches %s", "the arguments");
    DIT_TRY(ask_cases(state, expr, cases, count, &answers));
    if (!are_answered(&answers, all)) return leave_undecided(state, "%s", answers.lacking);
    bool result = all ? answers.yes == count : answers.yes > 0;
    *out = (dit_value){DIT_VALUE_BOOL, result ? 1 : 0, NULL};
    if (state->probing) return DIT_OK;
    dit_buffer_printf(numbers, " = %s: true for %d of %d cases", result ? "true" : "false", answers.yes, count);
    if (answers.full) dit_buffer_printf(numbers, ", %d out of memory", answers.full);
    if (!result && answers.exception) dit_buffer_printf(numbers, ", not for %s", answers.exception->label);
    return DIT_OK;
}

static dit_status call_test(claim_state *state, const char *name, const dit_expr_argument *arguments, int count,
                            dit_value *out)
{
    const report_case **cases = NULL;
    int found = 0;
    if (!state->probing) note_call(state, name, arguments, count);
    DIT_TRY(select_cases(state, arguments + 1, count - 1, &cases, &found));
    dit_status st = test_cases(state, arguments[0].value.string, cases, found, strcmp(name, "all") == 0, out);
    free(cases);
    return st;
}

typedef struct {
    double x, y;
} line_point;

static int compare_points(const void *left, const void *right)
{
    const line_point *a = left, *b = right;
    return (a->x > b->x) - (a->x < b->x);
}

/* What the line through the points has at `x`; false outside of them. */
static bool read_line(line_point *points, int count, double x, double *out)
{
    qsort(points, (size_t)count, sizeof *points, compare_points);
    for (int i = 0; i + 1 < count; i++) {
        const line_point *a = &points[i], *b = &points[i + 1];
        if (x < a->x || x > b->x) continue;
        *out = b->x > a->x ? a->y + (b->y - a->y) * (x - a->x) / (b->x - a->x) : a->y;
        return true;
    }
    return false;
}

/* The named arguments that are no tags. */
typedef struct {
    report_metric y, x;
    double at;
    dit_expr_argument *selection; /* the other ones, from malloc */
    int count;
} line_question;

static dit_status read_question(claim_state *state, const dit_expr_argument *arguments, int count, line_question *out)
{
    bool over = false, at = false;
    if (!report_metric_from_name(arguments[0].value.string, &out->y))
        return leave_undecided(state, "no metric \"%.60s\"", arguments[0].value.string);
    for (int i = 1; i < count; i++) {
        const dit_value *value = &arguments[i].value;
        const char *name = arguments[i].name ? arguments[i].name : "";
        if (strcmp(name, "over") == 0 && value->kind == DIT_VALUE_STRING)
            over = report_metric_from_name(value->string, &out->x);
        else if (strcmp(name, "at") == 0 && value->kind == DIT_VALUE_NUMBER)
            at = true, out->at = value->number;
        else
            out->selection[out->count++] = arguments[i];
    }
    return over && at ? DIT_OK : leave_undecided(state, "%s", "on_line() needs over='metric' and at=NUMBER");
}

static dit_status answer_line(claim_state *state, const line_question *asked, const report_case *const *cases,
                              int count, dit_value *out)
{
    const report_metric both[] = {asked->y, asked->x};
    for (int i = 0; i < 2; i++) {
        const report_metric_info *info = report_metric_get(both[i]);
        DIT_TRY(require_numbers(state, info, both[i], cases, count));
        if (info->repeats == REPORT_REPEATS_CLOCK)
            return leave_undecided(state, "on_line() reads no times, and %s is one", info->name);
    }
    line_point *points = malloc((size_t)count * sizeof *points);
    if (!points) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a claim");
    for (int k = 0; k < count; k++)
        points[k] = (line_point){cases[k]->metric[asked->x].median, cases[k]->metric[asked->y].median};
    *out = (dit_value){.kind = DIT_VALUE_NUMBER};
    bool found = read_line(points, count, asked->at, &out->number);
    free(points);
    if (!found) return leave_undecided(state, "no two cases lie on both sides of %s", "at=");
    if (state->probing) return DIT_OK;
    char text[REPORT_NUMBER_TEXT];
    report_format(report_metric_get(asked->y)->unit, out->number, text);
    dit_buffer_printf(&state->judgement->numbers, " = %s, on the line through %d cases", text, count);
    return DIT_OK;
}

static dit_status call_line(claim_state *state, const dit_expr_argument *arguments, int count, dit_value *out)
{
    const report_case **cases = NULL;
    line_question asked = {.selection = calloc((size_t)count, sizeof *asked.selection)};
    int found = 0;
    if (!asked.selection) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a claim");
    if (!state->probing) note_call(state, line_name, arguments, count);
    dit_status st = read_question(state, arguments, count, &asked);
    if (st == DIT_OK) st = select_cases(state, asked.selection, asked.count, &cases, &found);
    if (st == DIT_OK) {
        st = answer_line(state, &asked, cases, found, out);
        free(cases);
    }
    free(asked.selection);
    return st;
}

bool report_claim_is_line(const char *function)
{
    return strcmp(function, line_name) == 0;
}

/* The bound of all rank correlations between the cases that match; each pair has its interval over prompts. */
static dit_status call_likeness(claim_state *state, const char *name, const dit_expr_argument *arguments, int count,
                                dit_value *out)
{
    const report_case **cases = NULL;
    report_likeness likeness;
    const char *scale = arguments[0].value.string;
    bool on_noise = strcmp(scale, likeness_scales[1]) == 0;
    int found = 0;
    if (!on_noise && strcmp(scale, likeness_scales[0]) != 0)
        return leave_undecided(state, "\"%.60s\" is neither \"place\" nor \"noise\"", scale);
    if (!state->probing) note_call(state, name, arguments, count);
    DIT_TRY(select_cases(state, arguments + 1, count - 1, &cases, &found));
    dit_status st = report_likeness_of(cases, found, on_noise, &likeness);
    free(cases);
    if (st == DIT_ERR_MEMORY) return st;
    if (st != DIT_OK) return leave_undecided(state, "%.400s", dit_error_last()->message);
    *out = (dit_value){DIT_VALUE_NUMBER, strcmp(name, likeness_low) == 0 ? likeness.low : likeness.high, NULL};
    if (!state->probing)
        dit_buffer_printf(
            &state->judgement->numbers,
            " = %.3f: correlations %.3f to %.3f, bounds %.3f to %.3f, %d pair%s of cases x K, V, attention",
            out->number, likeness.least, likeness.most, likeness.low, likeness.high, likeness.pairs,
            likeness.pairs == 1 ? "" : "s");
    return DIT_OK;
}

const char *const *report_claim_scales(void)
{
    return likeness_scales;
}

bool report_claim_is_likeness(const char *function)
{
    return strcmp(function, likeness_low) == 0 || strcmp(function, likeness_high) == 0;
}

const char *const *report_claim_functions(void)
{
    enum { FOLDS = sizeof folds / sizeof folds[0] };
    static _Thread_local const char *names[FOLDS + 7];
    int used = 0;
    for (int i = 0; i < FOLDS; i++) names[used++] = folds[i].name;
    names[used++] = "count";
    names[used++] = "all";
    names[used++] = "any";
    names[used++] = line_name;
    names[used++] = likeness_low;
    names[used++] = likeness_high;
    return names;
}

static dit_status claim_call(void *context, const char *name, const dit_expr_argument *arguments, int count,
                             dit_value *out)
{
    bool text_first = count > 0 && !arguments[0].name && arguments[0].value.kind == DIT_VALUE_STRING;
    if (strcmp(name, "count") == 0) return call_count(context, arguments, count, out);
    if (!text_first) return DIT_ERR_NOT_FOUND; /* min(1, 2) is the expressions' own */
    if (strcmp(name, "all") == 0 || strcmp(name, "any") == 0) return call_test(context, name, arguments, count, out);
    if (report_claim_is_line(name)) return call_line(context, arguments, count, out);
    if (report_claim_is_likeness(name)) return call_likeness(context, name, arguments, count, out);
    for (size_t i = 0; i < sizeof folds / sizeof folds[0]; i++) {
        if (strcmp(folds[i].name, name) == 0) return call_fold(context, name, folds[i].fold, arguments, count, out);
    }
    return DIT_ERR_NOT_FOUND;
}

static dit_status claim_variable(void *context, const char *name, dit_value *out)
{
    (void)context;
    (void)name;
    (void)out;
    return DIT_ERR_NOT_FOUND;
}

/* ---- verdict ----------------------------------------------------------------------------------------------------- */

/* False with the reason noted when the expression has no truth value here. Memory errors pass through *st. */
static bool evaluate(claim_state *state, const char *expr, bool *truth, dit_status *st)
{
    const dit_expr_scope scope = {.variable = claim_variable, .call = claim_call, .context = state};
    state->calls = 0;
    *st = dit_expr_test(expr, &scope, truth);
    if (*st == DIT_OK) return true;
    if (*st == DIT_ERR_MEMORY) return false;
    leave_undecided(state, "%.400s", dit_error_last()->message);
    *st = DIT_OK;
    return false;
}

/* Reads every timing value at both ends of its interval, in all combinations; false when some answer differs. */
static bool survives_intervals(claim_state *state, const char *expr, bool truth, dit_status *st)
{
    int calls = state->calls < CLAIM_CALLS ? state->calls : CLAIM_CALLS;
    bool other = truth;
    state->probing = true;
    for (state->ends = 0; state->ends < 1u << calls; state->ends++) {
        if (!evaluate(state, expr, &other, st) || other != truth) return false;
    }
    return true;
}

/* Settles `expr`: true and its truth, or false with the reason noted. */
static bool settle(claim_state *state, const char *expr, bool *truth, dit_status *st)
{
    report_judgement *out = state->judgement;
    state->timing = state->low_n = state->probing = false;
    if (!evaluate(state, expr, truth, st)) return false;
    int calls = state->calls;
    if (state->low_n) {
        snprintf(out->reason, sizeof out->reason, "low_n: a verdict on timing needs n >= %d processes a case",
                 CLAIM_ENOUGH);
        return false;
    }
    if (state->timing && calls > CLAIM_CALLS) {
        snprintf(out->reason, sizeof out->reason, "more than %d timing values in one claim", CLAIM_CALLS);
        return false;
    }
    if (!state->timing || survives_intervals(state, expr, *truth, st)) return true;
    if (!state->undecided) snprintf(out->reason, sizeof out->reason, "the intervals allow both answers");
    return false;
}

static dit_status judge(claim_state *state, const report_claim *claim)
{
    report_judgement *out = state->judgement;
    bool truth = false, required = true;
    dit_status st = DIT_OK;
    out->verdict = REPORT_CLAIM_UNDECIDED;
    if (claim->requires && !evaluate(state, claim->requires, &required, &st)) return st;
    if (!required) return snprintf(out->reason, sizeof out->reason, "requires: %.400s", claim->requires), DIT_OK;
    out->measured = out->simulated = false; /* what is required is not what is claimed */
    memset(state->looked_at, 0, (size_t)state->table->case_count * sizeof *state->looked_at);
    if (!settle(state, claim->expr, &truth, &st)) return st;
    out->verdict = truth ? REPORT_CLAIM_HOLDS : REPORT_CLAIM_FAILS;
    if (truth || !claim->partly) return DIT_OK;
    dit_buffer_text(&out->numbers, "\npartly, when:");
    if (settle(state, claim->partly, &truth, &st) && truth) out->verdict = REPORT_CLAIM_PARTLY;
    return st;
}

/* Published numbers whose simulated twin is among the cases that the claim read. */
static void count_compared(claim_state *state)
{
    const report_table *table = state->table;
    for (int i = 0; i < table->published_count; i++) {
        const report_published *point = &table->published[i];
        bool read = point->twin && state->looked_at[point->twin - table->cases];
        state->judgement->compared += read && report_published_is_compared(point);
    }
}

dit_status report_claim_judge(const report_table *table, const report_claim *claim, report_judgement *out)
{
    *out = (report_judgement){0};
    claim_state state = {.table = table, .judgement = out};
    dit_buffer_text(&out->numbers, "");
    state.looked_at = calloc((size_t)table->case_count + 1, sizeof *state.looked_at);
    dit_status st = state.looked_at ? judge(&state, claim) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a claim");
    if (st == DIT_OK) count_compared(&state);
    free(state.looked_at);
    if (st != DIT_ERR_MEMORY) dit_error_clear();
    if (st == DIT_OK && out->numbers.failed) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for claim %.60s", claim->id);
    if (st != DIT_OK) report_judgement_release(out);
    return st;
}
