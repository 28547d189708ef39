#include "engine/shapes/template.h"

#include "engine/shapes/picture.h"

#include <pthread.h>

enum { RADII = 6, ROTATIONS = 3, HALVES = 2, STENCIL = 24, MOST = DIT_SHAPES * RADII * ROTATIONS };
enum { REACH = 3 }; /* the search goes so many half pixels around the mask's centre */

/* A template around pixel (12, 12) of its stencil, moved by half pixels. */
typedef struct {
    int shape, size;
    float radius, cosine, sine;
    uint32_t rows[HALVES][HALVES][STENCIL]; /* [half y][half x] */
    int first, last;                        /* rows that may have pixels */
} stencil;

static stencil stencils[MOST];
static int stencil_count;
static pthread_once_t drawn = PTHREAD_ONCE_INIT;

/* Draws one bitmap. Masks have every pixel whose colour differs enough, so that a fifth of coverage counts. */
static void draw_rows(const stencil *s, float shift_x, float shift_y, uint32_t rows[STENCIL])
{
    for (int i = 0; i < STENCIL * STENCIL; i++) {
        float x = (float)(i % STENCIL - STENCIL / 2) + 0.5f - shift_x;
        float y = (float)(i / STENCIL - STENCIL / 2) + 0.5f - shift_y;
        float u = s->cosine * x + s->sine * y, v = s->cosine * y - s->sine * x;
        if (dit_picture_distance(s->shape, s->radius, u, v) < 0.3f) rows[i / STENCIL] |= UINT32_C(1) << i % STENCIL;
    }
}

static void draw_stencil(int shape, int radius, int rotation)
{
    static const float radii[RADII] = {3.6f, 4.0f, 4.4f, 6.1f, 6.5f, 6.9f};
    static const float cosine = 0.9914449f, sine = 0.1305262f; /* of 7.5 degrees */
    stencil *s = &stencils[stencil_count++];
    *s = (stencil){.shape = shape, .size = radius < RADII / 2 ? DIT_SMALL : DIT_LARGE, .radius = radii[radius]};
    s->cosine = rotation == 0 ? 1.0f : cosine;
    s->sine = rotation == 0 ? 0.0f : rotation == 1 ? sine : -sine;
    for (int half_y = 0; half_y < HALVES; half_y++)
        for (int half_x = 0; half_x < HALVES; half_x++)
            draw_rows(s, 0.5f * (float)half_x, 0.5f * (float)half_y, s->rows[half_y][half_x]);
    s->first = STENCIL / 2 - (int)(1.3f * s->radius) - 1;
    s->last = STENCIL / 2 + (int)(1.3f * s->radius) + 1;
}

static void draw_stencils(void)
{
    for (int shape = 0; shape < DIT_SHAPES; shape++)
        for (int radius = 0; radius < RADII; radius++)
            for (int rotation = 0; rotation < (shape == DIT_CIRCLE || shape == DIT_RING ? 1 : ROTATIONS); rotation++)
                draw_stencil(shape, radius, rotation);
}

/* Overlap with the stencil's centre at (half_x, half_y) half pixels. */
static double overlap_at(const stencil *s, const dit_mask *mask, const dit_mask *window, int mask_count, int half_x,
                         int half_y)
{
    const uint32_t *rows = s->rows[half_y & 1][half_x & 1];
    int both = 0, drawn_count = 0, left = half_x / 2 - STENCIL / 2, top = half_y / 2 - STENCIL / 2;
    for (int i = s->first; i <= s->last; i++) {
        int y = top + i;
        if (y < 0 || y >= DIT_PICTURE_EDGE) continue;
        uint32_t row = (left >= 0 ? rows[i] << left : rows[i] >> -left) & window->rows[y];
        both += __builtin_popcount(row & mask->rows[y]);
        drawn_count += __builtin_popcount(row);
    }
    return (double)both / (double)(mask_count + drawn_count - both);
}

void dit_template_find(const dit_mask *mask, const dit_mask *window, dit_template_fit *best)
{
    pthread_once(&drawn, draw_stencils);
    float x, y;
    dit_mask_centre(mask, &x, &y);
    int mask_count = dit_mask_count(mask), middle_x = (int)(2.0f * x + 0.5f), middle_y = (int)(2.0f * y + 0.5f);
    *best = (dit_template_fit){.overlap = -1};
    for (int k = 0; k < stencil_count; k++) {
        const stencil *s = &stencils[k];
        for (int i = 0; i < (2 * REACH + 1) * (2 * REACH + 1); i++) {
            int half_x = middle_x + i % (2 * REACH + 1) - REACH, half_y = middle_y + i / (2 * REACH + 1) - REACH;
            if (half_x < 0 || half_y < 0) continue;
            double overlap = overlap_at(s, mask, window, mask_count, half_x, half_y);
            if (overlap <= best->overlap) continue;
            *best = (dit_template_fit){
                s->shape, s->size, s->radius, s->cosine, s->sine, 0.5f * (float)half_x, 0.5f * (float)half_y, overlap};
        }
    }
}
