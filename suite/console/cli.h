/* Command line: reads the options of one verb, by a table, into typed values.
 *
 * Every verb understands the common options (--json, --dry-run, -q, -v, --output DIR, --no-color, --help). Options may
 * stand before or after operands, "--name value" and "--name=value" are the same, and '-' and '_' are the same inside a
 * name, so that xDiT's --ulysses_degree works. Answers go to stdout, everything else to stderr.
 */
#ifndef DIT_SUITE_CONSOLE_CLI_H
#define DIT_SUITE_CONSOLE_CLI_H

#include "base/json_writer.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    SUITE_OPTION_FLAG,     /* out: bool *; set to true                                             */
    SUITE_OPTION_INT,      /* out: int64_t *; min..max                                             */
    SUITE_OPTION_NUMBER,   /* out: double *; finite                                                */
    SUITE_OPTION_STRING,   /* out: const char **; points into argv                                 */
    SUITE_OPTION_DURATION, /* out: double *, seconds; "90", "1.5s", "10m", "2h", "500ms"; positive */
    SUITE_OPTION_STRINGS,  /* out: suite_strings *; may be given several times                     */
    SUITE_OPTION_COUNT
} suite_option_kind;

/* One option; a table of them ends with a zeroed row. */
typedef struct {
    const char *name; /* without the dashes            */
    char letter;      /* short form, 0 for none        */
    suite_option_kind kind;
    const char *argument; /* word for help, "N"        */
    const char *help;     /* NULL: not listed             */
    void *out;
    int64_t min, max; /* SUITE_OPTION_INT; 0, 0: any   */
} suite_option;

/* What a verb accepts. */
typedef struct {
    const char *verb;
    const char *operands; /* for the usage line, "WORKLOAD..."; NULL for none */
    const char *purpose;  /* what it does, a few lines                        */
    const char *examples; /* one command a line                               */
    const suite_option *options;
    int min_operands, max_operands; /* max -1: any number                     */
} suite_cli_spec;

/* The common options that were given. Strings point into argv. */
typedef struct {
    bool json, dry_run, quiet, verbose, no_color;
    const char *output;    /* --output, NULL when not given */
    const char **operands; /* NULL-terminated               */
    int operand_count;
} suite_cli;

/* The options that every verb has; a table that ends with a zeroed row. */
const suite_option *suite_cli_common(void);
/* Hands the spec of every later --help to `take` instead of printing it; manual page and completion are made from it.
 * NULL: print again. */
void suite_cli_take_help(void (*take)(const suite_cli_spec *spec, void *context), void *context);
/* True if the words ask for an answer in JSON, even if they are not a valid command line. */
bool suite_cli_asks_for_json(int argc, char **argv);

/* Parses and applies the common options (log level, NO_COLOR). Returns -1 when the verb should go on; otherwise the
 * exit code it should return at once: 0 after --help, DIT_EXIT_USAGE after a bad command line (already reported). */
int suite_cli_parse(const suite_cli_spec *spec, int argc, char **argv, suite_cli *out);
void suite_cli_release(suite_cli *cli);

/* Reports the newest error of the thread, on stdout as {"schema","error":{code,message,where,hint,notes}} with --json,
 * else on stderr, and returns its exit code. */
int suite_cli_fail(const suite_cli *cli, dit_status status);
/* Adds "error", the error document of suite_cli_fail, to a larger one. */
void suite_cli_put_error(dit_json_writer *w, cJSON *parent);
/* Prints the one document of an answer on stdout, indented, with a newline; its first member is "schema":
 * "ditbench.NAME/1", or the document's own. results/schema/answers.md describes them. The caller keeps the document.
 * Errors: DIT_ERR_MEMORY, and then nothing is printed. */
dit_status suite_cli_print_json(const char *name, const cJSON *document);
/* Ends an answer: prints `document` unless a call of `w` had failed, and deletes it in any case. */
dit_status suite_cli_finish_json(dit_json_writer *w, const char *name, cJSON *document);
/* Does suite_cli_finish_json at the end of a verb. Returns `code`; reports a failure and returns its exit code. */
int suite_cli_answer(dit_json_writer *w, const char *name, cJSON *document, int code);
/* Prints what a dry run would start: an array of commands, as suite_single_run gives it. */
dit_status suite_cli_print_commands(const cJSON *commands);
/* Reads seconds from "1.5s", "10m", "500ms" or "90". Errors: DIT_ERR_USAGE. */
dit_status suite_cli_duration(const char *text, double *seconds);

#endif
