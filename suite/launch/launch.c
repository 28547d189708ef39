#include "suite/launch/launch.h"

#include "base/buffer.h"
#include "base/json_writer.h"
#include "base/words.h"
#include "suite/launch/adapter.h"
#include "suite/launch/scratch.h"
#include "suite/launch/stuck_ranks.h"
#include "suite/paths.h"
#include "suite/text.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- launchers --------------------------------------------------------------------------------------------------- */

static dit_status optional_words(suite_command *out, const char *option, const char *file)
{
    const char *const words[] = {option, file, NULL};
    return file ? suite_command_words(out, words) : DIT_OK;
}

static dit_status engine_words(const suite_launch_plan *plan, suite_command *out)
{
    const char *const words[] = {plan->engine, "--case", plan->case_file, "--out", plan->out_dir, NULL};
    const char *const no_pictures[] = {"--no-pictures", NULL};
    DIT_TRY(suite_command_words(out, words));
    DIT_TRY(optional_words(out, "--reference", plan->reference));
    DIT_TRY(optional_words(out, "--oracle", plan->oracle));
    DIT_TRY(optional_words(out, "--converged", plan->converged));
    return plan->no_pictures ? suite_command_words(out, no_pictures) : DIT_OK;
}

static dit_status mpi_parameter(suite_command *out, const char *name, const char *value)
{
    const char *const words[] = {"--mca", name, value, NULL};
    return suite_command_words(out, words);
}

/* Everything on one machine over shared memory and loopback. Named parameters, so that a record's command line tells
 * all: ob1 over self and vader needs no network card and skips probing for one; the isolated launcher needs no ssh. */
static dit_status mpirun_parameters(const suite_launch_plan *plan, suite_command *out)
{
    bool crowded = plan->world_size * plan->threads_per_rank > plan->cores;
    DIT_TRY(mpi_parameter(out, "plm", "isolated"));
    DIT_TRY(mpi_parameter(out, "pml", "ob1"));
    DIT_TRY(mpi_parameter(out, "btl", plan->wire ? "self,tcp" : "self,vader"));
    DIT_TRY(mpi_parameter(out, "oob_tcp_if_include", "lo"));
    DIT_TRY(mpi_parameter(out, "btl_vader_single_copy_mechanism", plan->single_copy ? "cma" : "none"));
    DIT_TRY(mpi_parameter(out, "mpi_yield_when_idle", crowded ? "1" : "0"));
    /* A rank that failed has said why; waiting before its peers are killed costs two seconds a failing case. */
    DIT_TRY(mpi_parameter(out, "odls_base_sigkill_timeout", "0"));
    if (!plan->scratch) return DIT_OK;
    DIT_TRY(mpi_parameter(out, "orte_tmpdir_base", plan->scratch));
    return mpi_parameter(out, "btl_vader_backing_directory", plan->scratch);
}

/* Ranks on the two hosts of a wire have only TCP to each other. mpirun runs on the first host; the others find it over
 * the wire, too, which PMIx refuses unless it is told. */
static dit_status wire_parameters(suite_command *out)
{
    DIT_TRY(suite_command_env(out, "PMIX_MCA_ptl_base_remote_connections=1"));
    DIT_TRY(suite_command_env(out, "PMIX_MCA_ptl_base_if_include=" SUITE_WIRE_SUBNET));
    return mpi_parameter(out, "btl_tcp_if_include", SUITE_WIRE_INTERFACE);
}

static dit_status on_host(const char *host, suite_command *out)
{
    const char *const words[] = {"ip", "netns", "exec", host, NULL};
    return suite_command_words(out, words);
}

/* The second half of the ranks, as an application of its own on the second host. */
static dit_status second_host(const suite_launch_plan *plan, suite_command *out)
{
    if (!plan->wire || plan->world_size == 1) return DIT_OK;
    DIT_TRY(suite_command_word(out, ":"));
    DIT_TRY(suite_command_word(out, "-n"));
    DIT_TRY(suite_command_word(out, "%d", plan->world_size / 2));
    DIT_TRY(on_host(plan->wire->host[1], out));
    return engine_words(plan, out);
}

