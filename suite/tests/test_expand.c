/* Expansion: which cells are kept, dropped and merged, and what a case's identity depends on. */
#include "base/deal.h"
#include "base/label.h"
#include "suite/catalogue/method.h"
#include "suite/tests/workload_fixture.h"
#include "suite/workload/workload.h"

#include <time.h>

#define PIXART "\"model\":\"pixart-alpha-xl-2\",\"resolution\":\"256x256\""

static int count_dropped(const suite_workload *workload, dit_status code)
{
    int count = 0;
    for (int i = 0; i < workload->dropped_count; i++) count += workload->dropped[i].code == code;
    return count;
}

static void only_case_id(const char *members, char out[DIT_HASH_HEX])
{
    suite_workload workload = fixture_load(members);
    assert_int_equal(workload.case_count, 1);
    memcpy(out, workload.cases[0].case_id, DIT_HASH_HEX);
    suite_workload_release(&workload);
}

/* ---- product, zip, merge ----------------------------------------------------------------------------------------- */

static void axes_multiply_and_zips_move_together(void **state)
{
    (void)state;
    suite_workload workload =
        fixture_load("\"defaults\":{" PIXART "},\"axes\":{\"seed\":[1,2,3],\"num_inference_steps\":[2,4]},"
                     "\"zip\":[{\"ulysses_degree\":[1,2,4],\"ring_degree\":[4,2,1]}]");
    assert_int_equal(workload.case_count, 18);
    assert_int_equal(workload.dropped_count, 0);
    for (int i = 0; i < workload.case_count; i++) assert_int_equal(workload.cases[i].world_size, 4);
    assert_string_equal(fixture_tag(&workload.cases[0], "mesh"), "r4");
    assert_string_equal(fixture_tag(&workload.cases[1], "mesh"), "u2 r2");
    assert_string_equal(fixture_tag(&workload.cases[1], "method"), "usp");
    suite_workload_release(&workload);
}

static void equal_cases_are_merged_and_kept_once(void **state)
{
    (void)state;
    suite_workload workload = fixture_load("\"defaults\":{" PIXART "},\"axes\":{\"method\":[\"single\",\"ulysses\","
                                           "\"ring\",\"usp\"],\"world_size\":[1,2,4]}");
    /* one single, u2, u4, r2, r4, u2 r2 */
    assert_int_equal(workload.case_count, 6);
    assert_int_equal(workload.merged_count, 3);
    assert_int_equal(count_dropped(&workload, DIT_ERR_CONSTRAINT_METHOD), 3); /* single at 2 and 4, usp at 2 */
    assert_int_equal(workload.case_count + workload.merged_count + workload.dropped_count, 12);
    assert_true(workload.cases[0].is_reference);
    assert_string_equal(fixture_tag(&workload.cases[0], "method"), "single");
    for (int i = 1; i < workload.case_count; i++) {
        assert_false(workload.cases[i].is_reference);
        assert_string_equal(workload.cases[i].reference_id, workload.cases[0].reference_id);
    }
    suite_workload_release(&workload);
}

static void joint_text_means_nothing_on_one_rank(void **state)
{
    (void)state;
    suite_workload workload =
        fixture_load("\"defaults\":{\"resolution\":\"256x256\",\"model\":{\"name\":\"flux.1-schnell\",\"override\":"
                     "{\"num_layers\":1,\"num_single_layers\":1}}},"
                     "\"axes\":{\"joint_text\":[\"split\",\"replicate\"],\"ulysses_degree\":[1,2]}");
    assert_int_equal(workload.case_count, 3);
    assert_int_equal(workload.merged_count, 1);
    suite_workload_release(&workload);
}

static void a_workload_of_defaults_is_one_case(void **state)
{
    (void)state;
    suite_workload workload = fixture_load("\"defaults\":{\"model\":\"pixart-alpha-xl-2\"}");
    assert_int_equal(workload.case_count, 1);
    assert_string_equal(fixture_tag(&workload.cases[0], "resolution"), "1024x1024"); /* the model's own default */
    assert_string_equal(workload.cases[0].label, "pixart-alpha-xl-2 1024x1024 1");
    suite_workload_release(&workload);
}

