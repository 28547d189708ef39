/* ditbench generate: one image or clip by hand. */
#include "base/file.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/rows.h"
#include "base/words.h"
#include "suite/console/cli.h"
#include "suite/console/progress.h"
#include "suite/generate/outputs.h"
#include "suite/generate/picture_case.h"
#include "suite/generate/request.h"
#include "suite/generate/xdit_flags.h"
#include "suite/launch/one_case.h"
#include "suite/machine/devices.h"
#include "suite/platform/platform.h"
#include "suite/text.h"
#include "suite/verbs/mesh_options.h"
#include "suite/verbs/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char purpose[] =
    "Samples one batch of images or videos, decodes it and writes PNG files, with the case and the digest of the\n"
    "latents in text chunks. SOURCE is a diffusers checkpoint folder (model_index.json, transformer/, vae/,\n"
    "scheduler/), a model's folder with its scheduler_config.json (config.json, vae/, a text table), a folder of an\n"
    "end-to-end run exported from diffusers (e2e.json), or a model of `ditbench list models`, also as NAME~VARIANT,\n"
    "with seeded weights unless --weights is given. A checkpoint folder's tokenizers and text encoders read --prompt; "
    "a\n"
    "model with a text table takes captions; other embeddings come from --inputs, by the pipelines' names\n"
    "(prompt_embeds, negative_prompt_embeds, pooled_prompt_embeds, latents, ...), or are seeded noise. --output "
    "FILE.png writes FILE.png, FILE.json (the\n"
    "record) and FILE.safetensors (the latents); --output FILE.safetensors writes the last two, for models whose\n"
    "VAE is not supported; FILE.mp4 and FILE.webm are clips; --output DIR keeps all files there, with the case and "
    "the\n"
    "engine's log. A seed gives the latents that diffusers has of a generator on the CPU, in float32. All flags of\n"
    "xDiT are understood: a flag that changes nothing is accepted with a note; a flag whose method is not\n"
    "supported is refused with the reason.\n"
    "Exit: 0; 2 usage; 3 failed; 4 environment; 6 wrong numbers.";

static const char examples[] =
    "ditbench generate path/to/FLUX.1-schnell --prompt \"a red fox\" --max_sequence_length 256 --output fox.png\n"
    "ditbench generate engine/tests/golden/e2e_flux_schnell --output flux.png\n"
    "ditbench generate engine/tests/golden/e2e_pixart_sigma --ulysses_degree 2 --output parallel.png\n"
    "ditbench generate engine/tests/golden/e2e_flux_dev --num_inference_steps 2 --output_type latent --json\n"
    "ditbench generate engine/tests/golden/e2e_pixart_sigma --pipefusion_parallel_degree 2 --num_pipeline_patch 4\n"
    "ditbench generate engine/tests/golden/e2e_wan_unipc --output wan.safetensors\n"
    "ditbench generate flux.1-dev --backend cuda --dtype bf16 --output flux.png\n"
    "ditbench generate --from_image flux.png --output again.png\n"
    "ditbench generate pixart-alpha-xl-2 --height 256 --width 256 --dry-run";

enum { READ_BYTES = 4096, ALL_DAY_S = 86400, MOST_PROMPTS = 4096 };

typedef struct {
    suite_cli cli;
    suite_single_params single;
    suite_request request, unsaid; /* unsaid: the request of nobody who asks for anything */
    const char *from_image, *prompt_file;
    char *prompt_text; /* what the file holds, cut into lines */
    const char *texts[MOST_PROMPTS];
    suite_foreign foreign;
    suite_displaced displaced;
    suite_offload offload;
    suite_shards shards;
    const char *model, *frames, *output_type;
    suite_strings prompts, images;
    char split[32]; /* of --prompt shapes:SPLIT:COUNT */
    int64_t degree[DIT_AXIS_COUNT];
    bool use_cfg_parallel, use_parallel_vae, enable_tiling;
    suite_delivery delivery;
    int pipe[2];
    suite_progress progress;
    double step_began_s;
    char line[READ_BYTES], label[48];
    size_t used;
} generate_call;

/* ---- progress ---------------------------------------------------------------------------------------------------- */

/* "step 3/28 1.234 s"; "decoding 3/17 0.532 s": of one image's decode, or of one image of several. */
static void take_line(generate_call *call, double elapsed_s)
{
    suite_progress *progress = &call->progress;
    int at, of, image;
    double seconds;
    if (call->cli.verbose && !progress->terminal) fprintf(stderr, "%s\n", call->line);
    bool step = sscanf(call->line, "step %d/%d %lf", &at, &of, &seconds) == 3;
    bool decode = !step && sscanf(call->line, "decoding %d %d/%d %lf", &image, &at, &of, &seconds) == 4;
    if ((!step && !decode) || at < 0 || of < 1 || of < at) return;
    if (at <= 1) progress->timed_s = 0;
    progress->total = of;
    progress->done = at;
    progress->timed = step ? at : 0; /* what is left of a decode cannot be told from its first parts */
    progress->timed_s += seconds;
    snprintf(call->label, sizeof call->label, "steps, %.2f s each", progress->timed_s / (at ? at : 1));
    progress->label = step && at < of ? call->label : "decoding";
    call->step_began_s = elapsed_s;
}

