#include "reports/records/journal.h"

#include "base/file.h"
#include "base/json.h"
#include "reports/records/agreement.h"
#include "reports/records/published.h"
#include "reports/records/ranks.h"
#include "reports/pictures/shown.h"
#include "reports/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char records_schema[] = "ditbench.journal/1", record_schema[] = "ditbench.record/1";
static const size_t records_limit = (size_t)4 << 30;
static const double records_number_limit = 1e30;
enum { RECORDS_RANKS = 1 << 24, RECORDS_BUCKETS = 1 << 14, RECORDS_PUBLISHED = 10000 };

/* ---- growing and giving back ------------------------------------------------------------------------------------- */

/* Makes room for one more element in *array. */
static dit_status grow(void **array, int count, int *capacity, size_t size)
{
    if (count < *capacity) return DIT_OK;
    int wanted = *capacity ? *capacity * 2 : 8;
    void *grown = realloc(*array, (size_t)wanted * size);
    if (!grown) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d table rows", wanted);
    memset((char *)grown + (size_t)count * size, 0, (size_t)(wanted - count) * size);
    *array = grown;
    *capacity = wanted;
    return DIT_OK;
}

static dit_status set_text(char **place, const char *text)
{
    char *copy = report_copy(text);
    if (!copy) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a text");
    free(*place);
    *place = copy;
    return DIT_OK;
}

/* ---- finding cases ----------------------------------------------------------------------------------------------- */

static uint32_t bucket_of(const report_table *table, const char *case_id)
{
    uint32_t hash = 2166136261u;
    for (; *case_id; case_id++) hash = (hash ^ (unsigned char)*case_id) * 16777619u;
    return hash & (uint32_t)(table->bucket_count - 1);
}

static void index_case(report_table *table, int index)
{
    uint32_t slot = bucket_of(table, table->cases[index].case_id);
    while (table->buckets[slot]) slot = (slot + 1) & (uint32_t)(table->bucket_count - 1);
    table->buckets[slot] = index + 1;
}

static dit_status grow_index(report_table *table)
{
    if (table->case_count * 2 < table->bucket_count) return DIT_OK;
    int wanted = table->bucket_count ? table->bucket_count * 2 : RECORDS_BUCKETS;
    int *buckets = calloc((size_t)wanted, sizeof *buckets);
    if (!buckets) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for an index of %d cases", wanted);
    free(table->buckets);
    table->buckets = buckets;
    table->bucket_count = wanted;
    for (int i = 0; i < table->case_count; i++) index_case(table, i);
    return DIT_OK;
}

static report_case *find_case(const report_table *table, const char *case_id)
{
    for (uint32_t slot = bucket_of(table, case_id); table->buckets[slot];
         slot = (slot + 1) & (uint32_t)(table->bucket_count - 1)) {
        report_case *kase = &table->cases[table->buckets[slot] - 1];
        if (strcmp(kase->case_id, case_id) == 0) return kase;
    }
    return NULL;
}

static dit_status find_or_add_case(report_table *table, const char *case_id, report_case **out)
{
    DIT_TRY(grow_index(table));
    *out = find_case(table, case_id);
    if (*out) return DIT_OK;
    DIT_TRY(grow((void **)&table->cases, table->case_count, &table->case_capacity, sizeof *table->cases));
    report_case *kase = &table->cases[table->case_count];
    DIT_TRY(set_text(&kase->case_id, case_id));
    index_case(table, table->case_count++);
    *out = kase;
    return DIT_OK;
}

/* ---- one result line --------------------------------------------------------------------------------------------- */

static dit_status read_status(const dit_json *doc, dit_outcome *out)
{
    const char *word = NULL;
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "status", &word));
    if (dit_outcome_from_name(word, out)) return DIT_OK;
    return dit_json_fail_word(doc, "/status", "status", word, dit_outcome_names());
}

static dit_status copy_member(const dit_json *doc, const cJSON *object, const char *pointer, const char *key,
                              char **out)
{
    const char *text = "";
    DIT_TRY(dit_json_optional_string(doc, object, pointer, key, &text));
    return set_text(out, text);
}

static dit_status read_failure(const dit_json *doc, report_case *kase, bool *failed)
{
    const cJSON *error = NULL;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "error", &error));
    *failed = error != NULL;
    if (!error || kase->failure.code) return DIT_OK;
    DIT_TRY(copy_member(doc, error, "/error", "code", &kase->failure.code));
    DIT_TRY(copy_member(doc, error, "/error", "message", &kase->failure.message));
    DIT_TRY(copy_member(doc, error, "/error", "hint", &kase->failure.hint));
    DIT_TRY(copy_member(doc, error, "/error", "phase", &kase->failure.phase));
    return copy_member(doc, error, "/error", "log", &kase->failure.log);
}

