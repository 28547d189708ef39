#include "engine/text/caption.h"

#include "engine/text/repair.h"
#include "engine/unicode/pattern.h"

#include <ctype.h>
#include <string.h>

/* ---- what is replaced -------------------------------------------------------------------------------------------- */

/* Python's \w and \s as sets, and its \b. */
#define WORD   "\\p{L}\\p{N}_"
#define SPACE  "\\s\\x1c-\\x1f"
#define EDGE   "(?:(?<=[" WORD "])(?![" WORD "])|(?<![" WORD "])(?=[" WORD "]))"
#define DOMAIN "[a-zA-Z0-9.\\-]+[.](?:com|co|ru|net|org|edu|gov|it)[" WORD "/-]*" EDGE "/?(?!@)"
#define FILES  "(?:png|jpg|jpeg|bmp|webp|eps|pdf|apk|mp4)"

typedef struct {
    const char *expression, *with;
    bool behind; /* `with` stands behind what matched, which stays */
} replacement;

static const replacement before_page[] = {
    {"<person>", "person", false},
    {EDGE "(?:https?:(?:/{1,3}|[a-zA-Z0-9%])|" DOMAIN ")", "", false},
    {EDGE "(?:www:(?:/{1,3}|[a-zA-Z0-9%])|" DOMAIN ")", "", false},
};

static const replacement before_repair[] = {
    {"@[" WORD "]+" EDGE, "", false},      /* nicknames */
    {"[\\x{31c0}-\\x{9fff}]+", "", false}, /* Chinese, and Japanese signs */
    {"[\\x{2D}\\x{58A}\\x{5BE}\\x{1400}\\x{1806}\\x{2010}-\\x{2015}\\x{2E17}\\x{2E1A}\\x{2E3A}\\x{2E3B}\\x{2E40}\\x{"
     "301C}"
     "\\x{3030}\\x{30A0}\\x{FE31}\\x{FE32}\\x{FE58}\\x{FE63}\\x{FF0D}]+",
     "-", false},
    {"[`\\xb4\\xab\\xbb\\x{201c}\\x{201d}\\xa8]", "\"", false},
    {"[\\x{2018}\\x{2019}]", "'", false},
    {"&quot;?", "", false},
    {"&amp", "", false},
    {"\\d{1,3}\\.\\d{1,3}\\.\\d{1,3}\\.\\d{1,3}", " ", false},
    {"\\d:\\d\\d[" SPACE "]+$", "", false},
    {"\\\\n", " ", false},
    {"#\\d{1,3}" EDGE, "", false},
    {"#\\d{5,}" EDGE, "", false},
    {EDGE "\\d{6,}" EDGE, "", false},
    {"[^" SPACE "]+\\." FILES, "", false},
    {"[\"']{2,}", "\"", false},
    {"[.]{2,}", " ", false},
    {"[#\\xae\\x{2022}\\xa9\\x{2122}&@\\xb7\\xba\\xbd\\xbe\\xbf\\xa1\\xa7~)(\\]\\[}{|\\\\/*]+", " ", false},
    {"[" SPACE "]+\\.[" SPACE "]+", " ", false},
};

static const replacement dashes = {"[-_]", " ", false};

static const replacement after_repair[] = {
    {EDGE "[a-zA-Z]{1,3}\\d{3,15}" EDGE, "", false}, /* numbers of articles */
    {EDGE "[a-zA-Z]+\\d+[a-zA-Z]+" EDGE, "", false},
    {EDGE "\\d+[a-zA-Z]+\\d+" EDGE, "", false},
    {"(?:worldwide[" SPACE "]+)?(?:free[" SPACE "]+)?shipping", "", false},
    {"(?:free[" SPACE "])?download(?:[" SPACE "]free)?", "", false},
    {EDGE "click" EDGE "[" SPACE "](?:for|on)[" SPACE "][" WORD "]+", "", false},
    {EDGE FILES "(?:[" SPACE "]images?)?", "", false},
    {EDGE "page[" SPACE "]+\\d+" EDGE, "", false},
    {EDGE "\\d*[a-zA-Z]+\\d+[a-zA-Z]+\\d+[a-zA-Z\\d]*" EDGE, " ", false},
    {EDGE "\\d+\\.?\\d*[x\\x{445}\\xd7]\\d+\\.?\\d*" EDGE, "", false},
    {EDGE "[" SPACE "]+:[" SPACE "]+", ": ", false},
    {"\\D[,./]" EDGE, " ", true},
    {"[" SPACE "]+", " ", false},
};

