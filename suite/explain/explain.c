#include "suite/explain/explain.h"

#include "base/case_facts.h"
#include "base/json_writer.h"
#include "base/label.h"
#include "base/mesh.h"
#include "base/patches.h"
#include "base/stream.h"
#include "suite/cases/document.h"
#include "suite/explain/describe.h"
#include "suite/explain/texts.h"
#include "suite/explain/timetable.h"
#include "suite/platform/platform.h"
#include "suite/platform/profile.h"
#include "suite/workload/programs/predict.h"
#include "suite/workload/workload.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = DIT_MAX_STAGES + 8 };

static dit_status fail_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory to explain meshes");
}

/* ---- every mesh, as a workload ----------------------------------------------------------------------------------- */

suite_meshes_params suite_explain_meshes(const suite_explain_params *params)
{
    return (suite_meshes_params){.model = params->model,
                                 .platform = params->platform ? params->platform : "any",
                                 .profile = params->profile,
                                 .element = params->element,
                                 .devices = params->devices,
                                 .width_px = params->width_px,
                                 .height_px = params->height_px,
                                 .num_frames = params->num_frames,
                                 .text_tokens = params->text_tokens,
                                 .steps = params->steps,
                                 .num_images = params->num_images,
                                 .warmup_steps = params->warmup_steps,
                                 .num_pipeline_patch = params->num_pipeline_patch,
                                 .halo_frames = params->halo_frames,
                                 .global_frames = params->global_frames,
                                 .block_frames = params->block_frames,
                                 .context_frames = params->context_frames,
                                 .offload = params->offload,
                                 .fsdp_degree = params->fsdp_degree,
                                 .fsdp_prefetch = params->fsdp_prefetch,
                                 .mesh = params->mesh};
}

/* ---- which ranks of a mesh are told of --------------------------------------------------------------------------- */

/* A legal mesh, and one of each kind of its ranks; none of an oracle, which is no mesh. */
typedef struct {
    const suite_case *kase;
    dit_parallel parallel;
    dit_facts facts;
    int ranks[MAX_RANKS], rank_count;
    int element_bytes; /* that its sizes are told in */
    double scale;      /* of what is counted: the engine counts a simulated case in fp32 */
} subject;

static int64_t predicted_step_bytes(const subject *s, int rank)
{
    dit_volume_table table;
    int64_t bytes = 0;
    dit_volume_predict(&s->parallel, &s->facts, rank, &table);
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i);
        if (at.phase == DIT_PHASE_STEP) bytes += DIT_VOLUME_AT(&table, at)->bytes;
    }
    return bytes;
}

static void add_kind(subject *s, int rank)
{
    for (int i = 0; i < s->rank_count; i++)
        if (s->ranks[i] == rank) return;
    if (s->rank_count < MAX_RANKS) s->ranks[s->rank_count++] = rank;
}

static int rank_at(const subject *s, dit_axis axis, int coordinate)
{
    int coordinates[DIT_AXIS_COUNT] = {0};
    coordinates[axis] = coordinate;
    return dit_mesh_rank(&s->parallel, coordinates);
}

/* Every stage; a patch with one neighbour and with two; whoever sends most and least; the last rank. */
static void find_kinds(subject *s)
{
    int world = dit_parallel_world_size(&s->parallel), most = 0, least = 0;
    int64_t most_bytes = predicted_step_bytes(s, 0), least_bytes = most_bytes;
    for (int rank = 1; rank < world; rank++) {
        int64_t bytes = predicted_step_bytes(s, rank);
        if (bytes > most_bytes) most = rank, most_bytes = bytes;
        if (bytes < least_bytes) least = rank, least_bytes = bytes;
    }
    for (int stage = 0; stage < s->parallel.degree[DIT_AXIS_PIPEFUSION]; stage++)
        add_kind(s, rank_at(s, DIT_AXIS_PIPEFUSION, stage));
    for (int patch = 0; patch < 2 && patch < s->parallel.degree[DIT_AXIS_PATCH]; patch++)
        add_kind(s, rank_at(s, DIT_AXIS_PATCH, patch));
    add_kind(s, most);
    add_kind(s, least);
    add_kind(s, world - 1);
}

/* A simulated case is counted with the software that it simulates. */
static dit_status take_habits(const suite_case *kase, dit_habits *out)
{
    suite_profile profile;
    if (!kase->is_simulated) return DIT_OK;
    DIT_TRY(suite_profile_load(suite_case_platform(kase->document, "profile"), &profile));
    *out = profile.habits;
    return DIT_OK;
}

