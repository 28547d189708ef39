/* Module oracle: computes on one rank what a run must give whose cache reuses modules. Every step computes all modules of
 * all blocks; each output comes to the host, where it is kept, or replaced by what the policy's formula makes of the
 * outputs of earlier steps, in double. Both guidance branches run in every step; branch_oracle.h replaces what the
 * negative one gives where a run leaves it out. Rules, memory and formulas are its own: it shares engine/models/modules.h with
 * engine/cache/, and nothing else. */
#include "engine/models/modules.h"
#include "engine/sampling/branch_oracle.h"
#include "engine/sampling/executor.h"

#include <string.h>

enum { OLDEST = 1 + DIT_CACHE_MAX_ORDER };

/* The newest computed outputs of one module, and the steps that computed them; of fastercache, those of the newest steps,
 * computed or not. */
typedef struct {
    float *output[OLDEST];
    int step[OLDEST], count;
    int seen; /* the newest step that had the module; -1: none */
} history;

typedef struct {
    struct dit_module_watch watch; /* first: models have its address                    */
    dit_sampler *sampler;
    history *histories;                /* [layers][DIT_MODULE_COUNT][MODULE_OUTPUTS]                   */
    float *output;                     /* of the module that runs; on the device                       */
    float *free;                       /* memory that no history has yet                               */
    int64_t left;                      /* floats of it                                                 */
    int step, since[DIT_MODULE_COUNT]; /* steps since each kind was computed              */
    bool reuses[DIT_MODULE_COUNT];
    dit_branch_oracle *branches;
    dit_cache_log log;
} module_oracle;

/* ---- what is kept ------------------------------------------------------------------------------------------------ */

static int64_t histories_of(const dit_sampler *s)
{
    return s->rt->facts.layers * DIT_MODULE_COUNT * MODULE_OUTPUTS;
}

/* Counts floats of all outputs of the model, and of the longest that there may be. */
static int64_t count_outputs(const dit_sampler *s, int64_t *longest)
{
    const dit_partition *part = &s->partition;
    const dit_block_run all = dit_facts_blocks(&s->rt->facts, 0, s->rt->facts.layers);
    int64_t text = s->rt->facts.joint ? part->text_count : 0, rows = 0;
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++) {
        const dit_module_parts *parts = &all.modules[kind];
        rows += parts->image * part->image_count + parts->text * text + parts->both * (part->image_count + text);
    }
    *longest = part->batch * (part->image_count + text) * s->model->width;
    return part->batch * rows * s->model->width;
}

static dit_status module_oracle_create(dit_sampler *s)
{
    int64_t longest, all = count_outputs(s, &longest) * (1 + s->emulates_cache->order);
    void *memory;
    DIT_TRY(dit_arena_alloc(&s->rt->run, sizeof(module_oracle), &memory));
    module_oracle *o = s->executor_state = memory;
    *o = (module_oracle){.sampler = s, .left = all};
    DIT_TRY(dit_arena_alloc(&s->rt->run, histories_of(s) * (int64_t)sizeof *o->histories, &memory));
    o->histories = memory;
    for (int64_t i = 0; i < histories_of(s); i++) o->histories[i] = (history){0};
    DIT_TRY(dit_branch_oracle_create(s, &o->branches));
    DIT_TRY(dit_arena_host(&s->rt->image, all, &o->free));
    return dit_arena_activations(&s->rt->step, longest, &o->output);
}

/* Takes memory for a history that is seen for the first time. Errors: DIT_ERR_INTERNAL where more comes than was counted. */
static dit_status begin_history(module_oracle *o, history *h, int64_t elements)
{
    for (int i = 0; i <= o->sampler->emulates_cache->order; i++) {
        if (elements > o->left)
            return DIT_FAIL(DIT_ERR_INTERNAL, "modules have more outputs than the model's facts say");
        h->output[i] = o->free;
        o->free += elements, o->left -= elements;
    }
    return DIT_OK;
}

