#include "engine/golden/transformer.h"

#include "engine/files/config.h"

#include <stdlib.h>
#include <string.h>

static dit_status take(dit_tap *tap, const char *name, const dit_shards *shards)
{
    golden_transformer *g = (golden_transformer *)tap;
    dit_tensor_view view;
    float *whole = NULL;
    int64_t elements;
    if (!dit_safetensors_find(g->output, name, &view)) return DIT_OK; /* all ranks skip it: they read one file */
    DIT_TRY(dit_partition_collect(&g->rt, &g->partition, shards, &whole, &elements));
    dit_status st = golden_compare(g->report, g->output, name, NULL, whole, elements, g->tolerance);
    free(whole);
    return st;
}

dit_status golden_transformer_open(golden_transformer *g, const char *model_folder, const char *folder)
{
    char path[GOLDEN_PATH];
    DIT_TRY(golden_path(model_folder, "config.json", path));
    DIT_TRY(dit_config_read_file(path, &g->config));
    DIT_TRY(dit_model_read_facts(&(dit_config){&g->config, g->config.root, ""}, &g->ops, &g->facts));
    DIT_TRY(dit_safetensors_open(model_folder, &g->weights_file));
    g->weights = (dit_weights){.file = g->weights_file};
    DIT_TRY(golden_open(folder, "inputs.safetensors", &g->inputs));
    return golden_open(folder, "output.safetensors", &g->output);
}

/* Packed latents do not tell their frames, rows and columns. The forwards of Qwen-Image and LTX-Video are told them:
 * img_shapes [.., 3] has those of the first image or clip, in patches. Errors: DIT_ERR_SHAPE when they are not those of the
 * latents. */
static dit_status take_shape(golden_transformer *g)
{
    dit_latent *latent = &g->facts.latent;
    dit_tensor_view view;
    float shape[3];
    if (g->ops->layout != DIT_LATENT_PACKED || !dit_safetensors_find(g->inputs, "img_shapes", &view)) return DIT_OK;
    if (view.elements < 3) return DIT_FAIL(DIT_ERR_SHAPE, "img_shapes has %lld values", (long long)view.elements);
    DIT_TRY(dit_tensor_read(&view, 0, 3, shape));
    int64_t frames = (int64_t)shape[0] * latent->patch_t;
    int64_t height = (int64_t)shape[1] * latent->patch, width = (int64_t)shape[2] * latent->patch;
    bool still = latent->vae_temporal == 1; /* an image has one frame */
    if ((still && shape[0] != 1) || shape[0] < 1 || shape[1] < 1 || shape[2] < 1 ||
        frames * height * width != dit_latent_cells(latent))
        return DIT_FAIL(DIT_ERR_SHAPE, "img_shapes says %g x %g x %g patches, the latents have %lld", (double)shape[0],
                        (double)shape[1], (double)shape[2], (long long)dit_latent_tokens(latent));
    latent->frames = frames, latent->height = height, latent->width = width;
    return DIT_OK;
}

dit_status golden_transformer_size(golden_transformer *g, const char *latents, const char *text, int64_t *rows,
                                   int64_t *channels)
{
    dit_tensor_view view;
    if (!dit_safetensors_find(g->inputs, latents, &view))
        return DIT_FAIL(DIT_ERR_TENSOR_MISSING, "inputs.safetensors has no %s", latents);
    DIT_TRY(dit_latent_from_shape(&g->facts.latent, g->ops->layout, view.rank, view.shape, rows, channels));
    DIT_TRY(take_shape(g));
    if (!dit_safetensors_find(g->inputs, text, &view) || view.rank != 3 || view.elements < 1)
        return DIT_FAIL(DIT_ERR_TENSOR_MISSING, "inputs.safetensors has no %s [B, St, dim]", text);
    if (g->facts.text_tokens == 0) g->facts.text_tokens = view.shape[1]; /* else the config gives it */
    return DIT_OK;
}

