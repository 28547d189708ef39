/* Watts: the table of accelerators, three scopes, and the fit that the table's values come from. */
#include "base/tests/test.h"

#include "suite/prices/power.h"
#include "suite/prices/power_fit.h"

#define TABLE(fitted, more)                                                                                            \
    "{\"schema\":\"ditbench.power/1\",\"name\":\"t\",\n\"fitted\":[" fitted "],\n"                                     \
    "\"others\":{\"idle_share\":0.3,\"slope_share\":0.6,\"error\":0.25,\"assumed\":\"a\"},\n"                          \
    "\"limits\":[{\"accelerator\":\"b\",\"limit_w\":200,\"assumed\":\"a\"}],\n"                                        \
    "\"servers\":[{\"what\":\"s\",\"accelerator\":\"a\",\"count\":8,\"rated_w\":10200,\"source\":\"x\",\"date\":"      \
    "\"2026-01-01\"}],\n"                                                                                              \
    "\"server_over_accelerators\":{\"value\":1.8,\"assumed\":\"a\"},\"draw_share\":{\"value\":0.75,\"assumed\":"       \
    "\"a\"}" more "}"
#define FITTED                                                                                                         \
    "{\"accelerator\":\"a\",\"idle_w\":245,\"slope_w\":462,\"points\":483,\"models\":12,\"error_median\":0.07,"        \
    "\"error_p90\":0.23,\"source\":\"s\",\"date\":\"2026-02-27\"}"

static suite_power_table parse(const char *text)
{
    suite_power_table table;
    assert_ok(suite_power_parse(text, strlen(text), "power.json", &table));
    return table;
}

static void what_an_accelerator_draws_follows_its_busy_share(void **state)
{
    suite_power_table table = parse(TABLE(FITTED, ""));
    suite_power_draw draw;
    (void)state;
    assert_ok(suite_power_of(&table, "a", 700, 8, 0.5, 1.25, &draw));
    assert_near(draw.device.w, 8 * (245 + 231), 1e-9);
    assert_near(draw.server.w, 8 * (245 + 231) + 0.75 * (10200 - 5600), 1e-9);
    assert_near(draw.site.w, 1.25 * draw.server.w, 1e-9);
    assert_true(draw.model.fitted);
    assert_near(draw.model.error, 0.23, 0);
    assert_ok(suite_power_of(&table, "a", 700, 2, 0, 1, &draw)); /* a part of a server has its share */
    assert_near(draw.server.w, 2 * 245 + 0.75 * (2550 - 1400), 1e-9);
    suite_power_release(&table);
}

static void another_accelerator_draws_shares_of_its_limit(void **state)
{
    suite_power_table table = parse(TABLE(FITTED, ""));
    suite_power_draw draw;
    suite_server_watts rated;
    bool assumed;
    (void)state;
    assert_ok(suite_power_of(&table, "c", 100, 1, 1, 1, &draw));
    assert_near(draw.device.w, 90, 1e-9);
    assert_near(draw.server.w, 90 + 0.75 * 80, 1e-9); /* rated 1.8 times the limit */
    assert_false(draw.model.fitted);
    assert_near(draw.model.error, 0.25, 0);
    assert_string_equal(draw.model.evidence.assumed, "a");
    assert_ok(suite_power_rated(&table, "c", 100, 4, &rated, &assumed));
    assert_near(rated.w, 720, 1e-9);
    assert_true(assumed);
    assert_ok(suite_power_of(&table, "b", 0, 1, 0, 1, &draw)); /* the table knows its limit */
    assert_near(draw.device.w, 60, 1e-9);
    assert_fails(suite_power_of(&table, "c", 0, 1, 1, 1, &draw), DIT_ERR_NOT_FOUND, "power limit of c");
    suite_power_release(&table);
}

static void a_busy_share_is_a_share(void **state)
{
    suite_power_table table = parse(TABLE(FITTED, ""));
    suite_power_draw draw;
    (void)state;
    assert_fails(suite_power_of(&table, "a", 700, 1, 1.01, 1, &draw), DIT_ERR_USAGE, "1.01");
    assert_fails(suite_power_of(&table, "a", 700, 1, -0.1, 1, &draw), DIT_ERR_USAGE, "-0.1");
    assert_fails(suite_power_of(&table, "a", 700, 1, NAN, 1, &draw), DIT_ERR_USAGE, "nan");
    assert_fails(suite_power_of(&table, "a", 700, 0, 1, 1, &draw), DIT_ERR_USAGE, "0 devices");
    suite_power_release(&table);
}

