/* ditbench explain: every mesh for a model and a number of devices, or one of them in full. */
#include "base/json.h"
#include "base/label.h"
#include "base/request.h"
#include "base/words.h"
#include "suite/catalogue/parameter.h"
#include "suite/console/cli.h"
#include "suite/explain/explain.h"
#include "suite/explain/explain_print.h"
#include "suite/platform/platform.h"
#include "suite/search/verdicts.h"
#include "suite/verbs/mesh_options.h"
#include "suite/verbs/verbs.h"
#include "suite/workload/load.h"

#include <stdio.h>
#include <string.h>

static const char purpose[] =
    "Lists every way to lay a model over N devices as data x cfg x pipefusion x patch x ring x ulysses x tensor: "
    "bytes\n"
    "and messages a rank sends in a diffusion step, its flops, and its peak memory by class - counted by the engine's\n"
    "own code over shapes alone, nothing is run - and, for each mesh that is not legal, the rule it breaks. Where "
    "ranks\n"
    "differ, bytes are those of the rank that sends most (beside the least), memory of the one that holds most.\n"
    "Counted bytes are compared with the method's formula; * marks a difference. Sizes are in the dtype that the\n"
    "platform computes in (fp32 on cores and without a platform), or in --dtype. Without --platform nothing is\n"
    "dropped for memory; with one, a mesh must fit a device as it must in a simulation of denoising. VAEs, which\n"
    "pipelines hold too, are not counted. Text encoders run before the transformer and are freed then: what they "
    "weigh\n"
    "and send stands apart, for each text_encoder_parallel.\n"
    "On a simulated platform each mesh that fits also has the time of a request, what binds it and a verdict: best,\n"
    "so many percent behind, excluded by bound (it cannot be best, so it is not simulated), or out of memory with\n"
    "what is missing. These are a request's with text encoders and VAE, unless --scope says otherwise, in the\n"
    "software of --profile. Exact meshes and approximate ones are judged apart. Results are kept for other commands\n"
    "(see search). Without a simulator there are no times, and the rest is printed.\n"
    "With --mesh, or degrees, one mesh is shown in full: its kinds of ranks, what their memory is made of, the order\n"
    "of exchanges in a block and, of a pipeline, which stage works on which step.patch in which tick.";
static const char examples[] = "ditbench explain flux.1-dev --gpus 8\n"
                               "ditbench explain flux.1-dev --gpus 8 --platform 8xrtx-4090\n"
                               "ditbench explain flux.1-dev --platform 8xl40 --dtype bf16 --profile pytorch-eager\n"
                               "ditbench explain flux.1-dev --platform 8xh100-sxm --times none\n"
                               "ditbench explain --model pixart-sigma-xl-2 --gpus 4 --height 2048 --width 2048\n"
                               "ditbench explain --model flux.1-dev --mesh \"u2 pp4\" --warmup_steps 1\n"
                               "ditbench explain --model flux.2-dev --mesh \"u8 fsdp8\"\n"
                               "ditbench explain --model hunyuandit-v1.2 --pipefusion_degree 4 --num_pipeline_patch 8\n"
                               "ditbench explain --model hunyuanvideo --gpus 16 --num_frames 65 --json";

/* ---- the command line -------------------------------------------------------------------------------------------- */

/* What the options say of one mesh. */
typedef struct {
    const char *label, *patch_method;
    int64_t degree[DIT_AXIS_COUNT];
    suite_shards shards;
    dit_parallel mesh; /* that, read */
} mesh_call;

static dit_status check_devices(const suite_explain_params *params, const dit_parallel *mesh)
{
    int size = dit_parallel_world_size(mesh);
    if (size > 4096) return DIT_FAIL(DIT_ERR_USAGE, "a mesh has at most 4096 ranks; this one has %d", size);
    if (params->devices == 0 || params->devices == size) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_USAGE, "the mesh has %d ranks, but --gpus says %lld", size, (long long)params->devices),
        "leave --gpus out");
}

