/* Google Benchmark JSON: a process of a case is a repetition of a benchmark, so that compare.py can test samples. There
 * is no processor time; cpu_time repeats real_time, because compare.py insists on one. */
#include "suite/export/export.h"

#include "base/json_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What the rows of one case share. */
typedef struct {
    dit_json_writer *w;
    cJSON *list;
    const report_case *kase;
    char name[SUITE_EXPORT_NAME];
    int family;
} benchmark;

static cJSON *put_row(const benchmark *b, const char *name, const char *type, int repetitions)
{
    cJSON *row = dit_json_put_object(b->w, b->list, NULL);
    dit_json_put_string(b->w, row, "name", name);
    dit_json_put_int(b->w, row, "family_index", b->family);
    dit_json_put_int(b->w, row, "per_family_instance_index", 0);
    dit_json_put_string(b->w, row, "run_name", b->name);
    dit_json_put_string(b->w, row, "run_type", type);
    dit_json_put_int(b->w, row, "repetitions", repetitions);
    return row;
}

static void put_time(const benchmark *b, cJSON *row, double seconds)
{
    dit_json_put_int(b->w, row, "threads", 1);
    dit_json_put_int(b->w, row, "iterations", 1);
    dit_json_put_number(b->w, row, "real_time", seconds * 1e3);
    dit_json_put_number(b->w, row, "cpu_time", seconds * 1e3);
    dit_json_put_string(b->w, row, "time_unit", "ms");
    dit_json_put_string(b->w, row, "label", b->kase->evidence);
}

static void put_aggregate(const benchmark *b, const char *which, double seconds)
{
    char name[SUITE_EXPORT_NAME + 16];
    snprintf(name, sizeof name, "%s_%s", b->name, which);
    cJSON *row = put_row(b, name, "aggregate", b->kase->metric[REPORT_LATENCY].n);
    dit_json_put_string(b->w, row, "aggregate_name", which);
    dit_json_put_string(b->w, row, "aggregate_unit", "time");
    put_time(b, row, seconds);
}

static void put_case(const benchmark *b)
{
    const dit_summary *latency = &b->kase->metric[REPORT_LATENCY];
    int index = 0;
    char why[600];
    suite_export_failure(b->kase, why, sizeof why);
    if (!latency->n) {
        cJSON *row = put_row(b, b->name, "iteration", 1);
        dit_json_put_int(b->w, row, "repetition_index", 0);
        dit_json_put_bool(b->w, row, "error_occurred", true);
        dit_json_put_string(b->w, row, "error_message", why[0] ? why : "no latency");
        put_time(b, row, 0);
        return;
    }
    for (int i = 0; i < b->kase->process_count; i++) {
        double seconds = b->kase->processes[i].metric[REPORT_LATENCY];
        if (b->kase->processes[i].status != DIT_OUTCOME_OK || !isfinite(seconds)) continue;
        cJSON *row = put_row(b, b->name, "iteration", latency->n);
        dit_json_put_int(b->w, row, "repetition_index", index++);
        put_time(b, row, seconds);
    }
    if (latency->n > 1) put_aggregate(b, "mean", latency->mean);
    if (latency->n > 1) put_aggregate(b, "median", latency->median);
    if (latency->n > 1) put_aggregate(b, "stddev", latency->sd);
}

static void put_context(dit_json_writer *w, cJSON *root, const report_table *table, const char *session)
{
    cJSON *context = dit_json_put_object(w, root, "context");
    const cJSON *hardware = dit_json_member(table->session.root, "hardware");
    dit_json_put_string(w, context, "date", report_session_text(table, "started"));
    dit_json_put_string(w, context, "host_name", report_session_text(table, "hardware/hardware_id"));
    dit_json_put_string(w, context, "executable", "ditbench");
    dit_json_put_int(w, context, "num_cpus", dit_json_int_or(hardware, "cores", 0));
    dit_json_put_int(w, context, "mhz_per_cpu", 0);
    dit_json_put_bool(w, context, "cpu_scaling_enabled", false);
    dit_json_put_array(w, context, "caches");
    dit_json_put_array(w, context, "load_avg");
    dit_json_put_string(w, context, "library_version", report_session_text(table, "suite/version"));
    dit_json_put_string(w, context, "library_build_type", "release");
    dit_json_put_int(w, context, "json_schema_version", 1);
    dit_json_put_string(w, context, "ditbench_session", session);
    dit_json_put_string(w, context, "ditbench_cpu_time", "repeats real_time: processor time is not measured");
}

static dit_status write_google_benchmark(const report_table *table, const char *session, dit_buffer *out)
{
    dit_json_writer w = {0};
    cJSON *root = dit_json_new_object(&w);
    put_context(&w, root, table, session);
    benchmark b = {.w = &w, .list = dit_json_put_array(&w, root, "benchmarks")};
    for (int i = 0; i < table->case_count; i++) {
        b.kase = &table->cases[i];
        if (report_case_is_oracle(b.kase) || b.kase->status == DIT_OUTCOME_SKIPPED) continue;
        suite_export_case_name(b.kase, b.name);
        put_case(&b);
        b.family++;
    }
    return suite_export_document(&w, root, out);
}

const suite_export_format suite_export_google_benchmark = {.name = "google-benchmark",
                                                           .meaning = "JSON of Google Benchmark, for its compare.py",
                                                           .write = write_google_benchmark};