static dit_status read_traffic_row(const dit_json *doc, const cJSON *row, const char *pointer, report_traffic *out)
{
    const double most = records_number_limit;
    DIT_TRY(copy_member(doc, row, pointer, "axis", &out->axis));
    DIT_TRY(copy_member(doc, row, pointer, "collective", &out->collective));
    DIT_TRY(copy_member(doc, row, pointer, "phase", &out->phase));
    DIT_TRY(dit_json_optional_number(doc, row, pointer, "bytes", 0, most, &out->bytes));
    DIT_TRY(dit_json_optional_number(doc, row, pointer, "predicted_bytes", 0, most, &out->predicted_bytes));
    DIT_TRY(dit_json_optional_number(doc, row, pointer, "messages", 0, most, &out->messages));
    return dit_json_optional_number(doc, row, pointer, "predicted_messages", 0, most, &out->predicted_messages);
}

static dit_status read_traffic(const dit_json *doc, const cJSON *record, report_case *kase)
{
    report_rank_rows busiest;
    const cJSON *row;
    bool match = true, oversubscribed = false;
    int capacity = 0;
    DIT_TRY(report_busiest_rank(doc, record, "/record", &busiest));
    DIT_TRY(dit_json_optional_bool(doc, record, "/record", "communication_match", &match));
    DIT_TRY(dit_json_optional_bool(doc, record, "/record", "oversubscribed", &oversubscribed));
    if (!match) kase->communication_mismatch = true;
    if (oversubscribed) kase->oversubscribed = true;
    report_traffic_release(kase);
    cJSON_ArrayForEach(row, busiest.rows)
    {
        char pointer[300];
        snprintf(pointer, sizeof pointer, "%s/%d", busiest.pointer, kase->traffic_count);
        DIT_TRY(grow((void **)&kase->traffic, kase->traffic_count, &capacity, sizeof *kase->traffic));
        DIT_TRY(read_traffic_row(doc, row, pointer, &kase->traffic[kase->traffic_count++]));
    }
    return DIT_OK;
}

static dit_status read_trace_row(const dit_json *doc, const cJSON *row, const char *pointer, report_trace *out)
{
    double linear = 0, attention = 0, compute = 0, waiting = 0, uncertainty = 0, dropped = 0;
    const double most = records_number_limit;
    DIT_TRY(dit_json_optional_number(doc, row, pointer, "linear_ns", 0, most, &linear));
    DIT_TRY(dit_json_optional_number(doc, row, pointer, "attention_ns", 0, most, &attention));
    DIT_TRY(dit_json_optional_number(doc, row, pointer, "compute_ns", 0, most, &compute));
    DIT_TRY(dit_json_optional_number(doc, row, pointer, "waiting_ns", 0, most, &waiting));
    DIT_TRY(dit_json_optional_number(doc, row, pointer, "clock_uncertainty_ns", 0, most, &uncertainty));
    DIT_TRY(dit_json_optional_number(doc, row, pointer, "dropped", 0, most, &dropped));
    out->linear_s += linear * 1e-9;
    out->attention_s += attention * 1e-9;
    out->other_s += (compute - linear - attention) * 1e-9;
    out->waiting_s += waiting * 1e-9;
    out->dropped += dropped;
    out->clock_uncertainty_s = fmax(out->clock_uncertainty_s, uncertainty * 1e-9);
    return DIT_OK;
}

/* The path is completed when the journal's place is known. */
static dit_status read_trace(const dit_json *doc, const cJSON *record, int64_t process, report_case *kase)
{
    const cJSON *trace = NULL, *rows = NULL, *row;
    const char *at = "/record/trace", *digest = NULL;
    int count = 0;
    DIT_TRY(dit_json_optional_object(doc, record, "/record", "trace", &trace));
    report_trace_release(&kase->trace);
    if (!trace) return DIT_OK;
    DIT_TRY(dit_json_require_string(doc, trace, at, "digest", &digest));
    DIT_TRY(dit_json_optional_array(doc, trace, at, "ranks", &rows));
    cJSON_ArrayForEach(row, rows)
    {
        char pointer[64];
        snprintf(pointer, sizeof pointer, "/record/trace/ranks/%d", count++);
        DIT_TRY(read_trace_row(doc, row, pointer, &kase->trace));
    }
    double *const sums[] = {&kase->trace.linear_s, &kase->trace.attention_s, &kase->trace.other_s,
                            &kase->trace.waiting_s};
    for (size_t i = 0; i < sizeof sums / sizeof *sums && count; i++) *sums[i] /= count;
    kase->trace.process = process;
    return set_text(&kase->trace.digest, digest);
}

