#include "suite/workload/notes.h"

#include <stdlib.h>
#include <string.h>

dit_status suite_notes_digest(const cJSON *workload, char out[DIT_HASH_HEX])
{
    static const char *const others[] = {"schema", "name",      "title",  "description",
                                         "plots",  "published", "expect", "notes_for"};
    char *text = NULL;
    cJSON *parameters = cJSON_Duplicate(workload, true);
    if (!parameters) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a workload's parameters");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        cJSON_DeleteItemFromObjectCaseSensitive(parameters, others[i]);
    }
    dit_status st = dit_json_canonical(parameters, &text);
    if (st == DIT_OK) dit_hash(text, strlen(text), out);
    free(text);
    cJSON_Delete(parameters);
    return st;
}
