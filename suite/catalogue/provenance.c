#include "suite/catalogue/provenance.h"

#include "base/json.h"
#include "suite/catalogue/parameter.h"

#include <string.h>

static bool is_reason(const cJSON *item)
{
    return cJSON_IsString(item) && item->valuestring[0];
}

/* Every member of `kind` is the reason of a member that is there, or is not. */
static dit_status check_reasons(const dit_json *doc, const cJSON *object, const char *pointer, const char *kind,
                                bool there)
{
    const cJSON *reasons = NULL, *reason;
    char inside[256], at[512];
    DIT_TRY(dit_json_optional_object(doc, object, pointer, kind, &reasons));
    dit_json_pointer_join(inside, sizeof inside, pointer, kind);
    cJSON_ArrayForEach(reason, reasons)
    {
        dit_json_pointer_join(at, sizeof at, inside, reason->string);
        if (!is_reason(reason)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "expected a reason, a text");
        if ((dit_json_member(object, reason->string) != NULL) != there)
            return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "%s is %s, and yet %s", reason->string, kind,
                                 there ? "absent" : "stated");
    }
    return DIT_OK;
}

static dit_status check_facts(const dit_json *doc, const cJSON *object, const char *pointer, const char *const *facts)
{
    const cJSON *unknown = dit_json_member(object, "unknown");
    for (int i = 0; facts[i]; i++) {
        if (dit_json_member(object, facts[i]) || dit_json_member(unknown, facts[i])) continue;
        return dit_error_hint(dit_json_fail(doc, pointer, DIT_ERR_JSON_MISSING, "\"%s\" is required", facts[i]),
                              "state it, or say why not: \"unknown\": {\"%s\": \"no source found\"}", facts[i]);
    }
    return DIT_OK;
}

static dit_status check_keys(const dit_json *doc, const cJSON *object, const char *pointer, const char *const *keys)
{
    enum { MOST = 40 };
    const char *all[MOST + 3] = {"assumed", "unknown"};
    const cJSON *unknown = NULL;
    char inside[256];
    for (int i = 0; keys[i] && i < MOST; i++) all[i + 2] = keys[i];
    DIT_TRY(suite_only_keys(doc, object, pointer, all));
    DIT_TRY(dit_json_optional_object(doc, object, pointer, "unknown", &unknown));
    dit_json_pointer_join(inside, sizeof inside, pointer, "unknown");
    return unknown ? suite_only_keys(doc, unknown, inside, keys) : DIT_OK;
}

dit_status suite_evidence_check(const dit_json *doc, const cJSON *object, const char *pointer, const char *const *keys,
                                const char *const *facts)
{
    DIT_TRY(check_keys(doc, object, pointer, keys));
    DIT_TRY(check_facts(doc, object, pointer, facts));
    DIT_TRY(check_reasons(doc, object, pointer, "assumed", true));
    return check_reasons(doc, object, pointer, "unknown", false);
}

dit_status suite_evidence_sources(const dit_json *doc, const cJSON *object, const char *pointer)
{
    const cJSON *sources = dit_json_member(object, "source"), *source;
    char at[256];
    dit_json_pointer_join(at, sizeof at, pointer, "source");
    if (!sources) return dit_json_fail(doc, pointer, DIT_ERR_JSON_MISSING, "\"source\" is required");
    if (!cJSON_IsArray(sources) || !sources->child)
        return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "expected a list of at least one source");
    cJSON_ArrayForEach(source, sources)
    {
        if (!is_reason(source)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "a source is a text");
    }
    return DIT_OK;
}
