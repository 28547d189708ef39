/* Fuzz target of `claims`: a page that quotes numbers. Run by ci/fuzz.sh. Beyond not crashing: a quote that cannot be
 * looked up says why; a page without one is given back byte for byte; and the page that is given back has no stale
 * quote. The numbers are those of a baseline file that lies in the current folder, a new one. */
#include "suite/quotes/quotes.h"
#include "suite/tests/fuzz_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char baseline[] =
    "{\"schema\":\"ditbench.baseline/1\",\"session\":{},\"cases\":[{\"case_id\":\"0123456789abcdef0123456789abcdef\","
    "\"label\":\"a case\",\"evidence\":\"measured\",\"status\":\"ok\",\"tags\":{},\"metrics\":{\"latency_s\":[1.5,2.5],"
    "\"flops\":0,\"communication_bytes\":1e15,\"speedup\":2}}]}";
static void make_folder(void)
{
    fuzz_folder_make();
    check(chdir(fuzz_folder) == 0 && setenv("DITBENCH_RESULTS", fuzz_folder, 1) == 0);
    FILE *file = fopen("b.json", "w");
    check(file && fputs(baseline, file) >= 0 && fclose(file) == 0);
}

static void check_again(const char *page, const suite_quotes *before, suite_quoted_sources *sources)
{
    suite_quotes again = {0};
    dit_buffer out = {0};
    check(suite_quotes_check(page, sources, &again, &out) == DIT_OK);
    check(again.count == before->count && strcmp(out.data, page) == 0);
    for (int i = 0; i < again.count; i++) check(!suite_quote_is_stale(&again.rows[i]));
    suite_quotes_release(&again);
    dit_buffer_release(&out);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    suite_quoted_sources sources = {0};
    suite_quotes quotes = {0};
    dit_buffer page = {0};
    char *text = calloc(size + 1, 1);
    check(text != NULL);
    memcpy(text, data, size);
    if (!fuzz_folder[0]) make_folder();
    check(suite_quotes_check(text, &sources, &quotes, &page) == DIT_OK);
    for (int i = 0; i < quotes.count; i++)
        check(quotes.rows[i].status == DIT_OK ? quotes.rows[i].is[0] != '\0' : quotes.rows[i].message[0] != '\0');
    if (quotes.count == 0) check(strcmp(page.data, text) == 0);
    check_again(page.data, &quotes, &sources);
    suite_quotes_release(&quotes);
    suite_quoted_sources_release(&sources);
    dit_buffer_release(&page);
    free(text);
    return 0;
}
