/* Mesh: gives a rank's coordinates, and the ranks that it works with.
 *
 * world = data x cfg x pipefusion x patch x ring x ulysses x tensor; rank order from fastest to slowest: tensor,
 * ulysses, ring, patch, pipefusion, cfg, data (xDiT's "tp-sp-pp-cfg-dp" with the Ulysses group contiguous inside SP).
 * That is LoongTrain's head-first placement; context-first, ring comes before ulysses.
 * Everything about meshes in base/ is pure: the engine and the harness call the same functions, and a mesh can be
 * printed and tested without running.
 */
#ifndef DIT_BASE_MESH_H
#define DIT_BASE_MESH_H

#include "base/parallel.h"
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Computes the coordinates of `rank` on every axis. */
void dit_mesh_coordinates(const dit_parallel *parallel, int rank, int coordinates[DIT_AXIS_COUNT]);
int dit_mesh_rank(const dit_parallel *parallel, const int coordinates[DIT_AXIS_COUNT]);
/* Lists the ranks of the group of `rank` along `axis`, in order; `ranks` holds at least the axis's degree (for the
 * world its size). Returns the size. The groups along DIT_AXIS_FSDP cut the ranks of equal weights, in rank order, into
 * runs of fsdp_degree, which divides their number: neighbours hold each other's shards. */
int dit_mesh_group(const dit_parallel *parallel, int rank, dit_axis axis, int *ranks);
/* Prints one line per rank: coordinates and groups. */
void dit_mesh_print(const dit_parallel *parallel, FILE *file);

#ifdef __cplusplus
}
#endif
#endif
