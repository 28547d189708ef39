#include "suite/console/forest_line.h"

#include <math.h>
#include <string.h>

double suite_forest_reach(const suite_forest_row *row, double margin)
{
    if (!isfinite(row->ratio) || !(row->ratio > 0)) return 0;
    double reach = fmax(fabs(log(row->ratio)), 1.5 * log1p(margin));
    return isfinite(row->low) && row->low > 0 ? fmax(reach, fmax(fabs(log(row->low)), fabs(log(row->high)))) : reach;
}

static int place_of(double value, double reach)
{
    return (int)lround((log(value) / reach + 1) / 2 * (SUITE_FOREST_WIDTH - 1));
}

void suite_forest_line(const suite_forest_row *row, double margin, double reach, char out[SUITE_FOREST_BYTES])
{
    const int middle = SUITE_FOREST_WIDTH / 2, last = SUITE_FOREST_WIDTH - 1;
    const char *cells[SUITE_FOREST_WIDTH];
    out[0] = '\0';
    if (!(reach > 0) || !isfinite(row->ratio) || !(row->ratio > 0)) return;
    const int edge = place_of(1 + margin, reach) - middle, dot = place_of(row->ratio, reach);
    const int low = isfinite(row->low) && row->low > 0 ? place_of(row->low, reach) : dot;
    const int high = isfinite(row->high) && row->high > 0 ? place_of(row->high, reach) : dot;
    for (int i = 0; i <= last; i++) {
        cells[i] = i == middle ? "│" : i == middle - edge || i == middle + edge ? "┊" : " ";
        if (i >= low && i <= high) cells[i] = "─";
        if (i == dot) cells[i] = "●";
    }
    if (low < 0) cells[0] = "◀";
    if (high > last) cells[last] = "▶";
    for (int i = 0; i <= last; i++) strcat(out, cells[i]);
}
