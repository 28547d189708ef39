#include "suite/compare/comparison_print.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "suite/console/forest_line.h"
#include "suite/console/table.h"
#include "suite/console/terminal.h"
#include "suite/session/results.h"

#include <math.h>
#include <string.h>

enum { LABEL_BYTES = 800, NOTE_BYTES = 400 };
static const double most_drawn = 1.5; /* of a ratio, in a table of characters */

/* ---- words ------------------------------------------------------------------------------------------------------- */

static const char *metric_name(report_metric metric)
{
    return report_metric_get(metric)->name;
}

static bool is_time(report_metric metric)
{
    return report_metric_get(metric)->unit == REPORT_UNIT_SECONDS;
}

static const char *timing_word(const suite_timing *t)
{
    if (t->better == REPORT_BETTER_NEITHER && t->verdict == SUITE_VERDICT_WORSE) return "changed";
    return suite_verdict_name(t->verdict, is_time(t->metric));
}

/* "+5.1 %" of a ratio. */
static void change_text(double ratio, char out[REPORT_NUMBER_TEXT])
{
    if (!isfinite(ratio))
        snprintf(out, REPORT_NUMBER_TEXT, "-");
    else
        snprintf(out, REPORT_NUMBER_TEXT, "%+.2f %%", 100 * (ratio - 1));
}

static void interval_text(const suite_timing *t, char out[2 * REPORT_NUMBER_TEXT])
{
    if (t->exact)
        snprintf(out, 2 * REPORT_NUMBER_TEXT, "exact");
    else if (isfinite(t->ratio.low))
        snprintf(out, 2 * REPORT_NUMBER_TEXT, "%+.2f .. %+.2f %%", 100 * (t->ratio.low - 1), 100 * (t->ratio.high - 1));
    else
        snprintf(out, 2 * REPORT_NUMBER_TEXT, "-");
}

static bool is_beyond_margin(const suite_timing *t)
{
    return t->ratio.low > 1 + t->margin || t->ratio.high * (1 + t->margin) < 1;
}

/* What keeps a timing from a verdict; "" where nothing does. */
static void reason_text(const suite_timing *t, char out[NOTE_BYTES])
{
    out[0] = '\0';
    if (t->verdict != SUITE_VERDICT_UNDECIDED) return;
    if (t->ratio.n < SUITE_RATIO_LEAST && t->not_counted)
        snprintf(out, NOTE_BYTES, "%d %s, a verdict needs %d; beside %d more other processes used the cores",
                 t->ratio.n, t->ratio.paired ? "pairs count" : "processes count", SUITE_RATIO_LEAST, t->not_counted);
    else if (t->ratio.n < SUITE_RATIO_LEAST)
        snprintf(out, NOTE_BYTES, "%d processes, a verdict needs %d", t->ratio.n, SUITE_RATIO_LEAST);
    else if (suite_timing_is_precise(t))
        snprintf(out, NOTE_BYTES, "the change lies at the margin of %.3g %%", 100 * t->margin);
    else if (is_beyond_margin(t))
        snprintf(out, NOTE_BYTES, "the change is less than 1.5 times its uncertainty of %.3g %%",
                 100 * expm1(suite_ratio_reach(&t->ratio)));
    else
        snprintf(out, NOTE_BYTES, "the interval crosses the margin of %.3g %%", 100 * t->margin);
}

void suite_comparison_summary(const suite_comparison *c, char *out, size_t size)
{
    int used = snprintf(out, size, "%s:", suite_verdict_name(suite_comparison_verdict(c), true));
    bool first = true;
    for (int v = SUITE_VERDICT_COUNT - 1; v >= 0; v--) {
        int count = suite_comparison_count(c, (suite_verdict)v);
        if (!count || (size_t)used >= size) continue;
        used += snprintf(out + used, size - (size_t)used, "%s %d %s", first ? "" : ",", count,
                         suite_verdict_name((suite_verdict)v, true));
        first = false;
    }
    if ((size_t)used < size)
        used += snprintf(out + used, size - (size_t)used, "%s%d of %d exact numbers changed", first ? " " : "; ",
                         c->difference_count, c->exact_count);
    if (c->skipped_count && (size_t)used < size)
        used += snprintf(out + used, size - (size_t)used, "; %d case%s not judged, for they were skipped",
                         c->skipped_count, suite_plural(c->skipped_count));
    if (c->turned_count && (size_t)used < size)
        snprintf(out + used, size - (size_t)used, "; %d case%s ended otherwise", c->turned_count,
                 suite_plural(c->turned_count));
}

