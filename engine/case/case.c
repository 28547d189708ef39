#include "engine/case/case.h"

#include "base/case_facts.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/legality.h"
#include "base/patches.h"
#include "base/words.h"
#include "engine/files/config.h"
#include "engine/case/platform.h"
#include "engine/shapes/edit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEED_BITS = 53 };

const char *const dit_noise_names[] = {"counter", "torch", "torch-each", NULL};

dit_status dit_case_read_weights(const dit_json *doc, const cJSON *object, const char *pointer, const char **path,
                                 uint64_t *seed)
{
    static const char *const keys[] = {"kind", "seed", "path", NULL};
    const char *kind;
    int64_t number = 0;
    *path = NULL;
    DIT_TRY(dit_json_only_keys(doc, object, pointer, keys));
    DIT_TRY(dit_json_require_string(doc, object, pointer, "kind", &kind));
    if (strcmp(kind, "safetensors") == 0) return dit_json_require_string(doc, object, pointer, "path", path);
    if (strcmp(kind, "seeded") != 0)
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "kind \"%s\" is neither seeded nor safetensors", kind);
    DIT_TRY(dit_json_require_int(doc, object, pointer, "seed", 0, INT64_C(1) << MAX_SEED_BITS, &number));
    *seed = (uint64_t)number;
    return DIT_OK;
}

/* Reads {"kind": "shipped", "name": "shapes-pixart", "digest": "xxh3:..."}: a case names no folder of this machine. */
static dit_status read_shipped(const dit_json *doc, const cJSON *weights, dit_case *out)
{
    static const char *const keys[] = {"kind", "name", "digest", NULL};
    DIT_TRY(dit_json_only_keys(doc, weights, "/model/weights", keys));
    DIT_TRY(dit_json_require_string(doc, weights, "/model/weights", "name", &out->shipped));
    return dit_json_require_string(doc, weights, "/model/weights", "digest", &out->shipped_digest);
}

/* Reads {"boundary_ratio": 0.875, "weights": {...}}. */
static dit_status read_second(const dit_json *doc, const cJSON *model, dit_case *out)
{
    static const char *const keys[] = {"boundary_ratio", "weights", NULL}, at[] = "/model/transformer_2";
    const cJSON *second = NULL, *weights;
    DIT_TRY(dit_json_optional_object(doc, model, "/model", "transformer_2", &second));
    out->two_transformers = second != NULL;
    if (!second) return DIT_OK;
    DIT_TRY(dit_json_only_keys(doc, second, at, keys));
    DIT_TRY(dit_json_require_number(doc, second, at, "boundary_ratio", 0, 1, &out->boundary_ratio));
    DIT_TRY(dit_json_require_object(doc, second, at, "weights", &weights));
    return dit_case_read_weights(doc, weights, "/model/transformer_2/weights", &out->second_path, &out->second_seed);
}

/* Blocks that a cache, an edit or a second transformer leaves out or adds come in no cycle. */
static dit_status read_offload(const dit_json *doc, dit_case *out)
{
    const cJSON *offload = NULL;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "offload", &offload));
    DIT_TRY(dit_offload_read(doc, offload, "/offload", &out->offload));
    if (out->offload.tier == DIT_OFFLOAD_NONE) return DIT_OK;
    if (out->parallel.fsdp_degree > 1)
        return dit_json_fail(doc, "/offload", DIT_ERR_CONSTRAINT_METHOD,
                             "beside fsdp_degree %d: weights in shards are gathered from ranks, not read",
                             out->parallel.fsdp_degree);
    if (!out->two_transformers) return DIT_OK;
    return dit_json_fail(doc, "/offload", DIT_ERR_UNSUPPORTED, "weights of two transformers do not stream");
}

static dit_status read_model(const dit_json *doc, dit_case *out)
{
    static const char *const keys[] = {"name",       "config",  "latent",      "text",          "guidance",
                                       "parameters", "weights", "vae_spatial", "transformer_2", NULL};
    const cJSON *model, *text = NULL, *latent = NULL, *weights;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "model", &model));
    DIT_TRY(dit_json_only_keys(doc, model, "/model", keys));
    DIT_TRY(dit_json_require_object(doc, model, "/model", "config", &out->model_config));
    DIT_TRY(dit_json_optional_object(doc, model, "/model", "latent", &latent));
    DIT_TRY(dit_json_optional_object(doc, model, "/model", "text", &text));
    if (text) DIT_TRY(dit_json_optional_int(doc, text, "/model/text", "tokens", 1, 1 << 20, &out->text_tokens));
    DIT_TRY(dit_json_optional_int(doc, model, "/model", "vae_spatial", 1, 64, &out->vae_spatial));
    out->has_facts = text && latent;
    DIT_TRY(read_second(doc, model, out));
    DIT_TRY(dit_json_require_object(doc, model, "/model", "weights", &weights));
    if (strcmp(dit_json_text_or(weights, "kind", ""), "shipped") == 0) return read_shipped(doc, weights, out);
    return dit_case_read_weights(doc, weights, "/model/weights", &out->weights_path, &out->weights_seed);
}

