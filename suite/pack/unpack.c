#include "suite/pack/pack.h"

#include "suite/pack/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t member_limit = UINT64_C(4) << 30, manifest_limit = UINT64_C(256) << 20;

/* Reading goes through the archive once: every member must be the next line of the manifest. */
typedef struct {
    const char *path;   /* of the archive */
    const char *folder; /* NULL: nothing is written */
    FILE *file;
    uint64_t left; /* bytes of the file that were not read */
    char session[SUITE_SESSION_NAME];
    char *manifest, *next; /* text, and the line of the next member */
    suite_pack_summary *summary;
} unpacker;

static dit_status damaged(const unpacker *u, const char *name, const char *what)
{
    return dit_error_hint(DIT_FAIL(DIT_ERR_INTEGRITY, "%s: %s %s", u->path, name, what),
                          "the archive was changed after it was packed; get another copy");
}

static dit_status read_bytes(unpacker *u, const char *name, void *out, uint64_t bytes)
{
    if (bytes > u->left || fread(out, 1, (size_t)bytes, u->file) != bytes)
        return damaged(u, name, "is cut: the archive ends before it does");
    u->left -= bytes;
    return DIT_OK;
}

/* "SESSION/rest": the rest, of a member of the one session. NULL: it is elsewhere. */
static const char *inner_name(unpacker *u, const char *name)
{
    const char *slash = strchr(name, '/');
    if (!slash || slash - name >= SUITE_SESSION_NAME) return NULL;
    if (!u->session[0]) memcpy(u->session, name, (size_t)(slash - name));
    bool same = strlen(u->session) == (size_t)(slash - name) && strncmp(u->session, name, (size_t)(slash - name)) == 0;
    return same ? slash + 1 : NULL;
}

static dit_status write_out(const unpacker *u, const char *name, const char *data, uint64_t bytes)
{
    char path[SUITE_PATH], folder[SUITE_PATH];
    if (!u->folder) return DIT_OK;
    DIT_TRY(suite_path(path, "%s/%s", u->folder, name));
    memcpy(folder, path, sizeof folder);
    *strrchr(folder, '/') = '\0';
    DIT_TRY(suite_path_make(folder));
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    bool written = fd >= 0;
    for (uint64_t done = 0; written && done < bytes;) {
        ssize_t count = write(fd, data + done, (size_t)(bytes - done));
        written = count > 0;
        done += written ? (uint64_t)count : 0;
    }
    if (fd >= 0) written = (close(fd) == 0) && written;
    return written ? DIT_OK : DIT_FAIL(DIT_ERR_IO, "cannot write %s: %s", path, strerror(errno));
}

/* Holds a member against the next line of the manifest, "HASH  NAME". */
static dit_status check_line(unpacker *u, const char *name, const char *hash)
{
    size_t length = strlen(name);
    const char *line = u->next;
    bool named = strlen(line) > DIT_HASH_HEX + length && strncmp(line + DIT_HASH_HEX - 1, "  ", 2) == 0 &&
                 strncmp(line + DIT_HASH_HEX + 1, name, length) == 0 && line[DIT_HASH_HEX + 1 + length] == '\n';
    if (!named) return damaged(u, name, "is not the file that MANIFEST lists at this place");
    if (strncmp(line, hash, DIT_HASH_HEX - 1) != 0) return damaged(u, name, "does not hash to what MANIFEST says");
    u->next += DIT_HASH_HEX + 1 + length + 1;
    return DIT_OK;
}

static dit_status take_contents(unpacker *u, const char *name, char *data, uint64_t bytes)
{
    char hash[DIT_HASH_HEX];
    dit_hash(data, (size_t)bytes, hash);
    if (u->summary->members++) {
        DIT_TRY(check_line(u, name, hash));
        return write_out(u, name, data, bytes);
    }
    if (strcmp(name, "MANIFEST") != 0) return damaged(u, name, "stands where MANIFEST belongs");
    if (strlen(data) != bytes) return damaged(u, name, "is no text");
    memcpy(u->summary->hash, hash, sizeof hash);
    u->manifest = u->next = strdup(data);
    return u->manifest ? write_out(u, name, data, bytes) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a manifest");
}

static dit_status check_padding(unpacker *u, const char *name, uint64_t bytes)
{
    unsigned char zeros[SUITE_TAR_BLOCK];
    size_t padding = suite_tar_padding(bytes);
    DIT_TRY(read_bytes(u, name, zeros, padding));
    for (size_t i = 0; i < padding; i++)
        if (zeros[i]) return damaged(u, name, "is followed by bytes that belong to no file");
    return DIT_OK;
}

