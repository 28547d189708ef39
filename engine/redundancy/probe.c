#include "engine/redundancy/probe.h"

#include "base/json_writer.h"
#include "base/redundancy.h"
#include "base/safetensors.h"
#include "base/stats.h"
#include "engine/redundancy/change.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { M = DIT_CHANGE_MEASURES, POINTS = DIT_TAP_POINTS };
enum { IMAGE, TEXT, PARTS, ALL = PARTS, MAX_ROWS }; /* classes of rows: two parts, and both together */

static const char *const point_names[POINTS] = {"k", "v", "attention", "block"};
static const char *const row_names[MAX_ROWS] = {"image", "text", "all"};

/* What one tensor was one step before. */
typedef struct {
    float *data;      /* [batch][elements]  */
    int64_t elements; /* of one batch entry */
} kept;

typedef struct {
    dit_tap tap; /* first member: taps are cast back */
    dit_pipeline *pipeline;
    int steps;
    int64_t layers, images, branches, batch;
    int64_t prompts, first_prompt; /* in all; of the batch that runs     */
    int64_t row_classes, columns;  /* of rows; branches, and all of them together where there are several */
    int64_t bytes, limit;          /* that are kept, and may be */
    kept *before;                  /* [layers][POINTS][PARTS]                       */
    kept stream[PARTS];            /* what the newest layer passed on               */
    kept entry[PARTS];             /* what the first layer took                     */
    kept prediction, latents, stack, input, output;
    dit_change *sums;                                  /* [layers][POINTS][PARTS][batch] of the step      */
    dit_change *stack_sums, *input_sums, *output_sums; /* [batch] of the step                        */
    float *scratch;                                    /* a part of a layer, dense                        */
    int64_t scratch_elements;
    float *of_layers;                       /* [prompts][steps - 1][layers][POINTS][row_classes][columns][M] */
    float *of_stack, *of_input, *of_output; /* [prompts][steps - 1][columns][M]             */
    float *ratios;                          /* [prompts][steps - 1]                                          */
    float *of_prediction;                   /* [prompts][steps - 1][M]                                       */
    float *of_latents;                      /* [prompts][steps - 1][M]                                       */
    float *residuals;                       /* [steps][batch][image elements]: what all blocks added         */
    int64_t residual_size;                  /* image elements                                                */
    float *cost;                            /* [prompts][steps][steps]                                       */
    int step;
} probe;

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static dit_status take_bytes(probe *p, int64_t count, size_t size, void *out)
{
    int64_t bytes = count * (int64_t)size;
    p->bytes += bytes;
    if (p->bytes > p->limit)
        return dit_error_hint(DIT_FAIL(DIT_ERR_MEMORY,
                                       "a probe of this case keeps more than %.3g GiB, half of this machine's memory",
                                       (double)p->limit / (1 << 30)),
                              "take a smaller resolution, or fewer num_images in a batch");
    void *memory = calloc((size_t)count, size);
    if (!memory) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld bytes of a probe", (long long)bytes);
    *(void **)out = memory;
    return DIT_OK;
}

/* Takes the memory of a tensor at its first call. */
static dit_status keep_room(probe *p, kept *k, int64_t elements)
{
    if (k->data) return DIT_OK;
    k->elements = elements;
    return take_bytes(p, p->batch * elements, sizeof *k->data, &k->data);
}

static dit_status scratch_room(probe *p, int64_t elements)
{
    if (elements <= p->scratch_elements) return DIT_OK;
    free(p->scratch);
    p->scratch = NULL;
    p->scratch_elements = elements;
    return take_bytes(p, elements, sizeof *p->scratch, &p->scratch);
}

