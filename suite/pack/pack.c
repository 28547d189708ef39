#include "suite/pack/pack.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/json.h"
#include "suite/pack/tar.h"
#include "suite/session/history.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t file_limit = (size_t)4 << 30;

/* One file of the archive. */
typedef struct {
    char *name;            /* inside the session's folder                 */
    char path[SUITE_PATH]; /* where it lies; "": `text` is what it holds  */
    const dit_buffer *text;
    char hash[DIT_HASH_HEX];
} pack_member;

typedef struct {
    const suite_session *session;
    bool latents;
    pack_member *members;
    int count, capacity;
} pack_list;

static dit_status no_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory to pack a session");
}

static void release(pack_list *list)
{
    for (int i = 0; i < list->count; i++) free(list->members[i].name);
    free(list->members);
}

static dit_status add_member(pack_list *list, const char *name, const char *path, const dit_buffer *text)
{
    if (list->count == list->capacity) {
        int capacity = list->capacity * 2 + 64;
        pack_member *grown = realloc(list->members, (size_t)capacity * sizeof *grown);
        if (!grown) return no_memory();
        list->members = grown;
        list->capacity = capacity;
    }
    pack_member *member = &list->members[list->count];
    *member = (pack_member){.name = strdup(name), .text = text};
    if (!member->name) return no_memory();
    list->count++;
    return suite_path(member->path, "%s", path);
}

/* ---- which files ------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static dit_status add_path(pack_list *list, const char *name);

static dit_status add_folder(pack_list *list, const char *name, const char *path)
{
    char inner[SUITE_PATH];
    DIR *folder = opendir(path);
    dit_status st = folder ? DIT_OK : DIT_FAIL(DIT_ERR_IO, "cannot read %s: %s", path, strerror(errno));
    for (struct dirent *entry; st == DIT_OK && folder && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        st = suite_path(inner, "%s/%s", name, entry->d_name);
        if (st == DIT_OK) st = add_path(list, inner);
    }
    if (folder) closedir(folder);
    return st;
}

/* Adds a file or all files of a folder; links and what is not there are left out. */
static dit_status add_path(pack_list *list, const char *name)
{
    char path[SUITE_PATH];
    struct stat facts;
    DIT_TRY(suite_path(path, "%s/%s", list->session->dir, name));
    if (lstat(path, &facts) != 0) return DIT_OK;
    if (S_ISDIR(facts.st_mode)) return add_folder(list, name, path);
    if (!S_ISREG(facts.st_mode) || (!list->latents && ends_with(name, ".safetensors"))) return DIT_OK;
    return add_member(list, name, path, NULL);
}

/* The workload as it was run: a copy that an earlier unpacking left here, else the file that the journal names, if it
 * still is what it was. */
static dit_status add_workload(pack_list *list, const cJSON *session)
{
    char path[SUITE_PATH], hash[DIT_HASH_HEX], *text = NULL;
    dit_json document = {0};
    const cJSON *workload = dit_json_member(session, "workload");
    const char *source = dit_json_text_or(workload, "path", ""), *said = dit_json_text_or(workload, "hash", "");
    DIT_TRY(suite_path(path, "%s/workload.json", list->session->dir));
    if (access(path, R_OK) == 0) return add_member(list, "workload.json", path, NULL);
    if (!source[0] || access(source, R_OK) != 0) return DIT_OK;
    if (dit_json_read_file(source, &document) != DIT_OK) return dit_error_clear(), DIT_OK;
    dit_status st = dit_json_canonical(document.root, &text);
    if (st == DIT_OK) {
        dit_hash(text, strlen(text), hash);
        if (strcmp(hash, said) == 0) st = add_member(list, "workload.json", source, NULL);
    }
    free(text);
    dit_json_release(&document);
    return st;
}

static int compare_members(const void *left, const void *right)
{
    return strcmp(((const pack_member *)left)->name, ((const pack_member *)right)->name);
}

