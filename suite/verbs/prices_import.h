/* Prices import: what `ditbench prices --import` does: makes a price file of another tool's catalogue, and says of each
 * line that it left out why.
 */
#ifndef DIT_SUITE_VERBS_PRICES_IMPORT_H
#define DIT_SUITE_VERBS_PRICES_IMPORT_H

#include "suite/console/cli.h"

typedef struct {
    const char *format;        /* "skypilot" */
    const char *file;          /* the catalogue */
    const char *map;           /* the table of names */
    const char *commit, *date; /* of the catalogue */
} prices_import_request;

/* Imports, writes the file that --output names, and answers. Returns the exit code. */
int prices_import(const suite_cli *cli, const prices_import_request *request);

#endif
