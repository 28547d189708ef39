#include "suite/catalogue/method.h"

#include <stdio.h>
#include <string.h>

const suite_method suite_methods[] = {
    {"single", false, 0, {0}, 0},
    {"data", false, 1, {DIT_AXIS_DATA}, 0},
    {"cfg", true, 0, {0}, 0},
    {"ulysses", false, 1, {DIT_AXIS_ULYSSES}, 0},
    {"ring", false, 1, {DIT_AXIS_RING}, 0},
    {"usp", false, 2, {DIT_AXIS_ULYSSES, DIT_AXIS_RING}, 0},
    {"pipefusion", false, 1, {DIT_AXIS_PIPEFUSION}, 0},
    {"distrifusion", false, 1, {DIT_AXIS_PATCH}, DIT_PATCH_DISTRIFUSION},
    {"pcpp", false, 1, {DIT_AXIS_PATCH}, DIT_PATCH_PCPP},
    {"naive-patch", false, 1, {DIT_AXIS_PATCH}, DIT_PATCH_NAIVE},
    {"tensor", false, 1, {DIT_AXIS_TENSOR}, 0},
    {"vae-rows", false, 1, {DIT_AXIS_WORLD}, 0},
    {"data+cfg", true, 1, {DIT_AXIS_DATA}, 0},
    {"data+ulysses", false, 2, {DIT_AXIS_ULYSSES, DIT_AXIS_DATA}, 0},
    {"data+ring", false, 2, {DIT_AXIS_RING, DIT_AXIS_DATA}, 0},
    {"data+pipefusion", false, 2, {DIT_AXIS_PIPEFUSION, DIT_AXIS_DATA}, 0},
    {"data+distrifusion", false, 2, {DIT_AXIS_PATCH, DIT_AXIS_DATA}, DIT_PATCH_DISTRIFUSION},
    {"cfg+ulysses", true, 1, {DIT_AXIS_ULYSSES}, 0},
    {"cfg+ring", true, 1, {DIT_AXIS_RING}, 0},
    {"cfg+usp", true, 2, {DIT_AXIS_ULYSSES, DIT_AXIS_RING}, 0},
    {"cfg+pipefusion", true, 1, {DIT_AXIS_PIPEFUSION}, 0},
    {"cfg+distrifusion", true, 1, {DIT_AXIS_PATCH}, DIT_PATCH_DISTRIFUSION},
    {"cfg+pcpp", true, 1, {DIT_AXIS_PATCH}, DIT_PATCH_PCPP},
    {"cfg+tensor", true, 1, {DIT_AXIS_TENSOR}, 0},
    {"data+tensor", false, 2, {DIT_AXIS_TENSOR, DIT_AXIS_DATA}, 0},
    {"ulysses+tensor", false, 2, {DIT_AXIS_ULYSSES, DIT_AXIS_TENSOR}, 0},
    {"ring+tensor", false, 2, {DIT_AXIS_RING, DIT_AXIS_TENSOR}, 0},
    {"distrifusion+tensor", false, 2, {DIT_AXIS_PATCH, DIT_AXIS_TENSOR}, DIT_PATCH_DISTRIFUSION},
    {"pipefusion+ulysses", false, 2, {DIT_AXIS_PIPEFUSION, DIT_AXIS_ULYSSES}, 0},
    {"pipefusion+ring", false, 2, {DIT_AXIS_PIPEFUSION, DIT_AXIS_RING}, 0},
    {"pipefusion+tensor", false, 2, {DIT_AXIS_PIPEFUSION, DIT_AXIS_TENSOR}, 0},
    {"pipefusion+usp", false, 3, {DIT_AXIS_PIPEFUSION, DIT_AXIS_ULYSSES, DIT_AXIS_RING}, 0},
    {"cfg+pipefusion+ulysses", true, 2, {DIT_AXIS_PIPEFUSION, DIT_AXIS_ULYSSES}, 0},
    {"cfg+pipefusion+ring", true, 2, {DIT_AXIS_PIPEFUSION, DIT_AXIS_RING}, 0},
    {"cfg+pipefusion+tensor", true, 2, {DIT_AXIS_PIPEFUSION, DIT_AXIS_TENSOR}, 0},
    {NULL, false, 0, {0}, 0},
};
enum { METHOD_COUNT = sizeof suite_methods / sizeof *suite_methods - 1 };

const char *const *suite_method_names(void)
{
    static const char *names[METHOD_COUNT + 1];
    for (int i = 0; i < METHOD_COUNT; i++) names[i] = suite_methods[i].name;
    return names;
}

static const char search_word[] = "hybrid";

const char *const *suite_method_words(void)
{
    static const char *words[METHOD_COUNT + 2];
    for (int i = 0; i < METHOD_COUNT; i++) words[i] = suite_methods[i].name;
    words[METHOD_COUNT] = search_word;
    return words;
}

bool suite_method_is_search(const char *word)
{
    return strcmp(word, search_word) == 0;
}

/* Counts the ways to write `rest` as a product over the axes from `at` on; the one numbered *wanted is left in
 * `degree`, and *wanted falls with every one passed. */
