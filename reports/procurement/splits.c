#include "reports/procurement/splits.h"

#include <stdio.h>
#include <stdlib.h>

split_range split_range_of(const cJSON *row, const char *key)
{
    const cJSON *one = dit_json_member(row, key);
    return (split_range){dit_json_number_or(one, "value", 0), dit_json_number_or(one, "lo", 0),
                         dit_json_number_or(one, "hi", 0)};
}

const cJSON *split_part(const cJSON *row, const char *key, const char *inner)
{
    const cJSON *one = dit_json_member(row, key);
    return one ? dit_json_member(one, inner) : NULL;
}

static split_row read_row(const cJSON *row)
{
    split_row out = {.row = row,
                     .platform = dit_json_text_or(row, "platform", ""),
                     .mesh = dit_json_text_or(row, "mesh", ""),
                     .devices = (int)dit_json_number_or(row, "devices", 0),
                     .replicas = (int)dit_json_number_or(row, "replicas", 1),
                     .answers = cJSON_IsTrue(dit_json_member(row, "answers")),
                     .service = split_range_of(row, "service_s"),
                     .rate = split_range_of(row, "images_per_hour"),
                     .per_1000 = split_range_of(dit_json_member(row, "cost"), "per_1000"),
                     .own_1000 = split_range_of(dit_json_member(row, "own"), "per_1000")};
    snprintf(out.name, sizeof out.name, "%.80s@%d", out.platform, out.devices);
    return out;
}

split_row *split_rows_of(const cJSON *document, const char *key, int *count)
{
    const cJSON *list = dit_json_member(document, key), *row;
    split_row *rows = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *rows);
    *count = 0;
    if (!rows) return NULL;
    cJSON_ArrayForEach(row, list) if (dit_json_member(row, "service_s")) rows[(*count)++] = read_row(row);
    return rows;
}
