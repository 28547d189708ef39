/* The index page over sessions, and links that sources become. The sessions are copies of the fixture's journal. */
#include "reports/draw/gnuplot.h"
#include "reports/page/html_link.h"
#include "reports/report.h"
#include "reports/sessions.h"

#include "reports/tests/page_check.h"
#include "reports/tests/scratch.h"

#include <sys/stat.h>

static void need_gnuplot(void)
{
    if (gnuplot_check("gnuplot") == DIT_OK) return;
    print_message("gnuplot is not installed\n");
    skip();
}

static void write_file(const char *name, const char *text, size_t length)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    test_file_write(path, text, length);
}

/* A session folder with the fixture's journal, and where asked its page. */
static void make_session(const char *name, bool with_page)
{
    char folder[300], file[300];
    report_summary summary;
    size_t length = 0;
    char *journal = test_file_read(FIXTURE_FOLDER "/journal.jsonl", &length);
    snprintf(folder, sizeof folder, "%s/%s", scratch, name);
    snprintf(file, sizeof file, "%s/journal.jsonl", name);
    mkdir(folder, 0777);
    write_file(file, journal, length);
    free(journal);
    if (!with_page) return;
    const report_options options = {.session_folder = folder, .quiet = true, .program = "one"};
    assert_int_equal(report_write(&options, &summary), DIT_OK);
    report_summary_release(&summary);
}

static char *write_index(const char *program, report_sessions *sessions)
{
    char path[REPORT_PATH];
    size_t length = 0;
    assert_int_equal(report_sessions_read(scratch, program, sessions), DIT_OK);
    assert_int_equal(report_index_write(sessions, path), DIT_OK);
    return test_file_read(path, &length);
}

static void the_index_is_a_sound_page_over_all_sessions(void **state)
{
    (void)state;
    report_sessions sessions;
    need_gnuplot();
    make_session("a b", true); /* a name that an address must quote */
    make_session("plain", false);
    make_session("damaged", false);
    write_file("damaged/journal.jsonl", "{\"kind\":\n", 9);
    char *page = write_index("one", &sessions);
    assert_int_equal(sessions.count, 3);
    assert_int_equal(check_page(page, true), 1);
    assert_contains(page, "<a href=\"a%20b/report/report.html\">Fixture: made-up test data</a>");
    assert_contains(page, "src=\"a%20b/report/latency.svg\"");
    assert_contains(page, "alt=\"Made-up latency. Bars: latency over ranks, 1 panel.");
    assert_contains(page, "2 hold</span>");
    assert_contains(page, "<code>ditbench report plain</code>");
    assert_contains(page, "<code>ditbench verify damaged</code>");
    free(page);
    report_sessions_release(&sessions);
}

static bool is_current(const char *name, const char *program)
{
    report_sessions sessions;
    bool current = false;
    assert_int_equal(report_sessions_read(scratch, program, &sessions), DIT_OK);
    for (int i = 0; i < sessions.count; i++) {
        if (strcmp(sessions.rows[i].name, name) == 0) current = sessions.rows[i].current;
    }
    report_sessions_release(&sessions);
    return current;
}

static void a_page_is_current_for_its_journal_and_its_program(void **state)
{
    (void)state;
    char path[300];
    size_t length = 0;
    need_gnuplot();
    make_session("now", true);
    assert_true(is_current("now", "one"));
    assert_false(is_current("now", "two"));
    snprintf(path, sizeof path, "%s/now/journal.jsonl", scratch);
    char *journal = test_file_read(path, &length);
    char *digit = strstr(journal, "latency_ns\":[");
    digit[13] = digit[13] == '9' ? '8' : '9'; /* as long, with another number */
    write_file("now/journal.jsonl", journal, length);
    free(journal);
    assert_false(is_current("now", "one"));
}

static void hostile_facts_stay_text(void **state)
{
    (void)state;
    static const char facts[] = "{\"title\":\"</h2><script>alert(1)</script>\",\"workload\":\"\\\" "
                                "onload=x\",\"figures\":[{\"id\":\"../\\\"><script>\","
                                "\"text\":\"\\\"><script>\"}],\"claims\":{\"holds\":\"x\"},\"journal\":7,\"cases\":-1}";
    char folder[300];
    report_sessions sessions;
    make_session("hostile", false);
    snprintf(folder, sizeof folder, "%s/hostile/report", scratch);
    mkdir(folder, 0777);
    write_file("hostile/report/report.json", facts, sizeof facts - 1);
    char *page = write_index("one", &sessions);
    check_page(page, true);
    assert_null(strstr(page, "<script"));
    assert_contains(page, "&lt;script&gt;alert(1)");
    free(page);
    report_sessions_release(&sessions);
}

static void a_folder_without_sessions_has_none(void **state)
{
    (void)state;
    report_sessions sessions;
    assert_int_equal(report_sessions_read("/nonexistent/results", "one", &sessions), DIT_OK);
    assert_int_equal(sessions.count, 0);
    report_sessions_release(&sessions);
}

/* ---- links ------------------------------------------------------------------------------------------------------- */

static void sources_that_name_a_place_are_links(void **state)
{
    (void)state;
    static const struct {
        const char *source, *html;
    } rows[] = {
        {"PipeFusion arXiv:2405.14430, a.png: 3 s",
         "PipeFusion <a href=\"https://arxiv.org/abs/2405.14430\">arXiv:2405.14430</a>, a.png: 3 s"},
        {"figures (arXiv 2411.01738), label",
         "figures (<a href=\"https://arxiv.org/abs/2411.01738\">arXiv 2411.01738</a>), label"},
        {"PipeFusion/PipeFusion: plots/L20(PCIe).py",
         "<a href=\"https://github.com/PipeFusion/PipeFusion/blob/HEAD/plots/L20%28PCIe%29.py\">PipeFusion/PipeFusion: "
         "plots/L20(PCIe).py</a>"},
        {"github o/n @744d01e1 (2026): x",
         "<a href=\"https://github.com/o/n/tree/744d01e1\">github o/n @744d01e1</a> (2026): x"},
        {"see https://example.org/a?b=1&c=2 there",
         "see <a href=\"https://example.org/a?b=1&amp;c=2\">https://example.org/a?b=1&amp;c=2</a> there"},
        {"https://x.org/\"onclick=alert(1)", "<a href=\"https://x.org/\">https://x.org/</a>&quot;onclick=alert(1)"},
        {"xDiT docs/performance/README.md: 6.71 s", "xDiT docs/performance/README.md: 6.71 s"},
        {"a/b: one <b> two.c", "a/b: one &lt;b&gt; two.c"},
        {"javascript:alert(1)", "javascript:alert(1)"},
        {"arXiv: none", "arXiv: none"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        dit_buffer out = {0};
        dit_buffer_text(&out, "");
        html_put_source(&out, rows[i].source);
        assert_false(out.failed);
        assert_string_equal(out.data, rows[i].html);
        dit_buffer_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_index_is_a_sound_page_over_all_sessions),
        cmocka_unit_test(a_page_is_current_for_its_journal_and_its_program),
        cmocka_unit_test(hostile_facts_stay_text),
        cmocka_unit_test(a_folder_without_sessions_has_none),
        cmocka_unit_test(sources_that_name_a_place_are_links),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
