#include "suite/launch/process.h"

#include "base/clock.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { TICK_MS = 100, KILL_ROUNDS = 1000, KILL_PAUSE_MS = 10 };

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static void watched_set(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
}

void suite_signals_block(suite_signals *signals)
{
    sigset_t set;
    watched_set(&set);
    *signals = (suite_signals){0};
    sigprocmask(SIG_BLOCK, &set, &signals->before);
}

void suite_signals_restore(suite_signals *signals)
{
    sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

/* Waits up to `milliseconds` for a watched signal and counts it. */
static void wait_signal(suite_signals *signals, int milliseconds)
{
    sigset_t set;
    watched_set(&set);
    struct timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    int number = sigtimedwait(&set, NULL, &limit);
    if (number != SIGINT && number != SIGTERM) return;
    if (!signals->received) signals->received = number;
    signals->count++;
}

int suite_signals_poll(suite_signals *signals)
{
    sigset_t pending;
    for (;;) {
        sigpending(&pending);
        if (!sigismember(&pending, SIGINT) && !sigismember(&pending, SIGTERM)) return signals->received;
        wait_signal(signals, 0);
    }
}

/* ---- what is alive ----------------------------------------------------------------------------------------------- */

typedef struct {
    pid_t pid, parent;
    char state;
    uint64_t start_time;
} process_facts;

static bool read_facts(pid_t pid, process_facts *out)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0) return false;
    text[length] = '\0';
    const char *after_name = strrchr(text, ')'); /* the name may hold anything */
    int parent;
    unsigned long long start;
    if (!after_name ||
        sscanf(after_name + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &out->state, &parent, &start) != 3)
        return false;
    out->pid = pid;
    out->parent = parent;
    out->start_time = start;
    return true;
}

uint64_t suite_process_start_time(pid_t pid)
{
    process_facts facts;
    return read_facts(pid, &facts) ? facts.start_time : 0;
}

/* All processes of the machine; *out from malloc. */
static int list_processes(process_facts **out)
{
    DIR *folder = opendir("/proc");
    int count = 0, capacity = 0;
    *out = NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        if (*end || pid <= 0) continue;
        if (count == capacity) {
            process_facts *grown = realloc(*out, sizeof **out * (size_t)(capacity = capacity * 2 + 64));
            if (!grown) break;
            *out = grown;
        }
        count += read_facts((pid_t)pid, &(*out)[count]);
    }
    if (folder) closedir(folder);
    return count;
}

/* True when the environment of `pid` has an item that starts with the first `length` bytes of `wanted`. */
static bool has_item(pid_t pid, const char *wanted, size_t length)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *file = fopen(path, "re");
    char *item = NULL;
    size_t capacity = 0;
    bool found = false;
    while (file && !found && getdelim(&item, &capacity, '\0', file) > 0) found = strncmp(item, wanted, length) == 0;
    free(item);
    if (file) fclose(file);
    return found;
}

/* True when the environment of `pid` has DITBENCH_ATTEMPT starting with `prefix`. */
static bool has_attempt(pid_t pid, const char *prefix)
{
    char wanted[4200];
    int length = snprintf(wanted, sizeof wanted, "DITBENCH_ATTEMPT=%s", prefix);
    return has_item(pid, wanted, (size_t)length);
}

char suite_process_state(const char *attempt, const char *variable, int value)
{
    process_facts *all;
    char wanted[128], state = 0;
    int length = snprintf(wanted, sizeof wanted, "%s=%d", variable, value), count = list_processes(&all);
    for (int i = 0; i < count && !state; i++)
        if (has_attempt(all[i].pid, attempt) && has_item(all[i].pid, wanted, (size_t)length + 1)) state = all[i].state;
    free(all);
    return state;
}

static bool descends_from(const process_facts *all, int count, int index, pid_t ancestor)
{
    pid_t parent = all[index].parent;
    for (int depth = 0; depth < 1000 && parent > 1; depth++) {
        if (parent == ancestor) return true;
        int at = 0;
        while (at < count && all[at].pid != parent) at++;
        if (at == count) return false;
        parent = all[at].parent;
    }
    return false;
}

