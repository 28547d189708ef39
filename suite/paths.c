#include "suite/paths.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

dit_status suite_path(char out[SUITE_PATH], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(out, SUITE_PATH, format, args);
    va_end(args);
    if (length >= 0 && length < SUITE_PATH) return DIT_OK;
    return DIT_FAIL(DIT_ERR_IO, "path too long: %.200s...", out);
}

dit_status suite_path_make(const char *folder)
{
    char path[SUITE_PATH];
    DIT_TRY(suite_path(path, "%s", folder));
    for (char *slash = path + 1;; slash++) {
        char kept = *slash;
        if (kept != '/' && kept != '\0') continue;
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return DIT_FAIL(DIT_ERR_IO, "cannot make folder %s: %s", path, strerror(errno));
        *slash = kept;
        if (!kept) break;
    }
    struct stat facts;
    if (stat(path, &facts) != 0 || !S_ISDIR(facts.st_mode)) return DIT_FAIL(DIT_ERR_IO, "%s is not a folder", folder);
    return DIT_OK;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *walk)
{
    (void)facts, (void)kind, (void)walk;
    return remove(path) != 0 && errno != ENOENT ? -1 : 0;
}

dit_status suite_path_remove(const char *path)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
        return DIT_FAIL(DIT_ERR_IO, "cannot remove %s: %s", path, strerror(errno));
    return DIT_OK;
}

bool suite_path_program(const char *name, char out[SUITE_PATH])
{
    const char *path = getenv("PATH");
    char *folders = path ? strdup(path) : NULL, *rest = folders, *folder;
    bool found = false;
    while (!found && (folder = strsep(&rest, ":"))) {
        struct stat facts;
        int length = snprintf(out, SUITE_PATH, "%s/%s", *folder ? folder : ".", name);
        found = length < SUITE_PATH && access(out, X_OK) == 0 && stat(out, &facts) == 0 && S_ISREG(facts.st_mode);
    }
    free(folders);
    if (!found) out[0] = '\0';
    return found;
}

/* ---- where things are -------------------------------------------------------------------------------------------- */

dit_status suite_session_root(char out[SUITE_PATH])
{
    const char *given = getenv("DITBENCH_RESULTS");
    char here[SUITE_PATH];
    if (given && given[0] == '/') return suite_path(out, "%s", given);
    if (!getcwd(here, sizeof here)) return DIT_FAIL(DIT_ERR_IO, "no current folder: %s", strerror(errno));
    return suite_path(out, "%s/%s", here, given && *given ? given : "results/local");
}

dit_status suite_cache_folder(const char *name, char out[SUITE_PATH])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/') return suite_path(out, "%s/ditbench/%s", cache, name);
    if (home && home[0]) return suite_path(out, "%s/.cache/ditbench/%s", home, name);
    return dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "there is no folder for what outlives sessions (%s)", name),
                          "set HOME or XDG_CACHE_HOME");
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_workloads_folder(const char *path)
{
    char inside[PATH_MAX + 16];
    snprintf(inside, sizeof inside, "%s/models", path);
    return is_folder(inside);
}

/* Walks up from the running binary: build/bin/ditbench lies two folders below the source tree, a test program too;
 * PREFIX/bin/ditbench has PREFIX/share beside it, wherever PREFIX was moved to. */
static bool find_beside_binary(char out[PATH_MAX])
{
    char path[PATH_MAX - 32];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return false;
    path[length] = '\0';
    for (int level = 0; level < 5; level++) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path) return false;
        *slash = '\0';
        snprintf(out, PATH_MAX, "%s/workloads", path);
        if (is_workloads_folder(out)) return true;
        snprintf(out, PATH_MAX, "%s/share/ditbench/workloads", path);
        if (is_workloads_folder(out)) return true;
    }
    return false;
}

const char *suite_workloads_folder(void)
{
    static _Thread_local char found[PATH_MAX];
    const char *named = getenv("DITBENCH_WORKLOADS");
    if (named && named[0]) {
        if (is_workloads_folder(named)) return named;
        dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "DITBENCH_WORKLOADS=%s has no models/ inside", named),
                       "point it at a workloads folder, or unset it");
        return NULL;
    }
    if (is_workloads_folder("workloads")) return "workloads";
    if (find_beside_binary(found)) return found;
    dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "there is no workloads folder, neither here nor beside the program"),
                   "set DITBENCH_WORKLOADS to the folder that holds models/ and platforms/");
    return NULL;
}

void suite_workloads_announce(void)
{
    char *folder = NULL;
    const char *found = suite_workloads_folder();
    if (found) folder = realpath(found, NULL);
    if (folder) setenv("DITBENCH_WORKLOADS", folder, 1);
    free(folder);
    if (!found) dit_error_clear();
}
