#include "suite/machine/environment.h"

#include "base/hash.h"
#include "base/json_writer.h"
#include "suite/machine/device_report.h"
#include "suite/machine/devices.h"
#include "suite/text.h"
#include "version.h"

#include <gnu/libc-version.h>
#include <hwloc.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <xxhash.h>

extern char **environ;

#ifndef DITBENCH_COMPILER
#define DITBENCH_COMPILER "cc"
#endif

void suite_environment_probe(const char *command, char *out, size_t capacity)
{
    out[0] = '\0';
    FILE *pipe = popen(command, "re");
    if (!pipe) return;
    if (!fgets(out, (int)capacity, pipe)) out[0] = '\0';
    pclose(pipe);
    out[strcspn(out, "\n")] = '\0';
    suite_text_clean(out);
}

/* First line of a small file; "" when it cannot be read. */
static void read_line(const char *path, char *out, size_t capacity)
{
    FILE *file = fopen(path, "re");
    out[0] = '\0';
    if (!file) return;
    if (!fgets(out, (int)capacity, file)) out[0] = '\0';
    fclose(file);
    out[strcspn(out, "\n")] = '\0';
    suite_text_clean(out);
}

/* ---- hardware ---------------------------------------------------------------------------------------------------- */

static int count_of(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    int count = hwloc_get_nbobjs_by_type(topology, type);
    return count > 0 ? count : 0;
}

static void add_caches(dit_json_writer *w, hwloc_topology_t topology, cJSON *hardware)
{
    static const struct {
        hwloc_obj_type_t type;
        const char *name;
    } levels[] = {{HWLOC_OBJ_L1CACHE, "L1d"}, {HWLOC_OBJ_L2CACHE, "L2"}, {HWLOC_OBJ_L3CACHE, "L3"}};
    cJSON *list = dit_json_put_array(w, hardware, "caches");
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        hwloc_obj_t cache = hwloc_get_obj_by_type(topology, levels[i].type, 0);
        if (!cache || !cache->attr) continue;
        cJSON *row = dit_json_put_object(w, list, NULL);
        dit_json_put_string(w, row, "level", levels[i].name);
        dit_json_put_int(w, row, "bytes", (int64_t)cache->attr->cache.size);
        dit_json_put_int(w, row, "count", count_of(topology, levels[i].type));
    }
}

static void cpu_model(hwloc_topology_t topology, char *out, size_t capacity)
{
    hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    snprintf(out, capacity, "%s", model ? model : "unknown");
    size_t length = strlen(out);
    while (length && out[length - 1] == ' ') out[--length] = '\0';
    suite_text_clean(out);
}

/* Of every GPU what does not change by the day; nothing where there is none, so that such a machine stays itself. */
static void add_gpus(dit_json_writer *w, cJSON *hardware)
{
    static const char *const facts[] = {"name", "memory_bytes", "compute_capability", "driver", NULL};
    suite_devices devices;
    const cJSON *device;
    suite_devices_find(NULL, "cuda", &devices);
    if (!devices.count) return;
    cJSON *list = dit_json_put_array(w, hardware, "gpus");
    cJSON_ArrayForEach(device, dit_json_member(devices.list, "devices"))
    {
        cJSON *row = dit_json_put_object(w, list, NULL);
        for (int i = 0; facts[i]; i++) dit_json_put_copy(w, row, facts[i], dit_json_member(device, facts[i]));
    }
}

/* The facts that make the identity. Not the memory: a hypervisor changes it while we run. */
static void add_stable(dit_json_writer *w, hwloc_topology_t topology, cJSON *hardware)
{
    char model[128];
    cpu_model(topology, model, sizeof model);
    dit_json_put_string(w, hardware, "cpu", model);
    dit_json_put_int(w, hardware, "packages", count_of(topology, HWLOC_OBJ_PACKAGE));
    dit_json_put_int(w, hardware, "cores", count_of(topology, HWLOC_OBJ_CORE));
    dit_json_put_int(w, hardware, "processing_units", count_of(topology, HWLOC_OBJ_PU));
    dit_json_put_int(w, hardware, "numa_nodes", count_of(topology, HWLOC_OBJ_NUMANODE));
    add_caches(w, topology, hardware);
    add_gpus(w, hardware);
}

/* Of the facts so far. */
static void add_identity(dit_json_writer *w, cJSON *hardware)
{
    char *text = NULL, hash[DIT_HASH_HEX];
    if (w->status == DIT_OK) dit_json_put_status(w, dit_json_canonical(hardware, &text));
    if (!text) return;
    dit_hash(text, strlen(text), hash);
    free(text);
    dit_json_put_string(w, hardware, "hardware_id", hash);
}

static void add_gpu(dit_json_writer *w, cJSON *hardware)
{
    suite_devices devices;
    dit_buffer line = {0};
    suite_devices_find(NULL, "cuda", &devices);
    suite_device_line_models(&devices, &line);
    if (devices.count && line.data)
        suite_text_put(w, hardware, "gpu", line.data);
    else
        suite_text_put(w, hardware, "gpu_reason", devices.reason);
    dit_buffer_release(&line);
}

