/* Simulated cases on paper: what a platform of backend cost makes of cells, the meshes of a search, where such cases
 * stand in a plan, and published points beside them. Nothing is simulated here. */
#include "suite/cases/document.h"
#include "suite/catalogue/method.h"
#include "suite/paths.h"
#include "suite/session/plan.h"
#include "suite/session/schedule.h"
#include "suite/session/session.h"
#include "suite/simulate/published_lines.h"
#include "suite/tests/workload_fixture.h"
#include "suite/workload/workload.h"

#include <math.h>

#define PIXART  "\"model\":\"pixart-alpha-xl-2\",\"resolution\":\"1024x1024\",\"num_inference_steps\":20"
#define CLUSTER "\"platform\":\"8xa100-sxm\""
#define A100    CLUSTER ",\"profile\":\"ditbench\""

static const char *platform_word(const suite_case *one, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(fixture_part(one, "platform"), key));
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

static void a_simulated_case_says_software_and_element(void **state)
{
    (void)state;
    suite_workload workload =
        fixture_load("\"defaults\":{" PIXART "," CLUSTER ",\"profile\":\"pytorch-eager\",\"element\":\"bf16\","
                     "\"ulysses_degree\":8,\"threads_per_rank\":4},\"measure\":{\"warmup_runs\":3,\"iterations\":9,"
                     "\"trace\":true,\"scope\":\"pipeline\"}");
    const suite_case *one = &workload.cases[0];
    const cJSON *measure = fixture_part(one, "measure");
    assert_int_equal(workload.case_count, 1);
    assert_true(one->is_simulated && suite_case_simulated(one->document));
    assert_string_equal(platform_word(one, "backend"), "cost");
    assert_string_equal(platform_word(one, "profile"), "pytorch-eager");
    assert_string_equal(platform_word(one, "element"), "bf16");
    assert_int_equal(suite_case_threads(one->document), 1);
    assert_true(fixture_number(measure, "warmup_runs") == 0 && fixture_number(measure, "iterations") == 1);
    assert_false(cJSON_HasObjectItem(measure, "trace"));
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(measure, "scope")), "pipeline");
    assert_string_equal(fixture_tag(one, "profile"), "pytorch-eager");
    suite_workload_release(&workload);
}

static void it_is_compared_with_nothing(void **state)
{
    (void)state;
    suite_workload workload = fixture_load("\"defaults\":{" PIXART "," A100 "},\"axes\":{\"method\":[\"single\","
                                           "\"pipefusion\",\"distrifusion\"],\"world_size\":[1,4]}");
    assert_int_equal(workload.case_count, 3);
    for (int i = 0; i < workload.case_count; i++) {
        const suite_case *one = &workload.cases[i];
        assert_false(one->is_reference || one->is_oracle);
        assert_string_equal(one->reference_id, "");
        assert_string_equal(one->oracle_id, "");
        assert_string_equal(platform_word(one, "profile"), "ditbench");
        assert_string_equal(platform_word(one, "element"), "fp16");
    }
    suite_workload_release(&workload);
}

/* 64 images of 2048 px do not fit a T4; whether they do is for the simulation to say. */
static void memory_drops_no_simulated_cell(void **state)
{
    (void)state;
    suite_workload workload =
        fixture_load("\"defaults\":{\"model\":\"pixart-alpha-xl-2\",\"resolution\":\"2048x2048\",\"num_images\":64,"
                     "\"platform\":\"4xt4\",\"profile\":\"ditbench\"}");
    assert_int_equal(workload.case_count, 1);
    assert_true(workload.cases[0].predicted_memory_bytes > INT64_C(16) << 30);
    suite_workload_release(&workload);
    fixture_dropped("\"defaults\":{" PIXART ",\"platform\":\"4xt4\",\"profile\":\"ditbench\",\"ulysses_degree\":8}",
                    DIT_ERR_CONSTRAINT_PLATFORM, "4xt4");
}

