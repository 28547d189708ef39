/* Fixture of the tests of meshes: configurations by their degrees, and facts of two models. */
#ifndef DIT_BASE_TESTS_MESH_FIXTURE_H
#define DIT_BASE_TESTS_MESH_FIXTURE_H

#include "base/facts.h"
#include "base/parallel.h"

#include "base/tests/test.h"

static inline dit_parallel mesh(int ulysses, int ring, int cfg, int data)
{
    dit_parallel parallel = {0};
    parallel.degree[DIT_AXIS_ULYSSES] = ulysses;
    parallel.degree[DIT_AXIS_RING] = ring;
    parallel.degree[DIT_AXIS_CFG] = cfg;
    parallel.degree[DIT_AXIS_DATA] = data;
    return parallel;
}

static inline dit_parallel with_tensor(dit_parallel parallel, int degree)
{
    parallel.degree[DIT_AXIS_TENSOR] = degree;
    return parallel;
}

static inline dit_parallel with_axis(dit_parallel parallel, dit_axis axis, int degree)
{
    parallel.degree[axis] = degree;
    return parallel;
}

static inline dit_parallel with_stages(dit_parallel parallel, int degree)
{
    return with_axis(parallel, DIT_AXIS_PIPEFUSION, degree);
}

static inline dit_parallel with_patches(dit_parallel parallel, int degree, dit_patch_method method)
{
    parallel.patch_method = method;
    return with_axis(parallel, DIT_AXIS_PATCH, degree);
}

static inline dit_facts pixart_facts(void)
{
    return (dit_facts){.family = "PixArtTransformer2DModel",
                       .layers = 28,
                       .heads = 16,
                       .head_dim = 72,
                       .image_tokens = 4096,
                       .text_tokens = 120,
                       .token_channels = 16,
                       .num_images = 1,
                       .guidance_branches = 2,
                       .steps = 20,
                       .mlp_ratio = 4,
                       .parameters = 610000000,
                       .blocks = {{.count = 28, .sums = {.image = 3}}}};
}

static inline dit_facts flux_facts(void)
{
    return (dit_facts){.family = "FluxTransformer2DModel",
                       .layers = 57,
                       .heads = 24,
                       .head_dim = 128,
                       .image_tokens = 4096,
                       .text_tokens = 512,
                       .token_channels = 64,
                       .num_images = 1,
                       .guidance_branches = 1,
                       .steps = 28,
                       .joint = true,
                       .mlp_ratio = 4,
                       .parameters = 11900000000,
                       .blocks = {{.count = 19, .sums = {.image = 2, .text = 2}}, {.count = 38, .sums = {.both = 1}}}};
}

#endif
