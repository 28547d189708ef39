#include "engine/prompts/prompts.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/request.h"
#include "base/safetensors.h"
#include "base/words.h"
#include "engine/comm/comm.h"
#include "engine/files/config.h"
#include "engine/results/record.h"
#include "engine/text/encoders/encode.h"
#include "engine/text/prompt.h"
#include "engine/text/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, MOST_TENSORS = 16, MOST_ENCODERS = 3, NAME_BYTES = 48, BEFORE_BYTES = 4096 };

/* ---- what pipelines take of their encoders ----------------------------------------------------------------------- */

/* TAKE_AFTER, of SD3's T5: channels of the encoder before are filled up with zeros, or cut, to as many as T5 has; where the
 * pipeline has no T5, there are zeros instead.
 * TAKE_CYCLED: of several prompts with several pictures each, pooled texts and masks are in the order 0, 1, 0, 1 beside embeddings in
 * the order 0, 0, 1, 1; diffusers mixes them up so. */
typedef enum {
    TAKE_HIDDEN = 1,         /* prompt_embeds, and prompt_attention_mask where the transformer sees it */
    TAKE_POOLED = 2,         /* pooled_prompt_embeds                                          */
    TAKE_AS_SECOND = 4,      /* the names end in _2                                           */
    TAKE_BESIDE = 8,         /* channels beside those of the encoder before (SD3's CLIPs)     */
    TAKE_AFTER = 16,         /* tokens after those of the encoder before: above               */
    TAKE_FIXED = 32,         /* max_sequence_length is not its                                */
    TAKE_CYCLED = 64,        /* an order of rows: above                                       */
    TAKE_OWN = 128,          /* the pipeline may have a prompt of its own for it: prompt_2    */
    TAKE_OWN_NEGATIVE = 256, /* and negative_prompt_2                                    */
    TAKE_SKIPS = 512,        /* clip_skip is for it                                           */
    TAKE_SEEN = 1024,        /* prompts show the picture that they are about                  */
    TAKE_OWN_BOTH = TAKE_OWN | TAKE_OWN_NEGATIVE,
} take_flags;

/* One encoder of a pipeline. */
typedef struct {
    const char *pipeline, *text_encoder;
    int64_t skip; /* blocks before the end whose hidden state is taken */
    int take;
    dit_text_states states; /* that are taken instead; {0}: none */
} take_row;

