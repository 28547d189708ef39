/* For test_matrix.sh: every model class with every method, as the registries list them.
 *
 *   matrix --models FILE --methods FILE --overrides FILE --variants N [--most-ranks N] [--method NAME,...]
 *           --resolution WxH write
 *       Prints a workload: the models that are built, cut to the small ones of exact.json, times every method of
 *       program denoise on 2, 4 or 8 ranks, N at most (8) or the least that it takes; approximate ones with the first
 *       N of 1, 0 and all steps synchronous; --method NAME,... names the only ones. FILEs are `ditbench list models
 *       --json`, `list methods --json` and exact.json.
 *       With --caches FILE, a list of settings, only methods that are exact, with each cache and without; with
 *       --approximate yes only the others, with each cache.
 *   matrix --plan FILE --folder DIR [--backend NAME] [--element NAME] [--graphs no] [--model NAME,...]
 *           [--method NAME,...] [--offload TIER --policy NAME --depth N --room N] run
 *       Runs the cases of `ditbench expand --json` that have as many ranks as there are, in this one launch, on a
 *       backend other than theirs, or only those of some models and methods; those of one rank leave their latents in
 *       DIR for the others. With --offload, weights of blocks stream, with room for N of the largest; the latents then
 *       have the bits of the case without, too.
 *
 * A cached case also decides as its oracle does, again alike in a second run, and gives the same bits when its decisions
 * are replayed; one that reuses nothing gives the bits of the run without a cache.
 *
 * A case passes when it sends what the closed form says, when its memory by class, to the byte, and its flops are what
 * is counted without computing, on every rank, and when its latents are those of one rank, or with stale steps of the
 * oracle. Prints a line for each: MODEL METHOD RANKS W ok|wrong and the distances; on one rank also one for each cell
 * that is not legal: MODEL METHOD RANKS W skip REASON. Exit 0: none is wrong.
 */
#include "base/architecture.h"
#include "base/footprint.h"
#include "engine/case/pipeline.h"
#include "engine/results/measure.h"
#include "engine/results/record.h"
#include "engine/results/reference.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEPS = 3, CACHED_STEPS = 7, BLOCKS = 5, TEXT_TOKENS = 62, CASE_SECONDS = 60, MOST_RANKS = 8 };

static cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const char *text_of(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(member(object, key));
    return text ? text : "";
}

static double number_or(const cJSON *object, const char *key, double otherwise)
{
    const cJSON *item = member(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

static void append_number(cJSON *list, double value)
{
    cJSON_AddItemToArray(list, cJSON_CreateNumber(value));
}

static void append_text(cJSON *list, const char *text)
{
    cJSON_AddItemToArray(list, cJSON_CreateString(text));
}

static void set_number(cJSON *object, const char *key, double value)
{
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    cJSON_AddNumberToObject(object, key, value);
}

/* Whether `list`, words between commas, has the word; an empty one has all. */
static bool lists(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncmp(at, word, length) == 0) return true;
    return !*list;
}

/* ---- write: models ----------------------------------------------------------------------------------------------- */

/* The class of a model by its name in the registry; "" where it is not built. */
static const char *class_of(const cJSON *models, const char *name)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, models)
    {
        if (strcmp(text_of(item, "name"), name) == 0) return text_of(item, "class");
    }
    return "";
}

/* Enough blocks for four stages, not all alike; in pairs where each feeds another. */
static cJSON *with_blocks(const cJSON *model, const char *class_name)
{
    cJSON *copy = cJSON_Duplicate(model, true), *override = member(copy, "override");
    const dit_architecture *architecture = dit_architecture_find(class_name);
    const char *first = architecture ? architecture->kinds[0].key : "num_layers";
    const char *second = architecture ? architecture->kinds[1].key : NULL;
    bool paired = architecture && architecture->paired, two = second && member(override, second);
    set_number(override, first, paired ? BLOCKS + 1 : two ? 2 : BLOCKS);
    if (two) set_number(override, second, BLOCKS - 2);
    return copy;
}

/* Text that two ranks can split and four cannot, where the config leaves its length open. */
static double text_tokens(const cJSON *override, const char *class_name)
{
    const dit_architecture *architecture = dit_architecture_find(class_name);
    double own = 0;
    for (int i = 0; i < 2 && architecture && architecture->text_keys[i]; i++)
        own += number_or(override, architecture->text_keys[i], 0);
    return own > 0 ? own : TEXT_TOKENS;
}

static bool has_class(const cJSON *models, const cJSON *tied, const char *class_name)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, member(tied, "model"))
    {
        if (strcmp(class_of(models, text_of(item, "name")), class_name) == 0) return true;
    }
    return false;
}

