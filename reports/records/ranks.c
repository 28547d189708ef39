#include "reports/records/ranks.h"

#include "base/buffer.h"
#include "base/hash.h"
#include "base/json_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTER = 256, KEY = 160, MOST_KINDS = 256, HOST_NAME = 255 };
static const double most_counted = 1e30;

/* ---- counts ------------------------------------------------------------------------------------------------------ */

typedef struct {
    const dit_json *doc;
    dit_json_writer w;
    cJSON *counts;
    dit_buffer plan;
    int kinds;
} counter;

/* Adds to the number of this name. A record with more kinds than there can be was not written by an engine. */
static dit_status add_count(counter *c, const char *pointer, const char *key, double value)
{
    cJSON *item = cJSON_GetObjectItemCaseSensitive(c->counts, key);
    if (item) {
        cJSON_SetNumberValue(item, item->valuedouble + value);
        return DIT_OK;
    }
    if (c->kinds++ == MOST_KINDS)
        return dit_json_fail(c->doc, pointer, DIT_ERR_JSON_VALUE, "more than %d kinds of counts", MOST_KINDS);
    dit_json_put_number(&c->w, c->counts, key, value);
    return c->w.status;
}

static dit_status count_row(counter *c, const cJSON *row, const char *pointer, int rank)
{
    const char *axis = "", *collective = "", *phase = "";
    double bytes = 0, messages = 0;
    char key[KEY];
    if (!cJSON_IsObject(row)) return dit_json_fail(c->doc, pointer, DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(dit_json_optional_string(c->doc, row, pointer, "axis", &axis));
    DIT_TRY(dit_json_optional_string(c->doc, row, pointer, "collective", &collective));
    DIT_TRY(dit_json_optional_string(c->doc, row, pointer, "phase", &phase));
    DIT_TRY(dit_json_optional_number(c->doc, row, pointer, "bytes", 0, most_counted, &bytes));
    DIT_TRY(dit_json_optional_number(c->doc, row, pointer, "messages", 0, most_counted, &messages));
    snprintf(key, sizeof key, "communication_bytes/%.40s/%.40s/%.40s", axis, collective, phase);
    DIT_TRY(add_count(c, pointer, key, bytes));
    snprintf(key, sizeof key, "communication_messages/%.40s/%.40s/%.40s", axis, collective, phase);
    DIT_TRY(add_count(c, pointer, key, messages));
    dit_buffer_printf(&c->plan, "%d %.40s %.40s %.40s %.17g %.17g\n", rank, axis, collective, phase, messages, bytes);
    return DIT_OK;
}

static dit_status count_rows(counter *c, const cJSON *object, const char *pointer, int rank)
{
    const cJSON *rows = NULL, *row;
    char at[POINTER + 64];
    int index = 0;
    DIT_TRY(dit_json_optional_array(c->doc, object, pointer, "communication", &rows));
    cJSON_ArrayForEach(row, rows)
    {
        snprintf(at, sizeof at, "%s/communication/%d", pointer, index++);
        DIT_TRY(count_row(c, row, at, rank));
    }
    return DIT_OK;
}

static dit_status count_communication(counter *c, const cJSON *record, const char *pointer)
{
    const cJSON *ranks = NULL, *rank;
    char at[POINTER];
    int index = 0;
    DIT_TRY(dit_json_optional_array(c->doc, record, pointer, "ranks", &ranks));
    if (!cJSON_GetArraySize(ranks)) return count_rows(c, record, pointer, 0);
    cJSON_ArrayForEach(rank, ranks)
    {
        snprintf(at, sizeof at, "%.200s/ranks/%d", pointer, index);
        if (!cJSON_IsObject(rank)) return dit_json_fail(c->doc, at, DIT_ERR_JSON_TYPE, "expected an object");
        DIT_TRY(count_rows(c, rank, at, index++));
    }
    return DIT_OK;
}

static dit_status count_operators(counter *c, const cJSON *record, const char *pointer)
{
    const cJSON *calls = NULL, *item;
    char at[POINTER], key[KEY];
    DIT_TRY(dit_json_optional_object(c->doc, record, pointer, "operator_calls", &calls));
    snprintf(at, sizeof at, "%.200s/operator_calls", pointer);
    cJSON_ArrayForEach(item, calls)
    {
        double value = 0;
        DIT_TRY(dit_json_optional_number(c->doc, calls, at, item->string, 0, most_counted, &value));
        snprintf(key, sizeof key, "operator_calls/%.100s", item->string);
        DIT_TRY(add_count(c, at, key, value));
    }
    return DIT_OK;
}

static dit_status put_plan(counter *c)
{
    char digest[DIT_HASH_HEX];
    if (c->plan.failed) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a plan's digest");
    dit_hash(c->plan.data ? c->plan.data : "", c->plan.used, digest);
    dit_json_put_string(&c->w, c->counts, REPORT_COUNTS_PLAN, digest);
    return c->w.status;
}

dit_status report_counts_read(const dit_json *doc, const cJSON *record, const char *pointer, cJSON **out)
{
    counter c = {.doc = doc};
    c.counts = dit_json_new_object(&c.w);
    dit_status st = c.w.status;
    if (st == DIT_OK) st = count_communication(&c, record, pointer);
    if (st == DIT_OK) st = count_operators(&c, record, pointer);
    if (st == DIT_OK && c.kinds) st = put_plan(&c);
    dit_buffer_release(&c.plan);
    *out = NULL;
    if (st == DIT_OK && c.kinds)
        *out = c.counts;
    else
        cJSON_Delete(c.counts);
    return st;
}

/* ---- hosts ------------------------------------------------------------------------------------------------------- */

/* A name that can be printed and stand in a list: no blank, no control character. */
static bool is_host_name(const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~') return false;
    return length > 0 && length <= HOST_NAME;
}

static bool has_line(const dit_buffer *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list->data; at && *at; at = strchr(at, '\n') + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '\n') return true;
    return false;
}

dit_status report_hosts_read(const dit_json *doc, const cJSON *record, const char *pointer, char **out)
{
    const cJSON *ranks = NULL, *rank;
    dit_buffer list = {0};
    bool known = true;
    int index = 0;
    dit_status st = DIT_OK;
    *out = NULL;
    DIT_TRY(dit_json_optional_array(doc, record, pointer, "ranks", &ranks));
    for (rank = ranks ? ranks->child : NULL; rank && known && st == DIT_OK; rank = rank->next, index++) {
        const char *host = "";
        char at[POINTER];
        snprintf(at, sizeof at, "%.200s/ranks/%d", pointer, index);
        st = dit_json_optional_string(doc, rank, at, "host", &host);
        known = st == DIT_OK && is_host_name(host);
        if (known && !has_line(&list, host)) dit_buffer_printf(&list, "%s\n", host);
    }
    if (st == DIT_OK && list.failed) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for the hosts of ranks");
    if (st == DIT_OK && known && list.used) {
        *out = strdup(list.data);
        if (!*out) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for the hosts of ranks");
    }
    dit_buffer_release(&list);
    return st;
}
