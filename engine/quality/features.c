#include "engine/quality/features.h"

#include "base/hash.h"
#include "base/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_LAYERS = 6, MOST_CHANNELS = 1024, MOST_KERNEL = 7, MOST_EDGE = 512, PATH_BYTES = 4096 };

typedef struct {
    int64_t in, out, kernel;
    float *weight; /* [in, kernel, kernel, out]: sums run over neighbours in memory */
    float *bias;   /* [out] */
} layer;

struct dit_features {
    layer conv[MOST_LAYERS];
    int layers;
    layer linear;              /* kernel 1; in = channels x side x side */
    int64_t edge, most_values; /* of a layer's input or output */
    float *from, *to;          /* [most_values] */
    double *sum;               /* [largest out] */
    char digest[8 + DIT_HASH_HEX];
};

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* Reads NAME.weight, whose shape is `shape` with any extent below 0, and NAME.bias. */
static dit_status load(const dit_safetensors *file, const char *name, int rank, const int64_t *shape, layer *out)
{
    char tensor[64];
    dit_tensor_view weight, bias;
    snprintf(tensor, sizeof tensor, "%s.weight", name);
    DIT_TRY(dit_safetensors_require(file, tensor, rank, shape, &weight));
    int64_t extents[4] = {weight.shape[0], weight.shape[1], rank == 4 ? weight.shape[2] : 1,
                          rank == 4 ? weight.shape[3] : 1};
    *out = (layer){.out = extents[0], .in = extents[1], .kernel = extents[2]};
    int64_t most_in = rank == 4 ? MOST_CHANNELS : (int64_t)MOST_CHANNELS * MOST_EDGE;
    if (out->out < 1 || out->out > MOST_CHANNELS || out->in < 1 || out->in > most_in || extents[3] != out->kernel ||
        out->kernel % 2 == 0 || out->kernel > MOST_KERNEL)
        return DIT_FAIL(DIT_ERR_SHAPE,
                        "%s has the shape %lld x %lld x %lld x %lld: a layer has up to %d channels, and a square "
                        "kernel of an odd size up to %d",
                        tensor, (long long)extents[0], (long long)extents[1], (long long)extents[2],
                        (long long)extents[3], MOST_CHANNELS, MOST_KERNEL);
    snprintf(tensor, sizeof tensor, "%s.bias", name);
    DIT_TRY(dit_safetensors_require(file, tensor, 1, &out->out, &bias));
    int64_t taps = out->in * out->kernel * out->kernel;
    float *stored = malloc((size_t)weight.elements * sizeof *stored);
    out->weight = malloc((size_t)weight.elements * sizeof *out->weight);
    out->bias = malloc((size_t)out->out * sizeof *out->bias);
    dit_status st = stored && out->weight && out->bias ? dit_tensor_read(&weight, 0, weight.elements, stored)
                                                       : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %s", name);
    if (st == DIT_OK) st = dit_tensor_read(&bias, 0, out->out, out->bias);
    for (int64_t tap = 0; tap < taps && st == DIT_OK; tap++)
        for (int64_t c = 0; c < out->out; c++) out->weight[tap * out->out + c] = stored[c * taps + tap];
    free(stored);
    return st;
}

/* Loads conv1, conv2, ... as far as there are any; one that would be left out is refused. */
static dit_status load_convolutions(const dit_safetensors *file, dit_features *f)
{
    int64_t shape[4] = {-1, DIT_RGB, -1, -1};
    dit_tensor_view view;
    char name[32];
    for (f->layers = 0; f->layers < MOST_LAYERS; f->layers++) {
        snprintf(name, sizeof name, "conv%d.weight", f->layers + 1);
        if (f->layers && !dit_safetensors_find(file, name, &view)) return DIT_OK;
        snprintf(name, sizeof name, "conv%d", f->layers + 1);
        DIT_TRY(load(file, name, 4, shape, &f->conv[f->layers]));
        shape[1] = f->conv[f->layers].out;
    }
    snprintf(name, sizeof name, "conv%d.weight", MOST_LAYERS + 1);
    if (!dit_safetensors_find(file, name, &view)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "%s is one convolution too many: at most %d are computed", name, MOST_LAYERS);
}

