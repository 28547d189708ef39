/* Launching: every way a case can end becomes the right outcome, and nothing of it stays behind. The engine here is a
 * few lines of shell, so that each ending can be made on purpose. */
#include "base/clock.h"
#include "suite/launch/launch.h"
#include "suite/launch/scratch.h"
#include "suite/launch/stuck_ranks.h"
#include "suite/paths.h"

#include "base/tests/test.h"

#include <sys/stat.h>
#include <sys/wait.h>

static char folder[TEST_FOLDER], engine[128], out_dir[128];

static int set_up(void **state)
{
    (void)state;
    if (test_folder_make(folder) != 0) return -1;
    snprintf(engine, sizeof engine, "%s/engine", folder);
    snprintf(out_dir, sizeof out_dir, "%s/out", folder);
    return mkdir(out_dir, 0777);
}

static int tear_down(void **state)
{
    (void)state;
    suite_scratch_close();
    return test_folder_remove(folder);
}

/* $OUT is the folder for records. */
static void write_engine(const char *body)
{
    char text[2048];
    int used = snprintf(text, sizeof text, "#!/bin/sh\nOUT=$4\n%s\n", body);
    test_file_write(engine, text, (size_t)used);
    assert_int_equal(chmod(engine, 0755), 0);
}

static suite_outcome launch(const char *body, double deadline_s)
{
    const suite_launcher *local;
    suite_outcome outcome;
    suite_launch_plan plan = {.engine = engine,
                              .case_file = "case.json",
                              .out_dir = out_dir,
                              .world_size = 1,
                              .threads_per_rank = 1,
                              .cores = 2};
    suite_launch_options options = {.deadline_s = deadline_s};
    write_engine(body);
    assert_int_equal(suite_launcher_find("local", &local), DIT_OK);
    assert_int_equal(suite_launch_run(local, &plan, &options, &outcome), DIT_OK);
    return outcome;
}

static const char *text_of(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text ? text : "";
}

#define RECORD "echo '{\"schema\":\"ditbench.record/1\"}' >$OUT/record.json\n"

static void endings_become_outcomes(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        dit_outcome status;
        const char *code;
    } rows[] = {
        {RECORD, DIT_OUTCOME_OK, ""},
        {"exit 0", DIT_OUTCOME_FAILED, "E_CRASH"},
        {"exit 3", DIT_OUTCOME_FAILED, "E_CRASH"},
        {"exit 77", DIT_OUTCOME_SKIPPED, "E_CRASH"},
        {"kill -SEGV $$", DIT_OUTCOME_FAILED, "E_CRASH"},
        {"kill -KILL $$", DIT_OUTCOME_FAILED, "E_CRASH"},
        {"echo '{' >$OUT/record.json", DIT_OUTCOME_FAILED, "E_JSON_SYNTAX"},
        {"echo '{\"schema\":\"x\"}' >$OUT/record.json", DIT_OUTCOME_FAILED, "E_JSON_VALUE"},
        {"echo '{\"code\":\"E_MEMORY\",\"message\":\"m\"}' >$OUT/error.json; exit 3", DIT_OUTCOME_OOM, "E_MEMORY"},
        {"echo '{\"code\":\"E_MISMATCH\",\"message\":\"m\"}' >$OUT/error.json; exit 6", DIT_OUTCOME_INVALID,
         "E_MISMATCH"},
        {"echo '{\"code\":\"E_MPI\",\"message\":\"m\"}' >$OUT/error.json; exit 3", DIT_OUTCOME_FAILED, "E_MPI"},
        {"echo '{\"code\":\"E_UNSUPPORTED\",\"message\":\"m\"}' >$OUT/error.json; exit 77", DIT_OUTCOME_SKIPPED,
         "E_UNSUPPORTED"},
        {"echo 'not json' >$OUT/error.json; exit 3", DIT_OUTCOME_FAILED, "E_CRASH"},
        {"echo '{\"schema\":\"ditbench.record/1\",\"communication_match\":false}' >$OUT/record.json",
         DIT_OUTCOME_INVALID, "E_BYTES_MISMATCH"},
        {"echo '{\"schema\":\"ditbench.record/1\",\"validation\":{\"pass\":false}}' >$OUT/record.json",
         DIT_OUTCOME_INVALID, "E_MISMATCH"},
        {"echo '{\"schema\":\"ditbench.record/1\",\"validation\":{\"finite\":false}}' >$OUT/record.json",
         DIT_OUTCOME_INVALID, "E_NONFINITE"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(suite_path_remove(out_dir), DIT_OK);
        assert_int_equal(suite_path_make(out_dir), DIT_OK);
        suite_outcome outcome = launch(rows[i].body, 10);
        assert_int_equal(outcome.status, rows[i].status);
        assert_string_equal(text_of(outcome.error, "code"), rows[i].code);
        suite_outcome_release(&outcome);
    }
}

