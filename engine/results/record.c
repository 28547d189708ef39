#include "engine/results/record.h"

#include "base/footprint.h"
#include "base/label.h"
#include "base/patches.h"
#include "base/stats.h"
#include "engine/comm/comm.h"
#include "engine/runtime/fault.h"
#include "version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the closed form --------------------------------------------------------------------------------------------- */

dit_status dit_volume_check(const dit_comm_counters *counters, const dit_volume_table *predicted, int rank,
                            int iteration)
{
    for (int index = 0; index < DIT_VOLUME_PLACES; index++) {
        dit_volume_place at = dit_volume_place_of(index);
        const dit_comm_counter *counted = DIT_VOLUME_AT(counters, at);
        dit_volume expected = *DIT_VOLUME_AT(predicted, at);
        expected.bytes += dit_fault_bytes(dit_axis_name(at.axis), expected.messages);
        if (counted->bytes == expected.bytes && counted->messages == expected.messages) continue;
        return dit_error_hint(DIT_FAIL(DIT_ERR_BYTES_MISMATCH,
                                       "rank %d, iteration %d, %s %s %s: counted %lld bytes in %lld messages, but the "
                                       "closed form says %lld in "
                                       "%lld",
                                       rank, iteration, dit_axis_name(at.axis), dit_collective_name(at.collective),
                                       dit_phase_name(at.phase), (long long)counted->bytes,
                                       (long long)counted->messages, (long long)expected.bytes,
                                       (long long)expected.messages),
                              "either the method sends too much or too little, or the closed form in base/ is wrong");
    }
    return DIT_OK;
}

dit_status dit_measurement_check_volume(const dit_measurement *m, const dit_volume_table *predicted)
{
    for (int i = 0; i < m->iterations; i++)
        DIT_TRY(dit_volume_check(&m->iteration[i].counters, predicted, m->head.rank, i));
    return DIT_OK;
}

/* ---- ranks meet -------------------------------------------------------------------------------------------------- */

/* Returns the bytes of a packed measurement: head, iterations, steps, warm-ups. All ranks have equal lengths. */
static int64_t packed_bytes(const dit_measurement *m)
{
    return (int64_t)(sizeof m->head + (size_t)m->iterations * sizeof *m->iteration +
                     ((size_t)m->iterations * (size_t)m->steps + (size_t)m->warmup_runs) * sizeof *m->step_ns);
}

static dit_status pack(const dit_measurement *m, char **out)
{
    char *at = *out = malloc((size_t)packed_bytes(m));
    if (!at) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to pack a measurement");
    memcpy(at, &m->head, sizeof m->head);
    at += sizeof m->head;
    memcpy(at, m->iteration, (size_t)m->iterations * sizeof *m->iteration);
    at += (size_t)m->iterations * sizeof *m->iteration;
    if (m->steps) memcpy(at, m->step_ns, (size_t)m->iterations * (size_t)m->steps * sizeof *m->step_ns);
    at += (size_t)m->iterations * (size_t)m->steps * sizeof *m->step_ns;
    if (m->warmup_runs) memcpy(at, m->warmup_ns, (size_t)m->warmup_runs * sizeof *m->warmup_ns);
    return DIT_OK;
}

/* The arrays point into `bytes`. */
static dit_measurement unpack(char *bytes, const dit_measurement *shape)
{
    dit_measurement m = *shape;
    memcpy(&m.head, bytes, sizeof m.head);
    bytes += sizeof m.head;
    m.iteration = (dit_iteration *)(void *)bytes;
    bytes += (size_t)m.iterations * sizeof *m.iteration;
    m.step_ns = (int64_t *)(void *)bytes;
    m.warmup_ns = m.step_ns + (size_t)m.iterations * (size_t)m.steps;
    return m;
}

/* ---- derived numbers --------------------------------------------------------------------------------------------- */

static int64_t exposed_ns(const dit_iteration *it)
{
    return dit_comm_exposed_ns(&it->counters);
}

