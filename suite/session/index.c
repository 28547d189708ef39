#include "suite/session/index.h"

#include "suite/session/session.h"

#include "base/buffer.h"
#include "base/hash.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "reports/records/records.h"
#include "suite/cases/document.h"
#include "suite/paths.h"
#include "suite/session/history.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct suite_index {
    sqlite3 *database;
    char root[SUITE_PATH];
};

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS sessions ("
    "  name TEXT PRIMARY KEY, dir TEXT, workload TEXT, started TEXT, ended TEXT, hardware_id TEXT, version TEXT,"
    "  damage TEXT, planned INTEGER, dropped INTEGER, complete INTEGER, bytes INTEGER, mtime_ns INTEGER,"
    "  called TEXT, note TEXT, tags TEXT, title TEXT, evidence TEXT, commit_id TEXT);"
    "CREATE TABLE IF NOT EXISTS cases (case_id TEXT PRIMARY KEY, label TEXT, tags TEXT);"
    "CREATE TABLE IF NOT EXISTS results ("
    "  session TEXT, line INTEGER, case_id TEXT, label TEXT, process INTEGER, status TEXT, started TEXT,"
    "  elapsed_ns INTEGER, latency_ns REAL, world_size INTEGER, superseded INTEGER, context TEXT, simulated INTEGER"
#define INDEX_METRIC_COLUMN(id, name, ...) ", " name " REAL"
    REPORT_METRIC_LIST(INDEX_METRIC_COLUMN) ", PRIMARY KEY (session, line));"
                                            "CREATE INDEX IF NOT EXISTS results_by_case ON results (case_id, context);";
enum { RESULT_COLUMNS = 13, SESSION_COLUMNS = 19 }; /* of results those before the metrics */

static dit_status sql_fail(suite_index *index, const char *doing)
{
    return DIT_FAIL(DIT_ERR_IO, "index of %s: %s: %s", index->root, doing, sqlite3_errmsg(index->database));
}

static dit_status execute(suite_index *index, const char *sql)
{
    return sqlite3_exec(index->database, sql, NULL, NULL, NULL) == SQLITE_OK ? DIT_OK : sql_fail(index, "writing");
}

static dit_status prepare(suite_index *index, const char *sql, sqlite3_stmt **out)
{
    return sqlite3_prepare_v2(index->database, sql, -1, out, NULL) == SQLITE_OK ? DIT_OK : sql_fail(index, "reading");
}

/* Whose results are taken: the session's name and its first line. */
typedef struct {
    const char *session;
    const cJSON *head;
} suite_index_source;

/* ---- one session ------------------------------------------------------------------------------------------------- */

static const char *text_at(const cJSON *object, const char *first, const char *second)
{
    const cJSON *item = dit_json_member(object, first);
    if (second) item = dit_json_member(item, second);
    const char *text = cJSON_GetStringValue(item);
    return text ? text : "";
}

static double number_at(const cJSON *object, const char *first, const char *second)
{
    const cJSON *item = dit_json_member(object, first);
    if (second) item = dit_json_member(item, second);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void bind_text(sqlite3_stmt *statement, int place, const char *text)
{
    sqlite3_bind_text(statement, place, text, -1, SQLITE_TRANSIENT);
}

static dit_status finish(suite_index *index, sqlite3_stmt *statement, const char *doing)
{
    int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? DIT_OK : sql_fail(index, doing);
}

/* The numbers of a result's record; none where it has no record, or one that cannot be read. */
static void read_metrics(const cJSON *result, double out[REPORT_METRIC_COUNT])
{
    char nothing[] = "";
    const dit_json document = {.text = nothing, .path = nothing};
    const cJSON *record = dit_json_member(result, "record");
    double images = dit_json_number_or(dit_json_member(result, "tags"), "num_images", 1);
    for (int i = 0; i < REPORT_METRIC_COUNT; i++) out[i] = NAN;
    if (record && report_metrics_read(&document, record, "/record", images, out) != DIT_OK) dit_error_clear();
}

static void bind_metrics(sqlite3_stmt *insert, const cJSON *result)
{
    double metric[REPORT_METRIC_COUNT];
    read_metrics(result, metric);
    for (int i = 0; i < REPORT_METRIC_COUNT; i++) {
        if (isfinite(metric[i]))
            sqlite3_bind_double(insert, RESULT_COLUMNS + 1 + i, metric[i]);
        else
            sqlite3_bind_null(insert, RESULT_COLUMNS + 1 + i);
    }
}

/* What times of one case must share to be comparable: of measured ones the hardware, of simulated ones the simulator,
 * the calibration and the facts of the software profile. */
static dit_status find_context(const cJSON *session, const cJSON *kase, char out[DIT_HASH_HEX])
{
    const cJSON *simulation = dit_json_member(session, "simulation");
    dit_json_writer w = {0};
    char *text = NULL;
    if (!suite_case_simulated(kase))
        return snprintf(out, DIT_HASH_HEX, "%s", text_at(session, "hardware", "hardware_id")), DIT_OK;
    cJSON *object = dit_json_new_object(&w), *document = NULL;
    dit_json_put_copy(&w, object, "simulator", dit_json_member(simulation, "simulator"));
    dit_json_put_copy(&w, object, "calibration", dit_json_member(simulation, "calibration"));
    dit_json_put_copy(&w, object, "profile",
                      dit_json_member(dit_json_member(simulation, "profiles"), suite_case_platform(kase, "profile")));
    DIT_TRY(dit_json_finish(&w, object, &document));
    dit_status st = dit_json_canonical(document, &text);
    if (st == DIT_OK) dit_hash(text, strlen(text), out);
    free(text);
    cJSON_Delete(document);
    return st;
}

static dit_status insert_result(suite_index *index, sqlite3_stmt *insert, const suite_index_source *source,
                                const suite_history_result *result)
{
    const cJSON *kase = dit_json_member(result->document, "case");
    double latency_ns = suite_history_latency_ns(result->document);
    char context[DIT_HASH_HEX];
    DIT_TRY(find_context(source->head, kase, context));
    bind_text(insert, 1, source->session);
    sqlite3_bind_int(insert, 2, result->line);
    bind_text(insert, 3, result->case_id);
    bind_text(insert, 4, text_at(result->document, "label", NULL));
    sqlite3_bind_int(insert, 5, result->process);
    bind_text(insert, 6, dit_outcome_name(result->status));
    bind_text(insert, 7, text_at(result->document, "started", NULL));
    sqlite3_bind_int64(insert, 8, (int64_t)number_at(result->document, "elapsed_ns", NULL));
    if (latency_ns >= 0)
        sqlite3_bind_double(insert, 9, latency_ns);
    else
        sqlite3_bind_null(insert, 9);
    sqlite3_bind_int(insert, 10, (int)number_at(result->document, "tags", "world_size"));
    sqlite3_bind_int(insert, 11, result->superseded);
    bind_text(insert, 12, context);
    sqlite3_bind_int(insert, 13, suite_case_simulated(kase));
    bind_metrics(insert, result->document);
    return finish(index, insert, "adding a result");
}

/* Label and tags of a case, once for all its results. */
static dit_status insert_case(suite_index *index, sqlite3_stmt *insert, const suite_history_result *result)
{
    char *tags = NULL;
    const cJSON *object = dit_json_member(result->document, "tags");
    if (object) DIT_TRY(dit_json_canonical(object, &tags));
    bind_text(insert, 1, result->case_id);
    bind_text(insert, 2, text_at(result->document, "label", NULL));
    bind_text(insert, 3, tags ? tags : "{}");
    free(tags);
    return finish(index, insert, "adding a case");
}

/* "INSERT OR REPLACE INTO results VALUES (?,?,...)" */
static dit_status prepare_insert(suite_index *index, const char *into, int columns, sqlite3_stmt **out)
{
    dit_buffer sql = {0};
    dit_buffer_printf(&sql, "INSERT OR %s VALUES (?", into);
    for (int i = 1; i < columns; i++) dit_buffer_text(&sql, ",?");
    dit_buffer_text(&sql, ")");
    dit_status st = sql.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for the index") : prepare(index, sql.data, out);
    dit_buffer_release(&sql);
    return st;
}

static dit_status insert_results(suite_index *index, const char *session, const suite_history *history)
{
    sqlite3_stmt *insert = NULL, *insert_one = NULL;
    const suite_index_source source = {session, history->session};
    dit_status st = prepare_insert(index, "REPLACE INTO results", RESULT_COLUMNS + REPORT_METRIC_COUNT, &insert);
    if (st == DIT_OK) st = prepare_insert(index, "IGNORE INTO cases", 3, &insert_one);
    for (int i = 0; i < history->result_count && st == DIT_OK; i++) {
        st = insert_result(index, insert, &source, &history->results[i]);
        if (st == DIT_OK && history->results[i].process == 0) st = insert_case(index, insert_one, &history->results[i]);
    }
    sqlite3_finalize(insert);
    sqlite3_finalize(insert_one);
    return st;
}

/* "a,b,c" */
static void join_tags(const cJSON *session, char *out, size_t size)
{
    const cJSON *tag;
    size_t used = 0;
    out[0] = '\0';
    cJSON_ArrayForEach(tag, dit_json_member(session, "tags"))
    {
        if (cJSON_IsString(tag) && used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "," : "", tag->valuestring);
    }
}

static bool is_fake(const suite_history_result *result)
{
    const cJSON *record = dit_json_member(result->document, "record");
    return strcmp(dit_json_text_or(record, "evidence", ""), DIT_EVIDENCE_FAKE) == 0;
}

static const char *evidence_of(const suite_history *history)
{
    bool measured = false, simulated = false;
    for (int i = 0; i < history->result_count; i++) {
        bool virtual = suite_case_simulated(dit_json_member(history->results[i].document, "case"));
        if (history->results[i].status == DIT_OUTCOME_SKIPPED) continue;
        if (is_fake(&history->results[i])) return DIT_EVIDENCE_FAKE;
        measured |= !virtual;
        simulated |= virtual;
    }
    return measured && simulated ? "both" : measured ? "measured" : simulated ? "simulated" : "";
}

static dit_status insert_session(suite_index *index, const suite_session *session, const suite_history *history,
                                 const char *damage, const struct stat *facts)
{
    sqlite3_stmt *insert = NULL;
    char tags[512];
    DIT_TRY(prepare_insert(index, "REPLACE INTO sessions", SESSION_COLUMNS, &insert));
    bind_text(insert, 1, session->name);
    bind_text(insert, 2, session->dir);
    bind_text(insert, 3, text_at(history->session, "workload", "name"));
    bind_text(insert, 4, text_at(history->session, "started", NULL));
    bind_text(insert, 5, history->ended);
    bind_text(insert, 6, text_at(history->session, "hardware", "hardware_id"));
    bind_text(insert, 7, text_at(history->session, "suite", "version"));
    bind_text(insert, 8, damage);
    sqlite3_bind_int(insert, 9, (int)number_at(history->session, "plan", "runs"));
    sqlite3_bind_int(insert, 10, history->dropped_count);
    sqlite3_bind_int(insert, 11, history->complete);
    sqlite3_bind_int64(insert, 12, facts->st_size);
    sqlite3_bind_int64(insert, 13, facts->st_mtim.tv_sec * INT64_C(1000000000) + facts->st_mtim.tv_nsec);
    join_tags(history->session, tags, sizeof tags);
    bind_text(insert, 14, text_at(history->session, "name", NULL));
    bind_text(insert, 15, text_at(history->session, "note", NULL));
    bind_text(insert, 16, tags);
    bind_text(insert, 17, text_at(history->session, "workload", "title"));
    bind_text(insert, 18, evidence_of(history));
    bind_text(insert, 19, text_at(history->session, "suite", "commit"));
    dit_status st = finish(index, insert, "adding a session");
    sqlite3_finalize(insert);
    return st;
}

static dit_status forget(suite_index *index, const char *name)
{
    static const char *const statements[] = {"DELETE FROM results WHERE session = ?",
                                             "DELETE FROM sessions WHERE name = ?"};
    for (int i = 0; i < 2; i++) {
        sqlite3_stmt *statement = NULL;
        DIT_TRY(prepare(index, statements[i], &statement));
        bind_text(statement, 1, name);
        dit_status st = finish(index, statement, statements[i]);
        sqlite3_finalize(statement);
        DIT_TRY(st);
    }
    return DIT_OK;
}

/* Reads one journal into the tables. A damaged journal becomes a row that says so. */
static dit_status take_session(suite_index *index, const suite_session *session, const struct stat *facts)
{
    suite_history history = {0};
    char damage[512] = "";
    if (suite_history_load(session->journal, &history) != DIT_OK)
        snprintf(damage, sizeof damage, "%s: %s", dit_status_name(dit_error_last()->status), dit_error_last()->message);
    DIT_TRY(forget(index, session->name));
    dit_status st = insert_session(index, session, &history, damage, facts);
    if (st == DIT_OK) st = insert_results(index, session->name, &history);
    suite_history_release(&history);
    return st;
}

/* ---- all sessions ------------------------------------------------------------------------------------------------ */

static bool is_current(suite_index *index, const char *name, const struct stat *facts)
{
    sqlite3_stmt *query = NULL;
    bool current = false;
    if (prepare(index, "SELECT bytes, mtime_ns FROM sessions WHERE name = ?", &query) != DIT_OK) return false;
    bind_text(query, 1, name);
    if (sqlite3_step(query) == SQLITE_ROW) {
        int64_t mtime_ns = facts->st_mtim.tv_sec * INT64_C(1000000000) + facts->st_mtim.tv_nsec;
        current = sqlite3_column_int64(query, 0) == facts->st_size && sqlite3_column_int64(query, 1) == mtime_ns;
    }
    sqlite3_finalize(query);
    return current;
}

static dit_status take_folder(suite_index *index, const char *name)
{
    suite_session session;
    struct stat facts;
    char folder[SUITE_PATH];
    if (name[0] == '.' || strcmp(name, "latest") == 0) return DIT_OK;
    DIT_TRY(suite_path(folder, "%s/%s/journal.jsonl", index->root, name));
    if (stat(folder, &facts) != 0 || is_current(index, name, &facts)) return DIT_OK;
    DIT_TRY(suite_session_find(folder, &session));
    return take_session(index, &session, &facts);
}

static dit_status forget_missing(suite_index *index)
{
    sqlite3_stmt *query = NULL;
    dit_status st = DIT_OK;
    char path[SUITE_PATH];
    DIT_TRY(prepare(index, "SELECT name FROM sessions", &query));
    while (st == DIT_OK && sqlite3_step(query) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(query, 0);
        st = suite_path(path, "%s/%s/journal.jsonl", index->root, name);
        if (st == DIT_OK && access(path, F_OK) != 0) st = forget(index, name);
    }
    sqlite3_finalize(query);
    return st;
}

static dit_status update(suite_index *index)
{
    DIR *folder = opendir(index->root);
    dit_status st = execute(index, "BEGIN IMMEDIATE");
    for (struct dirent *entry; st == DIT_OK && folder && (entry = readdir(folder));)
        st = take_folder(index, entry->d_name);
    if (folder) closedir(folder);
    if (st == DIT_OK) st = forget_missing(index);
    if (st == DIT_OK) return execute(index, "COMMIT");
    sqlite3_exec(index->database, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

/* A digest of the tables, which have a column for each metric: a file with another one is made anew. Never 0, which a
 * new file has. */
static int schema_version(void)
{
    char digest[DIT_HASH_HEX];
    dit_hash(schema, sizeof schema - 1, digest);
    digest[7] = '\0';
    return 1 + (int)strtol(digest, NULL, 16);
}

static dit_status check_version(suite_index *index)
{
    char mark[64];
    sqlite3_stmt *query = NULL;
    DIT_TRY(prepare(index, "PRAGMA user_version", &query));
    int version = sqlite3_step(query) == SQLITE_ROW ? sqlite3_column_int(query, 0) : -1;
    sqlite3_finalize(query);
    if (version == schema_version()) return DIT_OK;
    snprintf(mark, sizeof mark, "PRAGMA user_version = %d", schema_version());
    if (version == 0) DIT_TRY(execute(index, schema));
    if (version == 0) return execute(index, mark);
    return DIT_FAIL(DIT_ERR_IO, "index of %s: version %d", index->root, version);
}

/* Opens (creates) `path` or ":memory:", whose tables may still be behind the journals. */
static dit_status open_tables(suite_index *index, const char *path)
{
    if (sqlite3_open(path, &index->database) != SQLITE_OK) return sql_fail(index, "opening");
    sqlite3_busy_timeout(index->database, 10000);
    return check_version(index);
}

static dit_status create(const char *root, suite_index **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the index");
    dit_status st = suite_path((*out)->root, "%s", root);
    if (st == DIT_OK) return st;
    free(*out);
    *out = NULL;
    return st;
}

static void close_database(suite_index *index)
{
    sqlite3_close(index->database);
    index->database = NULL;
}

/* Copies the tables of the file, where there is one that can be read; without them all journals are read. */
static void copy_file(suite_index *index)
{
    char path[SUITE_PATH];
    sqlite3 *file = NULL;
    bool readable = suite_path(path, "%s/index.sqlite", index->root) == DIT_OK && access(path, R_OK) == 0 &&
                    sqlite3_open_v2(path, &file, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK;
    sqlite3_backup *backup = readable ? sqlite3_backup_init(index->database, "main", file, "main") : NULL;
    if (backup) sqlite3_backup_step(backup, -1);
    if (backup) sqlite3_backup_finish(backup);
    sqlite3_close(file);
}

/* In memory; when what the file gave is unsound, without it. */
static dit_status read_into_memory(suite_index *index, bool with_file)
{
    if (sqlite3_open(":memory:", &index->database) != SQLITE_OK) return sql_fail(index, "opening");
    if (with_file) copy_file(index);
    DIT_TRY(check_version(index));
    return update(index);
}

dit_status suite_index_read(const char *root, suite_index **out)
{
    suite_index *index;
    *out = NULL;
    DIT_TRY(create(root, &index));
    dit_status st = read_into_memory(index, true);
    if (st != DIT_OK) {
        dit_log_debug("reading without the index: %s", dit_error_last()->message);
        dit_error_clear();
        close_database(index);
        st = read_into_memory(index, false);
    }
    if (st == DIT_OK)
        *out = index;
    else
        suite_index_close(index);
    return st;
}

dit_status suite_index_save(const char *root)
{
    char path[SUITE_PATH];
    suite_index *index;
    DIT_TRY(create(root, &index));
    dit_status st = suite_path(path, "%s/index.sqlite", root);
    if (st == DIT_OK) st = open_tables(index, path);
    if (st == DIT_OK) st = update(index);
    if (st != DIT_OK && access(path, W_OK) == 0) { /* it holds nothing of its own */
        dit_log_debug("making the index anew: %s", dit_error_last()->message);
        close_database(index);
        unlink(path);
        st = open_tables(index, path);
        if (st == DIT_OK) st = update(index);
    }
    suite_index_close(index);
    return st;
}

void suite_index_close(suite_index *index)
{
    if (!index) return;
    sqlite3_close(index->database);
    free(index);
}

static const char list_query[] =
    "SELECT s.name, s.dir, s.workload, s.started, s.ended, s.hardware_id, s.version, s.damage, s.planned, s.dropped,"
    "  s.complete, count(r.line), coalesce(sum(r.status = 'ok'), 0), coalesce(sum(r.status = 'failed'), 0),"
    "  coalesce(sum(r.status = 'timeout'), 0), coalesce(sum(r.status = 'oom'), 0),"
    "  coalesce(sum(r.status = 'skipped'), 0), coalesce(sum(r.status = 'invalid'), 0),"
    "  s.called, s.note, s.tags, s.title, s.evidence"
    " FROM sessions s LEFT JOIN results r ON r.session = s.name AND r.superseded = 0"
    " GROUP BY s.name ORDER BY s.started DESC, s.name DESC";

dit_status suite_index_sessions(suite_index *index, suite_index_visit visit, void *context)
{
    sqlite3_stmt *query = NULL;
    DIT_TRY(prepare(index, list_query, &query));
    int code;
    while ((code = sqlite3_step(query)) == SQLITE_ROW) {
        const char *text[8], *more[5];
        int number[10];
        char journal[SUITE_PATH];
        for (int i = 0; i < 8; i++) text[i] = (const char *)sqlite3_column_text(query, i);
        for (int i = 0; i < 10; i++) number[i] = sqlite3_column_int(query, 8 + i);
        for (int i = 0; i < 5; i++) more[i] = (const char *)sqlite3_column_text(query, 18 + i);
        suite_index_session row = {
            .called = more[0],
            .note = more[1],
            .tags = more[2],
            .title = more[3],
            .evidence = more[4],
            .name = text[0],
            .dir = text[1],
            .workload = text[2],
            .started = text[3],
            .ended = text[4],
            .hardware_id = text[5],
            .version = text[6],
            .damage = text[7],
            .planned = number[0],
            .dropped = number[1],
            .complete = number[2],
            .done = number[3],
            .ok = number[4],
            .failed = number[5],
            .timeout = number[6],
            .oom = number[7],
            .skipped = number[8],
            .invalid = number[9],
        };
        row.running = suite_path(journal, "%s/journal.jsonl", text[1]) == DIT_OK && suite_journal_locked(journal);
        visit(context, &row);
    }
    sqlite3_finalize(query);
    return code == SQLITE_DONE ? DIT_OK : sql_fail(index, "listing sessions");
}

static const char values_query[] =
    "SELECT r.case_id, c.label, c.tags, r.context, r.simulated, s.name, s.started, s.commit_id, s.version, r.%s"
    " FROM results r JOIN sessions s ON s.name = r.session JOIN cases c ON c.case_id = r.case_id"
    " WHERE r.superseded = 0 AND r.status = 'ok' AND r.%s IS NOT NULL AND s.started >= ?1"
    " AND (?2 OR s.evidence IS NOT '" DIT_EVIDENCE_FAKE "')" /* nobody's numbers make a history */
    " ORDER BY r.case_id, r.context, s.started, s.name, r.process";

dit_status suite_index_values(suite_index *index, report_metric metric, const char *since,
                              suite_index_value_visit visit, void *context)
{
    sqlite3_stmt *query = NULL;
    char sql[sizeof values_query + 128];
    const char *column = report_metric_get(metric)->name; /* one of ours */
    snprintf(sql, sizeof sql, values_query, column, column);
    DIT_TRY(prepare(index, sql, &query));
    bind_text(query, 1, since ? since : "");
    sqlite3_bind_int(query, 2, report_takes_fake());
    int code;
    dit_status st = DIT_OK;
    while (st == DIT_OK && (code = sqlite3_step(query)) == SQLITE_ROW) {
        const char *text[9];
        for (int i = 0; i < 9; i++) text[i] = i == 4 ? "" : (const char *)sqlite3_column_text(query, i);
        const suite_index_value row = {.case_id = text[0],
                                       .label = text[1],
                                       .tags = text[2],
                                       .context = text[3],
                                       .simulated = sqlite3_column_int(query, 4),
                                       .session = text[5],
                                       .started = text[6],
                                       .commit = text[7],
                                       .version = text[8],
                                       .value = sqlite3_column_double(query, 9)};
        st = visit(context, &row);
    }
    if (st == DIT_OK && code != SQLITE_DONE) st = sql_fail(index, "reading values");
    sqlite3_finalize(query);
    return st;
}
