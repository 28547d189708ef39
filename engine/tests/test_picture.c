/* Pictures survive writing: pixels, texts, and the structure of an animated file. */
#include "base/file.h"
#include "engine/files/picture.h"

#include "base/tests/test.h"

#include <png.h>
#include <zlib.h>

enum { WIDTH = 37, HEIGHT = 19, FRAMES = 5, BYTES = WIDTH * HEIGHT * 3 };

static char folder[TEST_FOLDER];

static int make_folder(void **state)
{
    (void)state;
    return test_folder_make(folder);
}

static int remove_folder(void **state)
{
    (void)state;
    return test_folder_remove(folder);
}

static const char *file_path(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Noise, so that libpng's data is long enough for several chunks. */
static const uint8_t *some_pixels(void)
{
    static uint8_t rgb[FRAMES * BYTES];
    uint32_t x = 1;
    for (int i = 0; i < FRAMES * BYTES; i++) {
        x = x * 1664525u + 1013904223u;
        rgb[i] = (uint8_t)(x >> 24);
    }
    return rgb;
}

static void assert_pixels(const char *path, const uint8_t *expected)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    uint8_t pixels[BYTES];
    assert_true(png_image_begin_read_from_file(&image, path));
    assert_int_equal(image.width, WIDTH);
    assert_int_equal(image.height, HEIGHT);
    image.format = PNG_FORMAT_RGB;
    assert_true(png_image_finish_read(&image, NULL, pixels, 0, NULL));
    assert_memory_equal(pixels, expected, BYTES);
}

/* The text that libpng finds under `key`; to be freed. */
static char *text_of(const char *path, const char *key)
{
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_textp texts;
    char *found = NULL;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    png_init_io(png, file);
    png_read_info(png, info);
    int count = png_get_text(png, info, &texts, NULL);
    for (int i = 0; i < count; i++)
        if (strcmp(texts[i].key, key) == 0) found = strdup(texts[i].text);
    png_destroy_read_struct(&png, &info, NULL);
    fclose(file);
    return found;
}

