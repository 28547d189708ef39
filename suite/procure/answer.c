#include "suite/procure/answer.h"

#include "suite/platform/profile.h"
#include "suite/procure/choice.h"
#include "suite/procure/procure.h"
#include "suite/procure/versus.h"

#include <math.h>
#include <string.h>

void suite_answer_ranged(dit_json_writer *w, cJSON *parent, const char *key, const suite_ranged *ranged)
{
    if (ranged->value <= 0) return;
    cJSON *one = dit_json_put_object(w, parent, key);
    dit_json_put_number(w, one, "value", ranged->value);
    if (ranged->most <= 0) return;
    if (ranged->least > 0) dit_json_put_number(w, one, "lo", ranged->least);
    if (isfinite(ranged->most)) dit_json_put_number(w, one, "hi", ranged->most); /* else nothing can be said */
}

void suite_answer_absent(dit_json_writer *w, cJSON *row, const char *what, const char *reason)
{
    cJSON *absent = cJSON_GetObjectItemCaseSensitive(row, "absent");
    if (!absent) absent = dit_json_put_object(w, row, "absent");
    dit_json_put_string(w, absent, what, reason);
}

/* ---- question ------------------------------------------------------------------------------------------------------ */

void suite_answer_arrivals(dit_json_writer *w, cJSON *parent, const suite_arrivals *arrivals)
{
    static const char *const laws[] = {
        [SUITE_ARRIVALS_POISSON] = "poisson",
        [SUITE_ARRIVALS_REGULAR] = "regular",
        [SUITE_ARRIVALS_GAMMA] = "gamma",
        [SUITE_ARRIVALS_TRACE] = "trace",
    };
    dit_json_put_string(w, parent, "arrivals", laws[arrivals->law]);
    if (arrivals->law == SUITE_ARRIVALS_GAMMA) dit_json_put_number(w, parent, "variation", arrivals->variation);
    dit_json_put_int(w, parent, "seed", (int64_t)arrivals->seed);
}

static void put_load_asked(dit_json_writer *w, cJSON *question, const suite_procure_request *request)
{
    dit_json_put_number(w, question, "quantile", request->slo.quantile);
    suite_answer_arrivals(w, question, &request->arrivals);
    if (!(request->rate > 0)) return;
    dit_json_put_number(w, question, "images_per_hour", 3600 * request->rate * suite_choice_images(request));
    dit_json_put_int(w, question, "spares", request->spares);
}

void suite_answer_question(dit_json_writer *w, cJSON *document, const suite_procure_request *request)
{
    cJSON *question = dit_json_put_object(w, document, "question");
    const suite_search_request *search = &request->search;
    char day[SUITE_DAY_TEXT];
    suite_day_write(request->terms.day, day);
    dit_json_put_string(w, question, "command", request->command);
    dit_json_put_string(w, question, "model", search->model);
    dit_json_put_string(w, question, "profile", search->profile);
    if (request->base) dit_json_put_string(w, question, "base", request->base);
    dit_json_put_string(w, question, "scenario", suite_scenario_names()[request->scenario]);
    dit_json_put_string(w, question, "goal", suite_procure_goal_names()[request->goal]);
    dit_json_put_string(w, question, "scope", search->scope ? search->scope : "pipeline");
    dit_json_put_string(w, question, "element", search->element ? search->element : "fp16");
    dit_json_put_string(w, question, "calibration", suite_calibration_path(search->calibration));
    if (request->slo.seconds > 0) dit_json_put_number(w, question, "slo_s", request->slo.seconds);
    if (request->scenario == SUITE_SCENARIO_SERVER) put_load_asked(w, question, request);
    if (request->batch_most > 1) dit_json_put_int(w, question, "batch_most", request->batch_most);
    if (request->approximate) dit_json_put_string(w, question, "quality", "approximate");
    if (request->slo.times > 0) dit_json_put_number(w, question, "slo_times_alone", request->slo.times);
    if (request->supply_w > 0) dit_json_put_number(w, question, "power_limit_w", request->supply_w);
    if (request->site) dit_json_put_string(w, question, "site", request->site->name);
    if (request->hours_a_day > 0) dit_json_put_number(w, question, "hours_a_day", request->hours_a_day);
    dit_json_put_number(w, question, "level", request->forecaster->level);
    dit_json_put_bool(w, question, "extrapolate", request->forecaster->extrapolate);
    cJSON *terms = dit_json_put_object(w, question, "prices");
    dit_json_put_string(w, terms, "date", day);
    dit_json_put_string(w, terms, "kind", suite_price_kind_names()[request->terms.kind]);
    dit_json_put_string(w, terms, "currency", request->terms.currency);
    if (request->terms.region) dit_json_put_string(w, terms, "region", request->terms.region);
    dit_json_put_bool(w, terms, "per_device", request->terms.per_device);
    dit_json_put_bool(w, terms, "old_prices", request->terms.old_prices);
    dit_json_put_bool(w, terms, "doubtful", request->terms.doubtful);
}

