#include "suite/queue/assignment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One assignment that is being made. */
typedef struct {
    const suite_mix *mix;
    int degrees[SUITE_PARTITION_DEVICES], groups;
    double loads[SUITE_PARTITION_DEVICES]; /* seconds of each group */
    int *order;                            /* requests, longest first */
    int *group;                            /* of each request; -1: none yet */
} board;

static double seconds_of(const suite_mix *mix, int request, int degree)
{
    return mix->seconds[(size_t)request * SUITE_PARTITION_DEGREES + (size_t)degree];
}

static double on_group(const board *b, int request, int group)
{
    return seconds_of(b->mix, request, b->degrees[group]);
}

static double longest(const board *b)
{
    double most = 0;
    for (int i = 0; i < b->groups; i++) most = fmax(most, b->loads[i]);
    return most;
}

/* ---- what may be asked --------------------------------------------------------------------------------------------- */

/* Least seconds of a request on one of the groups; INFINITY where none serves it. */
static double least_seconds(const board *b, int request)
{
    double least = INFINITY;
    for (int i = 0; i < b->groups; i++) least = fmin(least, on_group(b, request, i)); /* fmin passes NAN over */
    return least;
}

static dit_status check(const suite_mix *mix)
{
    if (mix->requests < 1 || mix->requests > SUITE_ASSIGNMENT_REQUESTS)
        return DIT_FAIL(DIT_ERR_USAGE, "%d requests: from 1 to %d", mix->requests, SUITE_ASSIGNMENT_REQUESTS);
    for (int i = 0; i < mix->requests * SUITE_PARTITION_DEGREES; i++)
        if (!isnan(mix->seconds[i]) && !(mix->seconds[i] > 0 && isfinite(mix->seconds[i])))
            return DIT_FAIL(DIT_ERR_USAGE, "request %d takes %g s on %d devices", i / SUITE_PARTITION_DEGREES,
                            mix->seconds[i], 1 << i % SUITE_PARTITION_DEGREES);
    return DIT_OK;
}

/* The request that no group serves; -1: all are served. */
static int unserved(const board *b)
{
    for (int i = 0; i < b->mix->requests; i++)
        if (!isfinite(least_seconds(b, i))) return i;
    return -1;
}

static void close_board(board *b)
{
    free(b->order);
    free(b->group);
}

typedef struct {
    double seconds;
    int request;
} sort_key;

static int by_seconds(const void *a, const void *b)
{
    const sort_key *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds > y->seconds ? -1 : 1;
    return x->request - y->request;
}

static dit_status sort_longest_first(board *b)
{
    int count = b->mix->requests;
    sort_key *keys = calloc((size_t)count + 1, sizeof *keys);
    if (!keys) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for an assignment");
    for (int i = 0; i < count; i++) keys[i] = (sort_key){least_seconds(b, i), i};
    qsort(keys, (size_t)count, sizeof *keys, by_seconds);
    for (int i = 0; i < count; i++) b->order[i] = keys[i].request;
    free(keys);
    return DIT_OK;
}

static dit_status open_board(const suite_mix *mix, const suite_partition *partition, board *b)
{
    *b = (board){.mix = mix};
    b->groups = suite_partition_groups(partition, b->degrees);
    b->order = calloc((size_t)mix->requests + 1, sizeof *b->order);
    b->group = calloc((size_t)mix->requests + 1, sizeof *b->group);
    if (!b->order || !b->group) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for an assignment");
    int request = unserved(b);
    if (request >= 0) return DIT_FAIL(DIT_ERR_USAGE, "request %d can be served by no group", request);
    return sort_longest_first(b);
}

/* ---- by rules ------------------------------------------------------------------------------------------------------ */

static void put(board *b, int request, int group)
{
    b->group[request] = group;
    b->loads[group] += on_group(b, request, group);
}

/* Each request to the group on which it ends first, longest first. */
static void longest_first(board *b)
{
    memset(b->loads, 0, sizeof b->loads);
    for (int i = 0; i < b->mix->requests; i++) {
        int best = -1;
        double soonest = INFINITY;
        for (int group = 0; group < b->groups; group++) {
            double end = b->loads[group] + on_group(b, b->order[i], group);
            if (!(end < soonest)) continue;
            soonest = end;
            best = group;
        }
        put(b, b->order[i], best);
    }
}

