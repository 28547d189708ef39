/* Matrix: holds what a workload file declares, checked but not yet multiplied out, and one cell of it. Private to
 * suite/workload. */
#ifndef DIT_SUITE_WORKLOAD_MATRIX_H
#define DIT_SUITE_WORKLOAD_MATRIX_H

#include "base/cache.h"
#include "base/edit_plan.h"
#include "base/layer.h"
#include "base/residency.h"
#include "suite/catalogue/engine.h"
#include "suite/catalogue/model.h"
#include "suite/catalogue/parameter.h"
#include "suite/catalogue/vae.h"
#include "suite/layers/question.h"
#include "suite/platform/platform.h"
#include "suite/platform/profile.h"
#include "suite/sequences/sequence_question.h"

#ifndef SUITE_MAX_CELLS
#define SUITE_MAX_CELLS 100000 /* the fuzzer is built with fewer: what is large is slow, and teaches it nothing */
#endif

/* One factor of the product: an axis, or several axes tied by zip. All values are arrays of `length`. */
typedef struct {
    int length, axis_count;
    suite_parameter parameters[SUITE_PARAMETER_COUNT];
    const cJSON **values[SUITE_PARAMETER_COUNT]; /* [axis][length], owned */
} suite_dimension;

/* A data file that a value of the workload names; it is found again by the value's address. */
typedef struct {
    const cJSON *value;
    suite_model model;
    suite_vae vae;     /* the model's; without a config where neither program nor scope has it */
    char pointer[128]; /* where the value stands */
} suite_model_value;
typedef struct {
    const cJSON *value; /* NULL: the default platform */
    suite_platform platform;
} suite_platform_value;
typedef struct {
    const cJSON *value; /* NULL: the default profile */
    suite_profile profile;
} suite_profile_value;

typedef struct suite_matrix {
    const cJSON *defaults[SUITE_PARAMETER_COUNT]; /* NULL where the workload says nothing */
    bool declared[SUITE_PARAMETER_COUNT], varies[SUITE_PARAMETER_COUNT];
    suite_dimension dimensions[SUITE_PARAMETER_COUNT + 1]; /* one more than there can be: read, then refused */
    int dimension_count;
    int64_t cell_count;
    const struct suite_program *program; /* programs/program.h */
    const cJSON *exclude, *constraints;  /* arrays of strings, or NULL */
    int64_t warmup_runs, iterations, deadline_s;
    int64_t warmup_most; /* 0: a fixed number of warm-up runs */
    bool trace;          /* one more run of every case, recorded */
    bool converged;      /* pictures are held against a converged reference (programs/converged.h) */
    bool gemm;           /* a product of matrices is timed beside the iterations of one attention layer */
    bool probe;          /* one more run of every case, in which every layer is compared from step to step */
    bool prompts_differ; /* each image of a batch has a prompt of its own                            */
    bool waits;          /* simulated: the host waits for the device after every forward of a layer */
    const char *scope;   /* what a time covers: denoise; latents: text encoders, too; pipeline: and the VAE */
    suite_model_value *models;
    int model_count;
    suite_platform_value *platforms;
    int platform_count;
    suite_profile_value *profiles;
    int profile_count;
    cJSON *made; /* values that no file has, owned; NULL: none */
} suite_matrix;

void suite_matrix_free(suite_matrix *matrix);

/* A cell in which all names are looked up and nothing is judged. Pointers lie in the matrix. */
typedef struct {
    const cJSON *values[SUITE_PARAMETER_COUNT]; /* NULL: the model's own default */
    const struct suite_program *program;
    const suite_model *model; /* NULL: the program has none */
    const suite_vae *vae;     /* the model's, where the program or the scope has it; else NULL */
    const suite_platform *platform;
    int64_t width_px, height_px, num_frames, text_tokens; /* num_frames: 1 for images */
    int threads_per_rank, world_size;
    const char *scope;             /* what a time covers: denoise, latents or pipeline        */
    bool simulated;                /* the platform is a cluster that is simulated             */
    const char *profile, *element; /* of a simulated cell; of others "none", and what they compute with */
    const suite_profile *software; /* of a simulated cell: what the profile says; else NULL */
    bool fp8_linear, no_graphs;    /* of a device: linear layers in fp8; every launch apart   */
    const suite_engine *engine;    /* what runs it: ours, or an external one                  */
    int search_index;              /* which mesh of a search                                  */
    dit_parallel parallel;
    char method[64], mesh[64];
    const char *attention; /* what the degrees amount to */
    dit_facts facts;       /* of program denoise */
    bool emulates;         /* an oracle: one rank that computes what `emulated` must give */
    dit_parallel emulated;
    bool converges;                    /* the converged reference of other cells */
    dit_cache cache;                   /* of program denoise; of an oracle, the one that it emulates */
    dit_edit_plan edit;                /* likewise: how pictures of edited captions are drawn again */
    dit_offload offload;               /* where weights lie that are not resident */
    dit_layer layer;                   /* of program attention  */
    suite_layer_question question;     /* of program layer_plan    */
    suite_sequence_question sequences; /* of program sequence_plan */
} suite_cell;

/* A number of the cell: its value, or the model's default, or 0 without a model. Errors: DIT_ERR_JSON_MISSING. */
dit_status suite_cell_number(const suite_cell *cell, suite_parameter parameter, double *out);
/* An integer of the cell's own; `otherwise` where it has none. */
int64_t suite_cell_int(const suite_cell *cell, suite_parameter parameter, int64_t otherwise);
/* Whether a switch of the cell is on; one that nobody set is off. */
bool suite_cell_is_on(const suite_cell *cell, suite_parameter parameter);

#endif