static const take_row rows[] = {
    {"CogVideoXPipeline", "text_encoder", 0, TAKE_HIDDEN, {0}},
    {"Flux2KleinPipeline", "text_encoder", 0, TAKE_HIDDEN, {3, {9, 18, 27}}},
    {"Flux2Pipeline", "text_encoder", 0, TAKE_HIDDEN, {3, {10, 20, 30}}},
    {"FluxControlPipeline", "text_encoder", 0, TAKE_POOLED | TAKE_FIXED, {0}},
    {"FluxControlPipeline", "text_encoder_2", 0, TAKE_HIDDEN | TAKE_OWN, {0}},
    {"FluxFillPipeline", "text_encoder", 0, TAKE_POOLED | TAKE_FIXED, {0}},
    {"FluxFillPipeline", "text_encoder_2", 0, TAKE_HIDDEN | TAKE_OWN, {0}},
    {"FluxKontextPipeline", "text_encoder", 0, TAKE_POOLED | TAKE_FIXED, {0}},
    {"FluxKontextPipeline", "text_encoder_2", 0, TAKE_HIDDEN | TAKE_OWN_BOTH, {0}},
    {"FluxPipeline", "text_encoder", 0, TAKE_POOLED | TAKE_FIXED, {0}},
    {"FluxPipeline", "text_encoder_2", 0, TAKE_HIDDEN | TAKE_OWN_BOTH, {0}},
    {"HunyuanDiTPipeline", "text_encoder", 0, TAKE_HIDDEN | TAKE_FIXED | TAKE_CYCLED, {0}},
    {"HunyuanDiTPipeline", "text_encoder_2", 0, TAKE_HIDDEN | TAKE_AS_SECOND | TAKE_FIXED | TAKE_CYCLED, {0}},
    {"HunyuanVideo15Pipeline", "text_encoder", 2, TAKE_HIDDEN, {0}},
    {"HunyuanVideo15Pipeline", "text_encoder_2", 0, TAKE_HIDDEN | TAKE_AS_SECOND | TAKE_FIXED, {0}},
    {"HunyuanVideoPipeline", "text_encoder", 2, TAKE_HIDDEN, {0}},
    {"HunyuanVideoPipeline", "text_encoder_2", 0, TAKE_POOLED | TAKE_FIXED | TAKE_OWN_BOTH, {0}},
    {"LattePipeline", "text_encoder", 0, TAKE_HIDDEN, {0}},
    {"LTXConditionPipeline", "text_encoder", 0, TAKE_HIDDEN | TAKE_CYCLED, {0}},
    {"LTXImageToVideoPipeline", "text_encoder", 0, TAKE_HIDDEN | TAKE_CYCLED, {0}},
    {"LTXPipeline", "text_encoder", 0, TAKE_HIDDEN | TAKE_CYCLED, {0}},
    {"Lumina2Pipeline", "text_encoder", 1, TAKE_HIDDEN | TAKE_CYCLED, {0}},
    {"MochiPipeline", "text_encoder", 0, TAKE_HIDDEN | TAKE_CYCLED, {0}},
    {"PixArtAlphaPipeline", "text_encoder", 0, TAKE_HIDDEN, {0}},
    {"PixArtSigmaPipeline", "text_encoder", 0, TAKE_HIDDEN, {0}},
    {"QwenImageEditPipeline", "text_encoder", 0, TAKE_HIDDEN | TAKE_CYCLED | TAKE_SEEN, {0}},
    {"QwenImageEditPlusPipeline", "text_encoder", 0, TAKE_HIDDEN | TAKE_CYCLED | TAKE_SEEN, {0}},
    {"QwenImagePipeline", "text_encoder", 0, TAKE_HIDDEN | TAKE_CYCLED, {0}},
    {"SanaPipeline", "text_encoder", 0, TAKE_HIDDEN | TAKE_CYCLED, {0}},
    {"StableDiffusion3Pipeline",
     "text_encoder",
     1,
     TAKE_HIDDEN | TAKE_POOLED | TAKE_FIXED | TAKE_CYCLED | TAKE_SKIPS,
     {0}},
    {"StableDiffusion3Pipeline",
     "text_encoder_2",
     1,
     TAKE_HIDDEN | TAKE_POOLED | TAKE_BESIDE | TAKE_FIXED | TAKE_CYCLED | TAKE_OWN_BOTH | TAKE_SKIPS,
     {0}},
    {"StableDiffusion3Pipeline", "text_encoder_3", 0, TAKE_HIDDEN | TAKE_AFTER | TAKE_OWN_BOTH, {0}},
    {"WanImageToVideoPipeline", "text_encoder", 0, TAKE_HIDDEN, {0}},
    {"WanPipeline", "text_encoder", 0, TAKE_HIDDEN, {0}},
    {"ZImagePipeline", "text_encoder", 1, TAKE_HIDDEN, {0}},
};

static const take_row *find_row(const char *pipeline, const char *text_encoder)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].pipeline, pipeline) == 0 && strcmp(rows[i].text_encoder, text_encoder) == 0) return &rows[i];
    return NULL;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* A tensor [rows, tokens, width] of all rows of a call: the negative prompt first, where there is one. Masks and ids have
 * width 1 and pooled texts one token; the file leaves such axes out. */
typedef struct {
    char name[NAME_BYTES]; /* of the positive rows */
    int64_t tokens, width;
    bool pooled, flat; /* flat: masks and ids */
    bool cycled;       /* order of rows in the file: see TAKE_CYCLED */
    float *data;
    int32_t *
        seen; /* [rows, tokens] or NULL: where it is 0, positive rows of the file are zeros, in the order of TAKE_CYCLED */
} kept_tensor;

typedef struct {
    const dit_prompts_params *p;
    dit_prompts_account *account;
    const dit_json *index; /* model_index.json */
    const char *pipeline;
    int64_t rows; /* count, and one more where it is guided */
    int runs;
    dit_tokenizer *first; /* of the first encoder, which may say the length of others */
    dit_seen seen;        /* the picture; zero: none */
    kept_tensor kept[MOST_TENSORS];
    int count;
} prompt_run;

static kept_tensor *find_kept(prompt_run *run, const char *name)
{
    for (int i = 0; i < run->count; i++)
        if (strcmp(run->kept[i].name, name) == 0) return &run->kept[i];
    return NULL;
}

/* Lays `from` [rows, tokens, width] over a tensor [rows, all_tokens, all_width], at a token and a channel; channels for which
 * there is no room are cut. */
static void lay(const float *from, int64_t all_rows, int64_t tokens, int64_t width, float *to, int64_t all_tokens,
                int64_t all_width, int64_t token, int64_t channel)
{
    int64_t taken = width < all_width - channel ? width : all_width - channel;
    for (int64_t row = 0; row < all_rows; row++)
        for (int64_t t = 0; t < tokens; t++)
            memcpy(to + (row * all_tokens + token + t) * all_width + channel, from + (row * tokens + t) * width,
                   (size_t)taken * sizeof *to);
}

