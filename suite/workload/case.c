#include "suite/workload/case.h"

#include "base/arena.h"
#include "base/footprint.h"
#include "base/label.h"
#include "base/patches.h"
#include "suite/cases/predict.h"
#include "suite/catalogue/method.h"
#include "suite/catalogue/model.h"
#include "suite/catalogue/vae.h"
#include "suite/workload/layer.h"
#include "suite/workload/matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* K and V of every row and block, of this step and of the one before. */
static int64_t oracle_memory(const dit_facts *facts)
{
    int64_t rows = facts->num_images * facts->guidance_branches * (facts->image_tokens + facts->text_tokens);
    int64_t element = facts->element_bytes ? facts->element_bytes : (int64_t)sizeof(float);
    return 2 * 2 * rows * facts->heads * facts->head_dim * facts->layers * element;
}

void suite_cell_memory(const suite_cell *cell, int64_t bytes[4])
{
    if (cell->attends)
        dit_layer_memory(&cell->parallel, &cell->layer, bytes);
    else
        dit_memory_predict(&cell->parallel, &cell->facts, bytes);
    if (cell->emulates) bytes[DIT_MEMORY_STATE] += oracle_memory(&cell->facts);
    for (int i = 0; i < 4 && cell->simulated; i++)
        bytes[i] = bytes[i] / (int64_t)sizeof(float) * suite_predict_element_bytes(cell->element);
}

/* It uses the machine as well as one rank can, whatever the cell was to measure: cells differ by threads, oracles not.
 */
suite_cell suite_cell_oracle(const suite_cell *cell)
{
    enum { MOST_THREADS = 16 };
    suite_cell oracle = *cell;
    oracle.emulates = true;
    oracle.emulated = dit_parallel_emulated(&cell->parallel, &cell->facts);
    oracle.parallel = (dit_parallel){.rows_degree = 1};
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) oracle.parallel.degree[axis] = 1;
    oracle.world_size = 1;
    oracle.threads_per_rank = cell->platform->devices < MOST_THREADS ? cell->platform->devices : MOST_THREADS;
    if (cell->platform->on_device) oracle.threads_per_rank = 0;
    oracle.no_graphs = false;
    oracle.attention = dit_parallel_attention(&oracle.parallel);
    snprintf(oracle.method, sizeof oracle.method, "oracle");
    dit_parallel_label(&oracle.parallel, oracle.mesh);
    return oracle;
}

/* ---- document ---------------------------------------------------------------------------------------------------- */

static dit_status add_object(cJSON *parent, const char *key, cJSON **out)
{
    *out = cJSON_AddObjectToObject(parent, key);
    return *out ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
}

static dit_status add_reference(cJSON *parent, const char *key, const cJSON *item)
{
    if (cJSON_AddItemReferenceToObject(parent, key, (cJSON *)(uintptr_t)item)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
}

static dit_status add_parameter(cJSON *object, const suite_cell *cell, suite_parameter parameter)
{
    double value;
    DIT_TRY(suite_cell_number(cell, parameter, &value));
    return dit_json_add_number(object, suite_parameter_key(parameter), value);
}

static dit_status copy_member(cJSON *object, const cJSON *from, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, key);
    return item ? add_reference(object, key, item) : DIT_OK;
}

