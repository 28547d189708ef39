/* ditbench explain: every mesh for a model and a number of devices. */
#include "suite/cli.h"
#include "suite/explain.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>
#include <string.h>

static const char purpose[] =
    "Lists every way to lay a model over N devices as data x cfg x pipefusion x ring x ulysses x tensor: bytes and\n"
    "messages a rank sends in a diffusion step, its flops, and its peak memory by class - counted by the engine's own\n"
    "code over shapes alone, nothing is run - and, for each mesh that is not legal, the rule it breaks. Bytes are "
    "held\n"
    "against the closed form of the method (a star marks a difference). fp32; without --platform no memory limit.";
static const char examples[] = "ditbench explain --model flux.1-dev --gpus 8\n"
                               "ditbench explain --model pixart-sigma-xl-2 --gpus 4 --height 2048 --width 2048\n"
                               "ditbench explain --model hunyuanvideo --gpus 16 --num_frames 65 --json";

static double number_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static const char *text_of(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text ? text : "-";
}

static void print_mesh(const cJSON *mesh)
{
    static const double gib = 1024.0 * 1024 * 1024;
    const cJSON *memory = cJSON_GetObjectItemCaseSensitive(mesh, "memory");
    double bytes = number_of(mesh, "bytes_per_step");
    printf("%-16s %-9s %12.3f%s %9.0f %10.3f %9.2f %8.2f %8.2f %8.2f %8.2f\n", text_of(mesh, "mesh"),
           text_of(mesh, "attention"), bytes / 1e6, bytes == number_of(mesh, "predicted_bytes_per_step") ? " " : "*",
           number_of(mesh, "messages_per_step"), number_of(mesh, "flops_per_step") / 1e12,
           number_of(mesh, "memory_bytes") / gib, number_of(memory, "weights") / gib, number_of(memory, "state") / gib,
           number_of(memory, "activations") / gib, number_of(memory, "communication") / gib);
}

static void print_answer(const cJSON *answer)
{
    const cJSON *run = cJSON_GetObjectItemCaseSensitive(answer, "run"), *item;
    const cJSON *rejected = cJSON_GetObjectItemCaseSensitive(answer, "rejected");
    printf("%s on %.0f devices", text_of(answer, "model"), number_of(answer, "devices"));
    if (run)
        printf(", %.0fx%.0f, %.0f frames, %.0f steps", number_of(run, "width_px"), number_of(run, "height_px"),
               number_of(run, "num_frames") > 1 ? number_of(run, "num_frames") : 1,
               number_of(run, "num_inference_steps"));
    printf("\n\n%-16s %-9s %12s  %9s %10s %9s %8s %8s %8s %8s\n", "mesh", "attention", "MB/step", "msgs/step",
           "TFLOP/step", "GiB", "weights", "state", "activ.", "comm.");
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(answer, "meshes")) print_mesh(item);
    if (cJSON_GetArraySize(rejected)) printf("\nnot legal:\n");
    cJSON_ArrayForEach(item, rejected)
        printf("%-16s %s: %s\n", text_of(item, "mesh"), text_of(item, "code"), text_of(item, "reason"));
}

int suite_verb_explain(int argc, char **argv)
{
    suite_cli cli;
    suite_explain_params params = {.devices = 0};
    suite_single_params single = {.launcher = "local", .world_size = 1, .threads_per_rank = 1};
    cJSON *answer = NULL;
    const suite_option options[] = {
        {"model", 'm', SUITE_OPTION_STRING, "NAME", "of `ditbench list models`, also NAME~VARIANT", &params.model, 0,
         0},
        {"gpus", 'n', SUITE_OPTION_INT, "N", "devices, one rank each", &params.devices, 1, 4096},
        {"height", 0, SUITE_OPTION_INT, "PX", "height of the picture", &params.height_px, 1, 1 << 20},
        {"width", 0, SUITE_OPTION_INT, "PX", "width of the picture", &params.width_px, 1, 1 << 20},
        {"num_frames", 0, SUITE_OPTION_INT, "N", "frames of a clip", &params.num_frames, 1, 1 << 20},
        {"text_tokens", 0, SUITE_OPTION_INT, "N", "tokens of text", &params.text_tokens, 1, 1 << 20},
        {"num_inference_steps", 0, SUITE_OPTION_INT, "N", "steps", &params.steps, 1, 10000},
        {"num_images", 0, SUITE_OPTION_INT, "N", "images at once (data parallel divides them)", &params.num_images, 1,
         4096},
        {"platform", 0, SUITE_OPTION_STRING, "NAME", "drop what does not fit it (default: any)", &params.platform, 0,
         0},
        {"engine", 0, SUITE_OPTION_STRING, "PATH", "engine program", &single.engine, 0, 0},
        {0},
    };
    const suite_cli_spec spec = {"explain", "", purpose, examples, options, 0, 0};
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    dit_status st = DIT_OK;
    if (!params.model || params.devices == 0)
        st = dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--model and --gpus are needed"), "see ditbench explain --help");
    else if (!params.width_px != !params.height_px)
        st = DIT_FAIL(DIT_ERR_USAGE, "--height and --width go together");
    if (st == DIT_OK) st = suite_explain(&params, &single, &answer);
    code = st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(&cli, st);
    if (st == DIT_OK && cli.json) suite_cli_print_json(answer);
    if (st == DIT_OK && !cli.json) print_answer(answer);
    cJSON_Delete(answer);
    suite_cli_release(&cli);
    return code;
}
