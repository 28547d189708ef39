/* ditbench search: the best mesh of a model on a simulated machine, and what excludes each other one. */
#include "base/label.h"
#include "base/words.h"
#include "reports/search/search_page.h"
#include "suite/console/cli.h"
#include "suite/console/table.h"
#include "suite/console/terminal.h"
#include "suite/paths.h"
#include "suite/platform/profile.h"
#include "suite/search/answer.h"
#include "suite/search/search.h"
#include "suite/verbs/search_options.h"
#include "suite/verbs/search_rents.h"
#include "suite/verbs/verbs.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Finds the best mesh of a model on a simulated platform. Every legal mesh gets a lower bound of its simulated "
    "time\n"
    "(device: its operators; host: what the host issues; wire: its messages over the busiest link; chain: one rank\n"
    "alone), and meshes are simulated in the order of their bounds until no other can be faster. So the answer is "
    "that\n"
    "of simulating all. A simulated mesh is kept in the user's cache folder and not simulated again.\n"
    "Goals: latency (one request on all devices), throughput (replicas that share the devices, a request each), "
    "memory\n"
    "(of the fullest rank, nothing is simulated), cost (so many devices as somebody rents out, as replicas: least "
    "money\n"
    "for an image at the median quote; the options of `prices` say which quotes count), front (the fastest mesh for "
    "each\n"
    "number of devices of a replica).\n"
    "Exact methods only, unless --quality approximate adds stages and displaced patches. The software is "
    "torch-compile,\n"
    "unless --profile says otherwise. --output DIR writes a page, search.json and a figure: bounds against times.\n"
    "Exit: 0 there is a best mesh, 1 none fits, 3 none could be bounded or simulated, 4 without a simulator.";
static const char examples[] =
    "ditbench search flux.1-dev --platform 8xh100-sxm\n"
    "ditbench search flux.1-dev --platform 8xl40 --devices 4 --goal throughput\n"
    "ditbench search pixart-sigma-xl-2 --platform 4xa100-pcie --resolution 2048x2048 --json\n"
    "ditbench search flux.1-dev --platform 8xh100-sxm --goal cost --old-prices\n"
    "ditbench search wan2.1-t2v-14b --platform 8xh100-sxm --goal front --within 2%";
static const double GIB = 1024.0 * 1024 * 1024;

enum { OWN_OPTIONS = 12 }; /* of this verb alone, and the end */

typedef struct {
    suite_search_request request;
    search_options given;
    price_options prices;
    search_rents rents;
    const char *goal, *quality, *within, *times, *mesh, *output;
    dit_parallel parallel; /* of `mesh` */
    bool all;
    suite_search found;
} search_call;

/* ---- the table --------------------------------------------------------------------------------------------------- */

enum { MESH, RANKS, REPLICAS, STATE, SECONDS, VALUE, BEHIND, BOUND, LARGEST, DEVICE, HOST, WIRE, MEMORY, WHY };
#define TEXT(key, title, spare)                                                                                        \
    {                                                                                                                  \
        key, title, true, spare                                                                                        \
    }
#define NUMBER(key, title, spare)                                                                                      \
    {                                                                                                                  \
        key, title, false, spare                                                                                       \
    }
static const suite_column columns[] = {
    TEXT("mesh", "mesh", 0),         NUMBER("ranks", "ranks", 0),        NUMBER("replicas", "replicas", 0),
    TEXT("state", "state", 0),       NUMBER("seconds", "seconds", 0),    NUMBER("value", "s/image", 0),
    NUMBER("behind", "behind", 1),   NUMBER("bound_s", "bound s", 2),    TEXT("bound", "of", 3),
    NUMBER("device_s", "device", 5), NUMBER("host_s", "host", 6),        NUMBER("wire_s", "wire", 7),
    NUMBER("memory_gib", "GiB", 4),  TEXT("why", "what excludes it", 8),
};

static dit_status set_number(suite_table *table, int column, const char *format, double value)
{
    char text[48];
    snprintf(text, sizeof text, format, value);
    return suite_table_set(table, column, text);
}

static dit_status set_bounds(suite_table *table, const suite_bounds *bounds)
{
    DIT_TRY(set_number(table, BOUND, "%.4g", bounds->seconds));
    DIT_TRY(suite_table_set(table, LARGEST, bounds->largest));
    DIT_TRY(set_number(table, DEVICE, "%.3g", bounds->device_s));
    DIT_TRY(set_number(table, HOST, "%.3g", bounds->host_s));
    DIT_TRY(set_number(table, WIRE, "%.3g", bounds->wire_s));
    return set_number(table, MEMORY, "%.2f", (double)bounds->memory_bytes / GIB);
}

