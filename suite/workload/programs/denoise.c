/* Program denoise: all denoising steps of a model, from noise to latents; simulated also what comes before and after
 * them. The only program with approximate methods, which have oracles. */
#include "base/words.h"
#include "base/architecture.h"
#include "base/arena.h"
#include "base/case_facts.h"
#include "base/footprint.h"
#include "base/label.h"
#include "base/legality.h"
#include "base/mesh.h"
#include "base/patches.h"
#include "base/request.h"
#include "suite/cases/document.h"
#include "suite/catalogue/parameter.h"
#include "suite/catalogue/text_encoder.h"
#include "suite/platform/platform.h"
#include "suite/workload/members.h"
#include "suite/workload/programs/cell_mesh.h"
#include "suite/workload/programs/cell_model.h"
#include "suite/workload/programs/predict.h"
#include "suite/workload/programs/program.h"

#include <stdio.h>
#include <string.h>

/* ---- a cell ------------------------------------------------------------------------------------------------------ */

static dit_status resolve(suite_cell *cell)
{
    if (!cell->model->config)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s: architecture facts only, the engine does not build this family yet",
                        cell->model->name);
    DIT_TRY(suite_cell_check_weights(cell));
    if (strcmp(cell->scope, "denoise") != 0 && suite_engine_is_external(cell->engine))
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "engine %s is timed for its denoising alone", cell->engine->name);
    DIT_TRY(suite_cell_resolve_size(cell));
    DIT_TRY(suite_cell_resolve_mesh(cell));
    suite_cell_resolve_ring(cell);
    return suite_cell_check_attention(cell);
}

/* Blocks of each stage as listed; a list of the even split is none. */
static dit_status resolve_stages(suite_cell *cell)
{
    const cJSON *list = cell->values[SUITE_PARAMETER_STAGE_BLOCKS], *item;
    int stages = cell->parallel.degree[DIT_AXIS_PIPEFUSION], listed = cJSON_GetArraySize(list), at = 0;
    bool even = true;
    if (!list) return DIT_OK;
    if (listed != stages)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_STAGES, "attn_layer_num_for_pp lists %d stages, pipefusion_degree is %d",
                        listed, stages);
    cJSON_ArrayForEach(item, list)
    {
        even = even && dit_parallel_stage(&cell->parallel, &cell->facts, at).count == item->valueint;
        at++;
    }
    at = 0;
    cJSON_ArrayForEach(item, list) if (!even) cell->parallel.stage_blocks[at++] = item->valueint;
    return DIT_OK;
}

/* A stream has no synchronous steps. Unless they are said, a block has so many frames that there are as many blocks as
 * stages, and it sees as many of others. */
static dit_status resolve_stream(suite_cell *cell)
{
    dit_parallel *parallel = &cell->parallel;
    int64_t frames = dit_facts_frames(&cell->facts), stages = parallel->degree[DIT_AXIS_PIPEFUSION];
    int64_t block = suite_cell_int(cell, SUITE_PARAMETER_BLOCK_FRAMES, 0);
    parallel->block_frames = (int)(block ? block : frames > stages ? frames / stages : 1);
    parallel->context_frames = (int)suite_cell_int(cell, SUITE_PARAMETER_CONTEXT_FRAMES, parallel->block_frames);
    return parallel->stage_method == DIT_STAGE_TPP ? DIT_OK : resolve_stages(cell);
}

/* What only pipelines and patches have. Zero where it means nothing, and one spelling of what means the same, so that
 * equal cells merge: bands as they are used, no more synchronous steps than there are. */
static dit_status resolve_displaced(suite_cell *cell)
{
    const cJSON *fraction = cell->values[SUITE_PARAMETER_PATCH_FRACTION];
    dit_parallel *parallel = &cell->parallel;
    bool pipeline = parallel->degree[DIT_AXIS_PIPEFUSION] > 1, patches = parallel->degree[DIT_AXIS_PATCH] > 1;
    if (!pipeline && !patches) return DIT_OK;
    bool frames = dit_parallel_cuts_frames(parallel); /* which need no synchronous step */
    if (dit_parallel_streams(parallel)) return resolve_stream(cell);
    parallel->warmup_steps = (int)suite_cell_int(cell, SUITE_PARAMETER_WARMUP_STEPS, !frames);
    if (parallel->warmup_steps > cell->facts.steps) parallel->warmup_steps = (int)cell->facts.steps;
    if (patches && parallel->patch_method == DIT_PATCH_PCPP)
        parallel->patch_fraction = fraction ? fraction->valuedouble : 0.5;
    if (frames) {
        parallel->halo_frames = (int)suite_cell_int(cell, SUITE_PARAMETER_HALO_FRAMES, 1);
        parallel->global_frames =
            (int)suite_cell_int(cell, SUITE_PARAMETER_GLOBAL_FRAMES, parallel->degree[DIT_AXIS_PATCH]);
    }
    if (!pipeline) return DIT_OK;
    parallel->num_pipeline_patch = (int)suite_cell_int(cell, SUITE_PARAMETER_NUM_PIPELINE_PATCH, 0);
    parallel->num_pipeline_patch = (int)dit_parallel_bands(parallel, &cell->facts);
    return resolve_stages(cell);
}

