/* Contradictions: reads which published points other published numbers contradict, which are read as something else than
 * was printed, and which are one measurement (results/published/contradictions.json). */
#ifndef DIT_SUITE_PUBLISHED_CONTRADICTIONS_H
#define DIT_SUITE_PUBLISHED_CONTRADICTIONS_H

#include "suite/published/published.h"

/* Reads and checks the file. Errors: DIT_ERR_ENVIRONMENT without results/published, DIT_ERR_IO, DIT_ERR_JSON_*. */
dit_status suite_contradictions_read(dit_json *out);
/* True if the contradiction `one` is about point `index` of a file, which the last part of its path names. */
bool suite_contradictions_concern(const dit_json *contradictions, const cJSON *one, const char *file, int index);
/* Reads a file of points, as suite_published_read does, and lays over them what the contradictions say of it: points of
 * a doubtful one get the status "doubtful", points that are restated the machine, steps or scope that is believed, and
 * of one measurement that is printed several times all but the first the status "repeated". Points whose value is not
 * the one that a contradiction names are left alone. Texts of *out may lie in `contradictions`. Errors: as
 * suite_published_read. */
dit_status suite_contradictions_points(const dit_json *contradictions, const char *path, suite_published *out);

#endif
