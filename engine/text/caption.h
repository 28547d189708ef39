/* Caption: clean_caption=True of PixArt, Latte and Sana, as diffusers 0.33.1 has it with beautifulsoup4 and ftfy. */
#ifndef DIT_ENGINE_TEXT_CAPTION_H
#define DIT_ENGINE_TEXT_CAPTION_H

#include "engine/unicode/utf8.h"

/* Appends a caption without addresses, names of files, numbers of articles, signs and Chinese, in lower case: twice through
 * _clean_caption. A caption with a tag of HTML, a percent sequence that is no UTF-8, or a reference that is not known is refused.
 * Errors: DIT_ERR_UNSUPPORTED; DIT_ERR_JSON_ENCODING; DIT_ERR_MEMORY. Source: PixArtAlphaPipeline._clean_caption. */
dit_status dit_caption_clean(dit_span caption, dit_buffer *out);

#endif
