/* K and V that a pipeline keeps: attention over bands of two steps against plain loops, what lies where, what is due.
 *
 * One process tests the store alone, with communicators that count. With any argument, under mpirun (test_store.sh),
 * the ranks are the sequence ranks of one stage, in every mesh of them.
 */
#include "base/mesh.h"
#include "base/rng.h"
#include "engine/attention/attention_impl.h"

#include "base/tests/test.h"
#include "kernels/tests/each_isa.h"

/* Rows: of the image, of one rank; bands of them: 2, 2, 3. Tokens: the whole text first, then rank by rank. */
enum { B = 2, H = 4, D = 8, C = H * D, CALLS = 2, ROWS = 7, BANDS = 3, TEXT = 8, RANKS = 4 };
enum { MOST_TOKENS = TEXT + RANKS * ROWS, MOST_ROWS = TEXT + ROWS };

typedef struct {
    int u, r, bands;
    bool text, split, bias;
    bool frozen;   /* every step has the same operands                                               */
    bool alone;    /* no pipeline                                                                    */
    bool counting; /* operators do nothing over memory that is only address space; nothing is sent   */
} setup;

typedef struct {
    setup s;
    int rank; /* among the sequence ranks */
    dit_runtime rt;
    dit_attention *attention;
    float bias[B * TEXT];
    float qkv[B * MOST_ROWS * 3 * C], out[B * MOST_ROWS * C];
} fixture;

static const dit_window whole_step = {.count = ROWS, .text = true, .band = DIT_WINDOW_ALL, .step = 0};

/* Rows of text that a rank has. */
static int64_t text_rows(const setup *s)
{
    return !s->text ? 0 : s->split ? TEXT / (s->u * s->r) : TEXT;
}

/* Ranks that share the sequence are real where there are any; all others are only counted. */
static void open_comms(fixture *f)
{
    dit_runtime *rt = &f->rt;
    dit_parallel sequence = {.degree = {[DIT_AXIS_ULYSSES] = f->s.u, [DIT_AXIS_RING] = f->s.r}};
    bool together = dit_comm_size(dit_comm_world()) > 1;
    f->rank = dit_comm_rank(dit_comm_world());
    dit_mesh_coordinates(&sequence, f->rank, rt->coordinates);
    for (int i = 0; i < DIT_AXIS_COUNT; i++) {
        dit_axis axis = (dit_axis)i;
        bool real = together && (axis == DIT_AXIS_ULYSSES || axis == DIT_AXIS_RING);
        assert_int_equal(real ? dit_comm_create(&sequence, axis, &rt->counters, &rt->comm[axis])
                              : dit_comm_create_counting(&rt->parallel, 0, axis, &rt->counters, &rt->comm[axis]),
                         DIT_OK);
    }
}

static void open_runtime(fixture *f)
{
    dit_runtime *rt = &f->rt;
    rt->parallel = (dit_parallel){.num_pipeline_patch = f->s.bands};
    rt->parallel.degree[DIT_AXIS_PIPEFUSION] = f->s.alone ? 1 : 2;
    rt->parallel.degree[DIT_AXIS_ULYSSES] = f->s.u, rt->parallel.degree[DIT_AXIS_RING] = f->s.r;
    rt->facts = (dit_facts){.heads = H, .head_dim = D, .image_tokens = f->s.u * f->s.r * ROWS, .steps = 9};
    rt->ledger.counting_only = f->s.counting;
    dit_arena_init(&rt->image, &rt->ledger, DIT_MEMORY_STATE);
    dit_arena_init(&rt->step, &rt->ledger, DIT_MEMORY_ACTIVATIONS);
    dit_arena_init(&rt->comm_arena, &rt->ledger, DIT_MEMORY_COMM);
    rt->kernels = dit_kernels_counting();
    if (!f->s.counting) assert_int_equal(dit_kernels_get("cpu", &rt->kernels), DIT_OK);
    assert_int_equal(dit_pool_create(1, false, &rt->pool), DIT_OK);
    open_comms(f);
}

/* Every third key of the text does not exist. */
static void set_bias(fixture *f)
{
    dit_rng_normal(7, 0, 0, B * TEXT, 0.0f, 1.0f, f->bias);
    for (int i = 1; i < B * TEXT; i += 3) f->bias[i] = -INFINITY;
    dit_attention_set_text_bias(f->attention, f->bias, TEXT);
}

