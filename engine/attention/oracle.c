/* Oracle: the keys that an approximate method attends to, put together row by row on one rank. Sends nothing.
 *
 * In a forward about group g, the rows of another group are
 *   pipefusion    before g: this step's, as they were when fresh; behind g: the step before's
 *   distrifusion  the step before's
 *   pcpp          the step before's where they lie next to the boundary of group g - 1 or g + 1; the others are not
 *                 there
 *   naive-patch   not there
 *   video-infinity  this step's where their frame is near g or global; the others are not there. Groups are runs of
 *                 frames, and forwards about them are repeated until this step's K and V are known (sampling/oracle.c)
 *   dualparal     this step's where they lie just before g, the step before's where they lie just behind it; the others
 *                 are not there. The rows just before g are computed anew in its forward
 *   tpp           this step's where they are of the blocks just before g; the others are not there
 * The joint text of a pipeline belongs to group 0. With patches it is split as the image is, or every patch has its own
 * text, which is fresh in each forward and never remembered. Rows of a reference picture lie behind those that are
 * denoised, and groups have their part of either. README.md of this folder describes the methods.
 */
#include "engine/attention/oracle.h"
#include "engine/attention/attention_impl.h"

/* Where the K and V of a row come from. */
typedef enum { FRESH, THIS_STEP, STEP_BEFORE, ABSENT } source;

typedef struct {
    const dit_oracle *now;
    float *k[2], *v[2];    /* stores [calls][B, tokens, width]; dit_oracle.newest says which step's they are */
    float *keys, *values;  /* [B, tokens, width]: what a call attends to                                    */
    float *bias;           /* [B, placed], of the keys; NULL without text bias                              */
    int64_t *row_of;       /* [placed] the key's row in the sequence                                        */
    int64_t width, placed; /* floats of a row; how many rows `keys` has                                     */
} oracle_keys;

typedef struct {
    dit_attention *attention;
    const dit_attention_shape *shape;
    const dit_attention_io *io;
} call_view;

