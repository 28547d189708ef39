#include "kernels/cuda/algorithms.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADING "ditbench algorithms 1"
enum { FILE_LIMIT = 16 << 20, LINE = 1024, HASH = DIT_HASH_HEX - 1 };

typedef struct {
    char key[DIT_ALGORITHM_KEY];
    dit_algorithm chosen;
} entry;

struct dit_algorithms {
    char path[PATH_MAX], folder[PATH_MAX]; /* "": memory only */
    entry *entries;
    int64_t count, room;
    bool warned; /* has warned that nothing can be written */
};

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static entry *find(const dit_algorithms *a, const char *key)
{
    for (int64_t i = 0; i < a->count; i++)
        if (strcmp(a->entries[i].key, key) == 0) return &a->entries[i];
    return NULL;
}

bool dit_algorithms_find(const dit_algorithms *a, const char *key, dit_algorithm *out)
{
    const entry *e = find(a, key);
    if (e) *out = e->chosen;
    return e != NULL;
}

int64_t dit_algorithms_count(const dit_algorithms *a)
{
    return a->count;
}

static bool is_key(const char *key)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < length; i++)
        if (!isgraph((unsigned char)key[i])) return false;
    return length > 0 && length < DIT_ALGORITHM_KEY;
}

static dit_status put(dit_algorithms *a, const char *key, const dit_algorithm *chosen)
{
    entry *e = find(a, key);
    if (!e && a->count == a->room) {
        int64_t room = a->room ? 2 * a->room : 32;
        entry *grown = realloc(a->entries, (size_t)room * sizeof *grown);
        if (!grown) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld algorithms", (long long)room);
        a->entries = grown;
        a->room = room;
    }
    if (!e) e = &a->entries[a->count++];
    snprintf(e->key, sizeof e->key, "%s", key);
    e->chosen = *chosen;
    return DIT_OK;
}

/* ---- lines: HASH KEY WAY WORKSPACE TIME BYTES -------------------------------------------------------------------- */

static void write_line(const entry *e, char out[LINE])
{
    char bytes[2 * DIT_ALGORITHM_BYTES + 1], rest[LINE - HASH - 2], hash[DIT_HASH_HEX];
    for (int i = 0; i < DIT_ALGORITHM_BYTES; i++) snprintf(bytes + 2 * i, 3, "%02x", e->chosen.bytes[i]);
    int length = snprintf(rest, sizeof rest, "%s %" PRId32 " %" PRId64 " %" PRId64 " %s", e->key, e->chosen.way,
                          e->chosen.workspace_bytes, e->chosen.time_ns, bytes);
    dit_hash(rest, (size_t)length, hash);
    snprintf(out, LINE, "%s %s\n", hash, rest);
}

static bool read_bytes(const char *hex, uint8_t out[DIT_ALGORITHM_BYTES])
{
    if (strlen(hex) != 2 * DIT_ALGORITHM_BYTES) return false;
    for (int i = 0; i < DIT_ALGORITHM_BYTES; i++) {
        unsigned byte;
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1) return false;
        out[i] = (uint8_t)byte;
    }
    return true;
}

/* Reads a NUL-terminated line. Its hash shows that write_line made it. */
static bool read_line(const char *line, entry *out)
{
    char hash[DIT_HASH_HEX], bytes[2 * DIT_ALGORITHM_BYTES + 1];
    size_t length = strlen(line);
    if (length <= HASH + 1 || length >= LINE || line[HASH] != ' ') return false;
    dit_hash(line + HASH + 1, length - HASH - 1, hash);
    if (strncmp(line, hash, HASH) != 0) return false;
    *out = (entry){0};
    return sscanf(line + HASH + 1, "%383s %" SCNd32 " %" SCNd64 " %" SCNd64 " %128s", out->key, &out->chosen.way,
                  &out->chosen.workspace_bytes, &out->chosen.time_ns, bytes) == 5 &&
           is_key(out->key) && read_bytes(bytes, out->chosen.bytes);
}
_Static_assert(DIT_ALGORITHM_KEY == 384 && DIT_ALGORITHM_BYTES == 64, "the widths in read_line");

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* Takes the file's entries that are not known yet. Returns how many lines are damaged, or -1 for another heading. */
static int64_t take_text(dit_algorithms *a, char *text)
{
    int64_t damaged = 0;
    char *rest = text, *line = strsep(&rest, "\n");
    if (strcmp(line, HEADING) != 0) return -1;
    while ((line = strsep(&rest, "\n"))) {
        entry e;
        if (!*line) continue;
        if (!read_line(line, &e))
            damaged++;
        else if (!find(a, e.key) && put(a, e.key, &e.chosen) != DIT_OK)
            return damaged;
    }
    return damaged;
}

