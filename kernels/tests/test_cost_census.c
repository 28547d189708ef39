/* Censuses: what the shipped files say of a model, what a small one costs, and files that are refused. */
#include "kernels/cost/decode.h"

#include "kernels/tests/cost_fixture.h"

#define CENSUSES PROFILES "/census"

/* ---- a small census ---------------------------------------------------------------------------------------------- */

static const char whole[] =
    "{\"schema\":\"ditbench.census/1\",\"name\":\"hand\",\"class\":\"Hand\",\"software\":{\"torch\":\"1\"},\"models\":["
    "{\"models\":[{\"name\":\"m\",\"config\":{\"width\":4,\"depth\":3}}],\"batch\":\"one\","
    "\"blocks\":{\"depth\":[{\"part\":\"block\",\"count\":2},{\"part\":\"last\",\"count\":1}]},"
    "\"parts\":{\"begin\":{\"before\":{\"views\":5,\"waits\":[{\"op\":\"copy_from_host\",\"calls\":2,\"bytes\":{\"S\":"
    "8}}]}},"
    "\"block\":{\"before\":{\"products\":[{\"op\":\"addmm\",\"calls\":1,\"rows\":{\"S\":1},\"n\":{\"1\":64},\"k\":{"
    "\"1\":64},\"split\":\"n\"}],"
    "\"kernels\":[{\"op\":\"mul\",\"calls\":3,\"read\":{\"own\":{\"S\":10,\"1\":2}},\"write\":{\"fp32\":{\"S\":5}},"
    "\"shared\":true},"
    "{\"op\":\"native_layer_norm\",\"calls\":1,\"read\":{\"own\":{\"S\":1}},\"write\":{},\"rows\":{\"S\":1}}],"
    "\"fused\":[{\"op\":\"fused\",\"calls\":1,\"read\":{\"own\":{\"S\":10}},\"write\":{}}]},"
    "\"after\":{\"kernels\":[{\"op\":\"add\",\"calls\":1,\"read\":{\"own\":{\"S\":1}},\"write\":{}}]}},"
    "\"last\":{\"before\":{\"views\":7}}}},"
    "{\"models\":[{\"name\":\"m\",\"config\":{\"width\":4,\"depth\":3}}],\"batch\":\"more\",\"forwards\":2,"
    "\"blocks\":{},\"parts\":{}}]}";

/* Writes `whole`, with `from` replaced by `to`, as the census of class Hand, and reads it for `config`. */
static dit_status read_changed(const char *from, const char *to, const char *config, bool batched, dit_census **out)
{
    char folder[TEST_FOLDER], path[TEST_FOLDER + 16], text[4096];
    const char *at = strstr(whole, from);
    cJSON *asked = cJSON_Parse(config);
    assert_non_null(at);
    assert_int_equal(test_folder_make(folder), 0);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
    snprintf(path, sizeof path, "%s/Hand.json", folder);
    test_file_write(path, text, strlen(text));
    dit_status st = dit_census_read(folder, asked, batched, out);
    cJSON_Delete(asked);
    test_folder_remove(folder);
    return st;
}

static const char three[] = "{\"_class_name\":\"Hand\",\"width\":4,\"depth\":3}";

static dit_census *hand(const char *config)
{
    dit_census *census;
    assert_ok(read_changed("hand", "hand", config, false, &census));
    return census;
}

static const dit_cost_profile counted = {
    .dispatch_s = 1e-5, .view_dispatch_s = 1e-6, .norm_row_s = 1e-6, .pageable_copy_bytes_per_s = 1e9};

