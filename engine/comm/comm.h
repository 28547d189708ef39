/* Communicators: one per mesh axis and one of all ranks, with counters that the closed forms are held against.
 *
 * Everything a rank sends in the measured region goes through here. The interface functions check, count and dispatch;
 * the implementations (mpi.c; the table is in comm.c) only move bytes. Buffers belong to the caller: the host's memory,
 * or, of a group with a device, arrays by address. There, lengths are those of the addresses (four bytes an element);
 * what travels, and is counted, are the array's elements.
 */
#ifndef DIT_ENGINE_COMM_H
#define DIT_ENGINE_COMM_H

#include "base/volume.h"
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sent by this rank. time_ns is how long the rank's own thread was held up (exposed); span_ns runs from the start of an
 * exchange to its completion, so span - time was hidden behind computation. */
typedef struct {
    int64_t bytes, messages, time_ns, span_ns;
} dit_comm_counter;

typedef struct {
    dit_comm_counter at[DIT_GROUP_COUNT][DIT_COLLECTIVE_COUNT][DIT_PHASE_COUNT];
} dit_comm_counters;

typedef struct dit_comm dit_comm;
struct dit_trace;
struct dit_device;
struct dit_timing;

/* A transfer under way between begin and wait. */
typedef struct {
    void *handle[2];
    dit_collective collective;
    int64_t began_ns, bytes; /* that are sent */
    int64_t received_bytes;
    int to, from;  /* of the group, or DIT_COMM_NOBODY */
    double ends_s; /* the implementation's own; what it means is said there */
} dit_comm_exchange;

/* Starts the library (once per process), e.g. "mpi". *argc, *argv as in main. Collective over all processes. */
dit_status dit_comm_start(const char *implementation, int *argc, char ***argv);
/* Ends it. Collective. */
void dit_comm_finish(void);
/* Ends every process of the run with `exit_code`. For a rank that failed: its peers must not wait for it. */
void dit_comm_abort(int exit_code) __attribute__((noreturn));
/* "Open MPI v4.1.4": for records. */
const char *dit_comm_library(void);
/* What moves the group's arrays: "NCCL 2.28.9", "Open MPI v4.1.4 through the host's memory"; "none": it has one rank.
 */
const char *dit_comm_transport(const dit_comm *comm);
/* Whether a device may record the group's messages in a graph. */
bool dit_comm_recordable(const dit_comm *comm);

/* The communicator of all ranks; owned by the library, uncounted. */
dit_comm *dit_comm_world(void);
/* The group of this rank along `axis` of the mesh, or DIT_AXIS_WORLD. Collective over the world. Counts into `counters`
 * (which outlives it), under the phase that counters' owner sets with dit_comm_set_phase. */
dit_status dit_comm_create(const dit_parallel *parallel, dit_axis axis, dit_comm_counters *counters, dit_comm **out);
/* The same for `rank` of a mesh that does not run: nothing moves, everything is counted. Not collective. */
dit_status dit_comm_create_counting(const dit_parallel *parallel, int rank, dit_axis axis, dit_comm_counters *counters,
                                    dit_comm **out);
/* From now on the group's buffers are arrays of `device` (NULL: of the host), moved in the order of its queue, and what
 * holds up that queue is timed by `timing`. Collective over the world, each rank with the group of the same axis. GPUs
 * of which each has one rank move them by NCCL, where it is there; else they pass the host's memory.
 * DITBENCH_DEVICE_COMM (nccl or staged) decides otherwise. Errors: DIT_ERR_DEVICE, DIT_ERR_TIMEOUT,
 * DIT_ERR_ENVIRONMENT. */
dit_status dit_comm_set_device(dit_comm *comm, struct dit_device *device, struct dit_timing *timing);
void dit_comm_free(dit_comm *comm); /* accepts NULL */
void dit_comm_set_phase(dit_comm *comm, dit_phase phase);
/* Everything counted is recorded in `trace` too, which outlives that; NULL: not. Accepts a NULL communicator. */
void dit_comm_set_trace(dit_comm *comm, struct dit_trace *trace);

/* Messages one way, to the first ranks and from the others, are going to be exchanged: what needs channels of its own
 * for that opens them. Collective over the group; the ranks' lists agree. A receive that is posted ahead never stands
 * before a send then (pipelines). */
dit_status dit_comm_open_links(dit_comm *comm, const int *to, int to_count, const int *from, int from_count);

