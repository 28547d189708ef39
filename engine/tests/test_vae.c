/* VAEs: tiles are what diffusers' algorithm makes of them and bound the memory; chunks, batches and extents; hostile
 * configs. That the numbers are diffusers' is golden's business (test_golden.sh). */
#include "base/rng.h"
#include "engine/vae/vae.h"

#include "base/tests/test.h"
#include "kernels/tests/each_isa.h"

static const char kl_text[] = "{\"_class_name\": \"AutoencoderKL\", \"block_out_channels\": [8, 8, 16],"
                              "\"latent_channels\": 4, \"norm_num_groups\": 4, \"sample_size\": 32}";
static const char cog_text[] =
    "{\"_class_name\": \"AutoencoderKLCogVideoX\", \"block_out_channels\": [8, 8, 16],"
    "\"latent_channels\": 4, \"norm_num_groups\": 4, \"layers_per_block\": 1, \"temporal_compression_ratio\": 2,"
    "\"sample_height\": 96, \"sample_width\": 80}";

static const char wan_text[] = "{\"_class_name\": \"AutoencoderKLWan\", \"base_dim\": 8, \"dim_mult\": [1, 2, 2],"
                               "\"z_dim\": 4, \"num_res_blocks\": 1, \"temperal_downsample\": [true, true]}";
static const char hunyuan_text[] =
    "{\"_class_name\": \"AutoencoderKLHunyuanVideo\", \"block_out_channels\": [8, 8, 16], \"latent_channels\": 4,"
    "\"norm_num_groups\": 4, \"layers_per_block\": 1, \"spatial_compression_ratio\": 4}";
static const char mochi_text[] =
    "{\"_class_name\": \"AutoencoderKLMochi\", \"decoder_block_out_channels\": [32, 32], \"latent_channels\": 4,"
    "\"layers_per_block\": [1, 0, 1], \"temporal_expansions\": [2], \"spatial_expansions\": [2]}";
static const char hunyuan15_text[] =
    "{\"_class_name\": \"AutoencoderKLHunyuanVideo15\", \"block_out_channels\": [8, 8, 16], \"latent_channels\": 4,"
    "\"layers_per_block\": 1, \"spatial_compression_ratio\": 4, \"temporal_compression_ratio\": 2}";
static const char ltx_text[] =
    "{\"_class_name\": \"AutoencoderKLLTXVideo\", \"decoder_block_out_channels\": [8, 8], \"latent_channels\": 4,"
    "\"decoder_layers_per_block\": [1, 1, 1], \"decoder_spatio_temporal_scaling\": [true, true]}";
static const char denoising_text[] =
    "{\"_class_name\": \"AutoencoderKLLTXVideo\", \"decoder_block_out_channels\": [8, 16], \"latent_channels\": 4,"
    "\"decoder_layers_per_block\": [1, 1, 1], \"decoder_spatio_temporal_scaling\": [true, true],"
    "\"upsample_factor\": [2, 2], \"upsample_residual\": [true, true], \"timestep_conditioning\": true,"
    "\"decoder_inject_noise\": [true, true, true]}";
static const char *const clip_texts[] = {cog_text, wan_text, hunyuan_text, mochi_text};
enum { CLIP_TEXTS = sizeof clip_texts / sizeof *clip_texts };

/* A VAE of seeded weights with what it lives on. */
typedef struct {
    dit_json document;
    dit_weights weights;
    dit_runtime rt;
    dit_vae *vae;
} fixture;

/* Only what a VAE needs of a runtime: this test starts no communication. */
static void start(fixture *f, const char *text)
{
    *f = (fixture){.weights = {.seed = 5}};
    assert_int_equal(dit_json_parse(text, strlen(text), "test", &f->document), DIT_OK);
    dit_arena_init(&f->rt.run, &f->rt.ledger, DIT_MEMORY_WEIGHTS);
    dit_arena_init(&f->rt.step, &f->rt.ledger, DIT_MEMORY_ACTIVATIONS);
    assert_int_equal(dit_kernels_get("cpu", &f->rt.kernels), DIT_OK);
    assert_int_equal(dit_pool_create(2, false, &f->rt.pool), DIT_OK);
}

static void stop(fixture *f)
{
    dit_vae_free(f->vae);
    dit_arena_release(&f->rt.run);
    dit_arena_release(&f->rt.step);
    dit_pool_free(f->rt.pool);
    dit_json_release(&f->document);
}

static dit_vae_params params_of(fixture *f, int64_t frames, int64_t height, int64_t width)
{
    return (dit_vae_params){.rt = &f->rt,
                            .config = {.doc = &f->document, .object = f->document.root, .pointer = ""},
                            .weights = &f->weights,
                            .frames = frames,
                            .height = height,
                            .width = width};
}

static dit_status try_create(const char *text, int64_t frames, int64_t height, int64_t width, bool encoder)
{
    fixture f;
    start(&f, text);
    dit_vae_params params = params_of(&f, frames, height, width);
    params.encoder = encoder;
    dit_status st = dit_vae_create(&params, &f.vae);
    stop(&f);
    return st;
}