static dit_status add_candidate(suite_table *table, const suite_search *s, const suite_search_candidate *one)
{
    bool replicas = suite_search_has_replicas(s->request.goal), sizes = replicas || s->request.goal == SUITE_GOAL_FRONT;
    const char *state = suite_search_state_name(one->state);
    DIT_TRY(suite_table_add_row(table));
    DIT_TRY(suite_table_set(table, MESH, one->mesh));
    if (sizes) DIT_TRY(set_number(table, RANKS, "%.0f", one->ranks));
    if (replicas) DIT_TRY(set_number(table, REPLICAS, "%.0f", one->replicas));
    DIT_TRY(suite_table_set(table, STATE, one->kept ? "kept" : state));
    if (one->seconds > 0) DIT_TRY(set_number(table, SECONDS, "%.4g", one->seconds));
    if (replicas && one->value > 0) DIT_TRY(set_number(table, VALUE, "%.4g", one->value));
    if (one->behind > 0)
        DIT_TRY(set_number(table, BEHIND, one->state == SUITE_FOUND_BOUND ? ">= %.1f%%" : "%.1f%%", 100 * one->behind));
    if (one->bounds.status == DIT_OK) DIT_TRY(set_bounds(table, &one->bounds));
    return suite_table_set(table, WHY, one->reason);
}

static dit_status print_table(const suite_search *s)
{
    suite_column shown[sizeof columns / sizeof *columns];
    suite_table table = {.columns = shown, .column_count = (int)(sizeof columns / sizeof *columns)};
    dit_status st = DIT_OK;
    memcpy(shown, columns, sizeof columns);
    if (s->request.goal == SUITE_GOAL_COST) shown[VALUE].title = "per 1,000";
    for (int i = 0; i < s->count && st == DIT_OK; i++) st = add_candidate(&table, s, &s->candidates[i]);
    if (st == DIT_OK) suite_table_print(&table, stdout, suite_terminal_width(stdout));
    suite_table_release(&table);
    return st;
}

/* ---- around it --------------------------------------------------------------------------------------------------- */

static void print_projection(const suite_search *s)
{
    suite_profile profile;
    if (suite_profile_load(s->request.profile, &profile) == DIT_OK && !profile.measured)
        printf("software %s; %s\n", profile.name, SUITE_PROFILE_PROJECTION);
    dit_error_clear();
}

static void print_title(const suite_search *s)
{
    const cJSON *document = s->count ? s->candidates[0].kase->document : NULL, *run = dit_json_member(document, "run");
    printf("%s on %lld of %s, %s, goal %s", s->request.model, (long long)s->request.devices, s->request.platform,
           s->request.profile, suite_search_goal_name(s->request.goal));
    if (run)
        printf(", %.0fx%.0f, %.0f steps, %s in %s", dit_json_number_or(run, "width_px", 0),
               dit_json_number_or(run, "height_px", 0), dit_json_number_or(run, "num_inference_steps", 0),
               s->request.scope, dit_json_text_or(dit_json_member(document, "platform"), "element", "-"));
    printf("; times are simulated\n");
    print_projection(s);
    printf("\n");
}

static void print_illegal(const suite_search *s)
{
    if (s->illegal_count) printf("\nnot legal:\n");
    for (int i = 0; i < s->illegal_count; i++)
        printf("%-19s %s: %s\n", s->illegal[i].mesh, s->illegal[i].code, s->illegal[i].reason);
}

static const char *const parts[SUITE_CHANGE_COUNT] = {"hosts", "links", "devices"};

static const char *decides(const suite_search_candidate *one)
{
    switch (suite_search_what_binds(one)) {
    case SUITE_BINDS_DEVICE: return "its devices decide";
    case SUITE_BINDS_HOST: return "its hosts decide";
    default: return "its messages decide";
    }
}

static void print_changes(const suite_search *s)
{
    if (!(s->request.what_if > 0)) return;
    for (int part = 0; part < SUITE_CHANGE_COUNT; part++) {
        const suite_search_change *change = &s->changes[part];
        if (change->first < 0) continue;
        printf("With %s %g times as fast, by bounds: ", parts[part], s->request.what_if);
        if (change->first == change->before)
            printf("%s still, from %.4g s.\n", s->candidates[change->first].mesh, change->bound_s);
        else
            printf("%s, from %.4g s; %s from %.4g s.\n", s->candidates[change->first].mesh, change->bound_s,
                   s->candidates[change->before].mesh, change->before_s);
    }
}