/* *given: whether there is one at all. */
static dit_status read_mesh(mesh_call *call, const suite_explain_params *params, bool *given)
{
    dit_parallel *out = &call->mesh;
    *given = call->label != NULL;
    if (call->patch_method && !dit_patch_method_from_name(call->patch_method, &out->patch_method))
        return dit_fail_word(DIT_ERR_USAGE, "--patch_method", call->patch_method, dit_patch_method_names());
    dit_status st = call->label ? dit_parallel_from_label(call->label, out) : DIT_OK;
    if (st != DIT_OK)
        return dit_error_hint(st, "as in \"pp2 u2\" or \"patch4 %s\"; meshes are listed without --mesh",
                              dit_patch_method_name(DIT_PATCH_DISTRIFUSION));
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        if (!call->degree[axis]) continue;
        out->degree[axis] = (int)call->degree[axis];
        *given = true;
    }
    return *given ? check_devices(params, out) : DIT_OK;
}

/* What options say of shards goes before the label. */
static dit_status settle_shards(mesh_call *call, suite_explain_params *params)
{
    dit_parallel *mesh = &call->mesh;
    if (call->shards.degree > 0 || mesh->fsdp_degree <= 1) {
        DIT_TRY(suite_shards_settle(&call->shards, mesh));
    } else if (call->shards.prefetch >= 0) {
        mesh->fsdp_prefetch = (int)call->shards.prefetch;
    }
    params->fsdp_degree = mesh->fsdp_degree, params->fsdp_prefetch = mesh->fsdp_prefetch;
    return DIT_OK;
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

enum { MANY = 100 }; /* meshes whose bounds take a while */
typedef enum { TIMES_SIMULATED, TIMES_BOUNDS, TIMES_NONE } times_word;
static const char *const times_words[] = {"simulated", "bounds", "none", NULL};

typedef struct {
    suite_explain_params params;
    suite_single_params single;
    suite_verdicts_params verdicts;
    mesh_call mesh;
    const char *times, *resolution, *calibration;
    int64_t jobs;
    suite_calibration fitted;
    char no_times[512]; /* why there are none; "": there are, or nobody expects them */
    cJSON *answer;
    suite_offload offload;
} explain_call;

static void tell(void *context, int done, int open)
{
    const suite_cli *cli = context;
    if (!cli->quiet) fprintf(stderr, "%d simulated, at most %d to come\n", done, open);
}

/* The first option that was given and speaks of times; NULL: none. */
static const char *find_of_times(const explain_call *call)
{
    const suite_verdicts_params *verdicts = &call->verdicts;
    return verdicts->scope     ? "--scope"
           : call->calibration ? "--calibration"
           : call->jobs        ? "--jobs"
           : verdicts->fresh   ? "--fresh"
                               : NULL;
}

static dit_status check_unsimulated(const explain_call *call)
{
    const char *named = call->params.profile ? "--profile" : call->times ? "--times" : find_of_times(call);
    const char *platform = call->params.platform;
    if (!named) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "%s is of simulated platforms, and %s%s", named,
                                   platform ? platform : "there is no --platform", platform ? " is none" : ""),
                          "name one that `ditbench list platforms` shows with backend cost");
}

static dit_status check_untimed(const explain_call *call)
{
    const char *named = find_of_times(call);
    if (!named) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "%s is of times, and --times none asks for none", named),
                          "leave out one of the two");
}

/* What follows from the platform: on a simulated one there are times, and what nobody says is as `search` has it. */
static dit_status take_platform(explain_call *call, times_word *times)
{
    int word = call->times ? dit_words_find(times_words, call->times) : TIMES_SIMULATED;
    suite_platform platform = {0};
    suite_explain_params *params = &call->params;
    const char *scope = call->verdicts.scope;
    if (word < 0) return dit_fail_word(DIT_ERR_USAGE, "--times", call->times, times_words);
    if (scope && dit_words_find(dit_request_scopes(), scope) < 0)
        return dit_fail_word(DIT_ERR_USAGE, "--scope", scope, dit_request_scopes());
    if (params->platform) DIT_TRY(suite_platform_load(params->platform, &platform));
    *times = strcmp(platform.backend, "cost") == 0 ? (times_word)word : TIMES_NONE;
    if (strcmp(platform.backend, "cost") != 0) return check_unsimulated(call);
    if (*times == TIMES_NONE) DIT_TRY(check_untimed(call));
    if (!params->profile) params->profile = "torch-compile";
    if (!params->devices && !params->mesh) params->devices = platform.devices;
    return DIT_OK;
}