static dit_status mpirun_command(const suite_launch_plan *plan, suite_command *out)
{
    if (geteuid() == 0) {
        DIT_TRY(suite_command_env(out, "OMPI_ALLOW_RUN_AS_ROOT=1"));
        DIT_TRY(suite_command_env(out, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"));
    }
    if (plan->scratch) DIT_TRY(suite_command_env(out, "TMPDIR=%s", plan->scratch));
    const char *const words[] = {"mpirun", "--oversubscribe", "--bind-to", "none", "-n", NULL};
    if (plan->wire) DIT_TRY(on_host(plan->wire->host[0], out));
    DIT_TRY(suite_command_words(out, words));
    DIT_TRY(suite_command_word(out, "%d", plan->wire ? (plan->world_size + 1) / 2 : plan->world_size));
    DIT_TRY(mpirun_parameters(plan, out));
    if (plan->wire) DIT_TRY(wire_parameters(out));
    DIT_TRY(engine_words(plan, out));
    return second_host(plan, out);
}

static dit_status local_command(const suite_launch_plan *plan, suite_command *out)
{
    if (plan->world_size == 1) return engine_words(plan, out);
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "launcher local cannot start %d ranks", plan->world_size),
                          "use --launcher mpirun");
}

/* Slurm takes one list: a second --exclude would replace the first. */
static dit_status exclude(const suite_strings *nodes, suite_command *out)
{
    char list[SUITE_PATH];
    if (!nodes || !nodes->count) return DIT_OK;
    DIT_TRY(suite_launch_node_list(nodes, list));
    return suite_command_word(out, "--exclude=%s", list);
}

static dit_status srun_command(const suite_launch_plan *plan, suite_command *out)
{
    const char *const words[] = {"srun", "--mpi=pmix", "--kill-on-bad-exit=1", "--cpu-bind=none", NULL};
    DIT_TRY(suite_command_words(out, words));
    DIT_TRY(suite_command_word(out, "--ntasks=%d", plan->world_size));
    DIT_TRY(suite_command_word(out, "--cpus-per-task=%d", plan->threads_per_rank));
    DIT_TRY(exclude(plan->without, out));
    return engine_words(plan, out);
}

/* SimGrid's exchange by pairs wants a power of two; of other groups each step sends by one rank farther round. */
static bool has_pairs(int world_size)
{
    return (world_size & (world_size - 1)) == 0;
}

/* smpirun is a shell script that splits its words at white space, all but the engine's path and the platform's. So it
 * starts in the out folder, where every file has a short name, and the folder that mktemp gives it for the ranks'
 * copies of the engine must have a path without white space, too. */
static dit_status smpirun_folders(const suite_launch_plan *plan, suite_command *out)
{
    const char *temporary = getenv("TMPDIR");
    if (temporary && temporary[strcspn(temporary, " \t\n*?[\\")]) DIT_TRY(suite_command_env(out, "TMPDIR=."));
    return suite_command_in(out, plan->out_dir);
}

/* What suite_simulate_prepare left in the out folder. Computation is charged by the engine, not measured; messages
 * carry memory that all ranks share; NCCL's exchanges are pairs of sends and receives, its gathers rings. */
static dit_status smpirun_command(const suite_launch_plan *plan, suite_command *out)
{
    static const char *const model[] = {"--cfg=smpi/simulate-computation:no",
                                        "--cfg=smpi/cpu-threshold:-1",
                                        "--cfg=smpi/shared-malloc:global",
                                        "--cfg=smpi/shared-malloc-blocksize:4194304",
                                        "--cfg=smpi/allgather:ring",
                                        "--cfg=smpi/send-is-detached-thresh:0",
                                        "--log=root.thres:critical",
                                        SUITE_SMPI_MODEL,
                                        NULL};
    static const char *const files[] = {"-platform", "platform.xml", "-hostfile", "hosts", NULL};
    const char *const engine[] = {plan->engine, "--case", "case.json", "--out", ".", NULL};
    DIT_TRY(smpirun_folders(plan, out));
    DIT_TRY(suite_command_word(out, "smpirun"));
    DIT_TRY(suite_command_word(out, "-np"));
    DIT_TRY(suite_command_word(out, "%d", plan->world_size));
    DIT_TRY(suite_command_words(out, files));
    DIT_TRY(suite_command_words(out, model));
    DIT_TRY(suite_command_word(out, "--cfg=smpi/alltoall:%s", has_pairs(plan->world_size) ? "pair" : "ring"));
    return suite_command_words(out, engine);
}

