#include "engine/models/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const dit_model_ops dit_model_cogvideox;
extern const dit_model_ops dit_model_flux;
extern const dit_model_ops dit_model_flux2;
extern const dit_model_ops dit_model_hunyuan_dit;
extern const dit_model_ops dit_model_hunyuan_video;
extern const dit_model_ops dit_model_hunyuan_video15;
extern const dit_model_ops dit_model_latte;
extern const dit_model_ops dit_model_ltx;
extern const dit_model_ops dit_model_ltx2;
extern const dit_model_ops dit_model_lumina2;
extern const dit_model_ops dit_model_mochi;
extern const dit_model_ops dit_model_pixart;
extern const dit_model_ops dit_model_qwen_image;
extern const dit_model_ops dit_model_sana;
extern const dit_model_ops dit_model_sd3;
extern const dit_model_ops dit_model_wan;
extern const dit_model_ops dit_model_z_image;

/* All architectures, one row each. */
/* clang-format off */
static const dit_model_ops *const architectures[] = {
    &dit_model_cogvideox,
    &dit_model_flux,
    &dit_model_flux2,
    &dit_model_hunyuan_dit,
    &dit_model_hunyuan_video,
    &dit_model_hunyuan_video15,
    &dit_model_latte,
    &dit_model_ltx,
    &dit_model_ltx2,
    &dit_model_lumina2,
    &dit_model_mochi,
    &dit_model_pixart,
    &dit_model_qwen_image,
    &dit_model_sana,
    &dit_model_sd3,
    &dit_model_wan,
    &dit_model_z_image,
};
/* clang-format on */

dit_status dit_model_find(const dit_config *config, const dit_model_ops **out)
{
    const dit_architecture *architecture;
    DIT_TRY(dit_architecture_from_config(config->doc, config->object, config->pointer, &architecture));
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
        *out = architectures[i];
        if (strcmp(architecture->class_name, (*out)->class_name) == 0) return DIT_OK;
    }
    *out = NULL;
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s has facts and no model", architecture->class_name);
}

dit_status dit_model_read_facts(const dit_config *config, const dit_model_ops **ops, dit_facts *facts)
{
    dit_architecture_sizes sizes = {0};
    DIT_TRY(dit_model_find(config, ops));
    *facts = (dit_facts){.num_images = 1, .steps = 1, .mlp_ratio = 4};
    DIT_TRY((*ops)->read_facts(config, &sizes, facts));
    return dit_architecture_fill(dit_architecture_find((*ops)->class_name), &sizes, facts);
}

static dit_stage stage_of(const dit_runtime *rt)
{
    int stage = rt->coordinates[DIT_AXIS_PIPEFUSION], stages = dit_comm_size(rt->comm[DIT_AXIS_PIPEFUSION]);
    bool of_steps = dit_parallel_streams(&rt->parallel) && rt->parallel.stage_method == DIT_STAGE_TPP;
    return (dit_stage){.blocks = dit_parallel_stage(&rt->parallel, &rt->facts, stage),
                       .first = stage == 0 || of_steps,
                       .last = stage == stages - 1 || of_steps};
}

dit_status dit_model_create(const dit_model_params *params, dit_model **out)
{
    const dit_model_ops *ops;
    *out = NULL;
    DIT_TRY(dit_model_find(&params->config, &ops));
    dit_model *model = calloc(1, sizeof *model);
    if (!model) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a model");
    *model = (dit_model){
        .ops = ops, .params = *params, .view = params->partition, .layers_per_block = 1, .timestep_divisor = 1.0f};
    model->params.stage = stage_of(params->rt);
    const dit_range own = model->params.stage.blocks;
    dit_status st = dit_weight_stream_create(params->rt, params->weights, own.first, own.count, &model->params.stream);
    if (st == DIT_OK) st = ops->create(&model->params, model);
    if (st == DIT_OK) st = dit_weight_stream_start(model->params.stream);
    if (st == DIT_OK && !params->rt->no_graphs) st = dit_graphs_create(params->rt, &model->graphs);
    if (st != DIT_OK) {
        dit_model_free(model);
        return dit_error_note(st, "creating %s", ops->class_name);
    }
    *out = model;
    return DIT_OK;
}

void dit_model_free(dit_model *model)
{
    if (!model) return;
    dit_graphs_free(model->graphs);
    for (int i = 0; i < DIT_MODEL_POLICIES; i++) dit_attention_free(model->attention[i]);
    dit_weight_stream_free(model->params.stream);
    free(model);
}

