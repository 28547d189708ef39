#include "engine/cache/cache_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The indicator of each measured policy. */
static const dit_cache_indicator *const indicators[DIT_CACHE_COUNT] = {
    [DIT_CACHE_FBCACHE] = &dit_cache_first_blocks,
    [DIT_CACHE_DBCACHE] = &dit_cache_first_blocks,
    [DIT_CACHE_TEACACHE] = &dit_cache_modulated_input,
    [DIT_CACHE_TEACACHE_TIME] = &dit_cache_timestep,
};

/* Ranks that share an image decide together, those of guidance branches unless they are to decide apart; each axis gathers
 * what the one before has. */
static const dit_axis agree[] = {DIT_AXIS_ULYSSES, DIT_AXIS_RING, DIT_AXIS_CFG};
enum { AGREE = sizeof agree / sizeof *agree };

/* Parts of a forward that a device records by themselves; those of delta's late steps are PARTS more. */
enum { PART_FIRST = 1, PART_COMPUTE, PART_REUSE, PARTS };

/* ---- making ready ------------------------------------------------------------------------------------------------ */

static int64_t elements_of(const dit_cache_rows *rows)
{
    return rows->batch * rows->rows * rows->width;
}

static bool agrees_over(const dit_cache_run *run, dit_axis axis)
{
    if (dit_cache_is_alike(&run->settings)) return false;
    return dit_comm_size(run->rt->comm[axis]) > 1 && !(run->settings.separate && axis == DIT_AXIS_CFG);
}

/* Returns how many ranks decide together. */
static int64_t deciders(const dit_cache_run *run)
{
    int64_t ranks = 1;
    for (int i = 0; i < AGREE; i++)
        if (agrees_over(run, agree[i])) ranks *= dit_comm_size(run->rt->comm[agree[i]]);
    return ranks;
}

/* Returns the number of this rank's images and branches among all that are decided for apart. */
static int group_of(const dit_cache_run *run)
{
    const int *at = run->rt->coordinates;
    int branches = run->settings.separate ? (int)dit_comm_size(run->rt->comm[DIT_AXIS_CFG]) : 1;
    return at[DIT_AXIS_DATA] * branches + (branches > 1 ? at[DIT_AXIS_CFG] : 0);
}

static dit_status take_doubles(dit_arena *arena, int64_t count, double **out)
{
    void *memory;
    DIT_TRY(dit_arena_array(arena, count, DIT_DTYPE_FP64, &memory));
    *out = memory;
    return DIT_OK;
}

/* The operator writes two sums at a time; where four are sent, the last one has one behind it. */
dit_status dit_cache_take_sums(dit_cache_run *run, int64_t rows)
{
    dit_runtime *rt = run->rt;
    int64_t sums = dit_cache_sums(&run->settings);
    DIT_TRY(take_doubles(&rt->step, 2 * rows, &run->of_rows));
    DIT_TRY(take_doubles(&rt->comm_arena, sums + (sums > 2), &run->sums));
    for (int i = 0; i < 2; i++) DIT_TRY(take_doubles(&rt->comm_arena, sums * deciders(run), &run->gathered[i]));
    return DIT_OK;
}

static dit_status take_buffers(dit_cache_run *run)
{
    dit_runtime *rt = run->rt;
    bool tested = run->indicator != NULL, alike = dit_cache_is_alike(&run->settings);
    for (int i = 0; i <= run->settings.order; i++)
        DIT_TRY(dit_arena_activations(&rt->image, elements_of(&run->kept), &run->added[i]));
    if ((tested && !alike) || run->settings.order)
        DIT_TRY(dit_arena_activations(&rt->step, elements_of(&run->kept), &run->now));
    if (!tested) return DIT_OK;
    if (alike) {
        run->image = (dit_cache_rows){.batch = 1, .rows = 1, .width = rt->facts.time_width, .stream_rows = 1};
        DIT_TRY(dit_arena_fp32(&rt->step, elements_of(&run->image), &run->embedding));
        DIT_TRY(dit_arena_fp32(&rt->image, elements_of(&run->image), &run->reference));
    } else {
        DIT_TRY(dit_arena_activations(&rt->image, elements_of(&run->image), &run->reference));
    }
    return dit_cache_take_sums(run, run->image.batch * run->image.rows);
}

