/* Closed forms: what each rank sends with each method, per image. Every record's counted bytes must equal them.
 *
 * Notation. B: batch rows of this rank (images x guidance branches). n: its image rows. T: its rows of joint text (all
 * of the text where it is replicated). C: hidden size, C/t on one of t tensor ranks. e: bytes of an element (4 for
 * latents). N: degree of the axis in question. u: Ulysses degree.
 * F forwards see all rows: every step of an exact method, and the fill and warm-up steps of a stale one. Z steps are
 * stale. A pipeline makes a stale step in M bands of rows. "A pass" is one forward's bytes; the bytes of F + Z passes
 * go in F + Z M messages, because a stale step sends each band by itself.
 *
 * Attention, for each layer of the rank's own stage:
 *
 *   axis     what is sent                                    messages              bytes of each
 *   -------  ----------------------------------------------  --------------------  -----------------------------------
 *   ulysses  Q, K, V out and the result back, as image rows  4 B (N-1) a pass      n C/N e
 *            split text: travels as more rows                (in those messages)   T C/N e more
 *            replicated text: the result's head slices       B (N-1), F + Z times  T C/N e
 *   ring     K and V, N-1 hops; a stale step sends the       N-1, F + Z M times    2 B (u n) (C/u) e
 *            whole store again with every band
 *   patch    K and V, gathered in every full forward         N-1, F times          2 B n C e
 *            distrifusion: also in stale steps but the last  N-1, Z - 1 times      2 B n C e
 *            pcpp: in those steps to each neighbour          1 each, Z - 1 times   2 B s C e
 *            naive-patch: nothing in stale steps             none
 *
 *   Split text counts among the ring's and the gathers' rows n; replicated text stays at home there. pcpp shares s of
 *   the n rows (dit_parallel_shared_rows). The last stale step sends nothing, because nobody would read it. Where
 *   attention is per frame, the batch rows are B x segments of n / segments tokens. Where a block attends a second time
 *   over image tokens alone, that call counts without the text.
 *
 * Everything else:
 *
 *   tensor   a sum of [B n, C]: a reduce-scatter and an      2 (N-1) a pass        B n C/N e
 *            all-gather
 *            a norm over all heads: a sum of squares a row   N-1 a pass            B n 8
 *            such a norm over keys of a text or image that   N-1, once             B rows 8
 *            blocks only read (cross-attention)
 *            sums of text alone: with the first band only    2 (N-1), F + Z times  B T C/N e
 *   stages   each but the last to the next: the stream       1 a pass              B (T + n) C e
 *            to the stage where k of its skips end           1 a pass              k B n C e
 *            the last to the first: new latents, after all   1 a pass              images n token_channels e
 *            steps but the very last and not after the fill
 *            the last to all others, in the end: latents     N-1                   images n token_channels e
 *   cfg      the last stage gathers the prediction           N-1 a pass, no fill   images n token_channels e
 *
 *   In the end the latents are gathered over ulysses, then ring or patch, then data.
 *   The stream's text, too, travels with the first band only; with text_with_every_band (simulations of xDiT) all text
 *   goes in each of F + Z M micro-steps.
 *
 * Sources: Jacobs et al., DeepSpeed-Ulysses (arXiv:2309.14509); Liu et al., Ring Attention (arXiv:2310.01889); Fang and
 * Zhao, USP (arXiv:2405.07719); Fang et al., PipeFusion (arXiv:2405.14430); Li et al., DistriFusion (arXiv:2402.19481);
 * Shoeybi et al., Megatron-LM (arXiv:1909.08053). Exact for joint text, which the papers leave out.
 */
#include "base/mesh.h"

#include <string.h>

static const char *const collective_names[DIT_COLLECTIVE_COUNT] = {"all_to_all", "all_gather", "send_recv",
                                                                   "all_reduce"};
static const char *const phase_names[DIT_PHASE_COUNT] = {"step", "gather", "decode"};
enum { LATENT_BYTES = 4 };

const char *dit_collective_name(dit_collective collective)
{
    return collective_names[collective];
}
const char *dit_phase_name(dit_phase phase)
{
    return phase_names[phase];
}

/* Forwards of all rows, and stale steps, which go band by band. */
typedef struct {
    int64_t whole, stale, bands;
    int64_t text; /* forwards of joint text: once a stale step, or with every band */
} passes;

typedef struct {
    int64_t u, r, t, patch, stages, cfg, data, images, batch, segments, image_rows, moving_rows, replicated_rows;
    int64_t hidden;      /* of a tensor rank                           */
    int64_t element;     /* bytes of an activation                     */
    int64_t stage, part; /* this rank on the pipefusion and patch axes */
    passes passes;       /* of a run, the fill included                */
    dit_block_run blocks;
} shape;

