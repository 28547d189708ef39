/* Settings of caches: what is read, refused and written, and which steps are known before a run. */
#include "base/cache.h"
#include "base/volume.h"

#include "base/tests/mesh_fixture.h"

/* Ratios of FLUX.1-dev's residuals at 28 steps, from MagCache's own program. */
#define FLUX_RATIOS                                                                                                    \
    "\"ratios\":[1,1.21094,1.11719,1.07812,1.0625,1.03906,1.03125,1.03906,1.02344,1.03125,1.02344,0.98047,1.01562,"    \
    "1.00781,1,1.00781,1,1.00781,1,1,0.99609,0.99609,0.98047,0.98828,0.96484,0.95703,0.93359,0.89062]"

static dit_status read_cache(const char *text, int steps, dit_cache *out)
{
    dit_json doc = {0};
    assert_int_equal(dit_json_parse(text, strlen(text), "t", &doc), DIT_OK);
    dit_status st = dit_cache_read(&doc, doc.root, "", steps, out);
    dit_json_release(&doc);
    return st;
}

static dit_cache cache_of(const char *text, int steps)
{
    dit_cache cache;
    if (read_cache(text, steps, &cache) != DIT_OK) fail_msg("%s: %s", text, dit_error_last()->message);
    return cache;
}

static void expect_decisions(const char *text, int steps, const char *expected)
{
    dit_cache cache = cache_of(text, steps);
    char decisions[DIT_CACHE_MAX_STEPS + 1];
    dit_cache_decide_all(&cache, steps, '1', decisions);
    assert_string_equal(decisions, expected);
    int64_t hits = 0;
    for (const char *digit = expected; *digit; digit++) hits += *digit == '0';
    assert_int_equal(dit_cache_planned_use(&cache, steps).hits, hits);
}

static void schedules_are_known_before_the_run(void **state)
{
    (void)state;
    expect_decisions("{\"policy\":\"mask\",\"mask\":\"10110\"}", 5, "10110");
    expect_decisions("{\"policy\":\"mask\",\"mask\":\"8,3,3/1,2,2\"}", 19, "1111111101110011100");
    expect_decisions("{\"policy\":\"mask\",\"mask\":\"00000\"}", 5,
                     "10000"); /* the first is computed whatever it says */
    expect_decisions("{\"policy\":\"mask\",\"mask\":\"1000000\",\"max_consecutive\":2}", 7, "1001001");
    expect_decisions("{\"policy\":\"mask\",\"mask\":\"1000000\",\"max_hits\":3}", 7, "1000111");
    expect_decisions("{\"policy\":\"mask\",\"mask\":\"1000000\",\"warmup\":3,\"force\":[5]}", 7, "1110010");
    expect_decisions("{\"policy\":\"interval\",\"interval\":3}", 8, "10010011"); /* the last one computes */
    expect_decisions("{\"policy\":\"interval\",\"interval\":1}", 4, "1111");
    expect_decisions("{\"policy\":\"interval\",\"interval\":1000}", 4, "1001");
}

/* A source prints how many steps were reused, and not which. */
static void counted_hits_are_spread_evenly(void **state)
{
    char text[64];
    cJSON *object = cJSON_CreateObject();
    dit_json_writer w = {0};
    dit_cache none;
    (void)state;
    expect_decisions("{\"policy\":\"fbcache\",\"hits\":3,\"warmup\":2}", 8, "11010101");
    expect_decisions("{\"policy\":\"dbcache\",\"hits\":19}", 28, "1111111100000000001000000000");
    expect_decisions("{\"policy\":\"fbcache\",\"hits\":4,\"force\":[3,4],\"max_consecutive\":2}", 9, "100111010");
    expect_decisions("{\"policy\":\"dbcache\",\"first\":1,\"hits\":31,\"warmup\":4,\"max_consecutive\":2}", 50,
                     "11110010010010010010010010010010010010010010010010"); /* what cache-dit's limits allow */
    expect_decisions("{\"policy\":\"teacache\",\"hits\":4,\"coefficients\":[0,0,0,1,0]}", 6, "100001");
    assert_int_equal(read_cache("{\"policy\":\"teacache\",\"hits\":5,\"coefficients\":[0,0,0,1,0]}", 6, &none),
                     DIT_ERR_JSON_VALUE);
    assert_int_equal(read_cache("{\"policy\":\"fbcache\",\"hits\":6,\"max_consecutive\":2}", 8, &none),
                     DIT_ERR_JSON_VALUE);
    assert_int_equal(read_cache("{\"policy\":\"fbcache\",\"hits\":3,\"max_hits\":2}", 8, &none), DIT_ERR_JSON_VALUE);
    assert_int_equal(read_cache("{\"policy\":\"fbcache\",\"hits\":1,\"replay\":\"10\"}", 2, &none), DIT_ERR_JSON_VALUE);
    assert_true(read_cache("{\"policy\":\"interval\",\"interval\":2,\"hits\":1}", 8, &none) != DIT_OK);
    dit_cache cache = cache_of("{\"policy\":\"fbcache\",\"hits\":3,\"warmup\":2}", 8);
    assert_true(dit_cache_is_known(&cache));
    dit_cache_label(&cache, text, sizeof text);
    assert_string_equal(text, "fbcache(0.08 W2 3 hits)");
    dit_cache_to_json(&w, &cache, object);
    assert_int_equal(cJSON_GetObjectItem(object, "hits")->valueint, 3);
    assert_null(cJSON_GetObjectItem(object, "replay"));
    cJSON_Delete(object);
}

