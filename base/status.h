/* Status: one enum for every way the project can fail, with the message made where the failure is known.
 *
 * A function that can fail returns dit_status; results come back through pointers. The message, its place in the
 * source and the notes added on the way out live in a per-thread error record, so that signatures stay narrow and
 * two threads never mix their errors. Libraries set it; only main prints it and picks the exit code.
 *
 * Typical use:
 *     if (world_size % ring_degree) return DIT_FAIL(DIT_ERR_CONSTRAINT_PRODUCT, "ring_degree %d does not ...", ...);
 *     DIT_TRY(dit_json_read_file(path, &doc));                        before anything is owned
 *     DIT_TRY_GOTO(st, dit_comm_create(&comm), done);                 after
 */
#ifndef DIT_BASE_STATUS_H
#define DIT_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Process exit codes (documented in README.md; never a count). */
enum {
    DIT_EXIT_OK = 0,
    DIT_EXIT_GATE = 1,         /* a gate or a claim failed                      */
    DIT_EXIT_USAGE = 2,        /* bad command line or invalid workload          */
    DIT_EXIT_CASE = 3,         /* some case failed or timed out                 */
    DIT_EXIT_ENVIRONMENT = 4,  /* the machine lacks something we need           */
    DIT_EXIT_UNDECIDED = 5,    /* undecided or unstable                         */
    DIT_EXIT_VERIFICATION = 6, /* wrong numbers, or a damaged file              */
    DIT_EXIT_SKIPPED = 77,     /* everything was skipped, each with its reason  */
    DIT_EXIT_INTERRUPTED = 130,
    DIT_EXIT_TERMINATED = 143,
};

