#include "reports/chart/colours.h"

#include "reports/draw/palette.h"

static const char *const names[] = {"BLUE", "VERMILLION", "GREEN", "ORANGE", "PURPLE", "SKY",
                                    "WINE", "TEAL",       "BROWN", "OLIVE",  "GREY"};
enum { COLOURS = sizeof names / sizeof *names };

const char *chart_colour(int series)
{
    return palette_named(names[series % COLOURS])->light;
}

int chart_repeat(int series)
{
    return series / COLOURS;
}

int chart_point_type(int series, int hollow)
{
    static const int solid[] = {7, 5, 9, 13, 11};
    return solid[series % 5] - (hollow ? 1 : 0);
}