/* Returns how many classes that are built have no small model. */
static int add_models(const cJSON *models, const cJSON *overrides, cJSON *zip)
{
    const cJSON *source = member(overrides, "zip")->child, *frames = member(source, "num_frames"), *item;
    cJSON *tied = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(tied, "model");
    cJSON *clips = cJSON_AddArrayToObject(tied, "num_frames"), *text = cJSON_AddArrayToObject(tied, "text_tokens");
    int index = 0, missing = 0;
    cJSON_AddItemToArray(zip, tied);
    cJSON_ArrayForEach(item, member(source, "model"))
    {
        const char *class_name = class_of(models, text_of(item, "name"));
        cJSON_AddItemToArray(list, with_blocks(item, class_name));
        append_number(clips, cJSON_GetArrayItem(frames, index++)->valuedouble);
        append_number(text, text_tokens(member(item, "override"), class_name));
    }
    cJSON_ArrayForEach(item, models)
    {
        if (!cJSON_IsTrue(member(item, "runnable")) || has_class(models, tied, text_of(item, "class"))) continue;
        fprintf(stderr, "class %s (%s) has no small model in exact.json\n", text_of(item, "class"),
                text_of(item, "name"));
        missing++;
    }
    return missing;
}

/* ---- write: methods ---------------------------------------------------------------------------------------------- */

static void add_cell(cJSON *tied, const char *method, int ranks, int warmup_steps)
{
    append_text(member(tied, "method"), method);
    append_number(member(tied, "world_size"), ranks);
    append_number(member(tied, "warmup_steps"), warmup_steps);
}

typedef struct {
    int most_variants, most_ranks;
    const char *resolution, *methods; /* of methods "": all */
    const cJSON *caches;              /* NULL: none */
    bool approximate;                 /* with caches: of approximate methods, else of exact ones */
} breadth;

static void add_method(const cJSON *method, const breadth *wanted, cJSON *tied)
{
    static const int warmup_steps[] = {1, 0, STEPS};
    const char *name = text_of(method, "name");
    int least = (int)number_or(method, "least_ranks", 1), most = least == 1 ? 1 : least > 4 ? 8 : 4;
    int variants = cJSON_IsTrue(member(method, "exact")) ? 1 : wanted->most_variants;
    if (most > wanted->most_ranks) most = wanted->most_ranks > least ? wanted->most_ranks : least;
    for (int ranks = least; ranks <= most; ranks *= 2)
        for (int i = 0; i < variants; i++) add_cell(tied, name, ranks, warmup_steps[i]);
}

/* Caches beside approximate methods stand alone, but for one rank without a cache, which they differ from. */
static bool is_asked(const cJSON *method, const breadth *wanted)
{
    bool exact = cJSON_IsTrue(member(method, "exact"));
    if (!lists(wanted->methods, text_of(method, "name"))) return false;
    if (!wanted->caches) return true;
    return wanted->approximate ? !exact || strcmp(text_of(method, "name"), "single") == 0 : exact;
}

static void add_methods(const cJSON *methods, const breadth *wanted, cJSON *zip)
{
    static const char *const keys[] = {"method", "world_size", "warmup_steps"};
    const cJSON *item;
    cJSON *tied = cJSON_CreateObject();
    cJSON_AddItemToArray(zip, tied);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) cJSON_AddArrayToObject(tied, keys[i]);
    cJSON_ArrayForEach(item, methods)
    {
        if (!is_asked(item, wanted)) continue;
        if (strcmp(text_of(item, "program"), "denoise") == 0) add_method(item, wanted, tied);
    }
}

static int write_workload(const cJSON *models, const cJSON *methods, const cJSON *overrides, const breadth *wanted)
{
    cJSON *root = cJSON_CreateObject(), *defaults, *zip;
    cJSON_AddStringToObject(root, "schema", "ditbench.workload/1");
    cJSON_AddStringToObject(root, "name", "matrix");
    cJSON_AddStringToObject(root, "program", "denoise");
    defaults = cJSON_AddObjectToObject(root, "defaults");
    cJSON_AddStringToObject(defaults, "platform", "local-cpu");
    cJSON_AddNumberToObject(defaults, "threads_per_rank", 1);
    cJSON_AddStringToObject(defaults, "resolution", wanted->resolution);
    cJSON_AddNumberToObject(defaults, "num_images", 2);
    cJSON_AddNumberToObject(defaults, "num_inference_steps", wanted->caches ? CACHED_STEPS : STEPS);
    if (wanted->caches) {
        cJSON *axes = cJSON_AddObjectToObject(root, "axes");
        cJSON_AddItemToObject(axes, "cache", cJSON_Duplicate(wanted->caches, true));
    }
    if (wanted->approximate) {
        cJSON *exclude = cJSON_AddArrayToObject(root, "exclude");
        append_text(exclude, "method == 'single' && cache != 'none'");
        append_text(exclude, "method != 'single' && cache == 'none'");
    }
    zip = cJSON_AddArrayToObject(root, "zip");
    int missing = add_models(member(models, "models"), overrides, zip);
    add_methods(member(methods, "methods"), wanted, zip);
    char *text = cJSON_Print(root);
    puts(text ? text : "");
    free(text);
    cJSON_Delete(root);
    return missing;
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

typedef struct {
    const cJSON *cases, *entry, *document; /* all that are kept; this one, and its case */
    const char *folder;
    dit_pipeline pipeline;
    double exact, oracle; /* distances; NAN: none */
} cell;

static char alarm_text[256];

static void on_alarm(int signal_number)
{
    (void)signal_number;
    ssize_t written = write(STDOUT_FILENO, alarm_text, strlen(alarm_text));
    _exit(written < 0 ? 4 : 3);
}

static int64_t latent_elements(const cell *c)
{
    return c->pipeline.rt.facts.num_images * dit_facts_latent_tokens(&c->pipeline.rt.facts) *
           c->pipeline.sampler.channels;
}

static dit_json view_of(const cell *c)
{
    return (dit_json){.root = (cJSON *)(uintptr_t)c->document, .path = (char *)(uintptr_t) "<matrix>"};
}

static FILE *open_latents(const cell *c, const char *id, const char *mode)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.latents", c->folder, id);
    return fopen(path, mode);
}

