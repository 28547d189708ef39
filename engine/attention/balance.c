#include "engine/attention/balance.h"

#include "base/json.h"

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
    balance b = {.slots = all->size * all->hops};
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
        for (int rank = 0; rank < all->size; rank++) {
            most = fmax(most, hop_of(all, rank, hop)->flops);
            b.idle_slots += hop_of(all, rank, hop)->flops <= 0;
        }
        b.steps += most;
    }
    b.waiting = passed > 0 ? waited / passed : 0;
    return b;
}

/* ---- documents --------------------------------------------------------------------------------------------------- */

static dit_status add_part(cJSON *parent, const char *key, bool array, cJSON **out)
{
    *out = array ? cJSON_AddArrayToObject(parent, key) : cJSON_AddObjectToObject(parent, key);
    return *out ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
}

static dit_status append(cJSON *array, double value)
{
    cJSON *item = cJSON_CreateNumber(value);
    if (item && cJSON_AddItemToArray(array, item)) return DIT_OK;
    cJSON_Delete(item);
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
}

static dit_status add_switch(cJSON *object, const char *key, bool value)
{
    return cJSON_AddBoolToObject(object, key, value) ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
}

static dit_status add_layer(const dit_layer_run *run, cJSON *more)
{
    const dit_layer *layer = &run->layer;
    dit_head_cut heads = dit_head_cut_of(layer->heads, layer->kv_heads, run->cut.u);
    cJSON *part;
    DIT_TRY(add_part(more, "layer", false, &part));
    DIT_TRY(dit_json_add_int(part, "tokens", layer->tokens));
    DIT_TRY(dit_json_add_int(part, "heads", layer->heads));
    DIT_TRY(dit_json_add_int(part, "kv_heads", layer->kv_heads));
    DIT_TRY(dit_json_add_int(part, "head_dim", layer->head_dim));
    DIT_TRY(dit_json_add_int(part, "batch", layer->batch));
    DIT_TRY(dit_json_add_string(part, "layout", dit_token_layout_name(layer->layout)));
    DIT_TRY(add_switch(part, "causal", layer->causal));
    DIT_TRY(add_switch(part, "packed", layer->packed));
    DIT_TRY(dit_json_add_int(part, "padded_tokens", run->cut.r * run->cut.ring_rows));
    DIT_TRY(dit_json_add_int(part, "rank_heads", heads.heads));
    return dit_json_add_int(part, "rank_kv_heads", heads.kv_heads);
}

static dit_status add_hops(const everyone *all, cJSON *part)
{
    cJSON *hops, *hop, *list;
    DIT_TRY(add_part(part, "hops", true, &hops));
    for (int i = 0; i < all->hops; i++) {
        hop = cJSON_CreateObject();
        if (!hop || !cJSON_AddItemToArray(hops, hop)) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
        DIT_TRY(add_part(hop, "flops", true, &list));
        for (int rank = 0; rank < all->size; rank++) DIT_TRY(append(list, hop_of(all, rank, i)->flops));
        DIT_TRY(add_part(hop, "compute_ns", true, &list));
        for (int rank = 0; rank < all->size; rank++) DIT_TRY(append(list, (double)hop_of(all, rank, i)->compute_ns));
        DIT_TRY(add_part(hop, "waiting_ns", true, &list));
        for (int rank = 0; rank < all->size; rank++) DIT_TRY(append(list, (double)hop_of(all, rank, i)->waiting_ns));
    }
    return DIT_OK;
}

static dit_status add_balance(const everyone *all, cJSON *more)
{
    balance b = weigh(all);
    cJSON *part, *list;
    DIT_TRY(add_part(more, "balance", false, &part));
    DIT_TRY(dit_json_add_number(part, "attention_flops", b.mean * all->size));
    DIT_TRY(dit_json_add_number(part, "flops_max_over_mean", b.most / b.mean));
    DIT_TRY(dit_json_add_number(part, "idle_share", 1 - b.mean / b.steps));
    DIT_TRY(dit_json_add_number(part, "idle_slot_share", (double)b.idle_slots / b.slots));
    DIT_TRY(dit_json_add_number(part, "waiting_share", b.waiting));
    DIT_TRY(add_part(part, "rank_flops", true, &list));
    for (int rank = 0; rank < all->size; rank++) DIT_TRY(append(list, share_of(all, rank)->flops));
    return add_hops(all, part);
}

static dit_status add_check(const everyone *all, double tolerance, cJSON *more, double *rel_l2)
{
    double difference = 0, norm = 0;
    cJSON *part;
    DIT_TRY(add_part(more, "operator_check", false, &part));
    *rel_l2 = -1;
    if (!share_of(all, 0)->check.done)
        return dit_json_add_string(part, "reason", "the layer is too large for the plain operator");
    for (int rank = 0; rank < all->size; rank++) {
        difference += share_of(all, rank)->check.difference;
        norm += share_of(all, rank)->check.norm;
    }
    *rel_l2 = norm > 0 ? sqrt(difference / norm) : sqrt(difference);
    DIT_TRY(dit_json_add_number(part, "rel_l2", *rel_l2));
    DIT_TRY(dit_json_add_number(part, "tolerance", tolerance));
    return add_switch(part, "pass", *rel_l2 <= tolerance);
}

dit_status dit_layer_report(const dit_layer_run *run, const dit_layer_share *own, double tolerance, cJSON *more,
                            double *rel_l2)
{
    everyone all;
    dit_status st = meet(run, own, &all);
    if (st == DIT_OK) st = add_layer(run, more);
    if (st == DIT_OK) st = add_balance(&all, more);
    if (st == DIT_OK) st = add_check(&all, tolerance, more, rel_l2);
    free(all.shares);
    free(all.hop_bytes);
    free(all.offsets);
    return st;
}
