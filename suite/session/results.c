#include "suite/session/results.h"

#include "base/stats.h"
#include "reports/records/journal.h"
#include "suite/console/quantity.h"
#include "suite/console/table.h"
#include "suite/console/terminal.h"
#include "suite/platform/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 12, TAG_BYTES = 160 };

static const char *const settings[] = {
    "program",
    "platform",
    "profile",
    "element",
    "num_frames",
    "steps",
    "num_images",
    "num_layers",
    "text_tokens",
    "guidance_scale",
    "seed",
    "tiling",
    "vae_split",
    "threads_per_rank",
    "fp8_linear",
    "offload",
    "offload_policy",
    "offload_depth",
    "resident_weights",
    "graphs",
    "engine",
    "joint_text",
    "tokens",
    "heads",
    "kv_heads",
    "head_dim",
    "batch",
    "causal",
    "layout",
    "packed",
    "true_cfg_scale",
    "inner_ring",
    "mask",
    "context_first",
    NULL,
};

static double latency_of(const report_case *kase)
{
    return kase->metric[REPORT_LATENCY].n ? kase->metric[REPORT_LATENCY].median : INFINITY;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

/* By a tag: as numbers where both are, else as words; a case without it comes first. */
static int compare_tag(const report_case *a, const report_case *b, const char *tag)
{
    char x[TAG_BYTES], y[TAG_BYTES];
    double p, q;
    if (report_case_number(a, tag, &p) && report_case_number(b, tag, &q)) return compare_numbers(p, q);
    bool has_x = report_case_tag(a, tag, x, sizeof x), has_y = report_case_tag(b, tag, y, sizeof y);
    return has_x && has_y ? strcmp(x, y) : (int)has_x - (int)has_y;
}

static double pixels_of(const report_case *kase)
{
    double width = 0, height = 0;
    return report_case_number(kase, "width_px", &width) && report_case_number(kase, "height_px", &height)
               ? width * height
               : 0;
}

static int compare_rows(const void *left, const void *right)
{
    const report_case *a = ((const suite_result *)left)->kase, *b = ((const suite_result *)right)->kase;
    int order = report_case_is_oracle(a) - report_case_is_oracle(b);
    if (!order) order = strcmp(a->evidence, b->evidence);
    if (!order) order = compare_tag(a, b, "model");
    if (!order) order = compare_numbers(pixels_of(a), pixels_of(b));
    for (int i = 0; settings[i] && !order; i++) order = compare_tag(a, b, settings[i]);
    if (!order) order = compare_numbers((double)a->world_size, (double)b->world_size);
    if (!order) order = compare_numbers(latency_of(a), latency_of(b));
    return order ? order : strcmp(a->label, b->label);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static const report_published *published_for(const report_table *table, const report_case *kase)
{
    for (int i = 0; i < table->published_count; i++) {
        const report_published *point = &table->published[i];
        if (point->twin == kase && point->metric == REPORT_LATENCY && point->kase.status == DIT_OUTCOME_OK)
            return point;
    }
    return NULL;
}

static bool is_candidate(const report_case *kase)
{
    return !report_case_is_oracle(kase) && kase->metric[REPORT_LATENCY].n > 0;
}

/* Whether two cases do the same work on equally many ranks, which makes one of them the better way to do it. */
static bool is_rival(const report_case *one, const report_case *other)
{
    return is_candidate(other) && one->world_size == other->world_size && report_case_same_work(one, other);
}

static void mark_best(suite_results *results, suite_result *row)
{
    int rivals = 0;
    row->best = is_candidate(row->kase);
    for (int i = 0; i < results->count && row->best; i++) {
        const report_case *other = results->rows[i].kase;
        if (other == row->kase || !is_rival(row->kase, other)) continue;
        rivals++;
        row->best = latency_of(other) >= latency_of(row->kase);
    }
    row->best = row->best && rivals > 0;
}

dit_status suite_results_load(const char *journal, suite_results *out)
{
    *out = (suite_results){0};
    DIT_TRY(report_table_read(journal, &out->table));
    out->rows = calloc((size_t)out->table.case_count + 1, sizeof *out->rows);
    if (!out->rows) {
        suite_results_release(out);
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the results");
    }
    out->count = out->table.case_count;
    for (int i = 0; i < out->count; i++) {
        out->rows[i].kase = &out->table.cases[i];
        out->rows[i].published = published_for(&out->table, out->rows[i].kase);
    }
    if (out->count) qsort(out->rows, (size_t)out->count, sizeof *out->rows, compare_rows);
    for (int i = 0; i < out->count; i++) mark_best(out, &out->rows[i]);
    return DIT_OK;
}

void suite_results_release(suite_results *results)
{
    report_table_release(&results->table);
    free(results->rows);
    *results = (suite_results){0};
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* What stands behind "MODEL SIZE " in a label, or all of it. */
static const char *behind_subject(const report_case *kase)
{
    char model[TAG_BYTES], size[TAG_BYTES], frames[TAG_BYTES] = "";
    const char *text = kase->label;
    if (!report_case_tag(kase, "model", model, sizeof model)) return text;
    if (!report_case_tag(kase, "resolution", size, sizeof size)) return text;
    const char *const words[] = {model, size};
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(words[i]);
        if (strncmp(text, words[i], length) != 0 || text[length] != ' ') return kase->label;
        text += length + 1;
    }
    report_case_tag(kase, "num_frames", frames, sizeof frames);
    size_t length = strlen(frames);
    bool clip = length && strncmp(text, frames, length) == 0 && strncmp(text + length, "f ", 2) == 0;
    return clip ? text + length + 2 : text;
}

/* Settings of the label ("steps=4", the profile) have columns of their own. */
void suite_result_mesh(const report_case *kase, char *out, size_t size)
{
    char profile[TAG_BYTES] = "";
    size_t used = 0;
    report_case_tag(kase, "profile", profile, sizeof profile);
    out[0] = '\0';
    for (const char *word = behind_subject(kase); *word && used < size; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        bool setting = memchr(word, '=', length) || (strlen(profile) == length && !strncmp(word, profile, length));
        if (!setting) used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? " " : "", (int)length, word);
        word += length;
    }
}

/* The first case with the model of row `index`: that model's own defaults (guidance, text length) are no comparison. */
static const report_case *first_of_model(const suite_results *results, int index)
{
    for (int i = 0; i < index; i++) {
        const report_case *other = results->rows[i].kase;
        if (!report_case_is_oracle(other) && compare_tag(other, results->rows[index].kase, "model") == 0) return other;
    }
    return results->rows[index].kase;
}

int suite_results_varying(const suite_results *results, const char **names, int most)
{
    int count = 0;
    for (int t = 0; settings[t]; t++) {
        bool varies = false;
        for (int i = 0; i < results->count && !varies; i++) {
            const report_case *kase = results->rows[i].kase;
            varies = !report_case_is_oracle(kase) && compare_tag(first_of_model(results, i), kase, settings[t]) != 0;
        }
        if (varies && count < most) names[count++] = settings[t];
    }
    return count;
}

/* ---- what all share, and what failed ----------------------------------------------------------------------------- */

static bool is_shared(const suite_results *results, const char *tag, char out[TAG_BYTES])
{
    char other[TAG_BYTES] = "";
    bool found = false;
    for (int i = 0; i < results->count; i++) {
        const report_case *kase = results->rows[i].kase;
        if (report_case_is_oracle(kase)) continue;
        if (!report_case_tag(kase, tag, found ? other : out, TAG_BYTES)) return false;
        if (found && strcmp(out, other) != 0) return false;
        found = true;
    }
    return found;
}

void suite_results_print_settings(const suite_results *results, FILE *out)
{
    static const char *const told[] = {"platform", "profile", "element", "threads_per_rank", "steps", "num_images"};
    char value[TAG_BYTES];
    int count = 0;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        if (!is_shared(results, told[i], value) || strcmp(value, "none") == 0) continue;
        fprintf(out, "%s%s %s", count++ ? ", " : "every case: ", told[i], value);
    }
    bool shared = is_shared(results, "evidence", value);
    if (count) fprintf(out, "%s%s\n", shared ? ", " : "", shared ? value : "");
}

