/* Mesh: which rank does what, whether a configuration is legal, and what each method must send.
 *
 * world = data x cfg x pipefusion x patch x ring x ulysses x tensor; rank order from fastest to slowest: tensor,
 * ulysses, ring, patch, pipefusion, cfg, data (xDiT's "tp-sp-pp-cfg-dp" with the Ulysses group contiguous inside SP).
 * Everything here is pure: the engine and the harness call the same functions, and a mesh can be printed and tested
 * without running.
 */
#ifndef DIT_BASE_MESH_H
#define DIT_BASE_MESH_H

#include "base/json.h"
#include "base/latent.h"
#include "base/status.h"
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    DIT_AXIS_TENSOR, /* fastest */
    DIT_AXIS_ULYSSES,
    DIT_AXIS_RING,
    DIT_AXIS_PATCH, /* displaced patches: a rank's own rows are fresh, those of others a step old, or not there */
    DIT_AXIS_PIPEFUSION,
    DIT_AXIS_CFG,
    DIT_AXIS_DATA, /* slowest */
    DIT_AXIS_COUNT,
    DIT_AXIS_WORLD = DIT_AXIS_COUNT, /* no axis of the mesh but all its ranks as one group: the rows of a decode */
    DIT_GROUP_COUNT                  /* what communicators, counters and volumes are kept by */
} dit_axis;

const char *dit_axis_name(dit_axis axis); /* "ulysses"        */
const char *dit_axis_key(dit_axis axis);  /* "ulysses_degree" */

/* How the text of joint attention is laid out over the sequence ranks. */
typedef enum {
    DIT_JOINT_TEXT_AUTO,      /* split when text tokens divide, else replicate */
    DIT_JOINT_TEXT_SPLIT,     /* each sequence rank owns a share of the text   */
    DIT_JOINT_TEXT_REPLICATE, /* every sequence rank holds all of the text     */
    DIT_JOINT_TEXT_COUNT
} dit_joint_text;
const char *dit_joint_text_name(dit_joint_text layout);
bool dit_joint_text_from_name(const char *name, dit_joint_text *out);

/* What the ranks of the patch axis know of each other's K and V, after the synchronous steps. */
typedef enum {
    DIT_PATCH_DISTRIFUSION, /* all of it, a step late                                       */
    DIT_PATCH_PCPP,         /* of the two neighbours the rows next to the own, a step late  */
    DIT_PATCH_NAIVE,        /* nothing                                                      */
    DIT_PATCH_METHOD_COUNT
} dit_patch_method;
const char *dit_patch_method_name(dit_patch_method method); /* "distrifusion", "pcpp", "naive-patch" */
bool dit_patch_method_from_name(const char *name, dit_patch_method *out);

enum { DIT_MAX_STAGES = 64 };

/* Degrees; 0 is read as 1. */
typedef struct {
    int degree[DIT_AXIS_COUNT];
    dit_joint_text joint_text;
    /* Of methods that work with K and V of the step before (degree of pipefusion or patch above 1); otherwise 0. */
    int warmup_steps;                 /* so many first steps are synchronous, and exact; 0: an uncounted synchronous
                                         forward fills the stores, so that nothing depends on the request before */
    int num_pipeline_patch;           /* bands of rows that follow each other through the stages; 0: one per stage */
    int stage_blocks[DIT_MAX_STAGES]; /* blocks of each stage, attn_layer_num_for_pp; [0] = 0: as even as it goes  */
    dit_patch_method patch_method;    /* of the patch axis */
    double patch_fraction;            /* of a neighbour's rows that PCPP gets, in (0, 1]; 0: a half */
    bool text_with_every_band; /* joint text passes a pipeline with every band, as in xDiT; else with the first */
    bool exchange_alone;       /* a ring is within an all-to-all of each rank with itself, as in xDiT; else by itself */
    bool stores_filled; /* without warmup_steps: what the request before left in the stores is taken, as in xDiT */
    int rows_degree;    /* ranks that share the rows of a decode (base/rows.h): 1, or all. No axis: the ranks are the
                           mesh's, and where there is no mesh, so many */
} dit_parallel;

/* Blocks alike that follow each other. Each has one self-attention over the sequence (joint: with the text), and
 * further `image_layers` over image tokens alone (SD3.5's second one). The rest is how often tensor ranks add up what
 * they have. Per step, of [rows, hidden]: `image` of a stream's image rows, `text` of its text rows, `both` of all rows
 * of a joint block with one stream; `norms` of one number an image row, where a norm is over all heads together. Once
 * an image `memory` of one number a text row, and, with a conditioning picture, as many of picture_tokens rows. */
