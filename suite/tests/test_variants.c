/* Variants of models, clips, and VAEs alone: what their cases say, and which are dropped or refused. */
#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/model.h"
#include "suite/catalogue/vae.h"
#include "suite/tests/workload_fixture.h"
#include "suite/workload/workload.h"

/* ---- variants ---------------------------------------------------------------------------------------------------- */

static void a_variant_is_a_model_by_its_name(void **state)
{
    (void)state;
    suite_workload workload =
        fixture_load("\"defaults\":{\"model\":\"pixart-alpha-xl-2~two-blocks\",\"resolution\":\"256x256\"}");
    assert_int_equal(workload.case_count, 1);
    const suite_case *one = &workload.cases[0];
    assert_string_equal(fixture_tag(one, "model"), "pixart-alpha-xl-2~two-blocks");
    assert_string_equal(fixture_tag(one, "base_model"), "pixart-alpha-xl-2");
    assert_string_equal(one->label, "pixart-alpha-xl-2~two-blocks 256x256 1");
    assert_int_equal(fixture_number(one->tags, "num_layers"), 2);
    assert_int_equal(
        fixture_number(cJSON_GetObjectItemCaseSensitive(fixture_part(one, "model"), "config"), "num_layers"), 2);
    suite_workload_release(&workload);
}

static void stated_parameters_follow_layers_and_width(void **state)
{
    suite_model whole, cut;
    (void)state;
    assert_int_equal(suite_model_load("flux.1-dev", &whole), DIT_OK);
    assert_int_equal(suite_model_load("flux.1-dev~one-of-each", &cut), DIT_OK);
    assert_int_equal(whole.parameters, 11900000000);
    assert_int_equal(cut.parameters, 11900000000 * 2 / 57); /* 2 of 19 + 38 blocks */
    suite_model_release(&whole);
    suite_model_release(&cut);
    suite_workload workload =
        fixture_load("\"defaults\":{\"model\":\"flux.1-dev~one-of-each\",\"resolution\":\"256x256\"}");
    assert_int_equal(fixture_number(fixture_part(&workload.cases[0], "model"), "parameters"), 11900000000 * 2 / 57);
    suite_workload_release(&workload);
}

static void an_unknown_variant_names_the_nearest(void **state)
{
    suite_model model;
    (void)state;
    assert_int_equal(suite_model_load("pixart-alpha-xl-2~two-block", &model), DIT_ERR_NOT_FOUND);
    assert_string_equal(dit_error_last()->hint, "did you mean \"pixart-alpha-xl-2~two-blocks\"?");
    assert_int_equal(suite_model_load("allegro~small", &model), DIT_ERR_NOT_FOUND);
    assert_int_equal(fixture_refused("\"defaults\":{\"model\":\"flux.1-dev~none\"}"), DIT_ERR_NOT_FOUND);
    assert_non_null(strstr(dit_error_last()->message, "/defaults/model"));
}

/* Each laid over its model's config without a complaint: keys, types and tied widths. */
static void every_shipped_variant_loads(void **state)
{
    char **names, full[320];
    int count = 0;
    (void)state;
    assert_int_equal(suite_catalogue_names("models", &names), DIT_OK);
    for (char **name = names; *name; name++) {
        suite_model model, variant;
        const cJSON *one;
        if (suite_model_load(*name, &model) != DIT_OK) fail_msg("%s: %s", *name, dit_error_last()->message);
        cJSON_ArrayForEach(one, model.variants)
        {
            snprintf(full, sizeof full, "%s~%s", *name, one->string);
            if (suite_model_load(full, &variant) != DIT_OK) fail_msg("%s: %s", full, dit_error_last()->message);
            assert_string_equal(variant.variant, full);
            suite_model_release(&variant);
            count++;
        }
        suite_model_release(&model);
    }
    suite_names_free(names);
    assert_true(count >= 8);
}

/* ---- clips ------------------------------------------------------------------------------------------------------- */

static void frames_are_an_axis_of_clips(void **state)
{
    (void)state;
    suite_workload workload = fixture_load("\"defaults\":{\"model\":\"latte-1~one-pair\",\"resolution\":\"256x256\"},"
                                           "\"axes\":{\"num_frames\":[4,16]}");
    assert_int_equal(workload.case_count, 2);
    assert_string_equal(workload.cases[0].label, "latte-1~one-pair 256x256 4f 1");
    assert_int_equal(fixture_number(workload.cases[0].tags, "num_frames"), 4);
    assert_int_equal(fixture_number(fixture_part(&workload.cases[1], "run"), "num_frames"), 16);
    assert_int_equal(fixture_number(workload.cases[1].tags, "image_tokens"), 16 * 16 * 16);
    suite_workload_release(&workload);
    workload = fixture_load("\"defaults\":{\"model\":\"latte-1~one-pair\",\"resolution\":\"256x256\"}");
    assert_int_equal(fixture_number(fixture_part(&workload.cases[0], "run"), "num_frames"), 16); /* the model's own */
    suite_workload_release(&workload);
}

