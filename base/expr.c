#include "base/expr.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One pass over the text: each grammar rule is a function that parses and, while `live`, evaluates. A side of && or ||
 * that cannot change the result is parsed with `live` off: its syntax is checked, but its names are not looked up. */
enum { EXPR_DEPTH = 64, EXPR_TEXT = 8192, EXPR_POOL = 4 * EXPR_TEXT, EXPR_ARGUMENTS = 24, EXPR_NAME = 96 };

typedef struct {
    const char *text;
    size_t at;
    const dit_expr_scope *scope;
    const dit_expr_visitor *visitor; /* while it is set nothing is live, and a name's value is the name as a string */
    int depth;
    bool live;
} expr_parser;

/* Strings of the current evaluation, and of the evaluations that its callbacks start. */
static _Thread_local struct {
    char bytes[EXPR_POOL];
    size_t used;
    int nesting;
} pool;

static dit_status parse_or(expr_parser *p, dit_value *out);

static dit_status fail_at(const expr_parser *p, size_t at, const char *what, const char *detail)
{
    return DIT_FAIL(DIT_ERR_EXPRESSION, "column %zu of \"%.300s\": %s%.100s", at + 1, p->text, what, detail);
}

/* Adds the place to the error of a visitor's callback; an error about an expression inside of a string already has one.
 */
static dit_status place_failure(const expr_parser *p, size_t at, dit_status st)
{
    char message[900], hint[400];
    if (st == DIT_OK || strncmp(dit_error_last()->message, "column ", 7) == 0) return st;
    snprintf(message, sizeof message, "%s", dit_error_last()->message);
    snprintf(hint, sizeof hint, "%s", dit_error_last()->hint);
    return dit_error_hint(fail_at(p, at, message, ""), "%s", hint);
}

static dit_status pool_keep(const expr_parser *p, size_t at, const char *bytes, size_t length, const char **out)
{
    if (length + 1 > sizeof pool.bytes - pool.used) return fail_at(p, at, "too much text to evaluate", "");
    char *kept = pool.bytes + pool.used;
    memcpy(kept, bytes, length);
    kept[length] = '\0';
    pool.used += length + 1;
    *out = kept;
    return DIT_OK;
}

static void skip_space(expr_parser *p)
{
    while (p->text[p->at] && strchr(" \t\r\n", p->text[p->at])) p->at++;
}

/* Takes `symbol` when it comes next. */
static bool take(expr_parser *p, const char *symbol)
{
    skip_space(p);
    if (strncmp(p->text + p->at, symbol, strlen(symbol)) != 0) return false;
    p->at += strlen(symbol);
    return true;
}

static bool is_name_start(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}
static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static size_t name_length(const char *text)
{
    size_t length = 0;
    if (!is_name_start(*text)) return 0;
    while (is_name_byte(text[length])) length++;
    return length;
}

static bool take_word(expr_parser *p, const char *word)
{
    skip_space(p);
    if (name_length(p->text + p->at) != strlen(word)) return false;
    return take(p, word);
}

static dit_value number_value(double number)
{
    return (dit_value){DIT_VALUE_NUMBER, number, NULL};
}
static dit_value bool_value(bool truth)
{
    return (dit_value){DIT_VALUE_BOOL, truth ? 1.0 : 0.0, NULL};
}

static const char *kind_name(const dit_value *value)
{
    static const char *const names[] = {"a number", "a truth value", "a string"};
    return names[value->kind];
}

static dit_status need_number(const expr_parser *p, size_t at, const dit_value *value)
{
    if (!p->live || value->kind == DIT_VALUE_NUMBER) return DIT_OK;
    return fail_at(p, at, "arithmetic needs numbers, but this is ", kind_name(value));
}

static dit_status need_truth(const expr_parser *p, size_t at, const dit_value *value)
{
    if (!p->live || value->kind != DIT_VALUE_STRING) return DIT_OK;
    return fail_at(p, at, "a truth value is needed here, but this is ", kind_name(value));
}

static dit_status need_finite(const expr_parser *p, size_t at, const dit_value *value)
{
    if (!p->live || value->kind == DIT_VALUE_STRING || isfinite(value->number)) return DIT_OK;
    return fail_at(p, at, "the result is not a finite number", "");
}

