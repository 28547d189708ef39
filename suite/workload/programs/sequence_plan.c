/* Program sequence_plan: how devices are cut into groups that share the tokens of sequences, when their lengths differ and
 * drift. A model of costs answers, and nothing is run: its cases are of simulated platforms, and the harness computes them
 * itself. There is no mesh beside the plan. */
#include "base/words.h"
#include "suite/sequences/sequence_record.h"
#include "suite/workload/members.h"
#include "suite/workload/programs/predict.h"
#include "suite/workload/programs/program.h"

#include <stdio.h>

static double number_or(const suite_cell *cell, suite_parameter parameter, double otherwise)
{
    const cJSON *value = cell->values[parameter];
    return value ? value->valuedouble : otherwise;
}

static dit_status resolve(suite_cell *cell)
{
    const cJSON *grouping = cell->values[SUITE_PARAMETER_GROUPING];
    suite_sequence_question *q = &cell->sequences;
    if (!cell->simulated)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s is of backend %s, and a plan is a model's answer",
                                       cell->platform->name, cell->platform->backend),
                              "name a simulated platform (ditbench list platforms)");
    *q = (suite_sequence_question){.layers = suite_cell_int(cell, SUITE_PARAMETER_NUM_LAYERS, 1),
                                   .heads = suite_cell_int(cell, SUITE_PARAMETER_HEADS, 1),
                                   .head_dim = suite_cell_int(cell, SUITE_PARAMETER_HEAD_DIM, 1),
                                   .vocabulary = suite_cell_int(cell, SUITE_PARAMETER_VOCABULARY, 0),
                                   .causal = suite_cell_is_on(cell, SUITE_PARAMETER_CAUSAL),
                                   .tokens = suite_cell_int(cell, SUITE_PARAMETER_TOKENS, 1),
                                   .spread = number_or(cell, SUITE_PARAMETER_SPREAD, 0),
                                   .drift = number_or(cell, SUITE_PARAMETER_DRIFT, 1),
                                   .batch = (int)suite_cell_int(cell, SUITE_PARAMETER_BATCH, 1),
                                   .batches = (int)suite_cell_int(cell, SUITE_PARAMETER_BATCHES, 1),
                                   .seed = (uint64_t)suite_cell_int(cell, SUITE_PARAMETER_SEED, 1),
                                   .devices =
                                       (int)suite_cell_int(cell, SUITE_PARAMETER_WORLD_SIZE, cell->platform->devices),
                                   .memory_limit_gib = number_or(cell, SUITE_PARAMETER_MEMORY_LIMIT, 0),
                                   .replan_s = number_or(cell, SUITE_PARAMETER_REPLAN_S, 0)};
    q->cut = (suite_cut_rule)dit_words_find(suite_cut_words(), grouping ? grouping->valuestring : "groups");
    q->replan_every = (int)suite_cell_int(cell, SUITE_PARAMETER_REPLAN_EVERY, q->cut == SUITE_CUT_ONE ? 0 : 1);
    cell->world_size = q->devices;
    cell->threads_per_rank = 1;
    cell->parallel = (dit_parallel){.rows_degree = 1};
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) cell->parallel.degree[axis] = 1;
    cell->attention = "local";
    snprintf(cell->method, sizeof cell->method, "planned");
    return DIT_OK;
}

static dit_status judge(const suite_cell *cell, const cJSON *document)
{
    (void)document;
    return suite_sequence_question_check(&cell->sequences);
}

/* ---- documents --------------------------------------------------------------------------------------------------- */

static void put_document(dit_json_writer *w, const suite_workload *workload, const suite_cell *cell, cJSON *document)
{
    (void)workload;
    suite_sequence_question_put(w, &cell->sequences, document);
}

static void put_ranks(dit_json_writer *w, const suite_cell *cell, cJSON *document)
{
    (void)w, (void)cell, (void)document; /* the cut's own member says how many there are */
}

