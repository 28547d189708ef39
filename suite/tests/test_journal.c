/* The journal: nothing written is lost, nothing torn is believed, nothing changed goes unnoticed. */
#include "base/file.h"
#include "suite/session/history.h"
#include "suite/session/journal.h"

#include "base/tests/test.h"

#include <sys/stat.h>

static char folder[TEST_FOLDER], path[128];

static int set_up(void **state)
{
    (void)state;
    if (test_folder_make(folder) != 0) return -1;
    snprintf(path, sizeof path, "%s/journal.jsonl", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return test_folder_remove(folder);
}

static cJSON *event(const char *kind, int number)
{
    cJSON *line = cJSON_CreateObject();
    cJSON_AddStringToObject(line, "kind", kind);
    cJSON_AddNumberToObject(line, "number", number);
    return line;
}

static void append(suite_journal *journal, const char *kind, int number)
{
    cJSON *line = event(kind, number);
    assert_int_equal(suite_journal_append(journal, line), DIT_OK);
    cJSON_Delete(line);
}

static void write_lines(int count)
{
    suite_journal *journal;
    assert_int_equal(suite_journal_open(path, NULL, NULL, &journal), DIT_OK);
    for (int i = 0; i < count; i++) append(journal, "note", i);
    suite_journal_close(journal);
}

static void put(const char *text, size_t length)
{
    test_file_write(path, text, length);
}

static dit_status count_numbers(void *context, int line, const dit_json *document)
{
    int *next = context;
    assert_int_equal(cJSON_GetObjectItem(document->root, "number")->valueint, *next);
    assert_int_equal(line, *next + 1);
    ++*next;
    return DIT_OK;
}

static void lines_come_back_in_order(void **state)
{
    (void)state;
    suite_journal_extent extent;
    int next = 0;
    write_lines(5);
    assert_int_equal(suite_journal_read(path, count_numbers, &next, &extent), DIT_OK);
    assert_int_equal(next, 5);
    assert_int_equal(extent.lines, 5);
    assert_false(extent.torn);
}

static void a_journal_goes_on_where_it_stopped(void **state)
{
    (void)state;
    suite_journal *journal;
    int next = 0;
    write_lines(3);
    assert_int_equal(suite_journal_open(path, NULL, NULL, &journal), DIT_OK);
    assert_int_equal(suite_journal_lines(journal), 3);
    append(journal, "note", 3);
    suite_journal_close(journal);
    assert_int_equal(suite_journal_read(path, count_numbers, &next, NULL), DIT_OK);
    assert_int_equal(next, 4);
}

/* Cut at every byte of the file: whole lines stay, the rest is torn, and appending repairs it. */
static void a_torn_last_line_never_happened(void **state)
{
    (void)state;
    char *text;
    size_t length;
    write_lines(3);
    assert_int_equal(dit_file_read(path, 1 << 20, &text, &length), DIT_OK);
    for (size_t cut = 0; cut <= length; cut++) {
        suite_journal_extent extent;
        suite_journal *journal;
        int whole = 0, next = 0;
        for (size_t i = 0; i < cut; i++) whole += text[i] == '\n';
        put(text, cut);
        assert_int_equal(suite_journal_read(path, NULL, NULL, &extent), DIT_OK);
        assert_int_equal(extent.lines, whole);
        assert_int_equal(extent.torn, cut > 0 && text[cut - 1] != '\n');
        assert_int_equal(suite_journal_open(path, NULL, NULL, &journal), DIT_OK);
        append(journal, "note", whole);
        suite_journal_close(journal);
        assert_int_equal(suite_journal_read(path, count_numbers, &next, NULL), DIT_OK);
        assert_int_equal(next, whole + 1);
    }
    free(text);
}

/* Every byte of the middle line, changed in a way that keeps it text. */
static void a_changed_byte_is_noticed_with_its_line(void **state)
{
    (void)state;
    char *text;
    size_t length;
    write_lines(3);
    assert_int_equal(dit_file_read(path, 1 << 20, &text, &length), DIT_OK);
    char *begin = strchr(text, '\n') + 1, *end = strchr(begin, '\n');
    for (char *byte = begin; byte < end; byte++) {
        char kept = *byte;
        *byte = kept == '7' ? '8' : '7';
        put(text, length);
        dit_status st = suite_journal_read(path, NULL, NULL, NULL);
        assert_true(st == DIT_ERR_INTEGRITY || st == DIT_ERR_JOURNAL);
        assert_non_null(strstr(dit_error_last()->message, "journal.jsonl:2:"));
        *byte = kept;
    }
    free(text);
}

static void a_missing_or_moved_line_breaks_the_chain(void **state)
{
    (void)state;
    char *text, moved[4096];
    size_t length;
    write_lines(3);
    assert_int_equal(dit_file_read(path, 1 << 20, &text, &length), DIT_OK);
    char *second = strchr(text, '\n') + 1, *third = strchr(second, '\n') + 1;
    int used = snprintf(moved, sizeof moved, "%.*s%s", (int)(second - text), text, third);
    put(moved, (size_t)used);
    assert_int_equal(suite_journal_read(path, NULL, NULL, NULL), DIT_ERR_INTEGRITY);
    assert_non_null(strstr(dit_error_last()->message, ":2:"));
    used =
        snprintf(moved, sizeof moved, "%.*s%s%.*s", (int)(second - text), text, third, (int)(third - second), second);
    put(moved, (size_t)used);
    assert_int_equal(suite_journal_read(path, NULL, NULL, NULL), DIT_ERR_INTEGRITY);
    put(second, length - (size_t)(second - text));
    assert_int_equal(suite_journal_read(path, NULL, NULL, NULL), DIT_ERR_INTEGRITY);
    free(text);
}

static void hostile_lines_are_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "\n",
        "{}\n",
        "null\n",
        "[1]\n",
        "garbage\n",
        "{\"hash\":\"0123456789abcdef0123456789abcdef\"}\n",
        "{\"hash\":\"0123456789abcdef0123456789abcdef\",\"kind\":\"x\"}\n",
        "{\"hash\":\"short\",\"kind\":\"session\",\"prev\":\"00000000000000000000000000000000\"}\n",
        "{\"kind\":\"session\",\"hash\":\"0123456789abcdef0123456789abcdef\"}\n",
        "\xff\xfe\n",
        "{\"hash\":\"\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        put(lines[i], strlen(lines[i]));
        dit_status st = suite_journal_read(path, NULL, NULL, NULL);
        assert_true(st == DIT_ERR_INTEGRITY || st == DIT_ERR_JOURNAL);
        assert_non_null(strstr(dit_error_last()->message, ":1:"));
    }
    put("\0\0\0\n", 4);
    assert_int_equal(suite_journal_read(path, NULL, NULL, NULL), DIT_ERR_JOURNAL);
}

