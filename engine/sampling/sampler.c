#include "engine/sampling/sampler.h"

#include "base/rng.h"
#include "engine/runtime/fault.h"

#include <math.h>
#include <string.h>

/* ---- noise and latents ------------------------------------------------------------------------------------------- */

/* Returns the rows that run `run` and `rows` of its segment have in common. */
static dit_run overlap(dit_run run, int64_t segment_row, dit_range rows)
{
    int64_t first = run.row - segment_row, last = first + run.count;
    int64_t begin = first > rows.first ? first : rows.first;
    int64_t end = last < rows.first + rows.count ? last : rows.first + rows.count;
    return (dit_run){.row = begin, .token = run.token + begin - first, .count = end > begin ? end - begin : 0};
}

/* Fills `count` floats of an image, from `first` on. */
static void draw_run(const dit_sampler *s, int step, int64_t image, int64_t first, int64_t count, float deviation,
                     float *out)
{
    int64_t all = s->all_images ? s->all_images : s->rt->facts.num_images;
    int64_t row = s->latents_of.image_tokens * s->channels, draw = step < 0 ? 0 : step;
    if (!s->torch) {
        dit_rng_normal(s->seed, dit_rng_stream(step < 0 ? "noise" : "step-noise"),
                       (uint64_t)(draw * all * row + image * row + first), count, 0.0f, deviation, out);
        return;
    }
    const float *unit = dit_torch_noise_image(s->torch, step, image) + first;
    for (int64_t i = 0; i < count; i++) out[i] = unit[i] * deviation;
}

void dit_sampler_draw(const dit_sampler *s, dit_range rows, int step, float deviation, float *out)
{
    const dit_partition *part = &s->latents_of;
    int64_t runs = dit_partition_runs(part);
    const int64_t images = dit_runtime_values(s->rt, part->images);
    for (int64_t image = 0; image < images; image++) {
        for (int64_t i = 0; i < runs; i++) {
            int64_t segment = i / (runs / part->segments);
            dit_run run = overlap(dit_partition_run(part, i), segment * part->segment_count, rows);
            int64_t row = (image * part->segments + segment) * rows.count + run.row - rows.first;
            if (run.count)
                draw_run(s, step, s->first_image + part->image_first + image, run.token * s->channels,
                         run.count * s->channels, deviation, out + row * s->channels);
        }
    }
}

void dit_sampler_draw_after(const dit_sampler *s, int64_t image, float *out)
{
    int step = s->scheduler->fresh_noise ? s->scheduler->steps : 0;
    draw_run(s, step, s->first_image + image, 0, s->latents_of.image_tokens * s->channels, 1, out);
}

dit_status dit_sampler_draw_latents(dit_sampler *s)
{
    for (int64_t i = 0; i < s->part_count; i++)
        dit_sampler_draw(s, s->parts[i].rows, -1, s->scheduler->init_noise_sigma, s->parts[i].latents);
    return dit_runtime_upload(s->rt, s->latents, s->elements);
}

static void draw_step_noise(void *context, int step, float *out)
{
    const dit_sampler_part *part = context;
    dit_sampler_draw(part->sampler, part->rows, step, 1.0f, out);
}

/* Returns the copy between a part's rows, [outer, rows.count, inner] dense, and `rows` of [outer, rows of a segment,
 * ld]. */
static dit_copy_args part_rows(const dit_sampler_part *part, int64_t outer, int64_t inner)
{
    return (dit_copy_args){.n0 = outer,
                           .n1 = part->rows.count,
                           .n2 = 1,
                           .inner = inner,
                           .src_stride = {part->rows.count * inner, inner, inner},
                           .dst_stride = {part->rows.count * inner, inner, inner}};
}

dit_status dit_sampler_place_latents(dit_sampler *s, int64_t image, const float *rows)
{
    int64_t cols = s->channels, segments = s->partition.segments;
    for (int64_t i = 0; i < s->part_count; i++) {
        const dit_sampler_part *part = &s->parts[i];
        int64_t floats = part->rows.count * cols;
        float *to = part->latents + image * segments * floats;
        for (int64_t segment = 0; segment < segments; segment++)
            memcpy(to + segment * floats, rows + (segment * s->latents_of.segment_count + part->rows.first) * cols,
                   (size_t)floats * sizeof *to);
        DIT_TRY(dit_runtime_upload(s->rt, to, segments * floats));
    }
    return DIT_OK;
}

