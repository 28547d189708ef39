#include "base/footprint.h"

#include "base/mesh.h"
#include "base/parallel.h"
#include "base/patches.h"
#include "base/share.h"

/* Returns a rank of the stage with the most parameters. */
static int heaviest_rank(const dit_parallel *parallel, const dit_facts *facts)
{
    int coordinates[DIT_AXIS_COUNT] = {0};
    int64_t most = -1;
    for (int stage = 0; stage < dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION); stage++) {
        dit_block_run blocks = dit_share_stage_blocks(parallel, facts, stage);
        if (dit_facts_block_parameters(facts, &blocks) <= most) continue;
        most = dit_facts_block_parameters(facts, &blocks);
        coordinates[DIT_AXIS_PIPEFUSION] = stage;
    }
    return dit_mesh_rank(parallel, coordinates);
}

/* Counts the parameters that a rank holds: the blocks of its stage, with a tensor rank's share of their attentions and
 * MLPs, and everything outside of blocks. At least a sixth is not shared, in every implemented architecture. */
static int64_t own_parameters(const dit_share *s, const dit_facts *facts)
{
    dit_block_run all = dit_facts_blocks(facts, 0, facts->layers);
    int64_t most = facts->parameters - facts->parameters / 6;
    int64_t inside = dit_facts_block_parameters(facts, &all), shared = dit_facts_shared_parameters(facts, &all);
    double share = s->stages > 1 ? (double)dit_facts_block_parameters(facts, &s->blocks) / (double)inside : 1;
    double part = s->stages > 1 ? (double)dit_facts_shared_parameters(facts, &s->blocks) / (double)shared : 1;
    if (inside > facts->parameters) inside = facts->parameters;
    if (shared > most) shared = most;
    int64_t own = (int64_t)(part * (double)shared);
    return facts->parameters - inside + (int64_t)(share * (double)inside) - own + own / s->t;
}

/* Counts the elements of K and V that are kept for the next step, per call of `rows` sent and `replicated` rows. */
static int64_t kept_elements(const dit_share *s, const dit_parallel *parallel, int64_t rows, int64_t replicated)
{
    int64_t shared = dit_parallel_shared_beside(parallel, s->image_rows / s->segments, s->reference_rows) * s->segments;
    if (s->stream.method == DIT_STAGE_DUALPARAL) return 2 * s->batch * s->hidden * s->stream.context_rows;
    if (s->stream.method == DIT_STAGE_TPP)
        return 2 * s->batch * s->hidden * ((s->stream.all_steps + s->stages - 1) / s->stages) *
               (s->stream.context_rows + s->stream.block_rows);
    if (s->stages > 1) return 2 * s->batch * (s->u * rows + replicated) * (s->hidden / s->u);
    if (s->patch == 1 || parallel->patch_method == DIT_PATCH_NAIVE || s->frames) return 0;
    return 2 * s->batch * s->hidden * (parallel->patch_method == DIT_PATCH_PCPP ? 2 * shared : s->patch * rows);
}

/* Counts the elements of a ring's message buffers: K and V of all ranks, or blocks on their way, of which a double ring
 * has one more. */
static int64_t ring_elements(const dit_share *s, const dit_parallel *parallel)
{
    int64_t block = s->batch * s->u * s->moving_rows * (s->hidden / s->u);
    if (parallel->ring_method == DIT_RING_GATHER) return 2 * s->r * block;
    if (parallel->ring_method == DIT_RING_SWITCH) return s->image_rows * s->hidden * s->t; /* of one batch entry */
    return (dit_parallel_inner_ring(parallel) < s->r ? 7 : 5) * block;
}

/* Counts the elements of K and V that Video-Infinity's ranks have beside each other: own frames and those of others, and
 * what is gathered, with a rank's part of it. Synchronous steps gather all rows. */
static int64_t frame_elements(const dit_share *s, const dit_parallel *parallel)
{
    int64_t others = 2 * parallel->halo_frames + 2 * parallel->global_frames + parallel->global_frames / s->patch;
    int64_t all = s->passes.whole ? s->patch : 1;
    return 2 * s->batch * s->hidden * (s->image_rows / s->frames * others + all * s->moving_rows + s->replicated_rows);
}

