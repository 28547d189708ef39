#include "suite/prices/power.h"

#include "base/file.h"
#include "suite/catalogue/catalogue.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double most_watts = 1e5; /* of an accelerator; of a server a hundred times that */

/* ---- reading ------------------------------------------------------------------------------------------------------- */

static dit_status read_fitted(const dit_json *doc, const cJSON *row, const char *pointer, const char **name,
                              suite_power_model *out)
{
    static const char *const keys[] = {"accelerator", "idle_w", "slope_w", "points", "models", "error_median",
                                       "error_p90",   "source", "date",    "doubt",  NULL};
    int64_t points, models;
    double median;
    DIT_TRY(dit_json_only_keys(doc, row, pointer, keys));
    DIT_TRY(dit_json_require_string(doc, row, pointer, "accelerator", name));
    DIT_TRY(dit_json_require_number(doc, row, pointer, "idle_w", 0, most_watts, &out->idle_w));
    DIT_TRY(dit_json_require_number(doc, row, pointer, "slope_w", 0, most_watts, &out->slope_w));
    DIT_TRY(dit_json_require_int(doc, row, pointer, "points", 2, 1 << 20, &points));
    DIT_TRY(dit_json_require_int(doc, row, pointer, "models", 2, 1 << 20, &models));
    DIT_TRY(dit_json_require_number(doc, row, pointer, "error_median", 0, 10, &median));
    DIT_TRY(dit_json_require_number(doc, row, pointer, "error_p90", median, 10, &out->error));
    out->points = (int)points;
    out->models = (int)models;
    out->fitted = true;
    return suite_fact_evidence(doc, row, pointer, &out->evidence);
}

/* Limits of accelerators whose own file states none, and rated power of servers: looked up when they are asked for. */
static dit_status check_watts(const dit_json *doc, const cJSON *row, const char *pointer, bool server)
{
    static const char *const limit_keys[] = {"accelerator", "limit_w", "source", "date", "assumed", "doubt", NULL};
    static const char *const server_keys[] = {"what", "accelerator", "count", "rated_w", "source",
                                              "date", "assumed",     "doubt", NULL};
    const char *text;
    int64_t count;
    double watts;
    suite_fact evidence;
    DIT_TRY(dit_json_only_keys(doc, row, pointer, server ? server_keys : limit_keys));
    DIT_TRY(dit_json_require_string(doc, row, pointer, "accelerator", &text));
    if (server) DIT_TRY(dit_json_require_string(doc, row, pointer, "what", &text));
    if (server) DIT_TRY(dit_json_require_int(doc, row, pointer, "count", 1, 1024, &count));
    DIT_TRY(dit_json_require_number(doc, row, pointer, server ? "rated_w" : "limit_w", 1,
                                    server ? 100 * most_watts : most_watts, &watts));
    return suite_fact_evidence(doc, row, pointer, &evidence);
}

static dit_status check_list(const dit_json *doc, const char *key, bool server)
{
    const cJSON *list = NULL;
    char pointer[64];
    int index = 0;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", key, &list));
    for (const cJSON *row = list ? list->child : NULL; row; row = row->next) {
        snprintf(pointer, sizeof pointer, "/%s/%d", key, index++);
        if (!cJSON_IsObject(row)) return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "a row is an object");
        DIT_TRY(check_watts(doc, row, pointer, server));
    }
    return DIT_OK;
}

static dit_status read_all_fitted(const dit_json *doc, suite_power_table *out)
{
    const cJSON *list = NULL;
    char pointer[64];
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "fitted", &list));
    size_t count = list ? (size_t)cJSON_GetArraySize(list) : 0;
    out->fitted = calloc(count + 1, sizeof *out->fitted);
    out->fitted_names = calloc(count + 1, sizeof *out->fitted_names);
    if (!out->fitted || !out->fitted_names) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a table of power");
    for (const cJSON *row = list ? list->child : NULL; row; row = row->next) {
        int index = out->fitted_count;
        snprintf(pointer, sizeof pointer, "/fitted/%d", index);
        if (!cJSON_IsObject(row)) return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "a row is an object");
        DIT_TRY(read_fitted(doc, row, pointer, &out->fitted_names[index], &out->fitted[index]));
        out->fitted_count++;
    }
    return DIT_OK;
}

static dit_status read_others(const dit_json *doc, suite_power_table *out)
{
    static const char *const keys[] = {"idle_share", "slope_share", "error", "source",
                                       "date",       "assumed",     "doubt", NULL};
    static const char at[] = "/others";
    const cJSON *others;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "others", &others));
    DIT_TRY(dit_json_only_keys(doc, others, at, keys));
    DIT_TRY(dit_json_require_number(doc, others, at, "idle_share", 0, 1, &out->idle_share));
    DIT_TRY(dit_json_require_number(doc, others, at, "slope_share", 0, 1, &out->slope_share));
    DIT_TRY(dit_json_require_number(doc, others, at, "error", 0, 10, &out->other_error));
    return suite_fact_evidence(doc, others, at, &out->others);
}

static dit_status require_fact(const dit_json *doc, const char *key, double least, double most, suite_fact *out)
{
    if (!dit_json_member(doc->root, key))
        return dit_json_fail(doc, "", DIT_ERR_JSON_MISSING, "required key \"%s\" is absent", key);
    return suite_fact_read(doc, doc->root, "", key, least, most, out);
}

