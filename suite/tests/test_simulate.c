/* Simulations of whole cases: the same bytes again, steps that repeat, what is sent, who waits for whom. Skipped
 * without SimGrid. */
#include "kernels/cost/read.h"
#include "suite/simulate/bounds.h"
#include "suite/tests/simulator_fixture.h"
#include "suite/tests/workload_fixture.h"
#include "suite/workload/load.h"
#include "suite/workload/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const suite_case *only_case(const suite_workload *workload)
{
    for (int i = 0; i < workload->case_count; i++)
        if (!workload->cases[i].is_oracle && !workload->cases[i].is_reference) return &workload->cases[i];
    return NULL;
}

/* A model, 512x512, on `settings` of the mesh. */
static suite_simulated simulate_model(const char *model, const char *settings, const char *platform,
                                      const char *profile, bool replay)
{
    char text[2048];
    suite_workload workload;
    suite_simulated out = {0};
    snprintf(
        text, sizeof text,
        "{\"schema\": \"ditbench.workload/1\", \"name\": \"s\", \"program\": \"denoise\", \"defaults\": {\"model\": "
        "%s, \"resolution\": \"512x512\", \"platform\": \"any\", \"threads_per_rank\": 1, \"num_inference_steps\": 60, "
        "%s}, \"repeat\": {\"processes\": 1}}",
        model, settings);
    assert_int_equal(suite_workload_parse(text, strlen(text), "s", &workload), DIT_OK);
    const suite_case *one = only_case(&workload);
    assert_non_null(one);
    params.replay = replay;
    dit_status st = suite_simulate_case(&params, one->document, one->world_size, platform, profile, &out);
    if (st != DIT_OK) dit_error_print("simulate");
    assert_int_equal(st, DIT_OK);
    suite_workload_release(&workload);
    return out;
}

/* FLUX of six blocks. */
static suite_simulated simulate(const char *settings, const char *platform, const char *profile, bool replay)
{
    return simulate_model("{\"name\": \"flux.1-dev\", \"as\": \"six\", \"override\": {\"num_layers\": 3, "
                          "\"num_single_layers\": 3}}",
                          settings, platform, profile, replay);
}

static const char *const meshes[] = {
    "\"ulysses_degree\": 4",
    "\"ring_degree\": 4",
    "\"pipefusion_degree\": 4, \"num_pipeline_patch\": 4, \"warmup_steps\": 1",
    "\"pipefusion_degree\": 4, \"num_pipeline_patch\": 2, \"warmup_steps\": 2",
    "\"pipefusion_degree\": 4, \"num_pipeline_patch\": 4, \"warmup_steps\": 0",
    "\"patch_degree\": 4, \"patch_method\": \"distrifusion\", \"warmup_steps\": 1",
    "\"tensor_degree\": 4",
};
enum { MESHES = sizeof meshes / sizeof *meshes };

static void the_same_case_takes_the_same_time(void **state)
{
    (void)state;
    for (int i = 0; i < MESHES; i += 2) {
        suite_simulated first = simulate(meshes[i], "8xa100-sxm", "pytorch-eager", false);
        suite_simulated second = simulate(meshes[i], "8xa100-sxm", "pytorch-eager", false);
        assert_memory_equal(&first, &second, sizeof first);
    }
}

/* As long as a replay of all steps, to `share` of it. */
static void expect_replay(const char *mesh, const char *platform, double share)
{
    suite_simulated told = simulate(mesh, platform, "pytorch-eager", false);
    suite_simulated replayed = simulate(mesh, platform, "pytorch-eager", true);
    assert_int_equal(replayed.steps, 60);
    assert_true(told.steps < 60);
    assert_true(fabs(told.seconds - replayed.seconds) <= share * replayed.seconds);
    assert_int_equal(told.sent_bytes, replayed.sent_bytes);
    assert_int_equal(told.memory_bytes, replayed.memory_bytes);
}

static void steps_that_repeat_need_no_replay(void **state)
{
    (void)state;
    for (int i = 0; i < MESHES; i++) expect_replay(meshes[i], "8xl40", 1e-9);
}

/* Four steps take the same time there, then what the synchronous steps left on the links has drained. */
static void links_that_drain_are_waited_for(void **state)
{
    (void)state;
    expect_replay(meshes[3], "4xa100-pcie", 1e-7);
}

/* Few blocks of each kind and few hops tell of all. */
static void blocks_and_hops_that_repeat_need_no_replay(void **state)
{
    static const char ring[] = "\"ring_degree\": 32";
    (void)state;
    params.layered = true;
    suite_simulated told = simulate(ring, "128x8xh100-sxm", "ditbench", false);
    params.layered = false;
    suite_simulated replayed = simulate(ring, "128x8xh100-sxm", "ditbench", true);
    assert_true(told.steps < 60);
    assert_true(fabs(told.seconds - replayed.seconds) <= 1e-6 * replayed.seconds);
    assert_int_equal(told.sent_bytes, replayed.sent_bytes);
    assert_int_equal(told.memory_bytes, replayed.memory_bytes);
}

