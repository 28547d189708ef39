/* text_encode: loads a text encoder, encodes random ids once, frees it, and says what that took.
 *
 * The case names the encoder ("encoder": {"folder", "seeded", "skip", "states", "crop", "pooled", "zero_padding", "streamed"},
 * see engine/text/encoders/), the batch ("run": {"prompts", "tokens", "seed"}) and how ranks share it
 * ("text_encoder_parallel"). "seeded" takes weights from random numbers, so that config.json is enough. The embeddings
 * are written, too. With "count": {"ranks", "rank"} nothing is computed: one process counts flops, bytes and memory of
 * that rank.
 */
#include "base/hash.h"
#include "base/json_writer.h"
#include "base/rng.h"
#include "engine/case/platform.h"
#include "engine/programs/program.h"
#include "engine/results/record.h"
#include "engine/text/encoders/encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { PATH_BYTES = 4096 };

/* What one rank tells the others. */
typedef struct {
    int64_t load_ns, run_ns, peak_bytes, rss_bytes, sent_bytes, matches;
} rank_facts;

typedef struct {
    const dit_program_args *args;
    dit_parallel parallel;
    dit_case_platform platform;
    dit_text_encode_params params;
    dit_text_encoding made;
    int32_t *ids;
    rank_facts *ranks;
    int world_size;
} text_encode;

/* ---- the case ---------------------------------------------------------------------------------------------------- */

static dit_status read_encoder(text_encode *t)
{
    static const char *const keys[] = {"folder", "seeded",       "skip",     "states", "crop",
                                       "pooled", "zero_padding", "streamed", NULL};
    const dit_json *doc = t->args->doc;
    const cJSON *encoder;
    dit_text_encode_params *p = &t->params;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "encoder", &encoder));
    DIT_TRY(dit_json_only_keys(doc, encoder, "/encoder", keys));
    DIT_TRY(dit_json_require_string(doc, encoder, "/encoder", "folder", &p->folder));
    DIT_TRY(dit_json_optional_bool(doc, encoder, "/encoder", "seeded", &p->seeded));
    DIT_TRY(dit_text_encode_read(&(dit_config){doc, encoder, "/encoder"}, p));
    return dit_json_optional_bool(doc, encoder, "/encoder", "streamed", &p->streamed);
}

static dit_status read_run(text_encode *t)
{
    static const char *const keys[] = {"prompts", "tokens", "seed", NULL}, *const counted[] = {"ranks", "rank", NULL};
    const dit_json *doc = t->args->doc;
    const cJSON *run, *count = NULL;
    int64_t seed = 1, ranks = 1, rank = 0;
    dit_text_encode_params *p = &t->params;
    p->batch = 1;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "run", &run));
    DIT_TRY(dit_json_only_keys(doc, run, "/run", keys));
    DIT_TRY(dit_json_optional_int(doc, run, "/run", "prompts", 1, 65536, &p->batch));
    DIT_TRY(dit_json_require_int(doc, run, "/run", "tokens", 1, 65536, &p->tokens));
    DIT_TRY(dit_json_optional_int(doc, run, "/run", "seed", 0, INT64_C(1) << 53, &seed));
    p->seed = (uint64_t)seed;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "count", &count));
    if (!count) return DIT_OK;
    DIT_TRY(dit_json_only_keys(doc, count, "/count", counted));
    DIT_TRY(dit_json_require_int(doc, count, "/count", "ranks", 1, 65536, &ranks));
    DIT_TRY(dit_json_optional_int(doc, count, "/count", "rank", 0, ranks - 1, &rank));
    p->counting = true, p->ranks = (int)ranks, p->rank = (int)rank;
    return DIT_OK;
}

