/* SQLite: a database of one session, the whole file. Four tables: `session` (key, value), `cases`, `numbers`, a row for each
 * process and metric, and `summaries`, a row for each case and metric, also of those that no process has by itself
 * (speedup). */
#include "suite/export/export.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>

static const char tables[] =
    "CREATE TABLE session (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
    "CREATE TABLE cases (case_id TEXT PRIMARY KEY, label TEXT NOT NULL, evidence TEXT NOT NULL, status TEXT NOT NULL,"
    " failure TEXT, world_size INTEGER NOT NULL, tags TEXT) WITHOUT ROWID;"
    "CREATE TABLE numbers (case_id TEXT NOT NULL REFERENCES cases, process INTEGER NOT NULL, metric TEXT NOT NULL,"
    " unit TEXT NOT NULL, better TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (case_id, process, metric))"
    " WITHOUT ROWID;"
    "CREATE TABLE summaries (case_id TEXT NOT NULL REFERENCES cases, metric TEXT NOT NULL, unit TEXT NOT NULL,"
    " better TEXT NOT NULL, n INTEGER NOT NULL, median REAL, low REAL, high REAL, min REAL, max REAL,"
    " PRIMARY KEY (case_id, metric)) WITHOUT ROWID;";
static const char insert_session[] = "INSERT INTO session VALUES (?1, ?2)";
static const char insert_case[] = "INSERT OR REPLACE INTO cases VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
static const char insert_summary[] =
    "INSERT OR REPLACE INTO summaries VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
static const char insert_number[] = "INSERT OR REPLACE INTO numbers VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

typedef struct {
    sqlite3 *database;
    sqlite3_stmt *session, *kase, *number, *summary;
} writer;

static dit_status fail(const writer *w)
{
    return DIT_FAIL(DIT_ERR_IO, "writing a database: %s", sqlite3_errmsg(w->database));
}

static void bind_text(sqlite3_stmt *statement, int place, const char *text)
{
    sqlite3_bind_text(statement, place, text, -1, SQLITE_TRANSIENT);
}

static dit_status step(const writer *w, sqlite3_stmt *statement)
{
    int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? DIT_OK : fail(w);
}

static dit_status put_session(const writer *w, const char *key, const char *value)
{
    bind_text(w->session, 1, key);
    bind_text(w->session, 2, value);
    return step(w, w->session);
}

static dit_status put_head(const writer *w, const report_table *table, const char *session)
{
    static const char *const paths[] = {
        "started",      "workload/name",        "workload/title",       "workload/hash",  "suite/version",
        "suite/commit", "hardware/hardware_id", "environment/compiler", "environment/mpi"};
    DIT_TRY(put_session(w, "session", session));
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        DIT_TRY(put_session(w, paths[i], report_session_text(table, paths[i])));
    return DIT_OK;
}

/* Binds what says which metric of which case it is, from place 1 on; `skip` places lie between both. */
static void bind_metric(sqlite3_stmt *statement, const report_case *kase, report_metric metric, int skip)
{
    const report_metric_info *info = report_metric_get(metric);
    bind_text(statement, 1, kase->case_id);
    bind_text(statement, 2 + skip, info->name);
    bind_text(statement, 3 + skip, report_unit_name(info->unit));
    bind_text(statement, 4 + skip, report_better_name(info->better));
}

static dit_status put_summary(const writer *w, const report_case *kase, report_metric metric)
{
    const dit_summary *s = &kase->metric[metric];
    const double values[] = {s->median, s->low, s->high, s->min, s->max};
    bind_metric(w->summary, kase, metric, 0);
    sqlite3_bind_int(w->summary, 5, s->n);
    for (int i = 0; i < 5; i++) sqlite3_bind_double(w->summary, 6 + i, values[i]);
    return step(w, w->summary);
}

static dit_status put_numbers(const writer *w, const report_case *kase, const report_process *process)
{
    for (int m = 0; m < REPORT_METRIC_COUNT; m++) {
        if (!suite_export_has(kase, (report_metric)m) || !isfinite(process->metric[m])) continue;
        bind_metric(w->number, kase, (report_metric)m, 1);
        sqlite3_bind_int64(w->number, 2, process->process);
        sqlite3_bind_double(w->number, 6, process->metric[m]);
        DIT_TRY(step(w, w->number));
    }
    return DIT_OK;
}

static dit_status put_case(const writer *w, const report_case *kase)
{
    char why[600];
    suite_export_failure(kase, why, sizeof why);
    char *tags = cJSON_PrintUnformatted(kase->tags);
    bind_text(w->kase, 1, kase->case_id);
    bind_text(w->kase, 2, kase->label);
    bind_text(w->kase, 3, kase->evidence);
    bind_text(w->kase, 4, dit_outcome_name(kase->status));
    bind_text(w->kase, 5, why[0] ? why : NULL);
    sqlite3_bind_int64(w->kase, 6, kase->world_size);
    bind_text(w->kase, 7, tags);
    cJSON_free(tags);
    DIT_TRY(step(w, w->kase));
    for (int m = 0; m < REPORT_METRIC_COUNT; m++)
        if (suite_export_has(kase, (report_metric)m)) DIT_TRY(put_summary(w, kase, (report_metric)m));
    for (int i = 0; i < kase->process_count; i++)
        if (kase->processes[i].status == DIT_OUTCOME_OK) DIT_TRY(put_numbers(w, kase, &kase->processes[i]));
    return DIT_OK;
}

static dit_status put_all(writer *w, const report_table *table, const char *session)
{
    if (sqlite3_exec(w->database, tables, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(w->database, insert_session, -1, &w->session, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(w->database, insert_case, -1, &w->kase, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(w->database, insert_summary, -1, &w->summary, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(w->database, insert_number, -1, &w->number, NULL) != SQLITE_OK)
        return fail(w);
    DIT_TRY(put_head(w, table, session));
    for (int i = 0; i < table->case_count; i++)
        if (!report_case_is_oracle(&table->cases[i])) DIT_TRY(put_case(w, &table->cases[i]));
    return DIT_OK;
}

/* The bytes of the database's file. */
static dit_status take_bytes(const writer *w, dit_buffer *out)
{
    sqlite3_int64 size = 0;
    unsigned char *bytes = sqlite3_serialize(w->database, "main", &size, 0);
    if (!bytes) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the export");
    dit_buffer_append(out, (const char *)bytes, (size_t)size);
    sqlite3_free(bytes);
    return out->failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for the export") : DIT_OK;
}

static dit_status write_sqlite(const report_table *table, const char *session, dit_buffer *out)
{
    writer w = {0};
    dit_status st = sqlite3_open(":memory:", &w.database) == SQLITE_OK ? DIT_OK : fail(&w);
    if (st == DIT_OK) st = put_all(&w, table, session);
    if (st == DIT_OK) st = take_bytes(&w, out);
    sqlite3_finalize(w.session);
    sqlite3_finalize(w.kase);
    sqlite3_finalize(w.number);
    sqlite3_finalize(w.summary);
    sqlite3_close(w.database);
    return st;
}

const suite_export_format suite_export_sqlite = {
    .name = "sqlite", .meaning = "a database: session, cases, numbers", .write = write_sqlite, .binary = true};
