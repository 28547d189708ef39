#include "engine/cache/low_pass.h"

#include <math.h>

enum { SIDE_OVER_RADIUS = 5 };

static const double two_pi = 6.283185307179586476925286766559;

static dit_status take(dit_arena *arena, int64_t count, double **out)
{
    void *memory;
    DIT_TRY(dit_arena_alloc(arena, count * (int64_t)sizeof **out, &memory));
    *out = memory;
    return DIT_OK;
}

dit_status dit_low_pass_create(dit_arena *arena, int64_t height, int64_t width, dit_low_pass *out)
{
    const int64_t sides[] = {height, width}, shorter = height < width ? height : width;
    *out = (dit_low_pass){.height = height, .width = width, .radius = shorter / SIDE_OVER_RADIUS};
    for (int side = 0; side < 2; side++) {
        DIT_TRY(take(arena, sides[side], &out->cosines[side]));
        DIT_TRY(take(arena, sides[side], &out->sines[side]));
        for (int64_t i = 0; i < sides[side]; i++) {
            out->cosines[side][i] = cos(two_pi * (double)i / (double)sides[side]);
            out->sines[side][i] = sin(two_pi * (double)i / (double)sides[side]);
        }
    }
    DIT_TRY(take(arena, 2 * height * (out->radius + 1), &out->rows));
    return take(arena, 2 * height * (out->radius + 1), &out->columns);
}

/* Returns the highest frequency down the columns that the disc has beside frequency `across`. */
static int64_t reach(const dit_low_pass *f, int64_t across)
{
    int64_t down = f->radius;
    while (down * down + across * across > f->radius * f->radius) down--;
    return down;
}

/* rows[y][k] = sum over x of plane[y][x] e^(-2 pi i k x / width). The plane is real, so that k >= 0 tells all. */
static void transform_rows(const dit_low_pass *f, const float *plane)
{
    for (int64_t y = 0; y < f->height; y++)
        for (int64_t k = 0; k <= f->radius; k++) {
            double real = 0, imaginary = 0;
            for (int64_t x = 0; x < f->width; x++) {
                int64_t at = k * x % f->width;
                real += (double)plane[y * f->width + x] * f->cosines[1][at];
                imaginary -= (double)plane[y * f->width + x] * f->sines[1][at];
            }
            double *to = f->rows + 2 * (y * (f->radius + 1) + k);
            to[0] = real, to[1] = imaginary;
        }
}

/* Adds frequency `down` of a column of `rows` to the column of `columns`, divided by the height. */
static void add_frequency(const dit_low_pass *f, int64_t across, int64_t down)
{
    double real = 0, imaginary = 0;
    int64_t stride = 2 * (f->radius + 1), step = (down + f->height) % f->height;
    for (int64_t y = 0; y < f->height; y++) {
        const double *from = f->rows + y * stride + 2 * across;
        double cosine = f->cosines[0][step * y % f->height], sine = f->sines[0][step * y % f->height];
        real += from[0] * cosine + from[1] * sine;
        imaginary += from[1] * cosine - from[0] * sine;
    }
    for (int64_t y = 0; y < f->height; y++) {
        double *to = f->columns + y * stride + 2 * across;
        double cosine = f->cosines[0][step * y % f->height], sine = f->sines[0][step * y % f->height];
        to[0] += (real * cosine - imaginary * sine) / (double)f->height;
        to[1] += (imaginary * cosine + real * sine) / (double)f->height;
    }
}

/* Makes a plane of what the disc has left. */
static void restore_rows(const dit_low_pass *f, float *plane)
{
    for (int64_t y = 0; y < f->height; y++)
        for (int64_t x = 0; x < f->width; x++) {
            const double *from = f->columns + 2 * y * (f->radius + 1);
            double sum = from[0];
            for (int64_t k = 1; k <= f->radius; k++) {
                int64_t at = k * x % f->width;
                sum += 2 * (from[2 * k] * f->cosines[1][at] - from[2 * k + 1] * f->sines[1][at]);
            }
            plane[y * f->width + x] = (float)(sum / (double)f->width);
        }
}

void dit_low_pass_run(const dit_low_pass *f, float *plane)
{
    transform_rows(f, plane);
    for (int64_t i = 0; i < 2 * f->height * (f->radius + 1); i++) f->columns[i] = 0;
    for (int64_t across = 0; across <= f->radius; across++)
        for (int64_t down = -reach(f, across); down <= reach(f, across); down++) add_frequency(f, across, down);
    restore_rows(f, plane);
}

double dit_low_pass_flops(const dit_low_pass *f)
{
    double disc = 0;
    for (int64_t across = 0; across <= f->radius; across++) disc += 2.0 * (double)reach(f, across) + 1;
    return (double)f->height * (8.0 * (double)f->width * (double)(f->radius + 1) + 18.0 * disc);
}
