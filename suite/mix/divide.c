#include "suite/mix/divide.h"

#include "base/list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK = 60000, SURE = 400000, BISECTIONS = 9, DEGREES = SUITE_PARTITION_DEGREES };

/* A partition with its rule, and what it could bear at most. */
typedef struct {
    suite_division division;
    double most;
} candidate;

typedef struct {
    const suite_traffic *traffic;
    const suite_mix_times *times;
    candidate *candidates;
    int count;
} divider;

/* ---- one division as a queue ------------------------------------------------------------------------------------------- */

typedef struct {
    suite_queue_group groups[DEGREES];
    double seconds[DEGREES][SUITE_TRAFFIC_CLASSES];
    suite_queue queue;
} division_queue;

/* Small groups come first: who may go anywhere leaves large groups to those who need them. */
static void open_queue(const suite_traffic *traffic, const suite_mix_times *times, const suite_division *division,
                       division_queue *out)
{
    int groups = 0;
    for (int d = 0; d < DEGREES; d++) {
        if (!division->partition.groups[d]) continue;
        for (int k = 0; k < traffic->count; k++)
            out->seconds[groups][k] = division->routes[k] & 1u << d ? times->seconds[k][d] : NAN;
        out->groups[groups] =
            (suite_queue_group){.replicas = division->partition.groups[d], .seconds = out->seconds[groups]};
        groups++;
    }
    out->queue = (suite_queue){.groups = out->groups,
                               .group_count = groups,
                               .batch_most = 1,
                               .policy = traffic->policy,
                               .bounds_s = traffic->bounds_s,
                               .arrivals = traffic->arrivals};
}

static bool all_in_time(const suite_traffic *traffic, const suite_queue_run *run)
{
    if (run->outcome != SUITE_QUEUE_STABLE) return false;
    for (int k = 0; k < traffic->count; k++)
        if (run->class_p95[k] > traffic->classes[k].bound_s) return false;
    return true;
}

static dit_status try_rate(const divider *d, const suite_division *division, double rate, int requests,
                           suite_queue_run *run, bool *within)
{
    division_queue made;
    const suite_queue_ask ask = {.rate = rate, .quantile = 0.95, .precision = 0.004, .requests = requests};
    open_queue(d->traffic, d->times, division, &made);
    DIT_TRY(suite_queue_simulate(&made.queue, &ask, run));
    *within = all_in_time(d->traffic, run);
    return DIT_OK;
}

/* Requests a second that could be served if nobody waited. */
static double most_of(const divider *d, const suite_division *division)
{
    division_queue made;
    open_queue(d->traffic, d->times, division, &made);
    return suite_queue_most(&made.queue);
}

/* The highest rate at which every class is in time; 0: none. */
static dit_status find_rate(const divider *d, const suite_division *division, double most, double *rate)
{
    double low = 0, high = most;
    suite_queue_run run;
    bool within;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = (low + high) / 2;
        DIT_TRY(try_rate(d, division, middle, LOOK, &run, &within));
        *(within ? &low : &high) = middle;
    }
    *rate = low;
    return DIT_OK;
}

/* ---- rules --------------------------------------------------------------------------------------------------------------- */

static bool can_serve(const divider *d, int class_index, int degree)
{
    double seconds = d->times->seconds[class_index][degree];
    return seconds <= d->traffic->classes[class_index].bound_s; /* false of NAN */
}

static dit_status add(divider *d, const suite_division *division)
{
    unsigned used = 0;
    for (int k = 0; k < d->traffic->count; k++) used |= division->routes[k];
    for (int degree = 0; degree < DEGREES; degree++)
        if (division->partition.groups[degree] && !(used & 1u << degree))
            return DIT_OK; /* a group with nothing to do */
    DIT_TRY(dit_list_grow((void **)&d->candidates, d->count, sizeof *d->candidates));
    candidate *one = &d->candidates[d->count++];
    one->division = *division;
    one->most = most_of(d, division);
    return DIT_OK;
}

/* Every class from `k` on goes to one size of groups; all choices. */
static dit_status add_rules(divider *d, suite_division *division, int k)
{
    if (k == d->traffic->count) return add(d, division);
    for (int degree = 0; degree < DEGREES; degree++) {
        if (!division->partition.groups[degree] || !can_serve(d, k, degree)) continue;
        division->routes[k] = 1u << degree;
        DIT_TRY(add_rules(d, division, k + 1));
    }
    return DIT_OK;
}