static void a_slower_link_and_a_slower_host_take_longer(void **state)
{
    (void)state;
    suite_simulated nvlink = simulate(meshes[0], "8xa100-sxm", "ditbench", false);
    suite_simulated pcie = simulate(meshes[0], "4xa100-pcie", "ditbench", false);
    suite_simulated eager = simulate(meshes[0], "8xa100-sxm", "pytorch-eager", false);
    assert_true(pcie.seconds > nvlink.seconds);
    assert_true(eager.seconds > nvlink.seconds);
    assert_int_equal(pcie.sent_bytes, nvlink.sent_bytes);
}

/* So small a share is the host's work: some 75 kernels of a double block and 35 of a single one, 20 us each. */
static void software_that_is_counted_takes_what_its_host_dispatches(void **state)
{
    (void)state;
    suite_simulated eager = simulate(meshes[0], "8xa100-sxm", "pytorch-eager", false);
    suite_simulated counted = simulate(meshes[0], "8xa100-sxm", "pytorch-eager-2025", false);
    suite_simulated replayed = simulate(meshes[0], "8xa100-sxm", "pytorch-eager-2025", true);
    assert_true(counted.seconds > 60 * (3 * 75 + 3 * 35) * 20e-6);
    assert_true(counted.seconds < 2 * eager.seconds && eager.seconds < 2 * counted.seconds);
    assert_true(fabs(counted.seconds - replayed.seconds) <= 1e-6 * replayed.seconds);
    assert_int_equal(counted.sent_bytes, eager.sent_bytes);
}

/* xDiT gathers the keys of a ring at once and merges in fp32, and cuts the text over the ring, too: more time for the
 * same bytes. The clip's blocks are larger than a message of SMPI may be. */
static void a_librarys_ring_is_gathered_whatever_its_size(void **state)
{
    static const char model[] = "{\"name\": \"wan2.1-t2v-1.3b\", \"as\": \"two\", \"override\": {\"num_layers\": 2}}";
    static const char clip[] = "\"ring_degree\": 8, \"num_frames\": 81, \"num_images\": 24";
    (void)state;
    suite_simulated parts = simulate_model(model, clip, "8xh100-sxm", "pytorch-eager", false);
    suite_simulated counted = simulate_model(model, clip, "8xh100-sxm", "pytorch-eager-2025", false);
    assert_true(counted.seconds > 1.2 * parts.seconds && counted.seconds < 3 * parts.seconds);
    assert_int_equal(counted.sent_bytes, parts.sent_bytes);
}

/* Reads the profile that a simulation on the platform is given. */
static dit_cost_profile prepared(const char *platform, const char *profile)
{
    char folder[TEST_FOLDER], path[TEST_FOLDER + 16];
    dit_cost_profile out;
    cJSON *document = cJSON_CreateObject();
    assert_int_equal(test_folder_make(folder), 0);
    assert_ok(suite_simulate_prepare(&params, folder, document, 1, platform, profile));
    snprintf(path, sizeof path, "%s/profile.json", folder);
    assert_ok(dit_cost_profile_read(path, &out));
    test_folder_remove(folder);
    cJSON_Delete(document);
    return out;
}

static void a_platform_says_how_fast_its_host_is_and_copies(void **state)
{
    dit_cost_profile old = prepared("8xa100-sxm", "pytorch-eager-2025"),
                     young = prepared("8xl20", "pytorch-eager-2025");
    (void)state;
    assert_near(old.pageable_copy_bytes_per_s, 5e9, 1);
    assert_near(young.pageable_copy_bytes_per_s, 2e10, 1);
    assert_int_equal(old.census[0], '/'); /* it is found from the folder of the simulation */
    assert_near(young.view_dispatch_s / young.dispatch_s, 4.5 / 20, 1e-9);
    assert_string_equal(prepared("8xl20", "pytorch-eager").census, "");
}

/* A first step in bands is quicker than a synchronous one, unless a synchronous forward comes before it. */
static void only_own_software_fills_stores_anew(void **state)
{
    (void)state;
    suite_simulated filled = simulate(meshes[4], "4xt4", "pytorch-eager", false);
    suite_simulated warmed = simulate(meshes[2], "4xt4", "pytorch-eager", false);
    suite_simulated own_filled = simulate(meshes[4], "4xt4", "ditbench", false);
    suite_simulated own_warmed = simulate(meshes[2], "4xt4", "ditbench", false);
    assert_true(filled.seconds < warmed.seconds);
    assert_true(own_filled.seconds > own_warmed.seconds);
}

