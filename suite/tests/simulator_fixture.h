/* Tests that need the simulator: the engine beside the tests' build, and skipping without SimGrid. */
#ifndef DIT_SUITE_TESTS_SIMULATOR_FIXTURE_H
#define DIT_SUITE_TESTS_SIMULATOR_FIXTURE_H

#include "suite/simulate/simulate.h"

#include <stdio.h>
#include <stdlib.h>

static suite_simulate_params params = {.element = "fp16", .deadline_s = 120};

/* False with the reason printed; the program then ends with DIT_EXIT_SKIPPED. */
static bool has_simulator(void)
{
    static char engine[4096];
    const char *build = getenv("DITBENCH_BUILD");
    snprintf(engine, sizeof engine, "%s/bin/ditbench-engine-sim", build ? build : "build");
    params.engine = engine;
    if (suite_simulate_check(&params) == DIT_OK) return true;
    printf("1..0 # SKIP %s\n", dit_error_last()->message);
    return false;
}

#endif
