/* Facts of a model, and how much memory a rank needs by them. */
#include "base/case_facts.h"
#include "base/facts.h"
#include "base/footprint.h"

#include "base/tests/mesh_fixture.h"

/* PipeFusion: weights 1/P, and 2 S h L/P of K and V; DistriFusion: all weights, and 2 S h L */
static void stages_and_patches_keep_the_published_memory(void **state)
{
    dit_facts facts = pixart_facts();
    int64_t alone[4], bytes[4], store = 2 * 2 * 4096LL * 1152 * 28 * 4; /* of both branches */
    dit_parallel one = mesh(1, 1, 1, 1);
    (void)state;
    dit_memory_predict(&one, &facts, alone);
    for (int n = 2; n <= 28; n *= n == 4 ? 7 : 2) {
        dit_parallel stages = with_stages(one, n);
        dit_memory_predict(&stages, &facts, bytes);
        assert_in_range(bytes[0], alone[0] / n, alone[0] / n + alone[0] / 20); /* embeddings are everywhere */
        int64_t text = 2 * 2 * 120 * 1152LL * 28 * 4; /* cross-attention's K and V go with the blocks, too */
        assert_int_equal(bytes[1] - alone[1], store / n + text / n - text);
        if (4096 % n) continue;
        dit_parallel naive = with_patches(one, n, DIT_PATCH_NAIVE), all = naive, part = naive;
        int64_t without[4];
        all.patch_method = DIT_PATCH_DISTRIFUSION, part.patch_method = DIT_PATCH_PCPP;
        dit_memory_predict(&naive, &facts, without);
        dit_memory_predict(&all, &facts, bytes);
        assert_true(bytes[0] == alone[0] && bytes[1] - without[1] == store);
        dit_memory_predict(&part, &facts, bytes);
        assert_true(bytes[0] == alone[0] && bytes[1] - without[1] == store / n); /* half of two neighbours */
    }
}

static void weights_shrink_with_tensor_ranks(void **state)
{
    dit_facts facts = flux_facts();
    (void)state;
    int64_t bytes[4], before = facts.parameters * 4;
    for (int n = 2; n <= 8; n *= 2, before = bytes[0]) {
        dit_parallel parallel = with_tensor(mesh(1, 1, 1, 1), n);
        dit_memory_predict(&parallel, &facts, bytes);
        assert_true(bytes[0] < before && bytes[0] > facts.parameters * 4 / n);
    }
}

static void a_second_transformer_has_memory_of_its_own(void **state)
{
    dit_facts facts = pixart_facts();
    const dit_parallel parallel = mesh(2, 1, 1, 1);
    int64_t one[4], two[4];
    (void)state;
    dit_memory_predict(&parallel, &facts, one);
    facts.two_transformers = true;
    dit_memory_predict(&parallel, &facts, two);
    assert_true(two[0] == 2 * one[0] && two[2] == 2 * one[2] && two[3] == 2 * one[3]);
    assert_true(two[1] > one[1] && two[1] < 2 * one[1]); /* latents are shared */
}

static void memory_is_that_of_the_heaviest_stage(void **state)
{
    dit_facts facts = pixart_facts(), flux = flux_facts();
    dit_parallel even = with_stages(mesh(1, 1, 1, 1), 4), uneven = even;
    static const int blocks[] = {1, 1, 21, 5};
    int64_t of_seven[4], of_most[4];
    (void)state;
    memcpy(uneven.stage_blocks, blocks, sizeof blocks);
    dit_memory_predict(&even, &facts, of_seven);
    dit_memory_predict(&uneven, &facts, of_most);
    assert_in_range(of_most[0], of_seven[0] * 28 / 10, 3 * of_seven[0]);
    assert_true(of_most[1] > 2 * of_seven[1]);
    dit_memory_predict(&even, &flux, of_seven); /* 14 of 19 double blocks, of 57 in all: 17.9 GiB counted */
    assert_in_range(of_seven[0], 17LL << 30, 19LL << 30);
}

