/* Folders of text encoders: config.json as transformers writes it, weights, text.json, inputs.safetensors with `input_ids`
 * [prompts, tokens] and maybe `attention_mask`, output.safetensors with `hidden` and maybe `pooled`, as a pipeline takes
 * them. text.json says what it takes: {"pipeline", "skip", "states", "crop", "pooled", "zero_padding"}, see
 * engine/text/encoders/encoder.h. With `pixels` [3, height, width] in the inputs the texts show that picture: what sees it
 * runs first, in the same way, and is held against `picture` [embeddings, width]. Several ranks, whatever their mesh, encode in every way that they can go
 * (base/text_parallel.h), with all weights loaded first and with one block's at a time; what they send is held against
 * the closed form.
 */
#include "engine/golden/golden.h"
#include "engine/results/record.h"
#include "engine/text/encoders/encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double TOLERANCE = 1e-5; /* golden/README.md, "Expected agreement" */

typedef struct {
    golden_report *report;
    dit_text_encode_params params;
    dit_safetensors *inputs, *output;
    int32_t *ids, *mask;
    float *pixels;                   /* NULL: texts alone */
    dit_text_encoder_facts tower;    /* of what sees them */
    int64_t grid_height, grid_width; /* in patches */
    double tolerance;
} golden_text;

static bool is_text(const char *folder)
{
    return golden_has_file(folder, "text.json");
}

/* Reads `name` [prompts, tokens] as integers; *out NULL where the file has no such tensor. */
static dit_status read_integers(golden_text *g, const char *name, int32_t **out)
{
    dit_tensor_view view;
    int64_t shape[2] = {g->params.batch, g->params.tokens}, count = shape[0] * shape[1];
    if (!dit_safetensors_find(g->inputs, name, &view)) return DIT_OK;
    DIT_TRY(dit_safetensors_require(g->inputs, name, 2, shape, &view));
    float *values = malloc((size_t)count * sizeof *values);
    *out = malloc((size_t)count * sizeof **out);
    dit_status st = values && *out ? dit_tensor_read(&view, 0, count, values)
                                   : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld ids", (long long)count);
    for (int64_t i = 0; st == DIT_OK && i < count; i++) {
        if (!(values[i] >= 0 && values[i] < 1 << 24))
            st = DIT_FAIL(DIT_ERR_SHAPE, "%s has %g", name, (double)values[i]);
        if (st == DIT_OK) (*out)[i] = (int32_t)values[i];
    }
    free(values);
    return st;
}

static dit_status read_settings(golden_text *g, const char *folder)
{
    static const char *const keys[] = {"pipeline", "skip", "states", "crop", "pooled", "zero_padding", NULL};
    char path[GOLDEN_PATH];
    dit_json doc = {0};
    DIT_TRY(golden_path(folder, "text.json", path));
    DIT_TRY(dit_config_read_file(path, &doc));
    dit_status st = dit_json_only_keys(&doc, doc.root, "", keys);
    if (st == DIT_OK) st = dit_text_encode_read(&(dit_config){&doc, doc.root, ""}, &g->params);
    dit_json_release(&doc);
    return st;
}

static dit_status read_tower(golden_text *g, const char *folder)
{
    char path[GOLDEN_PATH];
    dit_json doc = {0};
    DIT_TRY(golden_path(folder, "config.json", path));
    DIT_TRY(dit_config_read_file(path, &doc));
    dit_status st = dit_text_encoder_read_tower_facts(&(dit_config){&doc, doc.root, ""}, &g->tower);
    dit_json_release(&doc);
    return st;
}

/* Reads the picture that the texts show, if they do. */
static dit_status read_picture(golden_text *g, const char *folder)
{
    dit_tensor_view view;
    if (!dit_safetensors_find(g->inputs, "pixels", &view)) return DIT_OK;
    DIT_TRY(read_tower(g, folder));
    if (view.rank != 3 || view.shape[0] != 3 || view.shape[1] % g->tower.patch || view.shape[2] % g->tower.patch)
        return DIT_FAIL(DIT_ERR_SHAPE, "pixels are not [3, height, width] of whole patches of %lld",
                        (long long)g->tower.patch);
    g->grid_height = view.shape[1] / g->tower.patch, g->grid_width = view.shape[2] / g->tower.patch;
    g->pixels = malloc((size_t)view.elements * sizeof *g->pixels);
    return g->pixels ? dit_tensor_read(&view, 0, view.elements, g->pixels)
                     : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a picture");
}

