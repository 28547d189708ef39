#include "suite/catalogue/engine.h"

#include <stddef.h>
#include <string.h>

static const suite_engine rows[] = {
    {.name = "ditbench", .most_ranks = 1 << 16},
    {.name = "diffusers",
     .adapter = "diffusers_engine.py",
     .variable = "DITBENCH_ENGINE_DIFFUSERS",
     .command = "ci/deps.sh peers",
     .folder = "peers",
     .folder_variable = "DITBENCH_PEERS",
     .most_ranks = 1},
    {.name = "xdit",
     .adapter = "xdit_engine.py",
     .variable = "DITBENCH_ENGINE_XDIT",
     .command = "ci/deps.sh xdit",
     .folder = "xdit",
     .folder_variable = "DITBENCH_XDIT",
     .on_devices = true,
     .most_ranks = 64},
};
enum { COUNT = sizeof rows / sizeof *rows };

const suite_engine *suite_engine_find(const char *name)
{
    for (int i = 0; i < COUNT && name; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return name ? NULL : &rows[0];
}

bool suite_engine_is_external(const suite_engine *engine)
{
    return engine->adapter != NULL;
}

const char *const *suite_engine_names(void)
{
    static const char *names[COUNT + 1];
    for (int i = 0; i < COUNT; i++) names[i] = rows[i].name;
    return names;
}