static dit_status add_model(cJSON *document, const suite_cell *cell)
{
    cJSON *model, *part;
    double seed;
    DIT_TRY(add_object(document, "model", &model));
    DIT_TRY(dit_json_add_string(model, "name", cell->model->name));
    DIT_TRY(add_reference(model, "config", cell->model->config));
    DIT_TRY(add_object(model, "latent", &part));
    DIT_TRY(copy_member(part, cell->model->latent, "channels"));
    DIT_TRY(copy_member(part, cell->model->latent, "vae_spatial"));
    DIT_TRY(copy_member(part, cell->model->latent, "vae_temporal"));
    DIT_TRY(copy_member(part, cell->model->latent, "patch"));
    DIT_TRY(copy_member(part, cell->model->latent, "attention_per_frame"));
    if (cell->model->parameters) DIT_TRY(dit_json_add_int(model, "parameters", cell->model->parameters));
    DIT_TRY(add_object(model, "text", &part));
    DIT_TRY(dit_json_add_int(part, "tokens", cell->text_tokens));
    DIT_TRY(copy_member(part, cell->model->text, "dim"));
    DIT_TRY(copy_member(part, cell->model->text, "pooled_dim"));
    DIT_TRY(copy_member(part, cell->model->text, "injection"));
    DIT_TRY(dit_json_add_string(model, "guidance", cell->model->guidance));
    DIT_TRY(suite_cell_number(cell, SUITE_PARAMETER_WEIGHTS_SEED, &seed));
    DIT_TRY(add_object(model, "weights", &part));
    DIT_TRY(dit_json_add_string(part, "kind", "seeded"));
    return dit_json_add_number(part, "seed", seed);
}

static dit_status add_scheduler(cJSON *document, const suite_workload *workload, const suite_cell *cell)
{
    const cJSON *override = cell->values[SUITE_PARAMETER_SCHEDULER];
    cJSON *laid;
    if (!override) return add_reference(document, "scheduler", cell->model->scheduler);
    DIT_TRY(suite_model_scheduler(cell->model, &workload->source, "", override, &laid));
    cJSON_AddItemToObject(document, "scheduler", laid);
    return DIT_OK;
}

/* What is made, and from which noise; num_frames only of clips. */
static dit_status add_sizes(cJSON *document, const suite_cell *cell, cJSON **run)
{
    DIT_TRY(add_object(document, "run", run));
    DIT_TRY(dit_json_add_int(*run, "height_px", cell->height_px));
    DIT_TRY(dit_json_add_int(*run, "width_px", cell->width_px));
    if (cell->model->video) DIT_TRY(dit_json_add_int(*run, "num_frames", cell->num_frames));
    DIT_TRY(add_parameter(*run, cell, SUITE_PARAMETER_NUM_IMAGES));
    return add_parameter(*run, cell, SUITE_PARAMETER_SEED);
}

static dit_status add_run(cJSON *document, const suite_cell *cell)
{
    cJSON *run;
    DIT_TRY(add_sizes(document, cell, &run));
    DIT_TRY(add_parameter(run, cell, SUITE_PARAMETER_NUM_INFERENCE_STEPS));
    return add_parameter(run, cell, SUITE_PARAMETER_GUIDANCE_SCALE);
}

/* The ranks that share a decode; one rank needs no word. */
static dit_status add_rows(cJSON *document, const suite_cell *cell)
{
    cJSON *parallel;
    if (cell->parallel.rows_degree <= 1) return DIT_OK;
    DIT_TRY(add_object(document, "parallel", &parallel));
    return dit_json_add_int(parallel, dit_axis_key(DIT_AXIS_WORLD), cell->parallel.rows_degree);
}

static dit_status add_vae(cJSON *document, const suite_cell *cell, const suite_vae *of)
{
    cJSON *vae, *weights;
    double seed;
    DIT_TRY(add_object(document, "vae", &vae));
    DIT_TRY(add_reference(vae, "config", of->config));
    DIT_TRY(suite_cell_number(cell, SUITE_PARAMETER_WEIGHTS_SEED, &seed));
    DIT_TRY(add_object(vae, "weights", &weights));
    DIT_TRY(dit_json_add_string(weights, "kind", "seeded"));
    DIT_TRY(dit_json_add_number(weights, "seed", seed));
    cJSON_AddBoolToObject(vae, "tiling", cJSON_IsTrue(cell->values[SUITE_PARAMETER_TILING]));
    return DIT_OK;
}

static dit_status add_decoding(cJSON *document, const suite_cell *cell)
{
    cJSON *run;
    DIT_TRY(add_vae(document, cell, cell->vae));
    DIT_TRY(add_sizes(document, cell, &run));
    return add_rows(document, cell);
}

