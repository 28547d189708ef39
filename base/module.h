/* Modules: the parts of a block whose outputs it adds to the stream. Caches inside the stack keep some of them from step
 * to step (base/cache.h); what a module sends is left out of a step that takes its kept output. */
#ifndef DIT_BASE_MODULE_H
#define DIT_BASE_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Columns: constant; name; what it is, for people. */
#define DIT_MODULE_LIST(X)                                                                                             \
    X(ATTENTION, "attention", "attention over the sequence, of a clip in frames within each frame")                    \
    X(TEMPORAL, "temporal", "attention over time at each place of the image")                                          \
    X(CROSS, "cross", "attention to the text or to a picture")                                                         \
    X(MLP, "mlp", "feed-forward network")                                                                              \
    X(FUSED, "fused", "attention and feed-forward network with one output, of single blocks")

typedef enum {
#define DIT_MODULE_ENUM(constant, ...) DIT_MODULE_##constant,
    DIT_MODULE_LIST(DIT_MODULE_ENUM)
#undef DIT_MODULE_ENUM
        DIT_MODULE_COUNT
} dit_module;

/* A bit of each kind. */
typedef unsigned char dit_module_set;
enum { DIT_MODULES_ALL = (1 << DIT_MODULE_COUNT) - 1 };
static inline bool dit_module_in(dit_module_set set, dit_module kind)
{
    return set >> kind & 1;
}

/* Names of all kinds, NULL at the end. */
const char *const *dit_module_names(void);

/* What the modules of one kind do in a block: calls of attention over the sequence (but for those over image tokens alone,
 * which image_layers counts), outputs of image rows, of text rows, of all rows in one, norms that tensor ranks share, and
 * convolutions that need rows of pixels of other sequence ranks. Each output ends in a sum over tensor ranks. */
typedef struct {
    int64_t calls, image, text, both, norms, halos;
} dit_module_parts;

#ifdef __cplusplus
}
#endif
#endif
