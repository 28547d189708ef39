/* Cell model: resolves the sizes of a cell that has a model, for the programs that make pictures, and describes its
 * VAE. Private to suite/workload. */
#ifndef DIT_SUITE_WORKLOAD_PROGRAMS_CELL_MODEL_H
#define DIT_SUITE_WORKLOAD_PROGRAMS_CELL_MODEL_H

#include "base/json_writer.h"
#include "suite/workload/matrix.h"

/* Fills width_px, height_px, num_frames and text_tokens of the cell. Errors: DIT_ERR_CONSTRAINT_RESOLUTION for a clip
 * of a model of images, DIT_ERR_JSON_MISSING. */
dit_status suite_cell_resolve_size(suite_cell *cell);
/* Puts "run" into a case document: what is made, and from which noise. Returns the object, which stays the document's;
 * NULL after a failure. */
cJSON *suite_cell_put_run(dit_json_writer *w, const suite_cell *cell, cJSON *document);
/* Refuses what `weights` and `prompts` ask for and the cell cannot have. Errors: DIT_ERR_UNSUPPORTED. */
dit_status suite_cell_check_weights(const suite_cell *cell);
/* Whether the cell has the weights that are shipped for its model; else they are seeded. */
bool suite_cell_is_trained(const suite_cell *cell);
/* Puts "weights" of the model into its part of a case document, and "conditions" where captions are looked up. */
void suite_cell_put_model_weights(dit_json_writer *w, const suite_cell *cell, cJSON *model);
/* Puts "transformer_2" of a model that has two: where it takes over, and its weights; seeded ones have the next seed. */
void suite_cell_put_second(dit_json_writer *w, const suite_cell *cell, cJSON *model);
void suite_cell_put_conditions(dit_json_writer *w, const suite_cell *cell, cJSON *document);
/* Puts seeded "weights" into a part of a case document. */
void suite_cell_put_weights(dit_json_writer *w, const suite_cell *cell, cJSON *parent);
/* Puts "vae" into a case document: the cell's VAE, which it has. */
void suite_cell_put_vae(dit_json_writer *w, const suite_cell *cell, cJSON *document);
/* True if several ranks share the decode by frames (base/chunks.h). */
bool suite_cell_splits_frames(const suite_cell *cell);
/* Puts the tags of what is made. */
void suite_cell_put_size_tags(dit_json_writer *w, const suite_cell *cell, cJSON *tags);
/* Writes "NAME 256x256", or "NAME 256x256 16f" of clips. */
void suite_cell_write_subject(const suite_cell *cell, const char *name, char *out, size_t size);

#endif
