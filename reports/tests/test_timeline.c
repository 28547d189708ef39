/* Reading a trace: what is taken, and what is refused; and the figure from a session folder to its files. */
#include "base/hash.h"
#include "reports/draw/gnuplot.h"
#include "reports/draw/picture.h"
#include "reports/records/timeline.h"
#include "reports/report.h"

#include "reports/tests/scratch.h"

#include <sys/stat.h>

/* Two ranks, one step of one block: made-up times. */
#define HEAD    "{\"displayTimeUnit\":\"ms\",\"otherData\":{},\"traceEvents\":[\n"
#define NAME    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"tid\":0,\"args\":{\"name\":\"rank 0\"}},\n"
#define STEP    "\"args\":{\"step\":0,\"layer\":0,\"phase\":\"blocks\"}}"
#define X(c, n) "{\"ph\":\"X\",\"cat\":\"" c "\",\"name\":\"" n "\",\"tid\":0,"
#define LAYER   X("layer", "block 0") "\"pid\":0,\"ts\":5.0,\"dur\":95.0," STEP ",\n"
#define LINEAR  X("compute", "linear") "\"pid\":0,\"ts\":10.5,\"dur\":20.25," STEP ",\n"
#define WAIT    X("wait", "all_to_all") "\"pid\":0,\"ts\":40.0,\"dur\":50.0," STEP ",\n"
#define BEGIN                                                                                                          \
    "{\"ph\":\"b\",\"cat\":\"communication\",\"name\":\"all_to_all\",\"id\":\"0x1\",\"pid\":0,\"tid\":1,\"ts\":40."    \
    "0," STEP
#define END                                                                                                            \
    "{\"ph\":\"e\",\"cat\":\"communication\",\"name\":\"all_to_all\",\"id\":\"0x1\",\"pid\":0,\"tid\":1,\"ts\":90."    \
    "0," STEP
#define OTHER X("compute", "norm") "\"pid\":1,\"ts\":0.0,\"dur\":100.0," STEP
#define TAIL  "\n]}\n"
static const char good[] = HEAD NAME LAYER LINEAR WAIT BEGIN ",\n" END ",\n" OTHER TAIL;

/* Writes `text` into the scratch folder; digest is its own. */
static void write_trace(const char *text, char path[512], char digest[48])
{
    char hash[DIT_HASH_HEX];
    snprintf(path, 512, "%s/trace.json", scratch);
    test_file_write(path, text, strlen(text));
    dit_hash(text, strlen(text), hash);
    snprintf(digest, 48, "xxh3:%s", hash);
}

static dit_status read_text(const char *text, timeline *out)
{
    char path[512], digest[48];
    write_trace(text, path, digest);
    return timeline_read(path, digest, out);
}

static void spans_are_what_the_file_says(void **state)
{
    (void)state;
    timeline t;
    assert_int_equal(read_text(good, &t), DIT_OK);
    assert_int_equal(t.count, 5);
    assert_int_equal(t.ranks, 2);
    assert_int_equal(t.steps, 1);
    assert_int_equal(t.patches, 0);
    assert_int_equal(t.spans[0].patch, -1);
    assert_true(fabs(t.begin - 0) < 1e-12);
    assert_true(fabs(t.end - 100e-6) < 1e-12);
    const timeline_class classes[] = {TIMELINE_LAYER, TIMELINE_LINEAR, TIMELINE_WAIT, TIMELINE_TRANSFER,
                                      TIMELINE_OPERATOR};
    for (int i = 0; i < 5; i++) assert_int_equal(t.spans[i].class, classes[i]);
    assert_true(fabs(t.spans[1].begin - 10.5e-6) < 1e-12);
    assert_true(fabs(t.spans[1].end - 30.75e-6) < 1e-12);
    assert_true(fabs(t.spans[3].end - 90e-6) < 1e-12);
    timeline_release(&t);
}

