#include "suite/layers/question.h"

#include "base/json.h"
#include "base/words.h"

static const char chain_at[] = "/chain", planner_at[] = "/planner";

/* ---- documents --------------------------------------------------------------------------------------------------- */

void suite_layer_question_put_members(dit_json_writer *w, const suite_layer_question *question, cJSON *chain,
                                      cJSON *planner)
{
    char ways[96];
    suite_ways_text(question->ways, ways, sizeof ways);
    dit_json_put_int(w, chain, "num_layers", question->layers);
    dit_json_put_int(w, chain, "tokens", question->tokens);
    dit_json_put_int(w, chain, "heads", question->heads);
    dit_json_put_int(w, chain, "head_dim", question->head_dim);
    dit_json_put_int(w, chain, "batch", question->batch);
    dit_json_put_int(w, chain, "vocabulary", question->vocabulary);
    dit_json_put_number(w, planner, "memory_limit_gib", question->memory_limit_gib);
    dit_json_put_string(w, planner, "strategies", ways);
    dit_json_put_int(w, planner, "stages", question->stages);
    dit_json_put_int(w, planner, "micro_batches", question->micro_batches);
    dit_json_put_string(w, planner, "balance", suite_balance_words()[question->balance]);
    dit_json_put_string(w, planner, "granularity", suite_unit_words()[question->unit]);
    dit_json_put_int(w, planner, "operator_splits", question->splits);
}

void suite_layer_question_put(dit_json_writer *w, const suite_layer_question *question, cJSON *document)
{
    cJSON *chain = dit_json_put_object(w, document, "chain"), *planner = dit_json_put_object(w, document, "planner");
    suite_layer_question_put_members(w, question, chain, planner);
    dit_json_put_bool(w, chain, "causal", question->causal);
    dit_json_put_int(w, planner, "devices", question->devices);
    if (question->order != SUITE_SEARCH_JOINT) /* cases without it keep their ids */
        dit_json_put_string(w, planner, "search", suite_search_order_words()[question->order]);
}

static dit_status read_word(const dit_json *doc, const cJSON *object, const char *key, const char *const *words,
                            int *out)
{
    const char *word;
    char at[64];
    DIT_TRY(dit_json_require_string(doc, object, planner_at, key, &word));
    *out = dit_words_find(words, word);
    if (*out >= 0) return DIT_OK;
    dit_json_pointer_join(at, sizeof at, planner_at, key);
    return dit_json_fail_word(doc, at, key, word, words);
}

static dit_status read_int(const dit_json *doc, const cJSON *object, const char *key, int least, int most, int *out)
{
    int64_t value;
    DIT_TRY(dit_json_require_int(doc, object, planner_at, key, least, most, &value));
    *out = (int)value;
    return DIT_OK;
}

static dit_status read_chain(const dit_json *doc, suite_layer_question *out)
{
    static const char *const keys[] = {"num_layers", "tokens",     "heads",  "head_dim",
                                       "batch",      "vocabulary", "causal", NULL};
    const cJSON *chain;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "chain", &chain));
    DIT_TRY(dit_json_only_keys(doc, chain, chain_at, keys));
    DIT_TRY(dit_json_require_int(doc, chain, chain_at, "num_layers", 1, 1024, &out->layers));
    DIT_TRY(dit_json_require_int(doc, chain, chain_at, "tokens", 1, 1 << 24, &out->tokens));
    DIT_TRY(dit_json_require_int(doc, chain, chain_at, "heads", 1, 4096, &out->heads));
    DIT_TRY(dit_json_require_int(doc, chain, chain_at, "head_dim", 1, 4096, &out->head_dim));
    DIT_TRY(dit_json_require_int(doc, chain, chain_at, "batch", 1, 4096, &out->batch));
    DIT_TRY(dit_json_require_int(doc, chain, chain_at, "vocabulary", 0, 1 << 24, &out->vocabulary));
    return dit_json_optional_bool(doc, chain, chain_at, "causal", &out->causal);
}

