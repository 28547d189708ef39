/* Folders of sampling loops: e2e.json names the transformer's folder beside it or shipped weights, the scheduler, the call
 * and a cache with its decisions. inputs and output hold the embeddings, and each step's prediction and latents. */
#include "engine/golden/transformer.h"
#include "base/case_facts.h"
#include "engine/cache/cache.h"
#include "engine/files/picture.h"
#include "engine/files/shipped.h"
#include "engine/sampling/executor.h"
#include "engine/vae/vae.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double TOLERANCE = 3e-5, TOLERANCE_SIGMAS = 2e-6, TOLERANCE_IMAGE = 5e-5;

typedef struct {
    golden_transformer g; /* first member: freed as one */
    dit_json e2e;
    const char *transformer, *vae; /* folders beside this one; vae may be NULL */
    const cJSON *scheduler;
    int64_t steps, frames;
    dit_condition_run run;
    double cfg_normalization, cfg_trunc_ratio;
    double true_cfg_scale;  /* > 1: two guidance branches, of an architecture that has one; FluxPipeline's name */
    const float *final;     /* [num_images, S, channels], tokens */
    double tolerance_image; /* of the decoded image              */
    dit_json vae_config;
    dit_vae_facts vae_facts;
    dit_cache cache;        /* policy NONE: none                                                       */
    dit_cache_run *cached;  /* NULL: none; lies in g.rt                                                */
    const cJSON *decisions; /* a digit for each step, or an object of them by kind of module; may be NULL */
} golden_e2e;

/* Gathers the latents of all ranks in sampler->full, where the host reads them. */
static dit_status gather(golden_transformer *g, dit_sampler *sampler, const float *local)
{
    DIT_TRY(dit_partition_gather_latents(&g->rt, &sampler->latents_of, local, sampler->channels, sampler->scratch,
                                         sampler->full));
    return dit_runtime_download(&g->rt, sampler->full,
                                g->facts.num_images * dit_facts_latent_tokens(&g->facts) * sampler->channels);
}

static dit_status compare_step(dit_sampler *sampler, int step, void *context)
{
    golden_transformer *g = context;
    char name[64];
    int64_t images = g->facts.num_images;
    DIT_TRY(gather(g, sampler, sampler->noise_pred));
    snprintf(name, sizeof name, "noise_pred_%d", step);
    DIT_TRY(golden_transformer_compare(g, name, sampler->full, images, sampler->channels, g->tolerance));
    DIT_TRY(gather(g, sampler, sampler->latents));
    if (step + 1 < sampler->scheduler->steps)
        snprintf(name, sizeof name, "latents_%d", step + 1);
    else
        snprintf(name, sizeof name, "latents_final");
    return golden_transformer_compare(g, name, sampler->full, images, sampler->channels, g->tolerance);
}

/* Checks that a name does not lead out of the folder that holds both folders. */
static dit_status check_name(const golden_e2e *e, const char *key, const char *name)
{
    if (!strchr(name, '/') && name[0] != '.') return DIT_OK;
    return dit_json_fail(&e->e2e, "", DIT_ERR_JSON_VALUE, "%s \"%s\" is not the name of a folder beside this one", key,
                         name);
}

static dit_status read_cache(golden_e2e *e)
{
    const dit_json *doc = &e->e2e;
    const cJSON *cache = NULL;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "cache", &cache));
    e->decisions = cJSON_GetObjectItemCaseSensitive(doc->root, "decisions");
    return cache ? dit_cache_read(doc, cache, "/cache", (int)e->steps, &e->cache) : DIT_OK;
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
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "reference_height", 1, 1 << 20, &e->g.reference_height_px));
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "reference_width", 1, 1 << 20, &e->g.reference_width_px));
    DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "first_frame", &e->g.first_frame));
    e->frames = 1;
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "num_frames", 1, 1 << 20, &e->frames));
    e->run.guidance_scale = 1.0;
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "guidance_scale", -1000, 1000, &e->run.guidance_scale));
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "true_cfg_scale", -1000, 1000, &e->true_cfg_scale));
    e->cfg_trunc_ratio = 1;
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "cfg_normalization", 0, 1000, &e->cfg_normalization));
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "cfg_trunc_ratio", 0, 1, &e->cfg_trunc_ratio));
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "style", 0, 1e6, &e->run.style));
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "frame_rate", 1, 1000, &e->run.frame_rate));
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "image_meta_size", &sizes));
    for (int i = 0; i < 6 && sizes && i < cJSON_GetArraySize(sizes); i++)
        e->run.meta_size[i] = cJSON_GetArrayItem(sizes, i)->valuedouble;
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "vae", &e->vae));
    DIT_TRY(read_cache(e));
    DIT_TRY(check_name(e, "transformer", e->transformer));
    return e->vae ? check_name(e, "vae", e->vae) : DIT_OK;
}

