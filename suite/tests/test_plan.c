/* The plan: randomised blocks that are the same for the same seed, references first. */
#include "suite/session/plan.h"
#include "suite/tests/workload_fixture.h"
#include "suite/verbs/verbs.h"
#include "suite/workload/workload.h"

static const char members[] =
    "\"defaults\":{\"model\":{\"name\":\"pixart-alpha-xl-2\",\"override\":{\"num_layers\":2}},"
    "\"resolution\":\"256x256\"},\"axes\":{\"method\":[\"single\",\"ulysses\",\"ring\",\"cfg\"],"
    "\"world_size\":[1,2,4],\"seed\":[1,2]},\"repeat\":{\"processes\":4,\"seed\":7}";

static suite_run_item *plan_of(suite_workload *workload, uint64_t seed, int *count)
{
    suite_run_item *items;
    workload->plan_seed = seed;
    assert_int_equal(suite_plan(workload, &items, count), DIT_OK);
    assert_int_equal(*count, workload->case_count * workload->processes);
    return items;
}

static void every_block_holds_every_case_once(void **state)
{
    int count;
    (void)state;
    suite_workload workload = fixture_load(members);
    suite_run_item *items = plan_of(&workload, 7, &count);
    for (int block = 0; block < workload.processes; block++) {
        int seen[64] = {0};
        for (int i = 0; i < workload.case_count; i++) {
            const suite_run_item *item = &items[block * workload.case_count + i];
            assert_int_equal(item->block, block);
            assert_int_equal(item->process, block);
            assert_int_equal(item->order, block * workload.case_count + i);
            assert_int_equal(seen[item->case_index]++, 0);
        }
    }
    free(items);
    suite_workload_release(&workload);
}

static void references_come_first_in_the_first_block_only(void **state)
{
    int count, later_first = 0;
    (void)state;
    suite_workload workload = fixture_load(members);
    suite_run_item *items = plan_of(&workload, 7, &count);
    assert_true(workload.cases[items[0].case_index].is_reference);
    assert_true(workload.cases[items[1].case_index].is_reference);
    for (int i = 2; i < workload.case_count; i++) assert_false(workload.cases[items[i].case_index].is_reference);
    for (int block = 1; block < workload.processes; block++)
        later_first += workload.cases[items[block * workload.case_count].case_index].is_reference;
    assert_true(later_first < workload.processes - 1);
    free(items);
    suite_workload_release(&workload);
}

static void the_seed_alone_decides_the_order(void **state)
{
    int count;
    (void)state;
    suite_workload workload = fixture_load(members);
    suite_run_item *one = plan_of(&workload, 7, &count), *same = plan_of(&workload, 7, &count);
    suite_run_item *other = plan_of(&workload, 8, &count);
    size_t bytes = (size_t)count * sizeof *one;
    assert_memory_equal(one, same, bytes);
    assert_memory_not_equal(one, other, bytes);
    free(one);
    free(same);
    free(other);
    suite_workload_release(&workload);
}

static void more_processes_keep_the_earlier_blocks(void **state)
{
    int few, many;
    (void)state;
    suite_workload workload = fixture_load(members);
    suite_run_item *one = plan_of(&workload, 7, &few);
    workload.processes = 9;
    suite_run_item *other = plan_of(&workload, 7, &many);
    assert_true(many > few);
    assert_memory_equal(one, other, (size_t)few * sizeof *one);
    free(one);
    free(other);
    suite_workload_release(&workload);
}

/* What the verb prints on stdout; the caller frees it. */
static char *printed_plan(const char *seed)
{
    char path[] = "/tmp/ditbench-plan-XXXXXX", file[256];
    char *argv[] = {(char[]){"plan"}, file, (char[]){"--json"}, (char[]){"--seed"}, (char *)(uintptr_t)seed, NULL};
    snprintf(file, sizeof file, "%s/test.json", fixture_folder);
    int out = mkstemp(path), saved = dup(STDOUT_FILENO);
    assert_true(out >= 0 && saved >= 0);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    int code = suite_verb_plan(5, argv);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    off_t length = lseek(out, 0, SEEK_END);
    char *text = calloc((size_t)length + 1, 1);
    assert_non_null(text);
    assert_int_equal(pread(out, text, (size_t)length, 0), length);
    close(out);
    unlink(path);
    assert_int_equal(code, DIT_EXIT_OK);
    return text;
}

static void two_equal_calls_print_equal_bytes(void **state)
{
    char *text = NULL, path[256];
    dit_json document;
    (void)state;
    assert_true(asprintf(&text, "{\"schema\":\"ditbench.workload/1\",\"name\":\"test\",%s}\n", members) > 0);
    fixture_write("test.json", text);
    free(text);
    char *one = printed_plan("11"), *same = printed_plan("11"), *other = printed_plan("12");
    assert_string_equal(one, same);
    assert_string_not_equal(one, other);
    assert_int_equal(dit_json_parse(one, strlen(one), "stdout", &document), DIT_OK);
    const cJSON *run = cJSON_GetObjectItemCaseSensitive(document.root, "runs")->child;
    assert_int_equal(cJSON_GetObjectItemCaseSensitive(run, "predicted_bytes")->valueint,
                     0); /* one rank sends nothing */
    assert_true(cJSON_GetObjectItemCaseSensitive(run, "predicted_memory_bytes")->valuedouble > 1e8);
    dit_json_release(&document);
    free(one);
    free(same);
    free(other);
    snprintf(path, sizeof path, "%s/test.json", fixture_folder);
    unlink(path);
}

static void predicted_bytes_of_ulysses_are_half_of_ring_at_four(void **state)
{
    double ulysses = 0, ring = 0;
    const double gather = 3.0 * 64 * 16 * 4; /* latents of 64 tokens to each of three others */
    (void)state;
    suite_workload workload = fixture_load(members);
    for (int i = 0; i < workload.case_count; i++) {
        if (strcmp(fixture_tag(&workload.cases[i], "mesh"), "u4") == 0)
            ulysses = (double)workload.cases[i].predicted_bytes;
        if (strcmp(fixture_tag(&workload.cases[i], "mesh"), "r4") == 0)
            ring = (double)workload.cases[i].predicted_bytes;
    }
    assert_true(ulysses > gather);
    assert_true(2 * (ulysses - gather) == ring - gather);
    suite_workload_release(&workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_holds_every_case_once),
        cmocka_unit_test(references_come_first_in_the_first_block_only),
        cmocka_unit_test(the_seed_alone_decides_the_order),
        cmocka_unit_test(more_processes_keep_the_earlier_blocks),
        cmocka_unit_test(two_equal_calls_print_equal_bytes),
        cmocka_unit_test(predicted_bytes_of_ulysses_are_half_of_ring_at_four),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