/* ---- for a person ------------------------------------------------------------------------------------------------ */

enum { COLUMN_CASE, COLUMN_METRIC, COLUMN_OLD, COLUMN_NEW, COLUMN_CHANGE, COLUMN_INTERVAL, COLUMN_N, COLUMN_VERDICT };

static const suite_column columns[] = {
    {"case", "case", true, 0},    {"metric", "metric", true, 3},   {"old", "old", false, 0},
    {"new", "new", false, 0},     {"change", "change", false, 0},  {"interval", "interval", false, 2},
    {"processes", "n", false, 4}, {"verdict", "verdict", true, 0},
};

/* The new case's, which stands for both; of simulations in different software, with the old one's. */
static const char *label_of(const suite_side_case *old, const suite_side_case *now, char out[LABEL_BYTES])
{
    const char *before = dit_json_text_or(old->tags, "profile", ""),
               *after = dit_json_text_or(now->tags, "profile", "");
    if (!old->simulated || !now->simulated || strcmp(before, after) == 0) return now->label;
    snprintf(out, LABEL_BYTES, "%s (old: %s)", now->label, before);
    return out;
}

static dit_status add_timing_row(suite_table *table, const suite_timing *t)
{
    char label[LABEL_BYTES];
    char before[REPORT_NUMBER_TEXT], after[REPORT_NUMBER_TEXT], change[REPORT_NUMBER_TEXT];
    char interval[2 * REPORT_NUMBER_TEXT], n[16] = "";
    report_unit unit = report_metric_get(t->metric)->unit;
    report_format(unit, t->before, before);
    report_format(unit, t->after, after);
    change_text(t->ratio.ratio, change);
    interval_text(t, interval);
    if (!t->exact) snprintf(n, sizeof n, "%d", t->ratio.n);
    const char *const texts[] = {
        label_of(t->old, t->now, label), metric_name(t->metric), before, after, change, interval, n, timing_word(t)};
    return suite_table_add_cells(table, texts, COLUMN_VERDICT + 1);
}

static const char *difference_word(const suite_difference *d)
{
    if (d->better == REPORT_BETTER_NEITHER) return "changed";
    return suite_verdict_name(d->verdict, false);
}

void suite_difference_texts(const suite_difference *d, char before[SUITE_DIFFERENCE_TEXT],
                            char after[SUITE_DIFFERENCE_TEXT])
{
    if (d->old_text) {
        snprintf(before, SUITE_DIFFERENCE_TEXT, "%.12s", d->old_text);
        snprintf(after, SUITE_DIFFERENCE_TEXT, "%.12s", d->new_text);
        return;
    }
    snprintf(before, SUITE_DIFFERENCE_TEXT, "%.17g", d->before);
    snprintf(after, SUITE_DIFFERENCE_TEXT, "%.17g", d->after);
}

/* Exact numbers with all their digits: a difference in the last one must be seen. */
static dit_status add_difference_row(suite_table *table, const suite_difference *d)
{
    char label[LABEL_BYTES];
    char before[SUITE_DIFFERENCE_TEXT], after[SUITE_DIFFERENCE_TEXT], change[REPORT_NUMBER_TEXT];
    suite_difference_texts(d, before, after);
    change_text(d->before > 0 ? d->after / d->before : NAN, change);
    const char *const texts[] = {
        label_of(d->old, d->now, label), d->name, before, after, change, "exact", "", difference_word(d)};
    return suite_table_add_cells(table, texts, COLUMN_VERDICT + 1);
}

static void print_list(FILE *out, const char *title, const suite_side_case *const *cases, int count)
{
    if (count) fprintf(out, "%s:\n", title);
    for (int i = 0; i < count && i < 12; i++) fprintf(out, "  %s\n", cases[i]->label);
    if (count > 12) fprintf(out, "  ... and %d more\n", count - 12);
}

