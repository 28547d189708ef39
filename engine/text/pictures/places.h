/* Places of tokens in texts that show pictures: time, row and column.
 * Source: transformers 4.51.3, Qwen2_5_VLModel.get_rope_index; Qwen2-VL (arXiv:2409.12191), section 2.1. */
#ifndef DIT_ENGINE_TEXT_PLACES_H
#define DIT_ENGINE_TEXT_PLACES_H

#include "base/status.h"
#include <stdint.h>

/* What pictures became, for an encoder whose texts show them: rows [sum of height x width, width], picture by picture and
 * line by line, which replace the embeddings of the tokens that stand for them. */
enum { DIT_TEXT_PICTURES = 8 };
typedef struct {
    int count; /* of pictures; 0: none */
    int64_t height[DIT_TEXT_PICTURES], width[DIT_TEXT_PICTURES];
    const float *rows;
} dit_text_pictures;
static inline int64_t dit_text_picture_rows(const dit_text_pictures *pictures)
{
    int64_t rows = 0;
    for (int i = 0; i < pictures->count; i++) rows += pictures->height[i] * pictures->width[i];
    return rows;
}

/* Says where in time, rows and columns each token of a text stands that shows pictures: [tokens, 3]. Behind a picture a text
 * goes on as if there were as many tokens as the picture's longer side has embeddings. Errors: DIT_ERR_SHAPE where the text
 * shows other pictures than those. */
dit_status text_places_make(const int32_t *ids, int64_t tokens, int64_t picture_token,
                            const dit_text_pictures *pictures, int32_t *places);

#endif
