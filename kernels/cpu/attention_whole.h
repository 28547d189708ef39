/* Attention by whole rows of scores, as a chain of operators computes it: all scores of a head go to memory, are read
 * and written once more by the softmax, and are read a third time to weigh the values. The tiled kernel beside it
 * (cpu/attention.h), with which it shares the tile and the softmax, keeps them in its caches and leaves out what a mask
 * hides; here the mask strikes scores out that were computed.
 *
 * Scores of a block of TILE_WIDTH queries are one panel [Sk][TILE_WIDTH], transposed as there.
 */
#ifndef DIT_KERNELS_CPU_ATTENTION_WHOLE_H
#define DIT_KERNELS_CPU_ATTENTION_WHOLE_H

#include "kernels/cpu/attention.h"

_Static_assert(DIT_ATTENTION_SCORE_ROWS % TILE_WIDTH == 0, "panels fit the room that callers give");

/* One head of one batch entry. */
typedef struct {
    const attention_plan *plan;
    int64_t b, h;
} attention_head;

/* The blocks of queries of one job. */
typedef struct {
    const dit_attention_args *a;
    attention_scratch s;
    int64_t first, end;
} attention_stretch;

static attention_stretch attention_stretch_of(const attention_head *head, int64_t job, int worker)
{
    const attention_plan *plan = head->plan;
    int64_t blocks = (plan->args->Sq + TILE_WIDTH - 1) / TILE_WIDTH, first = job * plan->blocks_per_job;
    return (attention_stretch){.a = plan->args,
                               .s = attention_layout(plan, worker),
                               .first = first,
                               .end = attention_min(first + plan->blocks_per_job, blocks)};
}

/* The scores of keys from `key` on with a block of queries. */
static float *attention_panel(const dit_attention_args *a, int64_t block, int64_t key)
{
    return a->scores + (block * a->Sk + key) * TILE_WIDTH;
}

static int64_t attention_rows_of(const dit_attention_args *a, int64_t block)
{
    return attention_min(TILE_WIDTH, a->Sq - block * TILE_WIDTH);
}

static int64_t attention_key_head(const dit_attention_args *a, int64_t h)
{
    return (a->kv_first + h) / (a->kv_group ? a->kv_group : 1);
}

/* S^T = K Q^T of one block, with what the mask hides struck out; keys and queries are packed. */
static void attention_score_block(const attention_stretch *t, int64_t key, int64_t count, int64_t block)
{
    const dit_attention_args *a = t->a;
    int64_t row = block * TILE_WIDTH, rows = attention_rows_of(a, block);
    float *p = attention_panel(a, block, key);
    tile_rows(count, TILE_VECTORS,
              (tile_args){.depth = a->D,
                          .a = t->s.k,
                          .a_row = a->D,
                          .a_depth = 1,
                          .b_depth = TILE_WIDTH,
                          .b = t->s.queries + (block - t->first) * a->D * TILE_WIDTH,
                          .c = p,
                          .c_row = TILE_WIDTH,
                          .prefetch = t->s.k});
    if (a->cap > 0) attention_cap(p, count, a->cap);
    if (a->mask)
        attention_strike_masked(p, count, a->k_position + key, rows, a->q_position + row, a->mask);
    else if (a->q_position)
        attention_strike_out(p, count, a->k_position + key, rows, a->q_position + row);
}

/* Pass 1: all scores. */
static void attention_score_jobs(void *context, int64_t begin, int64_t end, int worker)
{
    const attention_head *head = context;
    for (int64_t job = begin; job < end; job++) {
        attention_stretch t = attention_stretch_of(head, job, worker);
        const dit_attention_args *a = t.a;
        const float *q = a->q + head->b * a->batch_q + head->h * a->D;
        const float *k = a->k + head->b * a->batch_k + attention_key_head(a, head->h) * a->D;
        for (int64_t block = t.first; block < t.end; block++)
            attention_load_queries(a, q + block * TILE_WIDTH * a->ldq, attention_rows_of(a, block),
                                   t.s.queries + (block - t.first) * a->D * TILE_WIDTH);
        for (int64_t key = 0; key < a->Sk; key += head->plan->keys) {
            int64_t count = attention_min(head->plan->keys, a->Sk - key);
            attention_pack(k + key * a->ldk, a->ldk, count, a->D, t.s.k);
            for (int64_t block = t.first; block < t.end; block++) attention_score_block(&t, key, count, block);
        }
    }
}

