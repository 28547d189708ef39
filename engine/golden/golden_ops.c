/* Folders of elementary operations: ops.safetensors has inputs and outputs side by side. A tensor's name gives the
 * operation and its parameters ("groupnorm.g8_1e-6"). Every result that an operator or embedding of this engine can
 * make from the file's inputs is made and compared. Layouts are the library's: [B, H, S, D] for attention and rotary
 * embedding, [N, C, height, width] for images.
 */
#include "engine/golden/golden.h"
#include "engine/models/embed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double TOLERANCE = 2e-6;

/* How an input is stored: in the device's dtype, or in fp32 (angles, parameters of norms, masks). */
typedef enum { ROUNDED, EXACT } precision;

typedef struct {
    golden_report *report;
    dit_runtime rt; /* rt.image holds all operands */
    dit_safetensors *file;
    double tolerance;
} golden_ops;

/* An input; data is NULL where the file has no tensor of that name and rank. */
typedef struct {
    float *data;
    const int64_t *shape;
    dit_tensor_view view;
} operand;

static dit_status take(golden_ops *g, precision kept, int64_t elements, float **out)
{
    return kept == EXACT ? dit_arena_fp32(&g->rt.image, elements, out)
                         : dit_arena_activations(&g->rt.image, elements, out);
}

static dit_status load(golden_ops *g, const char *name, int rank, precision kept, operand *out)
{
    *out = (operand){0};
    if (!dit_safetensors_find(g->file, name, &out->view) || out->view.rank != rank || out->view.elements < 1)
        return DIT_OK;
    DIT_TRY(take(g, kept, out->view.elements, &out->data));
    out->shape = out->view.shape;
    DIT_TRY(dit_tensor_read(&out->view, 0, out->view.elements, out->data));
    return dit_runtime_upload(&g->rt, out->data, out->view.elements);
}

/* Compares the result of an operator. */
static dit_status compare(golden_ops *g, const char *name, const float *x, int64_t elements)
{
    DIT_TRY(dit_runtime_download(&g->rt, x, elements));
    return golden_compare(g->report, g->file, name, NULL, x, elements, g->tolerance);
}

/* Compares a result that the host made. */
static dit_status compare_table(golden_ops *g, const char *name, const float *x, int64_t elements)
{
    return golden_compare(g->report, g->file, name, NULL, x, elements, TOLERANCE);
}

/* out[n, j, i, c] = x[n, i, j, c]; outer and inner extents stay. The host does it; x and out are operators' arrays. */
static dit_status exchange(golden_ops *g, const float *x, int64_t outer, int64_t rows, int64_t columns, int64_t inner,
                           float **out)
{
    DIT_TRY(dit_arena_activations(&g->rt.image, outer * rows * columns * inner, out));
    DIT_TRY(dit_runtime_download(&g->rt, x, outer * rows * columns * inner));
    for (int64_t n = 0; n < outer; n++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++)
                memcpy(*out + ((n * columns + j) * rows + i) * inner, x + ((n * rows + i) * columns + j) * inner,
                       (size_t)inner * sizeof **out);
    return dit_runtime_upload(&g->rt, *out, outer * rows * columns * inner);
}

/* ---- embeddings -------------------------------------------------------------------------------------------------- */

static dit_status run_timestep(golden_ops *g, const char *name, const char *parameters)
{
    int dim, used = 0;
    operand t;
    float *out;
    if (sscanf(parameters, "%d_flip_shift0%n", &dim, &used) != 1 || !used || parameters[used]) return DIT_OK;
    DIT_TRY(load(g, "timestep.t", 1, EXACT, &t));
    if (!t.data || dim < 2 || dim % 2 || dim > 65536) return DIT_OK;
    DIT_TRY(dit_arena_fp32(&g->rt.image, t.view.elements * dim, &out));
    embed_timestep(&g->rt, t.data, t.view.elements, dim, out);
    return compare(g, name, out, t.view.elements * dim);
}

static dit_status run_sincos_2d(golden_ops *g, const char *name, const char *parameters)
{
    int height, width, dim;
    double base, scale;
    float *out;
    if (sscanf(parameters, "h%d_w%d_base%lf_scale%lf_dim%d", &height, &width, &base, &scale, &dim) != 5) return DIT_OK;
    if (height < 1 || width < 1 || height > 4096 || width > 4096 || dim < 4 || dim % 4 || dim > 65536) return DIT_OK;
    int64_t count = (int64_t)height * width;
    DIT_TRY(dit_arena_host(&g->rt.image, count * dim, &out));
    embed_sincos_2d(&g->rt, height, width, dim, base, scale, 0, count, out);
    return compare_table(g, name, out, count * dim);
}

