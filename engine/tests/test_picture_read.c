/* Pictures that people give: JPEG files read as Pillow reads them, turned by their EXIF; Lanczos resizing of Pillow's bytes;
 * hostile files are refused. The numbers are Pillow's (engine/tests/pictures/golden.py). */
#include "base/file.h"
#include "engine/files/picture_read.h"
#include "engine/files/picture_resize.h"

#include "base/tests/test.h"

#include <zlib.h>

typedef struct {
    const char *file;
    int64_t width, height;
    uint32_t crc;
} golden_jpeg;
typedef struct {
    dit_resize_filter by;
    int64_t width, height;
    uint32_t crc;
} golden_resize;

#include "engine/tests/pictures/golden.h"

enum { WIDTH = 64, HEIGHT = 48 };

static const char *path_of(const char *file)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/engine/tests/pictures/%s", DITBENCH_SOURCE_DIR, file);
    return path;
}

static uint32_t crc_of(const uint8_t *rgb, int64_t width, int64_t height)
{
    return (uint32_t)crc32(crc32(0, NULL, 0), rgb, (uInt)(width * height * 3));
}

/* A slope with noise, as golden.py makes it. */
static const uint8_t *make_levels(void)
{
    static uint8_t rgb[WIDTH * HEIGHT * 3];
    uint32_t seed = 1;
    for (uint32_t i = 0; i < sizeof rgb; i++) {
        seed = seed * 1664525u + 1013904223u;
        rgb[i] = (uint8_t)(i / 3 % WIDTH * 3 + i / 3 / WIDTH * 5 + i % 3 * 70 + (seed >> 27));
    }
    return rgb;
}

static void jpegs_are_those_that_pillow_reads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof golden_jpegs / sizeof *golden_jpegs; i++) {
        const golden_jpeg *g = &golden_jpegs[i];
        int64_t height, width;
        uint8_t *rgb;
        assert_int_equal(dit_picture_read(path_of(g->file), &height, &width, &rgb), DIT_OK);
        assert_int_equal(width, g->width);
        assert_int_equal(height, g->height);
        if (crc_of(rgb, width, height) != g->crc) fail_msg("%s differs from Pillow's", g->file);
        free(rgb);
    }
}

static void resizing_gives_the_bytes_of_pillow(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof golden_resizes / sizeof *golden_resizes; i++) {
        const golden_resize *g = &golden_resizes[i];
        uint8_t *out = malloc((size_t)(g->width * g->height * 3));
        assert_non_null(out);
        assert_int_equal(dit_picture_resize(g->by, make_levels(), HEIGHT, WIDTH, g->height, g->width, out), DIT_OK);
        if (crc_of(out, g->width, g->height) != g->crc)
            fail_msg("%lld x %lld differs from Pillow's", (long long)g->width, (long long)g->height);
        free(out);
    }
}

static void impossible_sizes_are_refused(void **state)
{
    uint8_t out[3];
    (void)state;
    assert_int_equal(dit_picture_resize(DIT_RESIZE_LANCZOS, make_levels(), HEIGHT, WIDTH, 0, 1, out), DIT_ERR_SHAPE);
    assert_int_equal(dit_picture_resize(DIT_RESIZE_LANCZOS, make_levels(), HEIGHT, WIDTH, 1, (1 << 20) + 1, out),
                     DIT_ERR_SHAPE);
}

static void planes_run_from_minus_one_to_one(void **state)
{
    const uint8_t rgb[6] = {0, 128, 255, 255, 0, 51};
    float planes[6];
    const float expected[6] = {-1, 1, 2.0f * (128.0f / 255.0f) - 1.0f, -1, 1, 2.0f * (51.0f / 255.0f) - 1.0f};
    (void)state;
    dit_picture_planes(rgb, 1, 2, planes);
    assert_memory_equal(planes, expected, sizeof planes);
}

static void what_is_no_picture_is_refused(void **state)
{
    int64_t height, width;
    uint8_t *rgb;
    (void)state;
    assert_fails(dit_picture_parse("x", "GIF89a...", 9, &height, &width, &rgb), DIT_ERR_SHAPE,
                 "x is neither a PNG nor");
    assert_fails(dit_picture_parse("x", "", 0, &height, &width, &rgb), DIT_ERR_SHAPE, "neither");
    assert_fails(dit_picture_read(path_of("inks.jpg"), &height, &width, &rgb), DIT_ERR_UNSUPPORTED, "four inks");
    assert_fails(dit_picture_read(path_of("none.jpg"), &height, &width, &rgb), DIT_ERR_IO, "none.jpg");
}

/* Reads a file whose bytes somebody may change; the caller frees. */
static uint8_t *bytes_of(const char *file, size_t *length)
{
    char *bytes;
    assert_int_equal(dit_file_read(path_of(file), 1 << 20, &bytes, length), DIT_OK);
    return (uint8_t *)bytes;
}

/* The extents stand behind SOF: ff c0, length, precision, height, width. */
static void a_picture_of_too_many_pixels_is_refused_by_its_header(void **state)
{
    size_t length, at = 0;
    int64_t height, width;
    uint8_t *rgb, *bytes = bytes_of("rgb.jpg", &length);
    (void)state;
    while (at + 9 < length && (bytes[at] != 0xff || bytes[at + 1] != 0xc0)) at++;
    assert_true(at + 9 < length);
    memcpy(bytes + at + 5, "\xff\0\xff\0", 4);
    assert_fails(dit_picture_parse("x", bytes, length, &height, &width, &rgb), DIT_ERR_SHAPE, "more than are read");
    free(bytes);
}

static void cut_files_are_refused(void **state)
{
    static const char *const files[] = {"rgb.jpg", "progressive.jpg", "turned-6.jpg"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        size_t length;
        int64_t height, width;
        uint8_t *rgb, *bytes = bytes_of(files[i], &length);
        for (size_t cut = 0; cut + 2 < length; cut += 7)
            assert_int_equal(dit_picture_parse("x", bytes, cut, &height, &width, &rgb), DIT_ERR_SHAPE);
        free(bytes);
    }
}

/* Any byte may be wrong: nothing but an answer or a refusal comes of it. Sanitizers watch this test. */
static void changed_bytes_harm_nothing(void **state)
{
    static const char *const files[] = {"smooth.jpg", "progressive.jpg", "turned-8.jpg"};
    uint32_t seed = 5;
    (void)state;
    for (int i = 0; i < 3; i++) {
        size_t length;
        uint8_t *bytes = bytes_of(files[i], &length);
        for (int round = 0; round < 400; round++) {
            int64_t height, width;
            uint8_t *rgb, kept;
            seed = seed * 1664525u + 1013904223u;
            size_t at = (seed >> 8) % length;
            kept = bytes[at], bytes[at] = (uint8_t)(seed >> 3);
            dit_status st = dit_picture_parse("x", bytes, length, &height, &width, &rgb);
            assert_true(st == DIT_OK ? rgb != NULL : rgb == NULL);
            free(rgb);
            bytes[at] = kept;
        }
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jpegs_are_those_that_pillow_reads),
        cmocka_unit_test(resizing_gives_the_bytes_of_pillow),
        cmocka_unit_test(impossible_sizes_are_refused),
        cmocka_unit_test(planes_run_from_minus_one_to_one),
        cmocka_unit_test(what_is_no_picture_is_refused),
        cmocka_unit_test(a_picture_of_too_many_pixels_is_refused_by_its_header),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(changed_bytes_harm_nothing),
    };
    return cmocka_run_group_tests_name("picture read", tests, NULL, NULL);
}
