/* Relay: shares a decode by frames. Each rank walks the chunks that are its own (base/chunks.h says which), and what
 * causal convolutions keep goes round from rank to rank.
 *
 * A convolution takes what it kept of the chunk before from the rank before, just before it runs, and passes on what it
 * keeps as soon as that is complete. A rank sends in the background; it waits for a send before it writes the cache
 * again. All functions are collective over the ranks that share the decode.
 */
#ifndef DIT_ENGINE_VAE_RELAY_H
#define DIT_ENGINE_VAE_RELAY_H

#include "base/chunks.h"
#include "engine/runtime/runtime.h"

typedef struct {
    dit_runtime *rt;
    dit_comm *comm; /* NULL: this rank walks all chunks, and nothing below is called             */
    int rank, ranks;
    dit_status status; /* of the first message that failed; later ones are not sent               */
    float *picture;    /* with a device, the buffer for gathering; else NULL                      */
    int64_t *offsets;  /* [ranks + 1] bytes of a colour's frames                                  */
} vae_relay;

/* A send under way. All zeros: none. */
typedef struct {
    dit_comm_exchange exchange;
    bool is_under_way;
} vae_passing;

/* Deals chunks over the ranks of `comm`; with comm NULL, or of one rank, nothing is shared. Errors: as
 * dit_chunks_check. */
dit_status vae_relay_init(vae_relay *relay, dit_runtime *rt, dit_comm *comm, const dit_rows_facts *facts);
/* Allocates from rt->comm_arena. picture_floats: floats of a whole video. */
dit_status vae_relay_allocate(vae_relay *relay, int64_t picture_floats);
/* True if this rank walks the chunk. */
bool vae_relay_is_own(const vae_relay *relay, int64_t chunk);

/* Receives `floats` floats of the rank before into `cache`, once the send of it that is under way has left. */
void vae_relay_take(vae_relay *relay, vae_passing *passing, float *cache, int64_t floats);
/* Begins to send them to the rank of the next chunk. */
void vae_relay_pass(vae_relay *relay, vae_passing *passing, const float *cache, int64_t floats);
/* Waits until a send has left; does nothing where none is under way. */
void vae_relay_settle(vae_relay *relay, vae_passing *passing);
/* Gathers every rank's frames of `colours` planes of `frames` frames each, `pixels` floats a frame, in host memory, on all
 * ranks. `facts` has the latents' frames. Errors: those of this exchange and of earlier messages. */
dit_status vae_relay_gather(vae_relay *relay, const dit_rows_facts *facts, float *image, int64_t colours,
                            int64_t frames, int64_t pixels);

#endif
