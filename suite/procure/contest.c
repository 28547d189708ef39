#include "suite/procure/contest.h"

#include <math.h>
#include <stdlib.h>

double suite_contest_score(const suite_procure_request *request, const suite_split *split)
{
    if (!split->chosen) return 0;
    if (request->goal == SUITE_PROCURE_COST) return split->per_1000.value;
    if (request->scenario == SUITE_SCENARIO_SINGLE) return split->service.seconds;
    return 3600 / split->images_per_hour.value;
}

static bool competes(const suite_procure_request *request, const suite_split *split)
{
    return split->chosen && split->service.has_interval && suite_contest_score(request, split) > 0;
}

/* Whether the machine's own errors speak, or those of machines left out. */
static bool is_fitted(const suite_split *split)
{
    return split->service.sample->of.fitted;
}

/* ---- order --------------------------------------------------------------------------------------------------------- */

typedef struct {
    suite_split split;
    double score; /* INFINITY: it does not compete */
} placed;

static int compare(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->score < y->score || x->score > y->score) return x->score < y->score ? -1 : 1;
    if (x->split.machine != y->split.machine) return x->split.machine < y->split.machine ? -1 : 1;
    return x->split.devices < y->split.devices ? -1 : x->split.devices > y->split.devices;
}

static dit_status sort(const suite_procure_request *request, suite_procured *out)
{
    placed *all = calloc((size_t)out->count + 1, sizeof *all);
    if (!all) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to sort %d answers", out->count);
    for (int i = 0; i < out->count; i++) {
        all[i].split = out->splits[i];
        all[i].score = competes(request, &all[i].split) ? suite_contest_score(request, &all[i].split) : INFINITY;
    }
    qsort(all, (size_t)out->count, sizeof *all, compare);
    for (int i = 0; i < out->count; i++) out->splits[i] = all[i].split;
    free(all);
    return DIT_OK;
}

/* ---- draws --------------------------------------------------------------------------------------------------------- */

typedef struct {
    suite_contender *contenders;
    const suite_error_sample **samples;
    double *errors[SUITE_DRAW_RULES];
    suite_pair *pairs;
    suite_rank *ranks;
    int count;
    double widest_gap;
} draw_room;

static void close_room(draw_room *room)
{
    for (int rule = 0; rule < SUITE_DRAW_RULES; rule++) free(room->errors[rule]);
    free(room->contenders);
    free(room->samples);
    free(room->pairs);
    free(room->ranks);
}

static dit_status open_room(int count, draw_room *room)
{
    size_t n = (size_t)count;
    bool there = true;
    *room = (draw_room){.count = count};
    room->contenders = calloc(n + 1, sizeof *room->contenders);
    room->samples = calloc(n + 1, sizeof *room->samples);
    room->pairs = calloc(n * n / 2 + 1, sizeof *room->pairs);
    room->ranks = calloc(n + 1, sizeof *room->ranks);
    for (int rule = 0; rule < SUITE_DRAW_RULES; rule++) {
        room->errors[rule] = calloc(SUITE_CONTEST_DRAWS * n + 1, sizeof(double));
        there = there && room->errors[rule];
    }
    if (there && room->contenders && room->samples && room->pairs && room->ranks) return DIT_OK;
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory to compare %d answers", count);
}

static void enter(const suite_procure_request *request, const suite_split *split, int place, draw_room *room)
{
    double score = suite_contest_score(request, split), least = score, most = score;
    bool left_out = !is_fitted(split);
    if (request->goal == SUITE_PROCURE_COST) {
        least *= split->price.least / split->price.median;
        most *= split->price.most / split->price.median;
    }
    room->contenders[place] = (suite_contender){.score = score, .least = least, .most = most, .left_out = left_out};
    room->samples[place] = split->service.sample;
    if (left_out) room->widest_gap = fmax(room->widest_gap, suite_error_widest_gap(split->service.sample));
}

static dit_status compete(draw_room *room)
{
    suite_contest contest = {.contenders = room->contenders,
                             .count = room->count,
                             .draws = SUITE_CONTEST_DRAWS,
                             .widest_gap = room->widest_gap};
    for (int rule = 0; rule < SUITE_DRAW_RULES; rule++) {
        DIT_TRY(suite_draw_errors(room->samples, room->count, SUITE_CONTEST_DRAWS, SUITE_CONTEST_SEED,
                                  (suite_draw_rule)rule, room->errors[rule]));
        contest.errors[rule] = room->errors[rule];
    }
    return suite_rank_all(&contest, room->pairs, room->ranks);
}

static dit_status keep(const draw_room *room, suite_procured *out)
{
    for (int i = 0; i < room->count; i++) {
        out->splits[i].ranked = true;
        out->splits[i].rank = room->ranks[i];
    }
    out->pair_count = room->count * (room->count - 1) / 2;
    out->pairs = calloc((size_t)out->pair_count + 1, sizeof *out->pairs);
    if (!out->pairs) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d pairs", out->pair_count);
    for (int i = 0; i < out->pair_count; i++) out->pairs[i] = room->pairs[i];
    return DIT_OK;
}

dit_status suite_contest_run(const suite_procure_request *request, suite_procured *out)
{
    draw_room room;
    int count = 0;
    DIT_TRY(suite_verdict_licence_of(&request->forecaster->held, &out->licence));
    DIT_TRY(sort(request, out));
    while (count < out->count && competes(request, &out->splits[count])) count++;
    out->licensed = true;
    for (int i = 0; i < count; i++) out->licensed = out->licensed && out->licence.allowed[is_fitted(&out->splits[i])];
    if (count == 0) return DIT_OK;
    dit_status st = open_room(count, &room);
    for (int i = 0; st == DIT_OK && i < count; i++) enter(request, &out->splits[i], i, &room);
    if (st == DIT_OK) st = compete(&room);
    if (st == DIT_OK) st = keep(&room, out);
    close_room(&room);
    return st;
}
