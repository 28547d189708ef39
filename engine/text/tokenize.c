/* From a text to ids: added tokens are cut out, the rest is normalised, split and given to the model; then special tokens
 * are put around, and the row is cut or padded. */
#include "engine/text/tokenizer_impl.h"

#include <stdlib.h>
#include <string.h>

static const char meta[] = "\xE2\x96\x81"; /* U+2581 */

/* ---- the ids of a text ------------------------------------------------------------------------------------------- */

static dit_status encode_pieces(const dit_tokenizer *t, const dit_pieces *pieces, dit_ids *out)
{
    for (int i = 0; i < pieces->count; i++) DIT_TRY(t->model.encode(&t->model, dit_pieces_get(pieces, i), out));
    return out->failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for the ids of a text") : DIT_OK;
}

/* Encodes text that is normalised and has no added tokens. */
static dit_status encode_plain(const dit_tokenizer *t, dit_span text, bool first, dit_ids *out)
{
    dit_pieces pieces = {0};
    dit_status st = dit_steps_run(&t->splitter, text, first, &pieces);
    if (st == DIT_OK) st = encode_pieces(t, &pieces, out);
    dit_pieces_release(&pieces);
    return st;
}

/* Encodes a text that is normalised already, with the tokens that are looked for only now. */
static dit_status encode_normalized(const dit_tokenizer *t, dit_span text, bool first, dit_ids *out)
{
    dit_stretches cut = {0};
    if (t->slow) return encode_plain(t, text, first, out);
    dit_status st = dit_added_tokens_cut(&t->added, DIT_ADDED_NORMALIZED, false, text, &cut);
    for (int i = 0; i < cut.count && st == DIT_OK; i++) {
        if (cut.at[i].token)
            dit_ids_add(out, cut.at[i].token->id);
        else
            st = encode_plain(t, cut.at[i].text, first && i == 0, out);
    }
    dit_stretches_release(&cut);
    return st;
}

static dit_status encode_stretch(const dit_tokenizer *t, dit_span text, bool first, dit_ids *out)
{
    dit_pieces pieces = {0};
    if (!text.length) return DIT_OK;
    dit_status st = dit_steps_run(&t->normalizer, text, first, &pieces);
    for (int i = 0; i < pieces.count && st == DIT_OK; i++)
        st = encode_normalized(t, dit_pieces_get(&pieces, i), pieces.at[i].first, out);
    dit_pieces_release(&pieces);
    return st;
}

/* True if U+2581 in front of a text stands alone before a special token: T5 that is not "legacy" leaves it out. */
static bool is_lone_meta(const dit_tokenizer *t, const dit_stretches *cut, const dit_ids *ids)
{
    return t->meta_in_front && ids->count == 1 && cut->count > 1 && cut->at[1].token && cut->at[1].token->special &&
           ids->at[0] == dit_vocabulary_find_text(&t->model.vocabulary, meta);
}

static dit_status encode_text(const dit_tokenizer *t, dit_span text, dit_ids *out)
{
    dit_stretches cut = {0};
    dit_status st = dit_added_tokens_cut(&t->added, t->slow ? DIT_ADDED_ALL : DIT_ADDED_RAW, t->slow, text, &cut);
    for (int i = 0; i < cut.count && st == DIT_OK; i++) {
        if (cut.at[i].token)
            dit_ids_add(out, cut.at[i].token->id);
        else
            st = encode_stretch(t, cut.at[i].text, i == 0, out);
        if (i == 0 && is_lone_meta(t, &cut, out)) out->count = 0;
    }
    dit_stretches_release(&cut);
    if (st == DIT_OK && out->failed) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for the ids of a text");
    return st;
}

/* T5 that is not "legacy": U+2581 stands for the blank in front of a text, and its own become blanks. */
static dit_status encode_behind_meta(const dit_tokenizer *t, dit_span text, dit_ids *out)
{
    dit_buffer made = {0};
    dit_buffer_text(&made, meta);
    for (; text.length; text.at++, text.length--) {
        bool blank = text.length >= 3 && memcmp(text.at, meta, 3) == 0;
        dit_buffer_char(&made, blank ? ' ' : *text.at);
        if (blank) text.at += 2, text.length -= 2;
    }
    dit_status st = made.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for a text")
                                : encode_text(t, (dit_span){made.data, made.used}, out);
    dit_buffer_release(&made);
    return st;
}

