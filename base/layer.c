/* Closed forms of one attention layer. Notation: B batch, n rows of a rank, D head size, u and r the Ulysses and ring
 * degrees, h and w the padded numbers of query and key heads of a rank, e = 4 bytes. One forward sends
 *   Ulysses   q, k, v out and the result back: B (u-1) n (2 h + 2 w) D e, in 4 B (u-1) messages; packed in 2 B (u-1)
 *   ring      r-1 hops of k and v in one message: (r-1) 2 B (u n) w D e; with whole rows r-1 hops of k, then r-1 of v;
 *             gathered, the same bytes to r-1 ranks; in a double ring r/w - 1 of the messages leave an inner ring of w
 *   LightSeq  rank i of r: k and v to min(r/2, r-1-i) ranks, 2 B n w D e each; q in max(0, i - r/2) messages of
 *             B n h D e; results in max(0, (r-1)/2 - i) messages of B n h (D + 1) 4. Quotients are rounded down
 * With h = H/u and w = Hk/u these are the published 4 (N-1)/N^2 S H D e and 2 (N-1)/N S Hk D e.
 */
#include "base/layer.h"

#include "base/mesh.h"
#include "base/words.h"

#include <stdio.h>
#include <string.h>

static const char *const layout_names[DIT_TOKEN_COUNT + 1] = {"basic", "zigzag", "stripe"};
static const double MAX_ELEMENTS = 1e12; /* of one operand; more fits no machine, and sums would overflow 64 bits */
enum {
    EXACT_BYTES = 4,
    SCORE_PADDING = 48 /* rows at most */,
    MAX_TOKENS = 1 << 24,
    MAX_HEADS = 4096,
    MAX_BATCH = 4096
};

const char *dit_token_layout_name(dit_token_layout layout)
{
    return layout_names[layout];
}

bool dit_token_layout_from_name(const char *name, dit_token_layout *out)
{
    int index = dit_words_find(layout_names, name);
    if (index >= 0) *out = (dit_token_layout)index;
    return index >= 0;
}

/* ---- the case ---------------------------------------------------------------------------------------------------- */

static dit_status read_mask(const dit_json *doc, const cJSON *object, const char *at, dit_layer *out)
{
    const char *mask = dit_mask_name(DIT_MASK_NONE);
    char pointer[300];
    DIT_TRY(dit_json_optional_string(doc, object, at, "mask", &mask));
    if (dit_mask_from_name(mask, &out->mask)) return DIT_OK;
    snprintf(pointer, sizeof pointer, "%s/mask", at);
    return dit_json_fail_word(doc, pointer, "mask", mask, dit_mask_names());
}

static dit_status read_switches(const dit_json *doc, const cJSON *object, const char *at, dit_layer *out)
{
    const char *layout = layout_names[DIT_TOKEN_BASIC];
    char pointer[300];
    DIT_TRY(dit_json_optional_bool(doc, object, at, "causal", &out->causal));
    DIT_TRY(dit_json_optional_bool(doc, object, at, "packed", &out->packed));
    DIT_TRY(dit_json_optional_bool(doc, object, at, "pad_tokens", &out->pad_tokens));
    DIT_TRY(dit_json_optional_bool(doc, object, at, "pad_heads", &out->pad_heads));
    DIT_TRY(read_mask(doc, object, at, out));
    DIT_TRY(dit_json_optional_string(doc, object, at, "layout", &layout));
    if (dit_token_layout_from_name(layout, &out->layout)) return DIT_OK;
    snprintf(pointer, sizeof pointer, "%s/layout", at);
    return dit_json_fail_word(doc, pointer, "layout", layout, layout_names);
}

