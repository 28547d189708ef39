#include "engine/results/record.h"

#include "base/footprint.h"
#include "base/json_writer.h"
#include "base/label.h"
#include "base/patches.h"
#include "base/request.h"
#include "engine/comm/comm.h"
#include "engine/results/cache_record.h"
#include "engine/runtime/fault.h"
#include "version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Checks that counted bytes and messages of every iteration equal the closed form. Errors: DIT_ERR_BYTES_MISMATCH,
 * which names axis, collective, phase and both numbers. */
static dit_status dit_measurement_check_volume(const dit_measurement *m, const dit_volume_table *predicted)
{
    for (int i = 0; i < m->iterations; i++)
        DIT_TRY(dit_volume_check(&m->iteration[i].counters, predicted, m->head.rank, i));
    return DIT_OK;
}

/* The name up to the first dot; a cluster's nodes share the rest. */
void dit_measurement_name_host(dit_measurement *m)
{
    char name[256];
    if (gethostname(name, sizeof name) != 0) return;
    name[sizeof name - 1] = 0;
    snprintf(m->head.host, sizeof m->head.host, "%.*s", (int)strcspn(name, "."), name);
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

/* ---- parts of a request ------------------------------------------------------------------------------------------- */

const char *dit_part_name(dit_part part)
{
    static const char *const names[DIT_PART_COUNT] = {"tokenize", "text_encode", "image_encode", "vae_encode",
                                                      "denoise",  "vae_decode",  "write"};
    return names[part];
}

static bool has_part(const dit_measurement *m, int part)
{
    return m->head.parts >> part & 1u;
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

/* Returns the rank that took longest in iteration i. */
static int slowest_rank(const dit_measurement *ranks, int world_size, int i)
{
    int slowest = 0;
    for (int rank = 1; rank < world_size; rank++)
        if (ranks[rank].iteration[i].latency_ns > ranks[slowest].iteration[i].latency_ns) slowest = rank;
    return slowest;
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

cJSON *dit_record_put_traffic(dit_json_writer *w, cJSON *list, dit_volume_place at, const dit_comm_counter *counted,
                              const dit_volume *predicted)
{
    if (!counted->messages && !predicted->messages) return NULL;
    cJSON *row = dit_json_put_object(w, list, NULL);
    dit_json_put_string(w, row, "axis", dit_axis_name(at.axis));
    dit_json_put_string(w, row, "collective", dit_collective_name(at.collective));
    dit_json_put_string(w, row, "phase", dit_phase_name(at.phase));
    dit_json_put_int(w, row, "messages", counted->messages);
    dit_json_put_int(w, row, "bytes", counted->bytes);
    dit_json_put_int(w, row, "predicted_messages", predicted->messages);
    dit_json_put_int(w, row, "predicted_bytes", predicted->bytes);
    return row;
}

static void add_communication(dit_json_writer *w, cJSON *parent, const dit_comm_counters *counters,
                              const dit_volume_table *predicted)
{
    cJSON *list = dit_json_put_array(w, parent, "communication");
    for (int index = 0; index < DIT_VOLUME_PLACES && w->status == DIT_OK; index++) {
        dit_volume_place at = dit_volume_place_of(index);
        const dit_comm_counter *counted = DIT_VOLUME_AT(counters, at);
        cJSON *entry = dit_record_put_traffic(w, list, at, counted, DIT_VOLUME_AT(predicted, at));
        if (!entry) continue;
        dit_json_put_int(w, entry, "time_ns", counted->time_ns);
        dit_json_put_int(w, entry, "span_ns", counted->span_ns);
    }
}

dit_status dit_record_communication(cJSON *parent, const dit_comm_counters *counters, const dit_volume_table *predicted)
{
    dit_json_writer w = {0};
    add_communication(&w, parent, counters, predicted);
    return w.status;
}

/* Adds the most memory of a rank in each part: "text_encode_bytes". */
static void add_part_peaks(dit_json_writer *w, cJSON *memory, const dit_measurement *ranks, int count)
{
    char key[64];
    for (int part = 0; part < DIT_PART_COUNT; part++) {
        int64_t peak = 0;
        for (int rank = 0; rank < count; rank++)
            if (ranks[rank].head.part_peak[part] > peak) peak = ranks[rank].head.part_peak[part];
        snprintf(key, sizeof key, "%s_bytes", dit_part_name((dit_part)part));
        if (peak) dit_json_put_int(w, memory, key, peak);
    }
}

static void add_memory(dit_json_writer *w, cJSON *parent, const dit_measurement *ranks, int count, int64_t predicted)
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
    cJSON *memory = dit_json_put_object(w, parent, "memory");
    for (int klass = 0; klass < DIT_MEMORY_CLASS_COUNT; klass++) dit_json_put_int(w, memory, keys[klass], peak[klass]);
    dit_json_put_int(w, memory, "total_bytes", total);
    dit_json_put_int(w, memory, "load_peak_bytes", load);
    dit_json_put_int(w, memory, "rss_bytes", rss);
    if (reserved) dit_json_put_int(w, memory, "device_reserved_bytes", reserved);
    if (reserved) dit_json_put_int(w, memory, "device_unplanned_blocks", unplanned);
    if (predicted >= 0) dit_json_put_int(w, memory, "predicted_total_bytes", predicted);
    add_part_peaks(w, memory, ranks, count);
}

/* Adds what the weights of blocks did in an iteration that stream. */
static void add_stream(dit_json_writer *w, cJSON *parent, const dit_offload *rules, const dit_stream_account *a)
{
    if (!a->chunks) return;
    int64_t hidden = a->load_ns > a->exposed_ns ? a->load_ns - a->exposed_ns : 0;
    cJSON *out = dit_json_put_object(w, parent, "offload");
    dit_json_put_string(w, out, "tier", dit_offload_tier_name(rules->tier));
    if (!a->shard_bytes) dit_json_put_string(w, out, "policy", dit_residency_policies[rules->policy]);
    if (rules->depth) dit_json_put_int(w, out, "depth", rules->depth);
    if (a->shard_bytes) dit_json_put_int(w, out, "shard_bytes", a->shard_bytes);
    if (!a->shard_bytes) dit_json_put_int(w, out, "resident_weights", rules->resident_weights);
    dit_json_put_int(w, out, "chunks", a->chunks);
    dit_json_put_int(w, out, "largest_chunk_bytes", a->largest_bytes);
    dit_json_put_int(w, out, "peak_bytes", a->peak_bytes);
    dit_json_put_int(w, out, "staging_bytes", a->staging_bytes);
    dit_json_put_int(w, out, "uses", a->uses);
    dit_json_put_int(w, out, "hits", a->hits);
    dit_json_put_int(w, out, "loads", a->loads);
    dit_json_put_int(w, out, "loaded_bytes", a->loaded_bytes);
    dit_json_put_int(w, out, "read_bytes", a->read_bytes);
    dit_json_put_int(w, out, "fetched_bytes", a->fetched_bytes);
    if (a->predicted_loads >= 0) dit_json_put_int(w, out, "predicted_loads", a->predicted_loads);
    if (a->predicted_read_bytes >= 0) dit_json_put_int(w, out, "predicted_read_bytes", a->predicted_read_bytes);
    dit_json_put_int(w, out, "load_ns", a->load_ns);
    dit_json_put_int(w, out, "exposed_ns", a->exposed_ns);
    dit_json_put_int(w, out, "hidden_ns", hidden);
    dit_json_put_number(w, out, "hidden_share", a->load_ns ? (double)hidden / (double)a->load_ns : 0);
    dit_json_put_bool(w, out, "direct", a->direct != 0);
}

/* By which the harness finds a rank that is slow for its work, or grows. */
dit_block_times dit_block_times_of(const int64_t *block_ns, int64_t blocks)
{
    dit_block_times out = {.blocks = blocks};
    double squares = 0;
    if (!blocks) return out;
    out.first_ns = block_ns[0], out.last_ns = block_ns[blocks - 1];
    double mean = blocks > 1 ? (double)(out.last_ns - out.first_ns) / (double)(blocks - 1) : 0;
    for (int64_t i = 1; i < blocks; i++) {
        int64_t gap = block_ns[i] - block_ns[i - 1];
        if (gap > out.longest_gap_ns) out.longest_gap_ns = gap;
        squares += ((double)gap - mean) * ((double)gap - mean);
    }
    if (blocks > 1) out.gap_deviation_ns = sqrt(squares / (double)(blocks - 1));
    return out;
}

/* Adds how the blocks of a clip came, of the rank whose last one came last. The first block of a causal VAE has some frames
 * less, so that the steady rate is that of the others. */
static void add_blocks(dit_json_writer *w, cJSON *record, const dit_runtime *rt, const dit_measurement *ranks,
                       int world_size, int median)
{
    const dit_latent *latent = &rt->facts.latent;
    const dit_block_times *last = &ranks[0].iteration[median].blocks;
    int64_t frames = rt->parallel.block_frames * latent->patch_t * (latent->vae_temporal ? latent->vae_temporal : 1);
    for (int rank = 1; rank < world_size; rank++)
        if (ranks[rank].iteration[median].blocks.last_ns > last->last_ns) last = &ranks[rank].iteration[median].blocks;
    if (!last->blocks) return;
    cJSON *out = dit_json_put_object(w, record, "stream");
    dit_json_put_int(w, out, "blocks", last->blocks);
    dit_json_put_int(w, out, "block_frames", frames);
    dit_json_put_int(w, out, "first_block_ns", last->first_ns);
    dit_json_put_int(w, out, "last_block_ns", last->last_ns);
    if (last->blocks == 1 || last->last_ns <= last->first_ns) return;
    double seconds = (double)(last->last_ns - last->first_ns) * 1e-9;
    dit_json_put_number(w, out, "frames_per_second", (double)((last->blocks - 1) * frames) / seconds);
    dit_json_put_int(w, out, "longest_gap_ns", last->longest_gap_ns);
    dit_json_put_int(w, out, "jitter_ns", (int64_t)(last->gap_deviation_ns + 0.5));
}

static void add_rank_samples(dit_json_writer *w, cJSON *entry, const dit_measurement *m, int median)
{
    const dit_flops *flops = &m->iteration[median].flops;
    if (!m->iteration[0].rss_bytes) return;
    cJSON *compute = dit_json_put_array(w, entry, "compute_samples_ns");
    cJSON *resident = dit_json_put_array(w, entry, "rss_samples_bytes");
    for (int i = 0; i < m->iterations; i++) {
        dit_json_put_int(w, compute, NULL, compute_ns(&m->iteration[i]));
        dit_json_put_int(w, resident, NULL, m->iteration[i].rss_bytes);
    }
    dit_json_put_number(w, entry, "flops", flops->linear + flops->attention + flops->convolution + flops->other);
}

/* What a rank's own cache decided: ranks that make other images decide otherwise. */
static void add_rank_cache(dit_json_writer *w, cJSON *entry, const dit_cache_log *log)
{
    if (!log) return;
    dit_json_put_int(w, entry, "cache_hits", log->hits);
    dit_json_put_int(w, entry, "cache_tests", log->tests);
    dit_cache_record_put_blocks(w, log, entry);
}

static void add_rank(dit_json_writer *w, cJSON *entry, const dit_measurement *m, int median,
                     const dit_volume_table *predicted, const dit_cache_log *log)
{
    dit_json_put_int(w, entry, "rank", m->head.rank);
    if (m->head.host[0]) dit_json_put_string(w, entry, "host", m->head.host);
    const int64_t shard_bytes = m->iteration[median].stream.shard_bytes;
    if (shard_bytes) dit_json_put_int(w, entry, "shard_bytes", shard_bytes);
    cJSON *coordinates = dit_json_put_object(w, entry, "coordinates");
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
        dit_json_put_int(w, coordinates, dit_axis_name((dit_axis)axis), m->head.coordinates[axis]);
    dit_json_put_bool(w, entry, "bound_to_cores", m->head.bound);
    add_rank_cache(w, entry, log);
    cJSON *latency = dit_json_put_array(w, entry, "latency_ns");
    for (int i = 0; i < m->iterations; i++) dit_json_put_int(w, latency, NULL, m->iteration[i].latency_ns);
    dit_json_put_int(w, entry, "compute_ns", compute_ns(&m->iteration[median]));
    dit_json_put_int(w, entry, "exposed_communication_ns", exposed_ns(&m->iteration[median]));
    add_rank_samples(w, entry, m, median);
    dit_json_put_int(w, entry, "loop_allocations", m->head.loop_allocations);
    add_communication(w, entry, &m->iteration[median].counters, predicted);
    add_memory(w, entry, m, 1, -1);
}

/* Returns what a part took in iteration i, on the rank that took longest in it. Files are written by one rank, and count
 * in no rank's latency. */
static int64_t part_ns(const dit_measurement *ranks, int world_size, int i, int part)
{
    int64_t longest = 0;
    if (part != DIT_PART_WRITE) return ranks[slowest_rank(ranks, world_size, i)].iteration[i].part_ns[part];
    for (int rank = 0; rank < world_size; rank++)
        if (ranks[rank].iteration[i].part_ns[part] > longest) longest = ranks[rank].iteration[i].part_ns[part];
    return longest;
}

/* Adds the parts of each iteration, on the rank that took longest in it. */
static void add_part_samples(dit_json_writer *w, cJSON *samples, const dit_measurement *ranks, int world_size)
{
    cJSON *parts = dit_json_put_object(w, samples, "phases_ns");
    for (int part = 0; part < DIT_PART_COUNT; part++) {
        if (!has_part(ranks, part)) continue;
        cJSON *list = dit_json_put_array(w, parts, dit_part_name((dit_part)part));
        for (int i = 0; i < ranks[0].iterations; i++)
            dit_json_put_int(w, list, NULL, part_ns(ranks, world_size, i, part));
    }
}

/* Adds the parts of the median iteration, whose sum without files is its latency, and what computed each. */
static void add_parts(dit_json_writer *w, cJSON *record, const dit_measurement *ranks, int world_size, int median)
{
    if (!ranks[0].head.parts) return;
    cJSON *times = dit_json_put_object(w, record, "phases_ns");
    for (int part = 0; part < DIT_PART_COUNT; part++)
        if (has_part(ranks, part))
            dit_json_put_int(w, times, dit_part_name((dit_part)part), part_ns(ranks, world_size, median, part));
    cJSON *places = ranks[0].head.part_on[DIT_PART_DENOISE][0] ? dit_json_put_object(w, record, "phases_on") : NULL;
    for (int part = 0; part < DIT_PART_COUNT && places; part++)
        if (has_part(ranks, part))
            dit_json_put_string(w, places, dit_part_name((dit_part)part), ranks[0].head.part_on[part]);
}

static void add_samples(dit_json_writer *w, cJSON *record, const dit_measurement *ranks, int world_size)
{
    const dit_measurement *first = &ranks[0];
    cJSON *samples = dit_json_put_object(w, record, "samples");
    cJSON *latency = dit_json_put_array(w, samples, "latency_ns");
    for (int i = 0; i < first->iterations; i++) dit_json_put_int(w, latency, NULL, latency_ns(ranks, world_size, i));
    cJSON *steps = first->steps ? dit_json_put_array(w, samples, "step_ns") : NULL;
    for (int i = 0; i < first->iterations && steps; i++) {
        cJSON *row = dit_json_put_array(w, steps, NULL);
        for (int step = 0; step < first->steps; step++) {
            int64_t longest = 0;
            for (int rank = 0; rank < world_size; rank++) {
                int64_t value = ranks[rank].step_ns[i * first->steps + step];
                if (value > longest) longest = value;
            }
            dit_json_put_int(w, row, NULL, longest);
        }
    }
    if (first->head.parts) add_part_samples(w, samples, ranks, world_size);
    cJSON *warmup = dit_json_put_array(w, samples, "warmup_ns");
    for (int i = 0; i < first->warmup_runs; i++) {
        int64_t longest = 0;
        for (int rank = 0; rank < world_size; rank++)
            if (ranks[rank].warmup_ns[i] > longest) longest = ranks[rank].warmup_ns[i];
        dit_json_put_int(w, warmup, NULL, longest);
    }
    if (first->warmup_most > 0 && first->warmup_end && strcmp(first->warmup_end, "count") != 0)
        dit_json_put_string(w, samples, "warmup_end", first->warmup_end);
}

/* Adds the split of the rank that computed longest in the median iteration. */
static void add_time_split(dit_json_writer *w, cJSON *record, const dit_measurement *ranks, int world_size, int median)
{
    int critical = 0;
    for (int rank = 1; rank < world_size; rank++)
        if (compute_ns(&ranks[rank].iteration[median]) > compute_ns(&ranks[critical].iteration[median]))
            critical = rank;
    const dit_iteration *it = &ranks[critical].iteration[median];
    int64_t other = it->latency_ns - compute_ns(it) - exposed_ns(it);
    cJSON *split = dit_json_put_object(w, record, "time_split");
    dit_json_put_int(w, split, "compute_ns", compute_ns(it));
    dit_json_put_int(w, split, "exposed_communication_ns", exposed_ns(it));
    dit_json_put_int(w, split, "other_ns", other > 0 ? other : 0);
    dit_json_put_int(w, split, "critical_rank", critical);
    cJSON *phases = dit_json_put_object(w, record, "phases");
    dit_json_put_int(w, phases, "setup_ns", ranks[critical].head.setup_ns);
    dit_json_put_int(w, phases, "weights_ns", ranks[critical].head.weights_ns);
    for (int time = 0; time < DIT_TIME_COUNT; time++) {
        char key[32];
        if (!it->time_ns[time]) continue; /* the program has no such phase */
        snprintf(key, sizeof key, "%s_ns", dit_time_name((dit_time)time));
        dit_json_put_int(w, phases, key, it->time_ns[time]);
    }
}

static void add_flops(dit_json_writer *w, cJSON *record, const dit_measurement *ranks, int world_size)
{
    dit_flops sum = {0};
    for (int rank = 0; rank < world_size; rank++) {
        sum.linear += ranks[rank].iteration[0].flops.linear;
        sum.attention += ranks[rank].iteration[0].flops.attention;
        sum.other += ranks[rank].iteration[0].flops.other;
        sum.convolution += ranks[rank].iteration[0].flops.convolution;
    }
    cJSON *flops = dit_json_put_object(w, record, "flops");
    if (sum.convolution > 0) dit_json_put_number(w, flops, "convolution", sum.convolution);
    dit_json_put_number(w, flops, "linear", sum.linear);
    dit_json_put_number(w, flops, "attention", sum.attention);
    dit_json_put_number(w, flops, "other", sum.other);
    dit_json_put_number(w, flops, "total", sum.convolution + sum.linear + sum.attention + sum.other);
}

/* Adds how often each operator was called, by all ranks. */
static void add_calls(dit_json_writer *w, cJSON *record, const dit_measurement *ranks, int world_size)
{
    cJSON *calls = dit_json_put_object(w, record, "operator_calls");
    for (int op = 0; op < DIT_OPERATOR_COUNT; op++) {
        int64_t sum = 0;
        for (int rank = 0; rank < world_size; rank++) sum += ranks[rank].iteration[0].flops.calls[op];
        if (sum) dit_json_put_int(w, calls, dit_operator_name((dit_operator)op), sum);
    }
}

bool dit_validation_judge(const dit_validation *v, bool *pass)
{
    *pass = (v->approximate ? v->oracle_rel_l2 : v->rel_l2) <= v->tolerance;
    return v->approximate ? v->has_oracle : v->has_reference;
}

static void add_validation(dit_json_writer *w, cJSON *record, const dit_validation *v)
{
    cJSON *validation = dit_json_put_object(w, record, "validation");
    if (!v) {
        dit_json_put_string(w, validation, "reason", "nothing was computed");
        return;
    }
    bool pass, judged = dit_validation_judge(v, &pass);
    dit_json_put_string(w, validation, v->digest_key ? v->digest_key : "latent_digest", v->digest);
    dit_json_put_bool(w, validation, "finite", true);
    dit_json_put_number(w, validation, "tolerance", v->tolerance);
    if (v->has_reference) dit_json_put_number(w, validation, "rel_l2", v->rel_l2);
    if (v->has_reference && v->psnr_db > 0 && isfinite(v->psnr_db))
        dit_json_put_number(w, validation, "psnr_db", v->psnr_db);
    if (v->has_oracle) dit_json_put_number(w, validation, "oracle_rel_l2", v->oracle_rel_l2);
    if (judged)
        dit_json_put_bool(w, validation, "pass", pass);
    else
        dit_json_put_string(w, validation, "reason", v->reason);
}

static void add_emulated(dit_json_writer *w, cJSON *record, const dit_case *kase)
{
    bool of_cache = kase->emulated_cache.policy != DIT_CACHE_NONE;
    cJSON *emulates = kase->emulates || of_cache ? dit_json_put_object(w, record, "emulates") : NULL;
    cJSON *cache = emulates && of_cache ? dit_json_put_object(w, emulates, "cache") : NULL;
    if (cache) dit_cache_to_json(w, &kase->emulated_cache, cache);
    cJSON *mesh = of_cache && kase->emulates ? dit_json_put_object(w, emulates, "mesh") : emulates;
    if (kase->emulates) dit_json_put_status(w, dit_parallel_to_json(&kase->emulated, mesh));
}

/* Adds whether the method gives the latents of one rank, and how many of its steps are stale. */
static void add_exactness(dit_json_writer *w, cJSON *record, const dit_case *kase)
{
    int stale_steps = dit_case_stale_steps(kase);
    dit_json_put_bool(w, record, "exact", !dit_case_is_approximate(kase));
    dit_json_put_int(w, record, "stale_steps", stale_steps);
    if (kase->fp8_linear) dit_json_put_bool(w, record, "fp8_linear", true);
    add_emulated(w, record, kase);
}

/* Adds rank 0's device, and whether ranks of this machine had to share it. */
static void add_device(dit_json_writer *w, cJSON *environment, const dit_runtime *rt, const dit_measurement *own)
{
    if (!rt->device) return;
    cJSON *device = dit_json_put_object(w, environment, "device");
    dit_json_put_string(w, device, "backend", dit_device_name(rt->device));
    dit_json_put_string(w, device, "element", dit_dtype_name(rt->ledger.dtype));
    dit_json_put_int(w, device, "count", rt->devices);
    dit_json_put_bool(w, device, "shared", rt->local_size > rt->devices);
    dit_json_put_reference(w, device, "before", own->device_before);
    dit_json_put_reference(w, device, "after", own->device_after);
}

static void add_energy(dit_json_writer *w, cJSON *record, const dit_measurement *ranks, int world_size)
{
    dit_energy all = {0};
    double busy_s = 0;
    for (int rank = 0; rank < world_size; rank++) dit_energy_add(&all, &ranks[rank].head.energy);
    for (int i = 0; i < ranks[0].iterations; i++) busy_s += (double)latency_ns(ranks, world_size, i) * 1e-9;
    dit_energy_put(w, record, &all, ranks[0].iterations, busy_s);
}

/* Adds warnings: what makes the times doubtful, in words. */
static void add_warnings(dit_json_writer *w, cJSON *record, const dit_measurement *ranks, int world_size)
{
    const char *reason;
    unsigned reasons = 0;
    char text[64];
    for (int rank = 0; rank < world_size; rank++) reasons |= ranks[rank].head.device.throttled;
    cJSON *list = reasons ? dit_json_put_array(w, record, "warnings") : NULL;
    for (int bit = 0; list && (reason = dit_device_facts_reason(bit)); bit++) {
        if (!(reasons & 1u << bit)) continue;
        snprintf(text, sizeof text, "throttled: %s", reason);
        dit_json_put_string(w, list, NULL, text);
    }
}

static void add_environment(dit_json_writer *w, cJSON *record, const dit_runtime *rt, const dit_measurement *own)
{
    cJSON *environment = dit_json_put_object(w, record, "environment");
    dit_json_put_string(w, environment, "mpi", dit_comm_library());
    if (rt->device) dit_json_put_string(w, environment, "communicator", dit_comm_transport(rt->comm[DIT_AXIS_WORLD]));
    dit_json_put_string(w, environment, "isa", dit_kernels_isa());
    dit_json_put_string(w, environment, "kernels", rt->kernels->name);
    dit_json_put_int(w, environment, "cores", rt->cores);
#ifdef __clang__
    dit_json_put_string(w, environment, "compiler", "clang " __clang_version__);
#else
    dit_json_put_string(w, environment, "compiler", "gcc " __VERSION__);
#endif
    dit_json_put_string(w, environment, "version", DITBENCH_VERSION);
    add_device(w, environment, rt, own);
}

static void add_more(dit_json_writer *w, cJSON *record, const cJSON *more)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, more) dit_json_put_reference(w, record, item->string, item);
}