/* Makes the mesh exact: diffusers has no stale steps, so pipelines and patches run synchronously, in one band. */
static void make_exact(dit_parallel *parallel)
{
    enum { EVERY_STEP = 100000 };
    bool pipeline = parallel->degree[DIT_AXIS_PIPEFUSION] > 1;
    if (pipeline || parallel->degree[DIT_AXIS_PATCH] > 1) parallel->warmup_steps = EVERY_STEP;
    if (pipeline) parallel->num_pipeline_patch = 1;
}

dit_status golden_transformer_create(golden_transformer *g, const dit_case_platform *platform, bool tapped)
{
    dit_runtime_params params = {
        .backend = platform->backend, .threads = platform->threads, .parallel = *platform->parallel};
    params.dtype = platform->dtype;
    dit_facts_resize(&g->facts);
    DIT_TRY(dit_architecture_refer(g->reference_height_px, g->reference_width_px, &g->facts));
    DIT_TRY(dit_architecture_hold(g->first_frame, &g->facts));
    params.facts = g->facts;
    if (params.parallel.degree[DIT_AXIS_DATA] > 1)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD,
                        "data_degree %d: a golden folder is one batch, which data parallelism cannot divide",
                        params.parallel.degree[DIT_AXIS_DATA]);
    make_exact(&params.parallel);
    DIT_TRY(dit_runtime_init(&params, &g->rt));
    g->partition = dit_partition_of(&g->rt);
    g->tap.take = take;
    return dit_model_create(&(dit_model_params){.rt = &g->rt,
                                                .config = {&g->config, g->config.root, ""},
                                                .weights = &g->weights,
                                                .partition = g->partition,
                                                .latent = g->facts.latent,
                                                .attention = platform->attention,
                                                .tap = tapped ? &g->tap : NULL},
                            &g->model);
}

void golden_transformer_release(golden_transformer *g)
{
    dit_model_free(g->model);
    dit_runtime_release(&g->rt);
    dit_safetensors_close(g->weights_file);
    dit_safetensors_close(g->inputs);
    dit_safetensors_close(g->output);
    dit_json_release(&g->config);
}

dit_status golden_transformer_latents(golden_transformer *g, const char *name, int64_t rows, int64_t channels,
                                      bool guidance_batch, float *local)
{
    const dit_partition latents = dit_partition_of_latents(&g->partition), *part = &latents;
    int64_t entries = guidance_batch ? part->batch : part->images;
    int64_t all = rows * channels * dit_latent_cells(&g->facts.latent), cols = all / rows / part->image_tokens;
    dit_tensor_view view;
    if (!dit_safetensors_find(g->inputs, name, &view) || view.elements != all)
        return DIT_FAIL(DIT_ERR_SHAPE, "%s does not have %lld elements", name, (long long)all);
    float *stored = malloc((size_t)all * sizeof *stored), *tokens = malloc((size_t)all * sizeof *tokens);
    dit_status st =
        stored && tokens ? dit_tensor_read(&view, 0, all, stored) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %s", name);
    if (st == DIT_OK) {
        dit_latent_pack(&g->facts.latent, g->ops->layout, rows, channels, stored, tokens);
        for (int64_t b = 0; b < entries; b++) {
            int64_t image = part->image_first + b % part->images, branch = part->branch_first + b / part->images;
            int64_t row = guidance_batch ? branch * g->facts.num_images + image : image;
            dit_partition_take(part, tokens + row * part->image_tokens * cols, cols,
                               local + b * part->image_count * cols);
        }
        st = dit_runtime_upload(&g->rt, local, entries * part->image_count * cols);
    }
    free(stored);
    free(tokens);
    return st;
}

dit_status golden_transformer_compare(golden_transformer *g, const char *name, const float *tokens, int64_t rows,
                                      int64_t token_floats, double tolerance)
{
    const dit_latent *latent = &g->facts.latent;
    int64_t elements = rows * dit_facts_latent_tokens(&g->facts) * token_floats;
    float *stored = malloc((size_t)(elements + 1) * sizeof *stored);
    if (!stored) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to unpack %s", name);
    dit_latent_unpack(latent, g->ops->layout, rows, token_floats / (latent->patch_t * latent->patch * latent->patch),
                      tokens, stored);
    dit_status st = golden_compare(g->report, g->output, name, NULL, stored, elements, tolerance);
    free(stored);
    return st;
}