static void print_turned(const suite_comparison *c, FILE *out)
{
    for (int i = 0; i < c->turned_count; i++) {
        const suite_side_case *old = c->turned[i][0], *now = c->turned[i][1];
        fprintf(out, "%s: %s before, %s now%s%s\n", now->label, dit_outcome_name(old->status),
                dit_outcome_name(now->status), now->failure[0] ? ": " : "", now->failure);
    }
}

static void print_skipped(const suite_comparison *c, FILE *out)
{
    for (int i = 0; i < c->skipped_count; i++) {
        const suite_side_case *one = suite_comparison_who_skipped(c, i);
        fprintf(out, "%s: not judged, the %s side skipped it%s%s\n", one->label,
                one == c->skipped[i][1] ? "new" : "old", one->failure[0] ? ": " : "", one->failure);
    }
}

/* Each reason once, with how many times it keeps from a verdict. */
static void print_reasons(const suite_comparison *c, FILE *out)
{
    char note[NOTE_BYTES];
    int few = 0, wide = 0;
    for (int i = 0; i < c->timing_count; i++) {
        const suite_timing *t = &c->timings[i];
        reason_text(t, note);
        if (!note[0]) continue;
        fprintf(out, "undecided: %s: %s\n", t->now->label, note);
        few += t->ratio.n < SUITE_RATIO_LEAST && !t->not_counted;
        wide += t->ratio.n >= SUITE_RATIO_LEAST && !suite_timing_is_precise(t);
    }
    if (few) fprintf(out, "to have enough processes, run with --processes %d\n", SUITE_RATIO_LEAST);
    if (wide && !c->paired) fprintf(out, "`ditbench ab` runs pairs until the intervals are narrow enough\n");
}

/* What does not count, for other processes used the cores meanwhile. */
static void print_not_counted(const suite_comparison *c, FILE *out)
{
    int sum = 0, cases = 0;
    for (int i = 0; i < c->timing_count; i++) sum += c->timings[i].not_counted, cases += c->timings[i].not_counted > 0;
    if (sum)
        fprintf(out,
                "busy: %d %s%s of %d case%s not counted, for other processes used more than %.3g %% of the cores\n",
                sum, c->paired ? "pair" : "process",
                sum == 1    ? ""
                : c->paired ? "s"
                            : "es",
                cases, suite_plural(cases), 100 * c->busy_limit);
}

/* The level of the intervals: pairs that are looked at several times leave each look a part of the 5 %. */
static double level_of(const suite_comparison *c)
{
    double level = 0;
    for (int i = 0; i < c->timing_count; i++) level = fmax(level, c->timings[i].ratio.level);
    return level;
}

static void print_how(const suite_comparison *c, FILE *out)
{
    if (!suite_comparison_measured(c)) return;
    if (c->paired)
        fprintf(out,
                "pairs in balanced random order; Student's interval of the log-ratio at %.1f %%, Holm's rule over the "
                "cases\n",
                100 * level_of(c));
    else
        fprintf(out, "two sessions that did not run in pairs: drift of the machine looks like a change, so the margin "
                     "is wide (`ditbench ab` runs pairs)\n");
    if (!c->same_hardware) fprintf(out, "the sessions ran on different hardware\n");
}

dit_status suite_comparison_print(const suite_comparison *c, FILE *out, int width)
{
    suite_table table = {.columns = columns, .column_count = COLUMN_VERDICT + 1};
    char summary[NOTE_BYTES];
    dit_status st = DIT_OK;
    for (int i = 0; st == DIT_OK && i < c->timing_count; i++) st = add_timing_row(&table, &c->timings[i]);
    for (int i = 0; st == DIT_OK && i < c->difference_count; i++) st = add_difference_row(&table, &c->differences[i]);
    fprintf(out, "old: %s\n", c->old->name);
    suite_results_print_software(c->old->session, NULL, "     ", out);
    fprintf(out, "new: %s\n", c->now->name);
    suite_results_print_software(c->now->session, NULL, "     ", out);
    fprintf(out, "\n");
    if (st == DIT_OK && table.row_count) suite_table_print(&table, out, width);
    suite_table_release(&table);
    print_turned(c, out);
    print_skipped(c, out);
    print_list(out, "in the old one only", c->gone, c->gone_count);
    print_list(out, "in the new one only", c->added, c->added_count);
    if (table.row_count || c->turned_count || c->skipped_count) fprintf(out, "\n");
    print_not_counted(c, out);
    print_reasons(c, out);
    print_how(c, out);
    suite_comparison_summary(c, summary, sizeof summary);
    fprintf(out, "%s\n", summary);
    return st;
}