static dit_status read_probe(const dit_json *doc, const cJSON *record, int64_t process, report_case *kase)
{
    const cJSON *probe = NULL;
    const char *digest = NULL;
    DIT_TRY(dit_json_optional_object(doc, record, "/record", "probe", &probe));
    report_probe_file_release(&kase->probe);
    if (!probe) return DIT_OK;
    DIT_TRY(dit_json_require_string(doc, probe, "/record/probe", "digest", &digest));
    kase->probe.process = process;
    return set_text(&kase->probe.digest, digest);
}

/* A digit and a letter for each step, which figures draw. */
static dit_status read_decisions(const dit_json *doc, const cJSON *record, report_case *kase)
{
    enum { MOST_STEPS = 10000 };
    const cJSON *cache = NULL;
    const char *digits = NULL, *reasons = NULL;
    DIT_TRY(dit_json_optional_object(doc, record, "/record", "cache", &cache));
    report_decisions_release(&kase->decisions);
    if (!cache) return DIT_OK;
    DIT_TRY(dit_json_optional_string(doc, cache, "/record/cache", "decisions", &digits));
    DIT_TRY(dit_json_optional_string(doc, cache, "/record/cache", "reasons", &reasons));
    if (!digits || !reasons) return DIT_OK;
    size_t steps = strlen(digits);
    if (strspn(digits, "01") != steps || strlen(reasons) != steps || strspn(reasons, ".wfmkt") != steps ||
        steps > MOST_STEPS)
        return dit_json_fail(doc, "/record/cache/decisions", DIT_ERR_JSON_VALUE,
                             "a digit, and in \"reasons\" one of the letters w, f, m, k, t and \".\", for each step "
                             "expected");
    DIT_TRY(set_text(&kase->decisions.digits, digits));
    return set_text(&kase->decisions.reasons, reasons);
}

/* What the records of a line's case must say: "simulated" where the cost model stands for the hardware. */
static dit_status read_backend(const dit_json *doc, const char **out)
{
    const cJSON *kase = NULL, *platform = NULL;
    *out = "";
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "case", &kase));
    if (kase) DIT_TRY(dit_json_optional_object(doc, kase, "/case", "platform", &platform));
    return platform ? dit_json_optional_string(doc, platform, "/case/platform", "backend", out) : DIT_OK;
}

/* The cost model is of an accelerator; the only one that is none is called after the processor. */
static dit_status read_place(const dit_json *doc, const cJSON *record, report_case *kase)
{
    const cJSON *simulation = NULL;
    const char *backend = "", *accelerator = "";
    DIT_TRY(read_backend(doc, &backend));
    DIT_TRY(dit_json_optional_object(doc, record, "/record", "simulation", &simulation));
    if (simulation)
        DIT_TRY(dit_json_optional_string(doc, simulation, "/record/simulation", "accelerator", &accelerator));
    bool cost = strcmp(backend, "cost") == 0, gpus = strcmp(backend, "cuda") == 0;
    if (cost && !accelerator[0]) return DIT_OK;
    kase->place = gpus || (cost && strncmp(accelerator, "cpu", 3) != 0) ? REPORT_ON_GPUS : REPORT_ON_CORES;
    return DIT_OK;
}

/* Where a case stands by its lines: one that is measured here and simulated there is no case. */
static dit_status describe_evidence(const dit_json *doc, report_case *kase)
{
    const char *backend = NULL;
    DIT_TRY(read_backend(doc, &backend));
    const char *expected = strcmp(backend, "cost") == 0 ? "simulated" : "measured";
    if (!kase->evidence) return set_text(&kase->evidence, expected);
    if (strcmp(kase->evidence, expected) == 0 || report_case_is_fake(kase)) return DIT_OK;
    return dit_json_fail(doc, "/case", DIT_ERR_JSON_VALUE, "this case is %s here and %s in an earlier line", expected,
                         kase->evidence);
}

/* What a made-up engine says is no result of anybody's; a case in which one process is made up is made up. */
static dit_status take_fake(const dit_json *doc, report_case *kase)
{
    if (report_takes_fake()) return set_text(&kase->evidence, DIT_EVIDENCE_FAKE);
    return dit_json_fail(doc, "/record/evidence", DIT_ERR_INTEGRITY,
                         "the fake engine made these numbers up: they are never drawn, compared or judged, except by "
                         "tests of the harness (DITBENCH_HARNESS_TEST=1)");
}

