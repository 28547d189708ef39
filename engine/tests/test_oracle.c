/* The oracle's attention against plain loops over tables written by hand; what a case may emulate; verdicts. */
#include "base/rng.h"
#include "engine/attention/oracle.h"
#include "engine/case/case.h"
#include "base/safetensors.h"
#include "engine/results/record.h"
#include "engine/results/reference.h"

#include "base/tests/test.h"
#include "kernels/tests/each_isa.h"

enum { B = 2, H = 2, D = 4, C = H * D, CALLS = 2, TEXT = 4, IMAGE = 8, ROWS = TEXT + IMAGE, MOST_GROUPS = 4 };
enum { LD = 3 * C, STEPS = 4 };

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* What a forward about a group sees of each row, text first: f fresh, t of this step, b of the step before, . nothing.
 */
typedef struct {
    const char *name;
    int pipefusion, ring, bands, patches;
    dit_patch_method method;
    double fraction;
    int frames, halo, global; /* of Video-Infinity */
    dit_joint_text text;
    const char *sees[MOST_GROUPS]; /* NULL behind the last group */
} method;

static const method methods[] = {
    {.name = "pipefusion, 3 bands",
     .pipefusion = 2,
     .bands = 3,
     .text = DIT_JOINT_TEXT_REPLICATE,
     .sees = {"ffff ff bbb bbb", "tttt tt fff bbb", "tttt tt ttt fff"}},
    {.name = "pipefusion, 3 bands of 2 ranks",
     .pipefusion = 2,
     .ring = 2,
     .bands = 3,
     .text = DIT_JOINT_TEXT_REPLICATE,
     .sees = {"ffff ff bb bbbb", "tttt tt ff bbbb", "tttt tt tt ffff"}},
    {.name = "pipefusion, 1 band",
     .pipefusion = 2,
     .bands = 1,
     .text = DIT_JOINT_TEXT_REPLICATE,
     .sees = {"ffff ffffffff"}},
    {.name = "distrifusion, split text",
     .patches = 2,
     .text = DIT_JOINT_TEXT_SPLIT,
     .sees = {"ff bb ffff bbbb", "bb ff bbbb ffff"}},
    {.name = "distrifusion, every patch its own text",
     .patches = 4,
     .text = DIT_JOINT_TEXT_REPLICATE,
     .sees = {"ffff ff bb bb bb", "ffff bb ff bb bb", "ffff bb bb ff bb", "ffff bb bb bb ff"}},
    {.name = "pcpp, half of a neighbour",
     .patches = 4,
     .method = DIT_PATCH_PCPP,
     .fraction = 0.5,
     .text = DIT_JOINT_TEXT_REPLICATE,
     .sees = {"ffff ff b. .. ..", "ffff .b ff b. ..", "ffff .. .b ff b.", "ffff .. .. .b ff"}},
    {.name = "pcpp, three of four rows of a neighbour",
     .patches = 2,
     .method = DIT_PATCH_PCPP,
     .fraction = 0.7,
     .text = DIT_JOINT_TEXT_REPLICATE,
     .sees = {"ffff ffff bbb.", "ffff .bbb ffff"}},
    {.name = "naive patch",
     .patches = 2,
     .method = DIT_PATCH_NAIVE,
     .text = DIT_JOINT_TEXT_REPLICATE,
     .sees = {"ffff ffff ....", "ffff .... ffff"}},
    {.name = "video-infinity, one frame of each neighbour and of each rank",
     .patches = 4,
     .method = DIT_PATCH_FRAMES,
     .frames = 8,
     .halo = 1,
     .global = 4,
     .text = DIT_JOINT_TEXT_REPLICATE,
     .sees = {"ffff ff t. t. t.", "ffff tt ff t. t.", "ffff t. tt ff t.", "ffff t. t. tt ff"}},
    {.name = "video-infinity, two global frames of each rank",
     .patches = 2,
     .method = DIT_PATCH_FRAMES,
     .frames = 8,
     .halo = 1,
     .global = 4,
     .text = DIT_JOINT_TEXT_REPLICATE,
     .sees = {"ffff ffff t.t.", "ffff t.tt ffff"}},
    {.name = "video-infinity, frames of two rows, no halo",
     .patches = 2,
     .method = DIT_PATCH_FRAMES,
     .frames = 4,
     .global = 2,
     .text = DIT_JOINT_TEXT_REPLICATE,
     .sees = {"ffff ffff tt..", "ffff tt.. ffff"}},
    {.name = "naive patch, alone",
     .patches = 1,
     .method = DIT_PATCH_NAIVE,
     .text = DIT_JOINT_TEXT_REPLICATE,
     .sees = {"ffff ffffffff"}},
};
enum { METHODS = sizeof methods / sizeof *methods };