/* Replaces a tensor by another of zeros that holds it, and lays `data` beside or after it. What comes after says the channels. */
static dit_status extend(prompt_run *run, kept_tensor *kept, bool after, int64_t tokens, int64_t width,
                         const float *data)
{
    int64_t all_tokens = after ? kept->tokens + tokens : kept->tokens;
    int64_t all_width = after ? width : kept->width + width;
    if (!after && tokens != kept->tokens)
        return DIT_FAIL(DIT_ERR_SHAPE, "two text encoders give %lld and %lld tokens", (long long)kept->tokens,
                        (long long)tokens);
    float *larger = calloc((size_t)(run->rows * all_tokens * all_width), sizeof *larger);
    if (!larger) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for embeddings");
    lay(kept->data, run->rows, kept->tokens, kept->width, larger, all_tokens, all_width, 0, 0);
    lay(data, run->rows, tokens, width, larger, all_tokens, all_width, after ? kept->tokens : 0,
        after ? 0 : kept->width);
    free(kept->data);
    kept->data = larger, kept->tokens = all_tokens, kept->width = all_width;
    return DIT_OK;
}

/* Keeps a copy of [rows, tokens, width], or lays it beside or after what has the name already. */
static dit_status keep(prompt_run *run, const char *name, const take_row *row, int64_t tokens, int64_t width,
                       const float *data, bool pooled)
{
    kept_tensor *kept = find_kept(run, name);
    if (kept) return extend(run, kept, !pooled && (row->take & TAKE_AFTER), tokens, width, data);
    size_t floats = (size_t)(run->rows * tokens * width);
    if (run->count == MOST_TENSORS) return DIT_FAIL(DIT_ERR_INTERNAL, "more than %d tensors", MOST_TENSORS);
    kept = &run->kept[run->count];
    *kept = (kept_tensor){.tokens = tokens, .width = width, .pooled = pooled};
    kept->flat = strstr(name, "mask") || strstr(name, "ids");
    kept->cycled = row->take & TAKE_CYCLED && (pooled || strstr(name, "mask"));
    snprintf(kept->name, sizeof kept->name, "%s", name);
    kept->data = malloc(floats * sizeof *kept->data);
    if (!kept->data) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for embeddings");
    memcpy(kept->data, data, floats * sizeof *kept->data);
    run->count++;
    return DIT_OK;
}

/* ---- one encoder ------------------------------------------------------------------------------------------------- */

typedef struct {
    const dit_prompt_rule *rule;
    const take_row *take;
    int64_t asked;       /* max_sequence_length, 0: the rule's */
    int64_t tokens;      /* of a row, with the template's      */
    int32_t *ids, *mask; /* [rows, tokens] */
} text_batch;

/* Mochi's folders may ask for an empty prompt to be hidden from the encoder as well, which leaves its rows nothing to see. */
static dit_status check_silence(const prompt_run *run, const char *prompt)
{
    static const char key[] = "force_zeros_for_empty_prompt";
    bool forces = false;
    if (*prompt) return DIT_OK;
    DIT_TRY(dit_json_optional_bool(run->index, run->index->root, "", key, &forces));
    if (!forces) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s of model_index.json is not implemented", key),
                          "give a --negative_prompt that is not empty, or --guidance_scale 1");
}

/* Which of prompt_more is a text encoder's: 0 of text_encoder_2; -1 of the first one. */
static int more_of(const char *text_encoder)
{
    return text_encoder[strlen("text_encoder")] == '_' ? text_encoder[strlen("text_encoder_")] - '2' : -1;
}

/* What an encoder reads as a row: its own prompt where there is one. */
static const char *text_of(const dit_prompts_params *p, const char *text_encoder, int64_t row)
{
    int more = more_of(text_encoder);
    bool negative = p->guided && row == 0;
    const char *own = more < 0 ? NULL : negative ? p->negative_more[more] : p->prompt_more[more];
    if (own && *own) return own;
    return negative ? p->negative : p->prompts[row - p->guided];
}

/* A negative prompt that lacks the instruction of the others ends before they do: makes padding of what its row has behind. */
static void fill_up(const dit_tokenizer *tokenizer, text_batch *batch, int64_t at)
{
    dit_tokenizer_facts facts;
    dit_tokenizer_describe(tokenizer, &facts);
    for (int64_t t = batch->asked; t < batch->tokens; t++) batch->ids[at + t] = facts.pad, batch->mask[at + t] = 0;
}

