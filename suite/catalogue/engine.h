/* Engine: lists the engines that a workload may name. The first is ours; the others are programs of other projects,
 * which an adapter runs (docs/external.md).
 *
 * To add one: a row in engine.c, its adapter in workloads/engines/, and its name in
 * workloads/schema/workload.schema.json.
 */
#ifndef DIT_SUITE_CATALOGUE_ENGINE_H
#define DIT_SUITE_CATALOGUE_ENGINE_H

#include <stdbool.h>

typedef struct {
    const char *name;
    const char *adapter;         /* a Python program of workloads/engines; NULL: ours, which needs none */
    const char *variable;        /* names another program in its place; NULL: nothing does              */
    const char *command;         /* installs what the adapter needs                                     */
    const char *folder;          /* its Python environment, in ditbench's folder of the cache           */
    const char *folder_variable; /* names another folder for it                                  */
    bool on_devices;             /* it runs on platforms of backend cuda, too                           */
    int most_ranks;
} suite_engine;

/* Finds an engine by name; NULL gives ours. Returns NULL when there is none of that name. */
const suite_engine *suite_engine_find(const char *name);
bool suite_engine_is_external(const suite_engine *engine);
/* Returns all names, NULL-terminated; the first is ours. */
const char *const *suite_engine_names(void);

#endif
