/* How the numbers came to be: the rules of measuring and of simulating, and the environment of the session. */
#include "base/json.h"
#include "reports/page/html.h"

#include "reports/page/html_table.h"

#include <stdio.h>
#include <string.h>

enum { METHOD_FACTS = 300 };

static void put_paragraphs(const char *const *paragraphs, size_t count, dit_buffer *out)
{
    for (size_t i = 0; i < count; i++) put_element(out, "p", "p", paragraphs[i]);
    put(out, "\n");
}

void html_put_measuring(const report_page *page, dit_buffer *out)
{
    (void)page;
    static const char *const paragraphs[] = {
        "An iteration makes one whole batch of images: it prepares the text, runs all denoising steps and collects the "
        "latents. Its monotonic clock starts after a barrier of all ranks and stops, on each rank, when the rank has "
        "its result; the value is the maximum over ranks. Loading weights, making the initial noise and warm-up runs "
        "are not timed.",
        "The unit of replication is a fresh group of processes; its value is the median of its iterations. n counts "
        "these groups, which ran in randomised blocks. The estimate of a case is the median over its groups. From "
        "n = 6 on its interval is made of exact order statistics and covers the median with at least 95 %. With fewer "
        "groups the range is shown, marked low n, and decides nothing. The interval of a speedup combines the far ends "
        "of both intervals.",
        "Communication counts the bytes that one rank sends in one iteration; they must equal the closed form of the "
        "method. Memory is the peak, summed over classes of lifetime, of the rank that needs most. Rel. L2 is the "
        "relative distance of the final latents to the latents of one rank. Only processes that ended ok give "
        "numbers.",
    };
    put_paragraphs(paragraphs, sizeof paragraphs / sizeof *paragraphs, out);
}

void html_put_simulating(const report_page *page, dit_buffer *out)
{
    (void)page;
    static const char *const paragraphs[] = {
        "Simulated cases run the engine's own code, methods and messages on a declared machine that is not here. Each "
        "operator adds the time that a cost model predicts to its rank's virtual clock, and messages share the links "
        "of the declared network. Virtual time is the same in every run: n is 1 and there is no interval. Memory is "
        "counted, not allocated, in the element type of the simulation.",
        "Published numbers were printed by others; their reading error is shown with them. They are drawn as hollow "
        "points and enter no median, no claim and no line.",
    };
    put_paragraphs(paragraphs, sizeof paragraphs / sizeof *paragraphs, out);
}

/* ---- environment ------------------------------------------------------------------------------------------------- */

static void put_fact(html_table *table, const char *name, const cJSON *value)
{
    char number[REPORT_NUMBER_TEXT] = "";
    const char *text = cJSON_IsString(value) ? value->valuestring : number;
    if (cJSON_IsNumber(value)) snprintf(number, sizeof number, "%.12g", value->valuedouble);
    if (cJSON_IsBool(value)) text = cJSON_IsTrue(value) ? "yes" : "no";
    html_row_open(table);
    html_cell(table, name);
    html_cell_open(table);
    put_element(table->out, "span class=\"mono\"", "span", text);
    html_cell_close(table);
    html_row_close(table);
}

/* One row per leaf: "hardware.caches.0.bytes". */
static void put_facts(html_table *table, const char *prefix, const cJSON *node, int *left)
{
    const cJSON *item;
    int index = 0;
    cJSON_ArrayForEach(item, node)
    {
        char name[256];
        if (item->string)
            snprintf(name, sizeof name, "%.160s.%.80s", prefix, item->string);
        else
            snprintf(name, sizeof name, "%.160s.%d", prefix, index);
        index++;
        if ((*left)-- <= 0) return;
        if (cJSON_IsObject(item) || cJSON_IsArray(item))
            put_facts(table, name, item, left);
        else
            put_fact(table, name, item);
    }
}

void html_put_environment(const report_page *page, dit_buffer *out)
{
    static const char *const groups[] = {"suite", "hardware", "environment", "simulation", "plan", "cmdline"};
    static const html_column columns[] = {{"fact", false, false}, {"value", false, false}};
    const cJSON *session = page->table->session.root;
    html_table table = {.out = out, HTML_COLUMNS(columns)};
    int left = METHOD_FACTS;
    put(out, "<details><summary>The machine, the software and the command of this session</summary>\n");
    html_table_open(&table, "Facts that the journal's first line records.");
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        put_facts(&table, groups[i], dit_json_member(session, groups[i]), &left);
    }
    const cJSON *workload = dit_json_member(session, "workload"), *item;
    cJSON_ArrayForEach(item, workload)
    {
        char name[128];
        snprintf(name, sizeof name, "workload.%.80s", item->string ? item->string : "");
        if (cJSON_IsString(item)) put_fact(&table, name, item);
    }
    html_table_close(&table);
    put(out, "</details>\n");
}