static int longest_group(const board *b)
{
    int most = 0;
    for (int i = 1; i < b->groups; i++)
        if (b->loads[i] > b->loads[most]) most = i;
    return most;
}

/* Whether the two groups would both end sooner than the longest one does, with these loads. */
static bool helps(const board *b, int from, double load_from, double load_to)
{
    return fmax(load_from, load_to) < b->loads[from] * (1 - 1e-12);
}

static bool move_one(board *b, int from)
{
    for (int i = 0; i < b->mix->requests; i++) {
        if (b->group[i] != from) continue;
        for (int to = 0; to < b->groups; to++) {
            double load_from = b->loads[from] - on_group(b, i, from), load_to = b->loads[to] + on_group(b, i, to);
            if (to == from || isnan(load_to) || !helps(b, from, load_from, load_to)) continue;
            b->loads[from] = load_from;
            b->loads[to] = load_to;
            b->group[i] = to;
            return true;
        }
    }
    return false;
}

static bool swap_pair(board *b, int from, int i, int j)
{
    int to = b->group[j];
    double load_from = b->loads[from] - on_group(b, i, from) + on_group(b, j, from);
    double load_to = b->loads[to] - on_group(b, j, to) + on_group(b, i, to);
    if (to == from || isnan(load_from) || isnan(load_to) || !helps(b, from, load_from, load_to)) return false;
    b->loads[from] = load_from;
    b->loads[to] = load_to;
    b->group[i] = to;
    b->group[j] = from;
    return true;
}

static bool swap_one(board *b, int from)
{
    for (int i = 0; i < b->mix->requests; i++) {
        if (b->group[i] != from) continue;
        for (int j = 0; j < b->mix->requests; j++)
            if (swap_pair(b, from, i, j)) return true;
    }
    return false;
}

static void exchange(board *b)
{
    enum { ROUNDS = 100000 }; /* each makes the longest group shorter, or one of several */
    for (int round = 0; round < ROUNDS; round++) {
        int from = longest_group(b);
        if (!move_one(b, from) && !swap_one(b, from)) return;
    }
}

/* ---- by search ----------------------------------------------------------------------------------------------------- */

typedef struct {
    board *b;
    double best, devices;
    double rest[SUITE_ASSIGNMENT_EXACT + 1]; /* fewest device-seconds of the requests from there on */
    int best_group[SUITE_ASSIGNMENT_EXACT];
} search;

/* Fewest device-seconds of a request on one of the groups. */
static double least_work(const board *b, int request)
{
    double least = INFINITY;
    for (int i = 0; i < b->groups; i++) least = fmin(least, on_group(b, request, i) * (1 << b->degrees[i]));
    return least;
}

/* Whether a group before it is of the same degree and equally loaded: then that one has been tried. */
static bool is_twin(const board *b, int group)
{
    for (int i = 0; i < group; i++)
        if (b->degrees[i] == b->degrees[group] && b->loads[i] == b->loads[group]) return true;
    return false;
}

static double work_so_far(const board *b)
{
    double work = 0;
    for (int i = 0; i < b->groups; i++) work += b->loads[i] * (1 << b->degrees[i]);
    return work;
}

static void try_from(search *s, int index)
{
    board *b = s->b;
    if (longest(b) >= s->best || (work_so_far(b) + s->rest[index]) / s->devices >= s->best) return;
    if (index == b->mix->requests) {
        s->best = longest(b);
        memcpy(s->best_group, b->group, (size_t)index * sizeof *s->best_group);
        return;
    }
    int request = b->order[index];
    for (int group = 0; group < b->groups; group++) {
        double seconds = on_group(b, request, group), before = b->loads[group];
        if (isnan(seconds) || is_twin(b, group)) continue;
        b->group[request] = group;
        b->loads[group] = before + seconds;
        try_from(s, index + 1);
        b->loads[group] = before;
    }
}

/* Begins with what the rules found, and finds only what is sooner. */
static void search_all(board *b)
{
    search s = {.b = b, .best = longest(b)};
    int count = b->mix->requests;
    memcpy(s.best_group, b->group, (size_t)count * sizeof *s.best_group);
    for (int i = 0; i < b->groups; i++) s.devices += 1 << b->degrees[i];
    for (int i = count - 1; i >= 0; i--) s.rest[i] = s.rest[i + 1] + least_work(b, b->order[i]);
    memset(b->loads, 0, sizeof b->loads);
    try_from(&s, 0);
    memset(b->loads, 0, sizeof b->loads);
    for (int i = 0; i < count; i++) put(b, i, s.best_group[i]);
}