/* The letter of row `row`: blanks do not count. */
static char letter(const method *m, int group, int row)
{
    for (const char *at = m->sees[group];; at++)
        if (*at != ' ' && row-- == 0) return *at;
}

/* ---- the policy -------------------------------------------------------------------------------------------------- */

typedef struct {
    dit_runtime rt;
    dit_oracle oracle;
    dit_attention *attention;
    float bias[B * TEXT], qkv[B * ROWS * LD], out[B * ROWS * C];
} fixture;

static fixture *open_fixture(const char *policy, bool text_bias)
{
    fixture *f = calloc(1, sizeof *f);
    dit_runtime *rt = &f->rt;
    const dit_attention_shape shape = {
        .B = B, .H = H, .D = D, .calls = CALLS, .tokens = ROWS, .text = TEXT, .text_biases = text_bias};
    dit_arena_init(&rt->image, &rt->ledger, DIT_MEMORY_STATE);
    dit_arena_init(&rt->step, &rt->ledger, DIT_MEMORY_ACTIVATIONS);
    dit_arena_init(&rt->comm_arena, &rt->ledger, DIT_MEMORY_COMM);
    assert_int_equal(dit_kernels_get("cpu", &rt->kernels), DIT_OK);
    assert_int_equal(dit_pool_create(1, false, &rt->pool), DIT_OK);
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
        assert_int_equal(dit_comm_create_counting(&rt->parallel, 0, (dit_axis)axis, &rt->counters, &rt->comm[axis]),
                         DIT_OK);
    assert_int_equal(dit_attention_create(rt, policy, &shape, &f->attention), DIT_OK);
    dit_rng_normal(7, 0, 0, B * TEXT, 0.0f, 1.0f, f->bias);
    for (int i = 1; i < B * TEXT; i += 3) f->bias[i] = -INFINITY;
    if (text_bias) dit_attention_set_text_bias(f->attention, f->bias, TEXT);
    return f;
}

static void close_fixture(fixture *f)
{
    dit_attention_free(f->attention);
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) dit_comm_free(f->rt.comm[axis]);
    dit_pool_free(f->rt.pool);
    dit_arena_release(&f->rt.image);
    dit_arena_release(&f->rt.step);
    dit_arena_release(&f->rt.comm_arena);
    free(f);
}

static void emulate(fixture *f, const method *m)
{
    dit_facts facts = {.layers = 2, .image_tokens = IMAGE, .text_tokens = TEXT, .joint = true};
    dit_parallel parallel = {.num_pipeline_patch = m->bands,
                             .patch_method = m->method,
                             .patch_fraction = m->fraction,
                             .halo_frames = m->halo,
                             .global_frames = m->global,
                             .joint_text = m->text};
    facts.latent.patch_t = 1, facts.latent.frames = m->frames;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) parallel.degree[axis] = 1;
    if (m->pipefusion) parallel.degree[DIT_AXIS_PIPEFUSION] = m->pipefusion;
    if (m->ring) parallel.degree[DIT_AXIS_RING] = m->ring;
    if (m->patches) parallel.degree[DIT_AXIS_PATCH] = m->patches;
    dit_oracle_init(&f->oracle, &parallel, &facts);
    assert_int_equal(dit_attention_set_oracle(f->attention, &f->oracle), DIT_OK);
}

