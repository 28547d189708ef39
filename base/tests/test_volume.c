/* The closed forms of what each method must send, beside what their papers say. */
#include "base/volume.h"
#include "base/legality.h"

#include "base/tests/mesh_fixture.h"

static int64_t step_bytes(const dit_parallel *parallel, const dit_facts *facts, dit_axis axis,
                          dit_collective collective)
{
    dit_volume_table table;
    dit_volume_predict(parallel, facts, 0, &table);
    return table.at[axis][collective][DIT_PHASE_STEP].bytes;
}

/* The papers: 4(N-1)/N^2 S h e L against 2(N-1)/N S h e L, both guidance branches */
static void ulysses_and_ring_follow_the_published_formulas(void **state)
{
    dit_facts facts = pixart_facts();
    (void)state;
    for (int n = 2; n <= 16; n *= 2) {
        dit_parallel ulysses = mesh(n, 1, 1, 1), ring = mesh(1, n, 1, 1);
        int64_t layer = 2 * 20 * 28 * 4096LL * 1152 * 4; /* branches, steps, layers, S h e */
        int64_t u = step_bytes(&ulysses, &facts, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_TO_ALL);
        int64_t r = step_bytes(&ring, &facts, DIT_AXIS_RING, DIT_COLLECTIVE_SEND_RECV);
        assert_int_equal(u, layer / n / n * 4 * (n - 1));
        assert_int_equal(r, layer / n * 2 * (n - 1));
        assert_int_equal(u * n, r * 2); /* the ratio is 2/N */
    }
}

/* The bytes and messages of a ring, gathered or passed around rings of rings. */
static void other_rings_send_what_a_ring_sends(void **state)
{
    dit_facts facts = pixart_facts();
    (void)state;
    for (int u = 1; u <= 2; u++) {
        dit_parallel ring = mesh(u, 4, 1, 1), gather = ring, rings = ring;
        dit_volume_table of_ring, of_gather, of_rings;
        gather.ring_method = DIT_RING_GATHER, rings.ring_method = DIT_RING_DOUBLE;
        dit_volume_predict(&ring, &facts, 0, &of_ring);
        dit_volume_predict(&gather, &facts, 0, &of_gather);
        dit_volume_predict(&rings, &facts, 0, &of_rings);
        assert_memory_equal(&of_rings, &of_ring, sizeof of_ring);
        dit_volume *sent = &of_ring.at[DIT_AXIS_RING][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP];
        dit_volume *gathered = &of_gather.at[DIT_AXIS_RING][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP];
        assert_true(sent->messages == 3 * 20 * 28 && sent->bytes > 0);
        assert_memory_equal(gathered, sent, sizeof *sent);
        assert_int_equal(of_gather.at[DIT_AXIS_RING][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP].bytes, 0);
        assert_int_equal(dit_volume_total_bytes(&of_gather), dit_volume_total_bytes(&of_ring));
    }
}

/* The paper: two all-to-alls of the stream where Ulysses has four, and one message for all frames. */
static void dsp_sends_half_of_what_ulysses_sends(void **state)
{
    dit_facts facts = pixart_facts();
    (void)state;
    facts.segments = 16;
    for (int n = 2; n <= 16; n *= 2) {
        dit_parallel ulysses = mesh(n, 1, 1, 1), dsp = mesh(1, n, 1, 1);
        dit_volume_table heads, frames;
        dsp.ring_method = DIT_RING_SWITCH;
        dit_volume_predict(&ulysses, &facts, 0, &heads);
        dit_volume_predict(&dsp, &facts, 0, &frames);
        dit_volume *by_heads = &heads.at[DIT_AXIS_ULYSSES][DIT_COLLECTIVE_ALL_TO_ALL][DIT_PHASE_STEP];
        dit_volume *by_frames = &frames.at[DIT_AXIS_RING][DIT_COLLECTIVE_ALL_TO_ALL][DIT_PHASE_STEP];
        assert_int_equal(2 * by_frames->bytes, by_heads->bytes);
        assert_int_equal(by_frames->messages, 20 * 28 * 2 * 2 * (n - 1)); /* steps, layers, exchanges, branches */
        assert_int_equal(by_heads->messages, 2 * 16 * by_frames->messages);
    }
}