static dit_status tokenize_row(const prompt_run *run, const dit_tokenizer *tokenizer, text_batch *batch, int64_t row)
{
    const dit_prompts_params *p = run->p;
    const char *prompt = text_of(p, batch->rule->text_encoder, row);
    int64_t at = row * batch->tokens, count;
    dit_prompt_rule rule = *batch->rule;
    DIT_TRY(check_silence(run, prompt));
    bool negative = p->guided && row == 0, instructed = rule.padding == DIT_PADDING_INSTRUCTED;
    if (negative && (rule.cleaning == DIT_PROMPT_ALONE || instructed)) rule.before = rule.after = "";
    DIT_TRY(dit_prompt_tokenize(&rule, tokenizer, prompt, batch->asked, batch->ids + at, batch->mask + at, &count));
    if (negative && instructed) fill_up(tokenizer, batch, at);
    if (count > run->account->tokens) run->account->tokens = count;
    return DIT_OK;
}

/* Puts as many tokens in the place of each one that stands for a picture as there are embeddings of it. */
static dit_status make_room(const prompt_run *run, text_batch *batch)
{
    const dit_text_pictures *pictures = &run->seen.pictures;
    int64_t more = dit_text_picture_rows(pictures) - pictures->count, all = batch->tokens, longer = all + more;
    int32_t *ids = malloc((size_t)(run->rows * longer) * sizeof *ids);
    int32_t *mask = malloc((size_t)(run->rows * longer) * sizeof *mask);
    dit_status st = ids && mask ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for tokens");
    for (int64_t row = 0; row < run->rows && st == DIT_OK; row++) {
        int64_t at = row * longer;
        int picture = 0;
        for (int64_t t = row * all; t < (row + 1) * all && picture <= pictures->count; t++) {
            bool shows = batch->ids[t] == run->seen.token;
            int64_t copies = !shows                       ? 1
                             : picture == pictures->count ? 0
                                                          : pictures->height[picture] * pictures->width[picture];
            picture += shows;
            for (int64_t i = 0; i < copies; i++, at++) ids[at] = batch->ids[t], mask[at] = batch->mask[t];
        }
        if (picture != pictures->count)
            st = DIT_FAIL(DIT_ERR_SHAPE, "a prompt has the token that stands for a picture");
    }
    free(batch->ids);
    free(batch->mask);
    batch->ids = ids, batch->mask = mask, batch->tokens = longer;
    return st;
}

/* DIT_PADDING_LONGEST: moves the tokens of each row to its front, and ends all rows where the longest one ends. */
static void shorten(const prompt_run *run, text_batch *batch)
{
    int64_t longest = 1, all = batch->tokens;
    for (int64_t row = 0; row < run->rows; row++) {
        int32_t *ids = batch->ids + row * all, *mask = batch->mask + row * all;
        int64_t kept = 0;
        for (int64_t t = 0; t < all; t++) {
            int32_t id = ids[t], seen = mask[t];
            if (!seen) continue;
            ids[t] = ids[kept], mask[t] = mask[kept];
            ids[kept] = id, mask[kept++] = seen;
        }
        if (kept > longest) longest = kept;
    }
    for (int64_t row = 1; row < run->rows; row++) {
        memmove(batch->ids + row * longest, batch->ids + row * all, (size_t)longest * sizeof *batch->ids);
        memmove(batch->mask + row * longest, batch->mask + row * all, (size_t)longest * sizeof *batch->mask);
    }
    batch->tokens = longest;
}

static dit_status tokenize_rows(const prompt_run *run, const dit_tokenizer *tokenizer, text_batch *batch)
{
    if (!batch->asked) batch->asked = dit_prompt_length(batch->rule, run->first);
    DIT_TRY(dit_prompt_row(batch->rule, tokenizer, batch->asked, &batch->tokens));
    size_t ids = (size_t)(run->rows * batch->tokens);
    batch->ids = malloc(ids * sizeof *batch->ids);
    batch->mask = malloc(ids * sizeof *batch->mask);
    if (!batch->ids || !batch->mask) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for tokens");
    for (int i = 0; i < run->runs; i++) {
        int64_t began = dit_clock_ns();
        for (int64_t row = 0; row < run->rows; row++) DIT_TRY(tokenize_row(run, tokenizer, batch, row));
        run->account->tokenize_each[i] += dit_clock_ns() - began;
    }
    if (run->seen.pictures.count) DIT_TRY(make_room(run, batch));
    if (batch->rule->padding == DIT_PADDING_LONGEST) shorten(run, batch);
    return DIT_OK;
}

static dit_status tokenize(prompt_run *run, text_batch *batch)
{
    dit_tokenizer *tokenizer;
    int64_t began = dit_clock_ns();
    DIT_TRY(dit_tokenizer_open_part(run->p->folder, batch->rule->tokenizer, &tokenizer));
    run->account->load_ns += dit_clock_ns() - began;
    if (!run->first) run->first = tokenizer;
    dit_status st = tokenize_rows(run, tokenizer, batch);
    if (tokenizer != run->first) dit_tokenizer_close(tokenizer);
    run->account->tokenize_ns += dit_clock_ns() - began;
    return st;
}

