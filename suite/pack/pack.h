/* Pack: one file that holds a session whole: journal, plan, workload, cases, records, report, checksums.
 *
 * The archive (tar.h) has one folder, named after the session. MANIFEST is its first member and lists the XXH3-128 of
 * every other one in the form that xxh128sum reads; README.md tells a reader what lies there and how to check it. Names
 * are sorted. Packing a session twice gives equal bytes, also after it was unpacked elsewhere.
 */
#ifndef DIT_SUITE_PACK_PACK_H
#define DIT_SUITE_PACK_PACK_H

#include "base/hash.h"
#include "suite/session/session.h"

#include <stdint.h>

typedef struct {
    int members;
    uint64_t bytes;          /* of the archive */
    char hash[DIT_HASH_HEX]; /* of MANIFEST, which has the hash of everything else */
} suite_pack_summary;

/* Packs a session into `path`, which gets its name once the archive is whole. Tensor files are left out unless
 * `latents`. Errors: DIT_ERR_USAGE while a run holds the session; DIT_ERR_IO; DIT_ERR_UNSUPPORTED for a name or size
 * that does not fit; DIT_ERR_MEMORY. */
dit_status suite_pack(const suite_session *session, const char *path, bool latents, suite_pack_summary *out);

/* Reads an archive and checks every byte of it. Unless `folder` is NULL, the session is restored into it (which must
 * not exist) once all was sound; a folder that exists only while reading is removed. `name` gets the session's name.
 * Errors: DIT_ERR_INTEGRITY with the member that was changed; DIT_ERR_USAGE when the folder exists; DIT_ERR_IO. */
dit_status suite_unpack(const char *path, const char *folder, char name[SUITE_SESSION_NAME], suite_pack_summary *out);
/* Reads only the session's name, from the first header. Errors: as above. */
dit_status suite_pack_name(const char *path, char name[SUITE_SESSION_NAME]);

#endif
