/* Mesh arithmetic, legality and closed forms: pure functions, tested without running anything. */
#include "base/footprint.h"
#include "base/label.h"
#include "base/legality.h"
#include "base/mesh.h"
#include "base/patches.h"
#include "base/volume.h"

#include "base/tests/test.h"

static dit_parallel mesh(int ulysses, int ring, int cfg, int data)
{
    dit_parallel parallel = {0};
    parallel.degree[DIT_AXIS_ULYSSES] = ulysses;
    parallel.degree[DIT_AXIS_RING] = ring;
    parallel.degree[DIT_AXIS_CFG] = cfg;
    parallel.degree[DIT_AXIS_DATA] = data;
    return parallel;
}

static dit_parallel with_tensor(dit_parallel parallel, int degree)
{
    parallel.degree[DIT_AXIS_TENSOR] = degree;
    return parallel;
}

static dit_parallel with_axis(dit_parallel parallel, dit_axis axis, int degree)
{
    parallel.degree[axis] = degree;
    return parallel;
}

static dit_parallel with_stages(dit_parallel parallel, int degree)
{
    return with_axis(parallel, DIT_AXIS_PIPEFUSION, degree);
}

static dit_parallel with_patches(dit_parallel parallel, int degree, dit_patch_method method)
{
    parallel.patch_method = method;
    return with_axis(parallel, DIT_AXIS_PATCH, degree);
}

static dit_facts pixart_facts(void)
{
    return (dit_facts){.family = "PixArtTransformer2DModel",
                       .layers = 28,
                       .heads = 16,
                       .head_dim = 72,
                       .image_tokens = 4096,
                       .text_tokens = 120,
                       .token_channels = 16,
                       .num_images = 1,
                       .guidance_branches = 2,
                       .steps = 20,
                       .mlp_ratio = 4,
                       .parameters = 610000000,
                       .blocks = {{.count = 28, .sums = {.image = 3}}}};
}

static dit_facts flux_facts(void)
{
    return (dit_facts){.family = "FluxTransformer2DModel",
                       .layers = 57,
                       .heads = 24,
                       .head_dim = 128,
                       .image_tokens = 4096,
                       .text_tokens = 512,
                       .token_channels = 64,
                       .num_images = 1,
                       .guidance_branches = 1,
                       .steps = 28,
                       .joint = true,
                       .mlp_ratio = 4,
                       .parameters = 11900000000,
                       .blocks = {{.count = 19, .sums = {.image = 2, .text = 2}}, {.count = 38, .sums = {.both = 1}}}};
}

static void every_rank_has_its_own_coordinates(void **state)
{
    dit_parallel parallel = mesh(2, 3, 2, 5);
    (void)state;
    assert_int_equal(dit_parallel_world_size(&parallel), 60);
    for (int rank = 0; rank < 60; rank++) {
        int coordinates[DIT_AXIS_COUNT];
        dit_mesh_coordinates(&parallel, rank, coordinates);
        assert_int_equal(dit_mesh_rank(&parallel, coordinates), rank);
    }
}

static void ulysses_varies_fastest_then_ring_then_cfg_then_data(void **state)
{
    dit_parallel parallel = mesh(2, 2, 2, 2);
    int group[2];
    (void)state;
    const struct {
        dit_axis axis;
        int partner;
    } expected[] = {{DIT_AXIS_ULYSSES, 1}, {DIT_AXIS_RING, 2}, {DIT_AXIS_CFG, 4}, {DIT_AXIS_DATA, 8}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(dit_mesh_group(&parallel, 0, expected[i].axis, group), 2);
        assert_int_equal(group[0], 0);
        assert_int_equal(group[1], expected[i].partner);
    }
}

static void groups_of_an_axis_partition_the_world(void **state)
{
    dit_parallel parallel = mesh(3, 2, 2, 2);
    (void)state;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        int seen[24] = {0}, group[24];
        for (int rank = 0; rank < 24; rank++) {
            int size = dit_mesh_group(&parallel, rank, (dit_axis)axis, group);
            for (int i = 0; i < size; i++) seen[group[i]]++;
        }
        for (int rank = 0; rank < 24; rank++)
            assert_int_equal(seen[rank], parallel.degree[axis] > 0 ? parallel.degree[axis] : 1);
    }
}

static void labels_name_what_is_above_one(void **state)
{
    char label[64];
    dit_parallel all = mesh(2, 4, 2, 3), one = mesh(1, 0, 1, 1);
    (void)state;
    dit_parallel_label(&all, label);
    assert_string_equal(label, "u2 r4 cfg2 dp3");
    dit_parallel_label(&one, label);
    assert_string_equal(label, "1");
}

static void a_mesh_prints_who_works_with_whom(void **state)
{
    static const char expected[] = "mesh u2 r2 cfg2, world_size 8\n"
                                   "rank 0:  ulysses 0 of {0,1}  ring 0 of {0,2}  cfg 0 of {0,4}\n"
                                   "rank 1:  ulysses 1 of {0,1}  ring 0 of {1,3}  cfg 0 of {1,5}\n"
                                   "rank 2:  ulysses 0 of {2,3}  ring 1 of {0,2}  cfg 0 of {2,6}\n"
                                   "rank 3:  ulysses 1 of {2,3}  ring 1 of {1,3}  cfg 0 of {3,7}\n"
                                   "rank 4:  ulysses 0 of {4,5}  ring 0 of {4,6}  cfg 1 of {0,4}\n"
                                   "rank 5:  ulysses 1 of {4,5}  ring 0 of {5,7}  cfg 1 of {1,5}\n"
                                   "rank 6:  ulysses 0 of {6,7}  ring 1 of {4,6}  cfg 1 of {2,6}\n"
                                   "rank 7:  ulysses 1 of {6,7}  ring 1 of {5,7}  cfg 1 of {3,7}\n";
    dit_parallel parallel = mesh(2, 2, 2, 1);
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    (void)state;
    assert_non_null(file);
    dit_mesh_print(&parallel, file);
    fclose(file);
    assert_string_equal(text, expected);
    free(text);
}

