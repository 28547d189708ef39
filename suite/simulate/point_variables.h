/* Point variables: what expressions and groups see of a published point, by name.
 */
#ifndef DIT_SUITE_SIMULATE_POINT_VARIABLES_H
#define DIT_SUITE_SIMULATE_POINT_VARIABLES_H

#include "suite/simulate/published_points.h"

/* Says whether `expression` ("model == 'flux.1-dev' && gpus <= 8") holds. It sees index, status, reason, model, source,
 * metric, method, mesh, reach, kind, software (point_class.h), hardware, interconnect, platform, profile, runtime,
 * provenance, mark (what the file says of the number), resolution, width_px, height_px, frames, steps, batch, tokens,
 * heads, head_dim, gpus and value; what is not stated is '' or 0. Errors: DIT_ERR_EXPRESSION. */
dit_status suite_point_test(const suite_point *point, const char *expression, bool *out);
/* Writes one of those names' values as text. Errors: DIT_ERR_NOT_FOUND for any other name. */
dit_status suite_point_text(const suite_point *point, const char *name, char *out, size_t size);
/* Says whether the expression fails by what was printed alone, so that the point need not be understood. */
bool suite_point_ruled_out(const suite_published_point *published, const char *expression);

#endif
