/* Algorithms: remembers which of a library's algorithms was fastest for a request on this machine, in memory and, given
 * a folder, on disk between runs. It knows no CUDA, and nothing of what the bytes mean.
 *
 * The file is text: a heading, then a line for each request, which begins with the hash of its rest. A line whose hash
 * differs, or a file with another heading, is ignored with a warning and is gone after the next write. A write first
 * reads the file again and then replaces it by renaming, so ranks that write at once leave a whole file; what one of
 * them loses that way, the next run chooses again.
 */
#ifndef DIT_KERNELS_CUDA_ALGORITHMS_H
#define DIT_KERNELS_CUDA_ALGORITHMS_H

#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dit_algorithms dit_algorithms;
enum { DIT_ALGORITHM_BYTES = 64, DIT_ALGORITHM_KEY = 384 };

typedef struct {
    uint8_t bytes[DIT_ALGORITHM_BYTES]; /* the library's description of it */
    int32_t way;                        /* chosen by the caller among several ways to do the whole request */
    int64_t workspace_bytes, time_ns;   /* what it needs, and how long it took when it was chosen */
} dit_algorithm;

/* Opens the file `name` ("linear") in `folder`, which is made when something is first written; NULL: algorithms are
 * kept in memory only. A file that cannot be read is no error. Errors: DIT_ERR_MEMORY. */
dit_status dit_algorithms_open(const char *folder, const char *name, dit_algorithms **out);
void dit_algorithms_close(dit_algorithms *algorithms); /* accepts NULL */

/* A key has no white space, at least one byte and fewer than DIT_ALGORITHM_KEY; it names everything that the choice
 * depends on. */
bool dit_algorithms_find(const dit_algorithms *algorithms, const char *key, dit_algorithm *out);
/* Remembers the choice and writes the file; warns once when it cannot be written. Errors: DIT_ERR_INTERNAL (the key),
 * DIT_ERR_MEMORY. */
dit_status dit_algorithms_store(dit_algorithms *algorithms, const char *key, const dit_algorithm *chosen);
int64_t dit_algorithms_count(const dit_algorithms *algorithms);

#ifdef __cplusplus
}
#endif
#endif
