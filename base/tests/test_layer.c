/* Layer: layouts hold every token once, closed forms agree with the published ones and with counting by hand. */
#include "base/layer.h"

#include "base/tests/test.h"

static dit_parallel mesh(int u, int r)
{
    dit_parallel parallel = {0};
    parallel.degree[DIT_AXIS_ULYSSES] = u;
    parallel.degree[DIT_AXIS_RING] = r;
    return parallel;
}

static dit_layer layer_of(int64_t tokens, dit_token_layout layout)
{
    return (dit_layer){.tokens = tokens, .heads = 4, .kv_heads = 4, .head_dim = 8, .batch = 1, .layout = layout};
}

static const int meshes[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {3, 2}, {2, 3}, {1, 5}, {4, 4}, {5, 3}};
enum { MESHES = sizeof meshes / sizeof *meshes };

/* Rows of every ring rank: tokens first, ascending, none twice, none missing. */
static void check_layout(const dit_layer *layer, int u, int r)
{
    const dit_parallel parallel = mesh(u, r);
    dit_token_cut cut = dit_token_cut_of(&parallel, layer);
    int *seen = calloc((size_t)layer->tokens, sizeof *seen);
    assert_non_null(seen);
    assert_int_equal(cut.ring_rows, u * cut.rows);
    assert_true(cut.r * cut.ring_rows >= layer->tokens);
    for (int64_t k = 0; k < r; k++) {
        int64_t count = dit_token_count(layer, &cut, k), before = -1;
        assert_true(count >= 0 && count <= cut.ring_rows);
        for (int64_t row = 0; row < cut.ring_rows; row++) {
            int64_t token = dit_token_position(layer, &cut, k, row);
            assert_true(token > before);
            before = token;
            assert_int_equal(token < layer->tokens, row < count);
            if (row < count) assert_int_equal(seen[token]++, 0);
        }
    }
    for (int64_t token = 0; token < layer->tokens; token++) assert_int_equal(seen[token], 1);
    free(seen);
}

static void every_layout_holds_every_token_once(void **state)
{
    static const int64_t tokens[] = {1, 2, 5, 12, 23, 48, 60, 97, 240};
    (void)state;
    for (int layout = 0; layout < DIT_TOKEN_COUNT; layout++)
        for (size_t t = 0; t < sizeof tokens / sizeof *tokens; t++)
            for (int m = 0; m < MESHES; m++) {
                dit_layer layer = layer_of(tokens[t], (dit_token_layout)layout);
                check_layout(&layer, meshes[m][0], meshes[m][1]);
            }
}

static void layouts_are_the_known_ones(void **state)
{
    static const int64_t expected[DIT_TOKEN_COUNT][2][6] = {
        [DIT_TOKEN_BASIC] = {{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}},
        [DIT_TOKEN_ZIGZAG] = {{0, 1, 2, 9, 10, 11}, {3, 4, 5, 6, 7, 8}},
        [DIT_TOKEN_STRIPE] = {{0, 2, 4, 6, 8, 10}, {1, 3, 5, 7, 9, 11}},
    };
    const dit_parallel parallel = mesh(1, 2);
    (void)state;
    for (int layout = 0; layout < DIT_TOKEN_COUNT; layout++) {
        dit_layer layer = layer_of(12, (dit_token_layout)layout);
        dit_token_cut cut = dit_token_cut_of(&parallel, &layer);
        for (int k = 0; k < 2; k++)
            for (int row = 0; row < 6; row++)
                assert_int_equal(dit_token_position(&layer, &cut, k, row), expected[layout][k][row]);
    }
}

static double pairs_of_rank(const dit_layer *layer, const dit_token_cut *cut, int k)
{
    double pairs = 0;
    for (int source = 0; source < cut->r; source++) pairs += dit_layer_pairs(layer, cut, k, source);
    return pairs;
}

