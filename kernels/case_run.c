/* How a case runs: operands from fixed seeds, one call on any table of operators, the distance to the reference. */
#include "kernels/cases.h"

#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PADDING = 5, SEED = 20240214, SAMPLED_ROWS = 2 };

/* Names and bounds. All values are fp32 with unit roundoff u = 6e-8, the reference sums in double.
 *   linear           sums of up to 512 products before a restart: u * sqrt(512) / 2 or so, measured 4e-7
 *   attention        the same twice, and the error of the logits enters through the exponential, measured 9e-7
 *   attention_merge  two exponentials, two weights, one division
 *   norm             x - mean rounds to u of |x|, which is as large as the result; then three to five roundings
 *   qk_norm_rope     up to five roundings; pairs cancel
 *   copy             moves bits
 *   combine          one rounding per term; terms cancel
 *   activate         an exponential of 1 ulp and three or four roundings
 *   conv             as linear
 *   group_norm       as norm, and an activation
 *   timestep         cosine and sine of 1 or 2 ulp; angles are rounded alike everywhere
 *   gated_add        up to three roundings; terms cancel
 *   row_norm         sums in double; three roundings */
static const struct {
    const char *name;
    double tolerance;
    bool compute_bound;
} operators[DIT_OPERATOR_COUNT] = {
    [DIT_OPERATOR_LINEAR] = {"linear", 1e-6, true},
    [DIT_OPERATOR_ATTENTION] = {"attention", 2e-6, true},
    [DIT_OPERATOR_ATTENTION_MERGE] = {"attention_merge", 5e-7, false},
    [DIT_OPERATOR_NORM] = {"norm", 5e-7, false},
    [DIT_OPERATOR_QK_NORM_ROPE] = {"qk_norm_rope", 5e-7, false},
    [DIT_OPERATOR_COPY] = {"copy", 0, false},
    [DIT_OPERATOR_COMBINE] = {"combine", 3e-7, false},
    [DIT_OPERATOR_ACTIVATE] = {"activate", 3e-7, false},
    [DIT_OPERATOR_CONV] = {"conv", 1e-6, true},
    [DIT_OPERATOR_GROUP_NORM] = {"group_norm", 5e-7, false},
    [DIT_OPERATOR_TIMESTEP] = {"timestep", 3e-7, false},
    [DIT_OPERATOR_GATED_ADD] = {"gated_add", 3e-7, false},
    [DIT_OPERATOR_ROW_NORM] = {"row_norm", 5e-7, false},
};

const char *dit_operator_name(dit_operator op)
{
    return operators[op].name;
}

double dit_operator_tolerance(dit_operator op)
{
    return operators[op].tolerance;
}

bool dit_operator_is_compute_bound(dit_operator op)
{
    return operators[op].compute_bound;
}

static void append(char *out, int size, const char *key, int64_t value)
{
    int used = (int)strlen(out);
    if (value > 0) snprintf(out + used, (size_t)(size - used), "%s%s=%lld", used ? " " : "", key, (long long)value);
}

static void append_word(char *out, int size, bool present, const char *word)
{
    int used = (int)strlen(out);
    if (present) snprintf(out + used, (size_t)(size - used), " %s", word);
}

static bool has_pixels(const dit_kernel_case *c)
{
    return c->op == DIT_OPERATOR_CONV || c->op == DIT_OPERATOR_GROUP_NORM;
}

static void describe_pixels(const dit_kernel_case *c, char *out, int size)
{
    bool conv = c->op == DIT_OPERATOR_CONV;
    append(out, size, "frames", c->B);
    append(out, size, "height", c->H);
    append(out, size, "width", c->Sq);
    append(out, size, conv ? "k" : "groups", c->k);
    append(out, size, conv ? "n" : "C", c->n);
    append(out, size, "taps", c->D);
}

static bool has_rows_of_C(const dit_kernel_case *c)
{
    return c->op == DIT_OPERATOR_NORM || c->op == DIT_OPERATOR_TIMESTEP || c->op == DIT_OPERATOR_GATED_ADD ||
           c->op == DIT_OPERATOR_ROW_NORM;
}

static void describe_extents(const dit_kernel_case *c, char *out, int size)
{
    bool copy = c->op == DIT_OPERATOR_COPY;
    append(out, size, "rows", c->rows);
    append(out, size, has_rows_of_C(c) ? "C" : c->op == DIT_OPERATOR_LINEAR ? "n" : "elements", c->n);
    append(out, size,
           c->op == DIT_OPERATOR_COMBINE     ? "count"
           : c->op == DIT_OPERATOR_ROW_NORM  ? "ranks"
           : c->op == DIT_OPERATOR_ATTENTION ? "kv_group"
                                             : "k",
           c->k);
    append(out, size, copy ? "n0" : "B", c->B);
    append(out, size, copy ? "n1" : "H", c->H);
    append(out, size, copy ? "n2" : c->Sk ? "Sq" : "S", c->Sq);
    append(out, size, "Sk", c->Sk);
    append(out, size, copy ? "inner" : "D", c->D);
}

