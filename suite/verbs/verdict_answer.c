#include "suite/verbs/verdict_answer.h"

#include "suite/compare/comparison_figure.h"
#include "suite/compare/comparison_print.h"
#include "suite/console/terminal.h"
#include "suite/machine/contention.h"

double suite_verdict_busy_limit(const suite_verdict_words *words)
{
    return words->busy_percent > 0 ? (double)words->busy_percent / 100 : SUITE_CONTENTION_LIMIT;
}

static dit_status write_files(const suite_verdict_words *words, const suite_verdict_answer *answer)
{
    const report_style style = {0};
    if (words->markdown)
        DIT_TRY(suite_comparison_markdown(answer->comparison, answer->circumstances, answer->circumstance_count,
                                          words->markdown));
    return words->figure ? suite_comparison_draw(answer->comparison, words->figure, &style) : DIT_OK;
}

dit_status suite_verdict_print(const suite_cli *cli, const suite_verdict_words *words,
                               const suite_verdict_answer *answer)
{
    dit_json_writer w = {0};
    cJSON *document = NULL;
    DIT_TRY(write_files(words, answer));
    if (!cli->json) return suite_comparison_print(answer->comparison, stdout, suite_terminal_width(stdout));
    DIT_TRY(suite_comparison_json(answer->comparison, answer->circumstances, answer->circumstance_count, &document));
    return suite_cli_finish_json(&w, "compare", document);
}

int suite_verdict_exit_code(const suite_comparison *comparison)
{
    suite_verdict verdict = suite_comparison_verdict(comparison);
    if (verdict == SUITE_VERDICT_WORSE) return DIT_EXIT_GATE;
    if (verdict == SUITE_VERDICT_UNDECIDED) return DIT_EXIT_UNDECIDED;
    return comparison->skipped_count == comparison->matched_count ? DIT_EXIT_SKIPPED : DIT_EXIT_OK;
}
