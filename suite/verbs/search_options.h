/* Search options: declares the options that say what is searched for: a model, its run, and what simulations rest on.
 * `search` and `procure` share them.
 */
#ifndef DIT_SUITE_VERBS_SEARCH_OPTIONS_H
#define DIT_SUITE_VERBS_SEARCH_OPTIONS_H

#include "suite/console/cli.h"
#include "suite/search/found.h"

enum { SEARCH_OPTIONS = 13 };

/* The values that were given, beside those that stand in the request; begin with a zeroed one. `fitted` is released by
 * suite_calibration_release. */
typedef struct {
    const char *resolution, *calibration;
    int64_t jobs;
    suite_calibration fitted;
} search_options;

/* Fills SEARCH_OPTIONS rows, which write into both; no ending row. */
void search_options_fill(search_options *given, suite_search_request *request, suite_option *options);
/* Takes the rest of what was given into the request, which points to `given` then. Errors: DIT_ERR_USAGE; those of
 * suite_calibration_load. */
dit_status search_options_take(search_options *given, suite_search_request *request);
/* Takes the first operand as the model where no option names it. Errors: DIT_ERR_USAGE where neither does. */
dit_status search_options_model(const suite_cli *cli, suite_search_request *request);

#endif
