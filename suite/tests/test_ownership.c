/* Owning a machine: closed forms, what a site file may say, and the hours from which it is cheaper than a rented one. */
#include "base/tests/test.h"

#include "suite/prices/ownership.h"

/* ---- sites --------------------------------------------------------------------------------------------------------- */

#define VALUE(key, value) "\"" key "\":{\"value\":" value ",\"assumed\":\"a\"}"
/* Every value, the years and the interest by their own. */
#define SITE(years, interest, residual, more)                                                                                                                                             \
    "{\"schema\":\"ditbench.site/1\",\"name\":\"s\",\"currency\":\"USD\",\"values\":{\n" VALUE("years", years) "," VALUE("interest", interest) "," VALUE("residual", residual) "," VALUE( \
        "availability",                                                                                                                                                                   \
        "0.5") "," VALUE("network_share",                                                                                                                                                 \
                         "0.2") "," VALUE("delivery",                                                                                                                                     \
                                          "1000") "," VALUE("server_over_accelerators",                                                                                                   \
                                                            "1.5") "," VALUE("pue",                                                                                                       \
                                                                             "1.2") "," VALUE("price_per_kwh",                                                                            \
                                                                                              "0.1") "," VALUE("space"                                                                    \
                                                                                                               "_per_"                                                                    \
                                                                                                               "kw_"                                                                      \
                                                                                                               "year",                                                                    \
                                                                                                               "100") "," VALUE("support_per_year",                                       \
                                                                                                                                "200") "," VALUE("people_per_year",                       \
                                                                                                                                                 "300") "," VALUE("licences_per_year",    \
                                                                                                                                                                  "400") "}" more         \
                                                                                                                                                                         "}"

static suite_site parse(const char *text)
{
    suite_site site;
    assert_ok(suite_site_parse(text, strlen(text), "site.json", NULL, &site));
    return site;
}

static suite_own_cost cost_of(const suite_site *site, double price, double rated_w, double drawn_w)
{
    suite_own_cost cost;
    const suite_server_watts rated = {rated_w}, drawn = {drawn_w};
    assert_ok(suite_own_cost_of(site, price, rated, drawn, &cost));
    return cost;
}

static void an_hour_costs_what_the_closed_form_says(void **state)
{
    suite_site site = parse(SITE("4", "0", "0", ""));
    suite_own_cost cost = cost_of(&site, 8000, 10000, 5000);
    double image;
    (void)state;
    assert_near(cost.hours, 4380, 1e-9);
    assert_near(cost.invested, 8000 / 0.8 + 1000, 1e-9);
    assert_near(cost.factor, 0.25, 1e-12);
    assert_near(cost.capital, 11000 * 0.25 / 4380, 1e-12);
    assert_near(cost.upkeep, (100 * 10 + 200 + 300 + 400) / 4380.0, 1e-12);
    assert_near(cost.energy, 1.2 * 5 * 0.1, 1e-12);
    assert_near(cost.total, cost.capital + cost.upkeep + cost.energy, 1e-12);
    assert_near(suite_own_running_share(&cost), 1 - cost.capital / cost.total, 1e-12);
    assert_ok(suite_own_per_image(&cost, 100, &image));
    assert_near(image, cost.total / 100, 1e-15);
    assert_fails(suite_own_per_image(&cost, 0, &image), DIT_ERR_USAGE, "0 images");
    suite_site_release(&site);
}

static void interest_makes_an_annuity(void **state)
{
    suite_site site = parse(SITE("5", "0.08", "0", ""));
    suite_own_cost cost = cost_of(&site, 8000, 10000, 5000);
    double debt = 11000;
    (void)state;
    assert_near(cost.factor, 0.08 / (1 - pow(1.08, -5)), 1e-12);
    for (int year = 0; year < 5; year++) debt = debt * 1.08 - 11000 * cost.factor; /* five payments clear it */
    assert_near(debt, 0, 1e-8);
    suite_site_release(&site);
    site = parse(SITE("5", "1e-9", "0", "")); /* and next to no interest is none */
    cost = cost_of(&site, 8000, 10000, 5000);
    assert_near(cost.factor, 0.2, 1e-8);
    suite_site_release(&site);
}

