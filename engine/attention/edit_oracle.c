/* Edit oracle: computes K and V of all rows, and then puts those of an earlier run in the place of all rows but the fresh
 * ones. It works in host memory, row by row, and shares no array with edit.c. */
#include "engine/attention/edit.h"
#include "engine/attention/attention_impl.h"

#include <string.h>

typedef struct {
    attention_edit is; /* first */
    float *kept;       /* host memory, [steps][calls][B][rows][K, V][width]                 */
    float *keys;       /* [B][text + rows][K, V][width]                                     */
} oracle_keys;

static dit_status prepare(dit_attention *attention)
{
    const dit_attention_shape *shape = &attention->shape;
    dit_runtime *rt = attention->rt;
    DIT_TRY(attention_edit_take(attention, sizeof(oracle_keys)));
    oracle_keys *o = attention->state;
    int64_t step = shape->calls * shape->B * o->is.rows * 2 * o->is.width;
    DIT_TRY(dit_arena_host(&rt->image, rt->facts.steps * step, &o->kept));
    return dit_arena_activations(&rt->step, shape->B * shape->tokens * 2 * o->is.width, &o->keys);
}

static void gather(dit_attention *attention, const oracle_keys *o, const dit_attention_io *io)
{
    const float *const sources[2] = {io->k, io->v};
    for (int i = 0; i < 2; i++)
        ops_copy(attention->rt,
                 &(dit_copy_args){.n0 = attention->shape.B,
                                  .n1 = o->is.text + o->is.rows,
                                  .n2 = 1,
                                  .inner = o->is.width,
                                  .src = sources[i],
                                  .src_stride = {attention_batch_k(io), attention_ldk(io), 0},
                                  .dst = o->keys + i * o->is.width,
                                  .dst_stride = {(o->is.text + o->is.rows) * 2 * o->is.width, 2 * o->is.width, 0}});
}

/* Keeps each image row, or replaces it by the kept one. */
static void settle_rows(const dit_attention *attention, const oracle_keys *o)
{
    int64_t row = 2 * o->is.width, fresh = o->is.fresh.first, behind = fresh + o->is.fresh.count;
    int64_t call = attention->window.step * attention->shape.calls + attention->call;
    for (int64_t b = 0; b < attention->shape.B; b++)
        for (int64_t i = 0; i < o->is.rows; i++) {
            float *here = o->keys + (b * (o->is.text + o->is.rows) + o->is.text + i) * row;
            float *kept = o->kept + ((call * attention->shape.B + b) * o->is.rows + i) * row;
            if (o->is.mode == DIT_EDIT_KEEP) memcpy(kept, here, (size_t)row * sizeof *kept);
            if (o->is.mode == DIT_EDIT_TAKE && (i < fresh || i >= behind))
                memcpy(here, kept, (size_t)row * sizeof *here);
        }
}

static dit_status forward(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io)
{
    oracle_keys *o = attention->state;
    int64_t floats = shape->B * shape->tokens * 2 * o->is.width;
    gather(attention, o, io);
    DIT_TRY(dit_runtime_download(attention->rt, o->keys, floats));
    if (!attention->rt->ledger.counting_only) settle_rows(attention, o);
    DIT_TRY(dit_runtime_upload(attention->rt, o->keys, floats));
    attention_over_keys(attention, shape, io,
                        &(attention_keys){.k = o->keys,
                                          .v = o->keys + o->is.width,
                                          .ld = 2 * o->is.width,
                                          .batch = shape->tokens * 2 * o->is.width,
                                          .rows = shape->tokens},
                        NULL);
    return DIT_OK;
}

const dit_attention_policy dit_attention_edit_oracle = {
    .name = "edit_oracle", .differs = true, .prepare = prepare, .forward = forward};
