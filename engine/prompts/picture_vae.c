#include "engine/prompts/picture_vae.h"

#include "engine/comm/comm.h"
#include "engine/results/decode.h"
#include "engine/text/encoders/encode.h"

static dit_status run_vae(const dit_picture_vae *p, dit_runtime *rt, dit_status (*work)(void *context, dit_vae *vae),
                          void *context)
{
    dit_decoder d;
    dit_vae *vae = NULL;
    DIT_TRY(dit_decoder_read(p->doc, p->vae, "/vae", &d));
    if (d.path) DIT_TRY(dit_safetensors_open(d.path, &d.file));
    d.weights.file = d.file;
    dit_status st = dit_vae_create(&(dit_vae_params){.rt = rt,
                                                     .config = d.config,
                                                     .weights = &d.weights,
                                                     .frames = p->latent.frames,
                                                     .height = p->latent.height,
                                                     .width = p->latent.width,
                                                     .encoder = true},
                                   &vae);
    if (st == DIT_OK) st = work(context, vae);
    dit_vae_free(vae);
    dit_decoder_close(&d);
    return st;
}

dit_status dit_picture_vae_run(const dit_picture_vae *p, dit_status (*work)(void *context, dit_vae *vae), void *context,
                               int64_t *peak_bytes)
{
    dit_runtime rt;
    int ranks = dit_comm_size(dit_comm_world());
    dit_runtime_params params = {.backend = p->backend,
                                 .dtype = p->dtype,
                                 .threads = p->threads,
                                 .parallel = dit_text_parallel_mesh(DIT_TEXT_REPLICATED, ranks)};
    params.facts = (dit_facts){.family = "the VAE",
                               .image_tokens = 1,
                               .num_images = dit_parallel_degree(&params.parallel, DIT_AXIS_DATA),
                               .guidance_branches = 1,
                               .steps = 1};
    DIT_TRY(dit_runtime_init(&params, &rt));
    dit_status st = dit_comm_rank(dit_comm_world()) == 0 ? run_vae(p, &rt, work, context) : DIT_OK;
    if (rt.ledger.total_peak > *peak_bytes) *peak_bytes = rt.ledger.total_peak;
    dit_runtime_release(&rt);
    return st;
}
