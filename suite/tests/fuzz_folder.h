/* A folder of a fuzz target's own, in memory where that is possible, which is removed when the program ends. */
#ifndef DIT_SUITE_TESTS_FUZZ_FOLDER_H
#define DIT_SUITE_TESTS_FUZZ_FOLDER_H

#include "suite/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char fuzz_folder[64]; /* "" before fuzz_folder_make */

/* What must hold for every input. */
static void check(bool good)
{
    if (!good) abort();
}

static void fuzz_folder_remove(void)
{
    (void)!suite_path_remove(fuzz_folder);
}

static void fuzz_folder_make(void)
{
    const char *parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(fuzz_folder, sizeof fuzz_folder, "%s/ditbench-fuzz-XXXXXX", parent);
    check(mkdtemp(fuzz_folder) != NULL && atexit(fuzz_folder_remove) == 0);
}

#endif
