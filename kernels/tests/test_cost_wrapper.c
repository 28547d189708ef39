/* Wrappers: what the shipped files say, what a small one costs, an attention from its begin to its end, and files that
 * are refused. */
#include "kernels/cost/wrapped.h"

#include "kernels/tests/cost_fixture.h"

#define WRAPPERS PROFILES "/wrappers"

/* ---- a small wrapper --------------------------------------------------------------------------------------------- */

static const char whole[] =
    "{\"schema\":\"ditbench.wrapper/1\",\"name\":\"hand\",\"title\":\"t\",\"software\":{\"x\":\"1\"},\"functions\":{"
    "\"long\":{\"ring\":\"messages\",\"events\":{"
    "\"scatter\":{\"views\":3,\"kernels\":[{\"op\":\"copy\",\"calls\":1,\"read\":{\"own\":{\"E\":1}},\"write\":{"
    "\"own\":{"
    "\"E\":1}},\"needs\":\"either\"},{\"op\":\"copy\",\"calls\":1,\"read\":{\"own\":{\"E\":2}},\"needs\":\"batch\"}],"
    "\"at\":\"a\"},"
    "\"gather\":{\"kernels\":[{\"op\":\"copy\",\"calls\":2,\"read\":{\"own\":{\"E\":1}}}],\"at\":\"b\"},"
    "\"call\":{\"views\":2,\"kernels\":[{\"op\":\"to\",\"calls\":1,\"read\":{\"own\":{\"E\":1}},\"write\":{\"fp32\":{"
    "\"E\":1}}}],\"at\":\"c\"},"
    "\"ring\":{\"kernels\":[{\"op\":\"cat\",\"calls\":1,\"read\":{\"own\":{\"K\":2}},\"needs\":\"alone\"}],\"at\":"
    "\"d\"},"
    "\"hop\":{\"kernels\":[{\"op\":\"sub\",\"calls\":1,\"read\":{\"fp32\":{\"E\":3,\"L\":1}}}],\"at\":\"e\"}}},"
    "\"short\":{\"ring\":\"all-gather\",\"events\":{\"scatter\":{\"needs\":\"ranks\",\"views\":1,\"at\":\"f\"}}}},"
    "\"classes\":{\"Even\":{\"self\":\"short\",\"uneven_text\":\"long\",\"cross\":\"short\"},\"Plain\":{\"self\":"
    "\"long\"}},\"source\":[\"hand\"]}";

static dit_status read_changed(const char *from, const char *to, const char *class_name, bool even, dit_wrappers *out)
{
    char path[TEST_FOLDER], text[4096];
    const char *at = strstr(whole, from);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
    test_file_make(path, text, strlen(text));
    dit_status st = dit_wrappers_read(path, class_name, even, out);
    unlink(path);
    return st;
}

static dit_wrappers hand(const char *class_name, bool even)
{
    dit_wrappers wrappers;
    assert_ok(read_changed("hand", "hand", class_name, even, &wrappers));
    return wrappers;
}

static const dit_cost_profile counted = {
    .dispatch_s = 1e-5, .view_dispatch_s = 1e-6, .collective_dispatch_s = 1e-4, .synchronise_s = 0};

static void a_class_has_the_function_that_its_text_asks_for(void **state)
{
    (void)state;
    assert_string_equal(hand("Plain", true).self.name, "long");
    assert_false(hand("Plain", true).crosses);
    assert_string_equal(hand("Even", true).self.name, "short");
    assert_true(hand("Even", true).self.gathers);
    assert_string_equal(hand("Even", false).self.name, "long");
    assert_string_equal(hand("Even", false).cross.name, "short");
    assert_false(hand("Other", true).wraps);
}

