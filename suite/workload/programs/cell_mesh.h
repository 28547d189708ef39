/* Cell mesh: resolves how ranks divide a cell, for the programs that run on a mesh. Private to suite/workload. */
#ifndef DIT_SUITE_WORKLOAD_PROGRAMS_CELL_MESH_H
#define DIT_SUITE_WORKLOAD_PROGRAMS_CELL_MESH_H

#include "suite/workload/matrix.h"

/* Fills parallel, world_size, method, mesh, attention and threads_per_rank of the cell. Errors:
 * DIT_ERR_CONSTRAINT_PRODUCT, or those of dit_deal_method. */
dit_status suite_cell_resolve_mesh(suite_cell *cell);
/* Refuses a cell whose parameter "attention" is not what its degrees amount to. Errors: DIT_ERR_CONSTRAINT_METHOD. */
dit_status suite_cell_check_attention(const suite_cell *cell);
/* Adds "parallel" and "attention", and "emulates" of an oracle, to a case document. */
dit_status suite_cell_add_mesh(const suite_cell *cell, cJSON *document);
/* Adds the tags of the mesh. */
dit_status suite_cell_add_mesh_tags(const suite_cell *cell, cJSON *tags);

#endif
