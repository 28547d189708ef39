/* Price files: what is read, what is refused, how old a quote is, and which quotes price a machine. */
#include "base/tests/test.h"

#include "base/json_writer.h"
#include "suite/catalogue/catalogue.h"
#include "suite/prices/price.h"

/* ---- a book in memory --------------------------------------------------------------------------------------------- */

#define HEAD                                                                                                           \
    "{\"schema\":\"ditbench.price_book/1\",\"name\":\"b\",\"currency\":\"USD\",\"per\":\"hour\",\n"                    \
    "\"sources\":{\"s\":{\"repository\":\"o/r\",\"path\":\"f.csv\",\"commit\":\"abc\",\"date\":\"2026-08-01\"},\n"     \
    "\"u\":{\"file\":\"offer.pdf\",\"not_before\":\"2026-01-01\",\"not_after\":\"2026-08-01\",\"why\":\"no "           \
    "date\"}},\n"
#define BOOK(rows) HEAD "\"quotes\":[\n" rows "\n]}"
/* One row but for its end; `more` begins with a comma. */
#define ROW(count, kind, price, more)                                                                                  \
    "{\"provider\":\"P\",\"instance\":\"i\",\"accelerator\":\"h100-sxm-80\",\"region\":\"r\",\"source\":\"s\","        \
    "\"count\":" #count ",\"kind\":\"" kind "\",\"price\":" #price more "}"

static dit_status parse(suite_price_book *book, const char *text)
{
    *book = (suite_price_book){0};
    return suite_price_book_parse(book, text, strlen(text), "prices.json", NULL, NULL);
}

static void refused(const char *text, dit_status wanted, const char *words)
{
    suite_price_book book;
    dit_status st = parse(&book, text);
    const dit_error *error = dit_error_last();
    if (st != wanted) fail_msg("%s: %s, not %s", text, dit_status_name(st), dit_status_name(wanted));
    if (!strstr(error->message, words)) fail_msg("\"%s\" is not in: %s", words, error->message);
    assert_contains(error->message, "prices.json:");
    assert_int_equal(book.quote_count, 0);
    suite_price_book_release(&book);
}

static int64_t day(const char *text)
{
    int64_t out = 0;
    if (!suite_day_read(text, &out)) fail_msg("%s is no day", text);
    return out;
}

/* ---- days and ages ------------------------------------------------------------------------------------------------- */

static void days_are_counted_as_the_calendar_does(void **state)
{
    char text[SUITE_DAY_TEXT];
    int64_t out = 7;
    (void)state;
    assert_int_equal(day("2000-01-01"), 10957); /* seconds of POSIX / 86400 */
    assert_int_equal(day("2026-11-23"), 20780);
    assert_int_equal(day("2024-03-01") - day("2024-02-28"), 2);
    assert_int_equal(day("2100-03-01") - day("2100-02-28"), 1);
    for (int64_t d = day("1990-01-01"); d <= day("2199-12-31"); d++) {
        suite_day_write(d, text);
        assert_int_equal(day(text), d);
    }
    static const char *const wrong[] = {"2026-02-29", "2026-13-01", "2026-00-10", "2026-04-31", "26-04-01",   "",
                                        "2026/04/01", "1989-12-31", "2200-01-01", "2026-4-01",  "2026-04-01 "};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (suite_day_read(wrong[i], &out)) fail_msg("%s is taken for a day", wrong[i]);
    assert_int_equal(out, 7);
}

static void a_price_ages_at_its_limits(void **state)
{
    const suite_dating when = {1000, 1000}, range = {1000, 1300};
    int64_t days;
    (void)state;
    assert_int_equal(suite_age_of(&when, 1000, false, &days), SUITE_AGE_PLAIN);
    assert_int_equal(suite_age_of(&when, 1090, false, &days), SUITE_AGE_PLAIN);
    assert_int_equal(suite_age_of(&when, 1091, false, &days), SUITE_AGE_AGED);
    assert_int_equal(suite_age_of(&when, 1365, false, &days), SUITE_AGE_AGED);
    assert_int_equal(suite_age_of(&when, 1366, false, &days), SUITE_AGE_OLD);
    assert_int_equal(days, 366);
    assert_int_equal(suite_age_of(&when, 999, false, &days), SUITE_AGE_AHEAD);
    assert_int_equal(suite_age_of(&when, 1007, true, &days), SUITE_AGE_PLAIN);
    assert_int_equal(suite_age_of(&when, 1008, true, &days), SUITE_AGE_OLD);
    /* an undated price is as old as it may be */
    assert_int_equal(suite_age_of(&range, 1310, false, &days), SUITE_AGE_AGED);
    assert_int_equal(days, 310);
}

