#include "reports/search/search_page.h"

#include "reports/page/html.h"
#include "reports/page/html_table.h"
#include "reports/procurement/picture.h"
#include "reports/search/search_figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 160 };

/* ---- head ------------------------------------------------------------------------------------------------------------ */

static void put_lead(const cJSON *document, dit_buffer *out)
{
    const cJSON *run = dit_json_member(document, "run");
    put(out, "<p class=\"lead\">");
    put_text(out, dit_json_text_or(document, "model", ""));
    dit_buffer_printf(out, " on %.0f of ", dit_json_number_or(document, "devices", 0));
    put_text(out, dit_json_text_or(document, "platform", ""));
    if (run)
        dit_buffer_printf(out, " at %.0fx%.0f, %.0f steps", dit_json_number_or(run, "width_px", 0),
                          dit_json_number_or(run, "height_px", 0), dit_json_number_or(run, "num_inference_steps", 0));
    put(out, "; goal ");
    put_text(out, dit_json_text_or(document, "goal", ""));
    put(out, ".</p>\n");
}

/* "8 devices at 98.3 USD an hour (on-demand, 2026-08-28): 4.2 USD for 1,000 images" */
static void put_money(const cJSON *document, const cJSON *winner, dit_buffer *out)
{
    const cJSON *prices = dit_json_member(document, "prices"), *rent;
    int devices = (int)(dit_json_number_or(winner, "ranks", 0) * dit_json_number_or(winner, "replicas", 1));
    const char *currency = dit_json_text_or(prices, "currency", "");
    cJSON_ArrayForEach(rent, dit_json_member(prices, "rents"))
    {
        if ((int)dit_json_number_or(rent, "devices", 0) != devices || !dit_json_member(rent, "per_hour")) continue;
        dit_buffer_printf(out, " %d device%s at %.4g ", devices, devices == 1 ? "" : "s",
                          dit_json_number_or(rent, "per_hour", 0));
        put_text(out, currency);
        put(out, " an hour (");
        put_text(out, dit_json_text_or(prices, "kind", ""));
        put(out, ", ");
        put_text(out, dit_json_text_or(rent, "newest", ""));
        dit_buffer_printf(out, "): %.4g ", dit_json_number_or(winner, "value", 0));
        put_text(out, currency);
        put(out, " for 1,000 images at the median quote.");
    }
}

static void put_winner(const cJSON *document, dit_buffer *out)
{
    const cJSON *winner = dit_json_member(document, "winner");
    if (!winner) {
        put(out, "<div class=\"notice\">No mesh has a value: the table says why.</div>\n");
        return;
    }
    put(out, "<p><strong>Best</strong>: <code>");
    put_text(out, dit_json_text_or(winner, "mesh", ""));
    put(out, "</code>");
    if (dit_json_number_or(winner, "replicas", 1) > 1)
        dit_buffer_printf(out, ", %.0f replicas", dit_json_number_or(winner, "replicas", 1));
    if (dit_json_number_or(winner, "seconds", 0) > 0)
        dit_buffer_printf(out, ", %.4g s; its time is decided by its ", dit_json_number_or(winner, "seconds", 0));
    else
        dit_buffer_printf(out, ", %.2f GiB a rank; its time would be decided by its ",
                          dit_json_number_or(winner, "memory_bytes", 0) / 0x1p30);
    put_text(out, dit_json_text_or(winner, "binds", ""));
    put(out, ".");
    put_money(document, winner, out);
    put(out, "</p>\n");
}

static void put_head(const cJSON *document, dit_buffer *out)
{
    const char *projection = dit_json_text_or(document, "projection", NULL);
    put(out, "<header>\n<h1>The best mesh</h1>\n");
    put_lead(document, out);
    put_winner(document, out);
    put(out, "<p class=\"small soft\">Times are <strong>simulated</strong>, software <code>");
    put_text(out, dit_json_text_or(document, "profile", ""));
    put(out, "</code>; nothing here was measured. A bound is a time that no simulation of the mesh goes below.</p>\n");
    if (projection) put_element(out, "div class=\"notice\"", "div", projection);
    if (cJSON_IsTrue(dit_json_member(document, "replicas_share_links")))
        put(out, "<div class=\"notice\">Replicas share links; what they do to each other is not counted.</div>\n");
    put(out, "</header>\n");
}