static dit_status open_subject(const suite_case *kase, subject *s)
{
    const dit_json view = {kase->document, NULL, 0, NULL};
    *s = (subject){.kase = kase};
    if (kase->is_oracle) return DIT_OK;
    DIT_TRY(dit_facts_from_case(&view, kase->document, "", &s->facts));
    DIT_TRY(dit_parallel_from_json(&view, dit_json_member(kase->document, "parallel"), "/parallel", &s->parallel));
    bool computes = kase->is_simulated || suite_backend_is_device(suite_case_platform(kase->document, "backend"));
    s->element_bytes = computes ? suite_predict_element_bytes(suite_case_platform(kase->document, "element")) : 4;
    s->scale = kase->is_simulated ? s->element_bytes / (double)sizeof(float) : 1;
    DIT_TRY(take_habits(kase, &s->parallel.habits));
    find_kinds(s);
    return DIT_OK;
}

/* ---- what the engine counts -------------------------------------------------------------------------------------- */

static void add_rank_case(dit_json_writer *w, cJSON *cases, const subject *s, int rank)
{
    const suite_case *kase = s->kase;
    cJSON *entry = dit_json_put_object(w, cases, NULL);
    if (kase->is_simulated) dit_habits_put(w, dit_json_put_object(w, entry, "habits"), &s->parallel.habits);
    dit_json_put_reference(w, entry, "case", kase->document);
    dit_json_put_string(w, entry, "name", kase->case_id);
    dit_json_put_int(w, entry, "rank", rank);
}

static dit_status describe_kinds(const subject *subjects, int count, const suite_single_params *single, cJSON **record)
{
    dit_json_writer w = {0};
    cJSON *cases = dit_json_new_array(&w);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < subjects[i].rank_count; k++) add_rank_case(&w, cases, &subjects[i], subjects[i].ranks[k]);
    if (w.status == DIT_OK) dit_json_put_status(&w, suite_describe_cases(cases, single, record));
    cJSON_Delete(cases);
    return w.status;
}

/* Sums over the kinds of traffic; the final gather of latents apart. What is counted without a device is of addresses,
 * four bytes an element: of devices the closed form stands for it. */
static void add_traffic(dit_json_writer *w, cJSON *out, const subject *s, const cJSON *counted)
{
    bool on_device = suite_backend_is_device(suite_case_platform(s->kase->document, "backend"));
    double bytes = 0, predicted = 0, messages = 0, gather = 0, steps = dit_json_number_or(counted, "steps", 0);
    const cJSON *row;
    cJSON_ArrayForEach(row, dit_json_member(counted, "communication"))
    {
        if (strcmp(dit_json_text_or(row, "phase", NULL), "step") != 0) {
            gather += s->scale * dit_json_number_or(row, "bytes", 0);
            continue;
        }
        bytes += s->scale * dit_json_number_or(row, on_device ? "predicted_bytes" : "bytes", 0);
        predicted += s->scale * dit_json_number_or(row, "predicted_bytes", 0);
        messages += dit_json_number_or(row, "messages", 0);
    }
    dit_json_put_number(w, out, "bytes_per_step", bytes / steps);
    dit_json_put_number(w, out, "predicted_bytes_per_step", predicted / steps);
    dit_json_put_number(w, out, "messages_per_step", messages / steps);
    dit_json_put_number(w, out, "gather_bytes", gather);
}

static int64_t batch_of(const subject *s)
{
    int cfg = s->parallel.degree[DIT_AXIS_CFG], data = s->parallel.degree[DIT_AXIS_DATA];
    return s->facts.num_images / data * s->facts.guidance_branches / cfg;
}

static void add_work(dit_json_writer *w, cJSON *out, const subject *s, const cJSON *counted)
{
    const cJSON *flops = dit_json_member(counted, "flops"), *item;
    double forward = dit_json_number_or(flops, "linear", 0) + dit_json_number_or(flops, "attention", 0) +
                     dit_json_number_or(flops, "other", 0);
    cJSON *memory = dit_json_put_object(w, out, "memory");
    cJSON_ArrayForEach(item, dit_json_member(counted, "memory"))
        dit_json_put_number(w, memory, item->string, s->scale * item->valuedouble);
    dit_json_put_number(w, out, "flops_per_step", forward * (double)batch_of(s));
    dit_json_put_number(w, out, "parameters", dit_json_number_or(counted, "parameters", 0));
    dit_json_put_number(w, out, "memory_bytes", s->scale * dit_json_number_or(counted, "memory_peak", 0));
}

/* ---- what a reader can check by hand ----------------------------------------------------------------------------- */

