/* What a collective library adds to its messages: the algorithm and protocol it picks, the latency it puts in front,
 * and the share of the links that they can use. Pure functions, with NCCL's own constants; the messages themselves are
 * simulated.
 */
#ifndef DIT_KERNELS_COST_COLLECTIVE_H
#define DIT_KERNELS_COST_COLLECTIVE_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    DIT_COST_ALL_REDUCE,
    DIT_COST_ALL_GATHER,
    DIT_COST_REDUCE_SCATTER,
    DIT_COST_ALL_TO_ALL, /* sends and receives of one group: all at once */
    DIT_COST_SEND_RECV,
    DIT_COST_COLLECTIVE_COUNT
} dit_cost_collective;
const char *dit_cost_collective_name(dit_cost_collective collective);

/* NVLS: the switch adds up and copies; its tree: a switch in every node, a tree between nodes. */
typedef enum {
    DIT_COST_RING,
    DIT_COST_TREE,
    DIT_COST_NVLS,
    DIT_COST_NVLS_TREE,
    DIT_COST_ALGORITHM_COUNT
} dit_cost_algorithm;
const char *dit_cost_algorithm_name(dit_cost_algorithm algorithm);

typedef enum { DIT_COST_LL, DIT_COST_LL128, DIT_COST_SIMPLE, DIT_COST_PROTOCOL_COUNT } dit_cost_protocol;
const char *dit_cost_protocol_name(dit_cost_protocol protocol);

typedef enum { DIT_COST_NVLINK, DIT_COST_PCIE, DIT_COST_NETWORK, DIT_COST_LINK_COUNT } dit_cost_link_kind;
typedef enum {
    DIT_COST_VOLTA,
    DIT_COST_AMPERE,
    DIT_COST_HOPPER,
    DIT_COST_BLACKWELL,
    DIT_COST_GENERATION_COUNT
} dit_cost_generation;

/* Of the first word of an accelerator's architecture: Turing as Volta, Ada as Ampere, and what NCCL does not know, too.
 */
dit_cost_generation dit_cost_generation_of(const char *architecture);

/* The links that a group's messages take, bandwidths of one direction. Ranks of one node are `inside`, nodes are joined
 * by DIT_COST_NETWORK. */
typedef struct {
    dit_cost_link_kind inside; /* NVLINK or PCIE                                                     */
    bool nvswitch;             /* over a switch, which can add up from Hopper on                     */
    dit_cost_generation generation;
    double bandwidth_bytes_per_s;         /* of one rank to the next of its node                     */
    double network_bandwidth_bytes_per_s; /* of one node: all adapters that its ranks have. 0: as inside */
    double ring_bandwidth_bytes_per_s;    /* of simulated messages from every rank to the next at once; 0: the least of
                                             the two */
    int ranks, nodes;                     /* nodes <= ranks                                          */
    double inside_latency_s, network_latency_s; /* that the simulated links take for a message by themselves */
    double inside_many_peers_efficiency, network_many_peers_efficiency; /* 0: 1                      */
} dit_cost_group;

typedef struct {
    dit_cost_algorithm algorithm; /* of all_to_all and send_recv: none, said to be a ring                   */
    dit_cost_protocol protocol;
    double latency_s;        /* of the whole collective, that of the links included                         */
    double front_latency_s;  /* in front of the messages: what the simulated links leave of latency_s       */
    double bandwidth_factor; /* of what simulated messages have: above 1 where the library does better      */
    double seconds;          /* latency + bytes over that bandwidth: what the library itself expects        */
    double ends_s;           /* at least: what the ranks' own ends need, whatever lies between; 0: no more  */
} dit_cost_exchange;

/* The algorithm and protocol with the least expected time, as NCCL chooses, and that time.
 *   ring      latency = base + inside steps * hop + network steps * network hop; all_reduce 2 (ranks - 1) steps,
 *             all_gather and reduce_scatter ranks - 1, of which 2 (nodes - 1) and nodes - 1 over the network
 *   tree      all_reduce: base + 2 ((ranks of a node - 1) hop + log2(nodes) network hop), half of 0.92 of the link
 *   NVLS      all three, in one node with NVSwitch, Hopper and newer
 *   its tree  all_reduce over such nodes
 * and a protocol's share of the link: LL min(its ceiling, 1/2), LL128 0.92, only over NVLink in one node, Simple 1.
 * `bytes` is what NCCL counts: all_reduce the buffer, all_gather and reduce_scatter all ranks' pieces together,
 * all_to_all and send_recv what one rank sends. Those two are groups of messages that the tuner does not model: LL up
 * to 16 KiB a message where it is faster, else Simple; all peers at once; base and hop those of rings, an assumption.
 * For every doubling of the peers that a rank speaks with at once, 1 for send_recv and ranks - 1 for all_to_all, the
 * bandwidth falls by many_peers_efficiency, that of the network where there are nodes: it is what they wait for. Inside
 * a node that is lost at the ranks' ends (ends_s): links that many ranks share pass no more bytes for it. Over NVLink a
 * message has 32 channels, of more than four ranks so many fewer that no channel has more than four of an all-to-all's:
 * half of the link's bandwidth to one of 8 ranks. (enqueue.cc of NCCL 2.18, nChannelsMax; from 2.20 on only between
 * nodes.) Messages of a pair that has a communicator of its own are a group of two. The messages to be simulated: of
 * all_gather and reduce_scatter, one from every rank to the next, as long as all that passes it in a ring; of
 * all_reduce one twice as long; of all_to_all one to every other. One rank, or no bytes: all 0, factor 1. Source:
 * NCCL 2.30 src/graph/tuning.cc (ncclTopoTuneModel, ncclTopoGetAlgoTime) and search.cc (speeds of channels),
 * NCCL_P2P_LL_THRESHOLD; shares of the peak: arXiv:2507.04786. The tuner compares algorithms; measured times of small
 * collectives are up to three times its.
 */
dit_cost_exchange dit_cost_exchange_of(const dit_cost_group *group, dit_cost_collective collective, double bytes);

#ifdef __cplusplus
}
#endif
#endif
