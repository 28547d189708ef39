/* What the cost model reads: the shipped accelerators and profiles, and files that it refuses. */
#include "kernels/cost/read.h"

#include "kernels/tests/cost_fixture.h"

/* ---- every file -------------------------------------------------------------------------------------------------- */

static void check_knots(const dit_cost_device *device, const dit_cost_profile *profile)
{
    (void)profile;
    if (device->element_bytes != 2) return; /* the tables are of half precision */
    for (int t = 0; t < device->tables; t++) {
        const dit_cost_attention_table *table = device->attention + t;
        for (int i = 0; i < table->flops_per_s.count; i++) {
            int64_t tokens = (int64_t)table->flops_per_s.x[i], batch = 16384 * 8 / tokens + 1;
            dit_cost_attention a = {.B = batch, .H = 32, .Sq = tokens, .Sk = tokens, .D = table->head_dim, .seen = 1};
            double flops = 4.0 * (double)(a.B * a.H * a.D) * (double)tokens * (double)tokens;
            double rate = flops / (dit_cost_attention_seconds(device, &a) - device->launch_s);
            assert_close(rate, table->flops_per_s.y[i] * device->attention_scale, 1e-9);
        }
    }
}

static void attention_is_its_table_at_the_knots_of_every_accelerator(void **state)
{
    (void)state;
    assert_in_range(each_device(check_knots), 9 * PROFILE_COUNT, 1000);
}

static void the_accelerators_of_the_papers_have_parameters(void **state)
{
    static const char *const names[] = {"a100-sxm-80", "a100-pcie-40", "a100-pcie-80", "h100-sxm-80", "h20",
                                        "l20",         "l40",          "rtx-4090",     "t4",          "v100-sxm-32"};
    dit_cost_profile eager = profile_named("pytorch-eager");
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        dit_cost_device d = device_named(names[i], &eager);
        assert_string_equal(d.name, names[i]);
        double rate = 2.0 * 16384 * 16384 * 16384 / dit_cost_gemm_seconds(&d, 16384, 16384, 16384);
        assert_true(rate < d.peak_flops_per_s * d.gemm_ceiling);
        assert_true(rate > d.peak_flops_per_s * d.gemm_ceiling * 0.95);
    }
}

static void a_profile_reads_the_tables_of_its_kernels(void **state)
{
    dit_cost_profile eager = profile_named("pytorch-eager"), ours = profile_named("ditbench");
    (void)state;
    dit_cost_device flash = device_named("h100-sxm-80", &eager), cudnn = device_named("h100-sxm-80", &ours);
    assert_int_equal(flash.tables, 3);
    assert_close(dit_cost_curve_at(&flash.attention[1].flops_per_s, 4096), 368e12, 0);
    assert_close(dit_cost_curve_at(&cudnn.attention[1].flops_per_s, 4096), 609e12, 0);
    assert_int_equal(device_named("v100-sxm-32", &eager).tables, 1);
    assert_ok(dit_cost_device_read(ACCELERATORS "/a100-sxm-80.json", "fp32", &eager, &flash));
    assert_close(flash.attention_scale, 19.5 / 312, 1e-12);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static const char whole_device[] =
    "{\"schema\":\"ditbench.accelerator/"
    "1\",\"name\":\"d\",\"architecture\":\"a\",\"memory_bytes\":1,\"memory_bandwidth_bytes_per_s\":1e12,"
    "\"streaming_multiprocessors\":8,\"peak_flops_per_s\":{\"fp16\":1e12},\"cost\":{\"gemm_ceiling\":0.5,\"launch_s\":"
    "1e-6,"
    "\"attention\":[{\"kernel\":\"k\",\"head_dim\":64,\"tokens\":[1024,2048],\"flops_per_s\":[1e11,1.2e11]},"
    "{\"kernel\":\"k\",\"head_dim\":128,\"tokens\":[1024],\"flops_per_s\":[1.9e11]}]}}";

/* Reads whole_device with `from` replaced by `to`. */
static dit_status read_changed(const char *from, const char *to, const char *dtype)
{
    char path[TEST_FOLDER], text[2048];
    const char *at = strstr(whole_device, from);
    dit_cost_profile profile = {0};
    dit_cost_device device;
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole_device), whole_device, to, at + strlen(from));
    test_file_make(path, text, strlen(text));
    dit_status st = dit_cost_device_read(path, dtype, &profile, &device);
    unlink(path);
    return st;
}

