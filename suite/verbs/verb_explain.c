/* ditbench explain: every mesh for a model and a number of devices, or one of them in full. */
#include "base/json.h"
#include "base/label.h"
#include "suite/console/cli.h"
#include "base/words.h"
#include "suite/explain/explain.h"
#include "suite/verbs/mesh_options.h"
#include "suite/verbs/verbs.h"

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
    "dropped for memory; with one, a mesh must fit a device as it must in a simulation of denoising. Text encoders\n"
    "and VAEs, which pipelines hold too, are not counted. With --mesh, or degrees, one mesh is shown in full: its\n"
    "kinds of ranks, what their memory is made of, the order of exchanges in a block and, of a pipeline, which stage\n"
    "works on which step.patch in which tick.";
static const char examples[] = "ditbench explain flux.1-dev --gpus 8\n"
                               "ditbench explain flux.1-dev --gpus 8 --platform 8xrtx-4090\n"
                               "ditbench explain --model pixart-sigma-xl-2 --gpus 4 --height 2048 --width 2048\n"
                               "ditbench explain --model flux.1-dev --mesh \"u2 pp4\" --warmup_steps 1\n"
                               "ditbench explain --model hunyuandit-v1.2 --pipefusion_degree 4 --num_pipeline_patch 8\n"
                               "ditbench explain --model hunyuanvideo --gpus 16 --num_frames 65 --json";
static const double GIB = 1024.0 * 1024 * 1024;

/* ---- all meshes -------------------------------------------------------------------------------------------------- */

static void print_mesh(const cJSON *mesh)
{
    const cJSON *memory = dit_json_member(mesh, "memory");
    double bytes = dit_json_number_or(mesh, "bytes_per_step", 0);
    printf("%-19s %-9s %12.3f%s %11.3f %9.0f %10.3f %9.2f %8.2f %8.2f %8.2f %8.2f\n",
           dit_json_text_or(mesh, "mesh", "-"), dit_json_text_or(mesh, "attention", "-"), bytes / 1e6,
           bytes == dit_json_number_or(mesh, "predicted_bytes_per_step", 0) ? " " : "*",
           dit_json_number_or(mesh, "least_bytes_per_step", 0) / 1e6, dit_json_number_or(mesh, "messages_per_step", 0),
           dit_json_number_or(mesh, "flops_per_step", 0) / 1e12, dit_json_number_or(mesh, "memory_bytes", 0) / GIB,
           dit_json_number_or(memory, "weights", 0) / GIB, dit_json_number_or(memory, "state", 0) / GIB,
           dit_json_number_or(memory, "activations", 0) / GIB, dit_json_number_or(memory, "communication", 0) / GIB);
}

static void print_title(const cJSON *answer)
{
    const cJSON *run = dit_json_member(answer, "run");
    double devices = dit_json_number_or(answer, "devices", 0), frames = dit_json_number_or(run, "num_frames", 0);
    double steps = dit_json_number_or(run, "num_inference_steps", 0);
    printf("%s on %.0f device%s in %s", dit_json_text_or(answer, "model", "-"), devices, devices == 1 ? "" : "s",
           dit_json_text_or(answer, "element", "-"));
    if (!run) return;
    printf(", %.0fx%.0f", dit_json_number_or(run, "width_px", 0), dit_json_number_or(run, "height_px", 0));
    if (frames > 1) printf(", %.0f frames", frames);
    printf(", %.0f step%s", steps, steps == 1 ? "" : "s");
}

static void print_rejected(const cJSON *rejected)
{
    const cJSON *item;
    if (cJSON_GetArraySize(rejected)) printf("\nnot legal:\n");
    cJSON_ArrayForEach(item, rejected)
        printf("%-19s %s: %s\n", dit_json_text_or(item, "mesh", "-"), dit_json_text_or(item, "code", "-"),
               dit_json_text_or(item, "reason", "-"));
}

static void print_all(const cJSON *answer)
{
    const cJSON *item;
    print_title(answer);
    printf("\n\n%-19s %-9s %12s  %11s %9s %10s %9s %8s %8s %8s %8s\n", "mesh", "attention", "MB/step", "least",
           "msgs/step", "TFLOP/step", "GiB", "weights", "state", "activ.", "comm.");
    cJSON_ArrayForEach(item, dit_json_member(answer, "meshes")) print_mesh(item);
    print_rejected(dit_json_member(answer, "rejected"));
}

/* ---- one mesh in full -------------------------------------------------------------------------------------------- */

