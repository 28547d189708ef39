/* Rows: shares, what is legal, and the closed form of a decode against sums written out by hand. */
#include "base/chunks.h"
#include "base/label.h"
#include "base/legality.h"
#include "base/mesh.h"
#include "base/shared_decode.h"

#include "base/tests/test.h"

static dit_rows_facts facts_of(const char *config, int64_t height_px, int64_t width_px, int64_t frames)
{
    char text[512];
    dit_json doc;
    dit_rows_facts facts;
    snprintf(text, sizeof text, "{\"config\": {%s}}", config);
    assert_int_equal(dit_json_parse(text, strlen(text), "test", &doc), DIT_OK);
    assert_int_equal(dit_rows_read(&doc, doc.root, "", &facts), DIT_OK);
    dit_json_release(&doc);
    dit_rows_resize(&facts, height_px, width_px, frames, 1);
    return facts;
}

static const char picture[] = "\"_class_name\": \"AutoencoderKL\", \"block_out_channels\": [8, 16],"
                              "\"norm_num_groups\": 4, \"layers_per_block\": 1, \"latent_channels\": 4";
static const char clip[] = "\"_class_name\": \"AutoencoderKLCogVideoX\", \"block_out_channels\": [8, 16],"
                           "\"norm_num_groups\": 4, \"layers_per_block\": 1, \"latent_channels\": 4,"
                           "\"temporal_compression_ratio\": 2";

static const char wan[] = "\"_class_name\": \"AutoencoderKLWan\", \"base_dim\": 8, \"dim_mult\": [1, 2, 3],"
                          "\"num_res_blocks\": 1, \"temperal_downsample\": [false, true], \"z_dim\": 4";
static const char hunyuan[] = "\"_class_name\": \"AutoencoderKLHunyuanVideo\", \"block_out_channels\": [4, 8, 8, 16],"
                              "\"norm_num_groups\": 4, \"layers_per_block\": 1";
static const char ltx[] = "\"_class_name\": \"AutoencoderKLLTXVideo\", \"decoder_block_out_channels\": [4, 8],"
                          "\"decoder_layers_per_block\": [1, 1, 2], \"decoder_spatio_temporal_scaling\": [true, true],"
                          "\"latent_channels\": 3, \"patch_size\": 2";
static const char mochi[] = "\"_class_name\": \"AutoencoderKLMochi\", \"decoder_block_out_channels\": [32, 64],"
                            "\"layers_per_block\": [1, 0, 2], \"temporal_expansions\": [3], \"latent_channels\": 4";
static const char hunyuan15[] = "\"_class_name\": \"AutoencoderKLHunyuanVideo15\", \"block_out_channels\": [4, 8, 16],"
                                "\"layers_per_block\": 1, \"latent_channels\": 4, \"spatial_compression_ratio\": 4,"
                                "\"temporal_compression_ratio\": 2";
static const char codec[] = "\"_class_name\": \"PixelShuffle\"";

static dit_volume volume_of(const dit_rows_facts *facts, int degree, int rank, dit_collective collective)
{
    dit_volume_table table;
    dit_shared_decode_predict(facts, degree, rank, &table);
    return table.at[DIT_AXIS_WORLD][collective][DIT_PHASE_DECODE];
}

static void shares_follow_each_other_and_nobody_has_none(void **state)
{
    (void)state;
    for (int degree = 1; degree <= 9; degree++)
        for (int64_t rows = degree; rows <= 40; rows++) {
            int64_t next = 0, first;
            for (int rank = 0; rank < degree; rank++) {
                int64_t share = dit_rows_share(rows, degree, rank, &first);
                assert_int_equal(first, next);
                assert_in_range(share, rows / degree, (rows + degree - 1) / degree);
                assert_true(share >= 1);
                next = first + share;
            }
            assert_int_equal(next, rows);
        }
}

