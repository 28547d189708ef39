/* Random numbers: known answers of Philox, the same bits for any sharding, and moments. */
#include "base/hash.h"
#include "base/rng.h"

#include "base/tests/test.h"

/* Random123, tests/kat_vectors, rows "philox4x32 10". */
static void philox_gives_the_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint64_t key, high, low;
        uint32_t expected[4];
    } rows[] = {
        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {UINT64_C(0x299f31d0a4093822),
         UINT64_C(0x0370734413198a2e),
         UINT64_C(0x85a308d3243f6a88),
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t out[4];
        dit_rng_philox(rows[i].key, rows[i].high, rows[i].low, out);
        assert_memory_equal(out, rows[i].expected, sizeof out);
    }
}

/* A normal is the centred sum of the halves of its block: any vector version must say the same as this. */
static void normal_follows_from_its_block(void **state)
{
    (void)state;
    static const uint64_t starts[] = {0, 5, UINT64_C(0xfffffff0), UINT64_MAX - 40};
    float values[67];
    for (size_t k = 0; k < sizeof starts / sizeof *starts; k++) {
        dit_rng_normal(11, 22, starts[k], 67, 0.25f, 3.0f, values);
        for (int i = 0; i < 67; i++) {
            uint32_t block[4];
            int32_t sum = 0;
            dit_rng_philox(11, 22, starts[k] + (uint64_t)i, block);
            for (int j = 0; j < 4; j++) sum += (int32_t)(block[j] & 0xffff) + (int32_t)(block[j] >> 16);
            volatile float unit = (float)(2 * sum - 8 * 65535) * 9.34406183e-06f;
            volatile float scaled = 3.0f * unit, expected = 0.25f + scaled;
            assert_true(values[i] == expected);
        }
    }
}

static void any_sharding_gives_the_same_bits(void **state)
{
    (void)state;
    enum { COUNT = 4099 };
    static float whole[COUNT], parts[COUNT];
    uint64_t stream = dit_rng_stream("transformer_blocks.0.attn1.to_q.weight");
    dit_rng_normal(7, stream, 100, COUNT, 0, 0.02f, whole);
    for (int64_t shard = 1; shard < 600; shard = shard * 3 + 1) {
        memset(parts, 0, sizeof parts);
        for (int64_t first = 0; first < COUNT; first += shard) {
            int64_t count = COUNT - first < shard ? COUNT - first : shard;
            dit_rng_normal(7, stream, 100 + (uint64_t)first, count, 0, 0.02f, parts + first);
        }
        assert_memory_equal(parts, whole, sizeof whole);
    }
}

static void the_bits_never_change(void **state)
{
    (void)state;
    enum { COUNT = 10000 };
    static float values[COUNT];
    char hash[DIT_HASH_HEX];
    dit_rng_normal(42, dit_rng_stream("latents"), 0, COUNT, 0, 1, values);
    dit_hash(values, sizeof values, hash);
    assert_string_equal(hash, "f442f2d4d98ca57524fdb81ad19a0bac");
}

static void streams_and_seeds_differ(void **state)
{
    (void)state;
    float a[64], b[64];
    assert_true(dit_rng_stream("a") != dit_rng_stream("b"));
    dit_rng_normal(1, 2, 0, 64, 0, 1, a);
    dit_rng_normal(1, 3, 0, 64, 0, 1, b);
    assert_memory_not_equal(a, b, sizeof a);
    dit_rng_normal(2, 2, 0, 64, 0, 1, b);
    assert_memory_not_equal(a, b, sizeof a);
}

/* Bounds are five standard errors of each moment at this count. */
static void moments_are_those_of_the_stated_normal(void **state)
{
    (void)state;
    enum { COUNT = 1 << 20 };
    float *values = malloc(COUNT * sizeof *values);
    double sum[5] = {0}, previous = 0, product = 0, largest = 0;
    assert_non_null(values);
    dit_rng_normal(3, 4, 0, COUNT, 0, 1, values);
    for (int i = 0; i < COUNT; i++) {
        double x = values[i];
        for (int k = 1; k < 5; k++) sum[k] += pow(x, k) / COUNT;
        product += previous * x / COUNT;
        previous = x;
        largest = fmax(largest, fabs(x));
    }
    double error = 5 / sqrt(COUNT);
    assert_true(fabs(sum[1]) < error);
    assert_true(fabs(sum[2] - 1) < error * sqrt(2));
    assert_true(fabs(sum[3]) < error * sqrt(15));
    assert_true(fabs(sum[4] - 2.85) < error * sqrt(96));
    assert_true(fabs(product) < error);
    assert_true(largest < 4.9);
    free(values);
}

static void below_covers_its_range_evenly(void **state)
{
    (void)state;
    int counts[7] = {0};
    for (uint64_t i = 0; i < 70000; i++) {
        uint64_t value = dit_rng_below(9, 1, i, 7);
        assert_true(value < 7);
        counts[value]++;
    }
    for (int i = 0; i < 7; i++) assert_in_range(counts[i], 9500, 10500); /* five standard errors */
    assert_int_equal(dit_rng_below(9, 1, 0, 1), 0);
    assert_true(dit_rng_below(9, 1, 0, UINT64_MAX) < UINT64_MAX);
    assert_int_equal(dit_rng_below(9, 1, 5, 1000), dit_rng_below(9, 1, 5, 1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_known_answers),   cmocka_unit_test(normal_follows_from_its_block),
        cmocka_unit_test(any_sharding_gives_the_same_bits), cmocka_unit_test(the_bits_never_change),
        cmocka_unit_test(streams_and_seeds_differ),         cmocka_unit_test(moments_are_those_of_the_stated_normal),
        cmocka_unit_test(below_covers_its_range_evenly),
    };
    return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
