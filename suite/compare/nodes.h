/* Nodes: which node is slower than the others, as far as placements tell.
 *
 * A session whose processes ran on changing nodes (`host` of the ranks of a record) says something of each node. The
 * logarithm of a process's latency is taken for an effect of its case plus the effects of the nodes that it ran on;
 * least squares give all of them, with effects of nodes that add up to zero. A process that runs on one slow node waits
 * for it, whatever the others do, so a node counts once however many ranks it has.
 * The unit is a process. Several processes in one allocation share what happened to it, and then the intervals are
 * narrower than the truth.
 */
#ifndef DIT_SUITE_COMPARE_NODES_H
#define DIT_SUITE_COMPARE_NODES_H

#include "base/json_writer.h"
#include "reports/records/records.h"

#include <stdio.h>

typedef struct {
    char *name;
    double ratio, low, high; /* times with this node over times with any other one; the interval at 99 % for all nodes
                                together (Bonferroni's rule) */
    int placements;          /* processes that ran on it */
    bool is_slow;            /* the interval lies above 1, and the ratio above 1.02 */
} suite_node;

/* release accepts a zeroed one. */
typedef struct {
    suite_node *rows; /* the slowest first; none where placements cannot tell the nodes apart */
    int count;
    int processes, cases; /* that the numbers come from */
} suite_nodes;

/* Estimates from all measured processes that ended ok and say where they ran. Errors: DIT_ERR_MEMORY. */
dit_status suite_nodes_estimate(const report_table *table, suite_nodes *out);
void suite_nodes_release(suite_nodes *nodes);
/* Warns of each slow node of a session; says nothing where there is none, or where the journal cannot be read. */
void suite_nodes_warn(const char *journal);
/* Prints a line for each node, the slowest first; nothing where placements tell nothing. */
void suite_nodes_print(const suite_nodes *nodes, FILE *out);
/* Adds "nodes": [{"name", "ratio", "low", "high", "placements", "suspect"}], where they are known. */
void suite_nodes_put(dit_json_writer *w, cJSON *parent, const suite_nodes *nodes);

#endif
