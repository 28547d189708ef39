/* For test_shapes.sh: random legal shapes. A case is a function of the seed and its number: a model of the list, sizes,
 * text, layers, steps, and a mesh with its stages, bands, warm-up and patches.
 *
 *   shapes --models FILE --seed S --cases N count          every rank of every mesh of up to 64, without computing: no
 *                                                          error, bytes and messages of the closed form
 *   shapes ... --world W --folder DIR make                 on one rank: what meshes of W ranks must give, to DIR
 *   shapes ... --folder DIR run                            on W ranks: the same cases for real
 *
 * A run checks that there is no error, that latents are finite and sent is what the closed form says, that they are
 * those of one rank where the method is exact and of the oracle where steps are stale; and, every third time, that two
 * requests give the same bits in either order. FILE is what `ditbench expand --json` says. A case that takes more than
 * --limit seconds (60) is ended by an alarm; --hang N makes one. Prints what is wrong, with the case; exit 0: nothing.
 */
#include "base/architecture.h"
#include "base/case_facts.h"
#include "base/legality.h"
#include "base/rng.h"
#include "engine/case/pipeline.h"
#include "engine/results/record.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_MODELS = 64, MOST_RANKS = 64, MOST_DRAWS = 400, ORDER_EVERY = 3 };
static const double TOLERANCE = 1e-5;

typedef struct {
    const char *models_path, *folder;
    uint64_t seed;
    int cases, world, limit_s, hang; /* hang: the case that never ends, -1: none */
    dit_json list;
    const cJSON *models[MOST_MODELS];
    int model_count;
} setup;

/* What was seen, so that the output says what the test is worth. */
typedef enum { EXACT, PIPEFUSION, DISTRIFUSION, PCPP, NAIVE_PATCH, VIDEO_INFINITY, KIND_COUNT } kind;
static const char *const kind_names[KIND_COUNT] = {"exact", "pipefusion",  "distrifusion",
                                                   "pcpp",  "naive-patch", "video-infinity"};
typedef struct {
    int64_t cases, refused, ranks, stale, filled, ordered, kinds[KIND_COUNT], ordered_kinds[KIND_COUNT];
    double worst;
    int problems;
} tally;

/* ---- a case that hangs ------------------------------------------------------------------------------------------- */

static char alarm_text[128];

static void on_alarm(int signal_number)
{
    (void)signal_number;
    ssize_t written = write(STDOUT_FILENO, alarm_text, strlen(alarm_text));
    _exit(written < 0 ? 4 : 3);
}

