/* ditbench-engine: one process per rank; runs one case and writes its records.
 *
 *   mpirun -n N ditbench-engine --case FILE --out DIR [--reference FILE] [--oracle FILE] [--converged FILE] [--no-pictures]
 *   ditbench-engine --devices BACKEND
 *   ditbench-engine --isas
 *   ditbench-engine --tokenize FOLDER [--prompts FILE]
 */
#include "base/json.h"
#include "base/log.h"
#include "engine/comm/comm.h"
#include "engine/programs/devices.h"
#include "engine/timing/position.h"
#include "engine/programs/program.h"
#include "engine/results/record.h"
#include "engine/text/token_list.h"
#include "kernels/kernels.h"
#include "version.h"

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* For AddressSanitizer only. Leaks are reported before MPI unloads its modules, and modules that it tries and leaves
 * stay loaded, because leaks of unloaded modules have no names. Memory that Open MPI and its parts keep to the end is
 * suppressed (they also use vasprintf, which we do not). */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libmpi\nleak:libopen-rte\nleak:libopen-pal\nleak:libpmix\nleak:libevent\n"
           "leak:mca_\nleak:libhwloc\nleak:vasprintf\n";
}
int dlclose(void *module);
int dlclose(void *module)
{
    (void)module;
    return 0;
}
static void check_leaks(void)
{
    __lsan_do_leak_check();
}
#else
static void check_leaks(void) {}
#endif

static void print_help(void)
{
    printf("usage: ditbench-engine --case FILE --out DIR [--reference FILE] [--oracle FILE] [--converged FILE]\n"
           "                       [--no-pictures]\n"
           "       ditbench-engine --devices BACKEND\n"
           "       ditbench-engine --isas\n"
           "       ditbench-engine --tokenize FOLDER [--prompts FILE]\n\n"
           "Runs one case (ditbench.case/1), one process per rank under mpirun, and writes record.json,\n"
           "rank-N.json and latents.safetensors into DIR; on failure error.json and an exit code.\n\n"
           "  --case FILE        the case document\n"
           "  --out DIR          existing or new folder for the records\n"
           "  --reference FILE   latents.safetensors of the one-rank case, to state the distance to it\n"
           "  --oracle FILE      latents.safetensors of the one-rank case that emulates this approximate one\n"
           "  --converged FILE   latents.safetensors of the run whose pictures more steps do not change, to state the\n"
           "                     distance of this one's to them\n"
           "  --no-pictures      leave out the pictures of a case's captions: another process made them\n"
           "  --devices BACKEND  print the devices of this machine (cuda, host) as JSON, or why there are none\n"
           "  --isas             list the instruction sets that operators are compiled for, best first: here, or\n"
           "                     missing; DITBENCH_ISA=NAME forbids those before NAME\n"
           "  --tokenize FOLDER  print the ids of prompts as JSON, by a tokenizer's folder, or by all of a pipeline\n"
           "  --prompts FILE     one a line, or JSON: a list, or {prompts, length, class} (standard input)\n"
           "  --version, --help\n\nprograms:\n");
    dit_program_list();
    printf("\nexit codes: 0 ok, 2 bad case, 3 failed, 4 environment, 6 wrong numbers, 77 skipped\n");
}

/* A rank must not outlive the launcher that started it: the harness may be killed at any moment. */
static void die_with_parent(void)
{
    pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(DIT_EXIT_CASE);
}

/* Prints a document on a line, and deletes it. */
static dit_status print_document(cJSON *document)
{
    char *text = cJSON_PrintUnformatted(document);
    if (text) puts(text);
    cJSON_Delete(document);
    free(text);
    return text ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a document");
}

static dit_status print_devices(const char *backend)
{
    cJSON *list;
    DIT_TRY(dit_devices_list(backend, &list));
    return print_document(list);
}

static dit_status print_tokens(const char *folder, const char *prompts)
{
    cJSON *list;
    DIT_TRY(dit_token_list_make(folder, prompts, &list));
    return print_document(list);
}

static void print_isas(void)
{
    const char *name;
    for (int i = 0; (name = dit_kernels_isa_at(i)); i++)
        printf("%s %s\n", name, dit_kernels_has_isa(name) ? "here" : "missing");
}

