/* Stands in for this room where a library that it needs was not there when the engine was built. */
#include "engine/text/prompt.h"
#include "engine/text/tokenizer.h"

static dit_status refuse(void)
{
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_ENVIRONMENT, "the engine was built without tokenizers: %s", DITBENCH_TEXT_MISSING " missing"),
        "apt-get install -y --no-install-recommends " DITBENCH_TEXT_MISSING
        ", then make; ditbench generate --inputs FILE takes embeddings made elsewhere");
}

dit_status dit_tokenizer_open(const char *folder, const char *class_name, dit_tokenizer **out)
{
    (void)folder, (void)class_name;
    *out = NULL;
    return refuse();
}

dit_status dit_tokenizer_open_part(const char *pipeline_folder, const char *part, dit_tokenizer **out)
{
    (void)pipeline_folder, (void)part;
    *out = NULL;
    return refuse();
}

void dit_tokenizer_close(dit_tokenizer *tokenizer)
{
    (void)tokenizer;
}

void dit_tokenizer_describe(const dit_tokenizer *tokenizer, dit_tokenizer_facts *out)
{
    (void)tokenizer;
    *out = (dit_tokenizer_facts){.class_name = "", .bos = -1, .eos = -1, .unk = -1, .pad = -1};
}

dit_status dit_tokenize(const dit_tokenizer *tokenizer, const char *text, const dit_token_rule *rule, int32_t *ids,
                        int32_t *mask, int64_t *count)
{
    (void)tokenizer, (void)text, (void)rule, (void)ids, (void)mask, (void)count;
    return refuse();
}

dit_status dit_tokenize_all(const dit_tokenizer *tokenizer, const char *text, int32_t **ids, int64_t *count)
{
    (void)tokenizer, (void)text, (void)ids, (void)count;
    return refuse();
}

const dit_prompt_rule *dit_prompt_rules(const char *pipeline, int *count)
{
    (void)pipeline;
    *count = 0;
    return NULL;
}

const char *const *dit_prompt_pipelines(void)
{
    static const char *const none[] = {NULL};
    return none;
}

dit_status dit_prompt_clean(const dit_prompt_rule *rule, const char *prompt, char **out)
{
    (void)rule, (void)prompt;
    *out = NULL;
    return refuse();
}

int64_t dit_prompt_length(const dit_prompt_rule *rule, const dit_tokenizer *first)
{
    (void)first;
    return rule->length;
}

dit_status dit_prompt_row(const dit_prompt_rule *rule, const dit_tokenizer *tokenizer, int64_t length, int64_t *row)
{
    (void)rule, (void)tokenizer;
    *row = length;
    return refuse();
}

dit_status dit_prompt_tokenize(const dit_prompt_rule *rule, const dit_tokenizer *tokenizer, const char *prompt,
                               int64_t length, int32_t *ids, int32_t *mask, int64_t *count)
{
    (void)rule, (void)tokenizer, (void)prompt, (void)length, (void)ids, (void)mask, (void)count;
    return refuse();
}
