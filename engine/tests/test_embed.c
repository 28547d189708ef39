/* Embeddings against the library's own tables (golden/ops, golden/sd3, golden/cogvideox_5b, golden/wan_t2v). */
#include "engine/models/embed.h"
#include "base/safetensors.h"

#include "base/tests/test.h"

/* Whose memory is there. */
static const dit_runtime host;

static dit_safetensors *ops;

static int open_ops(void **state)
{
    char path[4096];
    (void)state;
    snprintf(path, sizeof path, "%s/engine/tests/golden/ops/ops.safetensors", DITBENCH_SOURCE_DIR);
    return dit_safetensors_open(path, &ops) == DIT_OK ? 0 : -1;
}

static int close_ops(void **state)
{
    (void)state;
    dit_safetensors_close(ops);
    return 0;
}

static void read_into(const char *name, int64_t count, float *out)
{
    dit_tensor_view view;
    assert_true(dit_safetensors_find(ops, name, &view));
    assert_int_equal(view.elements, count);
    assert_int_equal(dit_tensor_read(&view, 0, count, out), DIT_OK);
}

static void expect_close(const float *x, const float *reference, int count, float tolerance)
{
    for (int i = 0; i < count; i++) assert_true(fabsf(x[i] - reference[i]) <= tolerance);
}

static void embed_t(const float *t, int64_t count, int64_t dim, float *out)
{
    const dit_kernels *ref;
    assert_int_equal(dit_kernels_get("ref", &ref), DIT_OK);
    ref->timestep(NULL, &(dit_timestep_args){.count = count, .dim = dim, .t = t, .unit = 1.0f, .y = out});
}

/* One ulp of a frequency is worth 1e-4 at t = 3500, so this bound sees it. */
static void timesteps_embed_as_the_library_rounds_them(void **state)
{
    static float t[9], reference[9 * 256], out[9 * 256];
    (void)state;
    read_into("timestep.t", 9, t);
    read_into("timestep.emb256_flip_shift0", 9 * 256, reference);
    embed_t(t, 9, 256, out);
    expect_close(out, reference, 9 * 256, 3e-7f);
    read_into("timestep.emb64_flip_shift0", 9 * 64, reference);
    embed_t(t, 9, 64, out);
    expect_close(out, reference, 9 * 64, 3e-7f);
}

static void sincos_tables_put_the_column_first(void **state)
{
    float reference[15 * 24], out[15 * 24];
    (void)state;
    read_into("sincos2d.h5_w3_base8_scale2_dim24", 15 * 24, reference);
    embed_sincos_2d(&host, 5, 3, 24, 8, 2, 0, 15, out);
    expect_close(out, reference, 15 * 24, 2e-7f);
}

static void a_shard_of_the_table_is_a_part_of_the_whole(void **state)
{
    float whole[15 * 24], part[6 * 24];
    (void)state;
    embed_sincos_2d(&host, 5, 3, 24, 8, 2, 0, 15, whole);
    embed_sincos_2d(&host, 5, 3, 24, 8, 2, 7, 6, part);
    assert_memory_equal(part, whole + 7 * 24, sizeof part);
}

static void rotary_tables_repeat_each_value_twice(void **state)
{
    float position[6], cos_reference[48], sin_reference[48], cosines[48], sines[48];
    const int64_t dims[1] = {8};
    (void)state;
    read_into("rope1d.dim8_pos", 6, position);
    read_into("rope1d.dim8_cos", 48, cos_reference);
    read_into("rope1d.dim8_sin", 48, sin_reference);
    embed_rope(&host, position, 6, 1, dims, 10000.0, cosines, sines);
    expect_close(cosines, cos_reference, 48, 1e-7f);
    expect_close(sines, sin_reference, 48, 1e-7f);
}

/* A wide grid of 2 x 8 covers the base's 12 columns and 3 of its 8 rows, from (8 - 3) / 2 = 2.5: Python rounds to 2. */
static void a_fitted_grid_is_centred_with_ties_to_even(void **state)
{
    const int64_t grid[2] = {2, 8}, base[2] = {8, 12};
    float position[2];
    (void)state;
    for (int64_t row = 0; row < 2; row++)
        for (int64_t column = 0; column < 8; column++) {
            embed_fitted_position(grid, base, row, column, position);
            assert_true(position[0] == 2.0f + 0.5f * (float)row);
            assert_true(position[1] == 1.5f * (float)column);
        }
}

/* A tensor of a shipped golden folder. */
static void read_golden(const char *path, const char *name, int64_t elements, float *out)
{
    char full[512];
    dit_safetensors *golden_file;
    dit_tensor_view view;
    snprintf(full, sizeof full, DITBENCH_SOURCE_DIR "/engine/tests/golden/%s", path);
    assert_int_equal(dit_safetensors_open(full, &golden_file), DIT_OK);
    assert_true(dit_safetensors_find(golden_file, name, &view));
    assert_int_equal(view.elements, elements);
    assert_int_equal(dit_tensor_read(&view, 0, elements, out), DIT_OK);
    dit_safetensors_close(golden_file);
}

