/* Torch random: the numbers that PyTorch itself gave (base/tests/torch/golden.py), bit for bit where blocks of 16 are
 * transformed, and within the last bit where the math library decides. */
#include "base/torch_random.h"

#include "base/tests/test.h"

typedef struct {
    uint64_t seed;
    int index; /* 0: a new generator; else the generator of the row before goes on */
    int64_t count;
    uint64_t sum; /* of the bits of all numbers                                    */
    uint32_t edges[8];
} golden_draw;

#include "base/tests/torch/golden.h"

enum { BLOCK = 16, EDGE = 4 };

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void assert_edge(uint32_t expected, float got, bool exact)
{
    uint32_t bits = bits_of(got);
    if (exact)
        assert_int_equal(bits, expected);
    else
        assert_in_range(bits - expected + 1, 0, 2);
}

static void check_draw(const golden_draw *row, const float *values)
{
    bool exact = row->count >= BLOCK;
    uint64_t sum = 0;
    for (int64_t i = 0; i < row->count; i++) sum += bits_of(values[i]);
    if (row->count < 2 * EDGE)
        for (int64_t i = 0; i < row->count; i++) assert_edge(row->edges[i], values[i], exact);
    else
        for (int i = 0; i < EDGE; i++) {
            assert_edge(row->edges[i], values[i], exact);
            assert_edge(row->edges[EDGE + i], values[row->count - EDGE + i], exact);
        }
    if (exact) assert_true(sum == row->sum);
}

static void draws_are_those_of_pytorch(void **state)
{
    dit_torch_generator generator;
    (void)state;
    for (size_t i = 0; i < sizeof golden_draws / sizeof *golden_draws; i++) {
        const golden_draw *row = &golden_draws[i];
        float *values = malloc((size_t)row->count * sizeof *values);
        assert_non_null(values);
        if (row->index == 0) dit_torch_seed(&generator, row->seed);
        dit_torch_randn(&generator, row->count, values);
        check_draw(row, values);
        free(values);
    }
}

/* The C++ standard's own check of mt19937, [rand.predef]: word 10000 with seed 5489 is 4123659995. Sixteen numbers take
 * sixteen words, and a uniform is the low 24 bits of a word. */
static void the_generator_is_mt19937(void **state)
{
    dit_torch_generator generator;
    float values[10000];
    (void)state;
    dit_torch_seed(&generator, 5489);
    dit_torch_randn(&generator, 9984, values); /* 624 blocks: whole renewals */
    assert_int_equal(generator.next, DIT_TORCH_WORDS);
    dit_torch_randn(&generator, BLOCK, values);
    assert_int_equal(generator.next, BLOCK);
    uint32_t x = generator.word[BLOCK - 1];
    x ^= x >> 11, x ^= x << 7 & 0x9d2c5680u, x ^= x << 15 & 0xefc60000u, x ^= x >> 18;
    assert_int_equal(x, 4123659995u);
}

static void moments_are_those_of_a_normal(void **state)
{
    enum { COUNT = 1 << 20 };
    dit_torch_generator generator;
    float *values = malloc(COUNT * sizeof *values);
    double sum[5] = {0}, error = 5 / sqrt(COUNT);
    (void)state;
    assert_non_null(values);
    dit_torch_seed(&generator, 3);
    dit_torch_randn(&generator, COUNT, values);
    for (int i = 0; i < COUNT; i++)
        for (int k = 1; k < 5; k++) sum[k] += pow(values[i], k) / COUNT;
    assert_true(fabs(sum[1]) < error);
    assert_true(fabs(sum[2] - 1) < error * sqrt(2));
    assert_true(fabs(sum[3]) < error * sqrt(15));
    assert_true(fabs(sum[4] - 3) < error * sqrt(96));
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_are_those_of_pytorch),
        cmocka_unit_test(the_generator_is_mt19937),
        cmocka_unit_test(moments_are_those_of_a_normal),
    };
    return cmocka_run_group_tests_name("torch random", tests, NULL, NULL);
}
