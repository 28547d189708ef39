/* Catalogues of SkyPilot: each trap of real ones in a few lines of its own, and text that is no catalogue. */
#include "base/tests/test.h"

#include "suite/prices/book.h"
#include "suite/prices/csv.h"
#include "suite/prices/skypilot.h"

#define HEADER                                                                                                         \
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice,AvailabilityZone\n"
#define INFO(count, mib) "\"{'Gpus': [{'Name': 'x', 'Count': " #count ", 'MemoryInfo': {'SizeInMiB': " #mib "}}]}\""

static const char names_text[] =
    "{\"schema\":\"ditbench.price_names/1\",\"provider\":\"P\",\"currency\":\"USD\",\"repository\":\"o/r\","
    "\"path\":\"vms.csv\",\"floor_per_device\":0.5,\"accelerators\":{"
    "\"A100\":[{\"accelerator\":\"a100-sxm-40\",\"memory_gib\":40},{\"accelerator\":\"a100-sxm-80\",\"memory_gib\":80}]"
    ","
    "\"H100\":[{\"accelerator\":\"h100-sxm-80\",\"memory_gib\":80,\"instance\":\"sxm\",\"platforms\":{\"8\":\"8xh100-"
    "sxm\"}},"
    "{\"accelerator\":\"h100-sxm-80\",\"memory_gib\":80},{\"accelerator\":\"h100-pcie-80\",\"memory_gib\":80}],"
    "\"L40S\":[{\"accelerator\":\"l40s\"}],\"L4\":[{\"accelerator\":\"l4\",\"doubt\":\"d\"}]}}";

static suite_skypilot_import import;
static suite_price_book book;

static dit_status run(const char *csv, size_t length)
{
    dit_json names;
    assert_ok(dit_json_parse(names_text, sizeof names_text - 1, "names.json", &names));
    const suite_skypilot_request request = {csv, "vms.csv", length, &names, "abc", "2026-11-01"};
    dit_status st = suite_skypilot_read(&request, &import);
    dit_json_release(&names);
    return st;
}

/* Imports lines behind the usual header, and reads the price file that comes out. */
static void take(const char *lines)
{
    char csv[4000], *text = NULL;
    snprintf(csv, sizeof csv, "%s%s", HEADER, lines);
    suite_skypilot_release(&import);
    suite_price_book_release(&book);
    assert_ok(run(csv, strlen(csv)));
    assert_ok(dit_json_canonical(import.book, &text));
    assert_ok(suite_price_book_parse(&book, text, strlen(text), "imported", NULL, NULL));
    free(text);
}

static void is_refused(int line, suite_skypilot_refusal why, const char *words)
{
    for (int i = 0; i < import.refused_count; i++) {
        if (import.refused[i].line != line || import.refused[i].why != why) continue;
        assert_contains(import.refused[i].reason, words);
        return;
    }
    fail_msg("line %d is not refused as %s", line, suite_skypilot_refusal_name(why));
}

static void quotes_are(int count)
{
    if (book.quote_count != count) fail_msg("%d quotes, not %d", book.quote_count, count);
}

/* ---- names and memory ----------------------------------------------------------------------------------------------- */

static void the_memory_in_the_row_says_which_a100_it_is(void **state)
{
    (void)state;
    take("i,A100,8,1,1,10,r," INFO(8, 40960) ",,\ni,A100,8,1,1,20,r2," INFO(
        8, 81920) ",,\n"
                  "i,A100,8,1,1,30,r3,,,\ni,A100,8,1,1,30,r4," INFO(8, 16384) ",,\n");
    quotes_are(3);
    assert_string_equal(book.quotes[0].accelerator, "a100-sxm-40");
    assert_string_equal(book.quotes[0].doubt, "");
    assert_string_equal(book.quotes[1].accelerator, "a100-sxm-80");
    assert_contains(book.quotes[2].doubt, "a100-sxm-40 or a100-sxm-80");
    is_refused(5, SUITE_SKYPILOT_MEMORY, "16 GiB");
}

