#include "reports/layout/footer.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

const char *report_whiskers(const report_grid *grid, const report_figure_kind *kind)
{
    bool some = false, few = false;
    if (kind->whiskers) return kind->whiskers;
    for (int i = 0; i < grid->count && !kind->parts; i++) {
        const report_cell *cell = &grid->cells[i];
        if (report_case_is_published(cell->kase) || cell->bar.n < 2 || !cell->bar.has_interval) continue;
        *(cell->bar.low_n ? &few : &some) = true;
    }
    if (some && few)
        return "interval of the median (order statistics, at least 95 %); range where there are fewer than 6 processes";
    if (some) return "interval of the median (order statistics, at least 95 %)";
    return few ? "range of the processes" : NULL;
}

/* "measured · n = 3 to 6 processes a case"; nothing for a figure without measured cases. */
static void write_measured(const report_grid *grid, const report_figure_kind *kind, dit_buffer *out)
{
    const char *whiskers = report_whiskers(grid, kind);
    dit_buffer_printf(out, "measured · n = %d", grid->n_min);
    if (grid->n_max != grid->n_min) dit_buffer_printf(out, " to %d", grid->n_max);
    dit_buffer_printf(out, " process%s a case", grid->n_max == 1 ? "" : "es");
    if (whiskers) dit_buffer_printf(out, " · whiskers: %s", whiskers);
    if (grid->low_n) dit_buffer_text(out, " · * n < 6: no verdict");
    if (kind->unit == REPORT_UNIT_SECONDS && grid->oversubscribed) {
        bool marked = kind->drawing == REPORT_DRAW_BARS; /* lines carry no marks */
        dit_buffer_printf(out, " · %s ranks share cores (oversubscribed)", marked ? "†" : "some");
    }
}

/* The values that a tag has in the figure's simulated cases: "8xl20, 8xl40". */
static void write_values(const report_grid *grid, const char *tag, dit_buffer *out)
{
    enum { MOST = 4 };
    char value[REPORT_TAG_TEXT], seen[MOST][REPORT_TAG_TEXT];
    int count = 0;
    for (int i = 0; i < grid->count; i++) {
        bool known = !report_case_is_simulated(grid->cells[i].kase) ||
                     !report_case_tag(grid->cells[i].kase, tag, value, sizeof value);
        for (int k = 0; k < count && !known; k++) known = strcmp(seen[k], value) == 0;
        if (known) continue;
        if (count == MOST) {
            dit_buffer_text(out, ", ...");
            return;
        }
        snprintf(seen[count], sizeof seen[count], "%s", value);
        dit_buffer_printf(out, "%s%s", count++ ? ", " : "", value);
    }
}

static bool has_projection(const report_grid *grid)
{
    for (int i = 0; i < grid->count; i++)
        if (grid->cells[i].kase->projection) return true;
    return false;
}

/* What no hardware made names what was simulated instead: the machine and the software. */
static void write_simulated(const report_grid *grid, dit_buffer *out)
{
    dit_buffer_text(out, "simulated: virtual time of a cost model · platform ");
    write_values(grid, "platform", out);
    dit_buffer_text(out, " · software ");
    write_values(grid, "profile", out);
    if (has_projection(grid))
        dit_buffer_text(out, "\nprojection: too little of this software has been measured on GPUs");
}

/* Which evidence the picture shows, and how it is told apart. */
static void write_evidence(const report_grid *grid, const report_figure_kind *kind, dit_buffer *out)
{
    if (grid->measured) write_measured(grid, kind, out);
    if (grid->measured && grid->simulated) dit_buffer_text(out, " · ");
    if (grid->simulated) write_simulated(grid, out);
    if (grid->published) dit_buffer_text(out, " · hollow: published");
}

static bool ran_on_devices(const report_table *table)
{
    for (int i = 0; i < table->case_count; i++)
        if (table->cases[i].metric[REPORT_DEVICE_RESERVED_BYTES].n) return true;
    return false;
}

static void write_hardware(const report_table *table, dit_buffer *out)
{
    const cJSON *gpus = dit_json_member(dit_json_member(table->session.root, "hardware"), "gpus");
    const char *gpu = ran_on_devices(table) ? dit_json_text_or(cJSON_GetArrayItem(gpus, 0), "name", "") : "";
    dit_buffer_printf(out, " · %s%shardware %.12s", gpu, *gpu ? ", " : "",
                      report_session_text(table, "hardware/hardware_id"));
}

void report_footer_write(const report_table *table, const report_grid *grid, const report_figure_kind *kind, bool bare,
                         dit_buffer *out)
{
    const cJSON *suite = dit_json_member(table->session.root, "suite");
    bool dirty = dit_json_is_true(suite, "dirty");
    write_evidence(grid, kind, out);
    if (bare) return;
    dit_buffer_printf(out, "\ncommit %.40s%s", report_session_text(table, "suite/commit"), dirty ? " (dirty)" : "");
    if (grid->measured) write_hardware(table, out);
    dit_buffer_printf(out, " · session %.80s", report_session_text(table, "session_id"));
}
