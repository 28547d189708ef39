/* Verification of bytes: every rank's own closed form, of pipelines whose stages send different amounts. The session
 * here is made by hand from what the closed form says; the shell tests verify what engines wrote. */
#include "suite/paths.h"
#include "suite/session/journal.h"
#include "suite/session/schedule.h"
#include "suite/session/session.h"
#include "suite/session/verify.h"
#include "suite/tests/workload_fixture.h"
#include "suite/workload/programs/predict.h"
#include "suite/workload/workload.h"

enum { NOBODY = -1 };

static char said[2048];

static void note(void *context, const char *place, dit_status code, const char *message)
{
    size_t used = strlen(said);
    (void)context;
    snprintf(said + used, sizeof said - used, "%s %s %s\n", place, dit_status_name(code), message);
}

/* One row per kind of traffic of a rank; `extra` bytes more in the first. */
static cJSON *rows_of(const suite_prediction *prediction, int rank, int64_t extra)
{
    dit_volume_table table;
    cJSON *rows = cJSON_CreateArray();
    suite_predict_volume(prediction, rank, &table);
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i);
        const dit_volume *volume = DIT_VOLUME_AT(&table, at);
        if (!volume->messages) continue;
        cJSON *row = cJSON_CreateObject();
        cJSON_AddItemToArray(rows, row);
        cJSON_AddStringToObject(row, "axis", dit_axis_name(at.axis));
        cJSON_AddStringToObject(row, "collective", dit_collective_name(at.collective));
        cJSON_AddStringToObject(row, "phase", dit_phase_name(at.phase));
        cJSON_AddNumberToObject(row, "messages", (double)volume->messages);
        cJSON_AddNumberToObject(row, "bytes", (double)(volume->bytes + extra));
        extra = 0;
    }
    return rows;
}

static const char *evidence;          /* of the record; NULL: it has none              */
static const suite_profile *software; /* that the first line tells of; NULL: of none */
static bool counts_fp32;              /* the ranks of the record sent fp32            */

/* A latents.safetensors beside the record: a header of that length, as the file claims, and data behind it. */
typedef struct {
    uint64_t header_bytes;
    const char *rest; /* header and data */
    dit_status code;
    const char *words;
} latents_file;
static const latents_file *latents; /* NULL: there is none */

/* What a cached record says it decided, and how many hits it and each rank then have; NULL: nothing. */
static const char *decisions;
static int hits, rank_hits;
/* The same of the second block, where each is decided for: what records say, and what was sent. */
static int said_pruned, sent_pruned;

static void tell_blocks(cJSON *object)
{
    if (!said_pruned) return;
    cJSON *list = cJSON_AddArrayToObject(object, "cache_blocks");
    cJSON_AddItemToArray(list, cJSON_CreateNumber(0));
    cJSON_AddItemToArray(list, cJSON_CreateNumber(said_pruned));
}

static void tell_decisions(cJSON *record, suite_prediction *prediction)
{
    cJSON *cache = cJSON_AddObjectToObject(record, "cache");
    cJSON_AddStringToObject(cache, "decisions", decisions);
    cJSON_AddNumberToObject(cache, "hits", hits);
    cJSON_AddNumberToObject(cache, "tests", prediction->use.tests);
    prediction->use.hits = rank_hits;
    prediction->use.blocks[1] = sent_pruned;
    tell_blocks(cache);
}

/* "samples" of the record, as text; NULL: it has none. */
static const char *samples;

static cJSON *record_of(const suite_case *one, int wrong_rank)
{
    const dit_json view = {.root = one->document, .path = (char *)"case"};
    suite_prediction prediction;
    cJSON *record = cJSON_CreateObject();
    assert_int_equal(suite_predict_case(&view, NULL, &prediction), DIT_OK);
    if (counts_fp32) prediction.simulated_bytes = 0;
    if (evidence) cJSON_AddStringToObject(record, "evidence", evidence);
    if (decisions) tell_decisions(record, &prediction);
    cJSON_AddItemToObject(record, "communication", rows_of(&prediction, 0, 0));
    if (latents)
        cJSON_AddStringToObject(cJSON_AddObjectToObject(record, "validation"), "latent_digest",
                                "xxh3:00000000000000000000000000000000");
    if (samples) cJSON_AddItemToObject(record, "samples", cJSON_Parse(samples));
    cJSON *ranks = cJSON_AddArrayToObject(record, "ranks");
    for (int rank = 0; rank < one->world_size; rank++) {
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddItemToArray(ranks, entry);
        cJSON_AddNumberToObject(entry, "rank", rank);
        if (decisions) cJSON_AddNumberToObject(entry, "cache_hits", rank_hits);
        if (decisions) tell_blocks(entry);
        cJSON_AddItemToObject(entry, "communication", rows_of(&prediction, rank, rank == wrong_rank ? 4 : 0));
    }
    return record;
}

