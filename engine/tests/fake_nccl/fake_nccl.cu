/* A test double of NCCL between processes of this machine, over shared memory and the emulated device: it really moves
 * and adds what engine/comm/nccl.cu asks for, so that this file and all above it run without a GPU. It exists for tests
 * only. It is no NCCL: it says nothing about NCCL's speed or faults.
 *
 * It is stricter than NCCL where NCCL may wait: a send ends when its receiver has taken all of it; operations of one
 * stream run one after the other; the first message between two ranks is in progress until both have asked for it, as
 * they have to connect; a communicator that is in progress takes no further call. Sizes that differ between
 * the two ends of a message are an asynchronous error. What streams have under way moves when the emulation is asked
 * how far it is.
 *
 * DITBENCH_FAKE_NCCL_FAIL=N: the Nth operation of a process ends in an asynchronous error.
 */
#include "base/dtype.h"

#include <atomic>
#include <fcntl.h>
#include <memory>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

enum { MOST_RANKS = 8, BOX_BYTES = 16 << 10, ASKED_TWICE = 2 };

/* From one rank to another; counts of bytes since the start. */
struct box {
    std::atomic<uint64_t> written, taken;
    char data[BOX_BYTES];
};

struct shared_state {
    std::atomic<int> joined, finished;
    box boxes[MOST_RANKS][MOST_RANKS];                  /* [from][to]             */
    std::atomic<bool> asked[2][MOST_RANKS][MOST_RANKS]; /* by receiver and sender */
};

enum comm_stage { JOINING, READY, FINISHING };

/* Never freed: what is under way may still look at it. */
struct fake_comm {
    shared_state *shared;
    int rank, size;
    comm_stage stage;
    int in_progress;                       /* how often it says so yet */
    bool connects[MOST_RANKS][MOST_RANKS]; /* [from][to]: it waits for the other end */
    bool aborted;
    std::atomic<int> error; /* ncclResult_t */
    char name[sizeof(ncclUniqueId)];
};

struct transfer {
    fake_comm *comm;
    cudaStream_t stream;
    bool sends;
    char *data;
    uint64_t bytes;
    int peer;
};

static std::vector<transfer> grouped;
static int group_depth;
static char last_error[256];

static ncclResult_t refuse(ncclResult_t result, const char *why)
{
    snprintf(last_error, sizeof last_error, "%s", why);
    return result;
}

/* ---- under way --------------------------------------------------------------------------------------------------- */

/* A message: eight bytes that say how long it is, then itself. */
struct progress {
    transfer t;
    uint64_t moved = 0; /* with the eight */
    uint64_t told = 0;
    bool over = false;
};

static box *box_of(const transfer &t)
{
    shared_state *shared = t.comm->shared;
    return t.sends ? &shared->boxes[t.comm->rank][t.peer] : &shared->boxes[t.peer][t.comm->rank];
}

static char *byte_of(progress &p)
{
    return p.moved < 8 ? (char *)&p.told + p.moved : p.t.data + (p.moved - 8);
}

static void move_out(progress &p)
{
    box *b = box_of(p.t);
    uint64_t written = b->written, whole = p.t.bytes + 8;
    p.told = p.t.bytes;
    for (; p.moved < whole && written - b->taken < BOX_BYTES; p.moved++, written++)
        b->data[written % BOX_BYTES] = *byte_of(p);
    b->written = written;
    p.over = p.moved == whole && b->taken == written;
}

static void move_in(progress &p)
{
    box *b = box_of(p.t);
    uint64_t taken = b->taken, whole = p.t.bytes + 8;
    for (; p.moved < whole && taken < b->written; p.moved++, taken++) {
        if (p.moved == 8 && p.told != p.t.bytes) {
            p.t.comm->error = refuse(ncclInvalidArgument, "the ends of a message differ in their length");
            return;
        }
        *byte_of(p) = b->data[taken % BOX_BYTES];
    }
    b->taken = taken;
    p.over = p.moved == whole;
}

/* All at once, but that messages between the same two ranks keep their order. */
static bool proceed(std::vector<progress> &all)
{
    bool over = true, busy[2][MOST_RANKS] = {};
    for (progress &p : all) {
        if (p.t.comm->aborted) return true;
        if (p.t.comm->error != ncclSuccess) return false; /* for ever */
        if (!p.over && !busy[p.t.sends][p.t.peer]) {
            if (p.t.sends)
                move_out(p);
            else
                move_in(p);
        }
        busy[p.t.sends][p.t.peer] |= !p.over;
        over = over && p.over;
    }
    return over;
}