/* ---- reading ------------------------------------------------------------------------------------------------------- */

static void what_a_row_lacks_is_named_with_line_and_key(void **state)
{
    (void)state;
    /* the row is the fifth line of the text */
    refused(BOOK("{\"provider\":\"P\",\"instance\":\"i\",\"accelerator\":\"a\",\"region\":\"r\",\"count\":8,"
                 "\"kind\":\"list\",\"price\":1}"),
            DIT_ERR_JSON_MISSING, "prices.json:5:1: /quotes/0: required key \"source\"");
    refused(BOOK("{\"provider\":\"P\",\"instance\":\"i\",\"accelerator\":\"a\",\"region\":\"r\",\"count\":8,"
                 "\"source\":\"s\",\"price\":1}"),
            DIT_ERR_JSON_MISSING, "5:1: /quotes/0: required key \"kind\"");
    refused(BOOK("{\"provider\":\"P\",\"instance\":\"i\",\"accelerator\":\"a\",\"region\":\"r\",\"kind\":\"list\","
                 "\"source\":\"s\",\"price\":1}"),
            DIT_ERR_JSON_MISSING, "5:1: /quotes/0: required key \"count\"");
    refused(BOOK("{\"provider\":\"P\",\"instance\":\"i\",\"accelerator\":\"a\",\"region\":\"r\",\"kind\":\"list\","
                 "\"source\":\"s\",\"count\":8}"),
            DIT_ERR_JSON_MISSING, "5:1: /quotes/0: required key \"price\"");
    refused("{\"schema\":\"ditbench.price_book/1\",\"name\":\"b\",\"per\":\"hour\",\"sources\":{}}",
            DIT_ERR_JSON_MISSING, "\"currency\"");
    refused("{\"schema\":\"ditbench.price_book/1\",\"name\":\"b\",\"currency\":\"USD\",\"sources\":{}}",
            DIT_ERR_JSON_MISSING, "\"per\"");
    refused("{\"schema\":\"ditbench.price_book/1\",\"name\":\"b\",\"currency\":\"USD\",\"per\":\"hour\"}",
            DIT_ERR_JSON_MISSING, "\"sources\"");
}

static void a_source_is_dated_and_can_be_found(void **state)
{
#define SOURCE(members)                                                                                                \
    "{\"schema\":\"ditbench.price_book/1\",\"name\":\"b\",\"currency\":\"USD\",\"per\":\"hour\",\n"                    \
    "\"sources\":{\"s\":{" members "}}}"
    suite_price_book book;
    (void)state;
    refused(SOURCE("\"repository\":\"o/r\",\"path\":\"p\",\"commit\":\"c\""), DIT_ERR_JSON_MISSING, "2:12: /sources/s");
    refused(SOURCE("\"repository\":\"o/r\",\"path\":\"p\",\"date\":\"2026-08-01\""), DIT_ERR_JSON_MISSING, "commit");
    refused(SOURCE("\"repository\":\"o/r\",\"commit\":\"c\",\"date\":\"2026-08-01\""), DIT_ERR_JSON_MISSING, "path");
    refused(SOURCE("\"path\":\"p\",\"commit\":\"c\",\"date\":\"2026-08-01\""), DIT_ERR_JSON_MISSING, "repository");
    refused(SOURCE("\"file\":\"f\",\"date\":\"yesterday\""), DIT_ERR_JSON_VALUE, "/sources/s/date");
    refused(SOURCE("\"file\":\"f\",\"not_before\":\"2026-01-01\",\"why\":\"w\""), DIT_ERR_JSON_MISSING, "not_after");
    refused(SOURCE("\"file\":\"f\",\"not_before\":\"2026-01-01\",\"not_after\":\"2026-02-01\""), DIT_ERR_JSON_MISSING,
            "why");
    refused(SOURCE("\"file\":\"f\",\"not_before\":\"2026-02-01\",\"not_after\":\"2026-01-01\",\"why\":\"w\""),
            DIT_ERR_JSON_VALUE, "earlier");
    refused(SOURCE("\"file\":\"f\",\"date\":\"2026-02-01\",\"not_after\":\"2026-01-01\""), DIT_ERR_JSON_VALUE,
            "exclude");
    refused(SOURCE("\"file\":\"f\",\"date\":\"2026-02-01\",\"url\":\"x\""), DIT_ERR_JSON_UNKNOWN_KEY, "url");
    assert_ok(parse(&book, SOURCE("\"repository\":\"o/r\",\"path\":\"issue 7\",\"date\":\"2026-08-01\"")));
    suite_price_book_release(&book);
#undef SOURCE
}