void suite_results_print_failures(const suite_results *results, FILE *out, int most)
{
    int count = 0;
    for (int i = 0; i < results->count; i++) {
        const report_case *kase = results->rows[i].kase;
        const char *status = dit_outcome_name(kase->status), *code = kase->failure.code, *why = kase->failure.message;
        if (kase->status == DIT_OUTCOME_OK || count++ >= most) continue;
        fprintf(out, "%s%s%s  %s: %s%s%s\n", suite_colour_start(out, status), status, suite_colour_end(out, status),
                kase->label, code ? code : "", code && why ? ": " : "", why ? why : "");
    }
    if (count > most) fprintf(out, "... and %d more: ditbench show SESSION CASE\n", count - most);
}

/* ---- warnings ---------------------------------------------------------------------------------------------------- */

/* A process far slower than the others of its case; NULL text when there is none. */
static bool process_outlier(const report_case *kase, char *out, size_t size)
{
    enum { MOST_PROCESSES = 1000 };
    double values[MOST_PROCESSES];
    int64_t process[MOST_PROCESSES];
    int count = 0;
    for (int i = 0; i < kase->process_count && count < MOST_PROCESSES; i++) {
        double latency = kase->processes[i].metric[REPORT_LATENCY];
        if (kase->processes[i].status != DIT_OUTCOME_OK || !isfinite(latency)) continue;
        process[count] = kase->processes[i].process;
        values[count++] = latency;
    }
    int worst = dit_stats_outlier(values, count);
    if (worst < 0) return false;
    snprintf(out, size, "process %lld of %d took %.2g times the median", (long long)process[worst], count,
             values[worst] / dit_stats_median(values, count));
    return true;
}

