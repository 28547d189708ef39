#include "suite/generate/request_impl.h"

#include "base/architecture.h"
#include "base/cache.h"
#include "base/json_writer.h"
#include "base/rows.h"
#include "base/safetensors.h"
#include "base/words.h"
#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/parameter.h"
#include "suite/generate/binning.h"
#include "suite/generate/clip_rate.h"
#include "suite/platform/platform.h"
#include "suite/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_SEED = 42, DEFAULT_WEIGHTS_SEED = 7 };

/* xDiT's --flow_shift: the shift of flow-matching schedulers, under either of its names. */
static dit_status shift_scheduler(suite_request_builder *b)
{
    static const char *const keys[] = {"flow_shift", "shift"};
    if (isnan(b->r->flow_shift)) return DIT_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        cJSON *shift = cJSON_GetObjectItemCaseSensitive(b->scheduler, keys[i]);
        if (!cJSON_IsNumber(shift)) continue;
        cJSON_SetNumberValue(shift, b->r->flow_shift);
        return DIT_OK;
    }
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "--flow_shift: the scheduler's config has neither shift nor flow_shift");
}

/* ---- defaults ---------------------------------------------------------------------------------------------------- */

static bool same_member(const cJSON *a, const cJSON *b, const char *key)
{
    return cJSON_Compare(dit_json_member(a, key), dit_json_member(b, key), true);
}

/* How much a catalogue model is like the config: 0 another class, 1 the class, 2 the size too. */
static int likeness(const suite_model *model, const cJSON *config)
{
    static const char *const sizes[] = {"num_layers", "num_attention_heads", "attention_head_dim"};
    if (!model->config || !same_member(model->config, config, "_class_name")) return 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!same_member(model->config, config, sizes[i])) return 1;
    return 2;
}

/* The catalogue's model nearest to a config from elsewhere, for what its pipeline would default to. */
static dit_status find_twin(suite_request_builder *b)
{
    char **names;
    int best = 0;
    if (b->from_catalogue) return DIT_OK;
    DIT_TRY(suite_catalogue_names("models", &names));
    for (char **name = names; *name && best < 2; name++) {
        suite_model model;
        if (suite_model_load(*name, &model) != DIT_OK) continue; /* a broken file is validate's business */
        int like = likeness(&model, b->config);
        if (like > best) {
            suite_model_release(&b->model);
            b->model = model;
            best = like;
        } else {
            suite_model_release(&model);
        }
    }
    suite_names_free(names);
    dit_error_clear();
    return DIT_OK;
}

/* A number of the run: the option, the recorded call, the catalogue. */
static dit_status settle(suite_request_builder *b, int64_t said, const char *call_key, const char *default_key,
                         const char *option, double *out)
{
    const cJSON *recorded = dit_json_member(b->call.root, call_key);
    const cJSON *usual = dit_json_member(b->model.default_run, default_key);
    *out = (double)said;
    if (said) return DIT_OK;
    if (cJSON_IsNumber(recorded)) {
        *out = recorded->valuedouble;
        return DIT_OK;
    }
    if (!cJSON_IsNumber(usual))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_USAGE,
                     "--%s is needed: the checkpoint does not say it, and no model of the catalogue is like this one",
                     option),
            "add --%s", option);
    *out = usual->valuedouble;
    if (!b->from_catalogue) dit_buffer_printf(&b->notes, "--%s %g: the default of %s\n", option, *out, b->model.name);
    return DIT_OK;
}

static int64_t usual_number(const suite_request_builder *b, const char *key, int64_t otherwise)
{
    const cJSON *usual = dit_json_member(b->model.default_run, key);
    return cJSON_IsNumber(usual) ? (int64_t)usual->valuedouble : otherwise;
}

