/* Guest: who runs the engine's own code in a time and over messages of its own, as the simulator does (engine/sim/).
 *
 * A runtime has one pointer to it, NULL in every run that computes. The functions below are all that the engine asks a
 * guest; without one each returns what a plain run needs.
 */
#ifndef DIT_ENGINE_GUEST_H
#define DIT_ENGINE_GUEST_H

#include "base/habits.h"
#include "kernels/kernels.h"

#include <stdint.h>

struct dit_runtime;

/* Pieces of a forward in the order of other software: what it computes once a forward and this engine before (text
 * projections and tables too), each block, the head. */
typedef enum { DIT_PIECE_BEFORE, DIT_PIECE_BEGIN, DIT_PIECE_BLOCK, DIT_PIECE_HEAD } dit_piece_kind;
typedef struct {
    dit_piece_kind kind;
    int64_t block;                                                    /* of the whole model */
    int64_t batch, branches, image_rows, text_rows, segments, frames; /* of this rank and window; frames of latents */
} dit_piece;

/* Every member is required but begin_step, wait_for_device, and those of pieces. */
typedef struct {
    dit_habits habits;          /* of the software whose run is predicted                             */
    const dit_kernels *kernels; /* operators that take the guest's time and touch no array: arrays are address space */
    void *context;              /* of the next five */
    double (*now_s)(void *context);
    void (*begin_entry)(void *context, int64_t at, int64_t of);
    /* Called around each piece, with its size and at its end with NULL, and around its attention over the sequence, if
     * it has any. NULL: not called. */
    void (*at_piece)(void *context, const dit_piece *piece);
    void (*at_attention)(void *context, bool begins);
    void (*wait_for_device)(void *context); /* the host does, as other software lets it; NULL: it never does */
    int (*begin_step)(void *steps, const struct dit_runtime *rt, int step); /* NULL: every step is done */
    void *steps;                                                            /* of begin_step            */
} dit_guest;

/* Seconds of the guest's clock, finer than dit_clock_ns; 0 without a guest. */
static inline double dit_guest_now_s(const dit_guest *guest)
{
    return guest ? guest->now_s(guest->context) : 0;
}

/* Batch entry `at` of `of` is exchanged next. Other software exchanges all entries at once: its guest lets the first
 * entry's messages carry them all. (0, 1) ends the batch. */
static inline void dit_guest_begin_entry(const dit_guest *guest, int64_t at, int64_t of)
{
    if (guest) guest->begin_entry(guest->context, at, of);
}

/* A piece begins; NULL: it ends. */
static inline void dit_guest_at_piece(const dit_guest *guest, const dit_piece *piece)
{
    if (guest && guest->at_piece) guest->at_piece(guest->context, piece);
}

/* The piece's attention over the sequence begins or ends. */
static inline void dit_guest_at_attention(const dit_guest *guest, bool begins)
{
    if (guest && guest->at_attention) guest->at_attention(guest->context, begins);
}

/* The host of this rank waits until its device has done all that was issued. */
static inline void dit_guest_wait_for_device(const dit_guest *guest)
{
    if (guest && guest->wait_for_device) guest->wait_for_device(guest->context);
}

/* This rank begins `step`. Returns the step to do: this one, or a later one where a guest leaves out those between. It
 * leaves out the same steps on every rank, and no synchronous one. */
static inline int dit_guest_begin_step(const dit_guest *guest, const struct dit_runtime *rt, int step)
{
    return guest && guest->begin_step ? guest->begin_step(guest->steps, rt, step) : step;
}

#endif
