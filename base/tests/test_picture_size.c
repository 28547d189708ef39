/* Sizes of pictures from the heads of their files: PNG, JPEG as it is shown, and what is neither. */
#include "base/picture_size.h"

#include "base/tests/test.h"

static void assert_size(const char *path, int64_t height, int64_t width)
{
    int64_t got_height, got_width;
    assert_int_equal(dit_picture_size(path, &got_height, &got_width), DIT_OK);
    assert_int_equal(got_height, height);
    assert_int_equal(got_width, width);
}

static void files_say_how_large_they_are(void **state)
{
    (void)state;
    assert_size("engine/tests/pipelines/flux/start.png", 40, 56);
    assert_size("engine/tests/pictures/rgb.jpg", 48, 64);
    assert_size("engine/tests/pictures/progressive.jpg", 48, 64);
}

static void a_turned_jpeg_has_its_sides_swapped(void **state)
{
    (void)state;
    assert_size("engine/tests/pictures/turned-3.jpg", 16, 24);
    assert_size("engine/tests/pictures/turned-6.jpg", 24, 16);
    assert_size("engine/tests/pictures/turned-8.jpg", 24, 16);
}

/* Every prefix is refused or has the size, and reads nothing beyond its end. */
static void damaged_heads_are_refused(void **state)
{
    (void)state;
    char *text;
    size_t length, sized = 0;
    int64_t height, width;
    assert_int_equal(dit_file_read("engine/tests/pictures/turned-6.jpg", 1 << 20, &text, &length), DIT_OK);
    for (size_t i = 0; i < length; i++) {
        char *part = malloc(i ? i : 1);
        memcpy(part, text, i);
        sized += dit_picture_size_parse("part", part, i, &height, &width) == DIT_OK;
        free(part);
    }
    free(text);
    assert_true(sized > 0 && sized < length);
    assert_int_equal(dit_picture_size_parse("words", "no picture at all, but long enough", 34, &height, &width),
                     DIT_ERR_SHAPE);
    assert_int_equal(dit_picture_size("nowhere.png", &height, &width), DIT_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_say_how_large_they_are),
                                       cmocka_unit_test(a_turned_jpeg_has_its_sides_swapped),
                                       cmocka_unit_test(damaged_heads_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