static void a_half_costs_its_products_and_the_bytes_of_its_kernels(void **state)
{
    dit_cost_device d = round_device();
    dit_census *census = hand(three);
    dit_census_call call = {.piece = DIT_CENSUS_BLOCK, .blocks = 3, .tensor = 1, .size = {.batch = 1, .image = 1e6}};
    dit_census_time before = dit_census_half_time(census, &d, &counted, &call, DIT_CENSUS_BEFORE);
    (void)state;
    double mul_s = dit_cost_elementwise_seconds(&d, (10e6 + 2) * 2 + 5e6 * 4);
    double rows_s = d.launch_s + 1e6 * 1e-6 / 100; /* short rows take longer than their bytes */
    double product_s = dit_cost_gemm_seconds(&d, 1000000, 64, 64);
    assert_close(before.time.device_s, 3 * mul_s + rows_s + product_s, 1e-9);
    assert_close(before.time.host_s, 5 * 1e-5, 1e-12);
    assert_close(before.time.kernels, 5, 0);
    assert_false(before.waits);
    call.tensor = 2;
    dit_census_time half = dit_census_half_time(census, &d, &counted, &call, DIT_CENSUS_BEFORE);
    assert_close(half.time.device_s,
                 3 * dit_cost_elementwise_seconds(&d, (5e6 + 1) * 2 + 5e6 * 2) + rows_s +
                     dit_cost_gemm_seconds(&d, 1000000, 32, 64),
                 1e-9);
    assert_close(half.time.host_s, before.time.host_s, 0);
    assert_close(dit_census_half_time(census, &d, &counted, &call, DIT_CENSUS_AFTER).time.kernels, 1, 0);
    dit_census_free(census);
}

/* The multiplication mixes types, so that each of its 5 S written elements has an index; the norm's and the compiler's
 * kernels move vectors. A processor handles 1e9 x 0.01 of them a second. */
static void mixed_types_and_repeated_operands_cost_an_index_an_element(void **state)
{
    static const struct {
        const char *from, *to;
        double elements; /* that have an index */
    } rows[] = {
        {"hand", "hand", 5e6},
        {"\"write\":{\"fp32\":{\"S\":5}}", "\"write\":{\"own\":{\"S\":10}}", 10e6}, /* one factor for all rows */
        {"\"read\":{\"own\":{\"S\":10,\"1\":2}},\"write\":{\"fp32\":{\"S\":5}}",
         "\"read\":{\"own\":{\"S\":10}},\"write\":{\"own\":{\"S\":10}}", 0}, /* times a number */
        {"\"read\":{\"own\":{\"S\":10,\"1\":2}},\"write\":{\"fp32\":{\"S\":5}}",
         "\"read\":{\"own\":{\"S\":20}},\"write\":{\"own\":{\"S\":10}}", 0}, /* of two whole operands */
    };
    dit_cost_device d = round_device();
    dit_cost_profile profile = counted;
    dit_census_call call = {.piece = DIT_CENSUS_BLOCK, .blocks = 3, .tensor = 1, .size = {.batch = 1, .image = 1e6}};
    (void)state;
    d.clock_hz = 1e9;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dit_census *census;
        assert_ok(read_changed(rows[i].from, rows[i].to, three, false, &census));
        profile.rule = (dit_rule){0};
        profile.indexed_elements_per_clock = 0;
        double before_s = dit_census_half_time(census, &d, &profile, &call, DIT_CENSUS_BEFORE).time.device_s;
        profile.indexed_elements_per_clock = 1e-5; /* far slower than memory */
        double after_s = dit_census_half_time(census, &d, &profile, &call, DIT_CENSUS_BEFORE).time.device_s;
        double index_s = rows[i].elements / (1e-5 * 1e9 * d.processors);
        if (rows[i].elements > 0)
            assert_close((after_s - before_s) / (3 * index_s), 1, 1e-2); /* instead of the bytes' time */
        else
            assert_close(after_s, before_s, 0);
        profile.rule.chains = true;
        after_s = dit_census_half_time(census, &d, &profile, &call, DIT_CENSUS_BEFORE).time.device_s;
        profile.indexed_elements_per_clock = 0;
        assert_close(dit_census_half_time(census, &d, &profile, &call, DIT_CENSUS_BEFORE).time.device_s, after_s, 0);
        dit_census_free(census);
    }
}

