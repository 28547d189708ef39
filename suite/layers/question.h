/* Question: what a planner is asked: a transformer that is trained, devices, a budget of memory, and which ways of
 * sharing a layer may be mixed. It is the part of a case of program layer_plan that decides the answer.
 */
#ifndef DIT_SUITE_LAYERS_QUESTION_H
#define DIT_SUITE_LAYERS_QUESTION_H

#include "base/json_writer.h"
#include "suite/catalogue/way.h"

#include <stdint.h>

typedef struct {
    int64_t layers, tokens, heads, head_dim, batch; /* of one step, all devices together           */
    int64_t vocabulary; /* of an embedding before and a head behind the layers; 0: neither */
    bool causal;
    int devices;
    double memory_limit_gib; /* of a device                                                        */
    unsigned ways;           /* bits 1 << suite_way                                                */
    int stages;              /* 0: the best power of two                                           */
    int micro_batches;       /* 0: the best power of two                                           */
    suite_balance balance;
    suite_unit unit;
    suite_search_order order;
    int splits; /* a sharded operator may work in up to so many slices; powers of two              */
} suite_layer_question;

/* Puts the members of "chain" and "planner" of a case. */
void suite_layer_question_put(dit_json_writer *w, const suite_layer_question *question, cJSON *document);
/* Puts those of them that a case's tags have in the same words. `chain` and `planner` may be one object. */
void suite_layer_question_put_members(dit_json_writer *w, const suite_layer_question *question, cJSON *chain,
                                      cJSON *planner);
/* Reads what suite_layer_question_put wrote. Errors: DIT_ERR_JSON_*, with place. */
dit_status suite_layer_question_read(const dit_json *document, suite_layer_question *out);
/* Checks that some plan is conceivable. Errors: DIT_ERR_CONSTRAINT_* with what does not divide. */
dit_status suite_layer_question_check(const suite_layer_question *question);

#endif
