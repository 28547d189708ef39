/* Edit oracle: computes K and V of all rows, and then puts those of an earlier run in the place of all rows but the fresh
 * ones. It works in host memory, row by row, and shares no array with edit.c. */
#include "engine/attention/edit.h"
#include "engine/attention/attention_impl.h"

#include <string.h>

typedef struct {
    attention_edit_told told; /* first */
    int64_t text, rows, width;
    float *kept; /* host memory, [steps][calls][B][rows][K, V][width]                 */
    float *keys; /* [B][text + rows][K, V][width]                                     */
} oracle_keys;

static dit_status prepare(dit_attention *attention)
{
    const dit_attention_shape *shape = &attention->shape;
    dit_runtime *rt = attention->rt;
    void *memory;
    if (!shape->calls)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                        "K and V of an earlier run are kept for a model's layers, not for one alone");
    DIT_TRY(attention_take(attention, sizeof(oracle_keys), &memory));
    oracle_keys *o = attention->state = memory;
    o->text = shape->text, o->rows = shape->tokens - shape->text;
    o->width = attention_kv_heads(shape) * shape->D;
    int64_t step = shape->calls * shape->B * o->rows * 2 * o->width;
    DIT_TRY(dit_arena_host(&rt->image, rt->facts.steps * step, &o->kept));
    return dit_arena_activations(&rt->step, shape->B * shape->tokens * 2 * o->width, &o->keys);
}

static void gather(dit_attention *attention, const oracle_keys *o, const dit_attention_io *io)
{
    const float *const sources[2] = {io->k, io->v};
    for (int i = 0; i < 2; i++)
        ops_copy(attention->rt, &(dit_copy_args){.n0 = attention->shape.B,
                                                 .n1 = o->text + o->rows,
                                                 .n2 = 1,
                                                 .inner = o->width,
                                                 .src = sources[i],
                                                 .src_stride = {attention_batch_k(io), attention_ldk(io), 0},
                                                 .dst = o->keys + i * o->width,
                                                 .dst_stride = {(o->text + o->rows) * 2 * o->width, 2 * o->width, 0}});
}

/* Keeps each image row, or replaces it by the kept one. */
static void settle_rows(const dit_attention *attention, const oracle_keys *o)
{
    int64_t row = 2 * o->width, fresh = o->told.fresh.first, behind = fresh + o->told.fresh.count;
    int64_t call = attention->window.step * attention->shape.calls + attention->call;
    for (int64_t b = 0; b < attention->shape.B; b++)
        for (int64_t i = 0; i < o->rows; i++) {
            float *here = o->keys + (b * (o->text + o->rows) + o->text + i) * row;
            float *kept = o->kept + ((call * attention->shape.B + b) * o->rows + i) * row;
            if (o->told.mode == DIT_EDIT_KEEP) memcpy(kept, here, (size_t)row * sizeof *kept);
            if (o->told.mode == DIT_EDIT_TAKE && (i < fresh || i >= behind))
                memcpy(here, kept, (size_t)row * sizeof *here);
        }
}

static dit_status forward(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io)
{
    oracle_keys *o = attention->state;
    int64_t floats = shape->B * shape->tokens * 2 * o->width;
    gather(attention, o, io);
    DIT_TRY(dit_runtime_download(attention->rt, o->keys, floats));
    if (!attention->rt->ledger.counting_only) settle_rows(attention, o);
    DIT_TRY(dit_runtime_upload(attention->rt, o->keys, floats));
    attention_over_keys(attention, shape, io,
                        &(attention_keys){.k = o->keys,
                                          .v = o->keys + o->width,
                                          .ld = 2 * o->width,
                                          .batch = shape->tokens * 2 * o->width,
                                          .rows = shape->tokens},
                        NULL);
    return DIT_OK;
}

const dit_attention_policy dit_attention_edit_oracle = {
    .name = "edit_oracle", .differs = true, .prepare = prepare, .forward = forward};
