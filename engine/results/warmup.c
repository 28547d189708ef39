#include "engine/results/warmup.h"

#include <stdlib.h>

dit_status dit_warmup_init(dit_measurement *m, const dit_case *kase)
{
    m->warmup_runs = kase->warmup_runs;
    m->warmup_most = kase->warmup_most > kase->warmup_runs ? kase->warmup_most : kase->warmup_runs;
    m->warmup_ns = calloc((size_t)m->warmup_most + 1, sizeof *m->warmup_ns);
    return m->warmup_ns ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d warm-up runs", m->warmup_most);
}

bool dit_warmup_is_over(const int64_t *latency_ns, int count)
{
    if (count < 2) return false;
    double last = (double)latency_ns[count - 1], before = (double)latency_ns[count - 2];
    double shorter = last < before ? last : before, longer = last < before ? before : last;
    return longer - shorter <= DIT_WARMUP_NEAR * shorter;
}

/* Ranks end a run at slightly different times; the sum over them is the number that all of them have. */
static dit_status add_over_ranks(int64_t own_ns, int64_t *sum_ns)
{
    dit_comm *world = dit_comm_world();
    int size = dit_comm_size(world);
    double value = (double)own_ns, *gathered = malloc((size_t)size * sizeof *gathered);
    if (!gathered) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the times of %d ranks", size);
    dit_status st = size > 1 ? dit_comm_all_reduce(world, &value, 1, gathered) : DIT_OK;
    free(gathered);
    *sum_ns = (int64_t)value;
    return st;
}

dit_status dit_warmup_run(dit_measurement *m, dit_status (*run)(void *context, int64_t *latency_ns), void *context)
{
    const int least = m->warmup_runs, most = m->warmup_most;
    int64_t *sums = calloc((size_t)most + 1, sizeof *sums);
    dit_status st = sums ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d warm-up runs", most);
    bool steady = false;
    int done = 0;
    while (st == DIT_OK && done < most && !(steady && done >= least)) {
        st = run(context, &m->warmup_ns[done]);
        if (st == DIT_OK && most > least) st = add_over_ranks(m->warmup_ns[done], &sums[done]);
        done++;
        steady = most > least && dit_warmup_is_over(sums, done);
    }
    m->warmup_runs = done;
    m->warmup_end = most == least ? "count" : steady ? "steady" : "limit";
    free(sums);
    return st;
}