static void drain(generate_call *call, double elapsed_s)
{
    char bytes[READ_BYTES];
    for (ssize_t count; (count = read(call->pipe[0], bytes, sizeof bytes)) > 0;) {
        for (ssize_t i = 0; i < count; i++) {
            bool full = call->used + 1 == sizeof call->line;
            if (bytes[i] != '\n' && !full) {
                call->line[call->used++] = bytes[i];
                continue;
            }
            call->line[call->used] = '\0';
            call->used = 0;
            take_line(call, elapsed_s);
        }
    }
}

static void tick(void *context, double elapsed_s)
{
    generate_call *call = context;
    drain(call, elapsed_s);
    suite_progress_tick(&call->progress, elapsed_s - call->step_began_s);
}

static dit_status open_progress(generate_call *call)
{
    if (pipe2(call->pipe, O_CLOEXEC) != 0) return DIT_FAIL(DIT_ERR_ENVIRONMENT, "no pipe: %s", strerror(errno));
    fcntl(call->pipe[0], F_SETFL, O_NONBLOCK);
    suite_progress_init(&call->progress, 1, 0, call->cli.quiet);
    call->progress.label = "loading";
    call->single.stdout_fd = call->pipe[1];
    call->single.tick = tick;
    call->single.context = call;
    return DIT_OK;
}

static void close_progress(generate_call *call)
{
    if (call->pipe[1] <= 0) return;
    drain(call, 0);
    suite_progress_end(&call->progress);
    close(call->pipe[0]);
    close(call->pipe[1]);
}

/* ---- what was asked ---------------------------------------------------------------------------------------------- */

static dit_status settle_mesh(generate_call *call)
{
    int cores = suite_launch_cores();
    if (call->use_cfg_parallel && call->degree[DIT_AXIS_CFG] == 1)
        return DIT_FAIL(DIT_ERR_USAGE, "--use_cfg_parallel means --cfg_degree 2, but --cfg_degree 1 is given");
    if (call->use_cfg_parallel) call->degree[DIT_AXIS_CFG] = 2;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
        call->request.parallel.degree[axis] = call->degree[axis] ? (int)call->degree[axis] : 1;
    DIT_TRY(suite_displaced_settle(&call->displaced, &call->request.parallel));
    suite_attention_settle(call->request.attention, &call->request.parallel);
    DIT_TRY(suite_offload_settle(&call->offload, &call->request.offload));
    DIT_TRY(suite_shards_settle(&call->shards, &call->request.parallel));
    int64_t world = 1;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) world *= call->request.parallel.degree[axis];
    if (world > 65536)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "the product of the degrees is more than 65536 ranks");
    call->single.world_size = (int)world;
    call->request.parallel.rows_degree = call->use_parallel_vae && !call->request.latents_only ? (int)world : 1;
    if (!call->request.threads) call->request.threads = cores > world ? cores / world : 1;
    call->single.threads_per_rank = (int)call->request.threads;
    if (!call->single.launcher && world == 1) call->single.launcher = "local";
    return DIT_OK;
}

/* Whether there is what the backend computes on; said here, before anything is read. */
static dit_status settle_backend(const generate_call *call)
{
    static const char *const backends[] = {"cpu", "ref", "cuda", "host", NULL};
    static const char *const elements[] = {"fp32", "bf16", "fp16", NULL};
    const suite_request *r = &call->request;
    suite_devices devices;
    const suite_device_need need = {.ranks = call->single.world_size, .shared = true};
    char reason[640];
    bool device = suite_backend_is_device(r->backend);
    if (dit_words_find(backends, r->backend) < 0)
        return dit_fail_word(DIT_ERR_NOT_FOUND, "--backend", r->backend, backends);
    if (r->element && dit_words_find(elements, r->element) < 0)
        return dit_error_hint(dit_fail_word(DIT_ERR_USAGE, "--dtype", r->element, elements),
                              "only linear layers compute in fp8: use --fp8_linear");
    if (!device && (r->element || r->fp8_linear || r->no_graphs))
        return DIT_FAIL(DIT_ERR_USAGE, "%s needs --backend cuda; %s computes in fp32",
                        r->element      ? "--dtype"
                        : r->fp8_linear ? "--fp8_linear"
                                        : "--no_graphs",
                        r->backend);
    if (!device || call->cli.dry_run) return DIT_OK;
    suite_devices_find(call->single.engine, r->backend, &devices);
    suite_devices_refusal(&devices, r->backend, &need, reason);
    return reason[0] ? dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "%s", reason), "%s", devices.hint) : DIT_OK;
}

/* The first picture, and those behind it. */
static void gather_images(generate_call *call)
{
    if (!call->images.count) return;
    call->request.image = call->images.items[0];
    call->request.more_images = call->images.items + 1;
    call->request.more_image_count = call->images.count - 1;
}