static dit_status read_sizes(const dit_json *doc, const cJSON *run, dit_case *out)
{
    const cJSON *sizes = NULL;
    out->num_images = out->num_frames = 1;
    DIT_TRY(dit_json_require_int(doc, run, "/run", "height_px", 1, 1 << 20, &out->run.height_px));
    DIT_TRY(dit_json_require_int(doc, run, "/run", "width_px", 1, 1 << 20, &out->run.width_px));
    DIT_TRY(dit_json_optional_int(doc, run, "/run", "num_images", 1, 4096, &out->num_images));
    DIT_TRY(dit_json_optional_int(doc, run, "/run", "num_frames", 1, 1 << 20, &out->num_frames));
    DIT_TRY(dit_json_optional_number(doc, run, "/run", "style", 0, 1e6, &out->run.style));
    DIT_TRY(dit_json_optional_array(doc, run, "/run", "image_meta_size", &sizes));
    if (sizes && cJSON_GetArraySize(sizes) != 6)
        return dit_json_fail(doc, "/run/image_meta_size", DIT_ERR_JSON_VALUE, "six numbers expected");
    for (int i = 0; sizes && i < 6; i++) {
        const cJSON *item = cJSON_GetArrayItem(sizes, i);
        if (!cJSON_IsNumber(item))
            return dit_json_fail(doc, "/run/image_meta_size", DIT_ERR_JSON_TYPE, "six numbers expected");
        out->run.meta_size[i] = item->valuedouble;
    }
    return DIT_OK;
}

/* Reads {"height_px", "width_px"} under a key of a reference, which may be absent. */
static dit_status read_reference_size(const dit_json *doc, const cJSON *reference, const char *key,
                                      int64_t least_height, int64_t least_width, int64_t *height, int64_t *width)
{
    static const char *const keys[] = {"height_px", "width_px", NULL};
    const cJSON *size = NULL;
    char at[64];
    snprintf(at, sizeof at, "/run/reference/%s", key);
    DIT_TRY(dit_json_optional_object(doc, reference, "/run/reference", key, &size));
    if (!size) return DIT_OK;
    DIT_TRY(dit_json_only_keys(doc, size, at, keys));
    DIT_TRY(dit_json_require_int(doc, size, at, "height_px", least_height, 1 << 20, height));
    return dit_json_require_int(doc, size, at, "width_px", least_width, 1 << 20, width);
}

/* Reads {"height_px", "width_px", "cut": SIZE, "seen": SIZE} of a picture that stands behind the latent. */
static dit_status read_reference(const dit_json *doc, const cJSON *reference, dit_case *out)
{
    static const char *const keys[] = {"height_px", "width_px", "cut", "seen", NULL}, at[] = "/run/reference";
    if (out->reference_count == DIT_MOST_REFERENCES)
        return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "more than %d references", DIT_MOST_REFERENCES);
    dit_case_reference *to = &out->references[out->reference_count++];
    DIT_TRY(dit_json_only_keys(doc, reference, at, keys));
    DIT_TRY(dit_json_require_int(doc, reference, at, "height_px", 1, 1 << 20, &to->height_px));
    DIT_TRY(dit_json_require_int(doc, reference, at, "width_px", 1, 1 << 20, &to->width_px));
    DIT_TRY(read_reference_size(doc, reference, "seen", 1, 1, &to->seen_height_px, &to->seen_width_px));
    return read_reference_size(doc, reference, "cut", to->height_px, to->width_px, &to->cut_height_px,
                               &to->cut_width_px);
}

/* One, or a list of them. */
static dit_status read_references(const dit_json *doc, const cJSON *run, dit_case *out)
{
    const cJSON *reference = dit_json_member(run, "reference"), *item;
    if (!cJSON_IsArray(reference)) {
        DIT_TRY(dit_json_optional_object(doc, run, "/run", "reference", &reference));
        return reference ? read_reference(doc, reference, out) : DIT_OK;
    }
    cJSON_ArrayForEach(item, reference)
    {
        if (!cJSON_IsObject(item))
            return dit_json_fail(doc, "/run/reference", DIT_ERR_JSON_TYPE, "a reference is not an object");
        DIT_TRY(read_reference(doc, item, out));
    }
    return DIT_OK;
}

