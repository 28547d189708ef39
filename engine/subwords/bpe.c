/* Byte-pair encoding: the pair with the lowest rank is joined, until no pair is left that the model joins. */
#include "engine/subwords/model.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- merges ------------------------------------------------------------------------------------------------------ */

static uint64_t pair_of(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

static dit_merge *find_place(const dit_token_model *m, uint64_t pair)
{
    size_t at = XXH3_64bits(&pair, sizeof pair) & (m->merge_capacity - 1);
    while (m->merges[at].rank >= 0 && m->merges[at].pair != pair) at = (at + 1) & (m->merge_capacity - 1);
    return &m->merges[at];
}

/* NULL for a pair that is not joined. */
static const dit_merge *find_merge(const dit_token_model *m, int32_t left, int32_t right)
{
    if (!m->merge_capacity) return NULL;
    const dit_merge *found = find_place(m, pair_of(left, right));
    return found->rank >= 0 ? found : NULL;
}

static dit_status enlarge(dit_token_model *m)
{
    dit_merge *old = m->merges;
    size_t old_capacity = m->merge_capacity, capacity = old_capacity ? 2 * old_capacity : 256;
    dit_merge *larger = malloc(capacity * sizeof *larger);
    if (!larger) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %zu merges", capacity);
    for (size_t i = 0; i < capacity; i++) larger[i].rank = -1;
    m->merges = larger, m->merge_capacity = capacity;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].rank >= 0) *find_place(m, old[i].pair) = old[i];
    free(old);
    return DIT_OK;
}

static dit_status find_token(const dit_token_model *m, dit_span token, int32_t *out)
{
    *out = dit_vocabulary_find(&m->vocabulary, token);
    return *out >= 0 ? DIT_OK
                     : DIT_FAIL(DIT_ERR_INTEGRITY, "a merge needs the token \"%.*s\", which the vocabulary lacks",
                                (int)(token.length < 80 ? token.length : 80), token.at);
}

dit_status dit_bpe_add_merge(dit_token_model *m, dit_span left, dit_span right, int32_t rank)
{
    int32_t left_id, right_id, id = -1;
    size_t cut = m->prefix ? strlen(m->prefix) : 0;
    dit_buffer joined = {0};
    DIT_TRY(find_token(m, left, &left_id));
    DIT_TRY(find_token(m, right, &right_id));
    if (cut > right.length) cut = right.length;
    dit_buffer_append(&joined, left.at, left.length);
    dit_buffer_append(&joined, right.at + cut, right.length - cut);
    dit_status st = joined.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for merges")
                                  : find_token(m, (dit_span){joined.data, joined.used}, &id);
    dit_buffer_release(&joined);
    DIT_TRY(st);
    if (4 * m->merge_count >= 3 * m->merge_capacity) DIT_TRY(enlarge(m));
    dit_merge *place = find_place(m, pair_of(left_id, right_id));
    if (place->rank < 0) m->merge_count++;
    *place = (dit_merge){.pair = pair_of(left_id, right_id), .rank = rank, .id = id};
    return DIT_OK;
}

/* ---- joining ----------------------------------------------------------------------------------------------------- */

/* A token of a word, in a list; id -1: it was joined to the one before it. */
typedef struct {
    int32_t id;
    int before, after; /* -1: none */
} symbol;

/* A pair that could be joined; it may be gone when its turn comes. */
typedef struct {
    int32_t rank, id;
    int at; /* its left symbol */
} candidate;

typedef struct {
    const dit_token_model *model;
    symbol *symbols;
    candidate *heap; /* the lowest rank, and of equals the leftmost, on top */
    int count;
} joining;

