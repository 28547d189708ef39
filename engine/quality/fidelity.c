#include "engine/quality/fidelity.h"

#include <math.h>
#include <stdlib.h>

enum { WINDOW = 11, MOMENTS = 5 };
static const double most_psnr_db = 100, least_mse = 1e-10;

int64_t dit_picture_floats(dit_picture_size size)
{
    return DIT_RGB * size.frames * size.height * size.width;
}

static dit_status check_finite(const float *a, const float *b, dit_picture_size size)
{
    int64_t plane = size.height * size.width, floats = dit_picture_floats(size);
    if (size.frames < 1 || size.height < 1 || size.width < 1)
        return DIT_FAIL(DIT_ERR_SHAPE, "a picture of %lld frames of %lld x %lld pixels is empty",
                        (long long)size.frames, (long long)size.width, (long long)size.height);
    for (int64_t i = 0; i < floats; i++)
        if (!isfinite(a[i]) || !isfinite(b[i]))
            return DIT_FAIL(DIT_ERR_NONFINITE, "frame %lld has a pixel that is not finite, at row %lld, column %lld",
                            (long long)(i / plane % size.frames), (long long)(i % plane / size.width),
                            (long long)(i % size.width));
    return DIT_OK;
}

static const float *plane_of(const float *picture, dit_picture_size size, int64_t colour, int64_t frame)
{
    return picture + (colour * size.frames + frame) * size.height * size.width;
}

dit_status dit_psnr(const float *a, const float *b, dit_picture_size size, double *psnr_db)
{
    int64_t plane = size.height * size.width;
    double sum = 0;
    *psnr_db = 0;
    DIT_TRY(check_finite(a, b, size));
    for (int64_t frame = 0; frame < size.frames; frame++) {
        double squares = 0;
        for (int64_t colour = 0; colour < DIT_RGB; colour++) {
            const float *x = plane_of(a, size, colour, frame), *y = plane_of(b, size, colour, frame);
            for (int64_t i = 0; i < plane; i++) squares += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
        }
        double mse = squares / (double)(DIT_RGB * plane);
        sum += mse < least_mse ? most_psnr_db : -10 * log10(mse);
    }
    *psnr_db = sum / (double)size.frames;
    return DIT_OK;
}

/* ---- structural similarity --------------------------------------------------------------------------------------- */

static void make_window(double weight[WINDOW])
{
    static const double deviation = 1.5;
    double sum = 0;
    for (int i = 0; i < WINDOW; i++) {
        double at = i - WINDOW / 2;
        weight[i] = exp(-at * at / (2 * deviation * deviation));
        sum += weight[i];
    }
    for (int i = 0; i < WINDOW; i++) weight[i] /= sum;
}

/* The window is a product of two rows of weights: `rows` [MOMENTS, height, inner width] holds sums along the rows. */
static void filter_rows(const float *x, const float *y, dit_picture_size size, const double weight[WINDOW],
                        double *rows)
{
    int64_t inner = size.width - WINDOW + 1, map = size.height * inner;
    for (int64_t row = 0; row < size.height; row++)
        for (int64_t column = 0; column < inner; column++) {
            double moment[MOMENTS] = {0};
            for (int k = 0; k < WINDOW; k++) {
                double p = x[row * size.width + column + k], q = y[row * size.width + column + k], w = weight[k];
                moment[0] += w * p;
                moment[1] += w * q;
                moment[2] += w * (p * p);
                moment[3] += w * (q * q);
                moment[4] += w * (p * q);
            }
            for (int m = 0; m < MOMENTS; m++) rows[m * map + row * inner + column] = moment[m];
        }
}

static double similarity(const double moment[MOMENTS])
{
    static const double c1 = 0.01 * 0.01, c2 = 0.03 * 0.03;
    double mx = moment[0], my = moment[1];
    double vx = moment[2] - mx * mx, vy = moment[3] - my * my, cov = moment[4] - mx * my;
    return (2 * (mx * my) + c1) * (2 * cov + c2) / ((mx * mx + my * my + c1) * (vx + vy + c2));
}

static double ssim_of_plane(const float *x, const float *y, dit_picture_size size, const double weight[WINDOW],
                            double *rows)
{
    int64_t high = size.height - WINDOW + 1, inner = size.width - WINDOW + 1, map = size.height * inner;
    double sum = 0;
    filter_rows(x, y, size, weight, rows);
    for (int64_t row = 0; row < high; row++)
        for (int64_t column = 0; column < inner; column++) {
            double moment[MOMENTS] = {0};
            for (int m = 0; m < MOMENTS; m++)
                for (int k = 0; k < WINDOW; k++) moment[m] += weight[k] * rows[m * map + (row + k) * inner + column];
            sum += similarity(moment);
        }
    return sum / (double)(high * inner);
}

dit_status dit_ssim(const float *a, const float *b, dit_picture_size size, double *ssim)
{
    double weight[WINDOW], sum = 0;
    *ssim = 0;
    DIT_TRY(check_finite(a, b, size));
    if (size.height < WINDOW || size.width < WINDOW)
        return DIT_FAIL(DIT_ERR_SHAPE, "pictures of %lld x %lld pixels are smaller than the window of SSIM, %d x %d",
                        (long long)size.width, (long long)size.height, WINDOW, WINDOW);
    double *rows = malloc((size_t)(MOMENTS * size.height * (size.width - WINDOW + 1)) * sizeof *rows);
    if (!rows) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the moments of a picture");
    make_window(weight);
    for (int64_t frame = 0; frame < size.frames; frame++)
        for (int64_t colour = 0; colour < DIT_RGB; colour++)
            sum +=
                ssim_of_plane(plane_of(a, size, colour, frame), plane_of(b, size, colour, frame), size, weight, rows);
    free(rows);
    *ssim = sum / (double)(DIT_RGB * size.frames);
    return DIT_OK;
}