static void an_override_shows_in_label_and_tag(void **state)
{
    (void)state;
    suite_workload workload =
        fixture_load("\"defaults\":{\"resolution\":\"256x256\"},\"axes\":{\"model\":[{\"name\":\"pixart-alpha-xl-2\","
                     "\"override\":{\"num_layers\":2}},{\"name\":\"pixart-alpha-xl-2\",\"as\":\"four\","
                     "\"override\":{\"num_layers\":4}}]}");
    assert_int_equal(workload.case_count, 2);
    assert_string_equal(fixture_tag(&workload.cases[0], "model"), "pixart-alpha-xl-2{num_layers=2}");
    assert_string_equal(fixture_tag(&workload.cases[1], "model"), "pixart-alpha-xl-2{four}");
    assert_string_equal(fixture_tag(&workload.cases[1], "base_model"), "pixart-alpha-xl-2");
    assert_non_null(strstr(workload.cases[1].label, "{four}"));
    assert_string_not_equal(workload.cases[0].reference_id, workload.cases[1].reference_id);
    suite_workload_release(&workload);
}

/* Their products would not fit into whole numbers of 64 bits. */
static void sizes_beyond_any_model_are_refused(void **state)
{
    static const char *const overrides[][2] = {
        {"\"num_attention_heads\":1e300", "/override/num_attention_heads"},
        {"\"attention_head_dim\":9007199254740992", "/override/attention_head_dim"},
        {"\"num_attention_heads\":1048576,\"attention_head_dim\":1048576", "layers times the square of the width"},
        {"\"num_attention_heads\":-1048576", "layers times the square of the width"},
    };
    char text[512];
    (void)state;
    for (size_t i = 0; i < sizeof overrides / sizeof *overrides; i++) {
        snprintf(text, sizeof text, "\"defaults\":{\"model\":{\"name\":\"pixart-alpha-xl-2\",\"override\":{%s}}}",
                 overrides[i][0]);
        assert_int_equal(fixture_refused(text), DIT_ERR_JSON_VALUE);
        if (!strstr(dit_error_last()->message, overrides[i][1])) fail_msg("%s", dit_error_last()->message);
    }
}

static void text_widths_follow_an_override(void **state)
{
    (void)state;
    suite_workload workload = fixture_load("\"defaults\":{\"resolution\":\"256x256\",\"model\":{\"name\":"
                                           "\"flux.1-schnell\",\"override\":{\"joint_attention_dim\":1024,"
                                           "\"num_layers\":1,\"num_single_layers\":1}}}");
    const cJSON *model = cJSON_GetObjectItemCaseSensitive(workload.cases[0].document, "model");
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(model, "text");
    assert_int_equal(cJSON_GetObjectItemCaseSensitive(text, "dim")->valueint, 1024);
    assert_int_equal(cJSON_GetObjectItemCaseSensitive(text, "pooled_dim")->valueint, 768);
    suite_workload_release(&workload);
}

/* ---- identity ---------------------------------------------------------------------------------------------------- */

static void key_order_never_changes_a_case_id(void **state)
{
    char one[DIT_HASH_HEX], other[DIT_HASH_HEX];
    (void)state;
    only_case_id("\"defaults\":{\"model\":{\"name\":\"pixart-alpha-xl-2\",\"override\":{\"num_layers\":2,"
                 "\"sample_size\":64}},\"resolution\":\"256x256\",\"seed\":3,\"ulysses_degree\":2},"
                 "\"measure\":{\"warmup_runs\":2,\"iterations\":5}",
                 one);
    only_case_id("\"measure\":{\"iterations\":5,\"warmup_runs\":2},\"description\":\"words change nothing\","
                 "\"defaults\":{\"ulysses_degree\":2,\"seed\":3,\"width_px\":256,\"height_px\":256,"
                 "\"model\":{\"override\":{\"sample_size\":64,\"num_layers\":2},\"name\":\"pixart-alpha-xl-2\"}}",
                 other);
    assert_string_equal(one, other);
}