static dit_status read_case(text_encode *t)
{
    static const char *const keys[] = {"schema", "program",  "encoder", "run", "text_encoder_parallel",
                                       "count",  "platform", NULL};
    const dit_json *doc = t->args->doc;
    const char *way = dit_text_parallel_name(DIT_TEXT_REPLICATED);
    t->platform.parallel = &t->parallel;
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_case_read_platform(doc, &t->platform));
    DIT_TRY(read_encoder(t));
    DIT_TRY(read_run(t));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "text_encoder_parallel", &way));
    if (!dit_text_parallel_from_name(way, &t->params.way))
        return dit_json_fail_word(doc, "/text_encoder_parallel", "text_encoder_parallel", way,
                                  dit_text_parallel_names());
    t->params.backend = t->platform.backend, t->params.dtype = t->platform.dtype;
    t->params.threads = t->platform.threads;
    return DIT_OK;
}

/* Draws ids of the encoder's vocabulary. */
static dit_status draw_ids(text_encode *t)
{
    char path[PATH_BYTES];
    dit_json document = {0};
    dit_text_encoder_facts facts = {0};
    int64_t count = t->params.batch * t->params.tokens;
    snprintf(path, sizeof path, "%s/config.json", t->params.folder);
    DIT_TRY(dit_config_read_file(path, &document));
    dit_status st =
        dit_text_encoder_read_facts(&(dit_config){.doc = &document, .object = document.root, .pointer = ""}, &facts);
    dit_json_release(&document);
    DIT_TRY(st);
    t->ids = malloc((size_t)count * sizeof *t->ids);
    if (!t->ids) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld ids", (long long)count);
    for (int64_t i = 0; i < count; i++)
        t->ids[i] =
            (int32_t)dit_rng_below(t->params.seed, dit_rng_stream("ids"), (uint64_t)i, (uint64_t)facts.vocabulary);
    t->params.input.ids = t->ids;
    return DIT_OK;
}

/* ---- the record -------------------------------------------------------------------------------------------------- */

static int64_t peak_rss(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : 0;
}

/* Gathers what every rank has to tell. */
static dit_status meet(text_encode *t)
{
    const dit_text_encoding *m = &t->made;
    dit_comm *world = dit_comm_world();
    int rank = dit_comm_rank(world);
    rank_facts own = {m->load_ns, m->run_ns, m->total_peak_bytes, peak_rss(), 0, 0};
    own.matches = t->params.counting || dit_volume_check(&m->sent, &m->predicted, rank, 0) == DIT_OK;
    dit_error_clear();
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i);
        own.sent_bytes += DIT_VOLUME_AT(&m->sent, at)->bytes;
    }
    t->world_size = dit_comm_size(world);
    char *all = NULL;
    int64_t *offsets = calloc((size_t)t->world_size + 1, sizeof *offsets);
    dit_status st = offsets ? dit_comm_collect(world, &own, sizeof own, &all, offsets)
                            : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d ranks", t->world_size);
    t->ranks = (rank_facts *)(void *)all;
    free(offsets);
    return st;
}

static void put_ranks(dit_json_writer *w, const text_encode *t, cJSON *record)
{
    cJSON *list = dit_json_put_array(w, record, "ranks");
    for (int i = 0; i < t->world_size; i++) {
        cJSON *entry = dit_json_put_object(w, list, NULL);
        dit_json_put_int(w, entry, "load_ns", t->ranks[i].load_ns);
        dit_json_put_int(w, entry, "run_ns", t->ranks[i].run_ns);
        dit_json_put_int(w, entry, "total_bytes", t->ranks[i].peak_bytes);
        dit_json_put_int(w, entry, "rss_bytes", t->ranks[i].rss_bytes);
        dit_json_put_int(w, entry, "sent_bytes", t->ranks[i].sent_bytes);
    }
}

static void put_memory(dit_json_writer *w, const dit_text_encoding *made, cJSON *record)
{
    cJSON *memory = dit_json_put_object(w, record, "memory");
    char key[64];
    for (int klass = 0; klass < DIT_MEMORY_CLASS_COUNT; klass++) {
        snprintf(key, sizeof key, "%s_bytes", dit_memory_class_name((dit_memory_class)klass));
        dit_json_put_int(w, memory, key, made->peak_bytes[klass]);
    }
    dit_json_put_int(w, memory, "total_bytes", made->total_peak_bytes);
    dit_json_put_int(w, memory, "rss_bytes", peak_rss());
}

