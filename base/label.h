/* What a parallel configuration is called: its label in plots and tables, "u2 r2 pp4 M4 W0", and its method. */
#ifndef DIT_BASE_LABEL_H
#define DIT_BASE_LABEL_H

#include "base/method.h"
#include "base/parallel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of a label in the order they are written: below DIT_GROUP_COUNT the axis at that label_place, then these.
 */
typedef enum {
    DIT_LABEL_AHEAD = DIT_GROUP_COUNT,
    DIT_LABEL_STAGES,
    DIT_LABEL_BANDS,
    DIT_LABEL_FRACTION,
    DIT_LABEL_HALO,
    DIT_LABEL_GLOBAL,
    DIT_LABEL_BLOCK,
    DIT_LABEL_CONTEXT,
    DIT_LABEL_WARMUP,
    DIT_LABEL_COUNT
} dit_label_part;
typedef struct {
    const char *prefix;  /* "u" of "u2"; "" where the part is the value alone ("7,7,6")       */
    const char *key;     /* the parameter whose value follows: "ulysses_degree"               */
    const char *example; /* "u2"                                                              */
    const char *meaning; /* a sentence                                                        */
} dit_label_info;
/* What stands in labels; the glossary and `ditbench help labels` show it. `part` is below DIT_LABEL_COUNT. */
dit_label_info dit_label_get(int part);

/* "u2", "r4", "u2 r2 cfg2", "rows4", "1" for a single rank: the degrees above 1; of shards also how many blocks are gathered
 * ahead, "u8 fsdp8 ahead2", where it is not one. What does not fit ends in
 * "...". */
void dit_parallel_label(const dit_parallel *parallel, char out[64]);
/* The method of a ring where it is not the plain one, with its inner rings where they are said: "all-gather",
 * "double-ring inner2"; else "". */
void dit_parallel_label_ring(const dit_parallel *parallel, char out[64]);
/* The same with the blocks of uneven stages and the methods of rings and displaced patches: "u2 pp2 24,33", "patch4
 * pcpp", "r4 all-gather". */
void dit_parallel_label_whole(const dit_parallel *parallel, char out[64]);
/* The inverse of both: sets the degrees that "pp2 u2" names, the stages of "pp2 24,33", the patch method of "patch4
 * naive-patch", and the ring method of "r4 double-ring inner2"; the rest of `out` stays. Errors: DIT_ERR_USAGE naming the word that is none of these, or both numbers
 * where a list has more or fewer stages than the mesh. */
dit_status dit_parallel_from_label(const char *label, dit_parallel *out);

/* Writes the blocks of uneven stages, "7,7,6"; "" of even ones. 6 * DIT_MAX_STAGES characters fit all; with fewer the rest
 * is cut off. */
void dit_stage_blocks_to_text(const dit_parallel *parallel, char *out, size_t size);
/* "7,7,6" -> blocks[] = {7, 7, 6}, count 3; at most DIT_MAX_STAGES. False for anything else. */
bool dit_stage_blocks_from_text(const char *text, int blocks[DIT_MAX_STAGES], int *count);

/* The method that a mesh amounts to: "cfg+ulysses", "single" for one rank. */
void dit_parallel_method(const dit_parallel *parallel, char out[DIT_METHOD_NAME]);
/* How attention finds K and V on this mesh: "local", "ulysses", "ring", "usp", the method of another
 * ring or the patch method. */
const char *dit_parallel_attention(const dit_parallel *parallel);

#ifdef __cplusplus
}
#endif
#endif
