#include "suite/procure/question.h"

#include "suite/console/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const *suite_scenario_names(void)
{
    static const char *const names[] = {"single", "offline", "server", NULL};
    return names;
}

const char *const *suite_procure_goal_names(void)
{
    static const char *const names[] = {"speed", "cost", NULL};
    return names;
}

dit_status suite_slo_read(const char *text, suite_slo *out)
{
    char *end;
    *out = (suite_slo){.quantile = 0.95};
    if (text[0] == 'p') {
        out->quantile = strtod(text + 1, &end) / 100;
        if (end == text + 1 || *end != '=' || !(out->quantile >= 0.5 && out->quantile < 1))
            return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--slo \"%s\" bounds no quantile from p50 on", text),
                                  "write p95=8s or p99.9=3x");
        text = end + 1;
    }
    double number = strtod(text, &end);
    if (end != text && strcmp(end, "x") == 0 && number > 0 && isfinite(number)) {
        out->times = number;
        return DIT_OK;
    }
    if (suite_cli_duration(text, &out->seconds) == DIT_OK && out->seconds > 0) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--slo \"%s\" is no time", text),
                          "write 5s, 500ms, or 3x for three times one device of the machine alone");
}