/* Gathers the prompts of the command line, then the lines of --prompt_file without empty ones. */
static dit_status gather_prompts(generate_call *call)
{
    size_t length;
    int *count = &call->request.prompt_count;
    call->request.prompts = call->texts;
    for (int i = 0; i < call->prompts.count; i++) call->texts[(*count)++] = call->prompts.items[i];
    if (!call->prompt_file) return DIT_OK;
    DIT_TRY(dit_file_read(call->prompt_file, 1 << 24, &call->prompt_text, &length));
    if (memchr(call->prompt_text, 0, length))
        return DIT_FAIL(DIT_ERR_USAGE, "--prompt_file %s is no text: it has a zero byte", call->prompt_file);
    for (char *line = strtok(call->prompt_text, "\r\n"); line; line = strtok(NULL, "\r\n")) {
        if (*count == MOST_PROMPTS)
            return DIT_FAIL(DIT_ERR_USAGE, "--prompt_file %s: more than %d prompts", call->prompt_file, MOST_PROMPTS);
        call->texts[(*count)++] = line;
    }
    if (*count > call->prompts.count) return DIT_OK;
    return DIT_FAIL(DIT_ERR_USAGE, "--prompt_file %s has no line", call->prompt_file);
}

/* "shapes:held-out:512" stands for captions of a split; the engine knows which splits there are. */
static dit_status settle_prompts(generate_call *call)
{
    long count;
    int end = 0;
    const char *first = call->request.prompt_count ? call->request.prompts[0] : "";
    if (strncmp(first, "shapes:", 7) != 0) return DIT_OK;
    if (call->request.prompt_count > 1 || sscanf(first, "shapes:%31[a-z-]:%ld%n", call->split, &count, &end) != 2 ||
        first[end] || count < 1)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--prompt %s: one SPLIT and a COUNT are expected", first),
                              "--prompt shapes:held-out:512, and no other prompt");
    call->request.prompt_count = 0;
    call->request.split = call->split;
    call->request.split_count = count;
    return DIT_OK;
}

/* A clip is what the name of the output says, or what --frames says. */
static dit_status settle_frames(generate_call *call)
{
    static const char *const words[] = {"animated", "numbered", "mp4", "webm", NULL};
    const char *named = call->delivery.clip;
    call->request.frames = call->frames ? call->frames : named ? named : "animated";
    if (dit_words_find(words, call->request.frames) < 0)
        return dit_fail_word(DIT_ERR_USAGE, "--frames", call->frames, words);
    if (!named || strcmp(named, call->request.frames) == 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_USAGE, "--frames %s, but --output names a file .%s", call->frames, named);
}

static dit_status check_split(const generate_call *call)
{
    const char *split = call->request.vae_split;
    if (!split) return DIT_OK;
    if (dit_words_find(dit_decode_splits(), split) < 0)
        return dit_fail_word(DIT_ERR_USAGE, "--vae_split", split, dit_decode_splits());
    if (call->use_parallel_vae) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--vae_split %s: one rank decodes alone", split),
                          "add --use_parallel_vae");
}

static dit_status check_noise(const char *noise)
{
    static const char *const names[] = {"torch", "torch-each", "counter", NULL};
    return dit_words_find(names, noise) >= 0 ? DIT_OK : dit_fail_word(DIT_ERR_USAGE, "--noise", noise, names);
}

static dit_status settle_words(generate_call *call)
{
    const char *operand = call->cli.operands[0];
    if (operand && call->model)
        return DIT_FAIL(DIT_ERR_USAGE, "SOURCE %s and --model %s: give one", operand, call->model);
    if (call->cli.operand_count > 1) return DIT_FAIL(DIT_ERR_USAGE, "'%s' is one word too many", call->cli.operands[1]);
    call->request.source = operand ? operand : call->model;
    DIT_TRY(gather_prompts(call));
    gather_images(call);
    DIT_TRY(settle_prompts(call));
    DIT_TRY(check_noise(call->request.noise));
    DIT_TRY(check_split(call));
    if (!isnan(call->request.strength) && !(call->request.strength > 0 && call->request.strength <= 1))
        return DIT_FAIL(DIT_ERR_USAGE, "--strength %g is not above 0 and at most 1", call->request.strength);
    DIT_TRY(settle_frames(call));
    bool latent = call->output_type && strcmp(call->output_type, "latent") == 0;
    if (call->output_type && !latent && strcmp(call->output_type, "pil") != 0)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "--output_type %s is not supported", call->output_type),
                              "--output_type pil writes PNG files, latent writes the latents only");
    if (call->output_type && !latent && call->delivery.latents)
        return DIT_FAIL(DIT_ERR_USAGE, "--output_type %s writes an image, but --output names a .safetensors file",
                        call->output_type);
    call->request.latents_only = latent || call->delivery.latents;
    call->request.tiling |= call->enable_tiling;
    if (call->single.deadline_s <= 0) call->single.deadline_s = ALL_DAY_S;
    return DIT_OK;
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static double seconds_of(const cJSON *record, const char *key)
{
    const cJSON *value = dit_json_member(record, key);
    return cJSON_IsNumber(value) ? value->valuedouble * 1e-9 : 0;
}

