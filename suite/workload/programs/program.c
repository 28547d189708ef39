#include "suite/workload/programs/program.h"

#include <string.h>

static const suite_program *const programs[SUITE_PROGRAM_COUNT + 1] = {
#define PROGRAM_ROW(constant, name) &suite_program_##name,
    SUITE_PROGRAM_LIST(PROGRAM_ROW)
#undef PROGRAM_ROW
};

const suite_program *const *suite_programs(void)
{
    return programs;
}

dit_status suite_program_find(const dit_json *doc, const char *pointer, const char *name, const suite_program **out)
{
    static const char *const names[SUITE_PROGRAM_COUNT + 1] = {
#define PROGRAM_NAME(constant, name) #name,
        SUITE_PROGRAM_LIST(PROGRAM_NAME)
#undef PROGRAM_NAME
    };
    for (int i = 0; programs[i]; i++)
        if (strcmp(programs[i]->name, name) == 0) return *out = programs[i], DIT_OK;
    return dit_json_fail_word(doc, pointer, "program", name, names);
}

const suite_program *suite_program_of_case(const cJSON *document)
{
    const char *name = dit_json_text_or(document, "program", programs[0]->name);
    for (int i = 0; programs[i]; i++)
        if (strcmp(programs[i]->name, name) == 0) return programs[i];
    return programs[0];
}

const suite_program *suite_program_reading(int readers)
{
    for (int i = 0; programs[i]; i++)
        if (programs[i]->reads & readers) return programs[i];
    return programs[0];
}
