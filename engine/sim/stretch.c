#include "engine/sim/stretch.h"

#include "base/architecture.h"
#include "base/json.h"
#include "engine/case/pipeline.h"
#include "engine/sim/watch.h"

#include <stdlib.h>
#include <string.h>

/* ---- some steps -------------------------------------------------------------------------------------------------- */

static cJSON *member(const dit_json *doc, const char *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(dit_json_member(doc->root, object), key);
}

/* The steps of one rank, and what it had counted when it began the newest two. */
typedef struct {
    dit_sim *sim;
    dit_sim_watch *watch;
    dit_iteration before, now;
} own_steps;

static int begin(void *steps, const dit_runtime *rt, int step)
{
    own_steps *own = steps;
    own->before = own->now;
    own->now = dit_sim_counted(rt);
    return dit_sim_watch_begin(own->watch, own->sim, step);
}

static dit_status check_volume(const dit_pipeline *p, const dit_comm_counters *counters)
{
    dit_volume_table table;
    int rank = dit_comm_rank(dit_comm_world());
    dit_cache_use use = dit_cache_own_use(p->sampler.cache);
    dit_volume_predict_cached(&p->rt.parallel, &p->rt.facts, &use, rank, &table);
    dit_weight_stream_volume(p->model->params.stream, rank, &table);
    return dit_volume_check(counters, &table, rank, 0);
}

/* Adds the steps that were left out before the last one, each like the newest step that was done whole. */
static void add_steps(const own_steps *own, int steps, dit_sim_outcome *out)
{
    int left_out = dit_sim_watch_left_out(own->watch), first = steps - 1 - left_out;
    double seconds = dit_sim_watch_seconds(own->watch);
    out->steps = steps - left_out;
    out->alike = dit_sim_watch_alike(own->watch);
    out->account.seconds += seconds * left_out;
    dit_sim_counted_grow(&out->account.counted, left_out, &own->now, &own->before);
    out->account.counted.latency_ns += (int64_t)(seconds * left_out * 1e9 + 0.5);
    for (int i = first; i < steps - 1; i++) out->step_ns[i] = out->step_ns[first - 1];
}

static void take(const dit_pipeline *p, int64_t elapsed_ns, dit_sim_outcome *out)
{
    out->account = (dit_sim_account){
        .seconds = p->elapsed_s, .counted = dit_sim_counted(&p->rt), .total_peak = p->rt.ledger.total_peak};
    out->account.counted.latency_ns = elapsed_ns;
    out->account.counted.blocks = dit_block_times_of(p->sampler.block_ns, p->sampler.block_count);
    memcpy(out->account.peak, p->rt.ledger.peak, sizeof out->account.peak);
    out->setup_ns = p->setup_ns, out->weights_ns = p->weights_ns, out->load_peak = p->load_peak;
    memcpy(out->coordinates, p->rt.coordinates, sizeof out->coordinates);
    out->shards = (dit_volume_table){0};
    dit_weight_stream_volume(p->model->params.stream, dit_comm_rank(dit_comm_world()), &out->shards);
    out->shard_bytes = dit_weight_stream_shard_bytes(p->model->params.stream);
}

static dit_status run_steps(const dit_json *doc, int steps, own_steps *own, dit_sim_outcome *out)
{
    dit_pipeline p = {0};
    dit_status st;
    int64_t elapsed_ns;
    dit_guest guest = dit_sim_guest(own->sim);
    guest.begin_step = begin, guest.steps = own;
    DIT_TRY_GOTO(st, dit_pipeline_create_guest(doc, &guest, &p), done);
    dit_runtime_reset_account(&p.rt);
    DIT_TRY_GOTO(st, dit_pipeline_run(&p, out->step_ns, &elapsed_ns), done);
    take(&p, elapsed_ns, out);
    add_steps(own, steps, out);
    st = check_volume(&p, &out->account.counted.counters);
done:
    dit_pipeline_release(&p);
    return st;
}