static void what_is_broken_is_refused(void **state)
{
    static const char *const broken[] = {
        HEAD TAIL,
        HEAD NAME BEGIN TAIL,
        HEAD END TAIL,
        HEAD BEGIN ",\n" BEGIN ",\n" END TAIL,
        HEAD BEGIN ",\n" OTHER ",\n" END TAIL,
        HEAD X("compute", "linear") "\"pid\":-1,\"ts\":0,\"dur\":1}" TAIL,
        HEAD X("compute", "linear") "\"pid\":1024,\"ts\":0,\"dur\":1}" TAIL,
        HEAD X("compute", "linear") "\"pid\":0,\"ts\":1e300,\"dur\":1}" TAIL,
        HEAD X("compute", "linear") "\"pid\":0,\"ts\":0,\"dur\":-1}" TAIL,
        HEAD X("compute", "linear") "\"pid\":0,\"ts\":\"0\",\"dur\":1}" TAIL,
        HEAD X("compute", "linear") "\"pid\":0,\"ts\":0,\"dur\":1,\"args\":{\"step\":10000}}" TAIL,
        HEAD X("compute", "linear") "\"pid\":0,\"ts\":0,\"dur\":1,\"args\":{\"patch\":-1}}" TAIL,
        HEAD X("compute", "linear") "\"pid\":0,\"ts\":0,\"dur\":1,\"args\":{\"patch\":1048576}}" TAIL,
        HEAD "3" TAIL,
        HEAD "{\"ph\":3,\"pid\":0}" TAIL,
        "{\"traceEvents\":{}}",
        "[]",
        "{",
        "",
    };
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        timeline t;
        if (read_text(broken[i], &t) == DIT_OK) fail_msg("case %zu is taken: %s", i, broken[i]);
        assert_null(t.spans);
        assert_true(dit_error_last()->message[0] != '\0');
    }
}

static void another_file_than_the_record_means_is_refused(void **state)
{
    (void)state;
    char path[512], digest[48];
    timeline t;
    write_trace(good, path, digest);
    assert_int_equal(timeline_read(path, "xxh3:00000000000000000000000000000000", &t), DIT_ERR_INTEGRITY);
    assert_int_equal(timeline_read(path, "", &t), DIT_ERR_INTEGRITY);
    assert_int_equal(timeline_read("/no/such/trace.json", digest, &t), DIT_ERR_IO);
}

/* ---- the figure -------------------------------------------------------------------------------------------------- */

#define CASE_ID "00000000000000000000000000000abc"

/* A session of one case whose process left a trace, and a figure of it called "lines". tags: more of them, or "". */
static void write_session_of(const char *kind, const char *tags, const char *case_id, const char *digest)
{
    char path[512];
    dit_buffer text = {0};
    dit_buffer_printf(&text,
                      "{\"kind\":\"session\",\"schema\":\"ditbench.journal/1\",\"session_id\":\"made-up\","
                      "\"workload\":{\"plots\":[{\"id\":\"lines\",\"kind\":\"%s\",\"title\":\"Made up\"}]}}\n",
                      kind);
    dit_buffer_printf(
        &text,
        "{\"kind\":\"result\",\"case_id\":\"%s\",\"label\":\"made up u2\",\"process\":0,\"status\":\"ok\","
        "\"tags\":{\"world_size\":2,\"mesh\":\"u2\"%s},\"record\":{\"trace\":{\"file\":\"trace.json\","
        "\"digest\":\"%s\",\"ranks\":[{\"linear_ns\":20250,\"compute_ns\":20250,\"waiting_ns\":50000},"
        "{\"compute_ns\":100000,\"clock_uncertainty_ns\":400}]}}}\n",
        case_id, tags, digest);
    snprintf(path, sizeof path, "%s/journal.jsonl", scratch);
    test_file_write(path, text.data, text.used);
    dit_buffer_release(&text);
}

static void write_session(const char *case_id, const char *digest)
{
    write_session_of("timeline", "", case_id, digest);
}