/* "best: u4, 2 replicas, 3.1 s; its devices decide." */
static void print_best(const suite_search *s, const search_rents *rents)
{
    const suite_search_candidate *winner = &s->candidates[s->winner];
    printf("\nbest: %s", winner->mesh);
    if (winner->replicas > 1) printf(", %d replicas", winner->replicas);
    if (s->request.goal == SUITE_GOAL_MEMORY)
        printf(", %.2f GiB a rank", (double)winner->bounds.memory_bytes / GIB);
    else
        printf(", %.4g s; %s", winner->seconds, decides(winner));
    printf(".\n");
    if (s->request.goal == SUITE_GOAL_COST) search_rents_print(rents, winner->ranks * winner->replicas, winner->value);
}

static void print_winner(const suite_search *s, const search_rents *rents)
{
    if (s->request.bounds_only && s->winner < 0) {
        printf("\nNothing was simulated. Meshes would be in this order, until no other can win.\n");
        return;
    }
    if (s->winner < 0) {
        printf(s->failed ? "\nNo mesh could be searched: the reasons are above.\n" : "\nNo mesh fits.\n");
        return;
    }
    print_best(s, rents);
    print_changes(s);
    if (s->request.within > 0)
        printf("Stopped early: a mesh that is up to %g %% faster may not have been looked at.\n",
               100 * s->request.within);
    if (suite_search_winner_shares_links(s))
        printf("Replicas share links on %s; what they do to each other's messages is not counted.\n",
               s->request.platform);
}

static void print_counts(const suite_search *s)
{
    printf("%d mesh%s: %d simulated now, %d kept from before, %d excluded by bound, %d by memory, %d failed; %d not "
           "legal\n",
           s->count, s->count == 1 ? "" : "es", s->simulated, s->kept, s->by_bound, s->by_memory, s->failed,
           s->illegal_count);
    printf("counted in %.2f s, bounds in %.2f s, simulated in %.2f s\n", s->count_s, s->bounds_s, s->simulate_s);
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

static dit_status read_share(const char *option, const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    bool percent = *end == '%';
    if (percent) *out /= 100;
    if (end != text && !end[percent] && *out >= 0 && *out < 1) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "%s: '%s' is no share below 1", option, text),
                          "write it as 2%% or 0.02");
}

static dit_status take_mesh(search_call *call)
{
    suite_search_request *request = &call->request;
    DIT_TRY(dit_parallel_from_label(call->mesh, &call->parallel));
    int devices = dit_parallel_world_size(&call->parallel);
    if (request->devices && request->devices != devices)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--mesh \"%s\" has %d devices, --devices says %lld", call->mesh,
                                       devices, (long long)request->devices),
                              "leave --devices out");
    request->mesh = &call->parallel;
    request->approximate = true; /* it says itself what it is */
    return DIT_OK;
}

static dit_status read_words(search_call *call)
{
    static const char *const qualities[] = {"exact", "approximate", NULL};
    suite_search_request *request = &call->request;
    int goal = dit_words_find(suite_search_goal_names(), call->goal);
    if (goal < 0) return dit_fail_word(DIT_ERR_USAGE, "--goal", call->goal, suite_search_goal_names());
    request->goal = (suite_search_goal)goal;
    request->approximate = strcmp(call->quality, qualities[1]) == 0;
    if (!request->approximate && strcmp(call->quality, qualities[0]) != 0)
        return dit_fail_word(DIT_ERR_USAGE, "--quality", call->quality, qualities);
    if (call->mesh) DIT_TRY(take_mesh(call));
    if (request->what_if < 0) return DIT_FAIL(DIT_ERR_USAGE, "--what-if: %g is no number of times", request->what_if);
    if (call->within) DIT_TRY(read_share("--within", call->within, &request->within));
    if (call->times) request->scale_bounds = strtod(call->times, NULL);
    return DIT_OK;
}

static void tell(void *context, int done, int open)
{
    const suite_cli *cli = context;
    if (!cli->quiet) fprintf(stderr, "%d simulated, at most %d to come\n", done, open);
}

static dit_status search(search_call *call, suite_cli *cli)
{
    DIT_TRY(search_options_model(cli, &call->request));
    DIT_TRY(search_options_take(&call->given, &call->request));
    if (!call->request.platform)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "give a platform"), "as in --platform 8xh100-sxm");
    DIT_TRY(read_words(call));
    if (call->request.goal == SUITE_GOAL_COST) DIT_TRY(search_rents_find(&call->prices, &call->request, &call->rents));
    call->request.bounds_only = cli->dry_run;
    call->request.told = tell, call->request.context = cli;
    return suite_search_run(&call->request, &call->found);
}

