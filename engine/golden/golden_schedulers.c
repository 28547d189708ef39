/* Folders of scheduler configs: NAME.json with a "golden" member (steps, mu, sigmas) beside NAME.safetensors. For each
 * step count N that has nN.timesteps, nN.sigmas, nN.sample_0 and, for each step i, nN.model_output_i, nN.scaled_i,
 * nN.sample_{i+1}. Every step starts from the file's sample, so that each is judged by itself. */
#include "base/json.h"
#include "engine/files/config.h"
#include "engine/golden/golden.h"
#include "engine/schedulers/scheduler.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double TOLERANCE = 2e-6; /* one fp32 step, sigmas (golden/README.md, "Expected agreement") */
enum { NAME = 256, FILE_NAME = NAME + 16, TENSOR = 64, LABEL = NAME + TENSOR + 1 };

/* One config with its data. */
typedef struct {
    golden_report *report;
    dit_runtime *rt;
    const char *name; /* of the config, without .json */
    dit_json config;
    dit_safetensors *file;
    dit_scheduler_params params;
    float *sample, *model_output, *scaled; /* [params.elements], in rt->image */
} replay;

/* ---- finding configs --------------------------------------------------------------------------------------------- */

/* Gives NAME of NAME.json if NAME.safetensors lies beside it. */
static bool config_name(const char *folder, const char *file, char out[FILE_NAME])
{
    size_t length = strlen(file), suffix = strlen(".json");
    if (length <= suffix || length >= NAME || strcmp(file + length - suffix, ".json") != 0) return false;
    snprintf(out, FILE_NAME, "%.*s.safetensors", (int)(length - suffix), file);
    if (!golden_has_file(folder, out)) return false;
    out[length - suffix] = 0;
    return true;
}

static dit_status read_config(const char *folder, const char *name, dit_json *out, const cJSON **golden)
{
    char file[FILE_NAME], path[GOLDEN_PATH];
    snprintf(file, sizeof file, "%.*s.json", NAME, name);
    DIT_TRY(golden_path(folder, file, path));
    DIT_TRY(dit_config_read_file(path, out));
    dit_status st = dit_json_require_object(out, out->root, "", "golden", golden);
    if (st != DIT_OK) dit_json_release(out);
    return st;
}

static bool is_schedulers(const char *folder)
{
    char name[FILE_NAME];
    bool found = false;
    DIR *entries = opendir(folder);
    if (!entries) return false;
    for (struct dirent *entry = readdir(entries); entry && !found; entry = readdir(entries))
        found = config_name(folder, entry->d_name, name);
    closedir(entries);
    return found;
}

/* ---- one config -------------------------------------------------------------------------------------------------- */

/* Writes both names of a tensor: "nN.what" in the file, "NAME nN.what" in the report. */
static void name_tensor(const replay *r, const char *what, char tensor[TENSOR], char label[LABEL])
{
    snprintf(tensor, TENSOR, "n%d.%s", r->params.steps, what);
    snprintf(label, LABEL, "%s %s", r->name, tensor);
}

static dit_status compare(const replay *r, const char *what, const float *x, int64_t elements, double tolerance)
{
    char tensor[TENSOR], label[LABEL];
    name_tensor(r, what, tensor, label);
    return golden_compare(r->report, r->file, tensor, label, x, elements, tolerance);
}

/* Reads nN.what_i. A tensor that is absent, or of another size, is an error of the folder. */
static dit_status read_step(const replay *r, const char *what, int step, float *out)
{
    char tensor[TENSOR];
    dit_tensor_view view;
    snprintf(tensor, sizeof tensor, "n%d.%s_%d", r->params.steps, what, step);
    if (!dit_safetensors_find(r->file, tensor, &view))
        return DIT_FAIL(DIT_ERR_TENSOR_MISSING, "%s.safetensors has no %s", r->name, tensor);
    if (view.elements != r->params.elements)
        return DIT_FAIL(DIT_ERR_SHAPE, "%s.safetensors: %s has %lld elements, n%d.sample_0 %lld", r->name, tensor,
                        (long long)view.elements, r->params.steps, (long long)r->params.elements);
    DIT_TRY(dit_tensor_read(&view, 0, view.elements, out));
    return dit_runtime_upload(r->rt, out, view.elements);
}

static dit_status replay_step(const replay *r, dit_scheduler *scheduler, int step)
{
    char what[TENSOR / 2];
    DIT_TRY(read_step(r, "sample", step, r->sample));
    DIT_TRY(read_step(r, "model_output", step, r->model_output));
    dit_scheduler_scale_input(scheduler, step, r->sample, r->scaled);
    snprintf(what, sizeof what, "scaled_%d", step);
    DIT_TRY(dit_runtime_download(r->rt, r->scaled, r->params.elements));
    DIT_TRY(compare(r, what, r->scaled, r->params.elements, TOLERANCE));
    DIT_TRY(dit_scheduler_step(scheduler, step, r->model_output, r->sample));
    DIT_TRY(dit_runtime_download(r->rt, r->sample, r->params.elements));
    snprintf(what, sizeof what, "sample_%d", step + 1);
    return compare(r, what, r->sample, r->params.elements, TOLERANCE);
}

static dit_status replay_steps(const replay *r)
{
    dit_scheduler *scheduler;
    char tensor[TENSOR], label[LABEL], problem[512];
    dit_status st = dit_scheduler_create(&r->params, &scheduler);
    if (st == DIT_ERR_UNSUPPORTED || st == DIT_ERR_JSON_VALUE) { /* other configs may still be compared */
        name_tensor(r, "timesteps", tensor, label);
        snprintf(problem, sizeof problem, "%s: %s", dit_status_name(st), dit_error_last()->message);
        return golden_add(r->report, label, 0, 0, problem);
    }
    if (st != DIT_OK) return st;
    DIT_TRY(compare(r, "timesteps", scheduler->timesteps, r->params.steps, 0.0));
    DIT_TRY(compare(r, "sigmas", scheduler->sigmas, r->params.steps + 1, TOLERANCE));
    for (int step = 0; step < r->params.steps; step++) DIT_TRY(replay_step(r, scheduler, step));
    return DIT_OK;
}

