/* Store: K and V of all rows of the image that a rank of a pipeline attends with, kept from step to step.
 *
 * A call of a forward has one slot: [K, V][batch][rows][kv_heads D], dense. A Ulysses group's rows lie in it by bands:
 * replicated text first, then of every rank its split text and band 0, then of every rank band 1, and so on. A band is
 * therefore one run of rows, and what an exchange of a band delivers goes there as it is. Put after the exchange of
 * Ulysses and before the ring: of ring ranks each keeps its own share.
 * Every band is stamped with the step that it was written in, so that rows are never older than the method says.
 * README.md of this folder says why bands and not ranks come first.
 */
#ifndef DIT_ENGINE_ATTENTION_STORE_H
#define DIT_ENGINE_ATTENTION_STORE_H

#include "base/patches.h"
#include "engine/attention/call.h"
#include "engine/runtime/runtime.h"

/* Keys and values that queries attend to, [B, rows, kv_heads, D]: rows ld apart, batch entries `batch` apart. */
typedef struct {
    const float *k, *v;
    int64_t ld, batch;
    int64_t rows, replicated; /* replicated: of which every sequence rank holds the first ones, text */
} attention_keys;

typedef struct {
    int64_t calls, B, width; /* width: kv_heads D                                            */
    int64_t ulysses, bands;  /* ranks whose rows are here; bands of each                     */
    int64_t replicated;      /* text rows that all of them share                             */
    int64_t text, image;     /* rows of one rank: its split text; of the image, in all bands */
    int64_t rows;            /* of all of them                                               */
    float *kv;               /* [calls][2][B][rows][width]                                   */
    int32_t *steps;          /* [calls][bands]                                               */
} attention_store;

/* Room for the rows that `exchanged` has, the largest call behind the Ulysses exchange, on rt's mesh. Memory from
 * rt->image. Errors: DIT_ERR_MEMORY. */
dit_status attention_store_create(dit_runtime *rt, const dit_attention_shape *exchanged, attention_store *out);
/* First of the rows of band `band`, and how many; the text belongs to band 0. */
dit_range attention_store_band(const attention_store *store, int64_t band);
/* How far apart the text of two Ulysses ranks lies. */
int64_t attention_store_text_stride(const attention_store *store);

/* Copies what the exchange gave call `call` of the window's forward to its place: the rows of a band, or of all bands,
 * which come rank by rank. Errors: DIT_ERR_INTERNAL where that is not the next band that is due: those before it are of
 * the window's step, it and those behind it of the step done before; for calls and numbers of rows that there are not. */
dit_status attention_store_put(attention_store *store, dit_runtime *rt, int64_t call, const dit_window *window,
                               const attention_keys *keys);
/* All that call `call` has. */
attention_keys attention_store_keys(const attention_store *store, int64_t call);

#endif
