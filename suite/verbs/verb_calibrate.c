/* ditbench calibrate: fits the cost model's few parameters, and shows what was fitted on what. */
#include "suite/calibrate/calibrate.h"
#include "base/json.h"
#include "base/words.h"
#include "suite/calibrate/calibrate_measured.h"
#include "suite/calibrate/holdout.h"
#include "suite/catalogue/catalogue.h"
#include "suite/console/cli.h"
#include "suite/paths.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char purpose[] =
    "Fits the few free parameters of accelerators, links and software profiles, and writes them, with the points\n"
    "they were fitted on, to results/calibration/published.json. Every simulation then uses them (but for\n"
    "`simulate --calibration none`).\n"
    "--from published fits on the published points that workloads/calibrations/published.json names, stage after\n"
    "stage. It simulates each point again and again and minimises the sum of squared ln(predicted / published), in\n"
    "which a point more than 20 % off pulls no harder, plus the squared distances from the values in the data\n"
    "files. Equal input gives equal bytes: --check fits again and compares. With --stage nothing is written unless\n"
    "--output is given.\n"
    "--holdout fits anew without each machine, and without each model, predicts what was left out, and writes how "
    "wrong\n"
    "that is to holdout.json beside the calibration: what a prediction of something new has to expect. It takes as\n"
    "long as several fits. --show tells values with 90 % intervals, those that lie on a bound, platforms whose host\n"
    "nobody has fitted, and these errors.\n"
    "--from measured times this machine's cores, or with --backend cuda its GPUs, and writes data files under\n"
    "results/local/calibration (or --output). `simulate` and simulated platforms can then use this machine.\n"
    "Exit: 0 done; 4 there is no simulator, or no device to measure; 6 --check found a difference.";
static const char examples[] = "ditbench calibrate --show\n"
                               "ditbench calibrate --from published --dry-run\n"
                               "ditbench calibrate --from published\n"
                               "ditbench calibrate --from published --stage t4 --check\n"
                               "ditbench calibrate --from published --holdout\n"
                               "ditbench calibrate --from measured --backend cuda --dtype bf16";

typedef struct {
    suite_cli cli;
    const char *from, *plan, *stage, *base, *by, *raw, *backend, *element, *engine;
    bool check, show, few, holdout;
    int64_t jobs;
    char path[SUITE_PATH]; /* of the calibration that is written, checked or shown */
} calibrate_call;

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static double end_of(const cJSON *entry, int index)
{
    const cJSON *end = cJSON_GetArrayItem(dit_json_member(entry, "interval"), index);
    return cJSON_IsNumber(end) ? end->valuedouble : 0;
}

static void print_value(const cJSON *entry)
{
    const char *bound = dit_json_text_or(entry, "bound", NULL);
    printf(" %10.4g %+8.2f %10.3g %10.3g  %s%s\n", dit_json_number_or(entry, "value", 0),
           dit_json_number_or(entry, "deviation", 0), end_of(entry, 0), end_of(entry, 1),
           bound ? "on its bound: the " : "", bound ? bound : "");
}

