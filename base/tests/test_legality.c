/* Which configurations are legal, and by which code the others are refused. */
#include "base/legality.h"
#include "base/patches.h"

#include "base/tests/mesh_fixture.h"

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

static void ring_methods_need_a_ring_and_inner_rings_that_divide_it(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel none = mesh(2, 1, 1, 1), ring = mesh(1, 4, 1, 1);
    (void)state;
    none.ring_method = DIT_RING_GATHER, ring.ring_method = DIT_RING_DOUBLE;
    expect_refusal(&none, &facts, DIT_ERR_CONSTRAINT_METHOD, "all-gather with ring_degree 1");
    for (ring.inner_ring = 0; ring.inner_ring <= 4; ring.inner_ring++)
        if (ring.inner_ring != 3) assert_int_equal(dit_parallel_check(&ring, &facts), DIT_OK);
    ring.inner_ring = 3;
    expect_refusal(&ring, &facts, DIT_ERR_CONSTRAINT_PRODUCT, "ring_degree 4 not divisible by inner_ring 3");
    ring.inner_ring = 2, ring.ring_method = DIT_RING_MERGE;
    expect_refusal(&ring, &facts, DIT_ERR_CONSTRAINT_METHOD, "inner_ring 2 with ring");
}

static void dsp_needs_frames_that_its_ring_divides(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel dsp = mesh(1, 4, 1, 1);
    (void)state;
    dsp.ring_method = DIT_RING_SWITCH;
    expect_refusal(&dsp, &facts, DIT_ERR_CONSTRAINT_METHOD, "dsp with PixArtTransformer2DModel");
    facts.segments = 16;
    facts.heads = 5; /* a rank has all heads */
    expect_refusal(&dsp, &facts, DIT_OK, "");
    expect_refusal(
        &(dit_parallel){.degree = {[DIT_AXIS_RING] = 2, [DIT_AXIS_PIPEFUSION] = 2}, .ring_method = DIT_RING_SWITCH},
        &facts, DIT_ERR_CONSTRAINT_METHOD, "dsp beside pipefusion_degree 2");
    facts.segments = 2;
    expect_refusal(&dsp, &facts, DIT_ERR_CONSTRAINT_TOKENS, "2 frames not divisible by ring_degree 4 of dsp");
}

/* Sums of a linear attention are over all rows of a step, and convolutions need whole rows of one neighbour. */
static void linear_attention_has_ulysses_or_a_ring_of_whole_rows(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel both = mesh(2, 2, 1, 1), gather = mesh(1, 2, 1, 1), wide = mesh(8, 1, 1, 1), tensor = mesh(1, 1, 1, 1);
    (void)state;
    facts.linear_attention = true, facts.halo_channels = 12, facts.heads = 10;
    facts.latent = (dit_latent){.height = 8, .width = 8, .patch = 1};
    gather.ring_method = DIT_RING_GATHER, tensor.degree[DIT_AXIS_TENSOR] = 5;
    expect_refusal(&wide, &facts, DIT_OK, ""); /* more ranks than divide the heads */
    expect_refusal(&both, &facts, DIT_ERR_CONSTRAINT_METHOD, "ulysses_degree 2 beside ring_degree 2");
    expect_refusal(&gather, &facts, DIT_ERR_CONSTRAINT_METHOD, "all-gather with");
    expect_refusal(&tensor, &facts, DIT_ERR_CONSTRAINT_DEGREE, "6 channels not divisible by tensor_degree 5");
    expect_refusal(&(dit_parallel){.degree = {[DIT_AXIS_PIPEFUSION] = 2}}, &facts, DIT_ERR_CONSTRAINT_METHOD,
                   "pipefusion_degree 2 with");
    expect_refusal(&(dit_parallel){.degree = {[DIT_AXIS_PATCH] = 2}}, &facts, DIT_ERR_CONSTRAINT_METHOD,
                   "distrifusion with");
    facts.latent.height = 12;
    expect_refusal(&wide, &facts, DIT_ERR_CONSTRAINT_TOKENS,
                   "12 rows of tokens not divisible by ring_degree x "
                   "ulysses_degree 8");
}

static void an_unsaid_inner_ring_is_as_even_as_the_ring_allows(void **state)
{
    static const int inner[][2] = {{1, 1}, {2, 1}, {4, 2}, {6, 2}, {7, 1}, {8, 2}, {12, 3}, {16, 4}, {36, 6}};
    (void)state;
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
        dit_parallel parallel = mesh(1, inner[i][0], 1, 1);
        assert_int_equal(dit_parallel_inner_ring(&parallel), inner[i][0]); /* a plain ring is one inner ring */
        parallel.ring_method = DIT_RING_DOUBLE;
        assert_int_equal(dit_parallel_inner_ring(&parallel), inner[i][1]);
        parallel.inner_ring = inner[i][0];
        assert_int_equal(dit_parallel_inner_ring(&parallel), inner[i][0]);
    }
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
        {{10, 10, 7}, DIT_ERR_CONSTRAINT_STAGES, "27 blocks together, but PixArtTransformer2DModel has 28"},
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