static dit_status describe(const generate_call *call, const suite_outcome *outcome, cJSON *answer)
{
    dit_json_writer w = {0};
    const cJSON *record = outcome->record;
    const cJSON *samples = dit_json_member(record, "samples");
    const cJSON *latency = cJSON_GetArrayItem(dit_json_member(samples, "latency_ns"), 0);
    const cJSON *validation = dit_json_member(record, "validation");
    const cJSON *steps = dit_json_member(record, "steps");
    const cJSON *conditioning = dit_json_member(record, "conditioning");
    DIT_TRY(suite_delivery_place(&call->delivery, record, answer));
    suite_text_put(&w, answer, "latent_digest", dit_json_text_or(validation, "latent_digest", NULL));
    suite_text_put(&w, answer, "conditioning", dit_json_text_or(conditioning, "kind", NULL));
    const char *reason = dit_json_text_or(record, "no_picture", NULL);
    suite_text_put(&w, answer, "no_picture", call->request.latents_only ? "latents were asked for" : reason);
    if (cJSON_IsNumber(steps)) dit_json_put_number(&w, answer, "steps", steps->valuedouble);
    if (cJSON_IsNumber(latency)) dit_json_put_number(&w, answer, "sampling_s", latency->valuedouble * 1e-9);
    if (dit_json_member(record, "decode_ns"))
        dit_json_put_number(&w, answer, "decoding_s", seconds_of(record, "decode_ns"));
    const cJSON *phase;
    cJSON *phases = dit_json_put_object(&w, answer, "phases_s");
    cJSON_ArrayForEach(phase, dit_json_member(record, "phases_ns"))
        dit_json_put_number(&w, phases, phase->string, phase->valuedouble * 1e-9);
    if (dit_json_member(record, "phases_on"))
        dit_json_put_copy(&w, answer, "phases_on", dit_json_member(record, "phases_on"));
    dit_json_put_copy(&w, answer, "offload", dit_json_member(record, "offload"));
    dit_json_put_number(&w, answer, "elapsed_s", (double)outcome->elapsed_ns * 1e-9);
    return w.status;
}

/* Prints a line for each picture; of many only the first and the last ones. */
static void print_pictures(const cJSON *pictures)
{
    enum { SHOWN = 8 };
    const cJSON *picture;
    int count = cJSON_GetArraySize(pictures), index = 0;
    cJSON_ArrayForEach(picture, pictures)
    {
        bool shown = count <= SHOWN || index == 0 || index == count - 1;
        if (index == 1 && !shown) printf("... %d more\n", count - 2);
        index++;
        if (!shown) continue;
        int frames = (int)dit_json_int_or(picture, "num_frames", 0);
        printf("%s  %d x %d", dit_json_text_or(picture, "path", ""), (int)dit_json_int_or(picture, "width_px", 0),
               (int)dit_json_int_or(picture, "height_px", 0));
        if (frames > 1) printf(", %d frames, %s", frames, dit_json_text_or(picture, "frames_as", ""));
        printf("\n");
    }
}

/* The phases that the line has not told yet. */
static void print_phases(const cJSON *phases)
{
    const cJSON *phase;
    cJSON_ArrayForEach(phase, phases)
    {
        if (strcmp(phase->string, "denoise") != 0 && strcmp(phase->string, "vae_decode") != 0)
            printf(", %s %.3f s", phase->string, phase->valuedouble);
    }
}

/* Prints what weights that stream did. */
static void print_offload(const cJSON *offload)
{
    if (!offload) return;
    printf("weights from %s: %.2f GB read in %d loads, waited for %.3f s, hidden %.0f %%\n",
           dit_json_text_or(offload, "tier", ""), dit_json_number_or(offload, "read_bytes", 0) / 1e9,
           (int)dit_json_int_or(offload, "loads", 0), dit_json_number_or(offload, "exposed_ns", 0) * 1e-9,
           100 * dit_json_number_or(offload, "hidden_share", 0));
}

static void print_answer(const cJSON *answer)
{
    const cJSON *pictures = dit_json_member(answer, "pictures");
    print_pictures(pictures);
    if (cJSON_GetArraySize(pictures) == 0) printf("no picture: %s\n", dit_json_text_or(answer, "no_picture", ""));
    printf("%s  latents, %s\n", dit_json_text_or(answer, "latents", ""), dit_json_text_or(answer, "latent_digest", ""));
    printf("%s  record\n", dit_json_text_or(answer, "record", ""));
    if (*dit_json_text_or(answer, "trace", "")) printf("%s  timeline\n", dit_json_text_or(answer, "trace", ""));
    if (*dit_json_text_or(answer, "probe", "")) printf("%s  probe\n", dit_json_text_or(answer, "probe", ""));
    const cJSON *sampling = dit_json_member(answer, "sampling_s");
    const cJSON *decoding = dit_json_member(answer, "decoding_s");
    printf("%d steps in %.3f s", (int)dit_json_int_or(answer, "steps", 0), sampling ? sampling->valuedouble : 0.0);
    if (decoding) printf(", decoded in %.3f s", decoding->valuedouble);
    print_phases(dit_json_member(answer, "phases_s"));
    const char *conditioning = dit_json_text_or(answer, "conditioning", "");
    printf("; %s\n", strcmp(conditioning, "seeded") == 0     ? "seeded embeddings"
                     : strcmp(conditioning, "captions") == 0 ? "captions"
                     : strcmp(conditioning, "prompts") == 0  ? "prompts"
                                                             : "embeddings from a file");
    print_offload(dit_json_member(answer, "offload"));
}

