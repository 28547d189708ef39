/* Output oracle: computes on one rank what a run must give whose cache reuses outputs of whole forwards. Every step is
 * computed whole; the output comes to the host, where it is kept, or replaced by what the policy's formula makes of the
 * latents and outputs of earlier steps, in double. Rules and memory are its own: it shares nothing with engine/cache/.
 * Data ranks decide for their own images alone: each has a group here. */
#include "engine/sampling/executor.h"

#include <math.h>
#include <string.h>

enum { KEPT = 3 }; /* the newest computed steps */

/* What ranks of one data coordinate decide together: a share of the images. */
typedef struct {
    int step[KEPT], count; /* of the group's computed steps, the newest first */
    double sum;            /* since the newest one                            */
    dit_cache_log log;
} decided;

typedef struct {
    float *latents, *output, *before;              /* of this step; latents of the one before   */
    float *old_latents[KEPT], *old_output[KEPT];   /* of computed steps, the newest first       */
    int64_t batch, rows, channels, images, groups; /* arrays [batch, rows, channels]            */
    decided *group;                                /* [groups]                                  */
} output_oracle;

static dit_status output_oracle_create(dit_sampler *s)
{
    const dit_partition *part = &s->partition;
    void *memory;
    DIT_TRY(dit_arena_alloc(&s->rt->run, sizeof(output_oracle), &memory));
    output_oracle *o = s->executor_state = memory;
    *o = (output_oracle){.batch = part->batch,
                         .rows = part->image_count,
                         .channels = s->channels,
                         .images = part->images,
                         .groups = s->emulated_groups};
    DIT_TRY(dit_arena_alloc(&s->rt->run, o->groups * (int64_t)sizeof *o->group, &memory));
    o->group = memory;
    float **const arrays[] = {&o->latents,        &o->output,         &o->before,
                              &o->old_latents[0], &o->old_latents[1], &o->old_latents[2],
                              &o->old_output[0],  &o->old_output[1],  &o->old_output[2]};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        DIT_TRY(dit_arena_host(&s->rt->image, o->batch * o->rows * o->channels, arrays[i]));
    return DIT_OK;
}

/* Finds the group's next entry of the batch, from *entry on; false after the last. Entries are image after image, branch
 * after branch. */
static bool next_entry(const output_oracle *o, int64_t group, int64_t *entry)
{
    for (; *entry < o->batch; ++*entry)
        if (*entry % o->images / (o->images / o->groups) == group) return true;
    return false;
}

/* Adds up |a - b| over the group's entries of the last branch; b NULL: |a|. */
static double sum_of(const output_oracle *o, int64_t group, const float *a, const float *b)
{
    int64_t elements = o->rows * o->channels;
    double sum = 0;
    for (int64_t entry = o->batch - o->images; next_entry(o, group, &entry); entry++)
        for (int64_t i = entry * elements; i < (entry + 1) * elements; i++)
            sum += fabs((double)a[i] - (b ? (double)b[i] : 0));
    return sum;
}

/* ---- the rules, once more ---------------------------------------------------------------------------------------- */

static int hits_in_a_row(const decided *d, int step)
{
    int row = 0;
    while (row < step && d->log.reasons[step - 1 - row] == DIT_CACHE_HIT) row++;
    return row;
}

static bool must_compute(const decided *d, const dit_cache *c, int step)
{
    if (step < c->warmup || d->count < 2 || step == d->log.steps - 1) return true;
    if (c->force[0] && c->force[step] == '1') return true;
    if (c->max_hits > 0 && d->log.hits >= c->max_hits) return true;
    return c->max_consecutive > 0 && hits_in_a_row(d, step) >= c->max_consecutive;
}