/* Text rows of joint attention that a rank computes. */
static int64_t text_rows(const subject *s)
{
    bool split = dit_parallel_joint_text(&s->parallel, &s->facts) == DIT_JOINT_TEXT_SPLIT;
    if (!s->facts.joint) return 0;
    return split ? dit_facts_text_rows(&s->facts) / dit_parallel_sequence_degree(&s->parallel)
                 : dit_facts_text_rows(&s->facts);
}

static int64_t image_rows(const subject *s)
{
    return s->facts.image_tokens / dit_parallel_sequence_degree(&s->parallel);
}

/* Rows whose K and V are kept of one layer. */
typedef struct {
    int64_t image, text;
} kept_rows;

static kept_rows kept_by_pipeline(const subject *s)
{
    int64_t ulysses = s->parallel.degree[DIT_AXIS_ULYSSES], text = text_rows(s);
    return (kept_rows){image_rows(s) * ulysses, text < dit_facts_text_rows(&s->facts) ? text * ulysses : text};
}

/* dualparal keeps what a block sees of the one behind it; tpp, of each step of the stage, the blocks that one sees and it
 * itself. */
static kept_rows kept_by_stream(const subject *s, int stage)
{
    const dit_stream stream = dit_stream_of(&s->parallel, &s->facts, stage);
    if (stream.method == DIT_STAGE_DUALPARAL) return (kept_rows){stream.context_rows, 0};
    return (kept_rows){stream.steps.count * (stream.context_rows + stream.block_rows), 0};
}

/* Rows that PCPP sends a neighbour of one layer. */
static int64_t shared_rows(const subject *s)
{
    int64_t segments = s->facts.segments > 1 ? s->facts.segments : 1;
    int64_t references = s->facts.reference_tokens / dit_parallel_sequence_degree(&s->parallel);
    return dit_parallel_shared_beside(&s->parallel, image_rows(s) / segments, references) * segments;
}

static kept_rows kept_by_patch(const subject *s, int patch)
{
    int neighbours = (patch > 0) + (patch < s->parallel.degree[DIT_AXIS_PATCH] - 1);
    switch (s->parallel.patch_method) {
    case DIT_PATCH_DISTRIFUSION:
        return (kept_rows){s->facts.image_tokens, s->facts.joint ? dit_facts_text_rows(&s->facts) : 0};
    case DIT_PATCH_PCPP: return (kept_rows){neighbours * shared_rows(s), 0};
    default: return (kept_rows){0, 0};
    }
}

static kept_rows kept_of(const subject *s, const int coordinates[DIT_AXIS_COUNT])
{
    if (dit_parallel_stale_steps(&s->parallel, &s->facts) == 0) return (kept_rows){0, 0};
    if (dit_parallel_streams(&s->parallel)) return kept_by_stream(s, coordinates[DIT_AXIS_PIPEFUSION]);
    if (s->parallel.degree[DIT_AXIS_PIPEFUSION] > 1) return kept_by_pipeline(s);
    return kept_by_patch(s, coordinates[DIT_AXIS_PATCH]);
}

/* 2 B rows C / (u t) e of each layer of the stage. */
static int64_t kv_store_bytes(const subject *s, const int coordinates[DIT_AXIS_COUNT], dit_range blocks)
{
    dit_block_run layers = dit_facts_blocks(&s->facts, blocks.first, blocks.count);
    const int *degree = s->parallel.degree;
    int64_t heads = s->facts.heads / degree[DIT_AXIS_TENSOR] / degree[DIT_AXIS_ULYSSES];
    kept_rows kept = kept_of(s, coordinates);
    int64_t rows = layers.count * (kept.image + kept.text) + layers.image_layers * kept.image;
    return 2 * batch_of(s) * rows * heads * s->facts.head_dim * s->element_bytes;
}

/* Two messages that arrive in turn from the stage before, and one that leaves: B (text + image) C e each. Of a stream two
 * that leave, of a block and what is computed again before it; tpp sends latents alone. */
static int64_t stream_bytes(const subject *s, int stage)
{
    int buffers = 2 * (stage > 0) + (stage < s->parallel.degree[DIT_AXIS_PIPEFUSION] - 1);
    int64_t rows = image_rows(s) + text_rows(s);
    if (dit_parallel_streams(&s->parallel)) {
        const dit_stream stream = dit_stream_of(&s->parallel, &s->facts, stage);
        bool queue = stream.method == DIT_STAGE_DUALPARAL;
        buffers = queue ? 2 * (stage > 0) + 2 * (stage < s->parallel.degree[DIT_AXIS_PIPEFUSION] - 1) : 0;
        rows = dit_stream_window_most(&stream);
    }
    return buffers * batch_of(s) * rows * s->facts.heads * s->facts.head_dim * s->element_bytes;
}