/* ---- answers ------------------------------------------------------------------------------------------------------- */

static dit_status assign(const suite_mix *mix, const suite_partition *partition, bool may_search, suite_assignment *out)
{
    board b;
    *out = (suite_assignment){.partition = *partition};
    dit_status st = open_board(mix, partition, &b);
    if (st == DIT_OK) {
        longest_first(&b);
        exchange(&b);
        out->exact = may_search && mix->requests <= SUITE_ASSIGNMENT_EXACT;
        if (out->exact) search_all(&b);
        out->seconds = longest(&b);
        out->group = b.group;
        b.group = NULL;
    }
    close_board(&b);
    return st;
}

dit_status suite_assign(const suite_mix *mix, const suite_partition *partition, suite_assignment *out)
{
    *out = (suite_assignment){.seconds = 0};
    DIT_TRY(check(mix));
    return assign(mix, partition, true, out);
}

dit_status suite_assign_by_rules(const suite_mix *mix, const suite_partition *partition, suite_assignment *out)
{
    *out = (suite_assignment){.seconds = 0};
    DIT_TRY(check(mix));
    return assign(mix, partition, false, out);
}

void suite_assignment_release(suite_assignment *assignment)
{
    free(assignment->group);
    *assignment = (suite_assignment){.seconds = 0};
}

static bool serves_all(const suite_mix *mix, const suite_partition *partition)
{
    board b = {.mix = mix};
    b.groups = suite_partition_groups(partition, b.degrees);
    return unserved(&b) < 0;
}

static bool is_equal(const suite_partition *partition)
{
    int degrees = 0;
    for (int i = 0; i < SUITE_PARTITION_DEGREES; i++) degrees += partition->groups[i] > 0;
    return degrees == 1;
}

/* Keeps the sooner of two, and releases the other. */
static void keep(suite_assignment *best, suite_assignment *one)
{
    bool sooner = one->seconds < best->seconds;
    suite_assignment_release(sooner ? best : one);
    if (sooner) *best = *one;
}

static dit_status copy(const suite_mix *mix, const suite_assignment *of, suite_assignment *out)
{
    size_t bytes = (size_t)mix->requests * sizeof *of->group;
    *out = *of;
    out->group = malloc(bytes);
    if (!out->group) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for an assignment");
    memcpy(out->group, of->group, bytes);
    return DIT_OK;
}

static dit_status try_partition(const suite_mix *mix, const suite_partition *partition, suite_assignment *best,
                                suite_assignment *best_equal)
{
    suite_assignment one, equal;
    if (!serves_all(mix, partition)) return DIT_OK;
    DIT_TRY(assign(mix, partition, true, &one));
    dit_status st = is_equal(partition) ? copy(mix, &one, &equal) : DIT_OK;
    keep(best, &one);
    if (st == DIT_OK && is_equal(partition)) keep(best_equal, &equal);
    return st;
}

dit_status suite_assign_best(const suite_mix *mix, int devices, suite_assignment *best, suite_assignment *best_equal)
{
    suite_partition *list;
    int count;
    *best = *best_equal = (suite_assignment){.seconds = INFINITY};
    DIT_TRY(check(mix));
    DIT_TRY(suite_partitions_of(devices, &list, &count));
    dit_status st = DIT_OK;
    for (int i = 0; i < count && st == DIT_OK; i++) st = try_partition(mix, &list[i], best, best_equal);
    free(list);
    if (st == DIT_OK && !best->group)
        st = DIT_FAIL(DIT_ERR_USAGE, "no partition of %d devices serves all requests", devices);
    if (st != DIT_OK) {
        suite_assignment_release(best);
        suite_assignment_release(best_equal);
    }
    return st;
}

double suite_assignment_bound(const suite_mix *mix, int devices)
{
    double work = 0, alone = 0;
    for (int i = 0; i < mix->requests; i++) {
        double least = INFINITY, seconds = INFINITY;
        for (int d = 0; d < SUITE_PARTITION_DEGREES && 1 << d <= devices; d++) {
            least = fmin(least, seconds_of(mix, i, d) * (1 << d));
            seconds = fmin(seconds, seconds_of(mix, i, d));
        }
        work += least;
        alone = fmax(alone, seconds);
    }
    return fmax(work / devices, alone);
}