static void what_is_left_at_the_end_is_taken_off_today(void **state)
{
    suite_site site = parse(SITE("5", "0.08", "0.25", ""));
    suite_own_cost cost = cost_of(&site, 8000, 10000, 5000);
    (void)state;
    assert_near(cost.residual, 0.25 * 11000 * pow(1.08, -5), 1e-9);
    assert_near(cost.capital, (11000 - cost.residual) * cost.factor / 4380, 1e-12);
    suite_site_release(&site);
    site = parse(SITE("5", "0.08", "0.25", ",\"depreciation\":\"market\""));
    cost = cost_of(&site, 8000, 10000, 5000);
    assert_near(cost.residual, pow(10, -0.7) * 11000 * pow(1.08, -5), 1e-9);
    suite_site_release(&site);
}

/* ---- site files ------------------------------------------------------------------------------------------------------ */

static void refused(const char *text, const char *defaults, dit_status status, const char *words)
{
    suite_site site;
    assert_fails(suite_site_parse(text, strlen(text), "mine.json", defaults, &site), status, words);
    assert_null(site.machines);
}

static void a_value_has_a_source_and_a_day_or_a_reason(void **state)
{
#define MINE(values) "{\"schema\":\"ditbench.site/1\",\"name\":\"m\",\"currency\":\"USD\",\n\"values\":{" values "}}"
    static const char defaults[] = SITE("5", "0.08", "0", "");
    (void)state;
    refused(MINE("\"pue\":{\"value\":1.3}"), defaults, DIT_ERR_JSON_MISSING,
            "mine.json:2:11: /values/pue: required key \"source\"");
    refused(MINE("\"pue\":{\"value\":1.3,\"source\":\"meter\"}"), defaults, DIT_ERR_JSON_MISSING, "\"date\"");
    refused(MINE("\"pue\":{\"value\":1.3,\"source\":\"m\",\"date\":\"2026-01-01\",\"assumed\":\"a\"}"), defaults,
            DIT_ERR_JSON_VALUE, "not assumed");
    refused(MINE("\"pue\":{\"value\":0.9,\"assumed\":\"a\"}"), defaults, DIT_ERR_JSON_VALUE, "/values/pue/value");
    refused(MINE("\"pue\":{\"assumed\":\"a\"}"), defaults, DIT_ERR_JSON_MISSING, "\"value\"");
    refused(MINE("\"pue\":1.3"), defaults, DIT_ERR_JSON_TYPE, "/values");
    refused(MINE("\"peu\":{\"value\":1.3,\"assumed\":\"a\"}"), defaults, DIT_ERR_JSON_UNKNOWN_KEY, "peu");
    refused(MINE("\"pue\":{\"value\":1.3,\"assumed\":\"a\"}"), NULL, DIT_ERR_JSON_MISSING, "\"years\"");
    refused("{\"schema\":\"ditbench.site/1\",\"name\":\"m\",\"values\":{}}", defaults, DIT_ERR_JSON_MISSING,
            "currency");
    refused("{\"schema\":\"ditbench.site/1\",\"name\":\"m\",\"currency\":\"USD\",\"depreciation\":\"fast\"}", defaults,
            DIT_ERR_JSON_VALUE, "/depreciation");
    refused(
        "{\"schema\":\"ditbench.site/1\",\"name\":\"m\",\"currency\":\"USD\",\"machines\":{\"8xl20\":{\"idle_wall_w\":"
        "{\"value\":9,\"assumed\":\"a\"}}}}",
        defaults, DIT_ERR_JSON_MISSING, "both idle and busy");
    refused(
        "{\"schema\":\"ditbench.site/1\",\"name\":\"m\",\"currency\":\"USD\",\"machines\":{\"8xl20\":{\"idle_wall_w\":"
        "{\"value\":9,\"assumed\":\"a\"},\"busy_wall_w\":{\"value\":8,\"assumed\":\"a\"}}}}",
        defaults, DIT_ERR_JSON_VALUE, "more idle than busy");
    /* the price of a kWh in another currency is nobody's */
    refused("{\"schema\":\"ditbench.site/1\",\"name\":\"m\",\"currency\":\"EUR\"}", defaults, DIT_ERR_JSON_MISSING,
            "delivery");
}