static void append(suite_journal *journal, cJSON *line)
{
    assert_int_equal(suite_journal_append(journal, line), DIT_OK);
    cJSON_Delete(line);
}

/* The keys of cases that the first result, and one after it, were held against; "": of none. NULL: there is no second. */
static const char *again[2] = {"", NULL};

static void append_result(suite_journal *journal, const suite_schedule *schedule, int wrong_rank, const char *held)
{
    cJSON *line = cJSON_CreateObject();
    cJSON_AddStringToObject(line, "kind", "result");
    cJSON_AddStringToObject(line, "case_id", schedule->cases[0].case_id);
    cJSON_AddNumberToObject(line, "process", 0);
    cJSON_AddStringToObject(line, "status", "ok");
    if (held[0]) cJSON_AddStringToObject(line, held, "0123");
    cJSON_AddItemToObject(line, "case", cJSON_Duplicate(schedule->cases[0].document, true));
    cJSON_AddItemToObject(line, "record", record_of(&schedule->cases[0], wrong_rank));
    append(journal, line);
}

static void write_journal(const suite_session *session, const suite_schedule *schedule, int wrong_rank)
{
    suite_journal *journal;
    assert_int_equal(suite_journal_open(session->journal, NULL, NULL, &journal), DIT_OK);
    cJSON *line = cJSON_CreateObject(), *plan;
    cJSON_AddStringToObject(line, "kind", "session");
    cJSON_AddStringToObject(line, "schema", "ditbench.journal/1");
    plan = cJSON_AddObjectToObject(line, "plan");
    cJSON_AddStringToObject(plan, "hash", schedule->hash);
    cJSON *profiles = cJSON_AddObjectToObject(cJSON_AddObjectToObject(line, "simulation"), "profiles");
    if (software) assert_int_equal(suite_profile_add(software, profiles), DIT_OK);
    append(journal, line);
    append_result(journal, schedule, wrong_rank, again[0]);
    if (again[1]) append_result(journal, schedule, wrong_rank, again[1]);
    suite_journal_close(journal);
}

static void write_latents(const suite_session *session, const char *case_id)
{
    char path[SUITE_PATH], bytes[512];
    size_t length = strlen(latents->rest);
    assert_int_equal(suite_path(path, "%s/cases/%s/p0", session->dir, case_id), DIT_OK);
    assert_int_equal(suite_path_make(path), DIT_OK);
    assert_int_equal(suite_path(path, "%s/cases/%s/p0/latents.safetensors", session->dir, case_id), DIT_OK);
    assert_true(8 + length <= sizeof bytes);
    memcpy(bytes, &latents->header_bytes, 8);
    memcpy(bytes + 8, latents->rest, length);
    test_file_write(path, bytes, 8 + length);
}

/* Problems of a session whose only result is the workload's first case, `wrong_rank` having sent 4 bytes too many. */
static int problems_of(const char *members, int wrong_rank)
{
    suite_workload workload = fixture_load(members);
    suite_verify_summary summary = {0};
    suite_schedule schedule;
    suite_session session = {0};
    snprintf(session.dir, sizeof session.dir, "%s/session", fixture_folder);
    snprintf(session.journal, sizeof session.journal, "%s/session/journal.jsonl", fixture_folder);
    assert_int_equal(suite_schedule_make(&workload, NULL, &schedule), DIT_OK);
    assert_int_equal(suite_schedule_save(&schedule, &session), DIT_OK);
    write_journal(&session, &schedule, wrong_rank);
    if (latents) write_latents(&session, schedule.cases[0].case_id);
    said[0] = '\0';
    assert_int_equal(suite_verify_session(&session, note, NULL, &summary), DIT_OK);
    assert_int_equal(summary.records, again[1] ? 2 : 1);
    suite_schedule_release(&schedule);
    suite_workload_release(&workload);
    assert_int_equal(suite_path_remove(session.dir), DIT_OK);
    return summary.problems;
}

