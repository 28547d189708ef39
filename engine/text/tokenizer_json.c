/* tokenizer.json: a whole tokenizer as the tokenizers library writes it: added tokens, normalizer, pre_tokenizer, model,
 * post_processor. */
#include "engine/text/tokenizer_impl.h"

#include "base/lenient.h"
#include "base/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const dit_json *doc;
    const cJSON *model;
    dit_tokenizer *out;
} reading;

static dit_status fail(const reading *r, const char *pointer, const char *what)
{
    return dit_json_fail(r->doc, pointer, DIT_ERR_JSON_VALUE, "%s", what);
}

static dit_status copy_text(const reading *r, const char *key, char **out)
{
    const char *text = dit_json_text_or(r->model, key, "");
    if (!text[0]) return DIT_OK;
    *out = strdup(text);
    return *out ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a tokenizer");
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static dit_status read_unk(const reading *r)
{
    dit_token_model *model = &r->out->model;
    const char *unk = dit_json_text_or(r->model, "unk_token", NULL);
    model->unk = unk ? dit_vocabulary_find_text(&model->vocabulary, unk) : -1;
    return DIT_OK;
}

/* A merge is "a b", or ["a", "b"]. */
static dit_status read_merge(const reading *r, const cJSON *item, int32_t rank)
{
    dit_token_model *model = &r->out->model;
    const char *left = NULL, *right = NULL;
    if (cJSON_IsString(item)) {
        left = item->valuestring;
        const char *blank = strchr(left, ' ');
        if (!blank || !blank[1] || blank == left) return fail(r, "/model/merges", "a merge is not two tokens");
        return dit_bpe_add_merge(model, (dit_span){left, (size_t)(blank - left)},
                                 (dit_span){blank + 1, strlen(blank + 1)}, rank);
    }
    if (cJSON_IsArray(item) && cJSON_GetArraySize(item) == 2) {
        left = item->child->valuestring;
        right = item->child->next->valuestring;
    }
    if (!left || !right) return fail(r, "/model/merges", "a merge is not two tokens");
    return dit_bpe_add_merge(model, (dit_span){left, strlen(left)}, (dit_span){right, strlen(right)}, rank);
}

static dit_status read_bpe(const reading *r)
{
    dit_token_model *model = &r->out->model;
    const cJSON *item, *merges = dit_json_member(r->model, "merges");
    int32_t rank = 0;
    model->encode = dit_bpe_encode;
    DIT_TRY(dit_vocabulary_add_object(&model->vocabulary, r->doc, dit_json_member(r->model, "vocab"), "/model/vocab"));
    if (dit_json_number_or(r->model, "dropout", 0) > 0)
        return dit_json_fail(r->doc, "/model", DIT_ERR_UNSUPPORTED, "dropout makes ids random; only 0 is implemented");
    DIT_TRY(copy_text(r, "continuing_subword_prefix", &model->prefix));
    DIT_TRY(copy_text(r, "end_of_word_suffix", &model->suffix));
    model->fuse_unk = dit_json_is_true(r->model, "fuse_unk");
    model->byte_fallback = dit_json_is_true(r->model, "byte_fallback");
    model->ignore_merges = dit_json_is_true(r->model, "ignore_merges");
    if (!cJSON_IsArray(merges)) return fail(r, "/model", "the model has no list of merges");
    cJSON_ArrayForEach(item, merges) DIT_TRY(read_merge(r, item, rank++));
    return read_unk(r);
}

static dit_status read_unigram(const reading *r)
{
    dit_token_model *model = &r->out->model;
    const cJSON *item, *vocab = dit_json_member(r->model, "vocab");
    int64_t id = 0, unk = dit_json_int_or(r->model, "unk_id", -1);
    model->encode = dit_unigram_encode;
    model->lowest = INFINITY;
    model->fuse_unk = true;
    model->byte_fallback = dit_json_is_true(r->model, "byte_fallback");
    if (!cJSON_IsArray(vocab)) return fail(r, "/model", "the model has no vocabulary");
    cJSON_ArrayForEach(item, vocab)
    {
        const cJSON *token = cJSON_IsArray(item) ? item->child : NULL, *score = token ? token->next : NULL;
        if (!cJSON_IsString(token) || !cJSON_IsNumber(score))
            return fail(r, "/model/vocab", "an entry of the vocabulary is not a token and a score");
        DIT_TRY(dit_unigram_add(model, (dit_span){token->valuestring, strlen(token->valuestring)}, id++,
                                score->valuedouble));
    }
    if (unk < 0 || unk >= id || model->byte_fallback)
        return dit_json_fail(r->doc, "/model", DIT_ERR_UNSUPPORTED,
                             "a Unigram model without unk_id, or with byte_fallback, is not implemented");
    model->unk = (int32_t)unk;
    return DIT_OK;
}

static dit_status read_word_piece(const reading *r)
{
    dit_token_model *model = &r->out->model;
    model->encode = dit_word_piece_encode;
    DIT_TRY(dit_vocabulary_add_object(&model->vocabulary, r->doc, dit_json_member(r->model, "vocab"), "/model/vocab"));
    DIT_TRY(copy_text(r, "continuing_subword_prefix", &model->prefix));
    model->max_input_chars = dit_json_int_or(r->model, "max_input_chars_per_word", 100);
    return read_unk(r);
}

static dit_status read_word_level(const reading *r)
{
    dit_token_model *model = &r->out->model;
    model->encode = dit_word_level_encode;
    DIT_TRY(dit_vocabulary_add_object(&model->vocabulary, r->doc, dit_json_member(r->model, "vocab"), "/model/vocab"));
    return read_unk(r);
}

/* All kinds of models. */
static const struct {
    const char *type;
    dit_status (*read)(const reading *r);
} models[] = {
    {"BPE", read_bpe}, {"Unigram", read_unigram}, {"WordLevel", read_word_level}, {"WordPiece", read_word_piece}};
enum { MODEL_COUNT = sizeof models / sizeof *models };

static dit_status read_model(const reading *r)
{
    const char *type, *names[MODEL_COUNT + 1] = {0};
    DIT_TRY(dit_json_require_string(r->doc, r->model, "/model", "type", &type));
    for (int i = 0; i < MODEL_COUNT; i++) {
        names[i] = models[i].type;
        if (strcmp(type, models[i].type) == 0) return models[i].read(r);
    }
    return dit_words_hint_all(
        dit_json_fail(r->doc, "/model", DIT_ERR_UNSUPPORTED, "the model %.80s is not implemented", type), "there are",
        names);
}

/* ---- added tokens ------------------------------------------------------------------------------------------------ */

static dit_status read_added(const reading *r, const cJSON *list)
{
    const cJSON *item;
    char pointer[64];
    int index = 0;
    cJSON_ArrayForEach(item, list)
    {
        dit_added_token token;
        const char *content;
        snprintf(pointer, sizeof pointer, "/added_tokens/%d", index++);
        DIT_TRY(dit_added_token_read(r->doc, item, pointer, &content, &token));
        int64_t id = dit_json_int_or(item, "id", -1);
        int32_t known = dit_vocabulary_find_text(&r->out->model.vocabulary, content);
        if (known < 0 && (id < 0 || id >= DIT_IDS_MAX)) return fail(r, pointer, "an added token has no id");
        token.id = known >= 0 ? known : (int32_t)id;
        DIT_TRY(dit_added_tokens_put(&r->out->added, content, &token));
    }
    return DIT_OK;
}

/* ---- post-processors --------------------------------------------------------------------------------------------- */

/* Adds the ids of a template's special token to the front or the back. */
static dit_status add_template_token(const reading *r, const cJSON *processor, const char *name, dit_ids *ids)
{
    const cJSON *token = dit_json_member(dit_json_member(processor, "special_tokens"), name), *item;
    const cJSON *list = dit_json_member(token, "ids");
    if (!cJSON_IsArray(list)) return fail(r, "/post_processor", "a template has a token without ids");
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < DIT_IDS_MAX))
            return fail(r, "/post_processor", "a template has a token without ids");
        dit_ids_add(ids, (int32_t)item->valuedouble);
    }
    return DIT_OK;
}

