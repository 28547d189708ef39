/* Row keys: K and V of a call as [row][2][B][Hk D], for policies whose ranks give each other runs of rows. A run of all
 * batch entries is one stretch of memory, so that messages leave from where attention reads them and arrive there.
 * Replicated text lies in front. All arrays are device memory; nothing here is collective.
 */
#ifndef DIT_ENGINE_ROW_KEYS_H
#define DIT_ENGINE_ROW_KEYS_H

#include "engine/attention/attention_impl.h"

enum { ATTENTION_PREVIOUS, ATTENTION_NEXT, ATTENTION_SIDES };

/* The rank on that side of this one in its group, or DIT_COMM_NOBODY. */
int attention_beside(const dit_comm *comm, int side);
/* Floats of one row: K and V of all batch entries. */
int64_t attention_row_floats(const dit_attention_shape *shape);
/* Copies replicated text to the front of `keys`, and own rows to `before` rows behind it. Returns where own rows begin. */
float *attention_place_rows(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                            int64_t before, float *keys);
/* Copies `count` rows. */
void attention_copy_rows(dit_attention *attention, const dit_attention_shape *shape, const float *rows, int64_t count,
                         float *out);
/* The first `rows` rows of `keys`, as what a call attends to. */
attention_keys attention_row_keys(const dit_attention_shape *shape, const float *keys, int64_t rows);
/* The operator's arguments for some batch entries, all of their rows and heads. The bias is that of all keys; a call may
 * have fewer of them, and then has one entry. */
dit_attention_args attention_of_entries(const dit_attention *attention, const dit_attention_shape *shape,
                                        const dit_attention_io *io, const attention_keys *keys, dit_range entries);

#endif