static void what_a_row_says_wrongly_is_refused(void **state)
{
    (void)state;
    refused(BOOK(ROW(8, "list", 1, ",\"colour\":1")), DIT_ERR_JSON_UNKNOWN_KEY, "colour");
    refused(BOOK(ROW(8, "rent", 1, "")), DIT_ERR_JSON_VALUE, "/quotes/0/kind");
    refused(BOOK(ROW(0, "list", 1, "")), DIT_ERR_JSON_VALUE, "/quotes/0/count");
    refused(BOOK(ROW(2.5, "list", 1, "")), DIT_ERR_JSON_TYPE, "/quotes/0/count");
    refused(BOOK(ROW(8, "list", 0, "")), DIT_ERR_JSON_VALUE, "/quotes/0/price");
    refused(BOOK(ROW(8, "list", -3, "")), DIT_ERR_JSON_VALUE, "/quotes/0/price");
    refused(BOOK(ROW(8, "list", 1e9, "")), DIT_ERR_JSON_VALUE, "/quotes/0/price");
    refused(BOOK(ROW(8, "list", 1e999, "")), DIT_ERR_JSON_NUMBER, "prices.json:5:");
    refused(BOOK(ROW(8, "list", NaN, "")), DIT_ERR_JSON_SYNTAX, "prices.json:5:");
    refused(BOOK(ROW(8, "list", "1", "")), DIT_ERR_JSON_TYPE, "/quotes/0/price");
    refused(BOOK(ROW(8, "list", 1, ",\"scope\":\"share\"")), DIT_ERR_JSON_VALUE, "share");
    refused(BOOK(ROW(8, "list", 1, ",\"scope\":\"half\"")), DIT_ERR_JSON_VALUE, "/quotes/0/scope");
    refused(BOOK(ROW(8, "list", 1, ",\"paid_ahead\":0.5")), DIT_ERR_JSON_VALUE, "paid ahead");
    refused(BOOK(ROW(8, "list", 1, ",\"doubt\":\"\"")), DIT_ERR_JSON_VALUE, "/quotes/0/doubt");
    refused(BOOK(ROW(8, "list", 1, ",\"date\":\"2026-08-01\",\"not_before\":\"2026-08-01\"")), DIT_ERR_JSON_VALUE,
            "exclude");
    refused(BOOK("7"), DIT_ERR_JSON_TYPE, "/quotes/0");
    refused(BOOK(ROW(8, "committed-1y", 1, "")), DIT_ERR_JSON_MISSING, "paid_ahead");
    refused(BOOK(ROW(8, "contract", 1, "")), DIT_ERR_JSON_MISSING, "paid_ahead");
    refused("{\"schema\":\"ditbench.price_book/2\"}", DIT_ERR_JSON_VALUE, "price_book");
    refused("[]", DIT_ERR_JSON_TYPE, "object");
    refused("{", DIT_ERR_JSON_SYNTAX, "prices.json:1:");
    refused(HEAD "\"rates\":[{\"from\":\"EUR\",\"to\":\"USD\",\"rate\":1.1,\"source\":\"s\"}]}", DIT_ERR_JSON_MISSING,
            "date");
    refused(HEAD "\"rates\":[{\"from\":\"euro\",\"to\":\"USD\",\"rate\":1,\"date\":\"2026-01-01\",\"source\":\"s\"}]}",
            DIT_ERR_JSON_VALUE, "/rates/0/from");
    refused(HEAD "\"purchases\":[{\"accelerator\":\"a\",\"buys\":\"server\",\"price\":1,\"source\":\"s\"}]}",
            DIT_ERR_JSON_MISSING, "count");
    refused(HEAD
            "\"purchases\":[{\"accelerator\":\"a\",\"buys\":\"accelerator\",\"low\":9,\"high\":8,\"source\":\"s\"}]}",
            DIT_ERR_JSON_VALUE, "/purchases/0/high");
    refused(HEAD "\"purchases\":[{\"accelerator\":\"a\",\"buys\":\"accelerator\",\"source\":\"s\"}]}",
            DIT_ERR_JSON_MISSING, "price");
    refused(HEAD "\"refused\":[{\"what\":\"x\",\"why\":\"y\"}]}", DIT_ERR_JSON_MISSING, "source");
}

