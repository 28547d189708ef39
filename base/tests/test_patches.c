/* Pipelines and patches: how blocks, rows and steps are cut, the one form of all configurations whose latents agree,
 * and the closed forms against a walk through the run that counts every message, over random legal shapes. */
#include "base/legality.h"
#include "base/mesh.h"
#include "base/patches.h"
#include "base/rng.h"
#include "base/volume.h"

#include "base/tests/test.h"

enum { SHAPES = 4000, MAX_RANKS = 64 };

/* ---- random shapes ----------------------------------------------------------------------------------------------- */

typedef struct {
    uint64_t seed, count;
} dice;

/* 0..sides-1 */
static int64_t roll(dice *d, int64_t sides)
{
    return (int64_t)dit_rng_below(d->seed, dit_rng_stream("shapes"), d->count++, (uint64_t)sides);
}

static int roll_degree(dice *d)
{
    static const int degrees[] = {1, 1, 1, 2, 2, 3, 4};
    return degrees[roll(d, 7)];
}

static void roll_blocks(dice *d, dit_facts *facts)
{
    for (int64_t runs = 1 + roll(d, 4); runs; runs--) {
        dit_block_run run = {.image_layers = roll(d, 2) * facts->joint,
                             .sums = {.image = roll(d, 6), .norms = roll(d, 4)}};
        if (facts->joint) run.sums.text = roll(d, 3), run.sums.both = roll(d, 2);
        if (!facts->joint) run.sums.memory = roll(d, 2);
        if (run.sums.image) run.sums.cross = roll(d, 2);
        assert_int_equal(dit_facts_add_blocks(facts, 1 + roll(d, 5), &run), DIT_OK);
    }
    if (roll(d, 2)) facts->skips = facts->layers / 2;
}

static dit_facts roll_facts(dice *d)
{
    dit_facts facts = {.family = "RandomTransformer2DModel",
                       .heads = 48,
                       .head_dim = 1 + roll(d, 5),
                       .segments = roll(d, 4),
                       .text_tokens = 12 * (1 + roll(d, 5)) + roll(d, 2),
                       .text_beside = 12 * roll(d, 2),
                       .token_channels = 1 + roll(d, 16),
                       .num_images = 12,
                       .guidance_branches = 1 + roll(d, 2),
                       .steps = 1 + roll(d, 6),
                       .mlp_ratio = 4,
                       .joint = roll(d, 2),
                       .picture_tokens = roll(d, 2) * 7};
    if (facts.joint) facts.segments = 0; /* attention per frame has no text in it */
    facts.image_tokens = 48 * (1 + roll(d, 6)) * (facts.segments > 1 ? facts.segments : 1);
    facts.latent.patch_t = 1, facts.latent.frames = facts.segments > 1 ? facts.segments : 12;
    facts.reference_tokens = facts.segments > 1 ? 0 : 48 * roll(d, 3);
    facts.image_tokens += facts.reference_tokens;
    roll_blocks(d, &facts);
    return facts;
}

static void roll_stages(dice *d, const dit_facts *facts, dit_parallel *parallel)
{
    int64_t stages = parallel->degree[DIT_AXIS_PIPEFUSION], left = facts->layers;
    for (int64_t i = 0; i < stages; i++) {
        int64_t most = left - (stages - 1 - i); /* of which the others need one each */
        parallel->stage_blocks[i] = (int)(i == stages - 1 || most < 1 ? left : 1 + roll(d, most));
        left -= parallel->stage_blocks[i];
    }
}

static dit_parallel roll_parallel(dice *d, const dit_facts *facts)
{
    dit_parallel parallel = {.warmup_steps = (int)roll(d, 5),
                             .num_pipeline_patch = (int)roll(d, 9),
                             .patch_method = (dit_patch_method)roll(d, DIT_PATCH_METHOD_COUNT),
                             .patch_fraction = (double)roll(d, 5) / 4,
                             .joint_text = (dit_joint_text)roll(d, DIT_JOINT_TEXT_COUNT)};
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) parallel.degree[axis] = roll_degree(d);
    parallel.halo_frames = (int)roll(d, 3);
    parallel.global_frames = (int)roll(d, 3) * parallel.degree[DIT_AXIS_PATCH];
    int64_t kind = roll(d, 3);
    if (kind != 0) parallel.degree[DIT_AXIS_PATCH] = 1;
    if (kind == 0)
        parallel.degree[DIT_AXIS_ULYSSES] = parallel.degree[DIT_AXIS_RING] = parallel.degree[DIT_AXIS_PIPEFUSION] = 1;
    if (kind == 2) roll_stages(d, facts, &parallel);
    if (parallel.degree[DIT_AXIS_RING] > 1 && roll(d, 2)) parallel.ring_method = DIT_RING_SWITCH;
    return parallel;
}