static void modules_have_schedules_of_their_own(void **state)
{
    (void)state;
    expect_decisions("{\"policy\":\"fora\",\"interval\":3}", 8, "10010011");
    expect_decisions("{\"policy\":\"fora\",\"interval\":3,\"warmup\":2,\"max_consecutive\":1}", 8, "11010111");
    expect_decisions("{\"policy\":\"fora\",\"interval\":1}", 4, "1111");
    /* W = 3: steps 4, 9, ... compute, and the first one after the warm-up is a forecast */
    expect_decisions("{\"policy\":\"taylorseer\",\"interval\":5}", 11, "11101000010");
    expect_decisions("{\"policy\":\"taylorseer\",\"interval\":2,\"warmup\":0}", 6, "110101");
    expect_decisions("{\"policy\":\"taylorseer\",\"interval\":1}", 6, "111111");
    expect_decisions("{\"policy\":\"pab\",\"attention\":2}", 4, "1111"); /* timesteps are not known */
    expect_decisions("{\"policy\":\"modules\",\"attention\":\"11001\",\"mlp\":\"10101\"}", 5, "10001");
    dit_cache table = cache_of("{\"policy\":\"modules\",\"attention\":\"11001\",\"mlp\":\"10101\"}", 5);
    dit_cache_use use = dit_cache_planned_use(&table, 5);
    assert_true(use.hits == 3 && use.modules[DIT_MODULE_ATTENTION] == 2 && use.modules[DIT_MODULE_MLP] == 2);
    assert_int_equal(dit_cache_reused(&table, 3, DIT_CACHE_HIT), 1 << DIT_MODULE_ATTENTION | 1 << DIT_MODULE_MLP);
}

/* A kind is computed in every range-th step, and outside of the timesteps in each; the bounds lie outside. */
static void pab_goes_by_timesteps(void **state)
{
    static const float timesteps[] = {999, 900, 800, 700, 600, 400, 200, 100, 50};
    dit_cache cache = cache_of("{\"policy\":\"pab\",\"attention\":2,\"cross\":3,\"timesteps\":[100,900]}", 9);
    const int attention = 1 << DIT_MODULE_ATTENTION, cross = 1 << DIT_MODULE_CROSS;
    const int expected[] = {0, 0, cross, attention, cross, attention | cross, 0, 0, 0};
    dit_cache_state s = {0};
    (void)state;
    assert_true(dit_cache_is_known(&cache));
    assert_true(dit_cache_awaits_timesteps(&cache));
    dit_cache_place(&cache, timesteps, 9);
    assert_false(dit_cache_awaits_timesteps(&cache));
    while (s.step < 9) {
        char decision = dit_cache_plan(&cache, &s, 9);
        assert_int_equal(dit_cache_reused(&cache, s.step, decision), expected[s.step]);
        dit_cache_note(&cache, &s, 9, decision);
    }
    dit_cache_use use = dit_cache_planned_use(&cache, 9);
    assert_true(use.of_modules && use.hits == 4);
    assert_true(use.modules[DIT_MODULE_ATTENTION] == 2 && use.modules[DIT_MODULE_CROSS] == 3);
    assert_int_equal(dit_cache_modules(&cache), attention | cross);
}

/* The steps are those of pab, and a mesh that displaces rows refuses both. */
static void fastercache_takes_the_steps_of_pab(void **state)
{
    static const float timesteps[] = {999, 900, 700, 600, 500, 400};
    static const char *const texts[] = {"{\"policy\":\"fastercache\",\"attention\":2,\"temporal\":3}",
                                        "{\"policy\":\"pab\",\"attention\":2,\"temporal\":3,\"timesteps\":[-1,681]}"};
    dit_cache_use use[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        dit_cache cache = cache_of(texts[i], 6);
        dit_parallel displaced = mesh(1, 1, 1, 1);
        dit_facts facts = pixart_facts();
        displaced.degree[DIT_AXIS_PIPEFUSION] = 2;
        dit_cache_place(&cache, timesteps, 6);
        use[i] = dit_cache_planned_use(&cache, 6);
        assert_int_equal(dit_cache_rolls(&cache), i == 0);
        facts.blocks[0].modules[DIT_MODULE_ATTENTION].image = facts.blocks[0].modules[DIT_MODULE_TEMPORAL].image = 1;
        assert_int_equal(dit_cache_check(&cache, &displaced, &facts), DIT_ERR_CONSTRAINT_CACHE);
    }
    assert_memory_equal(&use[0], &use[1], sizeof *use);
    assert_true(use[0].hits == 3 && use[0].modules[DIT_MODULE_ATTENTION] == 2);
}

/* Reused attention would save no message: the stream goes to whole frames and back all the same. */
static void dsp_takes_no_cache_of_modules(void **state)
{
    dit_parallel dsp = mesh(1, 2, 1, 1);
    dit_facts facts = pixart_facts();
    dit_cache modules = cache_of("{\"policy\":\"fora\",\"interval\":2}", 4);
    dit_cache blocks = cache_of("{\"policy\":\"interval\",\"interval\":2}", 4);
    (void)state;
    assert_int_equal(dit_cache_check(&modules, &dsp, &facts), DIT_OK);
    dsp.ring_method = DIT_RING_SWITCH;
    assert_int_equal(dit_cache_check(&blocks, &dsp, &facts), DIT_OK);
    assert_int_equal(dit_cache_check(&modules, &dsp, &facts), DIT_ERR_CONSTRAINT_CACHE);
    assert_non_null(strstr(dit_error_last()->message, "fora, which reuses modules, beside dsp"));
}

/* Both branches run in every N-th step and outside of the timesteps; between, the weights of low frequencies grow at
 * timesteps from 99 to 901, those of high ones below 301, and attention is reused. */
static void fastercache_leaves_out_a_branch(void **state)
{
    static const float timesteps[] = {950, 850, 640, 500, 310, 300, 200, 100, 99, 5};
    dit_cache cache = cache_of("{\"policy\":\"fastercache\",\"attention\":2,\"unconditional\":5}", 10);
    const int lone[] = {0, 0, 1, 1, 1, 0, 1, 1, 1, 1}, attention[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1};
    const double low[] = {1.1, 1.21, 1.331, 1, 1.1, 1.21, 1.21, 1.21}, high[] = {1, 1, 1, 1, 1.1, 1.21, 1.331, 1.4641};
    float weights[2];
    dit_cache_state s = {0};
    (void)state;
    assert_false(dit_cache_is_lone(&cache, 2)); /* timesteps are not known */
    dit_cache_place(&cache, timesteps, 10);
    for (int step = 0; step < 10; step++) {
        char decision = dit_cache_plan(&cache, &s, 10);
        assert_int_equal(dit_cache_is_lone(&cache, step), lone[step]);
        assert_int_equal(decision == DIT_CACHE_HIT, lone[step]);
        assert_int_equal(dit_cache_reused(&cache, step, decision), attention[step] << DIT_MODULE_ATTENTION);
        dit_cache_branch_weights(&cache, step, weights);
        assert_float_equal(weights[0], step < 2 ? 1 : low[step - 2], 1e-5);
        assert_float_equal(weights[1], step < 2 ? 1 : high[step - 2], 1e-5);
        dit_cache_note(&cache, &s, 10, decision);
    }
    dit_cache_use use = dit_cache_planned_use(&cache, 10);
    assert_true(use.lone == 7 && use.lone_modules[DIT_MODULE_ATTENTION] == 3 && !use.modules[DIT_MODULE_ATTENTION]);

    dit_facts facts = pixart_facts();
    dit_parallel apart = mesh(2, 1, 1, 1);
    facts.lone_branch = true;
    assert_int_equal(dit_cache_check(&cache, &apart, &facts), DIT_ERR_CONSTRAINT_CACHE);
    assert_non_null(strstr(dit_error_last()->message, "2 ranks that share an image"));
}

