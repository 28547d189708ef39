/* ditbench list: the sessions of this folder, or what the catalogue has. */
#include "base/json_writer.h"
#include "base/log.h"
#include "base/words.h"
#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/method.h"
#include "suite/catalogue/parameter.h"
#include "suite/console/cli.h"
#include "suite/console/row_filter.h"
#include "suite/console/table.h"
#include "suite/console/terminal.h"
#include "suite/explain/describe.h"
#include "suite/paths.h"
#include "suite/platform/cluster_xml.h"
#include "suite/platform/profile.h"
#include "suite/session/index.h"
#include "suite/verbs/list_registries.h"
#include "suite/verbs/verbs.h"
#include "suite/workload/programs/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char purpose[] =
    "Lists the sessions under results/local, newest first; with --output DIR, those under DIR; nothing is written "
    "there.\n"
    "`list models` shows every model, and every variant of it: parameters, flops of one forward and how many forwards "
    "a\n"
    "step has, memory of one rank in fp32, all counted by the engine at the model's default run (or at --resolution,\n"
    "--frames); \"counted/stated\" is the counted number of parameters over what the authors state. A model without a\n"
    "config cannot be run: only what its authors state is shown. --sources adds where the facts come from.\n"
    "`list methods` shows which axes a method cuts, the fewest ranks it takes, and whether its result is exact;\n"
    "`list caches` which policies let a step reuse blocks of an earlier one;\n"
    "`list platforms` and `list accelerators` what a device and its links can do; `list workloads` and `list vaes`\n"
    "titles. `list platforms --xml NAME` prints a simulated cluster as SimGrid reads it.\n"
    "`list programs` and `list parameters` show what a workload may say, `list metrics`, `list tags` and `list kinds`\n"
    "what filters, claims and plots may name, `list profiles` and `list links` what simulations stand on.\n"
    "--filter takes text that a row contains, or an expression over the members that --json shows. --json is one\n"
    "document, {\"schema\": \"ditbench.list-KIND/1\", KIND: [objects]}. On a narrow terminal columns are left out and "
    "named.";
static const char examples[] = "ditbench list\n"
                               "ditbench list --filter flux\n"
                               "ditbench list --filter \"evidence == 'measured' && page\"\n"
                               "ditbench list models\n"
                               "ditbench list models --filter wan --resolution 832x480 --frames 33\n"
                               "ditbench list models --json\n"
                               "ditbench list methods\n"
                               "ditbench list accelerators --filter 'memory_gib >= 80'\n"
                               "ditbench list platforms --xml 2x8xl40\n"
                               "ditbench list metrics --filter bytes\n"
                               "ditbench list parameters --filter degree\n"
                               "ditbench list workloads";

typedef struct {
    suite_cli cli;
    suite_describe_params models;
    suite_single_params single;
    const char *resolution, *xml, *filter;
    bool sources;
} list_call;

static const double BYTES_PER_GIB = 1024.0 * 1024 * 1024; /* what datasheets of devices call GB */

/* ---- rows of sessions -------------------------------------------------------------------------------------------- */

static const char *state_of(const suite_index_session *row)
{
    if (row->damage[0]) return "damaged";
    if (row->running) return "running";
    return row->complete ? "complete" : "unfinished";
}

static bool has_page(const char *dir)
{
    char path[SUITE_PATH];
    return suite_path(path, "%s/report/report.html", dir) == DIT_OK && access(path, R_OK) == 0;
}

static void add_texts(dit_json_writer *w, cJSON *item, const suite_index_session *row)
{
    const struct {
        const char *key, *text;
    } texts[] = {{"session", row->name},      {"path", row->dir},        {"workload", row->workload},
                 {"title", row->title},       {"name", row->called},     {"note", row->note},
                 {"state", state_of(row)},    {"started", row->started}, {"ended", row->ended},
                 {"evidence", row->evidence}, {"damage", row->damage},   {"hardware_id", row->hardware_id},
                 {"version", row->version}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].text && texts[i].text[0]) dit_json_put_string(w, item, texts[i].key, texts[i].text);
}

