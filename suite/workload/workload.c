#include "suite/workload/workload.h"

#include "suite/workload/matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_identifier(const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || length > 100 || text[0] == '.' || text[0] == '-') return false;
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == length;
}

dit_status suite_require_identifier(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                                    const char **out)
{
    char at[SUITE_POINTER];
    DIT_TRY(dit_json_require_string(doc, object, pointer, key, out));
    if (is_identifier(*out)) return DIT_OK;
    dit_json_pointer_join(at, sizeof at, pointer, key);
    return dit_error_hint(dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "%s \"%.100s\" cannot name a file", key, *out),
                          "use letters, digits, '.', '_' and '-', at most 100");
}

dit_status suite_workload_parameters(const cJSON *workload, char out[DIT_HASH_HEX])
{
    static const char *const others[] = {"schema",    "name",   "title",     "description", "plots",
                                         "published", "expect", "notes_for", "gate"};
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

/* How many cells were dropped for the reason of number `index`; 0 when an earlier one had it. */
static int count_reason(const suite_workload *workload, int index)
{
    const suite_dropped *dropped = workload->dropped;
    int count = 0;
    for (int i = 0; i < workload->dropped_count; i++) {
        bool same = dropped[i].code == dropped[index].code;
        if (same && i < index) return 0;
        count += same;
    }
    return count;
}

dit_status suite_workload_require_cases(const suite_workload *workload)
{
    char reasons[700] = "";
    size_t used = 0;
    if (workload->case_count > 0) return DIT_OK;
    for (int i = 0; i < workload->dropped_count && used < sizeof reasons; i++) {
        int count = count_reason(workload, i);
        if (count)
            used += (size_t)snprintf(reasons + used, sizeof reasons - used, "%s%d x %s (%.160s)", used ? "; " : "",
                                     count, dit_status_name(workload->dropped[i].code), workload->dropped[i].reason);
    }
    dit_status st = DIT_FAIL(DIT_ERR_WORKLOAD, "%s: no case is left of %d cell%s: %s", workload->source.path,
                             workload->dropped_count, workload->dropped_count == 1 ? "" : "s", reasons);
    return dit_error_hint(st, "`ditbench expand` shows each dropped cell with its reason");
}

void suite_workload_release(suite_workload *workload)
{
    for (int i = 0; i < workload->case_count; i++) {
        cJSON_Delete(workload->cases[i].document);
        cJSON_Delete(workload->cases[i].tags);
    }
    for (int i = 0; i < workload->dropped_count; i++) {
        cJSON_Delete(workload->dropped[i].cell);
        cJSON_Delete(workload->dropped[i].tags);
    }
    free(workload->cases);
    free(workload->dropped);
    suite_matrix_free(workload->matrix);
    cJSON_Delete(workload->settings);
    dit_json_release(&workload->source);
    *workload = (suite_workload){0};
}