static void put_work(dit_json_writer *w, const text_encode *t, cJSON *record)
{
    const dit_text_encoding *m = &t->made;
    cJSON *work = dit_json_put_object(w, record, "text_encode");
    double flops = m->flops.linear + m->flops.attention + m->flops.other;
    int64_t slowest = 0;
    for (int i = 0; i < t->world_size; i++) {
        int64_t took = t->ranks[i].load_ns + t->ranks[i].run_ns;
        if (took > slowest) slowest = took;
    }
    dit_json_put_string(w, work, "text_encoder_parallel", dit_text_parallel_name(t->params.way));
    dit_json_put_bool(w, work, "streamed", t->params.streamed);
    dit_json_put_int(w, work, "parameters", m->parameters);
    dit_json_put_number(w, work, "gflop", flops * 1e-9);
    if (t->params.counting) return;
    dit_json_put_number(w, work, "seconds", (double)slowest * 1e-9);
    dit_json_put_number(w, work, "gflop_per_s", flops / (double)(m->run_ns > 0 ? m->run_ns : 1));
}

static dit_status write_record(const text_encode *t, bool match)
{
    char path[PATH_BYTES], digest[DIT_HASH_HEX];
    const dit_text_encoding *m = &t->made;
    dit_json_writer w = {0};
    cJSON *record = dit_json_new_object(&w);
    snprintf(path, sizeof path, "%s/record.json", t->args->out_folder);
    dit_json_put_string(&w, record, "schema", "ditbench.record/1");
    dit_json_put_string(&w, record, "evidence", t->params.counting ? "simulated" : "measured");
    dit_json_put_string(&w, record, "program", "text_encode");
    dit_json_put_int(&w, record, "world_size", t->params.counting ? t->params.ranks : t->world_size);
    put_work(&w, t, record);
    put_memory(&w, m, record);
    DIT_TRY(dit_record_communication(record, &m->sent, &m->predicted));
    dit_json_put_bool(&w, record, "communication_match", match);
    if (m->hidden) {
        dit_hash(m->hidden, (size_t)(m->batch * m->tokens * m->width) * sizeof *m->hidden, digest);
        dit_json_put_string(&w, record, "digest", digest);
    }
    put_ranks(&w, t, record);
    return dit_json_finish_file(&w, record, path, false);
}

static dit_status write_embeddings(const text_encode *t)
{
    char path[PATH_BYTES];
    const dit_text_encoding *m = &t->made;
    const dit_tensor_out tensors[] = {{"hidden", 3, {m->batch, m->tokens, m->width}, m->hidden},
                                      {"pooled", 2, {m->batch, m->pooled_width}, m->pooled}};
    if (!m->hidden) return DIT_OK;
    snprintf(path, sizeof path, "%s/embeddings.safetensors", t->args->out_folder);
    return dit_safetensors_write(path, tensors, m->pooled ? 2 : 1);
}

static dit_status run(text_encode *t)
{
    bool match = true;
    DIT_TRY(read_case(t));
    if (!t->params.counting) DIT_TRY(draw_ids(t));
    DIT_TRY(dit_text_encode(&t->params, &t->made));
    DIT_TRY(meet(t));
    for (int i = 0; i < t->world_size; i++) match = match && t->ranks[i].matches;
    if (dit_comm_rank(dit_comm_world()) == 0) {
        DIT_TRY(write_embeddings(t));
        DIT_TRY(write_record(t, match));
    }
    return match ? DIT_OK
                 : DIT_FAIL(DIT_ERR_BYTES_MISMATCH, "a rank did not send what the closed form of %s says",
                            dit_text_parallel_name(t->params.way));
}

static dit_status text_encode_run(const dit_program_args *args, bool *skipped)
{
    text_encode t = {.args = args};
    (void)skipped;
    dit_status st = run(&t);
    dit_text_encoding_release(&t.made);
    free(t.ranks);
    free(t.ids);
    return st;
}

const dit_program dit_program_text_encode = {
    .name = "text_encode",
    .help = "load a text encoder, encode once, free it: time, memory, bytes",
    .run = text_encode_run,
};