/* All ranks test the same embedding: they send nothing. A model that embeds the prompt with the timestep has none. */
static void teacache_by_time_asks_no_rank(void **state)
{
    dit_cache cache = cache_of("{\"policy\":\"teacache-time\",\"coefficients\":[0,0,0,1,0]}", 8), other = cache;
    dit_facts facts = pixart_facts();
    dit_parallel apart = mesh(2, 1, 2, 1);
    dit_volume_table by_time, by_input;
    (void)state;
    other.policy = DIT_CACHE_TEACACHE;
    dit_cache_use use = dit_cache_planned_use(&cache, 8), asking = dit_cache_planned_use(&other, 8);
    assert_true(use.tests == 6 && asking.tests == 6);
    dit_volume_predict_cached(&apart, &facts, &use, 0, &by_time);
    dit_volume_predict_cached(&apart, &facts, &asking, 0, &by_input);
    assert_int_equal(dit_volume_total_bytes(&by_input) - dit_volume_total_bytes(&by_time), 6 * (16 + 32));
    assert_int_equal(dit_cache_check(&cache, &apart, &facts), DIT_ERR_CONSTRAINT_CACHE);
    assert_non_null(strstr(dit_error_last()->message, "together with the prompt"));
    facts.time_width = 8;
    assert_int_equal(dit_cache_check(&cache, &apart, &facts), DIT_OK);
}

/* From its gate on, tgate keeps cross-attention and runs one branch, whose steps send half of a batch of two. */
static void tgate_leaves_out_a_branch(void **state)
{
    dit_cache cache = cache_of("{\"policy\":\"tgate\",\"gate\":3,\"attention\":2}", 8);
    const int cross = 1 << DIT_MODULE_CROSS, both = cross | 1 << DIT_MODULE_ATTENTION;
    const int expected[] = {0, 0, 0, cross, both, cross, both, cross};
    dit_facts facts = pixart_facts();
    dit_volume_table exact, gated;
    (void)state;
    for (int step = 0; step < 8; step++) {
        assert_int_equal(dit_cache_reused(&cache, step, step < 3 ? 'm' : DIT_CACHE_HIT), expected[step]);
        assert_int_equal(dit_cache_is_lone(&cache, step), step >= 3);
    }
    expect_decisions("{\"policy\":\"tgate\",\"gate\":3}", 8, "11100000");
    expect_decisions("{\"policy\":\"tgate\",\"gate\":8}", 8, "11111111");
    dit_cache_use use = dit_cache_planned_use(&cache, 8);
    assert_true(use.lone == 5 && use.modules[DIT_MODULE_CROSS] == 0 && use.lone_modules[DIT_MODULE_CROSS] == 5);
    assert_int_equal(use.lone_modules[DIT_MODULE_ATTENTION], 2);

    dit_parallel ulysses = mesh(2, 1, 1, 1);
    facts.steps = 8;
    for (int i = 0; i < facts.blocks[0].count; i++)
        facts.blocks[0].modules[DIT_MODULE_ATTENTION] = (dit_module_parts){.calls = 1, .image = 1};
    dit_volume_predict(&ulysses, &facts, 0, &exact);
    dit_volume_predict_cached(&ulysses, &facts, &use, 0, &gated);
    const dit_volume *all = &exact.at[DIT_AXIS_ULYSSES][DIT_COLLECTIVE_ALL_TO_ALL][DIT_PHASE_STEP],
                     *some = &gated.at[DIT_AXIS_ULYSSES][DIT_COLLECTIVE_ALL_TO_ALL][DIT_PHASE_STEP];
    assert_int_equal(16 * some->bytes, (2 * 3 + 3) * all->bytes); /* 3 steps of 2 branches and 3 of one, of 8 of 2 */
    assert_int_equal(16 * some->messages, (2 * 3 + 3) * all->messages);
}

static void tgate_names_what_it_cannot_do(void **state)
{
    dit_cache cache = cache_of("{\"policy\":\"tgate\",\"gate\":3}", 0);
    dit_facts facts = pixart_facts();
    dit_parallel alone = mesh(1, 1, 1, 1), apart = mesh(1, 1, 2, 1);
    (void)state;
    facts.blocks[0].modules[DIT_MODULE_CROSS].image = 1;
    facts.lone_branch = true;
    assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_OK);
    assert_int_equal(dit_cache_check(&cache, &apart, &facts), DIT_ERR_CONSTRAINT_CACHE);
    assert_non_null(strstr(dit_error_last()->message, "cfg degree of 2"));
    facts.lone_branch = false;
    assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_ERR_CONSTRAINT_CACHE);
    assert_non_null(strstr(dit_error_last()->message, "one batch throughout"));
    facts.guidance_branches = 1;
    assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_ERR_CONSTRAINT_CACHE);
    assert_non_null(strstr(dit_error_last()->message, "computes one branch"));
}

/* Computed apart from this code by the recurrence of the paper's program. */
static void magcache_decides_as_its_authors_program(void **state)
{
    (void)state;
    expect_decisions("{\"policy\":\"magcache\"," FLUX_RATIOS "}", 28, "1110010001000001000001000010");
    expect_decisions("{\"policy\":\"magcache\",\"threshold\":0.06,\"max_consecutive\":3,\"retention\":0.2," FLUX_RATIOS
                     "}",
                     28, "1111110101000100010001001011");
    expect_decisions("{\"policy\":\"magcache\"," FLUX_RATIOS "}", 14,
                     "10100010000010"); /* ratios of the nearest step */
    expect_decisions("{\"policy\":\"magcache\",\"force\":[11]," FLUX_RATIOS "}", 28, "1110010001010000010000010010");
    expect_decisions("{\"policy\":\"magcache\",\"threshold\":0," FLUX_RATIOS "}", 4, "1111");
}