void suite_procure_plan_put(dit_json_writer *w, cJSON *document, const suite_procure_request *request, bool devices)
{
    suite_answer_question(w, document, request);
    cJSON *machines = dit_json_put_array(w, document, "machines");
    for (int i = 0; i < request->machine_count; i++) {
        const suite_procure_machine *machine = &request->machines[i];
        const int largest = suite_procure_largest(machine);
        cJSON *one = dit_json_put_object(w, machines, NULL);
        dit_json_put_string(w, one, "platform", machine->priced.machine.name);
        cJSON *sizes = devices ? dit_json_put_array(w, one, "devices") : NULL;
        for (int size = machine->only ? largest : 1; sizes && size <= largest; size *= 2)
            dit_json_put_int(w, sizes, NULL, size);
    }
}

/* What the model's defaults came to: the run of the first case. */
static void put_run(dit_json_writer *w, cJSON *document, const suite_procured *procured)
{
    for (int i = 0; i < procured->count; i++) {
        if (!procured->splits[i].chosen) continue;
        const cJSON *run = dit_json_member(procured->splits[i].chosen->kase->document, "run");
        dit_json_put_copy(w, document, "run", run);
        return;
    }
}

/* ---- a split ------------------------------------------------------------------------------------------------------- */

static void put_service(dit_json_writer *w, cJSON *row, const suite_split *split)
{
    const suite_forecast *service = &split->service;
    char class[96];
    cJSON *one = dit_json_put_object(w, row, "service_s");
    dit_json_put_number(w, one, "value", service->seconds);
    dit_json_put_string(w, one, "evidence", "simulated");
    dit_json_put_string(w, one, "case_id", split->chosen->kase->case_id);
    if (!service->has_interval) {
        suite_answer_absent(w, row, "interval", service->why);
        return;
    }
    const suite_interval *interval = &service->interval;
    suite_error_class_text(&service->sample->of, class, sizeof class);
    dit_json_put_number(w, one, "lo", service->low);
    dit_json_put_number(w, one, "hi", service->high);
    dit_json_put_number(w, one, "level", interval->level);
    dit_json_put_string(w, one, "class", class);
    dit_json_put_int(w, one, "points", interval->points);
    dit_json_put_int(w, one, "groups", interval->groups);
    dit_json_put_bool(w, one, "extrapolated", interval->extrapolated);
    if (interval->extrapolated) dit_json_put_string(w, one, "why", interval->why);
}

static void put_cost(dit_json_writer *w, cJSON *row, const suite_procure_request *request, const suite_split *split)
{
    const suite_price *price = &split->price;
    if (price->absence != SUITE_PRICE_THERE) {
        suite_answer_absent(w, row, "cost", price->reason);
        return;
    }
    char oldest[SUITE_DAY_TEXT], newest[SUITE_DAY_TEXT];
    cJSON *cost = dit_json_put_object(w, row, "cost");
    suite_day_write(price->oldest, oldest);
    suite_day_write(price->newest, newest);
    dit_json_put_number(w, cost, "per_hour", price->median);
    dit_json_put_number(w, cost, "least", price->least);
    dit_json_put_number(w, cost, "most", price->most);
    dit_json_put_string(w, cost, "currency", price->currency);
    dit_json_put_string(w, cost, "kind", suite_price_kind_names()[request->terms.kind]);
    dit_json_put_bool(w, cost, "derived", price->derived);
    dit_json_put_string(w, cost, "oldest", oldest);
    dit_json_put_string(w, cost, "newest", newest);
    cJSON *quotes = dit_json_put_array(w, cost, "quotes");
    for (int i = 0; i < price->use_count; i++) {
        const suite_price_quote *quote = &request->book->quotes[price->uses[i].quote];
        cJSON *one = dit_json_put_object(w, quotes, NULL);
        dit_json_put_string(w, one, "provider", quote->provider);
        dit_json_put_string(w, one, "instance", quote->instance);
        dit_json_put_string(w, one, "region", quote->region);
        dit_json_put_number(w, one, "per_hour", price->uses[i].per_hour);
        dit_json_put_int(w, one, "age_days", price->uses[i].age_days);
    }
    suite_answer_ranged(w, cost, "per_1000", &split->per_1000);
}

