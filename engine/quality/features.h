/* Features: a small trained network that turns a picture into numbers whose distances mean something.
 *
 * A stack of convolutions of stride 2, padded to halve the picture, each with a ReLU, and a linear layer over what is
 * left. Its output is the features; heads that a file may hold are for training. Tensors by PyTorch's names: conv1.weight
 * [out, 3, k, k], conv1.bias, conv2..., features.weight [width, channels x rows x columns], features.bias. Sums are in
 * double, so equal pictures have equal features on any machine.
 */
#ifndef DIT_ENGINE_FEATURES_H
#define DIT_ENGINE_FEATURES_H

#include "engine/quality/fidelity.h"

typedef struct dit_features dit_features;

/* Opens a safetensors file, or features.safetensors in a folder. Errors: DIT_ERR_IO, DIT_ERR_SAFETENSORS_*;
 * DIT_ERR_TENSOR_MISSING, DIT_ERR_SHAPE, which name the file and the tensor; DIT_ERR_NONFINITE; DIT_ERR_MEMORY. */
dit_status dit_features_open(const char *path, dit_features **out);
void dit_features_close(dit_features *features); /* accepts NULL */

int64_t dit_features_width(const dit_features *features); /* how many numbers                           */
int64_t dit_features_edge(const dit_features *features);  /* pixels along a side of what the network sees */
/* Returns the hash of all values that the network uses, "xxh3:...". */
const char *dit_features_digest(const dit_features *features);

/* Computes the features out [width] of one frame of a picture in [0, 1]. A larger picture is averaged over squares down
 * to the network's size. Errors: DIT_ERR_SHAPE for sizes that are no common multiple of it; DIT_ERR_NONFINITE. */
dit_status dit_features_of(const dit_features *features, const float *picture, dit_picture_size size, int64_t frame,
                           float *out);

#endif
