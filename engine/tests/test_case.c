/* Reading a case: what is asked for is checked before anything is allocated. */
#include "engine/case/case.h"
#include "engine/models/model.h"

#include "base/tests/test.h"

/* A small valid case; `model`, `run` and `rest` are spliced in. */
static dit_status read_case(const char *model, const char *run, const char *rest, dit_case *out, dit_json *doc)
{
    static char text[4096];
    snprintf(
        text, sizeof text,
        "{\"schema\":\"ditbench.case/1\",\"program\":\"denoise\",\"model\":{\"name\":\"m\",\"config\":{\"_class_name\":"
        "\"PixArtTransformer2DModel\",\"num_layers\":2,\"num_attention_heads\":4,\"attention_head_dim\":8,\"in_"
        "channels\":4,"
        "\"out_channels\":null,\"patch_size\":2},\"latent\":{\"channels\":4,\"vae_spatial\":8,\"patch\":[2,2]},"
        "\"text\":{\"tokens\":7,\"dim\":32},"
        "\"weights\":{\"kind\":\"seeded\",\"seed\":1}%s},\"scheduler\":{\"_class_name\":"
        "\"DPMSolverMultistepScheduler\"},"
        "\"run\":{\"height_px\":64,\"width_px\":32,\"num_images\":1,\"num_inference_steps\":2,\"seed\":3%s}%s}",
        model, run, rest);
    assert_int_equal(dit_json_parse(text, strlen(text), "case.json", doc), DIT_OK);
    return dit_case_read(doc, out);
}

static void a_valid_case_gives_facts_and_defaults(void **state)
{
    dit_case kase;
    dit_json doc = {0};
    (void)state;
    assert_int_equal(read_case("", "", "", &kase, &doc), DIT_OK);
    assert_int_equal(kase.facts.image_tokens, 8);
    assert_int_equal(kase.facts.guidance_branches, 2);
    assert_int_equal(kase.facts.latent.height, 8);
    assert_int_equal(kase.facts.latent.patch, 2);
    assert_string_equal(kase.attention, "auto");
    assert_int_equal(kase.iterations, 1);
    assert_null(cJSON_GetObjectItemCaseSensitive(kase.model_config, "out_channels")); /* null is absent */
    dit_json_release(&doc);
}

static void the_id_is_the_content(void **state)
{
    dit_case a, b;
    dit_json one = {0}, two = {0};
    (void)state;
    assert_int_equal(read_case("", "", "", &a, &one), DIT_OK);
    assert_int_equal(read_case("", ",\"guidance_scale\":2", "", &b, &two), DIT_OK);
    assert_string_not_equal(a.case_id, b.case_id);
    dit_json_release(&one);
    dit_json_release(&two);
}

#define CAPTION(text) ",\"conditions\":{\"kind\":\"captions\",\"path\":\"x\",\"captions\":[\"" text "\"]}"

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *model, *run, *rest;
        dit_status expected;
        const char *named;
    } cases[] = {
        {"", "", ",\"paralel\":{}", DIT_ERR_JSON_UNKNOWN_KEY, "paralel"},
        {"", "", ",\"parallel\":{\"ulyses_degree\":2}", DIT_ERR_JSON_UNKNOWN_KEY, "/parallel/ulyses_degree"},
        {"", "", ",\"parallel\":{\"ring_degree\":0}", DIT_ERR_JSON_VALUE, "/parallel/ring_degree"},
        {"", "", ",\"parallel\":{\"joint_text\":\"both\"}", DIT_ERR_JSON_VALUE, "joint_text"},
        {"", ",\"steps\":3", "", DIT_ERR_JSON_UNKNOWN_KEY, "/run/steps"},
        {"", ",\"guidance_scale\":\"high\"", "", DIT_ERR_JSON_TYPE, "guidance_scale"},
        {"", ",\"true_cfg_scale\":3", "", DIT_ERR_CONSTRAINT_CFG, "true_cfg_scale"},
        {",\"vae\":1", "", "", DIT_ERR_JSON_UNKNOWN_KEY, "/model/vae"},
        {"", ",\"guidance_scale_2\":3", "", DIT_ERR_JSON_VALUE, "guidance_scale_2"},
        {",\"transformer_2\":{\"boundary_ratio\":1.5}", "", "", DIT_ERR_JSON_VALUE,
         "/model/transformer_2/boundary_ratio"},
        {",\"transformer_2\":{\"boundary_ratio\":0.5}", "", "", DIT_ERR_JSON_MISSING, "weights"},
        {",\"transformer_2\":{\"weights\":{}}", "", "", DIT_ERR_JSON_MISSING, "boundary_ratio"},
        {"", "", ",\"measure\":{\"iterations\":0}", DIT_ERR_JSON_VALUE, "/measure/iterations"},
        {"", "", ",\"measure\":{\"iterations\":1e9}", DIT_ERR_JSON_VALUE, "/measure/iterations"},
        {"", "", ",\"platform\":{\"threads_per_rank\":-1}", DIT_ERR_JSON_VALUE, "threads_per_rank"},
        {"", "", CAPTION("grey; large red plain ring top-left moving up"), DIT_ERR_JSON_VALUE,
         "but there is one frame"},
        {"", ",\"num_frames\":8", CAPTION("grey; large red plain ring top-left"), DIT_ERR_JSON_VALUE,
         "a caption of a picture, but there are 8 frames"},
        {"", "", CAPTION("grey; large rde plain ring top-left"), DIT_ERR_JSON_VALUE, "\"rde\""},
        {"", "", ",\"conditions\":{\"kind\":\"captions\",\"path\":\"x\",\"captions\":[]}", DIT_ERR_JSON_MISSING,
         "at least one caption"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dit_case kase;
        dit_json doc = {0};
        dit_status st = read_case(cases[i].model, cases[i].run, cases[i].rest, &kase, &doc);
        if (st != cases[i].expected) print_error("case %zu: %s\n", i, dit_error_last()->message);
        assert_int_equal(st, cases[i].expected);
        assert_non_null(strstr(dit_error_last()->message, cases[i].named));
        dit_json_release(&doc);
    }
}

static void every_architecture_has_a_model(void **state)
{
    (void)state;
    for (int i = 0; dit_architecture_get(i); i++) {
        char text[128];
        dit_json doc = {0};
        const dit_model_ops *ops;
        snprintf(text, sizeof text, "{\"_class_name\":\"%s\"}", dit_architecture_get(i)->class_name);
        assert_ok(dit_json_parse(text, strlen(text), "config.json", &doc));
        assert_ok(dit_model_find(&(dit_config){&doc, doc.root, ""}, &ops));
        assert_string_equal(ops->class_name, dit_architecture_get(i)->class_name);
        dit_json_release(&doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_valid_case_gives_facts_and_defaults),
        cmocka_unit_test(the_id_is_the_content),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(every_architecture_has_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
