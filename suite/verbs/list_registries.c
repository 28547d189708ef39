#include "suite/verbs/list_registries.h"

#include "reports/figures/figure.h"
#include "reports/records/metrics.h"
#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/parameter.h"
#include "suite/workload/programs/program.h"
#include "suite/workload/tags.h"

#include <stdio.h>

static dit_status add_row(cJSON *rows, const char *name, cJSON **out)
{
    *out = cJSON_CreateObject();
    if (!*out || !cJSON_AddItemToArray(rows, *out)) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a list");
    return dit_json_add_string(*out, "name", name);
}

dit_status suite_list_metrics(cJSON *rows)
{
    for (int i = 0; i < REPORT_METRIC_COUNT; i++) {
        const report_metric_info *info = report_metric_get((report_metric)i);
        cJSON *row;
        DIT_TRY(add_row(rows, info->name, &row));
        DIT_TRY(dit_json_add_string(row, "unit", report_unit_name(info->unit)));
        DIT_TRY(dit_json_add_string(row, "better", report_better_name(info->better)));
        DIT_TRY(dit_json_add_string(row, "needs",
                                    info->repeats == REPORT_REPEATS_CLOCK ? "6 processes for a verdict" : "1 process"));
        if (info->path) DIT_TRY(dit_json_add_string(row, "record", info->path));
        DIT_TRY(dit_json_add_string(row, "meaning", info->meaning));
    }
    return DIT_OK;
}

dit_status suite_list_tags(cJSON *rows)
{
    for (const suite_tag *tag = suite_tags(); tag->name; tag++) {
        cJSON *row;
        DIT_TRY(add_row(rows, tag->name, &row));
        DIT_TRY(dit_json_add_string(row, "meaning", tag->meaning));
    }
    return DIT_OK;
}

dit_status suite_list_kinds(cJSON *rows)
{
    for (const report_figure_kind *const *kind = report_figure_kinds(); *kind; kind++) {
        const report_plot *plot = &(*kind)->defaults;
        cJSON *row;
        DIT_TRY(add_row(rows, (*kind)->kind, &row));
        DIT_TRY(dit_json_add_string(row, "title", plot->title ? plot->title : ""));
        DIT_TRY(dit_json_add_string(row, "x", plot->x ? plot->x : ""));
        DIT_TRY(dit_json_add_string(row, "series", plot->series ? plot->series : ""));
        DIT_TRY(dit_json_add_string(row, "panel", plot->panel ? plot->panel : ""));
        DIT_TRY(dit_json_add_string(row, "reading", (*kind)->reading ? (*kind)->reading : ""));
    }
    return DIT_OK;
}

/* How many parameters a program reads, PIPELINE left out. */
static int count_parameters(int reads)
{
    int count = 0;
    for (int p = 0; p < SUITE_PARAMETER_COUNT; p++)
        count += (suite_parameter_get((suite_parameter)p)->readers & reads) != 0;
    return count;
}

dit_status suite_list_programs(cJSON *rows)
{
    for (const suite_program *const *program = suite_programs(); *program; program++) {
        cJSON *row;
        DIT_TRY(add_row(rows, (*program)->name, &row));
        DIT_TRY(dit_json_add_int(row, "parameters", count_parameters((*program)->reads)));
        DIT_TRY(dit_json_add_string(row, "meaning", (*program)->meaning));
    }
    return DIT_OK;
}

/* "denoise, vae_decode": the programs that read a parameter. */
static void write_programs(int readers, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (const suite_program *const *program = suite_programs(); *program && used < size; program++)
        if (readers & (*program)->reads)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", (*program)->name);
}

dit_status suite_list_parameters(cJSON *rows)
{
    char text[128];
    for (int p = 0; p < SUITE_PARAMETER_COUNT; p++) {
        suite_parameter parameter = (suite_parameter)p;
        cJSON *row;
        DIT_TRY(add_row(rows, suite_parameter_key(parameter), &row));
        suite_parameter_value_text(parameter, text, sizeof text);
        DIT_TRY(dit_json_add_string(row, "value", text));
        write_programs(suite_parameter_get(parameter)->readers, text, sizeof text);
        DIT_TRY(dit_json_add_string(row, "programs", text));
        DIT_TRY(dit_json_add_string(row, "platforms", suite_parameter_platforms(parameter)->name));
    }
    return DIT_OK;
}

static dit_status add_link(const dit_json *doc, const cJSON *class, cJSON *rows)
{
    const char *kind, *title = "";
    double bandwidth = 0, latency = 0;
    char at[128];
    cJSON *row;
    snprintf(at, sizeof at, "/classes/%.100s", class->string);
    DIT_TRY(dit_json_require_string(doc, class, at, "kind", &kind));
    DIT_TRY(dit_json_optional_string(doc, class, at, "title", &title));
    if (cJSON_IsNumber(cJSON_GetObjectItemCaseSensitive(class, "bandwidth_bytes_per_s")))
        DIT_TRY(dit_json_optional_number(doc, class, at, "bandwidth_bytes_per_s", 0, 1e18, &bandwidth));
    DIT_TRY(dit_json_optional_number(doc, class, at, "latency_s", 0, 1e6, &latency));
    DIT_TRY(add_row(rows, class->string, &row));
    DIT_TRY(dit_json_add_string(row, "kind", kind));
    if (bandwidth > 0) DIT_TRY(dit_json_add_number(row, "gb_per_s", bandwidth / 1e9));
    if (latency > 0) DIT_TRY(dit_json_add_number(row, "latency_us", latency * 1e6));
    return dit_json_add_string(row, "title", title);
}

dit_status suite_list_links(cJSON *rows)
{
    dit_json doc = {0};
    const cJSON *classes = NULL, *class;
    DIT_TRY(suite_catalogue_read("links", "list of links", "links", "ditbench.links/1", &doc));
    dit_status st = dit_json_require_object(&doc, doc.root, "", "classes", &classes);
    cJSON_ArrayForEach(class, classes) if (st == DIT_OK) st = add_link(&doc, class, rows);
    dit_json_release(&doc);
    return st;
}