static void software_means_nothing_to_measured_cells(void **state)
{
    (void)state;
    suite_workload workload =
        fixture_load("\"defaults\":{" PIXART "},\"axes\":{\"platform\":[\"local-cpu\",\"8xa100-sxm\"],\"profile\":["
                     "\"pytorch-eager\",\"torch-compile\"],\"element\":[\"fp16\",\"bf16\"]}");
    assert_int_equal(workload.case_count, 5);
    assert_int_equal(workload.merged_count, 3);
    assert_true(workload.cases[0].is_reference && !workload.cases[0].is_simulated);
    assert_string_equal(fixture_tag(&workload.cases[0], "profile"), "none");
    assert_string_equal(fixture_tag(&workload.cases[0], "element"), "fp32");
    assert_null(platform_word(&workload.cases[0], "profile"));
    assert_null(strstr(workload.cases[0].label, "profile"));
    assert_non_null(strstr(workload.cases[1].label, "profile=pytorch-eager"));
    suite_workload_release(&workload);
}

static void decodes_are_not_simulated(void **state)
{
    (void)state;
    fixture_dropped("\"program\":\"vae_decode\",\"defaults\":{\"model\":\"flux.1-dev\",\"resolution\":\"64x64\"," A100
                    "}",
                    DIT_ERR_UNSUPPORTED, "simulat");
}

static void a_pipeline_may_decode_in_tiles(void **state)
{
    (void)state;
    suite_workload workload = fixture_load("\"defaults\":{" PIXART "," A100 "},\"axes\":{\"tiling\":[false,true]},"
                                           "\"measure\":{\"scope\":\"pipeline\"}");
    assert_int_equal(workload.case_count, 2);
    for (int i = 0; i < 2; i++) {
        const cJSON *vae = cJSON_GetObjectItem(workload.cases[i].document, "vae");
        assert_int_equal(cJSON_IsTrue(cJSON_GetObjectItem(vae, "tiling")), i);
    }
    suite_workload_release(&workload);
}

static void latents_are_a_pipeline_without_its_decode(void **state)
{
    (void)state;
    suite_workload workload = fixture_load("\"defaults\":{" PIXART "," A100 "},\"measure\":{\"scope\":\"latents\"}");
    const cJSON *document = workload.cases[0].document, *measure = fixture_part(&workload.cases[0], "measure");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(measure, "scope")), "latents");
    assert_true(cJSON_HasObjectItem(document, "text_encoders") && cJSON_HasObjectItem(document, "vae"));
    suite_workload_release(&workload);
}

static void wishes_without_effect_are_refused(void **state)
{
    static const struct {
        const char *members;
        dit_status status;
        const char *place;
    } refused[] = {
        {"\"defaults\":{" PIXART ",\"profile\":\"ditbench\"}", DIT_ERR_WORKLOAD, "/defaults/profile"},
        {"\"defaults\":{" PIXART "," CLUSTER "}", DIT_ERR_WORKLOAD, "/defaults/platform"},
        {"\"defaults\":{" PIXART "},\"axes\":{\"platform\":[\"local-cpu\",\"4xt4\"]}", DIT_ERR_WORKLOAD,
         "/axes/platform"},
        {"\"defaults\":{" PIXART "},\"axes\":{\"element\":[\"fp16\"]}", DIT_ERR_WORKLOAD, "/axes/element"},
        {"\"defaults\":{" PIXART "},\"measure\":{\"scope\":\"pipeline\"}", DIT_ERR_WORKLOAD, "/measure/scope"},
        {"\"defaults\":{" PIXART
         ",\"profile\":\"ditbench\"},\"axes\":{\"platform\":[\"local-cpu\",\"4xt4\"]},\"measure\":{\"scope\":"
         "\"pipeline\"}",
         DIT_ERR_WORKLOAD, "/measure/scope"},
        {"\"defaults\":{" PIXART "," A100 "},\"measure\":{\"scope\":\"all\"}", DIT_ERR_JSON_VALUE, "/measure/scope"},
        {"\"defaults\":{" PIXART "," CLUSTER ",\"profile\":\"pytorch-eagre\"}", DIT_ERR_NOT_FOUND, "/defaults/profile"},
        {"\"defaults\":{" PIXART "," A100 ",\"element\":\"fp17\"}", DIT_ERR_JSON_VALUE, "/defaults/element"},
        {"\"defaults\":{" PIXART "," A100 ",\"dtype\":\"fp16\"}", DIT_ERR_JSON_UNKNOWN_KEY, "/defaults/dtype"},
        {"\"defaults\":{" PIXART "," A100 ",\"tiling\":true}", DIT_ERR_WORKLOAD, "/defaults/tiling"},
        {"\"defaults\":{" PIXART "," A100 "},\"published\":[{\"where\":\"gpus == 1\"}]", DIT_ERR_JSON_MISSING,
         "/published/0"},
        {"\"defaults\":{" PIXART "," A100 "},\"published\":[{\"file\":\"a.json\",\"where\":\"gpus ==\"}]",
         DIT_ERR_EXPRESSION, "/published/0/where"},
        {"\"defaults\":{" PIXART "," A100 "},\"published\":[{\"file\":7}]", DIT_ERR_JSON_TYPE, "/published/0/file"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        dit_status st = fixture_refused(refused[i].members);
        if (st != refused[i].status || !strstr(dit_error_last()->message, refused[i].place))
            fail_msg("%zu: %s: %s", i, dit_status_name(st), dit_error_last()->message);
    }
}

/* ---- searches ---------------------------------------------------------------------------------------------------- */

static int product(const dit_parallel *parallel)
{
    int all = 1;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) all *= parallel->degree[axis];
    return all;
}