static void bad_parameters_are_refused_by_name(void **state)
{
    (void)state;
    assert_ok(read_changed("0.5", "0.6", "fp16"));
    assert_int_equal(read_changed("0.5", "1.5", "fp16"), DIT_ERR_JSON_VALUE);
    assert_int_equal(read_changed("\"gemm_ceiling\":0.5,", "", "fp16"), DIT_ERR_JSON_MISSING);
    assert_int_equal(read_changed("launch_s", "lunch_s", "fp16"), DIT_ERR_JSON_UNKNOWN_KEY);
    assert_int_equal(read_changed("accelerator/1", "accelerator/2", "fp16"), DIT_ERR_JSON_VALUE);
    assert_int_equal(read_changed("\"cost\":", "\"costs\":", "fp16"), DIT_ERR_UNSUPPORTED);
    assert_int_equal(read_changed("0.5", "0.6", "bf16"), DIT_ERR_UNSUPPORTED);
    assert_non_null(strstr(dit_error_last()->message, "bf16"));
    assert_int_equal(read_changed("0.5", "0.6", "int3"), DIT_ERR_NOT_FOUND);
    assert_int_equal(read_changed("0.5", "0.6", "tf32"), DIT_ERR_NOT_FOUND);
    assert_int_equal(read_changed("{\"fp16\":1e12}", "{\"fp16\":1e12,\"int8\":1e19}", "fp16"), DIT_ERR_JSON_VALUE);
    assert_int_equal(read_changed("\"memory_bytes\":1,", "", "fp16"), DIT_ERR_JSON_MISSING);
    assert_int_equal(read_changed("\"memory_bytes\":1,", "\"memory_bytes\":1e16,", "fp16"), DIT_ERR_JSON_VALUE);
    assert_int_equal(read_changed("\"kernel\":\"k\",\"head_dim\":64", "\"head_dim\":64", "fp16"), DIT_ERR_JSON_MISSING);
    assert_int_equal(read_changed("[1024,2048]", "[2048,1024]", "fp16"), DIT_ERR_JSON_VALUE);
    assert_int_equal(read_changed("[1024,2048]", "[1024]", "fp16"), DIT_ERR_JSON_VALUE);
    assert_int_equal(read_changed("1.2e11", "1.8e11", "fp16"), DIT_ERR_JSON_VALUE); /* time would fall */
    assert_int_equal(read_changed("1.9e11", "2.1e11", "fp16"), DIT_ERR_JSON_VALUE); /* over heads, too */
    assert_int_equal(read_changed("1.9e11", "\"fast\"", "fp16"), DIT_ERR_JSON_TYPE);
}

static void a_profile_must_say_every_part(void **state)
{
    dit_cost_profile profile;
    (void)state;
    assert_int_equal(dit_cost_profile_read(ACCELERATORS "/a100-sxm-80.json", &profile), DIT_ERR_JSON_VALUE);
    assert_int_equal(dit_cost_profile_read(PROFILES "/nobody.json", &profile), DIT_ERR_IO);
    profile = profile_named("ditbench");
    assert_string_equal(profile.name, "ditbench");
    assert_true(profile.packed_linear);
}

