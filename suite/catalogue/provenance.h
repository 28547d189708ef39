/* Evidence: facts that have no source say so, in data files about hardware.
 *
 * Beside its facts an object may have "assumed", reasons of members that are present without a source, and "unknown",
 * reasons of members that are absent.
 */
#ifndef DIT_SUITE_CATALOGUE_PROVENANCE_H
#define DIT_SUITE_CATALOGUE_PROVENANCE_H

#include "base/json.h"

/* Holds an object to it: it has no members but `keys`, "assumed" and "unknown"; each of `facts` is present or unknown;
 * what is assumed is present, what is unknown is one of `keys` and absent; every reason is a text. Both lists end in
 * NULL. Errors: DIT_ERR_JSON_UNKNOWN_KEY, DIT_ERR_JSON_MISSING, DIT_ERR_JSON_TYPE, DIT_ERR_JSON_VALUE. */
dit_status suite_evidence_check(const dit_json *doc, const cJSON *object, const char *pointer, const char *const *keys,
                                const char *const *facts);
/* Member "source" of `object`: one text or more. Errors: DIT_ERR_JSON_MISSING, DIT_ERR_JSON_TYPE. */
dit_status suite_evidence_sources(const dit_json *doc, const cJSON *object, const char *pointer);

#endif
