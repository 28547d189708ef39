#include "reports/page/facts.h"

#include "base/json_writer.h"
#include "reports/records/agreement.h"

#include <string.h>

static void add_buffer(dit_json_writer *w, cJSON *object, const char *key, dit_buffer *text)
{
    dit_buffer_text(text, "");
    if (text->failed)
        dit_json_put_status(w, DIT_FAIL(DIT_ERR_MEMORY, "no memory for a report"));
    else
        dit_json_put_string(w, object, key, text->data);
    dit_buffer_release(text);
}

static void add_session(dit_json_writer *w, const report_page *page, cJSON *out)
{
    static const struct {
        const char *key, *path;
    } texts[] = {{"session_id", "session_id"}, {"workload", "workload/name"}, {"title", "workload/title"},
                 {"started", "started"},       {"commit", "suite/commit"},    {"hardware_id", "hardware/hardware_id"}};
    const cJSON *suite = dit_json_member(page->table->session.root, "suite");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        dit_json_put_string(w, out, texts[i].key, report_session_text(page->table, texts[i].path));
    }
    char machine[256];
    report_hardware_words(dit_json_member(page->table->session.root, "hardware"), sizeof machine, machine);
    dit_json_put_string(w, out, "hardware", machine);
    static const char *const said[] = {"name", "note"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const char *text = report_session_text(page->table, said[i]);
        if (text[0]) dit_json_put_string(w, out, said[i], text);
    }
    dit_json_put_bool(w, out, "dirty", dit_json_is_true(suite, "dirty"));
    dit_json_put_bool(w, out, "complete", page->table->complete);
}

static void add_evidence(dit_json_writer *w, const report_page *page, cJSON *out)
{
    dit_buffer platforms = {0}, profiles = {0};
    bool simulated = html_has_simulated(page), measured = html_has_measured(page);
    const char *evidence = !simulated ? "measured" : measured ? "measured and simulated" : "simulated";
    if (html_has_fake(page)) evidence = DIT_EVIDENCE_FAKE;
    dit_json_put_string(w, out, "evidence", page->table->case_count ? evidence : "");
    dit_json_put_bool(w, out, "projection", html_has_projection(page));
    html_list_values(page, "platform", &platforms);
    html_list_values(page, "profile", &profiles);
    add_buffer(w, out, "platforms", &platforms);
    add_buffer(w, out, "profiles", &profiles);
}

static void add_counts(dit_json_writer *w, const report_page *page, cJSON *out)
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
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        dit_json_put_int(w, out, counts[i].key, counts[i].value);
    }
    cJSON *object = dit_json_put_object(w, out, "claims");
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        dit_json_put_int(w, object, claims[i].key, claims[i].value);
    }
}

static void add_agreement(dit_json_writer *w, const report_page *page, cJSON *out)
{
    report_agreement agreement;
    html_take_agreement(page, &agreement);
    if (agreement.numbers.points == 0) return;
    cJSON *object = dit_json_put_object(w, out, "agreement");
    dit_json_put_int(w, object, "compared", agreement.numbers.points);
    dit_json_put_number(w, object, "median_error", agreement.numbers.median_error);
}

static void add_figure(dit_json_writer *w, const report_drawing_result *figure, cJSON *array)
{
    cJSON *row = dit_json_put_object(w, array, NULL);
    dit_buffer text = {0};
    dit_json_put_string(w, row, "id", figure->id);
    report_figure_text(figure, &text);
    add_buffer(w, row, "text", &text);
}

static void add_figures(dit_json_writer *w, const report_page *page, cJSON *out)
{
    cJSON *array = dit_json_put_array(w, out, "figures");
    for (int i = 0; i < page->figure_count; i++) {
        if (page->figures[i].svg) add_figure(w, &page->figures[i], array);
    }
    dit_json_put_int(w, out, "figures_failed", page->summary->figures_failed);
    dit_json_put_int(w, out, "figures_missing", page->summary->figures_missing);
}

/* What the page was made from, and by what: another journal or program makes another page. */
static void add_origin(dit_json_writer *w, const report_page *page, cJSON *out)
{
    dit_json_put_string(w, out, "schema", "ditbench.page/1");
    dit_json_put_string(w, out, "program", page->options->program ? page->options->program : "");
    cJSON *journal = dit_json_put_object(w, out, "journal");
    dit_json_put_int(w, journal, "bytes", (int64_t)page->table->journal_bytes);
    dit_json_put_string(w, journal, "hash", page->table->journal_hash);
}

dit_status report_facts(const report_page *page, cJSON **out)
{
    dit_json_writer w = {0};
    cJSON *facts = dit_json_new_object(&w);
    add_origin(&w, page, facts);
    add_session(&w, page, facts);
    add_evidence(&w, page, facts);
    add_counts(&w, page, facts);
    add_agreement(&w, page, facts);
    add_figures(&w, page, facts);
    return dit_json_finish(&w, facts, out);
}
