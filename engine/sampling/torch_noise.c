#include "engine/sampling/torch_noise.h"

#include "base/torch_random.h"

struct dit_torch_noise {
    dit_torch_noise_params params;
    dit_torch_generator *generators; /* [images], or one */
    float *planes, *tokens;          /* [images, floats of an image] */
    float *ahead;
    int64_t floats; /* of one image                 */
    int64_t drawn;  /* how many tensors have been drawn from the seeds; the last one is in `tokens` */
};

dit_status dit_torch_noise_create(dit_runtime *rt, const dit_torch_noise_params *params, dit_torch_noise **out)
{
    void *memory, *generators;
    DIT_TRY(dit_arena_alloc(&rt->image, sizeof(dit_torch_noise), &memory));
    dit_torch_noise *noise = memory;
    int64_t count = params->each ? params->images : 1;
    DIT_TRY(dit_arena_alloc(&rt->image, count * (int64_t)sizeof *noise->generators, &generators));
    noise->params = *params;
    noise->generators = generators;
    noise->floats = dit_latent_tokens(&params->latent) * dit_latent_token_channels(&params->latent);
    if (noise->params.layout == DIT_LATENT_PACKED) noise->params.layout = DIT_LATENT_CFHW;
    DIT_TRY(dit_arena_host(&rt->image, params->images * noise->floats, &noise->planes));
    DIT_TRY(dit_arena_host(&rt->image, params->images * noise->floats, &noise->tokens));
    DIT_TRY(dit_arena_host(&rt->image, params->ahead, &noise->ahead));
    *out = noise;
    return DIT_OK;
}

static void begin(dit_torch_noise *noise)
{
    int64_t count = noise->params.each ? noise->params.images : 1;
    for (int64_t i = 0; i < count; i++) dit_torch_seed(&noise->generators[i], noise->params.seed + (uint64_t)i);
    if (noise->params.ahead) dit_torch_randn(noise->generators, noise->params.ahead, noise->ahead);
    noise->drawn = 0;
}

const float *dit_torch_noise_ahead(dit_torch_noise *noise)
{
    begin(noise);
    return noise->ahead;
}

static void draw(dit_torch_noise *noise)
{
    const dit_torch_noise_params *p = &noise->params;
    if (p->each)
        for (int64_t i = 0; i < p->images; i++)
            dit_torch_randn(&noise->generators[i], noise->floats, noise->planes + i * noise->floats);
    else
        dit_torch_randn(noise->generators, p->images * noise->floats, noise->planes);
    noise->drawn++;
}

/* Which tensor is that of a step, counted from 1: the initial latents, one of step 0, then some of every step. */
static int64_t number_of(const dit_torch_noise *noise, int step)
{
    int64_t tensors = noise->params.step_tensors > 1 ? noise->params.step_tensors : 1;
    if (step >= 1 && step == noise->params.last_step) return 3 + (step - 1) * tensors;
    return step < 1 ? step + 2 : 2 + step * tensors;
}

const float *dit_torch_noise_image(dit_torch_noise *noise, int step, int64_t image)
{
    const dit_torch_noise_params *p = &noise->params;
    int64_t wanted = number_of(noise, step);
    if (wanted < noise->drawn || noise->drawn == 0) begin(noise);
    if (wanted != noise->drawn) {
        while (noise->drawn < wanted) draw(noise);
        dit_latent_pack(&p->latent, p->layout, p->images, p->latent.channels, noise->planes, noise->tokens);
    }
    return noise->tokens + image * noise->floats;
}
