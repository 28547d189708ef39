#include "suite/compare/circumstances.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 6 };

/* Patterns of paths, the likeliest cause first. */
static const struct {
    const char *pattern, *reason;
} known[] = {
    {"hardware/hardware_id", "another machine"},
    {"hardware/gpus*", "other GPUs, or another state of them"},
    {"hardware/cpu", "another processor"},
    {"hardware/cores", "another number of cores"},
    {"hardware/processing_units", "another number of hardware threads"},
    {"hardware/*", "other hardware"},
    {"environment/gpu*", "driver, clocks or power limit of the GPUs"},
    {"environment/driver*", "another driver"},
    {"environment/governor*", "the governor sets the clock of the cores"},
    {"environment/compiler_flags", "other flags make other code"},
    {"environment/compiler", "another compiler makes other code"},
    {"suite/commit", "another build"},
    {"suite/dirty", "a build with changes that no commit names"},
    {"suite/version", "another build"},
    {"simulation/calibration*", "other fitted values"},
    {"simulation/profiles*", "another software profile"},
    {"simulation/*", "another simulator"},
    {"environment/libraries/*", "another library"},
    {"environment/mpi", "another MPI"},
    {"environment/variables/*", "a variable that libraries read"},
    {"environment/kernel", "another kernel"},
    {"environment/libc", "another C library"},
    {"environment/load_average", "other programs ran beside it"},
    {"warnings*", "the machine was busy"},
    {"workload/parameters", "other settings of the workload"},
    {"workload/set*", "other settings of the workload"},
    {"workload/*", "another version of the workload"},
};
enum { KNOWN = sizeof known / sizeof *known };

typedef struct {
    suite_circumstance *items;
    int count, capacity;
    bool partial;
} found_list;

static void describe(const cJSON *item, char *out, size_t size)
{
    char *text = item && !cJSON_IsString(item) ? cJSON_PrintUnformatted(item) : NULL;
    snprintf(out, size, "%s", text ? text : cJSON_IsString(item) ? item->valuestring : "");
    cJSON_free(text);
}

static dit_status add(found_list *list, const char *path, const cJSON *old, const cJSON *now)
{
    if (list->count == list->capacity) {
        int wanted = list->capacity ? 2 * list->capacity : 16;
        suite_circumstance *grown = realloc(list->items, (size_t)wanted * sizeof *grown);
        if (!grown) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d circumstances", wanted);
        list->items = grown;
        list->capacity = wanted;
    }
    suite_circumstance *one = &list->items[list->count++];
    *one = (suite_circumstance){.rank = KNOWN, .reason = ""};
    snprintf(one->path, sizeof one->path, "%s", path);
    describe(old, one->old, sizeof one->old);
    describe(now, one->now, sizeof one->now);
    for (int i = 0; i < KNOWN && one->rank == KNOWN; i++)
        if (fnmatch(known[i].pattern, path, 0) == 0) one->rank = i, one->reason = known[i].reason;
    return DIT_OK;
}

static dit_status compare_items(found_list *list, const char *path, const cJSON *old, const cJSON *now, int depth);

static dit_status compare_members(found_list *list, const char *path, const cJSON *old, const cJSON *now, int depth)
{
    const cJSON *item;
    char inside[160];
    cJSON_ArrayForEach(item, old)
    {
        snprintf(inside, sizeof inside, "%s/%s", path, item->string);
        DIT_TRY(compare_items(list, inside, item, dit_json_member(now, item->string), depth + 1));
    }
    cJSON_ArrayForEach(item, now)
    {
        if (dit_json_member(old, item->string)) continue;
        snprintf(inside, sizeof inside, "%s/%s", path, item->string);
        DIT_TRY(compare_items(list, inside, NULL, item, depth + 1));
    }
    return DIT_OK;
}

static dit_status compare_items(found_list *list, const char *path, const cJSON *old, const cJSON *now, int depth)
{
    if (old && now && cJSON_Compare(old, now, true)) return DIT_OK;
    if (cJSON_IsObject(old) && cJSON_IsObject(now) && depth < DEPTH)
        return compare_members(list, path, old, now, depth);
    bool told = list->partial ? old && now : old || now;
    return told ? add(list, path, old, now) : DIT_OK;
}

static int compare_ranks(const void *left, const void *right)
{
    const suite_circumstance *a = left, *b = right;
    return a->rank != b->rank ? a->rank - b->rank : strcmp(a->path, b->path);
}

dit_status suite_circumstances_compare(const cJSON *old, const cJSON *now, bool partial, suite_circumstance **out,
                                       int *count)
{
    static const char *const parts[] = {"hardware", "environment", "suite", "simulation", "workload", "warnings"};
    found_list list = {.partial = partial};
    dit_status st = DIT_OK;
    for (size_t i = 0; st == DIT_OK && i < sizeof parts / sizeof *parts; i++)
        st = compare_items(&list, parts[i], dit_json_member(old, parts[i]), dit_json_member(now, parts[i]), 0);
    if (list.count) qsort(list.items, (size_t)list.count, sizeof *list.items, compare_ranks);
    if (st != DIT_OK) free(list.items);
    *out = st == DIT_OK ? list.items : NULL;
    *count = st == DIT_OK ? list.count : 0;
    return st;
}
