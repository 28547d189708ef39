/* Program: lists what a case of a workload can run. */
#ifndef DIT_SUITE_CATALOGUE_PROGRAM_H
#define DIT_SUITE_CATALOGUE_PROGRAM_H

#include "base/json.h"

typedef struct {
    const char *name, *meaning;
    int reads; /* its SUITE_READS_* of suite/catalogue/parameter.h */
} suite_program;

/* The programs of workloads. The first is the default; the last row has no name. */
extern const suite_program suite_programs[];

/* Finds a program by name. Errors: DIT_ERR_JSON_VALUE at `pointer` of `doc`, with the nearest name. */
dit_status suite_program_find(const dit_json *doc, const char *pointer, const char *name, const suite_program **out);

#endif