static void put_identity(dit_json_writer *w, const suite_cell *cell, const cJSON *document, cJSON *out)
{
    (void)cell;
    suite_member_shared(w, out, document, "chain");
    suite_member_shared(w, out, document, "lengths");
    suite_member_shared(w, out, document, "cut");
}

/* "layers:24x1024" */
static void write_name(const suite_sequence_question *q, char out[64])
{
    snprintf(out, 64, "layers:%lldx%lld", (long long)q->layers, (long long)(q->heads * q->head_dim));
}

static void put_tags(dit_json_writer *w, const suite_cell *cell, cJSON *tags)
{
    const suite_sequence_question *q = &cell->sequences;
    char name[64];
    write_name(q, name);
    dit_json_put_string(w, tags, "model", name);
    dit_json_put_string(w, tags, "base_model", "layers");
    dit_json_put_string(w, tags, "method", cell->method);
    dit_json_put_int(w, tags, "world_size", cell->world_size);
    dit_json_put_int(w, tags, "num_layers", q->layers);
    dit_json_put_int(w, tags, "tokens", q->tokens);
    dit_json_put_int(w, tags, "heads", q->heads);
    dit_json_put_int(w, tags, "head_dim", q->head_dim);
    dit_json_put_int(w, tags, "batch", q->batch);
    dit_json_put_int(w, tags, "vocabulary", q->vocabulary);
    dit_json_put_string(w, tags, "causal", q->causal ? "on" : "off");
    dit_json_put_int(w, tags, "seed", (int64_t)q->seed);
    dit_json_put_number(w, tags, "memory_limit_gib", q->memory_limit_gib);
    dit_json_put_number(w, tags, "spread", q->spread);
    dit_json_put_number(w, tags, "drift", q->drift);
    dit_json_put_int(w, tags, "batches", q->batches);
    dit_json_put_string(w, tags, "grouping", suite_cut_words()[q->cut]);
    dit_json_put_int(w, tags, "replan_every", q->replan_every);
    dit_json_put_number(w, tags, "replan_s", q->replan_s);
}

/* "layers:24x1024 S4096+-1.2 B64x16 8 devices 16 GiB groups drift 4 replan 4 2 s": what has an effect. */
static void write_label(const suite_cell *cell, char *out, size_t size)
{
    const suite_sequence_question *q = &cell->sequences;
    char name[64], spread[32] = "", batches[24] = "", drift[32] = "", replan[24] = "", cost[32] = "";
    int usual = q->cut == SUITE_CUT_ONE ? 0 : 1;
    write_name(q, name);
    if (q->spread > 0) snprintf(spread, sizeof spread, "+-%g", q->spread);
    if (q->batches > 1) snprintf(batches, sizeof batches, "x%d", q->batches);
    if (q->drift > 1 || q->drift < 1) snprintf(drift, sizeof drift, " drift %g", q->drift);
    if (q->replan_every != usual) snprintf(replan, sizeof replan, " replan %d", q->replan_every);
    if (q->replan_s > 0) snprintf(cost, sizeof cost, " %g s", q->replan_s);
    snprintf(out, size, "%s S%lld%s B%d%s %d devices %g GiB %s%s%s%s", name, (long long)q->tokens, spread, q->batch,
             batches, q->devices, q->memory_limit_gib, suite_cut_words()[q->cut], drift, replan, cost);
}

/* ---- the closed form --------------------------------------------------------------------------------------------- */

static dit_status read_case(const dit_json *document, suite_prediction *out)
{
    suite_sequence_question question;
    (void)out;
    DIT_TRY(suite_sequence_question_read(document, &question));
    return suite_sequence_question_check(&question);
}

const suite_program suite_program_sequence_plan = {
    .name = "sequence_plan",
    .meaning = "groups of devices for training sequences of different lengths, by a planner",
    .reads = SUITE_READS_SEQUENCES,
    .result = "plan",
    .plan = suite_sequence_leave_record,
    .resolve = resolve,
    .document = put_document,
    .ranks = put_ranks,
    .tags = put_tags,
    .judge = judge,
    .label = write_label,
    .identity = put_identity,
    .read = read_case,
};
