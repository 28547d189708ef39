/* ditbench-engine-sim: one rank of a simulation. Started by smpirun, as many times as the case has ranks.
 *
 *   smpirun -np N -platform FILE.xml -hostfile FILE ditbench-engine-sim --case FILE --out DIR
 *
 * The case is a denoise case with "simulation" (results/schema/README.md). Everything runs as in ditbench-engine, but
 * operators only take virtual time. Writes record.json with evidence "simulated".
 */
#include "base/log.h"
#include "engine/measure.h"
#include "engine/sim/sim.h"
#include "version.h"

#include <errno.h>
#include <stdio.h>
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

static dit_status simulate(const dit_json *doc, const char *folder, dit_pipeline *p, dit_measurement *m)
{
    dit_validation validation = {.reason = "simulated: nothing was computed"};
    DIT_TRY(dit_pipeline_create_simulated(doc, dit_sim_kernels(), p));
    DIT_TRY(dit_measurement_init(p, 0, 1, m));
    DIT_TRY(dit_measurement_take(m, p));
    return dit_record_write(&(dit_record_params){.program = "denoise",
                                                 .kase = &p->kase,
                                                 .rt = &p->rt,
                                                 .attention = dit_attention_name(p->model->attention[0]),
                                                 .own = m,
                                                 .validation = &validation,
                                                 .out_folder = folder});
}

static dit_status run(const arguments *args)
{
    dit_json doc = {0};
    dit_pipeline pipeline = {0};
    dit_measurement measured = {0};
    dit_status st = DIT_OK;
    DIT_TRY_GOTO(st, dit_json_read_file(args->case_path, &doc), done);
    if (mkdir(args->out_folder, 0777) != 0 && errno != EEXIST)
        DIT_TRY_GOTO(st, DIT_FAIL(DIT_ERR_IO, "cannot make %s: %s", args->out_folder, strerror(errno)), done);
    DIT_TRY_GOTO(st, dit_sim_read(&doc), done);
    DIT_TRY_GOTO(st, simulate(&doc, args->out_folder, &pipeline, &measured), done);
done:
    dit_pipeline_release(&pipeline);
    dit_measurement_release(&measured);
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
