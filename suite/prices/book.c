#include "suite/prices/book.h"

#include "base/file.h"
#include "base/list.h"
#include "base/words.h"
#include "suite/catalogue/catalogue.h"
#include "suite/prices/fact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 16 << 20, MOST_SERVER = SUITE_QUOTE_DEVICES };
static const double most_money = 1e9; /* of one accelerator */

/* ---- what is read: a file, and the book that it is added to -------------------------------------------------------- */

typedef struct {
    const dit_json *doc;
    suite_price_book *book;
    const char *const *accelerators, *const *platforms;
    const cJSON *sources;
    suite_dating *dates; /* of each source, in their order */
    const char *currency;
} reader;

static dit_status check_name(const reader *in, const char *pointer, const char *key, const char *what, const char *name,
                             const char *const *names)
{
    char at[256];
    if (!names || dit_words_find(names, name) >= 0) return DIT_OK;
    dit_json_pointer_join(at, sizeof at, pointer, key);
    return dit_words_hint(dit_json_fail(in->doc, at, DIT_ERR_JSON_VALUE, "there is no %s \"%.60s\"", what, name), name,
                          names);
}

static dit_status read_text(const reader *in, const cJSON *row, const char *pointer, const char *key, bool required,
                            const char **out)
{
    *out = "";
    if (!required && !dit_json_member(row, key)) return DIT_OK;
    DIT_TRY(dit_json_require_string(in->doc, row, pointer, key, out));
    if ((*out)[0]) return DIT_OK;
    return dit_json_fail(in->doc, pointer, DIT_ERR_JSON_VALUE, "\"%s\" is empty", key);
}

/* ---- sources ----------------------------------------------------------------------------------------------------- */

/* A place that others can read: a repository, a path, and a commit unless it is a thread. Or a quote that the buyer
 * got: the file that holds it. */
static dit_status check_source(const reader *in, const cJSON *source, const char *pointer, suite_dating *when)
{
    static const char *const keys[] = {"repository", "path",      "commit", "file", "date",
                                       "not_before", "not_after", "why",    "read", NULL};
    bool said;
    const char *text, *path;
    if (!cJSON_IsObject(source)) return dit_json_fail(in->doc, pointer, DIT_ERR_JSON_TYPE, "a source is an object");
    DIT_TRY(dit_json_only_keys(in->doc, source, pointer, keys));
    DIT_TRY(suite_dating_read(in->doc, source, pointer, &said, when));
    if (!said)
        return dit_error_hint(dit_json_fail(in->doc, pointer, DIT_ERR_JSON_MISSING, "key \"date\" is required"),
                              "where the day is unknown, give \"not_before\" and \"not_after\", and \"why\"");
    DIT_TRY(read_text(in, source, pointer, "why", when->first != when->last, &text));
    DIT_TRY(read_text(in, source, pointer, "read", false, &text));
    if (dit_json_member(source, "file")) return read_text(in, source, pointer, "file", true, &text);
    DIT_TRY(read_text(in, source, pointer, "repository", true, &text));
    DIT_TRY(read_text(in, source, pointer, "path", true, &path));
    bool thread = strncmp(path, "pull request ", 13) == 0 || strncmp(path, "issue ", 6) == 0;
    return read_text(in, source, pointer, "commit", !thread, &text);
}

static dit_status read_sources(reader *in)
{
    char pointer[256];
    int count = 0;
    DIT_TRY(dit_json_require_object(in->doc, in->doc->root, "", "sources", &in->sources));
    in->dates = calloc((size_t)cJSON_GetArraySize(in->sources) + 1, sizeof *in->dates);
    if (!in->dates) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a price file");
    for (const cJSON *source = in->sources->child; source; source = source->next) {
        dit_json_pointer_join(pointer, sizeof pointer, "/sources", source->string);
        DIT_TRY(check_source(in, source, pointer, &in->dates[count++]));
    }
    return DIT_OK;
}

static const suite_dating *find_source(void *context, const char *name)
{
    const reader *in = context;
    int index = 0;
    for (const cJSON *source = in->sources->child; source; source = source->next, index++)
        if (strcmp(source->string, name) == 0) return &in->dates[index];
    return NULL;
}