static bool goes_before(const candidate *a, const candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void swap(candidate *a, candidate *b)
{
    candidate kept = *a;
    *a = *b;
    *b = kept;
}

/* Each join adds at most two candidates and takes one symbol away: the heap never has more than 3 per symbol. */
static void push(joining *j, int at)
{
    if (at < 0 || j->symbols[at].after < 0) return;
    const dit_merge *merge = find_merge(j->model, j->symbols[at].id, j->symbols[j->symbols[at].after].id);
    if (!merge) return;
    int i = j->count++;
    j->heap[i] = (candidate){merge->rank, merge->id, at};
    for (; i > 0 && goes_before(&j->heap[i], &j->heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&j->heap[i], &j->heap[(i - 1) / 2]);
}

static candidate pop(joining *j)
{
    candidate top = j->heap[0];
    j->heap[0] = j->heap[--j->count];
    for (int i = 0;;) {
        int least = i;
        for (int child = 2 * i + 1; child <= 2 * i + 2; child++)
            if (child < j->count && goes_before(&j->heap[child], &j->heap[least])) least = child;
        if (least == i) return top;
        swap(&j->heap[i], &j->heap[least]);
        i = least;
    }
}

static void join_next(joining *j)
{
    candidate top = pop(j);
    symbol *left = &j->symbols[top.at];
    if (left->id < 0 || left->after < 0) return;
    symbol *right = &j->symbols[left->after];
    const dit_merge *merge = find_merge(j->model, left->id, right->id);
    if (!merge || merge->id != top.id) return; /* the pair is another one by now */
    left->id = top.id;
    right->id = -1;
    left->after = right->after;
    if (left->after >= 0) j->symbols[left->after].before = top.at;
    push(j, left->before);
    push(j, top.at);
}

static dit_status join(const dit_token_model *model, const dit_ids *word, dit_ids *out)
{
    size_t count = (size_t)word->count;
    joining j = {.model = model};
    j.symbols = malloc((count + 1) * sizeof *j.symbols);
    j.heap = malloc((3 * count + 1) * sizeof *j.heap);
    dit_status st = j.symbols && j.heap ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a word of %zu", count);
    if (st == DIT_OK) {
        for (int i = 0; i < word->count; i++)
            j.symbols[i] = (symbol){word->at[i], i - 1, i + 1 < word->count ? i + 1 : -1};
        for (int i = 0; i < word->count; i++) push(&j, i);
        while (j.count) join_next(&j);
        for (int i = 0; i < word->count; i++)
            if (j.symbols[i].id >= 0) dit_ids_add(out, j.symbols[i].id);
    }
    free(j.symbols);
    free(j.heap);
    return st;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Adds the token of one code point, with what its place in the word adds to it. */
static void add_first_token(const dit_token_model *m, dit_span one, bool is_first, bool is_last, dit_buffer *scratch,
                            bool *in_run, dit_ids *word)
{
    dit_buffer_reset(scratch);
    if (!is_first && m->prefix) dit_buffer_text(scratch, m->prefix);
    dit_buffer_append(scratch, one.at, one.length);
    if (is_last && m->suffix) dit_buffer_text(scratch, m->suffix);
    if (scratch->failed) word->failed = true;
    int32_t id = scratch->failed ? -1 : dit_vocabulary_find(&m->vocabulary, (dit_span){scratch->data, scratch->used});
    if (id < 0) {
        dit_token_model_add_unknown(m, one, in_run, word);
        return;
    }
    *in_run = false;
    dit_ids_add(word, id);
}

static int32_t find_whole(const dit_token_model *m, dit_span piece)
{
    bool verbatim = m->ignore_merges;
    for (int i = 0; i < 2 && m->verbatim[i]; i++)
        if (strlen(m->verbatim[i]) == piece.length && memcmp(m->verbatim[i], piece.at, piece.length) == 0)
            verbatim = true;
    return verbatim ? dit_vocabulary_find(&m->vocabulary, piece) : -1;
}

dit_status dit_bpe_encode(const dit_token_model *m, dit_span piece, dit_ids *out)
{
    dit_ids word = {0};
    dit_buffer scratch = {0};
    dit_span rest = piece;
    bool in_run = false;
    int32_t whole = find_whole(m, piece);
    if (whole >= 0) {
        dit_ids_add(out, whole);
        return DIT_OK;
    }
    while (rest.length) {
        dit_span one = {rest.at, 0};
        dit_utf8_take(&rest);
        one.length = (size_t)(rest.at - one.at);
        add_first_token(m, one, one.at == piece.at, !rest.length, &scratch, &in_run, &word);
    }
    dit_status st = word.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for a word") : join(m, &word, out);
    dit_buffer_release(&scratch);
    dit_ids_release(&word);
    return st;
}