static bool has_image(const golden_e2e *e)
{
    dit_tensor_view view;
    return dit_safetensors_find(e->g.output, "image_raw", &view);
}

/* Reads what the VAE's config tells; a class that is not built serves folders without an image. */
static dit_status read_vae(golden_e2e *e, const char *folder)
{
    char vae_folder[GOLDEN_PATH], path[GOLDEN_PATH];
    if (!e->vae) return DIT_OK;
    snprintf(vae_folder, sizeof vae_folder, "%.3000s/../%.1000s", folder, e->vae);
    DIT_TRY(golden_path(vae_folder, "config.json", path));
    DIT_TRY(dit_config_read_file(path, &e->vae_config));
    dit_status st = dit_vae_read_facts(&(dit_config){&e->vae_config, e->vae_config.root, ""}, &e->vae_facts);
    if (st == DIT_OK) e->g.facts.latent.vae_spatial = e->vae_facts.spatial;
    if (st != DIT_ERR_UNSUPPORTED || has_image(e)) return st;
    dit_error_clear();
    return DIT_OK;
}

/* Compares the final latents. Stages are never all at one step, so for pipelines only these are compared. */
static dit_status compare_final(golden_e2e *e, const dit_sampler *sampler)
{
    golden_transformer *g = &e->g;
    dit_tensor_view view;
    e->final = sampler->full;
    if (g->rt.parallel.degree[DIT_AXIS_PIPEFUSION] <= 1) return DIT_OK; /* compared with its step */
    if (!dit_safetensors_find(g->output, "latents_final", &view))
        return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                        "the folder has no latents_final, the only tensor that pipelines are compared by");
    return golden_transformer_compare(g, "latents_final", sampler->full, g->facts.num_images, sampler->channels,
                                      g->tolerance);
}

/* ---- what a cache decided ---------------------------------------------------------------------------------------- */

/* Compares digits that say of each step what it did. */
static dit_status compare_digits(golden_e2e *e, const char *name, const cJSON *item, const char *ours)
{
    const char *expected = cJSON_GetStringValue(item);
    char problem[256];
    bool same = expected && strcmp(expected, ours) == 0;
    snprintf(problem, sizeof problem, "the folder's run decided %.100s, this one %.100s",
             expected ? expected : "nothing that is text", ours);
    return golden_add(e->g.report, name, !same, 0, same ? NULL : problem);
}

/* 1 for a step that computed `kind`, or all blocks where it is DIT_MODULE_COUNT. */
static dit_status compare_decisions(golden_e2e *e, const char *name, const cJSON *item, int kind)
{
    const dit_cache_log *log = dit_cache_log_of(e->cached);
    char ours[DIT_CACHE_MAX_STEPS + 1] = "";
    for (int step = 0; step < log->steps; step++) {
        bool all = kind == DIT_MODULE_COUNT;
        bool reused = all ? log->reasons[step] == DIT_CACHE_HIT : dit_module_in(log->reused[step], (dit_module)kind);
        ours[step] = reused ? '0' : '1';
    }
    return compare_digits(e, name, item, ours);
}

/* How many guidance branches each step ran. */
static dit_status compare_branches(golden_e2e *e, const cJSON *item)
{
    const dit_cache_log *log = dit_cache_log_of(e->cached);
    char ours[DIT_CACHE_MAX_STEPS + 1] = "";
    for (int step = 0; step < log->steps; step++)
        ours[step] = dit_cache_is_lone(dit_cache_settings(e->cached), step) ? '1' : '2';
    return compare_digits(e, "branches", item, ours);
}

