/* vae_decode: latents to pictures, without the sampling before. One rank, or rows_degree ranks that share every decode.
 *
 * An iteration decodes all pictures of the batch, one after the other. Its clock starts after a barrier; its value is
 * the maximum over ranks. Latents are unit normals, functions of the seed and of the picture, brought into the
 * decoder's range by the config's factors or statistics. Of a tiled decode, the record says how far the first picture is
 * from the one decoded whole, where the machine has the memory for that.
 */
#include "base/hash.h"
#include "base/json_writer.h"
#include "base/rng.h"
#include "base/shared_decode.h"
#include "engine/case/case.h"
#include "engine/case/platform.h"
#include "engine/programs/program.h"
#include "engine/results/measure.h"
#include "engine/results/warmup.h"
#include "engine/results/reference.h"
#include "base/safetensors.h"
#include "engine/results/timeline.h"
#include "engine/results/decode.h"
#include "engine/vae/vae.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEED_BITS = 53 };

typedef struct {
    const dit_json *doc;
    dit_case kase; /* id, weights, sizes, measure */
    bool tiling;
    double timestep; /* of VAEs that are told one */
    dit_decode_split split;
    dit_config config;
    dit_vae_facts facts;
    dit_runtime rt;
    dit_safetensors *weights_file;
    dit_weights weights;
    dit_vae *vae;
    int64_t frames, height, width;           /* of the latents                       */
    int64_t latent_elements, image_elements; /* of one picture                       */
    float *latents, *images;                 /* of all                               */
    dit_measurement measured;
    cJSON *more; /* of the record */
    bool was_tiled, has_untiled;
    double untiled_rel_l2;
    char untiled_reason[256];
} decoding;

/* ---- the case ---------------------------------------------------------------------------------------------------- */

static dit_status read_vae(decoding *d)
{
    static const char *const keys[] = {"config", "weights", "tiling", "split", "decode_timestep", NULL};
    const cJSON *vae;
    dit_config_drop_nulls(cJSON_GetObjectItemCaseSensitive(d->doc->root, "vae"));
    DIT_TRY(dit_json_require_object(d->doc, d->doc->root, "", "vae", &vae));
    DIT_TRY(dit_json_only_keys(d->doc, vae, "/vae", keys));
    d->config = (dit_config){.doc = d->doc, .pointer = "/vae/config"};
    DIT_TRY(dit_json_require_object(d->doc, vae, "/vae", "config", &d->config.object));
    DIT_TRY(dit_json_optional_bool(d->doc, vae, "/vae", "tiling", &d->tiling));
    DIT_TRY(dit_rows_read_split(d->doc, vae, "/vae", &d->split));
    DIT_TRY(dit_vae_read_facts(&d->config, &d->facts));
    DIT_TRY(dit_decoder_read_timestep(d->doc, vae, "/vae", &d->facts, &d->timestep, &(double){0}));
    return dit_decoder_read_weights(d->doc, vae, "/vae", &d->facts, &d->kase.weights_path, &d->kase.weights_seed);
}

static dit_status read_run(decoding *d)
{
    static const char *const keys[] = {"height_px", "width_px", "num_frames", "num_images", "seed", NULL};
    const dit_json *doc = d->doc;
    dit_case *k = &d->kase;
    const cJSON *run;
    int64_t seed = 0;
    k->num_images = k->num_frames = 1;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "run", &run));
    DIT_TRY(dit_json_only_keys(doc, run, "/run", keys));
    DIT_TRY(dit_json_require_int(doc, run, "/run", "height_px", 1, 1 << 16, &k->run.height_px));
    DIT_TRY(dit_json_require_int(doc, run, "/run", "width_px", 1, 1 << 16, &k->run.width_px));
    DIT_TRY(dit_json_optional_int(doc, run, "/run", "num_frames", 1, 1 << 14, &k->num_frames));
    DIT_TRY(dit_json_optional_int(doc, run, "/run", "num_images", 1, 4096, &k->num_images));
    DIT_TRY(dit_json_require_int(doc, run, "/run", "seed", 0, INT64_C(1) << SEED_BITS, &seed));
    k->seed = (uint64_t)seed;
    return DIT_OK;
}