/* Two stages of two residual blocks; latents 5 x 3, doubled once. Before the cut nothing is sent. */
static void a_picture_sends_one_row_a_convolution(void **state)
{
    dit_rows_facts facts = facts_of(picture, 10, 6, 1);
    (void)state;
    assert_int_equal(facts.height, 5);
    assert_int_equal(facts.width, 3);
    /* at width 3: 16 channels into four convolutions of blocks and the upsampling one; at width 6: 16, then 8 into
     * three of the blocks and the last */
    int64_t row_floats = 3 * 16 * 5 + 6 * (16 + 8 * 3) + 6 * 8;
    for (int rank = 0; rank < 3; rank++) {
        int64_t neighbours = rank == 1 ? 2 : 1, rows = rank == 2 ? 1 : 2;
        dit_volume edges = volume_of(&facts, 3, rank, DIT_COLLECTIVE_SEND_RECV);
        dit_volume moments = volume_of(&facts, 3, rank, DIT_COLLECTIVE_ALL_REDUCE);
        dit_volume gathered = volume_of(&facts, 3, rank, DIT_COLLECTIVE_ALL_GATHER);
        assert_int_equal(edges.bytes, neighbours * row_floats * 4);
        assert_int_equal(edges.messages, neighbours * 10);
        assert_int_equal(moments.messages, 2 * 9); /* two norms in each of four blocks, and the last */
        assert_int_equal(moments.bytes, 2 * 9 * (2 * 4 + 1) * 8);
        assert_int_equal(gathered.messages, 2 * 3);
        assert_int_equal(gathered.bytes, 2 * 3 * rows * 2 * 6 * 4);
    }
    assert_int_equal(volume_of(&facts, 1, 0, DIT_COLLECTIVE_SEND_RECV).bytes, 0);
}

/* Closed form: 2 C w e an inner boundary and convolution, so all ranks together send that N - 1 times. */
static void all_ranks_together_send_two_rows_a_boundary(void **state)
{
    (void)state;
    for (int degree = 2; degree <= 7; degree++) {
        dit_rows_facts facts = facts_of(picture, 46, 12, 1);
        int64_t total = 0, two = 2 * volume_of(&facts, 2, 0, DIT_COLLECTIVE_SEND_RECV).bytes;
        for (int rank = 0; rank < degree; rank++)
            total += volume_of(&facts, degree, rank, DIT_COLLECTIVE_SEND_RECV).bytes;
        assert_int_equal(total, two * (degree - 1));
    }
}

/* Five latent frames are chunks of three and two; time doubles once: 5 + 4 frames come out. */
static void a_clip_is_cut_from_its_first_convolution_and_by_chunks(void **state)
{
    dit_rows_facts facts = facts_of(clip, 8, 4, 9);
    (void)state;
    assert_int_equal(facts.frames, 5);
    assert_int_equal(facts.width, 2);
    int64_t before = 2 * (4 + 16 * 4 + 16 * 5),
            after = 4 * (16 + 8 * 3 + 8); /* floats a frame: the one width, the next */
    dit_volume edges = volume_of(&facts, 2, 1, DIT_COLLECTIVE_SEND_RECV);
    assert_int_equal(edges.bytes, 4 * ((3 + 2) * before + (5 + 4) * after));
    assert_int_equal(edges.messages, 2 * (1 + 4 + 5 + 5));
    assert_int_equal(volume_of(&facts, 2, 1, DIT_COLLECTIVE_ALL_REDUCE).messages, 2 * (4 + 8 + 1));
    assert_int_equal(volume_of(&facts, 2, 1, DIT_COLLECTIVE_ALL_GATHER).messages, 3 * 9);
    facts.pictures = 3;
    assert_int_equal(volume_of(&facts, 2, 1, DIT_COLLECTIVE_SEND_RECV).bytes, 3 * edges.bytes);
}

/* Three latent frames, one after the other: the first gives one frame, each other one two, as the first stage doubles them
 * before its convolution in space. Upsampling halves the channels. Norms send nothing. */
