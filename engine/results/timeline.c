#include "engine/results/timeline.h"

#include "base/json_writer.h"

#include "engine/results/trace_file.h"

#include <stdlib.h>

/* What a rank reports about its trace. Plain data: ranks send it as bytes. */
typedef struct {
    int64_t latency_ns, compute_ns, linear_ns, attention_ns, waiting_ns, transfer_ns;
    int64_t exposed_ns; /* as the counters have it, which do not depend on the trace */
    int64_t events, dropped, loop_allocations;
    dit_trace_clock clock;
} timeline_row;

static timeline_row describe(const dit_runtime *rt, const dit_trace *trace, int64_t latency_ns, int64_t allocations)
{
    return (timeline_row){
        .latency_ns = latency_ns,
        .compute_ns = dit_trace_total_ns(trace, DIT_TRACE_COMPUTE, NULL),
        .linear_ns = dit_trace_total_ns(trace, DIT_TRACE_COMPUTE, "linear"),
        .attention_ns = dit_trace_total_ns(trace, DIT_TRACE_COMPUTE, "attention"),
        .waiting_ns = dit_trace_total_ns(trace, DIT_TRACE_WAIT, NULL),
        .transfer_ns = dit_trace_total_ns(trace, DIT_TRACE_COMMUNICATION, NULL),
        .exposed_ns = dit_comm_exposed_ns(&rt->counters),
        .events = dit_trace_held(trace),
        .dropped = dit_trace_dropped(trace),
        .loop_allocations = allocations,
        .clock = trace->clock,
    };
}

static void add_row(dit_json_writer *w, cJSON *list, int rank, const timeline_row *row)
{
    const struct {
        const char *key;
        int64_t value;
    } members[] = {
        {"rank", rank},
        {"latency_ns", row->latency_ns},
        {"compute_ns", row->compute_ns},
        {"linear_ns", row->linear_ns},
        {"attention_ns", row->attention_ns},
        {"waiting_ns", row->waiting_ns},
        {"transfer_ns", row->transfer_ns},
        {"exposed_communication_ns", row->exposed_ns},
        {"events", row->events},
        {"dropped", row->dropped},
        {"loop_allocations", row->loop_allocations},
        {"clock_offset_ns", row->clock.offset_ns},
        {"clock_uncertainty_ns", row->clock.uncertainty_ns},
    };
    cJSON *object = dit_json_put_object(w, list, NULL);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        dit_json_put_int(w, object, members[i].key, members[i].value);
}

static void add_rows(dit_json_writer *w, cJSON *record, const timeline_row *rows, int size, const char *digest)
{
    int64_t longest = 0;
    if (!record) return;
    cJSON *trace = dit_json_put_object(w, record, "trace");
    for (int rank = 0; rank < size; rank++)
        if (rows[rank].latency_ns > longest) longest = rows[rank].latency_ns;
    dit_json_put_string(w, trace, "file", "trace.json");
    dit_json_put_string(w, trace, "digest", digest);
    dit_json_put_int(w, trace, "latency_ns", longest);
    cJSON *list = dit_json_put_array(w, trace, "ranks");
    for (int rank = 0; rank < size; rank++) add_row(w, list, rank, &rows[rank]);
}

static dit_status add_trace(cJSON *record, const timeline_row *own, const char *digest)
{
    dit_json_writer w = {0};
    dit_comm *world = dit_comm_world();
    char *rows = NULL;
    int64_t *offsets = calloc((size_t)dit_comm_size(world) + 1, sizeof *offsets);
    dit_status st = offsets ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d traces", dit_comm_size(world));
    if (st == DIT_OK) st = dit_comm_collect(world, own, sizeof *own, &rows, offsets);
    if (st == DIT_OK) add_rows(&w, record, (const timeline_row *)(const void *)rows, dit_comm_size(world), digest);
    free(rows);
    free(offsets);
    return st == DIT_OK ? w.status : st;
}

static dit_status take(const dit_timeline_params *params, dit_trace *trace, cJSON *record)
{
    dit_runtime *rt = params->rt;
    int64_t latency_ns = 0;
    char digest[48] = "";
    DIT_TRY(dit_trace_init(trace, DIT_TRACE_CAPACITY));
    DIT_TRY(dit_trace_synchronise(trace));
    dit_runtime_reset_account(rt);
    int64_t calls = rt->ledger.calls + trace->ledger.calls;
    dit_runtime_set_trace(rt, trace);
    dit_status st = params->run(params->context, &latency_ns);
    dit_runtime_set_trace(rt, NULL);
    DIT_TRY(st);
    calls = rt->ledger.calls + trace->ledger.calls - calls;
    dit_trace_sort(trace);
    timeline_row row = describe(rt, trace, latency_ns, calls);
    DIT_TRY(dit_trace_write(trace, params->case_id, params->out_folder, digest));
    return add_trace(record, &row, digest);
}

dit_status dit_timeline_take(const dit_timeline_params *params, cJSON *record)
{
    dit_trace trace = {0};
    dit_status st = take(params, &trace, record);
    dit_trace_release(&trace);
    return st;
}
