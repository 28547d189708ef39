/* Approximate methods: their parameters, which cells merge, which are dropped or refused, and the oracles that
 * expansion adds. */
#include "base/case_facts.h"
#include "base/deal.h"
#include "base/label.h"
#include "base/patches.h"
#include "suite/catalogue/method.h"
#include "suite/catalogue/parameter.h"
#include "suite/paths.h"
#include "suite/session/plan.h"
#include "suite/session/schedule.h"
#include "suite/session/session.h"
#include "suite/tests/workload_fixture.h"
#include "suite/workload/case.h"
#include "suite/workload/programs/predict.h"
#include "suite/workload/workload.h"

#define TINY                                                                                                           \
    "\"model\":{\"name\":\"pixart-alpha-xl-2\",\"override\":{\"num_layers\":4}},\"resolution\":\"256x256\","           \
    "\"num_inference_steps\":4"
#define PIPELINE "\"defaults\":{" TINY ",\"method\":\"pipefusion\",\"world_size\":2}"

static const suite_case *oracle_of(const suite_workload *workload, const suite_case *one)
{
    for (int i = 0; i < workload->case_count; i++)
        if (strcmp(workload->cases[i].case_id, one->oracle_id) == 0) return &workload->cases[i];
    return NULL;
}

static int count_oracles(const suite_workload *workload)
{
    int count = 0;
    for (int i = 0; i < workload->case_count; i++) count += workload->cases[i].is_oracle;
    return count;
}

/* Loads, and checks how many cases (oracles apart), oracles and merged cells there are. */
static suite_workload load_counted(const char *members, int cases, int oracles, int merged)
{
    suite_workload workload = fixture_load(members);
    if (workload.case_count - count_oracles(&workload) != cases || count_oracles(&workload) != oracles ||
        workload.merged_count != merged)
        fail_msg("%d cases, %d oracles, %d merged, %d dropped", workload.case_count - count_oracles(&workload),
                 count_oracles(&workload), workload.merged_count, workload.dropped_count);
    return workload;
}

static void expect_counts(const char *members, int cases, int oracles, int merged)
{
    suite_workload workload = load_counted(members, cases, oracles, merged);
    suite_workload_release(&workload);
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

static void a_pipeline_has_one_synchronous_step_and_a_band_a_stage_by_default(void **state)
{
    (void)state;
    suite_workload workload = load_counted(PIPELINE, 1, 1, 0);
    const suite_case *one = &workload.cases[0];
    const cJSON *parallel = fixture_part(one, "parallel");
    assert_int_equal(fixture_number(parallel, "pipefusion_degree"), 2);
    assert_int_equal(fixture_number(parallel, "warmup_steps"), 1);
    assert_int_equal(fixture_number(parallel, "num_pipeline_patch"), 2);
    assert_null(cJSON_GetObjectItemCaseSensitive(parallel, "attn_layer_num_for_pp"));
    assert_null(cJSON_GetObjectItemCaseSensitive(parallel, "patch_method"));
    assert_string_equal(fixture_tag(one, "method"), "pipefusion");
    assert_string_equal(fixture_tag(one, "attention"), "local");
    assert_string_equal(fixture_tag(one, "attn_layer_num_for_pp"), "even");
    assert_int_equal(fixture_number(one->tags, "warmup_steps"), 1);
    assert_int_equal(fixture_number(one->tags, "num_pipeline_patch"), 2);
    assert_int_equal(fixture_number(one->tags, "stale_steps"), 3);
    assert_string_equal(one->label, "pixart-alpha-xl-2{num_layers=4} 256x256 pp2 M2 W1");
    suite_workload_release(&workload);
}

static void patches_have_their_method_and_pcpp_a_half_by_default(void **state)
{
    static const struct {
        const char *method, *label;
        double fraction;
    } rows[] = {{"distrifusion", "patch4 distrifusion W1", 0},
                {"pcpp", "patch4 pcpp f0.5 W1", 0.5},
                {"naive-patch", "patch4 naive-patch W1", 0}};
    char members[512];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(members, sizeof members, "\"defaults\":{" TINY ",\"method\":\"%s\",\"world_size\":4}", rows[i].method);
        suite_workload workload = load_counted(members, 1, 1, 0);
        const suite_case *one = &workload.cases[0];
        assert_int_equal(fixture_number(fixture_part(one, "parallel"), "patch_degree"), 4);
        assert_string_equal(fixture_tag(one, "patch_method"), rows[i].method);
        assert_string_equal(fixture_tag(one, "method"), rows[i].method);
        assert_string_equal(fixture_tag(one, "attention"), rows[i].method);
        assert_true(fixture_number(one->tags, "patch_fraction") == rows[i].fraction);
        assert_non_null(strstr(one->label, rows[i].label));
        suite_workload_release(&workload);
    }
}

