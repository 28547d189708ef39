/* Prompts: the text side of a pipeline. Turns prompts into the embeddings that its transformer takes, by the tokenizers and
 * text encoders of its folder, and writes them as a file of embeddings with the pipeline's own names (prompt_embeds, ...).
 *
 * Each encoder is loaded, run and freed before the next one, and all before the transformer's runtime exists. What a
 * pipeline takes of its encoders is a table (prompts.c); how it tokenizes is another (engine/text/prompt.h).
 * Source: diffusers 0.33.1, encode_prompt of each pipeline. */
#ifndef DIT_ENGINE_PROMPTS_H
#define DIT_ENGINE_PROMPTS_H

#include "base/dtype.h"
#include "base/text_parallel.h"
#include "base/status.h"
#include "engine/prompts/first_frame.h"
#include "engine/prompts/seen.h"
#include "engine/runtime/runtime.h"
#include <stdbool.h>
#include <stdint.h>

enum { DIT_PROMPTS_MORE = 2 };

typedef struct {
    const char *folder;         /* of the pipeline: model_index.json, tokenizer/, text_encoder/, ... */
    const char *const *prompts; /* [count] */
    int64_t count;
    int64_t images_per_prompt; /* rows that each prompt gets in the file, one after the other */
    const char *negative;      /* of the branch without the prompt, where it is `guided` */
    const char
        *prompt_more[DIT_PROMPTS_MORE]; /* prompt_2 and prompt_3: what the second and third encoder read instead of
                                                    every prompt, of pipelines that have it; NULL or "": the prompts */
    const char *negative_more[DIT_PROMPTS_MORE]; /* negative_prompt_2 and _3, likewise */
    int64_t clip_skip; /* blocks more that the CLIPs leave out, of positive rows, where the pipeline has it */
    bool guided;
    int64_t longest;     /* max_sequence_length; 0: the pipeline's */
    bool clean_caption;  /* for pipelines that have it */
    int64_t joint_width; /* channels of the transformer's text, where an encoder is left out (SD3 without T5) */
    const char *backend; /* the rest: as dit_text_encode_params */
    dit_dtype dtype;
    int threads;
    dit_text_parallel way; /* how the ranks share each encoder, which must allow it */
    bool streamed;
    dit_seen_picture
        pictures[DIT_TEXT_PICTURES]; /* that the prompts are about, of pipelines whose text encoder sees them */
    int picture_count;
    const dit_first_frame *first_frame; /* what became of a picture goes into the file too; NULL: none */
    bool seeded; /* weights are random numbers by `seed`: the folder's encoders need their config.json only */
    uint64_t seed;
    int runs;         /* how often everything is done, with equal results; 0: once */
    const char *path; /* of the file to write, by rank 0 */
} dit_prompts_params;

/* What it took on this rank. */
typedef struct {
    int64_t tokenize_ns, text_encode_ns;  /* with opening and loading */
    int64_t image_encode_ns;              /* of the picture, with opening and loading; 0: none was seen */
    int64_t load_ns;                      /* of tokenizers and encoders, all together */
    int64_t *tokenize_each, *encode_each; /* [runs] without them, malloc'ed          */
    int64_t peak_bytes;                   /* of the encoder that needed most          */
    int64_t tokens;                       /* of the longest prompt, without padding, of all tokenizers */
    int encoders;                         /* how many there are                            */
    dit_flops flops;                      /* of one run of all encoders                    */
    dit_comm_counters sent;               /* in one run; each encoder's equals its closed form */
    dit_volume_table predicted;           /* which is this                                 */
    const char *kernels;                  /* that computed the encoders: "cpu", "cuda"     */
} dit_prompts_account;

/* Does all that the header says; every rank waits until the file is whole. Collective over the world. Errors:
 * DIT_ERR_UNSUPPORTED for a pipeline that is not in the tables, with those that are, and for prompts and a clip_skip that
 * it does not take; those of tokenizers and encoders;
 * DIT_ERR_IO for the file. */
dit_status dit_prompts_encode(const dit_prompts_params *params, dit_prompts_account *account);
void dit_prompts_account_release(dit_prompts_account *account); /* accepts a zeroed one */

#endif
