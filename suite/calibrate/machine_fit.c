#include "suite/calibrate/machine_fit.h"

#include "base/json.h"
#include "base/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TIMES = 256, FLOAT = 4 };
/* Of accelerators (kernels/cost/model.h): queries and keys of attention's tile, heads in multiples of 8. */
enum { DEVICE_QUERIES = 128, DEVICE_KEYS = 64, DEVICE_HEAD_STEP = 8 };

/* Four significant digits. */
static double rounded(double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.4g", value);
    return strtod(text, NULL);
}

/* ---- raw times --------------------------------------------------------------------------------------------------- */

/* One time; what an operator does not have is 0. */
typedef struct {
    const char *op;
    double rows, n, k, B, H, Sq, Sk, D, bytes, messages, flops_per_s, seconds;
    bool gelu, residual, gate, modulation, normed, rms, rotary;
} raw_time;

/* Of one run. */
typedef struct {
    raw_time time[MOST_TIMES];
    int count, ranks;
} raw_run;

/* What an operator cannot be without; others are passed over. */
static const struct {
    const char *op, *keys[6];
} needed[] = {{"peak", {"flops_per_s"}},
              {"linear", {"rows", "n", "k", "seconds"}},
              {"attention", {"B", "H", "Sq", "Sk", "D", "seconds"}},
              {"attention_merge", {"B", "H", "Sq", "D", "seconds"}},
              {"norm", {"rows", "n", "seconds"}},
              {"qk_norm_rope", {"rows", "H", "D", "seconds"}},
              {"copy", {"B", "H", "Sq", "D", "seconds"}},
              {"combine", {"n", "k", "seconds"}},
              {"dispatch", {"seconds"}},
              {"synchronise", {"seconds"}},
              {"exchange", {"bytes", "messages", "seconds"}},
              {"all_to_all", {"bytes", "messages", "seconds"}},
              {"all_gather", {"bytes", "messages", "seconds"}}};
enum { OPS = sizeof needed / sizeof *needed, KEYS = sizeof needed->keys / sizeof *needed->keys };

static dit_status check_needed(const dit_json *doc, const cJSON *object, const char *at, const char *op)
{
    for (int i = 0; i < OPS; i++) {
        if (strcmp(op, needed[i].op) != 0) continue;
        for (int k = 0; k < KEYS && needed[i].keys[k]; k++)
            if (!dit_json_member(object, needed[i].keys[k]))
                return dit_json_fail(doc, at, DIT_ERR_JSON_MISSING, "a time of \"%s\" needs \"%s\"", op,
                                     needed[i].keys[k]);
    }
    return DIT_OK;
}

static dit_status read_time(const dit_json *doc, const cJSON *object, const char *at, raw_time *out)
{
    const double most = 1e9, shortest_s = 1e-12, longest_s = 1e6, most_flops_per_s = 1e18;
    const struct {
        const char *key;
        double *value;
    } sizes[] = {
        {"rows", &out->rows}, {"n", &out->n},   {"k", &out->k}, {"B", &out->B},         {"H", &out->H},
        {"Sq", &out->Sq},     {"Sk", &out->Sk}, {"D", &out->D}, {"bytes", &out->bytes}, {"messages", &out->messages}};
    const struct {
        const char *key;
        bool *value;
    } marks[] = {{"gelu", &out->gelu},     {"residual", &out->residual},
                 {"gate", &out->gate},     {"modulation", &out->modulation},
                 {"normed", &out->normed}, {"rms", &out->rms},
                 {"rotary", &out->rotary}};
    if (!cJSON_IsObject(object)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "a time is an object");
    DIT_TRY(dit_json_require_string(doc, object, at, "op", &out->op));
    DIT_TRY(check_needed(doc, object, at, out->op));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        DIT_TRY(dit_json_optional_number(doc, object, at, sizes[i].key, 1, most, sizes[i].value));
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        DIT_TRY(dit_json_optional_bool(doc, object, at, marks[i].key, marks[i].value));
    DIT_TRY(dit_json_optional_number(doc, object, at, "flops_per_s", 1, most_flops_per_s, &out->flops_per_s));
    return dit_json_optional_number(doc, object, at, "seconds", shortest_s, longest_s, &out->seconds);
}

