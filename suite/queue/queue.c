#include "suite/queue/queue.h"

#include "base/list.h"
#include "suite/queue/event_heap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_LOOK = 20000,    /* requests after which a run is looked at first; then after twice as many each time */
    MOST_WAITING = 200000, /* requests in line: nobody's backlog goes away from there                          */
    BACKLOG = 10,          /* nor one of a tenth of all requests at their end, if those are                    */
    LEAST_BACKLOG = 1000,  /* so many                                                                          */
    DROPPED = 10,          /* the first tenth is not counted                                                    */
    JITTER_STREAM = 5
};
static const double turn = 6.283185307179586;
static const double sure = 3; /* a bound so many half widths away is not met by chance */

enum { ARRIVES, DEPARTS, WAITED };

/* Requests, in order of arrival. */
typedef struct {
    double *arrived, *latency, *wait; /* latency NAN: still there */
    int32_t *next;                    /* in its line or its batch; -1: none */
    uint8_t *class_of;
} request_table;

/* A batch that is served. */
typedef struct {
    int first, group;
    double started;
} batch_slot;

typedef struct {
    int head, tail; /* of the class's line; -1: empty */
    int waiting;
} class_line;

typedef struct {
    const suite_queue *queue;
    double rate;
    int64_t most; /* requests that come at all */
    suite_event_heap heap;
    request_table requests;
    class_line lines[SUITE_QUEUE_CLASSES];
    int class_count, waiting, there;
    int idle[SUITE_QUEUE_GROUPS], running; /* replicas: idle ones of each group, all that are up */
    batch_slot *slots;
    int *free_slots, free_count;
    int64_t came, prefix; /* requests that have come; of which the first `prefix` are done */
    double now, area, busy_area;
    int64_t batches, batched;
    bool endless, flooded; /* endless: requests would go on coming */
} line_run;

static dit_status fail_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a queue");
}

/* ---- what is asked ------------------------------------------------------------------------------------------------- */

static int class_count_of(const suite_queue *queue)
{
    int count = queue->arrivals.class_count;
    return count > 1 ? count : 1;
}

static const double *seconds_of(const suite_queue *queue, int group, int class_index)
{
    return queue->groups[group].seconds + (size_t)class_index * (size_t)queue->batch_most;
}

static int running_of(const suite_queue_group *group)
{
    return group->replicas - group->missing;
}

static bool serves(const suite_queue *queue, int group, int class_index)
{
    return running_of(&queue->groups[group]) > 0 && !isnan(seconds_of(queue, group, class_index)[0]);
}

static dit_status check_seconds(const suite_queue *queue, int group, int class_index)
{
    const double *seconds = seconds_of(queue, group, class_index);
    if (isnan(seconds[0])) return DIT_OK;
    for (int b = 0; b < queue->batch_most; b++)
        if (!(seconds[b] > 0 && isfinite(seconds[b]) && (!b || seconds[b] >= seconds[b - 1])))
            return DIT_FAIL(
                DIT_ERR_USAGE,
                "group %d serves %d requests of class %d in %g s: a time is above 0 and not less than that of "
                "a smaller batch",
                group, b + 1, class_index, seconds[b]);
    return DIT_OK;
}

static dit_status check_group(const suite_queue *queue, int group)
{
    const suite_queue_group *one = &queue->groups[group];
    if (one->replicas < 0 || one->replicas > SUITE_QUEUE_REPLICAS || one->missing < 0 || one->missing > one->replicas)
        return DIT_FAIL(DIT_ERR_USAGE, "group %d: %d replicas, of which %d are missing", group, one->replicas,
                        one->missing);
    for (int k = 0; k < class_count_of(queue); k++) DIT_TRY(check_seconds(queue, group, k));
    return DIT_OK;
}

static dit_status check_trace(const suite_trace *trace, int classes)
{
    if (!trace || trace->count < 1) return DIT_FAIL(DIT_ERR_USAGE, "a trace without requests");
    for (int i = 0; i < trace->count; i++)
        if (trace->classes[i] < 0 || trace->classes[i] >= classes)
            return DIT_FAIL(DIT_ERR_USAGE, "request %d of the trace is of class %d: there are %d", i, trace->classes[i],
                            classes);
    return DIT_OK;
}

