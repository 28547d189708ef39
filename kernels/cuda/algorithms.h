/* Algorithms: which of a library's was fastest for a request on this machine, kept in memory and, with a folder, on
 * disk between runs. Knows no CUDA and nothing of what the bytes mean.
 *
 * The file is text: a heading, and a line for each request that begins with the hash of the rest of it. A line that
 * does not hash to what it says, and a file of another heading, is left out with a warning and gone after the next
 * write. Writing reads the file again first and puts it in place by renaming, so that ranks which write at once leave a
 * whole file; what one of them loses that way is chosen again by the next run.
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
    uint8_t bytes[DIT_ALGORITHM_BYTES]; /* the library's own description */
    int32_t way;                        /* the caller's: which of several ways to do the whole request */
    int64_t workspace_bytes, time_ns;   /* what it needs, and took when it was chosen */
} dit_algorithm;

/* `name`: of the file, "linear". folder NULL: memory only; it is made when something is first written. A file that
 * cannot be read is no error. Errors: DIT_ERR_MEMORY. */
dit_status dit_algorithms_open(const char *folder, const char *name, dit_algorithms **out);
void dit_algorithms_close(dit_algorithms *algorithms); /* accepts NULL */

/* A key has no white space, at least one byte and fewer than DIT_ALGORITHM_KEY; it names everything that the choice
 * depends on. */
bool dit_algorithms_find(const dit_algorithms *algorithms, const char *key, dit_algorithm *out);
/* Remembers, and writes. What cannot be written is warned of once. Errors: DIT_ERR_INTERNAL (the key), DIT_ERR_MEMORY.
 */
dit_status dit_algorithms_store(dit_algorithms *algorithms, const char *key, const dit_algorithm *chosen);
int64_t dit_algorithms_count(const dit_algorithms *algorithms);

#ifdef __cplusplus
}
#endif
#endif
