/* The file of chosen algorithms: what is kept between runs, and that no damage to it is more than a loss. */
#include "kernels/cuda/algorithms.h"

#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"

#include "base/tests/test.h"

#include <sys/stat.h>
#include <sys/wait.h>

enum { ENTRIES = 9 };
static char folder[TEST_FOLDER], path[128];

static int set_up(void **state)
{
    (void)state;
    dit_log_set_level(DIT_LOG_ERROR);
    if (test_folder_make(folder) != 0) return 1;
    snprintf(path, sizeof path, "%s/linear.algorithms", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return test_folder_remove(folder);
}

static dit_algorithms *opened(const char *where)
{
    dit_algorithms *a;
    assert_int_equal(dit_algorithms_open(where, "linear", &a), DIT_OK);
    return a;
}

static const char *key_of(int i)
{
    static char key[64];
    snprintf(key, sizeof key, "NVIDIA_H200|bf16|%dx3072x12288", i);
    return key;
}

static dit_algorithm algorithm_of(int i)
{
    dit_algorithm a = {.way = i - 2, .workspace_bytes = (int64_t)i << 33, .time_ns = 1000 + i};
    for (int j = 0; j < DIT_ALGORITHM_BYTES; j++) a.bytes[j] = (uint8_t)(17 * i + 5 * j);
    return a;
}

static void store(dit_algorithms *a, int i)
{
    dit_algorithm chosen = algorithm_of(i);
    assert_int_equal(dit_algorithms_store(a, key_of(i), &chosen), DIT_OK);
}

/* Whether entry i is there; if so it is what was stored. */
static bool holds(const dit_algorithms *a, int i)
{
    dit_algorithm found = {0}, stored = algorithm_of(i);
    if (!dit_algorithms_find(a, key_of(i), &found)) return false;
    assert_int_equal(found.way, stored.way);
    assert_int_equal(found.workspace_bytes, stored.workspace_bytes);
    assert_int_equal(found.time_ns, stored.time_ns);
    assert_memory_equal(found.bytes, stored.bytes, sizeof stored.bytes);
    return true;
}

static void fill_file(void)
{
    unlink(path);
    dit_algorithms *a = opened(folder);
    for (int i = 0; i < ENTRIES; i++) store(a, i);
    dit_algorithms_close(a);
}

static void what_is_stored_is_there_in_the_next_run(void **state)
{
    (void)state;
    fill_file();
    dit_algorithms *a = opened(folder);
    assert_int_equal(dit_algorithms_count(a), ENTRIES);
    for (int i = 0; i < ENTRIES; i++) assert_true(holds(a, i));
    assert_false(holds(a, ENTRIES));
    dit_algorithms_close(a);
}

static void the_newest_choice_of_a_key_counts(void **state)
{
    (void)state;
    fill_file();
    dit_algorithms *a = opened(folder);
    dit_algorithm found, other = algorithm_of(100);
    assert_int_equal(dit_algorithms_store(a, key_of(3), &other), DIT_OK);
    dit_algorithms_close(a);
    a = opened(folder);
    assert_int_equal(dit_algorithms_count(a), ENTRIES);
    assert_true(dit_algorithms_find(a, key_of(3), &found));
    assert_memory_equal(found.bytes, other.bytes, sizeof other.bytes);
    dit_algorithms_close(a);
}

static void without_a_folder_choices_live_in_memory(void **state)
{
    (void)state;
    dit_algorithms *a = opened(NULL);
    for (int i = 0; i < 100; i++) store(a, i);
    for (int i = 0; i < 100; i++) assert_true(holds(a, i));
    dit_algorithms_close(a);
}

static void a_folder_that_is_not_there_is_made(void **state)
{
    char deep[128], file[160], middle[128];
    (void)state;
    snprintf(middle, sizeof middle, "%s/a", folder);
    snprintf(deep, sizeof deep, "%s/a/b", folder);
    snprintf(file, sizeof file, "%s/linear.algorithms", deep);
    dit_algorithms *a = opened(deep);
    assert_int_not_equal(access(deep, F_OK), 0); /* reading makes nothing */
    store(a, 1);
    dit_algorithms_close(a);
    a = opened(deep);
    assert_true(holds(a, 1));
    dit_algorithms_close(a);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(deep), 0);
    assert_int_equal(rmdir(middle), 0);
}

static void what_cannot_be_written_is_still_known(void **state)
{
    (void)state;
    dit_algorithms *a = opened("/proc/ditbench-no-such-folder");
    for (int i = 0; i < 3; i++) store(a, i);
    for (int i = 0; i < 3; i++) assert_true(holds(a, i));
    dit_algorithms_close(a);
}

static void keys_that_would_not_be_read_back_are_refused(void **state)
{
    char longest[DIT_ALGORITHM_KEY + 1];
    dit_algorithm chosen = algorithm_of(1), found;
    (void)state;
    memset(longest, 'k', sizeof longest);
    longest[DIT_ALGORITHM_KEY] = '\0';
    unlink(path);
    dit_algorithms *a = opened(folder);
    assert_int_equal(dit_algorithms_store(a, longest, &chosen), DIT_ERR_INTERNAL);
    assert_int_equal(dit_algorithms_store(a, "", &chosen), DIT_ERR_INTERNAL);
    assert_int_equal(dit_algorithms_store(a, "two words", &chosen), DIT_ERR_INTERNAL);
    assert_int_equal(dit_algorithms_store(a, "line\n", &chosen), DIT_ERR_INTERNAL);
    longest[DIT_ALGORITHM_KEY - 1] = '\0';
    assert_int_equal(dit_algorithms_store(a, longest, &chosen), DIT_OK);
    dit_algorithms_close(a);
    a = opened(folder);
    assert_true(dit_algorithms_find(a, longest, &found));
    assert_int_equal(dit_algorithms_count(a), 1);
    dit_algorithms_close(a);
}

