/* Cell mesh: resolves how ranks divide a cell, for the programs that run on a mesh. Private to suite/workload. */
#ifndef DIT_SUITE_WORKLOAD_PROGRAMS_CELL_MESH_H
#define DIT_SUITE_WORKLOAD_PROGRAMS_CELL_MESH_H

#include "base/json_writer.h"
#include "suite/workload/matrix.h"

/* Fills parallel, world_size, method, mesh, attention and threads_per_rank of the cell. Errors:
 * DIT_ERR_CONSTRAINT_PRODUCT, or those of dit_deal_method. */
dit_status suite_cell_resolve_mesh(suite_cell *cell);
/* Sets the order of ring and Ulysses ranks. */
void suite_cell_resolve_placement(suite_cell *cell);
/* Behind that, of a model: sets the method of the ring, which `attention` names where no `method` does, its inner rings
 * and the order of ranks. */
void suite_cell_resolve_ring(suite_cell *cell);
/* Refuses a cell whose parameter "attention" is not what its degrees amount to. Errors: DIT_ERR_CONSTRAINT_METHOD. */
dit_status suite_cell_check_attention(const suite_cell *cell);
/* Puts "parallel" and "attention", and "emulates" of an oracle, into a case document. */
void suite_cell_put_mesh(dit_json_writer *w, const suite_cell *cell, cJSON *document);
/* Puts the tags of the mesh. */
void suite_cell_put_mesh_tags(dit_json_writer *w, const suite_cell *cell, cJSON *tags);

#endif
