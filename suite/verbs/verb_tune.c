/* ditbench tune: which settings of caches do probes suggest? */
#include "base/cache.h"
#include "base/json_writer.h"
#include "reports/records/journal.h"
#include "reports/records/probe.h"
#include "suite/console/cli.h"
#include "suite/session/session.h"
#include "suite/verbs/verbs.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char purpose[] =
    "Fits settings of caches to probes of redundancy, and prints them as a workload takes them:\n"
    "  teacache  the polynomial that best tells how much the prediction changes from how much the first block's input\n"
    "            does, over all steps and prompts, with the share of the variance that it explains\n"
    "  magcache  the ratio of what all blocks add to that of the step before, mean over tokens and prompts\n"
    "  mask      for each number of computed steps the schedule whose reused steps are nearest to what they replace;\n"
    "            the first and the last step are computed\n"
    "They hold for one model, scheduler and number of steps, so a session's cases are fitted one by one. Judge them "
    "on\n"
    "prompts that the probe has not seen.\n"
    "Probes come from \"probe\": true in a workload's \"measure\", or from `generate --probe`.\n"
    "Exit: 0; 2 where no case has a probe.";
static const char examples[] = "ditbench tune latest\n"
                               "ditbench tune picture.probe.safetensors --computed 6,8,10 --json";

enum { TUNE_MOST = 64 /* numbers of computed steps */, WELL_FITTED = 64 /* prompts that a fit should have */ };
static const double well_explained = 0.5; /* of the variance: published fits lie between 0.09 and 0.99 */

typedef struct {
    suite_cli cli;
    const char *asked;
    int computed[TUNE_MOST], count;
    dit_json_writer writer;
    cJSON *root, *cases;
} tune_call;

