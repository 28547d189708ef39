/* Program layer_plan: which strategy each layer of a transformer takes when it is trained within a budget of memory. A
 * model of costs answers, and nothing is run: its cases are of simulated platforms, and the harness computes them
 * itself. There is no mesh beside the plan. */
#include "base/words.h"
#include "suite/layers/plan_record.h"
#include "suite/layers/strategy.h"
#include "suite/workload/members.h"
#include "suite/workload/programs/predict.h"
#include "suite/workload/programs/program.h"

#include <stdio.h>
#include <string.h>

static const char *word_or(const suite_cell *cell, suite_parameter parameter, const char *otherwise)
{
    const cJSON *value = cell->values[parameter];
    return value ? value->valuestring : otherwise;
}

static void resolve_question(suite_cell *cell)
{
    const cJSON *limit = cell->values[SUITE_PARAMETER_MEMORY_LIMIT];
    suite_layer_question *q = &cell->question;
    *q = (suite_layer_question){.layers = suite_cell_int(cell, SUITE_PARAMETER_NUM_LAYERS, 1),
                                .tokens = suite_cell_int(cell, SUITE_PARAMETER_TOKENS, 1),
                                .heads = suite_cell_int(cell, SUITE_PARAMETER_HEADS, 1),
                                .head_dim = suite_cell_int(cell, SUITE_PARAMETER_HEAD_DIM, 1),
                                .batch = suite_cell_int(cell, SUITE_PARAMETER_BATCH, 1),
                                .vocabulary = suite_cell_int(cell, SUITE_PARAMETER_VOCABULARY, 0),
                                .causal = suite_cell_is_on(cell, SUITE_PARAMETER_CAUSAL),
                                .devices =
                                    (int)suite_cell_int(cell, SUITE_PARAMETER_WORLD_SIZE, cell->platform->devices),
                                .memory_limit_gib = limit ? limit->valuedouble : 0,
                                .stages = (int)suite_cell_int(cell, SUITE_PARAMETER_STAGES, 0),
                                .micro_batches = (int)suite_cell_int(cell, SUITE_PARAMETER_MICRO_BATCHES, 0),
                                .splits = (int)suite_cell_int(cell, SUITE_PARAMETER_OPERATOR_SPLITS, 1)};
    q->balance = (suite_balance)dit_words_find(suite_balance_words(), word_or(cell, SUITE_PARAMETER_BALANCE, "none"));
    q->unit = (suite_unit)dit_words_find(suite_unit_words(), word_or(cell, SUITE_PARAMETER_GRANULARITY, "layer"));
    q->order =
        (suite_search_order)dit_words_find(suite_search_order_words(), word_or(cell, SUITE_PARAMETER_SEARCH, "joint"));
    suite_ways_from_text(word_or(cell, SUITE_PARAMETER_STRATEGIES, "data"), &q->ways);
}

static dit_status resolve(suite_cell *cell)
{
    if (!cell->simulated)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s is of backend %s, and a plan is a model's answer",
                                       cell->platform->name, cell->platform->backend),
                              "name a simulated platform (ditbench list platforms)");
    resolve_question(cell);
    cell->world_size = cell->question.devices;
    cell->threads_per_rank = 1;
    cell->parallel = (dit_parallel){.rows_degree = 1};
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) cell->parallel.degree[axis] = 1;
    cell->attention = "local";
    snprintf(cell->method, sizeof cell->method, "planned");
    return DIT_OK;
}

/* Whether so many stages leave devices that a strategy shares a layer over (*layers), and the batch too (*batch). */
static void look_at_stages(const suite_layer_question *q, int stages, bool *layers, bool *batch)
{
    suite_strategy list[SUITE_LAYERS_STRATEGIES];
    int64_t most = q->micro_batches ? q->batch / q->micro_batches : q->batch;
    int count = q->devices % stages ? 0 : suite_strategies_list(q, q->devices / stages, list);
    for (int i = 0; i < count; i++) *batch = *batch || most % (list[i].data * list[i].shard) == 0;
    *layers = *layers || count;
}

