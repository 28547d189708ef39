/* Searching for a mesh: who is simulated in which order and who need not be, and the cache of what was simulated. */
#include "suite/search/race.h"
#include "suite/simulate/shape_cache.h"
#include "suite/simulate/shape_prune.h"

#include "base/tests/test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- the race ---------------------------------------------------------------------------------------------------- */

static void the_lowest_bound_goes_first(void **state)
{
    const suite_runner runners[] = {
        {.bound = 5}, {.bound = 3}, {.bound = 9, .time = 10}, {.bound = 3}, {.bound = 1, .out = true}, {.bound = 4}};
    int order[6];
    (void)state;
    assert_int_equal(suite_race_order(runners, 6, order), 4);
    const int wanted[] = {1, 3, 5, 0};
    assert_memory_equal(order, wanted, sizeof wanted);
}

static void who_cannot_win_need_not_run(void **state)
{
    suite_runner runners[] = {
        {.bound = 5}, {.bound = 3, .time = 4}, {.bound = 3.9}, {.bound = 4}, {.bound = 2, .group = 1}};
    (void)state;
    assert_near(suite_race_best(runners, 5, 0), 4, 0);
    assert_true(isinf(suite_race_best(runners, 5, 1)));
    assert_false(suite_race_is_open(runners, 5, 0, 0));
    assert_false(suite_race_is_open(runners, 5, 1, 0)); /* its time is known */
    assert_true(suite_race_is_open(runners, 5, 2, 0));
    assert_false(suite_race_is_open(runners, 5, 3, 0)); /* at best it is as fast */
    assert_true(suite_race_is_open(runners, 5, 4, 0));  /* the best of another group is no rival */
    assert_false(suite_race_is_open(runners, 5, 2, 0.03));
    assert_true(suite_race_is_open(runners, 5, 2, 0.02));
    runners[1].out = true;
    assert_true(suite_race_is_open(runners, 5, 0, 0));
}

/* Made-up meshes with random times and bounds: the search gives the least time, and a bound that is too high may not. */
static int run_race(suite_runner *runners, int count, const double *times, double *best)
{
    int order[64], runs = 0, open = suite_race_order(runners, count, order);
    for (int i = 0; i < open && suite_race_is_open(runners, count, order[i], 0); i++, runs++)
        runners[order[i]].time = times[order[i]];
    *best = suite_race_best(runners, count, 0);
    return runs;
}

static void the_best_is_that_of_running_all(void **state)
{
    enum { COUNT = 40, ROUNDS = 2000 };
    int all_runs = 0, wrong = 0;
    (void)state;
    srand(7);
    for (int round = 0; round < ROUNDS; round++) {
        suite_runner honest[COUNT], corrupted[COUNT];
        double times[COUNT], least = INFINITY, best;
        for (int i = 0; i < COUNT; i++) {
            double slack = 0.25 * rand() / RAND_MAX;
            times[i] = 1 + (double)rand() / RAND_MAX;
            least = fmin(least, times[i]);
            honest[i] = corrupted[i] = (suite_runner){.bound = times[i] * (1 - slack)};
            corrupted[i].bound *= 1.1;
        }
        all_runs += run_race(honest, COUNT, times, &best);
        assert_near(best, least, 0);
        run_race(corrupted, COUNT, times, &best);
        wrong += best > least;
    }
    assert_true(all_runs < ROUNDS * COUNT / 2);
    assert_true(wrong > 0);
}

/* ---- the cache --------------------------------------------------------------------------------------------------- */

static const char kase[] = "{\"run\":{\"num_inference_steps\":%d,\"width_px\":%d},\"parallel\":{\"ulysses_degree\":2}}";

static cJSON *make_case(int steps, int width)
{
    char text[256];
    snprintf(text, sizeof text, kase, steps, width);
    cJSON *document = cJSON_Parse(text);
    assert_non_null(document);
    return document;
}

