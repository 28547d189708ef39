/* Case: what a sampling run shall do, read strictly from its document (results/schema/case.md). */
#ifndef DIT_ENGINE_CASE_H
#define DIT_ENGINE_CASE_H

#include "base/cache.h"
#include "base/dtype.h"
#include "base/edit_plan.h"
#include "base/json.h"
#include "base/facts.h"
#include "base/parallel.h"
#include "base/request.h"
#include "base/residency.h"
#include "engine/runtime/condition.h"
#include "engine/shapes/split.h"

enum { DIT_CASE_MAX_ITERATIONS = 1000, DIT_CASE_MAX_CAPTIONS = 4096, DIT_CASE_MORE_PROMPTS = 2 };

/* A picture behind the latent. */
typedef struct {
    const char *path; /* NULL: its latents are seeded, or the conditions give them */
    int64_t height_px, width_px;
    int64_t cut_height_px,
        cut_width_px; /* it is resized to that, and its middle is taken; 0: it is resized to its size */
    int64_t seen_height_px, seen_width_px; /* of what a text encoder sees of it; 0: the same size */
} dit_case_reference;

/* How noise is made of a seed. */
typedef enum {
    DIT_NOISE_COUNTER,    /* counted numbers (base/rng.h), each rank its own                       */
    DIT_NOISE_TORCH,      /* as diffusers with one generator of PyTorch for all images             */
    DIT_NOISE_TORCH_EACH, /* as diffusers with a list of generators, seeds seed, seed + 1, ...     */
    DIT_NOISE_COUNT
} dit_noise;
extern const char *const dit_noise_names[DIT_NOISE_COUNT + 1]; /* NULL-terminated */

typedef struct {
    const dit_json *doc;
    char case_id[33];                            /* hash of the canonical document */
    const cJSON *model_config, *scheduler, *vae; /* vae: NULL, or {"config", "weights", "tiling"}              */
    const char *weights_path;                    /* NULL: seeded with weights_seed                             */
    uint64_t weights_seed;
    bool two_transformers;   /* the second one has the steps whose timestep is below boundary_ratio of all; its config
                                     is the first one's */
    double boundary_ratio;   /* in (0, 1)                                                                */
    const char *second_path; /* its weights, as weights_path and weights_seed                            */
    uint64_t second_seed;
    const char *shipped;         /* name of shipped weights (engine/files/shipped.h), instead of a path; or NULL */
    const char *shipped_digest;  /* that they must have (dit_safetensors_digest)              */
    const char *conditions_path; /* a file of embeddings (and latents) by pipeline names; NULL: seeded with `seed` */
    const cJSON *prompts;        /* list of texts, which the text encoders of the folder `pipeline` read; or NULL */
    const char *pipeline, *negative_prompt; /* a diffusers folder; of the guidance branch, never NULL      */
    const char *
        prompt_more[DIT_CASE_MORE_PROMPTS]; /* prompt_2, prompt_3, of the encoders behind the first; NULL: as prompts */
    const char *negative_more[DIT_CASE_MORE_PROMPTS]; /* likewise, of the negative prompt */
    int64_t clip_skip;                                /* blocks that SD3's CLIPs leave out, of positive prompts      */
    int64_t max_sequence_length;                      /* 0: the pipeline's                                           */
    bool clean_caption;                               /* of PixArt, Latte and Sana                                   */
    dit_text_parallel text_encoder_parallel;
    bool stream_text_encoders; /* block by block */
    bool seeded_text_encoders; /* by encoders_seed, not from the folder */
    uint64_t encoders_seed;
    const char *text_table;   /* folder that captions are looked up in, instead of the file; or NULL      */
    const char *text_shipped; /* name of shipped weights that have the table, instead of the folder; or NULL */
    const cJSON *captions;    /* list of texts, each of which is a caption of the grammar; or NULL         */
    dit_split split;          /* without a list: the captions are the first ones of this split            */
    int split_count;
    bool edits;         /* of a split: those of its edits, and the captions before them are kept beside  */
    dit_edit_plan edit; /* how the pictures of captions that were edited are drawn again; none: from nothing */
    bool emulates_edit; /* one rank emulates that by whole forwards                                       */
    const char *attention, *backend;
    dit_dtype dtype;     /* of a device's activations and weights; fp32 elsewhere */
    bool fp8_linear;     /* of a device: linear layers in fp8; the result is approximate */
    bool graphs;         /* a device may record forwards and launch them */
    dit_offload offload; /* where weights lie that are not resident */
    int threads_per_rank;
    dit_parallel parallel;
    dit_parallel emulated; /* the mesh whose staleness the one rank emulates; canonical after settle_emulated */
    bool emulates;
    dit_cache cache;          /* what is reused from step to step; policy NONE: nothing                    */
    dit_cache emulated_cache; /* the cache that the one rank emulates; policy NONE: none             */
    int emulated_groups;      /* data ranks, which decide for their images apart                     */
    dit_facts facts;
    bool has_facts;      /* the document has model.latent and model.text, and gives `facts`; else the config does */
    int64_t text_tokens; /* 0: the document does not say                                   */
    int64_t vae_spatial; /* pixels of a latent along a side; 0: the document does not say  */
    int64_t num_images, num_frames;
    dit_condition_run run;
    double guidance_scale_2; /* of the second transformer's steps */
    double cfg_truncation;   /* steps whose share of noise lies below 1 - this go unguided (Z-Image); 1: none */
    double guidance_rescale; /* dit_facts_rescale_guidance; 0: nothing is rescaled */
    double cfg_normalization, cfg_trunc_ratio; /* dit_facts_norm_guidance; 0 and 1: nothing is scaled or left out */
    double true_cfg_scale; /* above 1: a model of one guidance branch computes two, combined by it */
    const char *mask_path; /* of a model that fills a part of a picture: white where it is painted anew; NULL: none   */
    bool first_frame;      /* the clip begins with a latent frame that is given    */
    int reference_count;   /* of pictures behind the latent */
    dit_case_reference references[DIT_MOST_REFERENCES];
    const char *image_path; /* the picture that sampling starts from (image-to-image), or the reference;
                                NULL: noise alone, or a reference that the conditions give               */
    double strength;        /* how much of it is replaced, in (0, 1]                                        */
    int steps;              /* that are run                                                                 */
    int first_step;         /* of num_inference_steps; the ones before it are left out, by strength below 1 */
    uint64_t seed;
    dit_noise noise; /* where the noise of the seed comes from */
    int warmup_runs, iterations;
    int warmup_most;         /* above warmup_runs: warming up goes on until times are steady; 0: it does not */
    bool for_guest;          /* the document is for a guest of the engine (engine/runtime/guest.h) and no other run */
    dit_request_scope scope; /* what a time covers */
    bool trace;              /* one more run, recorded as a timeline */
    bool gemm;               /* a product of matrices is timed beside the iterations, too; of one attention layer */
    bool probe;              /* one more run, in which every layer is compared from step to step */
} dit_case;