/* The adapter starts as many processes as its engine needs. Libraries that read OMP_NUM_THREADS get the case's. */
static dit_status adapter_command(const suite_launch_plan *plan, suite_command *out)
{
    DIT_TRY(suite_command_env(out, "OMP_NUM_THREADS=%d", plan->threads_per_rank));
    if (plan->interpreter) DIT_TRY(suite_command_word(out, "%s", plan->interpreter));
    return engine_words(plan, out);
}

const suite_launcher suite_adapter_launcher = {"adapter",      "the adapter of an external engine", true, false, false,
                                               adapter_command};

/* name, help, runs, writes_script, chooses_nodes, command */
const suite_launcher suite_launchers[] = {
    {"mpirun", "Open MPI on this machine (default)", true, false, false, mpirun_command},
    {"local", "the engine alone, without MPI's launcher; one rank", true, false, false, local_command},
    {"print", "print the mpirun commands instead of running them", false, false, false, mpirun_command},
    {"srun", "Slurm, inside an allocation; outside one it prints the commands", false, false, true, srun_command},
    {"sbatch", "print a Slurm script that runs the session in its allocations", false, true, true, srun_command},
    {"smpirun", "SimGrid; always starts the cases of simulated platforms, whatever launcher measured cases have", true,
     false, false, smpirun_command},
    {NULL, NULL, false, false, false, NULL},
};

/* Outside an allocation srun would wait for one. */
bool suite_launcher_runs(const suite_launcher *launcher)
{
    return launcher->runs || (strcmp(launcher->name, "srun") == 0 && getenv("SLURM_JOB_ID"));
}

dit_status suite_launch_node_list(const suite_strings *nodes, char out[SUITE_PATH])
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < nodes->count; i++) {
        int length = snprintf(out + used, SUITE_PATH - used, "%s%s", i ? "," : "", nodes->items[i]);
        if (length < 0 || (size_t)length >= SUITE_PATH - used)
            return DIT_FAIL(DIT_ERR_USAGE, "the names of %d nodes are too long together", nodes->count);
        used += (size_t)length;
    }
    return DIT_OK;
}

/* Letters, digits, dots, dashes and underscores: what else Slurm reads as a list has another meaning for each. */
static bool is_node_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return text[0] && text[0] != '-' && text[strspn(text, allowed)] == '\0';
}

dit_status suite_launcher_check_without(const suite_launcher *launcher, const suite_strings *nodes)
{
    for (int i = 0; i < nodes->count; i++)
        if (!is_node_name(nodes->items[i]))
            return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "'%s' is no name of a node", nodes->items[i]),
                                  "--without takes one name, as `ditbench show` prints it, and may be repeated");
    if (!nodes->count || launcher->chooses_nodes) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE,
                                   "launcher %s starts all ranks on this machine and can leave no node out",
                                   launcher->name),
                          "--without needs --launcher srun or sbatch");
}

dit_status suite_launcher_find(const char *name, const suite_launcher **out)
{
    const char *names[sizeof suite_launchers / sizeof *suite_launchers] = {NULL};
    int count = 0;
    for (*out = suite_launchers; (*out)->name; (*out)++) {
        if (strcmp((*out)->name, name) == 0) return DIT_OK;
        names[count++] = (*out)->name;
    }
    return dit_words_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "no launcher '%s'", name), name, names);
}

/* ---- outcome ----------------------------------------------------------------------------------------------------- */

/* The status that an engine's error code leads to. */
static dit_outcome status_of(dit_status code, int exit_code)
{
    if (code == DIT_ERR_MEMORY) return DIT_OUTCOME_OOM;
    if (code == DIT_ERR_TIMEOUT) return DIT_OUTCOME_TIMEOUT;
    if (exit_code == DIT_EXIT_SKIPPED || code == DIT_ERR_UNSUPPORTED) return DIT_OUTCOME_SKIPPED;
    return dit_status_exit_code(code) == DIT_EXIT_VERIFICATION ? DIT_OUTCOME_INVALID : DIT_OUTCOME_FAILED;
}

