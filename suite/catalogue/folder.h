/* Folder: a diffusers folder in place of a catalogue model's own parts: the configs of its transformer, scheduler, VAE
 * and text encoders. Its weights are used where a workload says so; tokenizers and encoders run where a request is
 * measured from its prompt on.
 *
 * A relative path begins at the folder of workloads, and stands so in cases ("$DITBENCH_WORKLOADS/..."): they name no
 * folder of one machine. */
#ifndef DIT_SUITE_CATALOGUE_FOLDER_H
#define DIT_SUITE_CATALOGUE_FOLDER_H

#include "suite/catalogue/model.h"
#include "suite/catalogue/vae.h"

/* Replaces the model's parts by those of the folder, whose transformer must be of the model's class, and its VAE's
 * config by the folder's. `as` names the result ("NAME{as}"); NULL: the folder does. Text encoders that are resolved
 * (suite/catalogue/text_encoder.h) get the folder's sizes and keep their tokens. What is replaced has no shipped weights.
 * Errors point at `pointer` of `doc`, or stand in the folder's files: DIT_ERR_NOT_FOUND, DIT_ERR_JSON_*,
 * DIT_ERR_UNSUPPORTED for a VAE or a text encoder of another kind. */
dit_status suite_model_take_folder(suite_model *model, suite_vae *vae, const dit_json *doc, const char *pointer,
                                   const char *folder, const char *as);

#endif