static void a_clip_of_wan_sends_rows_only(void **state)
{
    dit_rows_facts facts = facts_of(wan, 8, 4, 5);
    (void)state;
    assert_int_equal(facts.frames, 3);
    assert_int_equal(facts.height, 2);
    int64_t coarse = 1 * 24 * 4, doubled = 1 * 24 + 2 * (12 + 16 * 3) + 2 * 16 + 4 * (8 * 4) + 4 * 8;
    dit_volume edges = volume_of(&facts, 2, 1, DIT_COLLECTIVE_SEND_RECV);
    assert_int_equal(edges.bytes, 4 * (3 * coarse + 5 * doubled));
    assert_int_equal(edges.messages, 3 * (5 + 5 + 4 + 1));
    assert_int_equal(volume_of(&facts, 2, 1, DIT_COLLECTIVE_ALL_REDUCE).messages, 0);
    assert_int_equal(volume_of(&facts, 2, 1, DIT_COLLECTIVE_ALL_REDUCE).bytes, 0);
    assert_int_equal(volume_of(&facts, 2, 1, DIT_COLLECTIVE_ALL_GATHER).messages, 3 * 5);
}

/* Six latent frames are tiles of five and three. Stage 0 doubles space only, stages 1 and 2 time before it. */
static void a_clip_of_hunyuan_video_is_cut_into_tiles_in_time(void **state)
{
    dit_rows_facts facts = facts_of(hunyuan, 32, 16, 21);
    (void)state;
    assert_int_equal(facts.frames, 6);
    assert_int_equal(facts.width, 2);
    int64_t single = 2 * 16 * 4 + 2 * 16 + 4 * (16 + 8 * 3), once = 4 * 8 + 8 * (8 * 4),
            twice = 8 * 8 + 16 * (8 + 4 * 3 + 4);
    dit_volume edges = volume_of(&facts, 2, 0, DIT_COLLECTIVE_SEND_RECV);
    assert_int_equal(edges.bytes, 4 * ((5 + 3) * single + (9 + 5) * once + (17 + 9) * twice));
    assert_int_equal(edges.messages, 2 * (3 * 5 + 4 + 1));
    assert_int_equal(volume_of(&facts, 2, 0, DIT_COLLECTIVE_ALL_REDUCE).messages, 2 * (4 * 4 + 1));
    assert_int_equal(volume_of(&facts, 2, 0, DIT_COLLECTIVE_ALL_GATHER).messages, 3 * 21);
    facts = facts_of(hunyuan, 32, 16, 13); /* four are one tile */
    assert_int_equal(volume_of(&facts, 2, 0, DIT_COLLECTIVE_ALL_REDUCE).messages, 4 * 4 + 1);
    assert_int_equal(dit_rows_hunyuan_tile(7, 0), 5);
    assert_int_equal(dit_rows_hunyuan_tile(7, 3), 4);
    assert_int_equal(dit_rows_hunyuan_tile(7, 6), 0);
}

static void what_cannot_be_shared_is_refused(void **state)
{
    dit_rows_facts facts = facts_of(picture, 8, 8, 1);
    (void)state;
    assert_int_equal(dit_shared_decode_check(4, &facts), DIT_OK);
    assert_int_equal(dit_shared_decode_check(5, &facts), DIT_ERR_CONSTRAINT_DEGREE);
    assert_non_null(strstr(dit_error_last()->message, "4 rows"));
    facts.tiling = true;
    assert_int_equal(dit_shared_decode_check(1, &facts), DIT_OK);
    assert_int_equal(dit_shared_decode_check(2, &facts), DIT_ERR_UNSUPPORTED);
}

/* Latents 4 x 2 in two frames. A middle of two residual blocks of 8 channels; the first stage becomes three frames of width 4;
 * the second leads 8 channels to 4 and becomes five frames of width 8. Norms send nothing. */