/* The engine's error, as if it were ours: it is about what the user gave. */
static dit_status raise_outcome(const suite_outcome *outcome)
{
    suite_failure failure = suite_outcome_failure(outcome);
    const char *log = failure.status == DIT_ERR_CRASH ? failure.log : "";
    dit_status st = DIT_FAIL(failure.status, "%s%s%s", failure.message, *log ? "\n" : "", log);
    return failure.hint[0] ? dit_error_hint(st, "%s", failure.hint) : st;
}

static dit_status run_case(generate_call *call, const cJSON *kase)
{
    suite_outcome outcome = {0};
    dit_json_writer w = {0};
    cJSON *answer = dit_json_new_object(&w);
    DIT_TRY(w.status);
    dit_status st = suite_delivery_open(&call->delivery);
    call->single.output = call->delivery.folder;
    if (st == DIT_OK) st = open_progress(call);
    if (st == DIT_OK) st = suite_single_run(kase, &call->single, &outcome);
    close_progress(call);
    if (st == DIT_OK && outcome.status != DIT_OUTCOME_OK) st = raise_outcome(&outcome);
    if (st == DIT_OK) st = describe(call, &outcome, answer);
    if (st == DIT_OK && call->cli.json) st = suite_cli_print_json("generate", answer);
    if (st == DIT_OK && !call->cli.json) print_answer(answer);
    suite_delivery_close(&call->delivery);
    suite_outcome_release(&outcome);
    cJSON_Delete(answer);
    return st;
}

static dit_status show_case(generate_call *call, const cJSON *kase)
{
    suite_outcome outcome = {0};
    call->single.dry_run = true;
    if (!call->cli.json) DIT_TRY(suite_single_run(kase, &call->single, &outcome));
    return suite_cli_print_json("generate", kase);
}

/* ---- once more --------------------------------------------------------------------------------------------------- */

/* A picture says everything: no other wish is listened to, so none is accepted. */
static dit_status refuse_other_wishes(const generate_call *call)
{
    static const int64_t none[DIT_AXIS_COUNT];
    bool others = call->cli.operand_count || call->model || call->prompts.count || call->images.count ||
                  call->use_cfg_parallel || call->use_parallel_vae || call->enable_tiling || call->prompt_file ||
                  call->output_type || memcmp(&call->request, &call->unsaid, sizeof call->request) != 0 ||
                  memcmp(call->degree, none, sizeof none) != 0;
    if (!others) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_USAGE, "--from_image runs the case of the picture; something else is asked for"),
        "give --output and nothing that decides what is made");
}

/* Clips go where --output says; all else stays. */
static dit_status put_frames(const generate_call *call, cJSON *kase)
{
    dit_json_writer w = {0};
    cJSON *picture = cJSON_GetObjectItemCaseSensitive(kase, "picture");
    const char *before = dit_json_text_or(picture, "frames", "animated");
    bool clip = strcmp(before, "mp4") == 0 || strcmp(before, "webm") == 0;
    if (!picture || (!call->delivery.clip && !clip)) return DIT_OK;
    cJSON_DeleteItemFromObjectCaseSensitive(picture, "frames");
    dit_json_put_string(&w, picture, "frames", call->delivery.clip ? call->delivery.clip : "animated");
    return w.status;
}

static dit_status run_again(generate_call *call, const dit_json *kase)
{
    const cJSON *parallel, *platform;
    DIT_TRY(dit_json_require_object(kase, kase->root, "", "parallel", &parallel));
    DIT_TRY(dit_parallel_from_json(kase, parallel, "/parallel", &call->request.parallel));
    DIT_TRY(dit_json_require_object(kase, kase->root, "", "platform", &platform));
    call->request.backend = dit_json_text_or(platform, "backend", "cpu");
    call->request.element = NULL;
    call->single.world_size = dit_parallel_world_size(&call->request.parallel);
    call->single.threads_per_rank = (int)dit_json_int_or(platform, "threads_per_rank", 1);
    if (!call->single.launcher && call->single.world_size == 1) call->single.launcher = "local";
    if (call->single.deadline_s <= 0) call->single.deadline_s = ALL_DAY_S;
    DIT_TRY(settle_backend(call));
    DIT_TRY(put_frames(call, kase->root));
    return call->cli.dry_run ? show_case(call, kase->root) : run_case(call, kase->root);
}

static dit_status generate_again(generate_call *call)
{
    dit_json kase;
    DIT_TRY(refuse_other_wishes(call));
    DIT_TRY(suite_picture_case_read(call->from_image, &kase));
    dit_status st = run_again(call, &kase);
    dit_json_release(&kase);
    return st;
}

/* ---- the verb ---------------------------------------------------------------------------------------------------- */

