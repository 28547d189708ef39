/* Fuzz target of the workload reader: any bytes, no crash, and every refusal has an exit code of the documented kind.
 *
 * clang -fsanitize=fuzzer,address,undefined; the seeds are workloads/ and suite/tests/malformed/. */
#include "suite/workload.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    suite_workload workload;
    if (size > 1 << 16) return 0; /* a matrix of 100000 cells takes seconds: not what we look for */
    dit_status st = suite_workload_parse((const char *)data, size, "fuzz.json", &workload);
    if (st == DIT_OK && workload.case_count + workload.dropped_count + workload.merged_count <= 0) abort();
    if (st != DIT_OK && dit_status_exit_code(st) == DIT_EXIT_OK) abort();
    suite_workload_release(&workload);
    return 0;
}