static fixture *open_fixture(const setup *s)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->s = *s;
    open_runtime(f);
    const dit_attention_shape shape = {.B = B,
                                       .H = H,
                                       .D = D,
                                       .calls = CALLS,
                                       .tokens = text_rows(s) + ROWS,
                                       .text = text_rows(s),
                                       .replicated = s->text && !s->split,
                                       .text_biases = s->bias};
    assert_int_equal(dit_attention_create(&f->rt, "auto", &shape, &f->attention), DIT_OK);
    if (s->bias) set_bias(f);
    return f;
}

static void close_fixture(fixture *f)
{
    dit_attention_free(f->attention);
    dit_runtime_release(&f->rt);
    free(f);
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

enum { Q, K, V };

static void draw(const fixture *f, int step, int64_t call, int operand, int64_t b, int64_t token, float out[C])
{
    uint64_t stream = (uint64_t)((f->s.frozen ? 0 : step + 1) * CALLS + call) * 3 + (uint64_t)operand;
    dit_rng_normal(5, stream, (uint64_t)((b * MOST_TOKENS + token) * C), C, 0.0f, 1.0f, out);
}

static int64_t window_rows(const fixture *f, const dit_window *window)
{
    return (window->text ? text_rows(&f->s) : 0) + window->count;
}

/* Which token row `row` of this rank's part of a window is. */
static int64_t token_of(const fixture *f, const dit_window *window, int64_t row)
{
    int64_t text = window->text ? text_rows(&f->s) : 0;
    if (row < text) return f->s.split ? f->rank * text + row : row;
    return TEXT + f->rank * ROWS + window->first + row - text;
}

static dit_window band_window(const fixture *f, int band, int step)
{
    dit_range rows = dit_range_cut(ROWS, f->s.bands, band);
    return (dit_window){.first = rows.first, .count = rows.count, .text = band == 0, .band = band, .step = step};
}

static dit_window all_rows(int step)
{
    dit_window window = whole_step;
    window.step = step;
    return window;
}

/* The newest forward's next call. */
static dit_status attend(fixture *f, const dit_window *window, int64_t call)
{
    int64_t rows = window_rows(f, window);
    for (int64_t b = 0; b < B; b++)
        for (int64_t row = 0; row < rows; row++)
            for (int operand = Q; operand <= V; operand++)
                draw(f, window->step, call, operand, b, token_of(f, window, row),
                     f->qkv + ((b * rows + row) * 3 + operand) * C);
    const dit_attention_io io = {.q = f->qkv,
                                 .k = f->qkv + C,
                                 .v = f->qkv + 2 * C,
                                 .ld = 3 * C,
                                 .batch = rows * 3 * C,
                                 .out = f->out,
                                 .ldo = C,
                                 .batch_o = rows * C};
    return dit_attention_forward(f->attention, &io);
}

/* One forward of one call. */
static dit_status forward(fixture *f, const dit_window *window)
{
    dit_attention_begin(f->attention, window);
    return attend(f, window, 0);
}

/* ---- the plain result -------------------------------------------------------------------------------------------- */

static int band_of(const fixture *f, int64_t row)
{
    int band = 0;
    while (row >= dit_range_cut(ROWS, f->s.bands, band).first + dit_range_cut(ROWS, f->s.bands, band).count) band++;
    return band;
}

/* Which step's K and V of a token a window sees: text comes with the first band. */
static int step_seen(const fixture *f, const dit_window *window, int64_t token)
{
    if (window->band == DIT_WINDOW_ALL || token < TEXT) return window->step;
    return window->step - (band_of(f, (token - TEXT) % ROWS) > window->band);
}

static double logit(const fixture *f, int64_t b, int64_t token, const float *q, const float *k)
{
    double sum = 0;
    for (int i = 0; i < D; i++) sum += (double)q[i] * (double)k[i];
    return sum / sqrt((double)D) + (f->s.bias && token < TEXT ? (double)f->bias[b * TEXT + token] : 0);
}

/* Attention of one token over all there are, head by head, every key by itself. */
static void expect_row(const fixture *f, const dit_window *window, int64_t call, int64_t b, int64_t token,
                       double out[C])
{
    float q[C], k[C], v[C];
    double weights[H] = {0};
    int64_t first = f->s.text ? 0 : TEXT, end = TEXT + f->s.u * f->s.r * ROWS;
    draw(f, window->step, call, Q, b, token, q);
    for (int i = 0; i < C; i++) out[i] = 0;
    for (int64_t key = first; key < end; key++) {
        draw(f, step_seen(f, window, key), call, K, b, key, k);
        draw(f, step_seen(f, window, key), call, V, b, key, v);
        for (int h = 0; h < H; h++) {
            double weight = exp(logit(f, b, key, q + h * D, k + h * D));
            weights[h] += weight;
            for (int i = h * D; i < (h + 1) * D; i++) out[i] += weight * (double)v[i];
        }
    }
    for (int i = 0; i < C; i++) out[i] /= weights[i / D];
}

/* Largest distance of the newest result from the plain one. */
static double distance(const fixture *f, const dit_window *window, int64_t call)
{
    double expected[C], worst = 0;
    int64_t rows = window_rows(f, window);
    for (int64_t b = 0; b < B; b++)
        for (int64_t row = 0; row < rows; row++) {
            expect_row(f, window, call, b, token_of(f, window, row), expected);
            for (int i = 0; i < C; i++)
                worst = fmax(worst, fabs(expected[i] - (double)f->out[(b * rows + row) * C + i]));
        }
    return worst;
}

/* A forward of all calls; every one of them as the plain loops say. */
static double worst_of_forward(fixture *f, const dit_window *window)
{
    double worst = 0;
    dit_attention_begin(f->attention, window);
    for (int64_t call = 0; call < CALLS; call++) {
        assert_int_equal(attend(f, window, call), DIT_OK);
        worst = fmax(worst, distance(f, window, call));
    }
    return worst;
}

/* ---- on any mesh ------------------------------------------------------------------------------------------------- */

static void check_steps(const setup *s, int first_stale)
{
    fixture *f = open_fixture(s);
    double worst = 0;
    for (int step = DIT_STEP_FILL; step < first_stale; step++) {
        dit_window window = all_rows(step);
        worst = fmax(worst, worst_of_forward(f, &window));
    }
    for (int step = first_stale; step < first_stale + 2; step++)
        for (int band = 0; band < s->bands; band++) {
            dit_window window = band_window(f, band, step);
            worst = fmax(worst, worst_of_forward(f, &window));
        }
    if (!(worst < 2e-6))
        print_error("u%d r%d, %d bands, text %d split %d: %g\n", s->u, s->r, s->bands, s->text, s->split, worst);
    assert_true(worst < 2e-6);
    close_fixture(f);
}

static void check_frozen(const setup *s)
{
    static float whole[B * MOST_ROWS * C];
    fixture *f = open_fixture(s);
    int64_t text = text_rows(s), all = text + ROWS;
    double worst = 0;
    assert_int_equal(forward(f, &whole_step), DIT_OK);
    memcpy(whole, f->out, sizeof whole);
    for (int band = 0; band < s->bands; band++) {
        dit_window window = band_window(f, band, 1);
        int64_t rows = window_rows(f, &window), from = window.text ? 0 : text + window.first;
        assert_int_equal(forward(f, &window), DIT_OK);
        for (int64_t i = 0; i < B * rows * C; i++) {
            int64_t b = i / (rows * C), within = i % (rows * C);
            worst = fmax(worst, fabs((double)f->out[i] - (double)whole[(b * all + from) * C + within]));
        }
    }
    assert_true(worst < 1e-6);
    close_fixture(f);
}

static int64_t sent(const fixture *f, dit_axis axis, int64_t *messages)
{
    int64_t bytes = 0;
    *messages = 0;
    for (int i = 0; i < DIT_COLLECTIVE_COUNT; i++) {
        bytes += f->rt.counters.at[axis][i][DIT_PHASE_STEP].bytes;
        *messages += f->rt.counters.at[axis][i][DIT_PHASE_STEP].messages;
    }
    return bytes;
}

/* A step of bands sends over Ulysses what a forward of all rows does, and over the ring that for every band. */
static void check_bytes(const setup *s)
{
    fixture *f = open_fixture(s);
    int64_t bytes[2], messages[2], all_bytes[2], all_messages[2];
    assert_int_equal(forward(f, &whole_step), DIT_OK);
    for (int i = 0; i < 2; i++) all_bytes[i] = sent(f, i ? DIT_AXIS_RING : DIT_AXIS_ULYSSES, &all_messages[i]);
    dit_runtime_reset_account(&f->rt);
    for (int band = 0; band < s->bands; band++) {
        dit_window window = band_window(f, band, 1);
        assert_int_equal(forward(f, &window), DIT_OK);
    }
    for (int i = 0; i < 2; i++) bytes[i] = sent(f, i ? DIT_AXIS_RING : DIT_AXIS_ULYSSES, &messages[i]);
    int64_t gathers = s->text && !s->split ? B * (s->u - 1) : 0; /* of replicated text, once */
    assert_int_equal(bytes[0], all_bytes[0]);
    assert_int_equal(messages[0] - gathers, s->bands * (all_messages[0] - gathers));
    assert_int_equal(bytes[1], s->bands * all_bytes[1]);
    assert_int_equal(messages[1], s->bands * all_messages[1]);
    int64_t rows = s->u * (ROWS + (s->split ? text_rows(s) : 0));
    assert_int_equal(all_bytes[1], (s->r - 1) * 2 * B * rows * (C / s->u) * (int64_t)sizeof(float));
    close_fixture(f);
}

static void check_mesh(int u, int r)
{
    const setup layouts[] = {
        {.u = u, .r = r, .bands = BANDS},
        {.u = u, .r = r, .bands = BANDS, .text = true},
        {.u = u, .r = r, .bands = BANDS, .text = true, .split = true},
        {.u = u, .r = r, .bands = BANDS, .text = true, .bias = true},
        {.u = u, .r = r, .bands = BANDS, .text = true, .split = true, .bias = true},
        {.u = u, .r = r, .bands = 1, .text = true, .split = true, .bias = true},
        {.u = u, .r = r, .bands = ROWS, .text = true, .split = true},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        setup frozen = layouts[i];
        frozen.frozen = true;
        check_steps(&layouts[i], 0);
        check_steps(&layouts[i], 2);
        check_frozen(&frozen);
        check_bytes(&layouts[i]);
    }
}

static void bands_see_the_store_in_every_mesh_of_the_ranks(void **state)
{
    int ranks = dit_comm_size(dit_comm_world()) > 1 ? dit_comm_size(dit_comm_world()) : 1;
    (void)state;
    for (int u = 1; u <= ranks; u++)
        if (ranks % u == 0) check_mesh(u, ranks / u);
}

/* ---- what lies where --------------------------------------------------------------------------------------------- */

/* Two Ulysses ranks, four bands; a key is the number of its token in every column. */
enum { PAIR = 2, FOUR = 4, PAIR_TOKENS = TEXT + PAIR * ROWS };

/* Rows of one band, or of all, as the exchange delivers them: shared text, then rank by rank. Returns how many. */
static int64_t mark_rows(const setup *s, const dit_window *window, int64_t width, float *rows)
{
    int64_t count = 0, own = window->text ? text_rows(s) : 0;
    int64_t tokens[PAIR_TOKENS];
    if (!s->split)
        for (int64_t i = 0; i < own; i++) tokens[count++] = i;
    for (int64_t rank = 0; rank < PAIR; rank++) {
        for (int64_t i = 0; s->split && i < own; i++) tokens[count++] = rank * own + i;
        for (int64_t i = 0; i < window->count; i++) tokens[count++] = TEXT + rank * ROWS + window->first + i;
    }
    for (int64_t i = 0; i < count * width; i++) rows[i] = (float)tokens[i / width];
    return count;
}

/* How often a token of the first `tokens` is there, [tokens]. Rows whose columns differ are none. */
static void count_tokens(const float *k, int64_t rows, int64_t width, int found[PAIR_TOKENS])
{
    memset(found, 0, PAIR_TOKENS * sizeof *found);
    for (int64_t row = 0; row < rows; row++) {
        bool same = true;
        for (int64_t i = 1; i < width; i++) same = same && k[row * width + i] == k[row * width];
        if (same) found[(int)k[row * width]]++;
    }
}

/* Puts marked rows of one batch entry, as the policy does behind the exchange. */
static void put_marks(fixture *f, const dit_window *window, float *rows, int64_t *count)
{
    int64_t width = f->attention->store.width;
    *count = mark_rows(&f->s, window, width, rows);
    const attention_keys keys = {.k = rows, .v = rows, .ld = width, .rows = *count};
    assert_int_equal(attention_store_put(&f->attention->store, &f->rt, 0, window, &keys), DIT_OK);
}

static void check_places(const setup *s)
{
    float rank_major[PAIR_TOKENS * C], rows[PAIR_TOKENS * C];
    int found[PAIR_TOKENS], lost = 0, twice = 0, first = s->text ? 0 : TEXT;
    fixture *f = open_fixture(s);
    int64_t width = f->attention->store.width, all, count;
    put_marks(f, &whole_step, rank_major, &all);
    assert_int_equal(all, f->attention->store.rows);
    for (int band = 0; band < FOUR; band++) {
        dit_window window = band_window(f, band, 1);
        put_marks(f, &window, rows, &count);
        count_tokens(attention_store_keys(&f->attention->store, 0).k, all, width, found);
        for (int i = first; i < PAIR_TOKENS; i++) assert_int_equal(found[i], 1);
        if (band > 0) continue;
        /* The same rows over what the synchronous forward left rank by rank. */
        memcpy(rank_major, rows, (size_t)(count * width) * sizeof *rows);
        count_tokens(rank_major, all, width, found);
        for (int i = first; i < PAIR_TOKENS; i++) lost += found[i] == 0, twice += found[i] == 2;
    }
    assert_int_equal(lost, dit_range_cut(ROWS, FOUR, 0).count + (s->split ? text_rows(s) : 0));
    assert_int_equal(twice, lost);
    close_fixture(f);
}

static void every_token_is_there_once_and_rank_by_rank_it_would_not_be(void **state)
{
    (void)state;
    check_places(&(setup){.u = PAIR, .r = 1, .bands = FOUR});
    check_places(&(setup){.u = PAIR, .r = 1, .bands = FOUR, .text = true});
    check_places(&(setup){.u = PAIR, .r = 1, .bands = FOUR, .text = true, .split = true});
}

static void bands_follow_each_other(void **state)
{
    fixture *f = open_fixture(&(setup){.u = PAIR, .r = 1, .bands = FOUR, .text = true, .split = true});
    int64_t next = 0;
    (void)state;
    for (int band = 0; band < FOUR; band++) {
        dit_range rows = attention_store_band(&f->attention->store, band);
        assert_int_equal(rows.first, next);
        assert_int_equal(rows.count, PAIR * (dit_range_cut(ROWS, FOUR, band).count + (band ? 0 : TEXT / PAIR)));
        next += rows.count;
    }
    assert_int_equal(next, f->attention->store.rows);
    close_fixture(f);
}

static void memory_is_kept_for_every_call_and_only_in_a_pipeline(void **state)
{
    int64_t rows = TEXT + PAIR * ROWS, slots = CALLS * 2 * B * rows * (C / PAIR) * (int64_t)sizeof(float);
    setup s = {.u = PAIR, .r = 1, .bands = FOUR, .text = true};
    (void)state;
    for (int counting = 0; counting < 2; counting++) {
        s.counting = counting;
        fixture *f = open_fixture(&s);
        assert_int_equal(f->rt.ledger.used[DIT_MEMORY_STATE], slots + 64); /* 64: which steps they are of */
        close_fixture(f);
    }
    s.alone = true;
    fixture *f = open_fixture(&s);
    assert_int_equal(f->rt.ledger.used[DIT_MEMORY_STATE], 0);
    close_fixture(f);
}

/* ---- what is due ------------------------------------------------------------------------------------------------- */

static dit_status forward_band(fixture *f, int band, int step)
{
    dit_window window = band_window(f, band, step);
    return forward(f, &window);
}

static void expect_refusal(dit_status st, const char *words)
{
    assert_int_equal(st, DIT_ERR_INTERNAL);
    assert_non_null(strstr(dit_error_last()->message, words));
    dit_error_clear();
}

static void check_due(bool counting)
{
    fixture *f = open_fixture(&(setup){.u = 1, .r = 1, .bands = BANDS, .text = true, .counting = counting});
    dit_window fill = all_rows(DIT_STEP_FILL);
    expect_refusal(forward_band(f, 0, 0), "K and V of band 0 are of step -2, not -1");
    assert_int_equal(forward(f, &fill), DIT_OK);
    expect_refusal(forward_band(f, 0, 1), "K and V of band 0 are of step -1, not 0");
    expect_refusal(forward_band(f, 1, 0), "K and V of band 0 are of step -1, not 0");
    assert_int_equal(forward_band(f, 0, 0), DIT_OK);
    expect_refusal(forward_band(f, 2, 0), "band 2 at step 0: K and V of band 1 are of step -1, not 0");
    expect_refusal(forward_band(f, 0, 0), "K and V of band 0 are of step 0, not -1");
    assert_int_equal(forward_band(f, 1, 0), DIT_OK);
    expect_refusal(forward_band(f, 0, 1), "K and V of band 2 are of step -1, not 0");
    assert_int_equal(forward_band(f, 2, 0), DIT_OK);
    for (int band = 0; band < BANDS; band++) expect_refusal(forward_band(f, band, 0), "call 0");
    for (int band = 0; band < BANDS; band++) assert_int_equal(forward_band(f, band, 1), DIT_OK);
    close_fixture(f);
}

static void skipped_and_repeated_bands_and_steps_are_refused(void **state)
{
    (void)state;
    check_due(false);
    check_due(true);
}

/* A guest leaves out steps 1 to 4: step 5 then sees bands of step 0, and no other step does. */
static void steps_that_were_left_out_count_as_done(void **state)
{
    fixture *f = open_fixture(&(setup){.u = 1, .r = 1, .bands = BANDS});
    (void)state;
    assert_int_equal(forward(f, &whole_step), DIT_OK);
    for (int band = 0; band < BANDS; band++) {
        dit_window window = band_window(f, band, 5);
        expect_refusal(forward(f, &window), "are of step 0, not 4");
        window.left_out = 3;
        expect_refusal(forward(f, &window), "are of step 0, not 1");
        window.left_out = 4;
        assert_int_equal(forward(f, &window), DIT_OK);
    }
    for (int band = 0; band < BANDS; band++) assert_int_equal(forward_band(f, band, 6), DIT_OK);
    close_fixture(f);
}

/* Of a forward's two calls, one band left the second out. */
static void every_call_has_its_own_stamps(void **state)
{
    fixture *f = open_fixture(&(setup){.u = 1, .r = 1, .bands = BANDS});
    dit_window first = band_window(f, 0, 1), second = band_window(f, 1, 1);
    (void)state;
    dit_attention_begin(f->attention, &whole_step);
    for (int64_t call = 0; call < CALLS; call++) assert_int_equal(attend(f, &whole_step, call), DIT_OK);
    expect_refusal(attend(f, &whole_step, 0), "call 2 of a forward, K and V are kept of 2");
    assert_int_equal(forward(f, &first), DIT_OK);
    assert_int_equal(forward(f, &second), DIT_OK);
    expect_refusal(attend(f, &second, 1), "call 1, band 1 at step 1: K and V of band 0 are of step 0, not 1");
    close_fixture(f);
}

static void rows_that_are_no_band_are_refused(void **state)
{
    fixture *f = open_fixture(&(setup){.u = 1, .r = 1, .bands = BANDS, .text = true});
    dit_window window = band_window(f, 0, 1);
    (void)state;
    assert_int_equal(forward(f, &whole_step), DIT_OK);
    window.text = false;
    expect_refusal(forward(f, &window), "K and V of 2 rows for band 0, which has 10");
    window = band_window(f, 2, 1);
    window.band = 1;
    expect_refusal(forward(f, &window), "K and V of 3 rows for band 1, which has 2");
    window.band = BANDS;
    expect_refusal(forward(f, &window), "band 3 of 3");
    close_fixture(f);
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    const struct CMUnitTest together[] = {cmocka_unit_test(bands_see_the_store_in_every_mesh_of_the_ranks)};
    const struct CMUnitTest alone[] = {
        cmocka_unit_test(bands_see_the_store_in_every_mesh_of_the_ranks),
        cmocka_unit_test(every_token_is_there_once_and_rank_by_rank_it_would_not_be),
        cmocka_unit_test(bands_follow_each_other),
        cmocka_unit_test(memory_is_kept_for_every_call_and_only_in_a_pipeline),
        cmocka_unit_test(skipped_and_repeated_bands_and_steps_are_refused),
        cmocka_unit_test(steps_that_were_left_out_count_as_done),
        cmocka_unit_test(every_call_has_its_own_stamps),
        cmocka_unit_test(rows_that_are_no_band_are_refused),
    };
    if (argc < 2) return RUN_ON_EACH_ISA(alone, NULL, NULL);
    if (dit_comm_start("mpi", &argc, &argv) != DIT_OK) return 4;
    if (cmocka_run_group_tests(together, NULL, NULL) != 0) dit_comm_abort(1);
    dit_comm_finish();
    return 0;
}