static void what_a_test_decides_is_open(void **state)
{
    (void)state;
    dit_cache cache = cache_of("{\"policy\":\"dbcache\",\"warmup\":2,\"mask\":\"1101000\",\"max_consecutive\":2}", 7);
    char decisions[DIT_CACHE_MAX_STEPS + 1];
    assert_false(dit_cache_is_known(&cache));
    dit_cache_decide_all(&cache, 7, '1', decisions);
    assert_string_equal(decisions, "1111111");
    dit_cache_decide_all(&cache, 7, '0', decisions);
    assert_string_equal(decisions, "1101001"); /* all that mask and limits allow */
    assert_int_equal(dit_cache_planned_use(&cache, 7).tests, 4);
    cache = cache_of("{\"policy\":\"dbcache\",\"replay\":\"1010\"}", 4);
    assert_true(dit_cache_is_known(&cache));
    dit_cache_decide_all(&cache, 4, '1', decisions);
    assert_string_equal(decisions, "1010");
    cache = cache_of("{\"policy\":\"fbcache\",\"mask\":\"1001\",\"mask_policy\":\"static\"}", 4);
    dit_cache_decide_all(&cache, 4, '1', decisions);
    assert_string_equal(decisions, "1001"); /* without a test */
}

static void what_is_written_reads_the_same(void **state)
{
    static const char *const texts[] = {
        "{\"policy\":\"mask\",\"mask\":\"3,1/2,2\",\"first\":2,\"last\":1,\"force\":[6]}",
        "{\"policy\":\"interval\",\"interval\":4,\"forecast\":{\"kind\":\"taylor\",\"order\":2}}",
        "{\"policy\":\"magcache\",\"ratios\":[1,0.9],\"retention\":0.3}",
        "{\"policy\":\"teacache\",\"threshold\":0.4,\"coefficients\":[498.651651,-283.781631,55.8554382,-3.82021401,0."
        "264230861]}",
        "{\"policy\":\"fbcache\",\"threshold\":0.12,\"max_hits\":4,\"replay\":\"11001100\"}",
        "{\"policy\":\"dbcache\",\"first\":1,\"last\":2,\"warmup\":0,\"forecast\":{\"kind\":\"line\",\"weight\":0.5}}",
        "{\"policy\":\"fora\",\"interval\":3,\"force\":[4],\"max_hits\":2}",
        "{\"policy\":\"taylorseer\",\"interval\":5,\"replay\":\"11101000\",\"forecast\":{\"kind\":\"taylor\",\"order\":"
        "2}}",
        "{\"policy\":\"pab\",\"attention\":2,\"temporal\":3,\"cross\":6,\"timesteps\":[450,930]}",
        "{\"policy\":\"fastercache\",\"attention\":2,\"temporal\":3,\"timesteps\":[-1,800],\"weight\":0.3}",
        "{\"policy\":\"tgate\",\"gate\":3,\"attention\":2}",
        "{\"policy\":\"teacache-time\",\"threshold\":0.2,\"coefficients\":[1,2,3,4,5]}",
        "{\"policy\":\"fastercache\",\"attention\":2,\"unconditional\":4,\"unconditional_timesteps\":[0,700]}",
        "{\"policy\":\"easycache\",\"threshold\":0.1,\"warmup\":2,\"forecast\":{\"kind\":\"taylor\",\"order\":1}}",
        "{\"policy\":\"modules\",\"attention\":\"10101010\",\"mlp\":\"4,1/2,1\"}",
        "{\"policy\":\"delta\",\"interval\":3,\"blocks\":20,\"cut\":0,\"warmup\":2}",
        "{\"policy\":\"fbcache\",\"variant\":\"xdit\"}",
        "{\"policy\":\"dbcache\",\"cfg\":\"separate\",\"variant\":\"cache-dit\",\"warmup_interval\":3}",
        "{\"policy\":\"dbprune\",\"first\":1,\"dynamic\":true,\"always\":[2,127],\"force\":[5]}",
        "{\"policy\":\"dbprune\",\"replay\":\"111,101,110,010,111,111,001,100\"}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        dit_cache cache = cache_of(texts[i], 8), again;
        dit_json_writer w = {0};
        dit_json doc = {.root = dit_json_new_object(&w), .path = (char *)(uintptr_t) "t"};
        dit_cache_to_json(&w, &cache, doc.root);
        assert_int_equal(w.status, DIT_OK);
        assert_int_equal(dit_cache_read(&doc, doc.root, "", 8, &again), DIT_OK);
        assert_memory_equal(&cache, &again, sizeof cache);
        cJSON_Delete(doc.root);
    }
}