static void count_operation(fake_comm *comm)
{
    static int operations;
    const char *fails = getenv("DITBENCH_FAKE_NCCL_FAIL");
    if (fails && ++operations == atoi(fails)) comm->error = refuse(ncclRemoteError, "as the test asked for");
    comm->in_progress = ASKED_TWICE;
}

static void connect(const transfer &t)
{
    int from = t.sends ? t.comm->rank : t.peer, to = t.sends ? t.peer : t.comm->rank;
    t.comm->shared->asked[t.sends][from][to] = true;
    t.comm->connects[from][to] = true;
}

static bool is_connected(fake_comm *comm)
{
    for (int from = 0; from < comm->size; from++)
        for (int to = 0; to < comm->size; to++) {
            if (!comm->connects[from][to]) continue;
            if (!comm->shared->asked[0][from][to] || !comm->shared->asked[1][from][to]) return false;
            comm->connects[from][to] = false;
        }
    return true;
}

static void submit(cudaStream_t stream, const std::vector<transfer> &transfers, std::function<void()> before,
                   std::function<void()> after)
{
    for (const transfer &t : transfers) connect(t);
    emulated_submit_late(stream, [=]() {
        auto all = std::make_shared<std::vector<progress>>();
        bool begun = false;
        for (const transfer &t : transfers) {
            progress p;
            p.t = t;
            all->push_back(p);
        }
        return [=]() mutable {
            if (!begun && before) before();
            begun = true;
            if (!proceed(*all)) return false;
            if (after) after();
            return true;
        };
    });
}

