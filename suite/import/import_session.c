/* Writes imported results as a session: its plan, its journal. */
#include "suite/import/import.h"

#include "base/clock.h"
#include "base/json_writer.h"
#include "suite/machine/environment.h"
#include "suite/session/history.h"
#include "suite/session/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is written, in order: lines of the other session, then ours. */
typedef struct {
    const suite_imported *imported;
    const suite_import_source *source;
    const suite_session *session;
    suite_schedule plan;
    suite_history other;
    cJSON *lines;               /* dropped cells and published points of the other session */
    char started[40];           /* of ours: as the file says, else now */
    int first_case, first_item; /* of ours in the plan */
} import_writer;

static dit_status no_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for an imported session");
}

/* ---- the session beside ------------------------------------------------------------------------------------------ */

static dit_status take_line(void *context, int line, const dit_json *document)
{
    import_writer *writer = context;
    const char *kind = dit_json_text_or(document->root, "kind", "");
    (void)line;
    if (strcmp(kind, "dropped") != 0 && strcmp(kind, "published") != 0) return DIT_OK;
    dit_json_writer w = {0};
    dit_json_put_copy(&w, writer->lines, NULL, document->root);
    return w.status;
}

static dit_status read_other(import_writer *writer)
{
    const suite_session *other = writer->source->beside;
    writer->lines = cJSON_CreateArray();
    if (!writer->lines) return no_memory();
    if (!other) return DIT_OK;
    DIT_TRY(suite_history_load(other->journal, &writer->other));
    DIT_TRY(suite_schedule_load(other, &writer->plan));
    return suite_journal_read(other->journal, take_line, writer, NULL);
}

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

static dit_status describe_workload(import_writer *writer)
{
    dit_json_writer w = {0};
    if (writer->plan.workload) return DIT_OK;
    cJSON *workload = dit_json_new_object(&w);
    dit_json_put_string(&w, workload, "path", writer->source->path);
    dit_json_put_string(&w, workload, "name", writer->source->format);
    dit_json_put_string(&w, workload, "title", writer->imported->title);
    dit_json_put_string(&w, workload, "hash", writer->source->hash);
    dit_json_put_int(&w, workload, "seed", 0);
    return dit_json_finish(&w, workload, &writer->plan.workload);
}

static dit_status grow_plan(import_writer *writer)
{
    suite_schedule *plan = &writer->plan;
    int items = plan->item_count, cases = plan->case_count;
    for (int i = 0; i < writer->imported->case_count; i++)
        items += cJSON_GetArraySize(writer->imported->cases[i].processes);
    suite_case *grown = realloc(plan->cases, ((size_t)(cases + writer->imported->case_count) + 1) * sizeof *grown);
    if (grown) plan->cases = grown;
    suite_run_item *more = realloc(plan->items, ((size_t)items + 1) * sizeof *more);
    if (more) plan->items = more;
    return grown && more ? DIT_OK : no_memory();
}

static dit_status make_plan(import_writer *writer)
{
    suite_schedule *plan = &writer->plan;
    DIT_TRY(describe_workload(writer));
    DIT_TRY(grow_plan(writer));
    writer->first_case = plan->case_count;
    writer->first_item = plan->item_count;
    for (int i = 0; i < writer->imported->case_count; i++) {
        const suite_imported_case *from = &writer->imported->cases[i];
        suite_case *one = &plan->cases[plan->case_count];
        *one = (suite_case){.world_size = from->world_size};
        memcpy(one->case_id, from->case_id, sizeof one->case_id);
        snprintf(one->label, sizeof one->label, "%s", from->label);
        one->document = cJSON_Duplicate(from->document, true);
        one->tags = cJSON_Duplicate(from->tags, true);
        plan->case_count++;
        if (!one->document || !one->tags) return no_memory();
        for (int p = 0; p < cJSON_GetArraySize(from->processes); p++) {
            plan->items[plan->item_count] = (suite_run_item){plan->case_count - 1, p, p, plan->item_count};
            plan->item_count++;
        }
    }
    return suite_schedule_save(plan, writer->session);
}

/* ---- the journal ------------------------------------------------------------------------------------------------- */

static dit_status append(suite_journal *journal, dit_json_writer *w, cJSON *line)
{
    cJSON *document = NULL;
    DIT_TRY(dit_json_finish(w, line, &document));
    dit_status st = suite_journal_append(journal, document);
    cJSON_Delete(document);
    return st;
}

static void put_plan(const import_writer *writer, dit_json_writer *w, cJSON *line)
{
    cJSON *plan = dit_json_put_object(w, line, "plan");
    dit_json_put_int(w, plan, "seed", dit_json_int_or(writer->plan.workload, "seed", 0));
    dit_json_put_int(w, plan, "runs", writer->plan.item_count);
    dit_json_put_int(w, plan, "cases", writer->plan.case_count);
    dit_json_put_string(w, plan, "hash", writer->plan.hash);
}

static void put_source(const import_writer *writer, dit_json_writer *w, cJSON *line)
{
    const suite_imported *imported = writer->imported;
    cJSON *list = dit_json_put_array(w, line, "imported"), *one = dit_json_put_object(w, list, NULL);
    dit_json_put_string(w, one, "format", writer->source->format);
    dit_json_put_string(w, one, "file", writer->source->path);
    dit_json_put_string(w, one, "hash", writer->source->hash);
    dit_json_put_string(w, one, "engine", imported->name);
    dit_json_put_string(w, one, "version", imported->version);
    dit_json_put_copy(w, one, "hardware", imported->hardware);
    dit_json_put_copy(w, one, "environment", imported->environment);
}