static dit_status resolve_cache(suite_cell *cell)
{
    const cJSON *value = cell->values[SUITE_PARAMETER_CACHE];
    const dit_json view = {.root = (cJSON *)(uintptr_t)value, .path = (char *)"<case>"};
    cell->cache = (dit_cache){0};
    if (!cJSON_IsObject(value)) return DIT_OK;
    return dit_cache_read(&view, value, "/cache", (int)cell->facts.steps, &cell->cache);
}

static dit_status resolve_edit(suite_cell *cell)
{
    const cJSON *value = cell->values[SUITE_PARAMETER_EDIT];
    const dit_json view = {.root = (cJSON *)(uintptr_t)value, .path = (char *)"<case>"};
    cell->edit = (dit_edit_plan){0};
    return cJSON_IsObject(value) ? dit_edit_plan_read(&view, value, "/edit", &cell->edit) : DIT_OK;
}

/* Zero where it means nothing, so that equal cells merge. */
static dit_status resolve_offload(suite_cell *cell)
{
    const cJSON *tier = cell->values[SUITE_PARAMETER_OFFLOAD], *policy = cell->values[SUITE_PARAMETER_OFFLOAD_POLICY];
    const char *key = suite_parameter_key(SUITE_PARAMETER_RESIDENT_WEIGHTS);
    cell->offload = (dit_offload){0};
    if (!tier || dit_words_find(dit_offload_tiers, tier->valuestring) == DIT_OFFLOAD_NONE) return DIT_OK;
    cell->offload.tier = (dit_offload_tier)dit_words_find(dit_offload_tiers, tier->valuestring);
    cell->offload.policy = policy ? (dit_residency_policy)dit_words_find(dit_residency_policies, policy->valuestring)
                                  : DIT_RESIDENCY_PREFETCH;
    cell->offload.resident_weights = suite_cell_int(cell, SUITE_PARAMETER_RESIDENT_WEIGHTS, 0);
    if (cell->offload.policy == DIT_RESIDENCY_PREFETCH)
        cell->offload.depth = (int)suite_cell_int(cell, SUITE_PARAMETER_OFFLOAD_DEPTH, 1);
    if (cell->offload.resident_weights) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_JSON_MISSING, "offload %s needs %s", tier->valuestring, key),
                          "give the bytes that weights of blocks may take");
}

static dit_status settle(suite_cell *cell, const cJSON *document)
{
    const dit_json view = {.root = (cJSON *)(uintptr_t)document};
    DIT_TRY(dit_facts_from_case(&view, document, "", &cell->facts));
    if (cell->platform->on_device) cell->facts.element_bytes = strcmp(cell->element, "fp32") == 0 ? 4 : 2;
    DIT_TRY(resolve_displaced(cell));
    DIT_TRY(resolve_cache(cell));
    DIT_TRY(resolve_offload(cell));
    return resolve_edit(cell);
}

static dit_status judge_edit(const suite_cell *cell)
{
    const cJSON *prompts = cell->values[SUITE_PARAMETER_PROMPTS];
    char split[32];
    int count;
    bool edits = false;
    if (!cell->edit.dense_steps) return DIT_OK;
    if (prompts) suite_prompts_from_text(prompts->valuestring, split, &count, &edits);
    if (!edits)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "edit: there are no captions that were edited"),
                              "give \"prompts\": \"shapes-edits:test:128\" and a model with trained weights");
    if (cell->simulated)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "edit: which rows change is found out by computing, not by a simulation");
    if (cell->cache.policy != DIT_CACHE_NONE)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_CACHE, "edit: a cache beside it would keep rows that are not computed");
    return dit_edit_plan_check(&cell->edit, &cell->parallel, &cell->facts);
}

static dit_status judge_shards(const suite_cell *cell)
{
    int degree = dit_parallel_degree(&cell->parallel, DIT_AXIS_FSDP);
    if (degree == 1 || cell->simulated || strcmp(cell->platform->backend, "cpu") == 0) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED,
                                   "fsdp_degree %d: weights lie in shards on backend cpu, not on %s", degree,
                                   cell->platform->backend),
                          "take cores, or a simulated platform");
}

static dit_status judge_offload(const suite_cell *cell)
{
    const char *tier = dit_offload_tiers[cell->offload.tier];
    if (cell->offload.tier == DIT_OFFLOAD_NONE) return DIT_OK;
    if (dit_parallel_degree(&cell->parallel, DIT_AXIS_FSDP) > 1)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "offload %s beside fsdp_degree %d: weights have one source", tier,
                        cell->parallel.fsdp_degree);
    if (cell->simulated || strcmp(cell->platform->backend, "cpu") != 0)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "offload %s: weights stream to backend cpu, not to %s", tier,
                        cell->platform->backend);
    if (cell->model->boundary_ratio > 0)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "offload %s: weights of two transformers do not stream", tier);
    return DIT_OK;
}

static dit_status judge(const suite_cell *cell, const cJSON *document)
{
    const dit_json view = {.root = (cJSON *)(uintptr_t)document, .path = (char *)"<case>"};
    dit_request request;
    DIT_TRY(dit_parallel_check(&cell->parallel, &cell->facts));
    DIT_TRY(dit_request_read(&view, &request));
    DIT_TRY(dit_request_check(&request, cell->world_size));
    if (cell->parallel.rows_degree > 1 && request.scope != DIT_SCOPE_PIPELINE)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "rows_degree %d: scope %s decodes nothing", cell->parallel.rows_degree,
                        cell->scope);
    if (cell->simulated && cell->parallel.rows_degree > 1)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "rows_degree %d: a simulated decode is that of one rank",
                        cell->parallel.rows_degree);
    DIT_TRY(dit_cache_check(&cell->cache, &cell->parallel, &cell->facts));
    DIT_TRY(judge_edit(cell));
    DIT_TRY(judge_offload(cell));
    DIT_TRY(judge_shards(cell));
    return cell->simulated ? dit_cache_check_known(&cell->cache) : DIT_OK;
}