static dit_status judge(const suite_cell *cell, const cJSON *document)
{
    const suite_layer_question *q = &cell->question;
    bool pipeline = q->ways & 1u << SUITE_WAY_PIPELINE, layers = false, batch = false;
    char ways[96];
    (void)document;
    DIT_TRY(suite_layer_question_check(q));
    int first = q->stages ? q->stages : 1, last = q->stages ? q->stages : pipeline ? q->devices : 1;
    for (int stages = first; stages <= last && stages <= q->layers; stages *= 2)
        look_at_stages(q, stages, &layers, &batch);
    if (batch) return DIT_OK;
    suite_ways_text(q->ways, ways, sizeof ways);
    if (layers)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_BATCH, "%s shares no batch of %lld over %d devices", ways,
                        (long long)q->batch, q->devices);
    return DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "%s shares no layer of %lld heads over %d devices", ways,
                    (long long)q->heads, q->devices);
}

/* ---- documents --------------------------------------------------------------------------------------------------- */

static void put_document(dit_json_writer *w, const suite_workload *workload, const suite_cell *cell, cJSON *document)
{
    (void)workload;
    suite_layer_question_put(w, &cell->question, document);
}

static void put_ranks(dit_json_writer *w, const suite_cell *cell, cJSON *document)
{
    (void)w, (void)cell, (void)document; /* the planner's own member says how many there are */
}

static void put_identity(dit_json_writer *w, const suite_cell *cell, const cJSON *document, cJSON *out)
{
    (void)cell;
    suite_member_shared(w, out, document, "chain");
    suite_member_shared(w, out, document, "planner");
}

/* "layers:24x1024" */
static void write_name(const suite_layer_question *q, char out[64])
{
    snprintf(out, 64, "layers:%lldx%lld", (long long)q->layers, (long long)(q->heads * q->head_dim));
}

static void put_tags(dit_json_writer *w, const suite_cell *cell, cJSON *tags)
{
    const suite_layer_question *q = &cell->question;
    char name[64];
    write_name(q, name);
    dit_json_put_string(w, tags, "model", name);
    dit_json_put_string(w, tags, "base_model", "layers");
    dit_json_put_string(w, tags, "method", cell->method);
    dit_json_put_int(w, tags, "world_size", cell->world_size);
    suite_layer_question_put_members(w, q, tags, tags);
    dit_json_put_string(w, tags, "causal", q->causal ? "on" : "off");
    dit_json_put_string(w, tags, "search", suite_search_order_words()[q->order]);
}

/* "layers:24x1024 S512 B64 8 devices 16 GiB data+tensor P4 m8 both": what has an effect. */
static void write_label(const suite_cell *cell, char *out, size_t size)
{
    const suite_layer_question *q = &cell->question;
    char name[64], ways[96], stages[24] = "", micro[24] = "", splits[24] = "";
    bool balanced = q->balance != SUITE_BALANCE_NONE;
    write_name(q, name);
    suite_ways_text(q->ways, ways, sizeof ways);
    if (q->stages) snprintf(stages, sizeof stages, " P%d", q->stages);
    if (q->micro_batches) snprintf(micro, sizeof micro, " m%d", q->micro_batches);
    if (q->splits > 1) snprintf(splits, sizeof splits, " x%d", q->splits);
    snprintf(out, size, "%s S%lld B%lld %d devices %g GiB %s%s%s%s%s%s%s%s", name, (long long)q->tokens,
             (long long)q->batch, q->devices, q->memory_limit_gib, ways, stages, micro, balanced ? " " : "",
             balanced ? suite_balance_words()[q->balance] : "", q->unit == SUITE_UNIT_OPERATOR ? " operators" : "",
             splits, q->order == SUITE_SEARCH_IN_TURN ? " in-turn" : "");
}

/* ---- the closed form --------------------------------------------------------------------------------------------- */

static dit_status read_case(const dit_json *document, suite_prediction *out)
{
    suite_layer_question question;
    (void)out;
    DIT_TRY(suite_layer_question_read(document, &question));
    return suite_layer_question_check(&question);
}

const suite_program suite_program_layer_plan = {
    .name = "layer_plan",
    .meaning = "strategies of each layer of a transformer in training, by a planner",
    .reads = SUITE_READS_PLAN,
    .result = "plan",
    .plan = suite_plan_leave_record,
    .resolve = resolve,
    .document = put_document,
    .ranks = put_ranks,
    .tags = put_tags,
    .judge = judge,
    .label = write_label,
    .identity = put_identity,
    .read = read_case,
};
