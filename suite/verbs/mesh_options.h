/* Displaced: the options by which a verb is told about pipelines and displaced patches, spelled as xDiT spells them
 * where it has them, and the configuration they amount to.
 */
#ifndef DIT_SUITE_VERBS_MESH_OPTIONS_H
#define DIT_SUITE_VERBS_MESH_OPTIONS_H

#include "base/parallel.h"
#include "suite/console/cli.h"

enum { SUITE_DISPLACED_OPTIONS = 6 };

/* What was said; begin with SUITE_DISPLACED_UNSAID. */
typedef struct {
    int64_t patch_degree, num_pipeline_patch, warmup_steps; /* 0, 0, -1: not said */
    double patch_fraction;                                  /* 0: not said        */
    const char *patch_method, *stage_blocks;
} suite_displaced;
#define SUITE_DISPLACED_UNSAID                                                                                         \
    {                                                                                                                  \
        .warmup_steps = -1                                                                                             \
    }

/* Fills SUITE_DISPLACED_OPTIONS rows; no ending one. */
void suite_displaced_options(suite_displaced *displaced, suite_option *options);
/* Sets the patch axis and what pipelines and patches are configured by; the other degrees of `out` are set already.
 * What means nothing on this mesh is noted in the log and left out. Errors: DIT_ERR_USAGE. */
dit_status suite_displaced_settle(const suite_displaced *displaced, dit_parallel *out);

#endif
