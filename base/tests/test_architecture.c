/* Architectures: what a config makes of its row, and what is refused. */
#include "base/tests/test.h"

#include "base/architecture.h"
#include "base/case_facts.h"

/* A case of a small model; `config` and `latent` are spliced in, `injection` is the model file's word. */
static dit_status read_case(const char *config, const char *injection, const char *latent, dit_facts *out)
{
    char text[1024];
    dit_json doc = {0};
    snprintf(text, sizeof text,
             "{\"model\":{\"config\":{%s,\"num_attention_heads\":4,\"attention_head_dim\":16},"
             "\"latent\":{\"channels\":4,\"vae_spatial\":8,\"patch\":[2,2]%s},"
             "\"text\":{\"tokens\":8,\"injection\":\"%s\"}},\"run\":{\"height_px\":64,\"width_px\":64,\"num_frames\":3,"
             "\"num_images\":1,\"num_inference_steps\":2}}",
             config, latent, injection);
    assert_int_equal(dit_json_parse(text, strlen(text), "case", &doc), DIT_OK);
    dit_status st = dit_facts_from_case(&doc, doc.root, "", out);
    dit_json_release(&doc);
    return st;
}

static void every_row_is_found_by_its_class(void **state)
{
    int rows = 0;
    (void)state;
    for (const dit_architecture *row; (row = dit_architecture_get(rows)); rows++) {
        assert_ptr_equal(dit_architecture_find(row->class_name), row);
        assert_true(row->guidance_branches == 1 || row->guidance_branches == 2);
        assert_non_null(row->kinds[0].key);
    }
    assert_true(rows >= 8);
    assert_null(dit_architecture_get(-1));
    assert_null(dit_architecture_find("UNet2DConditionModel"));
}

/* What modules are said to send makes up what the block does: a cache takes it away module by module. */
static void modules_make_up_their_blocks(void **state)
{
    const dit_architecture *row;
    (void)state;
    for (int i = 0; (row = dit_architecture_get(i)); i++)
        for (int kind = 0; kind < DIT_BLOCK_KINDS && row->kinds[kind].key; kind++) {
            const dit_block_run *block = &row->kinds[kind].block;
            dit_module_parts sum = {0};
            for (int module = 0; module < DIT_MODULE_COUNT; module++) {
                const dit_module_parts *parts = &block->modules[module];
                sum.calls += parts->calls, sum.image += parts->image, sum.text += parts->text;
                sum.both += parts->both, sum.norms += parts->norms, sum.halos += parts->halos;
            }
            assert_int_equal(sum.calls, 1);
            assert_int_equal(sum.image, block->sums.image);
            assert_int_equal(sum.text, block->sums.text);
            assert_int_equal(sum.both, block->sums.both);
            assert_int_equal(sum.norms, block->sums.norms);
            assert_int_equal(sum.halos, block->halos);
        }
}

static void a_class_without_a_row_is_refused_with_those_there_are(void **state)
{
    dit_facts facts;
    (void)state;
    assert_fails(read_case("\"_class_name\":\"UNet2DConditionModel\",\"num_layers\":2", "joint", "", &facts),
                 DIT_ERR_UNSUPPORTED, "/model/config/_class_name");
    assert_contains(dit_error_last()->hint, "FluxTransformer2DModel");
}

static void blocks_that_feed_each_other_make_skips(void **state)
{
    dit_facts facts;
    (void)state;
    assert_ok(read_case("\"_class_name\":\"HunyuanDiT2DModel\",\"num_layers\":6", "cross-attention", "", &facts));
    assert_int_equal(facts.skips, 2);
    assert_ok(read_case("\"_class_name\":\"HunyuanDiT2DModel\",\"num_layers\":2", "cross-attention", "", &facts));
    assert_int_equal(facts.skips, 0);
}

static void blocks_of_two_kinds_follow_each_other(void **state)
{
    dit_facts facts;
    (void)state;
    assert_ok(read_case("\"_class_name\":\"FluxTransformer2DModel\",\"num_layers\":2,\"num_single_layers\":3", "joint",
                        "", &facts));
    assert_int_equal(facts.layers, 5);
    assert_int_equal(facts.guidance_branches, 1);
    assert_int_equal(dit_facts_blocks(&facts, 0, 2).sums.text, 2 * 2);
    assert_int_equal(dit_facts_blocks(&facts, 2, 3).sums.both, 3);
    assert_int_equal(dit_facts_blocks(&facts, 2, 3).sums.text, 0);
}

