/* ditbench: picks the verb. Everything else is in suite/verbs/ and suite/help.c. */
#include "suite/help.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_any(const char *word, const char *const *words)
{
    while (*words && strcmp(*words, word) != 0) words++;
    return *words;
}

/* Options that stand before the verb are moved behind it: `ditbench --verbose doctor`. */
static void put_verb_first(int argc, char **argv)
{
    int verb = 1;
    while (verb < argc && argv[verb][0] == '-') verb++;
    if (verb == argc) return;
    char *word = argv[verb];
    memmove(argv + 2, argv + 1, (size_t)(verb - 1) * sizeof *argv);
    argv[1] = word;
}

int main(int argc, char **argv)
{
    static const char *const version[] = {"--version", "-V", NULL}, *const help[] = {"help", "--help", "-h", NULL};
    bool json = suite_cli_asks_for_json(argc, argv);
    char help_word[] = "help", *alone[] = {help_word, NULL};
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error like a full disk */
    put_verb_first(argc, argv);
    if (argc < 2) {
        suite_help(1, alone);
        return DIT_EXIT_USAGE;
    }
    const suite_verb *verb = suite_verb_find(argv[1]);
    if (verb) return verb->run(argc - 1, argv + 1);
    if (strcmp(argv[1], "help") == 0) return suite_help(argc - 1, argv + 1);
    for (int i = 1; i < argc; i++) {
        if (is_any(argv[i], version)) return suite_version_print(json);
        if (is_any(argv[i], help)) return suite_help(argc - 1, argv + 1);
    }
    return suite_verb_unknown(argv[1], json);
}
