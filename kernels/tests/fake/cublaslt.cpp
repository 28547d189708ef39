#include "cublasLt.h"

#include "base/dtype.h"
#include "kernels/cuda/e4m3.h"

#include <cuda_bf16.h>
#include <math.h>
#include <string.h>
#include <vector>

enum { SLOW = 1, BROKEN, FAST, LAVISH, ALGORITHMS = LAVISH, LEAST_WORKSPACE = 4096, SLOW_TIMES = 4 };

int64_t fake_lt_products, fake_lt_fast_products, fake_lt_questions, fake_lt_objects;
bool fake_lt_refuses;

struct fake_lt_context {
    int alive;
};
struct fake_lt_product {
    int32_t transposed = CUBLAS_OP_N, bias_type = -1;
    uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    const void *bias = NULL;
    const float *scale_a = NULL, *scale_b = NULL;
    int8_t fast = 0;
};
struct fake_lt_layout {
    cudaDataType type;
    int64_t rows, cols, ld;
};
struct fake_lt_preference {
    uint64_t workspace = 0;
    uint32_t reduction = 7, align[4] = {256, 256, 256, 256};
};

template <typename T> static cublasStatus_t create(T **out)
{
    *out = new T();
    fake_lt_objects++;
    return CUBLAS_STATUS_SUCCESS;
}
template <typename T> static cublasStatus_t destroy(T *object)
{
    delete object;
    fake_lt_objects--;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *out)
{
    return create(out);
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    return destroy(handle);
}
size_t cublasLtGetVersion(void)
{
    return 7;
}
const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported" : "invalid value";
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t, cudaDataType scale)
{
    return scale == CUDA_R_32F ? create(out) : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product)
{
    return destroy(product);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    return destroy(layout);
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    return create(out);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    return destroy(preference);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type, uint64_t rows, uint64_t cols,
                                          int64_t ld)
{
    create(out);
    **out = {type, (int64_t)rows, (int64_t)cols, ld};
    return CUBLAS_STATUS_SUCCESS;
}