/* Video-Infinity sees a frame of each neighbour and one of each rank, and has no synchronous step, where nothing else
 * is said. */
static void runs_of_frames_have_a_halo_and_global_frames_by_default(void **state)
{
    static const struct {
        const char *members, *label;
        int halo, global;
    } rows[] = {
        {"", "8f patch4 video-infinity halo1 g4 W0", 1, 4},
        {",\"halo_frames\":2,\"global_frames\":0,\"warmup_steps\":1", "patch4 video-infinity halo2 g0 W1", 2, 0}};
    char members[1024];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(members, sizeof members,
                 "\"defaults\":{\"model\":\"latte-1\",\"resolution\":\"256x256\",\"num_frames\":8,"
                 "\"num_inference_steps\":4,\"method\":\"video-infinity\",\"world_size\":4%s}",
                 rows[i].members);
        suite_workload workload = load_counted(members, 1, 1, 0);
        const suite_case *one = &workload.cases[0];
        assert_string_equal(fixture_tag(one, "attention"), "video-infinity");
        assert_int_equal(fixture_number(one->tags, "halo_frames"), rows[i].halo);
        assert_int_equal(fixture_number(one->tags, "global_frames"), rows[i].global);
        assert_non_null(strstr(one->label, rows[i].label));
        suite_workload_release(&workload);
    }
}

static void rings_have_the_method_that_attention_names(void **state)
{
    static const struct {
        const char *members, *attention, *method, *label;
        int inner_ring;
    } rows[] = {
        {"\"ring_degree\":4,\"attention\":\"ring\",\"inner_ring\":2", "ring", "ring", "256x256 r4", 0},
        {"\"ring_degree\":4,\"attention\":\"all-gather\"", "all-gather", "all-gather", "r4 all-gather", 0},
        {"\"method\":\"all-gather\",\"world_size\":4", "all-gather", "all-gather", "r4 all-gather", 0},
        {"\"method\":\"double-ring\",\"world_size\":4", "double-ring", "double-ring", "r4 double-ring inner2", 2},
        {"\"ring_degree\":4,\"ulysses_degree\":2,\"attention\":\"double-ring\",\"inner_ring\":1,\"context_first\":true",
         "double-ring", "double-ring+ulysses", "u2 r4 double-ring inner1 context-first", 1},
        {"\"method\":\"pipefusion+double-ring\",\"world_size\":8", "double-ring", "pipefusion+double-ring",
         "r4 pp2 double-ring inner2 M2 W1", 2},
    };
    char members[512];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(members, sizeof members, "\"defaults\":{" TINY ",%s}", rows[i].members);
        suite_workload workload = fixture_load(members);
        const suite_case *one = &workload.cases[0];
        const dit_json view = {.path = (char *)"case"};
        dit_parallel parallel;
        assert_int_equal(dit_parallel_from_json(&view, fixture_part(one, "parallel"), "", &parallel), DIT_OK);
        assert_string_equal(dit_parallel_attention(&parallel), rows[i].attention);
        assert_int_equal(parallel.inner_ring, rows[i].inner_ring);
        assert_string_equal(fixture_tag(one, "attention"), rows[i].attention);
        assert_string_equal(fixture_tag(one, "method"), rows[i].method);
        assert_non_null(strstr(one->label, rows[i].label));
        suite_workload_release(&workload);
    }
}