static dit_status read_run(const dit_json *doc, const cJSON *object, int index, raw_run *out)
{
    const cJSON *times = NULL, *item;
    int64_t ranks;
    char at[64], place[96];
    *out = (raw_run){0};
    snprintf(at, sizeof at, "/runs/%d", index);
    DIT_TRY(dit_json_require_int(doc, object, at, "ranks", 1, 65536, &ranks));
    DIT_TRY(dit_json_optional_array(doc, object, at, "times", &times));
    out->ranks = (int)ranks;
    cJSON_ArrayForEach(item, times)
    {
        snprintf(place, sizeof place, "%s/times/%d", at, out->count);
        if (out->count == MOST_TIMES)
            return dit_json_fail(doc, place, DIT_ERR_JSON_VALUE, "more than %d times", MOST_TIMES);
        DIT_TRY(read_time(doc, item, place, &out->time[out->count]));
        out->count++;
    }
    return DIT_OK;
}

static dit_status read_cores(const dit_json *doc, const cJSON *machine, suite_core_fit *out)
{
    const char *cpu, *isa;
    int64_t cores;
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "isa", &isa));
    DIT_TRY(dit_json_require_string(doc, machine, "/machine", "cpu", &cpu));
    DIT_TRY(dit_json_require_int(doc, machine, "/machine", "cores", 2, 128, &cores));
    DIT_TRY(dit_json_require_int(doc, machine, "/machine", "memory_bytes", 1, INT64_C(1) << 52, &out->memory_bytes));
    snprintf(out->cpu, sizeof out->cpu, "%s", cpu);
    snprintf(out->isa, sizeof out->isa, "%s", isa);
    out->cores = (int)cores;
    out->element_bytes = FLOAT;
    out->processors = 1;
    return DIT_OK;
}

static dit_status read_device(const dit_json *doc, const cJSON *machine, suite_core_fit *out)
{
    const char *name, *element;
    int64_t devices, processors;
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "element", &element));
    DIT_TRY(dit_json_require_string(doc, machine, "/machine", "device", &name));
    DIT_TRY(dit_json_require_int(doc, machine, "/machine", "devices", 1, 128, &devices));
    DIT_TRY(dit_json_require_int(doc, machine, "/machine", "multiprocessors", 1, 65536, &processors));
    DIT_TRY(dit_json_require_int(doc, machine, "/machine", "memory_bytes", 1, INT64_C(1) << 52, &out->memory_bytes));
    if (strcmp(element, "fp32") != 0 && strcmp(element, "bf16") != 0 && strcmp(element, "fp16") != 0)
        return dit_json_fail(doc, "/element", DIT_ERR_JSON_VALUE, "\"%.16s\" is not fp32, bf16 or fp16", element);
    snprintf(out->cpu, sizeof out->cpu, "%s", name);
    snprintf(out->element, sizeof out->element, "%s", element);
    out->device = true;
    out->cores = (int)devices;
    out->processors = (int)processors;
    out->element_bytes = strcmp(element, "fp32") == 0 ? FLOAT : 2;
    return DIT_OK;
}

static dit_status read_machine(const dit_json *doc, suite_core_fit *out)
{
    static const char *const keys[] = {"schema", "machine", "isa", "element", "runs", NULL};
    const cJSON *machine;
    const char *schema;
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "schema", &schema));
    if (strcmp(schema, "ditbench.calibration-raw/1") != 0)
        return dit_json_fail(doc, "/schema", DIT_ERR_JSON_VALUE, "schema \"%s\" is not \"ditbench.calibration-raw/1\"",
                             schema);
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "machine", &machine));
    bool device = dit_json_member(machine, "device") != NULL;
    return device ? read_device(doc, machine, out) : read_cores(doc, machine, out);
}