static void values_that_a_file_leaves_out_are_defaults_and_say_so(void **state)
{
    static const char defaults[] = SITE("5", "0.08", "0", "");
    static const char mine[] = MINE("\"pue\":{\"value\":1.3,\"source\":\"meter\",\"date\":\"2026-01-01\"}");
    suite_site site;
    (void)state;
    assert_ok(suite_site_parse(mine, strlen(mine), "mine.json", defaults, &site));
    assert_near(site.values[SUITE_SITE_PUE].value, 1.3, 0);
    assert_false(site.is_default[SUITE_SITE_PUE]);
    assert_near(site.values[SUITE_SITE_YEARS].value, 5, 0);
    assert_true(site.is_default[SUITE_SITE_YEARS]);
    suite_site_release(&site);
    assert_ok(suite_site_load("default", &site));
    for (int i = 0; i < SUITE_SITE_VALUE_COUNT; i++) {
        assert_true(site.is_default[i]);
        assert_true(site.values[i].source[0] || site.values[i].assumed[0]);
    }
    suite_site_release(&site);
    assert_fails(suite_site_load("defalt", &site), DIT_ERR_NOT_FOUND, "defalt");
#undef MINE
}

/* ---- prices ----------------------------------------------------------------------------------------------------------- */

static int64_t day(const char *text)
{
    int64_t out = 0;
    assert_true(suite_day_read(text, &out));
    return out;
}

static void the_newest_price_of_a_server_counts(void **state)
{
    static const char text[] =
        "{\"schema\":\"ditbench.price_book/1\",\"name\":\"b\",\"currency\":\"USD\",\"per\":\"hour\",\"sources\":"
        "{\"s\":{\"file\":\"f\",\"date\":\"2026-01-01\"}},\"purchases\":["
        "{\"accelerator\":\"l20\",\"buys\":\"accelerator\",\"low\":1000,\"high\":3000,\"source\":\"s\"},"
        "{\"accelerator\":\"l40\",\"buys\":\"server\",\"count\":8,\"price\":700,\"date\":\"2025-01-01\",\"source\":"
        "\"s\"},"
        "{\"accelerator\":\"l40\",\"buys\":\"server\",\"count\":8,\"price\":500,\"source\":\"s\"},"
        "{\"accelerator\":\"l40\",\"buys\":\"server\",\"count\":8,\"price\":9,\"date\":\"2027-01-01\",\"source\":\"s\"}"
        ","
        "{\"accelerator\":\"l40\",\"buys\":\"accelerator\",\"price\":8,\"source\":\"s\"},"
        "{\"accelerator\":\"t4\",\"buys\":\"server\",\"count\":8,\"price\":9,\"doubt\":\"another "
        "form\",\"source\":\"s\"}]}";
    const suite_price_machine l40 = {"8xl40", "l40", "", 1, 8, 0, 300, false},
                              l20 = {"8xl20", "l20", "", 1, 8, 0, 275, false};
    const suite_price_machine t4 = {"4xt4", "t4", "", 1, 4, 0, 70, false};
    suite_price_book book = {0};
    suite_site site = parse(SITE("5", "0", "0",
                                 ",\"machines\":{\"4xt4\":{\"price\":{\"value\":7000,\"source\":\"us\","
                                 "\"date\":\"2026-03-01\"}}}"));
    suite_purchase_price price;
    (void)state;
    assert_ok(suite_price_book_parse(&book, text, strlen(text), "b.json", NULL, NULL));
    assert_ok(suite_purchase_price_of(&book, &site, &l40, 8, day("2026-06-01"), &price));
    assert_near(price.mid, 4000, 1e-9);
    assert_false(price.scaled);
    assert_ok(suite_purchase_price_of(&book, &site, &l20, 4, day("2026-06-01"), &price)); /* cards made a server */
    assert_near(price.low, 4 * 1000 * 1.5, 1e-9);
    assert_near(price.mid, 4 * 2000 * 1.5, 1e-9);
    assert_near(price.high, 4 * 3000 * 1.5, 1e-9);
    assert_true(price.scaled);
    assert_ok(suite_purchase_price_of(&book, &site, &t4, 2, day("2026-06-01"), &price)); /* the buyer's own */
    assert_near(price.mid, 3500, 1e-9);
    assert_true(price.stated);
    suite_site_release(&site);
    site = parse(SITE("5", "0", "0", ""));
    assert_fails(suite_purchase_price_of(&book, &site, &t4, 2, day("2026-06-01"), &price), DIT_ERR_NOT_FOUND, "t4");
    suite_site_release(&site);
    suite_price_book_release(&book);
}

