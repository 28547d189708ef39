/* Labels: where words beside points stand, so that none covers another word, a point or a line. Pixels, y downward.
 * Inside the folder of reports/ only.
 */
#ifndef DIT_REPORTS_LAYOUT_LABELS_H
#define DIT_REPORTS_LAYOUT_LABELS_H

#include <stdbool.h>

enum { LABELS_BOXES = 1200, LABELS_SEGMENTS = 2400 };

typedef struct {
    double left, top, right, bottom;
} labels_box;

typedef struct {
    double x0, y0, x1, y1;
} labels_segment;

/* A rectangle in which words are placed. What is beyond its capacity stands in nobody's way. */
typedef struct {
    double width, height;
    labels_box boxes[LABELS_BOXES];
    labels_segment segments[LABELS_SEGMENTS];
    int box_count, segment_count;
} labels_field;

void labels_add_box(labels_field *field, double left, double top, double right, double bottom);
/* A point that covers `radius` around its middle. */
void labels_add_point(labels_field *field, double x, double y, double radius);
void labels_add_segment(labels_field *field, double x0, double y0, double x1, double y1);

/* Finds a place for a word of width x height near the point x, y: below it first, or above. A word covers no box and
 * leaves the field nowhere. One that is `needed` may stand farther off, and across a line when there is no other place;
 * any other stands near or not at all. The place is taken from then on. False: there is none, and nothing is taken. */
bool labels_place(labels_field *field, double x, double y, double width, double height, bool below, bool needed,
                  labels_box *out);

#endif
