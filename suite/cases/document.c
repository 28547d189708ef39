#include "suite/cases/document.h"

#include "base/json.h"

#include <string.h>

bool suite_case_simulated(const cJSON *document)
{
    return strcmp(suite_case_platform(document, "backend"), "cost") == 0;
}

const char *suite_case_platform(const cJSON *document, const char *key)
{
    const cJSON *platform = dit_json_member(document, "platform");
    const char *word = dit_json_text_or(platform, key, NULL);
    return word ? word : "";
}

int suite_case_threads(const cJSON *document)
{
    const cJSON *platform = dit_json_member(document, "platform");
    const cJSON *threads = dit_json_member(platform, "threads_per_rank");
    return cJSON_IsNumber(threads) && threads->valueint > 0 ? threads->valueint : 1;
}

const char *suite_case_engine(const cJSON *document)
{
    return dit_json_text_or(document, "engine", "");
}
