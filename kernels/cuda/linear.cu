/* Linear layers: y = residual + gate * activation(x W^T + b).
 *
 * The library multiplies, and applies bias, activation and residual where it can. A pass over its product does the rest
 * (a gate, SiLU, GELU by erf, operands of other dtypes). When the residual is y itself, the product goes to the
 * workspace in y's dtype; that rounds it once more than our own kernels do, but as often as frameworks do.
 * Workspace: [the library's | scale and parts of quantising | e4m3 of x | product]. Requests that need more workspace
 * than there is are done in groups of rows.
 */
#include "kernels/cuda/epilogue.h"

enum {
    LIBRARY_BYTES = 32 << 20, /* what cuBLAS asks for by default on sm_90 */
    QUANTISE_BYTES = 2048,    /* the scale; the parts begin at SCALE_FLOATS */
    SCALE_FLOATS = 64,
    ALIGNMENT = 256,
    FP8_LEAST = 1024, /* rows and columns of W: smaller layers lose accuracy and gain nothing */
    FP8_MULTIPLE = 16
};
static_assert((SCALE_FLOATS + CUDA_QUANTISE_PARTIAL) * sizeof(float) <= QUANTISE_BYTES, "scale and parts");

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* Uploads host memory to the array at `address`, which only names the array and is never touched. */
static dit_status upload(dit_cuda *cuda, const float *address, const float *host, int64_t elements)
{
    dit_location location;
    if (!elements) return DIT_OK;
    if (!dit_address_map_find(cuda->device.map, address, &location))
        return DIT_FAIL(DIT_ERR_INTERNAL, "weights must be packed into an arena of the device");
    return cuda->device.ops->upload(&cuda->device, &location, host, elements);
}

/* Adds the packed weights a second time, in e4m3. */
static dit_status pack_fp8(dit_cuda *cuda, dit_arena *arena, int64_t n, int64_t k, cuda_weights *weights)
{
    void *codes;
    float *scale;
    DIT_TRY(dit_arena_array(arena, n * k / 4, DIT_DTYPE_INT32, &codes));
    DIT_TRY(dit_arena_fp32(arena, 1, &scale));
    weights->fp8 = view_of(cuda, codes);
    weights->fp8_scale = (float *)view_of(cuda, scale).data;
    cuda_quantise(cuda, weights->weight, n, k, k, (uint8_t *)weights->fp8.data, weights->fp8_scale,
                  (float *)cuda->workspace);
    return DIT_OK;
}

static bool wants_fp8(const dit_cuda *cuda, int64_t n, int64_t k)
{
    return cuda->params.fp8_linear && n >= FP8_LEAST && k >= FP8_LEAST && n % FP8_MULTIPLE == 0 &&
           k % FP8_MULTIPLE == 0;
}

dit_status cuda_linear_pack(dit_pool *pool, dit_arena *arena, int64_t k, int pieces, const float *const *w,
                            const float *const *bias, const int64_t *rows, dit_linear *out)
{
    dit_cuda *cuda = cuda_of(pool);
    float *packed, *packed_bias = NULL;
    int64_t n = 0;
    void *plan;
    for (int i = 0; i < pieces; i++) n += rows[i];
    DIT_TRY(dit_arena_alloc(arena, sizeof(cuda_weights), &plan));
    DIT_TRY(dit_arena_activations(arena, n * k, &packed));
    if (bias && bias[0]) DIT_TRY(dit_arena_activations(arena, n, &packed_bias));
    cuda_weights *weights = (cuda_weights *)plan;
    weights->weight = view_of(cuda, packed);
    weights->bias = view_of(cuda, packed_bias);
    for (int64_t i = 0, row = 0; i < pieces; row += rows[i++]) {
        DIT_TRY(upload(cuda, packed + row * k, w[i], rows[i] * k));
        if (packed_bias) DIT_TRY(upload(cuda, packed_bias + row, bias[i], rows[i]));
    }
    if (wants_fp8(cuda, n, k)) DIT_TRY(pack_fp8(cuda, arena, n, k, weights));
    out->n = n;
    out->k = k;
    out->packed = packed;
    out->bias = packed_bias;
    out->plan = plan;
    return DIT_OK;
}

/* ---- the pass after a product ------------------------------------------------------------------------------------ */

static const view nothing = {NULL, DIT_DTYPE_FP32};

/* True if a pass has nothing left to do. */
static bool is_finished(const cuda_matmul_args *whole, cuda_linear_parts parts)
{
    return (parts.bias || !whole->weights->bias.data) && (parts.activation || whole->activation == DIT_ACT_NONE) &&
           (parts.residual || !whole->residual.data);
}

void cuda_linear_finish(dit_cuda *cuda, const cuda_matmul_args *whole, cuda_linear_parts parts,
                        const cuda_matmul_args *part)
{
    epilogue_args e = {};
    if (is_finished(whole, parts)) return;
    e.rows = whole->rows, e.cols = whole->n;
    e.x = part->y, e.ldx = part->ldy;
    e.bias = parts.bias ? nothing : whole->weights->bias;
    e.activation = parts.activation ? DIT_ACT_NONE : whole->activation;
    e.gate = parts.residual ? nothing : whole->gate;
    e.residual = parts.residual ? nothing : whole->residual, e.ldr = whole->ldy;
    e.y = whole->y, e.ldy = whole->ldy;
    epilogue_add(cuda, &e);
}