static void labels_name_what_differs(void **state)
{
    static const struct {
        const char *text, *label;
    } rows[] = {
        {"{\"policy\":\"fbcache\"}", "fbcache(0.08)"},
        {"{\"policy\":\"dbcache\",\"max_consecutive\":3}", "dbcache(F8 b0 0.08 W8 K3)"},
        {"{\"policy\":\"dbcache\",\"warmup_interval\":2,\"variant\":\"cache-dit\"}",
         "dbcache(F8 b0 0.08 cache-dit W8 I2)"},
        {"{\"policy\":\"interval\",\"interval\":3,\"forecast\":{\"kind\":\"line\",\"weight\":0.5}}",
         "interval(3)+line1 w0.5"},
        {"{\"policy\":\"interval\",\"interval\":3,\"forecast\":{\"kind\":\"taylor\"}}", "interval(3)+taylor1"},
        {"{\"policy\":\"fora\",\"interval\":2}", "fora(2)"},
        {"{\"policy\":\"easycache\"}", "easycache(0.025 W5)"},
        {"{\"policy\":\"fbcache\",\"cfg\":\"separate\"}", "fbcache(0.08 separate)"},
        {"{\"policy\":\"delta\",\"interval\":3,\"blocks\":20,\"cut\":4}", "delta(3 blocks 20 cut 4)"},
        {"{\"policy\":\"modules\",\"cross\":\"1000\",\"mlp\":\"1010\"}", "modules(cross 1 mlp 2 of 4 #"},
        {"{\"policy\":\"dbprune\",\"dynamic\":true}", "dbprune(F8 b0 0.08 dynamic W8)"},
        {"{\"policy\":\"taylorseer\",\"interval\":5}", "taylorseer(5 W3)+taylor1"},
        {"{\"policy\":\"pab\",\"attention\":2,\"cross\":6}", "pab(attention 2 cross 6 100-800)"},
        {"{\"policy\":\"fastercache\",\"attention\":2}", "fastercache(attention 2 -1-681)+line1 w0.5"},
        {"{\"policy\":\"fastercache\",\"attention\":2,\"unconditional\":5}",
         "fastercache(attention 2 -1-681 unconditional 5 -1-641)+line1 w0.5"},
        {"{\"policy\":\"tgate\",\"gate\":3}", "tgate(3)"},
        {"{\"policy\":\"tgate\",\"gate\":3,\"attention\":2}", "tgate(3 attention 2)"},
    };
    char label[128];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dit_cache cache = cache_of(rows[i].text, 4);
        dit_cache_label(&cache, label, sizeof label);
        if (strchr(rows[i].label, '#')) label[strlen(rows[i].label)] = 0; /* four digits of a digest follow */
        assert_string_equal(label, rows[i].label);
    }
    dit_cache_label(&(dit_cache){0}, label, sizeof label);
    assert_string_equal(label, "none");
}

#define TEA(coefficients) "{\"policy\":\"teacache\",\"coefficients\":" coefficients "}"

static void labels_tell_lists_apart(void **state)
{
    static const char *const pairs[][2] = {
        {"{\"policy\":\"mask\",\"mask\":\"1010\"}", "{\"policy\":\"mask\",\"mask\":\"1100\"}"},
        {"{\"policy\":\"interval\",\"interval\":2,\"force\":[1]}", "{\"policy\":\"interval\",\"interval\":2}"},
        {"{\"policy\":\"interval\",\"interval\":2,\"force\":[1]}",
         "{\"policy\":\"interval\",\"interval\":2,\"force\":[3]}"},
        {"{\"policy\":\"fbcache\",\"mask\":\"1010\"}",
         "{\"policy\":\"fbcache\",\"mask\":\"1010\",\"mask_policy\":\"static\"}"},
        {"{\"policy\":\"magcache\",\"ratios\":[1,0.9]}", "{\"policy\":\"magcache\",\"ratios\":[1,0.8]}"},
        {TEA("[0,0,0,1,0]"), TEA("[0,0,0,2,0]")},
        {"{\"policy\":\"modules\",\"mlp\":\"1010\"}", "{\"policy\":\"modules\",\"mlp\":\"1001\"}"},
        {"{\"policy\":\"dbprune\",\"always\":[1]}", "{\"policy\":\"dbprune\",\"always\":[2]}"},
        {"{\"policy\":\"dbprune\",\"replay\":\"11,11,10,11\"}", "{\"policy\":\"dbprune\",\"replay\":\"11,11,01,11\"}"},
    };
    char labels[2][128];
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        for (int j = 0; j < 2; j++) {
            dit_cache cache = cache_of(pairs[i][j], 4);
            dit_cache_label(&cache, labels[j], sizeof labels[j]);
        }
        assert_string_not_equal(labels[0], labels[1]);
    }
}

/* A run may have more steps than a cache can: that is refused later, and nothing is written beyond the digits. */
static void forced_steps_stay_within(void **state)
{
    enum { STEPS = 5000 };
    dit_parallel one = mesh(1, 1, 1, 1);
    dit_facts facts = {.layers = 10, .steps = STEPS, .family = "test"};
    dit_cache cache = cache_of("{\"policy\":\"interval\",\"interval\":2,\"force\":[1]}", STEPS);
    (void)state;
    assert_int_equal(strlen(cache.force), DIT_CACHE_MAX_STEPS);
    assert_int_equal(dit_cache_check(&cache, &one, &facts), DIT_ERR_CONSTRAINT_CACHE);
}

/* The sum of the polynomial's values decides; a computed step begins it anew. */
static void teacache_sums_what_changes(void **state)
{
    static const double changes[] = {0, 0.1, 0.1, 0.1, 0.2, -0.3, 0.3, 0.3, 0.1};
    dit_cache cache = cache_of("{\"policy\":\"teacache\",\"threshold\":0.25,\"coefficients\":[0,0,1,1,-0.01]}", 9);
    dit_cache_state s = {0};
    char decided[10] = "";
    (void)state;
    while (s.step < 9) {
        char decision = dit_cache_plan(&cache, &s, 9);
        if (decision == DIT_CACHE_TEST)
            decision = dit_cache_reuses(&cache, dit_cache_tested(&cache, &s, changes[s.step])) ? DIT_CACHE_HIT : 't';
        decided[s.step] = decision;
        dit_cache_note(&cache, &s, 9, decision);
    }
    /* sums: 0.1, 0.2, 0.3 t, 0.23, 0.23 - 0.22, 0.01 + 0.38 t, 0.38 t, last */
    assert_string_equal(decided, "w..t..ttm");
    cache.threshold = 0;
    assert_false(dit_cache_reuses(&cache, -1));
}

