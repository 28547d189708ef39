/* ditbench selftest: how often the decision rules of compare, ab and nightly series are wrong, and how often they find.
 */
#include "base/json_writer.h"
#include "suite/console/cli.h"
#include "suite/console/table.h"
#include "suite/console/terminal.h"
#include "suite/selftest/overhead.h"
#include "suite/selftest/selftest.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>

static const char purpose[] =
    "Tries the rules that say slower, faster, same or undecided on made-up times whose truth is known, and prints how\n"
    "often they raise a false alarm and how often they find a change. The functions are those that judge real times; "
    "the\n"
    "noise is log-normal. A seed repeats the answer to the last digit. --overhead measures what the harness itself "
    "costs,\n"
    "with an engine that computes nothing.\n"
    "Exit: 0 every target is met; 1 one is missed by more than chance explains.";
static const char examples[] = "ditbench selftest\n"
                               "ditbench selftest --trials 10000 --seed 7 --json\n"
                               "ditbench selftest --between 3 --within 2";

enum { MOST_TRIALS = 1000000, TEXT = 64 };

typedef struct {
    suite_cli cli;
    int64_t trials, seed, iterations;
    double between, within, outliers, outlier_size, drift, neighbours, neighbour_size; /* per cent */
    double neighbour_stay;                                                             /* in processes */
    suite_selftest_params params;
    suite_selftest_row rows[SUITE_SELFTEST_MOST_ROWS];
    int count, missed;
    const char *engine;
    bool measures; /* the overhead */
    suite_overhead overhead;
} selftest_call;

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

static dit_status read_share(const char *option, double percent, double *out)
{
    if (!(percent >= 0 && percent <= 100))
        return DIT_FAIL(DIT_ERR_USAGE, "--%s %g is no percentage from 0 to 100", option, percent);
    *out = percent / 100;
    return DIT_OK;
}

static dit_status read_params(selftest_call *call)
{
    suite_noise *noise = &call->params.noise;
    DIT_TRY(read_share("between", call->between, &noise->between));
    DIT_TRY(read_share("within", call->within, &noise->within));
    DIT_TRY(read_share("outliers", call->outliers, &noise->outliers));
    DIT_TRY(read_share("outlier-size", call->outlier_size, &noise->outlier_size));
    DIT_TRY(read_share("drift", call->drift, &noise->drift));
    DIT_TRY(read_share("neighbours", call->neighbours, &noise->neighbours));
    DIT_TRY(read_share("neighbour-size", call->neighbour_size, &noise->neighbour_size));
    if (!(noise->neighbours > 0 && noise->neighbours < 1))
        return DIT_FAIL(DIT_ERR_USAGE, "--neighbours %g is no percentage above 0 and below 100", call->neighbours);
    if (!(call->neighbour_stay >= 0.01 && call->neighbour_stay <= 1e6))
        return DIT_FAIL(DIT_ERR_USAGE, "--neighbour-stay %g is no number of processes from 0.01 to 1e6",
                        call->neighbour_stay);
    noise->neighbour_stay = call->neighbour_stay;
    noise->iterations = (int)call->iterations;
    call->params.seed = (uint64_t)call->seed;
    call->params.trials = (int)call->trials;
    return DIT_OK;
}

/* ---- answering --------------------------------------------------------------------------------------------------- */

static void percent_or_count(const suite_selftest_row *row, double value, char out[TEXT])
{
    snprintf(out, TEXT, row->per > 1 ? "%.3f" : "%.1f %%", row->per > 1 ? value : 100 * value);
}

/* "<= 1.0 %"; "" without a target. */
static void target_text(const suite_selftest_row *row, char out[TEXT])
{
    char limit[TEXT - 3];
    out[0] = '\0';
    if (!row->has_target) return;
    snprintf(limit, sizeof limit, row->per > 1 ? "%g" : "%g %%", row->per > 1 ? row->target : 100 * row->target);
    snprintf(out, TEXT, "%s %s", row->at_least ? ">=" : "<=", limit);
}

static dit_status add_row(suite_table *table, const suite_selftest_row *row)
{
    char rate[TEXT], low[TEXT], high[TEXT], target[TEXT], interval[2 * TEXT + 8], effort[TEXT] = "";
    percent_or_count(row, row->rate, rate);
    percent_or_count(row, row->low, low);
    percent_or_count(row, row->high, high);
    snprintf(interval, sizeof interval, "%s to %s", low, high);
    target_text(row, target);
    if (row->effort_unit) snprintf(effort, sizeof effort, "%.1f %s", row->effort, row->effort_unit);
    const char *const cells[] = {row->name, row->counted, rate,
                                 interval,  target,       !row->has_target ? "" : row->missed ? "missed" : "ok",
                                 effort,    row->meaning};
    return suite_table_add_cells(table, cells, (int)(sizeof cells / sizeof *cells));
}