void dit_case_describe(const dit_kernel_case *c, char *out, int size)
{
    out[0] = '\0';
    if (has_pixels(c))
        describe_pixels(c, out, size);
    else
        describe_extents(c, out, size);
    append_word(out, size, c->flags & DIT_CASE_CAUSAL, "causal");
    append_word(out, size, c->flags & DIT_CASE_DOWN, "down");
    append_word(out, size, c->flags & DIT_CASE_UP, "up");
    append_word(out, size, c->flags & DIT_CASE_BAND, "band");
    append_word(out, size, c->flags & DIT_CASE_BIAS, c->op == DIT_OPERATOR_ATTENTION ? "mask" : "bias");
    append_word(out, size, c->flags & DIT_CASE_GELU, "gelu");
    append_word(out, size, c->flags & DIT_CASE_ERF, "gelu_erf");
    append_word(out, size, c->flags & DIT_CASE_SILU, "silu");
    append_word(out, size, c->flags & DIT_CASE_RESIDUAL, "residual");
    append_word(out, size, c->flags & DIT_CASE_GATE, "gate");
    append_word(out, size, c->flags & DIT_CASE_MODULATE, "modulate");
    append_word(out, size, c->flags & DIT_CASE_HIDDEN, "hidden");
    append_word(out, size, c->flags & DIT_CASE_RMS, "rms");
    append_word(out, size, c->flags & DIT_CASE_NORM, "norm");
    append_word(out, size, c->flags & DIT_CASE_ROPE, "rope");
    append_word(out, size, c->flags & DIT_CASE_LSE, "lse");
    append_word(out, size, c->flags & DIT_CASE_STRIDED, "strided");
}

/* ---- shapes of the operands -------------------------------------------------------------------------------------- */

static int64_t padded(const dit_kernel_case *c, int64_t width)
{
    return c->flags & DIT_CASE_STRIDED ? width + PADDING : width;
}

/* q, k and v lie in one [tokens, 3 C] projection when strided. */
static int64_t attention_ld(const dit_kernel_case *c)
{
    return c->H * c->D * (c->flags & DIT_CASE_STRIDED ? 3 : 1);
}

static dit_activation case_activation(const dit_kernel_case *c)
{
    if (c->flags & DIT_CASE_GELU) return DIT_ACT_GELU_TANH;
    if (c->flags & DIT_CASE_ERF) return DIT_ACT_GELU_ERF;
    return c->flags & DIT_CASE_SILU ? DIT_ACT_SILU : DIT_ACT_NONE;
}

/* Lines of y; a conv can compute any of them alone. */
static int64_t conv_lines(const dit_kernel_case *c)
{
    return c->flags & DIT_CASE_UP ? 2 * c->H : c->flags & DIT_CASE_DOWN ? c->H / 2 : c->H;
}

static dit_conv_args conv_shape(const dit_kernel_case *c)
{
    dit_conv_args args = {.frames = c->B, .height = c->H, .width = c->Sq, .channels = c->k, .up = 1};
    int64_t padding = c->flags & DIT_CASE_DOWN ? 0 : c->D / 2, stride = c->flags & DIT_CASE_DOWN ? 2 : 1;
    if (c->flags & DIT_CASE_UP) args.up = 2;
    args.kernel[0] = c->flags & DIT_CASE_CAUSAL ? 3 : 1;
    args.kernel[1] = args.kernel[2] = c->D;
    args.stride[0] = 1;
    args.stride[1] = args.stride[2] = stride;
    args.padding[0] = args.kernel[0] - 1;
    args.padding[1] = args.padding[2] = padding;
    args.out[0] = c->B;
    args.out[1] = conv_lines(c);
    args.out[2] = c->Sq * args.up / stride;
    return args;
}

static int64_t conv_depth(const dit_kernel_case *c)
{
    return (c->flags & DIT_CASE_CAUSAL ? 3 : 1) * c->D * c->D * c->k;
}

/* Terms of one sum of the result. */
static int64_t case_depth(const dit_kernel_case *c)
{
    switch (c->op) {
    case DIT_OPERATOR_LINEAR: return c->k;
    case DIT_OPERATOR_ATTENTION: return c->D > c->Sk ? c->D : c->Sk;
    case DIT_OPERATOR_CONV: return conv_depth(c);
    default: return 1;
    }
}

/* On a device in fp32 sums run over the whole depth, which adds u sqrt(depth), and exponentials and roots are right to
 * two units in the last place or three, not to one: four times the host's bound. In bf16 and fp16 the result is rounded
 * to 8 and 11 bits, which is 2^-8 and 2^-11 at most and 0.4 of that in the mean; what comes before it is rounded once
 * more (the weights of attention, a product before its residual) and leaves the sum below the most of one rounding. */
double dit_case_tolerance(const dit_kernel_case *c, dit_element element)
{
    double exact = 4 * dit_operator_tolerance(c->op) + 6e-8 * sqrt((double)(case_depth(c) - 1));
    if (c->op == DIT_OPERATOR_COPY) return 0;
    if (c->op == DIT_OPERATOR_COMBINE) return exact; /* into fp32, as schedulers do */
    return exact + (element == DIT_ELEMENT_BF16 ? 0x1p-8 : element == DIT_ELEMENT_FP16 ? 0x1p-11 : 0);
}

/* It is fp32 always: its error is that of sums of exponentials in fp32, whose arguments come from rounded operands, the
 * same for the reference. Kernels in bf16 take exponentials to base 2 that are right to 2^-22 and add thousands. */
double dit_case_lse_tolerance(const dit_kernel_case *c, dit_element element)
{
    double exact = 4 * dit_operator_tolerance(c->op) + 6e-8 * sqrt((double)(case_depth(c) - 1));
    return element == DIT_ELEMENT_FP32 || c->op == DIT_OPERATOR_ATTENTION_MERGE ? exact : 2e-5;
}

/* Queries are spread over the keys. Where there are as many keys, each sees those up to its own; else keys begin two
 * positions later, so that the first queries see none. */
static int32_t query_position(const dit_kernel_case *c, int64_t query)
{
    return (int32_t)(query * c->Sk / c->Sq);
}

static int32_t key_position(const dit_kernel_case *c, int64_t key)
{
    return (int32_t)(key + (c->Sq == c->Sk ? 0 : 2));
}

