#include "engine/results/cache_record.h"

#include "engine/sampling/executor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_decisions(dit_json_writer *w, const dit_cache_log *log, cJSON *out)
{
    char digits[DIT_CACHE_MAX_STEPS + 1];
    for (int step = 0; step < log->steps; step++) digits[step] = log->reasons[step] == DIT_CACHE_HIT ? '0' : '1';
    digits[log->steps] = 0;
    dit_json_put_string(w, out, "decisions", digits);
    dit_json_put_string(w, out, "reasons", log->reasons);
    dit_json_put_int(w, out, "computed", log->steps - log->hits);
    dit_json_put_int(w, out, "hits", log->hits);
    dit_json_put_number(w, out, "hit_share", log->steps ? (double)log->hits / log->steps : 0);
    dit_json_put_int(w, out, "tests", log->tests);
}

/* Of each kind of modules that the policy reuses, a digit for each step. */
static void put_modules(dit_json_writer *w, const dit_cache_run *run, const dit_cache_log *log, cJSON *out)
{
    char digits[DIT_CACHE_MAX_STEPS + 1];
    dit_module_set kinds = dit_cache_own_modules(run);
    if (!kinds) return;
    cJSON *modules = dit_json_put_object(w, out, "modules");
    digits[log->steps] = 0;
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++) {
        if (!dit_module_in(kinds, (dit_module)kind)) continue;
        for (int step = 0; step < log->steps; step++)
            digits[step] = dit_module_in(log->reused[step], (dit_module)kind) ? '0' : '1';
        dit_json_put_string(w, modules, dit_module_names()[kind], digits);
    }
}

/* Of a policy that leaves out a guidance branch, how many branches each step ran. */
static void put_branches(dit_json_writer *w, const dit_cache *cache, int steps, cJSON *out)
{
    char digits[DIT_CACHE_MAX_STEPS + 1];
    if (!dit_cache_has_lone_steps(cache)) return;
    for (int step = 0; step < steps; step++) digits[step] = dit_cache_is_lone(cache, step) ? '1' : '2';
    digits[steps] = 0;
    dit_json_put_string(w, out, "branches", digits);
}

static int count_pruned(const dit_cache_log *log)
{
    int count = 0;
    for (int step = 0; step < log->steps; step++)
        for (int64_t block = 0; block < DIT_CACHE_MAX_BLOCKS; block++) count += dit_cache_log_pruned(log, step, block);
    return count;
}

void dit_cache_record_put_blocks(dit_json_writer *w, const dit_cache_log *log, cJSON *out)
{
    int64_t blocks = DIT_CACHE_MAX_BLOCKS, hits[DIT_CACHE_MAX_BLOCKS] = {0};
    for (int step = 0; step < log->steps; step++)
        for (int64_t block = 0; block < DIT_CACHE_MAX_BLOCKS; block++)
            hits[block] += dit_cache_log_pruned(log, step, block);
    while (blocks > 0 && !hits[blocks - 1]) blocks--;
    if (!blocks) return;
    cJSON *list = dit_json_put_array(w, out, "cache_blocks");
    for (int64_t block = 0; block < blocks; block++) dit_json_put_int(w, list, NULL, hits[block]);
}

/* Where each block is decided for, a digit for each, by step: as "replay" takes them. */
static dit_status put_blocks(dit_json_writer *w, const dit_cache_log *log, int64_t layers, cJSON *out)
{
    char *text = malloc((size_t)(log->steps * (layers + 1) + 1)), *next = text;
    if (!text) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the decisions of blocks");
    for (int step = 0; step < log->steps; step++) {
        if (step) *next++ = ',';
        for (int64_t block = 0; block < layers; block++) *next++ = dit_cache_log_pruned(log, step, block) ? '0' : '1';
    }
    *next = 0;
    dit_json_put_string(w, out, "blocks", text);
    dit_json_put_int(w, out, "pruned", count_pruned(log));
    dit_cache_record_put_blocks(w, log, out);
    free(text);
    return DIT_OK;
}

static void put_values(dit_json_writer *w, const dit_cache *cache, const dit_cache_log *log, cJSON *out)
{
    double margin = dit_cache_margin(cache, log);
    int tested_hits = 0;
    if (!log->tests) return;
    cJSON *values = dit_json_put_array(w, out, "values");
    for (int step = 0; step < log->steps; step++) {
        if (log->values[step] == DIT_CACHE_UNTESTED) continue;
        tested_hits += log->reasons[step] == DIT_CACHE_HIT;
        dit_json_put_number(w, values, NULL, log->values[step]);
    }
    if (dit_cache_is_of_blocks(cache)) tested_hits = count_pruned(log);
    if (isfinite(margin)) dit_json_put_number(w, out, "smallest_margin", margin);
    dit_json_put_bool(w, out, "inert", tested_hits == 0 || tested_hits == log->tests);
}