static void print_overhead(const suite_overhead *overhead)
{
    const double ms = 1e3;
    printf("the harness takes %.2f ms of processor time while a case runs for 1 s (%d cases): %.3f %%, target <= %g "
           "%%: %s\n"
           "between two cases %.1f ms pass (journal, folders); starting and ending an empty engine takes %.1f ms (%d "
           "cases)\n",
           overhead->taken_s * ms, overhead->long_cases, 100 * overhead->taken_s, 100 * SUITE_OVERHEAD_MOST,
           overhead->missed ? "missed" : "ok", overhead->between_s * ms, overhead->launch_s * ms,
           overhead->empty_cases);
}

static dit_status print_text(const selftest_call *call)
{
    static const suite_column columns[] = {
        {"scenario", "scenario", true, 0},  {"counted", "what is counted", true, 0},  {"rate", "rate", false, 0},
        {"interval", "95 %", false, 2},     {"target", "target", false, 0},           {"verdict", "", true, 0},
        {"effort", "on average", false, 3}, {"meaning", "scenario in words", true, 4}};
    suite_table table = {.columns = columns, .column_count = sizeof columns / sizeof *columns};
    dit_status st = DIT_OK;
    for (int i = 0; st == DIT_OK && i < call->count; i++) st = add_row(&table, &call->rows[i]);
    if (st == DIT_OK) suite_table_print(&table, stdout, suite_terminal_width(stdout));
    suite_table_release(&table);
    if (st != DIT_OK) return st;
    const suite_noise *noise = &call->params.noise;
    printf("%d trials a row, seed %lld; %g %% between processes, %g %% within, %d iterations; outliers %g %% of "
           "processes, "
           "slower by %g %%; drift %g %%\n"
           "neighbours are here %g %% of the time, for %g processes at a time, and make all slower by %g %%\n",
           call->params.trials, (long long)call->seed, 100 * noise->between, 100 * noise->within, noise->iterations,
           100 * noise->outliers, 100 * noise->outlier_size, 100 * noise->drift, 100 * noise->neighbours,
           noise->neighbour_stay, 100 * noise->neighbour_size);
    if (call->measures) print_overhead(&call->overhead);
    if (call->missed) printf("%d target%s missed\n", call->missed, call->missed == 1 ? " is" : "s are");
    return DIT_OK;
}

static void add_overhead(dit_json_writer *w, cJSON *root, const suite_overhead *overhead)
{
    cJSON *object = dit_json_put_object(w, root, "overhead");
    dit_json_put_int(w, object, "long_cases", overhead->long_cases);
    dit_json_put_int(w, object, "empty_cases", overhead->empty_cases);
    dit_json_put_number(w, object, "taken_s", overhead->taken_s);
    dit_json_put_number(w, object, "at_most", SUITE_OVERHEAD_MOST);
    dit_json_put_bool(w, object, "missed", overhead->missed);
    dit_json_put_number(w, object, "between_s", overhead->between_s);
    dit_json_put_number(w, object, "launch_s", overhead->launch_s);
}

static void add_noise(dit_json_writer *w, cJSON *root, const suite_noise *noise)
{
    cJSON *object = dit_json_put_object(w, root, "noise");
    dit_json_put_number(w, object, "between", noise->between);
    dit_json_put_number(w, object, "within", noise->within);
    dit_json_put_int(w, object, "iterations", noise->iterations);
    dit_json_put_number(w, object, "outliers", noise->outliers);
    dit_json_put_number(w, object, "outlier_size", noise->outlier_size);
    dit_json_put_number(w, object, "drift", noise->drift);
    dit_json_put_number(w, object, "neighbours", noise->neighbours);
    dit_json_put_number(w, object, "neighbour_size", noise->neighbour_size);
    dit_json_put_number(w, object, "neighbour_stay", noise->neighbour_stay);
}

static void add_verdicts(dit_json_writer *w, cJSON *object, const suite_selftest_row *row)
{
    int sum = 0;
    for (int v = 0; v < SUITE_VERDICT_COUNT; v++) sum += row->verdicts[v];
    cJSON *verdicts = sum ? dit_json_put_object(w, object, "verdicts") : NULL;
    for (int v = 0; verdicts && v < SUITE_VERDICT_COUNT; v++)
        dit_json_put_int(w, verdicts, suite_verdict_name((suite_verdict)v, true), row->verdicts[v]);
}

static void add_json_row(dit_json_writer *w, cJSON *list, const suite_selftest_row *row)
{
    cJSON *object = dit_json_put_object(w, list, NULL);
    dit_json_put_string(w, object, "scenario", row->name);
    dit_json_put_string(w, object, "counted", row->counted);
    dit_json_put_string(w, object, "meaning", row->meaning);
    dit_json_put_int(w, object, "count", row->count);
    dit_json_put_int(w, object, "chances", row->chances);
    dit_json_put_number(w, object, "rate", row->rate);
    dit_json_put_number(w, object, "low", row->low);
    dit_json_put_number(w, object, "high", row->high);
    if (row->has_target) dit_json_put_number(w, object, row->at_least ? "at_least" : "at_most", row->target);
    if (row->has_target) dit_json_put_bool(w, object, "missed", row->missed);
    if (row->effort_unit) dit_json_put_number(w, object, row->effort_unit, row->effort);
    add_verdicts(w, object, row);
}

