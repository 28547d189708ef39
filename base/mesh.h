/* Mesh: which rank does what, whether a configuration is legal, and what each method must send.
 *
 * world = data x cfg x pipefusion x ring x ulysses x tensor; rank order from fastest to slowest: tensor, ulysses, ring,
 * pipefusion, cfg, data (xDiT's "tp-sp-pp-cfg-dp" with the Ulysses group contiguous inside SP). Everything here is
 * pure: the engine and the harness call the same functions, and a mesh can be printed and tested without running.
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

/* Degrees; 0 is read as 1. */
typedef struct {
    int degree[DIT_AXIS_COUNT];
    dit_joint_text joint_text;
    int rows_degree; /* ranks that share the rows of a decode (base/rows.h): 1, or all. No axis: the ranks are the
                        mesh's, and where there is no mesh, so many */
} dit_parallel;

/* How often tensor ranks add up what they have. Per step, of [rows, hidden]: `image` of a stream's image rows, `text`
 * of its text rows, `both` of all rows of a joint block with one stream; `norms` of one number an image row, where a
 * norm is over all heads together. Once an image `memory` of one number a text row, and, with a conditioning picture,
 * as many of picture_tokens rows. */
typedef struct {
    int64_t image, text, both, norms, memory, picture_tokens;
} dit_tensor_sums;

/* What legality and volumes need to know of a model and its run; see dit_facts_from_case. */
typedef struct {
    char family[64];           /* diffusers class, "PixArtTransformer2DModel"          */
    dit_latent latent;         /* what is denoised; image_tokens and token_channels follow from it */
    int64_t layers;            /* blocks whose self-attention spans the sequence (joint: with the text) */
    int64_t image_layers;      /* further self-attentions over image tokens alone (SD3.5's second one)  */
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
    dit_tensor_sums sums;      /* of tensor parallelism                                */
} dit_facts;

/* Facts from a case document (keys model.config, model.latent, model.text, model.guidance, model.parameters, run).
 * Reads diffusers' own config keys and the model file's, so a new family needs nothing here while it spells them alike.
 * Errors: DIT_ERR_JSON_*, DIT_ERR_CONSTRAINT_RESOLUTION. */
dit_status dit_facts_from_case(const dit_json *doc, const cJSON *kase, const char *pointer, dit_facts *out);

/* Reads {"ulysses_degree":2,...,"joint_text":"auto","rows_degree":1}; absent degrees are 1, unknown keys are errors. To
 * JSON, rows_degree is left out where it is 1. */
dit_status dit_parallel_from_json(const dit_json *doc, const cJSON *object, const char *pointer, dit_parallel *out);
dit_status dit_parallel_to_json(const dit_parallel *parallel, cJSON *object);
int dit_parallel_world_size(const dit_parallel *parallel);
/* ring * ulysses */
int dit_parallel_sequence_degree(const dit_parallel *parallel);
/* "u2", "r4", "u2 r2 cfg2", "rows4", "1" for a single rank: the short label of plots and tables. */
void dit_parallel_label(const dit_parallel *parallel, char out[64]);
/* split or replicate: what AUTO becomes. For models without joint attention: DIT_JOINT_TEXT_REPLICATE. */
dit_joint_text dit_parallel_joint_text(const dit_parallel *parallel, const dit_facts *facts);

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

/* Sent per rank over one whole image (all steps). */
typedef struct {
    int64_t bytes, messages;
} dit_volume;
typedef struct {
    dit_volume at[DIT_GROUP_COUNT][DIT_COLLECTIVE_COUNT][DIT_PHASE_COUNT];
} dit_volume_table;

/* Closed form of everything the methods send, fp32 (e = 4). PARALLEL.md section 2, exact with joint text.
 * The configuration must be legal. */
void dit_volume_predict(const dit_parallel *parallel, const dit_facts *facts, dit_volume_table *out);
int64_t dit_volume_total_bytes(const dit_volume_table *table);

/* Estimated peak bytes per rank by memory class (DIT_MEMORY_*), before running; an upper guide for planning. */
void dit_memory_predict(const dit_parallel *parallel, const dit_facts *facts, int64_t bytes[4]);

#ifdef __cplusplus
}
#endif
#endif