static void open_cache(suite_shape_cache *cache)
{
    snprintf(cache->folder, sizeof cache->folder, "/tmp/ditbench-shapes-XXXXXX");
    assert_non_null(mkdtemp(cache->folder));
    snprintf(cache->ground, sizeof cache->ground, "0123456789abcdef0123456789abcdef");
}

/* Opens the cache on 2 x 8 L40 with one fitted value. */
static suite_shape_cache open_fitted(double many_peers_efficiency, int ranks, bool replay)
{
    suite_calibrated fitted = {SUITE_CALIBRATED_MANY_PEERS_EFFICIENCY, "pcie4-x16", many_peers_efficiency};
    suite_calibration calibration = {.values = &fitted, .value_count = 1};
    suite_simulate_params params = {
        .engine = "/proc/self/exe", .element = "fp16", .replay = replay, .calibration = &calibration};
    suite_shape_cache cache;
    cJSON *document = make_case(20, 512);
    assert_ok(suite_shape_cache_open(&params, document, ranks, "2x8xl40", "ditbench", &cache));
    cJSON_Delete(document);
    return cache;
}

/* That value is in no file that a simulation starts from: the case is told of it. */
static void what_was_simulated_with_other_fitted_links_is_not_known(void **state)
{
    (void)state;
    assert_int_equal(setenv("DITBENCH_WORKLOADS", DITBENCH_SOURCE_DIR "/workloads", 1), 0);
    suite_shape_cache one = open_fitted(0.25, 2, false), same = open_fitted(0.25, 16, false);
    suite_shape_cache other = open_fitted(0.5, 2, false), replayed = open_fitted(0.25, 2, true);
    assert_string_equal(one.ground, same.ground);
    assert_string_not_equal(one.ground, other.ground);
    assert_string_not_equal(one.ground, replayed.ground);
}