static void a_picture_counts_only_where_the_config_has_one(void **state)
{
    dit_facts facts;
    (void)state;
    assert_ok(read_case("\"_class_name\":\"WanTransformer3DModel\",\"num_layers\":1,\"image_dim\":1280",
                        "cross-attention", "", &facts));
    assert_int_equal(facts.picture_tokens, 257);
    assert_ok(read_case("\"_class_name\":\"WanTransformer3DModel\",\"num_layers\":1,\"image_dim\":null",
                        "cross-attention", "", &facts));
    assert_int_equal(facts.picture_tokens, 0);
}

static void a_model_file_that_contradicts_its_architecture_is_refused(void **state)
{
    static const char latte[] = "\"_class_name\":\"LatteTransformer3DModel\",\"num_layers\":1";
    dit_facts facts;
    (void)state;
    assert_ok(read_case(latte, "cross-attention", "", &facts));
    assert_int_equal(facts.segments, 3);
    assert_ok(read_case(latte, "cross-attention", ",\"attention_per_frame\":true", &facts));
    assert_fails(read_case(latte, "cross-attention", ",\"attention_per_frame\":false", &facts), DIT_ERR_SHAPE,
                 "per frame");
    assert_fails(read_case(latte, "joint", "", &facts), DIT_ERR_SHAPE, "cross-attention");
}

static void dual_blocks_are_indices_of_blocks(void **state)
{
    dit_facts facts;
    (void)state;
    assert_fails(read_case("\"_class_name\":\"SD3Transformer2DModel\",\"num_layers\":3,"
                           "\"dual_attention_layers\":[-1]",
                           "joint", "", &facts),
                 DIT_ERR_JSON_VALUE, "indices of blocks");
    assert_ok(read_case("\"_class_name\":\"SD3Transformer2DModel\",\"num_layers\":3,"
                        "\"dual_attention_layers\":[1,7]",
                        "joint", "", &facts));
    assert_int_equal(dit_facts_blocks(&facts, 1, 1).image_layers, 1);
    assert_int_equal(dit_facts_blocks(&facts, 0, 3).image_layers, 1);
}

/* Texts are filled up to multiples, and so is an image that is none: in rows of text, one multiple more. */
static void text_and_image_are_filled_up(void **state)
{
    static const struct {
        int64_t multiple, text, image, rows;
    } cases[] = {{0, 7, 5, 7},   {32, 7, 64, 32},  {32, 32, 64, 32}, {32, 33, 64, 64},
                 {32, 0, 64, 0}, {32, 32, 20, 64}, {32, 1, 65, 64},  {1, 7, 5, 7}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const dit_facts facts = {
            .text_multiple = cases[i].multiple, .text_tokens = cases[i].text, .image_tokens = cases[i].image};
        assert_int_equal(dit_facts_text_rows(&facts), cases[i].rows);
    }
}

static void a_width_of_all_heads_is_divided_by_them(void **state)
{
    static const char class_name[] = "\"_class_name\":\"ZImageTransformer2DModel\",\"n_refiner_layers\":2";
    char config[256];
    dit_facts facts;
    (void)state;
    snprintf(config, sizeof config, "%s,\"n_layers\":3,\"n_heads\":6,\"dim\":72", class_name);
    assert_ok(read_case(config, "joint", "", &facts));
    assert_true(facts.heads == 6 && facts.head_dim == 12 && facts.layers == 5 && facts.text_multiple == 32);
    assert_int_equal(dit_facts_blocks(&facts, 0, 5).sums.both, 2 * 5);
    snprintf(config, sizeof config, "%s,\"n_layers\":3,\"n_heads\":5,\"dim\":72", class_name);
    assert_fails(read_case(config, "joint", "", &facts), DIT_ERR_SHAPE, "dim 72 is not divisible by n_heads 5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_make_up_their_blocks),
        cmocka_unit_test(text_and_image_are_filled_up),
        cmocka_unit_test(a_width_of_all_heads_is_divided_by_them),
        cmocka_unit_test(every_row_is_found_by_its_class),
        cmocka_unit_test(a_class_without_a_row_is_refused_with_those_there_are),
        cmocka_unit_test(blocks_that_feed_each_other_make_skips),
        cmocka_unit_test(blocks_of_two_kinds_follow_each_other),
        cmocka_unit_test(a_picture_counts_only_where_the_config_has_one),
        cmocka_unit_test(a_model_file_that_contradicts_its_architecture_is_refused),
        cmocka_unit_test(dual_blocks_are_indices_of_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
