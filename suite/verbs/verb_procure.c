/* ditbench procure: which machine to buy or rent, by time, money and watts, with intervals that were checked. */
#include "base/words.h"
#include "reports/procurement/mix.h"
#include "reports/procurement/procurement.h"
#include "suite/accept/accept_answer.h"
#include "suite/catalogue/catalogue.h"
#include "suite/console/terminal.h"
#include "suite/launch/command.h"
#include "suite/mix/mix_answer.h"
#include "suite/paths.h"
#include "suite/platform/profile.h"
#include "suite/procure/answer.h"
#include "suite/procure/procure.h"
#include "suite/published/batches.h"
#include "suite/verbs/mix_print.h"
#include "suite/verbs/price_options.h"
#include "suite/verbs/procure_cases.h"
#include "suite/verbs/procure_print.h"
#include "suite/verbs/search_options.h"
#include "suite/verbs/verbs.h"
#include "version.h"

#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Answers a buyer: which machine makes a picture in time, how many an hour, for how much money and power. Each\n"
    "machine is searched for its best exact mesh on 1, 2, 4, ... of its devices (to 8, unless it is named). Times are\n"
    "predicted, with the interval that errors on held-out published times support; a machine that nothing was fitted\n"
    "on has the interval of machines left out. The software is torch-compile-2025 (--profile). Prices are quotes\n"
    "with their dates, or the reason why there is none.\n"
    "Scenarios: single (one request on all devices, then the next), offline (all requests are there at the start,\n"
    "replicas share them), server (requests arrive by chance: the split that bears the highest rate with a quantile "
    "of\n"
    "the latency within --slo). Goals: speed, cost. In scenario single a machine meets or misses --slo where its "
    "whole\n"
    "interval is on one side; else it is likely or unlikely, with the share of held-out errors that leave it within.\n"
    "With --batch N a replica serves up to N requests together, offline and as a server, where somebody has timed the\n"
    "model with such batches. --quality approximate adds a second list of pipelines, displaced patches and fp8.\n"
    "With --rate scenario server says how many machines serve it, --spares of them down; with --own what owning costs\n"
    "beside renting; with --power-limit how many the supply suffices for; --versus A,B compares two machines.\n"
    "--output DIR writes procure.json, figures, a page, and the chosen cases as workload.json, which `run` journals.\n"
    "--mix FILE asks for mixed traffic: classes of requests, each with its bound, and how a machine is cut into "
    "groups\n"
    "of devices that serve them. --accept SESSION holds what was measured on a delivered machine against what was\n"
    "promised (--machines, --profile).\n"
    "Exit: 0 answered; 1 --accept: a case is slower; 2 a wrong question; 4 without a simulator; 5 the predictions' own "
    "checks do not allow verdicts.";
static const char examples[] =
    "ditbench procure --model flux.1-dev --slo 5s\n"
    "ditbench procure flux.1-dev --slo 5s --goal cost --old-prices --doubtful\n"
    "ditbench procure flux.1-dev --scenario offline --machines 8xh100-sxm,8xl40\n"
    "ditbench procure flux.1-dev --scenario server --slo p95=8s --machines 8xh100-sxm@8\n"
    "ditbench procure flux.1-dev --scenario server --slo p95=10s --rate 5000/h --spares 1 --goal cost\n"
    "ditbench procure flux.1-dev --scenario offline --own default --hours 10 --goal cost --output results/local/own\n"
    "ditbench procure flux.1-dev --scenario offline --batch 8 --machines 8xh100-sxm\n"
    "ditbench procure flux.1-dev --slo 5s --quality approximate --machines 8xl40,8xh100-sxm\n"
    "ditbench procure flux.1-dev --versus 8xh100-sxm@8,8xb200-sxm@4 --power-limit 40kW\n"
    "ditbench procure flux.1-dev --mix shop --machines 8xh100-sxm,8xl40\n"
    "ditbench procure --accept latest --machines 8xh100-sxm\n"
    "ditbench procure pixart-sigma-xl-2 --machines 8xl40@4,4xa100-pcie --resolution 2048x2048\n"
    "ditbench procure wan2.1-t2v-14b --resolution 832x480 --num_frames 81 --all --json";

