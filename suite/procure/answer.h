/* Answer: what `procure` found as a document, ditbench.procure/1. */
#ifndef DIT_SUITE_PROCURE_ANSWER_H
#define DIT_SUITE_PROCURE_ANSWER_H

#include "base/json_writer.h"
#include "suite/procure/split.h"

/* Adds the members of the document. results/schema/answers.md lists them. */
void suite_procured_put(dit_json_writer *w, cJSON *document, const suite_procure_request *request,
                        const suite_procured *procured);

/* Adds the members of a dry run's document, ditbench.procure-plan/1: the question, and each machine with the numbers of
 * its devices that would be searched; without them where `devices` is false. */
void suite_procure_plan_put(dit_json_writer *w, cJSON *document, const suite_procure_request *request, bool devices);

/* Add what answers of several kinds share: the question; how requests arrive; a number with its interval, nothing where
 * there is none; and why something is missing. */
void suite_answer_arrivals(dit_json_writer *w, cJSON *parent, const suite_arrivals *arrivals);
void suite_answer_question(dit_json_writer *w, cJSON *document, const suite_procure_request *request);
void suite_answer_ranged(dit_json_writer *w, cJSON *parent, const char *key, const suite_ranged *ranged);
void suite_answer_absent(dit_json_writer *w, cJSON *row, const char *what, const char *reason);

#endif