/* Keeps the last `tokens` integers of each row as floats: a mask behind the template, or all ids. */
static dit_status keep_integers(prompt_run *run, const text_batch *batch, const char *name, const int32_t *values,
                                int64_t tokens)
{
    float *floats = malloc((size_t)(run->rows * tokens) * sizeof *floats);
    if (!floats) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for tokens");
    for (int64_t row = 0; row < run->rows; row++)
        for (int64_t t = 0; t < tokens; t++)
            floats[row * tokens + t] = (float)values[(row + 1) * batch->tokens - tokens + t];
    dit_status st = keep(run, name, batch->take, tokens, 1, floats, false);
    free(floats);
    return st;
}

/* For people and tests: which ids each encoder read, "input_ids", "input_ids_2". */
static dit_status keep_ids(prompt_run *run, const text_batch *batch)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "input_ids%s", batch->rule->text_encoder + strlen("text_encoder"));
    return keep_integers(run, batch, name, batch->ids, batch->tokens);
}

static dit_status keep_mask(prompt_run *run, const text_batch *batch)
{
    kept_tensor *kept = find_kept(run, "prompt_embeds");
    size_t bytes = (size_t)(run->rows * batch->tokens) * sizeof *kept->seen;
    kept->seen = malloc(bytes);
    if (!kept->seen) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a mask");
    memcpy(kept->seen, batch->mask, bytes);
    return DIT_OK;
}

/* DIT_PADDING_CUT: of one picture, all rows end where its prompt ends; of several, what lies behind the end of each is zero, and
 * negative rows stay whole. */
static dit_status keep_short(prompt_run *run, const text_batch *batch, dit_text_encoding *made)
{
    int64_t end = 0, width = made->width;
    if (run->p->count * run->p->images_per_prompt > 1) {
        DIT_TRY(keep(run, "prompt_embeds", batch->take, made->tokens, width, made->hidden, false));
        return keep_mask(run, batch);
    }
    for (int64_t t = 0; t < made->tokens; t++) end += batch->mask[(run->rows - 1) * batch->tokens + t] != 0;
    for (int64_t row = 1; row < run->rows; row++)
        memmove(made->hidden + row * end * width, made->hidden + row * made->tokens * width,
                (size_t)(end * width) * sizeof *made->hidden);
    return keep(run, "prompt_embeds", batch->take, end, width, made->hidden, false);
}

/* DIT_PROMPT_QUOTED: rows of prompts without quotes are zeros that the transformer does not see. */
static dit_status silence(const prompt_run *run, const text_batch *batch, dit_text_encoding *made)
{
    const dit_prompt_rule *rule = batch->rule;
    int64_t values = made->tokens * made->width;
    for (int64_t row = 0; row < run->rows && rule->cleaning == DIT_PROMPT_QUOTED; row++) {
        char *text;
        DIT_TRY(dit_prompt_clean(rule, text_of(run->p, rule->text_encoder, row), &text));
        bool silent = !*text;
        free(text);
        if (!silent) continue;
        memset(made->hidden + row * values, 0, (size_t)values * sizeof *made->hidden);
        memset(batch->mask + row * batch->tokens, 0, (size_t)batch->tokens * sizeof *batch->mask);
    }
    return DIT_OK;
}

/* DIT_PADDING_INSTRUCTED: leaves of each row as many tokens as were asked for, the first one and the last ones; of a negative
 * prompt, which has no instruction, the first ones. */
static void drop_instruction(const prompt_run *run, text_batch *batch, dit_text_encoding *made)
{
    int64_t all = batch->tokens, kept = batch->asked, width = made->width;
    if (batch->rule->padding != DIT_PADDING_INSTRUCTED) return;
    for (int64_t row = 0; row < run->rows; row++)
        for (int64_t t = 0; t < kept; t++) {
            bool first = t == 0 || (run->p->guided && row == 0);
            int64_t from = row * all + (first ? t : all - kept + t), to = row * kept + t; /* from >= to */
            memmove(made->hidden + to * width, made->hidden + from * width, (size_t)width * sizeof *made->hidden);
            batch->mask[to] = batch->mask[from];
        }
    made->tokens = batch->tokens = kept;
}

