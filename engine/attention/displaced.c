/* Displaced patches: a rank's own rows of K and V are fresh; those of other patch ranks are a step old, or not there.
 *
 * The fill and the first warmup_steps steps are synchronous: the K and V of all patch ranks are gathered and attention
 * is exact. In later steps each call of a forward
 *   distrifusion  attends to its own rows and to those that the other ranks had in this call of the step before; then
 *                 it sends its own rows to all of them in the background, and the next step's call waits for that
 *   pcpp          does so with the previous and the next rank alone, and with those of their rows that lie next to its
 *                 own; of a reference picture, too, whose rows lie behind a rank's others
 *   naive-patch   attends to its own rows and sends nothing
 * The last step sends nothing, because nobody would read it. A step that a cache reuses makes no call: for others, the
 * step before and the last one are those that make this call (dit_attention_leave_out). Replicated joint text belongs to every rank and does not
 * travel. Split text travels with the rows of its rank (distrifusion only: the others never see all keys).
 *
 * Sends per call, with n travelling rows, N ranks, s shared rows and Hk heads of K and V: N-1 messages of 2 B n Hk D
 * floats where rows are gathered; in pcpp's later steps one message of 2 B s Hk D floats to each neighbour.
 *
 * K and V lie as [row][2][B][Hk D]. A gather puts the ranks' rows one behind the other for all batch entries at once,
 * so nothing is moved before attention reads them or MPI sends them. Replicated text lies in front.
 *
 * Where a model has convolutions or group norms over rows, DistriFusion also exchanges halos and corrects statistics.
 * The transformers here have neither: the convolution of a patch embedding sees the pixels of one token.
 * Sources: Li et al., DistriFusion (arXiv:2402.19481); Zhang et al., Partially Conditioned Patch Parallelism
 * (arXiv:2412.02962).
 */
#include "engine/attention/row_keys.h"

#include <assert.h>

/* The state of a policy of this file; each has the parts that it needs. */
typedef struct {
    float *keys;   /* [rows][2][B][Hk D]: what a call attends to, where that is no slot        */
    float *joined; /* [rows][2][B][Hk D]: its copy, as other software makes it; NULL: none     */
    float *slots;  /* [calls][slot_floats]: what each call keeps from step to step             */
    float *sends;  /* [calls][slot_floats]: what each call sends; distrifusion sends slots     */
    int64_t slot_floats;
    dit_comm_exchange *transfers; /* [calls][transfers_per_call] */
    int transfers_per_call;
    dit_comm_exchange *newest; /* the transfers of the call that began some last; NULL: they are done     */
    int64_t under_way;         /* calls that have transfers under way                                     */
} displaced;

static displaced *kept(const dit_attention *attention)
{
    return attention->state;
}

static dit_comm *patch_comm(const dit_attention *attention)
{
    return attention->rt->comm[DIT_AXIS_PATCH];
}

static int64_t own_rows(const dit_attention_shape *shape)
{
    return shape->tokens - attention_replicated(shape);
}

/* Those of the own rows that are a reference's; they lie behind the others. */
static int64_t reference_rows(const dit_attention *attention)
{
    return attention->rt->facts.reference_tokens / dit_parallel_sequence_degree(&attention->rt->parallel);
}

static int64_t shared_rows(const dit_attention *attention, const dit_attention_shape *shape)
{
    return dit_parallel_shared_beside(&attention->rt->parallel, own_rows(shape), reference_rows(attention));
}

static int64_t all_rows(const dit_attention *attention, const dit_attention_shape *shape)
{
    return attention_replicated(shape) + dit_comm_size(patch_comm(attention)) * own_rows(shape);
}

static int neighbour(const dit_attention *attention, int side)
{
    return attention_beside(patch_comm(attention), side);
}

static int neighbours(const dit_attention *attention)
{
    return (neighbour(attention, ATTENTION_PREVIOUS) != DIT_COMM_NOBODY) +
           (neighbour(attention, ATTENTION_NEXT) != DIT_COMM_NOBODY);
}