/* ---- the table ------------------------------------------------------------------------------------------------------- */

static void put_number(html_table *table, const cJSON *object, const char *key, double scale)
{
    char text[TEXT];
    double number = dit_json_number_or(object, key, 0) * scale;
    snprintf(text, sizeof text, "%.4g", number);
    if (number > 0)
        html_cell(table, text);
    else
        html_cell_none(table);
}

static void put_behind(html_table *table, const cJSON *mesh)
{
    char text[TEXT];
    bool bound = strcmp(dit_json_text_or(mesh, "state", ""), "bound") == 0;
    double behind = dit_json_number_or(mesh, "behind", NAN);
    snprintf(text, sizeof text, bound ? "at least %.1f %%" : "%.1f %%", 100 * behind);
    if (behind > 0)
        html_cell(table, text);
    else
        html_cell_none(table);
}

static void put_mesh(html_table *table, const cJSON *mesh)
{
    char text[TEXT];
    const char *reason = dit_json_text_or(mesh, "reason", "");
    double replicas = dit_json_number_or(mesh, "replicas", 1);
    snprintf(text, sizeof text, replicas > 1 ? "%.60s, %.0f times" : "%.60s", dit_json_text_or(mesh, "mesh", ""),
             replicas);
    html_row_open(table);
    html_cell(table, text);
    put_number(table, mesh, "ranks", 1);
    html_cell(table, cJSON_IsTrue(dit_json_member(mesh, "kept")) ? "kept" : dit_json_text_or(mesh, "state", ""));
    put_number(table, mesh, "seconds", 1);
    put_number(table, mesh, "value", 1);
    put_behind(table, mesh);
    put_number(table, mesh, "bound_s", 1);
    html_cell(table, dit_json_text_or(mesh, "bound", ""));
    html_cell(table, dit_json_text_or(mesh, "binds", ""));
    put_number(table, mesh, "memory_bytes", 1 / 0x1p30);
    if (*reason)
        html_cell(table, reason);
    else
        html_cell_none(table);
    html_row_close(table);
}

static const char *value_title(const cJSON *document)
{
    const char *goal = dit_json_text_or(document, "goal", "");
    if (strcmp(goal, "cost") == 0) return "per 1,000";
    if (strcmp(goal, "memory") == 0) return "bytes";
    return strcmp(goal, "throughput") == 0 ? "s/image" : "value";
}

static void put_meshes(const cJSON *document, dit_buffer *out)
{
    const html_column columns[] = {{"mesh", false, false},   {"ranks", true, false},  {"state", false, false},
                                   {"seconds", true, false}, {NULL, true, false},     {"behind", false, false},
                                   {"bound s", true, false}, {"of", false, false},    {"binds", false, false},
                                   {"GiB", true, false},     {"why not", false, true}};
    html_column shown[sizeof columns / sizeof *columns];
    html_table table = {.out = out, .columns = shown, .count = (int)(sizeof columns / sizeof *columns)};
    const cJSON *mesh;
    memcpy(shown, columns, sizeof columns);
    shown[4].title = value_title(document);
    put(out, "<h2 id=\"meshes\">Meshes</h2>\n");
    html_table_open(&table, "A row is a way to lay the model over the devices, the best first.");
    cJSON_ArrayForEach(mesh, dit_json_member(document, "meshes")) put_mesh(&table, mesh);
    html_table_close(&table);
}

