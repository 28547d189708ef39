#include "suite/prices/skypilot.h"

#include "base/list.h"
#include "suite/prices/csv.h"
#include "suite/prices/skypilot_names.h"
#include "suite/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 20000 };                /* with accelerators: they are compared with each other  */
static const double most_per_device = 100; /* an hour: nothing that computes costs as much         */
static const double tolerance = 0.1;       /* between prices a device of instances of other sizes  */

const char *suite_skypilot_refusal_name(suite_skypilot_refusal why)
{
    static const char *const names[] = {
#define REFUSAL_NAME(name, text, stays) text,
        SUITE_SKYPILOT_REFUSAL_LIST(REFUSAL_NAME)
#undef REFUSAL_NAME
    };
    return why < SUITE_SKYPILOT_REFUSAL_COUNT ? names[why] : "";
}

bool suite_skypilot_keeps_line(suite_skypilot_refusal why)
{
    static const bool stays[] = {
#define REFUSAL_STAYS(name, text, keeps) keeps,
        SUITE_SKYPILOT_REFUSAL_LIST(REFUSAL_STAYS)
#undef REFUSAL_STAYS
    };
    return why < SUITE_SKYPILOT_REFUSAL_COUNT && stays[why];
}

/* ---- rows ---------------------------------------------------------------------------------------------------------- */

#define COLUMN_LIST(X)                                                                                                 \
    X(INSTANCE, "InstanceType", true)                                                                                  \
    X(NAME, "AcceleratorName", true)                                                                                   \
    X(COUNT, "AcceleratorCount", true)                                                                                 \
    X(PRICE, "Price", true)                                                                                            \
    X(REGION, "Region", true)                                                                                          \
    X(SPOT, "SpotPrice", false)                                                                                        \
    X(ZONE, "AvailabilityZone", false)                                                                                 \
    X(INFO, "GpuInfo", false)

typedef enum {
#define COLUMN_ENUM(name, text, required) CATALOGUE_##name,
    COLUMN_LIST(COLUMN_ENUM)
#undef COLUMN_ENUM
        CATALOGUE_COLUMNS
} column;

typedef struct {
    int line, count;
    const char *instance, *name, *region, *zone;
    double price, spot; /* 0: none */
    suite_skypilot_device device;
    bool refused;
    char remark[80]; /* of what was put right; "" */
} row;

typedef struct {
    const suite_skypilot_request *request;
    suite_skypilot_names names;
    suite_csv csv;
    int place[CATALOGUE_COLUMNS], fields; /* of each column, -1: absent; of the header */
    row *rows;
    int count;
    suite_skypilot_import *out;
    dit_status status; /* of the first failure to note a refusal */
} importer;

__attribute__((format(printf, 4, 5))) static void refuse(importer *in, row *line, suite_skypilot_refusal why,
                                                         const char *format, ...)
{
    suite_skypilot_import *out = in->out;
    va_list arguments;
    if (!suite_skypilot_keeps_line(why)) line->refused = true;
    if (in->status == DIT_OK)
        in->status = dit_list_grow((void **)&out->refused, out->refused_count, sizeof *out->refused);
    if (in->status != DIT_OK) return;
    suite_skypilot_refused *refused = &out->refused[out->refused_count++];
    *refused = (suite_skypilot_refused){.line = line->line, .why = why};
    va_start(arguments, format);
    vsnprintf(refused->reason, sizeof refused->reason, format, arguments);
    va_end(arguments);
}

static const char *field(const importer *in, const suite_csv_record *record, column which)
{
    int place = in->place[which];
    return place >= 0 && place < record->count ? record->field[place] : "";
}

/* An empty field is 0. False for what is no number, or below 0. */
static bool read_number(const char *text, double *out)
{
    char *end;
    *out = 0;
    if (!text[0]) return true;
    *out = strtod(text, &end);
    return *end == '\0' && isfinite(*out) && *out >= 0;
}

/* ---- one line ------------------------------------------------------------------------------------------------------ */

/* The number behind a key of GpuInfo, which is Python's notation of an object; 0 where there is none. */
static double info_number(const char *info, const char *key)
{
    const char *found = strstr(info, key);
    if (!found) return 0;
    found += strlen(key);
    found += strspn(found, "'\": ");
    double value = strtod(found, NULL);
    return isfinite(value) && value > 0 && value < 1e9 ? value : 0;
}

/* Memory of a device in GiB. Some catalogues write GiB under the key of MiB: no device has 1024 MiB or less. */
static double memory_of(const char *info, row *line)
{
    double size = info_number(info, "SizeInMiB"), total = info_number(info, "TotalGpuMemoryInMiB");
    if (size <= 0 && total > 0) size = total / line->count;
    if (size <= 0) return 0;
    if (size > 1024) return size / 1024;
    snprintf(line->remark, sizeof line->remark, "memory of %.0f under a key of MiB is taken for GiB", size);
    return size;
}

