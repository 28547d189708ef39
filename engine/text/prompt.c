#include "engine/text/prompt.h"

#include "engine/text/caption.h"
#include "engine/text/repair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- pipelines --------------------------------------------------------------------------------------------------- */

#define HUNYUAN_VIDEO_SYSTEM                                                                                           \
    "<|start_header_id|>system<|end_header_id|>\n\nDescribe the video by detailing the following aspects: "            \
    "1. The main content and theme of the video."                                                                      \
    "2. The color, shape, size, texture, quantity, text, and spatial relationships of the objects."                    \
    "3. Actions, events, behaviors temporal relationships, physical movement changes of the objects."                  \
    "4. background environment, light, style and atmosphere."                                                          \
    "5. camera angles, movements, and transitions used in the video:<|eot_id|>"                                        \
    "<|start_header_id|>user<|end_header_id|>\n\n"

/* Line ends of its source are not in the text, indents are. */
#define HUNYUAN15_INDENT "         "
#define HUNYUAN15_SYSTEM                                                                                               \
    "<|im_start|>system\nYou are a helpful assistant. Describe the video by detailing the following "                  \
    "aspects:" HUNYUAN15_INDENT "1. The main content and theme of the video." HUNYUAN15_INDENT                         \
    "2. The color, shape, size, texture, quantity, text, and spatial relationships of the objects." HUNYUAN15_INDENT   \
    "3. Actions, events, behaviors temporal relationships, physical movement changes of the objects." HUNYUAN15_INDENT \
    "4. background environment, light, style and atmosphere." HUNYUAN15_INDENT                                         \
    "5. camera angles, movements, and transitions used in the video.<|im_end|>\n" QWEN3_USER

/* A template that begins with the start token gets no further special tokens, as apply_chat_template has it. */
#define START_TOKEN "<s>"

#define LUMINA2_SYSTEM                                                                                                 \
    "You are an assistant designed to generate superior images with the superior degree of image-text alignment "      \
    "based on textual prompts or user prompts. <Prompt Start> "

/* The complex human instruction of SanaPipeline.__call__, line by line. */
#define SANA_INSTRUCTION                                                                                               \
    "Given a user prompt, generate an 'Enhanced prompt' that provides detailed visual descriptions suitable for "      \
    "image generation. Evaluate the level of detail in the user prompt:\n"                                             \
    "- If the prompt is simple, focus on adding specifics about colors, shapes, sizes, textures, and spatial "         \
    "relationships to create vivid and concrete scenes.\n"                                                             \
    "- If the prompt is already detailed, refine and enhance the existing details slightly without "                   \
    "overcomplicating.\n"                                                                                              \
    "Here are examples of how to transform or refine prompts:\n"                                                       \
    "- User Prompt: A cat sleeping -> Enhanced: A small, fluffy white cat curled up in a round shape, sleeping "       \
    "peacefully on a warm sunny windowsill, surrounded by pots of blooming red flowers.\n"                             \
    "- User Prompt: A busy city street -> Enhanced: A bustling city street scene at dusk, featuring glowing street "   \
    "lamps, a diverse crowd of people in colorful clothing, and a double-decker bus passing by towering glass "        \
    "skyscrapers.\n"                                                                                                   \
    "Please generate only the enhanced description for the prompt below and avoid including any additional "           \
    "commentary or evaluations:\n"                                                                                     \
    "User Prompt: "

/* What Mistral 3's chat template makes of FLUX.2's system message and a user's. */
#define FLUX2_SYSTEM                                                                                                   \
    START_TOKEN "[SYSTEM_PROMPT]You are an AI that reasons about image descriptions. You give structured responses "   \
                "focusing on object relationships, object\nattribution and actions without speculation."               \
                "[/SYSTEM_PROMPT][INST]"

/* What Qwen3's chat template makes of a user's message, when the answer may think, and when it may not. */
#define QWEN3_USER      "<|im_start|>user\n"
#define QWEN3_ASSISTANT "<|im_end|>\n<|im_start|>assistant\n"
#define QWEN_IMAGE_SYSTEM                                                                                              \
    "<|im_start|>system\nDescribe the image by detailing the color, shape, size, texture, quantity, text, "            \
    "spatial relationships of the objects and background:<|im_end|>\n" QWEN3_USER
