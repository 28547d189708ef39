/* ditbench: picks the verb. Everything else is in suite/verbs/. */
#include "base/json.h"
#include "suite/verbs/verbs.h"
#include "version.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} verb_row;

static const verb_row verbs[] = {
#define VERB_ROW(name, help) {#name, suite_verb_##name, help},
    SUITE_VERB_LIST(VERB_ROW)
#undef VERB_ROW
        {NULL, NULL, NULL},
};

static const char help_text[] =
    "\n"
    "`ditbench help VERB` tells the options and shows examples. Every verb takes --json, --dry-run, -q, -v, --output.\n"
    "\n"
    "exit codes: 0 ok; 1 gate or claim failed; 2 usage or invalid workload; 3 a case failed or timed out;\n"
    "  4 environment unusable; 5 undecided or unstable; 6 verification or integrity failure; 77 all skipped;\n"
    "  130/143 interrupted, state saved\n";

static int print_verbs(void)
{
    printf("usage: ditbench VERB [OPTION]... [OPERAND]...\n\n");
    for (const verb_row *row = verbs; row->name; row++) printf("  %-10s %s\n", row->name, row->help);
    printf("  %-10s %s\n", "help", "show this list, or the options and examples of one verb");
    fputs(help_text, stdout);
    return DIT_EXIT_OK;
}

static const verb_row *find_verb(const char *name)
{
    for (const verb_row *row = verbs; row->name; row++) {
        if (strcmp(row->name, name) == 0) return row;
    }
    return NULL;
}

static int unknown_verb(const char *name)
{
    const char *words[sizeof verbs / sizeof *verbs + 1];
    int count = 0;
    for (const verb_row *row = verbs; row->name; row++) words[count++] = row->name;
    words[count++] = "help";
    words[count] = NULL;
    const char *near = dit_nearest_word(name, words);
    dit_status st = DIT_FAIL(DIT_ERR_USAGE, "unknown verb '%s'", name);
    if (near)
        dit_error_hint(st, "did you mean `ditbench %s`?", near);
    else
        dit_error_hint(st, "`ditbench help` lists the verbs");
    dit_error_print("ditbench");
    return DIT_EXIT_USAGE;
}

static int help_for(char *name)
{
    char option[] = "--help", *arguments[] = {name, option, NULL};
    const verb_row *row = find_verb(name);
    return row ? row->run(2, arguments) : unknown_verb(name);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_verbs();
        return DIT_EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0) return printf("ditbench %s\n", DITBENCH_VERSION) < 0 ? DIT_EXIT_ENVIRONMENT : 0;
    if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return argc > 2 ? help_for(argv[2]) : print_verbs();
    const verb_row *row = find_verb(word);
    return row ? row->run(argc - 1, argv + 1) : unknown_verb(word);
}
