/* Published, simulated and measured numbers in one session: how they are read, paired, judged, placed and drawn. All
 * numbers here are made up.
 */
#include "reports/records/agreement.h"
#include "reports/records/claims.h"
#include "reports/figures/figure.h"
#include "reports/draw/gnuplot.h"
#include "reports/records/published.h"
#include "reports/report.h"

#include "reports/tests/page_check.h"
#include "reports/tests/scratch.h"

#include <sys/stat.h>

/* ---- journals ---------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *method, *mesh, *resolution;
    int ranks;
    double seconds; /* 0: out of memory */
} made_case;

static void add_tags(dit_buffer *out, const made_case *made, const char *platform)
{
    dit_buffer_printf(out, "\"tags\":{\"model\":\"toy\",\"resolution\":\"%s\",\"method\":\"%s\",\"world_size\":%d,",
                      made->resolution, made->method, made->ranks);
    if (made->mesh) dit_buffer_printf(out, "\"mesh\":\"%s\",", made->mesh);
    if (strcmp(made->method, "tensor") == 0) dit_buffer_printf(out, "\"tensor_degree\":%d,", made->ranks);
    dit_buffer_printf(out, "\"steps\":20,\"platform\":\"%s\",\"profile\":\"%s\"}", platform,
                      strcmp(platform, "here") == 0 ? "none" : "pytorch-eager");
}

/* A line of a case on a simulated platform; its id is its mesh and size. */
static void add_simulated(dit_buffer *out, const made_case *made)
{
    dit_buffer_printf(out, "{\"kind\":\"result\",\"case_id\":\"%s %s\",\"label\":\"toy %s %s\",\"process\":0,",
                      made->mesh, made->resolution, made->resolution, made->mesh);
    add_tags(out, made, "far");
    dit_buffer_text(out, ",\"case\":{\"platform\":{\"name\":\"far\",\"backend\":\"cost\"}},");
    if (made->seconds > 0) {
        dit_buffer_printf(
            out,
            "\"status\":\"ok\",\"record\":{\"evidence\":\"simulated\",\"samples\":{\"latency_ns\":[%.0f]},"
            "\"simulation\":{\"text_encoder_ns\":1e7,\"denoise_ns\":%.0f,\"vae_decode_ns\":2e7},"
            "\"time_split\":{\"compute_ns\":1e9,\"exposed_communication_ns\":2e8,\"other_ns\":1e7},"
            "\"communication\":[{\"axis\":\"ring\",\"bytes\":1000,\"messages\":1}],"
            "\"memory\":{\"weights_bytes\":1e9,\"state_bytes\":1e9,\"activations_bytes\":2e9,"
            "\"communication_bytes\":1e8,\"total_bytes\":4e9}}}\n",
            made->seconds * 1e9, made->seconds * 1e9 - 3e7);
        return;
    }
    dit_buffer_text(out, "\"status\":\"oom\",\"error\":{\"code\":\"E_MEMORY\",\"message\":\"100 GB of 80\"}}\n");
}

static void add_measured(dit_buffer *out, const made_case *made, int processes)
{
    for (int i = 0; i < processes; i++) {
        dit_buffer_printf(out,
                          "{\"kind\":\"result\",\"case_id\":\"%s %s here\",\"label\":\"toy %s %s\",\"process\":%d,",
                          made->mesh, made->resolution, made->resolution, made->mesh, i);
        add_tags(out, made, "here");
        dit_buffer_printf(out,
                          ",\"case\":{\"platform\":{\"name\":\"here\",\"backend\":\"cpu\"}},\"status\":\"ok\","
                          "\"record\":{\"evidence\":\"measured\",\"samples\":{\"latency_ns\":[%.0f]},"
                          "\"time_split\":{\"compute_ns\":1e9,\"exposed_communication_ns\":2e8,\"other_ns\":1e7},"
                          "\"communication\":[{\"axis\":\"ring\",\"bytes\":1000,\"messages\":1}],"
                          "\"memory\":{\"weights_bytes\":1e9,\"state_bytes\":1e9,\"activations_bytes\":2e9,"
                          "\"communication_bytes\":1e8,\"total_bytes\":4e9,\"rss_bytes\":5e9}}}\n",
                          made->seconds * 1e9 + i);
    }
}

