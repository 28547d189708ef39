#include "suite/machine/environment.h"

#include "base/clock.h"
#include "base/hash.h"
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

static dit_status add_caches(hwloc_topology_t topology, cJSON *hardware)
{
    static const struct {
        hwloc_obj_type_t type;
        const char *name;
    } levels[] = {{HWLOC_OBJ_L1CACHE, "L1d"}, {HWLOC_OBJ_L2CACHE, "L2"}, {HWLOC_OBJ_L3CACHE, "L3"}};
    cJSON *list = cJSON_AddArrayToObject(hardware, "caches");
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        hwloc_obj_t cache = hwloc_get_obj_by_type(topology, levels[i].type, 0);
        if (!cache || !cache->attr) continue;
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(list, row);
        DIT_TRY(dit_json_add_string(row, "level", levels[i].name));
        DIT_TRY(dit_json_add_int(row, "bytes", (int64_t)cache->attr->cache.size));
        DIT_TRY(dit_json_add_int(row, "count", count_of(topology, levels[i].type)));
    }
    return DIT_OK;
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
static dit_status add_gpus(cJSON *hardware)
{
    static const char *const facts[] = {"name", "memory_bytes", "compute_capability", "driver", NULL};
    suite_devices devices;
    const cJSON *device, *fact;
    suite_devices_find(NULL, "cuda", &devices);
    if (!devices.count) return DIT_OK;
    cJSON *list = cJSON_AddArrayToObject(hardware, "gpus");
    cJSON_ArrayForEach(device, cJSON_GetObjectItemCaseSensitive(devices.list, "devices"))
    {
        cJSON *row = cJSON_CreateObject();
        if (!row || !cJSON_AddItemToArray(list, row)) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the GPUs");
        for (int i = 0; facts[i]; i++)
            if ((fact = cJSON_GetObjectItemCaseSensitive(device, facts[i])))
                cJSON_AddItemToObject(row, facts[i], cJSON_Duplicate(fact, true));
    }
    return DIT_OK;
}

/* The facts that make the identity. Not the memory: a hypervisor changes it while we run. */
static dit_status add_stable(hwloc_topology_t topology, cJSON *hardware)
{
    char model[128];
    cpu_model(topology, model, sizeof model);
    DIT_TRY(dit_json_add_string(hardware, "cpu", model));
    DIT_TRY(dit_json_add_int(hardware, "packages", count_of(topology, HWLOC_OBJ_PACKAGE)));
    DIT_TRY(dit_json_add_int(hardware, "cores", count_of(topology, HWLOC_OBJ_CORE)));
    DIT_TRY(dit_json_add_int(hardware, "processing_units", count_of(topology, HWLOC_OBJ_PU)));
    DIT_TRY(dit_json_add_int(hardware, "numa_nodes", count_of(topology, HWLOC_OBJ_NUMANODE)));
    DIT_TRY(add_caches(topology, hardware));
    return add_gpus(hardware);
}

static dit_status add_identity(cJSON *hardware)
{
    char *text = NULL, hash[DIT_HASH_HEX];
    DIT_TRY(dit_json_canonical(hardware, &text));
    dit_hash(text, strlen(text), hash);
    free(text);
    return dit_json_add_string(hardware, "hardware_id", hash);
}

static dit_status add_gpu(cJSON *hardware)
{
    suite_devices devices;
    dit_buffer line = {0};
    suite_devices_find(NULL, "cuda", &devices);
    suite_device_line_models(&devices, &line);
    dit_status st = devices.count && line.data ? suite_text_add(hardware, "gpu", line.data)
                                               : suite_text_add(hardware, "gpu_reason", devices.reason);
    dit_buffer_release(&line);
    return st;
}