/* Extents of the latents that decode to the pictures asked for. */
static dit_status size_latents(decoding *d)
{
    const dit_case *k = &d->kase;
    const dit_vae_facts *f = &d->facts;
    if (k->run.height_px % f->spatial || k->run.width_px % f->spatial)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_RESOLUTION, "%lld x %lld pixels are no whole number of latents of %lld",
                        (long long)k->run.width_px, (long long)k->run.height_px, (long long)f->spatial);
    d->frames = (k->num_frames - 1) / f->temporal + 1;
    if (dit_vae_output_frames(f, d->frames) != k->num_frames)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_RESOLUTION,
                                       "no number of latent frames decodes to %lld frames: %lld decode to %lld",
                                       (long long)k->num_frames, (long long)d->frames,
                                       (long long)dit_vae_output_frames(f, d->frames)),
                              f->one_first ? "ask for one frame more than a multiple of %lld"
                                           : "ask for a multiple of %lld, or for one frame more",
                              (long long)(f->one_first ? f->temporal : 2 * f->temporal));
    d->height = k->run.height_px / f->spatial, d->width = k->run.width_px / f->spatial;
    d->latent_elements = f->latent_channels * d->frames * d->height * d->width;
    d->image_elements = f->image_channels * k->num_frames * k->run.height_px * k->run.width_px;
    return DIT_OK;
}

static dit_status read_case(decoding *d, dit_case_platform *platform)
{
    static const char *const keys[] = {"schema",    "program",  "vae",     "run", "parallel",
                                       "attention", "platform", "measure", NULL};
    DIT_TRY(dit_json_only_keys(d->doc, d->doc->root, "", keys));
    DIT_TRY(dit_case_hash(d->doc, d->kase.case_id));
    DIT_TRY(read_vae(d));
    DIT_TRY(read_run(d));
    DIT_TRY(size_latents(d));
    DIT_TRY(dit_case_read_measure(d->doc, &d->kase));
    return dit_case_read_platform(d->doc, platform);
}

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

static dit_status create_vae(decoding *d, bool tiling)
{
    dit_vae_params params = {.rt = &d->rt, .config = d->config, .weights = &d->weights, .tiling = tiling};
    params.frames = d->frames, params.height = d->height, params.width = d->width;
    params.timestep = d->timestep, params.seed = d->kase.seed;
    params.sharers = d->rt.comm[DIT_AXIS_WORLD], params.split = d->split;
    return dit_vae_create(&params, &d->vae);
}

static dit_status draw_latents(decoding *d)
{
    bool each = d->facts.statistics; /* channels have their own */
    float deviation = each ? 1 : (float)(1 / d->facts.scaling_factor), mean = each ? 0 : (float)d->facts.shift_factor;
    dit_rng_normal(d->kase.seed, dit_rng_stream("latents"), 0, d->kase.num_images * d->latent_elements, mean, deviation,
                   d->latents);
    for (int64_t i = 0; i < d->kase.num_images && each; i++)
        DIT_TRY(dit_vae_scale(&d->facts, d->frames * d->height * d->width, d->latents + i * d->latent_elements));
    return DIT_OK;
}

/* There is no mesh: all ranks share every decode. */
static dit_status start_runtime(decoding *d)
{
    dit_case_platform platform = {.parallel = &d->kase.parallel};
    DIT_TRY(read_case(d, &platform));
    dit_runtime_params params = {
        .backend = platform.backend, .threads = platform.threads, .parallel = d->kase.parallel};
    params.dtype = d->kase.dtype = platform.dtype;
    d->kase.backend = platform.backend;
    params.facts = (dit_facts){.image_tokens = 1, .num_images = 1, .guidance_branches = 1, .steps = 1};
    return dit_runtime_init(&params, &d->rt);
}