/* What tests would say is given; K = 1 of cache-dit lets two hits through, and a refusal by the test shortens the next row. */
static void variants_count_and_compare_as_their_programs(void **state)
{
    static const double small[] = {0, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01};
    static const double spike[] = {0, 0.01, 0.01, 9, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01};
    static const struct {
        const char *text, *decided;
        const double *values;
    } rows[] = {
        {"{\"policy\":\"fbcache\",\"max_consecutive\":1}", "w.k.k.k.k.", small},
        {"{\"policy\":\"fbcache\",\"max_consecutive\":1,\"variant\":\"cache-dit\"}", "w.k..k..k.", small},
        {"{\"policy\":\"dbcache\",\"warmup\":1,\"max_consecutive\":3,\"variant\":\"cache-dit\"}", "w..t..k...", spike},
        {"{\"policy\":\"dbcache\",\"warmup\":6,\"warmup_interval\":2,\"variant\":\"cache-dit\"}", "w.w.w.....", small},
        {"{\"policy\":\"fbcache\",\"threshold\":0.01}", "wttttttttt", small},
        {"{\"policy\":\"fbcache\",\"threshold\":0.01,\"variant\":\"diffusers\"}", "w..t......", spike},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dit_cache cache = cache_of(rows[i].text, 10);
        dit_cache_state s = {0};
        char decided[11] = "";
        while (s.step < 10) {
            char decision = dit_cache_plan(&cache, &s, 10);
            if (decision == DIT_CACHE_TEST)
                decision = dit_cache_reuses(&cache, dit_cache_tested(&cache, &s, rows[i].values[s.step]))
                               ? DIT_CACHE_HIT
                               : 't';
            decided[s.step] = decision;
            dit_cache_note(&cache, &s, 10, decision);
        }
        assert_string_equal(decided, rows[i].decided);
    }
    dit_cache bare = cache_of("{\"policy\":\"fbcache\",\"variant\":\"xdit\"}", 4);
    assert_true(bare.threshold == 0.6 && dit_cache_looks(&bare));
    bare = cache_of("{\"policy\":\"fbcache\",\"variant\":\"xdit\",\"replay\":\"1010\"}", 4);
    assert_true(dit_cache_is_known(&bare) && dit_cache_looks(&bare));
    assert_true(cache_of("{\"policy\":\"fbcache\",\"variant\":\"diffusers\"}", 4).threshold == 0.05);
}

/* Two computed steps must tell how outputs answer before a test can; the last one computes; four numbers are sent. */
static void easycache_needs_two_computed_steps(void **state)
{
    static const double changes[] = {0, 0, 0.01, 0.01, 0.02, 0.01, 0.01, 0.01};
    dit_cache cache = cache_of("{\"policy\":\"easycache\",\"warmup\":1,\"threshold\":0.035}", 8);
    dit_facts facts = pixart_facts();
    dit_parallel parallel = mesh(2, 2, 2, 1);
    dit_cache_use none = dit_cache_planned_use(&cache, 8), some = none;
    dit_volume_table plain, tested;
    dit_cache_state s = {0};
    char decided[9] = "", all[9];
    (void)state;
    while (s.step < 8) {
        char decision = dit_cache_plan(&cache, &s, 8);
        if (decision == DIT_CACHE_TEST)
            decision = dit_cache_reuses(&cache, dit_cache_tested(&cache, &s, changes[s.step])) ? DIT_CACHE_HIT : 't';
        decided[s.step] = decision;
        dit_cache_note(&cache, &s, 8, decision);
    }
    assert_string_equal(decided, "wm..t..m"); /* 0.01, 0.02, 0.04; 0.01, 0.02 */
    dit_cache_decide_all(&cache, 8, '0', all);
    assert_string_equal(all, "11000001");
    assert_true(dit_cache_is_of_outputs(&cache) && dit_cache_sums(&cache) == 4);
    none.tests = 0, some.tests = 5;
    dit_volume_predict_cached(&parallel, &facts, &none, 0, &plain);
    dit_volume_predict_cached(&parallel, &facts, &some, 0, &tested);
    assert_int_equal(dit_volume_total_bytes(&tested) - dit_volume_total_bytes(&plain), 32 * 7 * 5);
}

static void dbprune_names_what_is_wrong(void **state)
{
    static const struct {
        const char *text, *word;
    } rows[] = {
        {"{\"policy\":\"dbprune\",\"always\":[28]}", "names block 28 of 28"},
        {"{\"policy\":\"dbprune\",\"first\":14,\"last\":13,\"always\":[14]}", "may reuse none"},
        {"{\"policy\":\"dbprune\",\"first\":0,\"replay\":\"11,11,11,10\"}", "has 2 blocks"},
        {"{\"policy\":\"dbprune\",\"first\":0,\"replay\":\"1111111111111111111111111110\"}", "first step"},
        {"{\"policy\":\"dbprune\",\"first\":1,\"replay\":\"1111111111111111111111111111,"
         "0111111111111111111111111111\"}",
         "step 1 of the cache's replay reuses block 0"},
    };
    dit_facts facts = pixart_facts();
    dit_parallel alone = mesh(1, 1, 1, 1);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dit_cache cache = cache_of(rows[i].text, 0);
        if (cache.replay[0]) facts.steps = (int64_t)strlen(cache.replay);
        assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_ERR_CONSTRAINT_CACHE);
        if (!strstr(dit_error_last()->message, rows[i].word))
            fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].text, dit_error_last()->message, rows[i].word);
    }
    facts = pixart_facts();
    facts.layers = DIT_CACHE_MAX_BLOCKS + 1;
    dit_cache cache = cache_of("{\"policy\":\"dbprune\"}", 0);
    assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_ERR_CONSTRAINT_CACHE);
    cache = cache_of("{\"policy\":\"dbprune\",\"first\":0,\"replay\":\"111,101,110,010\"}", 4);
    dit_cache_use use = dit_cache_planned_use(&cache, 4);
    assert_true(use.of_blocks && use.hits == 3 && use.blocks[0] == 1 && use.blocks[1] == 1 && use.blocks[2] == 2);
    assert_string_equal(cache.replay, "1000");
}

/* Early hits leave out the rear blocks, late ones the front; a step at the cut computes what late ones reuse. */
static void delta_reuses_either_end(void **state)
{
    dit_facts facts = pixart_facts(); /* 28 blocks */
    dit_parallel parallel = mesh(1, 4, 1, 1), alone = mesh(1, 1, 1, 1);
    dit_cache cache = cache_of("{\"policy\":\"delta\",\"interval\":3,\"blocks\":2,\"cut\":4}", 9);
    dit_cache_use use = dit_cache_planned_use(&cache, 9), whole = {.first = 26, .hits = 4};
    dit_volume_table ends, rear;
    (void)state;
    expect_decisions("{\"policy\":\"delta\",\"interval\":3,\"blocks\":2,\"cut\":4}", 9, "100110101");
    assert_true(use.ends == 2 && use.hits == 4 && use.late_hits == 2);
    dit_range early = dit_cache_middle(&cache, 28, 3), late = dit_cache_middle(&cache, 28, 4);
    assert_true(early.first == 26 && early.count == 2 && late.first == 0 && late.count == 2);
    dit_volume_predict_cached(&parallel, &facts, &use, 0, &ends);
    dit_volume_predict_cached(&parallel, &facts, &whole, 0, &rear);
    assert_memory_equal(&ends, &rear, sizeof ends); /* all blocks of the model are alike */
    assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_OK);
    facts.skips = 13;
    assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_ERR_CONSTRAINT_CACHE);
    assert_non_null(strstr(dit_error_last()->message, "first blocks of PixArtTransformer2DModel from step 4 on"));
    cache.cut = (int)facts.steps;
    assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_OK);
    cache.blocks = 28;
    assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_ERR_CONSTRAINT_CACHE);
    assert_non_null(strstr(dit_error_last()->message, "28 of PixArtTransformer2DModel's 28 blocks"));
}

