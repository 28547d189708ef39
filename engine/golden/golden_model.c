/* Transformer folders.
 *
 * A model folder has config.json, weights, inputs.safetensors, output.safetensors: one forward, with every intermediate
 * that exists on both sides. An e2e folder has e2e.json, which names the model folder beside it and the scheduler: the
 * whole sampling loop. In parallel the shards are collected and compared as a whole.
 */
#include "engine/config.h"
#include "engine/golden/golden.h"
#include "engine/sampler.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Relative L2 that a correct fp32 engine must reach (golden/README.md, "Expected agreement"). The embedding of a
 * guidance value of several thousand is sensitive to single ulps of exp(), hence the wider bound there. */
static const double TOLERANCE_FORWARD = 1e-5, TOLERANCE_GUIDANCE = 5e-5, TOLERANCE_E2E = 3e-5, TOLERANCE_SIGMAS = 2e-6;

typedef struct {
    dit_tap tap; /* first member: taps are cast back */
    dit_runtime rt;
    dit_partition partition;
    dit_model *model;
    dit_json config, e2e;
    dit_safetensors *weights_file, *inputs, *output;
    dit_weights weights;
    double tolerance;
    /* latent geometry: channels planes cut in patch x patch tokens, or already tokens (packed) */
    bool packed;
    int64_t patch, planes, height, width; /* height, width of a plane */
    int64_t batch;                        /* rows of the whole guidance batch */
    float *condition[8];
    dit_condition conditions;
    golden_report *report;
} golden;

static dit_status compare_output(golden *g, const char *name, const float *x, int64_t elements, double tolerance)
{
    return golden_compare(g->report, g->output, name, NULL, x, elements, tolerance);
}

/* Tokens [rows, S, (c, dy, dx)] to planes [rows, c, height, width]. */
static float *unpack(const golden *g, const float *tokens, int64_t rows, int64_t planes)
{
    int64_t p = g->patch, grid_w = g->width / p, grid_h = g->height / p;
    float *out = malloc((size_t)(rows * planes * g->height * g->width + 1) * sizeof *out);
    if (!out) return NULL;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t c = 0; c < planes; c++)
            for (int64_t y = 0; y < g->height; y++)
                for (int64_t x = 0; x < g->width; x++) {
                    int64_t token = (y / p) * grid_w + x / p;
                    out[((row * planes + c) * g->height + y) * g->width + x] =
                        tokens[((row * grid_h * grid_w + token) * planes + c) * p * p + (y % p) * p + x % p];
                }
    return out;
}

static void pack(const golden *g, const float *planes, int64_t rows, float *tokens)
{
    int64_t p = g->patch, grid_w = g->width / p, grid_h = g->height / p;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t c = 0; c < g->planes; c++)
            for (int64_t y = 0; y < g->height; y++)
                for (int64_t x = 0; x < g->width; x++) {
                    int64_t token = (y / p) * grid_w + x / p;
                    tokens[((row * grid_h * grid_w + token) * g->planes + c) * p * p + (y % p) * p + x % p] =
                        planes[((row * g->planes + c) * g->height + y) * g->width + x];
                }
}

/* Compares latents or predictions given as tokens with a file tensor in the file's own layout. */
static dit_status compare_tokens(golden *g, const char *name, const float *tokens, int64_t rows, int64_t channels,
                                 double tolerance)
{
    int64_t elements = rows * g->rt.facts.image_tokens * channels;
    if (g->packed) return compare_output(g, name, tokens, elements, tolerance);
    float *planes = unpack(g, tokens, rows, channels / (g->patch * g->patch));
    if (!planes) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to unpack %s", name);
    dit_status st = compare_output(g, name, planes, elements, tolerance);
    free(planes);
    return st;
}