static dit_status read_run(const dit_json *doc, dit_case *out)
{
    static const char *const keys[] = {"height_px",
                                       "width_px",
                                       "num_frames",
                                       "num_images",
                                       "num_inference_steps",
                                       "guidance_scale",
                                       "style",
                                       "image_meta_size",
                                       "seed",
                                       "true_cfg_scale",
                                       "cfg_normalization",
                                       "cfg_trunc_ratio",
                                       "cfg_truncation",
                                       "guidance_rescale",
                                       "noise",
                                       "frame_rate",
                                       "guidance_scale_2",
                                       "reference",
                                       "first_frame",
                                       NULL};
    const char *noise = dit_noise_names[DIT_NOISE_COUNTER];
    const cJSON *run;
    int64_t seed, steps;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "run", &run));
    DIT_TRY(dit_json_only_keys(doc, run, "/run", keys));
    DIT_TRY(read_sizes(doc, run, out));
    DIT_TRY(read_references(doc, run, out));
    DIT_TRY(dit_json_optional_bool(doc, run, "/run", "first_frame", &out->first_frame));
    DIT_TRY(dit_json_require_int(doc, run, "/run", "num_inference_steps", 1, 10000, &steps));
    DIT_TRY(dit_json_require_int(doc, run, "/run", "seed", 0, INT64_C(1) << MAX_SEED_BITS, &seed));
    out->run.guidance_scale = 1.0;
    DIT_TRY(dit_json_optional_number(doc, run, "/run", "guidance_scale", -1000, 1000, &out->run.guidance_scale));
    out->guidance_scale_2 = out->run.guidance_scale;
    DIT_TRY(dit_json_optional_number(doc, run, "/run", "guidance_scale_2", -1000, 1000, &out->guidance_scale_2));
    if (dit_json_member(run, "guidance_scale_2") && !out->two_transformers)
        return dit_json_fail(doc, "/run/guidance_scale_2", DIT_ERR_JSON_VALUE, "the model has no second transformer");
    DIT_TRY(dit_json_optional_number(doc, run, "/run", "true_cfg_scale", 0, 1000, &out->true_cfg_scale));
    DIT_TRY(dit_json_optional_number(doc, run, "/run", "frame_rate", 1, 1000, &out->run.frame_rate));
    out->cfg_trunc_ratio = out->cfg_truncation = 1;
    DIT_TRY(dit_json_optional_number(doc, run, "/run", "cfg_normalization", 0, 1000, &out->cfg_normalization));
    DIT_TRY(dit_json_optional_number(doc, run, "/run", "cfg_trunc_ratio", 0, 1, &out->cfg_trunc_ratio));
    DIT_TRY(dit_json_optional_number(doc, run, "/run", "cfg_truncation", 0, 1, &out->cfg_truncation));
    DIT_TRY(dit_json_optional_number(doc, run, "/run", "guidance_rescale", 0, 1, &out->guidance_rescale));
    DIT_TRY(dit_json_optional_string(doc, run, "/run", "noise", &noise));
    int kind = dit_words_find(dit_noise_names, noise);
    if (kind < 0) return dit_json_fail_word(doc, "/run/noise", "noise", noise, dit_noise_names);
    out->noise = (dit_noise)kind;
    out->steps = (int)steps;
    out->seed = (uint64_t)seed;
    return DIT_OK;
}

/* Reads the files of references: the image, and "more" behind it. */
static dit_status read_reference_paths(const dit_json *doc, const cJSON *image, dit_case *out)
{
    const cJSON *more = NULL, *item;
    int count = 0;
    DIT_TRY(dit_json_optional_array(doc, image, "/image", "more", &more));
    if (out->reference_count) out->references[count++].path = out->image_path;
    cJSON_ArrayForEach(item, more)
    {
        if (!cJSON_IsString(item))
            return dit_json_fail(doc, "/image/more", DIT_ERR_JSON_TYPE, "a file is not a string");
        if (count < out->reference_count) out->references[count].path = item->valuestring;
        count++;
    }
    if (count == out->reference_count) return DIT_OK;
    return dit_json_fail(doc, "/image/more", DIT_ERR_JSON_VALUE, "%d pictures for %d references", count,
                         out->reference_count);
}

/* Reads {"path": "FILE", "strength": 0.6, "mask": "FILE", "more": ["FILE"]}. As diffusers' get_timesteps: the last int(N * strength) steps
 * are run; beside a reference, which the noise does not lie over, all are. */
