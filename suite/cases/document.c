#include "suite/cases/document.h"

#include <string.h>

bool suite_case_simulated(const cJSON *document)
{
    return strcmp(suite_case_platform(document, "backend"), "cost") == 0;
}

const char *suite_case_platform(const cJSON *document, const char *key)
{
    const cJSON *platform = cJSON_GetObjectItemCaseSensitive(document, "platform");
    const char *word = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(platform, key));
    return word ? word : "";
}

int suite_case_threads(const cJSON *document)
{
    const cJSON *platform = cJSON_GetObjectItemCaseSensitive(document, "platform");
    const cJSON *threads = cJSON_GetObjectItemCaseSensitive(platform, "threads_per_rank");
    return cJSON_IsNumber(threads) && threads->valueint > 0 ? threads->valueint : 1;
}
