/* What makes the session's numbers doubtful, before anybody reads them: warnings of the run, with the cases that they
 * are about. */
#include "base/json.h"
#include "reports/page/html.h"

#include "reports/page/html_pieces.h"

#include <string.h>

enum { NOTICE_CASES = 12 };

static bool warns(const report_case *kase, const char *warning)
{
    return strcmp(kase->warning, warning) == 0;
}

/* Said already by an earlier case. */
static bool is_repeated(const report_table *table, int index)
{
    for (int i = 0; i < index; i++) {
        if (warns(&table->cases[i], table->cases[index].warning)) return true;
    }
    return false;
}

/* "WARNING: case, case and 3 more" */
static void put_warning(const report_table *table, const char *warning, dit_buffer *out)
{
    int shown = 0;
    put(out, "<li>");
    put_text(out, warning);
    put(out, ": ");
    for (int i = 0; i < table->case_count; i++) {
        if (!warns(&table->cases[i], warning)) continue;
        if (shown < NOTICE_CASES) put(out, shown ? "; " : ""), put_text(out, table->cases[i].label);
        shown++;
    }
    if (shown > NOTICE_CASES) dit_buffer_printf(out, " and %d more", shown - NOTICE_CASES);
    put(out, "</li>\n");
}

static int put_case_warnings(const report_table *table, bool count_only, dit_buffer *out)
{
    int count = 0;
    for (int i = 0; i < table->case_count; i++) {
        if (!table->cases[i].warning[0] || is_repeated(table, i)) continue;
        if (!count_only) put_warning(table, table->cases[i].warning, out);
        count++;
    }
    return count;
}

/* Of the session line: texts about the machine at the start. */
static int put_session_warnings(const report_table *table, bool count_only, dit_buffer *out)
{
    const cJSON *warning;
    int count = 0;
    cJSON_ArrayForEach(warning, dit_json_member(table->session.root, "warnings"))
    {
        if (!cJSON_IsString(warning)) continue;
        if (!count_only) put_element(out, "li", "li", warning->valuestring);
        count++;
    }
    return count;
}

void html_put_notices(const report_page *page, dit_buffer *out)
{
    const report_table *table = page->table;
    if (put_session_warnings(table, true, out) + put_case_warnings(table, true, out) == 0) return;
    put(out, "<div class=\"notice\" role=\"note\"><strong>Warnings: these numbers may be off.</strong><ul>\n");
    put_session_warnings(table, false, out);
    put_case_warnings(table, false, out);
    put(out, "</ul></div>\n");
}
