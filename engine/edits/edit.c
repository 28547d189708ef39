/* Edit: draws a picture again whose caption was edited, computing in most steps only those rows of tokens that change.
 *
 * The rows of a sparse step are a window, like a band of a pipeline; the policy "edit" gives them the K and V of all others.
 * The solver takes its step over all rows, and the old run's latents then replace the rows that were not computed: what
 * stood there, and what a solver remembers of it, is never read.
 */
#include "engine/edits/edit.h"

#include "engine/attention/edit.h"

#include <math.h>
#include <string.h>

typedef struct {
    float *latents; /* [steps + 1][images, rows, channels] of the old run: before each step, and after the last */
    float *input, *output; /* the window's rows                                                                       */
} edit_state;

static dit_status edit_create(dit_sampler *s)
{
    void *memory;
    int64_t rows = s->partition.batch * s->partition.image_count;
    DIT_TRY(dit_arena_alloc(&s->rt->run, sizeof(edit_state), &memory));
    edit_state *e = s->executor_state = memory;
    DIT_TRY(dit_arena_fp32(&s->rt->image, (s->scheduler->steps + 1) * s->elements, &e->latents));
    DIT_TRY(dit_arena_fp32(&s->rt->step, rows * s->model->input_channels, &e->input));
    return dit_arena_fp32(&s->rt->step, rows * s->model->output_channels, &e->output);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Copies `rows` of each of `outer` arrays to rows from `to` on. */
static void copy_rows(dit_sampler *s, int64_t outer, int64_t cols, const float *from, int64_t from_rows, dit_range rows,
                      float *dst, int64_t dst_rows, int64_t to)
{
    if (rows.count == 0) return;
    ops_copy(s->rt, &(dit_copy_args){.n0 = outer,
                                     .n1 = rows.count,
                                     .n2 = 1,
                                     .inner = cols,
                                     .src = from + rows.first * cols,
                                     .src_stride = {from_rows * cols, cols, 0},
                                     .dst = dst + to * cols,
                                     .dst_stride = {dst_rows * cols, cols, 0}});
}

static float *kept_latents(const dit_sampler *s, int step)
{
    return ((edit_state *)s->executor_state)->latents + step * s->elements;
}

static void keep(dit_sampler *s, int step)
{
    copy_rows(s, 1, s->elements, s->latents, 1, (dit_range){0, 1}, kept_latents(s, step), 1, 0);
}

/* Gives all rows but `rows` the old run's latents before step `step`. */
static void restore(dit_sampler *s, dit_range rows, int step)
{
    int64_t all = s->partition.image_count, behind = rows.first + rows.count;
    const float *kept = kept_latents(s, step);
    copy_rows(s, s->partition.images, s->channels, kept, all, (dit_range){0, rows.first}, s->latents, all, 0);
    copy_rows(s, s->partition.images, s->channels, kept, all, (dit_range){behind, all - behind}, s->latents, all,
              behind);
}

/* ---- what changes ------------------------------------------------------------------------------------------------ */

/* Returns how far a token's latents have moved from the old run's: the mean over channels. */
static double moved(const float *now, const float *old, int64_t channels)
{
    double sum = 0;
    for (int64_t c = 0; c < channels; c++) sum += fabs((double)now[c] - (double)old[c]);
    return sum / (double)channels;
}

/* Widens log->rows to those of an image's tokens that moved by more than the threshold, and one more to either side. */
static void find_changed(const dit_sampler *s, const float *now, const float *old, dit_edit_log *log)
{
    const dit_latent *latent = &s->rt->facts.latent;
    int64_t tokens = s->partition.image_count, across = latent->width / latent->patch, C = s->channels;
    int64_t first = log->rows.first, behind = first + log->rows.count;
    double most = 0;
    for (int64_t i = 0; i < tokens; i++) most = fmax(most, moved(now + i * C, old + i * C, C));
    for (int64_t i = 0; i < tokens; i++) {
        if (moved(now + i * C, old + i * C, C) <= s->edit->threshold * most) continue;
        int64_t row = i / across, above = row > 0 ? row - 1 : 0, below = (row + 2) * across;
        log->changed++;
        if (behind == 0 || above * across < first) first = above * across;
        if (below > behind) behind = below < tokens ? below : tokens;
    }
    log->rows = (dit_range){first, behind - first};
}

/* Decides which rows the steps from `step` on compute. */
static dit_status decide(dit_sampler *s, int step)
{
    int64_t image = s->partition.image_count * s->channels, all = s->partition.image_count;
    dit_edit_log *log = &s->edit_log;
    float *old = kept_latents(s, step);
    *log = (dit_edit_log){0};
    DIT_TRY(dit_runtime_download(s->rt, s->latents, s->elements));
    DIT_TRY(dit_runtime_download(s->rt, old, s->elements));
    for (int64_t i = 0; i < s->partition.images && !s->rt->ledger.counting_only; i++)
        find_changed(s, s->latents + i * image, old + i * image, log);
    log->dense = s->rt->ledger.counting_only || (double)log->rows.count > s->edit->dense_share * (double)all;
    if (log->dense) log->rows = (dit_range){0, all};
    double sparse = (double)(s->scheduler->steps - step) / s->scheduler->steps;
    log->computed = 1 - sparse + sparse * (double)log->rows.count / (double)all;
    return DIT_OK;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void tell(dit_sampler *s, dit_edit_mode mode)
{
    for (int i = 0; i < DIT_MODEL_POLICIES; i++)
        if (s->model->attention[i]) dit_attention_edit(s->model->attention[i], mode, s->edit_log.rows);
}

/* Makes s->output of the window's rows; its other rows stay as they were. */
static dit_status forward_rows(dit_sampler *s, int step)
{
    const edit_state *e = s->executor_state;
    const dit_range rows = s->edit_log.rows;
    int64_t batch = s->partition.batch, all = s->partition.image_count;
    int64_t in = s->model->input_channels, out = s->model->output_channels;
    dit_window window = dit_model_whole(s->model, step);
    window.first = rows.first, window.count = rows.count;
    copy_rows(s, batch, in, s->input, all, rows, e->input, rows.count, 0);
    dit_model_set_window(s->model, &window);
    DIT_TRY(dit_model_begin(s->model, s->timestep));
    DIT_TRY(dit_model_embed(s->model, e->input));
    DIT_TRY(dit_model_blocks(s->model, NULL, NULL));
    DIT_TRY(dit_model_head(s->model, e->output));
    copy_rows(s, batch, out, e->output, rows.count, (dit_range){0, rows.count}, s->output, all, rows.first);
    return DIT_OK;
}

static dit_status run_step(dit_sampler *s, int step, bool sparse, const dit_condition *condition)
{
    int64_t began;
    dit_sampler_begin_step(s, step, &began);
    dit_window all = dit_sampler_window(s, DIT_WINDOW_ALL, step);
    tell(s, s->keeps ? DIT_EDIT_KEEP : sparse ? DIT_EDIT_TAKE : DIT_EDIT_PLAIN);
    DIT_TRY(dit_sampler_fill_input(s, &all, step, condition));
    const dit_forward_args args = {.latents = s->input, .timestep = s->timestep, .output = s->output, .step = step};
    if (!sparse)
        DIT_TRY(dit_model_forward(s->model, &args));
    else if (s->edit_log.rows.count)
        DIT_TRY(forward_rows(s, step));
    DIT_TRY(dit_sampler_advance(s, &all, step));
    if (sparse) restore(s, s->edit_log.rows, step + 1);
    return dit_sampler_end_step(s, step, began, true);
}

static dit_status run_old(dit_sampler *s, const dit_condition *condition)
{
    for (int step = 0; step < s->scheduler->steps; step++) {
        keep(s, step);
        DIT_TRY(run_step(s, step, false, condition));
    }
    keep(s, s->scheduler->steps);
    return DIT_OK;
}

static dit_status edit_run(dit_sampler *s, const dit_condition *condition)
{
    if (s->keeps) return run_old(s, condition);
    for (int step = 0; step < s->scheduler->steps; step++) {
        if (step == s->edit->dense_steps) DIT_TRY(decide(s, step));
        DIT_TRY(run_step(s, step, step >= s->edit->dense_steps && !s->edit_log.dense, condition));
    }
    return DIT_OK;
}

dit_status dit_edit_count_differing(dit_sampler *s)
{
    const dit_range rows = s->edit_log.rows;
    int64_t image = s->partition.image_count * s->channels;
    const float *old = kept_latents(s, s->scheduler->steps);
    if (s->rt->ledger.counting_only) return DIT_OK;
    DIT_TRY(dit_runtime_download(s->rt, s->latents, s->elements));
    DIT_TRY(dit_runtime_download(s->rt, old, s->elements));
    s->edit_log.differs = 0;
    for (int64_t i = 0; i < s->elements; i++) {
        int64_t row = i % image / s->channels;
        bool computed = row >= rows.first && row < rows.first + rows.count;
        s->edit_log.differs += !computed && memcmp(&s->latents[i], &old[i], sizeof *old) != 0;
    }
    return DIT_OK;
}

const dit_executor dit_executor_edit = {.name = "edit", .create = edit_create, .run = edit_run};