static void stale_steps_need_one_transformer(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel stages = with_stages(mesh(1, 1, 1, 1), 2), exact = mesh(2, 1, 2, 1);
    dit_parallel patches = with_patches(mesh(1, 1, 1, 1), 2, DIT_PATCH_NAIVE);
    (void)state;
    facts.two_transformers = true;
    stages.warmup_steps = patches.warmup_steps = 1;
    expect_refusal(&exact, &facts, DIT_OK, "");
    expect_refusal(&stages, &facts, DIT_ERR_CONSTRAINT_METHOD, "two transformers");
    expect_refusal(&patches, &facts, DIT_ERR_CONSTRAINT_METHOD, "two transformers");
    stages.warmup_steps = (int)facts.steps;
    expect_refusal(&stages, &facts, DIT_OK, "");
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

static void shards_lie_over_ranks_of_equal_weights(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel stages = with_stages(mesh(2, 1, 2, 1), 2);
    (void)state;
    assert_int_equal(dit_parallel_equal_ranks(&stages), 4);
    for (stages.fsdp_degree = 1; stages.fsdp_degree <= 4; stages.fsdp_degree *= 2)
        expect_refusal(&stages, &facts, DIT_OK, "");
    expect_refusal(&stages, &facts, DIT_ERR_CONSTRAINT_PRODUCT, "fsdp_degree 8 does not divide the 4 ranks");
    stages.fsdp_degree = 3;
    expect_refusal(&stages, &facts, DIT_ERR_CONSTRAINT_PRODUCT, "fsdp_degree 3");
    stages.fsdp_degree = 2;
    facts.two_transformers = true;
    stages.warmup_steps = (int)facts.steps;
    expect_refusal(&stages, &facts, DIT_ERR_CONSTRAINT_METHOD, "two transformers");
}

/* Video-Infinity cuts a clip between frames, and a halo reaches the neighbour alone. */
static void runs_of_frames_are_equal_and_see_their_neighbours(void **state)
{
    dit_facts clip = flux_facts(), picture = flux_facts();
    const dit_parallel one = mesh(1, 1, 1, 1), patches = with_patches(one, 4, DIT_PATCH_FRAMES);
    struct {
        int degree, halo, global;
        dit_status expected;
        const char *words;
    } cases[] = {
        {4, 0, 0, DIT_OK, ""},
        {4, 3, 12, DIT_OK, ""},
        {12, 1, 12, DIT_OK, ""},
        {5, 0, 0, DIT_ERR_CONSTRAINT_TOKENS, "12 frames of tokens not divisible by patch_degree 5 (video-infinity)"},
        {4, 4, 0, DIT_ERR_CONSTRAINT_DEGREE, "halo_frames 4 is not in [0, 3]"},
        {4, -1, 0, DIT_ERR_CONSTRAINT_DEGREE, "halo_frames -1"},
        {4, 0, 6, DIT_ERR_CONSTRAINT_DEGREE, "global_frames 6 is no multiple of patch_degree 4"},
        {4, 0, 16, DIT_ERR_CONSTRAINT_DEGREE, "up to 12, all frames"},
    };
    (void)state;
    clip.latent.patch_t = 2, clip.latent.frames = 24;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dit_parallel parallel = with_patches(one, cases[i].degree, DIT_PATCH_FRAMES);
        parallel.halo_frames = cases[i].halo, parallel.global_frames = cases[i].global;
        expect_refusal(&parallel, &clip, cases[i].expected, cases[i].words);
    }
    expect_refusal(&patches, &picture, DIT_ERR_CONSTRAINT_METHOD, "video-infinity cuts a clip by frames");
    clip.two_transformers = true; /* K and V are those of this step */
    expect_refusal(&patches, &clip, DIT_OK, "");
    clip.reference_tokens = 48;
    expect_refusal(&patches, &clip, DIT_ERR_CONSTRAINT_METHOD, "48 tokens of a reference belong to no frame");
}

/* With PCPP and naive patch a rank sees of the others a part or nothing, so it needs all of the text itself. */
static void patches_that_see_a_part_keep_the_text_whole(void **state)
{
    dit_facts facts = flux_facts();
    (void)state;
    facts.latent.patch_t = 1, facts.latent.frames = 4;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_rules_are_refused_by_their_code),
        cmocka_unit_test(ring_methods_need_a_ring_and_inner_rings_that_divide_it),
        cmocka_unit_test(dsp_needs_frames_that_its_ring_divides),
        cmocka_unit_test(linear_attention_has_ulysses_or_a_ring_of_whole_rows),
        cmocka_unit_test(an_unsaid_inner_ring_is_as_even_as_the_ring_allows),
        cmocka_unit_test(stages_go_with_every_other_axis_but_patches),
        cmocka_unit_test(listed_stages_have_all_blocks_between_them),
        cmocka_unit_test(settings_of_displaced_methods_have_ranges),
        cmocka_unit_test(stale_steps_need_one_transformer),
        cmocka_unit_test(frames_are_cut_one_by_one),
        cmocka_unit_test(rows_are_shared_by_all_ranks_of_any_mesh),
        cmocka_unit_test(shards_lie_over_ranks_of_equal_weights),
        cmocka_unit_test(runs_of_frames_are_equal_and_see_their_neighbours),
        cmocka_unit_test(patches_that_see_a_part_keep_the_text_whole),
        cmocka_unit_test(joint_text_splits_only_where_it_divides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