/* The next shape that is legal on at most MAX_RANKS ranks. */
static void roll_legal(dice *d, dit_parallel *parallel, dit_facts *facts)
{
    do {
        *facts = roll_facts(d);
        *parallel = roll_parallel(d, facts);
    } while (dit_parallel_world_size(parallel) > MAX_RANKS || dit_parallel_check(parallel, facts) != DIT_OK);
}

/* ---- cuts -------------------------------------------------------------------------------------------------------- */

static void stages_share_the_blocks_in_order(void **state)
{
    dice d = {.seed = 1};
    dit_parallel parallel;
    dit_facts facts;
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        int64_t next = 0, least = INT64_MAX, most = 0;
        roll_legal(&d, &parallel, &facts);
        for (int stage = 0; stage < parallel.degree[DIT_AXIS_PIPEFUSION]; stage++) {
            dit_range own = dit_parallel_stage(&parallel, &facts, stage);
            assert_int_equal(own.first, next);
            assert_true(own.count >= 1);
            if (own.count < least) least = own.count;
            if (own.count > most) most = own.count;
            next += own.count;
        }
        assert_int_equal(next, facts.layers);
        if (!parallel.stage_blocks[0]) assert_true(most - least <= 1);
    }
}

static void listed_stages_are_taken_as_listed(void **state)
{
    dit_facts facts = {.layers = 12};
    dit_parallel parallel = {.degree = {[DIT_AXIS_PIPEFUSION] = 3}, .stage_blocks = {7, 1, 4}};
    (void)state;
    assert_int_equal(dit_parallel_stage(&parallel, &facts, 0).count, 7);
    assert_int_equal(dit_parallel_stage(&parallel, &facts, 1).first, 7);
    assert_int_equal(dit_parallel_stage(&parallel, &facts, 2).first, 8);
    assert_int_equal(dit_parallel_stage(&parallel, &facts, 2).count, 4);
}

static int64_t rows_of(const dit_parallel *parallel, const dit_facts *facts)
{
    return facts->image_tokens / (facts->segments > 1 ? facts->segments : 1) / dit_parallel_sequence_degree(parallel);
}

static int64_t references_of(const dit_parallel *parallel, const dit_facts *facts)
{
    return facts->reference_tokens / dit_parallel_sequence_degree(parallel);
}

static void bands_share_the_rows_in_order(void **state)
{
    dice d = {.seed = 2};
    dit_parallel parallel;
    dit_facts facts;
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        roll_legal(&d, &parallel, &facts);
        int64_t rows = rows_of(&parallel, &facts), bands = dit_parallel_bands(&parallel, &facts), next = 0;
        int64_t references = references_of(&parallel, &facts), denoised = rows - references;
        assert_true(bands >= 1 && bands <= denoised);
        if (parallel.degree[DIT_AXIS_PIPEFUSION] == 1) assert_int_equal(bands, 1);
        for (int64_t m = 0; m < bands; m++) {
            dit_range band = dit_band_cut(rows, references, bands, m);
            int64_t own = dit_range_cut(denoised, bands, m).count, beside = band.count - own;
            assert_int_equal(band.first, next);
            assert_true(own == denoised / bands || own == (denoised + bands - 1) / bands);
            assert_true(beside == references / bands || beside == (references + bands - 1) / bands);
            next += band.count;
        }
        assert_int_equal(next, rows);
    }
}

static void bands_default_to_the_stages_and_never_exceed_the_rows(void **state)
{
    dit_facts facts = {.layers = 8, .image_tokens = 64};
    dit_parallel parallel = {.degree = {[DIT_AXIS_PIPEFUSION] = 4, [DIT_AXIS_RING] = 8}};
    (void)state;
    assert_int_equal(dit_parallel_bands(&parallel, &facts), 4);
    parallel.num_pipeline_patch = 6;
    assert_int_equal(dit_parallel_bands(&parallel, &facts), 6);
    parallel.num_pipeline_patch = 100;
    assert_int_equal(dit_parallel_bands(&parallel, &facts), 8);
    parallel.degree[DIT_AXIS_PIPEFUSION] = 1;
    assert_int_equal(dit_parallel_bands(&parallel, &facts), 1);
}

