#include "suite/procure/question.h"

#include "suite/console/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const *suite_scenario_names(void)
{
    static const char *const names[] = {"single", "offline", "server", "mix", NULL};
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

/* A number above 0 with one of the units; the last unit's name is NULL. */
typedef struct {
    const char *name;
    double factor;
} unit;
static bool read_with_unit(const char *text, const unit *units, double *out)
{
    char *end;
    double number = strtod(text, &end);
    while (*end == ' ') end++;
    for (; end != text && units->name; units++) {
        if (strcmp(end, units->name) != 0) continue;
        *out = number * units->factor;
        return *out > 0 && isfinite(*out);
    }
    return false;
}

dit_status suite_rate_read(const char *text, double *per_s)
{
    static const unit units[] = {{"/h", 1 / 3600.0}, {"/s", 1}, {"/min", 1 / 60.0}, {"/day", 1 / 86400.0}, {NULL, 0}};
    if (read_with_unit(text, units, per_s)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--rate \"%s\" is no number of pictures in a time", text),
                          "write 1000/h, 5/min, 2/s or 20000/day");
}

dit_status suite_watts_read(const char *text, double *watts)
{
    static const unit units[] = {{"kW", 1e3}, {"W", 1}, {"MW", 1e6}, {NULL, 0}};
    if (read_with_unit(text, units, watts)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--power-limit \"%s\" is no power", text), "write 40kW or 800W");
}
