/* Two timelines of one simulated rank: what its host has issued and what its device has done, in virtual seconds.
 *
 * The host runs ahead: issuing an operator costs it time, and the operator starts when the device is free and the host
 * has issued it, so a step takes what the slower of the two needs. Only before messages and at synchronisations does
 * the simulated process itself move on, by `charge`; until then its time is the two numbers' business alone.
 */
#ifndef DIT_KERNELS_COST_CLOCK_H
#define DIT_KERNELS_COST_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    double host_s;                                 /* the host is free to issue the next operator   */
    double device_s;                               /* the device is done with everything issued     */
    double charged_s;                              /* to where the simulated process has been moved */
    void (*charge)(void *context, double seconds); /* moves it on; seconds > 0. NULL: nobody is moved */
    void *context;
} dit_cost_clock;

/* Issues an operator: host += host_s, then the device works device_s from max(device, host). Both at least 0. */
void dit_cost_clock_dispatch(dit_cost_clock *clock, double host_s, double device_s);
/* Before messages whose issue costs host_s: the simulated process is charged up to when they can start, which is
 * returned: max(device, host). The host does not wait. */
double dit_cost_clock_enter(dit_cost_clock *clock, double host_s);
/* Before messages issued earlier, which start as soon as the device has done all but the last `left_s` seconds of what
 * was issued since. */
double dit_cost_clock_enter_before(dit_cost_clock *clock, double left_s);
/* After them: the simulated process stands elapsed_s later, and so does the device. */
void dit_cost_clock_leave(dit_cost_clock *clock, double elapsed_s);
/* The host waits for the device and pays host_s more; the simulated process is charged up to then, which is returned.
 */
double dit_cost_clock_synchronise(dit_cost_clock *clock, double host_s);

#ifdef __cplusplus
}
#endif
#endif
