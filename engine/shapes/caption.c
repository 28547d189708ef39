#include "engine/shapes/caption.h"

#include "base/words.h"

#include <stdio.h>
#include <string.h>

enum { FIRST_VALUE = DIT_WORD_NONE + 1, LONGEST_WORD = 48, OBJECT_SLOTS = DIT_OBJECT_ATTRIBUTES };

/* Each attribute's words, ended by NULL: what a caption may say. */
static const char *const sizes[] = {"large", "small", NULL};
static const char *const colours[] = {"red", "orange", "yellow", "green", "cyan", "blue", "purple", "pink", NULL};
static const char *const textures[] = {"plain", "striped", "checked", NULL};
static const char *const shapes[] = {"circle", "square", "triangle", "ring", "cross", NULL};
static const char *const places[] = {"top-left", "top-right", "bottom-left", "bottom-right", NULL};
static const char *const motions[] = {"still", "left", "right", "up", "down", NULL};
static const char *const backgrounds[] = {"black", "grey", "light", NULL};

/* In the order of dit_attribute; `first` is the number of the first word in the vocabulary. */
static const struct {
    const char *name;
    const char *const *words;
    int values, first;
} attributes[DIT_ATTRIBUTES] = {
    {"size", sizes, DIT_SIZES, 6},
    {"colour", colours, DIT_COLOURS, 8},
    {"texture", textures, DIT_TEXTURES, 16},
    {"shape", shapes, DIT_SHAPES, 19},
    {"place", places, DIT_PLACES, 24},
    {"motion", motions, DIT_MOTIONS, 28},
    {"background", backgrounds, DIT_BACKGROUNDS, FIRST_VALUE},
};

const char *dit_attribute_name(dit_attribute attribute)
{
    return attributes[attribute].name;
}

int dit_attribute_values(dit_attribute attribute)
{
    return attributes[attribute].values;
}

const char *dit_caption_word(int word)
{
    static const char *const special[] = {"<pad>", "<null>", "<none>"};
    if (word < FIRST_VALUE) return special[word];
    for (int a = 0; a < DIT_ATTRIBUTES; a++) {
        int value = word - attributes[a].first;
        if (value >= 0 && value < attributes[a].values) return attributes[a].words[value];
    }
    return NULL;
}

int dit_caption_word_of(dit_attribute attribute, int value)
{
    return attributes[attribute].first + value;
}

bool dit_caption_sort(dit_caption *caption)
{
    if (caption->count < 2) return true;
    dit_shape_object *o = caption->objects;
    if (o[0].is[DIT_PLACE] > o[1].is[DIT_PLACE]) {
        dit_shape_object first = o[0];
        o[0] = o[1];
        o[1] = first;
    }
    return o[0].is[DIT_PLACE] != o[1].is[DIT_PLACE];
}

/* ---- text to caption --------------------------------------------------------------------------------------------- */

/* Copies the next word of *text, which ends at a blank, and moves *text behind it and the blanks around it. An end
 * of the text gives an empty word. A long word is cut: no word of the grammar is as long. */
static void next_word(const char **text, char out[LONGEST_WORD])
{
    const char *at = *text + strspn(*text, " ");
    size_t length = strcspn(at, " "), kept = length < LONGEST_WORD ? length : LONGEST_WORD - 1;
    memcpy(out, at, kept);
    out[kept] = '\0';
    at += length;
    *text = at + strspn(at, " ");
}

static dit_status read_word(const char **text, const char *part, dit_attribute attribute, int *value)
{
    char word[LONGEST_WORD], what[64];
    next_word(text, word);
    *value = dit_words_find(attributes[attribute].words, word);
    if (*value >= 0) return DIT_OK;
    snprintf(what, sizeof what, "caption: %s of %s:", attributes[attribute].name, part);
    return dit_fail_word(DIT_ERR_JSON_VALUE, what, word, attributes[attribute].words);
}