/* Ways to write 8 as pp x r x u: 10; 4 as the same beside cfg2: 6. */
static void a_search_deals_every_product_once(void **state)
{
    static const struct {
        int ranks, meshes;
    } counts[] = {{1, 1}, {2, 4}, {3, 3}, {4, 9}, {6, 12}, {8, 16}, {16, 25}, {1024, 121}};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        int count = suite_method_mesh_count(counts[i].ranks);
        dit_parallel all[121] = {0};
        assert_int_equal(count, counts[i].meshes);
        for (int k = 0; k < count; k++) {
            suite_method_mesh(counts[i].ranks, k, &all[k]);
            assert_int_equal(product(&all[k]), counts[i].ranks);
            assert_true(all[k].degree[DIT_AXIS_CFG] <= 2);
            for (int other = 0; other < k; other++) assert_memory_not_equal(&all[other], &all[k], sizeof *all);
        }
    }
}

static void a_search_gives_cases_of_their_own(void **state)
{
    (void)state;
    suite_workload workload = fixture_load("\"defaults\":{" PIXART "," A100 "},\"axes\":{\"method\":[\"ulysses\","
                                           "\"hybrid\"],\"world_size\":[1,8]}");
    assert_int_equal(workload.case_count, 17); /* one rank, and every mesh of 8 */
    assert_int_equal(workload.merged_count, 2);
    assert_int_equal(workload.dropped_count, 0);
    for (int i = 0; i < workload.case_count; i++)
        assert_string_not_equal(fixture_tag(&workload.cases[i], "method"), "hybrid");
    suite_workload_release(&workload);
}

/* FLUX has 24 heads and one branch of guidance. */
static void what_is_not_legal_is_dropped_with_its_mesh(void **state)
{
    int named = 0;
    (void)state;
    suite_workload workload =
        fixture_load("\"defaults\":{\"model\":\"flux.1-dev\"," A100 ",\"method\":\"hybrid\",\"world_size\":8}");
    assert_int_equal(workload.case_count, 10);
    assert_int_equal(workload.dropped_count, 6);
    for (int i = 0; i < workload.dropped_count; i++) {
        const cJSON *mesh = cJSON_GetObjectItemCaseSensitive(workload.dropped[i].cell, "mesh");
        named += cJSON_IsString(mesh) && strstr(mesh->valuestring, "cfg2") != NULL;
        assert_int_equal(workload.dropped[i].code, DIT_ERR_CONSTRAINT_CFG);
    }
    assert_int_equal(named, 6);
    suite_workload_release(&workload);
}

static void a_search_may_be_measured_too(void **state)
{
    int oracles = 0;
    (void)state;
    suite_workload workload = fixture_load("\"defaults\":{" PIXART ",\"method\":\"hybrid\",\"world_size\":2}");
    for (int i = 0; i < workload.case_count; i++) oracles += workload.cases[i].is_oracle;
    assert_int_equal(workload.case_count, 5); /* u2, r2, pp2, cfg2 and the oracle of pp2 */
    assert_int_equal(oracles, 1);
    suite_workload_release(&workload);
}

