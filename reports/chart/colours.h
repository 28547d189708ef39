/* Colours: which colour, and which point, a series of a chart has. */
#ifndef DIT_REPORTS_CHART_COLOURS_H
#define DIT_REPORTS_CHART_COLOURS_H

/* Returns "#rrggbb". After the last colour the first comes again. */
const char *chart_colour(int series);
/* Returns gnuplot's type of a solid and of a hollow point; they differ from series to series, too. */
int chart_point_type(int series, int hollow);
/* Returns how often the colour was there before: gnuplot's dash of a line follows from it. */
int chart_repeat(int series);

#endif
