#include "engine/runtime/runtime.h"

#include "base/legality.h"
#include "base/mesh.h"

#include <hwloc.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *dit_time_name(dit_time time)
{
    static const char *const names[DIT_TIME_COUNT] = {"prepare",   "embed",  "blocks", "cache", "head",
                                                      "scheduler", "stages", "gather", "decode"};
    return names[time];
}

/* Binds this process to its own cores before the pool starts, so that its threads inherit them. */
static bool bind_to_cores(hwloc_topology_t topology, int first, int count)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    for (int i = first; i < first + count; i++) {
        hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, (unsigned)i);
        if (core) hwloc_bitmap_or(set, set, core->cpuset);
    }
    bool bound = !hwloc_bitmap_iszero(set) && hwloc_set_cpubind(topology, set, HWLOC_CPUBIND_PROCESS) == 0;
    hwloc_bitmap_free(set);
    return bound;
}

/* The engine owns the threads: ranks x threads <= cores, or the record says `oversubscribed`. */
static dit_status place_threads(dit_runtime *rt, int threads)
{
    hwloc_topology_t topology;
    dit_comm_local(&rt->local_rank, &rt->local_size);
    if (hwloc_topology_init(&topology) != 0) return DIT_FAIL(DIT_ERR_ENVIRONMENT, "hwloc cannot read the topology");
    if (hwloc_topology_load(topology) != 0) {
        hwloc_topology_destroy(topology);
        return DIT_FAIL(DIT_ERR_ENVIRONMENT, "hwloc cannot read the topology");
    }
    rt->cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    if (rt->cores < 1) rt->cores = 1;
    rt->threads = threads > 0 ? threads : rt->cores / rt->local_size;
    if (rt->threads < 1) rt->threads = 1;
    rt->oversubscribed = rt->threads * rt->local_size > rt->cores;
    if (!rt->oversubscribed) rt->bound = bind_to_cores(topology, rt->local_rank * rt->threads, rt->threads);
    hwloc_topology_destroy(topology);
    return dit_pool_create(rt->threads, !rt->oversubscribed, &rt->pool);
}

dit_status dit_runtime_use_cores(dit_runtime *rt, bool all)
{
    int share = rt->local_size ? rt->cores / rt->local_size : 1, threads = all ? share : rt->threads;
    hwloc_topology_t topology;
    dit_pool *pool;
    if (rt->device || rt->guest || rt->oversubscribed || share <= rt->threads) return DIT_OK;
    if (hwloc_topology_init(&topology) != 0) return DIT_FAIL(DIT_ERR_ENVIRONMENT, "hwloc cannot read the topology");
    if (hwloc_topology_load(topology) == 0) bind_to_cores(topology, rt->local_rank * threads, threads);
    hwloc_topology_destroy(topology);
    DIT_TRY(dit_pool_create(threads, true, &pool));
    dit_pool_free(rt->pool);
    rt->pool = pool;
    return DIT_OK;
}

/* The ranks of a guest share its process. */
static dit_status one_thread(dit_runtime *rt)
{
    rt->threads = rt->cores = rt->local_size = 1;
    return dit_pool_create(1, false, &rt->pool);
}

/* Sets up one process that stands for one rank of the mesh. */
static dit_status counting_init(const dit_runtime_params *params, dit_runtime *rt)
{
    rt->kernels = dit_kernels_counting();
    rt->threads = rt->cores = rt->local_size = 1;
    dit_mesh_coordinates(&rt->parallel, params->rank, rt->coordinates);
    DIT_TRY(dit_pool_create(1, false, &rt->pool));
    DIT_TRY(dit_timing_create(NULL, &rt->timing));
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
        DIT_TRY(dit_comm_create_counting(&rt->parallel, params->rank, (dit_axis)axis, &rt->counters, &rt->comm[axis]));
    if (dit_parallel_degree(&rt->parallel, DIT_AXIS_FSDP) == 1) return DIT_OK;
    return dit_comm_create_counting(&rt->parallel, params->rank, DIT_AXIS_FSDP, &rt->counters,
                                    &rt->comm[DIT_AXIS_FSDP]);
}

/* Returns the folder that keeps a device's chosen algorithms between runs: DITBENCH_CACHE, else this user's cache
 * folder. NULL: they are not kept, which an empty DITBENCH_CACHE asks for. */
