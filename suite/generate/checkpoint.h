/* Checkpoint: looks at a diffusers pipeline's folder before anything is loaded, so that a part that is missing or foreign is
 * named with what would do. */
#ifndef DIT_SUITE_GENERATE_CHECKPOINT_H
#define DIT_SUITE_GENERATE_CHECKPOINT_H

#include "base/status.h"
#include <stdbool.h>

/* Checks the parts that model_index.json of `folder` names: the transformer, the scheduler, with `decodes` the VAE, and
 * with `prompts` all tokenizers and text encoders. Each must have its config and whole weights as safetensors.
 * Errors: DIT_ERR_NOT_FOUND for a file that is missing; DIT_ERR_UNSUPPORTED for weights of another kind (.bin, .gguf) and
 * for a pipeline without a transformer; DIT_ERR_IO, DIT_ERR_JSON_*. */
dit_status suite_checkpoint_check(const char *folder, bool decodes, bool prompts);
/* The error for a folder that is no pipeline's: says what it looks like. Returns DIT_ERR_NOT_FOUND or
 * DIT_ERR_UNSUPPORTED. */
dit_status suite_checkpoint_refuse(const char *folder);
/* Whether the folder of a pipeline has text encoders. */
bool suite_checkpoint_reads_prompts(const char *folder);

#endif
