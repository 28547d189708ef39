/* attention: measures one attention layer over sequence ranks, the layer of the USP tables.
 *
 * An iteration is one forward of the layer, timed from a barrier; its value is the maximum over ranks. Inputs depend on
 * the seed and on the token's place in the whole sequence, so every mesh and layout must give equal results. The record
 * has the distance to the one-rank reference and, for small layers, to the plain operator.
 */
#include "base/hash.h"
#include "engine/attention/balance.h"
#include "engine/attention/gemm_rate.h"
#include "engine/case/case.h"
#include "engine/case/platform.h"
#include "engine/programs/program.h"
#include "engine/results/measure.h"
#include "engine/results/warmup.h"
#include "engine/results/reference.h"
#include "base/safetensors.h"
#include "base/stats.h"
#include "engine/results/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED_BITS = 53 };

typedef struct {
    const dit_json *doc;
    dit_case kase; /* id, seed, parallel, measure */
    dit_layer layer;
    dit_runtime rt;
    dit_layer_run run;
    dit_measurement measured;
    dit_gemm_rate gemm;
    float *whole; /* the collected result */
} layer_program;

/* ---- the case ---------------------------------------------------------------------------------------------------- */

static dit_status read_case(layer_program *p, dit_case_platform *platform)
{
    static const char *const keys[] = {"schema",    "program",  "layer",   "run", "parallel",
                                       "attention", "platform", "measure", NULL};
    static const char *const run_keys[] = {"seed", NULL};
    const dit_json *doc = p->doc;
    const cJSON *run;
    int64_t seed;
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_case_hash(doc, p->kase.case_id));
    DIT_TRY(dit_layer_from_case(doc, doc->root, "", &p->layer));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "run", &run));
    DIT_TRY(dit_json_only_keys(doc, run, "/run", run_keys));
    DIT_TRY(dit_json_require_int(doc, run, "/run", "seed", 0, INT64_C(1) << SEED_BITS, &seed));
    p->kase.seed = (uint64_t)seed;
    DIT_TRY(dit_case_read_measure(doc, &p->kase));
    DIT_TRY(dit_case_read_platform(doc, platform));
    if (p->kase.gemm && dit_parallel_world_size(&p->kase.parallel) > 1)
        return dit_json_fail(doc, "/measure/gemm", DIT_ERR_UNSUPPORTED,
                             "a layer on several ranks is no share of one device's rate at a product");
    return dit_layer_check(&p->kase.parallel, &p->layer);
}