static dit_status take_room(probe *p)
{
    int64_t cells = p->layers * POINTS * PARTS, changes = p->prompts * (p->steps - 1);
    DIT_TRY(take_bytes(p, cells, sizeof *p->before, &p->before));
    DIT_TRY(take_bytes(p, cells * p->batch, sizeof *p->sums, &p->sums));
    DIT_TRY(take_bytes(p, p->batch, sizeof *p->stack_sums, &p->stack_sums));
    DIT_TRY(take_bytes(p, p->batch, sizeof *p->input_sums, &p->input_sums));
    DIT_TRY(take_bytes(p, p->batch, sizeof *p->output_sums, &p->output_sums));
    DIT_TRY(take_bytes(p, changes * p->layers * POINTS * p->row_classes * p->columns * M, sizeof *p->of_layers,
                       &p->of_layers));
    DIT_TRY(take_bytes(p, changes * p->columns * M, sizeof *p->of_stack, &p->of_stack));
    DIT_TRY(take_bytes(p, changes * p->columns * M, sizeof *p->of_input, &p->of_input));
    DIT_TRY(take_bytes(p, changes * p->columns * M, sizeof *p->of_output, &p->of_output));
    DIT_TRY(take_bytes(p, changes, sizeof *p->ratios, &p->ratios));
    DIT_TRY(take_bytes(p, changes * M, sizeof *p->of_prediction, &p->of_prediction));
    DIT_TRY(take_bytes(p, changes * M, sizeof *p->of_latents, &p->of_latents));
    return take_bytes(p, p->prompts * p->steps * p->steps, sizeof *p->cost, &p->cost);
}

static void give_room(probe *p)
{
    for (int64_t i = 0; p->before && i < p->layers * POINTS * PARTS; i++) free(p->before[i].data);
    for (int i = 0; i < PARTS; i++) free(p->stream[i].data), free(p->entry[i].data);
    free(p->prediction.data), free(p->latents.data), free(p->stack.data), free(p->input.data), free(p->output.data);
    free(p->before), free(p->sums), free(p->stack_sums), free(p->scratch);
    free(p->input_sums), free(p->output_sums), free(p->of_input), free(p->of_output), free(p->ratios);
    free(p->of_layers), free(p->of_stack), free(p->of_prediction), free(p->of_latents);
    free(p->residuals), free(p->cost);
}

/* ---- taking ------------------------------------------------------------------------------------------------------ */

static int64_t cell_of(int64_t layer, int point, int part)
{
    return (layer * POINTS + point) * PARTS + part;
}

/* Compares `now`, an entry of a tensor, with the step before, and keeps it for the next. */
static void compare_entry(const probe *p, kept *k, int64_t entry, const float *now, dit_change *sums)
{
    float *before = k->data + entry * k->elements;
    if (p->step > 0) dit_change_add(sums, now, before, k->elements);
    memcpy(before, now, (size_t)k->elements * sizeof *before);
}

/* What all blocks have added, after the last one: image rows. */
static dit_status take_stack(probe *p, int64_t entry, const float *stream)
{
    const kept *first = &p->entry[IMAGE];
    int64_t elements = first->elements;
    if (!p->residuals) {
        p->residual_size = elements;
        DIT_TRY(take_bytes(p, p->steps * p->batch * elements, sizeof *p->residuals, &p->residuals));
    }
    float *out = p->residuals + (p->step * p->batch + entry) * elements;
    for (int64_t i = 0; i < elements; i++) out[i] = stream[i] - first->data[entry * elements + i];
    DIT_TRY(keep_room(p, &p->stack, elements));
    compare_entry(p, &p->stack, entry, out, &p->stack_sums[entry]);
    return DIT_OK;
}

/* The stream as layer `layer` passes it on, dense; what the layer added takes its place in `now`. */
static dit_status take_stream(probe *p, int64_t layer, int part, int64_t entry, int64_t elements, float *now)
{
    DIT_TRY(keep_room(p, &p->stream[part], elements));
    float *stream = p->stream[part].data + entry * elements;
    if (layer < 0) {
        DIT_TRY(keep_room(p, &p->entry[part], elements));
        memcpy(p->entry[part].data + entry * elements, now, (size_t)elements * sizeof *now);
    } else if (layer == p->layers - 1 && part == IMAGE) {
        DIT_TRY(take_stack(p, entry, now));
    }
    for (int64_t i = 0; i < elements; i++) {
        float x = now[i];
        now[i] = x - stream[i];
        stream[i] = x;
    }
    return DIT_OK;
}

