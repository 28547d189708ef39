/* A sampling loop's folder: e2e.json names the transformer's folder beside it, the scheduler and the call; inputs and
 * output hold the embeddings, every step's prediction and latents. */
#include "engine/golden/transformer.h"
#include "engine/sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double TOLERANCE = 3e-5, TOLERANCE_SIGMAS = 2e-6;

typedef struct {
    golden_transformer g; /* first member: freed as one */
    dit_json e2e;
    const char *transformer;
    const cJSON *scheduler;
    int64_t steps, frames;
    dit_condition_run run;
} golden_e2e;

static dit_status compare_step(dit_sampler *sampler, int step, void *context)
{
    golden_transformer *g = context;
    char name[64];
    int64_t images = g->facts.num_images;
    DIT_TRY(dit_partition_gather_latents(&g->rt, &g->partition, sampler->noise_pred, sampler->channels,
                                         sampler->scratch, sampler->full));
    snprintf(name, sizeof name, "noise_pred_%d", step);
    DIT_TRY(golden_transformer_compare(g, name, sampler->full, images, sampler->channels, TOLERANCE));
    DIT_TRY(dit_partition_gather_latents(&g->rt, &g->partition, sampler->latents, sampler->channels, sampler->scratch,
                                         sampler->full));
    if (step + 1 < sampler->scheduler->steps)
        snprintf(name, sizeof name, "latents_%d", step + 1);
    else
        snprintf(name, sizeof name, "latents_final");
    return golden_transformer_compare(g, name, sampler->full, images, sampler->channels, TOLERANCE);
}

static dit_status read_call(golden_e2e *e, const char *folder)
{
    char path[GOLDEN_PATH];
    const dit_json *doc = &e->e2e;
    const cJSON *sizes = NULL;
    DIT_TRY(golden_path(folder, "e2e.json", path));
    DIT_TRY(dit_config_read_file(path, &e->e2e));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "transformer", &e->transformer));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "scheduler", &e->scheduler));
    DIT_TRY(dit_json_require_int(doc, doc->root, "", "num_inference_steps", 1, 10000, &e->steps));
    DIT_TRY(dit_json_require_int(doc, doc->root, "", "height", 1, 1 << 20, &e->run.height_px));
    DIT_TRY(dit_json_require_int(doc, doc->root, "", "width", 1, 1 << 20, &e->run.width_px));
    e->frames = 1;
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "num_frames", 1, 1 << 20, &e->frames));
    e->run.guidance_scale = 1.0;
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "guidance_scale", -1000, 1000, &e->run.guidance_scale));
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "style", 0, 1e6, &e->run.style));
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "image_meta_size", &sizes));
    for (int i = 0; i < 6 && sizes && i < cJSON_GetArraySize(sizes); i++)
        e->run.meta_size[i] = cJSON_GetArrayItem(sizes, i)->valuedouble;
    if (strchr(e->transformer, '/') || e->transformer[0] == '.')
        return dit_json_fail(doc, "/transformer", DIT_ERR_JSON_VALUE,
                             "\"%s\" is not the name of a folder beside this one", e->transformer);
    return DIT_OK;
}

static dit_status run_loop(golden_e2e *e)
{
    golden_transformer *g = &e->g;
    dit_sampler sampler = {.rt = &g->rt,
                           .model = g->model,
                           .partition = g->partition,
                           .guidance_scale = (float)e->run.guidance_scale,
                           .on_step = compare_step,
                           .context = g};
    dit_scheduler_params scheduler = {
        .doc = &e->e2e, .config = e->scheduler, .pointer = "/scheduler", .steps = (int)e->steps};
    DIT_TRY(dit_sampler_init(&sampler, &scheduler));
    DIT_TRY(golden_transformer_latents(g, "latents", g->facts.num_images, g->facts.latent.channels, false,
                                       sampler.latents));
    DIT_TRY(dit_condition_read(&g->rt, &g->partition, g->model->needs, g->inputs, DIT_CONDITION_PIPELINE,
                               &g->facts.latent, g->ops->layout, &e->run, &g->condition));
    DIT_TRY(golden_compare(g->report, g->output, "timesteps", NULL, sampler.scheduler->timesteps, e->steps, 0.0));
    DIT_TRY(golden_compare(g->report, g->output, "sigmas", NULL, sampler.scheduler->sigmas, e->steps + 1,
                           TOLERANCE_SIGMAS));
    return dit_sampler_run(&sampler, &g->condition);
}

static dit_status golden_sampling(golden_e2e *e, const char *folder, const dit_program_platform *platform)
{
    golden_transformer *g = &e->g;
    char model_folder[GOLDEN_PATH];
    int64_t channels;
    DIT_TRY(read_call(e, folder));
    snprintf(model_folder, sizeof model_folder, "%.3000s/../%.1000s", folder, e->transformer);
    DIT_TRY(golden_transformer_open(g, model_folder, folder));
    DIT_TRY(golden_transformer_size(g, "latents", "prompt_embeds", &g->facts.num_images, &channels));
    if (channels != g->facts.latent.channels)
        return DIT_FAIL(DIT_ERR_SHAPE, "latents have %lld channels, the model denoises %lld", (long long)channels,
                        (long long)g->facts.latent.channels);
    if (g->ops->layout == DIT_LATENT_PACKED) /* the tokens do not tell the picture's shape */
        DIT_TRY(dit_latent_resize(&g->facts.latent, e->run.height_px, e->run.width_px, e->frames));
    g->facts.steps = e->steps;
    if (e->run.guidance_scale <= 1.0) g->facts.guidance_branches = 1; /* the pipelines skip guidance then */
    DIT_TRY(golden_transformer_create(g, platform, false));
    return run_loop(e);
}

static bool is_e2e(const char *folder)
{
    return golden_has_file(folder, "e2e.json");
}

static dit_status run_folder(golden_report *report, const char *folder, const dit_program_platform *platform)
{
    golden_e2e e = {.g = {.report = report}};
    dit_status st = golden_sampling(&e, folder, platform);
    golden_transformer_release(&e.g);
    dit_json_release(&e.e2e);
    return st;
}

const golden_kind golden_kind_e2e = {"e2e", is_e2e, run_folder};
