#include "suite/layers/layers.h"

#include <math.h>
#include <string.h>

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static bool is_size(double value)
{
    return value >= 0 && isfinite(value);
}

static dit_status check_count(const char *what, int value, int least, int most)
{
    if (value >= least && value <= most) return DIT_OK;
    return DIT_FAIL(DIT_ERR_USAGE, "%d %s: a chain has %d to %d", value, what, least, most);
}

static dit_status check_cost(const suite_layer_cost *cost, int layer, int strategy)
{
    if (!(cost->seconds >= 0)) /* INFINITY is no strategy at all */
        return DIT_FAIL(DIT_ERR_NONFINITE, "layer %d, strategy %d: %g seconds are no time", layer, strategy,
                        cost->seconds);
    if (is_size(cost->held_bytes) && is_size(cost->working_bytes)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_NONFINITE, "layer %d, strategy %d: %g bytes held and %g worked with are no sizes", layer,
                    strategy, cost->held_bytes, cost->working_bytes);
}

static dit_status check_conversions(const suite_layers *chain)
{
    for (int i = 0; chain->conversion_s && i < chain->strategies * chain->strategies; i++)
        if (!is_size(chain->conversion_s[i]))
            return DIT_FAIL(DIT_ERR_NONFINITE, "from strategy %d to %d: %g seconds are no time", i / chain->strategies,
                            i % chain->strategies, chain->conversion_s[i]);
    return DIT_OK;
}

dit_status suite_layers_check(const suite_layers *chain)
{
    DIT_TRY(check_count("layers", chain->layers, 1, SUITE_LAYERS_MOST));
    DIT_TRY(check_count("strategies", chain->strategies, 1, SUITE_LAYERS_STRATEGIES));
    DIT_TRY(check_count("cells of memory", chain->cells, 0, SUITE_LAYERS_CELLS));
    if (!is_size(chain->budget_bytes))
        return DIT_FAIL(DIT_ERR_NONFINITE, "a budget of %g bytes is no size", chain->budget_bytes);
    for (int i = 0; i < chain->layers * chain->strategies; i++)
        DIT_TRY(check_cost(&chain->costs[i], i / chain->strategies, i % chain->strategies));
    DIT_TRY(check_conversions(chain));
    if ((int64_t)chain->layers * chain->strategies * (chain->cells + 1) <= SUITE_LAYERS_TABLE) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%d layers x %d strategies x %d cells of memory are too many",
                                   chain->layers, chain->strategies, chain->cells),
                          "take fewer cells");
}

dit_status suite_layers_ask(const suite_layers_watch *watch)
{
    return watch ? watch->ask(watch->context) : DIT_OK;
}

/* ---- one choice -------------------------------------------------------------------------------------------------- */

static double conversion(const suite_layers *chain, int from, int to)
{
    return chain->conversion_s ? chain->conversion_s[from * chain->strategies + to] : 0;
}

void suite_layers_weigh(const suite_layers *chain, const int *choice, suite_layers_plan *out)
{
    out->seconds = out->held_bytes = out->working_bytes = 0;
    for (int i = 0; i < chain->layers; i++) {
        const suite_layer_cost *cost = &chain->costs[i * chain->strategies + choice[i]];
        out->seconds += cost->seconds;
        if (i) out->seconds += conversion(chain, choice[i - 1], choice[i]);
        out->held_bytes += cost->held_bytes;
        if (cost->working_bytes > out->working_bytes) out->working_bytes = cost->working_bytes;
    }
    out->fits = isfinite(out->seconds) && out->held_bytes + out->working_bytes <= chain->budget_bytes;
}

/* ---- all choices ------------------------------------------------------------------------------------------------- */

bool suite_layers_is_small(const suite_layers *chain)
{
    double choices = pow(chain->strategies, chain->layers);
    return choices <= SUITE_LAYERS_EXHAUSTIVE;
}

/* Counts up by one, the last layer fastest; false behind the last choice. */
static bool next_choice(const suite_layers *chain, int *choice)
{
    int at = chain->layers - 1;
    while (at >= 0 && choice[at] == chain->strategies - 1) choice[at--] = 0;
    if (at < 0) return false;
    choice[at]++;
    return true;
}

dit_status suite_layers_try_all(const suite_layers *chain, suite_layers_plan *out, int *choice)
{
    int tried[SUITE_LAYERS_MOST] = {0};
    suite_layers_plan one = {0};
    DIT_TRY(suite_layers_check(chain));
    if (!suite_layers_is_small(chain))
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%d layers with %d strategies each are too many choices to try one by one",
                        chain->layers, chain->strategies);
    *out = (suite_layers_plan){.seconds = INFINITY, .bound_s = INFINITY, .least_bytes = INFINITY};
    do {
        suite_layers_weigh(chain, tried, &one);
        if (isfinite(one.seconds)) out->least_bytes = fmin(out->least_bytes, one.held_bytes + one.working_bytes);
        if (!one.fits || one.seconds >= out->seconds) continue;
        one.least_bytes = out->least_bytes;
        *out = one;
        out->bound_s = one.seconds;
        memcpy(choice, tried, sizeof *choice * (size_t)chain->layers);
    } while (next_choice(chain, tried));
    return DIT_OK;
}
