/* generate: samples and decodes one batch of images or videos, and writes them as PNG.
 *
 * The case is that of denoise. It may name a VAE ("vae", engine/results/decode.h) and what to write: "picture":
 * {"file": "image.png", "frames": "animated" | "numbered" | "mp4" | "webm", "frames_per_s": 8, "pixels": true,
 * "asked": {"height_px", "width_px", "fits": true}}, relative to
 * the out folder; pixels: the file of latents also has the decoded colours, not rounded; asked: the size that was wanted where
 * the run has another, to which the picture is resized and cut if it fits. Several
 * images become image-0.png and so on, numbered frames image/frame-0000.png. Every step, and every part of a decode,
 * prints a line on stdout. Latents are always written; without a VAE nothing else is, and the record says so. A VAE
 * that is not implemented is refused before anything is sampled. With rows_degree all ranks share every decode, else
 * rank 0 decodes. */
#include "engine/results/decode.h"
#include "engine/results/encode.h"
#include "engine/results/measure.h"
#include "engine/files/clip.h"
#include "engine/files/picture.h"
#include "engine/files/picture_fit.h"
#include "engine/programs/program.h"
#include "engine/requests/parts.h"
#include "engine/results/reference.h"
#include "engine/redundancy/probe.h"
#include "engine/results/timeline.h"

#include "base/buffer.h"
#include "base/case_facts.h"
#include "base/hash.h"
#include "base/json_writer.h"
#include "base/label.h"
#include "base/words.h"
#include "version.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096, NAME_BYTES = 160, FACT_BYTES = 192 };
enum { FACT_MODEL, FACT_SEED, FACT_STEPS, FACT_MESH, FACT_SAMPLED, FACT_COUNT };

/* What becomes of the frames of a clip. */
typedef enum { FRAMES_ANIMATED, FRAMES_NUMBERED, FRAMES_MP4, FRAMES_WEBM } frames_as;
static const char *const frames_words[] = {"animated", "numbered", "mp4", "webm", NULL};

typedef struct {
    const dit_program_args *args;
    dit_pipeline pipeline;
    dit_measurement measured;
    dit_decoder decoder;
    bool shared;                /* true: all ranks decode together; false: rank 0 decodes */
    bool decodes;               /* this rank has a VAE                          */
    dit_volume_table predicted; /* what this rank sends to decode all images */
    const char *file;           /* picture.file */
    frames_as frames;
    bool wants_pixels, fits;
    int64_t asked_height, asked_width; /* 0: none but the run's */
    int64_t height, width;             /* of the files, in pixels */
    float *fitted;                     /* [3, frames, height, width] of an image; NULL: as it is decoded */
    float *pixels;                     /* [images, 3, frames, height, width] of rank 0, if they are wanted */
    dit_parts parts;                   /* of which: what the prompts became */
    int64_t frames_per_s, encode_ns, decode_ns, write_ns;
    int64_t image, part_ns; /* the image that is being decoded; when its last part was done */
    char *case_text;        /* canonical JSON of the case */
    char digest[48];        /* of the latents */
    cJSON *more;            /* members that the record has beyond those of denoise */
} generation;

/* ---- progress ---------------------------------------------------------------------------------------------------- */

static dit_status print_step(dit_sampler *sampler, int step, void *context)
{
    (void)context;
    DIT_TRY(dit_runtime_synchronize(sampler->rt)); /* a device's times are known when it is done */
    if (dit_comm_rank(dit_comm_world()) != 0) return DIT_OK;
    printf("step %d/%d %.3f s\n", step + 1, sampler->scheduler->steps, (double)sampler->step_ns[step] * 1e-9);
    fflush(stdout);
    return DIT_OK;
}

/* Prints a part of a decode with its time: parts differ much, and the last ones take longest. */
static void print_part(void *context, int done, int of)
{
    generation *g = context;
    int64_t now = dit_clock_ns();
    if (dit_comm_rank(dit_comm_world()) == 0) {
        printf("decoding %lld %d/%d %.3f s\n", (long long)g->image, done, of, (double)(now - g->part_ns) * 1e-9);
        fflush(stdout);
    }
    g->part_ns = now;
}

/* ---- the case ---------------------------------------------------------------------------------------------------- */

static dit_clip_format clip_format(const generation *g)
{
    return g->frames == FRAMES_MP4 ? DIT_CLIP_MP4 : DIT_CLIP_WEBM;
}

