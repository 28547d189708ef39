/* Streams: the order of forwards, what blocks see and send, closed forms against a walk over all forwards, legality. */
#include "base/stream.h"

#include "base/footprint.h"
#include "base/label.h"
#include "base/legality.h"
#include "base/mesh.h"
#include "base/volume.h"

#include "base/tests/mesh_fixture.h"

#include <stdio.h>
#include <string.h>

static dit_facts clip_facts(int64_t frames)
{
    dit_facts facts = pixart_facts();
    snprintf(facts.family, sizeof facts.family, "WanTransformer3DModel");
    facts.latent.patch_t = 1, facts.latent.frames = frames;
    facts.image_tokens = 16 * frames;
    return facts;
}

static dit_parallel stream(dit_stage_method method, int stages, int block, int context)
{
    dit_parallel parallel = with_stages(mesh(1, 1, 1, 1), stages);
    parallel.stage_method = method, parallel.block_frames = block, parallel.context_frames = context;
    return parallel;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* Every block takes every step of the stage once, in order, and what it sees has gone by. */
static void every_block_takes_every_step_once_and_in_order(void **state)
{
    (void)state;
    for (int method = DIT_STAGE_DUALPARAL; method <= DIT_STAGE_TPP; method++) {
        for (int blocks = 1; blocks <= 7; blocks++) {
            for (int steps = 3; steps <= 9; steps += 3) {
                dit_facts facts = clip_facts(2 * blocks);
                facts.steps = steps;
                dit_parallel parallel = stream((dit_stage_method)method, 3, 2, 2);
                int64_t made = 0;
                for (int stage = 0; stage < (method == DIT_STAGE_TPP ? 3 : 1); stage++) {
                    dit_stream s = dit_stream_of(&parallel, &facts, stage);
                    int64_t next[7];
                    for (int i = 0; i < blocks; i++) next[i] = s.steps.first;
                    dit_stream_task t = dit_stream_first(&s);
                    do {
                        assert_in_range(t.block, 0, blocks - 1);
                        assert_int_equal(t.step, next[t.block]++);
                        if (method == DIT_STAGE_TPP && t.block)
                            assert_int_equal(next[t.block - 1], s.steps.first + s.steps.count);
                        if (method == DIT_STAGE_DUALPARAL && t.block) assert_int_equal(next[t.block - 1], t.step + 1);
                        if (method == DIT_STAGE_DUALPARAL && t.block + 1 < blocks)
                            assert_int_equal(next[t.block + 1], t.step);
                        made++;
                    } while (dit_stream_next(&s, &t));
                }
                assert_int_equal(made, blocks * steps);
            }
        }
    }
}

static void a_queue_goes_from_the_newest_block_to_the_oldest(void **state)
{
    static const int64_t expected[][2] = {{0, 0}, {0, 1}, {1, 0}, {0, 2}, {1, 1}, {1, 2}}; /* step, block */
    dit_facts facts = clip_facts(6);
    dit_parallel parallel = stream(DIT_STAGE_DUALPARAL, 2, 2, 1);
    (void)state;
    facts.steps = 2;
    dit_stream s = dit_stream_of(&parallel, &facts, 0);
    dit_stream_task t = dit_stream_first(&s);
    for (size_t i = 0; i < 6; i++) {
        assert_true(t.step == expected[i][0] && t.block == expected[i][1]);
        assert_true(dit_stream_next(&s, &t) == (i < 5));
    }
    assert_true(dit_stream_window(&s, 0).first == 0 && dit_stream_window(&s, 0).count == 32);
    assert_true(dit_stream_window(&s, 2).first == 48 && dit_stream_window(&s, 2).count == 48);
    assert_int_equal(dit_stream_context(&s, (dit_stream_task){.step = 0, .block = 0}), 0); /* nobody is behind it yet */
    assert_int_equal(dit_stream_context(&s, (dit_stream_task){.step = 1, .block = 0}), 16);
    assert_int_equal(dit_stream_context(&s, (dit_stream_task){.step = 1, .block = 2}), 0); /* the last block */
}

/* ---- closed forms ------------------------------------------------------------------------------------------------ */

/* What a stage sends, by a walk over its forwards. */
static dit_volume walk(const dit_parallel *parallel, const dit_facts *facts, int stage)
{
    dit_stream s = dit_stream_of(parallel, facts, stage);
    int stages = dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION);
    bool queue = parallel->stage_method == DIT_STAGE_DUALPARAL, last = stage == stages - 1;
    dit_volume out = {0};
    dit_stream_task t = dit_stream_first(&s);
    do {
        int64_t window = facts->guidance_branches * dit_stream_window(&s, t.block).count * 16 * 72 * 4;
        int64_t latents = facts->num_images * s.block_rows * facts->token_channels * 4;
        if (queue && !last) out.messages++, out.bytes += window;
        if (queue ? last && dit_stream_hands_on(&s, t, false) : dit_stream_hands_on(&s, t, last))
            out.messages++, out.bytes += latents;
    } while (dit_stream_next(&s, &t));
    return out;
}

static void closed_forms_are_what_the_forwards_send(void **state)
{
    int compared = 0;
    (void)state;
    for (int method = DIT_STAGE_DUALPARAL; method <= DIT_STAGE_TPP; method++) {
        for (int stages = 2; stages <= 4; stages++) {
            for (int context = 0; context <= 4; context += 2) {
                dit_facts facts = clip_facts(24);
                dit_parallel parallel =
                    stream((dit_stage_method)method, stages, 4, method == DIT_STAGE_TPP ? 2 * context : context);
                assert_ok(dit_parallel_check(&parallel, &facts));
                for (int stage = 0; stage < stages; stage++, compared++) {
                    dit_volume_table table;
                    dit_volume sent = walk(&parallel, &facts, stage);
                    dit_volume_predict(&parallel, &facts, stage, &table);
                    const dit_volume *predicted =
                        &table.at[DIT_AXIS_PIPEFUSION][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP];
                    assert_int_equal(predicted->messages, sent.messages);
                    assert_int_equal(predicted->bytes, sent.bytes);
                }
            }
        }
    }
    assert_int_equal(compared, 2 * 3 * (2 + 3 + 4));
}