static void a_clip_of_ltx_video_is_cut_from_its_first_convolution(void **state)
{
    dit_rows_facts facts = facts_of(ltx, 32, 16, 5);
    (void)state;
    assert_int_equal(facts.frames, 2);
    assert_int_equal(facts.height, 4);
    assert_int_equal(facts.temporal, 4);
    int64_t coarse = 2 * 2 * (3 + 4 * 8 + 8), middle = 3 * 4 * (2 * 8 + 8 + 4 + 4), fine = 5 * 8 * (2 * 4 + 4);
    dit_volume edges = volume_of(&facts, 2, 0, DIT_COLLECTIVE_SEND_RECV);
    assert_int_equal(edges.bytes, 4 * (coarse + middle + fine));
    assert_int_equal(edges.messages, 1 + 4 + 1 + 2 + 2 + 1 + 2 + 1);
    assert_int_equal(volume_of(&facts, 2, 0, DIT_COLLECTIVE_ALL_REDUCE).messages, 0);
    dit_volume image = volume_of(&facts, 2, 0, DIT_COLLECTIVE_ALL_GATHER);
    assert_int_equal(image.messages, 3 * 5);
    assert_int_equal(image.bytes, 3 * 5 * (2 * 8) * 16 * 4);
    assert_int_equal(dit_shared_decode_check(5, &facts), DIT_ERR_CONSTRAINT_DEGREE);
}

/* Latents 4 x 2 in four frames, two chunks of two. Two residual blocks of 64 channels, then one of 32 over six frames of width 4.
 * Every frame of a norm has moments of its own. By frames, the first chunk passes on two frames a convolution. */
static void a_clip_of_mochi_reduces_moments_of_each_frame(void **state)
{
    dit_rows_facts facts = facts_of(mochi, 8, 4, 10);
    (void)state;
    assert_int_equal(facts.frames, 4);
    dit_volume edges = volume_of(&facts, 2, 1, DIT_COLLECTIVE_SEND_RECV);
    assert_int_equal(edges.bytes, 4 * 2 * (4 * 2 * 2 * 64 + 2 * 6 * 4 * 32));
    assert_int_equal(edges.messages, 2 * 6);
    dit_volume moments = volume_of(&facts, 2, 1, DIT_COLLECTIVE_ALL_REDUCE);
    assert_int_equal(moments.messages, 2 * 6);
    assert_int_equal(moments.bytes, 8 * 2 * (4 * (2 * 32 * 2 + 1) + 2 * (2 * 32 * 6 + 1)));
    assert_int_equal(volume_of(&facts, 2, 1, DIT_COLLECTIVE_ALL_GATHER).messages, 3 * 10);
    facts.split = DIT_SPLIT_FRAMES;
    assert_int_equal(dit_chunk_frames(&facts, 0), 4);
    assert_int_equal(dit_chunk_frames(&facts, 2), 6);
    edges = volume_of(&facts, 2, 0, DIT_COLLECTIVE_SEND_RECV);
    assert_int_equal(edges.messages, 6);
    assert_int_equal(edges.bytes, 4 * 2 * (4 * 8 * 64 + 2 * 32 * 32));
    assert_int_equal(volume_of(&facts, 2, 1, DIT_COLLECTIVE_SEND_RECV).messages, 0);
    assert_int_equal(volume_of(&facts, 2, 1, DIT_COLLECTIVE_ALL_GATHER).bytes, 3 * 6 * (8 * 4) * 4);
}

/* Latents 2 x 1 in three frames, one a chunk behind the middle block. The first upsampling makes two frames of each but the first, and
 * both lead to the next stage's channels. By frames, a chunk passes on two frames a convolution, and nothing of the middle. */