static void bad_rings_are_refused(void **state)
{
    static const struct {
        const char *parallel, *words;
    } rows[] = {
        {"{\"ulysses_degree\":2,\"ring_method\":\"all-gather\"}", "ring_method without ring_degree above 1"},
        {"{\"ring_degree\":4,\"ring_method\":\"lightseq\"}", "none of ring, all-gather, double-ring"},
        {"{\"ring_degree\":4,\"inner_ring\":2}", "only double-ring has inner rings"},
        {"{\"ring_degree\":4,\"ring_method\":\"double-ring\",\"inner_ring\":0}", "inner_ring"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dit_json document;
        dit_parallel parallel;
        assert_int_equal(dit_json_parse(rows[i].parallel, strlen(rows[i].parallel), "case", &document), DIT_OK);
        assert_int_not_equal(dit_parallel_from_json(&document, document.root, "", &parallel), DIT_OK);
        assert_non_null(strstr(dit_error_last()->message, rows[i].words));
        dit_json_release(&document);
    }
}

static void degrees_say_the_same_as_methods(void **state)
{
    (void)state;
    expect_counts("\"defaults\":{" TINY "},\"zip\":[{\"pipefusion_degree\":[2,1],\"patch_degree\":[1,2]}]", 2, 2, 0);
    suite_workload workload = load_counted(
        "\"defaults\":{" TINY ",\"patch_degree\":2,\"patch_method\":\"pcpp\",\"patch_fraction\":0.25}", 1, 1, 0);
    assert_string_equal(fixture_tag(&workload.cases[0], "method"), "pcpp");
    assert_true(fixture_number(fixture_part(&workload.cases[0], "parallel"), "patch_fraction") == 0.25);
    suite_workload_release(&workload);
}

static void listed_stages_are_in_case_label_and_tag(void **state)
{
    (void)state;
    suite_workload workload = load_counted("\"defaults\":{" TINY ",\"pipefusion_degree\":2},"
                                           "\"axes\":{\"attn_layer_num_for_pp\":[[1,3],[2,2]]}",
                                           2, 1, 0);
    const suite_case *uneven = &workload.cases[0];
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(fixture_part(uneven, "parallel"), "attn_layer_num_for_pp");
    assert_int_equal(cJSON_GetArraySize(list), 2);
    assert_int_equal(cJSON_GetArrayItem(list, 1)->valueint, 3);
    assert_string_equal(fixture_tag(uneven, "attn_layer_num_for_pp"), "1,3");
    assert_non_null(strstr(uneven->label, "pp2 1,3 M2 W1"));
    assert_string_equal(fixture_tag(&workload.cases[2], "attn_layer_num_for_pp"), "even"); /* [2, 2] is */
    suite_workload_release(&workload);
}

/* ---- merging ----------------------------------------------------------------------------------------------------- */

static void what_means_nothing_to_a_cell_does_not_multiply_it(void **state)
{
    (void)state;
    expect_counts("\"defaults\":{" TINY ",\"world_size\":2},\"axes\":{\"method\":[\"ulysses\",\"distrifusion\"],"
                  "\"warmup_steps\":[0,1,2],\"num_pipeline_patch\":[2,4],\"patch_fraction\":[0.25,1],"
                  "\"attn_layer_num_for_pp\":[[1,3],[2,2]]}",
                  1 + 3, 3, 2 * 24 - 4);
    expect_counts("\"defaults\":{" TINY ",\"world_size\":2},\"axes\":{\"method\":[\"pcpp\"],"
                  "\"num_pipeline_patch\":[2,4],\"patch_fraction\":[0.5,1]}",
                  2, 2, 2);
    expect_counts("\"defaults\":{" TINY ",\"pipefusion_degree\":2},\"axes\":{\"patch_fraction\":[0.5,1],"
                  "\"patch_method\":[\"pcpp\",\"distrifusion\"]}",
                  1, 1, 3);
}

static void two_spellings_of_one_thing_merge(void **state)
{
    (void)state;
    /* more synchronous steps than there are; as many bands as stages; more bands than rows */
    expect_counts(PIPELINE ",\"axes\":{\"warmup_steps\":[4,5,100]}", 1, 0, 2);
    expect_counts("\"defaults\":{" TINY ",\"pipefusion_degree\":2,\"num_pipeline_patch\":2},\"axes\":{\"seed\":[1]}", 1,
                  1, 0);
    expect_counts(PIPELINE ",\"axes\":{\"num_pipeline_patch\":[256,257,4096]}", 1, 1, 2);
}

static void a_default_is_the_value_it_stands_for(void **state)
{
    char unsaid[DIT_HASH_HEX];
    (void)state;
    suite_workload workload = fixture_load(PIPELINE);
    memcpy(unsaid, workload.cases[0].case_id, sizeof unsaid);
    suite_workload_release(&workload);
    workload = fixture_load("\"defaults\":{" TINY ",\"pipefusion_degree\":2,\"warmup_steps\":1,"
                            "\"num_pipeline_patch\":2,\"attn_layer_num_for_pp\":[2,2]}");
    assert_string_equal(workload.cases[0].case_id, unsaid);
    suite_workload_release(&workload);
}

/* ---- drops and refusals ------------------------------------------------------------------------------------------ */

static void what_cannot_be_shared_is_dropped(void **state)
{
    (void)state;
    fixture_dropped("\"defaults\":{" TINY ",\"pipefusion_degree\":2,\"attn_layer_num_for_pp\":[1,1,2]}",
                    DIT_ERR_CONSTRAINT_STAGES, "lists 3 stages, pipefusion_degree is 2");
    fixture_dropped("\"defaults\":{" TINY ",\"pipefusion_degree\":2,\"attn_layer_num_for_pp\":[1,2]}",
                    DIT_ERR_CONSTRAINT_STAGES, "3 blocks together");
    fixture_dropped("\"defaults\":{" TINY ",\"pipefusion_degree\":8}", DIT_ERR_CONSTRAINT_STAGES, "number of blocks");
    fixture_dropped("\"defaults\":{" TINY ",\"patch_degree\":2,\"ulysses_degree\":2}", DIT_ERR_CONSTRAINT_METHOD,
                    "patch_degree 2");
    fixture_dropped("\"defaults\":{" TINY ",\"patch_degree\":3}", DIT_ERR_CONSTRAINT_TOKENS, "patch_degree 3");
    fixture_dropped("\"defaults\":{" TINY ",\"patch_degree\":2,\"attention\":\"local\"}", DIT_ERR_CONSTRAINT_METHOD,
                    "which is distrifusion");
    fixture_dropped("\"defaults\":{" TINY ",\"method\":\"pipefusion+usp\",\"world_size\":4}", DIT_ERR_CONSTRAINT_METHOD,
                    "3 factors above 1");
}

static void values_out_of_range_are_refused(void **state)
{
    static const struct {
        const char *member;
        dit_status code;
        const char *words;
    } rows[] = {
        {"\"warmup_steps\":-1", DIT_ERR_JSON_VALUE, "warmup_steps -1"},
        {"\"num_pipeline_patch\":0", DIT_ERR_JSON_VALUE, "[1, 4096]"},
        {"\"patch_fraction\":0", DIT_ERR_JSON_VALUE, "(0, 1]"},
        {"\"patch_fraction\":1.5", DIT_ERR_JSON_VALUE, "patch_fraction 1.5"},
        {"\"attn_layer_num_for_pp\":4", DIT_ERR_JSON_TYPE, "a list of blocks per stage"},
        {"\"attn_layer_num_for_pp\":[4]", DIT_ERR_JSON_VALUE, "lists 1 stages"},
        {"\"attn_layer_num_for_pp\":[4,0]", DIT_ERR_JSON_VALUE, "/defaults/attn_layer_num_for_pp/1"},
        {"\"attn_layer_num_for_pp\":[4,\"4\"]", DIT_ERR_JSON_TYPE, "/defaults/attn_layer_num_for_pp/1"},
        {"\"patch_degree\":2,\"patch_method\":\"pccp\"", DIT_ERR_JSON_VALUE, "none of distrifusion, pcpp, naive-patch"},
        {"\"method\":\"pcpp\",\"world_size\":2,\"patch_method\":\"pcpp\"", DIT_ERR_WORKLOAD, "decide the same thing"},
        {"\"method\":\"pcpp\",\"world_size\":2,\"patch_degree\":2", DIT_ERR_WORKLOAD, "decide the same thing"},
        {"\"pipefusion_patches\":2", DIT_ERR_JSON_UNKNOWN_KEY, "pipefusion_patches"},
    };
    char members[512];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(members, sizeof members, "\"defaults\":{" TINY ",%s}", rows[i].member);
        assert_int_equal(fixture_refused(members), rows[i].code);
        if (!strstr(dit_error_last()->message, rows[i].words)) fail_msg("%s", dit_error_last()->message);
    }
    assert_int_equal(
        fixture_refused("\"program\":\"attention\",\"defaults\":{\"tokens\":64,\"heads\":8,\"head_dim\":16,"
                        "\"patch_degree\":2}"),
        DIT_ERR_WORKLOAD);
    assert_non_null(strstr(dit_error_last()->hint, "program denoise"));
}

