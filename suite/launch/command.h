/* Command: collects the words and the environment of a process to start, and prints them as a line for a shell. */
#ifndef DIT_SUITE_LAUNCH_COMMAND_H
#define DIT_SUITE_LAUNCH_COMMAND_H

#include "base/status.h"
#include <stdio.h>

/* release accepts a zeroed one. Both lists end with NULL. */
typedef struct {
    char **argv, **env;
    int argc, env_count;
    char *folder; /* where it is started; NULL: here */
} suite_command;

/* Append one word (printf), one "NAME=VALUE" (printf), or several words (NULL-terminated). Errors: DIT_ERR_MEMORY. */
dit_status suite_command_word(suite_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
dit_status suite_command_env(suite_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
dit_status suite_command_words(suite_command *command, const char *const *words);
/* Sets the folder in which the process starts. Errors: DIT_ERR_MEMORY. */
dit_status suite_command_in(suite_command *command, const char *folder);
void suite_command_release(suite_command *command);
/* "NAME=VALUE ... word word", behind "cd FOLDER && " where it has a folder, quoted for a POSIX shell, no newline. */
void suite_command_print(const suite_command *command, FILE *file);

#endif
