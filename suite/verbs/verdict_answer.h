/* Verdict answer: declares the options that compare, ab and gate share, and answers with a comparison as they ask.
 */
#ifndef DIT_SUITE_VERBS_VERDICT_ANSWER_H
#define DIT_SUITE_VERBS_VERDICT_ANSWER_H

#include "suite/compare/circumstances.h"
#include "suite/compare/comparison.h"
#include "suite/console/cli.h"

typedef struct {
    const char *filter, *markdown, *figure;
    double margin_percent;
    int64_t busy_percent;
} suite_verdict_words;

/* The rows of the options; `words` is a suite_verdict_words. */
#define SUITE_VERDICT_OPTIONS(words, margin_help)                                                                      \
    {"filter", 'f', SUITE_OPTION_STRING, "EXPR", "only cases whose tags satisfy EXPR", &(words).filter, 0, 0},         \
        {"margin", 0, SUITE_OPTION_NUMBER, "PERCENT", margin_help, &(words).margin_percent, 0, 0},                     \
        {"busy-limit",                                                                                                 \
         0,                                                                                                            \
         SUITE_OPTION_INT,                                                                                             \
         "PERCENT",                                                                                                    \
         "of the cores: beside more used by others nothing counts (10)",                                               \
         &(words).busy_percent,                                                                                        \
         1,                                                                                                            \
         100},                                                                                                         \
        {"markdown", 0, SUITE_OPTION_STRING, "FILE", "write the answer as Markdown, too", &(words).markdown, 0, 0},    \
    {                                                                                                                  \
        "figure", 0, SUITE_OPTION_STRING, "DIR", "draw the changes: DIR/comparison.svg and .png", &(words).figure, 0,  \
            0                                                                                                          \
    }

/* Returns the share of --busy-limit, or the usual one. */
double suite_verdict_busy_limit(const suite_verdict_words *words);

/* A comparison with what else differs; `circumstances` may be NULL. */
typedef struct {
    const suite_comparison *comparison;
    const suite_circumstance *circumstances;
    int circumstance_count;
} suite_verdict_answer;

/* Writes the files that were asked for, and prints the answer: the JSON document, or the table for a person. Errors:
 * those of suite_comparison_print, _json, _markdown and _draw. */
dit_status suite_verdict_print(const suite_cli *cli, const suite_verdict_words *words,
                               const suite_verdict_answer *answer);
/* The exit code: 1 where anything is worse, 5 where anything is undecided, 77 where a side skipped every case, else
 * 0. */
int suite_verdict_exit_code(const suite_comparison *comparison);

#endif
