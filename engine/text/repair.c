#include "engine/text/repair.h"

#include <string.h>

/* ---- references of HTML ------------------------------------------------------------------------------------------ */

/* Names that prompts copied from pages have. */
static const struct {
    const char *name;
    int32_t code;
} html_names[] = {
    {"AMP", '&'},      {"COPY", 0xA9},     {"GT", '>'},       {"LT", '<'},       {"QUOT", '"'},     {"REG", 0xAE},
    {"amp", '&'},      {"apos", '\''},     {"bull", 0x2022},  {"copy", 0xA9},    {"deg", 0xB0},     {"eacute", 0xE9},
    {"gt", '>'},       {"hellip", 0x2026}, {"laquo", 0xAB},   {"ldquo", 0x201C}, {"lsquo", 0x2018}, {"lt", '<'},
    {"mdash", 0x2014}, {"middot", 0xB7},   {"nbsp", 0xA0},    {"ndash", 0x2013}, {"quot", '"'},     {"raquo", 0xBB},
    {"rdquo", 0x201D}, {"reg", 0xAE},      {"rsquo", 0x2019}, {"times", 0xD7},   {"trade", 0x2122},
};
enum { HTML_NAME_COUNT = sizeof html_names / sizeof *html_names };

/* What bytes 0x80 to 0x9F are in Windows' encoding, which is what is meant where they stand as code points. */
static int32_t read_windows(int32_t code)
{
    static const uint16_t codes[32] = {0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021,
                                       0x2C6,  0x2030, 0x160,  0x2039, 0x152,  0x8D,   0x17D,  0x8F,
                                       0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                       0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178};
    return code >= 0x80 && code <= 0x9F ? codes[code - 0x80] : code;
}

/* Code point of a number such as "#233" or "#xE9"; U+FFFD for one that no text may have. */
static int32_t read_number(const char *text, size_t length)
{
    bool hex = length > 1 && (text[1] == 'x' || text[1] == 'X');
    long long value = 0;
    for (size_t i = hex ? 2 : 1; i < length && value <= 0x10FFFF; i++) {
        int digit = text[i] <= '9' ? text[i] - '0' : (text[i] | 32) - 'a' + 10;
        value = value * (hex ? 16 : 10) + digit;
    }
    bool bad = value == 0 || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF);
    return bad ? 0xFFFD : read_windows((int32_t)value);
}

/* Length of a reference at `text`, and where what it refers to ends: [1, *end). 0: there is none. A number may lack its
 * ';', a name must not. */
static size_t reference_length(const char *text, size_t *end)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    bool number = text[1] == '#', hex = number && (text[2] == 'x' || text[2] == 'X');
    const char *allowed = hex ? "0123456789abcdefABCDEF" : number ? "0123456789" : letters;
    size_t front = hex ? 3 : number ? 2 : 1, count = strspn(text + front, allowed);
    *end = front + count;
    if (!count || (!number && text[*end] != ';')) return 0;
    return *end + (text[*end] == ';');
}

static dit_status append_reference(const char *name, size_t length, dit_buffer *out)
{
    if (name[0] == '#') {
        int32_t code = read_number(name, length);
        bool dropped = code < 0x20 && code != '\t' && code != '\n' && code != '\r' && code != '\f';
        if (!dropped) dit_utf8_append(out, code);
        return DIT_OK;
    }
    for (int i = 0; i < HTML_NAME_COUNT; i++) {
        if (strlen(html_names[i].name) != length || memcmp(html_names[i].name, name, length) != 0) continue;
        dit_utf8_append(out, html_names[i].code);
        return DIT_OK;
    }
    return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED,
                                   "the prompt has the reference &%.*s; of HTML, which is not known",
                                   (int)(length < 40 ? length : 40), name),
                          "write the sign itself");
}

dit_status dit_unescape_html(const char *text, dit_buffer *out)
{
    size_t name_end;
    dit_buffer_reset(out);
    dit_buffer_text(out, "");
    while (*text) {
        size_t length = *text == '&' ? reference_length(text, &name_end) : 0;
        if (length)
            DIT_TRY(append_reference(text + 1, name_end - 1, out));
        else
            dit_buffer_char(out, *text);
        text += length ? length : 1;
    }
    return DIT_OK;
}

