/* Predicts what NCCL adds to the messages of a collective: which algorithm and protocol it picks, how much latency
 * comes before the messages, and which share of the links they can use. Pure functions with NCCL's own constants; the
 * messages themselves are simulated elsewhere.
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
    DIT_COST_ALL_TO_ALL, /* sends and receives that are grouped: all at once */
    DIT_COST_SEND_RECV,
    DIT_COST_COLLECTIVE_COUNT
} dit_cost_collective;
const char *dit_cost_collective_name(dit_cost_collective collective);

/* NVLS: the NVSwitch adds up and copies. NVLS_TREE: NVLS inside each node, a tree between nodes. */
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

/* Returns the generation that the first word of an accelerator's architecture names. Turing counts as Volta; Ada, and
 * all that NCCL does not know, as Ampere. */
dit_cost_generation dit_cost_generation_of(const char *architecture);

/* The links that a group's messages take; bandwidths are of one direction. `inside` links the ranks of a node,
 * DIT_COST_NETWORK the nodes. */
typedef struct {
    dit_cost_link_kind inside; /* NVLINK or PCIE                                                     */
    bool nvswitch;             /* NVLink goes over a switch, which from Hopper on can add up         */
    dit_cost_generation generation;
    double bandwidth_bytes_per_s;         /* from one rank to the next in its node                   */
    double network_bandwidth_bytes_per_s; /* of a node: all adapters of its ranks together; 0: as inside */
    double ring_bandwidth_bytes_per_s;    /* of simulated messages when every rank sends to the next at once; 0: the
                                             lesser of the two above */
    double ends_bytes_per_s; /* what a rank has to its node, whatever lies between two ranks; 0: as from one rank to
                                the next                                                                         */
    int ranks, nodes;        /* nodes <= ranks                                          */
    double inside_latency_s, network_latency_s;                         /* of one message on the simulated links */
    double inside_many_peers_efficiency, network_many_peers_efficiency; /* 0: 1                      */
    double inside_few_peers_efficiency, network_few_peers_efficiency;   /* 0: as many_peers          */
    double network_collective_times; /* of network_bandwidth_bytes_per_s, which is a message's, that a collective of
                                        several channels gets; 0: 1                                  */
    int tensors;                     /* that one message of send_recv stands for, each with its own channels; 0: 1 */
    bool network_rings_only;         /* no tree between nodes                                        */
} dit_cost_group;

typedef struct {
    dit_cost_algorithm algorithm; /* all_to_all and send_recv have none; they say ring                      */
    dit_cost_protocol protocol;
    double latency_s;        /* of the whole collective, with that of the links                             */
    double front_latency_s;  /* before the messages: latency_s without that of the simulated links          */
    double bandwidth_factor; /* times the bandwidth of simulated messages; above 1 where NCCL does better   */
    double seconds;          /* latency + bytes over that bandwidth: the time that NCCL expects             */
    double ends_s;           /* lower limit of the time: what the ranks' ends need; 0: no such limit        */
} dit_cost_exchange;

/* Returns the algorithm and protocol with the least expected time, as NCCL chooses them, and that time. One rank, or no
 * bytes: all times 0, factor 1.
 *
 * `bytes` is what NCCL counts: for all_reduce the buffer, for all_gather and reduce_scatter the pieces of all ranks
 * together, for all_to_all and send_recv what one rank sends.
 *
 * all_reduce, all_gather and reduce_scatter follow NCCL's tuner:
 *   ring       latency = base + inside steps * hop + network steps * network hop. all_reduce takes 2 (ranks - 1) steps,
 *              2 (nodes - 1) of them over the network; all_gather and reduce_scatter take half of both.
 *   tree       all_reduce only: base + 2 ((ranks of a node - 1) hop + log2(nodes) network hop), at half of 0.92 of the
 *              link
 *   NVLS       all three collectives, in one node with NVSwitch, from Hopper on
 *   NVLS tree  all_reduce over several such nodes
 *   protocols  LL uses at most half of the link, and no more than its ceiling; LL128 0.92 of it, only over NVLink in
 *              one node; Simple all of it
 *
 * all_to_all and send_recv are grouped messages, which the tuner does not model. Here, as an assumption, a group takes
 * a ring's base and one hop, in LL up to 16 KiB a message where that is faster, else in Simple, with all peers at once.
 *   - For every doubling of the peers that a rank exchanges with at once (1 in send_recv, ranks - 1 in all_to_all) its
 *     bandwidth is multiplied by few_peers_efficiency up to three peers, and by many_peers_efficiency from there on:
 *     the network's between nodes, else those inside a node. Two peers keep the root of what three keep. Inside a
 *     node the loss is at the ranks' ends (ends_s), of what their own links bring: links that many ranks share carry no
 *     more bytes because of it, and a slower link on the way loses nothing more.
 *   - Between nodes a message has one channel, and a collective several: NCCL doubles the rings that it has found
 *     (src/graph/connect.cc, ncclTopoPostset). Where a channel cannot fill the adapter, as over TCP sockets, a
 *     collective is faster than a message by network_collective_times.
 *   - Over an NVSwitch a message has 32 channels, halved until those of a message to every rank are no more than 32;
 *     they double while one would carry more than 16 MiB (NCCL 2.19 to 2.30, enqueue.cc: nChannelsMin, nChannelsMax and
 *     maxPartSize, 32 chunks of 512 KiB). A channel is a block of threads, which moves what the tuner gives a ring's
 *     channel of LL128. So a ring of 8 ranks has 4 channels, and a third of the link of an A100.
 *   - A pair with a communicator of its own is a group of two ranks.
 *
 * The caller simulates these messages: for all_gather and reduce_scatter one from every rank to the next, as long as
 * everything that passes this link in a ring; for all_reduce twice as long a one; for all_to_all one to every other
 * rank.
 *
 * Source: NCCL 2.30 src/graph/tuning.cc (ncclTopoTuneModel, ncclTopoGetAlgoTime) and search.cc (speeds of channels),
 * NCCL_P2P_LL_THRESHOLD; shares of the peak: arXiv:2507.04786. The tuner's purpose is to compare algorithms: measured
 * times of small collectives are up to three times as long.
 */
dit_cost_exchange dit_cost_exchange_of(const dit_cost_group *group, dit_cost_collective collective, double bytes);

#ifdef __cplusplus
}
#endif
#endif
