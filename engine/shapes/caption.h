/* Caption: what a picture of shapes shows, as a text of a small grammar and as 16 word numbers.
 *
 *     light; large red striped circle top-left; small blue plain square bottom-right
 *     grey; small pink checked ring bottom-left moving up                     (a clip: each object has a motion)
 *
 * A caption has a background and one or two objects in different quadrants. Its 33 words are a model's vocabulary.
 * They fill 16 slots in a fixed order: background, six for each object (size, colour, texture, shape, place,
 * motion), three that stay empty. The motions of pictures are <pad>, an object that is not there is <none>
 * throughout, and the caption that says nothing is <null> throughout. Objects stand in the order of their quadrants.
 */
#ifndef DIT_ENGINE_SHAPES_CAPTION_H
#define DIT_ENGINE_SHAPES_CAPTION_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { DIT_CAPTION_WORDS = 33, DIT_CAPTION_SLOTS = 16, DIT_CAPTION_OBJECTS = 2, DIT_CAPTION_TEXT = 160 };
enum { DIT_WORD_PAD, DIT_WORD_NULL, DIT_WORD_NONE };

/* What an object has, in the order of a caption. */
typedef enum {
    DIT_SIZE,
    DIT_COLOUR,
    DIT_TEXTURE,
    DIT_SHAPE,
    DIT_PLACE,
    DIT_MOTION,
    DIT_OBJECT_ATTRIBUTES,
    DIT_BACKGROUND = DIT_OBJECT_ATTRIBUTES, /* of the caption itself */
    DIT_ATTRIBUTES
} dit_attribute;

enum { DIT_BLACK, DIT_GREY, DIT_LIGHT, DIT_BACKGROUNDS };
enum { DIT_LARGE, DIT_SMALL, DIT_SIZES };
enum { DIT_COLOURS = 8 };
enum { DIT_PLAIN, DIT_STRIPED, DIT_CHECKED, DIT_TEXTURES };
enum { DIT_CIRCLE, DIT_SQUARE, DIT_TRIANGLE, DIT_RING, DIT_CROSS, DIT_SHAPES };
enum { DIT_PLACES = 4 }; /* bit 0: right, bit 1: bottom */
enum { DIT_STILL, DIT_LEFT, DIT_RIGHT, DIT_UP, DIT_DOWN, DIT_MOTIONS };

/* Values of the attributes, each from 0; of a reading (rule.h), -1 is "not known". */
typedef struct {
    int is[DIT_OBJECT_ATTRIBUTES];
} dit_shape_object;

typedef struct {
    bool clip; /* objects have motions */
    int background, count;
    dit_shape_object objects[DIT_CAPTION_OBJECTS]; /* [count], by place */
} dit_caption;

/* The name of an attribute ("colour") and how many values it has. */
const char *dit_attribute_name(dit_attribute attribute);
int dit_attribute_values(dit_attribute attribute);
/* A word of the vocabulary, 0 <= word < DIT_CAPTION_WORDS, and the word that stands for a value. */
const char *dit_caption_word(int word);
int dit_caption_word_of(dit_attribute attribute, int value);

/* Reads a caption; objects may stand in any order. The text is not trusted.
 * Errors: DIT_ERR_JSON_VALUE, which names the part, the word and what may stand there. */
dit_status dit_caption_parse(const char *text, dit_caption *out);
/* Writes the caption as text, ended by NUL; `out` has DIT_CAPTION_TEXT bytes. */
void dit_caption_print(const dit_caption *caption, char *out);
/* Fills the slots with word numbers; NULL is the caption that says nothing. */
void dit_caption_slots(const dit_caption *caption, uint8_t slots[DIT_CAPTION_SLOTS]);
/* Reads slots back. Errors: DIT_ERR_JSON_VALUE for a word in a slot where it cannot stand; <null> throughout, too. */
dit_status dit_caption_of_slots(const uint8_t slots[DIT_CAPTION_SLOTS], dit_caption *out);
/* Puts the objects in the order of their places; false when two have one place. */
bool dit_caption_sort(dit_caption *caption);

#endif