static dit_status encode(const dit_tokenizer *t, const char *text, dit_ids *out)
{
    dit_span all = {text, strnlen(text, DIT_TOKEN_TEXT_MAX + 1)};
    if (all.length > DIT_TOKEN_TEXT_MAX)
        return DIT_FAIL(DIT_ERR_SHAPE, "a text is longer than %d bytes", DIT_TOKEN_TEXT_MAX);
    if (!dit_utf8_is_valid(all)) return DIT_FAIL(DIT_ERR_JSON_ENCODING, "a text of %zu bytes is not UTF-8", all.length);
    return t->meta_in_front && all.length ? encode_behind_meta(t, all, out) : encode_text(t, all, out);
}

/* ---- the row ----------------------------------------------------------------------------------------------------- */

/* Cuts the text's ids so that with special tokens there are at most `most`, and puts those around. */
static dit_status frame(const dit_tokenizer *t, int64_t most, const dit_ids *text, dit_ids *out)
{
    int64_t room = most - t->front.count - t->back.count;
    if (room < 0)
        return DIT_FAIL(DIT_ERR_SHAPE, "a row of %lld ids has no room for %d special tokens", (long long)most,
                        t->front.count + t->back.count);
    int count = text->count > room ? (int)room : text->count, from = t->cuts_left ? text->count - count : 0;
    for (int i = 0; i < t->front.count; i++) dit_ids_add(out, t->front.at[i]);
    for (int i = 0; i < count; i++) dit_ids_add(out, text->at[from + i]);
    bool ended = t->end_once && t->back.count && count && text->at[from + count - 1] == t->back.at[0];
    for (int i = 0; i < t->back.count && !ended; i++) dit_ids_add(out, t->back.at[i]);
    return out->failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for the ids of a text") : DIT_OK;
}

/* The ids of a text as a row, not padded. */
static dit_status make_row(const dit_tokenizer *t, const char *text, int64_t most, bool bare, dit_ids *out)
{
    dit_ids ids = {0};
    const dit_tokenizer without = {.cuts_left = t->cuts_left};
    dit_status st = encode(t, text, &ids);
    if (st == DIT_OK) st = frame(bare ? &without : t, most, &ids, out);
    dit_ids_release(&ids);
    return st;
}

dit_status dit_tokenize(const dit_tokenizer *t, const char *text, const dit_token_rule *rule, int32_t *ids,
                        int32_t *mask, int64_t *count)
{
    dit_ids row = {0};
    if (rule->length < 1 || rule->length > DIT_TOKEN_LENGTH_MAX)
        return DIT_FAIL(DIT_ERR_SHAPE, "a row of %lld ids is not in 1..%d", (long long)rule->length,
                        DIT_TOKEN_LENGTH_MAX);
    dit_status st = make_row(t, text, rule->length, rule->no_special_tokens, &row);
    int64_t padding = rule->length - row.count, start = t->pads_left && !rule->pads_behind ? padding : 0;
    if (st == DIT_OK && padding > 0 && t->facts.pad < 0)
        st = DIT_FAIL(DIT_ERR_SHAPE, "the tokenizer has no token to pad %d ids to %lld with", row.count,
                      (long long)rule->length);
    for (int64_t i = 0; i < rule->length && st == DIT_OK; i++) {
        bool is_text = i >= start && i < start + row.count;
        ids[i] = is_text ? row.at[i - start] : t->facts.pad;
        if (mask) mask[i] = is_text;
    }
    if (count) *count = row.count;
    dit_ids_release(&row);
    return st;
}

dit_status dit_tokenize_all(const dit_tokenizer *t, const char *text, int32_t **ids, int64_t *count)
{
    dit_ids row = {0};
    dit_status st = make_row(t, text, INT32_MAX, false, &row);
    *ids = NULL, *count = 0;
    if (st == DIT_OK && !row.at) row.at = malloc(sizeof *row.at); /* of no ids, for the caller to free */
    if (st != DIT_OK || !row.at) {
        dit_ids_release(&row);
        return st != DIT_OK ? st : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the ids of a text");
    }
    *ids = row.at, *count = row.count;
    return DIT_OK;
}