static dit_status check_weights(const double *weights, int classes)
{
    double sum = 0;
    for (int k = 0; k < classes; k++) {
        if (!(weights[k] >= 0 && isfinite(weights[k])))
            return DIT_FAIL(DIT_ERR_USAGE, "class %d has a weight of %g", k, weights[k]);
        sum += weights[k];
    }
    if (sum > 0 && isfinite(sum)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_USAGE, "the weights of %d classes add up to %g, so that they are no shares", classes, sum);
}

static dit_status check_arrivals(const suite_arrivals *arrivals, int classes)
{
    if (arrivals->law == SUITE_ARRIVALS_TRACE) return check_trace(arrivals->trace, classes);
    return classes > 1 ? check_weights(arrivals->weights, classes) : DIT_OK;
}

static dit_status check_class(const suite_queue *queue, int class_index)
{
    if (!(suite_arrivals_share(&queue->arrivals, class_index) > 0)) return DIT_OK;
    for (int group = 0; group < queue->group_count; group++)
        if (serves(queue, group, class_index)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_USAGE, "no group serves class %d", class_index);
}

const char *const *suite_queue_policy_names(void)
{
    static const char *const names[SUITE_POLICY_COUNT + 1] = {"fifo", "sjf", "edf", NULL};
    return names;
}

dit_status suite_queue_check(const suite_queue *queue)
{
    int classes = class_count_of(queue);
    if (queue->group_count < 1 || queue->group_count > SUITE_QUEUE_GROUPS || classes > SUITE_QUEUE_CLASSES)
        return DIT_FAIL(DIT_ERR_USAGE, "%d groups and %d classes: at least one, at most %d and %d", queue->group_count,
                        classes, SUITE_QUEUE_GROUPS, SUITE_QUEUE_CLASSES);
    if (queue->batch_most < 1 || queue->batch_most > SUITE_QUEUE_BATCH || !(queue->batch_wait_s >= 0) ||
        !isfinite(queue->batch_wait_s))
        return DIT_FAIL(DIT_ERR_USAGE, "batches of at most %d that wait at most %g s", queue->batch_most,
                        queue->batch_wait_s);
    if (queue->policy == SUITE_POLICY_EDF && !queue->bounds_s)
        return DIT_FAIL(DIT_ERR_USAGE, "policy edf without bounds: whose ends first is not known");
    if (!(queue->jitter >= 0 && queue->jitter <= 10))
        return DIT_FAIL(DIT_ERR_USAGE, "a jitter of %g is not in 0 to 10", queue->jitter);
    for (int i = 0; i < queue->group_count; i++) DIT_TRY(check_group(queue, i));
    DIT_TRY(check_arrivals(&queue->arrivals, classes));
    for (int k = 0; k < classes; k++) DIT_TRY(check_class(queue, k));
    return DIT_OK;
}

static dit_status check_ask(const suite_queue *queue, const suite_queue_ask *ask)
{
    bool trace = queue->arrivals.law == SUITE_ARRIVALS_TRACE;
    if (!(ask->rate > 0 || (trace && ask->rate == 0)) || !isfinite(ask->rate))
        return DIT_FAIL(DIT_ERR_USAGE, "a rate of %g requests in a second", ask->rate);
    if (!(ask->quantile > 0 && ask->quantile < 1) || !(ask->precision > 0) || !(ask->bound_s >= 0))
        return DIT_FAIL(DIT_ERR_USAGE, "quantile %g, precision %g, bound %g s", ask->quantile, ask->precision,
                        ask->bound_s);
    if (ask->requests < 0 || ask->requests > SUITE_QUEUE_REQUESTS)
        return DIT_FAIL(DIT_ERR_USAGE, "%lld requests: at most %d", (long long)ask->requests, SUITE_QUEUE_REQUESTS);
    return DIT_OK;
}

/* ---- load ---------------------------------------------------------------------------------------------------------- */

/* Least seconds of one replica of the group for a request of the class, in the best batch; INFINITY where the group does
 * not serve it. */
