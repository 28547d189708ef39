#include "kernels/cost/rule.h"

#include <string.h>

/* Finds the word of `key` in `words`, which NULL ends. */
static dit_status read_word(const dit_json *doc, const char *key, const char *const *words, int *out)
{
    const char *word;
    DIT_TRY(dit_json_require_string(doc, doc->root, "", key, &word));
    for (*out = 0; words[*out]; (*out)++)
        if (strcmp(words[*out], word) == 0) return DIT_OK;
    return dit_json_fail(doc, "", DIT_ERR_JSON_VALUE, "'%s' is no value of '%s'", word, key);
}

static dit_status read_rule(const dit_json *doc, dit_rule *out)
{
    static const char *const keys[] = {"schema", "name", "title", "fuses", "views", "launches", "why", "source", NULL};
    static const char *const fuses[] = {"nothing", "chains", NULL}, *const views[] = {"dispatched", "free", NULL};
    static const char *const launches[] = {"operator", "half", "forward", "uncompiled", NULL};
    int fused, free_views, launch;
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_require_schema(doc, "ditbench.rule/1"));
    DIT_TRY(read_word(doc, "fuses", fuses, &fused));
    DIT_TRY(read_word(doc, "views", views, &free_views));
    DIT_TRY(read_word(doc, "launches", launches, &launch));
    *out = (dit_rule){.chains = fused == 1, .views_free = free_views == 1, .launches = (dit_rule_launch)launch};
    return DIT_OK;
}

dit_status dit_rule_read(const char *path, dit_rule *out)
{
    dit_json doc = {0};
    *out = (dit_rule){0};
    DIT_TRY(dit_json_read_file(path, &doc));
    dit_status st = read_rule(&doc, out);
    dit_json_release(&doc);
    return st;
}
