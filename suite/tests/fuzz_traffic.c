/* Fuzz target of the reader of mixed traffic. Run by ci/fuzz.sh. Beyond not crashing: what is refused says why, and what is
 * accepted has shares that add up to one. */
#include "suite/mix/traffic.h"

#include <math.h>
#include <stdlib.h>

static void check(bool good)
{
    if (!good) abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    suite_traffic traffic;
    double shares = 0;
    dit_error_clear();
    if (suite_traffic_parse((const char *)data, size, "fuzz.json", &traffic) != DIT_OK) {
        check(dit_error_last()->message[0] != '\0');
        return 0;
    }
    check(traffic.count >= 1 && traffic.count <= SUITE_TRAFFIC_CLASSES);
    for (int k = 0; k < traffic.count; k++) {
        shares += suite_traffic_share(&traffic, k);
        check(traffic.classes[k].bound_s > 0);
    }
    check(fabs(shares - 1) < 1e-9);
    suite_traffic_release(&traffic);
    return 0;
}