/* Compares a sine-cosine table in 3-D: a quarter of the channels is for time, 3/8 each for column and row, both divided
 * by the spatial scale. */
static dit_status run_sincos_3d(golden_ops *g, const char *name, const char *parameters)
{
    int frames, height, width, dim;
    double scale;
    float *out;
    if (sscanf(parameters, "t%d_h%d_w%d_sp%lf_dim%d", &frames, &height, &width, &scale, &dim) != 5) return DIT_OK;
    if (frames < 1 || height < 1 || width < 1 || frames > 4096 || height > 4096 || width > 4096) return DIT_OK;
    if (dim < 16 || dim % 16 || dim > 65536 || !(scale > 0)) return DIT_OK;
    int64_t count = (int64_t)frames * height * width, time = dim / 4, space = dim * 3 / 8;
    DIT_TRY(dit_arena_host(&g->rt.image, count * dim, &out));
    for (int64_t i = 0; i < count; i++) {
        embed_sincos_1d(&g->rt, (double)(i / width / height), time, out + i * dim);
        embed_sincos_1d(&g->rt, (double)(i % width) / scale, space, out + i * dim + time);
        embed_sincos_1d(&g->rt, (double)(i / width % height) / scale, space, out + i * dim + time + space);
    }
    return compare_table(g, name, out, count * dim);
}

static dit_status run_rope_table(golden_ops *g, const char *name, const char *parameters)
{
    char kind[8], input[64];
    int dim;
    operand positions;
    float *cosines, *sines;
    if (sscanf(parameters, "%d_%7s", &dim, kind) != 2 || dim < 2 || dim % 2 || dim > 65536) return DIT_OK;
    if (strcmp(kind, "cos") != 0 && strcmp(kind, "sin") != 0) return DIT_OK;
    snprintf(input, sizeof input, "rope1d.dim%d_pos", dim);
    DIT_TRY(load(g, input, 1, EXACT, &positions));
    if (!positions.data) return DIT_OK;
    int64_t count = positions.view.elements, dims[1] = {dim};
    DIT_TRY(dit_arena_host(&g->rt.image, count * dim, &cosines));
    DIT_TRY(dit_arena_host(&g->rt.image, count * dim, &sines));
    embed_rope(&g->rt, positions.data, count, 1, dims, 10000.0, cosines, sines);
    return compare_table(g, name, strcmp(kind, "cos") == 0 ? cosines : sines, count * dim);
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* Rotates x [1, H, S, D] by the table of width D. */
static dit_status run_rope(golden_ops *g, const char *name, const char *parameters)
{
    char table[64];
    operand x, cosines, sines;
    float *rows, *out;
    if (strcmp(parameters, "y") != 0) return DIT_OK;
    DIT_TRY(load(g, "rope_apply.x", 4, ROUNDED, &x));
    if (!x.data) return DIT_OK;
    int64_t H = x.shape[1], S = x.shape[2], D = x.shape[3];
    snprintf(table, sizeof table, "rope1d.dim%lld_cos", (long long)D);
    DIT_TRY(load(g, table, 2, EXACT, &cosines));
    snprintf(table, sizeof table, "rope1d.dim%lld_sin", (long long)D);
    DIT_TRY(load(g, table, 2, EXACT, &sines));
    if (!cosines.data || !sines.data || x.shape[0] != 1 || D % 2 || cosines.view.elements != S * D ||
        sines.view.elements != S * D)
        return DIT_OK;
    DIT_TRY(exchange(g, x.data, 1, H, S, D, &rows));
    ops_qk_norm_rope(&g->rt,
                     &(dit_qk_norm_rope_args){
                         .rows = S, .H = H, .D = D, .x = rows, .ldx = H * D, .cos = cosines.data, .sin = sines.data});
    DIT_TRY(exchange(g, rows, 1, S, H, D, &out));
    return compare(g, name, out, x.view.elements);
}

static dit_status run_activation(golden_ops *g, const char *name, const char *parameters)
{
    static const struct {
        const char *name;
        dit_activation activation;
    } known[] = {{"gelu_tanh", DIT_ACT_GELU_TANH}, {"gelu_erf", DIT_ACT_GELU_ERF}, {"silu", DIT_ACT_SILU}};
    operand x;
    float *out;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(parameters, known[i].name) != 0) continue;
        DIT_TRY(load(g, "act.x", 1, ROUNDED, &x));
        if (!x.data) return DIT_OK;
        DIT_TRY(dit_arena_activations(&g->rt.image, x.view.elements, &out));
        embed_activate(&g->rt, known[i].activation, x.data, x.view.elements, out);
        return compare(g, name, out, x.view.elements);
    }
    return DIT_OK;
}