static const char *cache_folder(char *out, size_t size)
{
    const char *said = getenv("DITBENCH_CACHE"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (said)
        length = snprintf(out, size, "%s", said);
    else if (cache && *cache)
        length = snprintf(out, size, "%s/ditbench", cache);
    else if (home && *home)
        length = snprintf(out, size, "%s/.cache/ditbench", home);
    return length > 0 && (size_t)length < size ? out : NULL;
}

/* Opens a device. The ranks of a machine take its devices in turn. */
static dit_status open_device(const dit_runtime_params *params, dit_runtime *rt)
{
    int count = dit_device_count(params->backend);
    char folder[PATH_MAX];
    dit_device_params wanted = {
        .dtype = params->dtype, .fp8_linear = params->fp8_linear, .cache_folder = cache_folder(folder, sizeof folder)};
    memcpy(wanted.planned, params->planned, sizeof wanted.planned);
    if (count < 1) return dit_error_last()->status != DIT_OK ? dit_error_last()->status : DIT_ERR_ENVIRONMENT;
    wanted.index = rt->local_rank % count;
    rt->devices = count;
    DIT_TRY(dit_device_open(params->backend, &wanted, &rt->device));
    rt->kernels = dit_device_kernels(rt->device);
    rt->ledger.device = dit_address_map_device(dit_device_address_map(rt->device));
    dit_pool_set_device(rt->pool, rt->device);
    return DIT_OK;
}

static dit_status choose_kernels(const dit_runtime_params *params, dit_runtime *rt)
{
    if (rt->guest)
        rt->kernels = rt->guest->kernels;
    else if (dit_device_is_one(params->backend))
        return open_device(params, rt);
    else
        return dit_kernels_get(params->backend, &rt->kernels);
    return DIT_OK;
}

static void init_arenas(const dit_runtime_params *params, dit_runtime *rt)
{
    rt->ledger.counting_only = params->counting || params->guest != NULL;
    rt->ledger.on_device = params->backend && dit_device_is_one(params->backend);
    rt->ledger.dtype = rt->ledger.on_device ? params->dtype : DIT_DTYPE_FP32;
    dit_arena_init(&rt->run, &rt->ledger, DIT_MEMORY_WEIGHTS);
    dit_arena_init(&rt->image, &rt->ledger, DIT_MEMORY_STATE);
    dit_arena_init(&rt->step, &rt->ledger, DIT_MEMORY_ACTIVATIONS);
    dit_arena_init(&rt->comm_arena, &rt->ledger, DIT_MEMORY_COMM);
}

/* Sets up a rank of a run. */
static dit_status join(const dit_runtime_params *params, dit_runtime *rt)
{
    dit_mesh_coordinates(&rt->parallel, dit_comm_rank(dit_comm_world()), rt->coordinates);
    dit_position_set_mesh(&rt->parallel, rt->coordinates);
    DIT_TRY(rt->guest ? one_thread(rt) : place_threads(rt, params->threads));
    DIT_TRY(choose_kernels(params, rt));
    DIT_TRY(dit_timing_create(rt->device, &rt->timing));
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++) {
        if (axis == DIT_AXIS_FSDP && dit_parallel_degree(&rt->parallel, DIT_AXIS_FSDP) == 1) continue;
        DIT_TRY(dit_comm_create(&rt->parallel, (dit_axis)axis, &rt->counters, &rt->comm[axis]));
        DIT_TRY(dit_comm_set_device(rt->comm[axis], rt->device, rt->timing));
    }
    return DIT_OK;
}

/* Weights in shards come from the ranks that hold the other pieces. */
static void settle_shards(dit_runtime *rt)
{
    if (dit_parallel_degree(&rt->parallel, DIT_AXIS_FSDP) == 1) return;
    rt->offload =
        (dit_offload){.tier = DIT_OFFLOAD_PEERS, .policy = DIT_RESIDENCY_PREFETCH, .depth = rt->parallel.fsdp_prefetch};
}

dit_status dit_runtime_init(const dit_runtime_params *params, dit_runtime *rt)
{
    int degrees = dit_parallel_world_size(&params->parallel);
    int world_size = params->counting ? degrees : dit_comm_size(dit_comm_world());
    *rt = (dit_runtime){.parallel = params->parallel,
                        .facts = params->facts,
                        .guest = params->guest,
                        .no_graphs = params->no_graphs,
                        .offload = params->offload};
    init_arenas(params, rt);
    settle_shards(rt);
    if (degrees != world_size)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_PRODUCT,
                                       "the degrees multiply to %d, but the run has %d ranks", degrees, world_size),
                              "start as many ranks as data x cfg x pipefusion x ring x ulysses x tensor");
    DIT_TRY(dit_parallel_check(&params->parallel, &params->facts));
    dit_status st = params->counting ? counting_init(params, rt) : join(params, rt);
    if (st != DIT_OK) dit_runtime_release(rt);
    return st;
}