/* ---- atoms ------------------------------------------------------------------------------------------------------- */

static size_t digits_length(const char *text)
{
    size_t length = 0;
    while (isdigit((unsigned char)text[length])) length++;
    return length;
}

/* Reads decimal digits only: strtod alone would also take hexadecimal numbers, "inf" and "nan". */
static dit_status parse_number(expr_parser *p, dit_value *out)
{
    const char *start = p->text + p->at, *s = start;
    s += digits_length(s);
    if (*s == '.') s += 1 + digits_length(s + 1);
    if (*s == 'e' || *s == 'E') {
        size_t sign = s[1] == '+' || s[1] == '-', digits = digits_length(s + 1 + sign);
        if (digits) s += 1 + sign + digits;
    }
    size_t at = p->at;
    p->at += (size_t)(s - start);
    if (is_name_byte(*s)) return fail_at(p, at, "a number runs into a name", "");
    *out = number_value(strtod(start, NULL));
    if (!isfinite(out->number)) return fail_at(p, at, "number out of range", "");
    return DIT_OK;
}

/* Reads 'text' or "text"; a backslash keeps the next quote or backslash. */
static dit_status parse_string(expr_parser *p, dit_value *out)
{
    char quote = p->text[p->at], bytes[EXPR_TEXT];
    size_t start = p->at++, length = 0;
    while (p->text[p->at] != quote) {
        char c = p->text[p->at++], next = c ? p->text[p->at] : '\0';
        if (!c) return fail_at(p, start, "this string has no end", "");
        if (c == '\\' && (next == '\\' || next == '\'' || next == '"')) c = p->text[p->at++];
        bytes[length++] = c;
    }
    p->at++;
    out->kind = DIT_VALUE_STRING;
    out->number = 0;
    return pool_keep(p, start, bytes, length, &out->string);
}

static const struct {
    const char *name;
    double (*apply)(double);
} unary[] = {{"abs", fabs}, {"log2", log2}, {"floor", floor}, {"ceil", ceil}, {"sqrt", sqrt}};
enum { UNARY_COUNT = sizeof unary / sizeof *unary };

const char *const *dit_expr_function_names(void)
{
    static _Thread_local const char *names[UNARY_COUNT + 3] = {"min", "max"};
    for (int i = 0; i < UNARY_COUNT; i++) names[2 + i] = unary[i].name;
    return names;
}

/* Folds numbers with one built-in; false when there is no built-in of that name for that many arguments. */
static bool fold_builtin(const char *name, const dit_expr_argument *args, int count, double *out)
{
    double first = count ? args[0].value.number : 0;
    for (int i = 0; i < UNARY_COUNT; i++) {
        if (count == 1 && strcmp(unary[i].name, name) == 0) return *out = unary[i].apply(first), true;
    }
    bool smallest = strcmp(name, "min") == 0;
    if (count == 0 || (!smallest && strcmp(name, "max") != 0)) return false;
    *out = first;
    for (int i = 1; i < count; i++) {
        double value = args[i].value.number;
        if (smallest ? value < *out : value > *out) *out = value;
    }
    return true;
}

static dit_status call_builtin(const expr_parser *p, size_t at, const char *name, const dit_expr_argument *args,
                               int count, dit_value *out)
{
    double result = 0;
    if (!fold_builtin(name, args, count, &result))
        return fail_at(p, at, "no such function for these arguments: ", name);
    for (int i = 0; i < count; i++) {
        if (args[i].name) return fail_at(p, at, "this function takes no named arguments: ", name);
        if (args[i].value.kind != DIT_VALUE_NUMBER) return fail_at(p, at, "this function needs numbers: ", name);
    }
    *out = number_value(result);
    return need_finite(p, at, out);
}

/* Calls a function. The scope is asked first, so that it may give min or max a further meaning (claims do). */
static dit_status call_function(const expr_parser *p, size_t at, const char *name, const dit_expr_argument *args,
                                int count, dit_value *out)
{
    if (p->scope && p->scope->call) {
        dit_status st = p->scope->call(p->scope->context, name, args, count, out);
        if (st == DIT_OK) return need_finite(p, at, out);
        if (st != DIT_ERR_NOT_FOUND) return dit_error_note(st, "evaluating column %zu of \"%.300s\"", at + 1, p->text);
        dit_error_clear();
    }
    return call_builtin(p, at, name, args, count, out);
}

