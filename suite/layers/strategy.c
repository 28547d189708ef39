#include "suite/layers/strategy.h"

#include <stdio.h>

typedef struct {
    const suite_layer_question *question;
    suite_strategy *list;
    int count;
} strategy_list;

static bool has(const strategy_list *l, suite_way way)
{
    return l->question->ways & 1u << way;
}

static void add(strategy_list *l, suite_strategy strategy)
{
    if (l->count < SUITE_LAYERS_STRATEGIES) l->list[l->count++] = strategy;
    if (!has(l, SUITE_WAY_RECOMPUTE) || l->count == SUITE_LAYERS_STRATEGIES) return;
    strategy.recompute = true;
    l->list[l->count++] = strategy;
}

static void add_tensor(strategy_list *l, int tensor, int rest)
{
    if (rest == 1) add(l, (suite_strategy){tensor, 1, 1, false, 1});
    if (rest == 1) return;
    if (has(l, SUITE_WAY_DATA)) add(l, (suite_strategy){tensor, rest, 1, false, 1});
    for (int split = 1; has(l, SUITE_WAY_SHARD) && split <= l->question->splits; split *= 2)
        add(l, (suite_strategy){tensor, 1, rest, false, split});
}

int suite_strategies_list(const suite_layer_question *question, int devices,
                          suite_strategy out[SUITE_LAYERS_STRATEGIES])
{
    strategy_list l = {.question = question, .list = out};
    for (int tensor = 1; tensor <= devices; tensor *= 2) {
        bool whole = devices % tensor == 0 && question->heads % tensor == 0;
        if (whole && (tensor == 1 || has(&l, SUITE_WAY_TENSOR))) add_tensor(&l, tensor, devices / tensor);
    }
    return l.count;
}

void suite_strategy_text(const suite_strategy *strategy, char out[SUITE_STRATEGY_TEXT])
{
    const struct {
        const char *prefix;
        int degree;
    } parts[] = {{"t", strategy->tensor}, {"d", strategy->data}, {"s", strategy->shard}, {"x", strategy->split}};
    size_t used = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].degree > 1)
            used += (size_t)snprintf(out + used, SUITE_STRATEGY_TEXT - used, "%s%s%d", used ? " " : "", parts[i].prefix,
                                     parts[i].degree);
    if (!used) used += (size_t)snprintf(out, SUITE_STRATEGY_TEXT, "single");
    if (strategy->recompute) snprintf(out + used, SUITE_STRATEGY_TEXT - used, " recompute");
}
