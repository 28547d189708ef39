/* Linear layers by cuBLASLt.
 *
 * The library's matrices are column-major, so y = x W^T with contiguous rows is y^T [n, rows] = W^T^T x^T: A is W as a
 * k x n matrix, transposed; B is x as k x rows; C and D are n x rows. Sums are in fp32 and never in TF32. The parts of
 * a split sum are kept in fp32, too (the reduction scheme), because the output's dtype would round them.
 *
 * A request is everything that decides which algorithms exist: extents, strides, dtypes, epilogue, alignment. The first
 * call of a request outside of a recording times the library's candidates, in every way to do the whole request:
 *   WAY_PLAIN       the product with bias, then a pass for the activation (linear.cu)
 *   WAY_ACTIVATION  GELU in the library's epilogue, which computes the tanh form; not where y is fp32, because the
 *                   accuracy of the library's tanh is not documented
 *   WAY_OWN         our own kernel, for few rows
 * It keeps the fastest, also on disk (algorithms.h). In a recording before that, the heuristic's first is used.
 * Timing runs on the request's operands, which the request then overwrites. Where y is also the residual, timed runs
 * write to temporary memory; when there is none left, the heuristic's first is kept.
 */
#include "kernels/cuda/algorithms.h"
#include "kernels/cuda/parts.h"

#include "base/log.h"

#include <cublasLt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAY_PLAIN, WAY_ACTIVATION, WAYS, WAY_OWN = WAYS };
enum { CANDIDATES = 16, ROUNDS = 5, REPEATS_MOST = 32, ROUND_NS = 200000, BUCKETS = 256, OWN_ROWS_MOST = 8 };
enum { ALIGNMENT_MOST = 256 };
static_assert(sizeof(cublasLtMatmulAlgo_t) == DIT_ALGORITHM_BYTES, "an algorithm is kept as its bytes");

/* Compared as bytes: no padding, and zero before it is filled. */
typedef struct {
    int64_t rows, n, k, ldx, ldy;
    int32_t x, y;           /* cudaDataType; W has that of x */
    int32_t bias, residual; /* whether the library adds them */
    int32_t activation;
    int32_t passes; /* whether every way leaves something for a pass */
    int32_t align_w, align_x, align_y, align_c;
} request;
static_assert(sizeof(request) == 5 * sizeof(int64_t) + 10 * sizeof(int32_t), "no padding");

typedef struct plan {
    struct plan *next;
    request of;
    cublasLtMatmulDesc_t product[WAYS]; /* NULL: no way for this request */
    cublasLtMatrixLayout_t w, x, y;
    cublasLtMatmulAlgo_t algorithm;
    int way;
    bool chosen, declined;
} plan;

struct dit_cuda_linear_library {
    cublasLtHandle_t handle;
    cublasLtMatmulPreference_t preference;
    cudaEvent_t begin, end;
    dit_algorithms *algorithms;
    char machine[128]; /* version and device, in keys */
    plan *plans[BUCKETS];
};