static dit_status take_member(unpacker *u, const unsigned char block[SUITE_TAR_BLOCK])
{
    char name[SUITE_TAR_NAME];
    uint64_t bytes = 0, most = u->summary->members ? member_limit : manifest_limit;
    dit_status st = suite_tar_read_header(block, name, &bytes);
    if (st != DIT_OK) return dit_error_note(st, "%s, member %d", u->path, u->summary->members + 1);
    const char *inner = inner_name(u, name);
    if (!inner) return damaged(u, name, "lies outside the session's folder");
    if (bytes > u->left || bytes > most) return damaged(u, inner, "is larger than the archive, or than 4 GiB");
    char *data = malloc((size_t)bytes + 1);
    if (!data) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %s", inner);
    st = read_bytes(u, inner, data, bytes);
    data[st == DIT_OK ? bytes : 0] = '\0';
    if (st == DIT_OK) st = take_contents(u, inner, data, bytes);
    free(data);
    return st == DIT_OK ? check_padding(u, inner, bytes) : st;
}

static bool is_zero(const unsigned char *block)
{
    for (int i = 0; i < SUITE_TAR_BLOCK; i++)
        if (block[i]) return false;
    return true;
}

static dit_status take_all(unpacker *u)
{
    unsigned char block[SUITE_TAR_BLOCK];
    for (;;) {
        DIT_TRY(read_bytes(u, "a header", block, sizeof block));
        if (is_zero(block)) break;
        DIT_TRY(take_member(u, block));
    }
    DIT_TRY(read_bytes(u, "the end", block, sizeof block));
    if (!is_zero(block) || u->left) return damaged(u, "the end", "is followed by bytes that belong to no file");
    if (!u->manifest) return damaged(u, "MANIFEST", "is not there");
    if (*u->next) return damaged(u, u->next + (strlen(u->next) > DIT_HASH_HEX ? DIT_HASH_HEX + 1 : 0), "is not there");
    return DIT_OK;
}

static dit_status open_archive(unpacker *u)
{
    struct stat facts;
    u->file = fopen(u->path, "rbe");
    if (!u->file || fstat(fileno(u->file), &facts) != 0 || !S_ISREG(facts.st_mode)) {
        dit_status st =
            DIT_FAIL(DIT_ERR_NOT_FOUND, "cannot read %s: %s", u->path, u->file ? "no plain file" : strerror(errno));
        if (u->file) fclose(u->file);
        u->file = NULL;
        return st;
    }
    u->left = u->summary->bytes = (uint64_t)facts.st_size;
    return DIT_OK;
}

static dit_status unpack_into(const char *path, const char *folder, char name[SUITE_SESSION_NAME],
                              suite_pack_summary *out)
{
    unpacker u = {.path = path, .folder = folder, .summary = out};
    *out = (suite_pack_summary){0};
    DIT_TRY(open_archive(&u));
    dit_status st = take_all(&u);
    memcpy(name, u.session, SUITE_SESSION_NAME);
    fclose(u.file);
    free(u.manifest);
    return st;
}

dit_status suite_unpack(const char *path, const char *folder, char name[SUITE_SESSION_NAME], suite_pack_summary *out)
{
    char partial[SUITE_PATH];
    name[0] = '\0';
    if (!folder) return unpack_into(path, NULL, name, out);
    if (access(folder, F_OK) == 0) {
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "%s exists", folder), "choose another folder with --output");
    }
    DIT_TRY(suite_path(partial, "%s.%d.part", folder, (int)getpid()));
    DIT_TRY(suite_path_make(partial));
    dit_status st = unpack_into(path, partial, name, out);
    if (st == DIT_OK && rename(partial, folder) != 0)
        st = DIT_FAIL(DIT_ERR_IO, "cannot rename %s: %s", partial, strerror(errno));
    if (st != DIT_OK) (void)!suite_path_remove(partial);
    return st;
}

dit_status suite_pack_name(const char *path, char name[SUITE_SESSION_NAME])
{
    suite_pack_summary summary = {0};
    unpacker u = {.path = path, .summary = &summary};
    unsigned char block[SUITE_TAR_BLOCK];
    char member[SUITE_TAR_NAME];
    uint64_t bytes;
    name[0] = '\0';
    DIT_TRY(open_archive(&u));
    dit_status st = read_bytes(&u, "the first header", block, sizeof block);
    if (st == DIT_OK) st = suite_tar_read_header(block, member, &bytes);
    if (st == DIT_OK && !inner_name(&u, member)) st = damaged(&u, member, "lies outside a session's folder");
    memcpy(name, u.session, SUITE_SESSION_NAME);
    fclose(u.file);
    return st;
}
