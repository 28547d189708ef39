/* Store: the K and V of all image rows that a pipeline's rank attends to, kept from step to step.
 *
 * Each call of a forward has one slot, [K, V][B][rows][kv_heads D], dense. The rows of a Ulysses group lie in it band
 * after band: the replicated text, then every rank's split text and band 0, then every rank's band 1, and so on. So a
 * band is one run of rows, and what the exchange of a band delivers is copied there as it is. Rows are put after the
 * exchange of Ulysses and before the ring: each ring rank keeps its own share. Every band carries the step in which it
 * was written, so that no row is older than the method says. README.md of this folder says why bands come before ranks.
 */
#ifndef DIT_ENGINE_ATTENTION_STORE_H
#define DIT_ENGINE_ATTENTION_STORE_H

#include "base/patches.h"
#include "engine/attention/call.h"
#include "engine/runtime/runtime.h"

/* Keys and values that queries attend to, [B, rows, kv_heads, D]: rows `ld` and batch entries `batch` floats apart. */
typedef struct {
    const float *k, *v;
    int64_t ld, batch;
    int64_t rows, replicated; /* replicated: the first rows, text that every sequence rank holds */
} attention_keys;

typedef struct {
    int64_t calls, B, width; /* width: kv_heads D                                            */
    int64_t ulysses, bands;  /* ranks whose rows are here, and bands of each rank            */
    int64_t replicated;      /* text rows that these ranks share                             */
    int64_t text, image;     /* one rank's rows: of its split text; of the image, all bands  */
    int64_t references;      /* those of its image rows that are a reference's               */
    int64_t rows;            /* all rows of all these ranks                                  */
    float *kv;               /* [calls][2][B][rows][width]                                   */
    int32_t *steps;          /* [calls][bands], the step in which each band was written      */
} attention_store;

/* Makes room, from rt->image, for the rows of `exchanged`, which is the largest call behind Ulysses' exchange on rt's
 * mesh. Errors: DIT_ERR_MEMORY. */
dit_status attention_store_create(dit_runtime *rt, const dit_attention_shape *exchanged, attention_store *out);
/* The rows of band `band`. The text belongs to band 0. */
dit_range attention_store_band(const attention_store *store, int64_t band);
/* How many rows apart the split text of two neighbouring Ulysses ranks lies. */
int64_t attention_store_text_stride(const attention_store *store);

/* Copies the rows that the exchange delivered in call `call` of the window's forward to their place: those of a band,
 * or of all bands, which come rank by rank. Errors: DIT_ERR_INTERNAL when the band is not due, which it is when the
 * bands before it are of the window's step and it and those behind it of the step done before; and for calls or numbers
 * of rows that the store has not. */
dit_status attention_store_put(attention_store *store, dit_runtime *rt, int64_t call, const dit_window *window,
                               const attention_keys *keys);
/* All rows that call `call` has. */
attention_keys attention_store_keys(const attention_store *store, int64_t call);

#endif
