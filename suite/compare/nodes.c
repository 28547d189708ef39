#include "suite/compare/nodes.h"

#include "base/log.h"
#include "reports/records/journal.h"
#include "suite/compare/distribution.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 512, NODE_NAME = 256, LEAST_FREEDOM = 3, LINE = NODE_NAME + 160 };
static const double nodes_level = 0.99, least_slowdown = 0.02, smallest_pivot = 1e-9;

static dit_status no_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the effects of nodes");
}

void suite_nodes_release(suite_nodes *nodes)
{
    for (int i = 0; i < nodes->count; i++) free(nodes->rows[i].name);
    free(nodes->rows);
    *nodes = (suite_nodes){0};
}

/* ---- who ran where ----------------------------------------------------------------------------------------------- */

/* The sums that least squares need, over nodes; every case has its mean taken off. */
typedef struct {
    suite_nodes *nodes;
    double *products;  /* [count][count]: of the indicators of two nodes                      */
    double *responses; /* [count]: of an indicator and the logarithm of the latency            */
    double squares;    /* of the logarithms                                                    */
    double *share;     /* [count]: of a case's processes that ran on the node                  */
    double *effects;   /* [count]: what comes out                                              */
} node_sums;

static bool next_name(const char **list, char out[NODE_NAME])
{
    size_t length = strcspn(*list, "\n");
    if (!length) return false;
    snprintf(out, NODE_NAME, "%.*s", (int)length, *list);
    *list += length;
    *list += **list == '\n';
    return true;
}

static int find_node(const suite_nodes *nodes, const char *name)
{
    for (int i = 0; i < nodes->count; i++)
        if (strcmp(nodes->rows[i].name, name) == 0) return i;
    return -1;
}

static bool is_used(const report_case *kase, const report_process *process)
{
    return process->hosts && process->status == DIT_OUTCOME_OK && process->metric[REPORT_LATENCY] > 0 &&
           !report_case_is_simulated(kase);
}

/* A case that ran once says nothing of nodes. */
static int count_used(const report_case *kase)
{
    int count = 0;
    for (int i = 0; i < kase->process_count; i++) count += is_used(kase, &kase->processes[i]);
    return count > 1 ? count : 0;
}

/* Adds the nodes of a process to the list. */
static dit_status add_nodes(const report_process *process, suite_nodes *nodes, bool *too_many)
{
    const char *rest = process->hosts;
    char name[NODE_NAME];
    while (next_name(&rest, name)) {
        int at = find_node(nodes, name);
        if (at < 0 && nodes->count == MOST_NODES) return *too_many = true, DIT_OK;
        if (at < 0) {
            at = nodes->count++;
            nodes->rows[at] = (suite_node){.name = strdup(name)};
            if (!nodes->rows[at].name) return no_memory();
        }
        nodes->rows[at].placements++;
    }
    return DIT_OK;
}

static dit_status find_nodes(const report_table *table, suite_nodes *nodes, bool *too_many)
{
    nodes->rows = calloc(MOST_NODES, sizeof *nodes->rows);
    if (!nodes->rows) return no_memory();
    for (int c = 0; c < table->case_count; c++) {
        const report_case *kase = &table->cases[c];
        int used = count_used(kase);
        nodes->cases += used > 0;
        nodes->processes += used;
        for (int i = 0; used && i < kase->process_count && !*too_many; i++)
            if (is_used(kase, &kase->processes[i])) DIT_TRY(add_nodes(&kase->processes[i], nodes, too_many));
    }
    return DIT_OK;
}

/* ---- least squares ----------------------------------------------------------------------------------------------- */

/* Adds one process: its nodes, and how far its logarithm is from the mean of its case. */
static void add_process(node_sums *sums, const report_process *process, double distance)
{
    int at[MOST_NODES], count = 0, n = sums->nodes->count;
    const char *rest = process->hosts;
    char name[NODE_NAME];
    while (count < n && next_name(&rest, name)) at[count++] = find_node(sums->nodes, name);
    for (int i = 0; i < count; i++) {
        sums->responses[at[i]] += distance;
        sums->share[at[i]] += 1;
        for (int k = 0; k < count; k++) sums->products[at[i] * n + at[k]] += 1;
    }
    sums->squares += distance * distance;
}

