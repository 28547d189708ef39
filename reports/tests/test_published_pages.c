/* Published points on pages: they look different from measured and simulated ones in figures and tables, and their
 * words stay text. */
#include "reports/draw/gnuplot.h"
#include "reports/report.h"

#include "reports/tests/page_check.h"
#include "reports/tests/published_fixture.h"
#include "reports/tests/scratch.h"

#include <sys/stat.h>

static void need_gnuplot(void)
{
    if (gnuplot_check("gnuplot") == DIT_OK) return;
    print_message("gnuplot is not installed\n");
    skip();
}

/* Writes the session into scratch/NAME and its report into scratch/NAME/report. */
static void report_of(const char *name, const char *workload, const char *lines, report_summary *summary)
{
    char folder[256], path[300];
    dit_buffer text = {0};
    snprintf(folder, sizeof folder, "%s/%s", scratch, name);
    snprintf(path, sizeof path, "%s/journal.jsonl", folder);
    assert_int_equal(mkdir(folder, 0777), 0);
    dit_buffer_printf(
        &text, "{\"kind\":\"session\",\"schema\":\"ditbench.journal/1\",\"session_id\":\"s\",\"workload\":%s}\n%s",
        workload, lines);
    test_file_write(path, text.data, text.used);
    dit_buffer_release(&text);
    const report_options options = {.session_folder = folder, .quiet = true};
    if (report_write(&options, summary) != DIT_OK) fail_msg("%s", dit_error_last()->message);
    report_summary_release(summary);
}

static char *read_output(const char *name, const char *file)
{
    char path[512];
    size_t length;
    snprintf(path, sizeof path, "%s/%s/report/%s", scratch, name, file);
    return test_file_read(path, &length);
}

static const struct {
    const char *id, *kind, *more;
} plots[] = {
    {"bars", "latency_bars", ""},
    {"lines", "latency", ",\"best\":\"hybrid\""},
    {"logs", "latency", ",\"axis\":\"log\""},
    {"sizes", "latency", ",\"x\":\"resolution\",\"series\":\"world_size\",\"best\":\"hybrid\""},
    {"scaling", "scaling", ""},
    {"speedup", "speedup", ""},
    {"phases", "phases", ""},
    {"memory", "memory", ""},
    {"split", "time_split", ""},
    {"agreement", "agreement", ""},
};
enum { PLOTS = (int)(sizeof plots / sizeof *plots) };

/* The session with one plot of each way to draw it, and a claim that does not hold. */
static void report_of_all(const char *name, const char *lines, report_summary *summary)
{
    dit_buffer workload = {0};
    dit_buffer_text(&workload, "{\"plots\":[");
    for (int i = 0; i < PLOTS; i++) {
        dit_buffer_printf(&workload, "%s{\"id\":\"%s\",\"kind\":\"%s\",\"title\":\"t\"%s}", i ? "," : "", plots[i].id,
                          plots[i].kind, plots[i].more);
    }
    dit_buffer_text(&workload, "],\"parameters\":\"p\",\"notes_for\":\"p\",\"expect\":[{\"id\":\"c\",\"claim\":\"c\","
                               "\"expr\":\"median('latency_s', mesh='u2') > 9\","
                               "\"because\":\"the mechanism <x> is missing\"}]}");
    report_of(name, workload.data, lines, summary);
    dit_buffer_release(&workload);
}

static void session_report(const char *name, report_summary *summary)
{
    dit_buffer lines = {0};
    make_session(&lines);
    report_of_all(name, lines.data, summary);
    dit_buffer_release(&lines);
}

static void all_kinds_draw_published_beside_simulated(void **state)
{
    (void)state;
    report_summary summary;
    need_gnuplot();
    session_report("kinds", &summary);
    assert_int_equal(summary.figures, PLOTS);
    assert_int_equal(summary.figures_failed, 0);
    assert_int_equal(summary.claims_failed, 1);
    char *script = read_output("kinds", "lines.gp"), *data = read_output("kinds", "lines.dat");
    assert_contains(script, "'published'"); /* its reading errors are inside the points */
    assert_contains(script, "dt (2,4)");    /* the best is dotted */
    assert_contains(script, "set label 'u2 r2'");
    assert_contains(script, "set label 'OOM'");
    assert_contains(script, "set label '(OOM)'");
    assert_contains(data, "# x value low high; published\n2 1 0.99 1.01\n3 1 0.99 1.01\n");
    assert_contains(data, ": ring\n# x y; a line\n1 2\n2 1.4\n\n4 1.1\n"); /* no memory at 4: the line breaks */
    free(script);
    free(data);
    script = read_output("kinds", "sizes.gp");
    assert_contains(script, "set label 'ranks 4'");
    free(script);
    script = read_output("kinds", "agreement.gp");
    assert_contains(script, "plot x with lines");
    assert_contains(script, "x*1.15 with lines dt 2");
    assert_contains(script, "x*0.85 with lines dt 2");
    free(script);
    script = read_output("kinds", "phases.gp");
    assert_contains(script, "'text encoders'");
    assert_contains(script, "'VAE decode'");
    free(script);
}

