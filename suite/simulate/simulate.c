#include "suite/simulate/simulate.h"

#include "base/json_writer.h"
#include "suite/catalogue/catalogue.h"
#include "suite/launch/launch.h"
#include "suite/launch/process.h"
#include "suite/paths.h"
#include "suite/platform/profile.h"
#include "suite/platform/cluster_xml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what is needed ---------------------------------------------------------------------------------------------- */

dit_status suite_simulate_engine(const char *given, char out[SUITE_PATH])
{
    char plain[SUITE_PATH];
    if (given && realpath(given, out)) return DIT_OK; /* it is started in another folder */
    if (given) return DIT_FAIL(DIT_ERR_ENVIRONMENT, "engine %s: %s", given, strerror(errno));
    DIT_TRY(suite_launch_engine(NULL, plain));
    return suite_path(out, "%s-sim", plain);
}

dit_status suite_simulate_check(const suite_simulate_params *params)
{
    char engine[SUITE_PATH], launcher[SUITE_PATH];
    if (!suite_path_program("smpirun", launcher))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_ENVIRONMENT, "SimGrid's smpirun is not installed, so nothing can be simulated"),
            "apt-get install libsimgrid-dev, then make");
    DIT_TRY(suite_simulate_engine(params->engine, engine));
    if (access(engine, X_OK) == 0) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "%s: %s", engine, strerror(errno)),
                          "with SimGrid installed, make builds it");
}

/* ---- files of one simulation ------------------------------------------------------------------------------------- */

static dit_status write_to(const char *folder, const char *name, const suite_cluster *cluster, int ranks)
{
    char path[SUITE_PATH];
    DIT_TRY(suite_path(path, "%s/%s", folder, name));
    FILE *file = fopen(path, "w");
    if (!file) return DIT_FAIL(DIT_ERR_IO, "%s: %s", path, strerror(errno));
    dit_status st = ranks ? suite_cluster_write_hostfile(cluster, ranks, file) : suite_cluster_write_xml(cluster, file);
    if (fclose(file) != 0 && st == DIT_OK) st = DIT_FAIL(DIT_ERR_IO, "%s: %s", path, strerror(errno));
    return st;
}

/* What the host's work costs on this platform. */
static void scale_host(dit_json_writer *w, const suite_cluster *cluster, cJSON *profile)
{
    static const char *const costs[] = {"dispatch_s",     "view_dispatch_s", "collective_dispatch_s", "synchronise_s",
                                        "graph_launch_s", "graph_kernel_s",  "picture_element_s"};
    for (size_t i = 0; i < sizeof costs / sizeof *costs && cluster->host_scale != 1; i++) {
        const cJSON *cost = dit_json_member(profile, costs[i]);
        if (!cJSON_IsNumber(cost)) continue; /* the engine says what is wrong with it */
        double seconds = cost->valuedouble * cluster->host_scale;
        cJSON_DeleteItemFromObjectCaseSensitive(profile, costs[i]);
        dit_json_put_number(w, profile, costs[i], seconds);
    }
}

static void take_copies(dit_json_writer *w, const suite_cluster *cluster, cJSON *profile)
{
    static const char key[] = "pageable_copy_bytes_per_s";
    if (!(cluster->pageable_copy_bytes_per_s > 0)) return;
    cJSON_DeleteItemFromObjectCaseSensitive(profile, key);
    dit_json_put_number(w, profile, key, cluster->pageable_copy_bytes_per_s);
}

/* The file is read where it is written, away from what it names. */
static void find_named(dit_json_writer *w, const char *key, const char *format, cJSON *profile)
{
    const char *name = dit_json_text_or(profile, key, NULL), *root = name ? suite_workloads_folder() : NULL;
    char path[SUITE_PATH], whole[SUITE_PATH];
    if (!root) return;
    dit_json_put_status(w, suite_path(path, format, root, name));
    if (!realpath(path, whole)) return; /* the engine says that it is not there */
    cJSON_DeleteItemFromObjectCaseSensitive(profile, key);
    dit_json_put_string(w, profile, key, whole);
}