static dit_status list_files(pack_list *list, const cJSON *session, const dit_buffer *readme)
{
    static const char *const parts[] = {"cases", "journal.jsonl", "plan.json", "report"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) DIT_TRY(add_path(list, parts[i]));
    DIT_TRY(add_workload(list, session));
    DIT_TRY(add_member(list, "README.md", "", readme));
    qsort(list->members, (size_t)list->count, sizeof *list->members, compare_members);
    return DIT_OK;
}

/* ---- what a reader needs to know --------------------------------------------------------------------------------- */

static void put_fact(dit_buffer *out, const char *name, const cJSON *object, const char *key)
{
    const char *text = dit_json_text_or(object, key, "");
    if (text[0]) dit_buffer_printf(out, "- %s: %s\n", name, text);
}

static void write_readme(const suite_session *session, const suite_history *history, bool latents, dit_buffer *out)
{
    const cJSON *head = history->session, *suite = dit_json_member(head, "suite");
    dit_buffer_printf(out,
                      "# %s\n\nA session of ditbench in one file, for a reader who wants to check its numbers.\n\n",
                      session->name);
    put_fact(out, "workload", dit_json_member(head, "workload"), "name");
    put_fact(out, "title", dit_json_member(head, "workload"), "title");
    put_fact(out, "started", head, "started");
    put_fact(out, "ditbench", suite, "version");
    put_fact(out, "commit", suite, "commit");
    put_fact(out, "processor", dit_json_member(head, "hardware"), "cpu");
    put_fact(out, "hardware id", dit_json_member(head, "hardware"), "hardware_id");
    dit_buffer_printf(out, "- results: %d, %s\n", history->result_count,
                      history->complete ? "complete" : "not complete");
    dit_buffer_text(
        out, "\n## What lies here\n\n"
             "- `journal.jsonl`: what happened, one hashed line each, with every record, the hardware and the "
             "environment\n"
             "- `plan.json`: the resolved cases and the order of runs; `workload.json`: the declaration, where it "
             "was at hand\n"
             "- `cases/`: what the engine read and wrote, and its logs\n"
             "- `report/`: figures with data and scripts, tables, the page; only where they were drawn\n"
             "- `MANIFEST`: the XXH3-128 of every file\n\n");
    dit_buffer_text(out,
                    latents ? "Latents are here, too.\n" : "Latents are left out; their digests are in the records.\n");
    dit_buffer_text(out,
                    "\n## Check it\n\n"
                    "    ditbench unpack FILE.tar --verify    # every byte, then hashes, aggregates and bytes anew\n"
                    "    xxh128sum --check MANIFEST           # without ditbench, in this folder\n\n"
                    "## Look at it\n\n"
                    "    ditbench show SESSION\n"
                    "    ditbench report SESSION\n\n"
                    "## Run it again\n\n"
                    "    ditbench run workload.json           # a build of the commit above; cases have equal ids\n"
                    "    ditbench compare SESSION latest --env\n");
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Contents of a member; *owned is to be freed. */
static dit_status read_member(const pack_member *member, const char **data, size_t *bytes, char **owned)
{
    *owned = NULL;
    if (!member->path[0]) return *data = member->text->data, *bytes = member->text->used, DIT_OK;
    DIT_TRY(dit_file_read(member->path, file_limit, owned, bytes));
    *data = *owned;
    return DIT_OK;
}

static dit_status hash_members(pack_list *list, dit_buffer *manifest)
{
    for (int i = 0; i < list->count; i++) {
        pack_member *member = &list->members[i];
        const char *data;
        char *owned;
        size_t bytes;
        DIT_TRY(read_member(member, &data, &bytes, &owned));
        dit_hash(data, bytes, member->hash);
        free(owned);
        dit_buffer_printf(manifest, "%s  %s\n", member->hash, member->name);
    }
    return manifest->failed ? no_memory() : DIT_OK;
}

static dit_status write_member(const pack_list *list, const pack_member *member, FILE *file, uint64_t *total)
{
    static const unsigned char zeros[SUITE_TAR_BLOCK];
    unsigned char header[SUITE_TAR_BLOCK];
    char name[SUITE_PATH], hash[DIT_HASH_HEX], *owned;
    const char *data;
    size_t bytes;
    DIT_TRY(suite_path(name, "%s/%s", list->session->name, member->name));
    DIT_TRY(read_member(member, &data, &bytes, &owned));
    dit_hash(data, bytes, hash);
    dit_status st = suite_tar_header(name, bytes, header);
    if (st == DIT_OK && member->hash[0] && strcmp(hash, member->hash) != 0)
        st = DIT_FAIL(DIT_ERR_USAGE, "%s was changed while it was packed", member->path);
    size_t padding = suite_tar_padding(bytes);
    if (st == DIT_OK && (fwrite(header, 1, sizeof header, file) != sizeof header ||
                         fwrite(data, 1, bytes, file) != bytes || fwrite(zeros, 1, padding, file) != padding))
        st = DIT_FAIL(DIT_ERR_IO, "cannot write the archive: %s", strerror(errno));
    free(owned);
    *total += sizeof header + bytes + padding;
    return st;
}

static dit_status write_archive(const pack_list *list, const dit_buffer *manifest, FILE *file, suite_pack_summary *out)
{
    static const unsigned char end[2 * SUITE_TAR_BLOCK];
    const pack_member first = {.name = (char *)"MANIFEST", .text = manifest};
    DIT_TRY(write_member(list, &first, file, &out->bytes));
    for (int i = 0; i < list->count; i++) DIT_TRY(write_member(list, &list->members[i], file, &out->bytes));
    out->bytes += sizeof end;
    out->members = list->count + 1;
    dit_hash(manifest->data, manifest->used, out->hash);
    bool written = fwrite(end, 1, sizeof end, file) == sizeof end && fflush(file) == 0 && fsync(fileno(file)) == 0;
    return written ? DIT_OK : DIT_FAIL(DIT_ERR_IO, "cannot write the archive: %s", strerror(errno));
}

static dit_status write_file(const pack_list *list, const dit_buffer *manifest, const char *path,
                             suite_pack_summary *out)
{
    char partial[SUITE_PATH];
    DIT_TRY(suite_path(partial, "%s.%d.part", path, (int)getpid()));
    FILE *file = fopen(partial, "wbe");
    if (!file) return DIT_FAIL(DIT_ERR_IO, "cannot write %s: %s", partial, strerror(errno));
    dit_status st = write_archive(list, manifest, file, out);
    if (fclose(file) != 0 && st == DIT_OK) st = DIT_FAIL(DIT_ERR_IO, "cannot write %s: %s", partial, strerror(errno));
    if (st == DIT_OK && rename(partial, path) != 0)
        st = DIT_FAIL(DIT_ERR_IO, "cannot rename %s: %s", partial, strerror(errno));
    if (st != DIT_OK) unlink(partial);
    return st;
}

dit_status suite_pack(const suite_session *session, const char *path, bool latents, suite_pack_summary *out)
{
    pack_list list = {.session = session, .latents = latents};
    suite_history history = {0};
    dit_buffer readme = {0}, manifest = {0};
    *out = (suite_pack_summary){0};
    if (suite_journal_locked(session->journal))
        return DIT_FAIL(DIT_ERR_USAGE, "session %s is still running; pack it when it has ended", session->name);
    DIT_TRY(suite_history_load(session->journal, &history));
    write_readme(session, &history, latents, &readme);
    dit_status st = readme.failed ? no_memory() : list_files(&list, history.session, &readme);
    if (st == DIT_OK) st = hash_members(&list, &manifest);
    if (st == DIT_OK) st = write_file(&list, &manifest, path, out);
    suite_history_release(&history);
    dit_buffer_release(&readme);
    dit_buffer_release(&manifest);
    release(&list);
    return st;
}
