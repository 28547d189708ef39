/* Conbench: what its API takes as benchmark results, in a list; each is one request. A case is a result with a value in
 * seconds for each process, or with an error.
 *
 * The machine goes in as a cluster, whose facts are free: those of a machine ask for caches that no session knows. Of the
 * environment only what should part one history from another is context; the rest is info. Conbench takes only results of a
 * repository at GitHub.
 */
#include "suite/export/export.h"

#include "base/json_writer.h"
#include "reports/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dit_status find_repository(char *out, size_t size)
{
    const char *name = getenv("GITHUB_REPOSITORY");
    if (!name || !strchr(name, '/'))
        return dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT,
                                       "conbench takes results of a repository at GitHub only, and "
                                       "GITHUB_REPOSITORY names none"),
                              "GITHUB_REPOSITORY=OWNER/NAME ditbench export --format conbench");
    snprintf(out, size, "https://github.com/%.200s", name);
    return DIT_OK;
}

/* A commit that nobody can check out is none. */
static void put_github(dit_json_writer *w, cJSON *result, const report_table *table, const char *repository)
{
    cJSON *github = dit_json_put_object(w, result, "github");
    const cJSON *suite = dit_json_member(table->session.root, "suite");
    const char *commit = dit_json_text_or(suite, "commit", "");
    dit_json_put_string(w, github, "repository", repository);
    if (commit[0] && !dit_json_is_true(suite, "dirty")) dit_json_put_string(w, github, "commit", commit);
}

static void put_hardware(dit_json_writer *w, cJSON *result, const report_table *table, bool simulated)
{
    const cJSON *hardware = simulated ? NULL : dit_json_member(table->session.root, "hardware");
    cJSON *cluster = dit_json_put_object(w, result, "cluster_info");
    dit_json_put_string(w, cluster, "name", dit_json_text_or(hardware, "hardware_id", "simulated"));
    if (hardware)
        dit_json_put_copy(w, cluster, "info", hardware);
    else
        dit_json_put_object(w, cluster, "info");
    dit_json_put_object(w, cluster, "optional_info");
}

/* Values are strings there. */
static void put_tags(dit_json_writer *w, cJSON *result, const report_case *kase)
{
    cJSON *tags = dit_json_put_object(w, result, "tags");
    const cJSON *tag;
    dit_json_put_string(w, tags, "name", "ditbench");
    cJSON_ArrayForEach(tag, kase->tags)
    {
        char number[32];
        snprintf(number, sizeof number, "%.17g", cJSON_IsNumber(tag) ? tag->valuedouble : 0);
        const char *text = cJSON_IsString(tag) ? tag->valuestring : cJSON_IsNumber(tag) ? number : NULL;
        if (text && text[0] && strcmp(tag->string, "name") != 0) dit_json_put_string(w, tags, tag->string, text);
    }
    dit_json_put_string(w, tags, "case", kase->label);
    dit_json_put_string(w, tags, "evidence", kase->evidence);
}

static void put_texts(dit_json_writer *w, cJSON *result, const char *key, const cJSON *from, bool context)
{
    static const char *const parting[] = {"compiler", "compiler_flags", "mpi", "driver", "cuda", NULL};
    cJSON *object = dit_json_put_object(w, result, key);
    const cJSON *item;
    cJSON_ArrayForEach(item, from)
    {
        bool parts = false;
        for (int i = 0; parting[i]; i++) parts |= strcmp(item->string, parting[i]) == 0;
        if (cJSON_IsString(item) && parts == context) dit_json_put_string(w, object, item->string, item->valuestring);
    }
}

static void put_numbers(dit_json_writer *w, cJSON *result, const report_case *kase)
{
    char why[600];
    suite_export_failure(kase, why, sizeof why);
    if (!kase->metric[REPORT_LATENCY].n) {
        dit_json_put_string(w, dit_json_put_object(w, result, "error"), "status", why[0] ? why : "no latency");
        return;
    }
    cJSON *stats = dit_json_put_object(w, result, "stats");
    cJSON *data = dit_json_put_array(w, stats, "data");
    for (int i = 0; i < kase->process_count; i++) {
        const double seconds = kase->processes[i].metric[REPORT_LATENCY];
        if (kase->processes[i].status == DIT_OUTCOME_OK && isfinite(seconds))
            dit_json_put_number(w, data, NULL, seconds);
    }
    dit_json_put_string(w, stats, "unit", "s");
    dit_json_put_array(w, stats, "times");
    dit_json_put_string(w, stats, "time_unit", "s");
    if (why[0]) dit_json_put_string(w, dit_json_put_object(w, result, "error"), "status", why);
}

static void put_result(dit_json_writer *w, cJSON *list, const report_table *table, const report_case *kase,
                       const char *session, const char *repository)
{
    const cJSON *environment = dit_json_member(table->session.root, "environment");
    cJSON *result = dit_json_put_object(w, list, NULL);
    dit_json_put_string(w, result, "run_id", session);
    dit_json_put_string(w, result, "batch_id", session);
    dit_json_put_string(w, dit_json_put_object(w, result, "run_tags"), "name",
                        report_session_text(table, "workload/name"));
    dit_json_put_string(w, result, "timestamp", report_session_text(table, "started"));
    put_tags(w, result, kase);
    put_numbers(w, result, kase);
    put_texts(w, result, "context", environment, true);
    put_texts(w, result, "info", environment, false);
    put_hardware(w, result, table, report_case_is_simulated(kase));
    put_github(w, result, table, repository);
}

static dit_status write_conbench(const report_table *table, const char *session, dit_buffer *out)
{
    dit_json_writer w = {0};
    char repository[240];
    DIT_TRY(find_repository(repository, sizeof repository));
    cJSON *list = dit_json_new_array(&w);
    for (int i = 0; i < table->case_count; i++) {
        const report_case *kase = &table->cases[i];
        if (report_case_is_oracle(kase) || kase->status == DIT_OUTCOME_SKIPPED) continue;
        put_result(&w, list, table, kase, session, repository);
    }
    return suite_export_document(&w, list, out);
}

const suite_export_format suite_export_conbench = {
    .name = "conbench", .meaning = "results for the API of Conbench, in a list", .write = write_conbench};