static dit_status read_computed(tune_call *call)
{
    const char *at = call->asked;
    while (at && *at) {
        char *end;
        errno = 0;
        long number = strtol(at, &end, 10);
        if (end == at || errno || number < 1 || number > DIT_CACHE_MAX_STEPS || (*end && *end != ',') ||
            call->count == TUNE_MOST)
            return dit_error_hint(
                DIT_FAIL(DIT_ERR_USAGE, "--computed wants numbers of steps, not \"%.60s\"", call->asked),
                "as in --computed 6,8,10");
        call->computed[call->count++] = (int)number;
        at = *end ? end + 1 : end;
    }
    return DIT_OK;
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

/* Adds a setting and returns it; its "cache" is what a workload takes. */
static cJSON *put_setting(tune_call *call, cJSON *settings, const dit_cache *cache)
{
    cJSON *setting = dit_json_put_object(&call->writer, settings, NULL);
    cJSON *object = dit_json_put_object(&call->writer, setting, "cache");
    dit_cache_to_json(&call->writer, cache, object);
    if (call->cli.json) return setting;
    char *text = object ? cJSON_PrintUnformatted(object) : NULL;
    if (text) printf("  %s\n", text);
    free(text);
    return setting;
}

static dit_cache defaults_of(dit_cache_policy policy, double threshold)
{
    return (dit_cache){.policy = policy, .threshold = threshold};
}

static void warn(tune_call *call, cJSON *setting, const char *text)
{
    dit_json_put_string(&call->writer, setting, "warning", text);
    if (!call->cli.json) printf("    warning: %s\n", text);
}

static void put_teacache(tune_call *call, const report_probe *probe, cJSON *settings)
{
    dit_polynomial fit;
    dit_cache cache = defaults_of(DIT_CACHE_TEACACHE, 0.25);
    char text[160];
    int n = probe->prompts * (probe->steps - 1);
    bool fitted = dit_stats_fit_polynomial(probe->input, probe->output, n, DIT_CACHE_COEFFICIENTS, &fit);
    if (!fitted && !call->cli.json) printf("  teacache: changes of the first block's input are too few or too alike\n");
    if (!fitted) return;
    memcpy(cache.coefficients, fit.coefficients, sizeof cache.coefficients);
    cJSON *setting = put_setting(call, settings, &cache);
    dit_json_put_number(&call->writer, setting, "r2", fit.r2);
    dit_json_put_number(&call->writer, setting, "rmse", fit.rmse);
    dit_json_put_int(&call->writer, setting, "n", n);
    if (!call->cli.json)
        printf("    explains %.1f %% of the variance of %d changes, off by %.3g\n", 100 * fit.r2, n, fit.rmse);
    snprintf(text, sizeof text, "the input tells little of the prediction: %.0f %% of its variance", 100 * fit.r2);
    if (fit.r2 < well_explained) warn(call, setting, text);
    snprintf(text, sizeof text, "%d prompts are few: take %d or more", probe->prompts, WELL_FITTED);
    if (probe->prompts < WELL_FITTED) warn(call, setting, text);
}

static void put_magcache(tune_call *call, const report_probe *probe, cJSON *settings)
{
    dit_cache cache = defaults_of(DIT_CACHE_MAGCACHE, 0.24);
    cache.max_consecutive = 5, cache.retention = 0.1;
    cache.ratios[cache.ratio_count++] = 1;
    for (int i = 0; i + 1 < probe->steps && cache.ratio_count < DIT_CACHE_MAX_STEPS; i++)
        cache.ratios[cache.ratio_count++] = round(probe->ratios[i] * 1e5) / 1e5;
    put_setting(call, settings, &cache);
}

static dit_status put_mask(tune_call *call, const report_probe *probe, int computed, cJSON *settings)
{
    dit_cache cache = defaults_of(DIT_CACHE_MASK, 0);
    double sum;
    DIT_TRY(dit_redundancy_schedule(probe->cost, probe->steps, computed, cache.mask, &sum));
    cJSON *setting = put_setting(call, settings, &cache);
    double cost = computed < probe->steps ? sum / (probe->steps - computed) : 0;
    dit_json_put_int(&call->writer, setting, "computed", computed);
    dit_json_put_number(&call->writer, setting, "cost", cost);
    if (!call->cli.json) printf("    %d of %d steps; reused steps are off by %.3g\n", computed, probe->steps, cost);
    return DIT_OK;
}

/* Asked for, or an eighth to three quarters of all steps. */
static dit_status put_masks(tune_call *call, const report_probe *probe, cJSON *settings)
{
    static const int eighths[] = {2, 3, 4, 5, 6};
    int before = 0;
    for (int i = 0; i < call->count; i++) DIT_TRY(put_mask(call, probe, call->computed[i], settings));
    for (size_t i = 0; i < sizeof eighths / sizeof *eighths && !call->count; i++) {
        int computed = (probe->steps * eighths[i] + 4) / 8;
        if (computed > before && computed < probe->steps) DIT_TRY(put_mask(call, probe, computed, settings));
        before = computed;
    }
    return DIT_OK;
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

static dit_status tune_case(tune_call *call, const report_case *kase)
{
    report_probe probe;
    DIT_TRY(report_probe_read(kase, &probe));
    cJSON *entry = dit_json_put_object(&call->writer, call->cases, NULL);
    dit_json_put_string(&call->writer, entry, "label", kase->label);
    dit_json_put_int(&call->writer, entry, "prompts", probe.prompts);
    dit_json_put_int(&call->writer, entry, "steps", probe.steps);
    cJSON *settings = dit_json_put_array(&call->writer, entry, "settings");
    if (!call->cli.json) printf("%s: %d prompts, %d steps\n", kase->label, probe.prompts, probe.steps);
    dit_status st = DIT_OK;
    if (probe.steps > DIT_CACHE_MAX_STEPS)
        st = DIT_FAIL(DIT_ERR_UNSUPPORTED, "caches take up to %d steps", DIT_CACHE_MAX_STEPS);
    if (st == DIT_OK) {
        put_teacache(call, &probe, settings);
        put_magcache(call, &probe, settings);
        st = put_masks(call, &probe, settings);
    }
    report_probe_release(&probe);
    return st;
}

static dit_status tune_file(tune_call *call, const char *path)
{
    char digest[48];
    DIT_TRY(report_probe_digest(path, digest));
    const report_case alone = {.label = (char *)path, .probe = {.path = (char *)path, .digest = digest}};
    return tune_case(call, &alone);
}

static dit_status tune_session(tune_call *call, const char *name)
{
    suite_session session;
    report_table table = {0};
    int tuned = 0;
    DIT_TRY(suite_session_find(name, &session));
    DIT_TRY(report_table_read(session.journal, &table));
    dit_status st = DIT_OK;
    for (int i = 0; i < table.case_count && st == DIT_OK; i++) {
        if (!table.cases[i].probe.digest) continue;
        st = tune_case(call, &table.cases[i]);
        tuned++;
    }
    report_table_release(&table);
    if (st != DIT_OK || tuned) return st;
    return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "no case of %s left a probe", name),
                          "set \"probe\": true in the workload's \"measure\", or run with --set measure.probe=true");
}

static dit_status tune(tune_call *call)
{
    struct stat info;
    const char *name = call->cli.operands[0];
    DIT_TRY(read_computed(call));
    return stat(name, &info) == 0 && S_ISREG(info.st_mode) ? tune_file(call, name) : tune_session(call, name);
}

static dit_status answer(tune_call *call)
{
    cJSON *document = NULL;
    if (!call->cli.json) return call->writer.status;
    dit_status st = dit_json_finish(&call->writer, call->root, &document);
    call->root = NULL;
    if (st == DIT_OK) suite_cli_print_json("tune", document);
    cJSON_Delete(document);
    return st;
}

int suite_verb_tune(int argc, char **argv)
{
    tune_call call = {.count = 0};
    const suite_option options[] = {{"computed", 0, SUITE_OPTION_STRING, "N,N,...",
                                     "numbers of computed steps that masks are made for (default: a quarter to three "
                                     "quarters of all)",
                                     &call.asked, 0, 0},
                                    {0}};
    const suite_cli_spec spec = {"tune", "SESSION|FILE", purpose, examples, options, 1, 1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    call.root = dit_json_new_object(&call.writer);
    call.cases = dit_json_put_array(&call.writer, call.root, "cases");
    dit_status st = tune(&call);
    if (st == DIT_OK) st = answer(&call);
    code = st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(&call.cli, st);
    cJSON_Delete(call.root);
    suite_cli_release(&call.cli);
    return code;
}
