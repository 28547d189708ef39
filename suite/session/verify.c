#include "suite/session/verify.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/mesh.h"
#include "base/patches.h"
#include "base/safetensors.h"
#include "suite/cases/document.h"
#include "suite/paths.h"
#include "suite/session/history.h"
#include "suite/session/plan.h"
#include "suite/session/schedule.h"
#include "suite/workload/programs/predict.h"
#include "suite/workload/workload.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const suite_session *session;
    suite_verify_report report;
    void *context;
    suite_verify_summary *summary;
    char place[64];
    const cJSON *head; /* the journal's first line */
} verifier;

static void problem_at(verifier *v, const char *place, dit_status code, const char *message)
{
    v->summary->problems++;
    v->report(v->context, place, code, message);
}

static void problem(verifier *v, dit_status code, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void problem(verifier *v, dit_status code, const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    problem_at(v, v->place, code, message);
}

/* Number of a member; false when absent. */
static bool number_of(const cJSON *object, const char *key, double *out)
{
    const cJSON *item = dit_json_member(object, key);
    if (!cJSON_IsNumber(item)) return false;
    *out = item->valuedouble;
    return true;
}

/* ---- latents ----------------------------------------------------------------------------------------------------- */

/* Writes the hex XXH3-128 of the raw bytes of tensor `name` of a .safetensors file. Errors: DIT_ERR_IO,
 * DIT_ERR_SAFETENSORS_*, DIT_ERR_TENSOR_MISSING. */
static dit_status digest_tensor(const char *path, const char *name, char out[DIT_HASH_HEX])
{
    dit_safetensors *file;
    dit_tensor_view view;
    dit_status st = DIT_OK;
    DIT_TRY(dit_safetensors_open(path, &file));
    if (dit_safetensors_find(file, name, &view))
        dit_hash(view.data, (size_t)view.bytes, out);
    else
        st = DIT_FAIL(DIT_ERR_TENSOR_MISSING, "%s has no tensor %s", path, name);
    dit_safetensors_close(file);
    return st;
}

/* What a program's record has the digest of: its key, the file and the tensor. */
typedef struct {
    const char *digest_key, *file, *tensor;
} digested;

static void check_tensor(verifier *v, const suite_history_result *result, const cJSON *record, const digested *what)
{
    char path[SUITE_PATH], hash[DIT_HASH_HEX], expected[64];
    const char *digest = dit_json_text_or(dit_json_member(record, "validation"), what->digest_key, NULL);
    if (!digest || result->superseded) return;
    if (suite_path(path, "%s/cases/%s/p%d/%s.safetensors", v->session->dir, result->case_id, result->process,
                   what->file) != DIT_OK)
        return;
    if (access(path, F_OK) != 0) return; /* records travel without their latents */
    v->summary->latents++;
    if (digest_tensor(path, what->tensor, hash) != DIT_OK) {
        problem(v, dit_error_last()->status, "%s", dit_error_last()->message);
        return;
    }
    snprintf(expected, sizeof expected, "xxh3:%s", hash);
    if (strcmp(expected, digest) != 0)
        problem(v, DIT_ERR_INTEGRITY, "the %s hash to %s, but the record says %s", what->file, expected, digest);
}

static void check_latents(verifier *v, const suite_history_result *result, const cJSON *record)
{
    static const digested all[] = {{"latent_digest", "latents", "latents_final"}, {"image_digest", "images", "images"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) check_tensor(v, result, record, &all[i]);
}

/* ---- aggregates -------------------------------------------------------------------------------------------------- */

/* samples.latency_ns[i] must be the maximum over ranks of iteration i. */
static void check_latency(verifier *v, const cJSON *record)
{
    const cJSON *samples = dit_json_member(dit_json_member(record, "samples"), "latency_ns"),
                *ranks = dit_json_member(record, "ranks"), *rank;
    for (int i = 0; i < cJSON_GetArraySize(samples); i++) {
        double most = -1, said = cJSON_GetArrayItem(samples, i)->valuedouble;
        cJSON_ArrayForEach(rank, ranks)
        {
            const cJSON *own = cJSON_GetArrayItem(dit_json_member(rank, "latency_ns"), i);
            if (cJSON_IsNumber(own) && own->valuedouble > most) most = own->valuedouble;
        }
        if (most >= 0 && most != said)
            problem(v, DIT_ERR_INTEGRITY, "samples.latency_ns[%d] is %.0f, the ranks' maximum %.0f", i, said, most);
    }
}

/* The parts of a request, without its files, add up to each latency; those of a simulation are rounded one by one. */
static void check_phases(verifier *v, const cJSON *kase, const cJSON *record)
{
    const cJSON *samples = dit_json_member(record, "samples"), *phases = dit_json_member(samples, "phases_ns"), *part;
    const char *scope = dit_json_text_or(dit_json_member(kase, "measure"), "scope", "denoise");
    if (!phases && strcmp(scope, "denoise") != 0 && !suite_case_simulated(kase))
        problem(v, DIT_ERR_INTEGRITY, "the case has scope %s, but its record has no samples.phases_ns", scope);
    int count = phases ? cJSON_GetArraySize(dit_json_member(samples, "latency_ns")) : 0;
    for (int i = 0; i < count; i++) {
        double sum = 0, said = cJSON_GetArrayItem(dit_json_member(samples, "latency_ns"), i)->valuedouble;
        cJSON_ArrayForEach(part, phases)
        {
            const cJSON *one = cJSON_GetArrayItem(part, i);
            if (strcmp(part->string, "write") != 0 && cJSON_IsNumber(one)) sum += one->valuedouble;
        }
        if (fabs(sum - said) > 3)
            problem(v, DIT_ERR_INTEGRITY,
                    "samples.phases_ns add up to %.0f in iteration %d, samples.latency_ns is %.0f", sum, i, said);
    }
}

static void check_memory(verifier *v, const cJSON *record)
{
    const cJSON *memory = dit_json_member(record, "memory"), *item, *rank;
    cJSON_ArrayForEach(item, memory)
    {
        double most = -1, own;
        cJSON_ArrayForEach(rank, dit_json_member(record, "ranks"))
        {
            if (number_of(dit_json_member(rank, "memory"), item->string, &own) && own > most) most = own;
        }
        if (cJSON_IsNumber(item) && most >= 0 && most != item->valuedouble)
            problem(v, DIT_ERR_INTEGRITY, "memory.%s is %.0f, the ranks' maximum %.0f", item->string, item->valuedouble,
                    most);
    }
}

/* The place of a communication row in a volume table, or NULL. */
static dit_volume *volume_of(dit_volume_table *table, const cJSON *row)
{
    dit_volume_place at;
    bool known =
        dit_volume_place_from_names(dit_json_text_or(row, "axis", NULL), dit_json_text_or(row, "collective", NULL),
                                    dit_json_text_or(row, "phase", NULL), &at);
    return known ? DIT_VOLUME_AT(table, at) : NULL;
}

/* The document of a case read anew: what the journal holds has no places in a file. The software is what the session
 * was run with; a session from before the first line told of it is held against the profile as it is now. */
static dit_status predict(const verifier *v, const cJSON *kase, suite_prediction *out)
{
    dit_json document = {.root = NULL, .path = (char *)"case"};
    suite_profile software;
    char *text = NULL;
    bool told = suite_profile_from_session(v->head, suite_case_platform(kase, "profile"), &software) == DIT_OK;
    if (!told) dit_error_clear();
    DIT_TRY(dit_json_canonical(kase, &text));
    dit_status st = dit_json_parse(text, strlen(text), "case", &document);
    free(text);
    if (st == DIT_OK) st = suite_predict_case(&document, told ? &software : NULL, out);
    dit_json_release(&document);
    return st;
}

static void check_row(verifier *v, int rank, const cJSON *row, dit_volume_table *predicted)
{
    dit_volume *expected = volume_of(predicted, row);
    double bytes = 0, messages = 0;
    if (!expected) {
        problem(v, DIT_ERR_INTEGRITY, "a row of communication names no known axis, collective and phase");
        return;
    }
    number_of(row, "bytes", &bytes);
    number_of(row, "messages", &messages);
    if (bytes != (double)expected->bytes || messages != (double)expected->messages) {
        problem(v, DIT_ERR_BYTES_MISMATCH,
                "rank %d, %s %s: counted %.0f bytes in %.0f messages, the closed form is %" PRId64 " in %" PRId64, rank,
                dit_json_text_or(row, "axis", NULL), dit_json_text_or(row, "collective", NULL), bytes, messages,
                expected->bytes, expected->messages);
    }
    *expected = (dit_volume){0, 0}; /* seen */
}

/* Bytes of weights follow from how the engine packs them: a record tells those of a rank's shard, which each of its
 * messages of a pass has a block's part of. How many messages there are, the facts say. */
static void take_shards(const suite_prediction *prediction, int rank, const cJSON *own, dit_volume_table *predicted)
{
    dit_volume *volume = &predicted->at[DIT_AXIS_FSDP][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP];
    int coordinates[DIT_AXIS_COUNT];
    double bytes = 0;
    if (!volume->messages || !number_of(own, "shard_bytes", &bytes)) return;
    dit_mesh_coordinates(&prediction->parallel, rank, coordinates);
    int64_t blocks =
        dit_parallel_stage(&prediction->parallel, &prediction->facts, coordinates[DIT_AXIS_PIPEFUSION]).count;
    volume->bytes = volume->messages / blocks * (int64_t)bytes;
}

/* Every counted row of `rank` against the closed form, and no predicted row missing. `own`: the rank's entry. */
static void check_rank(verifier *v, const suite_prediction *prediction, int rank, const cJSON *own, const cJSON *rows)
{
    const cJSON *row;
    dit_volume_table predicted;
    suite_predict_volume(prediction, rank, &predicted);
    take_shards(prediction, rank, own, &predicted);
    cJSON_ArrayForEach(row, rows) check_row(v, rank, row, &predicted);
    int64_t missing = dit_volume_total_bytes(&predicted);
    if (missing)
        problem(v, DIT_ERR_BYTES_MISMATCH, "%" PRId64 " bytes of rank %d's closed form have no row in communication",
                missing, rank);
}

/* Takes from a record which steps ran the positive guidance branch alone, of a policy that goes by timesteps. They must be
 * such as the settings allow: the timesteps, which decide between them, are known to the engine alone. */
static void take_lone_steps(verifier *v, const cJSON *cache, suite_prediction *prediction)
{
    const char *digits = dit_json_text_or(cache, "branches", "");
    int every = prediction->cache.unconditional, steps = (int)prediction->facts.steps;
    if (!every) return;
    if ((int)strlen(digits) != steps)
        problem(v, DIT_ERR_INTEGRITY, "the cache does not tell for each of %d steps how many branches ran", steps);
    for (int step = 0; step < steps && digits[step]; step++) {
        bool lone = digits[step] == '1';
        prediction->cache.lone[step] = lone ? '1' : '0';
        if (lone && step % every == 0)
            problem(v, DIT_ERR_INTEGRITY, "the cache left out a branch in step %d, but both run in every %d", step,
                    every);
    }
}

/* Counts the steps in which a record says that modules of a kind were reused, under the same proviso. */
static void count_reused(verifier *v, const cJSON *cache, int kind, suite_prediction *prediction)
{
    const char *name = dit_module_names()[kind];
    const char *digits = dit_json_text_or(dit_json_member(cache, "modules"), name, "");
    int range = prediction->cache.ranges[kind], steps = (int)prediction->facts.steps;
    if (!range) return;
    if ((int)strlen(digits) != steps)
        problem(v, DIT_ERR_INTEGRITY, "the cache does not tell for each of %d steps whether %s was reused", steps,
                name);
    for (int step = 0; step < steps && digits[step]; step++) {
        bool reused = digits[step] == '0', lone = dit_cache_is_lone(&prediction->cache, step);
        *(lone ? &prediction->use.lone_modules[kind] : &prediction->use.modules[kind]) += reused;
        if (reused && step % range == 0)
            problem(v, DIT_ERR_INTEGRITY, "the cache reused %s in step %d, but its range is %d", name, step, range);
        if (reused && prediction->cache.unconditional && !lone)
            problem(v, DIT_ERR_INTEGRITY, "the cache reused %s in step %d, which ran both branches", name, step);
    }
}

/* What goes by timesteps is known from the record's cache, and alike on all ranks. */
static void take_modules(verifier *v, const cJSON *cache, suite_prediction *prediction)
{
    if (!dit_cache_awaits_timesteps(&prediction->cache)) return;
    take_lone_steps(v, cache, prediction);
    for (int step = 0; step < (int)prediction->facts.steps; step++)
        prediction->use.lone += dit_cache_is_lone(&prediction->cache, step);
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++) count_reused(v, cache, kind, prediction);
}

/* Takes the steps that reused each block by itself, of the rank's record. */
static void take_blocks(verifier *v, const cJSON *object, suite_prediction *prediction)
{
    const cJSON *list = dit_json_member(object, "cache_blocks"), *item;
    int64_t steps = prediction->facts.steps, block = 0;
    cJSON_ArrayForEach(item, list)
    {
        double hits = cJSON_IsNumber(item) ? item->valuedouble : -1;
        if (block >= prediction->facts.layers || !(hits >= 0 && hits < (double)steps)) {
            problem(v, DIT_ERR_INTEGRITY, "%g hits of block %" PRId64 " of %" PRId64 " in %" PRId64 " steps", hits,
                    block, prediction->facts.layers, steps);
            return;
        }
        prediction->use.blocks[block++] = (int64_t)hits;
    }
}

/* What a test decided is known from the rank's record alone. */
static void take_decisions(verifier *v, const cJSON *object, const char *hits, const char *tests,
                           suite_prediction *prediction)
{
    int64_t steps = prediction->facts.steps;
    int64_t reused = dit_json_int_or(object, hits, prediction->use.hits);
    int64_t tested = dit_json_int_or(object, tests, prediction->use.tests);
    if (prediction->cache.policy == DIT_CACHE_NONE || dit_cache_is_known(&prediction->cache)) return;
    bool each = dit_cache_is_of_blocks(&prediction->cache);
    int64_t most = each ? steps * prediction->facts.layers : steps;
    if (reused < 0 || reused >= steps || tested < 0 || tested >= most) {
        problem(v, DIT_ERR_INTEGRITY, "%" PRId64 " hits and %" PRId64 " tests of a cache in %" PRId64 " steps", reused,
                tested, steps);
        return;
    }
    prediction->use.hits = reused;
    prediction->use.tests = tested;
    if (each) take_blocks(v, object, prediction);
}

/* A cache's decisions must agree with their counts, and those that are known before a run with the settings. */
static void check_decisions(verifier *v, const suite_prediction *prediction, const cJSON *kase, const cJSON *record)
{
    const cJSON *cache = dit_json_member(record, "cache");
    const char *decisions = dit_json_text_or(cache, "decisions", "");
    char expected[DIT_CACHE_MAX_STEPS + 1];
    int steps = (int)prediction->facts.steps, hits = 0;
    if (prediction->cache.policy == DIT_CACHE_NONE) return;
    if (!cache) {
        if (!suite_case_simulated(kase)) problem(v, DIT_ERR_INTEGRITY, "a cached run does not tell what it decided");
        return;
    }
    for (const char *digit = decisions; *digit; digit++) hits += *digit == '0';
    if ((int)strlen(decisions) != steps || dit_json_int_or(cache, "hits", -1) != hits)
        problem(v, DIT_ERR_INTEGRITY, "the cache decided \"%.80s\", but says %" PRId64 " hits in %d steps", decisions,
                dit_json_int_or(cache, "hits", -1), steps);
    if (!dit_cache_is_known(&prediction->cache) || dit_cache_awaits_timesteps(&prediction->cache)) return;
    dit_cache_decide_all(&prediction->cache, steps, '1', expected);
    if (strcmp(decisions, expected) != 0)
        problem(v, DIT_ERR_INTEGRITY, "the cache decided \"%.80s\", its settings say \"%.80s\"", decisions, expected);
}

/* The record's own rows are rank 0's; each rank has its own beside them. */
static void check_communication(verifier *v, const cJSON *kase, const cJSON *record)
{
    const cJSON *rows = dit_json_member(record, "communication"), *one;
    suite_prediction prediction;
    if (!rows) return;
    if (predict(v, kase, &prediction) != DIT_OK) {
        problem(v, dit_error_last()->status, "closed form: %s", dit_error_last()->message);
        return;
    }
    take_modules(v, dit_json_member(record, "cache"), &prediction);
    const dit_cache_use planned = prediction.use;
    int ranks = dit_parallel_world_size(&prediction.parallel);
    check_decisions(v, &prediction, kase, record);
    take_decisions(v, dit_json_member(record, "cache"), "hits", "tests", &prediction);
    check_rank(v, &prediction, 0, cJSON_GetArrayItem(dit_json_member(record, "ranks"), 0), rows);
    cJSON_ArrayForEach(one, dit_json_member(record, "ranks"))
    {
        double rank = -1;
        const cJSON *own = dit_json_member(one, "communication");
        if (!own) continue;
        if (!number_of(one, "rank", &rank) || rank < 0 || rank >= ranks || rank != (double)(int)rank) {
            problem(v, DIT_ERR_INTEGRITY, "\"ranks\" has an entry that is none of the %d ranks", ranks);
            continue;
        }
        prediction.use = planned;
        take_decisions(v, one, "cache_hits", "cache_tests", &prediction);
        check_rank(v, &prediction, (int)rank, one, own);
    }
}

/* ---- one result -------------------------------------------------------------------------------------------------- */

/* True when the file holds the same document; an absent file is reported only when `needed`. */
static void check_file(verifier *v, const char *path, const cJSON *expected, bool needed)
{
    dit_json document = {0};
    char *there = NULL, *here = NULL;
    if (access(path, F_OK) != 0) {
        if (needed) problem(v, DIT_ERR_IO, "%s is missing", path);
        return;
    }
    if (dit_json_read_file(path, &document) != DIT_OK || dit_json_canonical(document.root, &there) != DIT_OK ||
        dit_json_canonical(expected, &here) != DIT_OK)
        problem_at(v, path, dit_error_last()->status, dit_error_last()->message);
    else if (strcmp(there, here) != 0)
        problem_at(v, path, DIT_ERR_INTEGRITY, "is not what the journal holds");
    free(there);
    free(here);
    dit_json_release(&document);
}

static void check_case(verifier *v, const suite_history_result *result)
{
    const cJSON *kase = dit_json_member(result->document, "case");
    char *text = NULL, hash[DIT_HASH_HEX], path[SUITE_PATH];
    if (!cJSON_IsObject(kase) || dit_json_canonical(kase, &text) != DIT_OK) {
        problem(v, DIT_ERR_INTEGRITY, "the line holds no case");
        return;
    }
    dit_hash(text, strlen(text), hash);
    free(text);
    if (strcmp(hash, result->case_id) != 0)
        problem(v, DIT_ERR_INTEGRITY, "the case hashes to %s, but its id is %s", hash, result->case_id);
    if (suite_path(path, "%s/cases/%s/case.json", v->session->dir, result->case_id) == DIT_OK)
        check_file(v, path, kase, false);
}

static void check_record(verifier *v, const suite_history_result *result, const cJSON *record)
{
    char path[SUITE_PATH];
    v->summary->records++;
    check_latency(v, record);
    check_phases(v, dit_json_member(result->document, "case"), record);
    check_memory(v, record);
    check_communication(v, dit_json_member(result->document, "case"), record);
    check_latents(v, result, record);
    if (result->superseded) return;
    if (suite_path(path, "%s/cases/%s/p%d/record.json", v->session->dir, result->case_id, result->process) == DIT_OK)
        check_file(v, path, record, false);
}

/* Simulated, and only simulated, is what the case's platform says is to be simulated. */
static void check_evidence(verifier *v, const suite_history_result *result, const cJSON *record)
{
    bool simulated = suite_case_simulated(dit_json_member(result->document, "case"));
    const char *expected = simulated ? "simulated" : "measured", *said = simulated ? "nothing" : expected;
    const cJSON *evidence = dit_json_member(record, "evidence");
    if (evidence) said = cJSON_IsString(evidence) ? evidence->valuestring : "no word";
    if (!simulated && strcmp(said, DIT_EVIDENCE_FAKE) == 0) return; /* sound, and no result: reports refuse it */
    if (strcmp(said, expected) != 0)
        problem(v, DIT_ERR_INTEGRITY, "the record says that its evidence is %.40s, but its platform makes it %s", said,
                expected);
}

static void check_result(verifier *v, const suite_history_result *result)
{
    const cJSON *record = dit_json_member(result->document, "record"),
                *error = dit_json_member(result->document, "error");
    snprintf(v->place, sizeof v->place, "journal.jsonl:%d", result->line);
    check_case(v, result);
    if (result->status == DIT_OUTCOME_OK && (!record || error))
        problem(v, DIT_ERR_INTEGRITY, "status ok %s", error ? "with an error" : "without a record");
    if (result->status == DIT_OUTCOME_OK && cJSON_IsFalse(dit_json_member(record, "communication_match")))
        problem(v, DIT_ERR_BYTES_MISMATCH, "the status is ok although communication_match is false");
    if (record && result->status == DIT_OUTCOME_OK) check_evidence(v, result, record);
    if (record && result->status == DIT_OUTCOME_OK) check_record(v, result, record);
}

/* A (case, process); those of a list are sorted, so that each is found without a walk. */
typedef struct {
    const char *case_id;
    int process;
} run_key;

static int compare_keys(const void *left, const void *right)
{
    const run_key *a = left, *b = right;
    int order = strcmp(a->case_id, b->case_id);
    return order ? order : (a->process > b->process) - (a->process < b->process);
}

typedef struct {
    run_key *planned, *done;
    int planned_count, done_count;
} run_keys;

static dit_status sort_keys(const suite_history *history, const suite_schedule *schedule, run_keys *out)
{
    *out = (run_keys){.planned_count = schedule->item_count, .done_count = history->result_count};
    out->planned = malloc(((size_t)schedule->item_count + 1) * sizeof *out->planned);
    out->done = malloc(((size_t)history->result_count + 1) * sizeof *out->done);
    if (!out->planned || !out->done) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to hold results against the plan");
    for (int i = 0; i < schedule->item_count; i++)
        out->planned[i] = (run_key){schedule->cases[schedule->items[i].case_index].case_id, schedule->items[i].process};
    for (int i = 0; i < history->result_count; i++)
        out->done[i] = (run_key){history->results[i].case_id, history->results[i].process};
    qsort(out->planned, (size_t)out->planned_count, sizeof *out->planned, compare_keys);
    qsort(out->done, (size_t)out->done_count, sizeof *out->done, compare_keys);
    return DIT_OK;
}

static bool has_key(const run_key *keys, int count, run_key wanted)
{
    return bsearch(&wanted, keys, (size_t)count, sizeof *keys, compare_keys) != NULL;
}

/* True if a later process of the case has a result. */
static bool has_later(const run_keys *keys, run_key wanted)
{
    int low = 0, high = keys->done_count;
    while (low < high) { /* the first key above `wanted` */
        int middle = low + (high - low) / 2;
        if (compare_keys(&keys->done[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < keys->done_count && strcmp(keys->done[low].case_id, wanted.case_id) == 0;
}

/* At the end each item of the plan has a result; where a verdict ended the run, later processes of a case may not. */
static void check_missing(verifier *v, const suite_history *history, const suite_schedule *schedule,
                          const run_keys *keys)
{
    snprintf(v->place, sizeof v->place, "journal.jsonl");
    for (int i = 0; history->complete && i < schedule->item_count; i++) {
        const suite_case *one = &schedule->cases[schedule->items[i].case_index];
        const run_key wanted = {one->case_id, schedule->items[i].process};
        if (has_key(keys->done, keys->done_count, wanted) || (history->decided && !has_later(keys, wanted))) continue;
        problem(v, DIT_ERR_INTEGRITY, "complete, but %s process %d has no result", one->label, wanted.process);
    }
}

/* Whether the newest result of the process was held against a case that this one was not: it ran before that case had a
 * result, and a retry ran it again (suite_run_lacks_distance). */
static bool is_judged_later(const suite_history *history, const suite_history_result *result)
{
    static const char *const keys[] = {"reference_case", "oracle_case", "converged_case"};
    const suite_history_result *newest = suite_history_find(history, result->case_id, result->process);
    bool later = false;
    for (int i = 0; newest && i < 3; i++)
        later |= !dit_json_member(result->document, keys[i]) && dit_json_member(newest->document, keys[i]);
    return later;
}

/* Each (case, process) of the plan once: no good result run again but for its distance, none from outside, none missing at the end. */
static dit_status check_union(verifier *v, const suite_history *history, const suite_schedule *schedule)
{
    run_keys keys;
    dit_status st = sort_keys(history, schedule, &keys);
    for (int i = 0; st == DIT_OK && i < history->result_count; i++) {
        const suite_history_result *result = &history->results[i];
        snprintf(v->place, sizeof v->place, "journal.jsonl:%d", result->line);
        if (result->superseded && result->status == DIT_OUTCOME_OK && !is_judged_later(history, result))
            problem(v, DIT_ERR_INTEGRITY, "a good result that a later line replaces");
        if (!has_key(keys.planned, keys.planned_count, (run_key){result->case_id, result->process}))
            problem(v, DIT_ERR_INTEGRITY, "a result that was not planned");
    }
    if (st == DIT_OK) check_missing(v, history, schedule, &keys);
    free(keys.planned);
    free(keys.done);
    return st;
}

static dit_status check_plan(verifier *v, const suite_history *history)
{
    dit_status st = DIT_OK;
    const char *said = dit_json_text_or(dit_json_member(history->session, "plan"), "hash", NULL);
    suite_schedule schedule = {0};
    if (suite_schedule_load(v->session, &schedule) != DIT_OK)
        problem_at(v, "plan.json", dit_error_last()->status, dit_error_last()->message);
    else if (!said || strcmp(said, schedule.hash) != 0)
        problem_at(v, "plan.json", DIT_ERR_INTEGRITY, "is not the plan that the session was started with");
    else
        st = check_union(v, history, &schedule);
    suite_schedule_release(&schedule);
    return st;
}

dit_status suite_verify_session(const suite_session *session, suite_verify_report report, void *context,
                                suite_verify_summary *out)
{
    verifier v = {.session = session, .report = report, .context = context, .summary = out};
    suite_history history = {0};
    *out = (suite_verify_summary){0};
    dit_status st = suite_history_load(session->journal, &history);
    if (st == DIT_ERR_IO) return st;
    if (st != DIT_OK) {
        problem_at(&v, "journal.jsonl", st, dit_error_last()->message); /* the message names the line */
        return DIT_OK;
    }
    v.head = history.session;
    out->lines = history.extent.lines;
    out->results = history.result_count;
    st = check_plan(&v, &history);
    for (int i = 0; st == DIT_OK && i < history.result_count; i++) check_result(&v, &history.results[i]);
    suite_history_release(&history);
    return st;
}