static void a_form_that_the_row_does_not_say_is_in_doubt(void **state)
{
    (void)state;
    take("h100-sxm-x8,H100,8,1,1,24,r," INFO(8, 81920) ",,\nh100-x8,H100,8,1,1,24,r2," INFO(
        8, 81920) ",,\n"
                  "i,L4,1,1,1,1.1,r,,,\n");
    quotes_are(3);
    assert_string_equal(book.quotes[0].doubt, "");
    assert_string_equal(book.quotes[0].platform, "8xh100-sxm");
    assert_contains(book.quotes[1].doubt, "h100-sxm-80 or h100-pcie-80");
    assert_string_equal(book.quotes[1].platform, "");
    assert_string_equal(book.quotes[2].doubt, "d");
}

static void gib_under_a_key_of_mib_are_gib(void **state)
{
    (void)state;
    take("i,A100,1,1,1,1.7,r," INFO(1, 80) ",,\n");
    quotes_are(1);
    assert_string_equal(book.quotes[0].accelerator, "a100-sxm-80");
    assert_contains(book.quotes[0].note, "GiB");
}

static void a_name_that_the_table_lacks_is_refused(void **state)
{
    (void)state;
    take("i,TPU-v5,8,1,1,10,r,,,\ncpu,,0,4,16,0.1,r,,,\n");
    quotes_are(0);
    is_refused(2, SUITE_SKYPILOT_NAME, "TPU-v5");
    is_refused(3, SUITE_SKYPILOT_NO_ACCELERATOR, "");
}

/* ---- prices that are none --------------------------------------------------------------------------------------------- */

static void placeholders_are_no_prices(void **state)
{
    (void)state;
    take("i,L40S,1,1,1,700.0,r,,,\n" /* nobody asks that                        */
         "i,L40S,8,1,1,4,r2,,,\n"    /* the floor that the table tells of       */
         "i,L40S,8,1,1,8,r3,,,\n"    /* the same round price for each device    */
         "i,A100,1,1,1,1.0,r3," INFO(1, 81920) ",,\n"
                                               "i,L40S,2,1,1,0,r4,,,\n");
    quotes_are(0);
    is_refused(2, SUITE_SKYPILOT_PLACEHOLDER, "700");
    is_refused(3, SUITE_SKYPILOT_PLACEHOLDER, "floor");
    is_refused(4, SUITE_SKYPILOT_PLACEHOLDER, "A100");
    is_refused(5, SUITE_SKYPILOT_PLACEHOLDER, "L40S");
    is_refused(6, SUITE_SKYPILOT_NO_PRICE, "");
}

static void a_spot_price_of_zero_means_none(void **state)
{
    (void)state;
    take("i,L40S,1,1,1,1.5,r,,0.00,\ni,L40S,1,1,1,,r2,,0.0,\n");
    quotes_are(1);
    assert_int_equal(book.quotes[0].kind, SUITE_PRICE_ON_DEMAND);
    is_refused(2, SUITE_SKYPILOT_SPOT_ZERO, "none is offered");
    is_refused(3, SUITE_SKYPILOT_NO_PRICE, "");
}

static void a_spot_price_equal_to_the_other_is_a_ceiling(void **state)
{
    (void)state;
    take("i,L40S,1,1,1,1.5,r,,1.5,z1\ni,L40S,1,1,1,1.5,r,,0.6,z2\n");
    quotes_are(2); /* on demand, told once for both zones, and the spot price of the second */
    is_refused(2, SUITE_SKYPILOT_SPOT_CEILING, "nothing is for sale");
    assert_int_equal(book.quotes[1].kind, SUITE_PRICE_SPOT);
    assert_string_equal(book.quotes[1].zone, "z2");
    assert_near(book.quotes[1].price, 0.6, 0);
}

static void swapped_columns_are_refused_whole(void **state)
{
    (void)state;
    take("8x_L40S_SECURE,L40S,8,1,1,3.44,-,,6.88,\n");
    quotes_are(0);
    is_refused(2, SUITE_SKYPILOT_SWAPPED, "6.88");
}

static void a_price_of_one_card_for_eight_is_refused(void **state)
{
    (void)state;
    take("i1,L40S,1,1,1,1.55,r,,,\ni8,L40S,8,1,1,1.55,r,,,\ni8,L40S,8,1,1,12.4,r2,,,\n");
    quotes_are(2);
    is_refused(3, SUITE_SKYPILOT_PRICE_OF_FEWER, "line 2");
}

