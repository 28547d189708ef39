#include "suite/prices/fact.h"

#include "suite/prices/age.h"

#include <string.h>

static dit_status read_text(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                            const char **out)
{
    char at[256];
    *out = "";
    DIT_TRY(dit_json_optional_string(doc, object, pointer, key, out));
    if ((*out)[0] || !dit_json_member(object, key)) return DIT_OK;
    dit_json_pointer_join(at, sizeof at, pointer, key);
    return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "a text is needed");
}

dit_status suite_fact_evidence(const dit_json *doc, const cJSON *object, const char *pointer, suite_fact *out)
{
    const char *date;
    char at[256];
    DIT_TRY(read_text(doc, object, pointer, "source", &out->source));
    DIT_TRY(read_text(doc, object, pointer, "assumed", &out->assumed));
    DIT_TRY(read_text(doc, object, pointer, "doubt", &out->doubt));
    DIT_TRY(read_text(doc, object, pointer, "date", &date));
    out->day = 0;
    if (!out->source[0] && !out->assumed[0])
        return dit_error_hint(dit_json_fail(doc, pointer, DIT_ERR_JSON_MISSING, "required key \"source\" is absent"),
                              "say where it comes from, with its \"date\", or why it is \"assumed\"");
    if (out->source[0] && out->assumed[0])
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "what has a source is not assumed");
    if (out->assumed[0] && !date[0]) return DIT_OK;
    if (!date[0]) return dit_json_fail(doc, pointer, DIT_ERR_JSON_MISSING, "required key \"date\" is absent");
    if (suite_day_read(date, &out->day)) return DIT_OK;
    dit_json_pointer_join(at, sizeof at, pointer, "date");
    return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "\"%.40s\" is not a day such as 2026-08-28", date);
}

dit_status suite_fact_read(const dit_json *doc, const cJSON *parent, const char *above, const char *key, double least,
                           double most, suite_fact *out)
{
    static const char *const keys[] = {"value", "source", "date", "assumed", "doubt", NULL};
    const cJSON *object = NULL;
    char pointer[256];
    if (!dit_json_member(parent, key)) return DIT_OK;
    DIT_TRY(dit_json_require_object(doc, parent, above, key, &object));
    dit_json_pointer_join(pointer, sizeof pointer, above, key);
    DIT_TRY(dit_json_only_keys(doc, object, pointer, keys));
    DIT_TRY(dit_json_require_number(doc, object, pointer, "value", least, most, &out->value));
    return suite_fact_evidence(doc, object, pointer, out);
}

dit_status suite_fact_currency(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                               const char **out)
{
    char at[256];
    DIT_TRY(dit_json_require_string(doc, object, pointer, key, out));
    if (strlen(*out) == 3 && strspn(*out, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 3) return DIT_OK;
    dit_json_pointer_join(at, sizeof at, pointer, key);
    return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "a currency is three capital letters, such as USD");
}
