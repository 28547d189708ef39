#include "engine/text/encoders/encode.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

/* A call under way. */
typedef struct {
    const dit_text_encode_params *params;
    dit_text_encoding *out;
    dit_json document;
    dit_safetensors *file;
    dit_weights weights;
    dit_runtime rt;
    dit_text_encoder_params encoder;
    dit_text_encoder *made; /* NULL: another rank encodes */
    dit_text_facts whole;   /* of all prompts */
    int ranks, rank, runs;
} encode_call;

dit_status dit_text_encode_read(const dit_config *from, dit_text_encode_params *p)
{
    int count = -1;
    DIT_TRY(dit_json_optional_int(from->doc, from->object, from->pointer, "skip", 0, 1000, &p->skip));
    DIT_TRY(dit_config_read_ints(from, "states", 0, 1000, DIT_TEXT_STATES, p->states.after, &count));
    if (count > 0) p->states.count = count;
    DIT_TRY(dit_json_optional_int(from->doc, from->object, from->pointer, "crop", 0, 65536, &p->crop));
    DIT_TRY(dit_json_optional_bool(from->doc, from->object, from->pointer, "pooled", &p->pooled));
    return dit_json_optional_bool(from->doc, from->object, from->pointer, "zero_padding", &p->zero_padding);
}

/* ---- before ------------------------------------------------------------------------------------------------------ */

static dit_status open_folder(encode_call *c)
{
    char path[PATH_BYTES];
    if (snprintf(path, sizeof path, "%s/config.json", c->params->folder) >= (int)sizeof path)
        return DIT_FAIL(DIT_ERR_IO, "the path %.200s... is too long", c->params->folder);
    DIT_TRY(dit_config_read_file(path, &c->document));
    if (!c->params->seeded && !c->params->counting) DIT_TRY(dit_safetensors_open(c->params->folder, &c->file));
    c->weights = (dit_weights){.file = c->file, .seed = c->params->seed};
    return DIT_OK;
}

/* Reads the shape of the call, and checks that the ranks can share it. */
static dit_status plan(encode_call *c, dit_text_encoder_facts *facts)
{
    const dit_text_encode_params *p = c->params;
    c->ranks = p->counting ? p->ranks : dit_comm_size(dit_comm_world());
    c->rank = p->counting ? p->rank : dit_comm_rank(dit_comm_world());
    c->encoder = (dit_text_encoder_params){
        .config = {.doc = &c->document, .object = c->document.root, .pointer = ""},
        .weights = &c->weights,
        .batch = p->batch,
        .tokens = p->tokens,
        .skip = p->skip,
        .crop = p->crop,
        .states = p->states,
        .pooled = p->pooled,
        .zero_padding = p->zero_padding,
        .streamed = p->streamed,
        .sees = p->sees,
        .grid_height = p->grid_height,
        .grid_width = p->grid_width,
    };
    DIT_TRY((p->sees ? dit_text_encoder_read_tower_facts : dit_text_encoder_read_facts)(&c->encoder.config, facts));
    c->whole = dit_text_encoder_call(&c->encoder, facts);
    c->whole.element_bytes = dit_dtype_bytes(p->dtype);
    return dit_text_parallel_check(p->way, c->ranks, &c->whole);
}

static dit_status join(encode_call *c)
{
    const dit_text_encode_params *p = c->params;
    dit_runtime_params params = {.backend = p->backend,
                                 .dtype = p->dtype,
                                 .threads = p->threads,
                                 .counting = p->counting,
                                 .rank = p->rank,
                                 .parallel = dit_text_parallel_mesh(p->way, c->ranks)};
    params.facts = (dit_facts){.family = "the text encoder",
                               .image_tokens = 1,
                               .num_images = dit_parallel_degree(&params.parallel, DIT_AXIS_DATA),
                               .guidance_branches = dit_parallel_degree(&params.parallel, DIT_AXIS_CFG),
                               .steps = 1};
    if (p->way == DIT_TEXT_TENSOR) params.facts.heads = c->whole.heads;
    return dit_runtime_init(&params, &c->rt);
}

/* ---- the exchange ------------------------------------------------------------------------------------------------ */