static void twelve_devices_are_no_machine_of_eight(void **state)
{
    (void)state;
    take("Standard_ND96isr_H100_v5,H100,12,1,1,98,r," INFO(12, 81920) ",,\ni,L40S,4,1,1,6,r," INFO(
        8, 49152) ",,\n"
                  "i,L40S,0.5,1,1,1,r,,,\ni,L40S,0,1,1,1,r,,,\n");
    quotes_are(0);
    is_refused(2, SUITE_SKYPILOT_COUNT, "at most 8");
    is_refused(3, SUITE_SKYPILOT_COUNT, "GpuInfo says 8");
    is_refused(4, SUITE_SKYPILOT_COUNT, "0.5");
    is_refused(5, SUITE_SKYPILOT_COUNT, "0 is no number");
}

static void a_price_that_is_not_proportional_is_flagged(void **state)
{
    (void)state;
    take("L40,L40S,1,1,1,0.88,r,,,\nL40x4,L40S,4,1,1,5.96,r,,,\nL40x8,L40S,8,1,1,7.5,r,,,\n"
         "L40x4,L40S,4,1,1,5.96,elsewhere,,,\n");
    quotes_are(4);
    assert_string_equal(book.quotes[0].doubt, "");
    assert_contains(book.quotes[1].doubt, "1.49 a device, against 0.88");
    assert_string_equal(book.quotes[2].doubt, ""); /* 6.5 % a device more */
    assert_string_equal(book.quotes[3].doubt, ""); /* nothing to compare it with there */
    assert_int_equal(import.doubt_count, 1);
}

/* ---- the file that comes out ------------------------------------------------------------------------------------------ */

static void quotes_carry_the_day_and_the_commit(void **state)
{
    int64_t day;
    (void)state;
    take("i,L40S,1,1,1,1.5,r,,0.7,\n");
    quotes_are(2);
    assert_true(suite_day_read("2026-11-01", &day));
    assert_int_equal(book.quotes[1].when.first, day);
    const cJSON *source = dit_json_member(dit_json_member(import.book, "sources"), "catalogue");
    assert_string_equal(dit_json_text_or(source, "commit", ""), "abc");
    assert_string_equal(dit_json_text_or(source, "repository", ""), "o/r");
}

static void refused_lines_stand_in_the_file(void **state)
{
    (void)state;
    take("i,L40S,1,1,1,700,r,,,\ncpu,,0,4,16,0.1,r,,,\n");
    const cJSON *refused = dit_json_member(import.book, "refused");
    assert_int_equal(cJSON_GetArraySize(refused), 1);
    assert_string_equal(dit_json_text_or(refused->child, "what", ""), "line 2");
}

/* ---- text that is no catalogue ---------------------------------------------------------------------------------------- */

static void broken(const char *csv, const char *words)
{
    suite_skypilot_release(&import);
    assert_fails(run(csv, strlen(csv)), DIT_ERR_USAGE, words);
    assert_null(import.book);
}

static void text_that_is_no_catalogue_is_refused_with_its_line(void **state)
{
    (void)state;
    broken("", "no column InstanceType");
    broken("{\"a\": 1}\n", "vms.csv:1: the header has no column");
    broken("InstanceType,AcceleratorName,AcceleratorCount,Price\n", "no column Region");
    broken(HEADER "i,\"L40S,1\n,,\n", "vms.csv:2: a quoted field is never closed");
    broken(HEADER "i,\"L40S\"x,1\n", "vms.csv:2: text follows");
    assert_fails(run("a\0b", 3), DIT_ERR_USAGE, "NUL");
    take("i,L40S,1,1,1,1.5,r\ni,L40S,x,1,1,1.5,r,,,\ni,L40S,1,1,1,-2,r,,,\ni,L40S,1,1,1,nan,r,,,\ni,L40S,1,1,1,1e999,r,"
         ",,\n");
    quotes_are(0);
    is_refused(2, SUITE_SKYPILOT_FIELDS, "7 fields");
    for (int line = 3; line <= 6; line++) is_refused(line, SUITE_SKYPILOT_NUMBER, "");
}