/* 1 TB/s and launches of 1 us: a million elements of two bytes take 2 us. */
static void an_event_costs_the_bytes_of_what_it_dispatches(void **state)
{
    dit_cost_device d = round_device();
    dit_wrapper w = hand("Plain", true).self;
    dit_wrapper_size size = {.elements = 1e6, .keys = 5e5, .rows = 1e4};
    (void)state;
    dit_cost_time time = dit_wrapper_time(&w, &d, &counted, DIT_WRAPPER_SCATTER, &size);
    assert_near(time.device_s, 0, 0); /* of one row and one rank nothing moves */
    assert_near(time.host_s, 3e-6, 1e-15);
    size.ranks = true;
    time = dit_wrapper_time(&w, &d, &counted, DIT_WRAPPER_SCATTER, &size);
    assert_near(time.device_s, 1e-6 + 4e-6, 1e-12);
    assert_near(time.host_s, 3e-6 + 1e-5, 1e-12);
    size.batch = true;
    time = dit_wrapper_time(&w, &d, &counted, DIT_WRAPPER_SCATTER, &size);
    assert_near(time.device_s, 2e-6 + 8e-6, 1e-12);
    assert_near(time.kernels, 2, 0);
    assert_near(dit_wrapper_time(&w, &d, &counted, DIT_WRAPPER_RING, &size).kernels, 0, 0);
    size.ranks = false;
    assert_near(dit_wrapper_time(&w, &d, &counted, DIT_WRAPPER_RING, &size).device_s, 1e-6 + 2e-6, 1e-12);
    assert_near(dit_wrapper_time(&w, &d, &counted, DIT_WRAPPER_HOP, &size).device_s, 1e-6 + 4 * (3e6 + 1e4) / 1e12,
                1e-12);
    w = hand("Even", true).self;
    assert_near(dit_wrapper_time(&w, &d, &counted, DIT_WRAPPER_SCATTER, &size).host_s, 0, 0);
    size.ranks = true;
    assert_near(dit_wrapper_time(&w, &d, &counted, DIT_WRAPPER_SCATTER, &size).host_s, 1e-6, 1e-15);
}

/* A cast of a million elements, at 1e9 x 0.01 a second of each of 100 processors; a copy of this file is none of the
 * operators that compute indices. */
static void a_cast_costs_an_index_an_element(void **state)
{
    dit_cost_device d = round_device();
    dit_cost_profile profile = counted;
    dit_wrapper w = hand("Plain", true).self;
    dit_wrapper_size size = {.elements = 1e6, .keys = 5e5, .rows = 1e4, .batch = true, .ranks = true};
    (void)state;
    d.clock_hz = 1e9;
    double copy_s = dit_wrapper_time(&w, &d, &profile, DIT_WRAPPER_SCATTER, &size).device_s;
    assert_near(dit_wrapper_time(&w, &d, &profile, DIT_WRAPPER_CALL, &size).device_s, 1e-6 + 6e-6, 1e-12);
    profile.indexed_elements_per_clock = 0.01;
    assert_near(dit_wrapper_time(&w, &d, &profile, DIT_WRAPPER_CALL, &size).device_s, 1e-6 + 1e-3, 1e-9);
    assert_near(dit_wrapper_time(&w, &d, &profile, DIT_WRAPPER_SCATTER, &size).device_s, copy_s, 0);
}

/* ---- an attention ------------------------------------------------------------------------------------------------ */

static const dit_cost_op copy = {.kind = DIT_COST_OP_COPY, .elements = 1000};
static const dit_cost_op exchange = {.kind = DIT_COST_OP_EXCHANGE, .elements = 1000000};
static const dit_cost_op merge = {.kind = DIT_COST_OP_ATTENTION_MERGE, .elements = 1000000};
static const dit_cost_op block = {.kind = DIT_COST_OP_ATTENTION,
                                  .elements = 1000000,
                                  .attention = {.B = 1, .H = 10, .Sq = 1000, .Sk = 500, .D = 100, .seen = 1}};

static dit_wrapped wrapped_of(const char *class_name, int ulysses, int ring)
{
    return (dit_wrapped){.of = hand(class_name, true), .ulysses = ulysses, .ring = ring, .calls = 1};
}

static double seconds_of(const dit_wrapped *wrapped, const dit_cost_op *op)
{
    dit_cost_device d = round_device();
    dit_cost_time time;
    assert_true(dit_wrapped_op_time(wrapped, &d, &counted, op, &time));
    return time.device_s;
}