/* ---- plan -------------------------------------------------------------------------------------------------------- */

static void simulated_cases_run_once_behind_the_first_block(void **state)
{
    suite_run_item *items;
    int count;
    (void)state;
    suite_workload workload =
        fixture_load("\"defaults\":{" PIXART
                     ",\"profile\":\"ditbench\"},\"axes\":{\"platform\":[\"8xa100-sxm\",\"local-cpu\"],\"method\":["
                     "\"ulysses\",\"ring\"],\"world_size\":[1,2]},\"repeat\":{\"processes\":3,\"seed\":5}");
    assert_int_equal(workload.case_count, 6);
    assert_int_equal(suite_plan(&workload, &items, &count), DIT_OK);
    assert_int_equal(count, 3 + 3 * 3);
    for (int i = 0; i < count; i++) {
        assert_int_equal(workload.cases[items[i].case_index].is_simulated, i >= 3 && i < 6);
        assert_int_equal(items[i].order, i);
    }
    assert_true(workload.cases[items[3].case_index].predicted_bytes > 0); /* most work first */
    assert_int_equal(workload.cases[items[5].case_index].predicted_bytes, 0);
    free(items);
    suite_workload_release(&workload);
}

static void a_plan_remembers_what_is_simulated(void **state)
{
    suite_schedule made, read;
    suite_session session = {0};
    (void)state;
    suite_workload workload = fixture_load("\"defaults\":{" PIXART "," A100 "}");
    snprintf(session.dir, sizeof session.dir, "%s/session", fixture_folder);
    assert_int_equal(suite_schedule_make(&workload, NULL, &made), DIT_OK);
    made.published = cJSON_Parse("[{\"index\":7}]");
    assert_int_equal(suite_schedule_save(&made, &session), DIT_OK);
    assert_int_equal(suite_schedule_load(&session, &read), DIT_OK);
    assert_true(read.cases[0].is_simulated);
    assert_true(cJSON_Compare(made.published, read.published, true));
    assert_string_equal(made.hash, read.hash);
    suite_schedule_release(&made);
    suite_schedule_release(&read);
    suite_workload_release(&workload);
    assert_int_equal(suite_path_remove(session.dir), DIT_OK);
}

/* ---- published points -------------------------------------------------------------------------------------------- */

/* A point of PixArt on A100s, with its degrees and its metric, value and unit. */
static void add_point(char *out, size_t size, int gpus, const char *method, const char *config, const char *number)
{
    size_t used = strlen(out);
    snprintf(out + used, size - used,
             "%s{\"source\":\"a paper\",\"model\":\"PixArt-alpha\",\"resolution\":\"1024x1024\",\"steps\":20,"
             "\"hardware\":\"8xA100-80GB\",\"interconnect\":\"NVLink\",\"provenance\":\"text-table\",\"gpus\":%d,"
             "\"method\":\"%s\",\"config\":{%s},%s}",
             used > 1 ? "," : "", gpus, method, config, number);
}

/* results/published here, with points of this test; the tables of names are the shipped ones. */
static void write_published(const char *text)
{
    static const char *const tables[] = {"models.json", "hardware.json", "methods.json"};
    char target[512], path[512];
    snprintf(path, sizeof path, "%s/results/published", fixture_folder);
    assert_int_equal(suite_path_make(path), DIT_OK);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        snprintf(target, sizeof target, "%s/results/published/%s", DITBENCH_SOURCE_DIR, tables[i]);
        snprintf(path, sizeof path, "%s/results/published/%s", fixture_folder, tables[i]);
        assert_int_equal(symlink(target, path), 0);
    }
    fixture_write("results/published/mine.json", text);
    fixture_write(
        "results/published/contradictions.json",
        "{\"schema\":\"ditbench.published_contradictions/1\",\"file\":\"mine.json\",\"contradictions\":[{\"id\":"
        "\"x\",\"what\":\"printed twice\",\"believe\":\"the first\",\"why\":\"so\",\"points\":[{\"index\":0}]}]}");
}