void suite_circumstances_print(const suite_circumstance *items, int count, int most, FILE *out)
{
    if (!count) {
        fprintf(out, "the sessions' machines, environments, builds and workloads are equal\n");
        return;
    }
    fprintf(out, "what else differs, the likeliest cause first:\n");
    for (int i = 0; i < count && i < most; i++) {
        const suite_circumstance *one = &items[i];
        fprintf(out, "  %s: %s -> %s%s%s\n", one->path, one->old[0] ? one->old : "(not said)",
                one->now[0] ? one->now : "(not said)", one->reason[0] ? "; " : "", one->reason);
    }
    if (count > most) fprintf(out, "  ... and %d more (--json has all)\n", count - most);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_ratio(dit_json_writer *w, cJSON *row, const suite_timing *t)
{
    if (isfinite(t->ratio.ratio)) dit_json_put_number(w, row, "ratio", t->ratio.ratio);
    if (t->exact) return;
    if (isfinite(t->ratio.low)) {
        dit_json_put_number(w, row, "low", t->ratio.low);
        dit_json_put_number(w, row, "high", t->ratio.high);
        dit_json_put_number(w, row, "level", t->ratio.level);
    }
    dit_json_put_int(w, row, "n", t->ratio.n);
    dit_json_put_int(w, row, "not_counted", t->not_counted);
    dit_json_put_bool(w, row, "paired", t->ratio.paired);
    dit_json_put_number(w, row, "margin", t->margin);
    dit_json_put_number(w, row, "p_greater", t->evidence.greater);
    dit_json_put_number(w, row, "p_smaller", t->evidence.smaller);
    dit_json_put_number(w, row, "p_same", t->evidence.same);
}

static void put_names(dit_json_writer *w, cJSON *row, const suite_side_case *old, const suite_side_case *now)
{
    dit_json_put_string(w, row, "case_id", now->case_id);
    if (strcmp(old->case_id, now->case_id) != 0) dit_json_put_string(w, row, "old_case_id", old->case_id);
    dit_json_put_string(w, row, "label", now->label);
    if (strcmp(old->label, now->label) != 0) dit_json_put_string(w, row, "old_label", old->label);
}

static void put_numbers(dit_json_writer *w, cJSON *row, report_metric metric, double before, double after)
{
    dit_json_put_string(w, row, "unit", report_unit_name(report_metric_get(metric)->unit));
    dit_json_put_number(w, row, "old", before);
    dit_json_put_number(w, row, "new", after);
}

static void put_timings(dit_json_writer *w, cJSON *root, const suite_comparison *c)
{
    cJSON *list = dit_json_put_array(w, root, "timings");
    for (int i = 0; i < c->timing_count; i++) {
        const suite_timing *t = &c->timings[i];
        char reason[NOTE_BYTES];
        cJSON *row = dit_json_put_object(w, list, NULL);
        put_names(w, row, t->old, t->now);
        dit_json_put_string(w, row, "metric", metric_name(t->metric));
        put_numbers(w, row, t->metric, t->before, t->after);
        dit_json_put_bool(w, row, "exact", t->exact);
        put_ratio(w, row, t);
        dit_json_put_string(w, row, "verdict", timing_word(t));
        reason_text(t, reason);
        if (reason[0]) dit_json_put_string(w, row, "reason", reason);
    }
}

static void put_differences(dit_json_writer *w, cJSON *root, const suite_comparison *c)
{
    cJSON *list = dit_json_put_array(w, root, "differences");
    for (int i = 0; i < c->difference_count; i++) {
        const suite_difference *d = &c->differences[i];
        cJSON *row = dit_json_put_object(w, list, NULL);
        put_names(w, row, d->old, d->now);
        dit_json_put_string(w, row, "metric", d->name);
        if (d->old_text) {
            dit_json_put_string(w, row, "old", d->old_text);
            dit_json_put_string(w, row, "new", d->new_text);
        } else
            put_numbers(w, row, d->metric, d->before, d->after);
        dit_json_put_string(w, row, "verdict", difference_word(d));
    }
}

static void put_skipped(dit_json_writer *w, cJSON *root, const suite_comparison *c)
{
    cJSON *list = dit_json_put_array(w, root, "skipped");
    for (int i = 0; i < c->skipped_count; i++) {
        const suite_side_case *one = suite_comparison_who_skipped(c, i);
        cJSON *row = dit_json_put_object(w, list, NULL);
        put_names(w, row, c->skipped[i][0], c->skipped[i][1]);
        dit_json_put_string(w, row, "side", one == c->skipped[i][1] ? "new" : "old");
        if (one->failure[0]) dit_json_put_string(w, row, "reason", one->failure);
    }
}

static void put_cases(dit_json_writer *w, cJSON *root, const char *key, const suite_side_case *const *cases, int count)
{
    cJSON *list = dit_json_put_array(w, root, key);
    for (int i = 0; i < count; i++) {
        cJSON *row = dit_json_put_object(w, list, NULL);
        dit_json_put_string(w, row, "case_id", cases[i]->case_id);
        dit_json_put_string(w, row, "label", cases[i]->label);
    }
}

static void put_turned(dit_json_writer *w, cJSON *root, const suite_comparison *c)
{
    cJSON *list = dit_json_put_array(w, root, "outcomes");
    for (int i = 0; i < c->turned_count; i++) {
        cJSON *row = dit_json_put_object(w, list, NULL);
        put_names(w, row, c->turned[i][0], c->turned[i][1]);
        dit_json_put_string(w, row, "old", dit_outcome_name(c->turned[i][0]->status));
        dit_json_put_string(w, row, "new", dit_outcome_name(c->turned[i][1]->status));
        if (c->turned[i][1]->failure[0]) dit_json_put_string(w, row, "failure", c->turned[i][1]->failure);
    }
}

static void put_circumstances(dit_json_writer *w, cJSON *root, const suite_circumstance *items, int count)
{
    cJSON *list = dit_json_put_array(w, root, "environment");
    for (int i = 0; i < count; i++) {
        cJSON *row = dit_json_put_object(w, list, NULL);
        dit_json_put_string(w, row, "path", items[i].path);
        dit_json_put_string(w, row, "old", items[i].old);
        dit_json_put_string(w, row, "new", items[i].now);
        if (items[i].reason[0]) dit_json_put_string(w, row, "reason", items[i].reason);
    }
}

dit_status suite_comparison_json(const suite_comparison *c, const suite_circumstance *items, int count, cJSON **out)
{
    dit_json_writer w = {0};
    cJSON *root = dit_json_new_object(&w);
    dit_json_put_string(&w, root, "old", c->old->name);
    dit_json_put_string(&w, root, "new", c->now->name);
    dit_json_put_string(&w, root, "verdict", suite_verdict_name(suite_comparison_verdict(c), true));
    dit_json_put_bool(&w, root, "paired", c->paired);
    dit_json_put_bool(&w, root, "same_hardware", c->same_hardware);
    dit_json_put_int(&w, root, "cases", c->matched_count);
    dit_json_put_int(&w, root, "exact_numbers", c->exact_count);
    put_timings(&w, root, c);
    put_differences(&w, root, c);
    put_turned(&w, root, c);
    put_skipped(&w, root, c);
    put_cases(&w, root, "only_old", c->gone, c->gone_count);
    put_cases(&w, root, "only_new", c->added, c->added_count);
    put_circumstances(&w, root, items, count);
    return dit_json_finish(&w, root, out);
}

/* ---- Markdown ---------------------------------------------------------------------------------------------------- */

/* A cell may hold no bar and no line end. */
static void append_cell(dit_buffer *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|') dit_buffer_char(out, '\\');
        dit_buffer_char(out, *text == '\n' ? ' ' : *text);
    }
}

