/* Text encoders of seeded weights: which token sees which, which hidden state is given out, streamed weights, memory as
 * counted, hostile configs and ids. That the numbers are transformers' is golden's business (test_golden.sh). */
#include "base/rng.h"
#include "engine/text/encoders/encoder.h"

#include "base/tests/test.h"

enum { BATCH = 2, TOKENS = 12, VOCABULARY = 50, WIDTH = 32 };

#define T5(more)                                                                                                       \
    "{\"architectures\": [\"" more "EncoderModel\"], \"d_model\": 32, \"d_kv\": 12, \"num_heads\": 4, \"d_ff\": 40,"   \
    "\"num_layers\": 3, \"vocab_size\": 50, \"feed_forward_proj\": \"gated-gelu\","                                    \
    "\"relative_attention_num_buckets\": 8, \"relative_attention_max_distance\": 9}"
#define CLIP(name)                                                                                                     \
    "{\"architectures\": [\"" name "\"], \"hidden_size\": 32, \"num_attention_heads\": 4,"                             \
    "\"intermediate_size\": 40, \"num_hidden_layers\": 3, \"vocab_size\": 50, \"projection_dim\": 20,"                 \
    "\"eos_token_id\": 49, \"hidden_act\": \"quick_gelu\"}"
static const char bert[] = "{\"model_type\": \"bert\", \"hidden_size\": 32, \"num_attention_heads\": 4,"
                           "\"intermediate_size\": 40, \"num_hidden_layers\": 3, \"vocab_size\": 50}";
static const char llama[] = "{\"architectures\": [\"LlamaModel\"], \"hidden_size\": 32, \"num_attention_heads\": 4,"
                            "\"num_key_value_heads\": 2, \"intermediate_size\": 40, \"num_hidden_layers\": 3,"
                            "\"vocab_size\": 50}";
static const char qwen3[] = "{\"architectures\": [\"Qwen3Model\"], \"hidden_size\": 32, \"num_attention_heads\": 4,"
                            "\"num_key_value_heads\": 2, \"head_dim\": 6, \"intermediate_size\": 40,"
                            "\"num_hidden_layers\": 3, \"vocab_size\": 50}";
#define GEMMA2(more)                                                                                                   \
    "{\"architectures\": [\"Gemma2Model\"], \"hidden_size\": 32, \"num_attention_heads\": 4, \"head_dim\": 8,"         \
    "\"num_key_value_heads\": 2, \"intermediate_size\": 40, \"vocab_size\": 50, \"query_pre_attn_scalar\": 9,"         \
    "\"sliding_window\": 5, \"attn_logit_softcapping\": 2.0, \"num_hidden_layers\": " more "}"
#define LANGUAGE                                                                                                       \
    "{\"hidden_size\": 32, \"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"intermediate_size\": 40,"         \
    "\"num_hidden_layers\": 3, \"vocab_size\": 50"
static const char qwen25_vl[] =
    "{\"architectures\": [\"Qwen2_5_VLForConditionalGeneration\"], \"text_config\": " LANGUAGE
    ", \"rope_scaling\": {\"type\": \"mrope\", \"mrope_section\": [1, 1, 2]}}}";
static const char *const all[] = {
    T5("T5"), T5("UMT5"), T5("MT5"),  CLIP("CLIPTextModel"), CLIP("CLIPTextModelWithProjection"), bert, llama,
    qwen3,    qwen25_vl,  GEMMA2("3")};
enum { ALL = sizeof all / sizeof *all };

/* An encoder with what it lives on. */
typedef struct {
    dit_json document;
    dit_weights weights;
    dit_runtime rt;
    dit_text_encoder_params params;
    dit_text_encoder *encoder;
    int32_t ids[BATCH * TOKENS], mask[BATCH * TOKENS];
    float hidden[BATCH * TOKENS * WIDTH * DIT_TEXT_STATES], pooled[BATCH * WIDTH];
} fixture;

