/* Tar: the one form of ustar archive that `ditbench pack` writes and `ditbench unpack` accepts.
 *
 * Of each member only name and size are free; owner, mode and time are fixed. So equal contents give equal bytes, and a
 * header that is not what we would have written is refused: links, devices, absolute paths and ".." cannot even be
 * said. That is why these are a hundred lines of our own and not libarchive, which reads far more than belongs here.
 */
#ifndef DIT_SUITE_PACK_TAR_H
#define DIT_SUITE_PACK_TAR_H

#include "base/status.h"

#include <stdint.h>

enum { SUITE_TAR_BLOCK = 512, SUITE_TAR_NAME = 257 /* bytes of a name's buffer */ };

/* Whether a name is relative, printable ASCII without backslash, and has no empty, "." or ".." part. */
bool suite_tar_name_is_safe(const char *name);
/* Writes the header of a member. Errors: DIT_ERR_UNSUPPORTED for a name that is unsafe or does not fit, and for a size
 * of 8 GiB and more. */
dit_status suite_tar_header(const char *name, uint64_t bytes, unsigned char out[SUITE_TAR_BLOCK]);
/* Reads a header. Errors: DIT_ERR_INTEGRITY unless suite_tar_header would have written these bytes. */
dit_status suite_tar_read_header(const unsigned char block[SUITE_TAR_BLOCK], char name[SUITE_TAR_NAME],
                                 uint64_t *bytes);
/* Zero bytes that follow the contents of a member. */
static inline size_t suite_tar_padding(uint64_t bytes)
{
    return (size_t)((SUITE_TAR_BLOCK - bytes % SUITE_TAR_BLOCK) % SUITE_TAR_BLOCK);
}

#endif
