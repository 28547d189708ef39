/* Facts of a case, and the legality of running it: PARALLEL.md section 1.2. One rule per row, first broken rule wins.
 */
#include "base/mesh.h"

#include <math.h>
#include <string.h>

enum { MAX_EXTENT = 1 << 20 };

/* Weights of one full copy from diffusers' shapes: joint blocks have two streams with their own modulation
 * (4+8+6 C^2 each), single blocks fuse (3+4+5+3 C^2), cross-attention blocks share one modulation (4+4+8 C^2). */
static int64_t estimate_parameters(const dit_facts *facts, int64_t double_layers, int64_t single_layers,
                                   int64_t text_dim, int64_t pooled_dim)
{
    int64_t C = facts->heads * facts->head_dim, mlp = facts->mlp_ratio;
    int64_t embed = C * (2 * facts->token_channels + 256 + C);
    if (facts->joint)
        return double_layers * 2 * (10 + 2 * mlp) * C * C + single_layers * (7 + 2 * mlp) * C * C + embed +
               C * (text_dim + pooled_dim + 2 * C + 2 * C);
    return double_layers * (8 + 2 * mlp) * C * C + embed + C * (text_dim + C + 6 * C);
}

static dit_status read_geometry(const dit_json *doc, const cJSON *kase, const char *pointer, const cJSON *latent,
                                int64_t in_channels, int64_t patch_size, dit_facts *out)
{
    const cJSON *run;
    int64_t channels, vae_spatial, height, width;
    char at[300], latent_at[300];
    snprintf(at, sizeof at, "%s/run", pointer);
    snprintf(latent_at, sizeof latent_at, "%s/model/latent", pointer);
    DIT_TRY(dit_json_require_object(doc, kase, pointer, "run", &run));
    DIT_TRY(dit_json_require_int(doc, latent, latent_at, "channels", 1, 4096, &channels));
    DIT_TRY(dit_json_require_int(doc, latent, latent_at, "vae_spatial", 1, 64, &vae_spatial));
    DIT_TRY(dit_json_require_int(doc, run, at, "height_px", 1, MAX_EXTENT, &height));
    DIT_TRY(dit_json_require_int(doc, run, at, "width_px", 1, MAX_EXTENT, &width));
    DIT_TRY(dit_json_require_int(doc, run, at, "num_images", 1, 4096, &out->num_images));
    DIT_TRY(dit_json_require_int(doc, run, at, "num_inference_steps", 1, 100000, &out->steps));
    /* Packed latents (FLUX) show as in_channels = channels * pack^2. */
    int64_t pack = (int64_t)lround(sqrt((double)in_channels / (double)channels)) * patch_size;
    int64_t pixels = pack * vae_spatial;
    if (pack < 1 || height % pixels || width % pixels)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_RESOLUTION, "%lldx%lld px is not a multiple of %lld px (VAE %lld x patch %lld)",
                     (long long)width, (long long)height, (long long)pixels, (long long)vae_spatial, (long long)pack),
            "use sizes that are multiples of %lld", (long long)pixels);
    out->image_tokens = (height / pixels) * (width / pixels);
    out->token_channels = channels * pack * pack;
    return DIT_OK;
}

dit_status dit_facts_from_case(const dit_json *doc, const cJSON *kase, const char *pointer, dit_facts *out)
{
    const cJSON *model, *config, *latent, *text;
    const char *family, *injection = "cross-attention", *guidance = "cfg";
    int64_t layers, single_layers = 0, in_channels, patch_size = 1, text_dim = 0, pooled_dim = 0;
    char at[256], config_at[300], text_at[300];
    memset(out, 0, sizeof *out);
    out->mlp_ratio = 4;
    snprintf(at, sizeof at, "%s/model", pointer);
    snprintf(config_at, sizeof config_at, "%s/config", at);
    snprintf(text_at, sizeof text_at, "%s/text", at);
    DIT_TRY(dit_json_require_object(doc, kase, pointer, "model", &model));
    DIT_TRY(dit_json_require_object(doc, model, at, "config", &config));
    DIT_TRY(dit_json_require_object(doc, model, at, "latent", &latent));
    DIT_TRY(dit_json_require_object(doc, model, at, "text", &text));
    DIT_TRY(dit_json_require_string(doc, config, config_at, "_class_name", &family));
    DIT_TRY(dit_json_require_int(doc, config, config_at, "num_layers", 0, 10000, &layers));
    DIT_TRY(dit_json_optional_int(doc, config, config_at, "num_single_layers", 0, 10000, &single_layers));
    DIT_TRY(dit_json_require_int(doc, config, config_at, "num_attention_heads", 1, 4096, &out->heads));
    DIT_TRY(dit_json_require_int(doc, config, config_at, "attention_head_dim", 1, 4096, &out->head_dim));
    DIT_TRY(dit_json_require_int(doc, config, config_at, "in_channels", 1, 65536, &in_channels));
    DIT_TRY(dit_json_optional_int(doc, config, config_at, "patch_size", 1, 64, &patch_size));
    DIT_TRY(dit_json_require_int(doc, text, text_at, "tokens", 0, MAX_EXTENT, &out->text_tokens));
    DIT_TRY(dit_json_optional_int(doc, text, text_at, "dim", 1, 65536, &text_dim));
    DIT_TRY(dit_json_optional_int(doc, text, text_at, "pooled_dim", 1, 65536, &pooled_dim));
    DIT_TRY(dit_json_optional_string(doc, text, text_at, "injection", &injection));
    DIT_TRY(dit_json_optional_string(doc, model, at, "guidance", &guidance));
    DIT_TRY(read_geometry(doc, kase, pointer, latent, in_channels, patch_size, out));
    snprintf(out->family, sizeof out->family, "%s", family);
    out->layers = layers + single_layers;
    out->joint = strncmp(injection, "joint", 5) == 0;
    out->guidance_branches = strcmp(guidance, "cfg") == 0 ? 2 : 1;
    out->parameters = estimate_parameters(out, layers, single_layers, text_dim, pooled_dim);
    return DIT_OK;
}

