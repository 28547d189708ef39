/* Advances host and device time of one simulated rank. */
#include "kernels/cost/clock.h"

#include <math.h>

static double charge_up_to(dit_cost_clock *clock, double now)
{
    double seconds = now - clock->charged_s;
    if (!(seconds > 0)) return clock->charged_s;
    clock->charged_s = now;
    if (clock->charge) clock->charge(clock->context, seconds);
    return now;
}

void dit_cost_clock_dispatch(dit_cost_clock *clock, double host_s, double device_s)
{
    clock->host_busy_s += host_s, clock->device_busy_s += device_s;
    clock->host_s += host_s;
    clock->device_s = fmax(clock->device_s, clock->host_s) + device_s;
}

void dit_cost_clock_dispatch_many(dit_cost_clock *clock, double kernels, double host_s, double device_s)
{
    clock->host_busy_s += host_s, clock->device_busy_s += device_s;
    double count = fmax(kernels, 1), first_s = fmax(clock->device_s, clock->host_s + host_s / count);
    clock->host_s += host_s;
    clock->device_s = fmax(first_s + device_s, clock->host_s + device_s / count);
}

double dit_cost_clock_enter(dit_cost_clock *clock, double host_s)
{
    dit_cost_clock_dispatch(clock, host_s, 0);
    return charge_up_to(clock, clock->device_s);
}

double dit_cost_clock_enter_before(dit_cost_clock *clock, double left_s)
{
    return charge_up_to(clock, clock->device_s - left_s);
}

void dit_cost_clock_leave(dit_cost_clock *clock, double elapsed_s)
{
    clock->charged_s += elapsed_s;
    clock->device_s = fmax(clock->device_s, clock->charged_s);
}

double dit_cost_clock_synchronise(dit_cost_clock *clock, double host_s)
{
    clock->host_busy_s += host_s;
    clock->host_s = fmax(clock->host_s, clock->device_s) + host_s;
    return charge_up_to(clock, clock->host_s);
}
