#include "engine/text/token_list.h"

#include "base/file.h"
#include "base/json_writer.h"
#include "base/lenient.h"
#include "base/words.h"
#include "engine/text/prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, PROMPTS_BYTES_MAX = 64 << 20 };

typedef struct {
    dit_json doc;         /* of a file that is JSON */
    const cJSON *prompts; /* a list of texts */
    cJSON *lines;         /* prompts of a file that is none; owned */
    const char *class_name;
    int64_t length; /* 0: not said */
} request;

/* ---- prompts ----------------------------------------------------------------------------------------------------- */

static dit_status take_lines(char *text, request *r)
{
    dit_json_writer w = {0};
    char *rest = text, *line;
    r->lines = dit_json_new_array(&w);
    while ((line = strsep(&rest, "\n")))
        if (*line || rest) dit_json_put_string(&w, r->lines, NULL, line);
    r->prompts = r->lines;
    return w.status;
}

static dit_status take_json(const char *text, size_t length, const char *path, request *r)
{
    static const char *const keys[] = {"prompts", "length", "class", NULL};
    const cJSON *item;
    DIT_TRY(dit_json_parse(text, length, path, &r->doc));
    const cJSON *root = r->doc.root;
    r->prompts = root;
    if (cJSON_IsObject(root)) {
        DIT_TRY(dit_json_only_keys(&r->doc, root, "", keys));
        DIT_TRY(dit_json_optional_string(&r->doc, root, "", "class", &r->class_name));
        DIT_TRY(dit_json_optional_int(&r->doc, root, "", "length", 1, DIT_TOKEN_LENGTH_MAX, &r->length));
        r->prompts = dit_json_member(root, "prompts");
    }
    if (!cJSON_IsArray(r->prompts))
        return dit_json_fail(&r->doc, "", DIT_ERR_JSON_TYPE, "a list of prompts is expected");
    cJSON_ArrayForEach(item, r->prompts)
    {
        if (!cJSON_IsString(item)) return dit_json_fail(&r->doc, "", DIT_ERR_JSON_TYPE, "a prompt is not a text");
    }
    return DIT_OK;
}