/* One part of the rows of a layer. */
static dit_status take_part(probe *p, const dit_tap_layer *layer, int part, int64_t first, int64_t rows)
{
    int64_t elements = rows * layer->cols;
    if (rows == 0) return DIT_OK;
    DIT_TRY(scratch_room(p, elements));
    for (int64_t entry = 0; entry < layer->batch; entry++) {
        const float *from = layer->data + entry * layer->stride + first * layer->ld;
        for (int64_t row = 0; row < rows; row++)
            memcpy(p->scratch + row * layer->cols, from + row * layer->ld, (size_t)layer->cols * sizeof *from);
        if (layer->point == DIT_TAP_STREAM) DIT_TRY(take_stream(p, layer->layer, part, entry, elements, p->scratch));
        if (layer->layer < 0) continue;
        int64_t cell = cell_of(layer->layer, (int)layer->point, part);
        kept *k = &p->before[cell];
        DIT_TRY(keep_room(p, k, elements));
        if (k->elements != elements)
            return DIT_FAIL(DIT_ERR_INTERNAL, "%s of layer %lld has other rows than a step before",
                            point_names[layer->point], (long long)layer->layer);
        compare_entry(p, k, entry, p->scratch, &p->sums[cell * p->batch + entry]);
    }
    return DIT_OK;
}

/* What the first block gives its attention, which teacache compares. */
static dit_status take_input(probe *p)
{
    dit_model *model = p->pipeline->model;
    dit_runtime *rt = &p->pipeline->rt;
    int64_t elements = model->view.image_count * model->width;
    float *input;
    dit_arena_mark mark = dit_arena_get_mark(&rt->step);
    dit_status st = keep_room(p, &p->input, elements);
    if (st == DIT_OK) st = dit_arena_activations(&rt->step, p->batch * elements, &input);
    if (st == DIT_OK) st = dit_model_attention_input(model, input);
    for (int64_t entry = 0; entry < p->batch && st == DIT_OK; entry++)
        compare_entry(p, &p->input, entry, input + entry * elements, &p->input_sums[entry]);
    dit_arena_release_to(&rt->step, mark);
    return st;
}

