/* Closed forms: what each method sends, per rank and image. PARALLEL.md section 2, exact for joint text.
 *
 * Notation: B batch rows of this rank (images x guidance branches), n local tokens that travel, R replicated text rows,
 * C hidden, u and r the Ulysses and ring degrees, e = 4 bytes. Per self-attention layer and step:
 *   Ulysses   Q, K, V out and the result back, one all-to-all per operand and batch row: 4 B (u-1) n C/u e
 *             replicated text: no Q, K or V travels; the result's head slices are gathered: B (u-1) R C/u e
 *   ring      r-1 hops of K and V in one message: (r-1) 2 B (u n) (C/u) e
 *   tensor    ranks t hold C/t of q, k, v, so that C above is C/t. A sum of [B n, C] over them goes as a reduce-scatter
 *             and an all-gather: 2 (t-1) messages of B n C/t e. Norms over all heads: t-1 messages of B n doubles
 * Where attention is per frame (segments), its batch rows are B x segments of n / segments tokens; where a block
 * attends a second time over image tokens alone, that call counts without the text. Per step:  CFG parallel gathers the
 * prediction: images n_image token_channels e At the end the latents are gathered over ulysses, then ring, then data.
 */
#include "base/mesh.h"

#include <string.h>

static const char *const collective_names[DIT_COLLECTIVE_COUNT] = {"all_to_all", "all_gather", "send_recv",
                                                                   "all_reduce"};
static const char *const phase_names[DIT_PHASE_COUNT] = {"step", "gather", "decode"};
enum { ELEMENT_BYTES = 4 };

const char *dit_collective_name(dit_collective collective)
{
    return collective_names[collective];
}
const char *dit_phase_name(dit_phase phase)
{
    return phase_names[phase];
}

typedef struct {
    int64_t u, r, t, cfg, data, images, batch, segments, image_rows, moving_rows, replicated_rows;
    int64_t hidden; /* of a tensor rank */
    dit_block_run blocks;
} shape;

static int64_t degree_of(const dit_parallel *parallel, dit_axis axis)
{
    return parallel->degree[axis] > 0 ? parallel->degree[axis] : 1;
}

static shape shape_of(const dit_parallel *parallel, const dit_facts *facts)
{
    shape s = {.blocks = dit_facts_blocks(facts, 0, facts->layers),
               .u = degree_of(parallel, DIT_AXIS_ULYSSES),
               .r = degree_of(parallel, DIT_AXIS_RING),
               .t = degree_of(parallel, DIT_AXIS_TENSOR),
               .cfg = degree_of(parallel, DIT_AXIS_CFG),
               .data = degree_of(parallel, DIT_AXIS_DATA)};
    s.images = facts->num_images / s.data;
    s.batch = s.images * facts->guidance_branches / s.cfg;
    s.image_rows = s.moving_rows = facts->image_tokens / (s.u * s.r);
    s.segments = facts->segments > 1 ? facts->segments : 1;
    s.hidden = facts->heads / s.t * facts->head_dim;
    if (facts->joint && dit_parallel_joint_text(parallel, facts) == DIT_JOINT_TEXT_SPLIT)
        s.moving_rows += facts->text_tokens / (s.u * s.r);
    else if (facts->joint)
        s.replicated_rows = facts->text_tokens;
    return s;
}

static void add(dit_volume *volume, int64_t messages, int64_t bytes_each)
{
    volume->messages += messages;
    volume->bytes += messages * bytes_each;
}

/* `rows` travelling and `replicated` rows of each of `batch` attention calls */
static void predict_ulysses(const shape *s, int64_t layer_calls, int64_t batch, int64_t rows, int64_t replicated,
                            dit_volume_table *out)
{
    dit_volume(*at)[DIT_PHASE_COUNT] = out->at[DIT_AXIS_ULYSSES];
    int64_t slice = s->hidden / s->u * ELEMENT_BYTES;
    add(&at[DIT_COLLECTIVE_ALL_TO_ALL][DIT_PHASE_STEP], layer_calls * 4 * batch * (s->u - 1), rows * slice);
    if (replicated)
        add(&at[DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP], layer_calls * batch * (s->u - 1), replicated * slice);
}

static void predict_ring(const shape *s, int64_t layer_calls, int64_t batch, int64_t rows, dit_volume_table *out)
{
    int64_t kv_bytes = 2 * batch * s->u * rows * (s->hidden / s->u) * ELEMENT_BYTES;
    add(&out->at[DIT_AXIS_RING][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP], layer_calls * (s->r - 1), kv_bytes);
}

static void predict_attention(const shape *s, const dit_facts *facts, dit_volume_table *out)
{
    int64_t batch = s->batch * s->segments, calls = facts->steps * s->blocks.count;
    int64_t image_calls = facts->steps * s->blocks.image_layers;
    if (s->u > 1) {
        predict_ulysses(s, calls, batch, s->moving_rows / s->segments, s->replicated_rows, out);
        predict_ulysses(s, image_calls, batch, s->image_rows / s->segments, 0, out);
    }
    if (s->r > 1) {
        predict_ring(s, calls, batch, s->moving_rows / s->segments, out);
        predict_ring(s, image_calls, batch, s->image_rows / s->segments, out);
    }
}