static void an_image_has_no_frames(void **state)
{
    (void)state;
    suite_workload workload = fixture_load("\"defaults\":{\"model\":\"pixart-alpha-xl-2\",\"resolution\":\"256x256\"},"
                                           "\"axes\":{\"num_frames\":[1,9]}");
    assert_int_equal(workload.case_count, 1);
    assert_null(cJSON_GetObjectItemCaseSensitive(fixture_part(&workload.cases[0], "run"), "num_frames"));
    assert_int_equal(fixture_number(workload.cases[0].tags, "num_frames"), 1);
    assert_int_equal(workload.dropped_count, 1);
    assert_int_equal(workload.dropped[0].code, DIT_ERR_CONSTRAINT_RESOLUTION);
    suite_workload_release(&workload);
}

/* ---- VAEs -------------------------------------------------------------------------------------------------------- */

static void a_decode_is_a_case_of_the_vae(void **state)
{
    (void)state;
    suite_workload workload =
        fixture_load("\"program\":\"vae_decode\",\"defaults\":{\"resolution\":\"256x128\",\"seed\":3},"
                     "\"axes\":{\"model\":[\"flux.1-dev\",\"flux.1-schnell\"],\"tiling\":[false,true]}");
    assert_int_equal(workload.case_count, 2); /* both models have the same VAE */
    assert_int_equal(workload.merged_count, 2);
    const suite_case *one = &workload.cases[1];
    const cJSON *vae = fixture_part(one, "vae");
    assert_string_equal(fixture_tag(one, "model"), "vae:flux");
    assert_string_equal(fixture_tag(one, "tiling"), "on");
    assert_string_equal(one->label, "vae:flux 256x128 1 tiling=true");
    assert_string_equal(one->reference_id, "");
    assert_false(one->is_reference);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(vae, "tiling")));
    assert_int_equal(fixture_number(cJSON_GetObjectItemCaseSensitive(vae, "config"), "latent_channels"), 16);
    assert_int_equal(fixture_number(fixture_part(one, "run"), "width_px"), 256);
    assert_null(cJSON_GetObjectItemCaseSensitive(one->document, "model"));
    assert_null(cJSON_GetObjectItemCaseSensitive(one->document, "scheduler"));
    suite_workload_release(&workload);
}

static void a_shared_decode_has_its_ranks_bytes_and_reference(void **state)
{
    (void)state;
    suite_workload workload =
        fixture_load("\"program\":\"vae_decode\",\"defaults\":{\"model\":\"flux.1-dev\",\"resolution\":\"64x48\"},"
                     "\"axes\":{\"rows_degree\":[1,2,3]}");
    assert_int_equal(workload.case_count, 3);
    const suite_case *one = &workload.cases[0], *three = &workload.cases[2];
    assert_true(one->is_reference);
    assert_null(cJSON_GetObjectItemCaseSensitive(one->document, "parallel"));
    assert_int_equal(fixture_number(one->tags, "rows_degree"), 1);
    assert_int_equal(one->predicted_bytes, 0);
    assert_false(three->is_reference);
    assert_string_equal(three->reference_id, one->reference_id);
    assert_int_equal(three->world_size, 3);
    assert_int_equal(fixture_number(fixture_part(three, "parallel"), "rows_degree"), 3);
    assert_string_equal(fixture_tag(three, "method"), "vae-rows");
    assert_string_equal(fixture_tag(three, "mesh"), "rows3");
    assert_true(three->predicted_bytes > workload.cases[1].predicted_bytes); /* two neighbours */
    suite_workload_release(&workload);
}

static void a_method_is_another_word_for_the_degree(void **state)
{
    (void)state;
    suite_workload workload = fixture_load("\"program\":\"vae_decode\",\"defaults\":{\"model\":\"flux.1-dev\","
                                           "\"resolution\":\"64x48\",\"method\":\"vae-rows\",\"world_size\":2}");
    assert_int_equal(workload.case_count, 1);
    assert_int_equal(fixture_number(fixture_part(&workload.cases[0], "parallel"), "rows_degree"), 2);
    suite_workload_release(&workload);
    workload = fixture_load("\"defaults\":{\"model\":\"flux.1-dev\",\"method\":\"vae-rows\",\"world_size\":2}");
    assert_int_equal(workload.case_count, 0); /* sampling has no rows to share */
    assert_int_equal(workload.dropped[0].code, DIT_ERR_CONSTRAINT_PRODUCT);
    suite_workload_release(&workload);
}

