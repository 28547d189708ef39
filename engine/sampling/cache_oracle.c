/* Cache oracle: computes on one rank what a cached run must give. It runs all blocks in every step, whole, keeps streams
 * in memory of its own, decides by the policies' formulas written down once more, over sums in double, and on a hit puts
 * the reused stream in place. It shares neither the parts of a forward nor the state nor the rules of engine/cache/ and
 * base/cache.c with what it checks. */
#include "engine/sampling/executor.h"

#include <math.h>
#include <string.h>

typedef struct {
    float *begin, *first,
        *middle;      /* the stream of this step: after embed, after the first blocks, after the middle ones */
    float *reference; /* image rows count: first - begin in the last computed step */
    float *added[1 + DIT_CACHE_MAX_ORDER]; /* what the middle blocks added, and its differences  */
    int orders;                            /* how many of them there are; 0: none                */
    int64_t elements;                      /* of the stream                                      */
    dit_cache_log log;
} cache_oracle;

static dit_status cache_oracle_create(dit_sampler *s)
{
    const dit_partition *part = &s->partition;
    int64_t text = s->rt->facts.joint ? part->text_count : 0;
    void *memory;
    DIT_TRY(dit_arena_alloc(&s->rt->run, sizeof(cache_oracle), &memory));
    cache_oracle *o = s->executor_state = memory;
    *o = (cache_oracle){.elements = part->batch * (text + part->image_count) * s->model->width};
    float **const arrays[] = {&o->begin,    &o->first,    &o->middle,  &o->reference,
                              &o->added[0], &o->added[1], &o->added[2]};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        DIT_TRY(dit_arena_host(&s->rt->image, o->elements, arrays[i]));
    return DIT_OK;
}

/* ---- the rules, once more ---------------------------------------------------------------------------------------- */

/* Counts the hits of steps [from, step), and where they end in a run, how long it is. */
static int count_hits(const cache_oracle *o, int step)
{
    int hits = 0;
    for (int i = 0; i < step; i++) hits += o->log.reasons[i] == DIT_CACHE_HIT;
    return hits;
}

static int hits_in_a_row(const cache_oracle *o, int step)
{
    int row = 0;
    while (row < step && o->log.reasons[step - 1 - row] == DIT_CACHE_HIT) row++;
    return row;
}

/* How far the ratios have drifted since the last computed step, this one included. */
static double drift(const cache_oracle *o, const dit_cache *c, int step)
{
    double product = 1, sum = 0;
    int from = step - hits_in_a_row(o, step), early = (int)(c->retention * o->log.steps + 0.5);
    for (int i = from > early ? from : early; i <= step; i++) {
        double position = (double)i / (o->log.steps - 1) * (c->ratio_count - 1);
        product *= c->ratios[(int)nearbyint(position)];
        sum += fabs(1 - product);
    }
    return sum;
}

static double sum_of(const dit_sampler *s, const float *a, const float *b, bool absolute)
{
    const dit_partition *part = &s->partition;
    int64_t width = s->model->width, text = s->rt->facts.joint ? part->text_count : 0, rows = text + part->image_count;
    double sum = 0;
    for (int64_t i = 0; i < part->batch * rows; i++)
        for (int64_t c = 0; c < width && i % rows >= text; c++)
            sum += fabs(absolute ? (double)b[i * width + c] : (double)a[i * width + c] - (double)b[i * width + c]);
    return sum;
}

/* Sets o->reference's rival, first - begin, in o->begin. */
static void subtract_begin(cache_oracle *o)
{
    for (int64_t i = 0; i < o->elements; i++) o->begin[i] = o->first[i] - o->begin[i];
}

static bool must_compute(const cache_oracle *o, const dit_cache *c, int step)
{
    if (step == 0 || step < c->warmup) return true;
    if (c->force[0] && c->force[step] == '1') return true;
    if (c->mask[0] && c->mask[step] == '1') return true;
    if (c->policy == DIT_CACHE_INTERVAL && (step % c->interval == 0 || step + 1 == o->log.steps)) return true;
    if (c->policy == DIT_CACHE_MAGCACHE && step < (int)(c->retention * o->log.steps + 0.5)) return true;
    if (c->max_hits > 0 && count_hits(o, step) >= c->max_hits) return true;
    return c->max_consecutive > 0 && hits_in_a_row(o, step) >= c->max_consecutive;
}

