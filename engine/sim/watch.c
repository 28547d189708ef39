#include "engine/sim/watch.h"

#include "engine/comm/comm.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* The rounding between two repeats that take the same time, as a share of all time so far. */
static const double SAME = 1e-9;

typedef struct {
    double device_s, host_s;
} beginning;

struct dit_sim_watch {
    dit_sim_watch_params is;
    int ranks, closed;
    int furthest; /* the latest repeat that a rank has begun                   */
    int left_out; /* the first repeat that is left out; is.repeats: none is    */
    double seconds, alike;
    beginning *beginning; /* [repeats, ranks]; lies behind this struct         */
    int *begun;           /* [repeats] how many ranks have begun it            */
};

dit_status dit_sim_watch_open(const dit_sim_watch_params *params, dit_sim_watch **out)
{
    int64_t ranks = dit_comm_size(dit_comm_world()), all = params->repeats * ranks;
    int64_t bytes = (int64_t)sizeof **out + all * (int64_t)sizeof(beginning) + params->repeats * (int64_t)sizeof(int);
    dit_sim_watch *watch;
    DIT_TRY(dit_sim_shared(bytes, (void **)&watch));
    watch->is = *params, watch->ranks = (int)ranks, watch->left_out = params->repeats; /* every rank writes the same */
    watch->beginning = (beginning *)(watch + 1);
    watch->begun = (int *)(watch->beginning + all);
    *out = watch;
    return DIT_OK;
}

void dit_sim_watch_close(dit_sim_watch *watch)
{
    if (watch && ++watch->closed == watch->ranks) free(watch);
}

static const beginning *row(const dit_sim_watch *watch, int at)
{
    return watch->beginning + (size_t)at * (size_t)watch->ranks;
}

static double mean_seconds(const dit_sim_watch *watch, int at)
{
    const beginning *now = row(watch, at), *before = row(watch, at - 1);
    double sum_s = 0;
    for (int rank = 0; rank < watch->ranks; rank++) sum_s += now[rank].device_s - before[rank].device_s;
    return sum_s / watch->ranks;
}

/* Whether the two repeats before `at` took this rank the mean time, and its host stays ahead. */
static bool is_alike(const dit_sim_watch *watch, int at, int rank, double mean_s, double alike)
{
    const beginning *now = row(watch, at) + rank, *before = row(watch, at - 1) + rank,
                    *first = row(watch, at - 2) + rank;
    double newer_s = now->device_s - before->device_s, older_s = before->device_s - first->device_s;
    double allowed = fmax(SAME * fabs(now->device_s), alike * fabs(mean_s));
    double host_repeat_s = now->host_s - before->host_s;
    int left = watch->is.endless ? INT_MAX : watch->is.repeats - at;
    return fabs(newer_s - older_s) <= allowed && fabs(newer_s - mean_s) <= allowed &&
           now->host_s + left * host_repeat_s <= now->device_s + left * (mean_s + allowed) + allowed;
}

static bool are_alike(const dit_sim_watch *watch, int at, double alike)
{
    double mean_s = mean_seconds(watch, at);
    for (int rank = 0; rank < watch->ranks; rank++)
        if (!is_alike(watch, at, rank, mean_s, alike)) return false;
    return true;
}

enum { SOME = 3 };

/* Whether the newest SOME repeats took as long as the SOME before them. */
static bool keep_alike(const dit_sim_watch *watch, int at)
{
    double allowed = 0.1 * DIT_SIM_SHARES_ALIKE * SOME * mean_seconds(watch, at);
    if (watch->is.endless || at < watch->is.first + 2 * SOME) return false;
    for (int rank = 0; rank < watch->ranks; rank++) {
        double now_s = row(watch, at)[rank].device_s, before_s = row(watch, at - SOME)[rank].device_s;
        double first_s = row(watch, at - 2 * SOME)[rank].device_s;
        if (fabs(now_s - before_s - (before_s - first_s)) > allowed) return false;
    }
    return true;
}

/* Whether as many repeats as needed agree to 1e-9. */
static bool are_the_same(const dit_sim_watch *watch, int at)
{
    int oldest = watch->is.carries ? at - 2 * SOME + 2 : at;
    if (oldest < watch->is.first + 2) return false;
    for (int newest = at; newest >= oldest; newest--)
        if (!are_alike(watch, newest, 0)) return false;
    return true;
}

/* Decides, when all ranks have begun `at`, whether the later repeats are left out. */
static void look(dit_sim_watch *watch, int at)
{
    bool same = are_the_same(watch, at), close = watch->is.close || keep_alike(watch, at);
    if (!same && !(close && are_alike(watch, at, DIT_SIM_SHARES_ALIKE))) return;
    if (watch->furthest + 1 >= watch->is.repeats - 1) return;
    watch->left_out = watch->furthest + 1;
    watch->seconds = mean_seconds(watch, at), watch->alike = same ? 0 : DIT_SIM_SHARES_ALIKE;
}

int dit_sim_watch_begin(dit_sim_watch *watch, const dit_sim *sim, int at)
{
    int rank = dit_comm_rank(dit_comm_world());
    if (at == watch->left_out) return watch->is.repeats - 1;
    watch->beginning[(size_t)at * (size_t)watch->ranks + (size_t)rank] =
        (beginning){dit_sim_now(sim), dit_sim_host_now(sim)};
    if (at > watch->furthest) watch->furthest = at;
    bool last = ++watch->begun[at] == watch->ranks;
    if (last && at >= watch->is.first + 2 && watch->left_out == watch->is.repeats) look(watch, at);
    return at;
}

int dit_sim_watch_left_out(const dit_sim_watch *watch)
{
    return watch->left_out == watch->is.repeats ? 0 : watch->is.repeats - 1 - watch->left_out;
}

double dit_sim_watch_seconds(const dit_sim_watch *watch)
{
    return watch->seconds;
}

double dit_sim_watch_alike(const dit_sim_watch *watch)
{
    return watch->alike;
}