static void watts_at_the_wall_are_taken_where_the_buyer_knows_them(void **state)
{
    const suite_price_machine l40 = {"8xl40", "l40", "", 1, 8, 0, 300, false};
    suite_site site = parse(SITE("5", "0", "0",
                                 ",\"machines\":{\"8xl40\":{\"idle_wall_w\":{\"value\":1000,\"assumed\":"
                                 "\"a\"},\"busy_wall_w\":{\"value\":3000,\"assumed\":\"a\"}}}"));
    suite_site other = parse(SITE("5", "0", "0", ""));
    suite_power_table table;
    suite_power_draw draw;
    suite_server_watts watts;
    bool stated;
    (void)state;
    assert_ok(suite_power_load(&table));
    assert_ok(suite_own_watts(&site, &table, &l40, 8, 0.25, &watts, &stated));
    assert_true(stated);
    assert_near(watts.w, 1500, 1e-9);
    assert_ok(suite_own_watts(&site, &table, &l40, 4, 0.25, &watts, &stated));
    assert_near(watts.w, 750, 1e-9);
    assert_fails(suite_own_watts(&site, &table, &l40, 4, 2, &watts, &stated), DIT_ERR_USAGE, "busy");
    assert_ok(suite_own_watts(&other, &table, &l40, 8, 0.25, &watts, &stated));
    assert_false(stated);
    assert_ok(suite_power_of(&table, "l40", 300, 8, 0.25, 1, &draw));
    assert_near(watts.w, draw.server.w, 0);
    suite_power_release(&table);
    suite_site_release(&site);
    suite_site_release(&other);
}

/* ---- own or rent ------------------------------------------------------------------------------------------------------- */