/* q, k, v of one row in one forward: every forward has its own. */
static void draw(int step, int group, int call, int b, int row, float out[LD])
{
    uint64_t stream = (uint64_t)((step * (MOST_GROUPS + 1) + group + 1) * CALLS + call);
    dit_rng_normal(11, stream, (uint64_t)((b * ROWS + row) * LD), LD, 0.0f, 1.0f, out);
}

static dit_status attend(fixture *f, int step, int group, int call)
{
    for (int b = 0; b < B; b++)
        for (int row = 0; row < ROWS; row++) draw(step, group, call, b, row, f->qkv + (b * ROWS + row) * LD);
    return dit_attention_forward(f->attention, &(dit_attention_io){.q = f->qkv,
                                                                   .k = f->qkv + C,
                                                                   .v = f->qkv + 2 * C,
                                                                   .ld = LD,
                                                                   .batch = ROWS * LD,
                                                                   .out = f->out,
                                                                   .ldo = C,
                                                                   .batch_o = ROWS * C});
}

static void begin(fixture *f, int step)
{
    dit_attention_begin(f->attention,
                        &(dit_window){.count = IMAGE, .text = true, .band = DIT_WINDOW_ALL, .step = step});
}

/* ---- the plain result -------------------------------------------------------------------------------------------- */

/* Step and group of the forward that row `row`'s K and V are of, in the one about `group`; false: they are not there.
 */
static bool version_of(const method *m, int synchronous, int step, int group, int row, int *of_step, int *of_group)
{
    int owner = 0;
    *of_step = step, *of_group = group;
    if (group == DIT_ORACLE_ALL) return true;
    char seen = letter(m, group, row);
    if (seen == 'f') return true;
    while (letter(m, owner, row) != 'f') owner++;
    if (seen == 'b') *of_step = step - 1;
    *of_group = *of_step < synchronous ? DIT_ORACLE_ALL : owner;
    return seen != '.';
}

/* One row and head by the definition of attention, in double. */
static void expect_head(const fixture *f, const method *m, int synchronous, int step, int group, int call, int b,
                        int row, int head, double out[D])
{
    double sum = 0;
    float query[LD], key[LD];
    memset(out, 0, D * sizeof *out);
    draw(step, group, call, b, row, query);
    for (int other = 0; other < ROWS; other++) {
        int of_step, of_group;
        double logit = 0;
        if (!version_of(m, synchronous, step, group, other, &of_step, &of_group)) continue;
        draw(of_step, of_group, call, b, other, key);
        for (int d = 0; d < D; d++) logit += (double)query[head * D + d] * key[C + head * D + d];
        double weight = exp(logit / sqrt(D) + (other < TEXT ? (double)f->bias[b * TEXT + other] : 0));
        sum += weight;
        for (int d = 0; d < D; d++) out[d] += weight * key[2 * C + head * D + d];
    }
    for (int d = 0; d < D; d++) out[d] /= sum;
}

/* Largest difference of the newest result, over the rows that mean something. */
static double distance(const fixture *f, const method *m, int synchronous, int step, int group, int call)
{
    double worst = 0, expected[D];
    for (int i = 0; i < B * ROWS * H; i++) {
        int head = i % H, row = i / H % ROWS, b = i / H / ROWS;
        if (group != DIT_ORACLE_ALL && letter(m, group, row) != 'f') continue;
        expect_head(f, m, synchronous, step, group, call, b, row, head, expected);
        for (int d = 0; d < D; d++)
            worst = fmax(worst, fabs(expected[d] - (double)f->out[(b * ROWS + row) * C + head * D + d]));
    }
    return worst;
}

static void check_forward(fixture *f, const method *m, int synchronous, int step, int group)
{
    f->oracle.group = group;
    begin(f, step);
    for (int call = 0; call < CALLS; call++) {
        assert_int_equal(attend(f, step, group, call), DIT_OK);
        double found = distance(f, m, synchronous, step, group, call);
        if (found > 1e-5) print_error("%s, step %d, group %d, call %d: %g\n", m->name, step, group, call, found);
        assert_true(found <= 1e-5);
    }
}