/* A record must say what its case is. */
static dit_status check_evidence(const dit_json *doc, const cJSON *record, report_case *kase)
{
    const char *evidence = "measured";
    const cJSON *simulation = NULL;
    DIT_TRY(dit_json_optional_string(doc, record, "/record", "evidence", &evidence));
    DIT_TRY(dit_json_optional_object(doc, record, "/record", "simulation", &simulation));
    if (strcmp(evidence, DIT_EVIDENCE_FAKE) == 0 && !report_case_is_simulated(kase)) return take_fake(doc, kase);
    if (strcmp(evidence, kase->evidence) != 0 && !report_case_is_fake(kase)) {
        return dit_json_fail(doc, "/record/evidence", DIT_ERR_JSON_VALUE,
                             "the record says \"%.60s\", but the platform of its case makes it %s", evidence,
                             kase->evidence);
    }
    if (!simulation || report_case_is_simulated(kase)) return DIT_OK;
    return dit_json_fail(doc, "/record/simulation", DIT_ERR_JSON_VALUE, "a measured record holds no simulation");
}

/* Tags and label come from the first line of a case. */
static dit_status describe_case(const dit_json *doc, report_case *kase)
{
    const cJSON *tags = NULL;
    const char *label = kase->case_id;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "tags", &tags));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "label", &label));
    DIT_TRY(report_tags_check(doc, tags, "/tags"));
    DIT_TRY(describe_evidence(doc, kase));
    if (kase->tags) return DIT_OK;
    kase->tags = tags ? cJSON_Duplicate(tags, 1) : cJSON_CreateObject();
    if (!kase->tags) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for tags");
    kase->world_size = 1;
    if (tags) DIT_TRY(dit_json_optional_int(doc, tags, "/tags", "world_size", 1, RECORDS_RANKS, &kase->world_size));
    return set_text(&kase->label, label);
}

static dit_status find_or_add_process(report_case *kase, int64_t process, report_process **out)
{
    for (int i = 0; i < kase->process_count; i++) {
        if (kase->processes[i].process == process) return *out = &kase->processes[i], DIT_OK;
    }
    DIT_TRY(grow((void **)&kase->processes, kase->process_count, &kase->process_capacity, sizeof *kase->processes));
    *out = &kase->processes[kase->process_count++];
    (*out)->process = process;
    return DIT_OK;
}

static double images_of(const report_case *kase)
{
    double images = 1;
    return report_case_number(kase, "num_images", &images) ? images : 1;
}

/* Adds those of `object` to the case's. */
static void add_warnings(const cJSON *object, report_case *kase)
{
    const cJSON *warning;
    size_t used = strlen(kase->warning);
    cJSON_ArrayForEach(warning, dit_json_member(object, "warnings"))
    {
        if (!cJSON_IsString(warning) || used >= sizeof kase->warning) continue;
        used += (size_t)snprintf(kase->warning + used, sizeof kase->warning - used, "%s%.60s", used ? ", " : "",
                                 warning->valuestring);
    }
}

/* What the engine says (throttled clocks) and what the harness saw (a busy machine, outliers); of several processes
 * the newest that says anything. */
static void read_warnings(const cJSON *line, const cJSON *record, report_case *kase)
{
    const cJSON *own = dit_json_member(line, "warnings");
    const cJSON *engine = dit_json_member(record, "warnings");
    if (!cJSON_GetArraySize(own) && !cJSON_GetArraySize(engine)) return;
    kase->warning[0] = '\0';
    add_warnings(record, kase);
    add_warnings(line, kase);
    kase->doubtful_count++;
}

/* The name and version of an external engine, of the newest record. */
static dit_status read_engine(const dit_json *doc, const cJSON *record, report_case *kase)
{
    const cJSON *engine = NULL;
    const char *name = "", *version = "";
    char text[128];
    DIT_TRY(dit_json_optional_object(doc, record, "/record", "engine", &engine));
    if (!engine) return DIT_OK;
    DIT_TRY(dit_json_require_string(doc, engine, "/record/engine", "name", &name));
    DIT_TRY(dit_json_optional_string(doc, engine, "/record/engine", "version", &version));
    snprintf(text, sizeof text, "%.60s%s%.60s", name, version[0] ? " " : "", version);
    return set_text(&kase->engine, text);
}

/* Counts are of the newest process that ended ok: they are equal in all of them. */
static dit_status read_ranks(const dit_json *doc, const cJSON *record, report_case *kase, report_process *process)
{
    cJSON *counts = NULL;
    free(process->hosts);
    process->hosts = NULL;
    if (process->status != DIT_OUTCOME_OK) return DIT_OK;
    DIT_TRY(report_hosts_read(doc, record, "/record", &process->hosts));
    DIT_TRY(report_counts_read(doc, record, "/record", &counts));
    cJSON_Delete(kase->counts);
    kase->counts = counts;
    return DIT_OK;
}

