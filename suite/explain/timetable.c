#include "suite/explain/timetable.h"

#include "base/json_writer.h"
#include "base/patches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_STEPS = 2, CELL = 16 };

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- the rules --------------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t stages, bands, steps; /* steps: the stale ones       */
    int64_t *start;               /* [steps][bands][stages] ticks */
    int64_t ticks;                /* until all is done            */
} timetable;

static int64_t *place_of(const timetable *t, int64_t step, int64_t band, int64_t stage)
{
    return &t->start[(step * t->bands + band) * t->stages + stage];
}

/* The tick after that in which a place is worked on; 0 for what lies before the first step. */
static int64_t done(const timetable *t, int64_t step, int64_t band, int64_t stage)
{
    return step < 0 ? 0 : *place_of(t, step, band, stage) + 1;
}

static int64_t earliest(const timetable *t, int64_t step, int64_t band, int64_t stage)
{
    int64_t own = band ? done(t, step, band - 1, stage) : done(t, step - 1, t->bands - 1, stage);
    int64_t input = stage ? done(t, step, band, stage - 1) : done(t, step - 1, band, t->stages - 1);
    return larger(own, input);
}

/* Makes the timetable by the rules of timetable.h. Errors: DIT_ERR_MEMORY. */
static dit_status make_timetable(int64_t stages, int64_t bands, int64_t steps, timetable *out)
{
    *out = (timetable){.stages = stages, .bands = bands, .steps = steps};
    out->start = calloc((size_t)(stages * bands * steps) + 1, sizeof *out->start);
    if (!out->start) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a timetable");
    for (int64_t step = 0; step < steps; step++)
        for (int64_t band = 0; band < bands; band++)
            for (int64_t stage = 0; stage < stages; stage++)
                *place_of(out, step, band, stage) = earliest(out, step, band, stage);
    if (steps > 0) out->ticks = done(out, steps - 1, bands - 1, stages - 1);
    return DIT_OK;
}

static void release_timetable(timetable *table)
{
    free(table->start);
    *table = (timetable){0};
}

/* The number of ticks by the closed form: steps M + P - 1 where M >= P; else (steps - 1) P + M + P - 1. 0 without
 * steps. */
static int64_t count_ticks(int64_t stages, int64_t bands, int64_t steps)
{
    return steps > 0 ? (steps - 1) * larger(bands, stages) + bands + stages - 1 : 0;
}

/* ---- as JSON ----------------------------------------------------------------------------------------------------- */

/* A line of cells, one a tick; `width` characters each after a name. */
static void write_cell(char *line, int width, int64_t tick, const char *text)
{
    size_t length = strlen(text);
    memcpy(line + 8 + tick * width, text, length < (size_t)width ? length : (size_t)width);
}

static void begin_line(char *line, size_t length, const char *name)
{
    memset(line, ' ', length);
    line[length] = '\0';
    memcpy(line, name, strlen(name));
}

static void add_line(dit_json_writer *w, cJSON *rows, char *line)
{
    size_t length = strlen(line);
    while (length && line[length - 1] == ' ') line[--length] = '\0';
    dit_json_put_string(w, rows, NULL, line);
}

static void add_stage(dit_json_writer *w, const timetable *t, int64_t first_step, int64_t stage, int width, char *line,
                      size_t length, cJSON *rows)
{
    char text[3 * CELL];
    snprintf(text, sizeof text, "stage %lld", (long long)stage);
    begin_line(line, length, text);
    for (int64_t tick = 0; tick < t->ticks; tick++) write_cell(line, width, tick, ".");
    for (int64_t step = 0; step < t->steps; step++)
        for (int64_t band = 0; band < t->bands; band++) {
            snprintf(text, sizeof text, "%lld.%lld", (long long)(first_step + step), (long long)band);
            write_cell(line, width, *place_of(t, step, band, stage), text);
        }
    add_line(w, rows, line);
}