static void add_tags(dit_json_writer *w, cJSON *item, const char *joined)
{
    cJSON *tags = dit_json_put_array(w, item, "tags");
    char word[SUITE_PATH];
    while (joined && dit_words_next(&joined, word, sizeof word)) dit_json_put_string(w, tags, NULL, word);
}

static void add_session(void *context, const suite_index_session *row)
{
    dit_json_writer w = {0};
    cJSON *item = dit_json_put_object(&w, context, NULL);
    add_texts(&w, item, row);
    add_tags(&w, item, row->tags);
    dit_json_put_bool(&w, item, "page", has_page(row->dir));
    const struct {
        const char *key;
        int value;
    } numbers[] = {{"planned", row->planned}, {"done", row->done},       {"ok", row->ok},
                   {"failed", row->failed},   {"timeout", row->timeout}, {"oom", row->oom},
                   {"skipped", row->skipped}, {"invalid", row->invalid}, {"dropped", row->dropped}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        dit_json_put_number(&w, item, numbers[i].key, numbers[i].value);
}

static dit_status list_sessions(list_call *call, cJSON *rows)
{
    char root[SUITE_PATH];
    suite_index *index = NULL;
    DIT_TRY(call->cli.output ? suite_path(root, "%s", call->cli.output) : suite_session_root(root));
    DIT_TRY(suite_index_read(root, &index));
    dit_status st = suite_index_sessions(index, add_session, rows);
    suite_index_close(index);
    return st;
}

/* ---- rows of the catalogue --------------------------------------------------------------------------------------- */

static const cJSON *member(const cJSON *object, const char *path)
{
    char key[64];
    while (object && *path) {
        size_t length = strcspn(path, "/");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        object = dit_json_member(object, key);
        path += length + (path[length] == '/');
    }
    return object;
}

static void copy_text(dit_json_writer *w, cJSON *row, const char *key, const cJSON *document, const char *path)
{
    const char *text = cJSON_GetStringValue(member(document, path));
    dit_json_put_string(w, row, key, text);
}

static void copy_number(dit_json_writer *w, cJSON *row, const char *key, const cJSON *document, const char *path,
                        double unit)
{
    const cJSON *item = member(document, path);
    if (cJSON_IsNumber(item)) dit_json_put_number(w, row, key, item->valuedouble / unit);
}

static dit_status add_workload(const char *name, cJSON *row)
{
    dit_json_writer w = {0};
    char path[SUITE_PATH];
    dit_json document = {0};
    DIT_TRY(suite_workload_find(name, path, sizeof path));
    DIT_TRY(dit_json_read_file(path, &document));
    copy_text(&w, row, "title", document.root, "title");
    copy_text(&w, row, "platform", document.root, "defaults/platform");
    dit_json_put_string(&w, row, "path", path);
    dit_json_release(&document);
    return w.status;
}

static void fill_accelerator(dit_json_writer *w, const cJSON *document, cJSON *row)
{
    copy_text(w, row, "title", document, "title");
    copy_text(w, row, "vendor", document, "vendor");
    copy_number(w, row, "memory_gib", document, "memory_bytes", BYTES_PER_GIB);
    copy_number(w, row, "bandwidth_gb_per_s", document, "memory_bandwidth_bytes_per_s", 1e9);
    copy_number(w, row, "fp16_tflops", document, "peak_flops_per_s/fp16", 1e12);
    copy_number(w, row, "nvlink_gb_per_s", document, "nvlink_bytes_per_s", 1e9);
    copy_number(w, row, "pcie_gb_per_s", document, "pcie/bytes_per_s", 1e9);
    copy_number(w, row, "power_w", document, "power_w", 1);
    dit_json_put_bool(w, row, "has_cost", member(document, "cost") != NULL);
}

static dit_status add_accelerator(const char *name, cJSON *row)
{
    dit_json_writer w = {0};
    dit_json document = {0};
    DIT_TRY(suite_catalogue_read("accelerators", "accelerator", name, "ditbench.accelerator/1", &document));
    fill_accelerator(&w, document.root, row);
    dit_json_release(&document);
    return w.status;
}

/* What one device of a cluster is, and how many there are. */
static dit_status add_devices(const cJSON *document, cJSON *row)
{
    dit_json_writer w = {0};
    const char *accelerator = cJSON_GetStringValue(member(document, "cluster/accelerator"));
    const cJSON *nodes = member(document, "cluster/nodes"), *devices = member(document, "cluster/node/devices");
    dit_json device = {0};
    if (!accelerator) return w.status;
    DIT_TRY(suite_catalogue_read("accelerators", "accelerator", accelerator, "ditbench.accelerator/1", &device));
    double count =
        (cJSON_IsNumber(nodes) ? nodes->valuedouble : 1) * (cJSON_IsNumber(devices) ? devices->valuedouble : 1);
    const cJSON *power = member(device.root, "power_w");
    dit_json_put_string(&w, row, "accelerator", accelerator);
    dit_json_put_number(&w, row, "devices", count);
    copy_number(&w, row, "memory_gib", device.root, "memory_bytes", BYTES_PER_GIB);
    if (cJSON_IsNumber(power)) dit_json_put_number(&w, row, "power_w", power->valuedouble * count);
    dit_json_release(&device);
    return w.status;
}

static dit_status add_platform(const char *name, cJSON *row)
{
    dit_json_writer w = {0};
    dit_json document = {0};
    DIT_TRY(suite_catalogue_read("platforms", "platform", name, "ditbench.platform/1", &document));
    copy_text(&w, row, "title", document.root, "title");
    copy_text(&w, row, "backend", document.root, "backend");
    copy_text(&w, row, "link", document.root, "cluster/node/device_link");
    copy_text(&w, row, "network", document.root, "cluster/node/nic_link");
    dit_status st = add_devices(document.root, row);
    dit_json_release(&document);
    return st == DIT_OK ? w.status : st;
}

static dit_status add_vae(const char *name, cJSON *row)
{
    dit_json_writer w = {0};
    dit_json document = {0};
    DIT_TRY(suite_catalogue_read("vaes", "vae", name, "ditbench.vae/1", &document));
    copy_text(&w, row, "title", document.root, "title");
    copy_text(&w, row, "class", document.root, "config/_class_name");
    dit_json_release(&document);
    return w.status;
}

/* A row for each name of `kind`; a file that cannot be read is a row that says so. */
static dit_status list_named(const char *kind, dit_status (*add)(const char *, cJSON *), cJSON *rows)
{
    dit_json_writer w = {0};
    char **names;
    DIT_TRY(suite_catalogue_names(kind, &names));
    for (char **name = names; *name; name++) {
        cJSON *row = dit_json_new_object(&w);
        dit_json_put_string(&w, row, "name", *name);
        if (add(*name, row) != DIT_OK) dit_json_put_string(&w, row, "damage", dit_error_last()->message);
        dit_json_put_item(&w, rows, NULL, row);
    }
    dit_error_clear();
    suite_names_free(names);
    return w.status;
}

static dit_status list_workloads(list_call *call, cJSON *rows)
{
    (void)call;
    return list_named("workloads", add_workload, rows);
}

static dit_status list_accelerators(list_call *call, cJSON *rows)
{
    (void)call;
    return list_named("accelerators", add_accelerator, rows);
}

static dit_status list_platforms(list_call *call, cJSON *rows)
{
    (void)call;
    return list_named("platforms", add_platform, rows);
}

static dit_status list_vaes(list_call *call, cJSON *rows)
{
    (void)call;
    return list_named("vaes", add_vae, rows);
}

static dit_status add_profile(const char *name, cJSON *row)
{
    dit_json_writer w = {0};
    suite_profile profile;
    DIT_TRY(suite_profile_load(name, &profile));
    dit_json_put_string(&w, row, "title", profile.title);
    dit_json_put_string(&w, row, "evidence", profile.evidence);
    dit_json_put_bool(&w, row, "measured", profile.measured);
    return w.status;
}

static dit_status list_profiles(list_call *call, cJSON *rows)
{
    (void)call;
    return list_named("profiles", add_profile, rows);
}

static dit_status list_links(list_call *call, cJSON *rows)
{
    (void)call;
    return suite_list_links(rows);
}

static dit_status list_programs(list_call *call, cJSON *rows)
{
    (void)call;
    return suite_list_programs(rows);
}

static dit_status list_parameters(list_call *call, cJSON *rows)
{
    (void)call;
    return suite_list_parameters(rows);
}

static dit_status list_metrics(list_call *call, cJSON *rows)
{
    (void)call;
    return suite_list_metrics(rows);
}

static dit_status list_tags(list_call *call, cJSON *rows)
{
    (void)call;
    return suite_list_tags(rows);
}

static dit_status list_caches(list_call *call, cJSON *rows)
{
    (void)call;
    return suite_list_caches(rows);
}

static dit_status list_figure_kinds(list_call *call, cJSON *rows)
{
    (void)call;
    return suite_list_kinds(rows);
}

static dit_status list_models(list_call *call, cJSON *rows)
{
    dit_json_writer w = {0};
    cJSON *models;
    if (call->resolution &&
        !suite_resolution_from_text(call->resolution, &call->models.width_px, &call->models.height_px))
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--resolution: '%s' is not WIDTHxHEIGHT", call->resolution),
                              "write pixels, for example 1280x720");
    if (call->filter && !suite_row_filter_is_expression(call->filter)) call->models.filter = call->filter;
    DIT_TRY(suite_describe_models(&call->models, &call->single, &models));
    while (models->child) dit_json_put_item(&w, rows, NULL, cJSON_DetachItemFromArray(models, 0));
    cJSON_Delete(models);
    return w.status;
}