/* Sizes the rows: no head reads text rows, so they are kept only where blocks follow. */
static void size_rows(dit_cache_run *run)
{
    const dit_partition *part = &run->model->params.partition;
    int64_t text = run->rt->facts.joint ? part->text_count : 0;
    run->image = (dit_cache_rows){.batch = part->batch,
                                  .rows = part->image_count,
                                  .width = run->model->width,
                                  .skipped = text,
                                  .stream_rows = text + part->image_count};
    run->kept = run->image;
    if (!dit_cache_keeps_text(&run->settings)) return;
    run->kept.rows = run->kept.stream_rows;
    run->kept.skipped = 0;
}

dit_status dit_cache_create(dit_model *model, const dit_cache *cache, int steps, dit_cache_run **out)
{
    dit_runtime *rt = model->params.rt;
    void *memory;
    DIT_TRY(dit_arena_alloc(&rt->run, sizeof(dit_cache_run), &memory));
    dit_cache_run *run = *out = memory;
    *run = (dit_cache_run){.model = model, .rt = rt, .settings = *cache};
    run->log.steps = steps;
    run->log.group = group_of(run);
    if (dit_cache_looks(cache)) run->indicator = indicators[cache->policy];
    if (dit_cache_modules(cache)) {
        DIT_TRY(dit_module_store_create(run));
        if (cache->unconditional) DIT_TRY(dit_branch_store_create(run));
        dit_cache_reset(run);
        return DIT_OK;
    }
    if (dit_cache_is_of_outputs(cache)) {
        DIT_TRY(dit_output_store_create(run));
        dit_cache_reset(run);
        return DIT_OK;
    }
    size_rows(run);
    if (dit_cache_is_of_blocks(cache))
        DIT_TRY(dit_block_store_create(run));
    else
        DIT_TRY(take_buffers(run));
    dit_cache_reset(run);
    return DIT_OK;
}

void dit_cache_set_timesteps(dit_cache_run *run, const float *timestep)
{
    dit_cache_place(&run->settings, timestep, run->log.steps);
}

void dit_cache_reset(dit_cache_run *run)
{
    dit_cache_log *log = &run->log;
    run->state = (dit_cache_state){0};
    run->differences = 0;
    *log = (dit_cache_log){.steps = log->steps, .group = log->group};
    if (run->modules) dit_module_store_reset(run->modules);
    if (run->blocks) dit_block_store_reset(run);
}

/* ---- sums of the stream's rows ----------------------------------------------------------------------------------- */

/* Rows of a batch entry that lie together in the stream, and in what is dense. */
typedef struct {
    int64_t in_stream, dense, count;
} piece;

/* Returns piece `index` of a band's rows: the text, which has no row where the band comes without it or none is kept,
 * and then what it has of each segment. */
static piece piece_of_band(const dit_cache_run *run, const dit_cache_rows *rows, int64_t index)
{
    const dit_window *window = &run->model->window;
    const dit_partition *part = &run->model->params.partition;
    int64_t text = rows->rows - part->image_count, before = rows->stream_rows - part->image_count;
    if (!window->text) before = 0;
    if (index == 0) return (piece){.count = window->text ? text : 0};
    return (piece){.in_stream = before + (index - 1) * window->count,
                   .dense = text + (index - 1) * part->segment_count + window->first,
                   .count = window->count};
}