/* Adds the times. Where there is no simulator the answer stays without, and call->no_times says so. */
static dit_status add_times(explain_call *call, times_word times, const suite_cli *cli)
{
    const suite_simulate_params simulator = {0};
    const int meshes = cJSON_GetArraySize(dit_json_member(call->answer, "meshes"));
    if (times == TIMES_NONE || !meshes) return DIT_OK;
    if (suite_simulate_check(&simulator) != DIT_OK) {
        const dit_error *error = dit_error_last();
        snprintf(call->no_times, sizeof call->no_times, "%s (%s)", error->message, error->hint);
        dit_error_clear();
        return DIT_OK;
    }
    if (!cli->quiet && meshes >= MANY)
        fprintf(stderr, "bounds of %d meshes on %lld devices, which may take minutes; --times none leaves them out\n",
                meshes, (long long)call->params.devices);
    DIT_TRY(suite_calibration_load(call->calibration, &call->fitted));
    call->verdicts.calibration = &call->fitted;
    call->verdicts.bounds_only = times == TIMES_BOUNDS;
    call->verdicts.at_once = (int)call->jobs;
    call->verdicts.told = tell, call->verdicts.context = (void *)(uintptr_t)cli;
    return suite_verdicts_add(&call->params, &call->verdicts, call->answer);
}

static dit_status take_size(explain_call *call)
{
    suite_explain_params *params = &call->params;
    if (!params->width_px != !params->height_px)
        return DIT_FAIL(DIT_ERR_USAGE, "--height and --width go together: give both");
    if (call->resolution && params->width_px)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--resolution says what --height and --width say"),
                              "leave out one of the two");
    if (!call->resolution || suite_resolution_from_text(call->resolution, &params->width_px, &params->height_px))
        return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--resolution: '%s' is not WIDTHxHEIGHT", call->resolution),
                          "as in 1024x1024");
}

/* call->params points into call->mesh then. */
static dit_status explain(explain_call *call, const suite_cli *cli)
{
    suite_explain_params *params = &call->params;
    times_word times;
    bool given;
    DIT_TRY(read_mesh(&call->mesh, params, &given));
    if (given) params->mesh = &call->mesh.mesh;
    DIT_TRY(settle_shards(&call->mesh, params));
    DIT_TRY(suite_offload_settle(&call->offload, &params->offload));
    DIT_TRY(take_platform(call, &times));
    if (!params->model || (params->devices == 0 && !given))
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "give --model, and --gpus or a mesh"),
                              "see ditbench explain --help");
    DIT_TRY(take_size(call));
    DIT_TRY(suite_explain(params, &call->single, &call->answer));
    DIT_TRY(add_times(call, times, cli));
    if (!*call->no_times) return DIT_OK;
    dit_json_writer w = {0};
    dit_json_put_string(&w, call->answer, "no_times", call->no_times);
    return w.status;
}