static dit_status keep(const cell *c)
{
    size_t elements = (size_t)latent_elements(c);
    FILE *file = open_latents(c, text_of(c->entry, "case_id"), "wb");
    if (!file) return DIT_FAIL(DIT_ERR_IO, "cannot write latents to %s", c->folder);
    bool written = fwrite(c->pipeline.sampler.full, sizeof(float), elements, file) == elements;
    return fclose(file) == 0 && written ? DIT_OK : DIT_FAIL(DIT_ERR_IO, "cannot write latents to %s", c->folder);
}

static dit_status distance_to(const cell *c, const char *id, double *out)
{
    int64_t elements = latent_elements(c);
    double difference = 0, norm = 0;
    float *there = malloc((size_t)elements * sizeof *there);
    FILE *file = there ? open_latents(c, id, "rb") : NULL;
    bool whole = file && fread(there, sizeof *there, (size_t)elements, file) == (size_t)elements && fgetc(file) == EOF;
    for (int64_t i = 0; whole && i < elements; i++) {
        difference += pow((double)c->pipeline.sampler.full[i] - (double)there[i], 2);
        norm += pow((double)there[i], 2);
    }
    if (file) fclose(file);
    free(there);
    *out = sqrt(difference / norm);
    return whole ? DIT_OK
                 : DIT_FAIL(DIT_ERR_IO, "there are no latents of %s for %lld numbers", id, (long long)elements);
}

static const char *reference_of(const cell *c)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, c->cases)
    {
        bool same = strcmp(text_of(item, "reference_id"), text_of(c->entry, "reference_id")) == 0;
        if (same && cJSON_IsTrue(member(item, "is_reference"))) return text_of(item, "case_id");
    }
    return "no reference";
}

static dit_status judge_latents(cell *c)
{
    bool stale =
        dit_parallel_stale_steps(&c->pipeline.rt.parallel, &c->pipeline.rt.facts) > 0 || c->pipeline.sampler.cache;
    DIT_TRY(distance_to(c, reference_of(c), &c->exact));
    if (stale) DIT_TRY(distance_to(c, text_of(c->entry, "oracle_id"), &c->oracle));
    double judged = stale ? c->oracle : c->exact;
    if (judged <= dit_method_tolerance(c->pipeline.kase.dtype, dit_case_guidance(&c->pipeline.kase))) return DIT_OK;
    return DIT_FAIL(DIT_ERR_MISMATCH, "relative L2 %.3g from %s", judged, stale ? "the oracle" : "one rank");
}

static dit_status judge_sent(const cell *c, int rank)
{
    const dit_pipeline *p = &c->pipeline;
    dit_volume_table table;
    dit_cache_use use = dit_cache_own_use(p->sampler.cache);
    dit_volume_predict_cached(&p->rt.parallel, &p->rt.facts, &use, rank, &table);
    dit_weight_stream_volume(p->model->params.stream, rank, &table);
    return dit_volume_check(&c->pipeline.rt.counters, &table, rank, 0);
}

/* Writes decisions of a log as "replay" takes them: a digit for each step or, where the policy decides for each block, for
 * each block of each step. */
static void write_replay(const dit_cache_run *run, const dit_cache_log *log, char *out)
{
    bool each = dit_cache_is_of_blocks(dit_cache_settings(run));
    for (int step = 0; step < log->steps; step++) {
        if (each && step) *out++ = ',';
        if (!each) *out++ = log->reasons[step] == DIT_CACHE_HIT ? '0' : '1';
        for (int64_t block = 0; each && block < dit_cache_layers(run); block++)
            *out++ = dit_cache_log_pruned(log, step, block) ? '0' : '1';
    }
    *out = 0;
}