static double least_work(const suite_queue *queue, int group, int class_index)
{
    double least = INFINITY;
    for (int b = 0; b < queue->batch_most && serves(queue, group, class_index); b++)
        least = fmin(least, seconds_of(queue, group, class_index)[b] / (b + 1));
    return least;
}

/* The only class that requests are of; -1: there are several. */
static int only_class(const suite_queue *queue)
{
    int only = -1;
    for (int k = 0; k < class_count_of(queue); k++) {
        if (!(suite_arrivals_share(&queue->arrivals, k) > 0)) continue;
        if (only >= 0) return -1;
        only = k;
    }
    return only;
}

/* All replicas, as if each were in the group that is best for the class at hand. */
static double most_of_mix(const suite_queue *queue)
{
    double work = 0, replicas = 0;
    for (int k = 0; k < class_count_of(queue); k++) {
        double share = suite_arrivals_share(&queue->arrivals, k), least = INFINITY;
        for (int group = 0; group < queue->group_count; group++) least = fmin(least, least_work(queue, group, k));
        if (share > 0) work += share * least;
    }
    for (int i = 0; i < queue->group_count; i++) replicas += running_of(&queue->groups[i]);
    return work > 0 ? replicas / work : 0;
}

double suite_queue_most(const suite_queue *queue)
{
    int only = only_class(queue);
    double most = 0;
    if (only < 0) return most_of_mix(queue);
    for (int i = 0; i < queue->group_count; i++) most += running_of(&queue->groups[i]) / least_work(queue, i, only);
    return most;
}

/* ---- requests ------------------------------------------------------------------------------------------------------ */

/* Makes room for one more. */
static dit_status make_room(request_table *table, int count)
{
    DIT_TRY(dit_list_grow((void **)&table->arrived, count, sizeof *table->arrived));
    DIT_TRY(dit_list_grow((void **)&table->latency, count, sizeof *table->latency));
    DIT_TRY(dit_list_grow((void **)&table->wait, count, sizeof *table->wait));
    DIT_TRY(dit_list_grow((void **)&table->next, count, sizeof *table->next));
    return dit_list_grow((void **)&table->class_of, count, sizeof *table->class_of);
}

static void release(line_run *run)
{
    suite_event_heap_release(&run->heap);
    free(run->requests.arrived);
    free(run->requests.latency);
    free(run->requests.wait);
    free(run->requests.next);
    free(run->requests.class_of);
    free(run->slots);
    free(run->free_slots);
}

static dit_status open_run(const suite_queue *queue, const suite_queue_ask *ask, line_run *run)
{
    const suite_trace *trace = queue->arrivals.trace;
    bool own_rate = queue->arrivals.law == SUITE_ARRIVALS_TRACE && ask->rate == 0;
    *run = (line_run){.queue = queue, .rate = own_rate ? suite_trace_rate(trace) : ask->rate, .endless = !own_rate};
    run->most = own_rate ? trace->count : ask->requests ? ask->requests : SUITE_QUEUE_REQUESTS;
    run->class_count = class_count_of(queue);
    for (int k = 0; k < run->class_count; k++) run->lines[k] = (class_line){-1, -1, 0};
    for (int i = 0; i < queue->group_count; i++) {
        run->idle[i] = running_of(&queue->groups[i]);
        run->running += run->idle[i];
    }
    run->slots = calloc((size_t)run->running + 1, sizeof *run->slots);
    run->free_slots = calloc((size_t)run->running + 1, sizeof *run->free_slots);
    if (!run->slots || !run->free_slots) return fail_memory();
    for (int i = 0; i < run->running; i++) run->free_slots[run->free_count++] = i;
    return DIT_OK;
}

/* ---- events -------------------------------------------------------------------------------------------------------- */

/* Moves the clock, and the sums under it. */
static void move_to(line_run *run, double second)
{
    double passed = second - run->now;
    run->area += passed * run->there;
    run->busy_area += passed * (run->running - run->free_count);
    run->now = second;
}