/* Only what an encoder needs of a runtime: this test starts no communication. */
static void start(fixture *f, const char *text, bool counting)
{
    const dit_parallel one = {0};
    *f = (fixture){.weights = {.seed = 5}};
    assert_ok(dit_json_parse(text, strlen(text), "test", &f->document));
    f->rt.ledger.counting_only = counting;
    dit_arena_init(&f->rt.run, &f->rt.ledger, DIT_MEMORY_WEIGHTS);
    dit_arena_init(&f->rt.image, &f->rt.ledger, DIT_MEMORY_STATE);
    dit_arena_init(&f->rt.step, &f->rt.ledger, DIT_MEMORY_ACTIVATIONS);
    dit_arena_init(&f->rt.comm_arena, &f->rt.ledger, DIT_MEMORY_COMM);
    f->rt.kernels = dit_kernels_counting();
    if (!counting) assert_ok(dit_kernels_get("cpu", &f->rt.kernels));
    assert_ok(dit_pool_create(2, false, &f->rt.pool));
    assert_ok(dit_timing_create(NULL, &f->rt.timing));
    assert_ok(dit_comm_create_counting(&one, 0, DIT_AXIS_TENSOR, &f->rt.counters, &f->rt.comm[DIT_AXIS_TENSOR]));
    f->params = (dit_text_encoder_params){.rt = &f->rt, .weights = &f->weights, .batch = BATCH, .tokens = TOKENS};
    f->params.config = (dit_config){.doc = &f->document, .object = f->document.root, .pointer = ""};
    for (int i = 0; i < BATCH * TOKENS; i++) {
        f->ids[i] = (int32_t)dit_rng_below(3, 1, (uint64_t)i, VOCABULARY - 1);
        f->mask[i] = i % TOKENS < TOKENS - 3;
    }
    f->ids[7] = f->ids[TOKENS + 4] = VOCABULARY - 1; /* end tokens */
}

static void stop(fixture *f)
{
    dit_text_encoder_free(f->encoder);
    dit_arena_release(&f->rt.run);
    dit_arena_release(&f->rt.image);
    dit_arena_release(&f->rt.step);
    dit_arena_release(&f->rt.comm_arena);
    dit_comm_free(f->rt.comm[DIT_AXIS_TENSOR]);
    dit_timing_free(f->rt.timing);
    dit_pool_free(f->rt.pool);
    dit_json_release(&f->document);
}

static void run(fixture *f, bool masked)
{
    const dit_text_input input = {.ids = f->ids, .mask = masked ? f->mask : NULL};
    if (!f->encoder) assert_ok(dit_text_encoder_create(&f->params, &f->encoder));
    assert_ok(dit_text_encoder_run(f->encoder, &input, f->hidden, f->params.pooled ? f->pooled : NULL));
}

static bool has_pooled(const fixture *f)
{
    dit_text_encoder_facts facts;
    assert_ok(dit_text_encoder_read_facts(&f->params.config, &facts));
    return facts.pooled > 0;
}

/* True if row `token` of a prompt has the same bits in both. */
static bool same_row(const float *a, const float *b, int64_t row)
{
    return memcmp(a + row * WIDTH, b + row * WIDTH, WIDTH * sizeof *a) == 0;
}

/* ---- who sees whom ----------------------------------------------------------------------------------------------- */

static void nobody_sees_padding(void **state)
{
    fixture f;
    float before[BATCH * TOKENS * WIDTH];
    (void)state;
    for (int i = 0; i < ALL; i++) {
        start(&f, all[i], false);
        run(&f, true);
        memcpy(before, f.hidden, sizeof before);
        f.ids[TOKENS - 1]++, f.ids[2 * TOKENS - 2]++;
        run(&f, true);
        for (int row = 0; row < BATCH * TOKENS; row++)
            if (f.mask[row]) assert_true(same_row(before, f.hidden, row));
        assert_false(same_row(before, f.hidden, TOKENS - 1));
        stop(&f);
    }
}

static void a_causal_encoder_sees_what_comes_before(void **state)
{
    fixture f;
    float before[BATCH * TOKENS * WIDTH];
    (void)state;
    for (int i = 0; i < ALL; i++) {
        bool causal =
            strstr(all[i], "CLIP") || strstr(all[i], "Llama") || strstr(all[i], "Qwen") || strstr(all[i], "Gemma");
        start(&f, all[i], false);
        run(&f, false);
        memcpy(before, f.hidden, sizeof before);
        f.ids[5] = (f.ids[5] + 1) % VOCABULARY;
        run(&f, false);
        for (int row = 0; row < 5; row++) assert_int_equal(same_row(before, f.hidden, row), causal);
        for (int row = 5; row < TOKENS; row++) assert_false(same_row(before, f.hidden, row));
        for (int row = TOKENS; row < 2 * TOKENS; row++) assert_true(same_row(before, f.hidden, row));
        stop(&f);
    }
}

