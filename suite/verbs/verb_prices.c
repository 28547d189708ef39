/* ditbench prices: what stands in the price files, how old it is, and what a machine costs by it. */
#include "suite/catalogue/catalogue.h"
#include "suite/console/cli.h"
#include "suite/console/terminal.h"
#include "suite/verbs/price_options.h"
#include "suite/verbs/prices_answer.h"
#include "suite/verbs/prices_import.h"
#include "suite/verbs/prices_own.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Shows the quotes of the price files (workloads/prices, or those that --prices names): what an instance costs an\n"
    "hour, of which kind, where, how old the quote is, and what is in doubt. Then what each machine costs by them:\n"
    "least, median and most. A machine of N devices is priced by quotes for N devices in one instance; --per-device\n"
    "also multiplies the price of one, and says `derived`. Kinds are never mixed; a missing price is never guessed.\n"
    "PLATFORM is a platform with accelerators, or a part of one: 8xh100-sxm@4. With platforms the table has prices by\n"
    "kind and region.\n"
    "Age: to 90 days plain, to 365 aged, then old; an undated quote is as old as it may be. A spot price is old after\n"
    "7 days. Old quotes and quotes in doubt enter no rank unless --old-prices or --doubtful says so. --check\n"
    "names the machines whose rank would rest on nothing but old quotes.\n"
    "--import skypilot FILE makes a price file (--output FILE) of a catalogue CSV of SkyPilot, of --commit on --date,\n"
    "whose names --map explains; each line that is no price is refused with the reason.\n"
    "--own SITE tells what owning the machines costs an hour, and from how many hours a month on that is cheaper than\n"
    "the rent; --power the watts of accelerators. What is assumed is printed as assumed.\n"
    "Exit: 0 done; 1 --check found one; 2 a price file, or what is imported, is wrong.";
static const char examples[] =
    "ditbench prices\n"
    "ditbench prices 8xh200-sxm 8xl40\n"
    "ditbench prices 8xh100-sxm@4 --kind spot --old-prices\n"
    "ditbench prices 8xh100-sxm --kind contract --per-device\n"
    "ditbench prices --check 8xh200-sxm --date 2026-11-23\n"
    "ditbench prices 8xh200-sxm --own default --busy 0.6\n"
    "ditbench prices --power\n"
    "ditbench prices --import skypilot vms.csv --map names.json --date 2026-11-23 --commit 0082b04 "
    "--output mine.json";

enum { PRICES_OPTIONS = 8 }; /* of this verb alone, and the end */

typedef struct {
    suite_cli cli;
    price_options given;
    prices_import_request import;
    prices_own_request own;
    bool check;
    suite_price_book book;
    suite_price_answer answer;
} prices_call;

/* ---- what is asked ------------------------------------------------------------------------------------------------- */

static dit_status read_terms(prices_call *call)
{
    if (!(call->own.busy >= 0 && call->own.busy <= 1))
        return DIT_FAIL(DIT_ERR_USAGE, "--busy %g is outside 0 to 1", call->own.busy);
    return price_options_terms(&call->given, &call->answer.terms);
}

/* Every platform of accelerators that the catalogue simulates. */
static dit_status take_all(prices_call *call)
{
    char **names;
    dit_status st = suite_catalogue_names("platforms", &names);
    if (st != DIT_OK) return st;
    int count = 0;
    while (names[count]) count++;
    call->answer.machines = calloc((size_t)count + 1, sizeof *call->answer.machines);
    if (!call->answer.machines) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a list of machines");
    for (int i = 0; st == DIT_OK && i < count; i++) {
        suite_priced_machine one;
        dit_status read = suite_priced_machine_read(names[i], &one);
        if (read == DIT_OK && !one.machine.of_source) call->answer.machines[call->answer.machine_count++] = one;
        if (read != DIT_OK && read != DIT_ERR_UNSUPPORTED) st = read;
    }
    suite_names_free(names);
    return st;
}

static dit_status read_machines(prices_call *call)
{
    suite_price_answer *answer = &call->answer;
    answer->named = call->cli.operand_count > 0;
    if (!answer->named) return take_all(call);
    answer->machines = calloc((size_t)call->cli.operand_count, sizeof *answer->machines);
    if (!answer->machines) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a list of machines");
    for (int i = 0; i < call->cli.operand_count; i++)
        DIT_TRY(suite_priced_machine_read(call->cli.operands[i], &answer->machines[answer->machine_count++]));
    return DIT_OK;
}

/* ---- the answer ----------------------------------------------------------------------------------------------------- */

