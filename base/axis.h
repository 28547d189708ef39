/* Axes of a mesh: the ways in which ranks divide the work, from the fastest in rank order to the slowest. */
#ifndef DIT_BASE_AXIS_H
#define DIT_BASE_AXIS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    DIT_AXIS_TENSOR, /* fastest */
    DIT_AXIS_ULYSSES,
    DIT_AXIS_RING,
    DIT_AXIS_PATCH, /* displaced patches: a rank's own rows are fresh, those of others a step old or absent */
    DIT_AXIS_PIPEFUSION,
    DIT_AXIS_CFG,
    DIT_AXIS_DATA, /* slowest */
    DIT_AXIS_COUNT,
    DIT_AXIS_WORLD = DIT_AXIS_COUNT, /* all ranks of the mesh as one group, which share the rows of a decode */
    DIT_GROUP_COUNT                  /* communicators, counters and volumes have so many entries */
} dit_axis;

const char *dit_axis_name(dit_axis axis); /* "ulysses"        */
const char *dit_axis_key(dit_axis axis);  /* "ulysses_degree" */
/* Finds an axis, or "world", by its name; false when there is none. */
bool dit_axis_from_name(const char *name, dit_axis *out);

#ifdef __cplusplus
}
#endif
#endif