/* ---- the workspace ----------------------------------------------------------------------------------------------- */

static int64_t rounded_up(int64_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

int64_t cuda_linear_library_bytes(const dit_cuda *cuda)
{
    int64_t half = cuda->workspace_bytes / 2 / ALIGNMENT * ALIGNMENT;
    return half < LIBRARY_BYTES ? half : (int64_t)LIBRARY_BYTES;
}

/* Returns where cuda_linear's own part of the workspace begins. */
static char *quantise_room(const dit_cuda *cuda)
{
    return (char *)cuda->workspace + cuda_linear_library_bytes(cuda);
}

static char *codes_room(const dit_cuda *cuda)
{
    return quantise_room(cuda) + QUANTISE_BYTES;
}

/* Returns where the product goes when the residual is y, which it must not overwrite. */
static view product_room(const dit_cuda *cuda, const cuda_matmul_args *whole)
{
    const int64_t codes = whole->x_scale ? rounded_up(whole->rows * whole->k) : 0;
    view room = {codes_room(cuda) + codes, whole->y.dtype};
    return room;
}

void cuda_linear_part(dit_cuda *cuda, const cuda_matmul_args *whole, cuda_linear_parts parts, cuda_weights *weights,
                      cuda_matmul_args *part)
{
    *weights = *whole->weights;
    *part = *whole;
    part->weights = weights;
    if (!parts.bias) weights->bias = nothing;
    if (!parts.activation) part->activation = DIT_ACT_NONE;
    if (parts.residual) return;
    part->residual = nothing;
    part->gate = nothing;
    if (whole->residual.data && whole->residual.data == whole->y.data) {
        part->y = product_room(cuda, whole);
        part->ldy = whole->n;
    }
}

/* Returns how many rows at a time fit the workspace, in groups of nearly equal size; 0: not even one. */
static int64_t rows_at_once(const dit_cuda *cuda, const cuda_matmul_args *a)
{
    const int64_t in_place = a->residual.data && a->residual.data == a->y.data ? a->n * view_bytes(a->y) : 0;
    const int64_t codes = a->weights->fp8.data ? a->k : 0, each = in_place + codes;
    const int64_t room = cuda->workspace_bytes - cuda_linear_library_bytes(cuda) - QUANTISE_BYTES - ALIGNMENT;
    if (!each || room / each >= a->rows) return a->rows;
    if (room < each) return 0;
    const int64_t groups = (a->rows + room / each - 1) / (room / each);
    return (a->rows + groups - 1) / groups;
}

/* ---- the operator ------------------------------------------------------------------------------------------------ */

/* Runs rows of the request from `first` on. */
static void run_rows(dit_cuda *cuda, const cuda_matmul_args *whole, int64_t first, int64_t rows)
{
    cuda_matmul_args a = *whole;
    a.rows = rows;
    a.x = view_at(whole->x, first * whole->ldx);
    a.y = view_at(whole->y, first * whole->ldy);
    if (whole->residual.data) a.residual = view_at(whole->residual, first * whole->ldy);
    if (whole->weights->fp8.data) {
        float *scale = (float *)quantise_room(cuda);
        cuda_quantise(cuda, a.x, rows, a.k, a.ldx, (uint8_t *)codes_room(cuda), scale, scale + SCALE_FLOATS);
        a.x.data = codes_room(cuda);
        a.ldx = a.k;
        a.x_scale = scale;
    }
    if (!cuda->linear || !cuda_linear_library_run(cuda, &a)) cuda_matmul_own(cuda, &a);
}

void cuda_linear(dit_pool *pool, const dit_linear_args *args)
{
    dit_cuda *cuda = cuda_of(pool);
    cuda_matmul_args a = {};
    if (args->rows <= 0 || args->weights->n <= 0) return;
    a.weights = weights_of(args->weights);
    a.rows = args->rows, a.n = args->weights->n, a.k = args->weights->k, a.ldx = args->ldx, a.ldy = args->ldy;
    a.x = view_of(cuda, args->x), a.y = view_of(cuda, args->y);
    a.residual = view_of(cuda, args->residual), a.gate = view_of(cuda, args->gate);
    a.activation = args->activation;
    if (!a.x.data || !a.y.data || (args->residual && !a.residual.data) || (args->gate && !a.gate.data)) return;
    const int64_t at_once = rows_at_once(cuda, &a);
    if (at_once <= 0) {
        cuda_fail(cuda, "linear %lld x %lld -> %lld: one row does not fit the workspace of %lld bytes",
                  (long long)a.rows, (long long)a.k, (long long)a.n, (long long)cuda->workspace_bytes);
        return;
    }
    for (int64_t first = 0; first < a.rows; first += at_once)
        run_rows(cuda, &a, first, a.rows - first < at_once ? a.rows - first : at_once);
}
