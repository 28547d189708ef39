#include "suite/prices/quote.h"

#include "base/words.h"
#include "suite/catalogue/provenance.h"

#include <stdio.h>
#include <string.h>

const char *const *suite_price_kind_names(void)
{
    static const char *const names[] = {
#define KIND_NAME(name, text) text,
        SUITE_PRICE_KIND_LIST(KIND_NAME)
#undef KIND_NAME
            NULL};
    return names;
}

static const double least_price = 1e-4, most_price = 1e6; /* an hour */

static dit_status read_day(const dit_json *doc, const cJSON *object, const char *pointer, const char *key, int64_t *out)
{
    const char *text;
    char at[256];
    DIT_TRY(dit_json_require_string(doc, object, pointer, key, &text));
    if (suite_day_read(text, out)) return DIT_OK;
    dit_json_pointer_join(at, sizeof at, pointer, key);
    return dit_error_hint(dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "\"%.40s\" is not a day of 1990 to 2199", text),
                          "write it as 2026-08-28");
}

dit_status suite_dating_read(const dit_json *doc, const cJSON *object, const char *pointer, bool *said,
                             suite_dating *out)
{
    bool day = dit_json_member(object, "date") != NULL;
    bool range = dit_json_member(object, "not_before") || dit_json_member(object, "not_after");
    *said = day || range;
    if (day && range) return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "\"date\" and a range exclude each other");
    if (day) DIT_TRY(read_day(doc, object, pointer, "date", &out->first));
    if (day) out->last = out->first;
    if (!range) return DIT_OK;
    DIT_TRY(read_day(doc, object, pointer, "not_before", &out->first));
    DIT_TRY(read_day(doc, object, pointer, "not_after", &out->last));
    if (out->first <= out->last) return DIT_OK;
    return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "\"not_after\" is earlier than \"not_before\"");
}

static dit_status check_text(const dit_json *doc, const char *pointer, const char *key, const char *text)
{
    char at[256];
    if (text[0]) return DIT_OK;
    dit_json_pointer_join(at, sizeof at, pointer, key);
    return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "a text is needed; leave the key out where nothing is known");
}

static dit_status read_texts(const dit_json *doc, const cJSON *row, const char *pointer, suite_price_quote *out)
{
    const struct {
        const char *key;
        bool required;
        const char **out;
    } texts[] = {{"provider", true, &out->provider},
                 {"instance", true, &out->instance},
                 {"accelerator", true, &out->accelerator},
                 {"region", true, &out->region},
                 {"source", true, &out->source},
                 {"listed_as", false, &out->listed_as},
                 {"zone", false, &out->zone},
                 {"platform", false, &out->platform},
                 {"includes", false, &out->includes},
                 {"doubt", false, &out->doubt},
                 {"note", false, &out->note}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *texts[i].out = "";
        if (!texts[i].required && !dit_json_member(row, texts[i].key)) continue;
        DIT_TRY(dit_json_require_string(doc, row, pointer, texts[i].key, texts[i].out));
        DIT_TRY(check_text(doc, pointer, texts[i].key, *texts[i].out));
    }
    return DIT_OK;
}

/* One word of a list; its place in the list. */
static dit_status read_word(const dit_json *doc, const cJSON *row, const char *pointer, const char *key,
                            const char *const *words, int *out)
{
    const char *word;
    char at[256];
    DIT_TRY(dit_json_require_string(doc, row, pointer, key, &word));
    *out = dit_words_find(words, word);
    dit_json_pointer_join(at, sizeof at, pointer, key);
    return *out >= 0 ? DIT_OK : dit_json_fail_word(doc, at, key, word, words);
}

static dit_status read_kind(const dit_json *doc, const cJSON *row, const char *pointer, suite_price_quote *out)
{
    static const char *const scopes[] = {"instance", "share", NULL};
    int kind = 0, scope = 0;
    int64_t count = 0;
    DIT_TRY(read_word(doc, row, pointer, "kind", suite_price_kind_names(), &kind));
    if (dit_json_member(row, "scope")) DIT_TRY(read_word(doc, row, pointer, "scope", scopes, &scope));
    DIT_TRY(dit_json_require_int(doc, row, pointer, "count", 1, SUITE_QUOTE_DEVICES, &count));
    out->kind = (suite_price_kind)kind;
    out->share = scope == 1;
    out->count = (int)count;
    if (!out->share || count == 1) return DIT_OK;
    return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "a share is the price of one device; \"count\" is %d",
                         out->count);
}

/* A price for a term says how much of it is paid ahead, or that nobody knows. */
static dit_status read_term(const dit_json *doc, const cJSON *row, const char *pointer, suite_price_quote *out)
{
    bool term = out->kind == SUITE_PRICE_COMMITTED_1Y || out->kind == SUITE_PRICE_COMMITTED_3Y ||
                out->kind == SUITE_PRICE_CONTRACT;
    out->paid_ahead = -1;
    DIT_TRY(dit_json_optional_number(doc, row, pointer, "paid_ahead", 0, 1, &out->paid_ahead));
    if (term) return DIT_OK; /* present or unknown: suite_evidence_check */
    if (out->paid_ahead < 0 && !dit_json_member(row, "unknown")) return DIT_OK;
    return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "a price of kind %s has no share that is paid ahead",
                         suite_price_kind_names()[out->kind]);
}

static dit_status check_keys(const dit_json *doc, const cJSON *row, const char *pointer)
{
    static const char *const keys[] = {"provider",   "instance",  "accelerator", "listed_as", "count",
                                       "region",     "zone",      "kind",        "price",     "date",
                                       "not_before", "not_after", "source",      "scope",     "includes",
                                       "paid_ahead", "platform",  "doubt",       "note",      NULL};
    static const char *const none[] = {NULL}, *const term[] = {"paid_ahead", NULL};
    const char *kind = dit_json_text_or(row, "kind", "");
    bool of_term = strncmp(kind, "committed", 9) == 0 || strcmp(kind, "contract") == 0;
    return suite_evidence_check(doc, row, pointer, keys, of_term ? term : none);
}

static dit_status read_when(const dit_json *doc, const cJSON *row, const char *pointer,
                            const suite_dating *(*sourced)(void *context, const char *name), void *context,
                            suite_price_quote *out)
{
    bool said;
    char at[256];
    const suite_dating *when = sourced(context, out->source);
    dit_json_pointer_join(at, sizeof at, pointer, "source");
    if (!when)
        return dit_error_hint(
            dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "\"%.60s\" is none of the file's sources", out->source),
            "describe it under \"sources\"");
    DIT_TRY(suite_dating_read(doc, row, pointer, &said, &out->when));
    if (!said) out->when = *when;
    return DIT_OK;
}

dit_status suite_price_quote_read(const dit_json *doc, const cJSON *row, const char *pointer,
                                  const suite_dating *(*sourced)(void *context, const char *name), void *context,
                                  suite_price_quote *out)
{
    *out = (suite_price_quote){.currency = ""};
    if (!cJSON_IsObject(row)) return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "a row is an object");
    DIT_TRY(read_texts(doc, row, pointer, out));
    DIT_TRY(read_kind(doc, row, pointer, out));
    DIT_TRY(check_keys(doc, row, pointer));
    DIT_TRY(dit_json_require_number(doc, row, pointer, "price", least_price, most_price, &out->price));
    DIT_TRY(read_term(doc, row, pointer, out));
    return read_when(doc, row, pointer, sourced, context, out);
}
