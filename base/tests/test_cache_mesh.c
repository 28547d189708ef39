/* Caches beside a mesh and a model: which pairs are refused, and what the ranks of a cached run send each other. */
#include "base/cache.h"
#include "base/volume.h"

#include "base/tests/mesh_fixture.h"

static dit_cache cache_of(const char *text, int steps)
{
    dit_json doc = {0};
    dit_cache cache;
    assert_int_equal(dit_json_parse(text, strlen(text), "t", &doc), DIT_OK);
    dit_status st = dit_cache_read(&doc, doc.root, "", steps, &cache);
    dit_json_release(&doc);
    if (st != DIT_OK) fail_msg("%s: %s", text, dit_error_last()->message);
    return cache;
}

static void rules_name_what_is_wrong(void **state)
{
    dit_facts facts = pixart_facts(); /* 28 blocks, 20 steps */
    dit_parallel alone = mesh(1, 1, 1, 1), stages = with_stages(mesh(1, 1, 1, 1), 2);
    dit_cache cache = cache_of("{\"policy\":\"dbcache\",\"first\":20,\"last\":8}", 0);
    (void)state;
    assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_ERR_CONSTRAINT_CACHE);
    cache.first = 19;
    assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_OK);
    assert_int_equal(dit_cache_check(&cache, &stages, &facts), DIT_ERR_CONSTRAINT_CACHE);
    facts.skips = 14;
    cache.first = 2, cache.last = 3;
    assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_ERR_CONSTRAINT_CACHE);
    cache = cache_of("{\"policy\":\"mask\",\"mask\":\"10\"}", 0);
    assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_ERR_CONSTRAINT_CACHE);
    facts.steps = 2;
    assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_OK);
    cache = cache_of("{\"policy\":\"fbcache\",\"replay\":\"01\"}", 0);
    assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_ERR_CONSTRAINT_CACHE);
}

/* Steps must be known, blocks be reused whole, and synchronous steps computed. */
static void stages_and_patches_take_known_steps(void **state)
{
    dit_facts facts = pixart_facts(); /* 20 steps */
    dit_parallel meshes[] = {with_stages(mesh(1, 1, 2, 1), 2), with_patches(mesh(1, 1, 1, 1), 2, DIT_PATCH_NAIVE)};
    dit_cache fbcache = cache_of("{\"policy\":\"fbcache\"}", 0),
              fora = cache_of("{\"policy\":\"fora\",\"interval\":2}", 0);
    dit_cache replayed = cache_of("{\"policy\":\"fbcache\",\"replay\":\"4,4,4/4,4\"}", 20);
    dit_cache early = cache_of("{\"policy\":\"interval\",\"interval\":3}", 0), late = early;
    (void)state;
    late.warmup = 4;
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++) {
        meshes[i].warmup_steps = 4;
        assert_int_equal(dit_cache_check(&fbcache, &meshes[i], &facts), DIT_ERR_CONSTRAINT_CACHE);
        assert_non_null(strstr(dit_error_last()->message, "fbcache beside stages or displaced patches"));
        assert_non_null(strstr(dit_error_last()->hint, "different ages"));
        assert_int_equal(dit_cache_check(&fora, &meshes[i], &facts), DIT_ERR_CONSTRAINT_CACHE);
        assert_non_null(strstr(dit_error_last()->hint, "await in every step"));
        assert_int_equal(dit_cache_check(&early, &meshes[i], &facts), DIT_ERR_CONSTRAINT_CACHE);
        assert_non_null(strstr(dit_error_last()->message, "interval reuses step 1, which is synchronous"));
        assert_int_equal(dit_cache_check(&late, &meshes[i], &facts), DIT_OK);
        assert_int_equal(dit_cache_check(&replayed, &meshes[i], &facts), DIT_OK);
        meshes[i].warmup_steps = 0;
        assert_int_equal(dit_cache_check(&early, &meshes[i], &facts), DIT_OK);
    }
}