/* ---- its oracle -------------------------------------------------------------------------------------------------- */

/* Cells differ by threads, what they are held against does not: it uses the machine as well as one rank can, whatever
 * the cell was to measure. */
static void leave_alone(suite_cell *cell)
{
    enum { MOST_THREADS = 16 };
    cell->parallel = (dit_parallel){.rows_degree = 1};
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) cell->parallel.degree[axis] = 1;
    cell->world_size = 1;
    cell->threads_per_rank = cell->platform->devices < MOST_THREADS ? cell->platform->devices : MOST_THREADS;
    if (cell->platform->on_device) cell->threads_per_rank = 0;
    cell->no_graphs = false;
    cell->offload = (dit_offload){0};
    cell->attention = dit_parallel_attention(&cell->parallel);
    dit_parallel_label(&cell->parallel, cell->mesh);
}

static bool make_oracle(const suite_cell *cell, suite_cell *oracle)
{
    bool cached = cell->cache.policy != DIT_CACHE_NONE;
    bool stale = dit_parallel_stale_steps(&cell->parallel, &cell->facts) > 0;
    if (!cached && !stale && !cell->edit.dense_steps) return false;
    *oracle = *cell;
    oracle->emulates = true;
    if (stale) oracle->emulated = dit_parallel_emulated(&cell->parallel, &cell->facts);
    leave_alone(oracle);
    if (!stale) oracle->emulated = oracle->parallel;
    if (cached && !dit_cache_is_known(&cell->cache))
        oracle->emulated.degree[DIT_AXIS_DATA] = cell->parallel.degree[DIT_AXIS_DATA];
    snprintf(oracle->method, sizeof oracle->method, "oracle");
    return true;
}

/* K and V of every row and block, of this step and of the one before. */
static int64_t oracle_memory(const dit_facts *facts)
{
    int64_t rows = facts->num_images * facts->guidance_branches * (facts->image_tokens + dit_facts_text_rows(facts));
    int64_t element = facts->element_bytes ? facts->element_bytes : (int64_t)sizeof(float);
    return 2 * 2 * rows * facts->heads * facts->head_dim * facts->layers * element;
}

static void predict_memory(const suite_cell *cell, int64_t bytes[4])
{
    static const dit_cache none;
    bool cached = cell->cache.policy != DIT_CACHE_NONE, stale = dit_parallel_is_displaced(&cell->emulated);
    int64_t bands = dit_parallel_bands(&cell->emulated, &cell->facts), patches = cell->emulated.degree[DIT_AXIS_PATCH];
    dit_memory_predict_cached(&cell->parallel, &cell->facts, cell->emulates ? &none : &cell->cache, bytes);
    if (cell->edit.dense_steps) bytes[DIT_MEMORY_STATE] += dit_edit_plan_kept_bytes(&cell->facts);
    dit_memory_offload(&cell->parallel, &cell->facts, &cell->offload, bytes);
    dit_memory_shards(&cell->parallel, &cell->facts, bytes);
    if (!cell->emulates) return;
    if (stale) bytes[DIT_MEMORY_STATE] += oracle_memory(&cell->facts);
    if (cached)
        bytes[DIT_MEMORY_STATE] +=
            dit_memory_cache_oracle(&cell->facts, &cell->cache) * (bands > patches ? bands : patches);
}

/* The configuration that decides the numbers: the cell's own, or what its oracle emulates. */
static const dit_parallel *settings_of(const suite_cell *cell)
{
    return cell->emulates ? &cell->emulated : &cell->parallel;
}

/* ---- documents --------------------------------------------------------------------------------------------------- */

/* What guides the denoising. As in a pipeline, a low scale asks for no second branch of a model that computes two. A
 * scale that cannot be told is refused where the case is written (put_document). */
static const char *guidance_of(const suite_cell *cell)
{
    const char *family = dit_json_text_or(cell->model->config, "_class_name", "");
    const dit_architecture *architecture = dit_architecture_find(family);
    dit_facts facts = {.guidance_branches = 2, .guidance_offset = architecture ? architecture->guidance_offset : 0};
    double scale;
    if (strcmp(cell->model->guidance, "cfg") != 0) return cell->model->guidance;
    if (suite_cell_number(cell, SUITE_PARAMETER_GUIDANCE_SCALE, &scale) != DIT_OK ||
        dit_facts_guide(scale, 1, &facts) != DIT_OK)
        dit_error_clear();
    return facts.guidance_branches == 2 ? "cfg" : "none";
}