/* The block's product as a convolution: its kernel moves along two axes unless the file says three. */
static void a_volume_has_an_efficiency_of_its_own(void **state)
{
    static const char *const as[] = {"\"input\":{\"S\":64}", "\"input\":{\"S\":64},\"axes\":3"};
    dit_cost_device d = round_device();
    dit_cost_profile profile = counted;
    const dit_census_call call = {
        .piece = DIT_CENSUS_BLOCK, .blocks = 3, .tensor = 1, .size = {.batch = 1, .image = 1e6}};
    double seconds[2], conv_s = dit_cost_conv_seconds(&d, 1000000, 64, 64, 64000000);
    (void)state;
    for (int i = 0; i < 2; i++) {
        dit_census *census;
        assert_ok(read_changed("\"split\":\"n\"", as[i], three, false, &census));
        profile.conv_efficiency = 0.5, profile.conv3d_efficiency = 0.25;
        seconds[i] = dit_census_half_time(census, &d, &profile, &call, DIT_CENSUS_BEFORE).time.device_s;
        profile.conv_efficiency = profile.conv3d_efficiency = 1;
        seconds[i] -= dit_census_half_time(census, &d, &profile, &call, DIT_CENSUS_BEFORE).time.device_s;
        dit_census_free(census);
    }
    assert_close(seconds[0], conv_s, 1e-9);
    assert_close(seconds[1], 3 * conv_s, 1e-9);
}

static void a_compiler_makes_fewer_kernels_and_no_views(void **state)
{
    dit_cost_device d = round_device();
    dit_cost_profile fused = counted;
    dit_census *census = hand(three);
    dit_census_call call = {.piece = DIT_CENSUS_BLOCK, .blocks = 3, .tensor = 1, .size = {.batch = 1, .image = 1e6}};
    (void)state;
    fused.rule.chains = fused.rule.views_free = true;
    dit_census_time before = dit_census_half_time(census, &d, &fused, &call, DIT_CENSUS_BEFORE);
    assert_close(before.time.kernels, 2, 0);
    assert_close(before.time.device_s,
                 dit_cost_elementwise_seconds(&d, 20e6) + dit_cost_gemm_seconds(&d, 1000000, 64, 64), 1e-9);
    call.index = 2;
    assert_close(dit_census_half_time(census, &d, &fused, &call, DIT_CENSUS_BEFORE).time.host_s, 0, 0);
    assert_close(dit_census_half_time(census, &d, &counted, &call, DIT_CENSUS_BEFORE).time.host_s, 7e-6, 1e-12);
    dit_census_free(census);
}

static void broken_graphs_spare_the_device_and_not_the_host(void **state)
{
    dit_cost_device d = round_device();
    dit_cost_profile fused = counted, broken;
    dit_census *census = hand(three);
    dit_census_call call = {.piece = DIT_CENSUS_BLOCK, .blocks = 3, .tensor = 1, .size = {.batch = 1, .image = 1e6}};
    (void)state;
    fused.rule.chains = fused.rule.views_free = true;
    broken = fused;
    broken.rule.views_free = false;
    broken.rule.launches = DIT_RULE_UNCOMPILED;
    for (call.index = 0; call.index < 3; call.index += 2) {
        dit_census_time eager = dit_census_half_time(census, &d, &counted, &call, DIT_CENSUS_BEFORE);
        dit_census_time whole_graph = dit_census_half_time(census, &d, &fused, &call, DIT_CENSUS_BEFORE);
        dit_census_time time = dit_census_half_time(census, &d, &broken, &call, DIT_CENSUS_BEFORE);
        assert_close(time.time.host_s, eager.time.host_s, 0);
        assert_true(time.time.host_s > whole_graph.time.host_s);
        assert_close(time.time.device_s, whole_graph.time.device_s, 0);
        assert_close(time.time.kernels, whole_graph.time.kernels, 0);
    }
    dit_census_free(census);
}

