#include "suite/console/row_filter.h"

#include "base/expr.h"
#include "base/json_writer.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- text -------------------------------------------------------------------------------------------------------- */

static bool contains(const char *text, const char *wanted)
{
    size_t length = strlen(wanted);
    for (; *text; text++)
        if (strncasecmp(text, wanted, length) == 0) return true;
    return length == 0;
}

static bool member_contains(const cJSON *member, const char *wanted)
{
    const cJSON *item;
    if (cJSON_IsString(member)) return contains(member->valuestring, wanted);
    if (!cJSON_IsArray(member)) return false;
    cJSON_ArrayForEach(item, member) if (member_contains(item, wanted)) return true;
    return false;
}

static bool row_contains(const cJSON *row, const char *wanted)
{
    const cJSON *member;
    cJSON_ArrayForEach(member, row) if (member_contains(member, wanted)) return true;
    return false;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

typedef struct {
    const cJSON *rows, *row;
    bool lacks; /* this row has no such member, others do */
    char unknown[64];
    char words[256]; /* a list, joined: one value of an expression */
} row_scope;

static void join_words(const cJSON *list, char *out, size_t size)
{
    const cJSON *item;
    size_t used = 0;
    out[0] = '\0';
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item) && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "," : "", item->valuestring);
    }
}

static bool any_has(const cJSON *rows, const char *name)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) if (cJSON_HasObjectItem(row, name)) return true;
    return false;
}

static dit_status find_member(void *context, const char *name, dit_value *out)
{
    row_scope *scope = context;
    const cJSON *item = dit_json_member(scope->row, name);
    if (cJSON_IsArray(item)) join_words(item, scope->words, sizeof scope->words);
    if (cJSON_IsNumber(item))
        *out = (dit_value){DIT_VALUE_NUMBER, item->valuedouble, NULL};
    else if (cJSON_IsBool(item))
        *out = (dit_value){DIT_VALUE_BOOL, cJSON_IsTrue(item), NULL};
    else if (cJSON_IsString(item) || cJSON_IsArray(item))
        *out = (dit_value){DIT_VALUE_STRING, 0, cJSON_IsArray(item) ? scope->words : item->valuestring};
    else {
        scope->lacks = any_has(scope->rows, name);
        if (!scope->lacks) snprintf(scope->unknown, sizeof scope->unknown, "%s", name);
        return DIT_ERR_NOT_FOUND;
    }
    return DIT_OK;
}

/* The names of all members of all rows. */
static void list_names(const cJSON *rows, char *out, size_t size)
{
    dit_json_writer w = {0};
    const cJSON *row, *member;
    cJSON *seen = dit_json_new_object(&w);
    size_t used = 0;
    out[0] = '\0';
    cJSON_ArrayForEach(row, rows) cJSON_ArrayForEach(member, row)
    {
        if (cJSON_HasObjectItem(seen, member->string) || cJSON_IsObject(member) || used >= size) continue;
        dit_json_put_null(&w, seen, member->string);
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", member->string);
    }
    cJSON_Delete(seen);
}

static dit_status holds_for(const cJSON *rows, const cJSON *row, const char *filter, bool *out)
{
    row_scope context = {.rows = rows, .row = row};
    const dit_expr_scope scope = {find_member, NULL, &context};
    char names[800];
    *out = false;
    dit_status st = dit_expr_test(filter, &scope, out);
    if (st == DIT_OK) return st;
    if (context.lacks) {
        dit_error_clear();
        return DIT_OK;
    }
    list_names(rows, names, sizeof names);
    return context.unknown[0] ? dit_error_hint(st, "the names are %s", names) : st;
}

bool suite_row_filter_is_expression(const char *filter)
{
    return strpbrk(filter, "=<>!&|'\"(") != NULL;
}

dit_status suite_row_filter(cJSON *rows, const char *filter)
{
    dit_json_writer w = {0};
    cJSON *kept = dit_json_new_array(&w);
    dit_status st = w.status;
    const cJSON *row;
    if (filter && suite_row_filter_is_expression(filter) && st == DIT_OK) st = dit_expr_check(filter);
    cJSON_ArrayForEach(row, rows)
    {
        bool keeps = true;
        if (st != DIT_OK) break;
        if (filter && suite_row_filter_is_expression(filter))
            st = holds_for(rows, row, filter, &keeps);
        else if (filter)
            keeps = row_contains(row, filter);
        if (keeps) dit_json_put_copy(&w, kept, NULL, row);
    }
    if (st == DIT_OK) st = w.status;
    while (st == DIT_OK && rows->child) cJSON_DeleteItemFromArray(rows, 0);
    while (st == DIT_OK && kept->child) dit_json_put_item(&w, rows, NULL, cJSON_DetachItemFromArray(kept, 0));
    cJSON_Delete(kept);
    return st == DIT_OK ? w.status : st;
}
