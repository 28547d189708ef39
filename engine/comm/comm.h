/* Communicators: one per mesh axis and one of all ranks, with counters that are compared with the closed forms.
 *
 * Everything a rank sends in the measured region goes through here. The interface functions check, count and dispatch;
 * the implementations (the table is in comm.c) only move bytes. Buffers belong to the caller: host memory or, in a
 * group with a device, arrays by address. Lengths of such arrays count addresses, four bytes an element; the array's
 * elements in their dtype travel, and are counted.
 */
#ifndef DIT_ENGINE_COMM_H
#define DIT_ENGINE_COMM_H

#include "base/volume.h"
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What this rank sent. time_ns is how long the rank's thread was held up (exposed). span_ns runs from the start of an
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
    int64_t began_ns, bytes; /* bytes that are sent */
    int64_t received_bytes;
    int to, from;  /* ranks of the group, or DIT_COMM_NOBODY */
    double ends_s; /* for the implementation, which says what it means */
} dit_comm_exchange;

/* Starts the library ("mpi"), once per process. *argc, *argv as in main. Collective over all processes. */
dit_status dit_comm_start(const char *implementation, int *argc, char ***argv);
/* Ends it. Collective. */
void dit_comm_finish(void);
/* Ends every process of the run with `exit_code`, so that nobody waits for a rank that failed. */
void dit_comm_abort(int exit_code) __attribute__((noreturn));
/* Returns the library's name and version for records: "Open MPI v4.1.4". */
const char *dit_comm_library(void);
/* Returns what moves the group's arrays: "NCCL 2.28.9", "Open MPI v4.1.4 through the host's memory"; "none" in a group
 * of one rank. */
const char *dit_comm_transport(const dit_comm *comm);
/* True if a device may record the group's messages in a graph. */
bool dit_comm_recordable(const dit_comm *comm);

/* Returns the communicator of all ranks, which belongs to the library and counts nothing. */
dit_comm *dit_comm_world(void);
/* Creates this rank's group along `axis` of the mesh, or along DIT_AXIS_WORLD. Collective over the world. The group
 * counts into `counters`, which must outlive it, under the phase that dit_comm_set_phase sets. */
dit_status dit_comm_create(const dit_parallel *parallel, dit_axis axis, dit_comm_counters *counters, dit_comm **out);
/* Creates the group of `rank` in a mesh that does not run: nothing moves, everything is counted. Not collective. */
dit_status dit_comm_create_counting(const dit_parallel *parallel, int rank, dit_axis axis, dit_comm_counters *counters,
                                    dit_comm **out);
/* Makes the group move arrays of `device` (NULL: of the host) from now on, in the order of the device's queue; `timing`
 * times what holds up that queue. Collective over the world: every rank passes its group of the same axis. Where each
 * rank has a GPU of its own and NCCL is present, NCCL moves the arrays; else they pass through host memory.
 * DITBENCH_DEVICE_COMM (nccl or staged) decides otherwise. Errors: DIT_ERR_DEVICE, DIT_ERR_TIMEOUT,
 * DIT_ERR_ENVIRONMENT. */
dit_status dit_comm_set_device(dit_comm *comm, struct dit_device *device, struct dit_timing *timing);
void dit_comm_free(dit_comm *comm); /* accepts NULL */
void dit_comm_set_phase(dit_comm *comm, dit_phase phase);
/* Records everything that is counted in `trace`, too; NULL ends that. The trace must outlive the recording. Accepts a
 * NULL communicator. */
void dit_comm_set_trace(dit_comm *comm, struct dit_trace *trace);

/* Announces one-way messages to the ranks of `to` and from those of `from`, so that a library which needs a channel for
 * each direction opens it. A receive that is posted early then never blocks a send (pipelines). Collective over the
 * group; the ranks' lists must agree. */
dit_status dit_comm_open_links(dit_comm *comm, const int *to, int to_count, const int *from, int from_count);

int dit_comm_rank(const dit_comm *comm);
int dit_comm_size(const dit_comm *comm);
/* Gives this process' rank among the processes of this machine, and their number. */
void dit_comm_local(int *local_rank, int *local_size);

/* All-to-all: block j of recv is what rank j sent as its block `rank`. Collective. Sends (size-1) messages of
 * block_bytes.
 *   send  in   [size][block_bytes]      recv  out  [size][block_bytes]      not overlapping */