static void remember(const module_oracle *o, history *h, int64_t elements)
{
    int most = 1 + o->sampler->emulates_cache->order;
    float *oldest = h->output[most - 1];
    for (int i = most - 1; i > 0; i--) h->output[i] = h->output[i - 1], h->step[i] = h->step[i - 1];
    h->output[0] = oldest, h->step[0] = o->step;
    memcpy(oldest, o->output, (size_t)elements * sizeof *oldest);
    if (h->count < most) h->count++;
}

/* Returns the Taylor polynomial through the newest outputs: slopes between computed steps, and how the slope changed; of
 * fastercache, a step of its weight on from the newest output. */
static double continued(const dit_cache *c, const history *h, int step, int64_t i)
{
    double ahead = step - h->step[0], value = h->output[0][i];
    if (h->count < 2) return value;
    if (c->policy == DIT_CACHE_FASTERCACHE) return value + c->weight * (value - (double)h->output[1][i]);
    double gap = h->step[0] - h->step[1], slope = (value - (double)h->output[1][i]) / gap;
    if (h->count < 3) return value + ahead * slope;
    double before = ((double)h->output[1][i] - (double)h->output[2][i]) / (h->step[1] - h->step[2]);
    return value + ahead * slope + ahead * ahead / 2 * (slope - before) / gap;
}

/* ---- whoever watches --------------------------------------------------------------------------------------------- */

static float *place(struct dit_module_watch *watch, const module_at *at, int64_t elements)
{
    (void)at, (void)elements;
    return ((module_oracle *)(void *)watch)->output;
}

/* Of tgate: what both branches attended to, the mean. Entries of the negative one are the former half. */
static double mean_of_branches(const history *h, int64_t elements, int64_t i)
{
    int64_t half = elements / 2;
    return ((double)h->output[0][i % half] + (double)h->output[0][half + i % half]) / 2;
}

static dit_status settle(struct dit_module_watch *watch, const module_at *at, int64_t elements, const float **out)
{
    module_oracle *o = (void *)watch;
    history *h = &o->histories[(at->block * DIT_MODULE_COUNT + at->kind) * MODULE_OUTPUTS + at->output];
    dit_runtime *rt = o->sampler->rt;
    *out = o->output;
    if (h->seen == o->step)
        return DIT_FAIL(DIT_ERR_INTERNAL, "block %lld has two modules that are called output %d of %s",
                        (long long)at->block, at->output, dit_module_names()[at->kind]);
    h->seen = o->step;
    if (!h->output[0]) DIT_TRY(begin_history(o, h, elements));
    DIT_TRY(dit_runtime_download(rt, o->output, elements));
    if (rt->ledger.counting_only) return DIT_OK;
    if (!o->reuses[at->kind]) {
        remember(o, h, elements);
        return DIT_OK;
    }
    if (!h->count) return DIT_FAIL(DIT_ERR_INTERNAL, "step %d reuses what no step computed", o->step);
    const dit_cache *c = o->sampler->emulates_cache;
    bool mean = c->policy == DIT_CACHE_TGATE && at->kind == DIT_MODULE_CROSS;
    for (int64_t i = 0; i < elements; i++)
        o->output[i] = (float)(mean ? mean_of_branches(h, elements, i) : continued(c, h, o->step, i));
    if (c->policy == DIT_CACHE_FASTERCACHE) remember(o, h, elements);
    return dit_runtime_upload(rt, o->output, elements);
}

/* ---- the rules, once more ---------------------------------------------------------------------------------------- */

static int hits_in_a_row(const module_oracle *o)
{
    int row = 0;
    while (row < o->step && o->log.reasons[o->step - 1 - row] == DIT_CACHE_HIT) row++;
    return row;
}