static int64_t degree_of(const dit_parallel *parallel, dit_axis axis)
{
    return parallel->degree[axis] > 0 ? parallel->degree[axis] : 1;
}

static passes passes_of(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t stale = dit_parallel_stale_steps(parallel, facts), bands = dit_parallel_bands(parallel, facts);
    int64_t whole = facts->steps - stale + dit_parallel_has_fill(parallel, facts);
    int64_t texts = parallel->text_with_every_band ? bands : 1;
    return (passes){.whole = whole, .stale = stale, .bands = bands, .text = whole + stale * texts};
}

static dit_block_run stage_blocks(const dit_parallel *parallel, const dit_facts *facts, int stage)
{
    dit_range own = dit_parallel_stage(parallel, facts, stage);
    return dit_facts_blocks(facts, own.first, own.count);
}

static shape mesh_of(const dit_parallel *parallel, const dit_facts *facts, int rank)
{
    int coordinates[DIT_AXIS_COUNT];
    dit_mesh_coordinates(parallel, rank, coordinates);
    return (shape){.element = facts->element_bytes ? facts->element_bytes : LATENT_BYTES,
                   .u = degree_of(parallel, DIT_AXIS_ULYSSES),
                   .r = degree_of(parallel, DIT_AXIS_RING),
                   .t = degree_of(parallel, DIT_AXIS_TENSOR),
                   .patch = degree_of(parallel, DIT_AXIS_PATCH),
                   .stages = degree_of(parallel, DIT_AXIS_PIPEFUSION),
                   .cfg = degree_of(parallel, DIT_AXIS_CFG),
                   .data = degree_of(parallel, DIT_AXIS_DATA),
                   .stage = coordinates[DIT_AXIS_PIPEFUSION],
                   .part = coordinates[DIT_AXIS_PATCH],
                   .passes = passes_of(parallel, facts),
                   .blocks = stage_blocks(parallel, facts, coordinates[DIT_AXIS_PIPEFUSION])};
}

static shape shape_of(const dit_parallel *parallel, const dit_facts *facts, int rank)
{
    shape s = mesh_of(parallel, facts, rank);
    int64_t ranks = dit_parallel_sequence_degree(parallel);
    s.images = facts->num_images / s.data;
    s.batch = s.images * facts->guidance_branches / s.cfg;
    s.image_rows = s.moving_rows = facts->image_tokens / ranks;
    s.segments = facts->segments > 1 ? facts->segments : 1;
    s.hidden = facts->heads / s.t * facts->head_dim;
    if (facts->joint && dit_parallel_joint_text(parallel, facts) == DIT_JOINT_TEXT_SPLIT)
        s.moving_rows += facts->text_tokens / ranks;
    else if (facts->joint)
        s.replicated_rows = facts->text_tokens;
    return s;
}

static int64_t count_forwards(const passes *often)
{
    return often->whole + often->stale;
}

static int64_t count_micro_steps(const passes *often)
{
    return often->whole + often->stale * often->bands;
}

static void add(dit_volume *volume, int64_t messages, int64_t bytes_each)
{
    volume->messages += messages;
    volume->bytes += messages * bytes_each;
}

/* Of all rows once a forward: a stale step sends the same bytes, every band its part. */
static void add_passes(dit_volume *volume, const passes *often, int64_t messages, int64_t bytes_each)
{
    volume->messages += count_micro_steps(often) * messages;
    volume->bytes += count_forwards(often) * messages * bytes_each;
}

/* The same of image and text rows together. */
static void add_joint_passes(dit_volume *volume, const passes *often, int64_t messages, int64_t image_bytes,
                             int64_t text_bytes)
{
    add_passes(volume, often, messages, image_bytes);
    volume->bytes += often->text * messages * text_bytes;
}

/* ---- within a stage ---------------------------------------------------------------------------------------------- */

/* `rows` travelling and `replicated` rows of each of `batch` attention calls */
static void predict_ulysses(const shape *s, int64_t layer_calls, int64_t batch, int64_t rows, int64_t replicated,
                            dit_volume_table *out)
{
    dit_volume(*at)[DIT_PHASE_COUNT] = out->at[DIT_AXIS_ULYSSES];
    int64_t slice = s->hidden / s->u * s->element, image = s->image_rows / s->segments;
    add_joint_passes(&at[DIT_COLLECTIVE_ALL_TO_ALL][DIT_PHASE_STEP], &s->passes, layer_calls * 4 * batch * (s->u - 1),
                     image * slice, (rows - image) * slice);
    if (replicated)
        add(&at[DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP], s->passes.text * layer_calls * batch * (s->u - 1),
            replicated * slice);
}

