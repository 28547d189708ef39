/* The top of the page: what the session is and what came out, in a sentence, four numbers and a list of facts. */
#include "base/json.h"
#include "reports/page/html.h"

#include "reports/page/html_pieces.h"
#include "reports/page/html_style.h"
#include "reports/records/agreement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_GROUPS = 3, HEAD_VALUES = 8 };

void html_put_opening(const char *title, dit_buffer *out)
{
    html_put_opening_with(title, "", out);
}

void html_put_opening_with(const char *title, const char *style, dit_buffer *out)
{
    put(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
             "<meta name=\"color-scheme\" content=\"light dark\">\n<title>ditbench: ");
    put_text(out, title);
    put(out, "</title>\n<style>\n");
    put(out, html_style);
    put(out, style);
    put(out, "</style>\n</head>\n<body>\n");
}

bool html_has_simulated(const report_page *page)
{
    for (int i = 0; i < page->table->case_count; i++) {
        if (report_case_is_simulated(&page->table->cases[i])) return true;
    }
    return false;
}

bool html_has_fake(const report_page *page)
{
    bool any = false;
    for (int i = 0; i < page->table->case_count; i++) any = any || report_case_is_fake(&page->table->cases[i]);
    return any;
}

bool html_has_measured(const report_page *page)
{
    bool any = page->table->case_count == 0;
    for (int i = 0; i < page->table->case_count; i++) any = any || !report_case_is_simulated(&page->table->cases[i]);
    return any;
}

/* ---- what was simulated ------------------------------------------------------------------------------------------ */

/* The distinct values of a tag of simulated cases, separated by ", "; what exceeds `HEAD_VALUES` is counted. */
void html_list_values(const report_page *page, const char *tag, dit_buffer *out)
{
    const report_table *table = page->table;
    char value[REPORT_TAG_TEXT], other[REPORT_TAG_TEXT];
    int found = 0;
    for (int i = 0; i < table->case_count; i++) {
        const report_case *kase = &table->cases[i];
        bool known = !report_case_is_simulated(kase) || !report_case_tag(kase, tag, value, sizeof value);
        for (int k = 0; k < i && !known; k++) {
            known = report_case_is_simulated(&table->cases[k]) &&
                    report_case_tag(&table->cases[k], tag, other, sizeof other) && strcmp(value, other) == 0;
        }
        if (known) continue;
        if (found < HEAD_VALUES) dit_buffer_printf(out, "%s%s", found ? ", " : "", value);
        found++;
    }
    if (found > HEAD_VALUES) dit_buffer_printf(out, " and %d more", found - HEAD_VALUES);
    dit_buffer_text(out, "");
}

void html_put_setting(const report_page *page, const char *class, dit_buffer *out)
{
    dit_buffer platforms = {0}, profiles = {0};
    if (!html_has_simulated(page)) return;
    html_list_values(page, "platform", &platforms);
    html_list_values(page, "profile", &profiles);
    out->failed = out->failed || platforms.failed || profiles.failed;
    if (!out->failed) {
        dit_buffer_printf(out, "<p class=\"%s\">Simulated platform: <strong>", class);
        put_text(out, platforms.data[0] ? platforms.data : "not named");
        put(out, "</strong>. Software profile: <strong>");
        put_text(out, profiles.data[0] ? profiles.data : "not named");
        put(out, "</strong>.</p>\n");
    }
    dit_buffer_release(&platforms);
    dit_buffer_release(&profiles);
}

static const cJSON *profiles_of(const report_page *page)
{
    const cJSON *simulation = dit_json_member(page->table->session.root, "simulation");
    return dit_json_member(simulation, "profiles");
}

static bool is_projection(const cJSON *profile)
{
    return cJSON_IsFalse(dit_json_member(profile, "measured"));
}

bool html_has_projection(const report_page *page)
{
    const cJSON *profile;
    cJSON_ArrayForEach(profile, profiles_of(page))
    {
        if (is_projection(profile)) return true;
    }
    return false;
}

