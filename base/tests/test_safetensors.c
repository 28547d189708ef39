/* safetensors: what is refused and how, what is read and how exactly.
 *
 * `base_test_safetensors --write DIR` writes every malformed file as DIR/NAME.safetensors (a malformed index as the
 * folder DIR/NAME) and DIR/expected.tsv with one line "NAME<tab>CODE<tab>part of the message" each.
 */
#include "base/safetensors.h"

#include "base/tests/test.h"
#include "base/tests/safetensors_cases.h"

#include <errno.h>
#include <sys/stat.h>

/* ---- building files -------------------------------------------------------------------------------------------- */

typedef struct {
    unsigned char *bytes;
    int64_t length;
} image;

/* Exactly as long as the file, so that the address sanitizer sees any read beyond it. */
static image image_of(const malformed_file *file)
{
    image out = {.length = file->byte_count};
    int64_t header_bytes = file->header ? (int64_t)strlen(file->header) : 0;
    if (!file->bytes) out.length = 8 + header_bytes + file->data_bytes;
    out.bytes = calloc(1, (size_t)out.length + (out.length == 0));
    assert_non_null(out.bytes);
    if (file->bytes) {
        memcpy(out.bytes, file->bytes, (size_t)file->byte_count);
        return out;
    }
    uint64_t claimed = file->header_length ? file->header_length : (uint64_t)header_bytes;
    memcpy(out.bytes, &claimed, 8);
    memcpy(out.bytes + 8, file->header, (size_t)header_bytes);
    if (file->data_bits) memcpy(out.bytes + 8 + header_bytes, &file->data_bits, 8);
    return out;
}

static image image_of_header(const char *header, const void *data, int64_t data_bytes)
{
    const malformed_file file = {.header = header, .data_bytes = data_bytes};
    image out = image_of(&file);
    if (data_bytes) memcpy(out.bytes + out.length - data_bytes, data, (size_t)data_bytes);
    return out;
}

static dit_status open_image(const image *file, dit_safetensors **out)
{
    return dit_safetensors_open_memory(file->bytes, file->length, "test.safetensors", out);
}

static void write_index_folder(const char *folder, const char *index)
{
    static const float values[2] = {1, 2};
    const dit_tensor_out tensors[] = {{"a", 1, {2}, values}, {"b", 1, {2}, values}};
    char path[4096];
    assert_true(mkdir(folder, 0777) == 0 || errno == EEXIST);
    snprintf(path, sizeof path, "%s/diffusion_pytorch_model.safetensors.index.json", folder);
    test_file_write(path, index, strlen(index));
    snprintf(path, sizeof path, "%s/shard.safetensors", folder);
    assert_int_equal(dit_safetensors_write(path, tensors, 2), DIT_OK);
}

/* ---- malformed files ------------------------------------------------------------------------------------------- */

static dit_status read_all(const dit_safetensors *file)
{
    for (int i = 0; i < dit_safetensors_count(file); i++) {
        dit_tensor_view view;
        dit_safetensors_at(file, i, &view);
        float *values = malloc(((size_t)view.elements + 1) * sizeof *values);
        assert_non_null(values);
        dit_status st = dit_tensor_read(&view, 0, view.elements, values);
        free(values);
        DIT_TRY(st);
    }
    return DIT_OK;
}

static void malformed_file_is_refused(void **state)
{
    const malformed_file *file = *state;
    image bytes = image_of(file);
    dit_safetensors *open = NULL;
    dit_status st = open_image(&bytes, &open);
    if (st != DIT_OK) {
        assert_null(open);
        assert_non_null(strstr(dit_error_last()->message, "test.safetensors"));
    } else {
        assert_true(file->data_bits != 0); /* only bad numbers wait until the data is read */
        st = read_all(open);
    }
    assert_fails(st, file->status, file->says);
    dit_safetensors_close(open);
    free(bytes.bytes);
}