/* ---- making ready ------------------------------------------------------------------------------------------------ */

static bool rescales(const dit_sampler *s)
{
    return s->model->rescales_guidance && s->rt->facts.guidance_branches == 2;
}

static dit_status take_buffers(dit_sampler *s)
{
    dit_runtime *rt = s->rt;
    const dit_partition *part = &s->partition;
    int64_t rows = part->batch * part->window_count, denoised = s->latents_of.image_count;
    bool blocks = part->window_count < part->image_count; /* no forward has more rows than a block of a stream */
    int64_t all = rt->facts.num_images * s->latents_of.image_tokens;
    struct {
        dit_arena *arena;
        float **at;
        int64_t count;
    } buffers[] = {
        {&rt->image, &s->latents, s->elements},
        {&rt->image, &s->noise_pred, s->elements},
        {&rt->step, &s->scaled, blocks ? part->images * part->window_count * s->channels : s->elements},
        {&rt->step, &s->input, rows * s->model->input_channels},
        {&rt->step, &s->output, rows * s->model->output_channels},
        {&rt->step, &s->prediction, part->batch * (blocks ? part->window_count : denoised) * s->channels},
        {&rt->step, &s->timestep, part->batch},
        {&rt->comm_arena, &s->gathered, 2 * s->elements},
        {&rt->comm_arena, &s->full, all * s->channels},
        {&rt->comm_arena, &s->scratch, all * s->channels},
    };
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        DIT_TRY(dit_arena_fp32(buffers[i].arena, buffers[i].count, buffers[i].at)); /* the sampler rounds nothing */
    DIT_TRY(dit_guidance_norm_create(rt, part, &s->norm));
    DIT_TRY(dit_guidance_rescale_create(rt, part, &s->deviation));
    if (!rescales(s)) return DIT_OK;
    void *squares;
    DIT_TRY(dit_arena_array(&rt->step, 2 * part->images * denoised, DIT_DTYPE_FP64, &squares));
    s->squares = squares;
    return DIT_OK;
}

static dit_status create_parts(dit_sampler *s, const dit_scheduler_params *scheduler)
{
    dit_scheduler_params params = *scheduler;
    const dit_partition *partition = &s->partition;
    int64_t outer = partition->images * partition->segments;
    void *memory;
    s->part_count = partition->bands > 1 ? partition->bands : 1;
    DIT_TRY(dit_arena_alloc(&s->rt->image, s->part_count * (int64_t)sizeof *s->parts, &memory));
    s->parts = memory;
    params.rt = s->rt;
    params.image_tokens = s->latents_of.image_tokens;
    params.linspace_sigmas = s->model->linspace_sigmas;
    params.quadratic_sigmas = s->model->quadratic_sigmas;
    params.has_mu = s->model->shift != NULL;
    if (params.has_mu) params.mu = s->model->shift(params.image_tokens, params.steps);
    params.noise = draw_step_noise;
    for (int64_t i = 0; i < s->part_count; i++) {
        dit_sampler_part *part = &s->parts[i];
        part->sampler = s;
        part->rows = dit_range_cut(s->latents_of.segment_count, s->part_count, i);
        part->band = dit_band_cut(partition->segment_count, partition->reference_count, s->part_count, i);
        part->elements = params.elements = outer * part->rows.count * s->channels;
        part->latents = s->latents + outer * part->rows.first * s->channels;
        params.noise_context = part;
        DIT_TRY(dit_scheduler_create(&params, &part->scheduler));
    }
    s->scheduler = s->parts[0].scheduler;
    return DIT_OK;
}