static void add_terms(dit_json_writer *w, cJSON *out, const subject *s, const int coordinates[DIT_AXIS_COUNT],
                      dit_range blocks)
{
    cJSON *terms = dit_json_put_object(w, out, "terms");
    dit_json_put_number(w, terms, "parameters_bytes", dit_json_number_or(out, "parameters", 0) * s->element_bytes);
    dit_json_put_int(w, terms, "kv_store_bytes", kv_store_bytes(s, coordinates, blocks));
    dit_json_put_int(w, terms, "stream_bytes", stream_bytes(s, coordinates[DIT_AXIS_PIPEFUSION]));
}

/* Of weights in shards: a rank's own, and the blocks that are gathered at once. */
static void add_shard_terms(dit_json_writer *w, cJSON *out, const subject *s, const cJSON *counted)
{
    static const char *const keys[] = {"shard_bytes", "gathered_bytes"};
    cJSON *terms = cJSON_GetObjectItemCaseSensitive(out, "terms");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (dit_json_member(counted, keys[i]))
            dit_json_put_number(w, terms, keys[i], s->scale * dit_json_number_or(counted, keys[i], 0));
}

/* ---- the order of exchanges in a block --------------------------------------------------------------------------- */

static dit_status add_exchange(cJSON *list, const char *format, ...) __attribute__((format(printf, 2, 3)));
static dit_status add_exchange(cJSON *list, const char *format, ...)
{
    dit_json_writer w = {0};
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    dit_json_put_string(&w, list, NULL, text);
    return w.status;
}

/* K and V of other frames are of this step, in all steps. */
static dit_status add_frame_exchange(cJSON *list, const subject *s, int degree)
{
    int64_t own = dit_facts_frames(&s->facts) / degree;
    const dit_parallel *parallel = &s->parallel;
    if (parallel->warmup_steps > 0)
        DIT_TRY(add_exchange(list, "synchronous steps: K, V of all frames to all %d ranks (all_gather)", degree));
    if (dit_parallel_stale_steps(parallel, &s->facts) == 0) return DIT_OK;
    return add_exchange(list,
                        "K, V of %d frames to each neighbour (send_recv) and of %d to all %d ranks (all_gather), then "
                        "attention with them and a rank's own %lld frames",
                        parallel->halo_frames, parallel->global_frames / degree, degree, (long long)own);
}

static dit_status add_patch_exchange(cJSON *list, const subject *s, int degree)
{
    bool stale = dit_parallel_stale_steps(&s->parallel, &s->facts) > 0;
    if (dit_parallel_cuts_frames(&s->parallel)) return add_frame_exchange(list, s, degree);
    DIT_TRY(add_exchange(list, "synchronous steps: K, V to all %d patch ranks (all_gather), then attention", degree));
    if (!stale) return DIT_OK;
    switch (s->parallel.patch_method) {
    case DIT_PATCH_PCPP:
        return add_exchange(
            list,
            "stale steps: attention with the neighbours' rows of the step before; K, V of the %lld rows "
            "next to each neighbour go there (send_recv) for the next step",
            (long long)shared_rows(s));
    case DIT_PATCH_NAIVE: return add_exchange(list, "stale steps: attention over a rank's own rows; nothing is sent");
    default: break;
    }
    return add_exchange(list, "stale steps: attention with the other ranks' K, V of the step before; a rank's own K, V "
                              "go to all (all_gather) in the background, for the next step");
}

static dit_status add_ring_exchange(cJSON *list, const subject *s, const char *what)
{
    const dit_parallel *parallel = &s->parallel;
    int ranks = dit_parallel_degree(parallel, DIT_AXIS_RING), inner = dit_parallel_inner_ring(parallel);
    if (parallel->ring_method == DIT_RING_SWITCH)
        return add_exchange(list,
                            "around blocks within frames: the stream, for whole frames and back (all_to_all) over %d "
                            "ring ranks",
                            ranks);
    if (parallel->ring_method == DIT_RING_GATHER)
        return add_exchange(list, "%s to all %d ring ranks (all_gather), then attention over all keys at once", what,
                            ranks);
    if (inner == ranks)
        return add_exchange(
            list, "%s to the next of %d ring ranks, %d times, while attention works on the block that is there", what,
            ranks, ranks - 1);
    return add_exchange(list,
                        "%s around inner rings of %d ring ranks, while the block that began goes on to the next of %d "
                        "inner rings and attention works on the block that is there: %d messages",
                        what, inner, ranks / inner, ranks - 1);
}