static void a_fill_comes_only_where_a_store_would_be_empty(void **state)
{
    static const struct {
        dit_axis axis;
        dit_patch_method method;
        int warmup_steps, stale;
        bool fill;
    } cases[] = {
        {DIT_AXIS_PIPEFUSION, DIT_PATCH_NAIVE, 0, 5, true},      {DIT_AXIS_PIPEFUSION, DIT_PATCH_PCPP, 2, 3, false},
        {DIT_AXIS_PIPEFUSION, DIT_PATCH_PCPP, 5, 0, false},      {DIT_AXIS_PIPEFUSION, DIT_PATCH_PCPP, 9, 0, false},
        {DIT_AXIS_PATCH, DIT_PATCH_DISTRIFUSION, 0, 5, true},    {DIT_AXIS_PATCH, DIT_PATCH_PCPP, 0, 5, true},
        {DIT_AXIS_PATCH, DIT_PATCH_FRAMES, 0, 5, false},         {DIT_AXIS_PATCH, DIT_PATCH_FRAMES, 2, 3, false},
        {DIT_AXIS_PATCH, DIT_PATCH_NAIVE, 0, 5, false},          {DIT_AXIS_PATCH, DIT_PATCH_NAIVE, 1, 4, false},
        {DIT_AXIS_ULYSSES, DIT_PATCH_DISTRIFUSION, 0, 0, false},
    };
    dit_facts facts = {.steps = 5};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dit_parallel parallel = {.warmup_steps = cases[i].warmup_steps, .patch_method = cases[i].method};
        parallel.degree[cases[i].axis] = 2;
        assert_int_equal(dit_parallel_stale_steps(&parallel, &facts), cases[i].stale);
        assert_int_equal(dit_parallel_has_fill(&parallel, &facts), cases[i].fill);
    }
}

static void shared_rows_are_rounded_up_and_at_most_all(void **state)
{
    static const struct {
        double fraction;
        int64_t rows, shared;
    } cases[] = {{0, 10, 5}, {0, 11, 6}, {0.25, 10, 3}, {1, 7, 7}, {0.001, 7, 1}, {0.999, 1000, 999}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dit_parallel parallel = {.patch_fraction = cases[i].fraction};
        assert_int_equal(dit_parallel_shared_rows(&parallel, cases[i].rows), cases[i].shared);
    }
}

/* ---- what an oracle emulates ------------------------------------------------------------------------------------- */

/* As a case document has it; the caller frees. */
static char *written(const dit_parallel *parallel)
{
    cJSON *object = cJSON_CreateObject();
    assert_int_equal(dit_parallel_to_json(parallel, object), DIT_OK);
    char *text = cJSON_PrintUnformatted(object);
    assert_non_null(text);
    cJSON_Delete(object);
    return text;
}

static void expect_form(const dit_parallel *parallel, const dit_facts *facts, const char *expected)
{
    dit_parallel form = dit_parallel_emulated(parallel, facts);
    char *text = written(&form);
    assert_string_equal(text, expected);
    free(text);
}

#define ONE "\"data_degree\":1,\"cfg_degree\":1,"

static void all_pipelines_of_equal_bands_have_one_form(void **state)
{
    static const char expected[] = "{" ONE "\"pipefusion_degree\":2,\"ring_degree\":4,\"ulysses_degree\":1,"
                                   "\"tensor_degree\":1,\"warmup_steps\":1,\"num_pipeline_patch\":4,"
                                   "\"joint_text\":\"replicate\"}";
    dit_facts facts = {.layers = 8,
                       .heads = 8,
                       .image_tokens = 64,
                       .num_images = 2,
                       .guidance_branches = 2,
                       .steps = 3,
                       .text_tokens = 8,
                       .joint = true};
    dit_parallel default_bands = {.degree = {[DIT_AXIS_PIPEFUSION] = 4, [DIT_AXIS_RING] = 4}, .warmup_steps = 1};
    dit_parallel hybrid = {.degree = {[DIT_AXIS_PIPEFUSION] = 3,
                                      [DIT_AXIS_RING] = 2,
                                      [DIT_AXIS_ULYSSES] = 2,
                                      [DIT_AXIS_TENSOR] = 2,
                                      [DIT_AXIS_CFG] = 2,
                                      [DIT_AXIS_DATA] = 2},
                           .warmup_steps = 1,
                           .num_pipeline_patch = 4,
                           .stage_blocks = {1, 6, 1},
                           .rows_degree = 96,
                           .ring_method = DIT_RING_DOUBLE,
                           .inner_ring = 1,
                           .joint_text = DIT_JOINT_TEXT_SPLIT};
    (void)state;
    expect_form(&default_bands, &facts, expected);
    expect_form(&hybrid, &facts, expected);
    default_bands.warmup_steps = 2; /* and what changes the numbers changes the form */
    dit_parallel form = dit_parallel_emulated(&default_bands, &facts);
    assert_int_equal(form.warmup_steps, 2);
    default_bands.degree[DIT_AXIS_RING] = 2;
    form = dit_parallel_emulated(&default_bands, &facts);
    assert_int_equal(form.degree[DIT_AXIS_RING], 2);
}

