#include "suite/launch/one_case.h"

#include "base/json_writer.h"
#include "suite/launch/scratch.h"
#include "suite/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dit_status make_folder(const suite_single_params *params, char out[SUITE_PATH])
{
    char wanted[SUITE_PATH];
    const char *parent = getenv("TMPDIR");
    if (params->output) {
        DIT_TRY(suite_path_make(params->output));
        return realpath(params->output, out) ? DIT_OK : DIT_FAIL(DIT_ERR_IO, "%s: %s", params->output, strerror(errno));
    }
    DIT_TRY(suite_path(wanted, "%s/ditbench-XXXXXX", parent && *parent == '/' ? parent : "/tmp"));
    if (!mkdtemp(wanted)) return DIT_FAIL(DIT_ERR_IO, "cannot make folder %s: %s", wanted, strerror(errno));
    return suite_path(out, "%s", wanted);
}

/* The command as text into `commands`, or on stdout. */
static dit_status tell_command(const suite_launcher *launcher, const suite_launch_plan *plan, cJSON *commands)
{
    dit_json_writer w = {0};
    suite_command command = {0};
    char *text = NULL;
    size_t size = 0;
    dit_status st = launcher->command(plan, &command);
    FILE *file = st == DIT_OK ? open_memstream(&text, &size) : NULL;
    if (st == DIT_OK && !file) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a command");
    if (file) {
        suite_command_print(&command, file);
        fclose(file);
    }
    if (file && commands)
        dit_json_put_string(&w, commands, NULL, text);
    else if (file)
        puts(text);
    free(text);
    suite_command_release(&command);
    return st == DIT_OK ? w.status : st;
}

/* Old records in a folder of the user's must not be taken for new ones. */
static dit_status remove_old(const char *folder)
{
    static const char *const names[] = {"record.json", "error.json", "engine.log", NULL};
    char path[SUITE_PATH];
    for (int i = 0; names[i]; i++) {
        DIT_TRY(suite_path(path, "%s/%s", folder, names[i]));
        DIT_TRY(suite_path_remove(path));
    }
    return DIT_OK;
}

static dit_status run_in(const char *folder, const cJSON *kase, const suite_single_params *params,
                         const suite_launcher *launcher, suite_launch_plan *plan, suite_outcome *out)
{
    char case_file[SUITE_PATH];
    suite_signals signals;
    suite_launch_options options = {.deadline_s = params->deadline_s > 0 ? params->deadline_s : 600,
                                    .stdout_fd = params->stdout_fd,
                                    .tick = params->tick,
                                    .context = params->context,
                                    .signals = &signals};
    DIT_TRY(suite_path(case_file, "%s/case.json", folder));
    plan->case_file = case_file;
    plan->out_dir = folder;
    if (params->dry_run) return tell_command(launcher, plan, params->commands);
    DIT_TRY(remove_old(folder));
    DIT_TRY(dit_json_write_file(kase, case_file, false));
    suite_signals_block(&signals);
    dit_status st = suite_launch_run(launcher, plan, &options, out);
    suite_signals_restore(&signals);
    if (st == DIT_OK && out->interrupted) st = DIT_FAIL(DIT_ERR_INTERRUPTED, "stopped by a signal");
    return st;
}

dit_status suite_single_run(const cJSON *kase, const suite_single_params *params, suite_outcome *out)
{
    char engine[SUITE_PATH], folder[SUITE_PATH] = "FOLDER";
    const suite_launcher *launcher;
    suite_launch_plan plan = {
        .engine = engine,
        .world_size = params->world_size,
        .threads_per_rank = params->threads_per_rank,
        .cores = suite_launch_cores(),
        .single_copy = suite_launch_single_copy(),
    };
    *out = (suite_outcome){0};
    DIT_TRY(suite_launcher_find(params->launcher ? params->launcher : "mpirun", &launcher));
    DIT_TRY(suite_launch_engine(params->engine, engine));
    if (!params->dry_run) DIT_TRY(make_folder(params, folder));
    dit_status st = run_in(folder, kase, params, launcher, &plan, out);
    if (!params->dry_run && !params->output) suite_path_remove(folder);
    suite_scratch_close();
    return st;
}
