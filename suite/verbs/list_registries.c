#include "suite/verbs/list_registries.h"

#include "base/cache.h"
#include "base/json_writer.h"
#include "reports/figures/figure.h"
#include "reports/records/metrics.h"
#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/parameter.h"
#include "suite/workload/programs/program.h"
#include "suite/workload/tags.h"

#include <stdio.h>

static void add_row(dit_json_writer *w, cJSON *rows, const char *name, cJSON **out)
{
    *out = dit_json_put_object(w, rows, NULL);
    dit_json_put_string(w, *out, "name", name);
}

dit_status suite_list_metrics(cJSON *rows)
{
    dit_json_writer w = {0};
    for (int i = 0; i < REPORT_METRIC_COUNT; i++) {
        const report_metric_info *info = report_metric_get((report_metric)i);
        cJSON *row;
        add_row(&w, rows, info->name, &row);
        dit_json_put_string(&w, row, "unit", report_unit_name(info->unit));
        dit_json_put_string(&w, row, "better", report_better_name(info->better));
        dit_json_put_string(&w, row, "needs",
                            info->repeats == REPORT_REPEATS_CLOCK ? "6 processes for a verdict" : "1 process");
        if (info->path) dit_json_put_string(&w, row, "record", info->path);
        dit_json_put_string(&w, row, "meaning", info->meaning);
    }
    return w.status;
}

dit_status suite_list_tags(cJSON *rows)
{
    dit_json_writer w = {0};
    for (const suite_tag *tag = suite_tags(); tag->name; tag++) {
        cJSON *row;
        add_row(&w, rows, tag->name, &row);
        dit_json_put_string(&w, row, "meaning", tag->meaning);
    }
    return w.status;
}

dit_status suite_list_caches(cJSON *rows)
{
    dit_json_writer w = {0};
    for (int policy = DIT_CACHE_NONE + 1; policy < DIT_CACHE_COUNT; policy++) {
        bool measured = dit_cache_kind_of((dit_cache_policy)policy) == DIT_CACHE_MEASURED;
        cJSON *row;
        add_row(&w, rows, dit_cache_name((dit_cache_policy)policy), &row);
        dit_json_put_string(&w, row, "kind", measured ? "measured" : "schedule");
        dit_json_put_string(&w, row, "meaning", dit_cache_about((dit_cache_policy)policy));
    }
    return w.status;
}

dit_status suite_list_kinds(cJSON *rows)
{
    dit_json_writer w = {0};
    for (const report_figure_kind *const *kind = report_figure_kinds(); *kind; kind++) {
        const report_plot *plot = &(*kind)->defaults;
        cJSON *row;
        add_row(&w, rows, (*kind)->kind, &row);
        dit_json_put_string(&w, row, "title", plot->title ? plot->title : "");
        dit_json_put_string(&w, row, "x", plot->x ? plot->x : "");
        dit_json_put_string(&w, row, "series", plot->series ? plot->series : "");
        dit_json_put_string(&w, row, "panel", plot->panel ? plot->panel : "");
        dit_json_put_string(&w, row, "reading", (*kind)->reading ? (*kind)->reading : "");
    }
    return w.status;
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
    dit_json_writer w = {0};
    for (const suite_program *const *program = suite_programs(); *program; program++) {
        cJSON *row;
        add_row(&w, rows, (*program)->name, &row);
        dit_json_put_int(&w, row, "parameters", count_parameters((*program)->reads));
        dit_json_put_string(&w, row, "meaning", (*program)->meaning);
    }
    return w.status;
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
    dit_json_writer w = {0};
    char text[128];
    for (int p = 0; p < SUITE_PARAMETER_COUNT; p++) {
        suite_parameter parameter = (suite_parameter)p;
        cJSON *row;
        add_row(&w, rows, suite_parameter_key(parameter), &row);
        suite_parameter_value_text(parameter, text, sizeof text);
        dit_json_put_string(&w, row, "value", text);
        write_programs(suite_parameter_get(parameter)->readers, text, sizeof text);
        dit_json_put_string(&w, row, "programs", text);
        dit_json_put_string(&w, row, "platforms", suite_parameter_platforms(parameter)->name);
    }
    return w.status;
}

static dit_status add_link(const dit_json *doc, const cJSON *class, cJSON *rows)
{
    dit_json_writer w = {0};
    const char *kind, *title = "";
    double bandwidth = 0, latency = 0;
    char at[128];
    cJSON *row;
    snprintf(at, sizeof at, "/classes/%.100s", class->string);
    DIT_TRY(dit_json_require_string(doc, class, at, "kind", &kind));
    DIT_TRY(dit_json_optional_string(doc, class, at, "title", &title));
    if (cJSON_IsNumber(dit_json_member(class, "bandwidth_bytes_per_s")))
        DIT_TRY(dit_json_optional_number(doc, class, at, "bandwidth_bytes_per_s", 0, 1e18, &bandwidth));
    DIT_TRY(dit_json_optional_number(doc, class, at, "latency_s", 0, 1e6, &latency));
    add_row(&w, rows, class->string, &row);
    dit_json_put_string(&w, row, "kind", kind);
    if (bandwidth > 0) dit_json_put_number(&w, row, "gb_per_s", bandwidth / 1e9);
    if (latency > 0) dit_json_put_number(&w, row, "latency_us", latency * 1e6);
    dit_json_put_string(&w, row, "title", title);
    return w.status;
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
