#include "suite/prices/site.h"

#include "base/file.h"
#include "base/words.h"
#include "suite/catalogue/catalogue.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 4 << 20 };

typedef struct {
    const char *key, *unit;
    double least, most;
} value_row;

static const value_row rows[] = {
#define VALUE_ROW(name, key, least, most, unit) {key, unit, least, most},
    SUITE_SITE_VALUE_LIST(VALUE_ROW)
#undef VALUE_ROW
};

const char *suite_site_value_name(suite_site_value value)
{
    return value < SUITE_SITE_VALUE_COUNT ? rows[value].key : "";
}

const char *suite_site_value_unit(suite_site_value value)
{
    return value < SUITE_SITE_VALUE_COUNT ? rows[value].unit : "";
}

/* ---- reading --------------------------------------------------------------------------------------------------------- */

static dit_status read_values(const dit_json *doc, bool all, suite_site *out)
{
    static const char at[] = "/values";
    const char *keys[SUITE_SITE_VALUE_COUNT + 1] = {NULL};
    const cJSON *values = NULL;
    for (int i = 0; i < SUITE_SITE_VALUE_COUNT; i++) keys[i] = rows[i].key;
    if (all) DIT_TRY(dit_json_require_object(doc, doc->root, "", "values", &values));
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "values", &values));
    if (!values) return DIT_OK;
    DIT_TRY(dit_json_only_keys(doc, values, at, keys));
    for (int i = 0; i < SUITE_SITE_VALUE_COUNT; i++) {
        bool stated = dit_json_member(values, keys[i]) != NULL;
        if (all && !stated)
            return dit_json_fail(doc, at, DIT_ERR_JSON_MISSING, "required key \"%s\" is absent", keys[i]);
        DIT_TRY(suite_fact_read(doc, values, at, keys[i], rows[i].least, rows[i].most, &out->values[i]));
        if (stated) out->is_default[i] = all;
    }
    return DIT_OK;
}

static dit_status read_machine(const dit_json *doc, const cJSON *machine, suite_site_machine *out)
{
    static const char *const keys[] = {"price", "idle_wall_w", "busy_wall_w", NULL};
    char at[256];
    *out = (suite_site_machine){.platform = machine->string};
    dit_json_pointer_join(at, sizeof at, "/machines", machine->string);
    if (!cJSON_IsObject(machine)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "a machine is an object");
    DIT_TRY(dit_json_only_keys(doc, machine, at, keys));
    DIT_TRY(suite_fact_read(doc, machine, at, "price", 1, 1e12, &out->price));
    DIT_TRY(suite_fact_read(doc, machine, at, "idle_wall_w", 1, 1e9, &out->idle_wall_w));
    DIT_TRY(suite_fact_read(doc, machine, at, "busy_wall_w", 1, 1e9, &out->busy_wall_w));
    if ((out->idle_wall_w.value > 0) != (out->busy_wall_w.value > 0))
        return dit_json_fail(doc, at, DIT_ERR_JSON_MISSING, "state watts at the wall both idle and busy, or neither");
    if (out->idle_wall_w.value <= out->busy_wall_w.value) return DIT_OK;
    return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "it draws more idle than busy");
}

static dit_status read_machines(const dit_json *doc, suite_site *out)
{
    const cJSON *machines = NULL;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "machines", &machines));
    if (!machines) return DIT_OK;
    out->machines = calloc((size_t)cJSON_GetArraySize(machines) + 1, sizeof *out->machines);
    if (!out->machines) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a site");
    for (const cJSON *machine = machines->child; machine; machine = machine->next)
        DIT_TRY(read_machine(doc, machine, &out->machines[out->machine_count++]));
    return DIT_OK;
}