/* Pass 2: the softmax of whole rows, divided by their sums. */
static void attention_softmax_jobs(void *context, int64_t begin, int64_t end, int worker)
{
    const attention_head *head = context;
    const dit_attention_args *a = head->plan->args;
    attention_scratch s = attention_layout(head->plan, worker);
    for (int64_t block = begin; block < end; block++) {
        int64_t rows = attention_rows_of(a, block);
        float *panel = attention_panel(a, block, 0);
        for (int i = 0; i < TILE_WIDTH; i++) s.max[i] = ATTENTION_UNSEEN, s.total[i] = 0;
        attention_softmax(a->Sk, 0, TILE_VECTORS, panel, s.max, s.total, s.sums);
        attention_clear_unseen(s.max, s.total, rows);
        attention_divide(a->Sk, panel, s.total);
        for (int64_t i = 0; i < rows && a->lse; i++)
            a->lse[(head->b * a->H + head->h) * a->Sq + block * TILE_WIDTH + i] = attention_lse(s.max[i], s.total[i]);
    }
}

/* O^T += V^T P^T of one block, with packed values. */
static void attention_weigh_block(const attention_stretch *t, int64_t key, int64_t count, int64_t block)
{
    const float *p = attention_panel(t->a, block, key);
    tile_rows(t->a->D, TILE_VECTORS,
              (tile_args){.depth = count,
                          .a = t->s.v,
                          .a_row = 1,
                          .a_depth = t->a->D,
                          .b_depth = TILE_WIDTH,
                          .b = p,
                          .c = t->s.sums + (block - t->first) * t->a->D * TILE_WIDTH,
                          .c_row = TILE_WIDTH,
                          .prefetch = p,
                          .accumulate = true});
}

/* Pass 3: the output. */
static void attention_weigh_jobs(void *context, int64_t begin, int64_t end, int worker)
{
    const attention_head *head = context;
    for (int64_t job = begin; job < end; job++) {
        attention_stretch t = attention_stretch_of(head, job, worker);
        const dit_attention_args *a = t.a;
        const float *v = a->v + head->b * a->batch_v + attention_key_head(a, head->h) * a->D;
        float *out = a->out + head->b * a->batch_o + head->h * a->D;
        memset(t.s.sums, 0, (size_t)((t.end - t.first) * a->D * TILE_WIDTH) * sizeof(float));
        for (int64_t key = 0; key < a->Sk; key += head->plan->keys) {
            int64_t count = attention_min(head->plan->keys, a->Sk - key);
            attention_pack(v + key * a->ldv, a->ldv, count, a->D, t.s.v);
            for (int64_t block = t.first; block < t.end; block++) attention_weigh_block(&t, key, count, block);
        }
        for (int64_t block = t.first; block < t.end; block++)
            attention_transpose(a->D, attention_rows_of(a, block), t.s.sums + (block - t.first) * a->D * TILE_WIDTH,
                                TILE_WIDTH, out + block * TILE_WIDTH * a->ldo, a->ldo);
    }
}

/* Head after head through the room for scores, which one head fills. */
static void cpu_attention_whole(dit_pool *pool, const dit_attention_args *args)
{
    dit_attention_args one_head = *args;
    one_head.B = one_head.H = 1;
    attention_plan plan = attention_make_plan(pool, &one_head);
    plan.args = args;
    for (int64_t i = 0; i < args->B * args->H; i++) {
        attention_head head = {.plan = &plan, .b = i / args->H, .h = i % args->H};
        dit_pool_run(pool, plan.jobs_per_head, 1, attention_score_jobs, &head);
        dit_pool_run(pool, (args->Sq + TILE_WIDTH - 1) / TILE_WIDTH, 1, attention_softmax_jobs, &head);
        dit_pool_run(pool, plan.jobs_per_head, 1, attention_weigh_jobs, &head);
    }
}

static void cpu_attention(dit_pool *pool, const dit_attention_args *args)
{
    if (args->scores)
        cpu_attention_whole(pool, args);
    else
        cpu_attention_tiled(pool, args);
}

#endif
