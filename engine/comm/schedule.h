/* Schedules: list the messages of a collective as tables, for communicators that only send and receive.
 *
 * Pure: a rank's table follows from its number and the sizes alone, so tests can compare the tables of all ranks. Every
 * send has a receive of as many bytes on the peer, and between two ranks both have one order. No rank sends to itself:
 * it copies what stays. The transfers of one table form one NCCL group, in which none waits for another.
 */
#ifndef DIT_ENGINE_COMM_SCHEDULE_H
#define DIT_ENGINE_COMM_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One transfer: bytes [send, send + send_bytes) of the send buffer go to rank `to`, and what rank `from` sends goes to
 * bytes [recv, recv + recv_bytes) of the receive buffer. 0 bytes: the transfer lacks that half. */
typedef struct {
    int to, from;
    int64_t send, send_bytes, recv, recv_bytes;
} dit_transfer;

/* Both functions return the number of transfers, at most size - 1; out [size]. */
int dit_schedule_all_to_all(int rank, int size, int64_t block_bytes, dit_transfer *out);
/* Sends piece [offsets[i], offsets[i + 1]) of one buffer from rank i to all others. */
int dit_schedule_gather_pieces(int rank, int size, const int64_t *offsets, dit_transfer *out);

/* A link carries messages one way, from one stage of a pipeline to the next, with a communicator and a queue of its
 * own. If both ways shared a queue, a receive that is posted early would block the send that its sender waits for. So a
 * pipeline of two stages has two links, and a longer one has a link for each arrow. */
typedef struct {
    int from, to; /* one of them is this rank */
} dit_link;

/* Sorts this rank's links into the order of opening, drops repetitions, and returns how many are left. Opening needs
 * both ends at once; all ranks follow one order of all links, so none waits in a circle. */
int dit_schedule_links(dit_link *links, int count);
/* Returns the link of a message, or -1 for messages both ways at once and those that no link was opened for: they go
 * through the group's common communicator. */
int dit_schedule_link_of(const dit_link *links, int count, int rank, int to, int from);

#ifdef __cplusplus
}
#endif
#endif
