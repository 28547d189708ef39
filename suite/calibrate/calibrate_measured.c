#include "suite/calibrate/calibrate_measured.h"

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
    const char *message = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(outcome->error, "message"));
    return DIT_FAIL(DIT_ERR_ENVIRONMENT, "the measurement failed: %s", message ? message : "the engine ended early");
}

static bool is_device(const suite_calibrate_measured_params *params)
{
    return params->backend && suite_backend_is_device(params->backend);
}

/* Adds {"ranks", "times"} to `runs`, and sets "isa" of `raw`, of devices "element". */
static dit_status take_run(const suite_outcome *outcome, bool device, cJSON *raw, cJSON *runs)
{
    const char *key = device ? "element" : "isa";
    cJSON *times = cJSON_GetObjectItemCaseSensitive(outcome->record, "times");
    const char *word = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(outcome->record, key));
    const cJSON *ranks = cJSON_GetObjectItemCaseSensitive(outcome->record, "ranks");
    if (outcome->status != DIT_OUTCOME_OK || !times || !word || !cJSON_IsNumber(ranks)) return engine_error(outcome);
    cJSON *run = cJSON_CreateObject(), *copy = cJSON_Duplicate(times, true);
    if (!run || !copy || !cJSON_AddItemToArray(runs, run) || !cJSON_AddItemToObject(run, "times", copy))
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the times");
    DIT_TRY(dit_json_add_int(run, "ranks", ranks->valueint));
    if (cJSON_GetObjectItemCaseSensitive(raw, key)) return DIT_OK;
    return dit_json_add_string(raw, key, word);
}

static dit_status measure_run(const suite_calibrate_measured_params *params, int ranks, cJSON *raw, cJSON *runs)
{
    suite_outcome outcome = {0};
    suite_single_params single = {.engine = params->engine,
                                  .launcher = ranks == 1 ? "local" : "mpirun",
                                  .deadline_s = params->deadline_s,
                                  .tick = params->tick,
                                  .context = params->context,
                                  .world_size = ranks,
                                  .threads_per_rank = 1};
    cJSON *kase = cJSON_CreateObject();
    dit_status st = kase ? dit_json_add_string(kase, "schema", "ditbench.case/1")
                         : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    if (st == DIT_OK) st = dit_json_add_string(kase, "program", "calibrate");
    if (st == DIT_OK && params->backend) st = dit_json_add_string(kase, "backend", params->backend);
    if (st == DIT_OK && params->element) st = dit_json_add_string(kase, "element", params->element);
    if (st == DIT_OK && params->few && !cJSON_AddTrueToObject(kase, "few"))
        st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    if (st == DIT_OK) st = suite_single_run(kase, &single, &outcome);
    if (st == DIT_OK) st = take_run(&outcome, is_device(params), raw, runs);
    suite_outcome_release(&outcome);
    cJSON_Delete(kase);
    return st;
}

static dit_status describe_machine(int cores, cJSON *raw)
{
    cJSON *hardware = NULL, *machine = cJSON_AddObjectToObject(raw, "machine");
    DIT_TRY(suite_environment_hardware(&hardware));
    const char *cpu = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(hardware, "cpu"));
    const cJSON *memory = cJSON_GetObjectItemCaseSensitive(hardware, "memory_bytes");
    dit_status st = machine ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the machine");
    if (st == DIT_OK) st = dit_json_add_string(machine, "cpu", cpu ? cpu : "unknown");
    if (st == DIT_OK) st = dit_json_add_int(machine, "cores", cores);
    if (st == DIT_OK)
        st = cJSON_IsNumber(memory) ? dit_json_add_number(machine, "memory_bytes", memory->valuedouble)
                                    : DIT_FAIL(DIT_ERR_ENVIRONMENT, "the machine's memory is not known");
    cJSON_Delete(hardware);
    return st;
}

static dit_status add_number_or(cJSON *object, const char *key, const cJSON *from, double otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, key);
    return dit_json_add_number(object, key, cJSON_IsNumber(item) ? item->valuedouble : otherwise);
}

