#include "base/axis.h"

#include <string.h>

static const struct {
    const char *name, *key;
} axes[DIT_GROUP_COUNT] = {
    [DIT_AXIS_TENSOR] = {"tensor", "tensor_degree"},
    [DIT_AXIS_ULYSSES] = {"ulysses", "ulysses_degree"},
    [DIT_AXIS_RING] = {"ring", "ring_degree"},
    [DIT_AXIS_PATCH] = {"patch", "patch_degree"},
    [DIT_AXIS_PIPEFUSION] = {"pipefusion", "pipefusion_degree"},
    [DIT_AXIS_CFG] = {"cfg", "cfg_degree"},
    [DIT_AXIS_DATA] = {"data", "data_degree"},
    [DIT_AXIS_WORLD] = {"world", "rows_degree"},
};

const char *dit_axis_name(dit_axis axis)
{
    return axes[axis].name;
}
const char *dit_axis_key(dit_axis axis)
{
    return axes[axis].key;
}

bool dit_axis_from_name(const char *name, dit_axis *out)
{
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++) {
        if (strcmp(name, axes[axis].name) != 0) continue;
        *out = (dit_axis)axis;
        return true;
    }
    return false;
}
