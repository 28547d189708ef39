/* Help: prints the list of verbs, their pages and further topics, and makes manual page and completion from the tables
 * of options. */
#ifndef DIT_SUITE_HELP_H
#define DIT_SUITE_HELP_H

#include "suite/console/cli.h"

typedef struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help; /* one line */
} suite_verb;

/* Every verb, in the order of help; ends with a zeroed row. */
extern const suite_verb suite_verbs[];
/* Returns the verb of a name; NULL when there is none. */
const suite_verb *suite_verb_find(const char *name);
/* Reports a word that is not a verb, names the nearest verb, and returns DIT_EXIT_USAGE. */
int suite_verb_unknown(const char *name, bool json);

/* Returns the version as people read it: "0.9.0 (commit abc1234, dirty)". */
int suite_version_print(bool json);

/* `ditbench help [VERB | TOPIC]`; argv[0] is "help". Returns the exit code. */
int suite_help(int argc, char **argv);

/* Calls `take` with the options and examples of every verb. */
void suite_help_each(void (*take)(const suite_cli_spec *spec, void *context), void *context);
/* Prints the manual page, in the man macros of troff. */
int suite_help_man(void);
/* Prints a completion script for "bash" or "zsh". */
int suite_help_completion(const char *shell);
/* Prints the names that a completion offers, one a line: "workloads", "models", "platforms", "sessions". */
int suite_help_names(const char *kind);

/* One row per exit code. */
typedef struct {
    const char *code, *meaning;
} suite_exit_row;
/* Ends with a zeroed row. */
extern const suite_exit_row suite_exit_codes[];

#endif
