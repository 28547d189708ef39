/* Request: holds what a person asked of `ditbench generate`, and makes the case of it.
 *
 * A source is a diffusers checkpoint folder (model_index.json, transformer/, vae/, scheduler/), a folder of an
 * end-to-end run exported from diffusers (e2e.json, inputs.safetensors), or a model of workloads/models. Options
 * replace parts of it. Everything else comes from the default_run of the catalogue's model of that class and size.
 */
#ifndef DIT_SUITE_GENERATE_REQUEST_H
#define DIT_SUITE_GENERATE_REQUEST_H

#include "base/json.h"
#include "base/parallel.h"
#include "base/residency.h"

/* All that may be asked for. Zero and NULL mean: not asked for (scales, flow_shift: NAN; seeds: -1). */
typedef struct {
    const char *source;
    const char *inputs;         /* safetensors file of embeddings and latents      */
    const char *const *prompts; /* captions for the model's text table, [prompt_count] */
    int prompt_count;
    const char *negative_prompt; /* of text encoders; NULL: the empty one                                 */
    const char *prompt_2, *prompt_3, *negative_prompt_2,
        *negative_prompt_3;            /* of the encoders behind the first; NULL: as it */
    int64_t clip_skip;                 /* blocks that SD3's CLIPs leave out */
    int64_t max_sequence_length;       /* tokens of a prompt; 0: the pipeline's                                  */
    bool clean_caption;                /* of PixArt, Latte and Sana                                           */
    bool takes_sizes;                  /* as they are, where the pipeline has sizes of its own (binning.h)    */
    const char *text_encoder_parallel; /* base/text_parallel.h; NULL: replicated                           */
    bool stream_text_encoders;         /* block by block                                                   */
    const char *split;                 /* or: the first split_count captions of a split of shapes, by its name */
    int64_t split_count;
    const char *transformer, *vae, *scheduler; /* folder, folder, file or folder                  */
    const char *weights;                       /* of the transformer, for a model of the catalogue */
    int64_t height, width, num_frames, num_inference_steps, num_images, images_per_prompt, seed, weights_seed,
        frames_per_s, threads;
    const char *noise; /* counter, torch or torch-each */
    double guidance_scale, guidance_scale_2, true_cfg_scale, flow_shift;
    double frame_rate;                         /* of LTX-Video's positions; NAN: the pipeline's */
    double guidance_rescale;                   /* of LTX-Video and HunyuanDiT; NAN: none */
    double cfg_truncation;                     /* of Z-Image; NAN: every step is guided */
    double cfg_normalization, cfg_trunc_ratio; /* NAN: the pipeline's */
    const char *image;                         /* the picture to start from; NULL: none                        */
    const char *const *more_images;            /* [more_image_count] behind it, of pipelines that take several */
    int more_image_count;
    const char *reference_resolution; /* of that picture where it is a reference; NULL: as the one that is made */
    const char *mask_image;           /* where it is painted anew; NULL: none                     */
    double strength;                  /* how much of it is replaced; NAN: 0.6, as pipelines have it  */
    const char *frames;               /* of a clip: animated, numbered, mp4 or webm */
    bool tiling, latents_only, pixels, trace, probe, fp8_linear, no_graphs;
    double decode_timestep, decode_noise_scale; /* of a VAE that is told a timestep; NAN: the pipeline's */
    const char *vae_split;                      /* what ranks of a shared decode divide; NULL: rows */
    dit_parallel parallel;
    const char *cache;   /* settings as JSON (docs/caches.md) */
    dit_offload offload; /* where weights lie that are not resident (docs/memory.md)               */
    const char *attention, *backend, *element; /* element: of devices; NULL: as the backend has it */
} suite_request;

/* The case document of program "generate"; the caller deletes *out. `picture` names the file. *notes (caller frees, may
 * be "") are lines for people: which defaults were taken from where.
 * Errors: DIT_ERR_NOT_FOUND, DIT_ERR_IO, DIT_ERR_JSON_*, DIT_ERR_USAGE, DIT_ERR_UNSUPPORTED. */
dit_status suite_request_case(const suite_request *request, const char *picture, cJSON **out, char **notes);

#endif
