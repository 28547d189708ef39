/* Parameter: lists everything that `defaults`, `axes` and `zip` of a workload may set. This is the one list.
 *
 * To add one: a row here, its use in the programs that read it (suite/workload/programs/), and a line in
 * workloads/schema/workload.schema.json.
 */
#ifndef DIT_SUITE_CATALOGUE_PARAMETER_H
#define DIT_SUITE_CATALOGUE_PARAMETER_H

#include "base/parallel.h"
#include "suite/catalogue/program_list.h"

/* What a value looks like: how it is checked and what people are told of it, a row each in parameter.c. */
typedef struct suite_parameter_kind suite_parameter_kind;

/* Which programs read a parameter; for any other it would be a wish without effect. PIPELINE: program denoise with a
 * scope beyond denoising. */
enum {
#define SUITE_READS_ENUM(constant, name) SUITE_READS_##constant = 1 << SUITE_PROGRAM_##constant,
    SUITE_PROGRAM_LIST(SUITE_READS_ENUM)
#undef SUITE_READS_ENUM
        SUITE_READS_PIPELINE = 1 << SUITE_PROGRAM_COUNT,
    SUITE_READS_ALL = SUITE_READS_PIPELINE - 1,
    SUITE_READS_DENOISE_DECODE = SUITE_READS_DENOISE | SUITE_READS_DECODE,
    SUITE_READS_DENOISE_ATTEND = SUITE_READS_DENOISE | SUITE_READS_ATTEND,
    SUITE_READS_DECODE_PIPELINE = SUITE_READS_DECODE | SUITE_READS_PIPELINE,
    SUITE_READS_PLANS = SUITE_READS_PLAN | SUITE_READS_SEQUENCES,
    SUITE_READS_ATTEND_PLANS = SUITE_READS_ATTEND | SUITE_READS_PLANS,
    SUITE_READS_RUN = SUITE_READS_ALL & ~SUITE_READS_PLANS, /* what ranks compute */
    SUITE_READS_RUN_SEQUENCES = SUITE_READS_RUN | SUITE_READS_SEQUENCES,
    SUITE_READS_FORWARD = SUITE_READS_RUN, /* degrees, by what their axis needs (base/axis.h) */
    SUITE_READS_STEPS = SUITE_READS_DENOISE,
};

/* Which platforms a parameter means something to. */
enum {
    SUITE_ON_SIMULATED = 1, /* the cost model reads it */
    SUITE_ON_DEVICE = 2,    /* a GPU reads it          */
    SUITE_ON_HOST = 4,      /* cores read it           */
    SUITE_ON_MODELLED = SUITE_ON_SIMULATED | SUITE_ON_DEVICE,
    SUITE_ON_ANY = SUITE_ON_MODELLED | SUITE_ON_HOST,
};

/* Columns: constant; key; what filters, plots and claims call it (SAME: by its key, NONE: they cannot); kind; least and
 * greatest, of numbers; the programs that read it; whether they cannot do without it; platforms; whether the label of a
 * case names it in words of its own (NAMED) or gets "key=value" where it varies (ADDED). */