/* What a wrong result is compared with is what it must agree with. */
static void a_wrong_result_names_what_it_differs_from(void **state)
{
    static const struct {
        const char *validation, *words;
    } rows[] = {{"\\\"rel_l2\\\":1,", "one-rank reference"},
                {"\\\"rel_l2\\\":1e-2,\\\"oracle_rel_l2\\\":1,", "its oracle"}};
    char body[256];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(body, sizeof body,
                 "echo \"{\\\"schema\\\":\\\"ditbench.record/1\\\",\\\"validation\\\":{%s\\\"pass\\\":false}}\" "
                 ">$OUT/record.json",
                 rows[i].validation);
        suite_outcome outcome = launch(body, 10);
        assert_int_equal(outcome.status, DIT_OUTCOME_INVALID);
        assert_non_null(strstr(text_of(outcome.error, "message"), rows[i].words));
        suite_outcome_release(&outcome);
    }
}

static void the_log_tells_why(void **state)
{
    (void)state;
    suite_outcome outcome = launch("echo out; echo err >&2; exit 9", 10);
    assert_string_equal(text_of(outcome.error, "log"), "out\nerr\n");
    assert_int_equal(outcome.exit_code, 9);
    suite_outcome_release(&outcome);
}

/* Processes whose environment says they belong to this launch. */
static int count_left(void)
{
    return suite_process_sweep(out_dir);
}

static void a_hang_ends_at_its_deadline_with_its_whole_tree(void **state)
{
    (void)state;
    int64_t started = dit_clock_ns();
    suite_outcome outcome = launch("trap '' TERM\nsetsid sh -c 'trap \"\" TERM; sleep 100; sleep 100' &\n"
                                   "(sleep 100 &)\nwhile :; do sleep 100; done",
                                   0.5);
    assert_int_equal(outcome.status, DIT_OUTCOME_TIMEOUT);
    assert_string_equal(text_of(outcome.error, "code"), "E_TIMEOUT");
    assert_true(dit_clock_ns() - started < INT64_C(6000000000));
    assert_int_equal(count_left(), 0);
    suite_outcome_release(&outcome);
}

/* As the engine tells it when it is asked with SIGUSR1; and an engine that tells nothing. */
static void a_late_case_says_where_its_ranks_are(void **state)
{
    (void)state;
    static const char *const lines[] = {"rank 0 waits for 8 bytes from rank 1 (ring send_recv for 1.0 s)",
                                        "rank 0 waits for nothing (step 3)", ""};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char body[512], message[512];
        snprintf(body, sizeof body, "trap '[ -z \"%s\" ] || echo \"%s\" >$OUT/position-0.txt' USR1\n%s", lines[i],
                 lines[i], "while :; do sleep 0.02; done");
        snprintf(message, sizeof message,
                 "the case did not finish within its deadline of 0.5 s; all its processes were ended%s%s",
                 *lines[i] ? "; " : "", lines[i]);
        suite_outcome outcome = launch(body, 0.5);
        const cJSON *positions = cJSON_GetObjectItemCaseSensitive(outcome.error, "positions");
        assert_int_equal(outcome.status, DIT_OUTCOME_TIMEOUT);
        assert_string_equal(text_of(outcome.error, "message"), message);
        assert_int_equal(cJSON_GetArraySize(positions), *lines[i] != '\0');
        if (*lines[i]) assert_string_equal(cJSON_GetArrayItem(positions, 0)->valuestring, lines[i]);
        suite_outcome_release(&outcome);
        assert_int_equal(suite_path_remove(out_dir), DIT_OK);
        assert_int_equal(suite_path_make(out_dir), DIT_OK);
    }
}

