/* Step source: the entry of tokenizer.json that a step is made from, and what tables of normalisers and splitters share. */
#ifndef DIT_ENGINE_UNICODE_STEP_SOURCE_H
#define DIT_ENGINE_UNICODE_STEP_SOURCE_H

#include "engine/unicode/steps.h"

/* `object` has a type, stands at `pointer` of `doc`, and adds to `steps`. */
typedef struct {
    const dit_json *doc;
    const cJSON *object;
    const char *pointer;
    dit_steps *steps;
} dit_step_source;

/* A row of a table: a type and what it adds, one step without settings or whatever `make` reads. */
typedef struct {
    const char *type;
    dit_step_run *run;
    dit_status (*make)(const dit_step_source *source);
} dit_step_kind;

/* Adds what the entry's type says; nothing without an entry. `what` names the table in messages. Errors: DIT_ERR_UNSUPPORTED
 * for a type without a row, DIT_ERR_JSON_*, those of the row. */
dit_status dit_step_kinds_read(const dit_step_kind *kinds, int count, const char *what, const dit_step_source *source);

/* dit_steps_read_normalizer or dit_steps_read_splitter. */
typedef dit_status dit_steps_reader(const dit_json *doc, const cJSON *object, const char *pointer, dit_steps *steps);
/* Adds the steps of each entry of the list `key`, in order. Errors: DIT_ERR_JSON_MISSING, those of `read`. */
dit_status dit_step_source_each(const dit_step_source *source, const char *key, dit_steps_reader *read);

#endif
