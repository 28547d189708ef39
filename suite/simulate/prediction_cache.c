#include "suite/simulate/prediction_cache.h"

#include "suite/launch/process_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One case; of a failed one, why. */
struct suite_simulated_case {
    const suite_point_case *one; /* while it is being simulated */
    char case_id[DIT_HASH_HEX], platform[64], profile[64];
    bool over;
    suite_simulated simulated;
    dit_status status;
    char message[600];
};

void suite_simulator_release(suite_simulator *simulator)
{
    free(simulator->known);
    simulator->known = NULL;
    simulator->known_count = simulator->room = 0;
}

static struct suite_simulated_case *find(const suite_simulator *simulator, const suite_point_case *one)
{
    for (int i = 0; i < simulator->known_count; i++) {
        struct suite_simulated_case *known = &simulator->known[i];
        if (strcmp(known->case_id, one->kase->case_id) == 0 && strcmp(known->platform, one->platform) == 0 &&
            strcmp(known->profile, one->profile) == 0)
            return known;
    }
    return NULL;
}

bool suite_simulator_knows(const suite_simulator *simulator, const suite_point_case *one)
{
    const struct suite_simulated_case *known = find(simulator, one);
    return known && known->over;
}

static dit_status add(suite_simulator *simulator, const suite_point_case *one)
{
    if (find(simulator, one)) return DIT_OK;
    if (simulator->known_count == simulator->room) {
        size_t room = simulator->room ? 2 * (size_t)simulator->room : 64;
        struct suite_simulated_case *grown = realloc(simulator->known, room * sizeof *grown);
        if (!grown) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %zu simulated cases", room);
        simulator->known = grown;
        simulator->room = (int)room;
    }
    struct suite_simulated_case *known = &simulator->known[simulator->known_count++];
    *known = (struct suite_simulated_case){.one = one};
    snprintf(known->case_id, sizeof known->case_id, "%s", one->kase->case_id);
    snprintf(known->platform, sizeof known->platform, "%s", one->platform);
    snprintf(known->profile, sizeof known->profile, "%s", one->profile);
    return DIT_OK;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef struct {
    suite_simulator *simulator;
    int first, count, done; /* of simulator->known: those that this run is about */
    suite_simulator_told told;
    void *context;
} simulator_run;

static dit_status simulate(int job, suite_signals *signals, void *result, void *context)
{
    const simulator_run *run = context;
    const suite_point_case *one = run->simulator->known[run->first + job].one;
    suite_simulate_params params = run->simulator->params;
    params.signals = signals;
    return suite_simulate_case(&params, one->kase->document, one->kase->world_size, one->platform, one->profile,
                               result);
}

static bool ends_everything(dit_status st)
{
    return st == DIT_ERR_INTERRUPTED || st == DIT_ERR_ENVIRONMENT || st == DIT_ERR_IO;
}

static dit_status take(int job, dit_status st, const void *result, void *context)
{
    simulator_run *run = context;
    struct suite_simulated_case *known = &run->simulator->known[run->first + job];
    suite_simulated simulated = {0};
    if (ends_everything(st)) return st;
    if (st == DIT_OK) memcpy(&simulated, result, sizeof simulated);
    known->simulated = simulated;
    known->status = st;
    if (st != DIT_OK) snprintf(known->message, sizeof known->message, "%s", dit_error_last()->message);
    dit_error_clear();
    known->over = true;
    run->done++;
    return run->told ? run->told(run->context, run->done, run->count) : DIT_OK;
}

/* What was not simulated in the end is not known. */
static void forget_open(suite_simulator *simulator)
{
    int kept = 0;
    for (int i = 0; i < simulator->known_count; i++) {
        simulator->known[i].one = NULL;
        if (simulator->known[i].over) simulator->known[kept++] = simulator->known[i];
    }
    simulator->known_count = kept;
}

dit_status suite_simulator_run(suite_simulator *simulator, const suite_point_case *const *cases, int count,
                               suite_simulator_told told, void *context)
{
    simulator_run run = {simulator, simulator->known_count, 0, 0, told, context};
    dit_status st = DIT_OK;
    for (int i = 0; i < count && st == DIT_OK; i++) st = add(simulator, cases[i]);
    run.count = simulator->known_count - run.first;
    if (st == DIT_OK && run.count > 0)
        st = suite_jobs_run(&(suite_jobs){.count = run.count,
                                          .at_once = simulator->at_once,
                                          .result_bytes = sizeof(suite_simulated),
                                          .context = &run,
                                          .run = simulate,
                                          .done = take});
    forget_open(simulator);
    return st;
}

static double answer(const suite_simulated *simulated, suite_ask ask)
{
    switch (ask) {
    case SUITE_ASK_DECODE_SECONDS: return simulated->decode_seconds;
    case SUITE_ASK_MEMORY_BYTES: return (double)simulated->memory_bytes;
    default: return simulated->seconds;
    }
}

dit_status suite_simulator_predict(const suite_point_case *one, double *out, void *context)
{
    suite_simulator *simulator = context;
    if (!suite_simulator_knows(simulator, one)) DIT_TRY(suite_simulator_run(simulator, &one, 1, NULL, NULL));
    const struct suite_simulated_case *known = find(simulator, one);
    *out = answer(&known->simulated, one->ask);
    return known->status == DIT_OK ? DIT_OK : DIT_FAIL(known->status, "%s", known->message);
}