static cJSON *lines_of(const char *workload_text)
{
    const suite_calibration nothing = {0};
    cJSON *lines = NULL;
    suite_workload workload = fixture_load(workload_text);
    dit_status st = suite_published_lines(&workload, &nothing, &lines);
    if (st != DIT_OK) fail_msg("%s: %s", dit_status_name(st), dit_error_last()->message);
    suite_workload_release(&workload);
    return lines;
}

static const cJSON *line_of(const cJSON *lines, int index)
{
    const cJSON *line;
    cJSON_ArrayForEach(line, lines) if (fixture_number(line, "index") == index) return line;
    return NULL;
}

static const char *text_of(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text ? text : "";
}

static const char workload_text[] =
    "\"defaults\":{" PIXART "," CLUSTER
    ",\"profile\":\"pytorch-eager-2025\"},\"axes\":{\"method\":[\"ulysses\",\"pipefusion\"],"
    "\"world_size\":[1,2,8]},\"measure\":{\"scope\":\"pipeline\"},\"published\":[{\"file\":\"mine.json\"%s}]";

static void write_six_points(void)
{
    char text[8192] = "[";
    const char *open = "\"cfg\":null,\"ulysses\":null,\"ring\":null,\"pipefusion\":null,\"tp\":null,\"dp\":null";
    add_point(text, sizeof text, 2, "ulysses", "\"cfg\":1,\"ulysses\":2,\"ring\":1,\"pipefusion\":1,\"tp\":1,\"dp\":1",
              "\"metric\":\"latency\",\"value\":1.5,\"unit\":\"s\"");
    add_point(text, sizeof text, 2, "pipefusion",
              "\"cfg\":1,\"ulysses\":1,\"ring\":1,\"pipefusion\":2,\"tp\":1,\"dp\":1",
              "\"metric\":\"latency_per_step\",\"value\":0.1,\"unit\":\"s\"");
    add_point(text, sizeof text, 8, "hybrid", open, "\"metric\":\"latency\",\"value\":0.9,\"unit\":\"s\"");
    add_point(text, sizeof text, 1, "single", "\"cfg\":1,\"ulysses\":1,\"ring\":1,\"pipefusion\":1,\"tp\":1,\"dp\":1",
              "\"metric\":\"peak_memory\",\"value\":12.5,\"unit\":\"GB\"");
    add_point(text, sizeof text, 8, "ulysses", "\"cfg\":1,\"ulysses\":8,\"ring\":1,\"pipefusion\":1,\"tp\":1,\"dp\":1",
              "\"metric\":\"latency\",\"value\":null,\"unit\":\"OOM\"");
    add_point(text, sizeof text, 2, "ulysses", "\"cfg\":1,\"ulysses\":2,\"ring\":1,\"pipefusion\":1,\"tp\":1,\"dp\":1",
              "\"metric\":\"speedup\",\"value\":1.8,\"unit\":\"x\"");
    strcat(text, "]");
    write_published(text);
}

static cJSON *all_lines(const char *where)
{
    char text[1024];
    snprintf(text, sizeof text, workload_text, where);
    return lines_of(text);
}

static void points_become_lines_that_can_be_placed(void **state)
{
    (void)state;
    write_six_points();
    cJSON *lines = all_lines("");
    assert_int_equal(cJSON_GetArraySize(lines), 5); /* a speed-up has no place */
    const cJSON *time = line_of(lines, 0), *step = line_of(lines, 1), *search = line_of(lines, 2);
    const cJSON *memory = line_of(lines, 3), *none = line_of(lines, 4), *tags = cJSON_GetObjectItem(time, "tags");
    assert_string_equal(text_of(time, "metric"), "latency_s");
    assert_true(fixture_number(time, "value") == 1.5 && fixture_number(time, "rounding") == 0.05);
    assert_string_equal(text_of(tags, "method"), "ulysses");
    assert_string_equal(text_of(tags, "mesh"), "u2");
    assert_string_equal(text_of(tags, "platform"), "8xa100-sxm");
    assert_string_equal(text_of(tags, "profile"), "pytorch-eager-2025");
    assert_true(fixture_number(tags, "steps") == 20 && fixture_number(tags, "world_size") == 2);
    assert_true(fabs(fixture_number(step, "value") - 2) < 1e-9); /* twenty steps of a tenth */
    assert_string_equal(text_of(cJSON_GetObjectItem(search, "tags"), "method"), "hybrid");
    assert_false(cJSON_HasObjectItem(cJSON_GetObjectItem(search, "tags"), "mesh"));
    assert_string_equal(text_of(memory, "metric"), "peak_memory_bytes");
    assert_true(fixture_number(memory, "value") == 12.5e9);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(none, "out_of_memory")) && !cJSON_HasObjectItem(none, "value"));
    cJSON_Delete(lines);
}