static void broken_rules_are_refused_by_their_code(void **state)
{
    (void)state;
    struct {
        dit_parallel parallel;
        bool flux;
        dit_status expected;
    } cases[] = {
        {mesh(2, 2, 2, 1), false, DIT_OK},
        {mesh(24, 1, 1, 1), true, DIT_ERR_CONSTRAINT_TOKENS}, /* 4096 % 24 */
        {mesh(3, 1, 1, 1), false, DIT_ERR_CONSTRAINT_HEADS},
        {mesh(1, 3, 1, 1), false, DIT_ERR_CONSTRAINT_TOKENS},
        {with_tensor(mesh(1, 1, 1, 1), 16), false, DIT_OK},
        {with_tensor(mesh(4, 2, 2, 1), 4), false, DIT_OK},
        {with_tensor(mesh(1, 1, 1, 1), 3), false, DIT_ERR_CONSTRAINT_HEADS},
        {with_tensor(mesh(8, 1, 1, 1), 4), false, DIT_ERR_CONSTRAINT_HEADS}, /* 8 and 4 divide 16, 32 does not */
        {with_tensor(mesh(1, 8, 1, 1), 16), false, DIT_OK},
        {mesh(1, 1, 2, 1), true, DIT_ERR_CONSTRAINT_CFG},
        {mesh(1, 1, 3, 1), false, DIT_ERR_CONSTRAINT_DEGREE},
        {mesh(1, 1, 1, 2), false, DIT_ERR_CONSTRAINT_BATCH},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dit_facts facts = cases[i].flux ? flux_facts() : pixart_facts();
        assert_int_equal(dit_parallel_check(&cases[i].parallel, &facts), cases[i].expected);
    }
}

static void expect_refusal(const dit_parallel *parallel, const dit_facts *facts, dit_status expected, const char *words)
{
    assert_int_equal(dit_parallel_check(parallel, facts), expected);
    if (expected == DIT_OK) return;
    assert_non_null(strstr(dit_error_last()->message, words));
    assert_true(strlen(dit_error_last()->hint) > 0);
}

