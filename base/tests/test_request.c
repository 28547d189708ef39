/* What a case says of a request beside its denoising: what is read and refused, and what ranks send. */
#include "base/request.h"

#include "base/tests/test.h"

#include <stdio.h>
#include <string.h>

#define T5                                                                                                             \
    "{\"name\":\"t5\",\"layers\":2,\"width\":32,\"heads\":4,\"head_dim\":8,\"feed_forward\":48,\"gated\":true,"        \
    "\"tokens\":24,\"runs\":2}"
#define CLIP                                                                                                           \
    "{\"name\":\"clip\",\"layers\":3,\"width\":16,\"heads\":4,\"head_dim\":4,\"feed_forward\":48,\"tokens\":10,"       \
    "\"runs\":2,\"skip\":1,\"crop\":2,\"pooled\":16}"

static dit_status read_text(const char *text, dit_request *out)
{
    dit_json doc;
    assert_ok(dit_json_parse(text, strlen(text), "case", &doc));
    dit_status st = dit_request_read(&doc, out);
    if (st == DIT_OK)
        for (int i = 0; i < out->encoder_count; i++) out->encoders[i].name = NULL; /* they go with the document */
    dit_json_release(&doc);
    return st;
}

#define QWEN(states)                                                                                                   \
    "{\"measure\":{\"scope\":\"latents\"},\"conditions\":{\"text_encoder_parallel\":\"tensor\"},\"text_encoders\":["   \
    "{\"name\":\"qwen3\",\"layers\":4,\"width\":32,\"heads\":4,\"head_dim\":8,\"feed_forward\":48,\"tokens\":24,"      \
    "\"runs\":2,\"states\":" states "}]}"

/* Blocks run up to the last state that is taken, and embeddings are as wide as all of them. */
static void states_say_which_blocks_run(void **state)
{
    dit_request request;
    (void)state;
    assert_ok(read_text(QWEN("[1, 3]"), &request));
    dit_text_facts facts = dit_request_text(&request, 0, 4);
    assert_int_equal(facts.blocks, 3);
    assert_int_equal(dit_text_embedding_floats(&facts), 2 * 24 * 32);
    assert_int_equal(read_text(QWEN("[3, 1]"), &request), DIT_ERR_JSON_VALUE);
    assert_int_equal(read_text(QWEN("[0]"), &request), DIT_ERR_JSON_VALUE);
    assert_int_equal(read_text(QWEN("[5]"), &request), DIT_ERR_JSON_VALUE);
    assert_int_equal(read_text(QWEN("[\"1\"]"), &request), DIT_ERR_JSON_VALUE);
    assert_int_equal(read_text(QWEN("3"), &request), DIT_ERR_JSON_TYPE);
}

static void a_case_without_a_scope_has_nothing_beside(void **state)
{
    dit_request request;
    dit_volume_table table = {0};
    (void)state;
    assert_ok(
        read_text("{\"text_encoders\":[" T5 "],\"conditions\":{\"text_encoder_parallel\":\"broadcast\"}}", &request));
    assert_int_equal(request.scope, DIT_SCOPE_DENOISE);
    dit_request_predict(&request, 4, 0, 4, &table);
    assert_int_equal(dit_volume_total_bytes(&table), 0);
}