static const replacement at_ends[] = {
    {"^['_,\\-:;]", "", false},
    {"['_,\\-:+]$", "", false},
    {"^\\.[^" SPACE "]+$", "", false},
};
#define ROWS(table) table, sizeof(table) / sizeof *(table)

/* ---- replacing --------------------------------------------------------------------------------------------------- */

static dit_status fail_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a prompt");
}

/* Gives what is in `from` to *text. */
static void take(dit_buffer *text, dit_buffer *from)
{
    dit_buffer_release(text);
    *text = *from;
    *from = (dit_buffer){0};
}

static dit_span all_of(const dit_buffer *text)
{
    return (dit_span){text->data ? text->data : "", text->used};
}

/* Replaces all matches of a row, and counts them. */
static dit_status replace_matches(const dit_pattern *pattern, const replacement *row, dit_span text, dit_buffer *out,
                                  int *count)
{
    size_t at = 0, start, end;
    for (*count = 0;; ++*count, at = end) {
        DIT_TRY(dit_pattern_find(pattern, text, at, &start, &end));
        dit_buffer_append(out, text.at + at, (row->behind ? end : start) - at);
        if (start == end) return out->failed ? fail_memory() : DIT_OK;
        dit_buffer_text(out, row->with);
    }
}

/* Replaces in *text, where there are more than `more_than` matches. */
static dit_status replace(const replacement *row, int more_than, dit_buffer *text)
{
    dit_pattern *pattern;
    dit_buffer made = {0};
    int count;
    DIT_TRY(dit_pattern_compile(row->expression, false, &pattern));
    dit_buffer_text(&made, "");
    dit_status st = replace_matches(pattern, row, all_of(text), &made, &count);
    if (st == DIT_OK && count > more_than) take(text, &made);
    dit_buffer_release(&made);
    dit_pattern_release(pattern);
    return st;
}

static dit_status replace_rows(const replacement *rows, size_t count, dit_buffer *text)
{
    for (size_t i = 0; i < count; i++) DIT_TRY(replace(&rows[i], 0, text));
    return DIT_OK;
}

/* ---- addresses and pages ----------------------------------------------------------------------------------------- */

static int hex_digit(char digit)
{
    return isdigit((unsigned char)digit) ? digit - '0' : (digit | 32) - 'a' + 10;
}

/* As urllib's unquote_plus: '+' is a blank, %E9 a byte. */
static dit_status unquote(dit_span text, dit_buffer *out)
{
    dit_buffer_text(out, "");
    for (size_t i = 0; i < text.length; i++) {
        bool quoted = text.at[i] == '%' && i + 2 < text.length && isxdigit((unsigned char)text.at[i + 1]) &&
                      isxdigit((unsigned char)text.at[i + 2]);
        int byte = quoted ? hex_digit(text.at[i + 1]) * 16 + hex_digit(text.at[i + 2]) : text.at[i];
        if (quoted) i += 2;
        if (byte || !quoted) dit_buffer_char(out, (char)(!quoted && byte == '+' ? ' ' : byte));
    }
    if (out->failed) return fail_memory();
    if (dit_utf8_is_valid(all_of(out))) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_JSON_ENCODING, "a prompt has percent sequences that are not UTF-8"),
                          "write the signs themselves, or leave --clean_caption out");
}

