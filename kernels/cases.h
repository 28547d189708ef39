/* Cases: the shapes on which operators are checked and timed, and the means to run one case on any table of operators.
 *
 * One file per operator in kernels/cases/ holds its cases as data, its tolerance with the reason, its operands and its
 * call. `ditbench kernels` (kernels/bench.c) and `ditbench calibrate` (engine/programs/calibrate.c) read them.
 */
#ifndef DIT_KERNELS_CASES_H
#define DIT_KERNELS_CASES_H

#include "kernels/device.h"

/* Each operator has up to four lists of cases. */
typedef enum {
    DIT_CASES_CHECKED, /* `ditbench kernels` compares them with the reference, and times those that are TIMED */
    DIT_CASES_CORE,    /* calibrate times them on one core, to fit the parameters of a cost model */
    DIT_CASES_DEVICE,  /* calibrate times them on an accelerator; some keep all of it busy, some do not */
    DIT_CASES_FEW,     /* as few as a fit can be made from; they test the fit on emulated devices */
    DIT_CASES_COUNT
} dit_case_list;

enum {
    DIT_CASE_BIAS = 1 << 0,       /* adds a bias; norms also multiply by a weight */
    DIT_CASE_MASK = 1 << 1,       /* attention: some keys are masked by -10000 */
    DIT_CASE_HIDDEN = 1 << 2,     /* attention, with MASK: all keys but the last 9 are at -INFINITY */
    DIT_CASE_GELU = 1 << 3,       /* activation: the tanh form of GELU */
    DIT_CASE_ERF = 1 << 4,        /* activation: the exact GELU */
    DIT_CASE_SILU = 1 << 5,       /* activation: SiLU */
    DIT_CASE_RESIDUAL = 1 << 6,   /* adds the result to y, in place */
    DIT_CASE_GATE = 1 << 7,       /* what is added is multiplied by a gate */
    DIT_CASE_STRIDED = 1 << 8,    /* rows lie apart, of what is written, too; attention: FUSED as well */
    DIT_CASE_LSE = 1 << 9,        /* attention: returns the log-sum-exp, too */
    DIT_CASE_MODULATE = 1 << 10,  /* norm: scale and shift; group_norm: fields of them; timestep: t in thousandths */
    DIT_CASE_NORM = 1 << 11,      /* qk_norm_rope: heads are normalised */
    DIT_CASE_ROPE = 1 << 12,      /* qk_norm_rope: heads are rotated */
    DIT_CASE_RMS = 1 << 13,       /* RMS norm instead of LayerNorm */
    DIT_CASE_CAUSAL = 1 << 14,    /* conv: three frames deep, two of them before x; attention: queries have positions */
    DIT_CASE_DOWN = 1 << 15,      /* conv: stride 2, padding only after the last pixel */
    DIT_CASE_UP = 1 << 16,        /* conv: each pixel of x is read twice in each direction */
    DIT_CASE_BAND = 1 << 17,      /* conv: x has rows above and below; group_norm: another call takes the moments */
    DIT_CASE_TIMED = 1 << 18,     /* timed after it has passed */
    DIT_CASE_LARGE = 1 << 19,     /* runs only where cases are timed; only some rows are compared with the reference */
    DIT_CASE_ON_DEVICE = 1 << 20, /* too large for a host: runs only on devices */
    DIT_CASE_RELATIVE = 1 << 21,  /* attention: a bias for each distance of query and key */
    DIT_CASE_FUSED = 1 << 23,     /* attention: q, k, v lie inside one projection, as in models */
    DIT_CASE_REPLICATE = 1 << 22, /* conv: outside of the image lies its nearest pixel */
    DIT_CASE_TANH = 1 << 24,      /* activation: tanh */
    DIT_CASE_SEEN = 25,           /* attention, not on devices: the lowest of 4 bits with a dit_mask_kind */
    DIT_CASE_CAPPED = 1 << 29,    /* attention: logits are capped, where many of them are near the cap */
    DIT_CASE_ENTRIES = 1 << 30, /* the rows are those of each of DIT_CASE_ENTRY_COUNT batch entries, which lie apart */
};

enum { DIT_CASE_SIZES = 6, DIT_CASE_ENTRY_COUNT = 5 };
typedef struct {
    dit_operator op;
    int64_t size[DIT_CASE_SIZES]; /* kernels/cases/OPERATOR.c names them in this order; 0: the case has none */
    unsigned flags;
} dit_kernel_case;

/* Returns the case at that index of a list, or NULL after the last one. Operators come in the order of the list of
 * operators.h. */
