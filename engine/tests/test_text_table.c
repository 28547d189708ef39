/* Captions without a text encoder: PyTorch's embeddings (engine/tests/golden/codec.py), who is told what in a batch of
 * guidance, and files that are no table. */
#include "base/safetensors.h"
#include "engine/runtime/condition.h"

#include "base/tests/test.h"

#define TINY DITBENCH_SOURCE_DIR "/engine/tests/golden/tiny_shapes"

enum { WIDTH = 16, TEXT = DIT_CAPTION_SLOTS * WIDTH };
static const char caption[] = "light; large red striped circle top-left; small blue plain square bottom-right";
static const char other[] = "grey; small pink checked ring bottom-left moving up";

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

static void assert_golden(const dit_safetensors *file, const char *name, const float *got, int64_t count)
{
    dit_tensor_view view;
    float want[TEXT];
    assert_true(dit_safetensors_find(file, name, &view));
    assert_ok(dit_tensor_read(&view, 0, count, want));
    for (int64_t i = 0; i < count; i++) assert_near(got[i], want[i], 1e-6);
}

static void embeddings_are_those_of_pytorch(void **state)
{
    (void)state;
    dit_text_table *table;
    dit_safetensors *file;
    float embeds[TEXT], pooled[WIDTH];
    assert_ok(dit_text_table_open(TINY, &table));
    assert_ok(dit_safetensors_open(TINY "/embeds.safetensors", &file));
    assert_int_equal(dit_text_table_width(table), WIDTH);
    assert_ok(dit_text_table_look_up(table, caption, embeds, pooled));
    assert_golden(file, "prompt_embeds", embeds, TEXT);
    assert_golden(file, "pooled_prompt_embeds", pooled, WIDTH);
    assert_ok(dit_text_table_look_up(table, NULL, embeds, pooled));
    assert_golden(file, "negative_prompt_embeds", embeds, TEXT);
    assert_golden(file, "negative_pooled_prompt_embeds", pooled, WIDTH);
    assert_fails(dit_text_table_look_up(table, "light; large rde", embeds, NULL), DIT_ERR_JSON_VALUE,
                 "\"rde\" is none of");
    dit_safetensors_close(file);
    dit_text_table_close(table);
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

/* Only what conditions need of a runtime and of a partition. */
typedef struct {
    dit_runtime rt;
    dit_partition part;
    dit_condition_need needs[DIT_CONDITION_COUNT];
    dit_text_table *table;
    dit_condition condition;
} fixture;

static void start(fixture *f, int64_t images, int64_t branches)
{
    *f = (fixture){.part = {.batch = images * branches, .images = images}};
    f->rt.facts = (dit_facts){.num_images = images, .guidance_branches = branches};
    dit_arena_init(&f->rt.image, &f->rt.ledger, DIT_MEMORY_ACTIVATIONS);
    f->needs[DIT_CONDITION_TEXT].elements = TEXT;
    f->needs[DIT_CONDITION_TEXT_MASK] = (dit_condition_need){.elements = DIT_CAPTION_SLOTS, .optional = true};
    f->needs[DIT_CONDITION_POOLED].elements = WIDTH;
    f->needs[DIT_CONDITION_GUIDANCE].elements = 1;
    assert_ok(dit_text_table_open(TINY, &f->table));
}

static dit_status look_up(fixture *f, const char *const *captions, int64_t count)
{
    const dit_condition_run run = {.guidance_scale = 3};
    return dit_condition_look_up(&f->rt, &f->part, f->needs, f->table, captions, count, &run, &f->condition);
}

static void stop(fixture *f)
{
    dit_text_table_close(f->table);
    dit_arena_release(&f->rt.image);
}

static void assert_row(const fixture *f, int64_t row, const char *said)
{
    float embeds[TEXT], pooled[WIDTH];
    assert_ok(dit_text_table_look_up(f->table, said, embeds, pooled));
    assert_memory_equal(f->condition.at[DIT_CONDITION_TEXT] + row * TEXT, embeds, sizeof embeds);
    assert_memory_equal(f->condition.at[DIT_CONDITION_POOLED] + row * WIDTH, pooled, sizeof pooled);
}

static void each_image_is_told_its_caption_and_the_other_branch_nothing(void **state)
{
    (void)state;
    const char *const both[] = {caption, other};
    fixture f;
    start(&f, 2, 2);
    assert_ok(look_up(&f, both, 2));
    assert_row(&f, 0, NULL);
    assert_row(&f, 1, NULL);
    assert_row(&f, 2, caption);
    assert_row(&f, 3, other);
    assert_null(f.condition.at[DIT_CONDITION_TEXT_MASK]); /* all slots attend */
    assert_near(f.condition.at[DIT_CONDITION_GUIDANCE][0], 3, 0);
    stop(&f);
    start(&f, 3, 1);
    assert_ok(look_up(&f, both, 1));
    for (int64_t row = 0; row < 3; row++) assert_row(&f, row, caption);
    stop(&f);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    const char *const both[] = {caption, other};
    fixture f;
    start(&f, 3, 1);
    assert_fails(look_up(&f, both, 2), DIT_ERR_SHAPE, "2 captions for 3 images");
    f.needs[DIT_CONDITION_TEXT].elements = 77 * WIDTH;
    assert_fails(look_up(&f, both, 1), DIT_ERR_SHAPE, "16 slots of 16 numbers, but the model takes 1232");
    f.needs[DIT_CONDITION_TEXT].elements = TEXT;
    f.needs[DIT_CONDITION_POOLED].elements = 32;
    assert_fails(look_up(&f, both, 1), DIT_ERR_SHAPE, "and 32 pooled");
    f.needs[DIT_CONDITION_POOLED].elements = WIDTH;
    f.needs[DIT_CONDITION_IMAGE].elements = 8;
    assert_fails(look_up(&f, both, 1), DIT_ERR_UNSUPPORTED, "needs image, which captions do not give");
    stop(&f);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(dit_file_write(path, &(dit_file_piece){text, strlen(text)}, 1));
}

static void write_tensors(int64_t words, int64_t width, int64_t slots, int64_t slot_width, const char *second)
{
    static float numbers[64 * 64];
    char path[256];
    const dit_tensor_out tensors[2] = {{"W", 2, {words, width}, numbers}, {second, 2, {slots, slot_width}, numbers}};
    snprintf(path, sizeof path, "%s/text.safetensors", folder);
    assert_ok(dit_safetensors_write(path, tensors, 2));
}

/* A vocabulary whose word `place` is `word` (NULL: its own), with more text behind the list. */
static void write_vocabulary(int count, int place, const char *word, const char *more)
{
    char text[2048] = "{\"words\": [";
    size_t used = strlen(text);
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s\"%s\"", i ? ", " : "",
                                 i == place && word ? word : dit_caption_word(i));
    snprintf(text + used, sizeof text - used, "]%s}", more);
    write_file("vocabulary.json", text);
}

