/* Catalogue: the data files under workloads/ that workloads refer to by name: models and platforms.
 *
 * Also finds the folder itself and lists what is in it.
 */
#ifndef DIT_SUITE_CATALOGUE_CATALOGUE_H
#define DIT_SUITE_CATALOGUE_CATALOGUE_H

#include "base/json.h"
#include "suite/text.h"
#include "suite/workload/workload.h"

/* A model file, after an override if there was one. Pointers lie inside `source`. */
typedef struct {
    dit_json source;
    const char *name, *title, *guidance; /* guidance: cfg, distilled or none                     */
    const char *vae;                     /* name of a file of workloads/vaes; NULL: not stated   */
    cJSON *config, *scheduler;           /* NULL: architecture facts only, cannot be run         */
    cJSON *latent, *text, *default_run;
    cJSON *text_encoders; /* a list, which suite/catalogue/text_encoder.h resolves; NULL: not stated        */
    cJSON *variants;      /* NULL: none; members are {"override", "why"}                  */
    bool video;           /* kind: makes clips, so that a run has num_frames              */
    int64_t parameters;   /* as its authors state them, in step with overrides; 0: not stated */
    char variant[160];    /* "NAME", or "NAME~WHAT" when it was overridden                */
} suite_model;

/* Loads workloads/models/NAME.json; "NAME~VARIANT" is the file's variant of that name, its override laid over the
 * config. Errors: DIT_ERR_NOT_FOUND with the nearest name as hint; DIT_ERR_JSON_* in the model file. release takes a
 * zeroed one. */
dit_status suite_model_load(const char *name, suite_model *out);
void suite_model_release(suite_model *model);
/* Lays `override` (config keys) over the model's config, and keeps the text widths in step. `as` names the result
 * ("NAME~as"); NULL: the keys and values themselves do. Complaints are about `pointer` of `doc`.
 * Errors: DIT_ERR_JSON_UNKNOWN_KEY, DIT_ERR_JSON_TYPE, DIT_ERR_JSON_VALUE; DIT_ERR_UNSUPPORTED without a config. */
dit_status suite_model_override(suite_model *model, const dit_json *doc, const char *pointer, const cJSON *override,
                                const char *as);
/* Lays `override` over a copy of the model's scheduler into *out (caller deletes); with another "_class_name" it stands
 * alone. Errors: DIT_ERR_JSON_UNKNOWN_KEY, DIT_ERR_JSON_TYPE. */
dit_status suite_model_scheduler(const suite_model *model, const dit_json *doc, const char *pointer,
                                 const cJSON *override, cJSON **out);

/* A file of workloads/vaes: the full-size config of a published autoencoder. Pointers lie inside `source`. */
typedef struct {
    dit_json source;
    const char *name, *title;
    const cJSON *config;
} suite_vae;

/* Loads workloads/vaes/NAME.json. Errors as suite_model_load. release takes a zeroed one. */
dit_status suite_vae_load(const char *name, suite_vae *out);
void suite_vae_release(suite_vae *vae);

typedef struct {
    char name[64], title[128];
    char backend[16];       /* cpu, ref, cuda, host, cost                                                  */
    char launcher[16];      /* mpirun, srun, smpirun, print                                                */
    int devices;            /* cores or accelerators; "auto": cores this process may use, and of a device's
                               backend no limit: a case that finds too few is skipped when it is to run      */
    int max_ranks;          /* ranks allowed although they outnumber the devices; 0: no oversubscription   */
    int64_t memory_bytes;   /* "auto": what this machine, or its control group, has                     */
    bool memory_per_device; /* memory_bytes is each device's; else all ranks share it                 */
    bool on_device;         /* the backend computes on devices: ranks count them, whatever their threads */
    bool share_devices;     /* ranks may share one, for tests                                         */
} suite_platform;

/* Loads workloads/platforms/NAME.json and resolves "auto" on this machine; of a simulated platform devices and memory
 * are those of its cluster (suite/platform/cluster.h). Errors as suite_model_load. */
dit_status suite_platform_load(const char *name, suite_platform *out);

/* Reads workloads/KIND/NAME.json, which must be of that schema and carry that name; `what` is its kind in words.
 * Errors: DIT_ERR_NOT_FOUND with the nearest name as hint; DIT_ERR_JSON_*. */
dit_status suite_catalogue_read(const char *kind, const char *what, const char *name, const char *schema,
                                dit_json *out);

/* Whether `ditbench calibrate --from measured` left a file KIND/NAME.json on this machine (under calibration/ of the
 * folder of sessions), which is then read in place of that of workloads/: its path. Kinds: accelerators, profiles,
 * platforms, and links, whose list is called local there and is looked into first. */
bool suite_catalogue_local(const char *kind, const char *name, char path[SUITE_PATH]);

/* Sorted, NULL-terminated names: kind "models", "vaes", "platforms", "accelerators", or "workloads" (as
 * suite_workload_load takes them: "smoke", "cpu/methods"). The caller gives them to suite_names_free. Errors:
 * DIT_ERR_ENVIRONMENT without the folder. */
dit_status suite_catalogue_names(const char *kind, char ***names);
void suite_names_free(char **names);

/* The file a workload name or path stands for. Errors: DIT_ERR_NOT_FOUND with the nearest name as hint. */
dit_status suite_workload_find(const char *name, char *path, size_t size);

#endif