static dit_status read_asked(generation *g, const cJSON *picture)
{
    enum { MOST_PX = 1 << 20 };
    static const char *const keys[] = {"height_px", "width_px", "fits", NULL};
    const dit_json *doc = g->args->doc;
    const cJSON *asked = NULL;
    DIT_TRY(dit_json_optional_object(doc, picture, "/picture", "asked", &asked));
    if (!asked) return DIT_OK;
    DIT_TRY(dit_json_only_keys(doc, asked, "/picture/asked", keys));
    DIT_TRY(dit_json_require_int(doc, asked, "/picture/asked", "height_px", 1, MOST_PX, &g->asked_height));
    DIT_TRY(dit_json_require_int(doc, asked, "/picture/asked", "width_px", 1, MOST_PX, &g->asked_width));
    return dit_json_optional_bool(doc, asked, "/picture/asked", "fits", &g->fits);
}

static dit_status read_picture(generation *g)
{
    static const char *const keys[] = {"file", "frames", "frames_per_s", "pixels", "asked", NULL};
    const dit_json *doc = g->args->doc;
    const cJSON *picture = NULL;
    const char *frames = "animated";
    g->file = "image.png";
    g->frames_per_s = 8;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "picture", &picture));
    if (!picture) return DIT_OK;
    DIT_TRY(dit_json_only_keys(doc, picture, "/picture", keys));
    DIT_TRY(dit_json_optional_string(doc, picture, "/picture", "file", &g->file));
    DIT_TRY(dit_json_optional_string(doc, picture, "/picture", "frames", &frames));
    DIT_TRY(dit_json_optional_int(doc, picture, "/picture", "frames_per_s", 1, 1000, &g->frames_per_s));
    DIT_TRY(dit_json_optional_bool(doc, picture, "/picture", "pixels", &g->wants_pixels));
    DIT_TRY(read_asked(g, picture));
    int as = dit_words_find(frames_words, frames);
    if (as < 0) return dit_json_fail_word(doc, "/picture/frames", "frames", frames, frames_words);
    g->frames = (frames_as)as;
    if (g->frames >= FRAMES_MP4) DIT_TRY(dit_clip_check(clip_format(g)));
    size_t length = strlen(g->file);
    if (strchr(g->file, '/') || length > NAME_BYTES - 40 || length < 5 || strcmp(g->file + length - 4, ".png") != 0)
        return dit_json_fail(doc, "/picture/file", DIT_ERR_JSON_VALUE, "\"%s\" is not the name of a .png file",
                             g->file);
    return DIT_OK;
}

static dit_status read_vae(generation *g)
{
    const dit_json *doc = g->args->doc;
    const cJSON *vae = NULL;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "vae", &vae));
    if (!vae) return DIT_OK;
    dit_status st = dit_decoder_read(doc, vae, "/vae", &g->decoder);
    g->decodes = st == DIT_OK;
    g->decoder.told = print_part, g->decoder.context = g;
    if (st != DIT_ERR_UNSUPPORTED) return st;
    return dit_error_hint(st, "--output FILE.safetensors makes only the latents, for another decoder");
}

/* Loads the VAE's weights first, so that no sampling is lost when they are missing. */
static dit_status prepare(generation *g)
{
    DIT_TRY(dit_json_canonical(g->args->doc->root, &g->case_text));
    DIT_TRY(read_picture(g));
    DIT_TRY(read_vae(g));
    DIT_TRY(dit_parts_encode(g->args->doc, g->args->out_folder, 1, &g->parts));
    const char *embeddings = g->parts.embeddings;
    DIT_TRY(dit_pipeline_create_told(g->args->doc, embeddings[0] ? embeddings : NULL, &g->pipeline));
    DIT_TRY(dit_probe_check(&g->pipeline));
    int64_t began = dit_clock_ns();
    DIT_TRY(dit_encode_start(&g->pipeline));
    bool encoded = g->pipeline.start || dit_pipeline_refers_to_picture(&g->pipeline);
    g->encode_ns = encoded ? dit_clock_ns() - began : g->parts.first_frame.vae_encode_ns;
    dit_runtime *rt = &g->pipeline.rt;
    if (g->pipeline.batches > 1)
        return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE, "%lld captions for %lld images",
                                       (long long)g->pipeline.caption_count, (long long)rt->facts.num_images),
                              "give one caption, or one for each image");
    g->shared = rt->parallel.rows_degree > 1;
    if (dit_comm_rank(dit_comm_world()) != 0 && !g->shared) g->decodes = false;
    if (!g->decodes) return DIT_OK;
    DIT_TRY(dit_parts_predict_decode(&g->pipeline, &g->predicted));
    DIT_TRY(dit_decoder_open(&g->decoder, rt, &g->pipeline.kase.facts.latent, g->pipeline.kase.num_frames,
                             g->pipeline.kase.seed, g->shared ? rt->comm[DIT_AXIS_WORLD] : NULL));
    g->height = g->fits ? g->asked_height : g->decoder.height;
    g->width = g->fits ? g->asked_width : g->decoder.width;
    if (!g->fits) return DIT_OK;
    size_t floats = (size_t)(3 * g->decoder.frames * g->height * g->width);
    g->fitted = malloc(floats * sizeof *g->fitted);
    return g->fitted ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a picture of %zu colours", floats);
}

