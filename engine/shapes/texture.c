#include "engine/shapes/texture.h"

#include <math.h>

enum { PLANE = DIT_PICTURE_PLANE, PHASES = 8 };

/* The covered pixels of a shape: what is seen without the background's part, and where it lies in the shape's frame. */
typedef struct {
    int count;
    float share[PLANE], value[3][PLANE], u[PLANE], v[PLANE];
    double squares; /* of all values */
} patch;

static void take_patch(const dit_sight *sight, const dit_mask *window, const dit_template_fit *fit, int pixels[PLANE],
                       patch *out)
{
    dit_scene_object object = {.shape = fit->shape, .radius = fit->radius, .x = fit->x, .y = fit->y};
    float share[PLANE];
    object.cosine = fit->cosine, object.sine = fit->sine;
    dit_picture_coverage(&object, share);
    out->count = 0, out->squares = 0;
    for (int i = 0; i < PLANE; i++) {
        if (!dit_mask_has(window, i) || share[i] <= 0) continue;
        for (int c = 0; c < 3; c++) {
            float value = sight->rgb[c][i] - (1 - share[i]) * sight->ground[c];
            out->value[c][out->count] = value;
            out->squares += (double)value * (double)value;
        }
        out->share[out->count] = share[i];
        pixels[out->count++] = i;
    }
}

/* Puts the pixels into the frame of the shape, turned as given. */
static void turn_patch(const dit_template_fit *fit, const float turn[2], const int pixels[PLANE], patch *out)
{
    dit_scene_object object = {.x = fit->x, .y = fit->y, .cosine = turn[0], .sine = turn[1]};
    for (int i = 0; i < out->count; i++) dit_picture_to_object(&object, pixels[i], &out->u[i], &out->v[i]);
}

/* The squares that are left when the best colour, times `light`, covers the patch. */
static double left_over(const patch *p, int texture, const float *dark_u, const float *dark_v)
{
    double square = 0, product[3] = {0, 0, 0}, left = p->squares;
    for (int i = 0; i < p->count; i++) {
        float light = p->share[i] * dit_picture_light(texture, dark_u[i], dark_v[i]);
        square += (double)(light * light);
        for (int c = 0; c < 3; c++) product[c] += (double)(light * p->value[c][i]);
    }
    for (int c = 0; c < 3; c++) left -= product[c] * product[c] / square;
    return left;
}

typedef struct {
    double left;
    int texture;
} found;

static void try_texture(const patch *p, int texture, const float *dark_u, const float *dark_v, found *best)
{
    double left = left_over(p, texture, dark_u, dark_v);
    if (left < best->left) *best = (found){left, texture};
}

static void fill_waves(const patch *p, const float *at, float waves[PHASES][PLANE])
{
    for (int phase = 0; phase < PHASES; phase++)
        for (int i = 0; i < p->count; i++)
            waves[phase][i] = dit_picture_dark_share(at[i], (float)phase * (4.0f / PHASES));
}

int dit_texture_read(const dit_sight *sight, const dit_mask *window, const dit_template_fit *fit)
{
    static const float turns[3][2] = {{1.0f, 0.0f}, {0.9925462f, 0.1218693f}, {0.9925462f, -0.1218693f}}; /* 0, +-7 */
    patch p;
    int pixels[PLANE];
    float down[PHASES][PLANE], across[PHASES][PLANE];
    found best = {INFINITY, -1};
    take_patch(sight, window, fit, pixels, &p);
    for (int turn = 0; turn < 3; turn++) {
        turn_patch(fit, turns[turn], pixels, &p);
        fill_waves(&p, p.u, across);
        fill_waves(&p, p.v, down);
        if (turn == 0) try_texture(&p, DIT_PLAIN, across[0], down[0], &best);
        for (int y = 0; y < PHASES; y++) {
            try_texture(&p, DIT_STRIPED, across[0], down[y], &best);
            for (int x = 0; x < PHASES; x++) try_texture(&p, DIT_CHECKED, across[x], down[y], &best);
        }
    }
    return best.texture;
}