/* What a pipeline does around its denoising, as far as the model's file names it. */
static dit_status add_pipeline(cJSON *document, const suite_cell *cell)
{
    if (cell->model->text_encoders) DIT_TRY(add_reference(document, "text_encoders", cell->model->text_encoders));
    return cell->decoder ? add_vae(document, cell, cell->decoder) : DIT_OK;
}

static dit_status add_mesh(cJSON *document, const suite_cell *cell)
{
    cJSON *part;
    DIT_TRY(add_object(document, "parallel", &part));
    DIT_TRY(dit_parallel_to_json(&cell->parallel, part));
    DIT_TRY(dit_json_add_string(document, "attention", cell->attention));
    if (!cell->emulates) return DIT_OK;
    DIT_TRY(add_object(document, "emulates", &part));
    return dit_parallel_to_json(&cell->emulated, part);
}

/* Virtual time needs no warming up and no second run. */
static dit_status add_virtual_measure(const suite_matrix *matrix, cJSON *measure)
{
    DIT_TRY(dit_json_add_int(measure, "warmup_runs", 0));
    DIT_TRY(dit_json_add_int(measure, "iterations", 1));
    if (matrix->waits && !cJSON_AddTrueToObject(measure, "waits"))
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    return strcmp(matrix->scope, "denoise") == 0 ? DIT_OK : dit_json_add_string(measure, "scope", matrix->scope);
}

dit_status suite_case_placement(const suite_workload *workload, const suite_cell *cell, cJSON *document)
{
    const suite_matrix *matrix = workload->matrix;
    cJSON *part;
    if (!cell->vae) DIT_TRY(add_mesh(document, cell));
    DIT_TRY(add_object(document, "platform", &part));
    DIT_TRY(dit_json_add_string(part, "name", cell->platform->name));
    DIT_TRY(dit_json_add_string(part, "backend", cell->platform->backend));
    DIT_TRY(dit_json_add_int(part, "threads_per_rank", cell->threads_per_rank));
    if (cell->simulated) DIT_TRY(dit_json_add_string(part, "profile", cell->profile));
    if (cell->simulated || cell->platform->on_device) DIT_TRY(dit_json_add_string(part, "element", cell->element));
    if (cell->fp8_linear && !cJSON_AddTrueToObject(part, "fp8_linear"))
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    if (cell->no_graphs && !cJSON_AddFalseToObject(part, "graphs"))
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    DIT_TRY(add_object(document, "measure", &part));
    if (cell->simulated) return add_virtual_measure(matrix, part);
    DIT_TRY(dit_json_add_int(part, "warmup_runs", cell->emulates ? 0 : matrix->warmup_runs));
    DIT_TRY(dit_json_add_int(part, "iterations", cell->emulates ? 1 : matrix->iterations));
    if (!matrix->trace || cell->emulates || cJSON_AddTrueToObject(part, "trace")) return DIT_OK;
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
}

static dit_status fill_document(cJSON *document, const suite_workload *workload, const suite_cell *cell)
{
    DIT_TRY(dit_json_add_string(document, "schema", "ditbench.case/1"));
    DIT_TRY(dit_json_add_string(document, "program", workload->matrix->program));
    if (cell->vae) return add_decoding(document, cell);
    if (cell->attends) return suite_layer_document(cell, document);
    DIT_TRY(add_model(document, cell));
    DIT_TRY(add_scheduler(document, workload, cell));
    if (strcmp(workload->matrix->scope, "denoise") != 0) DIT_TRY(add_pipeline(document, cell));
    return add_run(document, cell);
}

dit_status suite_case_document(const suite_workload *workload, const suite_cell *cell, cJSON **out)
{
    *out = cJSON_CreateObject();
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    dit_status st = fill_document(*out, workload, cell);
    if (st == DIT_OK) return DIT_OK;
    cJSON_Delete(*out);
    *out = NULL;
    return st;
}

/* "vae:flux": no model is called so. */
static void vae_name(const suite_vae *vae, char *out, size_t size)
{
    snprintf(out, size, "vae:%s", vae->name);
}

/* ---- tags -------------------------------------------------------------------------------------------------------- */