/* Of a clip of twice as many frames a stage of a stream needs the same memory but for latents. */
static void memory_does_not_grow_with_the_clip(void **state)
{
    (void)state;
    for (int method = DIT_STAGE_DUALPARAL; method <= DIT_STAGE_TPP; method++) {
        int64_t before[4], bytes[4];
        dit_parallel parallel = stream((dit_stage_method)method, 4, 4, 4);
        dit_facts facts = clip_facts(24), longer = clip_facts(48);
        dit_memory_predict(&parallel, &facts, before);
        dit_memory_predict(&parallel, &longer, bytes);
        assert_int_equal(bytes[1] - before[1], 4 * 2 * 24 * 16 * 16 * 4); /* four arrays of latents, of both branches */
        assert_true(bytes[0] == before[0] && bytes[2] == before[2] && bytes[3] == before[3]);
    }
}

/* ---- legality, names ----------------------------------------------------------------------------------------------- */

static void streams_that_cannot_be_are_refused_with_a_reason(void **state)
{
    static const struct {
        dit_stage_method method;
        int stages, block, context;
        dit_status expected;
        const char *words;
    } rows[] = {
        {DIT_STAGE_DUALPARAL, 4, 4, 4, DIT_OK, ""},
        {DIT_STAGE_TPP, 4, 4, 8, DIT_OK, ""},
        {DIT_STAGE_TPP, 4, 4, 24, DIT_OK, ""},
        {DIT_STAGE_DUALPARAL, 4, 5, 1, DIT_ERR_CONSTRAINT_TOKENS,
         "24 frames of tokens not divisible by block_frames 5"},
        {DIT_STAGE_DUALPARAL, 4, 0, 0, DIT_ERR_CONSTRAINT_TOKENS, "block_frames 0"},
        {DIT_STAGE_DUALPARAL, 4, 4, 5, DIT_ERR_CONSTRAINT_DEGREE, "context_frames 5 with block_frames 4 (dualparal)"},
        {DIT_STAGE_TPP, 4, 4, 6, DIT_ERR_CONSTRAINT_DEGREE, "context_frames 6 with block_frames 4 (tpp)"},
        {DIT_STAGE_TPP, 4, 4, 28, DIT_ERR_CONSTRAINT_DEGREE, "context_frames 28"},
        {DIT_STAGE_TPP, 21, 4, 4, DIT_ERR_CONSTRAINT_STAGES, "pipefusion_degree 21 is above the 20 steps"},
        {DIT_STAGE_DUALPARAL, 29, 4, 4, DIT_ERR_CONSTRAINT_STAGES, "above the number of blocks"},
    };
    dit_facts facts = clip_facts(24), picture = clip_facts(1);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dit_parallel parallel = stream(rows[i].method, rows[i].stages, rows[i].block, rows[i].context);
        if (rows[i].expected == DIT_OK)
            assert_ok(dit_parallel_check(&parallel, &facts));
        else
            assert_fails(dit_parallel_check(&parallel, &facts), rows[i].expected, rows[i].words);
    }
    dit_parallel parallel = stream(DIT_STAGE_TPP, 2, 1, 0), beside = with_axis(parallel, DIT_AXIS_ULYSSES, 2);
    assert_fails(dit_parallel_check(&parallel, &picture), DIT_ERR_CONSTRAINT_METHOD, "makes one frame");
    assert_fails(dit_parallel_check(&beside, &facts), DIT_ERR_CONSTRAINT_METHOD, "tpp beside ulysses_degree 2");
    parallel.warmup_steps = 1;
    assert_fails(dit_parallel_check(&parallel, &facts), DIT_ERR_CONSTRAINT_METHOD, "warmup_steps 1");
    parallel.warmup_steps = 0, facts.segments = 24;
    assert_fails(dit_parallel_check(&parallel, &facts), DIT_ERR_CONSTRAINT_METHOD, "attends within frames");
    facts.segments = 0, facts.two_transformers = true;
    assert_fails(dit_parallel_check(&parallel, &facts), DIT_ERR_CONSTRAINT_METHOD, "two transformers");
}

static void names_and_documents_tell_the_stage_method(void **state)
{
    dit_parallel read = {0};
    char name[DIT_METHOD_NAME], label[64];
    (void)state;
    assert_ok(dit_parallel_from_label("pp4 cfg2 tpp", &read));
    assert_int_equal(read.stage_method, DIT_STAGE_TPP);
    dit_parallel_method(&read, name);
    assert_string_equal(name, "cfg+tpp");
    dit_parallel_label_whole(&read, label);
    assert_non_null(strstr(label, "tpp"));
    assert_string_equal(dit_parallel_attention(&read), "stream");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_takes_every_step_once_and_in_order),
        cmocka_unit_test(a_queue_goes_from_the_newest_block_to_the_oldest),
        cmocka_unit_test(closed_forms_are_what_the_forwards_send),
        cmocka_unit_test(memory_does_not_grow_with_the_clip),
        cmocka_unit_test(streams_that_cannot_be_are_refused_with_a_reason),
        cmocka_unit_test(names_and_documents_tell_the_stage_method),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
