/* Normalisers: steps that change a text, and the table that makes them from tokenizer.json. */
#include "engine/unicode/steps.h"

#include "base/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* Adds what a step made, and frees it. */
static dit_status give(dit_buffer *made, bool first, dit_pieces *out, dit_status st)
{
    if (st == DIT_OK && made->failed) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a changed text");
    if (st == DIT_OK && made->used) dit_pieces_add(out, (dit_span){made->data, made->used}, first);
    dit_buffer_release(made);
    return st;
}

static dit_status give_form(dit_span text, dit_unicode_form form, bool first, dit_pieces *out)
{
    dit_buffer made = {0};
    dit_status st = dit_append_form(&made, text, form);
    return give(&made, first, out, st);
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
    return give(&made, first, out, DIT_OK);
}

dit_status dit_step_lower_each(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    dit_buffer made = {0};
    (void)step;
    dit_append_lower(&made, text, false);
    return give(&made, first, out, DIT_OK);
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
    return give(&made, first, out, DIT_OK);
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
    return give(&made, first, out, st);
}

static dit_status run_strip_accents(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    dit_buffer made = {0};
    (void)step;
    append_without(&made, text, dit_is_mark);
    return give(&made, first, out, DIT_OK);
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
    return give(&made, first, out, DIT_OK);
}

dit_status dit_step_replace_charsmap(const dit_step *step, dit_span text, bool first, dit_pieces *out)
{
    dit_buffer made = {0};
    dit_charsmap_apply(&step->charsmap, text, &made);
    return give(&made, first, out, DIT_OK);
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
    return give(&made, first, out, st);
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
    return give(&made, first, out, DIT_OK);
}

/* ---- from tokenizer.json ----------------------------------------------------------------------------------------- */

typedef struct {
    const dit_json *doc;
    const cJSON *object;
    const char *pointer;
    dit_steps *steps;
} source;

static dit_status copy_content(const source *s, dit_step *step)
{
    const char *content;
    DIT_TRY(dit_json_require_string(s->doc, s->object, s->pointer, "content", &content));
    step->content = strdup(content);
    return step->content ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a normaliser");
}

static dit_status add_simple(const source *s, dit_step_run *run)
{
    return dit_steps_add_run(s->steps, run, false, false, false);
}

static dit_status make_nfc(const source *s)
{
    return add_simple(s, dit_step_nfc);
}
static dit_status make_nfd(const source *s)
{
    return add_simple(s, run_nfd);
}
static dit_status make_nfkc(const source *s)
{
    return add_simple(s, run_nfkc);
}
static dit_status make_nfkd(const source *s)
{
    return add_simple(s, run_nfkd);
}
static dit_status make_lowercase(const source *s)
{
    return add_simple(s, dit_step_lower_each);
}
static dit_status make_strip_accents(const source *s)
{
    return add_simple(s, run_strip_accents);
}

static dit_status make_strip(const source *s)
{
    bool left = true, right = true;
    DIT_TRY(dit_json_optional_bool(s->doc, s->object, s->pointer, "strip_left", &left));
    DIT_TRY(dit_json_optional_bool(s->doc, s->object, s->pointer, "strip_right", &right));
    return dit_steps_add_run(s->steps, dit_step_strip, left, right, false);
}

static dit_status make_prepend(const source *s)
{
    const char *content;
    dit_step step = {.run = run_prepend};
    DIT_TRY(dit_json_require_string(s->doc, s->object, s->pointer, "prepend", &content));
    step.content = strdup(content);
    if (!step.content) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a normaliser");
    return dit_steps_add(s->steps, &step);
}

static dit_status make_replace(const source *s)
{
    dit_step step = {.run = dit_step_replace};
    DIT_TRY(copy_content(s, &step));
    dit_status st = dit_pattern_read(s->doc, s->object, s->pointer, &step.pattern);
    if (st == DIT_OK) return dit_steps_add(s->steps, &step);
    free(step.content);
    return st;
}

static dit_status make_precompiled(const source *s)
{
    const char *text;
    dit_step step = {.run = dit_step_replace_charsmap};
    DIT_TRY(dit_json_require_string(s->doc, s->object, s->pointer, "precompiled_charsmap", &text));
    DIT_TRY(dit_charsmap_read_base64(text, &step.charsmap));
    return dit_steps_add(s->steps, &step);
}

static dit_status make_bert(const source *s)
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

static dit_status make_sequence(const source *s)
{
    const cJSON *list = dit_json_member(s->object, "normalizers"), *item;
    char pointer[256];
    int index = 0;
    if (!cJSON_IsArray(list))
        return dit_json_fail(s->doc, s->pointer, DIT_ERR_JSON_MISSING, "a Sequence needs \"normalizers\"");
    cJSON_ArrayForEach(item, list)
    {
        snprintf(pointer, sizeof pointer, "%.200s/normalizers/%d", s->pointer, index++);
        DIT_TRY(dit_steps_read_normalizer(s->doc, item, pointer, s->steps));
    }
    return DIT_OK;
}

/* All types of normalisers. */
static const struct {
    const char *type;
    dit_status (*make)(const source *s);
} kinds[] = {
    {"BertNormalizer", make_bert},
    {"Lowercase", make_lowercase},
    {"NFC", make_nfc},
    {"NFD", make_nfd},
    {"NFKC", make_nfkc},
    {"NFKD", make_nfkd},
    {"Precompiled", make_precompiled},
    {"Prepend", make_prepend},
    {"Replace", make_replace},
    {"Sequence", make_sequence},
    {"Strip", make_strip},
    {"StripAccents", make_strip_accents},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

dit_status dit_steps_read_normalizer(const dit_json *doc, const cJSON *object, const char *pointer, dit_steps *steps)
{
    const char *type, *names[KIND_COUNT + 1] = {0};
    const source s = {doc, object, pointer, steps};
    if (!object) return DIT_OK;
    DIT_TRY(dit_json_require_string(doc, object, pointer, "type", &type));
    for (int i = 0; i < KIND_COUNT; i++) {
        names[i] = kinds[i].type;
        if (strcmp(type, kinds[i].type) == 0) return kinds[i].make(&s);
    }
    return dit_words_hint_all(
        dit_json_fail(doc, pointer, DIT_ERR_UNSUPPORTED, "the normalizer %.80s is not implemented", type), "there are",
        names);
}
