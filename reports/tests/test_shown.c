/* What a record tells of its first pictures, and the pixels beside it: what is taken, and what is refused. */
#include "base/safetensors.h"
#include "reports/pictures/shown.h"

#include "reports/tests/scratch.h"

static void write_pixels(const char *name, const int64_t *shape, int rank, char path[512])
{
    int64_t elements = 1;
    for (int i = 0; i < rank; i++) elements *= shape[i];
    float *values = malloc((size_t)elements * sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < elements; i++) values[i] = (float)(i % 5) - 2.0f; /* -2 and 2 are beyond the colours */
    dit_tensor_out tensor = {.name = name, .rank = rank, .data = values};
    memcpy(tensor.shape, shape, (size_t)rank * sizeof *shape);
    snprintf(path, 512, "%s/pixels.safetensors", scratch);
    assert_int_equal(dit_safetensors_write(path, &tensor, 1), DIT_OK);
    free(values);
}

static void pixels_are_limited_rounded_and_in_the_order_of_pictures(void **state)
{
    (void)state;
    report_pixels pixels;
    char path[512];
    write_pixels("pixels", (int64_t[]){14, 3, 1, 2, 3}, 5, path);
    assert_int_equal(report_pixels_read(path, &pixels), DIT_OK);
    assert_int_equal(pixels.count, SHOWN_MOST);
    assert_int_equal(pixels.height, 2);
    assert_int_equal(pixels.width, 3);
    static const unsigned char shades[] = {0, 0, 128, 255, 255};
    for (int at = 0; at < 6; at++)
        for (int c = 0; c < 3; c++)
            assert_int_equal(pixels.rgb[3 * (6 * 11 + at) + c], shades[(11 * 18 + c * 6 + at) % 5]);
    report_pixels_release(&pixels);
}

static void a_clip_is_four_frames_with_a_line_between(void **state)
{
    (void)state;
    static const unsigned char shades[] = {0, 0, 128, 255, 255};
    static const int frames[] = {0, 2, 4, 7}; /* of eight */
    report_pixels pixels;
    char path[512];
    write_pixels("pixels", (int64_t[]){2, 3, 8, 1, 2}, 5, path);
    assert_int_equal(report_pixels_read(path, &pixels), DIT_OK);
    assert_int_equal(pixels.height, 3);
    assert_int_equal(pixels.width, 5);
    const unsigned char *second = pixels.rgb + 3 * 15;
    for (int tile = 0; tile < 4; tile++)
        for (int x = 0; x < 2; x++)
            for (int c = 0; c < 3; c++)
                assert_int_equal(second[3 * (tile / 2 * 10 + tile % 2 * 3 + x) + c],
                                 shades[((3 + c) * 16 + frames[tile] * 2 + x) % 5]);
    for (int x = 0; x < 5; x++) assert_int_equal(second[3 * (5 + x)], 255);
    assert_int_equal(second[3 * 2], 255);
    report_pixels_release(&pixels);
}

static void a_clip_of_three_frames_is_its_middle_one(void **state)
{
    (void)state;
    report_pixels pixels;
    char path[512];
    write_pixels("pixels", (int64_t[]){1, 3, 3, 1, 2}, 5, path);
    assert_int_equal(report_pixels_read(path, &pixels), DIT_OK);
    static const unsigned char shades[] = {0, 0, 128, 255, 255};
    for (int at = 0; at < 2; at++)
        for (int c = 0; c < 3; c++) assert_int_equal(pixels.rgb[3 * at + c], shades[(c * 6 + 2 + at) % 5]);
    report_pixels_release(&pixels);
}

static void other_tensors_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t shape[5];
        int rank;
        dit_status expected;
    } rows[] = {
        {"latents", {1, 3, 1, 2, 2}, 5, DIT_ERR_NOT_FOUND},
        {"pixels", {1, 4, 1, 2, 2}, 5, DIT_ERR_SHAPE},
        {"pixels", {3, 2, 2}, 3, DIT_ERR_SHAPE},
        {"pixels", {1, 3, 1, 2, SHOWN_EDGE + 1}, 5, DIT_ERR_SHAPE},
        {"pixels", {1, 3, 1, SHOWN_EDGE + 1, 2}, 5, DIT_ERR_SHAPE},
    };
    report_pixels pixels;
    char path[512];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_pixels(rows[i].name, rows[i].shape, rows[i].rank, path);
        assert_int_equal(report_pixels_read(path, &pixels), rows[i].expected);
        assert_null(pixels.rgb);
    }
    assert_int_equal(report_pixels_read("/nowhere/latents.safetensors", &pixels), DIT_ERR_NOT_FOUND);
    dit_error_clear();
}