dit_status dit_sampler_init(dit_sampler *s, const dit_scheduler_params *scheduler)
{
    const dit_partition *part = &s->partition;
    s->first = s->model;
    if (s->emulates && dit_parallel_streams(s->emulates)) /* blocks take their steps one by one */
        s->partition.bands = dit_parallel_bands(s->emulates, &s->rt->facts);
    s->channels = s->rt->facts.token_channels;
    s->latents_of = dit_partition_of_latents(part);
    s->elements = part->images * s->latents_of.image_count * s->channels;
    s->beside = s->model->needs[DIT_CONDITION_LATENT].elements / part->image_tokens;
    if (s->model->input_channels != s->channels + s->beside || s->model->output_channels < s->channels)
        return DIT_FAIL(DIT_ERR_SHAPE, "latent tokens have %lld channels, the model takes %lld and gives %lld",
                        (long long)s->channels, (long long)s->model->input_channels,
                        (long long)s->model->output_channels);
    DIT_TRY(take_buffers(s));
    DIT_TRY(create_parts(s, scheduler));
    return s->executor->create ? s->executor->create(s) : DIT_OK;
}

/* ---- pieces of a step -------------------------------------------------------------------------------------------- */

dit_window dit_sampler_window(const dit_sampler *s, int band, int step)
{
    if (band == DIT_WINDOW_ALL) return dit_model_whole(s->model, step);
    const dit_range *rows = &s->parts[band].band;
    bool text = band == 0 || (s->rt->facts.joint && s->rt->parallel.habits.text_with_every_band);
    return (dit_window){
        .first = rows->first, .count = rows->count, .text = text, .band = band, .step = step, .left_out = s->left_out};
}

/* Returns the parts that the window's rows belong to. */
static dit_range parts_of(const dit_sampler *s, const dit_window *window)
{
    return window->band == DIT_WINDOW_ALL ? (dit_range){0, s->part_count} : (dit_range){window->band, 1};
}

dit_range dit_sampler_denoised(const dit_sampler *s, const dit_window *window)
{
    dit_range parts = parts_of(s, window), rows = {s->parts[parts.first].rows.first, 0};
    for (int64_t i = parts.first; i < parts.first + parts.count; i++) rows.count += s->parts[i].rows.count;
    return rows;
}

dit_status dit_sampler_fill_timestep(dit_sampler *s, int step)
{
    float last = s->model->timestep_divisor, timestep = s->scheduler->timesteps[step];
    if (s->model->towards_image) timestep = last - timestep;
    for (int64_t b = 0; b < s->partition.batch; b++) s->timestep[b] = timestep / last;
    return dit_runtime_upload(s->rt, s->timestep, s->partition.batch);
}

/* Those of a part's rows that the window has: all, or the last ones where a block of a stream begins behind them. */
static dit_range touched(const dit_window *window, const dit_sampler_part *part)
{
    int64_t first = part->band.first, end = first + part->rows.count, last = window->first + window->count;
    if (first < window->first) first = window->first;
    if (end > last) end = last;
    return (dit_range){first, end > first ? end - first : 0};
}

static void fill_part(dit_sampler *s, const dit_window *window, const dit_sampler_part *part, dit_range touched_rows,
                      int step)
{
    int64_t outer = s->partition.images * s->partition.segments, width = s->model->input_channels;
    int64_t rows = outer * window->count;
    dit_copy_args args = part_rows(part, outer, s->channels);
    dit_scheduler_scale_input(part->scheduler, step, part->latents, s->scaled);
    args.src = s->scaled + (touched_rows.first - part->band.first) * s->channels;
    args.n1 = touched_rows.count;
    args.dst_stride[0] = window->count * width, args.dst_stride[1] = width;
    for (int64_t branch = 0; branch < s->partition.branches; branch++) {
        args.dst = s->input + (branch * rows + touched_rows.first - window->first) * width;
        ops_copy(s->rt, &args);
    }
}

/* Copies a part's rows of the reference behind those of its latents. */
static void fill_reference(dit_sampler *s, const dit_window *window, const dit_sampler_part *part,
                           const float *reference)
{
    int64_t count = part->band.count - part->rows.count, before = part->band.first - part->rows.first;
    int64_t width = s->model->input_channels, behind = part->band.first + part->rows.count - window->first;
    ops_copy(s->rt, &(dit_copy_args){.n0 = s->partition.batch,
                                     .n1 = count,
                                     .n2 = 1,
                                     .inner = width,
                                     .src = reference + before * width,
                                     .src_stride = {s->partition.reference_count * width, width, width},
                                     .dst = s->input + behind * width,
                                     .dst_stride = {window->count * width, width, width}});
}