static dit_status fill_size_tags(cJSON *tags, const suite_cell *cell)
{
    char resolution[48];
    double images, seed;
    snprintf(resolution, sizeof resolution, "%lldx%lld", (long long)cell->width_px, (long long)cell->height_px);
    DIT_TRY(suite_cell_number(cell, SUITE_PARAMETER_NUM_IMAGES, &images));
    DIT_TRY(suite_cell_number(cell, SUITE_PARAMETER_SEED, &seed));
    DIT_TRY(dit_json_add_string(tags, "resolution", resolution));
    DIT_TRY(dit_json_add_int(tags, "height_px", cell->height_px));
    DIT_TRY(dit_json_add_int(tags, "width_px", cell->width_px));
    DIT_TRY(dit_json_add_int(tags, "num_frames", cell->num_frames));
    DIT_TRY(dit_json_add_number(tags, "num_images", images));
    return dit_json_add_number(tags, "seed", seed);
}

static dit_status fill_sampling_tags(cJSON *tags, const suite_cell *cell)
{
    double scale;
    DIT_TRY(suite_cell_number(cell, SUITE_PARAMETER_GUIDANCE_SCALE, &scale));
    DIT_TRY(dit_json_add_string(tags, "model", cell->model->variant));
    DIT_TRY(dit_json_add_string(tags, "base_model", cell->model->name));
    DIT_TRY(dit_json_add_int(tags, "steps", cell->facts.steps));
    DIT_TRY(dit_json_add_int(tags, "num_layers", cell->facts.layers));
    DIT_TRY(dit_json_add_int(tags, "image_tokens", cell->facts.image_tokens));
    DIT_TRY(dit_json_add_int(tags, "text_tokens", cell->facts.text_tokens));
    return dit_json_add_number(tags, "guidance_scale", scale);
}

/* Models that share a VAE give one case, so the VAE is what the case is of. */
static dit_status fill_decoding_tags(cJSON *tags, const suite_cell *cell)
{
    char name[160];
    vae_name(cell->vae, name, sizeof name);
    DIT_TRY(dit_json_add_string(tags, "model", name));
    DIT_TRY(dit_json_add_string(tags, "base_model", cell->vae->name));
    if (cell->parallel.rows_degree <= 1) DIT_TRY(dit_json_add_int(tags, dit_axis_key(DIT_AXIS_WORLD), 1));
    return dit_json_add_string(tags, "tiling", cJSON_IsTrue(cell->values[SUITE_PARAMETER_TILING]) ? "on" : "off");
}

static dit_status fill_mesh_tags(cJSON *tags, const suite_cell *cell)
{
    DIT_TRY(dit_json_add_string(tags, "method", cell->method));
    DIT_TRY(dit_json_add_int(tags, "world_size", cell->world_size));
    DIT_TRY(dit_json_add_string(tags, "mesh", cell->mesh));
    for (int axis = DIT_AXIS_COUNT - 1; axis >= 0; axis--)
        DIT_TRY(dit_json_add_int(tags, dit_axis_key((dit_axis)axis), cell->parallel.degree[axis]));
    if (cell->parallel.rows_degree > 1)
        DIT_TRY(dit_json_add_int(tags, dit_axis_key(DIT_AXIS_WORLD), cell->parallel.rows_degree));
    DIT_TRY(dit_json_add_string(tags, "joint_text", dit_joint_text_name(cell->parallel.joint_text)));
    return dit_json_add_string(tags, "attention", cell->attention);
}

/* "7,7,6"; "even" without a list. */
static void write_stages(const dit_parallel *parallel, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "%s", parallel->stage_blocks[0] ? "" : "even");
    for (int i = 0; i < parallel->degree[DIT_AXIS_PIPEFUSION] && parallel->stage_blocks[0] && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%d", i ? "," : "", parallel->stage_blocks[i]);
}

/* The configuration that decides the numbers: the cell's own, or what its oracle emulates. */
static const dit_parallel *settings_of(const suite_cell *cell)
{
    return cell->emulates ? &cell->emulated : &cell->parallel;
}