static dit_status broadcast(encode_call *c, float *values, int64_t bytes)
{
    dit_comm *world = c->rt.comm[DIT_AXIS_WORLD];
    dit_comm_exchange exchange;
    for (int to = 1; world && c->rank == 0 && to < c->ranks; to++) {
        DIT_TRY(dit_comm_exchange_begin(world, values, to, NULL, DIT_COMM_NOBODY, bytes, &exchange));
        DIT_TRY(dit_comm_exchange_wait(world, &exchange));
    }
    if (!world || c->rank == 0) return DIT_OK;
    DIT_TRY(dit_comm_exchange_begin(world, NULL, DIT_COMM_NOBODY, values, 0, bytes, &exchange));
    return dit_comm_exchange_wait(world, &exchange);
}

/* The pieces that a rank has computed, in its part of `all`: embeddings, then pooled text. */
typedef struct {
    float *all, *own, *pooled;
    int64_t part; /* floats of one rank's part */
    int parts;
} pieces;

/* Gives every rank all parts. */
static dit_status exchange(encode_call *c, const pieces *p)
{
    int64_t bytes = p->part * (int64_t)sizeof *p->all;
    if (p->parts == 2 || c->rank == 0) DIT_TRY(dit_runtime_upload(&c->rt, p->own, p->part));
    if (p->parts == 2)
        DIT_TRY(dit_comm_all_gather(c->rt.comm[DIT_AXIS_CFG], p->own, p->all, bytes));
    else
        DIT_TRY(broadcast(c, p->all, bytes));
    return dit_runtime_download(&c->rt, p->all, p->parts * p->part);
}