/* Counts the elements of message buffers; PCPP receives what it keeps while it sends as much. */
static int64_t message_elements(const dit_share *s, const dit_parallel *parallel, const dit_facts *facts, int64_t kept)
{
    int64_t exchanged = s->u * s->moving_rows + s->replicated_rows, total = 0;
    int64_t stream = s->batch * (s->moving_rows + s->replicated_rows) * s->hidden * s->t;
    if (s->t > 1) total += 2 * stream;
    if (s->u > 1) total += 8 * s->batch * exchanged * (s->hidden / s->u);
    if (s->r > 1) total += ring_elements(s, parallel);
    if (s->frames)
        total += frame_elements(s, parallel);
    else if (s->patch > 1)
        total += 2 * s->batch * (1 + s->patch) * s->moving_rows * s->hidden;
    if (s->patch > 1 && parallel->patch_method == DIT_PATCH_PCPP) total += kept;
    if (s->stream.blocks) return total + 4 * stream; /* two that arrive, two that leave */
    if (s->stages > 1) total += 2 * (stream + facts->skips * s->batch * s->image_rows * s->hidden * s->t);
    return total;
}

/* Estimates an upper limit: fused QKV (3C), attention (C), stream and its norm (2C), MLP (mlp_ratio C, joint single
 * blocks C more), skips. Tensor ranks share what lies between two sums, and keep the partial sum and the whole one.
 * Bands save nothing, because synchronous forwards are over all rows. A second transformer has memory of its own. */
void dit_memory_predict(const dit_parallel *parallel, const dit_facts *facts, int64_t bytes[4])
{
    dit_share s = dit_share_of(parallel, facts, heaviest_rank(parallel, facts));
    int64_t rows = s.batch * (s.moving_rows + s.replicated_rows), C = s.hidden * s.t;
    int64_t per_row = (4 + facts->mlp_ratio) * s.hidden + 3 * C;
    int64_t text = facts->joint ? 0 : s.batch * facts->text_tokens * s.hidden;
    int64_t kept = 0;
    if (dit_parallel_stale_steps(parallel, facts))
        kept = s.blocks.count * kept_elements(&s, parallel, s.moving_rows, s.replicated_rows) +
               s.blocks.image_layers * kept_elements(&s, parallel, s.image_rows, 0);
    int64_t bytes_each = dit_facts_transformers(facts) * s.element;
    int64_t latents = 4 * s.batch * s.image_rows * facts->token_channels;
    if (s.stream.blocks) s.image_rows = s.moving_rows = dit_stream_window_most(&s.stream);
    if (s.stream.blocks) rows = s.batch * s.image_rows;
    bytes[0] = own_parameters(&s, facts) * bytes_each;
    bytes[1] = latents * s.element + (2 * s.blocks.count * text + kept) * bytes_each;
    bytes[2] = (rows * per_row + 2 * text * s.t + facts->skips * s.batch * s.image_rows * C) * bytes_each;
    if (s.r > 1 && parallel->ring_method == DIT_RING_GATHER) /* K and V of all, one behind the other */
        bytes[2] += 2 * s.batch * (s.r * s.u * s.moving_rows + s.replicated_rows) * (s.hidden / s.u) * bytes_each;
    if (s.stream.method == DIT_STAGE_DUALPARAL) /* what a call attends to, put together */
        bytes[2] += 2 * s.batch * s.hidden * (s.image_rows + s.stream.context_rows) * bytes_each;
    bytes[3] = message_elements(&s, parallel, facts, kept) * bytes_each;
}

void dit_memory_offload(const dit_parallel *parallel, const dit_facts *facts, const dit_offload *offload,
                        int64_t bytes[4])
{
    dit_share s = dit_share_of(parallel, facts, heaviest_rank(parallel, facts));
    dit_block_run all = dit_facts_blocks(facts, 0, facts->layers);
    int64_t outside = (facts->parameters - dit_facts_block_parameters(facts, &all)) * s.element;
    int64_t inside = bytes[0] - (outside > 0 ? outside : 0), block = inside / (s.blocks.count ? s.blocks.count : 1);
    int64_t held = offload->resident_weights + block;
    if (offload->tier != DIT_OFFLOAD_NONE && inside > held) bytes[0] += held - inside;
}

