/* ditbench calibrate: fits the cost model's few parameters, and shows what was fitted on what. */
#include "suite/calibrate/calibrate.h"
#include "base/json.h"
#include "base/words.h"
#include "suite/calibrate/calibrate_measured.h"
#include "suite/console/cli.h"
#include "suite/paths.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Fits the few free parameters of accelerators, links and software profiles, and writes them, with the points\n"
    "they were fitted on, to results/calibration/published.json. Every simulation then uses them (but for\n"
    "`simulate --calibration none`).\n"
    "--from published fits on the published points that workloads/calibrations/published.json names, stage after\n"
    "stage. It simulates each point again and again and minimises the sum of squared ln(predicted / published), in\n"
    "which a point more than 20 % off pulls no harder, plus the squared distances from the values in the data\n"
    "files. Equal input gives equal bytes: --check fits again and compares. With --stage nothing is written unless\n"
    "--output is given.\n"
    "--from measured times this machine's cores, or with --backend cuda its GPUs, and writes data files under\n"
    "results/local/calibration (or --output). `simulate` and simulated platforms can then use this machine.\n"
    "Exit: 0 done; 4 there is no simulator, or no device to measure; 6 --check found a difference.";
static const char examples[] = "ditbench calibrate --show\n"
                               "ditbench calibrate --from published --dry-run\n"
                               "ditbench calibrate --from published\n"
                               "ditbench calibrate --from published --stage t4 --check\n"
                               "ditbench calibrate --from measured --backend cuda --dtype bf16";

typedef struct {
    suite_cli cli;
    const char *from, *plan, *stage, *raw, *backend, *element, *engine;
    bool check, show, few;
    int64_t jobs;
    char path[SUITE_PATH]; /* of the calibration that is written, checked or shown */
} calibrate_call;

/* ---- reading documents of our own -------------------------------------------------------------------------------- */

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void print_parameter(const cJSON *entry, bool fitted)
{
    printf("  %-12s %-22s %-22s %10.4g", dit_json_text_or(entry, "of", ""), dit_json_text_or(entry, "name", ""),
           dit_json_text_or(entry, "key", ""), dit_json_number_or(entry, "prior", 0));
    if (fitted)
        printf(" %10.4g %+8.2f\n", dit_json_number_or(entry, "value", 0), dit_json_number_or(entry, "deviation", 0));
    else
        printf(" %10.4g %10.4g %8.2f\n", dit_json_number_or(entry, "least", 0), dit_json_number_or(entry, "most", 0),
               dit_json_number_or(entry, "prior_deviation", 0));
}

static void print_point(const cJSON *entry, bool fitted)
{
    printf("  %-24s %5.0f  %-66.66s %10.4g", dit_json_text_or(entry, "file", ""), dit_json_number_or(entry, "index", 0),
           dit_json_text_or(entry, "label", ""), dit_json_number_or(entry, "published", 0));
    if (!fitted) {
        printf("  %s\n", dit_json_text_or(entry, "why", ""));
        return;
    }
    double published = dit_json_number_or(entry, "published", 0);
    printf(" %+8.1f %% %+8.1f %%\n", 100 * (dit_json_number_or(entry, "before", 0) / published - 1),
           100 * (dit_json_number_or(entry, "after", 0) / published - 1));
}

static void print_listed(const cJSON *document)
{
    const cJSON *stage, *entry;
    cJSON_ArrayForEach(stage, dit_json_member(document, "stages"))
    {
        printf("%s: %s\n", dit_json_text_or(stage, "name", ""), dit_json_text_or(stage, "why", ""));
        printf("  %-12s %-22s %-22s %10s %10s %10s %8s\n", "of", "name", "key", "prior", "least", "most", "deviation");
        cJSON_ArrayForEach(entry, dit_json_member(stage, "parameters")) print_parameter(entry, false);
        cJSON_ArrayForEach(entry, dit_json_member(stage, "points")) print_point(entry, false);
        printf("\n");
    }
}

static void print_errors(const cJSON *summary, const char *key)
{
    const cJSON *errors = dit_json_member(summary, key);
    printf("%-7s median |error| %5.1f %%, 90 %% of them at most %5.1f %%\n", key,
           100 * dit_json_number_or(errors, "median_error", 0), 100 * dit_json_number_or(errors, "p90_error", 0));
}

static void print_fitted(const cJSON *document)
{
    const cJSON *entry, *summary = dit_json_member(document, "summary");
    printf("  %-12s %-22s %-22s %10s %10s %8s\n", "of", "name", "key", "prior", "value", "moved");
    cJSON_ArrayForEach(entry, dit_json_member(document, "parameters")) print_parameter(entry, true);
    printf("\n  %-24s %5s  %-66s %10s %10s %10s\n", "file", "index", "point", "published", "before", "after");
    cJSON_ArrayForEach(entry, dit_json_member(document, "points")) print_point(entry, true);
    printf("\n%.0f points of %.0f cases; moved is in deviations of the prior\n",
           dit_json_number_or(summary, "points", 0), dit_json_number_or(summary, "cases", 0));
    print_errors(summary, "before");
    print_errors(summary, "after");
}

static dit_status print_document(const calibrate_call *call, const cJSON *document, void (*print)(const cJSON *))
{
    if (call->cli.json) return suite_cli_print_json("calibrate", document);
    print(document);
    return DIT_OK;
}

/* ---- what is done ------------------------------------------------------------------------------------------------ */

static void tell(void *context, const char *stage, int round, double objective)
{
    const calibrate_call *call = context;
    if (!call->cli.quiet) fprintf(stderr, "%-24s round %d: %.5g\n", stage, round, objective);
}