static dit_status take_layer(dit_tap *tap, const dit_tap_layer *layer)
{
    probe *p = (probe *)tap;
    if (layer->layer < 0) DIT_TRY(take_input(p));
    DIT_TRY(take_part(p, layer, TEXT, 0, layer->text));
    return take_part(p, layer, IMAGE, layer->text, layer->rows - layer->text);
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

static int64_t change_of(const probe *p, int64_t image)
{
    return (p->first_prompt + image) * (p->steps - 1) + p->step - 1;
}

/* Measures of one image in each guidance branch, and in all of them; sums [batch], branch after branch. more: NULL, or sums
 * that are added to them. */
static void put_columns(const probe *p, const dit_change *sums, const dit_change *more, int64_t image, float *out)
{
    dit_change all = {0};
    for (int64_t branch = 0; branch < p->branches; branch++) {
        int64_t entry = branch * p->images + image;
        dit_change own = sums[entry];
        if (more) dit_change_join(&own, &more[entry]);
        dit_change_join(&all, &own);
        dit_change_measure_all(&own, out + branch * M);
    }
    if (p->columns > p->branches) dit_change_measure_all(&all, out + p->branches * M);
}

static void put_layer(const probe *p, int64_t layer, int point, int64_t image, float *out)
{
    const dit_change *of_image = &p->sums[cell_of(layer, point, IMAGE) * p->batch];
    const dit_change *of_text = &p->sums[cell_of(layer, point, TEXT) * p->batch];
    put_columns(p, of_image, NULL, image, out);
    if (p->row_classes == 1) return;
    put_columns(p, of_text, NULL, image, out + TEXT * p->columns * M);
    put_columns(p, of_image, of_text, image, out + ALL * p->columns * M);
}

/* The measures of the step that has ended, of all images of the batch. */
static void put_step(const probe *p)
{
    int64_t of_point = p->row_classes * p->columns * M;
    for (int64_t image = 0; image < p->images; image++) {
        int64_t at = change_of(p, image);
        for (int64_t layer = 0; layer < p->layers; layer++)
            for (int point = 0; point < POINTS; point++)
                put_layer(p, layer, point, image,
                          p->of_layers + ((at * p->layers + layer) * POINTS + point) * of_point);
        put_columns(p, p->stack_sums, NULL, image, p->of_stack + at * p->columns * M);
        put_columns(p, p->input_sums, NULL, image, p->of_input + at * p->columns * M);
        put_columns(p, p->output_sums, NULL, image, p->of_output + at * p->columns * M);
    }
}

/* A tensor of the sampler, an entry for each image. */
static dit_status take_whole(probe *p, kept *k, const float *tensor, int64_t elements, float *out)
{
    DIT_TRY(keep_room(p, k, elements));
    for (int64_t image = 0; image < p->images; image++) {
        dit_change sums = {0};
        compare_entry(p, k, image, tensor + image * elements, &sums);
        if (p->step > 0) dit_change_measure_all(&sums, out + change_of(p, image) * M);
    }
    return DIT_OK;
}

/* What the model predicts, before guidance; further channels, a learned variance, do not count. */
static dit_status take_output(probe *p, const dit_sampler *sampler)
{
    int64_t rows = p->pipeline->partition.image_count, channels = sampler->channels;
    int64_t width = p->pipeline->model->output_channels;
    DIT_TRY(keep_room(p, &p->output, rows * channels));
    DIT_TRY(scratch_room(p, rows * channels));
    for (int64_t entry = 0; entry < p->batch; entry++) {
        for (int64_t row = 0; row < rows; row++)
            memcpy(p->scratch + row * channels, sampler->output + (entry * rows + row) * width,
                   (size_t)channels * sizeof *p->scratch);
        compare_entry(p, &p->output, entry, p->scratch, &p->output_sums[entry]);
    }
    return DIT_OK;
}

static dit_status end_step(dit_sampler *sampler, int step, void *context)
{
    probe *p = context;
    int64_t elements = sampler->elements / p->images;
    if (step != p->step) return DIT_FAIL(DIT_ERR_INTERNAL, "step %d ended, step %d was being probed", step, p->step);
    DIT_TRY(take_whole(p, &p->prediction, sampler->noise_pred, elements, p->of_prediction));
    DIT_TRY(take_whole(p, &p->latents, sampler->latents, elements, p->of_latents));
    DIT_TRY(take_output(p, sampler));
    if (step > 0) put_step(p);
    memset(p->sums, 0, (size_t)(p->layers * POINTS * PARTS * p->batch) * sizeof *p->sums);
    memset(p->stack_sums, 0, (size_t)p->batch * sizeof *p->stack_sums);
    memset(p->input_sums, 0, (size_t)p->batch * sizeof *p->input_sums);
    memset(p->output_sums, 0, (size_t)p->batch * sizeof *p->output_sums);
    p->step++;
    return DIT_OK;
}

/* ---- a batch ----------------------------------------------------------------------------------------------------- */

/* cost[i][j] = sum |R_j - R_i| / sum |R_j| over image rows and branches, R what all blocks add: what reusing step i's in
 * step j would change. */
static void put_cost(const probe *p, int64_t image)
{
    float *cost = p->cost + (p->first_prompt + image) * p->steps * p->steps;
    for (int i = 0; i < p->steps; i++)
        for (int j = 0; j < p->steps; j++) {
            dit_change sums = {0};
            float measures[M];
            for (int64_t branch = 0; branch < p->branches; branch++) {
                int64_t entry = branch * p->images + image, size = p->residual_size;
                dit_change_add(&sums, p->residuals + (i * p->batch + entry) * size,
                               p->residuals + (j * p->batch + entry) * size, size);
            }
            dit_change_measure_all(&sums, measures);
            cost[i * p->steps + j] = measures[DIT_CHANGE_RELATIVE];
        }
}

static double length_of(const float *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += (double)x[i] * x[i];
    return sqrt(sum);
}

/* ratios[t - 1]: mean over tokens and branches of |R_t| / |R_{t-1}|, R what all blocks add to a token: what magcache
 * multiplies. */
static void put_ratios(const probe *p, int64_t image)
{
    int64_t width = p->pipeline->model->width, rows = p->residual_size / width;
    for (int step = 1; step < p->steps; step++) {
        double sum = 0, count = 0;
        for (int64_t branch = 0; branch < p->branches; branch++)
            for (int64_t row = 0; row < rows; row++) {
                int64_t at = (branch * p->images + image) * p->residual_size + row * width;
                double before = length_of(p->residuals + (step - 1) * p->batch * p->residual_size + at, width);
                double now = length_of(p->residuals + step * p->batch * p->residual_size + at, width);
                if (before > 0) sum += now / before, count++;
            }
        p->ratios[(p->first_prompt + image) * (p->steps - 1) + step - 1] = count > 0 ? (float)(sum / count) : 1;
    }
}

static dit_status probe_batch(probe *p, int64_t batch)
{
    int64_t elapsed_ns;
    p->first_prompt = batch * p->images;
    p->step = 0;
    DIT_TRY(dit_pipeline_take_batch(p->pipeline, batch));
    DIT_TRY(dit_pipeline_run(p->pipeline, NULL, &elapsed_ns));
    for (int64_t image = 0; image < p->images; image++) put_cost(p, image), put_ratios(p, image);
    return DIT_OK;
}

/* Taps the model and the sampler meanwhile. */
static dit_status probe_all(probe *p)
{
    dit_pipeline *pipeline = p->pipeline;
    pipeline->model->params.tap = &p->tap;
    pipeline->sampler.on_step = end_step;
    pipeline->sampler.context = p;
    dit_status st = DIT_OK;
    for (int64_t batch = 0; batch < pipeline->batches && st == DIT_OK; batch++) st = probe_batch(p, batch);
    pipeline->model->params.tap = NULL;
    pipeline->sampler.on_step = NULL;
    return st == DIT_OK ? dit_pipeline_take_batch(pipeline, 0) : st;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static dit_status write_file(const probe *p, const char *path, char digest[48])
{
    const dit_scheduler *scheduler = p->pipeline->sampler.scheduler;
    int64_t N = p->prompts, S = p->steps;
    float *sigmas = malloc((size_t)S * sizeof *sigmas);
    dit_safetensors *file;
    if (!sigmas) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld noise levels", (long long)S);
    for (int64_t i = 0; i < S; i++) sigmas[i] = isfinite(scheduler->sigmas[i]) ? scheduler->sigmas[i] : FLT_MAX;
    const dit_tensor_out tensors[] = {
        {"layers", 7, {N, S - 1, p->layers, POINTS, p->row_classes, p->columns, M}, p->of_layers},
        {"stack", 4, {N, S - 1, p->columns, M}, p->of_stack},
        {"input", 4, {N, S - 1, p->columns, M}, p->of_input},
        {"output", 4, {N, S - 1, p->columns, M}, p->of_output},
        {"ratios", 2, {N, S - 1}, p->ratios},
        {"prediction", 3, {N, S - 1, M}, p->of_prediction},
        {"latents", 3, {N, S - 1, M}, p->of_latents},
        {"cost", 3, {N, S, S}, p->cost},
        {"timesteps", 1, {S}, scheduler->timesteps},
        {"sigmas", 1, {S}, sigmas},
    };
    dit_status st = dit_safetensors_write(path, tensors, sizeof tensors / sizeof *tensors);
    free(sigmas);
    DIT_TRY(st);
    DIT_TRY(dit_safetensors_open(path, &file));
    st = dit_safetensors_digest(file, digest);
    dit_safetensors_close(file);
    return st;
}

/* ---- the record -------------------------------------------------------------------------------------------------- */

static void put_names(dit_json_writer *w, cJSON *object, const char *key, const char *const *names, int64_t count)
{
    cJSON *list = dit_json_put_array(w, object, key);
    for (int64_t i = 0; i < count && names[i]; i++) dit_json_put_string(w, list, NULL, names[i]);
}

static void put_interval(dit_json_writer *w, cJSON *object, const char *key, const dit_interval *interval)
{
    cJSON *out = dit_json_put_object(w, object, key);
    dit_json_put_number(w, out, "value", interval->value);
    dit_json_put_number(w, out, "low", interval->low);
    dit_json_put_number(w, out, "high", interval->high);
}

/* One measure of one point over image rows and all branches, [prompts][layers][steps - 1]. */
static void read_point(const probe *p, int point, int measure, double *out)
{
    int64_t changes = p->steps - 1;
    for (int64_t prompt = 0; prompt < p->prompts; prompt++)
        for (int64_t layer = 0; layer < p->layers; layer++)
            for (int64_t step = 0; step < changes; step++) {
                int64_t at = ((prompt * changes + step) * p->layers + layer) * POINTS + point;
                *out++ = p->of_layers[((at * p->row_classes + IMAGE) * p->columns + p->columns - 1) * M + measure];
            }
}

/* Adds what one point says in numbers: how much it changes, and how alike that is for all prompts. */
static dit_status put_point(const probe *p, dit_json_writer *w, cJSON *out, int point, double *values,
                            dit_interval *explained, dit_interval *variation)
{
    int count = (int)(p->prompts * p->layers * (p->steps - 1));
    const dit_redundancy_map map = {
        .values = values, .prompts = (int)p->prompts, .layers = (int)p->layers, .steps = p->steps - 1};
    read_point(p, point, DIT_CHANGE_RELATIVE, values);
    cJSON *object = dit_json_put_object(w, out, point_names[point]);
    dit_json_put_number(w, object, "change", dit_stats_median(values, count));
    read_point(p, point, DIT_CHANGE_L1, values);
    if (p->prompts < 2) {
        dit_json_put_string(w, object, "reason", "one prompt does not vary");
        return w->status;
    }
    dit_status st = dit_redundancy_explained(&map, explained);
    if (st == DIT_OK) st = dit_redundancy_variation(&map, variation);
    if (st == DIT_ERR_NONFINITE) { /* a tensor that stays as it is */
        dit_json_put_string(w, object, "reason", dit_error_last()->message);
        dit_error_clear();
        return w->status;
    }
    DIT_TRY(st);
    put_interval(w, object, "explained", explained);
    put_interval(w, object, "variation", variation);
    return w->status;
}

/* Of keys, values and outputs of attention, which the paper shows, the claim is about all three: the least regular
 * counts. */
static dit_status put_summary(const probe *p, dit_json_writer *w, cJSON *out)
{
    dit_interval explained[POINTS] = {0}, variation[POINTS] = {0}, least, most;
    double *values = malloc((size_t)(p->prompts * p->layers * (p->steps - 1)) * sizeof *values);
    if (!values) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to sum up a probe");
    dit_status st = DIT_OK;
    for (int point = 0; point < POINTS && st == DIT_OK; point++)
        st = put_point(p, w, out, point, values, &explained[point], &variation[point]);
    free(values);
    DIT_TRY(st);
    least = explained[DIT_TAP_K], most = variation[DIT_TAP_K];
    for (int point = DIT_TAP_V; point <= DIT_TAP_ATTENTION; point++) {
        least.value = fmin(least.value, explained[point].value);
        least.low = fmin(least.low, explained[point].low);
        least.high = fmin(least.high, explained[point].high);
        most.value = fmax(most.value, variation[point].value);
        most.low = fmax(most.low, variation[point].low);
        most.high = fmax(most.high, variation[point].high);
    }
    if (!explained[DIT_TAP_K].bounded || !explained[DIT_TAP_V].bounded || !explained[DIT_TAP_ATTENTION].bounded)
        return DIT_OK;
    put_interval(w, out, "explained", &least);
    put_interval(w, out, "variation", &most);
    return w->status;
}

static dit_status put_record(const probe *p, const char *digest, cJSON *record)
{
    static const char *const alone[] = {"all"}, *const guided[] = {"negative", "positive", "all"};
    dit_json_writer w = {0};
    cJSON *out = dit_json_put_object(&w, record, "probe");
    dit_json_put_string(&w, out, "file", "probe.safetensors");
    dit_json_put_string(&w, out, "digest", digest);
    dit_json_put_int(&w, out, "prompts", p->prompts);
    dit_json_put_int(&w, out, "steps", p->steps);
    dit_json_put_int(&w, out, "layers", p->layers);
    put_names(&w, out, "points", point_names, POINTS);
    put_names(&w, out, "rows", row_names, p->row_classes);
    put_names(&w, out, "branches", p->columns > 1 ? guided : alone, p->columns);
    put_names(&w, out, "measures", dit_change_names(), M);
    dit_json_put_status(&w, put_summary(p, &w, dit_json_put_object(&w, out, "summary")));
    return w.status;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static dit_status refuse(const char *why, const char *hint)
{
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "a probe of redundancy cannot be taken: %s", why), hint);
}

dit_status dit_probe_check(const dit_pipeline *pipeline)
{
    const dit_case *kase = &pipeline->kase;
    if (!kase->probe) return DIT_OK;
    if (dit_parallel_world_size(&pipeline->rt.parallel) > 1)
        return refuse("the case has several ranks", "probe it on one: what is redundant does not depend on ranks");
    if (pipeline->rt.device) return refuse("it copies tensors of the CPU", "probe it on platform local-cpu");
    if (kase->cache.policy != DIT_CACHE_NONE || kase->emulated_cache.policy != DIT_CACHE_NONE)
        return refuse("a cache leaves layers out", "set \"cache\": \"none\"");
    if (kase->emulates) return refuse("the case emulates another mesh", NULL);
    if (kase->two_transformers) return refuse("there are two transformers", NULL);
    if (kase->steps < 2) return refuse("there is one step", "set num_inference_steps to 2 or more");
    if (pipeline->partition.branches > 2) return refuse("there are more than two guidance branches", NULL);
    return DIT_OK;
}

dit_status dit_probe_take(dit_pipeline *pipeline, const char *folder, cJSON *record)
{
    char path[4096], digest[48];
    const dit_partition *part = &pipeline->partition;
    if (!pipeline->kase.probe) return DIT_OK;
    DIT_TRY(dit_probe_check(pipeline));
    bool has_text = pipeline->rt.facts.joint && part->text_count > 0;
    probe p = {.tap = {.take_layer = take_layer},
               .pipeline = pipeline,
               .steps = pipeline->kase.steps,
               .layers = pipeline->model->params.stage.blocks.count * pipeline->model->layers_per_block,
               .images = part->images,
               .branches = part->branches,
               .batch = part->batch,
               .prompts = pipeline->batches * part->images,
               .row_classes = has_text ? MAX_ROWS : 1,
               .columns = part->branches > 1 ? part->branches + 1 : 1,
               .limit = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE) / 2};
    if (snprintf(path, sizeof path, "%s/probe.safetensors", folder) >= (int)sizeof path)
        return DIT_FAIL(DIT_ERR_IO, "the path of the probe is too long");
    dit_status st = take_room(&p);
    if (st == DIT_OK) st = dit_runtime_use_cores(&pipeline->rt, true);
    if (st == DIT_OK) st = probe_all(&p);
    if (st == DIT_OK) st = dit_runtime_use_cores(&pipeline->rt, false);
    if (st == DIT_OK) st = write_file(&p, path, digest);
    if (st == DIT_OK) st = put_record(&p, digest, record);
    give_room(&p);
    return st == DIT_OK ? st : dit_error_note(st, "probing the redundancy of the steps");
}
