/* For test_displaced.sh, on any number of ranks: attention of displaced patches is, row by row, the plain softmax over
 * the keys that the method lets a rank know, each of the step that it may be of; what it sends is the closed form; a
 * second image does not see the first. And what it stands on: several all-gathers under way at once. Prints what is
 * wrong; exit 0: nothing.
 */
#include "base/patches.h"
#include "base/rng.h"
#include "engine/attention/attention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, HEADS = 3, SIZE = 4, WIDTH = HEADS * SIZE, LD = 3 * WIDTH, CALLS = 3, STEPS = 5, TEXT = 12 };
enum { OWN_ROWS = 5, MOST_RANKS = 6, MOST_ROWS = TEXT + OWN_ROWS * MOST_RANKS };
enum { Q, K, V };

static int problems, rank, size;

static void expect(bool holds, const char *name, const char *what)
{
    if (holds) return;
    printf("rank %d: %s: %s\n", rank, name, what);
    problems++;
}

/* ---- what is computed -------------------------------------------------------------------------------------------- */

typedef struct {
    char name[96];
    dit_parallel parallel;
    dit_facts facts;
    bool split;
    int64_t text, text_rows; /* of the model; of a rank */
} variant;

/* One row of q, k or v. Tokens: the text, then the image. */
static void draw(int image, int step, int call, int kind, int64_t batch, int64_t token, float row[WIDTH])
{
    uint64_t stream = (uint64_t)(((step + 1) * CALLS + call) * 3 + kind);
    dit_rng_normal((uint64_t)(40 + image), stream, (uint64_t)((batch * MOST_ROWS + token) * WIDTH), WIDTH, 0.0f, 1.0f,
                   row);
}

static float bias_of(int64_t batch, int64_t token, int64_t text)
{
    if (token >= text) return 0.0f;
    return token % 5 == 3 ? -INFINITY : 0.3f * (float)(token - 2 * batch);
}

/* Which token row `row` of rank `of` is. */
static int64_t token_of(const variant *v, int of, int64_t row)
{
    if (row < v->text_rows) return v->split ? of * v->text_rows + row : row;
    return v->text + of * OWN_ROWS + row - v->text_rows;
}

/* Video-Infinity, where every row is a frame: those next to the own ones, and global ones of every rank. */
static bool knows_frame(const dit_parallel *parallel, int of, int frame)
{
    int given = parallel->global_frames / size, halo = parallel->halo_frames;
    for (int i = 0; i < given; i++)
        if (frame == i * OWN_ROWS / given) return true;
    return (of == rank - 1 && frame >= OWN_ROWS - halo) || (of == rank + 1 && frame < halo);
}

/* Whether this rank knows row `row` of rank `of`, and then of which step, while it does step `step`. */
static bool knows(const variant *v, int step, int of, int64_t row, int *when)
{
    int64_t shared = dit_parallel_shared_rows(&v->parallel, OWN_ROWS), in_image = row - v->text_rows;
    bool synchronous = step < v->parallel.warmup_steps;
    *when = of == rank || synchronous || dit_parallel_cuts_frames(&v->parallel) ? step : step - 1;
    if (!v->split && row < v->text_rows) return of == rank;
    if (of == rank || synchronous) return true;
    switch (v->parallel.patch_method) {
    case DIT_PATCH_DISTRIFUSION: return true;
    case DIT_PATCH_PCPP:
        return (of == rank - 1 && in_image >= OWN_ROWS - shared) || (of == rank + 1 && in_image < shared);
    case DIT_PATCH_FRAMES: return knows_frame(&v->parallel, of, (int)in_image);
    default: return false;
    }
}