static dit_status read_request(const char *path, request *r)
{
    char *text;
    size_t length;
    DIT_TRY(dit_file_read(path, PROMPTS_BYTES_MAX, &text, &length));
    const char *first = text + strspn(text, " \t\r\n");
    dit_status st = *first == '[' || *first == '{' ? take_json(text, length, path, r) : take_lines(text, r);
    free(text);
    return st;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void put_ints(dit_json_writer *w, cJSON *row, const char *key, const int32_t *values, int64_t count)
{
    cJSON *list = dit_json_put_array(w, row, key);
    for (int64_t i = 0; i < count; i++) dit_json_put_int(w, list, NULL, values[i]);
}

/* Adds a row of all ids. */
static dit_status add_all(dit_json_writer *w, cJSON *rows, const dit_tokenizer *tokenizer, const char *prompt)
{
    int32_t *ids;
    int64_t count;
    DIT_TRY(dit_tokenize_all(tokenizer, prompt, &ids, &count));
    cJSON *row = dit_json_put_object(w, rows, NULL);
    put_ints(w, row, "ids", ids, count);
    dit_json_put_int(w, row, "count", count);
    free(ids);
    return w->status;
}

/* Ids of a row: `asked`, and those of a pipeline's template. */
static dit_status row_length(const dit_tokenizer *tokenizer, const dit_prompt_rule *rule, int64_t asked,
                             int64_t *length)
{
    *length = asked;
    return rule ? dit_prompt_row(rule, tokenizer, asked, length) : DIT_OK;
}

/* Adds a row, by a pipeline's rule unless it is NULL. */
static dit_status add_row(dit_json_writer *w, cJSON *rows, const dit_tokenizer *tokenizer, const dit_prompt_rule *rule,
                          int64_t asked, const char *prompt)
{
    int64_t count, length;
    DIT_TRY(row_length(tokenizer, rule, asked, &length));
    const dit_token_rule plain = {.length = length};
    int32_t *ids = malloc((size_t)length * 2 * sizeof *ids), *mask = ids ? ids + length : NULL;
    if (!ids) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a row of %lld ids", (long long)length);
    dit_status st = rule ? dit_prompt_tokenize(rule, tokenizer, prompt, asked, ids, mask, &count)
                         : dit_tokenize(tokenizer, prompt, &plain, ids, mask, &count);
    if (st == DIT_OK) {
        cJSON *row = dit_json_put_object(w, rows, NULL);
        put_ints(w, row, "ids", ids, length);
        put_ints(w, row, "mask", mask, length);
        dit_json_put_int(w, row, "count", count);
        st = w->status;
    }
    free(ids);
    return st;
}

/* `asked` ids of a row, without those of a pipeline's template; 0: all ids of each text. */
static dit_status add_tokenizer(cJSON *list, const request *r, const dit_tokenizer *tokenizer,
                                const dit_prompt_rule *rule, int64_t asked, const char *name)
{
    int64_t length;
    dit_json_writer w = {0};
    dit_tokenizer_facts facts;
    const cJSON *item;
    dit_tokenizer_describe(tokenizer, &facts);
    DIT_TRY(row_length(tokenizer, rule, asked, &length));
    cJSON *entry = dit_json_put_object(&w, list, NULL);
    dit_json_put_string(&w, entry, "name", name);
    dit_json_put_string(&w, entry, "class", facts.class_name);
    dit_json_put_int(&w, entry, "ids", facts.ids);
    if (length) dit_json_put_int(&w, entry, "length", length);
    cJSON *rows = dit_json_put_array(&w, entry, "rows");
    cJSON_ArrayForEach(item, r->prompts)
    {
        if (length)
            DIT_TRY(add_row(&w, rows, tokenizer, rule, asked, item->valuestring));
        else
            DIT_TRY(add_all(&w, rows, tokenizer, item->valuestring));
    }
    return w.status;
}

/* The tokenizer of the first rule becomes *first, for the others and for the caller to close. */
static dit_status add_part(cJSON *list, const request *r, const char *folder, const dit_prompt_rule *rules, int index,
                           dit_tokenizer **first)
{
    dit_tokenizer *tokenizer;
    DIT_TRY(dit_tokenizer_open_part(folder, rules[index].tokenizer, &tokenizer));
    if (index == 0) *first = tokenizer;
    int64_t asked = dit_prompt_length(&rules[index], *first);
    dit_status st = add_tokenizer(list, r, tokenizer, &rules[index], asked, rules[index].tokenizer);
    if (index > 0) dit_tokenizer_close(tokenizer);
    return st;
}

static dit_status add_pipeline(cJSON *list, const request *r, const char *folder, const char *index_path)
{
    dit_json index;
    const char *pipeline;
    dit_tokenizer *first = NULL;
    int count = 0;
    DIT_TRY(dit_json_read_lenient(index_path, &index));
    dit_status st = dit_json_require_string(&index, index.root, "", "_class_name", &pipeline);
    const dit_prompt_rule *rules = st == DIT_OK ? dit_prompt_rules(pipeline, &count) : NULL;
    if (st == DIT_OK && !count)
        st = dit_fail_word(DIT_ERR_UNSUPPORTED, "the pipeline", pipeline, dit_prompt_pipelines());
    for (int i = 0; i < count && st == DIT_OK; i++)
        if (dit_prompt_has(&index, rules[i].tokenizer)) st = add_part(list, r, folder, rules, i, &first);
    dit_tokenizer_close(first);
    dit_json_release(&index);
    return st;
}

static dit_status add_folder(cJSON *list, const request *r, const char *folder)
{
    char path[PATH_BYTES];
    dit_tokenizer *tokenizer;
    if (snprintf(path, sizeof path, "%s/model_index.json", folder) >= (int)sizeof path)
        return DIT_FAIL(DIT_ERR_USAGE, "the path %.80s... is too long", folder);
    if (access(path, F_OK) == 0) return add_pipeline(list, r, folder, path);
    DIT_TRY(dit_tokenizer_open(folder, r->class_name, &tokenizer));
    dit_status st = add_tokenizer(list, r, tokenizer, NULL, r->length, folder);
    dit_tokenizer_close(tokenizer);
    return st;
}

dit_status dit_token_list_make(const char *folder, const char *prompts_path, cJSON **out)
{
    dit_json_writer w = {0};
    request r = {0};
    *out = NULL;
    cJSON *document = dit_json_new_object(&w);
    dit_json_put_string(&w, document, "schema", "ditbench.tokens/1");
    cJSON *list = dit_json_put_array(&w, document, "tokenizers");
    dit_status st = read_request(prompts_path, &r);
    if (st == DIT_OK && w.status == DIT_OK) st = add_folder(list, &r, folder);
    dit_json_put_status(&w, st);
    cJSON_Delete(r.lines);
    dit_json_release(&r.doc);
    return dit_json_finish(&w, document, out);
}