static dit_status golden_take(dit_tap *tap, const char *name, const dit_shards *shards)
{
    golden *g = (golden *)tap;
    dit_tensor_view view;
    float *whole = NULL;
    int64_t elements;
    if (!dit_safetensors_find(g->output, name, &view)) return DIT_OK; /* the same on every rank: one file */
    DIT_TRY(dit_partition_collect(&g->rt, &g->partition, shards, &whole, &elements));
    dit_status st = compare_output(g, name, whole, elements, g->tolerance);
    free(whole);
    return st;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

/* The row of the whole guidance batch that a local row is. */
static int64_t global_row(const golden *g, int64_t local)
{
    const dit_partition *part = &g->partition;
    int64_t branch = part->branch_first + local / part->images, image = part->image_first + local % part->images;
    return branch * g->rt.facts.num_images + image;
}

/* This rank's rows of an input, or NULL in *out when the file has none of that name. negative: the tensor for the first
 * guidance branch when the branches are stored apart (e2e folders). */
static dit_status read_rows(golden *g, int slot, const char *name, const char *negative, const float **out)
{
    dit_tensor_view view, negative_view;
    const dit_partition *part = &g->partition;
    bool apart = negative && g->rt.facts.guidance_branches == 2;
    int64_t stored = apart ? g->rt.facts.num_images : g->batch;
    *out = NULL;
    if (!dit_safetensors_find(g->inputs, name, &view)) return DIT_OK;
    if (apart && !dit_safetensors_find(g->inputs, negative, &negative_view))
        return DIT_FAIL(DIT_ERR_TENSOR_MISSING, "inputs.safetensors has %s but not %s", name, negative);
    if (view.rank < 1 || view.shape[0] != stored || view.elements < 1 ||
        (apart && negative_view.elements != view.elements))
        return DIT_FAIL(DIT_ERR_SHAPE, "input %s has %lld rows, the batch %lld", name,
                        view.rank ? (long long)view.shape[0] : 0LL, (long long)stored);
    int64_t row_elements = view.elements / stored;
    float *rows = g->condition[slot] = malloc((size_t)(part->batch * row_elements) * sizeof *rows);
    if (!rows) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for input %s", name);
    for (int64_t b = 0; b < part->batch; b++) {
        int64_t row = global_row(g, b);
        const dit_tensor_view *source = apart && row < g->rt.facts.num_images ? &negative_view : &view;
        DIT_TRY(dit_tensor_read(source, row % stored * row_elements, row_elements, rows + b * row_elements));
    }
    *out = rows;
    return DIT_OK;
}

static dit_status expect_elements(const char *what, const dit_safetensors *file, const char *name, int64_t per_row,
                                  int64_t rows)
{
    dit_tensor_view view;
    if (!dit_safetensors_find(file, name, &view) || view.elements == per_row * rows) return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "%s: %s has %lld elements, the model takes %lld x %lld", what, name,
                    (long long)view.elements, (long long)rows, (long long)per_row);
}

/* Latents of rank 4 are planes [B, C, H, W]; of rank 3 packed tokens [B, S, C]. */
static dit_status read_geometry(golden *g, const char *name, int64_t patch, dit_facts *facts, int64_t *rows)
{
    dit_tensor_view view;
    if (!dit_safetensors_find(g->inputs, name, &view))
        return DIT_FAIL(DIT_ERR_TENSOR_MISSING, "inputs.safetensors has no %s", name);
    g->packed = view.rank == 3;
    g->patch = patch;
    *rows = view.shape[0];
    if (view.elements < 1) return DIT_FAIL(DIT_ERR_SHAPE, "%s is empty", name);
    if (g->packed) {
        facts->image_tokens = view.shape[1];
        facts->token_channels = view.shape[2];
        return DIT_OK;
    }
    if (view.rank != 4 || view.shape[2] % patch || view.shape[3] % patch)
        return DIT_FAIL(DIT_ERR_SHAPE, "%s is neither [B, S, C] nor [B, C, H, W] in whole patches of %lld", name,
                        (long long)patch);
    g->planes = view.shape[1], g->height = view.shape[2], g->width = view.shape[3];
    facts->image_tokens = (g->height / patch) * (g->width / patch);
    facts->token_channels = g->planes * patch * patch;
    return DIT_OK;
}

static dit_status read_text_facts(const golden *g, const char *name, dit_facts *facts)
{
    dit_tensor_view view;
    if (!dit_safetensors_find(g->inputs, name, &view) || view.rank != 3 || view.elements < 1)
        return DIT_FAIL(DIT_ERR_TENSOR_MISSING, "inputs.safetensors has no %s [B, St, dim]", name);
    facts->text_tokens = view.shape[1];
    return DIT_OK;
}