/* out[WIDTH]: softmax of one query over everything that is known, in double precision, two passes. */
static void attend_plainly(const variant *v, int image, int step, int call, int64_t batch, int64_t row,
                           double out[WIDTH])
{
    static double logits[MOST_RANKS][MOST_ROWS];
    static float q[WIDTH], k[WIDTH], value[WIDTH];
    double scale = 1.0 / sqrt((double)SIZE);
    int when;
    draw(image, step, call, Q, batch, token_of(v, rank, row), q);
    for (int h = 0; h < HEADS; h++) {
        double most = -INFINITY, total = 0;
        for (int of = 0; of < size; of++)
            for (int64_t i = 0; i < v->text_rows + OWN_ROWS; i++) {
                logits[of][i] = -INFINITY;
                if (!knows(v, step, of, i, &when)) continue;
                draw(image, when, call, K, batch, token_of(v, of, i), k);
                logits[of][i] = (double)bias_of(batch, token_of(v, of, i), v->text);
                for (int d = 0; d < SIZE; d++)
                    logits[of][i] += scale * (double)q[h * SIZE + d] * (double)k[h * SIZE + d];
                most = fmax(most, logits[of][i]);
            }
        for (int d = 0; d < SIZE; d++) out[h * SIZE + d] = 0;
        for (int of = 0; of < size; of++)
            for (int64_t i = 0; i < v->text_rows + OWN_ROWS; i++) {
                double weight = exp(logits[of][i] - most);
                if (weight == 0 || !knows(v, step, of, i, &when)) continue;
                draw(image, when, call, V, batch, token_of(v, of, i), value);
                total += weight;
                for (int d = 0; d < SIZE; d++) out[h * SIZE + d] += weight * (double)value[h * SIZE + d];
            }
        for (int d = 0; d < SIZE; d++) out[h * SIZE + d] /= total;
    }
}

/* ---- the policy -------------------------------------------------------------------------------------------------- */

/* One call: q, k and v side by side, as a model has them. Returns the largest error. */
static double run_call(const variant *v, dit_attention *attention, int image, int step, int call)
{
    static float qkv[BATCH * MOST_ROWS * LD], result[BATCH * MOST_ROWS * WIDTH];
    int64_t rows = v->text_rows + OWN_ROWS;
    double expected[WIDTH], worst = 0;
    for (int64_t i = 0; i < BATCH * rows; i++)
        for (int kind = Q; kind <= V; kind++)
            draw(image, step, call, kind, i / rows, token_of(v, rank, i % rows), qkv + i * LD + kind * WIDTH);
    dit_attention_io io = {.q = qkv, .k = qkv + K * WIDTH, .v = qkv + V * WIDTH, .ld = LD, .batch = rows * LD};
    io.out = result, io.ldo = WIDTH, io.batch_o = rows * WIDTH;
    if (dit_attention_forward(attention, &io) != DIT_OK) return INFINITY;
    for (int64_t i = 0; i < BATCH * rows; i++) {
        attend_plainly(v, image, step, call, i / rows, i % rows, expected);
        for (int d = 0; d < WIDTH; d++) worst = fmax(worst, fabs(expected[d] - (double)result[i * WIDTH + d]));
    }
    return worst;
}

static void run_image(const variant *v, dit_attention *attention, int image)
{
    int first = dit_parallel_has_fill(&v->parallel, &v->facts) ? DIT_STEP_FILL : 0;
    double worst = 0;
    for (int step = first; step < STEPS; step++) {
        dit_attention_begin(attention,
                            &(dit_window){.count = OWN_ROWS, .text = true, .band = DIT_WINDOW_ALL, .step = step});
        for (int call = 0; call < CALLS; call++) worst = fmax(worst, run_call(v, attention, image, step, call));
    }
    expect(worst < 1e-5, v->name, image ? "the second image is wrong" : "the result is wrong");
}

/* What one image sends. */
static void check_volume(const variant *v, const dit_comm_counters *counters)
{
    const dit_comm_counter *gather = &counters->at[DIT_AXIS_PATCH][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP];
    const dit_comm_counter *send = &counters->at[DIT_AXIS_PATCH][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP];
    dit_patch_method method = v->parallel.patch_method;
    int64_t row = 2 * BATCH * WIDTH * 4, n = OWN_ROWS + (v->split ? v->text_rows : 0);
    int64_t shared = dit_parallel_shared_rows(&v->parallel, OWN_ROWS);
    int64_t stale = dit_parallel_stale_steps(&v->parallel, &v->facts), sending = stale > 0 ? stale - 1 : 0;
    int64_t synchronous = STEPS - stale + dit_parallel_has_fill(&v->parallel, &v->facts);
    int64_t gathers = CALLS * (synchronous + (method == DIT_PATCH_DISTRIFUSION ? sending : 0)) * (size - 1);
    int64_t neighbours = (rank > 0) + (rank < size - 1), given = 0, global = 0;
    int64_t sends = method == DIT_PATCH_PCPP ? CALLS * sending * neighbours : 0;
    if (method == DIT_PATCH_FRAMES) {
        shared = v->parallel.halo_frames, given = v->parallel.global_frames / size;
        sends = shared ? CALLS * stale * neighbours : 0, global = given ? CALLS * stale * (size - 1) : 0;
    }
    expect(gather->messages == gathers + global && gather->bytes == gathers * n * row + global * given * row, v->name,
           "what is gathered");
    expect(send->messages == sends && send->bytes == sends * shared * row, v->name, "what neighbours get");
}

