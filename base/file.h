/* File: reads whole files, and writes files so that the final name never holds a part. */
#ifndef DIT_BASE_FILE_H
#define DIT_BASE_FILE_H

#include "base/status.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads all of `path` (a regular file or a pipe) into *out, NUL-terminated, owned by the caller (free).
 * Errors: DIT_ERR_IO when it cannot be read or holds more than `limit` bytes; DIT_ERR_MEMORY. */
dit_status dit_file_read(const char *path, size_t limit, char **out, size_t *length);

/* One stretch of bytes to write. */
typedef struct {
    const void *data;
    size_t bytes;
} dit_file_piece;
/* Writes the pieces one after the other into a temporary file beside `path`, syncs and renames it, and syncs the
 * folder. After a failure or a crash `path` has its old contents. Errors: DIT_ERR_IO, which names the step. */
dit_status dit_file_write(const char *path, const dit_file_piece *pieces, int count);

#ifdef __cplusplus
}
#endif
#endif