/* Length of the name of a reference behind '&', as html.parser has it; 0: a lone '&'. */
static size_t name_length(dit_span text)
{
    static const char rest[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
    bool letter = text.length > 1 && isalpha((unsigned char)text.at[1]);
    size_t length = letter ? 1 : 0;
    while (length && 1 + length < text.length && strchr(rest, text.at[1 + length])) length++;
    return length;
}

/* Appends what a reference stands for, and says its bytes. One that ends the text loses its '&'; a name of one letter, or
 * with a '-' or '.', is none. */
static dit_status append_reference(dit_span text, size_t *took, dit_buffer *out)
{
    size_t length = name_length(text), digits = 2;
    bool number = text.length > 2 && text.at[1] == '#';
    while (number && digits < text.length && isxdigit((unsigned char)(text.at[digits] == 'x' ? '0' : text.at[digits])))
        digits++;
    size_t end = number && digits > 2 ? digits : 1 + length;
    *took = end + (end > 1 && end < text.length && text.at[end] == ';');
    if (end == 1) {
        dit_buffer_char(out, '&');
        return DIT_OK;
    }
    bool last = end == text.length;
    bool named = length > 1 && !memchr(text.at, '-', end) && !memchr(text.at, '.', end);
    if (last || (!number && !named)) {
        dit_buffer_append(out, text.at + last, end - last);
        return DIT_OK;
    }
    dit_buffer whole = {0}, sign = {0};
    dit_buffer_append(&whole, text.at, end);
    dit_buffer_text(&whole, ";");
    dit_status st = whole.failed ? fail_memory() : dit_unescape_html(whole.data, &sign);
    if (st == DIT_OK) dit_buffer_append(out, sign.data, sign.used);
    dit_buffer_release(&whole);
    dit_buffer_release(&sign);
    return st;
}

/* BeautifulSoup(text, "html.parser").text of a text without tags. */
static dit_status read_page(dit_span text, dit_buffer *out)
{
    dit_buffer_text(out, "");
    for (size_t took; text.length; text.at += took, text.length -= took) {
        bool tag =
            text.at[0] == '<' && text.length > 1 && (isalpha((unsigned char)text.at[1]) || strchr("/!?", text.at[1]));
        if (tag)
            return dit_error_hint(
                DIT_FAIL(DIT_ERR_UNSUPPORTED, "a prompt has a tag of HTML, which --clean_caption does not read"),
                "write the prompt without tags, or leave --clean_caption out");
        took = 1;
        if (text.at[0] == '&')
            DIT_TRY(append_reference(text, &took, out));
        else
            dit_buffer_char(out, text.at[0]);
    }
    return out->failed ? fail_memory() : DIT_OK;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Takes a quotation mark off both ends. */
static dit_span take_off_quotes(dit_span text)
{
    static const char marks[] = "\"'";
    bool quoted = text.length > 2 && strchr(marks, text.at[0]) && strchr(marks, text.at[text.length - 1]);
    return quoted ? (dit_span){text.at + 1, text.length - 2} : text;
}

static void set(dit_buffer *text, dit_span span)
{
    dit_buffer made = {0};
    dit_buffer_text(&made, "");
    dit_buffer_append(&made, span.at, span.length);
    take(text, &made);
}

static void strip(dit_buffer *text)
{
    set(text, dit_span_strip(all_of(text), true, true, dit_is_space_of_python));
}

/* Runs a step from *text to a text of its own, which becomes *text. */
static dit_status transform(dit_status (*step)(dit_span from, dit_buffer *to), dit_buffer *text)
{
    dit_buffer made = {0};
    dit_status st = step(all_of(text), &made);
    if (st == DIT_OK)
        take(text, &made);
    else
        dit_buffer_release(&made);
    return st;
}

static dit_status lower(dit_span text, dit_buffer *out)
{
    dit_buffer_text(out, "");
    dit_append_lower(out, dit_span_strip(text, true, true, dit_is_space_of_python), true);
    return out->failed ? fail_memory() : DIT_OK;
}

static dit_status clean_once(dit_buffer *text)
{
    enum { HYPHENS = 3 };
    DIT_TRY(transform(unquote, text));
    DIT_TRY(transform(lower, text));
    DIT_TRY(replace_rows(ROWS(before_page), text));
    DIT_TRY(transform(read_page, text));
    DIT_TRY(replace_rows(ROWS(before_repair), text));
    DIT_TRY(replace(&dashes, HYPHENS, text));
    DIT_TRY(transform(dit_repair_text, text));
    DIT_TRY(replace_rows(ROWS(after_repair), text));
    set(text, take_off_quotes(all_of(text)));
    DIT_TRY(replace_rows(ROWS(at_ends), text));
    strip(text);
    return text->failed ? fail_memory() : DIT_OK;
}

dit_status dit_caption_clean(dit_span caption, dit_buffer *out)
{
    dit_buffer text = {0};
    set(&text, caption);
    dit_status st = clean_once(&text);
    if (st == DIT_OK) st = clean_once(&text);
    if (st == DIT_OK) dit_buffer_append(out, text.data, text.used);
    dit_buffer_release(&text);
    return st;
}
