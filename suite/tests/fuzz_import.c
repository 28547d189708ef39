/* Fuzz target of `import`: results of another program, in the words of every format. Run by ci/fuzz.sh. Beyond not
 * crashing: what is refused says why, and what is accepted makes a session that can be reported. The session lies in a
 * folder in memory, which is made once. */
#include "reports/records/journal.h"
#include "suite/import/import.h"
#include "suite/tests/fuzz_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes the session and reads it back as `report` does. */
static void check_session(const suite_imported *imported, const char *format)
{
    static const char *const words[] = {"ditbench", "import", NULL};
    const suite_import_source source = {format, "fuzz.json", "0123456789abcdef0123456789abcdef", words, NULL};
    char path[SUITE_PATH];
    suite_session session;
    report_table table = {0};
    if (!fuzz_folder[0]) fuzz_folder_make();
    check(suite_path(path, "%s/session", fuzz_folder) == DIT_OK);
    (void)!suite_path_remove(path);
    check(suite_session_create(path, format, &session) == DIT_OK);
    check(suite_import_write(imported, &source, &session) == DIT_OK);
    dit_status st = report_table_read(session.journal, &table);
    if (st != DIT_OK) fprintf(stderr, "%s\n", dit_error_last()->message);
    check(st == DIT_OK && table.case_count == imported->case_count && table.complete);
    for (int i = 0; i < table.case_count; i++)
        check(table.cases[i].metric[REPORT_LATENCY].n == 0 || table.cases[i].metric[REPORT_LATENCY].median > 0);
    report_table_release(&table);
}

static void check_format(const suite_import_format *format, const dit_json *doc)
{
    suite_imported imported = {0};
    dit_error_clear();
    if (format->read(doc, &imported) != DIT_OK)
        check(dit_error_last()->message[0] != '\0');
    else if (imported.case_count > 0)
        check_session(&imported, format->name);
    suite_imported_release(&imported);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    dit_json doc = {0};
    if (dit_json_parse((const char *)data, size, "fuzz.json", &doc) == DIT_OK && cJSON_IsObject(doc.root))
        for (int i = 0; suite_import_formats()[i]; i++) check_format(suite_import_formats()[i], &doc);
    dit_json_release(&doc);
    return 0;
}
