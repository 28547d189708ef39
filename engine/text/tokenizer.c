#include "engine/text/tokenizer.h"

#include "base/lenient.h"
#include "base/words.h"
#include "engine/text/tokenizer_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static const char *const clip_files[] = {"vocab.json", NULL}, *const bert_files[] = {"vocab.txt", NULL},
                         *const t5_files[] = {"spiece.model", "tokenizer.model", NULL};

#define CLIP_ROLES                                                                                                     \
    {                                                                                                                  \
        "<|startoftext|>", "<|endoftext|>", "<|endoftext|>", NULL, "<|endoftext|>"                                     \
    }
#define T5_ROLES                                                                                                       \
    {                                                                                                                  \
        NULL, "</s>", "<unk>", NULL, "<pad>"                                                                           \
    }
#define BERT_ROLES                                                                                                     \
    {                                                                                                                  \
        NULL, NULL, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"                                                       \
    }
#define QWEN_ROLES                                                                                                     \
    {                                                                                                                  \
        NULL, "<|endoftext|>", "<|endoftext|>", NULL, "<|endoftext|>"                                                  \
    }
#define GEMMA_ROLES                                                                                                    \
    {                                                                                                                  \
        "<bos>", "<eos>", "<unk>", NULL, "<pad>"                                                                       \
    }
#define LLAMA_ROLES                                                                                                    \
    {                                                                                                                  \
        "<s>", "</s>", "<unk>"                                                                                         \
    }

/* All classes. The first of its files that is there is what a slow class reads, and tokenizer.json where none is; a fast one
 * reads tokenizer.json, and converts its file where that is missing or the config has "add_prefix_space". A slow class
 * without files has all it needs in tokenizer_config.json. */
static const dit_tokenizer_class classes[] = {
    {"BertTokenizer", false, bert_files, dit_open_bert, BERT_ROLES, 0, false, false},
    {"BertTokenizerFast", true, NULL, NULL, BERT_ROLES, 0, false, false},
    {"ByT5Tokenizer", false, NULL, dit_open_byt5, T5_ROLES, 125, false, false},
    {"CLIPTokenizer", false, clip_files, dit_open_clip, CLIP_ROLES, 0, false, false},
    {"CLIPTokenizerFast", true, NULL, NULL, CLIP_ROLES, 0, false, false},
    {"GemmaTokenizer", true, NULL, NULL, GEMMA_ROLES, 0, true, true}, /* as transformers 5 has it: no tokenizer.model */
    {"GemmaTokenizerFast", true, NULL, NULL, GEMMA_ROLES, 0, true, true},
    {"LlamaTokenizer", true, NULL, NULL, LLAMA_ROLES, 0, true, false},
    {"LlamaTokenizerFast", true, NULL, NULL, LLAMA_ROLES, 0, true, false},
    {"MT5Tokenizer", false, t5_files, dit_open_t5, T5_ROLES, 100, false, false},
    {"MT5TokenizerFast", true, t5_files, dit_open_t5_fast, T5_ROLES, 100, false, false},
    {"PreTrainedTokenizerFast", true, NULL, NULL, {NULL}, 0, false, false},
    {"Qwen2Tokenizer", false, clip_files, dit_open_qwen2, QWEN_ROLES, 0, false, false},
    {"Qwen2TokenizerFast", true, NULL, NULL, QWEN_ROLES, 0, false, false},
    {"T5Tokenizer", false, t5_files, dit_open_t5, T5_ROLES, 100, false, false},
    {"T5TokenizerFast", true, t5_files, dit_open_t5_fast, T5_ROLES, 100, false, false},
    {"TokenizersBackend", true, NULL, NULL, {NULL}, 0, false, false}, /* PreTrainedTokenizerFast since transformers 5 */
};
enum { CLASS_COUNT = sizeof classes / sizeof *classes };

static dit_status find_class(const char *name, const dit_tokenizer_class **out)
{
    const char *names[CLASS_COUNT + 1] = {0};
    for (int i = 0; i < CLASS_COUNT; i++) {
        names[i] = classes[i].name;
        *out = &classes[i];
        if (strcmp(name, classes[i].name) == 0) return DIT_OK;
    }
    return dit_words_hint_all(DIT_FAIL(DIT_ERR_NOT_FOUND, "the tokenizer class \"%.80s\" is not implemented", name),
                              "there are", names);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

dit_status dit_tokenizer_path(const dit_tokenizer_source *source, const char *name, char out[DIT_TOKENIZER_PATH])
{
    int length = snprintf(out, DIT_TOKENIZER_PATH, "%s/%s", source->folder, name);
    return length < DIT_TOKENIZER_PATH ? DIT_OK
                                       : DIT_FAIL(DIT_ERR_USAGE, "the path %.80s... is too long", source->folder);
}

static dit_status read_if_there(const dit_tokenizer_source *source, const char *name, dit_json *out)
{
    char path[DIT_TOKENIZER_PATH];
    DIT_TRY(dit_tokenizer_path(source, name, path));
    return access(path, F_OK) == 0 ? dit_json_read_lenient(path, out) : DIT_OK;
}

static dit_status read_source(dit_tokenizer_source *source, const char *class_name)
{
    DIT_TRY(read_if_there(source, "tokenizer_config.json", &source->config));
    const cJSON *root = source->config.root;
    if (!class_name) class_name = dit_json_text_or(root, "tokenizer_class", NULL);
    if (!class_name)
        return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "%s names no tokenizer class", source->folder),
                              "tokenizer_config.json should have \"tokenizer_class\"");
    DIT_TRY(find_class(class_name, &source->klass));
    source->extra_ids = source->klass->extra_ids;
    if (source->extra_ids && root)
        DIT_TRY(dit_json_optional_int(&source->config, root, "", "extra_ids", 0, 10000, &source->extra_ids));
    /* The newer way to write a folder makes special_tokens_map.json a copy. */
    return dit_json_member(root, "added_tokens_decoder")
               ? DIT_OK
               : read_if_there(source, "special_tokens_map.json", &source->roles);
}