static void malformed_index_is_refused(void **state)
{
    const malformed_index *index = *state;
    char folder[TEST_FOLDER];
    dit_safetensors *open = NULL;
    assert_int_equal(test_folder_make(folder), 0);
    write_index_folder(folder, index->index);
    dit_status st = dit_safetensors_open(folder, &open);
    assert_fails(st, index->status, index->says);
    assert_null(open);
    assert_int_equal(test_folder_remove(folder), 0);
}

/* Every prefix of a good file is refused, and none makes the reader look beyond it. */
static void every_truncation_is_refused(void **state)
{
    (void)state;
    const malformed_file good = {.header = TWO("[0,8]", "[8,16]") "   ", .data_bytes = 16};
    image whole = image_of(&good);
    for (int64_t length = 0; length <= whole.length; length++) {
        image part = {malloc((size_t)length + (length == 0)), length};
        dit_safetensors *open = NULL;
        memcpy(part.bytes, whole.bytes, (size_t)length);
        assert_int_equal(open_image(&part, &open) == DIT_OK, length == whole.length);
        dit_safetensors_close(open);
        free(part.bytes);
    }
    free(whole.bytes);
}

/* ---- what is accepted ------------------------------------------------------------------------------------------ */

static void tensors_come_in_order_of_name(void **state)
{
    (void)state;
    const float data[4] = {1, 2, 3, 4};
    image file = image_of_header("{\"__metadata__\":{\"format\":\"pt\"},\"b\":{\"dtype\":\"F32\",\"shape\":[2,1],"
                                 "\"data_offsets\":[0,8]},\"a\":{\"shape\":[2],\"data_offsets\":[8,16],"
                                 "\"dtype\":\"F32\"}}",
                                 data, sizeof data);
    dit_safetensors *open;
    dit_tensor_view view;
    float values[2];
    assert_int_equal(open_image(&file, &open), DIT_OK);
    assert_int_equal(dit_safetensors_count(open), 2);
    dit_safetensors_at(open, 0, &view);
    assert_string_equal(view.name, "a");
    assert_int_equal(dit_tensor_read(&view, 0, 2, values), DIT_OK);
    assert_true(values[0] == 3 && values[1] == 4);
    assert_true(dit_safetensors_find(open, "b", &view));
    assert_int_equal(view.rank, 2);
    assert_int_equal(view.bytes, 8);
    assert_false(dit_safetensors_find(open, "c", &view));
    dit_safetensors_close(open);
    free(file.bytes);
}

static void empty_file_scalars_and_empty_tensors_are_accepted(void **state)
{
    (void)state;
    const float data[1] = {7};
    image none = image_of_header("{}", NULL, 0);
    image some = image_of_header("{\"scalar\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                                 "\"end\":{\"dtype\":\"F64\",\"shape\":[3,0,5],\"data_offsets\":[4,4]},"
                                 "\"start\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[0,0]}}   ",
                                 data, sizeof data);
    dit_safetensors *open;
    dit_tensor_view view;
    float value;
    assert_int_equal(open_image(&none, &open), DIT_OK);
    assert_int_equal(dit_safetensors_count(open), 0);
    assert_false(dit_safetensors_find(open, "a", &view));
    dit_safetensors_close(open);
    assert_int_equal(open_image(&some, &open), DIT_OK);
    assert_true(dit_safetensors_find(open, "scalar", &view));
    assert_int_equal(view.rank, 0);
    assert_int_equal(view.elements, 1);
    assert_int_equal(dit_tensor_read(&view, 0, 1, &value), DIT_OK);
    assert_true(value == 7);
    assert_true(dit_safetensors_find(open, "end", &view));
    assert_int_equal(view.elements, 0);
    assert_int_equal(dit_tensor_read(&view, 0, 0, &value), DIT_OK);
    dit_safetensors_close(open);
    free(none.bytes);
    free(some.bytes);
}