/* The last rank of a basic ring has 2 - 1/r times the mean, less half a diagonal; zigzag has the mean exactly. */
static void zigzag_and_stripe_spread_causal_work(void **state)
{
    enum { S = 240, R = 4 };
    const dit_parallel parallel = mesh(1, R);
    const double mean = S * (S + 1) / 2.0 / R, block = (double)S / R;
    (void)state;
    for (int layout = 0; layout < DIT_TOKEN_COUNT; layout++) {
        dit_layer layer = layer_of(S, (dit_token_layout)layout);
        layer.causal = true;
        dit_token_cut cut = dit_token_cut_of(&parallel, &layer);
        double sum = 0, most = 0;
        for (int k = 0; k < R; k++) {
            double pairs = pairs_of_rank(&layer, &cut, k);
            sum += pairs;
            most = fmax(most, pairs);
        }
        assert_true(sum == S * (S + 1) / 2.0);
        if (layout == DIT_TOKEN_BASIC) assert_true(most == (R - 1) * block * block + block * (block + 1) / 2);
        if (layout == DIT_TOKEN_ZIGZAG) assert_true(most == mean);
        if (layout == DIT_TOKEN_STRIPE) assert_true(most < 1.02 * mean);
    }
}

static void flops_are_of_the_pairs_that_see_each_other(void **state)
{
    const dit_parallel parallel = mesh(2, 3);
    (void)state;
    for (int layout = 0; layout < DIT_TOKEN_COUNT; layout++) {
        dit_layer layer = {.tokens = 23, .heads = 5, .kv_heads = 5, .head_dim = 8, .batch = 2, .causal = true};
        double sum = 0;
        layer.layout = (dit_token_layout)layout;
        for (int rank = 0; rank < 6; rank++) {
            double hops = 0;
            for (int source = 0; source < 3; source++) hops += dit_layer_flops(&parallel, &layer, rank, source);
            assert_true(hops == dit_layer_flops(&parallel, &layer, rank, -1));
            sum += hops;
        }
        assert_true(sum == 4.0 * 2 * 5 * 8 * (23 * 24 / 2));
    }
}