dit_status dit_sampler_fill_input(dit_sampler *s, const dit_window *window, int step, const dit_condition *condition)
{
    int64_t width = s->model->input_channels, segment = s->partition.segment_count;
    for (int64_t i = 0; i < s->part_count; i++) {
        const dit_sampler_part *part = &s->parts[i];
        dit_range rows = touched(window, part);
        if (rows.count == 0) continue;
        fill_part(s, window, part, rows, step);
        if (part->band.count > part->rows.count)
            fill_reference(s, window, part, condition->at[DIT_CONDITION_REFERENCE]);
    }
    if (s->beside)
        ops_copy(s->rt, &(dit_copy_args){.n0 = s->partition.batch * s->partition.segments,
                                         .n1 = window->count,
                                         .n2 = 1,
                                         .inner = s->beside,
                                         .src = condition->at[DIT_CONDITION_LATENT] + window->first * s->beside,
                                         .src_stride = {segment * s->beside, s->beside, s->beside},
                                         .dst = s->input + s->channels,
                                         .dst_stride = {window->count * width, width, s->beside}});
    return dit_sampler_fill_timestep(s, step);
}

/* Makes every token of noise_pred as long as that of the positive prediction [rows, channels]. Source: diffusers'
 * QwenImagePipeline. */
static void rescale(dit_sampler *s, const float *positive, int64_t rows)
{
    dit_row_norm_args args = {.batch = 1,
                              .rows = rows,
                              .cols = s->channels,
                              .x = (float *)(uintptr_t)positive,
                              .ld = s->channels,
                              .stride = rows * s->channels,
                              .squares = s->squares + rows,
                              .ranks = 1,
                              .total_cols = s->channels,
                              .like = s->squares + rows};
    ops_row_squares(s->rt, &args);
    args.x = s->noise_pred, args.squares = s->squares;
    ops_row_squares(s->rt, &args);
    ops_row_scale(s->rt, &args);
}

/* Copies the denoised rows of what the model gave to `to` [batch, these rows, channels]: at once, or part by part where
 * rows of a reference, or rows that were computed again, lie between. Learned variance, in channels beyond the latent's, is dropped. */
static void take_prediction(dit_sampler *s, const dit_window *window, float *to)
{
    dit_range parts = parts_of(s, window), rows = dit_sampler_denoised(s, window);
    int64_t outer = s->partition.batch * s->partition.segments, width = s->model->output_channels;
    bool between = s->partition.reference_count > 0 || window->count != rows.count;
    for (int64_t i = 0; i < (between ? parts.count : 1); i++) {
        const dit_sampler_part *part = &s->parts[parts.first + i];
        int64_t count = between ? part->rows.count : outer * rows.count;
        ops_copy(s->rt, &(dit_copy_args){.n0 = between ? outer : 1,
                                         .n1 = count,
                                         .n2 = 1,
                                         .inner = s->channels,
                                         .src = s->output + (between ? part->band.first - window->first : 0) * width,
                                         .src_stride = {window->count * width, width, s->channels},
                                         .dst = to + (between ? part->rows.first - rows.first : 0) * s->channels,
                                         .dst_stride = {rows.count * s->channels, s->channels, s->channels}});
    }
}

/* The positive prediction alone counts in the last steps of some runs; the other one is computed there, too. */
static float scale_of(const dit_sampler *s, int step)
{
    bool second = s->second && s->model == s->second;
    if (step >= s->scheduler->steps - s->rt->facts.unguided_steps) return 1;
    return (second ? s->second_guidance_scale : s->guidance_scale) + (float)s->rt->facts.guidance_offset;
}