/* Latents of all images of this data rank's share, as tokens of this sequence rank; `rows` rows of the file. */
static dit_status read_latents(golden *g, const char *name, int64_t rows, bool guidance_batch, float *local)
{
    const dit_partition *part = &g->partition;
    int64_t channels = g->rt.facts.token_channels, S = g->rt.facts.image_tokens, all = rows * S * channels;
    dit_tensor_view view;
    if (!dit_safetensors_find(g->inputs, name, &view) || view.elements != all)
        return DIT_FAIL(DIT_ERR_SHAPE, "%s does not have %lld elements", name, (long long)all);
    float *stored = malloc((size_t)all * sizeof *stored), *tokens = malloc((size_t)all * sizeof *tokens);
    dit_status st =
        stored && tokens ? dit_tensor_read(&view, 0, all, stored) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %s", name);
    if (st == DIT_OK) {
        if (g->packed)
            memcpy(tokens, stored, (size_t)all * sizeof *tokens);
        else
            pack(g, stored, rows, tokens);
        int64_t local_rows = guidance_batch ? part->batch : part->images;
        for (int64_t b = 0; b < local_rows; b++) {
            int64_t row = guidance_batch ? global_row(g, b) : part->image_first + b;
            memcpy(local + b * part->image_count * channels, tokens + (row * S + part->image_begin) * channels,
                   (size_t)(part->image_count * channels) * sizeof *local);
        }
    }
    free(stored);
    free(tokens);
    return st;
}

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

static dit_status open_model(golden *g, const char *folder, const dit_model_ops **ops, dit_facts *facts, int64_t *patch)
{
    char path[GOLDEN_PATH];
    const char *class_name;
    snprintf(path, sizeof path, "%s/config.json", folder);
    DIT_TRY(dit_config_read_file(path, &g->config));
    DIT_TRY(dit_json_require_string(&g->config, g->config.root, "", "_class_name", &class_name));
    DIT_TRY(dit_model_find(class_name, ops));
    snprintf(facts->family, sizeof facts->family, "%s", class_name);
    DIT_TRY((*ops)->read_facts(&g->config, g->config.root, "", facts));
    *patch = 2;
    DIT_TRY(dit_json_optional_int(&g->config, g->config.root, "", "patch_size", 1, 16, patch));
    DIT_TRY(dit_safetensors_open(folder, &g->weights_file));
    g->weights = (dit_weights){.file = g->weights_file};
    return DIT_OK;
}

static dit_status start_runtime(golden *g, const dit_facts *facts, const dit_program_platform *platform)
{
    dit_runtime_params params = {.backend = platform->backend, .threads = platform->threads, .facts = *facts};
    params.parallel = *platform->parallel;
    if (params.parallel.degree[DIT_AXIS_DATA] > 1)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD,
                        "data_degree %d: a golden folder is one batch, there is nothing to divide",
                        params.parallel.degree[DIT_AXIS_DATA]);
    DIT_TRY(dit_runtime_init(&params, &g->rt));
    g->partition = dit_partition_of(&g->rt);
    g->batch = facts->num_images * facts->guidance_branches;
    return DIT_OK;
}

static dit_status create_model(golden *g, const char *attention, int64_t grid_width, dit_tap *tap)
{
    dit_model_params params = {.rt = &g->rt,
                               .doc = &g->config,
                               .config = g->config.root,
                               .pointer = "",
                               .weights = &g->weights,
                               .partition = g->partition,
                               .attention = attention,
                               .tap = tap};
    params.grid_width = g->packed ? grid_width : g->width / g->patch;
    params.grid_height = g->rt.facts.image_tokens / (params.grid_width ? params.grid_width : 1);
    DIT_TRY(dit_model_create(&params, &g->model));
    if (g->model->input_channels != g->rt.facts.token_channels)
        return DIT_FAIL(DIT_ERR_SHAPE, "latent tokens have %lld channels, the model takes %lld",
                        (long long)g->rt.facts.token_channels, (long long)g->model->input_channels);
    return DIT_OK;
}

static dit_status check_condition(golden *g, const char *text, const char *mask, const char *pooled, int64_t rows)
{
    int64_t St = g->rt.facts.text_tokens;
    DIT_TRY(expect_elements("text", g->inputs, text, St * g->model->text_dim, rows));
    DIT_TRY(expect_elements("mask", g->inputs, mask, St, rows));
    if (g->model->pooled_dim) DIT_TRY(expect_elements("pooled", g->inputs, pooled, g->model->pooled_dim, rows));
    if (!g->conditions.text) return DIT_FAIL(DIT_ERR_TENSOR_MISSING, "inputs.safetensors has no %s", text);
    return DIT_OK;
}