static float *floats(int64_t count)
{
    float *out = malloc((size_t)count * sizeof *out);
    assert_non_null(out);
    return out;
}

static float *draw(int64_t count)
{
    float *out = floats(count);
    dit_rng_normal(11, 1, 0, count, 0, 1, out);
    return out;
}

typedef struct {
    int64_t channels, frames, height, width;
} extents;

static int64_t size_of(extents e)
{
    return e.channels * e.frames * e.height * e.width;
}

/* What latents of those extents decode to. */
static extents picture_of(const dit_vae_facts *facts, extents latents)
{
    return (extents){facts->image_channels, dit_vae_output_frames(facts, latents.frames),
                     latents.height * facts->spatial, latents.width * facts->spatial};
}

static float *decode_whole(const char *text, const float *latents, extents e, extents *picture)
{
    fixture f;
    start(&f, text);
    dit_vae_params params = params_of(&f, e.frames, e.height, e.width);
    assert_int_equal(dit_vae_create(&params, &f.vae), DIT_OK);
    *picture = picture_of(dit_vae_get_facts(f.vae), e);
    float *image = floats(size_of(*picture));
    assert_int_equal(dit_vae_decode(f.vae, latents, image), DIT_OK);
    stop(&f);
    return image;
}

static double distance(const float *a, const float *b, int64_t count)
{
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < count; i++) {
        difference += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        norm += (double)b[i] * b[i];
    }
    return sqrt(difference / norm);
}

/* A rectangle cut out of all planes. */
static float *cut(const float *x, extents e, int64_t top, int64_t left, extents *part)
{
    if (part->height > e.height - top) part->height = e.height - top;
    if (part->width > e.width - left) part->width = e.width - left;
    float *out = floats(size_of(*part));
    for (int64_t p = 0; p < e.channels * e.frames; p++)
        for (int64_t y = 0; y < part->height; y++)
            memcpy(out + (p * part->height + y) * part->width, x + (p * e.height + top + y) * e.width + left,
                   (size_t)part->width * sizeof *out);
    return out;
}

/* ---- tiles: every tile decoded by a VAE of its own and all of them kept, as the library keeps them ----------------
 */

enum { TILES = 4 };

typedef struct {
    float *image[TILES][TILES];
    extents size[TILES][TILES];
} tile_table;

