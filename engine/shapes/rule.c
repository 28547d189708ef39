#include "engine/shapes/object_rule.h"
#include "engine/shapes/rule.h"
#include "engine/shapes/texture.h"

#include <math.h>
#include <stdlib.h>

enum { EDGE = DIT_PICTURE_EDGE, PLANE = DIT_PICTURE_PLANE };
static const double LEAST_OVERLAP = 0.6, LEAST_CHROMA = 0.1;

/* ---- colour ------------------------------------------------------------------------------------------------------ */

/* Hue in degrees of a colour that is not grey. */
static double hue_of(const double rgb[3])
{
    double high = fmax(rgb[0], fmax(rgb[1], rgb[2])), chroma = high - fmin(rgb[0], fmin(rgb[1], rgb[2])), hue;
    if (high == rgb[0])
        hue = (rgb[1] - rgb[2]) / chroma;
    else if (high == rgb[1])
        hue = 2 + (rgb[2] - rgb[0]) / chroma;
    else
        hue = 4 + (rgb[0] - rgb[1]) / chroma;
    return 60 * (hue < 0 ? hue + 6 : hue);
}

static int nearest_colour(const double rgb[3])
{
    double hue = hue_of(rgb), least = 360;
    int nearest = -1;
    for (int colour = 0; colour < DIT_COLOURS; colour++) {
        double apart = fabs(hue - (double)dit_scene_hue(colour));
        if (apart > 180) apart = 360 - apart;
        if (apart < least) least = apart, nearest = colour;
    }
    return nearest;
}

/* The mean colour of the half of the mask's pixels that are least grey; -1 when those are grey, too. */
static int read_colour(const dit_sight *s, const dit_mask *mask)
{
    float chromas[PLANE] = {0};
    int count = 0;
    double sum[3] = {0, 0, 0};
    for (int i = 0; i < PLANE; i++)
        if (dit_mask_has(mask, i)) chromas[count++] = dit_sight_chroma(s, i);
    qsort(chromas, (size_t)count, sizeof *chromas, dit_sight_by_value);
    float median = chromas[count / 2];
    if (median < LEAST_CHROMA) return -1;
    for (int i = 0; i < PLANE; i++) {
        if (!dit_mask_has(mask, i) || dit_sight_chroma(s, i) < median) continue;
        for (int c = 0; c < 3; c++) sum[c] += (double)s->rgb[c][i];
    }
    return nearest_colour(sum);
}

/* ---- objects and pictures ---------------------------------------------------------------------------------------- */

void dit_shapes_read_object(const dit_sight *s, const dit_mask *mask, const dit_mask *window, dit_shape_object *out)
{
    dit_template_fit fit;
    dit_template_find(mask, window, &fit);
    bool known = fit.overlap >= LEAST_OVERLAP;
    out->is[DIT_SHAPE] = known ? fit.shape : -1;
    out->is[DIT_SIZE] = known ? fit.size : -1;
    out->is[DIT_COLOUR] = read_colour(s, mask);
    out->is[DIT_TEXTURE] = dit_texture_read(s, window, &fit);
    out->is[DIT_MOTION] = -1;
}

static void quadrant_window(int place, dit_mask *window)
{
    for (int y = 0; y < EDGE; y++)
        window->rows[y] = (y >= EDGE / 2) == (place >> 1) ? UINT32_C(0xffff) << (place & 1 ? EDGE / 2 : 0) : 0;
}

void dit_shapes_read(const float *planes, dit_reading *out)
{
    dit_sight s;
    dit_mask objects;
    dit_sight_take(planes, &s);
    dit_sight_objects(&s, &objects);
    *out = (dit_reading){.background = dit_sight_background(&s)};
    for (int place = 0; place < DIT_PLACES; place++) {
        dit_mask window, mask;
        quadrant_window(place, &window);
        for (int y = 0; y < EDGE; y++) mask.rows[y] = objects.rows[y] & window.rows[y];
        if (dit_mask_count(&mask) < DIT_SIGHT_LEAST_PIXELS) continue;
        out->found[place] = true;
        out->objects[place].is[DIT_PLACE] = place;
        dit_shapes_read_object(&s, &mask, &window, &out->objects[place]);
    }
}