/* "cfg ulysses ring": the axes of a method in the order in which they take their factors. */
static cJSON *axes_of(dit_json_writer *w, const dit_method *method)
{
    cJSON *axes = dit_json_new_array(w);
    for (int place = 0; place < DIT_GROUP_COUNT; place++) {
        dit_axis axis = dit_axis_at_deal(place);
        if (method->axes[axis]) dit_json_put_string(w, axes, NULL, dit_axis_name(axis));
    }
    return axes;
}

/* The first program that reads the degrees of a method. */
static const char *program_of(const dit_method *method)
{
    int readers = SUITE_READS_ALL;
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++)
        if (method->axes[axis]) readers &= suite_parameter_get(suite_parameter_of_axis((dit_axis)axis))->readers;
    return suite_program_reading(readers)->name;
}

static cJSON *method_json(dit_json_writer *w, const dit_method *method)
{
    cJSON *row = dit_json_new_object(w);
    dit_json_put_string(w, row, "name", method->name);
    dit_json_put_string(w, row, "program", program_of(method));
    dit_json_put_item(w, row, "axes", axes_of(w, method));
    if (method->axes[DIT_AXIS_PATCH])
        dit_json_put_string(w, row, "patch_method", dit_patch_method_name(method->patch_method));
    dit_json_put_number(w, row, "least_ranks", dit_method_least_ranks(method));
    dit_json_put_bool(w, row, "exact", dit_method_is_exact(method));
    return row;
}

