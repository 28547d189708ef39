#include "reports/sessions.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "reports/page/html_link.h"
#include "reports/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const size_t sessions_line_limit = (size_t)64 << 20, sessions_journal_limit = (size_t)4 << 30;

static void session_release(report_session *session)
{
    free(session->name);
    dit_json_release(&session->head);
    dit_json_release(&session->facts);
}

void report_sessions_release(report_sessions *sessions)
{
    for (int i = 0; i < sessions->count; i++) session_release(&sessions->rows[i]);
    free(sessions->rows);
    *sessions = (report_sessions){0};
}

/* ---- one session ------------------------------------------------------------------------------------------------- */

/* The first line of a journal; a damaged one leaves *out empty: its page says what is wrong. */
static void read_head(const char *path, dit_json *out)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length = file ? getline(&line, &capacity, file) : -1;
    if (length > 0 && (size_t)length < sessions_line_limit && line[length - 1] == '\n') {
        if (dit_json_parse(line, (size_t)length - 1, path, out) != DIT_OK) dit_json_release(out);
    }
    free(line);
    if (file) fclose(file);
    dit_error_clear();
}

static void read_facts(const char *path, dit_json *out)
{
    if (dit_json_read_file(path, out) != DIT_OK || !cJSON_IsObject(out->root)) dit_json_release(out);
    dit_error_clear();
}

/* Whether the page was written by this program from these bytes, with all its figures. */
static bool is_current(const report_session *session, const char *journal, const char *program)
{
    const cJSON *facts = session->facts.root, *origin = dit_json_member(facts, "journal");
    const cJSON *bytes = dit_json_member(origin, "bytes");
    const cJSON *missing = dit_json_member(facts, "figures_missing");
    struct stat info;
    char *text = NULL, hash[DIT_HASH_HEX] = "";
    size_t length = 0;
    if (!facts || strcmp(dit_json_text_or(facts, "program", ""), program) != 0 || !cJSON_IsNumber(bytes)) return false;
    if (!cJSON_IsNumber(missing) || missing->valuedouble > 0) return false;
    if (stat(journal, &info) != 0 || (double)info.st_size != bytes->valuedouble) return false;
    if (dit_file_read(journal, sessions_journal_limit, &text, &length) == DIT_OK) dit_hash(text, length, hash);
    dit_error_clear();
    free(text);
    return strcmp(hash, dit_json_text_or(origin, "hash", "")) == 0;
}

static dit_status add_session(const char *name, const char *program, report_sessions *out)
{
    char path[REPORT_PATH + 300];
    struct stat info;
    snprintf(path, sizeof path, "%s/%.255s/journal.jsonl", out->root, name);
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return DIT_OK;
    if (out->count == out->capacity) {
        int capacity = out->capacity ? 2 * out->capacity : 16;
        report_session *rows = realloc(out->rows, (size_t)capacity * sizeof *rows);
        if (!rows) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d sessions", capacity);
        out->rows = rows;
        out->capacity = capacity;
    }
    report_session *session = &out->rows[out->count];
    *session = (report_session){.name = report_copy(name)};
    if (!session->name) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a session");
    out->count++;
    read_head(path, &session->head);
    char facts[REPORT_PATH + 320];
    snprintf(facts, sizeof facts, "%s/%.255s/report/report.json", out->root, name);
    read_facts(facts, &session->facts);
    session->current = is_current(session, path, program);
    return DIT_OK;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static int compare_sessions(const void *a, const void *b)
{
    const report_session *x = a, *y = b;
    int order = strcmp(report_session_fact(y, "started"), report_session_fact(x, "started"));
    return order ? order : strcmp(y->name, x->name);
}

dit_status report_sessions_read(const char *root, const char *program, report_sessions *out)
{
    *out = (report_sessions){0};
    snprintf(out->root, sizeof out->root, "%s", root);
    DIR *folder = opendir(root);
    if (!folder && errno == ENOENT) return DIT_OK;
    if (!folder) return DIT_FAIL(DIT_ERR_IO, "%s: %s", root, strerror(errno));
    dit_status st = DIT_OK;
    for (struct dirent *entry; st == DIT_OK && (entry = readdir(folder));) {
        bool other = entry->d_name[0] == '.' || strcmp(entry->d_name, "latest") == 0;
        if (!other) st = add_session(entry->d_name, program, out);
    }
    closedir(folder);
    if (out->count) qsort(out->rows, (size_t)out->count, sizeof *out->rows, compare_sessions);
    if (st != DIT_OK) report_sessions_release(out);
    return st;
}

const char *report_session_fact(const report_session *session, const char *key)
{
    static const struct {
        const char *key, *object, *member;
    } places[] = {{"workload", "workload", "name"},
                  {"title", "workload", "title"},
                  {"commit", "suite", "commit"},
                  {"hardware", "hardware", "cpu"},
                  {"hardware_id", "hardware", "hardware_id"}};
    if (session->facts.root) return dit_json_text_or(session->facts.root, key, "");
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (strcmp(places[i].key, key) != 0) continue;
        return dit_json_text_or(dit_json_member(session->head.root, places[i].object), places[i].member, "");
    }
    return dit_json_text_or(session->head.root, key, "");
}

char *report_session_href(const report_session *session, bool from_index)
{
    dit_buffer address = {0};
    dit_buffer_text(&address, from_index ? "" : "../../");
    html_append_path(&address, session->name);
    dit_buffer_text(&address, "/report/report.html");
    if (!address.failed) return address.data;
    dit_buffer_release(&address);
    return NULL;
}
