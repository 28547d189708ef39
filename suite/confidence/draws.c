#include "suite/confidence/draws.h"

#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

/* A sample's errors by group, and by family. */
typedef struct {
    const suite_error_sample *sample;
    int *order;        /* [count] errors, group after group                                 */
    int *group_first;  /* [group_count + 1] in order                                        */
    int *kin;          /* [count] errors of families with several machines, by family       */
    int *family_first; /* [family_count + 1] in kin                                        */
    int family_count;
} deck;

enum { MOST_RIVALS = 64 };

/* ---- decks --------------------------------------------------------------------------------------------------------- */

static void release(deck *one)
{
    free(one->order);
    free(one->group_first);
    free(one->kin);
    free(one->family_first);
}

static void sort_by_group(deck *out)
{
    const suite_error_sample *sample = out->sample;
    int *first = out->group_first;
    for (int i = 0; i < sample->count; i++) first[sample->errors[i].group + 1]++;
    for (int group = 0; group < sample->group_count; group++) first[group + 1] += first[group];
    for (int i = sample->count - 1; i >= 0; i--) out->order[--first[sample->errors[i].group + 1]] = i;
    for (int group = 0; group < sample->group_count; group++) first[group] = first[group + 1];
    first[sample->group_count] = sample->count;
}

static int family_of(const deck *one, int error)
{
    return one->sample->held->points[one->sample->errors[error].point].family;
}

static int machine_of(const deck *one, int error)
{
    return one->sample->held->points[one->sample->errors[error].point].machine;
}

/* An error, by its family and by the first error of that. */
typedef struct {
    int family, first, error;
} relative;

static int by_family(const void *a, const void *b)
{
    const relative *x = a, *y = b;
    return x->family != y->family ? (x->family < y->family ? -1 : 1) : x->error - y->error;
}

static int by_first(const void *a, const void *b)
{
    const relative *x = a, *y = b;
    return x->first != y->first ? x->first - y->first : x->error - y->error;
}

/* Appends the family whose errors are all[first .. end) if it has several machines. */
static void add_family(deck *out, const relative *all, int first, int end)
{
    bool several = false;
    int used = out->family_first[out->family_count];
    for (int i = first; i < end; i++) {
        several = several || machine_of(out, all[i].error) != machine_of(out, all[first].error);
        out->kin[used++] = all[i].error;
    }
    if (several) out->family_first[++out->family_count] = used;
}

/* Families stand in the order of their first errors. */
static dit_status sort_by_family(deck *out)
{
    int count = out->sample->count;
    relative *all = calloc((size_t)count + 1, sizeof *all);
    if (!all) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for draws");
    for (int i = 0; i < count; i++) all[i] = (relative){family_of(out, i), i, i};
    qsort(all, (size_t)count, sizeof *all, by_family);
    for (int i = 1; i < count; i++)
        if (all[i].family == all[i - 1].family) all[i].first = all[i - 1].first;
    qsort(all, (size_t)count, sizeof *all, by_first);
    for (int first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && all[end].first == all[first].first;) end++;
        add_family(out, all, first, end);
    }
    free(all);
    return DIT_OK;
}

static dit_status open_deck(const suite_error_sample *sample, deck *out)
{
    size_t room = (size_t)sample->count + 2;
    *out = (deck){.sample = sample};
    if (!sample->count) return DIT_FAIL(DIT_ERR_USAGE, "nothing can be drawn from a class without errors");
    out->order = calloc(room, sizeof *out->order);
    out->group_first = calloc(room, sizeof *out->group_first);
    out->kin = calloc(room, sizeof *out->kin);
    out->family_first = calloc(room, sizeof *out->family_first);
    if (!out->order || !out->group_first || !out->kin || !out->family_first)
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for draws");
    sort_by_group(out);
    return sort_by_family(out);
}

/* ---- draws --------------------------------------------------------------------------------------------------------- */

static double draw_alone(const deck *from, uint64_t seed, uint64_t stream, uint64_t draw)
{
    uint64_t group = dit_rng_below(seed, 2 * stream, draw, (uint64_t)from->sample->group_count);
    int first = from->group_first[group], size = from->group_first[group + 1] - first;
    int which = first + (int)dit_rng_below(seed, 2 * stream + 1, draw, (uint64_t)size);
    return from->sample->errors[from->order[which]].error;
}

