#include "suite/verbs/search_options.h"

#include "suite/catalogue/parameter.h"

#include <string.h>

void search_options_fill(search_options *given, suite_search_request *request, suite_option *options)
{
    const suite_option rows[SEARCH_OPTIONS] = {
        {"model", 'm', SUITE_OPTION_STRING, "NAME", "a model of `ditbench list models`, also NAME~VARIANT",
         &request->model, 0, 0},
        {"profile", 0, SUITE_OPTION_STRING, "NAME", "the software, one of `ditbench list profiles`", &request->profile,
         0, 0},
        {"resolution", 'r', SUITE_OPTION_STRING, "WxH", "size of the picture (default: the model's)",
         &given->resolution, 0, 0},
        {"num_frames", 0, SUITE_OPTION_INT, "N", "frames of a clip", &request->num_frames, 1, 1 << 20},
        {"text_tokens", 0, SUITE_OPTION_INT, "N", "tokens of text", &request->text_tokens, 1, 1 << 20},
        {"steps", 0, SUITE_OPTION_INT, "N", "diffusion steps (default: the model's)", &request->steps, 1, 10000},
        {"num_images", 0, SUITE_OPTION_INT, "N", "images of a request (default: 1)", &request->num_images, 1, 4096},
        {"dtype", 0, SUITE_OPTION_STRING, "TYPE", "fp32, fp16, bf16 or fp8 (default: fp16); workloads call it element",
         &request->element, 0, 0},
        {"element", 0, SUITE_OPTION_STRING, "TYPE", NULL, &request->element, 0, 0},
        {"scope", 0, SUITE_OPTION_STRING, "SCOPE", "what is timed: pipeline, latents or denoise (default: pipeline)",
         &request->scope, 0, 0},
        {"calibration", 0, SUITE_OPTION_STRING, "FILE",
         "fitted values, or \"none\" (default: results/calibration/published.json)", &given->calibration, 0, 0},
        {"jobs", 'j', SUITE_OPTION_INT, "N", "simulations at a time (default: cores)", &given->jobs, 1, 1024},
        {"fresh", 0, SUITE_OPTION_FLAG, NULL, "neither take from the cache nor add to it", &request->fresh, 0, 0},
    };
    memcpy(options, rows, sizeof rows);
}

dit_status search_options_model(const suite_cli *cli, suite_search_request *request)
{
    if (!request->model && cli->operand_count) request->model = cli->operands[0];
    if (request->model) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "give a model"), "as in --model flux.1-dev");
}

dit_status search_options_take(search_options *given, suite_search_request *request)
{
    if (given->resolution && !suite_resolution_from_text(given->resolution, &request->width_px, &request->height_px))
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--resolution: '%s' is not WIDTHxHEIGHT", given->resolution),
                              "as in 1024x1024");
    DIT_TRY(suite_calibration_load(given->calibration, &given->fitted));
    request->calibration = &given->fitted;
    request->at_once = (int)given->jobs;
    return DIT_OK;
}