/* Software that nobody has run on a GPU: its times are a projection. */
static void put_projections(const report_page *page, dit_buffer *out)
{
    const cJSON *profile;
    cJSON_ArrayForEach(profile, profiles_of(page))
    {
        const char *title = dit_json_text_or(profile, "title", NULL);
        if (!is_projection(profile)) continue;
        put(out, "<p class=\"notice\" role=\"note\"><strong>Projection: this software has not been measured on a "
                 "GPU.</strong> Profile <code>");
        put_text(out, profile->string);
        put(out, "</code>");
        if (title) put(out, ": "), put_text(out, title);
        put(out, ".</p>\n");
    }
}

/* ---- the sentence ------------------------------------------------------------------------------------------------ */

/* The fastest case of each group, of the first HEAD_GROUPS; how many groups there are. */
static int find_fastest(const report_table *table, const report_case *fastest[HEAD_GROUPS])
{
    char group[HTML_GROUP], names[HEAD_GROUPS][HTML_GROUP];
    int groups = 0;
    for (int i = 0; i < table->case_count; i++) {
        const report_case *kase = &table->cases[i];
        if (kase->metric[REPORT_LATENCY].n == 0 || report_case_is_oracle(kase)) continue;
        html_group_of(kase, group);
        int at = 0;
        while (at < groups && strcmp(names[at], group) != 0) at++;
        if (at == HEAD_GROUPS) return HEAD_GROUPS + 1;
        if (at == groups) {
            memcpy(names[groups], group, sizeof group);
            fastest[groups++] = kase;
        }
        if (kase->metric[REPORT_LATENCY].median < fastest[at]->metric[REPORT_LATENCY].median) fastest[at] = kase;
    }
    return groups;
}

static const report_case *find_largest_speedup(const report_table *table)
{
    const report_case *best = NULL;
    for (int i = 0; i < table->case_count; i++) {
        const report_case *kase = &table->cases[i];
        if (kase->metric[REPORT_SPEEDUP].n == 0 || kase->world_size < 2) continue;
        if (!best || kase->metric[REPORT_SPEEDUP].median > best->metric[REPORT_SPEEDUP].median) best = kase;
    }
    return best;
}

/* "1024x1024 in 5.1 s on 16 ranks (u2 r2 pp4)", with the model where there are several. */
static void put_fast(const report_case *kase, bool with_model, dit_buffer *out)
{
    char number[REPORT_NUMBER_TEXT], model[REPORT_TAG_TEXT], resolution[REPORT_TAG_TEXT], mesh[REPORT_TAG_TEXT];
    report_format(REPORT_UNIT_SECONDS, kase->metric[REPORT_LATENCY].median, number);
    report_case_tag(kase, "model", model, sizeof model);
    report_case_tag(kase, "resolution", resolution, sizeof resolution);
    if (with_model || !resolution[0]) put_text(out, model[0] ? model : kase->label), put(out, " ");
    put_text(out, resolution);
    put(out, " in ");
    put_element(out, "strong", "strong", number);
    dit_buffer_printf(out, " on %lld rank%s", (long long)kase->world_size, kase->world_size == 1 ? "" : "s");
    if (kase->world_size == 1 || !report_case_tag(kase, "mesh", mesh, sizeof mesh)) return;
    put(out, " (");
    put_text(out, mesh);
    put(out, ")");
}

static bool same_model(const report_case *const *cases, int count)
{
    char first[REPORT_TAG_TEXT], other[REPORT_TAG_TEXT];
    report_case_tag(cases[0], "model", first, sizeof first);
    for (int i = 1; i < count; i++) {
        report_case_tag(cases[i], "model", other, sizeof other);
        if (strcmp(first, other) != 0) return false;
    }
    return true;
}

static void put_fastest(const report_page *page, dit_buffer *out)
{
    const report_case *fastest[HEAD_GROUPS];
    int groups = find_fastest(page->table, fastest);
    if (groups == 0 || groups > HEAD_GROUPS) return;
    bool with_model = !same_model(fastest, groups);
    put(out, " Fastest: ");
    for (int i = 0; i < groups; i++) {
        if (i) put(out, "; ");
        put_fast(fastest[i], with_model, out);
    }
    put(out, ".");
    bool low_n = false;
    for (int i = 0; i < groups; i++) low_n = low_n || fastest[i]->metric[REPORT_LATENCY].low_n;
    if (low_n) put(out, " With fewer than 6 processes a case, these times are an indication and no verdict.");
}

