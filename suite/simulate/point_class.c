#include "suite/simulate/point_class.h"

#include <string.h>

const char *suite_point_reach(const suite_point *point)
{
    if (point->skip || !point->case_count) return "";
    if (point->several_nodes) return "several nodes";
    return point->published->gpus > 1 ? "one node" : "one device";
}

const char *suite_mesh_kind(const dit_parallel *parallel)
{
    if (dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION) > 1) return "pipeline";
    return dit_parallel_is_displaced(parallel) ? "displaced" : "exact";
}

const char *suite_point_kind(const suite_point *point)
{
    if (point->skip || !point->case_count) return "";
    if (point->is_layer) return "layer";
    return point->search ? "hybrid" : suite_mesh_kind(&point->parallel);
}

const char *suite_profile_software(const char *profile)
{
    static const char *const begins[][2] = {{"pytorch-eager", "eager"},
                                            {"torch-compile-graphs", "graphs"},
                                            {"torch-compile", "compiled"},
                                            {"pytorch-cuda-graphs", "graphs"},
                                            {"cuda-graphs", "graphs"}};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(profile, begins[i][0], strlen(begins[i][0])) == 0) return begins[i][1];
    return "other";
}

const char *suite_point_software(const suite_point *point)
{
    if (point->skip || !point->case_count) return "";
    return point->family ? suite_profile_software(point->family) : "other";
}