/* Estimates the bytes of the weights of a run of blocks, with a tensor rank's share of their attentions and MLPs. */
static int64_t run_bytes(const dit_share *s, const dit_facts *facts, const dit_block_run *blocks)
{
    int64_t shared = dit_facts_shared_parameters(facts, blocks);
    return (dit_facts_block_parameters(facts, blocks) - shared + shared / s->t) * s->element;
}

int64_t dit_memory_block_bytes(const dit_parallel *parallel, const dit_facts *facts, int rank, int64_t index)
{
    dit_share s = dit_share_of(parallel, facts, rank);
    dit_range own = dit_parallel_stage(parallel, facts, (int)s.stage);
    dit_block_run block = dit_facts_blocks(facts, own.first + index, 1);
    return run_bytes(&s, facts, &block);
}

void dit_memory_shards(const dit_parallel *parallel, const dit_facts *facts, int64_t bytes[4])
{
    int rank = heaviest_rank(parallel, facts);
    dit_share s = dit_share_of(parallel, facts, rank);
    int64_t degree = dit_parallel_degree(parallel, DIT_AXIS_FSDP), largest = 0, held = 0;
    int64_t inside = run_bytes(&s, facts, &s.blocks), at_once = parallel->fsdp_prefetch + 1;
    if (degree == 1) return;
    for (int64_t i = 0; i < s.blocks.count; i++) {
        int64_t block = dit_memory_block_bytes(parallel, facts, rank, i);
        held += dit_residency_piece(block, degree);
        if (block > largest) largest = block;
    }
    held += (at_once < s.blocks.count ? at_once : s.blocks.count) * largest;
    if (inside > bytes[0]) inside = bytes[0];
    if (inside > held) bytes[0] += held - inside;
}

/* Counts rows of all outputs of the modules that a cache keeps, and the rows of the longest one. */
static int64_t count_module_rows(const dit_facts *facts, const dit_cache *cache, int64_t image, int64_t text,
                                 int64_t *longest)
{
    const dit_block_run all = dit_facts_blocks(facts, 0, facts->layers);
    int64_t rows = 0;
    *longest = 0;
    for (int kind = 0; kind < DIT_MODULE_COUNT; kind++) {
        const dit_module_parts *parts = &all.modules[kind];
        if (!dit_module_in(dit_cache_modules(cache), (dit_module)kind)) continue;
        rows += parts->image * image + parts->text * text + parts->both * (image + text);
        if (parts->image && image > *longest) *longest = image;
        if (parts->text && text > *longest) *longest = text;
        if (parts->both) *longest = image + text;
    }
    return rows;
}

/* A forecast is made in an array of its own, and the newest difference beside it. Where one branch is left out in some
 * steps, what is kept is of the other; a new output of both has an array of its own. */
static void add_modules(const dit_share *s, const dit_facts *facts, const dit_cache *cache, int64_t bytes[4])
{
    int64_t row = s->hidden * s->t * s->element, longest, image = s->batch * s->image_rows;
    int64_t text = s->batch * (s->moving_rows + s->replicated_rows) - image;
    int64_t branches = dit_cache_has_lone_steps(cache) ? s->batch / s->images : 1;
    bytes[1] += (1 + cache->order) * count_module_rows(facts, cache, image, text, &longest) / branches * row;
    bytes[2] += (cache->order ? 2 : branches > 1) * longest * row;
    if (!cache->unconditional) return;
    int64_t outputs = s->images * s->image_rows * facts->token_channels * (int64_t)sizeof(float);
    bytes[1] += 2 * outputs; /* low and high frequencies of how the branches differ */
    bytes[2] += 2 * outputs;
}

/* Counts the ranks that decide together. */
static int64_t count_deciders(const dit_share *s, const dit_parallel *parallel, const dit_cache *cache)
{
    if (dit_cache_is_alike(cache)) return 1;
    return s->u * s->r * (cache->separate ? 1 : dit_parallel_degree(parallel, DIT_AXIS_CFG));
}

/* Latents and outputs are kept as they are, in fp32: what the forward makes of latents and its differences; with a test,
 * the latents of the step before and the latents and the output of the newest computed step. */
