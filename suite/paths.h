/* Paths: builds paths, makes and removes folders, and finds the two folders that everything starts from. */
#ifndef DIT_SUITE_PATHS_H
#define DIT_SUITE_PATHS_H

#include "base/status.h"

#include <stdbool.h>

enum { SUITE_PATH = 4096 }; /* bytes of a path buffer */

/* Prints a path into a buffer, as printf. Errors: DIT_ERR_IO when it does not fit. */
dit_status suite_path(char out[SUITE_PATH], const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Makes a folder and those above it, as mkdir -p. Errors: DIT_ERR_IO. */
dit_status suite_path_make(const char *folder);
/* Removes a path with all in it, as rm -rf, and never follows a link. A path that does not exist is fine. Errors:
 * DIT_ERR_IO. */
dit_status suite_path_remove(const char *path);

/* Finds a program in $PATH, as a shell does: an executable file; an empty entry is the current folder. Returns false,
 * with out "" and no error, when no folder has it. */
bool suite_path_program(const char *name, char out[SUITE_PATH]);

/* Names the folder below, absolute, in $DITBENCH_WORKLOADS of this process and of those it starts: engines look for
 * shipped weights there. Does nothing where there is no such folder. */
void suite_workloads_announce(void);
/* Finds the folder with the data files (models/, platforms/, schema/): $DITBENCH_WORKLOADS, ./workloads, the one beside
 * the source tree of the running binary, PREFIX/share/ditbench/workloads. NULL with an error when there is none. */
const char *suite_workloads_folder(void);
/* Finds the folder that holds the sessions: $DITBENCH_RESULTS, else results/local of the current folder. It need not
 * exist.
 * Errors: DIT_ERR_IO. */
dit_status suite_session_root(char out[SUITE_PATH]);
/* Finds a folder that outlives sessions: $XDG_CACHE_HOME/ditbench/NAME, else ~/.cache/ditbench/NAME. It need not exist.
 * Errors: DIT_ERR_ENVIRONMENT without either variable. */
dit_status suite_cache_folder(const char *name, char out[SUITE_PATH]);

#endif