/* As the first device tells; an emulated one tells less. */
static dit_status describe_devices(const suite_devices *devices, cJSON *raw)
{
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(devices->list, "devices"), 0);
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(first, "name"));
    cJSON *machine = cJSON_AddObjectToObject(raw, "machine");
    if (!machine) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the machine");
    DIT_TRY(suite_text_add(machine, "device", name ? name : "unknown"));
    DIT_TRY(dit_json_add_int(machine, "devices", devices->count));
    DIT_TRY(add_number_or(machine, "multiprocessors", first, 1));
    return add_number_or(machine, "memory_bytes", first,
                         (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
}

/* One rank alone, then one on every device. */
static dit_status measure_devices(const suite_calibrate_measured_params *params, cJSON *raw)
{
    suite_devices devices;
    suite_devices_find(params->engine, params->backend, &devices);
    if (!devices.count)
        return dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "there is nothing to measure on: %s", devices.reason), "%s",
                              devices.hint[0] ? devices.hint : "without --backend this machine's cores are measured");
    if (devices.count > SUITE_NODE_DEVICES) devices.count = SUITE_NODE_DEVICES;
    DIT_TRY(dit_json_add_string(raw, "schema", "ditbench.calibration-raw/1"));
    DIT_TRY(describe_devices(&devices, raw));
    cJSON *runs = cJSON_AddArrayToObject(raw, "runs");
    if (!runs) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the times");
    DIT_TRY(measure_run(params, 1, raw, runs));
    return devices.count > 1 ? measure_run(params, devices.count, raw, runs) : DIT_OK;
}

/* One rank alone, then one on every core. */
static dit_status measure(const suite_calibrate_measured_params *params, cJSON *raw)
{
    int cores = suite_launch_cores();
    if (cores > SUITE_NODE_DEVICES) cores = SUITE_NODE_DEVICES; /* no simulated node has more */
    if (cores < 2)
        return dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "messages between ranks cannot be measured on one core"),
                              "run it on a machine where at least two cores are allowed");
    DIT_TRY(dit_json_add_string(raw, "schema", "ditbench.calibration-raw/1"));
    DIT_TRY(describe_machine(cores, raw));
    cJSON *runs = cJSON_AddArrayToObject(raw, "runs");
    if (!runs) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the times");
    DIT_TRY(measure_run(params, 1, raw, runs));
    return measure_run(params, cores, raw, runs);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* A new object or array under `parent`; NULL without memory, which the adds that follow refuse. */
static cJSON *object_in(cJSON *parent, const char *key)
{
    return cJSON_AddObjectToObject(parent, key);
}

static dit_status add_texts(cJSON *object, const char *const (*texts)[2])
{
    for (; (*texts)[0]; texts++) DIT_TRY(dit_json_add_string(object, (*texts)[0], (*texts)[1]));
    return DIT_OK;
}