/* Lines that hash rightly but mean nothing: {"hash":"H",BODY for a BODY of ours. */
static void put_hashed(const char *body)
{
    char hash[DIT_HASH_HEX], line[1024];
    dit_hash(body, strlen(body), hash);
    int used = snprintf(line, sizeof line, "{\"hash\":\"%s\",%s\n", hash, body + 1);
    put(line, (size_t)used);
}

static void hashed_nonsense_is_refused(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "{\"kind\":1,\"prev\":\"00000000000000000000000000000000\"}",
        "{\"kind\":\"x\"}",
        "{\"kind\":\"x\",\"prev\":\"00000000000000000000000000000000\",\"prev\":\"\"}",
        "{\"kind\":\"x\",\"prev\":\"00000000000000000000000000000000\"} trailing",
        "{\"kind\":\"x\",\"n\":1e999,\"prev\":\"00000000000000000000000000000000\"}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        put_hashed(bodies[i]);
        assert_int_equal(suite_journal_read(path, NULL, NULL, NULL), DIT_ERR_JOURNAL);
    }
    suite_history history;
    put_hashed("{\"kind\":\"result\",\"prev\":\"00000000000000000000000000000000\"}");
    assert_int_equal(suite_history_load(path, &history), DIT_ERR_JOURNAL);
    put_hashed("{\"kind\":\"session\",\"prev\":\"00000000000000000000000000000000\",\"schema\":\"other\"}");
    assert_int_equal(suite_history_load(path, &history), DIT_ERR_JOURNAL);
    put_hashed(
        "{\"kind\":\"session\",\"prev\":\"00000000000000000000000000000000\",\"schema\":\"ditbench.journal/2\"}");
    assert_int_equal(suite_history_load(path, &history), DIT_ERR_JOURNAL);
    assert_non_null(strstr(dit_error_last()->message, "\"ditbench.journal/2\" is newer than \"ditbench.journal/1\""));
    assert_non_null(strstr(dit_error_last()->message, path));
    put_hashed(
        "{\"kind\":\"session\",\"prev\":\"00000000000000000000000000000000\",\"schema\":\"ditbench.journal/0\"}");
    assert_int_equal(suite_history_load(path, &history), DIT_ERR_JOURNAL);
    assert_non_null(strstr(dit_error_last()->message, "older than \"ditbench.journal/1\""));
    put("", 0);
    assert_int_equal(suite_history_load(path, &history), DIT_ERR_JOURNAL);
}