static double times_of(double faster)
{
    return faster > 0 ? faster : 1;
}

static void multiply(dit_json_writer *w, cJSON *object, const char *key, double otherwise, double times)
{
    double value = dit_json_number_or(object, key, otherwise);
    if (!object || !(value > 0)) return;
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    dit_json_put_number(w, object, key, times * value);
}

/* All rates of an accelerator's document. attention_scale covers its rate of exponentials, too: that says only how a
 * table's rate changes with the head size. */
static dit_status speed_up(cJSON *accelerator, double times)
{
    dit_json_writer w = {0};
    cJSON *peaks = cJSON_GetObjectItemCaseSensitive(accelerator, "peak_flops_per_s"), *peak;
    cJSON *cost = cJSON_GetObjectItemCaseSensitive(accelerator, "cost");
    if (times == 1) return DIT_OK;
    cJSON_ArrayForEach(peak, peaks) if (cJSON_IsNumber(peak)) cJSON_SetNumberValue(peak, times * peak->valuedouble);
    multiply(&w, accelerator, "memory_bandwidth_bytes_per_s", 0, times);
    multiply(&w, cost, "attention_scale", 1, times);
    return w.status;
}

static dit_status write_parameters(const char *folder, const suite_simulate_params *params,
                                   const suite_cluster *cluster, const char *profile)
{
    const suite_calibration *calibration = params->calibration;
    dit_json_writer w = {0};
    char path[SUITE_PATH];
    suite_accelerator device = {0};
    dit_json stack = {0};
    dit_status st = DIT_OK;
    DIT_TRY_GOTO(st, suite_accelerator_load(cluster->accelerator, &device), done);
    DIT_TRY_GOTO(st, suite_calibration_accelerator(calibration, device.source.root), done);
    DIT_TRY_GOTO(st, speed_up(device.source.root, times_of(params->faster.device)), done);
    DIT_TRY_GOTO(st, suite_path(path, "%s/accelerator.json", folder), done);
    DIT_TRY_GOTO(st, dit_json_write_file(device.source.root, path, false), done);
    DIT_TRY_GOTO(st, suite_profile_read(profile, &stack), done);
    DIT_TRY_GOTO(st, suite_calibration_profile(calibration, &stack), done);
    scale_host(&w, cluster, stack.root);
    take_copies(&w, cluster, stack.root);
    find_named(&w, "census", "%s/profiles/census/%s", stack.root);
    find_named(&w, "rule", "%s/profiles/rules/%s.json", stack.root);
    find_named(&w, "wrapper", "%s/profiles/wrappers/%s.json", stack.root);
    DIT_TRY_GOTO(st, w.status, done);
    DIT_TRY_GOTO(st, suite_path(path, "%s/profile.json", folder), done);
    DIT_TRY_GOTO(st, dit_json_write_file(stack.root, path, false), done);
done:
    suite_accelerator_release(&device);
    dit_json_release(&stack);
    return st;
}

static void add_peers_of(dit_json_writer *w, cJSON *simulation, const char *many, const char *few,
                         const suite_link_class *own)
{
    dit_json_put_number(w, simulation, many, own->many_peers_efficiency);
    if (own->few_peers_efficiency != own->many_peers_efficiency)
        dit_json_put_number(w, simulation, few, own->few_peers_efficiency);
}

/* The class of what joins the devices of a node, staged ones' copies before their bus, and the worse of those between
 * nodes. */
static void add_peers(dit_json_writer *w, cJSON *simulation, const suite_cluster *cluster)
{
    int first = cluster->device_link >= 0 ? cluster->device_link : 0; /* of a mesh: a pair's */
    if (cluster->staging_link >= 0) first = cluster->staging_link;
    if (cluster->link_count > first)
        add_peers_of(w, simulation, "inside_many_peers_efficiency", "inside_few_peers_efficiency",
                     &cluster->links[first].link_class);
    if (cluster->nodes <= 1) return;
    const suite_link_class *nic = &cluster->links[cluster->nic_link].link_class, *fabric = &cluster->fabric.link_class;
    add_peers_of(w, simulation, "network_many_peers_efficiency", "network_few_peers_efficiency",
                 fabric->many_peers_efficiency < nic->many_peers_efficiency ? fabric : nic);
}