/* 2 (N-1)/N C (d + 1) 4 bytes a layer and branch, whatever the tokens are; a row of pixels to each neighbour. */
static void linear_attention_sends_sums_that_know_no_tokens(void **state)
{
    dit_facts facts = pixart_facts();
    (void)state;
    facts.linear_attention = true, facts.halo_channels = 2 * 2880;
    facts.blocks[0].halos = 1;
    for (int64_t height = 32; height <= 128; height *= 2)
        for (int n = 2; n <= 16; n *= 2) {
            dit_parallel ulysses = mesh(n, 1, 1, 1), ring = mesh(1, n, 1, 1);
            facts.latent =
                (dit_latent){.height = height, .width = 32, .frames = 1, .patch = 1, .patch_t = 1, .channels = 32};
            dit_facts_resize(&facts);
            int64_t calls = 20 * 28, state_bytes = 2 * 1152 * (facts.head_dim + 1) * 4;
            int64_t sums = step_bytes(&ulysses, &facts, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_REDUCE);
            assert_int_equal(sums, calls * 2 * (n - 1) * (state_bytes / n));
            assert_int_equal(sums, step_bytes(&ring, &facts, DIT_AXIS_RING, DIT_COLLECTIVE_ALL_REDUCE));
            assert_int_equal(step_bytes(&ring, &facts, DIT_AXIS_RING, DIT_COLLECTIVE_SEND_RECV), /* rank 0 has one */
                             calls * 2 * 32 * 2 * 2880 * 4);
            assert_int_equal(step_bytes(&ulysses, &facts, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_TO_ALL), 0);
        }
}

/* L e S h [4(u-1)/(u^2 r) + 2(r-1)/(u r)] */
static void usp_follows_the_published_formula(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel parallel = mesh(4, 2, 1, 1);
    int64_t layer = 2 * 20 * 28 * 4096LL * 1152 * 4;
    (void)state;
    assert_int_equal(step_bytes(&parallel, &facts, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_TO_ALL), layer * 4 * 3 / 32);
    assert_int_equal(step_bytes(&parallel, &facts, DIT_AXIS_RING, DIT_COLLECTIVE_SEND_RECV), layer * 2 / 8);
}

static dit_volume tensor_sums(const dit_parallel *parallel, const dit_facts *facts)
{
    dit_volume_table table;
    dit_volume_predict(parallel, facts, 0, &table);
    return table.at[DIT_AXIS_TENSOR][DIT_COLLECTIVE_ALL_REDUCE][DIT_PHASE_STEP];
}

/* Megatron-LM: 2 (N-1)/N S h e for each of three sums a block, with cross-attention; in 2 (N-1) messages */
static void tensor_ranks_follow_the_published_formula(void **state)
{
    dit_facts facts = pixart_facts();
    (void)state;
    for (int n = 2; n <= 16; n *= 2) {
        dit_parallel parallel = with_tensor(mesh(1, 1, 1, 1), n);
        int64_t layer = 2 * 20 * 28 * 4096LL * 1152 * 4;
        dit_volume volume = tensor_sums(&parallel, &facts);
        assert_int_equal(volume.bytes, 3 * layer / n * 2 * (n - 1));
        assert_int_equal(volume.messages, 3 * 20 * 28 * 2 * (n - 1));
    }
}