static void put_model(dit_json_writer *w, const suite_cell *cell, cJSON *document)
{
    cJSON *model = dit_json_put_object(w, document, "model");
    dit_json_put_string(w, model, "name", cell->model->name);
    dit_json_put_reference(w, model, "config", cell->model->config);
    cJSON *latent = dit_json_put_object(w, model, "latent");
    suite_member_shared(w, latent, cell->model->latent, "channels");
    suite_member_shared(w, latent, cell->model->latent, "vae_spatial");
    suite_member_shared(w, latent, cell->model->latent, "vae_temporal");
    suite_member_shared(w, latent, cell->model->latent, "patch");
    suite_member_shared(w, latent, cell->model->latent, "attention_per_frame");
    if (cell->model->parameters) dit_json_put_int(w, model, "parameters", cell->model->parameters);
    cJSON *text = dit_json_put_object(w, model, "text");
    dit_json_put_int(w, text, "tokens", cell->text_tokens);
    suite_member_shared(w, text, cell->model->text, "dim");
    suite_member_shared(w, text, cell->model->text, "pooled_dim");
    suite_member_shared(w, text, cell->model->text, "injection");
    dit_json_put_string(w, model, "guidance", guidance_of(cell));
    suite_cell_put_model_weights(w, cell, model);
    if (cell->model->boundary_ratio > 0) suite_cell_put_second(w, cell, model);
}

static void put_scheduler(dit_json_writer *w, const suite_workload *workload, const suite_cell *cell, cJSON *document)
{
    const cJSON *override = cell->values[SUITE_PARAMETER_SCHEDULER];
    cJSON *laid = NULL;
    if (!override) dit_json_put_reference(w, document, "scheduler", cell->model->scheduler);
    if (!override || w->status != DIT_OK) return;
    dit_json_put_status(w, suite_model_scheduler(cell->model, &workload->source, "", override, &laid));
    dit_json_put_item(w, document, "scheduler", laid);
}

/* ---- a request: what is around the denoising --------------------------------------------------------------------- */

static bool is_request(const suite_cell *cell)
{
    return strcmp(cell->scope, "denoise") != 0;
}

/* How ranks share the text encoders; NULL: the case has none. */
static const char *text_way(const suite_cell *cell)
{
    const cJSON *asked = cell->values[SUITE_PARAMETER_TEXT_PARALLEL];
    if (!is_request(cell)) return NULL;
    return asked ? asked->valuestring : dit_text_parallel_name(DIT_TEXT_REPLICATED);
}

static bool shares_texts(const suite_cell *cell)
{
    return is_request(cell) && strcmp(text_way(cell), dit_text_parallel_name(DIT_TEXT_REPLICATED)) != 0;
}

/* Whether the case begins with a prompt, which a simulation only charges for. */
static bool reads_prompts(const suite_cell *cell)
{
    return is_request(cell) && !cell->simulated;
}

/* The scale of guidance that a model of one branch gets from a second forward; 1: it gets none. */
static double true_cfg_scale(const suite_cell *cell)
{
    const cJSON *asked = cell->values[SUITE_PARAMETER_TRUE_CFG_SCALE];
    return asked ? asked->valuedouble : dit_json_number_or(cell->model->default_run, "true_cfg_scale", 1);
}

/* Texts of an image: with guidance the negative one, too. */
static double texts_of_image(const suite_cell *cell)
{
    return strcmp(guidance_of(cell), "cfg") == 0 || true_cfg_scale(cell) > 1 ? 2 : 1;
}

/* The encoder whose tokens follow the case's; the one with most. */
static cJSON *longest_encoder(cJSON *list)
{
    cJSON *entry, *longest = NULL;
    cJSON_ArrayForEach(entry, list) if (dit_json_int_or(entry, "tokens", 0) > dit_json_int_or(longest, "tokens", 0))
        longest = entry;
    return longest;
}

/* Tokens of that encoder in this case: more or fewer by as many as the case's text has. */
static int64_t longest_tokens(const suite_cell *cell)
{
    cJSON *longest = longest_encoder(cell->model->text_encoders);
    int64_t usual = dit_json_int_or(cell->model->text, "tokens", cell->text_tokens);
    return dit_json_int_or(longest, "tokens", 0) + cell->text_tokens - usual;
}

/* Without what counts only where ranks share the encoders, so that other cases keep their ids. A measured case says how
 * many tokens it has and how many texts an image: it is held against the folder. */
static void put_text_encoders(dit_json_writer *w, const suite_cell *cell, cJSON *document)
{
    const cJSON *own = cell->model->text_encoders;
    cJSON *list = own && !shares_texts(cell) ? suite_text_encoders_plain(own) : cJSON_Duplicate(own, true), *entry;
    if (!own) return;
    if (!list) dit_json_put_status(w, DIT_FAIL(DIT_ERR_MEMORY, "no memory for text encoders"));
    bool counted = reads_prompts(cell) || strcmp(guidance_of(cell), cell->model->guidance) != 0;
    cJSON_ArrayForEach(entry, list) if (counted)
        cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(entry, "runs"), texts_of_image(cell));
    cJSON *longest = reads_prompts(cell) ? longest_encoder(list) : NULL;
    if (longest)
        cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(longest, "tokens"), (double)longest_tokens(cell));
    dit_json_put_item(w, document, "text_encoders", list);
}

/* One prompt for all images, or one each. */
static void put_prompts(dit_json_writer *w, const suite_workload *workload, const suite_cell *cell, cJSON *conditions)
{
    const cJSON *asked = cell->values[SUITE_PARAMETER_PROMPT];
    const char *prompt = asked ? asked->valuestring : "a red fox on a quiet hill";
    cJSON *list = dit_json_put_array(w, conditions, "prompts");
    double images = 1;
    char numbered[512];
    if (workload->matrix->prompts_differ)
        dit_json_put_status(w, suite_cell_number(cell, SUITE_PARAMETER_NUM_IMAGES, &images));
    for (int i = 0; i < (int)images; i++) {
        snprintf(numbered, sizeof numbered, "%.480s, number %d", prompt, i + 1);
        dit_json_put_string(w, list, NULL, images > 1 ? numbered : prompt);
    }
}

