#include "suite/compare/named_side.h"

#include "suite/compare/baseline.h"
#include "suite/session/index.h"
#include "suite/session/session.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { COMMIT_LEAST = 6 };

/* ---- a commit ---------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *commit;
    char dir[SUITE_PATH];
} commit_search;

/* "v1.2-14-g631fa91-dirty" or "631fa91": what `git describe` says of a build. */
static bool is_build_of(const char *version, const char *commit)
{
    const char *hash = strstr(version, "-g");
    return strncmp(hash ? hash + 2 : version, commit, strlen(commit)) == 0;
}

/* Sessions come newest first. */
static void look_at(void *context, const suite_index_session *row)
{
    commit_search *search = context;
    if (!search->dir[0] && row->complete && is_build_of(row->version, search->commit))
        snprintf(search->dir, sizeof search->dir, "%s", row->dir);
}

static bool looks_like_commit(const char *name)
{
    size_t length = strlen(name), hex = 0;
    while (isxdigit((unsigned char)name[hex])) hex++;
    return hex == length && length >= COMMIT_LEAST && length <= 40;
}

/* The newest whole session of a build of `commit`; "" when there is none. */
static dit_status find_commit(const char *commit, char out[SUITE_PATH])
{
    commit_search search = {.commit = commit};
    suite_index *index = NULL;
    char root[SUITE_PATH];
    DIT_TRY(suite_session_root(root));
    DIT_TRY(suite_index_read(root, &index));
    dit_status st = suite_index_sessions(index, look_at, &search);
    suite_index_close(index);
    memcpy(out, search.dir, SUITE_PATH);
    return st;
}

/* ---- whatever it is ---------------------------------------------------------------------------------------------- */

static dit_status load_named(const char *name, suite_side *out)
{
    suite_session session;
    char dir[SUITE_PATH] = "";
    dit_status st = suite_session_find(name, &session);
    if (st == DIT_ERR_NOT_FOUND && looks_like_commit(name)) {
        DIT_TRY(find_commit(name, dir));
        if (dir[0]) st = suite_session_find(dir, &session);
    }
    if (st == DIT_ERR_NOT_FOUND)
        return dit_error_hint(
            DIT_FAIL(st, "%s is no session, no baseline file, and no commit of a session that is complete", name),
            "`ditbench list sessions` names them, with the commit of their build");
    DIT_TRY(st);
    return suite_side_load_session(session.journal, session.name, out);
}

dit_status suite_side_load(const char *name, suite_side *out)
{
    *out = (suite_side){0};
    size_t length = strlen(name);
    bool file = length > 5 && strcmp(name + length - 5, ".json") == 0;
    return file ? suite_baseline_load(name, out) : load_named(name, out);
}
