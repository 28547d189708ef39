/* ditbench-engine-sim: one rank of a simulation. Started by smpirun, as many times as the case has ranks.
 *
 *   smpirun -np N -platform FILE.xml -hostfile FILE ditbench-engine-sim --case FILE --out DIR
 *
 * The case is a denoise case with "simulation" (results/schema/README.md). Everything runs as in ditbench-engine, but
 * operators only take virtual time. Writes simulated.json: {"schema": "ditbench.simulated/1", "evidence": "simulated",
 * "latency_s", "num_inference_steps", "simulated_steps", "sent_bytes", "communication_match", "memory"}; bytes and
 * memory in fp32, of the rank that has most.
 */
#include "engine/pipeline.h"
#include "engine/sim/sim.h"
#include "version.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    const char *case_path, *out_folder;
} arguments;

static dit_status parse(int argc, char **argv, arguments *out)
{
    *out = (arguments){0};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--case") == 0)
            out->case_path = argv[i + 1];
        else if (strcmp(argv[i], "--out") == 0)
            out->out_folder = argv[i + 1];
        else
            return DIT_FAIL(DIT_ERR_USAGE, "unknown option %s", argv[i]);
    }
    if (out->case_path && out->out_folder && argc % 2) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--case FILE and --out FOLDER are required"),
                          "ditbench-engine-sim " DITBENCH_VERSION " is started by smpirun");
}

/* What one simulation of `steps` steps gave, the greatest over ranks. */
typedef struct {
    double seconds;
    bool match;
    int64_t memory[DIT_MEMORY_CLASS_COUNT], total_memory, sent_bytes;
} outcome;

static int64_t sent_bytes(const dit_comm_counters *counters)
{
    int64_t total = 0;
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++)
        for (int collective = 0; collective < DIT_COLLECTIVE_COUNT; collective++)
            for (int phase = 0; phase < DIT_PHASE_COUNT; phase++) total += counters->at[axis][collective][phase].bytes;
    return total;
}

/* Of all ranks, on every rank: the slowest and the largest. */
static dit_status gather_outcome(outcome *own)
{
    char *all;
    int size = dit_comm_size(dit_comm_world());
    int64_t *offsets = calloc((size_t)size + 1, sizeof *offsets);
    if (!offsets) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d ranks", size);
    dit_status st = dit_comm_collect(dit_comm_world(), own, (int64_t)sizeof *own, &all, offsets);
    for (int rank = 0; rank < size && st == DIT_OK; rank++) {
        outcome other;
        memcpy(&other, all + offsets[rank], sizeof other);
        if (other.seconds > own->seconds) own->seconds = other.seconds;
        if (other.total_memory > own->total_memory) own->total_memory = other.total_memory;
        if (other.sent_bytes > own->sent_bytes) own->sent_bytes = other.sent_bytes;
        own->match = own->match && other.match;
        for (int i = 0; i < DIT_MEMORY_CLASS_COUNT; i++)
            if (other.memory[i] > own->memory[i]) own->memory[i] = other.memory[i];
    }
    if (st == DIT_OK) free(all);
    free(offsets);
    return st;
}

static bool matches(const dit_runtime *rt)
{
    dit_volume_table table;
    dit_volume_predict(&rt->parallel, &rt->facts, dit_comm_rank(dit_comm_world()), &table);
    return dit_volume_total_bytes(&table) == sent_bytes(&rt->counters);
}

static dit_status simulate(const dit_json *doc, int steps, outcome *out)
{
    dit_pipeline p = {0};
    dit_status st;
    int64_t elapsed_ns;
    cJSON *run = cJSON_GetObjectItemCaseSensitive(doc->root, "run");
    cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(run, "num_inference_steps"), steps);
    *out = (outcome){0};
    DIT_TRY_GOTO(st, dit_pipeline_create_simulated(doc, dit_sim_kernels(), &p), done);
    p.now_s = dit_sim_now;
    DIT_TRY_GOTO(st, dit_pipeline_run(&p, NULL, &elapsed_ns), done);
    *out = (outcome){.seconds = p.elapsed_s,
                     .match = matches(&p.rt),
                     .total_memory = p.rt.ledger.total_peak,
                     .sent_bytes = sent_bytes(&p.rt.counters)};
    memcpy(out->memory, p.rt.ledger.peak, sizeof out->memory);
    st = gather_outcome(out);
done:
    dit_pipeline_release(&p);
    return st;
}