static dit_status parse(int argc, char **argv, dit_program_args *args, bool *done)
{
    static const struct option options[] = {{"case", required_argument, NULL, 'c'},
                                            {"out", required_argument, NULL, 'o'},
                                            {"reference", required_argument, NULL, 'r'},
                                            {"oracle", required_argument, NULL, 'O'},
                                            {"converged", required_argument, NULL, 'C'},
                                            {"no-pictures", no_argument, NULL, 'p'},
                                            {"devices", required_argument, NULL, 'd'},
                                            {"isas", no_argument, NULL, 'i'},
                                            {"tokenize", required_argument, NULL, 't'},
                                            {"prompts", required_argument, NULL, 'P'},
                                            {"version", no_argument, NULL, 'V'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    const char *tokenizer = NULL, *prompts = "/dev/stdin";
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (option) {
        case 'c': args->case_path = optarg; break;
        case 'o': args->out_folder = optarg; break;
        case 'r': args->reference = optarg; break;
        case 'O': args->oracle = optarg; break;
        case 'C': args->converged = optarg; break;
        case 'p': args->no_pictures = true; break;
        case 'd': *done = true; return print_devices(optarg);
        case 't': tokenizer = optarg; break;
        case 'P': prompts = optarg; break;
        case 'i':
            *done = true;
            print_isas();
            return DIT_OK;
        case 'V':
            *done = true;
            printf("ditbench-engine %s\n", DITBENCH_VERSION);
            return DIT_OK;
        case 'h':
            *done = true;
            print_help();
            return DIT_OK;
        default: return DIT_FAIL(DIT_ERR_USAGE, "unknown or incomplete option %s", argv[optind - 1]);
        }
    }
    if (optind < argc) return DIT_FAIL(DIT_ERR_USAGE, "unexpected argument %s", argv[optind]);
    *done = tokenizer != NULL;
    if (tokenizer) return print_tokens(tokenizer, prompts);
    if (!args->case_path || !args->out_folder)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--case and --out are required"), "see --help");
    return DIT_OK;
}

static dit_status run_program(dit_program_args *args, dit_json *doc, bool *skipped)
{
    const char *name;
    const dit_program *program;
    DIT_TRY(dit_json_read_file(args->case_path, doc));
    args->doc = doc;
    DIT_TRY(dit_json_require_schema(doc, "ditbench.case/1"));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "program", &name));
    DIT_TRY(dit_program_find(name, &program));
    if (mkdir(args->out_folder, 0777) != 0 && access(args->out_folder, W_OK) != 0)
        return DIT_FAIL(DIT_ERR_IO, "cannot write to %s", args->out_folder);
    return program->run(args, skipped);
}

int main(int argc, char **argv)
{
    dit_program_args args = {0};
    dit_json doc = {0};
    bool done = false, skipped = false;
    char prefix[32];
    dit_status st = parse(argc, argv, &args, &done);
    if (done && st == DIT_OK) return DIT_EXIT_OK;
    if (st != DIT_OK) {
        dit_error_print("ditbench-engine");
        return dit_status_exit_code(st);
    }
    die_with_parent();
    st = dit_comm_start("mpi", &argc, &argv);
    if (st != DIT_OK) {
        dit_error_print("ditbench-engine");
        return dit_status_exit_code(st);
    }
    snprintf(prefix, sizeof prefix, "[rank %d] ", dit_comm_rank(dit_comm_world()));
    dit_log_set_prefix(prefix);
    st = dit_position_install(dit_comm_rank(dit_comm_world()), args.out_folder);
    if (st == DIT_OK) st = run_program(&args, &doc, &skipped);
    if (st != DIT_OK) {
        dit_error_print("ditbench-engine");
        dit_record_write_error(args.out_folder);
        if (dit_comm_size(dit_comm_world()) > 1) dit_comm_abort(dit_status_exit_code(st));
    }
    dit_json_release(&doc);
    check_leaks();
    dit_comm_finish();
    return st != DIT_OK ? dit_status_exit_code(st) : skipped ? DIT_EXIT_SKIPPED : DIT_EXIT_OK;
}
