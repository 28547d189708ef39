/* Synthetic sessions: writes sessions of made-up numbers, for tests of history and of how long reading takes. Nothing
 * in them was measured: their workload, model and engine are called "synthetic".
 *
 *     suite_synthetic_sessions ROOT SESSIONS CASES PROCESSES [SHIFT_AT PERCENT]
 *
 * Session s is of commit "c0ffee" + s as six digits, a day after the one before. Times vary by a hundredth between
 * processes; from session SHIFT_AT on those of case 0 are PERCENT longer. */
#include "base/buffer.h"
#include "base/hash.h"
#include "base/rng.h"
#include "suite/paths.h"
#include "suite/session/schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    const char *root;
    int sessions, cases, processes, shift_at;
    double shift;
} synthetic;

typedef struct {
    FILE *file;
    char previous[DIT_HASH_HEX];
} journal;

/* One line of the journal, hashed and chained; takes the event. No fsync: nothing is lost that cannot be made again. */
static void put_line(journal *j, cJSON *event)
{
    char *body = NULL;
    cJSON_AddStringToObject(event, "prev", j->previous);
    if (dit_json_canonical(event, &body) != DIT_OK) abort();
    dit_hash(body, strlen(body), j->previous);
    fprintf(j->file, "{\"hash\":\"%s\",%s\n", j->previous, body + 1);
    free(body);
    cJSON_Delete(event);
}

static cJSON *parse(dit_buffer *text)
{
    cJSON *out = text->failed ? NULL : cJSON_Parse(text->data);
    if (!out) abort();
    dit_buffer_reset(text);
    return out;
}

/* A standard normal number. */
static double noise(uint64_t stream, uint64_t index)
{
    double u = (double)(dit_rng_below(1, stream, 2 * index, 1 << 30) + 1) / ((1 << 30) + 1.0);
    double v = (double)dit_rng_below(1, stream, 2 * index + 1, 1 << 30) / (1 << 30);
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979 * v);
}

static cJSON *case_document(int index)
{
    dit_buffer text = {0};
    dit_buffer_printf(
        &text,
        "{\"schema\":\"ditbench.case/1\",\"program\":\"synthetic\",\"synthetic\":%d,\"platform\":{\"name\":"
        "\"synthetic\",\"backend\":\"cpu\",\"threads_per_rank\":1}}",
        index);
    cJSON *out = parse(&text);
    dit_buffer_release(&text);
    return out;
}

static void hash_case(const cJSON *document, char out[DIT_HASH_HEX])
{
    char *text = NULL;
    if (dit_json_canonical(document, &text) != DIT_OK) abort();
    dit_hash(text, strlen(text), out);
    free(text);
}

static cJSON *tags_of(int index)
{
    dit_buffer text = {0};
    dit_buffer_printf(&text,
                      "{\"program\":\"synthetic\",\"model\":\"synthetic\",\"resolution\":\"%dx64\",\"method\":\"%s\","
                      "\"world_size\":2,\"mesh\":\"u2\",\"steps\":2,\"seed\":42,\"num_images\":1,"
                      "\"threads_per_rank\":1,\"platform\":\"synthetic\"}",
                      64 + index, index % 2 ? "ring" : "ulysses");
    cJSON *out = parse(&text);
    dit_buffer_release(&text);
    return out;
}

static void put_session(const synthetic *s, journal *j, int session, const suite_schedule *plan, const char *started)
{
    dit_buffer text = {0};
    dit_buffer_printf(&text, "{\"kind\":\"session\",\"schema\":\"ditbench.journal/1\",\"session_id\":\"synthetic-%d\",",
                      session);
    dit_buffer_printf(
        &text,
        "\"started\":\"%s\",\"suite\":{\"name\":\"ditbench\",\"version\":\"c0ffee%06d\",\"commit\":"
        "\"c0ffee%06d\",\"dirty\":false},\"workload\":{\"path\":\"none\",\"name\":\"synthetic\",\"title\":"
        "\"Synthetic: no number here was measured\",\"hash\":\"00000000000000000000000000000000\"},"
        "\"cmdline\":[\"synthetic\"],\"plan\":{\"seed\":1,\"runs\":%d,\"hash\":\"%s\"},\"hardware\":"
        "{\"hardware_id\":\"0123456789abcdef0123456789abcdef\",\"cpu\":\"synthetic\",\"cores\":2},"
        "\"environment\":{\"kernel\":\"synthetic\"}}",
        started, session, session, s->cases * s->processes, plan->hash);
    put_line(j, parse(&text));
    dit_buffer_release(&text);
}

