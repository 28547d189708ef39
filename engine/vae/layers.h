/* Layers that VAEs share: convolutions, norms, residual blocks and the attention in the middle, over channels-last
 * activations in a few memory slots.
 *
 * A walk through a decoder never needs more than three activations at once: a layer reads one slot and writes another.
 * In a dry walk (memory.planning) layers compute nothing and note how large each slot gets.
 */
#ifndef DIT_ENGINE_VAE_LAYERS_H
#define DIT_ENGINE_VAE_LAYERS_H

#include "engine/vae/bands.h"
#include "engine/vae/relay.h"
#include "engine/runtime/weights.h"

enum { VAE_SLOT_LATENT = 3, VAE_SLOT_FIELD = 4, VAE_SLOTS = 5 }; /* 0 to 2: activations */

typedef struct {
    dit_runtime *rt;
    bool planning;
    int64_t floats[VAE_SLOTS], workspace_bytes, zero_floats;
    float *slot[VAE_SLOTS];
    float *zeros;    /* a pixel of zeros [zero_floats] */
    void *workspace; /* of group norm */
} vae_memory;

/* An activation in a slot. */
typedef struct {
    int slot;
    int64_t frames, height, width, channels;
    bool band; /* true: it holds this rank's rows only */
} vae_tensor;
int64_t vae_tensor_positions(const vae_tensor *x);
/* Returns the slot's memory, which is large enough for x. While planning it notes the size and returns NULL. */
float *vae_tensor_data(vae_memory *m, const vae_tensor *x);
/* Allocates the sizes that the dry walk noted from rt->step. */
dit_status vae_memory_allocate(vae_memory *m);

/* A convolution with kernel [time, height, width]. If it is more than one frame deep it is causal: before the first
 * chunk the first frame repeats, or lie zeros; before later chunks lie the last frames of the chunk before. Or it is
 * centred: then there is one chunk, and the last frame repeats, too. */
typedef struct {
    dit_linear weights;
    int64_t in, out, kernel[3];
    int64_t front;  /* frames before the first that it sees: kernel[0] - 1, or fewer where it shortens time */
    int64_t back;   /* frames behind the last one that it sees, which repeats; 0 where it is causal */
    int64_t step;   /* stride in time */
    bool zeros;     /* before the first chunk lie zeros */
    bool replicate; /* the image's edges repeat */
    float *cache;   /* the last `front` frames of the chunk before; for a band then the rows above and below them */
    int64_t cache_floats;
    bool cached;         /* the cache holds something */
    int64_t first_chunk; /* the first chunk that it sees; others leave it out */
    vae_passing passing; /* where frames are shared: the cache, on its way to the rank of the next chunk */
} vae_conv;

typedef struct {
    const float *weight, *bias; /* [channels]; bias NULL: none */
    int64_t channels, groups;   /* groups 0: RMS norm over the channels of a position */
    dit_linear field;           /* gives scale and shift [2 channels] of a latent position */
    bool conditioned;
    float eps;      /* of group norms */
    bool framewise; /* each frame is normalised by itself */
} vae_norm;

typedef struct {
    vae_norm norm1, norm2;
    vae_conv conv1, conv2;
    dit_linear shortcut; /* only where the widths differ */
    bool has_shortcut;
} vae_resnet;

typedef struct {
    vae_norm norm;
    dit_linear qkv, out;
} vae_attention;

/* How a walk goes: the latents that condition norms, and which chunk of the frames this is. */
typedef struct {
    vae_memory *memory;
    vae_bands *bands;        /* through which bands exchange rows */
    vae_relay *relay;        /* NULL, or through which caches go from rank to rank */
    int64_t chunk;           /* the number of this chunk */
    vae_tensor latent;       /* in VAE_SLOT_LATENT */
    bool keep;               /* another chunk follows: causal convolutions keep their last frames */
    const int32_t *frame_of; /* NULL: attention stays within frames; else [positions]: it sees earlier frames, too */
} vae_walk;

typedef struct {
    dit_runtime *rt;
    const dit_weights *weights;
    int64_t groups;        /* of every norm; 0: RMS norms                                         */
    int64_t depth;         /* frames that a causal convolution sees; 1: a 2-D VAE                 */
    int64_t condition;     /* latent channels that condition the norms; 0: none                   */
    bool zeros, replicate; /* of every causal convolution, as vae_conv has them                */
    bool centred;          /* convolutions see as many frames behind as before                 */
    int64_t places; /* of a cell over which vae_spread_channels spreads what a layer gives: its rows are stored with the
                       place fastest and packed with it slowest; 0: 1 */
    const char *inside, *shortcut_at; /* what follows a name: of causal convolutions, of shortcuts; NULL: nothing */
    const char *norm_inside;          /* of norms */
    float norm_eps;                   /* of group norms; 0: 1e-6                                              */
    bool framewise;                   /* as vae_norm has it                                                   */
    bool unbiased;                    /* convolutions have no bias                                            */
} vae_loader;