/* An adapter of one node to one of another. */
static void add_network(dit_json_writer *w, cJSON *simulation, const suite_cluster *cluster)
{
    double latency_s, bandwidth;
    if (cluster->nodes <= 1) return;
    suite_cluster_pair(cluster, 0, cluster->devices, &latency_s, &bandwidth);
    dit_json_put_int(w, simulation, "adapters_per_node", cluster->nics);
    dit_json_put_number(w, simulation, "network_bandwidth_bytes_per_s", bandwidth);
    dit_json_put_number(w, simulation, "network_latency_s", latency_s);
    double times = suite_cluster_channels_times(cluster, bandwidth);
    if (times > 1) dit_json_put_number(w, simulation, "network_collective_times", times);
    if (!cluster->fabric.link_class.trees) dit_json_put_bool(w, simulation, "network_trees", false);
}

/* What the collective library needs to know of the links: those between the first two devices, and between nodes. */
static void add_links(dit_json_writer *w, cJSON *simulation, const suite_cluster *cluster, int ranks)
{
    double latency_s = 0, bandwidth = 1e12;
    bool nvlink = cluster->topology != SUITE_TOPOLOGY_TREE, cores = cluster->topology == SUITE_TOPOLOGY_CORES;
    if (cores)
        suite_cluster_pair(cluster, 0, 0, &latency_s, &bandwidth);
    else if (cluster->nodes * cluster->devices > 1)
        suite_cluster_pair(cluster, 0, cluster->devices > 1 ? 1 : cluster->devices, &latency_s, &bandwidth);
    dit_json_put_string(w, simulation, "inside", cores ? "memory" : nvlink ? "nvlink" : "pcie");
    dit_json_put_bool(w, simulation, "nvswitch", cluster->topology == SUITE_TOPOLOGY_SWITCH);
    dit_json_put_int(w, simulation, "devices_per_node", suite_cluster_ranks_per_node(cluster, ranks));
    dit_json_put_int(w, simulation, "node_devices", cluster->devices);
    dit_json_put_number(w, simulation, "bandwidth_bytes_per_s", bandwidth);
    dit_json_put_number(w, simulation, "inside_latency_s", latency_s);
    add_peers(w, simulation, cluster);
    add_network(w, simulation, cluster);
}

/* Makes a copy of the case with "simulation", as the files in `folder` have it. */
static cJSON *placed_case(dit_json_writer *w, const char *folder, const cJSON *document, const suite_cluster *cluster,
                          int ranks, const suite_simulate_params *params)
{
    char path[SUITE_PATH];
    cJSON *kase = cJSON_Duplicate(document, true), *simulation = dit_json_put_object(w, kase, "simulation");
    dit_json_put_status(w, suite_path(path, "%s/accelerator.json", folder));
    dit_json_put_string(w, simulation, "accelerator", path);
    dit_json_put_status(w, suite_path(path, "%s/profile.json", folder));
    dit_json_put_string(w, simulation, "profile", path);
    dit_json_put_string(w, simulation, "element", params->element);
    if (params->replay) dit_json_put_bool(w, simulation, "replay", true);
    if (params->layered) dit_json_put_bool(w, simulation, "layered", true);
    add_links(w, simulation, cluster, ranks);
    return kase;
}

static dit_status write_case(const char *folder, const cJSON *document, const suite_cluster *cluster, int ranks,
                             const suite_simulate_params *params)
{
    dit_json_writer w = {0};
    char path[SUITE_PATH];
    cJSON *kase = placed_case(&w, folder, document, cluster, ranks, params);
    dit_json_put_status(&w, suite_path(path, "%s/case.json", folder));
    return dit_json_finish_file(&w, kase, path, false);
}