static void put_result(const synthetic *s, journal *j, int session, const suite_run_item *item,
                       const suite_schedule *plan)
{
    const suite_case *one = &plan->cases[item->case_index];
    dit_buffer text = {0};
    bool shifted = item->case_index == 0 && s->shift_at >= 0 && session >= s->shift_at;
    double mean = 1e8 * (1 + 0.1 * (item->case_index % 50)) * (shifted ? 1 + s->shift : 1);
    uint64_t stream = (uint64_t)session << 32 | (uint64_t)item->case_index;
    long long ns[3];
    for (int i = 0; i < 3; i++)
        ns[i] = (long long)(mean * (1 + 0.01 * noise(stream, (uint64_t)(item->process * 3 + i))));
    dit_buffer_printf(
        &text,
        "{\"kind\":\"result\",\"case_id\":\"%s\",\"label\":\"%s\",\"process\":%d,\"order\":%d,\"block\":%d,"
        "\"started\":\"2026-01-01T00:00:00.000Z\",\"ended\":\"2026-01-01T00:00:01.000Z\",\"elapsed_ns\":"
        "1000000000,\"exit_code\":0,\"status\":\"ok\",\"record\":{\"schema\":\"ditbench.record/1\","
        "\"evidence\":\"measured\",\"program\":\"synthetic\",\"world_size\":2,\"threads_per_rank\":1,",
        one->case_id, one->label, item->process, item->order, item->block);
    dit_buffer_printf(&text, "\"samples\":{\"latency_ns\":[%lld,%lld,%lld],\"warmup_ns\":[9]},", ns[0], ns[1], ns[2]);
    dit_buffer_text(&text, "\"memory\":{\"weights_bytes\":8000000,\"state_bytes\":500000,\"activations_bytes\":2000000,"
                           "\"communication_bytes\":500000,\"total_bytes\":11000000,\"rss_bytes\":20000000},"
                           "\"flops\":{\"linear\":1000000000.0,\"attention\":200000000.0,\"total\":1200000000.0},"
                           "\"validation\":{\"finite\":true,\"pass\":true,\"rel_l2\":2.5e-07},\"ranks\":[");
    for (int rank = 0; rank < 2; rank++)
        dit_buffer_printf(
            &text,
            "%s{\"rank\":%d,\"latency_ns\":[%lld,%lld,%lld],\"compute_ns\":90000000,"
            "\"exposed_communication_ns\":9000000,\"memory\":{\"weights_bytes\":8000000,\"state_bytes\":"
            "500000,\"activations_bytes\":2000000,\"communication_bytes\":500000,\"total_bytes\":11000000,"
            "\"rss_bytes\":20000000}}",
            rank ? "," : "", rank, ns[0] - rank, ns[1] - rank, ns[2] - rank);
    dit_buffer_text(&text, "],\"environment\":{\"mpi\":\"synthetic\",\"kernels\":\"cpu\"}}}");
    cJSON *line = parse(&text);
    dit_buffer_release(&text);
    cJSON_AddItemToObject(line, "case", cJSON_Duplicate(one->document, true));
    cJSON_AddItemToObject(line, "tags", cJSON_Duplicate(one->tags, true));
    put_line(j, line);
}

/* The plan that every session shares. */
static void fill_plan(const synthetic *s, suite_schedule *out)
{
    out->cases = calloc((size_t)s->cases, sizeof *out->cases);
    out->items = calloc((size_t)s->cases * (size_t)s->processes, sizeof *out->items);
    out->workload = cJSON_CreateObject();
    cJSON_AddStringToObject(out->workload, "name", "synthetic");
    if (!out->cases || !out->items) abort();
    for (int i = 0; i < s->cases; i++) {
        suite_case *one = &out->cases[out->case_count++];
        one->document = case_document(i);
        one->tags = tags_of(i);
        one->world_size = 2;
        one->deadline_s = 60;
        hash_case(one->document, one->case_id);
        snprintf(one->label, sizeof one->label, "synthetic %dx64 u2", 64 + i);
    }
    for (int p = 0; p < s->processes; p++)
        for (int i = 0; i < s->cases; i++) {
            out->items[out->item_count] = (suite_run_item){i, p, p, out->item_count};
            out->item_count++;
        }
}

static void write_session(const synthetic *s, int number, suite_schedule *plan)
{
    char started[32];
    suite_session session = {0};
    journal j = {.previous = "00000000000000000000000000000000"};
    time_t at = 1767225600 + (time_t)number * 86400;
    struct tm utc;
    gmtime_r(&at, &utc);
    strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%S.000Z", &utc);
    if (suite_path(session.dir, "%s/%.4s%.2s%.2sT000000Z-synthetic-%06d", s->root, started, started + 5, started + 8,
                   number) != DIT_OK ||
        suite_path_make(session.dir) != DIT_OK ||
        suite_path(session.journal, "%s/journal.jsonl", session.dir) != DIT_OK)
        abort();
    /* plan.json alone: a folder for each case would take longer than all the rest */
    if (suite_schedule_save_plan(plan, &session) != DIT_OK) abort();
    j.file = fopen(session.journal, "we");
    if (!j.file) abort();
    put_session(s, &j, number, plan, started);
    for (int i = 0; i < plan->item_count; i++) put_result(s, &j, number, &plan->items[i], plan);
    cJSON *end = cJSON_CreateObject();
    cJSON_AddStringToObject(end, "kind", "end");
    cJSON_AddStringToObject(end, "ended", started);
    cJSON_AddTrueToObject(end, "complete");
    cJSON_AddStringToObject(end, "end_reason", "finished");
    put_line(&j, end);
    if (fclose(j.file) != 0) abort();
}

int main(int argc, char **argv)
{
    if (argc != 5 && argc != 7) return fprintf(stderr, "ROOT SESSIONS CASES PROCESSES [SHIFT_AT PERCENT]\n"), 2;
    const synthetic s = {argv[1],
                         atoi(argv[2]),
                         atoi(argv[3]),
                         atoi(argv[4]),
                         argc == 7 ? atoi(argv[5]) : -1,
                         argc == 7 ? atof(argv[6]) / 100 : 0};
    suite_schedule plan = {0};
    fill_plan(&s, &plan);
    for (int i = 0; i < s.sessions; i++) write_session(&s, i, &plan);
    suite_schedule_release(&plan);
    return 0;
}