/* Single blocks add up text and image at once, double blocks apart: the same bytes in half the messages. */
static void joint_blocks_sum_their_text_with_the_image(void **state)
{
    dit_facts facts = flux_facts();
    dit_parallel split = with_tensor(mesh(2, 1, 1, 1), 2), replicate = split;
    (void)state;
    replicate.joint_text = DIT_JOINT_TEXT_REPLICATE;
    int64_t row = 28 * 2 * (3072LL / 2) * 4;
    assert_int_equal(tensor_sums(&split, &facts).bytes, (2 * 19 + 38) * (2048 + 256) * row);
    assert_int_equal(tensor_sums(&replicate, &facts).bytes, (2 * 19 + 38) * (2048 + 512) * row);
    assert_int_equal(tensor_sums(&split, &facts).messages, 28 * (4 * 19 + 38) * 2);
    /* What Ulysses and ring exchange is of a tensor rank's heads. */
    assert_int_equal(step_bytes(&split, &facts, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_TO_ALL),
                     28 * 57 * 4 * (2048 + 256) * (3072LL / 2 / 2) * 4);
}

/* A norm over all heads needs one number a row from every rank: of the steps, and once of the text and the picture. */
static void norms_over_all_heads_send_their_squares(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel parallel = with_tensor(mesh(1, 1, 1, 1), 4);
    (void)state;
    int64_t without = tensor_sums(&parallel, &facts).bytes;
    facts.blocks[0].sums.norms = 3, facts.blocks[0].sums.memory = 1;
    int64_t norms = 20 * 3 * 28 * 3LL * 2 * 4096 * 8, text = 28 * 3LL * 2 * 120 * 8, picture = 28 * 3LL * 2 * 257 * 8;
    assert_int_equal(tensor_sums(&parallel, &facts).bytes - without, norms + text);
    facts.picture_tokens = 257;
    assert_int_equal(tensor_sums(&parallel, &facts).bytes - without, norms + text + picture);
    facts.two_transformers = true; /* each norms the keys of the text once; a step is one transformer's */
    assert_int_equal(tensor_sums(&parallel, &facts).bytes - without, norms + 2 * (text + picture));
}

static void replicated_text_is_gathered_and_never_sent_as_keys(void **state)
{
    dit_facts facts = flux_facts();
    dit_parallel split = mesh(2, 1, 1, 1), replicate = split;
    (void)state;
    split.joint_text = DIT_JOINT_TEXT_SPLIT;
    replicate.joint_text = DIT_JOINT_TEXT_REPLICATE;
    int64_t per_row = 28 * 57 * (3072LL / 2) * 4;
    assert_int_equal(step_bytes(&split, &facts, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_TO_ALL),
                     4 * (2048 + 256) * per_row);
    assert_int_equal(step_bytes(&split, &facts, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_GATHER), 0);
    assert_int_equal(step_bytes(&replicate, &facts, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_TO_ALL), 4 * 2048 * per_row);
    assert_int_equal(step_bytes(&replicate, &facts, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_GATHER), 512 * per_row);
}