static void the_librarys_copies_take_the_place_of_the_engines(void **state)
{
    dit_cost_device d = round_device();
    dit_wrapped w = wrapped_of("Plain", 2, 2);
    dit_cost_time time;
    (void)state;
    assert_false(dit_wrapped_op_time(&w, &d, &counted, &copy, &time)); /* no attention is under way */
    dit_wrapped_begin(&w, 1, 1);
    assert_near(seconds_of(&w, &copy), 0, 0);
    assert_near(seconds_of(&w, &exchange), 5e-6, 1e-12); /* a scatter */
    assert_false(dit_wrapped_op_time(&w, &d, &counted, &block, &time));
    dit_wrapped_saw(&w, &block);
    dit_wrapped_saw(&w, &block);
    assert_near(seconds_of(&w, &merge), 1e-6 + 4 * (3e6 + 1e4) / 1e12, 1e-12);
    dit_wrapped_saw(&w, &merge);
    assert_near(seconds_of(&w, &exchange), 2 * 3e-6, 1e-12); /* a gather */
    time = dit_wrapped_end(&w, &d, &counted);
    assert_near(time.device_s, 1e-6 + 6e-6, 1e-12); /* the call's cast, of a million elements; no ring alone */
    assert_near(time.host_s, 1e-5 + 2e-6, 1e-12);
    assert_near(dit_wrapped_end(&w, &d, &counted).host_s, 0, 0);
    w.ulysses = 1;
    dit_wrapped_begin(&w, 1, 2); /* two calls, each of half the elements */
    dit_wrapped_saw(&w, &block);
    time = dit_wrapped_end(&w, &d, &counted);
    assert_near(time.kernels, 4, 0);
    assert_near(time.device_s, 4e-6 + 6e-6 + 2e-6, 1e-12);
}