static void a_clip_of_hunyuan_video_15_sends_what_follows_the_middle(void **state)
{
    enum { AREA = 2 * 1, KEPT = 2, FLOAT = 4 };
    dit_rows_facts facts = facts_of(hunyuan15, 8, 4, 5);
    (void)state;
    assert_int_equal(facts.frames, 3);
    assert_int_equal(facts.height, 2);
    int64_t coarse = 5 * 16, doubled = 2 * 5 * 8 + 4 * (4 * 4 + 4);
    dit_volume edges = volume_of(&facts, 2, 1, DIT_COLLECTIVE_SEND_RECV);
    assert_int_equal(edges.bytes, FLOAT * (3 * coarse + 5 * doubled));
    assert_int_equal(edges.messages, 3 * 15);
    assert_int_equal(volume_of(&facts, 2, 1, DIT_COLLECTIVE_ALL_REDUCE).messages, 0);
    assert_int_equal(volume_of(&facts, 2, 1, DIT_COLLECTIVE_ALL_GATHER).messages, 3 * 5);
    facts.split = DIT_SPLIT_FRAMES;
    assert_int_equal(dit_chunk_frames(&facts, 0), 1);
    assert_int_equal(dit_chunk_frames(&facts, 1), 2);
    for (int rank = 0; rank < 2; rank++) { /* the third chunk, which is rank 0's, has no next one */
        edges = volume_of(&facts, 2, rank, DIT_COLLECTIVE_SEND_RECV);
        assert_int_equal(edges.messages, 15);
        assert_int_equal(edges.bytes, FLOAT * KEPT * (AREA * 5 * 16 + 4 * AREA * 5 * 8 + 16 * AREA * 5 * 4));
    }
}

static dit_status read_text(const char *text)
{
    dit_json doc;
    dit_rows_facts facts;
    assert_int_equal(dit_json_parse(text, strlen(text), "test", &doc), DIT_OK);
    dit_status st = dit_rows_read(&doc, doc.root, "", &facts);
    dit_json_release(&doc);
    return st;
}

static void other_configs_are_refused(void **state)
{
    (void)state;
    assert_int_equal(read_text("{\"config\": {\"_class_name\": \"AutoencoderKLMagvit\"}}"), DIT_ERR_UNSUPPORTED);
    assert_int_equal(read_text("{\"config\": {\"_class_name\": \"AutoencoderKL\", \"block_out_channels\": []}}"),
                     DIT_ERR_JSON_VALUE);
    assert_int_equal(
        read_text("{\"config\": {\"_class_name\": \"AutoencoderKL\", \"block_out_channels\": [1,1,1,1,1,1,1,1,1]}}"),
        DIT_ERR_JSON_VALUE);
    assert_int_equal(read_text("{\"config\": {\"_class_name\": \"AutoencoderKL\", \"layers_per_block\": 0}}"),
                     DIT_ERR_JSON_VALUE);
    assert_int_equal(read_text("{\"config\": {\"_class_name\": \"AutoencoderKLWan\", \"dim_mult\": []}}"),
                     DIT_ERR_JSON_VALUE);
    assert_int_equal(read_text("{\"config\": {\"_class_name\": \"AutoencoderKLWan\", \"dim_mult\": [1, \"2\", 4, 4]}}"),
                     DIT_ERR_JSON_VALUE);
    assert_int_equal(
        read_text("{\"config\": {\"_class_name\": \"AutoencoderKLWan\", \"temperal_downsample\": [true]}}"),
        DIT_ERR_JSON_VALUE);
    assert_int_equal(read_text("{}"), DIT_ERR_JSON_MISSING);
}

/* ---- by frames --------------------------------------------------------------------------------------------------- */

static dit_rows_facts by_frames(const char *config, int64_t height_px, int64_t width_px, int64_t frames)
{
    dit_rows_facts facts = facts_of(config, height_px, width_px, frames);
    facts.split = DIT_SPLIT_FRAMES;
    return facts;
}

/* Latents 4 x 2 in five frames, one a chunk: chunks 0, 2 and 4 are rank 0's, 1 and 3 rank 1's. A convolution over time keeps
 * two frames. */