static void cfg_parallel_sends_one_latent_a_step(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel parallel = mesh(1, 1, 2, 1);
    (void)state;
    assert_int_equal(step_bytes(&parallel, &facts, DIT_AXIS_CFG, DIT_COLLECTIVE_ALL_GATHER), 20 * 4096 * 16 * 4);
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

static dit_volume sent_by(const dit_parallel *parallel, const dit_facts *facts, int rank, dit_axis axis,
                          dit_collective collective)
{
    dit_volume_table table;
    assert_int_equal(dit_parallel_check(parallel, facts), DIT_OK);
    dit_volume_predict(parallel, facts, rank, &table);
    return table.at[axis][collective][DIT_PHASE_STEP];
}

static dit_volume passed_on(const dit_parallel *parallel, const dit_facts *facts, int rank)
{
    return sent_by(parallel, facts, rank, DIT_AXIS_PIPEFUSION, DIT_COLLECTIVE_SEND_RECV);
}

static dit_facts of_depth(dit_facts facts, int64_t layers)
{
    facts.layers = facts.blocks[0].count = layers;
    return facts;
}

/* PipeFusion: S h e a boundary and step, in M messages; no matter how many blocks there are */
static void pipelines_send_their_stream_whatever_the_depth(void **state)
{
    dit_parallel parallel = with_stages(mesh(1, 1, 1, 1), 4);
    (void)state;
    parallel.warmup_steps = 1, parallel.num_pipeline_patch = 8;
    for (int64_t layers = 4; layers <= 128; layers *= 2) {
        dit_facts facts = of_depth(pixart_facts(), layers);
        for (int rank = 0; rank < 3; rank++) {
            dit_volume stream = passed_on(&parallel, &facts, rank);
            assert_int_equal(stream.bytes, 20 * 2 * 4096LL * 1152 * 4); /* both guidance branches */
            assert_int_equal(stream.messages, 1 + 19 * 8);
        }
        dit_volume latents = passed_on(&parallel, &facts, 3);
        assert_int_equal(latents.bytes, 19 * 4096LL * 16 * 4); /* nothing after the very last step */
        assert_int_equal(latents.messages, 1 + 18 * 8);
    }
}

/* Joint text goes along, S_t h e, once a step. */
static void streams_of_joint_models_carry_the_text(void **state)
{
    dit_facts facts = flux_facts();
    dit_parallel parallel = with_stages(mesh(1, 1, 1, 1), 2), shared = with_stages(mesh(2, 1, 1, 1), 2);
    (void)state;
    assert_int_equal(passed_on(&parallel, &facts, 0).bytes, 29 * (4096 + 512) * 3072LL * 4); /* 28 steps and the fill */
    assert_int_equal(passed_on(&shared, &facts, 0).bytes, 29 * (2048 + 256) * 3072LL * 4);
    shared.joint_text = DIT_JOINT_TEXT_REPLICATE;
    assert_int_equal(passed_on(&shared, &facts, 0).bytes, 29 * (2048 + 512) * 3072LL * 4);
}

/* Two ranks: a ring sends L times what the one boundary does, from both ranks, so that the ratio is 1 / 2L a rank. */
static void pipelines_send_a_fraction_of_a_ring(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel stages = with_stages(mesh(1, 1, 1, 1), 2), ring = mesh(1, 2, 1, 1);
    (void)state;
    stages.warmup_steps = 1;
    int64_t circled = 0;
    for (int rank = 0; rank < 2; rank++)
        circled += sent_by(&ring, &facts, rank, DIT_AXIS_RING, DIT_COLLECTIVE_SEND_RECV).bytes;
    assert_int_equal(circled, 2 * 28 * passed_on(&stages, &facts, 0).bytes);
}

/* With no warm-up steps a synchronous forward fills the stores: its stream travels, its prediction does not. */
static void a_fill_is_sent_but_not_counted_as_a_step(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel filled = with_stages(mesh(1, 1, 2, 1), 2), warmed = filled, exact = filled;
    int64_t stream = 4096LL * 1152 * 4, latents = 4096LL * 16 * 4;
    (void)state;
    warmed.warmup_steps = 3, exact.warmup_steps = 20;
    const struct {
        const dit_parallel *parallel;
        int64_t forwards, sent, returned, guided;
    } cases[] = {{&filled, 21, 1 + 20 * 2, 19 * 2, 20 * 2},
                 {&warmed, 20, 3 + 17 * 2, 3 + 16 * 2, 3 + 17 * 2},
                 {&exact, 20, 20, 19, 20}};
    for (size_t i = 0; i < 3; i++) {
        dit_volume forward = passed_on(cases[i].parallel, &facts, 0), back = passed_on(cases[i].parallel, &facts, 1);
        dit_volume guided = sent_by(cases[i].parallel, &facts, 1, DIT_AXIS_CFG, DIT_COLLECTIVE_ALL_GATHER);
        assert_true(forward.bytes == cases[i].forwards * stream && forward.messages == cases[i].sent);
        assert_true(back.bytes == 19 * latents && back.messages == cases[i].returned);
        assert_true(guided.bytes == 20 * latents && guided.messages == cases[i].guided);
        assert_int_equal(sent_by(cases[i].parallel, &facts, 0, DIT_AXIS_CFG, DIT_COLLECTIVE_ALL_GATHER).messages, 0);
    }
}

/* Ulysses exchanges what it did, each stage for its own blocks, in a message a band. */
static void ulysses_in_a_pipeline_sends_the_same_bytes(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel plain = mesh(2, 1, 1, 1), stages = with_stages(plain, 3);
    static const int blocks[] = {1, 20, 7};
    int64_t whole = sent_by(&plain, &facts, 0, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_TO_ALL).bytes;
    (void)state;
    memcpy(stages.stage_blocks, blocks, sizeof blocks);
    stages.warmup_steps = 4, stages.num_pipeline_patch = 5;
    for (int stage = 0; stage < 3; stage++) {
        dit_volume sent = sent_by(&stages, &facts, 2 * stage, DIT_AXIS_ULYSSES, DIT_COLLECTIVE_ALL_TO_ALL);
        assert_int_equal(sent.bytes, whole / 28 * blocks[stage]);
        assert_int_equal(sent.messages, blocks[stage] * 4 * 2 * (4 + 16 * 5));
    }
}

/* Every band circulates the whole store, M times what a ring sends in a step */
static void a_ring_in_a_pipeline_sends_once_a_band(void **state)
{
    dit_facts facts = pixart_facts(), longer = facts;
    dit_parallel ring = mesh(1, 4, 1, 1);
    (void)state;
    longer.steps++;
    int64_t step = sent_by(&ring, &longer, 0, DIT_AXIS_RING, DIT_COLLECTIVE_SEND_RECV).bytes -
                   sent_by(&ring, &facts, 0, DIT_AXIS_RING, DIT_COLLECTIVE_SEND_RECV).bytes;
    for (int bands = 1; bands <= 16; bands *= 2) {
        dit_parallel stages = with_stages(ring, 4);
        stages.num_pipeline_patch = bands;
        int64_t stale = sent_by(&stages, &longer, 0, DIT_AXIS_RING, DIT_COLLECTIVE_SEND_RECV).bytes -
                        sent_by(&stages, &facts, 0, DIT_AXIS_RING, DIT_COLLECTIVE_SEND_RECV).bytes;
        assert_int_equal(4 * stale, bands * step); /* 7 of 28 blocks */
    }
}

/* HunyuanDiT: block i feeds block L - 1 - i, and where that is another stage it is sent, in proportion to the depth. */
static void skips_between_stages_grow_with_the_depth(void **state)
{
    dit_parallel parallel = with_stages(mesh(1, 1, 1, 1), 4);
    (void)state;
    parallel.warmup_steps = 20;
    for (int64_t layers = 16; layers <= 128; layers *= 2) {
        dit_facts facts = of_depth(pixart_facts(), layers);
        facts.skips = layers / 2 - 1;
        const int64_t skips[] = {layers / 4, layers / 4 - 1, 0}; /* the two blocks in the middle have none */
        for (int stage = 0; stage < 3; stage++) {
            dit_volume sent = passed_on(&parallel, &facts, stage);
            assert_int_equal(sent.bytes, 20 * (1 + skips[stage]) * 2 * 4096LL * 1152 * 4);
            assert_int_equal(sent.messages, 20 * (1 + (skips[stage] > 0)));
        }
    }
}

static void skips_within_a_stage_are_not_sent(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel parallel = with_stages(mesh(1, 1, 1, 1), 3);
    static const int blocks[] = {1, 20, 7};
    static const int64_t skips[] = {1, 6}; /* 0 to 27; 1-6 to 26-21; 7-12 stay in the stage of 20-15 */
    (void)state;
    memcpy(parallel.stage_blocks, blocks, sizeof blocks);
    facts.skips = 13, parallel.warmup_steps = 20;
    for (int stage = 0; stage < 2; stage++)
        assert_int_equal(passed_on(&parallel, &facts, stage).bytes, 20 * (1 + skips[stage]) * 2 * 4096LL * 1152 * 4);
}

/* ---- displaced patches ------------------------------------------------------------------------------------------- */

/* DistriFusion: 2(N-1)/N S h e L, in every step but the last, whose K and V nobody would read */
static void distrifusion_follows_the_published_formula(void **state)
{
    dit_facts facts = pixart_facts();
    int64_t layer = 2 * 28 * 4096LL * 1152 * 4; /* of a step */
    (void)state;
    for (int n = 2; n <= 16; n *= 2) {
        dit_parallel parallel = with_patches(mesh(1, 1, 1, 1), n, DIT_PATCH_DISTRIFUSION);
        for (int warmup_steps = 0; warmup_steps <= 25; warmup_steps += 5) {
            parallel.warmup_steps = warmup_steps;
            int64_t forwards = warmup_steps == 0 || warmup_steps >= 20 ? 20 : 19;
            dit_volume sent = sent_by(&parallel, &facts, n / 2, DIT_AXIS_PATCH, DIT_COLLECTIVE_ALL_GATHER);
            assert_int_equal(sent.bytes, forwards * (layer / n) * 2 * (n - 1));
            assert_int_equal(sent.messages, forwards * 28 * (n - 1));
        }
    }
}

/* What one more stale step sends. */
static int64_t stale_step_bytes(const dit_parallel *parallel, dit_facts facts, int rank, dit_collective collective)
{
    int64_t before = sent_by(parallel, &facts, rank, DIT_AXIS_PATCH, collective).bytes;
    facts.steps++;
    return sent_by(parallel, &facts, rank, DIT_AXIS_PATCH, collective).bytes - before;
}

/* A fraction f of two neighbours, instead of all of N - 1 ranks: 2 f / (N - 1) of the bytes, at the ends half of it */
static void pcpp_sends_a_fraction_of_distrifusion(void **state)
{
    dit_facts facts = pixart_facts();
    (void)state;
    for (int n = 2; n <= 16; n *= 2) {
        dit_parallel all = with_patches(mesh(1, 1, 1, 1), n, DIT_PATCH_DISTRIFUSION), part = all;
        int64_t gathered = stale_step_bytes(&all, facts, 0, DIT_COLLECTIVE_ALL_GATHER);
        part.patch_method = DIT_PATCH_PCPP;
        for (int quarters = 1; quarters <= 4; quarters++) {
            part.patch_fraction = quarters / 4.0;
            for (int rank = 0; rank < n; rank++) {
                int64_t neighbours = (rank > 0) + (rank < n - 1);
                assert_int_equal(stale_step_bytes(&part, facts, rank, DIT_COLLECTIVE_SEND_RECV) * 4 * (n - 1),
                                 neighbours * quarters * gathered);
                assert_int_equal(stale_step_bytes(&part, facts, rank, DIT_COLLECTIVE_ALL_GATHER), 0);
            }
        }
    }
}

/* PCPP's own figure, 70 % less than DistriFusion, is what four ranks and 0.45 of the rows give. */
static void pcpp_saves_seventy_percent(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel all = with_patches(mesh(1, 1, 1, 1), 4, DIT_PATCH_DISTRIFUSION), part = all;
    (void)state;
    part.patch_method = DIT_PATCH_PCPP, part.patch_fraction = 0.45;
    double ratio = (double)stale_step_bytes(&part, facts, 1, DIT_COLLECTIVE_SEND_RECV) /
                   (double)stale_step_bytes(&all, facts, 1, DIT_COLLECTIVE_ALL_GATHER);
    assert_true(ratio > 0.299 && ratio < 0.301);
}

/* Frames of both neighbours, and global ones from each rank: a clip of twice as many frames sends nothing more, while
 * DistriFusion sends twice as much. */
static void frames_of_others_are_as_many_however_long_the_clip(void **state)
{
    dit_parallel all = with_patches(mesh(1, 1, 1, 1), 8, DIT_PATCH_DISTRIFUSION), frames = all;
    int64_t frame = 2 * 2 * 28 * 256LL * 1152 * 4; /* K and V of a frame, of all layers and both branches */
    (void)state;
    frames.patch_method = DIT_PATCH_FRAMES, frames.halo_frames = 2, frames.global_frames = 24;
    for (int per_frame = 0; per_frame <= 1; per_frame++) {
        int64_t before = 0;
        for (int64_t count = 24; count <= 384; count *= 2) {
            dit_facts facts = pixart_facts();
            facts.latent.patch_t = 1, facts.latent.frames = count;
            facts.image_tokens = 256 * count;
            facts.segments = per_frame ? count : 0;
            for (int rank = 0; rank < 8; rank++) {
                int64_t neighbours = (rank > 0) + (rank < 7);
                assert_int_equal(stale_step_bytes(&frames, facts, rank, DIT_COLLECTIVE_SEND_RECV),
                                 neighbours * 2 * frame);
                assert_int_equal(stale_step_bytes(&frames, facts, rank, DIT_COLLECTIVE_ALL_GATHER), 7 * 3 * frame);
            }
            int64_t gathered = stale_step_bytes(&all, facts, 0, DIT_COLLECTIVE_ALL_GATHER);
            if (before) assert_int_equal(gathered, 2 * before);
            before = gathered;
        }
    }
}

static void naive_patches_send_nothing_when_stale(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel parallel = with_patches(mesh(1, 1, 1, 1), 4, DIT_PATCH_NAIVE);
    int64_t layer = 2 * 28 * 4096LL * 1152 * 4;
    (void)state;
    assert_int_equal(sent_by(&parallel, &facts, 1, DIT_AXIS_PATCH, DIT_COLLECTIVE_ALL_GATHER).messages, 0);
    parallel.warmup_steps = 3;
    assert_int_equal(sent_by(&parallel, &facts, 1, DIT_AXIS_PATCH, DIT_COLLECTIVE_ALL_GATHER).bytes, 3 * layer / 4 * 6);
    assert_int_equal(stale_step_bytes(&parallel, facts, 1, DIT_COLLECTIVE_ALL_GATHER), 0);
}

/* Joint text that DistriFusion splits travels like rows; replicated text stays. */
static void patches_send_the_text_only_where_it_is_split(void **state)
{
    dit_facts facts = flux_facts();
    dit_parallel split = with_patches(mesh(1, 1, 1, 1), 4, DIT_PATCH_DISTRIFUSION), replicate = split;
    (void)state;
    replicate.joint_text = DIT_JOINT_TEXT_REPLICATE;
    int64_t row = 57 * 2 * 3072LL * 4 * 3; /* K and V of all layers to three others */
    assert_int_equal(stale_step_bytes(&split, facts, 0, DIT_COLLECTIVE_ALL_GATHER), (1024 + 128) * row);
    assert_int_equal(stale_step_bytes(&replicate, facts, 0, DIT_COLLECTIVE_ALL_GATHER), 1024 * row);
}

static void shards_send_a_piece_of_each_block_once_a_pass(void **state)
{
    static const int64_t bytes[] = {1000, 4096};
    dit_facts facts = pixart_facts();
    dit_parallel whole = mesh(2, 1, 2, 1), stages = with_stages(mesh(2, 1, 1, 1), 2);
    dit_volume_table table = {0}, none = {0};
    const dit_volume *sent = &table.at[DIT_AXIS_FSDP][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP];
    (void)state;
    dit_volume_predict_shards(&whole, &facts, 0, bytes, 2, &table);
    assert_memory_equal(&table, &none, sizeof table);
    whole.fsdp_degree = 4, facts.prepares = 1;
    dit_volume_predict_shards(&whole, &facts, 0, bytes, 2, &table);
    assert_int_equal(sent->messages, (20 + 1) * 3 * 2);
    assert_int_equal(sent->bytes, (20 + 1) * 3 * (256 + 1024));
    table = none, facts.prepares = 0;
    stages.fsdp_degree = 2, stages.warmup_steps = 1, stages.num_pipeline_patch = 4; /* 19 steps in four bands */
    dit_volume_predict_shards(&stages, &facts, 3, bytes, 2, &table);
    assert_int_equal(sent->messages, (1 + 19 * 4) * 2);
    assert_int_equal(sent->bytes, (1 + 19 * 4) * (512 + 2048));
    dit_volume_predict_shards(&stages, &facts, 3, NULL, 0, &none);
    assert_int_equal(none.at[DIT_AXIS_FSDP][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP].messages, (1 + 19 * 4) * 14);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void one_rank_sends_nothing(void **state)
{
    dit_facts facts = flux_facts();
    dit_parallel parallel = mesh(1, 1, 1, 1);
    dit_volume_table table;
    (void)state;
    dit_volume_predict(&parallel, &facts, 0, &table);
    assert_int_equal(dit_volume_total_bytes(&table), 0);
}

static void the_index_of_a_table_visits_every_place_once(void **state)
{
    dit_volume_table table = {0};
    (void)state;
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i), found;
        DIT_VOLUME_AT(&table, at)->bytes++;
        assert_true(dit_volume_place_from_names(dit_axis_name(at.axis), dit_collective_name(at.collective),
                                                dit_phase_name(at.phase), &found));
        assert_memory_equal(&found, &at, sizeof at);
    }
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++) {
        for (int c = 0; c < DIT_COLLECTIVE_COUNT; c++)
            for (int phase = 0; phase < DIT_PHASE_COUNT; phase++) assert_int_equal(table.at[axis][c][phase].bytes, 1);
    }
}

