#include "reports/report.h"

#include "base/file.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "reports/draw/gnuplot.h"
#include "reports/draw/picture.h"
#include "reports/draw/svg.h"
#include "reports/layout/footer.h"
#include "reports/page/facts.h"
#include "reports/page/html.h"
#include "reports/records/agreement.h"
#include "reports/records/journal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { REPORT_FIGURES = 64, REPORT_CLAIMS = 512, REPORT_NARROW_PIXELS = 368 };
static const size_t report_svg_limit = (size_t)64 << 20;

/* A report being made. */
typedef struct {
    const report_options *options;
    const char *gnuplot; /* NULL: there is none */
    bool figures_alone;  /* of a size that no page has */
    char folder[REPORT_PATH];
    report_table table;
    report_drawing_result *figures;
    int figure_count;
    report_claim *claims;
    report_judgement *judgements;
    int claim_count;
    report_summary *summary;
} report_work;

/* ---- files ------------------------------------------------------------------------------------------------------- */

static dit_status write_text(const report_work *work, const char *name, const char *suffix, const dit_buffer *text)
{
    char path[REPORT_PATH + 96];
    if (text->failed) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %s%s", name, suffix);
    snprintf(path, sizeof path, "%s/%s%s", work->folder, name, suffix);
    const dit_file_piece piece = {text->data, text->used};
    return dit_file_write(path, &piece, 1);
}

static dit_status make_folder(const char *path)
{
    char part[REPORT_PATH];
    for (size_t i = 1; path[i - 1]; i++) {
        if (path[i] != '/' && path[i] != '\0') continue;
        snprintf(part, sizeof part, "%.*s", (int)i, path);
        if (mkdir(part, 0777) != 0 && errno != EEXIST) {
            return DIT_FAIL(DIT_ERR_IO, "cannot make folder %s: %s", part, strerror(errno));
        }
        if (!path[i]) break;
    }
    return DIT_OK;
}

static dit_status choose_folder(report_work *work)
{
    const report_options *options = work->options;
    const char *inside = work->figures_alone ? "report/paper" : "report";
    int length = options->output_folder ? snprintf(work->folder, REPORT_PATH, "%s", options->output_folder)
                                        : snprintf(work->folder, REPORT_PATH, "%s/%s", options->session_folder, inside);
    if (length <= 0 || length >= REPORT_PATH - 96) return DIT_FAIL(DIT_ERR_IO, "output folder: unusable path");
    return make_folder(work->folder);
}

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

/* A file name from what a record says: letters, digits, - and _ only, never the name of another file of ours. */
static void choose_id(const report_work *work, const char *wanted, char out[REPORT_ID])
{
    size_t used = 0;
    for (; *wanted && used < REPORT_ID - 8; wanted++) {
        out[used++] = isalnum((unsigned char)*wanted) || *wanted == '-' ? *wanted : '_';
    }
    if (used == 0) out[used++] = '_';
    out[used] = '\0';
    bool taken = strcmp(out, "results") == 0 || strcmp(out, "claims") == 0 || strcmp(out, "report") == 0 ||
                 strcmp(out, "published") == 0;
    for (int i = 0; i < work->figure_count; i++) taken = taken || strcmp(work->figures[i].id, out) == 0;
    if (taken) snprintf(out + used, REPORT_ID - used, "_%d", work->figure_count + 1);
}

static const char *string_member(const cJSON *object, const char *key, const char *fallback)
{
    const cJSON *item = dit_json_member(object, key);
    return cJSON_IsString(item) ? item->valuestring : fallback;
}