static dit_status add_source(cJSON *object)
{
    cJSON *source = cJSON_AddArrayToObject(object, "source"), *text = cJSON_CreateString(measured_by);
    if (source && text && cJSON_AddItemToArray(source, text)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a data file");
}

static dit_status add_tiles(const suite_core_fit *fit, cJSON *cost)
{
    const int rows[] = {fit->tile_rows, 1};
    const double efficiency[] = {1, fit->row_efficiency};
    cJSON *tiles = cJSON_AddArrayToObject(cost, "gemm_tiles"), *attention = object_in(cost, "attention_tile");
    for (int i = 0; i < 2; i++) {
        cJSON *tile = cJSON_CreateObject();
        if (!tile || !cJSON_AddItemToArray(tiles, tile)) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a data file");
        DIT_TRY(dit_json_add_int(tile, "rows", rows[i]));
        DIT_TRY(dit_json_add_int(tile, "columns", fit->tile_columns));
        DIT_TRY(dit_json_add_number(tile, "efficiency", efficiency[i]));
    }
    DIT_TRY(dit_json_add_int(attention, "queries", fit->tile_columns));
    return dit_json_add_int(attention, "keys", 1);
}

/* What the accelerator's file and the profile's call the engine's own attention. */
static const char *kernel_of(const suite_core_fit *fit)
{
    return fit->device ? "ditbench-cuda" : "ditbench-cpu";
}

static dit_status add_attention(const suite_core_fit *fit, cJSON *cost)
{
    cJSON *list = cJSON_AddArrayToObject(cost, "attention");
    for (int i = 0; i < fit->heads; i++) {
        const dit_cost_curve *curve = &fit->attention[i];
        cJSON *table = cJSON_CreateObject();
        cJSON *tokens = cJSON_CreateDoubleArray(curve->x, curve->count);
        cJSON *rates = cJSON_CreateDoubleArray(curve->y, curve->count);
        if (!table || !tokens || !rates || !cJSON_AddItemToArray(list, table))
            return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a data file");
        DIT_TRY(dit_json_add_string(table, "kernel", kernel_of(fit)));
        DIT_TRY(dit_json_add_int(table, "head_dim", fit->head_dim[i]));
        cJSON_AddItemToObject(table, "tokens", tokens);
        cJSON_AddItemToObject(table, "flops_per_s", rates);
    }
    return DIT_OK;
}

static dit_status add_fractions(const suite_core_fit *fit, cJSON *cost)
{
    cJSON *list = cJSON_AddArrayToObject(cost, "bandwidth_fraction");
    for (int i = 0; i < fit->bandwidth_fraction.count; i++) {
        cJSON *knot = cJSON_CreateObject();
        if (!knot || !cJSON_AddItemToArray(list, knot)) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a data file");
        DIT_TRY(dit_json_add_number(knot, "bytes", fit->bandwidth_fraction.x[i]));
        DIT_TRY(dit_json_add_number(knot, "fraction", fit->bandwidth_fraction.y[i]));
    }
    return DIT_OK;
}

static dit_status add_cost(const suite_core_fit *fit, cJSON *cost)
{
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
    DIT_TRY(dit_json_add_number(cost, "gemm_ceiling", fit->gemm_ceiling));
    DIT_TRY(dit_json_add_number(cost, "gemm_fill_k", fit->gemm_fill_k));
    if (!fit->device) DIT_TRY(add_tiles(fit, cost));
    DIT_TRY(add_attention(fit, cost));
    DIT_TRY(dit_json_add_int(cost, "head_granularity", fit->device ? 8 : 1));
    DIT_TRY(add_fractions(fit, cost));
    DIT_TRY(dit_json_add_number(cost, "launch_s", fit->launch_s));
    if (fit->device) {
        DIT_TRY(add_texts(object_in(cost, "evidence"), device_evidence));
        return add_source(cost);
    }
    cJSON *together = object_in(cost, "together");
    DIT_TRY(dit_json_add_int(together, "ranks", fit->cores));
    DIT_TRY(dit_json_add_number(together, "compute", fit->together_compute));
    DIT_TRY(dit_json_add_number(together, "bandwidth", fit->together_bandwidth));
    DIT_TRY(add_texts(object_in(cost, "evidence"), evidence));
    return add_source(cost);
}

static dit_status add_peaks(const suite_core_fit *fit, cJSON *root)
{
    static const char *const types[] = {"fp32", "fp16", "bf16"};
    cJSON *peaks = object_in(root, "peak_flops_per_s"), *unknown;
    DIT_TRY(dit_json_add_number(peaks, fit->element, fit->peak_flops_per_s));
    unknown = object_in(peaks, "unknown");
    for (int i = 0; i < 3; i++)
        if (strcmp(types[i], fit->element) != 0) DIT_TRY(dit_json_add_string(unknown, types[i], "not measured"));
    return DIT_OK;
}

/* The peak is what the best product shows of it; datasheets say more. */
static dit_status build_device(const suite_core_fit *fit, cJSON *root)
{
    static const char *const no_power[][2] = {{"power_w", "not measured"}, {NULL, NULL}};
    char title[192];
    snprintf(title, sizeof title, "%s, measured in %s", fit->cpu, fit->element);
    DIT_TRY(dit_json_add_string(root, "schema", "ditbench.accelerator/1"));
    DIT_TRY(dit_json_add_string(root, "name", "local-gpu"));
    DIT_TRY(dit_json_add_string(root, "title", title));
    DIT_TRY(dit_json_add_string(root, "vendor", "nvidia"));
    DIT_TRY(dit_json_add_string(root, "architecture", fit->cpu));
    DIT_TRY(dit_json_add_int(root, "memory_bytes", fit->memory_bytes));
    DIT_TRY(dit_json_add_number(root, "memory_bandwidth_bytes_per_s", fit->bandwidth_bytes_per_s));
    DIT_TRY(add_peaks(fit, root));
    DIT_TRY(dit_json_add_int(root, "streaming_multiprocessors", fit->processors));
    DIT_TRY(add_texts(object_in(root, "unknown"), no_power));
    DIT_TRY(add_cost(fit, object_in(root, "cost")));
    return add_source(root);
}

static dit_status build_accelerator(const suite_core_fit *fit, cJSON *root)
{
    static const char *const no_half[][2] = {{"fp16", "not measured: this engine computes with fp32 there"},
                                             {"bf16", "not measured: this engine computes with fp32 there"},
                                             {NULL, NULL}};
    static const char *const no_power[][2] = {{"power_w", "not measured"}, {NULL, NULL}};
    char title[192];
    snprintf(title, sizeof title, "One core of %s, %s", fit->cpu, fit->isa);
    DIT_TRY(dit_json_add_string(root, "schema", "ditbench.accelerator/1"));
    DIT_TRY(dit_json_add_string(root, "name", "cpu-core"));
    DIT_TRY(dit_json_add_string(root, "title", title));
    DIT_TRY(dit_json_add_string(root, "vendor", "cpu"));
    DIT_TRY(dit_json_add_string(root, "architecture", fit->cpu));
    DIT_TRY(dit_json_add_int(root, "memory_bytes", fit->memory_bytes));
    DIT_TRY(dit_json_add_number(root, "memory_bandwidth_bytes_per_s", fit->bandwidth_bytes_per_s));
    cJSON *peaks = object_in(root, "peak_flops_per_s");
    DIT_TRY(dit_json_add_number(peaks, "fp32", fit->peak_flops_per_s));
    DIT_TRY(add_texts(object_in(peaks, "unknown"), no_half));
    DIT_TRY(dit_json_add_int(root, "streaming_multiprocessors", 1));
    DIT_TRY(add_texts(object_in(root, "unknown"), no_power));
    DIT_TRY(add_cost(fit, object_in(root, "cost")));
    return add_source(root);
}

static dit_status add_part(cJSON *parts, const char *key, double kernels, double passes, const char *why)
{
    cJSON *part = object_in(parts, key);
    DIT_TRY(dit_json_add_number(part, "kernels", kernels));
    DIT_TRY(dit_json_add_number(part, "passes", passes));
    return dit_json_add_string(part, "why", why);
}

/* What the operators of kernels/cpu do in one go is no kernel of its own. */
static dit_status add_parts(const suite_core_fit *fit, cJSON *parts)
{
    static const bool fused[SUITE_FIT_PART_COUNT] = {
        [SUITE_FIT_PART_ACTIVATION] = true, [SUITE_FIT_PART_GATE] = true,   [SUITE_FIT_PART_RESIDUAL] = true,
        [SUITE_FIT_PART_MODULATION] = true, [SUITE_FIT_PART_ROTARY] = true, [SUITE_FIT_PART_COMBINE_OPERAND] = true};
    for (int i = 0; i < SUITE_FIT_PART_COUNT; i++)
        DIT_TRY(add_part(parts, suite_fit_part_name((suite_fit_part)i), fused[i] ? 0 : 1, fit->passes[i],
                         fused[i] ? "within the operator: what it takes longer, measured" : "one operator, measured"));
    DIT_TRY(add_part(parts, "group_moments", 1, 1, "read; not measured"));
    DIT_TRY(add_part(parts, "group_norm", 1, 2, "read, write; not measured"));
    return add_part(parts, "exchange", 0, 0, "the engine's own copy is all");
}

static dit_status build_profile(const suite_core_fit *fit, cJSON *root)
{
    static const char *const hosts[] = {"dispatch_s", "collective_dispatch_s", "synchronise_s",
                                        "communication_processors"};
    static const char *const evidence[][2] = {
        {"measured", "measured: on a core of a processor, which is what this software is for"},
        {"dispatch_s", "by design: the core that computes is the host; a call's own start is launch_s"},
        {"communication_processors", "by design: ranks copy messages themselves"},
        {"parts", "measured: times of operators with and without the part, in passes over memory"},
        {NULL, NULL}};
    cJSON *kernels;
    DIT_TRY(dit_json_add_string(root, "schema", "ditbench.profile/1"));
    DIT_TRY(dit_json_add_string(root, "name", "cpu"));
    DIT_TRY(dit_json_add_string(root, "title", "This engine's own operators on a processor's cores"));
    cJSON_AddBoolToObject(root, "measured", true);
    for (int i = 0; i < 4; i++) DIT_TRY(dit_json_add_int(root, hosts[i], 0));
    cJSON_AddBoolToObject(root, "packed_linear", true);
    if (!(kernels = cJSON_AddArrayToObject(root, "attention_kernels")) ||
        !cJSON_AddItemToArray(kernels, cJSON_CreateString("ditbench-cpu")))
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a data file");
    DIT_TRY(add_parts(fit, object_in(root, "parts")));
    DIT_TRY(add_texts(object_in(root, "evidence"), evidence));
    return add_source(root);
}

static dit_status build_device_profile(const suite_core_fit *fit, cJSON *root)
{
    static const char *const evidence[][2] = {
        {"measured", "measured: on this machine's GPU"},
        {"dispatch_s", "measured: calls of a small operator, issued without waiting"},
        {"collective_dispatch_s", "assumed: as any call"},
        {"synchronise_s", "measured: waiting where nothing is left to do"},
        {"communication_processors", "assumed: as in the profile ditbench"},
        {"parts", "measured: times of operators with and without the part, in passes over memory"},
        {NULL, NULL}};
    cJSON *kernels;
    DIT_TRY(dit_json_add_string(root, "schema", "ditbench.profile/1"));
    DIT_TRY(dit_json_add_string(root, "name", "local-gpu"));
    DIT_TRY(dit_json_add_string(root, "title", "This engine's own operators on this machine's GPU"));
    cJSON_AddBoolToObject(root, "measured", true);
    DIT_TRY(dit_json_add_number(root, "dispatch_s", fit->dispatch_s));
    DIT_TRY(dit_json_add_number(root, "collective_dispatch_s", fit->dispatch_s));
    DIT_TRY(dit_json_add_number(root, "synchronise_s", fit->synchronise_s));
    DIT_TRY(dit_json_add_int(root, "communication_processors", fit->processors > 16 ? 16 : 0));
    cJSON_AddBoolToObject(root, "packed_linear", true);
    if (!(kernels = cJSON_AddArrayToObject(root, "attention_kernels")) ||
        !cJSON_AddItemToArray(kernels, cJSON_CreateString(kernel_of(fit))))
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a data file");
    DIT_TRY(add_parts(fit, object_in(root, "parts")));
    DIT_TRY(add_texts(object_in(root, "evidence"), evidence));
    return add_source(root);
}

static dit_status build_links(const suite_core_fit *fit, cJSON *root)
{
    static const char *const texts[][2] = {
        {"schema", "ditbench.links/1"}, {"name", "local"}, {"title", "Classes of links of this machine"}, {NULL, NULL}};
    static const char *const facts[][2] = {
        {"title", "Memory that ranks of one machine share"}, {"kind", "memory"}, {"sharing", "per-flow"}, {NULL, NULL}};
    static const char *const device_facts[][2] = {
        {"title", "What joins the GPUs of this machine"}, {"kind", "local-gpu"}, {"sharing", "duplex"}, {NULL, NULL}};
    DIT_TRY(add_texts(root, texts));
    cJSON *memory = object_in(object_in(root, "classes"), fit->device ? "local-gpu" : "memory");
    DIT_TRY(add_texts(memory, fit->device ? device_facts : facts));
    DIT_TRY(dit_json_add_number(memory, "bandwidth_bytes_per_s", fit->message_bytes_per_s));
    DIT_TRY(dit_json_add_number(memory, "latency_s", fit->message_latency_s));
    DIT_TRY(dit_json_add_string(memory, "note",
                                fit->device ? "of a device that sends and receives so many bytes at the same time"
                                            : "of a core that sends and receives so many bytes at the same time"));
    cJSON *fitted = object_in(memory, "fitted");
    DIT_TRY(dit_json_add_int(fitted, "bandwidth_efficiency", 1));
    DIT_TRY(dit_json_add_int(fitted, "many_peers_efficiency", 1));
    DIT_TRY(dit_json_add_string(fitted, "evidence", "measured"));
    return add_source(memory);
}

enum { RANKS_PER_CORE = 4 };

static dit_status build_platform(const suite_core_fit *fit, cJSON *root)
{
    static const char *const texts[][2] = {{"schema", "ditbench.platform/1"},
                                           {"name", "local-cpu-simulated"},
                                           {"title", "This machine's cores, simulated"},
                                           {"backend", "cost"},
                                           {"launcher", "smpirun"},
                                           {NULL, NULL}};
    DIT_TRY(add_texts(root, texts));
    cJSON *cluster = object_in(root, "cluster");
    DIT_TRY(dit_json_add_string(cluster, "accelerator", "cpu-core"));
    DIT_TRY(dit_json_add_int(cluster, "nodes", 1));
    cJSON *node = object_in(cluster, "node");
    DIT_TRY(dit_json_add_int(node, "devices", fit->cores));
    DIT_TRY(dit_json_add_int(node, "max_ranks", (int64_t)RANKS_PER_CORE * fit->cores));
    DIT_TRY(dit_json_add_string(node, "topology", "cores"));
    DIT_TRY(dit_json_add_string(node, "device_link", "memory"));
    return add_source(root);
}

static dit_status build_device_platform(const suite_core_fit *fit, cJSON *root)
{
    static const char *const texts[][2] = {{"schema", "ditbench.platform/1"},
                                           {"name", "local-gpu-simulated"},
                                           {"title", "This machine's GPUs, simulated"},
                                           {"backend", "cost"},
                                           {"launcher", "smpirun"},
                                           {NULL, NULL}};
    DIT_TRY(add_texts(root, texts));
    cJSON *cluster = object_in(root, "cluster");
    DIT_TRY(dit_json_add_string(cluster, "accelerator", "local-gpu"));
    DIT_TRY(dit_json_add_int(cluster, "nodes", 1));
    cJSON *node = object_in(cluster, "node"), *unknown;
    DIT_TRY(dit_json_add_int(node, "devices", fit->cores));
    DIT_TRY(dit_json_add_string(node, "topology", "switch"));
    DIT_TRY(dit_json_add_string(node, "device_link", "local-gpu"));
    unknown = object_in(node, "unknown");
    DIT_TRY(dit_json_add_string(unknown, "nic_link", "one node needs none"));
    return add_source(root);
}

/* Classes that an earlier calibration, of cores or of devices, left in the list: they stay. */
static dit_status keep_classes(const char *path, cJSON *root)
{
    dit_json before = {0};
    cJSON *classes = cJSON_GetObjectItemCaseSensitive(root, "classes");
    const cJSON *one;
    if (!classes || access(path, R_OK) != 0) return DIT_OK;
    DIT_TRY(dit_json_read_file(path, &before));
    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(before.root, "classes"))
    {
        if (!cJSON_HasObjectItem(classes, one->string))
            cJSON_AddItemToObject(classes, one->string, cJSON_Duplicate(one, true));
    }
    dit_json_release(&before);
    return DIT_OK;
}