/* Finds the picture's size, which the linear layer tells, and takes memory for what lies between layers. */
static dit_status settle_sizes(dit_features *f)
{
    int64_t channels = f->conv[f->layers - 1].out, side = 1, widest = f->linear.out;
    while (side * side * channels < f->linear.in) side++;
    f->edge = side << f->layers;
    if (side * side * channels != f->linear.in || f->edge > MOST_EDGE)
        return DIT_FAIL(DIT_ERR_SHAPE,
                        "features.weight takes %lld values, which are no square of %lld channels for pictures of up to "
                        "%d pixels",
                        (long long)f->linear.in, (long long)channels, MOST_EDGE);
    f->most_values = DIT_RGB * f->edge * f->edge;
    for (int i = 0; i < f->layers; i++) {
        int64_t values = f->conv[i].out * (f->edge >> (i + 1)) * (f->edge >> (i + 1));
        if (values > f->most_values) f->most_values = values;
        if (f->conv[i].out > widest) widest = f->conv[i].out;
    }
    f->from = malloc((size_t)f->most_values * sizeof *f->from);
    f->to = malloc((size_t)f->most_values * sizeof *f->to);
    f->sum = malloc((size_t)widest * sizeof *f->sum);
    if (!f->from || !f->to || !f->sum)
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for pictures of %lld pixels", (long long)f->edge);
    return DIT_OK;
}

static void append_layer(const layer *l, int64_t *count, char (*hashes)[DIT_HASH_HEX])
{
    dit_hash(l->weight, (size_t)(l->in * l->kernel * l->kernel * l->out) * sizeof *l->weight, hashes[(*count)++]);
    dit_hash(l->bias, (size_t)l->out * sizeof *l->bias, hashes[(*count)++]);
}

static void find_digest(dit_features *f)
{
    char hashes[2 * MOST_LAYERS + 2][DIT_HASH_HEX] = {{0}}, all[DIT_HASH_HEX];
    int64_t count = 0;
    for (int i = 0; i < f->layers; i++) append_layer(&f->conv[i], &count, hashes);
    append_layer(&f->linear, &count, hashes);
    dit_hash(hashes, sizeof hashes, all);
    snprintf(f->digest, sizeof f->digest, "xxh3:%s", all);
}

static dit_status load_all(const dit_safetensors *file, dit_features *f)
{
    const int64_t any[2] = {-1, -1};
    DIT_TRY(load_convolutions(file, f));
    DIT_TRY(load(file, "features", 2, any, &f->linear));
    DIT_TRY(settle_sizes(f));
    find_digest(f);
    return DIT_OK;
}

dit_status dit_features_open(const char *path, dit_features **out)
{
    char inside[PATH_BYTES];
    struct stat info;
    dit_safetensors *file = NULL;
    *out = NULL;
    bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    if (snprintf(inside, sizeof inside, "%s%s", path, folder ? "/features.safetensors" : "") >= (int)sizeof inside)
        return DIT_FAIL(DIT_ERR_IO, "the path of a features network is too long");
    DIT_TRY(dit_safetensors_open(inside, &file));
    dit_features *f = calloc(1, sizeof *f);
    dit_status st = f ? load_all(file, f) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a features network");
    dit_safetensors_close(file);
    if (st == DIT_OK) {
        *out = f;
        return DIT_OK;
    }
    dit_features_close(f);
    return dit_error_note(st, "opening the features network %s", inside);
}

static void free_layer(layer *l)
{
    free(l->weight);
    free(l->bias);
}

void dit_features_close(dit_features *f)
{
    if (!f) return;
    for (int i = 0; i < MOST_LAYERS; i++) free_layer(&f->conv[i]);
    free_layer(&f->linear);
    free(f->from);
    free(f->to);
    free(f->sum);
    free(f);
}

