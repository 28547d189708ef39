/* Edit oracle: computes what executor "edit" must give by whole forwards. Rows that the plan leaves out are computed like all
 * others, with the old run's K and V in the place of theirs (attention/edit_oracle.c), and their latents are then
 * overwritten by the old run's. Its rule of what changes is its own. */
#include "engine/edits/edit.h"

#include "engine/attention/edit.h"

#include <math.h>
#include <string.h>

typedef struct {
    float *old;  /* host memory, [steps + 1][images, rows, channels] */
    bool *fresh; /* [image_count] */
} edit_oracle;

static dit_status oracle_create(dit_sampler *s)
{
    void *memory;
    DIT_TRY(dit_arena_alloc(&s->rt->run, sizeof(edit_oracle), &memory));
    edit_oracle *o = s->executor_state = memory;
    DIT_TRY(dit_arena_alloc(&s->rt->run, s->partition.image_count * (int64_t)sizeof *o->fresh, &memory));
    o->fresh = memory;
    return dit_arena_host(&s->rt->image, (s->scheduler->steps + 1) * s->elements, &o->old);
}

/* Returns how far token `token` of an image lies from the old run's before step `step`. */
static double distance(const dit_sampler *s, int step, int64_t image, int64_t token)
{
    const edit_oracle *o = s->executor_state;
    int64_t at = (image * s->partition.image_count + token) * s->channels;
    double sum = 0;
    for (int64_t i = at; i < at + s->channels; i++) sum += fabs((double)s->latents[i] - o->old[step * s->elements + i]);
    return sum;
}

/* Marks the rows of a picture that lie next to a changed token, or hold one. */
static void mark(const dit_sampler *s, int step)
{
    edit_oracle *o = s->executor_state;
    int64_t width = s->rt->facts.latent.width / s->rt->facts.latent.patch, tokens = s->partition.image_count;
    memset(o->fresh, 0, (size_t)tokens * sizeof *o->fresh);
    for (int64_t image = 0; image < s->partition.images; image++) {
        double largest = 0;
        for (int64_t t = 0; t < tokens; t++) largest = fmax(largest, distance(s, step, image, t));
        for (int64_t t = 0; t < tokens; t++)
            for (int64_t other = (t / width - 1) * width; other < (t / width + 2) * width; other++)
                if (other >= 0 && other < tokens && distance(s, step, image, t) > s->edit->threshold * largest)
                    o->fresh[other] = true;
    }
}

/* Returns the rows from the first marked one to the last: the executor computes one window. */
static dit_range window_of(const dit_sampler *s)
{
    const edit_oracle *o = s->executor_state;
    int64_t first = 0, last = s->partition.image_count - 1;
    while (first <= last && !o->fresh[first]) first++;
    while (last >= first && !o->fresh[last]) last--;
    dit_range rows = {first, last + 1 - first};
    bool all = (double)rows.count > s->edit->dense_share * (double)s->partition.image_count;
    if (all) return (dit_range){0, s->partition.image_count};
    return rows.count ? rows : (dit_range){0, 0};
}

static dit_status overwrite(dit_sampler *s, dit_range rows, int step)
{
    const edit_oracle *o = s->executor_state;
    DIT_TRY(dit_runtime_download(s->rt, s->latents, s->elements));
    for (int64_t i = 0; i < s->elements && !s->rt->ledger.counting_only; i++) {
        int64_t row = i / s->channels % s->partition.image_count;
        if (row < rows.first || row >= rows.first + rows.count) s->latents[i] = o->old[step * s->elements + i];
    }
    return dit_runtime_upload(s->rt, s->latents, s->elements);
}

static dit_status forward(dit_sampler *s, int step)
{
    const dit_forward_args args = {.latents = s->input, .timestep = s->timestep, .output = s->output, .step = step};
    return dit_model_forward(s->model, &args);
}

static dit_status one_step(dit_sampler *s, int step, dit_edit_mode mode, const dit_condition *condition)
{
    dit_window all = dit_sampler_window(s, DIT_WINDOW_ALL, step);
    int64_t began;
    dit_sampler_begin_step(s, step, &began);
    for (int i = 0; i < DIT_MODEL_POLICIES; i++)
        if (s->model->attention[i]) dit_attention_edit(s->model->attention[i], mode, s->edit_log.rows);
    DIT_TRY(dit_sampler_fill_input(s, &all, step, condition));
    DIT_TRY(forward(s, step));
    DIT_TRY(dit_sampler_advance(s, &all, step));
    if (mode == DIT_EDIT_TAKE) DIT_TRY(overwrite(s, s->edit_log.rows, step + 1));
    return dit_sampler_end_step(s, step, began, true);
}

static dit_status keep(dit_sampler *s, int step)
{
    edit_oracle *o = s->executor_state;
    DIT_TRY(dit_runtime_download(s->rt, s->latents, s->elements));
    if (!s->rt->ledger.counting_only)
        memcpy(o->old + step * s->elements, s->latents, (size_t)s->elements * sizeof *o->old);
    return DIT_OK;
}

static dit_status oracle_run(dit_sampler *s, const dit_condition *condition)
{
    bool whole = true;
    for (int step = 0; step < s->scheduler->steps; step++) {
        if (s->keeps) DIT_TRY(keep(s, step));
        if (!s->keeps && step == s->edit->dense_steps && !s->rt->ledger.counting_only) {
            DIT_TRY(dit_runtime_download(s->rt, s->latents, s->elements));
            mark(s, step);
            s->edit_log = (dit_edit_log){.rows = window_of(s)};
            whole = s->edit_log.rows.count == s->partition.image_count;
        }
        dit_edit_mode mode = s->keeps ? DIT_EDIT_KEEP : whole ? DIT_EDIT_PLAIN : DIT_EDIT_TAKE;
        DIT_TRY(one_step(s, step, mode, condition));
    }
    return s->keeps ? keep(s, s->scheduler->steps) : DIT_OK;
}

const dit_executor dit_executor_edit_oracle = {.name = "edit-oracle", .create = oracle_create, .run = oracle_run};
