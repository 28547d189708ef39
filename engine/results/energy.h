/* Energy: reads the meters of this machine while iterations run: each GPU's own, or those of the processors' packages
 * (Linux's powercap, which is Intel's RAPL and AMD's).
 *
 * Each meter is read by one rank. A meter sees its whole GPU or package, other programs included. Two numbers are
 * taken, so that one can be held against the other: the difference of the meter's counter, and the integral of its
 * power, sampled every 0.1 s. Powercap has no power, and counters that run over; both are looked at every 2 s.
 */
#ifndef DIT_ENGINE_ENERGY_H
#define DIT_ENGINE_ENERGY_H

#include "base/json_writer.h"
#include "engine/runtime/runtime.h"

/* What the meters of one rank showed, or of all ranks. Plain data: ranks send it as bytes. */
typedef struct {
    int meters;                           /* 0: this rank reads none, and the rest means nothing       */
    bool packages;                        /* of processors; else of GPUs                               */
    double counter_j, integral_j, rest_w; /* NAN: not told; rest_w: of a GPU before the first warm-up  */
    double window_s;                      /* from before the first iteration to after the last         */
} dit_energy;

typedef struct dit_energy_meter dit_energy_meter;
/* Opens the meters that this rank reads; *out is NULL where there are none. dit_energy_close frees it. Errors:
 * DIT_ERR_MEMORY. */
dit_status dit_energy_open(const dit_runtime *rt, dit_energy_meter **out);
void dit_energy_close(dit_energy_meter *meter); /* accepts NULL */
/* Looks at the power of GPUs for half a second, in which nothing may compute. Accepts NULL. */
void dit_energy_rest(dit_energy_meter *meter);
/* Begin to measure, and end: a thread samples between them. Both accept NULL. Errors: DIT_ERR_INTERNAL without a
 * thread. */
dit_status dit_energy_begin(dit_energy_meter *meter);
void dit_energy_end(dit_energy_meter *meter, dit_energy *out);

/* Adds what one rank read to what others read; numbers that one of them lacks are lacking. */
void dit_energy_add(dit_energy *all, const dit_energy *one);
/* Returns why the energy of an iteration should not be taken from this; NULL: there is no reason. busy_s is the time
 * of all iterations together. */
const char *dit_energy_doubt(const dit_energy *energy, double busy_s);
/* Adds "energy" to a record (results/schema/record.md); nothing where no meter was read. */
void dit_energy_put(dit_json_writer *w, cJSON *record, const dit_energy *energy, int iterations, double busy_s);

#endif