static dit_status read_template(const reading *r, const cJSON *processor)
{
    const cJSON *item, *single = dit_json_member(processor, "single");
    dit_tokenizer *out = r->out;
    bool behind = false;
    if (!cJSON_IsArray(single)) return fail(r, "/post_processor", "a template is not a list");
    cJSON_ArrayForEach(item, single)
    {
        const char *name = dit_json_text_or(dit_json_member(item, "SpecialToken"), "id", NULL);
        if (!name && behind) return fail(r, "/post_processor", "a template has the text twice");
        if (!name)
            behind = true;
        else
            DIT_TRY(add_template_token(r, processor, name, behind ? &out->back : &out->front));
    }
    return DIT_OK;
}

/* "cls" and "sep" are a token and its id. */
static dit_status read_pair(const reading *r, const cJSON *processor)
{
    const cJSON *cls = dit_json_member(processor, "cls"), *sep = dit_json_member(processor, "sep");
    const cJSON *front = cJSON_GetArrayItem(cls, 1), *back = cJSON_GetArrayItem(sep, 1);
    if (!cJSON_IsNumber(front) || !cJSON_IsNumber(back) || !(front->valuedouble >= 0 && back->valuedouble >= 0) ||
        front->valuedouble >= DIT_IDS_MAX || back->valuedouble >= DIT_IDS_MAX)
        return fail(r, "/post_processor", "cls and sep are not tokens with ids");
    dit_ids_add(&r->out->front, (int32_t)front->valuedouble);
    dit_ids_add(&r->out->back, (int32_t)back->valuedouble);
    return DIT_OK;
}

