#include "base/method.h"

#include "base/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const dit_method_row rows[] = {
    {.name = "single", .chart_place = 1, .colour = "GREY"},
    {.name = "data", .axis_count = 1, .axes = {DIT_AXIS_DATA}, .chart_place = 2, .colour = "SKY"},
    {.name = "cfg", .axis_count = 1, .axes = {DIT_AXIS_CFG}, .chart_place = 3, .colour = "PURPLE"},
    {.name = "ulysses", .axis_count = 1, .axes = {DIT_AXIS_ULYSSES}, .chart_place = 5, .colour = "BLUE"},
    {.name = "ring", .axis_count = 1, .axes = {DIT_AXIS_RING}, .chart_place = 6, .colour = "ORANGE"},
    {.name = "usp", .axis_count = 2, .axes = {DIT_AXIS_ULYSSES, DIT_AXIS_RING}, .chart_place = 7, .colour = "GREEN"},
    {.name = "pipefusion", .axis_count = 1, .axes = {DIT_AXIS_PIPEFUSION}, .chart_place = 8, .colour = "VERMILLION"},
    {.name = "dualparal", .axis_count = 1, .axes = {DIT_AXIS_PIPEFUSION}, .stage_method = DIT_STAGE_DUALPARAL},
    {.name = "tpp", .axis_count = 1, .axes = {DIT_AXIS_PIPEFUSION}, .stage_method = DIT_STAGE_TPP},
    {.name = "distrifusion", .axis_count = 1, .axes = {DIT_AXIS_PATCH}, .patch_method = DIT_PATCH_DISTRIFUSION,
     .chart_place = 9, .colour = "WINE"},
    {.name = "pcpp", .axis_count = 1, .axes = {DIT_AXIS_PATCH}, .patch_method = DIT_PATCH_PCPP, .colour = "TEAL"},
    {.name = "naive-patch", .axis_count = 1, .axes = {DIT_AXIS_PATCH}, .patch_method = DIT_PATCH_NAIVE,
     .colour = "OLIVE"},
    {.name = "video-infinity", .axis_count = 1, .axes = {DIT_AXIS_PATCH}, .patch_method = DIT_PATCH_FRAMES},
    {.name = "tensor", .axis_count = 1, .axes = {DIT_AXIS_TENSOR}, .chart_place = 4, .colour = "BROWN"},
    {.name = "all-gather", .axis_count = 1, .axes = {DIT_AXIS_RING}, .ring_method = DIT_RING_GATHER},
    {.name = "double-ring", .axis_count = 1, .axes = {DIT_AXIS_RING}, .ring_method = DIT_RING_DOUBLE},
    {.name = "dsp", .axis_count = 1, .axes = {DIT_AXIS_RING}, .ring_method = DIT_RING_SWITCH},
    {.name = "vae-rows", .axis_count = 1, .axes = {DIT_AXIS_WORLD}},
};
/* clang-format on */
enum { ROWS = sizeof rows / sizeof *rows };

const dit_method_row *dit_method_get(int index)
{
    return index >= 0 && index < ROWS ? &rows[index] : NULL;
}

const dit_method_row *dit_method_row_find(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(name, rows[i].name) == 0) return &rows[i];
    return NULL;
}

/* ---- patch methods ----------------------------------------------------------------------------------------------- */

static bool is_patch_method(const dit_method_row *row)
{
    return row->axis_count == 1 && row->axes[0] == DIT_AXIS_PATCH;
}

const char *dit_patch_method_name(dit_patch_method method)
{
    for (int i = 0; i < ROWS; i++)
        if (is_patch_method(&rows[i]) && rows[i].patch_method == method) return rows[i].name;
    return "";
}

bool dit_patch_method_from_name(const char *name, dit_patch_method *out)
{
    const dit_method_row *row = dit_method_row_find(name);
    if (!row || !is_patch_method(row)) return false;
    *out = row->patch_method;
    return true;
}

const char *const *dit_patch_method_names(void)
{
    static const char *names[DIT_PATCH_METHOD_COUNT + 1];
    for (int i = 0; i < DIT_PATCH_METHOD_COUNT; i++) names[i] = dit_patch_method_name((dit_patch_method)i);
    return names;
}

