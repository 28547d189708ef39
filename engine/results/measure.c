#include "engine/results/measure.h"

#include "base/hash.h"
#include "engine/results/warmup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

dit_status dit_measurement_begin(const dit_case *kase, const dit_runtime *rt, int steps, dit_measurement *m)
{
    *m = (dit_measurement){.iterations = kase->iterations, .steps = steps};
    m->iteration = calloc((size_t)m->iterations, sizeof *m->iteration);
    if (steps) m->step_ns = calloc((size_t)m->iterations * (size_t)steps, sizeof *m->step_ns);
    if (!m->iteration || (steps && !m->step_ns)) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for samples");
    DIT_TRY(dit_warmup_init(m, kase));
    m->head.rank = dit_comm_rank(dit_comm_world());
    dit_measurement_name_host(m);
    m->head.bound = rt->bound;
    memcpy(m->head.coordinates, rt->coordinates, sizeof m->head.coordinates);
    return DIT_OK;
}

dit_status dit_measurement_init(const dit_pipeline *p, dit_measurement *m)
{
    DIT_TRY(dit_measurement_begin(&p->kase, &p->rt, p->kase.steps, m));
    m->head.setup_ns = p->setup_ns, m->head.weights_ns = p->weights_ns;
    m->head.load_peak = p->load_peak;
    dit_weight_stream_volume(p->model->params.stream, m->head.rank, &m->head.beside);
    return DIT_OK;
}

void dit_measurement_release(dit_measurement *m)
{
    free(m->iteration);
    free(m->step_ns);
    free(m->warmup_ns);
    cJSON_Delete(m->device_before);
    cJSON_Delete(m->device_after);
    *m = (dit_measurement){0};
}

/* Resident memory now; 0 where the kernel does not tell. */
static int64_t resident_bytes(void)
{
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%*d %lld", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

void dit_iteration_take(dit_iteration *it, const dit_runtime *rt)
{
    memcpy(it->time_ns, rt->time_ns, sizeof it->time_ns);
    it->counters = rt->counters;
    it->flops = rt->flops;
}

void dit_measurement_end(dit_measurement *m, const dit_runtime *rt, int64_t calls)
{
    struct rusage usage;
    m->head.loop_allocations = rt->ledger.calls - calls;
    memcpy(m->head.peak, rt->ledger.peak, sizeof m->head.peak);
    m->head.total_peak = rt->ledger.total_peak;
    if (getrusage(RUSAGE_SELF, &usage) == 0) m->head.rss_bytes = (int64_t)usage.ru_maxrss * 1024;
}

static dit_status run_once(void *pipeline, int64_t *latency_ns)
{
    return dit_pipeline_run(pipeline, NULL, latency_ns);
}

static dit_status run_iterations(dit_measurement *m, dit_pipeline *p)
{
    int64_t calls = p->rt.ledger.calls;
    for (int i = 0; i < m->iterations; i++) {
        dit_iteration *it = &m->iteration[i];
        DIT_TRY(dit_pipeline_run(p, m->step_ns + (int64_t)i * m->steps, &it->latency_ns));
        dit_iteration_take(it, &p->rt);
        DIT_TRY(dit_weight_stream_account(p->model->params.stream, &it->stream));
        it->blocks = dit_block_times_of(p->sampler.block_ns, p->sampler.block_count);
        it->rss_bytes = resident_bytes();
        DIT_TRY(dit_device_facts_update(&p->rt, &m->device_after, &m->head.device));
        if (i + 1 < m->iterations) dit_runtime_reset_account(&p->rt);
    }
    dit_measurement_end(m, &p->rt, calls);
    return DIT_OK;
}

static dit_status run_metered(dit_measurement *m, dit_pipeline *p, dit_energy_meter *meter)
{
    dit_energy_rest(meter);
    dit_stream_account warm;
    DIT_TRY(dit_warmup_run(m, run_once, p));
    DIT_TRY(dit_weight_stream_account(p->model->params.stream, &warm));
    dit_runtime_reset_account(&p->rt);
    DIT_TRY(dit_device_facts_begin(&p->rt, &m->device_before));
    DIT_TRY(dit_energy_begin(meter));
    dit_status st = run_iterations(m, p);
    dit_energy_end(meter, &m->head.energy);
    return st;
}

dit_status dit_measurement_take(dit_measurement *m, dit_pipeline *p)
{
    dit_energy_meter *meter;
    DIT_TRY(dit_energy_open(&p->rt, &meter));
    dit_status st = run_metered(m, p, meter);
    dit_energy_close(meter);
    return st;
}

void dit_latents_digest(const dit_pipeline *p, char out[48], int64_t *elements)
{
    const dit_facts *facts = &p->rt.facts;
    int64_t count = facts->num_images * dit_facts_latent_tokens(facts) * p->sampler.channels;
    char hash[DIT_HASH_HEX];
    dit_hash(p->sampler.full, (size_t)count * sizeof(float), hash);
    snprintf(out, 48, "xxh3:%s", hash);
    if (elements) *elements = count;
}