static void both_ways_cost_the_same_at_the_break_even(void **state)
{
    const suite_own_cost busy = {.capital = 2, .upkeep = 0.5, .energy = 0.6, .hours = 8400};
    const suite_own_cost idle = {.capital = 2, .upkeep = 0.5, .energy = 0.2, .hours = 8400};
    suite_break_even even;
    (void)state;
    assert_ok(suite_break_even_of(&busy, &idle, 10, &even));
    assert_int_equal(even.kind, SUITE_BREAK_EVEN_AT);
    assert_near(even.available, 700, 1e-9);
    double own = 700 * 2.5 + even.hours * 0.6 + (700 - even.hours) * 0.2, rented = even.hours * 10;
    assert_near(own, rented, 1e-9);
    assert_ok(suite_break_even_of(&busy, &idle, 3.2, &even)); /* dearer than the own machine's busiest hour */
    assert_int_equal(even.kind, SUITE_BREAK_EVEN_AT);
    assert_ok(suite_break_even_of(&busy, &idle, 3.0, &even)); /* and cheaper than it */
    assert_int_equal(even.kind, SUITE_BREAK_EVEN_NEVER);
    assert_ok(suite_break_even_of(&busy, &idle, 0.3, &even)); /* less than what work alone costs */
    assert_int_equal(even.kind, SUITE_BREAK_EVEN_NEVER);
    const suite_own_cost gift = {.hours = 8400};
    assert_ok(suite_break_even_of(&gift, &gift, 1, &even));
    assert_int_equal(even.kind, SUITE_BREAK_EVEN_ALWAYS);
    assert_fails(suite_break_even_of(&busy, &idle, 0, &even), DIT_ERR_USAGE, "rent of 0");
}

/* ---- beside what owners are said to pay ----------------------------------------------------------------------------------- */

static double owners_price(const suite_price_book *book, const char *accelerator)
{
    double least = 0;
    for (int i = 0; i < book->quote_count; i++) {
        const suite_price_quote *quote = &book->quotes[i];
        if (quote->kind != SUITE_PRICE_OWN || strcmp(quote->accelerator, accelerator) != 0) continue;
        if (least <= 0 || quote->price < least) least = quote->price;
    }
    return least;
}

/* The shipped purchase prices over four years, at the share of the rated power that a source assumes: an hour of one
 * accelerator without upkeep, beside the rate of owners of very many that InferenceX has. Nothing is fitted to it. */
static void shipped_prices_come_near_what_owners_pay(void **state)
{
    static const struct {
        const char *platform;
        double cost, owners;
    } rows[] = {
        {"8xh100-sxm", 1.48, 0.14}, {"8xh200-sxm", 1.80, 0.27}, {"8xb200-sxm", 2.20, 0.13}, {"8xmi300x", 1.22, 0.09}};
    suite_price_book book = {0};
    suite_power_table power;
    suite_site site;
    (void)state;
    assert_ok(suite_price_book_load(&book));
    assert_ok(suite_power_load(&power));
    assert_ok(suite_site_load("default", &site));
    site.values[SUITE_SITE_YEARS].value = 4;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        suite_price_machine machine;
        suite_purchase_price price;
        suite_server_watts rated;
        bool assumed;
        assert_ok(suite_price_machine_load(rows[i].platform, &machine));
        assert_ok(suite_purchase_price_of(&book, &site, &machine, 8, day("2026-11-23"), &price));
        assert_ok(suite_power_rated(&power, machine.accelerator, machine.limit_w, 8, &rated, &assumed));
        suite_own_cost cost = cost_of(&site, price.mid, rated.w, power.draw_share.value * rated.w);
        double each = (cost.capital + cost.energy) / 8;
        assert_near(each, rows[i].cost, 0.0051);
        assert_near(each / owners_price(&book, machine.accelerator) - 1, rows[i].owners, 0.0051);
    }
    suite_site_release(&site);
    suite_power_release(&power);
    suite_price_book_release(&book);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_hour_costs_what_the_closed_form_says),
        cmocka_unit_test(interest_makes_an_annuity),
        cmocka_unit_test(what_is_left_at_the_end_is_taken_off_today),
        cmocka_unit_test(a_value_has_a_source_and_a_day_or_a_reason),
        cmocka_unit_test(values_that_a_file_leaves_out_are_defaults_and_say_so),
        cmocka_unit_test(the_newest_price_of_a_server_counts),
        cmocka_unit_test(watts_at_the_wall_are_taken_where_the_buyer_knows_them),
        cmocka_unit_test(both_ways_cost_the_same_at_the_break_even),
        cmocka_unit_test(shipped_prices_come_near_what_owners_pay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