static void the_host_waits_for_copies_from_its_memory(void **state)
{
    dit_cost_device d = round_device();
    dit_census *census = hand(three);
    dit_census_call call = {.piece = DIT_CENSUS_BEGIN, .tensor = 1, .size = {.batch = 1, .image = 1e6}};
    dit_census_time begin = dit_census_half_time(census, &d, &counted, &call, DIT_CENSUS_BEFORE);
    (void)state;
    assert_true(begin.waits);
    assert_close(begin.wait_s, 2 * 8e6 / 1e9, 1e-12);
    assert_close(begin.time.host_s, 2e-5 + 5e-6, 1e-12);
    dit_cost_profile on_device = counted; /* the tables of one rank */
    on_device.tables_on_device_alone = true;
    assert_true(dit_census_half_time(census, &d, &on_device, &call, DIT_CENSUS_BEFORE).waits);
    call.alone = true;
    assert_true(dit_census_half_time(census, &d, &counted, &call, DIT_CENSUS_BEFORE).waits);
    begin = dit_census_half_time(census, &d, &on_device, &call, DIT_CENSUS_BEFORE);
    assert_false(begin.waits);
    assert_close(begin.wait_s + begin.time.host_s, 5e-6, 1e-12);
    call.piece = DIT_CENSUS_HEAD; /* not in the file */
    assert_close(dit_census_half_time(census, &d, &counted, &call, DIT_CENSUS_BEFORE).time.host_s, 0, 0);
    dit_census_free(census);
}

static void a_model_of_another_depth_has_the_same_last_block(void **state)
{
    static const struct {
        int blocks, index;
        double host_s;
    } cases[] = {{3, 0, 5e-5}, {3, 1, 5e-5}, {3, 2, 7e-6}, {1, 0, 7e-6}, {9, 7, 7e-6}, {9, 5, 5e-5}, {2, 0, 5e-5}};
    dit_cost_device d = round_device();
    dit_census *census = hand("{\"_class_name\":\"Hand\",\"width\":4,\"depth\":9}");
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dit_census_call call = {.piece = DIT_CENSUS_BLOCK,
                                .index = cases[i].index,
                                .blocks = cases[i].blocks,
                                .tensor = 1,
                                .size = {.batch = 1, .image = 1}};
        assert_close(dit_census_half_time(census, &d, &counted, &call, DIT_CENSUS_BEFORE).time.host_s, cases[i].host_s,
                     1e-9);
    }
    dit_census_free(census);
}

static void a_census_is_found_by_config_and_batch(void **state)
{
    dit_census *census;
    (void)state;
    assert_ok(read_changed("hand", "hand", three, true, &census));
    assert_int_equal(dit_census_forwards(census), 2);
    dit_census_free(census);
    assert_ok(read_changed("hand", "hand", "{\"_class_name\":\"Hand\",\"width\":5,\"depth\":3}", false, &census));
    assert_null(census);
    assert_ok(read_changed("hand", "hand", "{\"_class_name\":\"Else\",\"width\":4,\"depth\":3}", false, &census));
    assert_null(census);
    assert_ok(read_changed("hand", "hand", "{\"_class_name\":\"../Hand\",\"width\":4}", false, &census));
    assert_null(census);
}