/* The days of a row that is no quote: its own, or those of the source that it names. */
static dit_status read_when(reader *in, const cJSON *row, const char *pointer, const char **source, suite_dating *out)
{
    bool said;
    char at[256];
    DIT_TRY(read_text(in, row, pointer, "source", true, source));
    const suite_dating *when = find_source(in, *source);
    dit_json_pointer_join(at, sizeof at, pointer, "source");
    if (!when)
        return dit_json_fail(in->doc, at, DIT_ERR_JSON_VALUE, "\"%.60s\" is none of the file's sources", *source);
    DIT_TRY(suite_dating_read(in->doc, row, pointer, &said, out));
    if (!said) *out = *when;
    return DIT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static dit_status read_quote(reader *in, const cJSON *row, const char *pointer)
{
    suite_price_book *book = in->book;
    DIT_TRY(dit_list_grow((void **)&book->quotes, book->quote_count, sizeof *book->quotes));
    DIT_TRY(dit_list_grow((void **)&book->quote_file, book->quote_count, sizeof *book->quote_file));
    suite_price_quote *quote = &book->quotes[book->quote_count];
    DIT_TRY(suite_price_quote_read(in->doc, row, pointer, find_source, in, quote));
    DIT_TRY(check_name(in, pointer, "accelerator", "accelerator", quote->accelerator, in->accelerators));
    if (quote->platform[0]) DIT_TRY(check_name(in, pointer, "platform", "platform", quote->platform, in->platforms));
    quote->currency = in->currency;
    book->quote_file[book->quote_count++] = book->file_count;
    return DIT_OK;
}

static dit_status read_purchase_price(reader *in, const cJSON *row, const char *pointer, suite_purchase *out)
{
    if (dit_json_member(row, "price")) {
        if (dit_json_member(row, "low") || dit_json_member(row, "high"))
            return dit_json_fail(in->doc, pointer, DIT_ERR_JSON_VALUE, "a price, or \"low\" and \"high\", not both");
        DIT_TRY(dit_json_require_number(in->doc, row, pointer, "price", 1, most_money, &out->mid));
        out->low = out->high = out->mid;
        return DIT_OK;
    }
    if (!dit_json_member(row, "low"))
        return dit_json_fail(in->doc, pointer, DIT_ERR_JSON_MISSING,
                             "key \"price\" is required, or \"low\" and \"high\"");
    DIT_TRY(dit_json_require_number(in->doc, row, pointer, "low", 1, most_money, &out->low));
    DIT_TRY(dit_json_require_number(in->doc, row, pointer, "high", out->low, most_money, &out->high));
    out->mid = (out->low + out->high) / 2;
    return DIT_OK;
}

static dit_status read_purchase(reader *in, const cJSON *row, const char *pointer)
{
    static const char *const keys[] = {"accelerator", "listed_as",  "buys",      "count",  "price", "low",  "high",
                                       "date",        "not_before", "not_after", "source", "doubt", "note", NULL};
    static const char *const bought[] = {"accelerator", "server", NULL};
    suite_price_book *book = in->book;
    const char *buys;
    int64_t count = 1;
    DIT_TRY(dit_list_grow((void **)&book->purchases, book->purchase_count, sizeof *book->purchases));
    suite_purchase *out = &book->purchases[book->purchase_count];
    *out = (suite_purchase){.currency = in->currency, .file = book->file_count};
    if (!cJSON_IsObject(row)) return dit_json_fail(in->doc, pointer, DIT_ERR_JSON_TYPE, "a row is an object");
    DIT_TRY(dit_json_only_keys(in->doc, row, pointer, keys));
    DIT_TRY(read_text(in, row, pointer, "accelerator", true, &out->accelerator));
    DIT_TRY(check_name(in, pointer, "accelerator", "accelerator", out->accelerator, in->accelerators));
    DIT_TRY(read_text(in, row, pointer, "listed_as", false, &out->listed_as));
    DIT_TRY(read_text(in, row, pointer, "doubt", false, &out->doubt));
    DIT_TRY(read_text(in, row, pointer, "note", false, &out->note));
    DIT_TRY(read_text(in, row, pointer, "buys", true, &buys));
    if (dit_words_find(bought, buys) < 0) return dit_json_fail_word(in->doc, pointer, "buys", buys, bought);
    out->server = strcmp(buys, "server") == 0;
    if (out->server) DIT_TRY(dit_json_require_int(in->doc, row, pointer, "count", 1, MOST_SERVER, &count));
    out->count = (int)count;
    DIT_TRY(read_purchase_price(in, row, pointer, out));
    DIT_TRY(read_when(in, row, pointer, &out->source, &out->when));
    book->purchase_count++;
    return DIT_OK;
}

static dit_status read_rate(reader *in, const cJSON *row, const char *pointer)
{
    static const char *const keys[] = {"from", "to", "rate", "date", "source", NULL};
    suite_price_book *book = in->book;
    DIT_TRY(dit_list_grow((void **)&book->rates, book->rate_count, sizeof *book->rates));
    suite_currency_rate *out = &book->rates[book->rate_count];
    if (!cJSON_IsObject(row)) return dit_json_fail(in->doc, pointer, DIT_ERR_JSON_TYPE, "a row is an object");
    DIT_TRY(dit_json_only_keys(in->doc, row, pointer, keys));
    DIT_TRY(suite_fact_currency(in->doc, row, pointer, "from", &out->from));
    DIT_TRY(suite_fact_currency(in->doc, row, pointer, "to", &out->to));
    DIT_TRY(dit_json_require_number(in->doc, row, pointer, "rate", 1e-6, 1e6, &out->rate));
    if (!dit_json_member(row, "date"))
        return dit_json_fail(in->doc, pointer, DIT_ERR_JSON_MISSING, "key \"date\" is required: a rate is of a day");
    DIT_TRY(read_when(in, row, pointer, &out->source, &out->when));
    book->rate_count++;
    return DIT_OK;
}

/* What was collected and left out. Nothing is computed from it. */
static dit_status read_refused(reader *in, const cJSON *row, const char *pointer)
{
    static const char *const keys[] = {"source", "what", "why", NULL};
    const char *text;
    if (!cJSON_IsObject(row)) return dit_json_fail(in->doc, pointer, DIT_ERR_JSON_TYPE, "a row is an object");
    DIT_TRY(dit_json_only_keys(in->doc, row, pointer, keys));
    for (int i = 0; keys[i]; i++) DIT_TRY(read_text(in, row, pointer, keys[i], true, &text));
    in->book->files[in->book->file_count].refused++;
    return DIT_OK;
}

static dit_status read_rows(reader *in, const char *key, dit_status (*read)(reader *, const cJSON *, const char *))
{
    const cJSON *rows = NULL;
    char pointer[64];
    int index = 0;
    DIT_TRY(dit_json_optional_array(in->doc, in->doc->root, "", key, &rows));
    for (const cJSON *row = rows ? rows->child : NULL; row; row = row->next) {
        snprintf(pointer, sizeof pointer, "/%s/%d", key, index++);
        DIT_TRY(read(in, row, pointer));
    }
    return DIT_OK;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void note_days(suite_price_book *book, int first)
{
    suite_price_file *file = &book->files[book->file_count];
    file->quotes = book->quote_count - first;
    for (int i = first; i < book->quote_count; i++) {
        int64_t day = book->quotes[i].when.first;
        if (i == first || day < file->oldest) file->oldest = day;
        if (i == first || day > file->newest) file->newest = day;
    }
}

static dit_status read_file(reader *in)
{
    static const char *const keys[] = {"schema", "name",      "title", "currency", "per", "sources",
                                       "quotes", "purchases", "rates", "refused",  NULL};
    const dit_json *doc = in->doc;
    const char *per, *title;
    suite_price_file *file = &in->book->files[in->book->file_count];
    int first = in->book->quote_count;
    if (!cJSON_IsObject(doc->root)) return dit_json_fail(doc, "", DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_require_schema(doc, "ditbench.price_book/1"));
    DIT_TRY(read_text(in, doc->root, "", "name", true, &file->name));
    DIT_TRY(read_text(in, doc->root, "", "title", false, &title));
    DIT_TRY(suite_fact_currency(in->doc, doc->root, "", "currency", &in->currency));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "per", &per));
    if (strcmp(per, "hour") != 0) return dit_json_fail(doc, "/per", DIT_ERR_JSON_VALUE, "prices are per \"hour\"");
    file->currency = in->currency;
    DIT_TRY(read_sources(in));
    DIT_TRY(read_rows(in, "quotes", read_quote));
    DIT_TRY(read_rows(in, "purchases", read_purchase));
    DIT_TRY(read_rows(in, "rates", read_rate));
    DIT_TRY(read_rows(in, "refused", read_refused));
    note_days(in->book, first);
    return DIT_OK;
}