/* Branches apart send each other no sums, and need ranks of their own. */
static void branches_may_decide_apart(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel both = mesh(2, 1, 2, 1), one = mesh(2, 1, 1, 1);
    dit_cache cache = cache_of("{\"policy\":\"fbcache\",\"cfg\":\"separate\"}", 0);
    dit_cache_use use = dit_cache_planned_use(&cache, 20);
    dit_volume_table table;
    (void)state;
    use.tests = 5;
    dit_volume_predict_cached(&both, &facts, &use, 0, &table);
    assert_int_equal(table.at[DIT_AXIS_ULYSSES][DIT_COLLECTIVE_ALL_REDUCE][DIT_PHASE_STEP].bytes, 16 * 5);
    assert_int_equal(table.at[DIT_AXIS_CFG][DIT_COLLECTIVE_ALL_REDUCE][DIT_PHASE_STEP].bytes, 0);
    assert_int_equal(dit_cache_check(&cache, &both, &facts), DIT_OK);
    assert_int_equal(dit_cache_check(&cache, &one, &facts), DIT_ERR_CONSTRAINT_CACHE);
    assert_non_null(strstr(dit_error_last()->hint, "one forward on a rank"));
    facts.two_transformers = true;
    assert_int_equal(dit_cache_check(&cache, &both, &facts), DIT_ERR_CONSTRAINT_CACHE);
    assert_non_null(strstr(dit_error_last()->message, "two transformers"));
    facts.two_transformers = false;
    facts.guidance_branches = 1;
    assert_int_equal(dit_cache_check(&cache, &one, &facts), DIT_ERR_CONSTRAINT_CACHE);
    assert_non_null(strstr(dit_error_last()->hint, "one branch"));
}