/* A record that does not name its version is one of this version. */
static dit_status check_version(const dit_json *doc, const cJSON *record)
{
    char text[320];
    const char *schema = dit_json_text_or(record, "schema", record_schema);
    if (dit_schema_accepts(schema, record_schema, text, sizeof text)) return DIT_OK;
    return dit_json_fail(doc, "/record/schema", DIT_ERR_JSON_VALUE, "%s", text);
}

static dit_status read_record(const dit_json *doc, report_case *kase, report_process *process)
{
    const cJSON *record = NULL;
    for (int i = 0; i < REPORT_METRIC_COUNT; i++) process->metric[i] = NAN;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "record", &record));
    if (!record) return DIT_OK;
    DIT_TRY(check_version(doc, record));
    if (process->status == DIT_OUTCOME_OK) DIT_TRY(check_evidence(doc, record, kase)); /* no other gives numbers */
    DIT_TRY(read_place(doc, record, kase));
    DIT_TRY(read_engine(doc, record, kase));
    DIT_TRY(report_metrics_read(doc, record, "/record", images_of(kase), process->metric));
    if (report_case_is_simulated(kase)) process->metric[REPORT_RSS_BYTES] = NAN; /* memory is counted, not resident */
    read_warnings(doc->root, record, kase);
    DIT_TRY(read_ranks(doc, record, kase, process));
    DIT_TRY(read_trace(doc, record, process->process, kase));
    DIT_TRY(read_probe(doc, record, process->process, kase));
    DIT_TRY(report_shown_read(doc, record, process->process, &kase->shown));
    DIT_TRY(read_decisions(doc, record, kase));
    return read_traffic(doc, record, kase);
}

/* Which share of the cores others used while the process ran. */
static dit_status read_others(const dit_json *doc, report_process *process)
{
    const double most_cores = 1e6;
    double others = NAN, cores = NAN;
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "other_cores", 0, most_cores, &others));
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "of_cores", 1, most_cores, &cores));
    process->other_share = others / cores;
    return DIT_OK;
}

static dit_status read_result(const dit_json *doc, report_table *table)
{
    const int64_t most = INT64_C(1) << 53;
    const char *case_id = NULL;
    report_case *kase = NULL;
    report_process *process = NULL;
    int64_t number = 0;
    bool failed = false;
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "case_id", &case_id));
    DIT_TRY(dit_json_require_int(doc, doc->root, "", "process", 0, most, &number));
    DIT_TRY(find_or_add_case(table, case_id, &kase));
    DIT_TRY(describe_case(doc, kase));
    DIT_TRY(find_or_add_process(kase, number, &process));
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "order", 0, most, &process->order));
    DIT_TRY(read_status(doc, &process->status));
    DIT_TRY(read_record(doc, kase, process));
    DIT_TRY(read_others(doc, process));
    DIT_TRY(read_failure(doc, kase, &failed));
    if (failed && process->status == DIT_OUTCOME_OK) process->status = DIT_OUTCOME_INVALID;
    table->result_lines++;
    return DIT_OK;
}

/* ---- the other lines --------------------------------------------------------------------------------------------- */

/* "model=x, world_size=2" of a flat object; nested values are left out. */
static dit_status describe_cell(const cJSON *cell, char **out)
{
    dit_buffer text = {0};
    const cJSON *item;
    cJSON_ArrayForEach(item, cell)
    {
        if (!cJSON_IsString(item) && !cJSON_IsNumber(item)) continue;
        dit_buffer_printf(&text, "%s%s=", text.used ? ", " : "", item->string);
        if (cJSON_IsString(item))
            dit_buffer_text(&text, item->valuestring);
        else
            dit_buffer_printf(&text, "%.10g", item->valuedouble);
    }
    dit_status st = text.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for a dropped cell") : set_text(out, text.data);
    dit_buffer_release(&text);
    return st;
}

static dit_status read_dropped(const dit_json *doc, report_table *table)
{
    const cJSON *cell = NULL;
    DIT_TRY(grow((void **)&table->dropped, table->dropped_count, &table->dropped_capacity, sizeof *table->dropped));
    report_dropped *dropped = &table->dropped[table->dropped_count++];
    DIT_TRY(copy_member(doc, doc->root, "", "code", &dropped->code));
    DIT_TRY(copy_member(doc, doc->root, "", "reason", &dropped->reason));
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "cell", &cell));
    if (!cell) DIT_TRY(dit_json_optional_object(doc, doc->root, "", "tags", &cell));
    if (!cell) DIT_TRY(dit_json_optional_object(doc, doc->root, "", "case", &cell));
    return describe_cell(cell, &dropped->cell);
}