/* ---- sampling ---------------------------------------------------------------------------------------------------- */

/* Writes latents_final, tokens as denoise writes them, latents, planes [images, channels, frames, height, width], and
 * pixels once there are any. */
static dit_status write_latents(generation *g)
{
    const dit_pipeline *p = &g->pipeline;
    const dit_facts *facts = &p->rt.facts;
    const dit_latent *latent = &p->kase.facts.latent;
    int64_t images = facts->num_images, elements = images * latent->channels * dit_latent_cells(latent);
    char path[PATH_BYTES];
    float *planes = malloc((size_t)elements * sizeof *planes);
    if (!planes) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld latents", (long long)elements);
    dit_latent_unpack(latent, DIT_LATENT_CFHW, images, latent->channels, p->sampler.full, planes);
    const dit_decoder *d = &g->decoder;
    const dit_tensor_out tensors[] = {
        {"latents", 5, {images, latent->channels, latent->frames, latent->height, latent->width}, planes},
        {"latents_final", 3, {images, dit_facts_latent_tokens(facts), p->sampler.channels}, p->sampler.full},
        {"pixels", 5, {images, 3, d->frames, g->height, g->width}, g->pixels},
    };
    snprintf(path, sizeof path, "%s/latents.safetensors", g->args->out_folder);
    dit_status st = dit_safetensors_write(path, tensors, g->pixels ? 3 : 2);
    free(planes);
    return st;
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/* Names a file: "image.png", or "image-2.png" among several, "image.mp4"; numbered frames get a folder, "image". */
static void picture_name(const generation *g, int64_t image, frames_as as, char out[NAME_BYTES])
{
    static const char *const endings[] = {".png", "", ".mp4", ".webm"};
    int stem = (int)strlen(g->file) - 4;
    char number[24] = "";
    if (g->pipeline.rt.facts.num_images > 1) snprintf(number, sizeof number, "-%lld", (long long)image);
    snprintf(out, NAME_BYTES, "%.*s%s%s", stem, g->file, number, endings[as]);
}

static void note_picture(dit_json_writer *w, generation *g, const char *name, const dit_picture *picture)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(g->more, "pictures"), *entry = dit_json_put_object(w, list, NULL);
    dit_json_put_string(w, entry, "file", name);
    dit_json_put_string(w, entry, "frames_as", picture->frames == 1 ? "image" : frames_words[g->frames]);
    dit_json_put_int(w, entry, "width_px", picture->width);
    dit_json_put_int(w, entry, "height_px", picture->height);
    dit_json_put_int(w, entry, "num_frames", picture->frames);
}

/* The caption or prompt that a picture shows; NULL: conditions are others. */
static const char *prompt_of(const generation *g, int64_t image)
{
    const dit_pipeline *p = &g->pipeline;
    const cJSON *prompts = p->kase.prompts;
    if (prompts) {
        int64_t each = p->kase.num_images / cJSON_GetArraySize(prompts);
        return cJSON_GetArrayItem(prompts, (int)(image / each))->valuestring;
    }
    return p->caption_count ? p->captions[p->caption_count == 1 ? 0 : image] : NULL;
}