static dit_status expect_end(const char *text, const char *part)
{
    if (!*text) return DIT_OK;
    return DIT_FAIL(DIT_ERR_JSON_VALUE, "caption: \"%.40s\" follows %s, which is complete", text, part);
}

/* "still", "moving left", ...: *moves tells whether there is one. */
static dit_status read_motion(const char *text, const char *part, dit_shape_object *object, bool *moves)
{
    int *motion = &object->is[DIT_MOTION];
    *motion = -1;
    *moves = *text != '\0';
    if (!*moves) return DIT_OK;
    const char *at = text;
    char word[LONGEST_WORD];
    next_word(&at, word);
    if (strcmp(word, "moving") == 0) {
        DIT_TRY(read_word(&at, part, DIT_MOTION, motion));
        if (*motion == DIT_STILL)
            return dit_error_hint(DIT_FAIL(DIT_ERR_JSON_VALUE, "caption: %s is \"moving still\"", part),
                                  "write \"still\" alone");
    } else if (strcmp(word, "still") == 0) {
        *motion = DIT_STILL;
    } else {
        return dit_error_hint(expect_end(text, part), "an object ends with its place, or in a clip with \"still\" or "
                                                      "\"moving left\" (right, up, down)");
    }
    return expect_end(at, part);
}

static dit_status read_object(const char *text, int index, dit_caption *out)
{
    char part[24];
    bool moves;
    dit_shape_object *object = &out->objects[index];
    snprintf(part, sizeof part, "object %d", index + 1);
    for (int a = 0; a < DIT_MOTION; a++) DIT_TRY(read_word(&text, part, (dit_attribute)a, &object->is[a]));
    DIT_TRY(read_motion(text, part, object, &moves));
    if (index > 0 && moves != out->clip)
        return DIT_FAIL(DIT_ERR_JSON_VALUE,
                        "caption: object 1 has %s motion and object 2 has %s: either both or neither",
                        out->clip ? "a" : "no", moves ? "one" : "none");
    out->clip = moves;
    return DIT_OK;
}

/* Copies the part up to the next ';' without blanks around it; false when there is no further part. */
static bool next_part(const char **text, char out[DIT_CAPTION_TEXT])
{
    if (!*text) return false;
    const char *at = *text + strspn(*text, " "), *end = strchr(at, ';');
    size_t length = end ? (size_t)(end - at) : strlen(at);
    *text = end ? end + 1 : NULL;
    while (length > 0 && at[length - 1] == ' ') length--;
    memcpy(out, at, length);
    out[length] = '\0';
    return true;
}

dit_status dit_caption_parse(const char *text, dit_caption *out)
{
    char part[DIT_CAPTION_TEXT];
    const char *word = part;
    *out = (dit_caption){.count = 0};
    if (strlen(text) >= DIT_CAPTION_TEXT)
        return DIT_FAIL(DIT_ERR_JSON_VALUE, "caption: %zu bytes are too many, the longest has %d", strlen(text),
                        DIT_CAPTION_TEXT - 1);
    next_part(&text, part);
    DIT_TRY(read_word(&word, "the picture", DIT_BACKGROUND, &out->background));
    DIT_TRY(expect_end(word, "the background"));
    while (next_part(&text, part)) {
        if (out->count == DIT_CAPTION_OBJECTS)
            return DIT_FAIL(DIT_ERR_JSON_VALUE, "caption: a third object \"%.40s\"; at most two fit", part);
        DIT_TRY(read_object(part, out->count, out));
        out->count++;
    }
    if (out->count == 0)
        return dit_error_hint(DIT_FAIL(DIT_ERR_JSON_VALUE, "caption: there is no object behind the background"),
                              "write for example \"grey; large red plain circle top-left\"");
    if (!dit_caption_sort(out))
        return DIT_FAIL(DIT_ERR_JSON_VALUE, "caption: both objects are %s; each needs a quadrant of its own",
                        places[out->objects[0].is[DIT_PLACE]]);
    return DIT_OK;
}