static void bad_files_are_refused(void **state)
{
    static const struct {
        const char *from, *to;
        dit_status status;
    } cases[] = {
        {"census/1", "census/2", DIT_ERR_JSON_VALUE},
        {"\"views\":5", "\"view\":5", DIT_ERR_JSON_UNKNOWN_KEY},
        {"\"views\":5", "\"views\":-5", DIT_ERR_JSON_VALUE},
        {"\"calls\":3", "\"calls\":0", DIT_ERR_JSON_VALUE},
        {"{\"S\":10,", "{\"Z\":10,", DIT_ERR_JSON_VALUE},
        {"{\"S\":10,", "{\"S\":1.5,", DIT_ERR_JSON_VALUE},
        {"{\"S\":10,", "{\"S\":0,", DIT_ERR_JSON_VALUE},
        {"{\"fp32\":{\"S\":5}}", "{\"fp31\":{\"S\":5}}", DIT_ERR_JSON_VALUE},
        {"{\"fp32\":{\"S\":5}}", "{\"fp32\":5}", DIT_ERR_JSON_TYPE},
        {"\"rows\":{\"S\":1},\"n\"", "\"n\"", DIT_ERR_JSON_MISSING},
        {"\"split\":\"n\"", "\"split\":\"m\"", DIT_ERR_JSON_VALUE},
        {"\"split\":\"n\"", "\"axes\":3", DIT_ERR_JSON_VALUE},
        {"\"split\":\"n\"", "\"input\":{\"S\":1},\"axes\":4", DIT_ERR_JSON_VALUE},
        {"{\"part\":\"last\"", "{\"part\":\"lost\"", DIT_ERR_JSON_VALUE},
        {"\"batch\":\"one\",", "\"batch\":\"one\",\"batches\":1,", DIT_ERR_JSON_UNKNOWN_KEY},
        {"\"parts\":{\"begin\"", "\"part\":{\"begin\"", DIT_ERR_JSON_UNKNOWN_KEY},
        {"\"before\":{\"views\":7}", "\"before\":7", DIT_ERR_JSON_TYPE},
    };
    dit_census *census;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_changed(cases[i].from, cases[i].to, three, false, &census), cases[i].status);
        assert_null(census);
    }
}

/* ---- the shipped files ------------------------------------------------------------------------------------------- */

/* A text encoder's file has its name. */
static int read_encoder(const char *folder, const char *name, dit_json *doc)
{
    dit_census *census;
    assert_int_equal(cJSON_GetArraySize(dit_json_member(doc->root, "models")), 1);
    dit_json_release(doc);
    assert_ok(dit_census_read_named(folder, name, &census));
    assert_non_null(census);
    dit_census_free(census);
    return 1;
}

/* Every file of every census is read for each of its models, for one batch row and, where it has them, for more. */
static int read_every_model(const char *folder, const char *file)
{
    char path[1024], class_name[256];
    dit_json doc;
    const cJSON *entry, *model;
    int count = 0;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    snprintf(class_name, sizeof class_name, "%.*s", (int)(strlen(file) - strlen(".json")), file);
    assert_ok(dit_json_read_file(path, &doc));
    if (strcmp(dit_json_text_or(doc.root, "class", ""), class_name) != 0) return read_encoder(folder, class_name, &doc);
    cJSON_ArrayForEach(entry, dit_json_member(doc.root, "models"))
        cJSON_ArrayForEach(model, dit_json_member(entry, "models"))
    {
        cJSON *config = cJSON_Duplicate(dit_json_member(model, "config"), true);
        cJSON_AddItemToObject(config, "_class_name", cJSON_CreateString(class_name));
        for (int batched = 0; batched < 2; batched++) {
            dit_census *census;
            assert_ok(dit_census_read(folder, config, batched, &census));
            if (!census && !batched)
                fail_msg("%s does not find its own %s", path, dit_json_text_or(model, "name", "?"));
            dit_census_free(census);
        }
        cJSON_Delete(config);
        count++;
    }
    dit_json_release(&doc);
    return count;
}

/* The pipelines' VAEs, and what a decode of so many frames is at 480x832. */
static double decode_kernels(const char *folder, const char *vae, bool tiling, int frames, double *device_s)
{
    char path[1024];
    dit_json doc;
    dit_census *census;
    dit_cost_device d = round_device();
    snprintf(path, sizeof path, "%s/workloads/vaes/%s.json", DITBENCH_SOURCE_DIR, vae);
    assert_ok(dit_json_read_file(path, &doc));
    assert_ok(dit_census_read(folder, dit_json_member(doc.root, "config"), false, &census));
    dit_json_release(&doc);
    assert_non_null(census);
    assert_non_null(dit_census_get_schedule(census));
    const dit_cost_decode decode = {.frames = frames, .height = 60, .width = 104, .tiling = tiling};
    dit_census_time time = dit_cost_decode_time(census, &d, &counted, &decode);
    dit_census_free(census);
    *device_s = time.time.device_s;
    return time.time.kernels;
}