static void append_row(dit_buffer *out, const char *label, const char *metric, const char *before, const char *after,
                       const char *change, const char *interval, const char *forest, const char *verdict)
{
    const char *const cells[] = {label, metric, before, after, change, interval, forest, verdict};
    for (int i = 0; i < 8; i++) {
        dit_buffer_text(out, i ? " | " : "| ");
        append_cell(out, cells[i]);
    }
    dit_buffer_text(out, " |\n");
}

static suite_forest_row forest_row(const suite_timing *t)
{
    return (suite_forest_row){t->ratio.ratio, t->ratio.low, t->ratio.high};
}

static void append_timing(dit_buffer *out, const suite_timing *t, double reach)
{
    char before[REPORT_NUMBER_TEXT], after[REPORT_NUMBER_TEXT], change[REPORT_NUMBER_TEXT];
    char interval[2 * REPORT_NUMBER_TEXT];
    report_unit unit = report_metric_get(t->metric)->unit;
    report_format(unit, t->before, before);
    report_format(unit, t->after, after);
    change_text(t->ratio.ratio, change);
    interval_text(t, interval);
    char line[SUITE_FOREST_BYTES], forest[SUITE_FOREST_BYTES + 2] = "";
    const suite_forest_row row = forest_row(t);
    suite_forest_line(&row, t->margin, reach, line);
    char label[LABEL_BYTES];
    if (line[0]) snprintf(forest, sizeof forest, "`%s`", line);
    append_row(out, label_of(t->old, t->now, label), metric_name(t->metric), before, after, change, interval, forest,
               timing_word(t));
}

