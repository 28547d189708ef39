#include "suite/workload/names.h"

#include "base/words.h"
#include "reports/records/claim_names.h"
#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/method.h"
#include "suite/workload/tags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MOST = 256, SHOWN_MOST = 8 };

typedef struct {
    const char *words[VALUES_MOST + 1]; /* distinct; of the workload's own documents */
    int count;
    bool numbers; /* some cell has a number there */
    bool texts;
} tag_values;

/* ---- what the cells have ----------------------------------------------------------------------------------------- */

static void take_value(const cJSON *tags, const char *tag, tag_values *out)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(tags, tag);
    if (cJSON_IsNumber(value)) out->numbers = true;
    if (!cJSON_IsString(value)) return;
    out->texts = true;
    for (int i = 0; i < out->count; i++)
        if (strcmp(out->words[i], value->valuestring) == 0) return;
    if (out->count < VALUES_MOST) out->words[out->count++] = value->valuestring;
    out->words[out->count] = NULL;
}

static void collect(const suite_workload *workload, const char *tag, tag_values *out)
{
    *out = (tag_values){0};
    for (int i = 0; i < workload->case_count; i++) take_value(workload->cases[i].tags, tag, out);
    for (int i = 0; i < workload->dropped_count; i++) {
        const suite_dropped *dropped = &workload->dropped[i];
        take_value(dropped->tags ? dropped->tags : dropped->cell, tag, out);
    }
}

/* ---- what the catalogue has -------------------------------------------------------------------------------------- */

/* The folder of the catalogue that a tag's values come from; NULL: they come from nowhere else than the workload. */
static const char *catalogue_of(const char *tag)
{
    static const struct {
        const char *tag, *kind;
    } rows[] = {{"model", "models"}, {"base_model", "models"}, {"platform", "platforms"}, {"profile", "profiles"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].tag, tag) == 0) return rows[i].kind;
    return NULL;
}

static bool holds(const char *const *words, const char *word)
{
    while (*words && strcmp(*words, word) != 0) words++;
    return *words;
}

/* Whether `word` is a value that some workload has: an open one may ask for it. */
static bool is_known_elsewhere(const char *tag, const char *word)
{
    const char *kind = catalogue_of(tag);
    char **names = NULL;
    if (strcmp(tag, "method") == 0 || strcmp(tag, "attention") == 0)
        return suite_method_check(word) == DIT_OK ||
               (dit_error_clear(), strcmp(word, "oracle") == 0 || strcmp(word, "converged") == 0);
    if (!kind) return true;
    if (suite_catalogue_names(kind, &names) != DIT_OK) return dit_error_clear(), true;
    bool found = holds((const char *const *)names, word) || strchr(word, '~');
    suite_names_free(names);
    return found;
}

/* ---- one value --------------------------------------------------------------------------------------------------- */

static void list_values(const tag_values *values, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < values->count && i < SHOWN_MOST && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%.60s", i ? ", " : "", values->words[i]);
    if (values->count > SHOWN_MOST && used < size) snprintf(out + used, size - used, ", ...");
}

static dit_status fail_value(const char *tag, const char *word, const tag_values *values)
{
    char list[400];
    /* labels as short as "u2" are all near each other */
    const char *near = strlen(word) < 4 ? NULL : dit_nearest_word(word, values->words);
    list_values(values, list, sizeof list);
    dit_status st = DIT_FAIL(DIT_ERR_EXPRESSION, "no case has %s '%.100s'", tag, word);
    return near ? dit_error_hint(st, "did you mean '%s'?", near) : dit_error_hint(st, "here %s is %s", tag, list);
}

