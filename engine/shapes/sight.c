#include "engine/shapes/sight.h"

#include <math.h>
#include <stdlib.h>

enum { EDGE = DIT_PICTURE_EDGE, PLANE = DIT_PICTURE_PLANE, BORDER = 4 * (EDGE - 1) };
static const double FAR = 0.2; /* as far as noise of 26 dB seldom and a dark blue on black always is */

int dit_sight_by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static float border_median(const float *plane)
{
    float values[BORDER] = {0};
    int count = 0;
    for (int i = 0; i < PLANE; i++) {
        int x = i % EDGE, y = i / EDGE;
        if (x == 0 || y == 0 || x == EDGE - 1 || y == EDGE - 1) values[count++] = plane[i];
    }
    qsort(values, BORDER, sizeof *values, dit_sight_by_value);
    return 0.5f * (values[BORDER / 2 - 1] + values[BORDER / 2]);
}

void dit_sight_take(const float *planes, dit_sight *out)
{
    for (int c = 0; c < 3; c++) {
        for (int i = 0; i < PLANE; i++) {
            float x = planes[c * PLANE + i];
            out->rgb[c][i] = x > 0 ? (x < 1 ? x : 1) : 0;
        }
        out->ground[c] = border_median(out->rgb[c]);
    }
}

int dit_sight_background(const dit_sight *sight)
{
    float level = (sight->ground[0] + sight->ground[1] + sight->ground[2]) / 3;
    return level < 0.25f ? DIT_BLACK : level < 0.65f ? DIT_GREY : DIT_LIGHT;
}

static bool is_far(const dit_sight *s, int pixel)
{
    double sum = 0;
    for (int c = 0; c < 3; c++) {
        double difference = (double)s->rgb[c][pixel] - s->ground[c];
        sum += difference * difference;
    }
    return sum > FAR * FAR;
}

void dit_sight_objects(const dit_sight *sight, dit_mask *out)
{
    dit_mask raw = {{0}};
    *out = raw;
    for (int i = 0; i < PLANE; i++)
        if (is_far(sight, i)) raw.rows[i / EDGE] |= UINT32_C(1) << i % EDGE;
    for (int i = 0; i < PLANE; i++) {
        int around = dit_mask_neighbours(&raw, i);
        if (dit_mask_has(&raw, i) ? around >= 3 : around >= 7) out->rows[i / EDGE] |= UINT32_C(1) << i % EDGE;
    }
}

float dit_sight_chroma(const dit_sight *sight, int pixel)
{
    float r = sight->rgb[0][pixel], g = sight->rgb[1][pixel], b = sight->rgb[2][pixel];
    return fmaxf(r, fmaxf(g, b)) - fminf(r, fminf(g, b));
}
