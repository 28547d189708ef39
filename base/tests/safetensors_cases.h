/* Malformed safetensors, as data: what is in the file, what must be said about it.
 *
 * Used by test_safetensors.c, which runs them in-process and can write them to a folder for the command-line tests.
 * Add one: a row below. A row without `bytes` is header length + header + `data_bytes` zero bytes.
 */
#ifndef DIT_BASE_TESTS_SAFETENSORS_CASES_H
#define DIT_BASE_TESTS_SAFETENSORS_CASES_H

#include "base/status.h"
#include <stdint.h>

typedef struct {
    const char *name;
    const char *header; /* JSON text                                                            */
    int64_t data_bytes; /* zero bytes behind it                                                 */
    dit_status status;
    const char *says;       /* part of the message: the place and the reason                        */
    uint64_t header_length; /* what the file claims, when not 0                                     */
    const char *bytes;      /* the whole file instead of the above                                  */
    int64_t byte_count;
    uint64_t data_bits; /* first 8 bytes of the data; the complaint comes when the data is read */
} malformed_file;

#define T_F32_2                      "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"
#define ENTRY(dtype, shape, offsets) "{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define TWO(first, second)                                                                                             \
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" first                                                  \
    "},\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" second "}}"

#define HOSTILE(file, text, bytes_behind, code, part, ...)                                                             \
    {                                                                                                                  \
        .name = file, .header = text, .data_bytes = bytes_behind, .status = DIT_ERR_##code, .says = part, __VA_ARGS__  \
    }

/* Rows that differ in one field of the one tensor "a", of eight bytes. */
#define HOSTILE_DTYPE(file, dtype, code, part)     HOSTILE(file, ENTRY(dtype, "[2]", "[0,8]"), 8, code, part)
#define HOSTILE_SHAPE(file, shape, part)           HOSTILE(file, ENTRY("\"F32\"", shape, "[0,8]"), 8, SAFETENSORS_HEADER, part)
#define HOSTILE_OFFSETS(file, offsets, code, part) HOSTILE(file, ENTRY("\"F32\"", "[2]", offsets), 8, code, part)