static void put_count(const char *word, int count, bool *any, dit_buffer *out)
{
    if (count == 0) return;
    dit_buffer_printf(out, "%s%d %s", *any ? ", " : " Claims: ", count, word);
    *any = true;
}

static void put_sentence(const report_page *page, const report_agreement *agreement, dit_buffer *out)
{
    const report_summary *s = page->summary;
    bool any = false;
    put(out, "<p class=\"lead\">");
    if (s->cases && s->cases_ok == s->cases)
        dit_buffer_printf(out, s->cases == 1 ? "The %d case ended ok." : "All %d cases ended ok.", s->cases);
    else
        dit_buffer_printf(out, "%d of %d cases ended ok.", s->cases_ok, s->cases);
    put_fastest(page, out);
    if (agreement->numbers.points) {
        dit_buffer_printf(out, " Median error to %d published point%s: <strong>%.1f %%</strong>.",
                          agreement->numbers.points, agreement->numbers.points == 1 ? "" : "s",
                          100 * agreement->numbers.median_error);
    }
    put_count(s->claims_held == 1 ? "holds" : "hold", s->claims_held, &any, out);
    put_count(s->claims_partly == 1 ? "holds in part" : "hold in part", s->claims_partly, &any, out);
    put_count(s->claims_failed == 1 ? "fails" : "fail", s->claims_failed, &any, out);
    put_count("undecided", s->claims_undecided, &any, out);
    put(out, any ? ".</p>\n" : "</p>\n");
}

/* ---- four numbers ------------------------------------------------------------------------------------------------ */

static void put_tile(dit_buffer *out, const char *number, const char *what)
{
    put(out, "<div class=\"tile\">");
    put_element(out, "b", "b", number);
    put_element(out, "span", "span", what);
    put(out, "</div>\n");
}

static void put_claims_tile(const report_summary *s, dit_buffer *out)
{
    char text[64];
    if (s->claims_held + s->claims_partly + s->claims_failed + s->claims_undecided == 0) return;
    if (s->claims_partly) {
        snprintf(text, sizeof text, "%d / %d / %d / %d", s->claims_held, s->claims_partly, s->claims_failed,
                 s->claims_undecided);
        put_tile(out, text, "claims hold / in part / fail / undecided");
        return;
    }
    snprintf(text, sizeof text, "%d / %d / %d", s->claims_held, s->claims_failed, s->claims_undecided);
    put_tile(out, text, "claims hold / fail / undecided");
}

static void put_tiles(const report_page *page, const report_agreement *agreement, dit_buffer *out)
{
    const report_summary *s = page->summary;
    const report_case *speedup = find_largest_speedup(page->table);
    char text[64], what[64];
    put(out, "<div class=\"tiles\">\n");
    snprintf(text, sizeof text, "%d of %d", s->cases_ok, s->cases);
    put_tile(out, text, "cases ok");
    if (speedup) {
        report_format(REPORT_UNIT_FACTOR, speedup->metric[REPORT_SPEEDUP].median, text);
        snprintf(what, sizeof what, "largest speedup, on %lld ranks", (long long)speedup->world_size);
        put_tile(out, text, what);
    }
    if (agreement->numbers.points) {
        snprintf(text, sizeof text, "%.1f %%", 100 * agreement->numbers.median_error);
        snprintf(what, sizeof what, "median error to %d published", agreement->numbers.points);
        put_tile(out, text, what);
    }
    put_claims_tile(s, out);
    put(out, "</div>\n");
}

/* ---- facts ------------------------------------------------------------------------------------------------------- */

static const char *state_of(const report_table *table)
{
    if (table->torn) return "not complete: the last line of the journal was cut; the lines before it count";
    if (table->complete) return "complete";
    return table->end_reason[0] ? "not complete: it ended early" : "not complete: it still runs, or was killed";
}

static bool has_external(const report_page *page)
{
    bool found = false;
    for (int i = 0; i < page->table->case_count; i++) found = found || page->table->cases[i].engine;
    return found;
}

static const char *evidence_of(const report_page *page)
{
    if (page->table->case_count == 0) return "none: no case ran";
    if (html_has_fake(page)) return "made up by the fake engine: no result";
    if (!html_has_simulated(page))
        return has_external(page) ? "measured; each row says by which engine where it is not ditbench's" : "measured";
    return html_has_measured(page) ? "measured and simulated; each row and label says which" : "simulated";
}