/* As combine, about the rows of a band. */
static void combine_band(dit_cache_run *run, const dit_cache_rows *rows, const dit_combine_args *args,
                         const bool *of_stream, bool to_stream)
{
    const dit_partition *view = &run->model->view;
    int64_t text = run->rt->facts.joint ? view->text_count : 0;
    int64_t entry = rows->rows * rows->width, stride = (text + view->image_count) * rows->width;
    for (int64_t i = 0; i < rows->batch * (1 + view->segments); i++) {
        const piece p = piece_of_band(run, rows, i % (1 + view->segments));
        int64_t b = i / (1 + view->segments);
        int64_t in_stream = b * stride + p.in_stream * rows->width, dense = b * entry + p.dense * rows->width;
        dit_combine_args now = *args;
        if (p.count == 0) continue;
        now.elements = p.count * rows->width;
        for (int j = 0; j < args->count; j++) now.x[j] += of_stream[j] ? in_stream : dense;
        now.y += to_stream ? in_stream : dense;
        ops_combine(run->rt, &now);
    }
}

/* y = sum of a[i] x[i] over the window's rows, where operands with a true `of_stream` lie in the stream, and the others are
 * dense. One call where the rows lie together, else one for each batch entry; more of a band. */
static void combine(dit_cache_run *run, const dit_cache_rows *rows, dit_combine_args args, const bool *of_stream,
                    bool to_stream)
{
    int64_t entry = rows->rows * rows->width, stride = rows->stream_rows * rows->width;
    bool together = rows->rows == rows->stream_rows || !(to_stream || memchr(of_stream, true, (size_t)args.count));
    if (run->model->window.band != DIT_WINDOW_ALL) {
        combine_band(run, rows, &args, of_stream, to_stream);
        return;
    }
    args.elements = together ? rows->batch * entry : entry;
    for (int64_t b = 0; b < (together ? 1 : rows->batch); b++) {
        dit_combine_args now = args;
        int64_t in_stream = b * stride + rows->skipped * rows->width, dense = b * entry;
        for (int i = 0; i < args.count; i++) now.x[i] += of_stream[i] ? in_stream : dense;
        now.y += to_stream ? in_stream : dense;
        ops_combine(run->rt, &now);
    }
}

void dit_cache_take(dit_cache_run *run, const dit_cache_rows *rows, float a, float b, float *out)
{
    static const bool of_stream[] = {true, false};
    combine(run, rows,
            (dit_combine_args){.count = b != 0 ? 2 : 1, .x = {run->model->stream, out}, .a = {a, b}, .y = out},
            of_stream, false);
}

void dit_cache_add(dit_cache_run *run, const dit_cache_rows *rows, const float *x)
{
    static const bool of_stream[] = {true, false};
    combine(run, rows,
            (dit_combine_args){.count = 2, .x = {run->model->stream, x}, .a = {1, 1}, .y = run->model->stream},
            of_stream, true);
}

/* ---- what is kept ------------------------------------------------------------------------------------------------ */

int dit_cache_age(const dit_cache_run *run)
{
    return run->state.consecutive + 1;
}

/* It lies apart where differences to the last one are kept. */
float *dit_cache_change(dit_cache_run *run)
{
    return run->settings.order ? run->now : run->added[0];
}

/* True if the window has the last rows of its step. */
static bool ends_step(const dit_cache_run *run)
{
    int band = run->model->window.band;
    return band == DIT_WINDOW_ALL || band + 1 >= run->model->params.partition.bands;
}

/* d[i + 1] = (new d[i] - old d[i]) / steps between. Buffers change places, so addresses differ from step to step; with bands
 * they do so after the last one. */
void dit_cache_renew(dit_cache_run *run)
{
    static const bool of_stream[] = {false, false};
    int most = run->differences < run->settings.order ? run->differences + 1 : run->settings.order;
    if (!run->settings.order) return;
    if (run->state.step == 0) most = 0;
    float *now = run->now, *added[1 + DIT_CACHE_MAX_ORDER], per_step = 1.0f / (float)dit_cache_age(run);
    memcpy(added, run->added, sizeof added);
    for (int i = 0; i <= most; i++) {
        float *newest = now;
        if (i < most)
            combine(run, &run->kept,
                    (dit_combine_args){.count = 2, .x = {newest, added[i]}, .a = {per_step, -per_step}, .y = added[i]},
                    of_stream, false);
        now = added[i];
        added[i] = newest;
    }
    if (!ends_step(run)) return;
    memcpy(run->added, added, sizeof added);
    run->now = now;
    run->differences = most;
}

