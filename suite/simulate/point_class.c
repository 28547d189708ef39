#include "suite/simulate/point_class.h"

#include <string.h>

const char *suite_point_reach(const suite_point *point)
{
    if (point->skip || !point->case_count) return "";
    if (point->several_nodes) return "several nodes";
    return point->published->gpus > 1 ? "one node" : "one device";
}

const char *suite_point_kind(const suite_point *point)
{
    if (point->skip || !point->case_count) return "";
    if (point->is_layer) return "layer";
    if (point->search) return "hybrid";
    if (dit_parallel_degree(&point->parallel, DIT_AXIS_PIPEFUSION) > 1) return "pipeline";
    return dit_parallel_is_displaced(&point->parallel) ? "displaced" : "exact";
}

const char *suite_point_software(const suite_point *point)
{
    static const char *const names[][2] = {
        {"pytorch-eager", "eager"}, {"torch-compile", "compiled"}, {"pytorch-cuda-graphs", "graphs"}};
    if (point->skip || !point->case_count) return "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (point->family && strcmp(point->family, names[i][0]) == 0) return names[i][1];
    return "other";
}