static dit_status read_image(const dit_json *doc, dit_case *out)
{
    static const char *const keys[] = {"path", "strength", "mask", "more", NULL};
    const cJSON *image = NULL;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "image", &image));
    if (!image) return DIT_OK;
    out->strength = 0.6;
    DIT_TRY(dit_json_only_keys(doc, image, "/image", keys));
    DIT_TRY(dit_json_require_string(doc, image, "/image", "path", &out->image_path));
    DIT_TRY(dit_json_optional_string(doc, image, "/image", "mask", &out->mask_path));
    DIT_TRY(read_reference_paths(doc, image, out));
    if (out->reference_count && dit_json_member(image, "strength"))
        return dit_json_fail(doc, "/image/strength", DIT_ERR_JSON_VALUE,
                             "the picture is a reference, of which nothing is replaced");
    if (out->reference_count && out->mask_path)
        return dit_json_fail(doc, "/image/mask", DIT_ERR_JSON_VALUE,
                             "the picture is a reference, of which nothing is painted anew");
    if (out->reference_count) return DIT_OK;
    DIT_TRY(dit_json_optional_number(doc, image, "/image", "strength", 0, 1, &out->strength));
    double run = (double)out->steps * out->strength < out->steps ? (double)out->steps * out->strength : out->steps;
    out->first_step = (int)(out->steps - run);
    if (out->first_step < out->steps) {
        out->steps -= out->first_step;
        return DIT_OK;
    }
    return dit_error_hint(dit_json_fail(doc, "/image/strength", DIT_ERR_JSON_VALUE,
                                        "strength %g of %d steps leaves none to run", out->strength, out->steps),
                          "raise the strength or the number of steps");
}

/* Checks a caption against the grammar, and that it says motions where there are several frames and only there: a model
 * of pictures never saw the words of motions, and one of clips never saw an object without. */
static dit_status check_caption(const dit_json *doc, const char *at, const char *text, const dit_case *kase)
{
    dit_caption parsed;
    DIT_TRY(dit_caption_parse(text, &parsed));
    if (parsed.clip == (kase->num_frames > 1)) return DIT_OK;
    if (parsed.clip)
        return dit_error_hint(dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "a caption of a clip, but there is one frame"),
                              "leave out what moves (\"still\", \"moving left\", ...), or ask for frames");
    return dit_error_hint(dit_json_fail(doc, at, DIT_ERR_JSON_VALUE,
                                        "a caption of a picture, but there are %lld frames",
                                        (long long)kase->num_frames),
                          "end each object with \"still\" or \"moving left\" (right, up, down)");
}

/* Reads the captions of a split: {"split": "held-out", "count": 512}. */
static dit_status read_split(const dit_json *doc, const cJSON *conditions, dit_case *out)
{
    const char *name;
    int64_t count;
    if (out->captions)
        return dit_json_fail(doc, "/conditions", DIT_ERR_JSON_VALUE, "captions are listed or of a split, not both");
    DIT_TRY(dit_json_require_string(doc, conditions, "/conditions", "split", &name));
    DIT_TRY(dit_json_require_int(doc, conditions, "/conditions", "count", 1, DIT_CASE_MAX_CAPTIONS, &count));
    int split = dit_words_find(dit_split_names, name);
    if (split < 0) return dit_json_fail_word(doc, "/conditions/split", "split", name, dit_split_names);
    out->split = (dit_split)split;
    out->split_count = (int)count;
    DIT_TRY(dit_json_optional_bool(doc, conditions, "/conditions", "edits", &out->edits));
    if (!out->edits || out->num_frames == 1) return DIT_OK;
    return dit_json_fail(doc, "/conditions/edits", DIT_ERR_JSON_VALUE,
                         "edits are of pictures, and there are %lld frames", (long long)out->num_frames);
}

/* Reads the captions and checks each, so that a mistake is told with its place. */
static dit_status read_captions(const dit_json *doc, const cJSON *conditions, dit_case *out)
{
    const cJSON *item;
    int count = 0;
    char at[64];
    DIT_TRY(dit_json_optional_string(doc, conditions, "/conditions", "shipped", &out->text_shipped));
    if (!out->text_shipped)
        DIT_TRY(dit_json_require_string(doc, conditions, "/conditions", "path", &out->text_table));
    else if (dit_json_member(conditions, "path"))
        return dit_json_fail(doc, "/conditions", DIT_ERR_JSON_VALUE, "captions are looked up in one folder, not two");
    DIT_TRY(dit_json_optional_array(doc, conditions, "/conditions", "captions", &out->captions));
    out->text_tokens = DIT_CAPTION_SLOTS;
    if (dit_json_member(conditions, "split") || dit_json_member(conditions, "count"))
        return read_split(doc, conditions, out);
    if (dit_json_member(conditions, "edits"))
        return dit_json_fail(doc, "/conditions/edits", DIT_ERR_JSON_VALUE, "edits are those of a split's captions");
    cJSON_ArrayForEach(item, out->captions)
    {
        snprintf(at, sizeof at, "/conditions/captions/%d", count);
        if (!cJSON_IsString(item)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "a caption is a text");
        if (count++ == DIT_CASE_MAX_CAPTIONS)
            return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "more than %d captions", DIT_CASE_MAX_CAPTIONS);
        DIT_TRY(check_caption(doc, at, item->valuestring, out));
    }
    if (count) return DIT_OK;
    return dit_json_fail(doc, "/conditions/captions", DIT_ERR_JSON_MISSING, "at least one caption is expected");
}