static int deal_meshes(int at, int rest, int degree[DIT_AXIS_COUNT], int *wanted)
{
    static const dit_axis axes[] = {DIT_AXIS_CFG, DIT_AXIS_PIPEFUSION, DIT_AXIS_RING, DIT_AXIS_ULYSSES};
    enum { LAST = sizeof axes / sizeof *axes - 1 };
    int count = 0;
    if (at == LAST) {
        if (*wanted >= 0) degree[axes[at]] = rest;
        return (*wanted)--, 1;
    }
    for (int factor = 1; factor <= rest; factor++) {
        if (rest % factor || (axes[at] == DIT_AXIS_CFG && factor > 2)) continue;
        if (*wanted >= 0) degree[axes[at]] = factor;
        count += deal_meshes(at + 1, rest / factor, degree, wanted);
    }
    return count;
}

int suite_method_mesh_count(int world_size)
{
    int none = -1, degree[DIT_AXIS_COUNT];
    return deal_meshes(0, world_size, degree, &none);
}

void suite_method_mesh(int world_size, int index, dit_parallel *out)
{
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) out->degree[axis] = 1;
    deal_meshes(0, world_size, out->degree, &index);
}

bool suite_method_is_exact(const suite_method *method)
{
    for (int i = 0; i < method->axis_count; i++)
        if (method->axes[i] == DIT_AXIS_PIPEFUSION || method->axes[i] == DIT_AXIS_PATCH) return false;
    return true;
}

int suite_method_least_ranks(const suite_method *method)
{
    return 1 << (method->axis_count + method->cfg);
}

static const suite_method *row_of(const char *method)
{
    for (const suite_method *row = suite_methods; row->name; row++)
        if (strcmp(method, row->name) == 0) return row;
    return NULL;
}

/* The largest of `count` factors above 1 of n, falling and as even as they go; 0 when n has no such factors. */
static int largest_factor(int n, int count)
{
    for (int d = 2; d <= n; d++) {
        int next = n % d ? 0 : count > 1 ? largest_factor(n / d, count - 1) : d == n;
        if (next && next <= d) return d;
    }
    return 0;
}

static dit_status no_such_mesh(const suite_method *row, int world_size)
{
    if (!row->cfg && row->axis_count == 0)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "method %s runs on one rank, world_size is %d", row->name,
                        world_size);
    if (row->cfg && row->axis_count == 0)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "method cfg splits two guidance branches, world_size is %d",
                        world_size);
    return DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "method %s needs %d factors above 1%s, world_size %d has none such",
                    row->name, row->axis_count + row->cfg, row->cfg ? " (one of them 2)" : "", world_size);
}

static void set_degree(dit_parallel *parallel, const suite_method *row, dit_axis axis, int degree)
{
    if (axis == DIT_AXIS_WORLD)
        parallel->rows_degree = degree;
    else
        parallel->degree[axis] = degree;
    if (axis == DIT_AXIS_PATCH) parallel->patch_method = row->patch_method;
}

dit_status suite_method_resolve(const char *method, int world_size, dit_parallel *out)
{
    const suite_method *row = row_of(method);
    int rest = world_size;
    if (!row) return DIT_FAIL(DIT_ERR_NOT_FOUND, "there is no method \"%s\"", method);
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) out->degree[axis] = 1;
    if (world_size == 1) return DIT_OK;
    if (row->cfg) {
        if (rest % 2) return no_such_mesh(row, world_size);
        out->degree[DIT_AXIS_CFG] = 2;
        rest /= 2;
    }
    for (int i = 0; i < row->axis_count; i++) {
        int degree = largest_factor(rest, row->axis_count - i);
        if (!degree) return no_such_mesh(row, world_size);
        set_degree(out, row, row->axes[i], degree);
        rest /= degree;
    }
    return rest == 1 ? DIT_OK : no_such_mesh(row, world_size);
}

static void append(char out[64], const char *name)
{
    size_t used = strlen(out);
    snprintf(out + used, 64 - used, "%s%s", used ? "+" : "", name);
}

static const char *sequence_name(const dit_parallel *parallel)
{
    bool ulysses = parallel->degree[DIT_AXIS_ULYSSES] > 1, ring = parallel->degree[DIT_AXIS_RING] > 1;
    if (ulysses && ring) return "usp";
    return ulysses ? "ulysses" : ring ? "ring" : "local";
}

void suite_method_name(const dit_parallel *parallel, char out[64])
{
    const int *degree = parallel->degree;
    out[0] = '\0';
    if (degree[DIT_AXIS_DATA] > 1) append(out, "data");
    if (degree[DIT_AXIS_CFG] > 1) append(out, "cfg");
    if (degree[DIT_AXIS_PIPEFUSION] > 1) append(out, "pipefusion");
    if (degree[DIT_AXIS_PATCH] > 1) append(out, dit_patch_method_name(parallel->patch_method));
    if (degree[DIT_AXIS_ULYSSES] > 1 || degree[DIT_AXIS_RING] > 1) append(out, sequence_name(parallel));
    if (degree[DIT_AXIS_TENSOR] > 1) append(out, "tensor");
    if (parallel->rows_degree > 1) append(out, "vae-rows");
    if (!out[0]) append(out, "single");
}

const char *suite_attention_name(const dit_parallel *parallel)
{
    if (parallel->degree[DIT_AXIS_PATCH] > 1) return dit_patch_method_name(parallel->patch_method);
    return sequence_name(parallel);
}
