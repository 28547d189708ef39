#include "suite/method.h"

#include <stdio.h>
#include <string.h>

/* `cfg` takes a factor of 2 first. One axis gets all the rest; two share it, the first the larger factor. */
typedef struct {
    const char *name;
    bool cfg;
    int axis_count;
    dit_axis axes[2];
} method_row;

static const method_row rows[] = {
    {"single", false, 0, {0}},
    {"data", false, 1, {DIT_AXIS_DATA}},
    {"cfg", true, 0, {0}},
    {"ulysses", false, 1, {DIT_AXIS_ULYSSES}},
    {"ring", false, 1, {DIT_AXIS_RING}},
    {"usp", false, 2, {DIT_AXIS_ULYSSES, DIT_AXIS_RING}},
    {"pipefusion", false, 1, {DIT_AXIS_PIPEFUSION}},
    {"tensor", false, 1, {DIT_AXIS_TENSOR}},
    {"vae-rows", false, 1, {DIT_AXIS_WORLD}},
    {"data+cfg", true, 1, {DIT_AXIS_DATA}},
    {"data+ulysses", false, 2, {DIT_AXIS_ULYSSES, DIT_AXIS_DATA}},
    {"data+ring", false, 2, {DIT_AXIS_RING, DIT_AXIS_DATA}},
    {"cfg+ulysses", true, 1, {DIT_AXIS_ULYSSES}},
    {"cfg+ring", true, 1, {DIT_AXIS_RING}},
    {"cfg+usp", true, 2, {DIT_AXIS_ULYSSES, DIT_AXIS_RING}},
    {"cfg+pipefusion", true, 1, {DIT_AXIS_PIPEFUSION}},
    {"cfg+tensor", true, 1, {DIT_AXIS_TENSOR}},
    {"data+tensor", false, 2, {DIT_AXIS_TENSOR, DIT_AXIS_DATA}},
    {"ulysses+tensor", false, 2, {DIT_AXIS_ULYSSES, DIT_AXIS_TENSOR}},
    {"ring+tensor", false, 2, {DIT_AXIS_RING, DIT_AXIS_TENSOR}},
    {"pipefusion+ulysses", false, 2, {DIT_AXIS_PIPEFUSION, DIT_AXIS_ULYSSES}},
    {"pipefusion+ring", false, 2, {DIT_AXIS_PIPEFUSION, DIT_AXIS_RING}},
};
enum { METHOD_COUNT = sizeof rows / sizeof *rows };

const char *const *suite_method_names(void)
{
    static const char *names[METHOD_COUNT + 1];
    for (int i = 0; i < METHOD_COUNT; i++) names[i] = rows[i].name;
    return names;
}

static const method_row *row_of(const char *method)
{
    for (int i = 0; i < METHOD_COUNT; i++)
        if (strcmp(method, rows[i].name) == 0) return &rows[i];
    return NULL;
}

/* The smallest divisor d >= n/d with both factors above 1; 0 when n is prime or below 4. */
static int larger_factor(int n)
{
    for (int d = 2; d < n; d++)
        if (n % d == 0 && d >= n / d) return d;
    return 0;
}

static dit_status no_such_mesh(const method_row *row, int world_size)
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

static void set_degree(dit_parallel *parallel, dit_axis axis, int degree)
{
    if (axis == DIT_AXIS_WORLD)
        parallel->rows_degree = degree;
    else
        parallel->degree[axis] = degree;
}

dit_status suite_method_resolve(const char *method, int world_size, dit_parallel *out)
{
    const method_row *row = row_of(method);
    int rest = world_size;
    if (!row) return DIT_FAIL(DIT_ERR_NOT_FOUND, "there is no method \"%s\"", method);
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) out->degree[axis] = 1;
    if (world_size == 1) return DIT_OK;
    if (row->cfg) {
        if (rest % 2) return no_such_mesh(row, world_size);
        out->degree[DIT_AXIS_CFG] = 2;
        rest /= 2;
    }
    int first = row->axis_count == 2 ? larger_factor(rest) : rest;
    if (row->axis_count == 0 ? rest != 1 : first < 2) return no_such_mesh(row, world_size);
    if (row->axis_count >= 1) set_degree(out, row->axes[0], first);
    if (row->axis_count == 2) set_degree(out, row->axes[1], rest / first);
    return DIT_OK;
}

static void append(char out[64], const char *name)
{
    size_t used = strlen(out);
    snprintf(out + used, 64 - used, "%s%s", used ? "+" : "", name);
}

void suite_method_name(const dit_parallel *parallel, char out[64])
{
    const int *degree = parallel->degree;
    out[0] = '\0';
    if (degree[DIT_AXIS_DATA] > 1) append(out, "data");
    if (degree[DIT_AXIS_CFG] > 1) append(out, "cfg");
    if (degree[DIT_AXIS_PIPEFUSION] > 1) append(out, "pipefusion");
    if (degree[DIT_AXIS_ULYSSES] > 1 || degree[DIT_AXIS_RING] > 1) append(out, suite_attention_name(parallel));
    if (degree[DIT_AXIS_TENSOR] > 1) append(out, "tensor");
    if (parallel->rows_degree > 1) append(out, "vae-rows");
    if (!out[0]) append(out, "single");
}

const char *suite_attention_name(const dit_parallel *parallel)
{
    bool ulysses = parallel->degree[DIT_AXIS_ULYSSES] > 1, ring = parallel->degree[DIT_AXIS_RING] > 1;
    if (ulysses && ring) return "usp";
    return ulysses ? "ulysses" : ring ? "ring" : "local";
}
