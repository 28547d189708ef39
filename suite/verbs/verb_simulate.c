/* ditbench simulate: published numbers as cases for the simulator, and how near it comes. */
#include "base/clock.h"
#include "base/expr.h"
#include "base/json_writer.h"
#include "base/words.h"
#include "suite/catalogue/catalogue.h"
#include "suite/console/cli.h"
#include "suite/console/progress.h"
#include "suite/paths.h"
#include "suite/platform/profile.h"
#include "suite/published/contradictions.h"
#include "suite/simulate/point_variables.h"
#include "suite/simulate/points_groups.h"
#include "suite/simulate/prediction_cache.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char purpose[] =
    "Takes published numbers, makes each that says enough into a case on the machine it was measured on, simulates it\n"
    "and compares: error is predicted / published - 1. A point is skipped, with a code and the reason, when it is no\n"
    "time of a denoising loop, names a model, machine or method that is not here, or leaves out its size, steps or\n"
    "degrees. \"hybrid\" without degrees is the best of all legal meshes of cfg, pipefusion, ring and ulysses. "
    "Sources\n"
    "that name no run time mean eager PyTorch; no warm-up steps, xDiT's 1. --list only tells how points are "
    "understood,\n"
    "--by adds a line for each group of points that are alike in what it names.\n"
    "Exit: 0 some were simulated, 4 without a simulator, 77 all skipped.";
static const char examples[] =
    "ditbench simulate --points results/published/paper_numbers.json --list\n"
    "ditbench simulate --points results/published/paper_numbers.json --filter \"model == 'flux.1-dev' && gpus <= 8\"\n"
    "ditbench simulate --points results/published/mlenergy.json --by model,gpus\n"
    "ditbench simulate --points results/published/single_gpu_latency.json --profile ditbench --json";

typedef struct {
    suite_cli cli;
    const char *file, *profile, *calibration, *filter, *by;
    char shipped[SUITE_PATH]; /* where `file` lies, when it is one that comes with the program */
    bool list;
    int64_t jobs;
    suite_published_names names;
    suite_published published;
    suite_calibration fitted;
    dit_json contradictions;
    suite_point *points; /* that the filter keeps */
    suite_point_result *results;
    int count;      /* of both */
    int told;       /* results that have been printed */
    cJSON *entries; /* --list --json                            */
    suite_group_keys keys;
    suite_simulator simulator;
    suite_progress progress;
    int64_t started_ns;
} simulate_call;

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static void print_understood(const suite_point *point, const suite_point_result *result)
{
    if (point->skip) {
        printf("%5d  %-24s %s\n%32s%s\n", result->index, suite_skip_code(point->skip), result->label, "",
               result->detail);
        return;
    }
    printf("%5d  %-24s %s\n%32s%s, %s, ", result->index, "understood", result->label, "", point->platform,
           point->profile);
    if (point->search)
        printf("best of %d meshes\n", point->case_count);
    else
        printf("%s\n", point->cases[0].kase->label);
}

static void add_cases(dit_json_writer *w, cJSON *entry, const suite_point *point)
{
    cJSON *list = dit_json_put_array(w, entry, "cases");
    for (int i = 0; i < point->case_count; i++) {
        cJSON *one = dit_json_put_object(w, list, NULL);
        dit_json_put_string(w, one, "mesh", point->cases[i].mesh);
        dit_json_put_copy(w, one, "case", point->cases[i].kase->document);
    }
}

static void add_understood(dit_json_writer *w, cJSON *list, const suite_point *point, const suite_point_result *result)
{
    cJSON *entry = dit_json_put_object(w, list, NULL);
    dit_json_put_int(w, entry, "index", result->index);
    dit_json_put_string(w, entry, "status", point->skip ? "skipped" : "understood");
    dit_json_put_string(w, entry, "label", result->label);
    if (point->skip) {
        dit_json_put_string(w, entry, "reason", suite_skip_code(point->skip));
        dit_json_put_string(w, entry, "detail", result->detail);
        return;
    }
    dit_json_put_string(w, entry, "platform", point->platform);
    dit_json_put_string(w, entry, "profile", point->profile);
    dit_json_put_string(w, entry, "method", point->method);
    add_cases(w, entry, point);
}

