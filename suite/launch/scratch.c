#include "suite/launch/scratch.h"

#include "suite/launch/process.h"
#include "suite/paths.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char own_path[SUITE_PATH]; /* one per process; "" when not open */
static pid_t owner;               /* a forked process inherits the path, and owns none */

static const char *scratch_parent(void)
{
    const char *fallback = getenv("TMPDIR");
    if (access("/dev/shm", W_OK | X_OK) == 0) return "/dev/shm";
    return fallback && fallback[0] == '/' ? fallback : "/tmp";
}

/* True for a folder of this user whose owner is gone. */
static bool is_stale(const char *name)
{
    unsigned uid;
    int pid, end = 0;
    uint64_t start_time;
    if (sscanf(name, "ditbench.%u.%d.%" SCNu64 "%n", &uid, &pid, &start_time, &end) != 3 || name[end]) return false;
    return uid == (unsigned)getuid() && suite_process_start_time(pid) != start_time;
}

static void remove_stale(const char *parent)
{
    DIR *folder = opendir(parent);
    char path[SUITE_PATH];
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (is_stale(entry->d_name) && suite_path(path, "%s/%s", parent, entry->d_name) == DIT_OK)
            suite_path_remove(path);
    }
    if (folder) closedir(folder);
}

dit_status suite_scratch_open(char out[SUITE_PATH])
{
    if (owner != getpid()) own_path[0] = '\0';
    if (!own_path[0]) {
        char path[SUITE_PATH];
        remove_stale(scratch_parent());
        DIT_TRY(suite_path(path, "%s/ditbench.%u.%d.%" PRIu64, scratch_parent(), (unsigned)getuid(), (int)getpid(),
                           suite_process_start_time(getpid())));
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return DIT_FAIL(DIT_ERR_IO, "cannot make folder %s: %s", path, strerror(errno));
        memcpy(own_path, path, sizeof own_path);
        owner = getpid();
    }
    return suite_path(out, "%s", own_path);
}

dit_status suite_scratch_empty(void)
{
    if (!own_path[0] || owner != getpid()) return DIT_OK;
    DIT_TRY(suite_path_remove(own_path));
    return mkdir(own_path, 0700) == 0 || errno == EEXIST
               ? DIT_OK
               : DIT_FAIL(DIT_ERR_IO, "cannot make folder %s: %s", own_path, strerror(errno));
}

void suite_scratch_close(void)
{
    if (own_path[0] && owner == getpid()) suite_path_remove(own_path);
    own_path[0] = '\0';
}