static void report(report_summary *summary)
{
    const report_options options = {.session_folder = scratch, .quiet = true};
    if (gnuplot_check("gnuplot") != DIT_OK) skip();
    if (report_write(&options, summary) != DIT_OK) fail_msg("%s", dit_error_last()->message);
    report_summary_release(summary);
}

static char *read_report(const char *file)
{
    char path[512];
    size_t length;
    snprintf(path, sizeof path, "%s/report/%s", scratch, file);
    return test_file_read(path, &length);
}

static void a_session_with_a_trace_gets_its_figure(void **state)
{
    (void)state;
    static const char *const folders[] = {"cases", "cases/" CASE_ID, "cases/" CASE_ID "/p0"};
    char path[512], digest[48], to[1024];
    report_summary summary;
    write_trace(good, path, digest);
    for (int i = 0; i < 3; i++) {
        snprintf(to, sizeof to, "%s/%s", scratch, folders[i]);
        assert_int_equal(mkdir(to, 0777), 0);
    }
    snprintf(to, sizeof to, "%s/cases/" CASE_ID "/p0/trace.json", scratch);
    assert_int_equal(rename(path, to), 0);
    write_session(CASE_ID, digest);
    report(&summary);
    assert_int_equal(summary.figures, 1);
    assert_int_equal(summary.figures_failed, 0);
    char *script = read_report("lines.gp"), *data = read_report("lines.dat"), *csv = read_report("lines.csv");
    assert_non_null(strstr(script, "record cases/" CASE_ID "/p0/record.json"));
    assert_non_null(strstr(script, "within 0.4 µs"));
    assert_non_null(strstr(script, "'rank 1'"));
    assert_non_null(strstr(data, ": linear\n"));
    assert_non_null(strstr(data, ": transfer under way\n"));
    assert_non_null(strstr(csv, "linear,attention,other operators,exposed wait"));
    assert_non_null(strstr(csv, ",1.0125e-05,0,5e-05,2.5e-05,"));
    free(script);
    free(data);
    free(csv);
}

/* After the one above: the file is there, but it is not the one of this record; or the name leads elsewhere. */
static void a_trace_that_is_not_the_records_is_said_on_the_page(void **state)
{
    (void)state;
    report_summary summary;
    write_session(CASE_ID, "xxh3:0");
    report(&summary);
    assert_int_equal(summary.figures_failed, 1);
    char *page = read_report("report.html");
    assert_non_null(strstr(page, "its digest is"));
    free(page);
    write_session("abc", "xxh3:0");
    report(&summary);
    assert_int_equal(summary.figures_failed, 0);
    page = read_report("report.html");
    assert_non_null(strstr(page, "cases/abc/p0/trace.json is not there"));
    free(page);
    write_session("../cases/" CASE_ID, "xxh3:0");
    report(&summary);
    page = read_report("report.html");
    assert_null(strstr(page, "its digest is"));
    assert_non_null(strstr(page, "no case left a trace"));
    free(page);
}

/* ---- the schedule ------------------------------------------------------------------------------------------------ */

enum { STAGES = 4, BANDS = 4, STEPS = 4, TASK_MS = 10 };

static void put_event(dit_buffer *out, const char *category, const char *name, int rank, const int64_t ms[2], int step,
                      int patch)
{
    dit_buffer_printf(out,
                      "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":0,\"ts\":%d,\"dur\":%d,"
                      "\"args\":{\"step\":%d",
                      out->data[out->used - 1] == '[' ? "\n" : ",\n", category, name, rank, (int)ms[0] * 1000,
                      (int)(ms[1] - ms[0]) * 1000, step);
    if (patch >= 0) dit_buffer_printf(out, ",\"patch\":%d", patch);
    dit_buffer_text(out, "}}");
}

/* A stage works on a task, in two operators, from `begin`; before that it has waited since `*free_from`. */
static void put_task(dit_buffer *out, int rank, int64_t *free_from, int64_t begin, int64_t length, int step, int patch)
{
    const int64_t wait[2] = {*free_from, begin}, first[2] = {begin, begin + length / 2},
                  second[2] = {begin + length / 2, begin + length};
    if (wait[1] > wait[0]) put_event(out, "wait", "send_recv", rank, wait, step, patch);
    put_event(out, "compute", "linear", rank, first, step, patch);
    put_event(out, "compute", "attention", rank, second, step, patch);
    *free_from = begin + length;
}

