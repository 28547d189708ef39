#include "suite/calibrate/calibrate_measured.h"

#include "base/json_writer.h"

#include "suite/calibrate/machine_fit.h"
#include "suite/launch/one_case.h"
#include "suite/machine/devices.h"
#include "suite/machine/environment.h"
#include "suite/paths.h"
#include "suite/platform/cluster.h"
#include "suite/platform/platform.h"
#include "suite/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char measured_by[] = "ditbench calibrate --from measured";

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static dit_status engine_error(const suite_outcome *outcome)
{
    const char *message = dit_json_text_or(outcome->error, "message", NULL);
    return DIT_FAIL(DIT_ERR_ENVIRONMENT, "the measurement failed: %s", message ? message : "the engine ended early");
}

static bool is_device(const suite_calibrate_measured_params *params)
{
    return params->backend && suite_backend_is_device(params->backend);
}

/* Adds {"ranks", "times"} to `runs`, and sets "isa" of `raw`, of devices "element". */
static dit_status take_run(const suite_outcome *outcome, bool device, cJSON *raw, cJSON *runs)
{
    dit_json_writer w = {0};
    const char *key = device ? "element" : "isa";
    cJSON *times = cJSON_GetObjectItemCaseSensitive(outcome->record, "times");
    const char *word = dit_json_text_or(outcome->record, key, NULL);
    const cJSON *ranks = dit_json_member(outcome->record, "ranks");
    if (outcome->status != DIT_OUTCOME_OK || !times || !word || !cJSON_IsNumber(ranks)) return engine_error(outcome);
    cJSON *run = dit_json_put_object(&w, runs, NULL);
    dit_json_put_copy(&w, run, "times", times);
    dit_json_put_int(&w, run, "ranks", ranks->valueint);
    if (!dit_json_member(raw, key)) dit_json_put_string(&w, raw, key, word);
    return w.status;
}

static dit_status measure_run(const suite_calibrate_measured_params *params, int ranks, cJSON *raw, cJSON *runs)
{
    dit_json_writer w = {0};
    suite_outcome outcome = {0};
    suite_single_params single = {.engine = params->engine,
                                  .launcher = ranks == 1 ? "local" : "mpirun",
                                  .deadline_s = params->deadline_s,
                                  .tick = params->tick,
                                  .context = params->context,
                                  .world_size = ranks,
                                  .threads_per_rank = 1};
    cJSON *kase = dit_json_new_object(&w);
    dit_json_put_string(&w, kase, "schema", "ditbench.case/1");
    dit_json_put_string(&w, kase, "program", "calibrate");
    dit_json_put_string(&w, kase, "backend", params->backend);
    dit_json_put_string(&w, kase, "element", params->element);
    if (params->few) dit_json_put_bool(&w, kase, "few", true);
    dit_status st = w.status == DIT_OK ? suite_single_run(kase, &single, &outcome) : w.status;
    if (st == DIT_OK) st = take_run(&outcome, is_device(params), raw, runs);
    suite_outcome_release(&outcome);
    cJSON_Delete(kase);
    return st;
}

static dit_status describe_machine(int cores, cJSON *raw)
{
    dit_json_writer w = {0};
    cJSON *hardware = NULL, *machine = dit_json_put_object(&w, raw, "machine");
    DIT_TRY(suite_environment_hardware(&hardware));
    const char *cpu = dit_json_text_or(hardware, "cpu", NULL);
    const cJSON *memory = dit_json_member(hardware, "memory_bytes");
    dit_json_put_string(&w, machine, "cpu", cpu ? cpu : "unknown");
    dit_json_put_int(&w, machine, "cores", cores);
    if (cJSON_IsNumber(memory))
        dit_json_put_number(&w, machine, "memory_bytes", memory->valuedouble);
    else
        dit_json_put_status(&w, DIT_FAIL(DIT_ERR_ENVIRONMENT, "the machine's memory is not known"));
    cJSON_Delete(hardware);
    return w.status;
}

static void add_number_or(dit_json_writer *w, cJSON *object, const char *key, const cJSON *from, double otherwise)
{
    const cJSON *item = dit_json_member(from, key);
    dit_json_put_number(w, object, key, cJSON_IsNumber(item) ? item->valuedouble : otherwise);
}

