#include "kernels/cost/wrapped.h"

#include <math.h>

/* ---- reading ----------------------------------------------------------------------------------------------------- */

dit_status dit_wrapped_read(const dit_json *doc, const char *path, dit_wrapped *out)
{
    const cJSON *model = dit_json_member(doc->root, "model"), *parallel = dit_json_member(doc->root, "parallel");
    const char *name = dit_json_text_or(dit_json_member(model, "config"), "_class_name", NULL);
    int64_t pipeline = dit_json_int_or(parallel, "pipefusion_degree", 1);
    *out = (dit_wrapped){.calls = 1};
    out->ulysses = (int)dit_json_int_or(parallel, "ulysses_degree", 1);
    out->ring = (int)dit_json_int_or(parallel, "ring_degree", 1);
    int ranks = out->ulysses * out->ring;
    if (!*path || !name || pipeline > 1 || ranks < 2) return DIT_OK;
    int64_t text = dit_json_int_or(dit_json_member(model, "text"), "tokens", 0);
    return dit_wrappers_read(path, name, text % ranks == 0, &out->of);
}

/* ---- attention over the sequence --------------------------------------------------------------------------------- */

void dit_wrapped_begin(dit_wrapped *wrapped, double batch, int calls)
{
    wrapped->in = wrapped->of.wraps, wrapped->computed = false;
    wrapped->batch = batch > 1, wrapped->calls = calls > 1 ? calls : 1;
    wrapped->attended = wrapped->merged = 0;
}

static void add(dit_cost_time *to, const dit_cost_time *time, double times)
{
    to->device_s += times * time->device_s;
    to->host_s += times * time->host_s;
    to->kernels += times * time->kernels;
    to->last_s = to->device_s;
}

/* An event of `elements` of q, of all calls together. */
static dit_cost_time event_time(const dit_wrapped *wrapped, const dit_cost_device *device,
                                const dit_cost_profile *profile, dit_wrapper_event event, double elements)
{
    const dit_wrapper_size size = {.elements = elements / wrapped->calls,
                                   .keys = elements / wrapped->calls * wrapped->keys_of_query,
                                   .rows = wrapped->head_dim > 0 ? elements / wrapped->calls / wrapped->head_dim : 0,
                                   .batch = wrapped->batch,
                                   .ranks = wrapped->ulysses > 1};
    dit_cost_time one = dit_wrapper_time(&wrapped->of.self, device, profile, event, &size), all = {0};
    add(&all, &one, wrapped->calls);
    return all;
}

dit_cost_time dit_wrapped_end(dit_wrapped *wrapped, const dit_cost_device *device, const dit_cost_profile *profile)
{
    dit_cost_time all = {0};
    if (wrapped->in && wrapped->computed) {
        double out = wrapped->attended - wrapped->merged;
        all = event_time(wrapped, device, profile, DIT_WRAPPER_CALL, out);
        dit_cost_time ring = event_time(wrapped, device, profile, DIT_WRAPPER_RING, out);
        if (wrapped->ring > 1) add(&all, &ring, 1);
    }
    wrapped->in = false;
    return all;
}

bool dit_wrapped_op_time(const dit_wrapped *wrapped, const dit_cost_device *device, const dit_cost_profile *profile,
                         const dit_cost_op *op, dit_cost_time *out)
{
    *out = (dit_cost_time){0};
    if (!wrapped->in) return false;
    if (op->kind == DIT_COST_OP_COPY) return true; /* the library's own copies are in its events */
    dit_wrapper_event exchange = wrapped->computed ? DIT_WRAPPER_GATHER : DIT_WRAPPER_SCATTER;
    if (op->kind == DIT_COST_OP_EXCHANGE)
        *out = event_time(wrapped, device, profile, exchange, (double)op->elements);
    else if (op->kind == DIT_COST_OP_ATTENTION_MERGE)
        *out = event_time(wrapped, device, profile, DIT_WRAPPER_HOP, (double)op->elements);
    else
        return false;
    return true;
}

void dit_wrapped_saw(dit_wrapped *wrapped, const dit_cost_op *op)
{
    if (!wrapped->in) return;
    if (op->kind == DIT_COST_OP_ATTENTION_MERGE) wrapped->merged += (double)op->elements;
    if (op->kind != DIT_COST_OP_ATTENTION) return;
    wrapped->computed = true;
    wrapped->attended += (double)op->elements;
    wrapped->keys_of_query = op->attention.Sq > 0 ? (double)op->attention.Sk / (double)op->attention.Sq : 0;
    wrapped->head_dim = (double)op->attention.D;
}