#define MODEL "\"model\":\"pixart-alpha-xl-2\",\"resolution\":\"256x256\",\"num_inference_steps\":3"
static const char *const meshes[] = {
    "\"defaults\":{" MODEL ",\"pipefusion_degree\":4}",
    "\"defaults\":{" MODEL ",\"method\":\"pcpp\",\"world_size\":4}",
    "\"defaults\":{" MODEL ",\"method\":\"cfg+pipefusion+ulysses\",\"world_size\":8}",
    "\"defaults\":{" MODEL ",\"ring_degree\":4}",
    "\"program\":\"vae_decode\",\"defaults\":{\"model\":\"flux.1-dev\",\"resolution\":\"64x64\",\"rows_degree\":4}",
};

static void ranks_that_sent_what_they_should_are_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++)
        if (problems_of(meshes[i], NOBODY) != 0) fail_msg("%s: %s", meshes[i], said);
}

static void any_rank_that_sent_more_is_named(void **state)
{
    char words[32];
    (void)state;
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++) {
        for (int rank = 0; rank < 4; rank++) {
            assert_int_equal(problems_of(meshes[i], rank), 1);
            snprintf(words, sizeof words, "rank %d, ", rank);
            if (!strstr(said, words) || !strstr(said, "E_BYTES_MISMATCH")) fail_msg("%s: %s", meshes[i], said);
        }
    }
}

#define CACHED(cache) "\"defaults\":{" MODEL ",\"ring_degree\":2,\"cache\":" cache "}"
static const char scheduled[] = CACHED("{\"policy\":\"interval\",\"interval\":2}"); /* 101 */
static const char tested[] = CACHED("{\"policy\":\"fbcache\",\"threshold\":0.5}");

/* Returns the problems of a cached session whose record says so; the ranks' bytes are those of their own hits. */
static int problems_of_cached(const char *members, const char *says, int says_hits, int sent_hits)
{
    decisions = says, hits = says_hits, rank_hits = sent_hits;
    int problems = problems_of(members, NOBODY);
    decisions = NULL;
    return problems;
}

static void a_cache_that_did_what_it_says_is_sound(void **state)
{
    (void)state;
    if (problems_of_cached(scheduled, "101", 1, 1) != 0) fail_msg("%s", said);
    if (problems_of_cached(tested, "101", 1, 1) != 0) fail_msg("%s", said);
    if (problems_of_cached(tested, "111", 0, 0) != 0) fail_msg("%s", said);
}