static void pab_names_what_a_model_lacks(void **state)
{
    dit_parallel alone = mesh(1, 1, 1, 1);
    dit_facts facts = pixart_facts();
    dit_cache cache = cache_of("{\"policy\":\"pab\",\"attention\":2,\"temporal\":3}", 0);
    (void)state;
    facts.blocks[0].modules[DIT_MODULE_ATTENTION] = (dit_module_parts){.calls = 1, .image = 1};
    assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_ERR_CONSTRAINT_CACHE);
    assert_non_null(strstr(dit_error_last()->message, "temporal, which PixArtTransformer2DModel does not have"));
    facts.blocks[0].modules[DIT_MODULE_TEMPORAL].image = 1;
    assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_OK);
    facts.blocks[0].modules[DIT_MODULE_FUSED].both = 1;
    assert_int_equal(dit_cache_check(&cache, &alone, &facts), DIT_ERR_CONSTRAINT_CACHE);
    assert_non_null(strstr(dit_error_last()->message, "no output of its own"));
}

/* Hits leave out what 19 of 28 blocks send; N ranks send each other 16 (N - 1) bytes a test. */
static void a_hit_sends_what_its_blocks_send(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel parallel = mesh(2, 2, 2, 1);
    dit_cache_use none = {.first = 8, .last = 1}, half = {.first = 8, .last = 1, .hits = 10, .tests = 12};
    dit_volume_table plain, cached;
    (void)state;
    dit_volume_predict(&parallel, &facts, 0, &plain);
    dit_volume_predict_cached(&parallel, &facts, &none, 0, &cached);
    assert_memory_equal(&plain, &cached, sizeof plain);
    dit_volume_predict_cached(&parallel, &facts, &half, 0, &cached);
    const dit_volume *all = &plain.at[DIT_AXIS_RING][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP];
    const dit_volume *left = &cached.at[DIT_AXIS_RING][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP];
    assert_int_equal(left->bytes * 20 * 28, all->bytes * (20 * 28 - 10 * 19));
    assert_int_equal(left->messages * 20 * 28, all->messages * (20 * 28 - 10 * 19));
    int64_t agreed = 0;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
        agreed += cached.at[axis][DIT_COLLECTIVE_ALL_REDUCE][DIT_PHASE_STEP].bytes;
    assert_int_equal(agreed, 16 * 7 * 12);
    assert_int_equal(cached.at[DIT_AXIS_CFG][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP].bytes,
                     plain.at[DIT_AXIS_CFG][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP].bytes);
}

/* Blocks of a run of two kinds: each leaves out what it would send, and no other. */
static void a_pruned_block_sends_nothing(void **state)
{
    dit_facts facts = pixart_facts(); /* 28 blocks, 20 steps */
    dit_parallel parallel = mesh(1, 4, 1, 1);
    dit_cache_use none = {.of_blocks = true}, some = none, middle = {.first = 1, .last = 25, .hits = 3};
    dit_volume_table plain, pruned, blocks;
    (void)state;
    some.blocks[1] = some.blocks[2] = 3;
    dit_volume_predict_cached(&parallel, &facts, &none, 0, &plain);
    dit_volume_predict_cached(&parallel, &facts, &some, 0, &pruned);
    dit_volume_predict_cached(&parallel, &facts, &middle, 0, &blocks);
    assert_memory_equal(&pruned, &blocks, sizeof pruned);
    assert_int_equal((dit_volume_total_bytes(&plain) - dit_volume_total_bytes(&pruned)) % 6, 0);
    assert_true(dit_volume_total_bytes(&plain) > dit_volume_total_bytes(&pruned));
}

/* Steps that take the outputs of all modules send nothing of any block; those that take attention alone, nothing of its
 * exchanges and one sum of three over tensor ranks less. */
static void modules_leave_out_what_they_send(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel parallel = mesh(2, 2, 1, 1);
    dit_cache_use all = {.of_modules = true, .hits = 12}, attention = all, blocks = {.hits = 12};
    dit_volume_table plain, some, none, whole;
    (void)state;
    parallel.degree[DIT_AXIS_TENSOR] = 2;
    facts.blocks[0].modules[DIT_MODULE_ATTENTION] = (dit_module_parts){.calls = 1, .image = 1};
    facts.blocks[0].modules[DIT_MODULE_CROSS].image = facts.blocks[0].modules[DIT_MODULE_MLP].image = 1;
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++) all.modules[kind] = 12;
    attention.modules[DIT_MODULE_ATTENTION] = 12;
    dit_volume_predict(&parallel, &facts, 0, &plain);
    dit_volume_predict_cached(&parallel, &facts, &blocks, 0, &whole);
    dit_volume_predict_cached(&parallel, &facts, &all, 0, &none);
    dit_volume_predict_cached(&parallel, &facts, &attention, 0, &some);
    assert_memory_equal(&none, &whole, sizeof none); /* as if all blocks were left out */