static void mistakes_are_refused_in_words(void **state)
{
    static const struct {
        const char *text, *word;
    } rows[] = {
        {"{}", "policy"},
        {"{\"policy\":\"fbcach\"}", "fbcach"},
        {"{\"policy\":\"fbcache\",\"first\":2}", "first"},
        {"{\"policy\":\"fbcache\",\"treshold\":2}", "treshold"},
        {"{\"policy\":\"mask\"}", "mask"},
        {"{\"policy\":\"mask\",\"mask\":\"\"}", "digits"},
        {"{\"policy\":\"mask\",\"mask\":\"12\"}", "digits"},
        {"{\"policy\":\"mask\",\"mask\":\"1,x/2\"}", "digits"},
        {"{\"policy\":\"mask\",\"mask\":\",,/,\"}", "0 steps"},
        {"{\"policy\":\"mask\",\"mask\":\"99999999999999999999/1\"}", "more than"},
        {"{\"policy\":\"mask\",\"mask\":\"11\"}", "2 steps, but the run has 4"},
        {"{\"policy\":\"interval\"}", "interval"},
        {"{\"policy\":\"interval\",\"interval\":0}", "interval"},
        {"{\"policy\":\"magcache\"}", "ratios"},
        {"{\"policy\":\"teacache\"}", "coefficients: 5 to 5 numbers"},
        {"{\"policy\":\"teacache\",\"coefficients\":[1,2,3,4]}", "coefficients: 5 to 5 numbers"},
        {"{\"policy\":\"teacache\",\"coefficients\":[1,2,3,4,\"5\"]}", "numbers"},
        {"{\"policy\":\"magcache\",\"ratios\":[1,0]}", "above 0"},
        {"{\"policy\":\"fbcache\",\"force\":[4]}", "from 0 to 3"},
        {"{\"policy\":\"fbcache\",\"force\":[0.5]}", "from 0 to 3"},
        {"{\"policy\":\"fbcache\",\"force\":[\"a\"]}", "from 0 to 3"},
        {"{\"policy\":\"fbcache\",\"forecast\":{\"kind\":\"guess\"}}", "guess"},
        {"{\"policy\":\"fbcache\",\"forecast\":{\"kind\":\"taylor\",\"order\":3}}", "order"},
        {"{\"policy\":\"fbcache\",\"forecast\":{\"kind\":\"hold\",\"order\":1}}", "taylor"},
        {"{\"policy\":\"fbcache\",\"mask_policy\":\"static\"}", "no mask"},
        {"{\"policy\":\"fbcache\",\"mask\":\"1010\",\"mask_policy\":\"stiff\"}", "stiff"},
        {"{\"policy\":\"fora\"}", "interval"},
        {"{\"policy\":\"fora\",\"interval\":2,\"first\":1}", "first"},
        {"{\"policy\":\"fora\",\"interval\":2,\"forecast\":{\"kind\":\"hold\"}}", "forecast"},
        {"{\"policy\":\"taylorseer\",\"interval\":2,\"forecast\":{\"kind\":\"hold\"}}", "fora holds"},
        {"{\"policy\":\"fastercache\",\"attention\":2,\"unconditional\":0}", "unconditional"},
        {"{\"policy\":\"fastercache\",\"attention\":2,\"unconditional\":2,\"unconditional_timesteps\":[9,1]}",
         "below the second"},
        {"{\"policy\":\"pab\",\"attention\":2,\"unconditional\":2}", "unconditional"},
        {"{\"policy\":\"teacache-time\"}", "coefficients"},
        {"{\"policy\":\"teacache-time\",\"coefficients\":[0,0,0,1,0],\"cfg\":\"separate\"}", "cfg"},
        {"{\"policy\":\"tgate\"}", "gate"},
        {"{\"policy\":\"tgate\",\"gate\":0}", "gate"},
        {"{\"policy\":\"tgate\",\"gate\":2,\"cross\":2}", "cross"},
        {"{\"policy\":\"pab\",\"attention\":2,\"gate\":2}", "gate"},
        {"{\"policy\":\"fastercache\"}", "fastercache reuses no kind of attention"},
        {"{\"policy\":\"fastercache\",\"cross\":2}", "cross"},
        {"{\"policy\":\"fastercache\",\"attention\":2,\"weight\":11}", "weight"},
        {"{\"policy\":\"fastercache\",\"attention\":2,\"forecast\":{\"kind\":\"line\"}}", "forecast"},
        {"{\"policy\":\"pab\",\"attention\":2,\"weight\":0.5}", "weight"},
        {"{\"policy\":\"pab\"}", "no kind of attention"},
        {"{\"policy\":\"pab\",\"mlp\":2}", "mlp"},
        {"{\"policy\":\"pab\",\"attention\":0}", "attention"},
        {"{\"policy\":\"pab\",\"attention\":2,\"timesteps\":[800,100]}", "below the second"},
        {"{\"policy\":\"pab\",\"attention\":2,\"timesteps\":[100]}", "two numbers"},
        {"{\"policy\":\"pab\",\"attention\":2,\"replay\":\"1010\"}", "replay"},
        {"{\"policy\":\"easycache\",\"last\":1}", "last"},
        {"{\"policy\":\"delta\",\"blocks\":2,\"cut\":4}", "interval"},
        {"{\"policy\":\"delta\",\"interval\":2,\"cut\":4}", "blocks"},
        {"{\"policy\":\"delta\",\"interval\":2,\"blocks\":4}", "cut"},
        {"{\"policy\":\"delta\",\"interval\":2,\"blocks\":0,\"cut\":4}", "blocks"},
        {"{\"policy\":\"delta\",\"interval\":2,\"blocks\":1,\"cut\":4,\"replay\":\"1010\"}", "replay"},
        {"{\"policy\":\"fbcache\",\"cfg\":\"apart\"}", "apart"},
        {"{\"policy\":\"easycache\",\"cfg\":\"separate\"}", "cfg"},
        {"{\"policy\":\"modules\"}", "reuses nothing"},
        {"{\"policy\":\"modules\",\"mlp\":\"1111\"}", "reuses nothing"},
        {"{\"policy\":\"modules\",\"mlp\":\"0111\"}", "first step reuses"},
        {"{\"policy\":\"modules\",\"mlp\":\"101\"}", "3 steps, but the run has 4"},
        {"{\"policy\":\"modules\",\"mlp\":2}", "mlp"},
        {"{\"policy\":\"modules\",\"mlp\":\"1010\",\"forecast\":{\"kind\":\"hold\"}}", "forecast"},
        {"{\"policy\":\"fbcache\",\"variant\":\"xdt\"}", "xdt"},
        {"{\"policy\":\"dbcache\",\"variant\":\"xdit\"}", "no other cache"},
        {"{\"policy\":\"fbcache\",\"variant\":\"xdit\",\"forecast\":{\"kind\":\"taylor\"}}", "adds what it kept"},
        {"{\"policy\":\"fbcache\",\"warmup_interval\":2}", "only variant cache-dit"},
        {"{\"policy\":\"teacache\",\"variant\":\"xdit\"}", "variant"},
        {"{\"policy\":\"dbprune\",\"always\":[128]}", "from 0 to 127"},
        {"{\"policy\":\"dbprune\",\"always\":[\"a\"]}", "from 0 to 127"},
        {"{\"policy\":\"dbprune\",\"dynamic\":1}", "dynamic"},
        {"{\"policy\":\"dbprune\",\"max_hits\":1}", "max_hits"},
        {"{\"policy\":\"dbprune\",\"replay\":\"\"}", "a digit for each block"},
        {"{\"policy\":\"dbprune\",\"replay\":\"11,12,11,11\"}", "a digit for each block"},
        {"{\"policy\":\"dbprune\",\"replay\":\"11,1,11,11\"}", "step 1 has 1 digits"},
        {"{\"policy\":\"dbprune\",\"replay\":\"11,11,11,11,\"}", "step 4 has 0 digits"},
        {"{\"policy\":\"dbprune\",\"replay\":\"11,11\"}", "2 steps, but the run has 4"},
        {"{\"policy\":\"fbcache\",\"always\":[1]}", "always"},
        {"{\"policy\":\"easycache\",\"mask\":\"1010\"}", "mask"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dit_cache cache;
        if (read_cache(rows[i].text, 4, &cache) == DIT_OK) fail_msg("%s was read", rows[i].text);
        if (!strstr(dit_error_last()->message, rows[i].word) && !strstr(dit_error_last()->hint, rows[i].word))
            fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].text, dit_error_last()->message, rows[i].word);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_are_known_before_the_run),
        cmocka_unit_test(magcache_decides_as_its_authors_program),
        cmocka_unit_test(what_a_test_decides_is_open),
        cmocka_unit_test(what_is_written_reads_the_same),
        cmocka_unit_test(labels_name_what_differs),
        cmocka_unit_test(labels_tell_lists_apart),
        cmocka_unit_test(forced_steps_stay_within),
        cmocka_unit_test(teacache_sums_what_changes),
        cmocka_unit_test(variants_count_and_compare_as_their_programs),
        cmocka_unit_test(easycache_needs_two_computed_steps),
        cmocka_unit_test(delta_reuses_either_end),
        cmocka_unit_test(branches_may_decide_apart),
        cmocka_unit_test(dbprune_names_what_is_wrong),
        cmocka_unit_test(mistakes_are_refused_in_words),
        cmocka_unit_test(counted_hits_are_spread_evenly),
        cmocka_unit_test(modules_have_schedules_of_their_own),
        cmocka_unit_test(pab_goes_by_timesteps),
        cmocka_unit_test(fastercache_takes_the_steps_of_pab),
        cmocka_unit_test(dsp_takes_no_cache_of_modules),
        cmocka_unit_test(fastercache_leaves_out_a_branch),
        cmocka_unit_test(teacache_by_time_asks_no_rank),
        cmocka_unit_test(tgate_leaves_out_a_branch),
        cmocka_unit_test(tgate_names_what_it_cannot_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