/* Makes a copy of the case whose cache takes the decisions of a log, and does not decide. */
static cJSON *with_decisions(const cell *c, const dit_cache_log *log)
{
    char replay[DIT_CACHE_MAX_DIGITS + DIT_CACHE_MAX_STEPS + 1];
    cJSON *copy = cJSON_Duplicate(c->document, true), *cache = member(copy, "cache");
    write_replay(c->pipeline.sampler.cache, log, replay);
    cJSON_DeleteItemFromObject(cache, "hits");
    cJSON_DeleteItemFromObject(cache, "replay");
    cJSON_AddStringToObject(cache, "replay", replay);
    return copy;
}

/* Makes such a copy with the decisions of the run; pab, fastercache, tgate, modules and delta have none to take, as
 * their steps follow from their settings. */
static cJSON *with_replay(const cell *c)
{
    dit_cache_policy policy = dit_cache_settings(c->pipeline.sampler.cache)->policy;
    if (policy == DIT_CACHE_PAB || policy == DIT_CACHE_FASTERCACHE || policy == DIT_CACHE_TGATE ||
        policy == DIT_CACHE_MODULES || policy == DIT_CACHE_DELTA)
        return cJSON_Duplicate(c->document, true);
    return with_decisions(c, dit_cache_log_of(c->pipeline.sampler.cache));
}

/* Counts this rank of a document. Errors: those of the pipeline. */
static dit_status count(const cJSON *document, int rank, dit_pipeline *out)
{
    dit_json view = {.root = (cJSON *)(uintptr_t)document, .path = (char *)(uintptr_t) "<matrix>"};
    int64_t elapsed_ns;
    DIT_TRY(dit_pipeline_create_counting(&view, rank, NULL, out));
    dit_runtime_reset_account(&out->rt);
    return dit_pipeline_run(out, NULL, &elapsed_ns);
}

/* Adds sign * the linear and attention flops that are counted of a document, which it frees. */
static dit_status add_flops(cJSON *document, int rank, double sign, dit_flops *sum)
{
    dit_pipeline counted;
    dit_status st = count(document, rank, &counted);
    sum->linear += sign * counted.rt.flops.linear;
    sum->attention += sign * counted.rt.flops.attention;
    dit_pipeline_release(&counted);
    cJSON_Delete(document);
    return st;
}

/* Counts what the run must have done: where a cache decided, its decisions replayed, and what deciding costs, which is
 * what a run that decides and computes all steps has beyond a replay of them. */
static dit_status count_flops(const cell *c, int rank, dit_flops *sum)
{
    const dit_cache_run *cache = c->pipeline.sampler.cache;
    dit_cache_log ones = {0}; /* all computed */
    *sum = (dit_flops){0};
    if (!cache) return add_flops(cJSON_Duplicate(c->document, true), rank, 1, sum);
    DIT_TRY(add_flops(with_replay(c), rank, 1, sum));
    if (dit_cache_is_known(dit_cache_settings(cache))) return DIT_OK;
    ones.steps = dit_cache_log_of(cache)->steps;
    DIT_TRY(add_flops(cJSON_Duplicate(c->document, true), rank, 1, sum));
    return add_flops(with_decisions(c, &ones), rank, -1, sum);
}

static dit_status judge_flops(const cell *c, int rank)
{
    dit_flops expected;
    const dit_flops *done = &c->pipeline.rt.flops;
    DIT_TRY(count_flops(c, rank, &expected));
    if (done->linear == expected.linear && done->attention == expected.attention) return DIT_OK;
    return DIT_FAIL(DIT_ERR_MISMATCH, "%.0f flops are counted, %.0f done", expected.linear + expected.attention,
                    done->linear + done->attention);
}

/* What a cache adds to the memory for state is what is estimated, but for the arrays' alignment. */
static dit_status judge_kept(const cell *c, const dit_pipeline *counted, int rank)
{
    enum { ALIGNMENT = 1024 };
    int64_t with[DIT_MEMORY_CLASS_COUNT], without[DIT_MEMORY_CLASS_COUNT];
    const dit_runtime *rt = &counted->rt;
    dit_pipeline plain;
    cJSON *document = cJSON_Duplicate(c->document, true);
    cJSON_DeleteItemFromObject(document, "cache");
    dit_status st = count(document, rank, &plain);
    int64_t added = rt->ledger.peak[DIT_MEMORY_STATE] - plain.rt.ledger.peak[DIT_MEMORY_STATE];
    dit_pipeline_release(&plain);
    cJSON_Delete(document);
    dit_memory_predict(&rt->parallel, &rt->facts, without);
    dit_memory_predict_cached(&rt->parallel, &rt->facts, &counted->kase.cache, with);
    int64_t expected = with[DIT_MEMORY_STATE] - without[DIT_MEMORY_STATE];
    if (st != DIT_OK || (added >= expected && added <= expected + ALIGNMENT)) return st;
    return DIT_FAIL(DIT_ERR_MISMATCH, "the cache keeps %lld bytes, %lld are estimated", (long long)added,
                    (long long)expected);
}