/* Numbers by hand: two texts (runs) of one prompt, 24 rows of 32 floats and 8 kept rows of 16 with 16 pooled. */
static void encoders_send_the_sum_of_their_closed_forms(void **state)
{
    static const struct {
        const char *way;
        int rank;
        int64_t bytes, messages;
    } cases[] = {
        {"replicated", 0, 0, 0},
        {"broadcast", 0, 3 * (2 * 24 * 32 * 4) + 3 * (2 * (8 * 16 + 16) * 4), 6},
        {"broadcast", 1, 0, 0},
        {"cfg", 1, 2 * 24 * 32 * 2 + 2 * (8 * 16 + 16) * 2, 2},
        /* 4 L (N - 1) messages of B S C / N e; with pooled text all 3 blocks of the second run */
        {"tensor", 2, 4 * 2 * 3 * (2 * 24 * 32) + 4 * 3 * 3 * (2 * 10 * 16), 4 * 2 * 3 + 4 * 3 * 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        dit_request request;
        dit_volume_table table = {0};
        int64_t messages = 0;
        snprintf(text, sizeof text,
                 "{\"measure\":{\"scope\":\"latents\"},\"conditions\":{\"text_encoder_parallel\":\"%s\"},"
                 "\"text_encoders\":[" T5 "," CLIP "]}",
                 cases[i].way);
        assert_ok(read_text(text, &request));
        assert_ok(dit_request_check(&request, 4));
        dit_request_predict(&request, 4, cases[i].rank, 4, &table);
        assert_int_equal(dit_volume_total_bytes(&table), cases[i].bytes);
        for (int p = 0; p < DIT_VOLUME_PLACES; p++) {
            dit_volume_place at = dit_volume_place_of(p);
            messages += DIT_VOLUME_AT(&table, at)->messages;
            if (DIT_VOLUME_AT(&table, at)->messages) assert_int_equal(at.phase, DIT_PHASE_TEXT);
        }
        assert_int_equal(messages, cases[i].messages);
    }
}

static void prompts_are_those_listed_or_one_for_each_image(void **state)
{
    dit_request request;
    (void)state;
    assert_ok(read_text("{\"conditions\":{\"prompts\":[\"a\",\"b\"]},\"run\":{\"num_images\":8}}", &request));
    assert_int_equal(request.prompts, 2);
    assert_ok(read_text("{\"measure\":{\"prompts_differ\":true},\"run\":{\"num_images\":8}}", &request));
    assert_int_equal(request.prompts, 8);
    assert_ok(read_text("{\"run\":{\"num_images\":8}}", &request));
    assert_int_equal(request.prompts, 1);
}

static void a_shared_decode_is_beside_the_denoising(void **state)
{
    static const char text[] =
        "{\"measure\":{\"scope\":\"%s\"},\"parallel\":{\"rows_degree\":2},\"run\":{\"height_px\":32,\"width_px\":32,"
        "\"num_images\":2},\"vae\":{\"config\":{\"_class_name\":\"PixelShuffle\",\"latent_channels\":12,"
        "\"out_channels\":3,\"scale\":2}}}";
    char with[1024];
    dit_request request;
    dit_volume_table table = {0};
    (void)state;
    snprintf(with, sizeof with, text, "latents");
    assert_ok(read_text(with, &request));
    assert_int_equal(request.decode_ranks, 1);
    snprintf(with, sizeof with, text, "pipeline");
    assert_ok(read_text(with, &request));
    assert_int_equal(request.decode_ranks, 2);
    assert_ok(dit_request_check(&request, 2));
    dit_request_predict(&request, 2, 0, 4, &table);
    assert_true(table.at[DIT_AXIS_WORLD][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_DECODE].bytes > 0);
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *text;
        dit_status status;
        const char *words;
    } cases[] = {
        {"{\"measure\":{\"scope\":\"everything\"}}", DIT_ERR_JSON_VALUE, "/measure/scope"},
        {"{\"conditions\":{\"text_encoder_parallel\":\"halves\"}}", DIT_ERR_JSON_VALUE, "text_encoder_parallel"},
        {"{\"text_encoders\":[3]}", DIT_ERR_JSON_TYPE, "/text_encoders/0"},
        {"{\"text_encoders\":[{\"layers\":2}]}", DIT_ERR_JSON_MISSING, "/text_encoders/0"},
        {"{\"text_encoders\":[" T5 "," T5 "," T5 "," T5 "," T5 "]}", DIT_ERR_JSON_VALUE, "at most 4"},
        {"{\"text_encoders\":[{\"layers\":1000,\"width\":1048576,\"heads\":1,\"head_dim\":1,\"feed_forward\":1,"
         "\"tokens\":1048576,\"runs\":65536}]}",
         DIT_ERR_JSON_VALUE, "multiply"},
        {"{\"measure\":{\"scope\":\"pipeline\"},\"parallel\":{\"rows_degree\":2}}", DIT_ERR_JSON_MISSING, "vae"},
    };
    dit_request request;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_fails(read_text(cases[i].text, &request), cases[i].status, cases[i].words);
    assert_ok(read_text("{\"measure\":{\"scope\":\"latents\"},\"conditions\":{\"text_encoder_parallel\":\"tensor\"},"
                        "\"text_encoders\":[" T5 "]}",
                        &request));
    request.encoders[0].name = "t5";
    assert_fails(dit_request_check(&request, 8), DIT_ERR_CONSTRAINT_HEADS, "4 heads");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_say_which_blocks_run),
        cmocka_unit_test(a_case_without_a_scope_has_nothing_beside),
        cmocka_unit_test(encoders_send_the_sum_of_their_closed_forms),
        cmocka_unit_test(prompts_are_those_listed_or_one_for_each_image),
        cmocka_unit_test(a_shared_decode_is_beside_the_denoising),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