static void what_is_wrong_is_named_with_its_place(void **state)
{
    static const struct {
        const char *text, *words;
        dit_status status;
    } rows[] = {
        {"[]", "object", DIT_ERR_JSON_TYPE},
        {TABLE(FITTED, ",\"colour\":1"), "colour", DIT_ERR_JSON_UNKNOWN_KEY},
        {TABLE("{\"accelerator\":\"a\",\"idle_w\":1,\"slope_w\":1,\"points\":9,\"models\":2,\"error_median\":0.1,"
               "\"error_p90\":0.2}",
               ""),
         "power.json:2:11: /fitted/0: required key \"source\"", DIT_ERR_JSON_MISSING},
        {TABLE("{\"accelerator\":\"a\",\"idle_w\":1,\"slope_w\":1,\"points\":9,\"models\":2,\"error_median\":0.1,"
               "\"error_p90\":0.2,\"source\":\"s\"}",
               ""),
         "\"date\"", DIT_ERR_JSON_MISSING},
        {TABLE("{\"accelerator\":\"a\",\"idle_w\":1,\"slope_w\":1,\"points\":9,\"models\":2,\"error_median\":0.1,"
               "\"error_p90\":0.2,\"source\":\"s\",\"date\":\"x\"}",
               ""),
         "/fitted/0/date", DIT_ERR_JSON_VALUE},
        {TABLE("{\"accelerator\":\"a\",\"idle_w\":-1,\"slope_w\":1,\"points\":9,\"models\":2,\"error_median\":0.1,"
               "\"error_p90\":0.2,\"source\":\"s\"}",
               ""),
         "/fitted/0/idle_w", DIT_ERR_JSON_VALUE},
        {TABLE("{\"accelerator\":\"a\",\"idle_w\":1,\"slope_w\":1,\"points\":9,\"models\":2,\"error_median\":0.3,"
               "\"error_p90\":0.2,\"source\":\"s\"}",
               ""),
         "/fitted/0/error_p90", DIT_ERR_JSON_VALUE},
        {TABLE("7", ""), "/fitted/0", DIT_ERR_JSON_TYPE},
        {"{\"schema\":\"ditbench.power/1\",\"name\":\"t\"}", "others", DIT_ERR_JSON_MISSING},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        suite_power_table table;
        assert_fails(suite_power_parse(rows[i].text, strlen(rows[i].text), "power.json", &table), rows[i].status,
                     rows[i].words);
        assert_null(table.fitted);
    }
}

/* Two models whose watts are 100 + 300 x busy share exactly, and a third that draws twice as much. */
static void a_fit_finds_the_line_and_its_error_of_a_model_it_has_not_seen(void **state)
{
#define RUN(model, gpus, seconds, watts)                                                                               \
    "{\"model\":\"" model "\",\"hardware\":\"H100\",\"interconnect\":\"NVLink\",\"gpus\":" #gpus ",\"batch\":1,"       \
    "\"method\":\"single\",\"metric\":\"latency\",\"value\":" #seconds ",\"unit\":\"s\"},"                             \
    "{\"model\":\"" model "\",\"hardware\":\"H100\",\"interconnect\":\"NVLink\",\"gpus\":" #gpus ",\"batch\":1,"       \
    "\"method\":\"single\",\"metric\":\"power\",\"value\":" #watts ",\"unit\":\"W\"}"
    static const char text[] = "[" RUN("a", 1, 8, 400) "," RUN("a", 2, 8, 500) "," RUN("b", 1, 4, 400) "," RUN(
        "b", 4, 4, 700) "," RUN("c", 1, 6, 800) "," RUN("d", 2, 6, 300) "]";
    char path[TEST_FOLDER];
    suite_power_fit *fits;
    int count;
    (void)state;
    test_file_make(path, text, sizeof text - 1);
    assert_ok(suite_power_fit_published(path, &fits, &count));
    unlink(path);
    assert_int_equal(count, 1);
    assert_string_equal(fits[0].accelerator, "h100-sxm-80");
    assert_int_equal(fits[0].points, 5); /* d was never timed on one device: it has no busy share */
    assert_int_equal(fits[0].models, 3);
    /* shares 1, 1/2, 1, 1/4, 1 and watts 400, 250, 400, 175, 800 of one device: least squares by hand */
    assert_close(fits[0].slope_w, 250 / 0.5, 1e-12);
    assert_close(fits[0].idle_w, 405 - 0.75 * 500, 1e-12);
    /* without c: 100 + 300 x, and 400 for 800; without a: 600 for 400, 950 / 3 for 250; without b: 600 for 400 and 75
     * for 175 */
    assert_close(fits[0].error_median, 0.5, 1e-12);
    assert_close(fits[0].error_p90, 100.0 / 175, 1e-12);
    assert_close(fits[0].limit_median, 700.0 / 400, 1e-12);
    free(fits);
#undef RUN
}

/* The table's values are those of the fit on what ships, to what is printed of them. */
static void the_table_is_the_fit_of_the_shipped_runs(void **state)
{
    suite_power_table table;
    suite_power_fit *fits;
    int count;
    double idle = 0, slope = 0;
    (void)state;
    assert_ok(suite_power_load(&table));
    assert_ok(suite_power_fit_published(NULL, &fits, &count));
    assert_int_equal(count, table.fitted_count);
    for (int i = 0; i < count; i++) {
        suite_power_model model;
        double limit = strcmp(fits[i].accelerator, "h100-sxm-80") == 0 ? 700 : 1000;
        assert_ok(suite_power_model_of(&table, fits[i].accelerator, limit, &model));
        assert_true(model.fitted);
        assert_near(model.idle_w, fits[i].idle_w, 0.05);
        assert_near(model.slope_w, fits[i].slope_w, 0.05);
        assert_near(model.error, fits[i].error_p90, 0.0005);
        assert_int_equal(model.points, fits[i].points);
        assert_int_equal(model.models, fits[i].models);
        assert_true(fits[i].limit_median > 1.2 && fits[i].limit_p90 > 2); /* the limit is not what is drawn */
        idle += fits[i].idle_w / limit / count;
        slope += fits[i].slope_w / limit / count;
    }
    assert_near(table.idle_share, idle, 0.005);
    assert_near(table.slope_share, slope, 0.005);
    free(fits);
    suite_power_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_accelerator_draws_follows_its_busy_share),
        cmocka_unit_test(another_accelerator_draws_shares_of_its_limit),
        cmocka_unit_test(a_busy_share_is_a_share),
        cmocka_unit_test(what_is_wrong_is_named_with_its_place),
        cmocka_unit_test(a_fit_finds_the_line_and_its_error_of_a_model_it_has_not_seen),
        cmocka_unit_test(the_table_is_the_fit_of_the_shipped_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
