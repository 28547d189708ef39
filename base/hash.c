#include "base/hash.h"

#include <stdio.h>
#include <xxhash.h>

void dit_hash(const void *data, size_t bytes, char out[DIT_HASH_HEX])
{
    XXH128_hash_t hash = XXH3_128bits(data, bytes);
    snprintf(out, DIT_HASH_HEX, "%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
}
