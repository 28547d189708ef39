/* Attention: identities that hold whatever the numbers are. Each holds on every instruction set. */
#include "kernels/kernels.h"

#include "base/rng.h"

#include "base/tests/test.h"
#include "kernels/tests/each_isa.h"

enum { B = 2, H = 3, SQ = 70, SK = 211, D = 40, C = H * D, OUT = B * SQ * C, LSE = B * H * SQ };

static float q[B * SQ * C], k[B * SK * C], v[B * SK * C], bias[B * SK];
static const dit_kernels *kernels;
static dit_pool *pool;

static int set_up(void **state)
{
    (void)state;
    dit_rng_normal(7, 1, 0, B * SQ * C, 0, 1.5f, q);
    dit_rng_normal(7, 2, 0, B * SK * C, 0, 1.5f, k);
    dit_rng_normal(7, 3, 0, B * SK * C, 0, 1, v);
    memset(bias, 0, sizeof bias);
    return dit_pool_create(2, true, &pool) != DIT_OK;
}

static int tear_down(void **state)
{
    (void)state;
    dit_pool_free(pool);
    return 0;
}

/* Runs `property` on the reference and on the instruction set of the test. */
static void for_each_backend(void (*property)(void))
{
    static const char *const backends[] = {"ref", "cpu"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(dit_kernels_get(backends[i], &kernels), DIT_OK);
        property();
    }
}

/* Keys [begin, end) of each batch. */
static void attend(int64_t begin, int64_t end, const float *mask, float *out, float *lse)
{
    dit_attention_args args = {.B = B,
                               .H = H,
                               .Sq = SQ,
                               .Sk = end - begin,
                               .D = D,
                               .q = q,
                               .ldq = C,
                               .batch_q = SQ * C,
                               .k = k + begin * C,
                               .v = v + begin * C,
                               .ldk = C,
                               .ldv = C,
                               .batch_k = SK * C,
                               .batch_v = SK * C,
                               .bias = mask,
                               .scale = 1 / sqrtf(D),
                               .out = out,
                               .ldo = C,
                               .batch_o = SQ * C,
                               .lse = lse};
    kernels->attention(pool, &args);
}

static void merge(float *out, float *lse, const float *block_out, const float *block_lse)
{
    dit_merge_args args = {.B = B,
                           .H = H,
                           .S = SQ,
                           .D = D,
                           .out = out,
                           .lse = lse,
                           .ldo = C,
                           .batch_o = SQ * C,
                           .block_out = block_out,
                           .block_lse = block_lse};
    kernels->attention_merge(pool, &args);
}

static double distance(const float *a, const float *b, int count)
{
    double difference = 0, norm = 0;
    for (int i = 0; i < count; i++) {
        difference += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        norm += (double)b[i] * b[i];
    }
    return sqrt(difference / norm);
}

static void merge_splits_in_order(const int order[4], const float *whole, const float *whole_lse)
{
    static const int bounds[5] = {0, 1, 50, 114, SK};
    static float out[OUT], lse[LSE], block_out[OUT], block_lse[LSE];
    for (int i = 0; i < OUT; i++) out[i] = NAN; /* nothing may read it before the first block */
    for (int i = 0; i < LSE; i++) lse[i] = -INFINITY;
    for (int i = 0; i < 4; i++) {
        attend(bounds[order[i]], bounds[order[i] + 1], NULL, block_out, block_lse);
        merge(out, lse, block_out, block_lse);
    }
    assert_true(distance(out, whole, OUT) < 2e-6);
    assert_true(distance(lse, whole_lse, LSE) < 1e-6);
}

