/* Mix answer: what mixed traffic came to as a document, ditbench.mix/1. */
#ifndef DIT_SUITE_MIX_MIX_ANSWER_H
#define DIT_SUITE_MIX_MIX_ANSWER_H

#include "base/json_writer.h"
#include "suite/mix/mix.h"

/* Adds the members of the document. results/schema/answers.md lists them. */
void suite_mixed_put(dit_json_writer *w, cJSON *document, const suite_procure_request *request,
                     const suite_traffic *traffic, const suite_mixed *mixed);

#endif