/* Steps repeat: three simulations of k, k + 1 and k + 2 steps whose differences agree tell of any number of steps; k
 * grows until they do. */
static dit_status simulate_all(const dit_json *doc, int steps, int warmup_steps, bool replay, outcome *out,
                               int *simulated)
{
    outcome runs[3];
    for (int k = warmup_steps + 2; k + 2 < steps && !replay; k *= 2) {
        for (int i = 0; i < 3; i++) DIT_TRY(simulate(doc, k + i, &runs[i]));
        double before = runs[1].seconds - runs[0].seconds, after = runs[2].seconds - runs[1].seconds;
        if (fabs(after - before) > 1e-9 * runs[2].seconds) continue;
        *out = runs[2];
        out->seconds += after * (steps - k - 2);
        out->sent_bytes += (runs[2].sent_bytes - runs[1].sent_bytes) * (steps - k - 2);
        out->match = runs[0].match && runs[1].match && runs[2].match;
        *simulated = k + 2;
        return DIT_OK;
    }
    *simulated = steps;
    return simulate(doc, steps, out);
}

/* simulated.json */
static dit_status write_outcome(const outcome *o, int steps, int simulated, const char *folder)
{
    char path[4096];
    cJSON *root = cJSON_CreateObject(), *memory = root ? cJSON_AddObjectToObject(root, "memory") : NULL;
    dit_status st = memory ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the outcome");
    snprintf(path, sizeof path, "%s/simulated.json", folder);
    DIT_TRY_GOTO(st, dit_json_add_string(root, "schema", "ditbench.simulated/1"), done);
    DIT_TRY_GOTO(st, dit_json_add_string(root, "evidence", "simulated"), done);
    DIT_TRY_GOTO(st, dit_json_add_number(root, "latency_s", o->seconds), done);
    DIT_TRY_GOTO(st, dit_json_add_int(root, "num_inference_steps", steps), done);
    DIT_TRY_GOTO(st, dit_json_add_int(root, "simulated_steps", simulated), done);
    DIT_TRY_GOTO(st, dit_json_add_int(root, "sent_bytes", o->sent_bytes), done);
    cJSON_AddBoolToObject(root, "communication_match", o->match);
    for (int i = 0; i < DIT_MEMORY_CLASS_COUNT; i++)
        DIT_TRY_GOTO(st, dit_json_add_int(memory, dit_memory_class_name((dit_memory_class)i), o->memory[i]), done);
    DIT_TRY_GOTO(st, dit_json_add_int(memory, "total", o->total_memory), done);
    st = dit_json_write_file(root, path, false);
done:
    cJSON_Delete(root);
    return st;
}

static dit_status simulate_case(const dit_json *doc, const char *folder)
{
    const cJSON *parallel, *run;
    int64_t steps, warmup_steps = 0;
    int simulated;
    bool replay = false;
    outcome result;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "run", &run));
    DIT_TRY(dit_json_require_int(doc, run, "/run", "num_inference_steps", 1, 10000, &steps));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "parallel", &parallel));
    DIT_TRY(dit_json_optional_int(doc, parallel, "/parallel", "warmup_steps", 0, 100000, &warmup_steps));
    DIT_TRY(dit_sim_read(doc));
    DIT_TRY(dit_json_optional_bool(doc, cJSON_GetObjectItemCaseSensitive(doc->root, "simulation"), "/simulation",
                                   "replay", &replay));
    DIT_TRY(simulate_all(doc, (int)steps, (int)warmup_steps, replay, &result, &simulated));
    if (dit_comm_rank(dit_comm_world()) != 0) return DIT_OK;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return DIT_FAIL(DIT_ERR_IO, "cannot make %s: %s", folder, strerror(errno));
    return write_outcome(&result, (int)steps, simulated, folder);
}

static dit_status run(const arguments *args)
{
    dit_json doc = {0};
    dit_status st = dit_json_read_file(args->case_path, &doc);
    if (st == DIT_OK) st = simulate_case(&doc, args->out_folder);
    dit_json_release(&doc);
    return st;
}

int main(int argc, char **argv)
{
    arguments args;
    dit_status st = parse(argc, argv, &args);
    if (st == DIT_OK) st = dit_comm_start("simulated", &argc, &argv);
    if (st == DIT_OK) st = run(&args);
    if (st != DIT_OK) {
        dit_error_print("ditbench-engine-sim");
        dit_comm_abort(dit_status_exit_code(st));
    }
    dit_comm_finish();
    return dit_status_exit_code(st);
}