static void put_power(dit_json_writer *w, cJSON *row, const suite_split *split)
{
    if (!split->has_power) {
        suite_answer_absent(w, row, "power", "neither a fit nor a power limit of the accelerator is known");
        return;
    }
    cJSON *power = dit_json_put_object(w, row, "power");
    dit_json_put_number(w, power, "device_w", split->power.device.w);
    dit_json_put_number(w, power, "server_w", split->power.server.w);
    dit_json_put_string(w, power, "evidence", split->power.model.fitted ? "published" : "assumed");
    dit_json_put_number(w, power, "error", split->power.model.error);
    dit_json_put_number(w, power, "images_per_kwh", split->images_per_kwh);
}

/* What a buyer's supply suffices for. */
static void put_supply(dit_json_writer *w, cJSON *row, const suite_split *split)
{
    if (split->rated_w <= 0) return;
    cJSON *supply = dit_json_put_object(w, row, "supply");
    dit_json_put_number(w, supply, "rated_w", split->rated_w);
    dit_json_put_int(w, supply, "machines", split->supplied);
    dit_json_put_number(w, supply, "images_per_hour", split->supplied * split->images_per_hour.value);
}

static void put_fleet(dit_json_writer *w, cJSON *row, const suite_split *split)
{
    const suite_fleet *fleet = &split->fleet;
    if (!fleet->machines) return;
    cJSON *one = dit_json_put_object(w, row, "fleet");
    dit_json_put_int(w, one, "machines", fleet->machines);
    if (fleet->least) dit_json_put_int(w, one, "lo", fleet->least);
    if (fleet->most) dit_json_put_int(w, one, "hi", fleet->most);
    dit_json_put_int(w, one, "devices", fleet->machines * split->devices);
    dit_json_put_number(w, one, "headroom", fleet->headroom);
    dit_json_put_number(w, one, "quantile_s", fleet->quantile_s);
    dit_json_put_bool(w, one, "fewer_overloads", isinf(fleet->fewer_s));
    if (isfinite(fleet->fewer_s)) dit_json_put_number(w, one, "fewer_quantile_s", fleet->fewer_s);
    dit_json_put_number(w, one, "busy", fleet->busy);
    if (split->price.absence == SUITE_PRICE_THERE)
        dit_json_put_number(w, one, "per_hour", fleet->machines * split->price.median);
    if (split->has_power) dit_json_put_number(w, one, "server_w", fleet->machines * split->power.server.w);
}

static void put_break_even(dit_json_writer *w, cJSON *own, const suite_owned *owned)
{
    static const char *const kinds[] = {
        [SUITE_BREAK_EVEN_AT] = "at",
        [SUITE_BREAK_EVEN_NEVER] = "rent",
        [SUITE_BREAK_EVEN_ALWAYS] = "own",
    };
    if (!owned->has_rent) return;
    cJSON *even = dit_json_put_object(w, own, "break_even");
    dit_json_put_string(w, even, "kind", kinds[owned->even.kind]);
    if (owned->even.kind == SUITE_BREAK_EVEN_AT) dit_json_put_number(w, even, "hours", owned->even.hours);
}