/* ---- methods ----------------------------------------------------------------------------------------------------- */

static void hybrids_share_the_ranks_as_even_as_it_goes(void **state)
{
    static const struct {
        const char *method;
        int world_size, pipefusion, ulysses, ring, patch, tensor, cfg, data;
    } rows[] = {
        {"cfg+pipefusion+ulysses", 8, 2, 2, 1, 1, 1, 2, 1},  {"cfg+pipefusion+ring", 8, 2, 1, 2, 1, 1, 2, 1},
        {"cfg+pipefusion+ulysses", 16, 4, 2, 1, 1, 1, 2, 1}, {"pipefusion+usp", 8, 2, 2, 2, 1, 1, 1, 1},
        {"pipefusion+usp", 16, 4, 2, 2, 1, 1, 1, 1},         {"pipefusion+usp", 12, 3, 2, 2, 1, 1, 1, 1},
        {"pipefusion+usp", 40, 5, 4, 2, 1, 1, 1, 1},         {"data+pipefusion", 4, 2, 1, 1, 1, 1, 1, 2},
        {"distrifusion+tensor", 8, 1, 1, 1, 4, 2, 1, 1},     {"cfg+distrifusion", 4, 1, 1, 1, 2, 1, 2, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dit_parallel parallel = {0};
        assert_int_equal(dit_deal_method(rows[i].method, rows[i].world_size, &parallel), DIT_OK);
        assert_int_equal(parallel.degree[DIT_AXIS_PIPEFUSION], rows[i].pipefusion);
        assert_int_equal(parallel.degree[DIT_AXIS_ULYSSES], rows[i].ulysses);
        assert_int_equal(parallel.degree[DIT_AXIS_RING], rows[i].ring);
        assert_int_equal(parallel.degree[DIT_AXIS_PATCH], rows[i].patch);
        assert_int_equal(parallel.degree[DIT_AXIS_TENSOR], rows[i].tensor);
        assert_int_equal(parallel.degree[DIT_AXIS_CFG], rows[i].cfg);
        assert_int_equal(parallel.degree[DIT_AXIS_DATA], rows[i].data);
    }
}

/* What the table says of a method is so: with all steps synchronous none is approximate, with none the others are. */
static void the_table_tells_exact_from_approximate(void **state)
{
    const dit_facts facts = {.steps = 4, .layers = 64, .image_tokens = 4096};
    (void)state;
    for (const char *const *name = suite_method_names(); *name; name++) {
        dit_parallel parallel = {0};
        dit_method method;
        assert_ok(dit_method_from_name(*name, &method));
        int ranks = dit_method_least_ranks(&method);
        assert_int_equal(dit_deal_method(*name, ranks, &parallel), DIT_OK);
        assert_int_equal(dit_parallel_world_size(&parallel), ranks);
        assert_int_equal(dit_parallel_stale_steps(&parallel, &facts), dit_method_is_exact(&method) ? 0 : 4);
        parallel.warmup_steps = 4;
        assert_int_equal(dit_parallel_stale_steps(&parallel, &facts), 0);
        for (int fewer = 2; fewer < ranks; fewer++)
            assert_int_equal(dit_deal_method(*name, fewer, &parallel), DIT_ERR_CONSTRAINT_METHOD);
    }
}

/* ---- oracles ----------------------------------------------------------------------------------------------------- */

static void an_approximate_case_has_an_oracle_that_emulates_it(void **state)
{
    (void)state;
    suite_workload workload = load_counted("\"defaults\":{" TINY ",\"method\":\"cfg+pipefusion\",\"world_size\":4},"
                                           "\"measure\":{\"warmup_runs\":2,\"iterations\":5,\"trace\":true}",
                                           1, 1, 0);
    const suite_case *one = &workload.cases[0], *oracle = oracle_of(&workload, one);
    assert_non_null(oracle);
    assert_true(oracle->is_oracle);
    assert_false(oracle->is_reference);
    assert_string_equal(oracle->oracle_id, "");
    assert_string_equal(oracle->reference_id, one->reference_id);
    assert_int_equal(oracle->world_size, 1);
    assert_true(oracle->deadline_s > one->deadline_s);
    assert_string_equal(fixture_tag(oracle, "method"), "oracle");
    assert_int_equal(fixture_number(oracle->tags, "world_size"), 1);
    assert_int_equal(fixture_number(oracle->tags, "stale_steps"), 3);
    assert_string_equal(oracle->label, "pixart-alpha-xl-2{num_layers=4} 256x256 oracle pp M2 W1");
    const cJSON *measure = fixture_part(oracle, "measure");
    assert_int_equal(fixture_number(measure, "warmup_runs"), 0);
    assert_int_equal(fixture_number(measure, "iterations"), 1);
    assert_null(cJSON_GetObjectItemCaseSensitive(measure, "trace"));
    assert_null(cJSON_GetObjectItemCaseSensitive(one->document, "emulates"));
    suite_workload_release(&workload);
}

/* The members are the ones that dit_parallel_emulated says, and nothing of the model or the run differs. */
static void the_document_of_an_oracle_is_the_case_on_one_rank(void **state)
{
    static const char *const same[] = {"schema", "program", "model", "scheduler", "run"};
    const dit_json view = {.path = (char *)"case"};
    dit_parallel asked, emulated, alone;
    dit_facts facts;
    (void)state;
    suite_workload workload = fixture_load("\"defaults\":{" TINY ",\"method\":\"pipefusion+ulysses\",\"world_size\":4,"
                                           "\"num_pipeline_patch\":4,\"warmup_steps\":0}");
    const suite_case *one = &workload.cases[0], *oracle = oracle_of(&workload, one);
    assert_non_null(oracle);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_true(cJSON_Compare(cJSON_GetObjectItemCaseSensitive(one->document, same[i]),
                                  cJSON_GetObjectItemCaseSensitive(oracle->document, same[i]), true));
    assert_int_equal(dit_parallel_from_json(&view, fixture_part(one, "parallel"), "", &asked), DIT_OK);
    assert_int_equal(dit_parallel_from_json(&view, fixture_part(oracle, "parallel"), "", &alone), DIT_OK);
    assert_int_equal(dit_parallel_from_json(&view, fixture_part(oracle, "emulates"), "", &emulated), DIT_OK);
    assert_int_equal(dit_facts_from_case(&view, one->document, "", &facts), DIT_OK);
    dit_parallel expected = dit_parallel_emulated(&asked, &facts);
    assert_int_equal(dit_parallel_world_size(&alone), 1);
    assert_memory_equal(emulated.degree, expected.degree, sizeof expected.degree);
    assert_int_equal(emulated.degree[DIT_AXIS_RING], 2);
    assert_int_equal(emulated.num_pipeline_patch, 4);
    assert_int_equal(emulated.warmup_steps, 0);
    assert_int_equal(emulated.joint_text, expected.joint_text);
    suite_workload_release(&workload);
}

static void meshes_whose_numbers_agree_share_an_oracle(void **state)
{
    (void)state;
    /* stages, how blocks are shared, cfg, data, tensor and threads change no number; bands, warm-up and patches do */
    expect_counts("\"defaults\":{" TINY ",\"num_pipeline_patch\":4,\"num_images\":2},\"zip\":[{"
                  "\"pipefusion_degree\":[2,4,2,2,2],\"cfg_degree\":[1,1,2,1,1],\"data_degree\":[1,1,1,2,1],"
                  "\"tensor_degree\":[1,1,1,1,2],\"threads_per_rank\":[1,2,1,1,1]}]",
                  5, 1, 0);
    expect_counts("\"defaults\":{" TINY ",\"pipefusion_degree\":2},\"axes\":{\"num_pipeline_patch\":[2,4],"
                  "\"warmup_steps\":[0,1]}",
                  4, 4, 0);
    expect_counts("\"defaults\":{" TINY ",\"pipefusion_degree\":2},\"axes\":{\"ulysses_degree\":[1,2]}", 2, 2, 0);
    expect_counts("\"defaults\":{" TINY ",\"pipefusion_degree\":2},\"zip\":[{\"ulysses_degree\":[1,2],"
                  "\"ring_degree\":[2,1]}]",
                  2, 1, 0);
    expect_counts("\"defaults\":{" TINY "},\"axes\":{\"patch_degree\":[2,4],\"patch_method\":[\"distrifusion\","
                  "\"pcpp\"]}",
                  4, 4, 0);
}

static void exact_cases_have_none(void **state)
{
    (void)state;
    expect_counts("\"defaults\":{" TINY ",\"world_size\":2},\"axes\":{\"method\":[\"ulysses\",\"ring\",\"cfg\","
                  "\"tensor\"]}",
                  4, 0, 0);
    expect_counts("\"defaults\":{" TINY ",\"world_size\":2,\"warmup_steps\":4},\"axes\":{\"method\":[\"pipefusion\","
                  "\"distrifusion\",\"pcpp\",\"naive-patch\"]}",
                  4, 0, 0);
}

static void what_users_exclude_is_about_their_own_cells(void **state)
{
    (void)state;
    suite_workload workload = load_counted("\"defaults\":{" TINY "},\"axes\":{\"method\":[\"single\",\"pipefusion\"],"
                                           "\"world_size\":[1,2]},\"exclude\":[\"world_size == 1\"],"
                                           "\"constraints\":[\"method != 'oracle'\"]",
                                           1, 1, 0);
    assert_int_equal(workload.cases[0].world_size, 2);
    suite_workload_release(&workload);
}

/* A rank holds half of the weights; an oracle all of them, and K and V twice. */
static void an_oracle_that_does_not_fit_is_dropped_alone(void **state)
{
    char path[256];
    (void)state;
    fixture_write("platforms/small.json",
                  "{\"schema\":\"ditbench.platform/1\",\"name\":\"small\",\"backend\":\"cpu\",\"launcher\":\"mpirun\","
                  "\"devices\":2,\"max_ranks\":4,\"memory_bytes\":300000000,\"memory_scope\":\"device\"}");
    suite_workload workload = fixture_load("\"defaults\":{" TINY ",\"pipefusion_degree\":2,\"platform\":\"small\"}");
    assert_int_equal(workload.case_count, 1);
    assert_string_equal(workload.cases[0].oracle_id, "");
    assert_int_equal(workload.dropped_count, 1);
    assert_int_equal(workload.dropped[0].code, DIT_ERR_CONSTRAINT_MEMORY);
    assert_non_null(strstr(workload.dropped[0].reason, "the oracle of this cell: needs"));
    suite_workload_release(&workload);
    snprintf(path, sizeof path, "%s/platforms/small.json", fixture_folder);
    unlink(path);
}

static void a_timeline_is_asked_of_no_oracle(void **state)
{
    (void)state;
    suite_workload workload = fixture_load(PIPELINE);
    char before[DIT_HASH_HEX], oracle[DIT_HASH_HEX];
    memcpy(before, workload.cases[0].case_id, sizeof before);
    memcpy(oracle, workload.cases[1].case_id, sizeof oracle);
    assert_int_equal(suite_workload_trace(&workload), DIT_OK);
    assert_string_not_equal(workload.cases[0].case_id, before);
    assert_string_equal(workload.cases[1].case_id, oracle);
    assert_ptr_equal(oracle_of(&workload, &workload.cases[0]), &workload.cases[1]);
    suite_workload_release(&workload);
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

static const char sweep[] = "\"defaults\":{" TINY "},\"axes\":{\"method\":[\"single\",\"ulysses\",\"pipefusion\","
                            "\"pcpp\"],\"world_size\":[1,2],\"warmup_steps\":[0,1,4]},\"repeat\":{\"processes\":3}";

static void oracles_run_once_and_before_what_needs_them(void **state)
{
    suite_run_item *items;
    int count = 0;
    (void)state;
    suite_workload workload = load_counted(sweep, 8, 4, 13);
    assert_int_equal(suite_plan(&workload, &items, &count), DIT_OK);
    assert_int_equal(count, 4 + 3 * 8);
    for (int i = 0; i < count; i++) {
        const suite_case *one = &workload.cases[items[i].case_index];
        assert_int_equal(items[i].order, i);
        assert_int_equal(i < 5, one->is_oracle || (one->is_reference && items[i].block == 0)); /* and one reference */
        if (one->is_oracle) assert_int_equal(items[i].process, 0);
    }
    free(items);
    suite_workload_release(&workload);
}

static void expect_schedule(const suite_workload *workload, const char *filter, int cases, int oracles)
{
    suite_schedule schedule;
    int found = 0;
    assert_int_equal(suite_schedule_make(workload, filter, &schedule), DIT_OK);
    for (int i = 0; i < schedule.case_count; i++) found += schedule.cases[i].is_oracle;
    assert_int_equal(schedule.case_count, cases);
    assert_int_equal(found, oracles);
    assert_int_equal(schedule.item_count, oracles + workload->processes * (cases - oracles));
    suite_schedule_release(&schedule);
}

static void filters_keep_the_oracles_of_what_they_keep(void **state)
{
    (void)state;
    suite_workload workload = fixture_load(sweep);
    expect_schedule(&workload, NULL, 12, 4);
    expect_schedule(&workload, "method == 'pipefusion' && warmup_steps == 1", 2, 1);
    expect_schedule(&workload, "stale_steps > 0", 8, 4);
    expect_schedule(&workload, "stale_steps == 0", 4, 0);
    expect_schedule(&workload, "world_size == 1", 1, 0); /* oracles have one rank too, but nobody asked for them */
    suite_workload_release(&workload);
}

static void a_saved_plan_keeps_whose_oracle_is_whose(void **state)
{
    suite_session session = {0};
    suite_schedule saved, loaded;
    int linked = 0;
    (void)state;
    suite_workload workload = fixture_load(sweep);
    snprintf(session.dir, sizeof session.dir, "%s/session", fixture_folder);
    assert_int_equal(suite_schedule_make(&workload, NULL, &saved), DIT_OK);
    assert_int_equal(suite_schedule_save(&saved, &session), DIT_OK);
    assert_int_equal(suite_schedule_load(&session, &loaded), DIT_OK);
    assert_string_equal(loaded.hash, saved.hash);
    for (int i = 0; i < saved.case_count; i++) {
        assert_int_equal(loaded.cases[i].is_oracle, saved.cases[i].is_oracle);
        assert_string_equal(loaded.cases[i].oracle_id, saved.cases[i].oracle_id);
        linked += loaded.cases[i].oracle_id[0] != '\0';
    }
    assert_int_equal(linked, 4);
    suite_schedule_release(&saved);
    suite_schedule_release(&loaded);
    suite_workload_release(&workload);
    assert_int_equal(suite_path_remove(session.dir), DIT_OK);
}

/* ---- predictions ------------------------------------------------------------------------------------------------- */

/* The range of a case's prediction is that over every rank, found one by one. */
static void expect_range(const char *members, bool differ)
{
    suite_prediction prediction;
    dit_volume_table volumes;
    int64_t least = INT64_MAX, most = 0;
    suite_workload workload = fixture_load(members);
    const suite_case *one = &workload.cases[0];
    const dit_json view = {.root = one->document, .path = (char *)"case"};
    assert_int_equal(suite_predict_case(&view, NULL, &prediction), DIT_OK);
    for (int rank = 0; rank < one->world_size; rank++) {
        suite_predict_volume(&prediction, rank, &volumes);
        int64_t bytes = dit_volume_total_bytes(&volumes);
        least = bytes < least ? bytes : least;
        most = bytes > most ? bytes : most;
    }
    assert_int_equal(one->predicted_bytes, most);
    assert_int_equal(one->predicted_least_bytes, least);
    assert_int_equal(least < most, differ);
    suite_workload_release(&workload);
}

static void predictions_cover_all_ranks(void **state)
{
    (void)state;
    expect_range("\"defaults\":{" TINY ",\"ulysses_degree\":4}", false);
    expect_range("\"defaults\":{" TINY ",\"pipefusion_degree\":2}", true);
    expect_range("\"defaults\":{" TINY ",\"pipefusion_degree\":4,\"cfg_degree\":2}", true);
    expect_range("\"defaults\":{" TINY ",\"method\":\"cfg+pipefusion+ulysses\",\"world_size\":8}", true);
    expect_range("\"defaults\":{" TINY ",\"method\":\"distrifusion\",\"world_size\":4}", false);
    expect_range("\"defaults\":{" TINY ",\"method\":\"pcpp\",\"world_size\":4}", true); /* ends have one neighbour */
    expect_range("\"defaults\":{" TINY ",\"method\":\"pcpp\",\"world_size\":2}", false);
    expect_range("\"program\":\"vae_decode\",\"defaults\":{\"model\":\"flux.1-dev\",\"resolution\":\"64x64\","
                 "\"rows_degree\":4}",
                 true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipeline_has_one_synchronous_step_and_a_band_a_stage_by_default),
        cmocka_unit_test(patches_have_their_method_and_pcpp_a_half_by_default),
        cmocka_unit_test(runs_of_frames_have_a_halo_and_global_frames_by_default),
        cmocka_unit_test(rings_have_the_method_that_attention_names),
        cmocka_unit_test(bad_rings_are_refused),
        cmocka_unit_test(degrees_say_the_same_as_methods),
        cmocka_unit_test(listed_stages_are_in_case_label_and_tag),
        cmocka_unit_test(what_means_nothing_to_a_cell_does_not_multiply_it),
        cmocka_unit_test(two_spellings_of_one_thing_merge),
        cmocka_unit_test(a_default_is_the_value_it_stands_for),
        cmocka_unit_test(what_cannot_be_shared_is_dropped),
        cmocka_unit_test(values_out_of_range_are_refused),
        cmocka_unit_test(hybrids_share_the_ranks_as_even_as_it_goes),
        cmocka_unit_test(the_table_tells_exact_from_approximate),
        cmocka_unit_test(an_approximate_case_has_an_oracle_that_emulates_it),
        cmocka_unit_test(the_document_of_an_oracle_is_the_case_on_one_rank),
        cmocka_unit_test(meshes_whose_numbers_agree_share_an_oracle),
        cmocka_unit_test(exact_cases_have_none),
        cmocka_unit_test(what_users_exclude_is_about_their_own_cells),
        cmocka_unit_test(an_oracle_that_does_not_fit_is_dropped_alone),
        cmocka_unit_test(a_timeline_is_asked_of_no_oracle),
        cmocka_unit_test(oracles_run_once_and_before_what_needs_them),
        cmocka_unit_test(filters_keep_the_oracles_of_what_they_keep),
        cmocka_unit_test(a_saved_plan_keeps_whose_oracle_is_whose),
        cmocka_unit_test(predictions_cover_all_ranks),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
