/* vae_decode: latents to pictures, alone. One rank; a parallel decoder is not built.
 *
 * An iteration decodes all pictures of the batch, one after the other. Latents are unit normals, functions of the seed
 * and of the picture, brought into the decoder's range by scaling_factor and shift_factor. Of a tiled decode, the
 * record says how far the first picture is from the one decoded whole, where the machine has the memory for that.
 */
#include "base/hash.h"
#include "base/rng.h"
#include "engine/case.h"
#include "engine/programs/program.h"
#include "engine/vae/vae.h"
#include "version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SEED_BITS = 53 };

typedef struct {
    const dit_json *doc;
    dit_case kase; /* id, weights, sizes, measure */
    bool tiling;
    dit_config config;
    dit_vae_facts facts;
    dit_runtime rt;
    dit_safetensors *weights_file;
    dit_weights weights;
    dit_vae *vae;
    int64_t frames, height, width;           /* of the latents                       */
    int64_t latent_elements, image_elements; /* of one picture                       */
    float *latents, *images;                 /* of all                               */
    int64_t *latency_ns, *warmup_ns;         /* [iterations], [warmup_runs]          */
    int64_t setup_ns, weights_ns, load_peak, loop_allocations;
    int64_t peak[DIT_MEMORY_CLASS_COUNT], total_peak, rss_bytes;
    dit_flops flops; /* of one iteration                     */
    bool was_tiled, has_untiled;
    double untiled_rel_l2;
    char untiled_reason[256];
} decoding;

/* ---- the case ---------------------------------------------------------------------------------------------------- */

static dit_status read_vae(decoding *d)
{
    static const char *const keys[] = {"config", "weights", "tiling", NULL};
    const cJSON *vae, *weights;
    dit_config_drop_nulls(cJSON_GetObjectItemCaseSensitive(d->doc->root, "vae"));
    DIT_TRY(dit_json_require_object(d->doc, d->doc->root, "", "vae", &vae));
    DIT_TRY(dit_json_only_keys(d->doc, vae, "/vae", keys));
    d->config = (dit_config){.doc = d->doc, .pointer = "/vae/config"};
    DIT_TRY(dit_json_require_object(d->doc, vae, "/vae", "config", &d->config.object));
    DIT_TRY(dit_json_require_object(d->doc, vae, "/vae", "weights", &weights));
    DIT_TRY(dit_case_read_weights(d->doc, weights, "/vae/weights", &d->kase.weights_path, &d->kase.weights_seed));
    DIT_TRY(dit_json_optional_bool(d->doc, vae, "/vae", "tiling", &d->tiling));
    return dit_vae_read_facts(&d->config, &d->facts);
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
                              "ask for a multiple of %lld, or of %lld and one more", (long long)(2 * f->temporal),
                              (long long)(2 * f->temporal));
    d->height = k->run.height_px / f->spatial, d->width = k->run.width_px / f->spatial;
    d->latent_elements = f->latent_channels * d->frames * d->height * d->width;
    d->image_elements = f->image_channels * k->num_frames * k->run.height_px * k->run.width_px;
    return DIT_OK;
}

static dit_status read_case(decoding *d, dit_program_platform *platform)
{
    static const char *const keys[] = {"schema",    "program",  "vae",     "run", "parallel",
                                       "attention", "platform", "measure", NULL};
    DIT_TRY(dit_json_only_keys(d->doc, d->doc->root, "", keys));
    DIT_TRY(dit_case_hash(d->doc, d->kase.case_id));
    DIT_TRY(read_vae(d));
    DIT_TRY(read_run(d));
    DIT_TRY(size_latents(d));
    DIT_TRY(dit_case_read_measure(d->doc, &d->kase));
    return dit_program_read_platform(d->doc, platform);
}

/* ---- set-up ------------------------------------------------------------------------------------------------------ */

static dit_status create_vae(decoding *d, bool tiling)
{
    dit_vae_params params = {.rt = &d->rt, .config = d->config, .weights = &d->weights, .tiling = tiling};
    params.frames = d->frames, params.height = d->height, params.width = d->width;
    return dit_vae_create(&params, &d->vae);
}