static bool is_op(const raw_time *time, const char *op)
{
    return strcmp(time->op, op) == 0;
}

static dit_status missing(const char *what)
{
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "the raw times have no %s", what),
                          "measure them again: ditbench calibrate --from measured");
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static double memory_seconds(const suite_core_fit *fit, double bytes)
{
    return bytes / (fit->bandwidth_bytes_per_s * dit_cost_curve_at(&fit->bandwidth_fraction, bytes));
}

/* Adds a knot of a rate; no higher than the rule of dit_cost_curve allows, that time never falls. */
static void add_knot(dit_cost_curve *curve, double x, double y)
{
    int last = curve->count - 1;
    if (curve->count == DIT_COST_KNOTS || (last >= 0 && x <= curve->x[last])) return;
    if (last >= 0) y = fmin(y, curve->y[last] * (1 + 0.99 * log(x / curve->x[last])));
    curve->x[curve->count] = x;
    curve->y[curve->count++] = rounded(y);
}

/* What sums of k operands read and write of an element. On accelerators they are steps of a scheduler: the latent,
 * which is read and written, is fp32, what a model said is not. */
static double combine_bytes(const suite_core_fit *fit, double k)
{
    return fit->device ? 2 * FLOAT + (k - 1) * fit->element_bytes : (k + 1) * FLOAT;
}

/* The least call of all is the start of any. Sums of two operands over more and more elements, three passes each, are
 * what memory gives by size. */