static void patches_keep_what_decides_what_they_see(void **state)
{
    dit_facts facts = {.layers = 8,
                       .heads = 8,
                       .image_tokens = 64,
                       .num_images = 2,
                       .guidance_branches = 2,
                       .steps = 3,
                       .text_tokens = 8,
                       .joint = true};
    dit_parallel parallel = {.degree = {[DIT_AXIS_PATCH] = 4, [DIT_AXIS_CFG] = 2, [DIT_AXIS_TENSOR] = 2},
                             .patch_fraction = 0.25};
    (void)state;
    expect_form(&parallel, &facts,
                "{" ONE "\"pipefusion_degree\":1,\"patch_degree\":4,\"ring_degree\":1,\"ulysses_degree\":1,"
                "\"tensor_degree\":1,\"warmup_steps\":0,\"patch_method\":\"distrifusion\",\"joint_text\":\"split\"}");
    parallel.patch_method = DIT_PATCH_PCPP;
    expect_form(&parallel, &facts,
                "{" ONE "\"pipefusion_degree\":1,\"patch_degree\":4,\"ring_degree\":1,\"ulysses_degree\":1,"
                "\"tensor_degree\":1,\"warmup_steps\":0,\"patch_method\":\"pcpp\",\"patch_fraction\":0.25,"
                "\"joint_text\":\"replicate\"}");
    parallel.halo_frames = 1, parallel.global_frames = 8; /* of another method */
    parallel.patch_fraction = 0;                          /* the default, spelled out: one form for both */
    dit_parallel half = dit_parallel_emulated(&parallel, &facts);
    assert_true(half.patch_fraction == 0.5 && !half.halo_frames && !half.global_frames);
    parallel.patch_method = DIT_PATCH_FRAMES;
    facts.latent.patch_t = 1, facts.latent.frames = 16;
    expect_form(&parallel, &facts,
                "{" ONE "\"pipefusion_degree\":1,\"patch_degree\":4,\"ring_degree\":1,\"ulysses_degree\":1,"
                "\"tensor_degree\":1,\"warmup_steps\":0,\"patch_method\":\"video-infinity\",\"halo_frames\":1,"
                "\"global_frames\":8,\"joint_text\":\"replicate\"}");
    parallel.degree[DIT_AXIS_PATCH] = 1, parallel.degree[DIT_AXIS_ULYSSES] = 4;
    expect_form(&parallel, &facts,
                "{" ONE "\"pipefusion_degree\":1,\"ring_degree\":1,\"ulysses_degree\":1,\"tensor_degree\":1,"
                "\"joint_text\":\"auto\"}");
}

/* Without a warm-up step a synchronous forward fills the stores of a pipeline, unless the request before has; patches
 * always have theirs filled. */
static void filled_stores_need_no_fill(void **state)
{
    dice d = {.seed = 4};
    dit_parallel parallel;
    dit_facts facts;
    int fills = 0, left = 0;
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        roll_legal(&d, &parallel, &facts);
        bool fill = dit_parallel_has_fill(&parallel, &facts), pipeline = parallel.degree[DIT_AXIS_PIPEFUSION] > 1;
        parallel.habits.stores_filled = true;
        assert_int_equal(dit_parallel_has_fill(&parallel, &facts), fill && !pipeline);
        fills += fill && pipeline, left += fill && !pipeline;
    }
    assert_true(fills > 0 && left > 0);
}

