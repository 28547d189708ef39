/* Fuzz target of `generate --from_image`: the case in a picture's text chunk. Run by ci/fuzz.sh. Beyond not crashing: what is
 * accepted is a case of generate, and every complaint names the file. */
#include "suite/generate/picture_case.h"

#include <stdlib.h>
#include <string.h>

static void check(bool good)
{
    if (!good) abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    dit_json document;
    if (suite_picture_case_parse("fuzz", data, size, &document) == DIT_OK)
        check(strcmp(dit_json_text_or(document.root, "program", ""), "generate") == 0);
    else
        check(!document.root && strncmp(dit_error_last()->message, "fuzz", 4) == 0);
    dit_json_release(&document);
    return 0;
}