static void print_parameter(const cJSON *entry, bool fitted)
{
    printf("  %-12s %-22s %-22s %10.4g", dit_json_text_or(entry, "of", ""), dit_json_text_or(entry, "name", ""),
           dit_json_text_or(entry, "key", ""), dit_json_number_or(entry, "prior", 0));
    if (fitted)
        print_value(entry);
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
    printf("  %-12s %-22s %-22s %10s %10s %8s %10s %10s\n", "of", "name", "key", "prior", "value", "moved", "from",
           "to");
    cJSON_ArrayForEach(entry, dit_json_member(document, "parameters")) print_parameter(entry, true);
    printf("\n  %-24s %5s  %-66s %10s %10s %10s\n", "file", "index", "point", "published", "before", "after");
    cJSON_ArrayForEach(entry, dit_json_member(document, "points")) print_point(entry, true);
    printf("\n%.0f points of %.0f cases; moved is in deviations of the prior, from and to hold 90 %%, with\n"
           "what earlier stages have fitted\n",
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

/* ---- what limits the values -------------------------------------------------------------------------------------- */

static int count_on_bounds(const cJSON *document)
{
    const cJSON *entry;
    int count = 0;
    cJSON_ArrayForEach(entry, dit_json_member(document, "parameters")) count +=
        dit_json_text_or(entry, "bound", NULL) != NULL;
    return count;
}

/* Fits that end on a bound say that something is missing from the model, or that a bound is wrong. */
static void tell_bounds(const calibrate_call *call, const cJSON *document)
{
    const cJSON *entry;
    int count = count_on_bounds(document);
    if (call->cli.quiet || count == 0) return;
    fprintf(stderr, "%d %s on a bound:", count, count == 1 ? "value lies" : "values lie");
    cJSON_ArrayForEach(entry, dit_json_member(document, "parameters")) if (dit_json_text_or(entry, "bound", NULL))
        fprintf(stderr, " %s of %s (%s)", dit_json_text_or(entry, "key", ""), dit_json_text_or(entry, "name", ""),
                dit_json_text_or(entry, "bound", ""));
    fprintf(stderr, "\n");
}

/* Simulated platforms of whose host nothing was fitted: their host_scale is what the file says, or 1. */
static dit_status print_unfitted_hosts(const suite_calibration *calibration)
{
    char **names = NULL;
    int count = 0;
    DIT_TRY(suite_catalogue_names("platforms", &names));
    for (int i = 0; names[i]; i++) {
        suite_cluster cluster = {0};
        bool open =
            suite_cluster_load(names[i], &cluster) == DIT_OK && !suite_calibration_knows_host(calibration, &cluster);
        dit_error_clear();
        if (open)
            printf("%s%s", count++ ? ", " : "\nhost_scale is not fitted, as nothing public is bound by the host, of: ",
                   names[i]);
        suite_cluster_release(&cluster);
    }
    if (count) printf("\n");
    suite_names_free(names);
    return DIT_OK;
}

static void print_held_out(const cJSON *document)
{
    const cJSON *kind, *group, *outside = dit_json_member(document, "outside");
    printf("\noutside the fit: %.0f points, median |error| %.1f %%, 90 %% of them at most %.1f %%\n",
           dit_json_number_or(outside, "points", 0), 100 * dit_json_number_or(outside, "median_error", 0),
           100 * dit_json_number_or(outside, "p90_error", 0));
    cJSON_ArrayForEach(kind, dit_json_member(document, "held_out"))
    {
        printf("\nwithout one %s: %.0f points, median |error| %.1f %%, 90 %% of them at most %.1f %%\n",
               dit_json_text_or(kind, "by", ""), dit_json_number_or(kind, "points", 0),
               100 * dit_json_number_or(kind, "median_error", 0), 100 * dit_json_number_or(kind, "p90_error", 0));
        cJSON_ArrayForEach(group, dit_json_member(kind, "groups"))
            printf("  %-28s %5.0f points %8.1f %% %8.1f %%\n", dit_json_text_or(group, "name", ""),
                   dit_json_number_or(group, "points", 0), 100 * dit_json_number_or(group, "median_error", 0),
                   100 * dit_json_number_or(group, "p90_error", 0));
    }
}

/* The errors of groups that were held out, where somebody has looked for them; they may be of an older fit. */
static dit_status print_holdout_beside(const calibrate_call *call, const cJSON *calibration)
{
    char path[SUITE_PATH];
    dit_json doc = {0};
    DIT_TRY(suite_holdout_path(call->path, path));
    if (access(path, R_OK) != 0) return DIT_OK;
    DIT_TRY(dit_json_read_file(path, &doc));
    print_held_out(doc.root);
    const char *plan = dit_json_text_or(dit_json_member(doc.root, "plan"), "hash", "");
    if (strcmp(plan, dit_json_text_or(dit_json_member(calibration, "plan"), "hash", "")) != 0)
        printf("(of another plan; `ditbench calibrate --from published --holdout` looks again)\n");
    dit_json_release(&doc);
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
    if (st == DIT_OK && !call->cli.json) st = print_unfitted_hosts(&calibration);
    if (st == DIT_OK && !call->cli.json) st = print_holdout_beside(call, calibration.source.root);
    suite_calibration_release(&calibration);
    return st;
}

static dit_status write_file(const calibrate_call *call, const cJSON *document, const char *path)
{
    char folder[SUITE_PATH];
    DIT_TRY(suite_path(folder, "%s", path));
    char *slash = strrchr(folder, '/');
    if (slash && slash != folder) {
        *slash = '\0';
        DIT_TRY(suite_path_make(folder));
    }
    DIT_TRY(dit_json_write_file(document, path, false));
    if (!call->cli.quiet) fprintf(stderr, "wrote %s\n", path);
    return DIT_OK;
}

static dit_status finish(const calibrate_call *call, const cJSON *document)
{
    if (call->check) DIT_TRY(suite_calibrate_compare(document, call->stage, call->path));
    if (!call->check && (!call->stage || call->cli.output)) DIT_TRY(write_file(call, document, call->path));
    DIT_TRY(print_document(call, document, print_fitted));
    tell_bounds(call, document);
    if (call->check && !call->cli.quiet) fprintf(stderr, "the same bytes as %s\n", call->path);
    return DIT_OK;
}

static dit_status hold_out(const calibrate_call *call, const suite_calibrate_params *params)
{
    char path[SUITE_PATH];
    cJSON *document = NULL;
    DIT_TRY(call->cli.output ? suite_path(path, "%s", call->cli.output) : suite_holdout_path(call->path, path));
    DIT_TRY(suite_calibrate_holdout(params, call->by, &document));
    dit_status st = write_file(call, document, path);
    if (st == DIT_OK) st = print_document(call, document, print_held_out);
    cJSON_Delete(document);
    return st;
}

static dit_status calibrate_published(calibrate_call *call)
{
    const suite_calibrate_params params = {.plan = call->plan,
                                           .stage = call->stage,
                                           .base = call->base,
                                           .simulate = {.element = "fp16", .deadline_s = 600},
                                           .at_once = (int)call->jobs,
                                           .tell = tell,
                                           .context = call};
    cJSON *document = NULL;
    if (call->holdout && call->stage)
        return DIT_FAIL(DIT_ERR_USAGE, "--holdout fits the whole plan anew; it cannot be asked of one stage");
    if (call->holdout && !call->cli.dry_run) return hold_out(call, &params); /* a dry run lists what would be fitted */
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
        {"by", 0, SUITE_OPTION_STRING, "KIND", "with --holdout: machine or model (default: one after the other)",
         &call.by, 0, 0},
        {"calibration", 0, SUITE_OPTION_STRING, "FILE",
         "with --stage: where other stages' values are; with --holdout: the fit of the plan (default: the present one)",
         &call.base, 0, 0},
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
        {"holdout", 0, SUITE_OPTION_FLAG, NULL,
         "with --from published: how wrong is what was left out, by machine and by model", &call.holdout, 0, 0},
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
