/* The cuda device's own attention and its merge, on the emulation, against the reference.
 */
#include "kernels/tests/cuda_arrays.h"

#include <memory>
#include <vector>

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static const dit_dtype FP32 = DIT_DTYPE_FP32, BF16 = DIT_DTYPE_BF16, FP16 = DIT_DTYPE_FP16;
static const float UNTOUCHED = 1024.0f; /* any element's */

bool cuda_attention_library_run(dit_cuda *, const dit_attention_args *)
{
    return false;
}

/* The device's memory from the host's floats, which are rounded as it is. */
static void put(float *host)
{
    set_array(host, host);
}

static float *normal_array(int64_t count, dit_dtype dtype, int64_t offset, float deviation)
{
    return normal_array(count, dtype, offset, 11, 0, deviation);
}

static float *filled_array(int64_t count, dit_dtype dtype, int64_t offset, float value)
{
    float *host = (float *)new_array(count, dtype, offset);
    for (int64_t i = 0; i < count; i++) host[i] = value;
    put(host);
    return host;
}

static int32_t *position_array(const std::vector<int32_t> &values)
{
    int32_t *host = (int32_t *)new_array((int64_t)values.size(), DIT_DTYPE_INT32, 0);
    memcpy(host, values.data(), values.size() * 4);
    memcpy(view_of(&device, host).data, host, values.size() * 4);
    return host;
}

static std::vector<float> on_device(const float *host)
{
    const array *a = array_of(host);
    std::vector<float> out((size_t)a->count);
    for (int64_t i = 0; i < a->count; i++) out[(size_t)i] = view_load(array_view(a), i);
    return out;
}

static int begin(void **)
{
    int result = open_arrays();
    device.shared_bytes = 99 << 10; /* the least of the GPUs that this is compiled for */
    return result;
}

