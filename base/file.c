#include "base/file.h"

#include "base/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = 1 << 16, NAME_TRIES = 100 };

static dit_status read_all(int descriptor, const char *path, size_t limit, dit_buffer *text)
{
    char chunk[CHUNK_BYTES];
    dit_buffer_append(text, "", 0); /* an empty file gives an empty text instead of NULL */
    for (;;) {
        ssize_t got = read(descriptor, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return DIT_FAIL(DIT_ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
        if (got == 0) break;
        if (text->used + (size_t)got > limit)
            return DIT_FAIL(DIT_ERR_IO, "%s: has more than the %zu bytes that are allowed here", path, limit);
        dit_buffer_append(text, chunk, (size_t)got);
    }
    return text->failed ? DIT_FAIL(DIT_ERR_MEMORY, "%s: no memory to read it", path) : DIT_OK;
}

dit_status dit_file_read(const char *path, size_t limit, char **out, size_t *length)
{
    dit_buffer text = {0};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return DIT_FAIL(DIT_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    dit_status st = read_all(descriptor, path, limit, &text);
    close(descriptor);
    if (st != DIT_OK) {
        dit_buffer_release(&text);
        return st;
    }
    *out = text.data;
    *length = text.used;
    return DIT_OK;
}

/* Opens a new file beside `path`; another process that writes `path` gets another name. */
static int open_temporary(const char *path, char *name, size_t size)
{
    for (int attempt = 0; attempt < NAME_TRIES; attempt++) {
        int length = snprintf(name, size, "%s.%ld-%d.tmp", path, (long)getpid(), attempt);
        if (length < 0 || (size_t)length >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0 || errno != EEXIST) return descriptor;
    }
    return -1;
}

static bool write_all(int descriptor, const char *data, size_t bytes)
{
    while (bytes) {
        ssize_t put = write(descriptor, data, bytes < (1u << 30) ? bytes : 1u << 30);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        data += put;
        bytes -= (size_t)put;
    }
    return true;
}

/* Makes the rename itself durable. Some file systems refuse fsync on a folder; the contents are safe nevertheless. */
static void sync_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    int descriptor = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (descriptor >= 0) {
        fsync(descriptor);
        close(descriptor);
    }
    free(folder);
}

dit_status dit_file_write(const char *path, const dit_file_piece *pieces, int count)
{
    char name[4096];
    const char *step = "created";
    int descriptor = open_temporary(path, name, sizeof name);
    bool good = descriptor >= 0;
    for (int i = 0; good && i < count; i++) {
        step = "written";
        good = write_all(descriptor, pieces[i].data, pieces[i].bytes);
    }
    if (good && (step = "flushed to disk", fsync(descriptor) != 0)) good = false;
    int error = errno;
    if (descriptor >= 0 && close(descriptor) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good && (step = "renamed into place", rename(name, path) != 0)) {
        good = false;
        error = errno;
    }
    if (!good) {
        if (descriptor >= 0) unlink(name);
        return DIT_FAIL(DIT_ERR_IO, "%s: cannot be %s: %s", path, step, strerror(error));
    }
    sync_folder_of(path);
    return DIT_OK;
}