/* ---- what ftfy does to text that is encoded well ------------------------------------------------------------------- */

static const struct {
    int32_t from;
    const char *to;
} ligatures[] = {
    {0x132, "IJ"},        {0x133, "ij"},        {0x149, "'n"},         {0x1F1, "DZ"},  {0x1F2, "Dz"},  {0x1F3, "dz"},
    {0x1C4, "D\xC5\xBD"}, {0x1C5, "D\xC5\xBE"}, {0x1C6, "d\xC5\xBE"},  {0x1C7, "LJ"},  {0x1C8, "Lj"},  {0x1C9, "lj"},
    {0x1CA, "NJ"},        {0x1CB, "Nj"},        {0x1CC, "nj"},         {0xFB00, "ff"}, {0xFB01, "fi"}, {0xFB02, "fl"},
    {0xFB03, "ffi"},      {0xFB04, "ffl"},      {0xFB05, "\xC5\xBFt"}, {0xFB06, "st"},
};

static const char *find_ligature(int32_t code)
{
    for (size_t i = 0; i < sizeof ligatures / sizeof *ligatures; i++)
        if (ligatures[i].from == code) return ligatures[i].to;
    return NULL;
}

/* Control characters that no text needs; line breaks and tabs stay. */
static bool is_dropped(int32_t code)
{
    return (code < 0x20 && code != '\t' && code != '\n' && code != '\f' && code != '\r') || code == 0x7F ||
           (code >= 0x206A && code <= 0x206F) || code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFC);
}

static dit_status append_fixed(int32_t code, dit_buffer *out)
{
    enum { WIDE_BLANK = 0x3000, WIDE_FIRST = 0xFF01, WIDE_END = 0xFFF0 };
    code = read_windows(code);
    const char *apart = find_ligature(code);
    if (apart) {
        dit_buffer_text(out, apart);
    } else if (code == WIDE_BLANK || (code >= WIDE_FIRST && code < WIDE_END)) {
        dit_buffer one = {0};
        dit_utf8_append(&one, code);
        dit_status st = one.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for a prompt")
                                   : dit_append_form(out, (dit_span){one.data, one.used}, DIT_FORM_NFKC);
        dit_buffer_release(&one);
        return st;
    } else if (code == 0x2BC || (code >= 0x2018 && code <= 0x201B)) {
        dit_buffer_char(out, '\'');
    } else if (code >= 0x201C && code <= 0x201F) {
        dit_buffer_char(out, '"');
    } else if (!is_dropped(code)) {
        dit_utf8_append(out, code);
    }
    return DIT_OK;
}

static dit_status fix_signs(dit_span text, dit_buffer *out)
{
    dit_buffer made = {0};
    dit_status st = DIT_OK;
    while (text.length && st == DIT_OK) st = append_fixed(dit_utf8_take(&text), &made);
    if (st == DIT_OK && made.failed) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a prompt");
    dit_buffer_reset(out);
    dit_buffer_text(out, "");
    if (st == DIT_OK) st = dit_append_form(out, (dit_span){made.data, made.used}, DIT_FORM_NFC);
    dit_buffer_release(&made);
    return st;
}

static dit_status repair(dit_span text, dit_buffer *a, dit_buffer *b)
{
    /* ftfy leaves references to HTML alone in a text with '<', and unescapes them before its other fixes else. */
    bool is_page = text.length && memchr(text.at, '<', text.length);
    dit_buffer_text(a, "");
    dit_buffer_append(a, text.at, text.length);
    if (is_page)
        dit_buffer_append(b, text.at, text.length);
    else
        DIT_TRY(dit_unescape_html(a->data ? a->data : "", b));
    DIT_TRY(fix_signs((dit_span){b->data, b->used}, a));
    DIT_TRY(dit_unescape_html(a->data, b));
    return dit_unescape_html(b->data, a);
}

dit_status dit_repair_text(dit_span text, dit_buffer *out)
{
    dit_buffer a = {0}, b = {0};
    dit_status st = repair(text, &a, &b);
    if (st == DIT_OK) {
        dit_buffer_text(out, "");
        dit_buffer_append(out, a.data, a.used);
    }
    if (a.failed || b.failed || out->failed) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a prompt");
    dit_buffer_release(&a);
    dit_buffer_release(&b);
    return st;
}
