/* ditbench golden: does the engine reproduce tensors that diffusers made? */
#include "base/json_writer.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/words.h"
#include "suite/console/cli.h"
#include "suite/launch/one_case.h"
#include "suite/machine/devices.h"
#include "suite/paths.h"
#include "suite/platform/platform.h"
#include "suite/text.h"
#include "suite/verbs/mesh_options.h"
#include "suite/verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Runs each folder that was exported from diffusers (a model case, or an end-to-end case e2e_*) and compares every\n"
    "tensor that exists on both sides. With degrees it runs on several ranks; --ranks must be the product of the\n"
    "degrees, and --ranks alone means --ulysses_degree.\n"
    "Exit: 0 all pass (skips beside passes allowed), 6 a mismatch, 77 all skipped.";

static const char examples[] = "ditbench golden golden/flux_dev golden/e2e_pixart_alpha\n"
                               "ditbench golden golden/flux_dev --ulysses_degree 2 --ring_degree 2\n"
                               "ditbench golden golden/pixart_alpha --backend ref --json";

typedef struct {
    suite_cli cli;
    suite_single_params single;
    int64_t degree[DIT_AXIS_COUNT], ranks, threads;
    suite_displaced displaced;
    dit_parallel parallel;
    const char *backend, *element, *attention, *joint_text;
    cJSON *folders; /* the answer */
    int passed, failed, skipped;
} golden_call;

/* ---- the case ---------------------------------------------------------------------------------------------------- */

static dit_status settle_ranks(golden_call *call)
{
    int64_t product = 1;
    bool given = false;
    for (int i = 0; i < DIT_AXIS_COUNT; i++) {
        given |= call->degree[i] > 0;
        if (call->degree[i] == 0) call->degree[i] = 1;
        product *= call->degree[i];
    }
    if (call->ranks > 0 && !given) {
        call->degree[DIT_AXIS_ULYSSES] = product = call->ranks;
        if (call->ranks > 1) dit_log_info("--ranks %d without degrees: ulysses_degree %d", (int)product, (int)product);
    }
    if (call->ranks > 0 && call->ranks != product)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_PRODUCT, "--ranks %d is not the product of the degrees, %d",
                        (int)call->ranks, (int)product);
    for (int i = 0; i < DIT_AXIS_COUNT; i++) call->parallel.degree[i] = (int)call->degree[i];
    if (!dit_joint_text_from_name(call->joint_text, &call->parallel.joint_text))
        return dit_fail_word(DIT_ERR_USAGE, "--joint_text", call->joint_text, dit_joint_text_names());
    DIT_TRY(suite_displaced_settle(&call->displaced, &call->parallel));
    suite_attention_settle(call->attention, &call->parallel);
    call->single.world_size = (int)product;
    int cores = suite_launch_cores();
    if (call->threads == 0) call->threads = cores > product ? cores / product : 1;
    call->single.threads_per_rank = (int)call->threads;
    return DIT_OK;
}

static dit_status make_case(const golden_call *call, const char *folder, cJSON *kase)
{
    dit_json_writer w = {0};
    char path[SUITE_PATH];
    if (!realpath(folder, path)) {
        return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "%s: %s", folder, strerror(errno)),
                              "name a folder that holds config.json or e2e.json");
    }
    dit_json_put_string(&w, kase, "schema", "ditbench.case/1");
    dit_json_put_string(&w, kase, "program", "golden");
    dit_json_put_string(&w, kase, "folder", path);
    dit_json_put_string(&w, kase, "attention", call->attention);
    cJSON *parallel = dit_json_put_object(&w, kase, "parallel");
    dit_json_put_status(&w, dit_parallel_to_json(&call->parallel, parallel));
    cJSON *platform = dit_json_put_object(&w, kase, "platform");
    dit_json_put_string(&w, platform, "name", suite_backend_platform(call->backend));
    dit_json_put_string(&w, platform, "backend", call->backend);
    if (call->element) suite_text_put(&w, platform, "element", call->element);
    dit_json_put_int(&w, platform, "threads_per_rank", call->threads);
    return w.status;
}

/* ---- the verdict ------------------------------------------------------------------------------------------------- */