float dit_cache_weight(const dit_cache *cache, int i, int k)
{
    double weight = 1;
    for (int j = 1; j <= i; j++) weight *= (double)k / j;
    return (float)(i > 0 && cache->forecast == DIT_FORECAST_LINE ? cache->weight * weight : weight);
}

static void add_kept(dit_cache_run *run)
{
    static const bool of_stream[] = {true, false, false, false};
    dit_combine_args args = {.count = 1, .x = {run->model->stream}, .a = {1}, .y = run->model->stream};
    if (run->settings.variant == DIT_CACHE_XDIT) { /* what the first block added is lost */
        args.x[args.count] = run->now;
        args.a[args.count++] = -1;
    }
    for (int i = 0; i <= run->differences; i++) {
        args.x[args.count] = run->added[i];
        args.a[args.count++] = dit_cache_weight(&run->settings, i, dit_cache_age(run));
    }
    combine(run, &run->kept, args, of_stream, true);
}

/* ---- parts of a forward ------------------------------------------------------------------------------------------ */

/* Returns the blocks that this step computes or reuses. */
static dit_range middle_of(const dit_cache_run *run)
{
    return dit_cache_middle(&run->settings, run->rt->facts.layers, run->state.step);
}

static dit_status run_first(void *context)
{
    const dit_cache_call *call = context;
    dit_cache_run *run = call->run;
    DIT_TRY(dit_model_begin(run->model, call->args->timestep));
    DIT_TRY(dit_model_embed(run->model, call->args->latents));
    if (run->indicator) DIT_TIMED(run->rt, DIT_TIME_CACHE, DIT_TRY(run->indicator->embedded(run)));
    DIT_TRY(dit_model_some_blocks(run->model, 0, middle_of(run).first));
    if (run->indicator && run->indicator->first_done)
        DIT_TIMED(run->rt, DIT_TIME_CACHE, run->indicator->first_done(run));
    return DIT_OK;
}

static dit_status run_last(const dit_cache_call *call)
{
    dit_model *model = call->run->model;
    const dit_range middle = middle_of(call->run);
    int64_t end = middle.first + middle.count;
    DIT_TRY(dit_model_some_blocks(model, end, call->run->rt->facts.layers - end));
    return dit_model_head(model, call->args->output);
}

/* The indicator's value. Buffers of forecasts change places from step to step. */
static const float *value_of(const dit_cache_run *run)
{
    return run->embedding ? run->embedding : run->now;
}

/* The value of this step is what later ones are compared with. */
static void keep_reference(dit_cache_run *run)
{
    ops_combine(
        run->rt,
        &(dit_combine_args){
            .elements = elements_of(&run->image), .count = 1, .x = {value_of(run)}, .a = {1}, .y = run->reference});
}

/* Counts the steps just after this one, which computes, that are known to reuse. */
static int hits_ahead(const dit_cache_run *run)
{
    dit_cache_state state = run->state;
    int hits = 0, steps = run->log.steps;
    dit_cache_note(&run->settings, &state, steps, 'm');
    while (state.step < steps && dit_cache_plan(&run->settings, &state, steps) == DIT_CACHE_HIT) {
        dit_cache_note(&run->settings, &state, steps, DIT_CACHE_HIT);
        hits++;
    }
    return hits;
}

