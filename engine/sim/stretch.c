#include "engine/sim/stretch.h"

#include "engine/pipeline.h"
#include "engine/sim/sim.h"
#include "engine/sim/steady.h"

#include <stdlib.h>
#include <string.h>

static void mark(dit_sampler *sampler, int step, void *context)
{
    (void)step;
    dit_sim_mark(context, sampler->rt);
}

/* ---- some steps -------------------------------------------------------------------------------------------------- */

static cJSON *member(const dit_json *doc, const char *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(doc->root, object), key);
}

/* DPM-Solver ends short runs of below 15 steps with a lower order (scheduling_dpmsolver_multistep.py of diffusers);
 * simulated in a few steps, a long run must not. */
static dit_status keep_final_order(const dit_json *doc, int steps)
{
    enum { SHORT_RUN = 15 };
    cJSON *scheduler = cJSON_GetObjectItemCaseSensitive(doc->root, "scheduler");
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(scheduler, "_class_name"));
    if (steps < SHORT_RUN || !name || strcmp(name, "DPMSolverMultistepScheduler") != 0) return DIT_OK;
    cJSON_DeleteItemFromObjectCaseSensitive(scheduler, "lower_order_final");
    return cJSON_AddFalseToObject(scheduler, "lower_order_final") ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory");
}

static dit_status check_volume(const dit_pipeline *p)
{
    dit_volume_table table;
    dit_volume_predict(&p->rt.parallel, &p->rt.facts, dit_comm_rank(dit_comm_world()), &table);
    return dit_volume_check(&p->rt.counters, &table, dit_comm_rank(dit_comm_world()), 0);
}

static void take_facts(const dit_pipeline *p, dit_sim_outcome *out)
{
    out->setup_ns = p->setup_ns, out->weights_ns = p->weights_ns, out->load_peak = p->load_peak;
    memcpy(out->coordinates, p->rt.coordinates, sizeof out->coordinates);
}

/* Runs the case as it stands; step_ns [probe]. */
static dit_status run_steps(const dit_json *doc, dit_sim_marks *m, int64_t *step_ns, dit_sim_outcome *out)
{
    dit_pipeline p = {0};
    dit_status st;
    int64_t elapsed_ns;
    *m = (dit_sim_marks){0};
    DIT_TRY_GOTO(st, dit_pipeline_create_simulated(doc, dit_sim_kernels(), &p), done);
    p.now_s = dit_sim_now;
    p.sampler.on_begin = mark;
    p.sampler.context = m;
    dit_runtime_reset_account(&p.rt);
    DIT_TRY_GOTO(st, dit_pipeline_run(&p, step_ns, &elapsed_ns), done);
    out->account = (dit_sim_account){
        .seconds = p.elapsed_s, .counted = dit_sim_counted(&p.rt), .total_peak = p.rt.ledger.total_peak};
    out->account.counted.latency_ns = elapsed_ns;
    memcpy(out->account.peak, p.rt.ledger.peak, sizeof out->account.peak);
    take_facts(&p, out);
    st = check_volume(&p);
done:
    dit_pipeline_release(&p);
    return st;
}

/* The steps that were left out, before the last. step_ns has `steps` places, of which the first `probe` are filled. */
static void add_steps(int probe, int steps, double seconds, const dit_sim_marks *m, dit_sim_outcome *out)
{
    const dit_sim_account step = dit_sim_marked(m), nothing = {0};
    int left_out = steps - probe;
    out->account.seconds += seconds * left_out;
    dit_sim_counted_grow(&out->account.counted, left_out, &step.counted, &nothing.counted);
    out->account.counted.latency_ns += (int64_t)(seconds * left_out * 1e9 + 0.5);
    out->step_ns[steps - 1] = out->step_ns[probe - 1];
    for (int i = probe - 1; i < steps - 1; i++) out->step_ns[i] = out->step_ns[probe - 2];
}

/* `steps` steps, of as many blocks as the document has now. `close`: SimGrid's own precision is enough from the first
 * try on. */
static dit_status simulate_steps(const dit_json *doc, int steps, int first_probe, bool close, dit_sim_outcome *out)
{
    dit_sim_marks *m = malloc(sizeof *m);
    double seconds = 0;
    bool steady = false;
    dit_status st = m ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for marks");
    for (int probe = first_probe; st == DIT_OK && !steady; probe *= 2) {
        if (3 * probe > 2 * steps && probe > first_probe) probe = steps;
        if (probe > steps) probe = steps;
        cJSON_SetNumberValue(member(doc, "run", "num_inference_steps"), probe);
        out->steps = probe;
        DIT_TRY_GOTO(st, run_steps(doc, m, out->step_ns, out), done);
        out->alike = 0;
        if (probe == steps) break;
        out->alike = close || probe > first_probe ? DIT_SIM_SHARES_ALIKE : 0;
        DIT_TRY_GOTO(st, dit_sim_is_steady(m, out->alike, steps - probe + 1, &steady, &seconds), done);
        if (steady) add_steps(probe, steps, seconds, m, out);
    }
done:
    free(m);
    return st;
}

/* ---- some blocks ------------------------------------------------------------------------------------------------- */