static void names_are_those_of_the_catalogue(void **state)
{
    static const char *const accelerators[] = {"h100-sxm-80", NULL}, *const platforms[] = {"8xh100-sxm", NULL};
    static const char card[] = BOOK(ROW(8, "list", 1, ",\"platform\":\"8xh100-smx\""));
    static const char other[] = HEAD "\"quotes\":[{\"provider\":\"P\",\"instance\":\"i\",\"accelerator\":\"h100\","
                                     "\"region\":\"r\",\"source\":\"s\",\"count\":8,\"kind\":\"list\",\"price\":1}]}";
    suite_price_book book = {0};
    (void)state;
    assert_fails(suite_price_book_parse(&book, card, strlen(card), "p", accelerators, platforms), DIT_ERR_JSON_VALUE,
                 "/quotes/0/platform");
    assert_contains(dit_error_last()->hint, "8xh100-sxm");
    assert_fails(suite_price_book_parse(&book, other, strlen(other), "p", accelerators, platforms), DIT_ERR_JSON_VALUE,
                 "/quotes/0/accelerator");
    suite_price_book_release(&book);
}

static void a_refused_file_leaves_the_book_as_it_was(void **state)
{
    suite_price_book book;
    static const char good[] = BOOK(ROW(8, "list", 1, "") "," ROW(4, "list", 1, ""));
    static const char bad[] = BOOK(ROW(8, "list", 2, "") "," ROW(8, "list", -1, ""));
    (void)state;
    assert_ok(parse(&book, good));
    assert_fails(suite_price_book_parse(&book, bad, strlen(bad), "bad.json", NULL, NULL), DIT_ERR_JSON_VALUE,
                 "bad.json");
    assert_int_equal(book.quote_count, 2);
    assert_int_equal(book.file_count, 1);
    assert_ok(suite_price_book_parse(&book, good, strlen(good), "again.json", NULL, NULL));
    assert_int_equal(book.quote_count, 4);
    assert_near(book.quotes[2].price, 1, 0);
    suite_price_book_release(&book);
}

/* Every prefix of a good file, and every byte changed. */
static void no_damage_crashes_the_reader(void **state)
{
    static const char good[] = BOOK(ROW(8, "contract", 1.5, ",\"paid_ahead\":0.25,\"doubt\":\"d\""));
    char text[sizeof good];
    (void)state;
    for (size_t i = 0; i < sizeof good - 1; i++) {
        suite_price_book book = {0};
        memcpy(text, good, sizeof good);
        text[i] ^= 0x11;
        if (suite_price_book_parse(&book, text, sizeof good - 1, "p", NULL, NULL) != DIT_OK)
            assert_true(dit_error_last()->message[0] != '\0');
        suite_price_book_release(&book);
        if (suite_price_book_parse(&book, good, i, "p", NULL, NULL) == DIT_OK) fail_msg("%zu bytes are a file", i);
        suite_price_book_release(&book);
    }
}

/* ---- prices of machines --------------------------------------------------------------------------------------------- */

