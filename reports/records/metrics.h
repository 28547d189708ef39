/* Metrics: lists what a record can say in numbers, with unit and direction. This is the one table of metrics.
 *
 * The value of a process comes from its record; the value of a case is the median over its processes. Speedup,
 * efficiency and the errors of simulated cases are computed afterwards, from several cases.
 */
#ifndef DIT_REPORTS_RECORDS_METRICS_H
#define DIT_REPORTS_RECORDS_METRICS_H

#include "base/json.h"
#include "reports/text.h"

/* A metric is one row: constant, name (claims and CSV spell it so), unit, which way is better, how it repeats
 * (report_repeats), whether only cases with a counterpart have it, place inside the record or NULL,
 * factor from the place's unit to ours, one clause for pages and `ditbench list metrics`. A row with neither place nor
 * counterpart is computed by report_metrics_read. */
/* clang-format off */
#define REPORT_METRIC_LIST(X) \
    X(LATENCY, "latency_s", SECONDS, LOWER, CLOCK, false, NULL, 0, \
      "one iteration: all steps of all images, slowest rank") \
    X(STEP, "step_s", SECONDS, LOWER, CLOCK, false, NULL, 0, \
      "one denoising step, slowest rank") \
    X(COMPUTE, "compute_s", SECONDS, LOWER, CLOCK, false, "time_split/compute_ns", 1e-9, \
      "time spent computing, on the critical rank") \
    X(EXPOSED_COMMUNICATION, "exposed_communication_s", SECONDS, LOWER, CLOCK, false, "time_split/exposed_communication_ns", 1e-9, \
      "time spent waiting for messages with nothing to compute") \
    X(OTHER, "other_s", SECONDS, LOWER, CLOCK, false, "time_split/other_ns", 1e-9, \
      "time spent neither computing nor waiting") \
    X(COMMUNICATION_BYTES, "communication_bytes", BYTES, LOWER, EXACTLY, false, NULL, 0, \
      "bytes that the rank that sends most sends in one iteration") \
    X(COMMUNICATION_MESSAGES, "communication_messages", COUNT, LOWER, EXACTLY, false, NULL, 0, \
      "its messages") \
    X(PREDICTED_BYTES, "predicted_bytes", BYTES, NEITHER, EXACTLY, false, NULL, 0, \
      "closed form for communication_bytes") \
    X(WEIGHTS_BYTES, "weights_bytes", BYTES, LOWER, NEARLY, false, "memory/weights_bytes", 1, \
      "peak of packed weights") \
    X(STATE_BYTES, "state_bytes", BYTES, LOWER, NEARLY, false, "memory/state_bytes", 1, \
      "peak of latents and K,V stores") \
    X(ACTIVATIONS_BYTES, "activations_bytes", BYTES, LOWER, NEARLY, false, "memory/activations_bytes", 1, \
      "peak of one step's scratch") \
    X(COMM_BUFFER_BYTES, "comm_buffer_bytes", BYTES, LOWER, NEARLY, false, "memory/communication_bytes", 1, \
      "peak of send and receive buffers") \
    X(TOTAL_BYTES, "total_bytes", BYTES, LOWER, NEARLY, false, "memory/total_bytes", 1, \
      "peak over all classes, largest rank") \
    X(RSS_BYTES, "rss_bytes", BYTES, LOWER, LOOSELY, false, "memory/rss_bytes", 1, \
      "resident set of the process") \
    X(DEVICE_RESERVED_BYTES, "device_reserved_bytes", BYTES, LOWER, NEARLY, false, "memory/device_reserved_bytes", 1, \
      "memory taken from a device") \
    X(DEVICE_UNPLANNED_BLOCKS, "device_unplanned_blocks", COUNT, LOWER, EXACTLY, false, "memory/device_unplanned_blocks", 1, \
      "blocks of it that were not planned") \
    X(WEIGHTS_READ, "weights_read_bytes", BYTES, LOWER, EXACTLY, false, "offload/read_bytes", 1, \
      "weights of blocks that one iteration read again, as they are stored") \
    X(WEIGHT_LOADS, "weight_loads", COUNT, LOWER, EXACTLY, false, "offload/loads", 1, \
      "blocks whose weights one iteration read") \
    X(PREDICTED_WEIGHT_LOADS, "predicted_weight_loads", COUNT, NEITHER, EXACTLY, false, "offload/predicted_loads", 1, \
      "closed form for weight_loads") \
    X(WEIGHT_HITS, "weight_hits", COUNT, HIGHER, EXACTLY, false, "offload/hits", 1, \
      "uses of a block that found its weights resident from an earlier use") \
    X(WEIGHTS_EXPOSED, "weights_exposed_s", SECONDS, LOWER, CLOCK, false, "offload/exposed_ns", 1e-9, \
      "time that blocks waited for their weights") \
    X(WEIGHTS_HIDDEN, "weights_hidden_s", SECONDS, NEITHER, CLOCK, false, "offload/hidden_ns", 1e-9, \
      "time of reading weights while a block computed") \
    X(WEIGHTS_HIDDEN_SHARE, "weights_hidden_share", SHARE, HIGHER, LOOSELY, false, "offload/hidden_share", 1, \
      "share of the time of reading weights that nothing waited for") \
    X(FIRST_BLOCK, "first_block_s", SECONDS, LOWER, CLOCK, false, "stream/first_block_ns", 1e-9, \
      "time until the first block of a stream is clean") \
    X(STEADY_FRAMES, "steady_frames_per_s", COUNT, HIGHER, CLOCK, false, "stream/frames_per_second", 1, \
      "frames a second of a stream's blocks behind the first") \
    X(JITTER, "jitter_s", SECONDS, LOWER, CLOCK, false, "stream/jitter_ns", 1e-9, \
      "standard deviation of the time between a stream's blocks") \
    X(REL_L2, "rel_l2", RELATIVE, LOWER, LOOSELY, false, "validation/rel_l2", 1, \
      "distance of the latents to one rank's") \
    X(PSNR, "psnr_db", DECIBEL, HIGHER, LOOSELY, false, "validation/psnr_db", 1, \
      "signal-to-noise ratio of the latents to one rank's") \
    X(ORACLE_REL_L2, "oracle_rel_l2", RELATIVE, LOWER, LOOSELY, false, "validation/oracle_rel_l2", 1, \
      "distance of an approximate method to its oracle") \
    X(PICTURE_PSNR, "picture_psnr_db", DECIBEL, HIGHER, LOOSELY, false, "quality/fidelity/psnr_db/mean", 1, \
      "signal-to-noise ratio of pictures to those of one rank without a cache, mean over captions") \
    X(PICTURE_PSNR_P05, "picture_psnr_p05_db", DECIBEL, HIGHER, LOOSELY, false, "quality/fidelity/psnr_db/p05/value", 1, \
      "that ratio at the 5th percentile of captions") \
    X(PICTURE_SSIM, "picture_ssim", COUNT, HIGHER, LOOSELY, false, "quality/fidelity/ssim/mean", 1, \
      "structural similarity of those pairs, mean over captions") \
    X(CONVERGED_PSNR, "converged_psnr_db", DECIBEL, HIGHER, LOOSELY, false, "quality/converged/psnr_db/mean", 1, \
      "signal-to-noise ratio of pictures to those of eight times the steps, mean over captions") \
    X(CONVERGED_PSNR_LOW, "converged_psnr_db_low", DECIBEL, HIGHER, LOOSELY, false, "quality/converged/psnr_db/low", 1, \
      "lower end of the 95 % interval of that mean over captions") \
    X(CONVERGED_PSNR_HIGH, "converged_psnr_db_high", DECIBEL, HIGHER, LOOSELY, false, "quality/converged/psnr_db/high", 1, \
      "its upper end") \
    X(CONVERGED_PSNR_P05, "converged_psnr_p05_db", DECIBEL, HIGHER, LOOSELY, false, "quality/converged/psnr_db/p05/value", 1, \
      "that ratio at the 5th percentile of captions") \
    X(CONVERGED_PSNR_P05_LOW, "converged_psnr_p05_db_low", DECIBEL, HIGHER, LOOSELY, false, "quality/converged/psnr_db/p05/low", 1, \
      "lower end of its 95 % interval") \
    X(CONVERGED_PSNR_P05_HIGH, "converged_psnr_p05_db_high", DECIBEL, HIGHER, LOOSELY, false, "quality/converged/psnr_db/p05/high", 1, \
      "its upper end") \
    X(CONVERGED_SSIM, "converged_ssim", COUNT, HIGHER, LOOSELY, false, "quality/converged/ssim/mean", 1, \
      "structural similarity of those pairs, mean over captions") \
    X(CONVERGED_SSIM_LOW, "converged_ssim_low", COUNT, HIGHER, LOOSELY, false, "quality/converged/ssim/low", 1, \
      "lower end of its 95 % interval over captions") \
    X(CONVERGED_SSIM_HIGH, "converged_ssim_high", COUNT, HIGHER, LOOSELY, false, "quality/converged/ssim/high", 1, \
      "its upper end") \
    X(ACCURACY, "accuracy", SHARE, HIGHER, LOOSELY, false, "quality/accuracy/all/value", 1, \
      "pictures that show all words of their captions") \
    X(ACCURACY_LOW, "accuracy_low", SHARE, HIGHER, LOOSELY, false, "quality/accuracy/all/low", 1, \
      "lower end of the 95 % interval of accuracy") \
    X(ACCURACY_HIGH, "accuracy_high", SHARE, HIGHER, LOOSELY, false, "quality/accuracy/all/high", 1, \
      "its upper end") \
    X(ACCURACY_SIZE, "accuracy_size", SHARE, HIGHER, LOOSELY, false, "quality/accuracy/size/value", 1, \
      "objects with the size of their caption") \
    X(ACCURACY_COLOUR, "accuracy_colour", SHARE, HIGHER, LOOSELY, false, "quality/accuracy/colour/value", 1, \
      "objects with the colour of their caption") \
    X(ACCURACY_TEXTURE, "accuracy_texture", SHARE, HIGHER, LOOSELY, false, "quality/accuracy/texture/value", 1, \
      "objects with the texture of their caption") \
    X(ACCURACY_SHAPE, "accuracy_shape", SHARE, HIGHER, LOOSELY, false, "quality/accuracy/shape/value", 1, \
      "objects with the shape of their caption") \
    X(ACCURACY_PLACE, "accuracy_place", SHARE, HIGHER, LOOSELY, false, "quality/accuracy/place/value", 1, \
      "objects that are where the caption says") \
    X(ACCURACY_MOTION, "accuracy_motion", SHARE, HIGHER, LOOSELY, false, "quality/accuracy/motion/value", 1, \
      "objects with the motion of their caption") \
    X(ACCURACY_BACKGROUND, "accuracy_background", SHARE, HIGHER, LOOSELY, false, "quality/accuracy/background/value", 1, \
      "pictures with the background of their caption") \
    X(ACCURACY_BY_CHANCE, "accuracy_by_chance", SHARE, NEITHER, LOOSELY, false, "quality/accuracy_shuffled/all/value", 1, \
      "pictures that show all words of another caption") \
    X(KID, "kid", RELATIVE, LOWER, LOOSELY, false, "quality/renders/kid/value", 1, \
      "kernel distance of pictures to renders of their captions, in features; unbiased, so it may be below 0") \
    X(FD_SHAPES, "fd_shapes", COUNT, LOWER, LOOSELY, false, "quality/renders/fd_shapes/value", 1, \
      "Frechet distance of pictures to renders of their captions, in features of shapes-features") \
    X(PICTURES_FLOPS, "pictures_flops", FLOP, LOWER, EXACTLY, false, "quality/flops", 1, \
      "operations of a picture, all ranks, mean over captions: a cache may decide otherwise for each") \
    X(PICTURES_HIT_SHARE, "pictures_hit_share", SHARE, NEITHER, LOOSELY, false, "quality/hit_share/mean", 1, \
      "steps that a cache reused, mean over batches of captions") \
    X(EDIT_WORD, "edit_word_accuracy", SHARE, HIGHER, LOOSELY, false, "quality/edits/word/value", 1, \
      "pictures of edited captions that show the word which the edit brought") \
    X(EDIT_WORD_LOW, "edit_word_accuracy_low", SHARE, HIGHER, LOOSELY, false, "quality/edits/word/low", 1, \
      "lower end of the 95 % interval of edit_word_accuracy") \
    X(EDIT_WORD_HIGH, "edit_word_accuracy_high", SHARE, HIGHER, LOOSELY, false, "quality/edits/word/high", 1, \
      "its upper end") \
    X(EDIT_COMPUTED, "edit_computed_share", SHARE, NEITHER, LOOSELY, false, "quality/edits/computed_share/mean", 1, \
      "rows of tokens that an edit computed over those of a whole run, mean over captions") \
    X(EDIT_CHANGED, "edit_changed_share", SHARE, NEITHER, LOOSELY, false, "quality/edits/changed_share", 1, \
      "tokens that moved by more than the edit's threshold, mean over captions") \
    X(EDIT_INSIDE, "edit_inside_psnr_db", DECIBEL, HIGHER, LOOSELY, false, "quality/edits/inside_psnr_db", 1, \
      "signal-to-noise ratio to pictures that were drawn from nothing, where the renders of the two captions differ") \
    X(EDIT_OUTSIDE, "edit_outside_psnr_db", DECIBEL, HIGHER, LOOSELY, false, "quality/edits/outside_psnr_db", 1, \
      "that ratio where they do not") \
    X(EDIT_KEPT_DIFFER, "edit_kept_differ", COUNT, LOWER, EXACTLY, false, "quality/edits/kept_differ", 1, \
      "numbers of rows that an edit kept which are not those of the old picture") \
    X(EDIT_KEPT_BYTES, "edit_kept_bytes", BYTES, LOWER, EXACTLY, false, "edit/kept_bytes", 1, \
      "memory that the old picture's run keeps for an edit") \
    X(PICTURES_TIME, "pictures_s", SECONDS, LOWER, LOOSELY, false, "quality/elapsed_ns", 1e-9, \
      "sampling of all pictures, in the first process of a case") \
    X(REDUNDANCY_EXPLAINED, "redundancy_explained", SHARE, NEITHER, LOOSELY, false, "probe/summary/explained/value", 1, \
      "variance of the changes of K, V and attention that layer and step explain over prompts, the least of the three") \
    X(REDUNDANCY_EXPLAINED_LOW, "redundancy_explained_low", SHARE, NEITHER, LOOSELY, false, "probe/summary/explained/low", 1, \
      "lower end of the 95 % interval of redundancy_explained") \
    X(REDUNDANCY_VARIATION, "redundancy_variation", SHARE, NEITHER, LOOSELY, false, "probe/summary/variation/value", 1, \
      "standard deviation over mean of these changes over prompts, mean over layers and steps, the most of the three") \
    X(CHANGE_K, "change_k", RELATIVE, NEITHER, LOOSELY, false, "probe/summary/k/change", 1, \
      "change of keys from one step to the next over their size, median over prompts, layers and steps") \
    X(CHANGE_V, "change_v", RELATIVE, NEITHER, LOOSELY, false, "probe/summary/v/change", 1, \
      "that of values") \
    X(CHANGE_ATTENTION, "change_attention", RELATIVE, NEITHER, LOOSELY, false, "probe/summary/attention/change", 1, \
      "that of what attention gives") \
    X(CHANGE_BLOCK, "change_block", RELATIVE, NEITHER, LOOSELY, false, "probe/summary/block/change", 1, \
      "that of what a block adds to the stream") \
    X(CACHE_HITS, "cache_hits", COUNT, NEITHER, EXACTLY, false, "cache/hits", 1, \
      "steps that reused their middle blocks") \
    X(HIT_SHARE, "hit_share", RELATIVE, NEITHER, EXACTLY, false, "cache/hit_share", 1, \
      "their share of all steps") \
    X(CACHE_STATE_BYTES, "cache_state_bytes", BYTES, LOWER, NEARLY, false, "cache/state_bytes", 1, \
      "memory of one rank that a cache keeps") \
    X(AGREEMENT_BYTES, "agreement_bytes", BYTES, LOWER, EXACTLY, false, "cache/agreement_bytes", 1, \
      "bytes that one rank sends so that all decide alike") \
    X(FLOPS, "flops", FLOP, NEITHER, EXACTLY, false, "flops/total", 1, \
      "operations of one iteration") \
    X(OPERATOR_CALLS, "operator_calls", COUNT, LOWER, EXACTLY, false, NULL, 0, \
      "calls of operators in one iteration, all ranks") \
    X(GFLOP_PER_S, "gflop_per_s", GFLOP_PER_S, HIGHER, CLOCK, false, NULL, 0, \
      "flops over latency_s") \
    X(IMAGES_PER_HOUR, "images_per_hour", PER_HOUR, HIGHER, CLOCK, false, NULL, 0, \
      "images in an hour: num_images over latency_s") \
    X(SPEEDUP, "speedup", FACTOR, HIGHER, CLOCK, false, NULL, 0, \
      "median latency of one rank over that of the case") \
    X(EFFICIENCY, "efficiency", FACTOR, HIGHER, CLOCK, false, NULL, 0, \
      "speedup over ranks") \
    X(SPEEDUP_PRODUCT, "speedup_product", FACTOR, HIGHER, CLOCK, false, NULL, 0, \
      "speedup of a cache and ranks together over the product of the speedups of each alone") \
    X(OPERATOR_REL_L2, "operator_rel_l2", RELATIVE, LOWER, LOOSELY, false, "operator_check/rel_l2", 1, \
      "distance of a layer to the plain operator") \
    X(ATTENTION_FLOPS, "attention_flops", FLOP, NEITHER, EXACTLY, false, "balance/attention_flops", 1, \
      "operations of one layer's attention, all ranks") \
    X(FLOPS_MAX_OVER_MEAN, "flops_max_over_mean", FACTOR, LOWER, EXACTLY, false, "balance/flops_max_over_mean", 1, \
      "work of the busiest rank over the mean of all ranks") \
    X(IDLE_SHARE, "idle_share", RELATIVE, LOWER, EXACTLY, false, "balance/idle_share", 1, \
      "share of the work that would fit while every hop waits for its busiest rank, and is not done") \
    X(IDLE_SLOT_SHARE, "idle_slot_share", RELATIVE, LOWER, EXACTLY, false, "balance/idle_slot_share", 1, \
      "share of all hops of ranks in which there is nothing to compute") \
    X(WAITING_SHARE, "waiting_share", RELATIVE, LOWER, CLOCK, false, "balance/waiting_share", 1, \
      "share of the time that messages hold up, over all ranks") \
    X(GEMM, "gemm_gflop_per_s", GFLOP_PER_S, HIGHER, CLOCK, false, "gemm/flop_per_s", 1e-9, \
      "the device's rate at a product of matrices, before and after the iterations of one layer") \
    X(OF_GEMM, "of_gemm", SHARE, HIGHER, CLOCK, false, "gemm/share", 1, \
      "rate of one layer's attention over that rate") \
    X(TOKENIZE, "tokenize_s", SECONDS, LOWER, CLOCK, false, "phases_ns/tokenize", 1e-9, \
      "prompts to tokens") \
    X(TEXT_ENCODER, "text_encoder_s", SECONDS, LOWER, CLOCK, false, "phases_ns/text_encode", 1e-9, \
      "text encoders") \
    X(DENOISE, "denoise_s", SECONDS, LOWER, CLOCK, false, "phases_ns/denoise", 1e-9, \
      "all denoising steps") \
    X(VAE_DECODE, "vae_decode_s", SECONDS, LOWER, CLOCK, false, "phases_ns/vae_decode", 1e-9, \
      "latents to pictures in memory") \
    X(WRITE, "write_s", SECONDS, LOWER, CLOCK, false, "phases_ns/write", 1e-9, \
      "pictures to files; no part of latency_s") \
    X(TEXT_ENCODER_BYTES, "text_encoder_bytes", BYTES, LOWER, NEARLY, false, "memory/text_encode_bytes", 1, \
      "peak of a rank while it encodes prompts") \
    X(DENOISE_BYTES, "denoise_bytes", BYTES, LOWER, NEARLY, false, "memory/denoise_bytes", 1, \
      "its peak while it denoises") \
    X(VAE_DECODE_BYTES, "vae_decode_bytes", BYTES, LOWER, NEARLY, false, "memory/vae_decode_bytes", 1, \
      "its peak while it decodes, the transformer included") \
    X(ENERGY, "energy_j", JOULES, LOWER, CLOCK, false, "energy/iteration_j", 1, \
      "energy that GPUs, or the processors' packages, take in one iteration") \
    X(POWER, "power_w", WATTS, NEITHER, CLOCK, false, "energy/mean_w", 1, \
      "their mean power, all together") \
    X(SEQUENCES, "sequences_per_s", COUNT, HIGHER, CLOCK, false, "plan/sequences_per_s", 1, \
      "sequences that a planned step trains on, over its time") \
    X(PLAN_MEMORY_SHARE, "plan_memory_share", FACTOR, NEITHER, EXACTLY, false, "plan/memory_share", 1, \
      "memory of the fullest device over the limit of the plan") \
    X(PLAN_OVER_BOUND, "plan_over_bound", FACTOR, LOWER, EXACTLY, false, "plan/over_bound", 1, \
      "time of a plan over one that no plan within the limit undercuts") \
    X(PLAN_OVER_EXHAUSTIVE, "plan_over_exhaustive", FACTOR, LOWER, EXACTLY, false, "plan/over_exhaustive", 1, \
      "time of a plan over the best of all, tried one by one; of small chains") \
    X(PLAN_OVER_ONE_SIZE, "plan_over_one_size", FACTOR, LOWER, EXACTLY, false, "plan/over_one_size", 1, \
      "time of planned batches over that of groups of one size that never change") \
    X(PLAN_WORST_OVER_ONE_SIZE, "plan_worst_over_one_size", FACTOR, LOWER, EXACTLY, false, "plan/worst_over_one_size", 1, \
      "the same of the batch in which it is greatest") \
    X(PLAN_CHANGES, "plan_changes", COUNT, NEITHER, EXACTLY, false, "plan/changes", 1, \
      "how often planned groups of devices change") \
    X(STAGE_TIME_IMBALANCE, "stage_time_imbalance", FACTOR, LOWER, EXACTLY, false, "plan/time_imbalance", 1, \
      "time of a plan's slowest stage over the mean of all stages") \
    X(STAGE_MEMORY_IMBALANCE, "stage_memory_imbalance", FACTOR, LOWER, EXACTLY, false, "plan/memory_imbalance", 1, \
      "memory of its fullest stage over the mean of all stages") \
    X(ERROR_TO_PUBLISHED, "error_to_published", RELATIVE, LOWER, LOOSELY, true, NULL, 0, \
      "|predicted / published - 1| of the latency, median over the points that are this case") \
    X(ERROR_TO_MEASURED, "error_to_measured", RELATIVE, LOWER, CLOCK, true, NULL, 0, \
      "|predicted / measured - 1| of the latency of the measured twin")
