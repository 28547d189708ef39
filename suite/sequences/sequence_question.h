/* Sequence question: what is asked of a planner that cuts devices into groups for sequences of different lengths: a
 * transformer that is trained, how long its sequences are, batch after batch, and how devices may be cut. It is the part
 * of a case of program sequence_plan that decides the answer.
 */
#ifndef DIT_SUITE_SEQUENCES_SEQUENCE_QUESTION_H
#define DIT_SUITE_SEQUENCES_SEQUENCE_QUESTION_H

#include "base/json_writer.h"
#include "suite/catalogue/cut.h"

#include <stdint.h>

enum { SUITE_SEQUENCE_ROUND = 128 /* lengths are multiples of it */, SUITE_SEQUENCE_BATCHES = 1024 };

typedef struct {
    int64_t layers, heads, head_dim, vocabulary; /* as those of suite/layers/question.h */
    bool causal;
    int64_t tokens; /* the median length of the first batch's sequences                             */
    double spread;  /* standard deviation of the logarithm of a length: 0 makes all equal            */
    double drift;   /* the last batch's median over the first one's; medians between lie on a curve   */
    int batch;      /* sequences of a batch                                                         */
    int batches;
    uint64_t seed;
    int devices;
    double memory_limit_gib; /* of a device */
    suite_cut_rule cut;
    int replan_every; /* batches after which the cut may change; 0: never */
    double replan_s;  /* what a change takes                              */
} suite_sequence_question;

/* Puts the members of "chain", "lengths" and "cut" of a case. */
void suite_sequence_question_put(dit_json_writer *w, const suite_sequence_question *question, cJSON *document);
/* Reads what suite_sequence_question_put wrote. Errors: DIT_ERR_JSON_*, with place. */
dit_status suite_sequence_question_read(const dit_json *document, suite_sequence_question *out);
/* Checks that some cut is conceivable. Errors: DIT_ERR_CONSTRAINT_*. */
dit_status suite_sequence_question_check(const suite_sequence_question *question);

/* Returns the length of a sequence of a batch, both from 0: log-normal around the batch's median, from the seed alone. */
int64_t suite_sequence_tokens(const suite_sequence_question *question, int batch, int sequence);

#endif