/* ---- stage methods ----------------------------------------------------------------------------------------------- */

static bool is_stage_method(const dit_method_row *row)
{
    return row->axis_count == 1 && row->axes[0] == DIT_AXIS_PIPEFUSION;
}

const char *dit_stage_method_name(dit_stage_method method)
{
    for (int i = 0; i < ROWS; i++)
        if (is_stage_method(&rows[i]) && rows[i].stage_method == method) return rows[i].name;
    return "";
}

bool dit_stage_method_from_name(const char *name, dit_stage_method *out)
{
    const dit_method_row *row = dit_method_row_find(name);
    if (!row || !is_stage_method(row)) return false;
    *out = row->stage_method;
    return true;
}

const char *const *dit_stage_method_names(void)
{
    static const char *names[DIT_STAGE_METHOD_COUNT + 1];
    for (int i = 0; i < DIT_STAGE_METHOD_COUNT; i++) names[i] = dit_stage_method_name((dit_stage_method)i);
    return names;
}

/* ---- ring methods ------------------------------------------------------------------------------------------------ */

static const char *const ring_method_names[DIT_RING_METHOD_COUNT + 1] = {
    [DIT_RING_MERGE] = "ring",
    [DIT_RING_GATHER] = "all-gather",
    [DIT_RING_DOUBLE] = "double-ring",
    [DIT_RING_SWITCH] = "dsp",
    [DIT_RING_WHOLE_ROWS] = "ring-self-attention",
    [DIT_RING_QUERIES] = "token-ring",
    [DIT_RING_HELPED] = "lightseq",
};

const char *dit_ring_method_name(dit_ring_method method)
{
    return ring_method_names[method];
}

bool dit_ring_method_from_name(const char *name, dit_ring_method *out)
{
    int index = dit_words_find(ring_method_names, name);
    if (index >= 0) *out = (dit_ring_method)index;
    return index >= 0;
}

const char *const *dit_ring_method_names_of_models(void)
{
    static const char *names[DIT_RING_OF_MODELS + 1];
    for (int i = 0; i < DIT_RING_OF_MODELS; i++) names[i] = ring_method_names[i];
    return names;
}

/* ---- several together -------------------------------------------------------------------------------------------- */

static bool has_axis(const dit_method_row *row, dit_axis axis)
{
    for (int i = 0; i < row->axis_count; i++)
        if (row->axes[i] == axis) return true;
    return false;
}

/* Whether all axes of a row are among those of `method`, and with them `axis`, and it works along them as `method`. */
static bool covers(const dit_method_row *row, const dit_method *method, dit_axis axis)
{
    for (int i = 0; i < row->axis_count; i++)
        if (!method->axes[row->axes[i]]) return false;
    if (has_axis(row, DIT_AXIS_PATCH) && row->patch_method != method->patch_method) return false;
    if (has_axis(row, DIT_AXIS_RING) && row->ring_method != method->ring_method) return false;
    if (has_axis(row, DIT_AXIS_PIPEFUSION) && row->stage_method != method->stage_method) return false;
    return has_axis(row, axis);
}

/* The row of most axes that has `axis` and is a part of `method`; NULL when there is none. */
static const dit_method_row *row_of_axis(const dit_method *method, dit_axis axis)
{
    const dit_method_row *best = NULL;
    for (int i = 0; i < ROWS; i++) {
        if (!covers(&rows[i], method, axis)) continue;
        if (!best || rows[i].axis_count > best->axis_count) best = &rows[i];
    }
    return best;
}