static dit_work attention_case_work(const dit_kernel_case *c)
{
    int64_t pairs = 0;
    if (!(c->flags & DIT_CASE_CAUSAL)) return dit_attention_work(c->B, c->H, c->Sq, c->Sk, c->D);
    for (int64_t query = 0; query < c->Sq; query++) {
        int64_t seen = query_position(c, query) - key_position(c, 0) + 1;
        pairs += seen < 0 ? 0 : seen > c->Sk ? c->Sk : seen;
    }
    dit_work whole = dit_attention_work(c->B, c->H, c->Sq, c->Sk, c->D);
    return (dit_work){.flops = 4.0 * (double)(c->B * c->H * c->D) * (double)pairs, .bytes = whole.bytes};
}

dit_work dit_case_work(const dit_kernel_case *c)
{
    static const float something = 0;
    dit_conv_args conv = conv_shape(c);
    conv.weights = &(dit_linear){.n = c->n, .k = conv_depth(c)};
    if (c->flags & DIT_CASE_RESIDUAL) conv.residual = &something;
    switch (c->op) {
    case DIT_OPERATOR_LINEAR: return dit_linear_work(c->rows, c->n, c->k);
    case DIT_OPERATOR_ATTENTION: return attention_case_work(c);
    case DIT_OPERATOR_ATTENTION_MERGE: return dit_elementwise_work(c->B * c->H * c->Sq * c->D, 2, 1, 3);
    case DIT_OPERATOR_NORM: return dit_elementwise_work(c->rows * c->n, 1, 1, 8);
    case DIT_OPERATOR_QK_NORM_ROPE: return dit_elementwise_work(c->rows * c->H * c->D, 1, 1, 7);
    case DIT_OPERATOR_COPY: return dit_elementwise_work(c->B * c->H * c->Sq * c->D, 1, 1, 0);
    case DIT_OPERATOR_COMBINE: return dit_elementwise_work(c->n, (int)c->k, 1, 2.0 * (double)c->k - 1);
    case DIT_OPERATOR_CONV: return dit_conv_work(&conv);
    case DIT_OPERATOR_GROUP_NORM: return dit_elementwise_work(c->B * c->H * c->Sq * c->n, 1, 1, 8);
    case DIT_OPERATOR_GATED_ADD: return dit_elementwise_work(c->rows * c->n, 2, 1, 3);
    case DIT_OPERATOR_ROW_NORM: return dit_elementwise_work(c->B * c->rows * c->n, 2, 1, 4);
    default: return dit_elementwise_work(c->n, 1, 1, 16);
    }
}

