/* What policies of modules keep: outputs of attentions and MLPs as blocks make them, before bias of tensor ranks and gate,
 * or differences of them from step to step. A schedule is known before the run, so outputs that no later step takes are
 * not kept: such a step runs as if there were no cache. Where outputs roll (base/cache.h), added[0] is that of the step
 * before, reused or not, and added[1] how it differs from the one before that. Where some steps run the positive guidance
 * branch alone, what is kept is of that branch: of a step that runs both, it is the positive one's output or, of
 * cross-attention, the mean of both.
 * Source: FORA (arXiv:2407.01425); TaylorSeer (arXiv:2503.06923); Pyramid Attention Broadcast (arXiv:2408.12588);
 * FasterCache (arXiv:2410.19355); T-GATE (arXiv:2404.02747). */
#include "engine/cache/cache_impl.h"
#include "engine/models/modules.h"

/* Where the output of one module lies: added[0], and its differences of each order. */
typedef struct {
    float *added[1 + DIT_CACHE_MAX_ORDER];
    int64_t elements;
} slot;

struct dit_module_store {
    struct dit_module_watch watch; /* first: models have its address */
    dit_cache_run *run;
    slot *slots;                                /* [layers][DIT_MODULE_COUNT][MODULE_OUTPUTS]                        */
    float *scratch[2];                          /* a new output, then a forecast; a difference; NULL: not needed     */
    dit_module_set reused[DIT_CACHE_MAX_STEPS]; /* of the whole schedule                                             */
    int64_t kept;                               /* floats of all slots                                               */
};

/* Parts of a forward that a device records: one for each pair of sets, apart from those of cache.c. */
enum { PART_MODULES = 64 };

/* ---- making ready ------------------------------------------------------------------------------------------------ */

static slot *slot_of(const struct dit_module_store *store, int64_t block, int kind, int output)
{
    return &store->slots[(block * DIT_MODULE_COUNT + kind) * MODULE_OUTPUTS + output];
}

/* Returns the guidance branches of which a step's outputs are, and those of which some are kept. */
static int64_t branches_run(const dit_cache_run *run)
{
    bool lone = dit_cache_is_lone(&run->settings, run->state.step);
    return lone ? 1 : run->model->params.partition.branches;
}
static int64_t branches_kept(const dit_cache_run *run)
{
    return dit_cache_has_lone_steps(&run->settings) ? 1 : run->model->params.partition.branches;
}

/* Says how long each output of a kind, of the branches that are kept, is in the model's block; 0: it has none. */
static void size_outputs(const dit_cache_run *run, const dit_module_parts *parts, int64_t elements[MODULE_OUTPUTS])
{
    const dit_partition *part = &run->model->params.partition;
    int64_t row = part->images * branches_kept(run) * run->model->width, image = part->image_count * row;
    int64_t text = run->rt->facts.joint ? part->text_count * row : 0;
    elements[MODULE_IMAGE] = parts->both ? image + text : parts->image ? image : 0;
    elements[MODULE_TEXT] = parts->text ? text : 0;
    elements[MODULE_SECOND] = parts->image > 1 ? image : 0;
}

/* Sizes all slots. *longest: floats of the longest output of all branches. */
static void size_slots(struct dit_module_store *store, int64_t *longest)
{
    const dit_cache_run *run = store->run;
    dit_module_set kinds = dit_cache_modules(&run->settings);
    *longest = 0;
    for (int64_t block = 0; block < run->rt->facts.layers; block++) {
        const dit_block_run one = dit_facts_blocks(&run->rt->facts, block, 1);
        for (int kind = 0; kind < DIT_MODULE_COUNT; kind++) {
            int64_t elements[MODULE_OUTPUTS] = {0};
            if (dit_module_in(kinds, (dit_module)kind)) size_outputs(run, &one.modules[kind], elements);
            for (int output = 0; output < MODULE_OUTPUTS; output++) {
                slot_of(store, block, kind, output)->elements = elements[output];
                store->kept += (1 + run->settings.order) * elements[output];
                if (elements[output] > *longest) *longest = elements[output];
            }
        }
    }
    *longest *= run->model->params.partition.branches / branches_kept(run);
}