/* Takes error.json over, if it can be read. */
static bool read_error(const suite_launch_plan *plan, suite_outcome *out)
{
    char path[SUITE_PATH];
    dit_json document = {0};
    dit_status code;
    if (suite_path(path, "%s/error.json", plan->out_dir) != DIT_OK || access(path, F_OK) != 0) return false;
    if (dit_json_read_file(path, &document) != DIT_OK) return false;
    const char *name = dit_json_text_or(document.root, "code", NULL);
    const char *message = dit_json_text_or(document.root, "message", NULL);
    bool usable = name && message && dit_status_from_name(name, &code);
    if (usable) {
        cJSON_Delete(out->error);
        out->error = cJSON_Duplicate(document.root, true);
        if (!out->error) dit_json_put_status(&out->writer, DIT_FAIL(DIT_ERR_MEMORY, "no memory for error.json"));
        out->status = status_of(code, out->exit_code);
    }
    dit_json_release(&document);
    return usable;
}

/* The engine died without a word. */
static void describe_crash(const suite_process_result *result, suite_outcome *out)
{
    char message[256];
    int number = result->end == SUITE_PROCESS_SIGNALED                     ? result->signal_number
                 : result->exit_code > 128 && result->exit_code < 128 + 65 ? result->exit_code - 128
                                                                           : 0;
    if (number == SIGKILL && result->oom_killed) {
        suite_outcome_set_error(out, DIT_OUTCOME_OOM, DIT_ERR_MEMORY,
                                "killed by the kernel: the machine ran out of memory");
        return;
    }
    if (number)
        snprintf(message, sizeof message, "an engine process was ended by signal %d (%s)", number, strsignal(number));
    else
        snprintf(message, sizeof message, "the engine ended with exit code %d and left no error.json",
                 result->exit_code);
    suite_outcome_set_error(out, DIT_OUTCOME_FAILED, DIT_ERR_CRASH, message);
    if (result->exit_code == DIT_EXIT_SKIPPED) out->status = DIT_OUTCOME_SKIPPED;
}

static void read_record(const suite_launch_plan *plan, suite_outcome *out)
{
    char path[SUITE_PATH];
    dit_json document = {0};
    if (suite_path(path, "%s/record.json", plan->out_dir) != DIT_OK || access(path, F_OK) != 0) return;
    if (dit_json_read_file(path, &document) != DIT_OK) {
        suite_outcome_set_error(out, DIT_OUTCOME_FAILED, dit_error_last()->status, dit_error_last()->message);
        return;
    }
    const char *schema = dit_json_text_or(document.root, "schema", "");
    char message[512], text[320];
    if (dit_schema_accepts(schema, "ditbench.record/1", text, sizeof text))
        out->record = cJSON_Duplicate(document.root, true);
    else {
        snprintf(message, sizeof message, "record.json: %s; build engine and harness from one commit", text);
        suite_outcome_set_error(out, DIT_OUTCOME_FAILED, DIT_ERR_JSON_VALUE, message);
    }
    dit_json_release(&document);
}

/* What was simulated never passes for measured, nor the reverse, whatever wrote the record. */
static bool check_evidence(const suite_launch_plan *plan, suite_outcome *out)
{
    const char *expected = plan->simulated ? "simulated" : "measured", *said = expected;
    const cJSON *evidence = dit_json_member(out->record, "evidence");
    char message[256];
    if (evidence || plan->simulated || plan->external)
        said = cJSON_IsString(evidence) ? evidence->valuestring : "nothing";
    bool made_up = !plan->simulated && !plan->external && strcmp(said, DIT_EVIDENCE_FAKE) == 0;
    if (strcmp(said, expected) == 0 || made_up) return true;
    snprintf(message, sizeof message, "the record says that its evidence is %.100s, but its platform makes it %s", said,
             expected);
    suite_outcome_set_error(out, DIT_OUTCOME_INVALID, DIT_ERR_INTEGRITY, message);
    return false;
}