static int64_t memory_bytes(void)
{
    return (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

dit_status suite_environment_hardware(cJSON **out)
{
    hwloc_topology_t topology;
    dit_status st = DIT_OK;
    *out = NULL;
    if (hwloc_topology_init(&topology) != 0) return DIT_FAIL(DIT_ERR_ENVIRONMENT, "hwloc cannot start");
    cJSON *hardware = cJSON_CreateObject();
    if (hwloc_topology_load(topology) != 0) {
        st = DIT_FAIL(DIT_ERR_ENVIRONMENT, "hwloc cannot read this machine");
        goto done;
    }
    DIT_TRY_GOTO(st, add_stable(topology, hardware), done);
    DIT_TRY_GOTO(st, add_identity(hardware), done);
    DIT_TRY_GOTO(st, dit_json_add_int(hardware, "memory_bytes", memory_bytes()), done);
    DIT_TRY_GOTO(st, add_gpu(hardware), done);
    *out = hardware;
done:
    hwloc_topology_destroy(topology);
    if (st != DIT_OK) cJSON_Delete(hardware);
    return st;
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

static dit_status add_variables(cJSON *software)
{
    cJSON *list = cJSON_AddObjectToObject(software, "variables");
    for (char **variable = environ; *variable; variable++) {
        char name[128];
        size_t length = strcspn(*variable, "=");
        if (!allowed(*variable) || length >= sizeof name || !(*variable)[length]) continue;
        snprintf(name, sizeof name, "%.*s", (int)length, *variable);
        if (!cJSON_HasObjectItem(list, name)) DIT_TRY(suite_text_add(list, name, *variable + length + 1));
    }
    return DIT_OK;
}

static dit_status add_libraries(cJSON *software)
{
    char text[64];
    cJSON *list = cJSON_AddObjectToObject(software, "libraries");
    DIT_TRY(dit_json_add_string(list, "cjson", cJSON_Version()));
    DIT_TRY(dit_json_add_string(list, "sqlite", sqlite3_libversion()));
    snprintf(text, sizeof text, "%u.%u.%u", XXH_versionNumber() / 10000, XXH_versionNumber() / 100 % 100,
             XXH_versionNumber() % 100);
    DIT_TRY(dit_json_add_string(list, "xxhash", text));
    snprintf(text, sizeof text, "%u.%u.%u", hwloc_get_api_version() >> 16, hwloc_get_api_version() >> 8 & 0xff,
             hwloc_get_api_version() & 0xff);
    return dit_json_add_string(list, "hwloc", text);
}

/* What changes by the minute: clock and load. A virtual machine often tells no clock. */
static dit_status add_clock(cJSON *software)
{
    char text[128];
    double load;
    read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text, sizeof text);
    DIT_TRY(text[0] ? dit_json_add_string(software, "governor", text)
                    : dit_json_add_string(software, "governor_reason", "not readable on this machine"));
    read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", text, sizeof text);
    if (text[0]) DIT_TRY(dit_json_add_number(software, "clock_khz", strtod(text, NULL)));
    return getloadavg(&load, 1) == 1 ? dit_json_add_number(software, "load_average", load) : DIT_OK;
}

dit_status suite_environment_software(cJSON **out)
{
    struct utsname kernel;
    char text[256];
    dit_status st = DIT_OK;
    cJSON *software = cJSON_CreateObject();
    *out = NULL;
    if (uname(&kernel) == 0) {
        snprintf(text, sizeof text, "%s %s", kernel.sysname, kernel.release);
        DIT_TRY_GOTO(st, suite_text_add(software, "kernel", text), done);
        DIT_TRY_GOTO(st, suite_text_add(software, "machine", kernel.machine), done);
    }
    snprintf(text, sizeof text, "glibc %s", gnu_get_libc_version());
    DIT_TRY_GOTO(st, dit_json_add_string(software, "libc", text), done);
    DIT_TRY_GOTO(st, dit_json_add_string(software, "compiler", DITBENCH_COMPILER " " __VERSION__), done);
#ifdef DITBENCH_CFLAGS
    DIT_TRY_GOTO(st, dit_json_add_string(software, "compiler_flags", DITBENCH_CFLAGS), done);
#endif
    suite_environment_probe("mpirun --version 2>/dev/null", text, sizeof text);
    DIT_TRY_GOTO(st,
                 text[0] ? dit_json_add_string(software, "mpi", text)
                         : dit_json_add_string(software, "mpi_reason", "mpirun not found"),
                 done);
    DIT_TRY_GOTO(st, add_libraries(software), done);
    DIT_TRY_GOTO(st, add_clock(software), done);
    DIT_TRY_GOTO(st, add_variables(software), done);
    *out = software;
done:
    if (st != DIT_OK) cJSON_Delete(software);
    return st;
}

/* `git describe` gives "v1-3-gabcdef-dirty" or "abcdef-dirty". */
dit_status suite_environment_suite(cJSON **out)
{
    static const char version[] = DITBENCH_VERSION;
    const char *dirty = strstr(version, "-dirty"), *commit = strstr(version, "-g");
    size_t length = dirty ? (size_t)(dirty - version) : strlen(version);
    char text[128];
    cJSON *suite = cJSON_CreateObject();
    *out = suite;
    snprintf(text, sizeof text, "%.*s", (int)(version + length - (commit ? commit + 2 : version)),
             commit ? commit + 2 : version);
    DIT_TRY(dit_json_add_string(suite, "name", "ditbench"));
    DIT_TRY(dit_json_add_string(suite, "version", version));
    DIT_TRY(dit_json_add_string(suite, "commit", text));
    cJSON_AddBoolToObject(suite, "dirty", dirty != NULL);
    return DIT_OK;
}
