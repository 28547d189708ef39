/* Unigram: the split of a piece with the highest sum of scores (Viterbi), as the tokenizers library computes it.
 *
 * The sentencepiece library computes sums in float over a whole sentence, and the tokenizers library in double, piece by
 * piece. Texts such as "aaaaaaa" have many splits of equal score, where rounding decides: therefore tokenizer.json has an
 * implementation of its own, and spiece.model the library.
 */
#include "engine/subwords/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_BYTES_MAX = 1024 };
static const double unknown_penalty = 10;

dit_status dit_unigram_add(dit_token_model *m, dit_span token, int64_t id, double score)
{
    int32_t end = m->vocabulary.end;
    if (!isfinite(score) || token.length > TOKEN_BYTES_MAX)
        return DIT_FAIL(DIT_ERR_INTEGRITY, "token %lld has no finite score, or %zu bytes; at most %d are read",
                        (long long)id, token.length, TOKEN_BYTES_MAX);
    DIT_TRY(dit_vocabulary_add(&m->vocabulary, token, id));
    if (m->vocabulary.end > end) {
        double *scores = realloc(m->scores, (size_t)m->vocabulary.end * sizeof *scores);
        if (!scores) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d scores", m->vocabulary.end);
        for (int32_t i = end; i < m->vocabulary.end; i++) scores[i] = 0;
        m->scores = scores;
    }
    m->scores[id] = score;
    if (score < m->lowest) m->lowest = score;
    return DIT_OK;
}

/* The best way to a place in a piece. */
typedef struct {
    double score;
    ptrdiff_t start; /* of its last token; -1: no way is known */
    int32_t id;      /* of its last token */
} arrival;

static void arrive(arrival *at, double score, size_t start, int32_t id)
{
    if (at->start < 0 || score > at->score) *at = (arrival){score, (ptrdiff_t)start, id};
}

/* Goes on from a place by every token that begins there. */
static void go_on(const dit_token_model *m, dit_span piece, size_t start, arrival *arrivals)
{
    dit_span rest = {piece.at + start, piece.length - start};
    double score = arrivals[start].score;
    bool has_single = false;
    size_t single = 0;
    while (rest.length) {
        dit_utf8_take(&rest);
        size_t end = (size_t)(rest.at - piece.at);
        if (end - start > m->vocabulary.longest && single) break;
        int32_t id = dit_vocabulary_find(&m->vocabulary, (dit_span){piece.at + start, end - start});
        if (id >= 0) arrive(&arrivals[end], score + m->scores[id], start, id);
        if (!single) single = end, has_single = id >= 0;
    }
    if (!has_single) arrive(&arrivals[single], score + m->lowest - unknown_penalty, start, m->unk);
}

/* Adds the tokens of the best way, which is known from its end. Unknown ones beside each other are one. */
static void walk_back(const dit_token_model *m, dit_span piece, const arrival *arrivals, dit_ids *out)
{
    dit_ids back = {0};
    bool in_run = false;
    size_t end = piece.length, run_end = 0;
    while (end > 0) {
        size_t start = (size_t)arrivals[end].start;
        bool unknown = arrivals[end].id == m->unk;
        if (!unknown) {
            dit_ids_add(&back, arrivals[end].id);
            in_run = false;
        } else if (!in_run || !m->fuse_unk) {
            dit_ids_add(&back, m->unk);
            in_run = true, run_end = end;
        }
        int32_t whole =
            in_run ? dit_vocabulary_find(&m->vocabulary, (dit_span){piece.at + start, run_end - start}) : -1;
        if (whole >= 0 && back.count && (start == 0 || arrivals[start].id != m->unk)) back.at[back.count - 1] = whole;
        end = start;
    }
    for (int i = back.count - 1; i >= 0; i--) dit_ids_add(out, back.at[i]);
    out->failed |= back.failed;
    dit_ids_release(&back);
}

dit_status dit_unigram_encode(const dit_token_model *m, dit_span piece, dit_ids *out)
{
    arrival *arrivals = malloc((piece.length + 1) * sizeof *arrivals);
    size_t at = 0, bytes;
    if (!arrivals) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a piece of %zu bytes", piece.length);
    for (size_t i = 0; i <= piece.length; i++) arrivals[i] = (arrival){.start = -1};
    arrivals[0].start = 0;
    for (; at < piece.length; at += bytes) {
        dit_utf8_first((dit_span){piece.at + at, piece.length - at}, &bytes);
        go_on(m, piece, at, arrivals);
    }
    walk_back(m, piece, arrivals, out);
    free(arrivals);
    return out->failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for the ids of a text") : DIT_OK;
}
