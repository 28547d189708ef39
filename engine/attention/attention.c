#include "engine/attention/attention_impl.h"

#include "base/label.h"
#include "base/patches.h"
#include "base/words.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const dit_attention_policy *const policies[] = {
#define POLICY(name) &dit_attention_##name,
    DIT_ATTENTION_LIST(POLICY)
#undef POLICY
};
enum { POLICY_COUNT = sizeof policies / sizeof *policies };

/* One attention layer alone says which token is where, and names its policy itself. */
static bool is_layer(const dit_attention_shape *shape)
{
    return shape->order != NULL;
}

/* Whether the policy communicates along exactly the axes that the mesh has. In a model, a policy of rings or patches must
 * be the mesh's method. */
static bool fits(const dit_attention_policy *policy, const dit_runtime *rt, const dit_attention_shape *shape)
{
    if (policy->linear || policy->stream != dit_parallel_streams(&rt->parallel)) return false;
    bool of_mesh = strcmp(policy->name, dit_parallel_attention(&rt->parallel)) == 0;
    bool patch = dit_comm_size(rt->comm[DIT_AXIS_PATCH]) > 1;
    if ((patch || (policy->ring && !is_layer(shape))) && !of_mesh) return false;
    bool ring = dit_comm_size(rt->comm[DIT_AXIS_RING]) > 1, ulysses = dit_comm_size(rt->comm[DIT_AXIS_ULYSSES]) > 1;
    return (policy->ulysses == ulysses || policy->without_ulysses) && policy->ring == ring && policy->patch == patch;
}

static dit_status refuse_policy(const dit_runtime *rt, const char *name)
{
    int u = dit_comm_size(rt->comm[DIT_AXIS_ULYSSES]), r = dit_comm_size(rt->comm[DIT_AXIS_RING]);
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD,
                 "attention \"%s\" contradicts ulysses_degree %d, ring_degree %d, patch_degree %d", name, u, r,
                 dit_comm_size(rt->comm[DIT_AXIS_PATCH])),
        "use \"auto\", or degrees above 1 exactly where the policy communicates; patches take that of patch_method, "
        "rings that of ring_method");
}

static dit_status refuse_model(const char *name)
{
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "attention \"%s\" is built for one layer alone", name),
                          "it belongs to program attention; in a model \"ring\" gives the same result");
}

static dit_status fail_policy(const char *name)
{
    const char *names[POLICY_COUNT + 2] = {"auto"};
    for (int i = 0; i < POLICY_COUNT; i++) names[i + 1] = policies[i]->name;
    return dit_words_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "no attention policy is called \"%s\"", name), name, names);
}

/* Linear attention has one policy, whichever axis of the sequence its ranks are on; their names go, too. */
static dit_status find_linear_policy(const char *name, const dit_attention_policy **out)
{
    static const char *const names[] = {"auto", "local", "ulysses", "ring", "linear", NULL};
    *out = &dit_attention_linear;
    for (int i = 0; names[i]; i++)
        if (strcmp(name, names[i]) == 0) return DIT_OK;
    return dit_words_hint(
        DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "attention \"%s\" for a model whose attention is linear", name), name,
        names);
}

static dit_status find_policy(const dit_runtime *rt, const char *name, const dit_attention_shape *shape,
                              const dit_attention_policy **out)
{
    bool automatic = strcmp(name, "auto") == 0;
    if (shape->linear) return find_linear_policy(name, out);
    for (int i = 0; i < POLICY_COUNT; i++) {
        if (!automatic && strcmp(policies[i]->name, name) != 0) continue;
        *out = rt->parallel.habits.exchange_alone && policies[i]->wrapped ? policies[i]->wrapped : policies[i];
        if (!automatic && policies[i]->layer_alone && !is_layer(shape)) return refuse_model(name);
        if (fits(policies[i], rt, shape)) return DIT_OK;
        if (!automatic) return refuse_policy(rt, name);
    }
    return fail_policy(name);
}

static dit_status prepare_store(dit_attention *attention)
{
    const dit_runtime *rt = attention->rt;
    dit_attention_shape exchanged = attention_ulysses_exchanged(attention, &attention->shape);
    bool stale = dit_parallel_stale_steps(&rt->parallel, &rt->facts) > 0; /* a synchronous pipeline keeps nothing */
    if (dit_comm_size(rt->comm[DIT_AXIS_PIPEFUSION]) == 1 || exchanged.calls == 0 || !stale) return DIT_OK;
    if (attention->policy->stream) return DIT_OK; /* it keeps K and V in its own way */
    return attention_store_create(attention->rt, &exchanged, &attention->store);
}