/* Loads `prefix`.weight [out, in, (t,) y, x] and .bias; the prefix is printf-formatted. A kernel of {1, 3, 3} is
 * 2-D. */
dit_status vae_load_conv(const vae_loader *l, int64_t in, int64_t out, const int64_t kernel[3], vae_conv *conv,
                         const char *format, ...) __attribute__((format(printf, 6, 7)));
dit_status vae_load_causal_conv(const vae_loader *l, int64_t in, int64_t out, vae_conv *conv, const char *prefix);
dit_status vae_load_norm(const vae_loader *l, int64_t channels, vae_norm *norm, const char *prefix);
dit_status vae_load_resnet(const vae_loader *l, int64_t in, int64_t out, vae_resnet *resnet, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
dit_status vae_load_attention(const vae_loader *l, int64_t channels, vae_attention *attention, const char *prefix);

/* Returns the one of the first three slots that is neither a nor b. */
int vae_other_slot(int a, int b);

/* Applies a linear layer to x, into slot `to`. */
vae_tensor vae_linear_forward(const vae_walk *walk, const dit_linear *linear, vae_tensor x, int to);
/* y += linear(x). */
void vae_linear_add(const vae_walk *walk, const dit_linear *linear, vae_tensor x, vae_tensor y);
/* DOWN pads only after the last row and column, HALVE on both sides. */
typedef enum { VAE_CONV_PLAIN, VAE_CONV_UP, VAE_CONV_DOWN, VAE_CONV_HALVE } vae_conv_kind;
vae_tensor vae_conv_forward(const vae_walk *walk, vae_conv *conv, vae_conv_kind kind, vae_tensor x, int to);
/* y += conv(x), of a plain one. */
void vae_conv_add(const vae_walk *walk, vae_conv *conv, vae_tensor x, vae_tensor y);
/* Returns this rank's rows of x, which every rank holds whole; x itself where a decode is not shared. */
vae_tensor vae_take_band(const vae_walk *walk, vae_tensor x);
/* Applies norm and activation, into slot `to`, which may be that of x. */
vae_tensor vae_norm_forward(const vae_walk *walk, const vae_norm *norm, dit_activation activation, vae_tensor x,
                            int to);
vae_tensor vae_resnet_forward(const vae_walk *walk, vae_resnet *resnet, vae_tensor x);
vae_tensor vae_attention_forward(const vae_walk *walk, const vae_attention *attention, vae_tensor x);

/* Doubles each frame, except the first `single` ones. */
vae_tensor vae_double_frames(const vae_walk *walk, vae_tensor x, int64_t single, int to);
/* Makes the mean of each two frames one; of an odd number the first stays. */
vae_tensor vae_mean_frames(const vae_walk *walk, vae_tensor x, int to);
/* Makes two frames of each: of the first half of the channels, then of the second. */
vae_tensor vae_split_frames(const vae_walk *walk, vae_tensor x, int to);

/* Spreads the channels [time, space, space, C] of each position over a cell of so many frames, rows and columns. The first
 * `skip` frames of the result, fewer than `time`, are left out. */
vae_tensor vae_spread_channels(const vae_walk *walk, vae_tensor x, int64_t time, int64_t space, int64_t skip, int to);

/* Keeps the last frames of x for the next chunk, of a convolution that is left out in this one. */
void vae_conv_keep(const vae_walk *walk, vae_conv *conv, vae_tensor x);
/* What is done to every causal convolution of a VAE: each class names its own, and passes one of the three below. */
typedef dit_status (*vae_conv_visitor)(vae_relay *relay, vae_conv *conv);
/* Allocates what the convolution keeps, from relay->rt, after the dry walk. Errors: DIT_ERR_MEMORY. */
dit_status vae_conv_allocate(vae_relay *relay, vae_conv *conv);
/* Forgets it, before the first chunk. */
dit_status vae_conv_forget(vae_relay *relay, vae_conv *conv);
/* Waits until the cache has left for the rank of the next chunk, after the last chunk of a shared decode. */
dit_status vae_conv_settle(vae_relay *relay, vae_conv *conv);
/* Visits the convolutions of a chain of residual blocks. Errors: those of `visit`. */
dit_status vae_resnets_visit(vae_relay *relay, vae_resnet *resnets, int64_t count, vae_conv_visitor visit);

#endif