/* Returns the error that the library makes when it rounds a row's mean to fp32 before subtracting it (we correct for
 * that): 2^-24 |mean| / deviation, as root mean square over the rows. It is large where the deviation is small. */
static double rounding_of_means(const dit_norm_args *args)
{
    double sum = 0;
    for (int64_t row = 0; row < args->rows && args->kind == DIT_NORM_LAYER; row++) {
        const float *x = args->x + row * args->ldx;
        double mean = 0, variance = 0;
        for (int64_t c = 0; c < args->C; c++) mean += x[c] / (double)args->C;
        for (int64_t c = 0; c < args->C; c++) variance += (x[c] - mean) * (x[c] - mean) / (double)args->C;
        sum += mean * mean / (variance + args->eps);
    }
    return ldexp(sqrt(sum / (double)args->rows), -24);
}

static dit_status run_norm(golden_ops *g, const char *name, const char *parameters)
{
    operand x, weight, bias;
    double eps;
    dit_norm_args args = {.kind = strncmp(parameters, "rms_", 4) == 0 ? DIT_NORM_RMS : DIT_NORM_LAYER};
    bool affine = sscanf(parameters, "layer_affine_%lf", &eps) == 1, rms = sscanf(parameters, "rms_%lf", &eps) == 1;
    if (!affine && !rms && sscanf(parameters, "layer_noaffine_%lf", &eps) != 1) return DIT_OK;
    DIT_TRY(load(g, "norm.x", 3, EXACT, &x));
    DIT_TRY(load(g, "norm.w", 1, EXACT, &weight));
    DIT_TRY(load(g, "norm.b", 1, EXACT, &bias));
    if (!x.data) return DIT_OK;
    args.C = args.ldx = args.ldy = x.shape[2];
    args.rows = x.view.elements / args.C;
    args.eps = (float)eps;
    if ((affine || rms) && (!weight.data || weight.view.elements != args.C)) return DIT_OK;
    if (affine && (!bias.data || bias.view.elements != args.C)) return DIT_OK;
    args.weight = affine || rms ? weight.data : NULL;
    args.bias = affine ? bias.data : NULL;
    args.x = args.y = x.data;
    double tolerance = g->tolerance + rounding_of_means(&args);
    ops_norm(&g->rt, &args);
    DIT_TRY(dit_runtime_download(&g->rt, x.data, x.view.elements));
    return golden_compare(g->report, g->file, name, NULL, x.data, x.view.elements, tolerance);
}

static dit_status run_group_norm(golden_ops *g, const char *name, const char *parameters)
{
    operand x, weight, bias;
    int groups;
    double eps;
    float *rows, *out;
    if (sscanf(parameters, "%d_%lf", &groups, &eps) != 2) return DIT_OK;
    DIT_TRY(load(g, "groupnorm.x", 4, ROUNDED, &x));
    DIT_TRY(load(g, "groupnorm.w", 1, EXACT, &weight));
    DIT_TRY(load(g, "groupnorm.b", 1, EXACT, &bias));
    if (!x.data || !weight.data || !bias.data || groups < 1 || x.shape[1] % groups) return DIT_OK;
    int64_t N = x.shape[0], C = x.shape[1], positions = x.shape[2] * x.shape[3];
    if (weight.view.elements != C || bias.view.elements != C) return DIT_OK;
    DIT_TRY(exchange(g, x.data, N, C, positions, 1, &rows));
    dit_group_norm_args args = {.batch = N, .frames = 1, .height = x.shape[2], .width = x.shape[3], .C = C};
    args.groups = groups, args.x = rows, args.y = rows, args.eps = (float)eps;
    args.weight = weight.data, args.bias = bias.data;
    int64_t workspace = dit_group_norm_workspace_bytes(N, positions, C, groups) / (int64_t)sizeof(double) + 1;
    DIT_TRY(dit_arena_array(&g->rt.image, workspace, DIT_DTYPE_FP64, &args.workspace));
    ops_group_norm(&g->rt, &args);
    DIT_TRY(exchange(g, rows, N, positions, C, 1, &out));
    return compare(g, name, out, x.view.elements);
}