/* Reads the file, if there is one. */
static void take_file(dit_algorithms *a)
{
    char *text;
    size_t length;
    if (!a->path[0] || access(a->path, F_OK) != 0) return;
    if (dit_file_read(a->path, FILE_LIMIT, &text, &length) != DIT_OK) {
        dit_log_warning("algorithms are chosen again: %s", dit_error_last()->message);
        dit_error_clear();
        return;
    }
    int64_t damaged = strlen(text) == length ? take_text(a, text) : -1;
    if (damaged < 0)
        dit_log_warning("%s was not written by this version of ditbench; algorithms are chosen again", a->path);
    else if (damaged)
        dit_log_warning("%s: %lld lines are damaged; their algorithms are chosen again", a->path, (long long)damaged);
    free(text);
}

/* Makes the folder and those above it. */
static dit_status make_folder(const char *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/", folder);
    for (char *slash = path + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return DIT_FAIL(DIT_ERR_IO, "cannot make folder %s: %s", path, strerror(errno));
    }
    return DIT_OK;
}

static dit_status write_file(dit_algorithms *a)
{
    char *text = malloc(sizeof HEADING + (size_t)a->count * LINE), *end = text;
    if (!text) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to write %s", a->path);
    end += sprintf(end, HEADING "\n");
    for (int64_t i = 0; i < a->count; i++) {
        write_line(&a->entries[i], end);
        end += strlen(end);
    }
    dit_file_piece piece = {text, (size_t)(end - text)};
    dit_status st = make_folder(a->folder);
    if (st == DIT_OK) st = dit_file_write(a->path, &piece, 1);
    free(text);
    return st;
}

dit_status dit_algorithms_store(dit_algorithms *a, const char *key, const dit_algorithm *chosen)
{
    if (!is_key(key)) return DIT_FAIL(DIT_ERR_INTERNAL, "'%s' is no key of an algorithm", key);
    DIT_TRY(put(a, key, chosen));
    if (!a->path[0]) return DIT_OK;
    take_file(a); /* what other ranks have chosen meanwhile */
    if (write_file(a) == DIT_OK) return DIT_OK;
    if (!a->warned) dit_log_warning("algorithms are not kept for the next run: %s", dit_error_last()->message);
    a->warned = true;
    dit_error_clear();
    return DIT_OK;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

dit_status dit_algorithms_open(const char *folder, const char *name, dit_algorithms **out)
{
    dit_algorithms *a = calloc(1, sizeof *a);
    *out = a;
    if (!a) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for algorithms");
    if (!folder) return DIT_OK;
    int length = snprintf(a->path, sizeof a->path, "%s/%s.algorithms", folder, name);
    if (length < 0 || length >= (int)sizeof a->path) {
        a->path[0] = '\0';
        dit_log_warning("the path of the cache folder is too long: chosen algorithms are not kept");
        return DIT_OK;
    }
    snprintf(a->folder, sizeof a->folder, "%s", folder);
    take_file(a);
    return DIT_OK;
}

void dit_algorithms_close(dit_algorithms *a)
{
    if (!a) return;
    free(a->entries);
    free(a);
}
