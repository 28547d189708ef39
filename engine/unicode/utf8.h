/* UTF-8: code points of a text, and what the Unicode tables (utf8proc) say of them. */
#ifndef DIT_ENGINE_UNICODE_UTF8_H
#define DIT_ENGINE_UNICODE_UTF8_H

#include "base/buffer.h"
#include "base/status.h"

#include <stdint.h>

/* Bytes of a text, not NUL-terminated; they belong to somebody else. */
typedef struct {
    const char *at;
    size_t length;
} dit_span;

/* The code point at the front of a text, and its bytes; -1 with 1 byte where the text is empty or not UTF-8. */
int32_t dit_utf8_first(dit_span text, size_t *bytes);
/* The code point that ends a text, as dit_utf8_first. */
int32_t dit_utf8_last(dit_span text, size_t *bytes);
/* Takes the code point off the front of *text, which is not empty. */
int32_t dit_utf8_take(dit_span *text);
bool dit_utf8_is_valid(dit_span text);
void dit_utf8_append(dit_buffer *out, int32_t code);

/* White_Space of Unicode. */
bool dit_is_space(int32_t code);
/* What Python's str.isspace and str.strip take: four more, the separators U+001C to U+001F. */
bool dit_is_space_of_python(int32_t code);
/* Takes white space off the ends. */
dit_span dit_span_strip(dit_span text, bool left, bool right, bool (*is_space)(int32_t code));

/* General categories. */
bool dit_is_control(int32_t code);     /* C: also unassigned */
bool dit_is_punctuation(int32_t code); /* P, and all signs of ASCII */
bool dit_is_nonspacing(int32_t code);  /* Mn */
bool dit_is_mark(int32_t code);        /* M */
bool dit_is_word(int32_t code);        /* letters, marks, digits, connectors: \w */
bool dit_is_ideograph(int32_t code);   /* the blocks that BERT sets apart */

/* Appends the text in lower case. in_context: the sigma that ends a word is another letter, as str.lower of Python has
 * it; else every code point is looked at alone. */
void dit_append_lower(dit_buffer *out, dit_span text, bool in_context);

/* Forms of normalisation. */
typedef enum { DIT_FORM_NFC, DIT_FORM_NFD, DIT_FORM_NFKC, DIT_FORM_NFKD } dit_unicode_form;
/* Appends the text in a form. Errors: DIT_ERR_JSON_ENCODING, DIT_ERR_MEMORY. */
dit_status dit_append_form(dit_buffer *out, dit_span text, dit_unicode_form form);

/* Length in bytes of the grapheme cluster at the front of a text. */
size_t dit_grapheme_length(dit_span text);

#endif
