#include "engine/results/trace_file.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/hash.h"
#include "engine/comm/comm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRACK_THREAD, TRACK_TRANSFERS }; /* "tid" of a rank's two tracks */

dit_status dit_trace_synchronise(dit_trace *t)
{
    int64_t own[2][DIT_TRACE_ROUNDS];
    dit_comm *world = dit_comm_world();
    int64_t *offsets = calloc((size_t)dit_comm_size(world) + 1, sizeof *offsets);
    char *all = NULL;
    dit_status st = offsets ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d clocks", dit_comm_size(world));
    for (int i = 0; i < DIT_TRACE_ROUNDS && st == DIT_OK; i++) {
        own[0][i] = dit_clock_ns();
        st = dit_comm_barrier(world);
        own[1][i] = dit_clock_ns();
    }
    if (st == DIT_OK) st = dit_comm_collect(world, own, sizeof own, &all, offsets);
    if (st == DIT_OK) {
        const int64_t *first = (const int64_t *)(const void *)all;
        if (dit_comm_rank(world) > 0)
            dit_trace_bound_offset(own[0], own[1], first, first + DIT_TRACE_ROUNDS, DIT_TRACE_ROUNDS, &t->clock);
        t->clock.origin_ns = first[2 * DIT_TRACE_ROUNDS - 1];
    }
    free(all);
    free(offsets);
    return st;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* Writes a time in microseconds, with three decimals. */
static void put_us(dit_buffer *out, const char *key, int64_t ns)
{
    int64_t size = ns < 0 ? -ns : ns;
    dit_buffer_printf(out, ",\"%s\":%s%" PRId64 ".%03" PRId64, key, ns < 0 ? "-" : "", size / 1000, size % 1000);
}

static void put_args(const dit_trace_event *event, dit_buffer *out)
{
    const char *separator = "";
    dit_buffer_text(out, ",\"args\":{");
    if (event->step >= 0) dit_buffer_printf(out, "\"step\":%d", event->step), separator = ",";
    if (event->patch >= 0) dit_buffer_printf(out, "%s\"patch\":%d", separator, event->patch), separator = ",";
    if (event->layer >= 0) dit_buffer_printf(out, "%s\"layer\":%d", separator, event->layer), separator = ",";
    if (event->phase) dit_buffer_printf(out, "%s\"phase\":\"%s\"", separator, event->phase), separator = ",";
    if (event->axis) dit_buffer_printf(out, "%s\"axis\":\"%s\"", separator, event->axis), separator = ",";
    if (event->category == DIT_TRACE_COMMUNICATION)
        dit_buffer_printf(out, "%s\"bytes\":%" PRId64, separator, event->bytes);
    dit_buffer_text(out, "}}");
}

static void put_head(const dit_trace_event *event, const char *kind, int rank, int track, dit_buffer *out)
{
    dit_buffer_printf(out, "{\"ph\":\"%s\",\"cat\":\"%s\",\"name\":\"%s", kind,
                      dit_trace_category_name(event->category), event->name);
    if (event->category == DIT_TRACE_LAYER) dit_buffer_printf(out, " %d", event->layer);
    dit_buffer_printf(out, "\",\"pid\":%d,\"tid\":%d", rank, track);
}

/* Writes a transfer as a pair of asynchronous events, which need not nest: transfers overlap. */
static void put_transfer(const dit_trace *t, const dit_trace_event *event, int rank, dit_buffer *out)
{
    int64_t zero = t->clock.origin_ns + t->clock.offset_ns;
    for (int end = 0; end < 2; end++) {
        put_head(event, end ? "e" : "b", rank, TRACK_TRANSFERS, out);
        dit_buffer_printf(out, ",\"id\":\"0x%" PRIx64 "\"", (uint64_t)rank << 32 | event->sequence);
        put_us(out, "ts", (end ? event->end_ns : event->begin_ns) - zero);
        put_args(event, out);
        if (!end) dit_buffer_text(out, ",\n");
    }
}

static void put_event(const dit_trace *t, const dit_trace_event *event, int rank, dit_buffer *out)
{
    if (event->category == DIT_TRACE_COMMUNICATION) {
        put_transfer(t, event, rank, out);
        return;
    }
    put_head(event, "X", rank, TRACK_THREAD, out);
    put_us(out, "ts", event->begin_ns - t->clock.origin_ns - t->clock.offset_ns);
    put_us(out, "dur", event->end_ns - event->begin_ns);
    put_args(event, out);
}

static void put_name(const char *what, int rank, int track, const char *name, dit_buffer *out)
{
    dit_buffer_printf(out, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s\"}},\n", what,
                      rank, track, name);
}

/* Writes the events of a sorted trace as JSON objects, one per line, after the names of the tracks. */
static void print_events(const dit_trace *t, int rank, dit_buffer *out)
{
    char process[32];
    snprintf(process, sizeof process, "rank %d", rank);
    put_name("process_name", rank, TRACK_THREAD, process, out);
    put_name("thread_name", rank, TRACK_THREAD, "compute and waiting", out);
    put_name("thread_name", rank, TRACK_TRANSFERS, "transfers", out);
    dit_buffer_printf(
        out, "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%d,\"tid\":0,\"args\":{\"sort_index\":%d}}", rank,
        rank);
    for (int64_t i = 0; i < dit_trace_held(t); i++) {
        dit_buffer_text(out, ",\n");
        put_event(t, &t->events[i], rank, out);
    }
}

/* Writes one rank's row of "otherData". */
static void print_row(const dit_trace *t, int rank, dit_buffer *out)
{
    dit_buffer_printf(out,
                      "{\"rank\":%d,\"events\":%" PRId64 ",\"dropped\":%" PRId64 ",\"clock_offset_ns\":%" PRId64
                      ",\"clock_uncertainty_ns\":%" PRId64 "}",
                      rank, dit_trace_held(t), dit_trace_dropped(t), t->clock.offset_ns, t->clock.uncertainty_ns);
}

/* Writes the whole document. Rows and events of `count` ranks lie one after the other: rank i has bytes [at[i],
 * at[i + 1]). */
static void print_document(const char *case_id, const char *rows, const int64_t *row_at, const char *events,
                           const int64_t *event_at, int count, dit_buffer *out)
{
    dit_buffer_printf(out,
                      "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"schema\":\"ditbench.trace/1\",\"case_id\":\"%s\","
                      "\"ranks\":[",
                      case_id);
    for (int i = 0; i < count; i++) {
        if (i) dit_buffer_char(out, ',');
        dit_buffer_append(out, rows + row_at[i], (size_t)(row_at[i + 1] - row_at[i]));
    }
    dit_buffer_text(out, "]},\"traceEvents\":[\n");
    for (int i = 0; i < count; i++) {
        if (i) dit_buffer_text(out, ",\n");
        dit_buffer_append(out, events + event_at[i], (size_t)(event_at[i + 1] - event_at[i]));
    }
    dit_buffer_text(out, "\n]}\n");
}

static dit_status write_document(const dit_buffer *document, const char *path, char digest[48])
{
    char hash[DIT_HASH_HEX];
    if (document->failed) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %s", path);
    dit_hash(document->data, document->used, hash);
    snprintf(digest, 48, "xxh3:%s", hash);
    return dit_file_write(path, &(dit_file_piece){document->data, document->used}, 1);
}

static dit_status write_own(const dit_buffer *row, const dit_buffer *events, int rank, const char *case_id,
                            const char *out_folder)
{
    char path[4096], digest[48];
    const int64_t row_at[2] = {0, (int64_t)row->used}, event_at[2] = {0, (int64_t)events->used};
    dit_buffer document = {0};
    if (row->failed || events->failed) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the trace of rank %d", rank);
    print_document(case_id, row->data, row_at, events->data, event_at, 1, &document);
    snprintf(path, sizeof path, "%s/trace-rank-%d.json", out_folder, rank);
    dit_status st = write_document(&document, path, digest);
    dit_buffer_release(&document);
    return st;
}

static dit_status write_merged(const dit_buffer *row, const dit_buffer *events, const char *case_id,
                               const char *out_folder, char digest[48])
{
    dit_comm *world = dit_comm_world();
    size_t size = (size_t)dit_comm_size(world);
    int64_t *at = calloc(2 * (size + 1), sizeof *at);
    char *rows = NULL, *all = NULL, path[4096];
    dit_buffer document = {0};
    dit_status st = at ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %zu traces", size);
    if (st == DIT_OK) st = dit_comm_collect(world, row->data, (int64_t)row->used, &rows, at);
    if (st == DIT_OK) st = dit_comm_collect(world, events->data, (int64_t)events->used, &all, at + size + 1);
    if (st == DIT_OK && dit_comm_rank(world) == 0) {
        print_document(case_id, rows, at, all, at + size + 1, (int)size, &document);
        snprintf(path, sizeof path, "%s/trace.json", out_folder);
        st = write_document(&document, path, digest);
    }
    dit_buffer_release(&document);
    free(rows);
    free(all);
    free(at);
    return st;
}

dit_status dit_trace_write(const dit_trace *t, const char *case_id, const char *out_folder, char digest[48])
{
    int rank = dit_comm_rank(dit_comm_world());
    dit_buffer row = {0}, events = {0};
    print_row(t, rank, &row);
    print_events(t, rank, &events);
    dit_status st = write_own(&row, &events, rank, case_id, out_folder);
    if (st == DIT_OK) st = write_merged(&row, &events, case_id, out_folder, digest);
    dit_buffer_release(&row);
    dit_buffer_release(&events);
    return st;
}