#define STEP(table, axis, collective) table.at[DIT_AXIS_##axis][DIT_COLLECTIVE_##collective][DIT_PHASE_STEP].bytes
    assert_int_equal(STEP(some, RING, SEND_RECV), STEP(none, RING, SEND_RECV));
    assert_int_equal(STEP(some, RING, SEND_RECV) * 20, STEP(plain, RING, SEND_RECV) * 8);
    assert_int_equal(STEP(some, ULYSSES, ALL_TO_ALL) * 20, STEP(plain, ULYSSES, ALL_TO_ALL) * 8);
    assert_true(STEP(plain, TENSOR, ALL_REDUCE) > 0);
    assert_int_equal(STEP(some, TENSOR, ALL_REDUCE) * 60, STEP(plain, TENSOR, ALL_REDUCE) * 48);
#undef STEP
}

/* Of 20 steps 4 are synchronous; 8 of the stale ones are hits, which leave out blocks 8 to 27. The last computed step
 * sends no K and V. */
static void a_stale_hit_sends_no_keys(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel patches = with_patches(mesh(1, 1, 1, 1), 4, DIT_PATCH_DISTRIFUSION);
    dit_cache_use use = {.first = 8, .hits = 8};
    dit_volume_table plain, cached;
    (void)state;
    patches.warmup_steps = 4;
    const dit_volume *gathers = &cached.at[DIT_AXIS_PATCH][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP];
    dit_volume_predict_cached(&patches, &facts, &use, 1, &cached);
    assert_int_equal(gathers->messages, 3 * (8 * (4 + 15) + 20 * (4 + 7)));
    use.hits = 16; /* all of them: nobody reads what the last synchronous step had */
    dit_volume_predict_cached(&patches, &facts, &use, 1, &cached);
    assert_int_equal(gathers->messages, 3 * (8 * (4 + 15) + 20 * 4));
    patches.patch_method = DIT_PATCH_PCPP;
    use.hits = 8;
    dit_volume_predict_cached(&patches, &facts, &use, 1, &cached);
    assert_int_equal(gathers->messages, 3 * 28 * 4);
    assert_int_equal(cached.at[DIT_AXIS_PATCH][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP].messages,
                     2 * (8 * 15 + 20 * 7));
    dit_volume_predict(&patches, &facts, 1, &plain);
    assert_int_equal(plain.at[DIT_AXIS_PATCH][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP].messages, 2 * 28 * 15);
}

/* Stages exchange the stream in every step; within a stage, its own 14 blocks leave out what they send. */
static void a_reused_stage_sends_its_stream(void **state)
{
    dit_facts facts = pixart_facts();
    dit_parallel parallel = with_stages(mesh(2, 1, 1, 1), 2);
    dit_cache_use use = {.first = 8, .hits = 8};
    dit_volume_table plain, cached;
    (void)state;
    parallel.warmup_steps = 4, parallel.num_pipeline_patch = 4;
    for (int rank = 0; rank < 4; rank++) {
        int64_t reused = rank < 2 ? 6 : 14;
        dit_volume_predict(&parallel, &facts, rank, &plain);
        dit_volume_predict_cached(&parallel, &facts, &use, rank, &cached);
        assert_memory_equal(plain.at[DIT_AXIS_PIPEFUSION], cached.at[DIT_AXIS_PIPEFUSION], sizeof plain.at[0]);
        const dit_volume *all = &plain.at[DIT_AXIS_ULYSSES][DIT_COLLECTIVE_ALL_TO_ALL][DIT_PHASE_STEP];
        const dit_volume *left = &cached.at[DIT_AXIS_ULYSSES][DIT_COLLECTIVE_ALL_TO_ALL][DIT_PHASE_STEP];
        assert_int_equal(left->bytes * 20 * 14, all->bytes * (20 * 14 - 8 * reused));
        assert_int_equal(left->messages * (4 + 16 * 4) * 14, all->messages * ((4 + 16 * 4) * 14 - 8 * 4 * reused));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_name_what_is_wrong),     cmocka_unit_test(stages_and_patches_take_known_steps),
        cmocka_unit_test(pab_names_what_a_model_lacks), cmocka_unit_test(a_hit_sends_what_its_blocks_send),
        cmocka_unit_test(a_pruned_block_sends_nothing), cmocka_unit_test(modules_leave_out_what_they_send),
        cmocka_unit_test(a_stale_hit_sends_no_keys),    cmocka_unit_test(a_reused_stage_sends_its_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