static void a_chunk_passes_on_what_convolutions_keep(void **state)
{
    enum { AREA = 4 * 2, KEPT = 2, FLOAT = 4 };
    dit_rows_facts facts = by_frames(wan, 16, 8, 9);
    (void)state;
    /* stages of 24, 16, 8 channels; the first doubles time and, like the second, space, and halves the channels */
    int64_t middle = 4 + 4 * 24;
    int64_t first = AREA * (2 + 2) * 24, second = 4 * AREA * (12 + 3 * 16), third = 16 * AREA * (8 + 3 * 8);
    int64_t floats = KEPT * (AREA * middle + first + second + third + 16 * AREA * 8), doubling = KEPT * AREA * 24;
    int convolutions = 1 + 4 + 3 * 4 + 1;
    dit_volume zero = volume_of(&facts, 2, 0, DIT_COLLECTIVE_SEND_RECV);
    dit_volume one = volume_of(&facts, 2, 1, DIT_COLLECTIVE_SEND_RECV);
    assert_int_equal(facts.frames, 5);
    assert_int_equal(zero.messages, 2 * convolutions + 1); /* the first chunk does not double time */
    assert_int_equal(zero.bytes, FLOAT * (2 * floats + doubling));
    assert_int_equal(one.messages, 2 * (convolutions + 1));
    assert_int_equal(one.bytes, FLOAT * 2 * (floats + doubling));
    /* three rounds of three colours; of nine frames the first chunk is one, others are two */
    zero = volume_of(&facts, 2, 0, DIT_COLLECTIVE_ALL_GATHER), one = volume_of(&facts, 2, 1, DIT_COLLECTIVE_ALL_GATHER);
    assert_int_equal(zero.messages, 3 * 3);
    assert_int_equal(zero.bytes, FLOAT * 3 * 16 * 8 * (1 + 2 + 2));
    assert_int_equal(one.messages, 3 * 3);
    assert_int_equal(one.bytes, FLOAT * 3 * 16 * 8 * (2 + 2));
    assert_int_equal(volume_of(&facts, 1, 0, DIT_COLLECTIVE_SEND_RECV).messages, 0);
    assert_int_equal(volume_of(&facts, 2, 0, DIT_COLLECTIVE_ALL_REDUCE).messages, 0);
}

/* Of an odd number of latent frames the first three are one chunk, of an even one each two. */
static void chunks_of_pairs_begin_with_three(void **state)
{
    dit_rows_facts odd = by_frames(clip, 8, 8, 9), even = by_frames(clip, 8, 8, 8);
    (void)state;
    assert_int_equal(odd.frames, 5);
    assert_int_equal(dit_chunks_count(DIT_ROWS_COGVIDEOX, 5), 2);
    assert_int_equal(dit_chunk_latents(DIT_ROWS_COGVIDEOX, 5, 0), 3);
    assert_int_equal(dit_chunk_latents(DIT_ROWS_COGVIDEOX, 5, 3), 2);
    assert_int_equal(dit_chunk_frames(&odd, 0) + dit_chunk_frames(&odd, 3), 9);
    assert_int_equal(dit_chunks_count(DIT_ROWS_COGVIDEOX, even.frames), 2);
    assert_int_equal(dit_chunk_frames(&even, 0) + dit_chunk_frames(&even, 2), 8);
    assert_int_equal(dit_chunk_latents(DIT_ROWS_COGVIDEOX, 1, 0), 1);
}

static void decoders_without_chunks_and_ranks_without_one_are_refused(void **state)
{
    dit_rows_facts still = by_frames(picture, 16, 16, 1), whole = by_frames(hunyuan, 64, 64, 17);
    dit_rows_facts short_clip = by_frames(wan, 16, 8, 5);
    (void)state;
    assert_int_equal(dit_shared_decode_check(1, &still), DIT_OK);
    assert_int_equal(dit_shared_decode_check(2, &still), DIT_ERR_UNSUPPORTED);
    assert_int_equal(dit_shared_decode_check(2, &whole), DIT_ERR_UNSUPPORTED);
    assert_int_equal(dit_shared_decode_check(3, &short_clip), DIT_OK);
    assert_int_equal(dit_shared_decode_check(4, &short_clip), DIT_ERR_CONSTRAINT_DEGREE);
    short_clip.tiling = true; /* every tile has all frames */
    assert_int_equal(dit_shared_decode_check(3, &short_clip), DIT_OK);
    assert_int_equal(read_text("{\"config\": {\"_class_name\": \"AutoencoderKLWan\"}, \"split\": \"frame\"}"),
                     DIT_ERR_JSON_VALUE);
}

/* ---- in a mesh --------------------------------------------------------------------------------------------------- */