static void predict_tensor(const shape *s, const dit_facts *facts, dit_volume_table *out)
{
    dit_volume *volume = &out->at[DIT_AXIS_TENSOR][DIT_COLLECTIVE_ALL_REDUCE][DIT_PHASE_STEP];
    const dit_block_run *blocks = &s->blocks;
    int64_t part = s->batch * s->hidden * ELEMENT_BYTES, row = s->batch * (int64_t)sizeof(double);
    int64_t rows = s->moving_rows + s->replicated_rows, text_rows = rows - s->image_rows, others = s->t - 1;
    add(volume, facts->steps * blocks->sums.image * 2 * others, s->image_rows * part);
    add(volume, facts->steps * blocks->sums.text * 2 * others, text_rows * part);
    add(volume, facts->steps * blocks->sums.both * 2 * others, rows * part);
    add(volume, facts->steps * blocks->sums.norms * others, s->image_rows * row);
    add(volume, blocks->sums.memory * others, facts->text_tokens * row);
    if (facts->picture_tokens) add(volume, blocks->sums.memory * others, facts->picture_tokens * row);
}

static void predict_gather(const shape *s, const dit_facts *facts, dit_volume_table *out)
{
    int64_t row = facts->token_channels * ELEMENT_BYTES;
    add(&out->at[DIT_AXIS_ULYSSES][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_GATHER], s->u - 1,
        s->images * s->image_rows * row);
    add(&out->at[DIT_AXIS_RING][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_GATHER], s->r - 1,
        s->images * s->image_rows * s->u * row);
    add(&out->at[DIT_AXIS_DATA][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_GATHER], s->data - 1,
        s->images * facts->image_tokens * row);
}

void dit_volume_predict(const dit_parallel *parallel, const dit_facts *facts, int rank, dit_volume_table *out)
{
    shape s = shape_of(parallel, facts);
    (void)rank;
    memset(out, 0, sizeof *out);
    predict_attention(&s, facts, out);
    if (s.t > 1) predict_tensor(&s, facts, out);
    add(&out->at[DIT_AXIS_CFG][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP], facts->steps * (s.cfg - 1),
        s.images * s.image_rows * facts->token_channels * ELEMENT_BYTES);
    predict_gather(&s, facts, out);
}

int64_t dit_volume_total_bytes(const dit_volume_table *table)
{
    int64_t total = 0;
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++)
        for (int collective = 0; collective < DIT_COLLECTIVE_COUNT; collective++)
            for (int phase = 0; phase < DIT_PHASE_COUNT; phase++) total += table->at[axis][collective][phase].bytes;
    return total;
}

/* What a tensor rank holds of the parameters: its share of attentions and MLPs, and all else, which is a sixth at least
 * in every architecture that is built. */
static int64_t own_parameters(const shape *s, const dit_facts *facts)
{
    int64_t C = s->hidden * s->t, mlp = 2 * facts->mlp_ratio * C * C, attention = 4 * C * C;
    int64_t singles = s->blocks.sums.both, doubles = facts->layers - singles;
    int64_t shared = facts->joint ? (2 * doubles + singles) * (attention + mlp) : doubles * (2 * attention + mlp);
    if (shared > facts->parameters - facts->parameters / 6) shared = facts->parameters - facts->parameters / 6;
    return facts->parameters - shared + shared / s->t;
}

/* Upper guide: fused QKV (3C), attention (C), stream and its norm (2C), MLP (mlp_ratio C, joint single blocks +C);
 * tensor ranks share what is between two sums, and keep the partial one and the whole. */
void dit_memory_predict(const dit_parallel *parallel, const dit_facts *facts, int64_t bytes[4])
{
    shape s = shape_of(parallel, facts);
    int64_t rows = s.batch * (s.moving_rows + s.replicated_rows), exchanged = s.u * s.moving_rows + s.replicated_rows;
    int64_t per_row = (4 + facts->mlp_ratio) * s.hidden + 3 * s.hidden * s.t;
    int64_t text = facts->joint ? 0 : s.batch * facts->text_tokens * s.hidden;
    bytes[0] = own_parameters(&s, facts) * ELEMENT_BYTES;
    bytes[1] = (4 * s.batch * s.image_rows * facts->token_channels + 2 * facts->layers * text) * ELEMENT_BYTES;
    bytes[2] = (rows * per_row + 2 * text * s.t) * ELEMENT_BYTES;
    bytes[3] = s.t > 1 ? 2 * rows * s.hidden * s.t * ELEMENT_BYTES : 0;
    if (s.u > 1) bytes[3] += 8 * s.batch * exchanged * (s.hidden / s.u) * ELEMENT_BYTES;
    if (s.r > 1) bytes[3] += 5 * s.batch * s.u * s.moving_rows * (s.hidden / s.u) * ELEMENT_BYTES;
}