static void text_that_is_cut_is_exchanged(void **state)
{
    dit_cost_device d = round_device();
    dit_wrapped w = wrapped_of("Even", 1, 4);
    const dit_cost_op text = {.kind = DIT_COST_OP_ATTENTION,
                              .elements = 1000000,
                              .attention = {.B = 1, .H = 10, .Sq = 1000, .Sk = 512, .D = 100, .seen = 1}};
    dit_cost_attention quarter = {.B = 1, .H = 10, .Sq = 1000, .Sk = 128, .D = 100, .seen = 1};
    (void)state;
    dit_cost_time time = dit_wrapped_cross_time(&w, &d, &counted, &text, 1, 1);
    assert_near(time.device_s, 4 * dit_cost_attention_seconds(&d, &quarter), 1e-12);
    assert_near(time.host_s, 4e-5 + 1e-4, 1e-12); /* four kernels, one gather */
    w.ulysses = 2, w.ring = 1;
    time = dit_wrapped_cross_time(&w, &d, &counted, &text, 1, 1);
    assert_near(time.host_s, 1e-5 + 4 * 1e-4 + 3 * 1e-6, 1e-12); /* one kernel, four exchanges, three with a view */
    assert_near(dit_wrapped_cross_time(&w, &d, &counted, &text, 1, 2).host_s, 2 * time.host_s, 1e-12);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static dit_status read_case(const char *text, dit_wrapped *out)
{
    dit_json doc;
    assert_ok(dit_json_parse(text, strlen(text), "case", &doc));
    dit_status st = dit_wrapped_read(&doc, WRAPPERS "/xdit-0.4.json", out);
    dit_json_release(&doc);
    return st;
}

#define MODEL(class_name, tokens)                                                                                      \
    "\"model\":{\"text\":{\"tokens\":" tokens "},\"config\":{\"_class_name\":\"" class_name "\"}}"

static void a_case_is_wrapped_where_ranks_share_its_sequence(void **state)
{
    dit_wrapped w;
    (void)state;
    assert_ok(read_case("{" MODEL("FluxTransformer2DModel", "512") "}", &w));
    assert_false(w.of.wraps);
    assert_ok(read_case("{" MODEL("FluxTransformer2DModel", "512") ",\"parallel\":{\"ulysses_degree\":2}}", &w));
    assert_true(w.of.wraps);
    assert_false(w.of.crosses);
    assert_string_equal(w.of.self.name, "long-context");
    assert_ok(read_case("{" MODEL("FluxTransformer2DModel", "512") ",\"parallel\":{\"ulysses_degree\":2,"
                                                                   "\"pipefusion_degree\":2}}",
                        &w));
    assert_false(w.of.wraps);
    assert_ok(read_case("{" MODEL("CogVideoXTransformer3DModel", "226") ",\"parallel\":{\"ring_degree\":2}}", &w));
    assert_true(w.of.self.gathers);
    assert_ok(read_case("{" MODEL("CogVideoXTransformer3DModel", "226") ",\"parallel\":{\"ring_degree\":4}}", &w));
    assert_string_equal(w.of.self.name, "long-context");
    assert_ok(read_case("{" MODEL("WanTransformer3DModel", "512") ",\"parallel\":{\"ring_degree\":4}}", &w));
    assert_true(w.of.crosses);
}

static void a_broken_wrapper_is_refused(void **state)
{
    static const struct {
        const char *from, *to;
        dit_status status;
    } cases[] = {
        {"ditbench.wrapper/1", "ditbench.wrapper/2", DIT_ERR_JSON_VALUE},
        {"\"title\"", "\"subtitle\"", DIT_ERR_JSON_UNKNOWN_KEY},
        {"\"messages\"", "\"mail\"", DIT_ERR_JSON_VALUE},
        {"\"hop\"", "\"hip\"", DIT_ERR_JSON_UNKNOWN_KEY},
        {"\"at\":\"a\"", "\"at\":1", DIT_ERR_JSON_TYPE},
        {"\"views\":3", "\"views\":-3", DIT_ERR_JSON_VALUE},
        {"\"needs\":\"batch\"", "\"needs\":\"luck\"", DIT_ERR_JSON_VALUE},
        {"\"E\":2", "\"X\":2", DIT_ERR_JSON_VALUE},
        {"\"E\":2", "\"E\":-2", DIT_ERR_JSON_VALUE},
        {"\"fp32\"", "\"fp99\"", DIT_ERR_JSON_UNKNOWN_KEY},
        {"\"Plain\":{\"self\":\"long\"", "\"Plain\":{\"self\":\"none\"", DIT_ERR_JSON_MISSING},
    };
    dit_wrappers wrappers;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dit_status st = read_changed(cases[i].from, cases[i].to, "Plain", true, &wrappers);
        if (st != cases[i].status) fail_msg("%s: status %d", cases[i].to, (int)st);
        assert_false(wrappers.wraps);
    }
    assert_int_equal(dit_wrappers_read("/nowhere/x.json", "Plain", true, &wrappers), DIT_ERR_IO);
}

static void every_wrapper_reads(void **state)
{
    static const char *const names[] = {"xdit-0.3", "xdit-0.4"};
    static const char *const classes[] = {"FluxTransformer2DModel", "SD3Transformer2DModel", "HunyuanDiT2DModel"};
    char path[512];
    dit_wrappers wrappers;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t c = 0; c < sizeof classes / sizeof *classes; c++) {
            snprintf(path, sizeof path, "%s/%s.json", WRAPPERS, names[i]);
            assert_ok(dit_wrappers_read(path, classes[c], true, &wrappers));
            assert_true(wrappers.wraps);
            assert_true(wrappers.self.parts[DIT_WRAPPER_CALL].count == 2);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_has_the_function_that_its_text_asks_for),
        cmocka_unit_test(an_event_costs_the_bytes_of_what_it_dispatches),
        cmocka_unit_test(a_cast_costs_an_index_an_element),
        cmocka_unit_test(the_librarys_copies_take_the_place_of_the_engines),
        cmocka_unit_test(text_that_is_cut_is_exchanged),
        cmocka_unit_test(a_case_is_wrapped_where_ranks_share_its_sequence),
        cmocka_unit_test(a_broken_wrapper_is_refused),
        cmocka_unit_test(every_wrapper_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
