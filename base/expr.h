/* Expressions of workload files: constraints, excludes, filters and claims.
 *
 *   expr     := or ;  or := and { "||" and } ;  and := not { "&&" not } ;  not := "!" not | compare
 *   compare  := sum [ ("==" | "!=" | "<" | "<=" | ">" | ">=") sum ]  |  sum "in" "[" expr { "," expr } "]"
 *   sum      := product { ("+"|"-") product } ;  product := unary { ("*"|"/"|"%") unary } ;  unary := "-" unary | atom
 *   atom     := number | 'string' | "string" | true | false | name [ "(" args ")" ] | "(" expr ")"
 *   args     := [ arg { "," arg } ] ;  arg := expr | name "=" expr
 *
 * Names may contain dots (samples.latency_ms). Built-in functions: min, max, abs, log2, floor, ceil, sqrt. Comparing a
 * string with a number, a division by zero and an unknown name are errors, with the column.
 */
#ifndef DIT_BASE_EXPR_H
#define DIT_BASE_EXPR_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { DIT_VALUE_NUMBER, DIT_VALUE_BOOL, DIT_VALUE_STRING } dit_value_kind;
typedef struct {
    dit_value_kind kind;
    double number;      /* also 0 or 1 for a bool                                   */
    const char *string; /* owned by the scope or by the expression text's evaluation */
} dit_value;

/* One argument of a call; name is NULL for a positional one. */
typedef struct {
    const char *name;
    dit_value value;
} dit_expr_argument;

/* Gives names their values. `variable` is required; `call` may be NULL when there are only the built-in functions. A
 * callback that does not know a name returns DIT_ERR_NOT_FOUND. */
typedef struct {
    dit_status (*variable)(void *context, const char *name, dit_value *out);
    dit_status (*call)(void *context, const char *name, const dit_expr_argument *arguments, int count, dit_value *out);
    void *context;
} dit_expr_scope;

/* Evaluates `text`. Errors: DIT_ERR_EXPRESSION with text and column. A string result stays valid until the next
 * evaluation in this thread. */
dit_status dit_expr_eval(const char *text, const dit_expr_scope *scope, dit_value *out);
/* Checks only the syntax: it looks up no name and checks no type. Errors: DIT_ERR_EXPRESSION with text and column. */
dit_status dit_expr_check(const char *text);
/* Evaluates to a truth value; a string result is an error. */
dit_status dit_expr_test(const char *text, const dit_expr_scope *scope, bool *out);
/* Returns the names of the built-in functions, NULL-terminated. */
const char *const *dit_expr_function_names(void);

/* Receives what an expression mentions, on both sides of && and ||, without evaluating it. A callback that returns an
 * error ends the visit; its message gets the column, its hint is kept. */
typedef struct {
    /* A name that stands for a value. */
    dit_status (*name)(void *context, const char *name);
    /* A name that is compared with a value ("method == 'ring'", "world_size < 4"). For a number only the kind is known.
     */
    dit_status (*compared)(void *context, const char *name, const dit_value *value);
    /* A call. Text arguments have their value; of others only the kind is known. For an error about one argument, set
     * *at (-1 before) to its index: the error is then placed there. */
    dit_status (*call)(void *context, const char *name, const dit_expr_argument *arguments, int count, int *at);
    void *context;
} dit_expr_visitor;
/* Passes everything that `text` mentions to `visitor`. Errors: DIT_ERR_EXPRESSION with text and column. */
dit_status dit_expr_visit(const char *text, const dit_expr_visitor *visitor);

#ifdef __cplusplus
}
#endif
#endif
