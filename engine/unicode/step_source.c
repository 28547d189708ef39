#include "engine/unicode/step_source.h"

#include "base/words.h"

#include <stdio.h>
#include <string.h>

enum { MOST_KINDS = 32 };

dit_status dit_step_kinds_read(const dit_step_kind *kinds, int count, const char *what, const dit_step_source *source)
{
    const char *type, *names[MOST_KINDS + 1] = {0};
    if (!source->object) return DIT_OK;
    DIT_TRY(dit_json_require_string(source->doc, source->object, source->pointer, "type", &type));
    for (int i = 0; i < count && i < MOST_KINDS; i++) {
        names[i] = kinds[i].type;
        if (strcmp(type, kinds[i].type) != 0) continue;
        if (kinds[i].make) return kinds[i].make(source);
        return dit_steps_add_run(source->steps, kinds[i].run, false, false, false);
    }
    return dit_words_hint_all(
        dit_json_fail(source->doc, source->pointer, DIT_ERR_UNSUPPORTED, "the %s %.80s is not implemented", what, type),
        "there are", names);
}

dit_status dit_step_source_each(const dit_step_source *source, const char *key, dit_steps_reader *read)
{
    const cJSON *list = dit_json_member(source->object, key), *item;
    char pointer[256];
    int index = 0;
    if (!cJSON_IsArray(list))
        return dit_json_fail(source->doc, source->pointer, DIT_ERR_JSON_MISSING, "a Sequence needs \"%s\"", key);
    cJSON_ArrayForEach(item, list)
    {
        snprintf(pointer, sizeof pointer, "%.200s/%s/%d", source->pointer, key, index++);
        DIT_TRY(read(source->doc, item, pointer, source->steps));
    }
    return DIT_OK;
}
