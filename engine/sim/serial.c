#include "engine/sim/serial.h"

#include "base/json.h"
#include "base/request.h"
#include "engine/results/decode.h"
#include "kernels/cost/decode.h"
#include "kernels/cost/operator.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- text encoders ----------------------------------------------------------------------------------------------- */

static void charge_linear(dit_sim *sim, const dit_request_encoder *e, int64_t n, int64_t k, bool activation,
                          bool residual)
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

static void charge_norm(dit_sim *sim, const dit_request_encoder *e)
{
    dit_sim_charge(sim, &(dit_cost_op){.kind = DIT_COST_OP_NORM, .elements = e->tokens * e->width});
}

static void charge_attention(dit_sim *sim, const dit_request_encoder *e)
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

static void charge_layer(dit_sim *sim, const dit_request_encoder *e)
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

/* Makes the time of one prompt that of several in one batch: the host issues as many kernels, whose bytes and products are
 * multiples. */
static void batch_prompts(const dit_cost_device *device, int64_t prompts, dit_cost_time *time)
{
    double starts_s = time->kernels * device->launch_s;
    time->device_s = starts_s + (double)prompts * fmax(time->device_s - starts_s, 0);
    time->last_s = time->device_s;
}

/* Charges what the profile's census says of the encoder. *found: it knows it. */
static dit_status charge_counted(dit_sim *sim, const dit_request_encoder *e, int64_t prompts, bool *found)
{
    const dit_cost_profile *profile = dit_sim_get_profile(sim);
    const dit_census_size size = {.batch = 1, .text = (double)e->tokens};
    dit_census *census = NULL;
    if (*profile->census) DIT_TRY(dit_census_read_named(profile->census, e->name, &census));
    *found = census != NULL;
    if (!census) return DIT_OK;
    dit_census_time time = dit_census_forward_time(census, dit_sim_get_device(sim), profile, &size);
    batch_prompts(dit_sim_get_device(sim), prompts, &time.time);
    for (int64_t i = 0; i < e->runs; i++) dit_sim_charge_counted(sim, &time);
    dit_census_free(census);
    return DIT_OK;
}

static int64_t weight_bytes(const dit_request_encoder *e)
{
    int64_t attention = 4 * e->width * e->heads * e->head_dim;
    int64_t feed_forward = (e->gated ? 3 : 2) * e->width * e->feed_forward;
    return e->layers * (attention + feed_forward) * (int64_t)sizeof(float);
}

static double layer_seconds(dit_sim *sim, const dit_request_encoder *e)
{
    dit_sim_synchronise(sim);
    double began = dit_sim_now(sim);
    charge_layer(sim, e);
    dit_sim_synchronise(sim);
    return dit_sim_now(sim) - began;
}

/* What part of an encoder's time one of `ranks` ranks takes: with half of the prompts, or with its heads and columns, whose
 * operators are charged beside those of the whole layer. A census counts whole encoders only. */
static double share_of(dit_sim *sim, const dit_request_encoder *e, dit_text_parallel way, int ranks)
{
    dit_request_encoder part = *e;
    if (ranks <= 1 || way == DIT_TEXT_REPLICATED || way == DIT_TEXT_BROADCAST) return 1;
    if (way == DIT_TEXT_CFG) return 0.5;
    part.heads = e->heads / ranks;
    part.feed_forward = e->feed_forward / ranks > 0 ? e->feed_forward / ranks : 1;
    double whole = layer_seconds(sim, e);
    return whole > 0 ? layer_seconds(sim, &part) / whole : 1;
}

static dit_status charge_encoder(dit_sim *sim, const dit_request_encoder *e, int64_t prompts)
{
    bool counted;
    DIT_TRY(charge_counted(sim, e, prompts, &counted));
    for (int64_t layer = 0; layer < prompts * e->runs * e->layers && !counted; layer++) charge_layer(sim, e);
    return DIT_OK;
}

/* Charges every encoder whole. An encoder that ranks share is waited for, and what the other ranks compute is taken off. */
static dit_status encode(dit_sim *sim, const dit_json *doc, const dit_case *kase, dit_sim_serial *out)
{
    int ranks = dit_parallel_world_size(&kase->parallel);
    double share[DIT_REQUEST_ENCODERS], spared_s = 0;
    dit_request request;
    DIT_TRY(dit_request_read(doc, &request));
    for (int i = 0; i < request.encoder_count; i++) share[i] = share_of(sim, &request.encoders[i], request.way, ranks);
    double began = dit_sim_now(sim);
    for (int i = 0; i < request.encoder_count; i++) {
        const dit_request_encoder *e = &request.encoders[i];
        double from = dit_sim_now(sim);
        DIT_TRY(charge_encoder(sim, e, request.prompts));
        if (share[i] < 1) dit_sim_synchronise(sim);
        spared_s += (1 - share[i]) * (dit_sim_now(sim) - from);
        out->text_encoder_bytes += weight_bytes(e) / (request.way == DIT_TEXT_TENSOR ? ranks : 1);
    }
    dit_sim_synchronise(sim);
    out->text_encoder_s = dit_sim_now(sim) - began - spared_s;
    return DIT_OK;
}

