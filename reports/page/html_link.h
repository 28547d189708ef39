/* Links: turns the source of a published number or claim into a link where its text names a place. Only reports/
 * includes this header. */
#ifndef DIT_REPORTS_PAGE_HTML_LINK_H
#define DIT_REPORTS_PAGE_HTML_LINK_H

#include "reports/page/html_pieces.h"

/* Appends the source's text, escaped, with a link on the part that names a place on the web:
 *   https://...             the address itself
 *   arXiv:2405.14430        the paper's page
 *   OWNER/NAME: PATH        the whole text, a file of a GitHub repository
 *   github OWNER/NAME @REV  the repository, at the revision where there is one
 * Everything else is text. */
void html_put_source(dit_buffer *out, const char *source);

/* Appends a relative path as an address; characters that an address may not hold are written as %XX. */
void html_append_path(dit_buffer *out, const char *path);

#endif