/* q [B, H, Sq, D], k and v [B, H, Sk, D], bias [B, 1, 1, Sk]. */
static dit_status run_attention(golden_ops *g, const char *name, const char *parameters)
{
    operand q, k, v, bias;
    float *rows[3], *attended, *out;
    bool biased = strcmp(parameters, "_bias") == 0;
    if (parameters[0] && !biased) return DIT_OK;
    DIT_TRY(load(g, "attn.q", 4, ROUNDED, &q));
    DIT_TRY(load(g, "attn.k", 4, ROUNDED, &k));
    DIT_TRY(load(g, "attn.v", 4, ROUNDED, &v));
    DIT_TRY(load(g, "attn.bias", 4, EXACT, &bias));
    if (!q.data || !k.data || !v.data || (biased && !bias.data)) return DIT_OK;
    int64_t B = q.shape[0], H = q.shape[1], Sq = q.shape[2], D = q.shape[3], Sk = k.shape[2];
    if (k.view.elements != B * H * Sk * D || v.view.elements != B * H * Sk * D || k.shape[3] != D || D > 1024 ||
        (biased && bias.view.elements != B * Sk))
        return DIT_OK;
    DIT_TRY(exchange(g, q.data, B, H, Sq, D, &rows[0]));
    DIT_TRY(exchange(g, k.data, B, H, Sk, D, &rows[1]));
    DIT_TRY(exchange(g, v.data, B, H, Sk, D, &rows[2]));
    DIT_TRY(dit_arena_activations(&g->rt.image, B * Sq * H * D, &attended));
    dit_attention_args args = {.B = B, .H = H, .Sq = Sq, .Sk = Sk, .D = D, .scale = 1 / sqrtf((float)D)};
    args.q = rows[0], args.k = rows[1], args.v = rows[2], args.out = attended;
    args.ldq = args.ldk = args.ldv = args.ldo = H * D;
    args.batch_q = args.batch_o = Sq * H * D, args.batch_k = args.batch_v = Sk * H * D;
    args.bias = biased ? bias.data : NULL;
    ops_attention(&g->rt, &args);
    DIT_TRY(exchange(g, attended, B, Sq, H, D, &out));
    return compare(g, name, out, q.view.elements);
}

/* Runs a convolution of x [N, C, height, width] and compares it as planes. */
static dit_status convolve(golden_ops *g, const char *name, const operand *x, const dit_linear *weights,
                           dit_conv_args args)
{
    int64_t N = x->shape[0], C = x->shape[1], positions = args.out[1] * args.out[2];
    float *rows, *y, *out;
    if (positions < 1) return DIT_OK;
    DIT_TRY(exchange(g, x->data, N, C, x->shape[2] * x->shape[3], 1, &rows));
    DIT_TRY(dit_arena_activations(&g->rt.image, N * positions * weights->n, &y));
    args.weights = weights, args.frames = N, args.height = x->shape[2], args.width = x->shape[3], args.channels = C;
    args.kernel[0] = args.stride[0] = 1, args.out[0] = N;
    args.x = rows, args.y = y;
    ops_conv(&g->rt, &args);
    DIT_TRY(exchange(g, y, N, positions, weights->n, 1, &out));
    return compare(g, name, out, N * positions * weights->n);
}

static dit_status run_conv(golden_ops *g, const char *name, const char *parameters)
{
    operand x, w, b;
    int taps, padding = 0, used = 0;
    float *rows;
    dit_linear weights;
    bool down = sscanf(parameters, "%d_stride2_padright%n", &taps, &used) == 1 && used;
    if (!down && sscanf(parameters, "%d_pad%d", &taps, &padding) != 2) return DIT_OK;
    DIT_TRY(load(g, "conv2d.x", 4, ROUNDED, &x));
    DIT_TRY(load(g, "conv2d.w", 4, ROUNDED, &w));
    DIT_TRY(load(g, "conv2d.b", 1, ROUNDED, &b));
    if (!x.data || !w.data || !b.data || padding < 0 || padding > taps) return DIT_OK;
    int64_t n = w.shape[0], C = w.shape[1], k = C * taps * taps;
    if (x.shape[1] != C || w.shape[2] != taps || w.shape[3] != taps || b.view.elements != n) return DIT_OK;
    DIT_TRY(exchange(g, w.data, n, C, (int64_t)taps * taps, 1, &rows));
    DIT_TRY(g->rt.kernels->linear_pack(g->rt.pool, &g->rt.run, k, 1, (const float *const[1]){rows},
                                       (const float *const[1]){b.data}, &n, &weights));
    dit_conv_args args = {.up = 1};
    for (int i = 1; i < 3; i++) {
        int64_t extent = x.shape[i + 1] + (down ? 1 : 2 * padding) - taps;
        args.kernel[i] = taps, args.stride[i] = down ? 2 : 1, args.padding[i] = padding;
        args.out[i] = extent < 0 ? 0 : extent / args.stride[i] + 1;
    }
    return convolve(g, name, &x, &weights, args);
}

