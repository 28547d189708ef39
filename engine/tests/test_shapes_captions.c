/* Captions of shapes: text, slots and splits; texts that are refused. With DITBENCH_TEST_ALL=1, 20 times as many
 * samples. */
#include "engine/shapes/split.h"

#include "base/tests/test.h"

static int64_t sample_count(void)
{
    const char *all = getenv("DITBENCH_TEST_ALL");
    return all && strcmp(all, "1") == 0 ? 20000 : 1000;
}

static void every_word_has_a_number_of_its_own(void **state)
{
    (void)state;
    int named = DIT_WORD_NONE + 1;
    for (int i = 0; i < DIT_CAPTION_WORDS; i++) {
        assert_non_null(dit_caption_word(i));
        for (int k = 0; k < i; k++) assert_string_not_equal(dit_caption_word(i), dit_caption_word(k));
    }
    for (int a = 0; a < DIT_ATTRIBUTES; a++) named += dit_attribute_values((dit_attribute)a);
    assert_int_equal(named, DIT_CAPTION_WORDS);
    assert_null(dit_caption_word(DIT_CAPTION_WORDS));
    assert_string_equal(dit_caption_word(dit_caption_word_of(DIT_COLOUR, 5)), "blue");
    assert_string_equal(dit_caption_word(dit_caption_word_of(DIT_BACKGROUND, DIT_LIGHT)), "light");
}

static void captions_survive_text_and_slots(void **state)
{
    (void)state;
    for (int split = 0; split < DIT_SPLITS; split++) {
        for (int64_t i = 0; i < sample_count(); i++) {
            dit_caption drawn, read;
            char text[DIT_CAPTION_TEXT], again[DIT_CAPTION_TEXT];
            uint8_t slots[DIT_CAPTION_SLOTS], back[DIT_CAPTION_SLOTS];
            dit_split_caption((dit_split)split, i % 2, (uint64_t)i, &drawn);
            dit_caption_print(&drawn, text);
            assert_ok(dit_caption_parse(text, &read));
            dit_caption_print(&read, again);
            assert_string_equal(text, again);
            dit_caption_slots(&drawn, slots);
            dit_caption_slots(&read, back);
            assert_memory_equal(slots, back, sizeof slots);
            assert_ok(dit_caption_of_slots(slots, &read));
            dit_caption_print(&read, again);
            assert_string_equal(text, again);
        }
    }
}

static void words_have_fixed_slots(void **state)
{
    (void)state;
    dit_caption caption;
    uint8_t slots[DIT_CAPTION_SLOTS];
    static const char *const expected[DIT_CAPTION_SLOTS] = {
        "light",  "large",  "red",    "striped", "circle", "top-left", "<pad>", "<none>",
        "<none>", "<none>", "<none>", "<none>",  "<none>", "<pad>",    "<pad>", "<pad>"};
    assert_ok(dit_caption_parse("light; large red striped circle top-left", &caption));
    dit_caption_slots(&caption, slots);
    for (int i = 0; i < DIT_CAPTION_SLOTS; i++) assert_string_equal(dit_caption_word(slots[i]), expected[i]);
    assert_ok(dit_caption_parse(
        "grey; small blue plain ring bottom-right still; large red plain cross top-left moving up", &caption));
    dit_caption_slots(&caption, slots);
    assert_string_equal(dit_caption_word(slots[6]), "up"); /* the object of the first place comes first */
    assert_string_equal(dit_caption_word(slots[12]), "still");
    dit_caption_slots(NULL, slots);
    for (int i = 0; i < DIT_CAPTION_SLOTS; i++) assert_int_equal(slots[i], DIT_WORD_NULL);
}

static void wrong_texts_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", "background of the picture"},
        {"white; large red plain circle top-left", "\"white\""},
        {"grey", "no object"},
        {"grey dark; large red plain circle top-left", "\"dark\""},
        {"grey;", "size of object 1"},
        {"grey; large red plain circle", "place of object 1"},
        {"grey; red large plain circle top-left", "\"red\""},
        {"grey; large crimson plain circle top-left", "\"crimson\""},
        {"grey; large red plain circle top-left moving", "motion of object 1"},
        {"grey; large red plain circle top-left moving still", "moving still"},
        {"grey; large red plain circle top-left still now", "\"now\""},
        {"grey; large red plain circle top-left left", "\"left\""},
        {"grey; large red plain circle top-left; small red plain circle top-left", "both objects are top-left"},
        {"grey; large red plain circle top-left still; small red plain circle top-right", "either both or neither"},
        {"grey; large red plain circle top-left; small red plain circle top-right; x", "third object"},
        {"grey; large red plain circle top-left;", "size of object 2"},
        {"GREY; large red plain circle top-left", "\"GREY\""},
        {"grey\n; large red plain circle top-left", "background"},
    };
    dit_caption caption;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_fails(dit_caption_parse(rows[i].text, &caption), DIT_ERR_JSON_VALUE, rows[i].words);
    char text[4096];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_fails(dit_caption_parse(text, &caption), DIT_ERR_JSON_VALUE, "too many");
    text[DIT_CAPTION_TEXT - 1] = '\0';
    assert_fails(dit_caption_parse(text, &caption), DIT_ERR_JSON_VALUE, "background");
}

