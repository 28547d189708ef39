/* The formula of the program `collective`, for tests. */
#ifndef DIT_ENGINE_PROGRAMS_COLLECTIVE_H
#define DIT_ENGINE_PROGRAMS_COLLECTIVE_H

/* Returns busbw / algbw of an operation among `ranks`; 0: there is no such operation. */
double dit_collective_bus_factor(const char *operation, int ranks);

#endif
