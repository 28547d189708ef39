/* Edit: keeps K and V of a whole run, and lets a window of another run's rows attend to them. One rank, sends nothing.
 *
 * Of each step and call the image rows are kept, [steps][calls][K, V][B][rows][kv_heads D]. Joint text is never taken from
 * the earlier run, because its caption is another.
 */
#include "engine/attention/edit.h"
#include "engine/attention/attention_impl.h"

typedef struct {
    attention_edit is; /* first */
    float *kept;       /* [steps][calls][2][B][rows][width]                         */
    float *keys;       /* [2][B][text + rows][width], of the call that takes        */
} edit_keys;

void dit_attention_edit(dit_attention *attention, dit_edit_mode mode, dit_range fresh)
{
    const dit_attention_policy *policy = attention->policy;
    if (policy != &dit_attention_edit_rows && policy != &dit_attention_edit_oracle) return;
    attention_edit *edit = attention->state;
    edit->mode = mode, edit->fresh = fresh;
}

dit_status attention_edit_take(dit_attention *attention, int64_t bytes)
{
    const dit_attention_shape *shape = &attention->shape;
    if (!shape->calls)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                        "K and V of an earlier run are kept for a model's layers, not for one alone");
    DIT_TRY(attention_take(attention, bytes, &attention->state));
    attention_edit *edit = attention->state;
    edit->text = shape->text, edit->rows = shape->tokens - shape->text;
    edit->width = attention_kv_heads(shape) * shape->D;
    return DIT_OK;
}

static int64_t floats_of_call(const dit_attention *attention, const edit_keys *e)
{
    return 2 * attention->shape.B * e->is.rows * e->is.width;
}

static dit_status prepare(dit_attention *attention)
{
    const dit_attention_shape *shape = &attention->shape;
    dit_runtime *rt = attention->rt;
    DIT_TRY(attention_edit_take(attention, sizeof(edit_keys)));
    edit_keys *e = attention->state;
    DIT_TRY(dit_arena_activations(&rt->image, rt->facts.steps * shape->calls * floats_of_call(attention, e), &e->kept));
    return dit_arena_activations(&rt->step, 2 * shape->B * shape->tokens * e->is.width, &e->keys);
}

/* Copies `count` rows of both operands between arrays whose batch entries and operands lie apart. */
typedef struct {
    const float *k, *v;
    int64_t ld, batch;
} edit_rows;

static void copy_rows(dit_attention *attention, const edit_keys *e, const edit_rows *from, int64_t first, int64_t count,
                      float *to, int64_t rows, int64_t at)
{
    int64_t operand = attention->shape.B * rows * e->is.width;
    const float *const sources[2] = {from->k, from->v};
    for (int i = 0; i < 2 && count > 0; i++)
        ops_copy(attention->rt, &(dit_copy_args){.n0 = attention->shape.B,
                                                 .n1 = count,
                                                 .n2 = 1,
                                                 .inner = e->is.width,
                                                 .src = sources[i] + first * from->ld,
                                                 .src_stride = {from->batch, from->ld, 0},
                                                 .dst = to + i * operand + at * e->is.width,
                                                 .dst_stride = {rows * e->is.width, e->is.width, 0}});
}

/* Puts the call's own rows over the kept ones. */
static attention_keys join(dit_attention *attention, const edit_keys *e, const float *slot, const edit_rows *own)
{
    int64_t rows = e->is.text + e->is.rows, first = e->is.fresh.first, count = e->is.fresh.count;
    int64_t operand = attention->shape.B * e->is.rows * e->is.width;
    const edit_rows kept = {slot, slot + operand, e->is.width, e->is.rows * e->is.width};
    copy_rows(attention, e, own, 0, e->is.text, e->keys, rows, 0);
    copy_rows(attention, e, &kept, 0, first, e->keys, rows, e->is.text);
    copy_rows(attention, e, own, e->is.text, count, e->keys, rows, e->is.text + first);
    copy_rows(attention, e, &kept, first + count, e->is.rows - first - count, e->keys, rows,
              e->is.text + first + count);
    return (attention_keys){.k = e->keys,
                            .v = e->keys + attention->shape.B * rows * e->is.width,
                            .ld = e->is.width,
                            .batch = rows * e->is.width,
                            .rows = rows};
}

static dit_status forward(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io)
{
    edit_keys *e = attention->state;
    const edit_rows own = {io->k, io->v, attention_ldk(io), attention_batch_k(io)};
    float *slot =
        e->kept + (attention->window.step * attention->shape.calls + attention->call) * floats_of_call(attention, e);
    if (shape->text != e->is.text)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                        "an edit keeps K and V of layers with %lld rows of text, this one has %lld",
                        (long long)e->is.text, (long long)shape->text);
    if (e->is.mode == DIT_EDIT_KEEP) copy_rows(attention, e, &own, e->is.text, e->is.rows, slot, e->is.rows, 0);
    if (e->is.mode != DIT_EDIT_TAKE) return attention_local_forward(attention, shape, io);
    attention_keys keys = join(attention, e, slot, &own);
    attention_over_keys(attention, shape, io, &keys, NULL);
    return DIT_OK;
}

const dit_attention_policy dit_attention_edit_rows = {
    .name = "edit", .differs = true, .prepare = prepare, .forward = forward};
