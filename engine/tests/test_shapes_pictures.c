/* Pictures of shapes: the same bytes everywhere, and what a scene promises. */
#include "base/hash.h"
#include "engine/shapes/edit.h"

#include "base/tests/test.h"

enum { PICTURES = 192, CLIPS = 16 };

static float *pictures_of(dit_split split, bool clip, int64_t count, uint8_t *slots)
{
    float *out = malloc((size_t)count * (clip ? DIT_CLIP_FRAMES : 1) * DIT_PICTURE_VALUES * sizeof *out);
    assert_non_null(out);
    dit_picture_samples(split, clip, 0, count, out, slots);
    return out;
}

/* What one machine rendered; any other compiler, instruction set and setting must give these bytes. */
static void samples_have_these_bytes(void **state)
{
    (void)state;
    char digest[DIT_HASH_HEX];
    uint8_t slots[PICTURES * DIT_CAPTION_SLOTS];
    float *pictures = pictures_of(DIT_SPLIT_TRAIN, false, PICTURES, slots);
    dit_hash(pictures, (size_t)PICTURES * DIT_PICTURE_VALUES * sizeof *pictures, digest);
    assert_string_equal(digest, "f562f061630ef9744b2611194f19143f");
    dit_hash(slots, sizeof slots, digest);
    assert_string_equal(digest, "19cbb4aa69b9dff41552fc8f8bc881d6");
    free(pictures);
    float *clips = pictures_of(DIT_SPLIT_TEST, true, CLIPS, slots);
    dit_hash(clips, (size_t)CLIPS * DIT_CLIP_FRAMES * DIT_PICTURE_VALUES * sizeof *clips, digest);
    assert_string_equal(digest, "1dd072167a06bc1fa96df2e44a2f0504");
    free(clips);
}

static void any_range_of_samples_is_the_same(void **state)
{
    (void)state;
    uint8_t slots[PICTURES * DIT_CAPTION_SLOTS], few[5 * DIT_CAPTION_SLOTS];
    static float part[5 * DIT_PICTURE_VALUES];
    float *all = pictures_of(DIT_SPLIT_PAIRS, false, PICTURES, slots);
    for (int64_t first = 0; first + 5 <= PICTURES; first += 37) {
        dit_picture_samples(DIT_SPLIT_PAIRS, false, (uint64_t)first, 5, part, few);
        assert_memory_equal(part, all + first * DIT_PICTURE_VALUES, sizeof part);
        assert_memory_equal(few, slots + first * DIT_CAPTION_SLOTS, sizeof few);
    }
    float *other = pictures_of(DIT_SPLIT_VALIDATION, false, 1, NULL);
    assert_memory_not_equal(other, all, DIT_PICTURE_VALUES * sizeof *other);
    free(other);
    free(all);
}

static void values_are_levels(void **state)
{
    (void)state;
    float *all = pictures_of(DIT_SPLIT_TRAIN, false, PICTURES, NULL);
    for (int64_t i = 0; i < (int64_t)PICTURES * DIT_PICTURE_VALUES; i++) assert_true(all[i] >= 0 && all[i] <= 1);
    free(all);
}

/* An object's pixels lie in its quadrant, but for the tips of rotated corners. */
static void objects_stay_in_their_quadrants(void **state)
{
    (void)state;
    static float share[DIT_PICTURE_PLANE];
    for (uint64_t i = 0; i < 300; i++) {
        dit_caption caption;
        dit_scene scene;
        dit_split_caption(DIT_SPLIT_TRAIN, false, i, &caption);
        dit_scene_draw(&caption, DIT_SPLIT_TRAIN, i, &scene);
        for (int k = 0; k < scene.count; k++) {
            double inside = 0, all = 0;
            dit_picture_coverage(&scene.objects[k], share);
            for (int p = 0; p < DIT_PICTURE_PLANE; p++) {
                int place = (p % DIT_PICTURE_EDGE >= DIT_PICTURE_EDGE / 2) + 2 * (p >= DIT_PICTURE_PLANE / 2);
                all += (double)share[p];
                inside += place == caption.objects[k].is[DIT_PLACE] ? (double)share[p] : 0;
            }
            assert_true(inside > 0.97 * all && all > DIT_CLIP_FRAMES);
        }
    }
}