/* Decides for a step whose streams are there. */
static bool decides_hit(const dit_sampler *s, cache_oracle *o, int step)
{
    const dit_cache *c = s->emulates_cache;
    bool measured = c->policy == DIT_CACHE_FBCACHE || c->policy == DIT_CACHE_DBCACHE;
    if (c->replay[0]) return c->replay[step] == '0';
    if (must_compute(o, c, step)) return false;
    if (c->policy == DIT_CACHE_MAGCACHE) return c->threshold > 0 && drift(o, c, step) <= c->threshold;
    if (!measured || c->mask_is_static) return true;
    double size = sum_of(s, NULL, o->reference, true);
    o->log.values[step] = size > 0 ? sum_of(s, o->begin, o->reference, false) / size : 0;
    o->log.tests++;
    return o->log.values[step] < c->threshold;
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

static dit_status keep_stream(const dit_sampler *s, const cache_oracle *o, float *out)
{
    DIT_TRY(dit_runtime_download(s->rt, s->model->stream, o->elements));
    memcpy(out, s->model->stream, (size_t)o->elements * sizeof *out);
    return DIT_OK;
}

/* What a step that computes leaves for later ones: added[i + 1] = (added[i] - its value before) / steps between. */
static void keep_added(const dit_sampler *s, cache_oracle *o, int step)
{
    int gap = hits_in_a_row(o, step) + 1, orders = o->orders < 1 + s->emulates_cache->order ? o->orders + 1 : o->orders;
    for (int64_t i = 0; i < o->elements; i++) {
        double value = (double)o->middle[i] - (double)o->first[i];
        for (int order = 0; order < orders; order++) {
            double before = o->added[order][i];
            o->added[order][i] = (float)value;
            value = (value - before) / gap;
        }
        o->reference[i] = o->begin[i];
    }
    o->orders = orders;
}

/* Puts first + what is forecast into the stream. Text rows keep the first blocks' value where no block reads them. */
static dit_status put_reused(const dit_sampler *s, const cache_oracle *o, int step)
{
    const dit_cache *c = s->emulates_cache;
    int ahead = hits_in_a_row(o, step) + 1;
    for (int64_t i = 0; i < o->elements; i++) {
        double value = o->first[i];
        for (int order = 0; order < o->orders; order++) {
            double weight = order == 0 ? 1 : order == 1 ? ahead : ahead * ahead / 2.0;
            if (order == 1 && c->forecast == DIT_FORECAST_LINE) weight *= c->weight;
            value += weight * (double)o->added[order][i];
        }
        s->model->stream[i] = (float)value;
    }
    return dit_runtime_upload(s->rt, s->model->stream, o->elements);
}

static dit_status forward(dit_sampler *s, int step)
{
    cache_oracle *o = s->executor_state;
    const dit_cache *c = s->emulates_cache;
    int64_t layers = s->rt->facts.layers;
    dit_window whole = dit_model_whole(s->model, step);
    dit_model_set_window(s->model, &whole);
    DIT_TRY(dit_model_begin(s->model, s->timestep));
    DIT_TRY(dit_model_embed(s->model, s->input));
    DIT_TRY(keep_stream(s, o, o->begin));
    DIT_TRY(dit_model_some_blocks(s->model, 0, c->first));
    DIT_TRY(keep_stream(s, o, o->first));
    DIT_TRY(dit_model_some_blocks(s->model, c->first, layers - c->first - c->last));
    DIT_TRY(keep_stream(s, o, o->middle));
    subtract_begin(o);
    o->log.values[step] = -1;
    bool hit = decides_hit(s, o, step);
    if (hit) DIT_TRY(put_reused(s, o, step));
    if (!hit) keep_added(s, o, step);
    o->log.reasons[step] = hit ? DIT_CACHE_HIT : 'm';
    o->log.hits += hit;
    DIT_TRY(dit_model_some_blocks(s->model, layers - c->last, c->last));
    return dit_model_head(s->model, s->output);
}

static dit_status cache_oracle_run(dit_sampler *s, const dit_condition *condition)
{
    cache_oracle *o = s->executor_state;
    o->orders = 0;
    o->log = (dit_cache_log){.steps = s->scheduler->steps};
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

const dit_cache_log *dit_cache_oracle_log(const dit_sampler *s)
{
    return s->emulates_cache ? &((const cache_oracle *)s->executor_state)->log : NULL;
}

static bool cache_oracle_serves(const dit_runtime *rt, const dit_parallel *emulates)
{
    (void)rt, (void)emulates;
    return false; /* the case asks for it, and no mesh */
}

const dit_executor dit_executor_cache_oracle = {
    .name = "cache-oracle", .serves = cache_oracle_serves, .create = cache_oracle_create, .run = cache_oracle_run};
