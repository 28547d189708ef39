/* Masks: slices that do not overlap, pairs counted exactly, and the sizes that the kinds have. */
#include "base/mask.h"

#include "base/tests/test.h"

static double count_pairs(const dit_mask *mask, int64_t tokens)
{
    double pairs = 0;
    for (int64_t query = 0; query < tokens; query++)
        for (int64_t key = 0; key < tokens; key++) {
            int slices = 0;
            for (int i = 0; i < mask->count; i++) slices += dit_mask_slice_has(&mask->slice[i], query, key);
            assert_true(slices <= 1);
            assert_int_equal(slices, dit_mask_sees(mask, query, key));
            pairs += slices;
        }
    return pairs;
}

static void slices_do_not_overlap_and_their_pairs_add_up(void **state)
{
    static const int64_t tokens[] = {1, 2, 3, 7, 8, 31, 64, 100, 257};
    (void)state;
    for (int kind = 1; kind < DIT_MASK_COUNT; kind++)
        for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
            dit_mask mask;
            dit_mask_build((dit_mask_kind)kind, tokens[i], &mask);
            assert_true(mask.count > 0);
            assert_true(dit_mask_pairs(&mask) == count_pairs(&mask, tokens[i]));
            for (int64_t token = 0; token < tokens[i]; token++) assert_true(dit_mask_sees(&mask, token, token));
        }
}

static double pairs_of(dit_mask_kind kind, int64_t tokens)
{
    dit_mask mask;
    dit_mask_build(kind, tokens, &mask);
    return dit_mask_pairs(&mask);
}

static double triangle(double n)
{
    return n * (n + 1) / 2;
}

/* With S = 64 m tokens all sizes come out even. */
static void pairs_are_those_of_the_formulas(void **state)
{
    (void)state;
    for (double S = 64; S <= 512; S *= 2) {
        const int64_t n = (int64_t)S;
        const double w = S / 8, g = S / 16, rest = S - g, p = S / 4, b = S / 8;
        assert_true(pairs_of(DIT_MASK_NONE, n) == 0);
        assert_true(pairs_of(DIT_MASK_WINDOW, n) == S * (2 * w + 1) - w * (w + 1));
        assert_true(pairs_of(DIT_MASK_WINDOW_CAUSAL, n) == S * (w + 1) - triangle(w));
        assert_true(pairs_of(DIT_MASK_GLOBAL_WINDOW, n) == S * g + g * rest + rest * (2 * w + 1) - w * (w + 1));
        assert_true(pairs_of(DIT_MASK_PREFIX_LM, n) == S * p + triangle(S - p));
        assert_true(pairs_of(DIT_MASK_BLOCK_CAUSAL, n) == b * b * 8 * 9 / 2);
        assert_true(pairs_of(DIT_MASK_BLOCK_CAUSAL_WINDOW, n) == b * b * (8 + 7));
        assert_true(pairs_of(DIT_MASK_CAUSAL_BLOCKWISE, n) == 7 * triangle(b) + b * (S - b) + triangle(b));
        double documents = 0, causal = 0, size = S;
        for (int i = 1; i <= 6; i++) {
            if (i < 6) size /= 2; /* the last two are alike */
            documents += size * size;
            causal += triangle(size);
        }
        assert_true(pairs_of(DIT_MASK_DOCUMENTS, n) == documents);
        assert_true(pairs_of(DIT_MASK_DOCUMENTS_CAUSAL, n) == causal);
        double question = triangle(p) + (S - p) * p, answers = 0, answer = (double)(int64_t)((S - p) / 3);
        answers = 2 * triangle(answer) + triangle(S - p - 2 * answer);
        assert_true(pairs_of(DIT_MASK_SHARED_QUESTION, n) == question + answers);
    }
}

static void names_lead_back_to_kinds(void **state)
{
    dit_mask_kind found;
    (void)state;
    for (int kind = 0; kind < DIT_MASK_COUNT; kind++) {
        assert_true(dit_mask_from_name(dit_mask_name((dit_mask_kind)kind), &found));
        assert_int_equal(found, kind);
        assert_ptr_equal(dit_mask_names()[kind], dit_mask_name((dit_mask_kind)kind));
    }
    assert_null(dit_mask_names()[DIT_MASK_COUNT]);
    assert_false(dit_mask_from_name("windows", &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_do_not_overlap_and_their_pairs_add_up),
        cmocka_unit_test(pairs_are_those_of_the_formulas),
        cmocka_unit_test(names_lead_back_to_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