/* How many ranks' rows lie one behind the other in the keys of a ring rank. */
static int64_t ranks_together(const dit_runtime *rt)
{
    return (int64_t)dit_comm_size(rt->comm[DIT_AXIS_ULYSSES]) * dit_comm_size(rt->comm[DIT_AXIS_PATCH]);
}

/* Takes memory for the key bias of every ring rank, in the order of its keys: as the Ulysses exchange delivers them, or
 * as a store keeps them. */
static dit_status prepare_bias(dit_attention *attention, float ***out)
{
    dit_runtime *rt = attention->rt;
    const dit_attention_shape *shape = &attention->shape;
    int64_t u = ranks_together(rt), r = dit_comm_size(rt->comm[DIT_AXIS_RING]);
    int64_t replicated = attention_replicated(shape);
    void *memory;
    attention->bias_keys = replicated + u * (shape->tokens - replicated);
    DIT_TRY(dit_arena_alloc(&rt->image, r * (int64_t)sizeof *attention->bias, &memory));
    float **bias = memory;
    for (int64_t j = 0; j < r; j++) {
        if (shape->replicated && j != rt->coordinates[DIT_AXIS_RING]) continue;
        int64_t elements = shape->B * attention->bias_keys;
        DIT_TRY(dit_arena_fp32(&rt->image, elements, &bias[j]));
        if (!rt->ledger.counting_only) memset(bias[j], 0, (size_t)elements * sizeof **bias);
    }
    *out = bias;
    return DIT_OK;
}

static dit_status prepare_biases(dit_attention *attention)
{
    for (int i = 0; i < attention->shape.text_biases; i++) DIT_TRY(prepare_bias(attention, &attention->biases[i]));
    dit_attention_use_text_bias(attention, 0);
    return DIT_OK;
}

void dit_attention_use_text_bias(dit_attention *attention, int index)
{
    assert(index >= 0 && index < ATTENTION_BIASES);
    attention->bias = attention->biases[index];
}

dit_status dit_attention_set_text_bias(dit_attention *attention, const float *bias, int64_t text_tokens)
{
    const dit_attention_shape *shape = &attention->shape;
    int64_t u = shape->replicated ? 1 : ranks_together(attention->rt);
    int64_t r = dit_comm_size(attention->rt->comm[DIT_AXIS_RING]);
    int64_t stride = attention->store.calls ? attention_store_text_stride(&attention->store) : shape->tokens;
    for (int64_t j = 0; j < r; j++) {
        for (int64_t b = 0; b < shape->B && attention->bias[j]; b++)
            for (int64_t i = 0; i < u; i++)
                memcpy(attention->bias[j] + b * attention->bias_keys + i * stride,
                       bias + b * text_tokens + (shape->replicated ? 0 : (j * u + i) * shape->text),
                       (size_t)shape->text * sizeof *bias);
        if (attention->bias[j])
            DIT_TRY(dit_runtime_upload(attention->rt, attention->bias[j], shape->B * attention->bias_keys));
    }
    return DIT_OK;
}

dit_attention_order attention_order(const dit_attention_shape *shape, int ring_rank, int64_t rows)
{
    return shape->order ? shape->order[ring_rank] : (dit_attention_order){.rows = rows};
}

const float *attention_bias(const dit_attention *attention, int ring_rank)
{
    return attention->bias ? attention->bias[ring_rank] : NULL;
}

dit_status attention_take_keys(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                               attention_keys *out)
{
    *out = (attention_keys){.k = io->k,
                            .v = io->v,
                            .ld = attention_ldk(io),
                            .batch = attention_batch_k(io),
                            .rows = shape->tokens,
                            .replicated = attention_replicated(shape)};
    if (!attention->store.calls) return DIT_OK;
    DIT_TRY(attention_store_put(&attention->store, attention->rt, attention->call, &attention->window, out));
    *out = attention_store_keys(&attention->store, attention->call);
    return DIT_OK;
}

/* Shared heads, padding, masks and packing are built for layers without text alone. */
static dit_status check_shape(const dit_attention_shape *shape)
{
    bool plain = !shape->kv_heads && !shape->packed && !shape->order;
    if (plain || !(shape->text || shape->replicated || shape->text_biases)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_INTERNAL, "joint text with shared heads, packed exchanges or an order of tokens");
}