/* Gaps are in mean gaps. Requests of a trace that takes no time all come at once. */
static dit_status plan_arrival(line_run *run)
{
    if (run->came == run->most) return DIT_OK;
    double gap = suite_arrivals_gap(&run->queue->arrivals, run->came);
    double passed = run->rate > 0 ? gap / run->rate : 0;
    return suite_event_push(&run->heap, (suite_event){.second = run->now + passed, .kind = ARRIVES});
}

static dit_status plan_timer(line_run *run, int class_index)
{
    const class_line *line = &run->lines[class_index];
    if (run->queue->batch_most == 1 || run->queue->batch_wait_s <= 0 || line->head < 0) return DIT_OK;
    double second = run->requests.arrived[line->head] + run->queue->batch_wait_s;
    if (second < run->now) return DIT_OK;
    return suite_event_push(&run->heap, (suite_event){.second = second, .kind = WAITED, .who = class_index});
}

static bool is_flooded(const line_run *run)
{
    if (!run->endless) return false; /* a trace has an end, and so has its line */
    if (run->waiting > MOST_WAITING) return true;
    return run->came == run->most && run->waiting > LEAST_BACKLOG && (int64_t)run->waiting * BACKLOG > run->came;
}

static dit_status arrive(line_run *run)
{
    int64_t who = run->came;
    DIT_TRY(make_room(&run->requests, (int)who)); /* at most SUITE_QUEUE_REQUESTS */
    run->came++;
    int class_index = suite_arrivals_class(&run->queue->arrivals, who);
    class_line *line = &run->lines[class_index];
    run->requests.arrived[who] = run->now;
    run->requests.latency[who] = NAN;
    run->requests.next[who] = -1;
    run->requests.class_of[who] = (uint8_t)class_index;
    if (line->tail >= 0) run->requests.next[line->tail] = (int32_t)who;
    line->tail = (int)who;
    run->there++;
    run->waiting++;
    run->flooded = is_flooded(run);
    if (line->waiting++ == 0) {
        line->head = (int)who;
        DIT_TRY(plan_timer(run, class_index));
    }
    return plan_arrival(run);
}

static void depart(line_run *run, int slot)
{
    const batch_slot *batch = &run->slots[slot];
    for (int who = batch->first; who >= 0; who = run->requests.next[who]) {
        run->requests.latency[who] = run->now - run->requests.arrived[who];
        run->there--;
    }
    run->idle[batch->group]++;
    run->free_slots[run->free_count++] = slot;
    while (run->prefix < run->came && !isnan(run->requests.latency[run->prefix])) run->prefix++;
}

/* ---- who is next --------------------------------------------------------------------------------------------------- */

static bool is_ready(const line_run *run, int class_index)
{
    const class_line *line = &run->lines[class_index];
    if (!line->waiting) return false;
    return line->waiting >= run->queue->batch_most ||
           run->now >= run->requests.arrived[line->head] + run->queue->batch_wait_s;
}

static int free_group(const line_run *run, int class_index)
{
    for (int i = 0; i < run->queue->group_count; i++)
        if (run->idle[i] > 0 && serves(run->queue, i, class_index)) return i;
    return -1;
}

/* What the rule looks at, of the first request of a class: less is sooner. */
static double urgency(const line_run *run, int class_index, int group)
{
    double arrived = run->requests.arrived[run->lines[class_index].head];
    switch (run->queue->policy) {
    case SUITE_POLICY_SJF: return seconds_of(run->queue, group, class_index)[0];
    case SUITE_POLICY_EDF: return arrived + run->queue->bounds_s[class_index];
    default: return arrived;
    }
}

/* Of equal ones the one that came first. */
static int next_class(const line_run *run)
{
    int best = -1;
    double least = 0;
    for (int k = 0; k < run->class_count; k++) {
        int group = is_ready(run, k) ? free_group(run, k) : -1;
        double own = group >= 0 ? urgency(run, k, group) : 0;
        if (group < 0) continue;
        bool sooner = own < least || (own <= least && run->lines[k].head < run->lines[best >= 0 ? best : k].head);
        if (best < 0 || sooner) best = k, least = own;
    }
    return best;
}