/* Members that a session of ours keeps from the one it stands beside. */
static void put_other_head(const import_writer *writer, dit_json_writer *w, cJSON *line)
{
    static const char *const kept[] = {"started",    "suite",    "workload", "hardware", "environment",
                                       "simulation", "warnings", "name",     "tags",     "note"};
    const cJSON *head = writer->other.session;
    dit_json_put_string(w, line, "parent_session_id", dit_json_text_or(head, "session_id", NULL));
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        dit_json_put_copy(w, line, kept[i], dit_json_member(head, kept[i]));
}

static dit_status put_own_head(const import_writer *writer, dit_json_writer *w, cJSON *line)
{
    cJSON *suite = NULL;
    DIT_TRY(suite_environment_suite(&suite));
    dit_json_put_string(w, line, "started", writer->started);
    dit_json_put_item(w, line, "suite", suite);
    dit_json_put_copy(w, line, "workload", writer->plan.workload);
    dit_json_put_copy(w, line, "hardware", writer->imported->hardware);
    dit_json_put_copy(w, line, "environment", writer->imported->environment);
    return DIT_OK;
}

static dit_status write_head(const import_writer *writer, suite_journal *journal)
{
    dit_json_writer w = {0};
    cJSON *line = dit_json_new_object(&w);
    dit_json_put_string(&w, line, "kind", "session");
    dit_json_put_string(&w, line, "schema", "ditbench.journal/1");
    dit_json_put_string(&w, line, "session_id", writer->session->name);
    if (writer->other.session)
        put_other_head(writer, &w, line);
    else
        dit_json_put_status(&w, put_own_head(writer, &w, line));
    cJSON *words = dit_json_put_array(&w, line, "cmdline");
    for (int i = 0; writer->source->words[i]; i++) dit_json_put_string(&w, words, NULL, writer->source->words[i]);
    put_plan(writer, &w, line);
    put_source(writer, &w, line);
    return append(journal, &w, line);
}

static dit_status write_other(const import_writer *writer, suite_journal *journal)
{
    const cJSON *line;
    cJSON_ArrayForEach(line, writer->lines) DIT_TRY(suite_journal_append(journal, line));
    for (int i = 0; i < writer->other.result_count; i++)
        if (!writer->other.results[i].superseded)
            DIT_TRY(suite_journal_append(journal, writer->other.results[i].document));
    return DIT_OK;
}

static dit_status write_result(const import_writer *writer, suite_journal *journal, int place)
{
    const suite_run_item *item = &writer->plan.items[place];
    const suite_case *one = &writer->plan.cases[item->case_index];
    const cJSON *processes = writer->imported->cases[item->case_index - writer->first_case].processes;
    const cJSON *process = cJSON_GetArrayItem(processes, item->process);
    bool ok = dit_json_member(process, "record") != NULL;
    dit_json_writer w = {0};
    cJSON *line = dit_json_new_object(&w);
    dit_json_put_string(&w, line, "kind", "result");
    dit_json_put_string(&w, line, "case_id", one->case_id);
    dit_json_put_string(&w, line, "label", one->label);
    dit_json_put_int(&w, line, "process", item->process);
    dit_json_put_int(&w, line, "order", item->order);
    dit_json_put_int(&w, line, "block", item->block);
    dit_json_put_string(&w, line, "started", writer->started);
    dit_json_put_string(&w, line, "ended", writer->started);
    dit_json_put_int(&w, line, "elapsed_ns", 0);
    dit_json_put_int(&w, line, "exit_code", ok ? 0 : 1);
    dit_json_put_string(&w, line, "status", ok ? "ok" : "failed");
    dit_json_put_copy(&w, line, "record", dit_json_member(process, "record"));
    dit_json_put_copy(&w, line, "error", dit_json_member(process, "error"));
    dit_json_put_copy(&w, line, "case", one->document);
    dit_json_put_copy(&w, line, "tags", one->tags);
    return append(journal, &w, line);
}

static dit_status write_end(const import_writer *writer, suite_journal *journal)
{
    dit_json_writer w = {0};
    char now[32];
    bool whole = !writer->source->beside || writer->other.complete;
    cJSON *line = dit_json_new_object(&w);
    dit_clock_utc(now);
    dit_json_put_string(&w, line, "kind", "end");
    dit_json_put_string(&w, line, "ended", now);
    dit_json_put_bool(&w, line, "complete", whole);
    dit_json_put_string(&w, line, "end_reason",
                        !whole                  ? "interrupted"
                        : writer->other.decided ? "decided"
                                                : "finished");
    return append(journal, &w, line);
}

static dit_status write_journal(const import_writer *writer)
{
    suite_journal *journal = NULL;
    DIT_TRY(suite_journal_open(writer->session->journal, NULL, NULL, &journal));
    dit_status st = write_head(writer, journal);
    if (st == DIT_OK) st = write_other(writer, journal);
    for (int i = writer->first_item; st == DIT_OK && i < writer->plan.item_count; i++)
        st = write_result(writer, journal, i);
    if (st == DIT_OK) st = write_end(writer, journal);
    suite_journal_close(journal);
    return st;
}

dit_status suite_import_write(const suite_imported *imported, const suite_import_source *source,
                              const suite_session *session)
{
    import_writer writer = {.imported = imported, .source = source, .session = session};
    if (imported->started[0])
        memcpy(writer.started, imported->started, sizeof writer.started);
    else
        dit_clock_utc(writer.started);
    dit_status st = read_other(&writer);
    if (st == DIT_OK) st = make_plan(&writer);
    if (st == DIT_OK) st = write_journal(&writer);
    suite_history_release(&writer.other);
    suite_schedule_release(&writer.plan);
    cJSON_Delete(writer.lines);
    return st;
}