/* Position ids are shared by the batch: [tokens, 3]. */
static dit_status read_ids(golden *g, int slot, const char *name, int64_t tokens, const float **out)
{
    dit_tensor_view view;
    *out = NULL;
    if (!dit_safetensors_find(g->inputs, name, &view)) return DIT_OK;
    if (view.elements != tokens * 3)
        return DIT_FAIL(DIT_ERR_SHAPE, "%s has %lld elements, expected [%lld, 3]", name, (long long)view.elements,
                        (long long)tokens);
    g->condition[slot] = malloc((size_t)(tokens * 3) * sizeof(float));
    if (!g->condition[slot]) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %s", name);
    *out = g->condition[slot];
    return dit_tensor_read(&view, 0, tokens * 3, g->condition[slot]);
}

/* ---- one forward ------------------------------------------------------------------------------------------------- */

static dit_status read_forward_conditions(golden *g)
{
    dit_condition *c = &g->conditions;
    DIT_TRY(read_rows(g, 0, "encoder_hidden_states", NULL, &c->text));
    DIT_TRY(read_rows(g, 1, "encoder_attention_mask", NULL, &c->text_mask));
    DIT_TRY(read_rows(g, 2, "pooled_projections", NULL, &c->pooled));
    DIT_TRY(read_rows(g, 3, "guidance", NULL, &c->guidance));
    DIT_TRY(read_rows(g, 4, "resolution", NULL, &c->resolution));
    DIT_TRY(read_rows(g, 5, "aspect_ratio", NULL, &c->aspect_ratio));
    DIT_TRY(read_ids(g, 6, "img_ids", g->rt.facts.image_tokens, &c->image_ids));
    DIT_TRY(read_ids(g, 7, "txt_ids", g->rt.facts.text_tokens, &c->text_ids));
    DIT_TRY(check_condition(g, "encoder_hidden_states", "encoder_attention_mask", "pooled_projections", g->batch));
    DIT_TRY(expect_elements("resolution", g->inputs, "resolution", 2, g->batch));
    return expect_elements("aspect ratio", g->inputs, "aspect_ratio", 1, g->batch);
}

static dit_status run_forward(golden *g)
{
    dit_partition *part = &g->partition;
    float *latents, *timestep, *output;
    float *whole = NULL;
    int64_t elements, rows = part->batch * part->image_count, channels = g->model->output_channels;
    dit_tensor_view view;
    DIT_TRY(dit_arena_floats(&g->rt.image, rows * g->model->input_channels, &latents));
    DIT_TRY(dit_arena_floats(&g->rt.image, part->batch, &timestep));
    DIT_TRY(dit_arena_floats(&g->rt.image, rows * channels, &output));
    DIT_TRY(read_latents(g, "hidden_states", g->batch, true, latents));
    if (!dit_safetensors_find(g->inputs, "timestep", &view) || (view.elements != g->batch && view.elements != 1))
        return DIT_FAIL(DIT_ERR_TENSOR_MISSING, "inputs.safetensors has no timestep [%lld]", (long long)g->batch);
    for (int64_t b = 0; b < part->batch; b++)
        DIT_TRY(dit_tensor_read(&view, view.elements == 1 ? 0 : global_row(g, b), 1, &timestep[b]));
    DIT_TRY(dit_model_prepare(g->model, &g->conditions));
    DIT_TRY(
        dit_model_forward(g->model, &(dit_forward_args){.latents = latents, .timestep = timestep, .output = output}));
    DIT_TRY(dit_partition_collect(&g->rt, part,
                                  &(dit_shards){.layout = DIT_LAYOUT_IMAGE,
                                                .data = output,
                                                .cols = channels,
                                                .ld = channels,
                                                .batch_stride = part->image_count * channels,
                                                .batched = true},
                                  &whole, &elements));
    dit_status st = compare_tokens(g, "output", whole, g->batch, channels, g->tolerance);
    free(whole);
    return st;
}