static void a_line_names_the_case_that_is_the_same(void **state)
{
    /* a search is no case, and a step's time is not that of a pipeline with its text encoders and VAE */
    static const char *const meshes[] = {"u2", NULL, NULL, "1", "u8"};
    char text[1024];
    (void)state;
    write_six_points();
    snprintf(text, sizeof text, workload_text, "");
    suite_workload workload = fixture_load(text);
    cJSON *lines = all_lines("");
    for (int index = 0; index < 5; index++) {
        const char *id = text_of(line_of(lines, index), "case_id");
        int at = 0;
        while (at < workload.case_count && strcmp(workload.cases[at].case_id, id) != 0) at++;
        assert_int_equal(at < workload.case_count, meshes[index] != NULL);
        if (meshes[index]) assert_string_equal(fixture_tag(&workload.cases[at], "mesh"), meshes[index]);
    }
    cJSON_Delete(lines);
    suite_workload_release(&workload);
}

/* 250 forwards a second, to the half of one, are 4 ms each, to 8 us; a layer that filled the memory has no number. */
static void a_rate_of_a_layer_is_the_time_of_one(void **state)
{
#define LAYER                                                                                                          \
    "{\"source\":\"a table\",\"model\":\"attention layer only (causal, forward)\",\"hardware\":\"8xA100\","            \
    "\"interconnect\":\"NVLink\",\"gpus\":8,\"metric\":\"throughput\",\"seq_len\":4096,\"heads\":16,\"head_dim\":64,"  \
    "\"batch\":1,\"config\":{\"ulysses\":2,\"ring\":4},\"provenance\":\"figure-label\","
    static const char layers[] =
        "[" LAYER "\"method\":\"usp zigzag/no_packed\",\"value\":250,\"unit\":\"iter/s\"}," LAYER
        "\"method\":\"usp basic/qkvpack\",\"value\":null,\"unit\":\"OOM\"}]";
    static const char program[] =
        "\"program\":\"attention\",\"defaults\":{\"tokens\":4096,\"heads\":16,\"head_dim\":64,\"causal\":true,"
        "\"ulysses_degree\":2,\"ring_degree\":4,\"profile\":\"pytorch-eager\"," CLUSTER "},\"axes\":{\"layout\":["
        "\"basic\",\"zigzag\"]},\"measure\":{\"waits\":true},\"published\":[{\"file\":\"mine.json\"}]";
    (void)state;
    write_published(layers);
    suite_workload workload = fixture_load(program);
    cJSON *lines = lines_of(program);
    const cJSON *first = line_of(lines, 0), *second = line_of(lines, 1), *tags = cJSON_GetObjectItem(first, "tags");
    assert_string_equal(text_of(first, "metric"), "latency_s");
    assert_true(fabs(fixture_number(first, "value") - 4e-3) < 1e-12);
    assert_true(fabs(fixture_number(first, "rounding") - 8e-6) < 1e-12);
    assert_string_equal(text_of(tags, "layout"), "zigzag");
    assert_string_equal(text_of(tags, "packed"), "off");
    assert_string_equal(text_of(first, "case_id"), workload.cases[1].case_id);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(second, "out_of_memory")));
    assert_string_equal(text_of(second, "case_id"), ""); /* nothing is packed in this session */
    cJSON_Delete(lines);
    suite_workload_release(&workload);
}

static void a_line_says_what_speaks_against_it(void **state)
{
    (void)state;
    write_six_points();
    cJSON *lines = all_lines("");
    const cJSON *first = cJSON_GetObjectItem(line_of(lines, 0), "warnings");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(first, 0)), "printed twice: the first");
    assert_int_equal(cJSON_GetArraySize(first), 1);
    assert_false(cJSON_HasObjectItem(line_of(lines, 3), "warnings"));
    cJSON_Delete(lines);
}

