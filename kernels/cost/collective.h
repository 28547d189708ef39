/* What a collective library adds to its messages: the protocol it picks, the latency it puts in front, and the share of
 * the link that its protocol can use. Pure functions, with NCCL's own constants; the messages themselves are simulated.
 */
#ifndef DIT_KERNELS_COST_COLLECTIVE_H
#define DIT_KERNELS_COST_COLLECTIVE_H

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

/* The links that a group's messages take. Ranks of one node are `inside`, nodes are joined by DIT_COST_NETWORK. */
typedef struct {
    dit_cost_link_kind inside; /* NVLINK or PCIE */
    dit_cost_generation generation;
    double bandwidth_bytes_per_s;               /* of one rank, one direction, on the slowest link of the ring */
    int ranks, nodes;                           /* nodes <= ranks */
    double inside_latency_s, network_latency_s; /* that the simulated links take for a message by themselves */
} dit_cost_group;

typedef struct {
    dit_cost_protocol protocol;
    int steps;               /* messages that follow each other                                       */
    double latency_s;        /* of the whole collective, that of the links included                   */
    double step_latency_s;   /* in front of each message: what the simulated links leave of latency_s */
    double bandwidth_factor; /* of the link's bandwidth, in (0, 1]                                    */
    double seconds;          /* latency + bytes over that bandwidth: what the library itself expects  */
} dit_cost_exchange;

/* The protocol with the least expected time, as NCCL chooses, for a ring:
 *   latency = base + inside steps * hop + network steps * network hop,
 * all_reduce 2 (ranks - 1) steps, all_gather and reduce_scatter ranks - 1, of which 2 (nodes - 1) and nodes - 1 over
 * the network; bandwidth LL min(LL's ceiling, 1/2), LL128 0.92, Simple 1 of the link. LL128 only over NVLink in one
 * node. `bytes` is what NCCL counts: all_reduce the buffer, all_gather and reduce_scatter all ranks' pieces together,
 * all_to_all and send_recv what one rank sends. Those two are groups of messages that the tuner does not model: LL up
 * to 16 KiB a message where it is faster, else Simple; one step, all peers at once; base and hop those of rings, an
 * assumption. Trees and NVLS are not modelled. One rank, or no bytes: all 0, factor 1.
 * Source: NCCL src/graph/tuning.cc (baseLat, hwLat, llMaxBws, ncclTopoTuneModel), NCCL_P2P_LL_THRESHOLD; shares of the
 * peak: arXiv:2507.04786. The tuner compares protocols; measured times of small collectives are up to three times its.
 */
dit_cost_exchange dit_cost_exchange_of(const dit_cost_group *group, dit_cost_collective collective, double bytes);

#ifdef __cplusplus
}
#endif
#endif