/* `all`: the file leaves out nothing, and its values are the defaults of others. */
static dit_status read_site(const dit_json *doc, bool all, suite_site *out)
{
    static const char *const keys[] = {"schema",       "name",   "title",    "currency",
                                       "depreciation", "values", "machines", NULL};
    static const char *const ways[] = {"straight", "market", NULL};
    const char *way = NULL, *title = "";
    if (!cJSON_IsObject(doc->root)) return dit_json_fail(doc, "", DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_require_schema(doc, "ditbench.site/1"));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "name", &out->name));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "title", &title));
    DIT_TRY(suite_fact_currency(doc, doc->root, "", "currency", &out->currency));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "depreciation", &way));
    if (way && dit_words_find(ways, way) < 0)
        return dit_json_fail_word(doc, "/depreciation", "depreciation", way, ways);
    if (way) out->depreciation = (suite_depreciation)dit_words_find(ways, way);
    DIT_TRY(read_values(doc, all, out));
    return read_machines(doc, out);
}

/* Amounts of money of the default file are in its currency: they are nothing, or the buyer states his own. */
static dit_status check_currency(const suite_site *site)
{
    static const suite_site_value money[] = {SUITE_SITE_DELIVERY,          SUITE_SITE_PRICE_PER_KWH,
                                             SUITE_SITE_SPACE_PER_KW_YEAR, SUITE_SITE_SUPPORT_PER_YEAR,
                                             SUITE_SITE_PEOPLE_PER_YEAR,   SUITE_SITE_LICENCES_PER_YEAR};
    const char *other = dit_json_text_or(site->defaults.root, "currency", site->currency);
    for (size_t i = 0; i < sizeof money / sizeof *money && strcmp(other, site->currency) != 0; i++)
        if (site->is_default[money[i]] && site->values[money[i]].value > 0)
            return dit_error_hint(dit_json_fail(&site->source, "/values", DIT_ERR_JSON_MISSING,
                                                "required key \"%s\" is absent", rows[money[i]].key),
                                  "the default is in %s, and this file in %s", other, site->currency);
    return DIT_OK;
}

dit_status suite_site_parse(const char *text, size_t length, const char *path, const char *defaults, suite_site *out)
{
    *out = (suite_site){.name = ""};
    dit_status st = DIT_OK;
    if (defaults) st = dit_json_parse(defaults, strlen(defaults), "default.json", &out->defaults);
    if (st == DIT_OK && defaults) st = read_site(&out->defaults, true, out);
    if (st == DIT_OK) st = dit_json_parse(text, length, path, &out->source);
    free(out->machines); /* machines are the buyer's own */
    out->machines = NULL;
    out->machine_count = 0;
    if (st == DIT_OK) st = read_site(&out->source, !defaults, out);
    if (st == DIT_OK && defaults) st = check_currency(out);
    if (st != DIT_OK) suite_site_release(out);
    return st;
}

static dit_status read_named(const char *name, char **text, size_t *length, char path[SUITE_PATH])
{
    dit_json found;
    if (strchr(name, '/') || strstr(name, ".json")) {
        DIT_TRY(suite_path(path, "%s", name));
    } else {
        DIT_TRY(suite_catalogue_open("sites", "site", name, &found)); /* names the nearest */
        dit_json_release(&found);
        DIT_TRY(suite_path(path, "%s/sites/%s.json", suite_workloads_folder(), name));
    }
    return dit_file_read(path, MOST_BYTES, text, length);
}

dit_status suite_site_load(const char *name, suite_site *out)
{
    char path[SUITE_PATH], *text = NULL, *defaults = NULL;
    size_t length, rest;
    *out = (suite_site){.name = ""};
    dit_status st = read_named("default", &defaults, &rest, path);
    if (st == DIT_OK) st = read_named(name, &text, &length, path);
    if (st == DIT_OK) st = suite_site_parse(text, length, path, strcmp(name, "default") == 0 ? NULL : defaults, out);
    free(text);
    free(defaults);
    return st;
}

void suite_site_release(suite_site *site)
{
    dit_json_release(&site->source);
    dit_json_release(&site->defaults);
    free(site->machines);
    *site = (suite_site){.name = ""};
}

const suite_site_machine *suite_site_machine_of(const suite_site *site, const char *platform)
{
    for (int i = 0; i < site->machine_count; i++)
        if (strcmp(site->machines[i].platform, platform) == 0) return &site->machines[i];
    return NULL;
}