int64_t dit_case_caption_count(const dit_case *kase)
{
    return kase->split_count ? kase->split_count : cJSON_GetArraySize(kase->captions);
}

/* Returns caption `index` of the case's split; of edits the one before or after. */
static dit_caption caption_of_split(const dit_case *kase, int index, bool before)
{
    dit_caption caption;
    dit_edit edit;
    if (!kase->edits) {
        dit_split_caption(kase->split, kase->num_frames > 1, (uint64_t)index, &caption);
        return caption;
    }
    dit_edit_draw(kase->split, (uint64_t)index, &edit);
    return before ? edit.before : edit.after;
}

static dit_status list_captions(const dit_case *kase, bool before, const char ***out)
{
    const cJSON *item;
    const char **next = *out = malloc((size_t)dit_case_caption_count(kase) * (sizeof **out + DIT_CAPTION_TEXT));
    if (!next) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for captions");
    char *text = (char *)(next + dit_case_caption_count(kase));
    cJSON_ArrayForEach(item, kase->captions) *next++ = item->valuestring;
    for (int i = 0; i < kase->split_count; i++, text += DIT_CAPTION_TEXT) {
        dit_caption caption = caption_of_split(kase, i, before);
        dit_caption_print(&caption, text);
        *next++ = text;
    }
    return DIT_OK;
}

dit_status dit_case_captions(const dit_case *kase, const char ***out, int64_t *count)
{
    *count = dit_case_caption_count(kase);
    return list_captions(kase, false, out);
}

dit_status dit_case_captions_before(const dit_case *kase, const char ***out)
{
    return list_captions(kase, true, out);
}

/* Reads how the text encoders run: "text_encoder_parallel" and "stream_text_encoders". */
static dit_status read_text_encoders(const dit_json *doc, const cJSON *conditions, dit_case *out)
{
    const char *way = dit_text_parallel_name(DIT_TEXT_REPLICATED);
    DIT_TRY(dit_json_optional_string(doc, conditions, "/conditions", "text_encoder_parallel", &way));
    DIT_TRY(dit_json_optional_bool(doc, conditions, "/conditions", "stream_text_encoders", &out->stream_text_encoders));
    if (dit_text_parallel_from_name(way, &out->text_encoder_parallel)) return DIT_OK;
    return dit_json_fail_word(doc, "/conditions/text_encoder_parallel", "text_encoder_parallel", way,
                              dit_text_parallel_names());
}

/* Reads "weights" of the text encoders: {"kind": "seeded", "seed": 7}; without it they are the folder's. */
static dit_status read_encoder_weights(const dit_json *doc, const cJSON *conditions, dit_case *out)
{
    const cJSON *weights = NULL;
    const char *path;
    DIT_TRY(dit_json_optional_object(doc, conditions, "/conditions", "weights", &weights));
    if (!weights) return DIT_OK;
    DIT_TRY(dit_case_read_weights(doc, weights, "/conditions/weights", &path, &out->encoders_seed));
    out->seeded_text_encoders = !path;
    if (!path) return DIT_OK;
    return dit_error_hint(dit_json_fail(doc, "/conditions/weights", DIT_ERR_JSON_VALUE,
                                        "text encoders have seeded weights or those of their folder"),
                          "leave weights out for the folder's");
}

/* Reads "prompt_2", "prompt_3", "negative_prompt_2", "negative_prompt_3" and "clip_skip", each of which may be absent. */
static dit_status read_more_prompts(const dit_json *doc, const cJSON *conditions, dit_case *out)
{
    enum { MOST_BLOCKS = 256 };
    static const char *const keys[DIT_CASE_MORE_PROMPTS][2] = {{"prompt_2", "negative_prompt_2"},
                                                               {"prompt_3", "negative_prompt_3"}};
    for (int i = 0; i < DIT_CASE_MORE_PROMPTS; i++) {
        DIT_TRY(dit_json_optional_string(doc, conditions, "/conditions", keys[i][0], &out->prompt_more[i]));
        DIT_TRY(dit_json_optional_string(doc, conditions, "/conditions", keys[i][1], &out->negative_more[i]));
    }
    return dit_json_optional_int(doc, conditions, "/conditions", "clip_skip", 0, MOST_BLOCKS, &out->clip_skip);
}

/* Reads {"kind": "prompts", "path": FOLDER, "prompts": [...], "negative_prompt": "", "max_sequence_length": 256,
 * "clean_caption": false}, and what read_more_prompts, read_text_encoders and read_encoder_weights read. */