static void every_semantic_field_changes_the_case_id(void **state)
{
    static const char *const variants[] = {
        "",
        ",\"num_images\":2",
        ",\"num_inference_steps\":5",
        ",\"guidance_scale\":4.25",
        ",\"seed\":43",
        ",\"text_tokens\":60",
        ",\"scheduler\":{\"solver_order\":1}",
        ",\"weights_seed\":8",
        ",\"cfg_degree\":2",
        ",\"ring_degree\":2",
        ",\"ulysses_degree\":2",
        ",\"ulysses_degree\":2,\"joint_text\":\"split\"",
        ",\"num_images\":2,\"data_degree\":2",
        ",\"threads_per_rank\":2",
        ",\"platform\":\"tiny-twin\"",
    };
    enum { COUNT = sizeof variants / sizeof *variants };
    char ids[COUNT + 3][DIT_HASH_HEX], members[512];
    (void)state;
    fixture_platform("tiny-twin", 2, 8, "68719476736");
    for (int i = 0; i < COUNT; i++) {
        snprintf(members, sizeof members, "\"defaults\":{" PIXART "%s}", variants[i]);
        only_case_id(members, ids[i]);
    }
    only_case_id("\"defaults\":{\"model\":\"pixart-sigma-xl-2\",\"resolution\":\"256x256\"}", ids[COUNT]);
    only_case_id("\"defaults\":{\"model\":\"pixart-alpha-xl-2\",\"resolution\":\"256x512\"}", ids[COUNT + 1]);
    only_case_id("\"defaults\":{" PIXART "},\"measure\":{\"iterations\":4}", ids[COUNT + 2]);
    for (int i = 0; i < COUNT + 3; i++)
        for (int j = 0; j < i; j++) assert_string_not_equal(ids[i], ids[j]);
    char path[256];
    snprintf(path, sizeof path, "%s/platforms/tiny-twin.json", fixture_folder);
    unlink(path);
}

static void a_reference_id_is_about_the_image_only(void **state)
{
    (void)state;
    suite_workload workload = fixture_load("\"defaults\":{" PIXART "},\"axes\":{\"threads_per_rank\":[1,2],"
                                           "\"ulysses_degree\":[1,2],\"seed\":[1,2]}");
    assert_int_equal(workload.case_count, 8);
    for (int i = 2; i < 8; i++) assert_string_equal(workload.cases[i].reference_id, workload.cases[i % 2].reference_id);
    assert_string_not_equal(workload.cases[0].reference_id, workload.cases[1].reference_id);
    suite_workload_release(&workload);
}

static void the_case_id_is_the_hash_of_the_document(void **state)
{
    char *text, id[DIT_HASH_HEX];
    (void)state;
    suite_workload workload = fixture_load("\"defaults\":{" PIXART "}");
    assert_int_equal(dit_json_canonical(workload.cases[0].document, &text), DIT_OK);
    dit_hash(text, strlen(text), id);
    assert_string_equal(id, workload.cases[0].case_id);
    free(text);
    suite_workload_release(&workload);
}

/* ---- drops ------------------------------------------------------------------------------------------------------- */

static void illegal_cells_are_dropped_with_code_and_values(void **state)
{
    (void)state;
    fixture_dropped("\"defaults\":{" PIXART ",\"ulysses_degree\":3}", DIT_ERR_CONSTRAINT_HEADS, "heads 16");
    fixture_dropped("\"defaults\":{" PIXART ",\"ring_degree\":3}", DIT_ERR_CONSTRAINT_TOKENS, "256");
    fixture_dropped("\"defaults\":{" PIXART ",\"data_degree\":2}", DIT_ERR_CONSTRAINT_BATCH, "num_images 1");
    fixture_dropped("\"defaults\":{" PIXART ",\"cfg_degree\":3}", DIT_ERR_CONSTRAINT_DEGREE, "cfg_degree 3");
    fixture_dropped("\"defaults\":{\"model\":\"pixart-alpha-xl-2\",\"resolution\":\"250x256\"}",
                    DIT_ERR_CONSTRAINT_RESOLUTION, "250x256");
    fixture_dropped("\"defaults\":{" PIXART ",\"tensor_degree\":3}", DIT_ERR_CONSTRAINT_HEADS, "tensor_degree 3");
    fixture_dropped("\"defaults\":{" PIXART ",\"pipefusion_degree\":29}", DIT_ERR_CONSTRAINT_STAGES, "blocks");
    fixture_dropped("\"defaults\":{" PIXART ",\"ulysses_degree\":2,\"world_size\":4}", DIT_ERR_CONSTRAINT_PRODUCT, "2");
    fixture_dropped("\"defaults\":{" PIXART ",\"ulysses_degree\":2,\"attention\":\"ring\"}", DIT_ERR_CONSTRAINT_METHOD,
                    "attention ring");
    fixture_dropped("\"defaults\":{" PIXART ",\"method\":\"usp\",\"world_size\":2}", DIT_ERR_CONSTRAINT_METHOD, "usp");
}