/* What people look for in a picture, beside the case, which has it all. */
static void tell_case(const generation *g, char told[FACT_COUNT][FACT_BYTES])
{
    const dit_case *kase = &g->pipeline.kase;
    snprintf(told[FACT_MODEL], FACT_BYTES, "%s",
             dit_json_text_or(dit_json_member(g->args->doc->root, "model"), "name", g->pipeline.ops->class_name));
    snprintf(told[FACT_SEED], FACT_BYTES, "%llu", (unsigned long long)kase->seed);
    snprintf(told[FACT_STEPS], FACT_BYTES, "%d", kase->steps);
    dit_parallel_label_whole(&kase->parallel, told[FACT_MESH]);
    snprintf(told[FACT_SAMPLED], FACT_BYTES, "%lldx%lld", (long long)g->decoder.width, (long long)g->decoder.height);
}

static dit_status write_frames(const generation *g, frames_as as, const char *path, const dit_picture *picture)
{
    if (as == FRAMES_ANIMATED) return dit_picture_write(path, picture);
    if (as != FRAMES_NUMBERED) return dit_clip_write(path, clip_format(g), picture);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return DIT_FAIL(DIT_ERR_IO, "cannot make folder %s: %s", path, strerror(errno));
    return dit_picture_write_frames(path, picture);
}

/* The decoded image [3, frames, height, width] of the file's size. */
static const float *colours(const generation *g)
{
    return g->fitted ? g->fitted : g->decoder.image;
}

static void fit(generation *g)
{
    const dit_decoder *d = &g->decoder;
    if (g->fitted) dit_picture_fit(d->image, 3 * d->frames, d->height, d->width, g->height, g->width, g->fitted);
}

static dit_status write_picture(generation *g, int64_t image, uint8_t *rgb)
{
    dit_json_writer w = {0};
    char told[FACT_COUNT][FACT_BYTES], name[NAME_BYTES], path[PATH_BYTES];
    tell_case(g, told);
    const dit_picture_text texts[] = {
        {"Software", "ditbench " DITBENCH_VERSION},     {"ditbench.commit", DITBENCH_COMMIT},
        {"ditbench.model", told[FACT_MODEL]},           {"ditbench.seed", told[FACT_SEED]},
        {"ditbench.steps", told[FACT_STEPS]},           {"ditbench.mesh", told[FACT_MESH]},
        {"ditbench.sampled_px", told[FACT_SAMPLED]},    {"ditbench.case", g->case_text},
        {"ditbench.case_id", g->pipeline.kase.case_id}, {"ditbench.latent_digest", g->digest},
        {"ditbench.prompt", prompt_of(g, image)}, /* the last one: without a prompt it is left out */
    };
    const dit_decoder *d = &g->decoder;
    int count = sizeof texts / sizeof *texts;
    dit_picture picture = {.width = g->width,
                           .height = g->height,
                           .frames = d->frames,
                           .frames_per_s = g->frames_per_s,
                           .rgb = rgb,
                           .texts = texts,
                           .text_count = texts[count - 1].text ? count : count - 1};
    frames_as as = d->frames > 1 ? g->frames : FRAMES_ANIMATED;
    picture_name(g, image, as, name);
    DIT_TRY(dit_picture_quantize(colours(g), d->frames, g->height, g->width, rgb));
    if (snprintf(path, sizeof path, "%s/%s", g->args->out_folder, name) >= (int)sizeof path)
        return DIT_FAIL(DIT_ERR_IO, "the path of image %s is too long", name);
    DIT_TRY(write_frames(g, as, path, &picture));
    note_picture(&w, g, name, &picture);
    return w.status;
}

/* Keeps the colours of an image, if they are wanted. */
static dit_status keep_pixels(generation *g, int64_t image)
{
    const dit_decoder *d = &g->decoder;
    size_t floats = (size_t)(3 * d->frames * g->height * g->width), images = (size_t)g->pipeline.rt.facts.num_images;
    if (!g->wants_pixels) return DIT_OK;
    if (!g->pixels) g->pixels = malloc(images * floats * sizeof *g->pixels);
    if (!g->pixels) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the colours of %zu images", images);
    memcpy(g->pixels + (size_t)image * floats, colours(g), floats * sizeof *g->pixels);
    return DIT_OK;
}