static oracle_keys *state_of(const call_view *call)
{
    return call->attention->state;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static bool is_pipeline(const dit_oracle *oracle)
{
    return oracle->parallel.degree[DIT_AXIS_PIPEFUSION] > 1;
}

/* Ranks that share every band; the canonical form calls them a ring. */
static int64_t band_ranks(const dit_oracle *oracle)
{
    return is_pipeline(oracle) ? oracle->parallel.degree[DIT_AXIS_RING] : 1;
}

bool dit_oracle_is_of_frames(const dit_oracle *oracle)
{
    return oracle->parallel.degree[DIT_AXIS_PATCH] > 1 && oracle->parallel.patch_method == DIT_PATCH_FRAMES;
}

/* K and V of a call are right once those of the calls before were right for all groups, in the sweep before. */
int64_t dit_oracle_sweeps(const dit_oracle *oracle, const dit_facts *facts)
{
    return dit_oracle_is_of_frames(oracle) ? facts->layers + 1 : 1;
}

void dit_oracle_init(dit_oracle *oracle, const dit_parallel *parallel, const dit_facts *facts)
{
    *oracle = (dit_oracle){.parallel = *parallel,
                           .group = DIT_ORACLE_ALL,
                           .frames = dit_facts_frames(facts),
                           .per_frame = facts->segments > 1,
                           .references = facts->reference_tokens};
    oracle->parallel.joint_text = dit_parallel_joint_text(parallel, facts);
    oracle->groups =
        is_pipeline(oracle) ? (int)dit_parallel_bands(parallel, facts) : oracle->parallel.degree[DIT_AXIS_PATCH];
}

dit_range dit_oracle_rows(const dit_oracle *oracle, int group, int64_t rows)
{
    int64_t ranks = band_ranks(oracle);
    dit_range own = dit_range_cut(rows / ranks, oracle->groups, group);
    return (dit_range){ranks * own.first, ranks * own.count};
}

void dit_oracle_end_step(dit_oracle *oracle, bool computed)
{
    oracle->newest[DIT_ORACLE_EVERY_STEP] ^= 1;
    if (computed) oracle->newest[DIT_ORACLE_COMPUTED_STEPS] ^= 1;
}

static bool has_own_text(const dit_oracle *oracle)
{
    return !is_pipeline(oracle) && oracle->parallel.joint_text == DIT_JOINT_TEXT_REPLICATE;
}

static dit_range text_rows(const dit_oracle *oracle, int group, int64_t text)
{
    if (is_pipeline(oracle)) return (dit_range){0, group == 0 ? text : 0};
    return dit_range_cut(text, oracle->groups, group);
}

static source source_of(const dit_oracle *oracle, int group)
{
    if (oracle->group == DIT_ORACLE_ALL || oracle->group == group) return FRESH;
    if (is_pipeline(oracle)) return group < oracle->group ? THIS_STEP : STEP_BEFORE;
    if (dit_oracle_is_of_frames(oracle)) return THIS_STEP;
    return oracle->parallel.patch_method == DIT_PATCH_NAIVE ? ABSENT : STEP_BEFORE;
}

/* Those of a group's image rows that are there. */
static dit_range rows_known(const dit_oracle *oracle, int group, dit_range rows)
{
    bool all = is_pipeline(oracle) || oracle->parallel.patch_method != DIT_PATCH_PCPP;
    if (all || source_of(oracle, group) == FRESH) return rows;
    int64_t shared = dit_parallel_shared_rows(&oracle->parallel, rows.count);
    if (group == oracle->group - 1) return (dit_range){rows.first + rows.count - shared, shared};
    if (group == oracle->group + 1) return (dit_range){rows.first, shared};
    return (dit_range){rows.first, 0};
}

/* Returns how many of a group's global frames lie before its frame `index`: they are at floor(i frames / given). */
static int64_t global_before(int64_t index, int64_t given, int64_t frames)
{
    return (index * given + frames - 1) / frames;
}

/* Whether a forward about the oracle's group sees that frame of the clip. */
static bool sees_frame(const dit_oracle *oracle, int64_t frame)
{
    int64_t own = oracle->frames / oracle->groups, given = oracle->parallel.global_frames / oracle->groups;
    int64_t index = frame % own, begin = oracle->group * own, halo = oracle->parallel.halo_frames;
    if (oracle->group == DIT_ORACLE_ALL) return true;
    if (frame >= begin - halo && frame < begin + own + halo) return true;
    return global_before(index + 1, given, own) > global_before(index, given, own);
}

/* ---- keys of one call -------------------------------------------------------------------------------------------- */

/* Copies `rows` of src to the rows from `to` on of dst, [B, tokens, width] dense. */
static void copy_rows(const call_view *call, const float *src, int64_t ld, int64_t batch, dit_range rows, float *dst,
                      int64_t to)
{
    int64_t width = state_of(call)->width;
    ops_copy(call->attention->rt, &(dit_copy_args){.n0 = call->shape->B,
                                                   .n1 = rows.count,
                                                   .n2 = 1,
                                                   .inner = width,
                                                   .src = src + rows.first * ld,
                                                   .src_stride = {batch, ld, 0},
                                                   .dst = dst + to * width,
                                                   .dst_stride = {call->shape->tokens * width, width, 0}});
}

/* What this call has in the store of one step. */
static float *slot_of(const call_view *call, float *const stores[2], source which)
{
    const oracle_keys *o = call->attention->state;
    int newest = o->now->newest[o->now->kind], step = which == THIS_STEP ? newest : 1 - newest;
    return stores[step] + call->attention->call * call->shape->B * call->shape->tokens * o->width;
}

/* Appends rows to the keys. `remembered`: fresh ones go to the store of this step, too. */
static void place_rows(const call_view *call, dit_range rows, source from, bool remembered)
{
    oracle_keys *o = call->attention->state;
    const dit_attention_io *io = call->io;
    int64_t ld = attention_ldk(io), batch = attention_batch_k(io), dense = call->shape->tokens * o->width;
    if (rows.count == 0) return;
    if (from == FRESH) {
        copy_rows(call, io->k, ld, batch, rows, o->keys, o->placed);
        copy_rows(call, io->v, ld, batch, rows, o->values, o->placed);
    } else {
        copy_rows(call, slot_of(call, o->k, from), o->width, dense, rows, o->keys, o->placed);
        copy_rows(call, slot_of(call, o->v, from), o->width, dense, rows, o->values, o->placed);
    }
    if (from == FRESH && remembered && !o->now->forgets) {
        copy_rows(call, io->k, ld, batch, rows, slot_of(call, o->k, THIS_STEP), rows.first);
        copy_rows(call, io->v, ld, batch, rows, slot_of(call, o->v, THIS_STEP), rows.first);
    }
    for (int64_t i = 0; i < rows.count; i++) o->row_of[o->placed++] = rows.first + i;
}

static void place_text(const call_view *call)
{
    const dit_oracle *now = state_of(call)->now;
    int64_t text = call->shape->text;
    if (has_own_text(now)) {
        place_rows(call, (dit_range){0, text}, FRESH, false);
        return;
    }
    for (int group = 0; group < now->groups; group++) {
        source from = source_of(now, group);
        if (from != ABSENT) place_rows(call, text_rows(now, group, text), from, true);
    }
}

static void place_frames(const call_view *call)
{
    const dit_oracle *now = state_of(call)->now;
    int64_t text = call->shape->text, rows = (call->shape->tokens - text) / now->frames;
    for (int64_t frame = 0; frame < now->frames; frame++) {
        int group = (int)(frame / (now->frames / now->groups));
        if (sees_frame(now, frame))
            place_rows(call, (dit_range){text + frame * rows, rows}, source_of(now, group), true);
    }
}

/* Appends the rows of blocks that a stream's block sees. A forward has what it computes again of the block before, which
 * that block's own forward has put into the store. */
static void place_blocks(const call_view *call)
{
    const dit_oracle *now = state_of(call)->now;
    int64_t rows = call->shape->tokens / now->frames, block = now->parallel.block_frames * rows;
    int64_t context = now->parallel.context_frames * rows, first = now->group * block;
    int64_t before = context < first ? context : first;
    if (now->parallel.stage_method == DIT_STAGE_TPP) {
        place_rows(call, (dit_range){first - before, before}, THIS_STEP, false);
        place_rows(call, (dit_range){first, block}, FRESH, true);
        return;
    }
    place_rows(call, (dit_range){first - before, before}, FRESH, false);
    place_rows(call, (dit_range){first, block}, FRESH, true);
    if (call->attention->window.step > 0 && now->group + 1 < now->groups)
        place_rows(call, (dit_range){first + block, context}, STEP_BEFORE, false);
}

/* Appends what is known of `count` image rows from row `first` of the sequence on. */
static void place_part(const call_view *call, int64_t first, int64_t count)
{
    const dit_oracle *now = state_of(call)->now;
    for (int group = 0; group < now->groups; group++) {
        source from = source_of(now, group);
        dit_range rows = rows_known(now, group, dit_oracle_rows(now, group, count));
        rows.first += first;
        if (from != ABSENT) place_rows(call, rows, from, true);
    }
}

static void place_image(const call_view *call)
{
    int64_t text = call->shape->text, references = state_of(call)->now->references;
    int64_t denoised = call->shape->tokens - text - references;
    if (dit_parallel_streams(&state_of(call)->now->parallel)) {
        place_blocks(call);
        return;
    }
    if (dit_oracle_is_of_frames(state_of(call)->now)) {
        place_frames(call);
        return;
    }
    place_part(call, text, denoised);
    if (references) place_part(call, text + denoised, references);
}

/* The mask of the keys that are there, or NULL. */
static dit_status bias_of_keys(const call_view *call, const float **out)
{
    oracle_keys *o = call->attention->state;
    const float *bias = attention_bias(call->attention, 0);
    *out = NULL;
    if (!bias) return DIT_OK;
    for (int64_t b = 0; b < call->shape->B; b++)
        for (int64_t i = 0; i < o->placed; i++)
            o->bias[b * o->placed + i] = bias[b * call->attention->bias_keys + o->row_of[i]];
    *out = o->bias;
    return dit_runtime_upload(call->attention->rt, o->bias, call->shape->B * o->placed);
}

/* ---- the policy -------------------------------------------------------------------------------------------------- */

/* Each place by itself: its queries of all frames, its keys of those that are there. */
static dit_status attend_over_time(const call_view *call)
{
    const dit_attention *attention = call->attention;
    const dit_attention_shape *shape = call->shape;
    const dit_attention_io *io = call->io;
    const oracle_keys *o = attention->state;
    const int64_t places = shape->tokens / shape->over_time, frames = o->placed / places;
    for (int64_t i = 0; i < shape->B * places; i++) {
        int64_t b = i / places, place = i % places, keys = (b * shape->tokens + place) * o->width;
        ops_attention(attention->rt, &(dit_attention_args){.B = 1,
                                                           .H = shape->H,
                                                           .Sq = shape->over_time,
                                                           .Sk = frames,
                                                           .D = shape->D,
                                                           .q = io->q + b * io->batch + place * io->ld,
                                                           .k = o->keys + keys,
                                                           .v = o->values + keys,
                                                           .ldq = places * io->ld,
                                                           .ldk = places * o->width,
                                                           .ldv = places * o->width,
                                                           .kv_group = attention->kv_group,
                                                           .scale = attention->scale,
                                                           .out = io->out + b * io->batch_o + place * io->ldo,
                                                           .ldo = places * io->ldo});
    }
    return DIT_OK;
}

static dit_status attend(const call_view *call)
{
    const dit_attention *attention = call->attention;
    const dit_attention_shape *shape = call->shape;
    const dit_attention_io *io = call->io;
    const oracle_keys *o = attention->state;
    int64_t dense = shape->tokens * o->width;
    const float *bias;
    if (shape->over_time) return attend_over_time(call);
    DIT_TRY(bias_of_keys(call, &bias));
    ops_attention(attention->rt, &(dit_attention_args){.B = shape->B,
                                                       .H = shape->H,
                                                       .Sq = shape->tokens,
                                                       .Sk = o->placed,
                                                       .D = shape->D,
                                                       .q = io->q,
                                                       .k = o->keys,
                                                       .v = o->values,
                                                       .ldq = io->ld,
                                                       .ldk = o->width,
                                                       .ldv = o->width,
                                                       .batch_q = io->batch,
                                                       .batch_k = dense,
                                                       .batch_v = dense,
                                                       .bias = bias,
                                                       .kv_group = attention->kv_group,
                                                       .scale = attention->scale,
                                                       .out = io->out,
                                                       .ldo = io->ldo,
                                                       .batch_o = io->batch_o});
    return DIT_OK;
}

/* Whether a call sends nothing: of a model that attends within frames and over time, the one along which ranks are not
 * cut. */
static bool is_apart(const dit_oracle *oracle, const dit_attention_shape *shape)
{
    return oracle->per_frame && dit_oracle_is_of_frames(oracle) == shape->within_frames;
}

static dit_status oracle_forward(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io)
{
    call_view call = {attention, shape, io};
    if (!attention->state)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "attention \"oracle\" without a method to emulate"),
                              "use \"auto\", or a denoise case with emulates");
    if (attention->call >= attention->shape.calls || shape->tokens != attention->shape.tokens)
        return DIT_FAIL(DIT_ERR_INTERNAL, "oracle: call %lld of %lld, about %lld of %lld rows",
                        (long long)attention->call, (long long)attention->shape.calls, (long long)shape->tokens,
                        (long long)attention->shape.tokens);
    state_of(&call)->placed = 0;
    if (is_apart(state_of(&call)->now, shape)) {
        place_rows(&call, (dit_range){0, shape->tokens}, FRESH, false);
    } else {
        place_text(&call);
        place_image(&call);
    }
    return attend(&call);
}

