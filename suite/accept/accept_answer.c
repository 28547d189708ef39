#include "suite/accept/accept_answer.h"

#include "suite/console/table.h"
#include "suite/procure/answer.h"

#include <math.h>
#include <stdlib.h>

static void put_case(dit_json_writer *w, cJSON *list, const suite_accepted_case *one)
{
    const dit_summary *measured = &one->measured->metric[REPORT_LATENCY];
    cJSON *row = dit_json_put_object(w, list, NULL);
    dit_json_put_string(w, row, "label", one->measured->label);
    dit_json_put_string(w, row, "case_id", one->measured->case_id);
    dit_json_put_string(w, row, "verdict", suite_accept_verdict_name(one->verdict));
    dit_json_put_string(w, row, "scope", one->scope);
    cJSON *latency = dit_json_put_object(w, row, "measured_s");
    dit_json_put_number(w, latency, "value", measured->median);
    dit_json_put_number(w, latency, "lo", measured->low);
    dit_json_put_number(w, latency, "hi", measured->high);
    dit_json_put_int(w, latency, "processes", measured->n);
    if (one->why[0]) dit_json_put_string(w, row, "why", one->why);
    if (!one->chosen) return;
    const suite_forecast *forecast = &one->forecast;
    cJSON *predicted = dit_json_put_object(w, row, "predicted_s");
    dit_json_put_number(w, predicted, "value", forecast->seconds);
    dit_json_put_string(w, predicted, "case_id", one->chosen->kase->case_id);
    if (!forecast->has_interval) return;
    dit_json_put_number(w, predicted, "lo", forecast->low);
    dit_json_put_number(w, predicted, "hi", forecast->high);
    dit_json_put_number(w, predicted, "level", forecast->interval.level);
    dit_json_put_bool(w, predicted, "extrapolated", forecast->interval.extrapolated);
}

void suite_accepted_put(dit_json_writer *w, cJSON *document, const suite_procure_request *request,
                        const suite_accepted *accepted)
{
    dit_json_put_string(w, document, "schema", "ditbench.accept/1");
    dit_json_put_string(w, document, "session", dit_json_text_or(accepted->table.session.root, "session_id", ""));
    dit_json_put_string(w, document, "platform", request->machines[0].priced.machine.name);
    dit_json_put_string(w, document, "profile", request->search.profile);
    cJSON *list = dit_json_put_array(w, document, "cases");
    for (int i = 0; i < accepted->count; i++) put_case(w, list, &accepted->cases[i]);
    cJSON *counts = dit_json_put_object(w, document, "verdicts");
    for (int i = 0; i < SUITE_ACCEPT_COUNT; i++)
        dit_json_put_int(w, counts, suite_accept_verdict_name((suite_accept_verdict)i), accepted->verdicts[i]);
}

/* ---- for a person ------------------------------------------------------------------------------------------------------- */

enum { LABEL, SCOPE, MEASURED, RANGE, PREDICTED, INTERVAL, LEVEL, VERDICT, WHY, COLUMNS, CELL = 64 };
static const suite_column columns[COLUMNS] = {
    [LABEL] = {"label", "case", true, 0},
    [SCOPE] = {"scope", "scope", true, 1},
    [MEASURED] = {"measured_s", "measured s", false, 0},
    [RANGE] = {"measured_interval_s", "lo..hi", true, 1},
    [PREDICTED] = {"predicted_s", "predicted s", false, 0},
    [INTERVAL] = {"predicted_interval_s", "lo..hi", true, 0},
    [LEVEL] = {"level", "level", false, 1},
    [VERDICT] = {"verdict", "verdict", true, 0},
    [WHY] = {"why", "why", true, 2},
};

static dit_status add_case(suite_table *table, const suite_accepted_case *one)
{
    char text[COLUMNS][CELL] = {{0}};
    const char *cells[COLUMNS];
    const dit_summary *measured = &one->measured->metric[REPORT_LATENCY];
    const suite_forecast *forecast = &one->forecast;
    for (int i = 0; i < COLUMNS; i++) cells[i] = text[i];
    cells[LABEL] = one->measured->label;
    cells[SCOPE] = one->scope;
    snprintf(text[MEASURED], CELL, "%.4g", measured->median);
    snprintf(text[RANGE], CELL, "%.4g..%.4g", measured->low, measured->high);
    if (one->chosen) snprintf(text[PREDICTED], CELL, "%.4g", forecast->seconds);
    if (forecast->has_interval) snprintf(text[INTERVAL], CELL, "%.3g..%.3g", forecast->low, forecast->high);
    if (forecast->has_interval)
        snprintf(text[LEVEL], CELL, "%.0f %%%s", 100 * forecast->interval.level,
                 forecast->interval.extrapolated ? ", extrapolated" : "");
    cells[VERDICT] = suite_accept_verdict_name(one->verdict);
    cells[WHY] = one->why;
    return suite_table_add_cells(table, cells, COLUMNS);
}

dit_status suite_accepted_print(const suite_procure_request *request, const suite_accepted *accepted, FILE *out,
                                int width)
{
    suite_table table = {.columns = columns, .column_count = COLUMNS};
    const int *verdicts = accepted->verdicts;
    dit_status st = DIT_OK;
    fprintf(out, "measured: %s; promised: %s, simulated with %s\n\n",
            dit_json_text_or(accepted->table.session.root, "session_id", ""), request->machines[0].priced.machine.name,
            request->search.profile);
    for (int i = 0; st == DIT_OK && i < accepted->count; i++) st = add_case(&table, &accepted->cases[i]);
    if (st == DIT_OK) suite_table_print(&table, out, width);
    suite_table_release(&table);
    DIT_TRY(st);
    fprintf(out, "\n%d of %d cases within their interval, %d faster, %d slower, %d at its edge, %d without one.\n",
            verdicts[SUITE_ACCEPT_WITHIN], accepted->count, verdicts[SUITE_ACCEPT_FASTER],
            verdicts[SUITE_ACCEPT_SLOWER], verdicts[SUITE_ACCEPT_EDGE], verdicts[SUITE_ACCEPT_UNKNOWN]);
    if (verdicts[SUITE_ACCEPT_SLOWER])
        fprintf(out, "The machine is slower than %s was promised to be, if the software is %s: compare that first.\n",
                request->machines[0].priced.machine.name, request->search.profile);
    return DIT_OK;
}