/* Seeded SD3 models have no stored table: theirs is the one the library initialises, and a row of it alone is too. */
static void the_position_table_of_sd3_is_the_stored_one(void **state)
{
    enum { GRID = 18, BASE = 16, DIM = 48, ENTRY = 7 * GRID + 11 };
    static float reference[GRID * GRID * DIM], table[GRID * GRID * DIM], row[DIM];
    (void)state;
    read_golden("sd3/diffusion_pytorch_model.safetensors", "pos_embed.pos_embed", GRID * GRID * DIM, reference);
    embed_sincos_2d(&host, GRID, GRID, DIM, BASE, 1.0, 0, GRID * GRID, table);
    expect_close(table, reference, GRID * GRID * DIM, 2e-6f);
    embed_sincos_2d(&host, GRID, GRID, DIM, BASE, 1.0, ENTRY, 1, row);
    expect_close(row, reference + ENTRY * DIM, DIM, 2e-6f);
}

/* The tables that the library gave CogVideoX-5B: 3 frames of 4 x 4 tokens, trained on 8 x 12. */
static void fitted_positions_make_the_rotation_of_cogvideox(void **state)
{
    enum { TOKENS = 48, D = 16 };
    static float ids[TOKENS * 3], reference[2][TOKENS * D], cosines[TOKENS * D], sines[TOKENS * D];
    const int64_t grid[2] = {4, 4}, base[2] = {8, 12}, dims[3] = {4, 6, 6};
    (void)state;
    read_golden("cogvideox_5b/inputs.safetensors", "image_rotary_emb_cos", TOKENS * D, reference[0]);
    read_golden("cogvideox_5b/inputs.safetensors", "image_rotary_emb_sin", TOKENS * D, reference[1]);
    for (int64_t token = 0; token < TOKENS; token++) {
        ids[token * 3] = (float)(token / 16);
        embed_fitted_position(grid, base, token % 16 / 4, token % 4, ids + token * 3 + 1);
    }
    embed_rope(&host, ids, TOKENS, 3, dims, 10000.0, cosines, sines);
    expect_close(cosines, reference[0], TOKENS * D, 1e-7f);
    expect_close(sines, reference[1], TOKENS * D, 1e-7f);
}

/* The tables that the library gave HunyuanDiT: 8 x 12 tokens fitted into 32 x 32, the column first. */
static void fitted_positions_make_the_rotation_of_hunyuandit(void **state)
{
    enum { TOKENS = 96, D = 12 };
    static float ids[TOKENS * 2], reference[2][TOKENS * D], cosines[TOKENS * D], sines[TOKENS * D];
    const int64_t grid[2] = {8, 12}, base[2] = {32, 32}, dims[2] = {6, 6};
    (void)state;
    read_golden("hunyuandit_v12/inputs.safetensors", "image_rotary_emb_cos", TOKENS * D, reference[0]);
    read_golden("hunyuandit_v12/inputs.safetensors", "image_rotary_emb_sin", TOKENS * D, reference[1]);
    for (int64_t token = 0; token < TOKENS; token++) {
        float position[2];
        embed_fitted_position(grid, base, token / 12, token % 12, position);
        ids[token * 2] = position[1];
        ids[token * 2 + 1] = position[0];
    }
    embed_rope(&host, ids, TOKENS, 2, dims, 10000.0, cosines, sines);
    expect_close(cosines, reference[0], TOKENS * D, 1e-6f);
    expect_close(sines, reference[1], TOKENS * D, 1e-6f);
}

/* The rotation that the library gives Wan: 3 frames of 4 x 6 tokens, each value once. The second of two ranks, whose
 * rows begin in the middle of a frame, makes its half. */
static void a_rank_makes_its_part_of_the_rotation_of_wan(void **state)
{
    enum { TOKENS = 72, HALF = 36, D = 16 };
    static float ids[HALF * 3], reference[2][TOKENS * D / 2], made[2][HALF * D];
    const dit_partition part = {.image_tokens = TOKENS,
                                .image_count = HALF,
                                .segments = 1,
                                .segment_tokens = TOKENS,
                                .segment_count = HALF,
                                .sequence_rank = 1,
                                .sequence_degree = 2};
    const dit_latent latent = {.patch_t = 1, .patch = 2, .frames = 3, .height = 8, .width = 12};
    const int64_t dims[3] = {8, 4, 4};
    (void)state;
    read_golden("wan_t2v/rope.safetensors", "freqs_cos", TOKENS * D / 2, reference[0]);
    read_golden("wan_t2v/rope.safetensors", "freqs_sin", TOKENS * D / 2, reference[1]);
    embed_grid_ids(&host, &part, &latent, ids);
    embed_rope(&host, ids, HALF, 3, dims, 10000.0, made[0], made[1]);
    for (int i = 0; i < 2; i++)
        for (int at = 0; at < HALF * D; at++)
            assert_true(fabsf(made[i][at] - reference[i][(HALF * D + at) / 2]) <= 1e-7f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timesteps_embed_as_the_library_rounds_them),
        cmocka_unit_test(sincos_tables_put_the_column_first),
        cmocka_unit_test(a_shard_of_the_table_is_a_part_of_the_whole),
        cmocka_unit_test(rotary_tables_repeat_each_value_twice),
        cmocka_unit_test(a_fitted_grid_is_centred_with_ties_to_even),
        cmocka_unit_test(the_position_table_of_sd3_is_the_stored_one),
        cmocka_unit_test(fitted_positions_make_the_rotation_of_cogvideox),
        cmocka_unit_test(fitted_positions_make_the_rotation_of_hunyuandit),
        cmocka_unit_test(a_rank_makes_its_part_of_the_rotation_of_wan),
    };
    return cmocka_run_group_tests(tests, open_ops, close_ops);
}