static int64_t least(int64_t a, int64_t b, int64_t c)
{
    int64_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static void blend_down(const float *above, extents a, float *tile, extents b, int64_t limit)
{
    int64_t extent = least(a.height, b.height, limit);
    for (int64_t p = 0; p < b.channels * b.frames; p++)
        for (int64_t y = 0; y < extent; y++)
            for (int64_t x = 0; x < b.width; x++) {
                float *at = tile + (p * b.height + y) * b.width + x;
                float weight = (float)y / (float)extent;
                *at = above[(p * a.height + a.height - extent + y) * a.width + x] * (1 - weight) + *at * weight;
            }
}

static void blend_right(const float *left, extents a, float *tile, extents b, int64_t limit)
{
    int64_t extent = least(a.width, b.width, limit);
    for (int64_t line = 0; line < b.channels * b.frames * b.height; line++)
        for (int64_t x = 0; x < extent; x++) {
            float *at = tile + line * b.width + x;
            float weight = (float)x / (float)extent;
            *at = left[line * a.width + a.width - extent + x] * (1 - weight) + *at * weight;
        }
}

/* In latents: the size of tiles, and from one to the next; in pixels: the seam. */
typedef struct {
    int64_t height, width, step_y, step_x, seam_y, seam_x;
} tile_rule;

static void decode_tiles(const char *text, const float *latents, extents e, tile_rule r, tile_table *t)
{
    for (int64_t i = 0; i * r.step_y < e.height; i++)
        for (int64_t j = 0; j * r.step_x < e.width; j++) {
            extents part = {e.channels, e.frames, r.height, r.width};
            float *piece = cut(latents, e, i * r.step_y, j * r.step_x, &part);
            t->image[i][j] = decode_whole(text, piece, part, &t->size[i][j]);
            free(piece);
            if (i) blend_down(t->image[i - 1][j], t->size[i - 1][j], t->image[i][j], t->size[i][j], r.seam_y);
            if (j) blend_right(t->image[i][j - 1], t->size[i][j - 1], t->image[i][j], t->size[i][j], r.seam_x);
        }
}

/* Tile (y / limit, x / limit) gives each pixel. */
static float *assemble(const tile_table *t, extents whole, int64_t limit_y, int64_t limit_x)
{
    float *out = floats(size_of(whole));
    for (int64_t p = 0; p < whole.channels * whole.frames; p++)
        for (int64_t y = 0; y < whole.height; y++)
            for (int64_t x = 0; x < whole.width; x++) {
                int64_t i = y / limit_y, j = x / limit_x;
                extents s = t->size[i][j];
                out[(p * whole.height + y) * whole.width + x] =
                    t->image[i][j][(p * s.height + y % limit_y) * s.width + x % limit_x];
            }
    return out;
}

static void tiles_equal_the_table(const char *text, extents e, tile_rule r)
{
    tile_table table = {0};
    fixture f;
    float *latents = draw(size_of(e));
    start(&f, text);
    dit_vae_params params = params_of(&f, e.frames, e.height, e.width);
    params.tiling = true;
    assert_int_equal(dit_vae_create(&params, &f.vae), DIT_OK);
    assert_true(dit_vae_is_tiled(f.vae));
    extents whole = picture_of(dit_vae_get_facts(f.vae), e), plain;
    int64_t spatial = dit_vae_get_facts(f.vae)->spatial;
    float *image = floats(size_of(whole));
    assert_int_equal(dit_vae_decode(f.vae, latents, image), DIT_OK);
    decode_tiles(text, latents, e, r, &table);
    float *expected = assemble(&table, whole, r.step_y * spatial, r.step_x * spatial);
    float *untiled = decode_whole(text, latents, e, &plain);
    assert_true(distance(image, expected, size_of(whole)) < 1e-6);
    assert_true(distance(image, untiled, size_of(whole)) > 1e-4); /* an approximation it is */
    for (int i = 0; i < TILES * TILES; i++) free(table.image[i / TILES][i % TILES]);
    free(latents);
    free(image);
    free(expected);
    free(untiled);
    stop(&f);
}

static void tiles_of_pictures_are_the_librarys(void **state)
{
    (void)state; /* 32 pixels a tile, overlapping by a quarter; the last ones are smaller */
    tiles_equal_the_table(kl_text, (extents){4, 1, 17, 13}, (tile_rule){8, 8, 6, 6, 8, 8});
    tiles_equal_the_table(kl_text, (extents){4, 2, 5, 9}, (tile_rule){8, 8, 6, 6, 8, 8});
}

static void tiles_of_clips_are_the_librarys(void **state)
{
    (void)state; /* 48 x 40 pixels a tile, overlapping by a sixth and a fifth */
    tiles_equal_the_table(cog_text, (extents){4, 5, 13, 18}, (tile_rule){12, 10, 10, 8, 8, 8});
    /* 256 pixels a tile, overlapping by a quarter */
    tiles_equal_the_table(hunyuan_text, (extents){4, 2, 66, 3}, (tile_rule){64, 64, 48, 48, 64, 64});
    /* 512 pixels a tile, overlapping by 64 */
    tiles_equal_the_table(ltx_text, (extents){4, 2, 34, 3}, (tile_rule){32, 32, 28, 28, 64, 64});
}

/* Wan clamps what has been blended, so that only pixels outside of the seam are those of tiles decoded alone: columns
 * before the second tile, which begins at latent 48, and those after 64 of it. */
static void tiles_of_wan_begin_without_a_memory(void **state)
{
    fixture f;
    extents e = {4, 2, 3, 66}, part = {4, 2, 3, 64}, rest = part, size[2];
    float *latents = draw(size_of(e)), *pieces[2] = {cut(latents, e, 0, 0, &part), cut(latents, e, 0, 48, &rest)};
    float *tiles[2] = {decode_whole(wan_text, pieces[0], part, &size[0]),
                       decode_whole(wan_text, pieces[1], rest, &size[1])};
    (void)state;
    start(&f, wan_text);
    dit_vae_params params = params_of(&f, e.frames, e.height, e.width);
    params.tiling = true;
    assert_ok(dit_vae_create(&params, &f.vae));
    assert_true(dit_vae_is_tiled(f.vae));
    extents whole = picture_of(dit_vae_get_facts(f.vae), e);
    float *image = floats(size_of(whole));
    assert_ok(dit_vae_decode(f.vae, latents, image));
    for (int64_t line = 0; line < whole.channels * whole.frames * whole.height; line++) {
        const float *row = image + line * whole.width;
        assert_memory_equal(row, tiles[0] + line * size[0].width, 192 * sizeof *row);
        assert_memory_equal(row + 256, tiles[1] + line * size[1].width + 64, 8 * sizeof *row);
    }
    for (int i = 0; i < 2; i++) {
        free(pieces[i]);
        free(tiles[i]);
    }
    free(latents);
    free(image);
    stop(&f);
}

static void latents_of_one_tile_are_decoded_whole(void **state)
{
    fixture f;
    extents e = {4, 1, 8, 7}, picture;
    float *latents = draw(size_of(e)), *whole = decode_whole(kl_text, latents, e, &picture);
    float *image = floats(size_of(picture));
    (void)state;
    start(&f, kl_text);
    dit_vae_params params = params_of(&f, 1, e.height, e.width);
    params.tiling = true;
    assert_int_equal(dit_vae_create(&params, &f.vae), DIT_OK);
    assert_false(dit_vae_is_tiled(f.vae));
    assert_int_equal(dit_vae_decode(f.vae, latents, image), DIT_OK);
    assert_memory_equal(image, whole, (size_t)size_of(picture) * sizeof *image);
    free(latents);
    free(whole);
    free(image);
    stop(&f);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Bytes of activations after one decode of height x width latents, which must not allocate. */
static int64_t activations_of(const char *text, extents e, bool tiling, int64_t *output_bytes)
{
    fixture f;
    start(&f, text);
    dit_vae_params params = params_of(&f, e.frames, e.height, e.width);
    params.tiling = tiling;
    assert_int_equal(dit_vae_create(&params, &f.vae), DIT_OK);
    int64_t count = size_of(picture_of(dit_vae_get_facts(f.vae), e)), calls = f.rt.ledger.calls;
    float *latents = draw(size_of(e)), *image = floats(count);
    assert_int_equal(dit_vae_decode(f.vae, latents, image), DIT_OK);
    assert_int_equal(f.rt.ledger.calls, calls);
    free(latents);
    free(image);
    *output_bytes = count * (int64_t)sizeof(float);
    int64_t used = f.rt.ledger.used[DIT_MEMORY_ACTIVATIONS];
    stop(&f);
    return used;
}

static void expect_bounded(const char *text, extents small, extents large)
{
    int64_t small_output, large_output, whole_output;
    int64_t before = activations_of(text, small, true, &small_output);
    int64_t after = activations_of(text, large, true, &large_output);
    int64_t whole = activations_of(text, large, false, &whole_output);
    assert_true(large_output > 7 * small_output);
    assert_true(after - before < large_output - small_output); /* not more than the output itself grows */
    assert_true(whole - before > 2 * (large_output - small_output));
}

static void tiles_bound_the_memory_and_nothing_is_allocated(void **state)
{
    (void)state;
    expect_bounded(kl_text, (extents){4, 1, 12, 12}, (extents){4, 1, 48, 32});
    expect_bounded(cog_text, (extents){4, 3, 14, 12}, (extents){4, 3, 56, 24});
}

/* Longer clips take no more memory: they are decoded chunk by chunk, or tile by tile in time. */
static void time_bounds_the_memory(void **state)
{
    (void)state;
    for (int i = 0; i < CLIP_TEXTS; i++) {
        int64_t output, shorter = activations_of(clip_texts[i], (extents){4, 6, 5, 4}, false, &output);
        assert_int_equal(activations_of(clip_texts[i], (extents){4, 12, 5, 4}, false, &output), shorter);
    }
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static void frames_of_a_picture_vae_are_pictures_of_their_own(void **state)
{
    extents clip = {4, 3, 5, 6}, picture = {4, 1, 5, 6}, clip_size, size;
    float *latents = draw(size_of(clip)), *image = decode_whole(kl_text, latents, clip, &clip_size);
    (void)state;
    for (int64_t frame = 0; frame < 3; frame++) {
        float *one = floats(size_of(picture));
        for (int64_t c = 0; c < 4; c++) memcpy(one + c * 30, latents + (c * 3 + frame) * 30, 30 * sizeof *one);
        float *alone = decode_whole(kl_text, one, picture, &size);
        int64_t plane = size.height * size.width;
        for (int64_t c = 0; c < 3; c++)
            assert_memory_equal(alone + c * plane, image + (c * 3 + frame) * plane, (size_t)plane * sizeof *image);
        free(one);
        free(alone);
    }
    free(latents);
    free(image);
}

/* Latent frame 3 of 0 to 4 changes frames from `first` on, and none before. */
static void expect_causal(const char *text, int64_t frames, int64_t first)
{
    extents e = {4, 5, 4, 3}, size;
    float *latents = draw(size_of(e)), *before = decode_whole(text, latents, e, &size);
    assert_int_equal(size.frames, frames);
    for (int64_t c = 0; c < 4; c++) latents[(c * 5 + 3) * 12 + 7] += 1;
    float *after = decode_whole(text, latents, e, &size);
    int64_t frame = size.height * size.width;
    for (int64_t plane = 0; plane < 3 * frames; plane++) {
        bool same = memcmp(before + plane * frame, after + plane * frame, (size_t)frame * sizeof *before) == 0;
        assert_int_equal(same, plane % frames < first);
    }
    free(latents);
    free(before);
    free(after);
}

/* Causal: later latents change nothing in the frames of earlier chunks. */
static void a_chunk_does_not_see_the_next(void **state)
{
    (void)state;
    expect_causal(cog_text, 9, 5); /* the first of five takes three */
    expect_causal(wan_text, 17, 9);
    expect_causal(mochi_text, 9, 5);
    expect_causal(hunyuan15_text, 9, 5);
}

/* Nor in the latents of earlier chunks when a clip is encoded: what follows it may as well be missing. */
static void a_longer_clip_begins_with_the_latents_of_a_shorter_one(void **state)
{
    enum { HEIGHT = 3, WIDTH = 2, CELLS = HEIGHT * WIDTH, PIXELS = 16 * CELLS };
    float *clip = draw(3 * 13 * PIXELS), *mean[2], *logvar[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        fixture f;
        int64_t latents = i ? 2 : 4, frames = 4 * latents - 3;
        start(&f, wan_text);
        dit_vae_params params = params_of(&f, latents, HEIGHT, WIDTH);
        params.encoder = true;
        assert_ok(dit_vae_create(&params, &f.vae));
        if (i)
            for (int64_t c = 1; c < 3; c++)
                memmove(clip + c * frames * PIXELS, clip + c * 13 * PIXELS, (size_t)(frames * PIXELS) * sizeof *clip);
        mean[i] = floats(4 * latents * CELLS), logvar[i] = floats(4 * latents * CELLS);
        assert_ok(dit_vae_encode(f.vae, clip, mean[i], logvar[i]));
        stop(&f);
    }
    for (int64_t c = 0; c < 4; c++) {
        assert_memory_equal(mean[0] + c * 4 * CELLS, mean[1] + c * 2 * CELLS, 2 * CELLS * sizeof(float));
        assert_memory_equal(logvar[0] + c * 4 * CELLS, logvar[1] + c * 2 * CELLS, 2 * CELLS * sizeof(float));
    }
    for (int i = 0; i < 2; i++) {
        free(mean[i]);
        free(logvar[i]);
    }
    free(clip);
}

static void expect_same_bits_twice(const char *text)
{
    fixture f;
    extents e = {4, 6, 4, 3};
    float *latents = draw(size_of(e));
    start(&f, text);
    dit_vae_params params = params_of(&f, e.frames, e.height, e.width);
    assert_int_equal(dit_vae_create(&params, &f.vae), DIT_OK);
    int64_t count = size_of(picture_of(dit_vae_get_facts(f.vae), e));
    float *once = floats(count), *twice = floats(count);
    assert_int_equal(dit_vae_decode(f.vae, latents, once), DIT_OK);
    assert_int_equal(dit_vae_decode(f.vae, latents, twice), DIT_OK);
    assert_memory_equal(once, twice, (size_t)count * sizeof *once);
    free(latents);
    free(once);
    free(twice);
    stop(&f);
}

/* The chunks of a clip do not remember the clip before. */
static void decoding_twice_gives_the_same_bits(void **state)
{
    (void)state;
    for (int i = 0; i < CLIP_TEXTS; i++) expect_same_bits_twice(clip_texts[i]);
    expect_same_bits_twice(hunyuan15_text);
    expect_same_bits_twice(denoising_text); /* its noise begins anew */
}

static void latent_frames_decode_to_the_librarys_number_of_frames(void **state)
{
    dit_vae_facts facts = {.temporal = 4};
    (void)state;
    assert_int_equal(dit_vae_output_frames(&facts, 1), 1);
    assert_int_equal(dit_vae_output_frames(&facts, 2), 8);
    assert_int_equal(dit_vae_output_frames(&facts, 5), 17);
    assert_int_equal(dit_vae_output_frames(&facts, 13), 49);
    facts.temporal = 1;
    assert_int_equal(dit_vae_output_frames(&facts, 16), 16);
    assert_int_equal(dit_vae_output_frames(&facts, 3), 3);
    facts.temporal = 4, facts.one_first = true;
    assert_int_equal(dit_vae_output_frames(&facts, 2), 5);
    assert_int_equal(dit_vae_output_frames(&facts, 21), 81);
}

/* The sampler's latents are unit normals; each channel gets its own mean and deviation, where the config has them. */
static void latents_are_scaled_as_the_config_says(void **state)
{
    dit_vae_facts facts = {.latent_channels = 2, .scaling_factor = 0.5, .shift_factor = 1};
    float latents[4] = {1, 2, 3, 4};
    (void)state;
    assert_ok(dit_vae_scale(&facts, 2, latents));
    assert_near(latents[0], 3, 0);
    assert_near(latents[3], 9, 0);
    facts.statistics = 2;
    facts.latents_mean[0] = -1, facts.latents_mean[1] = 10, facts.latents_std[0] = 2, facts.latents_std[1] = 0.5;
    assert_ok(dit_vae_scale(&facts, 2, latents));
    assert_near(latents[0], 5, 0);
    assert_near(latents[3], 14.5, 0);
    facts.statistics = 3;
    assert_int_equal(dit_vae_scale(&facts, 2, latents), DIT_ERR_SHAPE);
}

/* Flops of one decode on `kernels`. */
static dit_flops flops_of(const char *text, extents e, const dit_kernels *kernels, bool counting, bool tiling)
{
    fixture f;
    start(&f, text);
    f.rt.kernels = kernels;
    f.rt.ledger.counting_only = counting;
    dit_vae_params params = params_of(&f, e.frames, e.height, e.width);
    params.tiling = tiling;
    assert_int_equal(dit_vae_create(&params, &f.vae), DIT_OK);
    float *latents = draw(size_of(e)), *image = floats(size_of(picture_of(dit_vae_get_facts(f.vae), e)));
    assert_int_equal(dit_vae_decode(f.vae, latents, image), DIT_OK);
    dit_flops flops = f.rt.flops;
    free(latents);
    free(image);
    stop(&f);
    return flops;
}

static void counting_without_computing_counts_the_same(void **state)
{
    const dit_kernels *cpu;
    (void)state;
    assert_int_equal(dit_kernels_get("cpu", &cpu), DIT_OK);
    for (int i = 0; i < 2 * (CLIP_TEXTS + 2); i++) {
        const char *const others[2] = {kl_text, hunyuan15_text};
        const char *text = i / 2 < CLIP_TEXTS ? clip_texts[i / 2] : others[i / 2 - CLIP_TEXTS];
        extents e = {4, 3, 13, 12};
        dit_flops computed = flops_of(text, e, cpu, false, i % 2), counted;
        counted = flops_of(text, e, dit_kernels_counting(), true, i % 2);
        assert_true(computed.convolution > 0 && computed.linear > 0);
        assert_memory_equal(&computed, &counted, sizeof computed);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void expect_refused(dit_status expected, const char *class_name, const char *more)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"_class_name\": \"%s\", \"norm_num_groups\": 4, \"block_out_channels\": [8, 16], %s}", class_name,
             more);
    assert_int_equal(try_create(text, 1, 4, 4, false), expected);
}

static void what_would_change_the_numbers_is_refused(void **state)
{
    const char *const both[] = {"AutoencoderKL", "AutoencoderKLCogVideoX"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        expect_refused(DIT_OK, both[i], "\"act_fn\": \"silu\", \"temporal_compression_ratio\": 2");
        expect_refused(DIT_ERR_UNSUPPORTED, both[i], "\"act_fn\": \"gelu\", \"temporal_compression_ratio\": 2");
        expect_refused(DIT_ERR_UNSUPPORTED, both[i], "\"latents_mean\": [1, 2], \"temporal_compression_ratio\": 2");
        expect_refused(DIT_ERR_UNSUPPORTED, both[i],
                       "\"up_block_types\": [\"AttnUpDecoderBlock2D\"], \"temporal_compression_ratio\": 2");
    }
    assert_int_equal(try_create("{\"_class_name\": \"AutoencoderKL\", \"block_out_channels\": [8192]}", 1, 4, 4, false),
                     DIT_ERR_UNSUPPORTED); /* attention as wide */
    expect_refused(DIT_OK, "AutoencoderKLFlux2", "\"patch_size\": [2, 2], \"decoder_block_out_channels\": null");
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderKLFlux2", "\"patch_size\": [1, 1]");
    expect_refused(DIT_OK, "AutoencoderKLQwenImage", "\"base_dim\": 4, \"input_channels\": 3");
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderKLQwenImage", "\"base_dim\": 4, \"input_channels\": 4");
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderKLFlux2", "\"decoder_block_out_channels\": [8, 8]");
    expect_refused(DIT_OK, "AutoencoderKLWan", "\"base_dim\": 4, \"dropout\": 0, \"is_residual\": false");
    expect_refused(DIT_OK, "AutoencoderKLWan", "\"base_dim\": 4, \"is_residual\": true");
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderKLWan", "\"attn_scales\": [1]");
    expect_refused(DIT_ERR_SHAPE, "AutoencoderKLWan", "\"patch_size\": 2, \"in_channels\": 12"); /* out_channels 3 */
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderKLWan", "\"attn_scales\": [1.0]");
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderKLWan", "\"base_dim\": 1024");
    expect_refused(DIT_ERR_JSON_VALUE, "AutoencoderKLWan", "\"temperal_downsample\": [true]");
    expect_refused(DIT_ERR_JSON_VALUE, "AutoencoderKLWan", "\"temperal_downsample\": [1, 0, 1]");
    expect_refused(DIT_ERR_JSON_VALUE, "AutoencoderKLWan", "\"dim_mult\": [1, 0.5, 2, 2]");
    expect_refused(DIT_ERR_SHAPE, "AutoencoderKLWan", "\"dim_mult\": []");
    expect_refused(DIT_ERR_JSON_VALUE, "AutoencoderKLWan", "\"latents_mean\": [0, 1]");
    expect_refused(DIT_ERR_JSON_VALUE, "AutoencoderKLWan", "\"latents_std\": [\"1\"]");
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderKLHunyuanVideo", "\"act_fn\": \"silu\""); /* two stages */
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderKLLTXVideo", "\"patch_size_t\": 2");
    expect_refused(DIT_ERR_SHAPE, "AutoencoderKLLTXVideo", "\"spatial_compression_ratio\": 16");
    expect_refused(DIT_ERR_SHAPE, "AutoencoderKLLTXVideo", "\"upsample_factor\": [1, 1, 1, 2]");
    expect_refused(DIT_ERR_JSON_VALUE, "AutoencoderKLLTXVideo", "\"upsample_residual\": [true, true, true]");
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderKLLTXVideo", "\"timestep_conditioning\": true"); /* widths change */
    expect_refused(DIT_OK, "AutoencoderDC",
                   "\"latent_channels\": 4, \"attention_head_dim\": 4, \"decoder_block_types\": [\"ResBlock\", "
                   "\"EfficientViTBlock\"],"
                   "\"decoder_block_out_channels\": [4, 8], \"decoder_layers_per_block\": [1, 1]");
    expect_refused(DIT_ERR_SHAPE, "AutoencoderDC", "\"decoder_block_out_channels\": [4, 8]");
    expect_refused(DIT_ERR_SHAPE, "AutoencoderDC", /* heads of 32 */
                   "\"decoder_block_types\": \"EfficientViTBlock\", \"decoder_block_out_channels\": [4],"
                   "\"decoder_layers_per_block\": [1]");
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderDC", "\"decoder_block_types\": \"AttnBlock\"");
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderDC", "\"decoder_norm_types\": \"batch_norm\"");
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderDC", "\"upsample_block_type\": \"bilinear\"");
    expect_refused(DIT_ERR_JSON_VALUE, "AutoencoderDC", "\"decoder_layers_per_block\": [0, 3, 3, 3, 3, 3]");
    expect_refused(DIT_OK, "AutoencoderKLMochi",
                   "\"decoder_block_out_channels\": [32, 32], \"layers_per_block\": [1, 0, 1], \"act_fn\": \"silu\","
                   "\"temporal_expansions\": [2], \"spatial_expansions\": [2]");
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderKLMochi", "\"spatial_expansions\": [2, 2, 4]");
    expect_refused(DIT_ERR_JSON_VALUE, "AutoencoderKLMochi", "\"temporal_expansions\": [2, 3]");
    expect_refused(DIT_ERR_SHAPE, "AutoencoderKLMochi", "\"decoder_block_out_channels\": [16, 32, 32, 32]");
    expect_refused(DIT_OK, "AutoencoderKLHunyuanVideo15",
                   "\"latent_channels\": 4, \"spatial_compression_ratio\": 2, \"temporal_compression_ratio\": 2");
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderKLHunyuanVideo15", "\"latent_channels\": 4"); /* two stages */
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderKLHunyuanVideo15",
                   "\"latent_channels\": 4, \"spatial_compression_ratio\": 2"); /* four frames in one doubling */
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderKLHunyuanVideo15",
                   "\"spatial_compression_ratio\": 1, \"temporal_compression_ratio\": 3");
    expect_refused(DIT_ERR_SHAPE, "AutoencoderKLHunyuanVideo15",
                   "\"latent_channels\": 3, \"spatial_compression_ratio\": 2, \"temporal_compression_ratio\": 2");
    assert_int_equal(
        try_create("{\"_class_name\": \"AutoencoderKLHunyuanVideo15\", \"block_out_channels\": [1, 8],"
                   "\"latent_channels\": 4, \"spatial_compression_ratio\": 2, \"temporal_compression_ratio\": 2}",
                   1, 4, 4, false),
        DIT_ERR_SHAPE); /* eight channels give one place each, of which half is too little */
    assert_int_equal(try_create(mochi_text, 1, 4, 4, true), DIT_ERR_UNSUPPORTED); /* its encoder is not built */
    assert_int_equal(try_create(hunyuan_text, 1, 4, 4, true), DIT_OK);
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderKLMagvit", "\"act_fn\": \"silu\"");
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderKLCogVideoX", "\"temporal_compression_ratio\": 3");
    expect_refused(DIT_ERR_UNSUPPORTED, "AutoencoderKLCogVideoX", "\"temporal_compression_ratio\": 4");
    assert_int_equal(try_create("{\"_class_name\": \"AutoencoderKL\", \"block_out_channels\": [6, 8]}", 1, 4, 4, false),
                     DIT_ERR_SHAPE);
    assert_int_equal(try_create("{\"_class_name\": \"AutoencoderKL\", \"block_out_channels\": []}", 1, 4, 4, false),
                     DIT_ERR_SHAPE);
    assert_int_equal(try_create(kl_text, 0, 4, 4, false), DIT_ERR_SHAPE);
    assert_int_equal(try_create(cog_text, 1, 4, 4, true), DIT_OK);
}