/* Every class goes wherever it is in time. */
static dit_status add_open_rule(divider *d, suite_division *division)
{
    bool several = false;
    for (int k = 0; k < d->traffic->count; k++) {
        division->routes[k] = 0;
        for (int degree = 0; degree < DEGREES; degree++)
            if (division->partition.groups[degree] && can_serve(d, k, degree)) division->routes[k] |= 1u << degree;
        several = several || (division->routes[k] & (division->routes[k] - 1));
        if (!division->routes[k]) return DIT_OK;
    }
    return several ? add(d, division) : DIT_OK;
}

static int by_most(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    return (x->most < y->most) - (x->most > y->most);
}

static int sizes_of(const suite_partition *partition, int *groups)
{
    int sizes = 0;
    *groups = 0;
    for (int degree = 0; degree < DEGREES; degree++) {
        sizes += partition->groups[degree] > 0;
        *groups += partition->groups[degree];
    }
    return sizes;
}

/* ---- the best of each way --------------------------------------------------------------------------------------------------- */

static bool is_of(const suite_division *division, suite_division *way, const suite_divided *out)
{
    int groups, sizes = sizes_of(&division->partition, &groups);
    if (way == &out->one) return groups == 1;
    return way == &out->groups || sizes == 1;
}

static dit_status race(const divider *d, suite_divided *out)
{
    suite_division *const ways[] = {&out->one, &out->equal, &out->groups};
    for (int i = 0; i < d->count; i++) {
        const candidate *one = &d->candidates[i];
        double rate = -1;
        for (int way = 0; way < 3; way++) {
            if (!is_of(&one->division, ways[way], out) || one->most <= ways[way]->rate) continue;
            if (rate < 0) DIT_TRY(find_rate(d, &one->division, one->most, &rate));
            out->simulated += way == 2;
            if (rate <= ways[way]->rate) continue;
            *ways[way] = one->division;
            ways[way]->rate = rate;
            ways[way]->there = true;
        }
    }
    return DIT_OK;
}

/* Runs a winner as long as it takes to be sure; it may bear a little less than a short run said. */
static dit_status settle(const divider *d, suite_division *way)
{
    static const double step = 0.995;
    bool within = false;
    for (int i = 0; way->there && !within && i < 40; i++) {
        DIT_TRY(try_rate(d, way, way->rate, SURE, &way->run, &within));
        if (!within) way->rate *= step;
    }
    way->there = within;
    return DIT_OK;
}

static dit_status list_candidates(divider *d, int devices)
{
    suite_partition *partitions;
    int count;
    DIT_TRY(suite_partitions_of(devices, &partitions, &count));
    dit_status st = DIT_OK;
    for (int i = 0; st == DIT_OK && i < count; i++) {
        suite_division division = {.partition = partitions[i]};
        st = add_rules(d, &division, 0);
        if (st == DIT_OK) st = add_open_rule(d, &division);
    }
    free(partitions);
    return st;
}

dit_status suite_divide(const suite_traffic *traffic, const suite_mix_times *times, int devices, suite_divided *out)
{
    divider d = {.traffic = traffic, .times = times};
    *out = (suite_divided){.looked_at = 0};
    dit_status st = list_candidates(&d, devices);
    if (st == DIT_OK && d.count) qsort(d.candidates, (size_t)d.count, sizeof *d.candidates, by_most);
    out->looked_at = d.count;
    if (st == DIT_OK) st = race(&d, out);
    if (st == DIT_OK) st = settle(&d, &out->one);
    if (st == DIT_OK) st = settle(&d, &out->equal);
    if (st == DIT_OK) st = settle(&d, &out->groups);
    bool better =
        !out->groups.there || out->equal.rate > out->groups.rate; /* one that did not settle has a rate, too */
    if (st == DIT_OK && out->equal.there && better) out->groups = out->equal;
    free(d.candidates);
    return st;
}

dit_status suite_divide_rate(const suite_traffic *traffic, const suite_mix_times *times, const suite_division *division,
                             double *rate)
{
    const divider d = {.traffic = traffic, .times = times};
    *rate = 0;
    for (int k = 0; k < traffic->count; k++) {
        bool any = false;
        for (int degree = 0; degree < DEGREES; degree++)
            any = any || (division->routes[k] & 1u << degree && can_serve(&d, k, degree));
        if (!any) return DIT_OK;
    }
    return find_rate(&d, division, most_of(&d, division), rate);
}

void suite_division_text(const suite_division *division, char out[64])
{
    size_t used = 0;
    out[0] = '\0';
    for (int degree = 0; degree < DEGREES && used < 64; degree++)
        if (division->partition.groups[degree])
            used += (size_t)snprintf(out + used, 64 - used, "%s%d x %d", used ? " + " : "",
                                     division->partition.groups[degree], 1 << degree);
}