/* Rows of the given latents or embeddings, or what is usual. */
static dit_status count_images(const suite_request_builder *b, int64_t *out)
{
    static const char *const names[] = {"latents", "prompt_embeds"};
    dit_safetensors *file;
    dit_tensor_view view = {0};
    int64_t each = b->r->images_per_prompt ? b->r->images_per_prompt : 1;
    *out = b->r->num_images          ? b->r->num_images
           : b->pipeline[0]          ? b->r->prompt_count * each
           : b->r->images_per_prompt ? each
           : b->r->split             ? b->r->split_count
           : b->r->prompt_count > 1  ? b->r->prompt_count
                                     : 1;
    if (b->text_table[0] || b->pipeline[0]) return DIT_OK;
    if (!b->inputs[0] || b->r->num_images || b->r->images_per_prompt) return DIT_OK;
    DIT_TRY(dit_safetensors_open(b->inputs, &file));
    for (size_t i = 0; view.rank == 0 && i < sizeof names / sizeof *names; i++)
        dit_safetensors_find(file, names[i], &view);
    dit_safetensors_close(file);
    if (view.rank > 1 && view.shape[0] >= 1 && view.shape[0] <= 4096) *out = view.shape[0];
    return DIT_OK;
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

/* Gives `item` to `parent`. */
static void hand_over(dit_json_writer *w, cJSON *parent, const char *key, cJSON **item)
{
    if (*item) dit_json_put_item(w, parent, key, *item);
    *item = NULL;
}

/* A codec has a config and no weights. */
static bool is_codec(const cJSON *vae)
{
    return strcmp(dit_json_text_or(vae, "_class_name", ""), DIT_PIXEL_SHUFFLE) == 0;
}

static dit_status add_weights(cJSON *parent, const char *path, int64_t seed)
{
    dit_json_writer w = {0};
    cJSON *weights = dit_json_put_object(&w, parent, "weights");
    dit_json_put_string(&w, weights, "kind", path[0] ? "safetensors" : "seeded");
    if (path[0])
        dit_json_put_string(&w, weights, "path", path);
    else
        dit_json_put_int(&w, weights, "seed", seed);
    return w.status;
}

/* How many pixels a latent spans where there is no VAE to tell it: 0 for the number that the model was published with. */
static int64_t cell_px(const suite_request_builder *b)
{
    if (!is_codec(b->vae) || !b->r->latents_only) return 0;
    return dit_json_int_or(b->vae, "block_size", 2);
}

/* Without embeddings the seeded text needs its length; all else the engine reads from the config. */
static dit_status add_second(const suite_request_builder *b, cJSON *model, int64_t weights_seed)
{
    dit_json_writer w = {0};
    cJSON *second = b->boundary_ratio > 0 ? dit_json_put_object(&w, model, "transformer_2") : NULL;
    if (!second) return w.status;
    dit_json_put_number(&w, second, "boundary_ratio", b->boundary_ratio);
    return w.status == DIT_OK ? add_weights(second, b->second_weights, weights_seed + 1) : w.status;
}

static dit_status add_model(suite_request_builder *b, cJSON *document, int64_t weights_seed)
{
    dit_json_writer w = {0};
    const cJSON *tokens = dit_json_member(b->model.text, "tokens");
    cJSON *model, *text;
    model = dit_json_put_object(&w, document, "model");
    dit_json_put_string(&w, model, "name", b->name);
    hand_over(&w, model, "config", &b->config);
    DIT_TRY(add_weights(model, b->weights, weights_seed));
    DIT_TRY(add_second(b, model, weights_seed));
    if (cell_px(b)) dit_json_put_int(&w, model, "vae_spatial", cell_px(b));
    if (b->inputs[0] || b->text_table[0] || b->pipeline[0] || !cJSON_IsNumber(tokens)) return w.status;
    text = dit_json_put_object(&w, model, "text");
    dit_json_put_number(&w, text, "tokens", tokens->valuedouble);
    return w.status;
}

static void copy_call(dit_json_writer *w, const suite_request_builder *b, cJSON *run, const char *key)
{
    dit_json_put_copy(w, run, key, dit_json_member(b->call.root, key));
}

/* As many frames as the pipeline makes when it is asked for others than one more than a multiple of those of a latent: Wan's goes
 * to the multiple below and adds one, the others cut the latents. Source: diffusers 0.33.1, __call__ of each. */
static int64_t whole_frames(suite_request_builder *b, int64_t asked)
{
    int64_t each = dit_json_int_or(b->model.latent, "vae_temporal", 1);
    bool is_wan = strcmp(dit_json_text_or(b->config, "_class_name", ""), "WanTransformer3DModel") == 0;
    int64_t made = is_wan ? asked / each * each + 1 : (asked - 1) / each * each + 1;
    if (asked < 1 || (asked - 1) % each == 0) return asked;
    dit_buffer_printf(
        &b->notes,
        "--num_frames %lld is run as %lld, whose latents the pipeline makes: one more than a multiple of %lld\n",
        (long long)asked, (long long)made, (long long)each);
    return made;
}

/* A recorded call that says no frames made an image. Latte's word for them is video_length. */
static dit_status add_frames(suite_request_builder *b, cJSON *run)
{
    dit_json_writer w = {0};
    const cJSON *length = dit_json_member(b->call.root, "video_length");
    const cJSON *recorded = length ? length : dit_json_member(b->call.root, "num_frames");
    bool clip = b->r->num_frames || recorded || (!b->call.root && b->model.video);
    double frames;
    if (!clip) return w.status;
    DIT_TRY(settle(b, b->r->num_frames, length ? "video_length" : "num_frames", "num_frames", "num_frames", &frames));
    dit_json_put_int(&w, run, "num_frames", whole_frames(b, (int64_t)frames));
    return w.status;
}

/* Pixels of a side where a checkpoint's pipeline is not told: its sample_size in latents, which FLUX.1 and FLUX.2 have 128
 * of. 0: the configs do not say. */
static int64_t usual_side(const suite_request_builder *b)
{
    enum { FLUX_CELLS = 128 };
    static const char *const fluxes[] = {"FluxTransformer2DModel", "Flux2Transformer2DModel", NULL};
    bool flux = dit_words_find(fluxes, dit_json_text_or(b->config, "_class_name", "")) >= 0;
    int64_t cells = dit_json_int_or(b->config, "sample_size", flux ? FLUX_CELLS : 0);
    bool deep = strcmp(dit_json_text_or(b->vae, "_class_name", ""), "AutoencoderDC") == 0;
    const char *list = deep ? "decoder_block_out_channels" : "block_out_channels";
    int stages = cJSON_GetArraySize(dit_json_member(b->vae, list));
    bool usable = b->checkpoint && cells >= 1 && cells <= 4096 && stages >= 1 && stages <= 8;
    return usable ? cells << (stages - 1) : 0;
}

/* Likewise of a pipeline whose clips have 16:9 of the area of a square. */
static int64_t target_side(const suite_request_builder *b, bool high)
{
    enum { USUAL_CELL = 16 };
    int64_t height = 0, width = 0, cell = dit_json_int_or(b->vae, "spatial_compression_ratio", USUAL_CELL);
    if (b->target_size) suite_binning_target(b->target_size, cell, &height, &width);
    return high ? height : width;
}

/* What was asked for; else captions of shapes are of pictures as large as the renders that models of them learn from, and a
 * checkpoint's pictures as large as its pipeline makes them. */
static int64_t size_of(suite_request_builder *b, int64_t asked, const char *option)
{
    enum { RENDERED = 32 };
    if (asked || b->call.root) return asked;
    if (b->text_table[0]) return RENDERED;
    int64_t side = usual_side(b), target = target_side(b, strcmp(option, "height") == 0);
    if (target) dit_buffer_printf(&b->notes, "--%s %lld: target_size of the checkpoint\n", option, (long long)target);
    if (target) return target;
    if (side) dit_buffer_printf(&b->notes, "--%s %lld: sample_size of the checkpoint\n", option, (long long)side);
    return side;
}

/* The scale of guidance by a second forward: the option, the recorded call, the catalogue; 1 for none. */
static double true_cfg_scale(const suite_request_builder *b)
{
    enum { KLEIN_SCALE = 4 }; /* Flux2KleinPipeline.__call__ */
    double usual = dit_json_number_or(b->model.default_run, "true_cfg_scale", 1);
    if (b->scale_guides && isnan(b->r->true_cfg_scale))
        return isnan(b->r->guidance_scale) ? KLEIN_SCALE : b->r->guidance_scale;
    bool silent = b->pipeline[0] && !b->r->negative_prompt; /* then pipelines do not guide */
    if (silent) return 1;
    if (!isnan(b->r->true_cfg_scale)) return b->r->true_cfg_scale;
    return dit_json_number_or(b->call.root, "true_cfg_scale", usual);
}

/* Pipelines of Qwen-Image guide only beside a negative prompt, even an empty one; their name for the scale is true_cfg_scale. */
static double heard_scale(suite_request_builder *b, double scale)
{
    bool heard = strncmp(b->class_name, "QwenImage", 9) != 0 || !b->pipeline[0] || b->r->negative_prompt;
    if (heard || scale <= 1) return scale;
    dit_buffer_printf(&b->notes,
                      "--guidance_scale %g has no effect without --negative_prompt, as in the pipeline; an empty one "
                      "guides\n",
                      scale);
    return 1;
}

/* Says that a scale needs a negative prompt, even an empty one. */
static void note_silent_scale(suite_request_builder *b)
{
    if (b->pipeline[0] && !b->r->negative_prompt && b->r->true_cfg_scale > 1)
        dit_buffer_printf(&b->notes,
                          "--true_cfg_scale %g has no effect without --negative_prompt, as in the pipelines\n",
                          b->r->true_cfg_scale);
}

/* Says that a scale does nothing: the model computes one branch, and does not take the scale as an input. */
static void note_lost_scale(suite_request_builder *b)
{
    const dit_architecture *architecture = dit_architecture_find(dit_json_text_or(b->config, "_class_name", ""));
    bool takes = cJSON_IsTrue(dit_json_member(b->config, "guidance_embeds"));
    double scale = b->r->guidance_scale;
    if (isnan(scale) || scale <= 1 || takes || b->scale_guides || !architecture || architecture->guidance_branches == 2)
        return;
    dit_buffer_printf(&b->notes,
                      "--guidance_scale %g has no effect: %s takes no scale. --true_cfg_scale %g guides it by a second "
                      "forward a step\n",
                      scale, b->name, scale);
}

/* As the pipeline: without a scale of its own the second transformer has that of the first. */
static void add_second_scale(dit_json_writer *w, suite_request_builder *b, double first, cJSON *run)
{
    double usual =
        isnan(b->r->guidance_scale) ? dit_json_number_or(b->model.default_run, "guidance_scale_2", first) : first;
    bool asked = !isnan(b->r->guidance_scale_2);
    if (b->boundary_ratio > 0)
        dit_json_put_number(w, run, "guidance_scale_2", asked ? b->r->guidance_scale_2 : usual);
    else if (asked)
        dit_buffer_printf(&b->notes, "--guidance_scale_2 has no effect: %s has one transformer\n", b->name);
}

/* Returns the option, or what a recorded call has; NaN: neither. */
static double asked_frame_rate(const suite_request_builder *b)
{
    return isnan(b->r->frame_rate) ? dit_json_number_or(b->call.root, "frame_rate", NAN) : b->r->frame_rate;
}

/* How many frames LTX-Video's positions take for a second: the option, the recorded call, the pipeline's default, which the engine
 * has. */
static dit_status add_frame_rate(dit_json_writer *w, suite_request_builder *b, cJSON *run)
{
    bool asked = !isnan(b->r->frame_rate);
    double rate = asked_frame_rate(b);
    b->shown = b->r->frames_per_s ? b->r->frames_per_s : suite_clip_rate(b->config, rate);
    const char *class_name = dit_json_text_or(b->config, "_class_name", "");
    bool takes = strncmp(class_name, "LTX", 3) == 0; /* LTX-2 as well */
    if (asked && !takes)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--frame_rate %g: %s has no positions in seconds", rate, b->name),
                              "--fps says how fast a clip is shown");
    if (takes && !isnan(rate)) dit_json_put_number(w, run, "frame_rate", rate);
    return w->status;
}

