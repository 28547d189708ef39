/* Programs: the things that ranks can do together. Each has a file and a row in program.c. */
#ifndef DIT_ENGINE_PROGRAM_H
#define DIT_ENGINE_PROGRAM_H

#include "base/json.h"
#include "base/status.h"

typedef struct {
    const dit_json *doc; /* the case document; its root is the case         */
    const char *case_path;
    const char *out_folder; /* exists                                          */
    const char *reference;  /* latents.safetensors of the one-rank case or NULL */
    bool no_pictures;       /* of a case that asks for them: another process made them */
    const char *oracle;     /* latents.safetensors of the one-rank case that emulates this one, or NULL */
    const char *converged;  /* latents.safetensors with the pictures of many steps, or NULL */
} dit_program_args;

typedef struct {
    const char *name;
    const char *help;
    /* Collective over the world. Writes record.json (rank 0) and what else the program has. A status other than OK ends
     * the run with its exit code; *skipped set true with OK ends it with 77. */
    dit_status (*run)(const dit_program_args *args, bool *skipped);
} dit_program;

/* Errors: DIT_ERR_NOT_FOUND with the known names. */
dit_status dit_program_find(const char *name, const dit_program **out);
/* Prints one line per program on stdout. */
void dit_program_list(void);

#endif