static int count_skipped(const simulate_call *call, suite_skip skip)
{
    int count = 0;
    for (int i = 0; i < call->count; i++) count += call->results[i].skip == skip;
    return count;
}

static void print_reasons(const simulate_call *call)
{
    for (int skip = SUITE_SKIP_NONE + 1; skip < SUITE_SKIP_COUNT; skip++) {
        int count = count_skipped(call, (suite_skip)skip);
        if (count)
            printf("%7d  %-24s %s\n", count, suite_skip_code((suite_skip)skip), suite_skip_text((suite_skip)skip));
    }
}

static void print_list_end(const simulate_call *call)
{
    int understood = count_skipped(call, SUITE_SKIP_NONE);
    printf("\n%s: %d of %d points understood, %d skipped", call->file, understood, call->count,
           call->count - understood);
    if (call->published.unknown_keys) printf(", %d members of unknown name", call->published.unknown_keys);
    printf("\n");
    print_reasons(call);
}

static dit_status print_list_json(const simulate_call *call)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w), *summary, *reasons;
    int understood = count_skipped(call, SUITE_SKIP_NONE);
    dit_json_put_reference(&w, document, "points", call->entries);
    summary = dit_json_put_object(&w, document, "summary");
    dit_json_put_int(&w, summary, "points", call->count);
    dit_json_put_int(&w, summary, "understood", understood);
    dit_json_put_int(&w, summary, "skipped", call->count - understood);
    dit_json_put_int(&w, summary, "unknown_keys", call->published.unknown_keys);
    reasons = dit_json_put_object(&w, summary, "reasons");
    for (int skip = SUITE_SKIP_NONE + 1; skip < SUITE_SKIP_COUNT; skip++)
        if (count_skipped(call, (suite_skip)skip))
            dit_json_put_int(&w, reasons, suite_skip_code((suite_skip)skip), count_skipped(call, (suite_skip)skip));
    return suite_cli_finish_json(&w, "simulate-list", document);
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static const char *mark_of(const suite_point_result *result)
{
    if (result->doubtful) return "  doubtful";
    if (result->repeated) return "  repeated";
    return result->no_decode ? "  without decode" : result->in_fit ? "  fit" : "";
}

static void print_result(const suite_point_result *result)
{
    if (result->skip) return;
    printf("%5d  %-78s %-12s %-19s %10.3f %10.3f %+7.1f %%%s\n", result->index, result->label, result->mesh,
           result->profile, result->published, result->predicted, 100 * suite_point_error(result), mark_of(result));
}

static void print_statistics(const simulate_call *call, suite_points_part part)
{
    dit_agreement s;
    if (suite_points_judge(call->results, call->count, part, &s) != DIT_OK) dit_error_clear();
    printf("%-18s %6d", suite_points_part_title(part), s.points);
    if (s.points)
        printf(" %10.1f %% %10.1f %% %10.1f %%", 100 * s.median_error, 100 * s.p90_error, 100 * s.worst_error);
    else
        printf(" %12s %12s %12s", "-", "-", "-");
    if (s.pairs)
        printf("  %4d of %4d (%5.1f %%)", s.ordered, s.pairs, 100.0 * s.ordered / s.pairs);
    else
        printf("  %22s", "-");
    if (s.pairs_apart)
        printf("  %4d of %4d (%5.1f %%)", s.ordered_apart, s.pairs_apart, 100.0 * s.ordered_apart / s.pairs_apart);
    printf("\n");
}

static dit_status make_groups(const simulate_call *call, suite_points_group **groups, int *count)
{
    *groups = NULL;
    *count = 0;
    if (!call->by) return DIT_OK;
    return suite_points_groups(&call->keys, call->points, call->results, call->count, groups, count);
}

