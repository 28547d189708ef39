/* ditbench-engine-fake: an engine that computes nothing and writes records of made-up times, to test the harness only.
 *
 *   ditbench-engine-fake --case FILE --out DIR [--reference FILE] [--oracle FILE]
 *
 * DITBENCH_FAKE tells it how to behave: a JSON object, or the path of a file with one. All members are optional:
 *
 *   seed (0), mean_s (0.1)            of the made-up times, in seconds; the folder --out is part of the seed
 *   between (0.01), within (0.005)    standard deviations of logarithms, between processes and between iterations
 *   drift (0)                         share by which each process is slower than the one before it (p0, p1, ...)
 *   outliers (0), outlier_size (0.5)  share of processes that are disturbed, and by how much
 *   slow_starts (0), slow_start (0.5) how many first runs of a process are slower, and by how much
 *   sleep (false)                     take as long as the record says; else it ends at once
 *   fault ("none"), process (-1)      what goes wrong, and in which process; -1: in all
 *   rank (-1)                         of whom; -1: the last rank
 *   slow_by (1), leak_bytes (1 MiB)   of the faults slow_rank and leak: share, bytes an iteration
 *   held_up (0)                       iterations, the first ones, in which all ranks but `rank` take ten times as long
 *   hosts (0), slow_host (-1)         how many hosts there are, node0, node1, ...: rank r of process p runs on node
 *                                     (p + r) % hosts; which of them makes every process on it slower, by slow_by
 *
 * Faults: crash, kill (as the kernel's out-of-memory killer does it), hang, exit (3, without a word), wrong (latents),
 * nan, torn (half a record.json), silent (no record.json), old_schema, new_schema, slow_rank, leak, orphan (a child
 * that stays, in a session of its own).
 *
 * The records say "evidence": "fake". The journal keeps them; whatever would draw, compare or judge them refuses.
 */
#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/method.h"
#include "base/rng.h"
#include "base/words.h"

#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, MOST_RUNS = 2000, LATER_S = 3600 };
static const char *const faults[] = {"none", "crash",  "kill",   "hang",       "exit",       "wrong",
                                     "nan",  "torn",   "silent", "old_schema", "new_schema", "slow_rank",
                                     "leak", "orphan", "greedy", NULL};

typedef struct {
    int64_t seed, slow_starts, process, rank, leak_bytes, held_up, hosts, slow_host;
    double mean_s, between, within, drift, outliers, outlier_size, slow_start, slow_by;
    bool sleep;
    const char *fault;
} behaviour;

/* One process of one case. */
typedef struct {
    const char *case_path, *out;
    dit_json kase, told;
    behaviour does;
    int64_t rank, world, process, warmups, iterations, threads;
    double runs_s[MOST_RUNS]; /* of the rank that is not slow; warm-ups first */
    uint64_t stream, drawn;
} fake;

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

static dit_status read_arguments(int argc, char **argv, fake *f)
{
    static const struct option options[] = {
        {"case", required_argument, NULL, 'c'},      {"out", required_argument, NULL, 'o'},
        {"reference", required_argument, NULL, 'r'}, {"oracle", required_argument, NULL, 'r'},
        {"converged", required_argument, NULL, 'r'}, {0}};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'c') f->case_path = optarg;
        if (option == 'o') f->out = optarg;
        if (option == '?') return DIT_FAIL(DIT_ERR_USAGE, "unknown option %s", argv[optind - 1]);
    }
    return f->case_path && f->out ? DIT_OK : DIT_FAIL(DIT_ERR_USAGE, "--case and --out are required");
}