static dit_status read_prompts(const dit_json *doc, const cJSON *conditions, dit_case *out)
{
    const cJSON *item;
    char at[64];
    int count = 0;
    out->negative_prompt = "";
    DIT_TRY(dit_json_require_string(doc, conditions, "/conditions", "path", &out->pipeline));
    DIT_TRY(dit_json_optional_array(doc, conditions, "/conditions", "prompts", &out->prompts));
    DIT_TRY(dit_json_optional_string(doc, conditions, "/conditions", "negative_prompt", &out->negative_prompt));
    DIT_TRY(dit_json_optional_int(doc, conditions, "/conditions", "max_sequence_length", 1, 1 << 16,
                                  &out->max_sequence_length));
    DIT_TRY(dit_json_optional_bool(doc, conditions, "/conditions", "clean_caption", &out->clean_caption));
    DIT_TRY(read_more_prompts(doc, conditions, out));
    DIT_TRY(read_text_encoders(doc, conditions, out));
    DIT_TRY(read_encoder_weights(doc, conditions, out));
    cJSON_ArrayForEach(item, out->prompts)
    {
        snprintf(at, sizeof at, "/conditions/prompts/%d", count++);
        if (!cJSON_IsString(item)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "a prompt is a text");
    }
    if (count == 0)
        return dit_json_fail(doc, "/conditions/prompts", DIT_ERR_JSON_MISSING, "at least one prompt is expected");
    if (out->num_images % count == 0) return DIT_OK;
    return dit_error_hint(dit_json_fail(doc, "/conditions/prompts", DIT_ERR_JSON_VALUE, "%d prompts for %lld images",
                                        count, (long long)out->num_images),
                          "give each prompt the same number of images");
}

static dit_status read_conditions(const dit_json *doc, dit_case *out)
{
    static const char *const keys[] = {"kind",
                                       "path",
                                       "shipped",
                                       "captions",
                                       "split",
                                       "count",
                                       "edits",
                                       "prompts",
                                       "negative_prompt",
                                       "prompt_2",
                                       "prompt_3",
                                       "negative_prompt_2",
                                       "negative_prompt_3",
                                       "clip_skip",
                                       "max_sequence_length",
                                       "clean_caption",
                                       "text_encoder_parallel",
                                       "stream_text_encoders",
                                       "weights",
                                       NULL};
    const cJSON *conditions = NULL;
    const char *kind;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "conditions", &conditions));
    if (!conditions) return DIT_OK;
    DIT_TRY(dit_json_only_keys(doc, conditions, "/conditions", keys));
    DIT_TRY(dit_json_require_string(doc, conditions, "/conditions", "kind", &kind));
    if (strcmp(kind, "seeded") == 0) return DIT_OK;
    if (strcmp(kind, "captions") == 0) return read_captions(doc, conditions, out);
    if (strcmp(kind, "prompts") == 0) return read_prompts(doc, conditions, out);
    if (strcmp(kind, "safetensors") != 0)
        return dit_json_fail(doc, "/conditions/kind", DIT_ERR_JSON_VALUE,
                             "\"%s\" is neither seeded nor captions nor prompts nor safetensors", kind);
    return dit_json_require_string(doc, conditions, "/conditions", "path", &out->conditions_path);
}

dit_status dit_case_read_measure(const dit_json *doc, dit_case *out)
{
    static const char *const keys[] = {"warmup_runs", "warmup_most", "iterations",     "trace", "probe",
                                       "gemm",        "scope",       "prompts_differ", NULL};
    const cJSON *measure = NULL;
    int64_t warmup_runs = 1, warmup_most = 0, iterations = 1;
    const char *scope = dit_request_scopes()[DIT_SCOPE_DENOISE];
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "measure", &measure));
    if (measure) {
        DIT_TRY(dit_json_only_keys(doc, measure, "/measure", keys));
        DIT_TRY(
            dit_json_optional_int(doc, measure, "/measure", "warmup_runs", 0, DIT_CASE_MAX_ITERATIONS, &warmup_runs));
        DIT_TRY(
            dit_json_optional_int(doc, measure, "/measure", "warmup_most", 2, DIT_CASE_MAX_ITERATIONS, &warmup_most));
        DIT_TRY(dit_json_optional_int(doc, measure, "/measure", "iterations", 1, DIT_CASE_MAX_ITERATIONS, &iterations));
        DIT_TRY(dit_json_optional_bool(doc, measure, "/measure", "trace", &out->trace));
        DIT_TRY(dit_json_optional_bool(doc, measure, "/measure", "probe", &out->probe));
        DIT_TRY(dit_json_optional_bool(doc, measure, "/measure", "gemm", &out->gemm));
        DIT_TRY(dit_json_optional_string(doc, measure, "/measure", "scope", &scope));
    }
    int covers = dit_words_find(dit_request_scopes(), scope);
    if (covers < 0) return dit_json_fail_word(doc, "/measure/scope", "scope", scope, dit_request_scopes());
    out->scope = (dit_request_scope)covers;
    out->warmup_runs = (int)warmup_runs;
    out->warmup_most = (int)warmup_most;
    out->iterations = (int)iterations;
    return DIT_OK;
}