int suite_verb_explain(int argc, char **argv)
{
    suite_cli cli;
    explain_call call = {.params = {.warmup_steps = -1, .halo_frames = -1, .global_frames = -1, .context_frames = -1},
                         .mesh = {.shards = {.prefetch = -1}},
                         .single = {.launcher = "local", .world_size = 1, .threads_per_rank = 1}};
    suite_explain_params *params = &call.params;
    const suite_option own[] = {
        {"model", 'm', SUITE_OPTION_STRING, "NAME", "a model of `ditbench list models`, also NAME~VARIANT",
         &params->model, 0, 0},
        {"gpus", 'n', SUITE_OPTION_INT, "N", "devices, one rank each (default: all of a simulated platform)",
         &params->devices, 1, 4096},
        {"devices", 0, SUITE_OPTION_INT, "N", NULL, &params->devices, 1, 4096},
        {"mesh", 0, SUITE_OPTION_STRING, "LABEL", "show this mesh in full, by its label: \"u2 pp4\"", &call.mesh.label,
         0, 0},
        {"patch_method", 0, SUITE_OPTION_STRING, "NAME", "the method of displaced patches (distrifusion)",
         &call.mesh.patch_method, 0, 0},
        {"warmup_steps", 0, SUITE_OPTION_INT, "N", "synchronous first steps of pipelines and patches",
         &params->warmup_steps, 0, 100000},
        {"num_pipeline_patch", 0, SUITE_OPTION_INT, "N", "patches of a pipeline (default: one per stage)",
         &params->num_pipeline_patch, 1, 4096},
        {"halo_frames", 0, SUITE_OPTION_INT, "N", "video-infinity: frames of each neighbour that a rank sees (1)",
         &params->halo_frames, 0, 1 << 20},
        {"global_frames", 0, SUITE_OPTION_INT, "N", "video-infinity: frames that all ranks see (one of each rank)",
         &params->global_frames, 0, 1 << 20},
        {"block_frames", 0, SUITE_OPTION_INT, "N", "dualparal, tpp: frames of tokens of a block (one block a stage)",
         &params->block_frames, 1, 1 << 20},
        {"context_frames", 0, SUITE_OPTION_INT, "N", "dualparal, tpp: frames that a block sees beside it (a block's)",
         &params->context_frames, 0, 1 << 20},
        {"height", 0, SUITE_OPTION_INT, "PX", "height of the image; needs --width", &params->height_px, 1, 1 << 20},
        {"width", 0, SUITE_OPTION_INT, "PX", "width of the image; needs --height", &params->width_px, 1, 1 << 20},
        {"resolution", 'r', SUITE_OPTION_STRING, "WxH", NULL, &call.resolution, 0, 0},
        {"num_frames", 0, SUITE_OPTION_INT, "N", "frames of a clip", &params->num_frames, 1, 1 << 20},
        {"text_tokens", 0, SUITE_OPTION_INT, "N", "tokens of text", &params->text_tokens, 1, 1 << 20},
        {"num_inference_steps", 0, SUITE_OPTION_INT, "N", "steps", &params->steps, 1, 10000},
        {"steps", 0, SUITE_OPTION_INT, "N", NULL, &params->steps, 1, 10000},
        {"num_images", 0, SUITE_OPTION_INT, "N", "images at once (data parallel divides them)", &params->num_images, 1,
         4096},
        {"platform", 'p', SUITE_OPTION_STRING, "NAME",
         "refuse meshes that do not fit this platform (default: none); a simulated one gives times", &params->platform,
         0, 0},
        {"profile", 0, SUITE_OPTION_STRING, "NAME",
         "software of a simulated platform, one of `ditbench list profiles` (default: torch-compile)", &params->profile,
         0, 0},
        {"dtype", 0, SUITE_OPTION_STRING, "TYPE",
         "fp32, fp16, bf16 or fp8 (default: the platform's); workloads call it element", &params->element, 0, 0},
        {"element", 0, SUITE_OPTION_STRING, "TYPE", NULL, &params->element, 0, 0},
        {"times", 0, SUITE_OPTION_STRING, "WORD",
         "on a simulated platform: simulated, bounds (quicker, no winner) or none (default: simulated)", &call.times, 0,
         0},
        {"scope", 0, SUITE_OPTION_STRING, "SCOPE", "what is timed: pipeline, latents or denoise (default: pipeline)",
         &call.verdicts.scope, 0, 0},
        {"calibration", 0, SUITE_OPTION_STRING, "FILE",
         "fitted values, or \"none\" (default: results/calibration/published.json)", &call.calibration, 0, 0},
        {"jobs", 'j', SUITE_OPTION_INT, "N", "simulations at a time (default: cores)", &call.jobs, 1, 1024},
        {"fresh", 0, SUITE_OPTION_FLAG, NULL, "neither take times from the cache nor add to it", &call.verdicts.fresh,
         0, 0},
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "engine program", &call.single.engine, 0, 0},
    };
    suite_option options[sizeof own / sizeof *own + SUITE_DEGREE_OPTIONS + SUITE_OFFLOAD_OPTIONS + SUITE_SHARD_OPTIONS +
                         1] = {{0}};
    memcpy(options, own, sizeof own);
    suite_option *next = options + sizeof own / sizeof *own;
    next += suite_degree_options(call.mesh.degree, next);
    suite_offload_options(&call.offload, next);
    suite_shard_options(&call.mesh.shards, next + SUITE_OFFLOAD_OPTIONS);
    const suite_cli_spec spec = {"explain", "[MODEL]", purpose, examples, options, 0, 1};
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    if (cli.operand_count && !params->model) params->model = cli.operands[0];
    dit_status st = explain(&call, &cli);
    if (st == DIT_OK && cli.json) st = suite_cli_print_json("explain", call.answer);
    if (st == DIT_OK && !cli.json)
        st = suite_explain_print(call.answer, params->mesh != NULL, *call.no_times ? call.no_times : NULL);
    code = st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(&cli, st);
    cJSON_Delete(call.answer);
    suite_calibration_release(&call.fitted);
    suite_cli_release(&cli);
    return code;
}