static dit_status golden_forward(golden *g, const char *folder, const dit_program_platform *platform)
{
    const dit_model_ops *ops;
    dit_facts facts = {.steps = 1};
    int64_t patch, rows;
    DIT_TRY(open_model(g, folder, &ops, &facts, &patch));
    DIT_TRY(golden_open(folder, "inputs.safetensors", &g->inputs));
    DIT_TRY(golden_open(folder, "output.safetensors", &g->output));
    DIT_TRY(read_geometry(g, "hidden_states", patch, &facts, &rows));
    DIT_TRY(read_text_facts(g, "encoder_hidden_states", &facts));
    /* An even batch is a guidance batch, [negative, positive], whatever the family: it may be split over cfg ranks. */
    facts.guidance_branches = rows % 2 ? 1 : 2;
    facts.num_images = rows / facts.guidance_branches;
    DIT_TRY(start_runtime(g, &facts, platform));
    DIT_TRY(create_model(g, platform->attention, facts.image_tokens, &g->tap));
    g->tolerance = g->model->wants_guidance ? TOLERANCE_GUIDANCE : TOLERANCE_FORWARD;
    DIT_TRY(read_forward_conditions(g));
    return run_forward(g);
}

/* ---- end to end -------------------------------------------------------------------------------------------------- */

static dit_status compare_step(dit_sampler *sampler, int step, void *context)
{
    golden *g = context;
    char name[64];
    int64_t images = g->rt.facts.num_images;
    DIT_TRY(dit_partition_gather_latents(&g->rt, &g->partition, sampler->noise_pred, sampler->channels,
                                         sampler->scratch, sampler->full));
    snprintf(name, sizeof name, "noise_pred_%d", step);
    DIT_TRY(compare_tokens(g, name, sampler->full, images, sampler->channels, TOLERANCE_E2E));
    DIT_TRY(dit_partition_gather_latents(&g->rt, &g->partition, sampler->latents, sampler->channels, sampler->scratch,
                                         sampler->full));
    if (step + 1 < sampler->scheduler->steps)
        snprintf(name, sizeof name, "latents_%d", step + 1);
    else
        snprintf(name, sizeof name, "latents_final");
    return compare_tokens(g, name, sampler->full, images, sampler->channels, TOLERANCE_E2E);
}

typedef struct {
    const char *transformer;
    const cJSON *scheduler;
    int64_t steps, height, width;
    double guidance_scale;
} e2e_params;

static dit_status read_e2e(golden *g, const char *folder, e2e_params *p)
{
    char path[GOLDEN_PATH];
    const cJSON *root;
    snprintf(path, sizeof path, "%s/e2e.json", folder);
    DIT_TRY(dit_config_read_file(path, &g->e2e));
    root = g->e2e.root;
    DIT_TRY(dit_json_require_string(&g->e2e, root, "", "transformer", &p->transformer));
    DIT_TRY(dit_json_require_object(&g->e2e, root, "", "scheduler", &p->scheduler));
    DIT_TRY(dit_json_require_int(&g->e2e, root, "", "num_inference_steps", 1, 10000, &p->steps));
    DIT_TRY(dit_json_require_int(&g->e2e, root, "", "height", 1, 1 << 20, &p->height));
    DIT_TRY(dit_json_require_int(&g->e2e, root, "", "width", 1, 1 << 20, &p->width));
    p->guidance_scale = 1.0;
    DIT_TRY(dit_json_optional_number(&g->e2e, root, "", "guidance_scale", -1000, 1000, &p->guidance_scale));
    if (strchr(p->transformer, '/') || p->transformer[0] == '.')
        return dit_json_fail(&g->e2e, "/transformer", DIT_ERR_JSON_VALUE,
                             "\"%s\" is not the name of a folder beside this one", p->transformer);
    return DIT_OK;
}

/* What the pipelines derive from their call: micro-conditions in pixels, the distilled guidance scale. */
static dit_status derive_conditions(golden *g, const e2e_params *p)
{
    dit_condition *c = &g->conditions;
    int64_t batch = g->partition.batch;
    float *values;
    DIT_TRY(dit_arena_floats(&g->rt.image, 4 * batch, &values));
    for (int64_t b = 0; b < batch; b++) {
        values[2 * b] = (float)p->height;
        values[2 * b + 1] = (float)p->width;
        values[2 * batch + b] = (float)((double)p->height / (double)p->width);
        values[3 * batch + b] = (float)p->guidance_scale;
    }
    if (g->model->wants_resolution) c->resolution = values, c->aspect_ratio = values + 2 * batch;
    if (g->model->wants_guidance) c->guidance = values + 3 * batch;
    return DIT_OK;
}

