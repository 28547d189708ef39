/* Normalisers: steps that change a text, and the table that makes them from tokenizer.json. */
#include "engine/unicode/step_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static dit_status give_form(dit_span text, dit_unicode_form form, bool first, dit_pieces *out)
{
    dit_buffer made = {0};
    dit_status st = dit_append_form(&made, text, form);
    return dit_pieces_take(&made, first, out, st);
}

dit_status dit_step_nfc(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    (void)step;
    return give_form(text, DIT_FORM_NFC, first, out);
}

static dit_status run_nfd(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    (void)step;
    return give_form(text, DIT_FORM_NFD, first, out);
}

static dit_status run_nfkc(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    (void)step;
    return give_form(text, DIT_FORM_NFKC, first, out);
}

static dit_status run_nfkd(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    (void)step;
    return give_form(text, DIT_FORM_NFKD, first, out);
}

dit_status dit_step_lower(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    dit_buffer made = {0};
    (void)step;
    dit_append_lower(&made, text, true);
    return dit_pieces_take(&made, first, out, DIT_OK);
}

dit_status dit_step_lower_each(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    dit_buffer made = {0};
    (void)step;
    dit_append_lower(&made, text, false);
    return dit_pieces_take(&made, first, out, DIT_OK);
}

dit_status dit_step_bert_clean(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    enum { REPLACEMENT = 0xFFFD };
    dit_buffer made = {0};
    while (text.length) {
        int32_t code = dit_utf8_take(&text);
        bool line = code == '\t' || code == '\n' || code == '\r';
        bool apart = step->flags[DIT_CLEAN_IDEOGRAPHS] && dit_is_ideograph(code);
        if (step->flags[DIT_CLEAN_CONTROLS]) {
            if (code == 0 || code == REPLACEMENT || (!line && dit_is_control(code))) continue;
            if (line || dit_is_space(code)) code = ' ';
        }
        if (apart) dit_buffer_char(&made, ' ');
        dit_utf8_append(&made, code);
        if (apart) dit_buffer_char(&made, ' ');
    }
    return dit_pieces_take(&made, first, out, DIT_OK);
}

static void append_without(dit_buffer *out, dit_span text, bool (*drops)(int32_t code))
{
    while (text.length) {
        int32_t code = dit_utf8_take(&text);
        if (!drops(code)) dit_utf8_append(out, code);
    }
}

dit_status dit_step_drop_nonspacing(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    dit_buffer apart = {0}, made = {0};
    (void)step;
    dit_status st = dit_append_form(&apart, text, DIT_FORM_NFD);
    append_without(&made, (dit_span){apart.data, apart.used}, dit_is_nonspacing);
    dit_buffer_release(&apart);
    return dit_pieces_take(&made, first, out, st);
}

static dit_status run_strip_accents(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    dit_buffer made = {0};
    (void)step;
    append_without(&made, text, dit_is_mark);
    return dit_pieces_take(&made, first, out, DIT_OK);
}

dit_status dit_step_join_words(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    dit_buffer made = {0};
    bool wants_blank = false;
    (void)step;
    while (text.length) {
        int32_t code = dit_utf8_take(&text);
        if (dit_is_space_of_python(code)) {
            wants_blank = made.used > 0;
            continue;
        }
        if (wants_blank) dit_buffer_char(&made, ' ');
        wants_blank = false;
        dit_utf8_append(&made, code);
    }
    return dit_pieces_take(&made, first, out, DIT_OK);
}

dit_status dit_step_replace_charsmap(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    dit_buffer made = {0};
    dit_charsmap_apply(&step->charsmap, text, &made);
    return dit_pieces_take(&made, first, out, DIT_OK);
}

dit_status dit_step_replace(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    dit_buffer made = {0};
    dit_status st = DIT_OK;
    size_t at = 0, start, end;
    while (at < text.length && st == DIT_OK) {
        st = dit_pattern_find(step->pattern, text, at, &start, &end);
        if (st != DIT_OK) break;
        dit_buffer_append(&made, text.at + at, start - at);
        if (end > start) dit_buffer_text(&made, step->content);
        at = end;
    }
    return dit_pieces_take(&made, first, out, st);
}

dit_status dit_step_strip(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    dit_span kept = dit_span_strip(text, step->flags[0], step->flags[1], dit_is_space);
    dit_pieces_add(out, kept, first);
    return DIT_OK;
}