static dit_status decode_all(generation *g)
{
    dit_decoder *d = &g->decoder;
    dit_pipeline *p = &g->pipeline;
    int64_t images = p->rt.facts.num_images;
    bool first = dit_comm_rank(dit_comm_world()) == 0;
    if (!g->decodes) return DIT_OK;
    dit_runtime_reset_account(&p->rt);
    uint8_t *rgb = malloc((size_t)(d->frames * g->height * g->width * 3));
    dit_status st = rgb ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the pixels of an image");
    for (int64_t image = 0; image < images && st == DIT_OK; image++) {
        int64_t began = dit_clock_ns();
        g->image = image, g->part_ns = began;
        st = dit_decoder_run(d, &p->sampler, image);
        int64_t elapsed = dit_clock_ns() - began;
        g->decode_ns += elapsed;
        if (!first) continue;
        printf("decode %lld/%lld %.3f s\n", (long long)image + 1, (long long)images, (double)elapsed * 1e-9);
        fflush(stdout);
        int64_t writes = dit_clock_ns();
        if (st == DIT_OK) fit(g);
        if (st == DIT_OK) st = write_picture(g, image, rgb);
        g->write_ns += dit_clock_ns() - writes;
        if (st == DIT_OK) st = keep_pixels(g, image);
    }
    free(rgb);
    DIT_TRY(st);
    if (g->pixels) DIT_TRY(write_latents(g));
    return dit_volume_check(&p->rt.counters, &g->predicted, dit_comm_rank(dit_comm_world()), 0);
}

/* Adds "decode": which ranks decoded, and what rank 0 sent for it. */
static dit_status describe_decode(generation *g)
{
    dit_json_writer w = {0};
    cJSON *decode = dit_json_put_object(&w, g->more, "decode");
    dit_json_put_int(&w, decode, "rows_degree", g->shared ? g->pipeline.rt.parallel.rows_degree : 1);
    dit_json_put_status(&w, dit_record_communication(decode, &g->pipeline.rt.counters, &g->predicted));
    return w.status;
}

/* ---- the record -------------------------------------------------------------------------------------------------- */

/* Adds {"kind": "seeded", "seed"} or {"kind": "safetensors", "path", "digest"}. */
static dit_status add_origin(cJSON *parent, const char *key, const dit_safetensors *file, const char *path,
                             uint64_t seed)
{
    dit_json_writer w = {0};
    char digest[48];
    cJSON *origin = dit_json_put_object(&w, parent, key);
    dit_json_put_string(&w, origin, "kind", file ? "safetensors" : "seeded");
    if (!file) {
        dit_json_put_int(&w, origin, "seed", (int64_t)seed);
        return w.status;
    }
    DIT_TRY(dit_safetensors_digest(file, digest));
    dit_json_put_string(&w, origin, "path", path);
    dit_json_put_string(&w, origin, "digest", digest);
    return w.status;
}

/* Adds {"kind": "prompts", "path", "prompts", "negative_prompt", "tokens", "encoder_bytes"}, and what more of the texts the
 * case says. */
static dit_status add_prompts(cJSON *parent, const generation *g)
{
    dit_json_writer w = {0};
    const dit_case *kase = &g->pipeline.kase;
    cJSON *origin = dit_json_put_object(&w, parent, "conditioning");
    dit_json_put_string(&w, origin, "kind", "prompts");
    dit_json_put_string(&w, origin, "path", kase->pipeline);
    dit_json_put_copy(&w, origin, "prompts", kase->prompts);
    dit_json_put_string(&w, origin, "negative_prompt", kase->negative_prompt);
    static const char *const more[] = {"prompt_2", "prompt_3", "negative_prompt_2", "negative_prompt_3", "clip_skip"};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        dit_json_put_copy(&w, origin, more[i],
                          dit_json_member(dit_json_member(kase->doc->root, "conditions"), more[i]));
    dit_json_put_int(&w, origin, "tokens", g->parts.prompts.tokens);
    dit_json_put_int(&w, origin, "encoder_bytes", g->parts.prompts.peak_bytes);
    return w.status;
}

/* Adds {"kind": "captions", "path", "captions"}. */
static dit_status add_captions(cJSON *parent, const dit_case *kase)
{
    dit_json_writer w = {0};
    cJSON *origin = dit_json_put_object(&w, parent, "conditioning");
    dit_json_put_string(&w, origin, "kind", "captions");
    dit_json_put_string(&w, origin, "path", kase->text_table);
    const char **captions;
    int64_t count;
    DIT_TRY(dit_case_captions(kase, &captions, &count));
    cJSON *list = dit_json_put_array(&w, origin, "captions");
    for (int64_t i = 0; i < count; i++) dit_json_put_string(&w, list, NULL, captions[i]);
    free(captions);
    return w.status;
}

