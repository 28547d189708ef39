/* Cache oracle: computes on one rank what a cached run must give. It runs all blocks in every step, whole, keeps streams
 * in memory of its own, decides by the policies' formulas written down once more, over sums in double, and on a hit puts
 * the reused stream in place. It calls the model's pieces, and shares neither the parts of a forward nor the state nor
 * the rules of engine/cache/ and base/cache.c with what it checks. Data ranks decide for their own images alone: each has a
 * group here. Beside an emulated pipeline or patches a group is a band or a patch: its forwards keep and reuse whole streams
 * of its own, of which the rows of others are dropped. */
#include "engine/sampling/cache_oracle.h"

#include "engine/sampling/executor.h"

#include <math.h>
#include <string.h>

/* What ranks of one data coordinate decide together, a share of the images; or a band, or a patch. */
typedef struct {
    int orders; /* how many of `added` there are; 0: none */
    double sum; /* of teacache, since the last computed step */
    int row;    /* hits in a row, as cache-dit counts them    */
    dit_cache_log log;
    float
        *added[1 + DIT_CACHE_MAX_ORDER]; /* what the middle blocks added, and its differences: the streams of all shares
                                              of the images together, those of each band apart */
} decided;

struct dit_cache_oracle {
    dit_sampler *sampler;
    dit_oracle *stale;                /* NULL: K and V are of the step                                             */
    float *first, *middle;            /* the stream of this step, after the first blocks and after the middle ones */
    float *value, *reference;         /* what a test compares: of this step, and of an earlier one */
    float *input;                     /* [batch, image rows, width] on the device: of teacache     */
    int64_t batch, rows, text, width; /* of the stream, [batch, rows, width], text rows first */
    int64_t groups, images;           /* images: of all groups                              */
    int64_t branches;                 /* that decide apart; 1: they decide together         */
    decided *group;                   /* [groups]                                           */
};

/* Takes what the middle blocks added: of each group, where they have streams of their own, or once. */
static dit_status take_added(dit_cache_oracle *o)
{
    dit_sampler *s = o->sampler;
    for (int64_t group = 0; group < o->groups; group++)
        for (int order = 0; order <= s->emulates_cache->order; order++) {
            float **added = &o->group[group].added[order];
            if (group > 0 && !o->stale)
                *added = o->group[0].added[order];
            else
                DIT_TRY(dit_arena_host(&s->rt->image, o->batch * o->rows * o->width, added));
        }
    return DIT_OK;
}

dit_status dit_cache_oracle_create(dit_sampler *s, dit_oracle *stale, dit_cache_oracle **out)
{
    const dit_partition *part = &s->partition;
    int64_t text = s->rt->facts.joint ? part->text_count : 0;
    void *memory;
    DIT_TRY(dit_arena_alloc(&s->rt->run, sizeof(dit_cache_oracle), &memory));
    dit_cache_oracle *o = *out = memory;
    *o = (dit_cache_oracle){.sampler = s,
                            .stale = stale,
                            .batch = part->batch,
                            .rows = text + part->image_count,
                            .text = text,
                            .width = s->model->width,
                            .groups = stale ? stale->groups : s->emulated_groups,
                            .branches = s->emulates_cache->separate ? s->rt->facts.guidance_branches : 1,
                            .images = part->images};
    DIT_TRY(dit_arena_alloc(&s->rt->run, o->groups * (int64_t)sizeof *o->group, &memory));
    o->group = memory;
    float **const arrays[] = {&o->value, &o->first, &o->middle, &o->reference}; /* an embedding is shorter */
    for (int i = 0; i < 4; i++) DIT_TRY(dit_arena_host(&s->rt->image, o->batch * o->rows * o->width, arrays[i]));
    DIT_TRY(take_added(o));
    if (s->emulates_cache->policy != DIT_CACHE_TEACACHE) return DIT_OK;
    return dit_arena_activations(&s->rt->step, o->batch * part->image_count * o->width, &o->input);
}