static void an_encoder_must_be_asked_for(void **state)
{
    fixture f;
    float image[3 * 16 * 16] = {0}, mean[4 * 16], logvar[4 * 16];
    (void)state;
    start(&f, kl_text);
    dit_vae_params params = params_of(&f, 1, 4, 4);
    assert_int_equal(dit_vae_create(&params, &f.vae), DIT_OK);
    assert_int_equal(dit_vae_encode(f.vae, image, mean, logvar), DIT_ERR_UNSUPPORTED);
    dit_vae_free(f.vae);
    params.encoder = true;
    assert_int_equal(dit_vae_create(&params, &f.vae), DIT_OK);
    assert_int_equal(dit_vae_encode(f.vae, image, mean, logvar), DIT_OK);
    for (int i = 0; i < 64; i++) assert_true(isfinite(mean[i]) && isfinite(logvar[i]));
    stop(&f);
}

static void tiles_that_cut_latents_are_refused(void **state)
{
    fixture f;
    (void)state;
    start(&f, kl_text);
    dit_vae_params params = params_of(&f, 1, 40, 40);
    params.tiling = true;
    params.tile_height_px = 36; /* nine latents: a quarter is no whole number of them */
    assert_int_equal(dit_vae_create(&params, &f.vae), DIT_ERR_SHAPE);
    params.tile_height_px = 48;
    assert_int_equal(dit_vae_create(&params, &f.vae), DIT_OK);
    stop(&f);
}

