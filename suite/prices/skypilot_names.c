#include "suite/prices/skypilot_names.h"

#include "base/words.h"
#include "suite/catalogue/catalogue.h"
#include "suite/prices/fact.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static dit_status check_platforms(const dit_json *doc, const cJSON *entry, const char *pointer)
{
    const cJSON *platforms = NULL;
    char inside[300];
    DIT_TRY(dit_json_optional_object(doc, entry, pointer, "platforms", &platforms));
    dit_json_pointer_join(inside, sizeof inside, pointer, "platforms");
    for (const cJSON *item = platforms ? platforms->child : NULL; item; item = item->next)
        if (!cJSON_IsString(item) || !item->valuestring[0] ||
            strspn(item->string, "0123456789") != strlen(item->string))
            return dit_json_fail(doc, inside, DIT_ERR_JSON_TYPE, "expected names of platforms by numbers of devices");
    return DIT_OK;
}

static dit_status check_entry(const dit_json *doc, const cJSON *entry, const char *pointer)
{
    static const char *const keys[] = {"accelerator", "memory_gib", "instance", "platforms", "doubt", NULL};
    const char *text = "x";
    double memory = 1;
    if (!cJSON_IsObject(entry)) return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "a device is an object");
    DIT_TRY(dit_json_only_keys(doc, entry, pointer, keys));
    DIT_TRY(dit_json_require_string(doc, entry, pointer, "accelerator", &text));
    DIT_TRY(dit_json_optional_number(doc, entry, pointer, "memory_gib", 1, 4096, &memory));
    DIT_TRY(dit_json_optional_string(doc, entry, pointer, "instance", &text));
    DIT_TRY(dit_json_optional_string(doc, entry, pointer, "doubt", &text));
    return check_platforms(doc, entry, pointer);
}

static dit_status check_names(const dit_json *doc, const cJSON *names)
{
    char pointer[128], at[160];
    for (const cJSON *list = names->child; list; list = list->next) {
        int index = 0;
        dit_json_pointer_join(pointer, sizeof pointer, "/accelerators", list->string);
        if (!cJSON_IsArray(list) || !list->child)
            return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "expected a list of at least one device");
        for (const cJSON *entry = list->child; entry; entry = entry->next) {
            snprintf(at, sizeof at, "%s/%d", pointer, index++);
            DIT_TRY(check_entry(doc, entry, at));
        }
    }
    return DIT_OK;
}

dit_status suite_skypilot_names_read(const dit_json *doc, suite_skypilot_names *out)
{
    static const char *const keys[] = {"schema", "provider",     "currency",         "kind",         "repository",
                                       "path",   "most_devices", "floor_per_device", "accelerators", NULL};
    static const char *const kinds[] = {"on-demand", "list", "marketplace", NULL};
    int64_t most = 8;
    *out = (suite_skypilot_names){.kind = "on-demand"};
    if (!cJSON_IsObject(doc->root)) return dit_json_fail(doc, "", DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_require_schema(doc, "ditbench.price_names/1"));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "provider", &out->provider));
    DIT_TRY(suite_fact_currency(doc, doc->root, "", "currency", &out->currency));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "repository", &out->repository));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "path", &out->path));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "kind", &out->kind));
    if (dit_words_find(kinds, out->kind) < 0) return dit_json_fail_word(doc, "/kind", "kind", out->kind, kinds);
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "most_devices", 1, 1024, &most));
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "floor_per_device", 0.001, 1000, &out->floor_per_device));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "accelerators", &out->accelerators));
    out->most_devices = (int)most;
    return check_names(doc, out->accelerators);
}

/* Catalogues round memory, and leave some of it out. */
static bool is_memory(const cJSON *entry, double memory_gib)
{
    double wanted = dit_json_number_or(entry, "memory_gib", memory_gib);
    return fabs(memory_gib - wanted) <= 0.05 * wanted;
}

/* 0: the entry is of other instances, or of another memory; 1: it may be meant; 2: the instance's type says so. */
static int suits(const cJSON *entry, const char *instance, double memory_gib)
{
    const char *part = dit_json_text_or(entry, "instance", NULL);
    if (part && !strstr(instance, part)) return 0;
    if (memory_gib > 0 && !is_memory(entry, memory_gib)) return 0;
    return part ? 2 : 1;
}

static void take(const cJSON *entry, int count, suite_skypilot_device *out)
{
    char key[16];
    snprintf(key, sizeof key, "%d", count);
    out->accelerator = dit_json_text_or(entry, "accelerator", NULL);
    out->platform = dit_json_text_or(dit_json_member(entry, "platforms"), key, "");
    snprintf(out->doubt, sizeof out->doubt, "%s", dit_json_text_or(entry, "doubt", ""));
}

void suite_skypilot_names_find(const suite_skypilot_names *names, const char *name, const char *instance, int count,
                               double memory_gib, suite_skypilot_device *out)
{
    const cJSON *list = dit_json_member(names->accelerators, name);
    int best = 0;
    *out = (suite_skypilot_device){.platform = ""};
    for (const cJSON *entry = list ? list->child : NULL; entry; entry = entry->next) {
        int how = suits(entry, instance, memory_gib);
        const char *accelerator = dit_json_text_or(entry, "accelerator", "");
        if (how > best) {
            best = how;
            take(entry, count, out);
        } else if (how == best && how > 0 && strcmp(accelerator, out->accelerator) != 0) {
            snprintf(out->doubt, sizeof out->doubt,
                     "listed as %.40s, which is %.40s or %.40s; the row does not say which", name, out->accelerator,
                     accelerator);
        }
    }
    out->memory = list && !out->accelerator;
    if (!list) snprintf(out->why, sizeof out->why, "the table of names has no \"%.60s\"", name);
    if (out->memory)
        snprintf(out->why, sizeof out->why, "no \"%.60s\" of the table of names has %.0f GiB, or such an instance",
                 name, memory_gib);
}