/* A step's time is not that of a pipeline: the line says why nothing is held against it. */
static void a_line_of_another_scope_is_compared_with_nothing(void **state)
{
    (void)state;
    write_six_points();
    cJSON *lines = all_lines("");
    assert_string_equal(text_of(line_of(lines, 0), "not_compared"), "");
    assert_string_equal(text_of(line_of(lines, 1), "not_compared"),
                        "the source times the denoising steps alone, this session times the whole pipeline");
    cJSON_Delete(lines);
}

static void damaged_contradictions_are_refused_with_their_place(void **state)
{
#define CONTRADICTIONS "{\"schema\":\"ditbench.published_contradictions/1\",\"file\":\"mine.json\",\"contradictions\":"
    static const char *const damaged[][2] = {
        {"[]", "schema"},
        {"{\"schema\":\"ditbench.published_models/1\"}", "/schema"},
        {CONTRADICTIONS "7}", "/contradictions"},
        {CONTRADICTIONS "[7]}", "what"},
        {CONTRADICTIONS "[{\"what\":7}]}", "/contradictions/0/what"},
        {CONTRADICTIONS "[{\"what\":\"w\",\"believe\":\"b\",\"points\":{}}]}", "/contradictions/0/points"},
        {CONTRADICTIONS "[{\"what\":\"w\",\"believe\":\"b\",\"points\":[5]}]}", "index"},
        {CONTRADICTIONS "[{\"what\":\"w\",\"believe\":\"b\",\"points\":[{\"index\":1e300}]}]}", "points/0/index"},
        {CONTRADICTIONS "[{\"what\":\"w\",\"believe\":\"b\",\"points\":[{\"index\":\"NaN\"}]}]}", "points/0/index"},
        {CONTRADICTIONS "[{\"what\":\"w\",\"believe\":\"b\",\"doubtful\":1}]}", "/contradictions/0/doubtful"},
        {CONTRADICTIONS "[{\"what\":\"w\",\"believe\":\"b\",\"restated\":{\"colour\":1}}]}", "colour"},
        {CONTRADICTIONS "[{\"what\":\"w\",\"believe\":\"b\",\"restated\":{\"steps\":0}}]}", "restated/steps"},
        {CONTRADICTIONS "[{\"what\":\"w\",\"believe\":\"b\",\"restated\":{\"scope\":\"x\"}}]}", "scope"},
        {CONTRADICTIONS "[],\"repeated\":[7]}", "id"},
        {CONTRADICTIONS "[],\"repeated\":[{\"id\":\"r\",\"why\":\"w\",\"points\":[{\"index\":-1}]}]}",
         "/repeated/0/points/0/index"},
    };
#undef CONTRADICTIONS
    const suite_calibration nothing = {0};
    char text[1024];
    cJSON *lines = NULL;
    (void)state;
    write_six_points();
    snprintf(text, sizeof text, workload_text, "");
    suite_workload workload = fixture_load(text);
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        fixture_write("results/published/contradictions.json", damaged[i][0]);
        assert_int_not_equal(suite_published_lines(&workload, &nothing, &lines), DIT_OK);
        assert_null(lines);
        if (!strstr(dit_error_last()->message, damaged[i][1])) fail_msg("%s", dit_error_last()->message);
        assert_non_null(strstr(dit_error_last()->message, "contradictions.json:1:"));
    }
    suite_workload_release(&workload);
}

static void an_expression_selects(void **state)
{
    const suite_calibration nothing = {0};
    char text[1024];
    cJSON *lines = NULL;
    (void)state;
    write_six_points();
    lines = all_lines(",\"where\":\"gpus == 2 && metric == 'latency'\"");
    assert_int_equal(cJSON_GetArraySize(lines), 1);
    cJSON_Delete(lines);
    snprintf(text, sizeof text, workload_text, ",\"where\":\"gpu == 2\"");
    suite_workload workload = fixture_load(text);
    assert_int_equal(suite_published_lines(&workload, &nothing, &lines), DIT_ERR_EXPRESSION);
    assert_non_null(strstr(dit_error_last()->message, "/published/0/where"));
    assert_null(lines);
    suite_workload_release(&workload);
}