enum { SERVE_SEED = 7, MOST_DEVICES = 8 };

typedef struct {
    suite_cli cli;
    suite_procure_request request;
    search_options given;
    price_options prices;
    const char *machines, *versus, *scenario, *goal, *slo, *arrivals, *base, *held_out, *rate, *supply, *own, *mix,
        *accept, *quality;
    int64_t spares, batch;
    suite_trace trace;
    double level, hours;
    bool all, extrapolate;
    suite_price_book book;
    suite_power_table power;
    suite_forecaster forecaster;
    suite_site site;
    suite_procure_machine *list;
    suite_procured answer;
    suite_traffic traffic;
    suite_mixed mixed;
    suite_accepted accepted;
    char *command; /* owned */
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

static dit_status take_named(procure_call *call, const char *list)
{
    const char *rest = list;
    char word[96];
    call->list = calloc(strlen(list) / 2 + 2, sizeof *call->list);
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
        bool sold = st == DIT_OK && one->priced.machine.nodes == 1 && !one->priced.machine.of_source;
        if (st == DIT_ERR_UNSUPPORTED) st = DIT_OK, dit_error_clear();
        if (!sold) continue;
        if (one->priced.devices > MOST_DEVICES) one->priced.devices = MOST_DEVICES;
        call->request.machine_count++;
    }
    suite_names_free(names);
    return st;
}

/* Two machines, and no others. */
static dit_status take_two(procure_call *call)
{
    if (call->machines)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--versus and --machines both name machines"), "leave one out");
    DIT_TRY(take_named(call, call->versus));
    call->request.versus = true;
    if (call->request.machine_count == 2) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_USAGE, "--versus compares two machines, not %d", call->request.machine_count),
        "as in --versus 8xh100-sxm@8,8xl40@8");
}

/* ---- the question -------------------------------------------------------------------------------------------------- */

static dit_status check_bound(const procure_call *call)
{
    const suite_procure_request *request = &call->request;
    if (!call->slo && request->scenario == SUITE_SCENARIO_SERVER)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--scenario server needs a bound: at which latency is it full?"),
                              "as in --slo p95=8s");
    if (call->slo && request->scenario == SUITE_SCENARIO_OFFLINE)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_USAGE, "--slo bounds a request, and offline requests wait for each other"),
            "leave --slo out, or ask for --scenario single");
    if (call->rate && request->scenario != SUITE_SCENARIO_SERVER)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--rate asks for machines that serve requests as they arrive"),
                              "add --scenario server and --slo");
    if (call->spares && !call->rate)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--spares adds machines to those that serve a rate"),
                              "add --rate 1000/h");
    if (call->batch > 1 && request->scenario != SUITE_SCENARIO_SERVER && request->scenario != SUITE_SCENARIO_OFFLINE)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--batch makes replicas serve several requests together"),
                              "add --scenario offline or server; --num_images makes one request of several pictures");
    if (call->hours > 0 && !call->own)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--hours tells owning from renting"), "add --own default");
    return DIT_OK;
}

/* A mix has its own bounds, arrivals and rates. */
static dit_status check_mix(const procure_call *call)
{
    const struct {
        bool given;
        const char *option;
    } others[] = {{call->accept, "--accept"},      {call->slo, "--slo"},
                  {call->batch > 1, "--batch"},    {call->request.approximate, "--quality approximate"},
                  {call->rate, "--rate"},          {call->own, "--own"},
                  {call->supply, "--power-limit"}, {call->versus, "--versus"}};
    if (!call->mix && call->request.scenario == SUITE_SCENARIO_MIX)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--scenario mix needs the file of a mix"), "add --mix shop");
    if (!call->mix) return DIT_OK;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].given)
            return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "%s is not asked of a mix", others[i].option),
                                  "the file of the mix has bounds and arrivals; leave %s out", others[i].option);
    return DIT_OK;
}

