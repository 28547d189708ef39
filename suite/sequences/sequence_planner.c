#include "suite/sequences/sequence_planner.h"

#include "suite/queue/assignment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one plan is made from. Times are [batches][sequences][devices + 1], by the size of a group; INFINITY where a
 * sequence does not fit it. */
typedef struct {
    const suite_sequence_question *question;
    const suite_plan_machine *machine;
    double *times, *bytes;
    suite_cut *cuts;
    int cut_count;
    suite_cut one; /* of one size, that serves all batches soonest; no groups: none does */
    double end_s, state_bytes, limit_bytes;
} planner;

static size_t place(const planner *p, int batch, int sequence, int size)
{
    const suite_sequence_question *q = p->question;
    return ((size_t)batch * (size_t)q->batch + (size_t)sequence) * (size_t)(q->devices + 1) + (size_t)size;
}

/* ---- costs --------------------------------------------------------------------------------------------------------- */

static bool is_used(const planner *p, int size)
{
    for (int i = 0; i < p->cut_count; i++)
        for (int j = 0; j < p->cuts[i].count; j++)
            if (p->cuts[i].sizes[j] == size) return true;
    return false;
}

/* Sequences of one length cost the same: a length that came before is taken from there. */
static int find_equal(const planner *p, int batch, int sequence, int64_t tokens)
{
    for (int i = 0; i < sequence; i++)
        if (suite_sequence_tokens(p->question, batch, i) == tokens) return i;
    return -1;
}

static void fill_sequence(planner *p, int batch, int sequence, const bool *used)
{
    const suite_sequence_question *q = p->question;
    int64_t tokens = suite_sequence_tokens(q, batch, sequence);
    int equal = find_equal(p, batch, sequence, tokens);
    for (int size = 1; size <= q->devices; size++) {
        size_t at = place(p, batch, sequence, size);
        p->times[at] = INFINITY;
        if (!used[size] && size != q->devices) continue;
        if (equal >= 0) {
            p->times[at] = p->times[place(p, batch, equal, size)];
            p->bytes[at] = p->bytes[place(p, batch, equal, size)];
            continue;
        }
        suite_sequence_cost cost = suite_sequence_cost_of(q, p->machine, tokens, size);
        p->bytes[at] = p->state_bytes + cost.activation_bytes;
        if (used[size] && p->bytes[at] <= p->limit_bytes) p->times[at] = cost.seconds;
    }
}

static dit_status fill(planner *p)
{
    bool used[SUITE_PARTITION_DEVICES + 1];
    for (int size = 0; size <= p->question->devices; size++) used[size] = is_used(p, size);
    for (int batch = 0; batch < p->question->batches; batch++) {
        DIT_TRY(suite_layers_ask(p->machine->watch));
        for (int i = 0; i < p->question->batch; i++) fill_sequence(p, batch, i, used);
    }
    return DIT_OK;
}

/* ---- a batch by a cut ---------------------------------------------------------------------------------------------- */

/* The times of a batch as assignment.h reads them: the cut's sizes stand where it has degrees. */
static bool lay_out(const planner *p, int batch, const suite_cut *cut, double *seconds)
{
    for (int i = 0; i < p->question->batch; i++) {
        bool served = false;
        for (int slot = 0; slot < SUITE_PARTITION_DEGREES; slot++) {
            double time = slot < cut->count ? p->times[place(p, batch, i, cut->sizes[slot])] : INFINITY;
            seconds[i * SUITE_PARTITION_DEGREES + slot] = isfinite(time) ? time : NAN;
            served = served || isfinite(time);
        }
        if (!served) return false;
    }
    return true;
}

/* *out: seconds of the batch; INFINITY where a sequence fits no group. *fullest: bytes of the fullest device, where it
 * is asked for. */