static const suite_price_machine h100 = {"8xh100-sxm", "h100-sxm-80", "nvlink-h100", 1, 8, 0, 700, false};

static suite_price_terms on(const char *date, suite_price_kind kind)
{
    return (suite_price_terms){.day = day(date), .kind = kind, .currency = "USD"};
}

static suite_price price_of(const suite_price_book *book, const suite_price_machine *machine, int devices,
                            const suite_price_terms *terms)
{
    suite_price price;
    assert_ok(suite_price_of(book, machine, devices, terms, &price));
    return price;
}

static void absent(const suite_price_book *book, int devices, const suite_price_terms *terms,
                   suite_price_absence wanted, const char *words)
{
    suite_price price = price_of(book, &h100, devices, terms);
    if (price.absence != wanted) fail_msg("%s: absence %d, not %d", price.reason, (int)price.absence, (int)wanted);
    assert_contains(price.reason, words);
    assert_int_equal(price.use_count, 0);
    suite_price_release(&price);
}

static void a_machine_is_priced_by_instances_of_its_size(void **state)
{
    suite_price_book book;
    suite_price_terms terms = on("2026-08-02", SUITE_PRICE_ON_DEMAND);
    (void)state;
    assert_ok(parse(&book, BOOK(ROW(1, "on-demand", 2, "") "," ROW(2, "on-demand", 4.4, ""))));
    absent(&book, 8, &terms, SUITE_PRICE_NO_SIZE, "8 x h100-sxm-80 in one instance");
    terms.per_device = true;
    suite_price price = price_of(&book, &h100, 8, &terms);
    assert_int_equal(price.use_count, 2);
    assert_true(price.derived);
    assert_near(price.least, 16, 1e-12);
    assert_near(price.most, 17.6, 1e-12);
    suite_price_release(&price);
    price = price_of(&book, &h100, 2, &terms); /* an instance of two is there: nothing is derived */
    assert_int_equal(price.use_count, 1);
    assert_false(price.derived);
    assert_near(price.median, 4.4, 1e-12);
    suite_price_release(&price);
    suite_price_book_release(&book);
}

static void a_share_of_some_machine_is_no_price_of_one_device(void **state)
{
    suite_price_book book;
    suite_price_terms terms = on("2026-08-02", SUITE_PRICE_ON_DEMAND);
    (void)state;
    assert_ok(parse(&book, BOOK(ROW(1, "on-demand", 2, ",\"scope\":\"share\""))));
    absent(&book, 1, &terms, SUITE_PRICE_NO_SIZE, "a share of some machine");
    terms.per_device = true;
    suite_price price = price_of(&book, &h100, 4, &terms);
    assert_near(price.most, 8, 1e-12);
    assert_true(price.derived);
    suite_price_release(&price);
    suite_price_book_release(&book);
}

static void quotes_give_least_median_and_most(void **state)
{
    suite_price_book book;
    suite_price_terms terms = on("2026-08-02", SUITE_PRICE_ON_DEMAND);
    (void)state;
    assert_ok(parse(
        &book, BOOK(ROW(8, "on-demand", 30, ",\"zone\":\"a\"") "," ROW(8, "on-demand", 20, ",\"zone\":\"b\"") "," ROW(
                   8, "on-demand", 70, ",\"zone\":\"c\"") "," ROW(8, "spot", 5, ""))));
    suite_price price = price_of(&book, &h100, 8, &terms);
    assert_int_equal(price.use_count, 3);
    assert_near(price.least, 20, 0);
    assert_near(price.median, 30, 0);
    assert_near(price.most, 70, 0);
    assert_true(price.uses[0].links_unnamed);
    suite_price_release(&price);
    terms.region = "elsewhere";
    absent(&book, 8, &terms, SUITE_PRICE_NO_REGION, "elsewhere");
    suite_price_book_release(&book);
}

