/* Folders of transformers: config.json, weights, inputs.safetensors, output.safetensors. One forward is compared, with
 * every intermediate that both sides have; on several ranks shards are first collected. */
#include "engine/golden/transformer.h"

#include <stdlib.h>

/* Relative L2 that a correct fp32 engine must reach (golden/README.md, "Expected agreement"). The embedding of values
 * of several thousand is sensitive to single ulps of exp(), hence the wider bound there. */
static const double TOLERANCE = 1e-5, TOLERANCE_SENSITIVE = 5e-5;

/* True if the folder's forward got a timestep for each token [batch, tokens], as clips that begin with a picture have. */
static bool has_token_times(const golden_transformer *g)
{
    dit_tensor_view view;
    return dit_safetensors_find(g->inputs, "timestep", &view) && view.rank == 2 && view.shape[1] > 1;
}

/* Reads the times of a row's tokens, of which those of the first latent frame must be 0 and all others one. */
static dit_status read_token_times(const golden_transformer *g, const dit_tensor_view *view, int64_t row,
                                   float *timestep)
{
    int64_t tokens = g->facts.image_tokens, other = -1;
    float *times = malloc((size_t)tokens * sizeof *times);
    dit_status st = times ? dit_tensor_read(view, row * tokens, tokens, times)
                          : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld times", (long long)tokens);
    for (int64_t i = 0; st == DIT_OK && i < tokens; i++)
        if (times[i] != (i < g->facts.held_tokens ? 0 : times[tokens - 1])) other = i;
    if (st == DIT_OK) *timestep = times[tokens - 1];
    free(times);
    if (st != DIT_OK || other < 0) return st;
    return DIT_FAIL(DIT_ERR_UNSUPPORTED,
                    "timestep of token %lld: only 0 of the first latent frame and one of all others", (long long)other);
}

static dit_status read_timesteps(golden_transformer *g, float *timestep)
{
    const dit_partition *part = &g->partition;
    int64_t batch = g->facts.num_images * g->facts.guidance_branches;
    int64_t elements = g->facts.held_tokens ? batch * g->facts.image_tokens : batch;
    dit_tensor_view view;
    if (!dit_safetensors_find(g->inputs, "timestep", &view) || (view.elements != elements && view.elements != 1))
        return DIT_FAIL(DIT_ERR_TENSOR_MISSING, "inputs.safetensors has no timestep [%lld]", (long long)elements);
    for (int64_t b = 0; b < part->batch; b++) {
        int64_t row =
            (part->branch_first + b / part->images) * g->facts.num_images + part->image_first + b % part->images;
        DIT_TRY(g->facts.held_tokens ? read_token_times(g, &view, row, &timestep[b])
                                     : dit_tensor_read(&view, view.elements == 1 ? 0 : row, 1, &timestep[b]));
    }
    return dit_runtime_upload(&g->rt, timestep, part->batch);
}

static dit_status run_forward(golden_transformer *g, int64_t rows, int64_t channels, double tolerance)
{
    const dit_partition *part = &g->partition;
    dit_arena *arena = &g->rt.image;
    int64_t local = part->batch * part->image_count, cols = g->model->output_channels, elements;
    float *latents, *timestep, *output, *whole = NULL;
    DIT_TRY(dit_arena_fp32(arena, local * g->model->input_channels, &latents));
    DIT_TRY(dit_arena_fp32(arena, part->batch, &timestep));
    DIT_TRY(dit_arena_fp32(arena, local * cols, &output));
    DIT_TRY(golden_transformer_latents(g, "hidden_states", rows, channels, true, latents));
    DIT_TRY(read_timesteps(g, timestep));
    DIT_TRY(dit_condition_read(&g->rt, part, g->model->needs, g->inputs, DIT_CONDITION_FORWARD, &g->facts.latent,
                               g->ops->layout, NULL, &g->condition));
    DIT_TRY(dit_model_prepare(g->model, &g->condition));
    DIT_TRY(
        dit_model_forward(g->model, &(dit_forward_args){.latents = latents, .timestep = timestep, .output = output}));
    DIT_TRY(dit_partition_collect(&g->rt, part,
                                  &(dit_shards){.layout = DIT_LAYOUT_IMAGE,
                                                .data = output,
                                                .cols = cols,
                                                .ld = cols,
                                                .batch_stride = part->image_count * cols,
                                                .batched = true},
                                  &whole, &elements));
    dit_status st = golden_transformer_compare(g, "output", whole, rows, cols, tolerance);
    free(whole);
    return st;
}

static dit_status golden_forward(golden_transformer *g, const char *folder, const dit_case_platform *platform)
{
    int64_t rows, channels;
    if (platform->parallel->degree[DIT_AXIS_PIPEFUSION] > 1)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD,
                                       "pipefusion_degree %d: the tensors of one forward would lie on several stages",
                                       platform->parallel->degree[DIT_AXIS_PIPEFUSION]),
                              "the sampling loops (e2e_...) are compared on pipelines");
    DIT_TRY(golden_transformer_open(g, folder, folder));
    DIT_TRY(golden_transformer_size(g, "hidden_states", "encoder_hidden_states", &rows, &channels));
    /* In every family an even batch is a guidance batch, [negative, positive], which cfg ranks may split. */
    g->facts.guidance_branches = rows % 2 ? 1 : 2;
    g->facts.num_images = rows / g->facts.guidance_branches;
    g->first_frame = has_token_times(g);
    DIT_TRY(golden_transformer_create(g, platform, true));
    if (channels * dit_latent_cells(&g->facts.latent) != g->model->input_channels * g->facts.image_tokens)
        return DIT_FAIL(DIT_ERR_SHAPE, "hidden_states have %lld channels, but the model takes %lld floats per token",
                        (long long)channels, (long long)g->model->input_channels);
    double tolerance = g->model->sensitive_embedding ? TOLERANCE_SENSITIVE : TOLERANCE;
    g->tolerance = golden_tolerance(platform, tolerance, 2); /* the head averages out the stream's roundings */
    /* The farthest is HunyuanDiT 1.1, six blocks of 32 channels: 0.0102 in bf16 on an H100, where PyTorch's bf16 is 0.067. */
    return run_forward(g, rows, channels, golden_tolerance(platform, tolerance, 1.5));
}

static bool is_model(const char *folder)
{
    return golden_has_file(folder, "config.json");
}

static dit_status run_folder(golden_report *report, const char *folder, const dit_case_platform *platform)
{
    golden_transformer g = {.report = report};
    dit_status st = golden_forward(&g, folder, platform);
    golden_transformer_release(&g);
    return st;
}

const golden_kind golden_kind_model = {"model", is_model, run_folder};