/* What program describe counts of this rank. Device "host" keeps packed weights where the cpu backend does, which takes
 * no room of its own. */
static dit_status judge_counted(const cell *c, int rank)
{
    dit_pipeline counted;
    dit_status st = count(c->document, rank, &counted);
    int first = strcmp(c->pipeline.kase.backend, "host") == 0 ? DIT_MEMORY_WEIGHTS + 1 : 0;
    for (int i = first; i < DIT_MEMORY_CLASS_COUNT && st == DIT_OK; i++)
        if (counted.rt.ledger.peak[i] != c->pipeline.rt.ledger.peak[i])
            st = DIT_FAIL(DIT_ERR_MISMATCH, "%s: %lld bytes are counted, %lld measured",
                          dit_memory_class_name((dit_memory_class)i), (long long)counted.rt.ledger.peak[i],
                          (long long)c->pipeline.rt.ledger.peak[i]);
    if (st == DIT_OK && c->pipeline.sampler.cache) st = judge_kept(c, &counted, rank);
    dit_pipeline_release(&counted);
    return st == DIT_OK ? judge_flops(c, rank) : st;
}

/* ---- caches ------------------------------------------------------------------------------------------------------ */

/* Runs a document in this launch; *bits gets its latents, which the caller frees. */
static dit_status run_beside(const cJSON *document, float **bits)
{
    dit_json view = {.root = (cJSON *)(uintptr_t)document, .path = (char *)(uintptr_t) "<matrix>"};
    dit_pipeline other;
    int64_t elapsed_ns;
    *bits = NULL;
    dit_status st = dit_pipeline_create(&view, &other);
    if (st == DIT_OK) st = dit_pipeline_run(&other, NULL, &elapsed_ns);
    if (st == DIT_OK) {
        size_t bytes =
            (size_t)(other.rt.facts.num_images * dit_facts_latent_tokens(&other.rt.facts) * other.sampler.channels) *
            sizeof **bits;
        *bits = malloc(bytes);
        if (*bits) memcpy(*bits, other.sampler.full, bytes);
    }
    dit_pipeline_release(&other);
    return st;
}

static dit_status judge_bits(const cell *c, const cJSON *document, const char *what)
{
    float *bits;
    dit_status st = run_beside(document, &bits);
    size_t bytes = (size_t)latent_elements(c) * sizeof *bits;
    if (st == DIT_OK && (!bits || memcmp(bits, c->pipeline.sampler.full, bytes) != 0))
        st = DIT_FAIL(DIT_ERR_MISMATCH, "other bits than %s", what);
    free(bits);
    return st;
}

/* A second request is decided as the first one was. */
static dit_status judge_again(cell *c)
{
    const dit_cache_log *log = dit_cache_log_of(c->pipeline.sampler.cache);
    dit_cache_log before = *log;
    int64_t elapsed_ns;
    char digest[48], again[48];
    dit_latents_digest(&c->pipeline, digest, &elapsed_ns);
    DIT_TRY(dit_pipeline_run(&c->pipeline, NULL, &elapsed_ns));
    if (memcmp(log->reasons, before.reasons, sizeof before.reasons) != 0)
        return DIT_FAIL(DIT_ERR_MISMATCH, "decided %s, and in a second run %s", before.reasons, log->reasons);
    dit_latents_digest(&c->pipeline, again, &elapsed_ns);
    if (strcmp(digest, again) == 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_MISMATCH, "latents %s, and in a second run %s", digest, again);
}

static dit_status judge_cache(cell *c)
{
    dit_cache_run *run = c->pipeline.sampler.cache;
    dit_cache_log *logs;
    if (!run) return DIT_OK;
    dit_status st = dit_cache_meet(run, &logs);
    free(logs);
    DIT_TRY(st);
    cJSON *other = with_replay(c);
    DIT_TRY_GOTO(st, judge_again(c), done);
    DIT_TRY_GOTO(st, judge_bits(c, other, "with its decisions replayed"), done);
    cJSON_DeleteItemFromObject(other, "cache");
    const dit_cache *settings = dit_cache_settings(run);
    bool never = dit_cache_kind_of(settings->policy) == DIT_CACHE_MEASURED && settings->threshold <= 0;
    if (dit_cache_modules(settings) && dit_cache_log_of(run)->hits == 0) never = true;
    if (never) st = judge_bits(c, other, "without a cache");
done:
    cJSON_Delete(other);
    return st;
}

/* ---- weights that stream ----------------------------------------------------------------------------------------- */