/* ---- messages of text encoders ------------------------------------------------------------------------------------ */

/* Rank 0 sends its embeddings to the others, one after the other. */
static dit_status send_to_all(dit_comm *world, int64_t bytes)
{
    dit_comm_exchange exchange;
    bool first = dit_comm_rank(world) == 0;
    for (int to = 1; first && to < dit_comm_size(world); to++) {
        DIT_TRY(dit_comm_exchange_begin(world, NULL, to, NULL, DIT_COMM_NOBODY, bytes, &exchange));
        DIT_TRY(dit_comm_exchange_wait(world, &exchange));
    }
    if (first) return DIT_OK;
    DIT_TRY(dit_comm_exchange_begin(world, NULL, DIT_COMM_NOBODY, NULL, 0, bytes, &exchange));
    return dit_comm_exchange_wait(world, &exchange);
}

static void add_nothing(void *context, const float *blocks, int size, int64_t count, float *sum)
{
    (void)context, (void)blocks, (void)size, (void)count, (void)sum;
}

/* Makes one exchange of an encoder: of tensor ranks one sum. */
static dit_status exchange_once(dit_comm *comm, dit_text_parallel way, const dit_text_facts *f)
{
    int64_t embeddings = f->prompts * (dit_text_embedding_floats(f) + f->pooled) * (int64_t)sizeof(float);
    if (way == DIT_TEXT_BROADCAST) return send_to_all(comm, embeddings);
    if (way == DIT_TEXT_CFG) return dit_comm_all_gather(comm, NULL, NULL, embeddings / 2);
    return dit_comm_sum(comm, NULL, f->prompts * f->tokens * f->width, NULL, add_nothing, NULL);
}

/* Times an exchange once all ranks have met in an uncounted one. Sums are all alike, two a block. */
static dit_status time_exchange(dit_sim *sim, dit_comm *comm, dit_text_parallel way, const dit_text_facts *f,
                                double *seconds)
{
    double times = way == DIT_TEXT_TENSOR ? 2 * (double)f->blocks : 1;
    DIT_TRY(exchange_once(comm, way, f));
    dit_sim_synchronise(sim);
    double began = dit_sim_now(sim);
    DIT_TRY(exchange_once(comm, way, f));
    dit_sim_synchronise(sim);
    *seconds += times * (dit_sim_now(sim) - began);
    return DIT_OK;
}

dit_status dit_sim_serial_exchange(dit_sim *sim, const dit_json *doc, dit_volume_table *sent, double *seconds)
{
    static const dit_axis axes[DIT_TEXT_PARALLEL_COUNT] = {
        [DIT_TEXT_BROADCAST] = DIT_AXIS_WORLD, [DIT_TEXT_TENSOR] = DIT_AXIS_TENSOR, [DIT_TEXT_CFG] = DIT_AXIS_CFG};
    int ranks = dit_comm_size(dit_comm_world());
    dit_comm_counters counters = {0};
    dit_request request;
    dit_comm *comm;
    *seconds = 0;
    memset(sent, 0, sizeof *sent);
    DIT_TRY(dit_request_read(doc, &request));
    if (request.scope == DIT_SCOPE_DENOISE || request.way == DIT_TEXT_REPLICATED || ranks == 1) return DIT_OK;
    dit_request_predict(&request, ranks, dit_comm_rank(dit_comm_world()), (int64_t)sizeof(float), sent);
    dit_parallel mesh = dit_text_parallel_mesh(request.way, ranks);
    DIT_TRY(dit_comm_create(&mesh, axes[request.way], &counters, &comm));
    dit_status st = DIT_OK;
    for (int i = 0; i < request.encoder_count && st == DIT_OK; i++) {
        dit_text_facts facts = dit_request_text(&request, i, (int64_t)sizeof(float));
        st = time_exchange(sim, comm, request.way, &facts, seconds);
    }
    dit_comm_free(comm);
    return st;
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
    DIT_TRY(dit_decoder_open(decoder, rt, &kase->facts.latent, kase->num_frames, kase->seed, NULL));
    out->vae_bytes = rt->ledger.peak[DIT_MEMORY_WEIGHTS];
    double began = dit_sim_now(sim);
    for (int64_t image = 0; image < kase->num_images; image++)
        DIT_TRY(dit_vae_decode(decoder->vae, decoder->planes, decoder->image));
    dit_sim_synchronise(sim);
    out->vae_decode_s = dit_sim_now(sim) - began;
    out->vae_peak_bytes = rt->ledger.total_peak;
    return DIT_OK;
}

/* The engine's own decode: time, or only its memory where a census has the time. */
static dit_status decode_built(dit_sim *sim, const dit_json *doc, const dit_case *kase, dit_sim_serial *out)
{
    dit_runtime rt = {0};
    dit_decoder decoder = {0};
    dit_status st = start_runtime(sim, kase, &rt);
    if (st == DIT_OK) st = decode_all(sim, doc, kase, &rt, &decoder, out);
    dit_decoder_close(&decoder);
    dit_runtime_release(&rt);
    return st;
}