/* What the pipeline does to guided predictions: the option, the recorded call, the pipeline's default. */
static void add_guidance_norm(dit_json_writer *w, const suite_request_builder *b, cJSON *run)
{
    double norm = b->r->cfg_normalization, ratio = b->r->cfg_trunc_ratio;
    if (isnan(norm)) norm = dit_json_number_or(b->call.root, "cfg_normalization", b->norms_guidance);
    if (isnan(ratio)) ratio = dit_json_number_or(b->call.root, "cfg_trunc_ratio", 1);
    if (norm > 0) dit_json_put_number(w, run, "cfg_normalization", norm);
    if (ratio < 1) dit_json_put_number(w, run, "cfg_trunc_ratio", ratio);
    double rescale = b->r->guidance_rescale;
    if (isnan(rescale)) rescale = dit_json_number_or(b->call.root, "guidance_rescale", 0);
    if (rescale != 0) dit_json_put_number(w, run, "guidance_rescale", rescale);
    if (b->r->cfg_truncation < 1) dit_json_put_number(w, run, "cfg_truncation", b->r->cfg_truncation);
}

/* Pixels of a token's side, by the VAE's config: a latent for each halving of its levels, two latents a token. */
static int64_t token_side(const suite_request_builder *b)
{
    int levels = cJSON_GetArraySize(dit_json_member(b->vae, "block_out_channels"));
    return levels > 0 && levels < 16 ? INT64_C(1) << levels : 16;
}

