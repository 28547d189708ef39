/* ditbench list: the sessions of this folder, or what the catalogue has. */
#include "suite/catalogue.h"
#include "suite/cli.h"
#include "suite/describe.h"
#include "suite/index.h"
#include "suite/method.h"
#include "suite/parameter.h"
#include "suite/platform_xml.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Lists the sessions under results/local, newest first; with --output DIR, those under DIR.\n"
    "`list models` shows what every model and variant weighs and costs: parameters, flops of one forward, forwards in\n"
    "a step, memory of one rank in fp32. The engine counts all of it at the model's default run (or at --resolution,\n"
    "--frames). A model without a config is not built; the list shows what its authors state.\n"
    "`list methods` shows which axes a method cuts, the fewest ranks it takes, and whether its result is exact.\n"
    "`list workloads`, `list platforms`, `list accelerators` and `list vaes` show what there is of each kind;\n"
    "`list platforms --xml NAME` prints a simulated cluster as SimGrid reads it.";
static const char examples[] = "ditbench list\n"
                               "ditbench list models\n"
                               "ditbench list models --filter wan --resolution 832x480 --frames 33\n"
                               "ditbench list models --json\n"
                               "ditbench list methods\n"
                               "ditbench list platforms --xml 2x8xl40\n"
                               "ditbench list workloads";

typedef struct {
    suite_cli cli;
    suite_describe_params models;
    suite_single_params single;
    const char *resolution, *xml;
} list_call;

static const char *state_of(const suite_index_session *row)
{
    if (row->damage[0]) return "damaged";
    if (row->running) return "running";
    return row->complete ? "complete" : "unfinished";
}

static void print_row(void *context, const suite_index_session *row)
{
    (void)context;
    int bad = row->failed + row->timeout + row->oom + row->invalid;
    printf("%-44s %-16s %-10s %5d/%-5d %5d %5d\n", row->name, row->workload, state_of(row), row->done, row->planned,
           bad, row->skipped);
    if (row->damage[0]) printf("  %s\n", row->damage);
}

static void add_row(void *context, const suite_index_session *row)
{
    cJSON *item = cJSON_CreateObject();
    cJSON_AddItemToArray(context, item);
    cJSON_AddStringToObject(item, "session", row->name);
    cJSON_AddStringToObject(item, "path", row->dir);
    cJSON_AddStringToObject(item, "workload", row->workload);
    cJSON_AddStringToObject(item, "state", state_of(row));
    cJSON_AddStringToObject(item, "started", row->started);
    if (row->ended[0]) cJSON_AddStringToObject(item, "ended", row->ended);
    if (row->damage[0]) cJSON_AddStringToObject(item, "damage", row->damage);
    cJSON_AddStringToObject(item, "hardware_id", row->hardware_id);
    cJSON_AddStringToObject(item, "version", row->version);
    const struct {
        const char *key;
        int value;
    } numbers[] = {{"planned", row->planned}, {"done", row->done},       {"ok", row->ok},
                   {"failed", row->failed},   {"timeout", row->timeout}, {"oom", row->oom},
                   {"skipped", row->skipped}, {"invalid", row->invalid}, {"dropped", row->dropped}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        cJSON_AddNumberToObject(item, numbers[i].key, numbers[i].value);
}

static dit_status list(const suite_cli *cli)
{
    char root[SUITE_PATH];
    suite_index *index = NULL;
    DIT_TRY(cli->output ? suite_path(root, "%s", cli->output) : suite_session_root(root));
    DIT_TRY(suite_index_open(root, &index));
    cJSON *document = cJSON_CreateObject(), *rows = cJSON_AddArrayToObject(document, "sessions");
    if (!cli->json) printf("%-44s %-16s %-10s %11s %5s %5s\n", "session", "workload", "state", "runs", "bad", "skip");
    dit_status st = suite_index_sessions(index, cli->json ? add_row : print_row, rows);
    if (st == DIT_OK && cli->json) suite_cli_print_json("list-sessions", document);
    cJSON_Delete(document);
    suite_index_close(index);
    return st;
}

/* ---- the catalogue ----------------------------------------------------------------------------------------------- */

static dit_status list_names(const suite_cli *cli, const char *kind)
{
    char **names, name[32];
    snprintf(name, sizeof name, "list-%s", kind);
    DIT_TRY(suite_catalogue_names(kind, &names));
    cJSON *document = cJSON_CreateObject(), *rows = cJSON_AddArrayToObject(document, kind);
    for (char **one = names; *one; one++) {
        if (cli->json)
            cJSON_AddItemToArray(rows, cJSON_CreateString(*one));
        else
            printf("%s\n", *one);
    }
    if (cli->json) suite_cli_print_json(name, document);
    cJSON_Delete(document);
    suite_names_free(names);
    return DIT_OK;
}

static const char *text_of(const cJSON *row, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, key));
    return text ? text : "-";
}