static void misaligned_data_is_read_correctly(void **state)
{
    (void)state;
    const float data[3] = {1.5f, -2.25f, 1e-30f};
    char header[128];
    for (int padding = 0; padding < 8; padding++) {
        snprintf(header, sizeof header, "%s%*s", ENTRY("\"F32\"", "[3]", "[0,12]"), padding, "");
        image file = image_of_header(header, data, sizeof data);
        dit_safetensors *open;
        dit_tensor_view view;
        float values[3];
        assert_int_equal(open_image(&file, &open), DIT_OK);
        dit_safetensors_at(open, 0, &view);
        assert_int_equal(dit_tensor_read(&view, 0, 3, values), DIT_OK);
        assert_memory_equal(values, data, sizeof data);
        dit_safetensors_close(open);
        free(file.bytes);
    }
}

static void reads_outside_a_tensor_are_refused(void **state)
{
    (void)state;
    const float data[4] = {1, 2, 3, 4};
    const dit_tensor_view view = {"t", DIT_STORED_F32, 1, {4}, 4, 16, data};
    float values[4];
    assert_int_equal(dit_tensor_read(&view, 1, 3, values), DIT_OK);
    assert_true(values[2] == 4);
    assert_fails(dit_tensor_read(&view, 2, 3, values), DIT_ERR_SHAPE,
                 "3 elements from 2 on are asked for, but it has 4");
    assert_int_equal(dit_tensor_read(&view, -1, 1, values), DIT_ERR_SHAPE);
    assert_int_equal(dit_tensor_read(&view, 0, -1, values), DIT_ERR_SHAPE);
    assert_int_equal(dit_tensor_read(&view, 5, 0, values), DIT_ERR_SHAPE);
    assert_int_equal(dit_tensor_read(&view, 1, INT64_MAX, values), DIT_ERR_SHAPE);
}

static void require_names_what_it_misses(void **state)
{
    (void)state;
    image file = image_of_header(T_F32_2 "}", "\0\0\0\0\0\0\0", 8);
    dit_safetensors *open;
    dit_tensor_view view;
    const int64_t two[1] = {2}, any[1] = {-1}, matrix[2] = {2, -1};
    assert_int_equal(open_image(&file, &open), DIT_OK);
    assert_int_equal(dit_safetensors_require(open, "a", 1, two, &view), DIT_OK);
    assert_int_equal(dit_safetensors_require(open, "a", 1, any, &view), DIT_OK);
    assert_fails(dit_safetensors_require(open, "a", 2, matrix, &view), DIT_ERR_SHAPE,
                 "test.safetensors: tensor \"a\" has shape [2], expected [2, *]");
    assert_fails(dit_safetensors_require(open, "weight", 1, two, &view), DIT_ERR_TENSOR_MISSING,
                 "test.safetensors: tensor \"weight\" is absent");
    dit_safetensors_close(open);
    free(file.bytes);
}

/* ---- conversions ----------------------------------------------------------------------------------------------- */

/* Every one of the 65536 halves, against the definition of the format. */
static void all_f16_convert_exactly(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 65536; half++) {
        uint16_t bits = (uint16_t)half;
        int exponent = half >> 10 & 31, fraction = half & 1023;
        double expected = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
        const dit_tensor_view view = {"h", DIT_STORED_F16, 0, {0}, 1, 2, &bits};
        float value;
        dit_status st = dit_tensor_read(&view, 0, 1, &value);
        if (exponent == 31) {
            assert_int_equal(st, DIT_ERR_NONFINITE);
            continue;
        }
        assert_int_equal(st, DIT_OK);
        assert_true((double)value == (half & 0x8000 ? -expected : expected));
        assert_int_equal(signbit(value) != 0, half >> 15);
    }
}

static void all_bf16_convert_exactly(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 65536; half++) {
        uint16_t bits = (uint16_t)half;
        uint32_t wide = half << 16;
        float value, expected;
        memcpy(&expected, &wide, sizeof expected);
        const dit_tensor_view view = {"h", DIT_STORED_BF16, 0, {0}, 1, 2, &bits};
        dit_status st = dit_tensor_read(&view, 0, 1, &value);
        assert_int_equal(st, (half & 0x7F80) == 0x7F80 ? DIT_ERR_NONFINITE : DIT_OK);
        if (st == DIT_OK) assert_memory_equal(&value, &expected, sizeof value);
    }
}