/* Counted, not allocated: a simulated device that is too small is the simulation's result, with its figures. */
static void check_device_memory(const suite_launch_plan *plan, suite_outcome *out)
{
    const cJSON *memory = dit_json_member(out->record, "memory");
    const cJSON *total = dit_json_member(memory, "total_bytes");
    const double limit = (double)plan->device_memory_bytes, gib = 1024.0 * 1024 * 1024;
    char message[160];
    if (!plan->device_memory_bytes || !cJSON_IsNumber(total) || total->valuedouble <= limit) return;
    snprintf(message, sizeof message, "needs %.2f GiB on a device, the accelerator has %.2f GiB",
             total->valuedouble / gib, limit / gib);
    if (!out->error)
        suite_outcome_set_error(out, DIT_OUTCOME_OOM, DIT_ERR_MEMORY, message); /* else the engine has said so */
    dit_json_put_number(&out->writer, out->error, "needed_bytes", total->valuedouble);
    dit_json_put_number(&out->writer, out->error, "device_bytes", limit);
}

/* A record that says of itself that it is wrong is not a result, whatever the exit code was. */
static void check_record(const suite_launch_plan *plan, suite_outcome *out)
{
    const cJSON *validation = dit_json_member(out->record, "validation");
    if (!check_evidence(plan, out)) return;
    if (cJSON_IsFalse(dit_json_member(out->record, "communication_match")))
        suite_outcome_set_error(out, DIT_OUTCOME_INVALID, DIT_ERR_BYTES_MISMATCH,
                                "counted bytes differ from the closed form");
    else if (cJSON_IsFalse(dit_json_member(validation, "finite")))
        suite_outcome_set_error(out, DIT_OUTCOME_INVALID, DIT_ERR_NONFINITE, "the latents or images are not finite");
    else if (cJSON_IsFalse(dit_json_member(validation, "pass")))
        suite_outcome_set_error(out, DIT_OUTCOME_INVALID, DIT_ERR_MISMATCH,
                                cJSON_HasObjectItem(validation, "oracle_rel_l2")
                                    ? "the result differs from its oracle"
                                    : "the result differs from the one-rank reference");
}

static void check_external(const suite_launch_plan *plan, suite_outcome *out)
{
    const suite_adapter_run run = {.document = plan->external, .out_dir = plan->out_dir, .reference = plan->reference};
    suite_adapter_check(&run, out);
}

static void add_log(const suite_launch_plan *plan, suite_outcome *out)
{
    char path[SUITE_PATH], tail[2048];
    if (!out->error || suite_path(path, "%s/engine.log", plan->out_dir) != DIT_OK) return;
    suite_text_tail(path, tail, sizeof tail);
    if (tail[0] && !cJSON_HasObjectItem(out->error, "log")) suite_text_put(&out->writer, out->error, "log", tail);
}

static void set_late(double deadline_s, cJSON *positions, suite_outcome *out)
{
    dit_buffer message = {0};
    dit_buffer_printf(&message, "the case did not finish within its deadline of %g s; all its processes were ended",
                      deadline_s);
    suite_positions_name(positions, &message);
    suite_outcome_set_error(out, DIT_OUTCOME_TIMEOUT, DIT_ERR_TIMEOUT,
                            message.failed ? "not finished at its deadline" : message.data);
    if (positions) dit_json_put_item(&out->writer, out->error, "positions", positions);
    dit_buffer_release(&message);
}

/* Takes the positions over. */
static void judge(const suite_launch_plan *plan, const suite_launch_options *options,
                  const suite_process_result *result, cJSON *positions, suite_outcome *out)
{
    out->exit_code = result->exit_code;
    out->elapsed_ns = result->elapsed_ns;
    out->interrupted = result->end == SUITE_PROCESS_INTERRUPTED;
    if (result->end != SUITE_PROCESS_TIMEOUT) cJSON_Delete(positions);
    if (out->interrupted) return;
    if (result->end == SUITE_PROCESS_TIMEOUT) {
        set_late(options->deadline_s, positions, out);
    } else {
        read_record(plan, out);
        bool failed = result->end == SUITE_PROCESS_SIGNALED || result->exit_code != 0;
        bool silent = !out->record && !out->error;
        bool said = (failed || silent) && read_error(plan, out); /* smpirun ends well when a rank gives up */
        if (failed && !said) describe_crash(result, out);
        if (silent && !failed && !said)
            suite_outcome_set_error(out, DIT_OUTCOME_FAILED, DIT_ERR_CRASH,
                                    "the engine ended without writing record.json");
        if (!out->error || (out->status == DIT_OUTCOME_OOM && out->record)) check_record(plan, out);
        if (!out->error || out->status == DIT_OUTCOME_OOM) check_device_memory(plan, out);
        if (!out->error && plan->external) check_external(plan, out);
    }
    add_log(plan, out);
}