static int kind_named(const char *name)
{
    int kind = 0;
    while (kind < DIT_MODULE_COUNT && strcmp(name, dit_module_names()[kind]) != 0) kind++;
    return kind;
}

static dit_status compare_cache(golden_e2e *e)
{
    const cJSON *item = NULL;
    char name[96];
    if (!e->cached || !e->decisions) return DIT_OK;
    if (!cJSON_IsObject(e->decisions)) return compare_decisions(e, "decisions", e->decisions, DIT_MODULE_COUNT);
    cJSON_ArrayForEach(item, e->decisions)
    {
        if (strcmp(item->string, "branches") == 0) {
            DIT_TRY(compare_branches(e, item));
            continue;
        }
        int kind = kind_named(item->string);
        if (kind == DIT_MODULE_COUNT)
            return dit_json_fail(&e->e2e, "/decisions", DIT_ERR_JSON_VALUE, "\"%s\" is no kind of module",
                                 item->string);
        snprintf(name, sizeof name, "decisions of %s", item->string);
        DIT_TRY(compare_decisions(e, name, item, kind));
    }
    return DIT_OK;
}

/* Returns the scale that combines two forwards. */
static double scale_of(const golden_e2e *e)
{
    return e->true_cfg_scale > 1 ? e->true_cfg_scale : e->run.guidance_scale;
}

static dit_status run_loop(golden_e2e *e)
{
    golden_transformer *g = &e->g;
    if (e->cache.policy != DIT_CACHE_NONE) {
        if (g->rt.ledger.dtype != DIT_DTYPE_FP32 && !dit_cache_is_known(&e->cache))
            return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                            "cache %s: its tests were decided in fp32, and may come out otherwise in %s",
                            dit_cache_name(e->cache.policy), dit_dtype_name(g->rt.ledger.dtype));
        DIT_TRY(dit_cache_check(&e->cache, &g->rt.parallel, &g->facts));
        DIT_TRY(dit_cache_create(g->model, &e->cache, (int)e->steps, &e->cached));
    }
    dit_sampler sampler = {.rt = &g->rt,
                           .model = g->model,
                           .partition = g->partition,
                           .guidance_scale = (float)scale_of(e),
                           .cache = e->cached,
                           .executor = dit_executor_for(&g->rt, NULL),
                           .on_step = compare_step,
                           .context = g};
    dit_scheduler_params scheduler = {
        .doc = &e->e2e, .config = e->scheduler, .pointer = "/scheduler", .steps = (int)e->steps};
    DIT_TRY(dit_sampler_init(&sampler, &scheduler));
    if (e->cached) dit_cache_set_timesteps(e->cached, sampler.scheduler->timesteps);
    DIT_TRY(golden_transformer_latents(g, "latents", g->facts.num_images, g->facts.latent.channels, false,
                                       sampler.latents));
    DIT_TRY(dit_condition_read(&g->rt, &g->partition, g->model->needs, g->inputs, DIT_CONDITION_PIPELINE,
                               &g->facts.latent, g->ops->layout, &e->run, &g->condition));
    DIT_TRY(golden_compare(g->report, g->output, "timesteps", NULL, sampler.scheduler->timesteps, e->steps, 0.0));
    DIT_TRY(golden_compare(g->report, g->output, "sigmas", NULL, sampler.scheduler->sigmas, e->steps + 1,
                           TOLERANCE_SIGMAS));
    DIT_TRY(dit_sampler_run(&sampler, &g->condition));
    DIT_TRY(dit_sampler_gather(&sampler));
    DIT_TRY(compare_cache(e));
    return compare_final(e, &sampler);
}

/* ---- the picture ------------------------------------------------------------------------------------------------- */

/* What a decode needs. Every rank decodes, so that all see one verdict. */
typedef struct {
    dit_safetensors *file;
    dit_weights weights;
    dit_vae *vae;
    float *planes, *image;
} decoder;

/* Compares levels of 0..255, [images, frames, area, 3], with ours from planes [images, 3, frames, area]. Each may be
 * off by one, because rounding may go either way, or by the image's tolerance where that is more. The report's
 * tolerance is the distance that so many levels everywhere would give. */
