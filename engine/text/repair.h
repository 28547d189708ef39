/* Repair: what ftfy.fix_text and html.unescape of Python do to a prompt. */
#ifndef DIT_ENGINE_TEXT_REPAIR_H
#define DIT_ENGINE_TEXT_REPAIR_H

#include "engine/unicode/utf8.h"

/* Writes a text with its references to HTML (&amp; &#233;) replaced, once. A name must be one of a short table.
 * Errors: DIT_ERR_UNSUPPORTED for another name. */
dit_status dit_unescape_html(const char *text, dit_buffer *out);

/* Writes fix_text of ftfy 6.3.1, then html.unescape twice. Of ftfy it does what well encoded text needs: straight quotes, ligatures
 * and full-width forms apart, C1 controls as Windows means them, no others, NFC. It does not repair text that was decoded
 * wrongly. Errors: DIT_ERR_UNSUPPORTED as above; DIT_ERR_MEMORY. */
dit_status dit_repair_text(dit_span text, dit_buffer *out);

#endif