/* name, stable code (part of the interface: scripts match on it), exit code, what it means */
#define DIT_STATUS_LIST(X)                                                                                             \
    X(OK, "OK", DIT_EXIT_OK, "success")                                                                                \
    X(ERR_USAGE, "E_USAGE", DIT_EXIT_USAGE, "bad command line")                                                        \
    X(ERR_INTERNAL, "E_INTERNAL", DIT_EXIT_CASE, "a bug in ditbench")                                                  \
    X(ERR_MEMORY, "E_MEMORY", DIT_EXIT_CASE, "out of memory, or over the limit of an arena")                           \
    X(ERR_IO, "E_IO", DIT_EXIT_ENVIRONMENT, "a file could not be read or written")                                     \
    X(ERR_SHAPE, "E_SHAPE", DIT_EXIT_VERIFICATION, "shapes do not fit together")                                       \
    X(ERR_UNSUPPORTED, "E_UNSUPPORTED", DIT_EXIT_USAGE, "valid, but not implemented here")                             \
    X(ERR_ENVIRONMENT, "E_ENVIRONMENT", DIT_EXIT_ENVIRONMENT, "the machine lacks something")                           \
    X(ERR_MPI, "E_MPI", DIT_EXIT_CASE, "an MPI call failed")                                                           \
    X(ERR_DEVICE, "E_DEVICE", DIT_EXIT_CASE, "a call to a device's library failed")                                    \
    X(ERR_TIMEOUT, "E_TIMEOUT", DIT_EXIT_CASE, "a deadline passed")                                                    \
    X(ERR_CRASH, "E_CRASH", DIT_EXIT_CASE, "an engine process died")                                                   \
    X(ERR_JSON_SYNTAX, "E_JSON_SYNTAX", DIT_EXIT_USAGE, "not JSON")                                                    \
    X(ERR_JSON_DUPLICATE_KEY, "E_JSON_DUPLICATE_KEY", DIT_EXIT_USAGE, "a key occurs twice in one object")              \
    X(ERR_JSON_TRAILING, "E_JSON_TRAILING", DIT_EXIT_USAGE, "bytes after the end of the document")                     \
    X(ERR_JSON_NUMBER, "E_JSON_NUMBER", DIT_EXIT_USAGE, "number out of range, or an integer beyond 2^53")              \
    X(ERR_JSON_ENCODING, "E_JSON_ENCODING", DIT_EXIT_USAGE, "not valid UTF-8")                                         \
    X(ERR_JSON_DEPTH, "E_JSON_DEPTH", DIT_EXIT_USAGE, "nested too deeply, or too large")                               \
    X(ERR_JSON_TYPE, "E_JSON_TYPE", DIT_EXIT_USAGE, "a value has the wrong type")                                      \
    X(ERR_JSON_MISSING, "E_JSON_MISSING", DIT_EXIT_USAGE, "a required key is absent")                                  \
    X(ERR_JSON_UNKNOWN_KEY, "E_JSON_UNKNOWN_KEY", DIT_EXIT_USAGE, "an unknown key")                                    \
    X(ERR_JSON_VALUE, "E_JSON_VALUE", DIT_EXIT_USAGE, "a value outside its range or list")                             \
    X(ERR_WORKLOAD, "E_WORKLOAD", DIT_EXIT_USAGE, "the workload cannot be expanded")                                   \
    X(ERR_EXPRESSION, "E_EXPRESSION", DIT_EXIT_USAGE, "an expression cannot be read or evaluated")                     \
    X(ERR_NOT_FOUND, "E_NOT_FOUND", DIT_EXIT_USAGE, "a named thing does not exist")                                    \
    X(ERR_NO_MATCH, "E_NO_MATCH", DIT_EXIT_USAGE, "a filter keeps nothing")                                            \
    X(ERR_CONSTRAINT_PRODUCT, "E_CONSTRAINT_PRODUCT", DIT_EXIT_USAGE, "degrees do not multiply to the world size")     \
    X(ERR_CONSTRAINT_DEGREE, "E_CONSTRAINT_DEGREE", DIT_EXIT_USAGE, "a degree or its settings outside their range")    \
    X(ERR_CONSTRAINT_STAGES, "E_CONSTRAINT_STAGES", DIT_EXIT_USAGE, "stages cannot share the blocks as asked")         \
    X(ERR_CONSTRAINT_CFG, "E_CONSTRAINT_CFG", DIT_EXIT_USAGE, "cfg_degree needs two guidance branches")                \
    X(ERR_CONSTRAINT_HEADS, "E_CONSTRAINT_HEADS", DIT_EXIT_USAGE, "heads not divisible by ulysses_degree")             \
    X(ERR_CONSTRAINT_TOKENS, "E_CONSTRAINT_TOKENS", DIT_EXIT_USAGE, "tokens not divisible by the sequence degree")     \
    X(ERR_CONSTRAINT_TEXT, "E_CONSTRAINT_TEXT", DIT_EXIT_USAGE, "text tokens cannot be placed as asked")               \
    X(ERR_CONSTRAINT_RESOLUTION, "E_CONSTRAINT_RESOLUTION", DIT_EXIT_USAGE, "size not divisible by latent and patch")  \
    X(ERR_CONSTRAINT_METHOD, "E_CONSTRAINT_METHOD", DIT_EXIT_USAGE, "method and degrees contradict each other")        \
    X(ERR_CONSTRAINT_BATCH, "E_CONSTRAINT_BATCH", DIT_EXIT_USAGE, "images not divisible by data_degree")               \
    X(ERR_CONSTRAINT_MEMORY, "E_CONSTRAINT_MEMORY", DIT_EXIT_USAGE, "does not fit in the memory of the platform")      \
    X(ERR_CONSTRAINT_PLATFORM, "E_CONSTRAINT_PLATFORM", DIT_EXIT_USAGE, "the platform has too few devices")            \
    X(ERR_CONSTRAINT_CACHE, "E_CONSTRAINT_CACHE", DIT_EXIT_USAGE, "a cache that model, mesh or steps do not allow")    \
    X(ERR_CONSTRAINT_USER, "E_CONSTRAINT_USER", DIT_EXIT_USAGE, "dropped by exclude or constraints of the workload")   \
    X(ERR_SAFETENSORS_TRUNCATED, "E_SAFETENSORS_TRUNCATED", DIT_EXIT_VERIFICATION,                                     \
      "the file is shorter than its header says")                                                                      \
    X(ERR_SAFETENSORS_HEADER, "E_SAFETENSORS_HEADER", DIT_EXIT_VERIFICATION, "the header breaks the format's rules")   \
    X(ERR_SAFETENSORS_OFFSETS, "E_SAFETENSORS_OFFSETS", DIT_EXIT_VERIFICATION,                                         \
      "offsets overlap, leave gaps, or run out")                                                                       \
    X(ERR_SAFETENSORS_DTYPE, "E_SAFETENSORS_DTYPE", DIT_EXIT_VERIFICATION, "dtype unknown or not usable here")         \
    X(ERR_SAFETENSORS_TRAILING, "E_SAFETENSORS_TRAILING", DIT_EXIT_VERIFICATION, "bytes after the last tensor")        \
    X(ERR_TENSOR_MISSING, "E_TENSOR_MISSING", DIT_EXIT_VERIFICATION, "a tensor that the model needs is absent")        \
    X(ERR_NONFINITE, "E_NONFINITE", DIT_EXIT_VERIFICATION, "NaN or infinity where numbers belong")                     \
    X(ERR_MISMATCH, "E_MISMATCH", DIT_EXIT_VERIFICATION, "numbers differ from the reference by more than allowed")     \
    X(ERR_BYTES_MISMATCH, "E_BYTES_MISMATCH", DIT_EXIT_VERIFICATION, "counted bytes differ from the closed form")      \
    X(ERR_INTEGRITY, "E_INTEGRITY", DIT_EXIT_VERIFICATION, "a record's hash does not match its contents")              \
    X(ERR_JOURNAL, "E_JOURNAL", DIT_EXIT_VERIFICATION, "a journal line cannot be read")                                \
    X(ERR_CLAIM, "E_CLAIM", DIT_EXIT_GATE, "a claim of the workload does not hold")                                    \
    X(ERR_INTERRUPTED, "E_INTERRUPTED", DIT_EXIT_INTERRUPTED, "stopped by a signal; state is saved")