static void put_illegal(const cJSON *document, dit_buffer *out)
{
    const cJSON *list = dit_json_member(document, "illegal"), *one;
    if (cJSON_GetArraySize(list) == 0) return;
    dit_buffer_printf(out, "<details><summary>%d that no rule allows</summary>\n<ul class=\"plain\">\n",
                      cJSON_GetArraySize(list));
    cJSON_ArrayForEach(one, list)
    {
        put(out, "<li><code>");
        put_text(out, dit_json_text_or(one, "mesh", ""));
        put(out, "</code>: ");
        put_text(out, dit_json_text_or(one, "reason", ""));
        put(out, "</li>\n");
    }
    put(out, "</ul></details>\n");
}

static void put_changes(const cJSON *document, dit_buffer *out)
{
    const cJSON *list = dit_json_member(document, "what_if"), *one;
    if (cJSON_GetArraySize(list) == 0) return;
    put(out, "<h2>If a part of the machine were faster</h2>\n<ul class=\"plain\">\n");
    cJSON_ArrayForEach(one, list)
    {
        put(out, "<li>");
        put_text(out, dit_json_text_or(one, "part", ""));
        dit_buffer_printf(out, ", %g times as fast: <code>", dit_json_number_or(one, "times", 0));
        put_text(out, dit_json_text_or(one, "mesh", ""));
        dit_buffer_printf(out, "</code> from %.4g s, by bounds; <code>", dit_json_number_or(one, "bound_s", 0));
        put_text(out, dit_json_text_or(one, "before", ""));
        dit_buffer_printf(out, "</code> from %.4g s.</li>\n", dit_json_number_or(one, "before_bound_s", 0));
    }
    put(out, "</ul>\n");
}

static void put_counts(const cJSON *document, const char *program, dit_buffer *out)
{
    const cJSON *counts = dit_json_member(document, "counts");
    dit_buffer_printf(
        out,
        "<p class=\"small soft\">%.0f meshes: %.0f simulated, %.0f kept from before, %.0f excluded by bound, "
        "%.0f by memory, %.0f failed. All of it as data: <a href=\"search.json\">search.json</a>. Written by "
        "ditbench ",
        dit_json_number_or(counts, "meshes", 0), dit_json_number_or(counts, "simulated", 0),
        dit_json_number_or(counts, "kept", 0), dit_json_number_or(counts, "by_bound", 0),
        dit_json_number_or(counts, "by_memory", 0), dit_json_number_or(counts, "failed", 0));
    put_text(out, program ? program : "");
    put(out, ".</p>\n");
}

static dit_status write_page(const cJSON *document, const report_search_options *options, const char *missing,
                             const chart_pictures *pictures)
{
    dit_buffer out = {0};
    html_put_opening_with("search", "tbody th{white-space:nowrap}", &out);
    put_head(document, &out);
    put(&out, "<main>\n");
    put_meshes(document, &out);
    put_illegal(document, &out);
    put_changes(document, &out);
    put(&out, "<h2 id=\"figures\">Figure</h2>\n");
    if (pictures->wide)
        picture_put("search", "Lower bound of each mesh against its simulated time.",
                    "A solid point was simulated; a hollow one lies at its bound, and could not be the best.", pictures,
                    &out);
    else
        put_element(&out, "p", "p", *missing ? missing : "There is no simulated time, so nothing is drawn.");
    put_counts(document, options->program, &out);
    put(&out, "</main>\n</body>\n</html>\n");
    return picture_page_write(&out, options->folder, "search");
}

dit_status report_search_write(const cJSON *document, const report_search_options *options, bool *drawn)
{
    char missing[512] = "";
    chart_pictures pictures;
    dit_status st = report_search_figure(document, options->folder, options->gnuplot, &pictures);
    if (st == DIT_ERR_ENVIRONMENT) {
        snprintf(missing, sizeof missing, "No figure is drawn: %.480s", dit_error_last()->message);
        dit_error_clear();
        st = DIT_OK;
    }
    *drawn = pictures.wide != NULL;
    if (st == DIT_OK) st = write_page(document, options, missing, &pictures);
    chart_pictures_release(&pictures);
    return st == DIT_OK && *missing ? DIT_FAIL(DIT_ERR_ENVIRONMENT, "%s", missing) : st;
}
