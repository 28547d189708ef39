/* Record: merges what the ranks measured into one document (results/schema/record.md). */
#ifndef DIT_ENGINE_RECORD_H
#define DIT_ENGINE_RECORD_H

#include "base/json_writer.h"
#include "engine/cache/cache.h"
#include "engine/case/case.h"
#include "engine/results/device_facts.h"
#include "engine/results/energy.h"
#include "engine/runtime/runtime.h"
#include "engine/runtime/weight_stream.h"

/* What a request is made of. */
typedef enum {
    DIT_PART_TOKENIZE,
    DIT_PART_TEXT_ENCODE,
    DIT_PART_IMAGE_ENCODE, /* the picture that a clip begins with */
    DIT_PART_VAE_ENCODE,
    DIT_PART_DENOISE,
    DIT_PART_VAE_DECODE, /* to 8-bit pictures in memory */
    DIT_PART_WRITE,      /* files                       */
    DIT_PART_COUNT
} dit_part;
const char *dit_part_name(dit_part part); /* "text_encode" */

/* When the blocks of a stream (base/stream.h) were clean, on the last stage; zeros on other ranks and of other runs. */
typedef struct {
    int64_t blocks, first_ns, last_ns, longest_gap_ns; /* from the begin of the steps; gaps are between two blocks */
    double gap_deviation_ns;                           /* standard deviation of the gaps                           */
} dit_block_times;
/* Returns those of block_ns [blocks]. */
dit_block_times dit_block_times_of(const int64_t *block_ns, int64_t blocks);

/* One iteration on one rank. Plain data: ranks send it as bytes. */
typedef struct {
    int64_t latency_ns; /* from the barrier before to the collected latents; of a request, its parts but for files */
    int64_t part_ns[DIT_PART_COUNT]; /* of a request, as far as this rank took part */
    int64_t time_ns[DIT_TIME_COUNT];
    dit_comm_counters counters;
    dit_flops flops;
    int64_t rss_bytes;         /* resident when it had ended; 0: not looked at */
    dit_stream_account stream; /* of weights that stream; zeros where all stay */
    dit_block_times blocks;
} dit_iteration;

enum { DIT_HOST_NAME = 64 };

/* Everything one rank measured. The arrays belong to the caller. */
typedef struct {
    struct {
        int rank, coordinates[DIT_AXIS_COUNT], bound;
        char host[DIT_HOST_NAME];     /* what its machine calls itself; "": a simulated rank */
        int64_t setup_ns, weights_ns; /* communicators and buffers; loading or generating weights */
        int64_t peak[DIT_MEMORY_CLASS_COUNT], total_peak, load_peak, rss_bytes, loop_allocations;
        dit_device_account device;         /* zeros without a device */
        dit_energy energy;                 /* of the meters that this rank reads */
        unsigned parts;                    /* bit i: the request has part i; 0: the program times no request       */
        int64_t part_peak[DIT_PART_COUNT]; /* most memory of the rank's arenas in a part; 0: not looked at */
        char part_on[DIT_PART_COUNT][16];  /* kernels that computed it: "cpu", "cuda"; "host": no kernels  */
        dit_volume_table beside;           /* what the rank sends beside its denoising, by the closed forms */
    } head;
    int iterations, warmup_runs, steps;
    int warmup_most;          /* runs that warming up may take; above warmup_runs it goes on until times are steady */
    const char *warmup_end;   /* why it ended: "count", "steady", "limit"; NULL: it was none (warmup.h)              */
    dit_iteration *iteration; /* [iterations]        */
    int64_t *step_ns;         /* [iterations][steps] */
    int64_t *warmup_ns;       /* [warmup_runs]       */
    cJSON *device_before, *device_after; /* of this rank's device alone; NULL without one */
} dit_measurement;

/* Notes what this machine calls itself: of several placements the harness tells a slow node by it. */
void dit_measurement_name_host(dit_measurement *measurement);

/* Outcome of comparing latents with those of one rank and, where steps were stale, with those of the oracle. An exact
 * run passes by its distance to one rank. An approximate run passes by its distance to the oracle; its distance to one
 * rank is only reported. */
typedef struct {
    const char *digest_key; /* NULL: "latent_digest" */
    char digest[48];        /* "xxh3:..." */
    bool has_reference, has_oracle, approximate;
    char reason[256];       /* why there is no verdict */
    double rel_l2, psnr_db; /* to the reference; psnr_db 0 or infinite: not reported */
    double oracle_rel_l2, tolerance;
} dit_validation;
/* Returns true if there is a verdict, and gives it in *pass. */
bool dit_validation_judge(const dit_validation *validation, bool *pass);

/* Checks that what one rank counted in an iteration equals the closed form. Errors: DIT_ERR_BYTES_MISMATCH, which names
 * axis, collective, phase and both numbers. */
dit_status dit_volume_check(const dit_comm_counters *counters, const dit_volume_table *predicted, int rank,
                            int iteration);
/* Adds a row of "communication" to a list and returns it: messages and bytes as counted and by the closed form. NULL where
 * both are none, and after a failure of the writer. */
cJSON *dit_record_put_traffic(dit_json_writer *w, cJSON *list, dit_volume_place at, const dit_comm_counter *counted,
                              const dit_volume *predicted);
/* Adds the rows of "communication": what was counted, and the closed form. Errors: DIT_ERR_MEMORY. */
dit_status dit_record_communication(cJSON *parent, const dit_comm_counters *counters,
                                    const dit_volume_table *predicted);

/* What a record is made of. */
typedef struct {
    const char *program; /* "denoise" */
    const dit_case *kase;
    const dit_runtime *rt;
    const char *attention; /* the policy's name; NULL: the program has no attention over ranks */
    const dit_measurement *own;
    const dit_validation *validation;  /* NULL: nothing was computed */
    const dit_volume_table *predicted; /* the closed form; NULL: that of rt->parallel and rt->facts */
    bool predicted_each;               /* `predicted` has a table for each rank */
    const dit_cache_run *cache;        /* NULL, or the cache that ran; the closed form follows its decisions */
    int64_t cache_state_bytes;         /* that a rank keeps for it; 0: as the ranks took                    */
    const cJSON *more;                 /* on rank 0 an object whose members the merged record gets, too; NULL: none */
    const char *out_folder;
} dit_record_params;
/* Writes rank-N.json on every rank and record.json on rank 0. Collective. The verdict of the volume check goes into the
 * record; a mismatch is returned after the record is written. */
dit_status dit_record_write(const dit_record_params *params);
/* Writes only record.json, from the measurements of all ranks; params->own is ignored. Not collective. Errors: as
 * dit_record_write. */
dit_status dit_record_write_merged(const dit_record_params *params, const dit_measurement *ranks);
/* Adds "error" {"code", "message"} of the newest error, whose status is `st`, and clears it: the record goes on. */
void dit_record_put_error(dit_json_writer *w, dit_status st, cJSON *out);
/* Writes error.json of the newest error, which the harness shows. The rank that failed calls it. */
void dit_record_write_error(const char *folder);

#endif