/* ---- when -------------------------------------------------------------------------------------------------------- */

static bool is_synchronous(const dit_attention *attention)
{
    return attention->window.step < attention->rt->parallel.warmup_steps;
}

static bool has_stale_steps(const dit_runtime *rt)
{
    return dit_parallel_stale_steps(&rt->parallel, &rt->facts) > 0;
}

/* Whether this call of the step before began transfers: a stale step did. */
static bool has_arrivals(const dit_attention *attention)
{
    return attention->window.step - attention->window.left_out > attention->rt->parallel.warmup_steps;
}

static bool is_last_step(const dit_attention *attention)
{
    return attention->window.step + attention->window.out_next == attention->rt->facts.steps - 1;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Takes the state of a policy that can serve the shape. */
static dit_status take_state(dit_attention *attention)
{
    const dit_attention_shape *shape = &attention->shape;
    if (shape->calls > 0 && !shape->order && !shape->packed)
        return attention_take(attention, sizeof(displaced), &attention->state);
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_UNSUPPORTED, "attention \"%s\" needs the K and V of a step before", attention->policy->name),
        "one layer alone has no steps; use ulysses_degree and ring_degree");
}

/* Takes room for the rows of all ranks. */
static dit_status prepare_rows(dit_attention *attention, float **out)
{
    const dit_attention_shape *shape = &attention->shape;
    return dit_arena_activations(&attention->rt->comm_arena, all_rows(attention, shape) * attention_row_floats(shape),
                                 out);
}

/* Takes a slot of `floats` floats and `transfers` transfers for each call of a forward. */
static dit_status prepare_slots(dit_attention *attention, int64_t floats, int transfers)
{
    dit_runtime *rt = attention->rt;
    int64_t calls = attention->shape.calls;
    void *memory;
    kept(attention)->slot_floats = floats;
    kept(attention)->transfers_per_call = transfers;
    DIT_TRY(dit_arena_alloc(&rt->image, calls * transfers * (int64_t)sizeof(dit_comm_exchange), &memory));
    kept(attention)->transfers = memory;
    return dit_arena_activations(&rt->image, calls * floats, &kept(attention)->slots);
}

/* The slot of the call that is under way. */
static float *slot_of(const dit_attention *attention, float *slots)
{
    return slots + attention->call * kept(attention)->slot_floats;
}