static void check_count(importer *in, row *line, double count, const char *info)
{
    double told = info_number(info, "'Count'");
    if (told <= 0) told = info_number(info, "\"Count\"");
    line->count = count >= 1 && count <= 1e6 ? (int)count : 0;
    if (count != line->count || line->count < 1)
        refuse(in, line, SUITE_SKYPILOT_COUNT, "%g is no number of devices", count);
    else if (line->count > in->names.most_devices)
        refuse(in, line, SUITE_SKYPILOT_COUNT, "%d devices, and an instance has at most %d", line->count,
               in->names.most_devices);
    else if (told > 0 && told != count)
        refuse(in, line, SUITE_SKYPILOT_COUNT, "AcceleratorCount is %g, GpuInfo says %g", count, told);
}

static void check_price(importer *in, row *line)
{
    double each = line->price / line->count;
    if (line->price > 0 && each > most_per_device)
        refuse(in, line, SUITE_SKYPILOT_PLACEHOLDER, "%g an hour for each of %d devices is a placeholder", each,
               line->count);
    else if (in->names.floor_per_device > 0 && each == in->names.floor_per_device)
        refuse(in, line, SUITE_SKYPILOT_PLACEHOLDER, "%g a device is the floor of an auction", each);
    else if (line->price > 0 && line->spot > line->price * (1 + 1e-9))
        refuse(in, line, SUITE_SKYPILOT_SWAPPED, "spot %g is above on-demand %g: the columns are swapped", line->spot,
               line->price);
    else if (line->price <= 0 && line->spot <= 0)
        refuse(in, line, SUITE_SKYPILOT_NO_PRICE, "neither price nor spot price");
}

static void check_spot(importer *in, row *line, const char *text)
{
    if (line->refused) return;
    if (text[0] && line->spot <= 0) refuse(in, line, SUITE_SKYPILOT_SPOT_ZERO, "spot 0 means that none is offered");
    if (line->spot <= 0 || line->price <= 0 || line->spot < line->price * (1 - 1e-9)) return;
    refuse(in, line, SUITE_SKYPILOT_SPOT_CEILING, "spot equals on-demand, %g: the ceiling, nothing is for sale",
           line->price);
    line->spot = 0;
}

static void find_device(importer *in, row *line, const char *info)
{
    if (line->refused) return;
    suite_skypilot_names_find(&in->names, line->name, line->instance, line->count, memory_of(info, line),
                              &line->device);
    if (line->device.accelerator) return;
    refuse(in, line, line->device.memory ? SUITE_SKYPILOT_MEMORY : SUITE_SKYPILOT_NAME, "%s", line->device.why);
}

static void read_line(importer *in, const suite_csv_record *record, row *line)
{
    double count = 0;
    const char *info = field(in, record, CATALOGUE_INFO), *spot = field(in, record, CATALOGUE_SPOT);
    *line = (row){.line = record->line,
                  .instance = field(in, record, CATALOGUE_INSTANCE),
                  .name = field(in, record, CATALOGUE_NAME),
                  .region = field(in, record, CATALOGUE_REGION),
                  .zone = field(in, record, CATALOGUE_ZONE)};
    if (record->count != in->fields) {
        refuse(in, line, SUITE_SKYPILOT_FIELDS, "%d fields, and the header has %d", record->count, in->fields);
        return;
    }
    if (!line->name[0]) {
        refuse(in, line, SUITE_SKYPILOT_NO_ACCELERATOR, "no accelerator");
        return;
    }
    if (!read_number(field(in, record, CATALOGUE_COUNT), &count) ||
        !read_number(field(in, record, CATALOGUE_PRICE), &line->price) || !read_number(spot, &line->spot)) {
        refuse(in, line, SUITE_SKYPILOT_NUMBER, "a count or a price is no number, or below zero");
        return;
    }
    check_count(in, line, count, info);
    if (!line->refused) check_price(in, line);
    check_spot(in, line, spot);
    find_device(in, line, info);
}

/* ---- lines beside each other ---------------------------------------------------------------------------------------- */

static bool comparable(const row *a, const row *b)
{
    return a != b && !b->refused && a->price > 0 && b->price > 0 && strcmp(a->region, b->region) == 0 &&
           strcmp(a->device.accelerator, b->device.accelerator) == 0;
}

/* An instance of eight that costs no more than one of one has the price of one card. */
static void find_price_of_fewer(importer *in, row *line)
{
    for (int i = 0; i < in->count && !line->refused; i++) {
        const row *other = &in->rows[i];
        if (!comparable(line, other) || other->count >= line->count) continue;
        if (line->price > other->price * (1 + tolerance)) continue;
        refuse(in, line, SUITE_SKYPILOT_PRICE_OF_FEWER, "%g for %d devices, and %g for %d (line %d)", line->price,
               line->count, other->price, other->count, other->line);
    }
}