/* noise_pred = negative + g (positive - negative), negated where the model predicts the way to the image. */
static dit_status guide(dit_sampler *s, const dit_window *window, int step)
{
    int64_t outer = s->partition.segments * dit_sampler_denoised(s, window).count, channels = s->channels;
    int64_t elements = s->partition.images * outer * channels;
    bool guided = s->rt->facts.guidance_branches == 2;
    float scale = scale_of(s, step), sign = s->model->towards_image ? -1.0f : 1.0f;
    float *prediction = guided ? s->prediction : s->noise_pred;
    const float *negative = prediction, *positive = prediction + elements;
    take_prediction(s, window, prediction);
    if (!guided) {
        if (sign < 0)
            ops_combine(s->rt, &(dit_combine_args){
                                   .elements = elements, .count = 1, .x = {prediction}, .a = {sign}, .y = prediction});
        return DIT_OK;
    }
    if (s->partition.branches == 1) {
        DIT_TRY(dit_comm_all_gather(s->rt->comm[DIT_AXIS_CFG], s->prediction, s->gathered,
                                    elements * (int64_t)sizeof *s->gathered));
        negative = s->gathered;
        positive = s->gathered + elements;
    }
    ops_combine(s->rt, &(dit_combine_args){.elements = elements,
                                           .count = 2,
                                           .x = {negative, positive},
                                           .a = {sign * (1.0f - scale), sign * scale},
                                           .y = s->noise_pred});
    if (rescales(s)) rescale(s, positive, elements / channels);
    if (s->deviation.sums) return dit_guidance_rescale_apply(&s->deviation, positive, s->noise_pred);
    if (s->norm.norms && step < s->scheduler->steps - s->rt->facts.unguided_steps)
        return dit_guidance_norm_apply(&s->norm, positive, s->noise_pred);
    return DIT_OK;
}

/* Returns the part's rows of noise_pred. Where they do not lie together, they are copied to `scaled`. */
static const float *predicted(dit_sampler *s, const dit_window *window, const dit_sampler_part *part)
{
    dit_copy_args args = part_rows(part, s->partition.images * s->partition.segments, s->channels);
    const dit_range rows = dit_sampler_denoised(s, window);
    if (part->rows.count == rows.count) return s->noise_pred;
    args.src = s->noise_pred + (part->rows.first - rows.first) * s->channels;
    args.src_stride[0] = rows.count * s->channels;
    args.dst = s->scaled;
    ops_copy(s->rt, &args);
    return s->scaled;
}

/* Gives the part's rows of the first frame what it is, over noise or over what a solver made of them. */
static void hold(dit_sampler *s, const dit_sampler_part *part)
{
    int64_t held = s->partition.held_count - part->rows.first, rows = part->rows.count, channels = s->channels;
    if (!s->first_frame || held <= 0) return;
    ops_copy(s->rt, &(dit_copy_args){.n0 = s->partition.images,
                                     .n1 = held < rows ? held : rows,
                                     .n2 = 1,
                                     .inner = channels,
                                     .src = s->first_frame + part->rows.first * channels,
                                     .src_stride = {s->partition.image_count * channels, channels, channels},
                                     .dst = part->latents,
                                     .dst_stride = {rows * channels, channels, channels}});
}

dit_status dit_sampler_advance(dit_sampler *s, const dit_window *window, int step)
{
    dit_range parts = parts_of(s, window);
    DIT_TIMED(s->rt, DIT_TIME_SCHEDULER, {
        DIT_TRY(guide(s, window, step));
        for (int64_t i = parts.first; i < parts.first + parts.count; i++) {
            DIT_TRY(dit_scheduler_step(s->parts[i].scheduler, step, predicted(s, window, &s->parts[i]),
                                       s->parts[i].latents));
            hold(s, &s->parts[i]);
        }
    });
    return DIT_OK;
}

/* Gives a step to its transformer. */
static void choose_model(dit_sampler *s, int step)
{
    s->model = s->second && s->scheduler->timesteps[step] < s->boundary ? s->second : s->first;
}

int dit_sampler_begin_step(dit_sampler *s, int step, int64_t *began)
{
    int due = step;
    step = dit_guest_begin_step(s->rt->guest, s->rt, due);
    s->left_out = step - due;
    dit_sampler_enter_step(s, step, began);
    return step;
}

