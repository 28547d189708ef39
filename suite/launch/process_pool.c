#include "suite/launch/process_pool.h"

#include "suite/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLL_MS = 100, MOST_AT_ONCE = 1024 };

/* What a job says through its pipe before its result, which lies behind it and may be of any type. */
typedef struct {
    _Alignas(max_align_t) dit_status status;
    char message[2000], hint[400];
} job_report;

typedef struct {
    pid_t pid; /* 0: free */
    int job, pipe;
    size_t length; /* of what has come */
    char *bytes;   /* report and result */
} job_slot;

typedef struct {
    const suite_jobs *jobs;
    job_slot *slots;
    int slot_count, next;
    bool closed; /* no more jobs are started */
    suite_signals own, *signals;
} job_pool;

static size_t answer_bytes(const suite_jobs *jobs)
{
    return sizeof(job_report) + jobs->result_bytes;
}

/* ---- in the job -------------------------------------------------------------------------------------------------- */

static void say(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);
        if (written < 0 && errno != EINTR) _exit(DIT_EXIT_ENVIRONMENT);
        if (written > 0) bytes += written, length -= (size_t)written;
    }
}

/* Never returns; nothing of the caller's is flushed or released twice. */
static void run_job(const job_pool *pool, int job, pid_t caller, int fd)
{
    suite_signals signals = {0};
    job_report report = {.status = DIT_OK};
    char *result = calloc(1, pool->jobs->result_bytes + 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (!result || getppid() != caller) _exit(DIT_EXIT_ENVIRONMENT);
    suite_signals_block(&signals);
    dit_error_clear();
    report.status = pool->jobs->run(job, &signals, result, pool->jobs->context);
    if (report.status != DIT_OK) {
        snprintf(report.message, sizeof report.message, "%s", dit_error_last()->message);
        snprintf(report.hint, sizeof report.hint, "%s", dit_error_last()->hint);
    }
    say(fd, (const char *)&report, sizeof report);
    say(fd, result, pool->jobs->result_bytes);
    _exit(0);
}

/* ---- in the caller ----------------------------------------------------------------------------------------------- */

static dit_status start_job(job_pool *pool, job_slot *slot)
{
    int ends[2];
    pid_t caller = getpid();
    slot->job = pool->next;
    slot->length = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) return DIT_FAIL(DIT_ERR_ENVIRONMENT, "cannot make a pipe: %s", strerror(errno));
    fflush(NULL);
    slot->pid = fork();
    if (slot->pid == 0) {
        close(ends[0]);
        run_job(pool, slot->job, caller, ends[1]);
    }
    int error = errno;
    close(ends[1]);
    slot->pipe = ends[0];
    if (slot->pid > 0) {
        pool->next++;
        return DIT_OK;
    }
    close(ends[0]);
    slot->pid = 0;
    return DIT_FAIL(DIT_ERR_ENVIRONMENT, "cannot make a process: %s", strerror(error));
}

static dit_status fill_slots(job_pool *pool)
{
    const suite_jobs *jobs = pool->jobs;
    for (int i = 0; i < pool->slot_count && pool->next < jobs->count && !pool->closed; i++) {
        if (pool->slots[i].pid) continue;
        pool->closed = jobs->goes_on && !jobs->goes_on(jobs->context);
        if (!pool->closed) DIT_TRY(start_job(pool, &pool->slots[i]));
    }
    return DIT_OK;
}

static void end_slot(job_slot *slot)
{
    close(slot->pipe);
    while (waitpid(slot->pid, NULL, 0) < 0 && errno == EINTR) continue;
    slot->pid = 0;
}

/* A job that ended without its whole answer died. */
static dit_status finish_job(job_pool *pool, job_slot *slot)
{
    const suite_jobs *jobs = pool->jobs;
    job_report report;
    end_slot(slot);
    dit_error_clear();
    if (slot->length < answer_bytes(jobs))
        return jobs->done(slot->job, DIT_FAIL(DIT_ERR_CRASH, "job %d ended before its time", slot->job), NULL,
                          jobs->context);
    memcpy(&report, slot->bytes, sizeof report);
    if (report.status != DIT_OK) {
        DIT_FAIL(report.status, "%s", report.message);
        if (report.hint[0]) dit_error_hint(report.status, "%s", report.hint);
    }
    return jobs->done(slot->job, report.status, slot->bytes + sizeof report, jobs->context);
}