static void add_table(dit_json_writer *w, const timetable *t, int64_t first_step, cJSON *rows)
{
    char text[3 * CELL];
    int width = 1 + snprintf(text, sizeof text, "%lld.%lld", (long long)(first_step + t->steps), (long long)t->bands);
    size_t length = 8 + (size_t)(t->ticks * width);
    char *line = malloc(length + 1);
    if (!line) {
        dit_json_put_status(w, DIT_FAIL(DIT_ERR_MEMORY, "no memory for a schedule"));
        return;
    }
    begin_line(line, length, "tick");
    for (int64_t tick = 0; tick < t->ticks; tick++) {
        snprintf(text, sizeof text, "%lld", (long long)tick);
        write_cell(line, width, tick, text);
    }
    add_line(w, rows, line);
    for (int64_t stage = 0; stage < t->stages; stage++) add_stage(w, t, first_step, stage, width, line, length, rows);
    free(line);
}

static dit_status add_first_steps(const dit_parallel *parallel, const dit_facts *facts, int64_t stages, cJSON *out)
{
    dit_json_writer w = {0};
    timetable table;
    int64_t stale = dit_parallel_stale_steps(parallel, facts);
    cJSON *rows = dit_json_put_array(&w, out, "rows");
    dit_status st =
        make_timetable(stages, dit_parallel_bands(parallel, facts), stale < SHOWN_STEPS ? stale : SHOWN_STEPS, &table);
    if (st == DIT_OK && stale) add_table(&w, &table, facts->steps - stale, rows);
    release_timetable(&table);
    return st == DIT_OK ? w.status : st;
}

static void add_stages(dit_json_writer *w, const dit_parallel *parallel, const dit_facts *facts, int64_t stages,
                       cJSON *out)
{
    cJSON *blocks = dit_json_put_array(w, out, "stage_blocks");
    for (int stage = 0; stage < stages; stage++)
        dit_json_put_int(w, blocks, NULL, dit_parallel_stage(parallel, facts, stage).count);
}

/* Adds what a run of T steps gains over one rank, and the most that P stages can gain: T / (W + (T - W) / P). */
static void add_speed(dit_json_writer *w, const dit_parallel *parallel, const dit_facts *facts, int64_t stages,
                      cJSON *out)
{
    double steps = (double)facts->steps, stale = dit_parallel_stale_steps(parallel, facts), whole = steps - stale;
    double bands = (double)dit_parallel_bands(parallel, facts), P = (double)stages;
    double ticks = (double)count_ticks(stages, (int64_t)bands, (int64_t)stale);
    double fill = dit_parallel_has_fill(parallel, facts) ? 1 : 0;
    dit_json_put_number(w, out, "ticks", ticks);
    dit_json_put_number(w, out, "efficiency", ticks > 0 ? stale * bands / ticks : 1 / P);
    dit_json_put_number(w, out, "speed_up", steps / (whole + fill + ticks / (P * bands)));
    dit_json_put_number(w, out, "speed_up_bound", steps / (whole + stale / P));
}

dit_status suite_timetable_to_json(const dit_parallel *parallel, const dit_facts *facts, cJSON *parent)
{
    dit_json_writer w = {0};
    int64_t stages = parallel->degree[DIT_AXIS_PIPEFUSION], stale = dit_parallel_stale_steps(parallel, facts);
    cJSON *out = dit_json_put_object(&w, parent, "schedule");
    dit_json_put_int(&w, out, "stages", stages);
    dit_json_put_int(&w, out, "bands", dit_parallel_bands(parallel, facts));
    dit_json_put_int(&w, out, "warmup_steps", facts->steps - stale);
    dit_json_put_bool(&w, out, "fill", dit_parallel_has_fill(parallel, facts));
    dit_json_put_int(&w, out, "stale_steps", stale);
    add_speed(&w, parallel, facts, stages, out);
    add_stages(&w, parallel, facts, stages, out);
    dit_json_put_status(&w, add_first_steps(parallel, facts, stages, out));
    return w.status;
}