int dit_comm_rank(const dit_comm *comm);
int dit_comm_size(const dit_comm *comm);
/* Rank among, and number of, the processes of this machine. */
void dit_comm_local(int *local_rank, int *local_size);

/* recv block j = what rank j sent as its block `rank`. Collective. Sends (size-1) messages of block_bytes.
 *   send  in   [size][block_bytes]      recv  out  [size][block_bytes]      not overlapping */
dit_status dit_comm_all_to_all(dit_comm *comm, const void *send, void *recv, int64_t block_bytes);
/* recv block j = rank j's send, which may be block `rank` of recv already. Collective. Sends (size-1) messages of
 * block_bytes. */
dit_status dit_comm_all_gather(dit_comm *comm, const void *send, void *recv, int64_t block_bytes);
/* Every rank's piece, bytes [offsets[rank], offsets[rank + 1]) of `data`, to all; the own one lies there already, and
 * offsets[0] is 0.
 * Collective. Sends (size-1) messages of the own piece's bytes. */
dit_status dit_comm_all_gather_pieces(dit_comm *comm, void *data, const int64_t *offsets);
/* values[i] = sum over ranks of values[i], added in the order of ranks: the same bits on every rank. Collective. Every
 * rank sends its values to all others, so this is for few. Always the host's memory. gathered: scratch [size][count].
 */
dit_status dit_comm_all_reduce(dit_comm *comm, double *values, int64_t count, double *gathered);
/* Every rank's values to all, for a sum that each makes itself, in the order of ranks: the same bits on every rank.
 * Collective, counted as an all-reduce; as every rank sends its values to all others, this is for few. gathered
 * [size][count]. */
dit_status dit_comm_gather_terms(dit_comm *comm, const double *values, int64_t count, double *gathered);
/* out = sum over ranks of values, the same bits on every rank, for many: every rank adds one part of it, as it comes
 * from all others, in the order of ranks by `add`, and gives it to them. Collective. Sends 2 (size-1) messages of
 * count/size floats; size divides count. values are overwritten; out [count], apart from them.
 *   add   sum[i] = blocks[0][i] + blocks[1][i] + ...: size blocks of `count` */
typedef void (*dit_comm_add)(void *context, const float *blocks, int size, int64_t count, float *sum);
dit_status dit_comm_sum(dit_comm *comm, float *values, int64_t count, float *out, dit_comm_add add, void *context);
/* recv = sum over ranks of send, `elements` fp32 each, added as the library likes; with `scatter` only this rank's part
 * of it, elements / size. recv may be send, or with scatter that part of it. Collective, uncounted: for measuring
 * libraries. Errors: DIT_ERR_UNSUPPORTED. */
dit_status dit_comm_reduce(dit_comm *comm, const float *send, float *recv, int64_t elements, bool scatter);
/* Sends `bytes` to rank `to` and receives as many from `from`, in the background, one message. DIT_COMM_NOBODY for
 * either: nothing is sent, or received. Buffers are taken until wait returns. Call poll between pieces of computation:
 * MPI moves data only inside its calls. */
enum { DIT_COMM_NOBODY = -1 };
dit_status dit_comm_exchange_begin(dit_comm *comm, const void *send, int to, void *recv, int from, int64_t bytes,
                                   dit_comm_exchange *out);
void dit_comm_exchange_poll(dit_comm *comm, dit_comm_exchange *exchange);
dit_status dit_comm_exchange_wait(dit_comm *comm, dit_comm_exchange *exchange);
/* dit_comm_all_gather in the background, polled and waited for like an exchange. Collective: all ranks begin theirs in
 * the same order, and several may be under way. */
dit_status dit_comm_all_gather_begin(dit_comm *comm, const void *send, void *recv, int64_t block_bytes,
                                     dit_comm_exchange *out);

/* Uncounted, outside the measured region. */
dit_status dit_comm_barrier(dit_comm *comm);
/* Gathers every rank's `bytes` bytes (may differ) to all: *out is malloc'ed, offsets[size+1] delimits the pieces. */
dit_status dit_comm_collect(dit_comm *comm, const void *data, int64_t bytes, char **out, int64_t *offsets);

/* Sum of time_ns over everything counted. */
int64_t dit_comm_exposed_ns(const dit_comm_counters *counters);

#ifdef __cplusplus
}
#endif
#endif