/* As the first device tells; an emulated one tells less. */
static void describe_devices(dit_json_writer *w, const suite_devices *devices, cJSON *raw)
{
    const cJSON *first = cJSON_GetArrayItem(dit_json_member(devices->list, "devices"), 0);
    const char *name = dit_json_text_or(first, "name", NULL);
    cJSON *machine = dit_json_put_object(w, raw, "machine");
    suite_text_put(w, machine, "device", name ? name : "unknown");
    dit_json_put_int(w, machine, "devices", devices->count);
    add_number_or(w, machine, "multiprocessors", first, 1);
    add_number_or(w, machine, "memory_bytes", first, (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
}

/* One rank alone, then one on every device. */
static dit_status measure_devices(const suite_calibrate_measured_params *params, cJSON *raw)
{
    dit_json_writer w = {0};
    suite_devices devices;
    suite_devices_find(params->engine, params->backend, &devices);
    if (!devices.count)
        return dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "there is nothing to measure on: %s", devices.reason), "%s",
                              devices.hint[0] ? devices.hint : "without --backend this machine's cores are measured");
    if (devices.count > SUITE_NODE_DEVICES) devices.count = SUITE_NODE_DEVICES;
    dit_json_put_string(&w, raw, "schema", "ditbench.calibration-raw/1");
    describe_devices(&w, &devices, raw);
    cJSON *runs = dit_json_put_array(&w, raw, "runs");
    DIT_TRY(measure_run(params, 1, raw, runs));
    dit_json_put_status(&w, devices.count > 1 ? measure_run(params, devices.count, raw, runs) : DIT_OK);
    return w.status;
}

/* One rank alone, then one on every core. */
static dit_status measure(const suite_calibrate_measured_params *params, cJSON *raw)
{
    dit_json_writer w = {0};
    int cores = suite_launch_cores();
    if (cores > SUITE_NODE_DEVICES) cores = SUITE_NODE_DEVICES; /* no simulated node has more */
    if (cores < 2)
        return dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "messages between ranks cannot be measured on one core"),
                              "run it on a machine where at least two cores are allowed");
    dit_json_put_string(&w, raw, "schema", "ditbench.calibration-raw/1");
    DIT_TRY(describe_machine(cores, raw));
    cJSON *runs = dit_json_put_array(&w, raw, "runs");
    DIT_TRY(measure_run(params, 1, raw, runs));
    dit_json_put_status(&w, measure_run(params, cores, raw, runs));
    return w.status;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* A new object or array under `parent`; NULL without memory, which the adds that follow refuse. */
static cJSON *object_in(dit_json_writer *w, cJSON *parent, const char *key)
{
    return dit_json_put_object(w, parent, key);
}

static void add_texts(dit_json_writer *w, cJSON *object, const char *const (*texts)[2])
{
    for (; (*texts)[0]; texts++) dit_json_put_string(w, object, (*texts)[0], (*texts)[1]);
}

static void add_source(dit_json_writer *w, cJSON *object)
{
    dit_json_put_string(w, dit_json_put_array(w, object, "source"), NULL, measured_by);
}

static void add_tiles(dit_json_writer *w, const suite_core_fit *fit, cJSON *cost)
{
    const int rows[] = {fit->tile_rows, 1};
    const double efficiency[] = {1, fit->row_efficiency};
    cJSON *tiles = dit_json_put_array(w, cost, "gemm_tiles"), *attention = object_in(w, cost, "attention_tile");
    for (int i = 0; i < 2; i++) {
        cJSON *tile = dit_json_put_object(w, tiles, NULL);
        dit_json_put_int(w, tile, "rows", rows[i]);
        dit_json_put_int(w, tile, "columns", fit->tile_columns);
        dit_json_put_number(w, tile, "efficiency", efficiency[i]);
    }
    dit_json_put_int(w, attention, "queries", fit->tile_columns);
    dit_json_put_int(w, attention, "keys", 1);
}

/* What the accelerator's file and the profile's call the engine's own attention. */
static const char *kernel_of(const suite_core_fit *fit)
{
    return fit->device ? "ditbench-cuda" : "ditbench-cpu";
}

static void add_numbers(dit_json_writer *w, cJSON *object, const char *key, const double *values, int count)
{
    cJSON *list = dit_json_put_array(w, object, key);
    for (int i = 0; i < count; i++) dit_json_put_number(w, list, NULL, values[i]);
}