static dit_status fit_memory(const raw_run *run, suite_core_fit *fit)
{
    dit_cost_curve rates = {0};
    fit->launch_s = 1;
    for (int i = 0; i < run->count; i++)
        if (is_op(&run->time[i], "combine")) fit->launch_s = fmin(fit->launch_s, rounded(run->time[i].seconds));
    for (int i = 0; i < run->count; i++) {
        const raw_time *t = &run->time[i];
        double bytes = combine_bytes(fit, 2) * t->n;
        /* marks of a device tell no less than a fraction of its launch */
        if (fit->device && t->seconds < 2 * fit->launch_s) continue;
        if (is_op(t, "combine") && t->k == 2) add_knot(&rates, bytes, bytes / fmax(t->seconds - fit->launch_s, 1e-9));
    }
    if (rates.count < 2) return missing("sums of two operands");
    for (int i = 0; i < rates.count; i++) fit->bandwidth_bytes_per_s = fmax(fit->bandwidth_bytes_per_s, rates.y[i]);
    for (int i = 0; i < rates.count; i++)
        add_knot(&fit->bandwidth_fraction, rates.x[i], rates.y[i] / fit->bandwidth_bytes_per_s);
    return DIT_OK;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

static double tiles_of(const suite_core_fit *fit, double rows, double n)
{
    return ceil(rows / fit->tile_rows) * ceil(n / fit->tile_columns);
}

static double product_bytes(double rows, double n, double k)
{
    return FLOAT * (rows * k + n * k + rows * n);
}

/* Of an accelerator, with the tiles of GPU libraries. */
static dit_cost_device accelerator_of(const suite_core_fit *fit)
{
    return (dit_cost_device){.element_bytes = fit->element_bytes,
                             .peak_flops_per_s = fit->peak_flops_per_s,
                             .bandwidth_bytes_per_s = fit->bandwidth_bytes_per_s,
                             .processors = fit->processors,
                             .launch_s = fit->launch_s,
                             .gemm_ceiling = fit->gemm_ceiling,
                             .gemm_fill_k = fit->gemm_fill_k,
                             .bandwidth_fraction = fit->bandwidth_fraction};
}

double suite_core_fit_product(const suite_core_fit *fit, int64_t rows, int64_t n, int64_t k)
{
    const dit_cost_device accelerator = accelerator_of(fit);
    if (fit->device) return dit_cost_gemm_seconds(&accelerator, rows, n, k);
    const dit_cost_device core = {
        .element_bytes = FLOAT,
        .peak_flops_per_s = fit->peak_flops_per_s,
        .bandwidth_bytes_per_s = fit->bandwidth_bytes_per_s,
        .processors = 1,
        .launch_s = fit->launch_s,
        .gemm_ceiling = fit->gemm_ceiling,
        .gemm_fill_k = fit->gemm_fill_k,
        .tiles = 2,
        .tile = {{fit->tile_rows, fit->tile_columns, 1}, {1, fit->tile_columns, fit->row_efficiency}},
        .bandwidth_fraction = fit->bandwidth_fraction};
    return dit_cost_gemm_seconds(&core, rows, n, k);
}

/* Products that tiles decide about: several whole ones, and nothing but a bias behind them. */
static bool is_plain(const raw_time *t)
{
    return is_op(t, "linear") && t->rows >= 8 && !t->gelu && !t->residual && !t->gate;
}

/* Seconds less the launch = tiles * (a k + b), both unknown, with relative errors alike: least squares of two unknowns.
 */
static dit_status fit_products(const raw_run *run, suite_core_fit *fit)
{
    double kk = 0, k1 = 0, one = 0, yk = 0, y1 = 0;
    for (int i = 0; i < run->count; i++) {
        const raw_time *t = &run->time[i];
        if (!is_plain(t)) continue;
        double weight = tiles_of(fit, t->rows, t->n) / t->seconds, y = (t->seconds - fit->launch_s) / t->seconds;
        kk += weight * weight * t->k * t->k;
        k1 += weight * weight * t->k;
        one += weight * weight;
        yk += weight * t->k * y;
        y1 += weight * y;
        fit->products++;
    }
    double determinant = kk * one - k1 * k1;
    if (fit->products < 3 || !(determinant > 0)) return missing("products of several depths");
    double a = (yk * one - y1 * k1) / determinant, b = (y1 * kk - yk * k1) / determinant;
    if (b < 0) a = yk / kk, b = 0;
    if (!(a > 0)) return missing("products that take longer the deeper they are");
    fit->gemm_ceiling = fmin(1, rounded(2.0 * fit->tile_rows * fit->tile_columns / (a * fit->peak_flops_per_s)));
    fit->gemm_fill_k = rounded(b / a);
    return DIT_OK;
}

/* One row of weights that a cache holds. */
static dit_status fit_row(const raw_run *run, suite_core_fit *fit)
{
    for (int i = 0; i < run->count; i++) {
        const raw_time *t = &run->time[i];
        if (!is_op(t, "linear") || t->rows != 1 || product_bytes(1, t->n, t->k) > 1.5e6) continue;
        double flops = 2 * ceil(t->n / fit->tile_columns) * fit->tile_columns * (t->k + fit->gemm_fill_k);
        double rate = flops / fmax(t->seconds - fit->launch_s, 1e-9);
        fit->row_efficiency = fmin(1, rounded(rate / (fit->peak_flops_per_s * fit->gemm_ceiling)));
        return DIT_OK;
    }
    return missing("product of one row that a cache holds");
}

static double product_seconds(const suite_core_fit *fit, const raw_time *t)
{
    return suite_core_fit_product(fit, (int64_t)t->rows, (int64_t)t->n, (int64_t)t->k);
}

static double median_product_error(const raw_run *run, const suite_core_fit *fit)
{
    double errors[MOST_TIMES];
    int count = 0;
    for (int i = 0; i < run->count; i++) {
        const raw_time *t = &run->time[i];
        if (is_plain(t)) errors[count++] = fabs(product_seconds(fit, t) / t->seconds - 1);
    }
    return dit_stats_median(errors, count);
}

/* ---- products of an accelerator ---------------------------------------------------------------------------------- */

/* The rate that all processors would have with nothing but whole tiles: the best that any product shows of it. */
static dit_status find_peak(const raw_run *run, suite_core_fit *fit)
{
    dit_cost_device ideal = accelerator_of(fit);
    ideal.peak_flops_per_s = 1e12;
    ideal.gemm_ceiling = 1;
    ideal.gemm_fill_k = 0;
    ideal.bandwidth_bytes_per_s = 1e30;
    for (int i = 0; i < run->count; i++) {
        const raw_time *t = &run->time[i];
        if (!is_plain(t)) continue;
        double work = dit_cost_gemm_seconds(&ideal, (int64_t)t->rows, (int64_t)t->n, (int64_t)t->k) - fit->launch_s;
        double rate = 1e12 * work / fmax(t->seconds - fit->launch_s, 1e-9);
        fit->peak_flops_per_s = fmax(fit->peak_flops_per_s, rounded(rate));
        fit->products++;
    }
    return fit->products < 3 ? missing("products of several depths") : DIT_OK;
}

static double product_distance(const raw_run *run, const suite_core_fit *fit)
{
    double sum = 0;
    for (int i = 0; i < run->count; i++) {
        double away = is_plain(&run->time[i]) ? log(product_seconds(fit, &run->time[i]) / run->time[i].seconds) : 0;
        sum += away * away;
    }
    return sum;
}

/* Ceiling and start of a tile: the best of a grid, which is finer than what times tell apart. */
static dit_status fit_device_products(const raw_run *run, suite_core_fit *fit)
{
    enum { FILLS = 65, FILL_STEP = 8, CEILINGS = 141 };
    suite_core_fit tried;
    double least = INFINITY;
    DIT_TRY(find_peak(run, fit));
    tried = *fit;
    for (int fill = 0; fill < FILLS; fill++) {
        for (int ceiling = 0; ceiling < CEILINGS; ceiling++) {
            tried.gemm_fill_k = fill * FILL_STEP;
            tried.gemm_ceiling = rounded(0.3 + 0.005 * ceiling);
            double distance = product_distance(run, &tried);
            if (distance >= least) continue;
            least = distance;
            fit->gemm_fill_k = tried.gemm_fill_k;
            fit->gemm_ceiling = tried.gemm_ceiling;
        }
    }
    return DIT_OK;
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

static double whole(double size, double step)
{
    return ceil(size / step) * step;
}

/* Queries are computed as whole tiles of columns, keys as they are; on accelerators as the cost model cuts them. */
static double attention_rate(const suite_core_fit *fit, const raw_time *t)
{
    if (fit->device)
        return 4 * t->B * t->H * whole(t->Sq, DEVICE_QUERIES) * whole(t->Sk, DEVICE_KEYS) *
               whole(t->D, DEVICE_HEAD_STEP) / fmax(t->seconds - fit->launch_s, 1e-9);
    double queries = ceil(t->Sq / fit->tile_columns) * fit->tile_columns;
    return 4 * t->B * t->H * queries * t->Sk * t->D / fmax(t->seconds - fit->launch_s, 1e-9);
}

/* Head sizes come one after the other, in ascending order, keys ascending within. */
static dit_status fit_attention(const raw_run *run, suite_core_fit *fit)
{
    for (int i = 0; i < run->count; i++) {
        const raw_time *t = &run->time[i];
        if (!is_op(t, "attention")) continue;
        bool larger = fit->heads == 0 || (double)fit->head_dim[fit->heads - 1] < t->D;
        if (larger && fit->heads == SUITE_FIT_HEADS) return missing("at most as many head sizes as there is room for");
        if (larger) fit->head_dim[fit->heads++] = (int64_t)t->D;
        if ((double)fit->head_dim[fit->heads - 1] != t->D) return missing("head sizes in ascending order");
        double rate = attention_rate(fit, t);
        if (fit->heads > 1) {
            double ratio = t->D / (double)fit->head_dim[fit->heads - 2];
            rate = fmin(rate, 0.999 * ratio * dit_cost_curve_at(&fit->attention[fit->heads - 2], t->Sk));
        }
        add_knot(&fit->attention[fit->heads - 1], t->Sk, rate);
    }
    return fit->heads ? DIT_OK : missing("attention");
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

/* So many passes over `elements` that memory takes `seconds` for them. */
static double passes_for(const suite_core_fit *fit, double seconds, double elements)
{
    double least = 0, most = 1e4;
    if (!(seconds > 0)) return 0;
    for (int i = 0; i < 100; i++) {
        double middle = 0.5 * (least + most);
        if (memory_seconds(fit, middle * elements * fit->element_bytes) < seconds)
            least = middle;
        else
            most = middle;
    }
    return most;
}

static bool same_size(const raw_time *a, const raw_time *b)
{
    return is_op(a, b->op) && a->rows == b->rows && a->n == b->n && a->k == b->k && a->H == b->H && a->Sq == b->Sq &&
           a->D == b->D;
}

/* The last time with exactly those marks, of the size of `like` when there is one. NULL: none. */
static const raw_time *find_time(const raw_run *run, const raw_time *wanted, const raw_time *like)
{
    const raw_time *found = NULL;
    for (int i = 0; i < run->count; i++) {
        const raw_time *t = &run->time[i];
        bool marks = t->gelu == wanted->gelu && t->residual == wanted->residual && t->gate == wanted->gate &&
                     t->modulation == wanted->modulation && t->normed == wanted->normed && t->rms == wanted->rms &&
                     t->rotary == wanted->rotary;
        if (!is_op(t, wanted->op) || !marks || (like && !same_size(t, like))) continue;
        if (wanted->k > 0 && t->k != wanted->k) continue;
        found = t;
    }
    return found;
}

static double elements_of(const raw_time *t)
{
    if (is_op(t, "linear") || is_op(t, "norm")) return t->rows * t->n;
    if (is_op(t, "qk_norm_rope")) return t->rows * t->H * t->D;
    return is_op(t, "combine") ? t->n : t->B * t->H * t->Sq * t->D;
}

/* What one call takes longer than another of its size that lacks the part (`without` NULL: than a launch). */
static dit_status fit_part(const raw_run *run, dit_cost_part part, const raw_time *with, const raw_time *without,
                           suite_core_fit *fit)
{
    const raw_time *found = find_time(run, with, NULL), *base = NULL;
    char what[64];
    snprintf(what, sizeof what, "operator with and without the part %s", dit_cost_part_name(part));
    if (!found) return missing(what);
    if (without && !(base = find_time(run, without, found))) return missing(what);
    double seconds = fmax(found->seconds - (base ? base->seconds : fit->launch_s), 0);
    fit->passes[part] = rounded(passes_for(fit, seconds, elements_of(found)));
    return DIT_OK;
}

static dit_status fit_parts(const raw_run *run, suite_core_fit *fit)
{
    static const raw_time linear = {.op = "linear", .k = 64}, gelu = {.op = "linear", .k = 64, .gelu = true};
    static const raw_time residual = {.op = "linear", .k = 64, .residual = true};
    static const raw_time gate = {.op = "linear", .k = 64, .residual = true, .gate = true};
    static const raw_time norm = {.op = "norm"}, modulated = {.op = "norm", .modulation = true};
    static const raw_time heads = {.op = "qk_norm_rope", .normed = true};
    static const raw_time heads_rms = {.op = "qk_norm_rope", .normed = true, .rms = true};
    static const raw_time rotary = {.op = "qk_norm_rope", .rotary = true};
    static const raw_time merge = {.op = "attention_merge"}, copy = {.op = "copy"};
    static const raw_time one = {.op = "combine", .k = 1}, three = {.op = "combine", .k = 3};
    DIT_TRY(fit_part(run, DIT_COST_PART_ACTIVATION, &gelu, &linear, fit));
    DIT_TRY(fit_part(run, DIT_COST_PART_RESIDUAL, &residual, &linear, fit));
    DIT_TRY(fit_part(run, DIT_COST_PART_GATE, &gate, &residual, fit));
    DIT_TRY(fit_part(run, DIT_COST_PART_NORM, &norm, NULL, fit));
    DIT_TRY(fit_part(run, DIT_COST_PART_MODULATION, &modulated, &norm, fit));
    DIT_TRY(fit_part(run, DIT_COST_PART_QK_LAYER_NORM, &heads, NULL, fit));
    DIT_TRY(fit_part(run, DIT_COST_PART_QK_RMS_NORM, &heads_rms, NULL, fit));
    DIT_TRY(fit_part(run, DIT_COST_PART_ROTARY, &rotary, NULL, fit));
    DIT_TRY(fit_part(run, DIT_COST_PART_MERGE, &merge, NULL, fit));
    DIT_TRY(fit_part(run, DIT_COST_PART_COPY, &copy, NULL, fit));
    DIT_TRY(fit_part(run, DIT_COST_PART_COMBINE, &one, NULL, fit));
    DIT_TRY(fit_part(run, DIT_COST_PART_COMBINE_OPERAND, &three, NULL, fit));
    double more = fit->passes[DIT_COST_PART_COMBINE_OPERAND] - fit->passes[DIT_COST_PART_COMBINE];
    fit->passes[DIT_COST_PART_COMBINE_OPERAND] = rounded(fmax(more, 0) / 2);
    return DIT_OK;
}

/* ---- working together -------------------------------------------------------------------------------------------- */

static bool is_compute(const raw_time *t)
{
    return (is_op(t, "linear") && t->rows >= 8) || is_op(t, "attention");
}

static bool is_memory(const raw_time *t)
{
    return is_op(t, "combine") || is_op(t, "copy");
}

/* The median of rates beside the others, of those alone. The lists of both runs are alike as far as operators go. */
static double share_of(const raw_run *alone, const raw_run *all, bool (*counts)(const raw_time *t))
{
    double shares[MOST_TIMES];
    int count = 0;
    for (int i = 0; i < alone->count && i < all->count; i++)
        if (counts(&alone->time[i]) && is_op(&all->time[i], alone->time[i].op))
            shares[count++] = alone->time[i].seconds / all->time[i].seconds;
    return count ? fmin(1, rounded(dit_stats_median(shares, count))) : 1;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

enum { SMALL_MESSAGE = 4096, LARGE_MESSAGE = 65536 };

/* What a rank's core moves: of a collective also the block that stays. */
static double moved_bytes(const raw_time *t)
{
    return is_op(t, "exchange") ? t->bytes : t->bytes * (t->messages + 1);
}

static double message_seconds(const suite_core_fit *fit, const raw_time *t)
{
    return t->messages * fit->message_latency_s + moved_bytes(t) / fit->message_bytes_per_s;
}

/* Medians: small messages tell the latency, large ones the rate. */
static dit_status fit_messages(const raw_run *run, suite_core_fit *fit)
{
    double latencies[MOST_TIMES], rates[MOST_TIMES], errors[MOST_TIMES];
    int small = 0, large = 0, count = 0;
    for (int i = 0; i < run->count; i++)
        if (run->time[i].messages > 0 && run->time[i].bytes <= SMALL_MESSAGE)
            latencies[small++] = run->time[i].seconds / run->time[i].messages;
    fit->message_latency_s = rounded(dit_stats_median(latencies, small));
    for (int i = 0; i < run->count; i++) {
        const raw_time *t = &run->time[i];
        double copying = t->seconds - t->messages * fit->message_latency_s;
        if (t->messages > 0 && t->bytes >= LARGE_MESSAGE && copying > 0) rates[large++] = moved_bytes(t) / copying;
    }
    if (small == 0 || large == 0) return missing("messages");
    fit->message_bytes_per_s = rounded(dit_stats_median(rates, large));
    for (int i = 0; i < run->count; i++)
        if (run->time[i].messages > 0)
            errors[count++] = fabs(message_seconds(fit, &run->time[i]) / run->time[i].seconds - 1);
    fit->messages = count;
    fit->message_error = dit_stats_median(errors, count);
    return DIT_OK;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static dit_status fit_core(const raw_run *alone, suite_core_fit *fit)
{
    bool wide = strcmp(fit->isa, "avx512") == 0;
    fit->tile_rows = wide ? 8 : 6; /* kernels/cpu/tile.h */
    fit->tile_columns = wide ? 48 : 16;
    for (int i = 0; i < alone->count; i++)
        if (is_op(&alone->time[i], "peak")) fit->peak_flops_per_s = rounded(alone->time[i].flops_per_s);
    if (!(fit->peak_flops_per_s > 0)) return missing("peak");
    DIT_TRY(fit_memory(alone, fit));
    DIT_TRY(fit_products(alone, fit));
    DIT_TRY(fit_row(alone, fit));
    DIT_TRY(fit_attention(alone, fit));
    DIT_TRY(fit_parts(alone, fit));
    fit->product_error = median_product_error(alone, fit);
    return DIT_OK;
}

static dit_status fit_accelerator(const raw_run *alone, suite_core_fit *fit)
{
    for (int i = 0; i < alone->count; i++) {
        if (is_op(&alone->time[i], "dispatch")) fit->dispatch_s = rounded(alone->time[i].seconds);
        if (is_op(&alone->time[i], "synchronise")) fit->synchronise_s = rounded(alone->time[i].seconds);
    }
    DIT_TRY(fit_memory(alone, fit));
    DIT_TRY(fit_device_products(alone, fit));
    DIT_TRY(fit_attention(alone, fit));
    DIT_TRY(fit_parts(alone, fit));
    fit->product_error = median_product_error(alone, fit);
    return DIT_OK;
}

static dit_status fit_runs(const raw_run *alone, const raw_run *all, suite_core_fit *fit)
{
    if (fit->device) {
        DIT_TRY(fit_accelerator(alone, fit));
        return fit->cores > 1 ? fit_messages(all, fit) : DIT_OK;
    }
    DIT_TRY(fit_core(alone, fit));
    fit->together_compute = share_of(alone, all, is_compute);
    fit->together_bandwidth = share_of(alone, all, is_memory);
    return fit_messages(all, fit);
}

dit_status suite_core_fit_raw(const dit_json *raw, suite_core_fit *out)
{
    const cJSON *runs = NULL;
    *out = (suite_core_fit){0};
    DIT_TRY(read_machine(raw, out));
    DIT_TRY(dit_json_optional_array(raw, raw->root, "", "runs", &runs));
    int count = cJSON_GetArraySize(runs);
    if (count < 2 && (!out->device || out->cores > 1 || count < 1))
        return dit_json_fail(raw, "/runs", DIT_ERR_JSON_VALUE,
                             "the fit needs a run with one rank and a run with all cores");
    raw_run *both = calloc(2, sizeof *both);
    if (!both) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for raw times");
    dit_status st = read_run(raw, cJSON_GetArrayItem(runs, 0), 0, &both[0]);
    if (st == DIT_OK) st = read_run(raw, cJSON_GetArrayItem(runs, count - 1), count - 1, &both[1]);
    if (st == DIT_OK && (both[0].ranks != 1 || both[1].ranks != out->cores))
        st = dit_json_fail(raw, "/runs", DIT_ERR_JSON_VALUE,
                           "the first run must have 1 rank and the last one as many as there are cores; they have %d "
                           "and %d, on %d cores",
                           both[0].ranks, both[1].ranks, out->cores);
    if (st == DIT_OK) st = fit_runs(&both[0], &both[1], out);
    free(both);
    return st;
}