/* Reads the eager profile of 2025 with `from` replaced by `to`, from another folder. */
static dit_status read_profile_changed(const char *from, const char *to, dit_cost_profile *out)
{
    char path[TEST_FOLDER], *text = test_file_read(PROFILES "/pytorch-eager-2025.json", NULL), changed[16384];
    const char *at = strstr(text, from);
    assert_non_null(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    char *wrapper = strstr(changed, "  \"wrapper\": \"xdit");
    if (wrapper) memset(wrapper, ' ', strcspn(wrapper, "\n")); /* it is not beside the changed file */
    test_file_make(path, changed, strlen(changed));
    dit_status st = dit_cost_profile_read(path, out);
    unlink(path);
    free(text);
    return st;
}

static void a_profile_finds_its_census_beside_it_or_by_its_path(void **state)
{
    dit_cost_profile profile = profile_named("pytorch-eager-2025");
    (void)state;
    assert_string_equal(profile.census, PROFILES "/census/diffusers-0.33.1");
    assert_false(profile.rule.chains);
    assert_true(profile_named("torch-compile-2024").rule.chains);
    assert_true(profile.view_dispatch_s > 0 && profile.view_dispatch_s < profile.dispatch_s);
    assert_int_equal(read_profile_changed("\"name\"", "\"name\"", &profile), DIT_ERR_NOT_FOUND);
    assert_ok(read_profile_changed("\"diffusers-0.33.1\"", "\"" PROFILES "/census/diffusers-0.33.1\"", &profile));
    assert_string_equal(profile.census, PROFILES "/census/diffusers-0.33.1");
    assert_int_equal(read_profile_changed("\"norm_row_s\": 1.4e-07", "\"norm_row_s\": -1", &profile),
                     DIT_ERR_JSON_VALUE);
    assert_string_equal(profile_named("pytorch-eager").census, "");
}

static void a_profile_finds_its_wrapper_as_it_does_its_census(void **state)
{
    dit_cost_profile profile = profile_named("pytorch-eager-2025");
    (void)state;
    assert_string_equal(profile.wrapper, PROFILES "/wrappers/xdit-0.4.json");
    assert_ok(read_profile_changed(
        "\"diffusers-0.33.1\"",
        "\"" PROFILES "/census/diffusers-0.33.1\",\"wrapper\":\"" PROFILES "/wrappers/xdit-0.3.json\"", &profile));
    assert_string_equal(profile.wrapper, PROFILES "/wrappers/xdit-0.3.json");
    assert_int_equal(read_profile_changed("\"diffusers-0.33.1\"",
                                          "\"" PROFILES "/census/diffusers-0.33.1\",\"wrapper\":\"none\"", &profile),
                     DIT_ERR_NOT_FOUND);
    assert_string_equal(profile_named("pytorch-eager").wrapper, "");
}

/* But those that extend another, which the suite merges first. */
static void every_shipped_profile_is_read(void **state)
{
    DIR *folder = opendir(PROFILES);
    int count = 0;
    (void)state;
    assert_non_null(folder);
    for (struct dirent *one; (one = readdir(folder));) {
        char path[512], *text, *ending = strstr(one->d_name, ".json");
        dit_cost_profile profile;
        if (!ending) continue;
        snprintf(path, sizeof path, "%s/%s", PROFILES, one->d_name);
        text = test_file_read(path, NULL);
        bool extends = strstr(text, "\"extends\"") != NULL;
        free(text);
        if (extends) continue;
        assert_ok(dit_cost_profile_read(path, &profile));
        count++;
    }
    closedir(folder);
    assert_in_range(count, 5, 1000);
}

/* The clocks that data sheets call boost, from their fp32 rates. */
static void a_clock_follows_from_the_rate_of_fp32(void **state)
{
    static const struct {
        const char *name;
        double hz;
    } rows[] = {
        {"a100-sxm-80", 1.41e9}, {"h100-sxm-80", 1.98e9}, {"l40", 2.49e9}, {"t4", 1.59e9}, {"v100-sxm-32", 1.53e9}};
    dit_cost_profile eager = profile_named("pytorch-eager");
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_close(device_named(rows[i].name, &eager).clock_hz, rows[i].hz, 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_follows_from_the_rate_of_fp32),
        cmocka_unit_test(attention_is_its_table_at_the_knots_of_every_accelerator),
        cmocka_unit_test(the_accelerators_of_the_papers_have_parameters),
        cmocka_unit_test(a_profile_reads_the_tables_of_its_kernels),
        cmocka_unit_test(bad_parameters_are_refused_by_name),
        cmocka_unit_test(a_profile_must_say_every_part),
        cmocka_unit_test(a_profile_finds_its_census_beside_it_or_by_its_path),
        cmocka_unit_test(a_profile_finds_its_wrapper_as_it_does_its_census),
        cmocka_unit_test(every_shipped_profile_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
