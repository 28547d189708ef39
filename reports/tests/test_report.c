/* The whole way, from the fixture's journal to files. Golden files stand in golden/; after an intended change:
 *     REPORTS_GOLDEN_UPDATE=1 make test DITBENCH_TEST_FILTER=reports, then read the diff.
 */
#include "reports/draw/gnuplot.h"
#include "reports/report.h"

#include "reports/tests/page_check.h"
#include "reports/tests/scratch.h"

#include <sys/stat.h>

static void need_gnuplot(void)
{
    if (gnuplot_check("gnuplot") == DIT_OK) return;
    print_message("gnuplot is not installed\n");
    skip();
}

static void write_report(const char *session, const char *name, report_summary *summary)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s/%s", scratch, name);
    const report_options options = {.session_folder = session, .output_folder = folder, .quiet = true};
    if (report_write(&options, summary) != DIT_OK) fail_msg("%s", dit_error_last()->message);
    report_summary_release(summary);
}

static char *read_output(const char *name, const char *file, size_t *length)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/%s", scratch, name, file);
    return test_file_read(path, length);
}

/* Pictures inside the page are compared as files of their own. */
static void cut_pictures(char *page)
{
    char *from = page, *to = page;
    for (char *picture; (picture = strstr(from, ";base64,")); from = strchr(picture, '"')) {
        size_t length = (size_t)(picture + 8 - from);
        memmove(to, from, length);
        to += length;
    }
    memmove(to, from, strlen(from) + 1);
}

static void compare_golden(const char *file)
{
    char path[512];
    size_t length = 0, golden_length = 0;
    char *text = read_output("first", file, &length);
    if (strstr(file, ".html")) {
        cut_pictures(text);
        length = strlen(text);
    }
    snprintf(path, sizeof path, "%s/%s", GOLDEN_FOLDER, file);
    if (getenv("REPORTS_GOLDEN_UPDATE")) test_file_write(path, text, length);
    char *golden = test_file_read(path, &golden_length);
    size_t same = 0;
    while (same < length && same < golden_length && text[same] == golden[same]) same++;
    if (length != golden_length || same < length) {
        fail_msg("%s differs from its golden file at byte %zu: %.120s", file, same, text + (same > 20 ? same - 20 : 0));
    }
    free(golden);
    free(text);
}

static const char *const figure_ids[] = {"latency", "scaling", "split", "bytes", "memory"};

static void the_fixture_gives_the_golden_files(void **state)
{
    (void)state;
    static const char *const suffixes[] = {"csv", "dat", "gp"};
    report_summary summary;
    need_gnuplot();
    write_report(FIXTURE_FOLDER, "first", &summary);
    assert_int_equal(summary.cases, 4);
    assert_int_equal(summary.cases_ok, 3);
    assert_int_equal(summary.results, 28);
    assert_int_equal(summary.dropped, 1);
    assert_int_equal(summary.figures, 5);
    assert_int_equal(summary.figures_failed, 0);
    assert_int_equal(summary.claims_held, 2);
    assert_int_equal(summary.claims_failed, 1);
    assert_int_equal(summary.claims_undecided, 1);
    assert_true(summary.complete);
    for (int i = 0; i < 5; i++) {
        for (int s = 0; s < 3; s++) {
            char file[64];
            snprintf(file, sizeof file, "%s.%s", figure_ids[i], suffixes[s]);
            compare_golden(file);
        }
    }
    compare_golden("results.csv");
    compare_golden("claims.json");
    compare_golden("report.html");
}

/* What a reader looks for comes first: numbers in the head, then figures, verdicts, tables. */
static void the_page_begins_with_its_figures(void **state)
{
    (void)state;
    static const char *const order[] = {"<h1>",           "class=\"lead\"",    "aria-label=\"On this page\"",
                                        "id=\"figures\"", "id=\"claims\"",     "id=\"results\"",
                                        "id=\"dropped\"", "id=\"environment\""};
    report_summary summary;
    size_t length = 0;
    need_gnuplot();
    write_report(FIXTURE_FOLDER, "first", &summary);
    char *page = read_output("first", "report.html", &length);
    assert_int_equal(check_page(page, false), 5);
    const char *at = page;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const char *next = strstr(at, order[i]);
        if (!next)
            fail_msg("%s does not follow", order[i]);
        else
            at = next;
    }
    assert_null(strstr(page, "filter:invert"));
    assert_contains(page, "<picture><source media=\"(max-width:700px)\" srcset=\"data:image/svg+xml;base64,");
    free(page);
    page = read_output("first", "latency-narrow.svg", &length);
    assert_contains(page, "prefers-color-scheme:dark"); /* it has its colours on dark pages, too */
    assert_contains(page, "</svg>");
    free(page);
}