static void add_figure(report_work *work, const cJSON *declared, const report_figure_kind *kind)
{
    static const report_plot empty = {.id = "figure", .title = "", .x = "", .series = "", .panel = ""};
    const report_plot *fallback = kind ? &kind->defaults : &empty;
    report_drawing_result *figure = &work->figures[work->figure_count];
    figure->kind = kind;
    figure->declared = declared != NULL;
    figure->plot = (report_plot){
        .id = string_member(declared, "id", fallback->id),
        .kind = string_member(declared, "kind", kind ? kind->kind : ""),
        .title = string_member(declared, "title", fallback->title),
        .where = string_member(declared, "where", fallback->where),
        .x = string_member(declared, "x", fallback->x),
        .series = string_member(declared, "series", fallback->series),
        .panel = string_member(declared, "panel", fallback->panel),
        .axis = string_member(declared, "axis", fallback->axis),
        .best = string_member(declared, "best", fallback->best),
        .y = string_member(declared, "y", fallback->y),
        .over = string_member(declared, "over", fallback->over),
        .pair = string_member(declared, "pair", fallback->pair),
    };
    choose_id(work, figure->plot.id, figure->id);
    work->figure_count++;
}

/* The workload's plots; without any, one figure of each kind. */
static void list_figures(report_work *work)
{
    const cJSON *workload = dit_json_member(work->table.session.root, "workload");
    const cJSON *plots = dit_json_member(workload, "plots"), *plot;
    cJSON_ArrayForEach(plot, plots)
    {
        if (work->figure_count == REPORT_FIGURES) break;
        const report_figure_kind *kind = report_figure_kind_find(string_member(plot, "kind", ""));
        add_figure(work, plot, report_figure_kind_of(kind, string_member(plot, "y", NULL)));
    }
    const report_figure_kind *const *kinds = report_figure_kinds();
    for (int i = 0; cJSON_GetArraySize(plots) == 0 && kinds[i]; i++) {
        if (!kinds[i]->on_request) add_figure(work, NULL, kinds[i]);
    }
}

/* Whether the notes of the workload's authors were written for the parameters that ran. */
static bool has_noted_parameters(const cJSON *workload)
{
    const char *ran = string_member(workload, "parameters", ""), *noted = string_member(workload, "notes_for", "");
    return ran[0] && strcmp(ran, noted) == 0;
}

