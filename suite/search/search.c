#include "suite/search/search.h"

#include "base/clock.h"
#include "suite/launch/process_pool.h"
#include "suite/platform/platform.h"
#include "suite/platform/profile.h"
#include "suite/search/answer.h"
#include "suite/search/changes.h"
#include "suite/search/race.h"
#include "suite/search/space.h"
#include "suite/simulate/shape_cache.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dit_status fail_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a search");
}

static double seconds_since(int64_t began_ns)
{
    return (double)(dit_clock_ns() - began_ns) * 1e-9;
}

static const suite_shape_cache *cache_of(const suite_search *s)
{
    return s->request.fresh ? NULL : &s->cache;
}

static dit_status open_cache(suite_search *s)
{
    const suite_simulate_params params = suite_search_params(s);
    if (s->request.fresh || !s->count) return DIT_OK;
    return suite_shape_cache_open(&params, s->candidates[0].kase->document, s->candidates[0].ranks, s->request.platform,
                                  suite_search_word(s, "profile"), &s->cache);
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

static void exclude(suite_search_candidate *one, suite_search_state state, const char *code, const char *reason)
{
    one->state = state;
    snprintf(one->code, sizeof one->code, "%s", code);
    snprintf(one->reason, sizeof one->reason, "%s", reason);
}

static void take_bounds(const suite_search *s, const suite_platform *platform, suite_search_candidate *one)
{
    char reason[300];
    if (one->bounds.status != DIT_OK) {
        exclude(one, SUITE_FOUND_FAILED, dit_status_name(one->bounds.status), one->bounds.message);
        return;
    }
    if (s->request.scale_bounds > 0) one->bounds.seconds *= s->request.scale_bounds;
    one->value_bound = suite_search_value(s, one, one->bounds.seconds);
    if (s->request.goal == SUITE_GOAL_MEMORY) one->value = one->value_bound;
    if (!platform->memory_per_device || one->bounds.memory_bytes <= platform->memory_bytes) return;
    snprintf(reason, sizeof reason, "needs %.2f GiB a rank, a device of %s has %.2f GiB",
             (double)one->bounds.memory_bytes / (1 << 30), platform->name, (double)platform->memory_bytes / (1 << 30));
    exclude(one, SUITE_FOUND_MEMORY, dit_status_name(DIT_ERR_CONSTRAINT_MEMORY), reason);
}

/* Of candidates `first` and on. */
static dit_status bound_from(suite_search *s, const suite_platform *platform, int first)
{
    const suite_simulate_params params = suite_search_params(s);
    const int count = s->count - first;
    suite_bounds *bounds = calloc((size_t)count + 1, sizeof *bounds);
    int *which = calloc((size_t)count + 1, sizeof *which);
    dit_status st = bounds && which ? DIT_OK : fail_memory();
    for (int i = 0; i < count && st == DIT_OK; i++) which[i] = first + i;
    if (st == DIT_OK) st = suite_search_bounds(s, &params, cache_of(s), which, count, bounds);
    for (int i = 0; i < count && st == DIT_OK; i++) {
        s->candidates[first + i].bounds = bounds[i];
        take_bounds(s, platform, &s->candidates[first + i]);
    }
    free(bounds);
    free(which);
    return st;
}

/* Of all meshes, and then of those whose stages are cut anew by what the blocks take. */
static dit_status bound_all(suite_search *s, const suite_platform *platform)
{
    DIT_TRY(bound_from(s, platform, 0));
    int even = s->count;
    DIT_TRY(suite_search_add_uneven(s, platform));
    return s->count > even ? bound_from(s, platform, even) : DIT_OK;
}

/* ---- simulations ------------------------------------------------------------------------------------------------- */

typedef struct {
    suite_search *search;
    suite_simulate_params params;
    suite_runner *runners; /* [count of candidates] */
    int *order, order_count;
    int started, done;
} search_race;

/* What a job leaves. */
typedef struct {
    bool left_out; /* by then somebody was faster than its bound */
    suite_simulated simulated;
} race_result;

static bool is_open(const search_race *race, int index)
{
    const suite_search *s = race->search;
    if (s->request.exhaustive) return !race->runners[index].out && !(race->runners[index].time > 0);
    return suite_race_is_open(race->runners, s->count, index, s->request.within);
}

static void take_time(search_race *race, int index, const suite_simulated *simulated, bool kept)
{
    suite_search_candidate *one = &race->search->candidates[index];
    one->state = SUITE_FOUND_SIMULATED;
    one->kept = kept;
    one->seconds = simulated->seconds;
    one->value = race->runners[index].time = suite_search_value(race->search, one, simulated->seconds);
}

static dit_status simulate(int job, suite_signals *signals, void *result, void *context)
{
    const search_race *race = context;
    const suite_search_candidate *one = &race->search->candidates[race->order[job]];
    race_result *out = result;
    suite_simulate_params params = race->params;
    params.signals = signals;
    out->left_out = !is_open(race, race->order[job]);
    if (out->left_out) return DIT_OK;
    return suite_simulate_case(&params, one->kase->document, one->ranks, race->search->request.platform,
                               suite_search_word(race->search, "profile"), &out->simulated);
}

static bool goes_on(void *context)
{
    search_race *race = context;
    for (int i = race->started; i < race->order_count; i++)
        if (is_open(race, race->order[i])) {
            race->started++;
            return true;
        }
    return false;
}

static int count_open(const search_race *race)
{
    int open = 0;
    for (int i = 0; i < race->order_count; i++) open += is_open(race, race->order[i]);
    return open;
}

static bool ends_everything(dit_status st)
{
    return st == DIT_ERR_INTERRUPTED || st == DIT_ERR_ENVIRONMENT || st == DIT_ERR_IO;
}

static dit_status take(int job, dit_status st, const void *result, void *context)
{
    search_race *race = context;
    suite_search *s = race->search;
    suite_search_candidate *one = &s->candidates[race->order[job]];
    const race_result *told = result;
    if (ends_everything(st)) return st;
    if (st == DIT_OK && told->left_out) return DIT_OK;
    s->simulated++;
    race->done++;
    if (st == DIT_OK) {
        take_time(race, race->order[job], &told->simulated, false);
        if (!s->request.fresh)
            DIT_TRY(suite_shape_cache_keep(&s->cache, one->kase->document, one->ranks, &told->simulated));
    } else {
        race->runners[race->order[job]].out = true;
        exclude(one, st == DIT_ERR_MEMORY ? SUITE_FOUND_MEMORY : SUITE_FOUND_FAILED, dit_status_name(st),
                dit_error_last()->message);
        dit_error_clear();
    }
    if (s->request.told) s->request.told(s->request.context, race->done, count_open(race));
    return DIT_OK;
}

static int size_index(const suite_search *s, int ranks)
{
    for (int i = 0; i < s->size_count; i++)
        if (s->sizes[i].ranks == ranks) return i;
    return 0;
}

static void enter_race(search_race *race)
{
    suite_search *s = race->search;
    suite_simulated known;
    for (int i = 0; i < s->count; i++) {
        const suite_search_candidate *one = &s->candidates[i];
        bool fits = one->state == SUITE_FOUND_OPEN;
        race->runners[i] = (suite_runner){.bound = one->value_bound, .out = !fits};
        if (s->request.goal == SUITE_GOAL_FRONT) race->runners[i].group = size_index(s, one->ranks);
        if (s->request.apart) race->runners[i].group = !one->exact;
        if (fits && !s->request.fresh && suite_shape_cache_find(&s->cache, one->kase->document, one->ranks, &known))
            take_time(race, i, &known, true);
    }
    race->order_count = suite_race_order(race->runners, s->count, race->order);
}

static dit_status run_race(search_race *race)
{
    const suite_search *s = race->search;
    race->params = suite_search_params(s);
    race->runners = calloc((size_t)s->count, sizeof *race->runners);
    race->order = calloc((size_t)s->count, sizeof *race->order);
    if (!race->runners || !race->order) return fail_memory();
    enter_race(race);
    return suite_jobs_run(&(suite_jobs){.count = race->order_count,
                                        .at_once = s->request.at_once,
                                        .result_bytes = sizeof(race_result),
                                        .context = race,
                                        .run = simulate,
                                        .done = take,
                                        .goes_on = goes_on});
}

static dit_status simulate_best_first(suite_search *s)
{
    search_race race = {.search = s};
    if (s->request.goal == SUITE_GOAL_MEMORY || s->request.bounds_only || !s->count) return DIT_OK;
    dit_status st = run_race(&race);
    free(race.runners);
    free(race.order);
    return st;
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static int rank_of(const suite_search_candidate *one)
{
    static const int ranks[SUITE_FOUND_COUNT] = {
        [SUITE_FOUND_BOUND] = 1, [SUITE_FOUND_MEMORY] = 2, [SUITE_FOUND_FAILED] = 3};
    return ranks[one->state];
}

static int by_value(const void *a, const void *b)
{
    const suite_search_candidate *x = a, *y = b;
    if (rank_of(x) != rank_of(y)) return rank_of(x) - rank_of(y);
    double first = suite_search_is_known(x) ? x->value : x->value_bound,
           second = suite_search_is_known(y) ? y->value : y->value_bound;
    if (first != second) return first < second ? -1 : 1;
    return x->ranks != y->ranks ? x->ranks - y->ranks : strcmp(x->mesh, y->mesh);
}

/* The best of those with so many ranks; 0: of all. Candidates are in order. */
static int find_winner(const suite_search *s, int ranks)
{
    for (int i = 0; i < s->count; i++)
        if (suite_search_is_known(&s->candidates[i]) && (!ranks || s->candidates[i].ranks == ranks)) return i;
    return -1;
}

/* The largest bound in words, of a candidate that was not simulated. A chain that is hardly longer than device or host
 * alone is so long because of them. */
static const char *why_so_long(const suite_search_candidate *one)
{
    switch (suite_search_what_binds(one)) {
    case SUITE_BINDS_HOST: return "its host cannot issue faster";
    case SUITE_BINDS_DEVICE: return "its device cannot compute faster";
    default: break;
    }
    if (strcmp(one->bounds.largest, "wire") == 0) return "its messages over the busiest link";
    return "one rank alone, its operators and messages in turn";
}

static void judge(const suite_search *s, suite_search_candidate *one)
{
    bool sizes = s->request.goal == SUITE_GOAL_FRONT;
    int winner = sizes ? s->sizes[size_index(s, one->ranks)].winner : s->winner;
    if (s->request.apart) winner = suite_search_best(s, one->exact);
    one->behind = NAN;
    if (winner < 0) return;
    double best = s->candidates[winner].value, own = suite_search_is_known(one) ? one->value : one->value_bound;
    if (one->state == SUITE_FOUND_SIMULATED || one->state == SUITE_FOUND_OPEN || one->state == SUITE_FOUND_BOUND)
        one->behind = own / best - 1;
    if (one->state == SUITE_FOUND_BOUND)
        snprintf(one->reason, sizeof one->reason, "takes at least %.4g s (%s)", one->bounds.seconds, why_so_long(one));
}

static void finish(suite_search *s)
{
    for (int i = 0; i < s->count; i++) {
        suite_search_candidate *one = &s->candidates[i];
        bool excluded = s->request.goal != SUITE_GOAL_MEMORY && !s->request.bounds_only;
        if (one->state == SUITE_FOUND_OPEN && excluded) one->state = SUITE_FOUND_BOUND;
        s->kept += one->kept;
        s->by_bound += one->state == SUITE_FOUND_BOUND;
        s->by_memory += one->state == SUITE_FOUND_MEMORY;
        s->failed += one->state == SUITE_FOUND_FAILED;
    }
    qsort(s->candidates, (size_t)s->count, sizeof *s->candidates, by_value);
    for (int i = 0; i < s->size_count; i++) s->sizes[i].winner = find_winner(s, s->sizes[i].ranks);
    s->winner = find_winner(s, s->request.goal == SUITE_GOAL_FRONT ? (int)s->request.devices : 0);
    if (s->request.apart) s->winner = suite_search_best(s, true);
    for (int i = 0; i < s->count; i++) judge(s, &s->candidates[i]);
}

static void note_links(const suite_cluster *cluster, int from, int to, bool *links)
{
    suite_hop hops[SUITE_PATH_HOPS];
    int count = suite_cluster_path(cluster, from, to, hops);
    for (int i = 0; i < count; i++)
        if (cluster->links[hops[i].link].link_class.sharing != SUITE_LINK_PER_FLOW) links[hops[i].link] = true;
}

/* Whether a message within the first `ranks` devices of a node crosses a link that one within the next `ranks` does. */
static bool meet_on_links(const suite_cluster *cluster, int ranks, bool *first, bool *next)
{
    for (int from = 0; from < ranks; from++)
        for (int to = 0; to < ranks; to++) {
            if (from == to) continue;
            note_links(cluster, from, to, first);
            note_links(cluster, ranks + from, ranks + to, next);
        }
    for (int i = 0; i < cluster->link_count; i++)
        if (first[i] && next[i]) return true;
    return false;
}

/* Replicas lie side by side; those of whole nodes share nothing but the fabric, which has room for all. */
static dit_status look_at_links(suite_search *s)
{
    suite_cluster cluster = {0};
    if (!suite_search_has_replicas(s->request.goal) && s->request.goal != SUITE_GOAL_FRONT) return DIT_OK;
    DIT_TRY(suite_cluster_load(s->request.platform, &cluster));
    bool *links = calloc(2 * (size_t)cluster.link_count + 1, sizeof *links);
    for (int i = 0; links && i < s->size_count; i++) {
        int ranks = s->sizes[i].ranks;
        bool several = ranks > 1 && 2 * ranks <= cluster.devices && 2 * ranks <= s->request.devices;
        memset(links, 0, 2 * (size_t)cluster.link_count * sizeof *links);
        s->sizes[i].replicas_share_links = several && cluster.topology != SUITE_TOPOLOGY_CORES &&
                                           meet_on_links(&cluster, ranks, links, links + cluster.link_count);
    }
    dit_status st = links ? DIT_OK : fail_memory();
    free(links);
    suite_cluster_release(&cluster);
    return st;
}

static dit_status resolve(suite_search_request *request, suite_platform *platform)
{
    suite_profile profile;
    DIT_TRY(suite_platform_load(request->platform, platform));
    DIT_TRY(suite_profile_load(request->profile, &profile));
    if (strcmp(platform->backend, "cost") != 0)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_USAGE, "platform %s is not simulated, and a search simulates", platform->name),
            "name one that `ditbench list platforms` shows with backend cost");
    if (request->mesh) request->devices = dit_parallel_world_size(request->mesh);
    if (!request->devices) request->devices = platform->devices;
    if (!request->scope) request->scope = "pipeline";
    if (request->devices > platform->devices)
        return DIT_FAIL(DIT_ERR_USAGE, "%s has %d devices, and %lld are asked for", platform->name, platform->devices,
                        (long long)request->devices);
    return DIT_OK;
}

static dit_status run(suite_search *s)
{
    suite_platform platform;
    int64_t began_ns = dit_clock_ns();
    DIT_TRY(resolve(&s->request, &platform));
    DIT_TRY(suite_search_expand(s));
    DIT_TRY(look_at_links(s));
    s->count_s = seconds_since(began_ns);
    began_ns = dit_clock_ns();
    DIT_TRY(open_cache(s));
    DIT_TRY(bound_all(s, &platform));
    s->bounds_s = seconds_since(began_ns);
    began_ns = dit_clock_ns();
    DIT_TRY(simulate_best_first(s));
    s->simulate_s = seconds_since(began_ns);
    finish(s);
    return suite_search_find_changes(s);
}

dit_status suite_search_run(const suite_search_request *request, suite_search *out)
{
    *out = (suite_search){.request = *request, .winner = -1};
    dit_status st = run(out);
    if (st != DIT_OK) suite_search_release(out);
    return st;
}
