#include "engine/runtime/text_table.h"

#include "base/json.h"
#include "base/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, MOST_WIDTH = 65536, MOST_WORDS = 4096 };

struct dit_text_table {
    int64_t width;
    int row[DIT_CAPTION_WORDS]; /* of W, by the grammar's number of a word */
    float *words, *slots;       /* W [words, width], P [DIT_CAPTION_SLOTS, width] */
};

/* ---- the vocabulary ---------------------------------------------------------------------------------------------- */

static int word_number(const char *word)
{
    for (int i = 0; i < DIT_CAPTION_WORDS; i++)
        if (strcmp(dit_caption_word(i), word) == 0) return i;
    return -1;
}

static dit_status take_word(const dit_json *doc, const cJSON *item, int place, dit_text_table *t)
{
    char at[32];
    snprintf(at, sizeof at, "/words/%d", place);
    if (!cJSON_IsString(item)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "a word is expected");
    int number = word_number(item->valuestring);
    if (number < 0)
        return dit_error_hint(
            dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "\"%.40s\" is no word of captions", item->valuestring),
            "the engine reads captions of shapes only (engine/shapes/caption.h)");
    if (t->row[number] >= 0)
        return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "\"%s\" stands twice, at %d before", item->valuestring,
                             t->row[number]);
    t->row[number] = place;
    return DIT_OK;
}

/* Checks that the file's word for a special use is the grammar's. */
static dit_status check_special(const dit_json *doc, const dit_text_table *t, const char *key, int word)
{
    char at[32];
    int64_t place = t->row[word];
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", key, 0, MOST_WORDS, &place));
    if (place == t->row[word]) return DIT_OK;
    snprintf(at, sizeof at, "/%s", key);
    return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "word %lld is not %s, which stands at %d", (long long)place,
                         dit_caption_word(word), t->row[word]);
}

static dit_status read_vocabulary(const dit_json *doc, dit_text_table *t)
{
    static const char *const keys[] = {"words", "slots", "pad", "null", "none", NULL};
    const cJSON *list = NULL, *item;
    int64_t slots = DIT_CAPTION_SLOTS;
    int place = 0;
    if (!cJSON_IsObject(doc->root)) return dit_json_fail(doc, "", DIT_ERR_JSON_TYPE, "a vocabulary is an object");
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "words", &list));
    if (!list) return dit_json_fail(doc, "/words", DIT_ERR_JSON_MISSING, "a vocabulary has a list of words");
    for (int i = 0; i < DIT_CAPTION_WORDS; i++) t->row[i] = -1;
    cJSON_ArrayForEach(item, list) DIT_TRY(take_word(doc, item, place++, t));
    for (int i = 0; i < DIT_CAPTION_WORDS; i++)
        if (t->row[i] < 0)
            return dit_json_fail(doc, "/words", DIT_ERR_JSON_VALUE, "the word \"%s\" is missing", dit_caption_word(i));
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "slots", 1, MOST_WORDS, &slots));
    if (slots != DIT_CAPTION_SLOTS)
        return dit_json_fail(doc, "/slots", DIT_ERR_JSON_VALUE, "%lld slots, but captions fill %d", (long long)slots,
                             DIT_CAPTION_SLOTS);
    DIT_TRY(check_special(doc, t, "pad", DIT_WORD_PAD));
    DIT_TRY(check_special(doc, t, "null", DIT_WORD_NULL));
    return check_special(doc, t, "none", DIT_WORD_NONE);
}

static dit_status open_vocabulary(const char *folder, dit_text_table *t)
{
    char path[PATH_BYTES];
    dit_json doc;
    if (snprintf(path, sizeof path, "%s/vocabulary.json", folder) >= (int)sizeof path)
        return DIT_FAIL(DIT_ERR_IO, "the path of a vocabulary is too long");
    DIT_TRY(dit_json_read_file(path, &doc));
    dit_status st = read_vocabulary(&doc, t);
    dit_json_release(&doc);
    return st;
}

/* ---- the tensors ------------------------------------------------------------------------------------------------- */

/* Reads a tensor [rows, *width]; a width below 0 is taken from the file. */
static dit_status read_table(const dit_safetensors *file, const char *name, int64_t rows, int64_t *width, float **out)
{
    dit_tensor_view view;
    DIT_TRY(dit_safetensors_require(file, name, 2, (const int64_t[]){rows, *width}, &view));
    *width = view.shape[1];
    if (*width < 1 || *width > MOST_WIDTH)
        return DIT_FAIL(DIT_ERR_SHAPE, "%s has rows of %lld numbers, 1 to %d are possible", name, (long long)*width,
                        MOST_WIDTH);
    *out = malloc((size_t)view.elements * sizeof **out);
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a text table");
    return dit_tensor_read(&view, 0, view.elements, *out);
}

static dit_status open_tensors(const char *folder, dit_text_table *t)
{
    char path[PATH_BYTES];
    dit_safetensors *file;
    if (snprintf(path, sizeof path, "%s/text.safetensors", folder) >= (int)sizeof path)
        return DIT_FAIL(DIT_ERR_IO, "the path of a text table is too long");
    DIT_TRY(dit_safetensors_open(path, &file));
    t->width = -1;
    dit_status st = read_table(file, "W", DIT_CAPTION_WORDS, &t->width, &t->words);
    if (st == DIT_OK) st = read_table(file, "P", DIT_CAPTION_SLOTS, &t->width, &t->slots);
    dit_safetensors_close(file);
    return st;
}

dit_status dit_text_table_open(const char *folder, dit_text_table **out)
{
    dit_text_table *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a text table");
    dit_status st = open_vocabulary(folder, t);
    if (st == DIT_OK) st = open_tensors(folder, t);
    if (st == DIT_OK) {
        *out = t;
        return DIT_OK;
    }
    dit_text_table_close(t);
    return dit_error_note(st, "opening the text table of %s", folder);
}

void dit_text_table_close(dit_text_table *table)
{
    if (!table) return;
    free(table->words);
    free(table->slots);
    free(table);
}

int64_t dit_text_table_width(const dit_text_table *table)
{
    return table->width;
}

/* ---- captions ---------------------------------------------------------------------------------------------------- */

static void pool(const dit_text_table *t, const uint8_t *slots, const float *embeds, float *pooled)
{
    int count = 0;
    for (int i = 0; i < DIT_CAPTION_SLOTS; i++) count += slots[i] != DIT_WORD_PAD;
    for (int64_t k = 0; k < t->width; k++) {
        double sum = 0;
        for (int i = 0; i < DIT_CAPTION_SLOTS; i++)
            if (slots[i] != DIT_WORD_PAD) sum += embeds[i * t->width + k];
        pooled[k] = (float)(sum / count);
    }
}

dit_status dit_text_table_look_up(const dit_text_table *t, const char *caption, float *embeds, float *pooled)
{
    dit_caption parsed;
    uint8_t slots[DIT_CAPTION_SLOTS];
    if (caption) DIT_TRY(dit_caption_parse(caption, &parsed));
    dit_caption_slots(caption ? &parsed : NULL, slots);
    for (int i = 0; i < DIT_CAPTION_SLOTS; i++)
        for (int64_t k = 0; k < t->width; k++)
            embeds[i * t->width + k] = t->words[t->row[slots[i]] * t->width + k] + t->slots[i * t->width + k];
    if (pooled) pool(t, slots, embeds, pooled);
    return DIT_OK;
}