static void splits_merge_to_the_whole(void)
{
    static const int orders[3][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
    static float whole[OUT], whole_lse[LSE];
    attend(0, SK, NULL, whole, whole_lse);
    for (int i = 0; i < 3; i++) merge_splits_in_order(orders[i], whole, whole_lse);
}

static void key_splits_in_any_order_merge_to_the_whole(void **state)
{
    (void)state;
    for_each_backend(splits_merge_to_the_whole);
}

static void empty_merge_changes_nothing(void)
{
    static float out[OUT], lse[LSE], before[OUT], block_out[OUT], block_lse[LSE];
    attend(0, SK, NULL, out, lse);
    memcpy(before, out, sizeof out);
    for (int i = 0; i < OUT; i++) block_out[i] = NAN;
    for (int i = 0; i < LSE; i++) block_lse[i] = -INFINITY;
    merge(out, lse, block_out, block_lse);
    assert_memory_equal(out, before, sizeof out);
    for (int i = 0; i < LSE; i++) lse[i] = -INFINITY;
    merge(out, lse, block_out, block_lse); /* nothing with nothing */
    for (int i = 0; i < LSE; i++) assert_true(lse[i] == -INFINITY);
}

static void a_block_without_keys_merges_to_no_change(void **state)
{
    (void)state;
    for_each_backend(empty_merge_changes_nothing);
}

static void lse_is_the_sum(void)
{
    static float out[OUT], lse[LSE];
    attend(0, SK, NULL, out, lse);
    for (int row = 0; row < SQ; row += 23) {
        double sum = 0; /* batch 1, head 2 */
        for (int key = 0; key < SK; key++) {
            double s = 0;
            for (int d = 0; d < D; d++) s += (double)q[(SQ + row) * C + 2 * D + d] * k[(SK + key) * C + 2 * D + d];
            sum += exp(s * (1 / sqrtf(D)));
        }
        assert_true(fabs(lse[(H + 2) * SQ + row] - log(sum)) < 2e-6 * fabs(log(sum)));
    }
}

static void lse_is_the_log_of_the_summed_exponentials(void **state)
{
    (void)state;
    for_each_backend(lse_is_the_sum);
}

static void masked_tail_does_not_count(void)
{
    static float masked[OUT], shorter[OUT], plain[OUT];
    for (int i = 0; i < B * SK; i++) bias[i] = i % SK < 100 ? 0 : -10000.0f;
    attend(0, SK, bias, masked, NULL);
    attend(0, 100, NULL, shorter, NULL);
    attend(0, SK, NULL, plain, NULL);
    assert_true(distance(masked, shorter, OUT) < 1e-6);
    assert_true(distance(masked, plain, OUT) > 1e-2); /* the mask does something */
}

static void masked_keys_are_as_good_as_absent(void **state)
{
    (void)state;
    for_each_backend(masked_tail_does_not_count);
}

static void nothing_but_masked_keys(void)
{
    static float out[OUT], lse[LSE];
    for (int i = 0; i < B * SK; i++) bias[i] = -10000.0f;
    attend(0, SK, bias, out, lse);
    for (int i = 0; i < OUT; i++) assert_true(isfinite(out[i]) && fabsf(out[i]) < 10);
    for (int i = 0; i < LSE; i++) assert_true(fabsf(lse[i] + 10000) < 30);
}

/* Keys outside [begin, end) get `low`; whole tiles of keys are among them. */
static void only_a_range_counts(int begin, int end, float low)
{
    static float masked[OUT], shorter[OUT], lse[LSE], shorter_lse[LSE];
    for (int i = 0; i < B * SK; i++) bias[i] = i % SK >= begin && i % SK < end ? 0 : low;
    attend(0, SK, bias, masked, lse);
    attend(begin, end, NULL, shorter, shorter_lse);
    assert_true(distance(masked, shorter, OUT) < 1e-6);
    assert_true(distance(lse, shorter_lse, LSE) < 1e-6);
}

static void whole_tiles_masked(void)
{
    const float lows[2] = {-10000.0f, -INFINITY};
    for (int i = 0; i < 2; i++) {
        only_a_range_counts(195, SK, lows[i]); /* the first tile of 192 keys has none */
        only_a_range_counts(0, 190, lows[i]);  /* the last tile has none               */
        only_a_range_counts(100, 101, lows[i]);
    }
}

static void whole_tiles_of_masked_keys_count_nothing(void **state)
{
    (void)state;
    for_each_backend(whole_tiles_masked);
}

static void no_key_at_all(void)
{
    static float out[OUT], lse[LSE], whole[OUT], whole_lse[LSE], merged[OUT], merged_lse[LSE];
    for (int i = 0; i < B * SK; i++) bias[i] = -INFINITY;
    attend(0, SK, bias, out, lse);
    for (int i = 0; i < OUT; i++) assert_true(out[i] == 0);
    for (int i = 0; i < LSE; i++) assert_true(lse[i] == -INFINITY);
    attend(0, SK, NULL, whole, whole_lse);
    memcpy(merged, whole, sizeof whole);
    memcpy(merged_lse, whole_lse, sizeof whole_lse);
    merge(merged, merged_lse, out, lse);
    assert_memory_equal(merged, whole, sizeof whole);
    assert_memory_equal(merged_lse, whole_lse, sizeof whole_lse);
}

static void rows_without_any_key_are_zero_and_merge_to_no_change(void **state)
{
    (void)state;
    for_each_backend(no_key_at_all);
}

static void rows_with_all_keys_masked_stay_finite(void **state)
{
    (void)state;
    for_each_backend(nothing_but_masked_keys);
}

static void constant_values_come_back(void)
{
    static float out[OUT], saved[B * SK * C];
    memcpy(saved, v, sizeof v);
    for (int i = 0; i < B * SK * C; i++) v[i] = (float)(i % C);
    attend(0, SK, NULL, out, NULL);
    memcpy(v, saved, sizeof v);
    for (int i = 0; i < OUT; i++) assert_true(fabsf(out[i] - (float)(i % C)) <= 1e-5f * (float)C);
}

static void probabilities_sum_to_one(void **state)
{
    (void)state;
    for_each_backend(constant_values_come_back);
}

static void large_logits(void)
{
    static float out[OUT], lse[LSE];
    float *key = k + 17 * C; /* batch 0, one key that wins every query of head 0 by far, far beyond exp's range */
    float saved[D];
    memcpy(saved, key, sizeof saved);
    for (int d = 0; d < D; d++) key[d] = 3000.0f * q[d];
    attend(0, SK, NULL, out, lse);
    memcpy(key, saved, sizeof saved);
    for (int i = 0; i < OUT; i++) assert_true(isfinite(out[i]));
    for (int d = 0; d < D; d++) assert_true(fabsf(out[d] - v[17 * C + d]) < 1e-6f);
}

static void logits_beyond_the_range_of_exp_pick_one_key(void **state)
{
    (void)state;
    for_each_backend(large_logits);
}

static void nan_logit(void)
{
    static float out[OUT];
    float saved = q[5 * C + 3];
    q[5 * C + 3] = NAN;
    attend(0, SK, NULL, out, NULL);
    q[5 * C + 3] = saved;
    for (int i = 0; i < OUT; i++) /* row 5 of batch 0, head 0 and nothing else */
        assert_int_equal(isnan(out[i]) != 0, i / C == 5 && i % C < D);
}

static void a_nan_is_not_swallowed(void **state)
{
    (void)state;
    for_each_backend(nan_logit);
}

/* Keys from `first` on, every `step`-th, for queries at positions as told: both ascend. */
static void attend_positions(const int32_t *q_position, int first, int step, float *out, float *lse)
{
    static int32_t k_position[SK];
    dit_attention_args args = {.B = B, .H = H, .Sq = SQ, .D = D, .q = q, .ldq = C, .batch_q = SQ * C};
    for (int key = first; key < SK; key += step) k_position[args.Sk++] = key;
    args.k = k + first * C, args.v = v + first * C;
    args.ldk = args.ldv = step * C;
    args.batch_k = args.batch_v = SK * C;
    args.q_position = q_position, args.k_position = k_position;
    args.scale = 1 / sqrtf(D);
    args.out = out, args.ldo = C, args.batch_o = SQ * C, args.lse = lse;
    kernels->attention(pool, &args);
}

static void place_queries(int32_t position[SQ])
{
    for (int i = 0; i < SQ; i++) position[i] = 3 * i + (i % 2); /* 0, 4, 6, 10, ...: the last is at 208 */
}

static void a_query_sees_its_past(void)
{
    static float causal[OUT], prefix[OUT], lse[LSE], prefix_lse[LSE];
    int32_t position[SQ];
    place_queries(position);
    attend_positions(position, 0, 1, causal, lse);
    for (int row = 0; row < SQ; row += 1 + row % 7) {
        attend(0, position[row] + 1, NULL, prefix, prefix_lse);
        for (int b = 0; b < B; b++) {
            assert_true(distance(causal + (b * SQ + row) * C, prefix + (b * SQ + row) * C, C) < 2e-6);
            for (int h = 0; h < H; h++)
                assert_true(fabsf(lse[(b * H + h) * SQ + row] - prefix_lse[(b * H + h) * SQ + row]) < 1e-5f);
        }
    }
}

static void positions_give_the_attention_over_the_keys_up_to_them(void **state)
{
    (void)state;
    for_each_backend(a_query_sees_its_past);
}

/* As the hops of a striped ring: each hop is a triangle, and the first queries see nothing of most. */
static void stripes_merge(void)
{
    static float whole[OUT], whole_lse[LSE], out[OUT], lse[LSE], block_out[OUT], block_lse[LSE];
    int32_t position[SQ];
    place_queries(position);
    attend_positions(position, 0, 1, whole, whole_lse);
    for (int i = 0; i < LSE; i++) lse[i] = -INFINITY;
    for (int stripe = 4; stripe >= 0; stripe--) {
        attend_positions(position, stripe, 5, block_out, block_lse);
        if (stripe) assert_true(block_lse[0] == -INFINITY && block_out[0] == 0);
        merge(out, lse, block_out, block_lse);
    }
    assert_true(distance(out, whole, OUT) < 2e-6);
    assert_true(distance(lse, whole_lse, LSE) < 1e-6);
}

static void causal_stripes_merge_to_the_whole(void **state)
{
    (void)state;
    for_each_backend(stripes_merge);
}

/* The keys of all SK positions, as far as the mask shows them. */
static dit_attention_args masked_args(const dit_mask *mask, const int32_t *queries, const int32_t *keys, float *out,
                                      float *lse)
{
    dit_attention_args args = {.B = B, .H = H, .Sq = SQ, .Sk = SK, .D = D, .q = q, .ldq = C, .batch_q = SQ * C};
    args.k = k, args.v = v, args.ldk = args.ldv = C, args.batch_k = args.batch_v = SK * C;
    args.q_position = queries, args.k_position = keys, args.mask = mask;
    args.scale = 1 / sqrtf(D);
    args.out = out, args.ldo = C, args.batch_o = SQ * C, args.lse = lse;
    return args;
}

/* A mask hides what a bias of -INFINITY hides, query by query; work is the pairs that are left. */
static void masks_hide(void)
{
    static float out[OUT], lse[LSE], row_out[OUT], row_lse[LSE], hidden[B * SK];
    static int32_t queries[SQ], keys[SK];
    place_queries(queries);
    for (int key = 0; key < SK; key++) keys[key] = key;
    for (int kind = 1; kind < DIT_MASK_COUNT; kind++) {
        dit_mask mask;
        double pairs = 0;
        dit_mask_build((dit_mask_kind)kind, SK, &mask);
        dit_attention_args args = masked_args(&mask, queries, keys, out, lse);
        kernels->attention(pool, &args);
        for (int row = 0; row < SQ; row++) {
            for (int i = 0; i < B * SK; i++)
                hidden[i] = dit_mask_sees(&mask, queries[row], keys[i % SK]) ? 0 : -INFINITY;
            for (int key = 0; key < SK; key++) pairs += dit_mask_sees(&mask, queries[row], keys[key]);
            if (row % 9) continue;
            attend(0, SK, hidden, row_out, row_lse);
            for (int b = 0; b < B; b++)
                assert_true(distance(out + (b * SQ + row) * C, row_out + (b * SQ + row) * C, C) < 2e-6);
            assert_true(fabsf(lse[row] - row_lse[row]) < 1e-5f);
        }
        assert_true(dit_attention_pairs(&args) == pairs);
        assert_true(dit_attention_work(&args).flops == 4.0 * B * H * D * pairs);
    }
}

static void a_mask_hides_what_a_bias_hides(void **state)
{
    (void)state;
    for_each_backend(masks_hide);
}

/* Room for all scores of a head changes no result: full, causal and by a mask, with heads that share a key head. */
static void whole_rows_give_what_tiles_give(void **state)
{
    enum { KINDS = 3 };
    static float tiled[OUT], whole[OUT], tiled_lse[LSE], whole_lse[LSE], *scores;
    static int32_t queries[SQ], keys[SK];
    dit_mask mask;
    (void)state;
    place_queries(queries);
    for (int key = 0; key < SK; key++) keys[key] = key;
    dit_mask_build(DIT_MASK_WINDOW, SK, &mask);
    scores = malloc((size_t)dit_attention_score_floats(SQ, SK) * sizeof *scores);
    assert_non_null(scores);
    assert_int_equal(dit_kernels_get("cpu", &kernels), DIT_OK);
    for (int kind = 0; kind < KINDS; kind++) {
        dit_attention_args args =
            masked_args(kind == 2 ? &mask : NULL, kind ? queries : NULL, kind ? keys : NULL, tiled, tiled_lse);
        args.kv_group = kind == 1 ? H : 0;
        kernels->attention(pool, &args);
        args.scores = scores, args.out = whole, args.lse = whole_lse;
        kernels->attention(pool, &args);
        assert_true(distance(whole, tiled, OUT) < 2e-6);
        for (int i = 0; i < LSE; i++)
            assert_true(whole_lse[i] == tiled_lse[i] || fabsf(whole_lse[i] - tiled_lse[i]) < 1e-5f);
    }
    free(scores);
}

/* Values of keys that no query of a tile sees are not read: a NaN among them reaches nobody. The plain operator reads
 * them, with weight 0. */
static void tiles_are_skipped(void)
{
    enum { DOCUMENT = SK / 2 }; /* all queries are in the first one */
    static float out[OUT], saved[B * SK * C];
    static int32_t queries[SQ], keys[SK];
    dit_mask mask;
    if (strcmp(kernels->name, "ref") == 0) return;
    for (int i = 0; i < SQ; i++) queries[i] = i;
    for (int key = 0; key < SK; key++) keys[key] = key;
    dit_mask_build(DIT_MASK_DOCUMENTS, SK, &mask);
    memcpy(saved, v, sizeof saved);
    for (int i = 0; i < B * SK * C; i++)
        if (i / C % SK >= DOCUMENT) v[i] = NAN;
    dit_attention_args args = masked_args(&mask, queries, keys, out, NULL);
    kernels->attention(pool, &args);
    memcpy(v, saved, sizeof saved);
    for (int i = 0; i < OUT; i++) assert_true(isfinite(out[i]));
}

/* Blocks of keys between those that queries see are skipped, too: the last queries see the first keys and the last. */
static void gaps_are_skipped(void)
{
    enum { N = 800, LATE = 700, WIDTH = 8, HIDDEN = 192 /* a block of keys, the second */ };
    static float rows[N * WIDTH], values[N * WIDTH], out[(N - LATE) * WIDTH];
    static int32_t tokens[N];
    dit_mask mask;
    dit_mask_build(DIT_MASK_GLOBAL_WINDOW, N, &mask);
    dit_rng_normal(7, 4, 0, N * WIDTH, 0, 1, rows);
    memcpy(values, rows, sizeof values);
    for (int i = 0; i < N; i++) tokens[i] = i;
    for (int i = HIDDEN * WIDTH; i < 2 * HIDDEN * WIDTH; i++) values[i] = NAN;
    assert_false(dit_mask_sees(&mask, LATE, HIDDEN) || dit_mask_sees(&mask, LATE, 2 * HIDDEN - 1));
    assert_true(dit_mask_sees(&mask, LATE, 0) && dit_mask_sees(&mask, LATE, N - 100));
    if (strcmp(kernels->name, "ref") == 0) return;
    dit_attention_args args = {.B = 1, .H = 1, .Sq = N - LATE, .Sk = N, .D = WIDTH, .mask = &mask, .scale = 1};
    args.q = rows + LATE * WIDTH, args.k = rows, args.v = values;
    args.ldq = args.ldk = args.ldv = args.ldo = WIDTH;
    args.q_position = tokens + LATE, args.k_position = tokens, args.out = out;
    kernels->attention(pool, &args);
    for (int i = 0; i < (N - LATE) * WIDTH; i++) assert_true(isfinite(out[i]));
}

static void tiles_that_a_mask_hides_are_skipped(void **state)
{
    (void)state;
    for_each_backend(tiles_are_skipped);
    for_each_backend(gaps_are_skipped);
}

/* Two query heads of each key head, the first of them the second member of its group. */
static void groups_share(void)
{
    static float grouped[OUT], alone[OUT];
    dit_attention_args args = {.B = B, .H = H, .Sq = SQ, .Sk = SK, .D = D, .q = q, .ldq = C, .batch_q = SQ * C};
    args.k = k, args.v = v, args.ldk = args.ldv = C, args.batch_k = args.batch_v = SK * C;
    args.kv_group = 2, args.kv_first = 1;
    args.scale = 1 / sqrtf(D);
    args.out = grouped, args.ldo = C, args.batch_o = SQ * C;
    kernels->attention(pool, &args);
    for (int h = 0; h < H; h++) {
        dit_attention_args one = args;
        one.H = 1, one.kv_group = one.kv_first = 0;
        one.q += h * D, one.out = alone + h * D;
        one.k += (1 + h) / 2 * D, one.v += (1 + h) / 2 * D;
        kernels->attention(pool, &one);
    }
    assert_memory_equal(grouped, alone, sizeof alone);
    assert_true(dit_attention_work(&args).bytes == 4.0 * 2 * B * D * (H * SQ + 2 * SK)); /* two key heads of three */
}

static void query_heads_of_a_group_share_a_key_head(void **state)
{
    (void)state;
    for_each_backend(groups_share);
}

static void the_work_of_a_call_is_the_pairs_that_see_each_other(void **state)
{
    static const int32_t queries[] = {0, 2, 2, 7, 9}, keys[] = {1, 2, 3, 9}, seen[] = {0, 2, 2, 3, 4};
    dit_attention_args args = {.B = 2, .H = 3, .Sq = 5, .Sk = 4, .D = 10};
    (void)state;
    assert_true(dit_attention_work(&args).flops == 4.0 * 2 * 3 * 10 * 20);
    assert_true(dit_attention_work(&args).bytes == 4.0 * 2 * 3 * 10 * 2 * (5 + 4));
    args.q_position = queries, args.k_position = keys;
    assert_true(dit_attention_work(&args).flops == 4.0 * 2 * 3 * 10 * 11);
    for (int i = 0; i < 5; i++) assert_int_equal(dit_attention_seen(&args, i), seen[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_give_the_attention_over_the_keys_up_to_them),
        cmocka_unit_test(causal_stripes_merge_to_the_whole),
        cmocka_unit_test(a_mask_hides_what_a_bias_hides),
        cmocka_unit_test(whole_rows_give_what_tiles_give),
        cmocka_unit_test(tiles_that_a_mask_hides_are_skipped),
        cmocka_unit_test(query_heads_of_a_group_share_a_key_head),
        cmocka_unit_test(the_work_of_a_call_is_the_pairs_that_see_each_other),
        cmocka_unit_test(key_splits_in_any_order_merge_to_the_whole),
        cmocka_unit_test(a_block_without_keys_merges_to_no_change),
        cmocka_unit_test(lse_is_the_log_of_the_summed_exponentials),
        cmocka_unit_test(masked_keys_are_as_good_as_absent),
        cmocka_unit_test(rows_with_all_keys_masked_stay_finite),
        cmocka_unit_test(whole_tiles_of_masked_keys_count_nothing),
        cmocka_unit_test(rows_without_any_key_are_zero_and_merge_to_no_change),
        cmocka_unit_test(probabilities_sum_to_one),
        cmocka_unit_test(logits_beyond_the_range_of_exp_pick_one_key),
        cmocka_unit_test(a_nan_is_not_swallowed),
    };
    return RUN_ON_EACH_ISA(tests, set_up, tear_down);
}