/* A run without a verdict of its own: skipped with exit 77, else failed, with the engine's reason. */
static cJSON *verdict_from_error(dit_json_writer *w, const suite_outcome *outcome)
{
    suite_failure failure = suite_outcome_failure(outcome);
    const char *log = failure.status == DIT_ERR_CRASH ? failure.log : "";
    cJSON *result = dit_json_new_object(w);
    char reason[3072];
    snprintf(reason, sizeof reason, "%s: %s%s%s", failure.code, failure.message[0] ? failure.message : "no verdict",
             *log ? "\n" : "", log);
    dit_json_put_string(w, result, "verdict", outcome->status == DIT_OUTCOME_SKIPPED ? "skip" : "fail");
    dit_json_put_string(w, result, "reason", reason);
    dit_json_put_array(w, result, "tensors");
    return result;
}

static cJSON *verdict_of(dit_json_writer *w, const suite_outcome *outcome, const char *folder)
{
    const cJSON *golden = dit_json_member(outcome->record, "golden");
    const char *verdict = dit_json_text_or(golden, "verdict", NULL);
    bool usable = verdict && outcome->status != DIT_OUTCOME_TIMEOUT && outcome->status != DIT_OUTCOME_OOM &&
                  !(strcmp(verdict, "pass") == 0 && outcome->exit_code != 0);
    cJSON *result = usable ? cJSON_Duplicate(golden, true) : verdict_from_error(w, outcome);
    cJSON_DeleteItemFromObjectCaseSensitive(result, "path");
    suite_text_put(w, result, "path", folder);
    return result;
}

static void print_tensor(const cJSON *tensor)
{
    const char *name = dit_json_text_or(tensor, "name", NULL);
    const char *reason = dit_json_text_or(tensor, "reason", NULL);
    const cJSON *error = dit_json_member(tensor, "rel_l2");
    const cJSON *tolerance = dit_json_member(tensor, "tolerance");
    printf("  %-44s ", name ? name : "?");
    if (cJSON_IsNumber(error))
        printf("%10.2e", error->valuedouble);
    else
        printf("%10s", "-");
    if (cJSON_IsNumber(tolerance)) printf(" %10.0e", tolerance->valuedouble);
    bool over = !cJSON_IsNumber(error) || (cJSON_IsNumber(tolerance) && error->valuedouble > tolerance->valuedouble);
    printf("  %s%s%s\n", over ? "FAIL" : "ok", reason ? "  " : "", reason ? reason : "");
}

static void print_result(const cJSON *result, const char *folder, const char *verdict)
{
    const cJSON *tensors = dit_json_member(result, "tensors"), *tensor;
    const cJSON *worst = dit_json_member(result, "worst_rel_l2");
    const char *reason = dit_json_text_or(result, "reason", NULL);
    if (cJSON_GetArraySize(tensors) > 0) printf("  %-44s %10s %10s\n", "tensor", "rel. L2", "tolerance");
    cJSON_ArrayForEach(tensor, tensors) print_tensor(tensor);
    printf("%s: %s", folder, verdict);
    if (cJSON_IsNumber(worst) && cJSON_GetArraySize(tensors) > 0)
        printf(", worst relative L2 %.2e", worst->valuedouble);
    printf("%s%s\n\n", reason && *reason ? ": " : "", reason ? reason : "");
    fflush(stdout);
}

/* Nothing was wrong with what there is nothing to compute on. */
static bool skip_folder(dit_json_writer *w, golden_call *call, const char *folder)
{
    suite_devices devices;
    const suite_device_need need = {.ranks = call->single.world_size, .shared = true};
    char reason[640];
    if (!suite_backend_is_device(call->backend) || call->single.dry_run) return false;
    suite_devices_find(call->single.engine, call->backend, &devices);
    suite_devices_refusal(&devices, call->backend, &need, reason);
    if (!reason[0]) return false;
    cJSON *result = dit_json_put_object(w, call->folders, NULL);
    suite_text_put(w, result, "folder", folder);
    suite_text_put(w, result, "verdict", "skip");
    suite_text_put(w, result, "reason", reason);
    call->skipped++;
    if (!call->cli.json) print_result(result, folder, "skip");
    return true;
}

/* A folder of no kind that the engine knows is a wrong argument, as a missing one is, and no wrong number. */
static dit_status refuse_unknown(const suite_outcome *outcome, const char *folder)
{
    suite_failure failure = suite_outcome_failure(outcome);
    if (failure.status != DIT_ERR_NOT_FOUND) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "%s is no golden folder", folder), "%s", failure.hint);
}