/* Of one block. Rows 2 to 6 see token 2 through a window of five. */
static void a_window_hides_what_lies_before_it(void **state)
{
    static const struct {
        const char *text;
        int last;
    } blocks[] = {{GEMMA2("1"), 6}, {GEMMA2("1, \"layer_types\": [\"full_attention\"]"), TOKENS - 1}};
    fixture f;
    float before[BATCH * TOKENS * WIDTH];
    (void)state;
    for (int i = 0; i < 2; i++) {
        start(&f, blocks[i].text, false);
        run(&f, false);
        memcpy(before, f.hidden, sizeof before);
        f.ids[2] = (f.ids[2] + 1) % VOCABULARY;
        run(&f, false);
        for (int row = 0; row < TOKENS; row++)
            assert_int_equal(same_row(before, f.hidden, row), row < 2 || row > blocks[i].last);
        stop(&f);
    }
}

/* ---- what is given out ------------------------------------------------------------------------------------------- */

static void a_cropped_run_is_the_end_of_a_whole_one(void **state)
{
    enum { CROP = 4, KEPT = TOKENS - CROP };
    fixture f;
    float whole[BATCH * TOKENS * WIDTH];
    (void)state;
    start(&f, llama, false);
    f.params.skip = 1;
    run(&f, true);
    memcpy(whole, f.hidden, sizeof whole);
    stop(&f);
    start(&f, llama, false);
    f.params.skip = 1, f.params.crop = CROP, f.params.zero_padding = true;
    run(&f, true);
    for (int b = 0; b < BATCH; b++)
        for (int token = CROP; token < TOKENS; token++) {
            const float *row = f.hidden + (b * KEPT + token - CROP) * WIDTH;
            if (f.mask[b * TOKENS + token])
                assert_memory_equal(row, whole + (b * TOKENS + token) * WIDTH, WIDTH * sizeof *row);
            for (int c = 0; c < WIDTH && !f.mask[b * TOKENS + token]; c++) assert_true(row[c] == 0);
        }
    stop(&f);
}

static void a_skipped_state_is_the_same_whether_or_not_later_blocks_run(void **state)
{
    fixture f;
    float alone[BATCH * TOKENS * WIDTH];
    (void)state;
    for (int pooled = 0; pooled < 2; pooled++) {
        start(&f, CLIP("CLIPTextModel"), false);
        f.params.skip = 1, f.params.pooled = pooled;
        run(&f, false);
        if (pooled) assert_memory_equal(f.hidden, alone, sizeof alone);
        memcpy(alone, f.hidden, sizeof alone);
        stop(&f);
    }
}

/* Three states beside each other, the last one normed, are those of runs that take one each. */
static void states_lie_beside_each_other(void **state)
{
    enum { STATES = 3 };
    const dit_text_states taken = {STATES, {0, 1, 3}};
    fixture all_states, one;
    (void)state;
    start(&all_states, qwen3, false);
    all_states.params.states = taken;
    run(&all_states, true);
    for (int i = 0; i < STATES; i++) {
        start(&one, qwen3, false);
        one.params.skip = 3 - taken.after[i];
        run(&one, true);
        for (int row = 0; row < BATCH * TOKENS; row++)
            assert_memory_equal(all_states.hidden + (row * STATES + i) * WIDTH, one.hidden + row * WIDTH,
                                WIDTH * sizeof *one.hidden);
        stop(&one);
    }
    stop(&all_states);
}