/* The text of a request. Of a simulated one only how ranks share its encoders, where they do. */
static void put_texts(dit_json_writer *w, const suite_workload *workload, const suite_cell *cell, cJSON *document)
{
    bool reads = reads_prompts(cell);
    if (!reads && !shares_texts(cell)) return;
    cJSON *conditions = dit_json_put_object(w, document, "conditions");
    dit_json_put_string(w, conditions, "kind", reads ? "prompts" : "seeded");
    if (shares_texts(cell)) dit_json_put_string(w, conditions, "text_encoder_parallel", text_way(cell));
    if (!reads) return;
    int64_t crop = dit_json_int_or(longest_encoder(cell->model->text_encoders), "crop", 0);
    dit_json_put_string(w, conditions, "path", cell->model->folder);
    put_prompts(w, workload, cell, conditions);
    dit_json_put_int(w, conditions, "max_sequence_length", longest_tokens(cell) - crop);
    if (!suite_cell_is_trained(cell)) suite_cell_put_weights(w, cell, conditions);
}

/* What a pipeline does around its denoising, as far as the model's file names it. */
static void put_pipeline(dit_json_writer *w, const suite_workload *workload, const suite_cell *cell, cJSON *document)
{
    if (!is_request(cell)) return;
    put_text_encoders(w, cell, document);
    put_texts(w, workload, cell, document);
    if (!cell->vae || (!cell->simulated && strcmp(cell->scope, "pipeline") != 0)) return;
    if (!cell->simulated) {
        suite_cell_put_vae(w, cell, document);
        return;
    }
    bool decodes = false;
    dit_json_put_status(w, suite_profile_decodes(cell->software ? cell->profile : NULL, cell->vae, &decodes));
    if (decodes) suite_cell_put_vae(w, cell, document);
}

static void put_cache(dit_json_writer *w, const dit_cache *cache, cJSON *parent)
{
    cJSON *part = cache->policy != DIT_CACHE_NONE ? dit_json_put_object(w, parent, "cache") : NULL;
    if (part) dit_cache_to_json(w, cache, part);
}

/* An oracle emulates a mesh, or a cache, or one beside the other, or an edit. Data ranks decide for their own images. */
static void put_ranks(dit_json_writer *w, const suite_cell *cell, cJSON *document)
{
    bool of_cache = cell->emulates && cell->cache.policy != DIT_CACHE_NONE;
    bool of_both = of_cache && dit_parallel_is_displaced(&cell->emulated);
    bool of_edit = cell->emulates && cell->edit.dense_steps;
    suite_cell mesh = *cell;
    mesh.emulates = cell->emulates && !of_cache && !of_edit;
    suite_cell_put_mesh(w, &mesh, document);
    cJSON *parent = of_cache || of_edit ? dit_json_put_object(w, document, "emulates") : document;
    put_cache(w, &cell->cache, parent);
    dit_json_put_status(w, dit_offload_put(&cell->offload, document));
    if (cell->edit.dense_steps) dit_edit_plan_to_json(w, &cell->edit, dit_json_put_object(w, parent, "edit"));
    cJSON *emulated = of_both ? dit_json_put_object(w, parent, "mesh") : NULL;
    if (emulated) dit_json_put_status(w, dit_parallel_to_json(&cell->emulated, emulated));
    if (of_cache && cell->emulated.degree[DIT_AXIS_DATA] > 1)
        dit_json_put_int(w, parent, "data_degree", cell->emulated.degree[DIT_AXIS_DATA]);
}

/* Counted numbers are left unsaid, so that cases keep their ids. */
static void put_noise(dit_json_writer *w, const suite_cell *cell, cJSON *run)
{
    const cJSON *noise = cell->values[SUITE_PARAMETER_NOISE];
    if (noise && strcmp(noise->valuestring, "counter") != 0) dit_json_put_string(w, run, "noise", noise->valuestring);
}

/* Left unsaid where nothing is scaled or left out, so that cases keep their ids. */
static void put_guidance_norm(dit_json_writer *w, const suite_cell *cell, cJSON *run)
{
    const cJSON *norm = cell->values[SUITE_PARAMETER_CFG_NORMALIZATION];
    const cJSON *ratio = cell->values[SUITE_PARAMETER_CFG_TRUNC_RATIO];
    if (norm && norm->valuedouble > 0) dit_json_put_number(w, run, "cfg_normalization", norm->valuedouble);
    if (ratio && ratio->valuedouble < 1) dit_json_put_number(w, run, "cfg_trunc_ratio", ratio->valuedouble);
}

/* A picture behind the latent: of the size that is asked for, or of the run's where the model usually has one. */
static void put_reference(dit_json_writer *w, const suite_cell *cell, cJSON *run)
{
    const cJSON *asked = cell->values[SUITE_PARAMETER_REFERENCE];
    int64_t width = cell->width_px, height = cell->height_px;
    if (!asked && !cJSON_IsTrue(dit_json_member(cell->model->default_run, "reference"))) return;
    if (asked) suite_resolution_from_text(asked->valuestring, &width, &height);
    cJSON *reference = dit_json_put_object(w, run, "reference");
    dit_json_put_int(w, reference, "height_px", height);
    dit_json_put_int(w, reference, "width_px", width);
}