static void print_warning(FILE *out, const char *text, int count, const char *where)
{
    fprintf(out, "%swarning%s: %d case%s: %s (%s)\n", suite_colour_start(out, "warning"),
            suite_colour_end(out, "warning"), count, suite_plural(count), text, where);
}

void suite_results_print_warnings(const suite_results *results, FILE *out)
{
    static const char *const kinds[] = {"busy:", "outlier:", "throttled:"};
    char text[128], found[128] = "";
    const report_case *first = NULL;
    int slow = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const report_case *example = NULL;
        int count = 0;
        for (int i = 0; i < results->count; i++) {
            const report_case *kase = results->rows[i].kase;
            if (!strstr(kase->warning, kinds[k])) continue;
            if (!count++) example = kase;
        }
        if (count) print_warning(out, strstr(example->warning, kinds[k]), count, example->label);
    }
    for (int i = 0; i < results->count; i++) {
        const report_case *kase = results->rows[i].kase;
        if (report_case_is_simulated(kase) || !process_outlier(kase, text, sizeof text)) continue;
        if (!slow++) first = kase, memcpy(found, text, sizeof found);
    }
    if (first) print_warning(out, found, slow, first->label);
}

/* ---- software ---------------------------------------------------------------------------------------------------- */

void suite_results_print_software(const cJSON *session, const char *only, const char *before, FILE *out)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, dit_json_member(dit_json_member(session, "simulation"), "profiles"))
    {
        bool measured = dit_json_is_true(one, "measured");
        if (only && strcmp(only, one->string) != 0) continue;
        fprintf(out, "%ssoftware %s (simulated)%s%s\n", before, one->string, measured ? "" : "; ",
                measured ? "" : SUITE_PROFILE_PROJECTION);
    }
}

/* ---- the fastest ------------------------------------------------------------------------------------------------- */

/* Whether no case that does the same work, on any number of ranks, is faster; of equals the first. */
static bool is_fastest(const suite_results *results, int index)
{
    const report_case *kase = results->rows[index].kase;
    if (!is_candidate(kase)) return false;
    for (int i = 0; i < results->count; i++) {
        const report_case *other = results->rows[i].kase;
        if (i == index || !is_candidate(other) || !report_case_same_work(kase, other)) continue;
        if (latency_of(other) < latency_of(kase) || (latency_of(other) == latency_of(kase) && i < index)) return false;
    }
    return true;
}

static void speedup_text(const report_case *kase, char out[64])
{
    const dit_summary *speedup = &kase->metric[REPORT_SPEEDUP];
    out[0] = '\0';
    if (kase->world_size == 1)
        snprintf(out, 64, "one rank");
    else if (speedup->n)
        snprintf(out, 64, "%.3g times as fast as one rank", speedup->median);
}

