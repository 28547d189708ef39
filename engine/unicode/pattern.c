#include "engine/unicode/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 4 << 20, DEPTH_MAX = 100000, HEAP_KIB_MAX = 64 << 10, EXPRESSION_MAX = 1 << 16 };

struct dit_pattern {
    pcre2_code *code;
};

/* PCRE2's \s also takes U+180E, which Unicode has no longer for white space. */
#define SPACES "\\x09-\\x0d\\x20\\x85\\xa0\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"

/* And its \w leaves marks, connectors and letters in circles and squares out, and has all numbers; here those are
 * digits, letters, and what Latin-1 has. */
#define WORDS                                                                                                          \
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\xb2\\xb3\\xb9\\xbc-\\xbe\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-"   \
    "\\x{1f169}\\x{1f170}-\\x{1f189}"

/* Writes an expression with \s and \w, and outside of brackets \S and \W, spelled out. */
static void spell_classes(const char *expression, dit_buffer *out)
{
    bool bracketed = false;
    for (const char *p = expression; *p; p++) {
        bool escape = p[0] == '\\';
        if (escape && (p[1] == 's' || p[1] == 'w')) {
            dit_buffer_printf(out, bracketed ? "%s" : "[%s]", p[1] == 's' ? SPACES : WORDS);
            p++;
        } else if (escape && (p[1] == 'S' || p[1] == 'W') && !bracketed) {
            dit_buffer_printf(out, "[^%s]", p[1] == 'S' ? SPACES : WORDS);
            p++;
        } else if (escape && p[1]) {
            dit_buffer_append(out, p++, 2);
        } else {
            bracketed = p[0] == '[' || (bracketed && p[0] != ']');
            dit_buffer_char(out, *p);
        }
    }
}

dit_status dit_pattern_compile(const char *expression, bool ignore_case, dit_pattern **out)
{
    int error;
    size_t offset;
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | (ignore_case ? PCRE2_CASELESS : 0);
    dit_buffer spelled = {0};
    *out = NULL;
    if (strlen(expression) > EXPRESSION_MAX)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "an expression of %zu bytes; at most %d are read", strlen(expression),
                        EXPRESSION_MAX);
    spell_classes(expression, &spelled);
    dit_pattern *pattern = calloc(1, sizeof *pattern);
    if (!pattern || spelled.failed) {
        dit_buffer_release(&spelled);
        free(pattern);
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for an expression");
    }
    pattern->code =
        pcre2_compile((PCRE2_SPTR)(spelled.data ? spelled.data : ""), spelled.used, options, &error, &offset, NULL);
    dit_buffer_release(&spelled);
    if (!pattern->code) {
        PCRE2_UCHAR text[160];
        pcre2_get_error_message(error, text, sizeof text);
        free(pattern);
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "the expression \"%.120s\" cannot be used: %s", expression,
                        (const char *)text);
    }
    *out = pattern;
    return DIT_OK;
}

void dit_pattern_release(dit_pattern *pattern)
{
    if (pattern) pcre2_code_free(pattern->code);
    free(pattern);
}

static dit_status match(const dit_pattern *pattern, dit_span text, size_t from, pcre2_match_data *found,
                        pcre2_match_context *limits, size_t *start, size_t *end)
{
    if (!found || !limits) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to match an expression");
    pcre2_set_match_limit(limits, STEPS_MAX);
    pcre2_set_depth_limit(limits, DEPTH_MAX);
    pcre2_set_heap_limit(limits, HEAP_KIB_MAX);
    int count = pcre2_match(pattern->code, (PCRE2_SPTR)text.at, text.length, from, PCRE2_NOTEMPTY | PCRE2_NO_UTF_CHECK,
                            found, limits);
    *start = *end = text.length;
    if (count == PCRE2_ERROR_NOMATCH) return DIT_OK;
    if (count < 0)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "an expression cannot be matched with %zu bytes of text: PCRE2 error %d",
                        text.length, count);
    const size_t *bounds = pcre2_get_ovector_pointer(found);
    if (bounds[0] < from || bounds[1] <= bounds[0] || bounds[1] > text.length) return DIT_OK; /* \K moved the start */
    *start = bounds[0], *end = bounds[1];
    return DIT_OK;
}

dit_status dit_pattern_find(const dit_pattern *pattern, dit_span text, size_t from, size_t *start, size_t *end)
{
    pcre2_match_data *found = pcre2_match_data_create(1, NULL);
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    dit_status st = match(pattern, text, from, found, limits, start, end);
    pcre2_match_context_free(limits);
    pcre2_match_data_free(found);
    return st;
}
