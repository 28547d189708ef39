/* Fuzz target of the import of SkyPilot's catalogues. Run by ci/fuzz.sh. Beyond not crashing: what is refused says why,
 * and what comes out is a price file that its own reader takes. */
#include "suite/prices/book.h"
#include "suite/prices/skypilot.h"

#include <stdlib.h>
#include <string.h>

static const char table[] =
    "{\"schema\":\"ditbench.price_names/1\",\"provider\":\"P\",\"currency\":\"USD\",\"repository\":\"o/"
    "r\",\"path\":\"v\",\"floor_per_device\":"
    "1,\"accelerators\":{\"A100\":[{\"accelerator\":\"a40\",\"memory_gib\":40},{"
    "\"accelerator\":\"a80\",\"memory_gib\":80,"
    "\"instance\":\"a\"}],\"L4\":[{\"accelerator\":\"l4\"}]}}";

static void check(bool good)
{
    if (!good) abort();
}

static void check_import(const suite_skypilot_import *import)
{
    suite_price_book book = {0};
    char *text = NULL;
    check(dit_json_canonical(import->book, &text) == DIT_OK);
    check(suite_price_book_parse(&book, text, strlen(text), "imported", NULL, NULL) == DIT_OK);
    check(book.quote_count == import->quote_count);
    for (int i = 0; i < import->refused_count; i++) check(import->refused[i].reason[0] && import->refused[i].line > 1);
    suite_price_book_release(&book);
    free(text);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static dit_json names;
    suite_skypilot_import import;
    if (!names.root) check(dit_json_parse(table, sizeof table - 1, "names.json", &names) == DIT_OK);
    const suite_skypilot_request request = {(const char *)data, "fuzz.csv", size, &names, "abc", "2026-11-01"};
    dit_error_clear();
    if (suite_skypilot_read(&request, &import) == DIT_OK)
        check_import(&import);
    else
        check(dit_error_last()->message[0] != '\0' && !import.book);
    suite_skypilot_release(&import);
    return 0;
}