/* A published latency of that case; `more` are further members, each with a comma before it. */
static void add_published(dit_buffer *out, int index, const made_case *made, const char *more)
{
    dit_buffer_printf(out, "{\"kind\":\"published\",\"file\":\"f.json\",\"index\":%d,\"source\":\"paper\",", index);
    dit_buffer_printf(out, "\"label\":\"toy %s %s\",\"metric\":\"latency_s\",", made->resolution, made->method);
    if (made->seconds > 0)
        dit_buffer_printf(out, "\"value\":%g,\"rounding\":0.01,", made->seconds);
    else
        dit_buffer_text(out, "\"out_of_memory\":true,");
    if (made->mesh) dit_buffer_printf(out, "\"case_id\":\"%s %s\",", made->mesh, made->resolution);
    dit_buffer_text(out, "\"provenance\":\"figure-label\",");
    add_tags(out, made, "far");
    dit_buffer_printf(out, "%s}\n", more);
}

static const made_case cases[] = {
    {"single", "1", "1024x1024", 1, 2.0},   {"ulysses", "u2", "1024x1024", 2, 1.2},
    {"ring", "r2", "1024x1024", 2, 1.4},    {"ulysses", "u4", "1024x1024", 4, 0.8},
    {"usp", "u2 r2", "1024x1024", 4, 0.7},  {"ring", "r4", "1024x1024", 4, 0},
    {"ring", "r8", "1024x1024", 8, 1.1},    {"ulysses", "u8", "1024x1024", 8, 0.6},
    {"tensor", "tp8", "1024x1024", 8, 0.5}, /* no search tries it */
};
enum { CASES = (int)(sizeof cases / sizeof *cases) };

/* Nine cases; published: five of them, one of which ran out of memory, and two searches. */
static void make_session(dit_buffer *out)
{
    static const made_case printed[] = {
        {"single", "1", "1024x1024", 1, 2.0},   {"ulysses", "u2", "1024x1024", 2, 1.0},
        {"ring", "r2", "1024x1024", 2, 1.3},    {"ulysses", "u4", "1024x1024", 4, 1.0},
        {"ring", "r4", "1024x1024", 4, 0},      {"hybrid", NULL, "1024x1024", 4, 0.5},
        {"hybrid", NULL, "1024x1024", 8, 0.75},
    };
    for (int i = 0; i < CASES; i++) add_simulated(out, &cases[i]);
    for (int i = 0; i < 7; i++) {
        add_published(out, i, &printed[i],
                      i == 0   ? ",\"in_fit\":true"
                      : i == 3 ? ",\"warnings\":[\"the label contradicts the <axis>\"]"
                               : "");
    }
    dit_buffer_text(out, "{\"kind\":\"end\",\"complete\":true,\"end_reason\":\"finished\"}\n");
}

