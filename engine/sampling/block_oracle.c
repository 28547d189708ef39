/* Block oracle: computes on one rank what a run must give whose cache decides for each block by itself. Every step
 * computes all blocks; the stream comes to the host before and after each, where the output is kept, or replaced by the
 * input plus what the block added when it was computed last. Rules, sums in double and memory are its own: it shares
 * nothing with engine/cache/. Data ranks decide for their own images alone: each has a group here. */
#include "engine/sampling/executor.h"

#include <math.h>
#include <string.h>

enum { LEARN = 5 }; /* values of a block from which its dynamic threshold is made */

/* What ranks of one data coordinate decide together: a share of the images. */
typedef struct {
    double (*values)[LEARN]; /* [layers]: the first values of each block */
    int *count;              /* [layers]: how many there are             */
    dit_cache_log log;
} decided;

typedef struct {
    float *before, *after;            /* the stream around the block that runs                     */
    float **input, **added;           /* [layers]: of the newest step that computed the block      */
    int64_t batch, rows, text, width; /* of the stream, [batch, rows, width], text rows first      */
    int64_t groups, images;           /* images: of all groups                                     */
    int64_t branches;                 /* that decide apart; 1: they decide together                */
    decided *group;                   /* [groups]                                                  */
} block_oracle;

static dit_status take(dit_sampler *s, int64_t count, size_t bytes, void **out)
{
    return dit_arena_alloc(&s->rt->run, count * (int64_t)bytes, out);
}

static dit_status take_arrays(dit_sampler *s, block_oracle *o)
{
    int64_t elements = o->batch * o->rows * o->width;
    void *memory;
    DIT_TRY(take(s, s->rt->facts.layers, sizeof *o->input, &memory));
    o->input = memory;
    DIT_TRY(take(s, s->rt->facts.layers, sizeof *o->added, &memory));
    o->added = memory;
    DIT_TRY(dit_arena_host(&s->rt->image, elements, &o->before));
    DIT_TRY(dit_arena_host(&s->rt->image, elements, &o->after));
    for (int64_t block = 0; block < s->rt->facts.layers; block++) {
        DIT_TRY(dit_arena_host(&s->rt->image, elements, &o->input[block]));
        DIT_TRY(dit_arena_host(&s->rt->image, elements, &o->added[block]));
    }
    return DIT_OK;
}

static dit_status block_oracle_create(dit_sampler *s)
{
    const dit_partition *part = &s->partition;
    int64_t text = s->rt->facts.joint ? part->text_count : 0;
    void *memory;
    DIT_TRY(take(s, 1, sizeof(block_oracle), &memory));
    block_oracle *o = s->executor_state = memory;
    *o = (block_oracle){.batch = part->batch,
                        .rows = text + part->image_count,
                        .text = text,
                        .width = s->model->width,
                        .groups = s->emulated_groups,
                        .branches = s->emulates_cache->separate ? s->rt->facts.guidance_branches : 1,
                        .images = part->images};
    DIT_TRY(take(s, o->groups, sizeof *o->group, &memory));
    o->group = memory;
    for (int64_t group = 0; group < o->groups; group++) {
        DIT_TRY(take(s, s->rt->facts.layers, sizeof *o->group->values, &memory));
        o->group[group].values = memory;
        DIT_TRY(take(s, s->rt->facts.layers, sizeof *o->group->count, &memory));
        o->group[group].count = memory;
    }
    return take_arrays(s, o);
}

/* Returns the group of an entry of the batch; entries are image after image, branch after branch. */
static int64_t group_of(const block_oracle *o, int64_t entry)
{
    int64_t data = entry % o->images / (o->images / (o->groups / o->branches));
    return data * o->branches + (o->branches > 1 ? entry / o->images : 0);
}

/* Finds the group's next row of the stream, from *row on; false after the last. */
static bool next_row(const block_oracle *o, int64_t group, int64_t *row)
{
    for (; *row < o->batch * o->rows; ++*row)
        if (group_of(o, *row / o->rows) == group) return true;
    return false;
}

/* ---- the rules, once more ---------------------------------------------------------------------------------------- */

/* Returns how much the image rows of a block's input changed since it was computed last. */
static double change_of(const block_oracle *o, int64_t group, int64_t block)
{
    double difference = 0, size = 0;
    for (int64_t row = 0; next_row(o, group, &row); row++) {
        if (row % o->rows < o->text) continue;
        for (int64_t i = row * o->width; i < (row + 1) * o->width; i++) {
            difference += fabs((double)o->before[i] - (double)o->input[block][i]);
            size += fabs((double)o->input[block][i]);
        }
    }
    return size > 0 ? difference / size : 0;
}

static double threshold_of(const dit_cache *c, const decided *d, int64_t block)
{
    double sum = 0;
    if (!c->dynamic || d->count[block] < LEARN) return c->threshold;
    for (int i = 0; i < LEARN; i++) sum += d->values[block][i];
    return fmin(sum / LEARN * 1.25, c->threshold * 2);
}

