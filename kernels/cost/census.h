/* Census: which operators other software dispatches for one forward of a model, as ci/census.py counted them.
 *
 * A file of workloads/profiles/census/SOFTWARE/ has one class of models. It gives each part of a forward (what comes
 * before the blocks, each kind of block, the head) two halves, before and after the part's first attention. A half has
 * its matrix products, its other kernels, how many views are made, and what the host waits for; numbers of elements and
 * rows are polynomials of the sizes below. Attention itself is not in it.
 */
#ifndef DIT_KERNELS_COST_CENSUS_H
#define DIT_KERNELS_COST_CENSUS_H

#include "base/json.h"
#include "kernels/cost/operator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Letters of the polynomials, and what a rank has of each. */
#define DIT_CENSUS_SIZE_LIST(X)                                                                                        \
    X('B', batch, "batch rows of one call")                                                                            \
    X('S', image, "image tokens of a batch row")                                                                       \
    X('T', text, "text tokens of a batch row")                                                                         \
    X('F', frames, "frames of latents")                                                                                \
    X('P', frame_image, "image tokens of a frame")                                                                     \
    X('E', edge, "edge of a frame in tokens, the square root of P")                                                    \
    X('H', rows, "of a VAE: rows of latents in a tile")                                                                \
    X('W', columns, "of a VAE: columns of latents in a tile")                                                          \
    X('D', decoded, "of a VAE: frames that are decoded")
typedef struct {
#define DIT_CENSUS_SIZE_MEMBER(letter, name, meaning) double name;
    DIT_CENSUS_SIZE_LIST(DIT_CENSUS_SIZE_MEMBER)
#undef DIT_CENSUS_SIZE_MEMBER
} dit_census_size;

/* How a VAE's own code cuts latents: into tiles in rows and columns, one every step[] latents, whose first blend[]
 * pixels are mixed with the tile before; into tiles in time, as many frames of latents every step_frames; and each tile
 * into calls of its decoder, of `chunk` frames, the first one of the rest, too. */
typedef struct {
    int64_t pixels, frames, parameters; /* of one latent in a row, of one frame of latents; of the decoder */
    int64_t chunk;                      /* 0: all frames of a tile in one call */
    int64_t tile[2], step[2], blend[2]; /* rows, columns; tile 0: never tiled  */
    int64_t tile_frames, step_frames, blend_frames; /* tile_frames 0: time is not tiled */
} dit_census_schedule;

typedef struct dit_census dit_census;
typedef enum { DIT_CENSUS_BEGIN, DIT_CENSUS_BLOCK, DIT_CENSUS_HEAD } dit_census_piece;
typedef enum { DIT_CENSUS_BEFORE, DIT_CENSUS_AFTER, DIT_CENSUS_HALVES } dit_census_half;

/* Reads folder/CLASS.json for the model of that config, for calls of one batch row, or `batched` for several: rows that
 * follow each other without a gap only when there is one need no copy. Numbers of blocks may differ, and so may keys that the file
 * leaves out; a config that is otherwise like none of the file's, or a class without a file, makes *out NULL.
 * Errors: DIT_ERR_IO, DIT_ERR_JSON_*, DIT_ERR_MEMORY. */
dit_status dit_census_read(const char *folder, const cJSON *config, bool batched, dit_census **out);
/* Reads folder/NAME.json, which has one entry: a text encoder's. A folder without it makes *out NULL. Errors: as
 * above. */
dit_status dit_census_read_named(const char *folder, const char *name, dit_census **out);
void dit_census_free(dit_census *census); /* accepts NULL */
/* The folder's name, which says the versions of the software. */
const char *dit_census_name(const dit_census *census);
/* How many calls the software makes of the branches of guidance: 1, all in one batch; 2, one call each. */
int dit_census_forwards(const dit_census *census);

/* NULL: it is no VAE's. */
const dit_census_schedule *dit_census_get_schedule(const dit_census *census);

/* What one half of a piece takes; of a block, number `index` of the `blocks` of kind `kind`. tensor: ranks that share
 * heads and columns. host_s counts every kernel and view; wait_s is how long the host copies while it waits for the
 * device, 0 where it waits for nothing, and `waits` says whether it does. */
typedef struct {
    dit_cost_time time;
    bool waits;
    double wait_s;
} dit_census_time;
typedef struct {
    dit_census_piece piece;
    int kind;
    int64_t index, blocks;
    double tensor;
    bool alone; /* no other rank: the model's own pipeline runs, not the library's */
    dit_census_size size;
} dit_census_call;
dit_census_time dit_census_half_time(const dit_census *census, const dit_cost_device *device,
                                     const dit_cost_profile *profile, const dit_census_call *call,
                                     dit_census_half half);

/* What the part called `name` takes, both halves, op by op: text encoders and VAEs are neither compiled nor captured.
 * Nothing where there is no such part. */
dit_census_time dit_census_part_time(const dit_census *census, const dit_cost_device *device,
                                     const dit_cost_profile *profile, const char *name, const dit_census_size *size);
/* What a whole forward takes: begin, all blocks as they were counted, head. Its attentions are those of the census. */
dit_census_time dit_census_forward_time(const dit_census *census, const dit_cost_device *device,
                                        const dit_cost_profile *profile, const dit_census_size *size);
/* Adds `times` times `more` to `to`. */
void dit_census_add_time(dit_census_time *to, const dit_census_time *more, double times);

#ifdef __cplusplus
}
#endif
#endif