static void add_attention(dit_json_writer *w, const suite_core_fit *fit, cJSON *cost)
{
    cJSON *list = dit_json_put_array(w, cost, "attention");
    for (int i = 0; i < fit->heads; i++) {
        const dit_cost_curve *curve = &fit->attention[i];
        cJSON *table = dit_json_put_object(w, list, NULL);
        dit_json_put_string(w, table, "kernel", kernel_of(fit));
        dit_json_put_int(w, table, "head_dim", fit->head_dim[i]);
        add_numbers(w, table, "tokens", curve->x, curve->count);
        add_numbers(w, table, "flops_per_s", curve->y, curve->count);
    }
}

static void add_fractions(dit_json_writer *w, const suite_core_fit *fit, cJSON *cost)
{
    cJSON *list = dit_json_put_array(w, cost, "bandwidth_fraction");
    for (int i = 0; i < fit->bandwidth_fraction.count; i++) {
        cJSON *knot = dit_json_put_object(w, list, NULL);
        dit_json_put_number(w, knot, "bytes", fit->bandwidth_fraction.x[i]);
        dit_json_put_number(w, knot, "fraction", fit->bandwidth_fraction.y[i]);
    }
}

static dit_status add_cost(const suite_core_fit *fit, cJSON *cost)
{
    dit_json_writer w = {0};
    static const char *const evidence[][2] = {
        {"gemm_ceiling", "fitted: products of this machine, least squares of relative errors"},
        {"gemm_fill_k", "fitted: with gemm_ceiling"},
        {"gemm_tiles", "measured: the tile of kernels/cpu/tile.h; one row from a product that a cache holds"},
        {"attention", "measured: the engine's own operator, keys as many as queries"},
        {"attention_tile", "measured: the tile of kernels/cpu/attention.h"},
        {"bandwidth_fraction", "measured: sums of two operands by size"},
        {"launch_s", "measured: the shortest call"},
        {"together", "measured: the same times with a rank on every core, medians"},
        {NULL, NULL}};
    static const char *const device_evidence[][2] = {
        {"gemm_ceiling", "fitted: products of this device, least squares of ln(predicted / measured) on a grid"},
        {"gemm_fill_k", "fitted: with gemm_ceiling"},
        {"attention", "measured: the engine's own operator, keys as many as queries, heads that fill the device"},
        {"head_granularity", "by design: heads are computed in multiples of 8"},
        {"bandwidth_fraction", "measured: sums of two operands by size"},
        {"launch_s", "measured: the shortest call, between two marks of the device"},
        {NULL, NULL}};
    dit_json_put_number(&w, cost, "gemm_ceiling", fit->gemm_ceiling);
    dit_json_put_number(&w, cost, "gemm_fill_k", fit->gemm_fill_k);
    if (!fit->device) add_tiles(&w, fit, cost);
    add_attention(&w, fit, cost);
    dit_json_put_int(&w, cost, "head_granularity", fit->device ? 8 : 1);
    add_fractions(&w, fit, cost);
    dit_json_put_number(&w, cost, "launch_s", fit->launch_s);
    if (fit->device) {
        add_texts(&w, object_in(&w, cost, "evidence"), device_evidence);
        add_source(&w, cost);
        return w.status;
    }
    cJSON *together = object_in(&w, cost, "together");
    dit_json_put_int(&w, together, "ranks", fit->cores);
    dit_json_put_number(&w, together, "compute", fit->together_compute);
    dit_json_put_number(&w, together, "bandwidth", fit->together_bandwidth);
    add_texts(&w, object_in(&w, cost, "evidence"), evidence);
    add_source(&w, cost);
    return w.status;
}

static void add_peaks(dit_json_writer *w, const suite_core_fit *fit, cJSON *root)
{
    static const char *const types[] = {"fp32", "fp16", "bf16"};
    cJSON *peaks = object_in(w, root, "peak_flops_per_s"), *unknown;
    dit_json_put_number(w, peaks, fit->element, fit->peak_flops_per_s);
    unknown = object_in(w, peaks, "unknown");
    for (int i = 0; i < 3; i++)
        if (strcmp(types[i], fit->element) != 0) dit_json_put_string(w, unknown, types[i], "not measured");
}