static void integers_and_doubles_convert_by_rounding(void **state)
{
    (void)state;
    const int64_t i64 = 16777217;
    const int32_t i32 = -5;
    const int16_t i16 = -32768;
    const int8_t i8 = -128;
    const uint8_t u8 = 255, yes = 1;
    const double f64 = 0.1;
    const dit_tensor_view views[] = {
        {"a", DIT_STORED_I64, 0, {0}, 1, 8, &i64}, {"b", DIT_STORED_I32, 0, {0}, 1, 4, &i32},
        {"c", DIT_STORED_I16, 0, {0}, 1, 2, &i16}, {"d", DIT_STORED_I8, 0, {0}, 1, 1, &i8},
        {"e", DIT_STORED_U8, 0, {0}, 1, 1, &u8},   {"f", DIT_STORED_BOOL, 0, {0}, 1, 1, &yes},
        {"g", DIT_STORED_F64, 0, {0}, 1, 8, &f64},
    };
    const float expected[] = {16777216.0f, -5, -32768, -128, 255, 1, 0.1f};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        float value = 0;
        assert_int_equal(dit_tensor_read(&views[i], 0, 1, &value), DIT_OK);
        assert_true(value == expected[i]);
    }
}

/* Longer than the reader's chunk, with the bad element in the last one. */
static void nan_far_inside_is_named_by_its_index(void **state)
{
    (void)state;
    enum { COUNT = 20000, BAD = 19998 };
    float *data = calloc(COUNT, sizeof *data), *values = calloc(COUNT, sizeof *values);
    assert_true(data && values);
    data[BAD] = NAN;
    const dit_tensor_view view = {"far", DIT_STORED_F32, 1, {COUNT}, COUNT, COUNT * 4, data};
    assert_fails(dit_tensor_read(&view, 3, COUNT - 3, values), DIT_ERR_NONFINITE, "\"far\": element 19998 is NaN");
    assert_int_equal(dit_tensor_read(&view, 0, BAD, values), DIT_OK);
    free(data);
    free(values);
}

/* ---- files on disk --------------------------------------------------------------------------------------------- */

static void what_is_written_reads_back(void **state)
{
    (void)state;
    const float first[6] = {1, -2, 3.5f, 0, 1e38f, 1e-40f}, second[1] = {42};
    const dit_tensor_out tensors[] = {
        {"blocks.0/\"quoted\"", 2, {2, 3}, first}, {"a", 0, {0}, second}, {"empty", 2, {0, 4}, NULL}};
    char folder[TEST_FOLDER], path[128];
    dit_safetensors *open;
    dit_tensor_view view;
    float values[6];
    assert_int_equal(test_folder_make(folder), 0);
    snprintf(path, sizeof path, "%s/diffusion_pytorch_model.safetensors", folder);
    assert_int_equal(dit_safetensors_write(path, tensors, 3), DIT_OK);
    assert_int_equal(dit_safetensors_open(folder, &open), DIT_OK); /* a folder finds the file */
    assert_int_equal(dit_safetensors_count(open), 3);
    assert_true(dit_safetensors_find(open, "blocks.0/\"quoted\"", &view));
    assert_int_equal((uintptr_t)view.data % 8, 0);
    assert_int_equal(dit_tensor_read(&view, 0, 6, values), DIT_OK);
    assert_memory_equal(values, first, sizeof first);
    assert_true(dit_safetensors_find(open, "a", &view));
    assert_int_equal(view.rank, 0);
    dit_safetensors_close(open);
    unlink(path);
    assert_int_equal(rmdir(folder), 0); /* nothing temporary is left */
}