dit_status suite_price_book_parse(suite_price_book *book, const char *text, size_t length, const char *path,
                                  const char *const *accelerators, const char *const *platforms)
{
    const suite_price_book before = *book;
    DIT_TRY(dit_list_grow((void **)&book->documents, book->file_count, sizeof *book->documents));
    DIT_TRY(dit_list_grow((void **)&book->files, book->file_count, sizeof *book->files));
    dit_json *doc = &book->documents[book->file_count];
    suite_price_file *file = &book->files[book->file_count];
    *file = (suite_price_file){.path = strdup(path)};
    if (!file->path) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a price file");
    reader in = {.doc = doc, .book = book, .accelerators = accelerators, .platforms = platforms};
    dit_status st = dit_json_parse(text, length, path, doc);
    if (st == DIT_OK) {
        dit_hash(text, length, file->sha);
        st = read_file(&in);
        if (st != DIT_OK) dit_json_release(doc);
    }
    free(in.dates);
    if (st == DIT_OK) {
        book->file_count++;
        return DIT_OK;
    }
    free(file->path);
    book->quote_count = before.quote_count;
    book->purchase_count = before.purchase_count;
    book->rate_count = before.rate_count;
    return st;
}

static dit_status read_named(suite_price_book *book, const char *path, const char *const *accelerators,
                             const char *const *platforms)
{
    char *text = NULL;
    size_t length = 0;
    DIT_TRY(dit_file_read(path, MOST_BYTES, &text, &length));
    dit_status st = suite_price_book_parse(book, text, length, path, accelerators, platforms);
    free(text);
    return st;
}