template <typename T> static cublasStatus_t take(T *to, const void *value, size_t bytes)
{
    if (bytes != sizeof *to) return CUBLAS_STATUS_INVALID_VALUE;
    memcpy((void *)to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t p, cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t bytes)
{
    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return take(&p->transposed, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return take(&p->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return take(&p->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER: return take(&p->scale_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER: return take(&p->scale_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM: return take(&p->fast, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return take(&p->bias_type, value, bytes);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
                                                    size_t bytes)
{
    switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return take(&p->workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return take(&p->reduction, value, bytes);
    default: return take(&p->align[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes);
    }
}

/* ---- which products there are ------------------------------------------------------------------------------------ */

/* The tables of "cublasLtMatmul()" in the manual, for sums in fp32: D is C's type; bias is D's; fp8 is transposed A
 * times B, of extents that are multiples of 16 and rows of 16 bytes, scaled by pointers. */
static bool is_supported(const fake_lt_product *p, const fake_lt_layout *a, const fake_lt_layout *b,
                         const fake_lt_layout *c, const fake_lt_layout *d)
{
    const bool fp8 = a->type == CUDA_R_8F_E4M3, biased = p->epilogue & CUBLASLT_EPILOGUE_BIAS;
    if (p->transposed != CUBLAS_OP_T || a->type != b->type || c->type != d->type) return false;
    if (a->rows != b->rows || a->cols != d->rows || b->cols != d->cols) return false;
    if (c->rows != d->rows || c->cols != d->cols || c->ld != d->ld) return false;
    for (const fake_lt_layout *l : {a, b, c, d})
        if (l->ld < l->rows || l->rows <= 0 || l->cols <= 0) return false;
    if (biased && (p->bias_type != (int32_t)d->type || !p->bias)) return false;
    if (!fp8) return !p->scale_a && !p->scale_b && (d->type == a->type || d->type == CUDA_R_32F);
    return p->scale_a && p->scale_b && a->rows % 16 == 0 && a->cols % 16 == 0 && a->ld % 16 == 0 && b->ld % 16 == 0 &&
           !(biased && d->type == CUDA_R_32F);
}

static size_t workspace_of(uint64_t id)
{
    return id == LAVISH ? (size_t)1 << 40 : (size_t)LEAST_WORKSPACE;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t p, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t out[], int *count)
{
    fake_lt_questions++;
    *count = 0;
    if (fake_lt_refuses || !is_supported(p, a, b, c, d)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (preference->reduction != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE || preference->workspace < LEAST_WORKSPACE)
        return CUBLAS_STATUS_INVALID_VALUE;
    for (uint64_t id = SLOW; id <= ALGORITHMS && *count < most; id++) {
        cublasLtMatmulHeuristicResult_t *r = &out[(*count)++];
        memset((void *)r, 0, sizeof *r);
        r->algo.data[0] = id;
        r->algo.data[7] = ~id;
        r->workspaceSize = workspace_of(id);
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t p, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t *algorithm, cublasLtMatmulHeuristicResult_t *out)
{
    const uint64_t id = algorithm->data[0];
    if (id < SLOW || id > ALGORITHMS || algorithm->data[7] != ~id) return CUBLAS_STATUS_INVALID_VALUE;
    fake_lt_product given = *p;
    given.bias = &given; /* a check does not look at pointers */
    given.scale_a = given.scale_b = a->type == CUDA_R_8F_E4M3 ? (const float *)(const void *)&given : NULL;
    out->workspaceSize = workspace_of(id);
    return is_supported(&given, a, b, c, d) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

/* ---- the product ------------------------------------------------------------------------------------------------- */

static double load(const void *data, cudaDataType type, int64_t i)
{
    switch (type) {
    case CUDA_R_32F: return (double)((const float *)data)[i];
    case CUDA_R_16F: return (double)dit_fp16_to_float(((const uint16_t *)data)[i]);
    case CUDA_R_16BF: return (double)dit_bf16_to_float(((const uint16_t *)data)[i]);
    default: return (double)e4m3_to_float(((const uint8_t *)data)[i]);
    }
}

static void store(void *data, cudaDataType type, int64_t i, double x)
{
    switch (type) {
    case CUDA_R_32F: ((float *)data)[i] = (float)x; break;
    case CUDA_R_16F: ((uint16_t *)data)[i] = dit_fp16_from_float((float)x); break;
    default: ((uint16_t *)data)[i] = dit_bf16_from_float((float)x);
    }
}

typedef struct {
    fake_lt_product p;
    fake_lt_layout a, b, d;
    const void *in_a, *in_b, *in_c;
    void *out;
    float alpha, beta;
} call;

/* Element (i, j) of D in columns. */
static double element(const call *r, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t l = 0; l < r->a.rows; l++)
        sum += load(r->in_a, r->a.type, i * r->a.ld + l) * load(r->in_b, r->b.type, j * r->b.ld + l);
    if (r->p.scale_a) sum *= (double)*r->p.scale_a * (double)*r->p.scale_b;
    sum *= (double)r->alpha;
    if (r->beta != 0) sum += (double)r->beta * load(r->in_c, r->d.type, i + j * r->d.ld);
    if (r->p.epilogue & CUBLASLT_EPILOGUE_BIAS) sum += load(r->p.bias, r->d.type, i);
    if (r->p.epilogue & CUBLASLT_EPILOGUE_GELU)
        sum = 0.5 * sum * (1 + tanh(0.79788456080286535588 * (sum + 0.044715 * sum * sum * sum)));
    return sum;
}

static void multiply(const call *r, int times)
{
    for (int64_t j = 0; j < r->d.cols; j++)
        for (int64_t i = 0; i < r->d.rows; i++) {
            volatile double x = 0;
            for (int n = 0; n < times; n++) x = element(r, i, j);
            store(r->out, r->d.type, i + j * r->d.ld, x);
        }
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t p, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t layout_a, const void *b, cublasLtMatrixLayout_t layout_b,
                              const void *beta, const void *c, cublasLtMatrixLayout_t layout_c, void *d,
                              cublasLtMatrixLayout_t layout_d, const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream)
{
    const uint64_t id = algorithm->data[0];
    if (!is_supported(p, layout_a, layout_b, layout_c, layout_d)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!workspace || workspace_bytes < workspace_of(id)) return CUBLAS_STATUS_INVALID_VALUE;
    if (id != SLOW && id != FAST) return CUBLAS_STATUS_NOT_SUPPORTED;
    memset(workspace, 0xEE, LEAST_WORKSPACE); /* of no other's */
    memset((char *)workspace + workspace_bytes - 64, 0xEE, 64);
    const call r = {*p, *layout_a, *layout_b, *layout_d, a, b, c, d, *(const float *)alpha, *(const float *)beta};
    const emulated_kernel kernel = {"cublasLtMatmul", (const void *)multiply, dim3(1), dim3(1), 0};
    fake_lt_products++;
    fake_lt_fast_products += id == FAST;
    cudaError_t code = emulated_submit(kernel, stream, [=]() { multiply(&r, id == SLOW ? SLOW_TIMES : 1); });
    return code == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