void dit_cache_record_put(dit_json_writer *w, const dit_cache_run *run, int64_t state_bytes, cJSON *record)
{
    const dit_cache *cache = dit_cache_settings(run);
    const dit_cache_log *log = dit_cache_log_of(run);
    bool measured = !dit_cache_is_known(cache);
    char label[128];
    cJSON *out = dit_json_put_object(w, record, "cache");
    dit_cache_label(cache, label, sizeof label);
    dit_json_put_string(w, out, "policy", dit_cache_name(cache->policy));
    dit_json_put_string(w, out, "label", label);
    dit_json_put_string(w, out, "kind", measured ? "measured" : "schedule");
    dit_json_put_bool(w, out, "replayed", cache->replay[0] != 0);
    cJSON *settings = dit_json_put_object(w, out, "settings");
    if (settings) dit_cache_to_json(w, cache, settings);
    put_decisions(w, log, out);
    put_modules(w, run, log, out);
    put_branches(w, cache, log->steps, out);
    if (dit_cache_is_of_blocks(cache)) dit_json_put_status(w, put_blocks(w, log, dit_cache_layers(run), out));
    put_values(w, cache, log, out);
    dit_json_put_int(w, out, "largest_age", log->oldest);
    if (dit_cache_kv_age(run)) dit_json_put_int(w, out, "largest_kv_age", dit_cache_kv_age(run));
    dit_json_put_int(w, out, "state_bytes", state_bytes);
    dit_json_put_int(w, out, "agreement_bytes",
                     dit_cache_sums(cache) * (int64_t)sizeof(double) * (dit_cache_deciders(run) - 1) * log->tests);
}

/* ---- beside latents ---------------------------------------------------------------------------------------------- */

/* Fills [groups, steps, 1 + layers]: 1 where a step was computed, and each block of it. */
static void put_computed(const dit_sampler *oracle, int64_t width, float *out)
{
    int steps = oracle->scheduler->steps;
    for (int64_t group = 0; group < oracle->emulated_groups; group++) {
        const dit_cache_log *log = dit_executor_cache_log(oracle, (int)group);
        for (int step = 0; step < steps; step++) {
            *out++ = log->reasons[step] == DIT_CACHE_HIT ? 0.0f : 1.0f;
            for (int64_t block = 0; block < width - 1; block++)
                *out++ = dit_cache_log_pruned(log, step, block) ? 0.0f : 1.0f;
        }
    }
}

dit_status dit_cache_record_write(const char *path, const dit_tensor_out *latents, const dit_sampler *oracle)
{
    int64_t groups = oracle->emulated_groups, steps = oracle->scheduler->steps;
    int64_t width = 1 + (dit_cache_is_of_blocks(oracle->emulates_cache) ? oracle->rt->facts.layers : 0);
    float *computed = malloc((size_t)(groups * steps * width) * sizeof *computed);
    if (!computed) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for decisions");
    put_computed(oracle, width, computed);
    const dit_tensor_out all[] = {
        *latents, {.name = "cache_computed", .rank = 3, .shape = {groups, steps, width}, .data = computed}};
    dit_status st = dit_safetensors_write(path, all, 2);
    free(computed);
    return st;
}

/* Reads the decisions of one group, [steps, *width], which the caller frees; a schedule's oracle has one for all. */
static dit_status read_computed(const char *path, int group, int steps, int64_t *width, float **out)
{
    dit_safetensors *file;
    dit_tensor_view view;
    *out = NULL;
    DIT_TRY(dit_safetensors_open(path, &file));
    dit_status st = DIT_OK;
    bool there = dit_safetensors_find(file, "cache_computed", &view) && view.rank == 3 && view.shape[1] == steps;
    if (!there || (view.shape[0] != 1 && view.shape[0] <= group) || view.shape[2] < 1)
        st = dit_error_hint(
            DIT_FAIL(DIT_ERR_SHAPE, "%s has no tensor cache_computed of %d steps for group %d", path, steps, group),
            "it is no oracle of this cached run");
    if (st == DIT_OK) {
        *width = view.shape[2];
        *out = malloc((size_t)(steps * *width) * sizeof **out);
        if (!*out) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for decisions");
    }
    if (st == DIT_OK)
        st = dit_tensor_read(&view, view.shape[0] == 1 ? 0 : (int64_t)group * steps * *width, steps * *width, *out);
    dit_safetensors_close(file);
    return st;
}

/* True if the oracle computed the step, and each block of it, where the run did. */
static bool decided_alike(const dit_cache_log *log, int step, const float *computed, int64_t width)
{
    bool alike = (log->reasons[step] != DIT_CACHE_HIT) == (computed[0] != 0);
    for (int64_t block = 0; block < width - 1; block++)
        alike = alike && dit_cache_log_pruned(log, step, block) == (computed[1 + block] == 0);
    return alike;
}

dit_status dit_cache_record_compare(const char *path, const dit_cache *cache, const dit_cache_log *log, bool *alike,
                                    char reason[256])
{
    float *computed;
    int64_t width;
    int step = 0;
    *alike = true;
    dit_status st = read_computed(path, log->group, log->steps, &width, &computed);
    while (st == DIT_OK && step < log->steps && decided_alike(log, step, computed + step * width, width)) step++;
    free(computed);
    if (st != DIT_OK || step == log->steps) return st;
    double value = log->values[step], margin = fabs(value - cache->threshold) / fabs(cache->threshold);
    *alike = false;
    if (value == DIT_CACHE_UNTESTED || !(margin < DIT_CACHE_MARGIN))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_MISMATCH, "step %d: the cache %s on %.9g (threshold %g), but its oracle does not", step,
                     log->reasons[step] == DIT_CACHE_HIT ? "reuses" : "computes", value, cache->threshold),
            "the decisions of engine/cache/ and of the oracle must be equal");
    snprintf(reason, 256, "step %d: the test was within %.1e of the threshold, and the oracle decided otherwise", step,
             margin);
    return DIT_OK;
}
