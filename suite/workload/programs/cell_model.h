/* Cell model: resolves the sizes of a cell that has a model, for the programs that make pictures, and describes its VAE.
 * Private to suite/workload. */
#ifndef DIT_SUITE_WORKLOAD_PROGRAMS_CELL_MODEL_H
#define DIT_SUITE_WORKLOAD_PROGRAMS_CELL_MODEL_H

#include "suite/workload/matrix.h"

/* Fills width_px, height_px, num_frames and text_tokens of the cell. Errors: DIT_ERR_CONSTRAINT_RESOLUTION for a clip of
 * a model of images, DIT_ERR_JSON_MISSING. */
dit_status suite_cell_resolve_size(suite_cell *cell);
/* Adds "run" to a case document: what is made, and from which noise. The object stays the document's. */
dit_status suite_cell_add_run(const suite_cell *cell, cJSON *document, cJSON **run);
/* Adds "vae" to a case document: the cell's VAE, which it has. */
dit_status suite_cell_add_vae(const suite_cell *cell, cJSON *document);
/* Adds the tags of what is made. */
dit_status suite_cell_add_size_tags(const suite_cell *cell, cJSON *tags);
/* Writes "NAME 256x256", or "NAME 256x256 16f" of clips. */
void suite_cell_write_subject(const suite_cell *cell, const char *name, char *out, size_t size);

#endif