static void memory_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    for (int64_t limit = 1 << 10; limit < 1 << 21; limit *= 2) {
        fixture f;
        start(&f, kl_text);
        dit_vae_params params = params_of(&f, 1, 24, 24);
        params.tiling = true;
        f.rt.ledger.limit = limit;
        dit_status st = dit_vae_create(&params, &f.vae);
        assert_true(st == DIT_OK || st == DIT_ERR_MEMORY);
        assert_true(limit > 1 << 14 || st == DIT_ERR_MEMORY);
        assert_true(st == DIT_OK || !f.vae);
        stop(&f);
    }
}

/* ---- the pixel codec --------------------------------------------------------------------------------------------- */

static const char codec_text[] = "{\"_class_name\": \"PixelShuffle\", \"block_size\": 2}";

/* Every value of a picture or clip arrives where the formula says, and comes back bit for bit. */
static void the_codec_moves_pixels_and_nothing_else(void **state)
{
    (void)state;
    enum { FRAMES = 3, HEIGHT = 5, WIDTH = 4, CELLS = FRAMES * HEIGHT * WIDTH, VALUES = 12 * CELLS };
    fixture f;
    float *image = draw(VALUES), *mean = floats(VALUES), *logvar = floats(VALUES), *back = floats(VALUES);
    start(&f, codec_text);
    dit_vae_params params = params_of(&f, FRAMES, HEIGHT, WIDTH);
    params.encoder = true;
    assert_ok(dit_vae_create(&params, &f.vae));
    assert_int_equal(dit_vae_get_facts(f.vae)->spatial, 2);
    assert_int_equal(dit_vae_get_facts(f.vae)->latent_channels, 12);
    assert_ok(dit_vae_encode(f.vae, image, mean, logvar));
    for (int c = 0; c < 3; c++)
        for (int t = 0; t < FRAMES; t++)
            for (int y = 0; y < 2 * HEIGHT; y++)
                for (int x = 0; x < 2 * WIDTH; x++) {
                    int channel = c * 4 + y % 2 * 2 + x % 2;
                    int cell = ((channel * FRAMES + t) * HEIGHT + y / 2) * WIDTH + x / 2;
                    int pixel = ((c * FRAMES + t) * 2 * HEIGHT + y) * 2 * WIDTH + x;
                    assert_memory_equal(&mean[cell], &image[pixel], sizeof *image);
                }
    for (int i = 0; i < VALUES; i++) assert_near(logvar[i], -30, 0);
    assert_ok(dit_vae_decode(f.vae, mean, back));
    assert_memory_equal(back, image, VALUES * sizeof *image);
    stop(&f);
    free(image);
    free(mean);
    free(logvar);
    free(back);
}

