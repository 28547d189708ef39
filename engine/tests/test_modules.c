/* What a cache of modules keeps and gives: a model whose blocks only pass on what the cache gives them, so that outputs are
 * those of a formula. Forecasts continue polynomials of their order; memory that nobody wrote is never read; outputs that no
 * later step takes are not kept. */
#include "engine/cache/cache.h"
#include "engine/models/modules.h"

#include "engine/tests/cache_fixture.h"

enum { STEPS = 12, LAYERS = 2, WIDTH = 8, ROWS = 3, ELEMENTS = ROWS * WIDTH };

typedef struct {
    dit_runtime rt;
    dit_model model;
    dit_cache_run *cache;
    int power;                            /* of the polynomial in the number of the step         */
    bool poisoned;                        /* outputs are NaN                           */
    dit_module kind;                      /* of the blocks' only module                */
    bool computed[STEPS], watched[STEPS]; /* by the last block                         */
    float given[STEPS][LAYERS][ELEMENTS]; /* what is added, where a block is watched   */
} fixture;

static fixture *now; /* model operations get no context of the test */

/* ---- the model --------------------------------------------------------------------------------------------------- */

static float output_of(int step, int64_t block, int i)
{
    double value = 1 + (double)block + i;
    if (now->poisoned) return NAN;
    for (int power = 1; power <= now->power; power++) value += (i - 3.0 * power) * pow(step / 4.0, power);
    return (float)value;
}

static dit_status run_block(dit_model *model, int64_t index)
{
    struct dit_module_watch *watch = model->modules;
    const module_at at = {index, now->kind, MODULE_IMAGE};
    const int step = model->window.step;
    const float *output;
    bool taken = module_is_taken(model, at.kind);
    now->computed[step] = !taken, now->watched[step] = watch != NULL;
    if (!watch) return DIT_OK;
    float *place = taken ? NULL : watch->place(watch, &at, ELEMENTS);
    for (int i = 0; i < ELEMENTS && place; i++) place[i] = output_of(step, index, i);
    DIT_TRY(watch->settle(watch, &at, ELEMENTS, &output));
    memcpy(now->given[step][index], output, sizeof now->given[step][index]);
    return DIT_OK;
}

static dit_status do_nothing(dit_model *model, const float *input)
{
    (void)model, (void)input;
    return DIT_OK;
}

static dit_status head(dit_model *model, float *output)
{
    (void)model, (void)output;
    return DIT_OK;
}

static const dit_model_ops ops = {.begin = do_nothing, .embed = do_nothing, .block = run_block, .head = head};

/* ---- fixture ----------------------------------------------------------------------------------------------------- */

static dit_cache cache_of(const char *text)
{
    return cache_of_steps(text, STEPS);
}

static void open_runtime(dit_runtime *rt)
{
    const dit_block_run block = {.sums = {.image = 1},
                                 .modules = {[DIT_MODULE_ATTENTION] = {.image = 1}, [DIT_MODULE_MLP] = {.image = 1}}};
    const dit_facts facts = {.heads = 1, .head_dim = WIDTH, .image_tokens = ROWS, .num_images = 1, .steps = STEPS};
    open_lone_runtime(rt, &facts, LAYERS, &block);
}

static fixture *open_fixture(const char *cache_text, int power)
{
    fixture *f = now = calloc(1, sizeof *f);
    dit_cache cache = cache_of(cache_text);
    assert_non_null(f);
    open_runtime(&f->rt);
    f->power = power, f->kind = cache.ranges[DIT_MODULE_ATTENTION] ? DIT_MODULE_ATTENTION : DIT_MODULE_MLP;
    f->model = (dit_model){.ops = &ops, .width = WIDTH};
    f->model.params = (dit_model_params){.rt = &f->rt, .stage = {.blocks = {0, LAYERS}, .first = true, .last = true}};
    f->model.params.partition = (dit_partition){
        .batch = 1, .images = 1, .branches = 1, .image_count = ROWS, .segments = 1, .segment_count = ROWS};
    assert_ok(dit_cache_create(&f->model, &cache, STEPS, &f->cache));
    return f;
}

static void run_all(fixture *f)
{
    dit_cache_reset(f->cache);
    for (int step = 0; step < STEPS; step++) assert_ok(dit_cache_forward(f->cache, &(dit_forward_args){.step = step}));
}

static void close_fixture(fixture *f)
{
    dit_runtime_release(&f->rt);
    free(f);
}