static dit_status keep_results(prompt_run *run, const text_batch *batch, dit_text_encoding *made)
{
    int take = batch->take->take;
    bool second = (take & TAKE_AS_SECOND) != 0, hidden = (take & TAKE_HIDDEN) != 0;
    DIT_TRY(silence(run, batch, made));
    if (batch->rule->padding == DIT_PADDING_CUT) return keep_short(run, batch, made);
    if (hidden)
        DIT_TRY(keep(run, second ? "prompt_embeds_2" : "prompt_embeds", batch->take, made->tokens, made->width,
                     made->hidden, false));
    if (hidden && batch->rule->transformer_sees_mask)
        DIT_TRY(keep_integers(run, batch, second ? "prompt_attention_mask_2" : "prompt_attention_mask", batch->mask,
                              made->tokens));
    if (take & TAKE_POOLED)
        DIT_TRY(keep(run, "pooled_prompt_embeds", batch->take, 1, made->pooled_width, made->pooled, true));
    return DIT_OK;
}

static void take_account(prompt_run *run, const dit_text_encoding *made)
{
    dit_prompts_account *account = run->account;
    account->kernels = made->kernels;
    account->load_ns += made->load_ns;
    for (int i = 0; i < run->runs; i++) account->encode_each[i] += made->each_ns[i];
    if (made->total_peak_bytes > account->peak_bytes) account->peak_bytes = made->total_peak_bytes;
    dit_flops_add(&account->flops, &made->flops, 1);
    dit_comm_counters_add(&account->sent, &made->sent);
    dit_volume_add(&account->predicted, &made->predicted);
}

/* All rows by the encoder of a folder, without its last `skip` blocks. */
static dit_status encode_rows(prompt_run *run, const text_batch *batch, const char *folder, int64_t skip,
                              dit_text_encoding *made)
{
    const dit_prompts_params *p = run->p;
    const dit_prompt_rule *rule = batch->rule;
    DIT_TRY(dit_text_encode(&(dit_text_encode_params){.folder = folder,
                                                      .seeded = p->seeded,
                                                      .seed = p->seed,
                                                      .runs = run->runs,
                                                      .backend = p->backend,
                                                      .dtype = p->dtype,
                                                      .threads = p->threads,
                                                      .way = p->way,
                                                      .streamed = p->streamed,
                                                      .batch = run->rows,
                                                      .tokens = batch->tokens,
                                                      .input = {.ids = batch->ids,
                                                                .mask = rule->encoder_sees_mask ? batch->mask : NULL,
                                                                .pictures = run->seen.pictures},
                                                      .skip = skip,
                                                      .states = batch->take->states,
                                                      .crop = rule->crop,
                                                      .pooled = (batch->take->take & TAKE_POOLED) != 0,
                                                      .zero_padding = rule->padding == DIT_PADDING_ZEROED ||
                                                                      rule->padding == DIT_PADDING_LONGEST},
                            made));
    DIT_TRY(dit_volume_check(&made->sent, &made->predicted, dit_comm_rank(dit_comm_world()), 0));
    take_account(run, made);
    return DIT_OK;
}

/* clip_skip: replaces the hidden states of positive rows by earlier ones. The negative row keeps its own, as in the
 * pipeline, so that all rows are encoded once more. */
static dit_status skip_more(prompt_run *run, const text_batch *batch, const char *folder, dit_text_encoding *made)
{
    const take_row *take = batch->take;
    int64_t from = run->p->guided * made->tokens * made->width, all = run->rows * made->tokens * made->width;
    dit_text_encoding earlier = {0};
    dit_status st = encode_rows(run, batch, folder, take->skip + run->p->clip_skip, &earlier);
    if (st == DIT_OK) memcpy(made->hidden + from, earlier.hidden + from, (size_t)(all - from) * sizeof *made->hidden);
    dit_text_encoding_release(&earlier);
    return st;
}

static dit_status encode(prompt_run *run, text_batch *batch)
{
    const dit_prompts_params *p = run->p;
    const char *text_encoder = batch->rule->text_encoder;
    char folder[PATH_BYTES];
    dit_text_encoding made = {0};
    int64_t began = dit_clock_ns();
    if (snprintf(folder, sizeof folder, "%s/%s", p->folder, text_encoder) >= (int)sizeof folder)
        return DIT_FAIL(DIT_ERR_IO, "the path of %s is too long", text_encoder);
    bool skips = p->clip_skip && batch->take->take & TAKE_SKIPS;
    dit_status st = encode_rows(run, batch, folder, batch->take->skip, &made);
    if (st == DIT_OK && skips) st = skip_more(run, batch, folder, &made);
    if (st == DIT_OK) run->account->encoders++;
    if (st == DIT_OK) drop_instruction(run, batch, &made);
    if (st == DIT_OK) st = keep_results(run, batch, &made);
    dit_text_encoding_release(&made);
    run->account->text_encode_ns += dit_clock_ns() - began;
    return st == DIT_OK ? st : dit_error_note(st, "in %s", folder);
}