/* Sizes references as the pipeline does. */
static dit_status measure_references(suite_request_builder *b)
{
    char path[SUITE_PATH];
    const suite_reference_rule *rule = b->reference_rule;
    int most = rule ? rule->most : 1;
    if (b->r->more_image_count >= most)
        return DIT_FAIL(DIT_ERR_USAGE, "%d pictures: %s takes %d", b->r->more_image_count + 1, b->name, most);
    if (!rule || !b->r->image) return DIT_OK;
    for (int i = 0; i <= b->r->more_image_count; i++) {
        DIT_TRY(suite_request_absolute(i ? b->r->more_images[i - 1] : b->r->image, path));
        DIT_TRY(suite_reference_size(rule, path, token_side(b), &b->references[i]));
        b->reference_count++;
    }
    return DIT_OK;
}

static void put_size(dit_json_writer *w, cJSON *to, const char *key, int64_t height_px, int64_t width_px)
{
    if (!height_px) return;
    cJSON *size = dit_json_put_object(w, to, key);
    dit_json_put_int(w, size, "height_px", height_px);
    dit_json_put_int(w, size, "width_px", width_px);
}

static dit_status put_reference(const suite_reference *from, cJSON *to)
{
    dit_json_writer w = {0};
    dit_json_put_int(&w, to, "height_px", from->height_px);
    dit_json_put_int(&w, to, "width_px", from->width_px);
    put_size(&w, to, "cut", from->cut_height_px, from->cut_width_px);
    put_size(&w, to, "seen", from->seen_height_px, from->seen_width_px);
    return w.status;
}