static dit_status print_groups(const simulate_call *call)
{
    suite_points_group *groups;
    int count;
    DIT_TRY(make_groups(call, &groups, &count));
    if (count) printf("\n");
    for (int k = 0; k < call->keys.count && count; k++) printf("%-20s ", call->keys.key[k]);
    if (count) printf("%6s %10s %12s %10s %10s  %s\n", "points", "median", "median error", "p90", "worst", "in order");
    for (int i = 0; i < count; i++) {
        const dit_agreement *s = &groups[i].agreement;
        for (int k = 0; k < call->keys.count; k++) printf("%-20s ", groups[i].value[k]);
        printf("%6d %+8.1f %% %10.1f %% %8.1f %% %8.1f %%", s->points, 100 * groups[i].median, 100 * s->median_error,
               100 * s->p90_error, 100 * s->worst_error);
        if (s->pairs) printf("  %4d of %4d", s->ordered, s->pairs);
        printf("\n");
    }
    free(groups);
    return DIT_OK;
}

static void print_heading(void)
{
    printf("%5s  %-78s %-12s %-19s %10s %10s %9s\n", "point", "", "mesh", "software", "published", "predicted",
           "error");
}

static bool is_new_platform(const simulate_call *call, int index)
{
    const char *name = call->points[index].platform;
    if (call->results[index].skip || !name) return false;
    for (int i = 0; i < index; i++)
        if (!call->results[i].skip && strcmp(call->points[i].platform, name) == 0) return false;
    return true;
}

/* Names the machines of whose host nothing was fitted. */
static void print_unknown_hosts(const simulate_call *call)
{
    int told = 0;
    for (int i = 0; i < call->count; i++) {
        suite_cluster cluster = {0};
        if (!is_new_platform(call, i)) continue;
        bool known = suite_cluster_load(call->points[i].platform, &cluster) != DIT_OK ||
                     suite_calibration_knows_host(&call->fitted, &cluster);
        dit_error_clear();
        if (!known)
            printf("%s%s",
                   told++ ? ", " : "host not fitted, so that what it decides is a guess: ", call->points[i].platform);
        suite_cluster_release(&cluster);
    }
    if (told) printf("\n");
}

static bool is_new_profile(const simulate_call *call, int index)
{
    if (!*call->results[index].profile) return false;
    for (int i = 0; i < index; i++)
        if (strcmp(call->results[i].profile, call->results[index].profile) == 0) return false;
    return true;
}

/* Names the software that nobody has measured. */
static void print_projections(const simulate_call *call)
{
    for (int i = 0; i < call->count; i++) {
        suite_profile profile;
        if (!is_new_profile(call, i)) continue;
        if (suite_profile_load(call->results[i].profile, &profile) == DIT_OK && !profile.measured)
            printf("software %s; %s\n", profile.name, SUITE_PROFILE_PROJECTION);
        dit_error_clear();
    }
}

static void print_answer(const simulate_call *call)
{
    int skipped = call->count - count_skipped(call, SUITE_SKIP_NONE);
    printf("\n%-18s %6s %12s %12s %12s  %22s  %22s\n", "set", "points", "median error", "p90", "worst",
           "pairs in order", "those 10 % apart");
    for (int part = 0; part < SUITE_POINTS_PART_COUNT; part++) print_statistics(call, (suite_points_part)part);
    printf(
        "Error is |predicted / published - 1|; p90 is the error that 90 %% of the points do not exceed. A pair is two\n"
        "methods in one panel, and is in order when the faster one is also predicted to be faster; the last column\n"
        "counts the pairs whose published values differ by more than %.0f %%. Doubtful points are in no other set, as\n"
        "points are that repeat a measurement of another one (results/published/contradictions.json).\n",
        100 * DIT_AGREEMENT_APART);
    printf("\ncalibration: %s, %d values\n", suite_calibration_path(&call->fitted), call->fitted.value_count);
    print_unknown_hosts(call);
    print_projections(call);
    printf("\nskipped: %d of %d points\n", skipped, call->count);
    print_reasons(call);
}