static dit_status read_end(const dit_json *doc, report_table *table)
{
    DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "complete", &table->complete));
    return copy_member(doc, doc->root, "", "end_reason", &table->end_reason);
}

/* Of a point that a run and a resume both wrote, the later line counts. */
static dit_status read_published(const dit_json *doc, report_table *table)
{
    report_published point = {0};
    int at = 0;
    dit_status st = report_published_read(doc, &point);
    while (at < table->published_count && strcmp(table->published[at].kase.case_id, point.kase.case_id) != 0) at++;
    if (st == DIT_OK && at == RECORDS_PUBLISHED) {
        st = dit_json_fail(doc, "", DIT_ERR_JSON_VALUE, "there are more than %d published points", RECORDS_PUBLISHED);
    }
    if (st == DIT_OK && at == table->published_count) {
        st = grow((void **)&table->published, at, &table->published_capacity, sizeof *table->published);
        if (st == DIT_OK) table->published_count++;
    }
    if (st != DIT_OK) return report_published_release(&point), st;
    report_published_release(&table->published[at]);
    table->published[at] = point;
    return DIT_OK;
}

/* Takes the document when it is the session line. Kinds that this version does not know are passed over. */
static dit_status read_line(dit_json *doc, report_table *table)
{
    const char *kind = NULL;
    if (!cJSON_IsObject(doc->root)) return dit_json_fail(doc, "", DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "kind", &kind));
    bool is_session = strcmp(kind, "session") == 0;
    if (!is_session && !table->session.root) {
        return dit_json_fail(doc, "/kind", DIT_ERR_JSON_VALUE, "the first line must be of kind session");
    }
    if (is_session && !table->session.root) {
        DIT_TRY(dit_json_require_schema(doc, records_schema));
        table->session = *doc;
        *doc = (dit_json){0};
        return DIT_OK;
    }
    if (strcmp(kind, "result") == 0) return read_result(doc, table);
    if (strcmp(kind, "published") == 0) return read_published(doc, table);
    if (strcmp(kind, "dropped") == 0) return read_dropped(doc, table);
    if (strcmp(kind, "end") == 0) return read_end(doc, table);
    if (strcmp(kind, "resume") == 0) table->complete = false; /* until its own end line */
    return DIT_OK;
}

static dit_status parse_line(const char *text, size_t length, const char *path, int line, report_table *table)
{
    char name[512];
    dit_json doc = {0};
    snprintf(name, sizeof name, "%.400s (journal line %d)", path, line);
    dit_status st = dit_json_parse(text, length, name, &doc);
    if (st == DIT_OK) st = read_line(&doc, table);
    dit_json_release(&doc);
    if (st == DIT_OK || st == DIT_ERR_MEMORY) return st;
    return DIT_FAIL(DIT_ERR_JOURNAL, "%s", dit_error_last()->message);
}

/* ---- cases from processes ---------------------------------------------------------------------------------------- */

static int compare_processes(const void *a, const void *b)
{
    const report_process *x = a, *y = b;
    return (x->process > y->process) - (x->process < y->process);
}

static int compare_cases(const void *a, const void *b)
{
    const report_case *x = a, *y = b;
    if (x->world_size != y->world_size) return x->world_size < y->world_size ? -1 : 1;
    int order = strcmp(x->label, y->label);
    return order ? order : strcmp(x->case_id, y->case_id);
}

static dit_status summarise_case(report_case *kase)
{
    double *values = malloc((size_t)(kase->process_count + 1) * sizeof *values);
    if (!values) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d values", kase->process_count);
    for (int m = 0; m < REPORT_METRIC_COUNT; m++) {
        int n = 0;
        for (int i = 0; i < kase->process_count; i++) {
            const report_process *process = &kase->processes[i];
            if (process->status == DIT_OUTCOME_OK && isfinite(process->metric[m])) values[n++] = process->metric[m];
        }
        kase->metric[m] = dit_stats_summarise(values, n);
        /* A simulation answers the same each time: one run of it is exact. */
        if (n > 0 && report_case_is_simulated(kase) && kase->metric[m].min == kase->metric[m].max) {
            kase->metric[m].low_n = false;
            kase->metric[m].level = 1;
        }
    }
    free(values);
    return DIT_OK;
}