static dit_status write_merged(const dit_record_params *params, const dit_measurement *ranks,
                               const dit_volume_table *predicted, const dit_cache_log *logs, bool match,
                               const char *path)
{
    const dit_runtime *rt = params->rt;
    int world_size = dit_parallel_world_size(&rt->parallel), median = median_iteration(ranks, world_size);
    int64_t estimate[DIT_MEMORY_CLASS_COUNT], estimated = 0;
    char label[64];
    dit_json_writer w = {0};
    cJSON *record = dit_json_new_object(&w);
    dit_parallel_label(&rt->parallel, label);
    dit_memory_predict_cached(&rt->parallel, &rt->facts, &params->kase->cache, estimate);
    dit_memory_offload(&rt->parallel, &rt->facts, &params->kase->offload, estimate);
    dit_memory_shards(&rt->parallel, &rt->facts, estimate);
    for (int klass = 0; klass < DIT_MEMORY_CLASS_COUNT; klass++) estimated += estimate[klass];
    if (!rt->facts.parameters) estimated = -1; /* facts from a config alone give no estimate */
    dit_json_put_string(&w, record, "schema", "ditbench.record/1");
    dit_json_put_string(&w, record, "evidence", rt->ledger.counting_only ? "simulated" : "measured");
    dit_json_put_string(&w, record, "program", params->program);
    dit_json_put_string(&w, record, "case_id", params->kase->case_id);
    dit_json_put_int(&w, record, "world_size", world_size);
    dit_json_put_int(&w, record, "threads_per_rank", rt->threads);
    dit_json_put_bool(&w, record, "oversubscribed", rt->oversubscribed);
    cJSON *mesh = dit_json_put_object(&w, record, "mesh");
    dit_json_put_string(&w, mesh, "label", label);
    if (params->attention) {
        dit_json_put_string(&w, mesh, "attention", params->attention);
        dit_json_put_string(&w, mesh, "joint_text",
                            dit_joint_text_name(dit_parallel_joint_text(&rt->parallel, &rt->facts)));
    }
    if (params->attention) add_exactness(&w, record, params->kase);
    add_samples(&w, record, ranks, world_size);
    add_time_split(&w, record, ranks, world_size, median);
    add_parts(&w, record, ranks, world_size, median);
    add_blocks(&w, record, rt, ranks, world_size, median);
    add_communication(&w, record, &ranks[0].iteration[median].counters, &predicted[0]);
    dit_json_put_bool(&w, record, "communication_match", match);
    add_stream(&w, record, &rt->offload, &ranks[0].iteration[median].stream);
    add_memory(&w, record, ranks, world_size, estimated);
    add_flops(&w, record, ranks, world_size);
    add_calls(&w, record, ranks, world_size);
    add_validation(&w, record, params->validation);
    int64_t kept = params->cache_state_bytes;
    if (params->cache && !kept) kept = dit_cache_state_bytes(params->cache);
    if (params->cache) dit_cache_record_put(&w, params->cache, kept, record);
    add_more(&w, record, params->more);
    cJSON *list = dit_json_put_array(&w, record, "ranks");
    for (int rank = 0; rank < world_size; rank++)
        add_rank(&w, dit_json_put_object(&w, list, NULL), &ranks[rank], median, &predicted[rank],
                 logs ? &logs[rank] : NULL);
    add_warnings(&w, record, ranks, world_size);
    add_energy(&w, record, ranks, world_size);
    add_environment(&w, record, rt, &ranks[0]);
    return dit_json_finish_file(&w, record, path, false);
}

