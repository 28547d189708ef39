#include "suite/compare/looks.h"

int suite_looks_count(int first, int most)
{
    return 1 + (most - first + SUITE_LOOKS_NEXT - 1) / SUITE_LOOKS_NEXT;
}

bool suite_looks_after(int first, int most, int pairs)
{
    return pairs == most || (pairs >= first && (pairs - first) % SUITE_LOOKS_NEXT == 0);
}

double suite_looks_level(double level, int looks)
{
    return 1 - (1 - level) / looks;
}