/* Returns everything timed except collecting the latents, less the time that the thread waited in exchanges. */
static int64_t compute_ns(const dit_iteration *it)
{
    int64_t total = 0, waiting = 0;
    for (int time = 0; time < DIT_TIME_COUNT; time++)
        if (time != DIT_TIME_GATHER) total += it->time_ns[time];
    for (int index = 0; index < DIT_VOLUME_PLACES; index++) {
        dit_volume_place at = dit_volume_place_of(index);
        if (at.phase != DIT_PHASE_GATHER) waiting += DIT_VOLUME_AT(&it->counters, at)->time_ns;
    }
    return total - waiting;
}

/* Returns the latency of iteration i, the maximum over ranks. */
static int64_t latency_ns(const dit_measurement *ranks, int world_size, int i)
{
    int64_t longest = 0;
    for (int rank = 0; rank < world_size; rank++)
        if (ranks[rank].iteration[i].latency_ns > longest) longest = ranks[rank].iteration[i].latency_ns;
    return longest;
}

/* Returns the iteration whose latency is the (lower) median; splits and phases are taken from it. */
static int median_iteration(const dit_measurement *ranks, int world_size)
{
    int count = ranks[0].iterations;
    for (int i = 0; i < count; i++) {
        int below = 0, equal = 0;
        for (int j = 0; j < count; j++) {
            below += latency_ns(ranks, world_size, j) < latency_ns(ranks, world_size, i);
            equal += latency_ns(ranks, world_size, j) == latency_ns(ranks, world_size, i);
        }
        if (below <= (count - 1) / 2 && (count - 1) / 2 < below + equal) return i;
    }
    return 0;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* Builds a document. The first failure is kept; every add_* after it does nothing. */
typedef struct {
    dit_status st;
} builder;

static cJSON *add_object(builder *b, cJSON *parent, const char *key)
{
    cJSON *child = b->st == DIT_OK ? cJSON_CreateObject() : NULL;
    bool added = child && (key ? cJSON_AddItemToObject(parent, key, child) : cJSON_AddItemToArray(parent, child));
    if (b->st == DIT_OK && !added) b->st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    return added ? child : NULL;
}

static cJSON *add_array(builder *b, cJSON *parent, const char *key)
{
    cJSON *child = b->st == DIT_OK ? cJSON_CreateArray() : NULL;
    bool added = child && (key ? cJSON_AddItemToObject(parent, key, child) : cJSON_AddItemToArray(parent, child));
    if (b->st == DIT_OK && !added) b->st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    return added ? child : NULL;
}

static void add_int(builder *b, cJSON *object, const char *key, int64_t value)
{
    if (b->st == DIT_OK) b->st = dit_json_add_int(object, key, value);
}

static void add_number(builder *b, cJSON *object, const char *key, double value)
{
    if (b->st == DIT_OK) b->st = dit_json_add_number(object, key, value);
}

static void add_string(builder *b, cJSON *object, const char *key, const char *value)
{
    if (b->st == DIT_OK) b->st = dit_json_add_string(object, key, value);
}

static void add_bool(builder *b, cJSON *object, const char *key, bool value)
{
    if (b->st == DIT_OK && !cJSON_AddBoolToObject(object, key, value)) b->st = DIT_FAIL(DIT_ERR_MEMORY, "no memory");
}

static void append_int(builder *b, cJSON *array, int64_t value)
{
    if (b->st == DIT_OK && !cJSON_AddItemToArray(array, cJSON_CreateNumber((double)value)))
        b->st = DIT_FAIL(DIT_ERR_MEMORY, "no memory");
}

static void add_communication(builder *b, cJSON *parent, const dit_comm_counters *counters,
                              const dit_volume_table *predicted)
{
    cJSON *list = add_array(b, parent, "communication");
    for (int index = 0; index < DIT_VOLUME_PLACES && b->st == DIT_OK; index++) {
        dit_volume_place at = dit_volume_place_of(index);
        const dit_comm_counter *counted = DIT_VOLUME_AT(counters, at);
        const dit_volume *expected = DIT_VOLUME_AT(predicted, at);
        if (!counted->messages && !expected->messages) continue;
        cJSON *entry = add_object(b, list, NULL);
        add_string(b, entry, "axis", dit_axis_name(at.axis));
        add_string(b, entry, "collective", dit_collective_name(at.collective));
        add_string(b, entry, "phase", dit_phase_name(at.phase));
        add_int(b, entry, "messages", counted->messages);
        add_int(b, entry, "bytes", counted->bytes);
        add_int(b, entry, "predicted_messages", expected->messages);
        add_int(b, entry, "predicted_bytes", expected->bytes);
        add_int(b, entry, "time_ns", counted->time_ns);
        add_int(b, entry, "span_ns", counted->span_ns);
    }
}

dit_status dit_record_communication(cJSON *parent, const dit_comm_counters *counters, const dit_volume_table *predicted)
{
    builder b = {DIT_OK};
    add_communication(&b, parent, counters, predicted);
    return b.st;
}

static void add_memory(builder *b, cJSON *parent, const dit_measurement *ranks, int count, int64_t predicted)
{
    static const char *const keys[DIT_MEMORY_CLASS_COUNT] = {"weights_bytes", "state_bytes", "activations_bytes",
                                                             "communication_bytes"};
    int64_t peak[DIT_MEMORY_CLASS_COUNT] = {0}, total = 0, rss = 0, load = 0, reserved = 0, unplanned = 0;
    for (int rank = 0; rank < count; rank++) {
        for (int klass = 0; klass < DIT_MEMORY_CLASS_COUNT; klass++)
            if (ranks[rank].head.peak[klass] > peak[klass]) peak[klass] = ranks[rank].head.peak[klass];
        if (ranks[rank].head.total_peak > total) total = ranks[rank].head.total_peak;
        if (ranks[rank].head.rss_bytes > rss) rss = ranks[rank].head.rss_bytes;
        if (ranks[rank].head.load_peak > load) load = ranks[rank].head.load_peak;
        if (ranks[rank].head.device.reserved_bytes > reserved) reserved = ranks[rank].head.device.reserved_bytes;
        if (ranks[rank].head.device.unplanned_blocks > unplanned) unplanned = ranks[rank].head.device.unplanned_blocks;
    }
    cJSON *memory = add_object(b, parent, "memory");
    for (int klass = 0; klass < DIT_MEMORY_CLASS_COUNT; klass++) add_int(b, memory, keys[klass], peak[klass]);
    add_int(b, memory, "total_bytes", total);
    add_int(b, memory, "load_peak_bytes", load);
    add_int(b, memory, "rss_bytes", rss);
    if (reserved) add_int(b, memory, "device_reserved_bytes", reserved);
    if (reserved) add_int(b, memory, "device_unplanned_blocks", unplanned);
    if (predicted >= 0) add_int(b, memory, "predicted_total_bytes", predicted);
}

static void add_rank(builder *b, cJSON *entry, const dit_measurement *m, int median, const dit_volume_table *predicted)
{
    add_int(b, entry, "rank", m->head.rank);
    cJSON *coordinates = add_object(b, entry, "coordinates");
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
        add_int(b, coordinates, dit_axis_name((dit_axis)axis), m->head.coordinates[axis]);
    add_bool(b, entry, "bound_to_cores", m->head.bound);
    cJSON *latency = add_array(b, entry, "latency_ns");
    for (int i = 0; i < m->iterations; i++) append_int(b, latency, m->iteration[i].latency_ns);
    add_int(b, entry, "compute_ns", compute_ns(&m->iteration[median]));
    add_int(b, entry, "exposed_communication_ns", exposed_ns(&m->iteration[median]));
    add_int(b, entry, "loop_allocations", m->head.loop_allocations);
    add_communication(b, entry, &m->iteration[median].counters, predicted);
    add_memory(b, entry, m, 1, -1);
}

static void add_samples(builder *b, cJSON *record, const dit_measurement *ranks, int world_size)
{
    const dit_measurement *first = &ranks[0];
    cJSON *samples = add_object(b, record, "samples");
    cJSON *latency = add_array(b, samples, "latency_ns");
    for (int i = 0; i < first->iterations; i++) append_int(b, latency, latency_ns(ranks, world_size, i));
    cJSON *steps = first->steps ? add_array(b, samples, "step_ns") : NULL;
    for (int i = 0; i < first->iterations && steps; i++) {
        cJSON *row = add_array(b, steps, NULL);
        for (int step = 0; step < first->steps; step++) {
            int64_t longest = 0;
            for (int rank = 0; rank < world_size; rank++) {
                int64_t value = ranks[rank].step_ns[i * first->steps + step];
                if (value > longest) longest = value;
            }
            append_int(b, row, longest);
        }
    }
    cJSON *warmup = add_array(b, samples, "warmup_ns");
    for (int i = 0; i < first->warmup_runs; i++) {
        int64_t longest = 0;
        for (int rank = 0; rank < world_size; rank++)
            if (ranks[rank].warmup_ns[i] > longest) longest = ranks[rank].warmup_ns[i];
        append_int(b, warmup, longest);
    }
}

/* Adds the split of the rank that computed longest in the median iteration. */
static void add_time_split(builder *b, cJSON *record, const dit_measurement *ranks, int world_size, int median)
{
    int critical = 0;
    for (int rank = 1; rank < world_size; rank++)
        if (compute_ns(&ranks[rank].iteration[median]) > compute_ns(&ranks[critical].iteration[median]))
            critical = rank;
    const dit_iteration *it = &ranks[critical].iteration[median];
    int64_t other = it->latency_ns - compute_ns(it) - exposed_ns(it);
    cJSON *split = add_object(b, record, "time_split");
    add_int(b, split, "compute_ns", compute_ns(it));
    add_int(b, split, "exposed_communication_ns", exposed_ns(it));
    add_int(b, split, "other_ns", other > 0 ? other : 0);
    add_int(b, split, "critical_rank", critical);
    cJSON *phases = add_object(b, record, "phases");
    add_int(b, phases, "setup_ns", ranks[critical].head.setup_ns);
    add_int(b, phases, "weights_ns", ranks[critical].head.weights_ns);
    for (int time = 0; time < DIT_TIME_COUNT; time++) {
        char key[32];
        if (!it->time_ns[time]) continue; /* the program has no such phase */
        snprintf(key, sizeof key, "%s_ns", dit_time_name((dit_time)time));
        add_int(b, phases, key, it->time_ns[time]);
    }
}

static void add_flops(builder *b, cJSON *record, const dit_measurement *ranks, int world_size)
{
    dit_flops sum = {0};
    for (int rank = 0; rank < world_size; rank++) {
        sum.linear += ranks[rank].iteration[0].flops.linear;
        sum.attention += ranks[rank].iteration[0].flops.attention;
        sum.other += ranks[rank].iteration[0].flops.other;
        sum.convolution += ranks[rank].iteration[0].flops.convolution;
    }
    cJSON *flops = add_object(b, record, "flops");
    if (sum.convolution > 0) add_number(b, flops, "convolution", sum.convolution);
    add_number(b, flops, "linear", sum.linear);
    add_number(b, flops, "attention", sum.attention);
    add_number(b, flops, "other", sum.other);
    add_number(b, flops, "total", sum.convolution + sum.linear + sum.attention + sum.other);
}

bool dit_validation_judge(const dit_validation *v, bool *pass)
{
    *pass = (v->approximate ? v->oracle_rel_l2 : v->rel_l2) <= v->tolerance;
    return v->approximate ? v->has_oracle : v->has_reference;
}

static void add_validation(builder *b, cJSON *record, const dit_validation *v)
{
    cJSON *validation = add_object(b, record, "validation");
    if (!v) {
        add_string(b, validation, "reason", "nothing was computed");
        return;
    }
    bool pass, judged = dit_validation_judge(v, &pass);
    add_string(b, validation, v->digest_key ? v->digest_key : "latent_digest", v->digest);
    add_bool(b, validation, "finite", true);
    add_number(b, validation, "tolerance", v->tolerance);
    if (v->has_reference) add_number(b, validation, "rel_l2", v->rel_l2);
    if (v->has_reference && v->psnr_db > 0 && isfinite(v->psnr_db)) add_number(b, validation, "psnr_db", v->psnr_db);
    if (v->has_oracle) add_number(b, validation, "oracle_rel_l2", v->oracle_rel_l2);
    if (judged)
        add_bool(b, validation, "pass", pass);
    else
        add_string(b, validation, "reason", v->reason);
}

/* Adds whether the method gives the latents of one rank, and how many of its steps are stale. */
static void add_exactness(builder *b, cJSON *record, const dit_case *kase)
{
    int stale_steps = dit_case_stale_steps(kase);
    add_bool(b, record, "exact", !dit_case_is_approximate(kase));
    add_int(b, record, "stale_steps", stale_steps);
    if (kase->fp8_linear) add_bool(b, record, "fp8_linear", true);
    if (!kase->emulates) return;
    cJSON *emulates = add_object(b, record, "emulates");
    if (b->st == DIT_OK) b->st = dit_parallel_to_json(&kase->emulated, emulates);
}

static void add_state(builder *b, cJSON *device, const char *key, const cJSON *state)
{
    if (b->st != DIT_OK || !state) return;
    if (!cJSON_AddItemReferenceToObject(device, key, (cJSON *)(uintptr_t)state))
        b->st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
}

/* Adds rank 0's device, and whether ranks of this machine had to share it. */
static void add_device(builder *b, cJSON *environment, const dit_runtime *rt, const dit_measurement *own)
{
    if (!rt->device) return;
    cJSON *device = add_object(b, environment, "device");
    add_string(b, device, "backend", dit_device_name(rt->device));
    add_string(b, device, "element", dit_dtype_name(rt->ledger.dtype));
    add_int(b, device, "count", rt->devices);
    add_bool(b, device, "shared", rt->local_size > rt->devices);
    add_state(b, device, "before", own->device_before);
    add_state(b, device, "after", own->device_after);
}

/* Adds warnings: what makes the times doubtful, in words. */
static void add_warnings(builder *b, cJSON *record, const dit_measurement *ranks, int world_size)
{
    const char *reason;
    unsigned reasons = 0;
    char text[64];
    for (int rank = 0; rank < world_size; rank++) reasons |= ranks[rank].head.device.throttled;
    cJSON *list = reasons ? add_array(b, record, "warnings") : NULL;
    for (int bit = 0; list && b->st == DIT_OK && (reason = dit_device_facts_reason(bit)); bit++) {
        if (!(reasons & 1u << bit)) continue;
        snprintf(text, sizeof text, "throttled: %s", reason);
        cJSON *item = cJSON_CreateString(text);
        if (!item || !cJSON_AddItemToArray(list, item)) b->st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    }
}

static void add_environment(builder *b, cJSON *record, const dit_runtime *rt, const dit_measurement *own)
{
    cJSON *environment = add_object(b, record, "environment");
    add_string(b, environment, "mpi", dit_comm_library());
    if (rt->device) add_string(b, environment, "communicator", dit_comm_transport(rt->comm[DIT_AXIS_WORLD]));
    add_string(b, environment, "isa", dit_kernels_isa());
    add_string(b, environment, "kernels", rt->kernels->name);
    add_int(b, environment, "cores", rt->cores);
#ifdef __clang__
    add_string(b, environment, "compiler", "clang " __clang_version__);
#else
    add_string(b, environment, "compiler", "gcc " __VERSION__);
#endif
    add_string(b, environment, "version", DITBENCH_VERSION);
    add_device(b, environment, rt, own);
}

static void add_more(builder *b, cJSON *record, const cJSON *more)
{
    for (cJSON *item = more ? more->child : NULL; item && b->st == DIT_OK; item = item->next)
        if (!cJSON_AddItemReferenceToObject(record, item->string, item))
            b->st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
}

static dit_status write_merged(const dit_record_params *params, const dit_measurement *ranks,
                               const dit_volume_table *predicted, bool match, const char *path)
{
    const dit_runtime *rt = params->rt;
    int world_size = dit_parallel_world_size(&rt->parallel), median = median_iteration(ranks, world_size);
    int64_t estimate[DIT_MEMORY_CLASS_COUNT], estimated = 0;
    char label[64];
    builder b = {DIT_OK};
    cJSON *record = cJSON_CreateObject();
    if (!record) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    dit_parallel_label(&rt->parallel, label);
    dit_memory_predict(&rt->parallel, &rt->facts, estimate);
    for (int klass = 0; klass < DIT_MEMORY_CLASS_COUNT; klass++) estimated += estimate[klass];
    if (!rt->facts.parameters) estimated = -1; /* facts from a config alone give no estimate */
    add_string(&b, record, "schema", "ditbench.record/1");
    add_string(&b, record, "evidence", rt->ledger.counting_only ? "simulated" : "measured");
    add_string(&b, record, "program", params->program);
    add_string(&b, record, "case_id", params->kase->case_id);
    add_int(&b, record, "world_size", world_size);
    add_int(&b, record, "threads_per_rank", rt->threads);
    add_bool(&b, record, "oversubscribed", rt->oversubscribed);
    cJSON *mesh = add_object(&b, record, "mesh");
    add_string(&b, mesh, "label", label);
    if (params->attention) {
        add_string(&b, mesh, "attention", params->attention);
        add_string(&b, mesh, "joint_text", dit_joint_text_name(dit_parallel_joint_text(&rt->parallel, &rt->facts)));
    }
    if (params->attention) add_exactness(&b, record, params->kase);
    add_samples(&b, record, ranks, world_size);
    add_time_split(&b, record, ranks, world_size, median);
    add_communication(&b, record, &ranks[0].iteration[median].counters, &predicted[0]);
    add_bool(&b, record, "communication_match", match);
    add_memory(&b, record, ranks, world_size, estimated);
    add_flops(&b, record, ranks, world_size);
    add_validation(&b, record, params->validation);
    add_more(&b, record, params->more);
    cJSON *list = add_array(&b, record, "ranks");
    for (int rank = 0; rank < world_size; rank++)
        add_rank(&b, add_object(&b, list, NULL), &ranks[rank], median, &predicted[rank]);
    add_warnings(&b, record, ranks, world_size);
    add_environment(&b, record, rt, &ranks[0]);
    DIT_KEEP_FIRST(b.st, b.st == DIT_OK ? dit_json_write_file(record, path, false) : b.st);
    cJSON_Delete(record);
    return b.st;
}

static dit_status write_rank(const dit_measurement *m, int median, const dit_volume_table *predicted, const char *path)
{
    builder b = {DIT_OK};
    cJSON *record = cJSON_CreateObject();
    if (!record) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    add_string(&b, record, "schema", "ditbench.record/1");
    add_rank(&b, record, m, median, predicted);
    if (b.st == DIT_OK) b.st = dit_json_write_file(record, path, false);
    cJSON_Delete(record);
    return b.st;
}

/* Computes one table for each rank. */
static void predict_each(const dit_record_params *params, int world_size, dit_volume_table *out)
{
    for (int rank = 0; rank < world_size; rank++)
        if (params->predicted)
            out[rank] = params->predicted[params->predicted_each ? rank : 0];
        else
            dit_volume_predict(&params->rt->parallel, &params->rt->facts, rank, &out[rank]);
}

static dit_status check_each(const dit_measurement *ranks, int world_size, const dit_volume_table *predicted)
{
    for (int rank = 0; rank < world_size; rank++) DIT_TRY(dit_measurement_check_volume(&ranks[rank], &predicted[rank]));
    return DIT_OK;
}

dit_status dit_record_write_merged(const dit_record_params *params, const dit_measurement *ranks)
{
    int world_size = dit_parallel_world_size(&params->rt->parallel);
    char path[4096];
    dit_volume_table *predicted = calloc((size_t)world_size, sizeof *predicted);
    if (!predicted) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d measurements", world_size);
    predict_each(params, world_size, predicted);
    bool match = check_each(ranks, world_size, predicted) == DIT_OK;
    snprintf(path, sizeof path, "%s/record.json", params->out_folder);
    dit_status st = write_merged(params, ranks, predicted, match, path);
    if (st == DIT_OK && !match) st = check_each(ranks, world_size, predicted); /* raises the error again, last */
    free(predicted);
    return st;
}

dit_status dit_record_write(const dit_record_params *params)
{
    const dit_measurement *own = params->own;
    dit_comm *world = dit_comm_world();
    int world_size = dit_comm_size(world);
    char *mine = NULL, *all = NULL, path[4096];
    dit_status st = DIT_OK;
    dit_measurement *ranks = calloc((size_t)world_size, sizeof *ranks);
    dit_volume_table *predicted = calloc((size_t)world_size, sizeof *predicted);
    int64_t *offsets = calloc((size_t)world_size + 1, sizeof *offsets);
    if (!ranks || !offsets || !predicted) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d measurements", world_size);
    if (st == DIT_OK) st = pack(own, &mine);
    DIT_TRY_GOTO(st, st, done);
    DIT_TRY_GOTO(st, dit_comm_collect(world, mine, packed_bytes(own), &all, offsets), done);
    for (int rank = 0; rank < world_size; rank++) ranks[rank] = unpack(all + offsets[rank], own);
    predict_each(params, world_size, predicted);
    bool match = check_each(ranks, world_size, predicted) == DIT_OK;
    snprintf(path, sizeof path, "%s/rank-%d.json", params->out_folder, own->head.rank);
    DIT_TRY_GOTO(st, write_rank(own, median_iteration(ranks, world_size), &predicted[own->head.rank], path), done);
    snprintf(path, sizeof path, "%s/record.json", params->out_folder);
    if (own->head.rank == 0) DIT_TRY_GOTO(st, write_merged(params, ranks, predicted, match, path), done);
    DIT_TRY_GOTO(st, dit_comm_barrier(world), done);           /* nobody leaves before the record is written */
    if (!match) st = check_each(ranks, world_size, predicted); /* raises the error again, last */
done:
    free(mine);
    free(all);
    free(ranks);
    free(predicted);
    free(offsets);
    return st;
}

void dit_record_write_error(const char *folder)
{
    const dit_error *error = dit_error_last();
    char path[4096], message[2048], hint[512], notes[2048];
    cJSON *root = cJSON_CreateObject();
    dit_status code = error->status;
    snprintf(message, sizeof message, "%s", error->message);
    snprintf(hint, sizeof hint, "%s", error->hint);
    snprintf(notes, sizeof notes, "%s", error->notes);
    snprintf(path, sizeof path, "%s/error.json", folder);
    if (root && cJSON_AddStringToObject(root, "code", dit_status_name(code)) &&
        cJSON_AddStringToObject(root, "message", message) && cJSON_AddStringToObject(root, "hint", hint) &&
        cJSON_AddStringToObject(root, "notes", notes) &&
        cJSON_AddNumberToObject(root, "rank", dit_comm_rank(dit_comm_world())))
        dit_json_write_file(root, path, false);
    cJSON_Delete(root);
}
