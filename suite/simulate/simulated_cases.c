#include "suite/simulate/simulated_cases.h"

#include "base/clock.h"
#include "base/json.h"
#include "suite/launch/process_pool.h"
#include "suite/launch/scratch.h"
#include "suite/paths.h"
#include "suite/platform/platform.h"
#include "suite/workload/programs/program.h"

#include <string.h>

static const char *platform_word(const suite_case *one, const char *key)
{
    const cJSON *platform = dit_json_member(one->document, "platform");
    const char *word = dit_json_text_or(platform, key, NULL);
    return word ? word : "";
}

bool suite_batch_is_planned(const suite_case *one)
{
    return suite_program_of_case(one->document)->plan;
}

dit_status suite_batch_plan(const suite_case *one, const char *out_dir, char engine[SUITE_PATH], suite_launch_plan *out)
{
    suite_platform platform;
    engine[0] = '\0';
    if (!suite_batch_is_planned(one)) DIT_TRY(suite_simulate_engine(NULL, engine));
    DIT_TRY(suite_platform_load(platform_word(one, "name"), &platform));
    *out = (suite_launch_plan){.engine = engine,
                               .out_dir = out_dir,
                               .world_size = one->world_size,
                               .threads_per_rank = 1,
                               .simulated = true,
                               .device_memory_bytes = platform.memory_per_device ? platform.memory_bytes : 0};
    return DIT_OK;
}

dit_status suite_batch_prepare(const suite_case *one, const suite_calibration *calibration, const char *out_dir)
{
    const suite_simulate_params params = {.element = platform_word(one, "element"), .calibration = calibration};
    return suite_simulate_prepare(&params, out_dir, one->document, one->world_size, platform_word(one, "name"),
                                  platform_word(one, "profile"));
}

/* ---- in the job -------------------------------------------------------------------------------------------------- */

/* What a job tells. */
typedef struct {
    char started[32];
    suite_process_result process;
} batch_result;

/* When a plan has to be there, and who may stop it. */
typedef struct {
    int64_t started;
    double deadline_s;
    suite_signals *signals;
} plan_limits;

static dit_status ask_limits(void *context)
{
    const plan_limits *limits = context;
    if (suite_signals_poll(limits->signals)) return DIT_FAIL(DIT_ERR_INTERRUPTED, "stopped by a signal");
    if (!(limits->deadline_s > 0) || (double)(dit_clock_ns() - limits->started) * 1e-9 < limits->deadline_s)
        return DIT_OK;
    return DIT_FAIL(DIT_ERR_TIMEOUT, "no plan within %g s", limits->deadline_s);
}

static dit_status plan_one(const suite_batch_item *item, const suite_calibration *calibration, suite_signals *signals,
                           suite_process_result *out)
{
    const dit_json document = {.root = item->kase->document, .path = (char *)"<case>"};
    plan_limits limits = {dit_clock_ns(), item->deadline_s, signals};
    const suite_layers_watch watch = {ask_limits, &limits};
    suite_cluster cluster = {0};
    DIT_TRY(suite_cluster_load(platform_word(item->kase, "name"), &cluster));
    suite_calibration_cluster(calibration, &cluster);
    dit_status st =
        suite_program_of_case(item->kase->document)->plan(&document, &cluster, &watch, item->out_dir, &out->exit_code);
    suite_cluster_release(&cluster);
    out->end = st == DIT_ERR_TIMEOUT       ? SUITE_PROCESS_TIMEOUT
               : st == DIT_ERR_INTERRUPTED ? SUITE_PROCESS_INTERRUPTED
                                           : SUITE_PROCESS_EXITED;
    out->elapsed_ns = dit_clock_ns() - limits.started;
    return out->end == SUITE_PROCESS_EXITED ? st : DIT_OK;
}

static dit_status run_one(int job, suite_signals *signals, void *result, void *context)
{
    const suite_batch *batch = context;
    const suite_batch_item *item = &batch->items[job];
    const suite_launch_options options = {.deadline_s = item->deadline_s, .signals = signals};
    batch_result *out = result;
    const suite_launcher *launcher;
    suite_launch_plan plan;
    char engine[SUITE_PATH];
    dit_clock_utc(out->started);
    DIT_TRY(suite_path_remove(item->out_dir)); /* what a killed harness left half done */
    DIT_TRY(suite_path_make(item->out_dir));
    DIT_TRY(suite_launcher_find("smpirun", &launcher));
    DIT_TRY(suite_batch_plan(item->kase, item->out_dir, engine, &plan));
    DIT_TRY(suite_batch_prepare(item->kase, batch->calibration, item->out_dir));
    if (suite_batch_is_planned(item->kase)) return plan_one(item, batch->calibration, signals, &out->process);
    dit_status st = suite_launch_process(launcher, &plan, &options, &out->process);
    suite_scratch_close();
    return st;
}

/* ---- in the caller ----------------------------------------------------------------------------------------------- */

static bool ends_everything(dit_status st)
{
    return st == DIT_ERR_IO || st == DIT_ERR_MEMORY || st == DIT_ERR_ENVIRONMENT;
}

static dit_status judge_one(const suite_batch_item *item, const suite_process_result *process, suite_outcome *out)
{
    const suite_launch_options options = {.deadline_s = item->deadline_s};
    suite_launch_plan plan;
    char engine[SUITE_PATH];
    DIT_TRY(suite_batch_plan(item->kase, item->out_dir, engine, &plan));
    suite_launch_judge(&plan, &options, process, out);
    return DIT_OK;
}

static dit_status finish_one(int job, dit_status st, const void *result, void *context)
{
    const suite_batch *batch = context;
    const suite_batch_item *item = &batch->items[job];
    const batch_result *told = result;
    suite_outcome outcome = {0};
    char now[32];
    if (ends_everything(st)) return st;
    if (st == DIT_OK) DIT_TRY(judge_one(item, &told->process, &outcome));
    if (st != DIT_OK) suite_outcome_fail(&outcome, st, dit_error_last()->message);
    dit_error_clear();
    dit_clock_utc(now);
    st = outcome.interrupted ? DIT_OK : batch->done(job, told ? told->started : now, &outcome, batch->context);
    suite_outcome_release(&outcome);
    return st;
}

static bool goes_on(void *context)
{
    const suite_batch *batch = context;
    return !batch->goes_on || batch->goes_on(batch->context);
}

static void tick(void *context)
{
    const suite_batch *batch = context;
    if (batch->tick) batch->tick(batch->context);
}

dit_status suite_batch_run(const suite_batch *batch)
{
    const suite_jobs jobs = {.count = batch->count,
                             .at_once = batch->at_once,
                             .result_bytes = sizeof(batch_result),
                             .context = (void *)(uintptr_t)batch,
                             .run = run_one,
                             .done = finish_one,
                             .goes_on = goes_on,
                             .tick = tick,
                             .signals = batch->signals};
    dit_status st = suite_jobs_run(&jobs);
    if (st != DIT_ERR_INTERRUPTED) return st;
    dit_error_clear();
    return DIT_OK;
}
