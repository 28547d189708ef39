/* Case: one resolved cell of the matrix and the documents made of it. Private to expansion. */
#ifndef DIT_SUITE_WORKLOAD_CASE_H
#define DIT_SUITE_WORKLOAD_CASE_H

#include "base/layer.h"
#include "suite/workload/matrix.h"

/* A cell with everything looked up and nothing judged. Pointers lie in the matrix. */
typedef struct {
    const cJSON *values[SUITE_PARAMETER_COUNT]; /* NULL: the model's own default */
    const suite_model *model;
    const suite_vae *vae;     /* program vae_decode; else NULL */
    const suite_vae *decoder; /* that comes after denoising, where the scope is a pipeline; else NULL */
    const suite_platform *platform;
    int64_t width_px, height_px, num_frames, text_tokens; /* num_frames: 1 for images */
    int threads_per_rank, world_size;
    bool simulated;                /* the platform is a cluster that is simulated             */
    const char *profile, *element; /* of a simulated cell; of others "none", and what they compute with */
    const suite_profile *software; /* of a simulated cell: what the profile says; else NULL */
    bool fp8_linear, no_graphs;    /* of a device: linear layers in fp8; every launch apart   */
    int search_index;              /* which mesh of a search                                  */
    dit_parallel parallel;
    char method[64], mesh[64];
    const char *attention; /* what the degrees amount to */
    dit_facts facts;       /* zero for vae_decode and attention */
    bool emulates;         /* an oracle: one rank that computes what `emulated` must give */
    dit_parallel emulated;
    bool attends; /* program attention: `layer` and no model */
    dit_layer layer;
} suite_cell;

/* What is computed: the case document (results/schema/README.md) but for the members of suite_case_placement. Configs
 * are references into the matrix. */
dit_status suite_case_document(const suite_workload *workload, const suite_cell *cell, cJSON **out);
/* Adds how and where it is computed, and how often; the mesh of a cell is settled by now. */
dit_status suite_case_placement(const suite_workload *workload, const suite_cell *cell, cJSON *document);
/* The flat tags of a cell whose facts are known. */
dit_status suite_case_tags(const suite_workload *workload, const suite_cell *cell, cJSON **out);
/* Fills label, ids, world size and predictions of a case that has its document and tags. */
dit_status suite_case_finish(const suite_workload *workload, const suite_cell *cell, suite_case *out);
/* The oracle of an approximate cell: the same on one rank, emulating. */
suite_cell suite_cell_oracle(const suite_cell *cell);
/* Estimated peak bytes of a rank by memory class; not of a decode. */
void suite_cell_memory(const suite_cell *cell, int64_t bytes[4]);
/* A number of the cell: its value, or the model's default, or 0 of a layer. Errors: DIT_ERR_JSON_MISSING. */
dit_status suite_cell_number(const suite_cell *cell, suite_parameter parameter, double *out);

#endif
