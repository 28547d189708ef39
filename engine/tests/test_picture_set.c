/* Sets of pictures: what is read from a folder, under which names and prompts, and that hostile files end in an error. */
#include "base/safetensors.h"
#include "engine/files/picture.h"
#include "engine/files/picture_read.h"
#include "engine/quality/accuracy.h"

#include "base/tests/test.h"

#include <png.h>
#include <sys/stat.h>

enum { EDGE = 12, LEVELS = EDGE * EDGE * 3 };

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

static const char *path_of(const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* Several frames make an animated file. */
static void write_frames(const char *name, uint8_t level, int64_t frames)
{
    uint8_t rgb[2 * LEVELS];
    for (int i = 0; i < 2 * LEVELS; i++) rgb[i] = (uint8_t)(level + i);
    const dit_picture picture = {.width = EDGE, .height = EDGE, .frames = frames, .frames_per_s = 8, .rgb = rgb};
    assert_ok(dit_picture_write(path_of(name), &picture));
}

static void write_png(const char *name, uint8_t level)
{
    write_frames(name, level, 1);
}

static void write_colours(const char *name, int64_t count, float first)
{
    float values[2 * LEVELS];
    for (int i = 0; i < 2 * LEVELS; i++) values[i] = first;
    const dit_tensor_out tensor = {"pixels", 4, {count, 3, EDGE, EDGE}, values};
    assert_ok(dit_safetensors_write(path_of(name), &tensor, 1));
}

/* NAME-10 lies before NAME-2; a number still finds its own picture. */
static void a_number_finds_its_picture_whatever_the_order_of_names(void **state)
{
    (void)state;
    enum { COUNT = 12, FLOATS = 3 * EDGE * EDGE };
    static float values[COUNT * FLOATS];
    const dit_tensor_out tensor = {"pixels", 4, {COUNT, 3, EDGE, EDGE}, values};
    dit_picture_set set;
    for (int i = 0; i < COUNT * FLOATS; i++) values[i] = (float)(i / FLOATS) / COUNT; /* of picture n: n / 12 */
    assert_ok(dit_safetensors_write(path_of("many.safetensors"), &tensor, 1));
    assert_ok(dit_picture_set_read(path_of("many.safetensors"), true, &set));
    assert_int_equal(set.count, COUNT);
    for (int number = 0; number < COUNT; number++) {
        int at = dit_picture_set_numbered(&set, number);
        assert_true(at >= 0);
        assert_near(dit_picture_set_at(&set, at)[0], 0.5 + 0.5 * number / COUNT, 1e-6);
    }
    assert_true(dit_picture_set_numbered(&set, 2) > dit_picture_set_numbered(&set, 10));
    assert_int_equal(dit_picture_set_numbered(&set, COUNT), -1);
    dit_picture_set_release(&set);
}

static void names_say_prompts_and_colours_come_first(void **state)
{
    (void)state;
    dit_picture_set set;
    static const struct {
        const char *name;
        int prompt;
    } want[] = {{"a", 0},   {"b-0", 1}, {"b-1", 1}, {"b-10", 1}, {"b-1x", 2},
                {"b-2", 1}, {"-7", -1}, {"c-0", 3}, {"c-1", 3}};
    for (size_t i = 0; i < 6; i++) {
        char file[32];
        snprintf(file, sizeof file, "%s.png", want[i].name);
        write_png(file, (uint8_t)i);
    }
    write_colours("c.safetensors", 2, 3.0f); /* two pictures, outside of the range */
    write_png("c-0.png", 9);
    test_file_write(path_of("notes.txt"), "x", 1);
    assert_ok(dit_picture_set_read(folder, false, &set));
    assert_int_equal(set.count, 8);
    assert_int_equal(set.prompts, 4);
    assert_true(set.rounded);
    for (size_t i = 0, k = 0; i < sizeof want / sizeof *want; i++) {
        if (want[i].prompt < 0) continue;
        assert_string_equal(set.labels[k].name, want[i].name);
        assert_int_equal(set.labels[k].prompt, want[i].prompt);
        k++;
    }
    assert_near(dit_picture_set_at(&set, 0)[1], 3 / 255.0, 1e-7); /* red of the second pixel: level 0 + 3 */
    assert_near(dit_picture_set_at(&set, 6)[0], 1, 0);            /* c-0 has its colours, not its PNG's   */
    dit_picture_set_release(&set);
    assert_ok(dit_picture_set_read(folder, true, &set));
    assert_int_equal(set.prompts, 8);
    dit_picture_set_release(&set);
}

/* A clip's colours stand beside an animated PNG of it, which alone would be refused. */
static void an_animated_file_beside_its_colours_is_left_alone(void **state)
{
    (void)state;
    float values[2 * LEVELS] = {0};
    dit_picture_set set;
    const dit_tensor_out clip = {"pixels", 5, {1, 3, 2, EDGE, EDGE}, values};
    write_frames("a.png", 0, 2);
    assert_fails(dit_picture_set_read(folder, false, &set), DIT_ERR_UNSUPPORTED, "a.png is animated");
    assert_ok(dit_safetensors_write(path_of("a.safetensors"), &clip, 1));
    assert_ok(dit_picture_set_read(folder, false, &set));
    assert_int_equal(set.count, 1);
    assert_int_equal(set.size.frames, 2);
    assert_false(set.rounded);
    dit_picture_set_release(&set);
}

/* A picture whose name or path is too long is no picture that may be missing. */
static void pictures_that_cannot_be_named_are_refused(void **state)
{
    (void)state;
    char file[240], deep[4096], old[1024];
    dit_picture_set set;
    memset(file, 'n', sizeof file);
    snprintf(file + 175, sizeof file - 175, ".png");
    write_png("short.png", 0);
    write_png(file, 1);
    assert_ok(dit_picture_set_read(folder, false, &set));
    assert_int_equal(set.count, 2);
    dit_picture_set_release(&set);
    snprintf(file + 175, sizeof file - 175, "n.png");
    write_png(file, 1);
    assert_fails(dit_picture_set_read(folder, false, &set), DIT_ERR_SHAPE, "nnn.png: the name of a picture has 176");
    /* a folder whose path has 4000 bytes, and a file in it whose path has more than a path may have */
    size_t length = (size_t)snprintf(deep, sizeof deep, "%s/deep", folder);
    assert_int_equal(mkdir(deep, 0777), 0);
    while (length < 4000) {
        length += (size_t)snprintf(deep + length, sizeof deep - length, "/%0*d", length < 3700 ? 200 : 100, 0);
        assert_int_equal(mkdir(deep, 0777), 0);
    }
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(chdir(deep), 0);
    test_file_write(file + 60, "x", 1);
    assert_int_equal(chdir(old), 0);
    dit_status st = dit_picture_set_read(deep, false, &set);
    assert_int_equal(chdir(deep), 0);
    assert_int_equal(unlink(file + 60), 0);
    assert_int_equal(chdir(old), 0);
    assert_fails(st, DIT_ERR_IO, "n.png is too long");
}

/* Whatever is cut off or changed in a file, it is a picture or an error. */
static void damaged_files_end_in_an_error(void **state)
{
    (void)state;
    size_t length;
    int64_t height, width;
    uint8_t *rgb;
    write_png("whole.png", 7);
    char *bytes = test_file_read(path_of("whole.png"), &length);
    for (size_t cut = 0; cut < length; cut++) {
        test_file_write(path_of("cut.png"), bytes, cut);
        dit_status st = dit_picture_read(path_of("cut.png"), &height, &width, &rgb);
        if (cut < length - 24) assert_int_equal(st, DIT_ERR_SHAPE); /* pixels are missing */
        if (st == DIT_OK) free(rgb);
    }
    for (size_t at = 0; at < length; at++) {
        bytes[at] ^= 0x55;
        test_file_write(path_of("cut.png"), bytes, length);
        if (dit_picture_read(path_of("cut.png"), &height, &width, &rgb) == DIT_OK) free(rgb);
        bytes[at] ^= 0x55;
    }
    free(bytes);
}

static void pictures_that_would_mislead_are_refused(void **state)
{
    (void)state;
    uint8_t rgba[4 * 4 * 4] = {0}, *rgb;
    int64_t height, width;
    png_image image = {.version = PNG_IMAGE_VERSION, .width = 4, .height = 4, .format = PNG_FORMAT_RGBA};
    assert_true(png_image_write_to_file(&image, path_of("clear.png"), 0, rgba, 0, NULL));
    assert_fails(dit_picture_read(path_of("clear.png"), &height, &width, &rgb), DIT_ERR_UNSUPPORTED, "transparent");
    assert_fails(dit_picture_read(path_of("nothing.png"), &height, &width, &rgb), DIT_ERR_IO, "nothing.png");
}

static void tensors_that_are_no_pictures_are_refused(void **state)
{
    (void)state;
    float values[64] = {0};
    dit_picture_set set;
    static const struct {
        int rank;
        int64_t shape[5];
    } wrong[] = {{3, {3, 4, 4}}, {4, {1, 4, 4, 4}}, {4, {0, 3, 4, 4}}, {5, {1, 4, 1, 4, 4}}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        dit_tensor_out tensor = {.name = "pixels", .rank = wrong[i].rank, .data = values};
        memcpy(tensor.shape, wrong[i].shape, sizeof wrong[i].shape);
        assert_ok(dit_safetensors_write(path_of("wrong.safetensors"), &tensor, 1));
        assert_fails(dit_picture_set_read(path_of("wrong.safetensors"), false, &set), DIT_ERR_SHAPE,
                     "is not [count, 3");
    }
    values[40] = NAN;
    const dit_tensor_out tensor = {"pixels", 4, {1, 3, 4, 4}, values};
    assert_ok(dit_safetensors_write(path_of("wrong.safetensors"), &tensor, 1));
    assert_fails(dit_picture_set_read(path_of("wrong.safetensors"), false, &set), DIT_ERR_NONFINITE, "pixels");
}

static void two_pictures_of_one_name_are_refused(void **state)
{
    (void)state;
    char inside[TEST_FOLDER + 16];
    dit_picture_set set;
    snprintf(inside, sizeof inside, "%s/twice", folder);
    assert_int_equal(mkdir(inside, 0777), 0);
    write_colours("twice/a.safetensors", 2, 0);
    write_colours("twice/a-1.safetensors", 1, 0);
    assert_fails(dit_picture_set_read(inside, false, &set), DIT_ERR_SHAPE, "two pictures are called a-1");
    assert_null(set.pixels);
}

/* ---- captions ---------------------------------------------------------------------------------------------------- */

static void write_record(const char *name, const char *captions)
{
    char text[512];
    snprintf(text, sizeof text, "{\"conditioning\": {\"kind\": \"captions\", \"captions\": %s}}", captions);
    test_file_write(path_of(name), text, strlen(text));
}

static void records_beside_pictures_tell_their_captions(void **state)
{
    (void)state;
    static const char red[] = "grey; large red plain ring top-left", blue[] = "light; small blue plain ring top-left";
    char both[160];
    dit_picture_set set;
    snprintf(both, sizeof both, "[\"%s\", \"%s\"]", red, blue);
    write_png("a-0.png", 0);
    write_png("a-1.png", 1);
    write_record("a.json", both); /* two captions */
    write_png("b-0.png", 2);
    write_png("b-1.png", 3);
    write_record("b.json", "[\"grey; large red plain ring top-left\"]"); /* two seeds of one */
    write_png("c.png", 4);
    write_record("c.json", "[\"grey; large rde plain ring top-left\"]");
    write_png("d-7.png", 5);
    write_record("d.json", both);
    write_png("e.png", 6);
    test_file_write(path_of("e.json"), "{]", 2);
    assert_ok(dit_picture_set_read(folder, false, &set));
    assert_int_equal(set.count, 7);
    static const char *const want[] = {red, blue, red, red, "", "", ""};
    static const int prompts[] = {0, 1, 2, 2, 3, 4, 5};
    for (int i = 0; i < 7; i++) {
        assert_string_equal(set.labels[i].caption, want[i]);
        assert_int_equal(set.labels[i].prompt, prompts[i]);
    }
    dit_picture_set_release(&set);
}

static void renders_show_their_captions_and_not_others(void **state)
{
    (void)state;
    dit_picture_set set;
    dit_reading_tally tally, shuffled;
    for (int clip = 0; clip < 2; clip++) {
        assert_ok(dit_picture_set_read(clip ? "shapes-clips:test:60" : "shapes:test:200", false, &set));
        assert_int_equal(set.prompts, clip ? 60 : 200);
        assert_ok(dit_accuracy_count(&set, &tally, &shuffled));
        assert_true(tally.whole >= tally.captions * 97 / 100);
        assert_int_equal(shuffled.captions, tally.captions); /* each was told the next one's caption */
        assert_true(shuffled.whole <= 2);
        assert_true(shuffled.right[DIT_BACKGROUND] < shuffled.asked[DIT_BACKGROUND] / 2);
        for (int i = 0; i < set.count; i++) /* no other caption, then one */
            memcpy(set.labels[i].caption, set.labels[1].caption, sizeof set.labels[i].caption);
        assert_ok(dit_accuracy_count(&set, &tally, &shuffled));
        assert_int_equal(shuffled.captions, 0);
        dit_caption_print(&(dit_caption){.count = 1}, set.labels[2].caption);
        assert_ok(dit_accuracy_count(&set, &tally, &shuffled));
        assert_int_equal(shuffled.captions, set.count);
        set.labels[3].caption[0] = '\0';
        assert_fails(dit_accuracy_count(&set, &tally, &shuffled), DIT_ERR_SHAPE, "test0000003 is unknown");
        dit_picture_set_release(&set);
    }
    write_png("small.png", 0);
    assert_ok(dit_picture_set_read(path_of("small.png"), false, &set));
    assert_fails(dit_accuracy_count(&set, &tally, &shuffled), DIT_ERR_SHAPE, "not 1 of 12 x 12");
    dit_picture_set_release(&set);
    assert_fails(dit_picture_set_read("shapes:test:9x", false, &set), DIT_ERR_USAGE, "does not say how many");
    assert_fails(dit_picture_set_read("shapes:tset:9", false, &set), DIT_ERR_USAGE, "split \"tset\"");
    assert_fails(dit_picture_set_read("shapes:test:9999999", false, &set), DIT_ERR_SHAPE, "more than 1048576 pictures");
    assert_fails(dit_picture_set_read("shapes-clips:test:400000", false, &set), DIT_ERR_SHAPE, "8589934592 values");
}

/* Values of the closed form, as tables of Wilson's interval print them. */
static void shares_have_wilsons_intervals(void **state)
{
    (void)state;
    double low, high;
    dit_accuracy_bounds(8, 10, &low, &high);
    assert_near(low, 0.4902, 5e-5);
    assert_near(high, 0.9433, 5e-5);
    dit_accuracy_bounds(0, 20, &low, &high);
    assert_near(low, 0, 1e-12);
    assert_near(high, 0.1611, 5e-5);
    dit_accuracy_bounds(20, 20, &low, &high);
    assert_near(low, 1 - 0.1611, 5e-5);
    assert_near(high, 1, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_number_finds_its_picture_whatever_the_order_of_names, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(names_say_prompts_and_colours_come_first, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(an_animated_file_beside_its_colours_is_left_alone, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(pictures_that_cannot_be_named_are_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(damaged_files_end_in_an_error, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(pictures_that_would_mislead_are_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(tensors_that_are_no_pictures_are_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(two_pictures_of_one_name_are_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(records_beside_pictures_tell_their_captions, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(renders_show_their_captions_and_not_others, make_folder, remove_folder),
        cmocka_unit_test(shares_have_wilsons_intervals),
    };
    return cmocka_run_group_tests_name("picture sets", tests, NULL, NULL);
}