static dit_status add_conditioning(cJSON *parent, const generation *g)
{
    const dit_pipeline *p = &g->pipeline;
    const dit_case *kase = &p->kase;
    if (kase->prompts) return add_prompts(parent, g);
    if (kase->text_table) return add_captions(parent, kase);
    return add_origin(parent, "conditioning", p->conditions_file, kase->conditions_path, kase->seed);
}

static dit_status describe(generation *g)
{
    dit_json_writer w = {0};
    const dit_pipeline *p = &g->pipeline;
    const dit_case *kase = &p->kase;
    dit_tensor_view view;
    bool given = p->conditions_file && dit_safetensors_find(p->conditions_file, "latents", &view);
    cJSON *weights = dit_json_put_object(&w, g->more, "weights");
    dit_json_put_array(&w, g->more, "pictures");
    DIT_TRY(add_origin(weights, "transformer", p->weights_file, kase->weights_path, kase->weights_seed));
    if (g->decodes && !dit_vae_get_facts(g->decoder.vae)->weightless)
        DIT_TRY(add_origin(weights, "vae", g->decoder.file, g->decoder.path, g->decoder.weights.seed));
    DIT_TRY(add_conditioning(g->more, g));
    const char *noise = kase->noise == DIT_NOISE_COUNTER ? "seeded" : dit_noise_names[kase->noise];
    dit_json_put_string(&w, g->more, "initial_noise", given ? "safetensors" : noise);
    dit_json_put_string(&w, g->more, "family", p->ops->class_name);
    dit_json_put_int(&w, g->more, "steps", kase->steps);
    if (!g->asked_height) return w.status;
    cJSON *sizes = dit_json_put_object(&w, g->more, "sizes");
    dit_json_put_int(&w, sizes, "asked_height_px", g->asked_height);
    dit_json_put_int(&w, sizes, "asked_width_px", g->asked_width);
    dit_json_put_int(&w, sizes, "sampled_height_px", kase->run.height_px);
    dit_json_put_int(&w, sizes, "sampled_width_px", kase->run.width_px);
    return w.status;
}

/* Adds "phases_ns": what each part of the pipeline took on this rank. */
static dit_status describe_phases(const generation *g)
{
    dit_json_writer w = {0};
    cJSON *phases = dit_json_put_object(&w, g->more, "phases_ns");
    if (g->parts.embeddings[0]) {
        dit_json_put_int(&w, phases, dit_part_name(DIT_PART_TOKENIZE), g->parts.prompts.tokenize_ns);
        dit_json_put_int(&w, phases, dit_part_name(DIT_PART_TEXT_ENCODE), g->parts.prompts.text_encode_ns);
    }
    int64_t image_encode_ns = g->parts.first_frame.image_encode_ns + g->parts.prompts.image_encode_ns;
    if (image_encode_ns) dit_json_put_int(&w, phases, dit_part_name(DIT_PART_IMAGE_ENCODE), image_encode_ns);
    if (g->pipeline.start || g->encode_ns)
        dit_json_put_int(&w, phases, dit_part_name(DIT_PART_VAE_ENCODE), g->encode_ns);
    if (g->measured.iteration)
        dit_json_put_int(&w, phases, dit_part_name(DIT_PART_DENOISE), g->measured.iteration[0].latency_ns);
    if (g->decodes) dit_json_put_int(&w, phases, dit_part_name(DIT_PART_VAE_DECODE), g->decode_ns);
    dit_json_put_int(&w, phases, dit_part_name(DIT_PART_WRITE), g->write_ns);
    return w.status;
}

/* Adds "phases_on": the kernels that computed each part, "host" for what none did. */
static dit_status describe_places(const generation *g)
{
    dit_json_writer w = {0};
    const char *kernels = g->pipeline.rt.kernels->name;
    cJSON *places = dit_json_put_object(&w, g->more, "phases_on");
    if (g->parts.embeddings[0]) {
        dit_json_put_string(&w, places, dit_part_name(DIT_PART_TOKENIZE), "host");
        dit_json_put_string(&w, places, dit_part_name(DIT_PART_TEXT_ENCODE), g->parts.prompts.kernels);
    }
    if (g->parts.first_frame.image_encode_ns || g->parts.prompts.image_encode_ns)
        dit_json_put_string(&w, places, dit_part_name(DIT_PART_IMAGE_ENCODE), kernels);
    if (g->pipeline.start || g->encode_ns) dit_json_put_string(&w, places, dit_part_name(DIT_PART_VAE_ENCODE), kernels);
    dit_json_put_string(&w, places, dit_part_name(DIT_PART_DENOISE), kernels);
    if (g->decodes) dit_json_put_string(&w, places, dit_part_name(DIT_PART_VAE_DECODE), kernels);
    dit_json_put_string(&w, places, dit_part_name(DIT_PART_WRITE), "host");
    return w.status;
}