static void tiling_changes_nothing_in_the_codec(void **state)
{
    (void)state;
    fixture f;
    start(&f, codec_text);
    dit_vae_params params = params_of(&f, 1, 600, 8);
    params.tiling = true;
    assert_ok(dit_vae_create(&params, &f.vae));
    assert_false(dit_vae_is_tiled(f.vae));
    stop(&f);
}

static void configs_that_are_no_codec_are_refused(void **state)
{
    (void)state;
    assert_int_equal(try_create("{\"_class_name\": \"PixelShuffle\", \"block_size\": 3}", 1, 4, 4, false),
                     DIT_ERR_UNSUPPORTED);
    assert_contains(dit_error_last()->message, "block_size 3");
    assert_int_equal(try_create("{\"_class_name\": \"PixelShuffle\", \"latent_channels\": 4}", 1, 4, 4, false),
                     DIT_ERR_SHAPE);
    assert_contains(dit_error_last()->message, "2 x 2 pixels have 12 values");
    assert_int_equal(try_create("{\"_class_name\": \"PixelShuffle\", \"scaling_factor\": 0}", 1, 4, 4, false),
                     DIT_ERR_JSON_VALUE);
    assert_int_equal(try_create("{\"_class_name\": \"PixelShuffle\", \"block_size\": 8}", 1, 4, 4, true), DIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_of_pictures_are_the_librarys),
        cmocka_unit_test(tiles_of_clips_are_the_librarys),
        cmocka_unit_test(tiles_of_wan_begin_without_a_memory),
        cmocka_unit_test(latents_of_one_tile_are_decoded_whole),
        cmocka_unit_test(tiles_bound_the_memory_and_nothing_is_allocated),
        cmocka_unit_test(time_bounds_the_memory),
        cmocka_unit_test(frames_of_a_picture_vae_are_pictures_of_their_own),
        cmocka_unit_test(a_chunk_does_not_see_the_next),
        cmocka_unit_test(a_longer_clip_begins_with_the_latents_of_a_shorter_one),
        cmocka_unit_test(decoding_twice_gives_the_same_bits),
        cmocka_unit_test(latent_frames_decode_to_the_librarys_number_of_frames),
        cmocka_unit_test(latents_are_scaled_as_the_config_says),
        cmocka_unit_test(counting_without_computing_counts_the_same),
        cmocka_unit_test(what_would_change_the_numbers_is_refused),
        cmocka_unit_test(an_encoder_must_be_asked_for),
        cmocka_unit_test(tiles_that_cut_latents_are_refused),
        cmocka_unit_test(memory_that_is_not_there_is_an_error),
        cmocka_unit_test(the_codec_moves_pixels_and_nothing_else),
        cmocka_unit_test(tiling_changes_nothing_in_the_codec),
        cmocka_unit_test(configs_that_are_no_codec_are_refused),
    };
    return RUN_ON_EACH_ISA(tests, NULL, NULL);
}