/* Returns the largest distance of what was given to the model's own output. */
static double worst(const fixture *f)
{
    double most = 0;
    for (int step = 0; step < STEPS; step++)
        for (int64_t block = 0; block < LAYERS && f->watched[step]; block++)
            for (int i = 0; i < ELEMENTS; i++) {
                double off = fabs((double)f->given[step][block][i] - (double)output_of(step, block, i));
                if (!(off <= most)) most = isnan(off) ? INFINITY : off;
            }
    return most;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* Constants and lines are continued exactly. Slopes are those between computed steps and not at the newest one, so of
 * parabolas order 2 is only nearer than order 1. */
static void forecasts_continue_polynomials(void **state)
{
    static const char *const orders[] = {
        "{\"policy\":\"fora\",\"interval\":4}",
        "{\"policy\":\"taylorseer\",\"interval\":4,\"warmup\":3}",
        "{\"policy\":\"taylorseer\",\"interval\":4,\"warmup\":3,\"forecast\":{\"kind\":\"taylor\",\"order\":2}}",
    };
    double off[3][3];
    (void)state;
    for (int order = 0; order < 3; order++)
        for (int power = 0; power < 3; power++) {
            fixture *f = open_fixture(orders[order], power);
            run_all(f);
            off[order][power] = worst(f);
            close_fixture(f);
        }
    for (int order = 0; order < 3; order++) assert_true(off[order][0] < 1e-5);
    assert_true(off[1][1] < 1e-4 && off[2][1] < 1e-4);
    assert_true(off[0][1] > 0.1 && off[0][2] > off[1][2] && off[1][2] > off[2][2]);
}

/* Fastercache goes on by its weight times the newest change, and takes that for a change of the stream's own. */
static void rolling_outputs_go_on_from_the_newest(void **state)
{
    static const float timesteps[STEPS] = {999, 950, 800, 700, 600, 500, 400, 300, 200, 100, 50, 1};
    fixture *f = open_fixture("{\"policy\":\"fastercache\",\"attention\":3,\"timesteps\":[-1,900],\"weight\":1}", 1);
    (void)state;
    dit_cache_set_timesteps(f->cache, timesteps);
    f->poisoned = true;
    run_all(f);
    f->poisoned = false;
    run_all(f);
    for (int step = 0; step < STEPS; step++) assert_int_equal(f->computed[step], step < 2 || step % 3 == 0);
    assert_true(worst(f) < 1e-4); /* a line goes on by the whole of its newest change */
    close_fixture(f);
    f = open_fixture("{\"policy\":\"fastercache\",\"attention\":3,\"timesteps\":[-1,900],\"weight\":0.5}", 1);
    dit_cache_set_timesteps(f->cache, timesteps);
    run_all(f);
    double rise = (double)output_of(1, 0, 0) - output_of(0, 0, 0);
    assert_float_equal(f->given[2][0][0], output_of(1, 0, 0) + 0.5 * rise, 1e-5);
    assert_float_equal(f->given[5][0][0], f->given[4][0][0] + 0.5 * (f->given[4][0][0] - f->given[3][0][0]), 1e-5);
    close_fixture(f);
}

/* Each step's modules are held, and steps that nobody takes from are not watched. */
static void only_what_is_taken_later_is_kept(void **state)
{
    fixture *f = open_fixture("{\"policy\":\"fora\",\"interval\":5,\"force\":[1]}", 1);
    (void)state;
    run_all(f);
    for (int step = 0; step < STEPS; step++) {
        bool computed = step == 0 || step == 1 || step == 5 || step == 10 || step == 11;
        assert_int_equal(f->computed[step], computed);
        assert_int_equal(f->watched[step], step != 0 && step != 10 && step != 11);
        int from = step < 5 ? 1 : 5;
        for (int i = 0; i < ELEMENTS && f->watched[step]; i++)
            assert_true(f->given[step][1][i] == output_of(from, 1, i));
    }
    close_fixture(f);
    f = open_fixture("{\"policy\":\"fora\",\"interval\":1}", 1);
    run_all(f);
    for (int step = 0; step < STEPS; step++) assert_true(f->computed[step] && !f->watched[step]);
    close_fixture(f);
}

/* An earlier request leaves NaN in everything that is kept. */
static void poisoned_memory_is_never_given(void **state)
{
    static const char *const texts[] = {
        "{\"policy\":\"fora\",\"interval\":4}",
        "{\"policy\":\"taylorseer\",\"interval\":3,\"warmup\":0}",
        "{\"policy\":\"taylorseer\",\"interval\":3,\"warmup\":1,\"forecast\":{\"kind\":\"taylor\",\"order\":2}}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fixture *f = open_fixture(texts[i], 0);
        f->poisoned = true;
        run_all(f);
        assert_true(isnan(f->given[STEPS - 2][0][0]));
        f->poisoned = false;
        run_all(f);
        assert_true(worst(f) < 1e-5);
        close_fixture(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forecasts_continue_polynomials),
        cmocka_unit_test(only_what_is_taken_later_is_kept),
        cmocka_unit_test(poisoned_memory_is_never_given),
        cmocka_unit_test(rolling_outputs_go_on_from_the_newest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
