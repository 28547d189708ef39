/* Axes of a mesh: along which ranks divide the work. One row each in axis.c: what documents, options, labels and
 * published points call it, and in which order its degree is chosen.
 */
#ifndef DIT_BASE_AXIS_H
#define DIT_BASE_AXIS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In rank order. */
typedef enum {
    DIT_AXIS_TENSOR, /* fastest */
    DIT_AXIS_ULYSSES,
    DIT_AXIS_RING,
    DIT_AXIS_PATCH, /* displaced patches: a rank's own rows are fresh, those of others a step old or absent */
    DIT_AXIS_PIPEFUSION,
    DIT_AXIS_CFG,
    DIT_AXIS_DATA, /* slowest */
    DIT_AXIS_COUNT,
    DIT_AXIS_WORLD = DIT_AXIS_COUNT, /* all ranks of the mesh as one group, which share the rows of a decode */
    DIT_AXIS_FSDP,  /* ranks of other axes that hold equal weights, each a part of them (docs/memory.md) */
    DIT_GROUP_COUNT /* communicators, counters and volumes have so many entries */
} dit_axis;

/* The axes from the slowest to the fastest, for lists that are made when the program is compiled: calls ROW(ARGUMENT,
 * constant, name, needs). The key of a degree in documents, which is also the option of verbs, is the name and
 * "_degree". An axis that needs STEPS means nothing to a decode or to one attention layer alone; others need a FORWARD.
 */
/* clang-format off */
#define DIT_AXIS_LIST(ROW, ARGUMENT) \
    ROW(ARGUMENT, DATA,       "data",       FORWARD) \
    ROW(ARGUMENT, CFG,        "cfg",        FORWARD) \
    ROW(ARGUMENT, PIPEFUSION, "pipefusion", FORWARD) \
    ROW(ARGUMENT, PATCH,      "patch",      STEPS) \
    ROW(ARGUMENT, RING,       "ring",       FORWARD) \
    ROW(ARGUMENT, ULYSSES,    "ulysses",    FORWARD) \
    ROW(ARGUMENT, TENSOR,     "tensor",     FORWARD)
/* clang-format on */

enum { DIT_MAX_DEGREE = 65536 };

typedef struct {
    const char *xdit;    /* xDiT's option where it has another name; NULL                              */
    const char *printed; /* in the configs of results/published; NULL of world                         */
    const char *help;    /* what its ranks share, for the option                                       */
    const char *prefix, *example, *meaning; /* in labels: "u", "u2", a sentence about the example      */
    int label_place;                        /* from 0: in labels and charts                            */
    int deal_place;                         /* from 0: when a method has several, which takes a factor first */
    int greatest;                           /* degree                                                  */
    bool searched;                          /* a search for the best mesh varies it                    */
    bool sequence;                          /* its ranks share the rows of an image                    */
    bool unsaid; /* documents leave a degree of 1 out: cases from before the axis keep their ids */
} dit_axis_info;

/* The row of an axis, of DIT_AXIS_WORLD or of DIT_AXIS_FSDP. */
const dit_axis_info *dit_axis_get(dit_axis axis);
const char *dit_axis_name(dit_axis axis); /* "ulysses", "world", "fsdp"                       */
const char *dit_axis_key(dit_axis axis);  /* "ulysses_degree", "rows_degree", "fsdp_degree" */
/* Finds an axis, "world" or "fsdp" by its name; false when there is none. */
bool dit_axis_from_name(const char *name, dit_axis *out);
/* The axis, DIT_AXIS_WORLD or DIT_AXIS_FSDP, with that place in labels, or in deals. `place` is from 0, below DIT_GROUP_COUNT. */
dit_axis dit_axis_at_label(int place);
dit_axis dit_axis_at_deal(int place);

#ifdef __cplusplus
}
#endif
#endif