/* Runs the middle blocks, whose K and V of other rows are as old as the step that computed last, and keeps what they add. */
static dit_status compute_middle(dit_cache_run *run, void (*between)(void *context), void *context)
{
    dit_range middle = middle_of(run);
    dit_model *model = run->model;
    DIT_TIMED(run->rt, DIT_TIME_CACHE, dit_cache_take(run, &run->kept, -1, 0, dit_cache_change(run)));
    dit_model_leave_out(model, run->state.consecutive, hits_ahead(run));
    DIT_TRY(dit_model_poll_blocks(model, middle.first, middle.count, between, context));
    dit_model_leave_out(model, model->window.left_out, model->window.out_next);
    DIT_TIMED(run->rt, DIT_TIME_CACHE, {
        dit_cache_take(run, &run->kept, 1, 1, dit_cache_change(run));
        dit_cache_renew(run);
    });
    return DIT_OK;
}

static void reuse_middle(dit_cache_run *run)
{
    dit_range middle = middle_of(run);
    add_kept(run);
    dit_model_skip_blocks(run->model, middle.first, middle.count);
}

/* Says whether later steps are compared with the value of this one, which computes or not. */
static bool refers(const dit_cache_run *run, bool computes)
{
    if (run->settings.variant == DIT_CACHE_XDIT) return run->state.consecutive == 0; /* the step before has computed */
    return computes || run->indicator->every_step;
}

static dit_status compute(void *context)
{
    const dit_cache_call *call = context;
    if (call->run->indicator && refers(call->run, true))
        DIT_TIMED(call->run->rt, DIT_TIME_CACHE, keep_reference(call->run));
    DIT_TRY(compute_middle(call->run, NULL, NULL));
    return run_last(call);
}

static dit_status reuse(void *context)
{
    const dit_cache_call *call = context;
    dit_cache_run *run = call->run;
    DIT_TIMED(run->rt, DIT_TIME_CACHE, {
        if (run->indicator && refers(run, false)) keep_reference(run);
        reuse_middle(run);
    });
    return run_last(call);
}

/* Differences change places and weights from step to step: nothing is recorded then, nor where blocks decide one by one,
 * nor where parts depend on the step before. */
static dit_status do_part(dit_cache_run *run, int part, const dit_cache_call *call, dit_status (*work)(void *context))
{
    if (run->settings.order || run->blocks || run->settings.variant == DIT_CACHE_XDIT) return work((void *)call);
    bool front = run->settings.policy == DIT_CACHE_DELTA && run->state.step >= run->settings.cut;
    return dit_model_do_part(run->model, part + (front ? PARTS : 0), call->args, work, (void *)call);
}

/* ---- deciding ---------------------------------------------------------------------------------------------------- */

dit_status dit_cache_gather_sums(dit_cache_run *run, const double **out)
{
    int64_t count = dit_cache_sums(&run->settings);
    const double *mine = run->sums;
    for (int i = 0; i < AGREE; i++) {
        dit_comm *comm = run->rt->comm[agree[i]];
        double *all = mine == run->gathered[0] ? run->gathered[1] : run->gathered[0];
        if (!agrees_over(run, agree[i])) continue;
        DIT_TRY(dit_comm_gather_terms(comm, mine, count, all));
        count *= dit_comm_size(comm);
        mine = all;
    }
    *out = mine;
    return dit_runtime_download(run->rt, mine, count);
}

dit_status dit_cache_compare(dit_cache_run *run, const float *a, const float *b, double *value)
{
    const dit_cache_rows *rows = &run->image;
    const double *sums;
    double difference = 0, size = 0;
    ops_difference(run->rt, &(dit_difference_args){.rows = rows->batch * rows->rows,
                                                   .cols = rows->width,
                                                   .a = a,
                                                   .b = b,
                                                   .of_rows = run->of_rows,
                                                   .sums = run->sums});
    DIT_TRY(dit_cache_gather_sums(run, &sums));
    *value = 0;
    if (run->rt->ledger.counting_only) return DIT_OK;
    for (int64_t i = 0; i < deciders(run); i++) difference += sums[2 * i], size += sums[2 * i + 1];
    if (!isfinite(difference) || !isfinite(size) || (size == 0 && difference != 0))
        return dit_error_hint(DIT_FAIL(DIT_ERR_NONFINITE, "step %d: the cache compares %g with %g, which is no number",
                                       run->state.step, difference, size),
                              "look at the latents of the step before: something overflowed or was never computed");
    *value = size > 0 ? difference / size : 0;
    return DIT_OK;
}

