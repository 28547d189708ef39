#include "engine/text/prompt.h"

#include "engine/unicode/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- pipelines --------------------------------------------------------------------------------------------------- */

#define HUNYUAN_VIDEO_SYSTEM                                                                                           \
    "<|start_header_id|>system<|end_header_id|>\n\nDescribe the video by detailing the following aspects: "            \
    "1. The main content and theme of the video."                                                                      \
    "2. The color, shape, size, texture, quantity, text, and spatial relationships of the objects."                    \
    "3. Actions, events, behaviors temporal relationships, physical movement changes of the objects."                  \
    "4. background environment, light, style and atmosphere."                                                          \
    "5. camera angles, movements, and transitions used in the video:<|eot_id|>"                                        \
    "<|start_header_id|>user<|end_header_id|>\n\n"

/* clang-format off */
/* All pipelines, as diffusers 0.33.1 has them: pipeline, tokenizer, text encoder, length, longest, crop; the encoder sees
 * the mask, the transformer does; padding, cleaning, text before and after the prompt. */
#define RULE_LIST(X) \
    X(CogVideoXPipeline,        tokenizer,   text_encoder,   226,   0,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(FluxPipeline,             tokenizer,   text_encoder,    77,  BY,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(FluxPipeline,             tokenizer_2, text_encoder_2, 512, 512,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(HunyuanDiTPipeline,       tokenizer,   text_encoder,    77,  77,  0, true,  true,  KEPT,   AS_IS,       "", "") \
    X(HunyuanDiTPipeline,       tokenizer_2, text_encoder_2, 256, 256,  0, true,  true,  KEPT,   AS_IS,       "", "") \
    X(HunyuanVideoPipeline,     tokenizer,   text_encoder,   256,   0, 95, true,  true,  KEPT,   AS_IS,       HUNYUAN_VIDEO_SYSTEM, "<|eot_id|>") \
    X(HunyuanVideoPipeline,     tokenizer_2, text_encoder_2,  77,  77,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(LattePipeline,            tokenizer,   text_encoder,   120,   0,  0, true,  false, CUT,    LOWER_STRIP, "", "") \
    X(PixArtAlphaPipeline,      tokenizer,   text_encoder,   120,   0,  0, true,  true,  KEPT,   LOWER_STRIP, "", "") \
    X(PixArtSigmaPipeline,      tokenizer,   text_encoder,   300,   0,  0, true,  true,  KEPT,   LOWER_STRIP, "", "") \
    X(StableDiffusion3Pipeline, tokenizer,   text_encoder,    77,  BY,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(StableDiffusion3Pipeline, tokenizer_2, text_encoder_2,  77,  BY,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(StableDiffusion3Pipeline, tokenizer_3, text_encoder_3, 256, 512,  0, false, false, KEPT,   AS_IS,       "", "") \
    X(WanImageToVideoPipeline,  tokenizer,   text_encoder,   512,   0,  0, true,  false, ZEROED, WAN,         "", "") \
    X(WanPipeline,              tokenizer,   text_encoder,   512,   0,  0, true,  false, ZEROED, WAN,         "", "")
/* clang-format on */

enum { BY = DIT_PROMPT_BY_TOKENIZER };
static const dit_prompt_rule rules[] = {
#define RULE(pipeline, tokenizer, encoder, length, longest, crop, encoder_mask, transformer_mask, padding, clean,      \
             before, after)                                                                                            \
    {#pipeline,                                                                                                        \
     #tokenizer,                                                                                                       \
     #encoder,                                                                                                         \
     length,                                                                                                           \
     longest,                                                                                                          \
     crop,                                                                                                             \
     encoder_mask,                                                                                                     \
     transformer_mask,                                                                                                 \
     DIT_PADDING_##padding,                                                                                            \
     DIT_PROMPT_##clean,                                                                                               \
     before,                                                                                                           \
     after},
    RULE_LIST(RULE)
#undef RULE
};
enum { RULE_COUNT = sizeof rules / sizeof *rules };

const dit_prompt_rule *dit_prompt_rules(const char *pipeline, int *count)
{
    const dit_prompt_rule *first = NULL;
    *count = 0;
    for (int i = 0; i < RULE_COUNT; i++) {
        if (strcmp(rules[i].pipeline, pipeline) != 0) continue;
        if (!first) first = &rules[i];
        ++*count;
    }
    return first;
}

const char *const *dit_prompt_pipelines(void)
{
    static const char *names[RULE_COUNT + 1];
    int count = 0;
    for (int i = 0; i < RULE_COUNT; i++)
        if (!count || strcmp(names[count - 1], rules[i].pipeline) != 0) names[count++] = rules[i].pipeline;
    return names;
}

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

static dit_status unescape(const char *text, dit_buffer *out)
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

static dit_status fix_text(dit_span text, dit_buffer *out)
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

/* ---- cleaning ---------------------------------------------------------------------------------------------------- */

/* One blank for each run of white space, none at the ends. */
static void make_single(dit_span text, dit_buffer *out)
{
    text = dit_span_strip(text, true, true, dit_is_space_of_python);
    for (bool blank = false; text.length;) {
        int32_t code = dit_utf8_take(&text);
        bool space = dit_is_space_of_python(code);
        if (space && !blank) dit_buffer_char(out, ' ');
        if (!space) dit_utf8_append(out, code);
        blank = space;
    }
}

static dit_status clean_wan(dit_span prompt, dit_buffer *out)
{
    dit_buffer a = {0}, b = {0};
    dit_status st;
    /* ftfy leaves references to HTML alone in a text with '<', and unescapes them before its other fixes else. */
    bool is_page = prompt.length && memchr(prompt.at, '<', prompt.length);
    dit_buffer_append(&a, prompt.at, prompt.length);
    if (!is_page) {
        DIT_TRY_GOTO(st, unescape(a.data ? a.data : "", &b), done);
        dit_buffer_release(&a);
        a = b, b = (dit_buffer){0};
    }
    DIT_TRY_GOTO(st, fix_text((dit_span){a.data, a.used}, &b), done);
    DIT_TRY_GOTO(st, unescape(b.data, &a), done);
    DIT_TRY_GOTO(st, unescape(a.data, &b), done);
    make_single((dit_span){b.data, b.used}, out);
    if (a.failed || b.failed) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a prompt");
done:
    dit_buffer_release(&a);
    dit_buffer_release(&b);
    return st;
}

static dit_status clean(dit_prompt_cleaning how, dit_span prompt, dit_buffer *out)
{
    dit_buffer lower = {0};
    if (how == DIT_PROMPT_WAN) return clean_wan(prompt, out);
    if (how == DIT_PROMPT_AS_IS) {
        dit_buffer_append(out, prompt.at, prompt.length);
        return DIT_OK;
    }
    dit_append_lower(&lower, prompt, true);
    dit_span kept = dit_span_strip((dit_span){lower.data, lower.used}, true, true, dit_is_space_of_python);
    dit_buffer_append(out, kept.at, kept.length);
    if (lower.failed) out->failed = true;
    dit_buffer_release(&lower);
    return DIT_OK;
}

int64_t dit_prompt_length(const dit_prompt_rule *rule, const dit_tokenizer *first)
{
    dit_tokenizer_facts facts;
    dit_tokenizer_describe(first, &facts);
    bool stated = rule->longest == DIT_PROMPT_BY_TOKENIZER && facts.model_max_length > 0;
    return stated ? facts.model_max_length : rule->length;
}

int64_t dit_prompt_row(const dit_prompt_rule *rule, int64_t length)
{
    return rule->crop + (length ? length : rule->length);
}

dit_status dit_prompt_tokenize(const dit_prompt_rule *rule, const dit_tokenizer *tokenizer, const char *prompt,
                               int64_t length, int32_t *ids, int32_t *mask, int64_t *count)
{
    const dit_token_rule row = {.length = dit_prompt_row(rule, length)};
    char *text;
    if (rule->longest > 0 && length > rule->longest)
        return DIT_FAIL(DIT_ERR_SHAPE, "max_sequence_length is %lld; %s allows at most %lld", (long long)length,
                        rule->pipeline, (long long)rule->longest);
    DIT_TRY(dit_prompt_clean(rule, prompt, &text));
    dit_status st = dit_tokenize(tokenizer, text, &row, ids, mask, count);
    free(text);
    return st;
}

dit_status dit_prompt_clean(const dit_prompt_rule *rule, const char *prompt, char **out)
{
    dit_span all = {prompt, strlen(prompt)};
    dit_buffer made = {0};
    *out = NULL;
    if (all.length > DIT_TOKEN_TEXT_MAX)
        return DIT_FAIL(DIT_ERR_SHAPE, "a prompt is longer than %d bytes", DIT_TOKEN_TEXT_MAX);
    if (!dit_utf8_is_valid(all))
        return DIT_FAIL(DIT_ERR_JSON_ENCODING, "a prompt of %zu bytes is not UTF-8", all.length);
    dit_buffer_text(&made, rule->before);
    dit_status st = clean(rule->cleaning, all, &made);
    dit_buffer_text(&made, rule->after);
    if (st == DIT_OK && made.failed) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a prompt");
    if (st != DIT_OK) {
        dit_buffer_release(&made);
        return st;
    }
    *out = made.data;
    return DIT_OK;
}