/* clang-format off */
static const malformed_file malformed_files[] = {
    /* the length */
    {"empty_file", .bytes = "", .byte_count = 0, .status = DIT_ERR_SAFETENSORS_TRUNCATED, .says = "0 bytes"},
    {"seven_bytes", .bytes = "\2\0\0\0\0\0\0", .byte_count = 7,
     .status = DIT_ERR_SAFETENSORS_TRUNCATED, .says = "7 bytes"},
    {"header_length_zero", .bytes = "\0\0\0\0\0\0\0\0", .byte_count = 8,
     .status = DIT_ERR_SAFETENSORS_HEADER, .says = "byte 8: the header does not begin with '{'"},
    HOSTILE("header_length_beyond_file", "{}", 0,
            SAFETENSORS_TRUNCATED, "header length 3, but only 2 bytes", .header_length = 3),
    HOSTILE("header_length_huge", "{}", 0, SAFETENSORS_HEADER, "header length 100000001", .header_length = 100000001),
    HOSTILE("header_length_2_63", "{}", 0,
            SAFETENSORS_HEADER, "header length 9223372036854775808", .header_length = UINT64_C(1) << 63),
    HOSTILE("header_length_all_ones", "{}", 0,
            SAFETENSORS_HEADER, "header length 18446744073709551615", .header_length = UINT64_MAX),
    HOSTILE("header_cut", T_F32_2, 0, SAFETENSORS_HEADER, "found the end of the text"),
    /* the header as JSON */
    HOSTILE("header_array", "[]", 0, SAFETENSORS_HEADER, "does not begin with '{'"),
    HOSTILE("header_leading_space", " {}", 0, SAFETENSORS_HEADER, "does not begin with '{'"),
    HOSTILE("header_not_json", "{oops}", 0, SAFETENSORS_HEADER, "header:1:2: expected a key in double quotes"),
    HOSTILE("header_trailing_bytes", T_F32_2 "}x", 8, SAFETENSORS_HEADER, "E_JSON_TRAILING"),
    HOSTILE("header_not_utf8", "{\"a\xff\":{}}", 0, SAFETENSORS_HEADER, "byte 0xff is not valid UTF-8"),
    HOSTILE("header_lone_surrogate", "{\"\\ud800\":{}}", 0, SAFETENSORS_HEADER, "surrogate"),
    HOSTILE("header_nul_in_name", "{\"a\\u0000b\":{}}", 0, SAFETENSORS_HEADER, "\\u0000"),
    HOSTILE("header_deep", "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 0,
            SAFETENSORS_HEADER, "nested more than 64 deep"),
    HOSTILE("duplicate_tensor", T_F32_2 ",\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[8,8]}}", 8,
            SAFETENSORS_HEADER, "key \"a\" occurs twice"),
    HOSTILE("duplicate_tensor_escaped",
            T_F32_2 ",\"\\u0061\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[8,8]}}", 8,
            SAFETENSORS_HEADER, "/a: key \"a\" occurs twice"),
    HOSTILE("duplicate_field", "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
            SAFETENSORS_HEADER, "/a/dtype: key \"dtype\" occurs twice"),
    /* one tensor */
    HOSTILE("tensor_is_number", "{\"a\":1}", 0, SAFETENSORS_HEADER, "tensor \"a\" (header byte 9): its description"),
    HOSTILE("dtype_missing", "{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
            SAFETENSORS_HEADER, "dtype is absent"),
    HOSTILE("shape_missing", "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", 8,
            SAFETENSORS_HEADER, "shape is absent"),
    HOSTILE("offsets_missing", "{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8,
            SAFETENSORS_HEADER, "data_offsets is absent"),
    HOSTILE("unknown_key", "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"strides\":[1]}}", 8,
            SAFETENSORS_HEADER, "tensor \"a\" (header byte 9): unknown key \"strides\""),
    HOSTILE_DTYPE("dtype_number", "32", SAFETENSORS_HEADER, "dtype is not a string"),
    HOSTILE_DTYPE("dtype_unknown", "\"FLOAT\"", SAFETENSORS_DTYPE, "dtype \"FLOAT\" is unknown"),
    HOSTILE_DTYPE("dtype_lower_case", "\"f32\"", SAFETENSORS_DTYPE, "dtype \"f32\" is unknown"),
    HOSTILE("dtype_fp8", ENTRY("\"F8_E4M3\"", "[8]", "[0,8]"), 8, SAFETENSORS_DTYPE, "F8_E4M3 belongs to the format"),
    HOSTILE_SHAPE("shape_string", "\"2\"", "shape is not an array"),
    HOSTILE_SHAPE("shape_negative", "[-2]", "shape[0] is not a whole number"),
    HOSTILE_SHAPE("shape_two_negatives", "[-1,-2]", "shape[0] is not a whole"),
    HOSTILE_SHAPE("shape_fraction", "[1,2.5]", "shape[1] is not a whole number"),
    HOSTILE_SHAPE("shape_null", "[null]", "shape[0] is not a whole number"),
    HOSTILE_SHAPE("shape_2_63", "[9223372036854775808]", "beyond 2^53"),
    HOSTILE_SHAPE("shape_1e300", "[1e300]", "shape[0] is not a whole number"),
    HOSTILE_SHAPE("shape_product_overflow", "[4294967296,4294967296]", "the product of the shape overflows at shape[1]"),
    HOSTILE_SHAPE("shape_bytes_overflow", "[4294967296,1073741824]", "the size in bytes overflows"),
    HOSTILE("shape_wraps_to_eight", ENTRY("\"F64\"", "[4294967296,4294967296,2]", "[0,8]"), 8,
            SAFETENSORS_HEADER, "overflows"),
    HOSTILE_SHAPE("shape_rank_9", "[1,1,1,1,1,1,1,1,2]", "shape of rank 9"),
    /* offsets */
    HOSTILE_OFFSETS("offsets_reversed", "[8,0]", SAFETENSORS_OFFSETS, "[8, 0] run backwards"),
    HOSTILE_OFFSETS("offsets_negative", "[-8,0]", SAFETENSORS_HEADER, "data_offsets is not a pair"),
    HOSTILE_OFFSETS("offsets_three", "[0,8,8]", SAFETENSORS_HEADER, "data_offsets is not a pair"),
    HOSTILE_OFFSETS("offsets_empty", "[]", SAFETENSORS_HEADER, "data_offsets is not a pair"),
    HOSTILE_OFFSETS("offsets_fraction", "[0,8.5]", SAFETENSORS_HEADER, "data_offsets is not a pair"),
    HOSTILE_OFFSETS("offsets_2_63", "[0,9223372036854775808]", SAFETENSORS_HEADER, "beyond 2^53"),
    HOSTILE("offsets_beyond_data", ENTRY("\"F32\"", "[4]", "[0,16]"), 8,
            SAFETENSORS_TRUNCATED, "data_offsets end at 16, but the file has 8 bytes of data"),
    HOSTILE_DTYPE("offsets_not_dtype_size", "\"F16\"", SAFETENSORS_OFFSETS, "data_offsets span 8 bytes, but 2 elements of F16 take 4"),
    HOSTILE("offsets_too_small", ENTRY("\"F32\"", "[3]", "[0,8]"), 8, SAFETENSORS_OFFSETS, "3 elements of F32 take 12"),
    HOSTILE("offsets_overlap", TWO("[0,8]", "[4,12]"), 12,
            SAFETENSORS_OFFSETS, "tensor \"b\" (header byte 62): begins at data byte 4, inside \"a\", which ends at 8"),
    HOSTILE("offsets_same", TWO("[0,8]", "[0,8]"), 8, SAFETENSORS_OFFSETS, "begins at data byte 0, inside"),
    HOSTILE("offsets_gap", TWO("[0,8]", "[12,20]"), 20, SAFETENSORS_OFFSETS, "leaves a gap from 8"),
    HOSTILE("offsets_gap_at_start", ENTRY("\"F32\"", "[2]", "[8,16]"), 16, SAFETENSORS_OFFSETS, "leaves a gap from 0"),
    HOSTILE("data_cut", T_F32_2 "}", 7, SAFETENSORS_TRUNCATED, "tensor \"a\" (header byte 9)"),
    HOSTILE("data_absent", T_F32_2 "}", 0, SAFETENSORS_TRUNCATED, "tensor \"a\""),
    HOSTILE("trailing_byte", T_F32_2 "}", 9, SAFETENSORS_TRAILING, "1 bytes after the last tensor, from byte 70 on"),
    HOSTILE("trailing_without_tensors", "{}", 4,
            SAFETENSORS_TRAILING, "4 bytes after the last tensor, from byte 10 on"),
    /* metadata */
    HOSTILE("metadata_array", "{\"__metadata__\":[]}", 0,
            SAFETENSORS_HEADER, "\"__metadata__\" (header byte 9): is not"),
    HOSTILE("metadata_number", "{\"__metadata__\":{\"step\":3}}", 0,
            SAFETENSORS_HEADER, "the value of \"step\" is not a string"),
    HOSTILE("metadata_nested", "{\"__metadata__\":{\"x\":{}}}", 0,
            SAFETENSORS_HEADER, "the value of \"x\" is not a string"),
    /* numbers that are none */
    HOSTILE("data_nan", T_F32_2 "}", 8,
            NONFINITE, "tensor \"a\": element 1 is NaN", .data_bits = UINT64_C(0x7fc00000) << 32),
    HOSTILE("data_infinity", T_F32_2 "}", 8, NONFINITE, "tensor \"a\": element 0 is infinity", .data_bits = 0x7f800000),
    HOSTILE("data_bf16_nan", ENTRY("\"BF16\"", "[4]", "[0,8]"), 8,
            NONFINITE, "element 2 is NaN", .data_bits = UINT64_C(0x7fc0) << 32),
    HOSTILE("data_f16_minus_infinity", ENTRY("\"F16\"", "[4]", "[0,8]"), 8,
            NONFINITE, "element 3 is -infinity", .data_bits = UINT64_C(0xfc00) << 48),
    HOSTILE("data_f64_too_large", ENTRY("\"F64\"", "[1]", "[0,8]"), 8,
            NONFINITE, "after rounding F64 to fp32", .data_bits = UINT64_C(0x7e37e43c8800759c)),
};
/* clang-format on */
enum { MALFORMED_COUNT = sizeof malformed_files / sizeof *malformed_files };

