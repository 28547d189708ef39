/* The communicator over NCCL, where each rank has a GPU of its own. Part of build/lib/ditbench-cuda.so.
 *
 * A lane is an NCCL communicator with a stream and two events. A group has one lane that all its ranks share; a
 * pipeline has one more for each link (schedule.h). An operation takes three steps, and the host waits in none of them:
 *   1. The lane's stream waits for everything queued on the operators' stream so far.
 *   2. The transfers are queued on the lane's stream.
 *   3. The operators' stream waits for them: at once after a collective; after an exchange when dit_comm_exchange_wait
 *      is called.
 * So collectives keep the order of the operators and exchanges run beside them. A graph can record all of it as long as
 * an exchange ends in the recording in which it began.
 *
 * Nothing hangs: communicators are NCCL's non-blocking kind, every call is polled until it is through or the device's
 * deadline has passed, and waits of the device ask all communicators for errors (dit_device_watchdog). A failure or a
 * missed deadline ends all communicators of this process and is reported with axis, operation, rank and seconds.
 */
#include "engine/comm/comm_impl.h"
#include "base/clock.h"
#include "kernels/cuda/cuda.h"

#include <atomic>
#include <nccl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern "C" const dit_comm_ops dit_comm_nccl;

typedef struct {
    ncclComm_t nccl; /* NULL: ended */
    cudaStream_t stream;
    cudaEvent_t ready;     /* on the operators' stream: the data to be sent is complete          */
    cudaEvent_t done;      /* on the lane's stream: the newest collective is complete            */
    const char *operation; /* the newest one                                                 */
} nccl_lane;

/* The event that ends an exchange under way. */
typedef struct nccl_end {
    struct nccl_end *next; /* in the list of free ones */
    cudaEvent_t done;
} nccl_end;

typedef struct nccl_group {
    struct nccl_group *next; /* in the list of all groups of this process */
    const dit_comm_base *base;
    dit_cuda *cuda;
    dit_device_watchdog watchdog;
    nccl_lane common, *lanes; /* lanes [link_count] */
    dit_link *links;
    int link_count;
    nccl_end *free_ends;
    dit_transfer *transfers; /* [size], scratch */
} nccl_group;

/* The communicators of a process end together. */
static nccl_group *groups;
static dit_status failure; /* of the communicator that failed first */
static char failure_text[768];

enum { SPIN_NS = 200000, SLEEP_NS = 20000, ABORT_LIMIT_NS = 1000000000 };
static const double leave_limit_s = 20; /* the longest wait for peers when communicators are closed */

/* ---- ending ------------------------------------------------------------------------------------------------------ */

/* Aborts a communicator on a thread of its own, which is left behind if ncclCommAbort hangs, as it sometimes does. */
typedef struct {
    ncclComm_t nccl;
    std::atomic<int> holders;
    std::atomic<bool> over;
} abort_job;

static void let_go(abort_job *job)
{
    if (--job->holders == 0) delete job;
}

static void *abort_main(void *context)
{
    abort_job *job = (abort_job *)context;
    ncclCommAbort(job->nccl);
    job->over = true;
    let_go(job);
    return NULL;
}

static void nap(int64_t since_ns)
{
    const struct timespec moment = {0, SLEEP_NS};
    if (dit_clock_ns() - since_ns > SPIN_NS) nanosleep(&moment, NULL);
}

static void abort_lane(nccl_lane *lane)
{
    pthread_t thread;
    int64_t began = dit_clock_ns();
    if (!lane->nccl) return;
    abort_job *job = new abort_job{lane->nccl, {2}, {false}};
    lane->nccl = NULL;
    if (pthread_create(&thread, NULL, abort_main, job) != 0) {
        delete job;
        return;
    }
    pthread_detach(thread);
    while (!job->over && dit_clock_ns() - began < ABORT_LIMIT_NS) nap(began);
    let_go(job);
}

static void abort_group(nccl_group *group)
{
    abort_lane(&group->common);
    for (int i = 0; i < group->link_count; i++) abort_lane(&group->lanes[i]);
}

/* Remembers the first failure and ends every communicator of the process. Returns the remembered failure. */
static dit_status end_all(dit_status status, const char *text)
{
    if (failure == DIT_OK) {
        failure = status;
        snprintf(failure_text, sizeof failure_text, "%s", text);
        for (nccl_group *group = groups; group; group = group->next) abort_group(group);
    }
    return DIT_FAIL(failure, "%s", failure_text);
}

