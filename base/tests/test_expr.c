#include "base/expr.h"

#include "base/tests/test.h"

static int look_ups; /* how often a variable was asked for */

static dit_status test_variable(void *context, const char *name, dit_value *out)
{
    (void)context;
    look_ups++;
    if (strcmp(name, "heads") == 0) return *out = (dit_value){DIT_VALUE_NUMBER, 24, NULL}, DIT_OK;
    if (strcmp(name, "run.steps") == 0) return *out = (dit_value){DIT_VALUE_NUMBER, 4, NULL}, DIT_OK;
    if (strcmp(name, "method") == 0) return *out = (dit_value){DIT_VALUE_STRING, 0, "ring"}, DIT_OK;
    if (strcmp(name, "fast") == 0) return *out = (dit_value){DIT_VALUE_BOOL, 1, NULL}, DIT_OK;
    if (strcmp(name, "bad") == 0) return *out = (dit_value){DIT_VALUE_NUMBER, NAN, NULL}, DIT_OK;
    return DIT_ERR_NOT_FOUND;
}

/* sum(...): adds; named arguments count ten times. max('x') is taken from the built-in. inner(...) evaluates again. */
static dit_status test_call(void *context, const char *name, const dit_expr_argument *args, int count, dit_value *out)
{
    const dit_expr_scope *scope = context;
    *out = (dit_value){DIT_VALUE_NUMBER, 0, NULL};
    if (strcmp(name, "sum") == 0) {
        for (int i = 0; i < count; i++) out->number += args[i].value.number * (args[i].name ? 10 : 1);
        return DIT_OK;
    }
    if (strcmp(name, "inner") == 0 && count == 1) return dit_expr_eval(args[0].value.string, scope, out);
    if (strcmp(name, "max") == 0 && count == 1 && args[0].value.kind == DIT_VALUE_STRING) {
        return *out = (dit_value){DIT_VALUE_NUMBER, 99, NULL}, DIT_OK;
    }
    for (int i = 0; i < 10000 && strcmp(name, "often") == 0; i++) { /* its strings must not pile up */
        DIT_TRY(dit_expr_eval("'0123456789' == method", scope, out));
    }
    if (strcmp(name, "often") == 0) return DIT_OK;
    if (strcmp(name, "broken") == 0) return DIT_FAIL(DIT_ERR_IO, "disk on fire");
    return DIT_ERR_NOT_FOUND;
}

static dit_expr_scope test_scope = {.variable = test_variable, .call = test_call, .context = &test_scope};

static void numbers_follow_precedence(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double want;
    } rows[] = {
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"10 - 4 - 3", 3},
        {"2 * 9 % 4", 2},
        {"-3 + 5", 2},
        {"--3", 3},
        {"1.5e2", 150},
        {".5", 0.5},
        {"heads / 8", 3},
        {"heads % 5", 4},
        {"run.steps * 2", 8},
        {"min(3, 1, 2)", 1},
        {"max(3, 1, heads)", 24},
        {"abs(-2)", 2},
        {"log2(8)", 3},
        {"floor(2.7) + ceil(2.1)", 5},
        {"sqrt(49)", 7},
        {"sum()", 0},
        {"sum(1, 2, weight = 3)", 33},
        {"sum(1, weight=heads == 24)", 11},
        {"max('x')", 99},
        {"inner('1 + inner(\"heads\")')", 25},
        {"often() == false", 1},
        {"  7  ", 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dit_value value = {0};
        if (dit_expr_eval(rows[i].text, &test_scope, &value) != DIT_OK)
            fail_msg("%s: %s", rows[i].text, dit_error_last()->message);
        if (value.number != rows[i].want) fail_msg("%s gives %g, not %g", rows[i].text, value.number, rows[i].want);
    }
}

static void truths_compare_and_combine(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool want;
    } rows[] = {
        {"1 < 2", true},
        {"2 <= 1", false},
        {"heads % 8 == 0", true},
        {"heads != 24", false},
        {"method == 'ring'", true},
        {"method != \"ring\"", false},
        {"method in ['usp', 'ring']", true},
        {"heads in [1, 2]", false},
        {"heads in [20 + 4]", true},
        {"!fast", false},
        {"!(1 == 2)", true},
        {"!!fast", true},
        {"fast == true", true},
        {"1 == 2 || 2 == 2 && 3 == 3", true},
        {"(1 == 2 || 2 == 2) && 3 == 4", false},
        {"'a' < 'b'", true},
        {"heads && 0", false},
        {"'it\\'s' == \"it's\"", true},
        {"intern_ == 1 || true", true},
        {"true || 1 / 0 == 1", true},
        {"false && unknown == 1", false},
        {"'' == ''", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool truth = false;
        dit_status st = dit_expr_test(rows[i].text, &test_scope, &truth);
        if (i == 18) { /* the left side is looked up before the right one could settle it */
            assert_int_equal(st, DIT_ERR_EXPRESSION);
            continue;
        }
        if (st != DIT_OK) fail_msg("%s: %s", rows[i].text, dit_error_last()->message);
        if (truth != rows[i].want) fail_msg("%s is %d", rows[i].text, truth);
    }
}