/* Two sums of three are left of a block whose cross-attention every rank computes whole; what a rank counts is what the
 * closed form says, or there is no record. */
static void cross_attention_may_be_left_whole(void **state)
{
    static const char pixart[] =
        "{\"name\": \"pixart-alpha-xl-2\", \"as\": \"two\", \"override\": {\"num_layers\": 2}}";
    (void)state;
    suite_simulated shared = simulate_model(pixart, "\"tensor_degree\": 4", "4xt4", "pytorch-eager-2024", false);
    suite_simulated whole = simulate_model(pixart, "\"tensor_degree\": 4", "4xt4", "pipefusion-legacy", false);
    suite_simulated alone = simulate_model(pixart, "\"ulysses_degree\": 4", "4xt4", "pytorch-eager-2024", false);
    suite_simulated equal = simulate_model(pixart, "\"ulysses_degree\": 4", "4xt4", "pipefusion-legacy", false);
    assert_true(3 * whole.sent_bytes == 2 * shared.sent_bytes);
    assert_true(whole.seconds < shared.seconds);
    assert_true(whole.memory_bytes > shared.memory_bytes);
    assert_true(alone.sent_bytes == equal.sent_bytes && alone.seconds == equal.seconds);
}

/* Both run in one process: the other one's bounds are there, and the time in each of its blocks. */
static void what_is_impossible_of_one_case_is_told_of_it_alone(void **state)
{
    static const char text[] =
        "{\"schema\": \"ditbench.workload/1\", \"name\": \"s\", \"program\": \"denoise\", \"defaults\": {\"model\": "
        "\"pixart-alpha-xl-2~two-blocks\", \"resolution\": \"512x512\", \"platform\": \"any\", \"threads_per_rank\": "
        "1, "
        "\"num_inference_steps\": 4}, \"repeat\": {\"processes\": 1}}";
    suite_workload workload;
    suite_bounds bounds[2];
    suite_shape_cache cache = {.ground = "ground"};
    (void)state;
    assert_int_equal(test_folder_make(cache.folder), 0);
    assert_ok(suite_workload_parse(text, strlen(text), "s", &workload));
    const cJSON *possible = workload.cases[0].document;
    cJSON *vast = cJSON_Duplicate(possible, true);
    cJSON *config = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(vast, "model"), "config");
    const struct {
        const char *key;
        double value;
    } sizes[] = {{"num_attention_heads", 64},
                 {"attention_head_dim", 1024},
                 {"cross_attention_dim", 65536},
                 {"num_layers", 1000}}; /* more bytes than there are addresses */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_true(cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(config, sizes[i].key), sizes[i].value) > 0);
    const suite_simulate_bounded cases[] = {{.document = vast, .world_size = 1},
                                            {.document = possible, .world_size = 1, .blocks = true}};
    params.replay = false;
    assert_ok(suite_bounds_of(&params, cases, 2, "8xl40", "pytorch-eager", NULL, bounds));
    assert_int_equal(bounds[0].status, DIT_ERR_MEMORY);
    assert_contains(bounds[0].message, "bytes for class weights");
    assert_int_equal(bounds[1].status, DIT_OK);
    assert_true(bounds[1].seconds > 0 && bounds[1].block_count == 2);
    for (int first = 1; first >= 0; first--) { /* the possible one alone, then both */
        char key[DIT_HASH_HEX], path[SUITE_PATH];
        assert_ok(suite_shape_cache_bounds(&cache, cases + first, 2 - first, key, path));
        assert_ok(suite_bounds_of(&params, cases + first, 2 - first, "8xl40", "pytorch-eager", &cache, bounds));
        assert_int_equal(access(path, F_OK), first ? 0 : -1); /* another machine may have the memory */
    }
    suite_path_remove(cache.folder);
    cJSON_Delete(vast);
    suite_workload_release(&workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_case_takes_the_same_time),
        cmocka_unit_test(steps_that_repeat_need_no_replay),
        cmocka_unit_test(links_that_drain_are_waited_for),
        cmocka_unit_test(blocks_and_hops_that_repeat_need_no_replay),
        cmocka_unit_test(a_slower_link_and_a_slower_host_take_longer),
        cmocka_unit_test(software_that_is_counted_takes_what_its_host_dispatches),
        cmocka_unit_test(a_librarys_ring_is_gathered_whatever_its_size),
        cmocka_unit_test(a_platform_says_how_fast_its_host_is_and_copies),
        cmocka_unit_test(only_own_software_fills_stores_anew),
        cmocka_unit_test(cross_attention_may_be_left_whole),
        cmocka_unit_test(what_is_impossible_of_one_case_is_told_of_it_alone),
    };
    if (!has_simulator()) return DIT_EXIT_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