/* The golden pictures come from 5.4.4; other versions word their SVG differently. */
static bool is_gnuplot_of_the_golden_files(void)
{
    char version[64] = "";
    FILE *pipe = popen("gnuplot --version", "r");
    if (!pipe) return false;
    bool read = fgets(version, sizeof version, pipe) != NULL;
    pclose(pipe);
    return read && strstr(version, "gnuplot 5.4 patchlevel 4") != NULL;
}

static void the_svg_is_the_golden_one(void **state)
{
    (void)state;
    report_summary summary;
    need_gnuplot();
    if (!is_gnuplot_of_the_golden_files()) skip();
    write_report(FIXTURE_FOLDER, "first", &summary);
    compare_golden("latency.svg");
    compare_golden("scaling.svg");
}

static void the_same_records_give_the_same_bytes(void **state)
{
    (void)state;
    report_summary summary;
    need_gnuplot();
    write_report(FIXTURE_FOLDER, "first", &summary);
    write_report(FIXTURE_FOLDER, "second", &summary);
    for (int i = 0; i < 5; i++) {
        for (int png = 0; png < 2; png++) {
            char file[64];
            size_t first_length, second_length;
            snprintf(file, sizeof file, "%s.%s", figure_ids[i], png ? "png" : "svg");
            char *first = read_output("first", file, &first_length),
                 *second = read_output("second", file, &second_length);
            assert_int_equal(first_length, second_length);
            assert_memory_equal(first, second, first_length);
            assert_true(first_length > 1000);
            free(first);
            free(second);
        }
    }
}

static void write_session(const char *name, const char *workload, const char *lines, char folder[256])
{
    char path[300];
    dit_buffer text = {0};
    snprintf(folder, 256, "%s/%s", scratch, name);
    snprintf(path, sizeof path, "%s/journal.jsonl", folder);
    assert_int_equal(mkdir(folder, 0777), 0);
    dit_buffer_printf(
        &text, "{\"kind\":\"session\",\"schema\":\"ditbench.journal/1\",\"session_id\":\"<s>\",\"workload\":%s}\n%s",
        workload, lines);
    test_file_write(path, text.data, text.used);
    dit_buffer_release(&text);
}

#define HOSTILE                                                                                                        \
    "</title><script>alert(1)</script>`touch pwned` '; system 'touch pwned' # $(touch pwned) \\\\ \\\" \\u0001"

