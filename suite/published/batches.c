#include "suite/published/batches.h"

#include "suite/published/published.h"

#include <string.h>

/* Whether the point's model is the one that is asked for, variants left out. */
static bool is_of(const suite_published_names *names, const suite_published_point *point, const char *model)
{
    const char *why, *name = suite_published_model(names, point->model, &why);
    size_t length = strcspn(model, "~");
    return name && strncmp(name, model, length) == 0 && !name[length];
}

static int largest(const suite_published *published, const suite_published_names *names, const char *model)
{
    int most = 1;
    for (int i = 0; i < published->count; i++) {
        const suite_published_point *point = &published->points[i];
        bool timed = strcmp(point->metric, "latency") == 0 && point->has_value && suite_published_counts(point);
        if (timed && point->batch > most && point->batch < 1 << 20 && is_of(names, point, model))
            most = (int)point->batch;
    }
    return most;
}

dit_status suite_published_batch(const char *model, int *most)
{
    char folder[SUITE_PATH], path[SUITE_PATH];
    suite_published published = {.count = 0};
    suite_published_names names;
    DIT_TRY(suite_published_folder(folder));
    DIT_TRY(suite_path(path, "%s/mlenergy.json", folder));
    DIT_TRY(suite_published_names_load(NULL, &names));
    dit_status st = suite_published_read(path, &published);
    if (st == DIT_OK) *most = largest(&published, &names, model);
    suite_published_release(&published);
    suite_published_names_release(&names);
    return st;
}
