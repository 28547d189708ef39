/* ditbench procure: which machine to buy or rent, by time, money and watts, with intervals that were checked. */
#include "base/words.h"
#include "suite/catalogue/catalogue.h"
#include "suite/console/terminal.h"
#include "suite/procure/answer.h"
#include "suite/procure/procure.h"
#include "suite/verbs/price_options.h"
#include "suite/verbs/procure_print.h"
#include "suite/verbs/search_options.h"
#include "suite/verbs/verbs.h"

#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Answers a buyer: which machine makes a picture in time, how many an hour, for how much money and power. Each\n"
    "machine is searched for its best exact mesh on 1, 2, 4, ... of its devices (to 8, unless it is named). Times are\n"
    "predicted, with the interval that errors on held-out published times support; a machine that nothing was fitted\n"
    "on has the interval of machines left out. The software is torch-compile-2025 (--profile). Prices are quotes with "
    "their dates, or the reason why there is none.\n"
    "Scenarios: single (one request on all devices, then the next), offline (all requests are there at the start,\n"
    "replicas share them), server (requests arrive by chance: the split that bears the highest rate with a quantile "
    "of\n"
    "the latency within --slo). Goals: speed, cost. In scenario single a machine meets or misses --slo where its "
    "whole\n"
    "interval is on one side; else it is likely or unlikely, with the share of held-out errors that leave it within.\n"
    "Exit: 0 answered; 2 a wrong question; 4 without a simulator; 5 the predictions' own checks do not allow verdicts.";
static const char examples[] =
    "ditbench procure --model flux.1-dev --slo 5s\n"
    "ditbench procure flux.1-dev --slo 5s --goal cost --old-prices --doubtful\n"
    "ditbench procure flux.1-dev --scenario offline --machines 8xh100-sxm,8xl40\n"
    "ditbench procure flux.1-dev --scenario server --slo p95=8s --machines 8xh100-sxm@8\n"
    "ditbench procure pixart-sigma-xl-2 --machines 8xl40@4,4xa100-pcie --resolution 2048x2048\n"
    "ditbench procure wan2.1-t2v-14b --resolution 832x480 --num_frames 81 --all --json";

enum { SERVE_SEED = 7, OWN_OPTIONS = 11, MOST_DEVICES = 8 };

typedef struct {
    suite_cli cli;
    suite_procure_request request;
    search_options given;
    price_options prices;
    const char *machines, *scenario, *goal, *slo, *arrivals, *base, *held_out;
    double level;
    bool all, extrapolate;
    suite_price_book book;
    suite_power_table power;
    suite_forecaster forecaster;
    suite_procure_machine *list;
    suite_procured answer;
} procure_call;

/* ---- machines ------------------------------------------------------------------------------------------------------ */

static dit_status add_named(procure_call *call, const char *word)
{
    suite_procure_machine *one = &call->list[call->request.machine_count];
    DIT_TRY(suite_priced_machine_read(word, &one->priced));
    one->only = strchr(word, '@') != NULL;
    call->request.machine_count++;
    return DIT_OK;
}

static dit_status take_named(procure_call *call)
{
    const char *rest = call->machines;
    char word[96];
    call->list = calloc(strlen(call->machines) / 2 + 2, sizeof *call->list);
    if (!call->list) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a list of machines");
    while (dit_words_next(&rest, word, sizeof word)) DIT_TRY(add_named(call, word));
    return call->request.machine_count ? DIT_OK : DIT_FAIL(DIT_ERR_USAGE, "--machines names none");
}

/* Every simulated machine of one node, as far as eight devices. */
static dit_status take_all(procure_call *call)
{
    char **names;
    int count = 0;
    DIT_TRY(suite_catalogue_names("platforms", &names));
    while (names[count]) count++;
    call->list = calloc((size_t)count + 1, sizeof *call->list);
    dit_status st = call->list ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a list of machines");
    for (int i = 0; st == DIT_OK && i < count; i++) {
        suite_procure_machine *one = &call->list[call->request.machine_count];
        st = suite_priced_machine_read(names[i], &one->priced);
        bool sold = st == DIT_OK && one->priced.machine.nodes == 1;
        if (st == DIT_ERR_UNSUPPORTED) st = DIT_OK, dit_error_clear();
        if (!sold) continue;
        if (one->priced.devices > MOST_DEVICES) one->priced.devices = MOST_DEVICES;
        call->request.machine_count++;
    }
    suite_names_free(names);
    return st;
}

/* ---- the question -------------------------------------------------------------------------------------------------- */

static dit_status read_words(procure_call *call)
{
    suite_procure_request *request = &call->request;
    int scenario = dit_words_find(suite_scenario_names(), call->scenario);
    int goal = dit_words_find(suite_procure_goal_names(), call->goal);
    if (scenario < 0) return dit_fail_word(DIT_ERR_USAGE, "--scenario", call->scenario, suite_scenario_names());
    if (goal < 0) return dit_fail_word(DIT_ERR_USAGE, "--goal", call->goal, suite_procure_goal_names());
    request->scenario = (suite_scenario)scenario;
    request->goal = (suite_procure_goal)goal;
    if (call->slo) DIT_TRY(suite_slo_read(call->slo, &request->slo));
    if (!call->slo && request->scenario == SUITE_SCENARIO_SERVER)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--scenario server needs a bound: at which latency is it full?"),
                              "as in --slo p95=8s");
    request->arrivals.seed = SERVE_SEED;
    DIT_TRY(suite_arrivals_parse(call->arrivals, &request->arrivals));
    if (call->slo && request->scenario == SUITE_SCENARIO_OFFLINE)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_USAGE, "--slo bounds a request, and offline requests wait for each other"),
            "leave --slo out, or ask for --scenario single");
    return DIT_OK;
}