static dit_status time_of(const planner *p, int batch, const suite_cut *cut, double *out, double *fullest)
{
    const suite_sequence_question *q = p->question;
    suite_partition partition = {{0}};
    suite_assignment assigned = {.exact = false};
    int slots[SUITE_PARTITION_DEVICES];
    double *seconds = malloc((size_t)q->batch * SUITE_PARTITION_DEGREES * sizeof *seconds);
    *out = INFINITY;
    if (!seconds) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a batch of %d sequences", q->batch);
    bool served = lay_out(p, batch, cut, seconds);
    memcpy(partition.groups, cut->groups, (size_t)cut->count * sizeof *cut->groups);
    const suite_mix mix = {.seconds = seconds, .requests = q->batch};
    dit_status st = served ? suite_assign_by_rules(&mix, &partition, &assigned) : DIT_OK;
    if (st == DIT_OK && served) {
        *out = assigned.seconds + p->end_s;
        suite_partition_groups(&partition, slots);
        for (int i = 0; fullest && i < q->batch; i++)
            *fullest = fmax(*fullest, p->bytes[place(p, batch, i, cut->sizes[slots[assigned.group[i]]])]);
    }
    suite_assignment_release(&assigned);
    free(seconds);
    return st;
}

/* The cut that does a batch soonest; *seconds INFINITY: none does it. */
static dit_status best_cut(const planner *p, int batch, suite_cut *out, double *seconds)
{
    double time;
    *seconds = INFINITY;
    for (int i = 0; i < p->cut_count; i++) {
        DIT_TRY(suite_layers_ask(p->machine->watch));
        DIT_TRY(time_of(p, batch, &p->cuts[i], &time, NULL));
        if (time < *seconds) *seconds = time, *out = p->cuts[i];
    }
    return DIT_OK;
}

/* No assignment is under this: all sequences at their fewest device-seconds shared by all, or the longest alone. */
static double bound_of(const planner *p, int batch)
{
    double work = 0, longest = 0;
    for (int i = 0; i < p->question->batch; i++) {
        double least = INFINITY, alone = INFINITY;
        for (int size = 1; size <= p->question->devices; size++) {
            double time = p->times[place(p, batch, i, size)];
            least = fmin(least, size * time);
            alone = fmin(alone, time);
        }
        work += least;
        longest = fmax(longest, alone);
    }
    return fmax(work / p->question->devices, longest) + p->end_s;
}

/* ---- the cut that never changes ------------------------------------------------------------------------------------ */

static dit_status total_of(const planner *p, const suite_cut *cut, double *out)
{
    double time;
    *out = 0;
    for (int batch = 0; batch < p->question->batches && isfinite(*out); batch++) {
        DIT_TRY(suite_layers_ask(p->machine->watch));
        DIT_TRY(time_of(p, batch, cut, &time, NULL));
        *out += time;
    }
    return DIT_OK;
}

static dit_status find_one(planner *p)
{
    double best = INFINITY, total;
    p->one = (suite_cut){.count = 0};
    for (int i = 0; i < p->cut_count; i++) {
        if (!suite_cut_is_equal(&p->cuts[i]) || (p->cuts[i].sizes[0] & (p->cuts[i].sizes[0] - 1))) continue;
        DIT_TRY(total_of(p, &p->cuts[i], &total));
        if (total < best) best = total, p->one = p->cuts[i];
    }
    return DIT_OK;
}

/* ---- batch after batch ----------------------------------------------------------------------------------------------- */

/* Whether the cut may change before a batch. The first batch begins with one. */
static bool may_change(const suite_sequence_question *q, int batch)
{
    return batch == 0 || (q->replan_every > 0 && batch % q->replan_every == 0);
}

/* Takes another cut where the sequences do not fit the present one, or where it saves more than a change takes, if the
 * batches until the next chance are like this one. */
