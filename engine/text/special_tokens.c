/* Special tokens of a folder: who says which there are, and with which ids. */
#include "engine/text/tokenizer_impl.h"

#include "base/file.h"
#include "base/lenient.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const role_names[DIT_ROLE_COUNT] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                       "pad_token", "cls_token", "mask_token"};

/* The member of a role: a text, or an object with "content". NULL: neither file has it. */
static const cJSON *find_role(const dit_tokenizer_source *source, const char *name, const dit_json **doc)
{
    const cJSON *item = dit_json_member(source->roles.root, name);
    *doc = &source->roles;
    if (item) return item;
    *doc = &source->config;
    return dit_json_member(source->config.root, name);
}

static const char *content_of(const cJSON *item)
{
    return cJSON_IsString(item) ? item->valuestring : dit_json_text_or(item, "content", NULL);
}

/* True if the config says that there is no such token: its null was dropped, and only the text still has it. */
static bool is_denied(const dit_tokenizer_source *source, const char *name)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    return source->config.text && strstr(source->config.text, quoted);
}

const char *dit_tokenizer_role(const dit_tokenizer_source *source, dit_token_role role)
{
    const dit_json *doc;
    const char *content = content_of(find_role(source, role_names[role], &doc));
    return content || is_denied(source, role_names[role]) ? content : source->klass->roles[role];
}

int32_t dit_tokenizer_id(const dit_tokenizer *tokenizer, const char *content)
{
    if (!content) return -1;
    const dit_added_token *added = dit_added_tokens_find(&tokenizer->added, content, strlen(content));
    return added ? added->id : dit_vocabulary_find_text(&tokenizer->model.vocabulary, content);
}

dit_status dit_added_token_read(const dit_json *doc, const cJSON *object, const char *pointer, const char **content,
                                dit_added_token *out)
{
    *out = (dit_added_token){.normalized = true};
    if (!cJSON_IsObject(object))
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "an added token is not an object");
    DIT_TRY(dit_json_require_string(doc, object, pointer, "content", content));
    DIT_TRY(dit_json_optional_bool(doc, object, pointer, "special", &out->special));
    out->normalized = !out->special;
    DIT_TRY(dit_json_optional_bool(doc, object, pointer, "normalized", &out->normalized));
    DIT_TRY(dit_json_optional_bool(doc, object, pointer, "lstrip", &out->lstrip));
    DIT_TRY(dit_json_optional_bool(doc, object, pointer, "rstrip", &out->rstrip));
    return dit_json_optional_bool(doc, object, pointer, "single_word", &out->single_word);
}

/* The id that a token gets which neither the model nor an added one has. */
static int32_t next_id(const dit_tokenizer *t)
{
    int64_t size = (int64_t)t->model.vocabulary.count, most = -1;
    for (int i = 0; i < t->added.count; i++) {
        const dit_added_token *token = &t->added.at[i];
        if (token->id > most) most = token->id;
        if (t->slow && dit_vocabulary_find_text(&t->model.vocabulary, token->content) < 0) size++;
    }
    return (int32_t)(!t->slow && most >= size ? most + 1 : size);
}

/* ---- added_tokens_decoder, added_tokens.json ----------------------------------------------------------------------- */

static dit_status read_decoder(const dit_tokenizer_source *source, const cJSON *decoder, dit_tokenizer *out)
{
    const dit_json *doc = &source->config;
    const cJSON *item;
    char pointer[96];
    cJSON_ArrayForEach(item, decoder)
    {
        dit_added_token token;
        const char *content;
        char *end;
        snprintf(pointer, sizeof pointer, "/added_tokens_decoder/%.32s", item->string ? item->string : "");
        long long id = item->string ? strtoll(item->string, &end, 10) : -1;
        if (id < 0 || id >= DIT_IDS_MAX || end == item->string || *end)
            return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "the key is not an id in 0..%d", DIT_IDS_MAX - 1);
        DIT_TRY(dit_added_token_read(doc, item, pointer, &content, &token));
        /* The tokenizers library keeps the id that it has. */
        int32_t known = out->slow ? -1 : dit_tokenizer_id(out, content);
        token.id = known >= 0 ? known : out->slow ? (int32_t)id : next_id(out);
        /* And for a special token, in which text it is looked for. */
        const dit_added_token *before = dit_added_tokens_find(&out->added, content, strlen(content));
        if (!out->slow && before && before->special) token.normalized = before->normalized;
        DIT_TRY(dit_added_tokens_put(&out->added, content, &token));
    }
    return DIT_OK;
}

static bool lists(const cJSON *list, const char *content)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        const char *one = content_of(item);
        if (one && strcmp(one, content) == 0) return true;
    }
    return false;
}

static bool is_special(const dit_tokenizer_source *source, const char *content)
{
    const dit_json *doc;
    for (int role = 0; role < DIT_ROLE_COUNT; role++) {
        const char *one = dit_tokenizer_role(source, role);
        if (one && strcmp(one, content) == 0) return true;
    }
    return lists(find_role(source, "additional_special_tokens", &doc), content);
}

