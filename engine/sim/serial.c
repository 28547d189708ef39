#include "engine/sim/serial.h"

#include "base/json.h"
#include "engine/results/decode.h"
#include "kernels/cost/operator.h"

#include <stdio.h>
#include <string.h>

/* ---- text encoders ----------------------------------------------------------------------------------------------- */

/* One transformer encoder and how it is used. */
typedef struct {
    int64_t layers, width, heads, head_dim, feed_forward, tokens, runs;
    bool gated; /* the feed-forward layer has three matrices (T5 1.1, Llama), else two */
} encoder;

static dit_status read_encoder(const dit_json *doc, const cJSON *object, const char *at, encoder *out)
{
    static const char *const keys[] = {"name",         "layers", "width",  "heads", "head_dim",
                                       "feed_forward", "gated",  "tokens", "runs",  NULL};
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
    *out = (encoder){0};
    if (!cJSON_IsObject(object)) return dit_json_fail(doc, at, DIT_ERR_JSON_TYPE, "expected an object");
    DIT_TRY(dit_json_only_keys(doc, object, at, keys));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        DIT_TRY(dit_json_require_int(doc, object, at, numbers[i].key, 1, numbers[i].most, numbers[i].value));
    return dit_json_optional_bool(doc, object, at, "gated", &out->gated);
}

static void charge_linear(dit_sim *sim, const encoder *e, int64_t n, int64_t k, bool activation, bool residual)
{
    dit_work work = dit_product_work(e->tokens, n, k);
    dit_sim_charge(sim, &(dit_cost_op){.kind = DIT_COST_OP_LINEAR,
                                       .flops = work.flops,
                                       .bytes = work.bytes,
                                       .rows = e->tokens,
                                       .n = n,
                                       .k = k,
                                       .pieces = 1,
                                       .elements = e->tokens * n,
                                       .activation = activation,
                                       .residual = residual});
}

static void charge_norm(dit_sim *sim, const encoder *e)
{
    dit_sim_charge(sim, &(dit_cost_op){.kind = DIT_COST_OP_NORM, .elements = e->tokens * e->width});
}

static void charge_attention(dit_sim *sim, const encoder *e)
{
    int64_t inner = e->heads * e->head_dim;
    dit_work work = dit_attention_work(
        &(dit_attention_args){.B = 1, .H = e->heads, .Sq = e->tokens, .Sk = e->tokens, .D = e->head_dim});
    for (int i = 0; i < 3; i++) charge_linear(sim, e, inner, e->width, false, false);
    dit_sim_charge(
        sim, &(dit_cost_op){
                 .kind = DIT_COST_OP_ATTENTION,
                 .flops = work.flops,
                 .bytes = work.bytes,
                 .attention = {.B = 1, .H = e->heads, .Sq = e->tokens, .Sk = e->tokens, .D = e->head_dim, .seen = 1},
                 .elements = e->tokens * inner});
    charge_linear(sim, e, e->width, inner, false, true);
}

static void charge_layer(dit_sim *sim, const encoder *e)
{
    charge_norm(sim, e);
    charge_attention(sim, e);
    charge_norm(sim, e);
    charge_linear(sim, e, e->feed_forward, e->width, true, false);
    if (e->gated) charge_linear(sim, e, e->feed_forward, e->width, false, false);
    if (e->gated)
        dit_sim_charge(
            sim, &(dit_cost_op){.kind = DIT_COST_OP_COMBINE, .elements = e->tokens * e->feed_forward, .operands = 2});
    charge_linear(sim, e, e->width, e->feed_forward, false, true);
}

static int64_t weight_bytes(const encoder *e)
{
    int64_t attention = 4 * e->width * e->heads * e->head_dim;
    int64_t feed_forward = (e->gated ? 3 : 2) * e->width * e->feed_forward;
    return e->layers * (attention + feed_forward) * (int64_t)sizeof(float);
}

static dit_status encode(dit_sim *sim, const dit_json *doc, dit_sim_serial *out)
{
    const cJSON *list = NULL;
    double began = dit_sim_now(sim);
    char at[64];
    int index = 0;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "text_encoders", &list));
    for (const cJSON *item = list ? list->child : NULL; item; item = item->next) {
        encoder e;
        snprintf(at, sizeof at, "/text_encoders/%d", index++);
        DIT_TRY(read_encoder(doc, item, at, &e));
        for (int64_t layer = 0; layer < e.runs * e.layers; layer++) charge_layer(sim, &e);
        out->text_encoder_bytes += weight_bytes(&e);
    }
    dit_sim_synchronise(sim);
    out->text_encoder_s = dit_sim_now(sim) - began;
    return DIT_OK;
}

/* ---- the VAE ----------------------------------------------------------------------------------------------------- */

/* Makes a runtime of one rank whose operators take time and whose memory is counted. */
static dit_status start_runtime(dit_sim *sim, const dit_case *kase, dit_runtime *rt)
{
    dit_parallel alone = {0};
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) alone.degree[axis] = 1;
    alone.rows_degree = 1;
    DIT_TRY(dit_runtime_init(&(dit_runtime_params){.counting = true, .parallel = alone, .facts = kase->facts}, rt));
    rt->kernels = dit_sim_guest(sim).kernels;
    return DIT_OK;
}

static dit_status decode_all(dit_sim *sim, const dit_json *doc, const dit_case *kase, dit_runtime *rt,
                             dit_decoder *decoder, dit_sim_serial *out)
{
    DIT_TRY(dit_decoder_read(doc, kase->vae, "/vae", decoder));
    DIT_TRY(dit_decoder_open(decoder, rt, &kase->facts.latent, kase->num_frames, NULL));
    out->vae_bytes = rt->ledger.peak[DIT_MEMORY_WEIGHTS];
    double began = dit_sim_now(sim);
    for (int64_t image = 0; image < kase->num_images; image++)
        DIT_TRY(dit_vae_decode(decoder->vae, decoder->planes, decoder->image));
    dit_sim_synchronise(sim);
    out->vae_decode_s = dit_sim_now(sim) - began;
    out->vae_peak_bytes = rt->ledger.total_peak;
    return DIT_OK;
}

static dit_status decode(dit_sim *sim, const dit_json *doc, const dit_case *kase, dit_sim_serial *out)
{
    dit_runtime rt = {0};
    dit_decoder decoder = {0};
    if (!kase->vae) return DIT_OK;
    dit_status st = start_runtime(sim, kase, &rt);
    if (st == DIT_OK) st = decode_all(sim, doc, kase, &rt, &decoder, out);
    dit_decoder_close(&decoder);
    dit_runtime_release(&rt);
    return st;
}

dit_status dit_sim_serial_run(dit_sim *sim, const dit_json *doc, const dit_case *kase, dit_sim_serial *out)
{
    const char *scope = cJSON_GetStringValue(dit_json_member(dit_json_member(doc->root, "measure"), "scope"));
    *out = (dit_sim_serial){0};
    bool latents = scope && strcmp(scope, "latents") == 0;
    if (!scope || (!latents && strcmp(scope, "pipeline") != 0)) return DIT_OK;
    DIT_TRY(encode(sim, doc, out));
    DIT_TRY(decode(sim, doc, kase, out));
    if (latents) out->vae_decode_s = 0, out->vae_peak_bytes = 0; /* its weights are there */
    return DIT_OK;
}
