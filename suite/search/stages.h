/* Stages: where to cut a chain of blocks into consecutive stages, so that the slowest stage is as fast as it can be. Pure.
 *
 * The time of a stage is the sum of its blocks' times: what a pipeline's tick takes, but for what its messages hide.
 */
#ifndef DIT_SUITE_SEARCH_STAGES_H
#define DIT_SUITE_SEARCH_STAGES_H

#include "base/parallel.h"

/* One block of the chain. */
typedef struct {
    double seconds, bytes;
} suite_stage_block;

/* What a partition comes to. */
typedef struct {
    double slowest_s; /* the slowest stage            */
    double fullest;   /* the bytes of the fullest one */
} suite_stage_cost;

suite_stage_cost suite_stages_cost(const suite_stage_block *blocks, const int *counts, int stages);
/* Finds the partition of `count` blocks into `stages` non-empty stages, none of more than most_bytes, with the fastest
 * slowest stage, and among those (to a share of 1e-12) with the emptiest fullest one. counts [stages] gets the blocks of
 * each stage. Dynamic programming takes count^2 * stages steps for the time, and as many for the bytes. Returns false
 * where there is none, and without memory. `stages` is at most DIT_MAX_STAGES. */
bool suite_stages_cut(const suite_stage_block *blocks, int count, int stages, double most_bytes,
                      int counts[DIT_MAX_STAGES]);

#endif
