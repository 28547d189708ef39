#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *name;
    int exit_code;
    const char *text;
} status_row;

static const status_row status_rows[DIT_STATUS_COUNT] = {
#define STATUS_ROW(name, code, exit, text) {code, exit, text},
    DIT_STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};

static const status_row *row_of(dit_status status)
{
    return &status_rows[(unsigned)status < DIT_STATUS_COUNT ? status : DIT_ERR_INTERNAL];
}

const char *dit_status_name(dit_status status)
{
    return row_of(status)->name;
}
const char *dit_status_text(dit_status status)
{
    return row_of(status)->text;
}
int dit_status_exit_code(dit_status status)
{
    return row_of(status)->exit_code;
}

bool dit_status_from_name(const char *name, dit_status *out)
{
    for (int i = 0; i < DIT_STATUS_COUNT; i++) {
        if (strcmp(status_rows[i].name, name) == 0) {
            *out = (dit_status)i;
            return true;
        }
    }
    return false;
}

static _Thread_local struct {
    dit_error view;
    char message[2048];
    char hint[512];
    char notes[2048];
} last;

const dit_error *dit_error_last(void)
{
    last.view.message = last.message;
    last.view.hint = last.hint;
    last.view.notes = last.notes;
    if (!last.view.file) last.view.file = "";
    return &last.view;
}

/* Replaces control characters, which must not reach a terminal: messages quote names out of hostile files. */
static void defuse(char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < 0x20 && *text != '\n') || *text == 0x7F) *text = '?';
}

dit_status dit_error_raise(const char *file, int line, dit_status status, const char *format, ...)
{
    va_list args;
    char message[sizeof last.message]; /* an argument may point into the previous error */
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    defuse(message);
    memcpy(last.message, message, sizeof message);
    last.hint[0] = last.notes[0] = '\0';
    last.view.status = status;
    last.view.file = file;
    last.view.line = line;
    return status;
}

dit_status dit_error_hint(dit_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last.hint, sizeof last.hint, format, args);
    va_end(args);
    return status;
}

dit_status dit_error_note(dit_status status, const char *format, ...)
{
    size_t used = strlen(last.notes);
    va_list args;
    if (used && used + 1 < sizeof last.notes) last.notes[used++] = '\n';
    va_start(args, format);
    vsnprintf(last.notes + used, sizeof last.notes - used, format, args);
    va_end(args);
    return status;
}

void dit_error_clear(void)
{
    memset(&last, 0, sizeof last);
}

void dit_error_print(const char *program)
{
    const dit_error *error = dit_error_last();
    fprintf(stderr, "%s: %s: %s\n", program, dit_status_name(error->status), error->message);
    for (const char *note = error->notes; *note;) {
        size_t length = strcspn(note, "\n");
        fprintf(stderr, "  while %.*s\n", (int)length, note);
        note += length + (note[length] == '\n');
    }
    if (error->hint[0]) fprintf(stderr, "  hint: %s\n", error->hint);
}
