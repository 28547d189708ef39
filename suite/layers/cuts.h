/* Cuts: divides a chain of elements into consecutive stages, whose costs depend on the stage. Pure. Private to
 * suite/layers. */
#ifndef DIT_SUITE_LAYERS_CUTS_H
#define DIT_SUITE_LAYERS_CUTS_H

#include "suite/layers/layers.h"

/* What every run of elements costs in every stage. */
typedef struct {
    int stages, elements;
    double *value; /* [stages][elements + 1][elements + 1]: of elements [from, to) */
} suite_cut_table;

/* All values are INFINITY. Errors: DIT_ERR_MEMORY. release accepts a zeroed one. */
dit_status suite_cut_table_open(int stages, int elements, suite_cut_table *out);
void suite_cut_table_release(suite_cut_table *table);
double *suite_cut_at(const suite_cut_table *table, int stage, int from, int to);

/* Find the cut whose greatest value is least, and the one with the least sum of `micro` + (micro_batches - 1) * its
 * greatest + the greatest of `step`. ends [stages] gets where each stage ends. Every stage has an element. The second
 * tries all cuts, but for those that cannot become the best, and fails as `watch` says. *found is false where every cut
 * has an infinite value; the first returns false then, and without memory. */
bool suite_cut_evenly(const suite_cut_table *table, int *ends);
dit_status suite_cut_fastest(const suite_cut_table *micro, const suite_cut_table *step, int micro_batches,
                             const suite_layers_watch *watch, int *ends, bool *found);

#endif