static dit_comm_exchange *transfers_of(const dit_attention *attention)
{
    return kept(attention)->transfers + attention->call * kept(attention)->transfers_per_call;
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* Lets MPI move what is under way. Polling one transfer moves all of them while it is not complete, so the newest ones
 * are polled, which complete last. */
static void poll_newest(const dit_attention *attention)
{
    if (!kept(attention)->under_way || !kept(attention)->newest) return;
    for (int i = 0; i < kept(attention)->transfers_per_call; i++)
        dit_comm_exchange_poll(patch_comm(attention), kept(attention)->newest + i);
}

/* Attention of heads [head, head + heads) of the batch entries `entries`. */
static void attend_piece(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                         const attention_keys *keys, dit_range entries, int64_t head, int64_t heads)
{
    dit_attention_args args = attention_of_entries(attention, shape, io, keys, entries);
    args.H = heads, args.kv_first += head;
    args.q += head * shape->D, args.out += head * shape->D;
    ops_attention(attention->rt, &args);
}

/* A bias has all keys of each entry. With fewer keys in the call, one kernel would read it of the first entry alone. */
static bool fits_bias(const dit_attention *attention, const attention_keys *keys)
{
    return !attention_bias(attention, 0) || keys->rows == attention->bias_keys;
}

/* Attention of a call: entry by entry, and in pieces while transfers are under way; or one kernel where messages move
 * without calls. */
static void attend(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io,
                   const attention_keys *keys)
{
    enum { PIECES = 4 };
    int64_t heads = kept(attention)->under_way ? (shape->H + PIECES - 1) / PIECES : shape->H;
    dit_timing *timing = attention->rt->timing;
    int64_t began = dit_timing_now(timing);
    double flops = attention->rt->flops.attention;
    bool at_once = dit_runtime_messages_move(attention->rt) && fits_bias(attention, keys);
    if (at_once) attend_piece(attention, shape, io, keys, (dit_range){0, shape->B}, 0, shape->H);
    for (int64_t b = 0; b < shape->B && !at_once; b++)
        for (int64_t head = 0; head < shape->H; head += heads) {
            int64_t left = shape->H - head;
            attend_piece(attention, shape, io, keys, (dit_range){b, 1}, head, left < heads ? left : heads);
            poll_newest(attention);
        }
    attention_hop_end(attention, 0, flops, began, dit_timing_now(timing));
}

/* Returns the rows of `keys`, or their copy: other software gathers into a flat buffer, copies each rank's rows out of
 * it, and joins them in a new tensor for every call. */
static const float *join_rows(dit_attention *attention, const dit_attention_shape *shape, const float *keys)
{
    enum { OUT_OF_THE_FLAT_BUFFER, INTO_A_NEW_TENSOR, COPIES };
    float *joined = kept(attention)->joined;
    for (int i = 0; i < COPIES && joined; i++)
        attention_copy_rows(attention, shape, keys, all_rows(attention, shape), joined);
    return joined ? joined : keys;
}

/* Gathers all ranks' rows of this call in `keys` and attends to them. */
static dit_status attend_synchronously(dit_attention *attention, const dit_attention_shape *shape,
                                       const dit_attention_io *io, float *keys)
{
    dit_comm *patch = patch_comm(attention);
    int64_t n = own_rows(shape), bytes = n * attention_row_floats(shape) * (int64_t)sizeof *keys;
    assert(kept(attention)->under_way == 0); /* the last step before began nothing */
    const float *own = attention_place_rows(attention, shape, io, dit_comm_rank(patch) * n, keys);
    DIT_TRY(dit_comm_all_gather(patch, own, keys + attention_replicated(shape) * attention_row_floats(shape), bytes));
    attention_keys fresh = attention_row_keys(shape, join_rows(attention, shape, keys), all_rows(attention, shape));
    attend(attention, shape, io, &fresh);
    return DIT_OK;
}

/* Waits for the transfers that this call began in the step before. */
static dit_status finish_transfers(dit_attention *attention)
{
    if (!has_arrivals(attention)) return DIT_OK;
    for (int i = 0; i < kept(attention)->transfers_per_call; i++)
        DIT_TRY(dit_comm_exchange_wait(patch_comm(attention), transfers_of(attention) + i));
    kept(attention)->under_way--;
    if (kept(attention)->newest == transfers_of(attention))
        kept(attention)->newest = NULL; /* a cache left out later ones */
    return DIT_OK;
}

static void note_begun(dit_attention *attention)
{
    kept(attention)->newest = transfers_of(attention);
    kept(attention)->under_way++;
}

/* ---- DistriFusion ------------------------------------------------------------------------------------------------ */

/* A slot has the rows of all ranks; a gather sends from it and into it. */
static dit_status distrifusion_prepare(dit_attention *attention)
{
    const dit_attention_shape *shape = &attention->shape;
    DIT_TRY(take_state(attention));
    if (attention->rt->parallel.habits.gathers_copied) DIT_TRY(prepare_rows(attention, &kept(attention)->joined));
    if (!has_stale_steps(attention->rt)) return prepare_rows(attention, &kept(attention)->keys);
    return prepare_slots(attention, all_rows(attention, shape) * attention_row_floats(shape), 1);
}

static dit_status distrifusion_forward(dit_attention *attention, const dit_attention_shape *shape,
                                       const dit_attention_io *io)
{
    dit_comm *patch = patch_comm(attention);
    int64_t n = own_rows(shape), bytes = n * attention_row_floats(shape) * (int64_t)sizeof(float);
    float *slots = kept(attention)->slots, *keys = slots ? slot_of(attention, slots) : kept(attention)->keys;
    if (is_synchronous(attention)) return attend_synchronously(attention, shape, io, keys);
    DIT_TRY(finish_transfers(attention));
    const float *own = attention_place_rows(attention, shape, io, dit_comm_rank(patch) * n, keys);
    attention_keys known = attention_row_keys(shape, join_rows(attention, shape, keys), all_rows(attention, shape));
    attend(attention, shape, io, &known);
    if (is_last_step(attention)) return DIT_OK;
    DIT_TRY(dit_comm_all_gather_begin(patch, own, keys + attention_replicated(shape) * attention_row_floats(shape),
                                      bytes, transfers_of(attention)));
    note_begun(attention);
    return DIT_OK;
}

const dit_attention_policy dit_attention_distrifusion = {
    .name = "distrifusion",
    .patch = true,
    .differs = true,
    .prepare = distrifusion_prepare,
    .forward = distrifusion_forward,
};

/* ---- PCPP -------------------------------------------------------------------------------------------------------- */

/* A slot has the shared rows of each neighbour; as many own rows are sent to it. */
static dit_status pcpp_prepare(dit_attention *attention)
{
    const dit_attention_shape *shape = &attention->shape;
    int64_t floats = neighbours(attention) * shared_rows(attention, shape) * attention_row_floats(shape);
    DIT_TRY(take_state(attention));
    DIT_TRY(prepare_rows(attention, &kept(attention)->keys));
    if (!has_stale_steps(attention->rt)) return DIT_OK;
    DIT_TRY(prepare_slots(attention, floats, neighbours(attention)));
    return dit_arena_activations(&attention->rt->comm_arena, shape->calls * floats, &kept(attention)->sends);
}

/* The rows of one side in a slot. */
static float *side_of(const dit_attention *attention, const dit_attention_shape *shape, float *slot, int side)
{
    bool second = side == ATTENTION_NEXT && neighbour(attention, ATTENTION_PREVIOUS) != DIT_COMM_NOBODY;
    return slot + (second ? shared_rows(attention, shape) * attention_row_floats(shape) : 0);
}

/* Copies, of the rows of one rank, those that it shares with its neighbour on a side: those of its latent that lie next
 * to it, and those of its reference that do. */
static void take_shared(dit_attention *attention, const dit_attention_shape *shape, const float *rows, int side,
                        float *out)
{
    int64_t floats = attention_row_floats(shape), references = reference_rows(attention);
    const int64_t counts[] = {own_rows(shape) - references, references};
    for (int i = 0; i < 2; rows += counts[i++] * floats) {
        int64_t shared = dit_parallel_shared_rows(&attention->rt->parallel, counts[i]);
        int64_t first = side == ATTENTION_PREVIOUS ? 0 : counts[i] - shared;
        if (shared) attention_copy_rows(attention, shape, rows + first * floats, shared, out);
        out += shared * floats;
    }
}

/* Takes what the neighbours share from their rows, which lie around this rank's own rows, to the slot. */
static void keep_sides(dit_attention *attention, const dit_attention_shape *shape, const float *own)
{
    int64_t rank = own_rows(shape) * attention_row_floats(shape);
    for (int side = 0; side < ATTENTION_SIDES; side++) {
        float *part = side_of(attention, shape, slot_of(attention, kept(attention)->slots), side);
        if (neighbour(attention, side) == DIT_COMM_NOBODY) continue;
        take_shared(attention, shape, side == ATTENTION_PREVIOUS ? own - rank : own + rank,
                    side == ATTENTION_PREVIOUS ? ATTENTION_NEXT : ATTENTION_PREVIOUS, part);
    }
}

/* Copies what the neighbours shared from the slot to around this rank's own rows. */
static void place_sides(dit_attention *attention, const dit_attention_shape *shape, float *own)
{
    int64_t floats = attention_row_floats(shape), n = own_rows(shape), s = shared_rows(attention, shape);
    for (int side = 0; side < ATTENTION_SIDES; side++) {
        const float *part = side_of(attention, shape, slot_of(attention, kept(attention)->slots), side);
        if (neighbour(attention, side) == DIT_COMM_NOBODY) continue;
        attention_copy_rows(attention, shape, part, s,
                            side == ATTENTION_PREVIOUS ? own - s * floats : own + n * floats);
    }
}

/* Begins to send the first own rows to the previous rank and the last ones to the next rank, of the latent and of its
 * reference, and to receive theirs. */
static dit_status begin_exchanges(dit_attention *attention, const dit_attention_shape *shape, const float *own)
{
    int64_t floats = attention_row_floats(shape), s = shared_rows(attention, shape);
    dit_comm_exchange *transfer = transfers_of(attention);
    for (int side = 0; side < ATTENTION_SIDES; side++) {
        int peer = neighbour(attention, side);
        float *arriving = side_of(attention, shape, slot_of(attention, kept(attention)->slots), side);
        float *sent = side_of(attention, shape, slot_of(attention, kept(attention)->sends), side);
        if (peer == DIT_COMM_NOBODY) continue;
        take_shared(attention, shape, own, side, sent);
        DIT_TRY(dit_comm_exchange_begin(patch_comm(attention), sent, peer, arriving, peer,
                                        s * floats * (int64_t)sizeof *sent, transfer++));
    }
    note_begun(attention);
    return DIT_OK;
}

static dit_status pcpp_synchronously(dit_attention *attention, const dit_attention_shape *shape,
                                     const dit_attention_io *io)
{
    float *keys = kept(attention)->keys;
    int64_t before = attention_replicated(shape) + dit_comm_rank(patch_comm(attention)) * own_rows(shape);
    bool read_next = attention->window.step + 1 == attention->rt->parallel.warmup_steps;
    DIT_TRY(attend_synchronously(attention, shape, io, keys));
    if (read_next && kept(attention)->slots) keep_sides(attention, shape, keys + before * attention_row_floats(shape));
    return DIT_OK;
}

static dit_status pcpp_forward(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io)
{
    int64_t s = shared_rows(attention, shape);
    bool first = neighbour(attention, ATTENTION_PREVIOUS) == DIT_COMM_NOBODY;
    if (is_synchronous(attention)) return pcpp_synchronously(attention, shape, io);
    DIT_TRY(finish_transfers(attention));
    float *own = attention_place_rows(attention, shape, io, first ? 0 : s, kept(attention)->keys);
    place_sides(attention, shape, own);
    attention_keys known = attention_row_keys(shape, kept(attention)->keys, shape->tokens + neighbours(attention) * s);
    attend(attention, shape, io, &known);
    return is_last_step(attention) ? DIT_OK : begin_exchanges(attention, shape, own);
}

const dit_attention_policy dit_attention_pcpp = {
    .name = "pcpp",
    .patch = true,
    .differs = true,
    .prepare = pcpp_prepare,
    .forward = pcpp_forward,
};

/* ---- naive patches ----------------------------------------------------------------------------------------------- */

static dit_status naive_prepare(dit_attention *attention)
{
    DIT_TRY(take_state(attention));
    return attention->rt->parallel.warmup_steps > 0 ? prepare_rows(attention, &kept(attention)->keys) : DIT_OK;
}

static dit_status naive_forward(dit_attention *attention, const dit_attention_shape *shape, const dit_attention_io *io)
{
    attention_keys own = {.k = io->k,
                          .v = io->v,
                          .ld = attention_ldk(io),
                          .batch = attention_batch_k(io),
                          .rows = shape->tokens,
                          .replicated = attention_replicated(shape)};
    if (is_synchronous(attention)) return attend_synchronously(attention, shape, io, kept(attention)->keys);
    attend(attention, shape, io, &own);
    return DIT_OK;
}

const dit_attention_policy dit_attention_naive_patch = {
    .name = "naive-patch",
    .patch = true,
    .differs = true,
    .prepare = naive_prepare,
    .forward = naive_forward,
};
