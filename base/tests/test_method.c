/* Axes and methods: one table, names that are parsed, degrees that are dealt. */
#include "base/tests/test.h"

#include "base/axis.h"
#include "base/deal.h"
#include "base/label.h"
#include "base/method.h"

static void every_axis_has_its_row(void **state)
{
    bool labelled[DIT_GROUP_COUNT] = {false}, dealt[DIT_GROUP_COUNT] = {false};
    (void)state;
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++) {
        const dit_axis_info *row = dit_axis_get((dit_axis)axis);
        dit_axis found;
        assert_true(dit_axis_from_name(dit_axis_name((dit_axis)axis), &found));
        assert_int_equal(found, axis);
        assert_true(row->help && row->prefix && row->example && row->meaning && row->greatest > 1);
        assert_true(row->printed || axis == DIT_AXIS_WORLD);
        assert_true(strncmp(row->example, row->prefix, strlen(row->prefix)) == 0);
        assert_int_equal(dit_axis_at_label(row->label_place), axis);
        assert_int_equal(dit_axis_at_deal(row->deal_place), axis);
        labelled[row->label_place] = dealt[row->deal_place] = true;
    }
    for (int place = 0; place < DIT_GROUP_COUNT; place++) assert_true(labelled[place] && dealt[place]);
    assert_false(dit_axis_from_name("ulises", &(dit_axis){0}));
}

/* The list for the compiler is the enum, from the slowest to the fastest. */
static void the_list_of_axes_is_the_enum(void **state)
{
    static const struct {
        dit_axis axis;
        const char *name;
    } list[] = {
#define ROW(unused, axis, name, needs) {DIT_AXIS_##axis, name},
        DIT_AXIS_LIST(ROW, )
#undef ROW
    };
    (void)state;
    assert_int_equal(sizeof list / sizeof *list, DIT_AXIS_COUNT);
    for (int i = 0; i < DIT_AXIS_COUNT; i++) {
        assert_int_equal(list[i].axis, DIT_AXIS_COUNT - 1 - i);
        assert_string_equal(list[i].name, dit_axis_name(list[i].axis));
    }
}

static void every_patch_method_is_a_method(void **state)
{
    (void)state;
    for (int i = 0; i < DIT_PATCH_METHOD_COUNT; i++) {
        const char *name = dit_patch_method_name((dit_patch_method)i);
        dit_patch_method found;
        dit_method method;
        assert_true(dit_patch_method_from_name(name, &found));
        assert_int_equal(found, i);
        assert_string_equal(dit_patch_method_names()[i], name);
        assert_ok(dit_method_from_name(name, &method));
        assert_true(method.axes[DIT_AXIS_PATCH] && method.patch_method == found);
    }
    assert_false(dit_patch_method_from_name("ulysses", &(dit_patch_method){0}));
}

/* Every set of axes has one name, and the name gives the set back. */
static void names_of_products_are_read_and_written_alike(void **state)
{
    (void)state;
    for (int i = 0; i < DIT_RING_OF_MODELS * DIT_STAGE_METHOD_COUNT << DIT_AXIS_COUNT; i++) {
        int settings = DIT_RING_OF_MODELS * DIT_STAGE_METHOD_COUNT, set = i / settings;
        int ring = set >> DIT_AXIS_RING & 1 ? i % DIT_RING_OF_MODELS : DIT_RING_MERGE;
        int stage = set >> DIT_AXIS_PIPEFUSION & 1 ? i % settings / DIT_RING_OF_MODELS : DIT_STAGE_PIPEFUSION;
        char name[DIT_METHOD_NAME];
        bool axes[DIT_GROUP_COUNT] = {false};
        dit_method method;
        for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) axes[axis] = set >> axis & 1;
        dit_method_name(axes, DIT_PATCH_PCPP, (dit_ring_method)ring, (dit_stage_method)stage, name);
        assert_ok(dit_method_from_name(name, &method));
        assert_string_equal(method.name, name);
        assert_memory_equal(method.axes, axes, sizeof axes);
        if (axes[DIT_AXIS_PATCH]) assert_int_equal(method.patch_method, DIT_PATCH_PCPP);
        assert_int_equal(method.ring_method, ring);
        assert_int_equal(method.stage_method, stage);
        int twos = __builtin_popcount((unsigned)set) + (ring == DIT_RING_DOUBLE);
        assert_int_equal(dit_method_least_ranks(&method), 1 << twos);
    }
}