/* Runs a statement as a piece that a guest hears of. */
#define DIT_PIECE(model, kind, index, ...)                                                                             \
    do {                                                                                                               \
        dit_piece piece_ = piece_of(model, kind, index);                                                               \
        dit_guest_at_piece((model)->params.rt->guest, &piece_);                                                        \
        __VA_ARGS__;                                                                                                   \
        dit_guest_at_piece((model)->params.rt->guest, NULL);                                                           \
    } while (0)

static dit_piece piece_of(const dit_model *model, dit_piece_kind kind, int64_t block)
{
    const dit_partition *view = &model->view;
    return (dit_piece){.kind = kind,
                       .block = block,
                       .batch = view->batch,
                       .branches = view->branches,
                       .image_rows = view->image_count,
                       .text_rows = view->text_count,
                       .segments = view->segments,
                       .frames = model->params.latent.frames};
}

/* Prepares an image batch. It drops recorded graphs: their work depends on the conditions and on the text's masks. */
dit_status dit_model_prepare(dit_model *model, const dit_condition *condition)
{
    if (memcmp(&model->prepared, condition, sizeof *condition) != 0) dit_graphs_forget(model->graphs);
    model->prepared = *condition;
    DIT_PIECE(model, DIT_PIECE_BEFORE, 0, DIT_TRY(model->ops->prepare(model, condition)));
    return dit_weight_stream_status(model->params.stream);
}

dit_window dit_model_whole(const dit_model *model, int step)
{
    return (dit_window){
        .count = model->params.partition.segment_count, .text = true, .band = DIT_WINDOW_ALL, .step = step};
}

void dit_model_set_window(dit_model *model, const dit_window *window)
{
    dit_partition *view = &model->view;
    *view = model->params.partition;
    view->segment_count = window->count;
    view->image_count = view->segments * window->count;
    if (!window->text && model->params.rt->facts.joint) view->text_count = 0;
    if (window->positive) view->batch = view->images, view->branches = 1;
    model->window = *window;
    dit_runtime_set_step(model->params.rt, window->step);
    dit_runtime_set_patch(model->params.rt, window->band);
    for (int i = 0; i < DIT_MODEL_POLICIES; i++)
        if (model->attention[i]) dit_attention_begin(model->attention[i], window);
}

int64_t dit_model_skip_elements(const dit_model *model)
{
    return model->view.batch * model->view.image_count * model->width;
}

/* Shows the stream as it lies between blocks. */
static dit_status tap_stream(dit_model *model)
{
    dit_tap *tap = model->params.tap;
    const dit_partition *view = &model->view;
    if (!tap || !tap->take_layer) return DIT_OK;
    int64_t text = model->params.rt->facts.joint ? view->text_count : 0, rows = text + view->image_count;
    return tap->take_layer(tap, &(dit_tap_layer){.layer = model->layer,
                                                 .point = DIT_TAP_STREAM,
                                                 .data = model->stream,
                                                 .batch = view->batch,
                                                 .rows = rows,
                                                 .cols = model->width,
                                                 .ld = model->width,
                                                 .stride = rows * model->width,
                                                 .text = text});
}

dit_status dit_model_begin(dit_model *model, const float *timestep)
{
    DIT_TIMED(model->params.rt, DIT_TIME_EMBED,
              DIT_PIECE(model, DIT_PIECE_BEFORE, 0, DIT_TRY(model->ops->begin(model, timestep))));
    return DIT_OK;
}

dit_status dit_model_embed(dit_model *model, const float *latents)
{
    DIT_TIMED(model->params.rt, DIT_TIME_EMBED,
              DIT_PIECE(model, DIT_PIECE_BEFORE, 0, DIT_TRY(model->ops->embed(model, latents))));
    model->layer = -1;
    return tap_stream(model);
}

dit_status dit_model_attention_input(dit_model *model, float *out)
{
    dit_weight_stream_enter(model->params.stream, model->params.stage.blocks.first);
    DIT_TRY(dit_weight_stream_status(model->params.stream));
    DIT_PIECE(model, DIT_PIECE_BEGIN, 0, DIT_TRY(model->ops->attention_input(model, out)));
    return DIT_OK;
}

/* Runs the stage's blocks in [first, first + count). */
static dit_status run_blocks(dit_model *model, dit_range blocks, void (*between)(void *context), void *context)
{
    dit_runtime *rt = model->params.rt;
    DIT_TIMED(rt, DIT_TIME_BLOCKS, {
        if (blocks.first <= model->params.stage.blocks.first) DIT_PIECE(model, DIT_PIECE_BEGIN, 0, (void)0);
        for (int64_t i = blocks.first; i < blocks.first + blocks.count; i++) {
            if (!dit_stage_has(&model->params, i)) continue;
            DIT_TRY(dit_weight_stream_status(model->params.stream));
            model->layer = i * model->layers_per_block;
            DIT_LAYER(rt, i, DIT_PIECE(model, DIT_PIECE_BLOCK, i, DIT_TRY(model->ops->block(model, i))));
            model->layer = (i + 1) * model->layers_per_block - 1;
            DIT_TRY(tap_stream(model));
            if (between) between(context);
        }
    });
    return DIT_OK;
}