static bool is_taken(const int *taken, int count, int machine)
{
    for (int i = 0; i < count; i++)
        if (taken[i] == machine) return true;
    return false;
}

/* An error of the family that is of none of the machines that were taken; -1 when none is left. */
static int draw_kin(const deck *from, int family, const int *taken, int count, uint64_t seed, uint64_t stream,
                    uint64_t draw)
{
    int first = from->family_first[family], last = from->family_first[family + 1], left = 0;
    for (int i = first; i < last; i++) left += !is_taken(taken, count, machine_of(from, from->kin[i]));
    if (!left) return -1;
    int which = (int)dit_rng_below(seed, stream, draw, (uint64_t)left);
    for (int i = first; i < last; i++)
        if (!is_taken(taken, count, machine_of(from, from->kin[i])) && which-- == 0) return from->kin[i];
    return -1;
}

/* Machines of one sample take different machines of one family; those that it has none left for draw alone. */
static void draw_together(const deck *from, const int *deck_of, int first, int machines, uint64_t seed, uint64_t draw,
                          double *errors)
{
    enum { FAMILY_STREAM = 1 << 20, KIN_STREAM = 1 << 21 };
    int taken[MOST_RIVALS], count = 0;
    int family = (int)dit_rng_below(seed, FAMILY_STREAM + (uint64_t)first, draw, (uint64_t)from->family_count);
    for (int m = first; m < machines; m++) {
        if (deck_of[m] != deck_of[first]) continue;
        int kin = count < MOST_RIVALS ? draw_kin(from, family, taken, count, seed, KIN_STREAM + (uint64_t)m, draw) : -1;
        errors[m] = kin < 0 ? draw_alone(from, seed, (uint64_t)m, draw) : from->sample->errors[kin].error;
        if (kin >= 0) taken[count++] = machine_of(from, kin);
    }
}

/* The decks of all samples, each once. */
typedef struct {
    deck *decks;
    int *deck_of; /* [machines]                                       */
    int *first;   /* [decks] the first machine that has it            */
    int count;
} deck_box;

static void draw_all(const deck_box *box, int machines, uint64_t seed, suite_draw_rule rule, uint64_t draw,
                     double *errors)
{
    for (int m = 0; m < machines; m++) {
        const deck *own = &box->decks[box->deck_of[m]];
        if (rule == SUITE_DRAW_INDEPENDENT || !own->family_count)
            errors[m] = draw_alone(own, seed, (uint64_t)m, draw);
        else if (box->first[box->deck_of[m]] == m)
            draw_together(own, box->deck_of, m, machines, seed, draw, errors);
    }
}

static dit_status open_decks(const suite_error_sample *const *samples, int machines, deck_box *box)
{
    size_t room = (size_t)machines + 1;
    box->decks = calloc(room, sizeof *box->decks);
    box->deck_of = calloc(room, sizeof *box->deck_of);
    box->first = calloc(room, sizeof *box->first);
    if (!box->decks || !box->deck_of || !box->first) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for draws");
    for (int m = 0; m < machines; m++) {
        int at = 0;
        while (at < box->count && box->decks[at].sample != samples[m]) at++;
        box->deck_of[m] = at;
        if (at < box->count) continue;
        box->first[box->count++] = m;
        DIT_TRY(open_deck(samples[m], &box->decks[at]));
    }
    return DIT_OK;
}

dit_status suite_draw_errors(const suite_error_sample *const *samples, int machines, int draws, uint64_t seed,
                             suite_draw_rule rule, double *errors)
{
    deck_box box = {0};
    dit_status st = open_decks(samples, machines, &box);
    for (int j = 0; j < draws && st == DIT_OK; j++)
        draw_all(&box, machines, seed, rule, (uint64_t)j, errors + (size_t)j * (size_t)machines);
    for (int i = 0; i < box.count; i++) release(&box.decks[i]);
    free(box.decks);
    free(box.deck_of);
    free(box.first);
    return st;
}
