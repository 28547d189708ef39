#include "engine/attention/store.h"

static const int32_t NEVER = DIT_STEP_FILL - 1;

/* Rows of one band within one rank, counted from the rank's first row that is not replicated. The rank's split text
 * belongs to band 0. */
static dit_range piece_of_rank(const attention_store *store, int64_t band)
{
    dit_range piece = dit_band_cut(store->image, store->references, store->bands, band);
    if (band == 0) return (dit_range){0, store->text + piece.count};
    return (dit_range){store->text + piece.first, piece.count};
}

/* The first row of a band: where the pieces of all Ulysses ranks begin. */
static int64_t first_row(const attention_store *store, int64_t band)
{
    return store->replicated + store->ulysses * piece_of_rank(store, band).first;
}

dit_range attention_store_band(const attention_store *store, int64_t band)
{
    int64_t first = band ? first_row(store, band) : 0;
    return (dit_range){first, first_row(store, band) + store->ulysses * piece_of_rank(store, band).count - first};
}

int64_t attention_store_text_stride(const attention_store *store)
{
    return piece_of_rank(store, 0).count;
}

static int64_t slot_elements(const attention_store *store)
{
    return 2 * store->B * store->rows * store->width;
}

dit_status attention_store_create(dit_runtime *rt, const dit_attention_shape *exchanged, attention_store *out)
{
    void *memory;
    *out = (attention_store){.calls = exchanged->calls,
                             .B = exchanged->B,
                             .width = attention_kv_heads(exchanged) * exchanged->D,
                             .ulysses = dit_comm_size(rt->comm[DIT_AXIS_ULYSSES]),
                             .bands = dit_parallel_bands(&rt->parallel, &rt->facts),
                             .replicated = attention_replicated(exchanged),
                             .text = exchanged->replicated ? 0 : exchanged->text,
                             .rows = exchanged->tokens};
    out->references = rt->facts.reference_tokens / dit_parallel_sequence_degree(&rt->parallel);
    out->image = (out->rows - out->replicated) / out->ulysses - out->text;
    DIT_TRY(dit_arena_activations(&rt->image, out->calls * slot_elements(out), &out->kv));
    DIT_TRY(dit_arena_alloc(&rt->image, out->calls * out->bands * (int64_t)sizeof *out->steps, &memory));
    out->steps = memory;
    int32_t newest = rt->parallel.habits.stores_filled ? DIT_STEP_FILL : NEVER;
    for (int64_t i = 0; i < out->calls * out->bands; i++) out->steps[i] = newest;
    return DIT_OK;
}

/* ---- what is due ------------------------------------------------------------------------------------------------- */

static dit_status check_rows(const attention_store *store, int64_t call, const dit_window *window, int64_t rows)
{
    bool all = window->band == DIT_WINDOW_ALL;
    if (call >= store->calls)
        return DIT_FAIL(DIT_ERR_INTERNAL, "call %lld of a forward, K and V are kept of %lld", (long long)call,
                        (long long)store->calls);
    if (!all && (window->band < 0 || window->band >= store->bands))
        return DIT_FAIL(DIT_ERR_INTERNAL, "band %d of %lld", window->band, (long long)store->bands);
    int64_t expected = all ? store->rows : attention_store_band(store, window->band).count;
    if (!all && window->band > 0 && window->text) expected += store->replicated + store->ulysses * store->text;
    if (rows != expected)
        return DIT_FAIL(DIT_ERR_INTERNAL, "call %lld: K and V of %lld rows for band %d, which has %lld",
                        (long long)call, (long long)rows, window->band, (long long)expected);
    return DIT_OK;
}

