/* Cases: the shapes that check and time the operators, as data (kernels/cases.c), and what one case needs to run on
 * any table of operators (kernels/case_run.c). Used by kernels/bench.c and the tests. */
#ifndef DIT_KERNELS_CASES_H
#define DIT_KERNELS_CASES_H

#include "kernels/device.h"

typedef enum {
    DIT_OPERATOR_LINEAR,
    DIT_OPERATOR_ATTENTION,
    DIT_OPERATOR_ATTENTION_MERGE,
    DIT_OPERATOR_NORM,
    DIT_OPERATOR_QK_NORM_ROPE,
    DIT_OPERATOR_COPY,
    DIT_OPERATOR_COMBINE,
    DIT_OPERATOR_ACTIVATE,
    DIT_OPERATOR_CONV,
    DIT_OPERATOR_GROUP_NORM,
    DIT_OPERATOR_TIMESTEP,
    DIT_OPERATOR_GATED_ADD,
    DIT_OPERATOR_ROW_NORM,
    DIT_OPERATOR_COUNT
} dit_operator;

enum {
    DIT_CASE_BIAS = 1 << 0,     /* linear: bias; attention: key mask of 0 and -10000; norm: affine weight and bias;
                                   qk_norm_rope: bias                                                             */
    DIT_CASE_GELU = 1 << 1,     /* linear, activate                                                               */
    DIT_CASE_SILU = 1 << 2,     /* linear, activate, conv, group_norm                                             */
    DIT_CASE_RESIDUAL = 1 << 3, /* linear, conv: y is read and written in place                                   */
    DIT_CASE_GATE = 1 << 4,     /* linear, gated_add: gate on what is added                                       */
    DIT_CASE_STRIDED = 1 << 5,  /* rows wider than the data; attention: q, k, v inside one fused projection       */
    DIT_CASE_LSE = 1 << 6,      /* attention: also the log-sum-exp                                                */
    DIT_CASE_MODULATE = 1 << 7, /* norm: scale and shift; group_norm: fields of them */
    DIT_CASE_NORM = 1 << 8,     /* qk_norm_rope: weight                                                           */
    DIT_CASE_ROPE = 1 << 9,     /* qk_norm_rope: cos and sin                                                      */
    DIT_CASE_TIMED = 1 << 10,   /* also timed                                                                     */
    DIT_CASE_LARGE = 1 << 11,   /* only with timing; compared with the reference on some rows                     */
    DIT_CASE_RMS = 1 << 12,     /* norm, qk_norm_rope: RMS norm instead of LayerNorm                              */
    DIT_CASE_ERF = 1 << 13,     /* linear, activate: the exact GELU                                               */
    DIT_CASE_CAUSAL = 1 << 15,  /* conv: three frames deep, the first two before x; attention: positions          */
    DIT_CASE_DOWN = 1 << 16,    /* conv: stride 2, padding only after the last                                    */
    DIT_CASE_UP = 1 << 17,      /* conv: of x repeated twice                                                      */
    DIT_CASE_BAND = 1 << 18,    /* conv: rows above and below; group_norm: moments taken first                   */
    DIT_CASE_HIDDEN = 1 << 14,  /* attention, with BIAS: keys before the last 9 are -INFINITY                     */
    DIT_CASE_DEVICE = 1 << 19,  /* too large for a host: timed on devices                                         */
};

/* Dimensions that an operator does not have are 0. */
typedef struct {
    dit_operator op;
    int64_t rows, n, k;      /* linear; norm: rows x n; qk_norm_rope: rows; combine, activate: n elements, k inputs;
                                attention: k query heads share a key head; timestep: rows of n; gated_add: rows x n;
                                row_norm: B entries of rows x n, of k ranks                                        */
    int64_t B, H, Sq, Sk, D; /* attention; merge: B, H, Sq, D; qk_norm_rope: H, D; copy: B, H, Sq outer, D inner;
                                conv: B frames of H x Sq pixels, k channels to n, D x D taps; group_norm: B frames of
                                H x Sq pixels, n channels in k groups                                             */
    unsigned flags;
} dit_kernel_case;

extern const dit_kernel_case dit_kernel_cases[];
extern const int dit_kernel_case_count;

const char *dit_operator_name(dit_operator op);
/* Largest allowed relative L2 distance to the reference; the reasons stand beside the numbers. */
double dit_operator_tolerance(dit_operator op);
/* The same of a case whose operands are elements on a device, of its output and of its lse. */
double dit_case_tolerance(const dit_kernel_case *c, dit_element element);
double dit_case_lse_tolerance(const dit_kernel_case *c, dit_element element);
/* Whether multiply-adds, not bytes, limit the operator. */
bool dit_operator_is_compute_bound(dit_operator op);
void dit_case_describe(const dit_kernel_case *c, char *out, int size);
dit_work dit_case_work(const dit_kernel_case *c);
/* Bytes read and written where operands are elements of a device; dit_case_work counts fp32. */
double dit_case_bytes(const dit_kernel_case *c, dit_element element);

/* One case with its operands. On a device (of the pool) they lie at addresses of its ledger: what the host has there is
 * what the reference computes on, rounded as the device's elements are. release accepts a zeroed one. */
enum { DIT_CASE_ARRAYS = 16 };
typedef struct {
    const dit_kernel_case *c;
    dit_pool *pool;
    dit_device *device; /* NULL: the host */
    dit_memory_ledger ledger, host_ledger;
    dit_arena arena, host_arena; /* what the operators of the table see; the reference's own */
    dit_arena *room;             /* the first of them, or another run's */
    float *in[8];                /* operands, by operator                                    */
    float *initial;              /* contents of the output before a call: strides and in-place inputs */
    float *out, *lse, *expected; /* expected: [out_floats + lse_floats] as initial                    */
    int64_t out_floats, lse_floats;
    dit_element out_element;
    int32_t *positions; /* attention with CAUSAL: of Sq queries, then of Sk keys */
    double *moments;    /* group_norm, with the workspace behind */
    void *workspace;
    dit_linear packed, packed_reference;
    struct {
        void *data;
        int64_t count;
        dit_element element;
        bool on_device;
    } arrays[DIT_CASE_ARRAYS]; /* filled by the host */
    int array_count;
} dit_case_run;

/* Allocates and fills the operands from fixed seeds, packs weights with both tables, and puts all that on the pool's
 * device, if it has one. Errors: DIT_ERR_MEMORY, those of the device. */
dit_status dit_case_prepare(const dit_kernel_case *c, dit_pool *pool, const dit_kernels *table,
                            const dit_kernels *reference, dit_case_run *run);
/* The same operands once more, beside those of a run that outlives this one; for calls, not for comparing. */
dit_status dit_case_prepare_beside(dit_case_run *first, const dit_kernels *table, dit_case_run *run);
void dit_case_release(dit_case_run *run);
/* Counts nothing, and has its arrays on the device. */
dit_memory_ledger dit_case_ledger(dit_device *device);
/* The output as it is before a call. Errors: those of the device. */
dit_status dit_case_reset(dit_case_run *run);
/* One call of the operator into run->out. Allocates nothing. */
void dit_case_call(dit_case_run *run, const dit_kernels *table);
/* Relative L2 distances between a call on `table` and on `reference`; infinite when anything is not finite. Bytes
 * between the rows must stay as they were. Errors: those of the device. */
typedef struct {
    double out, lse;
} dit_case_distance;
dit_status dit_case_error(dit_case_run *run, const dit_kernels *table, const dit_kernels *reference,
                          dit_case_distance *error);

#endif