/* Of all cases, so that any filter can name them: 0, 1, "even" and "none" where they mean nothing. */
static dit_status fill_displaced_tags(cJSON *tags, const suite_cell *cell)
{
    const dit_parallel *parallel = settings_of(cell);
    char stages[6 * DIT_MAX_STAGES];
    bool patches = parallel->degree[DIT_AXIS_PATCH] > 1;
    write_stages(parallel, stages, sizeof stages);
    DIT_TRY(dit_json_add_int(tags, "warmup_steps", parallel->warmup_steps));
    DIT_TRY(dit_json_add_int(tags, "num_pipeline_patch", dit_parallel_bands(parallel, &cell->facts)));
    DIT_TRY(dit_json_add_string(tags, "attn_layer_num_for_pp", stages));
    DIT_TRY(
        dit_json_add_string(tags, "patch_method", patches ? dit_patch_method_name(parallel->patch_method) : "none"));
    DIT_TRY(dit_json_add_number(tags, "patch_fraction", parallel->patch_fraction));
    return dit_json_add_int(tags, "stale_steps", dit_parallel_stale_steps(parallel, &cell->facts));
}

static dit_status fill_tags(cJSON *tags, const suite_workload *workload, const suite_cell *cell)
{
    DIT_TRY(dit_json_add_string(tags, "program", workload->matrix->program));
    if (cell->attends) {
        DIT_TRY(suite_layer_tags(cell, tags));
    } else {
        DIT_TRY(cell->vae ? fill_decoding_tags(tags, cell) : fill_sampling_tags(tags, cell));
        DIT_TRY(fill_size_tags(tags, cell));
    }
    DIT_TRY(fill_mesh_tags(tags, cell));
    if (!cell->vae && !cell->attends) DIT_TRY(fill_displaced_tags(tags, cell));
    DIT_TRY(dit_json_add_string(tags, "platform", cell->platform->name));
    DIT_TRY(dit_json_add_string(tags, "profile", cell->profile));
    DIT_TRY(dit_json_add_string(tags, "element", cell->element));
    DIT_TRY(dit_json_add_string(tags, "fp8_linear",
                                !cell->platform->on_device ? "none"
                                : cell->fp8_linear         ? "on"
                                                           : "off"));
    DIT_TRY(dit_json_add_string(tags, "graphs", !cell->platform->on_device ? "none" : cell->no_graphs ? "off" : "on"));
    return dit_json_add_int(tags, "threads_per_rank", cell->threads_per_rank);
}

dit_status suite_case_tags(const suite_workload *workload, const suite_cell *cell, cJSON **out)
{
    *out = cJSON_CreateObject();
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    dit_status st = fill_tags(*out, workload, cell);
    if (st == DIT_OK) return DIT_OK;
    cJSON_Delete(*out);
    *out = NULL;
    return st;
}

/* ---- label and ids ----------------------------------------------------------------------------------------------- */

/* What is run, and its size. */
static void write_subject(const suite_cell *cell, char *out, size_t size)
{
    char name[160], frames[32] = "";
    if (cell->attends) {
        suite_layer_label(cell, out, size);
        return;
    }
    snprintf(name, sizeof name, "%s", cell->model->variant);
    if (cell->vae) vae_name(cell->vae, name, sizeof name);
    if (cell->model->video) snprintf(frames, sizeof frames, " %lldf", (long long)cell->num_frames);
    snprintf(out, size, "%s %lldx%lld%s", name, (long long)cell->width_px, (long long)cell->height_px, frames);
}

