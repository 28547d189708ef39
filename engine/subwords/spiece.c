#include "engine/subwords/spiece.h"

#include "base/file.h"
#include "base/list.h"
#include "engine/unicode/charsmap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 64 << 20, PIECE_BYTES_MAX = 1024, USER_DEFINED_ON_A_WAY = 64 };

/* ---- protocol buffers -------------------------------------------------------------------------------------------- */

/* One field: a number, or bytes. */
typedef struct {
    uint64_t number; /* which field */
    int wire;        /* 0 varint, 1 eight bytes, 2 bytes, 5 four bytes */
    uint64_t value;  /* of 0, 1 and 5 */
    dit_span bytes;  /* of 2 */
} field;

static bool take_varint(dit_span *rest, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64 && rest->length; shift += 7) {
        uint64_t byte = (unsigned char)*rest->at;
        rest->at++, rest->length--;
        *out |= (byte & 0x7F) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

static bool take_bytes(dit_span *rest, uint64_t count, dit_span *out)
{
    if (count > rest->length) return false;
    *out = (dit_span){rest->at, (size_t)count};
    rest->at += count, rest->length -= (size_t)count;
    return true;
}

static bool take_field(dit_span *rest, field *out)
{
    uint64_t tag, count;
    *out = (field){0};
    if (!take_varint(rest, &tag)) return false;
    out->number = tag >> 3, out->wire = (int)(tag & 7);
    switch (out->wire) {
    case 0: return take_varint(rest, &out->value);
    case 2: return take_varint(rest, &count) && take_bytes(rest, count, &out->bytes);
    case 1:
    case 5:
        count = out->wire == 1 ? 8 : 4;
        if (!take_bytes(rest, count, &out->bytes)) return false;
        memcpy(&out->value, out->bytes.at, (size_t)count);
        return true;
    default: return false;
    }
}

static dit_status cut_short(const char *what)
{
    return DIT_FAIL(DIT_ERR_INTEGRITY, "%s of a SentencePiece model is damaged", what);
}

/* ---- the message ------------------------------------------------------------------------------------------------- */

static dit_status check_piece(const dit_spiece_piece *piece, int index)
{
    if (!piece->text.length || piece->text.length > PIECE_BYTES_MAX || !isfinite(piece->score) ||
        memchr(piece->text.at, '\0', piece->text.length) || !dit_utf8_is_valid(piece->text))
        return DIT_FAIL(
            DIT_ERR_INTEGRITY,
            "piece %d of a SentencePiece model is not 1 to %d bytes of UTF-8 without zeros, or has no score", index,
            PIECE_BYTES_MAX);
    return DIT_OK;
}

static dit_status read_piece(dit_spiece *s, dit_span rest)
{
    enum { TEXT = 1, SCORE, TYPE };
    dit_spiece_piece piece = {.type = DIT_PIECE_NORMAL};
    field f;
    while (rest.length) {
        if (!take_field(&rest, &f)) return cut_short("a piece");
        if (f.number == TEXT && f.wire == 2) piece.text = f.bytes;
        if (f.number == SCORE && f.wire == 5) memcpy(&piece.score, f.bytes.at, sizeof piece.score);
        if (f.number == TYPE && f.wire == 0) piece.type = (int64_t)f.value;
    }
    DIT_TRY(check_piece(&piece, s->count));
    if (s->count >= DIT_IDS_MAX)
        return DIT_FAIL(DIT_ERR_INTEGRITY, "a SentencePiece model has more than %d pieces", DIT_IDS_MAX);
    if (piece.type == DIT_PIECE_UNKNOWN && s->unk < 0) s->unk = s->count;
    DIT_TRY(dit_list_grow((void **)&s->pieces, s->count, sizeof *s->pieces));
    s->pieces[s->count++] = piece;
    return DIT_OK;
}

static dit_status read_trainer(dit_span rest)
{
    enum { MODEL_TYPE = 3, UNIGRAM = 1 };
    field f;
    while (rest.length) {
        if (!take_field(&rest, &f)) return cut_short("trainer_spec");
        if (f.number == MODEL_TYPE && f.wire == 0 && f.value != UNIGRAM)
            return DIT_FAIL(DIT_ERR_UNSUPPORTED, "the model type of a SentencePiece model is %llu and not 1, unigram",
                            (unsigned long long)f.value);
    }
    return DIT_OK;
}

static dit_status read_normalizer(dit_span rest, dit_span *charsmap)
{
    enum { PRECOMPILED_CHARSMAP = 2 };
    dit_charsmap checked;
    field f;
    while (rest.length) {
        if (!take_field(&rest, &f)) return cut_short("a normalizer_spec");
        if (f.number != PRECOMPILED_CHARSMAP || f.wire != 2) continue;
        DIT_TRY(dit_charsmap_read(f.bytes.at, f.bytes.length, &checked));
        dit_charsmap_release(&checked);
        *charsmap = f.bytes;
    }
    return DIT_OK;
}

static dit_status read_message(dit_spiece *s)
{
    enum { PIECES = 1, TRAINER_SPEC, NORMALIZER_SPEC, DENORMALIZER_SPEC = 5 };
    dit_span rest = {s->bytes, s->length}, unused;
    field f;
    while (rest.length) {
        if (!take_field(&rest, &f)) return cut_short("the message");
        if (f.wire != 2) continue;
        if (f.number == PIECES) DIT_TRY(read_piece(s, f.bytes));
        if (f.number == TRAINER_SPEC) DIT_TRY(read_trainer(f.bytes));
        if (f.number == NORMALIZER_SPEC) DIT_TRY(read_normalizer(f.bytes, &s->charsmap));
        if (f.number == DENORMALIZER_SPEC) DIT_TRY(read_normalizer(f.bytes, &unused));
    }
    if (s->unk < 0) return DIT_FAIL(DIT_ERR_INTEGRITY, "a SentencePiece model has no piece for what is unknown");
    return DIT_OK;
}

/* ---- pieces that are matched as they are ------------------------------------------------------------------------- */

static int compare_spans(const void *left, const void *right)
{
    const dit_span *a = left, *b = right;
    int order = memcmp(a->at, b->at, a->length < b->length ? a->length : b->length);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static bool begins_with(dit_span text, dit_span front)
{
    return text.length >= front.length && memcmp(text.at, front.at, front.length) == 0;
}

/* Sorted, the fronts of a piece stand before it: they are kept on a stack. */
static dit_status check_fronts(const dit_span *sorted, int count)
{
    const dit_span *stack[USER_DEFINED_ON_A_WAY];
    int depth = 0;
    for (int i = 0; i < count; i++) {
        while (depth && !begins_with(sorted[i], *stack[depth - 1])) depth--;
        if (depth == USER_DEFINED_ON_A_WAY)
            return DIT_FAIL(DIT_ERR_INTEGRITY, "more than %d user-defined pieces begin alike", USER_DEFINED_ON_A_WAY);
        stack[depth++] = &sorted[i];
    }
    return DIT_OK;
}

static dit_status check_user_defined(const dit_spiece *s)
{
    int count = 0;
    dit_span *sorted = malloc(((size_t)s->count + 1) * sizeof *sorted);
    if (!sorted) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d pieces", s->count);
    for (int i = 0; i < s->count; i++)
        if (s->pieces[i].type == DIT_PIECE_USER_DEFINED) sorted[count++] = s->pieces[i].text;
    if (count) qsort(sorted, (size_t)count, sizeof *sorted, compare_spans);
    dit_status st = check_fronts(sorted, count);
    free(sorted);
    return st;
}

static dit_status check(dit_spiece *s)
{
    s->unk = -1;
    DIT_TRY(read_message(s));
    return check_user_defined(s);
}

dit_status dit_spiece_parse(const char *bytes, size_t length, dit_spiece *out)
{
    *out = (dit_spiece){.bytes = malloc(length + 1), .length = length};
    if (!out->bytes) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a SentencePiece model");
    memcpy(out->bytes, bytes, length);
    dit_status st = check(out);
    if (st != DIT_OK) dit_spiece_release(out);
    return st;
}

dit_status dit_spiece_read(const char *path, dit_spiece *out)
{
    *out = (dit_spiece){0};
    DIT_TRY(dit_file_read(path, FILE_BYTES_MAX, &out->bytes, &out->length));
    dit_status st = check(out);
    if (st != DIT_OK) dit_spiece_release(out);
    return st == DIT_OK ? st : dit_error_note(st, "in %s", path);
}

void dit_spiece_release(dit_spiece *s)
{
    free(s->bytes);
    free(s->pieces);
    *s = (dit_spiece){0};
}

/* ---- the library's model ----------------------------------------------------------------------------------------- */

static void take_id(void *context, int32_t id)
{
    dit_ids_add(context, id);
}

static bool begins_blank(dit_span piece)
{
    static const char meta[] = "\xE2\x96\x81";
    return piece.length && (piece.at[0] == ' ' || begins_with(piece, (dit_span){meta, sizeof meta - 1}));
}

static dit_status encode(const dit_token_model *m, dit_span piece, dit_ids *out)
{
    dit_buffer text = {0};
    dit_ids ids = {0};
    bool kept = m->unk_piece && begins_blank(piece);
    if (kept) dit_buffer_text(&text, m->unk_piece);
    dit_buffer_append(&text, piece.at, piece.length);
    dit_status st = text.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for a piece of text")
                                : dit_sentence_piece_encode(m->library, text.data, text.used, take_id, &ids);
    int from = kept && ids.count >= m->unk_piece_count ? m->unk_piece_count : 0;
    for (int i = from; i < ids.count && st == DIT_OK; i++) dit_ids_add(out, ids.at[i]);
    if (st == DIT_OK && (ids.failed || out->failed)) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for the ids of a text");
    dit_buffer_release(&text);
    dit_ids_release(&ids);
    return st;
}

/* Keeps how many pieces unk_token becomes. */
static dit_status prepare_unk_piece(const char *unk_token, dit_token_model *out)
{
    dit_ids ids = {0};
    out->unk_piece = strdup(unk_token);
    if (!out->unk_piece) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a SentencePiece model");
    dit_status st = dit_sentence_piece_encode(out->library, unk_token, strlen(unk_token), take_id, &ids);
    out->unk_piece_count = ids.count;
    dit_ids_release(&ids);
    return st;
}

dit_status dit_spiece_open(const dit_spiece *s, bool in_front, const char *unk_token, dit_token_model *out)
{
    /* A message goes on with what is appended: normalizer_spec (3) {add_dummy_prefix (3): false}. */
    static const char no_blank[] = {0x1A, 2, 0x18, 0};
    dit_buffer bytes = {0};
    out->encode = encode;
    out->unk = s->unk;
    for (int i = 0; i < s->count; i++) DIT_TRY(dit_vocabulary_add(&out->vocabulary, s->pieces[i].text, i));
    dit_buffer_append(&bytes, s->bytes, s->length);
    if (!in_front) dit_buffer_append(&bytes, no_blank, sizeof no_blank);
    dit_status st = bytes.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for a SentencePiece model")
                                 : dit_sentence_piece_open(bytes.data, bytes.used, &out->library);
    dit_buffer_release(&bytes);
    if (st == DIT_OK && !in_front) st = prepare_unk_piece(unk_token, out);
    return st;
}