static dit_status load_cluster(const suite_simulate_params *params, const char *platform, suite_cluster *out)
{
    DIT_TRY(suite_cluster_load(platform, out));
    suite_calibration_cluster(params->calibration, out);
    out->host_scale /= times_of(params->faster.host);
    for (int i = 0; i < out->link_count; i++) out->links[i].bandwidth_bytes_per_s *= times_of(params->faster.links);
    out->fabric.bandwidth_bytes_per_s *= times_of(params->faster.links);
    return DIT_OK;
}

/* All files but the case. */
static dit_status write_machine(const suite_simulate_params *params, const char *folder, const suite_cluster *cluster,
                                int world_size, const char *profile)
{
    DIT_TRY(write_to(folder, "platform.xml", cluster, 0));
    DIT_TRY(write_to(folder, "hosts", cluster, world_size));
    return write_parameters(folder, params, cluster, profile);
}

dit_status suite_simulate_prepare(const suite_simulate_params *params, const char *folder, const cJSON *document,
                                  int world_size, const char *platform, const char *profile)
{
    suite_cluster cluster = {0};
    dit_status st = load_cluster(params, platform, &cluster);
    if (st == DIT_OK) st = write_machine(params, folder, &cluster, world_size, profile);
    if (st == DIT_OK) st = write_case(folder, document, &cluster, world_size, params);
    suite_cluster_release(&cluster);
    return st;
}

static dit_status write_bounds_case(const suite_simulate_params *params, const char *folder,
                                    const suite_cluster *cluster, const suite_simulate_bounded *cases, int count)
{
    dit_json_writer w = {0};
    char path[SUITE_PATH];
    cJSON *document = dit_json_new_object(&w), *list = dit_json_put_array(&w, document, "cases");
    for (int i = 0; i < count; i++) {
        cJSON *entry = dit_json_put_object(&w, list, NULL);
        dit_json_put_item(&w, entry, "case",
                          placed_case(&w, folder, cases[i].document, cluster, cases[i].world_size, params));
        dit_json_put_copy(&w, entry, "ranks", cases[i].ranks);
        if (cases[i].blocks) dit_json_put_bool(&w, entry, "blocks", true);
    }
    dit_json_put_string(&w, document, "schema", "ditbench.case/1");
    dit_json_put_string(&w, document, "program", "bounds");
    dit_json_put_status(&w, suite_path(path, "%s/case.json", folder));
    return dit_json_finish_file(&w, document, path, true);
}

dit_status suite_simulate_prepare_bounds(const suite_simulate_params *params, const char *folder,
                                         const suite_simulate_bounded *cases, int count, const char *platform,
                                         const char *profile)
{
    suite_cluster cluster = {0};
    dit_status st = load_cluster(params, platform, &cluster);
    if (st == DIT_OK) st = write_machine(params, folder, &cluster, 1, profile);
    if (st == DIT_OK) st = write_bounds_case(params, folder, &cluster, cases, count);
    suite_cluster_release(&cluster);
    return st;
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

/* What became of the run, as an error of this program; DIT_OK: there is a record. */
static dit_status fail_as(const suite_outcome *outcome)
{
    suite_failure failure = suite_outcome_failure(outcome);
    if (outcome->interrupted) return DIT_FAIL(DIT_ERR_INTERRUPTED, "stopped by a signal");
    if (!outcome->error) return DIT_OK;
    dit_status st = DIT_FAIL(failure.status, "%s", failure.message[0] ? failure.message : "the simulation failed");
    return failure.log[0] ? dit_error_hint(st, "it said: %.500s", failure.log) : st;
}

/* What the busiest rank sent. */
static dit_status read_traffic(const dit_json *doc, suite_simulated *out)
{
    const cJSON *ranks = NULL, *rank, *row;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "ranks", &ranks));
    cJSON_ArrayForEach(rank, ranks)
    {
        double bytes = 0;
        cJSON_ArrayForEach(row, dit_json_member(rank, "communication"))
        {
            const cJSON *sent = dit_json_member(row, "bytes");
            if (cJSON_IsNumber(sent)) bytes += sent->valuedouble;
        }
        if (bytes > (double)out->sent_bytes) out->sent_bytes = (int64_t)bytes;
    }
    return DIT_OK;
}

