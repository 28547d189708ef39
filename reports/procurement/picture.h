/* Picture: a chart as it stands on a page, and the page as a file. For this room and search/. */
#ifndef DIT_REPORTS_PROCUREMENT_PICTURE_H
#define DIT_REPORTS_PROCUREMENT_PICTURE_H

#include "base/buffer.h"
#include "reports/chart/chart.h"

/* Appends a figure: its pictures, `words` for who cannot see them, how it is read (NULL: nothing), and its files. */
void picture_put(const char *id, const char *words, const char *reading, const chart_pictures *pictures,
                 dit_buffer *out);
/* Writes FOLDER/NAME.html and releases the page. Errors: DIT_ERR_IO, DIT_ERR_MEMORY. */
dit_status picture_page_write(dit_buffer *page, const char *folder, const char *name);

#endif