static bool can_emulate(const char *attention)
{
    return strcmp(attention, "auto") == 0 || strcmp(attention, "local") == 0 || strcmp(attention, "oracle") == 0;
}

static dit_status read_cache(const dit_json *doc, dit_case *out)
{
    const cJSON *cache = NULL;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "cache", &cache));
    return cache ? dit_cache_read(doc, cache, "/cache", out->steps, &out->cache) : DIT_OK;
}

static dit_status read_edit_plan(const dit_json *doc, const cJSON *object, const char *pointer, dit_case *out)
{
    DIT_TRY(dit_edit_plan_read(doc, object, pointer, &out->edit));
    if (out->edits && out->cache.policy == DIT_CACHE_NONE) return DIT_OK;
    if (out->edits) return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "the case has a cache beside its edit");
    return dit_error_hint(dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "the case has no captions that were edited"),
                          "give conditions of kind captions with a split and \"edits\": true");
}

static dit_status read_edit(const dit_json *doc, dit_case *out)
{
    const cJSON *edit = NULL;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "edit", &edit));
    if (edit && out->for_guest)
        return dit_json_fail(doc, "/edit", DIT_ERR_UNSUPPORTED,
                             "which rows an edit changes is found out by computing; it cannot be simulated");
    return edit ? read_edit_plan(doc, edit, "/edit", out) : DIT_OK;
}

/* Reads {"edit": {...}} of `emulates`. */
static dit_status read_emulated_edit(const dit_json *doc, const cJSON *emulates, dit_case *out)
{
    static const char *const keys[] = {"edit", NULL};
    DIT_TRY(dit_json_only_keys(doc, emulates, "/emulates", keys));
    if (out->edit.dense_steps)
        return dit_json_fail(doc, "/emulates/edit", DIT_ERR_JSON_VALUE, "the case has an edit of its own beside it");
    out->emulates = false, out->emulates_edit = true;
    return read_edit_plan(doc, dit_json_member(emulates, "edit"), "/emulates/edit", out);
}

/* Reads {"cache": {...}, "mesh"?: {...}, "data_degree": 1} of `emulates`: the cache that one rank emulates, alone or on a
 * mesh with stale steps. */
static dit_status read_emulated_cache(const dit_json *doc, const cJSON *emulates, dit_case *out)
{
    static const char *const keys[] = {"cache", "mesh", "data_degree", NULL};
    const cJSON *cache, *mesh = NULL;
    int64_t groups = 1;
    DIT_TRY(dit_json_only_keys(doc, emulates, "/emulates", keys));
    DIT_TRY(dit_json_require_object(doc, emulates, "/emulates", "cache", &cache));
    if (out->cache.policy != DIT_CACHE_NONE)
        return dit_json_fail(doc, "/emulates/cache", DIT_ERR_JSON_VALUE, "the case has a cache of its own beside it");
    DIT_TRY(dit_json_optional_int(doc, emulates, "/emulates", "data_degree", 1, 4096, &groups));
    if (out->num_images % groups)
        return dit_json_fail(doc, "/emulates/data_degree", DIT_ERR_JSON_VALUE, "%lld ranks cannot share %lld images",
                             (long long)groups, (long long)out->num_images);
    out->emulated_groups = (int)groups;
    DIT_TRY(dit_json_optional_object(doc, emulates, "/emulates", "mesh", &mesh));
    out->emulates = mesh != NULL;
    if (mesh) DIT_TRY(dit_parallel_from_json(doc, mesh, "/emulates/mesh", &out->emulated));
    return dit_cache_read(doc, cache, "/emulates/cache", out->steps, &out->emulated_cache);
}

/* Reads `emulates`: the mesh, the cache or the edit that one rank emulates. */
static dit_status read_emulated(const dit_json *doc, dit_case *out)
{
    const dit_parallel *emulated = &out->emulated;
    const cJSON *emulates = NULL;
    int ranks = dit_parallel_world_size(&out->parallel);
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "emulates", &emulates));
    if (!emulates) return DIT_OK;
    bool of_cache = dit_json_member(emulates, "cache") != NULL, of_edit = dit_json_member(emulates, "edit") != NULL;
    out->emulates = true;
    DIT_TRY(of_edit    ? read_emulated_edit(doc, emulates, out)
            : of_cache ? read_emulated_cache(doc, emulates, out)
                       : dit_parallel_from_json(doc, emulates, "/emulates", &out->emulated));
    if (ranks > 1)
        return dit_error_hint(
            dit_json_fail(doc, "/emulates", DIT_ERR_JSON_VALUE, "emulation needs one rank, but parallel has %d", ranks),
            "leave parallel out");
    if (!out->emulates) return DIT_OK;
    if (emulated->degree[DIT_AXIS_PIPEFUSION] <= 1 && emulated->degree[DIT_AXIS_PATCH] <= 1)
        return dit_error_hint(dit_json_fail(doc, "/emulates", DIT_ERR_JSON_VALUE,
                                            "neither pipefusion_degree nor patch_degree is above 1"),
                              "only pipelines and displaced patches have stale steps to emulate");
    if (!can_emulate(out->attention))
        return dit_json_fail(doc, "/attention", DIT_ERR_JSON_VALUE, "attention \"%s\" cannot emulate; use \"auto\"",
                             out->attention);
    return DIT_OK;
}

