/* Cases: shapes on which operators are checked and timed, and what one case needs to run on any table of operators.
 *
 * One file per operator in kernels/cases/ holds its cases as data, its tolerance with the reason, its operands and its
 * call. `ditbench kernels` (kernels/bench.c) and `ditbench calibrate` (engine/programs/calibrate.c) read them.
 */
#ifndef DIT_KERNELS_CASES_H
#define DIT_KERNELS_CASES_H

#include "kernels/device.h"

/* The lists of cases. */
typedef enum {
    DIT_CASES_CHECKED, /* compared with the reference; those that are TIMED also timed, by `ditbench kernels` */
    DIT_CASES_CORE,    /* timed on one core, for a cost model's parameters */
    DIT_CASES_DEVICE,  /* the same on an accelerator: what fills it, and what does not */
    DIT_CASES_FEW,     /* the least that a fit can be made of, for devices that are emulated: a test of the way */
    DIT_CASES_COUNT
} dit_case_list;

/* What an operator's file makes of each is said there. */
enum {
    DIT_CASE_BIAS = 1 << 0,       /* bias; of a norm its weight, too                */
    DIT_CASE_MASK = 1 << 1,       /* attention: keys that count, and others at -10000 */
    DIT_CASE_HIDDEN = 1 << 2,     /* attention, with MASK: keys before the last 9 are at -INFINITY */
    DIT_CASE_GELU = 1 << 3,       /* its tanh form                                  */
    DIT_CASE_ERF = 1 << 4,        /* the exact GELU                                 */
    DIT_CASE_SILU = 1 << 5,       /*                                                */
    DIT_CASE_RESIDUAL = 1 << 6,   /* y is read and written in place                 */
    DIT_CASE_GATE = 1 << 7,       /* on what is added                               */
    DIT_CASE_STRIDED = 1 << 8,    /* rows wider than the data; attention: q, k, v inside one fused projection */
    DIT_CASE_LSE = 1 << 9,        /* attention: also the log-sum-exp                */
    DIT_CASE_MODULATE = 1 << 10,  /* norm: scale and shift; group_norm: fields of them; timestep: t in units */
    DIT_CASE_NORM = 1 << 11,      /* qk_norm_rope: weight                          */
    DIT_CASE_ROPE = 1 << 12,      /* qk_norm_rope: cos and sin                     */
    DIT_CASE_RMS = 1 << 13,       /* RMS norm instead of LayerNorm                 */
    DIT_CASE_CAUSAL = 1 << 14,    /* conv: three frames deep, the first two before x; attention: positions */
    DIT_CASE_DOWN = 1 << 15,      /* conv: stride 2, padding only after the last   */
    DIT_CASE_UP = 1 << 16,        /* conv: of x repeated twice                     */
    DIT_CASE_BAND = 1 << 17,      /* conv: rows above and below; group_norm: moments taken first */
    DIT_CASE_TIMED = 1 << 18,     /* also timed                                    */
    DIT_CASE_LARGE = 1 << 19,     /* only with timing; compared with the reference on some rows */
    DIT_CASE_ON_DEVICE = 1 << 20, /* too large for a host: timed on devices        */
};

enum { DIT_CASE_SIZES = 6 };
typedef struct {
    dit_operator op;
    int64_t size[DIT_CASE_SIZES]; /* in the order of the operator's own names of them, which its file has */
    unsigned flags;
} dit_kernel_case;

/* The case at that index of a list, operators in the order of DIT_OPERATOR_LIST; NULL after the last. */
const dit_kernel_case *dit_case_at(dit_case_list list, int index);

/* The name of a case's operator in reports: those that are checked by one call have one. */
const char *dit_case_operator(const dit_kernel_case *c);
/* Largest relative L2 distance to the reference that is allowed; the reasons stand beside the numbers. */
double dit_operator_tolerance(dit_operator op);
/* The same of a case whose operands are elements on a device, of its output and of its lse. */
double dit_case_tolerance(const dit_kernel_case *c, dit_element element);
double dit_case_lse_tolerance(const dit_kernel_case *c, dit_element element);
/* Whether multiply-adds, not bytes, limit the operator. */
bool dit_operator_is_compute_bound(dit_operator op);
/* Whether they limit this case of it, too: a row by a matrix waits for the matrix. */
bool dit_case_is_compute_bound(const dit_kernel_case *c);
/* "rows=1024 n=1152 k=4608 bias gelu". */
void dit_case_describe(const dit_kernel_case *c, char *out, int size);
/* The size at that index and its key in records; false where the operator has no more, 0 where the case has none. */
bool dit_case_size(const dit_kernel_case *c, int index, const char **key, int64_t *value);

/* One case with its operands. On a device (of the pool) they lie at addresses of its ledger: what the host has there is
 * what the reference computes on, rounded as the device's elements are. release accepts a zeroed one. */
enum { DIT_CASE_ARRAYS = 16 };
typedef struct {
    const dit_kernel_case *c;
    dit_pool *pool;
    dit_device *device;                   /* NULL: the host */
    const dit_kernels *table, *reference; /* that weights are packed with; reference NULL: not for comparing */
    dit_memory_ledger ledger, host_ledger;
    dit_arena arena, host_arena; /* what the operators of the table see; the reference's own */
    dit_arena *room;             /* the first of them, or another run's */
    float *in[8];                /* operands, by operator                                    */
    void *own[2];                /* arrays of another type, by operator; NULL: none           */
    float *initial;              /* contents of the output before a call: strides and in-place inputs */
    float *out, *lse, *expected; /* expected: [out_floats + lse_floats] as initial                    */
    int64_t out_floats, lse_floats;
    dit_element out_element;
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
/* Work of that call: the sum over the operators that it consists of. Not for two threads at a time. */
dit_work dit_case_work(dit_case_run *run);
/* Bytes read and written where operands are elements of a device; dit_case_work counts fp32. */
double dit_case_bytes(dit_case_run *run, dit_element element);
/* Relative L2 distances between a call on `table` and on `reference`; infinite when anything is not finite. Bytes
 * between the rows must stay as they were. Errors: those of the device. */
typedef struct {
    double out, lse;
} dit_case_distance;
dit_status dit_case_error(dit_case_run *run, const dit_kernels *table, const dit_kernels *reference,
                          dit_case_distance *error);

#endif