/* By which the service time of a batch that begins with this request is multiplied. */
static double jitter_of(const suite_queue *queue, int who)
{
    uint64_t seed = queue->arrivals.seed, index = 2 * (uint64_t)who;
    if (queue->jitter_law == SUITE_JITTER_NONE) return 1;
    double first = suite_arrivals_uniform(seed, JITTER_STREAM, index);
    if (queue->jitter_law == SUITE_JITTER_EXPONENTIAL) return -log(first);
    double variance = log1p(queue->jitter * queue->jitter);
    double normal = sqrt(-2 * log(first)) * cos(turn * suite_arrivals_uniform(seed, JITTER_STREAM, index + 1));
    return exp(sqrt(variance) * normal - variance / 2);
}

/* Takes the first of the line, as many as make a batch, out of it; returns how many. */
static int take_batch(line_run *run, int class_index, int *first)
{
    class_line *line = &run->lines[class_index];
    int size = line->waiting < run->queue->batch_most ? line->waiting : run->queue->batch_most, last = line->head;
    *first = line->head;
    for (int i = 1; i < size; i++) last = run->requests.next[last];
    line->head = run->requests.next[last];
    run->requests.next[last] = -1;
    line->waiting -= size;
    run->waiting -= size;
    if (line->head < 0) line->tail = -1;
    return size;
}

static dit_status start(line_run *run, int class_index)
{
    int group = free_group(run, class_index), first;
    int size = take_batch(run, class_index, &first), slot = run->free_slots[--run->free_count];
    double seconds = seconds_of(run->queue, group, class_index)[size - 1] * jitter_of(run->queue, first);
    run->slots[slot] = (batch_slot){first, group, run->now};
    run->idle[group]--;
    run->batches++;
    run->batched += size;
    for (int who = first; who >= 0; who = run->requests.next[who])
        run->requests.wait[who] = run->now - run->requests.arrived[who];
    DIT_TRY(suite_event_push(&run->heap, (suite_event){.second = run->now + seconds, .kind = DEPARTS, .who = slot}));
    return plan_timer(run, class_index);
}

/* Starts all that can start: nothing waits beside a free replica but for its batch. */
static dit_status dispatch(line_run *run)
{
    for (int k = next_class(run); k >= 0; k = next_class(run)) DIT_TRY(start(run, k));
    return DIT_OK;
}

/* Goes on until the first `count` requests are done, or too many wait. */
static dit_status advance(line_run *run, int64_t count)
{
    suite_event event;
    while (run->prefix < count && !run->flooded && suite_event_pop(&run->heap, &event)) {
        move_to(run, event.second);
        if (event.kind == ARRIVES) DIT_TRY(arrive(run));
        if (event.kind == DEPARTS) depart(run, event.who);
        if (run->free_count) DIT_TRY(dispatch(run));
    }
    return DIT_OK;
}

/* ---- what came out ------------------------------------------------------------------------------------------------- */

/* Little's law of the whole run: the time that requests spent there is the time that was counted while they were. */
static dit_status check_sums(const line_run *run)
{
    double spent = 0;
    for (int64_t i = 0; i < run->came; i++) {
        double latency = run->requests.latency[i];
        spent += isnan(latency) ? run->now - run->requests.arrived[i] : latency;
    }
    double clock = run->now * 0x1p-50 * (double)run->came; /* how exact moments are, late in a long run */
    if (fabs(spent - run->area) <= 1e-6 * run->area + clock) return DIT_OK;
    return DIT_FAIL(DIT_ERR_INTERNAL, "requests spent %.9g s in a queue that counted %.9g s", spent, run->area);
}

/* Mean number of requests there from the arrival of `first` to that of the last one. */
static void measure_window(const line_run *run, int64_t first, int64_t count, suite_queue_run *out)
{
    const request_table *all = &run->requests;
    double begin = all->arrived[first], end = all->arrived[count - 1], spent = 0;
    if (end <= begin) return;
    for (int64_t i = 0; i < count; i++) {
        double left = fmin(all->arrived[i] + all->latency[i], end), came = fmax(all->arrived[i], begin);
        if (left > came) spent += left - came;
    }
    out->in_system = spent / (end - begin);
    out->rate = (double)(count - 1 - first) / (end - begin);
}

