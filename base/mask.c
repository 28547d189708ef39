/* Sizes are shares of the sequence, so that a mask is one of any length: a window reaches S/8 tokens to each side, the
 * first S/16 tokens are global, a prefix or question is a quarter, blocks are S/8, documents have S/2, S/4, S/8, S/16,
 * ... tokens, the last two alike. Each is at least one token, and what is beyond the sequence is not there. */
#include "base/mask.h"

#include "base/words.h"

#include <assert.h>
#include <string.h>

enum { WINDOW = 8, GLOBAL = 16, PREFIX = 4, BLOCKS = 8, ANSWERS = 3, DOCUMENTS = 6, FAR = 1 << 30 };

static const char *const names[DIT_MASK_COUNT + 1] = {
#define NAME(ID, name, meaning) name,
    DIT_MASK_LIST(NAME)
#undef NAME
};

const char *dit_mask_name(dit_mask_kind kind)
{
    return names[kind];
}

const char *const *dit_mask_names(void)
{
    return names;
}

bool dit_mask_from_name(const char *name, dit_mask_kind *out)
{
    int index = dit_words_find(names, name);
    if (index >= 0) *out = (dit_mask_kind)index;
    return index >= 0;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

void dit_mask_slice_keys(const dit_mask_slice *slice, int64_t query, int64_t *first, int64_t *end)
{
    *first = slice->k_first > query + slice->low ? slice->k_first : query + slice->low;
    *end = slice->k_end < query + slice->high + 1 ? slice->k_end : query + slice->high + 1;
    if (query < slice->q_first || query >= slice->q_end) *end = *first;
}

bool dit_mask_slice_has(const dit_mask_slice *slice, int64_t query, int64_t key)
{
    int64_t first, end;
    dit_mask_slice_keys(slice, query, &first, &end);
    return key >= first && key < end;
}

bool dit_mask_sees(const dit_mask *mask, int64_t query, int64_t key)
{
    for (int i = 0; i < mask->count; i++)
        if (dit_mask_slice_has(&mask->slice[i], query, key)) return true;
    return false;
}

double dit_mask_pairs(const dit_mask *mask)
{
    double pairs = 0;
    for (int i = 0; i < mask->count; i++)
        for (int64_t query = mask->slice[i].q_first; query < mask->slice[i].q_end; query++) {
            int64_t first, end;
            dit_mask_slice_keys(&mask->slice[i], query, &first, &end);
            if (end > first) pairs += (double)(end - first);
        }
    return pairs;
}

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

/* A run of tokens. */
typedef struct {
    int32_t first, end;
} run;

static int32_t part_of(run of, int parts)
{
    int32_t part = (of.end - of.first) / parts;
    return part > 0 ? part : 1;
}

static run run_of(int32_t first, int32_t end, int32_t most)
{
    return (run){first < most ? first : most, end < most ? end : most};
}

static void add(dit_mask *mask, run queries, run keys, int32_t low, int32_t high)
{
    if (queries.first >= queries.end || keys.first >= keys.end) return;
    assert(mask->count < DIT_MASK_SLICES);
    mask->slice[mask->count++] = (dit_mask_slice){queries.first, queries.end, keys.first, keys.end, low, high};
}

static void add_prefix_lm(dit_mask *mask, run of)
{
    int32_t end = of.first + part_of(of, PREFIX);
    run prefix = run_of(of.first, end, of.end), rest = run_of(end, of.end, of.end);
    add(mask, of, prefix, -FAR, FAR);
    add(mask, rest, rest, -FAR, 0);
}

/* reach: how many blocks before its own a block sees. */
static void add_blocks(dit_mask *mask, run of, int reach)
{
    int32_t size = part_of(of, BLOCKS);
    for (int32_t first = of.first; first < of.end; first += size) {
        int64_t from = (int64_t)first - (int64_t)reach * size;
        run block = run_of(first, first + size, of.end);
        add(mask, block, (run){from > of.first ? (int32_t)from : of.first, block.end}, -FAR, FAR);
    }
}

/* The last block sees those before it in all blocks, the others only in their own. */
static void add_blockwise(dit_mask *mask, run of)
{
    int32_t size = part_of(of, BLOCKS), first = of.first;
    for (; first + size < of.end; first += size) {
        run block = {first, first + size};
        add(mask, block, block, -FAR, 0);
    }
    add(mask, (run){first, of.end}, of, -FAR, 0);
}

static void add_question(dit_mask *mask, run of)
{
    int32_t end = of.first + part_of(of, PREFIX);
    run question = run_of(of.first, end, of.end), rest = run_of(end, of.end, of.end);
    int32_t size = part_of(rest, ANSWERS);
    add(mask, of, question, -FAR, 0);
    for (int i = 0; i < ANSWERS; i++) {
        run answer = run_of(rest.first + i * size, i + 1 < ANSWERS ? rest.first + (i + 1) * size : rest.end, rest.end);
        add(mask, answer, answer, -FAR, 0);
    }
}

/* global: tokens from the first on that are near to all. */
static void add_window(dit_mask *mask, run of, int32_t global, bool causal)
{
    int32_t reach = part_of(of, WINDOW);
    run first = run_of(of.first, of.first + global, of.end), rest = {first.end, of.end};
    add(mask, of, first, -FAR, causal ? 0 : FAR);
    if (!causal) add(mask, first, rest, -FAR, FAR);
    add(mask, rest, rest, -reach, causal ? 0 : reach);
}

static void add_run(dit_mask *mask, dit_mask_kind kind, run of)
{
    switch (kind) {
    case DIT_MASK_WINDOW:
    case DIT_MASK_DOCUMENTS_WINDOW: add_window(mask, of, 0, false); break;
    case DIT_MASK_WINDOW_CAUSAL: add_window(mask, of, 0, true); break;
    case DIT_MASK_GLOBAL_WINDOW: add_window(mask, of, part_of(of, GLOBAL), false); break;
    case DIT_MASK_GLOBAL_WINDOW_CAUSAL: add_window(mask, of, part_of(of, GLOBAL), true); break;
    case DIT_MASK_DOCUMENTS: add(mask, of, of, -FAR, FAR); break;
    case DIT_MASK_DOCUMENTS_CAUSAL: add(mask, of, of, -FAR, 0); break;
    case DIT_MASK_SHARED_QUESTION: add_question(mask, of); break;
    case DIT_MASK_PREFIX_LM:
    case DIT_MASK_PREFIX_LM_DOCUMENTS: add_prefix_lm(mask, of); break;
    case DIT_MASK_CAUSAL_BLOCKWISE: add_blockwise(mask, of); break;
    case DIT_MASK_BLOCK_CAUSAL:
    case DIT_MASK_BLOCK_CAUSAL_DOCUMENTS: add_blocks(mask, of, 2 * BLOCKS); break;
    case DIT_MASK_BLOCK_CAUSAL_WINDOW: add_blocks(mask, of, 1); break;
    default: break;
    }
}

static bool has_documents(dit_mask_kind kind)
{
    return kind == DIT_MASK_DOCUMENTS || kind == DIT_MASK_DOCUMENTS_CAUSAL || kind == DIT_MASK_DOCUMENTS_WINDOW ||
           kind == DIT_MASK_PREFIX_LM_DOCUMENTS || kind == DIT_MASK_BLOCK_CAUSAL_DOCUMENTS;
}

void dit_mask_build(dit_mask_kind kind, int64_t tokens, dit_mask *out)
{
    run left = {0, (int32_t)tokens};
    *out = (dit_mask){0};
    for (int i = 1; i < DOCUMENTS && has_documents(kind) && left.end - left.first > 1; i++) {
        run document = {left.first, left.first + (left.end - left.first) / 2};
        add_run(out, kind, document);
        left.first = document.end;
    }
    add_run(out, kind, left);
}