static dit_status check_numbers(const procure_call *call)
{
    if (!(call->level >= 0.5 && call->level <= 0.99))
        return DIT_FAIL(DIT_ERR_USAGE, "--level %g is outside 0.5 to 0.99", call->level);
    if (!(call->hours >= 0 && call->hours <= 24))
        return DIT_FAIL(DIT_ERR_USAGE, "--hours %g is outside 0 to 24 a day", call->hours);
    return DIT_OK;
}

/* A law, or "trace:FILE". */
static dit_status read_arrivals(procure_call *call)
{
    static const char *const classes[] = {"request", NULL};
    static const char trace[] = "trace:";
    suite_arrivals *arrivals = &call->request.arrivals;
    arrivals->seed = SERVE_SEED;
    if (strncmp(call->arrivals, trace, strlen(trace)) != 0) return suite_arrivals_parse(call->arrivals, arrivals);
    arrivals->law = SUITE_ARRIVALS_TRACE;
    arrivals->trace = &call->trace;
    return suite_trace_read(call->arrivals + strlen(trace), classes, &call->trace);
}

static dit_status read_quality(procure_call *call)
{
    static const char *const words[] = {"exact", "approximate", NULL};
    int word = dit_words_find(words, call->quality);
    if (word < 0) return dit_fail_word(DIT_ERR_USAGE, "--quality", call->quality, words);
    call->request.approximate = word == 1;
    return DIT_OK;
}

/* No more requests together than somebody has timed, unless that is asked for. */
static dit_status read_batch(procure_call *call)
{
    int most = 1;
    call->request.batch_most = (int)call->batch;
    if (call->batch <= 1 || call->extrapolate) return DIT_OK;
    DIT_TRY(suite_published_batch(call->request.search.model, &most));
    if (call->batch <= most) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE,
                                   "--batch %d is outside what was checked: published times of %s go to batches of %d",
                                   (int)call->batch, call->request.search.model, most),
                          "--extrapolate simulates it all the same");
}

static dit_status read_words(procure_call *call)
{
    suite_procure_request *request = &call->request;
    DIT_TRY(read_quality(call));
    int scenario = dit_words_find(suite_scenario_names(), call->scenario);
    int goal = dit_words_find(suite_procure_goal_names(), call->goal);
    if (scenario < 0) return dit_fail_word(DIT_ERR_USAGE, "--scenario", call->scenario, suite_scenario_names());
    if (goal < 0) return dit_fail_word(DIT_ERR_USAGE, "--goal", call->goal, suite_procure_goal_names());
    request->scenario = call->mix ? SUITE_SCENARIO_MIX : (suite_scenario)scenario;
    request->goal = (suite_procure_goal)goal;
    DIT_TRY(check_bound(call));
    DIT_TRY(check_numbers(call));
    DIT_TRY(check_mix(call));
    if (call->slo) DIT_TRY(suite_slo_read(call->slo, &request->slo));
    if (call->rate) DIT_TRY(suite_rate_read(call->rate, &request->rate));
    if (call->supply) DIT_TRY(suite_watts_read(call->supply, &request->supply_w));
    if (request->search.num_images > 1) request->rate /= (double)request->search.num_images; /* of requests */
    request->spares = (int)call->spares;
    request->hours_a_day = call->hours;
    return read_arrivals(call);
}

static dit_status read_base(procure_call *call)
{
    suite_profile profile;
    if (strcmp(call->base, "none") == 0) return DIT_OK;
    DIT_TRY(suite_profile_load(call->base, &profile));
    call->request.base = call->base;
    return DIT_OK;
}

/* What was promised: any simulated platform. */
static dit_status take_promised(procure_call *call)
{
    if (!call->machines)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--accept needs the platform that was promised"),
                              "as in --machines 8xh100-sxm");
    call->list = calloc(1, sizeof *call->list);
    if (!call->list) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a machine");
    call->request.machine_count = 1;
    return suite_price_machine_facts(call->machines, &call->list->priced.machine);
}

static dit_status take_machines(procure_call *call)
{
    if (call->accept) return take_promised(call);
    if (call->versus) return take_two(call);
    return call->machines ? take_named(call, call->machines) : take_all(call);
}