static dit_status print_json(const selftest_call *call)
{
    dit_json_writer w = {0};
    cJSON *document, *root = dit_json_new_object(&w);
    dit_json_put_int(&w, root, "seed", call->seed);
    dit_json_put_int(&w, root, "trials", call->trials);
    add_noise(&w, root, &call->params.noise);
    cJSON *rows = dit_json_put_array(&w, root, "rows");
    for (int i = 0; i < call->count; i++) add_json_row(&w, rows, &call->rows[i]);
    if (call->measures) add_overhead(&w, root, &call->overhead);
    dit_json_put_int(&w, root, "missed", call->missed);
    dit_json_put_int(&w, root, "exit_code", call->missed ? DIT_EXIT_GATE : DIT_EXIT_OK);
    DIT_TRY(dit_json_finish(&w, root, &document));
    suite_cli_print_json("selftest", document);
    cJSON_Delete(document);
    return DIT_OK;
}

static dit_status run(selftest_call *call)
{
    DIT_TRY(read_params(call));
    if (call->measures) DIT_TRY(suite_overhead_measure(call->engine, &call->overhead));
    call->missed = call->overhead.missed;
    DIT_TRY(suite_selftest_run(&call->params, call->rows, &call->count));
    for (int i = 0; i < call->count; i++) call->missed += call->rows[i].missed;
    return call->cli.json ? print_json(call) : print_text(call);
}

int suite_verb_selftest(int argc, char **argv)
{
    const suite_noise *usual = &suite_selftest_noise;
    selftest_call call = {.trials = 1000,
                          .seed = 1,
                          .iterations = usual->iterations,
                          .between = 100 * usual->between,
                          .within = 100 * usual->within,
                          .outliers = 100 * usual->outliers,
                          .outlier_size = 100 * usual->outlier_size,
                          .drift = 100 * usual->drift,
                          .neighbours = 100 * usual->neighbours,
                          .neighbour_size = 100 * usual->neighbour_size,
                          .neighbour_stay = usual->neighbour_stay};
    const suite_option options[] = {
        {"trials", 'n', SUITE_OPTION_INT, "N", "trials of each row (1000)", &call.trials, 1, MOST_TRIALS},
        {"seed", 0, SUITE_OPTION_INT, "N", "of all random numbers (1)", &call.seed, 0, INT64_C(9007199254740991)},
        {"between", 0, SUITE_OPTION_NUMBER, "PERCENT", "standard deviation between processes (1)", &call.between, 0, 0},
        {"within", 0, SUITE_OPTION_NUMBER, "PERCENT", "standard deviation between iterations (0.5)", &call.within, 0,
         0},
        {"iterations", 0, SUITE_OPTION_INT, "N", "of a process (10)", &call.iterations, 1, SUITE_NOISE_MOST_ITERATIONS},
        {"outliers", 0, SUITE_OPTION_NUMBER, "PERCENT", "processes that are disturbed (5)", &call.outliers, 0, 0},
        {"outlier-size", 0, SUITE_OPTION_NUMBER, "PERCENT", "by how much on average (5)", &call.outlier_size, 0, 0},
        {"drift", 0, SUITE_OPTION_NUMBER, "PERCENT", "of the machine, where a row has one (3)", &call.drift, 0, 0},
        {"neighbours", 0, SUITE_OPTION_NUMBER, "PERCENT",
         "of the time that neighbours are here, where a row has them (50)", &call.neighbours, 0, 0},
        {"neighbour-size", 0, SUITE_OPTION_NUMBER, "PERCENT", "by how much all is slower then, on average (30)",
         &call.neighbour_size, 0, 0},
        {"neighbour-stay", 0, SUITE_OPTION_NUMBER, "N", "how long they stay on average, in processes (3)",
         &call.neighbour_stay, 0, 0},
        {"overhead", 0, SUITE_OPTION_FLAG, NULL, "measure what the harness itself costs, too (ten seconds)",
         &call.measures, 0, 0},
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "the fake engine (build/tests/ditbench-engine-fake)", &call.engine,
         0, 0},
        {0},
    };
    const suite_cli_spec spec = {"selftest", NULL, purpose, examples, options, 0, 0};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    dit_status st = run(&call);
    code = st != DIT_OK ? suite_cli_fail(&call.cli, st) : call.missed ? DIT_EXIT_GATE : DIT_EXIT_OK;
    suite_cli_release(&call.cli);
    return code;
}
