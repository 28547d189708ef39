/* The VAE of a simulated request, without SimGrid: which of its configs are left out, and which are mistakes. */
#include "engine/sim/serial.h"

#include "base/tests/test.h"

static double clock_s;

static double now_s(void)
{
    return clock_s;
}

static void pass(double seconds)
{
    clock_s += seconds;
}

static double bandwidth(const char *from, const char *to)
{
    (void)from, (void)to;
    return 0;
}

static const dit_sim_grid grid = {.now_s = now_s, .pass = pass, .bandwidth = bandwidth};

/* Charges a request of so many images with a profile; `measure` and `members` are the case's. */
static dit_status charged(const char *profile, int64_t images, const char *measure, const char *members,
                          dit_sim_serial *out)
{
    char text[2048];
    dit_json doc;
    dit_sim *sim;
    dit_case kase = {.num_images = images, .num_frames = 1, .scope = DIT_SCOPE_PIPELINE};
    clock_s = 0;
    snprintf(text, sizeof text,
             "{\"simulation\":{\"accelerator\":\"%s/workloads/accelerators/a100-sxm-80.json\","
             "\"profile\":\"%s/workloads/profiles/%s.json\",\"element\":\"fp16\",\"inside\":\"nvlink\","
             "\"nvswitch\":true,\"devices_per_node\":8,\"bandwidth_bytes_per_s\":200e9},"
             "\"run\":{\"num_images\":%lld},\"measure\":{\"scope\":\"pipeline\"%s},%s}",
             DITBENCH_SOURCE_DIR, DITBENCH_SOURCE_DIR, profile, (long long)images, measure, members);
    assert_ok(dit_json_parse(text, strlen(text), "case", &doc));
    kase.vae = dit_json_member(doc.root, "vae");
    assert_ok(dit_sim_create(&grid, &sim));
    assert_ok(dit_sim_read(sim, &doc, 1));
    dit_error_clear();
    dit_status st = dit_sim_serial_run(sim, &doc, &kase, out);
    dit_sim_free(sim);
    dit_json_release(&doc);
    return st;
}

/* Charges a request whose VAE has this config, with software that lists its operators by hand. */
static dit_status serial_of(const char *config, dit_sim_serial *out)
{
    char members[1024];
    snprintf(members, sizeof members, "\"vae\":{\"config\":%s}", config);
    return charged("pytorch-eager", 1, "", members, out);
}

/* Prompts of a batch that differ are computed each, in one call: the host issues it once. */
static void text_encoders_compute_each_prompt(void **state)
{
    static const char t5[] =
        "\"text_encoders\":[{\"name\":\"t5-xxl\",\"layers\":24,\"width\":4096,\"heads\":64,\"head_dim\":64,"
        "\"feed_forward\":10240,\"gated\":true,\"tokens\":512,\"runs\":1}]";
    static const char differ[] = ",\"prompts_differ\":true";
    dit_sim_serial one, same, each, twice;
    (void)state;
    assert_ok(charged("pytorch-eager-2025", 1, differ, t5, &one));
    assert_ok(charged("pytorch-eager-2025", 32, "", t5, &same));
    assert_ok(charged("pytorch-eager-2025", 32, differ, t5, &each));
    assert_ok(charged("pytorch-eager-2025", 64, differ, t5, &twice));
    assert_true(one.text_encoder_s > 0 && same.text_encoder_s == one.text_encoder_s);
    assert_true(each.text_encoder_s > 2 * one.text_encoder_s && each.text_encoder_s < 32 * one.text_encoder_s);
    assert_true(twice.text_encoder_s > 1.8 * each.text_encoder_s && twice.text_encoder_s < 2 * each.text_encoder_s);
    assert_int_equal(each.text_encoder_bytes, one.text_encoder_bytes);
    assert_ok(charged("pytorch-eager", 1, differ, t5, &one)); /* nothing is counted: layer by layer */
    assert_ok(charged("pytorch-eager", 4, differ, t5, &each));
    assert_true(each.text_encoder_s > 3.9 * one.text_encoder_s && each.text_encoder_s < 4.1 * one.text_encoder_s);
}

static void a_vae_that_is_not_built_takes_no_time(void **state)
{
    dit_sim_serial out;
    (void)state;
    assert_ok(serial_of("{\"_class_name\":\"AutoencoderOfTomorrow\"}", &out));
    assert_true(out.vae_decode_s == 0 && out.vae_bytes == 0);
    assert_string_equal(dit_error_last()->message, "");
}

static void a_mistake_in_a_vae_that_is_built_is_an_error(void **state)
{
    static const struct {
        const char *config;
        dit_status status;
        const char *words;
    } cases[] = {
        {"{}", DIT_ERR_JSON_MISSING, "_class_name"},
        {"{\"_class_name\":\"AutoencoderKL\",\"latent_channels\":\"many\"}", DIT_ERR_JSON_TYPE, "/vae/config"},
    };
    dit_sim_serial out;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dit_status st = serial_of(cases[i].config, &out);
        if (st != cases[i].status) fail_msg("%s: %s", cases[i].config, dit_status_name(st));
        if (!strstr(dit_error_last()->message, cases[i].words)) fail_msg("%s", dit_error_last()->message);
    }
}

/* In fp16 a rank has half the bytes of fp32. */
static void weights_of_a_vae_are_counted_once(void **state)
{
    const dit_sim_serial serial = {.text_encoder_bytes = 1000, .vae_bytes = 400, .vae_peak_bytes = 600};
    dit_json doc;
    dit_sim *sim;
    char text[1024];
    (void)state;
    snprintf(text, sizeof text,
             "{\"simulation\":{\"accelerator\":\"%s/workloads/accelerators/a100-sxm-80.json\","
             "\"profile\":\"%s/workloads/profiles/pytorch-eager.json\",\"element\":\"fp16\",\"inside\":\"nvlink\","
             "\"nvswitch\":true,\"devices_per_node\":8,\"bandwidth_bytes_per_s\":200e9}}",
             DITBENCH_SOURCE_DIR, DITBENCH_SOURCE_DIR);
    assert_ok(dit_json_parse(text, strlen(text), "case", &doc));
    assert_ok(dit_sim_create(&grid, &sim));
    assert_ok(dit_sim_read(sim, &doc, 1));
    assert_int_equal(dit_sim_serial_weights(sim, &serial), 700);
    assert_int_equal(dit_sim_serial_peak(sim, &serial, 0, 50, 60), 50 + 500 + 300); /* 200 / 2 beside the weights */
    assert_int_equal(dit_sim_serial_peak(sim, &serial, 0, 50, 5000), 5000 + 700);
    assert_int_equal(dit_sim_serial_peak(sim, &serial, 1, 50, 60), 60 + 700);
    dit_sim_free(sim);
    dit_json_release(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_encoders_compute_each_prompt),
        cmocka_unit_test(a_vae_that_is_not_built_takes_no_time),
        cmocka_unit_test(a_mistake_in_a_vae_that_is_built_is_an_error),
        cmocka_unit_test(weights_of_a_vae_are_counted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
