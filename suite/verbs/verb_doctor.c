/* ditbench doctor: can this machine run the suite, and what would it lack? */
#include "base/json_writer.h"
#include "suite/console/cli.h"
#include "suite/console/terminal.h"
#include "suite/launch/launch.h"
#include "suite/launch/scratch.h"
#include "suite/machine/contention.h"
#include "suite/machine/device_report.h"
#include "suite/machine/devices.h"
#include "suite/machine/environment.h"
#include "suite/machine/network.h"
#include "suite/paths.h"
#include "suite/text.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char purpose[] =
    "Checks this machine: whether two ranks can be launched (it launches them), topology, plotting, memory, disk,\n"
    "and optional parts: GPUs (state, links, libraries), network adapters, the CUDA toolkit and SimGrid. With\n"
    "--json the answer also holds all that is known about each device and adapter.\n"
    "Exit: 0 the machine is usable; 4 something necessary is missing.";
static const char examples[] = "ditbench doctor\nditbench doctor --json";

typedef enum { CHECK_OK, CHECK_MISSING, CHECK_WARNING, CHECK_FAILED } check_level;
static const char *const level_names[] = {"ok", "missing", "warning", "FAILED"};

typedef struct {
    check_level level;
    char text[SUITE_PATH];
    char hint[512];
} finding;