dit_status dit_model_blocks(dit_model *model, void (*between)(void *context), void *context)
{
    return run_blocks(model, model->params.stage.blocks, between, context);
}

dit_status dit_model_some_blocks(dit_model *model, int64_t first, int64_t count)
{
    return dit_model_poll_blocks(model, first, count, NULL, NULL);
}

dit_status dit_model_poll_blocks(dit_model *model, int64_t first, int64_t count, void (*between)(void *context),
                                 void *context)
{
    dit_range own = dit_model_own_blocks(model, first, count);
    return own.count ? run_blocks(model, own, between, context) : DIT_OK;
}

dit_range dit_model_own_blocks(const dit_model *model, int64_t first, int64_t count)
{
    const dit_range *own = &model->params.stage.blocks;
    int64_t begin = first > own->first ? first : own->first;
    int64_t end = first + count < own->first + own->count ? first + count : own->first + own->count;
    return (dit_range){begin, end > begin ? end - begin : 0};
}

void dit_model_leave_out(dit_model *model, int before, int after)
{
    for (int i = 0; i < DIT_MODEL_POLICIES; i++)
        if (model->attention[i]) dit_attention_leave_out(model->attention[i], before, after);
}

/* Policy 0 is called once a block, policy 1 by blocks that attend a second time. */
void dit_model_skip_blocks(dit_model *model, int64_t first, int64_t count)
{
    dit_range own = dit_model_own_blocks(model, first, count);
    const dit_block_run blocks = dit_facts_blocks(&model->params.rt->facts, own.first, own.count);
    const int64_t calls[DIT_MODEL_POLICIES] = {blocks.count, blocks.image_layers};
    for (int i = 0; i < DIT_MODEL_POLICIES; i++)
        if (model->attention[i]) dit_attention_skip(model->attention[i], calls[i]);
}

dit_status dit_model_head(dit_model *model, float *output)
{
    DIT_TIMED(model->params.rt, DIT_TIME_HEAD,
              DIT_PIECE(model, DIT_PIECE_HEAD, 0, DIT_TRY(model->ops->head(model, output))));
    return DIT_OK;
}

typedef struct {
    dit_model *model;
    const dit_forward_args *args;
} forward_call;

static dit_status forward_pieces(void *context)
{
    const forward_call *call = context;
    DIT_TRY(dit_model_begin(call->model, call->args->timestep));
    DIT_TRY(dit_model_embed(call->model, call->args->latents));
    DIT_TRY(dit_model_blocks(call->model, NULL, NULL));
    return dit_model_head(call->model, call->args->output);
}

/* True if a forward is equal work every time, and all of it runs on a device. */
static bool may_record(const dit_model *model)
{
    static const dit_axis within[] = {DIT_AXIS_ULYSSES, DIT_AXIS_RING, DIT_AXIS_TENSOR};
    const dit_runtime *rt = model->params.rt;
    if (!model->graphs || model->params.tap || rt->trace) return false;
    for (int i = 0; i < DIT_MODEL_POLICIES; i++)
        if (model->attention[i] && !dit_attention_is_steady(model->attention[i])) return false;
    for (size_t i = 0; i < sizeof within / sizeof *within; i++)
        if (dit_comm_size(rt->comm[within[i]]) > 1 && !dit_comm_recordable(rt->comm[within[i]])) return false;
    return true;
}

dit_status dit_model_do_part(dit_model *model, int part, const dit_forward_args *args,
                             dit_status (*work)(void *context), void *context)
{
    const dit_window *window = &model->window;
    if (!may_record(model)) return work(context);
    const dit_graph_key key = {.in = args->latents,
                               .out = args->output,
                               .beside = args->timestep,
                               .first = window->first,
                               .count = window->count,
                               .band = window->band,
                               .text = window->text,
                               .part = part};
    return dit_graphs_run(model->graphs, &key, work, context);
}

dit_status dit_model_forward(dit_model *model, const dit_forward_args *args)
{
    dit_window whole = dit_model_whole(model, args->step);
    forward_call call = {model, args};
    dit_model_set_window(model, &whole);
    return dit_model_do_part(model, 0, args, forward_pieces, &call);
}

dit_status dit_model_tap(dit_model *model, const dit_shards *shards, const char *format, ...)
{
    char name[128];
    va_list args;
    if (!model->params.tap || !model->params.tap->take) return DIT_OK;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return model->params.tap->take(model->params.tap, name, shards);
}