static dit_status close_case(report_case *kase)
{
    if (kase->process_count)
        qsort(kase->processes, (size_t)kase->process_count, sizeof *kase->processes, compare_processes);
    kase->ok_count = 0;
    for (int i = kase->process_count - 1; i >= 0; i--) {
        if (kase->processes[i].status == DIT_OUTCOME_OK)
            kase->ok_count++;
        else
            kase->status = kase->processes[i].status;
    }
    return summarise_case(kase);
}

/* Sessions of old have no such tag, and no caches. */
static bool has_cache(const report_case *kase)
{
    char cache[128];
    return report_case_tag(kase, "cache", cache, sizeof cache) && strcmp(cache, "none") != 0;
}

/* A case without parallelism, and without a cache, that makes the same images. */
static bool is_baseline_of(const report_case *base, const report_case *kase)
{
    if (has_cache(base)) return false;
    if (base->world_size != 1 || base->metric[REPORT_LATENCY].n == 0 || report_case_is_oracle(base)) return false;
    return report_case_same_work(base, kase);
}

/* Our engine's; where it has none, that of the case's own engine. */
static const report_case *find_baseline(const report_table *table, const report_case *kase)
{
    const report_case *same_engine = NULL;
    for (int i = 0; i < table->case_count && table->cases[i].world_size == 1; i++) { /* sorted: one rank comes first */
        const report_case *base = &table->cases[i];
        if (!is_baseline_of(base, kase)) continue;
        if (!base->engine) return base;
        if (!same_engine && kase->engine && strcmp(base->engine, kase->engine) == 0) same_engine = base;
    }
    return same_engine;
}

/* Ratio of medians; its interval takes the two ends that are furthest apart, so it is wider than exact. */
static dit_summary ratio_of(const dit_summary *over, const dit_summary *under, double divisor)
{
    dit_summary ratio = {.n = over->n < under->n ? over->n : under->n};
    ratio.median = over->median / under->median / divisor;
    ratio.low = ratio.min = over->low / under->high / divisor;
    ratio.high = ratio.max = over->high / under->low / divisor;
    ratio.low_n = over->low_n || under->low_n;
    ratio.level = over->level + under->level - 1 > 0 ? over->level + under->level - 1 : 0; /* Bonferroni */
    return ratio;
}

static void compare_with_baseline(const report_table *table, report_case *kase)
{
    const dit_summary *latency = &kase->metric[REPORT_LATENCY];
    if (latency->n == 0 || latency->low <= 0 || report_case_is_oracle(kase)) return;
    const report_case *base = find_baseline(table, kase);
    if (!base || !isfinite(base->metric[REPORT_LATENCY].high / latency->low)) return;
    kase->metric[REPORT_SPEEDUP] = ratio_of(&base->metric[REPORT_LATENCY], latency, 1);
    kase->metric[REPORT_EFFICIENCY] = ratio_of(&base->metric[REPORT_LATENCY], latency, (double)kase->world_size);
}

static bool has_same_tags(const report_case *one, const report_case *other, const char *const *names)
{
    for (char x[128], y[128]; *names; names++) {
        bool has_x = report_case_tag(one, *names, x, sizeof x), has_y = report_case_tag(other, *names, y, sizeof y);
        if (has_x != has_y || (has_x && strcmp(x, y) != 0)) return false;
    }
    return true;
}

/* The case with this cache on one rank, or the case of these ranks without a cache. */
static const report_case *find_half(const report_table *table, const report_case *kase, bool cache)
{
    static const char *const cached[] = {"cache", "engine", NULL}, *const ranks[] = {"method", "mesh", "warmup_steps",
                                                                                     "engine", NULL};
    for (int i = 0; i < table->case_count; i++) {
        const report_case *half = &table->cases[i];
        if (half->metric[REPORT_LATENCY].n == 0 || report_case_is_oracle(half)) continue;
        if (half->world_size != (cache ? 1 : kase->world_size) || has_cache(half) != cache) continue;
        if (has_same_tags(half, kase, cache ? cached : ranks) && report_case_same_work(half, kase)) return half;
    }
    return NULL;
}

/* What a cache and ranks gain together, over what each gains alone, multiplied. */
static void compare_with_product(const report_table *table, report_case *kase)
{
    if (!has_cache(kase) || kase->world_size < 2 || kase->metric[REPORT_SPEEDUP].n == 0) return;
    const report_case *cache = find_half(table, kase, true), *ranks = find_half(table, kase, false);
    if (!cache || !ranks || cache->metric[REPORT_SPEEDUP].n == 0 || ranks->metric[REPORT_SPEEDUP].n == 0) return;
    /* The latency of one rank without a cache stands over and under; ratios are taken so that it enters once. */
    dit_summary gain = ratio_of(&ranks->metric[REPORT_LATENCY], &kase->metric[REPORT_LATENCY], 1);
    kase->metric[REPORT_SPEEDUP_PRODUCT] = ratio_of(&gain, &cache->metric[REPORT_SPEEDUP], 1);
}

