/* What the files of this room share: the state of a cache, and indicators, which are what a measured policy compares; each
 * indicator is a file and a row of the table in cache.c. */
#ifndef DIT_ENGINE_CACHE_IMPL_H
#define DIT_ENGINE_CACHE_IMPL_H

#include "engine/cache/cache.h"

/* What a policy asks to be done around the first blocks. Each entry only queues operators; NULL: nothing. */
typedef struct {
    dit_status (*embedded)(dit_cache_run *run); /* the stream has what the first block takes            */
    void (*first_done)(dit_cache_run *run);     /* the first blocks have run; run->now has the value     */
    bool every_step;                            /* the reference is the value of the step before, else of
                                                   the last computed one                                 */
} dit_cache_indicator;

/* x_F - x_0 over image rows, against that of the last computed step: fbcache and dbcache. */
extern const dit_cache_indicator dit_cache_first_blocks;
/* What the first block gives its attention, against that of the step before: teacache. */
extern const dit_cache_indicator dit_cache_modulated_input;

/* The timestep's embedding, against that of the step before: teacache-time. */
extern const dit_cache_indicator dit_cache_timestep;

/* ---- the state, for indicators ----------------------------------------------------------------------------------- */

/* Rows of the stream that a cache keeps: image rows, or all of them where last blocks read text, too. */
typedef struct {
    int64_t batch, rows, width;   /* kept [batch, rows, width] dense                      */
    int64_t skipped, stream_rows; /* rows of text before them, and of the stream in all   */
} dit_cache_rows;

struct dit_module_store;
struct dit_output_store;
struct dit_block_store;
struct dit_branch_store;

struct dit_cache_run {
    dit_model *model;
    dit_runtime *rt;
    dit_cache settings;
    struct dit_module_store *modules;      /* NULL: the policy reuses no modules                                 */
    struct dit_output_store *outputs;      /* NULL: the policy reuses no outputs of whole forwards               */
    struct dit_block_store *blocks;        /* NULL: the policy does not decide for each block                    */
    struct dit_branch_store *branches;     /* NULL: no output is made of another branch's                        */
    const dit_cache_indicator *indicator;  /* NULL: a schedule                                                  */
    dit_cache_rows image, kept;            /* rows that indicators compare, those of the image or one of the timestep's
                                              embedding; the rows that are reused                                */
    float *added[1 + DIT_CACHE_MAX_ORDER]; /* what the middle blocks added, and its differences from step to step */
    float *now;                            /* scratch of kept.rows: the indicator's value, then what is added now */
    float *embedding;                      /* [image] of the timestep, where that is the value; else NULL          */
    float *reference;                      /* [image]: the indicator's value in an earlier step                   */
    double *of_rows, *sums, *gathered[2];  /* the sums of rows; of this rank [2]; of ranks                       */
    int differences;                       /* how many of `added` beyond the first are filled                    */
    dit_cache_state state;
    dit_cache_log log;
};

/* A forward of a cached run, for the parts of it. */
typedef struct {
    dit_cache_run *run;
    const dit_forward_args *args;
} dit_cache_call;

/* Returns the weight of difference i, k steps after the last computed one: k^i / i!, or w k. */
float dit_cache_weight(const dit_cache *cache, int i, int k);

/* ---- what policies of modules keep (modules.c) ------------------------------------------------------------------- */

/* Takes memory for the outputs of the policy's modules, from rt->image and rt->step. Errors: DIT_ERR_MEMORY. */
dit_status dit_module_store_create(dit_cache_run *run);
/* Begins a request: nothing is kept, and the schedule is that of the settings. */
void dit_module_store_reset(struct dit_module_store *store);
/* Runs the forward of step run->state.step: all modules that the schedule does not take. Errors: those of the model. */
dit_status dit_module_store_forward(dit_cache_run *run, const dit_forward_args *args);
/* Returns the floats that are kept. */
int64_t dit_module_store_elements(const struct dit_module_store *store);