static void draw_latents(decoding *d)
{
    float deviation = (float)(1 / d->facts.scaling_factor), mean = (float)d->facts.shift_factor;
    dit_rng_normal(d->kase.seed, dit_rng_stream("latents"), 0, d->kase.num_images * d->latent_elements, mean, deviation,
                   d->latents);
}

static dit_status set_up(decoding *d)
{
    int64_t began = dit_clock_ns();
    dit_program_platform platform = {.parallel = &d->kase.parallel};
    DIT_TRY(read_case(d, &platform));
    dit_runtime_params params = {
        .backend = platform.backend, .threads = platform.threads, .parallel = d->kase.parallel};
    params.facts = (dit_facts){.image_tokens = 1, .num_images = 1, .guidance_branches = 1, .steps = 1};
    if (dit_comm_size(dit_comm_world()) > 1)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "%d ranks: a VAE decodes on one rank", dit_comm_size(dit_comm_world())),
            "start one rank, with as many threads as there are cores");
    DIT_TRY(dit_runtime_init(&params, &d->rt));
    DIT_TRY(dit_arena_floats(&d->rt.image, d->kase.num_images * d->latent_elements, &d->latents));
    DIT_TRY(dit_arena_floats(&d->rt.image, d->kase.num_images * d->image_elements, &d->images));
    if (d->kase.weights_path) DIT_TRY(dit_safetensors_open(d->kase.weights_path, &d->weights_file));
    d->weights = (dit_weights){.file = d->weights_file, .seed = d->kase.weights_seed};
    int64_t loading = dit_clock_ns();
    DIT_TRY(create_vae(d, d->tiling));
    d->weights_ns = dit_clock_ns() - loading;
    d->load_peak = d->rt.ledger.total_peak;
    d->was_tiled = dit_vae_is_tiled(d->vae);
    draw_latents(d);
    d->latency_ns = calloc((size_t)d->kase.iterations, sizeof *d->latency_ns);
    d->warmup_ns = calloc((size_t)d->kase.warmup_runs + 1, sizeof *d->warmup_ns);
    if (!d->latency_ns || !d->warmup_ns) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for samples");
    d->setup_ns = dit_clock_ns() - began - d->weights_ns;
    return DIT_OK;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static dit_status decode_batch(decoding *d, int64_t *elapsed_ns)
{
    int64_t began = dit_clock_ns();
    for (int64_t i = 0; i < d->kase.num_images; i++)
        DIT_TRY(dit_vae_decode(d->vae, d->latents + i * d->latent_elements, d->images + i * d->image_elements));
    *elapsed_ns = dit_clock_ns() - began;
    return DIT_OK;
}

static dit_status measure(decoding *d)
{
    for (int i = 0; i < d->kase.warmup_runs; i++) DIT_TRY(decode_batch(d, &d->warmup_ns[i]));
    int64_t calls = d->rt.ledger.calls;
    for (int i = 0; i < d->kase.iterations; i++) {
        dit_runtime_reset_account(&d->rt);
        DIT_TRY(decode_batch(d, &d->latency_ns[i]));
    }
    d->loop_allocations = d->rt.ledger.calls - calls;
    d->flops = d->rt.flops;
    memcpy(d->peak, d->rt.ledger.peak, sizeof d->peak);
    d->total_peak = d->rt.ledger.total_peak;
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0) d->rss_bytes = (int64_t)usage.ru_maxrss * 1024;
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
    dit_status st = dit_arena_floats(&d->rt.image, d->image_elements, &whole);
    if (st == DIT_OK) st = decode_whole(d, whole);
    if (st != DIT_ERR_MEMORY) return st;
    snprintf(d->untiled_reason, sizeof d->untiled_reason,
             "decoding the picture whole takes more than %lld bytes, half of this machine's memory",
             (long long)d->rt.ledger.limit);
    dit_error_clear();
    return DIT_OK;
}

/* ---- the record -------------------------------------------------------------------------------------------------- */

static dit_status add_part(cJSON *parent, const char *key, bool array, cJSON **out)
{
    *out = array ? cJSON_AddArrayToObject(parent, key) : cJSON_AddObjectToObject(parent, key);
    return *out ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
}

