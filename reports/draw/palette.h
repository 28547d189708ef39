/* Palette: lists the colours of figures, each with its counterpart on a dark page.
 *
 * On white and on the dark page every colour of a line or a marker has a contrast of 3 at least, every text 4.5 (WCAG
 * 2.1, 1.4.11 and 1.4.3); lines also differ in markers and dashes. Scripts name the light colour; svg_finish adds the
 * dark one. */
#ifndef DIT_REPORTS_DRAW_PALETTE_H
#define DIT_REPORTS_DRAW_PALETTE_H

#include <stdbool.h>

/* NAME, light, dark, what it paints. */
#define PALETTE_LIST(X)                                                                                                \
    X(GREY, "#7a7a7a", "#9a9a9a", MARK)                                                                                \
    X(BLUE, "#0072b2", "#2f9bea", MARK)                                                                                \
    X(ORANGE, "#c98200", "#dc9a12", MARK)                                                                              \
    X(GREEN, "#00694b", "#3fe0a0", MARK)                                                                               \
    X(VERMILLION, "#b8430f", "#d8633a", MARK)                                                                          \
    X(SKY, "#4795c0", "#8fd3fa", MARK)                                                                                 \
    X(PURPLE, "#8f2f80", "#c06aae", MARK)                                                                              \
    X(BROWN, "#463f0c", "#f4e06f", MARK)                                                                               \
    X(INK, "#1a1a1a", "#f0f0f0", MARK)                                                                                 \
    X(WINE, "#a8326e", "#e07aa8", MARK)                                                                                \
    X(TEAL, "#2f8c7c", "#5ec7b5", MARK)                                                                                \
    X(OLIVE, "#6b6b00", "#b8b84a", MARK)                                                                               \
    X(GUIDE, "#888888", "#8b949e", MARK)                                                                               \
    X(AXIS, "#666666", "#8c959f", TEXT)                                                                                \
    X(SAMPLE, "#555555", "#b0b7bf", TEXT)                                                                              \
    X(TITLE, "#000000", "#ffffff", TEXT)                                                                               \
    X(WORDS, "#222222", "#e6e8ea", TEXT)                                                                               \
    X(NUMBER, "#333333", "#d5d8dc", TEXT)                                                                              \
    X(VALUE, "#444444", "#c9cdd2", TEXT)                                                                               \
    X(GAP, "#b04000", "#ff9d66", TEXT)                                                                                 \
    X(WHISKER, "#111111", "#f4f4f4", MARK)                                                                             \
    X(GRID, "#dcdcdc", "#363c43", GROUND)                                                                              \
    X(STEP, "#b0b0b0", "#59616a", GROUND)                                                                              \
    X(PAPER, "#ffffff", "#1b1b1b", GROUND)

/* MARK: lines, points, bars; TEXT: words; GROUND: what may be faint. */
typedef enum { PALETTE_MARK, PALETTE_TEXT, PALETTE_GROUND } palette_use;

enum {
#define PALETTE_INDEX(name, light, dark, use) PALETTE_##name,
    PALETTE_LIST(PALETTE_INDEX)
#undef PALETTE_INDEX
        PALETTE_COUNT
};

typedef struct {
    const char *name, *light, *dark; /* "#rrggbb" */
    palette_use use;
} palette_colour;

const palette_colour *palette_get(int index);
/* Returns the colour called `name` ("BLUE"), or the first one when there is none. */
const palette_colour *palette_named(const char *name);
/* Returns the dark counterpart of a light colour; NULL for a colour that is not in the palette. */
const char *palette_dark_of(const char *light);
/* Returns the contrast ratio of two colours as WCAG 2.1 defines it, from 1 to 21. */
double palette_contrast(const char *one, const char *other);

#endif