static dit_status judge_levels(golden_report *report, const float *planes, const float *levels, int64_t images,
                               int64_t frames, int64_t area, double tolerance)
{
    double allowed = fmax(1, 3 * tolerance * 255);
    double difference = 0, norm = 0, worst = 0;
    char problem[96];
    int64_t pixels = frames * area, count = images * 3 * pixels;
    for (int64_t i = 0; i < count; i++) {
        int64_t image = i / (3 * pixels), pixel = i % (3 * pixels) / 3, colour = i % 3;
        double d = fabs((double)dit_picture_level(planes[(image * 3 + colour) * pixels + pixel]) - levels[i]);
        difference += d * d;
        norm += (double)levels[i] * levels[i];
        if (d > worst) worst = d;
    }
    snprintf(problem, sizeof problem, "a colour is off by %.0f levels of 255", worst);
    norm = norm > 0 ? norm : 1;
    return golden_add(report, "image_u8", sqrt(difference / norm), allowed * sqrt((double)count / norm),
                      worst > allowed ? problem : NULL);
}

static dit_status compare_levels(golden_e2e *e, const float *planes)
{
    golden_transformer *g = &e->g;
    int64_t area = e->run.height_px * e->run.width_px, elements = g->facts.num_images * 3 * e->frames * area;
    dit_tensor_view view;
    if (!dit_safetensors_find(g->output, "image_u8", &view)) return DIT_OK;
    if (view.elements != elements)
        return golden_add(g->report, "image_u8", 0, 1, "the file's images have another size than the call");
    float *levels = malloc((size_t)elements * sizeof *levels);
    if (!levels) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for an image");
    dit_status st = dit_tensor_read(&view, 0, elements, levels);
    if (st == DIT_OK)
        st = judge_levels(g->report, planes, levels, g->facts.num_images, e->frames, area, e->tolerance_image);
    free(levels);
    return st;
}

/* Checks that the VAE takes these latents and that they decode to the call's image. */
static dit_status check_fit(const golden_e2e *e)
{
    const dit_latent *latent = &e->g.facts.latent;
    const dit_vae_facts *facts = &e->vae_facts;
    if (facts->latent_channels != latent->channels)
        return DIT_FAIL(DIT_ERR_SHAPE, "the VAE takes %lld channels, but the latents have %lld",
                        (long long)facts->latent_channels, (long long)latent->channels);
    if (dit_vae_output_frames(facts, latent->frames) != e->frames)
        return DIT_FAIL(DIT_ERR_SHAPE, "%lld latent frames do not decode to the call's %lld frames",
                        (long long)latent->frames, (long long)e->frames);
    if (latent->height * facts->spatial == e->run.height_px && latent->width * facts->spatial == e->run.width_px)
        return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "latents of %lld x %lld do not decode to the call's %lld x %lld pixels",
                    (long long)latent->width, (long long)latent->height, (long long)e->run.width_px,
                    (long long)e->run.height_px);
}

static dit_status decode(golden_e2e *e, const char *folder, decoder *d)
{
    golden_transformer *g = &e->g;
    const dit_latent *latent = &g->facts.latent;
    int64_t cells = latent->channels * dit_latent_cells(latent);
    int64_t pixels = 3 * e->frames * e->run.height_px * e->run.width_px;
    int64_t images = g->facts.num_images;
    char vae_folder[GOLDEN_PATH];
    const dit_vae_facts *facts = &e->vae_facts;
    const dit_config config = {&e->vae_config, e->vae_config.root, ""};
    DIT_TRY(check_fit(e));
    snprintf(vae_folder, sizeof vae_folder, "%.3000s/../%.1000s", folder, e->vae);
    if (!facts->weightless) DIT_TRY(dit_safetensors_open(vae_folder, &d->file));
    d->weights = (dit_weights){.file = d->file};
    DIT_TRY(dit_vae_create(&(dit_vae_params){.rt = &g->rt,
                                             .config = config,
                                             .weights = &d->weights,
                                             .frames = latent->frames,
                                             .height = latent->height,
                                             .width = latent->width},
                           &d->vae));
    d->planes = malloc((size_t)(images * cells) * sizeof *d->planes);
    d->image = malloc((size_t)(images * pixels) * sizeof *d->image);
    if (!d->planes || !d->image) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for images");
    dit_latent_unpack(latent, DIT_LATENT_CFHW, images, latent->channels, e->final, d->planes);
    for (int64_t i = 0; i < images; i++) {
        DIT_TRY(dit_vae_prepare(d->vae, d->planes + i * cells));
        DIT_TRY(dit_vae_decode(d->vae, d->planes + i * cells, d->image + i * pixels));
    }
    DIT_TRY(golden_compare(g->report, g->output, "image_raw", NULL, d->image, images * pixels, e->tolerance_image));
    return compare_levels(e, d->image);
}

