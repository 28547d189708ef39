/* Draws: how wrong the predictions of several machines may be together, by drawing from the errors that were seen.
 *
 * Two rules. Independently: each machine draws from its own sample, a group first, then an error of the group. Paired:
 * machines that share a sample draw from one family (one question, asked of several machines), each another machine of
 * it, as errors of one question go together. Who compares takes the less certain of the two.
 * Numbers are counter-based (base/rng.h): draw j of a machine is the same however many machines stand behind it, and on
 * every computer.
 */
#ifndef DIT_SUITE_CONFIDENCE_DRAWS_H
#define DIT_SUITE_CONFIDENCE_DRAWS_H

#include "suite/confidence/error_sample.h"

typedef enum { SUITE_DRAW_INDEPENDENT, SUITE_DRAW_PAIRED, SUITE_DRAW_RULES } suite_draw_rule;

/* Fills errors[draws * machines], draw after draw: of each machine ln(truth / predicted). samples[machines]: the errors
 * of its class, not empty; machines of one class name the same sample. Where no family of a sample has two machines,
 * paired draws are independent. Errors: DIT_ERR_USAGE for an empty sample; DIT_ERR_MEMORY. */
dit_status suite_draw_errors(const suite_error_sample *const *samples, int machines, int draws, uint64_t seed,
                             suite_draw_rule rule, double *errors);

#endif
