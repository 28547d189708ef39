/* Accept answer: what was accepted as a document, ditbench.accept/1, and for a person. */
#ifndef DIT_SUITE_ACCEPT_ACCEPT_ANSWER_H
#define DIT_SUITE_ACCEPT_ACCEPT_ANSWER_H

#include "base/json_writer.h"
#include "suite/accept/accept.h"

#include <stdio.h>

/* Adds the members of the document. results/schema/answers.md lists them. */
void suite_accepted_put(dit_json_writer *w, cJSON *document, const suite_procure_request *request,
                        const suite_accepted *accepted);
/* Prints a table of the cases and what follows. `width` of the screen, 0: no limit. Errors: DIT_ERR_MEMORY. */
dit_status suite_accepted_print(const suite_procure_request *request, const suite_accepted *accepted, FILE *out,
                                int width);

#endif