/* The pictures behind the latent: as the pipeline sizes them, or of the size that was asked for, else as large as the picture that
 * is made. */
static dit_status add_references(const suite_request_builder *b, double height, double width, cJSON *run)
{
    dit_json_writer w = {0};
    suite_reference asked = {.height_px = (int64_t)height, .width_px = (int64_t)width};
    const char *size = b->r->reference_resolution;
    if (size && (!b->refers || !b->r->image))
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--reference_resolution %s: there is no reference picture", size),
                              "--image gives one, to a FLUX.1 Kontext, a FLUX.2 or a Qwen-Image-Edit");
    if (size && !suite_resolution_from_text(size, &asked.width_px, &asked.height_px))
        return DIT_FAIL(DIT_ERR_USAGE, "--reference_resolution %s is not WIDTHxHEIGHT in pixels", size);
    if (!b->refers || !b->r->image) return DIT_OK;
    bool measured = b->reference_count && !size;
    if (!b->r->more_image_count)
        return put_reference(measured ? &b->references[0] : &asked, dit_json_put_object(&w, run, "reference"));
    cJSON *list = dit_json_put_array(&w, run, "reference");
    for (int i = 0; i <= b->r->more_image_count; i++)
        DIT_TRY(put_reference(measured ? &b->references[i] : &asked, dit_json_put_object(&w, list, NULL)));
    return w.status;
}

/* Replaces the size by the one that the pipeline samples. */
static void bin(suite_request_builder *b, double *height_px, double *width_px)
{
    int64_t height = (int64_t)*height_px, width = (int64_t)*width_px, asked_height = height, asked_width = width;
    if (b->r->takes_sizes || height < 1 || width < 1) return;
    if (!suite_binning_apply(b->class_name, dit_json_int_or(b->config, "sample_size", 0), &height, &width, &b->fits))
        return;
    if (height == asked_height && width == asked_width) return;
    b->asked_height = asked_height, b->asked_width = asked_width;
    *height_px = (double)height, *width_px = (double)width;
    dit_buffer_printf(&b->notes,
                      "%lldx%lld is sampled as %lldx%lld%s, as the pipeline does; --no_use_resolution_binning takes "
                      "sizes as they are\n",
                      (long long)asked_width, (long long)asked_height, (long long)width, (long long)height,
                      b->fits ? ", then resized and cut" : "");
}

static dit_status add_run(suite_request_builder *b, cJSON *document)
{
    dit_json_writer w = {0};
    double height, width, steps, scale = b->r->guidance_scale;
    int64_t images;
    cJSON *run = dit_json_put_object(&w, document, "run");
    DIT_TRY(measure_references(b));
    bool last = b->reference_rule && b->reference_rule->last && b->reference_count;
    const suite_reference *like = &b->references[last ? b->reference_count - 1 : 0]; /* zeros: none says the size */
    int64_t tall = b->r->height ? b->r->height : like->height_px, wide = b->r->width ? b->r->width : like->width_px;
    DIT_TRY(settle(b, size_of(b, tall, "height"), "height", "height_px", "height", &height));
    DIT_TRY(settle(b, size_of(b, wide, "width"), "width", "width_px", "width", &width));
    DIT_TRY(settle(b, b->r->num_inference_steps, "num_inference_steps", "num_inference_steps", "num_inference_steps",
                   &steps));
    if (isnan(scale) && b->guider_scale > 0) {
        scale = b->guider_scale;
        dit_buffer_printf(&b->notes, "--guidance_scale %g: the guider of the checkpoint\n", scale);
    }
    if (isnan(scale)) DIT_TRY(settle(b, 0, "guidance_scale", "guidance_scale", "guidance_scale", &scale));
    scale = heard_scale(b, scale);
    DIT_TRY(count_images(b, &images));
    bin(b, &height, &width);
    dit_json_put_number(&w, run, "height_px", height);
    dit_json_put_number(&w, run, "width_px", width);
    DIT_TRY(add_frames(b, run));
    DIT_TRY(add_references(b, height, width, run));
    if (b->holds) dit_json_put_bool(&w, run, "first_frame", true);
    dit_json_put_int(&w, run, "num_images", images);
    dit_json_put_number(&w, run, "num_inference_steps", steps);
    dit_json_put_number(&w, run, "guidance_scale", scale);
    if (true_cfg_scale(b) > 1) dit_json_put_number(&w, run, "true_cfg_scale", true_cfg_scale(b));
    add_second_scale(&w, b, scale, run);
    add_guidance_norm(&w, b, run);
    DIT_TRY(add_frame_rate(&w, b, run));
    note_silent_scale(b);
    note_lost_scale(b);
    copy_call(&w, b, run, "style");
    copy_call(&w, b, run, "image_meta_size");
    dit_json_put_int(&w, run, "seed", b->r->seed >= 0 ? b->r->seed : usual_number(b, "seed", DEFAULT_SEED));
    if (strcmp(b->r->noise, "counter") != 0) dit_json_put_string(&w, run, "noise", b->r->noise);
    return w.status;
}

