#include "suite/session/session.h"

#include "base/log.h"
#include "suite/paths.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Fills the derived fields from an existing folder. */
static dit_status set_folder(const char *folder, suite_session *out)
{
    char real[SUITE_PATH];
    if (!realpath(folder, real)) return DIT_FAIL(DIT_ERR_NOT_FOUND, "session %s: %s", folder, strerror(errno));
    DIT_TRY(suite_path(out->dir, "%s", real));
    DIT_TRY(suite_path(out->journal, "%s/journal.jsonl", real));
    snprintf(out->name, sizeof out->name, "%.*s", SUITE_SESSION_NAME - 1, strrchr(real, '/') + 1);
    return DIT_OK;
}

/* "20260131T120000Z-cpu-methods-3fa9c1" */
static void make_name(const char *workload_name, char out[SUITE_SESSION_NAME])
{
    time_t now = time(NULL);
    struct tm utc;
    unsigned char tail[3] = {0};
    gmtime_r(&now, &utc);
    if (getrandom(tail, sizeof tail, 0) < 0) tail[0] = (unsigned char)getpid();
    size_t used = strftime(out, SUITE_SESSION_NAME, "%Y%m%dT%H%M%SZ-", &utc);
    for (int i = 0; workload_name[i] && i < 64; i++)
        out[used++] = isalnum((unsigned char)workload_name[i]) || workload_name[i] == '_' ? workload_name[i] : '-';
    snprintf(out + used, SUITE_SESSION_NAME - used, "-%02x%02x%02x", tail[0], tail[1], tail[2]);
}

/* Replaces the link in one step; a link that cannot be made is no reason to stop. */
static void point_latest(const char *root, const char *name)
{
    char link[SUITE_PATH], fresh[SUITE_PATH];
    if (suite_path(link, "%s/latest", root) != DIT_OK) return;
    if (suite_path(fresh, "%s/.latest.%d", root, (int)getpid()) != DIT_OK) return;
    unlink(fresh);
    if (symlink(name, fresh) == 0 && rename(fresh, link) != 0) unlink(fresh);
}

static dit_status create_at(const char *output, suite_session *out)
{
    char journal[SUITE_PATH];
    DIT_TRY(suite_path(journal, "%s/journal.jsonl", output));
    if (access(journal, F_OK) == 0) {
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "%s already holds a session", output),
                              "continue it with `ditbench resume %s`, or choose another folder", output);
    }
    DIT_TRY(suite_path_make(output));
    return set_folder(output, out);
}

dit_status suite_session_create(const char *output, const char *workload_name, suite_session *out)
{
    char root[SUITE_PATH], folder[SUITE_PATH], name[SUITE_SESSION_NAME];
    if (output) return create_at(output, out);
    DIT_TRY(suite_session_root(root));
    make_name(workload_name, name);
    DIT_TRY(suite_path(folder, "%s/%s", root, name));
    dit_status st = suite_path_make(folder);
    if (st != DIT_OK)
        return dit_error_hint(st, "write elsewhere: --output DIR for this session, or DITBENCH_RESULTS=DIR for all");
    return set_folder(folder, out);
}

void suite_session_make_latest(const suite_session *session)
{
    char root[SUITE_PATH], folder[SUITE_PATH], real[SUITE_PATH];
    if (suite_session_root(root) != DIT_OK || suite_path(folder, "%s/%s", root, session->name) != DIT_OK) return;
    if (realpath(folder, real) && strcmp(real, session->dir) == 0) point_latest(root, session->name);
}

/* A session is called by its name or, without the time, by what stands behind it ("smoke-3fa9c1", "50-steps"). */
static bool begins_with(const char *session, const char *prefix)
{
    const char *dash = strchr(session, '-');
    size_t length = strlen(prefix);
    return strncmp(session, prefix, length) == 0 || (dash && strncmp(dash + 1, prefix, length) == 0);
}

/* The one session under `root` whose name starts with `prefix`. */
static dit_status find_by_prefix(const char *root, const char *prefix, suite_session *out)
{
    char folder[SUITE_PATH], found[SUITE_PATH] = "";
    DIR *listing = opendir(root);
    int count = 0;
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        if (entry->d_name[0] == '.' || !begins_with(entry->d_name, prefix)) continue;
        if (strcmp(entry->d_name, "latest") == 0) continue;
        if (suite_path(folder, "%s/%s/journal.jsonl", root, entry->d_name) != DIT_OK || access(folder, F_OK) != 0)
            continue;
        *strrchr(folder, '/') = '\0';
        memcpy(found, folder, sizeof found);
        count++;
    }
    if (listing) closedir(listing);
    if (count == 1) return set_folder(found, out);
    dit_status st = count ? DIT_FAIL(DIT_ERR_NOT_FOUND, "%d sessions start with '%s'", count, prefix)
                          : DIT_FAIL(DIT_ERR_NOT_FOUND, "there is no session '%s' here or in %s", prefix, root);
    return dit_error_hint(st, "`ditbench list` shows them");
}

dit_status suite_session_find(const char *name, suite_session *out)
{
    char root[SUITE_PATH], path[SUITE_PATH];
    struct stat facts;
    const char *wanted = name ? name : "latest";
    size_t length = strlen(wanted);
    DIT_TRY(suite_session_root(root));
    if (length > 6 && strcmp(wanted + length - 6, ".jsonl") == 0 && stat(wanted, &facts) == 0) {
        DIT_TRY(suite_path(path, "%s", wanted));
        char *slash = strrchr(path, '/');
        if (slash) *slash = '\0';
        return set_folder(slash ? path : ".", out);
    }
    DIT_TRY(suite_path(path, "%s/journal.jsonl", wanted));
    if (stat(path, &facts) == 0) return set_folder(wanted, out);
    DIT_TRY(suite_path(path, "%s/%s/journal.jsonl", root, wanted));
    if (!strchr(wanted, '/') && stat(path, &facts) == 0) {
        *strrchr(path, '/') = '\0';
        return set_folder(path, out);
    }
    return find_by_prefix(root, wanted, out);
}

void suite_session_tell_latest(const char *name, const suite_session *found)
{
    if (!name || strcmp(name, "latest") == 0) dit_log_info("latest is %s", found->name);
}

dit_status suite_session_case_dir(const suite_session *session, const char *case_id, char out[SUITE_PATH])
{
    return suite_path(out, "%s/cases/%s", session->dir, case_id);
}

dit_status suite_session_process_dir(const suite_session *session, const char *case_id, int process,
                                     char out[SUITE_PATH])
{
    return suite_path(out, "%s/cases/%s/p%d", session->dir, case_id, process);
}