static void list_claims(report_work *work)
{
    const cJSON *workload = dit_json_member(work->table.session.root, "workload");
    const cJSON *expect = dit_json_member(workload, "expect"), *item;
    bool noted = has_noted_parameters(workload);
    cJSON_ArrayForEach(item, expect)
    {
        if (work->claim_count == REPORT_CLAIMS) break;
        report_claim *claim = &work->claims[work->claim_count++];
        claim->id = string_member(item, "id", "");
        claim->claim = string_member(item, "claim", claim->id);
        claim->source = string_member(item, "source", "");
        claim->expr = string_member(item, "expr", "");
        claim->requires = string_member(item, "requires", NULL);
        claim->partly = string_member(item, "partly", NULL);
        claim->because = string_member(item, "because", NULL);
        claim->noted = noted;
    }
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

static dit_status write_figure_files(const report_work *work, const report_drawing_result *figure,
                                     const report_figure_files *files)
{
    DIT_TRY(write_text(work, figure->id, ".dat", &files->data));
    DIT_TRY(write_text(work, figure->id, ".csv", &files->csv));
    return write_text(work, figure->id, ".gp", &files->script);
}

/* A title, a description and colours for dark pages, which gnuplot does not write, for FOLDER/ID.svg; the picture into
 * *out, from malloc. */
static dit_status finish_svg(const report_work *work, const report_drawing_result *figure, const char *id,
                             const report_style *style, char **out)
{
    char path[REPORT_PATH + 96], *drawn = NULL;
    size_t length = 0;
    dit_buffer description = {0}, finished = {0};
    snprintf(path, sizeof path, "%s/%s.svg", work->folder, id);
    DIT_TRY(dit_file_read(path, report_svg_limit, &drawn, &length));
    html_put_figure_text(figure, &description);
    dit_buffer_text(&description, "");
    if (!description.failed) svg_finish(drawn, figure->plot.title, description.data, style, &finished);
    dit_status st = description.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for figure %s", id)
                                       : write_text(work, id, ".svg", &finished);
    free(drawn);
    if (st == DIT_OK)
        *out = finished.data;
    else
        dit_buffer_release(&finished);
    dit_buffer_release(&description);
    return st;
}

/* Each format asked for; a page also needs SVG and PNG. */
static dit_status draw(const report_work *work, report_drawing_result *figure)
{
    const unsigned for_page = 1u << REPORT_FORMAT_svg | 1u << REPORT_FORMAT_png, asked = work->options->style.formats;
    unsigned formats = !work->figures_alone ? asked | for_page : asked ? asked : 1u << REPORT_FORMAT_pdf;
    char path[REPORT_PATH + 96];
    for (int i = 0; i < REPORT_FORMAT_COUNT; i++) {
        if (formats & 1u << i) DIT_TRY(gnuplot_run(work->gnuplot, work->folder, figure->id, report_format_names()[i]));
    }
    snprintf(path, sizeof path, "%s/%s.png", work->folder, figure->id);
    if (formats & 1u << REPORT_FORMAT_png) DIT_TRY(report_picture_check(path));
    if (!(formats & 1u << REPORT_FORMAT_svg)) return DIT_OK;
    return finish_svg(work, figure, figure->id, &work->options->style, &figure->svg);
}

/* A page on a phone shows the panels under one another, in type that one can read: ID-narrow.svg. */
static bool wants_narrow(const report_work *work, const report_drawing_result *figure)
{
    bool lanes = figure->kind->drawing == REPORT_DRAW_TIMELINE || figure->kind->drawing == REPORT_DRAW_SCHEDULE ||
                 figure->kind->drawing == REPORT_DRAW_CONTACT;
    return !work->figures_alone && !lanes && figure->width > REPORT_NARROW_PIXELS;
}

static dit_status draw_narrow(const report_work *work, report_drawing_result *figure, const char *footer)
{
    static const report_style style = {.width = 0.75 * REPORT_NARROW_PIXELS};
    report_figure_files files = {0};
    char id[REPORT_ID + 8];
    snprintf(id, sizeof id, "%s-narrow", figure->id);
    dit_status st = report_figure_compose(&figure->grid, &figure->plot, figure->kind, id, footer, &style, &files);
    if (st == DIT_OK) st = write_text(work, id, ".dat", &files.data);
    if (st == DIT_OK) st = write_text(work, id, ".gp", &files.script);
    if (st == DIT_OK) st = gnuplot_run(work->gnuplot, work->folder, id, "svg");
    if (st == DIT_OK) st = finish_svg(work, figure, id, &work->options->style, &figure->narrow);
    report_figure_files_release(&files);
    return st;
}

static dit_status compose_and_draw(const report_work *work, report_drawing_result *figure)
{
    report_figure_files files = {0};
    dit_buffer footer = {0};
    report_footer_write(&work->table, &figure->grid, figure->kind, work->options->style.bare, &footer);
    dit_status st = footer.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for figure %s", figure->id) : DIT_OK;
    if (st == DIT_OK) {
        st = report_figure_compose(&figure->grid, &figure->plot, figure->kind, figure->id, footer.data,
                                   &work->options->style, &files);
    }
    figure->width = files.width;
    if (st == DIT_OK) st = write_figure_files(work, figure, &files);
    figure->composed = st == DIT_OK;
    if (st == DIT_OK && work->gnuplot) st = draw(work, figure);
    if (st == DIT_OK && work->gnuplot && wants_narrow(work, figure)) st = draw_narrow(work, figure, footer.data);
    report_figure_files_release(&files);
    dit_buffer_release(&footer);
    return st;
}

/* A default figure earns its place: some case has the numbers, and lines need two points along x. */
static bool worth_drawing(const report_drawing_result *figure)
{
    const report_grid *grid = &figure->grid;
    bool several = figure->kind->drawing != REPORT_DRAW_LINES && figure->kind->drawing != REPORT_DRAW_ERROR;
    for (int i = 1; i < grid->count; i++) several = several || strcmp(grid->cells[i].x, grid->cells[0].x) != 0;
    return grid->drawn_count > 0 && several;
}

static dit_status make_figure(const report_work *work, report_drawing_result *figure)
{
    if (!figure->kind) return DIT_FAIL(DIT_ERR_NOT_FOUND, "no figure kind \"%.60s\"", figure->plot.kind);
    DIT_TRY(report_grid_build(&work->table, &figure->plot, figure->kind, &figure->grid));
    if (!figure->declared && !worth_drawing(figure)) return figure->left_out = true, DIT_OK;
    if (figure->grid.count == 0) return DIT_FAIL(DIT_ERR_NOT_FOUND, "nothing to draw: no case is selected");
    return compose_and_draw(work, figure);
}

/* What no other figure can go on without. */
static bool stops_the_report(dit_status st)
{
    return st == DIT_ERR_MEMORY || st == DIT_ERR_ENVIRONMENT;
}

/* Counts a figure whose files are written: drawn, left out, or without a program to draw it. */
static void count_figure(const report_work *work, report_drawing_result *figure)
{
    if (figure->left_out) return;
    if (work->gnuplot) {
        work->summary->figures++;
        return;
    }
    work->summary->figures_missing++;
    snprintf(figure->error, sizeof figure->error, "Not drawn: gnuplot is not installed.");
}

/* One line for each figure of the workload: drawn, or why not. */
static void tell_progress(const report_work *work, const report_drawing_result *figure, dit_status st)
{
    if (work->options->quiet || figure->left_out) return;
    if (st == DIT_OK)
        dit_log_info("figure %s", figure->id);
    else
        dit_log_info("figure %s is not drawn: %.300s", figure->id, dit_error_last()->message);
}

static dit_status make_figures(report_work *work)
{
    for (int i = 0; i < work->figure_count; i++) {
        report_drawing_result *figure = &work->figures[i];
        dit_status st = make_figure(work, figure);
        tell_progress(work, figure, st);
        if (stops_the_report(st)) return st;
        if (st == DIT_OK) {
            count_figure(work, figure);
            continue;
        }
        /* A filtered session may leave a declared figure without a case: said on the page, no failure. */
        bool nothing_selected = st == DIT_ERR_NOT_FOUND && figure->kind;
        work->summary->figures_failed += !nothing_selected;
        snprintf(figure->error, sizeof figure->error, "%s: %.400s", dit_status_name(st), dit_error_last()->message);
        dit_error_clear();
    }
    return DIT_OK;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static dit_status judge_claims(report_work *work)
{
    int *const counts[] = {&work->summary->claims_held, &work->summary->claims_partly, &work->summary->claims_failed,
                           &work->summary->claims_undecided};
    for (int i = 0; i < work->claim_count; i++) {
        DIT_TRY(report_claim_judge(&work->table, &work->claims[i], &work->judgements[i]));
        ++*counts[work->judgements[i].verdict];
    }
    return DIT_OK;
}

/* One row per case and metric: the long form that other tools like. */
static dit_status write_results(const report_work *work)
{
    dit_buffer csv = {0};
    dit_buffer_text(&csv, "case_id,label,evidence,status,metric,unit,better,n,median,low,high,level,low_n,min,max\n");
    for (int i = 0; i < work->table.case_count; i++) {
        const report_case *kase = &work->table.cases[i];
        for (int m = 0; m < REPORT_METRIC_COUNT; m++) {
            const report_metric_info *info = report_metric_get((report_metric)m);
            const dit_summary *s = &kase->metric[m];
            if (s->n == 0) continue;
            report_append_csv(&csv, kase->case_id);
            dit_buffer_char(&csv, ',');
            report_append_csv(&csv, kase->label);
            dit_buffer_char(&csv, ',');
            report_append_csv(&csv, kase->evidence);
            dit_buffer_printf(&csv, ",%s,%s,%s,%s,%d", dit_outcome_name(kase->status), info->name,
                              report_unit_name(info->unit), report_better_name(info->better), s->n);
            dit_buffer_printf(&csv, ",%.9g,%.9g,%.9g,%.6g,%s,%.9g,%.9g\n", s->median, s->low, s->high, s->level,
                              s->low_n ? "true" : "false", s->min, s->max);
        }
    }
    dit_status st = write_text(work, "results", ".csv", &csv);
    dit_buffer_release(&csv);
    return st;
}

/* One row per published point, with what the simulation says of the same case. */
static dit_status write_published(const report_work *work)
{
    dit_buffer csv = {0};
    if (work->table.published_count == 0) return DIT_OK;
    dit_buffer_text(&csv, "file,index,source,label,metric,published,rounding,predicted,error,in_fit,out_of_memory,"
                          "case_id,case,status,provenance,warnings\n");
    for (int i = 0; i < work->table.published_count; i++) {
        const report_published *point = &work->table.published[i];
        double predicted = report_published_predicted(point), error = report_published_error(point);
        const char *const texts[] = {point->twin ? point->twin->case_id : "", point->twin ? point->twin->label : "",
                                     point->status, point->provenance};
        report_append_csv(&csv, point->file);
        dit_buffer_printf(&csv, ",%lld,", (long long)point->index);
        report_append_csv(&csv, point->source);
        dit_buffer_char(&csv, ',');
        report_append_csv(&csv, point->kase.label);
        dit_buffer_printf(&csv, ",%s,", report_metric_get(point->metric)->name);
        if (report_published_has_value(point)) dit_buffer_printf(&csv, "%.9g", point->value);
        dit_buffer_printf(&csv, ",%.9g,", point->rounding);
        if (isfinite(predicted)) dit_buffer_printf(&csv, "%.9g", predicted);
        dit_buffer_char(&csv, ',');
        if (isfinite(error)) dit_buffer_printf(&csv, "%.6g", error);
        dit_buffer_printf(&csv, ",%s,%s", point->in_fit ? "true" : "false",
                          report_published_has_value(point) ? "false" : "true");
        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
            dit_buffer_char(&csv, ',');
            report_append_csv(&csv, texts[t]);
        }
        dit_buffer_printf(&csv, ",%d\n", point->warning_count);
    }
    dit_status st = write_text(work, "published", ".csv", &csv);
    dit_buffer_release(&csv);
    return st;
}

static void add_claim(dit_json_writer *w, const report_claim *claim, const report_judgement *judgement, cJSON *array)
{
    cJSON *row = dit_json_put_object(w, array, NULL);
    dit_json_put_string(w, row, "id", claim->id);
    dit_json_put_string(w, row, "claim", claim->claim);
    dit_json_put_string(w, row, "expr", claim->expr);
    dit_json_put_string(w, row, "verdict", report_verdict_name(judgement->verdict));
    if (judgement->simulated && judgement->compared) {
        dit_json_put_string(w, row, "reproduction", report_verdict_reproduction(judgement->verdict));
    }
    dit_json_put_string(w, row, "evidence", report_judgement_evidence(judgement));
    dit_json_put_int(w, row, "compared", judgement->compared);
    if (report_claim_shows_note(claim, judgement)) dit_json_put_string(w, row, "because", claim->because);
    dit_json_put_string(w, row, "reason", judgement->reason);
    dit_json_put_string(w, row, "numbers", judgement->numbers.data);
}

static dit_status write_claims(const report_work *work)
{
    dit_json_writer w = {0};
    char path[REPORT_PATH + 96];
    cJSON *array = dit_json_new_array(&w);
    for (int i = 0; i < work->claim_count; i++) add_claim(&w, &work->claims[i], &work->judgements[i], array);
    snprintf(path, sizeof path, "%s/claims.json", work->folder);
    if (w.status == DIT_OK) dit_json_put_status(&w, dit_json_write_file(array, path, false));
    work->summary->claims = array;
    return w.status;
}

static dit_status write_facts(const report_work *work, const report_page *page)
{
    char path[REPORT_PATH + 96];
    cJSON *facts = NULL;
    snprintf(path, sizeof path, "%s/report.json", work->folder);
    DIT_TRY(report_facts(page, &facts));
    dit_status st = dit_json_write_file(facts, path, false);
    cJSON_Delete(facts);
    return st;
}

/* The facts come last: they say that the page is there. */
static dit_status write_page(const report_work *work)
{
    dit_buffer html = {0};
    const report_page page = {&work->table,     work->figures,     work->figure_count, work->claims,
                              work->judgements, work->claim_count, work->summary,      work->options};
    report_html_write(&page, &html);
    dit_status st = write_text(work, "report", ".html", &html);
    dit_buffer_release(&html);
    return st == DIT_OK ? write_facts(work, &page) : st;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void fill_summary(report_work *work)
{
    const report_table *table = &work->table;
    report_summary *summary = work->summary;
    summary->cases = table->case_count;
    for (int i = 0; i < table->case_count; i++) summary->cases_ok += table->cases[i].status == DIT_OUTCOME_OK;
    summary->results = table->result_lines;
    summary->dropped = table->dropped_count;
    summary->complete = table->complete;
    summary->torn = table->torn;
    snprintf(summary->page, sizeof summary->page, "%.4000s%s", work->folder, work->figures_alone ? "" : "/report.html");
}

static void release(report_work *work)
{
    for (int i = 0; i < work->figure_count; i++) {
        report_grid_release(&work->figures[i].grid);
        free(work->figures[i].svg);
        free(work->figures[i].narrow);
    }
    for (int i = 0; i < work->claim_count; i++) report_judgement_release(&work->judgements[i]);
    free(work->figures);
    free(work->claims);
    free(work->judgements);
    report_table_release(&work->table);
}

static dit_status prepare(report_work *work)
{
    char journal[REPORT_PATH];
    snprintf(journal, sizeof journal, "%.4000s/journal.jsonl", work->options->session_folder);
    DIT_TRY(report_table_read(journal, &work->table));
    DIT_TRY(choose_folder(work));
    work->figures = calloc(REPORT_FIGURES, sizeof *work->figures);
    work->claims = calloc(REPORT_CLAIMS, sizeof *work->claims);
    work->judgements = calloc(REPORT_CLAIMS, sizeof *work->judgements);
    if (!work->figures || !work->claims || !work->judgements) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a report");
    list_figures(work);
    list_claims(work);
    fill_summary(work);
    return DIT_OK;
}

/* The tables and the page need no gnuplot. */
static void find_gnuplot(report_work *work)
{
    const char *program = work->options->gnuplot ? work->options->gnuplot : "gnuplot";
    if (gnuplot_check(program) == DIT_OK) work->gnuplot = program;
    dit_error_clear();
}

static dit_status make(report_work *work)
{
    DIT_TRY(prepare(work));
    find_gnuplot(work);
    if (work->figures_alone) return make_figures(work);
    DIT_TRY(judge_claims(work));
    DIT_TRY(write_results(work));
    DIT_TRY(write_published(work));
    DIT_TRY(write_claims(work));
    DIT_TRY(make_figures(work));
    return write_page(work);
}

dit_status report_write(const report_options *options, report_summary *out)
{
    report_work work = {.options = options, .figures_alone = report_style_is_paper(&options->style), .summary = out};
    *out = (report_summary){0};
    dit_status st = make(&work);
    release(&work);
    if (st != DIT_OK) report_summary_release(out);
    if (st != DIT_OK || out->figures_missing == 0) return st;
    return gnuplot_missing(options->gnuplot ? options->gnuplot : "gnuplot");
}

void report_summary_release(report_summary *summary)
{
    cJSON_Delete(summary->claims);
    summary->claims = NULL;
}
