#include "engine/comm/schedule.h"

#include <stdlib.h>

/* In step d a rank sends to the rank d after it and receives from the one d before it, so no two send to one rank at
 * once. */
int dit_schedule_all_to_all(int rank, int size, int64_t block_bytes, dit_transfer *out)
{
    int count = 0;
    for (int distance = 1; distance < size && block_bytes; distance++) {
        int to = (rank + distance) % size, from = (rank + size - distance) % size;
        out[count++] = (dit_transfer){.to = to,
                                      .from = from,
                                      .send = to * block_bytes,
                                      .send_bytes = block_bytes,
                                      .recv = from * block_bytes,
                                      .recv_bytes = block_bytes};
    }
    return count;
}

int dit_schedule_gather_pieces(int rank, int size, const int64_t *offsets, dit_transfer *out)
{
    int count = 0;
    for (int distance = 1; distance < size; distance++) {
        int to = (rank + distance) % size, from = (rank + size - distance) % size;
        dit_transfer t = {.to = to,
                          .from = from,
                          .send = offsets[rank],
                          .send_bytes = offsets[rank + 1] - offsets[rank],
                          .recv = offsets[from],
                          .recv_bytes = offsets[from + 1] - offsets[from]};
        if (t.send_bytes || t.recv_bytes) out[count++] = t;
    }
    return count;
}

static int compare(const void *a, const void *b)
{
    const dit_link *x = a, *y = b;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

int dit_schedule_links(dit_link *links, int count)
{
    int left = 0;
    if (count > 0) qsort(links, (size_t)count, sizeof *links, compare);
    for (int i = 0; i < count; i++)
        if (left == 0 || compare(&links[left - 1], &links[i]) != 0) links[left++] = links[i];
    return left;
}

int dit_schedule_link_of(const dit_link *links, int count, int rank, int to, int from)
{
    if ((to >= 0) == (from >= 0)) return -1;
    dit_link wanted = {to >= 0 ? rank : from, to >= 0 ? to : rank};
    for (int i = 0; i < count; i++)
        if (compare(&links[i], &wanted) == 0) return i;
    return -1;
}