static void hostile_strings_stay_strings(void **state)
{
    (void)state;
    char folder[256], path[300];
    report_summary summary;
    size_t length = 0;
    need_gnuplot();
    write_session(
        "hostile",
        "{\"title\":\"" HOSTILE "\",\"plots\":[{\"id\":\"../../x y\",\"kind\":\"latency_bars\",\"title\":\"" HOSTILE
        "\"},{\"id\":\"claims\",\"kind\":\"memory\",\"title\":\"t\"},{\"id\":\"n\",\"kind\":\"" HOSTILE "\"},7,"
        "{\"id\":\"w\",\"kind\":\"memory\",\"title\":\"t\",\"where\":\"" HOSTILE "\"}],"
        "\"expect\":[{\"id\":\"c\",\"claim\":\"" HOSTILE "\",\"expr\":\"" HOSTILE "\"},null]}",
        "{\"kind\":\"result\",\"case_id\":\"" HOSTILE "\",\"label\":\"" HOSTILE "\",\"process\":0,\"status\":\"ok\","
        "\"tags\":{\"model\":\"" HOSTILE "\",\"method\":\"" HOSTILE "\",\"mesh\":\"" HOSTILE "\",\"world_size\":1},"
        "\"record\":{\"evidence\":\"measured\",\"samples\":{\"latency_ns\":[5]},\"memory\":{\"weights_bytes\":5}}}\n"
        "{\"kind\":\"result\",\"case_id\":\"d\",\"label\":\"d\",\"process\":0,\"status\":\"failed\",\"tags\":{},"
        "\"error\":{\"code\":\"" HOSTILE "\",\"message\":\"" HOSTILE "\",\"log\":\"" HOSTILE "\"}}\n"
        "{\"kind\":\"dropped\",\"cell\":{\"a\":\"" HOSTILE "\"},\"code\":\"" HOSTILE "\",\"reason\":\"" HOSTILE "\"}\n",
        folder);
    write_report(folder, "hostile/report", &summary);
    assert_int_equal(summary.figures, 2);
    assert_int_equal(summary.figures_failed, 3);
    assert_int_equal(summary.claims_undecided, 2);
    char *page = read_output("hostile/report", "report.html", &length);
    assert_int_equal(check_page(page, false), 2);
    assert_null(strstr(page, "<script"));
    assert_null(strstr(page, "</title><"));
    assert_non_null(strstr(page, "&lt;script&gt;"));
    free(page);
    page = read_output("hostile/report", "______x_y.svg", &length);
    assert_null(strstr(page, "<script"));
    free(page);
    snprintf(path, sizeof path, "%s/report/pwned", folder);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_not_equal(access("pwned", F_OK), 0);
}

static void without_gnuplot_all_but_the_pictures_is_written(void **state)
{
    (void)state;
    static const char *const files[] = {"results.csv", "claims.json", "latency.csv", "latency.gp", "memory.dat"};
    char folder[256], path[512];
    size_t length = 0;
    report_summary summary;
    snprintf(folder, sizeof folder, "%s/none", scratch);
    const report_options options = {
        .session_folder = FIXTURE_FOLDER, .output_folder = folder, .gnuplot = "/nonexistent/gnuplot", .quiet = true};
    assert_int_equal(report_write(&options, &summary), DIT_ERR_ENVIRONMENT);
    report_summary_release(&summary);
    assert_contains(dit_error_last()->hint, "apt-get install gnuplot-nox");
    assert_int_equal(summary.figures + summary.figures_failed, 0);
    assert_int_equal(summary.figures_missing, 5);
    assert_int_equal(summary.claims_held, 2);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        free(read_output("none", files[i], &length));
        assert_true(length > 40);
    }
    snprintf(path, sizeof path, "%s/latency.svg", folder);
    assert_int_not_equal(access(path, F_OK), 0);
    char *page = read_output("none", "report.html", &length);
    assert_int_equal(check_page(page, false), 0);
    assert_contains(page, "The figures are not drawn: gnuplot is not installed.");
    assert_contains(page, "<a href=\"latency.csv\">CSV</a>");
    assert_null(strstr(page, "latency.svg"));
    free(page);
}

static void a_figure_that_cannot_be_drawn_is_said_on_the_page(void **state)
{
    (void)state;
    char folder[256];
    size_t length = 0;
    report_summary summary;
    snprintf(folder, sizeof folder, "%s/silent", scratch);
    const report_options options = {
        .session_folder = FIXTURE_FOLDER, .output_folder = folder, .gnuplot = "true", .quiet = true};
    assert_int_equal(report_write(&options, &summary), DIT_OK); /* "true" runs and draws nothing */
    report_summary_release(&summary);
    assert_int_equal(summary.figures, 0);
    assert_int_equal(summary.figures_failed, 5);
    char *page = read_output("silent", "report.html", &length);
    assert_contains(page, "E_IO");
    free(page);
}