dit_status dit_layer_from_case(const dit_json *doc, const cJSON *kase, const char *pointer, dit_layer *out)
{
    static const char *const keys[] = {"tokens", "heads",      "kv_heads",  "head_dim",   "batch", "causal", "layout",
                                       "packed", "pad_tokens", "pad_heads", "inner_ring", "mask",  NULL};
    const cJSON *object;
    const char *attention = "";
    char at[256];
    *out = (dit_layer){.batch = 1};
    snprintf(at, sizeof at, "%s/layer", pointer);
    DIT_TRY(dit_json_require_object(doc, kase, pointer, "layer", &object));
    DIT_TRY(dit_json_only_keys(doc, object, at, keys));
    DIT_TRY(dit_json_require_int(doc, object, at, "tokens", 1, MAX_TOKENS, &out->tokens));
    DIT_TRY(dit_json_require_int(doc, object, at, "heads", 1, MAX_HEADS, &out->heads));
    DIT_TRY(dit_json_require_int(doc, object, at, "head_dim", 1, MAX_HEADS, &out->head_dim));
    DIT_TRY(dit_json_optional_int(doc, object, at, "batch", 1, MAX_BATCH, &out->batch));
    out->kv_heads = out->heads;
    DIT_TRY(dit_json_optional_int(doc, object, at, "kv_heads", 1, MAX_HEADS, &out->kv_heads));
    DIT_TRY(dit_json_optional_string(doc, kase, pointer, "attention", &attention));
    dit_ring_method_from_name(attention, &out->ring); /* others merge */
    out->whole_scores = strcmp(attention, DIT_STANDARD_ATTENTION) == 0;
    DIT_TRY(dit_json_optional_int(doc, object, at, "inner_ring", 1, DIT_MAX_DEGREE, &out->inner_ring));
    return read_switches(doc, object, at, out);
}

void dit_layer_name(const dit_layer *layer, char out[64])
{
    if (layer->kv_heads == layer->heads)
        snprintf(out, 64, "layer:%lldx%lld", (long long)layer->heads, (long long)layer->head_dim);
    else
        snprintf(out, 64, "layer:%lld/%lldx%lld", (long long)layer->heads, (long long)layer->kv_heads,
                 (long long)layer->head_dim);
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t clamp(int64_t value, int64_t most)
{
    return value < 0 ? 0 : value < most ? value : most;
}

dit_token_cut dit_token_cut_of(const dit_parallel *parallel, const dit_layer *layer)
{
    dit_token_cut cut = {.u = dit_parallel_degree(parallel, DIT_AXIS_ULYSSES),
                         .r = dit_parallel_degree(parallel, DIT_AXIS_RING)};
    cut.rows = divide_up(layer->tokens, cut.u * cut.r);
    if (layer->layout == DIT_TOKEN_ZIGZAG) { /* two runs together must divide by u */
        int64_t unit = cut.u % 2 ? cut.u : cut.u / 2;
        cut.chunk = divide_up(divide_up(layer->tokens, 2 * cut.r), unit) * unit;
        cut.rows = 2 * cut.chunk / cut.u;
    }
    cut.ring_rows = cut.u * cut.rows;
    return cut;
}

int64_t dit_token_count(const dit_layer *layer, const dit_token_cut *cut, int64_t ring_rank)
{
    int64_t tokens = layer->tokens;
    switch (layer->layout) {
    case DIT_TOKEN_ZIGZAG:
        return clamp(tokens - ring_rank * cut->chunk, cut->chunk) +
               clamp(tokens - (2 * cut->r - 1 - ring_rank) * cut->chunk, cut->chunk);
    case DIT_TOKEN_STRIPE: return tokens > ring_rank ? divide_up(tokens - ring_rank, cut->r) : 0;
    default: return clamp(tokens - ring_rank * cut->ring_rows, cut->ring_rows);
    }
}

int64_t dit_token_position(const dit_layer *layer, const dit_token_cut *cut, int64_t ring_rank, int64_t row)
{
    switch (layer->layout) {
    case DIT_TOKEN_ZIGZAG:
        if (row < cut->chunk) return ring_rank * cut->chunk + row;
        return (2 * cut->r - 1 - ring_rank) * cut->chunk + row - cut->chunk;
    case DIT_TOKEN_STRIPE: return row * cut->r + ring_rank;
    default: return ring_rank * cut->ring_rows + row;
    }
}

/* ---- heads ------------------------------------------------------------------------------------------------------- */

int64_t dit_head_first(int64_t heads, int64_t u, int64_t ulysses_rank)
{
    return clamp(ulysses_rank * divide_up(heads, u), heads);
}

dit_head_cut dit_head_cut_of(int64_t heads, int64_t kv_heads, int64_t u)
{
    dit_head_cut cut = {.heads = divide_up(heads, u)};
    int64_t group = heads / kv_heads;
    for (int64_t rank = 0; rank < u; rank++) {
        int64_t first = dit_head_first(heads, u, rank), end = dit_head_first(heads, u, rank + 1);
        int64_t read = first < end ? (end - 1) / group - first / group + 1 : 0;
        if (read > cut.kv_heads) cut.kv_heads = read;
    }
    return cut;
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static dit_status check_axes(const dit_parallel *parallel, const dit_layer *layer)
{
    (void)layer;
    if (dit_parallel_world_size(parallel) == dit_parallel_sequence_degree(parallel)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED,
                                   "%d ranks, but only %d along the sequence: one attention layer "
                                   "is divided along the sequence only",
                                   dit_parallel_world_size(parallel), dit_parallel_sequence_degree(parallel)),
                          "use ulysses_degree and ring_degree");
}

static dit_status check_size(const dit_parallel *parallel, const dit_layer *layer)
{
    (void)parallel;
    if ((double)layer->tokens * (double)layer->heads * (double)layer->head_dim * (double)layer->batch <= MAX_ELEMENTS)
        return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_MEMORY,
                                   "tokens %lld x heads %lld x head_dim %lld x batch %lld is beyond %.0f numbers",
                                   (long long)layer->tokens, (long long)layer->heads, (long long)layer->head_dim,
                                   (long long)layer->batch, MAX_ELEMENTS),
                          "no machine has so much memory; choose fewer");
}