static void kinds_are_never_mixed(void **state)
{
    suite_price_book book;
    (void)state;
    assert_ok(parse(&book, BOOK(ROW(8, "on-demand", 30, "") "," ROW(8, "spot", 5, "") "," ROW(8, "committed-1y", 18,
                                                                                              ",\"paid_ahead\":1"))));
    for (int kind = 0; kind < SUITE_PRICE_KIND_COUNT; kind++) {
        const suite_price_terms terms = on("2026-08-02", (suite_price_kind)kind);
        double wanted = kind == SUITE_PRICE_ON_DEMAND ? 30 : kind == SUITE_PRICE_SPOT ? 5 : 18;
        if (kind != SUITE_PRICE_ON_DEMAND && kind != SUITE_PRICE_SPOT && kind != SUITE_PRICE_COMMITTED_1Y) {
            absent(&book, 8, &terms, SUITE_PRICE_NO_KIND, suite_price_kind_names()[kind]);
            continue;
        }
        suite_price price = price_of(&book, &h100, 8, &terms);
        assert_int_equal(price.use_count, 1);
        assert_near(price.least, wanted, 0);
        assert_near(price.most, wanted, 0);
        suite_price_release(&price);
    }
    suite_price_book_release(&book);
}

static void old_quotes_and_doubts_are_taken_only_when_asked_for(void **state)
{
    suite_price_book book;
    suite_price_terms terms = on("2027-08-02", SUITE_PRICE_ON_DEMAND);
    (void)state;
    assert_ok(parse(&book, BOOK(ROW(8, "on-demand", 30, "") "," ROW(8, "spot", 5, "") "," ROW(
                               4, "on-demand", 9, ",\"doubt\":\"the form is not named\""))));
    absent(&book, 8, &terms, SUITE_PRICE_OLD, "2026-08-01");
    terms.old_prices = true;
    suite_price price = price_of(&book, &h100, 8, &terms);
    assert_int_equal(price.age, SUITE_AGE_OLD);
    suite_price_release(&price);
    terms = on("2026-08-02", SUITE_PRICE_ON_DEMAND);
    absent(&book, 4, &terms, SUITE_PRICE_DOUBTFUL, "the form is not named");
    terms.doubtful = true;
    price = price_of(&book, &h100, 4, &terms);
    assert_near(price.least, 9, 0);
    suite_price_release(&price);
    terms = on("2026-08-09", SUITE_PRICE_SPOT);
    absent(&book, 8, &terms, SUITE_PRICE_OLD, "2026-08-01");
    terms = on("2026-07-31", SUITE_PRICE_ON_DEMAND);
    absent(&book, 8, &terms, SUITE_PRICE_AHEAD, "later day");
    suite_price_book_release(&book);
}

static void the_newest_quote_of_an_offer_counts(void **state)
{
    suite_price_book book;
    suite_price_terms terms = on("2026-08-02", SUITE_PRICE_ON_DEMAND);
    (void)state;
    assert_ok(
        parse(&book, BOOK(ROW(8, "on-demand", 98.32, ",\"date\":\"2026-06-01\"") "," ROW(8, "on-demand", 55.04, ""))));
    suite_price price = price_of(&book, &h100, 8, &terms);
    assert_int_equal(price.use_count, 1);
    assert_near(price.most, 55.04, 0);
    suite_price_release(&price);
    terms.day = day("2026-07-01"); /* on that day nobody knew the newer one */
    price = price_of(&book, &h100, 8, &terms);
    assert_near(price.most, 98.32, 0);
    suite_price_release(&price);
    suite_price_book_release(&book);
}

static void nodes_are_whole_instances(void **state)
{
    suite_price_book book;
    const suite_price_terms terms = on("2026-08-02", SUITE_PRICE_ON_DEMAND);
    suite_price_machine two = h100;
    suite_price price;
    (void)state;
    two.nodes = 2;
    assert_ok(parse(&book, BOOK(ROW(8, "on-demand", 30, "") "," ROW(4, "on-demand", 16, ""))));
    price = price_of(&book, &two, 16, &terms);
    assert_int_equal(price.use_count, 1);
    assert_int_equal(price.uses[0].instances, 2);
    assert_near(price.least, 60, 1e-12);
    suite_price_release(&price);
    price = price_of(&book, &two, 4, &terms);
    assert_near(price.least, 16, 1e-12);
    suite_price_release(&price);
    assert_fails(suite_price_of(&book, &two, 12, &terms, &price), DIT_ERR_CONSTRAINT_PLATFORM, "12 devices");
    assert_fails(suite_price_of(&book, &two, 24, &terms, &price), DIT_ERR_CONSTRAINT_PLATFORM, "24 devices");
    assert_fails(suite_price_of(&book, &two, 0, &terms, &price), DIT_ERR_CONSTRAINT_PLATFORM, "0 devices");
    suite_price_book_release(&book);
}