static void add_identity(dit_json_writer *w, const suite_core_fit *fit, const char *name, const char *title,
                         const char *vendor, cJSON *root)
{
    dit_json_put_string(w, root, "schema", "ditbench.accelerator/1");
    dit_json_put_string(w, root, "name", name);
    dit_json_put_string(w, root, "title", title);
    dit_json_put_string(w, root, "vendor", vendor);
    dit_json_put_string(w, root, "architecture", fit->cpu);
    dit_json_put_int(w, root, "memory_bytes", fit->memory_bytes);
    dit_json_put_number(w, root, "memory_bandwidth_bytes_per_s", fit->bandwidth_bytes_per_s);
}

static dit_status add_rest(dit_json_writer *w, const suite_core_fit *fit, int processors, cJSON *root)
{
    static const char *const no_power[][2] = {{"power_w", "not measured"}, {NULL, NULL}};
    dit_json_put_int(w, root, "streaming_multiprocessors", processors);
    add_texts(w, object_in(w, root, "unknown"), no_power);
    DIT_TRY(add_cost(fit, object_in(w, root, "cost")));
    add_source(w, root);
    return w->status;
}

/* The peak is what the best product shows of it; datasheets say more. */
static dit_status build_device(const suite_core_fit *fit, cJSON *root)
{
    dit_json_writer w = {0};
    char title[192];
    snprintf(title, sizeof title, "%s, measured in %s", fit->cpu, fit->element);
    add_identity(&w, fit, "local-gpu", title, "nvidia", root);
    add_peaks(&w, fit, root);
    return add_rest(&w, fit, fit->processors, root);
}

static dit_status build_accelerator(const suite_core_fit *fit, cJSON *root)
{
    dit_json_writer w = {0};
    static const char *const no_half[][2] = {{"fp16", "not measured: this engine computes with fp32 there"},
                                             {"bf16", "not measured: this engine computes with fp32 there"},
                                             {NULL, NULL}};
    char title[192];
    snprintf(title, sizeof title, "One core of %s, %s", fit->cpu, fit->isa);
    add_identity(&w, fit, "cpu-core", title, "cpu", root);
    cJSON *peaks = object_in(&w, root, "peak_flops_per_s");
    dit_json_put_number(&w, peaks, "fp32", fit->peak_flops_per_s);
    add_texts(&w, object_in(&w, peaks, "unknown"), no_half);
    return add_rest(&w, fit, 1, root);
}

static void add_part(dit_json_writer *w, cJSON *parts, dit_cost_part which, double kernels, double passes,
                     const char *why)
{
    cJSON *part = object_in(w, parts, dit_cost_part_name(which));
    dit_json_put_number(w, part, "kernels", kernels);
    dit_json_put_number(w, part, "passes", passes);
    dit_json_put_string(w, part, "why", why);
}

/* What the operators of kernels/cpu do in one go is no kernel of its own. */
static void add_parts(dit_json_writer *w, const suite_core_fit *fit, cJSON *parts)
{
    static const bool fused[DIT_COST_PART_COUNT] = {
        [DIT_COST_PART_ACTIVATION] = true, [DIT_COST_PART_GATE] = true,   [DIT_COST_PART_RESIDUAL] = true,
        [DIT_COST_PART_MODULATION] = true, [DIT_COST_PART_ROTARY] = true, [DIT_COST_PART_COMBINE_OPERAND] = true};
    static const bool unmeasured[DIT_COST_PART_COUNT] = {
        [DIT_COST_PART_EXCHANGE] = true, [DIT_COST_PART_GROUP_MOMENTS] = true, [DIT_COST_PART_GROUP_NORM] = true};
    for (int i = 0; i < DIT_COST_PART_COUNT; i++)
        if (!unmeasured[i])
            add_part(w, parts, (dit_cost_part)i, fused[i] ? 0 : 1, fit->passes[i],
                     fused[i] ? "within the operator: what it takes longer, measured" : "one operator, measured");
    add_part(w, parts, DIT_COST_PART_GROUP_MOMENTS, 1, 1, "read; not measured");
    add_part(w, parts, DIT_COST_PART_GROUP_NORM, 1, 2, "read, write; not measured");
    add_part(w, parts, DIT_COST_PART_EXCHANGE, 0, 0, "the engine's own copy is all");
}