static void what_is_no_method_is_refused_with_the_nearest(void **state)
{
    static const struct {
        const char *name, *words, *hint;
    } rows[] = {
        {"ulises", "\"ulises\" is none of single", "\"ulysses\""},
        {"cfg+ulises", "\"ulises\" of method \"cfg+ulises\"", "\"ulysses\""},
        {"ulysses+cfg", "no method \"ulysses+cfg\"", "\"cfg+ulysses\""},
        {"ulysses+ring", "no method \"ulysses+ring\"", "\"usp\""},
        {"cfg+single", "no method \"cfg+single\"", "\"cfg\""},
        {"", "no method \"\"", "\"single\""},
        {"cfg+", "no method \"cfg+\"", "\"cfg\""},
        {"usp+ring", "over ring twice", ""},
        {"pcpp+distrifusion", "over patch twice", ""},
        {"cfg+vae-rows", "shares a decode", ""},
        {"all-gather+usp", "over ring twice", ""},
        {"ulysses+all-gather", "no method \"ulysses+all-gather\"", "\"all-gather+ulysses\""},
        {"lightseq", "\"lightseq\" is none of single", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dit_method method;
        assert_fails(dit_method_from_name(rows[i].name, &method), DIT_ERR_NOT_FOUND, rows[i].words);
        assert_contains(dit_error_last()->hint, rows[i].hint);
    }
}

static void any_product_of_methods_is_dealt(void **state)
{
    static const struct {
        const char *name, *label;
        int ranks;
    } rows[] = {
        {"data+cfg+pipefusion+usp+tensor", "u2 r2 pp2 tp2 cfg2 dp2", 64},
        {"cfg+distrifusion+tensor", "patch4 tp2 cfg2", 16},
        {"data+cfg", "cfg2 dp3", 6},
        {"usp", "u4 r2", 8},
        {"vae-rows", "rows4", 4},
        {"all-gather", "r3", 3},
        {"dsp+ulysses", "u4 r2", 8},
        {"cfg+double-ring+ulysses", "u2 r4 cfg2", 16},
        {"tensor", "1", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dit_parallel parallel = {0};
        char label[64], name[DIT_METHOD_NAME];
        assert_ok(dit_deal_method(rows[i].name, rows[i].ranks, &parallel));
        dit_parallel_label(&parallel, label);
        assert_string_equal(label, rows[i].label);
        dit_parallel_method(&parallel, name);
        assert_string_equal(name, rows[i].ranks == 1 ? "single" : rows[i].name);
    }
    assert_fails(dit_deal_method("double-ring", 2, &(dit_parallel){0}), DIT_ERR_CONSTRAINT_METHOD, "2 factors");
    assert_fails(dit_deal_method("cfg+ulysses", 6 + 1, &(dit_parallel){0}), DIT_ERR_CONSTRAINT_METHOD, "one of them 2");
}

/* ---- every mesh -------------------------------------------------------------------------------------------------- */

typedef struct {
    int count, first[DIT_AXIS_COUNT], last[DIT_AXIS_COUNT];
} meshes;

static dit_status collect(void *context, const int degree[DIT_AXIS_COUNT])
{
    meshes *all = context;
    int product = 1;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) product *= degree[axis];
    assert_int_equal(product, 8);
    if (all->count++ == 0) memcpy(all->first, degree, sizeof all->first);
    memcpy(all->last, degree, sizeof all->last);
    return DIT_OK;
}

static dit_status stop(void *context, const int degree[DIT_AXIS_COUNT])
{
    (void)context, (void)degree;
    return DIT_FAIL(DIT_ERR_MEMORY, "enough");
}

static void meshes_are_every_product_within_the_greatest_degrees(void **state)
{
    static const dit_axis axes[] = {DIT_AXIS_CFG, DIT_AXIS_ULYSSES, DIT_AXIS_RING};
    meshes all = {0};
    (void)state;
    assert_ok(dit_deal_each(axes, 3, 8, collect, &all));
    assert_int_equal(all.count, 4 + 3); /* u x r = 8, and 4 with cfg 2; never cfg 4 or 8 */
    assert_true(all.first[DIT_AXIS_CFG] == 1 && all.first[DIT_AXIS_RING] == 8);
    assert_true(all.last[DIT_AXIS_CFG] == 2 && all.last[DIT_AXIS_ULYSSES] == 4);
    all = (meshes){0};
    assert_ok(dit_deal_each((const dit_axis[]){DIT_AXIS_RING, DIT_AXIS_CFG}, 2, 8, collect, &all));
    assert_int_equal(all.count, 2);
    assert_fails(dit_deal_each(axes, 3, 8, stop, NULL), DIT_ERR_MEMORY, "enough");
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

static void labels_are_read_as_they_are_written(void **state)
{
    (void)state;
    for (int set = 0; set < 1 << DIT_AXIS_COUNT; set++) {
        dit_parallel parallel = {0}, read = {0};
        char label[64];
        for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) parallel.degree[axis] = set >> axis & 1 ? 2 + axis : 0;
        dit_parallel_label(&parallel, label);
        assert_ok(dit_parallel_from_label(label, &read));
        assert_memory_equal(read.degree, parallel.degree, sizeof read.degree);
    }
    dit_parallel patches = {0};
    assert_ok(dit_parallel_from_label("patch4 pcpp", &patches));
    assert_int_equal(patches.patch_method, DIT_PATCH_PCPP);
    assert_fails(dit_parallel_from_label("u2 x3", &patches), DIT_ERR_USAGE, "\"x3\"");
    assert_fails(dit_parallel_from_label("u1", &patches), DIT_ERR_USAGE, "\"u1\"");
}

static void a_list_of_stages_is_read_from_text(void **state)
{
    static const char *const bad[] = {"", "1,", ",1", "1,,2", "0,1", "1 2", "-1,2", "1,2x", "100000", "1.5,2"};
    int blocks[DIT_MAX_STAGES], count = 0;
    (void)state;
    assert_true(dit_stage_blocks_from_text("7,7,6", blocks, &count));
    assert_int_equal(count, 3);
    assert_int_equal(blocks[2], 6);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(dit_stage_blocks_from_text(bad[i], blocks, &count));
    char text[2 * DIT_MAX_STAGES + 4] = "1";
    for (int i = 0; i < DIT_MAX_STAGES; i++) strcat(text, ",1");
    assert_false(dit_stage_blocks_from_text(text, blocks, &count));
}

/* As a search names its winner, so that it can be asked for again. */
static void stages_and_patch_methods_are_read_as_they_are_written(void **state)
{
    static const char *const labels[] = {"pp2 u2 24,33",  "pp4 7,7,7,6", "patch4 pcpp",
                                         "cfg2 r2",       "1",           "u2 r4 double-ring inner2",
                                         "r3 all-gather", "u2 r4 dsp"};
    char long_list[64];
    (void)state;
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        dit_parallel read = {0}, again = {0};
        char label[64], written[64];
        assert_ok(dit_parallel_from_label(labels[i], &read));
        dit_parallel_label_whole(&read, label);
        assert_ok(dit_parallel_from_label(label, &again));
        dit_parallel_label_whole(&again, written);
        assert_string_equal(label, written);
        assert_int_equal(strlen(label), strlen(labels[i])); /* the words, in whatever order */
        assert_memory_equal(read.stage_blocks, again.stage_blocks, sizeof read.stage_blocks);
        assert_int_equal(read.patch_method, again.patch_method);
        assert_int_equal(read.ring_method, again.ring_method);
        assert_int_equal(read.inner_ring, again.inner_ring);
    }
    dit_parallel many = {.degree[DIT_AXIS_PIPEFUSION] = DIT_MAX_STAGES};
    for (int i = 0; i < DIT_MAX_STAGES; i++) many.stage_blocks[i] = DIT_MAX_BLOCKS;
    dit_parallel_label_whole(&many, long_list);
    assert_int_equal(strlen(long_list), 63);
    assert_string_equal(long_list + 60, "...");
    assert_fails(dit_parallel_from_label(long_list, &many), DIT_ERR_USAGE, "...");
}