static void add_more_prompts(dit_json_writer *w, const suite_request *r, cJSON *conditions)
{
    suite_text_put(w, conditions, "prompt_2", r->prompt_2);
    suite_text_put(w, conditions, "prompt_3", r->prompt_3);
    suite_text_put(w, conditions, "negative_prompt_2", r->negative_prompt_2);
    suite_text_put(w, conditions, "negative_prompt_3", r->negative_prompt_3);
    if (r->clip_skip) dit_json_put_int(w, conditions, "clip_skip", r->clip_skip);
}

static dit_status add_conditions(const suite_request_builder *b, cJSON *document)
{
    dit_json_writer w = {0};
    cJSON *conditions = dit_json_put_object(&w, document, "conditions");
    if (b->text_table[0]) {
        dit_json_put_string(&w, conditions, "kind", "captions");
        dit_json_put_string(&w, conditions, "path", b->text_table);
        if (b->r->split) {
            suite_text_put(&w, conditions, "split", b->r->split);
            dit_json_put_int(&w, conditions, "count", b->r->split_count);
            return w.status;
        }
        cJSON *list = dit_json_put_array(&w, conditions, "captions");
        for (int i = 0; i < b->r->prompt_count; i++) suite_text_put(&w, list, NULL, b->r->prompts[i]);
        return w.status;
    }
    if (b->pipeline[0]) {
        dit_json_put_string(&w, conditions, "kind", "prompts");
        dit_json_put_string(&w, conditions, "path", b->pipeline);
        cJSON *list = dit_json_put_array(&w, conditions, "prompts");
        for (int i = 0; i < b->r->prompt_count; i++) suite_text_put(&w, list, NULL, b->r->prompts[i]);
        if (b->r->negative_prompt) suite_text_put(&w, conditions, "negative_prompt", b->r->negative_prompt);
        add_more_prompts(&w, b->r, conditions);
        if (b->r->max_sequence_length)
            dit_json_put_int(&w, conditions, "max_sequence_length", b->r->max_sequence_length);
        if (b->r->clean_caption) dit_json_put_bool(&w, conditions, "clean_caption", true);
        if (b->r->text_encoder_parallel)
            suite_text_put(&w, conditions, "text_encoder_parallel", b->r->text_encoder_parallel);
        if (b->r->stream_text_encoders) dit_json_put_bool(&w, conditions, "stream_text_encoders", true);
        return w.status;
    }
    dit_json_put_string(&w, conditions, "kind", b->inputs[0] ? "safetensors" : "seeded");
    if (b->inputs[0]) dit_json_put_string(&w, conditions, "path", b->inputs);
    return w.status;
}

/* Image-to-image: the picture that sampling starts from; image-to-video: the first frame, which takes no strength, as a
 * reference takes none. */