typedef struct {
    int64_t count, image_layers;
    struct {
        int64_t image, text, both, norms, memory;
    } sums;
} dit_block_run;
enum { DIT_MAX_BLOCK_RUNS = 64 };

/* What legality and volumes need to know of a model and its run; see dit_facts_from_case. */
typedef struct {
    char family[64];   /* diffusers class, "PixArtTransformer2DModel"          */
    dit_latent latent; /* what is denoised; image_tokens and token_channels follow from it */
    int64_t layers;    /* transformer blocks, what pipeline stages share; the sum of blocks[].count */
    dit_block_run blocks[DIT_MAX_BLOCK_RUNS]; /* in order; unused ones have count 0 */
    int64_t skips;             /* block i feeds block layers - 1 - i, for i below this (HunyuanDiT); 0: none */
    int64_t heads, head_dim;   /* hidden = heads * head_dim                            */
    int64_t image_tokens;      /* S of one image or clip                               */
    int64_t segments;          /* the sequence is cut, and attended to, in each of so many equal parts; 0: one */
    int64_t text_tokens;       /* St                                                   */
    int64_t token_channels;    /* floats of latent a token carries, C * patch_t * patch^2 */
    int64_t num_images;        /* over all data ranks                                  */
    int64_t guidance_branches; /* 2: real CFG; 1: distilled or none                    */
    int64_t steps;             /* num_inference_steps                                  */
    bool joint;                /* text takes part in the self-attention                */
    int64_t parameters;        /* estimate from the shapes; weights of one full copy   */
    int64_t mlp_ratio;         /* inner width of the MLP over hidden                   */
    int64_t picture_tokens;    /* of a conditioning picture (Wan); 0: none             */
    int64_t element_bytes;     /* of activations; 0: 4. Latents have 4 always          */
} dit_facts;
/* Appends `count` blocks like `run`; does nothing for 0. Errors: DIT_ERR_UNSUPPORTED when there are too many kinds. */
dit_status dit_facts_add_blocks(dit_facts *facts, int64_t count, const dit_block_run *run);
/* Blocks [first, first + count) together: totals of everything in a dit_block_run. */
dit_block_run dit_facts_blocks(const dit_facts *facts, int64_t first, int64_t count);

/* Facts from a case document (keys model.config, model.latent, model.text, model.guidance, model.parameters, run).
 * Reads diffusers' own config keys and the model file's, so a new family needs nothing here while it spells them alike.
 * Errors: DIT_ERR_JSON_*, DIT_ERR_CONSTRAINT_RESOLUTION. */
dit_status dit_facts_from_case(const dit_json *doc, const cJSON *kase, const char *pointer, dit_facts *out);

/* Reads {"ulysses_degree":2,...,"joint_text":"auto","rows_degree":1}; absent degrees are 1, unknown keys are errors. To
 * JSON, rows_degree is left out where it is 1. */
dit_status dit_parallel_from_json(const dit_json *doc, const cJSON *object, const char *pointer, dit_parallel *out);
dit_status dit_parallel_to_json(const dit_parallel *parallel, cJSON *object);
int dit_parallel_world_size(const dit_parallel *parallel);
/* patch * ring * ulysses: ranks that share the rows of an image. */
int dit_parallel_sequence_degree(const dit_parallel *parallel);
/* The parts of a label such as "u2 r2 pp4 M4 W0", in the order they are written. */
typedef enum {
    DIT_LABEL_ULYSSES,
    DIT_LABEL_RING,
    DIT_LABEL_PATCH,
    DIT_LABEL_PIPEFUSION,
    DIT_LABEL_TENSOR,
    DIT_LABEL_CFG,
    DIT_LABEL_DATA,
    DIT_LABEL_ROWS,
    DIT_LABEL_STAGES,
    DIT_LABEL_BANDS,
    DIT_LABEL_FRACTION,
    DIT_LABEL_WARMUP,
    DIT_LABEL_COUNT
} dit_label_part;
typedef struct {
    const char *prefix;  /* "u" of "u2"; "" where the part is the value alone ("7,7,6")       */
    const char *key;     /* the parameter whose value follows: "ulysses_degree"               */
    const char *example; /* "u2"                                                              */
    const char *meaning; /* a sentence                                                        */
} dit_label_info;
/* The one table of what stands in labels; the glossary and `ditbench help labels` show it. */
const dit_label_info *dit_label_get(dit_label_part part);

/* "u2", "r4", "u2 r2 cfg2", "rows4", "1" for a single rank: the short label of plots and tables. */
void dit_parallel_label(const dit_parallel *parallel, char out[64]);
/* split or replicate: what AUTO becomes. For models without joint attention: DIT_JOINT_TEXT_REPLICATE. */
dit_joint_text dit_parallel_joint_text(const dit_parallel *parallel, const dit_facts *facts);