static dit_status write_file(const suite_core_fit *fit, const char *folder, const char *kind, const char *name,
                             dit_status (*build)(const suite_core_fit *fit, cJSON *root))
{
    char path[SUITE_PATH];
    cJSON *root = cJSON_CreateObject();
    dit_status st = root ? build(fit, root) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a data file");
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

static dit_status add_count(cJSON *summary, const char *key, int count, double error)
{
    cJSON *object = object_in(summary, key);
    DIT_TRY(dit_json_add_int(object, "count", count));
    return dit_json_add_number(object, "median_error", error);
}

static dit_status summarise(const suite_core_fit *fit, const char *folder, cJSON *summary)
{
    DIT_TRY(dit_json_add_string(summary, "output", folder));
    DIT_TRY(dit_json_add_string(summary, "evidence", "measured"));
    DIT_TRY(dit_json_add_string(summary, fit->device ? "device" : "cpu", fit->cpu));
    DIT_TRY(dit_json_add_int(summary, "ranks", fit->cores));
    DIT_TRY(add_count(summary, "products", fit->products, fit->product_error));
    DIT_TRY(add_count(summary, "messages", fit->messages, fit->message_error));
    if (fit->device) return dit_json_add_number(summary, "peak_flops_per_s", fit->peak_flops_per_s);
    cJSON *together = object_in(summary, "together");
    DIT_TRY(dit_json_add_number(together, "compute", fit->together_compute));
    return dit_json_add_number(together, "bandwidth", fit->together_bandwidth);
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
    cJSON *raw = cJSON_CreateObject();
    dit_status st = raw ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for raw times");
    if (st == DIT_OK) st = is_device(params) ? measure_devices(params, raw) : measure(params, raw);
    if (st == DIT_OK) st = suite_path(path, "%s/raw.json", folder);
    if (st == DIT_OK) st = dit_json_write_file(raw, path, false);
    cJSON_Delete(raw);
    return st == DIT_OK ? dit_json_read_file(path, out) : st;
}

dit_status suite_calibrate_measured(const suite_calibrate_measured_params *params, cJSON **summary)
{
    char folder[SUITE_PATH];
    suite_core_fit fit;
    dit_json raw = {0};
    dit_status st = DIT_OK;
    *summary = NULL;
    DIT_TRY(find_folder(params->output, folder));
    DIT_TRY_GOTO(st, get_raw(params, folder, &raw), done);
    DIT_TRY_GOTO(st, suite_core_fit_raw(&raw, &fit), done);
    DIT_TRY_GOTO(st, write_files(&fit, folder), done);
    if (!(*summary = cJSON_CreateObject())) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a summary");
    if (st == DIT_OK) st = summarise(&fit, folder, *summary);
done:
    dit_json_release(&raw);
    return st;
}