/* An hour of owning, at the load of the question. */
static void put_owned(dit_json_writer *w, cJSON *row, const suite_procure_request *request, const suite_split *split)
{
    const suite_owned *owned = &split->owned;
    if (!request->site) return;
    if (!owned->there) {
        suite_answer_absent(w, row, "own", owned->reason);
        return;
    }
    cJSON *own = dit_json_put_object(w, row, "own");
    dit_json_put_string(w, own, "currency", owned->price.currency);
    dit_json_put_number(w, own, "purchase", owned->price.mid);
    dit_json_put_number(w, own, "purchase_least", owned->price.low);
    dit_json_put_number(w, own, "purchase_most", owned->price.high);
    dit_json_put_bool(w, own, "purchase_stated", owned->price.stated);
    dit_json_put_bool(w, own, "purchase_scaled", owned->price.scaled);
    dit_json_put_number(w, own, "invested", owned->busy.invested);
    dit_json_put_number(w, own, "capital", owned->busy.capital);
    dit_json_put_number(w, own, "upkeep", owned->busy.upkeep);
    dit_json_put_number(w, own, "energy", owned->busy.energy);
    dit_json_put_number(w, own, "idle_energy", owned->idle.energy);
    dit_json_put_number(w, own, "per_hour", owned->busy.total);
    dit_json_put_number(w, own, "running_share", suite_own_running_share(&owned->busy));
    dit_json_put_number(w, own, "available_hours", owned->busy.hours / 12); /* of a month */
    suite_answer_ranged(w, own, "per_1000", &owned->per_1000);
    put_break_even(w, own, owned);
    if (owned->month_own_h <= 0) return;
    cJSON *month = dit_json_put_object(w, own, "month");
    dit_json_put_number(w, month, "hours", owned->month_own_h);
    dit_json_put_number(w, month, "own", owned->month_own);
    if (owned->has_rent) dit_json_put_number(w, month, "rent", owned->month_rent);
}

static void put_rank(dit_json_writer *w, cJSON *row, const suite_split *split)
{
    if (!split->ranked) return;
    cJSON *rank = dit_json_put_object(w, row, "rank");
    dit_json_put_int(w, rank, "lo", split->rank.low);
    dit_json_put_int(w, rank, "hi", split->rank.high);
    dit_json_put_number(w, rank, "p_first", split->rank.p_leads);
    dit_json_put_bool(w, rank, "leads", split->rank.leads);
}

/* At the highest rate within the bound. */
static void put_load(dit_json_writer *w, cJSON *row, const suite_split *split)
{
    const suite_queue_run *run = &split->load.run;
    cJSON *load = dit_json_put_object(w, row, "load");
    dit_json_put_number(w, load, "bound_s", split->slo_s);
    dit_json_put_number(w, load, "requests_per_hour", 3600 * split->load.rate);
    dit_json_put_number(w, load, "p50_s", run->p50);
    dit_json_put_number(w, load, "p90_s", run->p90);
    dit_json_put_number(w, load, "p95_s", run->p95);
    dit_json_put_number(w, load, "p99_s", run->p99);
    dit_json_put_number(w, load, "quantile_s", run->wanted.value);
    dit_json_put_number(w, load, "quantile_half_s", run->wanted.half); /* of its interval at 95 % */
    dit_json_put_number(w, load, "wait_s", run->wait.value);
    dit_json_put_number(w, load, "busy", run->busy);
    dit_json_put_int(w, load, "requests", run->requests);
    dit_json_put_bool(w, load, "precise", run->precise);
}

static void put_base(dit_json_writer *w, cJSON *row, const suite_procure_request *request, const suite_split *split)
{
    if (!split->base) return;
    cJSON *base = dit_json_put_object(w, row, "base");
    dit_json_put_string(w, base, "mesh", split->base->mesh);
    dit_json_put_string(w, base, "profile", request->base);
    dit_json_put_number(w, base, "seconds", split->base_s);
    dit_json_put_string(w, base, "evidence", "simulated");
    dit_json_put_string(w, base, "case_id", split->base->kase->case_id);
}

static const char *element_of(const suite_split *split)
{
    return dit_json_text_or(dit_json_member(split->chosen->kase->document, "platform"), "element", NULL);
}

