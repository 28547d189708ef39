/* ditbench prices: what stands in the price files, how old it is, and what a machine costs by it. */
#include "base/words.h"
#include "suite/catalogue/catalogue.h"
#include "suite/console/cli.h"
#include "suite/console/terminal.h"
#include "suite/platform/platform.h"
#include "suite/verbs/prices_answer.h"
#include "suite/text.h"
#include "suite/verbs/prices_import.h"
#include "suite/verbs/prices_own.h"
#include "suite/verbs/verbs.h"

#include <errno.h>
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

typedef struct {
    suite_cli cli;
    suite_strings files;
    const char *date, *kind, *region, *currency;
    prices_import_request import;
    prices_own_request own;
    bool check, old_prices, doubtful, per_device;
    suite_price_book book;
    suite_price_answer answer;
} prices_call;

/* ---- what is asked ------------------------------------------------------------------------------------------------- */

static dit_status read_terms(prices_call *call)
{
    if (!(call->own.busy >= 0 && call->own.busy <= 1))
        return DIT_FAIL(DIT_ERR_USAGE, "--busy %g is outside 0 to 1", call->own.busy);
    suite_price_terms *terms = &call->answer.terms;
    int kind = call->kind ? dit_words_find(suite_price_kind_names(), call->kind) : SUITE_PRICE_ON_DEMAND;
    *terms = (suite_price_terms){.day = suite_day_today(),
                                 .currency = call->currency ? call->currency : "USD",
                                 .region = call->region,
                                 .per_device = call->per_device,
                                 .old_prices = call->old_prices,
                                 .doubtful = call->doubtful};
    if (kind < 0) return dit_fail_word(DIT_ERR_USAGE, "kind", call->kind, suite_price_kind_names());
    terms->kind = (suite_price_kind)kind;
    if (!call->date || suite_day_read(call->date, &terms->day)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--date \"%s\" is not a day of 1990 to 2199", call->date),
                          "write it as 2026-08-28");
}

static dit_status read_book(prices_call *call)
{
    if (call->files.count == 0) return suite_price_book_load(&call->book);
    for (int i = 0; i < call->files.count; i++) DIT_TRY(suite_price_book_read(&call->book, call->files.items[i]));
    return DIT_OK;
}

/* "8xh100-sxm", or "8xh100-sxm@4" for four of its devices. */
static dit_status read_machine(const char *word, suite_priced_machine *out)
{
    const char *at = strchr(word, '@');
    char name[64], *end;
    snprintf(name, sizeof name, "%.*s", at ? (int)(at - word) : (int)strlen(word), word);
    DIT_TRY(suite_price_machine_load(name, &out->machine));
    out->devices = out->machine.nodes * out->machine.node_devices;
    if (!at) return DIT_OK;
    errno = 0;
    long devices = strtol(at + 1, &end, 10);
    out->devices = devices > 0 && devices <= out->devices ? (int)devices : 0;
    if (errno == 0 && end != at + 1 && *end == '\0' && out->devices > 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_USAGE, "\"%s\": behind the @ stands a number of devices, at most %d", word,
                    out->machine.nodes * out->machine.node_devices);
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
        if (read_machine(names[i], &one) == DIT_OK)
            call->answer.machines[call->answer.machine_count++] = one;
        else if (dit_error_last()->status != DIT_ERR_UNSUPPORTED)
            st = dit_error_last()->status;
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
        DIT_TRY(read_machine(call->cli.operands[i], &answer->machines[answer->machine_count++]));
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
    const suite_option options[] = {
        {"date", 0, SUITE_OPTION_STRING, "DAY", "the day that ages count to (today)", &call.date, 0, 0},
        {"kind", 0, SUITE_OPTION_STRING, "KIND", "the kind of price that machines are ranked by (on-demand)",
         &call.kind, 0, 0},
        {"region", 0, SUITE_OPTION_STRING, "REGION", "quotes of this region only", &call.region, 0, 0},
        {"currency", 0, SUITE_OPTION_STRING, "CODE", "show machines in this currency, by dated rates (USD)",
         &call.currency, 0, 0},
        {"per-device", 0, SUITE_OPTION_FLAG, NULL, "where no instance has so many devices, multiply the price of one",
         &call.per_device, 0, 0},
        {"old-prices", 0, SUITE_OPTION_FLAG, NULL, "old quotes count, too", &call.old_prices, 0, 0},
        {"doubtful", 0, SUITE_OPTION_FLAG, NULL, "quotes in doubt count, too", &call.doubtful, 0, 0},
        {"check", 0, SUITE_OPTION_FLAG, NULL, "name machines whose rank would rest on old quotes; exit 1", &call.check,
         0, 0},
        {"prices", 0, SUITE_OPTION_STRINGS, "FILE", "read this price file in place of workloads/prices; repeatable",
         &call.files, 0, 0},
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
        {0}};
    const suite_cli_spec spec = {"prices", "[PLATFORM[@DEVICES]...]", purpose, examples, options, 0, -1};
    int code = suite_cli_parse(&spec, argc, argv, &call.cli);
    if (code >= 0) return code;
    if (call.import.format) {
        call.import.date = call.date;
        call.import.file = call.cli.operand_count == 1 ? call.cli.operands[0] : NULL;
        code = prices_import(&call.cli, &call.import);
        suite_cli_release(&call.cli);
        return code;
    }
    call.answer.book = &call.book;
    dit_status st = read_terms(&call);
    if (st == DIT_OK) st = read_book(&call);
    if (st == DIT_OK) st = read_machines(&call);
    if (st == DIT_OK) st = suite_catalogue_names("accelerators", &call.answer.accelerators);
    code = st == DIT_OK ? answer(&call) : suite_cli_fail(&call.cli, st);
    suite_names_free(call.answer.accelerators);
    free(call.answer.machines);
    suite_price_book_release(&call.book);
    suite_cli_release(&call.cli);
    return code;
}
