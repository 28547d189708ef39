/* Forest line: an interval of a ratio as a line of characters, for a table that cannot hold a picture.
 */
#ifndef DIT_SUITE_CONSOLE_FOREST_LINE_H
#define DIT_SUITE_CONSOLE_FOREST_LINE_H

/* Characters of a line, an odd number with 1 in the middle, and bytes that it needs at most. */
enum { SUITE_FOREST_WIDTH = 31, SUITE_FOREST_BYTES = 3 * SUITE_FOREST_WIDTH + 1 };

/* A ratio with its interval; NAN where there is none. */
typedef struct {
    double ratio, low, high;
} suite_forest_row;

/* Returns how far a line must reach to both sides for this ratio, as a logarithm: to the ends of its interval and half
 * as far again as the margin (0.02: 2 %); 0 for a ratio that is none. */
double suite_forest_reach(const suite_forest_row *row, double margin);
/* Draws the interval, the ratio, no change and the margin to both sides on a line that reaches `reach` to either side;
 * "" where the ratio is none. An end beyond the line is an arrow. */
void suite_forest_line(const suite_forest_row *row, double margin, double reach, char out[SUITE_FOREST_BYTES]);

#endif