static void find(finding *out, check_level level, const char *text, const char *hint)
{
    out->level = level;
    snprintf(out->text, sizeof out->text, "%s", text);
    snprintf(out->hint, sizeof out->hint, "%s", hint);
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static void check_engine(finding *out, const char *engine)
{
    char path[SUITE_PATH];
    if (suite_launch_engine(engine, path) == DIT_OK)
        find(out, CHECK_OK, path, "");
    else
        find(out, CHECK_FAILED, dit_error_last()->message, dit_error_last()->hint);
}

static void check_mpirun(finding *out, const char *engine)
{
    char line[256];
    (void)engine;
    suite_environment_probe("mpirun --version 2>/dev/null", line, sizeof line);
    if (line[0])
        find(out, CHECK_OK, line, "");
    else
        find(out, CHECK_FAILED, "mpirun not found", "apt-get install openmpi-bin");
}

/* Two ranks of `true` through the very command line of a case. */
static dit_status launch_two(suite_process_result *result, char *log, size_t capacity)
{
    char scratch[SUITE_PATH], log_path[SUITE_PATH];
    suite_command command = {0};
    const suite_launcher *launcher;
    suite_launch_plan plan = {.engine = "true",
                              .case_file = "none",
                              .out_dir = "none",
                              .world_size = 2,
                              .threads_per_rank = 1,
                              .cores = suite_launch_cores(),
                              .single_copy = suite_launch_single_copy(),
                              .scratch = scratch};
    DIT_TRY(suite_scratch_open(scratch));
    DIT_TRY(suite_path(log_path, "%s/log", scratch));
    DIT_TRY(suite_launcher_find("mpirun", &launcher));
    dit_status st = launcher->command(&plan, &command);
    suite_process_params params = {
        .argv = command.argv, .env = command.env, .attempt = scratch, .log_path = log_path, .deadline_s = 30};
    if (st == DIT_OK) st = suite_process_run(&params, result);
    suite_text_tail(log_path, log, capacity);
    suite_command_release(&command);
    suite_scratch_close();
    return st;
}

static void check_launch(finding *out, const char *engine)
{
    suite_process_result result = {0};
    char text[512], log[256] = "";
    (void)engine;
    if (launch_two(&result, log, sizeof log) != DIT_OK) {
        find(out, CHECK_FAILED, dit_error_last()->message, "apt-get install openmpi-bin");
    } else if (result.end == SUITE_PROCESS_EXITED && result.exit_code == 0) {
        snprintf(text, sizeof text, "two ranks started and ended in %.2f s", (double)result.elapsed_ns * 1e-9);
        find(out, CHECK_OK, text, "");
    } else {
        snprintf(text, sizeof text, "mpirun -n 2 true ended with %d: %s", result.exit_code, log);
        find(out, CHECK_FAILED, text, "");
    }
}

static void check_hardware(finding *out, const char *engine)
{
    cJSON *hardware = NULL;
    char text[256];
    (void)engine;
    if (suite_environment_hardware(&hardware) != DIT_OK) {
        find(out, CHECK_FAILED, dit_error_last()->message, "apt-get install libhwloc15");
        return;
    }
    snprintf(text, sizeof text, "%s, %d cores (%d usable), %d NUMA node%s, %.1f GiB",
             cJSON_GetStringValue(cJSON_GetObjectItem(hardware, "cpu")),
             cJSON_GetObjectItem(hardware, "cores")->valueint, suite_launch_cores(),
             cJSON_GetObjectItem(hardware, "numa_nodes")->valueint,
             suite_plural(cJSON_GetObjectItem(hardware, "numa_nodes")->valueint),
             cJSON_GetObjectItem(hardware, "memory_bytes")->valuedouble / (1 << 30));
    find(out, CHECK_OK, text, "");
    cJSON_Delete(hardware);
}

static void check_memory(finding *out, const char *engine)
{
    char text[128];
    double gib = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / (1 << 30);
    (void)engine;
    snprintf(text, sizeof text, "%.1f GiB free", gib);
    if (gib >= 2)
        find(out, CHECK_OK, text, "");
    else
        find(out, CHECK_WARNING, text, "the CPU workloads want 2 GiB; others will swap or be killed");
}

/* Timings on a busy machine say little. */
static void check_contention(finding *out, const char *engine)
{
    char text[128];
    double load = 0;
    suite_contention contention = suite_contention_now();
    (void)engine;
    if (getloadavg(&load, 1) != 1) load = 0;
    snprintf(text, sizeof text, "use %.1f of %d core%s, load average %.1f", contention.other_cores, contention.cores,
             suite_plural(contention.cores), load);
    if (!contention.known)
        find(out, CHECK_WARNING, "/proc/stat cannot be read", "a busy machine will not be noticed");
    else if (suite_contention_is_high(&contention))
        find(out, CHECK_WARNING, text, "latencies measured now are longer than on a quiet machine, and scatter");
    else
        find(out, CHECK_OK, text, "");
}

static void check_shared_memory(finding *out, const char *engine)
{
    struct statvfs facts;
    char text[128];
    (void)engine;
    if (statvfs("/dev/shm", &facts) != 0 || access("/dev/shm", W_OK) != 0) {
        find(out, CHECK_WARNING, "/dev/shm is not writable", "segments go to $TMPDIR and may be written to disk");
        return;
    }
    double mib = (double)facts.f_bavail * (double)facts.f_frsize / (1 << 20);
    snprintf(text, sizeof text, "/dev/shm has %.0f MiB free", mib);
    find(out, mib >= 64 ? CHECK_OK : CHECK_WARNING, text, mib >= 64 ? "" : "give the container a larger --shm-size");
}

static void check_single_copy(finding *out, const char *engine)
{
    (void)engine;
    if (suite_launch_single_copy())
        find(out, CHECK_OK, "ranks may read each other's memory (CMA)", "");
    else
        find(out, CHECK_WARNING, "ranks may not read each other's memory: messages are copied twice",
             "containers: allow SYS_PTRACE");
}

static void check_disk(finding *out, const char *engine)
{
    struct statvfs facts;
    char text[128];
    (void)engine;
    if (statvfs(".", &facts) != 0) {
        find(out, CHECK_WARNING, "cannot tell the free disk space here", "");
        return;
    }
    double gib = (double)facts.f_bavail * (double)facts.f_frsize / (1 << 30);
    snprintf(text, sizeof text, "%.1f GiB free here", gib);
    find(out, gib >= 1 ? CHECK_OK : CHECK_WARNING, text, gib >= 1 ? "" : "results need room");
}

static void check_workloads(finding *out, const char *engine)
{
    const char *folder = suite_workloads_folder();
    (void)engine;
    if (folder)
        find(out, CHECK_OK, folder, "");
    else
        find(out, CHECK_FAILED, dit_error_last()->message,
             "set DITBENCH_WORKLOADS to the folder with models/ and smoke/");
}

/* A program that answers `command` with a line. */
static void check_program(finding *out, const char *command, const char *absent, const char *hint)
{
    char line[256];
    suite_environment_probe(command, line, sizeof line);
    if (line[0])
        find(out, CHECK_OK, line, "");
    else
        find(out, CHECK_MISSING, absent, hint);
}

static void check_gnuplot(finding *out, const char *engine)
{
    (void)engine;
    check_program(out, "gnuplot --version 2>/dev/null", "gnuplot not found: no figures", "apt-get install gnuplot-nox");
}

/* A line about devices; one that says that there are none where there are none. */
static void check_devices(finding *out, const char *engine, void (*line)(const suite_devices *devices, dit_buffer *out),
                          const char *absent)
{
    suite_devices devices;
    dit_buffer text = {0};
    suite_devices_find(engine, "cuda", &devices);
    if (devices.count) line(&devices, &text);
    if (text.data && !text.failed)
        find(out, CHECK_OK, text.data, "");
    else
        find(out, CHECK_MISSING, absent, "");
    dit_buffer_release(&text);
}

/* What the driver shows although the engine cannot use it is worth a word. */
static void check_gpu(finding *out, const char *engine)
{
    suite_devices devices;
    char line[256], text[SUITE_PATH];
    check_devices(out, engine, suite_device_line_models, "no NVIDIA device (optional)");
    if (out->level == CHECK_OK) return;
    suite_devices_find(engine, "cuda", &devices);
    suite_environment_probe("nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null", line,
                            sizeof line);
    snprintf(text, sizeof text, "%s cannot be used: %s", line, devices.reason);
    if (line[0]) find(out, CHECK_WARNING, text, devices.hint);
}

static void check_gpu_state(finding *out, const char *engine)
{
    suite_devices devices;
    check_devices(out, engine, suite_device_line_state,
                  "there is no device, so there are neither clocks nor power to show");
    suite_devices_find(engine, "cuda", &devices);
    if (!suite_devices_throttled(&devices)) return;
    out->level = CHECK_WARNING;
    snprintf(out->hint, sizeof out->hint, "its clocks are held down now: times will be too long");
}

static void check_gpu_links(finding *out, const char *engine)
{
    check_devices(out, engine, suite_device_line_links, "there is no device, so there are no links to show");
}

/* The engine's own part for GPUs: whether it is there and can be loaded. */
static void check_cuda_engine(finding *out, const char *engine)
{
    suite_devices devices;
    check_devices(out, engine, suite_device_line_libraries, "not known");
    suite_devices_find(engine, "cuda", &devices);
    if (!devices.count) find(out, CHECK_MISSING, devices.reason, devices.hint);
}

static void check_network(finding *out, const char *engine)
{
    cJSON *adapters = NULL;
    dit_buffer text = {0};
    (void)engine;
    if (suite_network_adapters(NULL, &adapters) == DIT_OK) suite_network_line(adapters, &text);
    if (text.data && !text.failed)
        find(out, CHECK_OK, text.data, "");
    else
        find(out, CHECK_MISSING, "no network adapter (optional: only several machines need one)", "");
    dit_buffer_release(&text);
    cJSON_Delete(adapters);
}

static void check_nccl(finding *out, const char *engine)
{
    cJSON *variables = NULL;
    const cJSON *one;
    dit_buffer text = {0};
    (void)engine;
    if (suite_network_variables(&variables) != DIT_OK) dit_error_clear();
    cJSON_ArrayForEach(one, variables)
        dit_buffer_printf(&text, "%s%s=%s", text.used ? " " : "", one->string, cJSON_GetStringValue(one));
    find(out, CHECK_OK, text.data && !text.failed ? text.data : "no NCCL_ variable is set", "");
    dit_buffer_release(&text);
    cJSON_Delete(variables);
}

static void check_simgrid(finding *out, const char *engine)
{
    (void)engine;
    check_program(out, "smpicc --version 2>/dev/null", "smpicc not found: no simulation (optional)",
                  "apt-get install libsimgrid-dev");
}

static bool has_header(const char *home, const char *name)
{
    static const char *const folders[] = {"/usr/include", "/usr/local/include", "/usr/include/x86_64-linux-gnu", NULL};
    char path[SUITE_PATH];
    if (suite_path(path, "%s/include/%s", home, name) == DIT_OK && access(path, R_OK) == 0) return true;
    for (int i = 0; folders[i]; i++) {
        if (suite_path(path, "%s/%s", folders[i], name) == DIT_OK && access(path, R_OK) == 0) return true;
    }
    return false;
}

static void check_cuda(finding *out, const char *engine)
{
    const char *home = getenv("CUDA_HOME") ? getenv("CUDA_HOME") : "/usr/local/cuda";
    char command[SUITE_PATH + 64], text[512], line[256];
    (void)engine;
    snprintf(command, sizeof command, "{ '%s/bin/nvcc' --version || nvcc --version; } 2>/dev/null | grep -i release",
             strchr(home, '\'') ? "/usr/local/cuda" : home);
    suite_environment_probe(command, line, sizeof line);
    snprintf(text, sizeof text, "%s; cudnn %s, nccl %s", line[0] ? line : "nvcc not found",
             has_header(home, "cudnn.h") ? "found" : "missing", has_header(home, "nccl.h") ? "found" : "missing");
    find(out, line[0] ? CHECK_OK : CHECK_MISSING, text, line[0] ? "" : "optional: the CPU engine needs no CUDA");
}

/* Everything that is looked at, in the order of the answer. */
static const struct {
    const char *name;
    void (*check)(finding *out, const char *engine);
} checks[] = {
    {"hardware", check_hardware},
    {"memory", check_memory},
    {"others", check_contention},
    {"shared memory", check_shared_memory},
    {"disk", check_disk},
    {"engine", check_engine},
    {"workloads", check_workloads},
    {"mpirun", check_mpirun},
    {"launch", check_launch},
    {"single copy", check_single_copy},
    {"gnuplot", check_gnuplot},
    {"gpu", check_gpu},
    {"gpu state", check_gpu_state},
    {"gpu links", check_gpu_links},
    {"cuda engine", check_cuda_engine},
    {"cuda toolkit", check_cuda},
    {"nccl", check_nccl},
    {"network", check_network},
    {"simgrid", check_simgrid},
};

/* ---- answer ------------------------------------------------------------------------------------------------------ */

static void add_finding(dit_json_writer *w, cJSON *list, const char *name, const finding *found)
{
    cJSON *item = dit_json_put_object(w, list, NULL);
    dit_json_put_string(w, item, "name", name);
    dit_json_put_string(w, item, "level", found->level == CHECK_FAILED ? "failed" : level_names[found->level]);
    suite_text_put(w, item, "found", found->text);
    if (found->hint[0]) suite_text_put(w, item, "hint", found->hint);
}

/* All that is known, for programs: of each device, each adapter, and what NCCL is told. */
static dit_status add_facts(cJSON *document, const char *engine)
{
    dit_json_writer w = {0};
    suite_devices devices;
    cJSON *adapters, *variables;
    suite_devices_find(engine, "cuda", &devices);
    dit_json_put_copy(&w, document, "devices", devices.list);
    DIT_TRY(suite_network_adapters(NULL, &adapters));
    dit_json_put_item(&w, document, "network", adapters);
    DIT_TRY(suite_network_variables(&variables));
    dit_json_put_item(&w, document, "nccl_variables", variables);
    return w.status;
}

int suite_verb_doctor(int argc, char **argv)
{
    dit_json_writer w = {0};
    suite_cli cli;
    const char *engine = NULL;
    bool usable = true;
    const suite_option options[] = {
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "engine program", &engine, 0, 0},
        {0},
    };
    const suite_cli_spec spec = {"doctor", NULL, purpose, examples, options, 0, 0};
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    cJSON *document = dit_json_new_object(&w), *list = dit_json_put_array(&w, document, "checks");
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        finding found = {CHECK_OK, "", ""};
        checks[i].check(&found, engine);
        usable &= found.level != CHECK_FAILED;
        add_finding(&w, list, checks[i].name, &found);
        if (cli.json) continue;
        const char *word = level_names[found.level];
        printf("%s%-8s%s %-14s %s\n", suite_colour_start(stdout, word), word, suite_colour_end(stdout, word),
               checks[i].name, found.text);
        if (found.hint[0]) printf("%-23s hint: %s\n", "", found.hint);
    }
    dit_json_put_bool(&w, document, "usable", usable);
    if (cli.json && w.status == DIT_OK && add_facts(document, engine) != DIT_OK) dit_error_clear();
    suite_cli_release(&cli);
    code = usable ? DIT_EXIT_OK : DIT_EXIT_ENVIRONMENT;
    if (cli.json) return suite_cli_answer(&w, "doctor", document, code);
    cJSON_Delete(document);
    return code;
}