/* The account raises what was not read as base/residency.h says. */
static dit_status judge_stream(const cell *c)
{
    dit_weight_stream *stream = c->pipeline.model->params.stream;
    dit_stream_account account;
    if (!stream) return DIT_OK;
    DIT_TRY(dit_weight_stream_account(stream, &account));
    if (account.predicted_loads < 0) return DIT_FAIL(DIT_ERR_MISMATCH, "blocks were not used in a cycle");
    if (account.read_bytes == 0) return DIT_FAIL(DIT_ERR_MISMATCH, "no weights were read");
    cJSON *other = cJSON_Duplicate(c->document, true);
    cJSON_DeleteItemFromObject(other, "offload");
    cJSON_DeleteItemFromObject(member(other, "parallel"), "fsdp_degree");
    cJSON_DeleteItemFromObject(member(other, "parallel"), "fsdp_prefetch");
    dit_status st = judge_bits(c, other, "with resident weights");
    cJSON_Delete(other);
    return st;
}

/* Counts the kinds of steps of a cache of modules: by what they take, and by what the next one takes of them. */
static int kinds_of_steps(const dit_cache_log *log)
{
    int kinds = 0;
    for (int step = 0, before; step < log->steps; step++) {
        int next = step + 1 < log->steps ? log->reused[step + 1] : 0;
        for (before = 0; before < step; before++)
            if (log->reused[before] == log->reused[step] &&
                (log->reused[before + 1] | log->reused[before]) == (next | log->reused[step]))
                break;
        kinds += before == step;
    }
    return kinds;
}

/* Of delta, whose early and late steps are recorded apart. */
static int64_t launches_of_ends(const dit_cache *cache, const dit_cache_log *log)
{
    int64_t launches = 0;
    for (int late = 0; late < 2; late++) {
        int counts[3] = {0}; /* first blocks; computed, reused middle */
        for (int step = 0; step < log->steps; step++) {
            if ((step >= cache->cut) != late) continue;
            counts[0]++;
            counts[log->reasons[step] == DIT_CACHE_HIT ? 2 : 1]++;
        }
        for (int i = 0; i < 3; i++) launches += counts[i] ? counts[i] - 1 : 0;
    }
    return launches;
}

/* Returns the launches of a run in which all forwards of a kind but the first are launched: of the first blocks, of the
 * computed middle, of the reused one. Forecasts of an order change addresses from step to step and are not recorded, nor
 * are steps whose blocks decide one by one. */
static int64_t expected_launches(const dit_pipeline *p)
{
    const dit_cache_run *cache = p->sampler.cache;
    if (!cache) return p->kase.steps - 1;
    int hits = dit_cache_log_of(cache)->hits;
    if (dit_cache_is_of_outputs(dit_cache_settings(cache))) return p->kase.steps - hits - 1;
    if (dit_cache_settings(cache)->order || dit_cache_is_of_blocks(dit_cache_settings(cache))) return 0;
    if (dit_cache_settings(cache)->variant == DIT_CACHE_XDIT) return 0;
    if (dit_cache_settings(cache)->policy == DIT_CACHE_DELTA)
        return launches_of_ends(dit_cache_settings(cache), dit_cache_log_of(cache));
    if (dit_cache_modules(dit_cache_settings(cache))) return p->kase.steps - kinds_of_steps(dit_cache_log_of(cache));
    return p->kase.steps - 1 + (p->kase.steps - hits - 1) + (hits ? hits - 1 : 0);
}

/* Of one rank, whose forwards nothing keeps from being recorded. */
static dit_status judge_graphs(const cell *c)
{
    const dit_pipeline *p = &c->pipeline;
    int64_t launches = dit_graphs_launches(p->model->graphs), expected = expected_launches(p);
    if (p->sampler.emulates_cache) return DIT_OK;
    if (dit_graphs_problem(p->model->graphs))
        return DIT_FAIL(DIT_ERR_MISMATCH, "not recorded: %s", dit_graphs_problem(p->model->graphs));
    if (!p->model->graphs || p->kase.emulates || dit_comm_size(dit_comm_world()) > 1 || launches == expected)
        return DIT_OK;
    return DIT_FAIL(DIT_ERR_MISMATCH, "%lld launches of a recorded forward, %lld expected", (long long)launches,
                    (long long)expected);
}

static dit_status run_cell(cell *c, int rank)
{
    dit_json view = view_of(c);
    int64_t elapsed_ns, calls;
    DIT_TRY(dit_pipeline_create(&view, &c->pipeline));
    dit_runtime_reset_account(&c->pipeline.rt);
    calls = c->pipeline.rt.ledger.calls;
    DIT_TRY(dit_pipeline_run(&c->pipeline, NULL, &elapsed_ns));
    if (c->pipeline.rt.ledger.calls != calls)
        return DIT_FAIL(DIT_ERR_INTERNAL, "the sampling loop allocates %lld times",
                        (long long)(c->pipeline.rt.ledger.calls - calls));
    DIT_TRY(judge_sent(c, rank));
    DIT_TRY(judge_counted(c, rank));
    DIT_TRY(judge_graphs(c));
    DIT_TRY(judge_cache(c));
    DIT_TRY(judge_stream(c));
    if (c->pipeline.model->params.stream && dit_comm_size(dit_comm_world()) == 1) return DIT_OK;
    return dit_comm_size(dit_comm_world()) == 1 ? keep(c) : judge_latents(c);
}

