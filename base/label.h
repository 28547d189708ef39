/* Labels: the short names of parallel configurations in plots and tables, "u2 r2 pp4 M4 W0". */
#ifndef DIT_BASE_LABEL_H
#define DIT_BASE_LABEL_H

#include "base/parallel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of a label such as "u2 r2 pp4 M4 W0", in the order they are written. */
typedef enum {
    DIT_LABEL_ULYSSES,
    DIT_LABEL_RING,
    DIT_LABEL_PATCH,
    DIT_LABEL_PIPEFUSION,
    DIT_LABEL_TENSOR,
    DIT_LABEL_CFG,
    DIT_LABEL_DATA,
    DIT_LABEL_ROWS,
    DIT_LABEL_STAGES,
    DIT_LABEL_BANDS,
    DIT_LABEL_FRACTION,
    DIT_LABEL_WARMUP,
    DIT_LABEL_COUNT
} dit_label_part;
typedef struct {
    const char *prefix;  /* "u" of "u2"; "" where the part is the value alone ("7,7,6")       */
    const char *key;     /* the parameter whose value follows: "ulysses_degree"               */
    const char *example; /* "u2"                                                              */
    const char *meaning; /* a sentence                                                        */
} dit_label_info;
/* The one table of what stands in labels; the glossary and `ditbench help labels` show it. */
const dit_label_info *dit_label_get(dit_label_part part);

/* "u2", "r4", "u2 r2 cfg2", "rows4", "1" for a single rank: the short label of plots and tables. */
void dit_parallel_label(const dit_parallel *parallel, char out[64]);

#ifdef __cplusplus
}
#endif
#endif
