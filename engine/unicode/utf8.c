#include "engine/unicode/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

int32_t dit_utf8_first(dit_span text, size_t *bytes)
{
    utf8proc_int32_t code = -1;
    size_t most = text.length < 4 ? text.length : 4;
    utf8proc_ssize_t took = most ? utf8proc_iterate((const uint8_t *)text.at, (utf8proc_ssize_t)most, &code) : -1;
    *bytes = took > 0 ? (size_t)took : 1;
    return took > 0 ? code : -1;
}

int32_t dit_utf8_last(dit_span text, size_t *bytes)
{
    size_t start = text.length;
    *bytes = 1;
    if (!start) return -1;
    do start--;
    while (start > 0 && text.length - start < 4 && ((unsigned char)text.at[start] & 0xC0) == 0x80);
    return dit_utf8_first((dit_span){text.at + start, text.length - start}, bytes);
}

int32_t dit_utf8_take(dit_span *text)
{
    size_t bytes;
    int32_t code = dit_utf8_first(*text, &bytes);
    text->at += bytes;
    text->length -= bytes;
    return code;
}

bool dit_utf8_is_valid(dit_span text)
{
    while (text.length)
        if (dit_utf8_take(&text) < 0) return false;
    return true;
}

void dit_utf8_append(dit_buffer *out, int32_t code)
{
    uint8_t bytes[4];
    utf8proc_ssize_t count = utf8proc_encode_char(code, bytes);
    dit_buffer_append(out, bytes, (size_t)count);
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

bool dit_is_space(int32_t code)
{
    if (code < 0x80) return code == ' ' || (code >= 9 && code <= 13);
    utf8proc_category_t category = utf8proc_category(code);
    return code == 0x85 || category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
           category == UTF8PROC_CATEGORY_ZP;
}

bool dit_is_space_of_python(int32_t code)
{
    return dit_is_space(code) || (code >= 0x1C && code <= 0x1F);
}

dit_span dit_span_strip(dit_span text, bool left, bool right, bool (*is_space)(int32_t code))
{
    size_t bytes;
    while (left && text.length && is_space(dit_utf8_first(text, &bytes))) text.at += bytes, text.length -= bytes;
    while (right && text.length && is_space(dit_utf8_last(text, &bytes))) text.length -= bytes;
    return text;
}

bool dit_is_control(int32_t code)
{
    utf8proc_category_t category = utf8proc_category(code);
    return category == UTF8PROC_CATEGORY_CN || category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
           category == UTF8PROC_CATEGORY_CS || category == UTF8PROC_CATEGORY_CO;
}

bool dit_is_punctuation(int32_t code)
{
    if ((code >= 33 && code <= 47) || (code >= 58 && code <= 64) || (code >= 91 && code <= 96) ||
        (code >= 123 && code <= 126))
        return true;
    utf8proc_category_t category = utf8proc_category(code);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool dit_is_nonspacing(int32_t code)
{
    return utf8proc_category(code) == UTF8PROC_CATEGORY_MN;
}

bool dit_is_mark(int32_t code)
{
    utf8proc_category_t category = utf8proc_category(code);
    return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool dit_is_word(int32_t code)
{
    utf8proc_category_t category = utf8proc_category(code);
    return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) || dit_is_mark(code) ||
           category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_PC;
}

bool dit_is_ideograph(int32_t code)
{
    return (code >= 0x4E00 && code <= 0x9FFF) || (code >= 0x3400 && code <= 0x4DBF) ||
           (code >= 0x20000 && code <= 0x2A6DF) || (code >= 0x2A700 && code <= 0x2B73F) ||
           (code >= 0x2B740 && code <= 0x2B81F) || (code >= 0x2B820 && code <= 0x2CEAF) ||
           (code >= 0xF900 && code <= 0xFAFF) || (code >= 0x2F800 && code <= 0x2FA1F);
}

/* ---- lower case -------------------------------------------------------------------------------------------------- */

/* Cased and Case_Ignorable of Unicode, as far as a sigma can meet them. */
static bool is_cased(int32_t code)
{
    utf8proc_category_t category = utf8proc_category(code);
    return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT ||
           code == 0xAA || code == 0xBA || (code >= 0x2160 && code <= 0x217F) || (code >= 0x24B6 && code <= 0x24E9);
}

static bool is_case_ignorable(int32_t code)
{
    static const int32_t middle[] = {'\'',   '.',    ':',    0xB7,   0x387,  0x559,  0x55F,  0x5F4,  0x2018,
                                     0x2019, 0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
    utf8proc_category_t category = utf8proc_category(code);
    for (size_t i = 0; i < sizeof middle / sizeof *middle; i++)
        if (code == middle[i]) return true;
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME || category == UTF8PROC_CATEGORY_CF ||
           category == UTF8PROC_CATEGORY_LM || category == UTF8PROC_CATEGORY_SK;
}

/* True for a sigma between `before` and `after` that ends a word. */
static bool is_final_sigma(dit_span before, dit_span after)
{
    int32_t code = -1;
    size_t bytes;
    while (before.length && is_case_ignorable(code = dit_utf8_last(before, &bytes))) before.length -= bytes;
    if (!before.length || !is_cased(code)) return false;
    while (after.length && is_case_ignorable(code = dit_utf8_first(after, &bytes)))
        after.at += bytes, after.length -= bytes;
    return !after.length || !is_cased(code);
}

void dit_append_lower(dit_buffer *out, dit_span text, bool in_context)
{
    enum { CAPITAL_SIGMA = 0x3A3, FINAL_SIGMA = 0x3C2, DOTTED_I = 0x130, DOT_ABOVE = 0x307 };
    dit_span rest = text;
    while (rest.length) {
        dit_span before = {text.at, (size_t)(rest.at - text.at)};
        int32_t code = dit_utf8_take(&rest);
        if (in_context && code == CAPITAL_SIGMA && is_final_sigma(before, rest)) {
            dit_utf8_append(out, FINAL_SIGMA);
        } else if (code == DOTTED_I) { /* the one letter whose lower case is two, wherever it stands */
            dit_utf8_append(out, 'i');
            dit_utf8_append(out, DOT_ABOVE);
        } else {
            dit_utf8_append(out, utf8proc_tolower(code));
        }
    }
}

/* ---- forms ------------------------------------------------------------------------------------------------------- */

dit_status dit_append_form(dit_buffer *out, dit_span text, dit_unicode_form form)
{
    static const utf8proc_option_t options[] = {
        [DIT_FORM_NFC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
        [DIT_FORM_NFD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
        [DIT_FORM_NFKC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
        [DIT_FORM_NFKD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
    };
    uint8_t *made = NULL;
    if (!text.length) return DIT_OK;
    utf8proc_ssize_t length =
        utf8proc_map((const uint8_t *)text.at, (utf8proc_ssize_t)text.length, &made, options[form]);
    if (length == UTF8PROC_ERROR_NOMEM) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %zu bytes of text", text.length);
    if (length < 0) return DIT_FAIL(DIT_ERR_JSON_ENCODING, "a text of %zu bytes is not UTF-8", text.length);
    dit_buffer_append(out, made, (size_t)length);
    free(made);
    return DIT_OK;
}

size_t dit_grapheme_length(dit_span text)
{
    utf8proc_int32_t state = 0;
    size_t total, bytes;
    int32_t last = dit_utf8_first(text, &total);
    while (total < text.length) {
        int32_t code = dit_utf8_first((dit_span){text.at + total, text.length - total}, &bytes);
        if (last < 0 || code < 0 || utf8proc_grapheme_break_stateful(last, code, &state)) break;
        total += bytes;
        last = code;
    }
    return total;
}
