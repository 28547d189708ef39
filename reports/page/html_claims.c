/* Verdicts on the workload's claims. */
#include "reports/page/html.h"

#include "reports/page/html_link.h"
#include "reports/page/html_table.h"

static void put_statement(html_table *table, const report_claim *claim)
{
    dit_buffer *out = table->out;
    html_cell_open(table);
    put_text(out, claim->claim);
    if (claim->source[0]) {
        put(out, "<div class=\"soft small\">");
        html_put_source(out, claim->source);
        put(out, "</div>");
    }
    put(out, "<details><summary class=\"small\">expression</summary><pre>");
    put_text(out, claim->expr);
    if (claim->requires) put(out, "\nrequires ");
    put_text(out, claim->requires);
    if (claim->partly) put(out, "\npartly ");
    put_text(out, claim->partly);
    put(out, "</pre></details>");
    html_cell_close(table);
}

static void put_numbers(html_table *table, const report_claim *claim, const report_judgement *judgement)
{
    dit_buffer *out = table->out;
    html_cell_open(table);
    if (judgement->reason[0]) put_element(out, "div", "div", judgement->reason);
    put_element(out, "pre", "pre", judgement->numbers.data);
    if (report_claim_shows_note(claim, judgement)) {
        put(out, "<div class=\"note\"><b>Authors' note for the shipped parameters:</b> ");
        put_text(out, claim->because);
        put(out, "</div>");
    }
    html_cell_close(table);
}

static void put_claim(html_table *table, const report_claim *claim, const report_judgement *judgement)
{
    html_row_open(table);
    html_cell_open(table);
    put_badge(table->out, report_verdict_name(judgement->verdict), report_judgement_word(judgement));
    html_cell_close(table);
    put_statement(table, claim);
    html_cell(table, report_judgement_evidence(judgement));
    put_numbers(table, claim, judgement);
    html_row_close(table);
}

int html_count_claims(const report_page *page)
{
    return page->claim_count;
}

void html_put_claims(const report_page *page, dit_buffer *out)
{
    static const html_column columns[] = {
        {"verdict", false, false}, {"claim", false, false}, {"evidence", false, false}, {"numbers", false, true}};
    html_table table = {.out = out, HTML_COLUMNS(columns), .header = 1};
    put(out, "<p class=\"soft\">The workload states these claims; each is judged on the records of this session alone. "
             "A verdict on measured time needs at least 6 processes for each case and must hold at both ends of every "
             "interval. Simulated time is exact; for the real machine, trust it only as far as the agreement table "
             "below. A claim counts as reproduced only where the cases that decide it were compared with published "
             "points; without such points the verdict reads \"holds (simulated)\".</p>\n");
    html_table_open(&table, "One row for each claim, with the numbers that decided it.");
    for (int i = 0; i < page->claim_count; i++) put_claim(&table, &page->claims[i], &page->judgements[i]);
    html_table_close(&table);
}