static dit_status read_shares(const dit_json *doc, behaviour *b)
{
    struct {
        const char *key;
        double most, *out;
    } numbers[] = {{"mean_s", 1e6, &b->mean_s},         {"between", 1, &b->between},
                   {"within", 1, &b->within},           {"drift", 10, &b->drift},
                   {"outliers", 1, &b->outliers},       {"outlier_size", 100, &b->outlier_size},
                   {"slow_start", 100, &b->slow_start}, {"slow_by", 100, &b->slow_by}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        DIT_TRY(dit_json_optional_number(doc, doc->root, "", numbers[i].key, 0, numbers[i].most, numbers[i].out));
    return DIT_OK;
}

static dit_status read_behaviour(fake *f)
{
    static const char *const keys[] = {"seed",     "mean_s",       "between",     "within",     "drift",
                                       "outliers", "outlier_size", "slow_starts", "slow_start", "sleep",
                                       "fault",    "process",      "rank",        "slow_by",    "leak_bytes",
                                       "held_up",  "hosts",        "slow_host",   NULL};
    const char *text = getenv("DITBENCH_FAKE");
    behaviour *b = &f->does;
    *b = (behaviour){.mean_s = 0.1,
                     .between = 0.01,
                     .within = 0.005,
                     .outlier_size = 0.5,
                     .slow_start = 0.5,
                     .slow_by = 1,
                     .leak_bytes = 1 << 20,
                     .process = -1,
                     .rank = -1,
                     .slow_host = -1,
                     .fault = "none"};
    if (!text || !text[0]) return DIT_OK;
    if (text[0] == '{')
        DIT_TRY(dit_json_parse(text, strlen(text), "DITBENCH_FAKE", &f->told));
    else
        DIT_TRY(dit_json_read_file(text, &f->told));
    const dit_json *doc = &f->told;
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(read_shares(doc, b));
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "seed", 0, INT64_C(9007199254740991), &b->seed));
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "slow_starts", 0, MOST_RUNS, &b->slow_starts));
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "process", -1, 1000000, &b->process));
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "rank", -1, 1000000, &b->rank));
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "leak_bytes", 0, INT64_C(1) << 40, &b->leak_bytes));
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "held_up", 0, 1000000, &b->held_up));
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "hosts", 0, 1000, &b->hosts));
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "slow_host", -1, 999, &b->slow_host));
    DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "sleep", &b->sleep));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "fault", &b->fault));
    return dit_words_find(faults, b->fault) >= 0 ? DIT_OK
                                                 : dit_json_fail_word(doc, "/fault", "fault", b->fault, faults);
}

/* The launcher tells a rank who it is. */
static int64_t from_launcher(const char *open_mpi, const char *slurm, int64_t otherwise)
{
    const char *text = getenv(open_mpi);
    if (!text) text = getenv(slurm);
    return text ? atoll(text) : otherwise;
}

static dit_status read_case(fake *f)
{
    const cJSON *measure;
    DIT_TRY(dit_json_read_file(f->case_path, &f->kase));
    measure = dit_json_member(f->kase.root, "measure");
    f->warmups = dit_json_int_or(measure, "warmup_runs", 0);
    f->iterations = dit_json_int_or(measure, "iterations", 1);
    f->threads = dit_json_int_or(dit_json_member(f->kase.root, "platform"), "threads_per_rank", 1);
    if (f->warmups < 0 || f->iterations < 1 || f->warmups + f->iterations > MOST_RUNS)
        return DIT_FAIL(DIT_ERR_USAGE, "more than %d runs", MOST_RUNS);
    f->rank = from_launcher("OMPI_COMM_WORLD_RANK", "SLURM_PROCID", 0);
    f->world = from_launcher("OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", 1);
    const char *slash = strrchr(f->out, '/');
    f->process = slash && slash[1] == 'p' ? atoll(slash + 2) : 0;
    if (f->does.rank < 0) f->does.rank = f->world - 1;
    if (f->does.process >= 0 && f->does.process != f->process) f->does.fault = "none";
    return DIT_OK;
}

static bool has_fault(const fake *f, const char *name)
{
    return strcmp(f->does.fault, name) == 0;
}

/* ---- made-up times ----------------------------------------------------------------------------------------------- */

static double uniform(fake *f)
{
    uint32_t words[4];
    dit_rng_philox((uint64_t)f->does.seed, f->stream, f->drawn++, words);
    return ((double)words[0] + 0.5) / 4294967296.0;
}

static double normal(fake *f)
{
    double a = uniform(f), b = uniform(f);
    return sqrt(-2 * log(a)) * cos(6.283185307179586 * b);
}

static int64_t host_of(const fake *f, int64_t rank)
{
    return (f->process + rank) % f->does.hosts;
}

/* Whether a rank runs on the slow host: all others wait for it. */
static bool is_held_up(const fake *f)
{
    bool found = false;
    for (int64_t rank = 0; f->does.hosts && rank < f->world; rank++) found |= host_of(f, rank) == f->does.slow_host;
    return found;
}

static void make_times(fake *f)
{
    const behaviour *b = &f->does;
    f->stream = dit_rng_stream(f->out);
    double level = b->mean_s * exp(b->between * normal(f)) * (1 + b->drift * (double)f->process);
    if (is_held_up(f)) level *= 1 + b->slow_by;
    if (uniform(f) < b->outliers) level *= 1 + b->outlier_size;
    for (int64_t i = 0; i < f->warmups + f->iterations; i++)
        f->runs_s[i] = level * exp(b->within * normal(f)) * (i < b->slow_starts ? 1 + b->slow_start : 1);
}