static dit_status list_methods(list_call *call, cJSON *rows)
{
    dit_json_writer w = {0};
    (void)call;
    for (const char *const *name = suite_method_names(); *name; name++) {
        dit_method method;
        DIT_TRY(dit_method_from_name(*name, &method));
        dit_json_put_item(&w, rows, NULL, method_json(&w, &method));
    }
    return w.status;
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

enum { CELL_BYTES = 512 };
typedef void (*list_cell)(const cJSON *row, char out[CELL_BYTES]);

static void runs_cell(const cJSON *row, char out[CELL_BYTES])
{
    snprintf(out, CELL_BYTES, "%d/%d", (int)dit_json_int_or(row, "done", 0), (int)dit_json_int_or(row, "planned", 0));
}

static void bad_cell(const cJSON *row, char out[CELL_BYTES])
{
    int bad = (int)dit_json_int_or(row, "failed", 0) + (int)dit_json_int_or(row, "timeout", 0) +
              (int)dit_json_int_or(row, "oom", 0) + (int)dit_json_int_or(row, "invalid", 0);
    snprintf(out, CELL_BYTES, "%.0d", bad); /* nothing for none */
}

static void skipped_cell(const cJSON *row, char out[CELL_BYTES])
{
    snprintf(out, CELL_BYTES, "%.0d", (int)dit_json_int_or(row, "skipped", 0));
}

/* "2026-01-31 12:00", UTC. */
static void date_cell(const cJSON *row, char out[CELL_BYTES])
{
    const char *started = dit_json_text_or(row, "started", "");
    if (strlen(started) >= 16) snprintf(out, CELL_BYTES, "%.10s %.5s", started, started + 11);
}

static void joined_cell(const cJSON *list, const char *between, char out[CELL_BYTES])
{
    const cJSON *item;
    size_t used = 0;
    cJSON_ArrayForEach(item, list) if (used < CELL_BYTES) used +=
        (size_t)snprintf(out + used, CELL_BYTES - used, "%s%s", used ? between : "", item->valuestring);
}

static void tags_cell(const cJSON *row, char out[CELL_BYTES])
{
    joined_cell(dit_json_member(row, "tags"), " ", out);
}

static void axes_cell(const cJSON *row, char out[CELL_BYTES])
{
    joined_cell(dit_json_member(row, "axes"), " x ", out);
}

static void page_cell(const cJSON *row, char out[CELL_BYTES])
{
    if (dit_json_is_true(row, "page")) snprintf(out, CELL_BYTES, "yes");
}

static void result_cell(const cJSON *row, char out[CELL_BYTES])
{
    bool exact = dit_json_is_true(row, "exact");
    snprintf(out, CELL_BYTES, "%s", exact ? "exact" : "approximate, has an oracle");
}

static void simulated_cell(const cJSON *row, char out[CELL_BYTES])
{
    if (dit_json_is_true(row, "has_cost")) snprintf(out, CELL_BYTES, "yes");
}

/* "PixArt" of "PixArtTransformer2DModel", "HunyuanDiT" of "HunyuanDiT2DModel". */
static void family_cell(const cJSON *row, char out[CELL_BYTES])
{
    const char *family = dit_json_text_or(row, "class", ""), *end = strstr(family, "Transformer");
    snprintf(out, CELL_BYTES, "%.*s", (int)(end ? (size_t)(end - family) : strcspn(family, "23")), family);
}

static void measured_cell(const cJSON *row, char out[CELL_BYTES])
{
    snprintf(out, CELL_BYTES, "%s", dit_json_is_true(row, "measured") ? "yes" : "no");
}

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

typedef struct {
    suite_column shown; /* key: the member, unless `write` says more */
    double unit;        /* of numbers                                */
    const char *format;
    list_cell write; /* NULL: the member itself                   */
} list_column;

enum { MOST_COLUMNS = 16 };
#define TEXT(key, title, spare)                                                                                        \
    {                                                                                                                  \
        {key, title, true, spare}, 0, NULL, NULL                                                                       \
    }
#define NUMBER(key, title, spare, unit, format)                                                                        \
    {                                                                                                                  \
        {key, title, false, spare}, unit, format, NULL                                                                 \
    }
#define CELL(key, title, is_text, spare, write)                                                                        \
    {                                                                                                                  \
        {key, title, is_text, spare}, 0, NULL, write                                                                   \
    }

static const list_column session_columns[] = {
    TEXT("session", "session", 0),
    CELL("date", "date (UTC)", true, 6, date_cell),
    TEXT("workload", "workload", 5),
    TEXT("name", "name", 3),
    TEXT("state", "state", 0),
    CELL("runs", "runs", false, 0, runs_cell),
    CELL("bad", "bad", false, 0, bad_cell),
    CELL("skipped", "skipped", false, 1, skipped_cell),
    TEXT("evidence", "evidence", 4),
    TEXT("version", "commit", 7),
    CELL("tags", "tags", true, 2, tags_cell),
    CELL("page", "page", true, 3, page_cell),
    TEXT("title", "title", 9),
    TEXT("damage", "damage", 8),
    {{NULL, NULL, false, 0}, 0, NULL, NULL},
};
static const list_column model_columns[] = {
    TEXT("name", "model", 0),
    CELL("class", "family", true, 5, family_cell),
    NUMBER("parameters", "params/B", 0, 1e9, "%.3f"),
    NUMBER("stated_parameters", "stated", 3, 1e9, "%.3g"),
    NUMBER("counted_over_stated", "counted/stated", 6, 1, "%.3f"),
    TEXT("resolution", "size", 0),
    NUMBER("num_frames", "frames", 2, 1, "%.0f"),
    NUMBER("flops_per_forward", "TFLOP", 0, 1e12, "%.2f"),
    NUMBER("forwards_per_step", "a step", 1, 1, "x%.0f"),
    NUMBER("memory_bytes", "GiB", 0, 1024.0 * 1024 * 1024, "%.1f"),
    TEXT("reason", "not run because", 8),
    {{NULL, NULL, false, 0}, 0, NULL, NULL},
};
static const list_column method_columns[] = {
    TEXT("name", "method", 0),
    CELL("axes", "axes", true, 0, axes_cell),
    NUMBER("least_ranks", "least ranks", 0, 1, "%.0f"),
    CELL("exact", "result", true, 0, result_cell),
    TEXT("program", "program", 1),
    {{NULL, NULL, false, 0}, 0, NULL, NULL},
};
static const list_column workload_columns[] = {
    TEXT("name", "workload", 0),
    TEXT("title", "title", 0),
    TEXT("platform", "platform", 1),
    TEXT("damage", "damage", 2),
    {{NULL, NULL, false, 0}, 0, NULL, NULL},
};
static const list_column platform_columns[] = {
    TEXT("name", "platform", 0),
    NUMBER("devices", "devices", 0, 1, "%.0f"),
    NUMBER("memory_gib", "GiB each", 0, 1, "%.1f"),
    TEXT("link", "link", 1),
    TEXT("network", "network", 2),
    NUMBER("power_w", "watts, all", 3, 1, "%.0f"),
    TEXT("backend", "backend", 4),
    TEXT("title", "title", 5),
    TEXT("damage", "damage", 6),
    {{NULL, NULL, false, 0}, 0, NULL, NULL},
};
static const list_column accelerator_columns[] = {
    TEXT("name", "accelerator", 0),
    NUMBER("memory_gib", "GiB", 0, 1, "%.1f"),
    NUMBER("bandwidth_gb_per_s", "GB/s", 0, 1, "%.0f"),
    NUMBER("fp16_tflops", "fp16 TFLOP/s", 0, 1, "%.0f"),
    NUMBER("nvlink_gb_per_s", "NVLink GB/s", 2, 1, "%.0f"),
    NUMBER("pcie_gb_per_s", "PCIe GB/s", 3, 1, "%.0f"),
    NUMBER("power_w", "watts", 1, 1, "%.0f"),
    CELL("has_cost", "simulated", true, 4, simulated_cell),
    TEXT("title", "title", 5),
    TEXT("damage", "damage", 6),
    {{NULL, NULL, false, 0}, 0, NULL, NULL},
};
static const list_column metric_columns[] = {
    TEXT("name", "metric", 0),
    TEXT("unit", "unit", 0),
    TEXT("better", "better", 1),
    TEXT("needs", "needs", 3),
    TEXT("meaning", "meaning", 0),
    TEXT("record", "in the record", 2),
    {{NULL, NULL, false, 0}, 0, NULL, NULL},
};
static const list_column tag_columns[] = {
    TEXT("name", "tag", 0),
    TEXT("meaning", "meaning", 0),
    {{NULL, NULL, false, 0}, 0, NULL, NULL},
};
static const list_column cache_columns[] = {
    TEXT("name", "cache", 0),
    TEXT("kind", "kind", 0),
    TEXT("meaning", "a step is computed or reused by", 0),
    {{NULL, NULL, false, 0}, 0, NULL, NULL},
};
static const list_column figure_columns[] = {
    TEXT("name", "kind", 0),     TEXT("title", "title", 0), TEXT("x", "x", 1),
    TEXT("series", "series", 2), TEXT("panel", "panel", 3), {{NULL, NULL, false, 0}, 0, NULL, NULL},
};
static const list_column program_columns[] = {
    TEXT("name", "program", 0),
    NUMBER("parameters", "parameters", 1, 1, "%.0f"),
    TEXT("meaning", "meaning", 0),
    {{NULL, NULL, false, 0}, 0, NULL, NULL},
};
static const list_column parameter_columns[] = {
    TEXT("name", "parameter", 0),
    TEXT("value", "value", 0),
    TEXT("programs", "programs", 1),
    TEXT("platforms", "platforms", 2),
    {{NULL, NULL, false, 0}, 0, NULL, NULL},
};
static const list_column profile_columns[] = {
    TEXT("name", "profile", 0),  CELL("measured", "timed", true, 0, measured_cell),
    TEXT("title", "title", 0),   TEXT("evidence", "evidence", 1),
    TEXT("damage", "damage", 2), {{NULL, NULL, false, 0}, 0, NULL, NULL},
};
static const list_column link_columns[] = {
    TEXT("name", "link", 0),
    TEXT("kind", "kind", 2),
    NUMBER("gb_per_s", "GB/s", 0, 1, "%.1f"),
    NUMBER("latency_us", "latency us", 0, 1, "%.2f"),
    TEXT("title", "title", 1),
    {{NULL, NULL, false, 0}, 0, NULL, NULL},
};
static const list_column vae_columns[] = {
    TEXT("name", "vae", 0),
    TEXT("title", "title", 0),
    TEXT("class", "class", 1),
    TEXT("damage", "damage", 2),
    {{NULL, NULL, false, 0}, 0, NULL, NULL},
};

typedef struct {
    const char *name;
    dit_status (*list)(list_call *call, cJSON *rows);
    const list_column *columns;
} list_kind;

/* What there is to list; sessions when nothing is said. */
static const list_kind kinds[] = {
    {"sessions", list_sessions, session_columns},
    {"models", list_models, model_columns},
    {"methods", list_methods, method_columns},
    {"caches", list_caches, cache_columns},
    {"workloads", list_workloads, workload_columns},
    {"platforms", list_platforms, platform_columns},
    {"accelerators", list_accelerators, accelerator_columns},
    {"vaes", list_vaes, vae_columns},
    {"profiles", list_profiles, profile_columns},
    {"links", list_links, link_columns},
    {"programs", list_programs, program_columns},
    {"parameters", list_parameters, parameter_columns},
    {"metrics", list_metrics, metric_columns},
    {"tags", list_tags, tag_columns},
    {"kinds", list_figure_kinds, figure_columns},
};
enum { KIND_COUNT = (int)(sizeof kinds / sizeof *kinds) };

/* "sessions|models|...": what the verb takes, from its own table. */
static void join_kinds(char *out, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < KIND_COUNT && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? "|" : "", kinds[i].name);
}