static void guidance_distilled_models_have_no_cfg_parallel(void **state)
{
    (void)state;
    fixture_dropped("\"defaults\":{\"resolution\":\"256x256\",\"cfg_degree\":2,\"model\":{\"name\":\"flux.1-dev\","
                    "\"override\":{\"num_layers\":1,\"num_single_layers\":1}}}",
                    DIT_ERR_CONSTRAINT_CFG, "two guidance branches");
}

#define MINI_FLUX                                                                                                      \
    "\"resolution\":\"256x256\",\"model\":{\"name\":\"flux.1-dev\",\"override\":{\"num_layers\":1,\"num_single_"       \
    "layers\":1}}"

static void true_guidance_gives_them_two_branches(void **state)
{
    (void)state;
    suite_workload workload =
        fixture_load("\"defaults\":{" MINI_FLUX ",\"true_cfg_scale\":4},\"axes\":{\"cfg_degree\":[1,2]}");
    assert_int_equal(workload.case_count, 2);
    assert_float_equal(fixture_number(workload.cases[1].tags, "true_cfg_scale"), 4, 0);
    assert_float_equal(fixture_number(fixture_part(&workload.cases[1], "run"), "true_cfg_scale"), 4, 0);
    assert_float_equal(fixture_number(fixture_part(&workload.cases[1], "run"), "guidance_scale"), 3.5, 0);
    suite_workload_release(&workload);
    fixture_dropped("\"defaults\":{" MINI_FLUX ",\"true_cfg_scale\":1,\"cfg_degree\":2}", DIT_ERR_CONSTRAINT_CFG,
                    "two guidance branches");
    fixture_dropped("\"defaults\":{" PIXART ",\"guidance_scale\":1,\"cfg_degree\":2}", DIT_ERR_CONSTRAINT_CFG,
                    "needs two guidance branches"); /* a pipeline runs one at this scale */
    fixture_dropped("\"defaults\":{" PIXART ",\"true_cfg_scale\":4}", DIT_ERR_CONSTRAINT_CFG, "both branches");
}

static void platforms_limit_ranks_and_memory(void **state)
{
    (void)state;
    fixture_dropped("\"defaults\":{" PIXART ",\"ulysses_degree\":16}", DIT_ERR_CONSTRAINT_PLATFORM, "16 ranks");
    fixture_dropped("\"defaults\":{" PIXART ",\"platform\":\"tiny\",\"ulysses_degree\":4}", DIT_ERR_CONSTRAINT_PLATFORM,
                    "tiny has 2");
    fixture_dropped("\"defaults\":{\"model\":\"flux.1-dev\",\"platform\":\"tiny\"}", DIT_ERR_CONSTRAINT_MEMORY, "GiB");
    suite_workload workload = fixture_load("\"defaults\":{" PIXART ",\"ulysses_degree\":4}"); /* 4 ranks on 2 cores */
    assert_int_equal(workload.case_count, 1);
    suite_workload_release(&workload);
}

static void auto_threads_share_the_devices(void **state)
{
    (void)state;
    suite_workload workload =
        fixture_load("\"defaults\":{" PIXART ",\"threads_per_rank\":\"auto\"},\"axes\":{\"ulysses_degree\":[1,2,4]}");
    const int expected[] = {2, 1, 1};
    for (int i = 0; i < 3; i++)
        assert_int_equal(cJSON_GetObjectItemCaseSensitive(workload.cases[i].tags, "threads_per_rank")->valueint,
                         expected[i]);
    suite_workload_release(&workload);
}

static void catalogue_entries_are_dropped_as_unsupported(void **state)
{
    (void)state;
    fixture_dropped("\"defaults\":{\"model\":\"allegro\"}", DIT_ERR_UNSUPPORTED, "architecture facts only");
    fixture_dropped("\"defaults\":{\"model\":\"open-sora-1.2\"}", DIT_ERR_UNSUPPORTED, "architecture facts only");
}