static dit_status finish(generation *g)
{
    dit_json_writer w = {0};
    if (g->more) DIT_TRY(describe_phases(g));
    if (g->more) DIT_TRY(describe_places(g));
    dit_validation validation = {.tolerance =
                                     dit_method_tolerance(g->pipeline.kase.dtype, dit_case_guidance(&g->pipeline.kase)),
                                 .reason = "one run by hand has no one-rank reference"};
    memcpy(validation.digest, g->digest, sizeof validation.digest);
    if (g->more && g->decodes) {
        dit_json_put_int(&w, g->more, "decode_ns", g->decode_ns);
        DIT_TRY(describe_decode(g));
        cJSON *tiling = dit_json_put_object(&w, g->more, "tiling");
        dit_json_put_bool(&w, tiling, "tiled", dit_vae_is_tiled(g->decoder.vae));
    } else if (g->more) {
        dit_json_put_string(&w, g->more, "no_picture", "the case names no VAE");
    }
    dit_json_put_status(
        &w, dit_record_write(&(dit_record_params){.program = "generate",
                                                  .kase = &g->pipeline.kase,
                                                  .rt = &g->pipeline.rt,
                                                  .attention = dit_attention_name(g->pipeline.model->attention[0]),
                                                  .own = &g->measured,
                                                  .validation = &validation,
                                                  .cache = g->pipeline.sampler.cache,
                                                  .more = g->more,
                                                  .out_folder = g->args->out_folder}));
    return w.status;
}

static dit_status run_traced(void *generator, int64_t *latency_ns)
{
    generation *g = generator;
    DIT_TRY(dit_measurement_take(&g->measured, &g->pipeline));
    *latency_ns = g->measured.iteration[0].latency_ns;
    return DIT_OK;
}

/* Samples once; a trace records this run. */
static dit_status sample(generation *g)
{
    if (!g->pipeline.kase.trace) return dit_measurement_take(&g->measured, &g->pipeline);
    return dit_timeline_take(&(dit_timeline_params){.rt = &g->pipeline.rt,
                                                    .case_id = g->pipeline.kase.case_id,
                                                    .out_folder = g->args->out_folder,
                                                    .run = run_traced,
                                                    .context = g},
                             g->more);
}

static dit_status generate(generation *g)
{
    bool first = dit_comm_rank(dit_comm_world()) == 0;
    DIT_TRY(prepare(g));
    g->pipeline.sampler.on_step = print_step;
    if (first) g->more = cJSON_CreateObject();
    if (first && !g->more) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    g->pipeline.kase.warmup_runs = g->pipeline.kase.warmup_most = 0;
    g->pipeline.kase.iterations = 1;
    DIT_TRY(dit_measurement_init(&g->pipeline, &g->measured));
    DIT_TRY(sample(g));
    dit_latents_digest(&g->pipeline, g->digest, NULL);
    if (first) {
        DIT_TRY(describe(g));
        DIT_TRY(write_latents(g));
    }
    DIT_TRY(decode_all(g));
    DIT_TRY(dit_probe_take(&g->pipeline, g->args->out_folder, g->more));
    return finish(g);
}

static dit_status generate_run(const dit_program_args *args, bool *skipped)
{
    generation g = {.args = args};
    (void)skipped;
    dit_status st = generate(&g);
    dit_decoder_close(&g.decoder);
    dit_parts_release(&g.parts);
    dit_pipeline_release(&g.pipeline);
    dit_measurement_release(&g.measured);
    cJSON_Delete(g.more);
    free(g.case_text);
    free(g.pixels);
    free(g.fitted);
    return st;
}

const dit_program dit_program_generate = {
    .name = "generate",
    .help = "one batch of images or videos, decoded and written as PNG",
    .run = generate_run,
};
