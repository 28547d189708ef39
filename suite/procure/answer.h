/* Answer: what `procure` found as a document, ditbench.procure/1. */
#ifndef DIT_SUITE_PROCURE_ANSWER_H
#define DIT_SUITE_PROCURE_ANSWER_H

#include "base/json_writer.h"
#include "suite/procure/split.h"

/* Adds the members of the document. results/schema/answers.md lists them. */
void suite_procured_put(dit_json_writer *w, cJSON *document, const suite_procure_request *request,
                        const suite_procured *procured);

#endif