/* Whether it is right on every rank. A rank that is wrong early leaves the others waiting; the alarm ends that. */
static bool agree(dit_status own)
{
    char all_ok = own == DIT_OK, *everybody = NULL;
    int64_t offsets[MOST_RANKS + 1];
    if (dit_comm_collect(dit_comm_world(), &all_ok, 1, &everybody, offsets) != DIT_OK) return false;
    for (int i = 0; i < dit_comm_size(dit_comm_world()); i++) all_ok = all_ok && everybody[i];
    free(everybody);
    return all_ok;
}

static bool take_cell(cell *c, int rank)
{
    const cJSON *tags = member(c->entry, "tags");
    bool cached = strcmp(text_of(tags, "cache"), "none") != 0;
    snprintf(alarm_text, sizeof alarm_text, "# %s does not end within %d s\n", text_of(c->entry, "label"),
             CASE_SECONDS);
    alarm(CASE_SECONDS);
    dit_status st = run_cell(c, rank);
    if (st != DIT_OK)
        printf("# %s, rank %d: %s: %s\n", text_of(c->entry, "label"), rank, dit_status_name(st),
               dit_error_last()->message);
    bool right = agree(st);
    if (rank == 0)
        printf("%s %s %.0f W%.0f %s exact=%.2g oracle=%.2g%s%s %s\n", text_of(tags, "base_model"),
               text_of(tags, "method"), number_or(tags, "world_size", 0), number_or(tags, "warmup_steps", 0),
               right ? "ok" : "wrong", c->exact, c->oracle, cached ? " " : "", cached ? text_of(tags, "cache") : "",
               cached && c->pipeline.sampler.cache ? dit_cache_log_of(c->pipeline.sampler.cache)->reasons : "");
    fflush(stdout);
    dit_pipeline_release(&c->pipeline);
    dit_error_clear();
    return right;
}

static void print_dropped(const cJSON *plan)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, member(plan, "dropped"))
    {
        const cJSON *values = member(item, "cell");
        const char *model = text_of(values, "model");
        printf("%.*s %s %.0f W%.0f skip %s\n", (int)strcspn(model, "~{"), model, text_of(values, "method"),
               number_or(values, "world_size", 0), number_or(values, "warmup_steps", 0), text_of(item, "reason"));
    }
}

static void set_text(cJSON *object, const char *key, const char *text)
{
    if (!*text) return;
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    cJSON_AddStringToObject(object, key, text);
}

typedef struct {
    const char *folder, *backend, *dtype, *graphs, *models, *methods; /* "": as the plan says, all */
    const char *offload, *policy;                                     /* "": all weights stay      */
    int depth, room;
    int shards; /* ranks that share weights; 0: none */
} options;

/* Bytes of the largest chunk that this rank has. */
static int64_t largest_chunk(const cJSON *document, int rank)
{
    dit_pipeline counted;
    dit_stream_account account = {0};
    if (count(document, rank, &counted) == DIT_OK) dit_weight_stream_account(counted.model->params.stream, &account);
    dit_pipeline_release(&counted);
    return account.largest_bytes;
}

/* Asks for weights in shards. False where the mesh has not so many ranks of equal weights, and beside a cache. */
static bool share_weights(cJSON *document, const options *o)
{
    cJSON *mesh = member(document, "parallel");
    const dit_json view = {.root = document, .path = (char *)(uintptr_t) "<matrix>"};
    dit_parallel parallel;
    if (member(document, "cache") || dit_parallel_from_json(&view, mesh, "/parallel", &parallel) != DIT_OK)
        return false;
    if (dit_parallel_equal_ranks(&parallel) % o->shards) return false;
    cJSON_AddNumberToObject(mesh, "fsdp_degree", o->shards);
    if (o->depth != 1) cJSON_AddNumberToObject(mesh, "fsdp_prefetch", o->depth);
    return true;
}

/* Asks for streaming weights, with room for the largest chunks of this rank. False for two transformers, whose weights do
 * not stream. */
static bool stream_weights(cJSON *document, const options *o, int rank)
{
    bool two = member(member(document, "model"), "transformer_2") != NULL;
    if (o->shards) return !two && share_weights(document, o);
    if (!*o->offload) return true;
    if (two) return false;
    cJSON_DeleteItemFromObjectCaseSensitive(document, "offload");
    cJSON *offload = cJSON_AddObjectToObject(document, "offload");
    set_text(offload, "tier", o->offload);
    set_text(offload, "policy", o->policy);
    if (o->depth) cJSON_AddNumberToObject(offload, "depth", o->depth);
    set_number(offload, "resident_weights", 1e15);
    set_number(offload, "resident_weights", (double)(o->room * largest_chunk(document, rank)));
    return true;
}