static dit_status set_up(decoding *d)
{
    int64_t began = dit_clock_ns();
    DIT_TRY(start_runtime(d));
    DIT_TRY(dit_measurement_begin(&d->kase, &d->rt, 0, &d->measured));
    DIT_TRY(dit_arena_host(&d->rt.image, d->kase.num_images * d->latent_elements, &d->latents));
    DIT_TRY(dit_arena_host(&d->rt.image, d->kase.num_images * d->image_elements, &d->images));
    if (d->kase.weights_path) DIT_TRY(dit_safetensors_open(d->kase.weights_path, &d->weights_file));
    d->weights = (dit_weights){.file = d->weights_file, .seed = d->kase.weights_seed};
    int64_t loading = dit_clock_ns();
    DIT_TRY(create_vae(d, d->tiling));
    d->measured.head.weights_ns = dit_clock_ns() - loading;
    d->measured.head.load_peak = d->rt.ledger.total_peak;
    d->was_tiled = dit_vae_is_tiled(d->vae);
    DIT_TRY(draw_latents(d));
    d->measured.head.setup_ns = dit_clock_ns() - began - d->measured.head.weights_ns;
    return DIT_OK;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static dit_status decode_pictures(decoding *d)
{
    for (int64_t i = 0; i < d->kase.num_images; i++)
        DIT_TRY(dit_vae_decode(d->vae, d->latents + i * d->latent_elements, d->images + i * d->image_elements));
    return DIT_OK;
}

static dit_status decode_batch(decoding *d, int64_t *elapsed_ns)
{
    dit_status st;
    DIT_TRY(dit_comm_barrier(dit_comm_world()));
    int64_t began = dit_clock_ns();
    DIT_TIMED(&d->rt, DIT_TIME_DECODE, st = decode_pictures(d));
    if (st == DIT_OK) st = dit_runtime_synchronize(&d->rt);
    *elapsed_ns = dit_clock_ns() - began;
    return st;
}

static dit_status run_traced(void *program, int64_t *latency_ns)
{
    return decode_batch(program, latency_ns);
}

static dit_status trace(decoding *d, const dit_program_args *args)
{
    if (!d->kase.trace) return DIT_OK;
    return dit_timeline_take(
        &(dit_timeline_params){
            .rt = &d->rt, .case_id = d->kase.case_id, .out_folder = args->out_folder, .run = run_traced, .context = d},
        d->more);
}

static dit_status decode_iteration(decoding *d, dit_iteration *it)
{
    dit_runtime_reset_account(&d->rt);
    DIT_TRY(decode_batch(d, &it->latency_ns));
    dit_iteration_take(it, &d->rt);
    return DIT_OK;
}

static dit_status warm_up(void *decoder, int64_t *latency_ns)
{
    return decode_batch(decoder, latency_ns);
}

static dit_status measure(decoding *d)
{
    dit_measurement *m = &d->measured;
    DIT_TRY(dit_warmup_run(m, warm_up, d));
    int64_t calls = d->rt.ledger.calls;
    for (int i = 0; i < m->iterations; i++) DIT_TRY(decode_iteration(d, &m->iteration[i]));
    dit_measurement_end(m, &d->rt, calls);
    for (int64_t i = 0; i < d->kase.num_images * d->image_elements; i++)
        if (!isfinite(d->images[i]))
            return DIT_FAIL(DIT_ERR_NONFINITE, "element %lld of the decoded pictures is not finite", (long long)i);
    return DIT_OK;
}

/* Weights and activations are given back, for a decode of another plan. */
static void forget_plan(decoding *d)
{
    dit_vae_free(d->vae);
    d->vae = NULL;
    dit_arena_release(&d->rt.step);
    dit_arena_release(&d->rt.run);
    dit_arena_init(&d->rt.run, &d->rt.ledger, DIT_MEMORY_WEIGHTS);
    dit_arena_init(&d->rt.step, &d->rt.ledger, DIT_MEMORY_ACTIVATIONS);
}

static dit_status decode_whole(decoding *d, float *whole)
{
    double difference = 0, norm = 0;
    DIT_TRY(create_vae(d, false));
    DIT_TRY(dit_vae_decode(d->vae, d->latents, whole));
    for (int64_t i = 0; i < d->image_elements; i++) {
        double delta = (double)d->images[i] - whole[i];
        difference += delta * delta;
        norm += (double)whole[i] * whole[i];
    }
    d->has_untiled = true;
    d->untiled_rel_l2 = norm > 0 ? sqrt(difference / norm) : sqrt(difference);
    return DIT_OK;
}

/* The first picture whole, in at most half of the machine's memory. */
static dit_status compare_with_untiled(decoding *d)
{
    float *whole;
    if (!d->was_tiled) return DIT_OK;
    forget_plan(d);
    d->rt.ledger.limit = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE) / 2;
    dit_status st = dit_arena_host(&d->rt.image, d->image_elements, &whole);
    if (st == DIT_OK) st = decode_whole(d, whole);
    if (st != DIT_ERR_MEMORY) return st;
    snprintf(d->untiled_reason, sizeof d->untiled_reason,
             "decoding the picture whole takes more than %lld bytes, half of this machine's memory",
             (long long)d->rt.ledger.limit);
    dit_error_clear();
    return DIT_OK;
}

/* ---- the record -------------------------------------------------------------------------------------------------- */