static dit_status build_profile(const suite_core_fit *fit, cJSON *root)
{
    dit_json_writer w = {0};
    static const char *const hosts[] = {"dispatch_s", "collective_dispatch_s", "synchronise_s",
                                        "communication_processors"};
    static const char *const evidence[][2] = {
        {"measured", "measured: on a core of a processor, which is what this software is for"},
        {"dispatch_s", "by design: the core that computes is the host; a call's own start is launch_s"},
        {"communication_processors", "by design: ranks copy messages themselves"},
        {"parts", "measured: times of operators with and without the part, in passes over memory"},
        {NULL, NULL}};
    dit_json_put_string(&w, root, "schema", "ditbench.profile/1");
    dit_json_put_string(&w, root, "name", "cpu");
    dit_json_put_string(&w, root, "title", "This engine's own operators on a processor's cores");
    dit_json_put_bool(&w, root, "measured", true);
    for (int i = 0; i < 4; i++) dit_json_put_int(&w, root, hosts[i], 0);
    dit_json_put_bool(&w, root, "packed_linear", true);
    dit_json_put_string(&w, dit_json_put_array(&w, root, "attention_kernels"), NULL, "ditbench-cpu");
    add_parts(&w, fit, object_in(&w, root, "parts"));
    add_texts(&w, object_in(&w, root, "evidence"), evidence);
    add_source(&w, root);
    return w.status;
}

static dit_status build_device_profile(const suite_core_fit *fit, cJSON *root)
{
    dit_json_writer w = {0};
    static const char *const evidence[][2] = {
        {"measured", "measured: on this machine's GPU"},
        {"dispatch_s", "measured: calls of a small operator, issued without waiting"},
        {"collective_dispatch_s", "assumed: as any call"},
        {"synchronise_s", "measured: waiting where nothing is left to do"},
        {"communication_processors", "assumed: as in the profile ditbench"},
        {"parts", "measured: times of operators with and without the part, in passes over memory"},
        {NULL, NULL}};
    dit_json_put_string(&w, root, "schema", "ditbench.profile/1");
    dit_json_put_string(&w, root, "name", "local-gpu");
    dit_json_put_string(&w, root, "title", "This engine's own operators on this machine's GPU");
    dit_json_put_bool(&w, root, "measured", true);
    dit_json_put_number(&w, root, "dispatch_s", fit->dispatch_s);
    dit_json_put_number(&w, root, "collective_dispatch_s", fit->dispatch_s);
    dit_json_put_number(&w, root, "synchronise_s", fit->synchronise_s);
    dit_json_put_int(&w, root, "communication_processors", fit->processors > 16 ? 16 : 0);
    dit_json_put_bool(&w, root, "packed_linear", true);
    dit_json_put_string(&w, dit_json_put_array(&w, root, "attention_kernels"), NULL, kernel_of(fit));
    add_parts(&w, fit, object_in(&w, root, "parts"));
    add_texts(&w, object_in(&w, root, "evidence"), evidence);
    add_source(&w, root);
    return w.status;
}

static dit_status build_links(const suite_core_fit *fit, cJSON *root)
{
    dit_json_writer w = {0};
    static const char *const texts[][2] = {
        {"schema", "ditbench.links/1"}, {"name", "local"}, {"title", "Classes of links of this machine"}, {NULL, NULL}};
    static const char *const facts[][2] = {
        {"title", "Memory that ranks of one machine share"}, {"kind", "memory"}, {"sharing", "per-flow"}, {NULL, NULL}};
    static const char *const device_facts[][2] = {
        {"title", "What joins the GPUs of this machine"}, {"kind", "local-gpu"}, {"sharing", "duplex"}, {NULL, NULL}};
    add_texts(&w, root, texts);
    cJSON *memory = object_in(&w, object_in(&w, root, "classes"), fit->device ? "local-gpu" : "memory");
    add_texts(&w, memory, fit->device ? device_facts : facts);
    dit_json_put_number(&w, memory, "bandwidth_bytes_per_s", fit->message_bytes_per_s);
    dit_json_put_number(&w, memory, "latency_s", fit->message_latency_s);
    dit_json_put_string(&w, memory, "note",
                        fit->device ? "of a device that sends and receives so many bytes at the same time"
                                    : "of a core that sends and receives so many bytes at the same time");
    cJSON *fitted = object_in(&w, memory, "fitted");
    dit_json_put_int(&w, fitted, "bandwidth_efficiency", 1);
    dit_json_put_int(&w, fitted, "many_peers_efficiency", 1);
    dit_json_put_string(&w, fitted, "evidence", "measured");
    add_source(&w, memory);
    return w.status;
}

