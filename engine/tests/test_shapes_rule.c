/* The rule that reads pictures of shapes: how often it is right on renders, and that nothing makes it fall.
 * 500 pictures and 100 clips, clean and with noise of 26 dB; with DITBENCH_TEST_ALL=1, 10,000 and 1,000. */
#include "base/rng.h"
#include "engine/shapes/rule.h"

#include "base/tests/test.h"

static const float NOISE = 0.0501187f; /* 10^(-26 / 20) */

static bool long_form(void)
{
    const char *all = getenv("DITBENCH_TEST_ALL");
    return all && strcmp(all, "1") == 0;
}

/* Reads `count` renders of the test split with this noise, and tells what was right. */
static dit_reading_tally read_renders(bool clip, int64_t count, float noise)
{
    enum { MOST = DIT_CLIP_FRAMES * DIT_PICTURE_VALUES };
    static float picture[MOST], disturbance[MOST];
    int64_t values = clip ? MOST : DIT_PICTURE_VALUES;
    dit_reading_tally tally = {.captions = 0};
    for (int64_t i = 0; i < count; i++) {
        uint8_t slots[DIT_CAPTION_SLOTS];
        dit_caption caption;
        dit_reading reading;
        dit_picture_samples(DIT_SPLIT_TEST, clip, (uint64_t)i, 1, picture, slots);
        dit_rng_normal(1, 1, (uint64_t)(i * values), values, 0, noise, disturbance);
        for (int64_t k = 0; k < values; k++) picture[k] += disturbance[k];
        assert_ok(dit_caption_of_slots(slots, &caption));
        (clip ? dit_shapes_read_clip : dit_shapes_read)(picture, &reading);
        dit_reading_compare(&reading, &caption, &tally);
    }
    return tally;
}

static void assert_right(const dit_reading_tally *tally, bool clip, double least)
{
    for (int a = 0; a < DIT_ATTRIBUTES; a++) {
        if (a == DIT_MOTION && !clip) continue;
        double share = (double)tally->right[a] / (double)tally->asked[a];
        print_message("%s %.4f of %lld\n", dit_attribute_name((dit_attribute)a), share, (long long)tally->asked[a]);
        if (!(share >= least)) fail_msg("%s: %.4f is under %.2f", dit_attribute_name((dit_attribute)a), share, least);
    }
}

static void the_rule_reads_renders(void **state)
{
    (void)state;
    dit_reading_tally clean = read_renders(false, long_form() ? 10000 : 500, 0);
    dit_reading_tally noisy = read_renders(false, long_form() ? 10000 : 500, NOISE);
    assert_right(&clean, false, 0.99);
    assert_right(&noisy, false, 0.97);
}

static void the_rule_reads_clips(void **state)
{
    (void)state;
    dit_reading_tally clean = read_renders(true, long_form() ? 1000 : 100, 0);
    dit_reading_tally noisy = read_renders(true, long_form() ? 1000 : 100, NOISE);
    assert_right(&clean, true, 0.98);
    assert_right(&noisy, true, 0.97);
}

static void nothing_is_found_where_nothing_is(void **state)
{
    (void)state;
    static float picture[DIT_PICTURE_VALUES];
    static const float levels[] = {0.05f, 0.45f, 0.85f};
    for (int level = 0; level < 3; level++) {
        dit_reading reading;
        dit_rng_normal(2, 2, 0, DIT_PICTURE_VALUES, levels[level], NOISE, picture);
        dit_shapes_read(picture, &reading);
        assert_int_equal(reading.background, level);
        for (int place = 0; place < DIT_PLACES; place++) assert_false(reading.found[place]);
    }
}

/* Generated pictures may hold anything. */
static void any_values_can_be_read(void **state)
{
    (void)state;
    static float clip[DIT_CLIP_FRAMES * DIT_PICTURE_VALUES];
    static const float values[] = {0, 1, 0.5f, -1e30f, 1e30f, INFINITY, -INFINITY, NAN};
    enum { COUNT = sizeof clip / sizeof *clip };
    for (uint64_t seed = 0; seed < 24; seed++) {
        dit_reading reading;
        for (uint64_t i = 0; i < COUNT; i++)
            clip[i] = values[seed < 8 ? seed : dit_rng_below(seed, 3, seed < 16 ? i / 7 : i, 8)];
        dit_shapes_read(clip, &reading);
        dit_shapes_read_clip(clip, &reading);
        assert_in_range(reading.background, 0, DIT_BACKGROUNDS - 1);
        for (int place = 0; place < DIT_PLACES; place++)
            for (int a = 0; reading.found[place] && a < DIT_OBJECT_ATTRIBUTES; a++)
                assert_true(reading.objects[place].is[a] < dit_attribute_values((dit_attribute)a));
    }
}

static void a_wrong_word_is_counted(void **state)
{
    (void)state;
    static float picture[DIT_PICTURE_VALUES];
    uint8_t slots[DIT_CAPTION_SLOTS];
    dit_caption caption;
    dit_reading reading;
    dit_picture_samples(DIT_SPLIT_TEST, false, 4, 1, picture, slots);
    assert_ok(dit_caption_of_slots(slots, &caption));
    dit_shapes_read(picture, &reading);
    dit_reading_tally tally = {.captions = 0};
    assert_true(dit_reading_compare(&reading, &caption, &tally));
    for (int a = 0; a < DIT_MOTION; a++) {
        dit_caption other = caption;
        dit_reading_tally wrong = {.captions = 0};
        other.objects[0].is[a] = (other.objects[0].is[a] + 1) % dit_attribute_values((dit_attribute)a);
        if (!dit_caption_sort(&other)) continue;
        assert_false(dit_reading_compare(&reading, &other, &wrong));
        assert_int_equal(wrong.asked[a] - wrong.right[a], 1);
    }
    caption.count = 1; /* what nobody asked for makes the whole wrong, and no word */
    dit_reading_tally more = {.captions = 0};
    reading.found[0] = reading.found[1] = reading.found[2] = reading.found[3] = true;
    assert_false(dit_reading_compare(&reading, &caption, &more));
    assert_int_equal(more.asked[DIT_COLOUR], more.right[DIT_COLOUR]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_reads_renders),
        cmocka_unit_test(the_rule_reads_clips),
        cmocka_unit_test(nothing_is_found_where_nothing_is),
        cmocka_unit_test(any_values_can_be_read),
        cmocka_unit_test(a_wrong_word_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