/* Groups that see this step's rows of each other find those of the sweep before. */
static void sweep(fixture *f, int step)
{
    for (f->oracle.group = 0; f->oracle.group < f->oracle.groups; f->oracle.group++) {
        begin(f, step);
        for (int call = 0; call < CALLS; call++) assert_int_equal(attend(f, step, f->oracle.group, call), DIT_OK);
    }
}

static void a_forward_sees_the_keys_of_the_table(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * METHODS; i++) {
        const method *m = &methods[i / 2];
        int synchronous = 1 + i % 2;
        fixture *f = open_fixture("oracle", true);
        emulate(f, m);
        for (int step = 0; step < STEPS; step++) {
            if (step < synchronous) check_forward(f, m, synchronous, step, DIT_ORACLE_ALL);
            if (step >= synchronous && m->frames) sweep(f, step);
            for (int group = 0; group < f->oracle.groups && step >= synchronous; group++)
                check_forward(f, m, synchronous, step, group);
            dit_oracle_end_step(&f->oracle, true);
        }
        assert_true(f->oracle.groups == MOST_GROUPS || !m->sees[f->oracle.groups]);
        close_fixture(f);
    }
}

/* Neither the comparison nor the table would notice a method that is not there: another method's table must not fit. */
static void another_table_does_not_fit(void **state)
{
    const method *m = &methods[0], *other = &methods[1];
    fixture *f = open_fixture("oracle", true);
    (void)state;
    emulate(f, m);
    check_forward(f, m, 1, 0, DIT_ORACLE_ALL);
    dit_oracle_end_step(&f->oracle, true);
    check_forward(f, m, 1, 1, 0);
    f->oracle.group = 1;
    begin(f, 1);
    assert_int_equal(attend(f, 1, 1, 0), DIT_OK);
    assert_true(distance(f, m, 1, 1, 1, 0) <= 1e-5);
    assert_true(distance(f, other, 1, 1, 1, 0) > 1e-2);
    close_fixture(f);
}

static void with_one_group_it_is_local_attention_bit_for_bit(void **state)
{
    (void)state;
    for (int i = 0; i < METHODS; i++) {
        if (methods[i].sees[1]) continue;
        fixture *local = open_fixture("local", true), *oracle = open_fixture("oracle", true);
        emulate(oracle, &methods[i]);
        for (int step = 0; step < STEPS; step++) {
            oracle->oracle.group = step == 0 ? DIT_ORACLE_ALL : 0;
            begin(local, step);
            begin(oracle, step);
            for (int call = 0; call < CALLS; call++) {
                assert_int_equal(attend(local, step, 0, call), DIT_OK);
                assert_int_equal(attend(oracle, step, 0, call), DIT_OK);
                assert_memory_equal(local->out, oracle->out, sizeof local->out);
            }
            dit_oracle_end_step(&oracle->oracle, true);
        }
        close_fixture(local);
        close_fixture(oracle);
    }
}

static void groups_share_out_the_rows(void **state)
{
    (void)state;
    for (int i = 0; i < METHODS; i++) {
        fixture *f = open_fixture("oracle", false);
        int64_t next = 0;
        emulate(f, &methods[i]);
        for (int group = 0; group < f->oracle.groups; group++) {
            dit_range rows = dit_oracle_rows(&f->oracle, group, IMAGE);
            assert_int_equal(rows.first, next);
            for (int64_t row = rows.first; row < rows.first + rows.count; row++)
                assert_int_equal(letter(&methods[i], group, (int)(TEXT + row)), 'f');
            next += rows.count;
        }
        assert_int_equal(next, IMAGE);
        close_fixture(f);
    }
}