/* ---- attention to text ------------------------------------------------------------------------------------------- */

/* An exchange of `elements` of one rank: its copies, and the messages, for which the device waits. */
static dit_cost_time exchange_time(const dit_wrapped *wrapped, const dit_cost_device *device,
                                   const dit_cost_profile *profile, dit_wrapper_event event,
                                   const dit_wrapper_size *size, double elements)
{
    dit_wrapper_size own = *size;
    own.elements = elements;
    dit_cost_time time = dit_wrapper_time(&wrapped->of.cross, device, profile, event, &own);
    double sent = elements * device->element_bytes * (wrapped->ulysses - 1) / wrapped->ulysses;
    if (wrapped->ulysses_links.ranks)
        time.device_s += dit_cost_exchange_of(&wrapped->ulysses_links, DIT_COST_ALL_TO_ALL, sent).seconds;
    time.host_s += dit_cost_collective_dispatch_seconds(profile);
    return time;
}

static void add_exchanges(const dit_wrapped *wrapped, const dit_cost_device *device, const dit_cost_profile *profile,
                          const dit_wrapper_size *size, dit_cost_time *all)
{
    dit_cost_time q = exchange_time(wrapped, device, profile, DIT_WRAPPER_SCATTER, size, size->elements);
    dit_cost_time k = exchange_time(wrapped, device, profile, DIT_WRAPPER_SCATTER, size, size->keys);
    dit_cost_time out = exchange_time(wrapped, device, profile, DIT_WRAPPER_GATHER, size, size->elements);
    add(all, &q, 1);
    add(all, &k, 2);
    add(all, &out, 1);
}

/* Blocks of keys after the first wait for those of all ranks. */
static void add_ring(const dit_wrapped *wrapped, const dit_cost_device *device, const dit_cost_profile *profile,
                     const dit_wrapper_size *size, double block_s, dit_cost_time *all)
{
    const dit_wrapper *cross = &wrapped->of.cross;
    dit_cost_time ring = dit_wrapper_time(cross, device, profile, DIT_WRAPPER_RING, size);
    dit_cost_time hop = dit_wrapper_time(cross, device, profile, DIT_WRAPPER_HOP, size);
    double bytes = 2 * size->keys * device->element_bytes * wrapped->ring;
    int messages = cross->gathers ? 1 : wrapped->ring - 1;
    add(all, &ring, 1);
    add(all, &hop, wrapped->ring - 1);
    all->host_s += messages * dit_cost_collective_dispatch_seconds(profile);
    if (wrapped->ring_links.ranks)
        all->device_s +=
            fmax(0, dit_cost_exchange_of(&wrapped->ring_links, DIT_COST_ALL_GATHER, bytes).seconds - block_s);
}

dit_cost_time dit_wrapped_cross_time(const dit_wrapped *wrapped, const dit_cost_device *device,
                                     const dit_cost_profile *profile, const dit_cost_op *op, double batch, int calls)
{
    int ranks = wrapped->ulysses * wrapped->ring;
    dit_cost_attention block = op->attention;
    dit_wrapper_size size = {
        .elements = (double)op->elements / calls, .batch = batch > 1, .ranks = wrapped->ulysses > 1};
    size.keys = size.elements * (double)block.Sk / (double)(block.Sq > 0 ? block.Sq : 1) / ranks;
    size.rows = size.elements / (double)(block.D > 0 ? block.D : 1);
    block.B = (block.B + calls - 1) / calls;
    block.H = (block.H + wrapped->ulysses - 1) / wrapped->ulysses;
    block.Sq *= wrapped->ulysses;
    block.Sk = (block.Sk + wrapped->ring - 1) / wrapped->ring;
    double block_s = dit_cost_attention_seconds(device, &block);
    dit_cost_time one = dit_wrapper_time(&wrapped->of.cross, device, profile, DIT_WRAPPER_CALL, &size), all = {0};
    one.device_s += wrapped->ring * block_s;
    one.kernels += wrapped->ring;
    one.host_s += wrapped->ring * dit_cost_dispatch_seconds(profile);
    if (wrapped->ulysses > 1) add_exchanges(wrapped, device, profile, &size, &one);
    if (wrapped->ring > 1) add_ring(wrapped, device, profile, &size, block_s, &one);
    add(&all, &one, calls);
    return all;
}