static void make_table(report_table *table)
{
    dit_buffer lines = {0};
    make_session(&lines);
    if (fixture_parse("{}", lines.data, table) != DIT_OK) fail_msg("%s", dit_error_last()->message);
    dit_buffer_release(&lines);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

#define POINT(rest)   "{\"kind\":\"published\",\"file\":\"f\",\"index\":1,\"source\":\"s\"," rest "}\n"
#define LATENCY(rest) POINT("\"metric\":\"latency_s\",\"tags\":{\"world_size\":2}," rest)

static void published_lines_are_read_strictly(void **state)
{
    (void)state;
    static const char *const bad[] = {
        POINT("\"metric\":\"latency_s\",\"value\":1"),
        POINT("\"metric\":\"speed\",\"value\":1,\"tags\":{}"),
        POINT("\"value\":1,\"tags\":{}"),
        POINT("\"metric\":\"latency_s\",\"value\":1,\"tags\":[]"),
        POINT("\"metric\":\"latency_s\",\"value\":1,\"tags\":{\"world_size\":0}"),
        POINT("\"metric\":\"latency_s\",\"value\":1,\"tags\":{\"evidence\":\"measured\"}"),
        POINT("\"metric\":\"latency_s\",\"value\":1,\"tags\":{\"latency_s\":1}"),
        LATENCY("\"value\":\"1\""),
        LATENCY("\"value\":-1"),
        LATENCY("\"value\":0"),
        LATENCY("\"value\":1e99"),
        LATENCY("\"rounding\":1"),
        LATENCY("\"value\":1,\"rounding\":-1"),
        LATENCY("\"value\":1,\"out_of_memory\":true"),
        LATENCY("\"out_of_memory\":false"),
        LATENCY("\"value\":1,\"in_fit\":1"),
        LATENCY("\"value\":1,\"label\":1"),
        LATENCY("\"value\":1,\"case_id\":7"),
        LATENCY("\"value\":1,\"warnings\":\"w\""),
        LATENCY("\"value\":1,\"warnings\":[\"a\",1]"),
        "{\"kind\":\"published\",\"index\":1,\"source\":\"s\",\"metric\":\"latency_s\",\"value\":1,\"tags\":{}}\n",
        ("{\"kind\":\"published\",\"file\":\"f\",\"index\":-1,\"source\":\"s\",\"metric\":\"latency_s\",\"value\":1,"
         "\"tags\":{}}\n"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        report_table table;
        if (fixture_parse("{}", bad[i], &table) != DIT_ERR_JOURNAL) fail_msg("taken: %s", bad[i]);
        assert_contains(dit_error_last()->message, "line 2");
        assert_null(table.published);
    }
}

static void a_point_has_its_number_its_reading_error_and_its_evidence(void **state)
{
    (void)state;
    report_table table;
    assert_int_equal(fixture_parse("{}",
                                   LATENCY("\"value\":3") LATENCY("\"value\":2,\"rounding\":0.5,\"in_fit\":true"
                                                                  ",\"warnings\":[\"w\"]"),
                                   &table),
                     DIT_OK);
    assert_int_equal(table.published_count, 1); /* the later line of one point counts */
    const report_published *point = &table.published[0];
    assert_near(point->value, 2, 0);
    assert_near(point->kase.metric[REPORT_LATENCY].low, 1.5, 0);
    assert_near(point->kase.metric[REPORT_LATENCY].high, 2.5, 0);
    assert_true(point->in_fit);
    assert_string_equal(point->kase.evidence, "published");
    assert_string_equal(point->kase.case_id, "f#1");
    assert_string_equal(point->kase.label, "s");
    assert_int_equal(table.case_count, 0); /* no case: it enters no median and no claim */
    report_table_release(&table);
}

/* ---- evidence ---------------------------------------------------------------------------------------------------- */

#define ON(backend) "\"case\":{\"platform\":{\"name\":\"p\",\"backend\":\"" backend "\"}}"
#define RESULT(process, status, rest)                                                                                  \
    "{\"kind\":\"result\",\"case_id\":\"c\",\"label\":\"c\",\"process\":" process ",\"status\":\"" status "\"," rest   \
    "}\n"
#define SAMPLES   "\"samples\":{\"latency_ns\":[5]}"
#define MEASURED  "\"record\":{\"evidence\":\"measured\"," SAMPLES "}"
#define SIMULATED "\"record\":{\"evidence\":\"simulated\"," SAMPLES "}"

static void a_record_that_blurs_its_evidence_is_refused(void **state)
{
    (void)state;
    static const char *const forged[] = {
        RESULT("0", "ok", ON("cpu") "," SIMULATED),
        RESULT("0", "ok", ON("cuda") "," SIMULATED),
        RESULT("0", "ok", SIMULATED),
        RESULT("0", "ok", "\"case\":{\"platform\":{}}," SIMULATED),
        RESULT("0", "ok", ON("cost") "," MEASURED),
        RESULT("0", "ok", ON("cost") ",\"record\":{" SAMPLES "}"),
        RESULT("0", "ok", ON("cpu") ",\"record\":{\"evidence\":\"published\"," SAMPLES "}"),
        RESULT("0", "ok", ON("cost") ",\"record\":{\"evidence\":\"published\"," SAMPLES "}"),
        RESULT("0", "ok", ON("cpu") ",\"record\":{\"evidence\":\"Measured\"," SAMPLES "}"),
        RESULT("0", "ok", ON("cpu") ",\"record\":{\"evidence\":\"measured\",\"simulation\":{}," SAMPLES "}"),
        RESULT("0", "ok", ON("cpu") "," MEASURED) RESULT("1", "ok", ON("cost") "," SIMULATED),
        RESULT("0", "ok", ON("cost") "," SIMULATED) RESULT("1", "ok", ON("cpu") "," MEASURED),
        RESULT("0", "ok", ON("cost") "," SIMULATED ",\"tags\":{\"evidence\":\"measured\"}"),
        RESULT("0", "ok", ON("cost") "," SIMULATED ",\"tags\":{\"status\":\"ok\"}"),
        RESULT("0", "ok", ON("cost") "," SIMULATED ",\"tags\":{\"label\":\"x\"}"),
        RESULT("0", "ok", ON("cpu") "," MEASURED ",\"tags\":{\"latency_s\":1}"),
        RESULT("0", "ok", "\"case\":{\"platform\":{\"backend\":7}}," MEASURED),
        RESULT("0", "ok", "\"case\":{\"platform\":\"cost\"}," MEASURED),
    };
    for (size_t i = 0; i < sizeof forged / sizeof forged[0]; i++) {
        report_table table;
        if (fixture_parse("{}", forged[i], &table) != DIT_ERR_JOURNAL) fail_msg("taken: %s", forged[i]);
        assert_null(table.cases);
    }
}

static void a_record_that_counts_for_nothing_need_not_be_refused(void **state)
{
    (void)state;
    report_table table;
    assert_int_equal(fixture_parse("{}", RESULT("0", "invalid", ON("cost") "," MEASURED), &table), DIT_OK);
    assert_string_equal(table.cases[0].evidence, "simulated");
    assert_int_equal(table.cases[0].metric[REPORT_LATENCY].n, 0);
    report_table_release(&table);
}

static void virtual_time_is_exact_measured_time_is_not(void **state)
{
    (void)state;
    report_table table;
    assert_int_equal(fixture_parse("{}", RESULT("0", "ok", ON("cost") "," SIMULATED), &table), DIT_OK);
    assert_false(table.cases[0].metric[REPORT_LATENCY].low_n);
    report_table_release(&table);
    assert_int_equal(fixture_parse("{}", RESULT("0", "ok", ON("cpu") "," MEASURED), &table), DIT_OK);
    assert_true(table.cases[0].metric[REPORT_LATENCY].low_n);
    report_table_release(&table);
    const char *two = RESULT("0", "ok", ON("cost") "," SIMULATED)
        RESULT("1", "ok", ON("cost") ",\"record\":{\"evidence\":\"simulated\",\"samples\":{\"latency_ns\":[6]}}");
    assert_int_equal(fixture_parse("{}", two, &table), DIT_OK); /* runs that differ are none that repeat */
    assert_true(table.cases[0].metric[REPORT_LATENCY].low_n);
    report_table_release(&table);
}

/* ---- pairs and statistics ---------------------------------------------------------------------------------------- */

static void a_point_meets_its_case_and_a_search_the_fastest(void **state)
{
    (void)state;
    report_table table;
    make_table(&table);
    assert_int_equal(table.published_count, 7);
    static const char *const twins[] = {"1 1024x1024",  "u2 1024x1024",    "r2 1024x1024", "u4 1024x1024",
                                        "r4 1024x1024", "u2 r2 1024x1024", "u8 1024x1024"};
    for (int i = 0; i < 7; i++) assert_string_equal(table.published[i].twin->case_id, twins[i]);
    assert_near(report_published_error(&table.published[1]), 0.2, 1e-12);
    assert_near(report_published_error(&table.published[6]), 0.6 / 0.75 - 1, 1e-12);
    assert_true(isnan(report_published_error(&table.published[4])));
    assert_near(table.published[3].kase.metric[REPORT_SPEEDUP].median, 2, 1e-12);
    assert_near(table.published[3].kase.metric[REPORT_SPEEDUP].low, 1.99 / 1.01, 1e-12);
    report_table_release(&table);
}

/* Errors: 0 (in fit); 0.2, 0.0769, -0.2, 0.4, -0.2. Pairs: u2 < r2 in order; u4 > hybrid of four in order. */
static void the_statistics_are_those_by_hand(void **state)
{
    (void)state;
    report_table table;
    report_agreement a;
    const report_published *points[7];
    make_table(&table);
    for (int i = 0; i < 7; i++) points[i] = &table.published[i];
    assert_int_equal(report_agreement_of(points, 7, REPORT_LATENCY, REPORT_POINTS_ALL, &a), DIT_OK);
    assert_int_equal(a.points, 6);
    assert_near(a.median, 0.2, 1e-12);
    assert_near(a.p90, 0.4, 1e-12);
    assert_int_equal(a.pairs, 2);
    assert_int_equal(a.ordered, 2);
    assert_int_equal(a.oom, 1);
    assert_int_equal(a.oom_agreed, 1);
    assert_int_equal(a.oom_wrong, 0);
    assert_int_equal(report_agreement_of(points, 7, REPORT_LATENCY, REPORT_POINTS_IN_FIT, &a), DIT_OK);
    assert_int_equal(a.points, 1);
    assert_near(a.median, 0, 0);
    assert_int_equal(a.pairs, 0);
    assert_int_equal(report_agreement_of(points, 7, REPORT_LATENCY, REPORT_POINTS_NOT_IN_FIT, &a), DIT_OK);
    assert_int_equal(a.points, 5);
    assert_int_equal(report_agreement_of(points, 7, REPORT_TOTAL_BYTES, REPORT_POINTS_ALL, &a), DIT_OK);
    assert_int_equal(a.points, 0);
    assert_near(a.median, 0, 0);
    report_table_release(&table);
}

static void wrong_orders_and_wrong_memory_are_counted(void **state)
{
    (void)state;
    static const made_case printed[] = {{"ulysses", "u2", "1024x1024", 2, 1.5},
                                        {"ring", "r2", "1024x1024", 2, 1.0},
                                        {"ring", "r4", "1024x1024", 4, 1.0},
                                        {"ulysses", "u4", "1024x1024", 4, 0}};
    report_table table;
    report_agreement a;
    dit_buffer lines = {0};
    const report_published *points[6];
    for (int i = 0; i < CASES; i++) add_simulated(&lines, &cases[i]);
    for (int i = 0; i < 4; i++) add_published(&lines, i, &printed[i], "");
    for (int i = 4; i < 6; i++) add_published(&lines, i, &printed[i - 4], ",\"status\":\"doubtful\"");
    assert_int_equal(fixture_parse("{}", lines.data, &table), DIT_OK);
    for (int i = 0; i < 6; i++) points[i] = &table.published[i];
    assert_int_equal(report_agreement_of(points, 6, REPORT_LATENCY, REPORT_POINTS_ALL, &a), DIT_OK);
    assert_int_equal(a.points, 2);
    assert_int_equal(a.pairs, 1);
    assert_int_equal(a.ordered, 0);
    assert_int_equal(a.oom, 1);
    assert_int_equal(a.oom_agreed, 0);
    assert_int_equal(a.oom_wrong, 1);
    report_table_release(&table);
    dit_buffer_release(&lines);
}

static void a_measured_case_is_no_prediction(void **state)
{
    (void)state;
    static const made_case here = {"ulysses", "u2", "1024x1024", 2, 1.2};
    report_table table;
    dit_buffer lines = {0};
    add_measured(&lines, &here, 6);
    add_published(&lines, 0, &here, ",\"case_id_of_another\":1");
    dit_buffer_printf(&lines, LATENCY("\"value\":1,\"case_id\":\"u2 1024x1024 here\""));
    assert_int_equal(fixture_parse("{}", lines.data, &table), DIT_OK);
    for (int i = 0; i < table.published_count; i++) assert_null(table.published[i].twin);
    report_table_release(&table);
    dit_buffer_release(&lines);
}

static void a_simulated_case_meets_its_measured_twin(void **state)
{
    (void)state;
    static const made_case here = {"ulysses", "u2", "1024x1024", 2, 1.0}, other = {"ring", "r4", "1024x1024", 4, 1.0};
    report_table table;
    report_judgement judgement;
    dit_buffer lines = {0};
    for (int i = 0; i < CASES; i++) add_simulated(&lines, &cases[i]);
    add_measured(&lines, &here, 6);
    assert_int_equal(fixture_parse("{}", lines.data, &table), DIT_OK);
    const report_claim claim = {
        .id = "x", .claim = "x", .source = "", .expr = "median('error_to_measured') <= 0.15", .partly = "1 == 1"};
    assert_int_equal(report_claim_judge(&table, &claim, &judgement), DIT_OK);
    assert_int_equal(judgement.verdict, REPORT_CLAIM_PARTLY); /* 1.2 s of 1.0 s */
    assert_true(judgement.simulated);
    report_judgement_release(&judgement);
    report_table_release(&table);
    add_measured(&lines, &other, 6); /* its simulated twin is out of memory: no claim on errors passes over it */
    assert_int_equal(fixture_parse("{}", lines.data, &table), DIT_OK);
    assert_int_equal(report_claim_judge(&table, &claim, &judgement), DIT_OK);
    assert_int_equal(judgement.verdict, REPORT_CLAIM_UNDECIDED);
    assert_contains(judgement.reason, "no error_to_measured (oom)");
    report_judgement_release(&judgement);
    report_table_release(&table);
    dit_buffer_release(&lines);
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static void claims_on_simulated_cases_have_their_own_words(void **state)
{
    (void)state;
    static const struct {
        const char *expr, *partly;
        report_verdict verdict;
        const char *word;
    } rows[] = {
        {"median('latency_s', mesh='u2') < median('latency_s', mesh='r2')", NULL, REPORT_CLAIM_HOLDS, "reproduced"},
        {"median('latency_s', mesh='u2') > 2", "median('latency_s', mesh='u2') > 1", REPORT_CLAIM_PARTLY, "partly"},
        {"median('latency_s', mesh='u2') > 2", "median('latency_s', mesh='u2') > 3", REPORT_CLAIM_FAILS,
         "not reproduced"},
        {"median('latency_s', mesh='u2') > 2", "median('latency_s', mesh='r4') > 3", REPORT_CLAIM_FAILS,
         "not reproduced"},
        {"median('latency_s', mesh='r4') > 2", "1 == 1", REPORT_CLAIM_UNDECIDED, "undecided"},
        {"count(mesh='r4', status='oom') == 1", NULL, REPORT_CLAIM_HOLDS, "reproduced"},
        {"count(mesh='u2', status='oom') == 1", NULL, REPORT_CLAIM_FAILS, "not reproduced"},
        {"count(mesh='u2', status='oom') == 0", NULL, REPORT_CLAIM_HOLDS, "reproduced"},
        {"max('error_to_published', mesh='u2') < 0.25", NULL, REPORT_CLAIM_HOLDS, "reproduced"},
    };
    report_table table;
    make_table(&table);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const report_claim claim = {
            .id = "x", .claim = "x", .source = "", .expr = rows[i].expr, .partly = rows[i].partly};
        report_judgement judgement;
        assert_int_equal(report_claim_judge(&table, &claim, &judgement), DIT_OK);
        if (judgement.verdict != rows[i].verdict) fail_msg("%s: %s", rows[i].expr, judgement.reason);
        assert_string_equal(report_judgement_word(&judgement), rows[i].word);
        assert_string_equal(report_judgement_evidence(&judgement), "simulated");
        report_judgement_release(&judgement);
    }
    report_table_release(&table);
}

/* A session without the paper's numbers cannot say that it reproduces the paper. */
static void without_compared_points_nothing_is_reproduced(void **state)
{
    (void)state;
    static const struct {
        const char *expr, *word;
    } rows[] = {{"median('latency_s', mesh='u2') < median('latency_s', mesh='r2')", "holds (simulated)"},
                {"median('latency_s', mesh='u2') > 2", "fails (simulated)"},
                {"median('latency_s', mesh='r4') > 2", "undecided"}};
    report_table table;
    dit_buffer lines = {0};
    for (int i = 0; i < CASES; i++) add_simulated(&lines, &cases[i]);
    assert_int_equal(fixture_parse("{}", lines.data, &table), DIT_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const report_claim claim = {.id = "x", .claim = "x", .source = "", .expr = rows[i].expr};
        report_judgement judgement;
        assert_int_equal(report_claim_judge(&table, &claim, &judgement), DIT_OK);
        assert_int_equal(judgement.compared, 0);
        assert_string_equal(report_judgement_word(&judgement), rows[i].word);
        report_judgement_release(&judgement);
    }
    report_table_release(&table);
    dit_buffer_release(&lines);
}

/* What the authors noted about their parameters says nothing of others, and nothing of what was not decided. */
static void a_note_stands_only_where_it_was_written_for(void **state)
{
    (void)state;
    const report_judgement fails = {.verdict = REPORT_CLAIM_FAILS}, undecided = {.verdict = REPORT_CLAIM_UNDECIDED},
                           holds = {.verdict = REPORT_CLAIM_HOLDS}, partly = {.verdict = REPORT_CLAIM_PARTLY};
    report_claim claim = {.because = "so", .noted = true};
    assert_true(report_claim_shows_note(&claim, &fails));
    assert_true(report_claim_shows_note(&claim, &partly));
    assert_false(report_claim_shows_note(&claim, &undecided));
    assert_false(report_claim_shows_note(&claim, &holds));
    claim.noted = false; /* other parameters */
    assert_false(report_claim_shows_note(&claim, &fails));
    assert_false(report_claim_shows_note(&claim, &partly));
}

/* ---- placing ----------------------------------------------------------------------------------------------------- */

static void make_grid(const report_table *table, const report_plot *plot, const char *kind, report_grid *grid)
{
    const report_figure_kind *found = report_figure_kind_find(kind);
    assert_non_null(found);
    if (report_grid_build(table, plot, found, grid) != DIT_OK) fail_msg("%s", dit_error_last()->message);
}

static const report_cell *find_cell(const report_grid *grid, const char *x, const char *series, const char *evidence)
{
    for (int i = 0; i < grid->count; i++) {
        const report_cell *cell = &grid->cells[i];
        bool here = strcmp(cell->x, x) == 0 && strcmp(cell->series, series) == 0;
        if (here && strcmp(cell->kase->evidence, evidence) == 0) return cell;
    }
    return NULL;
}

static void points_stand_where_their_tags_put_them(void **state)
{
    (void)state;
    const report_plot plot = {.title = "t", .x = "world_size", .series = "method", .panel = "resolution"};
    report_table table;
    report_grid grid;
    make_table(&table);
    make_grid(&table, &plot, "latency", &grid);
    assert_int_equal(grid.panel_count, 1);
    assert_int_equal(grid.unplaced_count, 0);
    const report_cell *printed = find_cell(&grid, "2", "ulysses", "published");
    assert_non_null(printed);
    assert_near(printed->bar.part[0], 1.0, 0);
    assert_near(printed->bar.low, 0.99, 1e-12);
    assert_true(printed->shares);
    assert_int_equal(printed->series_index, find_cell(&grid, "2", "ulysses", "simulated")->series_index);
    assert_true(report_cell_is_oom(find_cell(&grid, "4", "ring", "published")));
    assert_true(report_cell_is_oom(find_cell(&grid, "4", "ring", "simulated")));
    assert_non_null(find_cell(&grid, "8", "hybrid", "published"));
    report_grid_release(&grid);
    make_grid(&table, &plot, "communication", &grid); /* nobody printed bytes */
    assert_false(grid.published);
    report_grid_release(&grid);
    report_table_release(&table);
}

static const char *reason_of(const report_grid *grid, int64_t index)
{
    for (int i = 0; i < grid->unplaced_count; i++) {
        if (grid->unplaced[i].point->index == index) return grid->unplaced[i].reason;
    }
    return "placed";
}

static void a_point_without_a_place_says_why(void **state)
{
    (void)state;
    static const made_case elsewhere = {"ulysses", "u2", "512x512", 2, 1.0};
    const report_plot plot = {.title = "t", .x = "world_size", .series = "method", .panel = "resolution"},
                      by_warmup = {.title = "t", .x = "warmup_steps", .series = "method", .panel = "resolution"};
    report_table table;
    report_grid grid;
    dit_buffer lines = {0};
    for (int i = 0; i < CASES; i++) add_simulated(&lines, &cases[i]);
    add_published(&lines, 0, &elsewhere, "");
    dit_buffer_text(&lines, "{\"kind\":\"published\",\"file\":\"f.json\",\"index\":1,\"source\":\"s\",\"metric\":"
                            "\"latency_s\",\"value\":1,\"tags\":{\"method\":\"ring\",\"world_size\":2}}\n");
    dit_buffer_text(&lines, "{\"kind\":\"published\",\"file\":\"f.json\",\"index\":2,\"source\":\"s\",\"metric\":"
                            "\"latency_s\",\"value\":1,\"tags\":{\"method\":\"ring\",\"world_size\":2,\"resolution\":"
                            "\"1024x1024\",\"profile\":\"torch-compile\"}}\n");
    assert_int_equal(fixture_parse("{}", lines.data, &table), DIT_OK);
    make_grid(&table, &plot, "latency", &grid);
    assert_int_equal(grid.unplaced_count, 3);
    assert_false(grid.published);
    assert_contains(reason_of(&grid, 0), "no case stands in 512x512");
    assert_contains(reason_of(&grid, 1), "it says nothing of resolution");
    assert_contains(reason_of(&grid, 2), "the cases of its panel differ in profile");
    report_grid_release(&grid);
    make_grid(&table, &by_warmup, "latency", &grid); /* a tag that no case has keeps no point away */
    assert_int_equal(grid.unplaced_count, 3);
    report_grid_release(&grid);
    const report_plot filtered = {
        .title = "t", .where = "steps == 20", .x = "world_size", .series = "method", .panel = "resolution"};
    make_grid(&table, &filtered, "latency", &grid);
    assert_contains(reason_of(&grid, 1), "where: ");
    report_grid_release(&grid);
    report_table_release(&table);
    dit_buffer_release(&lines);
}

static void the_best_names_its_mesh_and_leaves_the_search_out(void **state)
{
    (void)state;
    const report_plot plot = {
        .title = "t", .x = "world_size", .series = "method", .panel = "resolution", .best = "hybrid"};
    report_table table;
    report_grid grid;
    make_table(&table);
    make_grid(&table, &plot, "latency", &grid);
    const report_cell *best = find_cell(&grid, "4", "hybrid", "simulated");
    assert_true(best->best);
    assert_string_equal(best->kase->case_id, "u2 r2 1024x1024");
    assert_string_equal(find_cell(&grid, "8", "hybrid", "simulated")->kase->case_id, "u8 1024x1024");
    assert_null(find_cell(&grid, "4", "usp", "simulated")); /* a mesh of several axes is the search's alone */
    assert_non_null(find_cell(&grid, "4", "ulysses", "simulated"));
    assert_true(find_cell(&grid, "4", "hybrid", "published")->shares);
    report_grid_release(&grid);
    make_grid(&table, &plot, "speedup", &grid); /* there the most is best */
    assert_string_equal(find_cell(&grid, "4", "hybrid", "simulated")->kase->case_id, "u2 r2 1024x1024");
    report_grid_release(&grid);
    const report_plot by_profile = {
        .title = "t", .x = "world_size", .series = "profile", .panel = "resolution", .best = "hybrid"};
    make_grid(&table, &by_profile, "latency", &grid); /* without methods each series is the best of its own */
    assert_int_equal(grid.series_count, 1);
    assert_string_equal(find_cell(&grid, "4", "pytorch-eager", "simulated")->kase->case_id, "u2 r2 1024x1024");
    report_grid_release(&grid);
    report_table_release(&table);
}

static void pairs_are_held_against_published_and_measured(void **state)
{
    (void)state;
    static const made_case here = {"ulysses", "u2", "1024x1024", 2, 1.0};
    const report_plot plot = {.title = "t", .where = "", .x = "", .series = "method", .panel = "", .pair = "platform"},
                      strict = {.title = "t", .where = "", .x = "", .series = "method", .panel = "", .pair = ""};
    report_table table;
    report_grid grid;
    dit_buffer lines = {0};
    make_session(&lines);
    add_measured(&lines, &here, 6);
    assert_int_equal(fixture_parse("{}", lines.data, &table), DIT_OK);
    make_grid(&table, &plot, "agreement", &grid);
    assert_int_equal(grid.count, 7); /* six printed numbers and one measured twin */
    int measured = 0;
    for (int i = 0; i < grid.count; i++) {
        const report_cell *cell = &grid.cells[i];
        assert_true(report_case_is_simulated(cell->kase));
        assert_true((cell->twin != NULL) != (cell->published != NULL));
        if (cell->twin) {
            assert_near(cell->x_number, 1.0, 1e-6);
            assert_near(cell->bar.part[0], 1.2, 1e-12);
        }
        measured += cell->twin != NULL;
    }
    assert_int_equal(measured, 1);
    report_grid_release(&grid);
    make_grid(&table, &strict, "agreement", &grid); /* its platform may not differ: no twin */
    assert_int_equal(grid.count, 6);
    report_grid_release(&grid);
    report_table_release(&table);
    dit_buffer_release(&lines);
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

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
    assert_contains(page, "<th scope=\"row\">latency, all</th><td data-title=\"compared\" class=\"num\">6</td><td "
                          "data-title=\"median error\" class=\"num\">20.0 %</td><td data-title=\"90th percentile\" "
                          "class=\"num\">40.0 %</td><td data-title=\"pairs in order\" class=\"num\">2 of 2 (100 "
                          "%)</td><td data-title=\"out of memory, too\" class=\"num\">1 of 1 (100 %)</td>");
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
        cmocka_unit_test(published_lines_are_read_strictly),
        cmocka_unit_test(a_point_has_its_number_its_reading_error_and_its_evidence),
        cmocka_unit_test(a_record_that_blurs_its_evidence_is_refused),
        cmocka_unit_test(a_record_that_counts_for_nothing_need_not_be_refused),
        cmocka_unit_test(virtual_time_is_exact_measured_time_is_not),
        cmocka_unit_test(a_point_meets_its_case_and_a_search_the_fastest),
        cmocka_unit_test(the_statistics_are_those_by_hand),
        cmocka_unit_test(wrong_orders_and_wrong_memory_are_counted),
        cmocka_unit_test(a_measured_case_is_no_prediction),
        cmocka_unit_test(a_simulated_case_meets_its_measured_twin),
        cmocka_unit_test(claims_on_simulated_cases_have_their_own_words),
        cmocka_unit_test(without_compared_points_nothing_is_reproduced),
        cmocka_unit_test(a_note_stands_only_where_it_was_written_for),
        cmocka_unit_test(points_stand_where_their_tags_put_them),
        cmocka_unit_test(a_point_without_a_place_says_why),
        cmocka_unit_test(the_best_names_its_mesh_and_leaves_the_search_out),
        cmocka_unit_test(pairs_are_held_against_published_and_measured),
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
