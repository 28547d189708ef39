#include "base/outcome.h"

#include <string.h>

static const char *const names[DIT_OUTCOME_COUNT + 1] = {"ok", "failed", "timeout", "oom", "skipped", "invalid"};

const char *dit_outcome_name(dit_outcome outcome)
{
    return names[outcome];
}

const char *const *dit_outcome_names(void)
{
    return names;
}

bool dit_outcome_from_name(const char *name, dit_outcome *out)
{
    for (int i = 0; i < DIT_OUTCOME_COUNT; i++) {
        if (strcmp(names[i], name) == 0) return *out = (dit_outcome)i, true;
    }
    return false;
}
