/* Fuzz target of the workload reader: parse, expand, plan. Run by ci/fuzz.sh, which names the data files through
 * DITBENCH_WORKLOADS. The text travels through a file in memory. */
#include "suite/session/plan.h"
#include "suite/workload/load.h"
#include "suite/workload/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check(bool good)
{
    if (!good) abort();
}

static void write_text(int file, const unsigned char *data, size_t size)
{
    check(ftruncate(file, 0) == 0);
    check(pwrite(file, data, size, 0) == (ssize_t)size);
}

/* An oracle and a simulation run once, what is measured in every process. */
static int runs_of(const suite_workload *workload)
{
    int processes = workload->processes, runs = 0;
    if (workload->until > 0 && workload->most_processes > processes) processes = workload->most_processes;
    for (int i = 0; i < workload->case_count; i++)
        runs += workload->cases[i].is_oracle || workload->cases[i].is_simulated ? 1 : processes;
    return runs;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static int file = -1;
    char path[64];
    suite_workload workload = {0};
    suite_run_item *items = NULL;
    int count = 0;
    if (file < 0) file = memfd_create("workload.json", 0);
    check(file >= 0);
    write_text(file, data, size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (suite_workload_load(path, &workload) != DIT_OK) {
        check(dit_error_last()->message[0] != '\0');
        suite_workload_release(&workload); /* accepts what a failure leaves */
        return 0;
    }
    if (suite_plan(&workload, &items, &count) == DIT_OK) check(count == runs_of(&workload));
    free(items);
    suite_workload_release(&workload);
    return 0;
}