static void assert_text(const char *path, const char *key, const char *expected)
{
    char *text = text_of(path, key);
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static const dit_picture_text texts[] = {{"Software", "ditbench test"},
                                         {"ditbench.case", "{\"a\":[1,2],\"b\":\"text with spaces\"}"},
                                         {"ditbench.note", "gr\xc3\xbc\xc3\x9f"}};

static void pixels_and_texts_survive(void **state)
{
    dit_picture picture = {
        .width = WIDTH, .height = HEIGHT, .frames = 1, .rgb = some_pixels(), .texts = texts, .text_count = 3};
    (void)state;
    assert_int_equal(dit_picture_write(file_path("x.png"), &picture), DIT_OK);
    assert_pixels(file_path("x.png"), picture.rgb);
    for (int i = 0; i < 3; i++) assert_text(file_path("x.png"), texts[i].keyword, texts[i].text);
}

static void numbered_frames_each_hold_their_pixels(void **state)
{
    char name[32];
    dit_picture picture = {.width = WIDTH,
                           .height = HEIGHT,
                           .frames = FRAMES,
                           .frames_per_s = 8,
                           .rgb = some_pixels(),
                           .texts = texts,
                           .text_count = 3};
    (void)state;
    assert_int_equal(dit_picture_write_frames(folder, &picture), DIT_OK);
    for (int i = 0; i < FRAMES; i++) {
        snprintf(name, sizeof name, "frame-%04d.png", i);
        assert_pixels(file_path(name), picture.rgb + i * BYTES);
        assert_text(file_path(name), "ditbench.case", texts[1].text);
    }
}

/* ---- animated files, read by hand -------------------------------------------------------------------------------- */

static uint32_t word_at(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* What walking through an APNG finds; frames' zlib streams are inflated and unfiltered by libpng in the end. */
typedef struct {
    uint8_t *stream[FRAMES];
    size_t bytes[FRAMES];
    uint32_t sequence; /* next number expected */
    int frame, announced;
} animation;

static void take_frame_control(animation *a, const uint8_t *data, uint32_t length)
{
    assert_int_equal(length, 26);
    assert_int_equal(word_at(data), a->sequence++);
    assert_int_equal(word_at(data + 4), WIDTH);
    assert_int_equal(word_at(data + 8), HEIGHT);
    assert_int_equal(word_at(data + 12), 0);
    assert_int_equal(word_at(data + 16), 0);
    assert_int_equal(data[20] << 8 | data[21], 1);
    assert_int_equal(data[22] << 8 | data[23], 8);
    a->frame++;
    assert_in_range(a->frame, 0, FRAMES - 1);
}

static void take_data(animation *a, const uint8_t *data, uint32_t length)
{
    assert_in_range(a->frame, 0, FRAMES - 1);
    uint8_t *larger = realloc(a->stream[a->frame], a->bytes[a->frame] + length);
    assert_non_null(larger);
    memcpy(larger + a->bytes[a->frame], data, length);
    a->stream[a->frame] = larger;
    a->bytes[a->frame] += length;
}

static void take_chunk(animation *a, const uint8_t *chunk, uint32_t length)
{
    const uint8_t *data = chunk + 8;
    assert_int_equal(word_at(data + length), crc32(crc32(0, NULL, 0), chunk + 4, length + 4));
    if (memcmp(chunk + 4, "acTL", 4) == 0) {
        assert_int_equal(length, 8);
        assert_int_equal(a->frame, -1); /* before the first frame */
        a->announced = (int)word_at(data);
    } else if (memcmp(chunk + 4, "fcTL", 4) == 0) {
        take_frame_control(a, data, length);
    } else if (memcmp(chunk + 4, "IDAT", 4) == 0) {
        assert_int_equal(a->frame, 0);
        take_data(a, data, length);
    } else if (memcmp(chunk + 4, "fdAT", 4) == 0) {
        assert_true(a->frame > 0);
        assert_int_equal(word_at(data), a->sequence++);
        take_data(a, data + 4, length - 4);
    }
}

/* Undoes PNG's row filters of an 8-bit RGB picture (PNG specification, section 9). */
static void unfilter(uint8_t *rows)
{
    for (int y = 0; y < HEIGHT; y++) {
        uint8_t *row = rows + y * (WIDTH * 3 + 1), filter = row[0];
        const uint8_t *above = y ? row - WIDTH * 3 : NULL;
        row++;
        for (int i = 0; i < WIDTH * 3; i++) {
            int left = i >= 3 ? row[i - 3] : 0, up = above ? above[i] : 0, corner = above && i >= 3 ? above[i - 3] : 0;
            int p = left + up - corner, to_left = abs(p - left), to_up = abs(p - up), to_corner = abs(p - corner);
            int paeth = to_left <= to_up && to_left <= to_corner ? left : to_up <= to_corner ? up : corner;
            const int guess[5] = {0, left, up, (left + up) / 2, paeth};
            assert_in_range(filter, 0, 4);
            row[i] = (uint8_t)(row[i] + guess[filter]);
        }
    }
}

static void assert_frame(const animation *a, int frame, const uint8_t *expected)
{
    static uint8_t rows[HEIGHT * (WIDTH * 3 + 1)];
    uLongf bytes = sizeof rows;
    assert_int_equal(uncompress(rows, &bytes, a->stream[frame], a->bytes[frame]), Z_OK);
    assert_int_equal(bytes, sizeof rows);
    unfilter(rows);
    for (int y = 0; y < HEIGHT; y++)
        assert_memory_equal(rows + y * (WIDTH * 3 + 1) + 1, expected + y * WIDTH * 3, WIDTH * 3);
}

static void an_animated_file_is_what_the_specification_says(void **state)
{
    static const uint8_t signature[8] = {137, 'P', 'N', 'G', 13, 10, 26, 10};
    dit_picture picture = {.width = WIDTH,
                           .height = HEIGHT,
                           .frames = FRAMES,
                           .frames_per_s = 8,
                           .rgb = some_pixels(),
                           .texts = texts,
                           .text_count = 3};
    animation a = {.frame = -1};
    char *file;
    size_t length, at = 8;
    (void)state;
    assert_int_equal(dit_picture_write(file_path("x.png"), &picture), DIT_OK);
    assert_int_equal(dit_file_read(file_path("x.png"), 1 << 24, &file, &length), DIT_OK);
    const uint8_t *bytes = (const uint8_t *)file;
    assert_memory_equal(bytes, signature, 8);
    assert_memory_equal(bytes + 12, "IHDR", 4);
    while (at + 12 <= length) {
        uint32_t data = word_at(bytes + at);
        assert_true(at + data + 12 <= length);
        take_chunk(&a, bytes + at, data);
        at += data + 12;
    }
    assert_int_equal(at, length);
    assert_memory_equal(bytes + length - 8, "IEND", 4);
    assert_int_equal(a.announced, FRAMES);
    assert_int_equal(a.frame, FRAMES - 1);
    for (int i = 0; i < FRAMES; i++) {
        assert_frame(&a, i, picture.rgb + i * BYTES);
        free(a.stream[i]);
    }
    free(file);
    assert_pixels(file_path("x.png"), picture.rgb); /* a plain viewer sees the first frame */
    assert_text(file_path("x.png"), "ditbench.case", texts[1].text);
}

/* ---- quantisation ------------------------------------------------------------------------------------------------ */

static void levels_round_half_to_even_after_clamping(void **state)
{
    /* the products with 255 of the last two of red and the first of green are 64.5, 65.5 and 127.5 exactly */
    const float planes[3 * 4] = {-1.0f, 1.0f, -0x1.f9f9fap-2f, -0x1.f1f1f2p-2f, 0.0f, -7.0f, 7.0f, -0.2f, 0.1f, -0.1f,
                                 0.5f,  -0.5f};
    const uint8_t expected[4 * 3] = {0, 128, 140, 255, 0, 115, 64, 255, 191, 66, 102, 64};
    uint8_t rgb[12];
    (void)state;
    assert_int_equal(dit_picture_quantize(planes, 1, 2, 2, rgb), DIT_OK);
    assert_memory_equal(rgb, expected, sizeof expected);
}

static void a_value_that_is_no_number_is_no_pixel(void **state)
{
    float planes[3] = {0, NAN, 0};
    uint8_t rgb[3];
    (void)state;
    assert_int_equal(dit_picture_quantize(planes, 1, 1, 1, rgb), DIT_ERR_NONFINITE);
}

static void impossible_pictures_and_places_are_errors(void **state)
{
    dit_picture picture = {.width = 0, .height = HEIGHT, .frames = 1, .rgb = some_pixels()};
    (void)state;
    assert_int_equal(dit_picture_write(file_path("x.png"), &picture), DIT_ERR_SHAPE);
    picture.width = WIDTH, picture.frames = 2;
    assert_int_equal(dit_picture_write(file_path("x.png"), &picture), DIT_ERR_SHAPE); /* no speed */
    picture.frames = 1;
    assert_int_equal(dit_picture_write("/nonexistent/x.png", &picture), DIT_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_and_texts_survive),
        cmocka_unit_test(numbered_frames_each_hold_their_pixels),
        cmocka_unit_test(an_animated_file_is_what_the_specification_says),
        cmocka_unit_test(levels_round_half_to_even_after_clamping),
        cmocka_unit_test(a_value_that_is_no_number_is_no_pixel),
        cmocka_unit_test(impossible_pictures_and_places_are_errors),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