/* Takes one array for all slots, in which they lie one after the other. */
static dit_status take_slots(struct dit_module_store *store)
{
    dit_cache_run *run = store->run;
    int64_t all = run->rt->facts.layers * DIT_MODULE_COUNT * MODULE_OUTPUTS;
    float *next = NULL;
    if (store->kept) DIT_TRY(dit_arena_activations(&run->rt->image, store->kept, &next));
    for (int64_t i = 0; i < all; i++)
        for (int order = 0; order <= run->settings.order && store->slots[i].elements; order++) {
            store->slots[i].added[order] = next;
            next += store->slots[i].elements;
        }
    return DIT_OK;
}

static float *place(struct dit_module_watch *watch, const module_at *at, int64_t elements)
{
    const struct dit_module_store *store = (const void *)watch;
    const slot *s = slot_of(store, at->block, at->kind, at->output);
    return store->run->settings.order || elements > s->elements ? store->scratch[0] : s->added[0];
}

/* Makes differences of each order from the new output and the last ones: d[i + 1] = (new d[i] - old d[i]) / steps between. */
static void renew(struct dit_module_store *store, slot *s)
{
    dit_cache_run *run = store->run;
    int most = run->differences < run->settings.order ? run->differences + 1 : run->settings.order;
    float per_step = 1.0f / (float)(run->state.consecutive + 1);
    float *newest = store->scratch[0], *difference = store->scratch[1];
    if (run->state.step == 0) most = 0;
    for (int i = 0; i <= most; i++) {
        if (i < most)
            ops_combine(run->rt, &(dit_combine_args){.elements = s->elements,
                                                     .count = 2,
                                                     .x = {newest, s->added[i]},
                                                     .a = {per_step, -per_step},
                                                     .y = difference});
        ops_combine(run->rt, &(dit_combine_args){
                                 .elements = s->elements, .count = 1, .x = {newest}, .a = {1}, .y = s->added[i]});
        float *other = newest;
        newest = difference;
        difference = other;
    }
}

/* y = a x + b y, over an output. */
static void blend(const dit_cache_run *run, int64_t elements, float a, const float *x, float b, float *y)
{
    ops_combine(run->rt,
                &(dit_combine_args){.elements = elements, .count = b != 0 ? 2 : 1, .x = {x, y}, .a = {a, b}, .y = y});
}

/* Takes the newest output for that of the step before; the first one differs from none. */
static void roll(const struct dit_module_store *store, const slot *s, const float *newest)
{
    const dit_cache_run *run = store->run;
    bool first = run->state.step == 0;
    blend(run, s->elements, first ? 0 : -1, first ? newest : s->added[0], 0, s->added[1]);
    if (!first) blend(run, s->elements, 1, newest, 1, s->added[1]);
    blend(run, s->elements, 1, newest, 0, s->added[0]);
}

/* Continues the outputs of the two steps before, and takes that for the newest one. */
static const float *roll_on(const struct dit_module_store *store, const slot *s)
{
    const dit_cache_run *run = store->run;
    float weight = (float)run->settings.weight;
    blend(run, s->elements, weight, s->added[1], 1, s->added[0]);
    blend(run, s->elements, weight, s->added[1], 0, s->added[1]);
    return s->added[0];
}

static const float *forecast(struct dit_module_store *store, const slot *s)
{
    dit_cache_run *run = store->run;
    dit_combine_args args = {.elements = s->elements, .y = store->scratch[0]};
    if (run->differences == 0) return s->added[0];
    for (int i = 0; i <= run->differences; i++) {
        args.x[args.count] = s->added[i];
        args.a[args.count++] = dit_cache_weight(&run->settings, i, run->state.consecutive + 1);
    }
    ops_combine(run->rt, &args);
    return store->scratch[0];
}

/* Keeps what a new output, which lies in scratch, has of both branches. */
static void keep_of_both(const struct dit_module_store *store, const slot *s, dit_module kind)
{
    const float *negative = store->scratch[0], *positive = negative + s->elements;
    float share = kind == DIT_MODULE_CROSS ? 0.5f : 0.0f;
    if (dit_cache_rolls(&store->run->settings)) {
        roll(store, s, positive);
        return;
    }
    blend(store->run, s->elements, 1 - share, positive, 0, s->added[0]);
    if (share != 0) blend(store->run, s->elements, share, negative, 1, s->added[0]);
}

/* Keeps a new output of the branches that are kept, where it lies apart. */
static void keep(struct dit_module_store *store, slot *s)
{
    if (dit_cache_rolls(&store->run->settings))
        roll(store, s, store->scratch[0]);
    else if (store->run->settings.order)
        renew(store, s);
}

