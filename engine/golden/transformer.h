/* What golden folders of transformers share: a model made from a folder, its inputs, and the comparison of tokens with
 * tensors in the file's layout. */
#ifndef DIT_ENGINE_GOLDEN_TRANSFORMER_H
#define DIT_ENGINE_GOLDEN_TRANSFORMER_H

#include "engine/golden/golden.h"
#include "engine/models/model.h"

typedef struct {
    dit_tap tap; /* first member: taps are cast back */
    golden_report *report;
    const dit_model_ops *ops;
    dit_json config;
    dit_safetensors *weights_file, *inputs, *output;
    dit_weights weights;
    dit_facts facts;
    int64_t reference_height_px, reference_width_px; /* of a picture behind the latent; 0: none */
    bool first_frame;                                /* of a clip, which is given                */
    dit_runtime rt;
    dit_partition partition;
    dit_model *model;
    dit_condition condition;
    double tolerance; /* of taps */
} golden_transformer;

/* Reads config.json of `model_folder` and opens its weights, and inputs and output of `folder`. */
dit_status golden_transformer_open(golden_transformer *g, const char *model_folder, const char *folder);
/* Sets the latent's extents and the text tokens from the named inputs; gives the latents' rows and channels. */
dit_status golden_transformer_size(golden_transformer *g, const char *latents, const char *text, int64_t *rows,
                                   int64_t *channels);
/* Starts the runtime for the (completed) facts and creates the model. Collective. */
dit_status golden_transformer_create(golden_transformer *g, const dit_case_platform *platform, bool tapped);
void golden_transformer_release(golden_transformer *g);

/* Reads this rank's tokens of an input [rows, ...] of `channels` channels, over the guidance batch or its images, into
 * an array of operators. */
dit_status golden_transformer_latents(golden_transformer *g, const char *name, int64_t rows, int64_t channels,
                                      bool guidance_batch, float *local);
/* Compares whole tokens [rows, S, token floats] with a tensor in the file's layout. */
dit_status golden_transformer_compare(golden_transformer *g, const char *name, const float *tokens, int64_t rows,
                                      int64_t token_floats, double tolerance);

#endif