static dit_status read_e2e_conditions(golden *g, const e2e_params *p)
{
    dit_condition *c = &g->conditions;
    int64_t rows = g->rt.facts.num_images;
    DIT_TRY(read_rows(g, 0, "prompt_embeds", "negative_prompt_embeds", &c->text));
    DIT_TRY(read_rows(g, 1, "prompt_attention_mask", "negative_prompt_attention_mask", &c->text_mask));
    DIT_TRY(read_rows(g, 2, "pooled_prompt_embeds", "negative_pooled_prompt_embeds", &c->pooled));
    DIT_TRY(check_condition(g, "prompt_embeds", "prompt_attention_mask", "pooled_prompt_embeds", rows));
    return derive_conditions(g, p);
}

static dit_status run_e2e(golden *g, const e2e_params *p)
{
    dit_sampler sampler = {.rt = &g->rt,
                           .model = g->model,
                           .partition = g->partition,
                           .guidance_scale = (float)p->guidance_scale,
                           .on_step = compare_step,
                           .context = g};
    dit_scheduler_params scheduler = {
        .doc = &g->e2e, .config = p->scheduler, .pointer = "/scheduler", .steps = (int)p->steps};
    DIT_TRY(dit_sampler_init(&sampler, &scheduler));
    DIT_TRY(read_latents(g, "latents", g->rt.facts.num_images, false, sampler.latents));
    DIT_TRY(compare_output(g, "timesteps", sampler.scheduler->timesteps, p->steps, 0.0));
    DIT_TRY(compare_output(g, "sigmas", sampler.scheduler->sigmas, p->steps + 1, TOLERANCE_SIGMAS));
    return dit_sampler_run(&sampler, &g->conditions);
}

static dit_status golden_e2e(golden *g, const char *folder, const dit_program_platform *platform)
{
    const dit_model_ops *ops;
    dit_facts facts = {0};
    e2e_params p;
    char model_folder[GOLDEN_PATH];
    int64_t patch;
    DIT_TRY(read_e2e(g, folder, &p));
    snprintf(model_folder, sizeof model_folder, "%s/../%s", folder, p.transformer);
    DIT_TRY(open_model(g, model_folder, &ops, &facts, &patch));
    DIT_TRY(golden_open(folder, "inputs.safetensors", &g->inputs));
    DIT_TRY(golden_open(folder, "output.safetensors", &g->output));
    DIT_TRY(read_geometry(g, "latents", patch, &facts, &facts.num_images));
    DIT_TRY(read_text_facts(g, "prompt_embeds", &facts));
    facts.steps = p.steps;
    if (p.guidance_scale <= 1.0) facts.guidance_branches = 1; /* the pipelines skip guidance then */
    DIT_TRY(start_runtime(g, &facts, platform));
    /* FLUX pipelines pack 2x2 patches of a VAE latent of 1/8 size */
    DIT_TRY(create_model(g, platform->attention, p.width / 16, NULL));
    DIT_TRY(read_e2e_conditions(g, &p));
    return run_e2e(g, &p);
}

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

static void golden_release(golden *g)
{
    dit_model_free(g->model);
    dit_runtime_release(&g->rt);
    dit_safetensors_close(g->weights_file);
    dit_safetensors_close(g->inputs);
    dit_safetensors_close(g->output);
    dit_json_release(&g->config);
    dit_json_release(&g->e2e);
    for (size_t i = 0; i < sizeof g->condition / sizeof *g->condition; i++) free(g->condition[i]);
}

static bool is_e2e(const char *folder)
{
    return golden_has_file(folder, "e2e.json");
}

static bool is_model(const char *folder)
{
    return golden_has_file(folder, "config.json");
}

static dit_status run_e2e_folder(golden_report *report, const char *folder, const dit_program_platform *platform)
{
    golden g = {.tap = {golden_take}, .report = report};
    dit_status st = golden_e2e(&g, folder, platform);
    golden_release(&g);
    return st;
}

static dit_status run_model_folder(golden_report *report, const char *folder, const dit_program_platform *platform)
{
    golden g = {.tap = {golden_take}, .report = report};
    dit_status st = golden_forward(&g, folder, platform);
    golden_release(&g);
    return st;
}

const golden_kind golden_kind_e2e = {"e2e", is_e2e, run_e2e_folder};
const golden_kind golden_kind_model = {"model", is_model, run_model_folder};
