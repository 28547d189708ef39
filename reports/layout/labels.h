/* Labels: finds places for words beside points, so that no word covers another word, a point or a line. Units are
 * pixels, y points downward. Only reports/ includes this header. */
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

/* A rectangle in which words are placed. Boxes and lines beyond its capacity are ignored. */
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

/* Finds a place for a word of width x height near the point x, y, first below it, then above. A word covers no box and
 * stays inside the field. A `needed` word may stand farther off, and across a line when there is no other place; any
 * other word stands near or not at all. The place is then taken. Returns false, and takes nothing, if there is none. */
bool labels_place(labels_field *field, double x, double y, double width, double height, bool below, bool needed,
                  labels_box *out);

#endif
