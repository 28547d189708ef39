/* Schedules: which messages a collective is, as tables, for communicators that are made of sends and receives.
 *
 * Pure: a rank's row of a table is known from its number and the sizes alone, so that tests can lay all rows beside
 * each other. In each table every send has its receive on the peer, of as many bytes, and between two ranks they are in
 * the same order; nobody sends to itself: what stays is a copy. The rows of one table are one group of NCCL's: none
 * waits for another.
 */
#ifndef DIT_ENGINE_COMM_SCHEDULE_H
#define DIT_ENGINE_COMM_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes [send, send + send_bytes) of what is sent go to rank `to`; what rank `from` sends goes to bytes [recv, ...) of
 * what is received. No bytes: that half is none. */
typedef struct {
    int to, from;
    int64_t send, send_bytes, recv, recv_bytes;
} dit_transfer;

/* Each returns the number of transfers, at most size - 1; out [size]. */
int dit_schedule_all_to_all(int rank, int size, int64_t block_bytes, dit_transfer *out);
/* Pieces [offsets[i], offsets[i + 1]) of one buffer, each from rank i to all others. */
int dit_schedule_gather_pieces(int rank, int size, const int64_t *offsets, dit_transfer *out);

/* Links: messages one way, from a stage of a pipeline to another, each with a communicator and a queue of its own. With
 * one for both ways a receive that is posted ahead would stand before the send that its sender waits for: a pipeline of
 * two has two, and of more one for each arrow. */
typedef struct {
    int from, to; /* one of them is this rank */
} dit_link;

/* Puts this rank's links into the order in which they are opened, without repetitions, and returns how many are left.
 * Opening needs both ends at once: all ranks go by one order of all links, so that none waits in a circle. */
int dit_schedule_links(dit_link *links, int count);
/* The link of a message, or -1: of messages both ways at once, and of those that no link was opened for. All of these
 * go by the group's common communicator. */
int dit_schedule_link_of(const dit_link *links, int count, int rank, int to, int from);

#ifdef __cplusplus
}
#endif
#endif
