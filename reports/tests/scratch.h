/* Scratch: a folder for what a test of reports/ writes, made before the group and removed after it. */
#ifndef DIT_REPORTS_TESTS_SCRATCH_H
#define DIT_REPORTS_TESTS_SCRATCH_H

#include "reports/tests/fixture.h"

#include <ftw.h>

static char scratch[] = "/tmp/reports_test_XXXXXX";

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(scratch) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