static void names_of_no_place_are_not_found(void **state)
{
    dit_volume_place at;
    (void)state;
    assert_false(dit_volume_place_from_names("ulises", "all_to_all", "step", &at));
    assert_false(dit_volume_place_from_names("ulysses", "all_to_none", "step", &at));
    assert_false(dit_volume_place_from_names("ulysses", "all_to_all", NULL, &at));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ulysses_and_ring_follow_the_published_formulas),
        cmocka_unit_test(other_rings_send_what_a_ring_sends),
        cmocka_unit_test(dsp_sends_half_of_what_ulysses_sends),
        cmocka_unit_test(linear_attention_sends_sums_that_know_no_tokens),
        cmocka_unit_test(usp_follows_the_published_formula),
        cmocka_unit_test(tensor_ranks_follow_the_published_formula),
        cmocka_unit_test(joint_blocks_sum_their_text_with_the_image),
        cmocka_unit_test(norms_over_all_heads_send_their_squares),
        cmocka_unit_test(replicated_text_is_gathered_and_never_sent_as_keys),
        cmocka_unit_test(cfg_parallel_sends_one_latent_a_step),
        cmocka_unit_test(pipelines_send_their_stream_whatever_the_depth),
        cmocka_unit_test(streams_of_joint_models_carry_the_text),
        cmocka_unit_test(pipelines_send_a_fraction_of_a_ring),
        cmocka_unit_test(a_fill_is_sent_but_not_counted_as_a_step),
        cmocka_unit_test(ulysses_in_a_pipeline_sends_the_same_bytes),
        cmocka_unit_test(a_ring_in_a_pipeline_sends_once_a_band),
        cmocka_unit_test(skips_between_stages_grow_with_the_depth),
        cmocka_unit_test(skips_within_a_stage_are_not_sent),
        cmocka_unit_test(distrifusion_follows_the_published_formula),
        cmocka_unit_test(pcpp_sends_a_fraction_of_distrifusion),
        cmocka_unit_test(pcpp_saves_seventy_percent),
        cmocka_unit_test(frames_of_others_are_as_many_however_long_the_clip),
        cmocka_unit_test(naive_patches_send_nothing_when_stale),
        cmocka_unit_test(patches_send_the_text_only_where_it_is_split),
        cmocka_unit_test(shards_send_a_piece_of_each_block_once_a_pass),
        cmocka_unit_test(one_rank_sends_nothing),
        cmocka_unit_test(the_index_of_a_table_visits_every_place_once),
        cmocka_unit_test(names_of_no_place_are_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