static void print_rank(const cJSON *rank)
{
    const cJSON *memory = dit_json_member(rank, "memory"), *terms = dit_json_member(rank, "terms");
    double bytes = dit_json_number_or(rank, "bytes_per_step", 0);
    printf("%4.0f %5.0f %6.0f %12.3f%s %9.2f %10.3f %9.3f %8.3f %8.3f %8.3f %8.3f  %9.3f %9.3f %9.3f\n",
           dit_json_number_or(rank, "rank", 0), dit_json_number_or(rank, "stage", 0),
           dit_json_number_or(rank, "blocks", 0), bytes / 1e6,
           bytes == dit_json_number_or(rank, "predicted_bytes_per_step", 0) ? " " : "*",
           dit_json_number_or(rank, "messages_per_step", 0), dit_json_number_or(rank, "flops_per_step", 0) / 1e12,
           dit_json_number_or(rank, "memory_bytes", 0) / GIB, dit_json_number_or(memory, "weights", 0) / GIB,
           dit_json_number_or(memory, "state", 0) / GIB, dit_json_number_or(memory, "activations", 0) / GIB,
           dit_json_number_or(memory, "communication", 0) / GIB, dit_json_number_or(terms, "parameters_bytes", 0) / GIB,
           dit_json_number_or(terms, "kv_store_bytes", 0) / GIB, dit_json_number_or(terms, "stream_bytes", 0) / GIB);
}

static void print_ranks(const cJSON *mesh)
{
    const cJSON *item;
    printf("\n%4s %5s %6s %12s  %9s %10s %9s %8s %8s %8s %8s  %9s %9s %9s\n", "rank", "stage", "blocks", "MB/step",
           "msgs/step", "TFLOP/step", "GiB", "weights", "state", "activ.", "comm.", "parameters", "K,V store",
           "stream");
    cJSON_ArrayForEach(item, dit_json_member(mesh, "ranks")) print_rank(item);
    printf("Each kind of rank has a row. To check by hand: parameters times bytes of the dtype; K, V store\n"
           "2 B S C/(u t) for each layer of the stage, where S is the rows kept; stream: three buffers of B S C,\n"
           "two that arrive and one that leaves.\n");
}

static void print_exchanges(const cJSON *mesh)
{
    const cJSON *item;
    int index = 1;
    if (cJSON_GetArraySize(dit_json_member(mesh, "exchanges"))) printf("\na block, in order:\n");
    cJSON_ArrayForEach(item, dit_json_member(mesh, "exchanges")) printf("%3d. %s\n", index++, item->valuestring);
}

static void print_stale_steps(const cJSON *schedule)
{
    const cJSON *row;
    double stale = dit_json_number_or(schedule, "stale_steps", 0), stages = dit_json_number_or(schedule, "stages", 0);
    double bands = dit_json_number_or(schedule, "bands", 0), ticks = dit_json_number_or(schedule, "ticks", 0);
    if (stale == 0) {
        printf("  all steps are synchronous: the result is exact, and the pipeline is as slow as one rank\n");
        return;
    }
    printf("  then %.0f steps of %.0f patches: %.0f ticks, %s; efficiency %.3f\n", stale, bands, ticks,
           bands >= stages ? "(T-W) M + P-1" : "(T-W-1) P + M + P-1, for M < P",
           dit_json_number_or(schedule, "efficiency", 0));
    printf("  a tick is T1/(P M), where T1 is a step on one rank: speed-up %.3f, bound T/(W + (T-W)/P) = %.3f\n",
           dit_json_number_or(schedule, "speed_up", 0), dit_json_number_or(schedule, "speed_up_bound", 0));
    if (bands == stages) printf("  M = P: latents must be back at stage 0 without delay; more patches give slack\n");
    printf("  the first stale steps, as step.patch:\n");
    cJSON_ArrayForEach(row, dit_json_member(schedule, "rows")) printf("  %s\n", row->valuestring);
}

static void print_schedule(const cJSON *schedule)
{
    const cJSON *item;
    printf("\nschedule: %.0f stages of", dit_json_number_or(schedule, "stages", 0));
    cJSON_ArrayForEach(item, dit_json_member(schedule, "stage_blocks")) printf(" %.0f", item->valuedouble);
    printf(" blocks\n");
    if (cJSON_IsTrue(dit_json_member(schedule, "fill")))
        printf("  first a synchronous forward through all stages in turn, which is no step and fills the stores\n");
    if (dit_json_number_or(schedule, "warmup_steps", 0) > 0)
        printf("  steps 0..%.0f: synchronous, all rows through all stages in turn\n",
               dit_json_number_or(schedule, "warmup_steps", 0) - 1);
    print_stale_steps(schedule);
}

