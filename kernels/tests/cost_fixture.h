/* Fixture of the cost model's tests: the shipped accelerators and profiles, a device of round numbers, and what no time
 * may do. Include it once in a program.
 */
#ifndef DIT_KERNELS_TESTS_COST_FIXTURE_H
#define DIT_KERNELS_TESTS_COST_FIXTURE_H

#include "kernels/cost/read.h"

#include "base/json.h"
#include "base/rng.h"

#include "base/tests/test.h"

#include <dirent.h>

#define ACCELERATORS DITBENCH_SOURCE_DIR "/workloads/accelerators"
#define PROFILES     DITBENCH_SOURCE_DIR "/workloads/profiles"

static inline dit_cost_profile profile_named(const char *name)
{
    char path[512];
    dit_cost_profile profile;
    snprintf(path, sizeof path, "%s/%s.json", PROFILES, name);
    assert_ok(dit_cost_profile_read(path, &profile));
    return profile;
}

static inline dit_cost_device device_named(const char *name, const dit_cost_profile *profile)
{
    char path[512];
    dit_cost_device device;
    snprintf(path, sizeof path, "%s/%s.json", ACCELERATORS, name);
    assert_ok(dit_cost_device_read(path, "fp16", profile, &device));
    return device;
}

/* Round numbers: 100 processors of 1 Tflop/s, 1 TB/s, all of it reached. */
static inline dit_cost_device round_device(void)
{
    return (dit_cost_device){.element_bytes = 2,
                             .peak_flops_per_s = 100e12,
                             .bandwidth_bytes_per_s = 1e12,
                             .processors = 100,
                             .launch_s = 1e-6,
                             .gemm_ceiling = 1,
                             .attention_scale = 1,
                             .head_granularity = 32,
                             .tables = 1,
                             .attention = {{128, {2, {1024, 4096}, {50e12, 80e12}}}}};
}

/* ---- every file -------------------------------------------------------------------------------------------------- */

static const char *const profile_names[] = {"pytorch-eager", "torch-compile", "ditbench"};
enum { PROFILE_COUNT = sizeof profile_names / sizeof profile_names[0] };

static inline bool has_cost(const char *path)
{
    dit_json doc;
    assert_ok(dit_json_read_file(path, &doc));
    bool has = cJSON_GetObjectItemCaseSensitive(doc.root, "cost") != NULL;
    dit_json_release(&doc);
    return has;
}

/* Calls `check` with each accelerator that has parameters, in each of the types it computes with, and each profile. */
static inline int each_device(void (*check)(const dit_cost_device *device, const dit_cost_profile *profile))
{
    static const char *const types[] = {"fp16", "bf16", "fp32"};
    DIR *folder = opendir(ACCELERATORS);
    int count = 0;
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", ACCELERATORS, entry->d_name);
        if (!strstr(entry->d_name, ".json") || !has_cost(path)) continue;
        for (int i = 0; i < 3 * PROFILE_COUNT; i++) {
            dit_cost_profile profile = profile_named(profile_names[i / 3]);
            dit_cost_device device;
            dit_status st = dit_cost_device_read(path, types[i % 3], &profile, &device);
            bool core = strcmp(entry->d_name, "cpu-core.json") == 0;
            if (st == DIT_ERR_UNSUPPORTED && (i % 3 > 0 || core)) continue; /* no bf16 before Ampere; a core: fp32 */
            assert_ok(st);
            check(&device, &profile);
            count++;
        }
    }
    closedir(folder);
    return count;
}

/* ---- what no time may do ----------------------------------------------------------------------------------------- */

static uint64_t draws;

/* From 0 to 2^bits - 1, small ones as likely as large ones. */
static inline int64_t any_size(int bits)
{
    uint64_t size = (uint64_t)1 << dit_rng_below(7, 1, draws++, (uint64_t)bits + 1);
    return (int64_t)dit_rng_below(7, 2, draws++, size);
}

static inline void assert_time(double seconds)
{
    if (!(isfinite(seconds) && seconds >= 0)) fail_msg("a time of %g", seconds);
}

static inline void assert_not_less(const char *what, double larger, double smaller)
{
    assert_time(larger);
    assert_time(smaller);
    if (!(larger >= smaller * (1 - 1e-12))) fail_msg("%s: %.17g after %.17g", what, larger, smaller);
}

#endif