static void measure_class(const line_run *run, int64_t first, int64_t count, int class_index, double *room,
                          suite_queue_run *out)
{
    int64_t used = 0;
    double sum = 0;
    for (int64_t i = first; i < count; i++)
        if (run->requests.class_of[i] == class_index) {
            room[used++] = run->requests.latency[i];
            sum += run->requests.latency[i];
        }
    out->class_p95[class_index] = suite_quantile_of(room, used, 0.95);
    out->class_mean[class_index] = used ? sum / (double)used : 0;
}

static dit_status measure(const line_run *run, int64_t count, suite_queue_run *out)
{
    int64_t first = count / DROPPED, used = count - first, at_once = 0;
    double *room = malloc(((size_t)used + 1) * sizeof *room);
    if (!room) return fail_memory();
    for (int k = 0; run->class_count > 1 && k < run->class_count; k++) measure_class(run, first, count, k, room, out);
    memcpy(room, run->requests.latency + first, (size_t)used * sizeof *room);
    out->p50 = suite_quantile_of(room, used, 0.5);
    out->p90 = suite_quantile_of(room, used, 0.9);
    out->p95 = suite_quantile_of(room, used, 0.95);
    out->p99 = suite_quantile_of(room, used, 0.99);
    free(room);
    for (int64_t i = first; i < count; i++) at_once += run->requests.wait[i] <= 0;
    out->requests = used;
    out->latency = suite_batch_mean(run->requests.latency + first, used);
    out->wait = suite_batch_mean(run->requests.wait + first, used);
    out->no_wait = (double)at_once / (double)used;
    out->busy = run->now > 0 ? run->busy_area / (run->now * run->running) : 0;
    out->batch = run->batches ? (double)run->batched / (double)run->batches : 0;
    if (run->class_count == 1) {
        out->class_p95[0] = out->p95;
        out->class_mean[0] = out->latency.value;
    }
    measure_window(run, first, count, out);
    return check_sums(run);
}

static bool is_decided(const suite_queue_ask *ask, const suite_estimate *wanted)
{
    return ask->bound_s > 0 && fabs(wanted->value - ask->bound_s) > sure * wanted->half;
}

/* Looks at the run after 20,000 requests, 40,000, ... */
static dit_status follow(line_run *run, const suite_queue_ask *ask, suite_queue_run *out)
{
    for (int64_t count = FIRST_LOOK;; count *= 2) {
        if (count > run->most) count = run->most;
        DIT_TRY(advance(run, count));
        if (run->flooded) {
            out->outcome = SUITE_QUEUE_UNSTABLE;
            snprintf(out->why, sizeof out->why, "%d requests wait after %lld have come", run->waiting,
                     (long long)run->came);
            return DIT_OK;
        }
        int64_t first = count / DROPPED;
        DIT_TRY(suite_batch_quantile(run->requests.latency + first, count - first, ask->quantile, &out->wanted));
        out->precise = out->wanted.half <= ask->precision * out->wanted.value;
        if (out->precise || is_decided(ask, &out->wanted) || count == run->most) return measure(run, count, out);
    }
}

dit_status suite_queue_simulate(const suite_queue *queue, const suite_queue_ask *ask, suite_queue_run *out)
{
    line_run run;
    *out = (suite_queue_run){.outcome = SUITE_QUEUE_STABLE};
    DIT_TRY(suite_queue_check(queue));
    DIT_TRY(check_ask(queue, ask));
    dit_status st = open_run(queue, ask, &run);
    out->load = run.rate / suite_queue_most(queue);
    if (st == DIT_OK && run.endless && out->load >= 1) {
        out->outcome = SUITE_QUEUE_UNSTABLE;
        snprintf(out->why, sizeof out->why, "%.4g requests a second come, and at most %.4g can be served", run.rate,
                 suite_queue_most(queue));
    } else {
        if (st == DIT_OK) st = plan_arrival(&run);
        if (st == DIT_OK) st = follow(&run, ask, out);
    }
    release(&run);
    return st;
}
