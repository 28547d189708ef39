#include "suite/launch/command.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Appends `text` (given away) to a NULL-terminated list. */
static dit_status append(char ***list, int *count, char *text)
{
    char **grown = text ? realloc(*list, sizeof *grown * ((size_t)*count + 2)) : NULL;
    if (!grown) {
        free(text);
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a command line");
    }
    grown[(*count)++] = text;
    grown[*count] = NULL;
    *list = grown;
    return DIT_OK;
}

static char *print_word(const char *format, va_list args)
{
    char *text = NULL;
    return vasprintf(&text, format, args) < 0 ? NULL : text;
}

dit_status suite_command_word(suite_command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = print_word(format, args);
    va_end(args);
    return append(&command->argv, &command->argc, text);
}

dit_status suite_command_env(suite_command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = print_word(format, args);
    va_end(args);
    return append(&command->env, &command->env_count, text);
}

dit_status suite_command_words(suite_command *command, const char *const *words)
{
    for (; *words; words++) DIT_TRY(suite_command_word(command, "%s", *words));
    return DIT_OK;
}

dit_status suite_command_in(suite_command *command, const char *folder)
{
    free(command->folder);
    command->folder = strdup(folder);
    return command->folder ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a command line");
}

static void free_list(char **list)
{
    for (char **item = list; item && *item; item++) free(*item);
    free(list);
}

void suite_command_release(suite_command *command)
{
    free_list(command->argv);
    free_list(command->env);
    free(command->folder);
    *command = (suite_command){0};
}

static void print_quoted(const char *word, FILE *file)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=/.,:@%^";
    if (*word && word[strspn(word, plain)] == '\0') {
        fputs(word, file);
        return;
    }
    fputc('\'', file);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", file);
        else
            fputc(*word, file);
    }
    fputc('\'', file);
}

static void print_assignment(const char *text, FILE *file)
{
    size_t name = strcspn(text, "=") + 1;
    fprintf(file, "%.*s", (int)name, text);
    print_quoted(text + name, file);
}

void suite_command_print(const suite_command *command, FILE *file)
{
    if (command->folder) {
        fputs("cd ", file);
        print_quoted(command->folder, file);
        fputs(" && ", file);
    }
    for (int i = 0; i < command->env_count; i++) {
        print_assignment(command->env[i], file);
        fputc(' ', file);
    }
    for (int i = 0; i < command->argc; i++) {
        if (i) fputc(' ', file);
        print_quoted(command->argv[i], file);
    }
}
