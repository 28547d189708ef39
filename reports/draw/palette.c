#include "reports/draw/palette.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Okabe and Ito's hues ("Color Universal Design") with their lightness spread, so that the colours of methods also
 * differ for eyes without red or green receptors; wine, teal and olive are of Paul Tol's muted scheme. */
static const palette_colour colours[PALETTE_COUNT] = {
#define PALETTE_ROW(name, light, dark, use) {#name, light, dark, PALETTE_##use},
    PALETTE_LIST(PALETTE_ROW)
#undef PALETTE_ROW
};

const palette_colour *palette_get(int index)
{
    return &colours[index];
}

const palette_colour *palette_named(const char *name)
{
    int index = PALETTE_COUNT - 1;
    while (index > 0 && strcmp(colours[index].name, name) != 0) index--;
    return &colours[index];
}

const char *palette_dark_of(const char *light)
{
    for (int i = 0; i < PALETTE_COUNT; i++)
        if (strcmp(colours[i].light, light) == 0) return colours[i].dark;
    return NULL;
}

/* sRGB to linear light. */
static double linear(long channel)
{
    double value = (double)channel / 255;
    return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
}

static double luminance(const char *colour)
{
    long rgb = strtol(colour + 1, NULL, 16);
    return 0.2126 * linear(rgb >> 16 & 0xff) + 0.7152 * linear(rgb >> 8 & 0xff) + 0.0722 * linear(rgb & 0xff);
}

double palette_contrast(const char *one, const char *other)
{
    double a = luminance(one), b = luminance(other);
    return (fmax(a, b) + 0.05) / (fmin(a, b) + 0.05);
}