static void tell(void *context, int machine, int count, const char *name)
{
    const procure_call *call = context;
    if (!call->cli.quiet) fprintf(stderr, "%d of %d: %s\n", machine + 1, count, name);
}

static dit_status ask(procure_call *call)
{
    suite_procure_request *request = &call->request;
    const char *operand = call->cli.operand_count ? call->cli.operands[0] : NULL;
    DIT_TRY(search_options_take(&call->given, operand, &request->search));
    DIT_TRY(read_words(call));
    DIT_TRY(price_options_terms(&call->prices, &request->terms));
    DIT_TRY(price_options_book(&call->prices, &call->book));
    DIT_TRY(suite_power_load(&call->power));
    DIT_TRY(suite_forecaster_open(call->held_out, call->level, call->extrapolate, &call->forecaster));
    DIT_TRY(call->machines ? take_named(call) : take_all(call));
    request->base = strcmp(call->base, "none") == 0 ? NULL : call->base;
    request->machines = call->list;
    request->book = &call->book;
    request->power = &call->power;
    request->forecaster = &call->forecaster;
    request->told = tell, request->context = call;
    return suite_procure(request, &call->answer);
}

static int answer(procure_call *call)
{
    int code = call->answer.licensed ? DIT_EXIT_OK : DIT_EXIT_UNDECIDED;
    if (call->cli.json) {
        dit_json_writer w = {0};
        cJSON *document = dit_json_new_object(&w);
        suite_procured_put(&w, document, &call->request, &call->answer);
        return suite_cli_answer(&w, "procure", document, code);
    }
    dit_status st = procure_print(&call->request, &call->answer, call->all, stdout, suite_terminal_width(stdout));
    return st == DIT_OK ? code : suite_cli_fail(&call->cli, st);
}

static void release(procure_call *call)
{
    suite_procured_release(&call->answer);
    suite_forecaster_release(&call->forecaster);
    suite_power_release(&call->power);
    suite_price_book_release(&call->book);
    suite_calibration_release(&call->given.fitted);
    suite_cli_release(&call->cli);
    free(call->list);
}

int suite_verb_procure(int argc, char **argv)
{
    procure_call call = {
        .scenario = "single", .goal = "speed", .base = "pytorch-eager-2025", .arrivals = "poisson", .level = 0.9};
    suite_search_request *search = &call.request.search;
    suite_option options[SEARCH_OPTIONS + PRICE_OPTIONS + OWN_OPTIONS] = {{0}};
    const suite_option own[] = {
        {"machines", 0, SUITE_OPTION_STRING, "LIST",
         "platforms, also 8xl40@4 for four devices (default: all of one node)", &call.machines, 0, 0},
        {"scenario", 0, SUITE_OPTION_STRING, "WORD", "single, offline or server (default: single)", &call.scenario, 0,
         0},
        {"goal", 'g', SUITE_OPTION_STRING, "WORD", "speed or cost (default: speed)", &call.goal, 0, 0},
        {"slo", 0, SUITE_OPTION_STRING, "TIME",
         "bound of a request's time: 5s, p99=8s, or 3x for three times one device", &call.slo, 0, 0},
        {"arrivals", 0, SUITE_OPTION_STRING, "LAW",
         "of scenario server: poisson, regular or gamma:CV (default: poisson)", &call.arrivals, 0, 0},
        {"base", 0, SUITE_OPTION_STRING, "NAME",
         "software without tuning, shown beside, or \"none\" (default: pytorch-eager-2025)", &call.base, 0, 0},
        {"level", 0, SUITE_OPTION_NUMBER, "SHARE", "of intervals (0.9)", &call.level, 0, 0},
        {"extrapolate", 0, SUITE_OPTION_FLAG, NULL, "answer outside what was checked, too, and say so",
         &call.extrapolate, 0, 0},
        {"held-out", 0, SUITE_OPTION_STRING, "FILE",
         "errors of predictions (default: holdout.json beside the fitted values)", &call.held_out, 0, 0},
        {"all", 'a', SUITE_OPTION_FLAG, NULL, "every number of devices, not the one that answers", &call.all, 0, 0},
    };
    search_options_fill(&call.given, search, options);
    price_options_fill(&call.prices, options + SEARCH_OPTIONS);
    memcpy(options + SEARCH_OPTIONS + PRICE_OPTIONS, own, sizeof own);
    search->profile = "torch-compile-2025";
    const suite_cli_spec spec = {"procure", "[MODEL]", purpose, examples, options, 0, 1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    dit_status st = ask(&call);
    code = st == DIT_OK ? answer(&call) : suite_cli_fail(&call.cli, st);
    release(&call);
    return code;
}