static void the_page_says_how_near_and_what_contradicts(void **state)
{
    (void)state;
    report_summary summary;
    need_gnuplot();
    session_report("page", &summary);
    char *page = read_output("page", "report.html"), *claims = read_output("page", "claims.json"),
         *csv = read_output("page", "published.csv");
    assert_int_equal(check_page(page, false), PLOTS);
    assert_contains(page, "<th scope=\"col\">read from</th></tr></thead>"); /* a heading for each cell, and no more */
    assert_contains(page, "<th scope=\"row\">latency, all</th><td data-title=\"compared\" class=\"num\">6</td><td "
                          "data-title=\"median error\" class=\"num\">20.0 %</td><td data-title=\"90th percentile\" "
                          "class=\"num\">40.0 %</td><td data-title=\"pairs in order\" class=\"num\">2 of 2 (100 "
                          "%)</td><td data-title=\"a tenth apart\" class=\"num\">2 of 2 (100 %)</td><td "
                          "data-title=\"out of memory, too\" class=\"num\">1 of 1 (100 %)</td>");
    assert_contains(page, "<th scope=\"row\">latency, in fit</th><td data-title=\"compared\" class=\"num\">1</td>");
    assert_contains(page, " 6 points: median error 20.0 %, 90th percentile 40.0 %, 2 of 2 pairs in the printed order.");
    assert_contains(page, "Median error to 6 published points: <strong>20.0 %</strong>. Claims: 1 fails.");
    assert_contains(page,
                    "Simulated platform: <strong>far</strong>. Software profile: <strong>pytorch-eager</strong>.");
    assert_contains(page, "Contradiction in paper: the label contradicts the &lt;axis&gt;");
    assert_contains(page, "best of the search");
    assert_contains(page, "not reproduced");
    assert_contains(page, "the mechanism &lt;x&gt; is missing");
    assert_contains(page, "<dt>evidence</dt><dd>simulated</dd>");
    assert_null(strstr(page, "How it was measured"));
    assert_contains(claims, "\"verdict\": \"fails\"");
    assert_contains(claims, "\"reproduction\": \"not reproduced\"");
    assert_contains(claims, "\"evidence\": \"simulated\"");
    assert_contains(claims, "\"because\": \"the mechanism <x> is missing\"");
    assert_contains(csv, "f.json,1,paper,toy 1024x1024 ulysses,latency_s,1,0.01,1.2,0.2,false,false,u2 1024x1024,");
    free(page);
    free(claims);
    free(csv);
}

/* A search of the panel would be its twin, but its time covers something else. */
static void a_point_of_another_scope_is_shown_and_compared_with_nothing(void **state)
{
    (void)state;
    static const made_case searched = {"hybrid", NULL, "1024x1024", 8, 0.75},
                           other = {"cfg", "cfg2", "1024x1024", 2, 1.0};
    report_summary summary;
    dit_buffer lines = {0};
    need_gnuplot();
    for (int i = 0; i < CASES; i++) add_simulated(&lines, &cases[i]);
    add_published(&lines, 0, &searched, ",\"not_compared\":\"the source times <less>\"");
    add_published(&lines, 1, &other, "");
    report_of("scope", "{\"plots\":[{\"id\":\"lines\",\"kind\":\"latency\",\"title\":\"t\",\"best\":\"hybrid\"}]}",
              lines.data, &summary);
    dit_buffer_release(&lines);
    char *page = read_output("scope", "report.html"), *data = read_output("scope", "lines.csv");
    check_page(page, false);
    assert_contains(page, "not compared: the source times &lt;less&gt;");
    assert_contains(page, "not compared: no case of this session is the same run");
    assert_null(strstr(page, "Median error to"));
    assert_contains(data, "0.75,0.74,0.76"); /* drawn all the same */
    free(page);
    free(data);
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) count++;
    return count;
}

