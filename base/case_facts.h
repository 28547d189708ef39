/* Facts of a case: what a case document tells of its model and run. */
#ifndef DIT_BASE_CASE_FACTS_H
#define DIT_BASE_CASE_FACTS_H

#include "base/facts.h"
#include "base/json.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads model.config by the row of its class (architecture.h), model.latent, text, guidance and parameters, and run.
 * Errors: DIT_ERR_JSON_*, DIT_ERR_UNSUPPORTED for a class without a row, DIT_ERR_SHAPE when the model file contradicts
 * its architecture, DIT_ERR_CONSTRAINT_RESOLUTION. */
dit_status dit_facts_from_case(const dit_json *doc, const cJSON *kase, const char *pointer, dit_facts *out);
/* Settles how many guidance branches a pipeline computes: one where guidance_scale is at most 1, and two of a model that
 * has one where true_cfg_scale (diffusers' name; 0 or 1: none) is above 1. Errors: DIT_ERR_CONSTRAINT_CFG for a model that
 * has two branches already. */
dit_status dit_facts_guide(double guidance_scale, double true_cfg_scale, dit_facts *facts);
/* Settles what happens to guided predictions, of facts with their steps: a factor of their norms (0: nothing), and the share
 * of the steps, from the first on, that are guided (1: all; diffusers' cfg_trunc_ratio). Errors: DIT_ERR_UNSUPPORTED for
 * what the pipeline of the class does not have. */
dit_status dit_facts_norm_guidance(double cfg_normalization, double cfg_trunc_ratio, dit_facts *facts);
/* Gives facts guidance_rescale. Errors: DIT_ERR_UNSUPPORTED for a class whose pipelines have none. */
dit_status dit_facts_rescale_guidance(double guidance_rescale, dit_facts *facts);

#ifdef __cplusplus
}
#endif
#endif