/* Linear attention: sums over keys instead of keys and values, and rows of pixels for convolutions. */
static dit_status add_linear_exchanges(cJSON *list, const subject *s)
{
    int ranks = dit_parallel_sequence_degree(&s->parallel);
    if (ranks == 1) return DIT_OK;
    DIT_TRY(add_exchange(list, "sums of relu(K) V and relu(K): added up over %d sequence ranks (all_reduce)", ranks));
    return add_exchange(list, "in the MLP: the first and the last row of pixels to the ranks beside (send_recv)");
}

static dit_status add_attention_exchanges(cJSON *list, const subject *s)
{
    const int *degree = s->parallel.degree;
    if (s->facts.linear_attention) return add_linear_exchanges(list, s);
    bool store = degree[DIT_AXIS_PIPEFUSION] > 1 && dit_parallel_stale_steps(&s->parallel, &s->facts) > 0;
    bool text = s->facts.joint && text_rows(s) == dit_facts_text_rows(&s->facts);
    if (degree[DIT_AXIS_ULYSSES] > 1)
        DIT_TRY(add_exchange(list, "q, k, v: one all_to_all each over %d ulysses ranks, tokens for heads",
                             degree[DIT_AXIS_ULYSSES]));
    if (store) DIT_TRY(add_exchange(list, "K, V of the band go into the store, which has all bands of the stage"));
    if (degree[DIT_AXIS_RING] > 1) DIT_TRY(add_ring_exchange(list, s, store ? "the whole stored K, V" : "K, V"));
    if (degree[DIT_AXIS_PATCH] > 1) DIT_TRY(add_patch_exchange(list, s, degree[DIT_AXIS_PATCH]));
    if (degree[DIT_AXIS_ULYSSES] > 1)
        DIT_TRY(add_exchange(list, "the result: all_to_all back over %d ulysses ranks, heads for tokens",
                             degree[DIT_AXIS_ULYSSES]));
    if (degree[DIT_AXIS_ULYSSES] > 1 && text)
        DIT_TRY(add_exchange(list, "the result of the replicated text: all_gather of its heads"));
    return DIT_OK;
}

/* What stages of a stream do for each block of frames. */
static dit_status add_stream_exchanges(cJSON *list, const subject *s)
{
    const dit_parallel *parallel = &s->parallel;
    const dit_stream stream = dit_stream_of(parallel, &s->facts, 0);
    long long blocks = (long long)stream.blocks;
    if (stream.method == DIT_STAGE_TPP) {
        DIT_TRY(
            add_exchange(list,
                         "each of %lld blocks of %d frames: a stage makes its steps, with all layers; attention sees "
                         "the %d frames before it, whose K, V of this step it has kept",
                         blocks, parallel->block_frames, parallel->context_frames));
        return add_exchange(list, "after the stage's last step: the block's latents to the next stage (send_recv)");
    }
    DIT_TRY(
        add_exchange(list,
                     "%lld blocks of %d frames go round once a step, the newest first; %d frames before a block are "
                     "computed again with it",
                     blocks, parallel->block_frames, parallel->context_frames));
    DIT_TRY(add_exchange(list, "attention also sees K, V of %d frames of the block behind, which went by just before",
                         parallel->context_frames));
    DIT_TRY(
        add_exchange(list, "after the stage's last layer: the stream of these frames to the next stage (send_recv)"));
    return add_exchange(list, "after the solver: the block's latents from the last stage to the first (send_recv)");
}

/* What a block sends and when; then what lies between blocks and steps. */
static dit_status add_exchanges(cJSON *out, const subject *s)
{
    dit_json_writer w = {0};
    const int *degree = s->parallel.degree;
    cJSON *list = dit_json_put_array(&w, out, "exchanges");
    if (s->parallel.fsdp_degree > 1)
        DIT_TRY(add_exchange(list,
                             "before each block: its weights' other pieces from %d fsdp ranks (all_gather), begun %d "
                             "blocks ahead",
                             s->parallel.fsdp_degree - 1, s->parallel.fsdp_prefetch));
    if (dit_parallel_streams(&s->parallel))
        DIT_TRY(add_stream_exchanges(list, s));
    else
        DIT_TRY(add_attention_exchanges(list, s));
    if (degree[DIT_AXIS_TENSOR] > 1)
        DIT_TRY(add_exchange(list, "after each attention and each MLP: the sum over %d tensor ranks (all_reduce)",
                             degree[DIT_AXIS_TENSOR]));
    bool bands = degree[DIT_AXIS_PIPEFUSION] > 1 && !dit_parallel_streams(&s->parallel);
    if (bands)
        DIT_TRY(add_exchange(list, "after the stage's last block: the stream to the next stage (send_recv)%s",
                             s->facts.skips ? ", and the skips of later blocks to their stages" : ""));
    if (degree[DIT_AXIS_CFG] > 1)
        DIT_TRY(add_exchange(list, "after the head: the prediction of the other branch (all_gather)"));
    if (bands)
        DIT_TRY(add_exchange(list, "after the solver: the latents from the last stage to the first (send_recv)"));
    return w.status;
}

