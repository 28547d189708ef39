/* Fixture of the tests of planners: a shipped machine, and what operators cost on it. */
#ifndef DIT_SUITE_TESTS_PLANNER_FIXTURE_H
#define DIT_SUITE_TESTS_PLANNER_FIXTURE_H

#include "kernels/cost/read.h"
#include "suite/layers/stage_costs.h"
#include "suite/tests/platform_fixture.h"

typedef struct {
    dit_cost_profile profile;
    dit_cost_device device;
    suite_cluster cluster;
    suite_plan_machine machine;
} shipped_machine;

/* The caller releases out->cluster. */
static inline void open_machine(const char *platform, const char *accelerator, shipped_machine *out)
{
    char path[512];
    snprintf(path, sizeof path, "%s/workloads/profiles/pytorch-eager.json", DITBENCH_SOURCE_DIR);
    assert_ok(dit_cost_profile_read(path, &out->profile));
    snprintf(path, sizeof path, "%s/workloads/accelerators/%s.json", DITBENCH_SOURCE_DIR, accelerator);
    assert_ok(dit_cost_device_read(path, "fp16", &out->profile, &out->device));
    assert_ok(suite_cluster_load(platform, &out->cluster));
    out->machine = (suite_plan_machine){&out->device, &out->profile, &out->cluster, NULL};
}

#endif