static void predict_ring(const shape *s, int64_t layer_calls, int64_t batch, int64_t rows, dit_volume_table *out)
{
    int64_t kv_bytes = 2 * batch * s->u * rows * (s->hidden / s->u) * s->element;
    add(&out->at[DIT_AXIS_RING][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP],
        count_micro_steps(&s->passes) * layer_calls * (s->r - 1), kv_bytes);
}

static void predict_patches(const shape *s, const dit_parallel *parallel, int64_t layer_calls, int64_t batch,
                            int64_t rows, dit_volume_table *out)
{
    dit_volume(*at)[DIT_PHASE_COUNT] = out->at[DIT_AXIS_PATCH];
    int64_t row_bytes = 2 * batch * s->hidden * s->element, neighbours = (s->part > 0) + (s->part < s->patch - 1);
    int64_t later = s->passes.stale > 0 ? s->passes.stale - 1 : 0, gathers = s->passes.whole;
    if (parallel->patch_method == DIT_PATCH_DISTRIFUSION) gathers += later;
    add(&at[DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP], gathers * layer_calls * (s->patch - 1), rows * row_bytes);
    if (parallel->patch_method == DIT_PATCH_PCPP)
        add(&at[DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP], later * layer_calls * neighbours,
            dit_parallel_shared_rows(parallel, rows) * row_bytes);
}

/* One kind of call of a forward: `rows` travel, `replicated` ones are everywhere. */
static void predict_calls(const shape *s, const dit_parallel *parallel, int64_t calls, int64_t rows, int64_t replicated,
                          dit_volume_table *out)
{
    int64_t batch = s->batch * s->segments;
    if (s->u > 1) predict_ulysses(s, calls, batch, rows / s->segments, replicated, out);
    if (s->r > 1) predict_ring(s, calls, batch, rows / s->segments, out);
    if (s->patch > 1) predict_patches(s, parallel, calls, batch, rows / s->segments, out);
}

static void predict_tensor(const shape *s, const dit_facts *facts, dit_volume_table *out)
{
    dit_volume *volume = &out->at[DIT_AXIS_TENSOR][DIT_COLLECTIVE_ALL_REDUCE][DIT_PHASE_STEP];
    const dit_block_run *blocks = &s->blocks;
    int64_t part = s->batch * s->hidden * s->element, row = s->batch * (int64_t)sizeof(double);
    int64_t text_rows = s->moving_rows + s->replicated_rows - s->image_rows, others = s->t - 1;
    add_passes(volume, &s->passes, blocks->sums.image * 2 * others, s->image_rows * part);
    add_joint_passes(volume, &s->passes, blocks->sums.both * 2 * others, s->image_rows * part, text_rows * part);
    add_passes(volume, &s->passes, blocks->sums.norms * others, s->image_rows * row);
    add(volume, s->passes.text * blocks->sums.text * 2 * others, text_rows * part);
    add(volume, blocks->sums.memory * others, facts->text_tokens * row);
    if (facts->picture_tokens) add(volume, blocks->sums.memory * others, facts->picture_tokens * row);
}

/* ---- between stages, and at the end ------------------------------------------------------------------------------ */

/* Skips from a block of stage `from` to a block of stage `to`. */
static int64_t count_skips(const dit_parallel *parallel, const dit_facts *facts, int from, int to)
{
    dit_range source = dit_parallel_stage(parallel, facts, from), sink = dit_parallel_stage(parallel, facts, to);
    int64_t first = facts->layers - (sink.first + sink.count), end = facts->layers - sink.first;
    if (first < source.first) first = source.first;
    if (end > source.first + source.count) end = source.first + source.count;
    if (end > facts->skips) end = facts->skips;
    return end > first ? end - first : 0;
}

static int64_t latent_bytes(const shape *s, const dit_facts *facts)
{
    return s->images * s->image_rows * facts->token_channels * LATENT_BYTES;
}

/* A stage that is not the last one. */
static void predict_stream(const shape *s, const dit_parallel *parallel, const dit_facts *facts, dit_volume *volume)
{
    int64_t row_bytes = s->batch * s->hidden * s->t * s->element;
    int64_t text_rows = s->moving_rows + s->replicated_rows - s->image_rows;
    add_joint_passes(volume, &s->passes, 1, s->image_rows * row_bytes, text_rows * row_bytes);
    for (int64_t to = s->stage + 1; to < s->stages; to++) {
        int64_t skips = count_skips(parallel, facts, (int)s->stage, (int)to);
        if (skips) add_passes(volume, &s->passes, 1, skips * s->image_rows * row_bytes);
    }
}

