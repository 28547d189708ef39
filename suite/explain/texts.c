#include "suite/explain/texts.h"

#include "base/json_writer.h"
#include "base/request.h"
#include "base/text_parallel.h"
#include "suite/catalogue/model.h"
#include "suite/catalogue/text_encoder.h"

#include <string.h>

/* One encoder of a resolved list. */
typedef struct {
    dit_text_facts call;
    int64_t block_parameters; /* of all blocks that run */
} encoder;

/* `entry` is resolved: its states are right. */
static encoder read_encoder(const cJSON *entry, int element_bytes)
{
    int64_t states, last;
    const int64_t layers = (int64_t)dit_json_number_or(entry, "layers", 0);
    const int64_t width = (int64_t)dit_json_number_or(entry, "width", 0);
    const int64_t heads = (int64_t)dit_json_number_or(entry, "heads", 0);
    const int64_t key_heads = dit_json_int_or(entry, "key_heads", heads);
    const int64_t head_dim = (int64_t)dit_json_number_or(entry, "head_dim", 0);
    const int64_t wide = (int64_t)dit_json_number_or(entry, "feed_forward", 0);
    const int64_t tokens = (int64_t)dit_json_number_or(entry, "tokens", 0);
    const int64_t pooled = dit_json_int_or(entry, "pooled", 0);
    if (dit_request_read_states(&(dit_json){0}, entry, "", layers, &states, &last) != DIT_OK) dit_error_clear();
    if (!states) last = layers - dit_json_int_or(entry, "skip", 0);
    const int64_t blocks = pooled ? layers : last;
    return (encoder){.call = {.prompts = (int64_t)dit_json_number_or(entry, "runs", 1),
                              .tokens = tokens,
                              .kept_tokens = tokens - dit_json_int_or(entry, "crop", 0),
                              .width = width,
                              .states = states,
                              .pooled = pooled,
                              .heads = heads,
                              .key_heads = key_heads,
                              .blocks = blocks,
                              .element_bytes = element_bytes},
                     .block_parameters =
                         blocks * width *
                         (2 * (heads + key_heads) * head_dim + (dit_json_is_true(entry, "gated") ? 3 : 2) * wide)};
}

/* One encoder in one way. */
static void put_way(dit_json_writer *w, const cJSON *entry, dit_text_parallel way, int ranks, int element_bytes,
                    cJSON *rows)
{
    encoder e = read_encoder(entry, element_bytes);
    cJSON *row = dit_json_put_object(w, rows, NULL);
    dit_volume_table table;
    dit_json_put_string(w, row, "name", dit_json_text_or(entry, "name", "-"));
    dit_json_put_string(w, row, "text_encoder_parallel", dit_text_parallel_name(way));
    dit_json_put_int(w, row, "tokens", e.call.tokens);
    dit_json_put_int(w, row, "prompts", e.call.prompts);
    dit_status st = dit_text_parallel_check(way, ranks, &e.call);
    if (st != DIT_OK) {
        dit_json_put_string(w, row, "code", dit_status_name(st));
        dit_json_put_string(w, row, "reason", dit_error_last()->message);
        dit_error_clear();
        return;
    }
    dit_text_volume_predict(way, ranks, 0, &e.call, &table); /* no rank sends more than the first */
    dit_json_put_int(w, row, "weights_bytes",
                     e.block_parameters * element_bytes / (way == DIT_TEXT_TENSOR ? ranks : 1));
    dit_json_put_int(w, row, "sent_bytes", dit_volume_total_bytes(&table));
}

dit_status suite_texts_to_json(const char *model, int ranks, int element_bytes, cJSON *parent)
{
    dit_json_writer w = {0};
    suite_model loaded = {0};
    DIT_TRY(suite_model_load(model, &loaded));
    int prompts = strcmp(loaded.guidance, "cfg") == 0 ? 2 : 1;
    dit_status st = suite_text_encoders_resolve(&loaded.source, loaded.text_encoders, prompts);
    if (st == DIT_OK && loaded.text_encoders) {
        cJSON *rows = dit_json_put_array(&w, parent, "text_encoders");
        const cJSON *entry;
        cJSON_ArrayForEach(entry, loaded.text_encoders) for (int i = 0; i < DIT_TEXT_PARALLEL_COUNT; i++)
            put_way(&w, entry, (dit_text_parallel)i, ranks, element_bytes, rows);
        st = w.status;
    }
    suite_model_release(&loaded);
    return st;
}