/* clang-format on */

typedef enum {
#define REPORT_METRIC_ENUM(id, name, unit, better, repeats, comparison, path, factor, meaning) REPORT_##id,
    REPORT_METRIC_LIST(REPORT_METRIC_ENUM)
#undef REPORT_METRIC_ENUM
        REPORT_METRIC_COUNT
} report_metric;

typedef enum { REPORT_BETTER_LOWER, REPORT_BETTER_HIGHER, REPORT_BETTER_NEITHER } report_better;

/* How a metric comes out when one build runs one case again. */
typedef enum {
    REPORT_REPEATS_CLOCK,   /* as a clock says: a verdict on it needs n >= 6; virtual time repeats to the last digit */
    REPORT_REPEATS_EXACTLY, /* counted: to the last digit                                                            */
    REPORT_REPEATS_NEARLY,  /* bytes of memory: within a hundredth                                                   */
    REPORT_REPEATS_LOOSELY, /* distances in the order of rounding, a resident set: two builds are not held to it     */
} report_repeats;

typedef struct {
    const char *name; /* "latency_s": claims and CSV spell it so */
    report_unit unit;
    report_better better;
    report_repeats repeats;
    bool comparison;     /* only cases with a counterpart have it               */
    const char *path;    /* "memory/weights_bytes" inside the record, or NULL   */
    double factor;       /* path's unit to ours                                 */
    const char *meaning; /* one clause for the page                             */
} report_metric_info;

const report_metric_info *report_metric_get(report_metric metric);
bool report_metric_from_name(const char *name, report_metric *out);
/* True if one case has the metric by itself: no speedup, no efficiency, no distance to another number. */
bool report_metric_is_of_one_case(report_metric metric);
const char *report_better_name(report_better better);

/* Reads the numbers of one record (results/schema/record.md) into `out`; NAN where it says nothing. One iteration makes
 * `num_images` images. Errors: DIT_ERR_JSON_* where a value has the wrong type or is negative. */
dit_status report_metrics_read(const dit_json *doc, const cJSON *record, const char *pointer, double num_images,
                               double out[REPORT_METRIC_COUNT]);

/* The rows of what one rank sent, and the JSON pointer at which they stand. */
typedef struct {
    const cJSON *rows; /* NULL: the record says nothing */
    char pointer[256];
} report_rank_rows;
/* Finds the rows of the rank that sent most bytes: stages of a pipeline and patches at the edge send less than others.
 * In a record without "ranks" they are the rows of "communication". Errors: DIT_ERR_JSON_TYPE, DIT_ERR_JSON_VALUE. */
dit_status report_busiest_rank(const dit_json *doc, const cJSON *record, const char *pointer, report_rank_rows *out);

#endif