dit_joint_text dit_parallel_joint_text(const dit_parallel *parallel, const dit_facts *facts)
{
    if (!facts->joint) return DIT_JOINT_TEXT_REPLICATE;
    if (parallel->joint_text != DIT_JOINT_TEXT_AUTO) return parallel->joint_text;
    return facts->text_tokens % dit_parallel_sequence_degree(parallel) == 0 ? DIT_JOINT_TEXT_SPLIT
                                                                            : DIT_JOINT_TEXT_REPLICATE;
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static int64_t degree_of(const dit_parallel *parallel, dit_axis axis)
{
    return parallel->degree[axis] > 0 ? parallel->degree[axis] : 1;
}

static dit_status check_built(const dit_parallel *parallel, const dit_facts *facts)
{
    (void)facts;
    for (int i = 0; i < 2; i++) {
        dit_axis axis = i ? DIT_AXIS_TENSOR : DIT_AXIS_PIPEFUSION;
        if (degree_of(parallel, axis) > 1)
            return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s %lld: this engine has no %s parallelism",
                                           dit_axis_key(axis), (long long)degree_of(parallel, axis),
                                           dit_axis_name(axis)),
                                  "use ulysses, ring, cfg or data degrees");
    }
    return DIT_OK;
}

static dit_status check_world(const dit_parallel *parallel, const dit_facts *facts)
{
    (void)facts;
    if (dit_parallel_world_size(parallel) > 65536)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "the degrees multiply to more than 65536 ranks");
    return DIT_OK;
}

static dit_status check_cfg(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t degree = degree_of(parallel, DIT_AXIS_CFG);
    if (degree > 2)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE, "cfg_degree %lld is neither 1 nor 2", (long long)degree),
            "classifier-free guidance has two branches");
    if (degree == 2 && facts->guidance_branches != 2)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_CFG, "cfg_degree 2 needs two guidance branches, %s runs %lld",
                                       facts->family, (long long)facts->guidance_branches),
                              "a guidance-distilled model takes the scale as an input; leave cfg_degree at 1");
    return DIT_OK;
}

static dit_status check_heads(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t degree = degree_of(parallel, DIT_AXIS_ULYSSES);
    if (facts->heads % degree)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_HEADS, "heads %lld not divisible by ulysses_degree %lld",
                                       (long long)facts->heads, (long long)degree),
                              "ring_degree has no head limit");
    return DIT_OK;
}

static dit_status check_tokens(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t degree = dit_parallel_sequence_degree(parallel);
    if (facts->image_tokens % degree)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_TOKENS,
                                       "image tokens %lld not divisible by ring_degree x ulysses_degree %lld",
                                       (long long)facts->image_tokens, (long long)degree),
                              "choose a resolution whose token count the sequence degree divides");
    return DIT_OK;
}

static dit_status check_text(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t degree = dit_parallel_sequence_degree(parallel);
    if (facts->joint && parallel->joint_text == DIT_JOINT_TEXT_SPLIT && facts->text_tokens % degree)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_TEXT,
                                       "joint_text split: text tokens %lld not divisible by %lld",
                                       (long long)facts->text_tokens, (long long)degree),
                              "use joint_text replicate or auto");
    return DIT_OK;
}

static dit_status check_images(const dit_parallel *parallel, const dit_facts *facts)
{
    int64_t degree = degree_of(parallel, DIT_AXIS_DATA);
    if (facts->num_images % degree)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_BATCH, "num_images %lld not divisible by data_degree %lld",
                                       (long long)facts->num_images, (long long)degree),
                              "give every data rank the same number of images");
    return DIT_OK;
}

dit_status dit_parallel_check(const dit_parallel *parallel, const dit_facts *facts)
{
    static dit_status (*const rules[])(const dit_parallel *, const dit_facts *) = {
        check_world, check_built, check_cfg, check_heads, check_tokens, check_text, check_images,
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) DIT_TRY(rules[i](parallel, facts));
    return DIT_OK;
}