void dit_runtime_release(dit_runtime *rt)
{
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++) dit_comm_free(rt->comm[axis]);
    dit_arena_release(&rt->comm_arena);
    dit_arena_release(&rt->step);
    dit_arena_release(&rt->image);
    dit_arena_release(&rt->run);
    dit_timing_free(rt->timing);
    dit_device_close(rt->device);
    dit_pool_free(rt->pool);
    memset(rt, 0, sizeof *rt);
}

void dit_runtime_set_phase(dit_runtime *rt, dit_phase phase)
{
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) dit_comm_set_phase(rt->comm[axis], phase);
}

void dit_runtime_set_trace(dit_runtime *rt, dit_trace *trace)
{
    rt->trace = trace;
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++) dit_comm_set_trace(rt->comm[axis], trace);
}

void dit_runtime_set_step(dit_runtime *rt, int step)
{
    if (rt->trace) rt->trace->step = step;
    dit_position_set_step(step);
}

void dit_runtime_set_patch(dit_runtime *rt, int band)
{
    if (rt->trace) rt->trace->patch = band;
    dit_position_set_patch(band);
}

void dit_runtime_trace_end(dit_runtime *rt, dit_trace_category category, const char *name, int64_t began)
{
    if (!rt->trace) return;
    dit_timing_record(rt->timing, rt->trace,
                      &(dit_trace_event){
                          .name = name, .category = category, .begin_ns = began, .end_ns = dit_timing_now(rt->timing)});
}

void dit_runtime_end_phase(dit_runtime *rt, dit_time which, int64_t began)
{
    dit_timing_add(rt->timing, began, dit_timing_now(rt->timing), &rt->time_ns[which]);
    if (!rt->trace) return;
    dit_runtime_trace_end(rt, DIT_TRACE_PHASE, dit_time_name(which), began);
    rt->trace->phase = NULL;
}

dit_status dit_runtime_upload(dit_runtime *rt, const void *address, int64_t elements)
{
    return rt->device ? dit_device_upload(rt->device, address, elements) : DIT_OK;
}

dit_status dit_runtime_download(dit_runtime *rt, const void *address, int64_t elements)
{
    return rt->device ? dit_device_download(rt->device, address, elements) : DIT_OK;
}

void dit_runtime_copy(dit_runtime *rt, const float *x, int64_t elements, float *y)
{
    if (rt->device)
        rt->kernels->copy(rt->pool, &(dit_copy_args){.n0 = 1, .n1 = 1, .n2 = 1, .inner = elements, .src = x, .dst = y});
    else
        memcpy(y, x, (size_t)dit_runtime_values(rt, elements) * sizeof *y);
}

void dit_runtime_add(dit_runtime *rt, const float *a, const float *b, int64_t elements, float *y)
{
    dit_combine_args args = {.elements = elements, .count = 2, .x = {a, b}, .a = {1.0f, 1.0f}, .y = y};
    if (!rt->ledger.counting_only) rt->kernels->combine(rt->pool, &args);
}

dit_status dit_runtime_synchronize(dit_runtime *rt)
{
    return dit_timing_synchronize(rt->timing);
}

void dit_flops_add(dit_flops *sum, const dit_flops *part, double sign)
{
    sum->linear += sign * part->linear;
    sum->attention += sign * part->attention;
    sum->convolution += sign * part->convolution;
    sum->other += sign * part->other;
    for (int op = 0; op < DIT_OPERATOR_COUNT; op++) sum->calls[op] += (int64_t)sign * part->calls[op];
}

void dit_runtime_reset_account(dit_runtime *rt)
{
    memset(&rt->counters, 0, sizeof rt->counters);
    memset(rt->time_ns, 0, sizeof rt->time_ns);
    rt->flops = (dit_flops){0};
    memcpy(rt->ledger.peak, rt->ledger.used, sizeof rt->ledger.peak);
    rt->ledger.total_peak = rt->ledger.total_used;
}

#define OPS(ID, name, args_type, cpu, cases, cost, account, traced_as, operands)                                       \
    void ops_##name(dit_runtime *rt, const args_type *args)                                                            \
    {                                                                                                                  \
        int64_t began = dit_runtime_trace_begin(rt);                                                                   \
        rt->flops.account += dit_##name##_work(args).flops;                                                            \
        rt->flops.calls[DIT_OPERATOR_##ID]++;                                                                          \
        rt->kernels->name(rt->pool, args);                                                                             \
        dit_runtime_trace_end(rt, DIT_TRACE_COMPUTE, traced_as, began);                                                \
    }
DIT_OPERATOR_LIST(OPS)