static dit_status watch_steps(dit_sim *sim, const dit_json *doc, const dit_sim_watch_params *watched,
                              dit_sim_outcome *out)
{
    own_steps *own = calloc(1, sizeof *own);
    if (!own) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for steps");
    own->sim = sim;
    dit_status st = dit_sim_watch_open(watched, &own->watch);
    if (st == DIT_OK) st = run_steps(doc, watched->repeats, own, out);
    dit_sim_watch_close(own->watch);
    free(own);
    return st;
}

/* Simulates all steps of as many blocks as the document has now. *hops: how many hops of a long ring are messages, 0:
 * all; afterwards as many as were needed. */
static dit_status simulate_steps(dit_sim *sim, const dit_json *doc, const dit_sim_watch_params *watched, int *hops,
                                 dit_sim_outcome *out)
{
    for (bool alike = false, left_out; !alike; *hops *= 4) {
        *dit_sim_get_hops(sim) = dit_sim_hops_of(*hops);
        DIT_TRY(watch_steps(sim, doc, watched, out));
        DIT_TRY(dit_sim_hops_are_alike(dit_sim_get_hops(sim), &alike, &left_out));
        out->hops = left_out ? *hops : 0;
        if (alike) return DIT_OK;
    }
    return DIT_OK;
}

/* ---- some blocks ------------------------------------------------------------------------------------------------- */

static const dit_architecture *architecture_of(const dit_json *doc)
{
    const cJSON *config = member(doc, "model", "config");
    const char *name = dit_json_text_or(config, "_class_name", NULL);
    return name ? dit_architecture_find(name) : NULL;
}

/* Finds the config's numbers of blocks of each kind; NULL where the model has none of a kind. */
static void find_layers(const dit_json *doc, cJSON *out[DIT_BLOCK_KINDS])
{
    const dit_architecture *architecture = architecture_of(doc);
    const cJSON *config = member(doc, "model", "config");
    for (int i = 0; i < DIT_BLOCK_KINDS; i++) {
        const char *key = architecture ? architecture->kinds[i].key : NULL;
        out[i] = key ? cJSON_GetObjectItemCaseSensitive(config, key) : NULL;
    }
}

/* Blocks all alike but for their kind, none of which is joined to another by a skip or left out by a cache, all on every
 * rank. */
static bool repeats_blocks(const dit_json *doc, const dit_sim_stretch *stretch)
{
    const cJSON *config = member(doc, "model", "config"), *stages = member(doc, "parallel", "pipefusion_degree");
    const dit_architecture *architecture = architecture_of(doc);
    cJSON *layers[DIT_BLOCK_KINDS];
    find_layers(doc, layers);
    if (stretch->replay || !cJSON_IsNumber(layers[0]) || layers[0]->valueint < 2) return false;
    if (stages && stages->valueint > 1) return false;
    if (member(doc, "parallel", "fsdp_degree")) return false; /* gathers hide behind more blocks than two */
    if (dit_json_member(doc->root, "cache")) return false;
    if (!architecture || architecture->paired) return false;
    if (architecture->dual_key && cJSON_GetArraySize(dit_json_member(config, architecture->dual_key))) return false;
    return stretch->layered || dit_comm_size(dit_comm_world()) >= DIT_SIM_LAYERED_WORLD;
}

/* How many hops are tried first. */
enum { FIRST_HOPS = 8 };

