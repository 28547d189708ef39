#include "reports/layout/labels.h"

#include <stddef.h>

void labels_add_box(labels_field *field, double left, double top, double right, double bottom)
{
    if (field->box_count < LABELS_BOXES) field->boxes[field->box_count++] = (labels_box){left, top, right, bottom};
}

void labels_add_point(labels_field *field, double x, double y, double radius)
{
    labels_add_box(field, x - radius, y - radius, x + radius, y + radius);
}

void labels_add_segment(labels_field *field, double x0, double y0, double x1, double y1)
{
    if (field->segment_count == LABELS_SEGMENTS) return;
    field->segments[field->segment_count++] = (labels_segment){x0, y0, x1, y1};
}

static bool overlap(const labels_box *a, const labels_box *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

/* Keeps of the line's stretch from..to what lies on the inner side of one edge (Liang and Barsky); false: nothing. */
static bool clip(double step, double distance, double *from, double *to)
{
    if (step == 0) return distance >= 0;
    double at = distance / step;
    if (step < 0 && at > *from) *from = at;
    if (step > 0 && at < *to) *to = at;
    return *from <= *to;
}

static bool crosses(const labels_segment *s, const labels_box *b)
{
    double dx = s->x1 - s->x0, dy = s->y1 - s->y0, from = 0, to = 1;
    return clip(-dx, s->x0 - b->left, &from, &to) && clip(dx, b->right - s->x0, &from, &to) &&
           clip(-dy, s->y0 - b->top, &from, &to) && clip(dy, b->bottom - s->y0, &from, &to);
}

static bool is_free(const labels_field *field, const labels_box *box, bool over_lines)
{
    if (box->left < 0 || box->top < 0 || box->right > field->width || box->bottom > field->height) return false;
    for (int i = 0; i < field->box_count; i++)
        if (overlap(box, &field->boxes[i])) return false;
    for (int i = 0; i < field->segment_count && !over_lines; i++)
        if (crosses(&field->segments[i], box)) return false;
    return true;
}

/* The first free place around the point, near ones first. */
static bool search(const labels_field *field, double x, double y, double width, double height, bool below,
                   bool over_lines, int rings, labels_box *out)
{
    static const double away[] = {5, 9, 14, 20, 28};
    static const struct {
        double across, down; /* of half the word and the distance */
    } sides[] = {{0, 1}, {0.9, 1}, {-0.9, 1}, {0, -1}, {0.9, -1}, {-0.9, -1}, {1, 0}, {-1, 0}};
    for (int i = 0; i < rings; i++) {
        for (size_t k = 0; k < sizeof sides / sizeof *sides; k++) {
            double middle_x = x + sides[k].across * (width / 2 + away[i]);
            double middle_y = y + (below ? 1 : -1) * sides[k].down * (height / 2 + away[i]);
            *out =
                (labels_box){middle_x - width / 2, middle_y - height / 2, middle_x + width / 2, middle_y + height / 2};
            if (is_free(field, out, over_lines)) return true;
        }
    }
    return false;
}

bool labels_place(labels_field *field, double x, double y, double width, double height, bool below, bool needed,
                  labels_box *out)
{
    enum { NEAR = 2, ALL = 5 }; /* rings: a word that may be left out does not wander off */
    bool found = search(field, x, y, width, height, below, false, needed ? ALL : NEAR, out) ||
                 (needed && search(field, x, y, width, height, below, true, ALL, out));
    if (found) labels_add_box(field, out->left, out->top, out->right, out->bottom);
    return found;
}
