/* Error place: reads where in a file an error lies from its message "PATH:LINE:COLUMN: POINTER: what". */
#ifndef DIT_SUITE_ERROR_PLACE_H
#define DIT_SUITE_ERROR_PLACE_H

#include "base/json_writer.h"

typedef struct {
    char file[512], pointer[512];
    int line, column; /* 0 when the error has no place */
    const char *what; /* the message without the place */
} suite_place;

/* Splits `message`; a message without a place gives an empty file and the whole text as `what`. */
void suite_place_split(const char *message, suite_place *out);
/* Adds "where": {"file","line","column","pointer"} to an error document when `message` names a place. */
void suite_place_put(dit_json_writer *w, cJSON *error, const char *message);

#endif