static dit_status check_shared_heads(const dit_parallel *parallel, const dit_layer *layer)
{
    (void)parallel;
    if (layer->heads % layer->kv_heads == 0) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_HEADS, "heads %lld not divisible by kv_heads %lld",
                                   (long long)layer->heads, (long long)layer->kv_heads),
                          "every head of k and v serves the same number of query heads");
}

static dit_status check_heads(const dit_parallel *parallel, const dit_layer *layer)
{
    int64_t degree = dit_parallel_degree(parallel, DIT_AXIS_ULYSSES);
    if (layer->heads % degree == 0 || layer->pad_heads) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_HEADS, "heads %lld not divisible by ulysses_degree %lld",
                                   (long long)layer->heads, (long long)degree),
                          "set pad_heads, at the price of the bytes of %lld heads, or use ring_degree",
                          (long long)(divide_up(layer->heads, degree) * degree));
}

static dit_status check_tokens(const dit_parallel *parallel, const dit_layer *layer)
{
    dit_token_cut cut = dit_token_cut_of(parallel, layer);
    int64_t padded = cut.r * cut.ring_rows;
    if (padded == layer->tokens || layer->pad_tokens) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_TOKENS,
                                   "tokens %lld are not divisible over ring_degree %lld x ulysses_degree %lld in the "
                                   "%s layout",
                                   (long long)layer->tokens, (long long)cut.r, (long long)cut.u,
                                   dit_token_layout_name(layer->layout)),
                          "set pad_tokens, at the price of the bytes of %lld tokens", (long long)padded);
}

/* Whether the method has causal masks, and rows of padding. */
static bool takes_any_tokens(dit_ring_method method)
{
    return method == DIT_RING_MERGE || method == DIT_RING_GATHER || method == DIT_RING_DOUBLE;
}

bool dit_ring_method_takes_heads(dit_ring_method method)
{
    return method < DIT_RING_OF_MODELS;
}

static dit_status check_mask(const dit_parallel *parallel, const dit_layer *layer)
{
    (void)parallel;
    if (!layer->causal || !layer->mask) return DIT_OK;
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "causal and mask %s together", dit_mask_name(layer->mask)),
        "a mask says all that a token sees: give one of the two");
}

static dit_status check_inner_ring(const dit_parallel *parallel, const dit_layer *layer)
{
    int64_t ring = dit_parallel_degree(parallel, DIT_AXIS_RING);
    if ((layer->ring == DIT_RING_DOUBLE) != (layer->inner_ring > 0))
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "inner_ring %lld with attention %s",
                                       (long long)layer->inner_ring, dit_ring_method_name(layer->ring)),
                              "double-ring needs inner_ring, and no other attention has it");
    return dit_inner_ring_check(ring, layer->inner_ring);
}

