/* Steps: what is done to a text on its way to a tokenizer's model, as a list.
 *
 * A step takes one piece of text and gives any number: a normaliser gives one, changed; a splitter several. Both kinds
 * are made from tokenizer.json by tables (normalizers.c, splitters.c), or put together by name for classes without one.
 */
#ifndef DIT_ENGINE_UNICODE_STEPS_H
#define DIT_ENGINE_UNICODE_STEPS_H

#include "base/json.h"
#include "engine/unicode/charsmap.h"
#include "engine/unicode/pattern.h"

/* Pieces of text, one after the other in one buffer. Begins as {0}; remembers a failed allocation. */
typedef struct {
    size_t start, length;
    bool first; /* at the front of the whole text */
} dit_piece;
typedef struct {
    dit_buffer text;
    dit_piece *at;
    int count;
    bool failed;
} dit_pieces;
/* Copies a piece; an empty one is left out. */
void dit_pieces_add(dit_pieces *pieces, dit_span text, bool first);
/* Adds what a step made, unless st says that it failed, and frees it. Returns st. Errors: DIT_ERR_MEMORY, too. */
dit_status dit_pieces_take(dit_buffer *made, bool first, dit_pieces *pieces, dit_status st);
/* Valid until the next piece is added. */
dit_span dit_pieces_get(const dit_pieces *pieces, int index);
void dit_pieces_release(dit_pieces *pieces);

typedef struct dit_step dit_step;
/* Gives `out` what becomes of a piece, which is not empty and no part of out. */
typedef dit_status dit_step_run(const dit_step *step, dit_span text, bool first, dit_pieces *out);
struct dit_step {
    dit_step_run *run;
    dit_pattern *pattern;
    char *content; /* NUL-terminated */
    dit_charsmap charsmap;
    bool flags[4]; /* what they mean, the run function says */
};

typedef struct {
    dit_step *at;
    int count;
} dit_steps;
/* Moves *step into the list, also when it fails: then its parts are freed. Errors: DIT_ERR_MEMORY. */
dit_status dit_steps_add(dit_steps *steps, dit_step *step);
void dit_steps_release(dit_steps *steps);
/* Runs all steps and adds the pieces that they leave. Errors: those of patterns; DIT_ERR_MEMORY. */
dit_status dit_steps_run(const dit_steps *steps, dit_span text, bool first, dit_pieces *out);

/* Adds the steps of "normalizer" or "pre_tokenizer" of tokenizer.json, whose nulls are dropped; `object` may be NULL. Errors:
 * DIT_ERR_UNSUPPORTED for a type or setting that is not implemented; DIT_ERR_JSON_*; DIT_ERR_INTEGRITY. */
dit_status dit_steps_read_normalizer(const dit_json *doc, const cJSON *object, const char *pointer, dit_steps *steps);
dit_status dit_steps_read_splitter(const dit_json *doc, const cJSON *object, const char *pointer, dit_steps *steps);

/* Compiles the "pattern" of a step: {"Regex": ...} or {"String": ...}. Errors: DIT_ERR_JSON_MISSING, those of patterns. */
dit_status dit_pattern_read(const dit_json *doc, const cJSON *object, const char *pointer, dit_pattern **out);

/* ---- steps by name ----------------------------------------------------------------------------------------------- */

/* Flags of dit_step_bert_clean: control characters go and white space becomes blanks; ideographs get blanks around. */
enum { DIT_CLEAN_CONTROLS, DIT_CLEAN_IDEOGRAPHS };
dit_step_run dit_step_bert_clean;
dit_step_run dit_step_nfc;
dit_step_run dit_step_lower;           /* as str.lower of Python */
dit_step_run dit_step_lower_each;      /* every code point alone */
dit_step_run dit_step_drop_nonspacing; /* decomposes (NFD) and drops accents */
dit_step_run dit_step_join_words;      /* one blank between words, none around, as " ".join(text.split()) */
dit_step_run dit_step_replace_charsmap;
dit_step_run dit_step_replace; /* pattern by content */
dit_step_run dit_step_strip;   /* flags: left, right */
enum { DIT_SPLIT_DROP_REST, DIT_SPLIT_DROP_MATCHES };
dit_step_run dit_step_split_pattern;     /* flags above; both what the pattern finds and the rest become pieces */
dit_step_run dit_step_split_words;       /* at white space, which goes */
dit_step_run dit_step_split_punctuation; /* each sign of punctuation is a piece */
enum { DIT_METASPACE_ALWAYS, DIT_METASPACE_FIRST, DIT_METASPACE_SPLIT };
dit_step_run dit_step_metaspace; /* flags above: a blank becomes U+2581, which words begin with */
dit_step_run dit_step_bytes;     /* each byte becomes the printable character that GPT-2 gave it */

/* Adds a step that keeps what a pattern finds; what lies between is kept, too, unless `drop_rest`. Errors: as
 * dit_pattern_compile. */
dit_status dit_steps_add_pattern(dit_steps *steps, const char *expression, bool ignore_case, bool drop_rest);
/* Adds a step that has no pattern. */
dit_status dit_steps_add_run(dit_steps *steps, dit_step_run *run, bool flag0, bool flag1, bool flag2);

#endif