static bool decides_hit(output_oracle *o, const dit_cache *c, int64_t group, int step)
{
    decided *d = &o->group[group];
    if (c->replay[0]) return c->replay[step] == '0';
    if (must_compute(d, c, step)) return false;
    double answer = sum_of(o, group, o->old_output[0], o->old_output[1]);
    double asked = sum_of(o, group, o->old_latents[0], o->old_latents[1]);
    double moved = sum_of(o, group, o->latents, o->before), size = sum_of(o, group, o->old_output[0], NULL);
    double value = d->sum + answer / asked * moved / size;
    d->log.values[step] = value;
    d->log.tests++;
    return c->threshold > 0 && value < c->threshold;
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

/* Takes a step that computes for the newest one. */
static void remember(output_oracle *o, int64_t group, int step)
{
    decided *d = &o->group[group];
    int64_t elements = o->rows * o->channels;
    size_t bytes = (size_t)elements * sizeof(float);
    for (int64_t entry = 0; next_entry(o, group, &entry); entry++) {
        int64_t at = entry * elements;
        for (int i = KEPT - 1; i > 0; i--) {
            memcpy(o->old_latents[i] + at, o->old_latents[i - 1] + at, bytes);
            memcpy(o->old_output[i] + at, o->old_output[i - 1] + at, bytes);
        }
        memcpy(o->old_latents[0] + at, o->latents + at, bytes);
        memcpy(o->old_output[0] + at, o->output + at, bytes);
    }
    for (int i = KEPT - 1; i > 0; i--) d->step[i] = d->step[i - 1];
    d->step[0] = step;
    if (d->count < KEPT) d->count++;
}

/* Returns what the forward made of latents in the i-th computed step. */
static double made(const output_oracle *o, int i, int64_t at)
{
    return (double)o->old_output[i][at] - (double)o->old_latents[i][at];
}

/* Returns what it is taken to make of them now: the Taylor polynomial through the newest computed steps. */
static double continued(const output_oracle *o, const dit_cache *c, const decided *d, int step, int64_t at)
{
    double ahead = step - d->step[0], value = made(o, 0, at), weight = c->forecast == DIT_FORECAST_LINE ? c->weight : 1;
    if (c->order < 1 || d->count < 2) return value;
    double gap = d->step[0] - d->step[1], slope = (value - made(o, 1, at)) / gap;
    value += weight * ahead * slope;
    if (c->order < 2 || d->count < 3) return value;
    double before = (made(o, 1, at) - made(o, 2, at)) / (d->step[1] - d->step[2]);
    return value + ahead * ahead / 2 * (slope - before) / gap;
}

static void replace(output_oracle *o, const dit_cache *c, int64_t group, int step)
{
    int64_t elements = o->rows * o->channels;
    for (int64_t entry = 0; next_entry(o, group, &entry); entry++)
        for (int64_t at = entry * elements; at < (entry + 1) * elements; at++)
            o->output[at] = (float)((double)o->latents[at] + continued(o, c, &o->group[group], step, at));
}

static void decide_for(output_oracle *o, const dit_cache *c, int64_t group, int step)
{
    decided *d = &o->group[group];
    d->log.values[step] = DIT_CACHE_UNTESTED;
    bool hit = decides_hit(o, c, group, step);
    if (hit)
        replace(o, c, group, step);
    else
        remember(o, group, step);
    d->sum = hit && d->log.values[step] != DIT_CACHE_UNTESTED ? d->log.values[step] : 0;
    d->log.reasons[step] = hit ? DIT_CACHE_HIT : 'm';
    d->log.hits += hit;
}

/* Copies the latent's channels between rows that are `width` floats apart and dense ones. */
static void copy_channels(const output_oracle *o, float *wide, int64_t width, float *dense, bool back)
{
    for (int64_t row = 0; row < o->batch * o->rows; row++) {
        float *a = wide + row * width, *b = dense + row * o->channels;
        memcpy(back ? a : b, back ? b : a, (size_t)o->channels * sizeof *a);
    }
}

static dit_status forward(dit_sampler *s, int step)
{
    output_oracle *o = s->executor_state;
    const dit_forward_args args = {.latents = s->input, .timestep = s->timestep, .output = s->output, .step = step};
    int64_t in = s->model->input_channels, out = s->model->output_channels, rows = o->batch * o->rows;
    DIT_TRY(dit_model_forward(s->model, &args));
    DIT_TRY(dit_runtime_download(s->rt, s->input, rows * in));
    DIT_TRY(dit_runtime_download(s->rt, s->output, rows * out));
    if (s->rt->ledger.counting_only) return DIT_OK;
    copy_channels(o, s->input, in, o->latents, false);
    copy_channels(o, s->output, out, o->output, false);
    for (int64_t group = 0; group < o->groups; group++) decide_for(o, s->emulates_cache, group, step);
    memcpy(o->before, o->latents, (size_t)(rows * o->channels) * sizeof *o->before);
    copy_channels(o, s->output, out, o->output, true);
    return dit_runtime_upload(s->rt, s->output, rows * out);
}

static dit_status output_oracle_run(dit_sampler *s, const dit_condition *condition)
{
    output_oracle *o = s->executor_state;
    for (int64_t group = 0; group < o->groups; group++)
        o->group[group] = (decided){.log = {.steps = s->scheduler->steps}};
    return dit_sampler_each_step(s, condition, forward);
}

static const dit_cache_log *output_oracle_log(const dit_sampler *s, int group)
{
    const output_oracle *o = s->executor_state;
    return &o->group[group].log;
}

const dit_executor dit_executor_output_oracle = {
    .name = "output-oracle", .create = output_oracle_create, .run = output_oracle_run, .cache_log = output_oracle_log};