static void the_side_that_does_not_count_is_parsed_but_not_evaluated(void **state)
{
    (void)state;
    bool truth = true;
    look_ups = 0;
    assert_int_equal(dit_expr_test("false && (heads > 'x' || sum(heads) in [method])", &test_scope, &truth), DIT_OK);
    assert_false(truth);
    assert_int_equal(look_ups, 0);
    assert_int_equal(dit_expr_test("true || heads >", &test_scope, &truth), DIT_ERR_EXPRESSION);
    assert_int_equal(dit_expr_test("false && (1 + )", &test_scope, &truth), DIT_ERR_EXPRESSION);
    assert_int_equal(dit_expr_test("fast && heads == 24", &test_scope, &truth), DIT_OK);
    assert_int_equal(look_ups, 2);
}

static void errors_name_the_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "column 1 "},
        {"1 +", "column 4 "},
        {"heads = 24", "column 7 "},
        {"(1 + 2", "column 1 "},
        {"1 2", "column 3 "},
        {"1 + nothing", "column 5 "},
        {"1 / 0", "division by zero"},
        {"5 % (1-1)", "division by zero"},
        {"1 == 'a'", "a number with a string"},
        {"fast == 1", "a truth value with a number"},
        {"fast < fast", "no order"},
        {"'a' + 1", "needs numbers"},
        {"-'a'", "needs numbers"},
        {"!'a'", "truth value"},
        {"'a' && true", "truth value"},
        {"true && 'a'", "truth value"},
        {"'open", "no end"},
        {"nope(1)", "no such function"},
        {"min()", "no such function"},
        {"abs(1, 2)", "no such function"},
        {"sqrt(-1)", "not a finite"},
        {"log2(0)", "not a finite"},
        {"1e308 * 1e308", "not a finite"},
        {"1e999", "out of range"},
        {"bad", "not a finite"},
        {"0x10", "runs into"},
        {"1.2.3", "runs into"},
        {"min(a=1)", "no named"},
        {"min('a', 1)", "needs numbers"},
        {"heads in 1", "needs a list"},
        {"heads in []", "value is expected"},
        {"heads in [1", "expected ','"},
        {"sum(1", "expected ','"},
        {"in", "'in' needs"},
        {"1 < 2 < 3", "column 7 "},
        {"@", "column 1 "},
        {"a..b \x01", "unknown name"},
        {"'s' in [1]", "cannot compare"},
        {"1 ? 2", "operator is expected"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        dit_value value;
        assert_int_equal(dit_expr_eval(rows[i].text, &test_scope, &value), DIT_ERR_EXPRESSION);
        if (!strstr(dit_error_last()->message, rows[i].message))
            fail_msg("%s: %s", rows[i].text, dit_error_last()->message);
    }
    bool truth;
    assert_int_equal(dit_expr_test("'text'", &test_scope, &truth), DIT_ERR_EXPRESSION);
}

static void a_failing_callback_keeps_its_own_status(void **state)
{
    (void)state;
    dit_value value;
    assert_int_equal(dit_expr_eval("1 + broken()", &test_scope, &value), DIT_ERR_IO);
    assert_non_null(strstr(dit_error_last()->notes, "column 5"));
}

static void without_a_scope_only_literals_work(void **state)
{
    (void)state;
    dit_value value;
    assert_int_equal(dit_expr_eval("max(1, 2)", NULL, &value), DIT_OK);
    assert_int_equal(dit_expr_eval("heads", NULL, &value), DIT_ERR_EXPRESSION);
}

static void deep_and_long_texts_are_refused(void **state)
{
    (void)state;
    static char text[20000];
    static const char openers[] = "(-!";
    dit_value value;
    for (int i = 0; openers[i]; i++) {
        memset(text, openers[i], 8000);
        text[8000] = '\0';
        assert_int_equal(dit_expr_eval(text, &test_scope, &value), DIT_ERR_EXPRESSION);
        assert_non_null(strstr(dit_error_last()->message, "too deeply"));
    }
    memset(text, '1', sizeof text - 1);
    assert_int_equal(dit_expr_eval(text, &test_scope, &value), DIT_ERR_EXPRESSION);
    text[0] = '\0';
    for (int i = 0; i < 400; i++) strcat(text, "sum(1) + "); /* wide is fine, only deep is not */
    strcat(text, "1");
    assert_int_equal(dit_expr_eval(text, &test_scope, &value), DIT_OK);
    assert_true(value.number == 401);
    assert_int_equal(
        dit_expr_eval("sum(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25)", &test_scope, &value),
        DIT_ERR_EXPRESSION);
}

