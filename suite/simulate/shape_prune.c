#include "suite/simulate/shape_prune.h"

#include "suite/paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DAY = 86400 };

static bool is_older(const char *path, time_t now, long seconds)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode) && now - found.st_mtime > seconds;
}

void suite_shape_used(const char *path, time_t now)
{
    const struct timespec times[2] = {{.tv_sec = now}, {.tv_sec = now}};
    if (is_older(path, now, DAY))
        (void)utimensat(AT_FDCWD, path, times, 0); /* a cache that cannot be written still reads */
}

/* Whether it is one of our own files: hexadecimal digits and ".json", or one that was never finished. */
static bool is_ours(const char *name)
{
    size_t digits = strspn(name, "0123456789abcdef");
    return digits >= 16 && strncmp(name + digits, ".json", 5) == 0;
}

static int prune_folder(const char *folder, time_t now)
{
    char path[SUITE_PATH];
    int deleted = 0;
    DIR *open = opendir(folder);
    for (const struct dirent *entry; open && (entry = readdir(open));) {
        int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        bool fits = length > 0 && (size_t)length < sizeof path;
        if (fits && is_ours(entry->d_name) && is_older(path, now, (long)SUITE_SHAPE_DAYS * DAY))
            deleted += unlink(path) == 0;
    }
    if (open) closedir(open);
    return deleted;
}

/* Whether nobody did it today; then this process does. */
static bool is_due(const char *folder, time_t now)
{
    char stamp[SUITE_PATH];
    const struct timespec times[2] = {{.tv_sec = now}, {.tv_sec = now}};
    int length = snprintf(stamp, sizeof stamp, "%s/pruned", folder);
    if (length <= 0 || (size_t)length >= sizeof stamp || access(folder, W_OK) != 0) return false;
    if (access(stamp, F_OK) == 0 && !is_older(stamp, now, DAY)) return false;
    int file = open(stamp, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return false;
    (void)futimens(file, times); /* at worst it is done again */
    close(file);
    return true;
}

int suite_shape_prune(const char *folder, time_t now)
{
    char path[SUITE_PATH];
    int deleted = 0;
    if (!is_due(folder, now)) return 0;
    for (int i = 0; i < 256; i++) { /* the first two digits of a key */
        int length = snprintf(path, sizeof path, "%s/%02x", folder, i);
        if (length > 0 && (size_t)length < sizeof path) deleted += prune_folder(path, now);
    }
    return deleted;
}