static void add_case(node_sums *sums, const report_case *kase)
{
    int n = sums->nodes->count, used = count_used(kase);
    double mean = 0;
    if (!used) return;
    for (int i = 0; i < kase->process_count; i++)
        if (is_used(kase, &kase->processes[i])) mean += log(kase->processes[i].metric[REPORT_LATENCY]) / used;
    memset(sums->share, 0, (size_t)n * sizeof *sums->share);
    for (int i = 0; i < kase->process_count; i++)
        if (is_used(kase, &kase->processes[i]))
            add_process(sums, &kase->processes[i], log(kase->processes[i].metric[REPORT_LATENCY]) - mean);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) sums->products[i * n + k] -= sums->share[i] * sums->share[k] / used;
}

/* The inverse of a symmetric positive definite matrix [size][size], in place, by Gauss and Jordan. False where it has
 * none, as far as rounding lets one tell: then some nodes cannot be told apart. */
static bool invert(double *matrix, int size)
{
    double largest = 0;
    for (int i = 0; i < size; i++) largest = fmax(largest, matrix[i * size + i]);
    for (int p = 0; p < size; p++) {
        double pivot = matrix[p * size + p];
        if (!(pivot > smallest_pivot * largest)) return false;
        matrix[p * size + p] = 1;
        for (int k = 0; k < size; k++) matrix[p * size + k] /= pivot;
        for (int i = 0; i < size; i++) {
            double factor = matrix[i * size + p];
            if (i == p || factor == 0) continue;
            matrix[i * size + p] = 0;
            for (int k = 0; k < size; k++) matrix[i * size + k] -= factor * matrix[p * size + k];
        }
    }
    return true;
}

/* The effects add up to zero: the last one is what the others leave. So there is one unknown less, and its column is
 * the difference of two indicators. */
static void reduce(const node_sums *sums, double *matrix, double *right)
{
    int n = sums->nodes->count, last = n - 1;
    const double *g = sums->products;
    for (int i = 0; i < last; i++) {
        right[i] = sums->responses[i] - sums->responses[last];
        for (int k = 0; k < last; k++)
            matrix[i * last + k] = g[i * n + k] - g[i * n + last] - g[last * n + k] + g[last * n + last];
    }
}

/* Sum of squares that the effects leave. */
static double left_over(const node_sums *sums)
{
    int n = sums->nodes->count;
    double left = sums->squares;
    for (int i = 0; i < n; i++) {
        left -= 2 * sums->effects[i] * sums->responses[i];
        for (int k = 0; k < n; k++) left += sums->effects[i] * sums->products[i * n + k] * sums->effects[k];
    }
    return fmax(left, 0);
}

/* Variance of the effect of node i, in units of the variance of a process: of the last node that of the others' sum. */
static double variance_of(const double *inverse, int unknowns, int i)
{
    double sum = 0;
    if (i < unknowns) return inverse[i * unknowns + i];
    for (int k = 0; k < unknowns * unknowns; k++) sum += inverse[k];
    return sum;
}

/* An effect is held against the mean of all nodes; against that of the others it is larger by n / (n - 1). */
static void fill_rows(node_sums *sums, const double *inverse, double freedom)
{
    int n = sums->nodes->count;
    double variance = left_over(sums) / freedom, others = (double)n / (n - 1);
    double quantile = suite_student_quantile(1 - (1 - nodes_level) / 2 / n, freedom);
    for (int i = 0; i < n; i++) {
        suite_node *row = &sums->nodes->rows[i];
        double effect = sums->effects[i] * others;
        double reach = quantile * sqrt(variance * variance_of(inverse, n - 1, i)) * others;
        row->ratio = exp(effect);
        row->low = exp(effect - reach);
        row->high = exp(effect + reach);
        row->is_slow = row->low > 1 && row->ratio > 1 + least_slowdown;
    }
}