/* Checks that the band is due: bands before it are of this step, it and those behind it of the step done before. */
static dit_status check_steps(const attention_store *store, int64_t call, const dit_window *window)
{
    int before = window->step - 1 - window->left_out;
    for (int band = 0; band < store->bands; band++) {
        int expected = band < window->band ? window->step : before;
        int found = store->steps[call * store->bands + band];
        if (found != expected)
            return dit_error_hint(
                DIT_FAIL(DIT_ERR_INTERNAL, "call %lld, band %d at step %d: K and V of band %d are of step %d, not %d",
                         (long long)call, window->band, window->step, band, found, expected),
                "steps count from 0; %d: filled before the first, %d: never written", DIT_STEP_FILL, NEVER);
    }
    return DIT_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Copies `runs` runs of `count` rows, `apart` rows apart, to rows that follow each other from row `to` on. */
static void copy_runs(const attention_store *store, dit_runtime *rt, int64_t call, const attention_keys *keys,
                      int64_t from, int64_t apart, int64_t runs, int64_t count, int64_t to)
{
    const float *const sources[2] = {keys->k, keys->v};
    int64_t width = store->width, operand = store->B * store->rows * width;
    if (count == 0 || width == 0) return;
    for (int i = 0; i < 2; i++)
        ops_copy(rt, &(dit_copy_args){.n0 = store->B,
                                      .n1 = runs,
                                      .n2 = count,
                                      .inner = width,
                                      .src = sources[i] + from * keys->ld,
                                      .src_stride = {keys->batch, apart * keys->ld, keys->ld},
                                      .dst = store->kv + call * slot_elements(store) + i * operand + to * width,
                                      .dst_stride = {store->rows * width, count * width, width}});
}

/* Copies rows that come rank by rank to where their bands lie. */
static void copy_all(const attention_store *store, dit_runtime *rt, int64_t call, const attention_keys *keys)
{
    int64_t replicated = store->replicated, own = store->text + store->image;
    copy_runs(store, rt, call, keys, 0, 0, 1, replicated, 0);
    for (int64_t band = 0; band < store->bands; band++) {
        dit_range piece = piece_of_rank(store, band);
        copy_runs(store, rt, call, keys, replicated + piece.first, own, store->ulysses, piece.count,
                  first_row(store, band));
    }
}

/* Copies a later band that comes with the text: the text goes to where it lies with the first band. */
static void copy_with_text(const attention_store *store, dit_runtime *rt, int64_t call, int64_t band,
                           const attention_keys *keys)
{
    dit_range piece = piece_of_rank(store, band);
    int64_t apart = store->text + piece.count, first_piece = piece_of_rank(store, 0).count;
    copy_runs(store, rt, call, keys, 0, 0, 1, store->replicated, 0);
    for (int64_t rank = 0; rank < store->ulysses; rank++)
        copy_runs(store, rt, call, keys, store->replicated + rank * apart, 0, 1, store->text,
                  first_row(store, 0) + rank * first_piece);
    copy_runs(store, rt, call, keys, store->replicated + store->text, apart, store->ulysses, piece.count,
              first_row(store, band));
}

dit_status attention_store_put(attention_store *store, dit_runtime *rt, int64_t call, const dit_window *window,
                               const attention_keys *keys)
{
    int32_t *steps = store->steps + call * store->bands;
    DIT_TRY(check_rows(store, call, window, keys->rows));
    if (window->band == DIT_WINDOW_ALL) {
        copy_all(store, rt, call, keys);
        for (int64_t band = 0; band < store->bands; band++) steps[band] = window->step;
        return DIT_OK;
    }
    DIT_TRY(check_steps(store, call, window));
    if (window->band > 0 && window->text)
        copy_with_text(store, rt, call, window->band, keys);
    else
        copy_runs(store, rt, call, keys, 0, 0, 1, keys->rows, attention_store_band(store, window->band).first);
    steps[window->band] = window->step;
    return DIT_OK;
}

attention_keys attention_store_keys(const attention_store *store, int64_t call)
{
    const float *k = store->kv + call * slot_elements(store);
    return (attention_keys){.k = k,
                            .v = k + store->B * store->rows * store->width,
                            .ld = store->width,
                            .batch = store->rows * store->width,
                            .rows = store->rows,
                            .replicated = store->replicated};
}