void dit_sampler_enter_step(dit_sampler *s, int step, int64_t *began)
{
    choose_model(s, step);
    dit_weight_stream_follow(s->model->params.stream, step + 1 < s->scheduler->steps);
    dit_runtime_set_step(s->rt, step);
    dit_runtime_set_patch(s->rt, DIT_WINDOW_ALL);
    dit_fault_at_step(s->rt, step, s->latents);
    *began = dit_timing_now(s->rt->timing);
}

dit_status dit_sampler_end_step(dit_sampler *s, int step, int64_t began, bool whole)
{
    dit_fault_slow(began);
    if (s->step_ns) {
        s->step_ns[step] = 0;
        dit_timing_add(s->rt->timing, began, dit_timing_now(s->rt->timing), &s->step_ns[step]);
    }
    return whole && s->on_step ? s->on_step(s, step, s->context) : DIT_OK;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

dit_status dit_sampler_prepare(dit_sampler *s, const dit_condition *condition)
{
    DIT_TRY(dit_model_prepare(s->first, condition));
    return s->second ? dit_model_prepare(s->second, condition) : DIT_OK;
}

dit_status dit_sampler_run(dit_sampler *s, const dit_condition *condition)
{
    dit_position_next_image();
    dit_runtime_set_phase(s->rt, DIT_PHASE_STEP);
    DIT_TIMED(s->rt, DIT_TIME_PREPARE, DIT_TRY(dit_sampler_prepare(s, condition)));
    s->first_frame = condition->at[DIT_CONDITION_FIRST_FRAME];
    for (int64_t i = 0; i < s->part_count; i++) hold(s, &s->parts[i]);
    DIT_TRY(s->executor->run(s, condition));
    dit_runtime_set_step(s->rt, -1);
    dit_runtime_set_patch(s->rt, DIT_WINDOW_ALL);
    return DIT_OK;
}

/* Returns the latents in the order of this rank's rows; with several parts they are copied. */
static const float *ordered_latents(dit_sampler *s)
{
    int64_t outer = s->partition.images * s->partition.segments;
    if (s->part_count == 1) return s->latents;
    for (int64_t i = 0; i < s->part_count; i++) {
        dit_copy_args args = part_rows(&s->parts[i], outer, s->channels);
        args.src = s->parts[i].latents;
        args.dst = s->noise_pred + s->parts[i].rows.first * s->channels;
        args.dst_stride[0] = s->latents_of.segment_count * s->channels;
        ops_copy(s->rt, &args);
    }
    return s->noise_pred;
}

dit_status dit_sampler_gather(dit_sampler *s)
{
    dit_runtime_set_phase(s->rt, DIT_PHASE_GATHER);
    DIT_TIMED(s->rt, DIT_TIME_GATHER, {
        if (s->executor->share) DIT_TRY(s->executor->share(s));
        DIT_TRY(
            dit_partition_gather_latents(s->rt, &s->latents_of, ordered_latents(s), s->channels, s->scratch, s->full));
    });
    int64_t all = s->rt->facts.num_images * s->latents_of.image_tokens * s->channels;
    DIT_TRY(dit_runtime_download(s->rt, s->full, all));
    for (int64_t i = 0; i < all && !s->rt->ledger.counting_only; i++)
        if (!isfinite(s->full[i]))
            return DIT_FAIL(DIT_ERR_NONFINITE, "latents_final[%lld] is not finite after %d steps", (long long)i,
                            s->scheduler->steps);
    return DIT_OK;
}

dit_status dit_sampler_each_step(dit_sampler *s, const dit_condition *condition, dit_sampler_forward *forward)
{
    for (int step = 0; step < s->scheduler->steps; step++) {
        dit_window all = dit_sampler_window(s, DIT_WINDOW_ALL, step);
        int64_t began;
        dit_sampler_begin_step(s, step, &began);
        DIT_TRY(dit_sampler_fill_input(s, &all, step, condition));
        DIT_TRY(forward(s, step));
        DIT_TRY(dit_sampler_advance(s, &all, step));
        DIT_TRY(dit_sampler_end_step(s, step, began, true));
    }
    return DIT_OK;
}
