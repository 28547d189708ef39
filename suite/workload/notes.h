/* Notes: whether what a workload's authors noted on its claims ("because") was written for the parameters that run.
 *
 * A note tells what came out with the file's own parameters. With others it may be wrong, so the file names in
 * "notes_for" the digest of the parameters that its notes are about, the journal keeps both digests, and reports show
 * notes only where they are equal.
 */
#ifndef DIT_SUITE_WORKLOAD_NOTES_H
#define DIT_SUITE_WORKLOAD_NOTES_H

#include "base/hash.h"
#include "base/json.h"

/* Digest of all members of a workload that decide which cases there are and how they run: not of its names and texts,
 * figures, claims and published numbers. Errors: DIT_ERR_MEMORY. */
dit_status suite_notes_digest(const cJSON *workload, char out[DIT_HASH_HEX]);

#endif
