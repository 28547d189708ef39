/* Rows: a decode whose image is divided by rows over ranks. Says which rank has which rows, whether that is legal, and
 * (the closed form) what each rank sends. engine/vae/bands.c runs it.
 *
 * Every rank holds a band of rows of every activation. A convolution over three rows needs one row from each neighbour:
 * 2 C w e bytes at each inner boundary. A group norm needs the moments of all bands: an all-reduce of the sum and the
 * sum of squares of each group, and of the number of elements. At the end the rows of the image are gathered.
 * AutoencoderKL (and AutoencoderKLFlux2, which decodes as it does) is cut after its middle block, whose attention sees the whole image; every rank has the latents and
 * computes everything before the cut; so are AutoencoderKLWan (and AutoencoderKLQwenImage), whose norms see one position each and need nothing of
 * others, and AutoencoderKLHunyuanVideo
 * with its successor, AutoencoderKLHunyuanVideo15, which is Wan's in that. AutoencoderKLCogVideoX and AutoencoderKLLTXVideo, whose norms see one position each, too,
 * have no such attention and are cut before their first convolution; so is AutoencoderKLMochi, whose norms have moments of each
 * frame. AutoencoderDC is cut after its last stage with attention; every rank computes what stands before. PixelShuffle moves pixels and has no layers: only the image is gathered. */
#ifndef DIT_BASE_ROWS_H
#define DIT_BASE_ROWS_H

#include "base/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DIT_ROWS_STAGES = 8 };
#define DIT_PIXEL_SHUFFLE "PixelShuffle" /* the class that has no weights */

/* The classes of decoders that can be shared. */
typedef enum {
    DIT_ROWS_KL,        /* AutoencoderKL, frame by frame                                                  */
    DIT_ROWS_COGVIDEOX, /* chunks of two latent frames                                                    */
    DIT_ROWS_WAN,       /* chunks of one latent frame; upsampling halves the channels                     */
    DIT_ROWS_HUNYUAN,   /* all latent frames at once, or tiles of DIT_HUNYUAN_TILE that overlap, in time  */
    DIT_ROWS_HUNYUAN15, /* the middle of all latent frames at once, then chunks of one; see AutoencoderKLHunyuanVideo15   */
    DIT_ROWS_LTX,       /* all latent frames at once; each block has layers of its own                    */
    DIT_ROWS_MOCHI,     /* chunks of two latent frames; every stage doubles rows and columns, and makes frames */
    DIT_ROWS_DC,        /* AutoencoderDC: stages before the cut have attention, no norm sends anything        */
    DIT_ROWS_PIXELS     /* PixelShuffle: no layers                                                        */
} dit_rows_decoder;

/* What the ranks of a shared decode divide. */
typedef enum {
    DIT_SPLIT_ROWS,   /* the rows of every activation (this file)      */
    DIT_SPLIT_FRAMES, /* the frames, chunk by chunk (base/chunks.h)    */
    DIT_SPLIT_COUNT
} dit_decode_split;
const char *const *dit_decode_splits(void); /* "rows", "frames"; NULL at the end */

/* AutoencoderKLHunyuanVideo cuts more than TILE latent frames into tiles of one frame more, a tile every STEP frames.
 * diffusers' tile_sample_min_num_frames 16 and tile_sample_stride_num_frames 12, four frames a latent. */
enum { DIT_HUNYUAN_TILE = 4, DIT_HUNYUAN_STEP = 3 };

/* A decoder and what it decodes. */
typedef struct {
    dit_rows_decoder decoder;
    int stages, ups;                   /* stages of resolution; the first `ups` double rows and columns */
    unsigned doubles;                  /* bit i: stage i doubles the frames                     */
    int64_t widths[DIT_ROWS_STAGES];   /* channels of each stage                              */
    int64_t resnets, groups, temporal; /* residual blocks per stage; groups per norm; frames per latent frame */
    /* LTX and Mochi: residual blocks of the middle, of each stage, and of Mochi's end, instead of `resnets`; what a stage of LTX
     * divides its width by, and how many frames one of Mochi makes of one. */
    int64_t layers[DIT_ROWS_STAGES + 2], factors[DIT_ROWS_STAGES];
    int64_t latent_channels, image_channels;
    int64_t patch; /* pixels that a value of the decoder's result spans in each direction; 0: 1 */
    int whole;     /* stages of AutoencoderDC, from the coarsest on, that every rank computes */
    bool matches;  /* upsampling leads to the next stage's channels (HunyuanVideo 1.5) */
    bool residual; /* upsampling keeps the channels, and the result is patches of pixels (Wan 2.2) */
    bool tiling;
    dit_decode_split split;
    int64_t pictures, frames, height, width; /* number of images or videos; latent extents of each */
    int64_t element_bytes;                   /* of an activation; 0: 4. Images are gathered in fp32 */
} dit_rows_facts;

/* Reads "split" of a VAE's object; rows where there is none. Errors: DIT_ERR_JSON_*. */
dit_status dit_rows_read_split(const dit_json *doc, const cJSON *vae, const char *pointer, dit_decode_split *out);
/* Reads a decoder's facts from {"config", "tiling", "split"}, with diffusers' defaults but no extents. Errors: DIT_ERR_JSON_*;
 * DIT_ERR_UNSUPPORTED for a class whose decoder cannot be shared by rows. */
dit_status dit_rows_read(const dit_json *doc, const cJSON *vae, const char *pointer, dit_rows_facts *out);
/* Sets the extents of latents that decode to those pixels, rounded down: others refuse sizes that do not divide. */
void dit_rows_resize(dit_rows_facts *facts, int64_t height_px, int64_t width_px, int64_t num_frames, int64_t pictures);

/* Reads facts and extents from the "vae" and "run" of a vae_decode case. Errors: as dit_rows_read. */
dit_status dit_rows_from_case(const dit_json *doc, const cJSON *kase, const char *pointer, dit_rows_facts *out);

/* Returns how many of `rows` rows `rank` has, and gives its first. Shares are nearly equal: the first ranks may have
 * one row more. (Shares of ceil(rows / degree) would leave the last of 4 ranks none of 5 rows.) */
int64_t dit_rows_share(int64_t rows, int degree, int rank, int64_t *first);
/* Returns DIT_OK, or why the decode cannot be shared: DIT_ERR_CONSTRAINT_DEGREE when a rank would have no row of
 * latents, DIT_ERR_UNSUPPORTED for tiles. */
dit_status dit_rows_check(int degree, const dit_rows_facts *facts);
/* Returns how many latent frames the chunk that begins at `first` has, which is decoded by itself: one, or of CogVideoX and
 * Mochi two; an odd number begins with three. */
int64_t dit_chunk_latents(dit_rows_decoder decoder, int64_t frames, int64_t first);
/* Says how many latent frames the tile of AutoencoderKLHunyuanVideo that begins at `first` has; 0: no tile, as it would only
 * repeat a frame. */
int64_t dit_rows_hunyuan_tile(int64_t frames, int64_t first);
/* Predicts what `rank` sends for all images, under DIT_AXIS_WORLD and DIT_PHASE_DECODE; nothing with one rank. */
void dit_rows_predict(const dit_rows_facts *facts, int degree, int rank, dit_volume_table *out);

#ifdef __cplusplus
}
#endif
#endif