static dit_status check_alive(void)
{
    return failure == DIT_OK ? DIT_OK : DIT_FAIL(failure, "%s", failure_text);
}

static dit_status fail(const nccl_group *group, const nccl_lane *lane, const char *operation, ncclResult_t result)
{
    char text[512];
    const char *more = ncclGetLastError(lane->nccl);
    const dit_comm_base *base = group->base;
    snprintf(text, sizeof text, "%s: %s on rank %d of %d: %s%s%s", base->axis, operation, base->rank, base->size,
             ncclGetErrorString(result), more && *more ? ": " : "", more ? more : "");
    return end_all(DIT_ERR_DEVICE, text);
}

static dit_status fail_late(const nccl_group *group, const char *operation, double seconds)
{
    char text[512];
    const dit_comm_base *base = group->base;
    snprintf(text, sizeof text, "%s: %s on rank %d of %d has not ended after %.3g s", base->axis, operation,
             base->rank, base->size, seconds);
    return end_all(DIT_ERR_TIMEOUT, text);
}

static dit_status fail_cuda(const nccl_group *group, const char *operation, cudaError_t code)
{
    char text[512];
    const dit_comm_base *base = group->base;
    snprintf(text, sizeof text, "%s: %s on rank %d of %d: %s", base->axis, operation, base->rank, base->size,
             cudaGetErrorString(code));
    return end_all(DIT_ERR_DEVICE, text);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* Waits until NCCL's last call is through: operations are queued then, communicators made or finished. */
static dit_status wait_for_queued(const nccl_group *group, const nccl_lane *lane, const char *operation, double limit_s)
{
    int64_t began = dit_clock_ns();
    for (;;) {
        ncclResult_t state = ncclSuccess, asked = ncclCommGetAsyncError(lane->nccl, &state);
        if (asked != ncclSuccess) return fail(group, lane, operation, asked);
        if (state == ncclSuccess) return DIT_OK;
        if (state != ncclInProgress) return fail(group, lane, operation, state);
        if ((double)(dit_clock_ns() - began) > limit_s * 1e9) return fail_late(group, operation, limit_s);
        nap(began);
    }
}

static dit_status through(const nccl_group *group, const nccl_lane *lane, ncclResult_t result)
{
    if (result != ncclSuccess && result != ncclInProgress) return fail(group, lane, lane->operation, result);
    return wait_for_queued(group, lane, lane->operation, group->cuda->params.deadline_s);
}

/* Checks one lane for errors, for the device's waits. */
static dit_status check_lane(const nccl_group *group, const nccl_lane *lane)
{
    ncclResult_t state = ncclSuccess;
    if (!lane->nccl) return DIT_OK;
    ncclResult_t asked = ncclCommGetAsyncError(lane->nccl, &state);
    if (asked == ncclSuccess) asked = state;
    return asked == ncclSuccess || asked == ncclInProgress ? DIT_OK : fail(group, lane, lane->operation, asked);
}

/* True if the lane's stream has work left. */
static bool is_busy(const nccl_lane *lane)
{
    bool busy = lane->nccl && cudaStreamQuery(lane->stream) == cudaErrorNotReady;
    cudaGetLastError(); /* "not ready" is no error */
    return busy;
}

static dit_status check_lanes(void *context, double expired_s)
{
    nccl_group *group = (nccl_group *)context;
    DIT_TRY(check_alive());
    for (int i = -1; i < group->link_count; i++) {
        const nccl_lane *lane = i < 0 ? &group->common : &group->lanes[i];
        if (expired_s > 0 && is_busy(lane)) return fail_late(group, lane->operation, expired_s);
        DIT_TRY(check_lane(group, lane));
    }
    return DIT_OK;
}

/* ---- lanes ------------------------------------------------------------------------------------------------------- */

static dit_status open_queue(nccl_group *group, nccl_lane *lane)
{
    int least, greatest;
    CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUDA_TRY(cudaStreamCreateWithPriority(&lane->stream, cudaStreamNonBlocking, greatest));
    CUDA_TRY(cudaEventCreateWithFlags(&lane->ready, cudaEventDisableTiming));
    CUDA_TRY(cudaEventCreateWithFlags(&lane->done, cudaEventDisableTiming));
    (void)group;
    return DIT_OK;
}

static dit_status open_lane(nccl_group *group, nccl_lane *lane, const ncclUniqueId *id, int rank, int size)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.commName = group->base->axis;
    lane->operation = "ncclCommInitRankConfig";
    DIT_TRY(open_queue(group, lane));
    ncclResult_t result = ncclCommInitRankConfig(&lane->nccl, size, *id, rank, &config);
    if (lane->nccl) return through(group, lane, result);
    return DIT_FAIL(DIT_ERR_DEVICE, "%s: %s on rank %d of %d: %s: %s", group->base->axis, lane->operation, rank, size,
                    ncclGetErrorString(result), ncclGetLastError(NULL));
}

