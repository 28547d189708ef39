#include "suite/console/quantity.h"

#include <math.h>
#include <stdio.h>

enum { MINUTES_FROM_S = 600, MOST_DECIMALS = 3 };
static const double LEAST_SHOWN = 0.01, MOST_SHOWN = 1e5; /* of numbers in a column */

void suite_quantity_see(suite_quantity *quantity, double value)
{
    if (!isfinite(value) || value <= 0) return;
    if (quantity->least <= 0 || value < quantity->least) quantity->least = value;
    if (value > quantity->most) quantity->most = value;
}

/* The unit of the greatest value, or the next smaller one where the least would vanish in it. */
static report_scale scale_of(const suite_quantity *quantity, report_unit unit)
{
    report_scale scale = report_scale_for(unit, quantity->most);
    report_scale smaller = report_scale_for(unit, quantity->most / 1000);
    bool vanishes = quantity->least * scale.factor < LEAST_SHOWN;
    return vanishes && quantity->most * smaller.factor < MOST_SHOWN ? smaller : scale;
}

void suite_quantity_choose(suite_quantity *quantity, report_unit unit)
{
    report_scale scale = scale_of(quantity, unit);
    if (unit == REPORT_UNIT_SECONDS && quantity->least >= MINUTES_FROM_S) scale = (report_scale){1.0 / 60, "min"};
    quantity->factor = scale.factor;
    quantity->symbol = scale.symbol;
    quantity->relative = unit == REPORT_UNIT_RELATIVE;
    double least = quantity->least * scale.factor;
    int decimals = least > 0 ? 2 - (int)floor(log10(least)) : 0;
    quantity->decimals = decimals < 0 || unit == REPORT_UNIT_COUNT ? 0
                         : decimals > MOST_DECIMALS                ? MOST_DECIMALS
                                                                   : decimals;
    if (unit == REPORT_UNIT_FACTOR) quantity->decimals = 2;
}

void suite_quantity_format(const suite_quantity *quantity, double value, char out[REPORT_NUMBER_TEXT])
{
    if (value == 0)
        snprintf(out, REPORT_NUMBER_TEXT, "0");
    else if (quantity->relative)
        snprintf(out, REPORT_NUMBER_TEXT, "%.1e", value);
    else
        snprintf(out, REPORT_NUMBER_TEXT, "%.*f", quantity->decimals, value * quantity->factor);
}