static int64_t run_ns(const fake *f, int64_t run, int64_t rank)
{
    double slow = has_fault(f, "slow_rank") && rank == f->does.rank ? 1 + f->does.slow_by : 1;
    return (int64_t)(f->runs_s[run] * slow * 1e9);
}

/* What all ranks wait for. */
static int64_t slowest_ns(const fake *f, int64_t run)
{
    int64_t most = 0;
    for (int64_t rank = 0; rank < f->world; rank++)
        if (run_ns(f, run, rank) > most) most = run_ns(f, run, rank);
    return most;
}

static void wait_as_long(const fake *f)
{
    int64_t total = 0;
    for (int64_t i = 0; i < f->warmups + f->iterations; i++) total += slowest_ns(f, i);
    struct timespec time = {.tv_sec = total / 1000000000, .tv_nsec = total % 1000000000};
    if (f->does.sleep) nanosleep(&time, NULL);
}

/* ---- the record -------------------------------------------------------------------------------------------------- */

static int64_t resident_bytes(const fake *f, int64_t rank, int64_t iteration)
{
    const int64_t start = 64 << 20;
    return has_fault(f, "leak") && rank == f->does.rank ? start + (iteration + 1) * f->does.leak_bytes : start;
}

static void add_samples(dit_json_writer *w, cJSON *record, const fake *f)
{
    cJSON *samples = dit_json_put_object(w, record, "samples");
    cJSON *latency = dit_json_put_array(w, samples, "latency_ns"),
          *warmup = dit_json_put_array(w, samples, "warmup_ns");
    for (int64_t i = 0; i < f->warmups; i++) dit_json_put_int(w, warmup, NULL, slowest_ns(f, i));
    for (int64_t i = 0; i < f->iterations; i++) dit_json_put_int(w, latency, NULL, slowest_ns(f, f->warmups + i));
}

/* Ranks wait for the slowest one: their latencies are equal, what they compute differs. */
static void add_rank(dit_json_writer *w, cJSON *ranks, const fake *f, int64_t rank)
{
    cJSON *entry = dit_json_put_object(w, ranks, NULL);
    dit_json_put_int(w, entry, "rank", rank);
    if (f->does.hosts) {
        char host[32];
        snprintf(host, sizeof host, "node%lld", (long long)host_of(f, rank));
        dit_json_put_string(w, entry, "host", host);
    }
    cJSON *latency = dit_json_put_array(w, entry, "latency_ns");
    cJSON *compute = dit_json_put_array(w, entry, "compute_samples_ns");
    cJSON *resident = dit_json_put_array(w, entry, "rss_samples_bytes");
    for (int64_t i = 0; i < f->iterations; i++) {
        dit_json_put_int(w, latency, NULL, slowest_ns(f, f->warmups + i));
        int64_t held_up = i < f->does.held_up && rank != f->does.rank ? 10 : 1;
        dit_json_put_int(w, compute, NULL, held_up * run_ns(f, f->warmups + i, rank));
        dit_json_put_int(w, resident, NULL, resident_bytes(f, rank, i));
    }
    dit_json_put_number(w, entry, "flops", 1e9);
    dit_json_put_int(w, entry, "compute_ns", run_ns(f, f->warmups, rank));
    dit_json_put_int(w, entry, "exposed_communication_ns", slowest_ns(f, f->warmups) - run_ns(f, f->warmups, rank));
    cJSON *memory = dit_json_put_object(w, entry, "memory");
    dit_json_put_int(w, memory, "rss_bytes", resident_bytes(f, rank, f->iterations - 1));
}

static void add_validation(dit_json_writer *w, cJSON *record, const fake *f)
{
    cJSON *validation = dit_json_put_object(w, record, "validation");
    dit_json_put_bool(w, validation, "finite", !has_fault(f, "nan"));
    if (!has_fault(f, "wrong")) {
        dit_json_put_string(w, validation, "reason", "made up");
        return;
    }
    dit_json_put_number(w, validation, "rel_l2", 0.5);
    dit_json_put_number(w, validation, "tolerance", DIT_METHOD_EXACT_REL_L2);
    dit_json_put_bool(w, validation, "pass", false);
}