static dit_status check_folder(golden_call *call, const char *folder)
{
    dit_json_writer w = {0};
    suite_outcome outcome = {0};
    if (skip_folder(&w, call, folder)) return w.status;
    cJSON *kase = dit_json_new_object(&w);
    dit_status st = kase ? make_case(call, folder, kase) : w.status;
    if (st == DIT_OK) st = suite_single_run(kase, &call->single, &outcome);
    cJSON_Delete(kase);
    if (st == DIT_OK && !call->single.dry_run) st = refuse_unknown(&outcome, folder);
    if (st == DIT_OK && !call->single.dry_run) {
        cJSON *result = verdict_of(&w, &outcome, folder);
        const char *verdict = dit_json_text_or(result, "verdict", "fail");
        *(strcmp(verdict, "pass") == 0   ? &call->passed
          : strcmp(verdict, "skip") == 0 ? &call->skipped
                                         : &call->failed) += 1;
        if (!call->cli.json) print_result(result, folder, verdict);
        dit_json_put_item(&w, call->folders, NULL, result);
    }
    suite_outcome_release(&outcome);
    return st == DIT_OK ? w.status : st;
}

static int check_all(golden_call *call)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w);
    call->folders = dit_json_put_array(&w, document, "folders");
    if (call->cli.json && call->single.dry_run) call->single.commands = dit_json_new_array(&w);
    dit_status st = w.status == DIT_OK ? settle_ranks(call) : w.status;
    for (int i = 0; i < call->cli.operand_count && st == DIT_OK; i++) st = check_folder(call, call->cli.operands[i]);
    if (st == DIT_OK && call->single.commands) st = suite_cli_print_commands(call->single.commands);
    if (st == DIT_OK && !call->single.dry_run && call->cli.json) st = suite_cli_print_json("golden", document);
    if (st == DIT_OK && !call->single.dry_run && !call->cli.json)
        printf("%d pass, %d fail, %d skip\n", call->passed, call->failed, call->skipped);
    cJSON_Delete(call->single.commands);
    cJSON_Delete(document);
    if (st != DIT_OK) return suite_cli_fail(&call->cli, st);
    if (call->single.dry_run || (call->passed && !call->failed)) return DIT_EXIT_OK;
    return call->failed ? DIT_EXIT_VERIFICATION : DIT_EXIT_SKIPPED;
}

int suite_verb_golden(int argc, char **argv)
{
    enum { OWN = 10 };
    golden_call call = {
        .backend = "cpu", .attention = "auto", .joint_text = "auto", .displaced = SUITE_DISPLACED_UNSAID};
    suite_option options[OWN + SUITE_DEGREE_OPTIONS + SUITE_DISPLACED_OPTIONS + 1] = {{0}};
    const suite_option own[] = {
        {"ranks", 'n', SUITE_OPTION_INT, "N", "product of the degrees", &call.ranks, 1, 4096},
        {"joint_text", 0, SUITE_OPTION_STRING, "HOW", "auto, split, replicate", &call.joint_text, 0, 0},
        {"attention", 0, SUITE_OPTION_STRING, "NAME", "auto, local, ulysses, ring, usp, all-gather, double-ring, dsp",
         &call.attention, 0, 0},
        {"backend", 0, SUITE_OPTION_STRING, "NAME", "cpu (default), ref, or a device's: cuda, host", &call.backend, 0,
         0},
        {"dtype", 0, SUITE_OPTION_STRING, "TYPE", "with cuda: bf16 (default), fp16 or fp32", &call.element, 0, 0},
        {"element", 0, SUITE_OPTION_STRING, "TYPE", NULL, &call.element, 0, 0},
        {"threads", 't', SUITE_OPTION_INT, "N", "threads per rank (default: cores / ranks)", &call.threads, 1, 1024},
        {"timeout", 0, SUITE_OPTION_DURATION, "TIME", "deadline of a folder (10m)", &call.single.deadline_s, 0, 0},
        {"launcher", 0, SUITE_OPTION_STRING, "NAME", "mpirun or local", &call.single.launcher, 0, 0},
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "engine program", &call.single.engine, 0, 0},
    };
    _Static_assert(sizeof own / sizeof *own <= OWN, "a place for every option");
    memcpy(options, own, sizeof own);
    suite_option *next = options + sizeof own / sizeof *own;
    next += suite_degree_options(call.degree, next);
    suite_displaced_options(&call.displaced, next);
    const suite_cli_spec spec = {"golden", "DIR...", purpose, examples, options, 1, -1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    call.single.output = call.cli.output;
    call.single.dry_run = call.cli.dry_run;
    code = check_all(&call);
    suite_cli_release(&call.cli);
    return code;
}