static dit_status find_kind(const char *name, const list_kind **out)
{
    const char *words[KIND_COUNT + 1] = {NULL};
    for (int i = 0; i < KIND_COUNT; i++) {
        words[i] = kinds[i].name;
        if (strcmp(kinds[i].name, name) == 0) return *out = &kinds[i], DIT_OK;
    }
    return dit_fail_word(DIT_ERR_USAGE, "list:", name, words);
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static void write_cell(const list_column *column, const cJSON *row, char out[CELL_BYTES])
{
    const cJSON *item = dit_json_member(row, column->shown.key);
    out[0] = '\0';
    if (column->write)
        column->write(row, out);
    else if (cJSON_IsString(item))
        snprintf(out, CELL_BYTES, "%s", item->valuestring);
    else if (cJSON_IsNumber(item)) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(out, CELL_BYTES, column->format, item->valuedouble / column->unit);
#pragma GCC diagnostic pop
    }
}

static dit_status print_table(const list_call *call, const list_kind *kind, const cJSON *rows)
{
    static const list_column source = TEXT("source", "source", 9);
    list_column chosen[MOST_COLUMNS];
    suite_column columns[MOST_COLUMNS];
    char text[CELL_BYTES];
    const cJSON *row;
    int count = 0;
    for (const list_column *column = kind->columns; column->shown.key; column++) chosen[count++] = *column;
    if (call->sources) chosen[count++] = source;
    for (int i = 0; i < count; i++) columns[i] = chosen[i].shown;
    suite_table table = {.columns = columns, .column_count = count};
    dit_status st = DIT_OK;
    cJSON_ArrayForEach(row, rows)
    {
        if (st == DIT_OK) st = suite_table_add_row(&table);
        for (int i = 0; i < count && st == DIT_OK; i++) {
            write_cell(&chosen[i], row, text);
            st = suite_table_set(&table, i, text);
        }
    }
    if (st == DIT_OK && table.row_count) suite_table_print(&table, stdout, suite_terminal_width(stdout));
    suite_table_release(&table);
    return st;
}