static dit_status settle(struct dit_module_watch *watch, const module_at *at, int64_t elements, const float **out)
{
    struct dit_module_store *store = (void *)watch;
    slot *s = slot_of(store, at->block, at->kind, at->output);
    bool both = branches_run(store->run) > branches_kept(store->run);
    if (elements != s->elements * (both ? 2 : 1))
        return DIT_FAIL(DIT_ERR_INTERNAL, "a cache keeps %lld values of block %lld's %s, and the block has %lld",
                        (long long)s->elements, (long long)at->block, dit_module_names()[at->kind],
                        (long long)elements);
    bool rolls = dit_cache_rolls(&store->run->settings);
    if (dit_module_in(watch->taken, at->kind)) {
        *out = rolls ? roll_on(store, s) : forecast(store, s);
        return DIT_OK;
    }
    if (both)
        keep_of_both(store, s, at->kind);
    else
        keep(store, s);
    *out = both ? store->scratch[0] : s->added[0];
    return DIT_OK;
}

dit_status dit_module_store_create(dit_cache_run *run)
{
    dit_runtime *rt = run->rt;
    void *memory;
    int64_t longest;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(struct dit_module_store), &memory));
    struct dit_module_store *store = run->modules = memory;
    *store = (struct dit_module_store){.watch = {.place = place, .settle = settle}, .run = run};
    DIT_TRY(dit_arena_alloc(
        &rt->run, rt->facts.layers * DIT_MODULE_COUNT * MODULE_OUTPUTS * (int64_t)sizeof *store->slots, &memory));
    store->slots = memory;
    for (int64_t i = 0; i < rt->facts.layers * DIT_MODULE_COUNT * MODULE_OUTPUTS; i++) store->slots[i] = (slot){0};
    size_slots(store, &longest);
    DIT_TRY(take_slots(store));
    int scratch = run->settings.order ? 2 : dit_cache_has_lone_steps(&run->settings);
    for (int i = 0; i < scratch; i++) DIT_TRY(dit_arena_activations(&rt->step, longest, &store->scratch[i]));
    return DIT_OK;
}

int64_t dit_module_store_elements(const struct dit_module_store *store)
{
    return store->kept;
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

void dit_module_store_reset(struct dit_module_store *store)
{
    const dit_cache_run *run = store->run;
    dit_cache_state state = {0};
    while (state.step < run->log.steps) {
        char decision = dit_cache_plan(&run->settings, &state, run->log.steps);
        store->reused[state.step] = dit_cache_reused(&run->settings, state.step, decision);
        dit_cache_note(&run->settings, &state, run->log.steps, decision);
    }
}

/* Says what a step computes for later ones: what the next step takes or, as differences need more than one step, any
 * later one. */
static dit_module_set wanted_later(const struct dit_module_store *store, int step)
{
    const dit_cache_run *run = store->run;
    dit_module_set wanted = 0;
    for (int later = step + 1; later < run->log.steps; later++) {
        wanted |= store->reused[later];
        if (!run->settings.order) break;
    }
    return wanted;
}

/* A forward of all blocks, whose modules are watched. */
static dit_status run_whole(void *context)
{
    const dit_cache_call *call = context;
    dit_model *model = call->run->model;
    DIT_TRY(dit_model_begin(model, call->args->timestep));
    DIT_TRY(dit_model_embed(model, call->args->latents));
    DIT_TRY(dit_model_blocks(model, NULL, NULL));
    return dit_model_head(model, call->args->output);
}

/* Forecasts have weights that differ from step to step: nothing is recorded then. */
dit_status dit_module_store_forward(dit_cache_run *run, const dit_forward_args *args)
{
    struct dit_module_store *store = run->modules;
    struct dit_module_watch *watch = &store->watch;
    int step = run->state.step;
    bool lone = dit_cache_is_lone(&run->settings, step);
    const dit_forward_args own = lone ? dit_branch_positive(run, args) : *args;
    dit_cache_call call = {run, &own};
    watch->taken = store->reused[step];
    watch->watched = watch->taken | wanted_later(store, step);
    int part = PART_MODULES + (watch->taken << DIT_MODULE_COUNT) + watch->watched;
    run->model->modules = watch->watched ? watch : NULL;
    dit_status st =
        run->settings.order ? run_whole(&call) : dit_model_do_part(run->model, part, &own, run_whole, &call);
    run->model->modules = NULL;
    if (st == DIT_OK && dit_cache_has_lone_steps(&run->settings)) st = dit_branch_finish(run, args);
    if (watch->taken || !run->settings.order) return st;
    if (step) run->differences += run->differences < run->settings.order;
    return st;
}
