/* Runs a case: fills operands from fixed seeds, calls any table of operators, and compares with the reference. */
#include "kernels/cases/cases_impl.h"

#include "base/rng.h"

#include <stdio.h>
#include <string.h>

enum { PADDING = 5, SEED = 20240214, SAMPLED_ROWS = 2 };

/* ---- the lists --------------------------------------------------------------------------------------------------- */

/* Indexed by operator. Operators that one call checks together point to one row. */
static const dit_operator_cases *const operators[DIT_OPERATOR_COUNT] = {
#define CASES_ROW(ID, name, args_type, cpu, cases, ...) &dit_cases_##cases,
    DIT_OPERATOR_LIST(CASES_ROW)
#undef CASES_ROW
};

static const dit_operator_cases *row_of(const dit_kernel_case *c)
{
    return operators[c->op];
}

/* True for the first operator that points to its row: a row's cases are listed once. */
static bool is_first_of_its_row(int op)
{
    for (int before = 0; before < op; before++)
        if (operators[before] == operators[op]) return false;
    return true;
}

const dit_kernel_case *dit_case_at(dit_case_list list, int index)
{
    for (int op = 0; op < DIT_OPERATOR_COUNT; op++) {
        if (!is_first_of_its_row(op)) continue;
        if (index < operators[op]->lists[list].count) return &operators[op]->lists[list].cases[index];
        index -= operators[op]->lists[list].count;
    }
    return NULL;
}

const char *dit_case_operator(const dit_kernel_case *c)
{
    return row_of(c)->name;
}

double dit_operator_tolerance(dit_operator op)
{
    return operators[op]->tolerance;
}

bool dit_operator_is_compute_bound(dit_operator op)
{
    return operators[op]->compute_bound;
}

bool dit_case_is_compute_bound(const dit_kernel_case *c)
{
    const dit_operator_cases *row = row_of(c);
    return row->compute_bound && !(row->is_thin && row->is_thin(c));
}

/* ---- a case in words --------------------------------------------------------------------------------------------- */

static const struct {
    unsigned flag;
    const char *word;
} words[] = {
    {CAUSAL, "causal"},
    {DOWN, "down"},
    {UP, "up"},
    {BAND, "band"},
    {RELATIVE, "relative"},
    {REPLICATE, "replicate"},
    {CAPPED, "capped"},
    {ENTRIES, "entries"},
    {BIAS, "bias"},
    {MASK, "mask"},
    {GELU, "gelu"},
    {ERF, "gelu_erf"},
    {SILU, "silu"},
    {RESIDUAL, "residual"},
    {GATE, "gate"},
    {MODULATE, "modulate"},
    {DIT_CASE_HIDDEN, "hidden"},
    {RMS, "rms"},
    {NORMED, "norm"},
    {ROPE, "rope"},
    {LSE, "lse"},
    {FUSED, "fused"},
    {STRIDED, "strided"},
    {TANH, "tanh"},
};

void dit_case_describe(const dit_kernel_case *c, char *out, int size)
{
    const dit_operator_cases *row = row_of(c);
    int used = 0;
    out[0] = '\0';
    for (int i = 0; i < DIT_CASE_SIZES && row->sizes[i].name && used < size; i++)
        if (c->size[i] > 0)
            used += snprintf(out + used, (size_t)(size - used), "%s%s=%lld", used ? " " : "", row->sizes[i].name,
                             (long long)c->size[i]);
    for (size_t i = 0; i < sizeof words / sizeof *words && used < size; i++)
        if (c->flags & words[i].flag) used += snprintf(out + used, (size_t)(size - used), " %s", words[i].word);
    if (dit_case_mask(c) && used < size)
        snprintf(out + used, (size_t)(size - used), " mask:%s", dit_mask_name(dit_case_mask(c)));
}