/* Of the drawn data: "; measured" blocks, marks of a measured look, and rows of the CSV that say measured. */
static void assert_nothing_measured(const char *name)
{
    for (int i = 0; i < PLOTS; i++) {
        char file[64];
        snprintf(file, sizeof file, "%s.gp", plots[i].id);
        char *script = read_output(name, file);
        assert_null(strstr(script, "solid 1 noborder")); /* bars of measured numbers */
        assert_null(strstr(script, "pt 7 ps 0.9"));
        assert_null(strstr(script, "'measured'")); /* of the legend */
        assert_null(strstr(script, "measured · n ="));
        assert_contains(script, "'simulated: virtual time");
        free(script);
        snprintf(file, sizeof file, "%s.dat", plots[i].id);
        char *data = read_output(name, file);
        assert_null(strstr(data, "; measured"));
        free(data);
        snprintf(file, sizeof file, "%s.csv", plots[i].id);
        char *csv = read_output(name, file);
        assert_null(strstr(csv, ",measured,"));
        assert_true(count_of(csv, ",simulated,") > 0);
        free(csv);
    }
    char *csv = read_output(name, "results.csv"), *page = read_output(name, "report.html");
    assert_null(strstr(csv, ",measured,"));
    assert_true(count_of(csv, ",simulated,") > 0);
    assert_null(strstr(page, "<div class=\"small\">measured</div>"));
    free(csv);
    free(page);
}

/* Names, labels and platforms that call themselves measured: none makes a simulated number a measured one. */
static void a_simulated_number_is_never_drawn_or_tabled_as_measured(void **state)
{
    (void)state;
    report_summary summary;
    dit_buffer lines = {0};
    need_gnuplot();
    static const int ranks[] = {1, 2, 4};
    for (int i = 0; i < 3; i++) {
        dit_buffer_printf(
            &lines,
            "{\"kind\":\"result\",\"case_id\":\"measured%d\",\"label\":\"measured u%d\",\"process\":0,"
            "\"status\":\"ok\",\"evidence\":\"measured\",\"tags\":{\"model\":\"measured model\","
            "\"resolution\":\"1x1\",\"method\":\"ulysses\",\"mesh\":\"u%d\",\"world_size\":%d,"
            "\"platform\":\"local-cpu\",\"backend\":\"cpu\",\"kind\":\"measured\"},\"case\":{\"evidence\":"
            "\"measured\",\"platform\":{\"name\":\"local-cpu\",\"evidence\":\"measured\",\"backend\":"
            "\"cost\"}},\"record\":{\"evidence\":\"simulated\",\"Evidence\":\"measured\",\"samples\":"
            "{\"latency_ns\":[%d]},\"simulation\":{\"denoise_ns\":5},\"memory\":{\"weights_bytes\":5},"
            "\"time_split\":{\"compute_ns\":5}}}\n",
            i, ranks[i], ranks[i], ranks[i], 1000000000 / ranks[i]);
    }
    dit_buffer_text(&lines, "{\"kind\":\"published\",\"file\":\"f\",\"index\":1,\"source\":\"s\",\"evidence\":"
                            "\"measured\",\"metric\":\"latency_s\",\"value\":1,\"case_id\":\"measured1\",\"tags\":"
                            "{\"model\":\"measured model\",\"resolution\":\"1x1\",\"method\":\"ulysses\",\"mesh\":"
                            "\"u2\",\"world_size\":2,\"platform\":\"local-cpu\"}}\n");
    report_of_all("forged", lines.data, &summary);
    dit_buffer_release(&lines);
    assert_int_equal(summary.figures, PLOTS);
    assert_nothing_measured("forged");
    session_report("honest", &summary);
    assert_nothing_measured("honest");
}

/* Measured and simulated cases of one method: two series, each in its own look, in every kind that shows both. */
static void looks_differ_by_evidence(void **state)
{
    (void)state;
    static const char *const both[] = {"bars", "lines", "logs", "sizes", "scaling", "phases", "memory", "split"};
    static const made_case here[] = {{"single", "1", "1024x1024", 1, 2.1}, {"ulysses", "u2", "1024x1024", 2, 1.0}};
    report_summary summary;
    dit_buffer lines = {0};
    need_gnuplot();
    make_session(&lines);
    for (int i = 0; i < 2; i++) add_measured(&lines, &here[i], 6);
    report_of_all("both", lines.data, &summary);
    dit_buffer_release(&lines);
    assert_int_equal(summary.figures, PLOTS);
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        char file[64];
        snprintf(file, sizeof file, "%s.gp", both[i]);
        char *script = read_output("both", file);
        bool bars = strstr(script, "boxxyerror") != NULL, phases = strcmp(both[i], "phases") == 0;
        if (bars) assert_contains(script, "solid 0.35 border");
        if (bars && !phases) assert_contains(script, "solid 1 noborder");
        if (!bars) assert_contains(script, "ps 0.45");
        if (!bars) assert_contains(script, "ps 0.9 lw");
        assert_contains(script, "'simulated'");
        assert_contains(script, "'measured'");
        free(script);
    }
    char *csv = read_output("both", "lines.csv");
    assert_contains(csv, ",ulysses · measured,u2 1024x1024 here,");
    assert_contains(csv, ",ulysses · simulated,u2 1024x1024,");
    assert_contains(csv, ",hybrid · simulated,");
    free(csv);
    char *data = read_output("both", "lines.dat"); /* each line starts at the one-rank case of its own evidence */
    assert_contains(data, ": ulysses · measured\n# x y; a line\n1 2.1\n2 1\n");
    assert_contains(data, ": ulysses · simulated\n# x y; a line\n1 2\n2 1.2\n");
    free(data);
    csv = read_output("both", "agreement.csv");
    assert_contains(csv, ",reference,reference_evidence,");
    assert_int_equal(count_of(csv, ",measured,"), 2);
    assert_int_equal(count_of(csv, ",published,"), 6);
    free(csv);
}