/* The same round price for each of two accelerators is nobody's price. */
static void find_placeholder(importer *in, row *line)
{
    double each = line->price / line->count;
    for (int i = 0; i < in->count && line->price > 0 && each == floor(each) && !line->refused; i++) {
        const row *other = &in->rows[i];
        if (other->price <= 0 || other->price / other->count != each) continue;
        if (strcmp(other->device.accelerator, line->device.accelerator) == 0) continue;
        refuse(in, line, SUITE_SKYPILOT_PLACEHOLDER, "%g a device is also what %.40s costs (line %d): a placeholder",
               each, other->name, other->line);
    }
}

/* The nearest price a device among the smallest instances of the accelerator; 0 where this is one of them. */
static double nearest_each(const importer *in, const row *line)
{
    double each = line->price / line->count, nearest = 0;
    int smallest = line->count;
    for (int i = 0; i < in->count; i++) {
        const row *other = &in->rows[i];
        double price = other->price / other->count;
        if (!comparable(line, other) || other->count > smallest || other->count >= line->count) continue;
        if (other->count < smallest) nearest = 0;
        smallest = other->count;
        if (nearest <= 0 || fabs(price - each) < fabs(nearest - each)) nearest = price;
    }
    return nearest;
}

static void flag_disproportion(const importer *in, row *line)
{
    double each = line->price / line->count, nearest = nearest_each(in, line);
    if (nearest <= 0 || fabs(each / nearest - 1) <= tolerance || line->device.doubt[0]) return;
    snprintf(line->device.doubt, sizeof line->device.doubt,
             "%.4g a device, against %.4g in a smaller instance: not proportional, and not explained", each, nearest);
}

static void compare_rows(importer *in)
{
    for (int i = 0; i < in->count; i++)
        if (!in->rows[i].refused) find_placeholder(in, &in->rows[i]);
    for (int i = 0; i < in->count; i++)
        if (!in->rows[i].refused) find_price_of_fewer(in, &in->rows[i]);
    for (int i = 0; i < in->count; i++)
        if (!in->rows[i].refused && in->rows[i].price > 0) flag_disproportion(in, &in->rows[i]);
}

/* ---- the price file ------------------------------------------------------------------------------------------------- */

static void put_quote(importer *in, dit_json_writer *w, cJSON *quotes, const row *line, const char *kind, double price,
                      const char *zone)
{
    const suite_skypilot_device *device = &line->device;
    cJSON *quote = dit_json_put_object(w, quotes, NULL);
    dit_json_put_string(w, quote, "provider", in->names.provider);
    suite_text_put(w, quote, "instance", line->instance[0] ? line->instance : "-");
    dit_json_put_string(w, quote, "accelerator", device->accelerator);
    suite_text_put(w, quote, "listed_as", line->name);
    dit_json_put_int(w, quote, "count", line->count);
    suite_text_put(w, quote, "region", line->region[0] ? line->region : "-");
    if (zone[0]) suite_text_put(w, quote, "zone", zone);
    dit_json_put_string(w, quote, "kind", kind);
    dit_json_put_number(w, quote, "price", price);
    dit_json_put_string(w, quote, "source", "catalogue");
    if (device->platform[0]) dit_json_put_string(w, quote, "platform", device->platform);
    if (device->doubt[0]) suite_text_put(w, quote, "doubt", device->doubt);
    if (line->remark[0]) dit_json_put_string(w, quote, "note", line->remark);
    in->out->quote_count++;
    in->out->doubt_count += device->doubt[0] != '\0';
}

/* Zones of a region share the price on demand: it is told once. */
static bool is_told(const importer *in, int index, bool spot)
{
    const row *line = &in->rows[index];
    for (int i = 0; i < index; i++) {
        const row *other = &in->rows[i];
        if (other->refused || other->count != line->count || strcmp(other->instance, line->instance) != 0) continue;
        if (strcmp(other->region, line->region) != 0 || strcmp(other->name, line->name) != 0) continue;
        if (spot ? other->spot == line->spot && strcmp(other->zone, line->zone) == 0 : other->price == line->price)
            return true;
    }
    return false;
}

static void put_source(const importer *in, dit_json_writer *w, cJSON *root)
{
    cJSON *source = dit_json_put_object(w, dit_json_put_object(w, root, "sources"), "catalogue");
    dit_json_put_string(w, source, "repository", in->names.repository);
    dit_json_put_string(w, source, "path", in->names.path);
    dit_json_put_string(w, source, "commit", in->request->commit);
    dit_json_put_string(w, source, "date", in->request->date);
    dit_json_put_string(w, source, "read", "whole file");
}