static void reap_all(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
}

/* Kills, until nothing is left, the descendants of this process (when `own`) and everything marked with `attempt`. */
static int kill_everything(bool own, const char *attempt)
{
    int killed = 0, alive = 1;
    for (int round = 0; alive && round < KILL_ROUNDS; round++) {
        process_facts *all;
        int count = list_processes(&all);
        alive = 0;
        for (int i = 0; i < count; i++) {
            if (all[i].pid == getpid() || all[i].state == 'Z') continue;
            if (!(own && descends_from(all, count, i, getpid())) && !has_attempt(all[i].pid, attempt)) continue;
            alive++;
            killed += round == 0;
            kill(all[i].pid, SIGKILL);
        }
        free(all);
        if (own) reap_all();
        if (alive) nanosleep(&(struct timespec){0, KILL_PAUSE_MS * 1000000L}, NULL);
    }
    if (alive) dit_log_warning("%d processes of %s do not end", alive, attempt);
    return killed;
}

int suite_process_sweep(const char *prefix)
{
    return kill_everything(false, prefix);
}

/* ---- start and wait ---------------------------------------------------------------------------------------------- */

static int64_t oom_kills(void)
{
    FILE *file = fopen("/proc/vmstat", "re");
    char line[128];
    int64_t count = 0;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "oom_kill %" SCNd64, &count) == 1) break;
    }
    if (file) fclose(file);
    return count;
}

/* In the child: never returns. Only async-signal-safe calls. */
static void become_command(const suite_process_params *params, char *const *env, pid_t harness, int log_fd,
                           int report_fd)
{
    sigset_t none;
    sigemptyset(&none);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != harness) _exit(127);
    int null_fd = open("/dev/null", O_RDONLY);
    if (null_fd >= 0) dup2(null_fd, STDIN_FILENO);
    dup2(params->stdout_fd > 0 ? params->stdout_fd : log_fd, STDOUT_FILENO);
    dup2(log_fd, STDERR_FILENO);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (!params->folder || chdir(params->folder) == 0) execvpe(params->argv[0], params->argv, env);
    int error = errno;
    if (write(report_fd, &error, sizeof error) < 0) _exit(126);
    _exit(127);
}

/* environ with `params`' additions first; the array from malloc, `marker` stays the caller's. */
static char **build_environment(const suite_process_params *params, char *marker)
{
    size_t inherited = 0, added = 0, used = 0;
    while (environ[inherited]) inherited++;
    while (params->env && params->env[added]) added++;
    char **env = calloc(inherited + added + 2, sizeof *env);
    if (!env) return NULL;
    env[used++] = marker;
    for (size_t i = 0; i < added; i++) env[used++] = params->env[i];
    for (size_t i = 0; i < inherited; i++) {
        size_t name = strcspn(environ[i], "=") + 1;
        bool replaced = false;
        for (size_t k = 0; k <= added && !replaced; k++) replaced = strncmp(env[k], environ[i], name) == 0;
        if (!replaced) env[used++] = environ[i];
    }
    return env;
}

/* Reads what the child reports when exec fails; 0 when exec worked. */
static int exec_error(int report_fd)
{
    int error = 0;
    ssize_t length;
    do length = read(report_fd, &error, sizeof error);
    while (length < 0 && errno == EINTR);
    return length == (ssize_t)sizeof error ? error : 0;
}