/* Sorts the parts into the result's arrays. */
static void hand_out(const encode_call *c, const pieces *p)
{
    int64_t prompts = c->whole.prompts / p->parts, text = prompts * dit_text_embedding_floats(&c->whole);
    int64_t pooled = prompts * c->whole.pooled;
    for (int i = 0; i < p->parts; i++) {
        const float *from = p->all + i * p->part;
        memcpy(c->out->hidden + i * text, from, (size_t)text * sizeof *from);
        if (pooled) memcpy(c->out->pooled + i * pooled, from + text, (size_t)pooled * sizeof *from);
    }
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

/* Loads the encoder for this rank's prompts. */
static dit_status load(encode_call *c)
{
    int64_t began = dit_clock_ns();
    dit_status st = dit_text_encoder_create(&c->encoder, &c->made);
    if (st == DIT_OK) st = dit_runtime_synchronize(&c->rt);
    c->out->load_ns = dit_clock_ns() - began;
    return st;
}

/* Encodes this rank's prompts into its part, and gives every rank all parts. */
static dit_status run_once(encode_call *c, const pieces *p, int64_t first)
{
    int64_t tokens = c->encoder.tokens;
    dit_text_input input = {0};
    if (!c->params->counting && c->params->input.ids) input.ids = c->params->input.ids + first * tokens;
    if (!c->params->counting) input.pixels = c->params->input.pixels; /* pictures are not shared by halves */
    if (!c->params->counting) input.pictures = c->params->input.pictures;
    if (c->params->input.mask) input.mask = c->params->input.mask + first * tokens;
    if (c->made) DIT_TRY(dit_text_encoder_run(c->made, &input, p->own, p->pooled));
    bool alone = c->params->way != DIT_TEXT_CFG && c->params->way != DIT_TEXT_BROADCAST;
    if (c->ranks > 1 && !alone) DIT_TRY(exchange(c, p));
    return dit_runtime_synchronize(&c->rt);
}

/* Keeps the peaks of loading and of earlier runs, which a new account forgets. */
static void keep_peaks(encode_call *c)
{
    const dit_memory_ledger *ledger = &c->rt.ledger;
    for (int i = 0; i < DIT_MEMORY_CLASS_COUNT; i++)
        if (ledger->peak[i] > c->out->peak_bytes[i]) c->out->peak_bytes[i] = ledger->peak[i];
    if (ledger->total_peak > c->out->total_peak_bytes) c->out->total_peak_bytes = ledger->total_peak;
}

/* Runs as often as is asked for, each from a barrier on; the account is that of the last run. */
static dit_status run_all(encode_call *c, const pieces *p, int64_t first)
{
    for (int i = 0; i < c->runs; i++) {
        if (i > 0) keep_peaks(c);
        if (i > 0) dit_runtime_reset_account(&c->rt);
        if (c->out->each_ns) DIT_TRY(dit_comm_barrier(dit_comm_world()));
        int64_t began = dit_clock_ns();
        DIT_TRY(run_once(c, p, first));
        c->out->run_ns = dit_clock_ns() - began;
        if (c->out->each_ns) DIT_TRY(dit_comm_barrier(dit_comm_world()));
        if (c->out->each_ns) c->out->each_ns[i] = dit_clock_ns() - began;
        if (i == 0) c->out->parameters = c->rt.parameters; /* a streamed encoder reads them again */
    }
    return DIT_OK;
}

static dit_status run(encode_call *c)
{
    const dit_text_encode_params *params = c->params;
    bool halves = params->way == DIT_TEXT_CFG && c->ranks > 1, one = params->way == DIT_TEXT_BROADCAST;
    int own = halves ? c->rt.coordinates[DIT_AXIS_CFG] : 0;
    pieces p = {.parts = halves ? 2 : 1};
    c->encoder.rt = &c->rt;
    c->encoder.batch = params->batch / p.parts;
    int64_t text = c->encoder.batch * dit_text_embedding_floats(&c->whole);
    p.part = text + c->encoder.batch * c->whole.pooled;
    DIT_TRY(dit_arena_fp32(&c->rt.image, p.parts * p.part, &p.all));
    p.own = p.all + own * p.part;
    p.pooled = c->whole.pooled ? p.own + text : NULL;
    if (!one || c->rank == 0) DIT_TRY(load(c));
    DIT_TRY(run_all(c, &p, own * c->encoder.batch));
    if (!params->counting) hand_out(c, &p);
    return DIT_OK;
}

static dit_status allocate(encode_call *c, dit_text_encoding *out)
{
    out->batch = c->whole.prompts, out->tokens = c->whole.kept_tokens;
    out->width = dit_text_embedding_floats(&c->whole) / out->tokens, out->pooled_width = c->whole.pooled;
    c->runs = c->params->runs > 0 ? c->params->runs : 1;
    if (c->params->counting) return DIT_OK;
    out->each_ns = calloc((size_t)c->runs, sizeof *out->each_ns);
    out->hidden = malloc((size_t)(out->batch * out->tokens * out->width) * sizeof *out->hidden);
    if (out->pooled_width) out->pooled = malloc((size_t)(out->batch * out->pooled_width) * sizeof *out->pooled);
    if (out->each_ns && out->hidden && (out->pooled || !out->pooled_width)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the embeddings of %lld prompts", (long long)out->batch);
}

static void take_account(encode_call *c, dit_text_encoding *out)
{
    out->flops = c->rt.flops;
    out->sent = c->rt.counters;
    out->kernels = c->rt.kernels->name;
    keep_peaks(c);
    dit_text_volume_predict(c->params->way, c->ranks, c->rank, &c->whole, &out->predicted);
}

static dit_status encode(encode_call *c)
{
    dit_text_encoder_facts facts;
    DIT_TRY(open_folder(c));
    DIT_TRY(plan(c, &facts));
    DIT_TRY(allocate(c, c->out));
    DIT_TRY(join(c));
    dit_runtime_set_phase(&c->rt, DIT_PHASE_TEXT);
    if (c->rt.comm[DIT_AXIS_WORLD]) dit_comm_set_phase(c->rt.comm[DIT_AXIS_WORLD], DIT_PHASE_TEXT);
    dit_status st = run(c);
    dit_text_encoder_free(c->made);
    take_account(c, c->out);
    dit_runtime_release(&c->rt);
    return st;
}

dit_status dit_text_encode(const dit_text_encode_params *params, dit_text_encoding *out)
{
    encode_call c = {.params = params, .out = out};
    *out = (dit_text_encoding){0};
    dit_status st = encode(&c);
    dit_safetensors_close(c.file);
    dit_json_release(&c.document);
    return st == DIT_OK ? st : dit_error_note(st, "encoding text with %s", params->folder);
}

void dit_text_encoding_release(dit_text_encoding *encoding)
{
    free(encoding->hidden);
    free(encoding->pooled);
    free(encoding->each_ns);
    *encoding = (dit_text_encoding){0};
}