static void wrong_use_is_refused(void **state)
{
    fixture *alone = open_fixture("oracle", false), *local = open_fixture("local", false);
    (void)state;
    begin(alone, 0);
    assert_int_equal(attend(alone, 0, 0, 0), DIT_ERR_CONSTRAINT_METHOD);
    assert_non_null(strstr(dit_error_last()->message, "without a method to emulate"));
    assert_int_equal(dit_attention_set_oracle(local->attention, &local->oracle), DIT_ERR_INTERNAL);
    emulate(alone, &methods[0]);
    begin(alone, 0);
    for (int call = 0; call < CALLS; call++) assert_int_equal(attend(alone, 0, 0, call), DIT_OK);
    assert_int_equal(attend(alone, 0, 0, CALLS), DIT_ERR_INTERNAL); /* a forward has no more of them */
    close_fixture(alone);
    close_fixture(local);
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

static dit_status read_case(const char *rest, dit_case *out, dit_json *doc)
{
    static char text[4096];
    snprintf(text, sizeof text,
             "{\"schema\":\"ditbench.case/1\",\"program\":\"denoise\",\"model\":{\"name\":\"m\",\"config\":{"
             "\"_class_name\":\"PixArtTransformer2DModel\",\"num_layers\":4,\"num_attention_heads\":4,"
             "\"attention_head_dim\":8,\"in_channels\":4,\"patch_size\":2},"
             "\"latent\":{\"channels\":4,\"vae_spatial\":8,\"patch\":[2,2]},\"text\":{\"tokens\":7,\"dim\":32},"
             "\"weights\":{\"kind\":\"seeded\",\"seed\":1}},"
             "\"scheduler\":{\"_class_name\":\"DPMSolverMultistepScheduler\"},"
             "\"run\":{\"height_px\":64,\"width_px\":32,\"num_images\":1,\"num_inference_steps\":5,\"seed\":3}%s}",
             rest);
    assert_int_equal(dit_json_parse(text, strlen(text), "case.json", doc), DIT_OK);
    DIT_TRY(dit_case_read(doc, out));
    return dit_case_settle_emulated(out);
}

static void what_is_emulated_becomes_canonical(void **state)
{
    dit_case kase;
    dit_json doc = {0};
    (void)state;
    assert_int_equal(read_case("", &kase, &doc), DIT_OK);
    assert_false(kase.emulates);
    assert_int_equal(dit_case_stale_steps(&kase), 0);
    dit_json_release(&doc);
    assert_int_equal(read_case(",\"emulates\":{\"pipefusion_degree\":4,\"ulysses_degree\":2,\"cfg_degree\":2,"
                               "\"num_pipeline_patch\":9,\"warmup_steps\":2}",
                               &kase, &doc),
                     DIT_OK);
    assert_true(kase.emulates);
    assert_int_equal(kase.emulated.degree[DIT_AXIS_PIPEFUSION], 2);
    assert_int_equal(kase.emulated.degree[DIT_AXIS_RING], 2);
    assert_int_equal(kase.emulated.degree[DIT_AXIS_CFG], 1);
    assert_int_equal(kase.emulated.num_pipeline_patch, 4); /* of 8 tokens on two ranks */
    assert_int_equal(dit_parallel_world_size(&kase.parallel), 1);
    assert_int_equal(dit_case_stale_steps(&kase), 3);
    dit_json_release(&doc);
}

static void what_cannot_be_emulated_is_named(void **state)
{
    static const struct {
        const char *rest;
        dit_status expected;
        const char *named;
    } cases[] = {
        {",\"emulates\":7", DIT_ERR_JSON_TYPE, "/emulates"},
        {",\"emulates\":{}", DIT_ERR_JSON_VALUE, "neither pipefusion_degree nor patch_degree"},
        {",\"emulates\":{\"ulysses_degree\":2}", DIT_ERR_JSON_VALUE, "neither pipefusion_degree nor patch_degree"},
        {",\"emulates\":{\"pipefusion_degre\":2}", DIT_ERR_JSON_UNKNOWN_KEY, "/emulates/pipefusion_degre"},
        {",\"emulates\":{\"patch_degree\":2},\"parallel\":{\"cfg_degree\":2}", DIT_ERR_JSON_VALUE, "parallel has 2"},
        {",\"emulates\":{\"patch_degree\":2},\"attention\":\"ring\"", DIT_ERR_JSON_VALUE, "\"ring\" cannot emulate"},
        {",\"emulates\":{\"patch_degree\":3}", DIT_ERR_CONSTRAINT_TOKENS, "not divisible by patch_degree 3"},
        {",\"emulates\":{\"pipefusion_degree\":5}", DIT_ERR_CONSTRAINT_STAGES, "pipefusion_degree 5"},
        {",\"emulates\":{\"patch_degree\":2,\"ring_degree\":2}", DIT_ERR_CONSTRAINT_METHOD, "ring_degree 2"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dit_case kase;
        dit_json doc = {0};
        dit_status st = read_case(cases[i].rest, &kase, &doc);
        if (st != cases[i].expected || !strstr(dit_error_last()->message, cases[i].named))
            print_error("case %zu: %s\n", i, dit_error_last()->message);
        assert_int_equal(st, cases[i].expected);
        assert_non_null(strstr(dit_error_last()->message, cases[i].named));
        dit_json_release(&doc);
    }
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

static void exact_runs_are_judged_by_one_rank_approximate_ones_by_the_oracle(void **state)
{
    static const struct {
        dit_validation validation;
        bool judged, pass;
    } cases[] = {
        {{.rel_l2 = 0, .tolerance = 1}, false, true},
        {{.has_reference = true, .rel_l2 = 1, .tolerance = 1}, true, true},
        {{.has_reference = true, .rel_l2 = 2, .tolerance = 1}, true, false},
        {{.has_reference = true, .has_oracle = true, .rel_l2 = 2, .tolerance = 1}, true, false},
        {{.approximate = true, .has_reference = true, .rel_l2 = 2, .tolerance = 1}, false, true},
        {{.approximate = true, .has_oracle = true, .oracle_rel_l2 = 2, .tolerance = 1}, true, false},
        {{.approximate = true,
          .has_reference = true,
          .has_oracle = true,
          .rel_l2 = 2,
          .oracle_rel_l2 = 1,
          .tolerance = 1},
         true,
         true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool pass, judged = dit_validation_judge(&cases[i].validation, &pass);
        assert_int_equal(judged, cases[i].judged);
        if (judged) assert_int_equal(pass, cases[i].pass);
    }
}

static void distances_are_those_of_their_definitions(void **state)
{
    static const float reference[4] = {-1, 0, 1, 2}, same[4] = {-1, 0, 1, 2}, other[4] = {-1, 0, 1, 3}, flat[4] = {0};
    char path[TEST_FOLDER];
    const dit_tensor_out tensors[] = {{"x", 1, {4}, reference}, {"flat", 1, {4}, flat}};
    dit_distance found;
    (void)state;
    test_file_make(path, "", 0);
    assert_int_equal(dit_safetensors_write(path, tensors, 2), DIT_OK);
    assert_int_equal(dit_reference_compare(path, "x", same, 4, &found), DIT_OK);
    assert_true(found.rel_l2 == 0 && isinf(found.psnr_db) && found.psnr_db > 0);
    assert_int_equal(dit_reference_compare(path, "x", other, 4, &found), DIT_OK);
    assert_true(fabs(found.rel_l2 - sqrt(1.0 / 6)) < 1e-12);
    assert_true(fabs(found.psnr_db - 10 * log10(9 / 0.25)) < 1e-9);
    assert_int_equal(dit_reference_compare(path, "flat", other, 4, &found), DIT_OK);
    assert_true(fabs(found.rel_l2 - sqrt(11)) < 1e-9 && found.psnr_db == 0);
    assert_int_equal(dit_reference_compare(path, "x", other, 3, &found), DIT_ERR_SHAPE);
    assert_int_equal(dit_reference_compare(path, "y", other, 4, &found), DIT_ERR_SHAPE);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forward_sees_the_keys_of_the_table),
        cmocka_unit_test(another_table_does_not_fit),
        cmocka_unit_test(with_one_group_it_is_local_attention_bit_for_bit),
        cmocka_unit_test(groups_share_out_the_rows),
        cmocka_unit_test(wrong_use_is_refused),
        cmocka_unit_test(what_is_emulated_becomes_canonical),
        cmocka_unit_test(what_cannot_be_emulated_is_named),
        cmocka_unit_test(exact_runs_are_judged_by_one_rank_approximate_ones_by_the_oracle),
        cmocka_unit_test(distances_are_those_of_their_definitions),
    };
    return RUN_ON_EACH_ISA(tests, NULL, NULL);
}