static int64_t memory_bytes(void)
{
    return (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

dit_status suite_environment_hardware(cJSON **out)
{
    dit_json_writer w = {0};
    hwloc_topology_t topology;
    *out = NULL;
    if (hwloc_topology_init(&topology) != 0) return DIT_FAIL(DIT_ERR_ENVIRONMENT, "hwloc cannot start");
    if (hwloc_topology_load(topology) != 0) {
        hwloc_topology_destroy(topology);
        return DIT_FAIL(DIT_ERR_ENVIRONMENT, "hwloc cannot read this machine");
    }
    cJSON *hardware = dit_json_new_object(&w);
    add_stable(&w, topology, hardware);
    add_identity(&w, hardware);
    dit_json_put_int(&w, hardware, "memory_bytes", memory_bytes());
    add_gpu(&w, hardware);
    hwloc_topology_destroy(topology);
    return dit_json_finish(&w, hardware, out);
}

/* ---- software ---------------------------------------------------------------------------------------------------- */

static bool allowed(const char *variable)
{
    static const char *const prefixes[] = {"OMPI_",    "DITBENCH_", "OMP_", "LIBXSMM_",    "PMIX_",  "GOMP_",
                                           "OPENBLAS", "BLIS_",     "KMP_", "MALLOC_",     "HWLOC_", "NCCL_",
                                           "CUDA_",    "SLURM_NT",  "UCX_", "LD_PRELOAD=", NULL};
    for (int i = 0; prefixes[i]; i++) {
        if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0) return true;
    }
    return false;
}

static void add_variables(dit_json_writer *w, cJSON *software)
{
    cJSON *list = dit_json_put_object(w, software, "variables");
    for (char **variable = environ; *variable; variable++) {
        char name[128];
        size_t length = strcspn(*variable, "=");
        if (!allowed(*variable) || length >= sizeof name || !(*variable)[length]) continue;
        snprintf(name, sizeof name, "%.*s", (int)length, *variable);
        if (!cJSON_HasObjectItem(list, name)) suite_text_put(w, list, name, *variable + length + 1);
    }
}

static void add_libraries(dit_json_writer *w, cJSON *software)
{
    char text[64];
    cJSON *list = dit_json_put_object(w, software, "libraries");
    dit_json_put_string(w, list, "cjson", cJSON_Version());
    dit_json_put_string(w, list, "sqlite", sqlite3_libversion());
    snprintf(text, sizeof text, "%u.%u.%u", XXH_versionNumber() / 10000, XXH_versionNumber() / 100 % 100,
             XXH_versionNumber() % 100);
    dit_json_put_string(w, list, "xxhash", text);
    snprintf(text, sizeof text, "%u.%u.%u", hwloc_get_api_version() >> 16, hwloc_get_api_version() >> 8 & 0xff,
             hwloc_get_api_version() & 0xff);
    dit_json_put_string(w, list, "hwloc", text);
}

/* What changes by the minute: clock and load. A virtual machine often tells no clock. */
static void add_clock(dit_json_writer *w, cJSON *software)
{
    char text[128];
    double load;
    read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text, sizeof text);
    if (text[0])
        dit_json_put_string(w, software, "governor", text);
    else
        dit_json_put_string(w, software, "governor_reason", "not readable on this machine");
    read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", text, sizeof text);
    if (text[0]) dit_json_put_number(w, software, "clock_khz", strtod(text, NULL));
    if (getloadavg(&load, 1) == 1) dit_json_put_number(w, software, "load_average", load);
}

dit_status suite_environment_software(cJSON **out)
{
    dit_json_writer w = {0};
    struct utsname kernel;
    char text[256];
    cJSON *software = dit_json_new_object(&w);
    if (uname(&kernel) == 0) {
        snprintf(text, sizeof text, "%s %s", kernel.sysname, kernel.release);
        suite_text_put(&w, software, "kernel", text);
        suite_text_put(&w, software, "machine", kernel.machine);
    }
    snprintf(text, sizeof text, "glibc %s", gnu_get_libc_version());
    dit_json_put_string(&w, software, "libc", text);
    dit_json_put_string(&w, software, "compiler", DITBENCH_COMPILER " " __VERSION__);
#ifdef DITBENCH_CFLAGS
    dit_json_put_string(&w, software, "compiler_flags", DITBENCH_CFLAGS);
#endif
    suite_environment_probe("mpirun --version 2>/dev/null", text, sizeof text);
    if (text[0])
        dit_json_put_string(&w, software, "mpi", text);
    else
        dit_json_put_string(&w, software, "mpi_reason", "mpirun not found");
    add_libraries(&w, software);
    add_clock(&w, software);
    add_variables(&w, software);
    return dit_json_finish(&w, software, out);
}

/* `git describe` gives "v1-3-gabcdef-dirty" or "abcdef-dirty". */
dit_status suite_environment_suite(cJSON **out)
{
    dit_json_writer w = {0};
    static const char version[] = DITBENCH_VERSION;
    const char *dirty = strstr(version, "-dirty"), *commit = strstr(version, "-g");
    size_t length = dirty ? (size_t)(dirty - version) : strlen(version);
    char text[128];
    cJSON *suite = dit_json_new_object(&w);
    snprintf(text, sizeof text, "%.*s", (int)(version + length - (commit ? commit + 2 : version)),
             commit ? commit + 2 : version);
    dit_json_put_string(&w, suite, "name", "ditbench");
    dit_json_put_string(&w, suite, "version", version);
    dit_json_put_string(&w, suite, "commit", text);
    dit_json_put_bool(&w, suite, "dirty", dirty != NULL);
    return dit_json_finish(&w, suite, out);
}