/* Returns the group of an entry of the batch; entries are image after image, branch after branch. */
static int64_t group_of(const dit_cache_oracle *o, int64_t entry)
{
    int64_t data = entry % o->images / (o->images / (o->groups / o->branches));
    return data * o->branches + (o->branches > 1 ? entry / o->images : 0);
}

/* Finds the group's next row of the stream, from *row on; false after the last. A band or a patch has a whole stream. */
static bool next_row(const dit_cache_oracle *o, int group, int64_t *row)
{
    for (; *row < o->batch * o->rows; ++*row)
        if (o->stale || group_of(o, *row / o->rows) == group) return true;
    return false;
}

/* ---- the rules, once more ---------------------------------------------------------------------------------------- */

/* Counts the hits just before a step. */
static int hits_in_a_row(const decided *d, int step)
{
    int row = 0;
    while (row < step && d->log.reasons[step - 1 - row] == DIT_CACHE_HIT) row++;
    return row;
}

/* How far the ratios have drifted since the last computed step, this one included. */
static double drift(const decided *d, const dit_cache *c, int step)
{
    double product = 1, sum = 0;
    int from = step - hits_in_a_row(d, step), early = (int)(c->retention * d->log.steps + 0.5);
    for (int i = from > early ? from : early; i <= step; i++) {
        double position = (double)(i * (c->ratio_count - 1)) / (d->log.steps - 1);
        product *= c->ratios[(int)nearbyint(position)];
        sum += fabs(1 - product);
    }
    return sum;
}

/* Of the timestep's embedding, of which all groups have the same. */
static bool by_time(const dit_cache_oracle *o)
{
    return o->sampler->emulates_cache->policy == DIT_CACHE_TEACACHE_TIME;
}

/* Adds up |a - b| over the group's image rows, or over the embedding; a NULL: |b|. */
static double sum_of(const dit_cache_oracle *o, int group, const float *a, const float *b)
{
    double sum = 0;
    if (by_time(o)) {
        for (int64_t i = 0; i < o->sampler->rt->facts.time_width; i++)
            sum += fabs(a ? (double)a[i] - (double)b[i] : (double)b[i]);
        return sum;
    }
    for (int64_t row = 0; next_row(o, group, &row); row++) {
        if (row % o->rows < o->text) continue;
        for (int64_t i = row * o->width; i < (row + 1) * o->width; i++)
            sum += fabs(a ? (double)a[i] - (double)b[i] : (double)b[i]);
    }
    return sum;
}

static double polynomial(const dit_cache *c, double x)
{
    double value = 0;
    for (int power = 0; power < DIT_CACHE_COEFFICIENTS; power++)
        value += c->coefficients[DIT_CACHE_COEFFICIENTS - 1 - power] * pow(x, power);
    return value;
}

/* cache-dit's count starts at 2 with the second hit of a row (the very first hit counts, too), and refusing sets it back. */
static bool at_limit(decided *d, const dit_cache *c, int step)
{
    if (c->max_consecutive <= 0) return false;
    if (c->variant != DIT_CACHE_CACHE_DIT) return hits_in_a_row(d, step) >= c->max_consecutive;
    if (d->row < c->max_consecutive) return false;
    d->row = 0;
    return true;
}

static void count_hit(decided *d, int step)
{
    if (d->log.hits == 0)
        d->row++;
    else if (d->log.reasons[step - 1] == DIT_CACHE_HIT)
        d->row += d->row ? 1 : 2;
}