typedef enum {
#define DIT_STATUS_ENUM(name, code, exit, text) DIT_##name,
    DIT_STATUS_LIST(DIT_STATUS_ENUM)
#undef DIT_STATUS_ENUM
        DIT_STATUS_COUNT
} dit_status;

/* Returns the stable code, such as "E_CONSTRAINT_HEADS". Never NULL. */
const char *dit_status_name(dit_status status);
/* Returns one clause of plain English for the code. Never NULL. */
const char *dit_status_text(dit_status status);
/* Returns the process exit code that this status leads to. */
int dit_status_exit_code(dit_status status);
/* Inverse of dit_status_name; returns false when no status has that code. */
bool dit_status_from_name(const char *name, dit_status *out);

/* The calling thread's newest error. All pointers stay valid until the next failure in this thread. */
typedef struct {
    dit_status status;
    const char *message; /* with values, not only words                                          */
    const char *hint;    /* what to do about it; "" when there is none                           */
    const char *notes;   /* one line per frame that added a note, innermost first; "" when none  */
    const char *file;    /* source place that raised it                                          */
    int line;
} dit_error;
const dit_error *dit_error_last(void);

/* Records an error and returns `status`. printf rules. Use DIT_FAIL. */
dit_status dit_error_raise(const char *file, int line, dit_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds "what to do" to the error just raised; returns `status` unchanged. */
dit_status dit_error_hint(dit_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds one frame's note on the way out; returns `status` unchanged. */
dit_status dit_error_note(dit_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Forgets the error, for code that handled it. */
void dit_error_clear(void);
/* Writes code, message, hint and notes to stderr, as the programs show an error. */
void dit_error_print(const char *program);

#define DIT_FAIL(status, ...) dit_error_raise(__FILE__, __LINE__, (status), __VA_ARGS__)
#define DIT_TRY(call)                                                                                                  \
    do {                                                                                                               \
        dit_status try_status_ = (call);                                                                               \
        if (try_status_ != DIT_OK) return try_status_;                                                                 \
    } while (0)
#define DIT_TRY_GOTO(st, call, label)                                                                                  \
    do {                                                                                                               \
        (st) = (call);                                                                                                 \
        if ((st) != DIT_OK) goto label;                                                                                \
    } while (0)
/* For cleanup: goes on after an error, and keeps the first one. */
#define DIT_KEEP_FIRST(st, call)                                                                                       \
    do {                                                                                                               \
        dit_status keep_status_ = (call);                                                                              \
        if ((st) == DIT_OK) (st) = keep_status_;                                                                       \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
