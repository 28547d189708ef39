/* Mix: traffic files are read strictly, and the way in which a machine is cut is the best of all ways. */
#include "suite/mix/divide.h"

#include "base/tests/test.h"

static const char text[] =
    "{\"schema\": \"ditbench.traffic/1\", \"name\": \"two\", \"classes\": ["
    "{\"name\": \"short\", \"resolution\": \"512x256\", \"steps\": 8, \"weight\": 3, \"slo\": \"4s\"},"
    "{\"name\": \"long\", \"weight\": 1, \"slo\": \"500ms\"}]}";

static dit_status parse(const char *json, suite_traffic *out)
{
    return suite_traffic_parse(json, strlen(json), "traffic.json", out);
}

static void traffic_is_read(void **state)
{
    (void)state;
    suite_traffic traffic;
    assert_ok(parse(text, &traffic));
    assert_int_equal(traffic.count, 2);
    assert_string_equal(traffic.classes[0].name, "short");
    assert_int_equal(traffic.classes[0].width_px, 512);
    assert_int_equal(traffic.classes[0].height_px, 256);
    assert_int_equal(traffic.classes[0].steps, 8);
    assert_near(traffic.classes[0].bound_s, 4, 0);
    assert_near(traffic.classes[1].bound_s, 0.5, 1e-12);
    assert_near(suite_traffic_share(&traffic, 0), 0.75, 1e-12);
    assert_int_equal(traffic.arrivals.law, SUITE_ARRIVALS_POISSON);
    suite_traffic_release(&traffic);
}