static void append_difference(dit_buffer *out, const suite_difference *d)
{
    char label[LABEL_BYTES];
    char before[SUITE_DIFFERENCE_TEXT], after[SUITE_DIFFERENCE_TEXT], change[REPORT_NUMBER_TEXT];
    suite_difference_texts(d, before, after);
    change_text(d->before > 0 ? d->after / d->before : NAN, change);
    append_row(out, label_of(d->old, d->now, label), d->name, before, after, change, "exact", "", difference_word(d));
}

static void append_reasons(dit_buffer *out, const suite_comparison *c)
{
    char note[NOTE_BYTES];
    for (int i = 0; i < c->timing_count; i++) {
        reason_text(&c->timings[i], note);
        if (note[0]) dit_buffer_printf(out, "\n- undecided: %s: %s", c->timings[i].now->label, note);
    }
}

static void append_comparison(dit_buffer *out, const suite_comparison *c, const suite_circumstance *items, int count)
{
    char summary[NOTE_BYTES];
    suite_comparison_summary(c, summary, sizeof summary);
    dit_buffer_printf(out, "### ditbench: %s\n\nold `%s`, new `%s`\n\n", summary, c->old->name, c->now->name);
    double reach = 0;
    for (int i = 0; i < c->timing_count; i++) {
        const suite_forest_row row = forest_row(&c->timings[i]);
        reach = fmax(reach, suite_forest_reach(&row, c->timings[i].margin));
    }
    reach = fmin(reach, log(most_drawn)); /* a wild row must not flatten the others */
    dit_buffer_text(out, "| case | metric | old | new | change | interval |");
    if (reach > 0)
        dit_buffer_printf(out, " %+.3g to %+.3g %% |", 100 * expm1(-reach), 100 * expm1(reach));
    else
        dit_buffer_text(out, " |");
    dit_buffer_text(out, " verdict |\n| --- | --- | ---: | ---: | ---: | ---: | --- | --- |\n");
    for (int i = 0; i < c->difference_count; i++) append_difference(out, &c->differences[i]);
    for (int i = 0; i < c->timing_count; i++) append_timing(out, &c->timings[i], reach);
    append_reasons(out, c);
    for (int i = 0; i < c->turned_count; i++) {
        const suite_side_case *old = c->turned[i][0], *now = c->turned[i][1];
        dit_buffer_printf(out, "\n- %s: %s before, %s now%s%s", now->label, dit_outcome_name(old->status),
                          dit_outcome_name(now->status), now->failure[0] ? ": " : "", now->failure);
    }
    if (count) dit_buffer_text(out, "\nWhat else differs, the likeliest cause first:\n\n");
    for (int i = 0; i < count && i < 10; i++)
        dit_buffer_printf(out, "- `%s`: %s → %s%s%s\n", items[i].path, items[i].old, items[i].now,
                          items[i].reason[0] ? "; " : "", items[i].reason);
}

dit_status suite_comparison_markdown(const suite_comparison *c, const suite_circumstance *items, int count,
                                     const char *path)
{
    dit_buffer text = {0};
    append_comparison(&text, c, items, count);
    const dit_file_piece piece = {text.data, text.used};
    dit_status st = text.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for a table") : dit_file_write(path, &piece, 1);
    dit_buffer_release(&text);
    return st;
}