/* Compares upsampling, which is part of a convolution here: one tap with the identity as weights. */
static dit_status run_upsample(golden_ops *g, const char *name, const char *parameters)
{
    operand x;
    float *identity;
    dit_linear weights;
    if (strcmp(parameters, "2") != 0) return DIT_OK;
    DIT_TRY(load(g, "conv2d.x", 4, ROUNDED, &x));
    if (!x.data) return DIT_OK;
    int64_t C = x.shape[1];
    DIT_TRY(dit_arena_host(&g->rt.image, C * C, &identity));
    for (int64_t i = 0; i < C * C; i++) identity[i] = i / C == i % C ? 1.0f : 0.0f;
    DIT_TRY(g->rt.kernels->linear_pack(g->rt.pool, &g->rt.run, C, 1, (const float *const[1]){identity}, NULL, &C,
                                       &weights));
    dit_conv_args args = {.up = 2, .kernel = {1, 1, 1}, .stride = {1, 1, 1}};
    args.out[1] = 2 * x.shape[2], args.out[2] = 2 * x.shape[3];
    return convolve(g, name, &x, &weights, args);
}

/* ---- the folder -------------------------------------------------------------------------------------------------- */

/* Which operation makes a tensor whose name begins so. Other names are skipped. */
static const struct {
    const char *prefix;
    dit_status (*run)(golden_ops *g, const char *name, const char *parameters);
} operations[] = {
    {"timestep.emb", run_timestep},
    {"sincos2d.", run_sincos_2d},
    {"sincos3d.", run_sincos_3d},
    {"rope1d.dim", run_rope_table},
    {"rope_apply.", run_rope},
    {"act.", run_activation},
    {"norm.", run_norm},
    {"groupnorm.g", run_group_norm},
    {"attn.out", run_attention},
    {"conv2d.k", run_conv},
    {"upsample.nearest", run_upsample},
};

static dit_status run_tensors(golden_ops *g)
{
    dit_tensor_view view;
    for (int i = 0; i < dit_safetensors_count(g->file); i++) {
        dit_safetensors_at(g->file, i, &view);
        for (size_t j = 0; j < sizeof operations / sizeof *operations; j++) {
            size_t length = strlen(operations[j].prefix);
            if (strncmp(view.name, operations[j].prefix, length) != 0) continue;
            DIT_TRY(operations[j].run(g, view.name, view.name + length));
        }
        dit_arena_reset(&g->rt.image);
    }
    return DIT_OK;
}

static dit_status run_folder(golden_report *report, const char *folder, const dit_case_platform *platform)
{
    golden_ops g = {.report = report, .tolerance = golden_tolerance(platform, TOLERANCE, 1)};
    dit_runtime_params params = {.backend = platform->backend, .dtype = platform->dtype, .threads = platform->threads};
    params.parallel = *platform->parallel;
    params.facts = (dit_facts){.image_tokens = 1, .num_images = 1, .guidance_branches = 1, .steps = 1};
    if (dit_parallel_world_size(&params.parallel) > 1)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%d ranks: an operator runs on one rank",
                        dit_parallel_world_size(&params.parallel));
    DIT_TRY(dit_runtime_init(&params, &g.rt));
    dit_status st = golden_open(folder, "ops.safetensors", &g.file);
    if (st == DIT_OK) st = run_tensors(&g);
    dit_safetensors_close(g.file);
    dit_runtime_release(&g.rt);
    return st;
}

static bool is_ops(const char *folder)
{
    return golden_has_file(folder, "ops.safetensors");
}

const golden_kind golden_kind_ops = {"ops", is_ops, run_folder};