static void predict_stages(const shape *s, const dit_parallel *parallel, const dit_facts *facts, dit_volume_table *out)
{
    dit_volume *volume = out->at[DIT_AXIS_PIPEFUSION][DIT_COLLECTIVE_SEND_RECV];
    passes back = {.whole = facts->steps - s->passes.stale, .stale = s->passes.stale, .bands = s->passes.bands};
    if (s->stage < s->stages - 1) {
        predict_stream(s, parallel, facts, &volume[DIT_PHASE_STEP]);
        return;
    }
    if (back.stale)
        back.stale--;
    else
        back.whole--;
    add_passes(&volume[DIT_PHASE_STEP], &back, 1, latent_bytes(s, facts));
    add(&volume[DIT_PHASE_GATHER], s->stages - 1, latent_bytes(s, facts));
}

static void predict_guidance(const shape *s, const dit_facts *facts, dit_volume_table *out)
{
    passes steps = {.whole = facts->steps - s->passes.stale, .stale = s->passes.stale, .bands = s->passes.bands};
    if (s->stage < s->stages - 1) return;
    add_passes(&out->at[DIT_AXIS_CFG][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP], &steps, s->cfg - 1,
               latent_bytes(s, facts));
}

static void predict_gather(const shape *s, const dit_facts *facts, dit_volume_table *out)
{
    const struct {
        dit_axis axis;
        int64_t degree;
    } order[] = {{DIT_AXIS_ULYSSES, s->u}, {DIT_AXIS_RING, s->r}, {DIT_AXIS_PATCH, s->patch}, {DIT_AXIS_DATA, s->data}};
    int64_t bytes = latent_bytes(s, facts);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        add(&out->at[order[i].axis][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_GATHER], order[i].degree - 1, bytes);
        bytes *= order[i].degree;
    }
}