static void put_document(dit_json_writer *w, const suite_workload *workload, const suite_cell *cell, cJSON *document)
{
    put_model(w, cell, document);
    put_scheduler(w, workload, cell, document);
    put_pipeline(w, workload, cell, document);
    if (!reads_prompts(cell) && !shares_texts(cell)) suite_cell_put_conditions(w, cell, document);
    cJSON *run = suite_cell_put_run(w, cell, document);
    suite_member_number(w, run, cell, SUITE_PARAMETER_NUM_INFERENCE_STEPS);
    suite_member_number(w, run, cell, SUITE_PARAMETER_GUIDANCE_SCALE);
    if (true_cfg_scale(cell) > 1) dit_json_put_number(w, run, "true_cfg_scale", true_cfg_scale(cell));
    if (cell->model->boundary_ratio > 0)
        dit_json_put_copy(w, run, "guidance_scale_2", dit_json_member(cell->model->default_run, "guidance_scale_2"));
    put_guidance_norm(w, cell, run);
    put_reference(w, cell, run);
    dit_json_put_copy(w, run, "first_frame", dit_json_member(cell->model->default_run, "first_frame"));
    put_noise(w, cell, run);
}

static void put_identity(dit_json_writer *w, const suite_cell *cell, const cJSON *document, cJSON *out)
{
    (void)cell;
    suite_member_shared(w, out, document, "model");
    suite_member_shared(w, out, document, "scheduler");
    suite_member_shared(w, out, document, "run");
    cJSON *conditions = cJSON_Duplicate(dit_json_member(document, "conditions"), true);
    if (!conditions) return;
    cJSON_DeleteItemFromObjectCaseSensitive(conditions, "text_encoder_parallel"); /* every way gives one text */
    dit_json_put_item(w, out, "conditions", conditions);
}

/* ---- tags -------------------------------------------------------------------------------------------------------- */

static void put_model_tags(dit_json_writer *w, const suite_cell *cell, cJSON *tags)
{
    const cJSON *prompts = cell->values[SUITE_PARAMETER_PROMPTS];
    dit_json_put_string(w, tags, "model", cell->model->variant);
    dit_json_put_string(w, tags, "base_model", cell->model->name);
    dit_json_put_int(w, tags, "steps", cell->facts.steps);
    dit_json_put_int(w, tags, "num_layers", cell->facts.layers);
    dit_json_put_int(w, tags, "image_tokens", cell->facts.image_tokens);
    dit_json_put_int(w, tags, "text_tokens", cell->facts.text_tokens);
    suite_member_number(w, tags, cell, SUITE_PARAMETER_GUIDANCE_SCALE);
    dit_json_put_number(w, tags, "true_cfg_scale", true_cfg_scale(cell));
    dit_json_put_string(w, tags, "weights", suite_cell_is_trained(cell) ? "trained" : "seeded");
    dit_json_put_string(w, tags, "prompts", prompts ? prompts->valuestring : "none");
    dit_json_put_string(w, tags, "text_encoder_parallel", text_way(cell) ? text_way(cell) : "none");
}

/* Every case has them, so that any filter can name them: 0, 1, "even" and "none" where they mean nothing. */
static void put_displaced_tags(dit_json_writer *w, const suite_cell *cell, cJSON *tags)
{
    const dit_parallel *parallel = settings_of(cell);
    char stages[6 * DIT_MAX_STAGES];
    bool patches = parallel->degree[DIT_AXIS_PATCH] > 1;
    dit_stage_blocks_to_text(parallel, stages, sizeof stages);
    dit_json_put_int(w, tags, "warmup_steps", parallel->warmup_steps);
    dit_json_put_int(w, tags, "num_pipeline_patch", dit_parallel_bands(parallel, &cell->facts));
    dit_json_put_string(w, tags, "attn_layer_num_for_pp", *stages ? stages : "even");
    dit_json_put_string(w, tags, "patch_method", patches ? dit_patch_method_name(parallel->patch_method) : "none");
    dit_json_put_number(w, tags, "patch_fraction", parallel->patch_fraction);
    dit_json_put_int(w, tags, "halo_frames", parallel->halo_frames);
    dit_json_put_int(w, tags, "global_frames", parallel->global_frames);
    bool stages_are = parallel->degree[DIT_AXIS_PIPEFUSION] > 1;
    dit_json_put_string(w, tags, "stage_method", stages_are ? dit_stage_method_name(parallel->stage_method) : "none");
    dit_json_put_int(w, tags, "block_frames", parallel->block_frames);
    dit_json_put_int(w, tags, "context_frames", parallel->context_frames);
    dit_json_put_int(w, tags, "stale_steps", dit_parallel_stale_steps(parallel, &cell->facts));
}

/* Where the steps that a cache reuses come from. */
static const char *decisions_of(const dit_cache *cache)
{
    if (cache->policy == DIT_CACHE_NONE) return "none";
    if (cache->hits) return "published-count";
    if (cache->replay[0]) return "replay";
    return dit_cache_is_known(cache) ? "schedule" : "measured";
}

static void put_ring_tags(dit_json_writer *w, const suite_cell *cell, cJSON *tags)
{
    const dit_parallel *parallel = &cell->parallel;
    dit_json_put_int(w, tags, "inner_ring", parallel->inner_ring);
    dit_json_put_string(w, tags, "context_first", parallel->context_first ? "on" : "off");
}