static void put_refused(const importer *in, dit_json_writer *w, cJSON *root)
{
    cJSON *list = dit_json_put_array(w, root, "refused");
    for (int i = 0; i < in->out->refused_count; i++) {
        const suite_skypilot_refused *refused = &in->out->refused[i];
        char what[40];
        if (refused->why == SUITE_SKYPILOT_NO_ACCELERATOR) continue;
        cJSON *entry = dit_json_put_object(w, list, NULL);
        snprintf(what, sizeof what, "line %d", refused->line);
        dit_json_put_string(w, entry, "source", "catalogue");
        dit_json_put_string(w, entry, "what", what);
        suite_text_put(w, entry, "why", refused->reason);
    }
}

static dit_status make_book(importer *in)
{
    dit_json_writer w = {0};
    cJSON *root = dit_json_new_object(&w);
    dit_json_put_string(&w, root, "schema", "ditbench.price_book/1");
    dit_json_put_string(&w, root, "name", in->names.provider);
    dit_json_put_string(&w, root, "currency", in->names.currency);
    dit_json_put_string(&w, root, "per", "hour");
    put_source(in, &w, root);
    cJSON *quotes = dit_json_put_array(&w, root, "quotes");
    for (int i = 0; i < in->count; i++) {
        const row *line = &in->rows[i];
        if (line->refused) continue;
        if (line->price > 0 && !is_told(in, i, false)) put_quote(in, &w, quotes, line, in->names.kind, line->price, "");
        if (line->spot > 0 && !is_told(in, i, true)) put_quote(in, &w, quotes, line, "spot", line->spot, line->zone);
    }
    put_refused(in, &w, root);
    return dit_json_finish(&w, root, &in->out->book);
}

/* ---- the catalogue -------------------------------------------------------------------------------------------------- */

static dit_status read_header(importer *in)
{
    static const struct {
        const char *name;
        bool required;
    } columns[] = {
#define COLUMN_ROW(name, text, required) {text, required},
        COLUMN_LIST(COLUMN_ROW)
#undef COLUMN_ROW
    };
    suite_csv_record record;
    bool more;
    DIT_TRY(suite_csv_next(&in->csv, &record, &more));
    in->fields = record.count;
    for (int which = 0; which < CATALOGUE_COLUMNS; which++) {
        in->place[which] = -1;
        for (int i = 0; i < record.count; i++)
            if (strcmp(record.field[i], columns[which].name) == 0) in->place[which] = i;
        if (in->place[which] < 0 && columns[which].required)
            return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "%s:%d: the header has no column %s", in->request->path,
                                           record.line, columns[which].name),
                                  "give a catalogue of SkyPilot, such as catalogs/v8/nebius/vms.csv");
    }
    return DIT_OK;
}

static dit_status read_lines(importer *in)
{
    suite_csv_record record;
    bool more = true;
    DIT_TRY(read_header(in));
    while (true) {
        DIT_TRY(suite_csv_next(&in->csv, &record, &more));
        if (!more) return in->status;
        if (in->count == MOST_ROWS)
            return DIT_FAIL(DIT_ERR_USAGE, "%s: more than %d lines with accelerators", in->request->path, MOST_ROWS);
        DIT_TRY(dit_list_grow((void **)&in->rows, in->count, sizeof *in->rows));
        read_line(in, &record, &in->rows[in->count]);
        in->count += !in->rows[in->count].refused;
        in->out->line_count++;
    }
}

static int compare_refused(const void *left, const void *right)
{
    const suite_skypilot_refused *a = left, *b = right;
    return a->line != b->line ? (a->line < b->line ? -1 : 1) : (int)a->why - (int)b->why;
}

dit_status suite_skypilot_read(const suite_skypilot_request *request, suite_skypilot_import *out)
{
    importer in = {.request = request, .out = out};
    *out = (suite_skypilot_import){0};
    DIT_TRY(suite_skypilot_names_read(request->names, &in.names));
    DIT_TRY(suite_csv_open(&in.csv, request->text, request->length, request->path));
    dit_status st = read_lines(&in);
    if (st == DIT_OK) {
        compare_rows(&in);
        st = in.status;
    }
    if (st == DIT_OK && out->refused_count > 1)
        qsort(out->refused, (size_t)out->refused_count, sizeof *out->refused, compare_refused);
    if (st == DIT_OK) st = make_book(&in);
    suite_csv_release(&in.csv);
    free(in.rows);
    if (st != DIT_OK) suite_skypilot_release(out);
    return st;
}

void suite_skypilot_release(suite_skypilot_import *import)
{
    cJSON_Delete(import->book);
    free(import->refused);
    *import = (suite_skypilot_import){0};
}