/* A quote that names its platform buys machines of such links, whatever their number of nodes, and no others. */
static void links_decide_what_a_quote_buys(void **state)
{
    suite_price_book book;
    const suite_price_terms terms = on("2026-08-02", SUITE_PRICE_ON_DEMAND);
    suite_price_machine node, two, tree = h100;
    suite_price price;
    (void)state;
    assert_ok(suite_price_machine_load("8xh100-sxm", &node));
    assert_ok(suite_price_machine_load("2xp5", &two));
    assert_ok(parse(&book, BOOK(ROW(8, "on-demand", 30, ",\"platform\":\"8xh100-sxm\""))));
    price = price_of(&book, &node, 8, &terms);
    assert_near(price.least, 30, 0);
    assert_false(price.uses[0].links_unnamed);
    suite_price_release(&price);
    price = price_of(&book, &two, 16, &terms);
    assert_near(price.least, 60, 0);
    suite_price_release(&price);
    tree.topology = 1;
    snprintf(tree.name, sizeof tree.name, "8xh100-tree");
    price = price_of(&book, &tree, 8, &terms);
    assert_int_equal(price.absence, SUITE_PRICE_NO_SIZE);
    assert_contains(price.reason, "other links");
    suite_price_release(&price);
    suite_price_book_release(&book);
    assert_fails(suite_price_machine_load("local-cpu-simulated", &node), DIT_ERR_UNSUPPORTED, "cores");
}

static void currencies_meet_only_through_a_dated_rate(void **state)
{
    static const char euro[] = HEAD "\"quotes\":[" ROW(
        8, "on-demand", 30,
        "") "],\"rates\":["
            "{\"from\":\"USD\",\"to\":\"EUR\",\"rate\":0.5,\"date\":\"2026-05-01\",\"source\":\"s\"},"
            "{\"from\":\"EUR\",\"to\":\"USD\",\"rate\":1.25,\"date\":\"2026-07-01\",\"source\":\"s\"},"
            "{\"from\":\"EUR\",\"to\":\"USD\",\"rate\":4,\"date\":\"2026-12-01\",\"source\":\"s\"}]}";
    suite_price_book book;
    suite_price_terms terms = on("2026-08-02", SUITE_PRICE_ON_DEMAND);
    int used;
    (void)state;
    terms.currency = "EUR";
    assert_ok(parse(&book, BOOK(ROW(8, "on-demand", 30, ""))));
    absent(&book, 8, &terms, SUITE_PRICE_NO_RATE, "USD and EUR");
    suite_price_book_release(&book);
    assert_ok(parse(&book, euro));
    suite_price price = price_of(&book, &h100, 8, &terms);
    assert_near(price.least, 24, 1e-12);
    assert_int_equal(price.uses[0].rate, 1);
    assert_int_equal(price.age, SUITE_AGE_PLAIN);
    suite_price_release(&price);
    terms.day = day("2026-10-01"); /* the quote is 61 days old, the rate 92 */
    price = price_of(&book, &h100, 8, &terms);
    assert_int_equal(price.age, SUITE_AGE_AGED);
    suite_price_release(&price);
    assert_near(suite_currency_factor(&book, "USD", "EUR", day("2026-06-01"), &used), 0.5, 0);
    assert_int_equal(used, 0);
    assert_near(suite_currency_factor(&book, "USD", "EUR", day("2026-04-30"), &used), 0, 0);
    assert_near(suite_currency_factor(&book, "USD", "USD", day("2026-04-30"), &used), 1, 0);
    suite_price_book_release(&book);
}

