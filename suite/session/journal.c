#include "suite/session/journal.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/json_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define HASH_PREFIX "{\"hash\":\""
#define FIRST_PREV  "00000000000000000000000000000000"
enum { PREFIX_BYTES = sizeof HASH_PREFIX - 1, HEAD_BYTES = PREFIX_BYTES + 32 + 2, LINE_LIMIT = 64 << 20 };
enum { LOCK_PATIENCE_NS = 2000000000, LOCK_RETRY_US = 20000 };

struct suite_journal {
    int fd;
    char *path;
    suite_journal_extent extent;
};

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *path;
    suite_journal_visit visit;
    void *context;
    suite_journal_extent *extent;
} journal_reader;

static dit_status damaged(const journal_reader *reader, dit_status status, const char *what)
{
    dit_status st = DIT_FAIL(status, "%s:%d: %s", reader->path, reader->extent->lines + 1, what);
    return dit_error_hint(st, "the journal was changed after it was written; restore it from a copy");
}

/* The hash over "{BODY" against the one in the line's head, without parsing. */
static dit_status check_hash(const journal_reader *reader, char *line, size_t length, char hash[DIT_HASH_HEX])
{
    bool shaped = length > HEAD_BYTES + 2 && memcmp(line, HASH_PREFIX, PREFIX_BYTES) == 0 &&
                  memcmp(line + PREFIX_BYTES + 32, "\",", 2) == 0;
    if (!shaped) return damaged(reader, DIT_ERR_JOURNAL, "not a journal line (it does not start with its hash)");
    line[HEAD_BYTES - 1] = '{'; /* the comma; put back below */
    dit_hash(line + HEAD_BYTES - 1, length - HEAD_BYTES + 1, hash);
    line[HEAD_BYTES - 1] = ',';
    if (memcmp(line + PREFIX_BYTES, hash, 32) == 0) return DIT_OK;
    return damaged(reader, DIT_ERR_INTEGRITY, "the line's hash does not match its contents");
}

static dit_status parse_line(const journal_reader *reader, const char *line, size_t length, dit_json *document)
{
    char message[1024];
    if (dit_json_parse(line, length, reader->path, document) == DIT_OK && cJSON_IsObject(document->root)) return DIT_OK;
    snprintf(message, sizeof message, "%s", document->root ? "not an object" : dit_error_last()->message);
    return damaged(reader, DIT_ERR_JOURNAL, message);
}

static dit_status check_chain(const journal_reader *reader, const dit_json *document)
{
    const char *prev = dit_json_text_or(document->root, "prev", NULL);
    const char *kind = dit_json_text_or(document->root, "kind", NULL);
    if (!prev || !kind) return damaged(reader, DIT_ERR_JOURNAL, "a line needs \"prev\" and \"kind\"");
    if (strcmp(prev, reader->extent->last_hash) == 0) return DIT_OK;
    return damaged(reader, DIT_ERR_INTEGRITY, "the line does not follow the one before it: lines are missing or moved");
}

/* `length` without the newline. */
static dit_status take_line(const journal_reader *reader, char *line, size_t length)
{
    char hash[DIT_HASH_HEX];
    dit_json document = {0};
    DIT_TRY(check_hash(reader, line, length, hash));
    dit_status st = parse_line(reader, line, length, &document);
    if (st == DIT_OK) st = check_chain(reader, &document);
    if (st == DIT_OK && reader->visit) st = reader->visit(reader->context, reader->extent->lines + 1, &document);
    if (st == DIT_OK) {
        reader->extent->lines++;
        reader->extent->bytes += (int64_t)length + 1;
        memcpy(reader->extent->last_hash, hash, sizeof hash);
    }
    dit_json_release(&document);
    return st;
}

static dit_status read_stream(const journal_reader *reader, FILE *file)
{
    char *line = NULL;
    size_t capacity = 0;
    dit_status st = DIT_OK;
    for (ssize_t length; st == DIT_OK && (length = getline(&line, &capacity, file)) > 0;) {
        if (length > LINE_LIMIT) {
            st = damaged(reader, DIT_ERR_JOURNAL, "the line is too long");
        } else if (line[length - 1] != '\n') {
            reader->extent->torn = true;
            break;
        } else {
            st = take_line(reader, line, (size_t)length - 1);
        }
    }
    if (st == DIT_OK && ferror(file)) st = DIT_FAIL(DIT_ERR_IO, "cannot read %s: %s", reader->path, strerror(errno));
    free(line);
    return st;
}

