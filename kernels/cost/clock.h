/* Two timelines of one simulated rank, in virtual seconds: what its host has issued, and what its device has done.
 *
 * The host runs ahead. Issuing an operator takes host time; the operator starts once the host has issued it and the
 * device is free. So a step takes as long as the slower of the two. The simulated process itself moves on (by `charge`)
 * only before messages and at synchronisations; until then only these two numbers advance.
 */
#ifndef DIT_KERNELS_COST_CLOCK_H
#define DIT_KERNELS_COST_CLOCK_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    double host_s;                                 /* the host is free to issue the next operator   */
    double device_s;                               /* the device is done with everything issued     */
    double host_busy_s, device_busy_s;             /* the seconds of all that was issued            */
    double charged_s;                              /* how far the simulated process has been moved  */
    void (*charge)(void *context, double seconds); /* moves it by seconds > 0; NULL: there is none  */
    void *context;
} dit_cost_clock;

/* Issues an operator: host += host_s, then the device works device_s from max(device, host). Both are at least 0. */
void dit_cost_clock_dispatch(dit_cost_clock *clock, double host_s, double device_s);
/* Issues `kernels` kernels of equal size that take host_s and device_s together. Each starts once it is issued. */
void dit_cost_clock_dispatch_many(dit_cost_clock *clock, double kernels, double host_s, double device_s);
/* Call it before messages that take host_s to issue. Charges the simulated process up to the moment when the messages
 * can start, max(device, host), and returns that moment. The host does not wait. */
double dit_cost_clock_enter(dit_cost_clock *clock, double host_s);
/* Call it before messages that were issued earlier: they start when the device has done all but the last `left_s`
 * seconds of what was issued since. Returns when they start. */
double dit_cost_clock_enter_before(dit_cost_clock *clock, double left_s);
/* Call it after the messages, which took elapsed_s: the device, too, is at the time of the simulated process then. */
void dit_cost_clock_leave(dit_cost_clock *clock, double elapsed_s);
/* Lets the host wait for the device and pay host_s more. Charges the simulated process up to then and returns that
 * moment. */
double dit_cost_clock_synchronise(dit_cost_clock *clock, double host_s);

#ifdef __cplusplus
}
#endif
#endif