static int end(void **)
{
    return close_arrays();
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

enum {
    BIAS = 1 << 0,       /* some keys at -10000 */
    ABSENT = 1 << 1,     /* with BIAS: the last third of the keys is not there */
    NONE = 1 << 2,       /* with BIAS: batch 0 has no keys at all */
    CAUSAL = 1 << 3,     /* queries at the last Sq of Sk positions */
    STRIPED = 1 << 4,    /* every third position, keys from the second on: the first query sees nothing */
    LATE = 1 << 5,       /* keys behind half of the queries */
    GROUPED = 1 << 6,    /* heads share keys, beginning within a group */
    FUSED = 1 << 7,      /* q, k, v in one array of [rows, 3 C] */
    NO_LSE = 1 << 8,     /* */
    SHIFTED = 1 << 9,    /* no array is 16-byte aligned */
    ODD_ROWS = 1 << 10,  /* rows an odd number of elements apart */
    FP32_OUT = 1 << 11,  /* whatever the others are */
    FP32_QUERY = 1 << 12 /* elements differ */
};

struct attention_case {
    int64_t B, H, Sq, Sk, D;
    int flags;
    dit_mask_kind mask = DIT_MASK_NONE; /* over the tokens of the positions */
};

static std::vector<int32_t> spread(int64_t count, int32_t first, int32_t step)
{
    std::vector<int32_t> out;
    for (int64_t i = 0; i < count; i++) out.push_back(first + (int32_t)i * step);
    return out;
}

static std::vector<std::unique_ptr<dit_mask>> masks;

static const dit_mask *new_mask(dit_mask_kind kind, int64_t tokens)
{
    masks.emplace_back(new dit_mask);
    dit_mask_build(kind, tokens, masks.back().get());
    return masks.back().get();
}

static void place(const attention_case &c, dit_attention_args *args)
{
    int32_t behind = (int32_t)(c.Sk - c.Sq);
    if (!c.Sk || (!c.mask && !(c.flags & (CAUSAL | STRIPED | LATE)))) return;
    std::vector<int32_t> q = spread(c.Sq, c.flags & CAUSAL ? behind : 0, c.flags & STRIPED ? 3 : 1);
    std::vector<int32_t> k = spread(c.Sk,
                                    c.flags & STRIPED ? 1
                                    : c.flags & LATE  ? (int32_t)c.Sq / 2
                                                      : 0,
                                    c.flags & STRIPED ? 3 : 1);
    args->q_position = position_array(q);
    args->k_position = position_array(k);
    if (!c.mask) return;
    args->mask = new_mask(c.mask, 1 + (q.back() > k.back() ? q.back() : k.back()));
}

static float *bias_of(const attention_case &c, dit_dtype dtype)
{
    float *bias = normal_array(c.B * c.Sk, dtype, 0, 1);
    for (int64_t i = 0; i < c.B * c.Sk; i++) {
        int64_t key = i % c.Sk;
        if (key % 5 == 1) bias[i] = -10000;
        if ((c.flags & ABSENT) && 3 * key >= 2 * c.Sk) bias[i] = -INFINITY;
        if ((c.flags & NONE) && i < c.Sk) bias[i] = -INFINITY;
    }
    put(bias);
    return bias;
}

static void fuse(const attention_case &c, dit_dtype dtype, dit_attention_args *args)
{
    int64_t C = c.H * c.D, rows = c.Sq > c.Sk ? c.Sq : c.Sk;
    float *fused = normal_array(c.B * rows * 3 * C, dtype, 0, 1);
    args->q = fused, args->k = fused + C, args->v = fused + 2 * C;
    args->ldq = args->ldk = args->ldv = 3 * C;
    args->batch_q = args->batch_k = args->batch_v = rows * 3 * C;
}

static float nowhere[1]; /* no array's: where nothing is to be read */

static dit_attention_args operands(const attention_case &c, dit_dtype dtype)
{
    int64_t C = c.H * c.D, odd = c.flags & ODD_ROWS ? 1 : 0, offset = c.flags & SHIFTED ? 1 : 0;
    dit_attention_args args = {};
    args.B = c.B, args.H = c.H, args.Sq = c.Sq, args.Sk = c.Sk, args.D = c.D;
    args.scale = (float)(1 / sqrt((double)c.D));
    if (c.flags & GROUPED) args.kv_group = 2, args.kv_first = 1;
    if (c.flags & FUSED) {
        fuse(c, dtype, &args);
    } else {
        args.ldq = C + odd, args.ldk = C + 8 + odd, args.ldv = C + 16 + odd;
        args.batch_q = c.Sq * args.ldq + 8, args.batch_k = c.Sk * args.ldk, args.batch_v = c.Sk * args.ldv;
        args.q = normal_array(c.B * args.batch_q, c.flags & FP32_QUERY ? FP32 : dtype, offset, 1.5f);
        args.k = c.Sk ? normal_array(c.B * args.batch_k, dtype, offset, 1.5f) : nowhere;
        args.v = c.Sk ? normal_array(c.B * args.batch_v, dtype, offset, 1) : nowhere;
    }
    if (c.flags & BIAS) args.bias = bias_of(c, dtype);
    place(c, &args);
    args.ldo = C + 2 + odd, args.batch_o = c.Sq * args.ldo + 4;
    args.out = filled_array(c.B * args.batch_o, c.flags & FP32_OUT ? FP32 : dtype, offset, UNTOUCHED);
    if (!(c.flags & NO_LSE)) args.lse = filled_array(c.B * c.H * c.Sq, FP32, 0, UNTOUCHED);
    return args;
}

/* One row as it is written down, every step in `element`: scores, softmax (inside it fp32), product. */
static void plain_row(const dit_attention_args *a, dit_dtype dtype, int64_t b, int64_t h, int64_t row, float *out)
{
    int64_t head = (a->kv_first + h) / (a->kv_group ? a->kv_group : 1), keys = dit_attention_seen(a, row);
    const float *q = a->q + b * a->batch_q + row * a->ldq + h * a->D;
    std::vector<float> p((size_t)keys), sums((size_t)a->D);
    float max = -INFINITY, total = 0;
    for (int64_t key = 0; key < keys; key++) {
        const float *k = a->k + b * a->batch_k + key * a->ldk + head * a->D;
        float sum = 0;
        for (int64_t d = 0; d < a->D; d++) sum += q[d] * k[d];
        sum = rounded(rounded(sum, dtype) * a->scale, dtype);
        if (a->mask && !dit_mask_sees(a->mask, a->q_position[row], a->k_position[key])) sum = -INFINITY;
        if (a->bias) sum = rounded(sum + a->bias[b * a->Sk + key], dtype);
        p[(size_t)key] = sum;
        max = fmaxf(max, sum);
    }
    for (float &x : p) total += x = max == -INFINITY ? 0 : expf(x - max);
    for (int64_t key = 0; key < keys; key++) {
        const float *v = a->v + b * a->batch_v + key * a->ldv + head * a->D;
        float x = total > 0 ? rounded(p[(size_t)key] / total, dtype) : 0;
        for (int64_t d = 0; d < a->D; d++) sums[(size_t)d] += x * v[d];
    }
    for (int64_t d = 0; d < a->D; d++) out[d] = rounded(sums[(size_t)d], dtype);
}

static std::vector<float> plain_attention(const dit_attention_args *a, dit_dtype dtype)
{
    std::vector<float> out(a->out, a->out + a->B * a->batch_o);
    for (int64_t b = 0; b < a->B; b++)
        for (int64_t h = 0; h < a->H; h++)
            for (int64_t row = 0; row < a->Sq; row++)
                plain_row(a, dtype, b, h, row, &out[(size_t)(b * a->batch_o + row * a->ldo + h * a->D)]);
    return out;
}

struct distance {
    double most, relative; /* largest of one element; L2 of all over that of the reference */
};

static distance distance_of(const std::vector<float> &got, const float *wanted)
{
    double most = 0, squares = 0, total = 0;
    for (size_t i = 0; i < got.size(); i++) {
        double error = fabs((double)got[i] - wanted[i]);
        if (got[i] == wanted[i]) error = 0; /* also -inf */
        if (!(error <= 1e30)) return {INFINITY, INFINITY};
        most = fmax(most, error);
        squares += error * error;
        if (wanted[i] != UNTOUCHED && isfinite(wanted[i])) total += (double)wanted[i] * wanted[i];
    }
    return {most, total > 0 ? sqrt(squares / total) : sqrt(squares)};
}

/* Of one rounding of the output and one of P to two-byte elements, u each at most and u / 2 or so in the mean. */
static double relative_tolerance(dit_dtype dtype)
{
    return dtype == BF16 ? 0x1p-8 : dtype == FP16 ? 0x1p-11 : 1e-5;
}

static double worst_relative[DIT_DTYPE_COUNT], worst_ratio[DIT_DTYPE_COUNT], worst_lse;

static void untouched_where_nobody_writes(const attention_case &c, const dit_attention_args *args,
                                          const std::vector<float> &got)
{
    for (int64_t i = 0; i < c.B * args->batch_o; i++) {
        int64_t in_batch = i % args->batch_o;
        bool inside = in_batch < c.Sq * args->ldo && in_batch % args->ldo < c.H * c.D;
        if (!inside) assert_true(got[(size_t)i] == UNTOUCHED);
    }
}

static void check_case(const attention_case &c, dit_dtype dtype)
{
    dit_attention_args args = operands(c, dtype);
    cuda_attention(pool, &args);
    if (device.failure != DIT_OK) fail_msg("%s", device.failure_text);
    std::vector<float> got = on_device(args.out), plain = plain_attention(&args, dtype);
    dit_ref_attention(pool, &args);
    distance own = distance_of(got, args.out), simple = distance_of(plain, args.out);
    double ratio = own.most / (simple.most + 1e-5), lse_error = 0;
    if (args.lse) lse_error = distance_of(on_device(args.lse), args.lse).most;
    untouched_where_nobody_writes(c, &args, got);
    if (own.relative > relative_tolerance(dtype) || (dtype != FP32 && ratio > 2) || lse_error > 2e-5)
        fail_msg(
            "%s B %d H %d Sq %d Sk %d D %d flags %x %s: relative L2 %g, largest %g against %g of a plain one, lse %g",
            dit_dtype_name(dtype), (int)c.B, (int)c.H, (int)c.Sq, (int)c.Sk, (int)c.D, c.flags, dit_mask_name(c.mask),
            own.relative, own.most, simple.most, lse_error);
    worst_relative[dtype] = fmax(worst_relative[dtype], own.relative);
    worst_ratio[dtype] = fmax(worst_ratio[dtype], ratio);
    worst_lse = fmax(worst_lse, lse_error);
    forget_arrays();
}

static void check_all(const attention_case *cases, int count)
{
    for (int i = 0; i < count; i++)
        for (dit_dtype dtype : {FP32, BF16, FP16}) check_case(cases[i], dtype);
}
#define CHECK_ALL(cases) check_all(cases, (int)(sizeof cases / sizeof *cases))

static void lengths_of_any_kind(void **)
{
    static const int64_t lengths[] = {1, 7, 63, 64, 65, 129, 200};
    for (int64_t Sq : lengths)
        for (int64_t Sk : lengths) {
            attention_case one[] = {{1, 2, Sq, Sk, 64, 0}};
            CHECK_ALL(one);
        }
}

static void head_sizes_of_any_kind(void **)
{
    for (int64_t D : {2, 4, 8, 10, 16, 24, 32, 40, 64, 72, 80, 88, 96, 120, 128, 130, 136, 200, 256}) {
        attention_case sizes[] = {{2, 2, 70, 131, D, 0}, {1, 1, 33, 99, D, BIAS | ABSENT}, {1, 1, 140, 160, D, CAUSAL}};
        CHECK_ALL(sizes);
    }
    static const attention_case wide[] = {
        {1, 1, 65, 70, 512, 0}, {1, 2, 5, 9, 300, CAUSAL}, {1, 1, 70, 65, 328, BIAS}, {1, 1, 33, 40, 640, 0}};
    CHECK_ALL(wide);
    device.shared_bytes = 227 << 10; /* the most: tiles of 512 channels fit */
    CHECK_ALL(wide);
}

static void masks_of_any_kind(void **)
{
    static const attention_case cases[] = {{2, 2, 65, 120, 72, BIAS},
                                           {2, 1, 65, 120, 64, BIAS | ABSENT},
                                           {2, 2, 30, 200, 128, BIAS | ABSENT | NONE},
                                           {2, 1, 129, 129, 64, CAUSAL},
                                           {1, 2, 200, 260, 128, CAUSAL},
                                           {1, 1, 129, 200, 72, STRIPED},
                                           {1, 2, 200, 129, 128, STRIPED | GROUPED},
                                           {2, 1, 300, 150, 64, LATE},
                                           {1, 1, 300, 40, 128, LATE | NO_LSE},
                                           {1, 1, 140, 70, 256, LATE},
                                           {2, 2, 200, 200, 96, CAUSAL | BIAS | ABSENT | NONE},
                                           {1, 1, 70, 1, 64, LATE},
                                           {1, 1, 65, 0, 64, 0},
                                           {2, 1, 3, 0, 40, CAUSAL}};
    CHECK_ALL(cases);
}

/* Slices of every kind, for the tiles of each kernel; queries at the end of the tokens, between keys, before most keys. */
static void slices_of_any_kind(void **)
{
    for (int kind = 1; kind < DIT_MASK_COUNT; kind++)
        for (int64_t D : {13, 40, 128}) {
            const dit_mask_kind mask = (dit_mask_kind)kind;
            attention_case cases[] = {{1, 1, 200, 200, D, 0, mask},
                                      {2, 1, 70, 333, D, CAUSAL, mask},
                                      {1, 2, 100, 160, D, STRIPED | GROUPED | NO_LSE, mask},
                                      {1, 1, 150, 90, D, LATE | BIAS | ABSENT, mask}};
            CHECK_ALL(cases);
        }
    static const attention_case few[] = {{1, 1, 1, 1, 64, 0, DIT_MASK_WINDOW},
                                         {1, 1, 65, 0, 64, 0, DIT_MASK_DOCUMENTS},
                                         {1, 1, 3, 700, 136, 0, DIT_MASK_BLOCK_CAUSAL_WINDOW}};
    CHECK_ALL(few);
}

static void layouts_of_any_kind(void **)
{
    static const attention_case cases[] = {{2, 3, 70, 70, 64, FUSED},      {2, 2, 129, 129, 128, FUSED | CAUSAL},
                                           {2, 3, 65, 70, 72, GROUPED},    {1, 5, 20, 70, 40, GROUPED | BIAS},
                                           {2, 2, 65, 70, 64, SHIFTED},    {2, 2, 65, 70, 64, ODD_ROWS},
                                           {2, 2, 65, 70, 128, FP32_OUT},  {1, 2, 65, 70, 72, FP32_OUT | SHIFTED},
                                           {1, 2, 65, 70, 64, FP32_QUERY}, {1, 2, 65, 70, 64, NO_LSE},
                                           {0, 2, 65, 70, 64, 0},          {1, 2, 0, 70, 64, 0}};
    for (const attention_case &c : cases) {
        if (c.B && c.Sq) {
            check_all(&c, 1);
            continue;
        }
        dit_attention_args args = {}; /* nothing to do: no address is looked at */
        args.B = c.B, args.H = c.H, args.Sq = c.Sq, args.Sk = c.Sk, args.D = c.D;
        args.q = args.k = args.v = args.out = nowhere;
        cuda_attention(pool, &args);
        assert_int_equal(device.failure, DIT_OK);
    }
}

/* ---- what no random numbers show --------------------------------------------------------------------------------- */

/* One key wins every query by far beyond the range of exponentials; fp16 reaches 65504. */
static void logits_beyond_the_range_of_exp_pick_one_key(void **)
{
    for (dit_dtype dtype : {FP32, BF16, FP16})
        for (int64_t D : {64, 128}) {
            attention_case c = {1, 1, 70, 150, D, CAUSAL};
            dit_attention_args args = operands(c, dtype);
            for (int64_t i = 0; i < 70 * args.ldq; i++) ((float *)args.q)[i] = 60;
            for (int64_t d = 0; d < D; d++) ((float *)args.k)[17 * args.ldk + d] = 500;
            put((float *)args.q), put((float *)args.k);
            cuda_attention(pool, &args);
            std::vector<float> out = on_device(args.out), lse = on_device(args.lse);
            for (int64_t row = 0; row < 70; row++) {
                for (int64_t d = 0; d < D; d++) assert_true(out[row * args.ldo + d] == args.v[17 * args.ldv + d]);
                assert_true(fabs(lse[row] / (60 * 500 * sqrt((double)D)) - 1) < 1e-6);
            }
            forget_arrays();
        }
}

static void a_nan_is_of_its_row_only(void **)
{
    for (dit_dtype dtype : {FP32, BF16, FP16}) {
        attention_case c = {1, 2, 70, 150, 64, 0};
        dit_attention_args args = operands(c, dtype);
        ((float *)args.q)[5 * args.ldq + 3] = NAN;
        put((float *)args.q);
        cuda_attention(pool, &args);
        std::vector<float> out = on_device(args.out), lse = on_device(args.lse);
        for (int64_t row = 0; row < 70; row++)
            for (int64_t d = 0; d < 128; d++) assert_int_equal(isnan(out[row * args.ldo + d]) != 0, row == 5 && d < 64);
        for (int64_t i = 0; i < 140; i++) assert_int_equal(isnan(lse[i]) != 0, i == 5);
        forget_arrays();
    }
}

/* Keys that nobody of a block of queries sees are not read: they may hold anything. */
static void unseen_tiles_are_not_touched(void **)
{
    for (dit_dtype dtype : {FP32, BF16}) {
        attention_case c = {1, 1, 64, 640, 64, 0};
        dit_attention_args args = operands(c, dtype);
        args.q_position = position_array(spread(64, 0, 1));
        args.k_position = position_array(spread(640, 0, 1));
        for (int64_t i = 64 * args.ldk; i < 640 * args.ldk; i++) ((float *)args.k)[i] = NAN;
        for (int64_t i = 64 * args.ldv; i < 640 * args.ldv; i++) ((float *)args.v)[i] = NAN;
        put((float *)args.k), put((float *)args.v);
        cuda_attention(pool, &args);
        for (float x : on_device(args.out)) assert_true(isfinite(x));
        forget_arrays();
    }
}

/* With slices the tiles lie anywhere: queries of the second quarter of four documents see that quarter. */
static void tiles_that_no_slice_touches_are_not_touched(void **)
{
    for (dit_dtype dtype : {FP32, BF16})
        for (int64_t D : {64, 128, 136}) {
            const int64_t step = 192; /* a multiple of all tiles */
            attention_case c = {1, 1, step, 4 * step, D, 0};
            dit_attention_args args = operands(c, dtype);
            dit_mask documents = {};
            for (int32_t i = 0; i < 4; i++)
                documents.slice[documents.count++] = {i * (int32_t)step, (i + 1) * (int32_t)step,
                                                      i * (int32_t)step, (i + 1) * (int32_t)step,
                                                      -(1 << 30),        1 << 30};
            args.mask = &documents;
            args.q_position = position_array(spread(step, (int32_t)step, 1));
            args.k_position = position_array(spread(4 * step, 0, 1));
            for (int64_t key = 0; key < 4 * step; key++) {
                if (key / step == 1) continue;
                for (int64_t i = 0; i < args.ldk; i++) ((float *)args.k)[key * args.ldk + i] = NAN;
                for (int64_t i = 0; i < args.ldv; i++) ((float *)args.v)[key * args.ldv + i] = NAN;
            }
            put((float *)args.k), put((float *)args.v);
            cuda_attention(pool, &args);
            assert_int_equal(device.failure, DIT_OK);
            for (float x : on_device(args.out)) assert_true(isfinite(x));
            forget_arrays();
        }
}

static void positions_of_another_type_are_refused(void **)
{
    attention_case c = {1, 1, 8, 8, 64, 0};
    dit_attention_args args = operands(c, BF16);
    args.q_position = args.k_position = (const int32_t *)args.q;
    cuda_attention(pool, &args);
    assert_int_equal(device.failure, DIT_ERR_DEVICE);
    for (float x : on_device(args.out)) assert_true(x == UNTOUCHED);
}

/* ---- merge ------------------------------------------------------------------------------------------------------- */

struct merge_case {
    int64_t B, S, H, D, padding;
    dit_dtype out, block_out;
};

/* lse -inf at one side, the other and both, with outputs that are NaN there. */
static void leave_out(const merge_case &c, dit_merge_args *args)
{
    for (int64_t i = 0; i < c.B * c.H * c.S; i++) {
        int64_t s = i % c.S, h = i / c.S % c.H, b = i / c.S / c.H;
        float *out = args->out + b * args->batch_o + s * args->ldo + h * c.D;
        float *block_out = (float *)args->block_out + ((b * c.S + s) * c.H + h) * c.D;
        if (i % 4 == 1 || i % 4 == 3) args->lse[i] = -INFINITY, *out = i % 4 == 1 ? NAN : *out;
        if (i % 4 == 2 || i % 4 == 3) ((float *)args->block_lse)[i] = -INFINITY, *block_out = NAN;
    }
    put(args->out), put(args->lse), put((float *)args->block_out), put((float *)args->block_lse);
}

static void check_merge(const merge_case &c, bool some_left_out)
{
    dit_merge_args args = {};
    args.B = c.B, args.S = c.S, args.H = c.H, args.D = c.D;
    args.ldo = c.H * c.D + c.padding, args.batch_o = c.S * args.ldo + c.padding;
    args.out = normal_array(c.B * args.batch_o, c.out, 0, 1);
    args.lse = normal_array(c.B * c.H * c.S, FP32, 0, 3);
    args.block_out = normal_array(c.B * c.S * c.H * c.D, c.block_out, 0, 1);
    args.block_lse = normal_array(c.B * c.H * c.S, FP32, 0, 3);
    if (some_left_out) leave_out(c, &args);
    cuda_attention_merge(pool, &args);
    if (device.failure != DIT_OK) fail_msg("%s", device.failure_text);
    dit_ref_attention_merge(pool, &args);
    std::vector<float> out = on_device(args.out), lse = on_device(args.lse);
    double unit = c.out == BF16 ? 0x1p-8 : c.out == FP16 ? 0x1p-11 : 0;
    for (size_t i = 0; i < out.size(); i++)
        if (!(fabs(out[i] - args.out[i]) <= (unit + 1e-6) * fabs(args.out[i]) + 1e-6))
            fail_msg("B %d S %d H %d D %d padding %d elements %d %d: out[%d] %g, wanted %g", (int)c.B, (int)c.S,
                     (int)c.H, (int)c.D, (int)c.padding, c.out, c.block_out, (int)i, out[i], args.out[i]);
    for (size_t i = 0; i < lse.size(); i++)
        assert_true(lse[i] == args.lse[i] || fabs(lse[i] - args.lse[i]) <= 1e-6 * (1 + fabs(args.lse[i])));
    forget_arrays();
}

static void merges_are_the_references(void **)
{
    static const int64_t shapes[][5] = {{1, 1, 1, 1, 0},   {2, 7, 3, 64, 0},  {2, 5, 2, 72, 8},   {1, 70, 2, 128, 0},
                                        {1, 3, 2, 100, 4}, {3, 5, 1, 256, 0}, {1, 9, 5, 512, 16}, {2, 3, 3, 7, 1}};
    for (const int64_t *n : shapes)
        for (dit_dtype out : {FP32, BF16, FP16})
            for (dit_dtype block_out : {FP32, BF16, FP16})
                for (bool some_left_out : {false, true})
                    check_merge({n[0], n[1], n[2], n[3], n[4], out, block_out}, some_left_out);
    dit_merge_args nothing = {};
    nothing.B = 1, nothing.H = 2, nothing.D = 64;
    nothing.out = nothing.lse = nowhere;
    cuda_attention_merge(pool, &nothing);
    assert_int_equal(device.failure, DIT_OK);
}

/* The keys from `first` on, to `out`, dense. */
static void attend_keys(dit_attention_args args, int64_t first, int64_t count, float *out, float *lse)
{
    args.Sk = count;
    args.k += first * args.ldk, args.v += first * args.ldv;
    if (args.k_position) args.k_position += first;
    args.out = out, args.lse = lse;
    args.ldo = args.H * args.D, args.batch_o = args.Sq * args.ldo;
    cuda_attention(pool, &args);
}

/* Running results are fp32; what is left is the rounding of each block's output to its elements. */
static void check_halves(const attention_case &c, dit_dtype dtype, dit_dtype block_dtype)
{
    dit_attention_args args = operands(c, dtype);
    int64_t count = c.B * c.Sq * c.H * c.D, half = c.Sk / 2 + 3;
    float *out = filled_array(count, FP32, 0, NAN), *lse = filled_array(c.B * c.H * c.Sq, FP32, 0, -INFINITY);
    float *block_out = filled_array(count, block_dtype, 0, NAN),
          *block_lse = filled_array(c.B * c.H * c.Sq, FP32, 0, 0);
    dit_merge_args merge = {c.B, c.H, c.Sq, c.D, out, lse, c.H * c.D, c.Sq * c.H * c.D, block_out, block_lse};
    attend_keys(args, half, c.Sk - half, out, lse); /* as in a ring: the first hop writes, the others merge */
    attend_keys(args, 0, half, block_out, block_lse);
    cuda_attention_merge(pool, &merge);
    std::vector<float> merged = on_device(out), merged_lse = on_device(lse);
    attend_keys(args, 0, c.Sk, out, lse);
    assert_int_equal(device.failure, DIT_OK);
    distance d = distance_of(merged, on_device(out).data()), e = distance_of(merged_lse, on_device(lse).data());
    if (d.relative > relative_tolerance(block_dtype == FP32 && dtype != FP32 ? dtype : block_dtype) || e.most > 2e-5)
        fail_msg("%s blocks %s flags %x: %g, lse %g", dit_dtype_name(dtype), dit_dtype_name(block_dtype), c.flags,
                 d.relative, e.most);
    forget_arrays();
}

static void halves_merge_to_the_whole(void **)
{
    static const attention_case cases[] = {{1, 2, 70, 200, 64, 0},
                                           {1, 2, 129, 129, 128, CAUSAL},
                                           {1, 1, 100, 90, 72, LATE},
                                           {1, 2, 64, 100, 40, STRIPED},
                                           {1, 3, 20, 66, 96, GROUPED}};
    for (const attention_case &c : cases)
        for (dit_dtype dtype : {FP32, BF16, FP16}) {
            check_halves(c, dtype, dtype);
            check_halves(c, dtype, FP32);
        }
}

static int show_worst(void **state)
{
    for (dit_dtype dtype : {FP32, BF16, FP16})
        print_message("%s: relative L2 at most %.2g, largest error at most %.2g of a plain implementation's\n",
                      dit_dtype_name(dtype), worst_relative[dtype], worst_ratio[dtype]);
    print_message("lse: at most %.2g\n", worst_lse);
    return end(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lengths_of_any_kind, begin, end),
        cmocka_unit_test_setup_teardown(head_sizes_of_any_kind, begin, end),
        cmocka_unit_test_setup_teardown(slices_of_any_kind, begin, end),
        cmocka_unit_test_setup_teardown(tiles_that_no_slice_touches_are_not_touched, begin, end),
        cmocka_unit_test_setup_teardown(masks_of_any_kind, begin, end),
        cmocka_unit_test_setup_teardown(layouts_of_any_kind, begin, show_worst),
        cmocka_unit_test_setup_teardown(logits_beyond_the_range_of_exp_pick_one_key, begin, end),
        cmocka_unit_test_setup_teardown(a_nan_is_of_its_row_only, begin, end),
        cmocka_unit_test_setup_teardown(unseen_tiles_are_not_touched, begin, end),
        cmocka_unit_test_setup_teardown(positions_of_another_type_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(merges_are_the_references, begin, end),
        cmocka_unit_test_setup_teardown(halves_merge_to_the_whole, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