/* The steps that were left out are all alike, and lie before the last one. */
static void read_step(const cJSON *samples, suite_simulated *out)
{
    const cJSON *steps = dit_json_member(samples, "step_ns"), *own = steps ? steps->child : NULL;
    int count = cJSON_GetArraySize(own);
    if (count < 2 || out->steps >= count) return;
    const cJSON *repeated = cJSON_GetArrayItem(own, count - 2);
    if (cJSON_IsNumber(repeated)) out->step_s = repeated->valuedouble * 1e-9;
}

static dit_status read_record(const dit_json *doc, suite_simulated *out)
{
    const cJSON *memory, *samples, *simulation;
    const cJSON *latency = NULL;
    bool match = false;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "samples", &samples));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "simulation", &simulation));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "memory", &memory));
    DIT_TRY(dit_json_optional_array(doc, samples, "/samples", "latency_ns", &latency));
    if (!latency || !cJSON_IsNumber(latency->child) || latency->child->valuedouble <= 0)
        return dit_json_fail(doc, "/samples/latency_ns", DIT_ERR_JSON_VALUE, "expected a time");
    out->seconds = latency->child->valuedouble * 1e-9;
    DIT_TRY(dit_json_require_int(doc, simulation, "/simulation", "steps_simulated", 1, 100000, &out->steps));
    read_step(samples, out);
    out->decode_seconds = dit_json_number_or(simulation, "vae_decode_ns", 0) * 1e-9;
    DIT_TRY(dit_json_require_int(doc, memory, "/memory", "total_bytes", 0, INT64_C(1) << 53, &out->memory_bytes));
    DIT_TRY(read_traffic(doc, out));
    DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "communication_match", &match));
    if (match) return DIT_OK;
    return DIT_FAIL(DIT_ERR_BYTES_MISMATCH, "the simulated ranks did not send what the closed form says");
}

static dit_status read_outcome(const char *folder, suite_simulated *out)
{
    char path[SUITE_PATH];
    dit_json doc = {0};
    *out = (suite_simulated){0};
    DIT_TRY(suite_path(path, "%s/record.json", folder));
    dit_status st = dit_json_read_file(path, &doc);
    if (st == DIT_OK) st = read_record(&doc, out);
    dit_json_release(&doc);
    return st;
}

dit_status suite_simulate_run(const suite_simulate_params *params, const char *folder, int ranks)
{
    char engine[SUITE_PATH];
    const suite_launch_plan plan = {
        .engine = engine, .out_dir = folder, .world_size = ranks, .threads_per_rank = 1, .simulated = true};
    const suite_launch_options options = {.deadline_s = params->deadline_s, .signals = params->signals};
    const suite_launcher *launcher;
    suite_outcome outcome;
    DIT_TRY(suite_simulate_engine(params->engine, engine));
    DIT_TRY(suite_launcher_find("smpirun", &launcher));
    DIT_TRY(suite_launch_run(launcher, &plan, &options, &outcome));
    dit_status st = fail_as(&outcome);
    suite_outcome_release(&outcome);
    return st;
}

dit_status suite_simulate_folder(char out[SUITE_PATH])
{
    const char *parent = getenv("TMPDIR");
    DIT_TRY(suite_path(out, "%s/ditbench-sim-XXXXXX", parent && *parent == '/' ? parent : "/tmp"));
    return mkdtemp(out) ? DIT_OK : DIT_FAIL(DIT_ERR_IO, "cannot make folder %s: %s", out, strerror(errno));
}

dit_status suite_simulate_case(const suite_simulate_params *params, const cJSON *document, int world_size,
                               const char *platform, const char *profile, suite_simulated *out)
{
    char folder[SUITE_PATH];
    DIT_TRY(suite_simulate_folder(folder));
    dit_status st = suite_simulate_prepare(params, folder, document, world_size, platform, profile);
    if (st == DIT_OK) st = suite_simulate_run(params, folder, world_size);
    if (st == DIT_OK) st = read_outcome(folder, out);
    suite_path_remove(folder);
    return st;
}
