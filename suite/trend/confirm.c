#include "suite/trend/confirm.h"

#include "base/json_writer.h"
#include "base/log.h"
#include "suite/machine/environment.h"
#include "suite/session/history.h"
#include "suite/session/session.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Words after which the place of a session stands. */
static bool is_output(const char *word)
{
    return strcmp(word, "--output") == 0 || strcmp(word, "-o") == 0;
}

static dit_status copy_words(const cJSON *words, cJSON **out)
{
    dit_json_writer w = {0};
    if (!cJSON_GetArraySize(words)) return DIT_OK;
    cJSON *list = dit_json_new_array(&w);
    for (const cJSON *word = words->child; word; word = word->next) {
        if (!cJSON_IsString(word) || strncmp(word->valuestring, "--output=", 9) == 0) continue;
        if (is_output(word->valuestring) && word->next)
            word = word->next;
        else
            dit_json_put_string(&w, list, NULL, word->valuestring);
    }
    return dit_json_finish(&w, list, out);
}

static dit_status load(const char *name, suite_history *out)
{
    suite_session session;
    DIT_TRY(suite_session_find(name, &session));
    return suite_history_load(session.journal, out);
}

dit_status suite_confirm_words(const char *session, cJSON **out)
{
    suite_history history = {0};
    *out = NULL;
    DIT_TRY(load(session, &history));
    dit_status st = copy_words(dit_json_member(history.session, "cmdline"), out);
    suite_history_release(&history);
    return st;
}

/* ---- whether it can be run again here ---------------------------------------------------------------------------- */

static const char *text_of(const cJSON *object, const char *key)
{
    return dit_json_text_or(object, key, "");
}

static dit_status check_machine(const cJSON *session, const char *name)
{
    cJSON *here = NULL;
    const char *then = text_of(dit_json_member(session, "hardware"), "hardware_id");
    DIT_TRY(suite_environment_hardware(&here));
    bool same = strcmp(text_of(here, "hardware_id"), then) == 0;
    cJSON_Delete(here);
    if (same) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "session %s ran on other hardware (%s)", name, then),
                          "run its command there");
}

static dit_status check_build(const cJSON *session, const char *name)
{
    cJSON *here = NULL;
    const cJSON *then = dit_json_member(session, "suite");
    DIT_TRY(suite_environment_suite(&here));
    bool same = strcmp(text_of(here, "commit"), text_of(then, "commit")) == 0 &&
                dit_json_is_true(here, "dirty") == dit_json_is_true(then, "dirty");
    cJSON_Delete(here);
    if (same) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "session %s is of another build: %s%s", name,
                                   text_of(then, "commit"), dit_json_is_true(then, "dirty") ? " with changes" : ""),
                          "build that commit, and ask it to confirm");
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* The journal names the words, but never the program. Its answer belongs to whoever asked it, and that is this one. */
static dit_status spawn(char *const *argv, int *exit_code)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    int failed = posix_spawn(&child, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) return DIT_FAIL(DIT_ERR_ENVIRONMENT, "cannot start ditbench again: %s", strerror(failed));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return DIT_FAIL(DIT_ERR_ENVIRONMENT, "lost the second run: %s", strerror(errno));
    *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return DIT_OK;
}

static dit_status run_words(const cJSON *words, const char *name, int *exit_code)
{
    const char *verb = words && words->child ? words->child->valuestring : "";
    if (strcmp(verb, "run") != 0)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "session %s was not made by `ditbench run`, and only that is run again",
                        name);
    char program[] = "ditbench", **argv = calloc((size_t)cJSON_GetArraySize(words) + 2, sizeof *argv);
    if (!argv) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a command");
    int count = 0;
    argv[count++] = program;
    for (const cJSON *word = words->child; word; word = word->next) argv[count++] = word->valuestring;
    dit_status st = spawn(argv, exit_code);
    free(argv);
    return st;
}

dit_status suite_confirm_run(const char *name, int *exit_code)
{
    suite_history history = {0};
    cJSON *words = NULL;
    DIT_TRY(load(name, &history));
    dit_status st = check_machine(history.session, name);
    if (st == DIT_OK) st = check_build(history.session, name);
    if (st == DIT_OK) st = copy_words(dit_json_member(history.session, "cmdline"), &words);
    suite_history_release(&history);
    if (st == DIT_OK) dit_log_info("running again what made session %s", name);
    if (st == DIT_OK) st = run_words(words, name, exit_code);
    cJSON_Delete(words);
    return st;
}