static void without_plots_each_kind_with_data_is_drawn(void **state)
{
    (void)state;
    char folder[256], path[300];
    report_summary summary;
    need_gnuplot();
    write_session("plain", "{}",
                  "{\"kind\":\"result\",\"case_id\":\"c\",\"process\":0,\"status\":\"ok\",\"tags\":{\"world_size\":1,"
                  "\"mesh\":\"1\"},"
                  "\"record\":{\"samples\":{\"latency_ns\":[5]}}}\n{\"kind\":\"res",
                  folder);
    write_report(folder, "plain/report", &summary);
    assert_int_equal(summary.figures, 1); /* latency; nothing else has numbers, one point is no scaling */
    assert_int_equal(summary.figures_failed, 0);
    assert_true(summary.torn);
    snprintf(path, sizeof path, "%s/report/memory.svg", folder);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void more_than_a_picture_holds_is_counted(void **state)
{
    (void)state;
    char folder[256];
    report_summary summary;
    size_t length = 0;
    dit_buffer lines = {0};
    need_gnuplot();
    for (int i = 0; i < 100; i++) {
        dit_buffer_printf(&lines,
                          "{\"kind\":\"result\",\"case_id\":\"%d\",\"label\":\"c%d\",\"process\":0,\"status\":\"ok\","
                          "\"tags\":{\"seed\":%d,\"world_size\":1},\"record\":{\"samples\":{\"latency_ns\":[5]}}}\n",
                          i, i, i);
    }
    write_session("large", "{}", lines.data, folder);
    dit_buffer_release(&lines);
    write_report(folder, "large/report", &summary);
    assert_int_equal(summary.figures, 1);
    char *page = read_output("large/report", "report.html", &length);
    assert_contains(page, "76 further cases are not drawn");
    free(page);
}

static void distances_are_lines_over_what_they_depend_on(void **state)
{
    (void)state;
    static const double distance[2][3] = {{0.25, 0.03125, 0}, {0.5, 0.0625, 2e-7}};
    char folder[256];
    report_summary summary;
    size_t length = 0;
    dit_buffer lines = {0};
    need_gnuplot();
    for (int i = 0; i < 6; i++)
        dit_buffer_printf(&lines,
                          "{\"kind\":\"result\",\"case_id\":\"%d\",\"label\":\"c%d\",\"process\":0,\"status\":\"ok\","
                          "\"tags\":{\"world_size\":2,\"num_pipeline_patch\":%d,\"warmup_steps\":%d},\"record\":{"
                          "\"validation\":{\"rel_l2\":%g,\"psnr_db\":%d}}}\n",
                          i, i, 2 << i % 2, i / 2, distance[i % 2][i / 2], 20 + i);
    write_session("error",
                  "{\"plots\":[{\"id\":\"far\",\"kind\":\"error\",\"title\":\"t\",\"series\":\"num_pipeline_patch\"},"
                  "{\"id\":\"near\",\"kind\":\"psnr\",\"title\":\"t\",\"series\":\"num_pipeline_patch\"}]}",
                  lines.data, folder);
    dit_buffer_release(&lines);
    write_report(folder, "error/report", &summary);
    assert_int_equal(summary.figures, 2);
    char *script = read_output("error/report", "far.gp", &length),
         *data = read_output("error/report", "far.dat", &length);
    assert_contains(script, "set logscale y 10\nset yrange [1e-9:1e0]");
    assert_contains(script, "('0' 0, '1' 1, '2' 2)");
    assert_contains(script, "plot 1e-05 with lines");
    assert_contains(script, "'bands 4'");
    assert_contains(data, "# index 0: 2\n# x distance\n0 0.25\n1 0.03125\n2 1e-09\n"); /* zero at the foot */
    assert_contains(data, "# index 1: 4\n# x distance\n0 0.5\n1 0.0625\n2 2e-07\n");
    free(script);
    free(data);
    script = read_output("error/report", "near.gp", &length);
    assert_null(strstr(script, "logscale"));
    assert_contains(script, "PSNR of the latents [dB]");
    free(script);
}

/* Of four cases one is both slower and worse than another, beyond the intervals of both; fewer steps are missing until one
 * case has them. */
static void quality_over_time_tells_what_is_dominated(void **state)
{
    (void)state;
    static const struct {
        const char *cache, *policy;
        int steps, ms;
        double low, value, high;
    } cases[] = {{"none", "none", 20, 200, 0.8, 0.85, 0.9},
                 {"fbcache(0.1)", "fbcache", 20, 100, 0.81, 0.86, 0.91},
                 {"fbcache(0.4)", "fbcache", 20, 150, 0.5, 0.55, 0.6},
                 {"none", "none", 6, 80, 0.6, 0.7, 0.82}};
    char folder[256];
    report_summary summary;
    size_t length = 0;
    dit_buffer lines = {0};
    need_gnuplot();
    for (int i = 0; i < 4; i++)
        dit_buffer_printf(&lines,
                          "{\"kind\":\"result\",\"case_id\":\"%d\",\"label\":\"c%d\",\"process\":0,\"status\":\"ok\","
                          "\"tags\":{\"model\":\"m\","
                          "\"world_size\":1,\"mesh\":\"1\",\"cache\":\"%s\",\"cache_policy\":\"%s\",\"steps\":%d},"
                          "\"record\":{\"samples\":{"
                          "\"latency_ns\":[%d000000]},\"quality\":{\"accuracy\":{\"all\":{\"low\":%g,\"value\":%g,"
                          "\"high\":%g}},\"renders\":{"
                          "\"kid\":{\"value\":-0.01}}}}}\n",
                          i, i, cases[i].cache, cases[i].policy, cases[i].steps, cases[i].ms, cases[i].low,
                          cases[i].value, cases[i].high);
    write_session(
        "pareto",
        "{\"plots\":[{\"id\":\"all\",\"kind\":\"pareto\",\"title\":\"t\"},{\"id\":\"twenty\",\"kind\":\"pareto\","
        "\"title\":\"t\",\"where\":\"steps == 20\"}],\"expect\":[{\"id\":\"kid\",\"claim\":\"c\",\"expr\":"
        "\"all('kid < 0')\"}]}",
        lines.data, folder);
    dit_buffer_release(&lines);
    write_report(folder, "pareto/report", &summary);
    assert_int_equal(summary.figures, 2);
    char *data = read_output("pareto/report", "all.dat", &length),
         *script = read_output("pareto/report", "all.gp", &length),
         *twenty = read_output("pareto/report", "twenty.gp", &length),
         *csv = read_output("pareto/report", "all.csv", &length);
    assert_contains(data, "100 86 100 100 81 91 0\n150 55 150 150 50 60 1\n"); /* in order of time; slower and worse */
    assert_contains(data, "80 70 80 80 60 82 0\n200 85 200 200 80 90 0\n");    /* worse within the intervals */
    assert_contains(script, "'0.4'");
    assert_contains(script, "'6 steps'");
    assert_null(strstr(script, "no runs with fewer steps"));
    assert_contains(twenty, "no runs with fewer steps beside it");
    assert_contains(csv, ",latency_s,unit,reason");
    free(data);
    free(script);
    free(twenty);
    free(csv);
}

/* Eight caches on one rank: points differ in colour or in shape, although the method has one colour. */
static void every_series_of_a_method_looks_different(void **state)
{
    (void)state;
    enum { POLICIES = 8 };
    char folder[256], *looks[POLICIES];
    report_summary summary;
    size_t length = 0;
    int count = 0;
    dit_buffer lines = {0};
    need_gnuplot();
    for (int i = 0; i < POLICIES; i++)
        dit_buffer_printf(
            &lines,
            "{\"kind\":\"result\",\"case_id\":\"%d\",\"label\":\"c%d\",\"process\":0,\"status\":\"ok\","
            "\"tags\":{\"model\":\"m\",\"method\":\"single\",\"world_size\":1,\"cache\":\"%c(1)\","
            "\"cache_policy\":\"%c\",\"steps\":20},\"record\":{\"samples\":{\"latency_ns\":[%d]},\"quality\":{"
            "\"accuracy\":{\"all\":{\"low\":0.1,\"value\":0.5,\"high\":0.9}}}}}\n",
            i, i, 'a' + i, 'a' + i, 100 + i);
    write_session("looks",
                  "{\"plots\":[{\"id\":\"all\",\"kind\":\"pareto\",\"title\":\"t\",\"series\":\"method, "
                  "cache_policy\"}]}",
                  lines.data, folder);
    dit_buffer_release(&lines);
    write_report(folder, "looks/report", &summary);
    char *script = read_output("looks/report", "all.gp", &length);
    for (char *at = script; (at = strstr(at, "($7==0?$2:NaN)")) && count < POLICIES; at++) looks[count++] = at;
    assert_int_equal(count, POLICIES);
    for (int i = 0; i < POLICIES; i++)
        for (int j = 0; j < i; j++) assert_false(strncmp(looks[i], looks[j], strcspn(looks[i], "\n")) == 0);
    free(script);
}

static void warnings_stand_above_the_figures_with_their_cases(void **state)
{
    (void)state;
    char folder[256];
    report_summary summary;
    size_t length = 0;
    dit_buffer lines = {0};
    need_gnuplot();
    for (int i = 0; i < 3; i++) {
        dit_buffer_printf(&lines,
                          "{\"kind\":\"result\",\"case_id\":\"%d\",\"label\":\"c%d\",\"process\":0,\"status\":\"ok\","
                          "\"tags\":{\"seed\":%d,\"world_size\":1},\"record\":{\"samples\":{\"latency_ns\":[5]}%s}}\n",
                          i, i, i, i == 1 ? "" : ",\"warnings\":[\"throttled: power_cap\"]");
    }
    write_session("warned", "{}", lines.data, folder);
    dit_buffer_release(&lines);
    write_report(folder, "warned/report", &summary);
    char *page = read_output("warned/report", "report.html", &length);
    check_page(page, false);
    assert_contains(page, "<li>throttled: power_cap: c0; c2</li>");
    assert_true(strstr(page, "these numbers may be off") < strstr(page, "id=\"figures\""));
    free(page);
    write_report(FIXTURE_FOLDER, "first", &summary);
    page = read_output("first", "report.html", &length);
    assert_null(strstr(page, "these numbers may be off"));
    free(page);
}

static void what_a_person_changed_and_said_stands_in_the_head(void **state)
{
    (void)state;
    char folder[256];
    report_summary summary;
    size_t length = 0;
    need_gnuplot();
    write_session(
        "said",
        "{\"set\":{\"steps\":50,\"model\":\"<m>\"}},\"name\":\"mine\",\"tags\":[\"a\",\"b\"],\"note\":\"n & m\"", "",
        folder);
    write_report(folder, "said/report", &summary);
    char *page = read_output("said/report", "report.html", &length),
         *facts = read_output("said/report", "report.json", &length);
    check_page(page, false);
    assert_contains(page, "<dt>name</dt><dd>mine</dd>");
    assert_contains(page, "<dt>tags</dt><dd>a, b</dd>");
    assert_contains(page, "<dt>note</dt><dd>n &amp; m</dd>");
    assert_contains(page, "<dt>parameters changed by --set</dt><dd>steps = 50, model = &lt;m&gt;</dd>");
    assert_contains(facts, "\"note\": \"n & m\"");
    free(page);
    free(facts);
}

static void an_empty_session_still_has_a_page(void **state)
{
    (void)state;
    char folder[256];
    report_summary summary;
    size_t length = 0;
    need_gnuplot();
    write_session("empty", "[]", "", folder);
    write_report(folder, "empty/report", &summary);
    assert_int_equal(summary.figures + summary.figures_failed, 0);
    char *page = read_output("empty/report", "report.html", &length);
    assert_contains(page, "no case has numbers to draw");
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fixture_gives_the_golden_files),
        cmocka_unit_test(the_page_begins_with_its_figures),
        cmocka_unit_test(the_svg_is_the_golden_one),
        cmocka_unit_test(the_same_records_give_the_same_bytes),
        cmocka_unit_test(hostile_strings_stay_strings),
        cmocka_unit_test(without_gnuplot_all_but_the_pictures_is_written),
        cmocka_unit_test(a_figure_that_cannot_be_drawn_is_said_on_the_page),
        cmocka_unit_test(without_plots_each_kind_with_data_is_drawn),
        cmocka_unit_test(more_than_a_picture_holds_is_counted),
        cmocka_unit_test(distances_are_lines_over_what_they_depend_on),
        cmocka_unit_test(quality_over_time_tells_what_is_dominated),
        cmocka_unit_test(every_series_of_a_method_looks_different),
        cmocka_unit_test(warnings_stand_above_the_figures_with_their_cases),
        cmocka_unit_test(what_a_person_changed_and_said_stands_in_the_head),
        cmocka_unit_test(an_empty_session_still_has_a_page),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