/* Finishes a lane. Finishing is collective, so after a failure the lane is aborted instead: peers will not take
 * part. */
static void finish_lane(nccl_group *group, nccl_lane *lane)
{
    double limit_s = group->cuda->params.deadline_s < leave_limit_s ? group->cuda->params.deadline_s : leave_limit_s;
    lane->operation = "ncclCommFinalize";
    if (lane->nccl && dit_error_last()->status == DIT_OK) {
        ncclResult_t result = ncclCommFinalize(lane->nccl);
        if ((result == ncclSuccess || result == ncclInProgress) &&
            wait_for_queued(group, lane, lane->operation, limit_s) == DIT_OK &&
            ncclCommDestroy(lane->nccl) == ncclSuccess)
            lane->nccl = NULL;
    }
    abort_lane(lane);
}

static void close_lane(nccl_group *group, nccl_lane *lane)
{
    finish_lane(group, lane);
    if (failure != DIT_OK) return; /* work under way may never end */
    if (lane->ready) cudaEventDestroy(lane->ready);
    if (lane->done) cudaEventDestroy(lane->done);
    if (lane->stream) cudaStreamDestroy(lane->stream);
}

/* Makes the transfers that follow wait for everything queued on the operators' stream. */
static dit_status enter(nccl_group *group, nccl_lane *lane, const char *operation)
{
    DIT_TRY(check_alive());
    lane->operation = operation;
    cudaError_t code = cudaEventRecord(lane->ready, group->cuda->stream);
    if (code == cudaSuccess) code = cudaStreamWaitEvent(lane->stream, lane->ready, 0);
    return code == cudaSuccess ? DIT_OK : fail_cuda(group, operation, code);
}

