#include "suite/quantity.h"

#include <math.h>
#include <stdio.h>

enum { MINUTES_FROM_S = 600, MOST_DECIMALS = 3 };

void suite_quantity_see(suite_quantity *quantity, double value)
{
    if (!isfinite(value) || value <= 0) return;
    if (quantity->least <= 0 || value < quantity->least) quantity->least = value;
    if (value > quantity->most) quantity->most = value;
}

void suite_quantity_choose(suite_quantity *quantity, report_unit unit)
{
    report_scale scale = report_scale_for(unit, quantity->most);
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
    if (quantity->relative)
        snprintf(out, REPORT_NUMBER_TEXT, value > 0 ? "%.1e" : "%.0f", value);
    else
        snprintf(out, REPORT_NUMBER_TEXT, "%.*f", quantity->decimals, value * quantity->factor);
}
