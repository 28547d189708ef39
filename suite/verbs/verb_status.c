/* ditbench status: how far a session is, also while it runs. */
#include "base/json_writer.h"
#include "suite/console/cli.h"
#include "suite/console/progress.h"
#include "suite/console/terminal.h"
#include "suite/session/history.h"
#include "suite/session/session.h"
#include "suite/verbs/verbs.h"

#include <stdio.h>

static const char purpose[] =
    "Shows how far a session is (default: latest). It works while the session runs, and changes nothing.\n"
    "Exit: 0; 3 when a result failed; 6 when a result is invalid.";
static const char examples[] = "ditbench status\nditbench status 20260131T12 --json";

typedef struct {
    int planned, done, counts[DIT_OUTCOME_COUNT];
    double elapsed_s;
    bool running, complete;
} status_facts;

static status_facts count(const suite_history *history, bool running)
{
    status_facts facts = {.running = running, .complete = history->complete};
    const cJSON *plan = dit_json_member(history->session, "plan");
    const cJSON *runs = dit_json_member(plan, "runs");
    facts.planned = cJSON_IsNumber(runs) ? runs->valueint : 0;
    for (int i = 0; i < history->result_count; i++) {
        const cJSON *elapsed = dit_json_member(history->results[i].document, "elapsed_ns");
        if (history->results[i].superseded) continue;
        facts.done++;
        facts.counts[history->results[i].status]++;
        facts.elapsed_s += cJSON_IsNumber(elapsed) ? elapsed->valuedouble * 1e-9 : 0;
    }
    return facts;
}

static const char *state_of(const status_facts *facts)
{
    return facts->running ? "running" : facts->complete ? "complete" : "unfinished";
}

static double seconds_left(const status_facts *facts)
{
    return facts->done ? facts->elapsed_s / facts->done * (facts->planned - facts->done) : 0;
}

static void print_text(const suite_session *session, const status_facts *facts)
{
    char left[32];
    printf("session %s\n%s: %d of %d run%s", session->dir, state_of(facts), facts->done, facts->planned,
           suite_plural(facts->planned));
    for (int i = 0; i < DIT_OUTCOME_COUNT; i++) {
        if (facts->counts[i]) printf(", %d %s", facts->counts[i], dit_outcome_name((dit_outcome)i));
    }
    suite_progress_duration(seconds_left(facts), left);
    if (facts->done && facts->done < facts->planned) printf("; about %s left", left);
    printf("\n");
    if (!facts->complete && !facts->running) printf("to go on: ditbench resume %s\n", session->dir);
}

static int exit_code_of(const status_facts *facts)
{
    int bad = facts->counts[DIT_OUTCOME_FAILED] + facts->counts[DIT_OUTCOME_TIMEOUT] + facts->counts[DIT_OUTCOME_OOM];
    if (facts->counts[DIT_OUTCOME_INVALID]) return DIT_EXIT_VERIFICATION;
    return bad ? DIT_EXIT_CASE : DIT_EXIT_OK;
}

static int answer(const suite_session *session, const status_facts *facts)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w);
    dit_json_put_string(&w, document, "session", session->name);
    dit_json_put_string(&w, document, "path", session->dir);
    dit_json_put_string(&w, document, "state", state_of(facts));
    dit_json_put_number(&w, document, "planned", facts->planned);
    dit_json_put_number(&w, document, "done", facts->done);
    for (int i = 0; i < DIT_OUTCOME_COUNT; i++)
        dit_json_put_number(&w, document, dit_outcome_name((dit_outcome)i), facts->counts[i]);
    if (facts->done) dit_json_put_number(&w, document, "seconds_left", seconds_left(facts));
    return suite_cli_answer(&w, "status", document, exit_code_of(facts));
}

int suite_verb_status(int argc, char **argv)
{
    suite_cli cli;
    suite_session session;
    suite_history history = {0};
    const suite_cli_spec spec = {"status", "[SESSION]", purpose, examples, NULL, 0, 1};
    int code = suite_cli_parse(&spec, argc, argv, &cli);
    if (code >= 0) return code;
    dit_status st = suite_session_find(cli.operands[0], &session);
    if (st == DIT_OK) st = suite_history_load(session.journal, &history);
    if (st == DIT_OK) {
        status_facts facts = count(&history, suite_journal_locked(session.journal));
        if (!cli.json) print_text(&session, &facts);
        code = cli.json ? answer(&session, &facts) : exit_code_of(&facts);
    } else {
        code = suite_cli_fail(&cli, st);
    }
    suite_history_release(&history);
    suite_cli_release(&cli);
    return code;
}
