/* Text table: what a model is told by a caption, without a text encoder.
 *
 * A small model is trained together with a vector for each word W [words, width] and for each slot P [slots, width]; a
 * caption's words fill the slots (engine/shapes/caption.h), and the embedding of slot i is W[word i] + P[i]. A folder has
 * both in text.safetensors, and vocabulary.json: {"words": [...], "slots": 16, "pad": 0, "null": 1, "none": 2}, where the
 * place of a word in the list is its row of W. The files are not trusted.
 */
#ifndef DIT_ENGINE_TEXT_TABLE_H
#define DIT_ENGINE_TEXT_TABLE_H

#include "base/status.h"
#include "engine/shapes/caption.h"

typedef struct dit_text_table dit_text_table;

/* Opens a folder. Errors: DIT_ERR_IO, DIT_ERR_JSON_*, also for a word of the grammar that is missing or stands twice;
 * DIT_ERR_SAFETENSORS_*, DIT_ERR_TENSOR_MISSING, DIT_ERR_SHAPE; DIT_ERR_NONFINITE; DIT_ERR_MEMORY. */
dit_status dit_text_table_open(const char *folder, dit_text_table **out);
void dit_text_table_close(dit_text_table *table); /* accepts NULL */
int64_t dit_text_table_width(const dit_text_table *table);

/* Fills embeds [DIT_CAPTION_SLOTS, width] with a caption's embeddings, and pooled [width], unless it is NULL, with their
 * mean over slots that are no padding. caption NULL: the one that says nothing, <null> in every slot. Errors:
 * DIT_ERR_JSON_VALUE, which names the part of the caption, the word and what may stand there. */
dit_status dit_text_table_look_up(const dit_text_table *table, const char *caption, float *embeds, float *pooled);

#endif
