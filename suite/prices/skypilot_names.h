/* SkyPilot names: what the names of a catalogue stand for: a file that whoever imports it writes. */
#ifndef DIT_SUITE_PRICES_SKYPILOT_NAMES_H
#define DIT_SUITE_PRICES_SKYPILOT_NAMES_H

#include "base/json.h"

/* The whole table. Texts lie in the document; those that it lacks are "". */
typedef struct {
    const char *provider, *currency, *kind, *repository, *path;
    int most_devices;        /* of an instance */
    double floor_per_device; /* what an auction asks at least; 0: none */
    const cJSON *accelerators;
} suite_skypilot_names;

/* Reads the document. Errors: DIT_ERR_JSON_*. */
dit_status suite_skypilot_names_read(const dit_json *doc, suite_skypilot_names *out);

/* What a row's name stands for. */
typedef struct {
    const char *accelerator; /* NULL: nothing; then `why` says why */
    const char *platform;    /* ""; else the platform that such an instance is */
    char doubt[224];         /* "" */
    char why[160];
    bool memory; /* it is the row's memory that fits none */
} suite_skypilot_device;

/* Looks up a name. `instance`: the row's type; `memory_gib`: of a device as the row says, 0: it does not. */
void suite_skypilot_names_find(const suite_skypilot_names *names, const char *name, const char *instance, int count,
                               double memory_gib, suite_skypilot_device *out);

#endif
