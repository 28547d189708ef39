/* Noise of PyTorch's generators as diffusers' pipelines draw it: in the layout of the pipeline, for all images or for each, and
 * on from step to step. */
#include "base/torch_random.h"
#include "engine/sampling/torch_noise.h"

#include "base/tests/test.h"

enum {
    IMAGES = 2,
    CHANNELS = 3,
    ROWS = 4,
    COLUMNS = 6,
    FRAMES = 2,
    CELLS = FRAMES * ROWS * COLUMNS,
    FLOATS = CHANNELS * CELLS
};

typedef struct {
    dit_runtime rt;
    dit_torch_noise *noise;
} fixture;

static dit_torch_noise_params usual(dit_latent_layout layout)
{
    return (dit_torch_noise_params){.latent = {.channels = CHANNELS,
                                               .vae_spatial = 8,
                                               .vae_temporal = 1,
                                               .patch_t = 1,
                                               .patch = 2,
                                               .frames = FRAMES,
                                               .height = ROWS,
                                               .width = COLUMNS},
                                    .layout = layout,
                                    .images = IMAGES,
                                    .seed = 11};
}

static void open_fixture(fixture *f, const dit_torch_noise_params *params)
{
    *f = (fixture){0};
    dit_arena_init(&f->rt.image, &f->rt.ledger, DIT_MEMORY_STATE);
    assert_ok(dit_torch_noise_create(&f->rt, params, &f->noise));
}

static void close_fixture(fixture *f)
{
    dit_arena_release(&f->rt.image);
}

/* What torch.randn([IMAGES, ...]) gives at the `number`-th draw of a generator, as tokens. */
static void expect(const dit_torch_noise_params *p, int number, float tokens[IMAGES * FLOATS])
{
    dit_torch_generator generator;
    static float planes[IMAGES * FLOATS];
    dit_latent_layout layout = p->layout == DIT_LATENT_PACKED ? DIT_LATENT_CFHW : p->layout;
    dit_torch_seed(&generator, p->seed);
    for (int i = 0; i < number; i++) dit_torch_randn(&generator, IMAGES * FLOATS, planes);
    dit_latent_pack(&p->latent, layout, IMAGES, CHANNELS, planes, tokens);
}

static void assert_image(fixture *f, int step, int image, const float *tokens)
{
    assert_memory_equal(dit_torch_noise_image(f->noise, step, image), tokens + image * FLOATS, FLOATS * sizeof *tokens);
}

static void every_layout_is_drawn_as_its_pipeline_draws_it(void **state)
{
    static const dit_latent_layout layouts[] = {DIT_LATENT_CFHW, DIT_LATENT_FCHW, DIT_LATENT_PACKED};
    float tokens[IMAGES * FLOATS];
    (void)state;
    for (int i = 0; i < 3; i++) {
        dit_torch_noise_params params = usual(layouts[i]);
        fixture f;
        open_fixture(&f, &params);
        expect(&params, 1, tokens);
        for (int image = 0; image < IMAGES; image++) assert_image(&f, -1, image, tokens);
        close_fixture(&f);
    }
}

/* Steps go on where the initial noise ended; going back draws all again. */
static void steps_go_on_with_the_generator(void **state)
{
    static const int steps[] = {-1, 0, 1, 4, 2, -1, 3};
    float tokens[IMAGES * FLOATS];
    dit_torch_noise_params params = usual(DIT_LATENT_CFHW);
    fixture f;
    (void)state;
    open_fixture(&f, &params);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        expect(&params, steps[i] + 2, tokens);
        assert_image(&f, steps[i], 1, tokens);
    }
    close_fixture(&f);
}

/* CogVideoX's DPM draws two tensors at each step after the first, and uses the second, but in the last step. */
static void a_scheduler_may_draw_more_than_it_uses(void **state)
{
    static const int numbers[][2] = {{-1, 1}, {0, 2}, {1, 4}, {2, 6}, {3, 7}};
    float tokens[IMAGES * FLOATS];
    dit_torch_noise_params params = usual(DIT_LATENT_FCHW);
    fixture f;
    (void)state;
    params.step_tensors = 2, params.last_step = 3;
    open_fixture(&f, &params);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        expect(&params, numbers[i][1], tokens);
        assert_image(&f, numbers[i][0], 0, tokens);
    }
    close_fixture(&f);
}

static void a_list_of_generators_draws_each_image_alone(void **state)
{
    float planes[FLOATS], tokens[FLOATS];
    dit_torch_generator generator;
    dit_torch_noise_params params = usual(DIT_LATENT_CFHW);
    fixture f;
    (void)state;
    params.each = true;
    open_fixture(&f, &params);
    for (int image = 0; image < IMAGES; image++) {
        dit_torch_seed(&generator, params.seed + (uint64_t)image);
        dit_torch_randn(&generator, FLOATS, planes);
        dit_latent_pack(&params.latent, DIT_LATENT_CFHW, 1, CHANNELS, planes, tokens);
        assert_memory_equal(dit_torch_noise_image(f.noise, -1, image), tokens, sizeof tokens);
    }
    close_fixture(&f);
}

/* An encoder's sample comes first, and the noise after it. */
static void what_is_drawn_ahead_moves_the_noise(void **state)
{
    static float planes[IMAGES * FLOATS], tokens[IMAGES * FLOATS];
    float ahead[FLOATS];
    dit_torch_generator generator;
    dit_torch_noise_params params = usual(DIT_LATENT_PACKED);
    fixture f;
    (void)state;
    params.ahead = FLOATS;
    open_fixture(&f, &params);
    dit_torch_seed(&generator, params.seed);
    dit_torch_randn(&generator, FLOATS, ahead);
    dit_torch_randn(&generator, IMAGES * FLOATS, planes);
    dit_latent_pack(&params.latent, DIT_LATENT_CFHW, IMAGES, CHANNELS, planes, tokens);
    assert_memory_equal(dit_torch_noise_ahead(f.noise), ahead, sizeof ahead);
    assert_image(&f, -1, 1, tokens);
    assert_memory_equal(dit_torch_noise_ahead(f.noise), ahead, sizeof ahead);
    assert_image(&f, -1, 0, tokens);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_is_drawn_as_its_pipeline_draws_it),
        cmocka_unit_test(steps_go_on_with_the_generator),
        cmocka_unit_test(a_scheduler_may_draw_more_than_it_uses),
        cmocka_unit_test(a_list_of_generators_draws_each_image_alone),
        cmocka_unit_test(what_is_drawn_ahead_moves_the_noise),
    };
    return cmocka_run_group_tests_name("torch noise", tests, NULL, NULL);
}