static dit_status write_rank(const dit_measurement *m, int median, const dit_volume_table *predicted,
                             const dit_cache_log *log, const char *path)
{
    dit_json_writer w = {0};
    cJSON *record = dit_json_new_object(&w);
    dit_json_put_string(&w, record, "schema", "ditbench.record/1");
    add_rank(&w, record, m, median, predicted, log);
    return dit_json_finish_file(&w, record, path, false);
}

/* Computes one table for each rank, of its denoising and what is beside it. logs: NULL, or what each rank's cache decided. */
static void predict_each(const dit_record_params *params, const dit_measurement *ranks, int world_size,
                         const dit_cache_log *logs, dit_volume_table *out)
{
    const dit_parallel *parallel = &params->rt->parallel;
    const dit_facts *facts = &params->rt->facts;
    for (int rank = 0; rank < world_size; rank++) {
        dit_cache_use use = {0};
        if (logs) use = dit_cache_use_of(dit_cache_settings(params->cache), &logs[rank]);
        if (params->predicted)
            out[rank] = params->predicted[params->predicted_each ? rank : 0];
        else
            dit_volume_predict_cached(parallel, facts, &use, rank, &out[rank]);
        dit_volume_add(&out[rank], &ranks[rank].head.beside);
    }
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
    predict_each(params, ranks, world_size, NULL, predicted);
    bool match = check_each(ranks, world_size, predicted) == DIT_OK;
    snprintf(path, sizeof path, "%s/record.json", params->out_folder);
    dit_status st = write_merged(params, ranks, predicted, NULL, match, path);
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
    dit_cache_log *logs = NULL;
    const dit_cache_log *log = NULL;
    dit_status st = DIT_OK;
    dit_measurement *ranks = calloc((size_t)world_size, sizeof *ranks);
    dit_volume_table *predicted = calloc((size_t)world_size, sizeof *predicted);
    int64_t *offsets = calloc((size_t)world_size + 1, sizeof *offsets);
    if (!ranks || !offsets || !predicted) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d measurements", world_size);
    if (st == DIT_OK) st = pack(own, &mine);
    DIT_TRY_GOTO(st, st, done);
    DIT_TRY_GOTO(st, dit_comm_collect(world, mine, packed_bytes(own), &all, offsets), done);
    for (int rank = 0; rank < world_size; rank++) ranks[rank] = unpack(all + offsets[rank], own);
    if (params->cache) DIT_TRY_GOTO(st, dit_cache_meet(params->cache, &logs), done);
    predict_each(params, ranks, world_size, logs, predicted);
    bool match = check_each(ranks, world_size, predicted) == DIT_OK;
    snprintf(path, sizeof path, "%s/rank-%d.json", params->out_folder, own->head.rank);
    if (logs) log = &logs[own->head.rank];
    DIT_TRY_GOTO(st, write_rank(own, median_iteration(ranks, world_size), &predicted[own->head.rank], log, path), done);
    snprintf(path, sizeof path, "%s/record.json", params->out_folder);
    if (own->head.rank == 0) DIT_TRY_GOTO(st, write_merged(params, ranks, predicted, logs, match, path), done);
    DIT_TRY_GOTO(st, dit_comm_barrier(world), done);           /* nobody leaves before the record is written */
    if (!match) st = check_each(ranks, world_size, predicted); /* raises the error again, last */
done:
    free(mine);
    free(all);
    free(ranks);
    free(predicted);
    free(offsets);
    free(logs);
    return st;
}

