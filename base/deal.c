#include "base/deal.h"

/* ---- by a method's name ------------------------------------------------------------------------------------------ */

/* The largest of `count` factors above 1 of n, falling and as even as they go; 0 when n has no such factors. */
static int largest_factor(int n, int count)
{
    for (int d = 2; d <= n; d++) {
        int next = n % d ? 0 : count > 1 ? largest_factor(n / d, count - 1) : d == n;
        if (next && next <= d) return d;
    }
    return 0;
}

static bool is_bounded(dit_axis axis)
{
    return dit_axis_get(axis)->greatest < DIT_MAX_DEGREE;
}

static dit_status no_such_mesh(const dit_method *method, int factors, int world_size)
{
    bool cfg = method->axes[DIT_AXIS_CFG];
    if (factors == 0 && !cfg)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "method %s runs on one rank, world_size is %d", method->name,
                        world_size);
    if (factors == 0)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "method cfg splits two guidance branches, world_size is %d",
                        world_size);
    return DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "method %s needs %d factors above 1%s, world_size %d has none such",
                    method->name, factors + cfg, cfg ? " (one of them 2)" : "", world_size);
}

static void set_degree(dit_parallel *parallel, const dit_method *method, dit_axis axis, int degree)
{
    if (axis == DIT_AXIS_WORLD)
        parallel->rows_degree = degree;
    else
        parallel->degree[axis] = degree;
    if (axis == DIT_AXIS_PATCH) parallel->patch_method = method->patch_method;
    if (axis == DIT_AXIS_RING) parallel->ring_method = method->ring_method;
    if (axis == DIT_AXIS_PIPEFUSION) parallel->stage_method = method->stage_method;
}

/* How many factors above 1 an axis takes: a double ring has two rings of two ranks, or more. */
static int count_factors(const dit_method *method, dit_axis axis)
{
    if (!method->axes[axis] || is_bounded(axis)) return 0;
    return axis == DIT_AXIS_RING && method->ring_method == DIT_RING_DOUBLE ? 2 : 1;
}

static int count_all_factors(const dit_method *method)
{
    int count = 0;
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++) count += count_factors(method, (dit_axis)axis);
    return count;
}

/* Takes an axis's degree from *rest, whose *left factors above 1 are still to be dealt; 0 when it has none such. */
static int take_degree(const dit_method *method, dit_axis axis, int *rest, int *left)
{
    int degree = is_bounded(axis) ? dit_axis_get(axis)->greatest : 1;
    for (int i = 0; i < count_factors(method, axis) && degree; i++) degree *= largest_factor(*rest / degree, (*left)--);
    if (!degree || *rest % degree) return 0;
    *rest /= degree;
    return degree;
}

static dit_status deal_axes(const dit_method *method, int world_size, dit_parallel *out)
{
    int rest = world_size, factors = count_all_factors(method), left = factors;
    for (int place = 0; place < DIT_GROUP_COUNT; place++) {
        dit_axis axis = dit_axis_at_deal(place);
        if (!method->axes[axis]) continue;
        int degree = take_degree(method, axis, &rest, &left);
        if (!degree) return no_such_mesh(method, factors, world_size);
        set_degree(out, method, axis, degree);
    }
    return rest == 1 ? DIT_OK : no_such_mesh(method, factors, world_size);
}

dit_status dit_deal_method(const char *name, int world_size, dit_parallel *out)
{
    dit_method method;
    DIT_TRY(dit_method_from_name(name, &method));
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) out->degree[axis] = 1;
    return world_size == 1 ? DIT_OK : deal_axes(&method, world_size, out);
}

/* ---- every mesh -------------------------------------------------------------------------------------------------- */

typedef struct {
    const dit_axis *axes;
    int count;
    dit_deal_visit visit;
    void *context;
    int degree[DIT_AXIS_COUNT];
} dealing;

static dit_status deal_rest(dealing *d, int at, int rest)
{
    int greatest = dit_axis_get(d->axes[at])->greatest;
    if (at == d->count - 1) {
        d->degree[d->axes[at]] = rest;
        return rest <= greatest ? d->visit(d->context, d->degree) : DIT_OK;
    }
    for (int factor = 1; factor <= rest && factor <= greatest; factor++) {
        if (rest % factor) continue;
        d->degree[d->axes[at]] = factor;
        DIT_TRY(deal_rest(d, at + 1, rest / factor));
    }
    return DIT_OK;
}

dit_status dit_deal_each(const dit_axis *axes, int count, int world_size, dit_deal_visit visit, void *context)
{
    dealing d = {.axes = axes, .count = count, .visit = visit, .context = context};
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) d.degree[axis] = 1;
    return deal_rest(&d, 0, world_size);
}