/* Takes what has come; a job is finished when its pipe is closed. */
static dit_status listen_to(job_pool *pool, job_slot *slot)
{
    size_t room = answer_bytes(pool->jobs) - slot->length;
    char rest[64];
    ssize_t count = read(slot->pipe, room ? slot->bytes + slot->length : rest, room ? room : sizeof rest);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return DIT_OK;
    if (count > 0 && room) slot->length += (size_t)count;
    return count > 0 ? DIT_OK : finish_job(pool, slot);
}

static int count_running(const job_pool *pool)
{
    int running = 0;
    for (int i = 0; i < pool->slot_count; i++) running += pool->slots[i].pid > 0;
    return running;
}

static dit_status listen_to_all(job_pool *pool)
{
    struct pollfd waits[MOST_AT_ONCE];
    job_slot *slots[MOST_AT_ONCE];
    nfds_t count = 0;
    for (int i = 0; i < pool->slot_count; i++) {
        if (!pool->slots[i].pid) continue;
        slots[count] = &pool->slots[i];
        waits[count++] = (struct pollfd){.fd = pool->slots[i].pipe, .events = POLLIN};
    }
    int ready = poll(waits, count, POLL_MS);
    if (pool->jobs->tick) pool->jobs->tick(pool->jobs->context);
    if (ready <= 0) return DIT_OK;
    for (nfds_t i = 0; i < count; i++)
        if (waits[i].revents) DIT_TRY(listen_to(pool, slots[i]));
    return DIT_OK;
}

static void stop_all(job_pool *pool)
{
    for (int i = 0; i < pool->slot_count; i++)
        if (pool->slots[i].pid) kill(pool->slots[i].pid, SIGTERM);
    for (int i = 0; i < pool->slot_count; i++)
        if (pool->slots[i].pid) end_slot(&pool->slots[i]);
}

static dit_status run_pool(job_pool *pool)
{
    while ((pool->next < pool->jobs->count && !pool->closed) || count_running(pool) > 0) {
        if (suite_signals_poll(pool->signals)) return DIT_FAIL(DIT_ERR_INTERRUPTED, "stopped by a signal");
        DIT_TRY(fill_slots(pool));
        DIT_TRY(listen_to_all(pool));
    }
    return DIT_OK;
}

static dit_status make_slots(job_pool *pool)
{
    int at_once = pool->jobs->at_once > 0 ? pool->jobs->at_once : suite_launch_cores();
    if (at_once > pool->jobs->count) at_once = pool->jobs->count;
    pool->slot_count = at_once < MOST_AT_ONCE ? at_once : MOST_AT_ONCE;
    pool->slots = calloc((size_t)pool->slot_count + 1, sizeof *pool->slots);
    if (!pool->slots) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d jobs", pool->slot_count);
    for (int i = 0; i < pool->slot_count; i++) {
        pool->slots[i].bytes = malloc(answer_bytes(pool->jobs));
        if (!pool->slots[i].bytes) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d jobs", pool->slot_count);
    }
    return DIT_OK;
}

dit_status suite_jobs_run(const suite_jobs *jobs)
{
    job_pool pool = {.jobs = jobs};
    dit_status st = make_slots(&pool);
    if (st == DIT_OK) {
        pool.signals = jobs->signals ? jobs->signals : &pool.own;
        if (!jobs->signals) suite_signals_block(&pool.own);
        st = run_pool(&pool);
        stop_all(&pool);
        if (!jobs->signals) suite_signals_restore(&pool.own);
    }
    for (int i = 0; pool.slots && i < pool.slot_count; i++) free(pool.slots[i].bytes);
    free(pool.slots);
    return st;
}