static dit_status show(const calibrate_call *call)
{
    suite_calibration calibration;
    DIT_TRY(suite_calibration_load(call->path, &calibration));
    dit_status st = print_document(call, calibration.source.root, print_fitted);
    suite_calibration_release(&calibration);
    return st;
}

static dit_status write_file(const calibrate_call *call, const cJSON *document)
{
    char folder[SUITE_PATH];
    DIT_TRY(suite_path(folder, "%s", call->path));
    char *slash = strrchr(folder, '/');
    if (slash && slash != folder) {
        *slash = '\0';
        DIT_TRY(suite_path_make(folder));
    }
    DIT_TRY(dit_json_write_file(document, call->path, false));
    if (!call->cli.quiet) fprintf(stderr, "wrote %s\n", call->path);
    return DIT_OK;
}

static dit_status finish(const calibrate_call *call, const cJSON *document)
{
    if (call->check) DIT_TRY(suite_calibrate_compare(document, call->stage, call->path));
    if (!call->check && (!call->stage || call->cli.output)) DIT_TRY(write_file(call, document));
    DIT_TRY(print_document(call, document, print_fitted));
    if (call->check && !call->cli.quiet) fprintf(stderr, "the same bytes as %s\n", call->path);
    return DIT_OK;
}

static dit_status calibrate_published(calibrate_call *call)
{
    const suite_calibrate_params params = {.plan = call->plan,
                                           .stage = call->stage,
                                           .simulate = {.element = "fp16", .deadline_s = 600},
                                           .at_once = (int)call->jobs,
                                           .tell = tell,
                                           .context = call};
    cJSON *document = NULL;
    dit_status st =
        call->cli.dry_run ? suite_calibrate_list(&params, &document) : suite_calibrate_fit(&params, &document);
    if (st == DIT_OK && call->cli.dry_run)
        st = print_document(call, document, print_listed);
    else if (st == DIT_OK)
        st = finish(call, document);
    cJSON_Delete(document);
    return st;
}

static dit_status calibrate_measured(calibrate_call *call)
{
    const suite_calibrate_measured_params params = {.output = call->cli.output,
                                                    .raw = call->raw,
                                                    .deadline_s = 600,
                                                    .backend = call->backend,
                                                    .element = call->element,
                                                    .engine = call->engine,
                                                    .few = call->few};
    cJSON *summary = NULL;
    DIT_TRY(suite_calibrate_measured(&params, &summary));
    dit_status st = suite_cli_print_json("calibrate", summary);
    cJSON_Delete(summary);
    return st;
}

static const struct {
    const char *from;
    dit_status (*calibrate)(calibrate_call *call);
} sources[] = {{"published", calibrate_published}, {"measured", calibrate_measured}};
enum { SOURCE_COUNT = sizeof sources / sizeof *sources };

static dit_status calibrate(calibrate_call *call)
{
    const char *names[SOURCE_COUNT + 1] = {0};
    DIT_TRY(call->cli.output ? suite_path(call->path, "%s", call->cli.output) : suite_calibration_default(call->path));
    if (call->show) return show(call);
    for (int i = 0; i < SOURCE_COUNT; i++) {
        names[i] = sources[i].from;
        if (call->from && strcmp(call->from, names[i]) == 0) return sources[i].calibrate(call);
    }
    if (!call->from)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_USAGE, "calibrate needs --from or --show"),
            "`ditbench calibrate --show` shows what is there, `ditbench help calibrate` the ways to fit");
    return dit_words_hint(DIT_FAIL(DIT_ERR_USAGE, "nothing is calibrated from \"%s\"", call->from), call->from, names);
}

int suite_verb_calibrate(int argc, char **argv)
{
    calibrate_call call = {0};
    const suite_option options[] = {
        {"from", 0, SUITE_OPTION_STRING, "WHAT", "what to fit on: published points, or times measured on this machine",
         &call.from, 0, 0},
        {"plan", 0, SUITE_OPTION_STRING, "FILE",
         "which values are fitted on which points (default: calibrations/published.json)", &call.plan, 0, 0},
        {"stage", 0, SUITE_OPTION_STRING, "NAME",
         "fit one stage of the plan; the others keep the values of the calibration", &call.stage, 0, 0},
        {"raw", 0, SUITE_OPTION_STRING, "FILE", "with --from measured: use these times instead of measuring now",
         &call.raw, 0, 0},
        {"backend", 0, SUITE_OPTION_STRING, "NAME",
         "with --from measured: cuda measures a GPU instead of this machine's cores", &call.backend, 0, 0},
        {"dtype", 0, SUITE_OPTION_STRING, "TYPE", "with --backend cuda: bf16 (default), fp16 or fp32", &call.element, 0,
         0},
        {"element", 0, SUITE_OPTION_STRING, "TYPE", NULL, &call.element, 0, 0},
        {"few", 0, SUITE_OPTION_FLAG, NULL, "with --backend: measure only as many shapes as a fit needs (for tests)",
         &call.few, 0, 0},
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "with --from measured: the engine program", &call.engine, 0, 0},
        {"check", 0, SUITE_OPTION_FLAG, NULL, "fit again and compare with what is there, byte for byte", &call.check, 0,
         0},
        {"show", 0, SUITE_OPTION_FLAG, NULL, "show the present calibration: values, points, errors", &call.show, 0, 0},
        {"jobs", 'j', SUITE_OPTION_INT, "N", "simulations at a time (default: cores)", &call.jobs, 1, 1024},
        {0},
    };
    const suite_cli_spec spec = {"calibrate", NULL, purpose, examples, options, 0, 0};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    dit_status st = calibrate(&call);
    code = st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(&call.cli, st);
    suite_cli_release(&call.cli);
    return code;
}