/* Reads an argument, "name = expr" or "expr"; "name == expr" is an expression. */
static dit_status parse_argument(expr_parser *p, dit_expr_argument *out)
{
    skip_space(p);
    size_t start = p->at, length = name_length(p->text + start);
    p->at += length;
    skip_space(p);
    bool named = length && p->text[p->at] == '=' && p->text[p->at + 1] != '=';
    out->name = NULL;
    if (!named) {
        p->at = start;
        return parse_or(p, &out->value);
    }
    p->at++;
    DIT_TRY(pool_keep(p, start, p->text + start, length, &out->name));
    return parse_or(p, &out->value);
}

static dit_status parse_call(expr_parser *p, size_t at, const char *name, dit_value *out)
{
    dit_expr_argument args[EXPR_ARGUMENTS] = {{0}};
    size_t places[EXPR_ARGUMENTS];
    int count = 0, bad = -1;
    if (!take(p, ")")) {
        do {
            if (count == EXPR_ARGUMENTS) return fail_at(p, p->at, "too many arguments for ", name);
            skip_space(p);
            places[count] = p->at;
            DIT_TRY(parse_argument(p, &args[count]));
            count++;
        } while (take(p, ","));
        if (!take(p, ")")) return fail_at(p, p->at, "expected ',' or ')' in the call of ", name);
    }
    if (p->live) return call_function(p, at, name, args, count, out);
    *out = number_value(0);
    if (!p->visitor) return DIT_OK;
    dit_status st = p->visitor->call(p->visitor->context, name, args, count, &bad);
    return place_failure(p, bad >= 0 && bad < count ? places[bad] : at, st);
}

static dit_status look_up(const expr_parser *p, size_t at, const char *name, dit_value *out)
{
    *out = number_value(0);
    if (p->visitor) DIT_TRY(pool_keep(p, at, name, strlen(name), &out->string));
    if (p->visitor) return place_failure(p, at, p->visitor->name(p->visitor->context, name));
    if (!p->live) return DIT_OK;
    dit_status st =
        p->scope && p->scope->variable ? p->scope->variable(p->scope->context, name, out) : DIT_ERR_NOT_FOUND;
    if (st == DIT_ERR_NOT_FOUND) return fail_at(p, at, "unknown name: ", name);
    if (st != DIT_OK) return dit_error_note(st, "evaluating column %zu of \"%.300s\"", at + 1, p->text);
    return need_finite(p, at, out);
}

static dit_status parse_name(expr_parser *p, dit_value *out)
{
    char name[EXPR_NAME];
    size_t at = p->at, length = name_length(p->text + at);
    if (length >= sizeof name) return fail_at(p, at, "name too long", "");
    memcpy(name, p->text + at, length);
    name[length] = '\0';
    p->at += length;
    if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0) return *out = bool_value(name[0] == 't'), DIT_OK;
    if (strcmp(name, "in") == 0) return fail_at(p, at, "'in' needs a value before it", "");
    if (take(p, "(")) return parse_call(p, at, name, out);
    return look_up(p, at, name, out);
}

static dit_status parse_atom(expr_parser *p, dit_value *out)
{
    skip_space(p);
    char c = p->text[p->at], next = c ? p->text[p->at + 1] : '\0';
    size_t start = p->at;
    if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)next))) return parse_number(p, out);
    if (c == '\'' || c == '"') return parse_string(p, out);
    if (is_name_start(c)) return parse_name(p, out);
    if (!c) return fail_at(p, start, "a value is missing at the end", "");
    if (!take(p, "(")) return fail_at(p, start, "a value is expected here", "");
    DIT_TRY(parse_or(p, out));
    return take(p, ")") ? DIT_OK : fail_at(p, start, "this '(' is never closed", "");
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static dit_status enter(expr_parser *p)
{
    if (++p->depth > EXPR_DEPTH) return fail_at(p, p->at, "nested too deeply", "");
    return DIT_OK;
}