void dit_volume_predict(const dit_parallel *parallel, const dit_facts *facts, int rank, dit_volume_table *out)
{
    shape s = shape_of(parallel, facts, rank);
    memset(out, 0, sizeof *out);
    predict_calls(&s, parallel, s.blocks.count, s.moving_rows, s.replicated_rows, out);
    predict_calls(&s, parallel, s.blocks.image_layers, s.image_rows, 0, out);
    if (s.t > 1) predict_tensor(&s, facts, out);
    if (s.stages > 1) predict_stages(&s, parallel, facts, out);
    predict_guidance(&s, facts, out);
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

void dit_volume_resize(dit_volume_table *table, int element_bytes)
{
    enum { PLACES = (int)DIT_GROUP_COUNT * (int)DIT_COLLECTIVE_COUNT * (int)DIT_PHASE_COUNT };
    dit_volume *volume = &table->at[0][0][0];
    for (int i = 0; i < PLACES; i++) volume[i].bytes = volume[i].bytes / (int64_t)sizeof(float) * element_bytes;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Parameters of `blocks`: joint ones have two streams with their own modulation (4 + 6 + 2 mlp_ratio C^2 each), those
 * of one stream fuse (4 + 3), cross-attention blocks attend twice (4 + 4). */
static int64_t block_parameters(const dit_facts *facts, const dit_block_run *blocks)
{
    int64_t C = facts->heads * facts->head_dim, mlp = 2 * facts->mlp_ratio;
    int64_t singles = blocks->sums.both, doubles = blocks->count - singles;
    return (facts->joint ? 2 * doubles * (10 + mlp) + singles * (7 + mlp) : doubles * (8 + mlp)) * C * C;
}

/* Of those the attentions and MLPs, which tensor ranks share. */
static int64_t shared_parameters(const dit_facts *facts, const dit_block_run *blocks)
{
    int64_t C = facts->heads * facts->head_dim, mlp = 2 * facts->mlp_ratio;
    int64_t singles = blocks->sums.both, doubles = blocks->count - singles;
    return (facts->joint ? (2 * doubles + singles) * (4 + mlp) : doubles * (8 + mlp)) * C * C;
}

/* A rank of the stage with most parameters. */
static int heaviest_rank(const dit_parallel *parallel, const dit_facts *facts)
{
    int coordinates[DIT_AXIS_COUNT] = {0};
    int64_t most = -1;
    for (int stage = 0; stage < degree_of(parallel, DIT_AXIS_PIPEFUSION); stage++) {
        dit_block_run blocks = stage_blocks(parallel, facts, stage);
        if (block_parameters(facts, &blocks) <= most) continue;
        most = block_parameters(facts, &blocks);
        coordinates[DIT_AXIS_PIPEFUSION] = stage;
    }
    return dit_mesh_rank(parallel, coordinates);
}

/* What a rank holds: its stage's blocks, of their attentions and MLPs a tensor rank's share, and all that lies outside
 * of blocks. What is not shared is a sixth at least in every architecture that is built. */
static int64_t own_parameters(const shape *s, const dit_facts *facts)
{
    dit_block_run all = dit_facts_blocks(facts, 0, facts->layers);
    int64_t most = facts->parameters - facts->parameters / 6;
    int64_t inside = block_parameters(facts, &all), shared = shared_parameters(facts, &all);
    double share = s->stages > 1 ? (double)block_parameters(facts, &s->blocks) / (double)inside : 1;
    double part = s->stages > 1 ? (double)shared_parameters(facts, &s->blocks) / (double)shared : 1;
    if (inside > facts->parameters) inside = facts->parameters;
    if (shared > most) shared = most;
    int64_t own = (int64_t)(part * (double)shared);
    return facts->parameters - inside + (int64_t)(share * (double)inside) - own + own / s->t;
}

/* Elements of K and V that are kept for the next step, per call of `rows` travelling and `replicated` rows. */
static int64_t kept_elements(const shape *s, const dit_parallel *parallel, int64_t rows, int64_t replicated)
{
    int64_t shared = dit_parallel_shared_rows(parallel, s->image_rows / s->segments) * s->segments;
    if (s->stages > 1) return 2 * s->batch * (s->u * rows + replicated) * (s->hidden / s->u);
    if (s->patch == 1 || parallel->patch_method == DIT_PATCH_NAIVE) return 0;
    return 2 * s->batch * s->hidden * (parallel->patch_method == DIT_PATCH_PCPP ? 2 * shared : s->patch * rows);
}

/* Buffers for messages; what PCPP keeps it receives while it sends as much. */
static int64_t message_elements(const shape *s, const dit_parallel *parallel, const dit_facts *facts, int64_t kept)
{
    int64_t exchanged = s->u * s->moving_rows + s->replicated_rows, total = 0;
    int64_t stream = s->batch * (s->moving_rows + s->replicated_rows) * s->hidden * s->t;
    if (s->t > 1) total += 2 * stream;
    if (s->u > 1) total += 8 * s->batch * exchanged * (s->hidden / s->u);
    if (s->r > 1) total += 5 * s->batch * s->u * s->moving_rows * (s->hidden / s->u);
    if (s->patch > 1) total += 2 * s->batch * (1 + s->patch) * s->moving_rows * s->hidden;
    if (s->patch > 1 && parallel->patch_method == DIT_PATCH_PCPP) total += kept;
    if (s->stages > 1) total += 2 * (stream + facts->skips * s->batch * s->image_rows * s->hidden * s->t);
    return total;
}

/* Upper guide: fused QKV (3C), attention (C), stream and its norm (2C), MLP (mlp_ratio C, joint single blocks +C),
 * skips; tensor ranks share what is between two sums, and keep the partial one and the whole. Bands save nothing: the
 * synchronous forwards are of all rows. */
void dit_memory_predict(const dit_parallel *parallel, const dit_facts *facts, int64_t bytes[4])
{
    shape s = shape_of(parallel, facts, heaviest_rank(parallel, facts));
    int64_t rows = s.batch * (s.moving_rows + s.replicated_rows), C = s.hidden * s.t;
    int64_t per_row = (4 + facts->mlp_ratio) * s.hidden + 3 * C;
    int64_t text = facts->joint ? 0 : s.batch * facts->text_tokens * s.hidden;
    int64_t kept = 0;
    if (dit_parallel_stale_steps(parallel, facts))
        kept = s.blocks.count * kept_elements(&s, parallel, s.moving_rows, s.replicated_rows) +
               s.blocks.image_layers * kept_elements(&s, parallel, s.image_rows, 0);
    bytes[0] = own_parameters(&s, facts) * s.element;
    bytes[1] = (4 * s.batch * s.image_rows * facts->token_channels + 2 * s.blocks.count * text + kept) * s.element;
    bytes[2] = (rows * per_row + 2 * text * s.t + facts->skips * s.batch * s.image_rows * C) * s.element;
    bytes[3] = message_elements(&s, parallel, facts, kept) * s.element;
}