/* Those who hold the others up come first, and a message names four. */
static void a_message_names_suspects_first(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "rank 0 waits for 8 bytes from rank 1 (x)", "rank 1 waits for nothing (x)",   "rank 2 does not answer",
        "rank 3 waits for ranks 0 1 (x)",           "rank 4 waits for ranks 0 1 (x)", "rank 5 waits for ranks 0 1 (x)"};
    cJSON *positions = cJSON_CreateStringArray(lines, 6);
    dit_buffer message = {0};
    suite_positions_name(positions, &message);
    assert_string_equal(message.data,
                        "; rank 1 waits for nothing (x); rank 2 does not answer; rank 0 waits for 8 bytes "
                        "from rank 1 (x); rank 3 waits for ranks 0 1 (x); and 2 more");
    dit_buffer_release(&message);
    cJSON_Delete(positions);
}

static void orphans_of_a_crash_are_ended(void **state)
{
    (void)state;
    suite_outcome outcome = launch("setsid sleep 100 &\n(setsid sleep 100 &)\nkill -KILL $$", 10);
    assert_int_equal(outcome.status, DIT_OUTCOME_FAILED);
    assert_int_equal(count_left(), 0);
    suite_outcome_release(&outcome);
}

/* What a killed harness leaves behind is found by name. */
static void a_stale_tree_is_swept_by_name(void **state)
{
    (void)state;
    char marker[256];
    snprintf(marker, sizeof marker, "%s/p0", out_dir);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("DITBENCH_ATTEMPT", marker, 1);
        execlp("sleep", "sleep", "100", (char *)NULL);
        _exit(127);
    }

    usleep(100000); /* let it exec */
    snprintf(marker, sizeof marker, "%s/", out_dir);
    assert_int_equal(suite_process_sweep(marker), 1);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
}

static void a_signal_stops_the_case_and_is_no_outcome(void **state)
{
    (void)state;
    const suite_launcher *local;
    suite_outcome outcome;
    suite_signals signals;
    suite_launch_plan plan = {.engine = engine, .case_file = "c", .out_dir = out_dir, .world_size = 1};
    suite_launch_options options = {.deadline_s = 20, .signals = &signals};
    write_engine("sleep 100");
    assert_int_equal(suite_launcher_find("local", &local), DIT_OK);
    suite_signals_block(&signals);
    kill(getpid(), SIGTERM);
    assert_int_equal(suite_launch_run(local, &plan, &options, &outcome), DIT_OK);
    assert_true(outcome.interrupted);
    assert_int_equal(signals.received, SIGTERM);
    suite_signals_restore(&signals);
    assert_int_equal(count_left(), 0);
    suite_outcome_release(&outcome);
}

static void a_missing_engine_is_the_environments_fault(void **state)
{
    (void)state;
    const suite_launcher *local;
    suite_outcome outcome;
    char path[SUITE_PATH];
    suite_launch_plan plan = {.engine = "/no/such/engine", .case_file = "c", .out_dir = out_dir, .world_size = 1};
    suite_launch_options options = {0};
    assert_int_equal(suite_launcher_find("local", &local), DIT_OK);
    assert_int_equal(suite_launch_run(local, &plan, &options, &outcome), DIT_ERR_ENVIRONMENT);
    assert_int_equal(suite_launch_engine("/no/such/engine", path), DIT_ERR_ENVIRONMENT);
}