static dit_status read_planner(const dit_json *doc, suite_layer_question *out)
{
    static const char *const keys[] = {"devices", "memory_limit_gib", "strategies",      "stages", "micro_batches",
                                       "balance", "granularity",      "operator_splits", "search", NULL};
    const cJSON *planner;
    const char *ways;
    int balance, unit, order = SUITE_SEARCH_JOINT;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "planner", &planner));
    DIT_TRY(dit_json_only_keys(doc, planner, planner_at, keys));
    DIT_TRY(read_int(doc, planner, "devices", 1, 65536, &out->devices));
    DIT_TRY(dit_json_require_number(doc, planner, planner_at, "memory_limit_gib", 0, 1 << 20, &out->memory_limit_gib));
    DIT_TRY(dit_json_require_string(doc, planner, planner_at, "strategies", &ways));
    if (!suite_ways_from_text(ways, &out->ways))
        return dit_json_fail(doc, "/planner/strategies", DIT_ERR_JSON_VALUE, "\"%.80s\" is no set of strategies", ways);
    DIT_TRY(read_int(doc, planner, "stages", 0, 64, &out->stages));
    DIT_TRY(read_int(doc, planner, "micro_batches", 0, 4096, &out->micro_batches));
    DIT_TRY(read_int(doc, planner, "operator_splits", 1, 64, &out->splits));
    DIT_TRY(read_word(doc, planner, "balance", suite_balance_words(), &balance));
    DIT_TRY(read_word(doc, planner, "granularity", suite_unit_words(), &unit));
    if (dit_json_member(planner, "search"))
        DIT_TRY(read_word(doc, planner, "search", suite_search_order_words(), &order));
    out->order = (suite_search_order)order;
    out->balance = (suite_balance)balance;
    out->unit = (suite_unit)unit;
    return DIT_OK;
}

dit_status suite_layer_question_read(const dit_json *document, suite_layer_question *out)
{
    *out = (suite_layer_question){0};
    DIT_TRY(read_chain(document, out));
    return read_planner(document, out);
}

/* ---- what is conceivable ----------------------------------------------------------------------------------------- */

static bool has(const suite_layer_question *question, suite_way way)
{
    return question->ways & 1u << way;
}

dit_status suite_layer_question_check(const suite_layer_question *question)
{
    const suite_layer_question *q = question;
    bool shares = has(q, SUITE_WAY_DATA) || has(q, SUITE_WAY_SHARD) || has(q, SUITE_WAY_TENSOR);
    if (q->stages > 1 && !has(q, SUITE_WAY_PIPELINE))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_STAGES, "%d stages, and the strategies have no pipeline", q->stages),
            "add +pipeline to strategies, or leave stages out");
    if (q->stages & (q->stages - 1))
        return DIT_FAIL(DIT_ERR_CONSTRAINT_STAGES, "%d stages are no power of two", q->stages);
    if (q->stages > 1 && q->unit == SUITE_UNIT_OPERATOR)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_STAGES, "%d stages: an operator alone makes no stage", q->stages),
            "leave stages out, or granularity");
    if (q->stages && q->devices % q->stages)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_PRODUCT, "%d devices are not divisible by %d stages", q->devices, q->stages);
    if (q->stages > q->layers)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_STAGES, "%d stages of %lld layers", q->stages, (long long)q->layers);
    if (q->micro_batches && q->batch % q->micro_batches)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_BATCH, "batch %lld is not divisible by micro_batches %d",
                        (long long)q->batch, q->micro_batches);
    if (q->balance != SUITE_BALANCE_NONE && q->stages < 2)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_STAGES, "balance %s is about stages, and there are none",
                                       suite_balance_words()[q->balance]),
                              "give stages, or leave balance out");
    if (q->devices > 1 && !shares && !has(q, SUITE_WAY_PIPELINE))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "recompute alone shares nothing over %d devices", q->devices),
            "add data, shard, tensor or pipeline to strategies");
    if (q->order == SUITE_SEARCH_IN_TURN && !has(q, SUITE_WAY_RECOMPUTE))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "search in-turn is about recomputing, and there is none"),
            "add +recompute to strategies, or leave search out");
    return DIT_OK;
}