static void forms_are_legal_and_their_own_form(void **state)
{
    dice d = {.seed = 3};
    dit_parallel parallel;
    dit_facts facts;
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        roll_legal(&d, &parallel, &facts);
        dit_parallel form = dit_parallel_emulated(&parallel, &facts), again = dit_parallel_emulated(&form, &facts);
        char *first = written(&form), *second = written(&again);
        assert_int_equal(dit_parallel_check(&form, &facts), DIT_OK);
        assert_string_equal(first, second);
        assert_int_equal(dit_parallel_stale_steps(&form, &facts), dit_parallel_stale_steps(&parallel, &facts));
        assert_int_equal(dit_parallel_has_fill(&form, &facts), dit_parallel_has_fill(&parallel, &facts));
        assert_int_equal(dit_parallel_bands(&form, &facts), dit_parallel_bands(&parallel, &facts));
        free(first);
        free(second);
    }
}

/* ---- closed forms against a walk --------------------------------------------------------------------------------- */

/* A run as one rank lives it, forward by forward, band by band, block by block. */
typedef struct {
    const dit_parallel *parallel;
    const dit_facts *facts;
    int at[DIT_AXIS_COUNT];
    int64_t segments, segment_rows, references, batch, images, C, Ct; /* references: among the rows of a segment */
    bool split;
    dit_volume_table *sent;
} walk;

typedef struct {
    int64_t rows, denoised; /* of a segment */
    bool text;
    int step; /* -1: the fill */
} window;

static int64_t degree_of(const walk *w, dit_axis axis)
{
    return w->parallel->degree[axis];
}

static void note(walk *w, dit_axis axis, dit_collective collective, dit_phase phase, int64_t messages, int64_t floats)
{
    w->sent->at[axis][collective][phase].messages += messages;
    w->sent->at[axis][collective][phase].bytes += messages * floats * 4;
}

static int64_t text_rows(const walk *w, bool replicated)
{
    if (!w->facts->joint || replicated == w->split) return 0;
    int64_t text = w->facts->text_tokens + w->facts->text_beside;
    return w->split ? text / dit_parallel_sequence_degree(w->parallel) : text;
}

static int64_t stale_from(const walk *w)
{
    return w->facts->steps - dit_parallel_stale_steps(w->parallel, w->facts);
}

/* K and V of all rows of a rank are `floats`. */
static void walk_runs_of_frames(walk *w, int64_t floats)
{
    int64_t others = degree_of(w, DIT_AXIS_PATCH) - 1, own = dit_facts_frames(w->facts) / (others + 1);
    int64_t halo = w->parallel->halo_frames, given = w->parallel->global_frames / (others + 1);
    for (int side = -1; side <= 1; side += 2)
        if (halo && w->at[DIT_AXIS_PATCH] + side >= 0 && w->at[DIT_AXIS_PATCH] + side <= others)
            note(w, DIT_AXIS_PATCH, DIT_COLLECTIVE_SEND_RECV, DIT_PHASE_STEP, 1, floats / own * halo);
    if (given) note(w, DIT_AXIS_PATCH, DIT_COLLECTIVE_ALL_GATHER, DIT_PHASE_STEP, others, floats / own * given);
}

static void walk_patches(walk *w, const window *view, int64_t rows)
{
    int64_t row = 2 * w->batch * w->segments * w->Ct, others = degree_of(w, DIT_AXIS_PATCH) - 1;
    dit_patch_method method = w->parallel->patch_method;
    bool synchronous = view->step < stale_from(w);
    if (!synchronous && dit_parallel_cuts_frames(w->parallel)) {
        walk_runs_of_frames(w, rows * row);
        return;
    }
    if (others == 0 || (!synchronous && (method == DIT_PATCH_NAIVE || view->step == w->facts->steps - 1))) return;
    if (synchronous || method == DIT_PATCH_DISTRIFUSION) {
        note(w, DIT_AXIS_PATCH, DIT_COLLECTIVE_ALL_GATHER, DIT_PHASE_STEP, others, rows * row);
        return;
    }
    int64_t shared = dit_parallel_shared_rows(w->parallel, rows - w->references) +
                     dit_parallel_shared_rows(w->parallel, w->references);
    if (w->at[DIT_AXIS_PATCH] > 0) note(w, DIT_AXIS_PATCH, DIT_COLLECTIVE_SEND_RECV, DIT_PHASE_STEP, 1, shared * row);
    if (w->at[DIT_AXIS_PATCH] < others)
        note(w, DIT_AXIS_PATCH, DIT_COLLECTIVE_SEND_RECV, DIT_PHASE_STEP, 1, shared * row);
}