/* `positions` gets what ranks said when they were late; NULL: they are not asked. */
static dit_status run_process(const suite_launcher *launcher, const suite_launch_plan *plan,
                              const suite_launch_options *options, suite_positions *positions,
                              suite_process_result *out)
{
    char scratch[SUITE_PATH], log_path[SUITE_PATH];
    suite_launch_plan own = *plan;
    suite_command command = {0};
    dit_status st = DIT_OK;
    DIT_TRY(suite_path(log_path, "%s/engine.log", plan->out_dir));
    DIT_TRY(suite_scratch_open(scratch));
    if (!own.scratch) own.scratch = scratch;
    DIT_TRY_GOTO(st, launcher->command(&own, &command), done);
    suite_process_params params = {
        .argv = command.argv,
        .env = command.env,
        .folder = command.folder,
        .attempt = plan->out_dir,
        .log_path = log_path,
        .stdout_fd = options->stdout_fd,
        .deadline_s = options->deadline_s,
        .signals = options->signals,
        .tick = options->tick,
        .context = options->context,
        .late = positions ? suite_positions_ask : NULL,
        .late_context = positions,
    };
    suite_workloads_announce();
    DIT_TRY_GOTO(st, suite_process_run(&params, out), done);
    DIT_TRY_GOTO(st, suite_scratch_empty(), done);
done:
    suite_command_release(&command);
    return st;
}

dit_status suite_launch_process(const suite_launcher *launcher, const suite_launch_plan *plan,
                                const suite_launch_options *options, suite_process_result *out)
{
    return run_process(launcher, plan, options, NULL, out);
}

void suite_launch_judge(const suite_launch_plan *plan, const suite_launch_options *options,
                        const suite_process_result *result, suite_outcome *out)
{
    *out = (suite_outcome){0};
    judge(plan, options, result, NULL, out);
}

dit_status suite_launch_run(const suite_launcher *launcher, const suite_launch_plan *plan,
                            const suite_launch_options *options, suite_outcome *out)
{
    suite_process_result result;
    suite_positions positions = {.out_dir = plan->out_dir, .world_size = plan->world_size};
    *out = (suite_outcome){0};
    dit_status st = run_process(launcher, plan, options, plan->external ? NULL : &positions, &result);
    if (st == DIT_OK)
        judge(plan, options, &result, positions.lines, out);
    else
        cJSON_Delete(positions.lines);
    return st == DIT_OK ? out->writer.status : st;
}

/* ---- the machine ------------------------------------------------------------------------------------------------- */

dit_status suite_launch_engine(const char *given, char out[SUITE_PATH])
{
    char self[SUITE_PATH];
    if (given) {
        if (!realpath(given, self)) return DIT_FAIL(DIT_ERR_ENVIRONMENT, "engine %s: %s", given, strerror(errno));
        DIT_TRY(suite_path(out, "%s", self));
    } else {
        ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
        if (length < 0) return DIT_FAIL(DIT_ERR_ENVIRONMENT, "the folder of this program cannot be found");
        self[length] = '\0';
        *strrchr(self, '/') = '\0';
        DIT_TRY(suite_path(out, "%s/ditbench-engine", self));
    }
    if (access(out, X_OK) == 0) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "engine %s: %s", out, strerror(errno)),
                          "build it with `make all`, or name it with --engine PATH");
}

int suite_launch_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

bool suite_launch_single_copy(void)
{
    int secret = 42, seen = 0, gate[2], status = 0;
    if (pipe(gate) != 0) return false;
    pid_t owner = fork(); /* waits until the gate closes */
    if (owner == 0) {
        char byte;
        close(gate[1]);
        _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
    }
    pid_t reader = owner > 0 ? fork() : -1;
    if (reader == 0) {
        struct iovec here = {&seen, sizeof seen}, there = {&secret, sizeof secret};
        bool copied = process_vm_readv(owner, &here, 1, &there, 1, 0) == (ssize_t)sizeof seen && seen == 42;
        _exit(copied ? 0 : 1);
    }
    close(gate[0]);
    if (reader > 0) waitpid(reader, &status, 0);
    close(gate[1]);
    if (owner > 0) waitpid(owner, NULL, 0);
    return reader > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
