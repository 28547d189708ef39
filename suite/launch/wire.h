/* Wire: makes two hosts of one machine: network namespaces that only a shaped pair of virtual interfaces joins.
 *
 * The kernel's token bucket (tc tbf) shapes each direction by itself to the rate; a delay needs its netem. Ranks that
 * run in different namespaces and speak TCP have no other way to each other. The names of the namespaces hold who owns
 * them: ditbench.<pid>.<start time>.<0 or 1>; the owner removes them, and the next harness removes those of dead
 * owners. Needs root, `ip` and `tc`.
 */
#ifndef DIT_SUITE_LAUNCH_WIRE_H
#define DIT_SUITE_LAUNCH_WIRE_H

#include "base/json.h"
#include <stdbool.h>
#include <stdint.h>

#define SUITE_WIRE_INTERFACE "link0"
#define SUITE_WIRE_SUBNET    "192.168.213.0/30"

enum { SUITE_WIRE_ENDS = 2 };

/* Of each direction. */
typedef struct {
    double rate_bits_per_s;
    double delay_s; /* beyond what the virtual interfaces have; 0: none */
} suite_wire_shape;

typedef struct {
    suite_wire_shape shape;
    char host[SUITE_WIRE_ENDS][64]; /* names of the namespaces */
    char shaping[160];              /* what tc was told        */
} suite_wire;

/* What one probe of the wire gave: the goodput of one TCP stream from end 0 to end 1, and the round trip of a byte. */
typedef struct {
    double bits_per_s, round_trip_s;
} suite_wire_rate;

/* Reads platform.link of a case document; false where there is none. */
bool suite_wire_shape_of(const cJSON *document, suite_wire_shape *out);
/* Names the hosts and the shaping; makes nothing. */
void suite_wire_plan(const suite_wire_shape *shape, suite_wire *out);
/* Makes what was planned, after removing what dead owners left. Errors: DIT_ERR_UNSUPPORTED with the reason where this
 * machine cannot; nothing is left then. */
dit_status suite_wire_open(const suite_wire *wire);
/* Removes it; fine when there is none. */
void suite_wire_close(const suite_wire *wire);
/* Removes the wires of dead owners. */
void suite_wire_sweep(void);

/* Sends over the wire for about a fifth of a second. Errors: DIT_ERR_ENVIRONMENT. */
dit_status suite_wire_probe(const suite_wire *wire, suite_wire_rate *out);
/* Reads how many bytes each end has sent since the wire was made, headers included. Errors: DIT_ERR_ENVIRONMENT. */
dit_status suite_wire_sent(const suite_wire *wire, int64_t bytes[SUITE_WIRE_ENDS]);

#endif