static dit_status add_times(cJSON *parent, const char *key, const int64_t *values, int count)
{
    cJSON *list;
    DIT_TRY(add_part(parent, key, true, &list));
    for (int i = 0; i < count; i++)
        if (!cJSON_AddItemToArray(list, cJSON_CreateNumber((double)values[i])))
            return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    return DIT_OK;
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* One rank waits for nobody: all is computing. The (lower) median iteration, as in denoise. */
static dit_status add_split(const decoding *d, cJSON *record, int64_t *median)
{
    cJSON *split, *phases;
    int64_t *sorted = malloc((size_t)d->kase.iterations * sizeof *sorted);
    if (!sorted) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    memcpy(sorted, d->latency_ns, (size_t)d->kase.iterations * sizeof *sorted);
    qsort(sorted, (size_t)d->kase.iterations, sizeof *sorted, compare_times);
    *median = sorted[(d->kase.iterations - 1) / 2];
    free(sorted);
    DIT_TRY(add_part(record, "time_split", false, &split));
    DIT_TRY(dit_json_add_int(split, "compute_ns", *median));
    DIT_TRY(dit_json_add_int(split, "exposed_communication_ns", 0));
    DIT_TRY(dit_json_add_int(split, "other_ns", 0));
    DIT_TRY(dit_json_add_int(split, "critical_rank", 0));
    DIT_TRY(add_part(record, "phases", false, &phases));
    DIT_TRY(dit_json_add_int(phases, "setup_ns", d->setup_ns));
    DIT_TRY(dit_json_add_int(phases, "weights_ns", d->weights_ns));
    return dit_json_add_int(phases, "decode_ns", *median);
}

static dit_status add_memory(const decoding *d, cJSON *parent)
{
    static const char *const keys[DIT_MEMORY_CLASS_COUNT] = {"weights_bytes", "state_bytes", "activations_bytes",
                                                             "communication_bytes"};
    cJSON *memory;
    DIT_TRY(add_part(parent, "memory", false, &memory));
    for (int i = 0; i < DIT_MEMORY_CLASS_COUNT; i++) DIT_TRY(dit_json_add_int(memory, keys[i], d->peak[i]));
    DIT_TRY(dit_json_add_int(memory, "total_bytes", d->total_peak));
    DIT_TRY(dit_json_add_int(memory, "load_peak_bytes", d->load_peak));
    return dit_json_add_int(memory, "rss_bytes", d->rss_bytes);
}

static dit_status add_flops(const decoding *d, cJSON *record)
{
    cJSON *flops;
    const dit_flops *f = &d->flops;
    DIT_TRY(add_part(record, "flops", false, &flops));
    DIT_TRY(dit_json_add_number(flops, "convolution", f->convolution));
    DIT_TRY(dit_json_add_number(flops, "linear", f->linear));
    DIT_TRY(dit_json_add_number(flops, "attention", f->attention));
    DIT_TRY(dit_json_add_number(flops, "other", f->other));
    return dit_json_add_number(flops, "total", f->convolution + f->linear + f->attention + f->other);
}

static dit_status add_validation(const decoding *d, cJSON *record)
{
    char hash[DIT_HASH_HEX], digest[DIT_HASH_HEX + 8];
    cJSON *validation, *tiling;
    dit_hash(d->images, (size_t)(d->kase.num_images * d->image_elements) * sizeof(float), hash);
    snprintf(digest, sizeof digest, "xxh3:%s", hash);
    DIT_TRY(add_part(record, "validation", false, &validation));
    DIT_TRY(dit_json_add_string(validation, "image_digest", digest));
    if (!cJSON_AddTrueToObject(validation, "finite")) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    DIT_TRY(dit_json_add_string(validation, "reason", "a VAE decodes on one rank"));
    DIT_TRY(add_part(record, "tiling", false, &tiling));
    if (!cJSON_AddBoolToObject(tiling, "tiled", d->was_tiled))
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    if (d->has_untiled) return dit_json_add_number(tiling, "untiled_rel_l2", d->untiled_rel_l2);
    if (d->was_tiled) return dit_json_add_string(tiling, "reason", d->untiled_reason);
    return dit_json_add_string(tiling, "reason",
                               d->tiling ? "the latents fit into one tile" : "the case asks for none");
}

static dit_status add_rank(const decoding *d, cJSON *record, int64_t median)
{
    cJSON *ranks, *rank = cJSON_CreateObject();
    dit_status st = add_part(record, "ranks", true, &ranks);
    if (st != DIT_OK || !rank || !cJSON_AddItemToArray(ranks, rank)) {
        cJSON_Delete(rank);
        return st != DIT_OK ? st : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    }
    DIT_TRY(dit_json_add_int(rank, "rank", 0));
    if (!cJSON_AddBoolToObject(rank, "bound_to_cores", d->rt.bound))
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    DIT_TRY(add_times(rank, "latency_ns", d->latency_ns, d->kase.iterations));
    DIT_TRY(dit_json_add_int(rank, "compute_ns", median));
    DIT_TRY(dit_json_add_int(rank, "exposed_communication_ns", 0));
    DIT_TRY(dit_json_add_int(rank, "loop_allocations", d->loop_allocations));
    return add_memory(d, rank);
}

static dit_status add_environment(const decoding *d, cJSON *record)
{
    cJSON *environment;
    DIT_TRY(add_part(record, "environment", false, &environment));
    DIT_TRY(dit_json_add_string(environment, "mpi", dit_comm_library()));
    DIT_TRY(dit_json_add_string(environment, "isa", dit_kernels_isa()));
    DIT_TRY(dit_json_add_string(environment, "kernels", d->rt.kernels->name));
    DIT_TRY(dit_json_add_int(environment, "cores", d->rt.cores));
    return dit_json_add_string(environment, "version", DITBENCH_VERSION);
}

static dit_status fill_record(const decoding *d, cJSON *record)
{
    char label[64];
    cJSON *mesh, *samples;
    int64_t median = 0;
    dit_parallel_label(&d->rt.parallel, label);
    DIT_TRY(dit_json_add_string(record, "schema", "ditbench.record/1"));
    DIT_TRY(dit_json_add_string(record, "evidence", "measured"));
    DIT_TRY(dit_json_add_string(record, "program", "vae_decode"));
    DIT_TRY(dit_json_add_string(record, "case_id", d->kase.case_id));
    DIT_TRY(dit_json_add_int(record, "world_size", 1));
    DIT_TRY(dit_json_add_int(record, "threads_per_rank", d->rt.threads));
    if (!cJSON_AddBoolToObject(record, "oversubscribed", d->rt.oversubscribed))
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    DIT_TRY(add_part(record, "mesh", false, &mesh));
    DIT_TRY(dit_json_add_string(mesh, "label", label));
    DIT_TRY(add_part(record, "samples", false, &samples));
    DIT_TRY(add_times(samples, "latency_ns", d->latency_ns, d->kase.iterations));
    DIT_TRY(add_times(samples, "warmup_ns", d->warmup_ns, d->kase.warmup_runs));
    DIT_TRY(add_split(d, record, &median));
    DIT_TRY(add_memory(d, record));
    DIT_TRY(add_flops(d, record));
    DIT_TRY(add_validation(d, record));
    DIT_TRY(add_rank(d, record, median));
    return add_environment(d, record);
}

static dit_status write_record(const decoding *d, const char *out_folder)
{
    char path[4096];
    cJSON *record = cJSON_CreateObject();
    if (!record) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    snprintf(path, sizeof path, "%s/record.json", out_folder);
    dit_status st = fill_record(d, record);
    if (st == DIT_OK) st = dit_json_write_file(record, path, false);
    cJSON_Delete(record);
    return st;
}

static dit_status decode_all(decoding *d, const char *out_folder)
{
    DIT_TRY(set_up(d));
    DIT_TRY(measure(d));
    DIT_TRY(compare_with_untiled(d));
    return write_record(d, out_folder);
}

static dit_status vae_decode_run(const dit_program_args *args, bool *skipped)
{
    decoding d = {.doc = args->doc};
    (void)skipped;
    dit_status st = decode_all(&d, args->out_folder);
    dit_vae_free(d.vae);
    dit_runtime_release(&d.rt);
    dit_safetensors_close(d.weights_file);
    free(d.latency_ns);
    free(d.warmup_ns);
    return st;
}

const dit_program dit_program_vae_decode = {
    .name = "vae_decode",
    .help = "latents to pictures by a VAE alone: latency, memory, distance of tiles to the whole",
    .run = vae_decode_run,
};
