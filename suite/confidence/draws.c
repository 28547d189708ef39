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
    int used = 0;
    for (int group = 0; group < out->sample->group_count; group++) {
        out->group_first[group] = used;
        for (int i = 0; i < out->sample->count; i++)
            if (out->sample->errors[i].group == group) out->order[used++] = i;
    }
    out->group_first[out->sample->group_count] = used;
}

static int family_of(const deck *one, int error)
{
    return one->sample->held->points[one->sample->errors[error].point].family;
}

static int machine_of(const deck *one, int error)
{
    return one->sample->held->points[one->sample->errors[error].point].machine;
}

/* Appends the family of `error` if that is its first error and it has several machines. */
static void add_family(deck *out, int error, int *used)
{
    int family = family_of(out, error), first = *used;
    bool several = false;
    for (int i = 0; i < error; i++)
        if (family_of(out, i) == family) return;
    for (int i = error; i < out->sample->count; i++) {
        if (family_of(out, i) != family) continue;
        several = several || machine_of(out, i) != machine_of(out, error);
        out->kin[(*used)++] = i;
    }
    if (several)
        out->family_first[++out->family_count] = *used;
    else
        *used = first;
}

static dit_status open_deck(const suite_error_sample *sample, deck *out)
{
    size_t room = (size_t)sample->count + 2;
    int used = 0;
    *out = (deck){.sample = sample};
    if (!sample->count) return DIT_FAIL(DIT_ERR_USAGE, "nothing can be drawn from a class without errors");
    out->order = calloc(room, sizeof *out->order);
    out->group_first = calloc(room, sizeof *out->group_first);
    out->kin = calloc(room, sizeof *out->kin);
    out->family_first = calloc(room, sizeof *out->family_first);
    if (!out->order || !out->group_first || !out->kin || !out->family_first)
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for draws");
    sort_by_group(out);
    for (int i = 0; i < sample->count; i++) add_family(out, i, &used);
    return DIT_OK;
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
static void draw_together(const deck *decks, const suite_error_sample *const *samples, int first, int machines,
                          uint64_t seed, uint64_t draw, double *errors)
{
    enum { FAMILY_STREAM = 1 << 20, KIN_STREAM = 1 << 21 };
    const deck *from = &decks[first];
    int taken[MOST_RIVALS], count = 0;
    int family = (int)dit_rng_below(seed, FAMILY_STREAM + (uint64_t)first, draw, (uint64_t)from->family_count);
    for (int m = first; m < machines; m++) {
        if (samples[m] != samples[first]) continue;
        int kin = count < MOST_RIVALS ? draw_kin(from, family, taken, count, seed, KIN_STREAM + (uint64_t)m, draw) : -1;
        errors[m] = kin < 0 ? draw_alone(from, seed, (uint64_t)m, draw) : from->sample->errors[kin].error;
        if (kin >= 0) taken[count++] = machine_of(from, kin);
    }
}

static bool is_first_of_sample(const suite_error_sample *const *samples, int machine)
{
    for (int i = 0; i < machine; i++)
        if (samples[i] == samples[machine]) return false;
    return true;
}

static void draw_all(const deck *decks, const suite_error_sample *const *samples, int machines, uint64_t seed,
                     suite_draw_rule rule, uint64_t draw, double *errors)
{
    for (int m = 0; m < machines; m++) {
        if (rule == SUITE_DRAW_INDEPENDENT || !decks[m].family_count)
            errors[m] = draw_alone(&decks[m], seed, (uint64_t)m, draw);
        else if (is_first_of_sample(samples, m))
            draw_together(decks, samples, m, machines, seed, draw, errors);
    }
}

dit_status suite_draw_errors(const suite_error_sample *const *samples, int machines, int draws, uint64_t seed,
                             suite_draw_rule rule, double *errors)
{
    deck *decks = calloc((size_t)machines + 1, sizeof *decks);
    dit_status st = decks ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for draws");
    for (int m = 0; m < machines && st == DIT_OK; m++) st = open_deck(samples[m], &decks[m]);
    for (int j = 0; j < draws && st == DIT_OK; j++)
        draw_all(decks, samples, machines, seed, rule, (uint64_t)j, errors + (size_t)j * (size_t)machines);
    for (int m = 0; decks && m < machines; m++) release(&decks[m]);
    free(decks);
    return st;
}