/* Four stages that nothing delays: one step with all rows, then three whose patches follow each other. */
static void print_pipeline(dit_buffer *out)
{
    dit_buffer_text(out, "{\"traceEvents\":[");
    for (int rank = 0; rank < STAGES; rank++) {
        int64_t free_from = 0, whole = (int64_t)BANDS * TASK_MS;
        put_task(out, rank, &free_from, rank * whole, whole, 0, -1);
        for (int task = 0; task < (STEPS - 1) * BANDS; task++)
            put_task(out, rank, &free_from, STAGES * whole + (rank + task) * TASK_MS, TASK_MS, 1 + task / BANDS,
                     task % BANDS);
    }
    dit_buffer_text(out, "]}");
}

/* Lines of the data block called `name` of the `index`-th panel. */
static int block_lines(const char *data, const char *name, int index)
{
    char title[64];
    int lines = 0;
    snprintf(title, sizeof title, ": %s\n", name);
    for (; data && index >= 0; index--) {
        data = strstr(data, title);
        if (data) data += strlen(title);
    }
    if (!data) return -1;
    for (data = strchr(data, '\n') + 1; *data && *data != '\n'; data = strchr(data, '\n') + 1) lines++;
    return lines;
}

static void a_pipeline_gets_a_box_for_each_patch_of_each_step(void **state)
{
    (void)state;
    char path[512], digest[48], to[1024];
    report_summary summary;
    dit_buffer trace = {0};
    print_pipeline(&trace);
    write_trace(trace.data, path, digest);
    dit_buffer_release(&trace);
    snprintf(to, sizeof to, "%s/cases/" CASE_ID "/p0/trace.json", scratch);
    assert_int_equal(rename(path, to), 0);
    write_session_of("schedule", ",\"pipefusion_degree\":4", CASE_ID, digest);
    report(&summary);
    assert_int_equal(summary.figures, 1);
    assert_int_equal(summary.figures_failed, 0);
    char *script = read_report("lines.gp"), *data = read_report("lines.dat");
    assert_int_equal(block_lines(data, "computing", 0), STAGES * (1 + (STEPS - 1) * BANDS));
    assert_int_equal(block_lines(data, "waiting", 0), STAGES + STAGES - 1);
    assert_int_equal(block_lines(data, "steps", 0), STAGES * (1 + (STEPS - 1) * BANDS));
    assert_int_equal(block_lines(data, "computing", 1), STAGES * (STEPS - 1) * BANDS);
    assert_non_null(strstr(data, " 3/2 "));
    assert_non_null(strstr(script, "'rank 3, stage 3'"));
    assert_non_null(strstr(script, "time [ms]"));
    assert_non_null(strstr(script, "steps 1 to 3"));
    free(script);
    free(data);
    snprintf(path, sizeof path, "%s/report/lines.png", scratch);
    assert_int_equal(report_picture_check(path), DIT_OK);
}

static void what_is_no_pipeline_has_no_schedule(void **state)
{
    (void)state;
    report_summary summary;
    write_session_of("schedule", ",\"pipefusion_degree\":1", CASE_ID, "xxh3:0");
    report(&summary);
    char *page = read_report("report.html");
    assert_non_null(strstr(page, "it is no pipeline"));
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_what_the_file_says),
        cmocka_unit_test(what_is_broken_is_refused),
        cmocka_unit_test(another_file_than_the_record_means_is_refused),
        cmocka_unit_test(a_session_with_a_trace_gets_its_figure),
        cmocka_unit_test(a_trace_that_is_not_the_records_is_said_on_the_page),
        cmocka_unit_test(a_pipeline_gets_a_box_for_each_patch_of_each_step),
        cmocka_unit_test(what_is_no_pipeline_has_no_schedule),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