int64_t dit_features_width(const dit_features *features)
{
    return features->linear.out;
}

int64_t dit_features_edge(const dit_features *features)
{
    return features->edge;
}

const char *dit_features_digest(const dit_features *features)
{
    return features->digest;
}

/* ---- computing ---------------------------------------------------------------------------------------------------- */

/* Averages a frame over squares into planes [3, edge, edge] of values in [-1, 1], in which the network was trained. */
static dit_status take_frame(const dit_features *f, const float *picture, dit_picture_size size, int64_t frame)
{
    int64_t square = size.width / f->edge, plane = size.height * size.width;
    if (size.width < 1 || size.height != size.width || size.width % f->edge)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_SHAPE, "the features network sees pictures of %lld x %lld, not of %lld x %lld",
                     (long long)f->edge, (long long)f->edge, (long long)size.width, (long long)size.height),
            "pictures that are a whole number of times as large are averaged");
    for (int64_t c = 0; c < DIT_RGB; c++)
        for (int64_t y = 0; y < f->edge; y++)
            for (int64_t x = 0; x < f->edge; x++) {
                const float *from = picture + (c * size.frames + frame) * plane + y * square * size.width + x * square;
                double sum = 0;
                for (int64_t i = 0; i < square * square; i++) sum += from[i / square * size.width + i % square];
                if (!isfinite(sum)) return DIT_FAIL(DIT_ERR_NONFINITE, "a picture has pixels that are not finite");
                f->from[(c * f->edge + y) * f->edge + x] = (float)(2 * sum / (double)(square * square) - 1);
            }
    return DIT_OK;
}

/* Adds what tap (c, ky, kx) of the kernel sees to the sums of all output channels. */
static void add_tap(const layer *l, float value, int64_t tap, double *sum)
{
    const float *weight = l->weight + tap * l->out;
    for (int64_t o = 0; o < l->out; o++) sum[o] += (double)value * weight[o];
}

static void convolve(const layer *l, const float *from, int64_t side, double *sum, float *to)
{
    int64_t half = side / 2, pad = l->kernel / 2;
    for (int64_t y = 0; y < half; y++)
        for (int64_t x = 0; x < half; x++) {
            for (int64_t o = 0; o < l->out; o++) sum[o] = l->bias[o];
            for (int64_t tap = 0; tap < l->in * l->kernel * l->kernel; tap++) {
                int64_t row = 2 * y - pad + tap / l->kernel % l->kernel, column = 2 * x - pad + tap % l->kernel;
                if (row < 0 || row >= side || column < 0 || column >= side) continue;
                add_tap(l, from[(tap / (l->kernel * l->kernel) * side + row) * side + column], tap, sum);
            }
            for (int64_t o = 0; o < l->out; o++) /* a NaN stays one, so that an overflow is told */
                to[(o * half + y) * half + x] = sum[o] < 0 ? 0 : (float)sum[o];
        }
}

dit_status dit_features_of(const dit_features *f, const float *picture, dit_picture_size size, int64_t frame,
                           float *out)
{
    float *from = f->from, *to = f->to;
    DIT_TRY(take_frame(f, picture, size, frame));
    for (int i = 0; i < f->layers; i++) {
        convolve(&f->conv[i], from, f->edge >> i, f->sum, to);
        float *other = from;
        from = to, to = other;
    }
    for (int64_t o = 0; o < f->linear.out; o++) f->sum[o] = f->linear.bias[o];
    for (int64_t i = 0; i < f->linear.in; i++) add_tap(&f->linear, from[i], i, f->sum);
    for (int64_t o = 0; o < f->linear.out; o++) {
        out[o] = (float)f->sum[o];
        if (!isfinite(out[o])) return DIT_FAIL(DIT_ERR_NONFINITE, "feature %lld is not finite", (long long)o);
    }
    return DIT_OK;
}
