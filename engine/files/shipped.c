#include "engine/files/shipped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

dit_status dit_shipped_folder(const char *name, char out[DIT_SHIPPED_PATH])
{
    const char *workloads = getenv("DITBENCH_WORKLOADS");
    struct stat info;
    if (!name[0] || name[0] == '.' || strchr(name, '/'))
        return DIT_FAIL(DIT_ERR_USAGE, "\"%.80s\" is not the name of shipped weights", name);
    if (!workloads || !workloads[0])
        return dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "nothing says where the shipped weights %.80s are", name),
                              "set DITBENCH_WORKLOADS to the folder that holds weights/, as the harness does");
    if (snprintf(out, DIT_SHIPPED_PATH, "%s/weights/%s", workloads, name) >= DIT_SHIPPED_PATH)
        return DIT_FAIL(DIT_ERR_ENVIRONMENT, "the path of the shipped weights %.80s is too long", name);
    if (stat(out, &info) == 0 && S_ISDIR(info.st_mode)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_NOT_FOUND, "there are no shipped weights %s", out);
}