static void heads_are_cut_with_room_for_the_neediest(void **state)
{
    static const struct {
        int64_t heads, kv_heads, u, room, kv_room;
    } cases[] = {
        {8, 8, 4, 2, 2}, {8, 2, 2, 4, 1},  {8, 2, 4, 2, 1}, /* replicated twice */
        {8, 1, 8, 1, 1}, {12, 4, 3, 4, 2},                  /* heads 4-7 read two shared heads */
        {6, 6, 4, 2, 2}, {5, 1, 3, 2, 1},  {3, 3, 4, 1, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dit_head_cut cut = dit_head_cut_of(cases[i].heads, cases[i].kv_heads, cases[i].u);
        assert_int_equal(cut.heads, cases[i].room);
        assert_int_equal(cut.kv_heads, cases[i].kv_room);
    }
    assert_int_equal(dit_head_first(6, 4, 0), 0);
    assert_int_equal(dit_head_first(6, 4, 2), 4);
    assert_int_equal(dit_head_first(6, 4, 3), 6); /* this rank has none */
    assert_int_equal(dit_head_first(6, 4, 4), 6);
}

static int64_t bytes_of(const dit_layer *layer, int u, int r, int64_t *messages)
{
    const dit_parallel parallel = mesh(u, r);
    dit_volume_table table;
    dit_layer_volume(&parallel, layer, 0, &table);
    if (messages)
        *messages = table.at[DIT_AXIS_ULYSSES][DIT_COLLECTIVE_ALL_TO_ALL][DIT_PHASE_STEP].messages +
                    table.at[DIT_AXIS_RING][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP].messages;
    return dit_volume_total_bytes(&table);
}

static void volumes_are_the_published_ones(void **state)
{
    dit_layer layer = {.tokens = 240, .heads = 16, .kv_heads = 16, .head_dim = 8, .batch = 2};
    const int64_t operand = 2 * 240 * 16 * 8 * 4; /* B S H D e */
    (void)state;
    assert_int_equal(bytes_of(&layer, 1, 1, NULL), 0);
    for (int n = 2; n <= 8; n *= 2) {
        assert_int_equal(bytes_of(&layer, n, 1, NULL), 4 * (n - 1) * operand / (n * n));
        assert_int_equal(bytes_of(&layer, 1, n, NULL), 2 * (n - 1) * operand / n);
    }
    assert_int_equal(bytes_of(&layer, 4, 2, NULL), 4 * 3 * operand / (4 * 4 * 2) + 2 * operand / (4 * 2));
    layer.kv_heads = 4;
    assert_int_equal(bytes_of(&layer, 4, 1, NULL), (2 + 2 / 4.0) * 3 * (double)operand / 16);
    assert_int_equal(bytes_of(&layer, 8, 1, NULL), (2 + 2 * 8 / 16.0) * 7 * (double)operand / 64); /* 8 of 4 heads */
    assert_int_equal(bytes_of(&layer, 1, 4, NULL), 2 * 3 * operand / 4 / 4);
}

static void packing_saves_messages_and_no_bytes(void **state)
{
    dit_layer apart = {.tokens = 24, .heads = 4, .kv_heads = 2, .head_dim = 8, .batch = 3}, packed = apart;
    int64_t messages_apart, messages_packed;
    packed.packed = true;
    (void)state;
    assert_int_equal(bytes_of(&apart, 4, 1, &messages_apart), bytes_of(&packed, 4, 1, &messages_packed));
    assert_int_equal(messages_apart, 4 * 3 * 3);
    assert_int_equal(messages_packed, 2 * 3 * 3);
}

static void padding_is_paid_for(void **state)
{
    dit_layer even = layer_of(24, DIT_TOKEN_BASIC), odd = layer_of(21, DIT_TOKEN_BASIC), three = even;
    three.heads = three.kv_heads = 3;
    (void)state;
    assert_int_equal(bytes_of(&odd, 2, 2, NULL), bytes_of(&even, 2, 2, NULL)); /* 21 tokens travel as 24 */
    odd.layout = DIT_TOKEN_ZIGZAG;
    assert_int_equal(bytes_of(&odd, 2, 2, NULL), bytes_of(&even, 2, 2, NULL));
    assert_int_equal(bytes_of(&three, 4, 1, NULL), bytes_of(&even, 4, 1, NULL)); /* 3 heads as 4 */
}

static void whole_rows_send_the_bytes_of_a_ring_in_twice_the_messages(void **state)
{
    dit_layer merged = {.tokens = 240, .heads = 16, .kv_heads = 4, .head_dim = 8, .batch = 2}, whole = merged;
    int64_t messages_merged, messages_whole;
    whole.ring = DIT_RING_WHOLE_ROWS;
    (void)state;
    for (int r = 2; r <= 8; r *= 2) {
        int64_t block = 2 * 240 / r * 4 * 8 * 4; /* B n Hk D e, of k or of v */
        assert_int_equal(bytes_of(&whole, 1, r, &messages_whole), 2 * (r - 1) * block);
        assert_int_equal(bytes_of(&whole, 1, r, NULL), bytes_of(&merged, 1, r, &messages_merged));
        assert_int_equal(messages_whole, 2 * (r - 1));
        assert_int_equal(messages_merged, r - 1);
    }
}

static void queries_that_travel_cost_a_log_sum_exp_more_than_keys(void **state)
{
    dit_layer merged = {.tokens = 240, .heads = 16, .kv_heads = 16, .head_dim = 8, .batch = 2}, queries = merged;
    int64_t messages;
    queries.ring = DIT_RING_QUERIES;
    (void)state;
    for (int r = 2; r <= 8; r *= 2) {
        int64_t more = (r - 1) * 2 * 240 / r * 16 * 4; /* B n H e */
        assert_int_equal(bytes_of(&queries, 1, r, &messages), bytes_of(&merged, 1, r, NULL) + more);
        assert_int_equal(messages, 2 * (r - 1));
    }
}

static void gathered_keys_are_a_rings_bytes_in_another_collective(void **state)
{
    dit_layer merged = {.tokens = 240, .heads = 16, .kv_heads = 4, .head_dim = 8, .batch = 2}, gathered = merged;
    (void)state;
    gathered.ring = DIT_RING_GATHER;
    for (int r = 2; r <= 8; r *= 2) {
        const dit_parallel parallel = mesh(1, r);
        dit_volume_table table;
        dit_layer_volume(&parallel, &gathered, 0, &table);
        const dit_volume *volume = &table.at[DIT_AXIS_RING][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP];
        assert_int_equal(volume->messages, r - 1);
        assert_int_equal(volume->bytes, 2 * (r - 1) * 2 * 240 / r * 4 * 8 * 4); /* 2 (r-1) B n Hk D e */
        assert_int_equal(volume->bytes, bytes_of(&merged, 1, r, NULL));
        assert_int_equal(volume->bytes, dit_volume_total_bytes(&table));
    }
}

static void gathered_keys_have_masks_padding_and_ulysses(void **state)
{
    dit_parallel ring = mesh(1, 4), both = mesh(2, 2), one = mesh(1, 1);
    dit_layer layer = layer_of(23, DIT_TOKEN_ZIGZAG);
    (void)state;
    layer.ring = DIT_RING_GATHER, layer.causal = layer.pad_tokens = true;
    assert_int_equal(dit_layer_check(&ring, &layer), DIT_OK);
    assert_int_equal(dit_layer_check(&both, &layer), DIT_OK);
    assert_int_equal(dit_layer_check(&one, &layer), DIT_ERR_CONSTRAINT_METHOD);
    assert_non_null(strstr(dit_error_last()->message, "all-gather needs a ring"));
    layer.ring = DIT_RING_SWITCH;
    assert_int_equal(dit_layer_check(&ring, &layer), DIT_ERR_CONSTRAINT_METHOD);
    assert_non_null(strstr(dit_error_last()->message, "dsp of one layer"));
    dit_error_clear();
}

/* Every block once, by its owner or by a helper; an odd ring's ranks have equal work, an even one's first half misses
 * a block. */
static void helpers_take_the_blocks_that_are_furthest_away(void **state)
{
    enum { B = 10 };
    (void)state;
    for (int r = 2; r <= 9; r++) {
        const dit_parallel parallel = mesh(1, r);
        dit_layer layer = layer_of((int64_t)B * r, DIT_TOKEN_BASIC);
        layer.causal = true, layer.ring = DIT_RING_HELPED;
        const double pair = 4.0 * 4 * 8, own = B * (B + 1) / 2.0, S = B * r;
        double sum = 0;
        for (int rank = 0; rank < r; rank++) {
            double pairs = dit_layer_flops(&parallel, &layer, rank, -1) / pair;
            int idle = r % 2 == 0 && rank < r / 2; /* in the last step, which has no helpers */
            assert_true(pairs == own + (r / 2 - idle) * B * B);
            sum += pairs;
        }
        assert_true(sum == S * (S + 1) / 2);
    }
}

static void helpers_messages_are_those_of_the_schedule(void **state)
{
    dit_layer layer = {.tokens = 240, .heads = 16, .kv_heads = 4, .head_dim = 8, .batch = 2, .causal = true};
    (void)state;
    layer.ring = DIT_RING_HELPED;
    assert_true(dit_layer_ranks_differ(&layer));
    for (int r = 2; r <= 8; r++) {
        const dit_parallel parallel = mesh(1, r);
        int64_t rows = 2 * (240 / r + (240 % r != 0)), kv = 2 * rows * 4 * 8 * 4, q = rows * 16 * 8 * 4;
        int64_t blocks = r * (r - 1) / 2, helped = 0, messages = 0, bytes = 0;
        for (int t = 1; t <= (r - 1) / 2; t++) helped += t; /* t ranks are idle in step t */
        for (int rank = 0; rank < r; rank++) {
            dit_volume_table table;
            dit_layer_volume(&parallel, &layer, rank, &table);
            messages += table.at[DIT_AXIS_RING][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP].messages;
            bytes += dit_volume_total_bytes(&table);
        }
        assert_int_equal(messages, blocks - helped + 2 * helped);
        assert_int_equal(bytes, (blocks - helped) * kv + helped * (2 * q + rows * 16 * 4));
    }
}

static void helpers_need_a_causal_mask_over_consecutive_tokens(void **state)
{
    const dit_parallel ring = mesh(1, 4);
    dit_layer layer = layer_of(24, DIT_TOKEN_BASIC);
    (void)state;
    layer.ring = DIT_RING_HELPED;
    assert_int_equal(dit_layer_check(&ring, &layer), DIT_ERR_CONSTRAINT_METHOD);
    assert_non_null(strstr(dit_error_last()->message, "without a causal mask"));
    layer.causal = true;
    assert_int_equal(dit_layer_check(&ring, &layer), DIT_OK);
    layer.layout = DIT_TOKEN_STRIPE;
    assert_int_equal(dit_layer_check(&ring, &layer), DIT_ERR_CONSTRAINT_METHOD);
    assert_non_null(strstr(dit_error_last()->message, "layout stripe"));
    dit_error_clear();
}

static void a_double_ring_sends_what_a_ring_does(void **state)
{
    dit_layer ring = {.tokens = 240, .heads = 16, .kv_heads = 4, .head_dim = 8, .batch = 2}, rings = ring;
    int64_t messages, of_ring;
    (void)state;
    rings.ring = DIT_RING_DOUBLE, rings.inner_ring = 2;
    assert_int_equal(bytes_of(&rings, 1, 8, &messages), bytes_of(&ring, 1, 8, &of_ring));
    assert_int_equal(messages, of_ring);
    assert_int_equal(bytes_of(&rings, 2, 4, &messages), bytes_of(&ring, 2, 4, &of_ring));
    assert_int_equal(messages, of_ring);
}

static void masks_are_of_policies_that_merge_or_gather(void **state)
{
    static const dit_status expected[DIT_RING_METHOD_COUNT] = {
        [DIT_RING_WHOLE_ROWS] = DIT_ERR_UNSUPPORTED,
        [DIT_RING_QUERIES] = DIT_ERR_UNSUPPORTED,
        [DIT_RING_HELPED] = DIT_ERR_CONSTRAINT_METHOD,
        [DIT_RING_SWITCH] = DIT_ERR_CONSTRAINT_METHOD,
    };
    const dit_parallel ring = mesh(1, 4);
    dit_layer layer = layer_of(24, DIT_TOKEN_BASIC);
    (void)state;
    for (int method = 0; method < DIT_RING_METHOD_COUNT; method++) {
        layer.mask = DIT_MASK_WINDOW, layer.ring = (dit_ring_method)method;
        layer.inner_ring = method == DIT_RING_DOUBLE ? 2 : 0;
        assert_int_equal(dit_layer_check(&ring, &layer), expected[method]);
    }
    layer.ring = DIT_RING_MERGE, layer.causal = true, layer.inner_ring = 0;
    assert_int_equal(dit_layer_check(&ring, &layer), DIT_ERR_CONSTRAINT_METHOD);
    assert_non_null(strstr(dit_error_last()->message, "causal and mask window together"));
    dit_error_clear();
}

/* In every layout each pair is some hop's, and no other. */
static void masked_pairs_are_all_computed_once(void **state)
{
    const dit_parallel parallel = mesh(1, 3);
    (void)state;
    for (int kind = 1; kind < DIT_MASK_COUNT; kind++)
        for (int layout = 0; layout < DIT_TOKEN_COUNT; layout++) {
            dit_layer layer = layer_of(50, (dit_token_layout)layout);
            dit_mask mask;
            layer.mask = (dit_mask_kind)kind;
            dit_mask_build(layer.mask, layer.tokens, &mask);
            dit_token_cut cut = dit_token_cut_of(&parallel, &layer);
            double pairs = 0;
            for (int k = 0; k < 3; k++) pairs += pairs_of_rank(&layer, &cut, k);
            assert_true(pairs == dit_mask_pairs(&mask));
        }
}

static void inner_rings_are_alike_and_of_double_rings(void **state)
{
    const dit_parallel ring = mesh(1, 6), both = mesh(2, 6), ulysses = mesh(2, 1);
    dit_layer layer = layer_of(24, DIT_TOKEN_BASIC);
    (void)state;
    layer.inner_ring = 3;
    assert_int_equal(dit_layer_check(&ring, &layer), DIT_ERR_CONSTRAINT_METHOD); /* of a plain ring */
    layer.ring = DIT_RING_DOUBLE;
    assert_int_equal(dit_layer_check(&ring, &layer), DIT_OK);
    assert_int_equal(dit_layer_check(&both, &layer), DIT_OK);
    assert_int_equal(dit_layer_check(&ulysses, &layer), DIT_ERR_CONSTRAINT_METHOD);
    layer.inner_ring = 4;
    assert_int_equal(dit_layer_check(&ring, &layer), DIT_ERR_CONSTRAINT_PRODUCT);
    assert_non_null(strstr(dit_error_last()->message, "ring_degree 6 not divisible by inner_ring 4"));
    layer.inner_ring = 0;
    assert_int_equal(dit_layer_check(&ring, &layer), DIT_ERR_CONSTRAINT_METHOD);
    assert_non_null(strstr(dit_error_last()->hint, "double-ring needs inner_ring"));
    dit_error_clear();
}

static int64_t scores_of(int64_t tokens, int r)
{
    dit_layer layer = {
        .tokens = tokens, .heads = 16, .kv_heads = 4, .head_dim = 8, .batch = 2, .ring = DIT_RING_WHOLE_ROWS};
    const dit_parallel parallel = mesh(1, r);
    int64_t bytes[4];
    dit_layer_memory(&parallel, &layer, bytes);
    return bytes[2];
}

static void whole_rows_hold_scores_of_all_keys(void **state)
{
    (void)state;
    assert_int_equal(scores_of(240, 2), 2 * 16 * 120 * 240 * 4); /* B H n S e */
    assert_int_equal(scores_of(240, 4), scores_of(240, 2) / 2);
    assert_int_equal(scores_of(480, 2), scores_of(240, 2) * 4);
    assert_int_equal(scores_of(480, 4), scores_of(240, 2) * 2); /* tokens a rank stay, keys grow */
}

static void whole_rows_are_of_a_ring_without_mask_or_padding(void **state)
{
    dit_parallel ring = mesh(1, 4), both = mesh(2, 2), one = mesh(1, 1);
    dit_layer layer = layer_of(24, DIT_TOKEN_BASIC);
    layer.ring = DIT_RING_WHOLE_ROWS;
    (void)state;
    assert_int_equal(dit_layer_check(&ring, &layer), DIT_OK);
    assert_int_equal(dit_layer_check(&both, &layer), DIT_ERR_CONSTRAINT_METHOD);
    assert_int_equal(dit_layer_check(&one, &layer), DIT_ERR_CONSTRAINT_METHOD);
    layer.causal = true;
    assert_int_equal(dit_layer_check(&ring, &layer), DIT_ERR_UNSUPPORTED);
    assert_non_null(strstr(dit_error_last()->hint, "\"ring\""));
    layer.causal = false, layer.pad_tokens = true, layer.tokens = 23;
    assert_int_equal(dit_layer_check(&ring, &layer), DIT_ERR_CONSTRAINT_TOKENS);
    assert_non_null(strstr(dit_error_last()->message, "tokens 23 not divisible by ring_degree 4"));
    dit_error_clear();
}

static void rules_name_what_they_refuse(void **state)
{
    dit_parallel parallel = mesh(2, 2);
    dit_layer layer = layer_of(22, DIT_TOKEN_BASIC);
    (void)state;
    assert_int_equal(dit_layer_check(&parallel, &layer), DIT_ERR_CONSTRAINT_TOKENS);
    assert_non_null(strstr(dit_error_last()->message, "tokens 22"));
    assert_non_null(strstr(dit_error_last()->hint, "24 tokens"));
    layer.pad_tokens = true;
    assert_int_equal(dit_layer_check(&parallel, &layer), DIT_OK);
    layer.heads = layer.kv_heads = 5;
    assert_int_equal(dit_layer_check(&parallel, &layer), DIT_ERR_CONSTRAINT_HEADS);
    layer.pad_heads = true;
    assert_int_equal(dit_layer_check(&parallel, &layer), DIT_OK);
    parallel.degree[DIT_AXIS_CFG] = 2;
    assert_int_equal(dit_layer_check(&parallel, &layer), DIT_ERR_UNSUPPORTED);
    dit_error_clear();
}

static void options_without_effect_are_spelled_alike(void **state)
{
    const dit_parallel one = {0}, ring = mesh(1, 2), ulysses = mesh(3, 1);
    dit_layer asked = {.tokens = 24, .heads = 4, .kv_heads = 4, .head_dim = 8, .batch = 1, .layout = DIT_TOKEN_STRIPE};
    dit_layer layer;
    (void)state;
    asked.packed = asked.pad_tokens = asked.pad_heads = true, asked.inner_ring = 2;
    layer = asked;
    dit_layer_normalise(&one, &layer);
    assert_true(layer.layout == DIT_TOKEN_BASIC && !layer.packed && !layer.pad_tokens && !layer.pad_heads);
    layer = asked;
    dit_layer_normalise(&ring, &layer);
    assert_true(layer.layout == DIT_TOKEN_STRIPE && !layer.packed && !layer.pad_tokens && !layer.pad_heads);
    assert_int_equal(layer.inner_ring, 0); /* it is no double ring */
    layer.inner_ring = 2, layer.ring = DIT_RING_DOUBLE;
    dit_layer_normalise(&ring, &layer);
    assert_int_equal(layer.inner_ring, 2);
    layer = asked;
    layer.tokens = 25;
    dit_layer_normalise(&ulysses, &layer);
    assert_true(layer.layout == DIT_TOKEN_BASIC && layer.packed && layer.pad_tokens && layer.pad_heads);
}

static dit_status read_layer(const char *text, dit_layer *out)
{
    dit_json doc;
    assert_int_equal(dit_json_parse(text, strlen(text), "case", &doc), DIT_OK);
    dit_status st = dit_layer_from_case(&doc, doc.root, "", out);
    dit_json_release(&doc);
    return st;
}

static void a_case_is_read_with_its_defaults(void **state)
{
    dit_layer layer;
    char name[64];
    (void)state;
    assert_int_equal(read_layer("{\"layer\":{\"tokens\":64,\"heads\":8,\"head_dim\":32}}", &layer), DIT_OK);
    assert_true(layer.kv_heads == 8 && layer.batch == 1 && !layer.causal && layer.layout == DIT_TOKEN_BASIC);
    dit_layer_name(&layer, name);
    assert_string_equal(name, "layer:8x32");
    assert_int_equal(read_layer("{\"layer\":{\"tokens\":64,\"heads\":8,\"kv_heads\":2,\"head_dim\":32,\"causal\":true,"
                                "\"layout\":\"stripe\"}}",
                                &layer),
                     DIT_OK);
    dit_layer_name(&layer, name);
    assert_string_equal(name, "layer:8/2x32");
    assert_true(layer.causal && layer.layout == DIT_TOKEN_STRIPE && layer.ring == DIT_RING_MERGE);
    assert_int_equal(read_layer("{\"attention\":\"ring-self-attention\",\"layer\":{\"tokens\":64,\"heads\":8,"
                                "\"head_dim\":32}}",
                                &layer),
                     DIT_OK);
    assert_true(layer.ring == DIT_RING_WHOLE_ROWS);
    assert_int_equal(read_layer("{\"layer\":{\"tokens\":64,\"heads\":8,\"kv_heads\":3,\"head_dim\":32}}", &layer),
                     DIT_OK);
    assert_int_equal(dit_layer_check(&(dit_parallel){0}, &layer), DIT_ERR_CONSTRAINT_HEADS);
    assert_int_equal(read_layer("{\"layer\":{\"tokens\":64,\"heads\":8,\"head_dim\":32,\"layout\":\"zebra\"}}", &layer),
                     DIT_ERR_JSON_VALUE);
    assert_int_equal(
        read_layer("{\"layer\":{\"tokens\":16777216,\"heads\":4096,\"head_dim\":4096,\"batch\":4096}}", &layer),
        DIT_OK);
    assert_int_equal(dit_layer_check(&(dit_parallel){0}, &layer), DIT_ERR_CONSTRAINT_MEMORY);
    dit_error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_holds_every_token_once),
        cmocka_unit_test(layouts_are_the_known_ones),
        cmocka_unit_test(zigzag_and_stripe_spread_causal_work),
        cmocka_unit_test(flops_are_of_the_pairs_that_see_each_other),
        cmocka_unit_test(heads_are_cut_with_room_for_the_neediest),
        cmocka_unit_test(volumes_are_the_published_ones),
        cmocka_unit_test(packing_saves_messages_and_no_bytes),
        cmocka_unit_test(padding_is_paid_for),
        cmocka_unit_test(whole_rows_send_the_bytes_of_a_ring_in_twice_the_messages),
        cmocka_unit_test(queries_that_travel_cost_a_log_sum_exp_more_than_keys),
        cmocka_unit_test(gathered_keys_are_a_rings_bytes_in_another_collective),
        cmocka_unit_test(gathered_keys_have_masks_padding_and_ulysses),
        cmocka_unit_test(helpers_take_the_blocks_that_are_furthest_away),
        cmocka_unit_test(helpers_messages_are_those_of_the_schedule),
        cmocka_unit_test(helpers_need_a_causal_mask_over_consecutive_tokens),
        cmocka_unit_test(a_double_ring_sends_what_a_ring_does),
        cmocka_unit_test(inner_rings_are_alike_and_of_double_rings),
        cmocka_unit_test(masks_are_of_policies_that_merge_or_gather),
        cmocka_unit_test(masked_pairs_are_all_computed_once),
        cmocka_unit_test(whole_rows_hold_scores_of_all_keys),
        cmocka_unit_test(whole_rows_are_of_a_ring_without_mask_or_padding),
        cmocka_unit_test(rules_name_what_they_refuse),
        cmocka_unit_test(options_without_effect_are_spelled_alike),
        cmocka_unit_test(a_case_is_read_with_its_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