/* Measures how much the indicator has changed. */
static dit_status measure(dit_cache_run *run, double *value)
{
    if (run->outputs) return dit_output_store_measure(run, value);
    return dit_cache_compare(run, value_of(run), run->reference, value);
}

/* Counts the steps since the oldest output was computed that the step reuses. */
static int oldest_module(const dit_cache_log *log, int step)
{
    int oldest = 0;
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++) {
        int steps = 0;
        while (steps < step && dit_module_in(log->reused[step - steps], (dit_module)kind)) steps++;
        if (steps > oldest) oldest = steps;
    }
    return oldest;
}

/* The same of blocks that are reused by themselves. */
static int oldest_block(const dit_cache_log *log, int64_t layers, int step)
{
    int oldest = 0;
    for (int64_t block = 0; block < layers; block++) {
        int steps = 0;
        while (steps < step && dit_cache_log_pruned(log, step - steps, block)) steps++;
        if (steps > oldest) oldest = steps;
    }
    return oldest;
}

/* Writes a step's decision, and what was tested, into the log. */
static void note_decision(dit_cache_run *run, char decision, double value)
{
    dit_cache_log *log = &run->log;
    int step = run->state.step;
    bool hit = decision == DIT_CACHE_HIT;
    log->reasons[step] = decision;
    log->values[step] = value;
    log->tests += value != DIT_CACHE_UNTESTED && !run->blocks; /* those note their own */
    log->hits += hit;
    log->reused[step] = dit_cache_reused(&run->settings, step, decision);
    for (int64_t block = 0; block < run->settings.replay_blocks; block++)
        if (dit_cache_replay_prunes(&run->settings, step, block)) dit_cache_log_prune(log, step, block);
    int oldest = run->modules  ? oldest_module(log, step)
                 : run->blocks ? oldest_block(log, run->rt->facts.layers, step)
                 : hit         ? dit_cache_age(run)
                               : 0;
    if (oldest > log->oldest) log->oldest = oldest;
}

/* Decides for this step; *decision is a letter of base/cache.h. A run that is only counted computes where a test would
 * decide. */
static dit_status decide(dit_cache_run *run, char *decision)
{
    double value = DIT_CACHE_UNTESTED;
    *decision = dit_cache_plan(&run->settings, &run->state, run->log.steps);
    if (run->blocks) {
        DIT_TRY(dit_block_store_run(run, decision, &value));
    } else if (*decision == DIT_CACHE_TEST) {
        DIT_TIMED(run->rt, DIT_TIME_CACHE, DIT_TRY(measure(run, &value)));
        value = dit_cache_tested(&run->settings, &run->state, value);
        if (!isfinite(value))
            return DIT_FAIL(DIT_ERR_NONFINITE, "step %d: the cache's sum is %g", run->state.step, value);
        bool hit = dit_cache_reuses(&run->settings, value) && !run->rt->ledger.counting_only;
        *decision = hit ? DIT_CACHE_HIT : 't';
    }
    note_decision(run, *decision, value);
    return DIT_OK;
}