static void stages_go_with_every_other_axis_but_patches(void **state)
{
    dit_facts pixart = pixart_facts();
    const dit_parallel one = mesh(1, 1, 1, 1);
    (void)state;
    pixart.num_images = 2;
    struct {
        dit_parallel parallel;
        dit_status expected;
        const char *words;
    } cases[] = {
        {with_stages(one, 2), DIT_OK, ""},
        {with_stages(one, 28), DIT_OK, ""},
        {with_stages(with_tensor(mesh(2, 2, 2, 2), 2), 4), DIT_OK, ""},
        {with_stages(one, 29), DIT_ERR_CONSTRAINT_STAGES, "pipefusion_degree 29 is above the number of blocks"},
        {with_stages(one, 65), DIT_ERR_CONSTRAINT_DEGREE, "pipefusion_degree 65 is above 64"},
        {with_stages(mesh(3, 1, 1, 1), 2), DIT_ERR_CONSTRAINT_HEADS, "heads 16"},
        {with_stages(mesh(1, 3, 1, 1), 2), DIT_ERR_CONSTRAINT_TOKENS, "image tokens 4096"},
        {with_patches(with_stages(one, 2), 2, DIT_PATCH_PCPP), DIT_ERR_CONSTRAINT_METHOD,
         "patch_degree 2 (pcpp) beside pipefusion_degree 2"},
        {with_patches(mesh(4, 1, 1, 1), 2, DIT_PATCH_NAIVE), DIT_ERR_CONSTRAINT_METHOD,
         "patch_degree 2 (naive-patch) beside ulysses_degree 4"},
        {with_patches(mesh(1, 4, 1, 1), 2, DIT_PATCH_DISTRIFUSION), DIT_ERR_CONSTRAINT_METHOD,
         "patch_degree 2 (distrifusion) beside ring_degree 4"},
        {with_patches(with_tensor(mesh(1, 1, 2, 2), 16), 4, DIT_PATCH_DISTRIFUSION), DIT_OK, ""},
        {with_patches(one, 3, DIT_PATCH_PCPP), DIT_ERR_CONSTRAINT_TOKENS,
         "image tokens 4096 not divisible by patch_degree 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refusal(&cases[i].parallel, &pixart, cases[i].expected, cases[i].words);
}

static void listed_stages_have_all_blocks_between_them(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel parallel = with_stages(mesh(1, 1, 1, 1), 3);
    (void)state;
    static const struct {
        int blocks[3];
        dit_status expected;
        const char *words;
    } cases[] = {
        {{26, 1, 1}, DIT_OK, ""},
        {{1, 20, 7}, DIT_OK, ""},
        {{10, 10, 7}, DIT_ERR_CONSTRAINT_STAGES, "27 blocks together, PixArtTransformer2DModel has 28"},
        {{28, 0, 0}, DIT_ERR_CONSTRAINT_STAGES, "stage 1 of 3 has 0 blocks"},
        {{30, -1, -1}, DIT_ERR_CONSTRAINT_STAGES, "stage 1 of 3 has -1 blocks"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(parallel.stage_blocks, cases[i].blocks, sizeof cases[i].blocks);
        expect_refusal(&parallel, &facts, cases[i].expected, cases[i].words);
    }
}

static void settings_of_displaced_methods_have_ranges(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel stages = with_stages(mesh(1, 1, 1, 1), 2);
    dit_parallel patches = with_patches(mesh(1, 1, 1, 1), 2, DIT_PATCH_PCPP), exact = mesh(2, 1, 1, 1);
    (void)state;
    stages.warmup_steps = exact.warmup_steps = -1; /* of an exact method it means nothing */
    expect_refusal(&stages, &facts, DIT_ERR_CONSTRAINT_DEGREE, "warmup_steps -1");
    expect_refusal(&exact, &facts, DIT_OK, "");
    stages.warmup_steps = 1000;
    expect_refusal(&stages, &facts, DIT_OK, "");
    stages.num_pipeline_patch = -2;
    expect_refusal(&stages, &facts, DIT_ERR_CONSTRAINT_DEGREE, "num_pipeline_patch -2");
    stages.num_pipeline_patch = 1;
    expect_refusal(&stages, &facts, DIT_OK, "");
    patches.patch_fraction = 1.5;
    expect_refusal(&patches, &facts, DIT_ERR_CONSTRAINT_DEGREE, "patch_fraction 1.5");
    patches.patch_fraction = 1;
    expect_refusal(&patches, &facts, DIT_OK, "");
}

/* Latte: every frame is cut, by bands and by patches. */
static void frames_are_cut_one_by_one(void **state)
{
    dit_facts facts = pixart_facts();
    (void)state;
    facts.segments = 16; /* of 256 tokens */
    for (int n = 2; n <= 256; n *= 2) {
        dit_parallel patches = with_patches(mesh(1, 1, 1, 1), n, DIT_PATCH_DISTRIFUSION);
        dit_parallel stages = with_stages(mesh(1, n, 1, 1), 2);
        expect_refusal(&patches, &facts, DIT_OK, "");
        expect_refusal(&stages, &facts, DIT_OK, "");
    }
    dit_parallel many = with_patches(mesh(1, 1, 1, 1), 512, DIT_PATCH_DISTRIFUSION);
    expect_refusal(&many, &facts, DIT_ERR_CONSTRAINT_TOKENS, "image tokens 256 of a frame");
}

/* A picture is decoded by all ranks of whatever mesh. */
static void rows_are_shared_by_all_ranks_of_any_mesh(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel meshes[] = {with_stages(mesh(2, 1, 2, 1), 2), with_patches(mesh(1, 1, 2, 1), 4, DIT_PATCH_PCPP)};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        meshes[i].rows_degree = 8;
        expect_refusal(&meshes[i], &facts, DIT_OK, "");
        meshes[i].rows_degree = 4;
        expect_refusal(&meshes[i], &facts, DIT_ERR_CONSTRAINT_PRODUCT, "rows_degree 4");
    }
}

/* With PCPP and naive patch a rank sees of the others a part or nothing, so it needs all of the text itself. */
static void patches_that_see_a_part_keep_the_text_whole(void **state)
{
    dit_facts facts = flux_facts();
    (void)state;
    for (int method = 0; method < DIT_PATCH_METHOD_COUNT; method++) {
        dit_parallel parallel = with_patches(mesh(1, 1, 1, 1), 4, (dit_patch_method)method);
        bool all = method == DIT_PATCH_DISTRIFUSION;
        assert_int_equal(dit_parallel_joint_text(&parallel, &facts),
                         all ? DIT_JOINT_TEXT_SPLIT : DIT_JOINT_TEXT_REPLICATE);
        parallel.joint_text = DIT_JOINT_TEXT_SPLIT;
        expect_refusal(&parallel, &facts, all ? DIT_OK : DIT_ERR_CONSTRAINT_TEXT,
                       dit_patch_method_name((dit_patch_method)method));
        parallel.joint_text = DIT_JOINT_TEXT_REPLICATE;
        expect_refusal(&parallel, &facts, DIT_OK, "");
    }
}

static void joint_text_splits_only_where_it_divides(void **state)
{
    dit_facts flux = flux_facts(), pixart = pixart_facts();
    dit_parallel parallel = mesh(4, 1, 1, 1);
    (void)state;
    assert_int_equal(dit_parallel_joint_text(&parallel, &flux), DIT_JOINT_TEXT_SPLIT);
    flux.text_tokens = 510;
    assert_int_equal(dit_parallel_joint_text(&parallel, &flux), DIT_JOINT_TEXT_REPLICATE);
    assert_int_equal(dit_parallel_joint_text(&parallel, &pixart), DIT_JOINT_TEXT_REPLICATE);
    parallel.joint_text = DIT_JOINT_TEXT_SPLIT;
    assert_int_equal(dit_parallel_check(&parallel, &flux), DIT_ERR_CONSTRAINT_TEXT);
}

static int64_t step_bytes(const dit_parallel *parallel, const dit_facts *facts, dit_axis axis,
                          dit_collective collective)
{
    dit_volume_table table;
    dit_volume_predict(parallel, facts, 0, &table);
    return table.at[axis][collective][DIT_PHASE_STEP].bytes;
}

/* The papers: 4(N-1)/N^2 S h e L against 2(N-1)/N S h e L, both guidance branches */
static void ulysses_and_ring_follow_the_published_formulas(void **state)
{
    dit_facts facts = pixart_facts();
    (void)state;
    for (int n = 2; n <= 16; n *= 2) {
        dit_parallel ulysses = mesh(n, 1, 1, 1), ring = mesh(1, n, 1, 1);
        int64_t layer = 2 * 20 * 28 * 4096LL * 1152 * 4; /* branches, steps, layers, S h e */
        int64_t u = step_bytes(&ulysses, &facts, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_TO_ALL);
        int64_t r = step_bytes(&ring, &facts, DIT_AXIS_RING, DIT_COLLECTIVE_SEND_RECV);
        assert_int_equal(u, layer / n / n * 4 * (n - 1));
        assert_int_equal(r, layer / n * 2 * (n - 1));
        assert_int_equal(u * n, r * 2); /* the ratio is 2/N */
    }
}

/* L e S h [4(u-1)/(u^2 r) + 2(r-1)/(u r)] */
static void usp_follows_the_published_formula(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel parallel = mesh(4, 2, 1, 1);
    int64_t layer = 2 * 20 * 28 * 4096LL * 1152 * 4;
    (void)state;
    assert_int_equal(step_bytes(&parallel, &facts, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_TO_ALL), layer * 4 * 3 / 32);
    assert_int_equal(step_bytes(&parallel, &facts, DIT_AXIS_RING, DIT_COLLECTIVE_SEND_RECV), layer * 2 / 8);
}

static dit_volume tensor_sums(const dit_parallel *parallel, const dit_facts *facts)
{
    dit_volume_table table;
    dit_volume_predict(parallel, facts, 0, &table);
    return table.at[DIT_AXIS_TENSOR][DIT_COLLECTIVE_ALL_REDUCE][DIT_PHASE_STEP];
}

/* Megatron-LM: 2 (N-1)/N S h e for each of three sums a block, with cross-attention; in 2 (N-1) messages */
static void tensor_ranks_follow_the_published_formula(void **state)
{
    dit_facts facts = pixart_facts();
    (void)state;
    for (int n = 2; n <= 16; n *= 2) {
        dit_parallel parallel = with_tensor(mesh(1, 1, 1, 1), n);
        int64_t layer = 2 * 20 * 28 * 4096LL * 1152 * 4;
        dit_volume volume = tensor_sums(&parallel, &facts);
        assert_int_equal(volume.bytes, 3 * layer / n * 2 * (n - 1));
        assert_int_equal(volume.messages, 3 * 20 * 28 * 2 * (n - 1));
    }
}

/* Single blocks add up text and image at once, double blocks apart: the same bytes in half the messages. */
static void joint_blocks_sum_their_text_with_the_image(void **state)
{
    dit_facts facts = flux_facts();
    dit_parallel split = with_tensor(mesh(2, 1, 1, 1), 2), replicate = split;
    (void)state;
    replicate.joint_text = DIT_JOINT_TEXT_REPLICATE;
    int64_t row = 28 * 2 * (3072LL / 2) * 4;
    assert_int_equal(tensor_sums(&split, &facts).bytes, (2 * 19 + 38) * (2048 + 256) * row);
    assert_int_equal(tensor_sums(&replicate, &facts).bytes, (2 * 19 + 38) * (2048 + 512) * row);
    assert_int_equal(tensor_sums(&split, &facts).messages, 28 * (4 * 19 + 38) * 2);
    /* What Ulysses and ring exchange is of a tensor rank's heads. */
    assert_int_equal(step_bytes(&split, &facts, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_TO_ALL),
                     28 * 57 * 4 * (2048 + 256) * (3072LL / 2 / 2) * 4);
}

/* A norm over all heads needs one number a row from every rank: of the steps, and once of the text and the picture. */
static void norms_over_all_heads_send_their_squares(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel parallel = with_tensor(mesh(1, 1, 1, 1), 4);
    (void)state;
    int64_t without = tensor_sums(&parallel, &facts).bytes;
    facts.blocks[0].sums.norms = 3, facts.blocks[0].sums.memory = 1;
    int64_t norms = 20 * 3 * 28 * 3LL * 2 * 4096 * 8, text = 28 * 3LL * 2 * 120 * 8, picture = 28 * 3LL * 2 * 257 * 8;
    assert_int_equal(tensor_sums(&parallel, &facts).bytes - without, norms + text);
    facts.picture_tokens = 257;
    assert_int_equal(tensor_sums(&parallel, &facts).bytes - without, norms + text + picture);
}

static void weights_shrink_with_tensor_ranks(void **state)
{
    dit_facts facts = flux_facts();
    (void)state;
    int64_t bytes[4], before = facts.parameters * 4;
    for (int n = 2; n <= 8; n *= 2, before = bytes[0]) {
        dit_parallel parallel = with_tensor(mesh(1, 1, 1, 1), n);
        dit_memory_predict(&parallel, &facts, bytes);
        assert_true(bytes[0] < before && bytes[0] > facts.parameters * 4 / n);
    }
}

static void replicated_text_is_gathered_and_never_sent_as_keys(void **state)
{
    dit_facts facts = flux_facts();
    dit_parallel split = mesh(2, 1, 1, 1), replicate = split;
    (void)state;
    split.joint_text = DIT_JOINT_TEXT_SPLIT;
    replicate.joint_text = DIT_JOINT_TEXT_REPLICATE;
    int64_t per_row = 28 * 57 * (3072LL / 2) * 4;
    assert_int_equal(step_bytes(&split, &facts, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_TO_ALL),
                     4 * (2048 + 256) * per_row);
    assert_int_equal(step_bytes(&split, &facts, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_GATHER), 0);
    assert_int_equal(step_bytes(&replicate, &facts, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_TO_ALL), 4 * 2048 * per_row);
    assert_int_equal(step_bytes(&replicate, &facts, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_GATHER), 512 * per_row);
}

static void cfg_parallel_sends_one_latent_a_step(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel parallel = mesh(1, 1, 2, 1);
    (void)state;
    assert_int_equal(step_bytes(&parallel, &facts, DIT_AXIS_CFG, DIT_COLLECTIVE_ALL_GATHER), 20 * 4096 * 16 * 4);
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

static dit_volume sent_by(const dit_parallel *parallel, const dit_facts *facts, int rank, dit_axis axis,
                          dit_collective collective)
{
    dit_volume_table table;
    assert_int_equal(dit_parallel_check(parallel, facts), DIT_OK);
    dit_volume_predict(parallel, facts, rank, &table);
    return table.at[axis][collective][DIT_PHASE_STEP];
}

static dit_volume passed_on(const dit_parallel *parallel, const dit_facts *facts, int rank)
{
    return sent_by(parallel, facts, rank, DIT_AXIS_PIPEFUSION, DIT_COLLECTIVE_SEND_RECV);
}

static dit_facts of_depth(dit_facts facts, int64_t layers)
{
    facts.layers = facts.blocks[0].count = layers;
    return facts;
}

/* PipeFusion: S h e a boundary and step, in M messages; no matter how many blocks there are */
static void pipelines_send_their_stream_whatever_the_depth(void **state)
{
    dit_parallel parallel = with_stages(mesh(1, 1, 1, 1), 4);
    (void)state;
    parallel.warmup_steps = 1, parallel.num_pipeline_patch = 8;
    for (int64_t layers = 4; layers <= 128; layers *= 2) {
        dit_facts facts = of_depth(pixart_facts(), layers);
        for (int rank = 0; rank < 3; rank++) {
            dit_volume stream = passed_on(&parallel, &facts, rank);
            assert_int_equal(stream.bytes, 20 * 2 * 4096LL * 1152 * 4); /* both guidance branches */
            assert_int_equal(stream.messages, 1 + 19 * 8);
        }
        dit_volume latents = passed_on(&parallel, &facts, 3);
        assert_int_equal(latents.bytes, 19 * 4096LL * 16 * 4); /* nothing after the very last step */
        assert_int_equal(latents.messages, 1 + 18 * 8);
    }
}

/* Joint text goes along, S_t h e, once a step. */
static void streams_of_joint_models_carry_the_text(void **state)
{
    dit_facts facts = flux_facts();
    dit_parallel parallel = with_stages(mesh(1, 1, 1, 1), 2), shared = with_stages(mesh(2, 1, 1, 1), 2);
    (void)state;
    assert_int_equal(passed_on(&parallel, &facts, 0).bytes, 29 * (4096 + 512) * 3072LL * 4); /* 28 steps and the fill */
    assert_int_equal(passed_on(&shared, &facts, 0).bytes, 29 * (2048 + 256) * 3072LL * 4);
    shared.joint_text = DIT_JOINT_TEXT_REPLICATE;
    assert_int_equal(passed_on(&shared, &facts, 0).bytes, 29 * (2048 + 512) * 3072LL * 4);
}

/* Two ranks: a ring sends L times what the one boundary does, from both ranks, so that the ratio is 1 / 2L a rank. */
static void pipelines_send_a_fraction_of_a_ring(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel stages = with_stages(mesh(1, 1, 1, 1), 2), ring = mesh(1, 2, 1, 1);
    (void)state;
    stages.warmup_steps = 1;
    int64_t circled = 0;
    for (int rank = 0; rank < 2; rank++)
        circled += sent_by(&ring, &facts, rank, DIT_AXIS_RING, DIT_COLLECTIVE_SEND_RECV).bytes;
    assert_int_equal(circled, 2 * 28 * passed_on(&stages, &facts, 0).bytes);
}

/* With no warm-up steps a synchronous forward fills the stores: its stream travels, its prediction does not. */
static void a_fill_is_sent_but_not_counted_as_a_step(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel filled = with_stages(mesh(1, 1, 2, 1), 2), warmed = filled, exact = filled;
    int64_t stream = 4096LL * 1152 * 4, latents = 4096LL * 16 * 4;
    (void)state;
    warmed.warmup_steps = 3, exact.warmup_steps = 20;
    const struct {
        const dit_parallel *parallel;
        int64_t forwards, sent, returned, guided;
    } cases[] = {{&filled, 21, 1 + 20 * 2, 19 * 2, 20 * 2},
                 {&warmed, 20, 3 + 17 * 2, 3 + 16 * 2, 3 + 17 * 2},
                 {&exact, 20, 20, 19, 20}};
    for (size_t i = 0; i < 3; i++) {
        dit_volume forward = passed_on(cases[i].parallel, &facts, 0), back = passed_on(cases[i].parallel, &facts, 1);
        dit_volume guided = sent_by(cases[i].parallel, &facts, 1, DIT_AXIS_CFG, DIT_COLLECTIVE_ALL_GATHER);
        assert_true(forward.bytes == cases[i].forwards * stream && forward.messages == cases[i].sent);
        assert_true(back.bytes == 19 * latents && back.messages == cases[i].returned);
        assert_true(guided.bytes == 20 * latents && guided.messages == cases[i].guided);
        assert_int_equal(sent_by(cases[i].parallel, &facts, 0, DIT_AXIS_CFG, DIT_COLLECTIVE_ALL_GATHER).messages, 0);
    }
}

/* Ulysses exchanges what it did, each stage for its own blocks, in a message a band. */
static void ulysses_in_a_pipeline_sends_the_same_bytes(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel plain = mesh(2, 1, 1, 1), stages = with_stages(plain, 3);
    static const int blocks[] = {1, 20, 7};
    int64_t whole = sent_by(&plain, &facts, 0, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_TO_ALL).bytes;
    (void)state;
    memcpy(stages.stage_blocks, blocks, sizeof blocks);
    stages.warmup_steps = 4, stages.num_pipeline_patch = 5;
    for (int stage = 0; stage < 3; stage++) {
        dit_volume sent = sent_by(&stages, &facts, 2 * stage, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_TO_ALL);
        assert_int_equal(sent.bytes, whole / 28 * blocks[stage]);
        assert_int_equal(sent.messages, blocks[stage] * 4 * 2 * (4 + 16 * 5));
    }
}

/* Every band circulates the whole store, M times what a ring sends in a step */
static void a_ring_in_a_pipeline_sends_once_a_band(void **state)
{
    dit_facts facts = pixart_facts(), longer = facts;
    dit_parallel ring = mesh(1, 4, 1, 1);
    (void)state;
    longer.steps++;
    int64_t step = sent_by(&ring, &longer, 0, DIT_AXIS_RING, DIT_COLLECTIVE_SEND_RECV).bytes -
                   sent_by(&ring, &facts, 0, DIT_AXIS_RING, DIT_COLLECTIVE_SEND_RECV).bytes;
    for (int bands = 1; bands <= 16; bands *= 2) {
        dit_parallel stages = with_stages(ring, 4);
        stages.num_pipeline_patch = bands;
        int64_t stale = sent_by(&stages, &longer, 0, DIT_AXIS_RING, DIT_COLLECTIVE_SEND_RECV).bytes -
                        sent_by(&stages, &facts, 0, DIT_AXIS_RING, DIT_COLLECTIVE_SEND_RECV).bytes;
        assert_int_equal(4 * stale, bands * step); /* 7 of 28 blocks */
    }
}

/* HunyuanDiT: block i feeds block L - 1 - i, and where that is another stage it is sent, in proportion to the depth. */
static void skips_between_stages_grow_with_the_depth(void **state)
{
    dit_parallel parallel = with_stages(mesh(1, 1, 1, 1), 4);
    (void)state;
    parallel.warmup_steps = 20;
    for (int64_t layers = 16; layers <= 128; layers *= 2) {
        dit_facts facts = of_depth(pixart_facts(), layers);
        facts.skips = layers / 2 - 1;
        const int64_t skips[] = {layers / 4, layers / 4 - 1, 0}; /* the two blocks in the middle have none */
        for (int stage = 0; stage < 3; stage++) {
            dit_volume sent = passed_on(&parallel, &facts, stage);
            assert_int_equal(sent.bytes, 20 * (1 + skips[stage]) * 2 * 4096LL * 1152 * 4);
            assert_int_equal(sent.messages, 20 * (1 + (skips[stage] > 0)));
        }
    }
}

static void skips_within_a_stage_are_not_sent(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel parallel = with_stages(mesh(1, 1, 1, 1), 3);
    static const int blocks[] = {1, 20, 7};
    static const int64_t skips[] = {1, 6}; /* 0 to 27; 1-6 to 26-21; 7-12 stay in the stage of 20-15 */
    (void)state;
    memcpy(parallel.stage_blocks, blocks, sizeof blocks);
    facts.skips = 13, parallel.warmup_steps = 20;
    for (int stage = 0; stage < 2; stage++)
        assert_int_equal(passed_on(&parallel, &facts, stage).bytes, 20 * (1 + skips[stage]) * 2 * 4096LL * 1152 * 4);
}

/* ---- displaced patches ------------------------------------------------------------------------------------------- */

/* DistriFusion: 2(N-1)/N S h e L, in every step but the last, whose K and V nobody would read */
static void distrifusion_follows_the_published_formula(void **state)
{
    dit_facts facts = pixart_facts();
    int64_t layer = 2 * 28 * 4096LL * 1152 * 4; /* of a step */
    (void)state;
    for (int n = 2; n <= 16; n *= 2) {
        dit_parallel parallel = with_patches(mesh(1, 1, 1, 1), n, DIT_PATCH_DISTRIFUSION);
        for (int warmup_steps = 0; warmup_steps <= 25; warmup_steps += 5) {
            parallel.warmup_steps = warmup_steps;
            int64_t forwards = warmup_steps == 0 || warmup_steps >= 20 ? 20 : 19;
            dit_volume sent = sent_by(&parallel, &facts, n / 2, DIT_AXIS_PATCH, DIT_COLLECTIVE_ALL_GATHER);
            assert_int_equal(sent.bytes, forwards * (layer / n) * 2 * (n - 1));
            assert_int_equal(sent.messages, forwards * 28 * (n - 1));
        }
    }
}

/* What one more stale step sends. */
static int64_t stale_step_bytes(const dit_parallel *parallel, dit_facts facts, int rank, dit_collective collective)
{
    int64_t before = sent_by(parallel, &facts, rank, DIT_AXIS_PATCH, collective).bytes;
    facts.steps++;
    return sent_by(parallel, &facts, rank, DIT_AXIS_PATCH, collective).bytes - before;
}

/* A fraction f of two neighbours, instead of all of N - 1 ranks: 2 f / (N - 1) of the bytes, at the ends half of it */
static void pcpp_sends_a_fraction_of_distrifusion(void **state)
{
    dit_facts facts = pixart_facts();
    (void)state;
    for (int n = 2; n <= 16; n *= 2) {
        dit_parallel all = with_patches(mesh(1, 1, 1, 1), n, DIT_PATCH_DISTRIFUSION), part = all;
        int64_t gathered = stale_step_bytes(&all, facts, 0, DIT_COLLECTIVE_ALL_GATHER);
        part.patch_method = DIT_PATCH_PCPP;
        for (int quarters = 1; quarters <= 4; quarters++) {
            part.patch_fraction = quarters / 4.0;
            for (int rank = 0; rank < n; rank++) {
                int64_t neighbours = (rank > 0) + (rank < n - 1);
                assert_int_equal(stale_step_bytes(&part, facts, rank, DIT_COLLECTIVE_SEND_RECV) * 4 * (n - 1),
                                 neighbours * quarters * gathered);
                assert_int_equal(stale_step_bytes(&part, facts, rank, DIT_COLLECTIVE_ALL_GATHER), 0);
            }
        }
    }
}

/* PCPP's own figure, 70 % less than DistriFusion, is what four ranks and 0.45 of the rows give. */
static void pcpp_saves_seventy_percent(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel all = with_patches(mesh(1, 1, 1, 1), 4, DIT_PATCH_DISTRIFUSION), part = all;
    (void)state;
    part.patch_method = DIT_PATCH_PCPP, part.patch_fraction = 0.45;
    double ratio = (double)stale_step_bytes(&part, facts, 1, DIT_COLLECTIVE_SEND_RECV) /
                   (double)stale_step_bytes(&all, facts, 1, DIT_COLLECTIVE_ALL_GATHER);
    assert_true(ratio > 0.299 && ratio < 0.301);
}

static void naive_patches_send_nothing_when_stale(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel parallel = with_patches(mesh(1, 1, 1, 1), 4, DIT_PATCH_NAIVE);
    int64_t layer = 2 * 28 * 4096LL * 1152 * 4;
    (void)state;
    assert_int_equal(sent_by(&parallel, &facts, 1, DIT_AXIS_PATCH, DIT_COLLECTIVE_ALL_GATHER).messages, 0);
    parallel.warmup_steps = 3;
    assert_int_equal(sent_by(&parallel, &facts, 1, DIT_AXIS_PATCH, DIT_COLLECTIVE_ALL_GATHER).bytes, 3 * layer / 4 * 6);
    assert_int_equal(stale_step_bytes(&parallel, facts, 1, DIT_COLLECTIVE_ALL_GATHER), 0);
}

/* Joint text that DistriFusion splits travels like rows; replicated text stays. */
static void patches_send_the_text_only_where_it_is_split(void **state)
{
    dit_facts facts = flux_facts();
    dit_parallel split = with_patches(mesh(1, 1, 1, 1), 4, DIT_PATCH_DISTRIFUSION), replicate = split;
    (void)state;
    replicate.joint_text = DIT_JOINT_TEXT_REPLICATE;
    int64_t row = 57 * 2 * 3072LL * 4 * 3; /* K and V of all layers to three others */
    assert_int_equal(stale_step_bytes(&split, facts, 0, DIT_COLLECTIVE_ALL_GATHER), (1024 + 128) * row);
    assert_int_equal(stale_step_bytes(&replicate, facts, 0, DIT_COLLECTIVE_ALL_GATHER), 1024 * row);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* PipeFusion: weights 1/P, and 2 S h L/P of K and V; DistriFusion: all weights, and 2 S h L */
static void stages_and_patches_keep_the_published_memory(void **state)
{
    dit_facts facts = pixart_facts();
    int64_t alone[4], bytes[4], store = 2 * 2 * 4096LL * 1152 * 28 * 4; /* of both branches */
    dit_parallel one = mesh(1, 1, 1, 1);
    (void)state;
    dit_memory_predict(&one, &facts, alone);
    for (int n = 2; n <= 28; n *= n == 4 ? 7 : 2) {
        dit_parallel stages = with_stages(one, n);
        dit_memory_predict(&stages, &facts, bytes);
        assert_in_range(bytes[0], alone[0] / n, alone[0] / n + alone[0] / 20); /* embeddings are everywhere */
        int64_t text = 2 * 2 * 120 * 1152LL * 28 * 4; /* cross-attention's K and V go with the blocks, too */
        assert_int_equal(bytes[1] - alone[1], store / n + text / n - text);
        if (4096 % n) continue;
        dit_parallel naive = with_patches(one, n, DIT_PATCH_NAIVE), all = naive, part = naive;
        int64_t without[4];
        all.patch_method = DIT_PATCH_DISTRIFUSION, part.patch_method = DIT_PATCH_PCPP;
        dit_memory_predict(&naive, &facts, without);
        dit_memory_predict(&all, &facts, bytes);
        assert_true(bytes[0] == alone[0] && bytes[1] - without[1] == store);
        dit_memory_predict(&part, &facts, bytes);
        assert_true(bytes[0] == alone[0] && bytes[1] - without[1] == store / n); /* half of two neighbours */
    }
}

static void memory_is_that_of_the_heaviest_stage(void **state)
{
    dit_facts facts = pixart_facts(), flux = flux_facts();
    dit_parallel even = with_stages(mesh(1, 1, 1, 1), 4), uneven = even;
    static const int blocks[] = {1, 1, 21, 5};
    int64_t of_seven[4], of_most[4];
    (void)state;
    memcpy(uneven.stage_blocks, blocks, sizeof blocks);
    dit_memory_predict(&even, &facts, of_seven);
    dit_memory_predict(&uneven, &facts, of_most);
    assert_in_range(of_most[0], of_seven[0] * 28 / 10, 3 * of_seven[0]);
    assert_true(of_most[1] > 2 * of_seven[1]);
    dit_memory_predict(&even, &flux, of_seven); /* 14 of 19 double blocks, of 57 in all: 17.9 GiB counted */
    assert_in_range(of_seven[0], 17LL << 30, 19LL << 30);
}

static void one_rank_sends_nothing(void **state)
{
    dit_facts facts = flux_facts();
    dit_parallel parallel = mesh(1, 1, 1, 1);
    dit_volume_table table;
    (void)state;
    dit_volume_predict(&parallel, &facts, 0, &table);
    assert_int_equal(dit_volume_total_bytes(&table), 0);
}

static void a_case_document_gives_its_facts(void **state)
{
    static const char text[] =
        "{\"model\":{\"config\":{\"_class_name\":\"FluxTransformer2DModel\",\"num_layers\":19,\"num_single_layers\":38,"
        "\"num_attention_heads\":24,\"attention_head_dim\":128,\"in_channels\":64,\"patch_size\":1},"
        "\"latent\":{\"channels\":16,\"vae_spatial\":8,\"patch\":[2,2]},"
        "\"text\":{\"tokens\":512,\"dim\":4096,\"pooled_dim\":768,\"injection\":\"joint "
        "attention\"},\"guidance\":\"distilled\"},\"run\":{\"height_px\":1024,\"width_px\":512,"
        "\"num_images\":1,\"num_inference_steps\":28}}";
    dit_json doc = {0};
    dit_facts facts;
    (void)state;
    assert_int_equal(dit_json_parse(text, strlen(text), "case", &doc), DIT_OK);
    assert_int_equal(dit_facts_from_case(&doc, doc.root, "", &facts), DIT_OK);
    assert_int_equal(facts.image_tokens, 64 * 32);
    assert_int_equal(facts.token_channels, 64);
    assert_int_equal(facts.layers, 57);
    dit_block_run all = dit_facts_blocks(&facts, 0, 57), both = dit_facts_blocks(&facts, 18, 2);
    assert_int_equal(all.sums.image, 38);
    assert_int_equal(all.sums.text, 38);
    assert_int_equal(all.sums.both, 38);
    assert_true(both.count == 2 && both.sums.image == 2 && both.sums.text == 2 && both.sums.both == 1);
    assert_true(facts.joint);
    assert_int_equal(facts.guidance_branches, 1);
    assert_true(facts.parameters > 11500000000LL && facts.parameters < 12300000000LL); /* the card says 11.9e9 */
    dit_json_release(&doc);
}

static void a_cut_model_keeps_only_the_dual_layers_it_has(void **state)
{
    static const char text[] =
        "{\"model\":{\"config\":{\"_class_name\":\"SD3Transformer2DModel\",\"num_layers\":3,\"num_attention_heads\":24,"
        "\"attention_head_dim\":64,\"dual_attention_layers\":[0,1,2,3,4,5]},"
        "\"latent\":{\"channels\":16,\"vae_spatial\":8,\"patch\":[2,2]},"
        "\"text\":{\"tokens\":333,\"injection\":\"joint\"}},\"run\":{\"height_px\":256,\"width_px\":256,"
        "\"num_images\":1,\"num_inference_steps\":28}}";
    dit_json doc = {0};
    dit_facts facts;
    (void)state;
    assert_int_equal(dit_json_parse(text, strlen(text), "case", &doc), DIT_OK);
    assert_int_equal(dit_facts_from_case(&doc, doc.root, "", &facts), DIT_OK);
    assert_int_equal(facts.layers, 3);
    dit_block_run all = dit_facts_blocks(&facts, 0, 3), last = dit_facts_blocks(&facts, 2, 1);
    assert_int_equal(all.image_layers, 3);
    assert_int_equal(all.sums.image, 2 * 3 + 3);
    assert_int_equal(all.sums.text, 2 * 2);
    assert_true(last.image_layers == 1 && last.sums.text == 0); /* the last block's text is not written */
    dit_json_release(&doc);
}

static void the_index_of_a_table_visits_every_place_once(void **state)
{
    dit_volume_table table = {0};
    (void)state;
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i), found;
        DIT_VOLUME_AT(&table, at)->bytes++;
        assert_true(dit_volume_place_from_names(dit_axis_name(at.axis), dit_collective_name(at.collective),
                                                dit_phase_name(at.phase), &found));
        assert_memory_equal(&found, &at, sizeof at);
    }
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++) {
        for (int c = 0; c < DIT_COLLECTIVE_COUNT; c++)
            for (int phase = 0; phase < DIT_PHASE_COUNT; phase++) assert_int_equal(table.at[axis][c][phase].bytes, 1);
    }
}

static void names_of_no_place_are_not_found(void **state)
{
    dit_volume_place at;
    (void)state;
    assert_false(dit_volume_place_from_names("ulises", "all_to_all", "step", &at));
    assert_false(dit_volume_place_from_names("ulysses", "all_to_none", "step", &at));
    assert_false(dit_volume_place_from_names("ulysses", "all_to_all", NULL, &at));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_has_its_own_coordinates),
        cmocka_unit_test(ulysses_varies_fastest_then_ring_then_cfg_then_data),
        cmocka_unit_test(groups_of_an_axis_partition_the_world),
        cmocka_unit_test(labels_name_what_is_above_one),
        cmocka_unit_test(a_mesh_prints_who_works_with_whom),
        cmocka_unit_test(broken_rules_are_refused_by_their_code),
        cmocka_unit_test(stages_go_with_every_other_axis_but_patches),
        cmocka_unit_test(listed_stages_have_all_blocks_between_them),
        cmocka_unit_test(settings_of_displaced_methods_have_ranges),
        cmocka_unit_test(frames_are_cut_one_by_one),
        cmocka_unit_test(rows_are_shared_by_all_ranks_of_any_mesh),
        cmocka_unit_test(patches_that_see_a_part_keep_the_text_whole),
        cmocka_unit_test(joint_text_splits_only_where_it_divides),
        cmocka_unit_test(ulysses_and_ring_follow_the_published_formulas),
        cmocka_unit_test(usp_follows_the_published_formula),
        cmocka_unit_test(tensor_ranks_follow_the_published_formula),
        cmocka_unit_test(joint_blocks_sum_their_text_with_the_image),
        cmocka_unit_test(norms_over_all_heads_send_their_squares),
        cmocka_unit_test(weights_shrink_with_tensor_ranks),
        cmocka_unit_test(replicated_text_is_gathered_and_never_sent_as_keys),
        cmocka_unit_test(cfg_parallel_sends_one_latent_a_step),
        cmocka_unit_test(pipelines_send_their_stream_whatever_the_depth),
        cmocka_unit_test(streams_of_joint_models_carry_the_text),
        cmocka_unit_test(pipelines_send_a_fraction_of_a_ring),
        cmocka_unit_test(a_fill_is_sent_but_not_counted_as_a_step),
        cmocka_unit_test(ulysses_in_a_pipeline_sends_the_same_bytes),
        cmocka_unit_test(a_ring_in_a_pipeline_sends_once_a_band),
        cmocka_unit_test(skips_between_stages_grow_with_the_depth),
        cmocka_unit_test(skips_within_a_stage_are_not_sent),
        cmocka_unit_test(distrifusion_follows_the_published_formula),
        cmocka_unit_test(pcpp_sends_a_fraction_of_distrifusion),
        cmocka_unit_test(pcpp_saves_seventy_percent),
        cmocka_unit_test(naive_patches_send_nothing_when_stale),
        cmocka_unit_test(patches_send_the_text_only_where_it_is_split),
        cmocka_unit_test(stages_and_patches_keep_the_published_memory),
        cmocka_unit_test(memory_is_that_of_the_heaviest_stage),
        cmocka_unit_test(one_rank_sends_nothing),
        cmocka_unit_test(a_case_document_gives_its_facts),
        cmocka_unit_test(a_cut_model_keeps_only_the_dual_layers_it_has),
        cmocka_unit_test(the_index_of_a_table_visits_every_place_once),
        cmocka_unit_test(names_of_no_place_are_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
