#include "engine/files/shipped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static dit_status find_workloads(const char *what, const char **out)
{
    *out = getenv("DITBENCH_WORKLOADS");
    if (*out && (*out)[0]) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "nothing says where %.80s is", what),
                          "set DITBENCH_WORKLOADS to the folder that holds weights/, as the harness does");
}

dit_status dit_shipped_folder(const char *name, char out[DIT_SHIPPED_PATH])
{
    const char *workloads;
    struct stat info;
    if (!name[0] || name[0] == '.' || strchr(name, '/'))
        return DIT_FAIL(DIT_ERR_USAGE, "\"%.80s\" is not the name of shipped weights", name);
    DIT_TRY(find_workloads(name, &workloads));
    if (snprintf(out, DIT_SHIPPED_PATH, "%s/weights/%s", workloads, name) >= DIT_SHIPPED_PATH)
        return DIT_FAIL(DIT_ERR_ENVIRONMENT, "the path of the shipped weights %.80s is too long", name);
    if (stat(out, &info) == 0 && S_ISDIR(info.st_mode)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_NOT_FOUND, "there are no shipped weights %s", out);
}

dit_status dit_shipped_expand(const char *path, char out[DIT_SHIPPED_PATH], const char **expanded)
{
    static const char variable[] = "$DITBENCH_WORKLOADS/";
    const size_t length = sizeof variable - 1;
    const char *workloads;
    *expanded = path;
    if (strncmp(path, variable, length) != 0) return DIT_OK;
    DIT_TRY(find_workloads(path, &workloads));
    if (snprintf(out, DIT_SHIPPED_PATH, "%s/%s", workloads, path + length) >= DIT_SHIPPED_PATH)
        return DIT_FAIL(DIT_ERR_ENVIRONMENT, "the path %.80s... is too long", path);
    *expanded = out;
    return DIT_OK;
}