static void a_decode_that_cannot_run_is_dropped(void **state)
{
    (void)state;
    suite_workload workload =
        fixture_load("\"program\":\"vae_decode\",\"defaults\":{\"model\":\"flux.1-dev\",\"ulysses_degree\":2}");
    assert_int_equal(workload.dropped_count, 1);
    assert_int_equal(workload.dropped[0].code, DIT_ERR_UNSUPPORTED);
    suite_workload_release(&workload);
    workload = fixture_load("\"program\":\"vae_decode\",\"defaults\":{\"model\":\"flux.1-dev\",\"rows_degree\":2},"
                            "\"axes\":{\"resolution\":[\"64x8\",\"64x16\"],\"tiling\":[false,true]}");
    assert_int_equal(workload.case_count, 1); /* one row of latents is none for two; tiles are not shared */
    assert_int_equal(workload.dropped_count, 3);
    assert_int_equal(workload.dropped[0].code, DIT_ERR_CONSTRAINT_DEGREE);
    assert_int_equal(workload.dropped[1].code, DIT_ERR_UNSUPPORTED);
    suite_workload_release(&workload);
    workload = fixture_load("\"program\":\"vae_decode\",\"defaults\":{\"model\":\"allegro\"}");
    assert_int_equal(workload.dropped_count, 1);
    assert_non_null(strstr(workload.dropped[0].reason, "names no VAE"));
    suite_workload_release(&workload);
}

static void a_parameter_of_the_other_program_is_refused(void **state)
{
    (void)state;
    assert_int_equal(
        fixture_refused("\"program\":\"vae_decode\",\"defaults\":{\"model\":\"flux.1-dev\",\"guidance_scale\":3}"),
        DIT_ERR_WORKLOAD);
    assert_non_null(strstr(dit_error_last()->message, "/defaults/guidance_scale"));
    assert_int_equal(fixture_refused("\"defaults\":{\"model\":\"flux.1-dev\",\"tiling\":true}"), DIT_ERR_WORKLOAD);
    assert_int_equal(fixture_refused("\"defaults\":{\"model\":\"flux.1-dev\",\"rows_degree\":2}"), DIT_ERR_WORKLOAD);
    assert_int_equal(
        fixture_refused("\"program\":\"vae_decode\",\"defaults\":{\"model\":\"flux.1-dev\",\"rows_degree\":2,"
                        "\"method\":\"vae-rows\",\"world_size\":2}"),
        DIT_ERR_WORKLOAD);
    assert_int_equal(fixture_refused("\"program\":\"vae_decode\",\"defaults\":{\"model\":\"flux.1-dev\",\"tiling\":1}"),
                     DIT_ERR_JSON_TYPE);
}

static void shipped_vaes_load_and_models_name_them(void **state)
{
    char **names;
    int count = 0;
    (void)state;
    assert_int_equal(suite_catalogue_names("vaes", &names), DIT_OK);
    for (char **name = names; *name; name++, count++) {
        suite_vae vae;
        if (suite_vae_load(*name, &vae) != DIT_OK) fail_msg("%s: %s", *name, dit_error_last()->message);
        suite_vae_release(&vae);
    }
    suite_names_free(names);
    assert_true(count >= 6);
    assert_int_equal(suite_catalogue_names("models", &names), DIT_OK);
    for (char **name = names; *name; name++) {
        suite_model model;
        suite_vae vae = {0};
        assert_int_equal(suite_model_load(*name, &model), DIT_OK);
        if (model.vae && suite_vae_load(model.vae, &vae) != DIT_OK) fail_msg("%s: %s", *name, model.vae);
        suite_vae_release(&vae);
        suite_model_release(&model);
    }
    suite_names_free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_variant_is_a_model_by_its_name),
        cmocka_unit_test(stated_parameters_follow_layers_and_width),
        cmocka_unit_test(an_unknown_variant_names_the_nearest),
        cmocka_unit_test(every_shipped_variant_loads),
        cmocka_unit_test(frames_are_an_axis_of_clips),
        cmocka_unit_test(an_image_has_no_frames),
        cmocka_unit_test(a_decode_is_a_case_of_the_vae),
        cmocka_unit_test(a_shared_decode_has_its_ranks_bytes_and_reference),
        cmocka_unit_test(a_method_is_another_word_for_the_degree),
        cmocka_unit_test(a_decode_that_cannot_run_is_dropped),
        cmocka_unit_test(a_parameter_of_the_other_program_is_refused),
        cmocka_unit_test(shipped_vaes_load_and_models_name_them),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