/* A price is for every device that works. Leave any one axis out of what is paid for, and it is refused. */
static void devices_in_the_price_are_those_of_the_mesh_and_its_replicas(void **state)
{
    (void)state;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        dit_parallel mesh = {.rows_degree = 1};
        int devices = 3; /* replicas */
        for (int i = 0; i < DIT_AXIS_COUNT; i++) devices *= mesh.degree[i] = i == axis ? 5 : 2;
        const suite_price whole = {.devices = devices}, part = {.devices = devices / 5};
        assert_ok(suite_price_covers(&whole, &mesh, 3));
        assert_fails(suite_price_covers(&part, &mesh, 3), DIT_ERR_MISMATCH, "devices");
        assert_fails(suite_price_covers(&whole, &mesh, 1), DIT_ERR_MISMATCH, "devices");
    }
}

/* ---- what ships ----------------------------------------------------------------------------------------------------- */

static void shipped_files_rank_what_they_should(void **state)
{
    suite_price_book book = {0};
    suite_price_terms terms = on("2026-11-23", SUITE_PRICE_ON_DEMAND);
    suite_price_machine machine;
    const struct {
        const char *platform;
        suite_price_absence absence;
        double least, most;
    } rows[] = {{"8xh200-sxm", SUITE_PRICE_THERE, 36, 79.12},
                {"8xb200-sxm", SUITE_PRICE_THERE, 57.2, 57.2},
                {"8xh100-sxm", SUITE_PRICE_OLD, 0, 0},
                {"8xl40", SUITE_PRICE_OLD, 0, 0},
                {"8xl20", SUITE_PRICE_NO_ACCELERATOR, 0, 0},
                {"8xh20", SUITE_PRICE_NO_ACCELERATOR, 0, 0},
                {"8xa800-sxm", SUITE_PRICE_NO_ACCELERATOR, 0, 0},
                {"72xgb200", SUITE_PRICE_NO_KIND, 0, 0}};
    (void)state;
    assert_ok(suite_price_book_load(&book));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_ok(suite_price_machine_load(rows[i].platform, &machine));
        suite_price price = price_of(&book, &machine, machine.node_devices, &terms);
        if (price.absence != rows[i].absence) fail_msg("%s: %s", rows[i].platform, price.reason);
        assert_near(price.least, rows[i].least, 1e-9);
        assert_near(price.most, rows[i].most, 1e-9);
        suite_price_release(&price);
    }
    terms.kind = SUITE_PRICE_CONTRACT;
    terms.per_device = true;
    assert_ok(suite_price_machine_load("8xh100-sxm", &machine));
    suite_price price = price_of(&book, &machine, 8, &terms);
    assert_near(price.least, 8 * 1.3, 1e-9);
    assert_int_equal(price.age, SUITE_AGE_AGED);
    suite_price_release(&price);
    suite_price_book_release(&book);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days_are_counted_as_the_calendar_does),
        cmocka_unit_test(a_price_ages_at_its_limits),
        cmocka_unit_test(what_a_row_lacks_is_named_with_line_and_key),
        cmocka_unit_test(a_source_is_dated_and_can_be_found),
        cmocka_unit_test(what_a_row_says_wrongly_is_refused),
        cmocka_unit_test(names_are_those_of_the_catalogue),
        cmocka_unit_test(a_refused_file_leaves_the_book_as_it_was),
        cmocka_unit_test(no_damage_crashes_the_reader),
        cmocka_unit_test(a_machine_is_priced_by_instances_of_its_size),
        cmocka_unit_test(a_share_of_some_machine_is_no_price_of_one_device),
        cmocka_unit_test(quotes_give_least_median_and_most),
        cmocka_unit_test(kinds_are_never_mixed),
        cmocka_unit_test(old_quotes_and_doubts_are_taken_only_when_asked_for),
        cmocka_unit_test(the_newest_quote_of_an_offer_counts),
        cmocka_unit_test(nodes_are_whole_instances),
        cmocka_unit_test(links_decide_what_a_quote_buys),
        cmocka_unit_test(currencies_meet_only_through_a_dated_rate),
        cmocka_unit_test(devices_in_the_price_are_those_of_the_mesh_and_its_replicas),
        cmocka_unit_test(shipped_files_rank_what_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
