/* Hashes: XXH3-128 for identities and digests (not for security). */
#ifndef DIT_BASE_HASH_H
#define DIT_BASE_HASH_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DIT_HASH_HEX = 33 }; /* 32 hex digits and the end */

/* Writes the XXH3-128 of `bytes` bytes in hex. */
void dit_hash(const void *data, size_t bytes, char out[DIT_HASH_HEX]);

#ifdef __cplusplus
}
#endif
#endif
