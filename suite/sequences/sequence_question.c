#include "suite/sequences/sequence_question.h"

#include "base/json.h"
#include "base/words.h"
#include "suite/queue/arrivals.h"
#include "suite/queue/partition.h"

#include <math.h>

static const char chain_at[] = "/chain", lengths_at[] = "/lengths", cut_at[] = "/cut";
static const double two_pi = 6.283185307179586477;

enum { MOST_TOKENS = 1 << 24, STREAM_RADIUS = 1, STREAM_ANGLE = 2 };

/* ---- documents --------------------------------------------------------------------------------------------------- */

void suite_sequence_question_put(dit_json_writer *w, const suite_sequence_question *q, cJSON *document)
{
    cJSON *chain = dit_json_put_object(w, document, "chain"), *lengths = dit_json_put_object(w, document, "lengths");
    cJSON *cut = dit_json_put_object(w, document, "cut");
    dit_json_put_int(w, chain, "num_layers", q->layers);
    dit_json_put_int(w, chain, "heads", q->heads);
    dit_json_put_int(w, chain, "head_dim", q->head_dim);
    dit_json_put_int(w, chain, "vocabulary", q->vocabulary);
    dit_json_put_bool(w, chain, "causal", q->causal);
    dit_json_put_int(w, lengths, "tokens", q->tokens);
    dit_json_put_number(w, lengths, "spread", q->spread);
    dit_json_put_number(w, lengths, "drift", q->drift);
    dit_json_put_int(w, lengths, "batch", q->batch);
    dit_json_put_int(w, lengths, "batches", q->batches);
    dit_json_put_int(w, lengths, "seed", (int64_t)q->seed);
    dit_json_put_int(w, cut, "devices", q->devices);
    dit_json_put_number(w, cut, "memory_limit_gib", q->memory_limit_gib);
    dit_json_put_string(w, cut, "grouping", suite_cut_words()[q->cut]);
    dit_json_put_int(w, cut, "replan_every", q->replan_every);
    dit_json_put_number(w, cut, "replan_s", q->replan_s);
}

static dit_status read_chain(const dit_json *doc, suite_sequence_question *out)
{
    static const char *const keys[] = {"num_layers", "heads", "head_dim", "vocabulary", "causal", NULL};
    const cJSON *chain;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "chain", &chain));
    DIT_TRY(dit_json_only_keys(doc, chain, chain_at, keys));
    DIT_TRY(dit_json_require_int(doc, chain, chain_at, "num_layers", 1, 1024, &out->layers));
    DIT_TRY(dit_json_require_int(doc, chain, chain_at, "heads", 1, 4096, &out->heads));
    DIT_TRY(dit_json_require_int(doc, chain, chain_at, "head_dim", 1, 4096, &out->head_dim));
    DIT_TRY(dit_json_require_int(doc, chain, chain_at, "vocabulary", 0, MOST_TOKENS, &out->vocabulary));
    return dit_json_optional_bool(doc, chain, chain_at, "causal", &out->causal);
}

static dit_status read_int(const dit_json *doc, const cJSON *object, const char *at, const char *key, int least,
                           int most, int *out)
{
    int64_t value;
    DIT_TRY(dit_json_require_int(doc, object, at, key, least, most, &value));
    *out = (int)value;
    return DIT_OK;
}

static dit_status read_lengths(const dit_json *doc, suite_sequence_question *out)
{
    static const char *const keys[] = {"tokens", "spread", "drift", "batch", "batches", "seed", NULL};
    const cJSON *lengths;
    int64_t seed;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "lengths", &lengths));
    DIT_TRY(dit_json_only_keys(doc, lengths, lengths_at, keys));
    DIT_TRY(dit_json_require_int(doc, lengths, lengths_at, "tokens", 1, MOST_TOKENS, &out->tokens));
    DIT_TRY(dit_json_require_number(doc, lengths, lengths_at, "spread", 0, 4, &out->spread));
    DIT_TRY(dit_json_require_number(doc, lengths, lengths_at, "drift", 0.01, 100, &out->drift));
    DIT_TRY(read_int(doc, lengths, lengths_at, "batch", 1, 4096, &out->batch));
    DIT_TRY(read_int(doc, lengths, lengths_at, "batches", 1, SUITE_SEQUENCE_BATCHES, &out->batches));
    DIT_TRY(dit_json_require_int(doc, lengths, lengths_at, "seed", 0, (int64_t)1 << 53, &seed));
    out->seed = (uint64_t)seed;
    return DIT_OK;
}