/* Simulates one block of each kind, then one more of each kind in turn. `base` and `more` have their own step_ns. */
static dit_status simulate_blocks(dit_sim *sim, const dit_json *doc, const dit_sim_watch_params *watched,
                                  dit_sim_outcome *base, dit_sim_outcome *more, dit_sim_outcome *out)
{
    cJSON *layers[DIT_BLOCK_KINDS];
    int all[DIT_BLOCK_KINDS] = {0}, simulated = 0, steps = watched->repeats;
    find_layers(doc, layers);
    for (int i = 0; i < DIT_BLOCK_KINDS; i++) {
        all[i] = layers[i] ? layers[i]->valueint : 0;
        if (all[i] > 1) cJSON_SetNumberValue(layers[i], 1);
        simulated += all[i] > 1 ? 2 : all[i];
    }
    int hops = FIRST_HOPS;
    DIT_TRY(simulate_steps(sim, doc, watched, &hops, base));
    int64_t *step_ns = out->step_ns;
    memcpy(step_ns, base->step_ns, (size_t)steps * sizeof *step_ns);
    *out = *base;
    out->step_ns = step_ns, out->layers = simulated;
    for (int i = 0; i < DIT_BLOCK_KINDS; i++) {
        if (all[i] <= 1) continue;
        cJSON_SetNumberValue(layers[i], 2);
        DIT_TRY(simulate_steps(sim, doc, watched, &hops, more));
        cJSON_SetNumberValue(layers[i], 1);
        dit_sim_account_grow(&out->account, all[i] - 1, &more->account, &base->account);
        for (int step = 0; step < steps; step++)
            step_ns[step] += (all[i] - 1) * (more->step_ns[step] - base->step_ns[step]);
    }
    for (int i = 0; i < DIT_BLOCK_KINDS; i++)
        if (layers[i]) cJSON_SetNumberValue(layers[i], all[i]);
    return DIT_OK;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static dit_status take_steps(int steps, dit_sim_outcome *out)
{
    out->step_ns = calloc((size_t)steps, sizeof *out->step_ns);
    return out->step_ns ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d steps", steps);
}

/* Stages and patches have synchronous steps first, and begin the later ones with messages under way. Steps of a cache
 * differ, so all are done. Other methods' steps are all alike. */
static dit_sim_watch_params watch_of(const dit_json *doc, int steps, const dit_sim_stretch *stretch, bool layered)
{
    const cJSON *stages = member(doc, "parallel", "pipefusion_degree"),
                *patches = member(doc, "parallel", "patch_degree");
    const cJSON *shards = member(doc, "parallel", "fsdp_degree");
    const cJSON *warmup = member(doc, "parallel", "warmup_steps");
    dit_sim_watch_params watched = {.repeats = steps, .close = layered};
    watched.carries = (stages && stages->valueint > 1) || (patches && patches->valueint > 1);
    if (watched.carries && warmup) watched.first = warmup->valueint;
    watched.carries = watched.carries || (shards && shards->valueint > 1);
    if (stretch->replay || dit_json_member(doc->root, "cache")) watched.first = steps;
    return watched;
}

/* scratch: two outcomes */
static dit_status simulate_all(dit_sim *sim, const dit_json *doc, int steps, const dit_sim_stretch *stretch,
                               dit_sim_outcome *scratch, dit_sim_outcome *out)
{
    bool layered = repeats_blocks(doc, stretch);
    dit_sim_watch_params watched = watch_of(doc, steps, stretch, layered);
    DIT_TRY(take_steps(steps, out));
    int hops = 0;
    if (!layered) return simulate_steps(sim, doc, &watched, &hops, out);
    DIT_TRY(take_steps(steps, &scratch[0]));
    DIT_TRY(take_steps(steps, &scratch[1]));
    return simulate_blocks(sim, doc, &watched, &scratch[0], &scratch[1], out);
}

dit_status dit_sim_stretched(dit_sim *sim, const dit_json *doc, const dit_sim_stretch *stretch, dit_sim_outcome *out)
{
    const cJSON *count = member(doc, "run", "num_inference_steps");
    *out = (dit_sim_outcome){0};
    if (!cJSON_IsNumber(count) || count->valueint < 1 || count->valueint > 100000)
        return dit_json_fail(doc, "/run", DIT_ERR_JSON_VALUE, "num_inference_steps is no number of steps");
    int steps = count->valueint;
    dit_sim_outcome *scratch = calloc(2, sizeof *scratch);
    if (!scratch) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a simulation");
    dit_status st = simulate_all(sim, doc, steps, stretch, scratch, out);
    free(scratch[0].step_ns);
    free(scratch[1].step_ns);
    free(scratch);
    return st;
}
