/* Request, inside: what sources.c has gathered for request.c. */
#ifndef DIT_SUITE_GENERATE_REQUEST_IMPL_H
#define DIT_SUITE_GENERATE_REQUEST_IMPL_H

#include "base/buffer.h"
#include "suite/catalogue/model.h"
#include "suite/generate/reference.h"
#include "suite/generate/request.h"
#include "suite/paths.h"

/* What has been gathered so far. Configs are owned; "" is no path: seeded. */
typedef struct {
    const suite_request *r;
    char name[160];
    cJSON *config, *scheduler, *vae;
    char weights[SUITE_PATH], second_weights[SUITE_PATH], vae_weights[SUITE_PATH], inputs[SUITE_PATH];
    double boundary_ratio;             /* 0: there is one transformer */
    char class_name[64];               /* of the pipeline; "": the source is none */
    int64_t asked_height, asked_width; /* where the pipeline samples another size; 0: as asked */
    bool fits;                         /* the picture gets the size that was asked for */
    char pipeline[SUITE_PATH];         /* folder whose text encoders read the prompts; "": none */
    char text_table[SUITE_PATH];       /* folder of vocabulary.json and text.safetensors; "": none */
    dit_json call;                     /* e2e.json, or zero */
    suite_model model;   /* the catalogue's: the source itself, or the one whose defaults serve; or zero */
    bool from_catalogue; /* the source itself */
    bool first_frame;    /* the model makes a clip of a picture: all of its steps are run */
    bool holds;          /* the pipeline can put a picture in place of a clip's first latent frame */
    bool needs_picture;  /* and makes no clip without one */
    bool beside;         /* the model takes a picture beside the latents: likewise */
    bool refers;         /* a picture is a reference: it stands behind the latent          */
    const suite_reference_rule
        *reference_rule; /* how its pipeline sizes references; NULL: as the picture that is made */
    suite_reference
        references[DIT_MOST_REFERENCES]; /* of it; reference_count 0: there is no such rule, or no picture */
    int reference_count;
    bool checkpoint;     /* the source is a diffusers checkpoint */
    bool norms_guidance; /* its pipeline scales guided predictions by their norms unless it is told otherwise */
    bool first_apart;    /* its pipeline places LTX-Video's first latent frame as one frame */
    bool scale_guides;   /* its guidance_scale asks for a second forward beside an empty prompt */
    double guider_scale; /* guidance_scale of the checkpoint's guider; 0: it has none */
    int64_t target_size; /* side in pixels of a square of its pipeline's usual area, of 16:9; 0: it has no such rule */
    int64_t shown;       /* frames a second at which the clip is shown; 0: nobody says */
    dit_buffer notes;
} suite_request_builder;

/* Takes configs and weights from the source, then from the options that replace parts of it. Errors: those of
 * suite_request_case. */
dit_status suite_request_take_source(suite_request_builder *builder);
dit_status suite_request_take_options(suite_request_builder *builder);
/* Finds what reads --prompt: a text table beside the model or in the source's own folder, or the source's text encoders.
 * Errors: DIT_ERR_USAGE beside --inputs; DIT_ERR_UNSUPPORTED where there is neither; DIT_ERR_NOT_FOUND. */
dit_status suite_request_find_text(suite_request_builder *builder);
/* The path that a name stands for, without links. Errors: DIT_ERR_NOT_FOUND. */
dit_status suite_request_absolute(const char *path, char out[SUITE_PATH]);

#endif