static void put_split(dit_json_writer *w, cJSON *row, const suite_procure_request *request, const suite_split *split)
{
    const suite_priced_machine *machine = &request->machines[split->machine].priced;
    dit_json_put_string(w, row, "platform", machine->machine.name);
    dit_json_put_string(w, row, "accelerator", machine->machine.accelerator);
    dit_json_put_int(w, row, "devices", split->devices);
    if (!split->chosen) {
        suite_answer_absent(w, row, "service_s", split->reason);
        return;
    }
    dit_json_put_string(w, row, "mesh", split->chosen->mesh);
    dit_json_put_int(w, row, "replicas", split->replicas);
    if (request->batch_most > 1) dit_json_put_int(w, row, "batch", split->batch);
    if (split->share_links) dit_json_put_bool(w, row, "replicas_share_links", true);
    if (split->crowd > 1) dit_json_put_number(w, row, "crowding", split->crowd);
    dit_json_put_string(w, row, "profile", request->search.profile);
    dit_json_put_string(w, row, "element", element_of(split));
    dit_json_put_bool(w, row, "exact", split->chosen->exact);
    dit_json_put_int(w, row, "memory_bytes", suite_split_memory(split));
    put_service(w, row, split);
    put_base(w, row, request, split);
    if (split->verdict != SUITE_SLO_NONE) {
        cJSON *slo = dit_json_put_object(w, row, "slo");
        dit_json_put_number(w, slo, "bound_s", split->slo_s);
        dit_json_put_string(w, slo, "verdict", suite_slo_verdict_name(split->verdict));
        if (split->verdict != SUITE_SLO_UNSURE) dit_json_put_number(w, slo, "p_within", split->p_within);
        dit_json_put_bool(w, slo, "least_devices", split->least);
    }
    if (request->scenario == SUITE_SCENARIO_SERVER) put_load(w, row, split);
    suite_answer_ranged(w, row, "images_per_hour", &split->images_per_hour);
    put_cost(w, row, request, split);
    put_power(w, row, split);
    put_fleet(w, row, split);
    put_supply(w, row, split);
    put_owned(w, row, request, split);
    put_rank(w, row, split);
}

/* Other pictures than those of the exact splits. Nobody has scored them here, and nothing is said of them. */
static void put_approximate(dit_json_writer *w, cJSON *document, const suite_procure_request *request,
                            const suite_procured *procured)
{
    if (!request->approximate) return;
    cJSON *list = dit_json_put_array(w, document, "approximate");
    for (int i = 0; i < procured->approximate_count; i++) {
        const suite_split *split = &procured->approximate[i], *exact = suite_exact_beside(procured, split);
        cJSON *row = dit_json_put_object(w, list, NULL);
        put_split(w, row, request, split);
        dit_json_put_string(w, row, "quality", "unknown");
        if (exact) dit_json_put_number(w, row, "exact_s", exact->service.seconds);
    }
}

/* ---- verdicts ------------------------------------------------------------------------------------------------------ */

static void put_pairs(dit_json_writer *w, cJSON *document, const suite_procured *procured)
{
    cJSON *list = dit_json_put_array(w, document, "pairs");
    for (int i = 0; procured->licensed && i < procured->pair_count; i++) {
        const suite_pair *pair = &procured->pairs[i];
        cJSON *row = dit_json_put_object(w, list, NULL);
        dit_json_put_int(w, row, "a", pair->a);
        dit_json_put_int(w, row, "b", pair->b);
        dit_json_put_number(w, row, "p_a_better", pair->p_first);
        dit_json_put_string(w, row, "verdict", suite_pair_verdict_name(pair->verdict));
    }
}

/* What the first answer's score is multiplied by if something were so. */
static void put_sensitivities(dit_json_writer *w, cJSON *document, const suite_procured *procured)
{
    cJSON *list = dit_json_put_array(w, document, "sensitivity");
    for (int i = 0; i < procured->sensitivity_count; i++) {
        cJSON *one = dit_json_put_object(w, list, NULL);
        dit_json_put_string(w, one, "what", procured->sensitivities[i].what);
        dit_json_put_number(w, one, "factor", procured->sensitivities[i].factor);
    }
}

static void put_curves(dit_json_writer *w, cJSON *document, const suite_procured *procured)
{
    cJSON *list = dit_json_put_array(w, document, "curves");
    for (int i = 0; i < procured->curve_count; i++) {
        const suite_load_line *line = &procured->curves[i];
        cJSON *one = dit_json_put_object(w, list, NULL);
        dit_json_put_string(w, one, "mesh", line->mesh);
        dit_json_put_int(w, one, "replicas", line->replicas);
        cJSON *points = dit_json_put_array(w, one, "points");
        for (int j = 0; j < line->count; j++) {
            cJSON *point = dit_json_put_object(w, points, NULL);
            dit_json_put_number(w, point, "images_per_hour", line->points[j].images_per_hour);
            dit_json_put_number(w, point, "quantile_s", line->points[j].seconds);
        }
    }
}