static const char *const kinds[] = {"num_layers", "num_single_layers"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Members of the config that count alike blocks; NULL where the model has none of a kind. */
static void find_layers(const dit_json *doc, cJSON *out[KINDS])
{
    const cJSON *config = member(doc, "model", "config");
    for (int i = 0; i < KINDS; i++) out[i] = cJSON_GetObjectItemCaseSensitive(config, kinds[i]);
}

/* Blocks all alike but for their kind, none of which is joined to another by a skip, all on every rank. */
static bool repeats_blocks(const dit_json *doc, const dit_sim_stretch *stretch)
{
    const cJSON *config = member(doc, "model", "config"), *stages = member(doc, "parallel", "pipefusion_degree");
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(config, "_class_name"));
    cJSON *layers[KINDS];
    find_layers(doc, layers);
    if (stretch->replay || !cJSON_IsNumber(layers[0]) || layers[0]->valueint < 2) return false;
    if (stages && stages->valueint > 1) return false;
    if (name && strcmp(name, "HunyuanDiT2DModel") == 0) return false;
    if (cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(config, "dual_attention_layers"))) return false;
    return stretch->layered || dit_comm_size(dit_comm_world()) >= DIT_SIM_LAYERED_WORLD;
}

/* One block of each kind, then one more of each kind in turn. `base` and `more` have places of their own for steps. */
static dit_status simulate_blocks(const dit_json *doc, int steps, int first_probe, dit_sim_outcome *base,
                                  dit_sim_outcome *more, dit_sim_outcome *out)
{
    cJSON *layers[KINDS];
    int all[KINDS] = {0}, simulated = 0;
    find_layers(doc, layers);
    for (int i = 0; i < KINDS; i++) {
        all[i] = layers[i] ? layers[i]->valueint : 0;
        if (all[i] > 1) cJSON_SetNumberValue(layers[i], 1);
        simulated += all[i] > 1 ? 2 : all[i];
    }
    DIT_TRY(simulate_steps(doc, steps, first_probe, true, base));
    int64_t *step_ns = out->step_ns;
    memcpy(step_ns, base->step_ns, (size_t)steps * sizeof *step_ns);
    *out = *base;
    out->step_ns = step_ns, out->layers = simulated;
    for (int i = 0; i < KINDS; i++) {
        if (all[i] <= 1) continue;
        cJSON_SetNumberValue(layers[i], 2);
        DIT_TRY(simulate_steps(doc, steps, first_probe, true, more));
        cJSON_SetNumberValue(layers[i], 1);
        dit_sim_account_grow(&out->account, all[i] - 1, &more->account, &base->account);
        for (int step = 0; step < steps; step++)
            step_ns[step] += (all[i] - 1) * (more->step_ns[step] - base->step_ns[step]);
    }
    for (int i = 0; i < KINDS; i++)
        if (layers[i]) cJSON_SetNumberValue(layers[i], all[i]);
    return DIT_OK;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static dit_status take_steps(int steps, dit_sim_outcome *out)
{
    out->step_ns = calloc((size_t)steps, sizeof *out->step_ns);
    return out->step_ns ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d steps", steps);
}

/* A first step is often unlike the second, which may still carry what the host was ahead. */
enum { FIRST_PROBE = DIT_SIM_MARKS + 2 };

static dit_status add_way(cJSON *parallel, const char *key)
{
    if (cJSON_GetObjectItemCaseSensitive(parallel, key) || cJSON_AddTrueToObject(parallel, key)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a case");
}

/* The software's way with joint text in a pipeline, and with stores that no step has filled. */
static dit_status bring_ways(const dit_json *doc)
{
    cJSON *parallel = cJSON_GetObjectItemCaseSensitive(doc->root, "parallel");
    const cJSON *stages = cJSON_GetObjectItemCaseSensitive(parallel, "pipefusion_degree");
    if (!stages || stages->valueint <= 1) return DIT_OK;
    if (dit_sim_text_with_every_band()) DIT_TRY(add_way(parallel, "text_with_every_band"));
    return dit_sim_stores_filled() ? add_way(parallel, "stores_filled") : DIT_OK;
}

/* scratch: two outcomes */
static dit_status simulate_all(const dit_json *doc, int steps, const dit_sim_stretch *stretch, dit_sim_outcome *scratch,
                               dit_sim_outcome *out)
{
    const cJSON *warmup = member(doc, "parallel", "warmup_steps");
    bool layered = repeats_blocks(doc, stretch);
    int probe = stretch->replay ? steps : (warmup ? warmup->valueint : 0) + FIRST_PROBE;
    DIT_TRY(take_steps(steps, out));
    DIT_TRY(keep_final_order(doc, steps));
    DIT_TRY(bring_ways(doc));
    if (!layered) return simulate_steps(doc, steps, probe, false, out);
    DIT_TRY(take_steps(steps, &scratch[0]));
    DIT_TRY(take_steps(steps, &scratch[1]));
    return simulate_blocks(doc, steps, probe, &scratch[0], &scratch[1], out);
}

dit_status dit_sim_stretched(const dit_json *doc, const dit_sim_stretch *stretch, dit_sim_outcome *out)
{
    cJSON *count = member(doc, "run", "num_inference_steps");
    *out = (dit_sim_outcome){0};
    if (!cJSON_IsNumber(count) || count->valueint < 1 || count->valueint > 100000)
        return dit_json_fail(doc, "/run", DIT_ERR_JSON_VALUE, "num_inference_steps is no number of steps");
    int steps = count->valueint;
    dit_sim_outcome *scratch = calloc(2, sizeof *scratch);
    if (!scratch) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a simulation");
    dit_status st = simulate_all(doc, steps, stretch, scratch, out);
    cJSON_SetNumberValue(count, steps);
    free(scratch[0].step_ns);
    free(scratch[1].step_ns);
    free(scratch);
    return st;
}
