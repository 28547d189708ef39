/* Layer: what a cell of a workload of program attention is: one attention layer, no model. Private to expansion. */
#ifndef DIT_SUITE_WORKLOAD_LAYER_H
#define DIT_SUITE_WORKLOAD_LAYER_H

#include "suite/workload/matrix.h"

/* Fills cell->layer from the cell's values, once its mesh is known; nothing is judged. */
void suite_layer_resolve(suite_cell *cell);
/* "layer" and "run" of the case document. */
dit_status suite_layer_document(const suite_cell *cell, cJSON *document);
/* model, base_model and the layer's own tags. */
dit_status suite_layer_tags(const suite_cell *cell, cJSON *tags);
/* "layer:32x128 S4096 causal zigzag packed", what has an effect, for labels. */
void suite_layer_label(const suite_cell *cell, char *out, size_t size);
/* The members of a case's layer that decide its result; how tokens are laid out and sent is left out. */
dit_status suite_layer_identity(const suite_cell *cell, cJSON *layer);

#endif