static void text_is_pooled_at_the_end_token(void **state)
{
    fixture f;
    (void)state;
    start(&f, CLIP("CLIPTextModel"), false);
    f.params.pooled = true;
    run(&f, false);
    assert_memory_equal(f.pooled, f.hidden + 7 * WIDTH, WIDTH * sizeof *f.pooled);
    assert_memory_equal(f.pooled + WIDTH, f.hidden + (TOKENS + 4) * WIDTH, WIDTH * sizeof *f.pooled);
    stop(&f);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void streamed_weights_give_the_bits_of_resident_ones(void **state)
{
    fixture f;
    float resident[BATCH * TOKENS * WIDTH];
    (void)state;
    for (int i = 0; i < ALL; i++) {
        int64_t weights = 0;
        for (int streamed = 0; streamed < 2; streamed++) {
            start(&f, all[i], false);
            f.params.streamed = streamed;
            run(&f, true);
            if (streamed) assert_memory_equal(f.hidden, resident, sizeof resident);
            if (streamed) assert_true(f.rt.ledger.peak[DIT_MEMORY_WEIGHTS] < weights / 2);
            memcpy(resident, f.hidden, sizeof resident);
            weights = f.rt.ledger.peak[DIT_MEMORY_WEIGHTS];
            stop(&f);
        }
    }
}

static void memory_is_what_counting_says(void **state)
{
    fixture f;
    (void)state;
    for (int i = 0; i < 2 * ALL; i++) {
        int64_t peak[DIT_MEMORY_CLASS_COUNT], parameters = 0;
        double flops = 0;
        for (int counting = 0; counting < 2; counting++) {
            start(&f, all[i / 2], counting);
            f.params.streamed = i % 2;
            f.params.pooled = has_pooled(&f);
            if (f.params.pooled) f.params.skip = 1;
            if (counting) {
                assert_ok(dit_text_encoder_create(&f.params, &f.encoder));
                assert_ok(dit_text_encoder_run(f.encoder, &(dit_text_input){0}, NULL, NULL));
                assert_memory_equal(f.rt.ledger.peak, peak, sizeof peak);
                assert_int_equal(f.rt.parameters, parameters);
                assert_true(f.rt.flops.linear == flops);
            } else {
                run(&f, false);
            }
            memcpy(peak, f.rt.ledger.peak, sizeof peak);
            parameters = f.rt.parameters, flops = f.rt.flops.linear;
            stop(&f);
        }
    }
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static void refuse(const char *text, dit_status status, const char *words)
{
    fixture f;
    start(&f, text, false);
    assert_fails(dit_text_encoder_create(&f.params, &f.encoder), status, words);
    stop(&f);
}

static void configs_that_would_give_other_results_are_refused(void **state)
{
    (void)state;
    refuse("{\"architectures\": [\"GPT2Model\"]}", DIT_ERR_UNSUPPORTED, "GPT2Model");
    refuse("{\"architectures\": [3]}", DIT_ERR_JSON_TYPE, "string");
    refuse("{}", DIT_ERR_UNSUPPORTED, "no architecture");
    refuse("{\"model_type\": \"mistral3\", \"text_config\": " LANGUAGE
           ", \"rope_parameters\": {\"rope_type\": \"yarn\"}}}",
           DIT_ERR_UNSUPPORTED, "/text_config/rope_parameters/rope_type is yarn");
    refuse("{\"model_type\": \"mistral3\", \"text_config\": " LANGUAGE ", \"sliding_window\": 11}}", DIT_ERR_SHAPE,
           "12 tokens cannot be encoded; the encoder takes up to 11");
    refuse("{\"model_type\": \"mistral3\"}", DIT_ERR_JSON_MISSING, "num_hidden_layers");
    refuse(GEMMA2("2, \"layer_types\": [\"sliding_attention\"]"), DIT_ERR_JSON_VALUE, "1 entries for 2 blocks");
    refuse(GEMMA2("1, \"layer_types\": [\"linear_attention\"]"), DIT_ERR_UNSUPPORTED, "layer_types[0]");
    refuse(GEMMA2("1, \"use_bidirectional_attention\": true"), DIT_ERR_UNSUPPORTED, "use_bidirectional_attention");
    refuse("{\"model_type\": \"bert\"}", DIT_ERR_JSON_MISSING, "num_hidden_layers");
    refuse("{\"model_type\": \"t5\", \"d_model\": 32}", DIT_ERR_JSON_MISSING, "num_layers");
    refuse("{\"model_type\": \"t5\", \"d_model\": 32, \"d_kv\": 8, \"num_heads\": 4, \"d_ff\": 8, \"num_layers\": 1,"
           "\"vocab_size\": 9, \"feed_forward_proj\": \"selu\"}",
           DIT_ERR_UNSUPPORTED, "selu");
    refuse("{\"model_type\": \"mt5\", \"d_model\": 32, \"d_kv\": 8, \"num_heads\": 4, \"d_ff\": 8, \"num_layers\": 1,"
           "\"vocab_size\": 9, \"relative_attention_num_buckets\": 6}",
           DIT_ERR_UNSUPPORTED, "multiple of 4");
    refuse("{\"model_type\": \"llama\", \"rope_scaling\": {\"type\": \"linear\"}}", DIT_ERR_UNSUPPORTED,
           "rope_scaling");
    refuse("{\"model_type\": \"llama\", \"hidden_size\": 32, \"num_attention_heads\": 4, \"num_key_value_heads\": 3,"
           "\"intermediate_size\": 8, \"num_hidden_layers\": 1, \"vocab_size\": 9}",
           DIT_ERR_SHAPE, "3 key heads");
    refuse("{\"model_type\": \"bert\", \"hidden_size\": 30, \"num_attention_heads\": 4, \"intermediate_size\": 8,"
           "\"num_hidden_layers\": 1, \"vocab_size\": 9}",
           DIT_ERR_SHAPE, "divide");
    refuse("{\"model_type\": \"bert\", \"hidden_size\": 32, \"num_attention_heads\": 4, \"intermediate_size\": 8,"
           "\"num_hidden_layers\": 1, \"vocab_size\": 9, \"max_position_embeddings\": 5}",
           DIT_ERR_SHAPE, "up to 5");
}

static void ids_outside_of_the_vocabulary_are_refused(void **state)
{
    fixture f;
    (void)state;
    for (int i = 0; i < ALL; i++) {
        start(&f, all[i], false);
        assert_ok(dit_text_encoder_create(&f.params, &f.encoder));
        f.ids[TOKENS + 2] = i % 2 ? VOCABULARY : -1;
        assert_fails(dit_text_encoder_run(f.encoder, &(dit_text_input){.ids = f.ids}, f.hidden, NULL), DIT_ERR_SHAPE,
                     "token 2 of prompt 1");
        stop(&f);
    }
}

static void what_an_encoder_does_not_have_is_refused(void **state)
{
    fixture f;
    (void)state;
    start(&f, bert, false);
    f.params.pooled = true;
    assert_fails(dit_text_encoder_create(&f.params, &f.encoder), DIT_ERR_UNSUPPORTED, "pooled");
    f.params.pooled = false, f.params.skip = 4;
    assert_fails(dit_text_encoder_create(&f.params, &f.encoder), DIT_ERR_SHAPE, "hidden state 4");
    f.params.skip = 0, f.params.crop = TOKENS;
    assert_fails(dit_text_encoder_create(&f.params, &f.encoder), DIT_ERR_SHAPE, "first 12");
    f.params.crop = 0, f.params.states = (dit_text_states){2, {1, 4}};
    assert_fails(dit_text_encoder_create(&f.params, &f.encoder), DIT_ERR_SHAPE, "after block 4");
    f.params.states = (dit_text_states){2, {2, 2}};
    assert_fails(dit_text_encoder_create(&f.params, &f.encoder), DIT_ERR_SHAPE, "after block 2");
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_sees_padding),
        cmocka_unit_test(a_causal_encoder_sees_what_comes_before),
        cmocka_unit_test(a_window_hides_what_lies_before_it),
        cmocka_unit_test(a_cropped_run_is_the_end_of_a_whole_one),
        cmocka_unit_test(a_skipped_state_is_the_same_whether_or_not_later_blocks_run),
        cmocka_unit_test(states_lie_beside_each_other),
        cmocka_unit_test(text_is_pooled_at_the_end_token),
        cmocka_unit_test(streamed_weights_give_the_bits_of_resident_ones),
        cmocka_unit_test(memory_is_what_counting_says),
        cmocka_unit_test(configs_that_would_give_other_results_are_refused),
        cmocka_unit_test(ids_outside_of_the_vocabulary_are_refused),
        cmocka_unit_test(what_an_encoder_does_not_have_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