/* Frames go to their ranks and come back, whole ones in between. */
static void walk_frames(walk *w, const window *view)
{
    int64_t u = degree_of(w, DIT_AXIS_ULYSSES), r = degree_of(w, DIT_AXIS_RING), frames = w->segments / r;
    for (int64_t b = 0; b < w->batch; b++) {
        for (int64_t other = 1; other < r; other++)
            note(w, DIT_AXIS_RING, DIT_COLLECTIVE_ALL_TO_ALL, DIT_PHASE_STEP, 2, frames * view->rows * w->C);
        for (int64_t frame = 0; frame < frames; frame++)
            note(w, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_TO_ALL, DIT_PHASE_STEP, 4 * (u - 1),
                 r * view->rows * w->Ct / u);
    }
}

/* One attention; `joint`: the text takes part in it. */
static void walk_call(walk *w, const window *view, bool joint)
{
    int64_t u = degree_of(w, DIT_AXIS_ULYSSES), r = degree_of(w, DIT_AXIS_RING), batch = w->batch * w->segments;
    int64_t split = joint ? text_rows(w, false) : 0, replicated = joint && view->text ? text_rows(w, true) : 0;
    int64_t rows = view->rows + (view->text ? split : 0), whole = w->segment_rows + split;
    if (w->parallel->ring_method == DIT_RING_SWITCH) {
        walk_frames(w, view);
        return;
    }
    for (int64_t b = 0; b < batch; b++) {
        note(w, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_TO_ALL, DIT_PHASE_STEP, 4 * (u - 1), rows * w->Ct / u);
        if (replicated)
            note(w, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_GATHER, DIT_PHASE_STEP, u - 1, replicated * w->Ct / u);
    }
    for (int64_t hop = 1; hop < r; hop++) /* the whole store, whatever the window */
        note(w, DIT_AXIS_RING, DIT_COLLECTIVE_SEND_RECV, DIT_PHASE_STEP, 1, 2 * batch * u * whole * (w->Ct / u));
    walk_patches(w, view, rows);
}

static void walk_sums(walk *w, const window *view, const dit_block_run *block)
{
    int64_t t = degree_of(w, DIT_AXIS_TENSOR), rows = w->segments * view->rows;
    int64_t text = view->text ? text_rows(w, false) + text_rows(w, true) : 0, batch = w->batch;
    int64_t whole = w->parallel->habits.cross_attention_whole ? block->sums.cross : 0;
    const struct {
        int64_t times, rows;
    } sums[] = {
        {block->sums.image - whole, rows}, {view->text ? block->sums.text : 0, text}, {block->sums.both, rows + text}};
    for (size_t i = 0; i < 3; i++)
        note(w, DIT_AXIS_TENSOR, DIT_COLLECTIVE_ALL_REDUCE, DIT_PHASE_STEP, sums[i].times * 2 * (t - 1),
             batch * sums[i].rows * w->C / t);
    note(w, DIT_AXIS_TENSOR, DIT_COLLECTIVE_ALL_REDUCE, DIT_PHASE_STEP, block->sums.norms * (t - 1), batch * rows * 2);
}

static int stage_with(const walk *w, int64_t block)
{
    int stage = 0;
    for (dit_range own; own = dit_parallel_stage(w->parallel, w->facts, stage), block >= own.first + own.count;)
        stage++;
    return stage;
}

static void walk_messages(walk *w, const window *view, dit_range own)
{
    int64_t stages = degree_of(w, DIT_AXIS_PIPEFUSION), stage = w->at[DIT_AXIS_PIPEFUSION];
    int64_t rows = w->segments * view->rows, text = view->text ? text_rows(w, false) + text_rows(w, true) : 0;
    int64_t skips[MAX_RANKS] = {0};
    if (stage == stages - 1) return;
    note(w, DIT_AXIS_PIPEFUSION, DIT_COLLECTIVE_SEND_RECV, DIT_PHASE_STEP, 1, w->batch * (rows + text) * w->C);
    for (int64_t i = own.first; i < own.first + own.count && i < w->facts->skips; i++)
        skips[stage_with(w, w->facts->layers - 1 - i)]++;
    for (int64_t to = 0; to < stages; to++)
        if (to != stage && skips[to])
            note(w, DIT_AXIS_PIPEFUSION, DIT_COLLECTIVE_SEND_RECV, DIT_PHASE_STEP, 1,
                 skips[to] * w->batch * rows * w->C);
}

