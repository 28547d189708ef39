#include "base/request.h"

#include "base/shared_decode.h"
#include "base/words.h"

#include <stdio.h>
#include <string.h>

static const char *const scopes[DIT_SCOPE_COUNT + 1] = {"denoise", "latents", "pipeline", NULL};

const char *const *dit_request_scopes(void)
{
    return scopes;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

dit_status dit_request_read_states(const dit_json *doc, const cJSON *object, const char *at, int64_t layers,
                                   int64_t *states, int64_t *last)
{
    const cJSON *list = NULL, *item;
    *states = *last = 0;
    DIT_TRY(dit_json_optional_array(doc, object, at, "states", &list));
    cJSON_ArrayForEach(item, list)
    {
        double after = cJSON_IsNumber(item) ? item->valuedouble : -1;
        if (!(after > (double)*last && after <= (double)layers && after == (double)(int64_t)after))
            return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE,
                                 "states is not a list of blocks in 1..%lld, in rising order", (long long)layers);
        *last = (int64_t)after;
        ++*states;
    }
    return DIT_OK;
}

static dit_status read_encoder(const dit_json *doc, const cJSON *object, const char *at, dit_request_encoder *out)
{
    static const char *const keys[] = {"name",         "layers", "width",  "heads",  "head_dim",
                                       "feed_forward", "gated",  "tokens", "runs",   "key_heads",
                                       "skip",         "crop",   "pooled", "states", NULL};
    const struct {
        const char *key;
        int64_t most, *value;
    } numbers[] = {
        {"layers", 1000, &out->layers},
        {"width", 1 << 20, &out->width},
        {"heads", 1 << 16, &out->heads},
        {"head_dim", 1 << 16, &out->head_dim},
        {"feed_forward", 1 << 22, &out->feed_forward},
        {"tokens", 1 << 20, &out->tokens},
        {"runs", 1 << 16, &out->runs},
    };
    *out = (dit_request_encoder){0};
    if (!cJSON_IsObject(object)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(dit_json_only_keys(doc, object, at, keys));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        DIT_TRY(dit_json_require_int(doc, object, at, numbers[i].key, 1, numbers[i].most, numbers[i].value));
    out->name = dit_json_text_or(object, "name", NULL);
    out->key_heads = out->heads;
    DIT_TRY(dit_json_optional_int(doc, object, at, "key_heads", 1, out->heads, &out->key_heads));
    DIT_TRY(dit_json_optional_int(doc, object, at, "skip", 0, out->layers, &out->skip));
    DIT_TRY(dit_json_optional_int(doc, object, at, "crop", 0, out->tokens - 1, &out->crop));
    DIT_TRY(dit_json_optional_int(doc, object, at, "pooled", 0, 1 << 20, &out->pooled));
    DIT_TRY(dit_request_read_states(doc, object, at, out->layers, &out->states, &out->last));
    return dit_json_optional_bool(doc, object, at, "gated", &out->gated);
}

static dit_status read_encoders(const dit_json *doc, dit_request *out)
{
    const cJSON *list = NULL, *item;
    char at[64];
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "text_encoders", &list));
    cJSON_ArrayForEach(item, list)
    {
        snprintf(at, sizeof at, "/text_encoders/%d", out->encoder_count);
        if (out->encoder_count == DIT_REQUEST_ENCODERS)
            return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "at most %d text encoders", DIT_REQUEST_ENCODERS);
        DIT_TRY(read_encoder(doc, item, at, &out->encoders[out->encoder_count++]));
    }
    return DIT_OK;
}

static dit_status read_scope(const dit_json *doc, dit_request *out)
{
    const cJSON *measure = NULL, *conditions = NULL;
    const char *scope = scopes[DIT_SCOPE_DENOISE], *way = dit_text_parallel_name(DIT_TEXT_REPLICATED);
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "measure", &measure));
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "conditions", &conditions));
    if (measure) DIT_TRY(dit_json_optional_string(doc, measure, "/measure", "scope", &scope));
    if (conditions) DIT_TRY(dit_json_optional_string(doc, conditions, "/conditions", "text_encoder_parallel", &way));
    int found = dit_words_find(scopes, scope);
    if (found < 0) return dit_json_fail_word(doc, "/measure/scope", "scope", scope, scopes);
    out->scope = (dit_request_scope)found;
    if (dit_text_parallel_from_name(way, &out->way)) return DIT_OK;
    return dit_json_fail_word(doc, "/conditions/text_encoder_parallel", "text_encoder_parallel", way,
                              dit_text_parallel_names());
}