static dit_status add_fastest(suite_table *table, const report_case *kase, const suite_quantity *unit,
                              const char *const *varying, int count)
{
    char text[256], latency[REPORT_NUMBER_TEXT], software[64];
    DIT_TRY(suite_table_add_row(table));
    report_case_tag(kase, "model", text, sizeof text);
    DIT_TRY(suite_table_set(table, 0, text));
    report_case_tag(kase, "resolution", text, sizeof text);
    DIT_TRY(suite_table_set(table, 1, text));
    for (int i = 0; i < count; i++) {
        if (report_case_tag(kase, varying[i], text, sizeof text)) DIT_TRY(suite_table_set(table, 2 + i, text));
    }
    suite_result_mesh(kase, text, sizeof text);
    DIT_TRY(suite_table_set(table, 2 + count, text));
    snprintf(text, sizeof text, "%lld", (long long)kase->world_size);
    DIT_TRY(suite_table_set(table, 3 + count, text));
    suite_quantity_format(unit, kase->metric[REPORT_LATENCY].median, latency);
    snprintf(text, sizeof text, "%s %s", latency, unit->symbol);
    if (report_case_is_simulated(kase)) {
        report_case_tag(kase, "profile", software, sizeof software);
        snprintf(text, sizeof text, "%s %s simulated (%s)", latency, unit->symbol, software);
    }
    DIT_TRY(suite_table_set(table, 4 + count, text));
    speedup_text(kase, text);
    return suite_table_set(table, 5 + count, text);
}

/* "6 cases skipped", "2 cases out of memory". */
static void print_statuses(const suite_results *results, FILE *out)
{
    static const char *const words[DIT_OUTCOME_COUNT] = {
        [DIT_OUTCOME_FAILED] = "failed",   [DIT_OUTCOME_TIMEOUT] = "timed out",     [DIT_OUTCOME_OOM] = "out of memory",
        [DIT_OUTCOME_SKIPPED] = "skipped", [DIT_OUTCOME_INVALID] = "wrong numbers",
    };
    for (int status = 0; status < DIT_OUTCOME_COUNT; status++) {
        int count = 0;
        const report_case *first = NULL;
        for (int i = 0; i < results->count; i++) {
            const report_case *kase = results->rows[i].kase;
            if ((int)kase->status != status) continue;
            if (!count++) first = kase;
        }
        if (!words[status] || !count) continue;
        fprintf(out, "%s%s%s: %d case%s: %s%s\n", suite_colour_start(out, dit_outcome_name((dit_outcome)status)),
                words[status], suite_colour_end(out, dit_outcome_name((dit_outcome)status)), count, suite_plural(count),
                first->label, count > 1 ? ", ..." : "");
    }
}

dit_status suite_results_print_fastest(const suite_results *results, FILE *out, int width)
{
    enum { MOST_VARYING = 4 };
    const char *varying[MOST_VARYING];
    suite_quantity unit = {0};
    int count = suite_results_varying(results, varying, MOST_VARYING), shown = 0;
    suite_column columns[6 + MOST_VARYING] = {{"model", "model", true, 0}, {"size", "size", true, 0}};
    const suite_column rest[] = {{"fastest", "fastest", true, 0},
                                 {"ranks", "ranks", false, 0},
                                 {"latency", "latency", false, 0},
                                 {"speedup", "", true, 0}};
    for (int i = 0; i < count; i++) columns[2 + i] = (suite_column){varying[i], varying[i], true, 1 + i};
    for (int i = 0; i < 4; i++) columns[2 + count + i] = rest[i];
    suite_table table = {.columns = columns, .column_count = 6 + count};
    dit_status st = DIT_OK;
    for (int i = 0; i < results->count; i++)
        if (is_fastest(results, i)) suite_quantity_see(&unit, latency_of(results->rows[i].kase));
    suite_quantity_choose(&unit, REPORT_UNIT_SECONDS);
    for (int i = 0; i < results->count && st == DIT_OK; i++)
        if (is_fastest(results, i) && shown++ < MOST_LINES)
            st = add_fastest(&table, results->rows[i].kase, &unit, varying, count);
    if (st == DIT_OK && table.row_count) suite_table_print(&table, out, width);
    if (shown > MOST_LINES) fprintf(out, "... and %d more: ditbench show\n", shown - MOST_LINES);
    print_statuses(results, out);
    suite_results_print_warnings(results, out);
    suite_table_release(&table);
    return st;
}