static dit_status run_prepend(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    dit_buffer made = {0};
    dit_buffer_text(&made, step->content);
    dit_buffer_append(&made, text.at, text.length);
    return dit_pieces_take(&made, first, out, DIT_OK);
}

/* ---- from tokenizer.json ----------------------------------------------------------------------------------------- */

static dit_status copy_content(const dit_step_source *s, dit_step *step)
{
    const char *content;
    DIT_TRY(dit_json_require_string(s->doc, s->object, s->pointer, "content", &content));
    step->content = strdup(content);
    return step->content ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a normaliser");
}

static dit_status make_strip(const dit_step_source *s)
{
    bool left = true, right = true;
    DIT_TRY(dit_json_optional_bool(s->doc, s->object, s->pointer, "strip_left", &left));
    DIT_TRY(dit_json_optional_bool(s->doc, s->object, s->pointer, "strip_right", &right));
    return dit_steps_add_run(s->steps, dit_step_strip, left, right, false);
}

static dit_status make_prepend(const dit_step_source *s)
{
    const char *content;
    dit_step step = {.run = run_prepend};
    DIT_TRY(dit_json_require_string(s->doc, s->object, s->pointer, "prepend", &content));
    step.content = strdup(content);
    if (!step.content) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a normaliser");
    return dit_steps_add(s->steps, &step);
}

static dit_status make_replace(const dit_step_source *s)
{
    dit_step step = {.run = dit_step_replace};
    DIT_TRY(copy_content(s, &step));
    dit_status st = dit_pattern_read(s->doc, s->object, s->pointer, &step.pattern);
    if (st == DIT_OK) return dit_steps_add(s->steps, &step);
    free(step.content);
    return st;
}

static dit_status make_precompiled(const dit_step_source *s)
{
    const char *text;
    dit_step step = {.run = dit_step_replace_charsmap};
    DIT_TRY(dit_json_require_string(s->doc, s->object, s->pointer, "precompiled_charsmap", &text));
    DIT_TRY(dit_charsmap_read_base64(text, &step.charsmap));
    return dit_steps_add(s->steps, &step);
}

static dit_status make_bert(const dit_step_source *s)
{
    bool clean = true, ideographs = true, lower = true, accents;
    DIT_TRY(dit_json_optional_bool(s->doc, s->object, s->pointer, "clean_text", &clean));
    DIT_TRY(dit_json_optional_bool(s->doc, s->object, s->pointer, "handle_chinese_chars", &ideographs));
    DIT_TRY(dit_json_optional_bool(s->doc, s->object, s->pointer, "lowercase", &lower));
    accents = lower; /* when nothing is said */
    DIT_TRY(dit_json_optional_bool(s->doc, s->object, s->pointer, "strip_accents", &accents));
    DIT_TRY(dit_steps_add_run(s->steps, dit_step_bert_clean, clean, ideographs, false));
    if (accents) DIT_TRY(dit_steps_add_run(s->steps, dit_step_drop_nonspacing, false, false, false));
    return lower ? dit_steps_add_run(s->steps, dit_step_lower_each, false, false, false) : DIT_OK;
}

static dit_status make_sequence(const dit_step_source *s)
{
    return dit_step_source_each(s, "normalizers", dit_steps_read_normalizer);
}

/* All types of normalisers. */
static const dit_step_kind kinds[] = {
    {"BertNormalizer", NULL, make_bert},
    {"Lowercase", dit_step_lower_each, NULL},
    {"NFC", dit_step_nfc, NULL},
    {"NFD", run_nfd, NULL},
    {"NFKC", run_nfkc, NULL},
    {"NFKD", run_nfkd, NULL},
    {"Precompiled", NULL, make_precompiled},
    {"Prepend", NULL, make_prepend},
    {"Replace", NULL, make_replace},
    {"Sequence", NULL, make_sequence},
    {"Strip", NULL, make_strip},
    {"StripAccents", run_strip_accents, NULL},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

dit_status dit_steps_read_normalizer(const dit_json *doc, const cJSON *object, const char *pointer, dit_steps *steps)
{
    const dit_step_source source = {doc, object, pointer, steps};
    return dit_step_kinds_read(kinds, KIND_COUNT, "normalizer", &source);
}