/* search.json first: whoever has no gnuplot keeps the answer. */
static dit_status write_files(const char *folder, bool quiet, const cJSON *document)
{
    char path[SUITE_PATH];
    bool drawn;
    DIT_TRY(suite_path_make(folder));
    DIT_TRY(suite_path(path, "%s/search.json", folder));
    DIT_TRY(dit_json_write_file(document, path, false));
    const report_search_options options = {.folder = folder, .program = DITBENCH_VERSION};
    DIT_TRY(report_search_write(document, &options, &drawn));
    if (quiet) return DIT_OK;
    fprintf(stderr, "%s/search.html: the page, beside search.json%s\n", folder,
            drawn ? " and its figure search.svg" : "; no figure, because there is no simulated time");
    return DIT_OK;
}

static dit_status print(const search_call *call, const suite_cli *cli)
{
    cJSON *document;
    if (!cli->json) {
        print_title(&call->found);
        DIT_TRY(print_table(&call->found));
        if (call->all) print_illegal(&call->found);
        print_winner(&call->found, &call->rents);
        print_counts(&call->found);
    }
    if (!cli->json && !call->output) return DIT_OK;
    DIT_TRY(suite_search_to_json(&call->found, &document));
    dit_status st = search_rents_put(&call->rents, document);
    if (st == DIT_OK && call->output) st = write_files(call->output, cli->quiet, document);
    if (st == DIT_OK && cli->json) st = suite_cli_print_json("search", document);
    cJSON_Delete(document);
    return st;
}

static int exit_code(const suite_search *s)
{
    if (s->winner >= 0 || (s->request.bounds_only && s->by_memory + s->failed < s->count)) return DIT_EXIT_OK;
    return s->failed ? DIT_EXIT_CASE : DIT_EXIT_GATE;
}

int suite_verb_search(int argc, char **argv)
{
    suite_cli cli;
    search_call call = {.request = {.profile = "torch-compile", .what_if = 2}, .goal = "latency", .quality = "exact"};
    suite_search_request *request = &call.request;
    suite_option options[SEARCH_OPTIONS + PRICE_OPTIONS + OWN_OPTIONS] = {{0}};
    const suite_option own[] = {
        {"platform", 'p', SUITE_OPTION_STRING, "NAME", "a simulated platform of `ditbench list platforms`",
         &request->platform, 0, 0},
        {"goal", 'g', SUITE_OPTION_STRING, "GOAL", "latency, throughput, memory, cost or front (default: latency)",
         &call.goal, 0, 0},
        {"devices", 'n', SUITE_OPTION_INT, "N", "devices (default: all of the platform)", &request->devices, 1, 4096},
        {"quality", 0, SUITE_OPTION_STRING, "WORD", "exact methods, or approximate ones, too (default: exact)",
         &call.quality, 0, 0},
        {"within", 0, SUITE_OPTION_STRING, "SHARE", "stop when no mesh can be better by more: 2%", &call.within, 0, 0},
        {"all", 'a', SUITE_OPTION_FLAG, NULL, "also list meshes that are not legal, and why", &call.all, 0, 0},
        {"mesh", 0, SUITE_OPTION_STRING, "LABEL", "this mesh alone, whatever its quality: \"u4 r2\"", &call.mesh, 0, 0},
        {"what-if", 0, SUITE_OPTION_NUMBER, "TIMES",
         "the best mesh with hosts, links or devices so many times as fast; 0: not asked (default: 2)",
         &request->what_if, 0, 0},
        {"output", 'o', SUITE_OPTION_STRING, "DIR", "write a page, search.json and a figure there", &call.output, 0, 0},
        {"exhaustive", 0, SUITE_OPTION_FLAG, NULL, "simulate every mesh that fits", &request->exhaustive, 0, 0},
        {"bounds-times", 0, SUITE_OPTION_STRING, "N", NULL, &call.times, 0, 0},
    };
    search_options_fill(&call.given, request, options);
    price_options_fill(&call.prices, options + SEARCH_OPTIONS);
    memcpy(options + SEARCH_OPTIONS + PRICE_OPTIONS, own, sizeof own);
    const suite_cli_spec spec = {"search", "[MODEL]", purpose, examples, options, 0, 1};
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    dit_status st = search(&call, &cli);
    if (st == DIT_OK) st = print(&call, &cli);
    code = st == DIT_OK ? exit_code(&call.found) : suite_cli_fail(&cli, st);
    suite_search_release(&call.found);
    search_rents_release(&call.rents);
    suite_calibration_release(&call.given.fitted);
    suite_cli_release(&cli);
    return code;
}