static dit_status replay_count(replay *r, int steps)
{
    char tensor[TENSOR], label[LABEL];
    dit_tensor_view view;
    r->params.steps = steps;
    name_tensor(r, "sample_0", tensor, label);
    if (!dit_safetensors_find(r->file, tensor, &view))
        return golden_add(r->report, label, 0, TOLERANCE,
                          "the config names this step count, but the file has no data for it");
    r->params.elements = view.elements;
    dit_arena_reset(&r->rt->image);
    DIT_TRY(dit_arena_fp32(&r->rt->image, view.elements, &r->sample));
    DIT_TRY(dit_arena_fp32(&r->rt->image, view.elements, &r->model_output));
    DIT_TRY(dit_arena_fp32(&r->rt->image, view.elements, &r->scaled));
    return replay_steps(r);
}

/* Reads mu, and the description of the sigmas that the exporter passed to set_timesteps. */
static dit_status read_call(replay *r, const cJSON *golden)
{
    static const char *const known[] = {"linspace(1, 1/N, N)", "linspace(1, 0, N+1)[:-1]"};
    static const char quadratic[] = "linear_quadratic_schedule(N, 0.025)";
    const char *sigmas = NULL;
    r->params.has_mu = dit_json_member(golden, "mu") != NULL;
    DIT_TRY(dit_json_optional_number(&r->config, golden, "/golden", "mu", -100, 100, &r->params.mu));
    DIT_TRY(dit_json_optional_string(&r->config, golden, "/golden", "sigmas", &sigmas));
    for (size_t i = 0; sigmas && i < sizeof known / sizeof *known; i++)
        if (strncmp(sigmas, known[i], strlen(known[i])) == 0) r->params.linspace_sigmas = true;
    r->params.quadratic_sigmas = sigmas && strncmp(sigmas, quadratic, sizeof quadratic - 1) == 0;
    if (!sigmas || r->params.linspace_sigmas || r->params.quadratic_sigmas) return DIT_OK;
    return dit_json_fail(&r->config, "/golden/sigmas", DIT_ERR_JSON_VALUE,
                         "\"%s\" does not begin with one of the known forms %s, %s, %s", sigmas, known[0], known[1],
                         quadratic);
}

static dit_status replay_config(replay *r, const char *folder, const cJSON *golden)
{
    const cJSON *counts = NULL, *count;
    char file[FILE_NAME];
    snprintf(file, sizeof file, "%.*s.safetensors", NAME, r->name);
    DIT_TRY(golden_open(folder, file, &r->file));
    r->params = (dit_scheduler_params){.rt = r->rt, .doc = &r->config, .config = r->config.root, .pointer = ""};
    DIT_TRY(read_call(r, golden));
    DIT_TRY(dit_json_optional_array(&r->config, golden, "/golden", "steps", &counts));
    if (cJSON_GetArraySize(counts) == 0)
        return dit_json_fail(&r->config, "/golden", DIT_ERR_JSON_MISSING, "steps, a list of step counts, is missing");
    cJSON_ArrayForEach(count, counts)
    {
        if (!cJSON_IsNumber(count) || count->valuedouble != count->valueint || count->valueint < 1)
            return dit_json_fail(&r->config, "/golden/steps", DIT_ERR_JSON_VALUE,
                                 "a step count is a whole number from 1");
        DIT_TRY(replay_count(r, count->valueint));
    }
    return DIT_OK;
}

static dit_status run_config(golden_report *report, dit_runtime *rt, const char *folder, const char *name)
{
    replay r = {.report = report, .rt = rt, .name = name};
    const cJSON *golden;
    DIT_TRY(read_config(folder, name, &r.config, &golden));
    dit_status st = replay_config(&r, folder, golden);
    dit_safetensors_close(r.file);
    dit_json_release(&r.config);
    return st;
}

/* ---- the folder -------------------------------------------------------------------------------------------------- */

static dit_status run_all(golden_report *report, dit_runtime *rt, const char *folder)
{
    struct dirent **entries;
    char name[FILE_NAME];
    dit_status st = DIT_OK;
    int count = scandir(folder, &entries, NULL, alphasort); /* sorted, so that all machines have one order */
    if (count < 0) return DIT_FAIL(DIT_ERR_IO, "%s cannot be listed", folder);
    for (int i = 0; i < count; i++) {
        if (st == DIT_OK && config_name(folder, entries[i]->d_name, name)) st = run_config(report, rt, folder, name);
        free(entries[i]);
    }
    free(entries);
    return st;
}

static dit_status run_folder(golden_report *report, const char *folder, const dit_case_platform *platform)
{
    dit_runtime rt;
    dit_runtime_params params = {.backend = platform->backend, .dtype = platform->dtype, .threads = platform->threads};
    params.parallel = *platform->parallel;
    params.facts = (dit_facts){.image_tokens = 1, .num_images = 1, .guidance_branches = 1, .steps = 1};
    if (dit_parallel_world_size(&params.parallel) > 1)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD,
                        "%d ranks: a scheduler steps every element by itself, so one rank is enough",
                        dit_parallel_world_size(&params.parallel));
    DIT_TRY(dit_runtime_init(&params, &rt));
    dit_status st = run_all(report, &rt, folder);
    dit_runtime_release(&rt);
    return st;
}

const golden_kind golden_kind_schedulers = {"schedulers", is_schedulers, run_folder};
