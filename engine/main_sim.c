/* ditbench-engine-sim: one rank of a simulation. smpirun starts as many as the case has ranks.
 *
 *   smpirun -np N -platform FILE.xml -hostfile FILE ditbench-engine-sim --case FILE --out DIR
 *
 * The case is one of program denoise or attention and has a member "simulation" (results/schema/case.md). Everything
 * runs as in ditbench-engine, but operators take virtual time and compute nothing. The program writes record.json with
 * "evidence": "simulated"; its bytes and memory are those of the simulation's element type. A rank that needs more
 * memory than the accelerator has is an error, told after the record is written. On failure the program writes
 * error.json and ends with the exit code of ditbench-engine. Program bounds (engine/bound/bounds.h) is one process, -np 1.
 */
#include "engine/bound/bounds.h"
#include "engine/results/record.h"
#include "engine/sim/comm.h"
#include "engine/sim/denoise.h"
#include "engine/sim/layer.h"
#include "engine/sim/sim.h"
#include "version.h"

#include <errno.h>
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

static dit_status run_program(dit_sim *sim, const dit_json *doc, const char *program, const char *folder)
{
    DIT_TRY(dit_sim_read(sim, doc, dit_comm_size(dit_comm_world())));
    if (strcmp(program, "denoise") == 0) return dit_sim_denoise(sim, doc, folder);
    if (strcmp(program, "attention") == 0) return dit_sim_layer(sim, doc, folder);
    return dit_json_fail(doc, "/program", DIT_ERR_UNSUPPORTED, "\"%s\" is not simulated: denoise and attention are",
                         program);
}

/* The rank of a simulation. */
static dit_status join(const dit_json *doc, const char *program, const char *folder, int argc, char **argv)
{
    dit_sim_library library = {0};
    DIT_TRY(dit_sim_create(&dit_sim_simgrid, &library.sim));
    DIT_TRY(dit_comm_start_with(&dit_comm_simulated, &library, &argc, &argv));
    return run_program(library.sim, doc, program, folder);
}

static dit_status run(const arguments *args, int argc, char **argv)
{
    dit_json doc = {0};
    const char *program = "";
    dit_status st = dit_json_read_file(args->case_path, &doc);
    if (st == DIT_OK) st = dit_json_require_string(&doc, doc.root, "", "program", &program);
    if (st == DIT_OK && mkdir(args->out_folder, 0777) != 0 && errno != EEXIST)
        st = DIT_FAIL(DIT_ERR_IO, "cannot make %s: %s", args->out_folder, strerror(errno));
    if (st == DIT_OK)
        st = strcmp(program, "bounds") == 0 ? dit_bounds(&doc, args->out_folder)
                                            : join(&doc, program, args->out_folder, argc, argv);
    dit_json_release(&doc);
    return st;
}

int main(int argc, char **argv)
{
    arguments args;
    dit_status st = parse(argc, argv, &args);
    if (st == DIT_OK) st = run(&args, argc, argv);
    if (st != DIT_OK) {
        dit_error_print("ditbench-engine-sim");
        if (args.out_folder) dit_record_write_error(args.out_folder);
        dit_comm_abort(dit_status_exit_code(st));
    }
    dit_comm_finish();
    return dit_status_exit_code(st);
}