static dit_status open_folder(golden_text *g, const char *folder)
{
    dit_tensor_view ids;
    DIT_TRY(read_settings(g, folder));
    DIT_TRY(golden_open(folder, "inputs.safetensors", &g->inputs));
    DIT_TRY(golden_open(folder, "output.safetensors", &g->output));
    if (!dit_safetensors_find(g->inputs, "input_ids", &ids) || ids.rank != 2 || ids.elements < 1)
        return DIT_FAIL(DIT_ERR_TENSOR_MISSING, "inputs.safetensors has no input_ids [prompts, tokens]");
    g->params.batch = ids.shape[0], g->params.tokens = ids.shape[1];
    DIT_TRY(read_integers(g, "input_ids", &g->ids));
    DIT_TRY(read_integers(g, "attention_mask", &g->mask));
    g->params.input = (dit_text_input){.ids = g->ids, .mask = g->mask};
    return read_picture(g, folder);
}

static dit_status compare(golden_text *g, const dit_text_encoding *made)
{
    char label[80], how[48];
    snprintf(how, sizeof how, "%s%s", dit_text_parallel_name(g->params.way), g->params.streamed ? ", streamed" : "");
    snprintf(label, sizeof label, "hidden (%s)", how);
    DIT_TRY(golden_compare(g->report, g->output, "hidden", label, made->hidden,
                           made->batch * made->tokens * made->width, g->tolerance));
    snprintf(label, sizeof label, "pooled (%s)", how);
    if (made->pooled)
        DIT_TRY(golden_compare(g->report, g->output, "pooled", label, made->pooled, made->batch * made->pooled_width,
                               g->tolerance));
    return dit_volume_check(&made->sent, &made->predicted, dit_comm_rank(dit_comm_world()), 0);
}

/* Runs what sees the picture. It is one picture, which no halves of ranks share. */
static dit_status see(golden_text *g, dit_text_encoding *seen)
{
    char label[80];
    dit_text_encode_params params = g->params;
    if (params.way == DIT_TEXT_CFG) params.way = DIT_TEXT_REPLICATED;
    params.sees = true;
    params.batch = 1, params.tokens = g->grid_height * g->grid_width;
    params.grid_height = g->grid_height, params.grid_width = g->grid_width;
    params.skip = params.crop = params.states.count = 0, params.pooled = params.zero_padding = false;
    params.input = (dit_text_input){.pixels = g->pixels};
    DIT_TRY(dit_text_encode(&params, seen));
    snprintf(label, sizeof label, "picture (%s%s)", dit_text_parallel_name(params.way),
             params.streamed ? ", streamed" : "");
    DIT_TRY(
        golden_compare(g->report, g->output, "picture", label, seen->hidden, seen->tokens * seen->width, g->tolerance));
    return dit_volume_check(&seen->sent, &seen->predicted, dit_comm_rank(dit_comm_world()), 0);
}

static dit_status run_way(golden_text *g)
{
    dit_text_encoding made = {0}, seen = {0};
    dit_status st = g->pixels ? see(g, &seen) : DIT_OK;
    if (g->pixels)
        g->params.input.pictures = (dit_text_pictures){.count = 1,
                                                       .height = {g->grid_height / g->tower.merge},
                                                       .width = {g->grid_width / g->tower.merge},
                                                       .rows = seen.hidden};
    if (st == DIT_OK) st = dit_text_encode(&g->params, &made);
    if (st == DIT_OK) st = compare(g, &made);
    dit_text_encoding_release(&made);
    dit_text_encoding_release(&seen);
    return st;
}

static dit_status run_all(golden_text *g, const char *folder)
{
    int ways = dit_comm_size(dit_comm_world()) == 1 ? 1 : DIT_TEXT_PARALLEL_COUNT;
    DIT_TRY(open_folder(g, folder));
    for (int i = 0; i < 2 * ways; i++) {
        g->params.way = (dit_text_parallel)(i / 2);
        g->params.streamed = i % 2;
        dit_status st = run_way(g);
        if (strncmp(dit_status_name(st), "E_CONSTRAINT_", 13) != 0) DIT_TRY(st);
        if (st != DIT_OK) dit_error_clear(); /* so many ranks cannot go that way */
    }
    return DIT_OK;
}

static dit_status run_folder(golden_report *report, const char *folder, const dit_case_platform *platform)
{
    /* times three: T5 does not scale its logits, so that with random weights roundings of q and k weigh more */
    golden_text g = {.report = report, .tolerance = golden_tolerance(platform, TOLERANCE, 3)};
    g.params = (dit_text_encode_params){
        .folder = folder, .backend = platform->backend, .dtype = platform->dtype, .threads = platform->threads};
    dit_status st = run_all(&g, folder);
    dit_safetensors_close(g.output);
    dit_safetensors_close(g.inputs);
    free(g.pixels);
    free(g.mask);
    free(g.ids);
    return st;
}

const golden_kind golden_kind_text = {"text", is_text, run_folder};