/* Makes the operators' stream wait for the transfers. */
static dit_status leave(nccl_group *group, nccl_lane *lane)
{
    cudaError_t code = cudaEventRecord(lane->done, lane->stream);
    if (code == cudaSuccess) code = cudaStreamWaitEvent(group->cuda->stream, lane->done, 0);
    return code == cudaSuccess ? DIT_OK : fail_cuda(group, lane->operation, code);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static const char *nccl_library(void)
{
    static char text[32];
    int version = 0;
    ncclGetVersion(&version);
    snprintf(text, sizeof text, "NCCL %d.%d.%d", version / 10000, version % 10000 / 100, version % 100);
    return text;
}

typedef struct {
    ncclUniqueId id;
    int32_t result; /* ncclResult_t of ncclGetUniqueId */
    int32_t unused;
} first_word;

static first_word make_word(void)
{
    first_word word = {};
    word.result = (int32_t)ncclGetUniqueId(&word.id);
    return word;
}

static dit_status check_word(const dit_comm_base *base, const first_word *word)
{
    if (word->result == ncclSuccess) return DIT_OK;
    return DIT_FAIL(DIT_ERR_DEVICE, "%s: ncclGetUniqueId: %s", base->axis,
                    ncclGetErrorString((ncclResult_t)word->result));
}

/* Gives every rank the id that rank 0 made. Collective. */
static dit_status share_word(const dit_comm_base *base, first_word *word)
{
    first_word *all = (first_word *)calloc((size_t)base->size, sizeof *all);
    if (!all) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a communicator of %d", base->size);
    dit_status st = base->host_ops->all_gather(base->host_group, word, all, (int64_t)sizeof *word);
    *word = all[0];
    free(all);
    return st == DIT_OK ? check_word(base, word) : st;
}

/* Gives both ends of a link the id that its first end made. */
static dit_status pass_word(const dit_comm_base *base, const dit_link *link, first_word *word)
{
    bool sends = link->from == base->rank;
    dit_comm_exchange exchange;
    DIT_TRY(base->host_ops->exchange_begin(base->host_group, word, sends ? link->to : DIT_COMM_NOBODY, word,
                                           sends ? DIT_COMM_NOBODY : link->from, (int64_t)sizeof *word, &exchange));
    DIT_TRY(base->host_ops->exchange_wait(base->host_group, &exchange));
    return check_word(base, word);
}

static void nccl_free(void *opaque)
{
    nccl_group *group = (nccl_group *)opaque;
    dit_device_remove_watchdog(&group->cuda->device, &group->watchdog);
    for (nccl_group **at = &groups; *at; at = &(*at)->next)
        if (*at == group) {
            *at = group->next;
            break;
        }
    for (int i = 0; i < group->link_count; i++) close_lane(group, &group->lanes[i]);
    close_lane(group, &group->common);
    for (nccl_end *end = group->free_ends, *next; end; end = next) {
        next = end->next;
        if (failure == DIT_OK) cudaEventDestroy(end->done);
        free(end);
    }
    free(group->lanes);
    free(group->links);
    free(group->transfers);
    free(group);
}

static dit_status open_group(nccl_group *group)
{
    const dit_comm_base *base = group->base;
    first_word word = {};
    if (base->rank == 0) word = make_word();
    DIT_TRY(share_word(base, &word));
    return open_lane(group, &group->common, &word.id, base->rank, base->size);
}

static dit_status nccl_create(const dit_comm_base *base, void **out)
{
    nccl_group *group = (nccl_group *)calloc(1, sizeof *group);
    if (group) group->transfers = (dit_transfer *)calloc((size_t)base->size, sizeof *group->transfers);
    if (!group || !group->transfers) {
        free(group);
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a communicator");
    }
    group->base = base;
    group->cuda = (dit_cuda *)base->device;
    group->watchdog.check = check_lanes;
    group->watchdog.context = group;
    group->common.operation = "nothing";
    group->next = groups;
    groups = group;
    dit_device_add_watchdog(base->device, &group->watchdog);
    dit_status st = check_alive();
    if (st == DIT_OK) st = open_group(group);
    if (st == DIT_OK)
        *out = group;
    else
        nccl_free(group);
    return st;
}

/* ---- transfers --------------------------------------------------------------------------------------------------- */

/* Queues transfers as one NCCL group, in which none waits for another. */
static dit_status run_transfers(nccl_group *group, nccl_lane *lane, const void *send, void *recv,
                                const dit_transfer *transfers, int count)
{
    ncclResult_t result = ncclGroupStart();
    for (int i = 0; i < count && result == ncclSuccess; i++) {
        const dit_transfer *t = &transfers[i];
        if (t->send_bytes)
            result = ncclSend((const char *)send + t->send, (size_t)t->send_bytes, ncclUint8, t->to, lane->nccl,
                              lane->stream);
        if (t->recv_bytes && (result == ncclSuccess || result == ncclInProgress))
            result =
                ncclRecv((char *)recv + t->recv, (size_t)t->recv_bytes, ncclUint8, t->from, lane->nccl, lane->stream);
        if (result == ncclInProgress) result = ncclSuccess;
    }
    ncclResult_t ended = ncclGroupEnd();
    return through(group, lane, result == ncclSuccess ? ended : result);
}

static dit_status copy_own(nccl_group *group, nccl_lane *lane, const void *from, void *to, int64_t bytes)
{
    if (from == to) return DIT_OK;
    cudaError_t code = cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToDevice, lane->stream);
    return code == cudaSuccess ? DIT_OK : fail_cuda(group, lane->operation, code);
}

static dit_status nccl_all_to_all(void *opaque, const void *send, void *recv, int64_t block_bytes)
{
    nccl_group *group = (nccl_group *)opaque;
    int rank = group->base->rank;
    if (!block_bytes) return DIT_OK;
    int count = dit_schedule_all_to_all(rank, group->base->size, block_bytes, group->transfers);
    DIT_TRY(enter(group, &group->common, "all_to_all"));
    DIT_TRY(copy_own(group, &group->common, (const char *)send + rank * block_bytes, (char *)recv + rank * block_bytes,
                     block_bytes));
    DIT_TRY(run_transfers(group, &group->common, send, recv, group->transfers, count));
    return leave(group, &group->common);
}

static dit_status nccl_all_gather(void *opaque, const void *send, void *recv, int64_t block_bytes)
{
    nccl_group *group = (nccl_group *)opaque;
    nccl_lane *lane = &group->common;
    if (!block_bytes) return DIT_OK;
    DIT_TRY(enter(group, lane, "all_gather"));
    DIT_TRY(through(group, lane, ncclAllGather(send, recv, (size_t)block_bytes, ncclUint8, lane->nccl, lane->stream)));
    return leave(group, lane);
}

