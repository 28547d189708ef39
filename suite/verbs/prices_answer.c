#include "suite/verbs/prices_answer.h"

#include "suite/console/table.h"
#include "suite/console/terminal.h"

#include <stdlib.h>
#include <string.h>

/* ---- quotes ------------------------------------------------------------------------------------------------------- */

static bool is_asked(const suite_price_answer *answer, const suite_price_quote *quote)
{
    if (!answer->named) return true;
    for (int i = 0; i < answer->machine_count; i++)
        if (strcmp(answer->machines[i].machine.accelerator, quote->accelerator) == 0) return true;
    return false;
}

static int compare_quotes(const void *left, const void *right)
{
    const suite_price_quote *a = *(const suite_price_quote *const *)left, *b = *(const suite_price_quote *const *)right;
    int order = strcmp(a->accelerator, b->accelerator);
    if (order) return order;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    if (a->price != b->price) return a->price < b->price ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* The quotes that are asked for, in the order of tables. The caller frees the list. */
static const suite_price_quote **sorted_quotes(const suite_price_answer *answer, int *count)
{
    const suite_price_book *book = answer->book;
    const suite_price_quote **list = calloc((size_t)book->quote_count + 1, sizeof *list);
    *count = 0;
    for (int i = 0; list && i < book->quote_count; i++)
        if (is_asked(answer, &book->quotes[i])) list[(*count)++] = &book->quotes[i];
    if (*count > 1) qsort(list, (size_t)*count, sizeof *list, compare_quotes);
    return list;
}

static void write_days(const suite_dating *when, char out[32])
{
    char first[SUITE_DAY_TEXT], last[SUITE_DAY_TEXT];
    suite_day_write(when->first, first);
    suite_day_write(when->last, last);
    snprintf(out, 32, "%s%s%s", first, when->first == when->last ? "" : "..", when->first == when->last ? "" : last);
}

static dit_status add_quote(suite_table *table, const suite_price_answer *answer, const suite_price_quote *quote)
{
    const suite_price_book *book = answer->book;
    char count[16], price[32], days[32], age[32], offer[128];
    int64_t old;
    suite_age_class class = suite_age_of(&quote->when, answer->terms.day, quote->kind == SUITE_PRICE_SPOT, &old);
    bool superseded = suite_price_is_superseded(book, (int)(quote - book->quotes), answer->terms.day);
    snprintf(count, sizeof count, quote->share ? "share" : "%d", quote->count);
    snprintf(price, sizeof price, "%.4g %s", quote->price, quote->currency);
    write_days(&quote->when, days);
    snprintf(age, sizeof age, "%s%s", suite_age_name(class), superseded ? ", newer one" : "");
    snprintf(offer, sizeof offer, "%.40s %.60s", quote->provider, quote->instance);
    const char *cells[] = {
        quote->accelerator, count, suite_price_kind_names()[quote->kind], price, days, age, quote->region, offer,
        quote->doubt};
    return suite_table_add_cells(table, cells, (int)(sizeof cells / sizeof *cells));
}

static dit_status print_quotes(const suite_price_answer *answer, FILE *out, int width)
{
    static const suite_column columns[] = {
        {"accelerator", "accelerator", true, 0}, {"count", "devices", false, 0}, {"kind", "kind", true, 0},
        {"price", "an hour", false, 0},          {"days", "date", true, 0},      {"age", "age", true, 0},
        {"region", "region", true, 2},           {"offer", "offer", true, 1},    {"doubt", "doubt", true, 0}};
    suite_table table = {.columns = columns, .column_count = (int)(sizeof columns / sizeof *columns)};
    int count;
    const suite_price_quote **quotes = sorted_quotes(answer, &count);
    dit_status st = quotes ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a table of quotes");
    for (int i = 0; st == DIT_OK && i < count; i++) st = add_quote(&table, answer, quotes[i]);
    if (st == DIT_OK && count > 0) suite_table_print(&table, out, width);
    suite_table_release(&table);
    free(quotes);
    return st;
}

/* ---- machines ------------------------------------------------------------------------------------------------------ */

/* Calls `take` for the price that the terms ask for, and with `regions` for each kind and each region that has one. */
typedef struct {
    dit_status (*take)(void *context, const suite_priced_machine *machine, const suite_price_terms *terms,
                       const suite_price *price);
    void *context;
    bool regions;
} price_walk;

static dit_status walk_one(const suite_price_answer *answer, const suite_priced_machine *one,
                           const suite_price_terms *terms, const price_walk *walk, bool absent_too)
{
    suite_price price;
    DIT_TRY(suite_price_of(answer->book, &one->machine, one->devices, terms, &price));
    dit_status st = DIT_OK;
    if (absent_too || price.absence == SUITE_PRICE_THERE) st = walk->take(walk->context, one, terms, &price);
    suite_price_release(&price);
    return st;
}

static bool is_first_of_region(const suite_price_book *book, int index, const char *accelerator, suite_price_kind kind)
{
    for (int i = 0; i <= index; i++) {
        const suite_price_quote *quote = &book->quotes[i];
        if (quote->kind != kind || strcmp(quote->accelerator, accelerator) != 0) continue;
        if (strcmp(quote->region, book->quotes[index].region) == 0) return i == index;
    }
    return false;
}

static dit_status walk_regions(const suite_price_answer *answer, const suite_priced_machine *one,
                               const price_walk *walk)
{
    suite_price_terms terms = answer->terms;
    terms.old_prices = true; /* a table shows what a rank would not use, with its age */
    for (int kind = 0; kind < SUITE_PRICE_KIND_COUNT; kind++) {
        terms.kind = (suite_price_kind)kind;
        for (int i = 0; i < answer->book->quote_count; i++) {
            if (!is_first_of_region(answer->book, i, one->machine.accelerator, terms.kind)) continue;
            terms.region = answer->book->quotes[i].region;
            DIT_TRY(walk_one(answer, one, &terms, walk, false));
        }
    }
    return DIT_OK;
}

static dit_status walk_machine(const suite_price_answer *answer, int index, const price_walk *walk)
{
    const suite_priced_machine *one = &answer->machines[index];
    DIT_TRY(walk_one(answer, one, &answer->terms, walk, true));
    return walk->regions ? walk_regions(answer, one, walk) : DIT_OK;
}

/* Which links join the devices matters, and many quotes do not say it. */
static const char *remark_of(const suite_price *price)
{
    for (int i = 0; i < price->use_count; i++)
        if (price->uses[i].links_unnamed) return "links not named";
    return price->reason;
}

static dit_status add_price(void *context, const suite_priced_machine *machine, const suite_price_terms *terms,
                            const suite_price *price)
{
    char devices[16], numbers[3][32] = {"", "", ""}, quotes[16] = "", days[32] = "", age[40] = "";
    const double values[] = {price->least, price->median, price->most};
    bool there = price->absence == SUITE_PRICE_THERE;
    const suite_dating when = {price->oldest, price->newest};
    snprintf(devices, sizeof devices, "%d", price->devices);
    for (int i = 0; there && i < 3; i++) snprintf(numbers[i], sizeof numbers[i], "%.4g", values[i]);
    if (there) snprintf(quotes, sizeof quotes, "%d", price->use_count);
    if (there) write_days(&when, days);
    if (there) snprintf(age, sizeof age, "%s%s", suite_age_name(price->age), price->derived ? ", derived" : "");
    const char *cells[] = {machine->machine.name,
                           devices,
                           suite_price_kind_names()[terms->kind],
                           terms->region ? terms->region : "all",
                           numbers[0],
                           numbers[1],
                           numbers[2],
                           quotes,
                           days,
                           age,
                           remark_of(price)};
    return suite_table_add_cells(context, cells, (int)(sizeof cells / sizeof *cells));
}

static dit_status print_machines(const suite_price_answer *answer, FILE *out, int width)
{
    static const suite_column columns[] = {
        {"platform", "machine", true, 0}, {"devices", "devices", false, 0}, {"kind", "kind", true, 0},
        {"region", "region", true, 0},    {"least", "least/h", false, 0},   {"median", "median/h", false, 0},
        {"most", "most/h", false, 0},     {"quotes", "quotes", false, 2},   {"days", "dates", true, 0},
        {"age", "age", true, 0},          {"reason", "", true, 0}};
    suite_table table = {.columns = columns, .column_count = (int)(sizeof columns / sizeof *columns)};
    const price_walk walk = {add_price, &table, answer->named};
    dit_status st = DIT_OK;
    for (int i = 0; st == DIT_OK && i < answer->machine_count; i++) st = walk_machine(answer, i, &walk);
    if (st == DIT_OK) fprintf(out, "\nMachines, prices in %s:\n", answer->terms.currency);
    if (st == DIT_OK) suite_table_print(&table, out, width);
    suite_table_release(&table);
    return st;
}

/* ---- what is missing, and where it comes from ----------------------------------------------------------------------- */

static bool is_quoted(const suite_price_book *book, const char *accelerator)
{
    for (int i = 0; i < book->quote_count; i++)
        if (strcmp(book->quotes[i].accelerator, accelerator) == 0) return true;
    return false;
}

/* Contracts for years and costs of owners are no rents. */
static bool is_rented(const suite_price_book *book, const char *accelerator)
{
    for (int i = 0; i < book->quote_count; i++) {
        suite_price_kind kind = book->quotes[i].kind;
        if (kind != SUITE_PRICE_CONTRACT && kind != SUITE_PRICE_OWN &&
            strcmp(book->quotes[i].accelerator, accelerator) == 0)
            return true;
    }
    return false;
}

static bool is_for_sale(const char *accelerator)
{
    return strcmp(accelerator, "cpu-core") != 0;
}

static void print_missing(const suite_price_answer *answer, FILE *out)
{
    const struct {
        const char *title;
        bool (*has)(const suite_price_book *book, const char *accelerator);
    } lists[] = {{"Nobody quotes", is_quoted}, {"No rent for", is_rented}};
    for (int i = 0; i < 2; i++) {
        int count = 0;
        for (char **name = answer->accelerators; name && *name; name++) {
            if (!is_for_sale(*name) || lists[i].has(answer->book, *name)) continue;
            if (i == 1 && !is_quoted(answer->book, *name)) continue;
            fprintf(out, "%s%s%s", count ? ", " : lists[i].title, count ? "" : ": ", *name);
            count++;
        }
        if (count) fprintf(out, "\n");
    }
}

static void print_files(const suite_price_answer *answer, FILE *out)
{
    char today[SUITE_DAY_TEXT];
    suite_day_write(answer->terms.day, today);
    fprintf(out, "\nAges on %s. Price files:\n", today);
    for (int i = 0; i < answer->book->file_count; i++) {
        const suite_price_file *file = &answer->book->files[i];
        char days[32] = "no quote";
        const suite_dating when = {file->oldest, file->newest};
        if (file->quotes) write_days(&when, days);
        fprintf(out, "  %s: %d quote%s, %s, %d refused, %s\n", file->name, file->quotes, suite_plural(file->quotes),
                days, file->refused, file->path);
    }
}

static void print_rates(const suite_price_answer *answer, FILE *out)
{
    for (int i = 0; i < answer->book->rate_count; i++) {
        const suite_currency_rate *rate = &answer->book->rates[i];
        char day[SUITE_DAY_TEXT];
        suite_day_write(rate->when.first, day);
        fprintf(out, "  1 %s = %.6g %s on %s (%s)\n", rate->from, rate->rate, rate->to, day, rate->source);
    }
}

dit_status suite_price_answer_print(const suite_price_answer *answer, FILE *out, int width)
{
    DIT_TRY(print_quotes(answer, out, width));
    DIT_TRY(print_machines(answer, out, width));
    if (!answer->named) print_missing(answer, out);
    print_files(answer, out);
    print_rates(answer, out);
    return DIT_OK;
}

int suite_price_answer_check(const suite_price_answer *answer, int *old)
{
    int count = 0;
    for (int i = 0; i < answer->machine_count; i++) {
        const suite_priced_machine *one = &answer->machines[i];
        suite_price price;
        if (suite_price_of(answer->book, &one->machine, one->devices, &answer->terms, &price) != DIT_OK) return -1;
        bool rests = price.absence == SUITE_PRICE_OLD || (price.use_count > 0 && price.age == SUITE_AGE_OLD);
        if (rests) old[count++] = i;
        suite_price_release(&price);
    }
    return count;
}

/* ---- the document --------------------------------------------------------------------------------------------------- */

static void put_day(dit_json_writer *w, cJSON *parent, const char *key, int64_t day)
{
    char text[SUITE_DAY_TEXT];
    suite_day_write(day, text);
    dit_json_put_string(w, parent, key, text);
}

static void put_text(dit_json_writer *w, cJSON *parent, const char *key, const char *text)
{
    if (text[0]) dit_json_put_string(w, parent, key, text);
}

static void put_dating(dit_json_writer *w, cJSON *row, const suite_dating *when)
{
    if (when->first == when->last) {
        put_day(w, row, "date", when->first);
        return;
    }
    put_day(w, row, "not_before", when->first);
    put_day(w, row, "not_after", when->last);
}

static void put_quote(dit_json_writer *w, cJSON *list, const suite_price_answer *answer, int index)
{
    const suite_price_quote *quote = &answer->book->quotes[index];
    const suite_price_file *file = &answer->book->files[answer->book->quote_file[index]];
    cJSON *row = dit_json_put_object(w, list, NULL);
    int64_t days;
    suite_age_class age = suite_age_of(&quote->when, answer->terms.day, quote->kind == SUITE_PRICE_SPOT, &days);
    dit_json_put_int(w, row, "quote", index);
    dit_json_put_string(w, row, "file", file->name);
    dit_json_put_string(w, row, "source", quote->source);
    dit_json_put_string(w, row, "provider", quote->provider);
    dit_json_put_string(w, row, "instance", quote->instance);
    dit_json_put_string(w, row, "accelerator", quote->accelerator);
    put_text(w, row, "platform", quote->platform);
    dit_json_put_int(w, row, "count", quote->count);
    dit_json_put_string(w, row, "scope", quote->share ? "share" : "instance");
    dit_json_put_string(w, row, "region", quote->region);
    put_text(w, row, "zone", quote->zone);
    dit_json_put_string(w, row, "kind", suite_price_kind_names()[quote->kind]);
    dit_json_put_number(w, row, "price", quote->price);
    dit_json_put_string(w, row, "currency", quote->currency);
    put_dating(w, row, &quote->when);
    dit_json_put_string(w, row, "age", suite_age_name(age));
    dit_json_put_int(w, row, "age_days", days);
    dit_json_put_bool(w, row, "superseded", suite_price_is_superseded(answer->book, index, answer->terms.day));
    put_text(w, row, "doubt", quote->doubt);
    put_text(w, row, "note", quote->note);
}

typedef struct {
    dit_json_writer *w;
    cJSON *prices;
} put_walk;

static dit_status put_price(void *context, const suite_priced_machine *machine, const suite_price_terms *terms,
                            const suite_price *price)
{
    put_walk *put = context;
    (void)machine;
    cJSON *row = dit_json_put_object(put->w, put->prices, NULL);
    dit_json_put_string(put->w, row, "kind", suite_price_kind_names()[terms->kind]);
    if (terms->region) dit_json_put_string(put->w, row, "region", terms->region);
    dit_json_put_string(put->w, row, "currency", price->currency);
    if (price->absence != SUITE_PRICE_THERE) {
        cJSON *absent = dit_json_put_object(put->w, row, "absent");
        dit_json_put_string(put->w, absent, "code", suite_price_absence_name(price->absence));
        dit_json_put_string(put->w, absent, "reason", price->reason);
        return put->w->status;
    }
    dit_json_put_number(put->w, row, "least", price->least);
    dit_json_put_number(put->w, row, "median", price->median);
    dit_json_put_number(put->w, row, "most", price->most);
    dit_json_put_string(put->w, row, "age", suite_age_name(price->age));
    put_day(put->w, row, "oldest", price->oldest);
    put_day(put->w, row, "newest", price->newest);
    dit_json_put_bool(put->w, row, "derived", price->derived);
    cJSON *uses = dit_json_put_array(put->w, row, "quotes");
    for (int i = 0; i < price->use_count; i++) {
        cJSON *use = dit_json_put_object(put->w, uses, NULL);
        dit_json_put_int(put->w, use, "quote", price->uses[i].quote);
        dit_json_put_number(put->w, use, "per_hour", price->uses[i].per_hour);
        if (price->uses[i].instances) dit_json_put_int(put->w, use, "instances", price->uses[i].instances);
        if (price->uses[i].links_unnamed) dit_json_put_bool(put->w, use, "links_unnamed", true);
        if (price->uses[i].rate >= 0) dit_json_put_int(put->w, use, "rate", price->uses[i].rate);
    }
    return put->w->status;
}

static void put_files(dit_json_writer *w, cJSON *document, const suite_price_book *book)
{
    cJSON *files = dit_json_put_array(w, document, "files");
    for (int i = 0; i < book->file_count; i++) {
        const suite_price_file *file = &book->files[i];
        cJSON *row = dit_json_put_object(w, files, NULL);
        dit_json_put_string(w, row, "name", file->name);
        dit_json_put_string(w, row, "path", file->path);
        dit_json_put_string(w, row, "hash", file->sha);
        dit_json_put_string(w, row, "currency", file->currency);
        dit_json_put_int(w, row, "quotes", file->quotes);
        dit_json_put_int(w, row, "refused", file->refused);
        if (file->quotes) put_day(w, row, "oldest", file->oldest);
        if (file->quotes) put_day(w, row, "newest", file->newest);
    }
}

static void put_rates(dit_json_writer *w, cJSON *document, const suite_price_book *book)
{
    cJSON *rates = dit_json_put_array(w, document, "rates");
    for (int i = 0; i < book->rate_count; i++) {
        cJSON *row = dit_json_put_object(w, rates, NULL);
        dit_json_put_string(w, row, "from", book->rates[i].from);
        dit_json_put_string(w, row, "to", book->rates[i].to);
        dit_json_put_number(w, row, "rate", book->rates[i].rate);
        put_dating(w, row, &book->rates[i].when);
        dit_json_put_string(w, row, "source", book->rates[i].source);
    }
}

void suite_price_answer_put(dit_json_writer *w, cJSON *document, const suite_price_answer *answer)
{
    put_day(w, document, "date", answer->terms.day);
    dit_json_put_string(w, document, "kind", suite_price_kind_names()[answer->terms.kind]);
    dit_json_put_string(w, document, "currency", answer->terms.currency);
    put_files(w, document, answer->book);
    put_rates(w, document, answer->book);
    cJSON *quotes = dit_json_put_array(w, document, "quotes");
    for (int i = 0; i < answer->book->quote_count; i++)
        if (is_asked(answer, &answer->book->quotes[i])) put_quote(w, quotes, answer, i);
    cJSON *machines = dit_json_put_array(w, document, "machines");
    for (int i = 0; i < answer->machine_count; i++) {
        const suite_priced_machine *one = &answer->machines[i];
        cJSON *row = dit_json_put_object(w, machines, NULL);
        dit_json_put_string(w, row, "platform", one->machine.name);
        dit_json_put_string(w, row, "accelerator", one->machine.accelerator);
        dit_json_put_int(w, row, "devices", one->devices);
        put_walk put = {w, dit_json_put_array(w, row, "prices")};
        const price_walk walk = {put_price, &put, answer->named};
        dit_json_put_status(w, walk_machine(answer, i, &walk));
    }
    cJSON *without = dit_json_put_array(w, document, "accelerators_without_quote");
    for (char **name = answer->accelerators; name && *name; name++)
        if (is_for_sale(*name) && !is_quoted(answer->book, *name)) dit_json_put_string(w, without, NULL, *name);
}
