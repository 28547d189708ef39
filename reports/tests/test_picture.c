/* A picture counts only when there is something on it. */
#include "reports/draw/picture.h"

#include "base/tests/test.h"

#include <png.h>

enum { WIDTH = 64, HEIGHT = 32 };

/* Writes a white PNG with `ink` black pixels, keeps `bytes` of the file (0: all), and checks it. */
static dit_status check_drawing(int ink, long bytes)
{
    static uint8_t pixels[WIDTH * HEIGHT];
    char path[TEST_FOLDER];
    png_image image = {.version = PNG_IMAGE_VERSION, .width = WIDTH, .height = HEIGHT, .format = PNG_FORMAT_GRAY};
    test_file_make(path, "", 0);
    memset(pixels, 255, sizeof pixels);
    memset(pixels + 7, 0, (size_t)ink);
    assert_true(png_image_write_to_file(&image, path, 0, pixels, 0, NULL));
    if (bytes) assert_int_equal(truncate(path, bytes), 0);
    dit_status st = report_picture_check(path);
    unlink(path);
    return st;
}

static void ink_is_a_picture(void **state)
{
    (void)state, assert_int_equal(check_drawing(40, 0), DIT_OK);
}
static void a_white_page_is_none(void **state)
{
    (void)state, assert_int_equal(check_drawing(0, 0), DIT_ERR_ENVIRONMENT);
}

static void a_file_cut_anywhere_is_none(void **state)
{
    (void)state;
    for (long bytes = 1; bytes < 100; bytes += 7) assert_int_not_equal(check_drawing(40, bytes), DIT_OK);
}

static void a_missing_file_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(report_picture_check("/nonexistent/x.png"), DIT_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ink_is_a_picture),
        cmocka_unit_test(a_white_page_is_none),
        cmocka_unit_test(a_file_cut_anywhere_is_none),
        cmocka_unit_test(a_missing_file_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
