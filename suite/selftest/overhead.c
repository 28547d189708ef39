#include "suite/selftest/overhead.h"

#include "base/stats.h"
#include "suite/console/progress.h"
#include "suite/launch/one_case.h"
#include "suite/paths.h"
#include "suite/run/run.h"
#include "suite/session/history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LONG_CASES = 8, EMPTY_CASES = 40 };

/* One case of one rank; how often it runs is the run's business. */
static const char workload[] =
    "{\"schema\": \"ditbench.workload/1\", \"name\": \"overhead\", \"title\": \"Cost of the harness\", \"program\": "
    "\"denoise\","
    " \"defaults\": {\"resolution\": \"64x64\", \"num_inference_steps\": 1, \"text_tokens\": 8, \"platform\": "
    "\"local-cpu\","
    "  \"threads_per_rank\": 1},"
    " \"axes\": {\"model\": [\"pixart-alpha-xl-2\"], \"method\": [\"single\"], \"world_size\": [1]},"
    " \"repeat\": {\"processes\": 1}, \"measure\": {\"warmup_runs\": 0, \"iterations\": 1, \"deadline_s\": 60}}\n";

static const char long_case[] = "{\"mean_s\":1,\"between\":0,\"within\":0,\"sleep\":true}";
static const char empty_case[] = "{\"mean_s\":1}";

static double processor_seconds(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static dit_status find_engine(const char *given, char out[SUITE_PATH])
{
    char guessed[SUITE_PATH];
    if (!given) {
        ssize_t length = readlink("/proc/self/exe", guessed, sizeof guessed - 1);
        guessed[length > 0 ? length : 0] = '\0';
        char *slash = strrchr(guessed, '/');
        if (slash) *slash = '\0';
        DIT_TRY(suite_path(out, "%s/../tests/ditbench-engine-fake", guessed));
    }
    if (suite_launch_engine(given ? given : out, guessed) == DIT_OK) return suite_path(out, "%s", guessed);
    return dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "there is no fake engine at %s", given ? given : out),
                          "`make tests` builds it into build/tests; it is never installed");
}

/* ---- while a case runs ------------------------------------------------------------------------------------------- */

/* Processor time of the harness for one case, from its launch until its record is judged. */
static dit_status run_one(const char *engine, const char *behaviour, suite_progress *progress, double *out)
{
    const suite_single_params params = {.engine = engine,
                                        .launcher = "local",
                                        .world_size = 1,
                                        .threads_per_rank = 1,
                                        .tick = suite_progress_tick,
                                        .context = progress};
    suite_outcome outcome;
    cJSON *kase = cJSON_CreateObject(); /* the fake engine needs nothing of it */
    if (!kase || setenv("DITBENCH_FAKE", behaviour, 1) != 0) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    double before = processor_seconds();
    dit_status st = suite_single_run(kase, &params, &outcome);
    *out = processor_seconds() - before;
    if (st == DIT_OK && outcome.status != DIT_OUTCOME_OK)
        st = DIT_FAIL(DIT_ERR_CRASH, "a case of the fake engine did not end well: is it the fake engine?");
    suite_outcome_release(&outcome);
    cJSON_Delete(kase);
    return st;
}

/* A case of one second less a case that ends at once: medians, for the start of a process varies more than either. */
static dit_status measure_taken(const char *engine, suite_overhead *out)
{
    double running[LONG_CASES], empty[LONG_CASES];
    suite_progress progress;
    suite_progress_init(&progress, 2 * LONG_CASES, 0, true);
    for (int i = 0; i < LONG_CASES; i++) {
        DIT_TRY(run_one(engine, empty_case, &progress, &empty[i]));
        DIT_TRY(run_one(engine, long_case, &progress, &running[i]));
    }
    out->long_cases = LONG_CASES;
    out->taken_s = dit_stats_median(running, LONG_CASES) - dit_stats_median(empty, LONG_CASES);
    out->missed = out->taken_s > SUITE_OVERHEAD_MOST;
    return DIT_OK;
}

/* ---- between cases ----------------------------------------------------------------------------------------------- */

/* The engines' own time in a session. */
static dit_status read_engines(const char *journal, double *out)
{
    suite_history history = {0};
    DIT_TRY(suite_history_load(journal, &history));
    *out = 0;
    for (int i = 0; i < history.result_count; i++)
        *out += dit_json_number_or(history.results[i].document, "elapsed_ns", 0) * 1e-9;
    suite_history_release(&history);
    return DIT_OK;
}

static dit_status measure_between(const char *folder, const char *engine, suite_signals *signals, suite_overhead *out)
{
    char file[SUITE_PATH], output[SUITE_PATH];
    double engines_s;
    suite_run_summary summary;
    DIT_TRY(suite_path(file, "%s/overhead.json", folder));
    DIT_TRY(suite_path(output, "%s/session", folder));
    const suite_run_params params = {
        .engine = engine, .launcher = "local", .output = output, .processes = EMPTY_CASES, .quiet = true};
    if (setenv("DITBENCH_FAKE", empty_case, 1) != 0) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the environment");
    DIT_TRY(suite_run_workload(file, &params, signals, &summary));
    if (signals->received) return DIT_FAIL(DIT_ERR_INTERRUPTED, "stopped by a signal");
    DIT_TRY(read_engines(summary.session.journal, &engines_s));
    out->empty_cases = EMPTY_CASES;
    out->between_s = (summary.wall_s - engines_s) / EMPTY_CASES;
    out->launch_s = engines_s / EMPTY_CASES;
    return DIT_OK;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static dit_status write_workload(const char *folder)
{
    char path[SUITE_PATH];
    DIT_TRY(suite_path(path, "%s/overhead.json", folder));
    FILE *file = fopen(path, "we");
    bool written = file && fputs(workload, file) >= 0;
    if (file && fclose(file) != 0) written = false;
    return written ? DIT_OK : DIT_FAIL(DIT_ERR_IO, "cannot write %s: %s", path, strerror(errno));
}

dit_status suite_overhead_measure(const char *engine, suite_overhead *out)
{
    char path[SUITE_PATH], folder[SUITE_PATH];
    const char *parent = getenv("TMPDIR");
    suite_signals signals;
    *out = (suite_overhead){0};
    DIT_TRY(find_engine(engine, path));
    DIT_TRY(measure_taken(path, out));
    DIT_TRY(suite_path(folder, "%s/ditbench-XXXXXX", parent && *parent == '/' ? parent : "/tmp"));
    if (!mkdtemp(folder)) return DIT_FAIL(DIT_ERR_IO, "cannot make folder %s: %s", folder, strerror(errno));
    suite_signals_block(&signals);
    dit_status st = write_workload(folder);
    if (st == DIT_OK) st = measure_between(folder, path, &signals, out);
    suite_signals_restore(&signals);
    unsetenv("DITBENCH_FAKE");
    if (suite_path_remove(folder) != DIT_OK && st == DIT_OK) st = dit_error_last()->status;
    return st;
}
