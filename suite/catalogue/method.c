#include "suite/catalogue/method.h"

#include "base/deal.h"
#include "base/method.h"

#include <string.h>

static const char search_word[] = "hybrid";

static const char *const products[] = {
    "data+cfg",
    "data+ulysses",
    "data+ring",
    "data+pipefusion",
    "data+distrifusion",
    "cfg+ulysses",
    "cfg+ring",
    "cfg+usp",
    "cfg+pipefusion",
    "cfg+distrifusion",
    "cfg+pcpp",
    "cfg+tensor",
    "data+tensor",
    "ulysses+tensor",
    "ring+tensor",
    "distrifusion+tensor",
    "pipefusion+ulysses",
    "pipefusion+ring",
    "pipefusion+tensor",
    "pipefusion+usp",
    "all-gather+ulysses",
    "double-ring+ulysses",
    "dsp+ulysses",
    "pipefusion+all-gather",
    "pipefusion+double-ring",
    "cfg+pipefusion+ulysses",
    "cfg+pipefusion+ring",
    "cfg+pipefusion+tensor",
};
enum { PRODUCTS = sizeof products / sizeof *products, MOST_NAMES = 128 };

const char *const *suite_method_names(void)
{
    static const char *names[MOST_NAMES];
    int count = 0;
    for (; dit_method_get(count) && count + PRODUCTS + 1 < MOST_NAMES; count++)
        names[count] = dit_method_get(count)->name;
    memcpy(names + count, products, sizeof products);
    return names;
}

dit_status suite_method_check(const char *word)
{
    dit_method method;
    return suite_method_is_search(word) ? DIT_OK : dit_method_from_name(word, &method);
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

bool suite_method_is_search(const char *word)
{
    return strcmp(word, search_word) == 0;
}

/* The axes that a search varies, from the slowest. */
static int searched_axes(dit_axis out[DIT_AXIS_COUNT])
{
    int count = 0;
    for (int axis = DIT_AXIS_COUNT - 1; axis >= 0; axis--)
        if (dit_axis_get((dit_axis)axis)->searched) out[count++] = (dit_axis)axis;
    return count;
}

/* Counts meshes; keeps the one numbered `wanted`. */
typedef struct {
    int count, wanted;
    dit_parallel *out;
} mesh_search;

static dit_status visit(void *context, const int degree[DIT_AXIS_COUNT])
{
    mesh_search *search = context;
    if (search->count++ == search->wanted) memcpy(search->out->degree, degree, sizeof search->out->degree);
    return DIT_OK;
}

static void search_meshes(int world_size, mesh_search *search)
{
    dit_axis axes[DIT_AXIS_COUNT];
    int count = searched_axes(axes);
    dit_deal_each(axes, count, world_size, visit, search);
}

int suite_method_mesh_count(int world_size)
{
    mesh_search search = {.wanted = -1};
    search_meshes(world_size, &search);
    return search.count;
}

void suite_method_mesh(int world_size, int index, dit_parallel *out)
{
    mesh_search search = {.wanted = index, .out = out};
    search_meshes(world_size, &search);
}
