#include "reports/page/facts.h"

#include "reports/records/agreement.h"

#include <string.h>

static dit_status add_buffer(cJSON *object, const char *key, dit_buffer *text)
{
    dit_buffer_text(text, "");
    dit_status st = text->failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for a report")
                                 : dit_json_add_string(object, key, text->data);
    dit_buffer_release(text);
    return st;
}

static dit_status add_object(cJSON *parent, const char *key, cJSON **out)
{
    *out = cJSON_AddObjectToObject(parent, key);
    return *out ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a report");
}

static dit_status add_session(const report_page *page, cJSON *out)
{
    static const struct {
        const char *key, *path;
    } texts[] = {{"session_id", "session_id"},
                 {"workload", "workload/name"},
                 {"title", "workload/title"},
                 {"started", "started"},
                 {"commit", "suite/commit"},
                 {"hardware", "hardware/cpu"},
                 {"hardware_id", "hardware/hardware_id"}};
    const cJSON *suite = cJSON_GetObjectItemCaseSensitive(page->table->session.root, "suite");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        DIT_TRY(dit_json_add_string(out, texts[i].key, report_session_text(page->table, texts[i].path)));
    }
    static const char *const said[] = {"name", "note"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const char *text = report_session_text(page->table, said[i]);
        if (text[0]) DIT_TRY(dit_json_add_string(out, said[i], text));
    }
    cJSON_AddBoolToObject(out, "dirty", cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(suite, "dirty")));
    cJSON_AddBoolToObject(out, "complete", page->table->complete);
    return DIT_OK;
}

static dit_status add_evidence(const report_page *page, cJSON *out)
{
    dit_buffer platforms = {0}, profiles = {0};
    bool simulated = html_has_simulated(page), measured = html_has_measured(page);
    const char *evidence = !simulated ? "measured" : measured ? "measured and simulated" : "simulated";
    DIT_TRY(dit_json_add_string(out, "evidence", page->table->case_count ? evidence : ""));
    cJSON_AddBoolToObject(out, "projection", html_has_projection(page));
    html_list_values(page, "platform", &platforms);
    html_list_values(page, "profile", &profiles);
    dit_status st = add_buffer(out, "platforms", &platforms), second = add_buffer(out, "profiles", &profiles);
    return st == DIT_OK ? second : st;
}

static dit_status add_counts(const report_page *page, cJSON *out)
{
    const report_summary *s = page->summary;
    const struct {
        const char *key;
        int value;
    } counts[] = {{"cases", s->cases}, {"cases_ok", s->cases_ok}, {"dropped", s->dropped}},
      claims[] = {{"holds", s->claims_held},
                  {"partly", s->claims_partly},
                  {"fails", s->claims_failed},
                  {"undecided", s->claims_undecided}};
    cJSON *object = NULL;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        DIT_TRY(dit_json_add_int(out, counts[i].key, counts[i].value));
    }
    DIT_TRY(add_object(out, "claims", &object));
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        DIT_TRY(dit_json_add_int(object, claims[i].key, claims[i].value));
    }
    return DIT_OK;
}

static dit_status add_agreement(const report_page *page, cJSON *out)
{
    report_agreement agreement;
    cJSON *object = NULL;
    html_take_agreement(page, &agreement);
    if (agreement.numbers.points == 0) return DIT_OK;
    DIT_TRY(add_object(out, "agreement", &object));
    DIT_TRY(dit_json_add_int(object, "compared", agreement.numbers.points));
    return dit_json_add_number(object, "median_error", agreement.numbers.median_error);
}

static dit_status add_figure(const report_drawing_result *figure, cJSON *array)
{
    cJSON *row = cJSON_CreateObject();
    dit_buffer text = {0};
    if (!row || !cJSON_AddItemToArray(array, row)) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a report");
    DIT_TRY(dit_json_add_string(row, "id", figure->id));
    report_figure_text(figure, &text);
    return add_buffer(row, "text", &text);
}

static dit_status add_figures(const report_page *page, cJSON *out)
{
    cJSON *array = cJSON_AddArrayToObject(out, "figures");
    if (!array) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a report");
    for (int i = 0; i < page->figure_count; i++) {
        if (page->figures[i].svg) DIT_TRY(add_figure(&page->figures[i], array));
    }
    DIT_TRY(dit_json_add_int(out, "figures_failed", page->summary->figures_failed));
    return dit_json_add_int(out, "figures_missing", page->summary->figures_missing);
}

/* What the page was made from, and by what: another journal or program makes another page. */
static dit_status add_origin(const report_page *page, cJSON *out)
{
    cJSON *journal = NULL;
    DIT_TRY(dit_json_add_string(out, "schema", "ditbench.page/1"));
    DIT_TRY(dit_json_add_string(out, "program", page->options->program ? page->options->program : ""));
    DIT_TRY(add_object(out, "journal", &journal));
    DIT_TRY(dit_json_add_int(journal, "bytes", (int64_t)page->table->journal_bytes));
    return dit_json_add_string(journal, "hash", page->table->journal_hash);
}

static dit_status fill(const report_page *page, cJSON *out)
{
    DIT_TRY(add_origin(page, out));
    DIT_TRY(add_session(page, out));
    DIT_TRY(add_evidence(page, out));
    DIT_TRY(add_counts(page, out));
    DIT_TRY(add_agreement(page, out));
    return add_figures(page, out);
}

dit_status report_facts(const report_page *page, cJSON **out)
{
    *out = cJSON_CreateObject();
    dit_status st = *out ? fill(page, *out) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a report");
    if (st == DIT_OK) return st;
    cJSON_Delete(*out);
    *out = NULL;
    return st;
}