/* Every file that is cut short, and every file with one byte changed, is read or refused. */
static void damaged_files_are_refused(void **state)
{
    (void)state;
    report_pixels pixels;
    char path[512], *text = NULL;
    size_t length = 0;
    int refused = 0;
    write_pixels("pixels", (int64_t[]){1, 3, 1, 2, 2}, 5, path);
    assert_int_equal(dit_file_read(path, 1 << 20, &text, &length), DIT_OK);
    for (size_t cut = 0; cut < length; cut++) {
        test_file_write(path, text, cut);
        assert_int_not_equal(report_pixels_read(path, &pixels), DIT_OK);
    }
    for (size_t at = 0; at < length; at++) {
        text[at] ^= 0x55;
        test_file_write(path, text, length);
        refused += report_pixels_read(path, &pixels) != DIT_OK;
        report_pixels_release(&pixels);
        text[at] ^= 0x55;
    }
    assert_true(refused > 40);
    dit_error_clear();
    free(text);
}

static dit_status read_rows(const char *rows, report_shown *out)
{
    char text[1024];
    dit_json doc;
    snprintf(text, sizeof text,
             "{\"converged_case\":\"c\",\"reference_case\":\"r\",\"record\":{\"quality\":{\"shown\":%s}}}", rows);
    assert_int_equal(dit_json_parse(text, strlen(text), "line", &doc), DIT_OK);
    dit_status st = report_shown_read(&doc, dit_json_member(doc.root, "record"), 3, out);
    dit_json_release(&doc);
    return st;
}

static void rows_of_a_record_are_checked(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{}",
        "[1]",
        "[{}]",
        "[{\"caption\":\"a\",\"read\":[1]}]",
        "[{\"caption\":\"a\",\"read\":[\"b\"],\"wrong\":[1]}]",
        "[{\"caption\":\"a\",\"read\":[\"b\"],\"wrong\":[-1]}]",
        "[{\"caption\":\"a\",\"read\":[\"b\"],\"wrong\":[0,0]}]",
        "[{\"caption\":\"a\",\"psnr_db\":\"30\"}]",
        "[{\"caption\":\"a\"},{\"caption\":\"a\"},{\"caption\":\"a\"},{\"caption\":\"a\"},{\"caption\":\"a\"},{"
        "\"caption\":\"a\"},"
        "{\"caption\":\"a\"},{\"caption\":\"a\"},{\"caption\":\"a\"},{\"caption\":\"a\"},{\"caption\":\"a\"},{"
        "\"caption\":\"a\"},"
        "{\"caption\":\"a\"}]",
    };
    report_shown shown = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_not_equal(read_rows(wrong[i], &shown), DIT_OK);
        assert_null(shown.rows);
    }
    dit_error_clear();
    assert_int_equal(
        read_rows("[{\"caption\":\"a\",\"read\":[\"b\",\"c\"],\"wrong\":[1],\"converged_psnr_db\":30}]", &shown),
        DIT_OK);
    assert_int_equal(shown.process, 3);
    assert_true(shown.converged);
    assert_string_equal(shown.reference_id, "c");
    assert_false(report_shown_is_wrong(shown.rows->child, 0));
    assert_true(report_shown_is_wrong(shown.rows->child, 1));
    report_shown_release(&shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_are_limited_rounded_and_in_the_order_of_pictures),
        cmocka_unit_test(a_clip_is_four_frames_with_a_line_between),
        cmocka_unit_test(a_clip_of_three_frames_is_its_middle_one),
        cmocka_unit_test(other_tensors_are_refused),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(rows_of_a_record_are_checked),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
