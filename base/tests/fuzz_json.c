/* Fuzz target of the strict JSON reader. Run by ci/fuzz.sh.
 *
 * Beyond not crashing: what is accepted must be writable, must read back, and must then be written the same; every
 * complaint must begin with a place.
 */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static void check(bool good)
{
    if (!good) abort();
}

static void check_round_trip(const cJSON *root)
{
    char *first, *second;
    dit_json again;
    check(dit_json_canonical(root, &first) == DIT_OK);
    check(dit_json_parse(first, strlen(first), "again", &again) == DIT_OK);
    check(dit_json_canonical(again.root, &second) == DIT_OK);
    check(strcmp(first, second) == 0);
    dit_json_release(&again);
    free(first);
    free(second);
}

static void check_access(const dit_json *document)
{
    static const char *const keys[] = {"a", "model", "seed", NULL};
    const char *string;
    int64_t integer;
    int line, column;
    if (!cJSON_IsObject(document->root)) return;
    (void)!dit_json_only_keys(document, document->root, "", keys);
    (void)!dit_json_require_string(document, document->root, "", "a", &string);
    (void)!dit_json_require_int(document, document->root, "", "seed", 0, 10, &integer);
    check(dit_json_locate(document->text, document->length, "", &line, &column));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    dit_json document;
    if (dit_json_parse((const char *)data, size, "fuzz", &document) != DIT_OK) {
        check(strncmp(dit_error_last()->message, "fuzz:", 5) == 0);
        check(!document.root);
        return 0;
    }
    check_round_trip(document.root);
    check_access(&document);
    dit_json_release(&document);
    return 0;
}
