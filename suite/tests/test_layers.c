/* Workloads of program attention: which cells merge, share a reference, are dropped or refused. */
#include "suite/tests/workload_fixture.h"
#include "suite/workload/workload.h"

#define LAYER "\"program\":\"attention\",\"defaults\":{\"tokens\":64,\"heads\":8,\"head_dim\":16},"

static void a_cell_is_a_layer(void **state)
{
    (void)state;
    suite_workload workload = fixture_load("\"program\":\"attention\",\"defaults\":{\"tokens\":64,\"heads\":8,"
                                           "\"kv_heads\":2,\"head_dim\":16,\"batch\":2,\"causal\":true,\"seed\":5,"
                                           "\"layout\":\"zigzag\",\"ulysses_degree\":2,\"ring_degree\":2}");
    assert_int_equal(workload.case_count, 1);
    const suite_case *one = &workload.cases[0];
    assert_string_equal(one->label, "layer:8/2x16 S64 B2 causal zigzag u2 r2");
    assert_string_equal(fixture_tag(one, "model"), "layer:8/2x16");
    assert_string_equal(fixture_tag(one, "attention"), "usp");
    assert_string_equal(fixture_tag(one, "causal"), "on");
    assert_int_equal(fixture_number(one->tags, "padded_tokens"), 64);
    assert_int_equal(fixture_number(fixture_part(one, "layer"), "kv_heads"), 2);
    assert_int_equal(fixture_number(fixture_part(one, "run"), "seed"), 5);
    /* 4 B n D ((u-1) (2 H/u + 2 Hk/u) + 2 (r-1) u Hk/u), n = 16 */
    assert_int_equal(one->predicted_bytes, 4 * 2 * 16 * 16 * ((2 * 4 + 2 * 1) + 2 * 2 * 1));
    assert_true(one->predicted_memory_bytes > 0);
    assert_null(cJSON_GetObjectItemCaseSensitive(one->document, "model"));
    suite_workload_release(&workload);
}

static void options_without_effect_merge(void **state)
{
    (void)state;
    suite_workload workload = fixture_load(LAYER "\"axes\":{\"layout\":[\"basic\",\"zigzag\",\"stripe\"],"
                                                 "\"packed\":[false,true],\"pad_heads\":[false,true]},"
                                                 "\"zip\":[{\"ulysses_degree\":[1,2,1],\"ring_degree\":[1,1,2]}]");
    assert_int_equal(workload.case_count, 1 + 2 + 3); /* one rank; packed or not; a layout each */
    assert_int_equal(workload.merged_count, 36 - 6);
    assert_int_equal(workload.dropped_count, 0);
    suite_workload_release(&workload);
}

static void how_tokens_lie_does_not_change_the_reference(void **state)
{
    int references = 0;
    (void)state;
    suite_workload workload = fixture_load(
        LAYER "\"axes\":{\"layout\":[\"basic\",\"zigzag\"],\"ring_degree\":[1,2],\"causal\":[false,true]}");
    assert_int_equal(workload.case_count, 6);
    for (int i = 0; i < workload.case_count; i++) {
        const suite_case *one = &workload.cases[i];
        references += one->is_reference;
        for (int j = 0; j < i; j++) {
            bool same = strcmp(one->reference_id, workload.cases[j].reference_id) == 0;
            assert_int_equal(same, !strcmp(fixture_tag(one, "causal"), fixture_tag(&workload.cases[j], "causal")));
        }
    }
    assert_int_equal(references, 2);
    suite_workload_release(&workload);
}

static void what_does_not_divide_is_dropped_or_padded(void **state)
{
    (void)state;
    suite_workload workload =
        fixture_load("\"program\":\"attention\",\"defaults\":{\"tokens\":64,\"heads\":6,\"head_dim\":16,"
                     "\"ulysses_degree\":4},\"axes\":{\"pad_heads\":[false,true]}");
    assert_int_equal(workload.case_count, 1);
    assert_int_equal(workload.dropped[0].code, DIT_ERR_CONSTRAINT_HEADS);
    assert_string_equal(workload.cases[0].label, "layer:6x16 S64 pad_heads u4");
    suite_workload_release(&workload);
    workload = fixture_load("\"program\":\"attention\",\"defaults\":{\"tokens\":63,\"heads\":8,\"head_dim\":16,"
                            "\"ring_degree\":2},\"axes\":{\"pad_tokens\":[false,true]}");
    assert_int_equal(workload.case_count, 1);
    assert_int_equal(workload.dropped[0].code, DIT_ERR_CONSTRAINT_TOKENS);
    assert_int_equal(fixture_number(workload.cases[0].tags, "padded_tokens"), 64);
    suite_workload_release(&workload);
    workload = fixture_load(LAYER "\"axes\":{\"method\":[\"cfg\",\"data\",\"tensor\"],\"world_size\":[2]}");
    assert_int_equal(workload.dropped_count, 3);
    for (int i = 0; i < 3; i++) assert_int_equal(workload.dropped[i].code, DIT_ERR_UNSUPPORTED);
    suite_workload_release(&workload);
}

static void parameters_of_other_programs_are_refused(void **state)
{
    (void)state;
    assert_int_equal(fixture_refused("\"program\":\"attention\",\"defaults\":{\"tokens\":64,\"heads\":8}"),
                     DIT_ERR_JSON_MISSING);
    assert_non_null(strstr(dit_error_last()->message, "head_dim"));
    assert_int_equal(fixture_refused(LAYER "\"axes\":{\"model\":[\"flux.1-dev\"]}"), DIT_ERR_WORKLOAD);
    assert_non_null(strstr(dit_error_last()->message, "model means nothing to program attention"));
    assert_int_equal(fixture_refused(LAYER "\"axes\":{\"num_images\":[1,2]}"), DIT_ERR_WORKLOAD);
    assert_int_equal(fixture_refused("\"defaults\":{\"model\":\"flux.1-dev\",\"causal\":true}"), DIT_ERR_WORKLOAD);
    assert_non_null(strstr(dit_error_last()->hint, "program attention"));
    assert_int_equal(fixture_refused(LAYER "\"axes\":{\"layout\":[\"zebra\"]}"), DIT_ERR_JSON_VALUE);
    assert_int_equal(fixture_refused(LAYER "\"axes\":{\"seq_len\":[64]}"), DIT_ERR_JSON_UNKNOWN_KEY);
    assert_non_null(strstr(dit_error_last()->hint, "\"tokens\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cell_is_a_layer),
        cmocka_unit_test(options_without_effect_merge),
        cmocka_unit_test(how_tokens_lie_does_not_change_the_reference),
        cmocka_unit_test(what_does_not_divide_is_dropped_or_padded),
        cmocka_unit_test(parameters_of_other_programs_are_refused),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