static dit_status nccl_all_gather_varying(void *opaque, const void *data, int64_t bytes, void *out,
                                          const int64_t *offsets)
{
    nccl_group *group = (nccl_group *)opaque;
    char *own = (char *)out + offsets[group->base->rank];
    int count = dit_schedule_gather_pieces(group->base->rank, group->base->size, offsets, group->transfers);
    if (!count) return DIT_OK;
    DIT_TRY(enter(group, &group->common, "all_gather"));
    if (data && bytes) DIT_TRY(copy_own(group, &group->common, data, own, bytes));
    DIT_TRY(run_transfers(group, &group->common, out, out, group->transfers, count));
    return leave(group, &group->common);
}

/* ---- links ------------------------------------------------------------------------------------------------------- */

/* Sends one byte over a new link. NCCL connects the two ends at the first message and blocks the host of each end until
 * the other has come. Here both come at once; later, a receive that is posted early would block the send that its
 * sender waits for. */
static dit_status connect_ends(nccl_group *group, nccl_lane *lane, bool sends)
{
    void *nothing = group->cuda->workspace;
    const dit_transfer t = {1, 0, 0, sends ? 1 : 0, 0, sends ? 0 : 1};
    DIT_TRY(enter(group, lane, "connecting a link"));
    DIT_TRY(run_transfers(group, lane, nothing, nothing, &t, 1));
    return leave(group, lane);
}