static bool is_fixed(const dit_sampler *s, int64_t block)
{
    const dit_cache *c = s->emulates_cache;
    return block < c->first || block >= s->rt->facts.layers - c->last || (c->always[0] && c->always[block] == '1');
}

static bool must_compute(const dit_cache *c, int step)
{
    return step == 0 || step < c->warmup || (c->force[0] && c->force[step] == '1');
}

/* Decides for a block; the log's value is the nearest to its threshold, as a share of that. */
static bool decides_hit(const dit_sampler *s, block_oracle *o, int64_t group, int step, int64_t block)
{
    const dit_cache *c = s->emulates_cache;
    decided *d = &o->group[group];
    if (is_fixed(s, block)) return false;
    if (c->replay[0]) {
        int64_t bit = (int64_t)step * s->rt->facts.layers + block;
        return c->pruned[bit / 8] & 1 << bit % 8;
    }
    if (must_compute(c, step)) return false;
    double value = change_of(o, group, block), threshold = threshold_of(c, d, block);
    d->log.tests++;
    if (d->count[block] < LEARN) d->values[block][d->count[block]++] = value;
    return threshold > 0 && value < threshold;
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

static dit_status fetch(const dit_sampler *s, const block_oracle *o, float *out)
{
    int64_t elements = o->batch * o->rows * o->width;
    DIT_TRY(dit_runtime_download(s->rt, s->model->stream, elements));
    if (!s->rt->ledger.counting_only) memcpy(out, s->model->stream, (size_t)elements * sizeof *out);
    return DIT_OK;
}

static void settle(const dit_sampler *s, block_oracle *o, int64_t group, int step, int64_t block)
{
    decided *d = &o->group[group];
    bool hit = decides_hit(s, o, group, step, block);
    for (int64_t row = 0; next_row(o, group, &row); row++)
        for (int64_t i = row * o->width; i < (row + 1) * o->width; i++) {
            if (!hit) {
                o->input[block][i] = o->before[i];
                o->added[block][i] = (float)((double)o->after[i] - (double)o->before[i]);
            }
            s->model->stream[i] = hit ? (float)((double)o->before[i] + (double)o->added[block][i]) : o->after[i];
        }
    if (!hit) return;
    dit_cache_log_prune(&d->log, step, block);
    d->log.reasons[step] = DIT_CACHE_HIT;
}

/* What a later block takes by a skip is the image rows of the output that stands now. */
static dit_status put_skip(const dit_sampler *s, const block_oracle *o, int64_t block)
{
    int64_t image = (o->rows - o->text) * o->width, elements = dit_model_skip_elements(s->model);
    float *skip = s->model->skips + block * elements;
    for (int64_t entry = 0; entry < o->batch; entry++)
        memcpy(skip + entry * image, s->model->stream + (entry * o->rows + o->text) * o->width,
               (size_t)image * sizeof *skip);
    return dit_runtime_upload(s->rt, skip, elements);
}

static dit_status run_block(const dit_sampler *s, block_oracle *o, int step, int64_t block)
{
    DIT_TRY(fetch(s, o, o->before));
    DIT_TRY(dit_model_some_blocks(s->model, block, 1));
    DIT_TRY(fetch(s, o, o->after));
    if (s->rt->ledger.counting_only) return DIT_OK;
    for (int64_t group = 0; group < o->groups; group++) settle(s, o, group, step, block);
    DIT_TRY(dit_runtime_upload(s->rt, s->model->stream, o->batch * o->rows * o->width));
    return block < s->rt->facts.skips ? put_skip(s, o, block) : DIT_OK;
}

static dit_status forward(dit_sampler *s, int step)
{
    block_oracle *o = s->executor_state;
    dit_window whole = dit_model_whole(s->model, step);
    dit_model_set_window(s->model, &whole);
    for (int64_t group = 0; group < o->groups; group++) {
        o->group[group].log.reasons[step] = 'm';
        o->group[group].log.values[step] = DIT_CACHE_UNTESTED;
    }
    DIT_TRY(dit_model_begin(s->model, s->timestep));
    DIT_TRY(dit_model_embed(s->model, s->input));
    for (int64_t block = 0; block < s->rt->facts.layers; block++) DIT_TRY(run_block(s, o, step, block));
    return dit_model_head(s->model, s->output);
}

static dit_status block_oracle_run(dit_sampler *s, const dit_condition *condition)
{
    block_oracle *o = s->executor_state;
    for (int64_t group = 0; group < o->groups; group++) {
        o->group[group].log = (dit_cache_log){.steps = s->scheduler->steps};
        memset(o->group[group].count, 0, (size_t)s->rt->facts.layers * sizeof *o->group->count);
    }
    return dit_sampler_each_step(s, condition, forward);
}

static const dit_cache_log *block_oracle_log(const dit_sampler *s, int group)
{
    const block_oracle *o = s->executor_state;
    return &o->group[group].log;
}

const dit_executor dit_executor_block_oracle = {
    .name = "block-oracle", .create = block_oracle_create, .run = block_oracle_run, .cache_log = block_oracle_log};