static void a_decode_is_its_calls_and_its_blends(void **state)
{
    static const char folder[] = CENSUSES "/diffusers-0.33.1";
    double five_s, seven_s, tiled_s;
    (void)state;
    double five = decode_kernels(folder, "wan2.1", false, 5, &five_s);
    double six = decode_kernels(folder, "wan2.1", false, 6, &tiled_s);
    double seven = decode_kernels(folder, "wan2.1", false, 7, &seven_s);
    assert_close(seven - six, six - five, 1e-9); /* every later frame is alike */
    assert_true(seven_s > five_s);
    double untiled = decode_kernels(folder, "cogvideox-5b", false, 5, &five_s);
    double tiled = decode_kernels(folder, "cogvideox-5b", true, 5, &tiled_s);
    assert_true(tiled_s > 1.2 * five_s); /* tiles overlap */
    /* 60 rows are three tiles each 25 apart, 104 columns three each 36 apart; the last columns are no wider than 32 */
    double blends = 4 * (40 * 2 * 3 + 72 * 2 * 3), joins = 9 + 2;
    assert_close(tiled, 9 * (untiled - 1) + 1 + blends + joins, 1e-9);
    assert_true(decode_kernels(folder, "hunyuanvideo", true, 9, &tiled_s) >
                3 * decode_kernels(folder, "hunyuanvideo", false, 5, &five_s));
    assert_true(decode_kernels(folder, "flux", false, 1, &five_s) > 100);
}

static void a_text_encoder_is_as_many_layers_as_it_has(void **state)
{
    static const char folder[] = CENSUSES "/diffusers-0.33.1";
    dit_cost_device d = round_device();
    dit_census *census;
    (void)state;
    assert_ok(dit_census_read_named(folder, "t5-xxl", &census));
    const dit_census_size size = {.batch = 1, .text = 512}, half = {.batch = 1, .text = 256};
    dit_census_time layer = dit_census_part_time(census, &d, &counted, "layers 1", &size);
    dit_census_time all = dit_census_forward_time(census, &d, &counted, &size);
    assert_true(layer.time.kernels >= 40);
    assert_true(all.time.kernels > 24 * layer.time.kernels && all.time.kernels < 26 * layer.time.kernels);
    assert_true(all.time.device_s > dit_census_forward_time(census, &d, &counted, &half).time.device_s);
    dit_census_free(census);
    assert_ok(dit_census_read_named(folder, "nobody", &census));
    assert_null(census);
}

static void half_precision_keeps_a_product_in_full(void **state)
{
    dit_cost_device d = round_device();
    const dit_census_size size = {.batch = 1, .text = 512};
    dit_census *census;
    (void)state;
    assert_ok(dit_census_read_named(CENSUSES "/diffusers-0.30.3", "t5-xxl", &census)); /* T5 keeps its wo in fp32 */
    dit_census_time unknown = dit_census_forward_time(census, &d, &counted, &size);
    d.fp32_flops_per_s = 5e12; /* a twentieth */
    dit_census_time slow = dit_census_forward_time(census, &d, &counted, &size);
    double wo_s = dit_cost_gemm_seconds(&d, 512, 4096, 10240);
    assert_close(slow.time.device_s - unknown.time.device_s, 24 * 19 * wo_s, 1e-6);
    dit_census_free(census);
}

