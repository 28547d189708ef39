#include "base/rng.h"

#include <string.h>
#include <xxhash.h>

enum { ROUNDS = 10 };
#define MULTIPLIER_0 0xD2511F53u
#define MULTIPLIER_1 0xCD9E8D57u
#define WEYL_0       0x9E3779B9u
#define WEYL_1       0xBB67AE85u

static inline void philox(uint32_t k0, uint32_t k1, uint32_t c[4])
{
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t p0 = (uint64_t)MULTIPLIER_0 * c[0], p1 = (uint64_t)MULTIPLIER_1 * c[2];
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c[1] ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
        c[1] = (uint32_t)p1;
        c[3] = (uint32_t)p0;
        c[0] = n0;
        c[2] = n2;
        k0 += WEYL_0;
        k1 += WEYL_1;
    }
}

void dit_rng_philox(uint64_t key, uint64_t counter_high, uint64_t counter_low, uint32_t out[4])
{
    out[0] = (uint32_t)counter_low;
    out[1] = (uint32_t)(counter_low >> 32);
    out[2] = (uint32_t)counter_high;
    out[3] = (uint32_t)(counter_high >> 32);
    philox((uint32_t)key, (uint32_t)(key >> 32), out);
}

uint64_t dit_rng_stream(const char *name) { return XXH64(name, strlen(name), 0); }

/* sum of eight uniform 16-bit integers: mean 8*65535/2, variance 8*(65536^2-1)/12 */
static inline int32_t centred_sum(const uint32_t c[4])
{
    int32_t sum = 0;
    for (int i = 0; i < 4; i++) sum += (int32_t)(c[i] & 0xFFFF) + (int32_t)(c[i] >> 16);
    return 2 * sum - 8 * 65535; /* doubled, to stay an integer */
}
static const float INVERSE_DEVIATION = 9.34406183e-06f; /* 1 / (2 * sqrt(8 * (65536^2 - 1) / 12)) */

void dit_rng_normal(uint64_t seed, uint64_t stream, uint64_t first, int64_t count, float mean, float deviation,
                    float *out)
{
    enum { LANES = 16 }; /* written so that the compiler makes one vector of the lanes */
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int64_t base = 0; base < count; base += LANES) {
        int64_t lanes = count - base < LANES ? count - base : LANES;
        for (int64_t lane = 0; lane < lanes; lane++) {
            uint64_t index = first + (uint64_t)(base + lane);
            uint32_t c[4] = {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
            philox(key0, key1, c);
            float unit = (float)centred_sum(c) * INVERSE_DEVIATION;
            float scaled = deviation * unit; /* two roundings on purpose: no contraction, same bits everywhere */
            out[base + lane] = mean + scaled;
        }
    }
}

uint64_t dit_rng_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t bound)
{
    uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    for (uint64_t attempt = 0;; attempt++) {
        uint32_t c[4];
        dit_rng_philox(seed ^ attempt * 0x9E3779B97F4A7C15u, stream, index, c);
        uint64_t value = (uint64_t)c[1] << 32 | c[0];
        if (value < limit) return value % bound;
    }
}