static dit_status set_up(layer_program *p)
{
    int64_t began = dit_clock_ns();
    dit_case_platform platform = {.parallel = &p->kase.parallel};
    DIT_TRY(read_case(p, &platform));
    dit_runtime_params params = {
        .backend = platform.backend, .threads = platform.threads, .parallel = p->kase.parallel};
    params.dtype = p->kase.dtype = platform.dtype;
    p->kase.backend = platform.backend;
    p->layer.element_bytes = dit_dtype_bytes(platform.dtype);
    int sequence = dit_parallel_sequence_degree(&p->kase.parallel);
    params.facts = (dit_facts){.image_tokens = sequence, .heads = sequence}; /* legality is base/layer.h's */
    params.facts.num_images = params.facts.guidance_branches = params.facts.steps = 1;
    DIT_TRY(dit_runtime_init(&params, &p->rt));
    DIT_TRY(dit_layer_run_create(&p->rt, &p->layer, platform.attention, p->kase.seed, &p->run));
    DIT_TRY(dit_measurement_begin(&p->kase, &p->rt, 1, &p->measured));
    p->measured.head.setup_ns = dit_clock_ns() - began;
    p->measured.head.load_peak = p->rt.ledger.total_peak;
    return DIT_OK;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

static dit_status forward(layer_program *p, int64_t *elapsed_ns)
{
    dit_status st;
    DIT_TRY(dit_comm_barrier(dit_comm_world()));
    int64_t began = dit_clock_ns();
    DIT_TIMED(&p->rt, DIT_TIME_BLOCKS, st = dit_layer_run_forward(&p->run));
    if (st == DIT_OK) st = dit_runtime_synchronize(&p->rt);
    *elapsed_ns = dit_clock_ns() - began;
    return st;
}

static dit_status run_traced(void *program, int64_t *latency_ns)
{
    return forward(program, latency_ns);
}

static dit_status measure(layer_program *p, dit_layer_share *share)
{
    dit_measurement *m = &p->measured;
    if (p->kase.gemm) DIT_TRY(dit_gemm_rate_begin(&p->rt, &p->gemm));
    DIT_TRY(dit_warmup_run(m, run_traced, p));
    if (p->kase.gemm) DIT_TRY(dit_gemm_rate_look(&p->gemm));
    int64_t calls = p->rt.ledger.calls;
    for (int i = 0; i < m->iterations; i++) {
        dit_iteration *it = &m->iteration[i];
        dit_runtime_reset_account(&p->rt);
        DIT_TRY(forward(p, &it->latency_ns));
        m->step_ns[i] = it->latency_ns;
        dit_iteration_take(it, &p->rt);
        share->latency_ns += it->latency_ns;
        share->exposed_ns += dit_comm_exposed_ns(&it->counters);
    }
    if (p->kase.gemm) DIT_TRY(dit_gemm_rate_look(&p->gemm));
    share->flops = p->rt.flops.attention;
    dit_measurement_end(m, &p->rt, calls);
    return dit_layer_run_check(&p->run, &share->check);
}

/* ---- validating -------------------------------------------------------------------------------------------------- */

static dit_status validate(layer_program *p, const dit_program_args *args, dit_validation *out)
{
    const dit_layer *layer = &p->layer;
    int64_t elements = layer->batch * layer->tokens * layer->heads * layer->head_dim;
    char hash[DIT_HASH_HEX], path[4096];
    dit_tensor_out tensor = {
        .name = "latents_final", .rank = 4, .shape = {layer->batch, layer->tokens, layer->heads, layer->head_dim}};
    *out = (dit_validation){.tolerance = dit_method_tolerance(p->kase.dtype, 1)};
    DIT_TRY(dit_layer_run_collect(&p->run, &p->whole));
    dit_hash(p->whole, (size_t)elements * sizeof *p->whole, hash);
    snprintf(out->digest, sizeof out->digest, "xxh3:%s", hash);
    tensor.data = p->whole;
    snprintf(path, sizeof path, "%s/latents.safetensors", args->out_folder);
    if (p->measured.head.rank == 0) DIT_TRY(dit_safetensors_write(path, &tensor, 1));
    if (args->reference) {
        out->has_reference = true;
        return dit_reference_distance(args->reference, "latents_final", p->whole, elements, &out->rel_l2);
    }
    snprintf(out->reason, sizeof out->reason, "%s",
             dit_comm_size(dit_comm_world()) == 1 ? "this is the one-rank reference"
                                                  : "no one-rank reference was given");
    return DIT_OK;
}

static dit_status judge(const dit_validation *validation, double operator_rel_l2)
{
    if (operator_rel_l2 > validation->tolerance)
        return DIT_FAIL(DIT_ERR_MISMATCH,
                        "the layer differs from the plain operator by relative L2 %.3g, %.3g is allowed",
                        operator_rel_l2, validation->tolerance);
    if (validation->has_reference && validation->rel_l2 > validation->tolerance)
        return DIT_FAIL(DIT_ERR_MISMATCH,
                        "the layer differs from the one-rank reference by relative L2 %.3g, %.3g is "
                        "allowed",
                        validation->rel_l2, validation->tolerance);
    return DIT_OK;
}

/* The median time of an iteration. */
static double median_ns(const dit_measurement *m)
{
    double ns[DIT_CASE_MAX_ITERATIONS];
    for (int i = 0; i < m->iterations; i++) ns[i] = (double)m->iteration[i].latency_ns;
    return dit_stats_median(ns, m->iterations);
}

static dit_status write_record(layer_program *p, const dit_program_args *args, const dit_layer_share *share,
                               const dit_validation *validation, double *operator_rel_l2)
{
    dit_volume_table *predicted = NULL;
    cJSON *more = cJSON_CreateObject();
    dit_status st = more ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    if (st == DIT_OK) st = dit_layer_run_volumes(&p->run, &predicted);
    if (st == DIT_OK) st = dit_layer_report(&p->run, share, validation->tolerance, more, operator_rel_l2);
    if (st == DIT_OK && p->kase.gemm) st = dit_gemm_rate_report(&p->gemm, share->flops, median_ns(&p->measured), more);
    if (st == DIT_OK && p->kase.trace)
        st = dit_timeline_take(&(dit_timeline_params){.rt = &p->rt,
                                                      .case_id = p->kase.case_id,
                                                      .out_folder = args->out_folder,
                                                      .run = run_traced,
                                                      .context = p},
                               more);
    if (st == DIT_OK)
        st = dit_record_write(&(dit_record_params){.program = "attention",
                                                   .kase = &p->kase,
                                                   .rt = &p->rt,
                                                   .attention = dit_attention_name(p->run.attention),
                                                   .own = &p->measured,
                                                   .validation = validation,
                                                   .predicted = predicted,
                                                   .predicted_each = true,
                                                   .more = more,
                                                   .out_folder = args->out_folder});
    cJSON_Delete(more);
    free(predicted);
    return st;
}

static dit_status run_all(layer_program *p, const dit_program_args *args)
{
    dit_validation validation;
    dit_layer_share share = {0};
    double operator_rel_l2 = -1;
    DIT_TRY(set_up(p));
    DIT_TRY(measure(p, &share));
    DIT_TRY(validate(p, args, &validation));
    DIT_TRY(write_record(p, args, &share, &validation, &operator_rel_l2));
    return judge(&validation, operator_rel_l2);
}

static dit_status attention_run(const dit_program_args *args, bool *skipped)
{
    layer_program p = {.doc = args->doc};
    (void)skipped;
    dit_status st = run_all(&p, args);
    free(p.whole);
    dit_gemm_rate_release(&p.gemm);
    dit_measurement_release(&p.measured);
    dit_layer_run_release(&p.run);
    dit_runtime_release(&p.rt);
    return st;
}

const dit_program dit_program_attention = {
    .name = "attention",
    .help = "one attention layer over sequence ranks: latency, communication, balance, distance to one rank",
    .run = attention_run,
};