static void fails_with(dit_status status, const char *words)
{
    dit_text_table *table;
    assert_fails(dit_text_table_open(folder, &table), status, words);
    assert_null(table);
}

static void files_that_are_no_table_are_refused(void **state)
{
    (void)state;
    dit_text_table *table;
    fails_with(DIT_ERR_IO, "vocabulary.json");
    write_tensors(33, 8, 16, 8, "P");
    write_vocabulary(33, 0, NULL, "");
    assert_ok(dit_text_table_open(folder, &table));
    dit_text_table_close(table);
    write_vocabulary(32, 0, NULL, "");
    fails_with(DIT_ERR_JSON_VALUE, "\"down\" is missing");
    write_vocabulary(33, 9, "vermilion", "");
    fails_with(DIT_ERR_JSON_VALUE, "\"vermilion\" is no word of captions");
    write_vocabulary(33, 9, "large", "");
    fails_with(DIT_ERR_JSON_VALUE, "\"large\" stands twice");
    write_vocabulary(33, 0, NULL, ", \"slots\": 17");
    fails_with(DIT_ERR_JSON_VALUE, "17 slots");
    write_vocabulary(33, 0, NULL, ", \"null\": 2");
    fails_with(DIT_ERR_JSON_VALUE, "word 2 is not <null>, which stands at 1");
    write_vocabulary(33, 0, NULL, ", \"sloths\": 2");
    fails_with(DIT_ERR_JSON_UNKNOWN_KEY, "sloths");
    write_file("vocabulary.json", "[1, 2]");
    fails_with(DIT_ERR_JSON_TYPE, "a vocabulary is an object");
    write_file("vocabulary.json", "{\"words\": [7]}");
    fails_with(DIT_ERR_JSON_TYPE, "a word is expected");
    write_file("vocabulary.json", "{\"slots\": 16}");
    fails_with(DIT_ERR_JSON_MISSING, "list of words");
    write_file("vocabulary.json", "{\"words\": ");
    fails_with(DIT_ERR_JSON_SYNTAX, "vocabulary.json");
}

static void tensors_that_do_not_fit_the_words_are_refused(void **state)
{
    (void)state;
    write_vocabulary(33, 0, NULL, "");
    write_tensors(32, 8, 16, 8, "P");
    fails_with(DIT_ERR_SHAPE, "W");
    write_tensors(33, 8, 16, 9, "P");
    fails_with(DIT_ERR_SHAPE, "P");
    write_tensors(33, 8, 15, 8, "P");
    fails_with(DIT_ERR_SHAPE, "P");
    write_tensors(33, 0, 16, 0, "P");
    fails_with(DIT_ERR_SHAPE, "rows of 0 numbers");
    write_tensors(33, 8, 16, 8, "Q");
    fails_with(DIT_ERR_TENSOR_MISSING, "P");
    write_file("text.safetensors", "no tensors");
    fails_with(DIT_ERR_SAFETENSORS_HEADER, "text.safetensors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embeddings_are_those_of_pytorch),
        cmocka_unit_test(each_image_is_told_its_caption_and_the_other_branch_nothing),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test_setup_teardown(files_that_are_no_table_are_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(tensors_that_do_not_fit_the_words_are_refused, make_folder, remove_folder),
    };
    return cmocka_run_group_tests_name("text table", tests, NULL, NULL);
}
