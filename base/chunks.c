#include "base/chunks.h"

#include <string.h>

enum { PICTURE_BYTES = 4, MID_RESNETS = 2, KEPT = 2 /* frames that a convolution over three of them keeps */ };

bool dit_chunks_has(dit_rows_decoder decoder)
{
    return decoder == DIT_ROWS_WAN || decoder == DIT_ROWS_COGVIDEOX || decoder == DIT_ROWS_HUNYUAN15 ||
           decoder == DIT_ROWS_MOCHI;
}

int64_t dit_chunks_count(dit_rows_decoder decoder, int64_t frames)
{
    int64_t count = 0;
    for (int64_t first = 0; first < frames; first += dit_chunk_latents(decoder, frames, first)) count++;
    return count;
}

int64_t dit_chunk_frames(const dit_rows_facts *f, int64_t first)
{
    int64_t latents = dit_chunk_latents(f->decoder, f->frames, first);
    bool one_first = f->decoder == DIT_ROWS_COGVIDEOX ? latents % 2 : first == 0;
    return one_first ? (latents - 1) * f->temporal + 1 : latents * f->temporal;
}

dit_status dit_chunks_check(int degree, const dit_rows_facts *f)
{
    if (degree <= 1) return DIT_OK;
    if (!dit_chunks_has(f->decoder))
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "split frames: this decoder does not walk a video chunk by chunk"),
            "AutoencoderKLWan, AutoencoderKLCogVideoX, AutoencoderKLHunyuanVideo15 and AutoencoderKLMochi do; others "
            "can be shared by rows");
    int64_t chunks = dit_chunks_count(f->decoder, f->frames);
    if (chunks >= degree) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_DEGREE,
                                   "split frames: %d ranks for the %lld chunk%s of %lld latent frames: some would have "
                                   "none",
                                   degree, (long long)chunks, chunks == 1 ? "" : "s", (long long)f->frames),
                          "share the decode between fewer ranks, or by rows");
}

/* ---- the closed form --------------------------------------------------------------------------------------------- */

/* What the convolutions over time keep of a chunk. */
typedef struct {
    int64_t convolutions, floats;
} kept;

static void add_convolution(kept *k, int64_t area, int64_t channels)
{
    k->convolutions++;
    k->floats += KEPT * area * channels;
}

static void add_resnet(kept *k, int64_t area, int64_t in, int64_t out)
{
    add_convolution(k, area, in);
    add_convolution(k, area, out);
}

/* Of Mochi's blocks. */
static kept kept_of_mochi(const dit_rows_facts *f)
{
    kept k = {0};
    int64_t area = f->height * f->width;
    for (int i = 0; i < f->stages + 2; i++) {
        int64_t channels = f->widths[i ? i - 1 : 0];
        for (int64_t j = 0; j < f->layers[i]; j++) add_resnet(&k, area, channels, channels);
        if (i > 0 && i <= f->stages) area *= 4;
    }
    return k;
}

/* Adds all that a chunk passes on. The convolutions by which Wan doubles time leave the first chunk out. Every rank decodes the middle of
 * HunyuanVideo 1.5 whole. */
static kept kept_of(const dit_rows_facts *f, bool begins)
{
    kept k = {0};
    int64_t area = f->height * f->width, channels = f->widths[0];
    if (f->decoder == DIT_ROWS_MOCHI) return kept_of_mochi(f);
    bool later = f->decoder == DIT_ROWS_HUNYUAN15;
    if (!later) add_convolution(&k, area, f->latent_channels);
    for (int i = 0; i < MID_RESNETS && !later; i++) add_resnet(&k, area, channels, channels);
    for (int stage = 0; stage < f->stages; stage++) {
        for (int64_t i = 0; i < f->resnets; i++) {
            add_resnet(&k, area, channels, f->widths[stage]);
            channels = f->widths[stage];
        }
        if (stage >= f->ups) continue;
        if (later) add_convolution(&k, area, channels);
        if (f->matches) channels = f->widths[stage + 1];
        if (f->decoder == DIT_ROWS_WAN && !begins && f->doubles >> stage & 1) add_convolution(&k, area, channels);
        if (f->decoder == DIT_ROWS_WAN && !f->residual) channels /= 2;
        area *= 4;
    }
    add_convolution(&k, area, channels);
    return k;
}

void dit_chunks_predict(const dit_rows_facts *f, int degree, int rank, dit_volume_table *out)
{
    dit_volume(*at)[DIT_PHASE_COUNT] = out->at[DIT_AXIS_WORLD];
    dit_volume *passed = &at[DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_DECODE];
    dit_volume *gathered = &at[DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_DECODE];
    int64_t element_bytes = f->element_bytes ? f->element_bytes : PICTURE_BYTES, others = degree - 1, chunk = 0,
            latents;
    int64_t patch = f->patch ? f->patch : 1, own = 0, chunks = dit_chunks_count(f->decoder, f->frames);
    memset(out, 0, sizeof *out);
    if (degree <= 1) return;
    for (int64_t first = 0; first < f->frames; first += latents, chunk++) {
        latents = dit_chunk_latents(f->decoder, f->frames, first);
        if (chunk % degree != rank) continue;
        own += dit_chunk_frames(f, first);
        if (chunk + 1 == chunks) continue;
        kept k = kept_of(f, first == 0);
        passed->messages += f->pictures * k.convolutions;
        passed->bytes += f->pictures * k.floats * element_bytes;
    }
    int64_t pixels = ((f->height * patch) << f->ups) * ((f->width * patch) << f->ups);
    int64_t rounds = (chunks + degree - 1) / degree;
    gathered->messages = f->pictures * others * f->image_channels * rounds;
    gathered->bytes = f->pictures * others * f->image_channels * own * pixels * PICTURE_BYTES;
}
