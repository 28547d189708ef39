#include "suite/machine/network.h"

#include "base/json_writer.h"
#include "suite/paths.h"
#include "suite/text.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* First line of PATH/FILE; "" where there is none. */
static void read_fact(const char *folder, const char *name, char out[128])
{
    char path[SUITE_PATH];
    out[0] = '\0';
    FILE *file = suite_path(path, "%s/%s", folder, name) == DIT_OK ? fopen(path, "re") : NULL;
    if (!file) return;
    if (!fgets(out, 128, file)) out[0] = '\0';
    fclose(file);
    out[strcspn(out, "\n")] = '\0';
    suite_text_clean(out);
}

/* The name of the driver that a device's link leads to. */
static dit_status add_driver(const char *folder, cJSON *adapter)
{
    dit_json_writer w = {0};
    char path[SUITE_PATH], target[PATH_MAX];
    DIT_TRY(suite_path(path, "%s/device/driver", folder));
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0) return w.status;
    target[length] = '\0';
    suite_text_put(&w, adapter, "driver", base_of(target));
    return w.status;
}

static dit_status new_adapter(const char *folder, const char *kind, cJSON *list, cJSON **out)
{
    dit_json_writer w = {0};
    *out = dit_json_put_object(&w, list, NULL);
    suite_text_put(&w, *out, "name", base_of(folder));
    dit_json_put_string(&w, *out, "kind", kind);
    dit_json_put_status(&w, add_driver(folder, *out));
    return w.status;
}

/* What has no device behind it (loopback, bridges, tunnels) is no adapter. A speed that is not known is -1 or nothing.
 */
static dit_status add_ethernet(const char *folder, cJSON *list)
{
    dit_json_writer w = {0};
    char device[SUITE_PATH], text[128];
    cJSON *adapter;
    DIT_TRY(suite_path(device, "%s/device", folder));
    if (access(device, F_OK) != 0) return w.status;
    DIT_TRY(new_adapter(folder, "ethernet", list, &adapter));
    read_fact(folder, "operstate", text);
    if (text[0]) suite_text_put(&w, adapter, "state", text);
    read_fact(folder, "speed", text);
    long speed = strtol(text, NULL, 10);
    if (speed > 0) dit_json_put_int(&w, adapter, "speed_mbit_per_s", speed);
    return w.status;
}

/* "400 Gb/sec (4X NDR)" and "4: ACTIVE" of port 1, which is the only one of what is sold today. */
static dit_status add_infiniband(const char *folder, cJSON *list)
{
    dit_json_writer w = {0};
    char text[128];
    cJSON *adapter;
    DIT_TRY(new_adapter(folder, "infiniband", list, &adapter));
    read_fact(folder, "ports/1/rate", text);
    if (text[0]) suite_text_put(&w, adapter, "rate", text);
    read_fact(folder, "ports/1/state", text);
    const char *colon = strchr(text, ':');
    if (text[0]) suite_text_put(&w, adapter, "state", colon ? colon + 1 + (colon[1] == ' ') : text);
    return w.status;
}

static dit_status add_class(const char *root, const char *name, dit_status (*add)(const char *folder, cJSON *list),
                            cJSON *list)
{
    char pattern[SUITE_PATH];
    glob_t found = {0};
    dit_status st = DIT_OK;
    DIT_TRY(suite_path(pattern, "%s/class/%s/*", root, name));
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; st == DIT_OK && i < found.gl_pathc; i++) st = add(found.gl_pathv[i], list);
    globfree(&found);
    return st;
}

dit_status suite_network_adapters(const char *root, cJSON **out)
{
    if (!root) root = getenv("DITBENCH_SYSFS");
    if (!root) root = "/sys";
    dit_json_writer w = {0};
    cJSON *adapters = dit_json_new_array(&w);
    if (w.status == DIT_OK) dit_json_put_status(&w, add_class(root, "net", add_ethernet, adapters));
    if (w.status == DIT_OK) dit_json_put_status(&w, add_class(root, "infiniband", add_infiniband, adapters));
    return dit_json_finish(&w, adapters, out);
}

dit_status suite_network_variables(cJSON **out)
{
    dit_json_writer w = {0};
    cJSON *variables = dit_json_new_object(&w);
    for (char **variable = environ; *variable; variable++) {
        char name[128];
        size_t length = strcspn(*variable, "=");
        if (strncmp(*variable, "NCCL_", 5) != 0 || length >= sizeof name || !(*variable)[length]) continue;
        snprintf(name, sizeof name, "%.*s", (int)length, *variable);
        suite_text_put(&w, variables, name, *variable + length + 1);
    }
    return dit_json_finish(&w, variables, out);
}