static bool solve(node_sums *sums, double *matrix, double *right)
{
    int last = sums->nodes->count - 1;
    double freedom = sums->nodes->processes - sums->nodes->cases - last;
    if (last < 1 || freedom < LEAST_FREEDOM) return false;
    reduce(sums, matrix, right);
    if (!invert(matrix, last)) return false;
    for (int i = 0; i < last; i++) {
        for (int k = 0; k < last; k++) sums->effects[i] += matrix[i * last + k] * right[k];
        sums->effects[last] -= sums->effects[i];
    }
    fill_rows(sums, matrix, freedom);
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static int compare_nodes(const void *left, const void *right)
{
    const suite_node *a = left, *b = right;
    return (a->ratio < b->ratio) - (a->ratio > b->ratio);
}

static dit_status estimate(const report_table *table, suite_nodes *nodes, bool *known)
{
    size_t n = (size_t)nodes->count;
    double *room = calloc(2 * n * n + 4 * n + 1, sizeof *room);
    if (!room) return no_memory();
    double *matrix = room + n * n, *rest = matrix + n * n;
    node_sums sums = {.nodes = nodes, .products = room, .responses = rest, .share = rest + n, .effects = rest + 2 * n};
    for (int c = 0; c < table->case_count; c++) add_case(&sums, &table->cases[c]);
    *known = solve(&sums, matrix, rest + 3 * n);
    free(room);
    return DIT_OK;
}

dit_status suite_nodes_estimate(const report_table *table, suite_nodes *out)
{
    bool too_many = false, known = false;
    *out = (suite_nodes){0};
    dit_status st = find_nodes(table, out, &too_many);
    if (st == DIT_OK && out->count > 1 && !too_many) st = estimate(table, out, &known);
    if (st == DIT_OK && known) qsort(out->rows, (size_t)out->count, sizeof *out->rows, compare_nodes);
    if (!known) suite_nodes_release(out);
    return st;
}

static void describe(const suite_node *row, char *out, size_t size)
{
    snprintf(out, size,
             "node %s: %+.1f %% time beside the other nodes (%+.1f to %+.1f %% with 99 %% confidence, %d placement%s)",
             row->name, 100 * (row->ratio - 1), 100 * (row->low - 1), 100 * (row->high - 1), row->placements,
             row->placements == 1 ? "" : "s");
}

void suite_nodes_print(const suite_nodes *nodes, FILE *out)
{
    char text[LINE];
    for (int i = 0; i < nodes->count; i++) {
        describe(&nodes->rows[i], text, sizeof text);
        fprintf(out, "%s%s\n", nodes->rows[i].is_slow ? "suspect " : "", text);
    }
}

void suite_nodes_put(dit_json_writer *w, cJSON *parent, const suite_nodes *nodes)
{
    cJSON *list = nodes->count ? dit_json_put_array(w, parent, "nodes") : NULL;
    for (int i = 0; i < nodes->count; i++) {
        const suite_node *row = &nodes->rows[i];
        cJSON *one = dit_json_put_object(w, list, NULL);
        dit_json_put_string(w, one, "name", row->name);
        dit_json_put_number(w, one, "ratio", row->ratio);
        dit_json_put_number(w, one, "low", row->low);
        dit_json_put_number(w, one, "high", row->high);
        dit_json_put_int(w, one, "placements", row->placements);
        dit_json_put_bool(w, one, "suspect", row->is_slow);
    }
}

void suite_nodes_warn(const char *journal)
{
    report_table table = {0};
    suite_nodes nodes = {0};
    char text[LINE];
    dit_status st = report_table_read(journal, &table);
    if (st == DIT_OK) st = suite_nodes_estimate(&table, &nodes);
    for (int i = 0; st == DIT_OK && i < nodes.count; i++) {
        if (!nodes.rows[i].is_slow) continue;
        describe(&nodes.rows[i], text, sizeof text);
        dit_log_warning("suspect %s; under Slurm `--without %s` goes on without it", text, nodes.rows[i].name);
    }
    if (st != DIT_OK) dit_error_clear();
    suite_nodes_release(&nodes);
    report_table_release(&table);
}
