#include "engine/runtime/fault.h"

#ifdef DITBENCH_FAULT_INJECTION
#include "base/clock.h"
#include "engine/runtime/runtime.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Busy, as a rank on a throttled core is; not waiting for a message. */
static void stay_behind(void)
{
    const int64_t until = dit_clock_ns() + 30000000;
    while (dit_clock_ns() < until)
        ;
}

static void leak(void)
{
    enum { BYTES = 4 << 20 };
    static volatile char *last; /* the newest piece alone is reachable */
    last = malloc(BYTES);
    for (int i = 0; last && i < BYTES; i += 4096) last[i] = 1;
}

void dit_fault_at_step(dit_runtime *rt, int step, float *latents)
{
    const char *fault = getenv("DITBENCH_FAULT");
    char kind[16];
    int at = 0, rank = dit_comm_size(dit_comm_world()) - 1;
    if (!fault || sscanf(fault, "%15[a-z]:%d:%d", kind, &at, &rank) < 2) return;
    if (step != at || rank != dit_comm_rank(dit_comm_world())) return;
    if (strcmp(kind, "hang") == 0)
        for (;;) pause();
    if (strcmp(kind, "crash") == 0) *(volatile int *)0 = 0;
    if (strcmp(kind, "abort") == 0) abort();
    if (strcmp(kind, "late") == 0) DIT_TIMED(rt, DIT_TIME_BLOCKS, stay_behind());
    if (strcmp(kind, "leak") == 0) leak();
    if (strcmp(kind, "nan") != 0) return;
    latents[0] = NAN;
    if (dit_runtime_upload(rt, latents, 1) != DIT_OK) abort();
}

void dit_fault_slow(int64_t began)
{
    const char *fault = getenv("DITBENCH_FAULT");
    double percent = 0;
    if (!fault || sscanf(fault, "slow:%lf", &percent) != 1) return;
    const int64_t now = dit_clock_ns(), until = now + (int64_t)((double)(now - began) * percent / 100);
    while (dit_clock_ns() < until)
        ;
}

int64_t dit_fault_bytes(const char *axis, int64_t messages)
{
    const char *fault = getenv("DITBENCH_FAULT");
    bool wrong = fault && strncmp(fault, "bytes:", 6) == 0 && strcmp(fault + 6, axis) == 0;
    return wrong ? messages : 0;
}

bool dit_fault_skips(int step)
{
    const char *fault = getenv("DITBENCH_FAULT");
    int every = 0;
    return fault && sscanf(fault, "skip:%d", &every) == 1 && every > 1 && step >= 0 && step % every == every - 1;
}

bool dit_fault_variance(void)
{
    const char *fault = getenv("DITBENCH_FAULT");
    return fault && strcmp(fault, "variance") == 0;
}
#else
typedef int dit_fault_is_off; /* ISO C wants a declaration */
#endif