/* Writes the path of the first file that is there; "" when none is. */
static dit_status find_file(const dit_tokenizer_source *source, const char *const *files, char path[DIT_TOKENIZER_PATH])
{
    for (; files && *files; files++) {
        DIT_TRY(dit_tokenizer_path(source, *files, path));
        if (access(path, F_OK) == 0) return DIT_OK;
    }
    path[0] = '\0';
    return DIT_OK;
}

static dit_status open_files(dit_tokenizer_source *source, dit_tokenizer *out)
{
    static const char *const json_files[] = {"tokenizer.json", NULL};
    const dit_tokenizer_class *klass = source->klass;
    char own[DIT_TOKENIZER_PATH], json[DIT_TOKENIZER_PATH];
    if (!klass->fast && !klass->files) {
        out->slow = true;
        return klass->open(source, "", out);
    }
    DIT_TRY(find_file(source, klass->files, own));
    DIT_TRY(find_file(source, json_files, json));
    if (own[0] && (!klass->fast || !json[0] || dit_json_member(source->config.root, "add_prefix_space"))) {
        out->slow = !klass->fast;
        return klass->open(source, own, out);
    }
    if (json[0]) return dit_open_tokenizer_json(source, json, out);
    return dit_error_hint(DIT_FAIL(DIT_ERR_IO, "%s has no tokenizer.json%s%s, which %s reads", source->folder,
                                   klass->files ? " and no " : "", klass->files ? klass->files[0] : "", klass->name),
                          "the folder of the checkpoint has more files: copy all of them");
}

