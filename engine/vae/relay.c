#include "engine/vae/relay.h"

#include <string.h>

dit_status vae_relay_init(vae_relay *r, dit_runtime *rt, dit_comm *comm, const dit_rows_facts *facts)
{
    int ranks = comm ? dit_comm_size(comm) : 1;
    *r = (vae_relay){.rt = rt, .ranks = ranks};
    if (ranks == 1) return DIT_OK;
    DIT_TRY(dit_chunks_check(ranks, facts));
    r->comm = comm;
    r->rank = dit_comm_rank(comm);
    dit_comm_set_phase(comm, DIT_PHASE_DECODE);
    return DIT_OK;
}

dit_status vae_relay_allocate(vae_relay *r, int64_t picture_floats)
{
    void *offsets;
    if (!r->comm) return DIT_OK;
    if (r->rt->ledger.on_device) DIT_TRY(dit_arena_fp32(&r->rt->comm_arena, picture_floats, &r->picture));
    DIT_TRY(dit_arena_alloc(&r->rt->comm_arena, (r->ranks + 1) * (int64_t)sizeof *r->offsets, &offsets));
    r->offsets = offsets;
    return DIT_OK;
}

bool vae_relay_is_own(const vae_relay *r, int64_t chunk)
{
    return !r->comm || chunk % r->ranks == r->rank;
}

void vae_relay_settle(vae_relay *r, vae_passing *passing)
{
    if (passing->is_under_way && r->status == DIT_OK) r->status = dit_comm_exchange_wait(r->comm, &passing->exchange);
    passing->is_under_way = false;
}

/* Begins one message, one way. */
static dit_status begin(vae_relay *r, const float *send, int to, float *recv, int from, int64_t floats,
                        dit_comm_exchange *out)
{
    return dit_comm_exchange_begin(r->comm, send, to, recv, from, floats * (int64_t)sizeof(float), out);
}

void vae_relay_take(vae_relay *r, vae_passing *passing, float *cache, int64_t floats)
{
    dit_comm_exchange exchange;
    vae_relay_settle(r, passing);
    if (r->status != DIT_OK) return;
    r->status = begin(r, NULL, DIT_COMM_NOBODY, cache, (r->rank + r->ranks - 1) % r->ranks, floats, &exchange);
    if (r->status == DIT_OK) r->status = dit_comm_exchange_wait(r->comm, &exchange);
}

void vae_relay_pass(vae_relay *r, vae_passing *passing, const float *cache, int64_t floats)
{
    if (r->status != DIT_OK) return;
    r->status = begin(r, cache, (r->rank + 1) % r->ranks, NULL, DIT_COMM_NOBODY, floats, &passing->exchange);
    passing->is_under_way = r->status == DIT_OK;
}

/* ---- the video --------------------------------------------------------------------------------------------------- */

/* Writes where the frames of each rank's chunk of one round begin, in bytes from the round's first frame on; a rank without a
 * chunk has none. Returns the frames of the round; *first becomes the latent frame after it. */
static int64_t place_round(vae_relay *r, const dit_rows_facts *facts, int64_t *first, int64_t frame_bytes)
{
    r->offsets[0] = 0;
    for (int rank = 0; rank < r->ranks; rank++) {
        bool has = *first < facts->frames;
        r->offsets[rank + 1] = r->offsets[rank] + (has ? dit_chunk_frames(facts, *first) * frame_bytes : 0);
        if (has) *first += dit_chunk_latents(facts->decoder, facts->frames, *first);
    }
    return r->offsets[r->ranks] / frame_bytes;
}

/* In each round the ranks' chunks follow each other, so that they are pieces of each colour's plane. */
static dit_status gather_rounds(vae_relay *r, const dit_rows_facts *facts, float *image, int64_t colours,
                                int64_t frames, int64_t pixels)
{
    int64_t frame_bytes = pixels * (int64_t)sizeof *image, frame = 0;
    for (int64_t first = 0; first < facts->frames;) {
        int64_t round = place_round(r, facts, &first, frame_bytes);
        for (int64_t colour = 0; colour < colours; colour++)
            DIT_TRY(dit_comm_all_gather_pieces(r->comm, image + (colour * frames + frame) * pixels, r->offsets));
        frame += round;
    }
    return DIT_OK;
}

dit_status vae_relay_gather(vae_relay *r, const dit_rows_facts *facts, float *image, int64_t colours, int64_t frames,
                            int64_t pixels)
{
    int64_t floats = colours * frames * pixels;
    float *gathered = r->picture ? r->picture : image;
    DIT_TRY(r->status);
    if (r->picture) memcpy(gathered, image, (size_t)floats * sizeof *image);
    DIT_TRY(dit_runtime_upload(r->rt, r->picture, r->picture ? floats : 0));
    DIT_TRY(gather_rounds(r, facts, gathered, colours, frames, pixels));
    DIT_TRY(dit_runtime_download(r->rt, r->picture, r->picture ? floats : 0));
    if (r->picture) memcpy(image, gathered, (size_t)floats * sizeof *image);
    return DIT_OK;
}
