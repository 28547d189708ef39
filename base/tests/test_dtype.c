/* Elements: rounding to nearest even, of all values of the small types and of what lies between them. */
#include "base/dtype.h"

#include "base/tests/test.h"

static void names_and_sizes_are_those_of_cases(void **state)
{
    static const char *const names[DIT_DTYPE_COUNT] = {"fp32", "bf16", "fp16", "fp64", "int32"};
    static const int bytes[DIT_DTYPE_COUNT] = {4, 2, 2, 8, 4};
    dit_dtype dtype;
    (void)state;
    for (int i = 0; i < DIT_DTYPE_COUNT; i++) {
        assert_string_equal(dit_dtype_name((dit_dtype)i), names[i]);
        assert_int_equal(dit_dtype_bytes((dit_dtype)i), bytes[i]);
        assert_true(dit_dtype_from_name(names[i], &dtype) && dtype == (dit_dtype)i);
    }
    assert_false(dit_dtype_from_name("fp8", &dtype));
    assert_string_equal(dit_dtype_name(DIT_DTYPE_COUNT), "?");
    assert_int_equal(dit_dtype_bytes((dit_dtype)-1), 0);
}

/* Value of a type with these bits, from its definition. */
static double value_of(uint16_t bits, int mantissa_bits, int bias)
{
    int exponent = (bits & 0x7FFF) >> mantissa_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
    double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 0) return sign * ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

typedef struct {
    const char *name;
    uint16_t (*from)(float);
    float (*to)(uint16_t);
    int mantissa_bits, bias;
    uint16_t infinity;
} type;
static const type types[2] = {{"bf16", dit_bf16_from_float, dit_bf16_to_float, 7, 127, 0x7F80},
                              {"fp16", dit_fp16_from_float, dit_fp16_to_float, 10, 15, 0x7C00}};

static void all_values_are_read_as_defined_and_come_back(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++)
        for (int bits = 0; bits < 65536; bits++) {
            float x = types[t].to((uint16_t)bits);
            int magnitude = bits & 0x7FFF;
            if (magnitude > types[t].infinity) {
                assert_true(isnan(x) && isnan(types[t].to(types[t].from(x))));
                continue;
            }
            if (magnitude == types[t].infinity)
                assert_true(isinf(x) && (signbit(x) != 0) == (bits >> 15));
            else
                assert_true((double)x == value_of((uint16_t)bits, types[t].mantissa_bits, types[t].bias));
            assert_int_equal(types[t].from(x), bits);
        }
}

/* Between each value and the next: a tie goes to the even one, and a hair beside it to the nearer. */
static void what_lies_between_goes_to_the_nearer_and_ties_to_even(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++)
        for (int bits = 0; bits + 1 < types[t].infinity; bits++) {
            float below = types[t].to((uint16_t)bits), above = types[t].to((uint16_t)(bits + 1));
            float middle = (float)(((double)below + above) / 2);
            int even = bits % 2 ? bits + 1 : bits;
            if ((double)middle != ((double)below + above) / 2) continue; /* a denormal of fp32 itself */
            assert_int_equal(types[t].from(middle), even);
            assert_int_equal(types[t].from(-middle), even | 0x8000);
            assert_int_equal(types[t].from(nextafterf(middle, 0)), bits);
            assert_int_equal(types[t].from(nextafterf(middle, INFINITY)), bits + 1);
        }
}

static void what_is_too_large_becomes_infinite_and_too_small_zero(void **state)
{
    (void)state;
    assert_int_equal(dit_fp16_from_float(65519.996f), 0x7BFF);
    assert_int_equal(dit_fp16_from_float(65520.0f), 0x7C00);
    assert_int_equal(dit_fp16_from_float(-1e30f), 0xFC00);
    assert_int_equal(dit_fp16_from_float(0x1p-25f), 0); /* a tie with zero */
    assert_int_equal(dit_fp16_from_float(nextafterf(0x1p-25f, 1)), 1);
    assert_int_equal(dit_fp16_from_float(-1e-30f), 0x8000);
    assert_int_equal(dit_bf16_from_float(3.4e38f), 0x7F80);
    assert_int_equal(dit_bf16_from_float(nextafterf(INFINITY, 0)), 0x7F80);
    assert_int_equal(dit_bf16_from_float(0x1p-149f), 0);
}

/* Also those whose bits above the cut are zero, which rounding would make infinite. */
static void not_a_number_stays_one(void **state)
{
    static const uint32_t nans[] = {0x7F800001, 0x7FC00000, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF};
    (void)state;
    for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
        float x;
        memcpy(&x, &nans[i], sizeof x);
        for (int t = 0; t < 2; t++) {
            uint16_t bits = types[t].from(x);
            assert_true((bits & 0x7FFF) > types[t].infinity);
            assert_int_equal(bits >> 15, nans[i] >> 31);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_sizes_are_those_of_cases),
        cmocka_unit_test(all_values_are_read_as_defined_and_come_back),
        cmocka_unit_test(what_lies_between_goes_to_the_nearer_and_ties_to_even),
        cmocka_unit_test(what_is_too_large_becomes_infinite_and_too_small_zero),
        cmocka_unit_test(not_a_number_stays_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