static dit_status print_answer_json(const simulate_call *call)
{
    dit_json_writer w = {0};
    cJSON *document = NULL;
    suite_points_group *groups;
    int count;
    DIT_TRY(make_groups(call, &groups, &count));
    dit_json_put_status(&w, suite_points_json(call->results, call->count, &document));
    if (w.status == DIT_OK && call->by)
        dit_json_put_status(&w, suite_points_groups_json(&call->keys, groups, count, document));
    free(groups);
    dit_json_put_string(&w, document, "calibration", suite_calibration_path(&call->fitted));
    return suite_cli_finish_json(&w, "simulate", document);
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

static dit_status list_point(simulate_call *call, const suite_point *point, suite_point_result *result)
{
    dit_json_writer w = {0};
    DIT_TRY(suite_point_predict(point, NULL, NULL, result));
    if (call->cli.json)
        add_understood(&w, call->entries, point, result);
    else
        print_understood(point, result);
    return w.status;
}

static dit_status take_point(simulate_call *call, int index)
{
    suite_point *point = &call->points[call->count];
    bool kept = true;
    DIT_TRY(suite_point_understand(&call->names, &call->published.points[index], call->profile, point));
    dit_status st = call->filter ? suite_point_test(point, call->filter, &kept) : DIT_OK;
    if (st == DIT_OK && kept && call->list) st = list_point(call, point, &call->results[call->count]);
    if (st == DIT_OK && kept)
        call->count++;
    else
        suite_point_release(point);
    return st;
}

static bool is_known(const simulate_call *call, const suite_point *point)
{
    for (int i = 0; i < point->case_count; i++)
        if (!suite_simulator_knows(&call->simulator, &point->cases[i])) return false;
    return true;
}

/* Points whose cases have all been simulated, in their order, up to the first that has to wait. */
static dit_status tell_known(simulate_call *call)
{
    for (; call->told < call->count && is_known(call, &call->points[call->told]); call->told++) {
        const suite_point *point = &call->points[call->told];
        suite_point_result *result = &call->results[call->told];
        DIT_TRY(suite_point_predict(point, suite_simulator_predict, &call->simulator, result));
        result->in_fit = suite_point_in_fit(point, &call->fitted);
        if (!call->cli.json) print_result(result);
    }
    if (!call->cli.json) fflush(stdout);
    return DIT_OK;
}

static dit_status hear(void *context, int done, int total)
{
    simulate_call *call = context;
    suite_progress *progress = &call->progress;
    progress->total = total;
    progress->done = progress->timed = done;
    progress->timed_s = (double)(dit_clock_ns() - call->started_ns) * 1e-9;
    suite_progress_end(progress);
    dit_status st = tell_known(call);
    progress->label = "simulations";
    if (done < total) suite_progress_tick(progress, 0);
    return st;
}

static dit_status simulate_points(simulate_call *call)
{
    int count = 0, used = 0;
    for (int i = 0; i < call->count; i++) count += call->points[i].case_count;
    const suite_point_case **cases = calloc((size_t)count + 1, sizeof *cases);
    if (!cases) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d cases", count);
    for (int i = 0; i < call->count; i++)
        for (int j = 0; j < call->points[i].case_count; j++) cases[used++] = &call->points[i].cases[j];
    suite_progress_init(&call->progress, 0, 0, call->cli.quiet);
    call->started_ns = dit_clock_ns();
    dit_status st = suite_simulator_run(&call->simulator, cases, count, hear, call);
    free(cases);
    if (st == DIT_OK) st = tell_known(call); /* without a case, nothing was heard */
    return st;
}

static dit_status check_profile(const char *profile)
{
    char **names = NULL;
    dit_status st = DIT_OK;
    DIT_TRY(suite_catalogue_names("profiles", &names));
    const char *const *words = (const char *const *)names;
    if (dit_words_find(words, profile) < 0)
        st =
            dit_words_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "there is no software profile \"%s\"", profile), profile, words);
    suite_names_free(names);
    return st;
}

/* The file as it was named, else under the folder that holds the shipped data, as workloads are found. */
static dit_status find_points(simulate_call *call)
{
    const char *workloads = suite_workloads_folder();
    if (access(call->file, R_OK) == 0) return DIT_OK;
    if (workloads && suite_path(call->shipped, "%s/../%s", workloads, call->file) == DIT_OK &&
        access(call->shipped, R_OK) == 0) {
        call->file = call->shipped;
        return DIT_OK;
    }
    dit_error_clear();
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_USAGE, "--points %s: there is no such file here", call->file),
        "the shipped files are results/published/paper_numbers.json, mlenergy.json and single_gpu_latency.json");
}