/* A forward, and what the last stage does with its prediction. */
static void walk_forward(walk *w, const window *view)
{
    int64_t last = degree_of(w, DIT_AXIS_PIPEFUSION) - 1, rows = w->images * w->segments * view->denoised;
    dit_range own = dit_parallel_stage(w->parallel, w->facts, w->at[DIT_AXIS_PIPEFUSION]);
    for (int64_t i = own.first; i < own.first + own.count; i++) {
        dit_block_run block = dit_facts_blocks(w->facts, i, 1);
        walk_call(w, view, true);
        for (int64_t k = 0; k < block.image_layers; k++) walk_call(w, view, false);
        walk_sums(w, view, &block);
    }
    walk_messages(w, view, own);
    if (w->at[DIT_AXIS_PIPEFUSION] != last || view->step < 0) return;
    note(w, DIT_AXIS_CFG, DIT_COLLECTIVE_ALL_GATHER, DIT_PHASE_STEP, degree_of(w, DIT_AXIS_CFG) - 1,
         rows * w->facts->token_channels);
    if (last && view->step < w->facts->steps - 1)
        note(w, DIT_AXIS_PIPEFUSION, DIT_COLLECTIVE_SEND_RECV, DIT_PHASE_STEP, 1, rows * w->facts->token_channels);
}

static void walk_prepare(walk *w)
{
    dit_range own = dit_parallel_stage(w->parallel, w->facts, w->at[DIT_AXIS_PIPEFUSION]);
    int64_t others = degree_of(w, DIT_AXIS_TENSOR) - 1,
            memory = dit_facts_blocks(w->facts, own.first, own.count).sums.memory;
    note(w, DIT_AXIS_TENSOR, DIT_COLLECTIVE_ALL_REDUCE, DIT_PHASE_STEP, memory * others,
         w->batch * w->facts->text_tokens * 2);
    if (w->facts->picture_tokens)
        note(w, DIT_AXIS_TENSOR, DIT_COLLECTIVE_ALL_REDUCE, DIT_PHASE_STEP, memory * others,
             w->batch * w->facts->picture_tokens * 2);
}

static void walk_gather(walk *w)
{
    static const dit_axis axes[] = {DIT_AXIS_ULYSSES, DIT_AXIS_RING, DIT_AXIS_PATCH, DIT_AXIS_DATA};
    int64_t floats = w->images * w->segments * (w->segment_rows - w->references) * w->facts->token_channels;
    if (w->at[DIT_AXIS_PIPEFUSION] == degree_of(w, DIT_AXIS_PIPEFUSION) - 1) /* to every other stage */
        note(w, DIT_AXIS_PIPEFUSION, DIT_COLLECTIVE_SEND_RECV, DIT_PHASE_GATHER, w->at[DIT_AXIS_PIPEFUSION], floats);
    for (int i = 0; i < 4; i++) {
        note(w, axes[i], DIT_COLLECTIVE_ALL_GATHER, DIT_PHASE_GATHER, degree_of(w, axes[i]) - 1, floats);
        floats *= degree_of(w, axes[i]);
    }
}

static void walk_run(walk *w)
{
    int64_t bands = dit_parallel_bands(w->parallel, w->facts);
    walk_prepare(w);
    for (int step = dit_parallel_has_fill(w->parallel, w->facts) ? -1 : 0; step < w->facts->steps; step++) {
        bool whole = step < stale_from(w);
        for (int64_t band = 0; band < (whole ? 1 : bands); band++) {
            int64_t pieces = whole ? 1 : bands;
            int64_t denoised = dit_range_cut(w->segment_rows - w->references, pieces, band).count;
            int64_t rows = denoised + dit_range_cut(w->references, pieces, band).count;
            walk_forward(w, &(window){.rows = rows, .denoised = denoised, .text = band == 0, .step = step});
        }
    }
    walk_gather(w);
}

static void walk_rank(const dit_parallel *parallel, const dit_facts *facts, int rank, dit_volume_table *sent)
{
    walk w = {.parallel = parallel, .facts = facts, .sent = sent};
    *sent = (dit_volume_table){0};
    dit_mesh_coordinates(parallel, rank, w.at);
    w.segments = facts->segments > 1 ? facts->segments : 1;
    w.segment_rows = rows_of(parallel, facts);
    w.references = references_of(parallel, facts);
    w.images = facts->num_images / parallel->degree[DIT_AXIS_DATA];
    w.batch = w.images * facts->guidance_branches / parallel->degree[DIT_AXIS_CFG];
    w.C = facts->heads * facts->head_dim;
    w.Ct = w.C / parallel->degree[DIT_AXIS_TENSOR];
    w.split = facts->joint && dit_parallel_joint_text(parallel, facts) == DIT_JOINT_TEXT_SPLIT;
    walk_run(&w);
}

