#include "base/direct_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, BUFFER = DIT_DIRECT_BUFFER_BYTES + 2 * PAGE };

struct dit_direct_file {
    char *path;
    int descriptor;
    bool direct;
    unsigned char *buffer;
    int64_t first, held; /* the buffer has bytes [first, first + held) of the file */
    int64_t bytes;
};

/* Opens past the page cache where the file system can. */
static int open_descriptor(const char *path, bool *direct)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    *direct = descriptor >= 0;
    return descriptor >= 0 ? descriptor : open(path, O_RDONLY | O_CLOEXEC);
}

dit_status dit_direct_open(const char *path, dit_direct_file **out)
{
    dit_direct_file *file = calloc(1, sizeof *file);
    *out = NULL;
    if (!file) return DIT_FAIL(DIT_ERR_MEMORY, "%s: no memory to read it", path);
    file->descriptor = -1;
    file->path = strdup(path);
    file->buffer = aligned_alloc(PAGE, BUFFER);
    if (file->path && file->buffer) file->descriptor = open_descriptor(path, &file->direct);
    if (file->descriptor >= 0) {
        *out = file;
        return DIT_OK;
    }
    dit_status st = file->path && file->buffer ? DIT_FAIL(DIT_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno))
                                               : DIT_FAIL(DIT_ERR_MEMORY, "%s: no memory to read it", path);
    dit_direct_close(file);
    return st;
}

void dit_direct_close(dit_direct_file *file)
{
    if (!file) return;
    if (file->descriptor >= 0) close(file->descriptor);
    free(file->buffer);
    free(file->path);
    free(file);
}

/* Reads up to `wanted` bytes from file->first on into the buffer; fewer at the end of the file. */
static dit_status fill(dit_direct_file *file, int64_t wanted)
{
    file->held = 0;
    while (file->held < wanted) {
        ssize_t got =
            pread(file->descriptor, file->buffer + file->held, (size_t)(wanted - file->held), file->first + file->held);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return DIT_FAIL(DIT_ERR_IO, "%s: byte %lld cannot be read: %s", file->path,
                            (long long)(file->first + file->held), strerror(errno));
        if (got == 0) break;
        file->held += got;
        file->bytes += got;
        if (file->direct && got % PAGE) break; /* the end: no further read would be aligned */
    }
    if (!file->direct) posix_fadvise(file->descriptor, file->first, file->held, POSIX_FADV_DONTNEED);
    return DIT_OK;
}

dit_status dit_direct_fetch(dit_direct_file *file, int64_t offset, int64_t bytes, int64_t until, const void **out)
{
    if (offset < 0 || bytes < 0 || bytes > DIT_DIRECT_BUFFER_BYTES || until < offset + bytes)
        return DIT_FAIL(DIT_ERR_INTERNAL, "%s: %lld bytes from %lld on in one fetch", file->path, (long long)bytes,
                        (long long)offset);
    if (offset < file->first || offset + bytes > file->first + file->held) {
        int64_t end = until - offset > DIT_DIRECT_BUFFER_BYTES ? offset + DIT_DIRECT_BUFFER_BYTES : until;
        file->first = offset / PAGE * PAGE;
        DIT_TRY(fill(file, (end - file->first + PAGE - 1) / PAGE * PAGE));
    }
    if (offset + bytes > file->first + file->held)
        return DIT_FAIL(DIT_ERR_IO, "%s: ends at byte %lld, before byte %lld", file->path,
                        (long long)(file->first + file->held), (long long)(offset + bytes));
    *out = file->buffer + (offset - file->first);
    return DIT_OK;
}

int64_t dit_direct_bytes(const dit_direct_file *file)
{
    return file->bytes;
}

bool dit_direct_is_direct(const dit_direct_file *file)
{
    return file->direct;
}
