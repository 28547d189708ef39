/* Quantity: chooses one unit and one number of decimals for a whole column, so that its numbers can be compared by
 * eye. */
#ifndef DIT_SUITE_CONSOLE_QUANTITY_H
#define DIT_SUITE_CONSOLE_QUANTITY_H

#include "base/status.h"
#include "reports/text.h"

#include <stdbool.h>

typedef struct {
    double factor; /* shown = value * factor */
    const char *symbol;
    int decimals;
    bool relative;      /* shown as 1.2e-07                                        */
    double least, most; /* of the values seen; 0, 0: none                      */
} suite_quantity;

/* Takes one more value (not negative) into the range that the unit must suit. */
void suite_quantity_see(suite_quantity *quantity, double value);
/* Chooses unit and decimals: the unit suits the greatest value (or is the next smaller one, where the least would come
 * out as 0.00), the least value keeps three digits, at most
 * three of them behind the point. Times of ten minutes and more are in minutes. */
void suite_quantity_choose(suite_quantity *quantity, report_unit unit);
void suite_quantity_format(const suite_quantity *quantity, double value, char out[REPORT_NUMBER_TEXT]);

#endif