static void tell(void *context, int machine, int count, const char *name)
{
    const procure_call *call = context;
    if (!call->cli.quiet) fprintf(stderr, "%d of %d: %s\n", machine + 1, count, name);
}

/* What would be searched. */
static void print_searches(const suite_procure_request *request)
{
    for (int i = 0; i < request->machine_count; i++) {
        const suite_procure_machine *machine = &request->machines[i];
        printf("%s on %s%d devices%s%s\n", machine->priced.machine.name, machine->only ? "" : "1, 2, 4, ... to ",
               suite_procure_largest(machine), request->base ? ", and without tuning by " : "",
               request->base ? request->base : "");
    }
    printf("nothing was simulated; `ditbench search MODEL --platform NAME --dry-run` shows bounds of a machine's "
           "meshes\n");
}

static dit_status answer_plan(const procure_call *call)
{
    dit_json_writer w = {0};
    if (!call->cli.json && call->accept)
        printf("%s would be held against %s\n", call->accept, call->list->priced.machine.name);
    else if (!call->cli.json)
        print_searches(&call->request);
    if (!call->cli.json) return DIT_OK;
    cJSON *document = dit_json_new_object(&w);
    suite_procure_plan_put(&w, document, &call->request, !call->accept);
    dit_json_put_string(&w, document, "session", call->accept);
    if (call->mix) dit_json_put_string(&w, document, "traffic", call->traffic.name);
    return suite_cli_finish_json(&w, "procure-plan", document);
}

static dit_status accept_session(procure_call *call)
{
    call->answer.licensed = true; /* it ranks nobody */
    return suite_accept_run(&call->request, call->accept, &call->accepted);
}

static dit_status ask(procure_call *call)
{
    suite_procure_request *request = &call->request;
    if (!call->accept) DIT_TRY(search_options_model(&call->cli, &request->search)); /* else each case has its own */
    DIT_TRY(search_options_take(&call->given, &request->search));
    DIT_TRY(read_words(call));
    DIT_TRY(read_batch(call));
    DIT_TRY(price_options_terms(&call->prices, &request->terms));
    DIT_TRY(price_options_book(&call->prices, &call->book));
    DIT_TRY(suite_power_load(&call->power));
    DIT_TRY(suite_forecaster_open(call->held_out, call->level, call->extrapolate, &call->forecaster));
    DIT_TRY(read_base(call));
    if (call->own) DIT_TRY(suite_site_load(call->own, &call->site));
    request->site = call->own ? &call->site : NULL;
    DIT_TRY(take_machines(call));
    request->machines = call->list;
    request->book = &call->book;
    request->power = &call->power;
    request->forecaster = &call->forecaster;
    request->told = tell, request->context = call;
    if (call->mix) request->base = NULL;
    if (call->mix) DIT_TRY(suite_traffic_load(call->mix, &call->traffic));
    if (call->cli.dry_run) return DIT_OK;
    if (call->accept) return accept_session(call);
    if (!call->mix) return suite_procure(request, &call->answer);
    call->answer.licensed = true; /* a mix gives no verdicts */
    return suite_mix_run(request, &call->traffic, &call->mixed);
}

/* The command line as typed, for a shell. */
static dit_status keep_command(procure_call *call, int argc, char **argv)
{
    suite_command command = {.argc = 0};
    size_t length;
    dit_status st = suite_command_word(&command, "ditbench");
    for (int i = 0; st == DIT_OK && i < argc; i++) st = suite_command_word(&command, "%s", argv[i]);
    FILE *text = st == DIT_OK ? open_memstream(&call->command, &length) : NULL;
    if (st == DIT_OK && !text) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for the command line");
    if (text) suite_command_print(&command, text), fclose(text);
    suite_command_release(&command);
    call->request.command = call->command;
    return st;
}

static dit_status document_of(procure_call *call, cJSON **out)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w);
    suite_procured_put(&w, document, &call->request, &call->answer);
    return dit_json_finish(&w, document, out);
}