static dit_status read_processor(const reading *r, const cJSON *processor)
{
    const char *type = dit_json_text_or(processor, "type", "");
    const cJSON *item, *list = dit_json_member(processor, "processors");
    if (!processor || strcmp(type, "ByteLevel") == 0) return DIT_OK; /* changes no ids */
    if (strcmp(type, "TemplateProcessing") == 0) return read_template(r, processor);
    if (strcmp(type, "RobertaProcessing") == 0 || strcmp(type, "BertProcessing") == 0) return read_pair(r, processor);
    if (strcmp(type, "Sequence") != 0)
        return dit_json_fail(r->doc, "/post_processor", DIT_ERR_UNSUPPORTED,
                             "the post_processor %.80s is not implemented", type);
    cJSON_ArrayForEach(item, list)
    {
        if (strcmp(dit_json_text_or(item, "type", ""), "Sequence") == 0)
            return fail(r, "/post_processor", "a Sequence in a Sequence");
        DIT_TRY(read_processor(r, item));
    }
    return DIT_OK;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Tokens that are looked for in normalised text are looked for as they are when normalised. */
static dit_status normalize_added(dit_tokenizer *t)
{
    for (int i = 0; i < t->added.count; i++) {
        dit_added_token *token = &t->added.at[i];
        dit_pieces pieces = {0};
        if (!token->normalized) continue;
        dit_status st = dit_steps_run(&t->normalizer, (dit_span){token->content, token->length}, true, &pieces);
        dit_span made = st == DIT_OK && pieces.count ? dit_pieces_get(&pieces, 0) : (dit_span){0};
        char *content = made.length ? strndup(made.at, made.length) : NULL;
        dit_pieces_release(&pieces);
        DIT_TRY(st);
        if (!content) continue;
        free(token->content);
        token->content = content;
        token->length = strlen(content);
    }
    return DIT_OK;
}

/* LlamaTokenizerFast writes its own template. */
static dit_status frame_text(const dit_tokenizer_source *source, dit_tokenizer *out)
{
    bool starts = true, ends = false;
    const dit_json *doc = &source->config;
    if (doc->root) {
        DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "add_bos_token", &starts));
        DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "add_eos_token", &ends));
    }
    if ((starts && out->facts.bos < 0) || (ends && out->facts.eos < 0))
        return DIT_FAIL(DIT_ERR_INTEGRITY, "%s has no token to begin or to end a text", source->folder);
    out->front.count = out->back.count = 0;
    if (starts) dit_ids_add(&out->front, out->facts.bos);
    if (ends) dit_ids_add(&out->back, out->facts.eos);
    return DIT_OK;
}

static dit_status read_all(const dit_tokenizer_source *source, const dit_json *doc, dit_tokenizer *out)
{
    const cJSON *root = doc->root;
    const reading r = {doc, dit_json_member(root, "model"), out};
    if (!cJSON_IsObject(r.model)) return fail(&r, "", "the document has no \"model\"");
    DIT_TRY(read_model(&r));
    DIT_TRY(dit_steps_read_normalizer(doc, dit_json_member(root, "normalizer"), "/normalizer", &out->normalizer));
    DIT_TRY(dit_steps_read_splitter(doc, dit_json_member(root, "pre_tokenizer"), "/pre_tokenizer", &out->splitter));
    DIT_TRY(read_added(&r, dit_json_member(root, "added_tokens")));
    DIT_TRY(read_processor(&r, dit_json_member(root, "post_processor")));
    DIT_TRY(dit_tokenizer_add_special(source, out));
    if (source->klass->frames_text) DIT_TRY(frame_text(source, out));
    return normalize_added(out);
}

dit_status dit_open_tokenizer_json(dit_tokenizer_source *source, const char *path, dit_tokenizer *out)
{
    dit_json doc = {0};
    DIT_TRY(dit_json_read_lenient(path, &doc));
    dit_status st = read_all(source, &doc, out);
    dit_json_release(&doc);
    return st == DIT_OK ? st : dit_error_note(st, "in %s", path);
}