/* What a visit told, as one line. */
static char told[512];

static dit_status tell(const char *format, const char *name, const char *detail)
{
    size_t used = strlen(told);
    snprintf(told + used, sizeof told - used, format, name, detail);
    return strcmp(name, "bad") == 0 ? dit_error_hint(DIT_FAIL(DIT_ERR_EXPRESSION, "no bad"), "good") : DIT_OK;
}
static dit_status tell_name(void *context, const char *name)
{
    (void)context;
    return tell("%s%s;", name, "");
}
static dit_status tell_compared(void *context, const char *name, const dit_value *value)
{
    (void)context;
    return tell("%s~%s;", name, value->kind == DIT_VALUE_STRING ? value->string : "number");
}
static dit_status tell_call(void *context, const char *name, const dit_expr_argument *arguments, int count, int *at)
{
    (void)context;
    *at = count - 1;
    return tell("%s(%s);", name, count && arguments[count - 1].name ? arguments[count - 1].name : "");
}

static void a_visit_tells_every_name_without_evaluating(void **state)
{
    (void)state;
    const dit_expr_visitor visitor = {tell_name, tell_compared, tell_call, NULL};
    static const struct {
        const char *text, *told;
    } rows[] = {
        {"a < 1 || b == 'x'", "a;a~number;b;b~x;"},
        {"false && nothing", "nothing;"},
        {"'x' == a", "a;a~x;"},
        {"a in ['x', 'y']", "a;a~x;a~y;"},
        {"a == b", "a;b;"},
        {"-a == 1 && (b) == 'z' && a + 1 > 2", "a;b;b~z;a;"},
        {"f('m', t='x') > 1", "f(t);"},
        {"f(1 / 0)", "f();"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        told[0] = '\0';
        assert_int_equal(dit_expr_visit(rows[i].text, &visitor), DIT_OK);
        assert_string_equal(told, rows[i].told);
    }
    assert_int_equal(dit_expr_visit("a < ", &visitor), DIT_ERR_EXPRESSION);
    assert_int_equal(dit_expr_visit("1 + bad", &visitor), DIT_ERR_EXPRESSION);
    assert_non_null(strstr(dit_error_last()->message, "column 5 of \"1 + bad\": no bad"));
    assert_string_equal(dit_error_last()->hint, "good");
    assert_int_equal(dit_expr_visit("1 + bad(1, 2)", &visitor), DIT_ERR_EXPRESSION);
    assert_non_null(strstr(dit_error_last()->message, "column 12 "));
}

/* Random walks over the grammar's own symbols: never a crash, always OK or DIT_ERR_EXPRESSION. */
static void random_texts_never_crash(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "1", "heads", "'a'", "\"", "'", "(", ")",    "[",    "]", ",",  "==",   "=",    "<",      "in", "&&", "||",
        "!", "-",     "+",   "*",  "/", "%", "sum(", "min(", " ", "\\", "\xff", "true", "method", ".",  "1e", "9e9"};
    uint64_t bits = 99;
    int good = 0;
    for (int t = 0; t < 50000; t++) {
        char text[256] = "";
        for (int i = 0; i < 1 + t % 16; i++) {
            bits = bits * 6364136223846793005u + 1442695040888963407u;
            strcat(text, pieces[(bits >> 33) % (sizeof pieces / sizeof pieces[0])]);
        }
        dit_value value;
        dit_status st = dit_expr_eval(text, &test_scope, &value);
        assert_true(st == DIT_OK || st == DIT_ERR_EXPRESSION);
        good += st == DIT_OK;
    }
    assert_in_range(good, 500, 49000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_follow_precedence),
        cmocka_unit_test(truths_compare_and_combine),
        cmocka_unit_test(the_side_that_does_not_count_is_parsed_but_not_evaluated),
        cmocka_unit_test(errors_name_the_column),
        cmocka_unit_test(a_failing_callback_keeps_its_own_status),
        cmocka_unit_test(without_a_scope_only_literals_work),
        cmocka_unit_test(deep_and_long_texts_are_refused),
        cmocka_unit_test(a_visit_tells_every_name_without_evaluating),
        cmocka_unit_test(random_texts_never_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