static void write_text(const char *path, const char *text, size_t bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* Opens the cache with an engine of these bytes. */
static suite_shape_cache open_engine(const char *bytes)
{
    char path[] = "/tmp/ditbench-engine-XXXXXX";
    suite_simulate_params params = {.engine = path, .element = "fp16"};
    suite_shape_cache cache;
    cJSON *document = make_case(20, 512);
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    write_text(path, bytes, strlen(bytes));
    assert_ok(suite_shape_cache_open(&params, document, 2, "8xl40", "ditbench", &cache));
    unlink(path);
    cJSON_Delete(document);
    return cache;
}

/* The commit in its records and the addresses of its functions change with every build; what it computes does not. */
static void an_engine_of_the_same_sources_is_known(void **state)
{
#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"
    (void)state;
    suite_shape_cache one = open_engine("commit a ditbench-engine-sim is made of " DIGEST "0");
    suite_shape_cache same = open_engine("commit bcd ditbench-engine-sim is made of " DIGEST "0 and more");
    suite_shape_cache other = open_engine("commit a ditbench-engine-sim is made of " DIGEST "1");
    suite_shape_cache torn = open_engine("commit a ditbench-engine-sim is made of " DIGEST);
    suite_shape_cache silent = open_engine("commit a"), changed = open_engine("commit b");
#undef DIGEST
    assert_string_equal(one.ground, same.ground);
    assert_string_not_equal(one.ground, other.ground);
    assert_string_not_equal(one.ground, torn.ground);
    assert_string_not_equal(silent.ground, changed.ground);
}

static const suite_simulated simulated = {
    .seconds = 2.5, .decode_seconds = 0.5, .steps = 4, .step_s = 0.1, .sent_bytes = 77, .memory_bytes = 1 << 20};

static bool knows(const suite_shape_cache *cache, int steps, int width, int ranks, suite_simulated *out)
{
    cJSON *document = make_case(steps, width);
    bool found = suite_shape_cache_find(cache, document, ranks, out);
    cJSON_Delete(document);
    return found;
}

static void what_was_simulated_is_known(void **state)
{
    suite_shape_cache cache = {{0}, {0}};
    suite_simulated found;
    (void)state;
    open_cache(&cache);
    cJSON *document = make_case(20, 512);
    assert_false(knows(&cache, 20, 512, 2, &found));
    assert_ok(suite_shape_cache_keep(&cache, document, 2, &simulated));
    assert_true(knows(&cache, 20, 512, 2, &found));
    assert_memory_equal(&found, &simulated, sizeof found);
    assert_true(knows(&cache, 30, 512, 2, &found));
    assert_near(found.seconds, 3.5, 1e-12);
    assert_true(knows(&cache, 5, 512, 2, &found));
    assert_near(found.seconds, 1.0, 1e-12);
    assert_false(knows(&cache, 4, 512, 2, &found)); /* of so few steps none repeats */
    assert_false(knows(&cache, 20, 1024, 2, &found));
    assert_false(knows(&cache, 20, 512, 4, &found));
    cache.ground[0] = 'f'; /* another machine, software, calibration or engine */
    assert_false(knows(&cache, 20, 512, 2, &found));
    cJSON_Delete(document);
    assert_ok(suite_path_remove(cache.folder));
}

static void steps_that_did_not_repeat_tell_nothing(void **state)
{
    suite_shape_cache cache = {{0}, {0}};
    suite_simulated found, all = simulated;
    (void)state;
    open_cache(&cache);
    all.steps = 20, all.step_s = 0;
    cJSON *document = make_case(20, 512);
    assert_ok(suite_shape_cache_keep(&cache, document, 2, &all));
    assert_true(knows(&cache, 20, 512, 2, &found));
    assert_false(knows(&cache, 30, 512, 2, &found));
    cJSON_Delete(document);
    assert_ok(suite_path_remove(cache.folder));
}

/* A search asks of every mesh: what is not found leaves no error behind that somebody else would report. */
static void what_cannot_be_looked_up_is_missing_without_an_error(void **state)
{
    suite_shape_cache cache = {{0}, {0}};
    suite_simulated found;
    (void)state;
    memset(cache.folder, 'x', sizeof cache.folder - 1);
    snprintf(cache.ground, sizeof cache.ground, "0123456789abcdef0123456789abcdef");
    dit_error_clear();
    assert_false(knows(&cache, 20, 512, 2, &found));
    assert_int_equal(dit_error_last()->status, DIT_OK);
}

/* Torn at any byte, or damaged, a file counts as missing; nothing crashes, and the next simulation mends it. */
static void a_damaged_file_is_missing(void **state)
{
    suite_shape_cache cache = {{0}, {0}};
    suite_simulated found;
    char key[DIT_HASH_HEX], path[2 * SUITE_PATH], *text;
    size_t length;
    (void)state;
    open_cache(&cache);
    cJSON *document = make_case(20, 512);
    assert_ok(suite_shape_cache_keep(&cache, document, 2, &simulated));
    assert_ok(suite_shape_cache_key(&cache, document, 2, key));
    snprintf(path, sizeof path, "%s/%.2s/%s.json", cache.folder, key, key);
    assert_ok(dit_file_read(path, 1 << 20, &text, &length));
    for (size_t bytes = 0; bytes + 1 < length; bytes++) {
        write_text(path, text, bytes);
        assert_false(knows(&cache, 20, 512, 2, &found));
    }
    char *digit = strstr(text, key); /* of another key */
    assert_non_null(digit);
    *digit = *digit == '0' ? '1' : '0';
    write_text(path, text, length);
    assert_false(knows(&cache, 20, 512, 2, &found));
    assert_ok(suite_shape_cache_keep(&cache, document, 2, &simulated));
    assert_true(knows(&cache, 20, 512, 2, &found));
    free(text);
    cJSON_Delete(document);
    assert_ok(suite_path_remove(cache.folder));
}

/* Writers at the same time: a reader sees a whole file of one of them, or none. */
static void writers_do_not_disturb_each_other(void **state)
{
    enum { WRITERS = 4, ROUNDS = 50 };
    suite_shape_cache cache = {{0}, {0}};
    suite_simulated found;
    pid_t writer[WRITERS];
    (void)state;
    open_cache(&cache);
    cJSON *document = make_case(20, 512);
    for (int i = 0; i < WRITERS; i++) {
        writer[i] = fork();
        assert_true(writer[i] >= 0);
        if (writer[i] > 0) continue;
        bool good = true;
        for (int round = 0; round < ROUNDS; round++)
            good = suite_shape_cache_keep(&cache, document, 2, &simulated) == DIT_OK && good;
        _exit(good ? 0 : 1);
    }
    bool seen = false;
    for (int round = 0; round < 500; round++) {
        bool now = knows(&cache, 20, 512, 2, &found);
        assert_true(now || !seen);
        seen = seen || now;
        if (now) assert_memory_equal(&found, &simulated, sizeof found);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(writer[i], &status, 0), writer[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    cJSON_Delete(document);
    assert_ok(suite_path_remove(cache.folder));
}

/* Sets when a file was last asked for. */
static void set_age(const char *path, time_t now, long seconds)
{
    const struct timespec times[2] = {{.tv_sec = now - seconds}, {.tv_sec = now - seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void what_nobody_asked_for_is_deleted(void **state)
{
    enum { DAY = 86400, OLD = (SUITE_SHAPE_DAYS + 1) * DAY };
    suite_shape_cache cache = {{0}, {0}};
    suite_simulated found;
    char key[DIT_HASH_HEX], path[2 * SUITE_PATH], other[2 * SUITE_PATH];
    const time_t now = time(NULL);
    (void)state;
    open_cache(&cache);
    cJSON *document = make_case(20, 512);
    assert_ok(suite_shape_cache_keep(&cache, document, 2, &simulated));
    assert_ok(suite_shape_cache_key(&cache, document, 2, key));
    snprintf(path, sizeof path, "%s/%.2s/%s.json", cache.folder, key, key);
    snprintf(other, sizeof other, "%s/%.2s/notes.txt", cache.folder, key);
    write_text(other, "mine", 4);
    set_age(other, now, OLD);
    assert_int_equal(suite_shape_prune(cache.folder, now), 0); /* it is new */
    set_age(path, now, OLD);
    assert_int_equal(suite_shape_prune(cache.folder, now), 0); /* that was done today */
    assert_true(knows(&cache, 20, 512, 2, &found));            /* and now somebody asks for it */
    assert_int_equal(suite_shape_prune(cache.folder, now + 2 * DAY), 0);
    set_age(path, now, OLD);
    assert_int_equal(suite_shape_prune(cache.folder, now + 4 * DAY), 1);
    assert_false(knows(&cache, 20, 512, 2, &found));
    assert_int_equal(access(other, F_OK), 0); /* what is not ours stays */
    cJSON_Delete(document);
    assert_ok(suite_path_remove(cache.folder));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lowest_bound_goes_first),
        cmocka_unit_test(who_cannot_win_need_not_run),
        cmocka_unit_test(the_best_is_that_of_running_all),
        cmocka_unit_test(what_was_simulated_is_known),
        cmocka_unit_test(what_was_simulated_with_other_fitted_links_is_not_known),
        cmocka_unit_test(an_engine_of_the_same_sources_is_known),
        cmocka_unit_test(steps_that_did_not_repeat_tell_nothing),
        cmocka_unit_test(what_cannot_be_looked_up_is_missing_without_an_error),
        cmocka_unit_test(a_damaged_file_is_missing),
        cmocka_unit_test(writers_do_not_disturb_each_other),
        cmocka_unit_test(what_nobody_asked_for_is_deleted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
