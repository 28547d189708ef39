/* Links: sources of published numbers and claims as links, where their text says the place. Inside reports/ only. */
#ifndef DIT_REPORTS_PAGE_HTML_LINK_H
#define DIT_REPORTS_PAGE_HTML_LINK_H

#include "reports/page/html_pieces.h"

/* Puts the source's text, escaped, with a link on what names a place on the web:
 *   https://...             the address itself
 *   arXiv:2405.14430        the paper's page
 *   OWNER/NAME: PATH        the whole text, a file of a GitHub repository
 *   github OWNER/NAME @REV  the repository, at the revision where there is one
 * Everything else is text. */
void html_put_source(dit_buffer *out, const char *source);

/* Appends a relative path for an address: what may not stand in one is written as %XX. */
void html_append_path(dit_buffer *out, const char *path);

#endif