/* " M4 W1", " 7,7,6 M4 W1" of a pipeline, " distrifusion W1" of patches; nothing of a mesh without either. */
static void write_settings(const suite_cell *cell, char out[256])
{
    const dit_parallel *parallel = settings_of(cell);
    char stages[6 * DIT_MAX_STAGES], fraction[32] = "";
    out[0] = '\0';
    write_stages(parallel, stages, sizeof stages);
    const char *warmup = dit_label_get(DIT_LABEL_WARMUP).prefix;
    if (parallel->patch_fraction > 0)
        snprintf(fraction, sizeof fraction, " %s%g", dit_label_get(DIT_LABEL_FRACTION).prefix,
                 parallel->patch_fraction);
    if (parallel->degree[DIT_AXIS_PIPEFUSION] > 1)
        snprintf(out, 256, "%s%.150s %s%lld %s%d", parallel->stage_blocks[0] ? " " : "",
                 parallel->stage_blocks[0] ? stages : "", dit_label_get(DIT_LABEL_BANDS).prefix,
                 (long long)dit_parallel_bands(parallel, &cell->facts), warmup, parallel->warmup_steps);
    else if (parallel->degree[DIT_AXIS_PATCH] > 1)
        snprintf(out, 256, " %s%s %s%d", dit_patch_method_name(parallel->patch_method), fraction, warmup,
                 parallel->warmup_steps);
}

/* "oracle pp M4 W1": the number of stages changes nothing. "oracle pp r2 M4 W1", "oracle patch4 distrifusion W1". */
static void write_mesh(const suite_cell *cell, char *out, size_t size)
{
    const int *degree = cell->emulated.degree;
    char settings[256], rows[32] = "";
    write_settings(cell, settings);
    if (degree[DIT_AXIS_RING] > 1) snprintf(rows, sizeof rows, " r%d", degree[DIT_AXIS_RING]);
    if (!cell->emulates)
        snprintf(out, size, "%s%s", cell->mesh, settings);
    else if (degree[DIT_AXIS_PATCH] > 1)
        snprintf(out, size, "oracle patch%d%s", degree[DIT_AXIS_PATCH], settings);
    else
        snprintf(out, size, "oracle pp%s%s", rows, settings);
}

/* "pixart-alpha-xl-2{2-layers} 256x256 u2", of clips "latte-1 256x256 16f u2", of simulated cases with their software,
 * "flux.1-dev 1024x1024 u2 torch-compile", then whatever else varies. */
static dit_status write_label(const suite_workload *workload, const suite_cell *cell, char *out, size_t size)
{
    char subject[256], mesh[384];
    write_subject(cell, subject, sizeof subject);
    write_mesh(cell, mesh, sizeof mesh);
    bool adds = cell->simulated && !workload->matrix->varies[SUITE_PARAMETER_PROFILE]; /* else it is told below */
    const char *software = adds ? cell->profile : "";
    size_t used = (size_t)snprintf(out, size, "%s %s%s%s", subject, mesh, adds ? " " : "", software);
    for (int p = 0; p < SUITE_PARAMETER_COUNT && used < size; p++) {
        char *value = NULL;
        if (!workload->matrix->varies[p] || !cell->values[p] || suite_parameter_is_named((suite_parameter)p)) continue;
        if (cell->emulates && p == SUITE_PARAMETER_THREADS_PER_RANK) continue;
        const cJSON *item = cell->values[p];
        if (!cJSON_IsString(item)) DIT_TRY(dit_json_canonical(item, &value));
        used += (size_t)snprintf(out + used, size - used, " %s=%s", suite_parameter_key((suite_parameter)p),
                                 value ? value : item->valuestring);
        free(value);
    }
    return DIT_OK;
}

static dit_status hash_document(const cJSON *document, char out[DIT_HASH_HEX])
{
    char *text;
    DIT_TRY(dit_json_canonical(document, &text));
    dit_hash(text, strlen(text), out);
    free(text);
    return DIT_OK;
}

dit_status suite_workload_trace(suite_workload *workload)
{
    for (int i = 0; i < workload->case_count; i++) {
        suite_case *one = &workload->cases[i];
        if (one->is_oracle || one->is_simulated) continue;
        cJSON *measure = cJSON_GetObjectItemCaseSensitive(one->document, "measure");
        cJSON_DeleteItemFromObjectCaseSensitive(measure, "trace");
        if (measure && !cJSON_AddTrueToObject(measure, "trace"))
            return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
        DIT_TRY(hash_document(one->document, one->case_id));
    }
    return DIT_OK;
}

/* Devices round as their element does: only the same backend and element must give the same image. Linear layers in
 * fp8 and graphs are ways to it, and the reference is without the first. */