static dit_status choose(const planner *p, int batch, suite_cut *now, suite_sequence_batch *out)
{
    const suite_sequence_question *q = p->question;
    suite_cut better = {.count = 0};
    double kept, time = INFINITY;
    int until = q->replan_every > 0 ? q->replan_every : q->batches;
    DIT_TRY(time_of(p, batch, now, &kept, NULL));
    if (q->cut != SUITE_CUT_ONE && (may_change(q, batch) || isinf(kept))) DIT_TRY(best_cut(p, batch, &better, &time));
    if (better.count && !suite_cut_is_same(&better, now) && (batch == 0 || (kept - time) * until > q->replan_s)) {
        out->changed = batch > 0;
        *now = better;
        kept = time + (out->changed ? q->replan_s : 0);
    }
    out->cut = *now;
    out->seconds = kept;
    return DIT_OK;
}

static void add_flops(const planner *p, int batch, suite_sequence_plan *out)
{
    static const double forward_and_backward = 3;
    for (int i = 0; i < p->question->batch; i++)
        out->flops += forward_and_backward *
                      suite_sequence_cost_of(p->question, p->machine, suite_sequence_tokens(p->question, batch, i), 1)
                          .forward_flops;
}

/* What the longest sequence needs on all devices. */
static double needed(const planner *p)
{
    double most = 0;
    for (int batch = 0; batch < p->question->batches; batch++)
        for (int i = 0; i < p->question->batch; i++)
            most = fmax(most, p->bytes[place(p, batch, i, p->question->devices)]);
    return most;
}

static dit_status go_through(const planner *p, suite_sequence_plan *out)
{
    suite_cut now = p->one;
    double unused;
    for (int batch = 0; batch < p->question->batches; batch++) {
        suite_sequence_batch *one = &out->batches[batch];
        one->one_s = INFINITY;
        if (p->one.count) DIT_TRY(time_of(p, batch, &p->one, &one->one_s, NULL));
        DIT_TRY(choose(p, batch, &now, one));
        if (isinf(one->seconds)) {
            out->fullest_bytes = needed(p);
            return DIT_OK;
        }
        DIT_TRY(time_of(p, batch, &one->cut, &unused, &out->fullest_bytes));
        one->bound_s = bound_of(p, batch);
        out->count++;
        out->changes += one->changed;
        out->seconds += one->seconds;
        out->one_s += one->one_s;
        out->bound_s += one->bound_s;
        add_flops(p, batch, out);
    }
    out->found = true;
    return DIT_OK;
}

static dit_status open_planner(planner *p)
{
    static const double gib = 1024.0 * 1024 * 1024;
    const suite_sequence_question *q = p->question;
    size_t cells = (size_t)q->batches * (size_t)q->batch * (size_t)(q->devices + 1);
    if (q->cut == SUITE_CUT_ANY && q->devices > p->machine->cluster->devices)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_PRODUCT,
                                       "grouping any cuts the %d devices of one node, not %d",
                                       p->machine->cluster->devices, q->devices),
                              "take grouping groups, whose sizes are powers of two");
    DIT_TRY(suite_cuts_list(q->cut, q->devices, &p->cuts, &p->cut_count));
    p->times = calloc(cells, sizeof *p->times);
    p->bytes = calloc(cells, sizeof *p->bytes);
    if (!p->times || !p->bytes) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %zu times", cells);
    p->state_bytes = suite_sequence_state_bytes(q, p->machine);
    p->end_s = suite_sequence_end_seconds(q, p->machine);
    p->limit_bytes = q->memory_limit_gib * gib;
    DIT_TRY(fill(p));
    return find_one(p);
}

void suite_sequence_plan_release(suite_sequence_plan *plan)
{
    free(plan->batches);
    *plan = (suite_sequence_plan){.count = 0};
}

dit_status suite_sequence_plan_make(const suite_sequence_question *question, const suite_plan_machine *machine,
                                    suite_sequence_plan *out)
{
    planner p = {.question = question, .machine = machine};
    *out = (suite_sequence_plan){.batches = calloc((size_t)question->batches, sizeof *out->batches)};
    dit_status st = out->batches ? open_planner(&p) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a plan");
    out->state_bytes = p.state_bytes;
    if (st == DIT_OK) st = go_through(&p, out);
    free(p.times);
    free(p.bytes);
    free(p.cuts);
    if (st != DIT_OK) suite_sequence_plan_release(out);
    return st;
}