/* The combined latent and the first operand are fp32 (combine_prepare). */
double dit_case_bytes(const dit_kernel_case *c, dit_element element)
{
    double size = (double)dit_element_bytes(element);
    if (c->op == DIT_OPERATOR_COMBINE) return (double)c->n * (8 + (double)(c->k - 1) * size);
    return dit_case_work(c).bytes / 4 * size;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* STORED: in the device's element; EXACT: fp32 on a device, too; HOST: what is packed, rounded as it will be. */
typedef enum { STORED, EXACT, HOST } operand_kind;

static void note(dit_case_run *run, void *data, int64_t count, dit_element element, bool on_device)
{
    run->arrays[run->array_count].data = data;
    run->arrays[run->array_count].count = count;
    run->arrays[run->array_count].element = element;
    run->arrays[run->array_count++].on_device = on_device;
}

static void round_values(float *x, int64_t count, dit_element element)
{
    for (int64_t i = 0; element == DIT_ELEMENT_BF16 && i < count; i++)
        x[i] = dit_bf16_to_float(dit_bf16_from_float(x[i]));
    for (int64_t i = 0; element == DIT_ELEMENT_FP16 && i < count; i++)
        x[i] = dit_fp16_to_float(dit_fp16_from_float(x[i]));
}

static dit_status take(dit_case_run *run, operand_kind kind, int64_t count, float **out)
{
    if (kind == HOST) return dit_arena_host_floats(run->room, count, out);
    return kind == EXACT ? dit_arena_exact(run->room, count, out) : dit_arena_floats(run->room, count, out);
}

static dit_status fill_as(dit_case_run *run, operand_kind kind, int slot, int64_t count, float mean, float deviation)
{
    dit_element element = kind == EXACT ? DIT_ELEMENT_FP32 : run->room->ledger->element;
    DIT_TRY(take(run, kind, count, &run->in[slot]));
    dit_rng_normal(SEED, (uint64_t)slot, 0, count, mean, deviation, run->in[slot]);
    round_values(run->in[slot], count, element);
    note(run, run->in[slot], count, element, kind != HOST);
    return DIT_OK;
}

static dit_status fill(dit_case_run *run, int slot, int64_t count, float mean, float deviation)
{
    return fill_as(run, STORED, slot, count, mean, deviation);
}

/* Modulation, gates and masks are of the one type in some cases and of the other in others. */
static operand_kind aside(const dit_kernel_case *c)
{
    return c->flags & DIT_CASE_STRIDED ? EXACT : STORED;
}

static dit_status prepare_outputs_as(dit_case_run *run, operand_kind kind, int64_t out_floats, int64_t lse_floats)
{
    int64_t total = out_floats + lse_floats;
    run->out_floats = out_floats;
    run->lse_floats = lse_floats;
    run->out_element = kind == EXACT ? DIT_ELEMENT_FP32 : run->room->ledger->element;
    DIT_TRY(take(run, kind, out_floats, &run->out));
    DIT_TRY(take(run, EXACT, lse_floats, &run->lse));
    DIT_TRY(dit_arena_host_floats(&run->host_arena, total, &run->initial));
    DIT_TRY(dit_arena_host_floats(&run->host_arena, total, &run->expected));
    dit_rng_normal(SEED, 100, 0, total, 0, 1, run->initial);
    round_values(run->initial, out_floats, run->out_element);
    return DIT_OK;
}

static dit_status prepare_outputs(dit_case_run *run, int64_t out_floats, int64_t lse_floats)
{
    return prepare_outputs_as(run, STORED, out_floats, lse_floats);
}

/* Of the output that a call writes: the table's or the reference's. */
static float *lse_of(const dit_case_run *run, float *out)
{
    return out == run->out ? run->lse : out + run->out_floats;
}

static dit_status pack(dit_case_run *run, const dit_kernels *table, const dit_kernels *reference, int64_t k, int pieces,
                       const float *const *w, const float *const *bias, const int64_t *rows)
{
    DIT_TRY(table->linear_pack(run->pool, run->room, k, pieces, w, bias, rows, &run->packed));
    if (!reference) return DIT_OK;
    return reference->linear_pack(run->pool, &run->host_arena, k, pieces, w, bias, rows, &run->packed_reference);
}

/* ---- one pair of functions per operator: operands, and a call on rows [first, first + count) --------------------- */

/* in: x, W, b, gate */
static dit_status linear_prepare(dit_case_run *run, const dit_kernels *table, const dit_kernels *reference)
{
    const dit_kernel_case *c = run->c;
    bool bias = c->flags & DIT_CASE_BIAS;
    DIT_TRY(fill(run, 0, c->rows * padded(c, c->k), 0, 1));
    DIT_TRY(fill_as(run, HOST, 1, c->n * c->k, 0, 1 / sqrtf((float)c->k)));
    DIT_TRY(fill_as(run, HOST, 2, c->n, 0, 1));
    DIT_TRY(fill_as(run, aside(c), 3, c->n, 0, 1));
    /* in two pieces, as a fused projection is packed */
    int64_t rows[2] = {c->n / 3, c->n - c->n / 3};
    const float *w[2] = {run->in[1], run->in[1] + rows[0] * c->k};
    const float *b[2] = {bias ? run->in[2] : NULL, bias ? run->in[2] + rows[0] : NULL};
    DIT_TRY(pack(run, table, reference, c->k, 2, w, b, rows));
    return prepare_outputs(run, c->rows * padded(c, c->n), 0);
}

static void linear_call(dit_case_run *run, const dit_kernels *table, const dit_linear *weights, float *out,
                        int64_t first, int64_t count)
{
    const dit_kernel_case *c = run->c;
    int64_t ldx = padded(c, c->k), ldy = padded(c, c->n);
    dit_linear_args args = {.weights = weights, .rows = count, .x = run->in[0] + first * ldx, .ldx = ldx};
    args.y = out + first * ldy;
    args.ldy = ldy;
    args.activation = case_activation(c);
    args.residual = c->flags & DIT_CASE_RESIDUAL ? args.y : NULL;
    args.gate = c->flags & DIT_CASE_GATE ? run->in[3] : NULL;
    table->linear(run->pool, &args);
}

static dit_status position_tokens(dit_case_run *run)
{
    const dit_kernel_case *c = run->c;
    void *memory;
    DIT_TRY(dit_arena_array(run->room, c->Sq + c->Sk, DIT_ELEMENT_INT32, &memory));
    run->positions = memory;
    note(run, memory, c->Sq + c->Sk, DIT_ELEMENT_INT32, true);
    for (int64_t i = 0; i < c->Sq; i++) run->positions[i] = query_position(c, i);
    for (int64_t i = 0; i < c->Sk; i++) run->positions[c->Sq + i] = key_position(c, i);
    return DIT_OK;
}

/* in: q (or q, k, v together), k, v, mask */
static dit_status attention_prepare(dit_case_run *run)
{
    if (run->c->flags & DIT_CASE_CAUSAL) DIT_TRY(position_tokens(run));
    const dit_kernel_case *c = run->c;
    int64_t ld = attention_ld(c), tokens = c->Sq > c->Sk ? c->Sq : c->Sk;
    DIT_TRY(fill(run, 0, c->B * tokens * ld, 0, 1.5f));
    DIT_TRY(fill(run, 1, c->B * tokens * ld, 0, 1.5f));
    DIT_TRY(fill(run, 2, c->B * tokens * ld, 0, 1));
    DIT_TRY(fill_as(run, aside(c), 3, c->B * c->Sk, 0, 1));
    for (int64_t i = 0; i < c->B * c->Sk; i++) run->in[3][i] = i % c->Sk && run->in[3][i] > 0.5f ? -10000.0f : 0;
    for (int64_t i = 0; c->flags & DIT_CASE_HIDDEN && i < c->B * c->Sk; i++)
        if (i % c->Sk < c->Sk - 9) run->in[3][i] = -INFINITY;
    return prepare_outputs(run, c->B * c->Sq * padded(c, c->H * c->D),
                           c->flags & DIT_CASE_LSE ? c->B * c->H * c->Sq : 0);
}

static void attention_call(dit_case_run *run, const dit_kernels *table, float *out, int64_t first, int64_t count)
{
    const dit_kernel_case *c = run->c;
    bool fused = c->flags & DIT_CASE_STRIDED;
    int64_t ld = attention_ld(c), ldo = padded(c, c->H * c->D), tokens = c->Sq > c->Sk ? c->Sq : c->Sk;
    dit_attention_args args = {
        .B = c->B, .H = c->H, .Sq = count, .Sk = c->Sk, .D = c->D, .ldq = ld, .ldk = ld, .ldv = ld};
    args.q = run->in[0] + first * ld;
    args.k = fused ? run->in[0] + c->H * c->D : run->in[1];
    args.v = fused ? run->in[0] + 2 * c->H * c->D : run->in[2];
    args.batch_q = args.batch_k = args.batch_v = tokens * ld;
    args.bias = c->flags & DIT_CASE_BIAS ? run->in[3] : NULL;
    args.kv_group = c->k;
    if (run->positions) args.q_position = run->positions + first, args.k_position = run->positions + c->Sq;
    args.scale = 1 / sqrtf((float)c->D);
    args.out = out + first * ldo;
    args.ldo = ldo;
    args.batch_o = c->Sq * ldo;
    args.lse = run->lse_floats ? lse_of(run, out) : NULL;
    table->attention(run->pool, &args);
}

/* in: block_out, block_lse */
static dit_status merge_prepare(dit_case_run *run)
{
    const dit_kernel_case *c = run->c;
    DIT_TRY(fill(run, 0, c->B * c->H * c->Sq * c->D, 0, 1));
    DIT_TRY(fill_as(run, EXACT, 1, c->B * c->H * c->Sq, 3, 2));
    DIT_TRY(prepare_outputs(run, c->B * c->Sq * padded(c, c->H * c->D), c->B * c->H * c->Sq));
    for (int64_t i = 1; i < run->lse_floats; i += 3) run->initial[run->out_floats + i] = -INFINITY;
    return DIT_OK;
}

static void merge_call(dit_case_run *run, const dit_kernels *table, float *out)
{
    const dit_kernel_case *c = run->c;
    int64_t ldo = padded(c, c->H * c->D);
    dit_merge_args args = {.B = c->B, .H = c->H, .S = c->Sq, .D = c->D, .out = out, .lse = lse_of(run, out)};
    args.ldo = ldo;
    args.batch_o = c->Sq * ldo;
    args.block_out = run->in[0];
    args.block_lse = run->in[1];
    table->attention_merge(run->pool, &args);
}

/* in: x, weight, bias, scale, shift */
static dit_status norm_prepare(dit_case_run *run)
{
    const dit_kernel_case *c = run->c;
    DIT_TRY(fill(run, 0, c->rows * padded(c, c->n), 1, 2));
    for (int slot = 1; slot < 5; slot++) DIT_TRY(fill_as(run, slot < 3 ? STORED : aside(c), slot, c->n, 0.5f, 1));
    return prepare_outputs(run, c->rows * padded(c, c->n), 0);
}

static void norm_call(dit_case_run *run, const dit_kernels *table, float *out)
{
    const dit_kernel_case *c = run->c;
    dit_norm_args args = {.rows = c->rows, .C = c->n, .x = run->in[0], .y = out, .eps = 1e-6f};
    args.kind = c->flags & DIT_CASE_RMS ? DIT_NORM_RMS : DIT_NORM_LAYER;
    args.ldx = args.ldy = padded(c, c->n);
    if (c->flags & DIT_CASE_BIAS) {
        args.weight = run->in[1];
        args.bias = run->in[2];
    }
    if (c->flags & DIT_CASE_MODULATE) {
        args.scale = run->in[3];
        args.shift = run->in[4];
    }
    table->norm(run->pool, &args);
}

/* in: weight, cos, sin, bias; the angles are not real ones, but each value stands twice as in real tables */
static dit_status qk_prepare(dit_case_run *run)
{
    const dit_kernel_case *c = run->c;
    DIT_TRY(fill(run, 0, c->D, 1, 0.3f));
    DIT_TRY(fill_as(run, EXACT, 1, c->rows * c->D, 0, 1));
    DIT_TRY(fill_as(run, EXACT, 2, c->rows * c->D, 0, 1));
    DIT_TRY(fill(run, 3, c->D, 0.5f, 1));
    for (int64_t i = 0; i + 1 < c->rows * c->D; i += 2) {
        float angle = run->in[1][i];
        run->in[1][i] = run->in[1][i + 1] = cosf(angle);
        run->in[2][i] = run->in[2][i + 1] = sinf(angle);
    }
    return prepare_outputs(run, c->rows * padded(c, c->H * c->D), 0);
}

static void qk_call(dit_case_run *run, const dit_kernels *table, float *out)
{
    const dit_kernel_case *c = run->c;
    dit_qk_norm_rope_args args = {.rows = c->rows, .H = c->H, .D = c->D, .x = out, .eps = 1e-6f};
    args.ldx = padded(c, c->H * c->D);
    args.kind = c->flags & DIT_CASE_RMS ? DIT_NORM_RMS : DIT_NORM_LAYER;
    args.weight = c->flags & DIT_CASE_NORM ? run->in[0] : NULL;
    args.bias = c->flags & DIT_CASE_BIAS ? run->in[3] : NULL;
    args.cos = c->flags & DIT_CASE_ROPE ? run->in[1] : NULL;
    args.sin = c->flags & DIT_CASE_ROPE ? run->in[2] : NULL;
    table->qk_norm_rope(run->pool, &args);
}

/* in: src; the copy also exchanges the two middle indices, as an all-to-all does */
static dit_status copy_prepare(dit_case_run *run)
{
    const dit_kernel_case *c = run->c;
    int64_t floats = c->B * c->H * c->Sq * padded(c, c->D);
    DIT_TRY(fill(run, 0, floats, 0, 1));
    return prepare_outputs(run, floats, 0);
}

static void copy_call(dit_case_run *run, const dit_kernels *table, float *out)
{
    const dit_kernel_case *c = run->c;
    int64_t inner = padded(c, c->D);
    dit_copy_args args = {.n0 = c->B, .n1 = c->H, .n2 = c->Sq, .inner = c->D, .src = run->in[0], .dst = out};
    memcpy(args.src_stride, (int64_t[3]){c->H * c->Sq * inner, c->Sq * inner, inner}, sizeof args.src_stride);
    memcpy(args.dst_stride, (int64_t[3]){c->H * c->Sq * inner, inner, c->H * inner}, sizeof args.dst_stride);
    table->copy(run->pool, &args);
}

/* A scheduler's step: the latent is fp32, what the model says is not. */
static dit_status combine_prepare(dit_case_run *run)
{
    for (int slot = 0; slot < run->c->k; slot++) DIT_TRY(fill_as(run, slot ? STORED : EXACT, slot, run->c->n, 0, 1));
    return prepare_outputs_as(run, EXACT, run->c->n, 0);
}

static void combine_call(dit_case_run *run, const dit_kernels *table, float *out)
{
    dit_combine_args args = {.elements = run->c->n, .count = (int)run->c->k, .a = {1.5f, -0.5f, 0.25f, 2.0f}, .y = out};
    for (int j = 0; j < args.count; j++) args.x[j] = run->in[j];
    table->combine(run->pool, &args);
}

static dit_status activate_prepare(dit_case_run *run)
{
    DIT_TRY(fill(run, 0, run->c->n, 0, 3));
    return prepare_outputs(run, run->c->n, 0);
}

static void activate_call(dit_case_run *run, const dit_kernels *table, float *out)
{
    dit_activate_args args = {.elements = run->c->n, .x = run->in[0], .y = out, .activation = case_activation(run->c)};
    table->activate(run->pool, &args);
}

/* in: x, W, b, frames before x, rows above, rows below */
static dit_status conv_prepare(dit_case_run *run, const dit_kernels *table, const dit_kernels *reference)
{
    const dit_kernel_case *c = run->c;
    dit_conv_args shape = conv_shape(c);
    int64_t k = conv_depth(c);
    DIT_TRY(fill(run, 0, c->B * c->H * c->Sq * c->k, 0, 1));
    DIT_TRY(fill_as(run, HOST, 1, c->n * k, 0, 1 / sqrtf((float)k)));
    DIT_TRY(fill_as(run, HOST, 2, c->n, 0, 1));
    DIT_TRY(fill(run, 3, shape.padding[0] * c->H * c->Sq * c->k, 0, 1));
    DIT_TRY(fill(run, 4, (shape.padding[0] + c->B) * c->Sq * c->k, 0, 1));
    DIT_TRY(fill(run, 5, (shape.padding[0] + c->B) * c->Sq * c->k, 0, 1));
    const float *w[1] = {run->in[1]}, *b[1] = {c->flags & DIT_CASE_BIAS ? run->in[2] : NULL};
    DIT_TRY(pack(run, table, reference, k, 1, w, b, &c->n));
    return prepare_outputs(run, shape.out[0] * shape.out[1] * shape.out[2] * c->n, 0);
}

/* Lines [first, first + count) of every frame; in cases of more frames the whole. */
static void conv_call(dit_case_run *run, const dit_kernels *table, const dit_linear *weights, float *out, int64_t first,
                      int64_t count)
{
    const dit_kernel_case *c = run->c;
    dit_conv_args args = conv_shape(c);
    args.padding[1] -= first * args.stride[1];
    args.out[1] = count;
    args.weights = weights;
    args.x = run->in[0];
    args.front = c->flags & DIT_CASE_CAUSAL ? run->in[3] : NULL;
    args.front_frame = c->H * c->Sq * c->k;
    if (c->flags & DIT_CASE_BAND) args.above = run->in[4], args.below = run->in[5];
    args.y = out + first * args.out[2] * c->n;
    args.residual = c->flags & DIT_CASE_RESIDUAL ? args.y : NULL;
    args.activation = case_activation(c);
    table->conv(run->pool, &args);
}

/* in: x, weight, bias, scale and shift side by side. Frames are a batch without a field, time with
 * one. */
static dit_status group_norm_prepare(dit_case_run *run)
{
    const dit_kernel_case *c = run->c;
    int64_t floats = c->B * c->H * c->Sq * c->n, bytes;
    void *moments;
    DIT_TRY(fill(run, 0, floats, 1, 2));
    DIT_TRY(fill(run, 1, c->n, 0.5f, 1));
    DIT_TRY(fill(run, 2, c->n, 0.5f, 1));
    DIT_TRY(fill(run, 3, c->B * c->H * c->Sq * 2 * c->n, 0.5f, 1));
    bytes = dit_group_norm_workspace_bytes(c->B, c->H * c->Sq, c->n, c->k);
    DIT_TRY(dit_arena_array(run->room, bytes / (int64_t)sizeof(double) + 1, DIT_ELEMENT_FP64, &run->workspace));
    DIT_TRY(dit_arena_array(run->room, c->B * c->k * 2, DIT_ELEMENT_FP64, &moments));
    run->moments = moments;
    return prepare_outputs(run, floats, 0);
}

static void group_norm_call(dit_case_run *run, const dit_kernels *table, float *out)
{
    const dit_kernel_case *c = run->c;
    bool field = c->flags & DIT_CASE_MODULATE;
    dit_group_norm_args args = {.batch = field ? 1 : c->B, .frames = field ? c->B : 1, .height = c->H, .width = c->Sq};
    args.C = c->n, args.groups = c->k, args.x = run->in[0], args.y = out, args.eps = 1e-6f;
    args.activation = case_activation(c);
    args.workspace = run->workspace;
    if (c->flags & DIT_CASE_BIAS) args.weight = run->in[1], args.bias = run->in[2];
    if (field) {
        args.scale = run->in[3], args.shift = run->in[3] + c->n, args.ldf = 2 * c->n;
        args.first_apart = c->B % 2 == 1;
        args.field_frames = (c->B + 1) / 2, args.field_height = c->H / 2, args.field_width = c->Sq / 2;
    }
    if (c->flags & DIT_CASE_BAND) {
        args.moments = run->moments;
        table->group_moments(run->pool, &args);
    }
    table->group_norm(run->pool, &args);
}

/* in: t */
static dit_status timestep_prepare(dit_case_run *run)
{
    DIT_TRY(fill(run, 0, run->c->rows, 500, 300));
    return prepare_outputs(run, run->c->rows * run->c->n, 0);
}

static void timestep_call(dit_case_run *run, const dit_kernels *table, float *out)
{
    const dit_kernel_case *c = run->c;
    dit_timestep_args args = {.count = c->rows, .dim = c->n, .t = run->in[0], .unit = 1.0f, .y = out};
    if (c->flags & DIT_CASE_MODULATE) args.unit = 1000.0f;
    table->timestep(run->pool, &args);
}

/* in: x, bias, gate */
static dit_status gated_add_prepare(dit_case_run *run)
{
    const dit_kernel_case *c = run->c;
    DIT_TRY(fill(run, 0, c->rows * c->n, 0, 1));
    DIT_TRY(fill(run, 1, c->n, 0, 1));
    DIT_TRY(fill(run, 2, c->n, 0, 1));
    return prepare_outputs(run, c->rows * padded(c, c->n), 0);
}

static void gated_add_call(dit_case_run *run, const dit_kernels *table, float *out)
{
    const dit_kernel_case *c = run->c;
    dit_gated_add_args args = {.rows = c->rows, .cols = c->n, .x = run->in[0], .ldx = c->n, .y = out};
    args.ldy = padded(c, c->n);
    args.bias = c->flags & DIT_CASE_BIAS ? run->in[1] : NULL;
    args.gate = c->flags & DIT_CASE_GATE ? run->in[2] : NULL;
    table->gated_add(run->pool, &args);
}

/* in: weight, every rank's squares; what the others' rows have is made up. */
static dit_status row_norm_prepare(dit_case_run *run)
{
    const dit_kernel_case *c = run->c;
    void *squares;
    DIT_TRY(fill(run, 0, c->n, 0.5f, 1));
    DIT_TRY(dit_arena_array(&run->arena, c->k * c->B * c->rows, DIT_ELEMENT_FP64, &squares));
    for (int64_t i = 0; i < c->k * c->B * c->rows; i++) ((double *)squares)[i] = (double)c->n * (1 + (double)(i % 7));
    if (run->device) DIT_TRY(dit_device_put(run->device, squares, c->k * c->B * c->rows));
    run->in[1] = squares;
    return prepare_outputs(run, c->B * c->rows * padded(c, c->n), 0);
}

static void row_norm_call(dit_case_run *run, const dit_kernels *table, float *out)
{
    const dit_kernel_case *c = run->c;
    int64_t ld = padded(c, c->n);
    dit_row_norm_args args = {.batch = c->B, .rows = c->rows, .cols = c->n, .x = out, .ld = ld, .stride = c->rows * ld};
    args.squares = (double *)(void *)run->in[1];
    args.ranks = c->k, args.total_cols = c->k * c->n;
    args.eps = 1e-6f;
    args.weight = run->in[0];
    table->row_squares(run->pool, &args);
    table->row_scale(run->pool, &args);
}

/* ---- the case as a whole ----------------------------------------------------------------------------------------- */

static dit_status prepare_operands(dit_case_run *run, const dit_kernels *table, const dit_kernels *reference)
{
    switch (run->c->op) {
    case DIT_OPERATOR_LINEAR: return linear_prepare(run, table, reference);
    case DIT_OPERATOR_ATTENTION: return attention_prepare(run);
    case DIT_OPERATOR_ATTENTION_MERGE: return merge_prepare(run);
    case DIT_OPERATOR_NORM: return norm_prepare(run);
    case DIT_OPERATOR_QK_NORM_ROPE: return qk_prepare(run);
    case DIT_OPERATOR_COPY: return copy_prepare(run);
    case DIT_OPERATOR_COMBINE: return combine_prepare(run);
    case DIT_OPERATOR_CONV: return conv_prepare(run, table, reference);
    case DIT_OPERATOR_GROUP_NORM: return group_norm_prepare(run);
    case DIT_OPERATOR_TIMESTEP: return timestep_prepare(run);
    case DIT_OPERATOR_GATED_ADD: return gated_add_prepare(run);
    case DIT_OPERATOR_ROW_NORM: return row_norm_prepare(run);
    default: return activate_prepare(run);
    }
}

/* Rounds what the host filled in, once more after it was changed, and puts it on the device. */
static dit_status send_operands(dit_case_run *run)
{
    for (int i = 0; run->device && i < run->array_count; i++) {
        round_values(run->arrays[i].data, run->arrays[i].count, run->arrays[i].element);
        if (run->arrays[i].on_device) DIT_TRY(dit_device_put(run->device, run->arrays[i].data, run->arrays[i].count));
    }
    return DIT_OK;
}

dit_memory_ledger dit_case_ledger(dit_device *device)
{
    return (dit_memory_ledger){
        .on_device = true, .element = device->element, .device = dit_space_device(dit_device_space(device))};
}

static dit_status prepare(dit_case_run *run, const dit_kernels *table, const dit_kernels *reference)
{
    dit_arena_init(&run->host_arena, &run->host_ledger, DIT_MEMORY_ACTIVATIONS);
    dit_status st = prepare_operands(run, table, reference);
    if (st == DIT_OK) st = send_operands(run);
    if (st != DIT_OK) dit_case_release(run);
    return st;
}

dit_status dit_case_prepare(const dit_kernel_case *c, dit_pool *pool, const dit_kernels *table,
                            const dit_kernels *reference, dit_case_run *run)
{
    *run = (dit_case_run){.c = c, .pool = pool, .device = dit_pool_device(pool), .room = &run->arena};
    if (run->device) run->ledger = dit_case_ledger(run->device);
    dit_arena_init(&run->arena, &run->ledger, DIT_MEMORY_ACTIVATIONS);
    return prepare(run, table, reference);
}

dit_status dit_case_prepare_beside(dit_case_run *first, const dit_kernels *table, dit_case_run *run)
{
    *run = (dit_case_run){.c = first->c, .pool = first->pool, .device = first->device, .room = first->room};
    return prepare(run, table, NULL);
}

void dit_case_release(dit_case_run *run)
{
    dit_arena_release(&run->arena);
    dit_arena_release(&run->host_arena);
    *run = (dit_case_run){0};
}

dit_status dit_case_reset(dit_case_run *run)
{
    memcpy(run->out, run->initial, (size_t)run->out_floats * sizeof(float));
    memcpy(run->lse, run->initial + run->out_floats, (size_t)run->lse_floats * sizeof(float));
    if (!run->device) return DIT_OK;
    DIT_TRY(dit_device_put(run->device, run->out, run->out_floats));
    return dit_device_put(run->device, run->lse, run->lse_floats);
}

static int64_t case_rows(const dit_kernel_case *c)
{
    if (c->op == DIT_OPERATOR_CONV) return conv_lines(c);
    return c->op == DIT_OPERATOR_ATTENTION ? c->Sq : c->rows;
}

/* Only linear, attention and conv know rows; the others are cheap and always run whole. */
static void call_rows(dit_case_run *run, const dit_kernels *table, const dit_linear *weights, float *out, int64_t first,
                      int64_t count)
{
    switch (run->c->op) {
    case DIT_OPERATOR_LINEAR: linear_call(run, table, weights, out, first, count); break;
    case DIT_OPERATOR_ATTENTION: attention_call(run, table, out, first, count); break;
    case DIT_OPERATOR_ATTENTION_MERGE: merge_call(run, table, out); break;
    case DIT_OPERATOR_NORM: norm_call(run, table, out); break;
    case DIT_OPERATOR_QK_NORM_ROPE: qk_call(run, table, out); break;
    case DIT_OPERATOR_COPY: copy_call(run, table, out); break;
    case DIT_OPERATOR_COMBINE: combine_call(run, table, out); break;
    case DIT_OPERATOR_CONV: conv_call(run, table, weights, out, first, count); break;
    case DIT_OPERATOR_GROUP_NORM: group_norm_call(run, table, out); break;
    case DIT_OPERATOR_TIMESTEP: timestep_call(run, table, out); break;
    case DIT_OPERATOR_GATED_ADD: gated_add_call(run, table, out); break;
    case DIT_OPERATOR_ROW_NORM: row_norm_call(run, table, out); break;
    default: activate_call(run, table, out); break;
    }
}

void dit_case_call(dit_case_run *run, const dit_kernels *table)
{
    call_rows(run, table, &run->packed, run->out, 0, case_rows(run->c));
}

static double distance(const float *a, const float *reference, int64_t count)
{
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < count; i++) {
        double d = (double)a[i] - reference[i];
        if (isinf(reference[i]) && a[i] == reference[i]) continue; /* an lse of nothing yet */
        difference += d * d;
        norm += (double)reference[i] * reference[i];
    }
    if (!isfinite(difference) || !isfinite(norm)) return INFINITY;
    if (norm == 0) return difference == 0 ? 0 : INFINITY;
    return sqrt(difference / norm);
}