static void expect_table(const dit_volume_table *predicted, const dit_volume_table *walked, int shape, int rank)
{
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i);
        const dit_volume *a = DIT_VOLUME_AT(predicted, at), *b = DIT_VOLUME_AT(walked, at);
        if (a->bytes == b->bytes && a->messages == b->messages) continue;
        fail_msg("shape %d rank %d %s %s %s: %lld messages %lld bytes, walked %lld and %lld", shape, rank,
                 dit_axis_name(at.axis), dit_collective_name(at.collective), dit_phase_name(at.phase),
                 (long long)a->messages, (long long)a->bytes, (long long)b->messages, (long long)b->bytes);
    }
}

static void closed_forms_are_what_a_walk_through_the_run_counts(void **state)
{
    dice d = {.seed = 4};
    dit_parallel parallel;
    dit_facts facts;
    int pipelines = 0, patches = 0, skipping = 0, filled = 0;
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        dit_volume_table predicted, walked;
        roll_legal(&d, &parallel, &facts);
        parallel.habits.cross_attention_whole = i % 2;
        for (int rank = 0; rank < dit_parallel_world_size(&parallel); rank++) {
            dit_volume_predict(&parallel, &facts, rank, &predicted);
            walk_rank(&parallel, &facts, rank, &walked);
            expect_table(&predicted, &walked, i, rank);
        }
        bool stale = dit_parallel_stale_steps(&parallel, &facts) > 0;
        pipelines += stale && parallel.degree[DIT_AXIS_PIPEFUSION] > 1;
        patches += stale && parallel.degree[DIT_AXIS_PATCH] > 1;
        skipping += facts.skips && parallel.degree[DIT_AXIS_PIPEFUSION] > 1;
        filled += dit_parallel_has_fill(&parallel, &facts);
    }
    assert_true(pipelines > 200 && patches > 200 && skipping > 200 && filled > 200); /* the dice do not avoid any */
}

/* Volumes know nothing of who receives: over a whole mesh, latents come back as often as stage 0 needs them. */
static void every_stage_takes_part_in_every_micro_step(void **state)
{
    dit_facts facts = {.family = "T",
                       .layers = 9,
                       .heads = 4,
                       .head_dim = 8,
                       .image_tokens = 64,
                       .token_channels = 3,
                       .num_images = 1,
                       .guidance_branches = 1,
                       .steps = 7,
                       .blocks = {{.count = 9, .sums = {.image = 2}}}};
    dit_parallel parallel = {.degree = {[DIT_AXIS_PIPEFUSION] = 3}, .warmup_steps = 2, .num_pipeline_patch = 5};
    dit_volume_table table;
    (void)state;
    for (int rank = 0; rank < 3; rank++) {
        dit_volume_predict(&parallel, &facts, rank, &table);
        const dit_volume *at = table.at[DIT_AXIS_PIPEFUSION][DIT_COLLECTIVE_SEND_RECV];
        assert_int_equal(at[DIT_PHASE_STEP].messages, rank < 2 ? 2 + 5 * 5 : 2 + 4 * 5);
        assert_int_equal(at[DIT_PHASE_GATHER].messages, rank < 2 ? 0 : 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_share_the_blocks_in_order),
        cmocka_unit_test(listed_stages_are_taken_as_listed),
        cmocka_unit_test(bands_share_the_rows_in_order),
        cmocka_unit_test(bands_default_to_the_stages_and_never_exceed_the_rows),
        cmocka_unit_test(a_fill_comes_only_where_a_store_would_be_empty),
        cmocka_unit_test(shared_rows_are_rounded_up_and_at_most_all),
        cmocka_unit_test(all_pipelines_of_equal_bands_have_one_form),
        cmocka_unit_test(patches_keep_what_decides_what_they_see),
        cmocka_unit_test(filled_stores_need_no_fill),
        cmocka_unit_test(forms_are_legal_and_their_own_form),
        cmocka_unit_test(closed_forms_are_what_a_walk_through_the_run_counts),
        cmocka_unit_test(every_stage_takes_part_in_every_micro_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