#define QWEN_IMAGE_EDIT_SYSTEM                                                                                         \
    "<|im_start|>system\nDescribe the key features of the input image (color, shape, size, texture, objects, "         \
    "background), then explain how the user's text instruction should alter or modify the image. Generate a new "      \
    "image that meets the user's requirements while maintaining consistency with the original input where "            \
    "appropriate.<|im_end|>\n" QWEN3_USER
#define QWEN_PICTURE     "<|vision_start|><|image_pad|><|vision_end|>"
#define QWEN3_NO_THOUGHT QWEN3_ASSISTANT "<think>\n\n</think>\n\n"

/* clang-format off */
/* All pipelines, as diffusers 0.33.1 has them, and 0.42.1 those of chat models: pipeline, tokenizer, text encoder, length, longest, crop; the encoder sees
 * the mask, the transformer does; padding, cleaning, text before and after the prompt. */
#define RULE_LIST(X) \
    X(CogVideoXPipeline,        tokenizer,   text_encoder,   226,   0,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(Flux2KleinPipeline,       tokenizer,   text_encoder,   512,   0,  0, true,  false, KEPT,   AS_IS,       QWEN3_USER, QWEN3_NO_THOUGHT) \
    X(Flux2Pipeline,            tokenizer,   text_encoder,   512,   0,  0, true,  false, KEPT,   NO_IMAGES,   FLUX2_SYSTEM, "[/INST]") \
    X(FluxControlPipeline,      tokenizer,   text_encoder,    77,  BY,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(FluxControlPipeline,      tokenizer_2, text_encoder_2, 512, 512,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(FluxFillPipeline,         tokenizer,   text_encoder,    77,  BY,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(FluxFillPipeline,         tokenizer_2, text_encoder_2, 512, 512,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(FluxKontextPipeline,      tokenizer,   text_encoder,    77,  BY,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(FluxKontextPipeline,      tokenizer_2, text_encoder_2, 512, 512,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(FluxPipeline,             tokenizer,   text_encoder,    77,  BY,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(FluxPipeline,             tokenizer_2, text_encoder_2, 512, 512,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(HunyuanDiTPipeline,       tokenizer,   text_encoder,    77,  77,  0, true,  true,  KEPT,   AS_IS,       "", "") \
    X(HunyuanDiTPipeline,       tokenizer_2, text_encoder_2, 256, 256,  0, true,  true,  KEPT,   AS_IS,       "", "") \
    X(HunyuanVideo15Pipeline,   tokenizer,   text_encoder,  1000,   0, 108, true, true,  KEPT,   NOT_EMPTY,   HUNYUAN15_SYSTEM, QWEN3_ASSISTANT) \
    X(HunyuanVideo15Pipeline,   tokenizer_2, text_encoder_2, 256, 256,  0, true,  true,  KEPT,   QUOTED,      "", "") \
    X(HunyuanVideoPipeline,     tokenizer,   text_encoder,   256,   0, 95, true,  true,  KEPT,   AS_IS,       HUNYUAN_VIDEO_SYSTEM, "<|eot_id|>") \
    X(HunyuanVideoPipeline,     tokenizer_2, text_encoder_2,  77,  77,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(LattePipeline,            tokenizer,   text_encoder,   120,   0,  0, true,  false, CUT,    LOWER_STRIP, "", "") \
    X(LTXConditionPipeline,     tokenizer,   text_encoder,   256,   0,  0, true,  true,  KEPT,   AS_IS,       "", "") \
    X(LTXImageToVideoPipeline,  tokenizer,   text_encoder,   128,   0,  0, false, true,  KEPT,   AS_IS,       "", "") \
    X(LTXPipeline,              tokenizer,   text_encoder,   128,   0,  0, false, true,  KEPT,   AS_IS,       "", "") \
    X(Lumina2Pipeline,          tokenizer,   text_encoder,   256,   0,  0, true,  true,  BEHIND, ALONE,       LUMINA2_SYSTEM, "") \
    X(MochiPipeline,            tokenizer,   text_encoder,   256,   0,  0, true,  true,  KEPT,   AS_IS,       "", "") \
    X(PixArtAlphaPipeline,      tokenizer,   text_encoder,   120,   0,  0, true,  true,  KEPT,   LOWER_STRIP, "", "") \
    X(PixArtSigmaPipeline,      tokenizer,   text_encoder,   300,   0,  0, true,  true,  KEPT,   LOWER_STRIP, "", "") \
    X(QwenImageEditPipeline,    tokenizer,   text_encoder,  1024, 1024, 64, true, true, LONGEST, AS_IS,       QWEN_IMAGE_EDIT_SYSTEM QWEN_PICTURE, QWEN3_ASSISTANT) \
    X(QwenImageEditPlusPipeline, tokenizer,  text_encoder,  1024, 1024, 64, true, true, LONGEST, AS_IS,       QWEN_IMAGE_EDIT_SYSTEM, QWEN3_ASSISTANT) \
    X(QwenImagePipeline,        tokenizer,   text_encoder,   512, 1024, 34, true, true, LONGEST, AS_IS,       QWEN_IMAGE_SYSTEM, QWEN3_ASSISTANT) \
    X(SanaPipeline,             tokenizer,   text_encoder,   300,   0,  0, true,  true,  INSTRUCTED, LOWER_STRIP, SANA_INSTRUCTION, "") \
    X(StableDiffusion3Pipeline, tokenizer,   text_encoder,    77,  BY,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(StableDiffusion3Pipeline, tokenizer_2, text_encoder_2,  77,  BY,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(StableDiffusion3Pipeline, tokenizer_3, text_encoder_3, 256, 512,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(WanImageToVideoPipeline,  tokenizer,   text_encoder,   512,   0,  0, true,  false, ZEROED, WAN,         "", "") \
    X(WanPipeline,              tokenizer,   text_encoder,   512,   0,  0, true,  false, ZEROED, WAN,         "", "") \
    X(ZImagePipeline,           tokenizer,   text_encoder,   512,   0,  0, true,  true,  KEPT,   AS_IS,       QWEN3_USER, QWEN3_ASSISTANT)
/* clang-format on */

enum { BY = DIT_PROMPT_BY_TOKENIZER };
static const dit_prompt_rule rules[] = {
#define RULE(pipeline, tokenizer, encoder, length, longest, crop, encoder_mask, transformer_mask, padding, clean,      \
             before, after)                                                                                            \
    {#pipeline,                                                                                                        \
     #tokenizer,                                                                                                       \
     #encoder,                                                                                                         \
     length,                                                                                                           \
     longest,                                                                                                          \
     crop,                                                                                                             \
     encoder_mask,                                                                                                     \
     transformer_mask,                                                                                                 \
     DIT_PADDING_##padding,                                                                                            \
     DIT_PROMPT_##clean,                                                                                               \
     before,                                                                                                           \
     after},
    RULE_LIST(RULE)
#undef RULE
};
enum { RULE_COUNT = sizeof rules / sizeof *rules };

const dit_prompt_rule *dit_prompt_rules(const char *pipeline, int *count)
{
    const dit_prompt_rule *first = NULL;
    *count = 0;
    for (int i = 0; i < RULE_COUNT; i++) {
        if (strcmp(rules[i].pipeline, pipeline) != 0) continue;
        if (!first) first = &rules[i];
        ++*count;
    }
    return first;
}

/* Pipelines whose prompts begin with a line of numbered pictures. */
static bool numbers_pictures(const char *pipeline)
{
    return strcmp(pipeline, "QwenImageEditPlusPipeline") == 0;
}

dit_status dit_prompt_before(const dit_prompt_rule *rule, int pictures, char *out, size_t capacity)
{
    size_t used = (size_t)snprintf(out, capacity, "%s", rule->before);
    for (int i = 0; i < pictures && used < capacity && numbers_pictures(rule->pipeline); i++)
        used += (size_t)snprintf(out + used, capacity - used, "Picture %d: " QWEN_PICTURE, i + 1);
    return used < capacity ? DIT_OK : DIT_FAIL(DIT_ERR_INTERNAL, "a template is longer than %zu bytes", capacity);
}

const char *const *dit_prompt_pipelines(void)
{
    static const char *names[RULE_COUNT + 1];
    int count = 0;
    for (int i = 0; i < RULE_COUNT; i++)
        if (!count || strcmp(names[count - 1], rules[i].pipeline) != 0) names[count++] = rules[i].pipeline;
    return names;
}

/* ---- cleaning ---------------------------------------------------------------------------------------------------- */

/* One blank for each run of white space, none at the ends. */
static void make_single(dit_span text, dit_buffer *out)
{
    text = dit_span_strip(text, true, true, dit_is_space_of_python);
    for (bool blank = false; text.length;) {
        int32_t code = dit_utf8_take(&text);
        bool space = dit_is_space_of_python(code);
        if (space && !blank) dit_buffer_char(out, ' ');
        if (!space) dit_utf8_append(out, code);
        blank = space;
    }
}

static dit_status clean_wan(dit_span prompt, dit_buffer *out)
{
    dit_buffer repaired = {0};
    dit_status st = dit_repair_text(prompt, &repaired);
    if (st == DIT_OK) make_single((dit_span){repaired.data, repaired.used}, out);
    dit_buffer_release(&repaired);
    return st;
}

static void drop_images(dit_span prompt, dit_buffer *out)
{
    static const char image[] = "[IMG]";
    const size_t length = sizeof image - 1;
    while (prompt.length) {
        size_t taken = prompt.length >= length && memcmp(prompt.at, image, length) == 0 ? length : 1;
        if (taken == 1) dit_buffer_append(out, prompt.at, 1);
        prompt.at += taken, prompt.length -= taken;
    }
}

/* A text in quotes. */
typedef struct {
    const char *open, *close;
} quotes;

/* Takes a text in quotes from the front of `text`, if one stands there that ends on its line. */
static bool take_quoted(dit_span *text, dit_span *quoted)
{
    static const quotes kinds[] = {{"\"", "\""}, {"\xE2\x80\x9C", "\xE2\x80\x9D"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t open = strlen(kinds[i].open), close = strlen(kinds[i].close);
        if (text->length < open || memcmp(text->at, kinds[i].open, open) != 0) continue;
        for (size_t at = open; at + close <= text->length && text->at[at] != '\n'; at++) {
            if (memcmp(text->at + at, kinds[i].close, close) != 0) continue;
            *quoted = (dit_span){text->at + open, at - open};
            text->at += at + close, text->length -= at + close;
            return true;
        }
    }
    return false;
}

/* Returns whether one of the texts in quotes of `text` that end before `end` is this one. */
static bool is_quoted_before(dit_span text, const char *end, dit_span quoted)
{
    dit_span other;
    while (text.length && text.at < end) {
        if (!take_quoted(&text, &other))
            text.at++, text.length--;
        else if (other.at != quoted.at && other.length == quoted.length &&
                 memcmp(other.at, quoted.at, quoted.length) == 0)
            return true;
    }
    return false;
}

static void name_quoted(dit_span prompt, dit_buffer *out)
{
    dit_span rest = prompt, quoted;
    while (rest.length) {
        if (!take_quoted(&rest, &quoted)) {
            rest.at++, rest.length--;
            continue;
        }
        if (is_quoted_before(prompt, quoted.at, quoted)) continue;
        dit_buffer_text(out, "Text \"");
        dit_buffer_append(out, quoted.at, quoted.length);
        dit_buffer_text(out, "\". ");
    }
}

static dit_status clean(dit_prompt_cleaning how, dit_span prompt, dit_buffer *out)
{
    dit_buffer lower = {0};
    if (how == DIT_PROMPT_WAN) return clean_wan(prompt, out);
    if (how == DIT_PROMPT_CAPTION) return dit_caption_clean(prompt, out);
    if (how == DIT_PROMPT_NO_IMAGES) drop_images(prompt, out);
    if (how == DIT_PROMPT_QUOTED) name_quoted(prompt, out);
    if (how == DIT_PROMPT_NOT_EMPTY && !prompt.length) dit_buffer_char(out, ' ');
    if (how == DIT_PROMPT_AS_IS || how == DIT_PROMPT_ALONE || how == DIT_PROMPT_NOT_EMPTY)
        dit_buffer_append(out, prompt.at, prompt.length);
    if (how != DIT_PROMPT_LOWER_STRIP) return DIT_OK;
    dit_append_lower(&lower, prompt, true);
    dit_span kept = dit_span_strip((dit_span){lower.data, lower.used}, true, true, dit_is_space_of_python);
    dit_buffer_append(out, kept.at, kept.length);
    if (lower.failed) out->failed = true;
    dit_buffer_release(&lower);
    return DIT_OK;
}

int64_t dit_prompt_length(const dit_prompt_rule *rule, const dit_tokenizer *first)
{
    dit_tokenizer_facts facts;
    dit_tokenizer_describe(first, &facts);
    bool stated = rule->longest == DIT_PROMPT_BY_TOKENIZER && facts.model_max_length > 0;
    return stated ? facts.model_max_length : rule->length;
}

dit_status dit_prompt_row(const dit_prompt_rule *rule, const dit_tokenizer *tokenizer, int64_t length, int64_t *row)
{
    int32_t *ids;
    int64_t instruction;
    *row = rule->crop + (length ? length : rule->length);
    if (rule->padding != DIT_PADDING_INSTRUCTED || !*rule->before) return DIT_OK;
    DIT_TRY(dit_tokenize_all(tokenizer, rule->before, &ids, &instruction));
    free(ids);
    *row += instruction - 2;
    return DIT_OK;
}

dit_status dit_prompt_tokenize(const dit_prompt_rule *rule, const dit_tokenizer *tokenizer, const char *prompt,
                               int64_t length, int32_t *ids, int32_t *mask, int64_t *count)
{
    dit_token_rule row = {.no_special_tokens = strncmp(rule->before, START_TOKEN, sizeof START_TOKEN - 1) == 0,
                          .pads_behind =
                              rule->padding == DIT_PADDING_BEHIND || rule->padding == DIT_PADDING_INSTRUCTED};
    char *text;
    if (rule->longest > 0 && length > rule->longest)
        return DIT_FAIL(DIT_ERR_SHAPE, "max_sequence_length is %lld; %s allows at most %lld", (long long)length,
                        rule->pipeline, (long long)rule->longest);
    DIT_TRY(dit_prompt_row(rule, tokenizer, length, &row.length));
    DIT_TRY(dit_prompt_clean(rule, prompt, &text));
    dit_status st = dit_tokenize(tokenizer, text, &row, ids, mask, count);
    free(text);
    return st;
}

dit_status dit_prompt_clean(const dit_prompt_rule *rule, const char *prompt, char **out)
{
    dit_span all = {prompt, strlen(prompt)};
    dit_buffer made = {0};
    *out = NULL;
    if (all.length > DIT_TOKEN_TEXT_MAX)
        return DIT_FAIL(DIT_ERR_SHAPE, "a prompt is longer than %d bytes", DIT_TOKEN_TEXT_MAX);
    if (!dit_utf8_is_valid(all))
        return DIT_FAIL(DIT_ERR_JSON_ENCODING, "a prompt of %zu bytes is not UTF-8", all.length);
    dit_buffer_text(&made, rule->before);
    dit_status st = clean(rule->cleaning, all, &made);
    dit_buffer_text(&made, rule->after);
    if (st == DIT_OK && made.failed) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a prompt");
    if (st != DIT_OK) {
        dit_buffer_release(&made);
        return st;
    }
    *out = made.data;
    return DIT_OK;
}