/* A number over `unit`, or "-". */
static void write_number(const cJSON *row, const char *key, double unit, const char *format, char out[32])
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, key);
    if (cJSON_IsNumber(item))
        snprintf(out, 32, format, item->valuedouble / unit);
    else
        snprintf(out, 32, "-");
}

/* "PixArt" of "PixArtTransformer2DModel", "HunyuanDiT" of "HunyuanDiT2DModel". */
static int family_length(const char *family)
{
    const char *end = strstr(family, "Transformer");
    return end ? (int)(end - family) : (int)strcspn(family, "23");
}

static void print_model(const cJSON *row)
{
    char parameters[32], stated[32], flops[32], ratio[32], forwards[32], memory[32], frames[32];
    const cJSON *reason = cJSON_GetObjectItemCaseSensitive(row, "reason");
    const char *family = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "class"));
    int named = family ? family_length(family) : 1;
    write_number(row, "parameters", 1e9, "%.3f", parameters);
    write_number(row, "stated_parameters", 1e9, "%.3g", stated);
    write_number(row, "flops_per_forward", 1e12, "%.2f", flops);
    write_number(row, "counted_over_stated", 1, "%.3f", ratio);
    write_number(row, "forwards_per_step", 1, "x%.0f", forwards);
    write_number(row, "memory_bytes", 1024.0 * 1024 * 1024, "%.1f", memory);
    write_number(row, "num_frames", 1, "%.0f", frames);
    printf("%-34s %-13.*s %9s %7s %9s %6s %9s %3s %6s %8s  %s%s%s\n", text_of(row, "name"), named,
           family ? family : "-", parameters, stated, text_of(row, "resolution"), frames, flops, forwards, ratio,
           memory, reason ? text_of(row, "reason") : "", reason ? "; " : "", text_of(row, "source"));
}

static dit_status list_models(list_call *call)
{
    cJSON *rows, *row;
    if (call->resolution &&
        !suite_resolution_from_text(call->resolution, &call->models.width_px, &call->models.height_px))
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--resolution: '%s' is not WIDTHxHEIGHT", call->resolution),
                              "write pixels, for example 1280x720");
    DIT_TRY(suite_describe_models(&call->models, &call->single, &rows));
    if (call->cli.json) {
        cJSON *document = cJSON_CreateObject();
        cJSON_AddItemToObject(document, "models", rows);
        suite_cli_print_json("list-models", document);
        cJSON_Delete(document);
        return DIT_OK;
    }
    printf("%-34s %-13s %9s %7s %9s %6s %9s %3s %6s %8s  %s\n", "model", "family", "params/B", "stated", "size",
           "frames", "TFLOP", "", "ratio", "GiB", "source");
    cJSON_ArrayForEach(row, rows) print_model(row);
    cJSON_Delete(rows);
    return DIT_OK;
}

/* "cfg ulysses ring": what a method cuts, cfg first, then as in its row. */
static cJSON *axes_of(const suite_method *method)
{
    cJSON *axes = cJSON_CreateArray();
    if (method->cfg) cJSON_AddItemToArray(axes, cJSON_CreateString(dit_axis_name(DIT_AXIS_CFG)));
    for (int i = 0; i < method->axis_count; i++)
        cJSON_AddItemToArray(axes, cJSON_CreateString(dit_axis_name(method->axes[i])));
    return axes;
}

static bool cuts(const suite_method *method, dit_axis axis)
{
    for (int i = 0; i < method->axis_count; i++)
        if (method->axes[i] == axis) return true;
    return false;
}

static cJSON *method_json(const suite_method *method)
{
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "name", method->name);
    cJSON_AddStringToObject(row, "program", cuts(method, DIT_AXIS_WORLD) ? "vae_decode" : "denoise");
    cJSON_AddItemToObject(row, "axes", axes_of(method));
    if (cuts(method, DIT_AXIS_PATCH))
        cJSON_AddStringToObject(row, "patch_method", dit_patch_method_name(method->patch_method));
    cJSON_AddNumberToObject(row, "least_ranks", suite_method_least_ranks(method));
    cJSON_AddBoolToObject(row, "exact", suite_method_is_exact(method));
    return row;
}

