/* Prompt: what each diffusers pipeline does with a prompt before its text encoders read it. One table in prompt.c. */
#ifndef DIT_ENGINE_TEXT_PROMPT_H
#define DIT_ENGINE_TEXT_PROMPT_H

#include "base/json.h"
#include "engine/text/tokenizer.h"

#include <stdint.h>

/* What is done to the text. */
typedef enum {
    DIT_PROMPT_AS_IS,
    DIT_PROMPT_LOWER_STRIP, /* lower case, no white space around: clean_caption=False of PixArt, Latte, Sana; what their
                               True is without two more Python packages */
    DIT_PROMPT_CAPTION,     /* clean_caption=True with them: see engine/text/caption.h */
    DIT_PROMPT_NO_IMAGES,   /* without "[IMG]", which stands for a picture: FLUX.2's format_input */
    DIT_PROMPT_ALONE,       /* as it is, and a negative prompt gets no template */
    DIT_PROMPT_NOT_EMPTY,   /* as it is, and an empty one is a blank: format_text_input of HunyuanVideo 1.5 */
    DIT_PROMPT_QUOTED,      /* what stands in quotes: see dit_prompt_clean */
    DIT_PROMPT_WAN,         /* prompt_clean of Wan: see dit_prompt_clean */
} dit_prompt_cleaning;

/* What becomes of the embeddings behind the last token. */
typedef enum {
    DIT_PADDING_KEPT,
    DIT_PADDING_BEHIND, /* kept, and behind the text, whatever the tokenizer's folder says */
    DIT_PADDING_ZEROED,
    DIT_PADDING_CUT, /* of one prompt they are left out, as many of its negative prompt; of several prompts, but not of
                        their negative ones, they are zeroed */
    DIT_PADDING_INSTRUCTED, /* as behind, and `before` is an instruction, of which a negative prompt has none; its tokens
                               make the row longer, and the transformer gets the first token and the last length - 1 */
    DIT_PADDING_LONGEST,    /* all rows, of negative prompts too, end where the longest one does, and are zeros
                            behind their own end */
} dit_prompt_padding;

/* For `longest`: the length is model_max_length of the pipeline's first tokenizer, where that states one. */
enum { DIT_PROMPT_BY_TOKENIZER = -1 };

/* One text encoder of one pipeline. */
typedef struct {
    const char *pipeline;  /* _class_name of model_index.json */
    const char *tokenizer; /* members of model_index.json; folders beside it */
    const char *text_encoder;
    int64_t length;             /* max_sequence_length when nobody says another; of CLIP and BERT always */
    int64_t longest;            /* that the pipeline allows; 0: it sets no limit; DIT_PROMPT_BY_TOKENIZER */
    int64_t crop;               /* ids of the template that are in front of the row, and whose embeddings are dropped */
    bool encoder_sees_mask;     /* the attention mask is an input of the encoder */
    bool transformer_sees_mask; /* and of the transformer */
    dit_prompt_padding padding;
    dit_prompt_cleaning cleaning;
    const char *before, *after; /* text around the prompt, "" for none; what begins with START_TOKEN (prompt.c) has all
                                   special tokens */
} dit_prompt_rule;

/* The rules of a pipeline's text encoders, in the order of its tokenizers; *count 0 when the table lacks it. */
const dit_prompt_rule *dit_prompt_rules(const char *pipeline, int *count);
/* True if model_index.json names the part; pipelines leave some out: [null, null]. */
static inline bool dit_prompt_has(const dit_json *index, const char *part)
{
    return cJSON_IsString(cJSON_GetArrayItem(dit_json_member(index->root, part), 1));
}
/* Writes the text before a prompt that shows so many pictures: the rule's, and the line that QwenImageEditPlusPipeline puts behind
 * it. Errors: DIT_ERR_INTERNAL where it does not fit. */
dit_status dit_prompt_before(const dit_prompt_rule *rule, int pictures, char *out, size_t capacity);
/* The pipelines of the table, NULL-terminated. */
const char *const *dit_prompt_pipelines(void);

/* Makes the text that the tokenizer gets: cleaned, and put into the template. The caller frees *out.
 *
 * DIT_PROMPT_QUOTED is extract_glyph_texts of HunyuanVideo 1.5: each text between "" or \xE2\x80\x9C\xE2\x80\x9D of a line becomes `Text "...". `, once. A prompt without
 * one becomes "", which no encoder reads: the pipeline takes rows of zeros that the transformer does not see.
 * DIT_PROMPT_WAN is ftfy.fix_text and html.unescape twice (engine/text/repair.h), then white space made single.
 * Errors: DIT_ERR_JSON_ENCODING; DIT_ERR_ENVIRONMENT where the libraries are missing; DIT_ERR_MEMORY. */
dit_status dit_prompt_clean(const dit_prompt_rule *rule, const char *prompt, char **out);

/* Tokens of a prompt when nobody says another length. `first` is the pipeline's first tokenizer. */
int64_t dit_prompt_length(const dit_prompt_rule *rule, const dit_tokenizer *first);
/* Gives the ids of the row that the encoder reads: the template's in front, then `length`, or those of the rule where it is 0;
 * of DIT_PADDING_INSTRUCTED, whose instruction the tokenizer counts, with two tokens less. Errors: those of dit_tokenize_all. */
dit_status dit_prompt_row(const dit_prompt_rule *rule, const dit_tokenizer *tokenizer, int64_t length, int64_t *row);
/* Cleans a prompt and fills ids and mask [dit_prompt_row] as dit_tokenize does. Errors: those of both; DIT_ERR_SHAPE for
 * a length that the pipeline does not allow. */
dit_status dit_prompt_tokenize(const dit_prompt_rule *rule, const dit_tokenizer *tokenizer, const char *prompt,
                               int64_t length, int32_t *ids, int32_t *mask, int64_t *count);

#endif