enum { RANKS_PER_CORE = 4 };

static dit_status build_platform(const suite_core_fit *fit, cJSON *root)
{
    dit_json_writer w = {0};
    static const char *const texts[][2] = {{"schema", "ditbench.platform/1"},
                                           {"name", "local-cpu-simulated"},
                                           {"title", "This machine's cores, simulated"},
                                           {"backend", "cost"},
                                           {"launcher", "smpirun"},
                                           {NULL, NULL}};
    add_texts(&w, root, texts);
    cJSON *cluster = object_in(&w, root, "cluster");
    dit_json_put_string(&w, cluster, "accelerator", "cpu-core");
    dit_json_put_int(&w, cluster, "nodes", 1);
    cJSON *node = object_in(&w, cluster, "node");
    dit_json_put_int(&w, node, "devices", fit->cores);
    dit_json_put_int(&w, node, "max_ranks", (int64_t)RANKS_PER_CORE * fit->cores);
    dit_json_put_string(&w, node, "topology", "cores");
    dit_json_put_string(&w, node, "device_link", "memory");
    add_source(&w, root);
    return w.status;
}

static dit_status build_device_platform(const suite_core_fit *fit, cJSON *root)
{
    dit_json_writer w = {0};
    static const char *const texts[][2] = {{"schema", "ditbench.platform/1"},
                                           {"name", "local-gpu-simulated"},
                                           {"title", "This machine's GPUs, simulated"},
                                           {"backend", "cost"},
                                           {"launcher", "smpirun"},
                                           {NULL, NULL}};
    add_texts(&w, root, texts);
    cJSON *cluster = object_in(&w, root, "cluster");
    dit_json_put_string(&w, cluster, "accelerator", "local-gpu");
    dit_json_put_int(&w, cluster, "nodes", 1);
    dit_json_put_int(&w, cluster, "host_scale", 1); /* the profile is of this host */
    cJSON *node = object_in(&w, cluster, "node"), *unknown;
    dit_json_put_int(&w, node, "devices", fit->cores);
    dit_json_put_string(&w, node, "topology", "switch");
    dit_json_put_string(&w, node, "device_link", "local-gpu");
    unknown = object_in(&w, node, "unknown");
    dit_json_put_string(&w, unknown, "nic_link", "one node needs none");
    add_source(&w, root);
    return w.status;
}

/* Classes that an earlier calibration, of cores or of devices, left in the list: they stay. */
static dit_status keep_classes(const char *path, cJSON *root)
{
    dit_json_writer w = {0};
    dit_json before = {0};
    cJSON *classes = cJSON_GetObjectItemCaseSensitive(root, "classes");
    const cJSON *one;
    if (!classes || access(path, R_OK) != 0) return w.status;
    DIT_TRY(dit_json_read_file(path, &before));
    cJSON_ArrayForEach(one, dit_json_member(before.root, "classes"))
    {
        if (!cJSON_HasObjectItem(classes, one->string)) dit_json_put_copy(&w, classes, one->string, one);
    }
    dit_json_release(&before);
    return w.status;
}

static dit_status write_file(const suite_core_fit *fit, const char *folder, const char *kind, const char *name,
                             dit_status (*build)(const suite_core_fit *fit, cJSON *root))
{
    char path[SUITE_PATH];
    dit_json_writer w = {0};
    cJSON *root = dit_json_new_object(&w);
    dit_status st = root ? build(fit, root) : w.status;
    if (st == DIT_OK) st = suite_path(path, "%s/%s", folder, kind);
    if (st == DIT_OK) st = suite_path_make(path);
    if (st == DIT_OK) st = suite_path(path, "%s/%s/%s.json", folder, kind, name);
    if (st == DIT_OK) st = keep_classes(path, root);
    if (st == DIT_OK) st = dit_json_write_file(root, path, false);
    cJSON_Delete(root);
    return st;
}

