/* Splitters: steps that cut a text into pieces, and the table that makes them from tokenizer.json's "pre_tokenizer". */
#include "engine/unicode/step_source.h"

#include "base/words.h"

#include <stdio.h>
#include <string.h>

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* What GPT-2's tokenizer splits by. */
static const char gpt2_pattern[] = "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static void add_part(dit_pieces *out, dit_span text, size_t start, size_t end, bool first)
{
    dit_pieces_add(out, (dit_span){text.at + start, end - start}, first && start == 0);
}

dit_status dit_step_split_pattern(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    size_t at = 0, start, end;
    while (at < text.length) {
        DIT_TRY(dit_pattern_find(step->pattern, text, at, &start, &end));
        if (!step->flags[DIT_SPLIT_DROP_REST]) add_part(out, text, at, start, first);
        if (!step->flags[DIT_SPLIT_DROP_MATCHES]) add_part(out, text, start, end, first);
        at = end;
    }
    return DIT_OK;
}

/* Every match ends a piece. */
static dit_status run_split_behind(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    size_t at = 0, start, end;
    while (at < text.length) {
        DIT_TRY(dit_pattern_find(step->pattern, text, at, &start, &end));
        add_part(out, text, at, end, first);
        at = end;
    }
    return DIT_OK;
}

dit_status dit_step_split_words(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    dit_span rest = text;
    size_t start = 0;
    (void)step;
    while (rest.length) {
        size_t at = (size_t)(rest.at - text.at);
        if (!dit_is_space(dit_utf8_take(&rest))) continue;
        add_part(out, text, start, at, first);
        start = (size_t)(rest.at - text.at);
    }
    add_part(out, text, start, text.length, first);
    return DIT_OK;
}

dit_status dit_step_split_punctuation(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    dit_span rest = text;
    size_t start = 0;
    (void)step;
    while (rest.length) {
        size_t at = (size_t)(rest.at - text.at);
        if (!dit_is_punctuation(dit_utf8_take(&rest))) continue;
        size_t end = (size_t)(rest.at - text.at);
        add_part(out, text, start, at, first);
        add_part(out, text, at, end, first);
        start = end;
    }
    add_part(out, text, start, text.length, first);
    return DIT_OK;
}

#define META "\xE2\x96\x81" /* U+2581 */

static bool begins_with(dit_span text, const char *front)
{
    return text.length >= strlen(front) && memcmp(text.at, front, strlen(front)) == 0;
}

static void replace_blanks(dit_buffer *made, dit_span text)
{
    for (size_t i = 0; i < text.length; i++)
        if (text.at[i] == ' ')
            dit_buffer_text(made, META);
        else
            dit_buffer_char(made, text.at[i]);
}

dit_status dit_step_metaspace(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    dit_buffer made = {0};
    bool prepends = step->flags[DIT_METASPACE_ALWAYS] || (step->flags[DIT_METASPACE_FIRST] && first);
    if (prepends && text.at[0] != ' ' && !begins_with(text, META)) dit_buffer_text(&made, META);
    replace_blanks(&made, text);
    dit_span whole = {made.data, made.failed ? 0 : made.used};
    size_t start = 0;
    for (size_t i = 1; i < whole.length && step->flags[DIT_METASPACE_SPLIT]; i++) {
        if (!begins_with((dit_span){whole.at + i, whole.length - i}, META)) continue;
        add_part(out, whole, start, i, first);
        start = i;
    }
    add_part(out, whole, start, whole.length, first);
    dit_status st = made.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for a piece of text") : DIT_OK;
    dit_buffer_release(&made);
    return st;
}

dit_status dit_step_bytes(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    dit_buffer made = {0};
    (void)step;
    for (size_t i = 0; i < text.length; i++) {
        int32_t byte = (unsigned char)text.at[i];
        bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
        /* The others, in their order, are U+0100 to U+0143: 0 to 32, 127 to 160, 173. */
        int32_t code = printable ? byte : byte <= 32 ? 0x100 + byte : byte == 0xAD ? 0x143 : 0x121 + byte - 127;
        dit_utf8_append(&made, code);
    }
    return dit_pieces_take(&made, first, out, DIT_OK);
}

/* A blank in front has to be there before the text is split. */
static dit_status run_blank_in_front(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    dit_buffer made = {0};
    (void)step;
    if (text.at[0] != ' ') dit_buffer_char(&made, ' ');
    dit_buffer_append(&made, text.at, text.length);
    return dit_pieces_take(&made, first, out, DIT_OK);
}

/* ---- from tokenizer.json ----------------------------------------------------------------------------------------- */

dit_status dit_pattern_read(const dit_json *doc, const cJSON *object, const char *pointer, dit_pattern **out)
{
    const cJSON *pattern = dit_json_member(object, "pattern");
    const char *regex = dit_json_text_or(pattern, "Regex", NULL), *plain = dit_json_text_or(pattern, "String", NULL);
    dit_buffer quoted = {0};
    if (regex) return dit_pattern_compile(regex, false, out);
    if (!plain) return dit_json_fail(doc, pointer, DIT_ERR_JSON_MISSING, "\"pattern\" needs \"Regex\" or \"String\"");
    for (const char *p = plain; *p; p++) {
        if ((unsigned char)*p < 0x80 && !strchr("_", *p) && !(*p >= '0' && *p <= '9') && !(*p >= 'a' && *p <= 'z') &&
            !(*p >= 'A' && *p <= 'Z'))
            dit_buffer_printf(&quoted, "\\x%02x", *p);
        else
            dit_buffer_char(&quoted, *p);
    }
    dit_status st = quoted.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for a pattern")
                                  : dit_pattern_compile(quoted.data ? quoted.data : "", false, out);
    dit_buffer_release(&quoted);
    return st;
}