static void run_variant(const variant *v)
{
    float bias[BATCH * TEXT];
    dit_runtime rt = {0};
    dit_runtime_params params = {.backend = "cpu", .threads = 1, .parallel = v->parallel, .facts = v->facts};
    dit_attention *attention = NULL;
    dit_attention_shape shape = {.B = BATCH,
                                 .H = HEADS,
                                 .D = SIZE,
                                 .calls = CALLS,
                                 .tokens = v->text_rows + OWN_ROWS,
                                 .text = v->text_rows,
                                 .replicated = v->text && !v->split,
                                 .text_biases = v->text > 0};
    if (dit_runtime_init(&params, &rt) != DIT_OK || dit_attention_create(&rt, "auto", &shape, &attention) != DIT_OK)
        dit_comm_abort(4);
    expect(strcmp(dit_attention_name(attention), dit_patch_method_name(v->parallel.patch_method)) == 0, v->name,
           "\"auto\" is another policy");
    for (int i = 0; i < BATCH * TEXT; i++) bias[i] = bias_of(i / TEXT, i % TEXT, TEXT);
    if (v->text) dit_attention_set_text_bias(attention, bias, TEXT);
    int64_t calls = rt.ledger.calls;
    run_image(v, attention, 0);
    check_volume(v, &rt.counters);
    run_image(v, attention, 1);
    expect(rt.ledger.calls == calls, v->name, "a step allocates");
    dit_attention_free(attention);
    dit_runtime_release(&rt);
}

/* ---- variants ---------------------------------------------------------------------------------------------------- */

typedef enum { NO_TEXT, REPLICATED, SPLIT, LAYOUTS } layout;

static variant make_variant(dit_patch_method method, int warmup, layout text, double fraction)
{
    static const char *const texts[LAYOUTS] = {"without text", "text replicated", "text split"};
    variant v = {.split = text == SPLIT, .text = text == NO_TEXT ? 0 : TEXT};
    v.text_rows = v.split ? TEXT / size : v.text;
    v.parallel = (dit_parallel){.warmup_steps = warmup, .patch_method = method, .patch_fraction = fraction};
    v.parallel.degree[DIT_AXIS_PATCH] = size;
    if (text != NO_TEXT) v.parallel.joint_text = v.split ? DIT_JOINT_TEXT_SPLIT : DIT_JOINT_TEXT_REPLICATE;
    v.facts = (dit_facts){.heads = HEADS,
                          .head_dim = SIZE,
                          .image_tokens = (int64_t)OWN_ROWS * size,
                          .text_tokens = v.text,
                          .num_images = BATCH,
                          .guidance_branches = 1,
                          .steps = STEPS,
                          .joint = text != NO_TEXT};
    if (method == DIT_PATCH_FRAMES) {
        v.parallel.halo_frames = (int)lround(3 * fraction), v.parallel.global_frames = (int)lround(2 * fraction) * size;
        v.facts.latent.patch_t = 1, v.facts.latent.frames = v.facts.image_tokens;
    }
    snprintf(v.name, sizeof v.name, "%s, warmup_steps %d, %s, fraction %g", dit_patch_method_name(method), warmup,
             texts[text], fraction);
    return v;
}