static void put_cache_tags(dit_json_writer *w, const suite_cell *cell, cJSON *tags)
{
    bool cached = cell->cache.policy != DIT_CACHE_NONE, measured = !dit_cache_is_known(&cell->cache);
    char label[128];
    dit_cache_label(&cell->cache, label, sizeof label);
    dit_json_put_string(w, tags, "cache", label);
    dit_json_put_string(w, tags, "cache_policy", dit_cache_name(cell->cache.policy));
    dit_json_put_string(w, tags, "cache_kind", !cached ? "none" : measured ? "measured" : "schedule");
    dit_json_put_number(w, tags, "cache_threshold", cell->cache.threshold);
    dit_json_put_int(w, tags, "cache_warmup", cell->cache.warmup);
    dit_json_put_string(w, tags, "decisions", decisions_of(&cell->cache));
}

static void put_edit_tags(dit_json_writer *w, const suite_cell *cell, cJSON *tags)
{
    char label[64];
    dit_edit_plan_label(&cell->edit, label, sizeof label);
    dit_json_put_string(w, tags, "edit", label);
    dit_json_put_int(w, tags, "edit_dense_steps", cell->edit.dense_steps);
    dit_json_put_number(w, tags, "edit_threshold", cell->edit.threshold);
}

static void put_offload_tags(dit_json_writer *w, const dit_offload *offload, cJSON *tags)
{
    bool streams = offload->tier != DIT_OFFLOAD_NONE;
    dit_json_put_string(w, tags, "offload", dit_offload_tiers[offload->tier]);
    dit_json_put_string(w, tags, "offload_policy", streams ? dit_residency_policies[offload->policy] : "none");
    dit_json_put_int(w, tags, "offload_depth", offload->depth);
    dit_json_put_int(w, tags, "resident_weights", offload->resident_weights);
}

static void put_tags(dit_json_writer *w, const suite_cell *cell, cJSON *tags)
{
    put_model_tags(w, cell, tags);
    suite_cell_put_size_tags(w, cell, tags);
    suite_cell_put_mesh_tags(w, cell, tags);
    put_ring_tags(w, cell, tags);
    put_displaced_tags(w, cell, tags);
    put_cache_tags(w, cell, tags);
    put_edit_tags(w, cell, tags);
    put_offload_tags(w, &cell->offload, tags);
}

/* ---- label ------------------------------------------------------------------------------------------------------- */

/* " M4 W1", " 7,7,6 M4 W1" of a pipeline, " distrifusion W1" of patches; nothing of a mesh without either. */
static void write_displaced(const suite_cell *cell, char out[256])
{
    const dit_parallel *parallel = settings_of(cell);
    char stages[6 * DIT_MAX_STAGES], fraction[64] = "";
    out[0] = '\0';
    dit_stage_blocks_to_text(parallel, stages, sizeof stages);
    const char *warmup = dit_label_get(DIT_LABEL_WARMUP).prefix;
    if (parallel->patch_fraction > 0)
        snprintf(fraction, sizeof fraction, " %s%g", dit_label_get(DIT_LABEL_FRACTION).prefix,
                 parallel->patch_fraction);
    if (dit_parallel_cuts_frames(parallel))
        snprintf(fraction, sizeof fraction, " %s%d %s%d", dit_label_get(DIT_LABEL_HALO).prefix, parallel->halo_frames,
                 dit_label_get(DIT_LABEL_GLOBAL).prefix, parallel->global_frames);
    if (dit_parallel_streams(parallel))
        snprintf(out, 256, "%s%.150s %s %s%d %s%d", *stages ? " " : "", stages,
                 dit_stage_method_name(parallel->stage_method), dit_label_get(DIT_LABEL_BLOCK).prefix,
                 parallel->block_frames, dit_label_get(DIT_LABEL_CONTEXT).prefix, parallel->context_frames);
    else if (parallel->degree[DIT_AXIS_PIPEFUSION] > 1)
        snprintf(out, 256, "%s%.150s %s%lld %s%d", *stages ? " " : "", stages, dit_label_get(DIT_LABEL_BANDS).prefix,
                 (long long)dit_parallel_bands(parallel, &cell->facts), warmup, parallel->warmup_steps);
    else if (parallel->degree[DIT_AXIS_PATCH] > 1)
        snprintf(out, 256, " %s%s %s%d", dit_patch_method_name(parallel->patch_method), fraction, warmup,
                 parallel->warmup_steps);
}

/* " all-gather", " double-ring inner2 context-first"; then what is displaced. */
static void write_settings(const suite_cell *cell, char out[384])
{
    const dit_parallel *parallel = settings_of(cell);
    char ring[64], displaced[256];
    dit_parallel_label_ring(parallel, ring);
    write_displaced(cell, displaced);
    snprintf(out, 384, "%s%s%s%s", *ring ? " " : "", ring, parallel->context_first ? " context-first" : "", displaced);
}

/* Writes "u2"; of a pipeline's oracle "oracle pp M4 W1", "oracle pp r2 M4 W1", because the number of stages changes
 * nothing; "oracle patch4 distrifusion W1"; "oracle" of a cache alone, which has no mesh. */