/* LightSeq moves the work of a causal mask over consecutive tokens. */
static dit_status check_helped(const dit_layer *layer)
{
    static const char hint[] = "attention \"ring\" or \"all-gather\" can do that";
    if (!layer->causal)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "lightseq without a causal mask: no rank is idle, so none can help"),
            hint);
    if (layer->layout != DIT_TOKEN_BASIC)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD,
                                       "lightseq with layout %s: its ranks hold consecutive tokens",
                                       layout_names[layer->layout]),
                              hint);
    return DIT_OK;
}

/* Checks ring methods other than merging: they need a ring, and some no other axis, no mask and ranks of equal length. */
static dit_status check_ring(const dit_parallel *parallel, const dit_layer *layer)
{
    dit_token_cut cut = dit_token_cut_of(parallel, layer);
    const char *name = dit_ring_method_name(layer->ring);
    static const char hint[] = "attention \"ring\" gives equal results and can do that";
    if (layer->ring == DIT_RING_MERGE) return DIT_OK;
    if (layer->ring == DIT_RING_SWITCH)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "%s of one layer", name),
                              "it exchanges the stream around the blocks of a whole model: use program denoise");
    if (cut.r == 1 || (cut.u > 1 && !dit_ring_method_takes_heads(layer->ring)))
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD,
                                       "%s needs a ring%s; here are ring_degree %lld, ulysses_degree %lld", name,
                                       dit_ring_method_takes_heads(layer->ring) ? "" : " and no other axis",
                                       (long long)cut.r, (long long)cut.u),
                              "use ring_degree above 1, or attention \"auto\"");
    if (takes_any_tokens(layer->ring)) return DIT_OK;
    if (layer->ring == DIT_RING_HELPED) return check_helped(layer);
    if (layer->causal) return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s has no causal mask", name), hint);
    if (layer->mask)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s has no mask %s", name, dit_mask_name(layer->mask)),
                              hint);
    if (cut.r * cut.ring_rows == layer->tokens) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_TOKENS, "%s: tokens %lld not divisible by ring_degree %lld", name,
                                   (long long)layer->tokens, (long long)cut.r),
                          hint);
}

static dit_status check_whole_scores(const dit_parallel *parallel, const dit_layer *layer)
{
    int ranks = dit_parallel_world_size(parallel);
    if (!layer->whole_scores || ranks == 1) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "attention %s on %d ranks: it is built for one",
                                   DIT_STANDARD_ATTENTION, ranks),
                          "ring-self-attention keeps whole rows of scores on several ranks");
}

dit_status dit_layer_check(const dit_parallel *parallel, const dit_layer *layer)
{
    static dit_status (*const rules[])(const dit_parallel *, const dit_layer *) = {
        check_size, check_axes,       check_shared_heads, check_heads,        check_tokens,
        check_ring, check_inner_ring, check_mask,         check_whole_scores,
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) DIT_TRY(rules[i](parallel, layer));
    return DIT_OK;
}

void dit_layer_normalise(const dit_parallel *parallel, dit_layer *layer)
{
    dit_token_cut cut;
    if (dit_parallel_degree(parallel, DIT_AXIS_RING) == 1) layer->layout = DIT_TOKEN_BASIC;
    if (dit_parallel_degree(parallel, DIT_AXIS_ULYSSES) == 1) layer->packed = false;
    if (layer->ring != DIT_RING_DOUBLE) layer->inner_ring = 0;
    if (layer->heads % dit_parallel_degree(parallel, DIT_AXIS_ULYSSES) == 0) layer->pad_heads = false;
    cut = dit_token_cut_of(parallel, layer);
    if (cut.r * cut.ring_rows == layer->tokens) layer->pad_tokens = false;
}

/* ---- what is computed -------------------------------------------------------------------------------------------- */