/* ---- pipelines and patches --------------------------------------------------------------------------------------- */

/* A piece of something that is numbered from 0. */
typedef struct {
    int64_t first, count;
} dit_range;
/* Piece `index` of `total` things cut into `pieces` parts as even as it goes. */
dit_range dit_range_cut(int64_t total, int64_t pieces, int64_t index);
/* Transformer blocks of pipeline stage `stage`. */
dit_range dit_parallel_stage(const dit_parallel *parallel, const dit_facts *facts, int stage);
/* How many bands of rows a pipeline has: what was asked for, at most one per row of a rank; 1 without a pipeline. Band
 * `index` of a rank is dit_range_cut(rows of a segment, bands, index) of every segment; the bands of all sequence ranks
 * lie together in the image, so that band 0 of all of them is its top. */
int64_t dit_parallel_bands(const dit_parallel *parallel, const dit_facts *facts);
/* Steps that run on K and V of the step before; 0: the run is exact. */
int dit_parallel_stale_steps(const dit_parallel *parallel, const dit_facts *facts);
/* Whether stores are filled by a synchronous forward before the first step. */
bool dit_parallel_has_fill(const dit_parallel *parallel, const dit_facts *facts);
/* Rows of a segment, of `rows` that a PCPP rank has, that each neighbour gets. */
int64_t dit_parallel_shared_rows(const dit_parallel *parallel, int64_t rows);
/* What decides the numbers of an approximate run, and nothing else: configurations whose latents agree have one such
 * form, and an oracle that emulates it checks them all. A pipeline has 2 stages, its bands, and as ring_degree the
 * ranks that share rows; patches their degree, method, layout of text and, of PCPP, the fraction. Without either:
 * all 1. The configuration must be legal; so is the result. */
dit_parallel dit_parallel_emulated(const dit_parallel *parallel, const dit_facts *facts);

/* DIT_OK, or the first rule that is broken, as an error with values (DIT_ERR_CONSTRAINT_*, stable codes). */
dit_status dit_parallel_check(const dit_parallel *parallel, const dit_facts *facts);

/* Coordinates of `rank` on every axis. */
void dit_mesh_coordinates(const dit_parallel *parallel, int rank, int coordinates[DIT_AXIS_COUNT]);
int dit_mesh_rank(const dit_parallel *parallel, const int coordinates[DIT_AXIS_COUNT]);
/* Ranks of the group of `rank` along `axis`, in order; `ranks` holds at least the axis's degree (the world's size).
 * Returns the size. */
int dit_mesh_group(const dit_parallel *parallel, int rank, dit_axis axis, int *ranks);
/* Prints one line per rank: coordinates and groups. */
void dit_mesh_print(const dit_parallel *parallel, FILE *file);

/* What the closed forms and the counters are kept by. */
typedef enum {
    DIT_COLLECTIVE_ALL_TO_ALL,
    DIT_COLLECTIVE_ALL_GATHER,
    DIT_COLLECTIVE_SEND_RECV,
    DIT_COLLECTIVE_ALL_REDUCE,
    DIT_COLLECTIVE_COUNT
} dit_collective;
typedef enum {
    DIT_PHASE_STEP,
    DIT_PHASE_GATHER,
    DIT_PHASE_DECODE,
    DIT_PHASE_COUNT
} dit_phase; /* the sampling loop; collecting latents; latents to pictures */
const char *dit_collective_name(dit_collective collective);
const char *dit_phase_name(dit_phase phase);

/* Sent by a rank over one whole image (all steps). */
typedef struct {
    int64_t bytes, messages;
} dit_volume;
typedef struct {
    dit_volume at[DIT_GROUP_COUNT][DIT_COLLECTIVE_COUNT][DIT_PHASE_COUNT];
} dit_volume_table;

/* Predicts everything that `rank` sends, exactly, by the closed forms at the top of volume.c. The configuration must be
 * legal. Ranks differ where there are pipeline stages or PCPP's neighbours. */
void dit_volume_predict(const dit_parallel *parallel, const dit_facts *facts, int rank, dit_volume_table *out);
int64_t dit_volume_total_bytes(const dit_volume_table *table);
/* Bytes of fp32 as bytes of an element of `element_bytes`: a simulation counts everything that it sends in its own. */
void dit_volume_resize(dit_volume_table *table, int element_bytes);

/* Estimated peak bytes by memory class (DIT_MEMORY_*) of a rank of the heaviest stage, before running: weights,
 * activations, stores of K and V; an upper guide for planning. */
void dit_memory_predict(const dit_parallel *parallel, const dit_facts *facts, int64_t bytes[4]);

#ifdef __cplusplus
}
#endif
#endif
