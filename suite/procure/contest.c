#include "suite/procure/contest.h"

#include "suite/procure/choice.h"

#include <math.h>
#include <stdlib.h>

double suite_contest_score(const suite_procure_request *request, const suite_split *split)
{
    if (!split->chosen) return 0;
    if (request->goal == SUITE_PROCURE_COST) return request->site ? split->owned.per_1000.value : split->per_1000.value;
    if (request->scenario == SUITE_SCENARIO_SINGLE) return split->service.seconds;
    return 3600 / split->images_per_hour.value;
}

bool suite_contest_enters(const suite_procure_request *request, const suite_split *split)
{
    double score = suite_contest_score(request, split);
    return split->chosen && split->service.has_interval && score > 0 && isfinite(score);
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
        all[i].score =
            suite_contest_enters(request, &all[i].split) ? suite_contest_score(request, &all[i].split) : INFINITY;
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

dit_status suite_contest_growth(const suite_procure_request *request, suite_loads *loads, const suite_split *split,
                                double error, double *out)
{
    static const double none_left = 30;
    double rate, now;
    *out = error;
    if (request->scenario != SUITE_SCENARIO_SERVER) return DIT_OK;
    const suite_service predicted = suite_choice_service(split, split->service.seconds),
                        wrong = suite_choice_service(split, split->service.seconds * exp(error));
    DIT_TRY(suite_serve_rate(request, loads, split->slo_s, &predicted, &now));
    DIT_TRY(suite_serve_rate(request, loads, split->slo_s, &wrong, &rate));
    *out = rate > 0 && now > 0 ? fmin(log(now / rate), none_left) : none_left;
    return DIT_OK;
}

/* The range of the score by what is paid for the machine. */
static void range_price(const suite_procure_request *request, const suite_split *split, suite_contender *out)
{
    const suite_purchase_price *bought = &split->owned.price;
    out->least = out->most = out->score;
    if (request->goal != SUITE_PROCURE_COST) return;
    if (request->site) {
        double capital = split->owned.busy.capital / split->owned.busy.total;
        out->least *= 1 - capital * (1 - bought->low / bought->mid);
        out->most *= 1 + capital * (bought->high / bought->mid - 1);
        return;
    }
    out->least *= split->price.least / split->price.median;
    out->most *= split->price.most / split->price.median;
}

static dit_status enter(const suite_procure_request *request, suite_loads *loads, const suite_split *split, int place,
                        draw_room *room)
{
    suite_contender *one = &room->contenders[place];
    double gap;
    *one = (suite_contender){.score = suite_contest_score(request, split), .left_out = !is_fitted(split)};
    range_price(request, split, one);
    room->samples[place] = split->service.sample;
    if (!one->left_out) return DIT_OK;
    DIT_TRY(suite_contest_growth(request, loads, split, suite_error_widest_gap(split->service.sample), &gap));
    room->widest_gap = fmax(room->widest_gap, gap);
    return DIT_OK;
}

/* Errors of times become those of scores. */
static dit_status grow_errors(const suite_procure_request *request, suite_loads *loads, const suite_split *splits,
                              draw_room *room)
{
    for (int rule = 0; rule < SUITE_DRAW_RULES; rule++)
        for (int i = 0; i < SUITE_CONTEST_DRAWS * room->count; i++)
            DIT_TRY(suite_contest_growth(request, loads, &splits[i % room->count], room->errors[rule][i],
                                         &room->errors[rule][i]));
    return DIT_OK;
}

/* Judges splits[room->count]. */
static dit_status compete(const suite_procure_request *request, suite_loads *loads, const suite_split *splits,
                          draw_room *room)
{
    suite_contest contest = {.contenders = room->contenders, .count = room->count, .draws = SUITE_CONTEST_DRAWS};
    for (int i = 0; i < room->count; i++) DIT_TRY(enter(request, loads, &splits[i], i, room));
    contest.widest_gap = room->widest_gap;
    for (int rule = 0; rule < SUITE_DRAW_RULES; rule++) {
        DIT_TRY(suite_draw_errors(room->samples, room->count, SUITE_CONTEST_DRAWS, SUITE_CONTEST_SEED,
                                  (suite_draw_rule)rule, room->errors[rule]));
        contest.errors[rule] = room->errors[rule];
    }
    DIT_TRY(grow_errors(request, loads, splits, room));
    return suite_rank_all(&contest, room->pairs, room->ranks);
}

dit_status suite_contest_pair(const suite_procure_request *request, suite_loads *loads, const suite_split *a,
                              const suite_split *b, suite_pair *out)
{
    const suite_split both[] = {*a, *b};
    draw_room room;
    dit_status st = open_room(2, &room);
    if (st == DIT_OK) st = compete(request, loads, both, &room);
    if (st == DIT_OK) *out = room.pairs[0];
    close_room(&room);
    return st;
}

static void keep(draw_room *room, suite_procured *out)
{
    for (int i = 0; i < room->count; i++) {
        out->splits[i].ranked = true;
        out->splits[i].rank = room->ranks[i];
    }
    out->pair_count = room->count * (room->count - 1) / 2;
    out->pairs = room->pairs;
    room->pairs = NULL;
}

dit_status suite_contest_run(const suite_procure_request *request, suite_procured *out)
{
    draw_room room;
    int count = 0;
    DIT_TRY(suite_verdict_licence_of(&request->forecaster->held, &out->licence));
    DIT_TRY(sort(request, out));
    while (count < out->count && suite_contest_enters(request, &out->splits[count])) count++;
    out->licensed = true;
    for (int i = 0; i < count; i++) out->licensed = out->licensed && out->licence.allowed[is_fitted(&out->splits[i])];
    if (count == 0) return DIT_OK;
    dit_status st = open_room(count, &room);
    if (st == DIT_OK) st = compete(request, &out->loads, out->splits, &room);
    if (st == DIT_OK) keep(&room, out);
    close_room(&room);
    return st;
}