dit_status dit_comm_all_to_all(dit_comm *comm, const void *send, void *recv, int64_t block_bytes);
/* All-gather: block j of recv is what rank j sent. `send` may be block `rank` of recv. Collective. Sends (size-1)
 * messages of block_bytes. */
dit_status dit_comm_all_gather(dit_comm *comm, const void *send, void *recv, int64_t block_bytes);
/* All-gather of pieces of different lengths: rank i's piece is bytes [offsets[i], offsets[i + 1]) of `data`, and
 * offsets[0] is 0. The rank's own piece already lies there.
 * Collective. Sends (size-1) messages of its piece's bytes. */
dit_status dit_comm_all_gather_pieces(dit_comm *comm, void *data, const int64_t *offsets);
/* values[i] = sum over ranks of values[i], added in the order of ranks, so that every rank gets equal bits. Collective.
 * Every rank sends its values to all others, so this is for few values. Buffers are always host memory. gathered:
 * scratch [size][count]. */
dit_status dit_comm_all_reduce(dit_comm *comm, double *values, int64_t count, double *gathered);
/* Gathers every rank's values, for a sum that each rank makes itself in the order of ranks, with equal bits everywhere.
 * Collective, counted as an all-reduce. Every rank sends its values to all others, so this is for few values. gathered
 * [size][count]. */
dit_status dit_comm_gather_terms(dit_comm *comm, const double *values, int64_t count, double *gathered);
/* out = sum over ranks of values, with equal bits on every rank, for many values: every rank adds one part, which it
 * gets from all others, in the order of ranks by `add`, and sends the result to all. Collective. Sends 2 (size-1)
 * messages of count/size floats; size divides count. values are overwritten; out [count] does not overlap them.
 *   add   sum[i] = blocks[0][i] + blocks[1][i] + ...: size blocks of `count` */
typedef void (*dit_comm_add)(void *context, const float *blocks, int size, int64_t count, float *sum);
dit_status dit_comm_sum(dit_comm *comm, float *values, int64_t count, float *out, dit_comm_add add, void *context);
/* recv = sum over ranks of send, `elements` fp32 values, in the library's order; with `scatter` recv gets only this
 * rank's part, elements / size. recv may be send, or with scatter that part of send. Collective, uncounted: it measures
 * libraries. Errors: DIT_ERR_UNSUPPORTED. */
dit_status dit_comm_reduce(dit_comm *comm, const float *send, float *recv, int64_t elements, bool scatter);
/* Sends one message of `bytes` to rank `to` and receives one of as many bytes from `from`, in the background.
 * DIT_COMM_NOBODY in place of a rank leaves that half out. Buffers are in use until wait returns. Call poll between
 * pieces of computation: MPI moves data only inside its calls. */
enum { DIT_COMM_NOBODY = -1 };
dit_status dit_comm_exchange_begin(dit_comm *comm, const void *send, int to, void *recv, int from, int64_t bytes,
                                   dit_comm_exchange *out);
void dit_comm_exchange_poll(dit_comm *comm, dit_comm_exchange *exchange);
dit_status dit_comm_exchange_wait(dit_comm *comm, dit_comm_exchange *exchange);
/* Begins dit_comm_all_gather in the background; poll it and wait for it like an exchange. Collective: all ranks begin
 * their gathers in one order, and several may be under way. */
dit_status dit_comm_all_gather_begin(dit_comm *comm, const void *send, void *recv, int64_t block_bytes,
                                     dit_comm_exchange *out);

/* Barrier; uncounted, for use outside of the measured region. */
dit_status dit_comm_barrier(dit_comm *comm);
/* Gathers every rank's `bytes` bytes (may differ) to all: *out is malloc'ed, offsets[size+1] delimits the pieces. */
dit_status dit_comm_collect(dit_comm *comm, const void *data, int64_t bytes, char **out, int64_t *offsets);

/* Adds the second counters to the first. */
void dit_comm_counters_add(dit_comm_counters *counters, const dit_comm_counters *more);
/* Returns the sum of time_ns over everything counted. */
int64_t dit_comm_exposed_ns(const dit_comm_counters *counters);

#ifdef __cplusplus
}
#endif
#endif