static dit_status nccl_open_links(void *opaque, const dit_link *links, int count)
{
    nccl_group *group = (nccl_group *)opaque;
    if (group->links || !count)
        return count ? DIT_FAIL(DIT_ERR_INTERNAL, "%s: links are opened twice", group->base->axis) : DIT_OK;
    group->links = (dit_link *)calloc((size_t)count, sizeof *group->links);
    group->lanes = (nccl_lane *)calloc((size_t)count, sizeof *group->lanes);
    if (!group->links || !group->lanes) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d links", count);
    for (int i = 0; i < count; i++) {
        first_word word = {};
        bool sends = links[i].from == group->base->rank;
        if (sends) word = make_word();
        DIT_TRY(pass_word(group->base, &links[i], &word));
        group->links[i] = links[i];
        group->link_count++;
        DIT_TRY(open_lane(group, &group->lanes[i], &word.id, !sends, 2));
        DIT_TRY(connect_ends(group, &group->lanes[i], sends));
    }
    return DIT_OK;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static dit_status type_of(dit_dtype dtype, ncclDataType_t *out)
{
    static const ncclDataType_t types[DIT_DTYPE_COUNT] = {ncclFloat32, ncclBfloat16, ncclFloat16, ncclFloat64,
                                                            ncclInt32};
    if (dtype < 0 || dtype >= DIT_DTYPE_COUNT) return DIT_FAIL(DIT_ERR_INTERNAL, "a sum has no valid dtype");
    *out = types[dtype];
    return DIT_OK;
}

/* Sums by NCCL. Every element is added on one rank, or along one path, and sent to all, so all ranks get equal bits. */
static dit_status nccl_sum(void *opaque, const dit_comm_sum_args *args)
{
    nccl_group *group = (nccl_group *)opaque;
    nccl_lane *lane = &group->common;
    ncclDataType_t type = ncclFloat32;
    DIT_TRY(type_of(args->dtype, &type));
    DIT_TRY(enter(group, lane, "all_reduce"));
    DIT_TRY(through(
        group, lane,
        ncclAllReduce(args->values, args->out, (size_t)args->elements, type, ncclSum, lane->nccl, lane->stream)));
    return leave(group, lane);
}

static dit_status nccl_reduce(void *opaque, const dit_comm_reduce_args *args)
{
    nccl_group *group = (nccl_group *)opaque;
    nccl_lane *lane = &group->common;
    size_t count = (size_t)(args->scatter ? args->elements / group->base->size : args->elements);
    DIT_TRY(enter(group, lane, args->scatter ? "reduce_scatter" : "all_reduce"));
    ncclResult_t result =
        args->scatter ? ncclReduceScatter(args->send, args->recv, count, ncclFloat32, ncclSum, lane->nccl, lane->stream)
                      : ncclAllReduce(args->send, args->recv, count, ncclFloat32, ncclSum, lane->nccl, lane->stream);
    DIT_TRY(through(group, lane, result));
    return leave(group, lane);
}

/* ---- in the background ------------------------------------------------------------------------------------------- */

static dit_status take_end(nccl_group *group, nccl_end **out)
{
    *out = group->free_ends;
    if (*out) {
        group->free_ends = (*out)->next;
        return DIT_OK;
    }
    nccl_end *end = (nccl_end *)calloc(1, sizeof *end);
    if (!end) return DIT_FAIL(DIT_ERR_MEMORY, "%s: no memory for a transfer", group->base->axis);
    cudaError_t code = cudaEventCreateWithFlags(&end->done, cudaEventDisableTiming);
    if (code != cudaSuccess) {
        free(end);
        return fail_cuda(group, "cudaEventCreateWithFlags", code);
    }
    *out = end;
    return DIT_OK;
}

/* Notes an operation of the lane that is under way. */
static dit_status begun(nccl_group *group, nccl_lane *lane, dit_comm_exchange *out)
{
    nccl_end *end;
    DIT_TRY(take_end(group, &end));
    cudaError_t code = cudaEventRecord(end->done, lane->stream);
    if (code != cudaSuccess) return fail_cuda(group, lane->operation, code);
    out->handle[0] = end;
    return DIT_OK;
}

static dit_status nccl_exchange_begin(void *opaque, const void *send, int to, void *recv, int from, int64_t bytes,
                                      dit_comm_exchange *out)
{
    nccl_group *group = (nccl_group *)opaque;
    int link = dit_schedule_link_of(group->links, group->link_count, group->base->rank, to, from);
    nccl_lane *lane = link < 0 ? &group->common : &group->lanes[link];
    dit_transfer t = {to, from, 0, to == DIT_COMM_NOBODY ? 0 : bytes, 0, from == DIT_COMM_NOBODY ? 0 : bytes};
    *out = dit_comm_exchange{};
    if (!t.send_bytes && !t.recv_bytes) return DIT_OK;
    if (link >= 0) t.to = 1, t.from = 0; /* ranks in the link's communicator */
    DIT_TRY(enter(group, lane, "send_recv"));
    DIT_TRY(run_transfers(group, lane, send, recv, &t, 1));
    return begun(group, lane, out);
}

static dit_status nccl_all_gather_begin(void *opaque, const void *send, void *recv, int64_t block_bytes,
                                        dit_comm_exchange *out)
{
    nccl_group *group = (nccl_group *)opaque;
    nccl_lane *lane = &group->common;
    *out = dit_comm_exchange{};
    if (!block_bytes) return DIT_OK;
    DIT_TRY(enter(group, lane, "all_gather"));
    DIT_TRY(through(group, lane, ncclAllGather(send, recv, (size_t)block_bytes, ncclUint8, lane->nccl, lane->stream)));
    return begun(group, lane, out);
}

/* Makes the operators' stream wait for the exchange; the host goes on. */
static dit_status nccl_exchange_wait(void *opaque, dit_comm_exchange *exchange)
{
    nccl_group *group = (nccl_group *)opaque;
    nccl_end *end = (nccl_end *)exchange->handle[0];
    if (!end) return DIT_OK;
    exchange->handle[0] = NULL;
    cudaError_t code = cudaStreamWaitEvent(group->cuda->stream, end->done, 0);
    end->next = group->free_ends;
    group->free_ends = end;
    return code == cudaSuccess ? check_alive() : fail_cuda(group, "send_recv", code);
}

/* start, finish, abort, library, local and create exist once per process: the host's library has them. */
const dit_comm_ops dit_comm_nccl = {
    .name = "nccl",
    .recordable = true,
    .groups = NULL,
    .start = NULL,
    .finish = NULL,
    .abort = NULL,
    .library = nccl_library,
    .local = NULL,
    .create = NULL,
    .create_over = nccl_create,
    .free = nccl_free,
    .rank = NULL,
    .size = NULL,
    .all_to_all = nccl_all_to_all,
    .all_gather = nccl_all_gather,
    .exchange_begin = nccl_exchange_begin,
    .all_gather_begin = nccl_all_gather_begin,
    .exchange_poll = NULL,
    .exchange_wait = nccl_exchange_wait,
    .barrier = NULL,
    .all_gather_varying = nccl_all_gather_varying,
    .sum = nccl_sum,
    .reduce = nccl_reduce,
    .open_links = nccl_open_links,
};