/* Another class of VAEs is no error; a mistake in the config of one that is built is. */
static dit_status find_built(const dit_json *doc, const cJSON *config, bool *built)
{
    dit_vae_facts facts;
    dit_status st = dit_vae_read_facts(&(dit_config){.doc = doc, .object = config, .pointer = "/vae/config"}, &facts);
    *built = st == DIT_OK;
    if (st != DIT_ERR_UNSUPPORTED) return st;
    dit_error_clear();
    return DIT_OK;
}

/* Decoded pictures are copied to the host, which makes 8-bit pictures of them, element by element. */
static void charge_pictures(dit_sim *sim, const dit_case *kase, dit_sim_serial *out)
{
    const dit_cost_profile *profile = dit_sim_get_profile(sim);
    const dit_latent *latent = &kase->facts.latent;
    double cells = (double)(latent->height * latent->vae_spatial * latent->width * latent->vae_spatial);
    double elements = 3 * cells * (double)(kase->num_images * (latent->vae_temporal > 1 ? kase->num_frames : 1));
    dit_census_time time = {.waits = true, .wait_s = elements * profile->picture_element_s};
    double began = dit_sim_now(sim);
    if (!(profile->picture_element_s > 0)) return;
    if (profile->pageable_copy_bytes_per_s > 0)
        time.wait_s += elements * dit_sim_element_bytes(sim) / profile->pageable_copy_bytes_per_s;
    dit_sim_charge_counted(sim, &time);
    out->pictures_s = dit_sim_now(sim) - began;
}

/* Charges the decodes as the census counted them. */
static void charge_decode(dit_sim *sim, const dit_case *kase, const dit_census *census, dit_sim_serial *out)
{
    const dit_census_schedule *schedule = dit_census_get_schedule(census);
    const dit_latent *latent = &kase->facts.latent;
    dit_cost_decode decode = {.frames = latent->frames, .height = latent->height, .width = latent->width};
    if (schedule->frames > 1) decode.frames = (kase->num_frames - 1) / schedule->frames + 1; /* others fill up */
    decode.tiling = dit_json_is_true(kase->vae, "tiling");
    double began = dit_sim_now(sim);
    dit_census_time time = dit_cost_decode_time(census, dit_sim_get_device(sim), dit_sim_get_profile(sim), &decode);
    for (int64_t image = 0; image < kase->num_images; image++) dit_sim_charge_counted(sim, &time);
    dit_sim_synchronise(sim);
    out->vae_decode_s = dit_sim_now(sim) - began;
}

/* A VAE that neither the engine nor the census has is left out. */
static dit_status decode(dit_sim *sim, const dit_json *doc, const dit_case *kase, dit_sim_serial *out)
{
    const dit_cost_profile *profile = dit_sim_get_profile(sim);
    const cJSON *config = dit_json_member(kase->vae, "config");
    dit_census *census = NULL;
    bool built;
    if (!kase->vae) return DIT_OK;
    DIT_TRY(find_built(doc, config, &built));
    if (*profile->census) DIT_TRY(dit_census_read(profile->census, config, false, &census));
    bool counted = census && dit_census_get_schedule(census);
    dit_sim_set_free_of_charge(sim, counted);
    dit_status st = built ? decode_built(sim, doc, kase, out) : DIT_OK;
    dit_sim_set_free_of_charge(sim, false);
    if (st == DIT_OK && counted) charge_decode(sim, kase, census, out);
    if (counted && !built) out->vae_bytes = dit_census_get_schedule(census)->parameters * (int64_t)sizeof(float);
    dit_census_free(census);
    return st;
}

dit_status dit_sim_serial_run(dit_sim *sim, const dit_json *doc, const dit_case *kase, dit_sim_serial *out)
{
    bool latents = kase->scope == DIT_SCOPE_LATENTS;
    *out = (dit_sim_serial){0};
    if (kase->scope == DIT_SCOPE_DENOISE) return DIT_OK;
    DIT_TRY(encode(sim, doc, kase, out));
    DIT_TRY(decode(sim, doc, kase, out));
    if (latents) out->vae_decode_s = 0, out->vae_peak_bytes = 0; /* its weights are there */
    if (!latents && out->vae_decode_s > 0) charge_pictures(sim, kase, out);
    return DIT_OK;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

int64_t dit_sim_serial_weights(const dit_sim *sim, const dit_sim_serial *serial)
{
    return dit_sim_in_elements(sim, serial->text_encoder_bytes + serial->vae_bytes);
}

int64_t dit_sim_serial_peak(const dit_sim *sim, const dit_sim_serial *serial, int rank, int64_t weights, int64_t peak)
{
    int64_t beside = dit_sim_serial_weights(sim, serial);
    int64_t others = serial->vae_peak_bytes - serial->vae_bytes; /* the weights are beside */
    int64_t decode = weights + dit_sim_in_elements(sim, others > 0 ? others : 0);
    return (rank == 0 && decode > peak ? decode : peak) + beside;
}
