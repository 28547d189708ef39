#include "suite/launch/build.h"

#include "base/log.h"
#include "suite/launch/launch.h"
#include "suite/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const double build_deadline_s = 3600;
enum { COMMIT_BYTES = 41, LOG_TAIL = 1500 };

static bool is_program(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, X_OK) == 0;
}

/* In a build folder, or in the root of a source tree that has one; `name` itself when it is a program. */
static dit_status find_in_folder(const char *name, char engine[SUITE_PATH], bool *found)
{
    *found = true;
    DIT_TRY(suite_path(engine, "%s", name));
    if (is_program(engine)) return DIT_OK;
    DIT_TRY(suite_path(engine, "%s/bin/ditbench-engine", name));
    if (is_program(engine)) return DIT_OK;
    DIT_TRY(suite_path(engine, "%s/build/bin/ditbench-engine", name));
    *found = is_program(engine);
    return DIT_OK;
}

/* ---- commits ----------------------------------------------------------------------------------------------------- */

/* Runs a command with its output in `log`. Sets *good to whether it ended well. */
static dit_status run_logged(const char *const *argv, const char *log, suite_signals *signals, bool *good)
{
    suite_process_result result = {0};
    const suite_process_params params = {.argv = (char *const *)(uintptr_t)argv,
                                         .attempt = log,
                                         .log_path = log,
                                         .deadline_s = build_deadline_s,
                                         .signals = signals};
    DIT_TRY(suite_process_run(&params, &result));
    if (result.end == SUITE_PROCESS_INTERRUPTED) return DIT_FAIL(DIT_ERR_INTERRUPTED, "stopped while building");
    *good = result.end == SUITE_PROCESS_EXITED && result.exit_code == 0;
    return DIT_OK;
}

/* The full name of a commit of the repository around the current folder; "" when git knows none of that name. */
static dit_status resolve_commit(const char *name, const char *log, char commit[COMMIT_BYTES])
{
    char revision[256];
    bool good = false;
    snprintf(revision, sizeof revision, "%s^{commit}", name);
    const char *const argv[] = {"git", "rev-parse", "--verify", "--quiet", "--end-of-options", revision, NULL};
    commit[0] = '\0';
    unlink(log);
    DIT_TRY(run_logged(argv, log, NULL, &good));
    if (good) suite_text_tail(log, commit, COMMIT_BYTES);
    unlink(log);
    commit[strcspn(commit, "\n")] = '\0';
    return DIT_OK;
}

static dit_status fail_build(const char *what, const char *commit, const char *log)
{
    char tail[LOG_TAIL];
    suite_text_tail(log, tail, sizeof tail);
    dit_status st = DIT_FAIL(DIT_ERR_ENVIRONMENT, "%s of commit %.12s failed:\n%s", what, commit, tail);
    return dit_error_hint(st, "the whole log is %s", log);
}

static dit_status build_commit(const char *commit, const char *folder, const char *log, suite_signals *signals)
{
    char jobs[16];
    bool good = false;
    snprintf(jobs, sizeof jobs, "-j%d", suite_launch_cores());
    const char *const checkout[] = {"git", "worktree", "add", "--force", "--detach", folder, commit, NULL};
    const char *const build[] = {"make", "-C", folder, jobs, "CUDA=0", "all", NULL};
    dit_log_info("building commit %.12s in %s", commit, folder);
    DIT_TRY(suite_path_remove(folder));
    DIT_TRY(run_logged(checkout, log, signals, &good));
    if (!good) return fail_build("the checkout", commit, log);
    DIT_TRY(run_logged(build, log, signals, &good));
    return good ? DIT_OK : fail_build("the build", commit, log);
}

static dit_status find_commit(const char *name, suite_signals *signals, char engine[SUITE_PATH])
{
    char cache[SUITE_PATH], folder[SUITE_PATH], log[SUITE_PATH], commit[COMMIT_BYTES];
    bool found = false;
    DIT_TRY(suite_cache_folder("builds", cache));
    DIT_TRY(suite_path_make(cache));
    DIT_TRY(suite_path(log, "%s/git.%d.log", cache, (int)getpid()));
    DIT_TRY(resolve_commit(name, log, commit));
    if (!commit[0])
        return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "%s is no engine, no build folder, and no commit", name),
                              "name build/bin/ditbench-engine of a source tree, its root, or what git knows; or a "
                              "setting with '=', as num_inference_steps=2");
    DIT_TRY(suite_path(folder, "%s/%s", cache, commit));
    DIT_TRY(find_in_folder(folder, engine, &found));
    if (found) return DIT_OK;
    DIT_TRY(suite_path(log, "%s/%s.log", cache, commit));
    DIT_TRY(build_commit(commit, folder, log, signals));
    return find_in_folder(folder, engine, &found);
}

dit_status suite_build_find(const char *name, suite_signals *signals, char engine[SUITE_PATH])
{
    bool found = false;
    DIT_TRY(find_in_folder(name, engine, &found));
    return found ? DIT_OK : find_commit(name, signals, engine);
}
