#include "base/facts.h"

dit_status dit_facts_add_blocks(dit_facts *facts, int64_t count, const dit_block_run *run)
{
    int i = 0;
    while (i < DIT_MAX_BLOCK_RUNS && facts->blocks[i].count) i++;
    if (count < 1) return DIT_OK;
    if (i == DIT_MAX_BLOCK_RUNS)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "blocks change their kind more than %d times", DIT_MAX_BLOCK_RUNS);
    facts->blocks[i] = *run;
    facts->blocks[i].count = count;
    facts->layers += count;
    return DIT_OK;
}

static void add_parts(dit_module_parts *total, const dit_module_parts *one, int64_t n)
{
    total->calls += n * one->calls;
    total->image += n * one->image;
    total->text += n * one->text;
    total->both += n * one->both;
    total->norms += n * one->norms;
    total->halos += n * one->halos;
}

dit_block_run dit_facts_blocks(const dit_facts *facts, int64_t first, int64_t count)
{
    dit_block_run total = {0};
    int64_t at = 0;
    for (int i = 0; i < DIT_MAX_BLOCK_RUNS && facts->blocks[i].count; at += facts->blocks[i++].count) {
        const dit_block_run *run = &facts->blocks[i];
        int64_t begin = first > at ? first : at, end = at + run->count;
        if (end > first + count) end = first + count;
        int64_t n = end > begin ? end - begin : 0;
        total.count += n;
        total.image_layers += n * run->image_layers;
        total.halos += n * run->halos;
        total.sums.image += n * run->sums.image;
        total.sums.cross += n * run->sums.cross;
        total.sums.text += n * run->sums.text;
        total.sums.both += n * run->sums.both;
        total.sums.norms += n * run->sums.norms;
        total.sums.memory += n * run->sums.memory;
        for (int kind = 0; kind < DIT_MODULE_COUNT; kind++) add_parts(&total.modules[kind], &run->modules[kind], n);
    }
    return total;
}

/* Blocks with one set of weights for both streams: one sum each, and one more where the MLP is a module of its own. */
static int64_t count_singles(const dit_block_run *blocks)
{
    return blocks->sums.both - blocks->modules[DIT_MODULE_MLP].both;
}

/* In C^2, from diffusers' shapes: joint blocks have two streams with their own modulation (4 + 6 + 2 mlp_ratio each),
 * those of one stream fuse (4 + 3 + 2 mlp_ratio), cross-attention blocks share one modulation and attend twice (4 + 4 +
 * 2 mlp_ratio). */
int64_t dit_facts_block_parameters(const dit_facts *facts, const dit_block_run *blocks)
{
    int64_t C = facts->heads * facts->head_dim, mlp = 2 * facts->mlp_ratio;
    int64_t singles = count_singles(blocks), doubles = blocks->count - singles;
    return (facts->joint ? 2 * doubles * (10 + mlp) + singles * (7 + mlp) : doubles * (8 + mlp)) * C * C;
}

int64_t dit_facts_shared_parameters(const dit_facts *facts, const dit_block_run *blocks)
{
    int64_t C = facts->heads * facts->head_dim, mlp = 2 * facts->mlp_ratio;
    int64_t singles = count_singles(blocks), doubles = blocks->count - singles;
    return (facts->joint ? (2 * doubles + singles) * (4 + mlp) : doubles * (8 + mlp)) * C * C;
}

int64_t dit_facts_text_rows(const dit_facts *facts)
{
    int64_t multiple = facts->text_multiple;
    int64_t tokens = facts->text_tokens + facts->text_beside;
    if (multiple < 1) return tokens;
    int64_t text = (tokens + multiple - 1) / multiple;
    return multiple * (text + (facts->image_tokens % multiple > 0));
}

int64_t dit_facts_frames(const dit_facts *facts)
{
    const dit_latent *latent = &facts->latent;
    if (latent->patch_t > 0 && latent->frames >= latent->patch_t) return latent->frames / latent->patch_t;
    return facts->segments > 1 ? facts->segments : 1;
}

void dit_facts_resize(dit_facts *facts)
{
    facts->image_tokens = dit_latent_tokens(&facts->latent);
    facts->token_channels = dit_latent_token_channels(&facts->latent);
    facts->segments = facts->segments ? facts->latent.frames / facts->latent.patch_t : 1;
    facts->reference_tokens = facts->reference_count = facts->held_tokens = 0;
}

int dit_facts_reference_at(const dit_facts *facts, int64_t token, int64_t *row, int64_t *column)
{
    int picture = 0;
    for (; picture < facts->reference_count - 1; picture++) {
        int64_t tokens = facts->references[picture].height * facts->references[picture].width;
        if (token < tokens) break;
        token -= tokens;
    }
    *row = token / facts->references[picture].width, *column = token % facts->references[picture].width;
    return picture;
}

int64_t dit_facts_guidance_sums(const dit_facts *facts)
{
    bool rescales = facts->guidance_branches == 2 && facts->guidance_rescale > 0;
    return rescales ? 4 : 2 * dit_facts_guidance_norms(facts);
}

int64_t dit_facts_guidance_norms(const dit_facts *facts)
{
    const dit_latent *latent = &facts->latent;
    if (facts->guidance_branches != 2 || !(facts->cfg_normalization > 0)) return 0;
    if (facts->guidance_norm_kind == DIT_GUIDANCE_NORM_WHOLE) return 1;
    return facts->guidance_norm_kind == DIT_GUIDANCE_NORM_ROWS ? latent->channels * latent->frames * latent->height : 0;
}
