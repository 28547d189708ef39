/* Catalogue: finds the data files under workloads/ by kind and name, and lists their names.
 *
 * What a file of a kind means is read by the module of that kind (model.h, vae.h, ../platform/platform.h, ...).
 */
#ifndef DIT_SUITE_CATALOGUE_CATALOGUE_H
#define DIT_SUITE_CATALOGUE_CATALOGUE_H

#include "base/json.h"
#include "suite/paths.h"

/* Reads workloads/KIND/NAME.json, which must be of that schema and carry that name; `what` is its kind in words.
 * Errors: DIT_ERR_NOT_FOUND with the nearest name as hint; DIT_ERR_JSON_*. */
dit_status suite_catalogue_read(const char *kind, const char *what, const char *name, const char *schema,
                                dit_json *out);

/* Opens workloads/KIND/NAME.json (or what suite_catalogue_local finds in its place) and checks nothing but that it is
 * JSON. Errors as suite_catalogue_read. */
dit_status suite_catalogue_open(const char *kind, const char *what, const char *name, dit_json *out);

/* Finds the path of a file KIND/NAME.json that `ditbench calibrate --from measured` left on this machine (under
 * calibration/ of the folder of sessions). It is read in place of the file of workloads/. Returns whether there is one.
 * Kinds: accelerators, profiles, platforms, and links, whose list is called local there and is looked into first. */
bool suite_catalogue_local(const char *kind, const char *name, char path[SUITE_PATH]);

/* Lists sorted, NULL-terminated names: kind "models", "vaes", "platforms", "accelerators", or "workloads" (as
 * suite_workload_load takes them: "smoke", "cpu/methods"). The caller gives them to suite_names_free. Errors:
 * DIT_ERR_ENVIRONMENT without the folder. */
dit_status suite_catalogue_names(const char *kind, char ***names);
void suite_names_free(char **names);

/* Finds the file that a workload name or path stands for. Errors: DIT_ERR_NOT_FOUND with the nearest name as hint. */
dit_status suite_workload_find(const char *name, char *path, size_t size);

#endif