static void add_outputs(const dit_share *s, const dit_parallel *parallel, const dit_facts *facts,
                        const dit_cache *cache, int64_t bytes[4])
{
    int64_t rows = s->batch * s->image_rows, array = rows * facts->token_channels * (int64_t)sizeof(float);
    int64_t ranks = count_deciders(s, parallel, cache), sums = dit_cache_sums(cache);
    bool tested = !dit_cache_is_known(cache);
    bytes[1] += (1 + cache->order + (tested ? 3 : 0)) * array;
    bytes[2] += (2 + (cache->order > 0)) * array;
    if (!tested) return;
    bytes[2] += 2 * rows * (int64_t)sizeof(double);
    bytes[3] += (sums + 1 + 2 * sums * ranks) * (int64_t)sizeof(double);
}

/* Of each block what it added to all rows and, where a test decides, the image rows of its input. */
static void add_blocks(const dit_share *s, const dit_parallel *parallel, const dit_facts *facts, const dit_cache *cache,
                       int64_t bytes[4])
{
    int64_t row = s->hidden * s->t * s->element, image = s->batch * s->image_rows;
    int64_t all = s->batch * (s->moving_rows + s->replicated_rows), sum = (int64_t)sizeof(double);
    int64_t ranks = count_deciders(s, parallel, cache);
    bool tested = !dit_cache_is_known(cache);
    bytes[1] += dit_cache_prunable(cache, facts->layers) * (all + (tested ? image : 0)) * row;
    if (!tested) return;
    bytes[2] += image * row + 2 * image * sum;
    bytes[3] += (2 + 2 * 2 * ranks) * sum;
}

void dit_memory_predict_cached(const dit_parallel *parallel, const dit_facts *facts, const dit_cache *cache,
                               int64_t bytes[4])
{
    dit_memory_predict(parallel, facts, bytes);
    if (cache->policy == DIT_CACHE_NONE) return;
    dit_share s = dit_share_of(parallel, facts, 0); /* every stage keeps what a rank of its rows does */
    if (dit_cache_modules(cache)) {
        add_modules(&s, facts, cache, bytes);
        return;
    }
    if (dit_cache_is_of_blocks(cache)) {
        add_blocks(&s, parallel, facts, cache, bytes);
        return;
    }
    if (dit_cache_is_of_outputs(cache)) {
        add_outputs(&s, parallel, facts, cache, bytes);
        return;
    }
    int64_t row = s.hidden * s.t * s.element, image = s.batch * s.image_rows, sum = (int64_t)sizeof(double);
    int64_t time = cache->policy == DIT_CACHE_TEACACHE_TIME ? facts->time_width * (int64_t)sizeof(float) : 0;
    int64_t kept = dit_cache_keeps_text(cache) ? s.batch * (s.moving_rows + s.replicated_rows) : image;
    bool tested = dit_cache_looks(cache);
    bytes[1] += (1 + cache->order) * kept * row + (time ? time : tested ? image * row : 0);
    if ((tested && !time) || cache->order) bytes[2] += kept * row;
    if (!tested) return;
    bytes[2] += time + 2 * (time ? 1 : image) * sum;
    bytes[3] += (2 + 2 * 2 * count_deciders(&s, parallel, cache)) * sum;
}

/* The oracle keeps whole streams: this step's at two places, what is compared and with what, what was added and its
 * differences; of modules, the outputs of computed steps and the newest output; of whole forwards, latents and outputs
 * of this step and of three computed ones, and the latents of the step before; of single blocks, the input of each and
 * what it added, and both of the block that runs. */
int64_t dit_memory_cache_oracle(const dit_facts *facts, const dit_cache *cache)
{
    int64_t batch = facts->num_images * facts->guidance_branches, width = facts->heads * facts->head_dim;
    int64_t image = batch * facts->image_tokens, all = image + (facts->joint ? batch * dit_facts_text_rows(facts) : 0);
    int64_t longest, outputs = count_module_rows(facts, cache, image, all - image, &longest);
    if (dit_cache_is_of_outputs(cache))
        return 9 * batch * facts->image_tokens * facts->token_channels * (int64_t)sizeof(float);
    if (dit_cache_is_of_blocks(cache)) return (2 + 2 * facts->layers) * all * width * (int64_t)sizeof(float);
    if (outputs) return ((1 + cache->order) * outputs + longest) * width * (int64_t)sizeof(float);
    int64_t elements = (5 + cache->order) * all + (cache->policy == DIT_CACHE_TEACACHE ? image : 0);
    return elements * width * (int64_t)sizeof(float);
}
