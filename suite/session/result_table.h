/* Result table: prints the cases of a session as a table for people or as CSV for programs.
 *
 * A column is a row of the list in result_table.c, or any metric (`images_per_hour`) or tag (`profile`) by its name.
 */
#ifndef DIT_SUITE_SESSION_RESULT_TABLE_H
#define DIT_SUITE_SESSION_RESULT_TABLE_H

#include "suite/session/results.h"

/* Zero means default everywhere. */
typedef struct {
    const char *columns; /* "model,ranks,latency"; NULL: the list's, and the tags in which cases differ  */
    const char *sort;    /* a column, "-" before it for the greatest first; NULL: as suite_results sorts  */
    bool csv;            /* seconds and bytes, no scaling; every column of the list                      */
    int width;           /* of the screen; 0: no limit; CSV knows none                                   */
} suite_result_table;

/* Checks that there are such columns, before anything is printed. Errors: as below. */
dit_status suite_result_table_check(const suite_result_table *params, const suite_results *results);
/* Prints all cases; sorts `results` anew where the options ask for it. Errors: DIT_ERR_NOT_FOUND for a column that does
 * not exist, with the nearest name and the list; DIT_ERR_MEMORY. */
dit_status suite_result_table_print(const suite_result_table *params, suite_results *results, FILE *out);

#endif
