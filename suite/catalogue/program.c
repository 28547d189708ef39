#include "suite/catalogue/program.h"

#include "suite/catalogue/parameter.h"

#include <string.h>

const suite_program suite_programs[] = {
    {"denoise", "all denoising steps of a model, from noise to latents", SUITE_READS_DENOISE},
    {"vae_decode", "the decoder of a model's VAE, from latents to pixels", SUITE_READS_DECODE},
    {"attention", "one attention layer, forward, without a model", SUITE_READS_ATTEND},
    {NULL, NULL, 0},
};

dit_status suite_program_find(const dit_json *doc, const char *pointer, const char *name, const suite_program **out)
{
    const char *words[sizeof suite_programs / sizeof *suite_programs] = {0};
    for (int i = 0; suite_programs[i].name; i++) {
        words[i] = suite_programs[i].name;
        if (strcmp(suite_programs[i].name, name) == 0) return *out = &suite_programs[i], DIT_OK;
    }
    return dit_json_fail_word(doc, pointer, "program", name, words);
}