static void put_fact(const char *name, const char *value, dit_buffer *out)
{
    dit_buffer_printf(out, "<div><dt>%s</dt><dd>", name);
    put_text(out, value[0] ? value : "not recorded");
    put(out, "</dd></div>\n");
}

/* "x, y" of the session's list `key`, or the members of an object as "key = value". */
static void put_list(const char *name, const cJSON *list, dit_buffer *out)
{
    const cJSON *item;
    bool first = true;
    if (cJSON_GetArraySize(list) == 0) return;
    dit_buffer_printf(out, "<div><dt>%s</dt><dd>", name);
    cJSON_ArrayForEach(item, list)
    {
        char *value = cJSON_PrintUnformatted(item);
        put(out, first ? "" : ", ");
        if (item->string) put_text(out, item->string), put(out, " = ");
        put_text(out, cJSON_IsString(item) ? item->valuestring : value);
        free(value);
        first = false;
    }
    put(out, "</dd></div>\n");
}

/* What a person said of the session, and what of the workload was changed for it. */
static void put_names(const report_page *page, dit_buffer *out)
{
    const cJSON *session = page->table->session.root;
    const cJSON *workload = dit_json_member(session, "workload");
    const char *name = report_session_text(page->table, "name"), *note = report_session_text(page->table, "note");
    if (name[0]) put_fact("name", name, out);
    put_list("tags", dit_json_member(session, "tags"), out);
    if (note[0]) put_fact("note", note, out);
    put_list("parameters changed by --set", dit_json_member(workload, "set"), out);
}

static void put_facts(const report_page *page, dit_buffer *out)
{
    const report_table *table = page->table;
    const cJSON *suite = dit_json_member(table->session.root, "suite");
    bool dirty = dit_json_is_true(suite, "dirty");
    char commit[128], machine[200], hardware[256];
    snprintf(commit, sizeof commit, "%.80s%s", report_session_text(table, "suite/commit"),
             dirty ? " with uncommitted changes" : "");
    const char *id = report_session_text(table, "hardware/hardware_id");
    report_hardware_words(dit_json_member(table->session.root, "hardware"), sizeof machine, machine);
    snprintf(hardware, sizeof hardware, "%s%s%.40s", machine, machine[0] && id[0] ? ", id " : "", id);
    put(out, "<dl class=\"facts\">\n");
    put_names(page, out);
    put_fact("evidence", evidence_of(page), out);
    put_fact(html_has_measured(page) ? "hardware" : "simulated on", hardware, out);
    put_fact("commit", commit, out);
    put_fact("started", report_session_text(table, "started"), out);
    put_fact("session", report_session_text(table, "session_id"), out);
    put_fact("state", state_of(table), out);
    put(out, "</dl>\n");
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

void html_take_agreement(const report_page *page, report_agreement *out)
{
    const report_table *table = page->table;
    const report_published **points = calloc((size_t)table->published_count + 1, sizeof *points);
    *out = (report_agreement){0};
    for (int i = 0; points && i < table->published_count; i++) points[i] = &table->published[i];
    dit_status st = points ? report_agreement_of(points, table->published_count, REPORT_LATENCY, DIT_AGREEMENT_ALL, out)
                           : DIT_ERR_MEMORY;
    free(points);
    if (st != DIT_OK) *out = (report_agreement){0};
}

void html_put_head(const report_page *page, dit_buffer *out)
{
    const char *title = report_session_text(page->table, "workload/title");
    if (!title[0]) title = report_session_text(page->table, "workload/name");
    report_agreement agreement;
    html_take_agreement(page, &agreement);
    html_put_opening(title, out);
    put(out, "<header>\n");
    if (page->options->index) {
        put(out, "<nav aria-label=\"Sessions\"><a href=\"");
        put_text(out, page->options->index);
        put(out, "\">All sessions</a></nav>\n");
    }
    put_element(out, "h1", "h1", title);
    put_sentence(page, &agreement, out);
    html_put_setting(page, "setting", out);
    put_projections(page, out);
    html_put_notices(page, out);
    put_tiles(page, &agreement, out);
    put_facts(page, out);
    put(out, "</header>\n");
}