static dit_status parse_unary(expr_parser *p, dit_value *out)
{
    skip_space(p);
    size_t at = p->at;
    if (!take(p, "-")) return parse_atom(p, out);
    DIT_TRY(enter(p));
    DIT_TRY(parse_unary(p, out));
    p->depth--;
    DIT_TRY(need_number(p, at, out));
    *out = number_value(-out->number);
    return DIT_OK;
}

static dit_status apply_arithmetic(const expr_parser *p, size_t at, char symbol, dit_value *left,
                                   const dit_value *right)
{
    DIT_TRY(need_number(p, at, left));
    DIT_TRY(need_number(p, at, right));
    if (!p->live) return *left = number_value(0), DIT_OK;
    if (strchr("/%", symbol) && right->number == 0) return fail_at(p, at, "division by zero", "");
    switch (symbol) {
    case '+': left->number += right->number; break;
    case '-': left->number -= right->number; break;
    case '*': left->number *= right->number; break;
    case '/': left->number /= right->number; break;
    default: left->number = fmod(left->number, right->number); break;
    }
    return need_finite(p, at, left);
}

static dit_status parse_chain(expr_parser *p, const char *operators, dit_status (*operand)(expr_parser *, dit_value *),
                              dit_value *out)
{
    DIT_TRY(operand(p, out));
    for (;;) {
        skip_space(p);
        size_t at = p->at;
        char symbol = p->text[at];
        if (!symbol || !strchr(operators, symbol)) return DIT_OK;
        p->at++;
        dit_value right;
        DIT_TRY(operand(p, &right));
        DIT_TRY(apply_arithmetic(p, at, symbol, out, &right));
    }
}

static dit_status parse_product(expr_parser *p, dit_value *out)
{
    return parse_chain(p, "*/%", parse_unary, out);
}
static dit_status parse_sum(expr_parser *p, dit_value *out)
{
    return parse_chain(p, "+-", parse_product, out);
}

static bool is_bare_name(const dit_value *value)
{
    return value->kind == DIT_VALUE_NUMBER && value->string;
}

/* Tells a comparison of a name with something else, whichever side it is on. */
static dit_status visit_comparison(const expr_parser *p, size_t at, const dit_value *left, const dit_value *right)
{
    if (!p->visitor || is_bare_name(left) == is_bare_name(right)) return DIT_OK;
    const dit_value *name = is_bare_name(left) ? left : right, *value = name == left ? right : left;
    return place_failure(p, at, p->visitor->compared(p->visitor->context, name->string, value));
}

/* Sign of left - right in *order; truth values have no order, only equality. */
static dit_status compare(const expr_parser *p, size_t at, const dit_value *left, const dit_value *right, bool ordering,
                          int *order)
{
    *order = 0;
    if (!p->live) return visit_comparison(p, at, left, right);
    if (left->kind != right->kind) {
        char words[64];
        snprintf(words, sizeof words, "%s with %s", kind_name(left), kind_name(right));
        return fail_at(p, at, "cannot compare ", words);
    }
    if (ordering && left->kind == DIT_VALUE_BOOL) return fail_at(p, at, "truth values have no order", "");
    if (left->kind == DIT_VALUE_STRING)
        *order = strcmp(left->string, right->string);
    else
        *order = (left->number > right->number) - (left->number < right->number);
    return DIT_OK;
}

/* The list after "in". */
static dit_status parse_membership(expr_parser *p, size_t at, dit_value *out)
{
    dit_value item;
    bool found = false;
    if (!take(p, "[")) return fail_at(p, p->at, "'in' needs a list: [a, b]", "");
    do {
        int order = 0;
        DIT_TRY(parse_or(p, &item));
        DIT_TRY(compare(p, at, out, &item, false, &order));
        found = found || order == 0;
    } while (take(p, ","));
    if (!take(p, "]")) return fail_at(p, p->at, "expected ',' or ']' in the list", "");
    *out = bool_value(found);
    return DIT_OK;
}