/* What is found is what was stored, however much is lost. */
static int64_t whole_entries(void)
{
    dit_algorithms *a = opened(folder);
    int64_t whole = 0;
    for (int i = 0; i < ENTRIES; i++) whole += holds(a, i);
    assert_int_equal(dit_algorithms_count(a), whole);
    store(a, 0); /* and can be added to */
    dit_algorithms_close(a);
    a = opened(folder);
    assert_true(holds(a, 0));
    dit_algorithms_close(a);
    return whole;
}

static void a_truncated_file_loses_only_its_end(void **state)
{
    char *text;
    size_t length;
    int64_t last = 0;
    (void)state;
    fill_file();
    assert_int_equal(dit_file_read(path, 1 << 20, &text, &length), DIT_OK);
    for (size_t cut = 0; cut <= length; cut += cut + 31 < length ? 31 : 1) {
        test_file_write(path, text, cut);
        int64_t whole = whole_entries();
        assert_true(whole == last || whole == last + 1);
        last = whole;
    }
    assert_int_equal(last, ENTRIES);
    free(text);
}

static void a_damaged_byte_loses_at_most_its_line(void **state)
{
    char *text;
    size_t length;
    (void)state;
    fill_file();
    assert_int_equal(dit_file_read(path, 1 << 20, &text, &length), DIT_OK);
    size_t heading = strcspn(text, "\n");
    for (uint64_t i = 0; i < 150; i++) {
        size_t at = (size_t)dit_rng_below(5, 1, i, length);
        char kept = text[at], other = (char)dit_rng_below(5, 2, i, 256);
        text[at] = other;
        test_file_write(path, text, length);
        int64_t whole = whole_entries();
        if (kept == other)
            assert_int_equal(whole, ENTRIES);
        else if (at <= heading || !other)
            assert_int_equal(whole, 0);
        else
            assert_in_range(whole, ENTRIES - 2, ENTRIES - 1); /* a lost end of line joins two */
        text[at] = kept;
    }
    free(text);
}

static void foreign_files_are_rewritten(void **state)
{
    static const char *const texts[] = {"",
                                        "\n",
                                        "{\"version\": 1}\n",
                                        "ditbench algorithms 2\nx 1 2 3 4\n",
                                        "ditbench algorithms 1",
                                        "ditbench algorithms 1\n\n\n"};
    static char noise[5000], zeros[300], line[20000];
    (void)state;
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (char)dit_rng_below(5, 3, i, 256);
    memset(line, 'a', sizeof line);
    memcpy(line, "ditbench algorithms 1\n", 22);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        test_file_write(path, texts[i], strlen(texts[i]));
        assert_int_equal(whole_entries(), 0);
    }
    test_file_write(path, noise, sizeof noise);
    assert_int_equal(whole_entries(), 0);
    test_file_write(path, zeros, sizeof zeros);
    assert_int_equal(whole_entries(), 0);
    test_file_write(path, line, sizeof line);
    assert_int_equal(whole_entries(), 0);
}

static void a_folder_in_the_place_of_the_file_is_no_crash(void **state)
{
    (void)state;
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    dit_algorithms *a = opened(folder);
    store(a, 4);
    assert_true(holds(a, 4));
    dit_algorithms_close(a);
    assert_int_equal(rmdir(path), 0);
}

/* Each of several processes adds its own; the file is whole all the while, and none loses what lay there before. */
static void ranks_that_write_at_once_leave_a_whole_file(void **state)
{
    enum { RANKS = 4, EACH = 20 };
    pid_t children[RANKS];
    (void)state;
    fill_file();
    for (int rank = 0; rank < RANKS; rank++) {
        children[rank] = fork();
        if (children[rank]) continue;
        dit_algorithms *a = opened(folder);
        for (int i = 0; i < EACH; i++) store(a, ENTRIES + rank * EACH + i);
        _exit(0);
    }
    for (int rank = 0; rank < RANKS; rank++) {
        int status;
        assert_int_equal(waitpid(children[rank], &status, 0), children[rank]);
        assert_int_equal(status, 0);
    }
    dit_algorithms *a = opened(folder);
    int64_t added = 0;
    for (int i = 0; i < ENTRIES; i++) assert_true(holds(a, i));
    for (int i = ENTRIES; i < ENTRIES + RANKS * EACH; i++) added += holds(a, i);
    assert_true(added >= EACH); /* whoever wrote last has all its own */
    assert_int_equal(dit_algorithms_count(a), ENTRIES + added);
    dit_algorithms_close(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_stored_is_there_in_the_next_run),
        cmocka_unit_test(the_newest_choice_of_a_key_counts),
        cmocka_unit_test(without_a_folder_choices_live_in_memory),
        cmocka_unit_test(a_folder_that_is_not_there_is_made),
        cmocka_unit_test(what_cannot_be_written_is_still_known),
        cmocka_unit_test(keys_that_would_not_be_read_back_are_refused),
        cmocka_unit_test(a_truncated_file_loses_only_its_end),
        cmocka_unit_test(a_damaged_byte_loses_at_most_its_line),
        cmocka_unit_test(foreign_files_are_rewritten),
        cmocka_unit_test(a_folder_in_the_place_of_the_file_is_no_crash),
        cmocka_unit_test(ranks_that_write_at_once_leave_a_whole_file),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