/* Slots with any one word replaced by any number are read as the caption that prints them, or refused. */
static void wrong_slots_are_refused(void **state)
{
    (void)state;
    dit_caption caption, read;
    uint8_t slots[DIT_CAPTION_SLOTS], back[DIT_CAPTION_SLOTS];
    int refused = 0;
    for (uint64_t i = 0; i < 40; i++) {
        dit_split_caption(DIT_SPLIT_TRAIN, i % 2, i, &caption);
        for (int at = 0; at < DIT_CAPTION_SLOTS; at++) {
            for (int word = 0; word < 256; word++) {
                dit_caption_slots(&caption, slots);
                slots[at] = (uint8_t)word;
                if (dit_caption_of_slots(slots, &read) != DIT_OK) {
                    refused++;
                    continue;
                }
                dit_caption_slots(&read, back);
                assert_memory_equal(slots, back, sizeof slots);
            }
        }
    }
    assert_true(refused > 40 * 16 * 200);
    dit_caption_slots(NULL, slots);
    assert_fails(dit_caption_of_slots(slots, &read), DIT_ERR_JSON_VALUE, "is no background");
}

static void splits_share_no_caption(void **state)
{
    (void)state;
    int held_out = 0;
    for (int colour = 0; colour < DIT_COLOURS; colour++) {
        int of_colour = 0;
        for (int shape = 0; shape < DIT_SHAPES; shape++) of_colour += dit_split_holds_out_pair(colour, shape);
        assert_int_equal(of_colour, 1);
        held_out += of_colour;
    }
    assert_int_equal(held_out, 8);
    for (int split = 0; split < DIT_SPLITS; split++) {
        dit_split group = split == DIT_SPLIT_VALIDATION ? DIT_SPLIT_TRAIN : (dit_split)split;
        for (int64_t i = 0; i < sample_count(); i++) {
            dit_caption caption;
            dit_split_caption((dit_split)split, i % 2, (uint64_t)i, &caption);
            assert_int_equal(dit_split_of(&caption), group);
            for (int k = 0; k < caption.count && group != DIT_SPLIT_PAIRS; k++) {
                const int *is = caption.objects[k].is;
                assert_false(dit_split_holds_out_pair(is[DIT_COLOUR], is[DIT_SHAPE]));
            }
        }
    }
}

/* 40 % have one object, and every word of an attribute comes as often as it should: within five deviations. */
static void training_captions_are_even(void **state)
{
    (void)state;
    double n = (double)sample_count(), single = 0, objects = 0, seen[DIT_ATTRIBUTES][8] = {{0}};
    for (int64_t i = 0; i < sample_count(); i++) {
        dit_caption caption;
        dit_split_caption(DIT_SPLIT_TRAIN, true, (uint64_t)i, &caption);
        single += caption.count == 1;
        objects += caption.count;
        seen[DIT_BACKGROUND][caption.background]++;
        for (int k = 0; k < caption.count; k++)
            for (int a = 0; a < DIT_OBJECT_ATTRIBUTES; a++) seen[a][caption.objects[k].is[a]]++;
    }
    /* a fifth of all objects has a held-out pair: captions with two are refused more often */
    double one = 0.4 * 0.8, two = 0.6 * 0.64;
    assert_near(single / n, one / (one + two), 5 * sqrt(0.25 / n));
    for (int a = 0; a < DIT_ATTRIBUTES; a++) {
        double all = a == DIT_BACKGROUND ? n : objects, share = 1.0 / dit_attribute_values((dit_attribute)a);
        if (a == DIT_SHAPE) continue; /* three shapes have two held-out colours, two have one */
        for (int v = 0; v < dit_attribute_values((dit_attribute)a); v++)
            assert_near(seen[a][v] / all, share, 5 * sqrt(share / all));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_has_a_number_of_its_own),
        cmocka_unit_test(captions_survive_text_and_slots),
        cmocka_unit_test(words_have_fixed_slots),
        cmocka_unit_test(wrong_texts_are_refused),
        cmocka_unit_test(wrong_slots_are_refused),
        cmocka_unit_test(splits_share_no_caption),
        cmocka_unit_test(training_captions_are_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