/* What the session line says of the case's software. Sessions of old say nothing, and nothing is claimed of them. */
static bool is_projection(const report_table *table, const report_case *kase)
{
    const cJSON *simulation = dit_json_member(table->session.root, "simulation");
    const cJSON *profiles = dit_json_member(simulation, "profiles");
    char name[64];
    if (!report_case_is_simulated(kase) || !report_case_tag(kase, "profile", name, sizeof name)) return false;
    const cJSON *profile = dit_json_member(profiles, name);
    return cJSON_IsFalse(dit_json_member(profile, "measured"));
}

static dit_status close_table(report_table *table)
{
    for (int i = 0; i < table->case_count; i++) {
        DIT_TRY(close_case(&table->cases[i]));
        table->cases[i].projection = is_projection(table, &table->cases[i]);
    }
    if (table->case_count) qsort(table->cases, (size_t)table->case_count, sizeof *table->cases, compare_cases);
    for (int i = 0; i < table->case_count; i++) compare_with_baseline(table, &table->cases[i]);
    for (int i = 0; i < table->case_count; i++) compare_with_product(table, &table->cases[i]);
    DIT_TRY(report_agreement_close(table));
    free(table->buckets); /* indices changed with the order */
    table->buckets = NULL;
    table->bucket_count = 0;
    return table->end_reason ? DIT_OK : set_text(&table->end_reason, "");
}

/* ---- interface --------------------------------------------------------------------------------------------------- */

static dit_status parse_lines(const char *text, size_t length, const char *path, report_table *table)
{
    size_t at = 0;
    for (int line = 1; at < length; line++) {
        const char *end = memchr(text + at, '\n', length - at);
        if (!end) return table->torn = true, DIT_OK;
        size_t bytes = (size_t)(end - (text + at));
        DIT_TRY(parse_line(text + at, bytes, path, line, table));
        at += bytes + 1;
    }
    return DIT_OK;
}

dit_status report_table_parse(const char *text, size_t length, const char *path, report_table *out)
{
    *out = (report_table){.journal_bytes = length};
    dit_hash(text, length, out->journal_hash);
    dit_status st = parse_lines(text, length, path, out);
    if (st == DIT_OK && !out->session.root) {
        st = DIT_FAIL(DIT_ERR_JOURNAL, "%.400s: no complete session line, nothing to report", path);
    }
    if (st == DIT_OK) st = close_table(out);
    if (st != DIT_OK) report_table_release(out);
    return st;
}

/* Files of a case lie beside the journal, under the case's own name: hex digits, so that no journal names another place. */
static dit_status find_file(const char *path, const report_case *kase, int64_t process, const char *name, char **out)
{
    const char *slash = strrchr(path, '/');
    char file[4096];
    if (kase->case_id[strspn(kase->case_id, "0123456789abcdef")]) return DIT_OK;
    int used = snprintf(file, sizeof file, "%.*s/cases/%s/p%lld/%s", slash ? (int)(slash - path) : 1,
                        slash ? path : ".", kase->case_id, (long long)process, name);
    return used < (int)sizeof file ? set_text(out, file) : DIT_OK;
}

static dit_status find_files(const char *path, report_table *table)
{
    for (int i = 0; i < table->case_count; i++) {
        report_case *kase = &table->cases[i];
        report_trace *trace = &kase->trace;
        report_probe_file *probe = &kase->probe;
        if (trace->digest) DIT_TRY(find_file(path, kase, trace->process, "trace.json", &trace->path));
        if (probe->digest) DIT_TRY(find_file(path, kase, probe->process, "probe.safetensors", &probe->path));
        report_shown *shown = &kase->shown;
        if (shown->rows) DIT_TRY(find_file(path, kase, shown->process, "latents.safetensors", &shown->path));
    }
    return DIT_OK;
}

dit_status report_table_read(const char *path, report_table *out)
{
    char *text = NULL;
    size_t length = 0;
    *out = (report_table){0};
    DIT_TRY(dit_file_read(path, records_limit, &text, &length));
    dit_status st = report_table_parse(text, length, path, out);
    if (st == DIT_OK) st = find_files(path, out);
    if (st != DIT_OK) report_table_release(out);
    free(text);
    return st;
}