static void shards_are_found_through_the_index(void **state)
{
    (void)state;
    static const float third[1] = {9};
    const dit_tensor_out more = {"c", 1, {1}, third};
    char folder[TEST_FOLDER], path[128];
    dit_safetensors *open;
    dit_tensor_view view;
    float value;
    assert_int_equal(test_folder_make(folder), 0);
    write_index_folder(folder,
                       MAP("\"c\":\"more.safetensors\",\"a\":\"shard.safetensors\",\"b\":\"shard.safetensors\""));
    snprintf(path, sizeof path, "%s/more.safetensors", folder);
    assert_int_equal(dit_safetensors_write(path, &more, 1), DIT_OK);
    assert_int_equal(dit_safetensors_open(folder, &open), DIT_OK);
    assert_int_equal(dit_safetensors_count(open), 3);
    assert_true(dit_safetensors_find(open, "c", &view));
    assert_int_equal(dit_tensor_read(&view, 0, 1, &value), DIT_OK);
    assert_true(value == 9);
    dit_safetensors_close(open);
    assert_int_equal(test_folder_remove(folder), 0);
}

static void absent_files_and_folders_are_named(void **state)
{
    (void)state;
    char folder[TEST_FOLDER];
    dit_safetensors *open;
    assert_fails(dit_safetensors_open("/nonexistent/x.safetensors", &open), DIT_ERR_IO, "/nonexistent/x.safetensors");
    assert_int_equal(test_folder_make(folder), 0);
    assert_fails(dit_safetensors_open(folder, &open), DIT_ERR_IO, "holds neither");
    rmdir(folder);
    dit_safetensors_close(NULL);
}

/* ---- writing the malformed files for other tests --------------------------------------------------------------- */

static int write_malformed(const char *folder)
{
    char path[4096];
    mkdir(folder, 0777);
    snprintf(path, sizeof path, "%s/expected.tsv", folder);
    FILE *expected = fopen(path, "w");
    if (!expected) return 1;
    for (int i = 0; i < MALFORMED_COUNT; i++) {
        const malformed_file *file = &malformed_files[i];
        image bytes = image_of(file);
        snprintf(path, sizeof path, "%s/%s.safetensors", folder, file->name);
        test_file_write(path, bytes.bytes, (size_t)bytes.length);
        fprintf(expected, "%s.safetensors\t%s\t%s\n", file->name, dit_status_name(file->status), file->says);
        free(bytes.bytes);
    }
    for (int i = 0; i < MALFORMED_INDEX_COUNT; i++) {
        const malformed_index *index = &malformed_indexes[i];
        snprintf(path, sizeof path, "%s/%s", folder, index->name);
        write_index_folder(path, index->index);
        fprintf(expected, "%s\t%s\t%s\n", index->name, dit_status_name(index->status), index->says);
    }
    return fclose(expected) != 0;
}

int main(int argc, char **argv)
{
    static struct CMUnitTest rows[MALFORMED_COUNT + MALFORMED_INDEX_COUNT];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(tensors_come_in_order_of_name),
        cmocka_unit_test(empty_file_scalars_and_empty_tensors_are_accepted),
        cmocka_unit_test(misaligned_data_is_read_correctly),
        cmocka_unit_test(reads_outside_a_tensor_are_refused),
        cmocka_unit_test(require_names_what_it_misses),
        cmocka_unit_test(all_f16_convert_exactly),
        cmocka_unit_test(all_bf16_convert_exactly),
        cmocka_unit_test(integers_and_doubles_convert_by_rounding),
        cmocka_unit_test(nan_far_inside_is_named_by_its_index),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(shards_are_found_through_the_index),
        cmocka_unit_test(absent_files_and_folders_are_named),
    };
    if (argc == 3 && strcmp(argv[1], "--write") == 0) return write_malformed(argv[2]);
    for (int i = 0; i < MALFORMED_COUNT; i++)
        rows[i] = (struct CMUnitTest){malformed_files[i].name, malformed_file_is_refused, NULL, NULL,
                                      (void *)(uintptr_t)&malformed_files[i]};
    for (int i = 0; i < MALFORMED_INDEX_COUNT; i++)
        rows[MALFORMED_COUNT + i] = (struct CMUnitTest){malformed_indexes[i].name, malformed_index_is_refused, NULL,
                                                        NULL, (void *)(uintptr_t)&malformed_indexes[i]};
    int failed = cmocka_run_group_tests_name("malformed files are refused", rows, NULL, NULL);
    return failed + cmocka_run_group_tests_name("safetensors", tests, NULL, NULL);
}