/* The older form: {"<extra_id_0>": 32099}. */
static dit_status read_added_file(const dit_tokenizer_source *source, dit_tokenizer *out)
{
    char path[DIT_TOKENIZER_PATH];
    dit_json doc = {0};
    const cJSON *item;
    DIT_TRY(dit_tokenizer_path(source, "added_tokens.json", path));
    if (access(path, F_OK) != 0) return DIT_OK;
    DIT_TRY(dit_json_read_lenient(path, &doc));
    dit_status st = DIT_OK;
    cJSON_ArrayForEach(item, doc.root)
    {
        double id = cJSON_IsNumber(item) ? item->valuedouble : -1;
        if (!(id >= 0 && id < DIT_IDS_MAX) || !item->string) {
            st = dit_json_fail(&doc, "", DIT_ERR_JSON_VALUE, "an id is not in 0..%d", DIT_IDS_MAX - 1);
            break;
        }
        bool special = is_special(source, item->string);
        const dit_added_token token = {.id = (int32_t)id, .special = special, .normalized = !special};
        DIT_TRY_GOTO(st, dit_added_tokens_put(&out->added, item->string, &token), done);
    }
done:
    dit_json_release(&doc);
    return st;
}

/* ---- roles ------------------------------------------------------------------------------------------------------- */

/* Adds a token that nobody has added yet. */
static dit_status add_missing(const dit_json *doc, const cJSON *item, const char *content, dit_tokenizer *out)
{
    dit_added_token token = {.special = true};
    if (!content || dit_added_tokens_find(&out->added, content, strlen(content))) return DIT_OK;
    if (cJSON_IsObject(item)) DIT_TRY(dit_added_token_read(doc, item, "", &content, &token));
    token.special = true;
    token.id = dit_vocabulary_find_text(&out->model.vocabulary, content);
    if (token.id < 0) token.id = next_id(out);
    return dit_added_tokens_put(&out->added, content, &token);
}

static dit_status add_roles(const dit_tokenizer_source *source, dit_tokenizer *out)
{
    const dit_json *doc;
    const cJSON *item;
    for (int role = 0; role < DIT_ROLE_COUNT; role++) {
        item = find_role(source, role_names[role], &doc);
        DIT_TRY(add_missing(doc, item, dit_tokenizer_role(source, role), out));
    }
    const cJSON *list = find_role(source, "additional_special_tokens", &doc);
    cJSON_ArrayForEach(item, list) DIT_TRY(add_missing(doc, item, content_of(item), out));
    return DIT_OK;
}

static bool is_byte_model(const dit_tokenizer *t)
{
    return t->model.encode == dit_byte_encode;
}

/* T5 has tokens <extra_id_N> behind its pieces, the last number first; ByT5 the first one, unless its folder lists some. */
static dit_status add_extra_ids(const dit_tokenizer_source *source, dit_tokenizer *out)
{
    int64_t size = (int64_t)out->model.vocabulary.count, extra = source->extra_ids;
    char content[48];
    for (int64_t i = 0; i < extra; i++) {
        snprintf(content, sizeof content, "<extra_id_%lld>", (long long)i);
        if (!out->slow || is_byte_model(out)) {
            DIT_TRY(add_missing(NULL, NULL, content, out));
            continue;
        }
        const dit_added_token token = {
            .id = (int32_t)(size - 1 + extra - i), .lstrip = true, .rstrip = true, .special = true};
        DIT_TRY(dit_added_tokens_put(&out->added, content, &token));
    }
    return DIT_OK;
}

dit_status dit_tokenizer_add_special(const dit_tokenizer_source *source, dit_tokenizer *out)
{
    const dit_json *doc;
    const cJSON *decoder = dit_json_member(source->config.root, "added_tokens_decoder");
    bool listed = find_role(source, "additional_special_tokens", &doc) != NULL, bytes = is_byte_model(out);
    if (out->slow && !bytes) DIT_TRY(add_extra_ids(source, out));
    if (decoder)
        DIT_TRY(read_decoder(source, decoder, out));
    else
        DIT_TRY(read_added_file(source, out));
    DIT_TRY(add_roles(source, out));
    if (bytes ? !listed : !out->slow) DIT_TRY(add_extra_ids(source, out));
    out->facts.bos = dit_tokenizer_id(out, dit_tokenizer_role(source, DIT_ROLE_BOS));
    out->facts.eos = dit_tokenizer_id(out, dit_tokenizer_role(source, DIT_ROLE_EOS));
    out->facts.unk = dit_tokenizer_id(out, dit_tokenizer_role(source, DIT_ROLE_UNK));
    out->facts.pad = dit_tokenizer_id(out, dit_tokenizer_role(source, DIT_ROLE_PAD));
    return DIT_OK;
}