static void what_a_source_leaves_out_may_be_assumed(void **state)
{
    static const char silent[] = "[{\"source\":\"a paper\",\"model\":\"PixArt-alpha\",\"resolution\":\"1024x1024\","
                                 "\"hardware\":\"not stated\",\"interconnect\":\"not stated\",\"gpus\":8,"
                                 "\"method\":\"ulysses\",\"config\":{\"ulysses\":8},\"metric\":\"peak_memory\","
                                 "\"value\":12.5,\"unit\":\"GB\",\"provenance\":\"text-table\"}]";
    (void)state;
    write_published(silent);
    cJSON *lines = all_lines("");
    assert_int_equal(cJSON_GetArraySize(lines), 0);
    cJSON_Delete(lines);
    lines = all_lines(",\"assume\":{\"steps\":20,\"hardware\":\"8xA100\",\"interconnect\":\"NVLink\"}");
    const cJSON *line = line_of(lines, 0), *tags = cJSON_GetObjectItem(line, "tags");
    assert_string_equal(text_of(tags, "platform"), "8xa100-sxm");
    assert_true(fixture_number(tags, "steps") == 20);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(line, "warnings")), 3); /* a contradiction, and both */
    cJSON_Delete(lines);
}

static void what_a_source_states_is_never_assumed(void **state)
{
    (void)state;
    write_six_points();
    cJSON *lines = all_lines(",\"assume\":{\"steps\":28,\"hardware\":\"8xL40\",\"interconnect\":\"PCIe\"}");
    const cJSON *tags = cJSON_GetObjectItem(line_of(lines, 4), "tags");
    assert_string_equal(text_of(tags, "platform"), "8xa100-sxm");
    assert_true(fixture_number(tags, "steps") == 20);
    assert_false(cJSON_HasObjectItem(line_of(lines, 4), "warnings"));
    cJSON_Delete(lines);
}

static int remove_published(void **state)
{
    char path[512];
    (void)state;
    snprintf(path, sizeof path, "%s/results", fixture_folder);
    return suite_path_remove(path) == DIT_OK ? 0 : -1;
}

/* Nothing of this depends on where the test is run: the folder with results/published is the fixture's. */
static int set_up(void **state)
{
    return fixture_setup(state) == 0 ? chdir(fixture_folder) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_simulated_case_says_software_and_element),
        cmocka_unit_test(it_is_compared_with_nothing),
        cmocka_unit_test(memory_drops_no_simulated_cell),
        cmocka_unit_test(software_means_nothing_to_measured_cells),
        cmocka_unit_test(decodes_are_not_simulated),
        cmocka_unit_test(a_pipeline_may_decode_in_tiles),
        cmocka_unit_test(latents_are_a_pipeline_without_its_decode),
        cmocka_unit_test(wishes_without_effect_are_refused),
        cmocka_unit_test(a_search_deals_every_product_once),
        cmocka_unit_test(a_search_gives_cases_of_their_own),
        cmocka_unit_test(what_is_not_legal_is_dropped_with_its_mesh),
        cmocka_unit_test(a_search_may_be_measured_too),
        cmocka_unit_test(simulated_cases_run_once_behind_the_first_block),
        cmocka_unit_test(a_plan_remembers_what_is_simulated),
        cmocka_unit_test_teardown(points_become_lines_that_can_be_placed, remove_published),
        cmocka_unit_test_teardown(a_line_names_the_case_that_is_the_same, remove_published),
        cmocka_unit_test_teardown(a_rate_of_a_layer_is_the_time_of_one, remove_published),
        cmocka_unit_test_teardown(a_line_says_what_speaks_against_it, remove_published),
        cmocka_unit_test_teardown(a_line_of_another_scope_is_compared_with_nothing, remove_published),
        cmocka_unit_test_teardown(damaged_contradictions_are_refused_with_their_place, remove_published),
        cmocka_unit_test_teardown(an_expression_selects, remove_published),
        cmocka_unit_test_teardown(what_a_source_leaves_out_may_be_assumed, remove_published),
        cmocka_unit_test_teardown(what_a_source_states_is_never_assumed, remove_published),
    };
    return cmocka_run_group_tests(tests, set_up, fixture_teardown);
}