static dit_status prepare(dit_attention *attention)
{
    const dit_attention_policy *policy = attention->policy;
    int64_t hops = dit_comm_size(attention->rt->comm[DIT_AXIS_RING]);
    void *memory;
    DIT_TRY(dit_arena_alloc(&attention->rt->step, hops * (int64_t)sizeof *attention->hops, &memory));
    attention->hops = memory;
    if (policy->prepare) DIT_TRY(policy->prepare(attention));
    DIT_TRY(prepare_store(attention));
    return prepare_biases(attention);
}

dit_status dit_attention_create(dit_runtime *rt, const char *name, const dit_attention_shape *shape,
                                dit_attention **out)
{
    const dit_attention_policy *policy = NULL;
    *out = NULL;
    DIT_TRY(find_policy(rt, name, shape, &policy));
    DIT_TRY(check_shape(shape));
    dit_attention *attention = calloc(1, sizeof *attention);
    if (!attention) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for an attention policy");
    *attention = (dit_attention){.rt = rt, .policy = policy, .shape = *shape};
    if (!is_layer(shape)) attention->shape.inner_ring = dit_parallel_inner_ring(&rt->parallel);
    attention->scale = 1.0f / sqrtf((float)shape->D);
    attention->kv_group = shape->H / attention_kv_heads(shape);
    dit_status st = prepare(attention);
    if (st != DIT_OK) {
        dit_attention_free(attention);
        return st;
    }
    *out = attention;
    return DIT_OK;
}

dit_status dit_attention_create_over_time(dit_runtime *rt, const char *name, const dit_attention_shape *shape,
                                          dit_attention **out)
{
    bool emulated = strcmp(name, dit_attention_oracle.name) == 0;
    *out = NULL;
    return emulated || dit_parallel_cuts_frames(&rt->parallel) ? dit_attention_create(rt, name, shape, out) : DIT_OK;
}

void dit_attention_free(dit_attention *attention)
{
    for (int i = 0; attention && i < DIT_ATTENTION_TAKEN; i++) free(attention->taken[i]);
    free(attention);
}

dit_status attention_cores_alone(const dit_attention *attention)
{
    if (!attention->rt->device) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "attention \"%s\" is built for this machine's cores alone",
                                   attention->policy->name),
                          "\"ring\" gives the same result");
}

dit_status attention_take(dit_attention *attention, int64_t bytes, void **out)
{
    int i = 0;
    while (attention->taken[i]) i++;
    assert(i < DIT_ATTENTION_TAKEN);
    *out = attention->taken[i] = calloc(1, (size_t)bytes);
    return *out ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for attention \"%s\"", attention->policy->name);
}

const char *dit_attention_name(const dit_attention *attention)
{
    return attention->policy->name;
}

const dit_guest *dit_attention_guest(const dit_attention *attention)
{
    return attention->rt->guest;
}

bool dit_attention_is_steady(const dit_attention *attention)
{
    return !attention->policy->differs && !attention->store.calls;
}

void attention_hop_end(dit_attention *attention, int hop, double flops_before, int64_t began, int64_t computed)
{
    dit_timing *timing = attention->rt->timing;
    dit_attention_hop *at = &attention->hops[hop];
    *at = (dit_attention_hop){.flops = attention->rt->flops.attention - flops_before};
    dit_timing_add(timing, began, computed, &at->compute_ns);
    dit_timing_add(timing, computed, dit_timing_now(timing), &at->waiting_ns);
}

const dit_attention_hop *dit_attention_hops(const dit_attention *attention)
{
    return attention->hops;
}

void dit_attention_begin(dit_attention *attention, const dit_window *window)
{
    attention->window = *window;
    attention->call = 0;
}

void dit_attention_leave_out(dit_attention *attention, int before, int after)
{
    attention->window.left_out = before;
    attention->window.out_next = after;
}

void dit_attention_skip(dit_attention *attention, int64_t calls)
{
    attention->call += calls;
}

/* The shape of a call about the window's rows. */
static dit_attention_shape shape_of_call(const dit_attention *attention)
{
    dit_attention_shape shape = attention->shape;
    if (attention->window.count == 0) return shape; /* no forward was begun: a layer alone */
    if (!attention->window.text) shape.text = 0;
    if (attention->window.positive) shape.B /= 2;
    shape.tokens = shape.text + (shape.over_time ? shape.over_time : 1) * attention->window.count;
    return shape;
}

dit_status dit_attention_forward(dit_attention *attention, const dit_attention_io *io)
{
    dit_attention_shape shape = shape_of_call(attention);
    DIT_TRY(attention->policy->forward(attention, &shape, io));
    attention->call++;
    return DIT_OK;
}
