/* What the files of kernels/cases share: the row in which an operator describes its cases, and helpers.
 *
 * A file names its sizes (struct `sizes`, in the order in which a case lists them), fills the operands (`prepare`), and
 * calls with arguments made from them (`call`). The last thing in it is its row, which DIT_OPERATOR_LIST names.
 */
#ifndef DIT_KERNELS_CASES_CASES_IMPL_H
#define DIT_KERNELS_CASES_CASES_IMPL_H

#include "kernels/cases.h"

#include <math.h>

enum {
    BIAS = DIT_CASE_BIAS,
    MASK = DIT_CASE_MASK,
    HIDDEN = DIT_CASE_MASK | DIT_CASE_HIDDEN,
    GELU = DIT_CASE_GELU,
    ERF = DIT_CASE_ERF,
    SILU = DIT_CASE_SILU,
    TANH = DIT_CASE_TANH,
    RESIDUAL = DIT_CASE_RESIDUAL,
    GATE = DIT_CASE_GATE,
    GATED = DIT_CASE_RESIDUAL | DIT_CASE_GATE,
    FUSED = DIT_CASE_FUSED,
    STRIDED = DIT_CASE_STRIDED,
    LSE = DIT_CASE_LSE,
    MODULATE = DIT_CASE_MODULATE,
    NORMED = DIT_CASE_NORM,
    ROPE = DIT_CASE_ROPE,
    RMS = DIT_CASE_RMS,
    CAUSAL = DIT_CASE_CAUSAL,
    DOWN = DIT_CASE_DOWN,
    UP = DIT_CASE_UP,
    BAND = DIT_CASE_BAND,
    RELATIVE = DIT_CASE_RELATIVE,
    CAPPED = DIT_CASE_CAPPED,
    REPLICATE = DIT_CASE_REPLICATE,
    ENTRIES = DIT_CASE_ENTRIES,
    TIMED = DIT_CASE_TIMED,
    LARGE = DIT_CASE_TIMED | DIT_CASE_LARGE,
    ON_DEVICE = DIT_CASE_TIMED | DIT_CASE_ON_DEVICE,
};

/* Returns the number of batch entries. */
static inline int64_t dit_case_entries(const dit_kernel_case *c)
{
    return c->flags & ENTRIES ? DIT_CASE_ENTRY_COUNT : 1;
}

/* Returns the floats from an entry of `rows` rows to the next: a row of nobody's lies between them. */
static inline int64_t dit_case_entry_stride(const dit_kernel_case *c, int64_t rows, int64_t ld)
{
    return c->flags & ENTRIES ? (rows + 1) * ld : rows * ld;
}

/* What one call runs on: the tested table or the reference, the weights that this table packed, and its own output. An
 * operator that can compute rows by themselves computes rows [first, first + count). */
typedef struct {
    const dit_kernels *table;
    const dit_linear *weights;
    float *out;
    int64_t first, count;
} dit_case_target;

typedef struct {
    const char *name; /* in reports */
    struct {
        const char *name, *key; /* in texts; in records, NULL where it is the name */
    } sizes[DIT_CASE_SIZES];
    double tolerance;     /* on the host, where operands are fp32 with unit roundoff u = 6e-8 and the reference sums in
                           double; 0: the operator only moves bits, and must give equal bits everywhere */
    bool compute_bound;   /* multiply-adds, not bytes, limit it */
    bool fp32_out;        /* the output is fp32 on a device, too */
    double lse_tolerance; /* of its lse where a device computes in bf16 or fp16; 0: the bound of fp32 */
    int64_t (*depth)(const dit_kernel_case *c);   /* terms of one sum of the result; NULL: 1 */
    int64_t (*rows)(const dit_kernel_case *c);    /* how many rows can be computed by themselves; NULL: it runs whole */
    int64_t (*batches)(const dit_kernel_case *c); /* how many times the output has these rows; NULL: once */
    bool (*is_thin)(const dit_kernel_case *c);    /* bytes limit this case although compute_bound; NULL: no such case */
    double (*bytes)(const dit_kernel_case *c, dit_dtype dtype); /* NULL: the bytes of its work, in that type */
    dit_status (*prepare)(dit_case_run *run);
    void (*call)(dit_case_run *run, const dit_case_target *to);
    struct {
        const dit_kernel_case *cases;
        int count;
    } lists[DIT_CASES_COUNT];
} dit_operator_cases;
#define DIT_CASES(array)                                                                                               \
    {                                                                                                                  \
        array, sizeof array / sizeof *array                                                                            \
    }

#define DIT_CASES_DECLARATION(ID, name, args_type, cpu, cases, ...) extern const dit_operator_cases dit_cases_##cases;
DIT_OPERATOR_LIST(DIT_CASES_DECLARATION)
#undef DIT_CASES_DECLARATION

/* How an array is kept. */
typedef enum {
    DIT_CASE_STORED, /* in the device's type                 */
    DIT_CASE_FP32,   /* in fp32, on a device too             */
    DIT_CASE_PACKED, /* on the host, to be packed; rounded as packing will round it */
} dit_case_storage;
/* How modulation, gates and masks are kept. Engines use either type: strided cases have fp32, the others do not. */
dit_case_storage dit_case_aside(const dit_kernel_case *c);

/* Fills run->in[slot] with `count` normal values; each slot has its own seed. Errors: DIT_ERR_MEMORY. */
dit_status dit_case_fill(dit_case_run *run, int slot, int64_t count, float mean, float deviation);
dit_status dit_case_fill_as(dit_case_run *run, dit_case_storage storage, int slot, int64_t count, float mean,
                            float deviation);
/* Remembers an array that the host fills: dit_case_prepare uploads it to the device. */
void dit_case_note(dit_case_run *run, void *data, int64_t count, dit_dtype dtype, bool on_device);
/* Allocates run->out and lse, what they hold before a call, and what is expected after it. Errors: DIT_ERR_MEMORY. */
dit_status dit_case_outputs(dit_case_run *run, int64_t out_floats, int64_t lse_floats);
/* Packs weights into run->packed and packed_reference. Errors: those of linear_pack. */
dit_status dit_case_pack(dit_case_run *run, int64_t k, int pieces, const float *const *w, const float *const *bias,
                         const int64_t *rows);
/* Finds the lse that belongs to an output: the table's or the reference's. */
float *dit_case_lse_of(const dit_case_run *run, float *out);
/* Returns how far rows of that width lie apart: farther where the case is STRIDED. */
int64_t dit_case_stride(const dit_kernel_case *c, int64_t width);
dit_activation dit_case_activation(const dit_kernel_case *c);

#endif