static void names_that_are_wrong_are_refused(void **state)
{
#define NAMES(members)                                                                                                 \
    "{\"schema\":\"ditbench.price_names/1\",\"provider\":\"P\",\"currency\":\"USD\",\"repository\":\"o/"               \
    "r\",\"path\":\"p\"," members "}"
    static const char *const wrong[] = {
        NAMES("\"accelerators\":{\"A\":[]}"),
        NAMES("\"accelerators\":{\"A\":[{\"memory_gib\":4}]}"),
        NAMES("\"accelerators\":{\"A\":[{\"accelerator\":\"a\",\"memory_gib\":\"4\"}]}"),
        NAMES("\"accelerators\":{\"A\":[{\"accelerator\":\"a\",\"colour\":1}]}"),
        NAMES("\"accelerators\":{\"A\":[{\"accelerator\":\"a\",\"platforms\":{\"x\":\"y\"}}]}"),
        NAMES("\"accelerators\":{},\"kind\":\"spot\""),
        NAMES("\"colour\":1"),
        NAMES("\"most_devices\":8"),
        "[]",
        "{\"schema\":\"x\"}"};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        dit_json names;
        assert_ok(dit_json_parse(wrong[i], strlen(wrong[i]), "names.json", &names));
        const suite_skypilot_request request = {HEADER, "vms.csv", sizeof HEADER - 1, &names, "abc", "2026-11-01"};
        suite_skypilot_release(&import);
        if (suite_skypilot_read(&request, &import) == DIT_OK) fail_msg("%s is read", wrong[i]);
        assert_contains(dit_error_last()->message, "names.json:1:");
        dit_json_release(&names);
    }
}

static void csv_is_read_as_its_rfc_has_it(void **state)
{
    static const char text[] = "\xEF\xBB\xBF"
                               "a,\"b, \"\"c\"\"\nd\",\r\n\r\n,e\n\"\",\"f\"";
    suite_csv csv;
    suite_csv_record record;
    bool more;
    (void)state;
    assert_ok(suite_csv_open(&csv, text, sizeof text - 1, "t"));
    assert_ok(suite_csv_next(&csv, &record, &more));
    assert_int_equal(record.count, 3);
    assert_string_equal(record.field[0], "a");
    assert_string_equal(record.field[1], "b, \"c\"\nd");
    assert_string_equal(record.field[2], "");
    assert_ok(suite_csv_next(&csv, &record, &more));
    assert_int_equal(record.line, 4);
    assert_int_equal(record.count, 2);
    assert_string_equal(record.field[1], "e");
    assert_ok(suite_csv_next(&csv, &record, &more));
    assert_string_equal(record.field[0], "");
    assert_string_equal(record.field[1], "f");
    assert_true(more);
    assert_ok(suite_csv_next(&csv, &record, &more));
    assert_false(more);
    suite_csv_release(&csv);
}

static int teardown(void **state)
{
    (void)state;
    suite_skypilot_release(&import);
    suite_price_book_release(&book);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_memory_in_the_row_says_which_a100_it_is),
        cmocka_unit_test(a_form_that_the_row_does_not_say_is_in_doubt),
        cmocka_unit_test(gib_under_a_key_of_mib_are_gib),
        cmocka_unit_test(a_name_that_the_table_lacks_is_refused),
        cmocka_unit_test(placeholders_are_no_prices),
        cmocka_unit_test(a_spot_price_of_zero_means_none),
        cmocka_unit_test(a_spot_price_equal_to_the_other_is_a_ceiling),
        cmocka_unit_test(swapped_columns_are_refused_whole),
        cmocka_unit_test(a_price_of_one_card_for_eight_is_refused),
        cmocka_unit_test(twelve_devices_are_no_machine_of_eight),
        cmocka_unit_test(a_price_that_is_not_proportional_is_flagged),
        cmocka_unit_test(quotes_carry_the_day_and_the_commit),
        cmocka_unit_test(refused_lines_stand_in_the_file),
        cmocka_unit_test(text_that_is_no_catalogue_is_refused_with_its_line),
        cmocka_unit_test(names_that_are_wrong_are_refused),
        cmocka_unit_test(csv_is_read_as_its_rfc_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