static dit_status load(simulate_call *call)
{
    if (!call->file)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "simulate needs --points FILE"),
                              "as in --points results/published/paper_numbers.json");
    DIT_TRY(find_points(call));
    DIT_TRY(suite_contradictions_read(&call->contradictions));
    DIT_TRY(suite_contradictions_points(&call->contradictions, call->file, &call->published));
    if (call->filter) DIT_TRY(dit_expr_check(call->filter));
    if (call->by) DIT_TRY(suite_group_keys_read(call->by, &call->keys));
    if (call->profile) DIT_TRY(check_profile(call->profile));
    DIT_TRY(suite_calibration_load(call->calibration, &call->fitted));
    DIT_TRY(suite_published_names_load(NULL, &call->names));
    call->points = calloc((size_t)call->published.count + 1, sizeof *call->points);
    call->results = calloc((size_t)call->published.count + 1, sizeof *call->results);
    call->entries = cJSON_CreateArray();
    return call->points && call->results && call->entries ? DIT_OK
                                                          : DIT_FAIL(DIT_ERR_MEMORY, "no memory for published points");
}

static dit_status simulate(simulate_call *call)
{
    DIT_TRY(load(call));
    call->simulator.params =
        (suite_simulate_params){.element = "fp16", .deadline_s = 600, .calibration = &call->fitted};
    call->simulator.at_once = (int)call->jobs;
    if (!call->list) DIT_TRY(suite_simulate_check(&call->simulator.params));
    for (int i = 0; i < call->published.count; i++) DIT_TRY(take_point(call, i));
    if (call->list && call->cli.json) return print_list_json(call);
    if (call->list) {
        print_list_end(call);
        return DIT_OK;
    }
    if (!call->cli.json) print_heading();
    DIT_TRY(simulate_points(call));
    if (call->cli.json) return print_answer_json(call);
    DIT_TRY(print_groups(call));
    print_answer(call);
    return DIT_OK;
}

static void release(simulate_call *call)
{
    suite_simulator_release(&call->simulator);
    suite_calibration_release(&call->fitted);
    cJSON_Delete(call->entries);
    for (int i = 0; call->points && i < call->count; i++) suite_point_release(&call->points[i]);
    free(call->points);
    free(call->results);
    suite_published_release(&call->published);
    dit_json_release(&call->contradictions);
    suite_published_names_release(&call->names);
    suite_cli_release(&call->cli);
}

int suite_verb_simulate(int argc, char **argv)
{
    simulate_call call = {0};
    const suite_option options[] = {
        {"points", 0, SUITE_OPTION_STRING, "FILE", "a file of published numbers, as in results/published/", &call.file,
         0, 0},
        {"list", 0, SUITE_OPTION_FLAG, NULL,
         "show how each point is understood, or why it is skipped, and simulate nothing", &call.list, 0, 0},
        {"profile", 0, SUITE_OPTION_STRING, "NAME", "software of all points (default: what each point says)",
         &call.profile, 0, 0},
        {"calibration", 0, SUITE_OPTION_STRING, "FILE",
         "fitted values and the points they were fitted on, or \"none\" (default: results/calibration/published.json)",
         &call.calibration, 0, 0},
        {"jobs", 'j', SUITE_OPTION_INT, "N", "simulations at a time (default: cores)", &call.jobs, 1, 1024},
        {"filter", 0, SUITE_OPTION_STRING, "EXPR",
         "only points for which it holds: \"gpus <= 8 && status == 'understood'\"", &call.filter, 0, 0},
        {"by", 0, SUITE_OPTION_STRING, "NAMES", "errors by group: model, gpus, mesh, batch, or others of --filter",
         &call.by, 0, 0},
        {0},
    };
    const suite_cli_spec spec = {"simulate", NULL, purpose, examples, options, 0, 0};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    call.list = call.list || call.cli.dry_run;
    dit_status st = simulate(&call);
    code = st != DIT_OK ? suite_cli_fail(&call.cli, st) : DIT_EXIT_OK;
    if (st == DIT_OK && count_skipped(&call, SUITE_SKIP_NONE) == 0) code = DIT_EXIT_SKIPPED;
    release(&call);
    return code;
}