/* ---- one mesh ---------------------------------------------------------------------------------------------------- */

static void add_rank(dit_json_writer *w, cJSON *list, const subject *s, int rank, const cJSON *counted)
{
    int coordinates[DIT_AXIS_COUNT];
    cJSON *out = dit_json_put_object(w, list, NULL);
    dit_mesh_coordinates(&s->parallel, rank, coordinates);
    dit_range blocks = dit_parallel_stage(&s->parallel, &s->facts, coordinates[DIT_AXIS_PIPEFUSION]);
    dit_json_put_int(w, out, "rank", rank);
    dit_json_put_int(w, out, "stage", coordinates[DIT_AXIS_PIPEFUSION]);
    dit_json_put_int(w, out, "blocks", blocks.count);
    add_traffic(w, out, s, counted);
    add_work(w, out, s, counted);
    add_terms(w, out, s, coordinates, blocks);
    add_shard_terms(w, out, s, counted);
}

/* The entry of `ranks` with the largest (sign 1) or smallest (-1) number under `key`. */
static const cJSON *extreme(const cJSON *ranks, const char *key, double sign)
{
    const cJSON *best = ranks->child, *item;
    cJSON_ArrayForEach(item, ranks)
    {
        if (sign * dit_json_number_or(item, key, 0) > sign * dit_json_number_or(best, key, 0)) best = item;
    }
    return best;
}

/* Whether some kind of rank sends what the closed form does not say: that one stands for the mesh. */
static const cJSON *most_telling(const cJSON *ranks)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, ranks)
    {
        if (dit_json_number_or(item, "bytes_per_step", 0) != dit_json_number_or(item, "predicted_bytes_per_step", 0))
            return item;
    }
    return extreme(ranks, "bytes_per_step", 1);
}

static void add_summary(dit_json_writer *w, cJSON *mesh, const cJSON *ranks)
{
    static const char *const keys[] = {"bytes_per_step", "predicted_bytes_per_step", "messages_per_step",
                                       "gather_bytes"};
    const cJSON *most = most_telling(ranks), *fullest = extreme(ranks, "memory_bytes", 1);
    const cJSON *busiest = extreme(ranks, "flops_per_step", 1), *least = extreme(ranks, "bytes_per_step", -1);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        dit_json_put_number(w, mesh, keys[i], dit_json_number_or(most, keys[i], 0));
    dit_json_put_number(w, mesh, "least_bytes_per_step", dit_json_number_or(least, "bytes_per_step", 0));
    dit_json_put_number(w, mesh, "flops_per_step", dit_json_number_or(busiest, "flops_per_step", 0));
    dit_json_put_copy(w, mesh, "memory", dit_json_member(fullest, "memory"));
    dit_json_put_number(w, mesh, "memory_bytes", dit_json_number_or(fullest, "memory_bytes", 0));
}

static dit_status fill_mesh(cJSON *mesh, const subject *s, const cJSON *counted)
{
    dit_json_writer w = {0};
    const suite_case *kase = s->kase;
    dit_json_put_string(&w, mesh, "method", dit_json_text_or(kase->tags, "method", NULL));
    dit_json_put_string(&w, mesh, "attention", dit_json_text_or(kase->tags, "attention", NULL));
    dit_json_put_copy(&w, mesh, "parallel", dit_json_member(kase->document, "parallel"));
    cJSON *ranks = dit_json_new_array(&w);
    for (int i = 0; i < s->rank_count; i++, counted = counted->next) add_rank(&w, ranks, s, s->ranks[i], counted);
    if (w.status == DIT_OK) add_summary(&w, mesh, ranks);
    dit_json_put_item(&w, mesh, "ranks", ranks);
    if (w.status == DIT_OK) dit_json_put_status(&w, add_exchanges(mesh, s));
    if (w.status == DIT_OK && s->parallel.degree[DIT_AXIS_PIPEFUSION] > 1 && !dit_parallel_streams(&s->parallel))
        dit_json_put_status(&w, suite_timetable_to_json(&s->parallel, &s->facts, mesh));
    return w.status;
}

/* The first rank that the engine refused stands for its mesh. */
static const cJSON *error_of(const subject *s, const cJSON *counted)
{
    for (int i = 0; i < s->rank_count; i++, counted = counted->next)
        if (dit_json_member(counted, "error")) return dit_json_member(counted, "error");
    return NULL;
}