dit_status dit_case_settle_emulated(dit_case *kase)
{
    if (!kase->emulates) return DIT_OK;
    dit_status st = dit_parallel_check(&kase->emulated, &kase->facts);
    if (st != DIT_OK) return dit_error_note(st, "in the mesh that the case emulates");
    kase->emulated = dit_parallel_emulated(&kase->emulated, &kase->facts);
    return DIT_OK;
}

dit_status dit_case_check_caches(const dit_case *kase)
{
    DIT_TRY(dit_edit_plan_check(&kase->edit, &kase->parallel, &kase->facts));
    DIT_TRY(dit_cache_check(&kase->cache, kase->emulates ? &kase->emulated : &kase->parallel, &kase->facts));
    dit_parallel mesh = kase->emulates ? kase->emulated : kase->parallel; /* an oracle decides apart on one rank, too */
    if (kase->emulated_cache.separate) mesh.degree[DIT_AXIS_CFG] = (int)kase->facts.guidance_branches;
    dit_status st = dit_cache_check(&kase->emulated_cache, &mesh, &kase->facts);
    return st == DIT_OK ? st : dit_error_note(st, "in the cache that the case emulates");
}

double dit_case_guidance(const dit_case *kase)
{
    if (kase->facts.guidance_branches < 2) return 1;
    return kase->true_cfg_scale > 1 ? kase->true_cfg_scale : kase->run.guidance_scale;
}

int dit_case_stale_steps(const dit_case *kase)
{
    return dit_parallel_stale_steps(kase->emulates ? &kase->emulated : &kase->parallel, &kase->facts);
}

bool dit_case_is_approximate(const dit_case *kase)
{
    bool cached = kase->cache.policy != DIT_CACHE_NONE || kase->emulated_cache.policy != DIT_CACHE_NONE;
    return dit_case_stale_steps(kase) > 0 || cached || kase->edit.dense_steps || kase->fp8_linear;
}

dit_status dit_case_hash(const dit_json *doc, char out[33])
{
    char *canonical;
    DIT_TRY(dit_json_canonical(doc->root, &canonical));
    dit_hash(canonical, strlen(canonical), out);
    free(canonical);
    return DIT_OK;
}

dit_status dit_case_read(const dit_json *doc, dit_case *out)
{
    static const char *const keys[] = {"schema",     "program",  "model",     "scheduler",  "run",
                                       "conditions", "parallel", "attention", "platform",   "measure",
                                       "vae",        "picture",  "emulates",  "simulation", "text_encoders",
                                       "cache",      "image",    "edit",      "offload",    NULL};
    dit_case_platform platform = {.parallel = &out->parallel};
    memset(out, 0, sizeof *out);
    out->doc = doc;
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_case_hash(doc, out->case_id));
    dit_config_drop_nulls(cJSON_GetObjectItemCaseSensitive(doc->root, "model"));
    dit_config_drop_nulls(cJSON_GetObjectItemCaseSensitive(doc->root, "scheduler"));
    dit_config_drop_nulls(cJSON_GetObjectItemCaseSensitive(doc->root, "vae"));
    DIT_TRY(read_model(doc, out));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "scheduler", &out->scheduler));
    DIT_TRY(read_run(doc, out));
    DIT_TRY(read_image(doc, out));
    DIT_TRY(read_conditions(doc, out));
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "vae", &out->vae));
    out->for_guest = dit_json_member(doc->root, "simulation") != NULL;
    DIT_TRY(dit_case_read_measure(doc, out));
    DIT_TRY(dit_case_read_platform(doc, &platform));
    out->attention = platform.attention;
    out->backend = platform.backend;
    out->dtype = platform.dtype;
    out->fp8_linear = platform.fp8_linear;
    out->graphs = platform.graphs;
    out->threads_per_rank = platform.threads;
    DIT_TRY(read_offload(doc, out));
    DIT_TRY(read_cache(doc, out));
    DIT_TRY(read_edit(doc, out));
    DIT_TRY(read_emulated(doc, out));
    return out->has_facts ? dit_facts_from_case(doc, doc->root, "", &out->facts) : DIT_OK;
}