/* By the definition of the mask, pair after pair. */
static double masked_pairs(const dit_layer *layer, const dit_token_cut *cut, int64_t ring_rank, int64_t source)
{
    int64_t queries = dit_token_count(layer, cut, ring_rank), keys = dit_token_count(layer, cut, source), pairs = 0;
    dit_mask mask;
    dit_mask_build(layer->mask, layer->tokens, &mask);
    for (int64_t query = 0; query < queries; query++)
        for (int64_t key = 0; key < keys; key++)
            pairs += dit_mask_sees(&mask, dit_token_position(layer, cut, ring_rank, query),
                                   dit_token_position(layer, cut, source, key));
    return (double)pairs;
}

double dit_layer_pairs(const dit_layer *layer, const dit_token_cut *cut, int64_t ring_rank, int64_t source)
{
    int64_t queries = dit_token_count(layer, cut, ring_rank), keys = dit_token_count(layer, cut, source), key = 0;
    double pairs = 0;
    if (layer->mask) return masked_pairs(layer, cut, ring_rank, source);
    if (!layer->causal) return (double)queries * (double)keys;
    for (int64_t query = 0; query < queries; query++) {
        int64_t position = dit_token_position(layer, cut, ring_rank, query);
        while (key < keys && dit_token_position(layer, cut, source, key) <= position) key++;
        pairs += (double)key;
    }
    return pairs;
}

/* The ring rank that computes the queries of one ring rank on the keys of another: the owner of the queries, but with
 * helpers that of the keys for the blocks that are furthest from the diagonal. */
static int64_t computes(const dit_layer *layer, const dit_token_cut *cut, int64_t queries, int64_t keys)
{
    return layer->ring == DIT_RING_HELPED && queries - keys > cut->r / 2 ? keys : queries;
}

double dit_layer_flops(const dit_parallel *parallel, const dit_layer *layer, int rank, int64_t source)
{
    dit_token_cut cut = dit_token_cut_of(parallel, layer);
    int coordinates[DIT_AXIS_COUNT];
    dit_mesh_coordinates(parallel, rank, coordinates);
    int64_t ring_rank = coordinates[DIT_AXIS_RING], ulysses_rank = coordinates[DIT_AXIS_ULYSSES];
    int64_t heads =
        dit_head_first(layer->heads, cut.u, ulysses_rank + 1) - dit_head_first(layer->heads, cut.u, ulysses_rank);
    double pairs = 0;
    for (int64_t queries = 0; queries < cut.r; queries++)
        for (int64_t keys = 0; keys < cut.r; keys++)
            if ((source < 0 || source == keys) && computes(layer, &cut, queries, keys) == ring_rank)
                pairs += dit_layer_pairs(layer, &cut, queries, keys);
    return 4.0 * (double)(layer->batch * heads * layer->head_dim) * pairs;
}

/* ---- what is sent and held --------------------------------------------------------------------------------------- */

/* Returns the bytes of an element; the default is fp32. */
static int64_t element_bytes(const dit_layer *layer)
{
    return layer->element_bytes ? layer->element_bytes : EXACT_BYTES;
}

static void add(dit_volume *volume, int64_t messages, int64_t bytes_each)
{
    volume->messages += messages;
    volume->bytes += messages * bytes_each;
}

bool dit_layer_ranks_differ(const dit_layer *layer)
{
    return layer->ring == DIT_RING_HELPED;
}

/* What ring rank `i` sends; `kv`, `q`, `result`: bytes of a message of each kind. */
static void add_helped(dit_volume *ring, int64_t r, int64_t i, int64_t kv, int64_t q, int64_t result)
{
    add(ring, clamp(r - 1 - i, r / 2), kv);
    add(ring, clamp(i - r / 2, r), q);
    add(ring, clamp((r - 1) / 2 - i, r), result);
}