/* Decodes and compares images and videos, where the folder has any. */
static dit_status compare_picture(golden_e2e *e, const char *folder)
{
    decoder d = {0};
    if (!e->vae || !has_image(e)) return DIT_OK;
    dit_status st = decode(e, folder, &d);
    dit_vae_free(d.vae);
    dit_safetensors_close(d.file);
    free(d.planes);
    free(d.image);
    return st;
}

/* Returns how far roundings add up. Guidance takes (1 - g) of one forward and g of the other, whose roundings are
 * independent; each step adds its roundings to those of the latents that it began with. */
static double roundings_of(const golden_e2e *e)
{
    double g = scale_of(e);
    return 2 * (e->g.facts.guidance_branches == 2 ? sqrt((1 - g) * (1 - g) + g * g) : 1);
}

/* Finds the transformer's folder beside this one, or among the weights that ship. */
static dit_status find_transformer(const golden_e2e *e, const char *folder, char out[GOLDEN_PATH])
{
    char shipped[DIT_SHIPPED_PATH];
    snprintf(out, GOLDEN_PATH, "%.3000s/../%.1000s", folder, e->transformer);
    if (golden_has_file(out, "config.json")) return DIT_OK;
    if (dit_shipped_folder(e->transformer, shipped) == DIT_OK)
        snprintf(out, GOLDEN_PATH, "%s", shipped);
    else
        dit_error_clear(); /* opening the folder beside this one says what is missing */
    return DIT_OK;
}

static dit_status golden_sampling(golden_e2e *e, const char *folder, const dit_case_platform *platform)
{
    golden_transformer *g = &e->g;
    char model_folder[GOLDEN_PATH];
    int64_t channels;
    DIT_TRY(read_call(e, folder));
    DIT_TRY(find_transformer(e, folder, model_folder));
    DIT_TRY(golden_transformer_open(g, model_folder, folder));
    DIT_TRY(read_vae(e, folder));
    DIT_TRY(golden_transformer_size(g, "latents", "prompt_embeds", &g->facts.num_images, &channels));
    if (channels != g->facts.latent.channels)
        return DIT_FAIL(DIT_ERR_SHAPE, "latents have %lld channels, but the model denoises %lld", (long long)channels,
                        (long long)g->facts.latent.channels);
    if (g->ops->layout == DIT_LATENT_PACKED) /* the tokens do not tell the image's shape */
        DIT_TRY(dit_latent_resize(&g->facts.latent, e->run.height_px, e->run.width_px, e->frames));
    g->facts.steps = e->steps;
    DIT_TRY(dit_facts_guide(e->run.guidance_scale, e->true_cfg_scale, &g->facts));
    DIT_TRY(dit_facts_norm_guidance(e->cfg_normalization, e->cfg_trunc_ratio, &g->facts));
    double times = roundings_of(e);
    g->tolerance = golden_tolerance(platform, TOLERANCE, times);
    e->tolerance_image = golden_tolerance(platform, TOLERANCE_IMAGE, times);
    DIT_TRY(golden_transformer_create(g, platform, false));
    DIT_TRY(run_loop(e));
    return compare_picture(e, folder);
}

static bool is_e2e(const char *folder)
{
    return golden_has_file(folder, "e2e.json");
}

static dit_status run_folder(golden_report *report, const char *folder, const dit_case_platform *platform)
{
    golden_e2e e = {.g = {.report = report}};
    dit_status st = golden_sampling(&e, folder, platform);
    golden_transformer_release(&e.g);
    dit_json_release(&e.vae_config);
    dit_json_release(&e.e2e);
    return st;
}

const golden_kind golden_kind_e2e = {"e2e", is_e2e, run_folder};
