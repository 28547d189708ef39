/* Standard: one rank holds the whole sequence, as in local.c, and attends to it as a chain of operators does: all scores
 * of a head are in memory at once. It is what tiled attention is measured against. It serves one layer.
 * Source: Dao, FlashAttention-2 (arXiv:2307.08691), section 2.2.
 */
#include "engine/attention/attention_impl.h"

typedef struct {
    float *scores; /* of one head */
} standard;

static dit_status standard_prepare(dit_attention *attention)
{
    int64_t tokens = attention->shape.tokens;
    void *memory;
    DIT_TRY(attention_cores_alone(attention));
    DIT_TRY(attention_take(attention, sizeof(standard), &memory));
    standard *s = attention->state = memory;
    return dit_arena_fp32(&attention->rt->step, dit_attention_score_floats(tokens, tokens), &s->scores);
}

static dit_status standard_forward(dit_attention *attention, const dit_attention_shape *shape,
                                   const dit_attention_io *io)
{
    const standard *s = attention->state;
    return attention_local_forward_through(attention, shape, io, s->scores);
}

const dit_attention_policy dit_attention_standard = {
    .name = "standard",
    .layer_alone = true,
    .prepare = standard_prepare,
    .forward = standard_forward,
};