/* The first, a middle and the last rows of a large case: each row is computed without the others. */
static double sampled_error(dit_case_run *run, const dit_kernels *reference)
{
    int64_t rows = case_rows(run->c), stride = run->out_floats / rows;
    int64_t starts[3] = {0, rows / 2, rows - SAMPLED_ROWS};
    double worst = 0;
    for (int i = 0; i < 3; i++) {
        int64_t begin = starts[i] * stride;
        call_rows(run, reference, &run->packed_reference, run->expected, starts[i], SAMPLED_ROWS);
        worst = fmax(worst, distance(run->out + begin, run->expected + begin, SAMPLED_ROWS * stride));
    }
    return worst;
}

static dit_status fetch_output(dit_case_run *run)
{
    if (!run->device) return DIT_OK;
    DIT_TRY(dit_device_wait(run->device));
    DIT_TRY(dit_device_get(run->device, run->out, run->out_floats));
    return dit_device_get(run->device, run->lse, run->lse_floats);
}

dit_status dit_case_error(dit_case_run *run, const dit_kernels *table, const dit_kernels *reference,
                          dit_case_distance *error)
{
    DIT_TRY(dit_case_reset(run));
    memcpy(run->expected, run->initial, (size_t)(run->out_floats + run->lse_floats) * sizeof(float));
    dit_case_call(run, table);
    DIT_TRY(fetch_output(run));
    *error = (dit_case_distance){0};
    if (run->c->flags & DIT_CASE_LARGE) {
        error->out = sampled_error(run, reference);
        return DIT_OK;
    }
    call_rows(run, reference, &run->packed_reference, run->expected, 0, case_rows(run->c));
    error->out = distance(run->out, run->expected, run->out_floats);
    error->lse = distance(run->lse, run->expected + run->out_floats, run->lse_floats);
    return DIT_OK;
}