static dit_status read_table(suite_power_table *out)
{
    static const char *const keys[] = {"schema",     "name",   "title",   "fitted",
                                       "others",     "limits", "servers", "server_over_accelerators",
                                       "draw_share", NULL};
    const dit_json *doc = &out->source;
    const char *text = "";
    if (!cJSON_IsObject(doc->root)) return dit_json_fail(doc, "", DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_require_schema(doc, "ditbench.power/1"));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "name", &text));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "title", &text));
    DIT_TRY(read_all_fitted(doc, out));
    DIT_TRY(read_others(doc, out));
    DIT_TRY(check_list(doc, "limits", false));
    DIT_TRY(check_list(doc, "servers", true));
    DIT_TRY(require_fact(doc, "server_over_accelerators", 1, 10, &out->server_over_accelerators));
    return require_fact(doc, "draw_share", 0, 1, &out->draw_share);
}

dit_status suite_power_parse(const char *text, size_t length, const char *path, suite_power_table *out)
{
    *out = (suite_power_table){.fitted_count = 0};
    DIT_TRY(dit_json_parse(text, length, path, &out->source));
    dit_status st = read_table(out);
    if (st != DIT_OK) suite_power_release(out);
    return st;
}

dit_status suite_power_load(suite_power_table *out)
{
    *out = (suite_power_table){.fitted_count = 0};
    DIT_TRY(suite_catalogue_open("power", "table of power", "accelerators", &out->source));
    dit_status st = read_table(out);
    if (st != DIT_OK) suite_power_release(out);
    return st;
}

void suite_power_release(suite_power_table *table)
{
    dit_json_release(&table->source);
    free(table->fitted);
    free(table->fitted_names);
    *table = (suite_power_table){.fitted_count = 0};
}

/* ---- of an accelerator ---------------------------------------------------------------------------------------------- */

static const cJSON *find_row(const suite_power_table *table, const char *list, const char *accelerator)
{
    const cJSON *rows = dit_json_member(table->source.root, list);
    for (const cJSON *row = rows ? rows->child : NULL; row; row = row->next)
        if (strcmp(dit_json_text_or(row, "accelerator", ""), accelerator) == 0) return row;
    return NULL;
}

static double limit_of(const suite_power_table *table, const char *accelerator, double limit_w)
{
    if (limit_w > 0) return limit_w;
    return dit_json_number_or(find_row(table, "limits", accelerator), "limit_w", 0);
}

static dit_status fail_limit(const char *accelerator)
{
    return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "no power limit of %s is known", accelerator),
                          "state it as power_w in workloads/accelerators, or under limits in workloads/power");
}

dit_status suite_power_model_of(const suite_power_table *table, const char *accelerator, double limit_w,
                                suite_power_model *out)
{
    double limit = limit_of(table, accelerator, limit_w);
    for (int i = 0; i < table->fitted_count; i++) {
        if (strcmp(table->fitted_names[i], accelerator) != 0) continue;
        *out = table->fitted[i];
        out->limit_w = limit;
        return DIT_OK;
    }
    if (limit <= 0) return fail_limit(accelerator);
    *out = (suite_power_model){.idle_w = table->idle_share * limit,
                               .slope_w = table->slope_share * limit,
                               .limit_w = limit,
                               .error = table->other_error,
                               .evidence = table->others};
    return DIT_OK;
}

dit_status suite_power_devices(const suite_power_model *model, int devices, double busy, suite_device_watts *out)
{
    if (devices < 1) return DIT_FAIL(DIT_ERR_USAGE, "%d devices draw nothing", devices);
    if (!(busy >= 0 && busy <= 1))
        return DIT_FAIL(DIT_ERR_USAGE, "a busy share of %g is outside 0 to 1: no device works faster than its best",
                        busy);
    out->w = devices * (model->idle_w + model->slope_w * busy);
    return DIT_OK;
}

/* ---- of its server, and of the site ----------------------------------------------------------------------------------- */

dit_status suite_power_rated(const suite_power_table *table, const char *accelerator, double limit_w, int devices,
                             suite_server_watts *out, bool *assumed)
{
    const cJSON *server = find_row(table, "servers", accelerator);
    double limit = limit_of(table, accelerator, limit_w);
    *assumed = !server || dit_json_member(server, "assumed");
    if (server) {
        out->w = dit_json_number_or(server, "rated_w", 0) * devices / (double)dit_json_int_or(server, "count", 1);
        return DIT_OK;
    }
    if (limit <= 0) return fail_limit(accelerator);
    out->w = limit * table->server_over_accelerators.value * devices;
    return DIT_OK;
}

dit_status suite_power_server(const suite_power_table *table, const char *accelerator, double limit_w, int devices,
                              suite_device_watts drawn, suite_server_watts *out)
{
    suite_server_watts rated;
    bool assumed;
    double limit = limit_of(table, accelerator, limit_w);
    if (limit <= 0) return fail_limit(accelerator);
    DIT_TRY(suite_power_rated(table, accelerator, limit_w, devices, &rated, &assumed));
    out->w = drawn.w + table->draw_share.value * fmax(0, rated.w - limit * devices);
    return DIT_OK;
}

suite_site_watts suite_power_site(suite_server_watts server, double pue)
{
    return (suite_site_watts){server.w * pue};
}

dit_status suite_power_of(const suite_power_table *table, const char *accelerator, double limit_w, int devices,
                          double busy, double pue, suite_power_draw *out)
{
    DIT_TRY(suite_power_model_of(table, accelerator, limit_w, &out->model));
    DIT_TRY(suite_power_devices(&out->model, devices, busy, &out->device));
    DIT_TRY(suite_power_server(table, accelerator, limit_w, devices, out->device, &out->server));
    out->site = suite_power_site(out->server, pue);
    return DIT_OK;
}