static void a_label_that_lacks_a_word_ends_in_dots(void **state)
{
    int cut = 0;
    (void)state;
    for (int degree = 2; degree < 1000000000; degree *= 10) {
        dit_parallel wide = {.patch_method = DIT_PATCH_PCPP}, read = {0};
        char label[64];
        for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) wide.degree[axis] = degree;
        dit_parallel_label_whole(&wide, label);
        bool whole = dit_parallel_from_label(label, &read) == DIT_OK && read.patch_method == DIT_PATCH_PCPP &&
                     memcmp(read.degree, wide.degree, sizeof read.degree) == 0;
        assert_true(whole || (strlen(label) == 63 && strcmp(label + 60, "...") == 0));
        cut += !whole;
    }
    assert_in_range(cut, 1, 8); /* both kinds occur */
}

static void labels_that_are_none_are_refused(void **state)
{
    static const char *const bad[][2] = {{"pp3 24,33", "lists 2 stages and has 3"},
                                         {"24,33", "lists 2 stages and has 1"},
                                         {"pp2 24,", "24,"},
                                         {"pp2 ,", ","},
                                         {"pp2 24,0", "24,0"},
                                         {"pp2 24,-3", "24,-3"},
                                         {"pp2 24,99999999999999999999", "99999999999999999999"},
                                         {"u99999999999999999999", "u99999999999999999999"},
                                         {"pp2 24", "\"24\""}};
    char text[700] = "pp65 1";
    dit_parallel read = {0};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        read = (dit_parallel){0};
        assert_fails(dit_parallel_from_label(bad[i][0], &read), DIT_ERR_USAGE, bad[i][1]);
    }
    for (int i = 0; i < DIT_MAX_STAGES; i++) strcat(text, ",1");
    assert_fails(dit_parallel_from_label(text, &read), DIT_ERR_USAGE, "1,1,1");
    memset(text, ' ', sizeof text - 1);
    memcpy(text, "u2", 2);
    memcpy(text + sizeof text - 4, "u3", 3);
    assert_fails(dit_parallel_from_label(text, &read), DIT_ERR_USAGE, "longer than");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_axis_has_its_row),
        cmocka_unit_test(the_list_of_axes_is_the_enum),
        cmocka_unit_test(every_patch_method_is_a_method),
        cmocka_unit_test(names_of_products_are_read_and_written_alike),
        cmocka_unit_test(what_is_no_method_is_refused_with_the_nearest),
        cmocka_unit_test(any_product_of_methods_is_dealt),
        cmocka_unit_test(meshes_are_every_product_within_the_greatest_degrees),
        cmocka_unit_test(labels_are_read_as_they_are_written),
        cmocka_unit_test(a_list_of_stages_is_read_from_text),
        cmocka_unit_test(stages_and_patch_methods_are_read_as_they_are_written),
        cmocka_unit_test(a_label_that_lacks_a_word_ends_in_dots),
        cmocka_unit_test(labels_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