/* The document first: whoever has no gnuplot keeps the answer. */
static dit_status write_files(const procure_call *call, const cJSON *document)
{
    const char *name = call->mix ? "mix" : "procure";
    char path[SUITE_PATH];
    int drawn;
    const report_procurement_options options = {.folder = call->cli.output, .program = DITBENCH_VERSION};
    DIT_TRY(suite_path_make(call->cli.output));
    DIT_TRY(suite_path(path, "%s/%s.json", call->cli.output, name));
    DIT_TRY(dit_json_write_file(document, path, false));
    if (!call->mix) DIT_TRY(procure_cases_write(&call->request, &call->answer, call->cli.output));
    DIT_TRY((call->mix ? report_mix_write : report_procurement_write)(document, &options, &drawn));
    if (!call->cli.quiet) fprintf(stderr, "%s/%s.html: the page, with %d figures\n", call->cli.output, name, drawn);
    return DIT_OK;
}

static dit_status answer_mix(procure_call *call)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w), *done;
    suite_mixed_put(&w, document, &call->request, &call->traffic, &call->mixed);
    DIT_TRY(dit_json_finish(&w, document, &done));
    dit_status st = call->cli.output ? write_files(call, done) : DIT_OK;
    if (st == DIT_OK && call->cli.json) st = suite_cli_print_json("mix", done);
    cJSON_Delete(done);
    if (st != DIT_OK || call->cli.json) return st;
    return mix_print(&call->request, &call->traffic, &call->mixed, stdout, suite_terminal_width(stdout));
}

static dit_status answer_accepted(procure_call *call)
{
    dit_json_writer w = {0};
    if (!call->cli.json)
        return suite_accepted_print(&call->request, &call->accepted, stdout, suite_terminal_width(stdout));
    cJSON *document = dit_json_new_object(&w);
    suite_accepted_put(&w, document, &call->request, &call->accepted);
    return suite_cli_finish_json(&w, "accept", document);
}

static int code_of(const procure_call *call)
{
    const suite_accepted *accepted = &call->accepted;
    if (call->cli.dry_run) return DIT_EXIT_OK; /* nobody is judged */
    if (!call->answer.licensed) return DIT_EXIT_UNDECIDED;
    if (accepted->verdicts[SUITE_ACCEPT_SLOWER]) return DIT_EXIT_GATE;
    return call->accept && accepted->verdicts[SUITE_ACCEPT_UNKNOWN] == accepted->count ? DIT_EXIT_UNDECIDED
                                                                                       : DIT_EXIT_OK;
}

static dit_status answer(procure_call *call)
{
    cJSON *document;
    if (call->cli.dry_run) return answer_plan(call);
    if (call->accept) return answer_accepted(call);
    if (call->mix) return answer_mix(call);
    DIT_TRY(document_of(call, &document));
    dit_status st = call->cli.output ? write_files(call, document) : DIT_OK;
    if (st == DIT_OK && call->cli.json) st = suite_cli_print_json("procure", document);
    cJSON_Delete(document);
    if (st != DIT_OK || call->cli.json) return st;
    return procure_print(&call->request, &call->answer, call->all, stdout, suite_terminal_width(stdout));
}

static void release(procure_call *call)
{
    suite_procured_release(&call->answer);
    suite_mixed_release(&call->mixed);
    suite_accepted_release(&call->accepted);
    suite_traffic_release(&call->traffic);
    suite_trace_release(&call->trace);
    suite_forecaster_release(&call->forecaster);
    suite_power_release(&call->power);
    suite_price_book_release(&call->book);
    suite_site_release(&call->site);
    suite_calibration_release(&call->given.fitted);
    suite_cli_release(&call->cli);
    free(call->list);
    free(call->command);
}