static dit_status make_bert(const dit_step_source *s)
{
    DIT_TRY(dit_steps_add_run(s->steps, dit_step_split_words, false, false, false));
    return dit_steps_add_run(s->steps, dit_step_split_punctuation, false, false, false);
}

/* Rust's \w has no numbers but digits and letters, unlike that of other expressions. */
#define RUST_WORDS                                                                                                     \
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{"    \
    "1f189}"                                                                                                           \
    "\\x{200c}\\x{200d}"

static dit_status make_whitespace(const dit_step_source *s)
{
    return dit_steps_add_pattern(s->steps, "[" RUST_WORDS "]+|[^" RUST_WORDS "\\s]+", false, true);
}

static dit_status make_digits(const dit_step_source *s)
{
    bool each = false;
    DIT_TRY(dit_json_optional_bool(s->doc, s->object, s->pointer, "individual_digits", &each));
    return dit_steps_add_pattern(s->steps, each ? "\\p{N}" : "\\p{N}+", false, false);
}

static dit_status make_punctuation(const dit_step_source *s)
{
    const char *behavior = dit_json_text_or(s->object, "behavior", "Isolated");
    if (strcmp(behavior, "Isolated") != 0)
        return dit_json_fail(s->doc, s->pointer, DIT_ERR_UNSUPPORTED,
                             "the behavior %.80s of Punctuation is not implemented, only Isolated", behavior);
    return dit_steps_add_run(s->steps, dit_step_split_punctuation, false, false, false);
}

static dit_status make_metaspace(const dit_step_source *s)
{
    static const char *const schemes[] = {"always", "first", "never", NULL};
    const char *scheme = "always", *replacement = META;
    bool split = true, in_front = true;
    DIT_TRY(dit_json_optional_string(s->doc, s->object, s->pointer, "replacement", &replacement));
    if (strcmp(replacement, META) != 0)
        return dit_json_fail(s->doc, s->pointer, DIT_ERR_UNSUPPORTED, "the replacement is %.16s and not U+2581",
                             replacement);
    DIT_TRY(dit_json_optional_bool(s->doc, s->object, s->pointer, "add_prefix_space", &in_front));
    if (!in_front) scheme = "never";
    DIT_TRY(dit_json_optional_string(s->doc, s->object, s->pointer, "prepend_scheme", &scheme));
    DIT_TRY(dit_json_optional_bool(s->doc, s->object, s->pointer, "split", &split));
    int found = dit_words_find(schemes, scheme);
    if (found < 0) return dit_json_fail_word(s->doc, s->pointer, "prepend_scheme", scheme, schemes);
    return dit_steps_add_run(s->steps, dit_step_metaspace, found == 0, found == 1, split);
}

static dit_status make_bytes(const dit_step_source *s)
{
    bool in_front = true, splits = true;
    DIT_TRY(dit_json_optional_bool(s->doc, s->object, s->pointer, "add_prefix_space", &in_front));
    DIT_TRY(dit_json_optional_bool(s->doc, s->object, s->pointer, "use_regex", &splits));
    if (in_front) DIT_TRY(dit_steps_add_run(s->steps, run_blank_in_front, false, false, false));
    if (splits) DIT_TRY(dit_steps_add_pattern(s->steps, gpt2_pattern, false, false));
    return dit_steps_add_run(s->steps, dit_step_bytes, false, false, false);
}

static dit_status make_split(const dit_step_source *s)
{
    enum { REMOVED = 1, MERGED = 2 };
    static const char *const behaviors[] = {"Isolated", "Removed", "MergedWithPrevious", NULL};
    const char *behavior;
    bool invert = false;
    dit_step step = {.run = dit_step_split_pattern};
    DIT_TRY(dit_json_require_string(s->doc, s->object, s->pointer, "behavior", &behavior));
    DIT_TRY(dit_json_optional_bool(s->doc, s->object, s->pointer, "invert", &invert));
    int found = dit_words_find(behaviors, behavior);
    if (found < 0)
        return dit_words_hint_all(dit_json_fail(s->doc, s->pointer, DIT_ERR_UNSUPPORTED,
                                                "the behavior %.80s of Split is not implemented", behavior),
                                  "there are", behaviors);
    if (found == MERGED && invert)
        return dit_json_fail(s->doc, s->pointer, DIT_ERR_UNSUPPORTED,
                             "invert of a Split that is MergedWithPrevious is not implemented");
    if (found == MERGED) step.run = run_split_behind;
    step.flags[DIT_SPLIT_DROP_REST] = found == REMOVED && invert;
    step.flags[DIT_SPLIT_DROP_MATCHES] = found == REMOVED && !invert;
    DIT_TRY(dit_pattern_read(s->doc, s->object, s->pointer, &step.pattern));
    return dit_steps_add(s->steps, &step);
}

static dit_status make_sequence(const dit_step_source *s)
{
    return dit_step_source_each(s, "pretokenizers", dit_steps_read_splitter);
}

/* All types of splitters. */
static const dit_step_kind kinds[] = {
    {"BertPreTokenizer", NULL, make_bert},
    {"ByteLevel", NULL, make_bytes},
    {"Digits", NULL, make_digits},
    {"Metaspace", NULL, make_metaspace},
    {"Punctuation", NULL, make_punctuation},
    {"Sequence", NULL, make_sequence},
    {"Split", NULL, make_split},
    {"Whitespace", NULL, make_whitespace},
    {"WhitespaceSplit", dit_step_split_words, NULL},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

dit_status dit_steps_read_splitter(const dit_json *doc, const cJSON *object, const char *pointer, dit_steps *steps)
{
    const dit_step_source source = {doc, object, pointer, steps};
    return dit_step_kinds_read(kinds, KIND_COUNT, "pre_tokenizer", &source);
}