static dit_status start(const suite_process_params *params, pid_t *out)
{
    char marker[4200];
    int report[2];
    snprintf(marker, sizeof marker, "DITBENCH_ATTEMPT=%s", params->attempt);
    int log_fd = open(params->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (log_fd < 0) return DIT_FAIL(DIT_ERR_IO, "cannot write %s: %s", params->log_path, strerror(errno));
    char **env = build_environment(params, marker);
    if (!env || pipe2(report, O_CLOEXEC) != 0) {
        free(env);
        close(log_fd);
        return DIT_FAIL(DIT_ERR_MEMORY, "cannot start %s", params->argv[0]);
    }
    pid_t harness = getpid(), pid = fork();
    if (pid == 0) become_command(params, env, harness, log_fd, report[1]);
    int fork_errno = errno;
    close(report[1]);
    close(log_fd);
    free(env);
    int error = pid < 0 ? fork_errno : exec_error(report[0]);
    close(report[0]);
    *out = pid;
    if (!error) return DIT_OK;
    if (pid > 0) waitpid(pid, NULL, 0);
    return DIT_FAIL(DIT_ERR_ENVIRONMENT, "cannot start %s: %s", params->argv[0], strerror(error));
}

typedef struct {
    const suite_process_params *params;
    suite_signals *signals;
    pid_t leader;
    int wait_status;
    bool gone;
} process_watch;

/* Reaps what has ended; remembers how the leader did. */
static void reap(process_watch *watch)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid != watch->leader) continue;
        watch->gone = true;
        watch->wait_status = status;
    }
}

/* SIGTERM to the group, then up to the grace time for an orderly end; a second signal of the user's ends it. */
static void stop(process_watch *watch)
{
    double grace_s = watch->params->grace_s > 0 ? watch->params->grace_s : 3.0;
    int64_t limit = dit_clock_ns() + (int64_t)(grace_s * 1e9);
    int signals_before = watch->signals->count;
    kill(-watch->leader, SIGTERM);
    for (reap(watch); !watch->gone && dit_clock_ns() < limit; reap(watch)) {
        wait_signal(watch->signals, TICK_MS);
        if (watch->signals->count > signals_before) break;
    }
}

/* Waits for the leader; returns how it ended. */
static suite_process_end wait_leader(process_watch *watch, int64_t started)
{
    const suite_process_params *params = watch->params;
    for (reap(watch); !watch->gone; reap(watch)) {
        double elapsed_s = (double)(dit_clock_ns() - started) * 1e-9;
        bool late = params->deadline_s > 0 && elapsed_s > params->deadline_s;
        if (late || watch->signals->received) {
            if (late && params->late) params->late(params->late_context, watch->leader);
            stop(watch);
            return watch->signals->received ? SUITE_PROCESS_INTERRUPTED : SUITE_PROCESS_TIMEOUT;
        }
        if (params->tick) params->tick(params->context, elapsed_s);
        int pause_ms = TICK_MS;
        if (params->deadline_s > 0 && (params->deadline_s - elapsed_s) * 1e3 < pause_ms)
            pause_ms = (int)((params->deadline_s - elapsed_s) * 1e3) + 1;
        wait_signal(watch->signals, pause_ms);
    }
    return WIFSIGNALED(watch->wait_status) ? SUITE_PROCESS_SIGNALED : SUITE_PROCESS_EXITED;
}

dit_status suite_process_run(const suite_process_params *params, suite_process_result *out)
{
    suite_signals own = {0};
    suite_signals *signals = params->signals ? params->signals : &own;
    process_watch watch = {.params = params, .signals = signals};
    *out = (suite_process_result){0};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!params->signals) { /* SIGCHLD alone must be blocked for the wait; others keep their effect */
        sigset_t child;
        sigemptyset(&child);
        sigaddset(&child, SIGCHLD);
        sigprocmask(SIG_BLOCK, &child, &own.before);
    }
    int64_t started = dit_clock_ns(), oom_before = oom_kills();
    dit_status st = start(params, &watch.leader);
    if (st == DIT_OK) {
        out->end = wait_leader(&watch, started);
        out->elapsed_ns = dit_clock_ns() - started;
        out->leftovers = kill_everything(true, params->attempt);
        if (WIFEXITED(watch.wait_status)) out->exit_code = WEXITSTATUS(watch.wait_status);
        if (watch.gone && WIFSIGNALED(watch.wait_status)) out->signal_number = WTERMSIG(watch.wait_status);
        out->oom_killed = oom_kills() > oom_before;
    }
    if (!params->signals) sigprocmask(SIG_SETMASK, &own.before, NULL);
    return st;
}