int suite_verb_procure(int argc, char **argv)
{
    procure_call call = {.scenario = "single",
                         .goal = "speed",
                         .base = "pytorch-eager-2025",
                         .arrivals = "poisson",
                         .level = 0.9,
                         .quality = "exact"};
    suite_search_request *search = &call.request.search;
    const suite_option own[] = {
        {"machines", 0, SUITE_OPTION_STRING, "LIST",
         "platforms, also 8xl40@4 for four devices (default: all of one node)", &call.machines, 0, 0},
        {"versus", 0, SUITE_OPTION_STRING, "A,B", "compare two machines, in words", &call.versus, 0, 0},
        {"scenario", 0, SUITE_OPTION_STRING, "WORD", "single, offline, server or mix (default: single)", &call.scenario,
         0, 0},
        {"goal", 'g', SUITE_OPTION_STRING, "WORD", "speed or cost (default: speed)", &call.goal, 0, 0},
        {"slo", 0, SUITE_OPTION_STRING, "TIME",
         "bound of a request's time: 5s, p99=8s, or 3x for three times one device", &call.slo, 0, 0},
        {"rate", 0, SUITE_OPTION_STRING, "N/h", "of scenario server: pictures that must be served, 1000/h or 2/s",
         &call.rate, 0, 0},
        {"spares", 0, SUITE_OPTION_INT, "N", "with --rate: hold the bound with so many machines down", &call.spares, 0,
         1000},
        {"arrivals", 0, SUITE_OPTION_STRING, "LAW",
         "of scenario server: poisson, regular, gamma:CV or trace:FILE.csv (default: poisson)", &call.arrivals, 0, 0},
        {"batch", 0, SUITE_OPTION_INT, "N", "requests that a replica may serve together (default: 1)", &call.batch, 1,
         SUITE_BATCH_MOST},
        {"quality", 0, SUITE_OPTION_STRING, "WORD", "exact, or approximate in a list of its own (default: exact)",
         &call.quality, 0, 0},
        {"own", 0, SUITE_OPTION_STRING, "SITE",
         "what owning costs: a name of workloads/sites, or a file; goal cost ranks by it", &call.own, 0, 0},
        {"hours", 0, SUITE_OPTION_NUMBER, "N", "with --own: hours a day that a machine works", &call.hours, 0, 0},
        {"power-limit", 0, SUITE_OPTION_STRING, "WATTS", "power that there is, 40kW: how many machines it supplies",
         &call.supply, 0, 0},
        {"mix", 0, SUITE_OPTION_STRING, "FILE", "mixed traffic: a name of workloads/traffic, or a file", &call.mix, 0,
         0},
        {"accept", 0, SUITE_OPTION_STRING, "SESSION", "hold a measured session against the one platform of --machines",
         &call.accept, 0, 0},
        {"base", 0, SUITE_OPTION_STRING, "NAME",
         "software without tuning, shown beside, or \"none\" (default: pytorch-eager-2025)", &call.base, 0, 0},
        {"level", 0, SUITE_OPTION_NUMBER, "SHARE", "of intervals (0.9)", &call.level, 0, 0},
        {"extrapolate", 0, SUITE_OPTION_FLAG, NULL, "answer outside what was checked, too, and say so",
         &call.extrapolate, 0, 0},
        {"held-out", 0, SUITE_OPTION_STRING, "FILE",
         "errors of predictions (default: holdout.json beside the fitted values)", &call.held_out, 0, 0},
        {"all", 'a', SUITE_OPTION_FLAG, NULL, "every number of devices, not the one that answers", &call.all, 0, 0},
    };
    suite_option options[SEARCH_OPTIONS + PRICE_OPTIONS + sizeof own / sizeof *own + 1] = {{0}};
    search_options_fill(&call.given, search, options);
    price_options_fill(&call.prices, options + SEARCH_OPTIONS);
    memcpy(options + SEARCH_OPTIONS + PRICE_OPTIONS, own, sizeof own);
    search->profile = "torch-compile-2025";
    const suite_cli_spec spec = {"procure", "[MODEL]", purpose, examples, options, 0, 1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    dit_status st = keep_command(&call, argc, argv);
    if (st == DIT_OK) st = ask(&call);
    if (st == DIT_OK) st = answer(&call);
    code = st == DIT_OK ? code_of(&call) : suite_cli_fail(&call.cli, st);
    release(&call);
    return code;
}