#define LT_TRY(call)                                                                                                   \
    do {                                                                                                               \
        cublasStatus_t lt_status_ = (call);                                                                            \
        if (lt_status_ != CUBLAS_STATUS_SUCCESS)                                                                       \
            return DIT_FAIL(DIT_ERR_DEVICE, "%s: %s", #call, cublasLtGetStatusString(lt_status_));                     \
    } while (0)

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static bool is_real(dit_dtype dtype)
{
    return dtype == DIT_DTYPE_FP32 || dtype == DIT_DTYPE_BF16 || dtype == DIT_DTYPE_FP16;
}

static cudaDataType type_of(dit_dtype dtype)
{
    return dtype == DIT_DTYPE_FP32 ? CUDA_R_32F : dtype == DIT_DTYPE_BF16 ? CUDA_R_16BF : CUDA_R_16F;
}

static int32_t alignment_of(const void *data)
{
    uintptr_t address = (uintptr_t)data | ALIGNMENT_MOST;
    return (int32_t)(address & (~address + 1));
}

/* Returns the parts of a request that the library does in that way. It leaves out a bias whose dtype differs from y's,
 * and a bias of fp8 products with fp32 results, which would have to be bf16. */
static cuda_linear_parts parts_of(const cuda_matmul_args *whole, int way)
{
    const view bias = whole->weights->bias;
    cuda_linear_parts parts;
    parts.bias =
        bias.data && bias.dtype == whole->y.dtype && !(whole->x_scale && whole->y.dtype == DIT_DTYPE_FP32);
    const bool biased = parts.bias || !bias.data; /* whether the sums are complete before the rest follows */
    parts.activation = way == WAY_ACTIVATION && biased;
    parts.residual = whole->residual.data && !whole->gate.data && whole->activation == DIT_ACT_NONE &&
                     whole->residual.dtype == whole->y.dtype && biased;
    return parts;
}

static view weights_taken(const cuda_matmul_args *a)
{
    return a->x_scale ? a->weights->fp8 : a->weights->weight;
}

/* True if the library multiplies these dtypes. */
static bool has_elements(const cuda_matmul_args *a)
{
    const dit_dtype x = a->x.dtype, y = a->y.dtype;
    if (!is_real(y)) return false;
    if (a->x_scale) return true;
    return is_real(x) && x == a->weights->weight.dtype && (y == x || y == DIT_DTYPE_FP32);
}

static bool may_fuse_activation(const cuda_matmul_args *whole)
{
    return whole->activation == DIT_ACT_GELU_TANH && whole->y.dtype != DIT_DTYPE_FP32 &&
           parts_of(whole, WAY_ACTIVATION).activation;
}

static void request_of(dit_cuda *cuda, const cuda_matmul_args *whole, request *r)
{
    const cuda_linear_parts parts = parts_of(whole, WAY_PLAIN);
    cuda_weights weights;
    cuda_matmul_args part;
    cuda_linear_part(cuda, whole, parts, &weights, &part);
    memset(r, 0, sizeof *r);
    r->rows = part.rows, r->n = part.n, r->k = part.k;
    r->ldx = part.rows == 1 ? part.k : part.ldx;
    r->ldy = part.rows == 1 ? part.n : part.ldy;
    r->x = (int32_t)(part.x_scale ? CUDA_R_8F_E4M3 : type_of(part.x.dtype));
    r->y = (int32_t)type_of(part.y.dtype);
    r->bias = weights.bias.data != NULL;
    r->residual = part.residual.data != NULL;
    r->activation = (int32_t)whole->activation;
    r->passes = (whole->residual.data && !parts.residual) || (whole->weights->bias.data && !parts.bias);
    r->align_w = alignment_of(weights_taken(&part).data);
    r->align_x = alignment_of(part.x.data);
    r->align_y = alignment_of(part.y.data);
    r->align_c = part.residual.data ? alignment_of(part.residual.data) : r->align_y;
}

/* Writes everything that the choice depends on. */
static void key_of(const dit_cuda *cuda, const request *r, char out[DIT_ALGORITHM_KEY])
{
    snprintf(
        out, DIT_ALGORITHM_KEY,
        "%s|rows%lld,n%lld,k%lld|ld%lld,%lld|type%d,%d|bias%d,residual%d,activation%d,pass%d|align%d,%d,%d,%d|%lld",
        cuda->linear->machine, (long long)r->rows, (long long)r->n, (long long)r->k, (long long)r->ldx,
        (long long)r->ldy, r->x, r->y, r->bias, r->residual, r->activation, r->passes, r->align_w, r->align_x,
        r->align_y, r->align_c, (long long)cuda_linear_library_bytes(cuda));
}

/* FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv */
static unsigned bucket_of(const request *r)
{
    const unsigned char *bytes = (const unsigned char *)r;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < sizeof *r; i++) hash = (hash ^ bytes[i]) * 16777619u;
    return hash % BUCKETS;
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

static void plan_free(plan *p)
{
    for (int way = 0; way < WAYS; way++)
        if (p->product[way]) cublasLtMatmulDescDestroy(p->product[way]);
    if (p->w) cublasLtMatrixLayoutDestroy(p->w);
    if (p->x) cublasLtMatrixLayoutDestroy(p->x);
    if (p->y) cublasLtMatrixLayoutDestroy(p->y);
    free(p);
}

static dit_status set(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute, const void *value,
                      size_t bytes)
{
    LT_TRY(cublasLtMatmulDescSetAttribute(product, attribute, value, bytes));
    return DIT_OK;
}

static dit_status make_product(const request *r, int way, cublasLtMatmulDesc_t *out)
{
    const int32_t transposed = CUBLAS_OP_T;
    const int8_t fast =
        1; /* sums of e4m3 products in the tensor core's own accumulator: approximate, as the case declares */
    uint32_t epilogue = r->bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    if (way == WAY_ACTIVATION) epilogue = r->bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    LT_TRY(cublasLtMatmulDescCreate(out, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    DIT_TRY(set(*out, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
    DIT_TRY(set(*out, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    if (r->bias) DIT_TRY(set(*out, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &r->y, sizeof r->y));
    if (r->x == CUDA_R_8F_E4M3) DIT_TRY(set(*out, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast));
    return DIT_OK;
}

static dit_status fill_plan(plan *p, bool fuses)
{
    const request *r = &p->of;
    const cudaDataType x = (cudaDataType)r->x, y = (cudaDataType)r->y;
    LT_TRY(cublasLtMatrixLayoutCreate(&p->w, x, (uint64_t)r->k, (uint64_t)r->n, r->k));
    LT_TRY(cublasLtMatrixLayoutCreate(&p->x, x, (uint64_t)r->k, (uint64_t)r->rows, r->ldx));
    LT_TRY(cublasLtMatrixLayoutCreate(&p->y, y, (uint64_t)r->n, (uint64_t)r->rows, r->ldy));
    DIT_TRY(make_product(r, WAY_PLAIN, &p->product[WAY_PLAIN]));
    return fuses ? make_product(r, WAY_ACTIVATION, &p->product[WAY_ACTIVATION]) : DIT_OK;
}

/* Returns the plan of a request, `declined` if the library cannot describe the request. NULL: no memory. */
static plan *plan_of(dit_cuda_linear_library *library, const request *r, bool fuses)
{
    plan **bucket = &library->plans[bucket_of(r)], *p;
    for (p = *bucket; p; p = p->next)
        if (memcmp(&p->of, r, sizeof *r) == 0) return p;
    p = (plan *)calloc(1, sizeof *p);
    if (!p) return NULL;
    p->of = *r;
    p->next = *bucket;
    *bucket = p;
    if (fill_plan(p, fuses) == DIT_OK) return p;
    dit_log_warning("cuBLASLt is not used for a linear layer: %s", dit_error_last()->message);
    dit_error_clear();
    p->declined = true;
    return p;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Sets the operands that a description holds. */
static dit_status set_pointers(cublasLtMatmulDesc_t product, const cuda_matmul_args *part)
{
    const void *bias = part->weights->bias.data, *scale_w = part->weights->fp8_scale, *scale_x = part->x_scale;
    if (bias) DIT_TRY(set(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
    if (!scale_x) return DIT_OK;
    DIT_TRY(set(product, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &scale_w, sizeof scale_w));
    return set(product, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &scale_x, sizeof scale_x);
}

static dit_status multiply(dit_cuda *cuda, const plan *p, int way, const cublasLtMatmulAlgo_t *algorithm,
                           const cuda_matmul_args *part)
{
    const float one = 1.0f, zero = 0.0f;
    const void *added = part->residual.data ? part->residual.data : part->y.data;
    DIT_TRY(set_pointers(p->product[way], part));
    LT_TRY(cublasLtMatmul(cuda->linear->handle, p->product[way], &one, weights_taken(part).data, p->w, part->x.data,
                          p->x, part->residual.data ? &one : &zero, added, p->y, part->y.data, p->y, algorithm,
                          cuda->workspace, (size_t)cuda_linear_library_bytes(cuda), cuda->stream));
    return DIT_OK;
}

/* Runs the whole request in that way. */
static dit_status run_way(dit_cuda *cuda, const plan *p, int way, const cublasLtMatmulAlgo_t *algorithm,
                          const cuda_matmul_args *whole)
{
    const cuda_linear_parts parts = parts_of(whole, way);
    cuda_weights weights;
    cuda_matmul_args part;
    if (way == WAY_OWN) {
        cuda_matmul_own(cuda, whole);
        return DIT_OK;
    }
    cuda_linear_part(cuda, whole, parts, &weights, &part);
    DIT_TRY(multiply(cuda, p, way, algorithm, &part));
    cuda_linear_finish(cuda, whole, parts, &part);
    return DIT_OK;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static dit_status prefer(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
                         uint32_t value)
{
    LT_TRY(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value));
    return DIT_OK;
}

static dit_status set_preference(dit_cuda *cuda, const request *r)
{
    cublasLtMatmulPreference_t preference = cuda->linear->preference;
    const uint64_t workspace = (uint64_t)cuda_linear_library_bytes(cuda);
    LT_TRY(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                                sizeof workspace));
    DIT_TRY(prefer(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    DIT_TRY(prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, (uint32_t)r->align_w));
    DIT_TRY(prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, (uint32_t)r->align_x));
    DIT_TRY(prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, (uint32_t)r->align_c));
    return prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, (uint32_t)r->align_y);
}

/* Asks for the library's candidates for a way, best first by the library's estimate; returns how many there are. */
static int find_candidates(dit_cuda *cuda, const plan *p, int way, const cuda_matmul_args *whole,
                           cublasLtMatmulHeuristicResult_t out[CANDIDATES])
{
    const int64_t room = cuda_linear_library_bytes(cuda);
    cuda_weights weights;
    cuda_matmul_args part;
    int found = 0, usable = 0;
    if (!p->product[way]) return 0;
    cuda_linear_part(cuda, whole, parts_of(whole, way), &weights, &part);
    if (set_pointers(p->product[way], &part) != DIT_OK || set_preference(cuda, &p->of) != DIT_OK) {
        dit_log_warning("cuBLASLt cannot be asked for algorithms: %s", dit_error_last()->message);
        dit_error_clear();
        return 0;
    }
    if (cublasLtMatmulAlgoGetHeuristic(cuda->linear->handle, p->product[way], p->w, p->x, p->y, p->y,
                                       cuda->linear->preference, CANDIDATES, out, &found) != CUBLAS_STATUS_SUCCESS)
        return 0;
    for (int i = 0; i < found; i++)
        if (out[i].state == CUBLAS_STATUS_SUCCESS && (int64_t)out[i].workspaceSize <= room) out[usable++] = out[i];
    return usable;
}

/* Returns the nanoseconds of `repeats` runs, or -1. */
static int64_t time_runs(dit_cuda *cuda, const plan *p, int way, const cublasLtMatmulAlgo_t *algorithm,
                         const cuda_matmul_args *whole, int repeats)
{
    float ms = 0;
    if (cudaEventRecord(cuda->linear->begin, cuda->stream) != cudaSuccess) return -1;
    for (int i = 0; i < repeats; i++)
        if (run_way(cuda, p, way, algorithm, whole) != DIT_OK) return -1;
    if (cudaEventRecord(cuda->linear->end, cuda->stream) != cudaSuccess) return -1;
    if (cuda_wait(cuda, cuda->linear->end) != DIT_OK) {
        cuda_fail(cuda, "%s", dit_error_last()->message);
        return -1;
    }
    if (cudaEventElapsedTime(&ms, cuda->linear->begin, cuda->linear->end) != cudaSuccess) return -1;
    return (int64_t)((double)ms * 1e6);
}

/* Returns the nanoseconds of one run, the least of several rounds, or -1 when it fails. Short runs are timed
 * together. */
static int64_t time_way(dit_cuda *cuda, const plan *p, int way, const cublasLtMatmulAlgo_t *algorithm,
                        const cuda_matmul_args *whole)
{
    int64_t best = time_runs(cuda, p, way, algorithm, whole, 1), once = best;
    if (best < 0) return -1;
    once = time_runs(cuda, p, way, algorithm, whole, 1); /* the first run only loaded the kernel */
    if (once < 0) return -1;
    int repeats = once * REPEATS_MOST < ROUND_NS ? (int)REPEATS_MOST : once < ROUND_NS ? (int)(ROUND_NS / once) : 1;
    best = once;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t spent = time_runs(cuda, p, way, algorithm, whole, repeats);
        if (spent < 0) return -1;
        if (spent / repeats < best) best = spent / repeats;
    }
    return best;
}

/* Times a candidate and keeps it if it is the fastest so far. A candidate that fails to launch is skipped. After a
 * failure of the device, which the next wait reports, nothing is tried. */
static void try_way(dit_cuda *cuda, plan *p, int way, const cublasLtMatmulHeuristicResult_t *candidate,
                    const cuda_matmul_args *whole, dit_algorithm *best)
{
    if (cuda->failure != DIT_OK) return;
    const int64_t time_ns = time_way(cuda, p, way, candidate ? &candidate->algo : NULL, whole);
    if (time_ns < 0) {
        dit_log_debug("a candidate for a linear layer does not run: %s", dit_error_last()->message);
        dit_error_clear();
        return;
    }
    if (best->time_ns >= 0 && time_ns >= best->time_ns) return;
    best->way = way;
    best->time_ns = time_ns;
    best->workspace_bytes = candidate ? (int64_t)candidate->workspaceSize : 0;
    memset(best->bytes, 0, sizeof best->bytes);
    if (candidate) memcpy(best->bytes, &candidate->algo, sizeof best->bytes);
}

/* Times all candidates; the time of *best is negative when none runs. Returns how many were tried. */
static int time_candidates(dit_cuda *cuda, plan *p, const cuda_matmul_args *whole, dit_algorithm *best)
{
    cublasLtMatmulHeuristicResult_t candidates[CANDIDATES];
    int tried = 0;
    best->time_ns = -1;
    for (int way = 0; way < WAYS; way++) {
        int count = find_candidates(cuda, p, way, whole, candidates);
        for (int i = 0; i < count; i++, tried++) try_way(cuda, p, way, &candidates[i], whole, best);
    }
    if (whole->rows > OWN_ROWS_MOST) return tried;
    try_way(cuda, p, WAY_OWN, NULL, whole, best);
    return tried + 1;
}

static void take(plan *p, const dit_algorithm *chosen)
{
    p->way = chosen->way;
    memcpy(&p->algorithm, chosen->bytes, sizeof p->algorithm);
    p->chosen = true;
}

/* Takes the heuristic's first candidate, without timing. */
static void take_first(dit_cuda *cuda, plan *p, const cuda_matmul_args *whole)
{
    cublasLtMatmulHeuristicResult_t candidates[CANDIDATES];
    for (p->way = WAYS - 1; p->way >= 0; p->way--) {
        if (!find_candidates(cuda, p, p->way, whole, candidates)) continue;
        p->algorithm = candidates[0].algo;
        return;
    }
    p->way = WAY_OWN;
}

static void report(const request *r, const char *key, const dit_algorithm *best, int tried)
{
    static const char *const ways[] = {"plain", "activation", "own"};
    dit_log_debug(
        "linear %s: %s, %.1f us, %.1f TFLOP/s, of %d", key, ways[best->way], (double)best->time_ns * 1e-3,
        2e-3 * (double)r->rows * (double)r->n * (double)r->k / (double)(best->time_ns > 0 ? best->time_ns : 1), tried);
}

/* Times the candidates and keeps the fastest or, if they cannot be timed, the heuristic's first. */
static void search(dit_cuda *cuda, plan *p, const char *key, const cuda_matmul_args *whole)
{
    cuda_matmul_args trial = *whole;
    dit_algorithm best = {};
    void *scratch = NULL;
    if (whole->residual.data == whole->y.data) {
        const int64_t elements = (whole->rows - 1) * whole->ldy + whole->n;
        if (cudaMalloc(&scratch, (size_t)(elements * view_bytes(whole->y))) != cudaSuccess) {
            cudaGetLastError();
            take_first(cuda, p, whole);
            p->chosen = true;
            return;
        }
        trial.y.data = scratch;
    }
    int tried = time_candidates(cuda, p, &trial, &best);
    if (scratch && cuda_wait(cuda, NULL) == DIT_OK) cudaFree(scratch);
    if (best.time_ns < 0) {
        p->declined = true;
        dit_log_debug("linear %s: cuBLASLt has no algorithm", key);
        return;
    }
    take(p, &best);
    report(&p->of, key, &best, tried);
    if (dit_algorithms_store(cuda->linear->algorithms, key, &best) != DIT_OK) dit_error_clear();
}

/* True if the algorithm that was kept can run here. */
static bool is_usable(dit_cuda *cuda, const plan *p, const dit_algorithm *kept, const cuda_matmul_args *whole)
{
    cublasLtMatmulHeuristicResult_t result;
    cublasLtMatmulAlgo_t algorithm;
    if (kept->way == WAY_OWN) return whole->rows <= OWN_ROWS_MOST;
    if (kept->way < 0 || kept->way >= WAYS || !p->product[kept->way]) return false;
    memcpy(&algorithm, kept->bytes, sizeof algorithm);
    return cublasLtMatmulAlgoCheck(cuda->linear->handle, p->product[kept->way], p->w, p->x, p->y, p->y, &algorithm,
                                   &result) == CUBLAS_STATUS_SUCCESS &&
           (int64_t)result.workspaceSize <= cuda_linear_library_bytes(cuda);
}

static void choose(dit_cuda *cuda, plan *p, const cuda_matmul_args *whole)
{
    char key[DIT_ALGORITHM_KEY];
    dit_algorithm kept;
    key_of(cuda, &p->of, key);
    if (dit_algorithms_find(cuda->linear->algorithms, key, &kept) && is_usable(cuda, p, &kept, whole))
        take(p, &kept);
    else if (cuda->recording)
        take_first(cuda, p, whole); /* a later call outside of the recording searches again */
    else
        search(cuda, p, key, whole);
}

bool cuda_linear_library_run(dit_cuda *cuda, const cuda_matmul_args *whole)
{
    request r;
    if (whole->k <= 0 || !has_elements(whole)) return false;
    request_of(cuda, whole, &r);
    plan *p = plan_of(cuda->linear, &r, may_fuse_activation(whole));
    if (!p || p->declined) return false;
    if (!p->chosen) choose(cuda, p, whole);
    if (p->declined || p->way == WAY_OWN) return false;
    if (run_way(cuda, p, p->way, &p->algorithm, whole) == DIT_OK) return true;
    dit_log_warning("a linear layer of %lld x %lld -> %lld falls back to the own kernel: %s", (long long)r.rows,
                    (long long)r.k, (long long)r.n, dit_error_last()->message);
    dit_error_clear();
    p->declined = true;
    return false;
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

/* Writes version and device, without white space. */
static dit_status name_machine(dit_cuda *cuda, dit_cuda_linear_library *library)
{
    cudaDeviceProp facts;
    CUDA_TRY(cudaGetDeviceProperties(&facts, cuda->params.index));
    snprintf(library->machine, sizeof library->machine, "cublaslt%zu,%.64s,sm%d,%dsms", cublasLtGetVersion(),
             facts.name, cuda->sm, cuda->multiprocessors);
    for (char *c = library->machine; *c; c++)
        if (*c <= ' ' || *c > '~') *c = '_';
    return DIT_OK;
}

static dit_status open_library(dit_cuda *cuda, dit_cuda_linear_library *library)
{
    LT_TRY(cublasLtCreate(&library->handle));
    LT_TRY(cublasLtMatmulPreferenceCreate(&library->preference));
    CUDA_TRY(cudaEventCreate(&library->begin));
    CUDA_TRY(cudaEventCreate(&library->end));
    DIT_TRY(name_machine(cuda, library));
    return dit_algorithms_open(cuda->params.cache_folder, "linear", &library->algorithms);
}

dit_status cuda_linear_library_open(dit_cuda *cuda, dit_cuda_linear_library **out)
{
    dit_cuda_linear_library *library = (dit_cuda_linear_library *)calloc(1, sizeof *library);
    *out = NULL;
    if (!library) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for cuBLASLt's plans");
    dit_status st = open_library(cuda, library);
    if (st == DIT_OK)
        *out = library;
    else
        cuda_linear_library_close(library);
    return st;
}

void cuda_linear_library_close(dit_cuda_linear_library *library)
{
    for (int i = 0; i < BUCKETS; i++)
        while (library->plans[i]) {
            plan *p = library->plans[i];
            library->plans[i] = p->next;
            plan_free(p);
        }
    dit_algorithms_close(library->algorithms);
    if (library->end) cudaEventDestroy(library->end);
    if (library->begin) cudaEventDestroy(library->begin);
    if (library->preference) cublasLtMatmulPreferenceDestroy(library->preference);
    if (library->handle) cublasLtDestroy(library->handle);
    free(library);
}