static dit_status check_value(void *context, const char *tag, const dit_value *value, bool open)
{
    const suite_workload *workload = context;
    tag_values values;
    collect(workload, tag, &values);
    bool text = value->kind == DIT_VALUE_STRING;
    if (!values.texts && !values.numbers)
        return dit_error_hint(DIT_FAIL(DIT_ERR_EXPRESSION, "no case of this workload has the tag \"%s\"", tag),
                              "`ditbench expand WORKLOAD --json` shows the tags of each case");
    if (text && !values.texts)
        return dit_error_hint(DIT_FAIL(DIT_ERR_EXPRESSION, "%s is a number, '%.100s' is a text", tag, value->string),
                              "numbers stand without quotes");
    if (!text && !values.numbers)
        return dit_error_hint(DIT_FAIL(DIT_ERR_EXPRESSION, "%s is a text, but it is compared with something else", tag),
                              "texts stand in quotes, such as '%s'", values.words[0]);
    if (!text || holds(values.words, value->string)) return DIT_OK;
    if (workload->settings) return DIT_OK; /* --set may have taken away the cases that a plot or a claim is about */
    return open && is_known_elsewhere(tag, value->string) ? DIT_OK : fail_value(tag, value->string, &values);
}

/* ---- the expressions of a workload ------------------------------------------------------------------------------- */

/* Raises the error of an expression again, with its place in the file. */
static dit_status place_error(const dit_json *doc, const char *pointer, dit_status st)
{
    char message[1024], hint[512];
    if (st == DIT_OK) return st;
    snprintf(message, sizeof message, "%s", dit_error_last()->message);
    snprintf(hint, sizeof hint, "%s", dit_error_last()->hint);
    return dit_error_hint(dit_json_fail(doc, pointer, st, "%s", message), "%s", hint);
}

static dit_status check_claim(const suite_workload *workload, const report_claim_names *names, const cJSON *claim,
                              int index)
{
    static const char *const keys[] = {"requires", "expr", "partly"};
    bool required = cJSON_HasObjectItem(claim, "requires");
    char at[64];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *expr = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(claim, keys[i]));
        if (!expr) continue;
        snprintf(at, sizeof at, "/expect/%d/%s", index, keys[i]);
        DIT_TRY(place_error(&workload->source, at, report_claim_names_check(expr, names, required)));
    }
    return DIT_OK;
}

/* That a filter can be evaluated is seen by doing so. */
static dit_status check_plot(const suite_workload *workload, const report_claim_names *names, const cJSON *plot,
                             int index)
{
    const char *where = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(plot, "where"));
    char at[64];
    bool wanted;
    snprintf(at, sizeof at, "/plots/%d/where", index);
    if (!where) return DIT_OK;
    DIT_TRY(place_error(&workload->source, at, report_filter_names_check(where, names, false, false)));
    for (int i = 0; i < workload->case_count; i++)
        DIT_TRY(place_error(&workload->source, at, suite_tags_test(workload->cases[i].tags, where, &wanted)));
    return DIT_OK;
}

/* What drops cells was evaluated on them; here also what no cell got to. */
static dit_status check_droppers(const suite_workload *workload, const report_claim_names *names, const char *key)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(workload->source.root, key), *entry;
    char at[64];
    int index = 0;
    cJSON_ArrayForEach(entry, list)
    {
        snprintf(at, sizeof at, "/%s/%d", key, index++);
        DIT_TRY(place_error(&workload->source, at, report_filter_names_check(entry->valuestring, names, false, false)));
    }
    return DIT_OK;
}

dit_status suite_names_check(const suite_workload *workload)
{
    const report_claim_names names = {suite_tag_names(), check_value, (void *)(uintptr_t)workload};
    const cJSON *entry;
    int index = 0;
    if (workload->case_count == 0) return DIT_OK;
    DIT_TRY(check_droppers(workload, &names, "exclude"));
    DIT_TRY(check_droppers(workload, &names, "constraints"));
    cJSON_ArrayForEach(entry, workload->plots) DIT_TRY(check_plot(workload, &names, entry, index++));
    index = 0;
    cJSON_ArrayForEach(entry, workload->expect) DIT_TRY(check_claim(workload, &names, entry, index++));
    return DIT_OK;
}