dit_status suite_journal_read(const char *path, suite_journal_visit visit, void *context, suite_journal_extent *extent)
{
    suite_journal_extent local;
    journal_reader reader = {path, visit, context, extent ? extent : &local};
    *reader.extent = (suite_journal_extent){.last_hash = FIRST_PREV};
    FILE *file = fopen(path, "re");
    if (!file) return DIT_FAIL(DIT_ERR_IO, "cannot read %s: %s", path, strerror(errno));
    dit_status st = read_stream(&reader, file);
    fclose(file);
    return st;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* A child between fork and exec holds the lock of a harness that was just killed; it dies with its parent, a moment
 * later. */
static dit_status lock(suite_journal *journal)
{
    for (int64_t began = dit_clock_ns(); dit_clock_ns() - began < LOCK_PATIENCE_NS; usleep(LOCK_RETRY_US)) {
        if (flock(journal->fd, LOCK_EX | LOCK_NB) == 0) return DIT_OK;
        if (errno != EWOULDBLOCK) break;
    }
    if (errno != EWOULDBLOCK) return DIT_FAIL(DIT_ERR_IO, "cannot lock %s: %s", journal->path, strerror(errno));
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "%s is in use by a run in progress", journal->path),
                          "`ditbench status` shows it; wait for it or stop it first");
}

static dit_status cut_torn_tail(suite_journal *journal)
{
    if (!journal->extent.torn) return DIT_OK;
    if (ftruncate(journal->fd, journal->extent.bytes) != 0 || fsync(journal->fd) != 0)
        return DIT_FAIL(DIT_ERR_IO, "cannot cut the torn line of %s: %s", journal->path, strerror(errno));
    journal->extent.torn = false;
    return DIT_OK;
}

dit_status suite_journal_open(const char *path, suite_journal_visit visit, void *context, suite_journal **out)
{
    dit_status st = DIT_OK;
    suite_journal *journal = calloc(1, sizeof *journal);
    *out = NULL;
    if (!journal) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a journal");
    journal->path = strdup(path);
    journal->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (journal->fd < 0 || !journal->path) {
        st = DIT_FAIL(DIT_ERR_IO, "cannot open %s: %s", path, strerror(errno));
        goto fail;
    }
    DIT_TRY_GOTO(st, lock(journal), fail);
    DIT_TRY_GOTO(st, suite_journal_read(path, visit, context, &journal->extent), fail);
    DIT_TRY_GOTO(st, cut_torn_tail(journal), fail);
    *out = journal;
    return DIT_OK;
fail:
    suite_journal_close(journal);
    return st;
}

/* "{BODY" of the event with prev; the caller frees it. */
static dit_status make_body(const suite_journal *journal, const cJSON *event, char **body)
{
    dit_json_writer w = {0};
    cJSON *copy = cJSON_Duplicate(event, true);
    if (!copy) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a journal line");
    cJSON_DeleteItemFromObjectCaseSensitive(copy, "prev");
    cJSON_DeleteItemFromObjectCaseSensitive(copy, "hash");
    dit_json_put_string(&w, copy, "prev", journal->extent.last_hash);
    if (w.status == DIT_OK) dit_json_put_status(&w, dit_json_canonical(copy, body));
    cJSON_Delete(copy);
    return w.status;
}

/* One write, one fsync; on failure the file is cut back. A write that stops early is tried again for its reason. */
static dit_status write_line(suite_journal *journal, const dit_buffer *line)
{
    size_t done = 0;
    ssize_t written = 0;
    while (done < line->used && (written = write(journal->fd, line->data + done, line->used - done)) > 0)
        done += (size_t)written;
    if (done == line->used && fsync(journal->fd) == 0) return DIT_OK;
    int error = written == 0 && done < line->used ? ENOSPC : errno;
    if (ftruncate(journal->fd, journal->extent.bytes) != 0) error = errno;
    return DIT_FAIL(DIT_ERR_IO, "cannot write %s: %s", journal->path, strerror(error));
}

dit_status suite_journal_append(suite_journal *journal, const cJSON *event)
{
    char *body = NULL, hash[DIT_HASH_HEX];
    dit_buffer line = {0};
    DIT_TRY(make_body(journal, event, &body));
    dit_hash(body, strlen(body), hash);
    dit_buffer_printf(&line, HASH_PREFIX "%s\",%s\n", hash, body + 1);
    dit_status st = line.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for a journal line") : write_line(journal, &line);
    if (st == DIT_OK) {
        journal->extent.lines++;
        journal->extent.bytes += (int64_t)line.used;
        memcpy(journal->extent.last_hash, hash, sizeof hash);
    }
    dit_buffer_release(&line);
    free(body);
    return st;
}

int suite_journal_lines(const suite_journal *journal)
{
    return journal->extent.lines;
}

void suite_journal_close(suite_journal *journal)
{
    if (!journal) return;
    if (journal->fd >= 0) close(journal->fd);
    free(journal->path);
    free(journal);
}

bool suite_journal_locked(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    bool locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return locked;
}