/* Zeros instead of an encoder that the pipeline leaves out, as many tokens as the first one has. */
static dit_status keep_nothing(prompt_run *run, const take_row *take)
{
    const kept_tensor *before = find_kept(run, "prompt_embeds");
    int64_t tokens = before ? before->tokens : 0, width = run->p->joint_width;
    if (!tokens) return DIT_FAIL(DIT_ERR_INTERNAL, "no text encoder stands before one that is left out");
    float *zeros = calloc((size_t)(run->rows * tokens * width), sizeof *zeros);
    if (!zeros) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for embeddings");
    dit_status st = keep(run, "prompt_embeds", take, tokens, width, zeros, false);
    free(zeros);
    return st;
}

/* The rule with the cleaning that was asked for. */
static dit_status settle_cleaning(const prompt_run *run, dit_prompt_rule *rule)
{
    if (!run->p->clean_caption) return DIT_OK;
    if (rule->cleaning == DIT_PROMPT_LOWER_STRIP) {
        rule->cleaning = DIT_PROMPT_CAPTION;
        return DIT_OK;
    }
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s has no clean_caption", run->pipeline),
                          "leave --clean_caption out: it is for PixArt, Latte and Sana");
}

/* Sees the picture, where the pipeline's prompts are about one. */
static dit_status see(prompt_run *run, const take_row *take)
{
    const dit_prompts_params *p = run->p;
    if (!(take->take & TAKE_SEEN)) return DIT_OK;
    if (!p->picture_count)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_USAGE, "%s changes a picture as a prompt says, and there is none", run->pipeline),
            "--image FILE gives it");
    dit_seen_params params = {.folder = p->folder,
                              .count = p->picture_count,
                              .backend = p->backend,
                              .dtype = p->dtype,
                              .threads = p->threads,
                              .way = p->way,
                              .streamed = p->streamed,
                              .seeded = p->seeded,
                              .seed = p->seed};
    memcpy(params.pictures, p->pictures, sizeof params.pictures);
    DIT_TRY(dit_seen_encode(&params, &run->seen));
    run->account->image_encode_ns = run->seen.encode_ns;
    if (run->seen.peak_bytes > run->account->peak_bytes) run->account->peak_bytes = run->seen.peak_bytes;
    return DIT_OK;
}