static void moving_objects_stay_apart_and_inside(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 200; i++) {
        dit_caption caption;
        dit_scene scene;
        dit_split_caption(DIT_SPLIT_TRAIN, true, i, &caption);
        dit_scene_draw(&caption, DIT_SPLIT_TRAIN, i, &scene);
        for (int k = 0; k < scene.count; k++) {
            const dit_scene_object *o = &scene.objects[k];
            float reach = 3.5f, edge = o->radius - 1e-4f;
            bool moves = caption.objects[k].is[DIT_MOTION] != DIT_STILL;
            assert_true(moves == (o->vx != 0 || o->vy != 0));
            for (int end = -1; end <= 1 && moves; end += 2) {
                float x = o->x + (float)end * reach * o->vx, y = o->y + (float)end * reach * o->vy;
                assert_true(x >= edge && y >= edge && x <= DIT_PICTURE_EDGE - edge && y <= DIT_PICTURE_EDGE - edge);
            }
            int place = (o->x >= DIT_PICTURE_EDGE / 2) + 2 * (o->y >= DIT_PICTURE_EDGE / 2);
            assert_int_equal(place, caption.objects[k].is[DIT_PLACE]);
        }
    }
    dit_scene meeting = {.count = 2,
                         .objects = {{.x = 8, .y = 8, .vx = 1, .radius = 4}, {.x = 24, .y = 8, .vx = -1, .radius = 4}}};
    assert_false(dit_scene_stays_apart(&meeting));
    meeting.objects[1].vx = 1;
    assert_true(dit_scene_stays_apart(&meeting));
}

/* An edit changes one word; pixels change where that object is, and nowhere else. */
static void edits_change_one_object(void **state)
{
    (void)state;
    static float share[2][DIT_PICTURE_PLANE];
    static uint8_t region[DIT_PICTURE_PLANE];
    for (uint64_t i = 0; i < 200; i++) {
        dit_edit edit;
        dit_scene scene;
        int differ = 0, changed = 0;
        uint8_t before[DIT_CAPTION_SLOTS], after[DIT_CAPTION_SLOTS];
        dit_edit_draw(DIT_SPLIT_TEST, i, &edit);
        dit_caption_slots(&edit.before, before);
        dit_caption_slots(&edit.after, after);
        for (int k = 0; k < DIT_CAPTION_SLOTS; k++) differ += before[k] != after[k];
        assert_int_equal(differ, 1);
        assert_int_not_equal(dit_split_of(&edit.after), DIT_SPLIT_PAIRS);
        dit_scene_draw(&edit.before, DIT_SPLIT_TEST, i, &scene);
        dit_picture_coverage(&scene.objects[edit.object], share[0]);
        dit_scene_draw(&edit.after, DIT_SPLIT_TEST, i, &scene);
        dit_picture_coverage(&scene.objects[edit.object], share[1]);
        dit_edit_region(&edit, DIT_SPLIT_TEST, i, region);
        for (int p = 0; p < DIT_PICTURE_PLANE; p++) {
            changed += region[p];
            if (region[p]) assert_true(share[0][p] > 0 || share[1][p] > 0);
        }
        assert_true(changed > 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_have_these_bytes),
        cmocka_unit_test(any_range_of_samples_is_the_same),
        cmocka_unit_test(values_are_levels),
        cmocka_unit_test(objects_stay_in_their_quadrants),
        cmocka_unit_test(moving_objects_stay_apart_and_inside),
        cmocka_unit_test(edits_change_one_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
