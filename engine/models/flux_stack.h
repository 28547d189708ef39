/* What FLUX.1 and FLUX.2 share: embedders around double and single joint blocks, rotary positions by ids, a head. Their
 * files have configs, names and what modulates the blocks.
 *
 * Both streams live in one buffer, [batch, text rows + image rows, C] with the text first, so the concatenation before
 * the single blocks costs nothing.
 */
#ifndef DIT_ENGINE_FLUX_STACK_H
#define DIT_ENGINE_FLUX_STACK_H

#include "engine/models/embed.h"
#include "engine/models/joint.h"

enum { FLUX_PACK = 2, FLUX_MAX_AXES = 4 };

/* The model sets the first group of members, then calls flux_stack_create. */
typedef struct {
    int64_t doubles, singles, in_channels, out_channels, text_dim, axis_count;
    int64_t axes[FLUX_MAX_AXES]; /* widths of a head's rotation by each id                            */
    double theta;
    int64_t reference_id;  /* the first id of a reference's tokens; of the second one twice that, and so on */
    bool text_is_numbered; /* the last id of text is its place; else all ids of text are 0      */
    const char *time_name; /* the module that embeds timestep, pooled text and guidance         */
    embed_combined time;   /* its first group of members */
    joint j;               /* its first group of members */

    dit_linear x_embedder, context_embedder, norm_out, proj_out;
    joint_block *double_blocks;
    joint_stream *single_blocks;
    float *cosines, *sines; /* [text + image rows, D] image's life  */
    float *ids;             /* [text + image rows, axis_count]      */
    float *context;         /* [batch, text rows, C] projected text */
} flux_stack;

/* The latent whose tokens have so many channels: packed patches of 2x2. Errors: DIT_ERR_UNSUPPORTED where patch_size or
 * channels are those of none. */
dit_status flux_latent(int64_t patch, int64_t channels, dit_latent *out);
/* Loads weights, takes buffers, and says what the model needs. `model->state` begins with the stack; joint_create has
 * made its blocks' buffers. Collective. */
dit_status flux_stack_create(const dit_model_params *params, dit_model *model);

/* dit_model_ops of a model whose state begins with a stack. */
dit_status flux_stack_prepare(dit_model *model, const dit_condition *condition);
dit_status flux_stack_begin(dit_model *model, const float *timestep);
dit_status flux_stack_embed(dit_model *model, const float *latents);
dit_status flux_stack_attention_input(dit_model *model, float *out);
dit_status flux_stack_block(dit_model *model, int64_t index);
dit_status flux_stack_head(dit_model *model, float *output);

#endif
