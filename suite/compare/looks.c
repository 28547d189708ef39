#include "suite/compare/looks.h"

int suite_looks_next(int most, int pairs)
{
    int next = pairs + (pairs / 2 > SUITE_LOOKS_STEP ? pairs / 2 : SUITE_LOOKS_STEP);
    return next < most ? next : most;
}

int suite_looks_count(int first, int most)
{
    int count = 1;
    for (int pairs = first; pairs < most; pairs = suite_looks_next(most, pairs)) count++;
    return count;
}

bool suite_looks_after(int first, int most, int pairs)
{
    int look = first;
    while (look < pairs && look < most) look = suite_looks_next(most, look);
    return look == pairs;
}

int suite_looks_spare(int first, int most, int counted)
{
    const int usual = 3 * first + 4 * counted, end = SUITE_LOOKS_SPARES * most;
    return usual < end ? usual : end;
}

double suite_looks_level(double level, int looks)
{
    return 1 - (1 - level) / looks;
}