/* Malformed sharded folders: the index; beside it lies shard.safetensors with tensors "a" and "b" of two floats. */
typedef struct {
    const char *name, *index;
    dit_status status;
    const char *says;
} malformed_index;

#define MAP(members) "{\"metadata\":{\"total_size\":16},\"weight_map\":{" members "}}"
static const malformed_index malformed_indexes[] = {
    {"index_parent_folder", MAP("\"a\":\"../shard.safetensors\""), DIT_ERR_SAFETENSORS_HEADER,
     "/weight_map/a: shard \"../shard.safetensors\" is not a plain file name"},
    {"index_absolute", MAP("\"a\":\"/etc/passwd\""), DIT_ERR_SAFETENSORS_HEADER, "is not a plain file name"},
    {"index_subfolder", MAP("\"a\":\"x/shard.safetensors\""), DIT_ERR_SAFETENSORS_HEADER, "is not a plain file name"},
    {"index_backslash", MAP("\"a\":\"..\\\\shard.safetensors\""), DIT_ERR_SAFETENSORS_HEADER, "not a plain file name"},
    {"index_dots", MAP("\"a\":\"..\""), DIT_ERR_SAFETENSORS_HEADER, "is not a plain file name"},
    {"index_empty_name", MAP("\"a\":\"\""), DIT_ERR_SAFETENSORS_HEADER, "is not a plain file name"},
    {"index_number", MAP("\"a\":1"), DIT_ERR_JSON_TYPE, "/weight_map/a: expected the file name of a shard"},
    {"index_shard_absent", MAP("\"a\":\"other.safetensors\""), DIT_ERR_IO, "other.safetensors: cannot be opened"},
    {"index_tensor_absent", MAP("\"a\":\"shard.safetensors\",\"c\":\"shard.safetensors\""), DIT_ERR_TENSOR_MISSING,
     "tensor \"c\" is absent"},
    {"index_tensor_unlisted", MAP("\"a\":\"shard.safetensors\""), DIT_ERR_SAFETENSORS_HEADER, "lists 1 of them"},
    {"index_without_map", "{\"metadata\":{}}", DIT_ERR_JSON_MISSING, "required key \"weight_map\" is absent"},
    {"index_unknown_key", "{\"weight_maps\":{}}", DIT_ERR_JSON_UNKNOWN_KEY, "/weight_maps: unknown key"},
    {"index_duplicate", MAP("\"a\":\"shard.safetensors\",\"a\":\"shard.safetensors\""), DIT_ERR_JSON_DUPLICATE_KEY,
     "/weight_map/a: key \"a\" occurs twice"},
    {"index_not_json", "weights", DIT_ERR_JSON_SYNTAX, "index.json:1:1: expected a value"},
};
enum { MALFORMED_INDEX_COUNT = sizeof malformed_indexes / sizeof *malformed_indexes };

#endif
