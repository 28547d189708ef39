/* Verdicts: says of each mesh of an explanation (suite/explain/explain.h) what it takes on its simulated machine, and
 * which is best. The times are those of a search (suite/search/search.h) among the meshes that are explained.
 */
#ifndef DIT_SUITE_SEARCH_VERDICTS_H
#define DIT_SUITE_SEARCH_VERDICTS_H

#include "suite/explain/explain.h"
#include "suite/search/found.h"

/* How an explanation is to be timed; zero and NULL mean what suite_search_request says. */
typedef struct {
    const char *scope; /* NULL: "pipeline" */
    bool bounds_only;  /* simulate nothing */
    bool fresh;
    int at_once;
    const suite_calibration *calibration;
    suite_search_told told;
    void *context;
} suite_verdicts_params;

/* Adds to what suite_explain gave for `explained`, whose platform is simulated: "times" ("simulated" or "bounds"),
 * "scope", "calibration"?; to each mesh "exact", "state" (suite_search_state_name), "seconds"? of a request, "kept"?,
 * "bound_s", "bound", "binds", "behind"? (by what share it is above the best of the exact meshes, or of the others),
 * "request_memory_bytes" and "verdict". Meshes stand in the order of their times then, exact ones first. Errors: those
 * of suite_search_run, DIT_ERR_MEMORY. */
dit_status suite_verdicts_add(const suite_explain_params *explained, const suite_verdicts_params *params,
                              cJSON *answer);

#endif