static dit_status add_mesh(cJSON *meshes, cJSON *rejected, const subject *s, const cJSON *counted)
{
    dit_json_writer w = {0};
    const cJSON *error = error_of(s, counted);
    cJSON *mesh = dit_json_put_object(&w, error ? rejected : meshes, NULL);
    dit_json_put_string(&w, mesh, "mesh", dit_json_text_or(s->kase->tags, "mesh", NULL));
    if (s->kase->is_simulated) dit_json_put_copy(&w, mesh, "profile", dit_json_member(s->kase->tags, "profile"));
    if (!error) {
        dit_json_put_status(&w, fill_mesh(mesh, s, counted));
        return w.status;
    }
    dit_json_put_string(&w, mesh, "code", dit_json_text_or(error, "code", NULL));
    dit_json_put_string(&w, mesh, "reason", dit_json_text_or(error, "message", NULL));
    return w.status;
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

/* Patch methods are often refused for one reason. */
static bool is_told(const cJSON *rejected, const char *label, const char *reason)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, rejected)
    {
        bool same = strcmp(dit_json_text_or(item, "mesh", NULL), label) == 0;
        if (same && strcmp(dit_json_text_or(item, "reason", NULL), reason) == 0) return true;
    }
    return false;
}

/* A dropped cell has no case: its mesh is named from its degrees. */
static void add_dropped(dit_json_writer *w, cJSON *rejected, const suite_dropped *dropped, const dit_parallel *asked)
{
    char label[64];
    if (asked)
        dit_parallel_label(asked, label);
    else
        suite_meshes_label_dropped(dropped, label);
    if (is_told(rejected, label, dropped->reason)) return;
    cJSON *entry = dit_json_put_object(w, rejected, NULL);
    dit_json_put_string(w, entry, "mesh", label);
    dit_json_put_string(w, entry, "code", dit_status_name(dropped->code));
    dit_json_put_string(w, entry, "reason", dropped->reason);
}

static int by_bytes(const void *a, const void *b)
{
    double x = dit_json_number_or(*(cJSON *const *)a, "bytes_per_step", 0),
           y = dit_json_number_or(*(cJSON *const *)b, "bytes_per_step", 0);
    return (x > y) - (x < y);
}

/* The list in a new order: cheapest in bytes first. */
static dit_status sort_meshes(cJSON *meshes)
{
    dit_json_writer w = {0};
    int count = cJSON_GetArraySize(meshes);
    cJSON **items = calloc((size_t)count + 1, sizeof *items);
    if (!items) return fail_memory();
    for (int i = 0; i < count; i++) items[i] = cJSON_DetachItemFromArray(meshes, 0);
    qsort(items, (size_t)count, sizeof *items, by_bytes);
    for (int i = 0; i < count; i++) dit_json_put_item(&w, meshes, NULL, items[i]);
    free(items);
    return w.status;
}

static dit_status fill_meshes(const subject *subjects, int count, const cJSON *record, cJSON *meshes, cJSON *rejected)
{
    const cJSON *counted = dit_json_member(record, "describe") ? dit_json_member(record, "describe")->child : NULL;
    int wanted = 0;
    for (int i = 0; i < count; i++) wanted += subjects[i].rank_count;
    if (wanted != cJSON_GetArraySize(dit_json_member(record, "describe")))
        return DIT_FAIL(DIT_ERR_INTERNAL, "the engine described fewer ranks than it was asked for");
    for (int i = 0; i < count; i++) {
        if (subjects[i].rank_count) DIT_TRY(add_mesh(meshes, rejected, &subjects[i], counted));
        for (int k = 0; k < subjects[i].rank_count; k++) counted = counted->next;
    }
    return DIT_OK;
}

static void reject_mesh(dit_json_writer *w, cJSON *mesh, const suite_platform *platform, const char *element,
                        cJSON *rejected)
{
    char reason[256];
    cJSON *entry = dit_json_put_object(w, rejected, NULL);
    double needs = dit_json_number_or(mesh, "memory_bytes", 0) / (1 << 30);
    double has = (double)platform->memory_bytes / (1 << 30);
    snprintf(reason, sizeof reason, "needs %.2f GiB per rank in %s, %s has %.2f GiB: %.2f GiB are missing", needs,
             element, platform->name, has, needs - has);
    dit_json_put_string(w, entry, "mesh", dit_json_text_or(mesh, "mesh", NULL));
    dit_json_put_string(w, entry, "code", dit_status_name(DIT_ERR_CONSTRAINT_MEMORY));
    dit_json_put_string(w, entry, "reason", reason);
}