static void write_mesh(const suite_cell *cell, char *out, size_t size)
{
    const int *degree = cell->emulated.degree;
    char settings[384], rows[32] = "";
    write_settings(cell, settings);
    if (degree[DIT_AXIS_RING] > 1) snprintf(rows, sizeof rows, " r%d", degree[DIT_AXIS_RING]);
    if (cell->converges)
        snprintf(out, size, "converged, %lld steps", (long long)cell->facts.steps);
    else if (!cell->emulates)
        snprintf(out, size, "%s%s", cell->mesh, settings);
    else if (degree[DIT_AXIS_PATCH] > 1)
        snprintf(out, size, "oracle patch%d%s", degree[DIT_AXIS_PATCH], settings);
    else
        snprintf(out, size, "oracle%s%s%s", degree[DIT_AXIS_PIPEFUSION] > 1 ? " pp" : "", rows, settings);
}

/* "pixart-alpha-xl-2{2-layers} 256x256 u2", of clips "latte-1 256x256 16f u2"; with a cache "... u2 fbcache(0.08)", with an
 * edit "... 1 edit(4 0.3)". */
static void write_label(const suite_cell *cell, char *out, size_t size)
{
    char subject[256], mesh[512], cache[128] = " ", edit[64] = " ";
    bool cached = cell->cache.policy != DIT_CACHE_NONE && !cell->converges;
    suite_cell_write_subject(cell, cell->model->variant, subject, sizeof subject);
    write_mesh(cell, mesh, sizeof mesh);
    dit_cache_label(&cell->cache, cache + 1, sizeof cache - 1);
    dit_edit_plan_label(&cell->edit, edit + 1, sizeof edit - 1);
    snprintf(out, size, "%s %s%s%s", subject, mesh, cached ? cache : "", cell->edit.dense_steps ? edit : "");
}

/* ---- the closed form --------------------------------------------------------------------------------------------- */

/* What a device's ranks send and keep, as the engine reads it of a case; 0, which is fp32, elsewhere. */
static int64_t element_bytes(const dit_json *document)
{
    const char *element = suite_case_platform(document->root, "element");
    if (!suite_backend_is_device(suite_case_platform(document->root, "backend"))) return 0;
    if (!element[0]) return strcmp(suite_case_platform(document->root, "backend"), "cuda") == 0 ? 2 : 4;
    return strcmp(element, "fp32") == 0 ? 4 : 2;
}

static dit_status read_cache(const dit_json *document, suite_prediction *out)
{
    const cJSON *object = dit_json_member(document->root, "cache");
    if (!object) return DIT_OK;
    DIT_TRY(dit_cache_read(document, object, "/cache", (int)out->facts.steps, &out->cache));
    DIT_TRY(dit_cache_check(&out->cache, &out->parallel, &out->facts));
    out->use = dit_cache_planned_use(&out->cache, (int)out->facts.steps);
    return DIT_OK;
}

static dit_status read_case(const dit_json *document, suite_prediction *out)
{
    DIT_TRY(dit_facts_from_case(document, document->root, "", &out->facts));
    out->facts.element_bytes = element_bytes(document);
    DIT_TRY(read_cache(document, out));
    DIT_TRY(dit_request_read(document, &out->request));
    DIT_TRY(dit_parallel_check(&out->parallel, &out->facts));
    return dit_request_check(&out->request, dit_parallel_world_size(&out->parallel));
}

static void predict_volume(const suite_prediction *prediction, int rank, dit_volume_table *out)
{
    int64_t element = prediction->facts.element_bytes;
    dit_volume_predict_cached(&prediction->parallel, &prediction->facts, &prediction->use, rank, out);
    dit_volume_predict_shards(&prediction->parallel, &prediction->facts, rank, NULL, 0, out);
    dit_request_predict(&prediction->request, dit_parallel_world_size(&prediction->parallel), rank,
                        element ? element : (int64_t)sizeof(float), out);
}

/* One rank of each stage and patch; every rank where one sends its embeddings to all, or bands of a picture to neighbours. */
static int rank_of_kind(const suite_prediction *prediction, int kind)
{
    const dit_parallel *parallel = &prediction->parallel;
    const dit_request *request = &prediction->request;
    bool sends = request->scope != DIT_SCOPE_DENOISE && request->way == DIT_TEXT_BROADCAST;
    if (sends || request->decode_ranks > 1) return kind < dit_parallel_world_size(parallel) ? kind : -1;
    int stages = dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION), coordinates[DIT_AXIS_COUNT] = {0};
    int patches = dit_parallel_degree(parallel, DIT_AXIS_PATCH);
    if (kind >= stages * patches) return -1;
    coordinates[DIT_AXIS_PATCH] = kind % patches;
    coordinates[DIT_AXIS_PIPEFUSION] = kind / patches;
    return dit_mesh_rank(parallel, coordinates);
}

const suite_program suite_program_denoise = {
    .name = "denoise",
    .meaning = "all denoising steps of a model, from noise to latents",
    .reads = SUITE_READS_DENOISE,
    .result = "latents",
    .has_half_devices = true,
    .resolve = resolve,
    .document = put_document,
    .settle = settle,
    .ranks = put_ranks,
    .tags = put_tags,
    .judge = judge,
    .memory = predict_memory,
    .oracle = make_oracle,
    .alone = leave_alone,
    .label = write_label,
    .identity = put_identity,
    .read = read_case,
    .volume = predict_volume,
    .rank_of_kind = rank_of_kind,
};