static dit_status read_sides(const dit_tokenizer_source *source, dit_tokenizer *out)
{
    static const char *const sides[] = {"right", "left", NULL};
    static const char *const keys[] = {"padding_side", "truncation_side"};
    bool *const left[] = {&out->pads_left, &out->cuts_left};
    for (int i = 0; i < 2; i++) {
        const char *usual = i == 0 && source->klass->pads_left ? "left" : "right";
        const char *side = dit_json_text_or(source->config.root, keys[i], usual);
        int found = dit_words_find(sides, side);
        if (found < 0) return dit_json_fail_word(&source->config, "", keys[i], side, sides);
        *left[i] = found == 1;
    }
    double most = dit_json_number_or(source->config.root, "model_max_length", 0);
    out->facts.model_max_length = most > 0 && most <= INT32_MAX ? (int64_t)most : 0;
    return DIT_OK;
}

static void count_ids(dit_tokenizer *t)
{
    t->facts.ids = t->model.vocabulary.end;
    for (int i = 0; i < t->added.count; i++)
        if (t->added.at[i].id >= t->facts.ids) t->facts.ids = t->added.at[i].id + 1;
    const dit_ids *around[] = {&t->front, &t->back};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < around[side]->count; i++)
            if (around[side]->at[i] >= t->facts.ids) t->facts.ids = around[side]->at[i] + 1;
}

static dit_status open_source(dit_tokenizer_source *source, const char *class_name, dit_tokenizer *out)
{
    out->model.unk = -1;
    DIT_TRY(read_source(source, class_name));
    out->facts.class_name = source->klass->name;
    DIT_TRY(open_files(source, out));
    DIT_TRY(read_sides(source, out));
    if (out->front.failed || out->back.failed) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a tokenizer");
    count_ids(out);
    return dit_added_tokens_sort(&out->added);
}

dit_status dit_tokenizer_open(const char *folder, const char *class_name, dit_tokenizer **out)
{
    dit_tokenizer_source source = {.folder = folder};
    *out = NULL;
    dit_tokenizer *made = calloc(1, sizeof *made);
    if (!made) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a tokenizer");
    dit_status st = open_source(&source, class_name, made);
    dit_json_release(&source.config);
    dit_json_release(&source.roles);
    if (st == DIT_OK)
        *out = made;
    else
        dit_tokenizer_close(made);
    return st == DIT_OK ? st : dit_error_note(st, "while the tokenizer %s was opened", folder);
}

/* model_index.json has {"tokenizer": ["transformers", "CLIPTokenizer"]}. */
dit_status dit_tokenizer_open_part(const char *pipeline_folder, const char *part, dit_tokenizer **out)
{
    const dit_tokenizer_source source = {.folder = pipeline_folder};
    char path[DIT_TOKENIZER_PATH];
    dit_json index = {0};
    *out = NULL;
    DIT_TRY(dit_tokenizer_path(&source, "model_index.json", path));
    DIT_TRY(dit_json_read_lenient(path, &index));
    const cJSON *name = cJSON_GetArrayItem(dit_json_member(index.root, part), 1);
    dit_status st = cJSON_IsString(name)
                        ? dit_tokenizer_path(&source, part, path)
                        : dit_json_fail(&index, "", DIT_ERR_JSON_MISSING, "there is no \"%s\": [library, class]", part);
    bool processor = st == DIT_OK && strstr(name->valuestring, "Processor"); /* it holds a tokenizer */
    if (st == DIT_OK) st = dit_tokenizer_open(path, processor ? NULL : name->valuestring, out);
    dit_json_release(&index);
    return st;
}

void dit_tokenizer_close(dit_tokenizer *t)
{
    if (!t) return;
    dit_added_tokens_release(&t->added);
    dit_steps_release(&t->normalizer);
    dit_steps_release(&t->splitter);
    dit_token_model_release(&t->model);
    dit_ids_release(&t->front);
    dit_ids_release(&t->back);
    free(t);
}

void dit_tokenizer_describe(const dit_tokenizer *tokenizer, dit_tokenizer_facts *out)
{
    *out = tokenizer->facts;
}
