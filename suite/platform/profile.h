/* Profile: reads what the harness must know about a software stack from a file of workloads/profiles. The cost model
 * reads its times (kernels/cost/read.h).
 */
#ifndef DIT_SUITE_PLATFORM_PROFILE_H
#define DIT_SUITE_PLATFORM_PROFILE_H

#include "base/habits.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "suite/catalogue/vae.h"

/* `measured` says whether enough of this software was timed on GPUs (on a core, of a processor's software); `evidence`
 * says who, or why not. The habits decide which messages and buffers there are. */
typedef struct {
    char name[64], title[128], evidence[256];
    bool measured;
    dit_habits habits;
} suite_profile;

/* What is said wherever a simulated number of software stands that is not `measured`. */
#define SUITE_PROFILE_PROJECTION "projection: too little of this software has been measured on GPUs"

/* Reads workloads/profiles/NAME.json whole. A file that "extends" another one has that one's members where it has none
 * of its own, also within "parts" and "evidence", and what was fitted for that one counts for it, too, unless its own
 * "like" or its own number says otherwise. Errors: DIT_ERR_NOT_FOUND with the nearest name as hint; DIT_ERR_JSON_*. */
dit_status suite_profile_read(const char *name, dit_json *out);
/* Loads workloads/profiles/NAME.json, or the file of that name that a calibration left on this machine.
 * Errors: DIT_ERR_NOT_FOUND with the nearest name as hint; DIT_ERR_JSON_*. */
dit_status suite_profile_load(const char *name, suite_profile *out);

/* Whether a simulation with the profile (NULL: of no profile) has the VAE's decode: the engine is built for it, or the
 * profile's census has it. Errors: as suite_profile_read. */
dit_status suite_profile_decodes(const char *name, const suite_vae *vae, bool *out);

/* Puts "software" {"title", "measured", "evidence"} of the profile into an answer, and "projection", the sentence, where
 * nobody has measured it. A profile that cannot be read is the writer's status. */
void suite_profile_put(dit_json_writer *w, cJSON *answer, const char *name);
/* Write and read the member NAME of "profiles" in a session's first line (results/schema/journal.schema.json). Errors
 * of reading: DIT_ERR_NOT_FOUND when the line does not describe that profile, DIT_ERR_JSON_TYPE. */
dit_status suite_profile_add(const suite_profile *profile, cJSON *profiles);
dit_status suite_profile_from_session(const cJSON *session, const char *name, suite_profile *out);

#endif