static void exclude_and_constraints_see_the_tags(void **state)
{
    (void)state;
    suite_workload workload =
        fixture_load("\"defaults\":{" PIXART "},\"axes\":{\"method\":[\"ulysses\",\"ring\"],\"world_size\":[1,2,4,8]},"
                     "\"exclude\":[\"method == 'ring' && world_size == 4\"],\"constraints\":[\"world_size <= 4\","
                     "\"image_tokens == 256 && num_layers == 28 && mesh in ['1', 'u2', 'u4', 'r2', 'r4']\"]");
    assert_int_equal(workload.case_count, 4); /* 1, u2, u4, r2 */
    assert_int_equal(count_dropped(&workload, DIT_ERR_CONSTRAINT_USER), 3);
    assert_string_equal(workload.dropped[0].reason, "outside the constraint \"world_size <= 4\"");
    assert_int_equal(cJSON_GetObjectItemCaseSensitive(workload.dropped[0].cell, "world_size")->valueint, 8);
    suite_workload_release(&workload);
}

/* ---- methods ----------------------------------------------------------------------------------------------------- */

static void every_method_resolves_to_a_mesh_that_has_its_name(void **state)
{
    (void)state;
    for (const char *const *method = suite_method_names(); *method; method++) {
        int found = 0;
        for (int world = 1; world <= 64; world++) {
            dit_parallel parallel = {0};
            char name[64];
            if (dit_deal_method(*method, world, &parallel) != DIT_OK) continue;
            assert_int_equal(dit_parallel_world_size(&parallel), world);
            dit_parallel_method(&parallel, name);
            assert_string_equal(name, world == 1 ? "single" : *method);
            found++;
        }
        assert_true(found >= 1);
    }
}

static void usp_splits_as_evenly_as_it_can_with_ulysses_larger(void **state)
{
    static const int expected[][3] = {{4, 2, 2}, {8, 4, 2}, {16, 4, 4}, {6, 3, 2}, {12, 4, 3}};
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        dit_parallel parallel = {0};
        assert_int_equal(dit_deal_method("usp", expected[i][0], &parallel), DIT_OK);
        assert_int_equal(parallel.degree[DIT_AXIS_ULYSSES], expected[i][1]);
        assert_int_equal(parallel.degree[DIT_AXIS_RING], expected[i][2]);
    }
}

/* ---- size -------------------------------------------------------------------------------------------------------- */

static void ten_thousand_cells_expand_in_seconds(void **state)
{
    char *members = NULL, seeds[2048] = "0";
    (void)state;
    for (int i = 1; i < 100; i++) snprintf(seeds + strlen(seeds), sizeof seeds - strlen(seeds), ",%d", i);
    assert_true(asprintf(&members, "\"defaults\":{" PIXART "},\"axes\":{\"seed\":[%s],\"weights_seed\":[%s]}", seeds,
                         seeds) > 0);
    clock_t start = clock();
    suite_workload workload = fixture_load(members);
    assert_int_equal(workload.case_count, 10000);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 60);
    suite_workload_release(&workload);
    free(members);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_multiply_and_zips_move_together),
        cmocka_unit_test(equal_cases_are_merged_and_kept_once),
        cmocka_unit_test(joint_text_means_nothing_on_one_rank),
        cmocka_unit_test(a_workload_of_defaults_is_one_case),
        cmocka_unit_test(an_override_shows_in_label_and_tag),
        cmocka_unit_test(sizes_beyond_any_model_are_refused),
        cmocka_unit_test(text_widths_follow_an_override),
        cmocka_unit_test(key_order_never_changes_a_case_id),
        cmocka_unit_test(every_semantic_field_changes_the_case_id),
        cmocka_unit_test(a_reference_id_is_about_the_image_only),
        cmocka_unit_test(the_case_id_is_the_hash_of_the_document),
        cmocka_unit_test(illegal_cells_are_dropped_with_code_and_values),
        cmocka_unit_test(guidance_distilled_models_have_no_cfg_parallel),
        cmocka_unit_test(true_guidance_gives_them_two_branches),
        cmocka_unit_test(platforms_limit_ranks_and_memory),
        cmocka_unit_test(auto_threads_share_the_devices),
        cmocka_unit_test(catalogue_entries_are_dropped_as_unsupported),
        cmocka_unit_test(exclude_and_constraints_see_the_tags),
        cmocka_unit_test(every_method_resolves_to_a_mesh_that_has_its_name),
        cmocka_unit_test(usp_splits_as_evenly_as_it_can_with_ulysses_larger),
        cmocka_unit_test(ten_thousand_cells_expand_in_seconds),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