static dit_status parse_compare(expr_parser *p, dit_value *out)
{
    static const char *const symbols[] = {"==", "!=", "<=", ">=", "<", ">"}; /* longer ones first */
    DIT_TRY(parse_sum(p, out));
    skip_space(p);
    size_t at = p->at;
    if (take_word(p, "in")) return parse_membership(p, at, out);
    int which = 0, order = 0;
    while (which < 6 && !take(p, symbols[which])) which++;
    if (which == 6) return DIT_OK;
    dit_value right;
    DIT_TRY(parse_sum(p, &right));
    DIT_TRY(compare(p, at, out, &right, which >= 2, &order));
    const bool truths[] = {order == 0, order != 0, order <= 0, order >= 0, order<0, order> 0};
    *out = bool_value(truths[which]);
    return DIT_OK;
}

static dit_status parse_not(expr_parser *p, dit_value *out)
{
    skip_space(p);
    size_t at = p->at;
    if (p->text[at] != '!' || p->text[at + 1] == '=') return parse_compare(p, out);
    p->at++;
    DIT_TRY(enter(p));
    DIT_TRY(parse_not(p, out));
    p->depth--;
    DIT_TRY(need_truth(p, at, out));
    *out = bool_value(out->number == 0);
    return DIT_OK;
}

/* A chain of && (`decides` false) or || (`decides` true): the first side equal to `decides` settles it. */
static dit_status parse_logic(expr_parser *p, const char *symbol, bool decides,
                              dit_status (*operand)(expr_parser *, dit_value *), dit_value *out)
{
    DIT_TRY(operand(p, out));
    skip_space(p);
    size_t at = p->at;
    while (take(p, symbol)) {
        bool was_live = p->live;
        dit_value right;
        DIT_TRY(need_truth(p, at, out));
        p->live = was_live && (out->number != 0) != decides;
        DIT_TRY(operand(p, &right));
        DIT_TRY(need_truth(p, at, &right));
        *out = bool_value(p->live ? right.number != 0 : decides);
        p->live = was_live;
        skip_space(p);
        at = p->at;
    }
    return DIT_OK;
}

static dit_status parse_and(expr_parser *p, dit_value *out)
{
    return parse_logic(p, "&&", false, parse_not, out);
}

static dit_status parse_or(expr_parser *p, dit_value *out)
{
    DIT_TRY(enter(p));
    DIT_TRY(parse_logic(p, "||", true, parse_and, out));
    p->depth--;
    return DIT_OK;
}

/* ---- interface --------------------------------------------------------------------------------------------------- */

static dit_status parse_all(expr_parser parser, dit_value *out)
{
    const char *text = parser.text;
    if (strlen(text) >= EXPR_TEXT)
        return DIT_FAIL(DIT_ERR_EXPRESSION, "expression of %zu bytes is too long", strlen(text));
    if (pool.nesting == 0) pool.used = 0;
    size_t used = pool.used;
    pool.nesting++;
    dit_status st = parse_or(&parser, out);
    pool.nesting--;
    if (pool.nesting && (st != DIT_OK || out->kind != DIT_VALUE_STRING)) pool.used = used; /* in callbacks */
    if (st != DIT_OK) return st;
    skip_space(&parser);
    if (!text[parser.at]) return DIT_OK;
    const char *what = text[parser.at] == '=' ? "'=' is not a comparison, write '=='" : "an operator is expected here";
    return fail_at(&parser, parser.at, what, "");
}

dit_status dit_expr_eval(const char *text, const dit_expr_scope *scope, dit_value *out)
{
    return parse_all((expr_parser){.text = text, .scope = scope, .live = true}, out);
}

dit_status dit_expr_check(const char *text)
{
    dit_value value;
    return parse_all((expr_parser){.text = text}, &value);
}

dit_status dit_expr_visit(const char *text, const dit_expr_visitor *visitor)
{
    dit_value value;
    return parse_all((expr_parser){.text = text, .visitor = visitor}, &value);
}

dit_status dit_expr_test(const char *text, const dit_expr_scope *scope, bool *out)
{
    dit_value value;
    DIT_TRY(dit_expr_eval(text, scope, &value));
    if (value.kind == DIT_VALUE_STRING) {
        return DIT_FAIL(DIT_ERR_EXPRESSION, "column 1 of \"%.300s\": a truth value is needed, this is a string", text);
    }
    *out = value.number != 0;
    return DIT_OK;
}
