/* Direct file: reads stretches of a file past the page cache.
 *
 * Reads go by O_DIRECT into a page-aligned buffer of the reader, so that memory counts what a program holds and a rate is
 * the disk's. Where the file system has no O_DIRECT, reads are plain ones, and the kernel is told at once to drop the
 * pages (posix_fadvise). Not thread safe: a reader belongs to one thread at a time.
 */
#ifndef DIT_BASE_DIRECT_FILE_H
#define DIT_BASE_DIRECT_FILE_H

#include "base/status.h"
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DIT_DIRECT_BUFFER_BYTES = 8 << 20 }; /* most bytes of one fetch */

typedef struct dit_direct_file dit_direct_file;

/* Opens a file and takes the buffer. Errors: DIT_ERR_IO, DIT_ERR_MEMORY. close accepts NULL. */
dit_status dit_direct_open(const char *path, dit_direct_file **out);
void dit_direct_close(dit_direct_file *file);
/* Gives bytes [offset, offset + bytes) in the reader's buffer, which stay valid until the next fetch. `bytes` is at most
 * DIT_DIRECT_BUFFER_BYTES. What is read, and may serve later fetches, reaches as far as `until`, an offset that is not
 * before the end of the bytes. Errors: DIT_ERR_IO, also where the file ends before them. */
dit_status dit_direct_fetch(dit_direct_file *file, int64_t offset, int64_t bytes, int64_t until, const void **out);
/* Bytes that came from the file so far, and whether they went past the page cache by O_DIRECT. */
int64_t dit_direct_bytes(const dit_direct_file *file);
bool dit_direct_is_direct(const dit_direct_file *file);

#ifdef __cplusplus
}
#endif
#endif