static bool must_compute(decided *d, const dit_cache *c, int step)
{
    int apart = c->warmup_interval > 0 ? c->warmup_interval : 1;
    if (step == 0 || (step < c->warmup && step % apart == 0)) return true;
    if (c->force[0] && c->force[step] == '1') return true;
    if (c->mask[0] && c->mask[step] == '1') return true;
    if (c->policy == DIT_CACHE_INTERVAL && (step % c->interval == 0 || step + 1 == d->log.steps)) return true;
    if (c->policy == DIT_CACHE_DELTA && (step % c->interval == 0 || step == c->cut || step + 1 == d->log.steps))
        return true;
    bool polynomial = c->policy == DIT_CACHE_TEACACHE || c->policy == DIT_CACHE_TEACACHE_TIME;
    if (polynomial && step + 1 == d->log.steps) return true;
    if (c->policy == DIT_CACHE_MAGCACHE && step < (int)(c->retention * d->log.steps + 0.5)) return true;
    if (c->max_hits > 0 && d->log.hits >= c->max_hits) return true;
    return at_limit(d, c, step);
}

/* Decides for a step whose streams are there; `begin` holds first - begin by now. */
static bool decides_hit(const dit_cache_oracle *o, const dit_cache *c, int group, int step)
{
    decided *d = &o->group[group];
    bool schedule = c->policy == DIT_CACHE_MASK || c->policy == DIT_CACHE_INTERVAL || c->policy == DIT_CACHE_DELTA ||
                    c->mask_is_static;
    if (c->replay[0]) return c->replay[step] == '0';
    if (must_compute(d, c, step)) return false;
    if (c->policy == DIT_CACHE_MAGCACHE) return c->threshold > 0 && drift(d, c, step) <= c->threshold;
    if (schedule) return true;
    double size = sum_of(o, group, NULL, o->reference);
    double value = size > 0 ? sum_of(o, group, o->value, o->reference) / size : 0;
    if (c->policy == DIT_CACHE_TEACACHE || by_time(o)) value = d->sum + polynomial(c, value);
    d->log.values[step] = value;
    d->log.tests++;
    if (c->variant == DIT_CACHE_DIFFUSERS) return !(value > c->threshold);
    return c->threshold > 0 && value < c->threshold;
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

static dit_status keep_stream(const dit_cache_oracle *o, float *out)
{
    const dit_sampler *s = o->sampler;
    int64_t elements = o->batch * o->rows * o->width;
    DIT_TRY(dit_runtime_download(s->rt, s->model->stream, elements));
    if (!s->rt->ledger.counting_only) memcpy(out, s->model->stream, (size_t)elements * sizeof *out);
    return DIT_OK;
}

/* Takes what block 0 gives its attention to the image rows of `value`. */
static dit_status take_input(const dit_cache_oracle *o)
{
    const dit_sampler *s = o->sampler;
    int64_t image = o->rows - o->text;
    DIT_TRY(dit_model_attention_input(s->model, o->input));
    DIT_TRY(dit_runtime_download(s->rt, o->input, o->batch * image * o->width));
    for (int64_t b = 0; b < o->batch && !s->rt->ledger.counting_only; b++)
        memcpy(o->value + (b * o->rows + o->text) * o->width, o->input + b * image * o->width,
               (size_t)(image * o->width) * sizeof *o->value);
    return DIT_OK;
}

/* Takes the first entry's embedding of the timestep to `value`. */
static dit_status take_embedding(const dit_cache_oracle *o)
{
    const dit_sampler *s = o->sampler;
    int64_t width = s->rt->facts.time_width;
    DIT_TRY(dit_runtime_download(s->rt, s->model->time_embedding, width));
    if (!s->rt->ledger.counting_only) memcpy(o->value, s->model->time_embedding, (size_t)width * sizeof *o->value);
    return DIT_OK;
}

/* What a step that computes leaves for later ones: added[i + 1] = (added[i] - its value before) / steps between. */
static void keep_added(const dit_cache_oracle *o, const dit_cache *c, int group, int step)
{
    decided *d = &o->group[group];
    int gap = hits_in_a_row(d, step) + 1, orders = d->orders < 1 + c->order ? d->orders + 1 : d->orders;
    for (int64_t row = 0; next_row(o, group, &row); row++) {
        for (int64_t i = row * o->width; i < (row + 1) * o->width; i++) {
            double value = (double)o->middle[i] - (double)o->first[i];
            for (int order = 0; order < orders; order++) {
                double before = d->added[order][i];
                d->added[order][i] = (float)value;
                value = (value - before) / gap;
            }
        }
    }
    d->orders = orders;
}

/* What the next steps are compared with. */
static void keep_value(const dit_cache_oracle *o, int group)
{
    for (int64_t row = 0; next_row(o, group, &row); row++)
        memcpy(o->reference + row * o->width, o->value + row * o->width, (size_t)o->width * sizeof *o->value);
}

/* Returns first + what is forecast `ahead` steps after the last computed one. */
static float forecast(const dit_cache_oracle *o, const decided *d, int ahead, int64_t i)
{
    const dit_cache *c = o->sampler->emulates_cache;
    double value = o->first[i];
    for (int order = 0; order < d->orders; order++) {
        double weight = order == 0 ? 1 : order == 1 ? ahead : ahead * ahead / 2.0;
        if (order == 1 && c->forecast == DIT_FORECAST_LINE) weight *= c->weight;
        value += weight * (double)d->added[order][i];
    }
    return (float)value;
}

static void put_reused(const dit_cache_oracle *o, int group, int step, float *stream)
{
    const decided *d = &o->group[group];
    bool xdit = o->sampler->emulates_cache->variant == DIT_CACHE_XDIT;
    int ahead = hits_in_a_row(d, step) + 1;
    for (int64_t row = 0; next_row(o, group, &row); row++)
        for (int64_t i = row * o->width; i < (row + 1) * o->width; i++) {
            stream[i] = forecast(o, d, ahead, i);
            if (xdit) stream[i] -= o->value[i]; /* upon what the first block got */
        }
}

/* Puts the reused stream in place where a group decides to; o->middle holds the computed one. */
static void decide_for(const dit_cache_oracle *o, const dit_cache *c, int group, int step, float *stream)
{
    dit_cache_log *log = &o->group[group].log;
    log->values[step] = DIT_CACHE_UNTESTED;
    bool hit = decides_hit(o, c, group, step);
    if (hit)
        put_reused(o, group, step, stream);
    else
        keep_added(o, c, group, step);
    if (hit) count_hit(&o->group[group], step);
    bool before_computed = step == 0 || log->reasons[step - 1] != DIT_CACHE_HIT;
    bool refers = c->variant == DIT_CACHE_XDIT ? before_computed : !hit || c->policy == DIT_CACHE_TEACACHE;
    if (refers && !by_time(o)) keep_value(o, group);
    o->group[group].sum = hit && log->values[step] != DIT_CACHE_UNTESTED ? log->values[step] : 0;
    log->reasons[step] = hit ? DIT_CACHE_HIT : 'm';
    log->hits += hit;
}

/* Decides for every group that the forward is about, and has in the stream what goes on. */
static void decide(const dit_cache_oracle *o, int step)
{
    const dit_sampler *s = o->sampler;
    int64_t elements = o->batch * o->rows * o->width;
    for (int64_t i = 0; i < elements && !o->input && !by_time(o); i++) o->value[i] = o->first[i] - o->value[i];
    for (int group = 0; group < o->groups; group++)
        if (!o->stale || o->stale->group == DIT_ORACLE_ALL || o->stale->group == group)
            decide_for(o, s->emulates_cache, group, step, s->model->stream);
    if (by_time(o)) memcpy(o->reference, o->value, (size_t)s->rt->facts.time_width * sizeof *o->value);
}

/* Returns the blocks that a step may reuse. */
static dit_range middle_of(const dit_cache_oracle *o, int step)
{
    const dit_cache *c = o->sampler->emulates_cache;
    int64_t layers = o->sampler->rt->facts.layers, first = c->first, last = c->last;
    if (c->policy == DIT_CACHE_DELTA && step < c->cut) first = layers - c->blocks; /* the rear ones are reused */
    if (c->policy == DIT_CACHE_DELTA && step >= c->cut) last = layers - c->blocks;
    return (dit_range){first, layers - first - last};
}

/* Runs the middle blocks. Beside stale K and V, those of a step that will reuse are dropped. */
static dit_status run_middle(const dit_cache_oracle *o, dit_range middle, int step)
{
    const dit_sampler *s = o->sampler;
    const dit_cache *c = s->emulates_cache;
    if (!o->stale) return dit_model_some_blocks(s->model, middle.first, middle.count);
    int group = o->stale->group == DIT_ORACLE_ALL ? 0 : o->stale->group;
    o->stale->kind = DIT_ORACLE_COMPUTED_STEPS;
    o->stale->forgets = decides_hit(o, c, group, step);
    dit_status st = dit_model_some_blocks(s->model, middle.first, middle.count);
    o->stale->kind = DIT_ORACLE_EVERY_STEP;
    o->stale->forgets = false;
    return st;
}

dit_status dit_cache_oracle_forward(dit_cache_oracle *o, const dit_forward_args *args)
{
    const dit_sampler *s = o->sampler;
    const dit_range middle = middle_of(o, args->step);
    int64_t end = middle.first + middle.count;
    dit_window whole = dit_model_whole(s->model, args->step);
    dit_model_set_window(s->model, &whole);
    DIT_TRY(dit_model_begin(s->model, args->timestep));
    DIT_TRY(dit_model_embed(s->model, args->latents));
    if (o->input) DIT_TRY(take_input(o));
    if (by_time(o)) DIT_TRY(take_embedding(o));
    if (!o->input && !by_time(o)) DIT_TRY(keep_stream(o, o->value));
    DIT_TRY(dit_model_some_blocks(s->model, 0, middle.first));
    DIT_TRY(keep_stream(o, o->first));
    DIT_TRY(run_middle(o, middle, args->step));
    DIT_TRY(keep_stream(o, o->middle));
    if (!s->rt->ledger.counting_only) decide(o, args->step);
    DIT_TRY(dit_runtime_upload(s->rt, s->model->stream, o->batch * o->rows * o->width));
    DIT_TRY(dit_model_some_blocks(s->model, end, s->rt->facts.layers - end));
    return dit_model_head(s->model, args->output);
}

void dit_cache_oracle_begin(dit_cache_oracle *o)
{
    for (int64_t group = 0; group < o->groups; group++) {
        decided *d = &o->group[group];
        d->orders = 0, d->sum = 0, d->row = 0;
        d->log = (dit_cache_log){.steps = o->sampler->scheduler->steps};
    }
}

bool dit_cache_oracle_computed(const dit_cache_oracle *o, int step)
{
    return o->group[0].log.reasons[step] != DIT_CACHE_HIT;
}

/* ---- alone ------------------------------------------------------------------------------------------------------- */

static dit_status cache_oracle_create(dit_sampler *s)
{
    dit_cache_oracle *o;
    DIT_TRY(dit_cache_oracle_create(s, NULL, &o));
    s->executor_state = o;
    return DIT_OK;
}

static dit_status forward(dit_sampler *s, int step)
{
    return dit_cache_oracle_forward(
        s->executor_state,
        &(dit_forward_args){.latents = s->input, .timestep = s->timestep, .output = s->output, .step = step});
}

static dit_status cache_oracle_run(dit_sampler *s, const dit_condition *condition)
{
    dit_cache_oracle *o = s->executor_state;
    dit_cache_oracle_begin(o);
    return dit_sampler_each_step(s, condition, forward);
}

const dit_cache_log *dit_cache_oracle_log(const dit_cache_oracle *o, int group)
{
    return &o->group[group].log;
}

static const dit_cache_log *cache_oracle_log(const dit_sampler *s, int group)
{
    return dit_cache_oracle_log(s->executor_state, group);
}

const dit_executor dit_executor_cache_oracle = {
    .name = "cache-oracle", .create = cache_oracle_create, .run = cache_oracle_run, .cache_log = cache_oracle_log};
