/* Parameter: everything that `defaults`, `axes` and `zip` of a workload may set, in one list.
 *
 * To add one: a row here, its use in expand.c, and a line in workloads/schema/workload.schema.json.
 */
#ifndef DIT_SUITE_CATALOGUE_PARAMETER_H
#define DIT_SUITE_CATALOGUE_PARAMETER_H

#include "base/parallel.h"

typedef enum {
    SUITE_KIND_MODEL,        /* a name, or {"name","as","override"}  */
    SUITE_KIND_SCHEDULER,    /* an object laid over the model's own  */
    SUITE_KIND_RESOLUTION,   /* "WIDTHxHEIGHT" in pixels             */
    SUITE_KIND_THREADS,      /* an integer, or "auto"                */
    SUITE_KIND_NAME,         /* any non-empty string                 */
    SUITE_KIND_METHOD,       /* of base/method.h, or a search        */
    SUITE_KIND_ATTENTION,    /* local, ulysses, ring, usp, ...       */
    SUITE_KIND_JOINT_TEXT,   /* auto, split, replicate               */
    SUITE_KIND_PATCH_METHOD, /* a patch method of base/method.h      */
    SUITE_KIND_STAGE_BLOCKS, /* a list: blocks of each stage         */
    SUITE_KIND_FRACTION,     /* a number in (0, 1]                   */
    SUITE_KIND_LAYOUT,       /* basic, zigzag, stripe                */
    SUITE_KIND_ELEMENT,      /* fp32, fp16, bf16, fp8                */
    SUITE_KIND_SWITCH,       /* true or false                        */
    SUITE_KIND_INTEGER,
    SUITE_KIND_NUMBER,
} suite_parameter_kind;

/* Which programs read a parameter; for any other it would be a wish without effect. PIPELINE: program denoise with a
 * scope beyond denoising. */
enum {
    SUITE_READS_DENOISE = 1,
    SUITE_READS_DECODE = 2,
    SUITE_READS_ATTEND = 4,
    SUITE_READS_PIPELINE = 8,
    SUITE_READS_DENOISE_DECODE = SUITE_READS_DENOISE | SUITE_READS_DECODE,
    SUITE_READS_DENOISE_ATTEND = SUITE_READS_DENOISE | SUITE_READS_ATTEND,
    SUITE_READS_DECODE_PIPELINE = SUITE_READS_DECODE | SUITE_READS_PIPELINE,
    SUITE_READS_ALL = SUITE_READS_DENOISE | SUITE_READS_DECODE | SUITE_READS_ATTEND,
    SUITE_READS_FORWARD = SUITE_READS_ALL, /* degrees, by what their axis needs (base/axis.h) */
    SUITE_READS_STEPS = SUITE_READS_DENOISE,
};

/* Which platforms a parameter means something to. */
typedef enum {
    SUITE_ON_ANY,
    SUITE_ON_SIMULATED, /* the cost model reads it      */
    SUITE_ON_DEVICE,    /* a GPU reads it               */
    SUITE_ON_MODELLED,  /* the cost model and a GPU do  */
} suite_parameter_platforms;

/* constant, key, kind, least and greatest (numbers only), programs that read it, platforms, and whether the label of a
 * case names it in words of its own (NAMED) or gets "key=value" where it varies (ADDED) */