/* ---- steps that run the positive guidance branch alone (branches.c) ------------------------------------------------ */

/* Takes memory for how the branches' outputs differ, from rt->image and rt->step. Errors: DIT_ERR_MEMORY. */
dit_status dit_branch_store_create(dit_cache_run *run);
/* Returns the bytes that are kept; 0 without a store. */
int64_t dit_branch_store_bytes(const dit_cache_run *run);
/* Returns what a forward of the positive branch takes and gives: its parts of the batch, which follow the others. */
dit_forward_args dit_branch_positive(const dit_cache_run *run, const dit_forward_args *args);
/* Ends the forward of step run->state.step: gives the negative branch an output, if it has none, or keeps how it differs
 * where later steps take that. */
dit_status dit_branch_finish(dit_cache_run *run, const dit_forward_args *args);

/* ---- what policies of whole forwards keep (outputs.c) -------------------------------------------------------------- */

/* Takes memory for latents and outputs, from rt->image and rt->step. Errors: DIT_ERR_MEMORY. */
dit_status dit_output_store_create(dit_cache_run *run);
/* Takes the latents of the step, for all that follows. */
void dit_output_store_begin(dit_cache_run *run, const dit_forward_args *args);
/* Measures how much the output may have changed. Collective over the ranks that decide together. Errors: DIT_ERR_NONFINITE. */
dit_status dit_output_store_measure(dit_cache_run *run, double *value);
/* Runs the whole forward, or makes its output of what is kept. Errors: those of the model. */
dit_status dit_output_store_forward(dit_cache_run *run, const dit_forward_args *args, bool hit);
/* Returns the bytes that are kept. */
int64_t dit_output_store_bytes(const dit_cache_run *run);

/* ---- what policies of single blocks keep (blocks.c) ---------------------------------------------------------------- */

/* Takes memory for the inputs of blocks and for what they added, from rt->image and rt->step. Errors: DIT_ERR_MEMORY. */
dit_status dit_block_store_create(dit_cache_run *run);
/* Begins a request: no block has been computed. */
void dit_block_store_reset(dit_cache_run *run);
/* Runs the blocks in the middle, each computed or reused, as `decision` says or tests do, and notes it in the log.
 * *decision becomes that of the step. Collective over the ranks that decide together. Errors: those of the model;
 * DIT_ERR_NONFINITE. */
dit_status dit_block_store_run(dit_cache_run *run, char *decision, double *value);
/* Returns the bytes that are kept. */
int64_t dit_block_store_bytes(const dit_cache_run *run);

/* ---- for the stores ------------------------------------------------------------------------------------------------ */

/* Takes what a test needs beside the store's own arrays: the sums of `rows` rows, of this rank and of all that decide. */
dit_status dit_cache_take_sums(dit_cache_run *run, int64_t rows);
/* *value becomes sum |a - b| / sum |b| over [run->image] of all ranks that decide together; 0 where both are 0.
 * Errors: DIT_ERR_NONFINITE. */
dit_status dit_cache_compare(dit_cache_run *run, const float *a, const float *b, double *value);
/* Gathers the sums of all ranks that decide together; *out has dit_cache_sums of each, in the order of ranks. */
dit_status dit_cache_gather_sums(dit_cache_run *run, const double **out);
/* Where what is added to the stream is collected, [run->kept] dense, before dit_cache_renew. */
float *dit_cache_change(dit_cache_run *run);
/* Makes differences of each order from the change and the last ones; without an order, nothing. */
void dit_cache_renew(dit_cache_run *run);
/* Returns the steps from the newest computed one to this one. */
int dit_cache_age(const dit_cache_run *run);

/* stream += x over the rows; x is dense. */
void dit_cache_add(dit_cache_run *run, const dit_cache_rows *rows, const float *x);
/* out = a x + b out over the rows of the stream; `out` is dense. b 0: out is not read. */
void dit_cache_take(dit_cache_run *run, const dit_cache_rows *rows, float a, float b, float *out);

#endif