static dit_status make_record(const fake *f, cJSON **out)
{
    const int schema = has_fault(f, "old_schema") ? 0 : has_fault(f, "new_schema") ? 2 : 1;
    char name[64];
    dit_json_writer w = {0};
    cJSON *record = dit_json_new_object(&w);
    snprintf(name, sizeof name, "ditbench.record/%d", schema);
    dit_json_put_string(&w, record, "schema", name);
    dit_json_put_string(&w, record, "evidence", "fake");
    dit_json_put_string(&w, record, "program", dit_json_text_or(f->kase.root, "program", "denoise"));
    dit_json_put_int(&w, record, "world_size", f->world);
    dit_json_put_int(&w, record, "threads_per_rank", f->threads);
    add_samples(&w, record, f);
    dit_json_put_bool(&w, record, "communication_match", true);
    cJSON *memory = dit_json_put_object(&w, record, "memory"), *ranks = dit_json_put_array(&w, record, "ranks");
    int64_t most = 0;
    for (int64_t rank = 0; rank < f->world; rank++) {
        add_rank(&w, ranks, f, rank);
        if (resident_bytes(f, rank, f->iterations - 1) > most) most = resident_bytes(f, rank, f->iterations - 1);
    }
    dit_json_put_int(&w, memory, "rss_bytes", most);
    add_validation(&w, record, f);
    return dit_json_finish(&w, record, out);
}

static dit_status cut_in_half(const char *path)
{
    struct stat facts;
    if (stat(path, &facts) != 0 || truncate(path, facts.st_size / 2) != 0)
        return DIT_FAIL(DIT_ERR_IO, "cannot cut %s", path);
    return DIT_OK;
}

static dit_status write_record(const fake *f)
{
    char path[PATH_BYTES];
    cJSON *record = NULL;
    if (f->rank != 0 || has_fault(f, "silent")) return DIT_OK;
    snprintf(path, sizeof path, "%s/record.json", f->out);
    DIT_TRY(make_record(f, &record));
    dit_status st = dit_json_write_file(record, path, false);
    cJSON_Delete(record);
    return st == DIT_OK && has_fault(f, "torn") ? cut_in_half(path) : st;
}

/* ---- what goes wrong --------------------------------------------------------------------------------------------- */

/* A child that leaves the tree as far as it can: its own session, its parent gone. */
static void leave_orphan(void)
{
    if (fork() != 0) return;
    setsid();
    signal(SIGTERM, SIG_IGN);
    for (int fd = 0; fd <= 2; fd++) close(fd); /* else the launcher waits for its output */
    if (fork() == 0) sleep(LATER_S);
    _exit(0);
}

/* Writes to ever more memory. Somebody must set a limit, and this one stops at a GiB. */
static void take_memory(void)
{
    const size_t piece = 1 << 20;
    for (int i = 0; i < 1024; i++) {
        char *more = malloc(piece);
        if (more) memset(more, i + 1, piece);
        if (!more || more[piece - 1] != (char)(i + 1)) _exit(DIT_EXIT_CASE);
    }
}

static void fail_as_told(const fake *f)
{
    if (f->rank != f->does.rank) return;
    if (has_fault(f, "crash")) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would make an exit code of it */
        raise(SIGSEGV);
    }
    if (has_fault(f, "kill")) raise(SIGKILL);
    if (has_fault(f, "exit")) _exit(DIT_EXIT_CASE);
    if (has_fault(f, "orphan")) leave_orphan();
    if (has_fault(f, "greedy")) take_memory();
    if (has_fault(f, "hang")) sleep(LATER_S);
}

/* As the engine's: a rank must not outlive its launcher. */
static void die_with_parent(void)
{
    pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(DIT_EXIT_CASE);
}

int main(int argc, char **argv)
{
    static fake f;
    signal(SIGUSR1, SIG_IGN); /* asked where it is, it has nothing to say */
    dit_status st = read_arguments(argc, argv, &f);
    if (st == DIT_OK) st = read_behaviour(&f);
    if (st == DIT_OK) st = read_case(&f);
    if (st == DIT_OK) {
        die_with_parent();
        make_times(&f);
        fail_as_told(&f);
        wait_as_long(&f);
        st = write_record(&f);
    }
    if (st != DIT_OK) dit_error_print("ditbench-engine-fake");
    dit_json_release(&f.kase);
    dit_json_release(&f.told);
    return st == DIT_OK ? 0 : dit_status_exit_code(st);
}
