/* The ways in which ranks share a text encoder: names, what is legal, and the closed form of what is sent. */
#include "base/text_parallel.h"

#include "base/tests/test.h"

/* T5-XXL, two prompts of 512 tokens. */
static const dit_text_facts t5 = {.prompts = 2,
                                  .tokens = 512,
                                  .kept_tokens = 512,
                                  .width = 4096,
                                  .heads = 64,
                                  .key_heads = 64,
                                  .blocks = 24,
                                  .element_bytes = 4};

static void names_lead_back_to_their_way(void **state)
{
    dit_text_parallel way;
    (void)state;
    for (int i = 0; i < DIT_TEXT_PARALLEL_COUNT; i++) {
        assert_true(dit_text_parallel_from_name(dit_text_parallel_name((dit_text_parallel)i), &way));
        assert_int_equal(way, i);
        assert_string_equal(dit_text_parallel_names()[i], dit_text_parallel_name((dit_text_parallel)i));
    }
    assert_null(dit_text_parallel_names()[DIT_TEXT_PARALLEL_COUNT]);
    assert_false(dit_text_parallel_from_name("pipeline", &way));
}

static void what_does_not_divide_is_refused(void **state)
{
    dit_text_facts odd = t5, few = t5;
    odd.prompts = 1;
    few.key_heads = 2;
    (void)state;
    for (int i = 0; i < DIT_TEXT_PARALLEL_COUNT; i++) {
        assert_ok(dit_text_parallel_check((dit_text_parallel)i, 1, &odd));
        assert_ok(dit_text_parallel_check((dit_text_parallel)i, 4, &t5));
    }
    assert_ok(dit_text_parallel_check(DIT_TEXT_BROADCAST, 3, &odd));
    assert_fails(dit_text_parallel_check(DIT_TEXT_TENSOR, 3, &t5), DIT_ERR_CONSTRAINT_HEADS, "64 heads");
    assert_fails(dit_text_parallel_check(DIT_TEXT_TENSOR, 4, &few), DIT_ERR_CONSTRAINT_HEADS, "2 key heads");
    assert_fails(dit_text_parallel_check(DIT_TEXT_CFG, 3, &t5), DIT_ERR_CONSTRAINT_CFG, "3 ranks");
    assert_fails(dit_text_parallel_check(DIT_TEXT_CFG, 2, &odd), DIT_ERR_CONSTRAINT_BATCH, "1 prompts");
}

static void a_mesh_has_all_ranks(void **state)
{
    (void)state;
    for (int i = 0; i < DIT_TEXT_PARALLEL_COUNT; i++)
        for (int ranks = 1; ranks <= 8; ranks *= 2) {
            dit_parallel mesh = dit_text_parallel_mesh((dit_text_parallel)i, ranks);
            assert_int_equal(dit_parallel_world_size(&mesh), ranks);
        }
}

static int64_t sent(dit_text_parallel way, int ranks, int rank, const dit_text_facts *facts)
{
    dit_volume_table table;
    dit_text_volume_predict(way, ranks, rank, facts, &table);
    return dit_volume_total_bytes(&table);
}

static void bytes_are_those_of_the_table(void **state)
{
    dit_text_facts clip = {.prompts = 2,
                           .tokens = 77,
                           .kept_tokens = 77,
                           .width = 768,
                           .pooled = 768,
                           .heads = 12,
                           .key_heads = 12,
                           .blocks = 12,
                           .element_bytes = 2};
    dit_text_facts three = t5;
    int64_t embeddings = INT64_C(2) * 512 * 4096 * 4;
    three.states = 3;
    (void)state;
    for (int i = 0; i < DIT_TEXT_PARALLEL_COUNT; i++) assert_int_equal(sent((dit_text_parallel)i, 1, 0, &t5), 0);
    assert_int_equal(sent(DIT_TEXT_REPLICATED, 4, 0, &t5), 0);
    assert_int_equal(sent(DIT_TEXT_BROADCAST, 4, 0, &t5), 3 * embeddings);
    assert_int_equal(sent(DIT_TEXT_BROADCAST, 4, 1, &t5), 0);
    assert_int_equal(sent(DIT_TEXT_CFG, 4, 3, &t5), embeddings / 2);
    assert_int_equal(sent(DIT_TEXT_TENSOR, 4, 2, &t5), 4 * 24 * 3 * (embeddings / 4));
    assert_int_equal(sent(DIT_TEXT_BROADCAST, 4, 0, &three), 3 * 3 * embeddings);
    assert_int_equal(sent(DIT_TEXT_TENSOR, 4, 2, &three), sent(DIT_TEXT_TENSOR, 4, 2, &t5)); /* blocks are no wider */
    assert_int_equal(sent(DIT_TEXT_BROADCAST, 2, 0, &clip), 2 * (77 * 768 + 768) * 4);       /* embeddings stay fp32 */
    assert_int_equal(sent(DIT_TEXT_TENSOR, 2, 0, &clip), 4 * 12 * (2 * 77 * 768 / 2 * 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lead_back_to_their_way),
        cmocka_unit_test(what_does_not_divide_is_refused),
        cmocka_unit_test(a_mesh_has_all_ranks),
        cmocka_unit_test(bytes_are_those_of_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
