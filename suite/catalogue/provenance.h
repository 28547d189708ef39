/* Provenance: checks that data files about hardware say so where a fact has no source.
 *
 * Beside its facts an object may have "assumed", reasons of members that are present without a source, and "unknown",
 * reasons of members that are absent.
 */
#ifndef DIT_SUITE_CATALOGUE_PROVENANCE_H
#define DIT_SUITE_CATALOGUE_PROVENANCE_H

#include "base/json.h"

/* Checks an object: it has no members but `keys`, "assumed" and "unknown"; each of `facts` is present or unknown; an
 * assumed member is present; an unknown member is one of `keys` and absent; every reason is a text. Both lists end with
 * NULL. Errors: DIT_ERR_JSON_UNKNOWN_KEY, DIT_ERR_JSON_MISSING, DIT_ERR_JSON_TYPE, DIT_ERR_JSON_VALUE. */
dit_status suite_evidence_check(const dit_json *doc, const cJSON *object, const char *pointer, const char *const *keys,
                                const char *const *facts);
/* Checks the member "source" of `object`: one text or more. Errors: DIT_ERR_JSON_MISSING, DIT_ERR_JSON_TYPE. */
dit_status suite_evidence_sources(const dit_json *doc, const cJSON *object, const char *pointer);

#endif
