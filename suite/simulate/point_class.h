/* Point class: which kind of prediction a published point asks for. Predictions of one kind err alike.
 */
#ifndef DIT_SUITE_SIMULATE_POINT_CLASS_H
#define DIT_SUITE_SIMULATE_POINT_CLASS_H

#include "suite/simulate/published_points.h"

/* Each returns a static string; "" of a point that is not understood. */
const char *suite_point_reach(const suite_point *point);    /* "one device", "one node", "several nodes"          */
const char *suite_point_kind(const suite_point *point);     /* "layer", "exact", "pipeline", "displaced", and
                                                               "hybrid" of a search over all of them              */
const char *suite_point_software(const suite_point *point); /* "eager", "compiled", "graphs"; "other"             */

/* Tell both of what is simulated without a point: the kind of a mesh, and the software of a profile by the beginning
 * of its name, for profiles of one family differ by their date. */
const char *suite_mesh_kind(const dit_parallel *parallel);
const char *suite_profile_software(const char *profile);

#endif