static dit_status print_json(const list_kind *kind, cJSON *rows)
{
    dit_json_writer w = {0};
    char name[32];
    snprintf(name, sizeof name, "list-%s", kind->name);
    cJSON *document = dit_json_new_object(&w);
    dit_json_put_reference(&w, document, kind->name, rows);
    return suite_cli_finish_json(&w, name, document);
}

static dit_status list(list_call *call, const list_kind *kind)
{
    dit_json_writer w = {0};
    cJSON *rows = dit_json_new_array(&w);
    dit_status st = rows ? kind->list(call, rows) : w.status;
    int all = cJSON_GetArraySize(rows);
    if (st == DIT_OK) st = suite_row_filter(rows, call->filter);
    if (st == DIT_OK && !cJSON_GetArraySize(rows))
        dit_log_info("no %s%s", kind->name, all ? ": the filter keeps none of them" : " here");
    if (st == DIT_OK && call->cli.json) st = print_json(kind, rows);
    if (st == DIT_OK && !call->cli.json) st = print_table(call, kind, rows);
    cJSON_Delete(rows);
    return st;
}

/* The cluster as SimGrid reads it; with --json inside a document. */
static dit_status print_xml(const list_call *call)
{
    dit_json_writer w = {0};
    suite_cluster cluster;
    char *text = NULL;
    size_t length;
    DIT_TRY(suite_cluster_load(call->xml, &cluster));
    FILE *out = call->cli.json ? open_memstream(&text, &length) : stdout;
    dit_status st = out ? suite_cluster_write_xml(&cluster, out) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the XML");
    if (out && out != stdout) fclose(out);
    if (st == DIT_OK && text) {
        cJSON *document = dit_json_new_object(&w);
        dit_json_put_string(&w, document, "platform", call->xml);
        dit_json_put_string(&w, document, "xml", text);
        suite_cli_finish_json(&w, "list-platform-xml", document);
    }
    free(text);
    suite_cluster_release(&cluster);
    return st == DIT_OK ? w.status : st;
}

