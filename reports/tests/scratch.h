/* Scratch: a folder for what a test of reports/ writes, made before the group and removed after it. */
#ifndef DIT_REPORTS_TESTS_SCRATCH_H
#define DIT_REPORTS_TESTS_SCRATCH_H

#include "reports/tests/fixture.h"

static char scratch[TEST_FOLDER];

static int set_up(void **state)
{
    (void)state;
    return test_folder_make(scratch);
}

static int tear_down(void **state)
{
    (void)state;
    return test_folder_remove(scratch);
}

#endif