/* Reads a case. Pointers in *out lead into `doc`. Errors: DIT_ERR_JSON_*, DIT_ERR_CONSTRAINT_*. */
dit_status dit_case_read(const dit_json *doc, dit_case *out);
/* Checks, once facts are complete, that the emulated mesh is legal for them, and makes it canonical. Does nothing where
 * nothing is emulated. Errors: DIT_ERR_CONSTRAINT_*. */
dit_status dit_case_settle_emulated(dit_case *kase);
/* Checks, once facts are complete, that the edit, the cache and the emulated one are legal for them. Errors:
 * DIT_ERR_CONSTRAINT_CACHE, DIT_ERR_CONSTRAINT_METHOD. */
dit_status dit_case_check_caches(const dit_case *kase);
/* Returns how many steps of the mesh, or of the emulated one, use K and V of the step before; 0: latents are exact. */
int dit_case_stale_steps(const dit_case *kase);
/* True if latents differ from those of one rank by intention: through stale steps, a cache, an edit, or linear layers in fp8. */
bool dit_case_is_approximate(const dit_case *kase);
/* Returns the guidance scale that combines two forwards; 1 where there is only one. */
double dit_case_guidance(const dit_case *kase);
/* Returns how many captions a case has; 0: its conditions are others. */
int64_t dit_case_caption_count(const dit_case *kase);
/* Makes a list of the captions before the edits of a case that has them, likewise. */
dit_status dit_case_captions_before(const dit_case *kase, const char ***out);
/* Makes a list of a case's captions, those of its document or of its split: *out [*count] is one block with the texts of a
 * split, which the caller frees; listed ones stay in the document. Errors: DIT_ERR_MEMORY. */
dit_status dit_case_captions(const dit_case *kase, const char ***out, int64_t *count);
/* Reads {"kind":"seeded","seed":N} or {"kind":"safetensors","path":P} at `pointer`; *path is NULL for seeded. */
dit_status dit_case_read_weights(const dit_json *doc, const cJSON *object, const char *pointer, const char **path,
                                 uint64_t *seed);
/* Reads `measure`: warm-up runs, iterations, and whether there are a trace and a probe. */
dit_status dit_case_read_measure(const dit_json *doc, dit_case *out);
/* Computes the case_id: the hash of the canonical document. */
dit_status dit_case_hash(const dit_json *doc, char out[33]);

#endif