void dit_method_name(const bool axes[DIT_GROUP_COUNT], dit_patch_method patch_method, dit_ring_method ring_method,
                     dit_stage_method stage_method, char out[DIT_METHOD_NAME])
{
    dit_method left = {.patch_method = patch_method, .ring_method = ring_method, .stage_method = stage_method};
    size_t used = 0;
    memcpy(left.axes, axes, sizeof left.axes);
    for (int i = 1; i <= DIT_AXIS_COUNT + 1; i++) { /* the world's last, behind the fastest */
        dit_axis axis = i > DIT_AXIS_COUNT ? DIT_AXIS_WORLD : (dit_axis)(DIT_AXIS_COUNT - i);
        const dit_method_row *row = left.axes[axis] ? row_of_axis(&left, axis) : NULL;
        if (!row || used >= DIT_METHOD_NAME) continue;
        for (int k = 0; k < row->axis_count; k++) left.axes[row->axes[k]] = false;
        used += (size_t)snprintf(out + used, DIT_METHOD_NAME - used, "%s%s", used ? "+" : "", row->name);
    }
    if (!used) snprintf(out, DIT_METHOD_NAME, "single");
}

static dit_status fail_unknown(const char *name, const char *part)
{
    const char *names[ROWS + 1] = {NULL};
    for (int i = 0; i < ROWS; i++) names[i] = rows[i].name;
    if (strcmp(name, part) == 0) return dit_fail_word(DIT_ERR_NOT_FOUND, "method", name, names);
    return dit_words_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "\"%s\" of method \"%s\" is no method", part, name), part, names);
}

/* Adds one part of a name: its row's axes. */
static dit_status add_part(const char *name, const char *part, dit_method *out)
{
    const dit_method_row *row = dit_method_row_find(part);
    if (!row) return fail_unknown(name, part);
    for (int i = 0; i < row->axis_count; i++) {
        if (out->axes[row->axes[i]])
            return DIT_FAIL(DIT_ERR_NOT_FOUND, "method \"%s\" divides over %s twice", name,
                            dit_axis_name(row->axes[i]));
        out->axes[row->axes[i]] = true;
        if (row->axes[i] == DIT_AXIS_PATCH) out->patch_method = row->patch_method;
        if (row->axes[i] == DIT_AXIS_RING) out->ring_method = row->ring_method;
        if (row->axes[i] == DIT_AXIS_PIPEFUSION) out->stage_method = row->stage_method;
    }
    return DIT_OK;
}

dit_status dit_method_from_name(const char *name, dit_method *out)
{
    char parts[256], *rest = NULL, canonical[DIT_METHOD_NAME];
    *out = (dit_method){0};
    snprintf(parts, sizeof parts, "%s", name);
    for (char *part = strtok_r(parts, "+", &rest); part; part = strtok_r(NULL, "+", &rest))
        DIT_TRY(add_part(name, part, out));
    dit_method_name(out->axes, out->patch_method, out->ring_method, out->stage_method, canonical);
    if (strcmp(name, canonical) != 0)
        return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "there is no method \"%s\"", name), "did you mean \"%s\"?",
                              canonical);
    if (out->axes[DIT_AXIS_WORLD] && strchr(name, '+'))
        return DIT_FAIL(DIT_ERR_NOT_FOUND, "method \"%s\" shares a decode, which no other method goes with", name);
    snprintf(out->name, sizeof out->name, "%s", name);
    return DIT_OK;
}

bool dit_method_is_exact(const dit_method *method)
{
    return !method->axes[DIT_AXIS_PIPEFUSION] && !method->axes[DIT_AXIS_PATCH];
}

int dit_method_least_ranks(const dit_method *method)
{
    int ranks = 1;
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++)
        if (method->axes[axis]) ranks *= axis == DIT_AXIS_RING && method->ring_method == DIT_RING_DOUBLE ? 4 : 2;
    return ranks;
}

/* In fp32 sums are added in other orders, over all steps of a run. In 16 bits partial results of rings, sums of tensor
 * ranks and operators of other shapes are rounded by 2^-9, in every block of every step. Guidance takes (1 - g) of one
 * forward and g of the other, whose roundings are independent. */
double dit_method_tolerance(dit_dtype dtype, double guidance)
{
    static const double rounded = 1e-2;
    if (dtype == DIT_DTYPE_FP32) return DIT_METHOD_EXACT_REL_L2;
    return rounded * sqrt((1 - guidance) * (1 - guidance) + guidance * guidance);
}