static void print_one(const cJSON *answer)
{
    const cJSON *mesh = dit_json_member(answer, "meshes")->child;
    print_title(answer);
    if (mesh) {
        printf(", mesh %s (%s)\n", dit_json_text_or(mesh, "mesh", "-"), dit_json_text_or(mesh, "method", "-"));
        print_ranks(mesh);
        print_exchanges(mesh);
        if (dit_json_member(mesh, "schedule")) print_schedule(dit_json_member(mesh, "schedule"));
    } else {
        printf("\n");
    }
    print_rejected(dit_json_member(answer, "rejected"));
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

/* What the options say of one mesh. */
typedef struct {
    const char *label, *patch_method;
    int64_t degree[DIT_AXIS_COUNT];
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

/* `params` points into `call` then. */
static dit_status explain(suite_explain_params *params, mesh_call *call, const suite_single_params *single,
                          cJSON **answer)
{
    bool given;
    DIT_TRY(read_mesh(call, params, &given));
    if (given) params->mesh = &call->mesh;
    if (!params->model || (params->devices == 0 && !given))
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "give --model, and --gpus or a mesh"),
                              "see ditbench explain --help");
    if (!params->width_px != !params->height_px)
        return DIT_FAIL(DIT_ERR_USAGE, "--height and --width go together: give both");
    return suite_explain(params, single, answer);
}

int suite_verb_explain(int argc, char **argv)
{
    suite_cli cli;
    suite_explain_params params = {.warmup_steps = -1};
    suite_single_params single = {.launcher = "local", .world_size = 1, .threads_per_rank = 1};
    mesh_call mesh = {0};
    cJSON *answer = NULL;
    const suite_option own[] = {
        {"model", 'm', SUITE_OPTION_STRING, "NAME", "a model of `ditbench list models`, also NAME~VARIANT",
         &params.model, 0, 0},
        {"gpus", 'n', SUITE_OPTION_INT, "N", "devices, one rank each", &params.devices, 1, 4096},
        {"mesh", 0, SUITE_OPTION_STRING, "LABEL", "show this mesh in full, by its label: \"u2 pp4\"", &mesh.label, 0,
         0},
        {"patch_method", 0, SUITE_OPTION_STRING, "NAME", "the method of displaced patches (distrifusion)",
         &mesh.patch_method, 0, 0},
        {"warmup_steps", 0, SUITE_OPTION_INT, "N", "synchronous first steps of pipelines and patches",
         &params.warmup_steps, 0, 100000},
        {"num_pipeline_patch", 0, SUITE_OPTION_INT, "N", "patches of a pipeline (default: one per stage)",
         &params.num_pipeline_patch, 1, 4096},
        {"height", 0, SUITE_OPTION_INT, "PX", "height of the image; needs --width", &params.height_px, 1, 1 << 20},
        {"width", 0, SUITE_OPTION_INT, "PX", "width of the image; needs --height", &params.width_px, 1, 1 << 20},
        {"num_frames", 0, SUITE_OPTION_INT, "N", "frames of a clip", &params.num_frames, 1, 1 << 20},
        {"text_tokens", 0, SUITE_OPTION_INT, "N", "tokens of text", &params.text_tokens, 1, 1 << 20},
        {"num_inference_steps", 0, SUITE_OPTION_INT, "N", "steps", &params.steps, 1, 10000},
        {"num_images", 0, SUITE_OPTION_INT, "N", "images at once (data parallel divides them)", &params.num_images, 1,
         4096},
        {"platform", 0, SUITE_OPTION_STRING, "NAME", "refuse meshes that do not fit this platform (default: none)",
         &params.platform, 0, 0},
        {"dtype", 0, SUITE_OPTION_STRING, "TYPE", "sizes in fp32, fp16, bf16 or fp8 (default: the platform's)",
         &params.element, 0, 0},
        {"element", 0, SUITE_OPTION_STRING, "TYPE", NULL, &params.element, 0, 0},
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "engine program", &single.engine, 0, 0},
    };
    suite_option options[sizeof own / sizeof *own + SUITE_DEGREE_OPTIONS + 1] = {{0}};
    memcpy(options, own, sizeof own);
    suite_degree_options(mesh.degree, options + sizeof own / sizeof *own);
    const suite_cli_spec spec = {"explain", "[MODEL]", purpose, examples, options, 0, 1};
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    if (cli.operand_count && !params.model) params.model = cli.operands[0];
    dit_status st = explain(&params, &mesh, &single, &answer);
    if (st == DIT_OK && cli.json) st = suite_cli_print_json("explain", answer);
    if (st == DIT_OK && !cli.json) (params.mesh ? print_one : print_all)(answer);
    code = st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(&cli, st);
    cJSON_Delete(answer);
    suite_cli_release(&cli);
    return code;
}
