/* Fuzz target of the reader of baseline files. Run by ci/fuzz.sh. Beyond not crashing: what is refused says why; what is
 * accepted can be compared with itself, nothing of which has changed, and is read again as it was written. */
#include "suite/compare/baseline.h"
#include "suite/compare/comparison.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check(bool good)
{
    if (!good) abort();
}

static void check_comparison(const suite_side *side)
{
    const suite_comparison_params params = {0};
    suite_comparison comparison = {0};
    if (suite_comparison_make(side, side, &params, &comparison) == DIT_OK)
        check(suite_comparison_verdict(&comparison) != SUITE_VERDICT_WORSE &&
              suite_comparison_verdict(&comparison) != SUITE_VERDICT_BETTER && comparison.turned_count == 0);
    else
        check(dit_error_last()->message[0] != '\0');
    suite_comparison_release(&comparison);
}

static void check_again(const suite_side *side)
{
    char path[64];
    suite_side again = {0};
    snprintf(path, sizeof path, "%s/ditbench-fuzz-%d.json", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
             (int)getpid());
    check(suite_baseline_write(side, path, "fuzz") == DIT_OK);
    dit_status st = suite_baseline_load(path, &again);
    if (st != DIT_OK) fprintf(stderr, "%s\n", dit_error_last()->message);
    check(st == DIT_OK && again.case_count == side->case_count);
    check(unlink(path) == 0);
    suite_side_release(&again);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static int file = -1;
    char path[64];
    suite_side side = {0};
    if (file < 0) file = memfd_create("baseline.json", 0);
    check(file >= 0 && ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    dit_error_clear();
    if (suite_baseline_load(path, &side) == DIT_OK) {
        check_comparison(&side);
        check_again(&side);
        suite_side_release(&side);
    } else {
        check(dit_error_last()->message[0] != '\0');
    }
    return 0;
}
