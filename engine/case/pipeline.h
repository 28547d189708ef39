/* Pipeline: makes a case ready to sample (runtime, transformer, scheduler, conditions) and runs it image by image.
 *
 * The programs that sample share it: denoise measures it, generate decodes its latents.
 */
#ifndef DIT_ENGINE_PIPELINE_H
#define DIT_ENGINE_PIPELINE_H

#include "engine/case/case.h"
#include "engine/sampling/sampler.h"

typedef struct {
    dit_case kase;
    const char *embeddings; /* file of embeddings that were made of the case's prompts; NULL: it has none     */
    const dit_guest *guest; /* NULL: a plain run                                                    */
    double elapsed_s;       /* of the newest run, by the guest's clock                              */
    bool counting;          /* nothing is computed or sent, everything counted, for `rank`          */
    int rank;
    dit_runtime rt;
    dit_partition partition;
    const dit_model_ops *ops;
    dit_safetensors *weights_file, *second_file, *conditions_file;
    dit_text_table *text_table; /* NULL: conditions are no captions, or nothing is computed       */
    const char **captions;      /* [caption_count] of all batches, in one block                   */
    const char **before;        /* NULL, or the captions before their edits, likewise             */
    int64_t caption_count;      /* 0: conditions are no captions                                  */
    int64_t batches;            /* of num_images captions each; 1 where there are no more captions */
    dit_weights weights, second_weights;
    dit_weight_catalogue *catalogue; /* NULL, or the list that the parameters are added to; then nothing else is made */
    char
        *saved; /* NULL, or the folder in which seeded weights were saved so that they can stream; deleted at the end */
    dit_model *model, *second; /* second: NULL, or the transformer of late steps */
    dit_sampler sampler;       /* `full` holds the latents after a run */
    dit_condition condition;
    float *start; /* NULL, or latents [tokens, channels] of a picture that the noise is laid over; of malloc */
    int64_t setup_ns, weights_ns; /* wall time of create, and the part of it that loads or generates weights */
    int64_t load_peak;            /* bytes in use at the highest point of loading                          */
} dit_pipeline;

/* Makes a case ready. Collective. `out` must not be moved. Facts come from the case document and must agree with the
 * architecture's config; where the document has none they come from the config. Errors: DIT_ERR_JSON_*,
 * DIT_ERR_CONSTRAINT_*, DIT_ERR_SHAPE, DIT_ERR_TENSOR_MISSING, DIT_ERR_UNSUPPORTED, DIT_ERR_MEMORY. release takes a
 * zeroed or half-made one. */
dit_status dit_pipeline_create(const dit_json *doc, dit_pipeline *out);
/* The same for a case of prompts, whose embeddings lie in a file that outlives the pipeline (engine/prompts). NULL: as
 * dit_pipeline_create. */
dit_status dit_pipeline_create_told(const dit_json *doc, const char *embeddings, dit_pipeline *out);
/* Makes the case ready for a guest, with its habits; the guest outlives the pipeline. Collective. */
dit_status dit_pipeline_create_guest(const dit_json *doc, const dit_guest *guest, dit_pipeline *out);
/* Makes one rank of the case's mesh ready to be counted: a run computes and sends nothing and counts parameters, flops,
 * bytes and memory in out->rt. `guest`: NULL, or whose habits are counted. Not collective. */
dit_status dit_pipeline_create_counting(const dit_json *doc, int rank, const dit_guest *guest, dit_pipeline *out);
void dit_pipeline_release(dit_pipeline *pipeline);
/* Lists the parameters that this rank reads, of a case whose weights are seeded. Errors: those of create. */
dit_status dit_pipeline_list_parameters(const dit_json *doc, int rank, dit_weight_catalogue *out);

/* Whether sampling starts from the case's picture. A model of clips takes its picture as a condition instead,
 * and so does one with a reference. */
bool dit_pipeline_starts_from_picture(const dit_pipeline *pipeline);
/* Whether the case's picture is the reference that stands behind the latent. Its rows of the conditions are filled by
 * dit_encode_start. */
bool dit_pipeline_refers_to_picture(const dit_pipeline *pipeline);
/* Makes the next runs those of another batch, from 0: its captions, and the noise of its images, which is that of one run
 * of all images. Errors: those of captions. */
dit_status dit_pipeline_take_batch(dit_pipeline *pipeline, int64_t batch);
/* Runs one batch of images: initial noise (or the file's latents), all steps, and the latents of all ranks gathered in
 * sampler.full. *elapsed_ns runs from a barrier to the gathered latents; step_ns [steps] or NULL. Collective. */
dit_status dit_pipeline_run(dit_pipeline *pipeline, int64_t *step_ns, int64_t *elapsed_ns);

#endif