/* No cell of a simulated platform is dropped for memory, because its simulation counts it. So does this. */
static dit_status reject_too_large(const suite_explain_params *params, const char *element, cJSON *meshes,
                                   cJSON *rejected)
{
    dit_json_writer w = {0};
    suite_platform platform;
    if (!params->platform) return w.status;
    DIT_TRY(suite_platform_load(params->platform, &platform));
    if (strcmp(platform.backend, "cost") != 0 || !platform.memory_per_device) return w.status;
    for (int i = cJSON_GetArraySize(meshes) - 1; i >= 0; i--) {
        cJSON *mesh = cJSON_GetArrayItem(meshes, i);
        if (dit_json_number_or(mesh, "memory_bytes", 0) <= (double)platform.memory_bytes) continue;
        reject_mesh(&w, mesh, &platform, element, rejected);
        cJSON_DeleteItemFromArray(meshes, i);
    }
    return w.status;
}

static void put_verdicts(dit_json_writer *w, cJSON *rejected)
{
    const char *memory = dit_status_name(DIT_ERR_CONSTRAINT_MEMORY);
    char verdict[400];
    cJSON *one;
    cJSON_ArrayForEach(one, rejected)
    {
        bool too_large = strcmp(dit_json_text_or(one, "code", ""), memory) == 0;
        snprintf(verdict, sizeof verdict, "%s: %s", too_large ? "out of memory" : "not legal",
                 dit_json_text_or(one, "reason", ""));
        dit_json_put_string(w, one, "verdict", verdict);
    }
}

static dit_status fill_answer(const suite_explain_params *params, const suite_workload *workload,
                              const subject *subjects, int subject_count, const cJSON *record, cJSON *out)
{
    dit_json_writer w = {0};
    cJSON *meshes = dit_json_put_array(&w, out, "meshes"), *rejected = dit_json_put_array(&w, out, "rejected");
    const char *told = workload->case_count ? suite_case_platform(workload->cases[0].document, "element") : "";
    const char *asked = params->element ? params->element : "fp16"; /* of a simulated platform without a legal mesh */
    const char *element = told[0] ? told : params->profile ? asked : "fp32";
    dit_json_put_string(&w, out, "model", params->model);
    if (params->platform) dit_json_put_string(&w, out, "platform", params->platform);
    if (params->profile) {
        dit_json_put_string(&w, out, "profile", params->profile);
        suite_profile_put(&w, out, params->profile);
    }
    int ranks = params->mesh ? dit_parallel_world_size(params->mesh) : (int)params->devices;
    dit_json_put_int(&w, out, "devices", ranks);
    if (workload->case_count) dit_json_put_copy(&w, out, "run", dit_json_member(workload->cases[0].document, "run"));
    DIT_TRY(w.status);
    DIT_TRY(fill_meshes(subjects, subject_count, record, meshes, rejected));
    dit_json_put_string(&w, out, "element", element);
    DIT_TRY(suite_texts_to_json(params->model, ranks, suite_predict_element_bytes(element), out));
    DIT_TRY(reject_too_large(params, element, meshes, rejected));
    for (int i = 0; i < workload->dropped_count && w.status == DIT_OK; i++)
        add_dropped(&w, rejected, &workload->dropped[i], params->mesh);
    put_verdicts(&w, rejected);
    dit_json_put_status(&w, sort_meshes(meshes));
    return w.status;
}

static dit_status explain_workload(const suite_explain_params *params, const suite_single_params *single,
                                   const suite_workload *workload, cJSON *out)
{
    cJSON *record = NULL;
    subject *subjects = calloc((size_t)workload->case_count + 1, sizeof *subjects);
    dit_status st = subjects ? DIT_OK : fail_memory();
    int count = 0;
    for (int i = 0; i < workload->case_count && st == DIT_OK; i++)
        if (!workload->cases[i].is_oracle) st = open_subject(&workload->cases[i], &subjects[count++]);
    if (st == DIT_OK && count) st = describe_kinds(subjects, count, single, &record);
    if (st == DIT_OK) st = fill_answer(params, workload, subjects, count, record, out);
    cJSON_Delete(record);
    free(subjects);
    return st;
}

dit_status suite_explain(const suite_explain_params *params, const suite_single_params *single, cJSON **out)
{
    suite_workload workload;
    *out = NULL;
    const suite_meshes_params meshes = suite_explain_meshes(params);
    DIT_TRY(suite_meshes_expand(&meshes, "explain", &workload));
    dit_json_writer w = {0};
    *out = dit_json_new_object(&w);
    dit_status st = *out ? explain_workload(params, single, &workload, *out) : w.status;
    if (st != DIT_OK) {
        cJSON_Delete(*out);
        *out = NULL;
    }
    suite_workload_release(&workload);
    return st;
}
