/* Schedules of betas against their formulas. */
#include "engine/schedulers/betas.h"

#include "engine/tests/solver_fixture.h"

static const scheduler_beta_rules image_rules = {.schedule = "linear", .start = 0.0001, .end = 0.02};
static const scheduler_beta_rules video_rules = {
    .schedule = "scaled_linear", .start = 0.00085, .end = 0.012, .video = true};

static void read_betas(const scheduler_beta_rules *rules, const char *config, scheduler_betas *betas)
{
    fixture f;
    open_fixture(&f, "ref", config);
    dit_scheduler_params params = {.rt = &f.rt, .doc = &f.config, .config = f.config.root, .pointer = "", .steps = 1};
    assert_int_equal(scheduler_betas_read(&params, rules, betas), DIT_OK);
    close_fixture(&f);
}

static void schedules_are_their_formulas(void **state)
{
    scheduler_betas linear, cosine, video;
    (void)state;
    read_betas(&image_rules, "{}", &linear);
    read_betas(&image_rules, "{\"beta_schedule\":\"squaredcos_cap_v2\"}", &cosine);
    read_betas(&video_rules, "{\"rescale_betas_zero_snr\":true}", &video);
    for (int t = 0; t < TRAIN - 10; t += 37) { /* the last cosine betas are cut at 0.999 */
        double angle = ((t + 1.0) / TRAIN + 0.008) / 1.008 * acos(0.0), start = cos(0.008 / 1.008 * acos(0.0));
        assert_close(linear.product[t], linear_product(t), 2e-5);
        assert_close(cosine.product[t], pow(cos(angle) / start, 2), 2e-5);
        assert_close(video.product[t], video_product(t, 3.0), 1e-12);
    }
    scheduler_betas_release(&linear);
    scheduler_betas_release(&cosine);
    scheduler_betas_release(&video);
}

static void zero_terminal_snr_takes_the_last_signal_and_keeps_the_first(void **state)
{
    scheduler_betas plain, rescaled, positive;
    scheduler_beta_rules rules = image_rules;
    (void)state;
    rules.positive_signal = true;
    read_betas(&image_rules, "{}", &plain);
    read_betas(&image_rules, "{\"rescale_betas_zero_snr\":true}", &rescaled);
    read_betas(&rules, "{\"rescale_betas_zero_snr\":true}", &positive);
    assert_close(rescaled.product[0], plain.product[0], 1e-6);
    assert_true(rescaled.product[TRAIN - 1] == 0.0);
    assert_true(positive.product[TRAIN - 1] == 0x1p-24);
    double last = sqrt(plain.product[TRAIN - 1]), first = sqrt(plain.product[0]);
    assert_close(sqrt(rescaled.product[500]), (sqrt(plain.product[500]) - last) * first / (first - last), 2e-5);
    scheduler_betas_release(&plain);
    scheduler_betas_release(&rescaled);
    scheduler_betas_release(&positive);
}

static void trained_betas_stand_for_a_schedule(void **state)
{
    scheduler_betas betas;
    (void)state;
    read_betas(&image_rules, "{\"num_train_timesteps\":3,\"trained_betas\":[0.1,0.25,0.5]}", &betas);
    assert_int_equal(betas.count, 3);
    assert_close(betas.product[0], 0.9, 1e-7);
    assert_close(betas.product[1], 0.9 * 0.75, 1e-7);
    assert_close(betas.product[2], 0.9 * 0.75 * 0.5, 1e-7);
    scheduler_betas_release(&betas);
}

/* With the cosine schedule lambda falls below -5.1 for the last timesteps, where the solver should not begin. */
static void lambda_min_clipped_starts_lower(void **state)
{
    static const char config[] = "{\"_class_name\":\"DPMSolverMultistepScheduler\",\"beta_schedule\":"
                                 "\"squaredcos_cap_v2\",\"lambda_min_clipped\":-5.1}";
    fixture f;
    int64_t end = 0;
    (void)state;
    for (int64_t t = 0; t < TRAIN; t++) {
        double root = cos(((t + 1.0) / TRAIN + 0.008) / 1.008 * acos(0.0)) / cos(0.008 / 1.008 * acos(0.0));
        if (0.5 * log(root * root / (1.0 - root * root)) >= -5.1) end = t + 1;
    }
    open_fixture(&f, "ref", config);
    dit_scheduler *scheduler = create(&f, 10, 4, 0);
    assert_true(end > 900 && end < TRAIN);
    assert_true(scheduler->timesteps[0] == (float)(end - 1));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_are_their_formulas),
        cmocka_unit_test(zero_terminal_snr_takes_the_last_signal_and_keeps_the_first),
        cmocka_unit_test(trained_betas_stand_for_a_schedule),
        cmocka_unit_test(lambda_min_clipped_starts_lower),
    };
    return RUN_ON_EACH_ISA(tests, NULL, NULL);
}