static void print_method(const cJSON *row)
{
    char axes[64] = "";
    const cJSON *axis;
    cJSON_ArrayForEach(axis, cJSON_GetObjectItemCaseSensitive(row, "axes"))
        snprintf(axes + strlen(axes), sizeof axes - strlen(axes), "%s%s", axes[0] ? " x " : "", axis->valuestring);
    bool exact = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, "exact"));
    printf("%-24s %-28s %5d  %-26s %s\n", text_of(row, "name"), axes[0] ? axes : "-",
           cJSON_GetObjectItemCaseSensitive(row, "least_ranks")->valueint,
           exact ? "exact" : "approximate, has an oracle", text_of(row, "program"));
}

static dit_status list_methods(const suite_cli *cli)
{
    cJSON *document = cJSON_CreateObject(), *rows = cJSON_AddArrayToObject(document, "methods"), *row;
    for (const suite_method *method = suite_methods; method->name; method++)
        cJSON_AddItemToArray(rows, method_json(method));
    if (cli->json)
        suite_cli_print_json("list-methods", document);
    else
        printf("%-24s %-28s %5s  %-26s %s\n", "method", "axes", "ranks", "result", "program");
    if (!cli->json) cJSON_ArrayForEach(row, rows) print_method(row);
    cJSON_Delete(document);
    return DIT_OK;
}

static dit_status print_xml_json(const char *name, const suite_cluster *cluster)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %s", name);
    dit_status st = suite_cluster_write_xml(cluster, file);
    fclose(file);
    cJSON *document = cJSON_CreateObject();
    cJSON_AddStringToObject(document, "platform", name);
    cJSON_AddStringToObject(document, "xml", text);
    if (st == DIT_OK) suite_cli_print_json("list-platform-xml", document);
    cJSON_Delete(document);
    free(text);
    return st;
}

static dit_status print_xml(const char *name, bool json)
{
    suite_cluster cluster;
    DIT_TRY(suite_cluster_load(name, &cluster));
    dit_status st = json ? print_xml_json(name, &cluster) : suite_cluster_write_xml(&cluster, stdout);
    suite_cluster_release(&cluster);
    return st;
}

static dit_status list_what(list_call *call)
{
    static const char *const kinds[] = {"models",    "methods",      "workloads", "vaes",
                                        "platforms", "accelerators", "sessions",  NULL};
    const char *what = call->cli.operand_count ? call->cli.operands[0] : "sessions";
    if (call->xml && strcmp(what, "platforms") == 0) return print_xml(call->xml, call->cli.json);
    if (call->xml) return DIT_FAIL(DIT_ERR_USAGE, "--xml is about platforms: list platforms --xml %s", call->xml);
    if (strcmp(what, "sessions") == 0) return list(&call->cli);
    if (strcmp(what, "models") == 0) return list_models(call);
    if (strcmp(what, "methods") == 0) return list_methods(&call->cli);
    for (int i = 2; kinds[i]; i++)
        if (strcmp(what, kinds[i]) == 0) return list_names(&call->cli, what);
    const char *near = dit_nearest_word(what, kinds);
    dit_status st = DIT_FAIL(
        DIT_ERR_USAGE, "'%s' is none of models, methods, workloads, platforms, accelerators, vaes, sessions", what);
    return near ? dit_error_hint(st, "did you mean %s?", near) : st;
}

int suite_verb_list(int argc, char **argv)
{
    list_call call = {.models = {.variants = true},
                      .single = {.launcher = "local", .world_size = 1, .threads_per_rank = 1}};
    const suite_option options[] = {
        {"resolution", 'r', SUITE_OPTION_STRING, "WxH", "models: at this size", &call.resolution, 0, 0},
        {"frames", 0, SUITE_OPTION_INT, "N", "models: clips of this length", &call.models.num_frames, 1, 1 << 20},
        {"filter", 'f', SUITE_OPTION_STRING, "TEXT", "models: only names that contain TEXT", &call.models.filter, 0, 0},
        {"xml", 0, SUITE_OPTION_STRING, "NAME", "platforms: this cluster for SimGrid", &call.xml, 0, 0},
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "engine program", &call.single.engine, 0, 0},
        {0},
    };
    const suite_cli_spec spec = {
        "list", "[models|methods|workloads|platforms|accelerators|vaes]", purpose, examples, options, 0, 1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    dit_status st = list_what(&call);
    code = st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(&call.cli, st);
    suite_cli_release(&call.cli);
    return code;
}
