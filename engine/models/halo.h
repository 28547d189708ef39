/* Halo: the rows of pixels next to a rank's own, which 3 x 3 convolutions read. Ranks hold whole rows, in order along one
 * sequence axis (base/legality.c); the first has nothing above, the last nothing below. */
#ifndef DIT_ENGINE_HALO_H
#define DIT_ENGINE_HALO_H

#include "engine/runtime/runtime.h"

typedef struct {
    dit_runtime *rt;
    dit_comm *comm;       /* of the sequence ranks; NULL: there is one, and nothing next to it */
    int64_t row;          /* elements of a row of pixels */
    float *top, *bottom;  /* [batch, row] own rows that are sent */
    float *above, *below; /* [batch, row] rows that arrive */
} dit_halo;

/* Takes buffers for `batch` entries with rows of `row` activations from rt->comm_arena. Errors: DIT_ERR_MEMORY. */
dit_status dit_halo_create(dit_runtime *rt, int64_t batch, int64_t row, dit_halo *out);
/* Sends the first and the last row of x [batch, height, row], dense, to the neighbours, and gives theirs, which stay until the
 * next call: above and below [batch, row], NULL where there is none. Collective over the sequence ranks. Sends a message
 * to each neighbour. */
dit_status dit_halo_exchange(const dit_halo *halo, const float *x, int64_t batch, int64_t height, const float **above,
                             const float **below);

#endif