/* A reference is always wanted. */
static bool is_wanted(const cJSON *entry, const options *o)
{
    const cJSON *tags = member(entry, "tags");
    bool reference = cJSON_IsTrue(member(entry, "is_reference"));
    return lists(o->models, text_of(tags, "base_model")) && (reference || lists(o->methods, text_of(tags, "method")));
}

/* tpp takes no solver that remembers steps, as some models' own do: it and its oracle go by the step alone. */
static void forget_steps(cJSON *document)
{
    const char *own = text_of(member(document, "parallel"), "stage_method");
    const char *emulated = text_of(member(document, "emulates"), "stage_method");
    if (strcmp(own, "tpp") != 0 && strcmp(emulated, "tpp") != 0) return;
    cJSON_DeleteItemFromObjectCaseSensitive(document, "scheduler");
    set_text(cJSON_AddObjectToObject(document, "scheduler"), "_class_name", "FlowMatchEulerDiscreteScheduler");
}

static void move_to_backend(cJSON *platform, const options *o)
{
    set_text(platform, "backend", o->backend);
    set_text(platform, "element", o->dtype);
    if (*o->graphs) cJSON_AddBoolToObject(platform, "graphs", strcmp(o->graphs, "no") != 0);
}

static int run_plan(const cJSON *plan, const options *o)
{
    const cJSON *cases = member(plan, "kept"), *entry;
    int wrong = 0, rank = dit_comm_rank(dit_comm_world()), ranks = dit_comm_size(dit_comm_world());
    signal(SIGALRM, on_alarm);
    cJSON_ArrayForEach(entry, cases)
    {
        cell c = {.cases = cases, .entry = entry, .document = member(entry, "case"), .folder = o->folder};
        c.exact = c.oracle = NAN;
        if ((int)number_or(member(entry, "tags"), "world_size", 0) != ranks) continue;
        if (!is_wanted(entry, o)) continue;
        forget_steps((cJSON *)(uintptr_t)c.document);
        move_to_backend(member(c.document, "platform"), o);
        if (!stream_weights((cJSON *)(uintptr_t)c.document, o, rank)) continue;
        wrong += !take_cell(&c, rank);
    }
    alarm(0);
    if (ranks == 1) print_dropped(plan);
    return wrong;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static const char *option(int argc, char **argv, const char *name)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0) return argv[i + 1];
    return "";
}

static cJSON *read_option(int argc, char **argv, const char *name, dit_json *out)
{
    if (dit_json_read_file(option(argc, argv, name), out) == DIT_OK) return out->root;
    fprintf(stderr, "%s: %s\n", name, dit_error_last()->message);
    exit(4);
}

int main(int argc, char **argv)
{
    dit_json models = {0}, methods = {0}, overrides = {0}, plan = {0}, caches = {0};
    int wrong;
    if (strcmp(argv[argc - 1], "write") == 0) {
        const char *most_ranks = option(argc, argv, "--most-ranks");
        const breadth wanted = {.most_variants = atoi(option(argc, argv, "--variants")),
                                .most_ranks = *most_ranks ? atoi(most_ranks) : MOST_RANKS,
                                .resolution = option(argc, argv, "--resolution"),
                                .methods = option(argc, argv, "--method"),
                                .caches = *option(argc, argv, "--caches") ? read_option(argc, argv, "--caches", &caches)
                                                                          : NULL,
                                .approximate = *option(argc, argv, "--approximate")};
        wrong =
            write_workload(read_option(argc, argv, "--models", &models), read_option(argc, argv, "--methods", &methods),
                           read_option(argc, argv, "--overrides", &overrides), &wanted);
    } else {
        if (dit_comm_start("mpi", &argc, &argv) != DIT_OK || dit_comm_size(dit_comm_world()) > MOST_RANKS) return 4;
        const options o = {.folder = option(argc, argv, "--folder"),
                           .backend = option(argc, argv, "--backend"),
                           .dtype = option(argc, argv, "--element"),
                           .graphs = option(argc, argv, "--graphs"),
                           .models = option(argc, argv, "--model"),
                           .offload = option(argc, argv, "--offload"),
                           .policy = option(argc, argv, "--policy"),
                           .depth = atoi(option(argc, argv, "--depth")),
                           .room = atoi(option(argc, argv, "--room")),
                           .shards = atoi(option(argc, argv, "--shards")),
                           .methods = option(argc, argv, "--method")};
        wrong = run_plan(read_option(argc, argv, "--plan", &plan), &o);
        dit_comm_finish();
    }
    dit_json_release(&models);
    dit_json_release(&methods);
    dit_json_release(&overrides);
    dit_json_release(&plan);
    dit_json_release(&caches);
    return wrong ? 1 : 0;
}