static void the_same_session_gives_the_same_bytes(void **state)
{
    (void)state;
    report_summary summary;
    need_gnuplot();
    session_report("one", &summary);
    session_report("two", &summary);
    for (int i = 0; i < PLOTS; i++) {
        for (int png = 0; png < 2; png++) {
            char path[512];
            size_t length, again;
            snprintf(path, sizeof path, "%s/one/report/%s.%s", scratch, plots[i].id, png ? "png" : "svg");
            char *first = test_file_read(path, &length);
            snprintf(path, sizeof path, "%s/two/report/%s.%s", scratch, plots[i].id, png ? "png" : "svg");
            char *second = test_file_read(path, &again);
            assert_int_equal(length, again);
            assert_memory_equal(first, second, length);
            free(first);
            free(second);
        }
    }
    char *first = read_output("one", "report.html"), *second = read_output("two", "report.html");
    assert_string_equal(first, second);
    free(first);
    free(second);
}

#define HOSTILE "</title><script>alert(1)</script>`touch pwned` '; system 'touch pwned' # \\\\ \\\" \\u0001 \\u001f"

static void hostile_points_stay_text(void **state)
{
    (void)state;
    report_summary summary;
    dit_buffer lines = {0};
    need_gnuplot();
    dit_buffer_text(&lines,
                    "{\"kind\":\"result\",\"case_id\":\"c\",\"label\":\"c\",\"process\":0,\"status\":\"ok\"," ON(
                        "cost") ",\"tags\":{\"model\":\"m\",\"resolution\":\"1x1\",\"method\":\"" HOSTILE
                                "\",\"mesh\":\"" HOSTILE "\",\"world_size\":2}," SIMULATED "}\n");
    for (int i = 0; i < 2; i++) {
        dit_buffer_printf(
            &lines,
            "{\"kind\":\"published\",\"file\":\"" HOSTILE "\",\"index\":%d,\"source\":\"" HOSTILE
            "\",\"label\":\"" HOSTILE "\",\"provenance\":\"" HOSTILE "\",\"status\":\"" HOSTILE
            "\",\"metric\":\"latency_s\",\"value\":%s,\"rounding\":1e30,\"case_id\":\"c\",\"warnings\":[\"" HOSTILE
            "\"],\"tags\":{\"model\":\"m\",\"resolution\":\"1x1\",\"method\":\"" HOSTILE "\",\"mesh\":\"" HOSTILE
            "\",\"world_size\":2}}\n",
            i, i ? "1e30" : "1e-300");
    }
    report_of("hostile",
              "{\"plots\":[{\"id\":\"a\",\"kind\":\"latency\",\"title\":\"t\",\"best\":\"" HOSTILE "\"},"
              "{\"id\":\"b\",\"kind\":\"latency_bars\",\"title\":\"t\"},"
              "{\"id\":\"published\",\"kind\":\"agreement\",\"title\":\"t\"},"
              "{\"id\":\"d\",\"kind\":\"speedup\",\"title\":\"t\",\"axis\":\"log\"}]}",
              lines.data, &summary);
    dit_buffer_release(&lines);
    char *page = read_output("hostile", "report.html");
    assert_null(strstr(page, "<script"));
    assert_non_null(strstr(page, "&lt;script&gt;"));
    free(page);
    char path[512];
    snprintf(path, sizeof path, "%s/hostile/report/pwned", scratch);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_not_equal(access("pwned", F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_kinds_draw_published_beside_simulated),
        cmocka_unit_test(the_page_says_how_near_and_what_contradicts),
        cmocka_unit_test(a_point_of_another_scope_is_shown_and_compared_with_nothing),
        cmocka_unit_test(a_simulated_number_is_never_drawn_or_tabled_as_measured),
        cmocka_unit_test(looks_differ_by_evidence),
        cmocka_unit_test(the_same_session_gives_the_same_bytes),
        cmocka_unit_test(hostile_points_stay_text),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