static void a_graph_is_one_launch(void **state)
{
    dit_cost_device d = round_device();
    dit_cost_profile graph = counted;
    dit_census *census = hand(three);
    dit_census_call call = {.piece = DIT_CENSUS_BLOCK, .blocks = 3, .tensor = 1, .size = {.batch = 1, .image = 1e6}};
    (void)state;
    graph.rule.launches = DIT_RULE_HALF, graph.rule.views_free = true;
    graph.graph_launch_s = 1e-4, graph.graph_kernel_s = 1e-7;
    dit_census_time half = dit_census_half_time(census, &d, &graph, &call, DIT_CENSUS_BEFORE);
    assert_close(half.time.host_s, 1e-4 + 5 * 1e-7, 1e-12);
    graph.rule.launches = DIT_RULE_FORWARD;
    half = dit_census_half_time(census, &d, &graph, &call, DIT_CENSUS_BEFORE);
    assert_close(half.time.host_s, 5 * 1e-7, 1e-12); /* launched with its begin */
    assert_close(dit_cost_dispatch_seconds(&graph), 1e-7, 0);
    assert_close(dit_cost_collective_dispatch_seconds(&graph), 1e-7, 0);
    call.piece = DIT_CENSUS_BEGIN;
    half = dit_census_half_time(census, &d, &graph, &call, DIT_CENSUS_BEFORE);
    assert_true(half.waits);
    assert_close(half.time.host_s, 2 * 1e-5, 1e-12); /* what waits is in no graph */
    dit_census_free(census);
}

static void every_rule_is_read(void **state)
{
    static const struct {
        const char *name;
        dit_rule rule;
    } rules[] = {{"inductor", {true, true, DIT_RULE_OPERATOR}},
                 {"cuda-graphs", {false, true, DIT_RULE_FORWARD}},
                 {"inductor-cuda-graphs", {true, true, DIT_RULE_HALF}}};
    char path[512];
    dit_rule rule;
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        snprintf(path, sizeof path, "%s/rules/%s.json", PROFILES, rules[i].name);
        assert_ok(dit_rule_read(path, &rule));
        assert_int_equal(rule.launches, rules[i].rule.launches);
        assert_true(rule.chains == rules[i].rule.chains && rule.views_free == rules[i].rule.views_free);
    }
    assert_int_equal(dit_rule_read(PROFILES "/pytorch-eager.json", &rule), DIT_ERR_JSON_UNKNOWN_KEY);
    assert_int_equal(dit_rule_read(PROFILES "/rules/none.json", &rule), DIT_ERR_IO);
}

static void every_shipped_census_is_read(void **state)
{
    DIR *censuses = opendir(CENSUSES);
    int count = 0;
    (void)state;
    assert_non_null(censuses);
    for (struct dirent *one; (one = readdir(censuses));) {
        char folder[512];
        DIR *files;
        snprintf(folder, sizeof folder, "%s/%s", CENSUSES, one->d_name);
        if (one->d_name[0] == '.' || strchr(one->d_name, '.') == NULL || !(files = opendir(folder))) continue;
        for (struct dirent *file; (file = readdir(files));)
            if (strstr(file->d_name, ".json")) count += read_every_model(folder, file->d_name);
        closedir(files);
    }
    closedir(censuses);
    assert_in_range(count, 2, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_half_costs_its_products_and_the_bytes_of_its_kernels),
        cmocka_unit_test(mixed_types_and_repeated_operands_cost_an_index_an_element),
        cmocka_unit_test(a_volume_has_an_efficiency_of_its_own),
        cmocka_unit_test(a_compiler_makes_fewer_kernels_and_no_views),
        cmocka_unit_test(the_host_waits_for_copies_from_its_memory),
        cmocka_unit_test(a_model_of_another_depth_has_the_same_last_block),
        cmocka_unit_test(a_census_is_found_by_config_and_batch),
        cmocka_unit_test(broken_graphs_spare_the_device_and_not_the_host),
        cmocka_unit_test(bad_files_are_refused),
        cmocka_unit_test(every_shipped_census_is_read),
        cmocka_unit_test(a_decode_is_its_calls_and_its_blends),
        cmocka_unit_test(a_text_encoder_is_as_many_layers_as_it_has),
        cmocka_unit_test(half_precision_keeps_a_product_in_full),
        cmocka_unit_test(a_graph_is_one_launch),
        cmocka_unit_test(every_rule_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
