/* Group norm: Wu and He, arXiv:1803.08494. With a field: spatially conditioned as in MoVQ, Zheng et al.,
 * arXiv:2209.09002, equation 5. */
#include "kernels/group_norm_workspace.h"
#include "kernels/ref/ref.h"

#include <math.h>

/* Computes mean and variance of one batch entry and group. */
static void moments_of(const dit_group_norm_args *a, int64_t entry, int64_t group, double out[2])
{
    int64_t rows = a->frames * a->height * a->width, width = a->C / a->groups;
    const float *x = a->x + entry * rows * a->C;
    double sum = 0, squares = 0, count = (double)(rows * width);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t c = 0; c < width; c++) sum += x[row * a->C + group * width + c];
    double mean = sum / count;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t c = 0; c < width; c++) {
            double difference = x[row * a->C + group * width + c] - mean;
            squares += difference * difference;
        }
    out[0] = mean;
    out[1] = squares / count;
}

/* Returns the field's position for row `row` of a batch entry. */
static int64_t field_position(const dit_group_norm_args *a, int64_t row)
{
    int64_t x = row % a->width, y = row / a->width % a->height, t = row / a->width / a->height;
    int64_t frame = t * a->field_frames / a->frames;
    if (a->first_apart) frame = t == 0 ? 0 : 1 + (t - 1) * (a->field_frames - 1) / (a->frames - 1);
    return (frame * a->field_height + y * a->field_height / a->height) * a->field_width + x * a->field_width / a->width;
}

static void normalise_group(const dit_group_norm_args *a, int64_t entry, int64_t group)
{
    int64_t rows = a->frames * a->height * a->width, width = a->C / a->groups;
    const float *x = a->x + entry * rows * a->C;
    double own[2];
    const double *moments = a->moments ? a->moments + (entry * a->groups + group) * 2 : own;
    if (!a->moments) moments_of(a, entry, group, own);
    double reciprocal = 1 / sqrt(moments[1] + a->eps);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t c = group * width; c < (group + 1) * width; c++) {
            double value = (x[row * a->C + c] - moments[0]) * reciprocal;
            if (a->weight) value *= a->weight[c];
            if (a->bias) value += a->bias[c];
            if (a->scale) {
                int64_t at = field_position(a, row) * a->ldf + c;
                value = value * a->scale[at] + a->shift[at];
            }
            a->y[(entry * rows + row) * a->C + c] = (float)dit_ref_activation(value, a->activation);
        }
}

void dit_ref_group_norm(dit_pool *pool, const dit_group_norm_args *args)
{
    (void)pool;
    for (int64_t entry = 0; entry < args->batch; entry++)
        for (int64_t group = 0; group < args->groups; group++) normalise_group(args, entry, group);
}

void dit_ref_group_moments(dit_pool *pool, const dit_group_norm_args *args)
{
    (void)pool;
    for (int64_t i = 0; i < args->batch * args->groups; i++)
        moments_of(args, i / args->groups, i % args->groups, args->moments + 2 * i);
}

int64_t dit_group_norm_workspace_bytes(int64_t batch, int64_t rows, int64_t C, int64_t groups)
{
    return group_norm_layout_of(batch, rows, C, groups, NULL).bytes;
}

/* Flops per element. Three of the eight are the moments': sum, square, sum of squares. */
enum { MOMENTS_FLOPS = 3, NORM_FLOPS = 8 };

static int64_t elements_of(const dit_group_norm_args *a)
{
    return a->batch * a->frames * a->height * a->width * a->C;
}

/* Counts no moments where they are given: another call has computed them. */
dit_work dit_group_norm_work(const dit_group_norm_args *args)
{
    return dit_elementwise_work(elements_of(args), 1, 1, args->moments ? NORM_FLOPS - MOMENTS_FLOPS : NORM_FLOPS);
}

dit_work dit_group_moments_work(const dit_group_norm_args *args)
{
    return dit_elementwise_work(elements_of(args), 1, 0, MOMENTS_FLOPS);
}