static void tell_check(prices_call *call, cJSON *document, dit_json_writer *w, const int *old, int count)
{
    cJSON *check = dit_json_put_object(w, document, "check");
    dit_json_put_bool(w, check, "passed", count == 0);
    cJSON *list = dit_json_put_array(w, check, "old");
    for (int i = 0; i < count; i++) {
        const char *name = call->answer.machines[old[i]].machine.name;
        dit_json_put_string(w, list, NULL, name);
        if (!call->cli.json) printf("%s: a rank by price would rest on old quotes\n", name);
    }
    if (!call->cli.json && count == 0) printf("no rank would rest on an old quote\n");
}

static int answer(prices_call *call)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w);
    int *old = calloc((size_t)call->answer.machine_count + 1, sizeof *old), count = 0, code = DIT_EXIT_OK;
    dit_status st = old ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for an answer");
    if (st == DIT_OK && call->check) count = suite_price_answer_check(&call->answer, old);
    if (count < 0) st = dit_error_last()->status;
    if (st == DIT_OK && call->check && count > 0) code = DIT_EXIT_GATE;
    if (st == DIT_OK && call->cli.json) suite_price_answer_put(&w, document, &call->answer);
    if (st == DIT_OK && !call->cli.json && !call->check)
        st = suite_price_answer_print(&call->answer, stdout, suite_terminal_width(stdout));
    if (st == DIT_OK && call->cli.json) prices_own_put(&w, document, &call->own, &call->answer);
    if (st == DIT_OK && !call->cli.json && !call->check)
        st = prices_own_print(&call->own, &call->answer, stdout, suite_terminal_width(stdout));
    if (st == DIT_OK && call->check) tell_check(call, document, &w, old, count);
    if (st == DIT_OK && call->check) dit_json_put_int(&w, document, "exit_code", code);
    free(old);
    if (st == DIT_OK && call->cli.json) return suite_cli_answer(&w, "prices", document, code);
    cJSON_Delete(document);
    return st == DIT_OK ? code : suite_cli_fail(&call->cli, st);
}

int suite_verb_prices(int argc, char **argv)
{
    prices_call call = {.own = {.busy = 1}};
    suite_option options[PRICE_OPTIONS + PRICES_OPTIONS] = {{0}};
    const suite_option own[PRICES_OPTIONS] = {
        {"check", 0, SUITE_OPTION_FLAG, NULL, "name machines whose rank would rest on old quotes; exit 1", &call.check,
         0, 0},
        {"own", 0, SUITE_OPTION_STRING, "SITE", "what owning the machines costs: a name of workloads/sites, or a file",
         &call.own.site, 0, 0},
        {"busy", 0, SUITE_OPTION_NUMBER, "SHARE", "of the best rate, at which own machines work (1)", &call.own.busy, 0,
         0},
        {"power", 0, SUITE_OPTION_FLAG, NULL, "watts of accelerators, and the fit that they come from", &call.own.power,
         0, 0},
        {"import", 0, SUITE_OPTION_STRING, "FORMAT", "make a price file of a catalogue: skypilot", &call.import.format,
         0, 0},
        {"map", 0, SUITE_OPTION_STRING, "FILE", "what the names of the catalogue stand for", &call.import.map, 0, 0},
        {"commit", 0, SUITE_OPTION_STRING, "COMMIT", "the commit of the catalogue", &call.import.commit, 0, 0},
    };
    price_options_fill(&call.given, options);
    memcpy(options + PRICE_OPTIONS, own, sizeof own);
    const suite_cli_spec spec = {"prices", "[PLATFORM[@DEVICES]...]", purpose, examples, options, 0, -1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    if (call.import.format) {
        call.import.date = call.given.date;
        call.import.file = call.cli.operand_count == 1 ? call.cli.operands[0] : NULL;
        code = prices_import(&call.cli, &call.import);
        suite_cli_release(&call.cli);
        return code;
    }
    call.answer.book = &call.book;
    dit_status st = read_terms(&call);
    if (st == DIT_OK) st = price_options_book(&call.given, &call.book);
    if (st == DIT_OK) st = read_machines(&call);
    if (st == DIT_OK) st = suite_catalogue_names("accelerators", &call.answer.accelerators);
    code = st == DIT_OK ? answer(&call) : suite_cli_fail(&call.cli, st);
    suite_names_free(call.answer.accelerators);
    free(call.answer.machines);
    suite_price_book_release(&call.book);
    suite_cli_release(&call.cli);
    return code;
}