static dit_status generate(generate_call *call)
{
    cJSON *kase;
    char *notes;
    DIT_TRY(suite_foreign_judge(&call->foreign));
    DIT_TRY(suite_delivery_init(call->cli.output ? call->cli.output : "image.png", &call->delivery));
    if (call->from_image) return generate_again(call);
    DIT_TRY(settle_words(call));
    DIT_TRY(settle_mesh(call));
    DIT_TRY(settle_backend(call));
    DIT_TRY(suite_request_case(&call->request, "image.png", &kase, &notes));
    for (char *line = strtok(notes, "\n"); line; line = strtok(NULL, "\n")) dit_log_info("%s", line);
    free(notes);
    dit_status st = call->cli.dry_run ? show_case(call, kase) : run_case(call, kase);
    cJSON_Delete(kase);
    return st;
}

int suite_verb_generate(int argc, char **argv)
{
    enum { OWN = 66 };
    generate_call *call = calloc(1, sizeof *call);
    suite_option options[OWN + SUITE_DEGREE_OPTIONS + SUITE_DISPLACED_OPTIONS + SUITE_OFFLOAD_OPTIONS +
                         SUITE_SHARD_OPTIONS + SUITE_FOREIGN_MOST + 1] = {{0}};
    if (!call) return suite_cli_fail(&(suite_cli){0}, DIT_FAIL(DIT_ERR_MEMORY, "no memory"));
    call->displaced = (suite_displaced)SUITE_DISPLACED_UNSAID;
    call->shards.prefetch = -1;
    suite_request *r = &call->request;
    *r = (suite_request){.seed = -1,
                         .weights_seed = -1,
                         .guidance_scale = NAN,
                         .guidance_scale_2 = NAN,
                         .true_cfg_scale = NAN,
                         .strength = NAN,
                         .cfg_normalization = NAN,
                         .cfg_trunc_ratio = NAN,
                         .frame_rate = NAN,
                         .decode_timestep = NAN,
                         .decode_noise_scale = NAN,
                         .cfg_truncation = NAN,
                         .guidance_rescale = NAN,
                         .flow_shift = NAN,
                         .noise = "torch",
                         .attention = "auto",
                         .backend = "cpu"};
    memcpy(&call->unsaid, r, sizeof *r); /* with its padding */
    const suite_option own[] = {
        {"model", 0, SUITE_OPTION_STRING, "SOURCE", "instead of the operand", &call->model, 0, 0},
        {"prompt", 0, SUITE_OPTION_STRINGS, "TEXT",
         "what the picture shows, for a folder with text encoders, or a caption for a model with a text table; several "
         "make a "
         "picture each; shapes:SPLIT:COUNT: captions of a split",
         &call->prompts, 0, 0},
        {"negative_prompt", 0, SUITE_OPTION_STRING, "TEXT", "what guidance leads away from (nothing)",
         &r->negative_prompt, 0, 0},
        {"prompt_2", 0, SUITE_OPTION_STRING, "TEXT",
         "what the second text encoder reads (SD3, FLUX.1, HunyuanVideo; the prompt)", &r->prompt_2, 0, 0},
        {"prompt_3", 0, SUITE_OPTION_STRING, "TEXT", "what the third one reads (SD3; the prompt)", &r->prompt_3, 0, 0},
        {"negative_prompt_2", 0, SUITE_OPTION_STRING, "TEXT", "likewise, of the negative prompt", &r->negative_prompt_2,
         0, 0},
        {"negative_prompt_3", 0, SUITE_OPTION_STRING, "TEXT", "likewise, of the negative prompt", &r->negative_prompt_3,
         0, 0},
        {"clip_skip", 0, SUITE_OPTION_INT, "N", "leave out this many more of the last blocks of SD3's CLIPs (0)",
         &r->clip_skip, 0, 256},
        {"prompt_file", 0, SUITE_OPTION_STRING, "FILE", "prompts, one a line; --data_degree N shares them over ranks",
         &call->prompt_file, 0, 0},
        {"max_sequence_length", 0, SUITE_OPTION_INT, "N", "tokens of a prompt (the pipeline's)",
         &r->max_sequence_length, 1, 1 << 16},
        {"clean_caption", 0, SUITE_OPTION_FLAG, NULL,
         "clean prompts of PixArt, Latte and Sana as their pipelines do where beautifulsoup4 and ftfy are installed",
         &r->clean_caption, 0, 0},
        {"text_encoder_parallel", 0, SUITE_OPTION_STRING, "HOW",
         "how ranks share the text encoders: replicated (default), broadcast, tensor or cfg", &r->text_encoder_parallel,
         0, 0},
        {"stream_text_encoders", 0, SUITE_OPTION_FLAG, NULL, "hold one block of a text encoder at a time, not all",
         &r->stream_text_encoders, 0, 0},
        {"from_image", 0, SUITE_OPTION_STRING, "FILE", "run the case of a PNG once more that generate wrote",
         &call->from_image, 0, 0},
        {"inputs", 'i', SUITE_OPTION_STRING, "FILE", "a safetensors file with embeddings, and initial latents if any",
         &r->inputs, 0, 0},
        {"image", 0, SUITE_OPTION_STRINGS, "FILE",
         "start from this picture, PNG or JPEG (image-to-image of FLUX and SD3), or with it as the first frame (Wan "
         "image-to-video), beside it (FLUX.1 Fill, Depth and Canny), or with it as the reference (FLUX.1 Kontext, "
         "Qwen-Image-Edit, FLUX.2, which takes several, as Qwen-Image-Edit-2509 does)",
         &call->images, 0, 0},
        {"mask_image", 0, SUITE_OPTION_STRING, "FILE",
         "white where --image is painted anew, black elsewhere, PNG or JPEG (FLUX.1 Fill)", &r->mask_image, 0, 0},
        {"reference_resolution", 0, SUITE_OPTION_STRING, "WxH",
         "pixels to which a reference is resized; as the picture that is made, or as the pipeline has it (FLUX.2, "
         "Qwen-Image-Edit)",
         &r->reference_resolution, 0, 0},
        {"strength", 0, SUITE_OPTION_NUMBER, "S", "how much of --image is replaced, above 0 to 1 (0.6)", &r->strength,
         0, 0},
        {"transformer", 0, SUITE_OPTION_STRING, "DIR", "config.json and weights", &r->transformer, 0, 0},
        {"vae", 0, SUITE_OPTION_STRING, "DIR", "config.json and weights", &r->vae, 0, 0},
        {"scheduler", 0, SUITE_OPTION_STRING, "FILE", "scheduler_config.json, or its folder", &r->scheduler, 0, 0},
        {"weights", 0, SUITE_OPTION_STRING, "DIR", "weights of the transformer, instead of seeded ones", &r->weights, 0,
         0},
        {"height", 0, SUITE_OPTION_INT, "PX", "height of the image", &r->height, 1, 1 << 20},
        {"width", 0, SUITE_OPTION_INT, "PX", "width of the image", &r->width, 1, 1 << 20},
        {"no_use_resolution_binning", 0, SUITE_OPTION_FLAG, NULL,
         "take sizes as they are, where a checkpoint's pipeline samples the nearest of its own (PixArt, Sana, "
         "HunyuanDiT)",
         &r->takes_sizes, 0, 0},
        {"num_frames", 0, SUITE_OPTION_INT, "N", "frames of a clip", &r->num_frames, 1, 1 << 20},
        {"frame_rate", 0, SUITE_OPTION_NUMBER, "N", "frames a second of LTX-Video's positions (25)", &r->frame_rate, 0,
         0},
        {"num_inference_steps", 0, SUITE_OPTION_INT, "N", "steps", &r->num_inference_steps, 1, 10000},
        {"guidance_scale", 0, SUITE_OPTION_NUMBER, "G", "1 or less: no guidance", &r->guidance_scale, 0, 0},
        {"guidance_scale_2", 0, SUITE_OPTION_NUMBER, "G", "of the second transformer's steps (Wan 2.2 A14B)",
         &r->guidance_scale_2, 0, 0},
        {"true_cfg_scale", 0, SUITE_OPTION_NUMBER, "G",
         "above 1: guidance by a second forward, of a model that computes one (FLUX.1)", &r->true_cfg_scale, 0, 0},
        {"cfg_normalization", 0, SUITE_OPTION_NUMBER, "F",
         "scale guided predictions by their norms: 1 or 0 (Lumina-Image 2.0), a factor (Z-Image); the pipeline's",
         &r->cfg_normalization, 0, 0},
        {"cfg_trunc_ratio", 0, SUITE_OPTION_NUMBER, "R",
         "guide this share of the steps, from the first on (Lumina-Image 2.0; 1)", &r->cfg_trunc_ratio, 0, 0},
        {"decode_timestep", 0, SUITE_OPTION_NUMBER, "T",
         "what the VAE's decoder is told, from 0 to 1 (LTX-Video from 0.9.1 on; 0)", &r->decode_timestep, 0, 0},
        {"decode_noise_scale", 0, SUITE_OPTION_NUMBER, "S",
         "share of noise that latents are mixed with before they are decoded (LTX-Video; --decode_timestep)",
         &r->decode_noise_scale, 0, 0},
        {"guidance_rescale", 0, SUITE_OPTION_NUMBER, "R",
         "give this share of guided predictions the deviation of the prompt's own (LTX-Video, HunyuanDiT; 0)",
         &r->guidance_rescale, 0, 0},
        {"cfg_truncation", 0, SUITE_OPTION_NUMBER, "T",
         "leave steps unguided whose time, from 0 to 1, is above this (Z-Image; 1)", &r->cfg_truncation, 0, 0},
        {"flow_shift", 0, SUITE_OPTION_NUMBER, "S", "shift of a flow-matching scheduler", &r->flow_shift, 0, 0},
        {"seed", 0, SUITE_OPTION_INT, "N", "seed of the noise and of seeded embeddings", &r->seed, 0,
         INT64_C(9007199254740991)},
        {"noise", 0, SUITE_OPTION_STRING, "HOW",
         "torch (default): the latents of diffusers with one CPU generator; torch-each: with a list, seeds N, N + 1, "
         "...; counter: those of workloads",
         &r->noise, 0, 0},
        {"weights_seed", 0, SUITE_OPTION_INT, "N", "seed of seeded weights", &r->weights_seed, 0,
         INT64_C(9007199254740991)},
        {"num_images", 0, SUITE_OPTION_INT, "N", "number of images (default: rows of the inputs)", &r->num_images, 1,
         4096},
        {"num_images_per_prompt", 0, SUITE_OPTION_INT, "N", "pictures of each prompt (1)", &r->images_per_prompt, 1,
         4096},
        {"use_cfg_parallel", 0, SUITE_OPTION_FLAG, NULL, "the same as --cfg_degree 2", &call->use_cfg_parallel, 0, 0},
        {"attention", 0, SUITE_OPTION_STRING, "NAME",
         "auto, local, ulysses, ring, usp, all-gather, double-ring, dsp, a patch_method", &r->attention, 0, 0},
        {"cache", 0, SUITE_OPTION_STRING, "JSON", "what steps reuse of earlier ones, settings as in a workload",
         &r->cache, 0, 0},
        {"backend", 0, SUITE_OPTION_STRING, "NAME", "cpu (default), ref, or cuda: a GPU a rank", &r->backend, 0, 0},
        {"dtype", 0, SUITE_OPTION_STRING, "TYPE", "with cuda: bf16 (default), fp16 or fp32", &r->element, 0, 0},
        {"element", 0, SUITE_OPTION_STRING, "TYPE", NULL, &r->element, 0, 0},
        {"fp8_linear", 0, SUITE_OPTION_FLAG, NULL, "with cuda: linear layers in fp8, an approximation", &r->fp8_linear,
         0, 0},
        {"no_graphs", 0, SUITE_OPTION_FLAG, NULL, "with cuda: launch every kernel by itself", &r->no_graphs, 0, 0},
        {"threads", 't', SUITE_OPTION_INT, "N", "threads per rank (default: cores / ranks)", &r->threads, 1, 1024},
        {"tiling", 0, SUITE_OPTION_FLAG, NULL, "decode in overlapping tiles: bounded memory, approximate", &r->tiling,
         0, 0},
        {"use_parallel_vae", 0, SUITE_OPTION_FLAG, NULL, "all ranks share each decode, instead of rank 0 alone",
         &call->use_parallel_vae, 0, 0},
        {"vae_split", 0, SUITE_OPTION_STRING, "HOW",
         "what they divide: rows (default), or the frames of Wan's, CogVideoX's, HunyuanVideo 1.5's and Mochi's clips",
         &r->vae_split, 0, 0},
        {"enable_tiling", 0, SUITE_OPTION_FLAG, NULL, NULL, &call->enable_tiling, 0, 0},
        {"frames", 0, SUITE_OPTION_STRING, "HOW",
         "write a clip as an animated PNG (default), numbered PNGs, mp4 or webm", &call->frames, 0, 0},
        {"pixels", 0, SUITE_OPTION_FLAG, NULL,
         "also keep the colours, not rounded: in the file of latents, for quality", &r->pixels, 0, 0},
        {"fps", 0, SUITE_OPTION_INT, "N", "frames a second at which a clip is shown (what the model was trained on; 8)",
         &r->frames_per_s, 1, 1000},
        {"output_type", 0, SUITE_OPTION_STRING, "TYPE", "pil (default), or latent: no image", &call->output_type, 0, 0},
        {"trace", 0, SUITE_OPTION_FLAG, NULL, "also write a timeline of every rank, for Perfetto: FILE.trace.json",
         &r->trace, 0, 0},
        {"probe", 0, SUITE_OPTION_FLAG, NULL,
         "sample once more and note how much every layer changes from step to step: FILE.probe.safetensors", &r->probe,
         0, 0},
        {"timeout", 0, SUITE_OPTION_DURATION, "TIME", "deadline (a day)", &call->single.deadline_s, 0, 0},
        {"launcher", 0, SUITE_OPTION_STRING, "NAME", "mpirun, or local for one rank", &call->single.launcher, 0, 0},
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "engine program", &call->single.engine, 0, 0},
    };
    _Static_assert(sizeof own / sizeof *own <= OWN, "a place for every option");
    memcpy(options, own, sizeof own);
    suite_option *next = options + sizeof own / sizeof *own;
    next += suite_degree_options(call->degree, next);
    suite_displaced_options(&call->displaced, next);
    suite_offload_options(&call->offload, next + SUITE_DISPLACED_OPTIONS);
    next += SUITE_DISPLACED_OPTIONS + SUITE_OFFLOAD_OPTIONS;
    suite_shard_options(&call->shards, next);
    suite_foreign_options(&call->foreign, next + SUITE_SHARD_OPTIONS);
    const suite_cli_spec spec = {"generate", "[SOURCE]", purpose, examples, options, 0, -1};
    int code = suite_cli_parse(&spec, argc, argv, &call->cli);
    if (code < 0) {
        dit_status st = generate(call);
        code = st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(&call->cli, st);
        suite_cli_release(&call->cli);
    }
    free(call->prompt_text);
    free(call);
    return code;
}
