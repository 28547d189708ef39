/* Tables: widths follow contents, a narrow screen leaves out what can be spared and says so, CSV is quoted. */
#include "suite/console/quantity.h"
#include "suite/console/table.h"
#include "suite/console/terminal.h"

#include "base/tests/test.h"

static const suite_column columns[] = {{"model", "model", true, 0},
                                       {"latency", "latency s", false, 0},
                                       {"sent", "sent GB", false, 2},
                                       {"memory", "peak GB", false, 1},
                                       {"none", "empty", true, 0}};

static void fill(suite_table *table)
{
    static const char *const cells[2][4] = {{"flux.1-dev, with more", "164.60", "1.5", "30"},
                                            {"sd3", "5.02", "12", "8"}};
    *table = (suite_table){.columns = columns, .column_count = 5};
    for (int row = 0; row < 2; row++) {
        assert_int_equal(suite_table_add_row(table), DIT_OK);
        for (int i = 0; i < 4; i++) assert_int_equal(suite_table_set(table, i, cells[row][i]), DIT_OK);
    }
}

static char *printed(int width, bool csv)
{
    suite_table table;
    char *text = NULL;
    size_t length;
    FILE *out = tmpfile();
    fill(&table);
    if (csv)
        assert_int_equal(suite_table_print_csv(&table, out), DIT_OK);
    else
        suite_table_print(&table, out, width);
    suite_table_release(&table);
    length = (size_t)ftell(out);
    text = calloc(length + 1, 1);
    rewind(out);
    assert_int_equal(fread(text, 1, length, out), length);
    fclose(out);
    return text;
}

static void numbers_stand_right_and_empty_columns_are_left_out(void **state)
{
    (void)state;
    char *text = printed(0, false);
    assert_string_equal(text, "model                  latency s  sent GB  peak GB\n"
                              "flux.1-dev, with more     164.60      1.5       30\n"
                              "sd3                         5.02       12        8\n");
    free(text);
}

static void a_narrow_screen_spares_columns_and_names_them(void **state)
{
    (void)state;
    char *text = printed(42, false);
    assert_string_equal(text, "model                  latency s  peak GB\n"
                              "flux.1-dev, with more     164.60       30\n"
                              "sd3                         5.02        8\n"
                              "left out for lack of width: sent\n");
    free(text);
}

static void the_narrowest_cuts_text_but_no_number(void **state)
{
    (void)state;
    char *text = printed(25, false);
    assert_string_equal(text, "model           latency s\n"
                              "flux.1-dev, w…     164.60\n"
                              "sd3                  5.02\n"
                              "left out for lack of width: sent, memory\n");
    free(text);
}

static void csv_has_keys_and_every_column(void **state)
{
    (void)state;
    char *text = printed(10, true);
    assert_string_equal(text, "model,latency,sent,memory,none\r\n"
                              "\"flux.1-dev, with more\",164.60,1.5,30,\r\n"
                              "sd3,5.02,12,8,\r\n");
    free(text);
}

static void one_unit_suits_a_column(void **state)
{
    (void)state;
    static const struct {
        double least, most, value;
        const char *symbol, *text;
    } rows[] = {{0.002, 0.9, 0.0456, "ms", "45.60"},
                {1.2, 1085, 164.6, "s", "164.60"},
                {120, 500, 164.6, "s", "165"},
                {700, 4000, 1200, "min", "20.0"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        suite_quantity unit = {0};
        char text[REPORT_NUMBER_TEXT];
        suite_quantity_see(&unit, rows[i].least);
        suite_quantity_see(&unit, rows[i].most);
        suite_quantity_choose(&unit, REPORT_UNIT_SECONDS);
        suite_quantity_format(&unit, rows[i].value, text);
        assert_string_equal(unit.symbol, rows[i].symbol);
        assert_string_equal(text, rows[i].text);
    }
}

static void width_follows_columns(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    setenv("COLUMNS", "57", 1);
    assert_int_equal(suite_terminal_width(file), 57);
    unsetenv("COLUMNS");
    assert_int_equal(suite_terminal_width(file), 0);
    assert_string_equal(suite_colour_start(file, "failed"), "");
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_stand_right_and_empty_columns_are_left_out),
        cmocka_unit_test(a_narrow_screen_spares_columns_and_names_them),
        cmocka_unit_test(the_narrowest_cuts_text_but_no_number),
        cmocka_unit_test(csv_has_keys_and_every_column),
        cmocka_unit_test(one_unit_suits_a_column),
        cmocka_unit_test(width_follows_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
