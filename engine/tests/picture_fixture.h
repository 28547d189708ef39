/* Fixture of the tests of picture measures: pictures as engine/tests/quality makes them, in golden.py and features.py. Their
 * values are exact in single precision. */
#ifndef DIT_ENGINE_TESTS_PICTURE_FIXTURE_H
#define DIT_ENGINE_TESTS_PICTURE_FIXTURE_H

#include "engine/quality/fidelity.h"

#include "base/tests/test.h"

/* `count` values in [0, 1); the caller frees. */
static inline float *make_uniform(uint32_t seed, int64_t count)
{
    float *out = malloc((size_t)count * sizeof *out);
    assert_non_null(out);
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = (float)(seed >> 16) / 65536.0f;
    }
    return out;
}

/* A picture or clip with slopes and noise; the caller frees. */
static inline float *make_picture(uint32_t seed, dit_picture_size size)
{
    float *out = make_uniform(seed, dit_picture_floats(size));
    int64_t i = 0;
    for (int64_t c = 0; c < DIT_RGB; c++)
        for (int64_t f = 0; f < size.frames; f++)
            for (int64_t y = 0; y < size.height; y++)
                for (int64_t x = 0; x < size.width; x++, i++)
                    out[i] = (float)((x * 3 + y * 5 + f * 7 + c * 11) % 32) / 32.0f * 0.75f + out[i] * 0.25f;
    return out;
}

#endif
