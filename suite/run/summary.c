#include "suite/run/summary.h"

#include "base/json_writer.h"
#include "base/log.h"
#include "suite/console/progress.h"
#include "suite/console/terminal.h"
#include "suite/session/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int suite_run_exit_code(const suite_run_summary *summaries, int count)
{
    bool interrupted = false, wrong = false, unsteady = false, failed = false, ran = false, skipped = false,
         terminated = false;
    for (int i = 0; i < count; i++) {
        const suite_run_summary *one = &summaries[i];
        interrupted |= one->signal_number == SIGINT;
        terminated |= one->signal_number == SIGTERM;
        wrong |= one->counts[DIT_OUTCOME_INVALID] > 0;
        failed |= one->counts[DIT_OUTCOME_FAILED] + one->counts[DIT_OUTCOME_TIMEOUT] + one->counts[DIT_OUTCOME_OOM] -
                      one->verdicts >
                  0;
        unsteady |= one->unsteady > 0;
        ran |= one->counts[DIT_OUTCOME_OK] + one->verdicts > 0;
        skipped |= one->counts[DIT_OUTCOME_SKIPPED] > 0 || one->planned == 0;
    }
    if (interrupted || terminated) return interrupted ? DIT_EXIT_INTERRUPTED : DIT_EXIT_TERMINATED;
    if (wrong) return DIT_EXIT_VERIFICATION;
    if (failed) return DIT_EXIT_CASE;
    if (unsteady) return DIT_EXIT_UNDECIDED;
    return skipped && !ran ? DIT_EXIT_SKIPPED : DIT_EXIT_OK;
}

void suite_run_summary_put(dit_json_writer *w, cJSON *list, const suite_run_summary *summary)
{
    cJSON *document = dit_json_put_object(w, list, NULL);
    int done = 0;
    dit_json_put_string(w, document, "session", summary->session.name);
    dit_json_put_string(w, document, "path", summary->session.dir);
    dit_json_put_string(w, document, "workload", summary->workload);
    dit_json_put_number(w, document, "planned", summary->planned);
    for (int i = 0; i < DIT_OUTCOME_COUNT; i++) {
        dit_json_put_number(w, document, dit_outcome_name((dit_outcome)i), summary->counts[i]);
        done += summary->counts[i];
    }
    dit_json_put_number(w, document, "done", done);
    if (summary->unsteady) dit_json_put_int(w, document, "unsteady", summary->unsteady);
    if (summary->needless) dit_json_put_int(w, document, "needless", summary->needless);
    dit_json_put_number(w, document, "dropped", summary->dropped);
    dit_json_put_bool(w, document, "complete", summary->complete);
    if (!summary->complete) dit_json_put_string(w, document, "resume", summary->session.dir);
}

/* What another command calls the session: its name where it lies among the others, else its path, quoted for a shell
 * where that is needed. */
static void name_session(const suite_session *session, char *out, size_t size)
{
    char root[SUITE_PATH], among[SUITE_PATH], real[SUITE_PATH];
    bool named = suite_session_root(root) == DIT_OK && suite_path(among, "%s/%s", root, session->name) == DIT_OK &&
                 realpath(among, real) && strcmp(real, session->dir) == 0;
    const char *text = named ? session->name : session->dir;
    snprintf(out, size, strpbrk(text, " \t'\"$&;()<>|*?`\\") ? "'%s'" : "%s", text);
}

static void print_counts(const suite_run_summary *summary)
{
    int done = 0;
    char took[32];
    for (int i = 0; i < DIT_OUTCOME_COUNT; i++) done += summary->counts[i];
    printf("%s: %d of %d run%s", summary->workload, done, summary->planned, suite_plural(summary->planned));
    for (int i = 0; i < DIT_OUTCOME_COUNT; i++) {
        const char *word = dit_outcome_name((dit_outcome)i);
        if (summary->counts[i])
            printf(", %s%d %s%s", suite_colour_start(stdout, word), summary->counts[i], word,
                   suite_colour_end(stdout, word));
    }
    suite_progress_duration(summary->wall_s, took);
    if (summary->unsteady) printf(", %d of them on a machine that did not hold still", summary->unsteady);
    if (summary->needless) printf(", %d not needed for the precision", summary->needless);
    if (summary->wall_s > 0) printf(", in %s", took);
    if (summary->dropped) printf("; %d cell%s dropped", summary->dropped, suite_plural(summary->dropped));
    printf("\n");
}

/* The fastest cases; a journal that cannot be read is `verify`'s business. */
static void print_results(const suite_run_summary *summary)
{
    suite_results results;
    dit_status st = suite_results_load(summary->session.journal, &results);
    if (st == DIT_OK) st = suite_results_print_fastest(&results, stdout, suite_terminal_width(stdout));
    if (st == DIT_OK) suite_results_print_software(results.table.session.root, NULL, "", stdout);
    if (st != DIT_OK) dit_log_warning("the table of results cannot be made: %s", dit_error_last()->message);
    suite_results_release(&results);
    dit_error_clear();
}

void suite_run_summary_print(const suite_run_summary *summary, bool quiet)
{
    char name[SUITE_PATH + 2];
    bool ran = summary->counts[DIT_OUTCOME_SKIPPED] < summary->planned;
    print_counts(summary);
    if (!quiet && ran) print_results(summary);
    if (!quiet && summary->unknown_hosts[0])
        printf("nothing was fitted of the host of %s: times that it decides are guesses\n", summary->unknown_hosts);
    name_session(&summary->session, name, sizeof name);
    printf("session %s\n", summary->session.dir);
    if (summary->stays_behind) printf("nothing was run: `latest` stays the session that it was\n");
    if (!quiet && summary->complete && ran)
        printf("next: ditbench show %s      every case\n      ditbench report %s    figures and a page\n", name, name);
    fflush(stdout);
    if (!summary->complete) fprintf(stderr, "to go on: ditbench resume %s\n", name);
}