/* clang-format off */
#define SUITE_PARAMETER_OF_AXIS(X, axis, name, needs) \
    X(axis##_DEGREE,       name "_degree",          INTEGER,      1, 65536,            needs,           ANY,       NAMED)
#define SUITE_PARAMETER_LIST(X) \
    X(MODEL,               "model",                 MODEL,        0, 0,                DENOISE_DECODE,  ANY,       NAMED) \
    X(RESOLUTION,          "resolution",            RESOLUTION,   1, 1 << 20,          DENOISE_DECODE,  ANY,       NAMED) \
    X(HEIGHT_PX,           "height_px",             INTEGER,      1, 1 << 20,          DENOISE_DECODE,  ANY,       NAMED) \
    X(WIDTH_PX,            "width_px",              INTEGER,      1, 1 << 20,          DENOISE_DECODE,  ANY,       NAMED) \
    X(NUM_FRAMES,          "num_frames",            INTEGER,      1, 1 << 20,          DENOISE_DECODE,  ANY,       NAMED) \
    X(NUM_IMAGES,          "num_images",            INTEGER,      1, 4096,             DENOISE_DECODE,  ANY,       ADDED) \
    X(NUM_INFERENCE_STEPS, "num_inference_steps",   INTEGER,      1, 100000,           DENOISE,         ANY,       ADDED) \
    X(GUIDANCE_SCALE,      "guidance_scale",        NUMBER,       0, 1000,             DENOISE,         ANY,       ADDED) \
    X(SEED,                "seed",                  INTEGER,      0, 9007199254740991, ALL,             ANY,       ADDED) \
    X(TEXT_TOKENS,         "text_tokens",           INTEGER,      1, 1 << 20,          DENOISE,         ANY,       ADDED) \
    X(SCHEDULER,           "scheduler",             SCHEDULER,    0, 0,                DENOISE,         ANY,       ADDED) \
    X(WEIGHTS_SEED,        "weights_seed",          INTEGER,      0, 9007199254740991, DENOISE_DECODE,  ANY,       ADDED) \
    X(METHOD,              "method",                METHOD,       0, 0,                ALL,             ANY,       NAMED) \
    X(WORLD_SIZE,          "world_size",            INTEGER,      1, 65536,            ALL,             ANY,       NAMED) \
    DIT_AXIS_LIST(SUITE_PARAMETER_OF_AXIS, X) \
    X(PATCH_METHOD,        "patch_method",          PATCH_METHOD, 0, 0,                DENOISE,         ANY,       NAMED) \
    X(ROWS_DEGREE,         "rows_degree",           INTEGER,      1, 65536,            DECODE,          ANY,       NAMED) \
    X(WARMUP_STEPS,        "warmup_steps",          INTEGER,      0, 100000,           DENOISE,         ANY,       NAMED) \
    X(NUM_PIPELINE_PATCH,  "num_pipeline_patch",    INTEGER,      1, 4096,             DENOISE,         ANY,       NAMED) \
    X(STAGE_BLOCKS,        "attn_layer_num_for_pp", STAGE_BLOCKS, 1, 10000,            DENOISE,         ANY,       NAMED) \
    X(PATCH_FRACTION,      "patch_fraction",        FRACTION,     0, 1,                DENOISE,         ANY,       NAMED) \
    X(JOINT_TEXT,          "joint_text",            JOINT_TEXT,   0, 0,                DENOISE,         ANY,       ADDED) \
    X(ATTENTION,           "attention",             ATTENTION,    0, 0,                DENOISE_ATTEND,  ANY,       NAMED) \
    X(PLATFORM,            "platform",              NAME,         0, 0,                ALL,             ANY,       ADDED) \
    X(PROFILE,             "profile",               NAME,         0, 0,                ALL,             SIMULATED, ADDED) \
    X(ELEMENT,             "element",               ELEMENT,      0, 0,                ALL,             MODELLED,  ADDED) \
    X(FP8_LINEAR,          "fp8_linear",            SWITCH,       0, 1,                ALL,             DEVICE,    ADDED) \
    X(GRAPHS,              "graphs",                SWITCH,       0, 1,                ALL,             DEVICE,    ADDED) \
    X(THREADS_PER_RANK,    "threads_per_rank",      THREADS,      1, 4096,             ALL,             ANY,       ADDED) \
    X(TILING,              "tiling",                SWITCH,       0, 1,                DECODE_PIPELINE, ANY,       ADDED) \
    X(TOKENS,              "tokens",                INTEGER,      1, 1 << 24,          ATTEND,          ANY,       NAMED) \
    X(HEADS,               "heads",                 INTEGER,      1, 4096,             ATTEND,          ANY,       NAMED) \
    X(KV_HEADS,            "kv_heads",              INTEGER,      1, 4096,             ATTEND,          ANY,       NAMED) \
    X(HEAD_DIM,            "head_dim",              INTEGER,      1, 4096,             ATTEND,          ANY,       NAMED) \
    X(BATCH,               "batch",                 INTEGER,      1, 4096,             ATTEND,          ANY,       NAMED) \
    X(CAUSAL,              "causal",                SWITCH,       0, 1,                ATTEND,          ANY,       NAMED) \
    X(LAYOUT,              "layout",                LAYOUT,       0, 0,                ATTEND,          ANY,       NAMED) \
    X(PACKED,              "packed",                SWITCH,       0, 1,                ATTEND,          ANY,       NAMED) \
    X(PAD_TOKENS,          "pad_tokens",            SWITCH,       0, 1,                ATTEND,          ANY,       NAMED) \
    X(PAD_HEADS,           "pad_heads",             SWITCH,       0, 1,                ATTEND,          ANY,       NAMED)
/* clang-format on */

typedef enum {
#define SUITE_PARAMETER_ENUM(name, key, kind, least, greatest, programs, platforms, label) SUITE_PARAMETER_##name,
    SUITE_PARAMETER_LIST(SUITE_PARAMETER_ENUM)
#undef SUITE_PARAMETER_ENUM
        SUITE_PARAMETER_COUNT
} suite_parameter;

const char *suite_parameter_key(suite_parameter parameter);
bool suite_parameter_from_key(const char *key, suite_parameter *out);
/* The degree of an axis, or of DIT_AXIS_WORLD. */
suite_parameter suite_parameter_of_axis(dit_axis axis);
/* The SUITE_READS_* of the programs that read it. */
int suite_parameter_readers(suite_parameter parameter);
suite_parameter_platforms suite_parameter_needs(suite_parameter parameter);
/* "any", "simulated", "GPU", "simulated or GPU". */
const char *suite_parameter_needs_name(suite_parameter_platforms needs);
/* What its value is, for people: "an integer from 1 to 4096", "ulysses, ring, ...", "true or false". */
void suite_parameter_value_text(suite_parameter parameter, char *out, size_t size);
/* Whether the label of a case names it; else a label says "key=value" where it varies. */
bool suite_parameter_is_named(suite_parameter parameter);
/* All keys, NULL-terminated. */
const char *const *suite_parameter_keys(void);

/* Whether `value` is of the parameter's kind and range. Names of models and platforms are looked up elsewhere.
 * Errors: DIT_ERR_JSON_TYPE, DIT_ERR_JSON_VALUE, DIT_ERR_JSON_UNKNOWN_KEY at `pointer`. */
dit_status suite_parameter_check(const dit_json *doc, const char *pointer, suite_parameter parameter,
                                 const cJSON *value);
/* "1280x720" -> 1280, 720. False for anything else (signs, spaces, leading zeros included). */
bool suite_resolution_from_text(const char *text, int64_t *width_px, int64_t *height_px);

/* "7,7,6" -> blocks[] = {7, 7, 6}, count 3; at most DIT_MAX_STAGES. False for anything else. */
bool suite_stage_blocks_from_text(const char *text, int blocks[DIT_MAX_STAGES], int *count);

/* As dit_json_only_keys, with a better hint for the flags of xDiT and for spellings of other programs. */
dit_status suite_only_keys(const dit_json *doc, const cJSON *object, const char *pointer, const char *const *keys);

#endif
