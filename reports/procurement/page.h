/* Page: the words and tables of the page of a procured answer. Inside the room only. */
#ifndef DIT_REPORTS_PROCUREMENT_PAGE_H
#define DIT_REPORTS_PROCUREMENT_PAGE_H

#include "base/buffer.h"
#include "reports/procurement/splits.h"

typedef struct {
    const cJSON *document;
    const split_row *rows;
    int count;
    const split_row *other; /* [other_count] of other pictures */
    int other_count;
} page_room;

/* Append the question and who may be best; the table of answers, what they hang on, and two machines beside each other;
 * what it all rests on. */
void page_put_head(const page_room *page, dit_buffer *out);
void page_put_answers(const page_room *page, dit_buffer *out);
void page_put_rest(const page_room *page, const char *program, dit_buffer *out);

#endif