static void put_versus(dit_json_writer *w, cJSON *document, const suite_procured *procured)
{
    static const char *const names[SUITE_PROCURE_GOALS] = {"faster", "cheaper"};
    const suite_versus *versus = &procured->versus;
    if (!versus->there) return;
    cJSON *one = dit_json_put_object(w, document, "versus");
    dit_json_put_int(w, one, "a", versus->a);
    dit_json_put_int(w, one, "b", versus->b);
    for (int goal = 0; goal < SUITE_PROCURE_GOALS; goal++) {
        if (!versus->judged[goal]) continue;
        cJSON *judged = dit_json_put_object(w, one, names[goal]);
        dit_json_put_number(w, judged, "p_a", versus->pair[goal].p_first);
        if (procured->licensed)
            dit_json_put_string(w, judged, "verdict", suite_pair_verdict_name(versus->pair[goal].verdict));
    }
    if (versus->even_a > 0) dit_json_put_number(w, one, "even_per_hour_a", versus->even_a);
    if (versus->even_b > 0) dit_json_put_number(w, one, "even_per_hour_b", versus->even_b);
}

static void put_licence(dit_json_writer *w, cJSON *document, const suite_procured *procured)
{
    static const char *const kinds[] = {"left_out", "fitted"};
    cJSON *checked = dit_json_put_object(w, document, "checked");
    dit_json_put_bool(w, checked, "verdicts", procured->licensed);
    for (int i = 0; i < 2; i++) {
        const suite_coverage *coverage = &procured->licence.coverage[i];
        const suite_pair_calls *calls = &procured->licence.calls[i];
        cJSON *one = dit_json_put_object(w, checked, kinds[i]);
        dit_json_put_int(w, one, "points", coverage->points);
        dit_json_put_int(w, one, "groups", coverage->groups);
        dit_json_put_number(w, one, "covered_groups", coverage->by_group);
        dit_json_put_number(w, one, "covered_points", coverage->by_point);
        dit_json_put_number(w, one, "promised", coverage->mean_level);
        dit_json_put_int(w, one, "verdicts", calls->called);
        dit_json_put_int(w, one, "right", calls->right);
        dit_json_put_number(w, one, "right_at_least", calls->bound_by_pair);
        dit_json_put_number(w, one, "right_at_least_by_groups", calls->bound);
        dit_json_put_bool(w, one, "allowed", procured->licence.allowed[i]);
        if (!procured->licence.allowed[i]) dit_json_put_string(w, one, "why", procured->licence.why[i]);
    }
}

static void put_prices(dit_json_writer *w, cJSON *document, const suite_price_book *book)
{
    cJSON *list = dit_json_put_array(w, document, "prices");
    for (int i = 0; i < book->file_count; i++) {
        char oldest[SUITE_DAY_TEXT], newest[SUITE_DAY_TEXT];
        cJSON *row = dit_json_put_object(w, list, NULL);
        suite_day_write(book->files[i].oldest, oldest);
        suite_day_write(book->files[i].newest, newest);
        dit_json_put_string(w, row, "file", book->files[i].name);
        dit_json_put_string(w, row, "sha", book->files[i].sha);
        if (!book->files[i].quotes) continue;
        dit_json_put_string(w, row, "oldest", oldest);
        dit_json_put_string(w, row, "newest", newest);
    }
}

void suite_procured_put(dit_json_writer *w, cJSON *document, const suite_procure_request *request,
                        const suite_procured *procured)
{
    dit_json_put_string(w, document, "schema", "ditbench.procure/1");
    suite_answer_question(w, document, request);
    suite_profile_put(w, document, request->search.profile);
    put_run(w, document, procured);
    cJSON *list = dit_json_put_array(w, document, "splits");
    for (int i = 0; i < procured->count; i++) {
        const suite_split *split = &procured->splits[i];
        cJSON *row = dit_json_put_object(w, list, NULL);
        put_split(w, row, request, split);
        if (split->chosen) dit_json_put_bool(w, row, "answers", suite_answer_of(procured, split->machine) == i);
    }
    put_approximate(w, document, request, procured);
    put_pairs(w, document, procured);
    put_versus(w, document, procured);
    put_sensitivities(w, document, procured);
    put_curves(w, document, procured);
    put_licence(w, document, procured);
    put_prices(w, document, request->book);
    cJSON *meshes = dit_json_put_object(w, document, "meshes");
    dit_json_put_int(w, meshes, "simulated", procured->simulated);
    dit_json_put_int(w, meshes, "kept", procured->kept);
    dit_json_put_int(w, meshes, "excluded_by_bound", procured->bounded);
}