/* clang-format off */
#define SUITE_PARAMETER_OF_AXIS(X, axis, name, needs) \
    X(axis##_DEGREE,       name "_degree",          SAME,  INTEGER,      1, 65536,            needs,           OPTIONAL, ANY,       NAMED)
#define SUITE_PARAMETER_LIST(X) \
    X(MODEL,               "model",                 SAME,  MODEL,        0, 0,                DENOISE_DECODE,  REQUIRED, ANY,       NAMED) \
    X(RESOLUTION,          "resolution",            SAME,  RESOLUTION,   1, 1 << 20,          DENOISE_DECODE,  OPTIONAL, ANY,       NAMED) \
    X(HEIGHT_PX,           "height_px",             SAME,  INTEGER,      1, 1 << 20,          DENOISE_DECODE,  OPTIONAL, ANY,       NAMED) \
    X(WIDTH_PX,            "width_px",              SAME,  INTEGER,      1, 1 << 20,          DENOISE_DECODE,  OPTIONAL, ANY,       NAMED) \
    X(NUM_FRAMES,          "num_frames",            SAME,  INTEGER,      1, 1 << 20,          DENOISE_DECODE,  OPTIONAL, ANY,       NAMED) \
    X(NUM_IMAGES,          "num_images",            SAME,  INTEGER,      1, 4096,             DENOISE_DECODE,  OPTIONAL, ANY,       ADDED) \
    X(NUM_INFERENCE_STEPS, "num_inference_steps",   STEPS, INTEGER,      1, 100000,           DENOISE,         OPTIONAL, ANY,       ADDED) \
    X(GUIDANCE_SCALE,      "guidance_scale",        SAME,  NUMBER,       0, 1000,             DENOISE,         OPTIONAL, ANY,       ADDED) \
    X(TRUE_CFG_SCALE,      "true_cfg_scale",        SAME,  NUMBER,       0, 1000,             DENOISE,         OPTIONAL, ANY,       ADDED) \
    X(CFG_NORMALIZATION,   "cfg_normalization",     NONE,  NUMBER,       0, 1000,             DENOISE,         OPTIONAL, ANY,       ADDED) \
    X(CFG_TRUNC_RATIO,     "cfg_trunc_ratio",       NONE,  NUMBER,       0, 1,                DENOISE,         OPTIONAL, ANY,       ADDED) \
    X(REFERENCE,           "reference_resolution",  NONE,  RESOLUTION,   1, 1 << 20,          DENOISE,         OPTIONAL, ANY,       ADDED) \
    X(SEED,                "seed",                  SAME,  INTEGER,      0, 9007199254740991, RUN_SEQUENCES,   OPTIONAL, ANY,       ADDED) \
    X(NOISE,               "noise",                 NONE,  NOISE,        0, 0,                DENOISE,         OPTIONAL, ANY,       ADDED) \
    X(TEXT_TOKENS,         "text_tokens",           SAME,  INTEGER,      1, 1 << 20,          DENOISE,         OPTIONAL, ANY,       ADDED) \
    X(SCHEDULER,           "scheduler",             NONE,  SCHEDULER,    0, 0,                DENOISE,         OPTIONAL, ANY,       ADDED) \
    X(WEIGHTS_SEED,        "weights_seed",          NONE,  INTEGER,      0, 9007199254740991, DENOISE_DECODE,  OPTIONAL, ANY,       ADDED) \
    X(WEIGHTS,             "weights",               SAME,  WEIGHTS,      0, 0,                DENOISE,         OPTIONAL, ANY,       ADDED) \
    X(PROMPTS,             "prompts",               SAME,  PROMPTS,      1, 4096,             DENOISE,         OPTIONAL, ANY,       ADDED) \
    X(PROMPT,              "prompt",                NONE,  NAME,         0, 0,                PIPELINE,        OPTIONAL, ANY,       ADDED) \
    X(TEXT_PARALLEL,       "text_encoder_parallel", SAME,  TEXT_WAY,     0, 0,                PIPELINE,        OPTIONAL, ANY,       ADDED) \
    X(METHOD,              "method",                SAME,  METHOD,       0, 0,                RUN,             OPTIONAL, ANY,       NAMED) \
    X(WORLD_SIZE,          "world_size",            SAME,  INTEGER,      1, 65536,            ALL,             OPTIONAL, ANY,       NAMED) \
    DIT_AXIS_LIST(SUITE_PARAMETER_OF_AXIS, X) \
    X(PATCH_METHOD,        "patch_method",          SAME,  PATCH_METHOD, 0, 0,                DENOISE,         OPTIONAL, ANY,       NAMED) \
    X(STAGE_METHOD,        "stage_method",          SAME,  STAGE_METHOD, 0, 0,                DENOISE,         OPTIONAL, ANY,       NAMED) \
    X(ROWS_DEGREE,         "rows_degree",           SAME,  INTEGER,      1, 65536,            DECODE_PIPELINE, OPTIONAL, ANY,       NAMED) \
    X(FSDP_DEGREE,         "fsdp_degree",           SAME,  INTEGER,      1, 65536,            DENOISE,         OPTIONAL, ANY,       NAMED) \
    X(FSDP_PREFETCH,       "fsdp_prefetch",         SAME,  INTEGER,      0, 64,               DENOISE,         OPTIONAL, ANY,       NAMED) \
    X(WARMUP_STEPS,        "warmup_steps",          SAME,  INTEGER,      0, 100000,           DENOISE,         OPTIONAL, ANY,       NAMED) \
    X(NUM_PIPELINE_PATCH,  "num_pipeline_patch",    SAME,  INTEGER,      1, 4096,             DENOISE,         OPTIONAL, ANY,       NAMED) \
    X(STAGE_BLOCKS,        "attn_layer_num_for_pp", SAME,  STAGE_BLOCKS, 1, DIT_MAX_BLOCKS,   DENOISE,         OPTIONAL, ANY,       NAMED) \
    X(PATCH_FRACTION,      "patch_fraction",        SAME,  FRACTION,     0, 1,                DENOISE,         OPTIONAL, ANY,       NAMED) \
    X(HALO_FRAMES,         "halo_frames",           SAME,  INTEGER,      0, 1 << 20,          DENOISE,         OPTIONAL, ANY,       NAMED) \
    X(GLOBAL_FRAMES,       "global_frames",         SAME,  INTEGER,      0, 1 << 20,          DENOISE,         OPTIONAL, ANY,       NAMED) \
    X(BLOCK_FRAMES,        "block_frames",          SAME,  INTEGER,      0, 1 << 20,          DENOISE,         OPTIONAL, ANY,       NAMED) \
    X(CONTEXT_FRAMES,      "context_frames",        SAME,  INTEGER,      0, 1 << 20,          DENOISE,         OPTIONAL, ANY,       NAMED) \
    X(CACHE,               "cache",                 SAME,  CACHE,        0, 0,                DENOISE,         OPTIONAL, ANY,       NAMED) \
    X(EDIT,                "edit",                  SAME,  EDIT,         0, 0,                DENOISE,         OPTIONAL, ANY,       NAMED) \
    X(OFFLOAD,             "offload",               SAME,  OFFLOAD,      0, 0,                DENOISE,         OPTIONAL, ANY,       ADDED) \
    X(OFFLOAD_POLICY,      "offload_policy",        SAME,  RESIDENCY,    0, 0,                DENOISE,         OPTIONAL, ANY,       ADDED) \
    X(OFFLOAD_DEPTH,       "offload_depth",         SAME,  INTEGER,      1, 64,               DENOISE,         OPTIONAL, ANY,       ADDED) \
    X(RESIDENT_WEIGHTS,    "resident_weights",      SAME,  INTEGER,      1, INT64_C(1) << 50, DENOISE,         OPTIONAL, ANY,       ADDED) \
    X(JOINT_TEXT,          "joint_text",            SAME,  JOINT_TEXT,   0, 0,                DENOISE,         OPTIONAL, ANY,       ADDED) \
    X(ATTENTION,           "attention",             SAME,  ATTENTION,    0, 0,                DENOISE_ATTEND,  OPTIONAL, ANY,       NAMED) \
    X(PLATFORM,            "platform",              SAME,  NAME,         0, 0,                ALL,             OPTIONAL, ANY,       ADDED) \
    X(PROFILE,             "profile",               SAME,  NAME,         0, 0,                ALL,             OPTIONAL, SIMULATED, ADDED) \
    X(ELEMENT,             "element",               SAME,  ELEMENT,      0, 0,                ALL,             OPTIONAL, MODELLED,  ADDED) \
    X(FP8_LINEAR,          "fp8_linear",            SAME,  SWITCH,       0, 1,                RUN,             OPTIONAL, DEVICE,    ADDED) \
    X(GRAPHS,              "graphs",                SAME,  SWITCH,       0, 1,                RUN,             OPTIONAL, DEVICE,    ADDED) \
    X(ENGINE,              "engine",                SAME,  ENGINE,       0, 0,                DENOISE,         OPTIONAL, ANY,       ADDED) \
    X(THREADS_PER_RANK,    "threads_per_rank",      SAME,  THREADS,      1, 4096,             RUN,             OPTIONAL, ANY,       ADDED) \
    X(TILING,              "tiling",                SAME,  SWITCH,       0, 1,                DECODE_PIPELINE, OPTIONAL, ANY,       ADDED) \
    X(VAE_SPLIT,           "vae_split",             SAME,  SPLIT,        0, 0,                DECODE_PIPELINE, OPTIONAL, ANY,       ADDED) \
    X(TOKENS,              "tokens",                SAME,  INTEGER,      1, 1 << 24,          ATTEND_PLANS,    REQUIRED, ANY,       NAMED) \
    X(HEADS,               "heads",                 SAME,  INTEGER,      1, 4096,             ATTEND_PLANS,    REQUIRED, ANY,       NAMED) \
    X(KV_HEADS,            "kv_heads",              SAME,  INTEGER,      1, 4096,             ATTEND,          OPTIONAL, ANY,       NAMED) \
    X(HEAD_DIM,            "head_dim",              SAME,  INTEGER,      1, 4096,             ATTEND_PLANS,    REQUIRED, ANY,       NAMED) \
    X(BATCH,               "batch",                 SAME,  INTEGER,      1, 4096,             ATTEND_PLANS,    OPTIONAL, ANY,       NAMED) \
    X(CAUSAL,              "causal",                SAME,  SWITCH,       0, 1,                ATTEND_PLANS,    OPTIONAL, ANY,       NAMED) \
    X(LAYOUT,              "layout",                SAME,  LAYOUT,       0, 0,                ATTEND,          OPTIONAL, ANY,       NAMED) \
    X(PACKED,              "packed",                SAME,  SWITCH,       0, 1,                ATTEND,          OPTIONAL, ANY,       NAMED) \
    X(MASK,                "mask",                  SAME,  MASK,         0, 0,                ATTEND,          OPTIONAL, ANY,       NAMED) \
    X(INNER_RING,          "inner_ring",            SAME,  INTEGER,      1, 65536,            DENOISE_ATTEND,  OPTIONAL, ANY,       NAMED) \
    X(CONTEXT_FIRST,       "context_first",         SAME,  SWITCH,       0, 1,                DENOISE_ATTEND,  OPTIONAL, ANY,       NAMED) \
    X(PAD_TOKENS,          "pad_tokens",            NONE,  SWITCH,       0, 1,                ATTEND,          OPTIONAL, ANY,       NAMED) \
    X(PAD_HEADS,           "pad_heads",             NONE,  SWITCH,       0, 1,                ATTEND,          OPTIONAL, ANY,       NAMED) \
    X(NUM_LAYERS,          "num_layers",            SAME,  INTEGER,      1, 1024,             PLANS,           REQUIRED, SIMULATED, NAMED) \
    X(VOCABULARY,          "vocabulary",            SAME,  INTEGER,      0, 1 << 24,          PLANS,           OPTIONAL, SIMULATED, NAMED) \
    X(MEMORY_LIMIT,        "memory_limit_gib",      SAME,  NUMBER,       0, 1 << 20,          PLANS,           REQUIRED, SIMULATED, NAMED) \
    X(STRATEGIES,          "strategies",            SAME,  STRATEGIES,   0, 0,                PLAN,            REQUIRED, SIMULATED, NAMED) \
    X(STAGES,              "stages",                SAME,  INTEGER,      1, 64,               PLAN,            OPTIONAL, SIMULATED, NAMED) \
    X(MICRO_BATCHES,       "micro_batches",         SAME,  INTEGER,      1, 4096,             PLAN,            OPTIONAL, SIMULATED, NAMED) \
    X(BALANCE,             "balance",               SAME,  BALANCE,      0, 0,                PLAN,            OPTIONAL, SIMULATED, NAMED) \
    X(GRANULARITY,         "granularity",           SAME,  GRANULARITY,  0, 0,                PLAN,            OPTIONAL, SIMULATED, NAMED) \
    X(OPERATOR_SPLITS,     "operator_splits",       SAME,  INTEGER,      1, 64,               PLAN,            OPTIONAL, SIMULATED, NAMED) \
    X(SEARCH,              "search",                SAME,  SEARCH,       0, 0,                PLAN,            OPTIONAL, SIMULATED, NAMED) \
    X(SPREAD,              "spread",                SAME,  NUMBER,       0, 4,                SEQUENCES,       OPTIONAL, SIMULATED, NAMED) \
    X(BATCHES,             "batches",               SAME,  INTEGER,      1, 1024,             SEQUENCES,       OPTIONAL, SIMULATED, NAMED) \
    X(DRIFT,               "drift",                 SAME,  DRIFT,        0, 0,                SEQUENCES,       OPTIONAL, SIMULATED, NAMED) \
    X(GROUPING,            "grouping",              SAME,  GROUPING,     0, 0,                SEQUENCES,       OPTIONAL, SIMULATED, NAMED) \
    X(REPLAN_EVERY,        "replan_every",          SAME,  INTEGER,      0, 1024,             SEQUENCES,       OPTIONAL, SIMULATED, NAMED) \
    X(REPLAN_S,            "replan_s",              SAME,  NUMBER,       0, 1000000,          SEQUENCES,       OPTIONAL, SIMULATED, NAMED)
/* clang-format on */

typedef enum {
#define SUITE_PARAMETER_ENUM(name, ...) SUITE_PARAMETER_##name,
    SUITE_PARAMETER_LIST(SUITE_PARAMETER_ENUM)
#undef SUITE_PARAMETER_ENUM
        SUITE_PARAMETER_COUNT
} suite_parameter;

typedef struct {
    const char *key, *tag; /* tag: NULL when there is none */
    const suite_parameter_kind *kind;
    int64_t least, greatest;
    int readers;   /* SUITE_READS_* of the programs that read it */
    int platforms; /* SUITE_ON_*                                 */
    bool is_required, is_named;
} suite_parameter_row;

const suite_parameter_row *suite_parameter_get(suite_parameter parameter);
const char *suite_parameter_key(suite_parameter parameter);
bool suite_parameter_from_key(const char *key, suite_parameter *out);
/* The degree of an axis, of DIT_AXIS_WORLD or of DIT_AXIS_FSDP. */
suite_parameter suite_parameter_of_axis(dit_axis axis);
/* The platforms of a parameter, in words: "simulated or GPU"; "is simulated or a GPU"; "cuda or cost", which are
 * backends. The last two are NULL where any platform will do. */
typedef struct {
    const char *name, *what, *backends;
} suite_platform_words;
const suite_platform_words *suite_parameter_platforms(suite_parameter parameter);
/* What its value is, for people: "an integer from 1 to 4096", "ulysses, ring, ...", "true or false". */
void suite_parameter_value_text(suite_parameter parameter, char *out, size_t size);
/* All keys, NULL-terminated. */
const char *const *suite_parameter_keys(void);

/* Whether `value` is of the parameter's kind and range. Names of models and platforms are looked up elsewhere.
 * Errors: DIT_ERR_JSON_TYPE, DIT_ERR_JSON_VALUE, DIT_ERR_JSON_UNKNOWN_KEY at `pointer`. */
dit_status suite_parameter_check(const dit_json *doc, const char *pointer, suite_parameter parameter,
                                 const cJSON *value);
/* "shapes:test:128" -> "test", 128, no edits; "shapes-edits:test:128" those captions after an edit. False for anything else. */
bool suite_prompts_from_text(const char *text, char split[32], int *count, bool *edits);
/* "1280x720" -> 1280, 720. False for anything else (signs, spaces, leading zeros included). */
bool suite_resolution_from_text(const char *text, int64_t *width_px, int64_t *height_px);

/* As dit_json_only_keys, with a better hint for the flags of xDiT and for spellings of other programs. */
dit_status suite_only_keys(const dit_json *doc, const cJSON *object, const char *pointer, const char *const *keys);

#endif