static void watch(const setup *s, int index)
{
    snprintf(alarm_text, sizeof alarm_text, "case %d of seed %llu does not end within %d s\n", index,
             (unsigned long long)s->seed, s->limit_s);
    alarm((unsigned)s->limit_s);
    while (index == s->hang) pause();
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

typedef struct {
    uint64_t seed, stream, index;
} dice;

static int64_t roll(dice *d, int64_t least, int64_t greatest)
{
    return least + (int64_t)dit_rng_below(d->seed, d->stream, d->index++, (uint64_t)(greatest - least + 1));
}

typedef struct {
    cJSON *document; /* owned */
    dit_parallel parallel;
    dit_facts facts;
    kind kind;
} drawn;

static cJSON *member(cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static void set_number(cJSON *object, const char *key, double value)
{
    if (member(object, key))
        cJSON_ReplaceItemInObjectCaseSensitive(object, key, cJSON_CreateNumber(value));
    else
        cJSON_AddNumberToObject(object, key, value);
}

static double number_or(cJSON *object, const char *key, double otherwise)
{
    const cJSON *item = member(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

/* Layers in pairs where each feeds another. Text where the config leaves its length open. */
static void draw_model(dice *d, cJSON *model, int64_t most_layers)
{
    cJSON *config = member(model, "config");
    const dit_architecture *architecture = dit_architecture_find(cJSON_GetStringValue(member(config, "_class_name")));
    int64_t layers = roll(d, 1, most_layers);
    set_number(config, "num_layers", (double)(architecture->paired ? 2 * ((layers + 1) / 2) : layers));
    if (member(config, "num_single_layers")) set_number(config, "num_single_layers", (double)roll(d, 1, most_layers));
    if (!architecture->text_keys[0]) set_number(member(model, "text"), "tokens", (double)roll(d, 1, 48));
}

/* Few tokens, sizes that are seldom powers of two. */
static void draw_run(dice *d, cJSON *document)
{
    cJSON *run = member(document, "run"), *latent = member(member(document, "model"), "latent");
    double pixels = number_or(latent, "vae_spatial", 8), temporal = number_or(latent, "vae_temporal", 1);
    const cJSON *patch = member(latent, "patch");
    pixels *= cJSON_GetArrayItem(patch, cJSON_GetArraySize(patch) - 1)->valuedouble;
    set_number(run, "height_px", pixels * (double)roll(d, 1, 9));
    set_number(run, "width_px", pixels * (double)roll(d, 1, 9));
    if (member(run, "num_frames")) set_number(run, "num_frames", 1 + temporal * (double)roll(d, 0, 3));
    int64_t steps = roll(d, 1, 4);
    const char *name = cJSON_GetStringValue(member(member(document, "model"), "name"));
    if (strcmp(name, "mochi-1") == 0 && steps == 1) steps = 2; /* its schedule has two halves */
    set_number(run, "num_inference_steps", (double)steps);
    set_number(run, "num_images", (double)roll(d, 1, 2));
    set_number(run, "seed", (double)roll(d, 0, 1 << 20));
    cJSON *reference = member(run, "reference"); /* of a size of its own */
    if (!reference) return;
    set_number(reference, "height_px", pixels * (double)roll(d, 1, 9));
    set_number(reference, "width_px", pixels * (double)roll(d, 1, 9));
}

/* The prime factors of `world` fall on axes that go together; the first one mostly on what the list is about. */
static void draw_degrees(dice *d, int world, dit_parallel *out)
{
    enum { AXES = 6 };
    static const dit_axis lists[][AXES] = {
        {DIT_AXIS_PIPEFUSION, DIT_AXIS_ULYSSES, DIT_AXIS_RING, DIT_AXIS_TENSOR, DIT_AXIS_CFG, DIT_AXIS_DATA},
        {DIT_AXIS_PATCH, DIT_AXIS_PATCH, DIT_AXIS_PATCH, DIT_AXIS_TENSOR, DIT_AXIS_CFG, DIT_AXIS_DATA},
        {DIT_AXIS_ULYSSES, DIT_AXIS_RING, DIT_AXIS_TENSOR, DIT_AXIS_PATCH, DIT_AXIS_PIPEFUSION, DIT_AXIS_CFG}};
    const dit_axis *axes = lists[roll(d, 0, 4) / 2];
    bool first = roll(d, 0, 3) > 0;
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) out->degree[axis] = 1;
    for (int prime = 2; world > 1; prime++)
        for (; world % prime == 0; world /= prime, first = false)
            out->degree[axes[first ? 0 : roll(d, 0, AXES - 1)]] *= prime;
}

static void draw_stages(dice *d, int64_t layers, dit_parallel *out)
{
    int stages = out->degree[DIT_AXIS_PIPEFUSION];
    int64_t left = layers - stages;
    if (stages == 1 || stages > DIT_MAX_STAGES || left < 0 || roll(d, 0, 1)) return;
    for (int i = 0; i < stages; i++) {
        int64_t extra = i == stages - 1 ? left : roll(d, 0, left);
        out->stage_blocks[i] = (int)(1 + extra);
        left -= extra;
    }
}

static void draw_mesh(dice *d, int world, const dit_facts *facts, dit_parallel *out)
{
    *out = (dit_parallel){.rows_degree = 1, .joint_text = (dit_joint_text)roll(d, 0, DIT_JOINT_TEXT_COUNT - 1)};
    draw_degrees(d, world, out);
    if (out->degree[DIT_AXIS_PIPEFUSION] == 1 && out->degree[DIT_AXIS_PATCH] == 1) return;
    out->warmup_steps = (int)roll(d, 0, 1) ? 0 : (int)roll(d, 0, facts->steps + 1);
    out->patch_method = (dit_patch_method)roll(d, 0, DIT_PATCH_METHOD_COUNT - 1);
    if (out->degree[DIT_AXIS_PATCH] > 1 && roll(d, 0, 1)) out->patch_fraction = (double)roll(d, 1, 10) / 10;
    out->halo_frames = (int)roll(d, 0, 1), out->global_frames = (int)roll(d, 0, 1) * out->degree[DIT_AXIS_PATCH];
    if (out->degree[DIT_AXIS_PIPEFUSION] == 1) return;
    out->num_pipeline_patch = (int)roll(d, 0, 7);
    draw_stages(d, facts->layers, out);
}

static kind kind_of(const dit_parallel *parallel)
{
    if (parallel->degree[DIT_AXIS_PIPEFUSION] > 1) return PIPEFUSION;
    if (parallel->degree[DIT_AXIS_PATCH] == 1) return EXACT;
    return (kind)(DISTRIFUSION + (int)parallel->patch_method);
}

static dit_json view_of(cJSON *document)
{
    return (dit_json){.root = document, .path = (char *)(uintptr_t) "<drawn>"};
}

/* {"parallel": mesh} in place of what is there, under `key`. */
static bool set_mesh(cJSON *document, const char *key, const dit_parallel *parallel)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_DeleteItemFromObjectCaseSensitive(document, key);
    return cJSON_AddItemToObject(document, key, object) && dit_parallel_to_json(parallel, object) == DIT_OK;
}

/* A mesh that is not legal must be refused by the engine, and for the same reason. */
static void expect_refusal(const drawn *c, dit_status reason, tally *t)
{
    dit_json view = view_of(c->document);
    dit_pipeline pipeline;
    dit_status st = dit_pipeline_create_counting(&view, 0, NULL, &pipeline);
    if (st != reason) {
        printf("refused as %s, the engine says %s: %s\n", dit_status_name(reason), dit_status_name(st),
               dit_error_last()->message);
        t->problems++;
    }
    dit_pipeline_release(&pipeline);
    t->refused++;
}

static bool draw_once(const setup *s, dice *d, int world, drawn *out, tally *t)
{
    int64_t most_layers = world > 4 ? 10 : 4;
    *out = (drawn){.document = cJSON_Duplicate(s->models[roll(d, 0, s->model_count - 1)], true)};
    dit_json view = view_of(out->document);
    draw_model(d, member(out->document, "model"), most_layers);
    draw_run(d, out->document);
    cJSON_ReplaceItemInObjectCaseSensitive(out->document, "attention", cJSON_CreateString("auto"));
    if (dit_facts_from_case(&view, out->document, "", &out->facts) != DIT_OK) return false;
    draw_mesh(d, world, &out->facts, &out->parallel);
    set_number(member(out->document, "run"), "num_images",
               (double)(out->facts.num_images * out->parallel.degree[DIT_AXIS_DATA]));
    if (!set_mesh(out->document, "parallel", &out->parallel)) return false;
    if (dit_facts_from_case(&view, out->document, "", &out->facts) != DIT_OK) return false;
    dit_status reason = dit_parallel_check(&out->parallel, &out->facts);
    out->kind = kind_of(&out->parallel);
    if (reason != DIT_OK) expect_refusal(out, reason, t);
    return reason == DIT_OK;
}

/* Case `index` of the seed: the first legal one that its stream gives. */
static bool draw_case(const setup *s, int index, int world, drawn *out, tally *t)
{
    char name[64];
    snprintf(name, sizeof name, "case %d of %d ranks", index, world);
    dice d = {s->seed, dit_rng_stream(name), 0};
    if (world == 0) world = (int)roll(&d, 1, MOST_RANKS);
    for (int i = 0; i < MOST_DRAWS; i++) {
        if (draw_once(s, &d, world, out, t)) return true;
        cJSON_Delete(out->document);
        dit_error_clear();
    }
    printf("case %d: nothing legal in %d draws\n", index, MOST_DRAWS);
    t->problems++;
    return false;
}

static void complain(const setup *s, int index, const drawn *c, const char *what, tally *t)
{
    char *text = cJSON_PrintUnformatted(c->document);
    printf("seed %llu case %d, rank %d: %s: %s\n%s\n", (unsigned long long)s->seed, index,
           dit_comm_rank(dit_comm_world()), what, dit_error_last()->message, text ? text : "");
    free(text);
    t->problems++;
    dit_error_clear();
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static dit_status check_sent(const dit_pipeline *p, int rank)
{
    dit_volume_table table;
    dit_volume_predict(&p->rt.parallel, &p->rt.facts, rank, &table);
    return dit_volume_check(&p->rt.counters, &table, rank, 0);
}

static dit_status count_rank(const drawn *c, int rank)
{
    dit_json view = view_of(c->document);
    dit_pipeline pipeline;
    int64_t elapsed_ns;
    dit_status st = dit_pipeline_create_counting(&view, rank, NULL, &pipeline);
    dit_runtime_reset_account(&pipeline.rt);
    if (st == DIT_OK) st = dit_pipeline_run(&pipeline, NULL, &elapsed_ns);
    if (st == DIT_OK) st = check_sent(&pipeline, rank);
    dit_pipeline_release(&pipeline);
    return st;
}

static void note(const drawn *c, tally *t)
{
    t->cases++;
    t->kinds[c->kind]++;
    t->stale += dit_parallel_stale_steps(&c->parallel, &c->facts) > 0;
    t->filled += dit_parallel_has_fill(&c->parallel, &c->facts);
}

static void count_case(const setup *s, int index, tally *t)
{
    drawn c;
    watch(s, index);
    if (!draw_case(s, index, 0, &c, t)) return;
    note(&c, t);
    for (int rank = 0; rank < dit_parallel_world_size(&c.parallel); rank++, t->ranks++) {
        if (count_rank(&c, rank) == DIT_OK) continue;
        complain(s, index, &c, "counting", t);
        break;
    }
    cJSON_Delete(c.document);
}

/* ---- what must come out ------------------------------------------------------------------------------------------ */

static int64_t latent_elements(const dit_pipeline *p)
{
    return p->rt.facts.num_images * dit_facts_latent_tokens(&p->rt.facts) * p->sampler.channels;
}

static void result_path(const setup *s, int index, char out[4096])
{
    snprintf(out, 4096, "%s/%d-%d.latents", s->folder, s->world, index);
}

static dit_status write_latents(const dit_pipeline *p, const char *path)
{
    size_t elements = (size_t)latent_elements(p);
    FILE *file = fopen(path, "wb");
    if (!file) return DIT_FAIL(DIT_ERR_IO, "cannot write %s", path);
    bool written = fwrite(p->sampler.full, sizeof(float), elements, file) == elements;
    return fclose(file) == 0 && written ? DIT_OK : DIT_FAIL(DIT_ERR_IO, "cannot write %s", path);
}

/* One rank: the exact latents, or with stale steps the oracle's. */
static void make_case(const setup *s, int index, tally *t)
{
    drawn c;
    char path[4096];
    int64_t elapsed_ns;
    dit_pipeline pipeline = {0};
    watch(s, index);
    if (!draw_case(s, index, s->world, &c, t)) return;
    note(&c, t);
    result_path(s, index, path);
    dit_json view = view_of(c.document);
    bool stale = dit_parallel_stale_steps(&c.parallel, &c.facts) > 0;
    cJSON_DeleteItemFromObjectCaseSensitive(c.document, "parallel");
    cJSON_AddItemToObject(c.document, "parallel", cJSON_CreateObject());
    dit_parallel emulated = dit_parallel_emulated(&c.parallel, &c.facts);
    if (stale && !set_mesh(c.document, "emulates", &emulated)) t->problems++;
    dit_status st = dit_pipeline_create(&view, &pipeline);
    if (st == DIT_OK) st = dit_pipeline_run(&pipeline, NULL, &elapsed_ns);
    if (st == DIT_OK) st = write_latents(&pipeline, path);
    if (st != DIT_OK) complain(s, index, &c, "one rank", t);
    dit_pipeline_release(&pipeline);
    cJSON_Delete(c.document);
}

/* ---- the real thing ---------------------------------------------------------------------------------------------- */

static dit_status read_latents(const char *path, float *out, int64_t elements)
{
    FILE *file = fopen(path, "rb");
    if (!file) return DIT_FAIL(DIT_ERR_IO, "cannot read %s", path);
    bool whole = fread(out, sizeof *out, (size_t)elements, file) == (size_t)elements && fgetc(file) == EOF;
    fclose(file);
    return whole ? DIT_OK : DIT_FAIL(DIT_ERR_SHAPE, "%s is not of %lld elements", path, (long long)elements);
}

static dit_status compare(const setup *s, int index, const dit_pipeline *p, tally *t)
{
    int64_t elements = latent_elements(p);
    char path[4096];
    double difference = 0, norm = 0;
    float *expected = malloc((size_t)elements * sizeof *expected);
    result_path(s, index, path);
    dit_status st = expected ? read_latents(path, expected, elements) : DIT_FAIL(DIT_ERR_MEMORY, "no memory");
    for (int64_t i = 0; st == DIT_OK && i < elements; i++) {
        difference += pow((double)p->sampler.full[i] - (double)expected[i], 2);
        norm += pow((double)expected[i], 2);
    }
    free(expected);
    if (st != DIT_OK) return st;
    double distance = sqrt(difference / norm);
    if (distance > t->worst) t->worst = distance;
    return distance <= TOLERANCE ? DIT_OK
                                 : DIT_FAIL(DIT_ERR_MISMATCH, "relative L2 %.3g from what must come out", distance);
}

/* Another request of the same size: other noise and another text. */
static dit_status request(dit_pipeline *p, uint64_t seed, float *latents)
{
    int64_t elapsed_ns;
    p->sampler.seed = seed;
    DIT_TRY(dit_condition_seed(&p->rt, &p->partition, p->model->needs, seed, &p->kase.run, &p->condition));
    DIT_TRY(dit_pipeline_run(p, NULL, &elapsed_ns));
    memcpy(latents, p->sampler.full, (size_t)latent_elements(p) * sizeof *latents);
    return DIT_OK;
}

/* One pipeline serves A, then B; another one B, then A: every answer has the same bits in both. */
static dit_status check_orders(const drawn *c, dit_pipeline *first)
{
    dit_json view = view_of(c->document);
    dit_pipeline second;
    int64_t elements = latent_elements(first);
    uint64_t A = first->kase.seed + 1, B = first->kase.seed + 2;
    float *latents = malloc(4 * (size_t)elements * sizeof *latents);
    dit_status st = latents ? dit_pipeline_create(&view, &second) : DIT_FAIL(DIT_ERR_MEMORY, "no memory");
    if (!latents) return st;
    if (st == DIT_OK) st = request(first, A, latents);
    if (st == DIT_OK) st = request(first, B, latents + elements);
    if (st == DIT_OK) st = request(&second, B, latents + 3 * elements);
    if (st == DIT_OK) st = request(&second, A, latents + 2 * elements);
    if (st == DIT_OK && memcmp(latents, latents + 2 * elements, 2 * (size_t)elements * sizeof *latents) != 0)
        st = DIT_FAIL(DIT_ERR_MISMATCH, "what a request gets depends on the one before");
    if (st == DIT_OK && memcmp(latents, latents + elements, (size_t)elements * sizeof *latents) == 0)
        st = DIT_FAIL(DIT_ERR_MISMATCH, "two requests got the same");
    dit_pipeline_release(&second);
    free(latents);
    return st;
}

static dit_status run_real(const setup *s, int index, const drawn *c, tally *t)
{
    dit_json view = view_of(c->document);
    dit_pipeline pipeline;
    int64_t elapsed_ns;
    dit_status st = dit_pipeline_create(&view, &pipeline);
    dit_runtime_reset_account(&pipeline.rt);
    if (st == DIT_OK) st = dit_pipeline_run(&pipeline, NULL, &elapsed_ns);
    if (st == DIT_OK) st = check_sent(&pipeline, dit_comm_rank(dit_comm_world()));
    if (st == DIT_OK) st = compare(s, index, &pipeline, t);
    if (st == DIT_OK && index % ORDER_EVERY == 0) {
        st = check_orders(c, &pipeline);
        t->ordered++;
        t->ordered_kinds[c->kind]++;
    }
    dit_pipeline_release(&pipeline);
    return st;
}

static void run_case(const setup *s, int index, tally *t)
{
    drawn c;
    watch(s, index);
    if (!draw_case(s, index, s->world, &c, t)) return;
    note(&c, t);
    t->ranks += s->world;
    if (run_real(s, index, &c, t) != DIT_OK) {
        complain(s, index, &c, "run", t);
        fflush(stdout);
        if (s->world > 1) dit_comm_abort(6); /* its peers wait */
    }
    cJSON_Delete(c.document);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static bool load_models(setup *s)
{
    cJSON *item;
    if (dit_json_read_file(s->models_path, &s->list) != DIT_OK) return false;
    cJSON_ArrayForEach(item, member(s->list.root, "kept"))
    {
        if (cJSON_IsTrue(member(item, "is_reference")) && s->model_count < MOST_MODELS)
            s->models[s->model_count++] = member(item, "case");
    }
    return s->model_count > 0;
}

static const char *option(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0) return argv[i + 1];
    return otherwise;
}

static void print_tally(const setup *s, const char *what, const tally *t)
{
    printf("%s: seed %llu, %lld cases of %d models on %lld ranks, %lld refused; %lld stale, %lld filled, %lld in two "
           "orders; worst %.3g;",
           what, (unsigned long long)s->seed, (long long)t->cases, s->model_count, (long long)t->ranks,
           (long long)t->refused, (long long)t->stale, (long long)t->filled, (long long)t->ordered, t->worst);
    for (int i = 0; i < KIND_COUNT; i++)
        printf(" %s %lld/%lld", kind_names[i], (long long)t->kinds[i], (long long)t->ordered_kinds[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*one)(const setup *s, int index, tally *t);
    } verbs[] = {{"count", count_case}, {"make", make_case}, {"run", run_case}};
    const char *what = argv[argc - 1];
    setup s = {.models_path = option(argc, argv, "--models", ""),
               .folder = option(argc, argv, "--folder", "."),
               .seed = strtoull(option(argc, argv, "--seed", "1"), NULL, 10),
               .cases = atoi(option(argc, argv, "--cases", "100")),
               .world = atoi(option(argc, argv, "--world", "0")),
               .limit_s = atoi(option(argc, argv, "--limit", "60")),
               .hang = atoi(option(argc, argv, "--hang", "-1"))};
    tally t = {0};
    if (dit_comm_start("mpi", &argc, &argv) != DIT_OK || !load_models(&s)) return 4;
    bool alone = strcmp(what, "run") != 0;
    int rank = dit_comm_rank(dit_comm_world()), ranks = dit_comm_size(dit_comm_world());
    if (!alone) s.world = ranks;
    signal(SIGALRM, on_alarm);
    for (size_t verb = 0; verb < sizeof verbs / sizeof *verbs; verb++)
        for (int i = 0; strcmp(verbs[verb].name, what) == 0 && i < s.cases; i++)
            if (!alone || i % ranks == rank) verbs[verb].one(&s, i, &t);
    alarm(0);
    if (alone || rank == 0) print_tally(&s, what, &t);
    dit_json_release(&s.list);
    dit_comm_finish();
    return t.problems || t.cases == 0 ? 1 : 0;
}