static dit_status add_image(const suite_request_builder *b, cJSON *document)
{
    enum { USUAL_TENTHS = 6 };
    dit_json_writer w = {0};
    char path[SUITE_PATH];
    if (b->r->mask_image && !(b->r->image && b->beside))
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--mask_image: %s paints no part of a picture anew", b->name),
                              "it goes with --image and FLUX.1 Fill");
    if (!b->r->image) return DIT_OK;
    if (!b->vae || b->r->latents_only)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--image needs a VAE, which encodes the picture"),
                              "name one with --vae DIR, and a picture with --output FILE.png");
    DIT_TRY(suite_request_absolute(b->r->image, path));
    if (b->first_frame && !isnan(b->r->strength))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_USAGE, "--strength: %s makes a clip that begins with the picture", b->name),
            "leave it out: all steps are run");
    if (b->beside && !isnan(b->r->strength))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_USAGE, "--strength: the picture stands beside the latents of %s", b->name),
            "leave it out: all steps are run");
    if (b->refers && !isnan(b->r->strength))
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--strength: the picture is a reference of %s", b->name),
                              "leave it out: all steps are run, and nothing of the picture is replaced");
    double usual = b->first_frame || b->beside ? 1 : USUAL_TENTHS / 10.0;
    cJSON *image = dit_json_put_object(&w, document, "image");
    dit_json_put_string(&w, image, "path", path);
    cJSON *more = b->r->more_image_count ? dit_json_put_array(&w, image, "more") : NULL;
    for (int i = 0; i < b->r->more_image_count; i++) {
        DIT_TRY(suite_request_absolute(b->r->more_images[i], path));
        dit_json_put_string(&w, more, NULL, path);
    }
    if (b->refers) return w.status;
    dit_json_put_number(&w, image, "strength", isnan(b->r->strength) ? usual : b->r->strength);
    if (!b->r->mask_image) return w.status;
    DIT_TRY(suite_request_absolute(b->r->mask_image, path));
    dit_json_put_string(&w, image, "mask", path);
    return w.status;
}

/* Without a VAE there is no picture, which is better said before the sampling than after it. */
static dit_status check_vae(const suite_request_builder *b)
{
    if (b->vae || b->r->latents_only) return DIT_OK;
    if (b->from_catalogue)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "the VAE of %s is not supported: no picture can be made", b->name),
            "--output FILE.safetensors makes the latents alone, for another decoder");
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "%s names no VAE: no picture can be made", b->name),
                          "--vae DIR names one (config.json and weights); --output FILE.safetensors makes the latents "
                          "alone");
}

/* What LTX-Video's decoder is told: the option, the recorded call, the pipeline's default, which the engine has. */
static void add_decode_timestep(dit_json_writer *w, const suite_request_builder *b, cJSON *vae)
{
    const struct {
        const char *key;
        double asked;
    } values[] = {{"decode_timestep", b->r->decode_timestep}, {"decode_noise_scale", b->r->decode_noise_scale}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        double value = values[i].asked;
        if (isnan(value)) value = dit_json_number_or(b->call.root, values[i].key, NAN);
        if (!isnan(value)) dit_json_put_number(w, vae, values[i].key, value);
    }
}

static dit_status add_picture(suite_request_builder *b, cJSON *document, const char *file, int64_t weights_seed)
{
    dit_json_writer w = {0};
    cJSON *vae, *picture;
    if (b->vae && !b->r->latents_only) {
        vae = dit_json_put_object(&w, document, "vae");
        bool codec = is_codec(b->vae);
        hand_over(&w, vae, "config", &b->vae);
        if (!codec) DIT_TRY(add_weights(vae, b->vae_weights, weights_seed));
        dit_json_put_bool(&w, vae, "tiling", b->r->tiling);
        add_decode_timestep(&w, b, vae);
        if (b->r->vae_split) dit_json_put_string(&w, vae, "split", b->r->vae_split);
    }
    picture = dit_json_put_object(&w, document, "picture");
    dit_json_put_string(&w, picture, "file", file);
    if (b->shown) dit_json_put_int(&w, picture, "frames_per_s", b->shown);
    if (b->r->pixels && !b->r->latents_only) dit_json_put_bool(&w, picture, "pixels", true);
    dit_json_put_string(&w, picture, "frames", b->r->frames);
    if (!b->asked_height) return w.status;
    cJSON *asked = dit_json_put_object(&w, picture, "asked");
    dit_json_put_int(&w, asked, "height_px", b->asked_height);
    dit_json_put_int(&w, asked, "width_px", b->asked_width);
    dit_json_put_bool(&w, asked, "fits", b->fits);
    return w.status;
}

/* The settings with their defaults; the engine holds them against the model and the steps. */
static dit_status add_cache(const suite_request *r, cJSON *document)
{
    dit_json_writer w = {0};
    dit_json settings = {0};
    dit_cache cache;
    if (!r->cache) return DIT_OK;
    dit_status st = dit_json_parse(r->cache, strlen(r->cache), "--cache", &settings);
    if (st == DIT_OK) st = dit_cache_read(&settings, settings.root, "", 0, &cache);
    if (st == DIT_OK) dit_cache_to_json(&w, &cache, dit_json_put_object(&w, document, "cache"));
    dit_json_release(&settings);
    if (st == DIT_OK) return w.status;
    return dit_error_last()->hint[0]
               ? st
               : dit_error_hint(st, "write settings: --cache '{\"policy\": \"interval\", \"interval\": 2}'");
}