dit_status suite_sequence_question_read(const dit_json *document, suite_sequence_question *out)
{
    static const char *const keys[] = {"devices", "memory_limit_gib", "grouping", "replan_every", "replan_s", NULL};
    const dit_json *doc = document;
    const cJSON *cut;
    const char *word;
    *out = (suite_sequence_question){0};
    DIT_TRY(read_chain(doc, out));
    DIT_TRY(read_lengths(doc, out));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "cut", &cut));
    DIT_TRY(dit_json_only_keys(doc, cut, cut_at, keys));
    DIT_TRY(read_int(doc, cut, cut_at, "devices", 1, SUITE_PARTITION_DEVICES, &out->devices));
    DIT_TRY(dit_json_require_number(doc, cut, cut_at, "memory_limit_gib", 0, 1 << 20, &out->memory_limit_gib));
    DIT_TRY(read_int(doc, cut, cut_at, "replan_every", 0, SUITE_SEQUENCE_BATCHES, &out->replan_every));
    DIT_TRY(dit_json_require_number(doc, cut, cut_at, "replan_s", 0, 1e6, &out->replan_s));
    DIT_TRY(dit_json_require_string(doc, cut, cut_at, "grouping", &word));
    int rule = dit_words_find(suite_cut_words(), word);
    if (rule < 0) return dit_json_fail_word(doc, "/cut/grouping", "grouping", word, suite_cut_words());
    out->cut = (suite_cut_rule)rule;
    return DIT_OK;
}

/* ---- what is conceivable ----------------------------------------------------------------------------------------- */

dit_status suite_sequence_question_check(const suite_sequence_question *q)
{
    enum { MOST_ANY = 32 /* of 64 there are 1.7 million partitions */, MOST_SEQUENCES = 1 << 16 };
    if (q->devices > SUITE_PARTITION_DEVICES)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_PRODUCT, "%d devices: at most %d are cut", q->devices,
                        SUITE_PARTITION_DEVICES);
    if (q->cut == SUITE_CUT_ANY && q->devices > MOST_ANY)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_PRODUCT, "grouping any cuts at most %d devices, not %d", MOST_ANY, q->devices),
            "grouping groups cuts up to %d into powers of two", SUITE_PARTITION_DEVICES);
    if ((int64_t)q->batch * q->batches > MOST_SEQUENCES)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_BATCH, "%d batches of %d: at most %d sequences are planned", q->batches,
                        q->batch, MOST_SEQUENCES);
    if (q->replan_every > q->batches)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_BATCH, "replan_every %d is beyond the %d batches", q->replan_every,
                        q->batches);
    if (q->cut == SUITE_CUT_ONE && q->replan_every > 0)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "grouping one never changes, and replan_every is %d", q->replan_every),
            "leave replan_every out, or take grouping equal");
    return DIT_OK;
}

/* ---- lengths ----------------------------------------------------------------------------------------------------- */

/* Standard normal, by Box and Muller. */
static double normal(uint64_t seed, uint64_t index)
{
    double radius = sqrt(-2 * log(suite_arrivals_uniform(seed, STREAM_RADIUS, index)));
    return radius * cos(two_pi * suite_arrivals_uniform(seed, STREAM_ANGLE, index));
}

int64_t suite_sequence_tokens(const suite_sequence_question *q, int batch, int sequence)
{
    uint64_t index = (uint64_t)batch * (uint64_t)q->batch + (uint64_t)sequence;
    double along = q->batches > 1 ? (double)batch / (q->batches - 1) : 0;
    double tokens = (double)q->tokens * pow(q->drift, along) * exp(q->spread * normal(q->seed, index));
    tokens = SUITE_SEQUENCE_ROUND * round(tokens / SUITE_SEQUENCE_ROUND);
    return (int64_t)fmin(fmax(tokens, SUITE_SEQUENCE_ROUND), MOST_TOKENS);
}
