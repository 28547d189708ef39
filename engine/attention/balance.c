#include "engine/attention/balance.h"

#include "base/json_writer.h"

#include <math.h>
#include <stdlib.h>

/* What all ranks told. */
typedef struct {
    int size, hops;
    char *shares, *hop_bytes; /* [size] dit_layer_share, [size][hops] dit_attention_hop */
    int64_t *offsets;
} everyone;

static const dit_layer_share *share_of(const everyone *all, int rank)
{
    return (const dit_layer_share *)(const void *)all->shares + rank;
}

static const dit_attention_hop *hop_of(const everyone *all, int rank, int hop)
{
    return (const dit_attention_hop *)(const void *)all->hop_bytes + (int64_t)rank * all->hops + hop;
}

static dit_status meet(const dit_layer_run *run, const dit_layer_share *own, everyone *all)
{
    dit_comm *world = dit_comm_world();
    const dit_attention_hop *hops = dit_attention_hops(run->attention);
    *all = (everyone){.size = dit_comm_size(world), .hops = (int)run->cut.r};
    all->offsets = calloc((size_t)all->size + 1, sizeof *all->offsets);
    if (!all->offsets) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d sizes", all->size);
    DIT_TRY(dit_comm_collect(world, own, (int64_t)sizeof *own, &all->shares, all->offsets));
    return dit_comm_collect(world, hops, all->hops * (int64_t)sizeof *hops, &all->hop_bytes, all->offsets);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

typedef struct {
    double most, mean; /* flops of a rank                                                        */
    double steps;      /* sum over hops of the busiest rank's flops: no rank can run ahead       */
    double waiting;    /* time waited as a share of all time, over all ranks and timed forwards  */
    int idle_slots, slots;
} balance;

static balance weigh(const everyone *all)
{
    balance b = {0};
    double waited = 0, passed = 0;
    for (int rank = 0; rank < all->size; rank++) {
        const dit_layer_share *share = share_of(all, rank);
        b.most = fmax(b.most, share->flops);
        b.mean += share->flops / all->size;
        waited += (double)share->exposed_ns;
        passed += (double)share->latency_ns;
    }
    for (int hop = 0; hop < all->hops; hop++) {
        double most = 0;
        int idle = 0;
        for (int rank = 0; rank < all->size; rank++) {
            most = fmax(most, hop_of(all, rank, hop)->flops);
            idle += hop_of(all, rank, hop)->flops <= 0;
        }
        b.steps += most;
        if (idle == all->size) continue; /* the policy has fewer hops */
        b.idle_slots += idle;
        b.slots += all->size;
    }
    b.waiting = passed > 0 ? waited / passed : 0;
    return b;
}

/* ---- documents --------------------------------------------------------------------------------------------------- */

static void add_layer(dit_json_writer *w, const dit_layer_run *run, cJSON *more)
{
    const dit_layer *layer = &run->layer;
    dit_head_cut heads = dit_head_cut_of(layer->heads, layer->kv_heads, run->cut.u);
    cJSON *part = dit_json_put_object(w, more, "layer");
    dit_json_put_int(w, part, "tokens", layer->tokens);
    dit_json_put_int(w, part, "heads", layer->heads);
    dit_json_put_int(w, part, "kv_heads", layer->kv_heads);
    dit_json_put_int(w, part, "head_dim", layer->head_dim);
    dit_json_put_int(w, part, "batch", layer->batch);
    dit_json_put_string(w, part, "layout", dit_token_layout_name(layer->layout));
    dit_json_put_bool(w, part, "causal", layer->causal);
    if (layer->mask) dit_json_put_string(w, part, "mask", dit_mask_name(layer->mask));
    dit_json_put_bool(w, part, "packed", layer->packed);
    if (layer->inner_ring) dit_json_put_int(w, part, "inner_ring", layer->inner_ring);
    dit_json_put_int(w, part, "padded_tokens", run->cut.r * run->cut.ring_rows);
    dit_json_put_int(w, part, "rank_heads", heads.heads);
    dit_json_put_int(w, part, "rank_kv_heads", heads.kv_heads);
}

static void add_hops(dit_json_writer *w, const everyone *all, cJSON *part)
{
    cJSON *hops = dit_json_put_array(w, part, "hops");
    for (int i = 0; i < all->hops; i++) {
        cJSON *hop = dit_json_put_object(w, hops, NULL);
        cJSON *list = dit_json_put_array(w, hop, "flops");
        for (int rank = 0; rank < all->size; rank++) dit_json_put_number(w, list, NULL, hop_of(all, rank, i)->flops);
        list = dit_json_put_array(w, hop, "compute_ns");
        for (int rank = 0; rank < all->size; rank++)
            dit_json_put_number(w, list, NULL, (double)hop_of(all, rank, i)->compute_ns);
        list = dit_json_put_array(w, hop, "waiting_ns");
        for (int rank = 0; rank < all->size; rank++)
            dit_json_put_number(w, list, NULL, (double)hop_of(all, rank, i)->waiting_ns);
    }
}

static void add_balance(dit_json_writer *w, const everyone *all, cJSON *more)
{
    balance b = weigh(all);
    cJSON *part = dit_json_put_object(w, more, "balance");
    dit_json_put_number(w, part, "attention_flops", b.mean * all->size);
    dit_json_put_number(w, part, "flops_max_over_mean", b.most / b.mean);
    dit_json_put_number(w, part, "idle_share", 1 - b.mean / b.steps);
    dit_json_put_number(w, part, "idle_slot_share", (double)b.idle_slots / b.slots);
    dit_json_put_number(w, part, "waiting_share", b.waiting);
    cJSON *list = dit_json_put_array(w, part, "rank_flops");
    for (int rank = 0; rank < all->size; rank++) dit_json_put_number(w, list, NULL, share_of(all, rank)->flops);
    add_hops(w, all, part);
}

static void add_check(dit_json_writer *w, const everyone *all, double tolerance, cJSON *more, double *rel_l2)
{
    double difference = 0, norm = 0;
    cJSON *part = dit_json_put_object(w, more, "operator_check");
    *rel_l2 = -1;
    if (!share_of(all, 0)->check.done) {
        dit_json_put_string(w, part, "reason", "the layer is too large for the plain operator");
        return;
    }
    for (int rank = 0; rank < all->size; rank++) {
        difference += share_of(all, rank)->check.difference;
        norm += share_of(all, rank)->check.norm;
    }
    *rel_l2 = norm > 0 ? sqrt(difference / norm) : sqrt(difference);
    dit_json_put_number(w, part, "rel_l2", *rel_l2);
    dit_json_put_number(w, part, "tolerance", tolerance);
    dit_json_put_bool(w, part, "pass", *rel_l2 <= tolerance);
}

dit_status dit_layer_report(const dit_layer_run *run, const dit_layer_share *own, double tolerance, cJSON *more,
                            double *rel_l2)
{
    dit_json_writer w = {0};
    everyone all;
    dit_status st = meet(run, own, &all);
    if (st == DIT_OK) {
        add_layer(&w, run, more);
        add_balance(&w, &all, more);
        add_check(&w, &all, tolerance, more, rel_l2);
        st = w.status;
    }
    free(all.shares);
    free(all.hop_bytes);
    free(all.offsets);
    return st;
}
