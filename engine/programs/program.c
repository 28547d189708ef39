#include "engine/programs/program.h"

#include "base/words.h"

#include <stdio.h>
#include <string.h>

extern const dit_program dit_program_attention, dit_program_calibrate, dit_program_collective, dit_program_denoise,
    dit_program_describe, dit_program_generate, dit_program_golden, dit_program_kernel, dit_program_quality,
    dit_program_save_weights, dit_program_text_encode, dit_program_vae_decode;

/* All programs. */
static const dit_program *const programs[] = {
    &dit_program_attention, &dit_program_calibrate,    &dit_program_collective,  &dit_program_denoise,
    &dit_program_describe,  &dit_program_generate,     &dit_program_golden,      &dit_program_kernel,
    &dit_program_quality,   &dit_program_save_weights, &dit_program_text_encode, &dit_program_vae_decode,
};
enum { PROGRAM_COUNT = sizeof programs / sizeof *programs };

dit_status dit_program_find(const char *name, const dit_program **out)
{
    const char *names[PROGRAM_COUNT + 1] = {0};
    for (int i = 0; i < PROGRAM_COUNT; i++) {
        names[i] = programs[i]->name;
        if (strcmp(programs[i]->name, name) == 0) {
            *out = programs[i];
            return DIT_OK;
        }
    }
    return dit_words_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "no program is called \"%s\"", name), name, names);
}

void dit_program_list(void)
{
    for (int i = 0; i < PROGRAM_COUNT; i++) printf("  %-10s %s\n", programs[i]->name, programs[i]->help);
}