static void two_writers_cannot_have_it(void **state)
{
    (void)state;
    suite_journal *first, *second;
    assert_int_equal(suite_journal_open(path, NULL, NULL, &first), DIT_OK);
    assert_true(suite_journal_locked(path));
    assert_int_equal(suite_journal_open(path, NULL, NULL, &second), DIT_ERR_USAGE);
    assert_null(second);
    suite_journal_close(first);
    assert_false(suite_journal_locked(path));
    assert_int_equal(suite_journal_open(path, NULL, NULL, &second), DIT_OK);
    suite_journal_close(second);
}

static void a_number_that_json_cannot_carry_is_not_written(void **state)
{
    (void)state;
    suite_journal *journal;
    struct stat facts;
    cJSON *line = event("note", 0);
    assert_int_equal(suite_journal_open(path, NULL, NULL, &journal), DIT_OK);
    cJSON_AddNumberToObject(line, "bad", 0.0 / 0.0);
    assert_int_not_equal(suite_journal_append(journal, line), DIT_OK);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_size, 0);
    cJSON_Delete(line);
    suite_journal_close(journal);
}

static void the_newest_result_of_a_process_counts(void **state)
{
    (void)state;
    suite_journal *journal;
    suite_history history;
    static const char id[] = "0123456789abcdef0123456789abcdef";
    assert_int_equal(suite_journal_open(path, NULL, NULL, &journal), DIT_OK);
    cJSON *head = event("session", 0);
    cJSON_AddStringToObject(head, "schema", "ditbench.journal/1");
    assert_int_equal(suite_journal_append(journal, head), DIT_OK);
    cJSON_Delete(head);
    for (int i = 0; i < 2; i++) {
        cJSON *line = event("result", i);
        cJSON_AddStringToObject(line, "case_id", id);
        cJSON_AddNumberToObject(line, "process", 4);
        cJSON_AddStringToObject(line, "status", i ? "ok" : "timeout");
        assert_int_equal(suite_journal_append(journal, line), DIT_OK);
        cJSON_Delete(line);
    }
    suite_journal_close(journal);
    assert_int_equal(suite_history_load(path, &history), DIT_OK);
    assert_int_equal(history.result_count, 2);
    assert_true(history.results[0].superseded);
    assert_false(history.results[1].superseded);
    assert_int_equal(suite_history_find(&history, id, 4)->status, DIT_OUTCOME_OK);
    assert_null(suite_history_find(&history, id, 3));
    assert_false(history.complete);
    suite_history_release(&history);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(lines_come_back_in_order),
        TEST(a_journal_goes_on_where_it_stopped),
        TEST(a_torn_last_line_never_happened),
        TEST(a_changed_byte_is_noticed_with_its_line),
        TEST(a_missing_or_moved_line_breaks_the_chain),
        TEST(hostile_lines_are_refused),
        TEST(hashed_nonsense_is_refused),
        TEST(two_writers_cannot_have_it),
        TEST(a_number_that_json_cannot_carry_is_not_written),
        TEST(the_newest_result_of_a_process_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