static dit_status list_what(list_call *call)
{
    const char *what = call->cli.operand_count ? call->cli.operands[0] : kinds[0].name;
    const list_kind *kind = NULL;
    if (call->xml && strcmp(what, "platforms") == 0) return print_xml(call);
    if (call->xml) return DIT_FAIL(DIT_ERR_USAGE, "--xml is about platforms: list platforms --xml %s", call->xml);
    DIT_TRY(find_kind(what, &kind));
    return list(call, kind);
}

int suite_verb_list(int argc, char **argv)
{
    list_call call = {.models = {.variants = true},
                      .single = {.launcher = "local", .world_size = 1, .threads_per_rank = 1}};
    const suite_option options[] = {
        {"filter", 'f', SUITE_OPTION_STRING, "TEXT|EXPR", "show only rows that contain TEXT, or for which EXPR holds",
         &call.filter, 0, 0},
        {"resolution", 'r', SUITE_OPTION_STRING, "WxH", "models: at this size", &call.resolution, 0, 0},
        {"frames", 0, SUITE_OPTION_INT, "N", "models: clips of this length", &call.models.num_frames, 1, 1 << 20},
        {"sources", 0, SUITE_OPTION_FLAG, NULL, "models: show where their facts come from", &call.sources, 0, 0},
        {"xml", 0, SUITE_OPTION_STRING, "NAME", "platforms: print this cluster as SimGrid reads it", &call.xml, 0, 0},
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "engine program", &call.single.engine, 0, 0},
        {0},
    };
    char words[256], operands[260];
    join_kinds(words, sizeof words);
    snprintf(operands, sizeof operands, "[%s]", words);
    const suite_cli_spec spec = {"list", operands, purpose, examples, options, 0, 1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    dit_status st = list_what(&call);
    code = st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(&call.cli, st);
    suite_cli_release(&call.cli);
    return code;
}