static void a_case_document_gives_its_facts(void **state)
{
    static const char text[] =
        "{\"model\":{\"config\":{\"_class_name\":\"FluxTransformer2DModel\",\"num_layers\":19,\"num_single_layers\":38,"
        "\"num_attention_heads\":24,\"attention_head_dim\":128,\"in_channels\":64,\"patch_size\":1},"
        "\"latent\":{\"channels\":16,\"vae_spatial\":8,\"patch\":[2,2]},"
        "\"text\":{\"tokens\":512,\"dim\":4096,\"pooled_dim\":768,\"injection\":\"joint "
        "attention\"},\"guidance\":\"distilled\"},\"run\":{\"height_px\":1024,\"width_px\":512,"
        "\"num_images\":1,\"num_inference_steps\":28}}";
    dit_json doc = {0};
    dit_facts facts;
    (void)state;
    assert_int_equal(dit_json_parse(text, strlen(text), "case", &doc), DIT_OK);
    assert_int_equal(dit_facts_from_case(&doc, doc.root, "", &facts), DIT_OK);
    assert_int_equal(facts.image_tokens, 64 * 32);
    assert_int_equal(facts.token_channels, 64);
    assert_int_equal(facts.layers, 57);
    dit_block_run all = dit_facts_blocks(&facts, 0, 57), both = dit_facts_blocks(&facts, 18, 2);
    assert_int_equal(all.sums.image, 38);
    assert_int_equal(all.sums.text, 38);
    assert_int_equal(all.sums.both, 38);
    assert_true(both.count == 2 && both.sums.image == 2 && both.sums.text == 2 && both.sums.both == 1);
    assert_true(facts.joint);
    assert_int_equal(facts.guidance_branches, 1);
    assert_true(facts.parameters > 11500000000LL && facts.parameters < 12300000000LL); /* the card says 11.9e9 */
    dit_json_release(&doc);
}

static void a_cut_model_keeps_only_the_dual_layers_it_has(void **state)
{
    static const char text[] =
        "{\"model\":{\"config\":{\"_class_name\":\"SD3Transformer2DModel\",\"num_layers\":3,\"num_attention_heads\":24,"
        "\"attention_head_dim\":64,\"dual_attention_layers\":[0,1,2,3,4,5]},"
        "\"latent\":{\"channels\":16,\"vae_spatial\":8,\"patch\":[2,2]},"
        "\"text\":{\"tokens\":333,\"injection\":\"joint\"}},\"run\":{\"height_px\":256,\"width_px\":256,"
        "\"num_images\":1,\"num_inference_steps\":28}}";
    dit_json doc = {0};
    dit_facts facts;
    (void)state;
    assert_int_equal(dit_json_parse(text, strlen(text), "case", &doc), DIT_OK);
    assert_int_equal(dit_facts_from_case(&doc, doc.root, "", &facts), DIT_OK);
    assert_int_equal(facts.layers, 3);
    dit_block_run all = dit_facts_blocks(&facts, 0, 3), last = dit_facts_blocks(&facts, 2, 1);
    assert_int_equal(all.image_layers, 3);
    assert_int_equal(all.sums.image, 2 * 3 + 3);
    assert_int_equal(all.sums.text, 2 * 2);
    assert_true(last.image_layers == 1 && last.sums.text == 0); /* the last block's text is not written */
    dit_json_release(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_and_patches_keep_the_published_memory),
        cmocka_unit_test(weights_shrink_with_tensor_ranks),
        cmocka_unit_test(a_second_transformer_has_memory_of_its_own),
        cmocka_unit_test(memory_is_that_of_the_heaviest_stage),
        cmocka_unit_test(a_case_document_gives_its_facts),
        cmocka_unit_test(a_cut_model_keeps_only_the_dual_layers_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