void dit_record_put_error(dit_json_writer *w, dit_status st, cJSON *out)
{
    cJSON *error = dit_json_put_object(w, out, "error");
    char message[512];
    snprintf(message, sizeof message, "%s", dit_error_last()->message);
    dit_json_put_string(w, error, "code", dit_status_name(st));
    dit_json_put_string(w, error, "message", message);
    dit_error_clear();
}

void dit_record_write_error(const char *folder)
{
    const dit_error *error = dit_error_last();
    char path[4096], message[2048], hint[512], notes[2048];
    dit_json_writer w = {0};
    dit_status code = error->status;
    snprintf(message, sizeof message, "%s", error->message);
    snprintf(hint, sizeof hint, "%s", error->hint);
    snprintf(notes, sizeof notes, "%s", error->notes);
    snprintf(path, sizeof path, "%s/error.json", folder);
    cJSON *root = dit_json_new_object(&w);
    dit_json_put_string(&w, root, "code", dit_status_name(code));
    dit_json_put_string(&w, root, "message", message);
    dit_json_put_string(&w, root, "hint", hint);
    dit_json_put_string(&w, root, "notes", notes);
    dit_json_put_int(&w, root, "rank", dit_comm_rank(dit_comm_world()));
    dit_json_finish_file(&w, root, path, false);
}