dit_status dit_cache_forward(dit_cache_run *run, const dit_forward_args *args)
{
    dit_window whole = dit_model_whole(run->model, args->step);
    dit_cache_call call = {run, args};
    char decision;
    if (args->step != run->state.step)
        return DIT_FAIL(DIT_ERR_INTERNAL, "a cache is at step %d and gets step %d", run->state.step, args->step);
    whole.positive = dit_cache_is_lone(&run->settings, args->step);
    dit_model_set_window(run->model, &whole);
    if (run->outputs)
        DIT_TIMED(run->rt, DIT_TIME_CACHE, dit_output_store_begin(run, args));
    else if (!run->modules)
        DIT_TRY(do_part(run, PART_FIRST, &call, run_first));
    DIT_TRY(decide(run, &decision));
    bool hit = decision == DIT_CACHE_HIT;
    if (run->modules)
        DIT_TRY(dit_module_store_forward(run, args));
    else if (run->outputs)
        DIT_TRY(dit_output_store_forward(run, args, hit));
    else if (run->blocks)
        DIT_TRY(run_last(&call));
    else
        DIT_TRY(hit ? do_part(run, PART_REUSE, &call, reuse) : do_part(run, PART_COMPUTE, &call, compute));
    dit_cache_note(&run->settings, &run->state, run->log.steps, decision);
    return DIT_OK;
}

dit_status dit_cache_blocks(dit_cache_run *run, void (*between)(void *context), void *context)
{
    int64_t layers = run->rt->facts.layers, last = run->settings.last;
    char decision = dit_cache_plan(&run->settings, &run->state, run->log.steps);
    if (run->model->window.step != run->state.step || decision == DIT_CACHE_TEST)
        return DIT_FAIL(DIT_ERR_INTERNAL, "a cache is at step %d ('%c') and gets step %d", run->state.step, decision,
                        run->model->window.step);
    DIT_TRY(dit_model_poll_blocks(run->model, 0, run->settings.first, between, context));
    if (decision == DIT_CACHE_HIT)
        DIT_TIMED(run->rt, DIT_TIME_CACHE, reuse_middle(run));
    else
        DIT_TRY(compute_middle(run, between, context));
    DIT_TRY(dit_model_poll_blocks(run->model, layers - last, last, between, context));
    if (!ends_step(run)) return DIT_OK;
    note_decision(run, decision, DIT_CACHE_UNTESTED);
    dit_cache_note(&run->settings, &run->state, run->log.steps, decision);
    return DIT_OK;
}

void dit_cache_foresee(dit_cache_run *run)
{
    dit_cache_reset(run);
    while (run->state.step < run->log.steps) {
        char decision = dit_cache_plan(&run->settings, &run->state, run->log.steps);
        note_decision(run, decision, DIT_CACHE_UNTESTED);
        dit_cache_note(&run->settings, &run->state, run->log.steps, decision);
    }
}

/* ---- what was decided -------------------------------------------------------------------------------------------- */

const dit_cache_log *dit_cache_log_of(const dit_cache_run *run)
{
    return &run->log;
}

const dit_cache *dit_cache_settings(const dit_cache_run *run)
{
    return &run->settings;
}

dit_cache_use dit_cache_use_of(const dit_cache *cache, const dit_cache_log *log)
{
    dit_cache_use use = {.first = cache->first,
                         .last = cache->last,
                         .hits = log->hits,
                         .ends = cache->blocks,
                         .separate = cache->separate,
                         .alike = dit_cache_is_alike(cache),
                         .tests = log->tests,
                         .more_sums = dit_cache_sums(cache) - 2,
                         .of_modules = dit_cache_modules(cache),
                         .of_blocks = dit_cache_is_of_blocks(cache)};
    for (int step = cache->cut; step < log->steps && cache->blocks; step++)
        use.late_hits += log->reasons[step] == DIT_CACHE_HIT;
    for (int step = 0; step < log->steps; step++)
        for (int block = 0; block < DIT_CACHE_MAX_BLOCKS; block++)
            use.blocks[block] += dit_cache_log_pruned(log, step, block);
    for (int step = 0; step < log->steps; step++) dit_cache_count_modules(cache, step, log->reused[step], &use);
    return use;
}

dit_cache_use dit_cache_own_use(const dit_cache_run *run)
{
    return run ? dit_cache_use_of(&run->settings, &run->log) : (dit_cache_use){0};
}