void dit_layer_volume(const dit_parallel *parallel, const dit_layer *layer, int rank, dit_volume_table *out)
{
    dit_token_cut cut = dit_token_cut_of(parallel, layer);
    dit_head_cut heads = dit_head_cut_of(layer->heads, layer->kv_heads, cut.u);
    dit_volume *ulysses = &out->at[DIT_AXIS_ULYSSES][DIT_COLLECTIVE_ALL_TO_ALL][DIT_PHASE_STEP];
    dit_volume *ring = &out->at[DIT_AXIS_RING][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP];
    dit_volume *gather = &out->at[DIT_AXIS_RING][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP];
    int64_t head = layer->head_dim * element_bytes(layer), peers = layer->batch * (cut.u - 1);
    memset(out, 0, sizeof *out);
    if (layer->packed) {
        add(ulysses, peers, cut.rows * (heads.heads + 2 * heads.kv_heads) * head);
        add(ulysses, peers, cut.rows * heads.heads * head);
    } else {
        add(ulysses, 2 * peers, cut.rows * heads.heads * head);
        add(ulysses, 2 * peers, cut.rows * heads.kv_heads * head);
    }
    int64_t queries = layer->batch * cut.ring_rows * heads.heads;
    if (layer->ring == DIT_RING_QUERIES) {
        add(ring, cut.r - 1, queries * head);
        add(ring, cut.r - 1, queries * (layer->head_dim + 1) * EXACT_BYTES); /* results and their log-sum-exp */
    } else if (layer->ring == DIT_RING_WHOLE_ROWS)
        add(ring, 2 * (cut.r - 1), layer->batch * cut.ring_rows * heads.kv_heads * head);
    else if (layer->ring == DIT_RING_HELPED)
        add_helped(ring, cut.r, rank, 2 * layer->batch * cut.ring_rows * heads.kv_heads * head, queries * head,
                   queries * (layer->head_dim + 1) * EXACT_BYTES);
    else
        add(layer->ring == DIT_RING_GATHER ? gather : ring, cut.r - 1,
            2 * layer->batch * cut.ring_rows * heads.kv_heads * head);
}

void dit_layer_memory(const dit_parallel *parallel, const dit_layer *layer, int64_t bytes[4])
{
    dit_token_cut cut = dit_token_cut_of(parallel, layer);
    dit_head_cut heads = dit_head_cut_of(layer->heads, layer->kv_heads, cut.u);
    int64_t head = layer->batch * layer->head_dim * element_bytes(layer);
    int64_t exact = layer->batch * layer->head_dim * EXACT_BYTES;
    bytes[0] = 0;
    bytes[1] = cut.rows * (2 * layer->heads + 2 * layer->kv_heads) * head + layer->tokens * EXACT_BYTES;
    bytes[2] = cut.r > 1 ? cut.ring_rows * heads.heads * (exact + 2 * layer->batch * EXACT_BYTES) : 0;
    if (layer->whole_scores) bytes[2] = cut.ring_rows * (layer->tokens + SCORE_PADDING) * EXACT_BYTES;
    bytes[3] = cut.r > 1 ? 3 * 2 * cut.ring_rows * heads.kv_heads * head : 0;
    if (layer->ring == DIT_RING_DOUBLE && layer->inner_ring < cut.r) bytes[3] += bytes[3] / 3; /* a block more */
    if (layer->ring == DIT_RING_WHOLE_ROWS) {
        bytes[2] = layer->batch * layer->heads * cut.ring_rows * cut.r * cut.ring_rows * EXACT_BYTES;
        bytes[3] = 2 * cut.ring_rows * heads.kv_heads * head;
    }
    if (layer->ring == DIT_RING_QUERIES) {
        bytes[2] = cut.ring_rows * heads.heads * layer->batch * EXACT_BYTES;
        bytes[3] = cut.ring_rows * heads.heads * (2 * head + 4 * exact + 4 * layer->batch * EXACT_BYTES);
    }
    if (layer->ring == DIT_RING_GATHER) {
        bytes[1] += layer->causal || layer->mask ? layer->tokens * (int64_t)sizeof(int32_t) : 0;
        bytes[2] = 2 * layer->tokens * heads.kv_heads * head;
        bytes[3] = 2 * cut.r * cut.ring_rows * heads.kv_heads * head;
    }
    if (layer->ring == DIT_RING_HELPED) {
        int64_t q = cut.ring_rows * heads.heads * head, kv = 2 * cut.ring_rows * heads.kv_heads * head;
        int64_t lse = cut.ring_rows * heads.heads * layer->batch * EXACT_BYTES;
        bytes[3] = q + kv + 2 * (q > kv ? q : kv) + 2 * (cut.ring_rows * heads.heads * exact + lse);
    }
    if (cut.u > 1) bytes[3] += cut.ring_rows * (4 * heads.heads + 2 * heads.kv_heads) * head;
}