/* The pictures of one rank are the reference of the shared ones. */
static dit_status validate(const decoding *d, const dit_program_args *args, dit_validation *out)
{
    char hash[DIT_HASH_HEX], path[4096];
    const dit_case *k = &d->kase;
    int64_t elements = k->num_images * d->image_elements;
    *out = (dit_validation){.digest_key = "image_digest", .tolerance = dit_method_tolerance(k->dtype, 1)};
    dit_hash(d->images, (size_t)elements * sizeof(float), hash);
    snprintf(out->digest, sizeof out->digest, "xxh3:%s", hash);
    if (args->reference) {
        out->has_reference = true;
        return dit_reference_distance(args->reference, "images", d->images, elements, &out->rel_l2);
    }
    bool alone = d->rt.parallel.rows_degree <= 1;
    snprintf(out->reason, sizeof out->reason, "%s",
             alone ? "this is the one-rank reference" : "no one-rank reference was given");
    if (!alone || d->was_tiled) return DIT_OK;
    dit_tensor_out tensor = {.name = "images", .rank = 5, .data = d->images};
    const int64_t shape[5] = {k->num_images, d->facts.image_channels, k->num_frames, k->run.height_px, k->run.width_px};
    memcpy(tensor.shape, shape, sizeof shape);
    snprintf(path, sizeof path, "%s/images.safetensors", args->out_folder);
    return dit_safetensors_write(path, &tensor, 1);
}

static void describe_tiling(dit_json_writer *w, const decoding *d, cJSON *more)
{
    cJSON *tiling = dit_json_put_object(w, more, "tiling");
    dit_json_put_bool(w, tiling, "tiled", d->was_tiled);
    if (d->has_untiled)
        dit_json_put_number(w, tiling, "untiled_rel_l2", d->untiled_rel_l2);
    else if (d->was_tiled)
        dit_json_put_string(w, tiling, "reason", d->untiled_reason);
    else
        dit_json_put_string(w, tiling, "reason",
                            d->tiling ? "the latents fit into one tile" : "the case asks for none");
}

/* What each rank sends; nothing where one decodes alone. */
static dit_status predict(const decoding *d, int ranks, dit_volume_table *out)
{
    dit_rows_facts rows;
    if (ranks == 1) return DIT_OK;
    DIT_TRY(dit_rows_from_case(d->doc, d->doc->root, "", &rows));
    rows.element_bytes = dit_dtype_bytes(d->kase.dtype);
    for (int rank = 0; rank < ranks; rank++) dit_shared_decode_predict(&rows, ranks, rank, &out[rank]);
    return DIT_OK;
}

static dit_status write_record(const decoding *d, const dit_program_args *args, const dit_validation *validation)
{
    dit_json_writer w = {0};
    int ranks = dit_parallel_world_size(&d->rt.parallel);
    dit_volume_table *predicted = calloc((size_t)ranks, sizeof *predicted);
    dit_status st = predicted ? predict(d, ranks, predicted) : DIT_FAIL(DIT_ERR_MEMORY, "no memory");
    describe_tiling(&w, d, d->more);
    DIT_KEEP_FIRST(st, w.status);
    if (st == DIT_OK)
        st = dit_record_write(&(dit_record_params){.program = "vae_decode",
                                                   .kase = &d->kase,
                                                   .rt = &d->rt,
                                                   .own = &d->measured,
                                                   .validation = validation,
                                                   .predicted = predicted,
                                                   .predicted_each = true,
                                                   .more = d->more,
                                                   .out_folder = args->out_folder});
    free(predicted);
    return st;
}

static dit_status decode_all(decoding *d, const dit_program_args *args)
{
    dit_validation validation;
    d->more = cJSON_CreateObject();
    if (!d->more) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    DIT_TRY(set_up(d));
    DIT_TRY(measure(d));
    DIT_TRY(trace(d, args));
    DIT_TRY(validate(d, args, &validation));
    DIT_TRY(compare_with_untiled(d));
    DIT_TRY(write_record(d, args, &validation));
    if (!validation.has_reference || validation.rel_l2 <= validation.tolerance) return DIT_OK;
    return DIT_FAIL(DIT_ERR_MISMATCH,
                    "pictures differ from the one-rank reference by relative L2 %.3g, %.3g is allowed",
                    validation.rel_l2, validation.tolerance);
}

static dit_status vae_decode_run(const dit_program_args *args, bool *skipped)
{
    decoding d = {.doc = args->doc};
    (void)skipped;
    dit_status st = decode_all(&d, args);
    dit_vae_free(d.vae);
    dit_runtime_release(&d.rt);
    dit_safetensors_close(d.weights_file);
    dit_measurement_release(&d.measured);
    cJSON_Delete(d.more);
    return st;
}

const dit_program dit_program_vae_decode = {
    .name = "vae_decode",
    .help = "latents to pictures by a VAE: latency, memory, communication, distance of tiles to the whole",
    .run = vae_decode_run,
};
