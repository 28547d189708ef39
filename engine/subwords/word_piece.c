/* WordPiece: the longest token that a word begins with, then the longest of the rest; a word that cannot be spelled is
 * unknown as a whole. */
#include "engine/subwords/model.h"

#include <string.h>

static int64_t count_code_points(dit_span text)
{
    int64_t count = 0;
    for (; text.length; count++) dit_utf8_take(&text);
    return count;
}

/* The id of the longest token at the front of `text`, and its bytes; -1 when there is none. */
static int32_t find_longest(const dit_token_model *m, dit_span text, bool is_first, dit_buffer *scratch, size_t *length)
{
    size_t bytes;
    dit_buffer_reset(scratch);
    if (!is_first && m->prefix) dit_buffer_text(scratch, m->prefix);
    size_t front = scratch->used;
    dit_buffer_append(scratch, text.at, text.length);
    if (scratch->failed) return -1;
    for (*length = text.length; *length; *length -= bytes) {
        int32_t id = dit_vocabulary_find(&m->vocabulary, (dit_span){scratch->data, front + *length});
        if (id >= 0) return id;
        dit_utf8_last((dit_span){text.at, *length}, &bytes);
    }
    return -1;
}

dit_status dit_word_piece_encode(const dit_token_model *m, dit_span piece, dit_ids *out)
{
    dit_buffer scratch = {0};
    dit_span rest = piece;
    int before = out->count;
    size_t length = 0;
    bool known = count_code_points(piece) <= m->max_input_chars;
    while (rest.length && known) {
        int32_t id = find_longest(m, rest, rest.at == piece.at, &scratch, &length);
        known = id >= 0;
        if (!known) break;
        dit_ids_add(out, id);
        rest.at += length, rest.length -= length;
    }
    bool failed = scratch.failed || out->failed;
    dit_buffer_release(&scratch);
    if (failed) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a word");
    if (!known) {
        out->count = before;
        if (m->unk >= 0) dit_ids_add(out, m->unk);
    }
    return DIT_OK;
}