/* ---- caption to text and slots ----------------------------------------------------------------------------------- */

void dit_caption_print(const dit_caption *caption, char *out)
{
    int used = snprintf(out, DIT_CAPTION_TEXT, "%s", backgrounds[caption->background]);
    for (int k = 0; k < caption->count; k++) {
        const int *is = caption->objects[k].is;
        used +=
            snprintf(out + used, (size_t)(DIT_CAPTION_TEXT - used), "; %s %s %s %s %s", sizes[is[DIT_SIZE]],
                     colours[is[DIT_COLOUR]], textures[is[DIT_TEXTURE]], shapes[is[DIT_SHAPE]], places[is[DIT_PLACE]]);
        if (caption->clip)
            used += snprintf(out + used, (size_t)(DIT_CAPTION_TEXT - used), " %s%s",
                             is[DIT_MOTION] == DIT_STILL ? "" : "moving ", motions[is[DIT_MOTION]]);
    }
}

void dit_caption_slots(const dit_caption *caption, uint8_t slots[DIT_CAPTION_SLOTS])
{
    memset(slots, caption ? DIT_WORD_PAD : DIT_WORD_NULL, DIT_CAPTION_SLOTS);
    if (!caption) return;
    slots[0] = (uint8_t)dit_caption_word_of(DIT_BACKGROUND, caption->background);
    memset(slots + 1, DIT_WORD_NONE, (size_t)DIT_CAPTION_OBJECTS * OBJECT_SLOTS);
    for (int k = 0; k < caption->count && k < DIT_CAPTION_OBJECTS; k++) {
        uint8_t *slot = slots + 1 + k * OBJECT_SLOTS;
        for (int a = 0; a < OBJECT_SLOTS; a++)
            slot[a] = (uint8_t)dit_caption_word_of((dit_attribute)a, caption->objects[k].is[a]);
        if (!caption->clip) slot[DIT_MOTION] = DIT_WORD_PAD;
    }
}

static dit_status slot_value(const uint8_t *slots, int slot, dit_attribute attribute, int *value)
{
    *value = slots[slot] - attributes[attribute].first;
    if (*value >= 0 && *value < attributes[attribute].values) return DIT_OK;
    return DIT_FAIL(DIT_ERR_JSON_VALUE, "caption: word %d in slot %d is no %s", slots[slot], slot,
                    attributes[attribute].name);
}

dit_status dit_caption_of_slots(const uint8_t slots[DIT_CAPTION_SLOTS], dit_caption *out)
{
    uint8_t again[DIT_CAPTION_SLOTS];
    *out = (dit_caption){.clip = slots[1 + DIT_MOTION] != DIT_WORD_PAD};
    DIT_TRY(slot_value(slots, 0, DIT_BACKGROUND, &out->background));
    for (int k = 0; k < DIT_CAPTION_OBJECTS; k++) {
        int first = 1 + k * OBJECT_SLOTS;
        if (k > 0 && slots[first] == DIT_WORD_NONE) break;
        for (int a = 0; a < (out->clip ? OBJECT_SLOTS : DIT_MOTION); a++)
            DIT_TRY(slot_value(slots, first + a, (dit_attribute)a, &out->objects[k].is[a]));
        if (!out->clip) out->objects[k].is[DIT_MOTION] = -1;
        out->count++;
    }
    dit_caption sorted = *out;
    if (!dit_caption_sort(&sorted)) return DIT_FAIL(DIT_ERR_JSON_VALUE, "caption: two objects have one place");
    dit_caption_slots(&sorted, again);
    if (memcmp(slots, again, sizeof again) != 0)
        return DIT_FAIL(DIT_ERR_JSON_VALUE, "caption: objects out of order, or words in slots that stay empty");
    return DIT_OK;
}
