/* Cluster XML: writes a cluster as SimGrid 3.32 reads it, for smpirun.
 *
 * Each node is a zone with all paths inside it, and a gateway joins it to the fabric. So the text grows with the number
 * of nodes, not with its square. Hosts are device0, device1, ...; links "node0.root0". A host computes one flop a
 * second, and smpi/host-speed says the same, so that smpi_execute(seconds) takes seconds; nothing shorter is dropped
 * (smpi/cpu-threshold). TCP's window and its acknowledgements are switched off.
 *
 * smpirun names a network model on its command line, which no file can change. Give it SUITE_SMPI_MODEL
 * (suite/launch/launch.h), or its correction factors for Ethernet change the time of every message.
 */
#ifndef DIT_SUITE_PLATFORM_CLUSTER_XML_H
#define DIT_SUITE_PLATFORM_CLUSTER_XML_H

#include "suite/platform/cluster.h"

#include <stdio.h>

/* Writes the platform file. Errors: DIT_ERR_IO. */
dit_status suite_cluster_write_xml(const suite_cluster *cluster, FILE *file);
/* Returns how many ranks share a node. Ranks take as few nodes as can hold them, as evenly as possible, which is where
 * launchers place them: 12 ranks on two nodes of 8 are 6 and 6. */
int suite_cluster_ranks_per_node(const suite_cluster *cluster, int ranks);
/* Writes the hosts of ranks 0..ranks-1, one a line: one node after the other, as many ranks on each as above.
 * Errors: DIT_ERR_CONSTRAINT_PLATFORM with more ranks than devices, DIT_ERR_IO. */
dit_status suite_cluster_write_hostfile(const suite_cluster *cluster, int ranks, FILE *file);

#endif