/* Reads one file, or with `path` NULL those of workloads/prices. */
static dit_status read_known(suite_price_book *book, const char *path)
{
    char **accelerators = NULL, **platforms = NULL, **names = NULL, at[SUITE_PATH];
    dit_status st = suite_catalogue_names("accelerators", &accelerators);
    if (st == DIT_OK) st = suite_catalogue_names("platforms", &platforms);
    if (st == DIT_OK && path)
        st = read_named(book, path, (const char *const *)accelerators, (const char *const *)platforms);
    if (st == DIT_OK && !path) st = suite_catalogue_names("prices", &names);
    for (char **name = names; st == DIT_OK && name && *name; name++) {
        st = suite_path(at, "%s/prices/%s.json", suite_workloads_folder(), *name);
        if (st == DIT_OK) st = read_named(book, at, (const char *const *)accelerators, (const char *const *)platforms);
    }
    suite_names_free(accelerators);
    suite_names_free(platforms);
    suite_names_free(names);
    return st;
}

dit_status suite_price_book_read(suite_price_book *book, const char *path)
{
    return read_known(book, path);
}

dit_status suite_price_book_load(suite_price_book *book)
{
    return read_known(book, NULL);
}

void suite_price_book_release(suite_price_book *book)
{
    for (int i = 0; i < book->file_count; i++) {
        dit_json_release(&book->documents[i]);
        free(book->files[i].path);
    }
    free(book->documents);
    free(book->files);
    free(book->quotes);
    free(book->quote_file);
    free(book->purchases);
    free(book->rates);
    *book = (suite_price_book){0};
}

/* ---- currencies -------------------------------------------------------------------------------------------------- */

double suite_currency_factor(const suite_price_book *book, const char *from, const char *to, int64_t day, int *used)
{
    double factor = 0;
    *used = -1;
    if (strcmp(from, to) == 0) return 1;
    for (int i = 0; i < book->rate_count; i++) {
        const suite_currency_rate *rate = &book->rates[i];
        bool along = strcmp(rate->from, from) == 0 && strcmp(rate->to, to) == 0;
        bool against = strcmp(rate->from, to) == 0 && strcmp(rate->to, from) == 0;
        if ((!along && !against) || rate->when.first > day) continue;
        if (*used >= 0 && rate->when.first <= book->rates[*used].when.first) continue;
        factor = along ? rate->rate : 1 / rate->rate;
        *used = i;
    }
    return factor;
}