static char *command_line(const char *launcher, const suite_launch_plan *plan)
{
    const suite_launcher *row;
    suite_command command = {0};
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    assert_int_equal(suite_launcher_find(launcher, &row), DIT_OK);
    assert_int_equal(row->command(plan, &command), DIT_OK);
    suite_command_print(&command, file);
    fclose(file);
    suite_command_release(&command);
    return text;
}

static void commands_are_what_they_say(void **state)
{
    (void)state;
    suite_launch_plan plan = {.engine = "/e n",
                              .case_file = "c'.json",
                              .out_dir = "out",
                              .reference = "ref",
                              .scratch = "/s",
                              .world_size = 4,
                              .threads_per_rank = 1,
                              .cores = 2};
    char *text = command_line("mpirun", &plan);
    assert_non_null(strstr(text, "mpirun --oversubscribe --bind-to none -n 4"));
    assert_non_null(strstr(text, "--mca mpi_yield_when_idle 1"));
    assert_non_null(strstr(text, "--mca btl_vader_single_copy_mechanism none"));
    assert_non_null(strstr(text, "--mca btl_vader_backing_directory /s"));
    assert_non_null(strstr(text, "'/e n' --case 'c'\\''.json' --out out --reference ref"));
    assert_null(strstr(text, "--oracle"));
    free(text);
    plan.oracle = "oracle latents";
    text = command_line("mpirun", &plan);
    assert_non_null(strstr(text, "--reference ref --oracle 'oracle latents'"));
    free(text);
    plan.world_size = 2;
    plan.single_copy = true;
    text = command_line("print", &plan);
    assert_non_null(strstr(text, "--mca mpi_yield_when_idle 0"));
    assert_non_null(strstr(text, "--mca btl_vader_single_copy_mechanism cma"));
    free(text);
    text = command_line("srun", &plan);
    assert_non_null(strstr(text, "srun --mpi=pmix"));
    assert_non_null(strstr(text, "--ntasks=2 --cpus-per-task=1"));
    free(text);
    const suite_launcher *row;
    suite_command command = {0};
    assert_int_equal(suite_launcher_find("local", &row), DIT_OK);
    assert_int_equal(row->command(&plan, &command), DIT_ERR_USAGE);
    suite_command_release(&command);
    assert_int_equal(suite_launcher_find("mpirum", &row), DIT_ERR_NOT_FOUND);
    assert_non_null(strstr(dit_error_last()->hint, "mpirun"));
}

static void scratch_of_a_dead_owner_is_removed(void **state)
{
    (void)state;
    char stale[128], own[SUITE_PATH];
    const char *parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(stale, sizeof stale, "%s/ditbench.%u.%d.1", parent, (unsigned)getuid(), (int)getpid());
    assert_int_equal(mkdir(stale, 0700), 0);
    assert_int_equal(suite_scratch_open(own), DIT_OK);
    assert_int_equal(access(stale, F_OK), -1);
    assert_int_equal(access(own, F_OK), 0);
    suite_scratch_close();
    assert_int_equal(access(own, F_OK), -1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(endings_become_outcomes),
        TEST(a_wrong_result_names_what_it_differs_from),
        TEST(the_log_tells_why),
        TEST(a_hang_ends_at_its_deadline_with_its_whole_tree),
        TEST(a_late_case_says_where_its_ranks_are),
        TEST(a_message_names_suspects_first),
        TEST(orphans_of_a_crash_are_ended),
        TEST(a_stale_tree_is_swept_by_name),
        TEST(a_signal_stops_the_case_and_is_no_outcome),
        TEST(a_missing_engine_is_the_environments_fault),
        TEST(commands_are_what_they_say),
        TEST(scratch_of_a_dead_owner_is_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
