#include "suite/simulate/simulate.h"

#include "suite/catalogue/catalogue.h"
#include "suite/launch/launch.h"
#include "suite/launch/process.h"
#include "suite/paths.h"
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

static bool is_in_path(const char *program)
{
    char path[SUITE_PATH], *folders = strdup(getenv("PATH") ? getenv("PATH") : ""), *rest = folders, *folder;
    bool found = false;
    while (folders && !found && (folder = strtok_r(rest, ":", &rest)))
        found = suite_path(path, "%s/%s", folder, program) == DIT_OK && access(path, X_OK) == 0;
    free(folders);
    return found;
}

dit_status suite_simulate_check(const suite_simulate_params *params)
{
    char engine[SUITE_PATH];
    if (!is_in_path("smpirun"))
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
static dit_status scale_host(const suite_cluster *cluster, cJSON *profile)
{
    static const char *const costs[] = {"dispatch_s", "collective_dispatch_s", "synchronise_s"};
    for (size_t i = 0; i < sizeof costs / sizeof *costs && cluster->host_scale != 1; i++) {
        const cJSON *cost = cJSON_GetObjectItemCaseSensitive(profile, costs[i]);
        if (!cJSON_IsNumber(cost)) continue; /* the engine says what is wrong with it */
        double seconds = cost->valuedouble * cluster->host_scale;
        cJSON_DeleteItemFromObjectCaseSensitive(profile, costs[i]);
        DIT_TRY(dit_json_add_number(profile, costs[i], seconds));
    }
    return DIT_OK;
}

static dit_status write_parameters(const char *folder, const suite_calibration *calibration,
                                   const suite_cluster *cluster, const char *profile)
{
    char path[SUITE_PATH];
    suite_accelerator device = {0};
    dit_json stack = {0};
    dit_status st = DIT_OK;
    DIT_TRY_GOTO(st, suite_accelerator_load(cluster->accelerator, &device), done);
    DIT_TRY_GOTO(st, suite_calibration_accelerator(calibration, device.source.root), done);
    DIT_TRY_GOTO(st, suite_path(path, "%s/accelerator.json", folder), done);
    DIT_TRY_GOTO(st, dit_json_write_file(device.source.root, path, false), done);
    DIT_TRY_GOTO(st, suite_catalogue_read("profiles", "profile", profile, "ditbench.profile/1", &stack), done);
    DIT_TRY_GOTO(st, suite_calibration_profile(calibration, &stack), done);
    DIT_TRY_GOTO(st, scale_host(cluster, stack.root), done);
    DIT_TRY_GOTO(st, suite_path(path, "%s/profile.json", folder), done);
    DIT_TRY_GOTO(st, dit_json_write_file(stack.root, path, false), done);
done:
    suite_accelerator_release(&device);
    dit_json_release(&stack);
    return st;
}

/* The class of what joins the devices of a node, staged ones' copies before their bus, and the worse of those between
 * nodes. */
static dit_status add_peers(cJSON *simulation, const suite_cluster *cluster)
{
    int first = cluster->device_link >= 0 ? cluster->device_link : 0; /* of a mesh: a pair's */
    if (cluster->staging_link >= 0) first = cluster->staging_link;
    if (cluster->link_count > first)
        DIT_TRY(dit_json_add_number(simulation, "inside_many_peers_efficiency",
                                    cluster->links[first].link_class.many_peers_efficiency));
    if (cluster->nodes <= 1) return DIT_OK;
    double efficiency = cluster->links[cluster->nic_link].link_class.many_peers_efficiency;
    if (cluster->fabric.link_class.many_peers_efficiency < efficiency)
        efficiency = cluster->fabric.link_class.many_peers_efficiency;
    return dit_json_add_number(simulation, "network_many_peers_efficiency", efficiency);
}

/* An adapter of one node to one of another. */
static dit_status add_network(cJSON *simulation, const suite_cluster *cluster)
{
    double latency_s, bandwidth;
    if (cluster->nodes <= 1) return DIT_OK;
    suite_cluster_pair(cluster, 0, cluster->devices, &latency_s, &bandwidth);
    DIT_TRY(dit_json_add_int(simulation, "adapters_per_node", cluster->nics));
    DIT_TRY(dit_json_add_number(simulation, "network_bandwidth_bytes_per_s", bandwidth));
    return dit_json_add_number(simulation, "network_latency_s", latency_s);
}

/* What the collective library needs to know of the links: those between the first two devices, and between nodes. */
static dit_status add_links(cJSON *simulation, const suite_cluster *cluster, int ranks)
{
    double latency_s = 0, bandwidth = 1e12;
    bool nvlink = cluster->topology != SUITE_TOPOLOGY_TREE, cores = cluster->topology == SUITE_TOPOLOGY_CORES;
    if (cores)
        suite_cluster_pair(cluster, 0, 0, &latency_s, &bandwidth);
    else if (cluster->nodes * cluster->devices > 1)
        suite_cluster_pair(cluster, 0, cluster->devices > 1 ? 1 : cluster->devices, &latency_s, &bandwidth);
    DIT_TRY(dit_json_add_string(simulation, "inside", cores ? "memory" : nvlink ? "nvlink" : "pcie"));
    cJSON_AddBoolToObject(simulation, "nvswitch", cluster->topology == SUITE_TOPOLOGY_SWITCH);
    DIT_TRY(dit_json_add_int(simulation, "devices_per_node", suite_cluster_ranks_per_node(cluster, ranks)));
    DIT_TRY(dit_json_add_int(simulation, "node_devices", cluster->devices));
    DIT_TRY(dit_json_add_number(simulation, "bandwidth_bytes_per_s", bandwidth));
    DIT_TRY(dit_json_add_number(simulation, "inside_latency_s", latency_s));
    DIT_TRY(add_peers(simulation, cluster));
    return add_network(simulation, cluster);
}

static dit_status write_case(const char *folder, const cJSON *document, const suite_cluster *cluster, int ranks,
                             const suite_simulate_params *params)
{
    char path[SUITE_PATH];
    cJSON *kase = cJSON_Duplicate(document, true), *simulation;
    dit_status st = kase && (simulation = cJSON_AddObjectToObject(kase, "simulation"))
                        ? DIT_OK
                        : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    DIT_TRY_GOTO(st, suite_path(path, "%s/accelerator.json", folder), done);
    DIT_TRY_GOTO(st, dit_json_add_string(simulation, "accelerator", path), done);
    DIT_TRY_GOTO(st, suite_path(path, "%s/profile.json", folder), done);
    DIT_TRY_GOTO(st, dit_json_add_string(simulation, "profile", path), done);
    DIT_TRY_GOTO(st, dit_json_add_string(simulation, "element", params->element), done);
    if (params->replay) cJSON_AddBoolToObject(simulation, "replay", true);
    if (params->layered) cJSON_AddBoolToObject(simulation, "layered", true);
    DIT_TRY_GOTO(st, add_links(simulation, cluster, ranks), done);
    DIT_TRY_GOTO(st, suite_path(path, "%s/case.json", folder), done);
    st = dit_json_write_file(kase, path, false);
done:
    cJSON_Delete(kase);
    return st;
}

dit_status suite_simulate_prepare(const suite_simulate_params *params, const char *folder, const cJSON *document,
                                  int world_size, const char *platform, const char *profile)
{
    suite_cluster cluster = {0};
    dit_status st = DIT_OK;
    DIT_TRY_GOTO(st, suite_cluster_load(platform, &cluster), done);
    suite_calibration_cluster(params->calibration, &cluster);
    DIT_TRY_GOTO(st, write_to(folder, "platform.xml", &cluster, 0), done);
    DIT_TRY_GOTO(st, write_to(folder, "hosts", &cluster, world_size), done);
    DIT_TRY_GOTO(st, write_parameters(folder, params->calibration, &cluster, profile), done);
    st = write_case(folder, document, &cluster, world_size, params);
done:
    suite_cluster_release(&cluster);
    return st;
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

/* What became of the run, as an error of this program; DIT_OK: there is a record. */
static dit_status fail_as(const suite_outcome *outcome)
{
    const cJSON *code = cJSON_GetObjectItemCaseSensitive(outcome->error, "code");
    const cJSON *message = cJSON_GetObjectItemCaseSensitive(outcome->error, "message");
    const cJSON *log = cJSON_GetObjectItemCaseSensitive(outcome->error, "log");
    const char *name = cJSON_IsString(code) ? code->valuestring : "", *text = "the simulation failed";
    dit_status st = DIT_ERR_INTERNAL;
    if (outcome->interrupted) return DIT_FAIL(DIT_ERR_INTERRUPTED, "stopped by a signal");
    if (!outcome->error) return DIT_OK;
    if (cJSON_IsString(message)) text = message->valuestring;
    dit_status_from_name(name, &st);
    if (!cJSON_IsString(log)) return DIT_FAIL(st, "%s", text);
    return dit_error_hint(DIT_FAIL(st, "%s", text), "it said: %.500s", log->valuestring);
}

/* What the busiest rank sent. */
static dit_status read_traffic(const dit_json *doc, suite_simulated *out)
{
    const cJSON *ranks = NULL, *rank, *row;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "ranks", &ranks));
    cJSON_ArrayForEach(rank, ranks)
    {
        double bytes = 0;
        cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(rank, "communication"))
        {
            const cJSON *sent = cJSON_GetObjectItemCaseSensitive(row, "bytes");
            if (cJSON_IsNumber(sent)) bytes += sent->valuedouble;
        }
        if (bytes > (double)out->sent_bytes) out->sent_bytes = (int64_t)bytes;
    }
    return DIT_OK;
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

static dit_status run_in(const char *folder, const suite_simulate_params *params, int ranks, suite_simulated *out)
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
    if (st == DIT_OK) st = read_outcome(folder, out);
    suite_outcome_release(&outcome);
    return st;
}

dit_status suite_simulate_case(const suite_simulate_params *params, const cJSON *document, int world_size,
                               const char *platform, const char *profile, suite_simulated *out)
{
    char folder[SUITE_PATH];
    const char *parent = getenv("TMPDIR");
    DIT_TRY(suite_path(folder, "%s/ditbench-sim-XXXXXX", parent && *parent == '/' ? parent : "/tmp"));
    if (!mkdtemp(folder)) return DIT_FAIL(DIT_ERR_IO, "cannot make folder %s: %s", folder, strerror(errno));
    dit_status st = suite_simulate_prepare(params, folder, document, world_size, platform, profile);
    if (st == DIT_OK) st = run_in(folder, params, world_size, out);
    suite_path_remove(folder);
    return st;
}