bool dit_case_size(const dit_kernel_case *c, int index, const char **key, int64_t *value)
{
    const dit_operator_cases *row = row_of(c);
    if (index >= DIT_CASE_SIZES || !row->sizes[index].name) return false;
    *key = row->sizes[index].key ? row->sizes[index].key : row->sizes[index].name;
    *value = c->size[index];
    return true;
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

/* The bound for a device that computes in fp32. Its sums run over the whole depth, which adds u sqrt(depth), and its
 * exponentials and roots are right to two or three units in the last place instead of one: four times the host's
 * bound. */
static double fp32_tolerance(const dit_kernel_case *c)
{
    const dit_operator_cases *row = row_of(c);
    int64_t depth = row->depth ? row->depth(c) : 1;
    return 4 * row->tolerance + 6e-8 * sqrt((double)(depth - 1));
}

/* bf16 and fp16 round the result to 8 and 11 bits: an error of at most 2^-8 and 2^-11, and 0.4 of that on average. An
 * intermediate value (the weights of attention, a product before its residual) is rounded too; both errors together
 * stay below the largest error of one rounding. */
double dit_case_tolerance(const dit_kernel_case *c, dit_dtype dtype)
{
    double fp32 = fp32_tolerance(c);
    if (row_of(c)->tolerance == 0) return 0;
    if (row_of(c)->fp32_out) return fp32;
    return fp32 + (dtype == DIT_DTYPE_BF16 ? 0x1p-8 : dtype == DIT_DTYPE_FP16 ? 0x1p-11 : 0);
}

/* lse is always fp32, so its error is that of sums of exponentials in fp32. */
double dit_case_lse_tolerance(const dit_kernel_case *c, dit_dtype dtype)
{
    double shorter = row_of(c)->lse_tolerance;
    return dtype == DIT_DTYPE_FP32 || shorter == 0 ? fp32_tolerance(c) : shorter;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

int64_t dit_case_stride(const dit_kernel_case *c, int64_t width)
{
    return c->flags & STRIDED ? width + PADDING : width;
}

dit_activation dit_case_activation(const dit_kernel_case *c)
{
    if (c->flags & GELU) return DIT_ACT_GELU_TANH;
    if (c->flags & ERF) return DIT_ACT_GELU_ERF;
    if (c->flags & TANH) return DIT_ACT_TANH;
    return c->flags & SILU ? DIT_ACT_SILU : DIT_ACT_NONE;
}

dit_case_storage dit_case_aside(const dit_kernel_case *c)
{
    return c->flags & STRIDED ? DIT_CASE_FP32 : DIT_CASE_STORED;
}

void dit_case_note(dit_case_run *run, void *data, int64_t count, dit_dtype dtype, bool on_device)
{
    run->arrays[run->array_count].data = data;
    run->arrays[run->array_count].count = count;
    run->arrays[run->array_count].dtype = dtype;
    run->arrays[run->array_count++].on_device = on_device;
}

static void round_values(float *x, int64_t count, dit_dtype dtype)
{
    for (int64_t i = 0; dtype == DIT_DTYPE_BF16 && i < count; i++) x[i] = dit_bf16_to_float(dit_bf16_from_float(x[i]));
    for (int64_t i = 0; dtype == DIT_DTYPE_FP16 && i < count; i++) x[i] = dit_fp16_to_float(dit_fp16_from_float(x[i]));
}

static dit_status take(dit_case_run *run, dit_case_storage storage, int64_t count, float **out)
{
    if (storage == DIT_CASE_PACKED) return dit_arena_host(run->room, count, out);
    return storage == DIT_CASE_FP32 ? dit_arena_fp32(run->room, count, out)
                                    : dit_arena_activations(run->room, count, out);
}

dit_status dit_case_fill_as(dit_case_run *run, dit_case_storage storage, int slot, int64_t count, float mean,
                            float deviation)
{
    dit_dtype dtype = storage == DIT_CASE_FP32 ? DIT_DTYPE_FP32 : run->room->ledger->dtype;
    DIT_TRY(take(run, storage, count, &run->in[slot]));
    dit_rng_normal(SEED, (uint64_t)slot, 0, count, mean, deviation, run->in[slot]);
    round_values(run->in[slot], count, dtype);
    dit_case_note(run, run->in[slot], count, dtype, storage != DIT_CASE_PACKED);
    return DIT_OK;
}

dit_status dit_case_fill(dit_case_run *run, int slot, int64_t count, float mean, float deviation)
{
    return dit_case_fill_as(run, DIT_CASE_STORED, slot, count, mean, deviation);
}

dit_status dit_case_outputs(dit_case_run *run, int64_t out_floats, int64_t lse_floats)
{
    dit_case_storage storage = row_of(run->c)->fp32_out ? DIT_CASE_FP32 : DIT_CASE_STORED;
    int64_t total = out_floats + lse_floats;
    run->out_floats = out_floats;
    run->lse_floats = lse_floats;
    run->out_dtype = storage == DIT_CASE_FP32 ? DIT_DTYPE_FP32 : run->room->ledger->dtype;
    DIT_TRY(take(run, storage, out_floats, &run->out));
    DIT_TRY(take(run, DIT_CASE_FP32, lse_floats, &run->lse));
    DIT_TRY(dit_arena_host(&run->host_arena, total, &run->initial));
    DIT_TRY(dit_arena_host(&run->host_arena, total, &run->expected));
    dit_rng_normal(SEED, 100, 0, total, 0, 1, run->initial);
    round_values(run->initial, out_floats, run->out_dtype);
    return DIT_OK;
}

float *dit_case_lse_of(const dit_case_run *run, float *out)
{
    return out == run->out ? run->lse : out + run->out_floats;
}

dit_status dit_case_pack(dit_case_run *run, int64_t k, int pieces, const float *const *w, const float *const *bias,
                         const int64_t *n)
{
    DIT_TRY(run->table->linear_pack(run->pool, run->room, k, pieces, w, bias, n, &run->packed));
    if (!run->reference) return DIT_OK;
    return run->reference->linear_pack(run->pool, &run->host_arena, k, pieces, w, bias, n, &run->packed_reference);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

/* Rounds the arrays that the host filled and uploads them to the device. Rounds again, because prepare may have changed
 * values after they were filled. */
static dit_status send_operands(dit_case_run *run)
{
    for (int i = 0; run->device && i < run->array_count; i++) {
        round_values(run->arrays[i].data, run->arrays[i].count, run->arrays[i].dtype);
        if (run->arrays[i].on_device)
            DIT_TRY(dit_device_upload(run->device, run->arrays[i].data, run->arrays[i].count));
    }
    return DIT_OK;
}

dit_memory_ledger dit_case_ledger(dit_device *device)
{
    return (dit_memory_ledger){.on_device = true,
                               .dtype = dit_device_dtype(device),
                               .device = dit_address_map_device(dit_device_address_map(device))};
}

static dit_status prepare(dit_case_run *run, const dit_kernels *table, const dit_kernels *reference)
{
    run->table = table;
    run->reference = reference;
    dit_arena_init(&run->host_arena, &run->host_ledger, DIT_MEMORY_ACTIVATIONS);
    dit_status st = row_of(run->c)->prepare(run);
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
    DIT_TRY(dit_device_upload(run->device, run->out, run->out_floats));
    return dit_device_upload(run->device, run->lse, run->lse_floats);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static int64_t case_rows(const dit_kernel_case *c)
{
    return row_of(c)->rows ? row_of(c)->rows(c) : 1;
}

static void call_rows(dit_case_run *run, const dit_kernels *table, int64_t first, int64_t count)
{
    row_of(run->c)->call(run, &(dit_case_target){table, &run->packed, run->out, first, count});
}

static void expect_rows(dit_case_run *run, const dit_kernels *reference, int64_t first, int64_t count)
{
    row_of(run->c)->call(run, &(dit_case_target){reference, &run->packed_reference, run->expected, first, count});
}

void dit_case_call(dit_case_run *run, const dit_kernels *table)
{
    call_rows(run, table, 0, case_rows(run->c));
}

/* Operators that add up their work instead of doing it. */
static dit_work counted;

#define COUNT_WORK(ID, name, args_type, ...)                                                                           \
    static void count_##name(dit_pool *pool, const args_type *args)                                                    \
    {                                                                                                                  \
        dit_work work = dit_##name##_work(args);                                                                       \
        (void)pool;                                                                                                    \
        counted.flops += work.flops;                                                                                   \
        counted.bytes += work.bytes;                                                                                   \
    }
DIT_OPERATOR_LIST(COUNT_WORK)

static const dit_kernels counting = {.name = "work",
#define COUNT_ENTRY(ID, name, ...) .name = count_##name,
                                     DIT_OPERATOR_LIST(COUNT_ENTRY)};

dit_work dit_case_work(dit_case_run *run)
{
    counted = (dit_work){0};
    dit_case_call(run, &counting);
    return counted;
}

double dit_case_bytes(dit_case_run *run, dit_dtype dtype)
{
    if (row_of(run->c)->bytes) return row_of(run->c)->bytes(run->c, dtype);
    return dit_case_work(run).bytes / (double)sizeof(float) * (double)dit_dtype_bytes(dtype);
}

/* ---- the distance ------------------------------------------------------------------------------------------------ */

static double distance(const float *a, const float *reference, int64_t count)
{
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < count; i++) {
        double d = (double)a[i] - reference[i];
        if (isinf(reference[i]) && a[i] == reference[i]) continue; /* lse of a row that has seen no key */
        difference += d * d;
        norm += (double)reference[i] * reference[i];
    }
    if (!isfinite(difference) || !isfinite(norm)) return INFINITY;
    if (norm == 0) return difference == 0 ? 0 : INFINITY;
    return sqrt(difference / norm);
}

/* Compares the first, some middle and the last rows of each batch of a large case. The reference computes only these. */
static double sampled_error(dit_case_run *run, const dit_kernels *reference)
{
    int64_t batches = row_of(run->c)->batches ? row_of(run->c)->batches(run->c) : 1;
    int64_t rows = case_rows(run->c), stride = run->out_floats / batches / rows;
    int64_t starts[3] = {0, rows / 2, rows - SAMPLED_ROWS};
    double worst = 0;
    for (int i = 0; i < 3; i++) {
        expect_rows(run, reference, starts[i], SAMPLED_ROWS);
        for (int64_t batch = 0; batch < batches; batch++) {
            int64_t begin = (batch * rows + starts[i]) * stride;
            worst = fmax(worst, distance(run->out + begin, run->expected + begin, SAMPLED_ROWS * stride));
        }
    }
    return worst;
}

static dit_status fetch_output(dit_case_run *run)
{
    if (!run->device) return DIT_OK;
    DIT_TRY(dit_device_synchronize(run->device));
    DIT_TRY(dit_device_download(run->device, run->out, run->out_floats));
    return dit_device_download(run->device, run->lse, run->lse_floats);
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
    expect_rows(run, reference, 0, case_rows(run->c));
    error->out = distance(run->out, run->expected, run->out_floats);
    error->lse = distance(run->lse, run->expected + run->out_floats, run->lse_floats);
    return DIT_OK;
}
