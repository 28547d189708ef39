/* Programs and parameters of workloads: the tables that expansion asks. */
#include "suite/catalogue/parameter.h"
#include "suite/tests/workload_fixture.h"
#include "suite/workload/programs/predict.h"
#include "suite/workload/programs/program.h"
#include "suite/workload/tags.h"

#include "base/words.h"

static void a_row_of_the_list_is_the_row_of_its_file(void **state)
{
    const suite_program *const *all = suite_programs();
    (void)state;
#define CHECK_ROW(constant, program)                                                                                   \
    assert_ptr_equal(all[SUITE_PROGRAM_##constant], &suite_program_##program);                                         \
    assert_string_equal(suite_program_##program.name, #program);                                                       \
    assert_int_equal(suite_program_##program.reads, SUITE_READS_##constant);
    SUITE_PROGRAM_LIST(CHECK_ROW)
#undef CHECK_ROW
    assert_null(all[SUITE_PROGRAM_COUNT]);
}

static void a_program_says_all_that_every_case_needs(void **state)
{
    (void)state;
    for (const suite_program *const *one = suite_programs(); *one; one++) {
        const suite_program *p = *one;
        assert_true(p->meaning && p->result && p->resolve && p->document && p->ranks && p->tags && p->judge);
        assert_true(p->label && p->identity && p->read && (p->volume || !p->rank_of_kind));
    }
}

static void a_case_without_a_program_is_of_the_first(void **state)
{
    (void)state;
    cJSON *document = cJSON_CreateObject();
    assert_ptr_equal(suite_program_of_case(document), &suite_program_denoise);
    cJSON_AddStringToObject(document, "program", "attention");
    assert_ptr_equal(suite_program_of_case(document), &suite_program_attention);
    cJSON_Delete(document);
}

/* Of a pipeline of two stages under two rings each, one rank of each stage tells of all. */
static void ranks_of_one_kind_are_looked_at_once(void **state)
{
    suite_prediction prediction = {.program = &suite_program_denoise};
    (void)state;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) prediction.parallel.degree[axis] = 1;
    prediction.parallel.degree[DIT_AXIS_PIPEFUSION] = prediction.parallel.degree[DIT_AXIS_RING] = 2;
    assert_int_equal(suite_program_denoise.rank_of_kind(&prediction, 0), 0);
    assert_int_equal(suite_program_denoise.rank_of_kind(&prediction, 1), 2);
    assert_int_equal(suite_program_denoise.rank_of_kind(&prediction, 2), -1);
}

static void a_program_without_a_closed_form_sends_nothing(void **state)
{
    const suite_prediction prediction = {.program = &suite_program_layer_plan};
    suite_predict_range range;
    (void)state;
    suite_predict_ranks(&prediction, &range);
    assert_int_equal(range.least_bytes, 0);
    assert_int_equal(range.most_bytes, 0);
}

static void what_a_program_cannot_do_without_is_asked_for(void **state)
{
    char members[64];
    (void)state;
    for (const suite_program *const *one = suite_programs(); *one; one++) {
        snprintf(members, sizeof members, "\"program\":\"%s\"", (*one)->name);
        assert_int_equal(fixture_refused(members), DIT_ERR_JSON_MISSING);
        assert_non_null(strstr(dit_error_last()->message, (*one)->name));
    }
    fixture_refused("\"program\":\"attention\",\"defaults\":{\"tokens\":64}");
    assert_non_null(strstr(dit_error_last()->message, "needs heads"));
}

static void a_parameter_is_read_by_some_program(void **state)
{
    (void)state;
    for (int p = 0; p < SUITE_PARAMETER_COUNT; p++) {
        const suite_parameter_row *row = suite_parameter_get((suite_parameter)p);
        if (!(row->readers & (SUITE_READS_ALL | SUITE_READS_PIPELINE))) fail_msg("no program reads %s", row->key);
        if (!suite_parameter_platforms((suite_parameter)p)->name) fail_msg("no platform reads %s", row->key);
    }
}

static void what_filters_call_a_parameter_is_a_tag(void **state)
{
    (void)state;
    for (int p = 0; p < SUITE_PARAMETER_COUNT; p++) {
        const suite_parameter_row *row = suite_parameter_get((suite_parameter)p);
        bool is_tag = dit_words_find(suite_tag_names(), row->key) >= 0;
        if (row->tag && dit_words_find(suite_tag_names(), row->tag) < 0) fail_msg("%s is no tag", row->tag);
        if (is_tag && !row->tag) fail_msg("%s is a tag, and its row says that there is none", row->key);
    }
}

static void a_filter_may_use_the_key_of_a_parameter(void **state)
{
    bool holds = false;
    (void)state;
    cJSON *tags = cJSON_CreateObject();
    cJSON_AddNumberToObject(tags, "steps", 4);
    assert_int_equal(suite_tags_filter(tags, "num_inference_steps == 4", &holds), DIT_OK);
    assert_true(holds);
    cJSON_Delete(tags);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_of_the_list_is_the_row_of_its_file),
        cmocka_unit_test(a_program_says_all_that_every_case_needs),
        cmocka_unit_test(a_case_without_a_program_is_of_the_first),
        cmocka_unit_test(ranks_of_one_kind_are_looked_at_once),
        cmocka_unit_test(a_program_without_a_closed_form_sends_nothing),
        cmocka_unit_test(what_a_program_cannot_do_without_is_asked_for),
        cmocka_unit_test(a_parameter_is_read_by_some_program),
        cmocka_unit_test(what_filters_call_a_parameter_is_a_tag),
        cmocka_unit_test(a_filter_may_use_the_key_of_a_parameter),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