static void ranks_that_share_rows_are_the_mesh_or_stand_alone(void **state)
{
    dit_parallel alone = {.rows_degree = 3}, with_mesh = {.degree = {[DIT_AXIS_ULYSSES] = 2}, .rows_degree = 2};
    dit_facts facts = {.image_tokens = 2, .num_images = 1, .guidance_branches = 1, .steps = 1};
    char label[64];
    int ranks[3];
    (void)state;
    assert_int_equal(dit_parallel_world_size(&alone), 3);
    assert_int_equal(dit_parallel_world_size(&with_mesh), 2);
    assert_int_equal(dit_parallel_check(&alone, &facts), DIT_OK);
    assert_int_equal(dit_parallel_check(&with_mesh, &facts), DIT_OK);
    dit_parallel_label(&alone, label);
    assert_string_equal(label, "rows3");
    dit_parallel_label(&with_mesh, label);
    assert_string_equal(label, "u2 rows2");
    assert_int_equal(dit_mesh_group(&alone, 1, DIT_AXIS_WORLD, ranks), 3);
    assert_int_equal(ranks[0] * 100 + ranks[1] * 10 + ranks[2], 12);
    assert_int_equal(dit_mesh_group(&alone, 2, DIT_AXIS_RING, ranks), 1); /* nobody shares an axis */
    assert_int_equal(ranks[0], 2);
    with_mesh.rows_degree = 3;
    assert_int_equal(dit_parallel_check(&with_mesh, &facts), DIT_ERR_CONSTRAINT_PRODUCT);
    facts.heads = 4; /* a model that denoises needs a mesh */
    assert_int_equal(dit_parallel_check(&alone, &facts), DIT_ERR_CONSTRAINT_PRODUCT);
}

/* 3 planes x 2 frames of 6 rows of cells, twice as many of pixels; nothing but the image is sent. */
static void a_codec_sends_the_image_only(void **state)
{
    (void)state;
    dit_rows_facts facts = facts_of(codec, 12, 10, 2);
    assert_int_equal(facts.height, 6);
    assert_int_equal(facts.latent_channels, 12);
    for (int rank = 0; rank < 4; rank++) {
        dit_volume gathered = volume_of(&facts, 4, rank, DIT_COLLECTIVE_ALL_GATHER);
        int64_t pixel_rows = rank < 2 ? 4 : 2;
        assert_int_equal(gathered.bytes, 3 * 3 * 2 * pixel_rows * 10 * 4);
        assert_int_equal(gathered.messages, 3 * 3 * 2);
        assert_int_equal(volume_of(&facts, 4, rank, DIT_COLLECTIVE_SEND_RECV).bytes, 0);
        assert_int_equal(volume_of(&facts, 4, rank, DIT_COLLECTIVE_ALL_REDUCE).bytes, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_follow_each_other_and_nobody_has_none),
        cmocka_unit_test(a_picture_sends_one_row_a_convolution),
        cmocka_unit_test(all_ranks_together_send_two_rows_a_boundary),
        cmocka_unit_test(a_clip_is_cut_from_its_first_convolution_and_by_chunks),
        cmocka_unit_test(a_clip_of_wan_sends_rows_only),
        cmocka_unit_test(a_clip_of_hunyuan_video_is_cut_into_tiles_in_time),
        cmocka_unit_test(a_clip_of_ltx_video_is_cut_from_its_first_convolution),
        cmocka_unit_test(a_clip_of_mochi_reduces_moments_of_each_frame),
        cmocka_unit_test(a_clip_of_hunyuan_video_15_sends_what_follows_the_middle),
        cmocka_unit_test(what_cannot_be_shared_is_refused),
        cmocka_unit_test(other_configs_are_refused),
        cmocka_unit_test(a_chunk_passes_on_what_convolutions_keep),
        cmocka_unit_test(chunks_of_pairs_begin_with_three),
        cmocka_unit_test(decoders_without_chunks_and_ranks_without_one_are_refused),
        cmocka_unit_test(ranks_that_share_rows_are_the_mesh_or_stand_alone),
        cmocka_unit_test(a_codec_sends_the_image_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
