/* Folders of text encoders: config.json as transformers writes it, weights, text.json, inputs.safetensors with `input_ids`
 * [prompts, tokens] and maybe `attention_mask`, output.safetensors with `hidden` and maybe `pooled`, as a pipeline takes
 * them. text.json says what it takes: {"pipeline", "skip", "states", "crop", "pooled", "zero_padding"}, see
 * engine/text/encoders/encoder.h. Several ranks, whatever their mesh, encode in every way that they can go
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
    return DIT_OK;
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

static dit_status run_way(golden_text *g)
{
    dit_text_encoding made;
    dit_status st = dit_text_encode(&g->params, &made);
    if (st == DIT_OK) st = compare(g, &made);
    dit_text_encoding_release(&made);
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
    free(g.mask);
    free(g.ids);
    return st;
}

const golden_kind golden_kind_text = {"text", is_text, run_folder};