/* A schedule's bytes are those of its settings, whatever a rank says; a test's are those of the rank's own count. */
static void caches_that_did_otherwise_are_found(void **state)
{
    static const struct {
        const char *members, *says;
        int hits, sent;
        const char *words;
    } rows[] = {
        {scheduled, "110", 1, 1, "its settings say \"101\""},
        {scheduled, "101", 1, 0, "E_BYTES_MISMATCH"},
        {tested, "100", 1, 1, "says 1 hits"},
        {tested, "10", 1, 1, "in 3 steps"},
        {tested, NULL, 0, 0, "does not tell"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(problems_of_cached(rows[i].members, rows[i].says, rows[i].hits, rows[i].sent) > 0);
        if (!strstr(said, rows[i].words)) fail_msg("%s: %s", rows[i].words, said);
    }
}

#define REQUEST(way)                                                                                                   \
    "\"defaults\":{\"model\":{\"name\":\"flux.1-schnell\",\"folder\":\"" DITBENCH_SOURCE_DIR                           \
    "/engine/tests/pipelines/flux\"},"                                                                                 \
    "\"resolution\":\"48x32\",\"text_tokens\":24,\"ulysses_degree\":2,\"text_encoder_parallel\":\"" way "\"},"         \
    "\"measure\":{\"scope\":\"pipeline\"}"

/* Text encoders are in the closed form of a request, whose parts add up to its latency, but for files. */
static void requests_are_held_against_their_parts_and_their_text(void **state)
{
    static const struct {
        const char *members, *samples, *words;
        int wrong_rank;
    } rows[] = {
        {REQUEST("broadcast"), "{\"latency_ns\":[9],\"phases_ns\":{\"text_encode\":[4],\"denoise\":[5],\"write\":[7]}}",
         NULL, NOBODY},
        {REQUEST("tensor"), "{\"latency_ns\":[9],\"phases_ns\":{\"text_encode\":[4],\"denoise\":[5]}}", NULL, NOBODY},
        {REQUEST("tensor"), "{\"latency_ns\":[9],\"phases_ns\":{\"text_encode\":[4],\"denoise\":[5]}}",
         "E_BYTES_MISMATCH", 1},
        {REQUEST("broadcast"), "{\"latency_ns\":[9],\"phases_ns\":{\"text_encode\":[4],\"denoise\":[15]}}",
         "add up to 19", NOBODY},
        {REQUEST("broadcast"), "{\"latency_ns\":[9]}", "no samples.phases_ns", NOBODY},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        samples = rows[i].samples;
        int problems = problems_of(rows[i].members, rows[i].wrong_rank);
        samples = NULL;
        if ((problems > 0) != (rows[i].words != NULL)) fail_msg("row %zu: %s", i, said);
        if (rows[i].words && !strstr(said, rows[i].words)) fail_msg("%s: %s", rows[i].words, said);
    }
}

/* Blocks that are reused by themselves leave out their own bytes. */
static void pruned_blocks_are_held_against_bytes(void **state)
{
    static const char pruned[] = CACHED("{\"policy\":\"dbprune\",\"first\":0,\"warmup\":1}");
    (void)state;
    said_pruned = sent_pruned = 2;
    if (problems_of_cached(pruned, "100", 2, 2) != 0) fail_msg("%s", said);
    sent_pruned = 1;
    assert_true(problems_of_cached(pruned, "100", 2, 2) > 0);
    if (!strstr(said, "E_BYTES_MISMATCH")) fail_msg("%s", said);
    said_pruned = 3; /* of three steps, whose first always computes */
    assert_true(problems_of_cached(pruned, "100", 2, 2) > 0);
    if (!strstr(said, "3 hits of block 1")) fail_msg("%s", said);
    said_pruned = sent_pruned = 0;
}

/* The journal hashes and the bytes agree: only the word is wrong. */
static void evidence_is_that_of_the_platform(void **state)
{
    static const char simulated[] =
        "\"defaults\":{" MODEL ",\"ring_degree\":4,\"platform\":\"8xa100-sxm\",\"profile\":\"ditbench\","
        "\"element\":\"fp32\"}";
    static const char measured[] = "\"defaults\":{" MODEL ",\"ring_degree\":4}";
    static const struct {
        const char *members, *evidence;
        int problems;
    } cases[] = {{measured, "measured", 0},   {measured, "simulated", 1}, {measured, "published", 1},
                 {simulated, "simulated", 0}, {simulated, "measured", 1}, {simulated, NULL, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        evidence = cases[i].evidence;
        if (problems_of(cases[i].members, NOBODY) != cases[i].problems) fail_msg("%zu: %s", i, said);
        if (cases[i].problems && !strstr(said, "E_INTEGRITY the record says that its evidence"))
            fail_msg("%zu: %s", i, said);
    }
    evidence = NULL;
}

/* Ranks that compute in half precision send half of what the closed form says of fp32. */
static void simulated_bytes_are_of_their_element(void **state)
{
    static const char half[] =
        "\"defaults\":{" MODEL ",\"ring_degree\":4,\"platform\":\"8xa100-sxm\",\"profile\":\"ditbench\"}";
    (void)state;
    evidence = "simulated";
    if (problems_of(half, NOBODY) != 0) fail_msg("%s", said);
    counts_fp32 = true;
    assert_true(problems_of(half, NOBODY) > 0);
    assert_non_null(strstr(said, "E_BYTES_MISMATCH"));
    evidence = NULL, counts_fp32 = false;
}

/* PyTorch's pipelines send text with every band and no forward that fills their stores: other messages than the mesh
 * alone would have. */
static const char eager[] = "\"defaults\":{\"model\":\"flux.1-dev\",\"resolution\":\"256x256\","
                            "\"num_inference_steps\":3,\"method\":\"pipefusion\",\"world_size\":4,"
                            "\"warmup_steps\":0,\"platform\":\"8xa100-sxm\",\"profile\":\"pytorch-eager\"}";

static void simulated_pipelines_are_held_against_the_messages_of_their_software(void **state)
{
    suite_profile told;
    (void)state;
    evidence = "simulated";
    if (problems_of(eager, NOBODY) != 0) fail_msg("a first line from before it told of software: %s", said);
    assert_int_equal(suite_profile_load("pytorch-eager", &told), DIT_OK);
    assert_true(told.habits.text_with_every_band && told.habits.stores_filled && told.habits.exchange_alone);
    software = &told;
    if (problems_of(eager, NOBODY) != 0) fail_msg("%s", said);
    for (int rank = 0; rank < 4; rank++) {
        assert_int_equal(problems_of(eager, rank), 1);
        assert_non_null(strstr(said, "E_BYTES_MISMATCH"));
    }
    evidence = NULL, software = NULL;
}

/* What the session was run with decides, not what the profile's file says by now. */
static void the_first_line_decides_which_software_it_was(void **state)
{
    suite_profile told;
    (void)state;
    assert_int_equal(suite_profile_load("pytorch-eager", &told), DIT_OK);
    told.habits = (dit_habits){0};
    evidence = "simulated", software = &told;
    assert_true(problems_of(eager, NOBODY) > 0);
    assert_non_null(strstr(said, "E_BYTES_MISMATCH"));
    evidence = NULL, software = NULL;
}

#define ENTRY(shape, offsets) "{\"latents_final\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
enum { ENTRY_BYTES = sizeof ENTRY("[2]", "[0,8]") - 1 };

/* A session may come from anybody: its latents are read as a hostile file. */
static void latents_that_are_broken_are_named_and_not_hashed(void **state)
{
    static const latents_file files[] = {
        {ENTRY_BYTES, ENTRY("[2]", "[0,8]"), DIT_ERR_SAFETENSORS_TRUNCATED, "the file has 0 bytes of data"},
        {ENTRY_BYTES, "{\"latents", DIT_ERR_SAFETENSORS_TRUNCATED, "but only 9 bytes follow"},
        {UINT64_MAX, "{}", DIT_ERR_SAFETENSORS_HEADER, "header length 18446744073709551615"},
        {UINT64_C(1) << 63, "{}", DIT_ERR_SAFETENSORS_HEADER, "header length 9223372036854775808"},
        {ENTRY_BYTES, ENTRY("[2]", "[8,0]") "12345678", DIT_ERR_SAFETENSORS_OFFSETS, "run backwards"},
        {ENTRY_BYTES, ENTRY("[9]", "[0,8]") "12345678", DIT_ERR_SAFETENSORS_OFFSETS, "9 elements of F32 take 36"},
        {ENTRY_BYTES, ENTRY("[2]", "[0,8]") "123456789", DIT_ERR_SAFETENSORS_TRAILING, "1 bytes after"},
        {2, "{}", DIT_ERR_TENSOR_MISSING, "no tensor latents_final"},
        {ENTRY_BYTES, ENTRY("[2]", "[0,8]") "12345678", DIT_ERR_INTEGRITY, "the latents hash to"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        latents = &files[i];
        assert_int_equal(problems_of(meshes[0], NOBODY), 1);
        if (!strstr(said, dit_status_name(files[i].code)) || !strstr(said, files[i].words))
            fail_msg("%zu: %s", i, said);
    }
    latents = NULL;
}

/* A good result may be run again for the distance that it lacks, and for nothing else. */
static void a_good_result_is_replaced_for_its_distance_only(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second;
        bool sound;
    } rows[] = {{"", "reference_case", true},
                {"", "oracle_case", true},
                {"", "", false},
                {"reference_case", "reference_case", false},
                {"reference_case", "", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        again[0] = rows[i].first, again[1] = rows[i].second;
        assert_int_equal(problems_of(meshes[0], NOBODY), rows[i].sound ? 0 : 1);
        assert_int_equal(strstr(said, "a good result that a later line replaces") != NULL, !rows[i].sound);
    }
    again[0] = "", again[1] = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_sent_what_they_should_are_sound),
        cmocka_unit_test(any_rank_that_sent_more_is_named),
        cmocka_unit_test(a_cache_that_did_what_it_says_is_sound),
        cmocka_unit_test(caches_that_did_otherwise_are_found),
        cmocka_unit_test(pruned_blocks_are_held_against_bytes),
        cmocka_unit_test(requests_are_held_against_their_parts_and_their_text),
        cmocka_unit_test(evidence_is_that_of_the_platform),
        cmocka_unit_test(simulated_bytes_are_of_their_element),
        cmocka_unit_test(simulated_pipelines_are_held_against_the_messages_of_their_software),
        cmocka_unit_test(the_first_line_decides_which_software_it_was),
        cmocka_unit_test(a_good_result_is_replaced_for_its_distance_only),
        cmocka_unit_test(latents_that_are_broken_are_named_and_not_hashed),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