/* The platform last: with it the machine can be simulated. */
static dit_status write_device_files(const suite_core_fit *fit, const char *folder)
{
    DIT_TRY(write_file(fit, folder, "accelerators", "local-gpu", build_device));
    DIT_TRY(write_file(fit, folder, "profiles", "local-gpu", build_device_profile));
    if (fit->cores < 2) return DIT_OK; /* nothing was sent */
    DIT_TRY(write_file(fit, folder, "links", "local", build_links));
    return write_file(fit, folder, "platforms", "local-gpu-simulated", build_device_platform);
}

static dit_status write_files(const suite_core_fit *fit, const char *folder)
{
    if (fit->device) return write_device_files(fit, folder);
    DIT_TRY(write_file(fit, folder, "accelerators", "cpu-core", build_accelerator));
    DIT_TRY(write_file(fit, folder, "profiles", "cpu", build_profile));
    DIT_TRY(write_file(fit, folder, "links", "local", build_links));
    return write_file(fit, folder, "platforms", "local-cpu-simulated", build_platform);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void add_count(dit_json_writer *w, cJSON *summary, const char *key, int count, double error)
{
    cJSON *object = object_in(w, summary, key);
    dit_json_put_int(w, object, "count", count);
    dit_json_put_number(w, object, "median_error", error);
}

static void summarise(dit_json_writer *w, const suite_core_fit *fit, const char *folder, cJSON *summary)
{
    dit_json_put_string(w, summary, "output", folder);
    dit_json_put_string(w, summary, "evidence", "measured");
    dit_json_put_string(w, summary, fit->device ? "device" : "cpu", fit->cpu);
    dit_json_put_int(w, summary, "ranks", fit->cores);
    add_count(w, summary, "products", fit->products, fit->product_error);
    add_count(w, summary, "messages", fit->messages, fit->message_error);
    if (fit->device) {
        dit_json_put_number(w, summary, "peak_flops_per_s", fit->peak_flops_per_s);
        return;
    }
    cJSON *together = object_in(w, summary, "together");
    dit_json_put_number(w, together, "compute", fit->together_compute);
    dit_json_put_number(w, together, "bandwidth", fit->together_bandwidth);
}

static dit_status find_folder(const char *output, char out[SUITE_PATH])
{
    char root[SUITE_PATH];
    if (output)
        DIT_TRY(suite_path(out, "%s", output));
    else {
        DIT_TRY(suite_session_root(root));
        DIT_TRY(suite_path(out, "%s/calibration", root));
    }
    return suite_path_make(out);
}

/* Raw times into FOLDER/raw.json, unless they come from a file. */
static dit_status get_raw(const suite_calibrate_measured_params *params, const char *folder, dit_json *out)
{
    char path[SUITE_PATH];
    if (params->raw) return dit_json_read_file(params->raw, out);
    dit_json_writer w = {0};
    cJSON *raw = dit_json_new_object(&w);
    dit_status st = w.status;
    if (st == DIT_OK) st = is_device(params) ? measure_devices(params, raw) : measure(params, raw);
    if (st == DIT_OK) st = suite_path(path, "%s/raw.json", folder);
    if (st == DIT_OK) st = dit_json_write_file(raw, path, false);
    cJSON_Delete(raw);
    return st == DIT_OK ? dit_json_read_file(path, out) : st;
}

dit_status suite_calibrate_measured(const suite_calibrate_measured_params *params, cJSON **summary)
{
    dit_json_writer w = {0};
    char folder[SUITE_PATH];
    suite_core_fit fit;
    dit_json raw = {0};
    dit_status st = DIT_OK;
    *summary = NULL;
    DIT_TRY(find_folder(params->output, folder));
    DIT_TRY_GOTO(st, get_raw(params, folder, &raw), done);
    DIT_TRY_GOTO(st, suite_core_fit_raw(&raw, &fit), done);
    DIT_TRY_GOTO(st, write_files(&fit, folder), done);
    cJSON *document = dit_json_new_object(&w);
    summarise(&w, &fit, folder, document);
    st = dit_json_finish(&w, document, summary);
done:
    dit_json_release(&raw);
    return st;
}