static void run_variants(void)
{
    static const int warmups[] = {0, 1, 2, STEPS - 1, STEPS, STEPS + 3};
    static const double fractions[] = {0, 0.3, 1};
    for (int method = 0; method < DIT_PATCH_METHOD_COUNT; method++)
        for (size_t w = 0; w < sizeof warmups / sizeof *warmups; w++)
            for (int text = 0; text < LAYOUTS; text++)
                for (int f = 0; f < (method == DIT_PATCH_PCPP || method == DIT_PATCH_FRAMES ? 3 : 1); f++) {
                    variant v = make_variant((dit_patch_method)method, warmups[w], (layout)text, fractions[f]);
                    bool legal = text != SPLIT || (method == DIT_PATCH_DISTRIFUSION && TEXT % size == 0);
                    if (legal) run_variant(&v);
                }
}

/* What has no place: a policy that is not the mesh's, a layer without steps. */
static void check_refusals(void)
{
    variant v = make_variant(DIT_PATCH_PCPP, 1, NO_TEXT, 0);
    dit_runtime rt = {0};
    dit_runtime_params params = {.backend = "cpu", .threads = 1, .parallel = v.parallel, .facts = v.facts};
    dit_attention_shape shape = {.B = BATCH, .H = HEADS, .D = SIZE, .calls = CALLS, .tokens = OWN_ROWS};
    static const char *const others[] = {"local", "ring", "distrifusion", "naive-patch", "video-infinity"};
    dit_attention *attention = NULL;
    if (dit_runtime_init(&params, &rt) != DIT_OK) dit_comm_abort(4);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect(dit_attention_create(&rt, others[i], &shape, &attention) == DIT_ERR_CONSTRAINT_METHOD, others[i],
               "is not refused beside pcpp");
    shape.calls = 0;
    expect(dit_attention_create(&rt, "pcpp", &shape, &attention) == DIT_ERR_UNSUPPORTED, "pcpp", "takes one layer");
    dit_runtime_release(&rt);
}

/* ---- gathers in the background ----------------------------------------------------------------------------------- */

enum { UNDER_WAY = 7, MOST_FLOATS = 60000 }; /* eager messages, and such that need both sides */

static float value_of(int gather, int of, int i)
{
    return (float)(gather * 1000 + of * 100 + i % 97);
}

static void check_gathers(void)
{
    static float data[UNDER_WAY][MOST_RANKS * MOST_FLOATS];
    dit_comm_exchange exchange[UNDER_WAY];
    dit_comm_counters counters = {0};
    dit_parallel parallel = {.degree = {[DIT_AXIS_PATCH] = size}};
    const dit_comm_counter *counter = &counters.at[DIT_AXIS_PATCH][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_STEP];
    dit_comm *comm = NULL;
    bool right = true;
    int64_t bytes = 0;
    if (dit_comm_create(&parallel, DIT_AXIS_PATCH, &counters, &comm) != DIT_OK) dit_comm_abort(4);
    for (int g = 0; g < UNDER_WAY; g++) {
        int floats = g % 2 ? MOST_FLOATS - g : 5 + g;
        float *own = data[g] + rank * floats;
        for (int i = 0; i < floats; i++) own[i] = value_of(g, rank, i);
        right = right && dit_comm_all_gather_begin(comm, own, data[g], floats * 4, &exchange[g]) == DIT_OK;
        bytes += (size - 1) * floats * 4;
    }
    expect(right && counter->messages == (int64_t)UNDER_WAY * (size - 1) && counter->bytes == bytes, "gathers",
           "what is begun is not what is counted");
    for (int g = 0; g < UNDER_WAY; g++) {
        int floats = g % 2 ? MOST_FLOATS - g : 5 + g;
        dit_comm_exchange_poll(comm, &exchange[UNDER_WAY - 1]);
        right = right && dit_comm_exchange_wait(comm, &exchange[g]) == DIT_OK;
        for (int of = 0; of < size; of++)
            for (int i = 0; i < floats; i++) right = right && data[g][of * floats + i] == value_of(g, of, i);
    }
    expect(right && counter->bytes == bytes, "gathers", "not everybody's, or not in order");
    dit_comm_free(comm);
}

int main(int argc, char **argv)
{
    if (dit_comm_start("mpi", &argc, &argv) != DIT_OK) return 4;
    rank = dit_comm_rank(dit_comm_world()), size = dit_comm_size(dit_comm_world());
    if (size < 2 || size > MOST_RANKS) dit_comm_abort(4);
    check_gathers();
    check_refusals();
    run_variants();
    dit_comm_finish();
    return problems ? 1 : 0;
}