/* Of fora and taylorseer, which reuse all kinds or none. */
static bool reuses_all(const module_oracle *o, const dit_cache *c)
{
    int t = o->step, last = o->log.steps - 1;
    if (c->replay[0]) return c->replay[t] == '0';
    if (t == 0 || t < c->warmup || (c->force[0] && c->force[t] == '1')) return false;
    if (c->policy == DIT_CACHE_FORA && (t == last || t / c->interval * c->interval == t)) return false;
    if (c->policy == DIT_CACHE_TAYLORSEER && t > c->warmup && (t - c->warmup) % c->interval == 1 % c->interval)
        return false;
    if (c->policy == DIT_CACHE_TAYLORSEER && c->interval == 1) return false;
    if (c->max_hits > 0 && o->log.hits >= c->max_hits) return false;
    return c->max_consecutive <= 0 || hits_in_a_row(o) < c->max_consecutive;
}

/* Of pab and fastercache: a kind counts its steps, and is computed anew when it has counted its range. */
static bool reuses_kind(module_oracle *o, const dit_cache *c, int kind)
{
    double now = o->sampler->scheduler->timesteps[o->step];
    if (c->ranges[kind] == 0) return false;
    int count = o->since[kind]++;
    if (o->since[kind] == c->ranges[kind]) o->since[kind] = 0;
    if (c->unconditional && !dit_branch_oracle_leaves_out(o->branches, o->step)) return false;
    return count > 0 && c->from < now && now < c->to;
}

/* Of tgate: from the gate on all cross-attention, and attention but for every so many steps. */
static bool reuses_beyond_gate(const module_oracle *o, const dit_cache *c, int kind)
{
    int beyond = o->step - c->gate;
    if (beyond < 0) return false;
    if (kind == DIT_MODULE_CROSS) return true;
    return c->ranges[kind] > 0 && beyond % c->ranges[kind] != 0;
}

static void decide(module_oracle *o)
{
    const dit_cache *c = o->sampler->emulates_cache;
    bool counts = c->policy == DIT_CACHE_PAB || c->policy == DIT_CACHE_FASTERCACHE;
    bool each = counts || c->policy == DIT_CACHE_MODULES || c->policy == DIT_CACHE_TGATE;
    bool any = dit_branch_oracle_leaves_out(o->branches, o->step), all = !each && reuses_all(o, c);
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++) {
        o->reuses[kind] = counts                           ? reuses_kind(o, c, kind)
                          : c->policy == DIT_CACHE_TGATE   ? reuses_beyond_gate(o, c, kind)
                          : c->policy == DIT_CACHE_MODULES ? c->table[o->step] >> kind & 1
                                                           : all;
        any = any || o->reuses[kind];
    }
    o->log.reasons[o->step] = any ? DIT_CACHE_HIT : 'm';
    o->log.hits += any;
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

static dit_status forward(dit_sampler *s, int step)
{
    module_oracle *o = s->executor_state;
    dit_window whole = dit_model_whole(s->model, step);
    o->step = step;
    dit_model_set_window(s->model, &whole);
    decide(o);
    s->model->modules = &o->watch;
    dit_status st = dit_model_begin(s->model, s->timestep);
    if (st == DIT_OK) st = dit_model_embed(s->model, s->input);
    if (st == DIT_OK) st = dit_model_blocks(s->model, NULL, NULL);
    s->model->modules = NULL;
    if (st == DIT_OK) st = dit_model_head(s->model, s->output);
    return st == DIT_OK ? dit_branch_oracle_replace(o->branches, step) : st;
}

static dit_status module_oracle_run(dit_sampler *s, const dit_condition *condition)
{
    module_oracle *o = s->executor_state;
    o->watch = (struct dit_module_watch){.watched = DIT_MODULES_ALL, .place = place, .settle = settle};
    o->log = (dit_cache_log){.steps = s->scheduler->steps};
    memset(o->since, 0, sizeof o->since);
    for (int64_t i = 0; i < histories_of(s); i++) o->histories[i].count = 0, o->histories[i].seen = -1;
    return dit_sampler_each_step(s, condition, forward);
}

/* All images are decided for alike, by the schedule. */
static const dit_cache_log *module_oracle_log(const dit_sampler *s, int group)
{
    (void)group;
    return &((const module_oracle *)s->executor_state)->log;
}

const dit_executor dit_executor_module_oracle = {
    .name = "module-oracle", .create = module_oracle_create, .run = module_oracle_run, .cache_log = module_oracle_log};