static dit_status add_rounding(const suite_cell *cell, cJSON *part)
{
    cJSON *device;
    if (!cell->platform->on_device) return DIT_OK;
    DIT_TRY(add_object(part, "device", &device));
    DIT_TRY(dit_json_add_string(device, "backend", cell->platform->backend));
    return dit_json_add_string(device, "element", cell->element);
}

/* What the image depends on: the case without how and where it is computed, but for what a device rounds to. */
static dit_status hash_reference(const suite_cell *cell, const cJSON *document, char out[DIT_HASH_HEX])
{
    static const char *const members[] = {"schema", "program", "model", "vae", "scheduler", "run"};
    cJSON *part = cJSON_CreateObject(), *layer;
    dit_status st = part ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
    for (size_t i = 0; st == DIT_OK && i < sizeof members / sizeof *members; i++)
        st = copy_member(part, document, members[i]);
    if (st == DIT_OK && cell->attends) st = add_object(part, "layer", &layer);
    if (st == DIT_OK && cell->attends) st = suite_layer_identity(cell, layer);
    if (st == DIT_OK) st = add_rounding(cell, part);
    if (st == DIT_OK) st = hash_document(part, out);
    cJSON_Delete(part);
    return st;
}

static void predict_bytes(const suite_prediction *prediction, suite_case *out)
{
    suite_predict_range range;
    suite_predict_ranks(prediction, &range);
    out->predicted_bytes = range.most_bytes;
    out->predicted_least_bytes = range.least_bytes;
}

/* Tiles are an approximation and no reference. */
static dit_status finish_decoding(const suite_cell *cell, suite_case *out)
{
    suite_prediction prediction = {.kind = SUITE_PREDICT_DECODE, .parallel = cell->parallel};
    bool shared = cell->world_size > 1;
    out->is_reference = !shared && !cJSON_IsTrue(cell->values[SUITE_PARAMETER_TILING]);
    if (!shared && !out->is_reference) return DIT_OK;
    if (shared) {
        const dit_json view = {.root = out->document, .path = (char *)"<case>"};
        DIT_TRY(dit_rows_from_case(&view, out->document, "", &prediction.rows));
        predict_bytes(&prediction, out);
    }
    return hash_reference(cell, out->document, out->reference_id);
}

/* An oracle computes as many whole images a step as there are groups of rows. */
static int64_t oracle_deadline_s(const suite_cell *cell, int64_t deadline_s)
{
    int64_t bands = dit_parallel_bands(&cell->emulated, &cell->facts), patches = cell->emulated.degree[DIT_AXIS_PATCH];
    return deadline_s * (bands > patches ? bands : patches);
}

dit_status suite_case_finish(const suite_workload *workload, const suite_cell *cell, suite_case *out)
{
    suite_prediction prediction = {.kind = cell->attends ? SUITE_PREDICT_LAYER : SUITE_PREDICT_SAMPLING,
                                   .parallel = cell->parallel,
                                   .facts = cell->facts,
                                   .layer = cell->layer};
    int64_t memory[4], deadline_s = workload->matrix->deadline_s;
    out->world_size = cell->world_size;
    out->deadline_s = cell->emulates ? oracle_deadline_s(cell, deadline_s) : deadline_s;
    DIT_TRY(write_label(workload, cell, out->label, sizeof out->label));
    DIT_TRY(hash_document(out->document, out->case_id));
    out->is_oracle = cell->emulates;
    out->is_simulated = cell->simulated;
    out->is_reference = cell->world_size == 1 && !cell->emulates && !cell->simulated && !cell->fp8_linear;
    if (cell->vae) return finish_decoding(cell, out);
    if (cell->simulated) suite_predict_simulated(cell->software, cell->element, &prediction);
    predict_bytes(&prediction, out);
    suite_cell_memory(cell, memory);
    out->predicted_memory_bytes = memory[0] + memory[1] + memory[2] + memory[3];
    return cell->simulated ? DIT_OK : hash_reference(cell, out->document, out->reference_id);
}