static dit_status run_encoder(prompt_run *run, const dit_prompt_rule *table_row)
{
    dit_prompt_rule settled = *table_row, *rule = &settled;
    DIT_TRY(settle_cleaning(run, rule));
    text_batch batch = {.rule = rule, .take = find_row(run->pipeline, rule->text_encoder)};
    if (!batch.take)
        return DIT_FAIL(DIT_ERR_INTERNAL, "%s of %s is in the table of prompts alone", rule->text_encoder,
                        run->pipeline);
    if (batch.take->take & TAKE_AFTER && !dit_prompt_has(run->index, rule->text_encoder))
        return keep_nothing(run, batch.take);
    batch.asked = batch.take->take & TAKE_FIXED ? 0 : run->p->longest;
    DIT_TRY(see(run, batch.take));
    char before[BEFORE_BYTES];
    DIT_TRY(dit_prompt_before(rule, run->seen.pictures.count, before, sizeof before));
    rule->before = before;
    dit_status st = tokenize(run, &batch);
    if (st == DIT_OK) st = keep_ids(run, &batch);
    if (st == DIT_OK) st = encode(run, &batch);
    free(batch.ids);
    free(batch.mask);
    return st;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* Makes zeros of the tokens of a row that are not seen. */
static void hide(const kept_tensor *kept, const int32_t *seen, float *row)
{
    for (int64_t t = 0; t < kept->tokens; t++)
        if (!seen[t]) memset(row + t * kept->width, 0, (size_t)kept->width * sizeof *row);
}

/* One branch's rows of a tensor, in the file's shape. */
static dit_status branch_of(const prompt_run *run, const kept_tensor *kept, bool negative, dit_tensor_out *out,
                            char name[NAME_BYTES + 16])
{
    const dit_prompts_params *p = run->p;
    int64_t first = negative ? 0 : run->rows - p->count, each = negative ? 1 : p->images_per_prompt;
    int64_t count = negative ? 1 : p->count, row = kept->tokens * kept->width;
    float *data = malloc((size_t)(count * each * row) * sizeof *data);
    if (!data) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for embeddings");
    for (int64_t i = 0; i < count * each; i++) {
        int64_t prompt = kept->cycled ? i % count : i / each;
        memcpy(data + i * row, kept->data + (first + prompt) * row, (size_t)row * sizeof *data);
        if (kept->seen && !negative) hide(kept, kept->seen + (first + i % count) * kept->tokens, data + i * row);
    }
    snprintf(name, NAME_BYTES + 16, "%s%s", negative ? "negative_" : "", kept->name);
    *out = (dit_tensor_out){.name = name, .rank = kept->pooled || kept->flat ? 2 : 3, .data = data};
    out->shape[0] = count * each;
    out->shape[1] = kept->pooled ? kept->width : kept->tokens;
    out->shape[2] = kept->width;
    return DIT_OK;
}

static dit_status write_file(const prompt_run *run)
{
    dit_tensor_out tensors[2 * MOST_TENSORS + DIT_FIRST_FRAME_TENSORS] = {{0}};
    char names[2 * MOST_TENSORS][NAME_BYTES + 16];
    int count = 0;
    dit_status st = DIT_OK;
    for (int i = 0; i < run->count; i++)
        for (int negative = 0; negative <= run->p->guided && st == DIT_OK; negative++, count++)
            st = branch_of(run, &run->kept[i], negative, &tensors[count], names[count]);
    int more = run->p->first_frame ? run->p->first_frame->count : 0;
    for (int i = 0; i < more; i++) tensors[count + i] = run->p->first_frame->tensors[i];
    if (st == DIT_OK) st = dit_safetensors_write(run->p->path, tensors, count + more);
    for (int i = 0; i < count; i++) free((void *)(uintptr_t)tensors[i].data);
    return st;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Whether an encoder of the pipeline takes what `flag` says. */
static bool takes(const char *pipeline, const char *text_encoder, int flag)
{
    const take_row *row = find_row(pipeline, text_encoder);
    return row && row->take & flag;
}

/* Refuses prompts and skipped blocks that the pipeline has no place for. */
static dit_status check_texts(const prompt_run *run)
{
    static const char *const encoders[DIT_PROMPTS_MORE] = {"text_encoder_2", "text_encoder_3"};
    const dit_prompts_params *p = run->p;
    for (int i = 0; i < DIT_PROMPTS_MORE; i++) {
        if (p->prompt_more[i] && !takes(run->pipeline, encoders[i], TAKE_OWN))
            return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s has no prompt_%d", run->pipeline, i + 2);
        if (p->negative_more[i] && !takes(run->pipeline, encoders[i], TAKE_OWN_NEGATIVE))
            return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s has no negative_prompt_%d", run->pipeline, i + 2);
    }
    if (!p->clip_skip || takes(run->pipeline, "text_encoder", TAKE_SKIPS)) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s has no clip_skip", run->pipeline),
                          "leave --clip_skip out: it is for SD3");
}

static dit_status run_encoders(prompt_run *run)
{
    int count;
    const dit_prompt_rule *rules = dit_prompt_rules(run->pipeline, &count);
    char list[512];
    if (count == 0) {
        dit_words_join(dit_prompt_pipelines(), list, sizeof list);
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s/model_index.json: the prompts of %s are not supported",
                                       run->p->folder, run->pipeline),
                              "there are %s; embeddings made elsewhere are given with --inputs", list);
    }
    DIT_TRY(check_texts(run));
    for (int i = 0; i < count; i++) DIT_TRY(run_encoder(run, &rules[i]));
    if (dit_comm_rank(dit_comm_world()) == 0) DIT_TRY(write_file(run));
    return dit_comm_barrier(dit_comm_world());
}

dit_status dit_prompts_encode(const dit_prompts_params *params, dit_prompts_account *account)
{
    char path[PATH_BYTES];
    dit_json index;
    prompt_run run = {.p = params, .account = account, .index = &index, .rows = params->count + params->guided};
    run.runs = params->runs > 0 ? params->runs : 1;
    *account = (dit_prompts_account){0};
    account->tokenize_each = calloc((size_t)run.runs, sizeof *account->tokenize_each);
    account->encode_each = calloc((size_t)run.runs, sizeof *account->encode_each);
    if (!account->tokenize_each || !account->encode_each)
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the times of %d runs", run.runs);
    if (snprintf(path, sizeof path, "%s/model_index.json", params->folder) >= (int)sizeof path)
        return DIT_FAIL(DIT_ERR_IO, "the path of model_index.json is too long");
    DIT_TRY(dit_config_read_file(path, &index));
    dit_status st = dit_json_require_string(&index, index.root, "", "_class_name", &run.pipeline);
    if (st == DIT_OK) st = run_encoders(&run);
    for (int i = 0; i < run.count; i++) {
        free(run.kept[i].data);
        free(run.kept[i].seen);
    }
    dit_tokenizer_close(run.first);
    dit_seen_release(&run.seen);
    dit_json_release(&index);
    return st;
}

void dit_prompts_account_release(dit_prompts_account *account)
{
    free(account->tokenize_each);
    free(account->encode_each);
    *account = (dit_prompts_account){0};
}