static dit_status add_placement(const suite_request *r, cJSON *document)
{
    dit_json_writer w = {0};
    cJSON *part = dit_json_put_object(&w, document, "parallel");
    dit_json_put_status(&w, dit_parallel_to_json(&r->parallel, part));
    dit_json_put_string(&w, document, "attention", r->attention);
    part = dit_json_put_object(&w, document, "platform");
    dit_json_put_string(&w, part, "name", suite_backend_platform(r->backend));
    dit_json_put_string(&w, part, "backend", r->backend);
    dit_json_put_int(&w, part, "threads_per_rank", r->threads);
    if (r->element) dit_json_put_string(&w, part, "element", r->element);
    if (r->fp8_linear) dit_json_put_bool(&w, part, "fp8_linear", true);
    if (r->no_graphs) dit_json_put_bool(&w, part, "graphs", false);
    if (!r->trace && !r->probe) return w.status;
    part = dit_json_put_object(&w, document, "measure");
    if (r->trace) dit_json_put_bool(&w, part, "trace", true);
    if (r->probe) dit_json_put_bool(&w, part, "probe", true);
    return w.status;
}

/* FLUX.1 Fill, Depth and Canny have more channels in than out. */
static bool takes_beside(const cJSON *config)
{
    double in = dit_json_number_or(config, "in_channels", 64), out = dit_json_number_or(config, "out_channels", in);
    return strcmp(dit_json_text_or(config, "_class_name", ""), "FluxTransformer2DModel") == 0 && in > out;
}

static dit_status fill(suite_request_builder *b, const char *file, cJSON *document)
{
    dit_json_writer w = {0};
    int64_t weights_seed;
    DIT_TRY(suite_request_take_source(b));
    DIT_TRY(suite_request_take_options(b));
    DIT_TRY(check_vae(b));
    DIT_TRY(suite_request_find_text(b));
    DIT_TRY(shift_scheduler(b));
    DIT_TRY(find_twin(b));
    b->holds = b->r->image && (b->holds || cJSON_IsTrue(dit_json_member(b->model.default_run, "first_frame")));
    b->first_frame = b->holds || cJSON_IsNumber(dit_json_member(b->config, "image_dim"));
    if (b->needs_picture && !b->r->image)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "%s makes a clip of a picture, and there is none", b->class_name),
                              "--image FILE gives the first frame");
    b->beside = takes_beside(b->config);
    b->refers = b->refers || cJSON_IsTrue(dit_json_member(b->model.default_run, "reference"));
    weights_seed = b->r->weights_seed >= 0 ? b->r->weights_seed : usual_number(b, "weights_seed", DEFAULT_WEIGHTS_SEED);
    dit_json_put_string(&w, document, "schema", "ditbench.case/1");
    dit_json_put_string(&w, document, "program", "generate");
    DIT_TRY(add_run(b, document));
    DIT_TRY(add_model(b, document, weights_seed));
    hand_over(&w, document, "scheduler", &b->scheduler);
    DIT_TRY(add_cache(b->r, document));
    DIT_TRY(dit_offload_put(&b->r->offload, document));
    DIT_TRY(add_conditions(b, document));
    DIT_TRY(add_image(b, document));
    DIT_TRY(add_picture(b, document, file, weights_seed));
    dit_json_put_status(&w, add_placement(b->r, document));
    return w.status;
}

dit_status suite_request_case(const suite_request *request, const char *picture, cJSON **out, char **notes)
{
    suite_request_builder b = {.r = request};
    *notes = NULL;
    dit_json_writer w = {0};
    *out = dit_json_new_object(&w);
    dit_status st = *out ? fill(&b, picture, *out) : w.status;
    if (st == DIT_OK) {
        dit_buffer_text(&b.notes, "");
        *notes = b.notes.data ? strdup(b.notes.data) : strdup("");
        if (!*notes || b.notes.failed) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for notes");
    }
    if (st != DIT_OK) {
        cJSON_Delete(*out);
        free(*notes);
        *out = NULL;
        *notes = NULL;
    }
    cJSON_Delete(b.config);
    cJSON_Delete(b.scheduler);
    cJSON_Delete(b.vae);
    dit_json_release(&b.call);
    suite_model_release(&b.model);
    dit_buffer_release(&b.notes);
    return st;
}
