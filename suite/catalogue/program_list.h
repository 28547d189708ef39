/* Program list: names the programs of workloads, in the order in which people are told of them. The first is the
 * default.
 *
 * To add one: a row here, its file suite/workload/programs/NAME.c, and its name in
 * workloads/schema/workload.schema.json.
 */
#ifndef DIT_SUITE_CATALOGUE_PROGRAM_LIST_H
#define DIT_SUITE_CATALOGUE_PROGRAM_LIST_H

/* constant, name */
/* clang-format off */
#define SUITE_PROGRAM_LIST(X) \
    X(DENOISE, denoise) \
    X(DECODE,  vae_decode) \
    X(ATTEND,  attention) \
    X(PLAN,    layer_plan) \
    X(SEQUENCES, sequence_plan)
/* clang-format on */

typedef enum {
#define SUITE_PROGRAM_ENUM(constant, name) SUITE_PROGRAM_##constant,
    SUITE_PROGRAM_LIST(SUITE_PROGRAM_ENUM)
#undef SUITE_PROGRAM_ENUM
        SUITE_PROGRAM_COUNT
} suite_program_constant;

#endif