static void wrong_traffic_is_told_where(void **state)
{
    (void)state;
    static const struct {
        const char *json, *words;
    } wrong[] = {
        {"{}", "schema"},
        {"{\"schema\": \"ditbench.traffic/1\", \"name\": \"x\"}", "classes"},
        {"{\"schema\": \"ditbench.traffic/1\", \"name\": \"x\", \"classes\": []}", "1 to 8"},
        {"{\"schema\": \"ditbench.traffic/1\", \"name\": \"x\", \"classes\": [3]}", "a class is an object"},
        {"{\"schema\": \"ditbench.traffic/1\", \"name\": \"x\", \"classes\": [{\"name\": \"a\", \"weight\": 1, "
         "\"slo\": \"soon\"}]}",
         "no time"},
        {"{\"schema\": \"ditbench.traffic/1\", \"name\": \"x\", \"classes\": [{\"name\": \"a\", \"weight\": 0, "
         "\"slo\": \"1s\"}]}",
         "weight"},
        {"{\"schema\": \"ditbench.traffic/1\", \"name\": \"x\", \"classes\": [{\"name\": \"a\", \"slo\": \"1s\"}]}",
         "weight"},
        {"{\"schema\": \"ditbench.traffic/1\", \"name\": \"x\", \"classes\": [{\"name\": \"a\", \"weight\": 1, "
         "\"slo\": "
         "\"1s\", \"resolution\": \"big\"}]}",
         "WIDTHxHEIGHT"},
        {"{\"schema\": \"ditbench.traffic/1\", \"name\": \"x\", \"classes\": [{\"name\": \"a\", \"weight\": 1, "
         "\"slo\": "
         "\"1s\"}, {\"name\": \"a\", \"weight\": 1, \"slo\": \"1s\"}]}",
         "two classes"},
        {"{\"schema\": \"ditbench.traffic/1\", \"name\": \"x\", \"arrivals\": \"sometimes\", \"classes\": [{\"name\": "
         "\"a\", "
         "\"weight\": 1, \"slo\": \"1s\"}]}",
         "sometimes"},
        {"{\"schema\": \"ditbench.traffic/1\", \"name\": \"x\", \"trace\": \"../t.csv\", \"classes\": [{\"name\": "
         "\"a\", "
         "\"slo\": \"1s\"}]}",
         "beside"},
        {"{\"schema\": \"ditbench.traffic/1\", \"name\": \"x\", \"colour\": 1, \"classes\": []}", "colour"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        suite_traffic traffic;
        dit_status st = parse(wrong[i].json, &traffic);
        if (st == DIT_OK || !strstr(dit_error_last()->message, wrong[i].words))
            fail_msg("%s: %s", wrong[i].json, st == DIT_OK ? "taken" : dit_error_last()->message);
        suite_traffic_release(&traffic);
    }
    dit_error_clear();
}

/* Seconds on 1, 2, 4 and 8 devices; 0: it does not run there. */
static suite_mix_times made_times(int classes, const double rows[][4])
{
    suite_mix_times times;
    for (int k = 0; k < SUITE_TRAFFIC_CLASSES; k++)
        for (int d = 0; d < SUITE_PARTITION_DEGREES; d++)
            times.seconds[k][d] = k < classes && d < 4 && rows[k][d] > 0 ? rows[k][d] : NAN;
    return times;
}

static double capacity_of(const suite_traffic *traffic, const suite_mix_times *times, const int groups[4],
                          const unsigned *routes)
{
    suite_division division = {.there = true};
    double rate;
    for (int d = 0; d < 4; d++) division.partition.groups[d] = groups[d];
    for (int k = 0; k < traffic->count; k++) division.routes[k] = routes[k];
    assert_ok(suite_divide_rate(traffic, times, &division, &rate));
    return rate;
}

/* All partitions of eight devices and all rules that send a class to one size, or everybody everywhere. */
static double best_of_all(const suite_traffic *traffic, const suite_mix_times *times)
{
    double best = 0;
    for (int g8 = 0; g8 <= 1; g8++)
        for (int g4 = 0; 8 * g8 + 4 * g4 <= 8; g4++)
            for (int g2 = 0; 8 * g8 + 4 * g4 + 2 * g2 <= 8; g2++) {
                const int groups[4] = {8 - 8 * g8 - 4 * g4 - 2 * g2, g2, g4, g8};
                for (unsigned a = 1; a < 16; a++)
                    for (unsigned b = 1; b < 16; b++) {
                        const unsigned routes[] = {a, b};
                        bool fits = true;
                        for (int d = 0; d < 4; d++) fits = fits && (groups[d] || !((a | b) & 1u << d));
                        for (int k = 0; k < 2; k++)
                            for (int d = 0; d < 4; d++)
                                if (routes[k] & 1u << d && !(times->seconds[k][d] <= traffic->classes[k].bound_s))
                                    fits = false;
                        bool single = !(a & (a - 1)) && !(b & (b - 1));
                        if (!fits || !single) continue;
                        best = fmax(best, capacity_of(traffic, times, groups, routes));
                    }
            }
    return best;
}

static void the_best_way_is_found(void **state)
{
    (void)state;
    static const double tables[][2][4] = {
        {{1, 0.95, 0.9, 0.9}, {0, 0, 3.5, 2.2}},  /* long ones need four devices, short ones one */
        {{1, 0.9, 0.8, 0.8}, {2, 1.8, 1.6, 1.5}}, /* more devices help little: replicas of one     */
        {{0, 4, 2, 1}, {0, 0, 3, 1.6}},           /* small sizes do not fit */
    };
    static const double bounds[][2] = {{4, 14}, {8, 8}, {9, 9}};
    for (int i = 0; i < 3; i++) {
        suite_traffic traffic;
        suite_divided found;
        const suite_mix_times times = made_times(2, tables[i]);
        assert_ok(parse(text, &traffic));
        for (int k = 0; k < 2; k++) traffic.classes[k].bound_s = bounds[i][k];
        if (i == 0) traffic.weights[0] = 9;
        assert_ok(suite_divide(&traffic, &times, 8, &found));
        double best = best_of_all(&traffic, &times);
        assert_true(found.groups.there);
        /* short runs tell rates to a few percent, and rules that send a class to several sizes may be better */
        if (!(found.groups.rate >= 0.95 * best))
            fail_msg("table %d: %g, all rules give %g", i, found.groups.rate, best);
        assert_true(found.groups.rate >= 0.999 * found.equal.rate && found.equal.rate >= 0.999 * found.one.rate);
        for (int k = 0; k < 2; k++) assert_true(found.groups.run.class_p95[k] <= traffic.classes[k].bound_s);
        if (i == 0 && !(found.groups.rate > 1.1 * found.equal.rate))
            fail_msg("groups bear %g, replicas that are alike %g", found.groups.rate, found.equal.rate);
        suite_traffic_release(&traffic);
    }
}

static void what_is_never_in_time_is_not_there(void **state)
{
    (void)state;
    static const double rows[2][4] = {{1, 1, 1, 1}, {9, 9, 9, 9}};
    const suite_mix_times times = made_times(2, rows);
    suite_traffic traffic;
    suite_divided found;
    assert_ok(parse(text, &traffic));
    assert_ok(suite_divide(&traffic, &times, 8, &found));
    assert_false(found.groups.there);
    assert_int_equal(found.looked_at, 0);
    suite_traffic_release(&traffic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(traffic_is_read), cmocka_unit_test(wrong_traffic_is_told_where),
                                       cmocka_unit_test(the_best_way_is_found),
                                       cmocka_unit_test(what_is_never_in_time_is_not_there)};
    return cmocka_run_group_tests_name("mix", tests, NULL, NULL);
}
