#include "engine/redundancy/change.h"

#include <math.h>
#include <stddef.h>

const char *const *dit_change_names(void)
{
    static const char *const names[] = {"l1", "variance", "relative", "cosine", "length", NULL};
    return names;
}

double dit_change_add(dit_change *sums, const float *now, const float *before, int64_t count)
{
    dit_change own = {.count = (double)count};
    for (int64_t i = 0; i < count; i++) {
        double x = now[i], y = before[i], d = fabs(x - y);
        own.difference += d;
        own.difference_square += d * d;
        own.before += fabs(y);
        own.now_square += x * x;
        own.before_square += y * y;
        own.product += x * y;
    }
    dit_change_join(sums, &own);
    return own.difference;
}

void dit_change_join(dit_change *sums, const dit_change *other)
{
    sums->count += other->count;
    sums->difference += other->difference;
    sums->difference_square += other->difference_square;
    sums->before += other->before;
    sums->now_square += other->now_square;
    sums->before_square += other->before_square;
    sums->product += other->product;
}

static double over(double a, double b)
{
    return b > 0 ? a / b : 0;
}

void dit_change_measure_all(const dit_change *sums, float out[DIT_CHANGE_MEASURES])
{
    double l1 = over(sums->difference, sums->count);
    out[DIT_CHANGE_L1] = (float)l1;
    out[DIT_CHANGE_VARIANCE] = (float)fmax(0, over(sums->difference_square, sums->count) - l1 * l1);
    out[DIT_CHANGE_RELATIVE] = (float)over(sums->difference, sums->before);
    out[DIT_CHANGE_COSINE] = (float)over(sums->product, sqrt(sums->now_square * sums->before_square));
    out[DIT_CHANGE_LENGTH] = (float)sqrt(over(sums->now_square, sums->before_square));
}