const dit_kernel_case *dit_case_at(dit_case_list list, int index);

/* Returns what queries of an attention case see. */
static inline dit_mask_kind dit_case_mask(const dit_kernel_case *c)
{
    return (dit_mask_kind)(c->flags >> DIT_CASE_SEEN & 15u);
}
/* Returns the operator's name in reports. Operators that one call checks together share a name: row_squares and
 * row_scale are "row_norm". */
const char *dit_case_operator(const dit_kernel_case *c);
/* Returns the largest relative L2 distance to the reference that is allowed; the reasons stand beside the numbers. */
double dit_operator_tolerance(dit_operator op);
/* Return the largest distances allowed on a device that computes in `dtype`: for a case's output, and for its lse. */
double dit_case_tolerance(const dit_kernel_case *c, dit_dtype dtype);
double dit_case_lse_tolerance(const dit_kernel_case *c, dit_dtype dtype);
/* True if multiply-adds, not bytes, limit the operator. */
bool dit_operator_is_compute_bound(dit_operator op);
/* True if multiply-adds limit this case, too: one row times a matrix waits for the matrix instead. */
bool dit_case_is_compute_bound(const dit_kernel_case *c);
/* Writes the sizes and flags as text: "rows=1024 n=1152 k=4608 bias gelu". */
void dit_case_describe(const dit_kernel_case *c, char *out, int size);
/* Gives the size at that index with its key in records. Returns false after the operator's last size. */
bool dit_case_size(const dit_kernel_case *c, int index, const char **key, int64_t *value);

/* One case with its operands. Where the pool has a device, operands lie at addresses of its ledger, and host memory at
 * those addresses holds the values that the reference computes on, rounded to the device's type. release takes a
 * zeroed one. */
enum { DIT_CASE_ARRAYS = 16 };
typedef struct {
    const dit_kernel_case *c;
    dit_pool *pool;
    dit_device *device;                   /* NULL: the host */
    const dit_kernels *table, *reference; /* the tables that packed the weights; reference NULL: nothing is compared */
    dit_memory_ledger ledger, host_ledger;
    dit_arena arena, host_arena; /* memory of the table's operators; memory of the reference */
    dit_arena *room;             /* `arena`, or that of another run */
    float *in[8];                /* operands, by operator                                    */
    void *own[2];                /* arrays of another type, by operator; NULL: none           */
    float *initial;              /* contents of the output before a call: strides and in-place inputs */
    float *out, *lse, *expected; /* expected: [out_floats + lse_floats] as initial                    */
    int64_t out_floats, lse_floats;
    dit_dtype out_dtype;
    dit_linear packed, packed_reference;
    struct {
        void *data;
        int64_t count;
        dit_dtype dtype;
        bool on_device;
    } arrays[DIT_CASE_ARRAYS]; /* filled by the host */
    int array_count;
} dit_case_run;

/* Allocates the operands, fills them from fixed seeds, packs weights with both tables, and uploads everything to the
 * pool's device, if it has one. Errors: DIT_ERR_MEMORY, those of the device. */
dit_status dit_case_prepare(const dit_kernel_case *c, dit_pool *pool, const dit_kernels *table,
                            const dit_kernels *reference, dit_case_run *run);
/* Makes a second copy of a run's operands, for calls that are not compared. `first` outlives the new run. */
dit_status dit_case_prepare_beside(dit_case_run *first, const dit_kernels *table, dit_case_run *run);
void dit_case_release(dit_case_run *run);
/* Returns a ledger without limits that places arrays on the device. */
dit_memory_ledger dit_case_ledger(dit_device *device);
/* Restores the output to what it is before a call. Errors: those of the device. */
dit_status dit_case_reset(dit_case_run *run);
/* Calls the operator once, into run->out. Allocates nothing. */
void dit_case_call(dit_case_run *run, const dit_kernels *table);
/* Adds up the work of the operators that dit_case_call calls. Only one thread may ask at a time. */
dit_work dit_case_work(dit_case_run *run);
/* Returns the bytes that a call reads and writes with operands of that type; dit_case_work counts fp32. */
double dit_case_bytes(dit_case_run *run, dit_dtype dtype);
/* Gives the relative L2 distances between a call on `table` and one on `reference`; infinite when a value is not
 * finite. Values between the rows of the output are compared, too: a call must leave them. Errors: those of the device.
 */
typedef struct {
    double out, lse;
} dit_case_distance;
dit_status dit_case_error(dit_case_run *run, const dit_kernels *table, const dit_kernels *reference,
                          dit_case_distance *error);

#endif