static ncclResult_t check(fake_comm *comm)
{
    if (!comm || comm->aborted) return refuse(ncclInvalidArgument, "no communicator");
    if (comm->stage != READY || comm->in_progress) return refuse(ncclInvalidUsage, "the communicator is in progress");
    return (ncclResult_t)comm->error.load();
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static size_t bytes_of(ncclDataType_t type)
{
    return type == ncclUint8 ? 1 : type == ncclFloat16 || type == ncclBfloat16 ? 2 : type == ncclFloat64 ? 8 : 4;
}

ncclResult_t ncclGroupStart(void)
{
    if (group_depth++ == 0) grouped.clear();
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    if (group_depth == 0) return refuse(ncclInvalidUsage, "a group ends that was not begun");
    if (--group_depth) return ncclSuccess;
    while (!grouped.empty()) {
        transfer first = grouped.front();
        std::vector<transfer> together, others;
        for (const transfer &t : grouped)
            (t.comm == first.comm && t.stream == first.stream ? together : others).push_back(t);
        count_operation(first.comm);
        submit(first.stream, together, nullptr, nullptr);
        grouped = others;
    }
    return ncclInProgress;
}

static ncclResult_t add_transfer(transfer t)
{
    ncclResult_t result = check(t.comm);
    if (result != ncclSuccess) return result;
    if (t.peer == t.comm->rank || t.peer < 0 || t.peer >= t.comm->size)
        return refuse(ncclInvalidArgument, "a message to nobody, or to itself");
    ncclGroupStart();
    grouped.push_back(t);
    return group_depth == 1 ? ncclGroupEnd() : (group_depth--, ncclSuccess);
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    return add_transfer({comm, stream, true, (char *)from, count * bytes_of(type), peer});
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
    return add_transfer({comm, stream, false, (char *)to, count * bytes_of(type), peer});
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

/* Each rank's block for this one, to `to`: of what rank r sends, block `block` of r's blocks (-1: all of one). */
static void exchange(fake_comm *comm, cudaStream_t stream, const char *from, bool scattered, char *to, size_t bytes,
                     std::function<void()> after)
{
    std::vector<transfer> transfers;
    const char *own = from + (scattered ? comm->rank * bytes : 0);
    char *place = to + comm->rank * bytes;
    for (int peer = 0; peer < comm->size; peer++) {
        if (peer == comm->rank) continue;
        transfers.push_back({comm, stream, true, (char *)from + (scattered ? peer * bytes : 0), bytes, peer});
        transfers.push_back({comm, stream, false, to + peer * bytes, bytes, peer});
    }
    count_operation(comm);
    submit(
        stream, transfers,
        [=]() {
            if (own != place) memcpy(place, own, bytes);
        },
        after);
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream)
{
    ncclResult_t result = check(comm);
    if (result != ncclSuccess) return result;
    exchange(comm, stream, (const char *)from, false, (char *)to, count * bytes_of(type), nullptr);
    return ncclInProgress;
}

static double number_at(const char *data, size_t i, ncclDataType_t type)
{
    switch (type) {
    case ncclFloat16: return (double)dit_fp16_to_float(((const uint16_t *)data)[i]);
    case ncclBfloat16: return (double)dit_bf16_to_float(((const uint16_t *)data)[i]);
    case ncclFloat64: return ((const double *)data)[i];
    case ncclInt32: return (double)((const int32_t *)data)[i];
    default: return (double)((const float *)data)[i];
    }
}

static void put_number(char *data, size_t i, ncclDataType_t type, double x)
{
    switch (type) {
    case ncclFloat16: ((uint16_t *)data)[i] = dit_fp16_from_float((float)x); break;
    case ncclBfloat16: ((uint16_t *)data)[i] = dit_bf16_from_float((float)x); break;
    case ncclFloat64: ((double *)data)[i] = x; break;
    case ncclInt32: ((int32_t *)data)[i] = (int32_t)x; break;
    default: ((float *)data)[i] = (float)x;
    }
}

static ncclResult_t add_up(const void *from, void *to, size_t count, ncclDataType_t type, fake_comm *comm,
                           cudaStream_t stream, bool scattered)
{
    size_t bytes = count * bytes_of(type);
    auto all = std::make_shared<std::vector<char>>(bytes * comm->size);
    ncclResult_t result = check(comm);
    if (result != ncclSuccess) return result;
    exchange(comm, stream, (const char *)from, scattered, all->data(), bytes, [=]() {
        for (size_t i = 0; i < count; i++) {
            double sum = 0;
            for (int rank = 0; rank < comm->size; rank++) sum += number_at(all->data() + rank * bytes, i, type);
            put_number((char *)to, i, type, sum);
        }
    });
    return ncclInProgress;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t, ncclComm_t comm,
                           cudaStream_t stream)
{
    return add_up(from, to, count, type, comm, stream, false);
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t,
                               ncclComm_t comm, cudaStream_t stream)
{
    return add_up(from, to, count, type, comm, stream, true);
}

/* ---- communicators ----------------------------------------------------------------------------------------------- */

ncclResult_t ncclGetVersion(int *version)
{
    *version = 0;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    static int made;
    snprintf(id->internal, sizeof id->internal, "/ditbench-fake-nccl-%d-%d", (int)getpid(), made++);
    return ncclSuccess;
}

/* Both or all ranks open the same; a new file is of zeros. */
static shared_state *open_shared(const char *name)
{
    int file = shm_open(name, O_CREAT | O_RDWR, 0600);
    if (file < 0 || ftruncate(file, sizeof(shared_state)) != 0) return NULL;
    void *memory = mmap(NULL, sizeof(shared_state), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? NULL : (shared_state *)memory;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *out, int size, ncclUniqueId id, int rank, ncclConfig_t *config)
{
    *out = NULL;
    if (config->blocking) return refuse(ncclInvalidUsage, "the double is of the non-blocking kind only");
    if (size > MOST_RANKS) return refuse(ncclInvalidArgument, "too many ranks for the double");
    fake_comm *comm = new fake_comm{};
    snprintf(comm->name, sizeof comm->name, "%s", id.internal);
    comm->rank = rank;
    comm->size = size;
    comm->shared = open_shared(comm->name);
    if (!comm->shared) return refuse(ncclSystemError, "no shared memory");
    comm->shared->joined++;
    *out = comm;
    return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state)
{
    *state = ncclInProgress;
    if (comm->stage == JOINING && comm->shared->joined == comm->size) {
        comm->stage = READY;
        shm_unlink(comm->name); /* whoever is first */
    }
    if (comm->error != ncclSuccess)
        *state = (ncclResult_t)comm->error.load();
    else if (comm->stage == READY && (comm->in_progress || !is_connected(comm)))
        comm->in_progress -= comm->in_progress > 0;
    else if (comm->stage == READY || (comm->stage == FINISHING && comm->shared->finished == comm->size))
        *state = ncclSuccess;
    return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    ncclResult_t result = check(comm);
    if (result != ncclSuccess) return result;
    comm->stage = FINISHING;
    comm->shared->finished++;
    return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    return comm->stage == FINISHING ? ncclSuccess : refuse(ncclInvalidUsage, "destroyed before it was finalized");
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    comm->aborted = true;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    static const char *const names[] = {"no error",       "unhandled cuda error",      "unhandled system error",
                                        "internal error", "invalid argument",          "invalid usage",
                                        "remote error",   "NCCL operation in progress"};
    return names[result];
}

const char *ncclGetLastError(ncclComm_t)
{
    return last_error;
}
