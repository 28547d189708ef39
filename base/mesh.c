#include "base/mesh.h"

#include <string.h>

static const struct {
    const char *name, *key;
} axis_rows[DIT_GROUP_COUNT] = {
    [DIT_AXIS_TENSOR] = {"tensor", "tensor_degree"}, [DIT_AXIS_ULYSSES] = {"ulysses", "ulysses_degree"},
    [DIT_AXIS_RING] = {"ring", "ring_degree"},       [DIT_AXIS_PIPEFUSION] = {"pipefusion", "pipefusion_degree"},
    [DIT_AXIS_CFG] = {"cfg", "cfg_degree"},          [DIT_AXIS_DATA] = {"data", "data_degree"},
    [DIT_AXIS_WORLD] = {"world", "rows_degree"},
};
static const char *const joint_text_names[DIT_JOINT_TEXT_COUNT] = {"auto", "split", "replicate"};
enum { MAX_DEGREE = 65536 };

const char *dit_axis_name(dit_axis axis)
{
    return axis_rows[axis].name;
}
const char *dit_axis_key(dit_axis axis)
{
    return axis_rows[axis].key;
}
const char *dit_joint_text_name(dit_joint_text layout)
{
    return joint_text_names[layout];
}

bool dit_joint_text_from_name(const char *name, dit_joint_text *out)
{
    for (int i = 0; i < DIT_JOINT_TEXT_COUNT; i++) {
        if (strcmp(name, joint_text_names[i]) == 0) {
            *out = (dit_joint_text)i;
            return true;
        }
    }
    return false;
}

static int degree_of(const dit_parallel *parallel, int axis)
{
    return parallel->degree[axis] > 0 ? parallel->degree[axis] : 1;
}

int dit_parallel_world_size(const dit_parallel *parallel)
{
    int64_t size = 1;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        size *= degree_of(parallel, axis);
        if (size > INT32_MAX) return INT32_MAX; /* refused by dit_parallel_check */
    }
    return size > parallel->rows_degree ? (int)size : parallel->rows_degree;
}

int dit_parallel_sequence_degree(const dit_parallel *parallel)
{
    return degree_of(parallel, DIT_AXIS_RING) * degree_of(parallel, DIT_AXIS_ULYSSES);
}

void dit_parallel_label(const dit_parallel *parallel, char out[64])
{
    static const struct {
        dit_axis axis;
        const char *prefix;
    } order[] = {{DIT_AXIS_ULYSSES, "u"}, {DIT_AXIS_RING, "r"},  {DIT_AXIS_PIPEFUSION, "pp"},
                 {DIT_AXIS_TENSOR, "tp"}, {DIT_AXIS_CFG, "cfg"}, {DIT_AXIS_DATA, "dp"}};
    int used = 0;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        int degree = degree_of(parallel, order[i].axis);
        if (degree > 1 && used < 50)
            used += snprintf(out + used, 64 - (size_t)used, "%s%s%d", used ? " " : "", order[i].prefix, degree);
    }
    if (parallel->rows_degree > 1 && used < 50)
        used += snprintf(out + used, 64 - (size_t)used, "%srows%d", used ? " " : "", parallel->rows_degree);
    if (!used) snprintf(out, 64, "1");
}

dit_status dit_parallel_from_json(const dit_json *doc, const cJSON *object, const char *pointer, dit_parallel *out)
{
    const char *keys[DIT_GROUP_COUNT + 2] = {0};
    int64_t rows_degree = 1;
    const char *joint_text = "auto";
    *out = (dit_parallel){0};
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++) keys[axis] = axis_rows[axis].key;
    keys[DIT_GROUP_COUNT] = "joint_text";
    DIT_TRY(dit_json_only_keys(doc, object, pointer, keys));
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        int64_t degree = 1;
        DIT_TRY(dit_json_optional_int(doc, object, pointer, axis_rows[axis].key, 1, MAX_DEGREE, &degree));
        out->degree[axis] = (int)degree;
    }
    DIT_TRY(dit_json_optional_int(doc, object, pointer, axis_rows[DIT_AXIS_WORLD].key, 1, MAX_DEGREE, &rows_degree));
    out->rows_degree = (int)rows_degree;
    DIT_TRY(dit_json_optional_string(doc, object, pointer, "joint_text", &joint_text));
    if (!dit_joint_text_from_name(joint_text, &out->joint_text)) {
        char at[256];
        snprintf(at, sizeof at, "%s/joint_text", pointer);
        return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "joint_text \"%s\" is none of auto, split, replicate",
                             joint_text);
    }
    return DIT_OK;
}

dit_status dit_parallel_to_json(const dit_parallel *parallel, cJSON *object)
{
    for (int axis = DIT_AXIS_COUNT - 1; axis >= 0; axis--)
        DIT_TRY(dit_json_add_int(object, axis_rows[axis].key, degree_of(parallel, axis)));
    if (parallel->rows_degree > 1)
        DIT_TRY(dit_json_add_int(object, axis_rows[DIT_AXIS_WORLD].key, parallel->rows_degree));
    return dit_json_add_string(object, "joint_text", joint_text_names[parallel->joint_text]);
}

void dit_mesh_coordinates(const dit_parallel *parallel, int rank, int coordinates[DIT_AXIS_COUNT])
{
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        coordinates[axis] = rank % degree_of(parallel, axis);
        rank /= degree_of(parallel, axis);
    }
}

int dit_mesh_rank(const dit_parallel *parallel, const int coordinates[DIT_AXIS_COUNT])
{
    int rank = 0;
    for (int axis = DIT_AXIS_COUNT - 1; axis >= 0; axis--) rank = rank * degree_of(parallel, axis) + coordinates[axis];
    return rank;
}

int dit_mesh_group(const dit_parallel *parallel, int rank, dit_axis axis, int *ranks)
{
    int coordinates[DIT_AXIS_COUNT];
    int size = axis == DIT_AXIS_WORLD ? dit_parallel_world_size(parallel) : degree_of(parallel, axis);
    for (int i = 0; i < size; i++) ranks[i] = size == 1 ? rank : i;
    if (size == 1 || axis == DIT_AXIS_WORLD) return size;
    dit_mesh_coordinates(parallel, rank, coordinates);
    for (int i = 0; i < size; i++) {
        coordinates[axis] = i;
        ranks[i] = dit_mesh_rank(parallel, coordinates);
    }
    return size;
}

static void print_group(const dit_parallel *parallel, int rank, dit_axis axis, FILE *file)
{
    int coordinates[DIT_AXIS_COUNT];
    dit_mesh_coordinates(parallel, rank, coordinates);
    fprintf(file, "  %s %d of {", axis_rows[axis].name, coordinates[axis]);
    for (int i = 0; i < degree_of(parallel, axis); i++) {
        coordinates[axis] = i;
        fprintf(file, "%s%d", i ? "," : "", dit_mesh_rank(parallel, coordinates));
    }
    fprintf(file, "}");
}

void dit_mesh_print(const dit_parallel *parallel, FILE *file)
{
    char label[64];
    dit_parallel_label(parallel, label);
    fprintf(file, "mesh %s, world_size %d\n", label, dit_parallel_world_size(parallel));
    for (int rank = 0; rank < dit_parallel_world_size(parallel); rank++) {
        fprintf(file, "rank %d:", rank);
        for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
            if (degree_of(parallel, axis) > 1) print_group(parallel, rank, (dit_axis)axis, file);
        if (parallel->rows_degree > 1) fprintf(file, "  rows %d of %d", rank, parallel->rows_degree);
        fprintf(file, "\n");
    }
}