/* Prompts of a batch: those that are listed, else as many as images where a simulation says that they differ. */
static int64_t count_prompts(const dit_json *doc)
{
    int64_t listed = cJSON_GetArraySize(dit_json_member(dit_json_member(doc->root, "conditions"), "prompts"));
    if (listed > 0) return listed;
    if (!dit_json_is_true(dit_json_member(doc->root, "measure"), "prompts_differ")) return 1;
    return dit_json_int_or(dit_json_member(doc->root, "run"), "num_images", 1);
}

static dit_status read_decode(const dit_json *doc, dit_request *out)
{
    const cJSON *parallel = dit_json_member(doc->root, "parallel"), *run = dit_json_member(doc->root, "run"), *vae;
    int64_t ranks = dit_json_int_or(parallel, "rows_degree", 1);
    out->decode_ranks = 1;
    if (out->scope != DIT_SCOPE_PIPELINE || ranks <= 1) return DIT_OK;
    out->decode_ranks = (int)ranks;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "vae", &vae));
    DIT_TRY(dit_rows_read(doc, vae, "/vae", &out->rows));
    dit_rows_resize(&out->rows, dit_json_int_or(run, "height_px", 0), dit_json_int_or(run, "width_px", 0),
                    dit_json_int_or(run, "num_frames", 1), dit_json_int_or(run, "num_images", 1));
    return DIT_OK;
}

/* Bytes are products of these numbers and of the ranks, in 64 bits. */
static dit_status check_products(const dit_json *doc, const dit_request *request)
{
    const double most = 1e13;
    char at[64];
    for (int i = 0; i < request->encoder_count; i++) {
        const dit_request_encoder *e = &request->encoders[i];
        double product = (double)e->runs * (double)request->prompts * (double)e->tokens *
                         ((double)e->width * (double)e->layers + (double)e->pooled);
        snprintf(at, sizeof at, "/text_encoders/%d", i);
        if (product > most)
            return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE,
                                 "prompts, tokens, width and layers multiply to %.3g, and %.0e is the most", product,
                                 most);
    }
    return DIT_OK;
}

dit_status dit_request_read(const dit_json *doc, dit_request *out)
{
    *out = (dit_request){.decode_ranks = 1};
    DIT_TRY(read_scope(doc, out));
    out->prompts = count_prompts(doc);
    DIT_TRY(read_encoders(doc, out));
    DIT_TRY(check_products(doc, out));
    return read_decode(doc, out);
}

/* ---- the closed form --------------------------------------------------------------------------------------------- */

static int64_t blocks_of(const dit_request_encoder *e)
{
    if (e->pooled) return e->layers;
    return e->states ? e->last : e->layers - e->skip;
}

dit_text_facts dit_request_text(const dit_request *request, int encoder, int64_t element_bytes)
{
    const dit_request_encoder *e = &request->encoders[encoder];
    return (dit_text_facts){.prompts = e->runs * request->prompts,
                            .tokens = e->tokens,
                            .kept_tokens = e->tokens - e->crop,
                            .width = e->width,
                            .states = e->states,
                            .pooled = e->pooled,
                            .heads = e->heads,
                            .key_heads = e->key_heads,
                            .blocks = blocks_of(e),
                            .element_bytes = element_bytes};
}

/* Whether a request of this scope runs text encoders. */
static int encoders_of(const dit_request *request)
{
    return request->scope == DIT_SCOPE_DENOISE ? 0 : request->encoder_count;
}

dit_status dit_request_check(const dit_request *request, int ranks)
{
    for (int i = 0; i < encoders_of(request); i++) {
        dit_text_facts facts = dit_request_text(request, i, (int64_t)sizeof(float));
        dit_status st = dit_text_parallel_check(request->way, ranks, &facts);
        if (st != DIT_OK && request->encoders[i].name)
            return dit_error_note(st, "text encoder %s", request->encoders[i].name);
        DIT_TRY(st);
    }
    return request->decode_ranks > 1 ? dit_shared_decode_check(request->decode_ranks, &request->rows) : DIT_OK;
}

void dit_request_predict(const dit_request *request, int ranks, int rank, int64_t element_bytes, dit_volume_table *out)
{
    dit_volume_table one;
    dit_rows_facts rows = request->rows;
    rows.element_bytes = element_bytes;
    for (int i = 0; i < encoders_of(request); i++) {
        dit_text_facts facts = dit_request_text(request, i, element_bytes);
        dit_text_volume_predict(request->way, ranks, rank, &facts, &one);
        dit_volume_add(out, &one);
    }
    if (request->decode_ranks <= 1) return;
    memset(&one, 0, sizeof one);
    dit_rows_predict(&rows, request->decode_ranks, rank, &one);
    dit_volume_add(out, &one);
}