dit_status dit_attention_set_oracle(dit_attention *attention, const dit_oracle *oracle)
{
    dit_arena *image = &attention->rt->image;
    const dit_attention_shape *shape = &attention->shape;
    void *memory;
    if (attention->policy != &dit_attention_oracle || shape->order)
        return DIT_FAIL(DIT_ERR_INTERNAL, "attention \"%s\" is no oracle's", attention->policy->name);
    DIT_TRY(attention_take(attention, sizeof(oracle_keys), &memory));
    oracle_keys *o = memory;
    o->now = oracle;
    o->width = attention_kv_heads(shape) * shape->D;
    int64_t call = shape->B * shape->tokens * o->width, calls = is_apart(oracle, shape) ? 0 : shape->calls;
    for (int step = 0; step < 2; step++) {
        DIT_TRY(dit_arena_activations(image, calls * call, &o->k[step]));
        DIT_TRY(dit_arena_activations(image, calls * call, &o->v[step]));
    }
    DIT_TRY(dit_arena_activations(image, call, &o->keys));
    DIT_TRY(dit_arena_activations(image, call, &o->values));
    if (shape->text_biases) DIT_TRY(dit_arena_fp32(image, shape->B * shape->tokens, &o->bias));
    DIT_TRY(dit_arena_alloc(image, shape->tokens * (int64_t)sizeof *o->row_of, &memory));
    o->row_of = memory;
    attention->state = o;
    return DIT_OK;
}

const dit_attention_policy dit_attention_oracle = {.name = "oracle", .differs = true, .forward = oracle_forward};
