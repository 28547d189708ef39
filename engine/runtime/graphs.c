#include "engine/runtime/graphs.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPHS_MAX = 8 };

/* What work counts while it is queued. */
typedef struct {
    dit_flops flops;
    dit_comm_counters counters;
} account;

typedef struct {
    dit_graph_key key;
    dit_device_graph *graph; /* NULL: the work was done once, directly */
    account counted;
} entry;

struct dit_graphs {
    dit_runtime *rt;
    entry entries[GRAPHS_MAX];
    int count;
    int64_t launches;
    char problem[256]; /* why recording failed; "": it did not. It is not tried again */
};

/* ---- life -------------------------------------------------------------------------------------------------------- */

dit_status dit_graphs_create(dit_runtime *rt, dit_graphs **out)
{
    *out = NULL;
    if (!rt->device || !dit_device_can_record(rt->device)) return DIT_OK;
    dit_graphs *graphs = calloc(1, sizeof *graphs);
    if (!graphs) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for graphs");
    graphs->rt = rt;
    *out = graphs;
    return DIT_OK;
}

void dit_graphs_forget(dit_graphs *graphs)
{
    if (!graphs) return;
    for (int i = 0; i < graphs->count; i++) dit_device_graph_free(graphs->rt->device, graphs->entries[i].graph);
    graphs->count = 0;
}

void dit_graphs_free(dit_graphs *graphs)
{
    dit_graphs_forget(graphs);
    free(graphs);
}

int64_t dit_graphs_launches(const dit_graphs *graphs)
{
    return graphs ? graphs->launches : 0;
}

const char *dit_graphs_problem(const dit_graphs *graphs)
{
    return graphs && graphs->problem[0] ? graphs->problem : NULL;
}

/* ---- the account ------------------------------------------------------------------------------------------------- */

static account account_of(const dit_runtime *rt)
{
    return (account){rt->flops, rt->counters};
}

/* sum += sign * part, for everything but times, which the device measures. */
static void add_counters(dit_comm_counters *sum, const dit_comm_counters *part, int64_t sign)
{
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i);
        DIT_VOLUME_AT(sum, at)->bytes += sign * DIT_VOLUME_AT(part, at)->bytes;
        DIT_VOLUME_AT(sum, at)->messages += sign * DIT_VOLUME_AT(part, at)->messages;
    }
}

static void add_account(dit_runtime *rt, const account *part)
{
    dit_flops_add(&rt->flops, &part->flops, 1);
    add_counters(&rt->counters, &part->counters, 1);
}

static account since(const dit_runtime *rt, const account *before)
{
    account passed = account_of(rt);
    dit_flops_add(&passed.flops, &before->flops, -1);
    add_counters(&passed.counters, &before->counters, -1);
    return passed;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static bool is_same(const dit_graph_key *a, const dit_graph_key *b)
{
    return a->in == b->in && a->out == b->out && a->beside == b->beside && a->first == b->first &&
           a->count == b->count && a->band == b->band && a->text == b->text && a->part == b->part;
}

static entry *find(dit_graphs *graphs, const dit_graph_key *key)
{
    for (int i = 0; i < graphs->count; i++)
        if (is_same(&graphs->entries[i].key, key)) return &graphs->entries[i];
    return NULL;
}

static dit_status launch(dit_graphs *graphs, const entry *e)
{
    dit_runtime *rt = graphs->rt;
    graphs->launches++;
    DIT_TIMED(rt, DIT_TIME_BLOCKS, DIT_TRY(dit_device_launch(rt->device, e->graph)));
    return DIT_OK;
}

static dit_status record(dit_graphs *graphs, dit_device_graph **out, dit_status (*work)(void *context), void *context)
{
    dit_device *device = graphs->rt->device;
    *out = NULL;
    DIT_TRY(dit_device_record_begin(device));
    dit_status st = work(context), ended = dit_device_record_end(device, out);
    if (st == DIT_OK) return ended;
    if (ended == DIT_OK) dit_device_graph_free(device, *out);
    *out = NULL;
    return st;
}

/* Gives up recording: the work that was being recorded is done directly, and so is all later work. */
static dit_status give_up(dit_graphs *graphs, dit_status (*work)(void *context), void *context)
{
    snprintf(graphs->problem, sizeof graphs->problem, "%s", dit_error_last()->message);
    dit_log_warning("forwards are not recorded as graphs: %s", graphs->problem);
    dit_error_clear();
    dit_graphs_forget(graphs);
    return work(context);
}

static dit_status record_and_launch(dit_graphs *graphs, entry *e, dit_status (*work)(void *context), void *context)
{
    dit_runtime *rt = graphs->rt;
    account before = account_of(rt);
    if (record(graphs, &e->graph, work, context) != DIT_OK) {
        rt->flops = before.flops, rt->counters = before.counters;
        return give_up(graphs, work, context);
    }
    e->counted = since(rt, &before);
    return launch(graphs, e);
}

dit_status dit_graphs_run(dit_graphs *graphs, const dit_graph_key *key, dit_status (*work)(void *context),
                          void *context)
{
    entry *e = find(graphs, key);
    if (graphs->problem[0] || (!e && graphs->count == GRAPHS_MAX)) return work(context);
    if (!e) {
        DIT_TRY(work(context));
        graphs->entries[graphs->count++] = (entry){.key = *key};
        return DIT_OK;
    }
    if (!e->graph) return record_and_launch(graphs, e, work, context);
    add_account(graphs->rt, &e->counted);
    return launch(graphs, e);
}
