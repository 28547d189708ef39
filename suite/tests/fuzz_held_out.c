/* Fuzz target of files of held-out errors. Run by ci/fuzz.sh. Beyond not crashing: what is refused says why, and what is
 * read gives bounds that are in order. */
#include "suite/confidence/coverage.h"

#include <stdlib.h>
#include <string.h>

static void check(bool good)
{
    if (!good) abort();
}

static void check_bounds(const suite_held_out *held, bool fitted)
{
    const suite_error_class any = {fitted, SUITE_CLASS_ANY, SUITE_CLASS_ANY, SUITE_CLASS_ANY};
    suite_error_sample sample;
    suite_coverage coverage;
    check(suite_error_sample_take(held, &any, NULL, &sample) == DIT_OK);
    suite_error_bounds bounds = suite_error_bounds_of(&sample, 0.9);
    check(!sample.count || (bounds.low <= bounds.high && bounds.level >= 0 && bounds.level <= 0.9));
    suite_error_sample_release(&sample);
    check(suite_coverage_of(held, fitted, 0.9, &coverage) == DIT_OK);
    check(coverage.by_group >= 0 && coverage.by_group <= 1 + 1e-9);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    suite_held_out held;
    dit_error_clear();
    if (suite_held_out_parse((const char *)data, size, "fuzz.json", &held) == DIT_OK)
        for (int fitted = 0; fitted < 2; fitted++) check_bounds(&held, fitted);
    else
        check(dit_error_last()->message[0] != '\0' && !held.points);
    suite_held_out_release(&held);
    return 0;
}