dit_module_set dit_cache_own_modules(const dit_cache_run *run)
{
    const dit_block_run all = dit_facts_blocks(&run->rt->facts, 0, run->rt->facts.layers);
    dit_module_set set = dit_cache_modules(&run->settings);
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++)
        if (!all.modules[kind].image && !all.modules[kind].both) set &= (dit_module_set) ~(1 << kind);
    return set;
}

int64_t dit_cache_layers(const dit_cache_run *run)
{
    return run->rt->facts.layers;
}

int64_t dit_cache_state_bytes(const dit_cache_run *run)
{
    if (run->modules)
        return dit_module_store_elements(run->modules) * dit_dtype_bytes(run->rt->ledger.dtype) +
               dit_branch_store_bytes(run);
    if (run->outputs) return dit_output_store_bytes(run);
    if (run->blocks) return dit_block_store_bytes(run);
    int64_t kept = 1 + run->settings.order + (run->now != NULL);
    int64_t element = dit_dtype_bytes(run->rt->ledger.dtype), compared = elements_of(&run->image);
    if (!run->reference) compared = 0;
    return kept * elements_of(&run->kept) * element +
           compared * (run->embedding ? 2 * (int64_t)sizeof(float) : element);
}

int dit_cache_kv_age(const dit_cache_run *run)
{
    const dit_parallel *parallel = &run->rt->parallel;
    const dit_cache_log *log = &run->log;
    int oldest = 0, computed = DIT_STEP_FILL;
    bool alone = dit_parallel_degree(parallel, DIT_AXIS_PATCH) > 1 && parallel->patch_method == DIT_PATCH_NAIVE;
    if (!dit_parallel_is_displaced(parallel) || alone) return 0;
    for (int step = 0; step < log->steps; step++) {
        if (log->reasons[step] == DIT_CACHE_HIT) continue;
        if (step >= parallel->warmup_steps && step - computed > oldest) oldest = step - computed;
        computed = step;
    }
    return oldest;
}

int64_t dit_cache_deciders(const dit_cache_run *run)
{
    return deciders(run);
}

double dit_cache_margin(const dit_cache *cache, const dit_cache_log *log)
{
    double least = INFINITY;
    for (int step = 0; step < log->steps; step++) {
        if (log->values[step] == DIT_CACHE_UNTESTED || cache->threshold <= 0) continue;
        least = fmin(least, fabs(log->values[step] - cache->threshold) / cache->threshold);
    }
    return least;
}

/* Compares two logs of ranks that made the same images. */
static dit_status compare_logs(const dit_cache_log *a, int rank_a, const dit_cache_log *b, int rank_b)
{
    for (int step = 0; step < a->steps; step++)
        if (a->reasons[step] != b->reasons[step] || a->values[step] != b->values[step] ||
            a->reused[step] != b->reused[step] || memcmp(a->blocks[step], b->blocks[step], sizeof a->blocks[step]) != 0)
            return DIT_FAIL(DIT_ERR_MISMATCH,
                            "step %d: rank %d decided '%c' on %.17g, but rank %d '%c' on %.17g: ranks that share an "
                            "image must decide alike",
                            step, rank_a, a->reasons[step], a->values[step], rank_b, b->reasons[step], b->values[step]);
    return DIT_OK;
}

dit_status dit_cache_meet(const dit_cache_run *run, dit_cache_log **logs)
{
    dit_comm *world = dit_comm_world();
    int size = dit_comm_size(world);
    char *all = NULL;
    int64_t *offsets = calloc((size_t)size + 1, sizeof *offsets);
    *logs = NULL;
    if (!offsets) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the decisions of %d ranks", size);
    dit_status st = dit_comm_collect(world, &run->log, (int64_t)sizeof run->log, &all, offsets);
    free(offsets);
    if (st != DIT_OK) return st;
    *logs = (dit_cache_log *)(void *)all;
    for (int rank = 1; rank < size && st == DIT_OK; rank++) {
        int first = 0;
        while ((*logs)[first].group != (*logs)[rank].group) first++;
        st = compare_logs(&(*logs)[first], first, &(*logs)[rank], rank);
    }
    return st;
}
