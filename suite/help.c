#include "suite/help.h"

#include "base/json_writer.h"
#include "base/label.h"
#include "base/words.h"
#include "suite/verbs/verbs.h"
#include "version.h"

#include <stdio.h>
#include <string.h>

const suite_verb suite_verbs[] = {
#define VERB_ROW(name, help) {#name, suite_verb_##name, help},
    SUITE_VERB_LIST(VERB_ROW)
#undef VERB_ROW
        {NULL, NULL, NULL},
};

const suite_exit_row suite_exit_codes[] = {
    {"0", "ok"},
    {"1", "a claim failed"},
    {"2", "bad usage or an invalid workload"},
    {"3", "a case failed or timed out"},
    {"4", "this machine lacks something that is needed"},
    {"5", "a claim or a comparison is undecided, or the machine did not hold still"},
    {"6", "wrong numbers, or a damaged file"},
    {"77", "everything was skipped"},
    {"130", "interrupted by Ctrl-C; the state is saved"},
    {"143", "ended by SIGTERM; the state is saved"},
    {NULL, NULL},
};

/* ---- verbs ------------------------------------------------------------------------------------------------------- */

const suite_verb *suite_verb_find(const char *name)
{
    for (const suite_verb *row = suite_verbs; row->name; row++)
        if (strcmp(row->name, name) == 0) return row;
    return NULL;
}

static const char *nearest_verb(const char *name)
{
    const char *words[64] = {"help"};
    int count = 1;
    for (const suite_verb *row = suite_verbs; row->name && count < 63; row++) words[count++] = row->name;
    return dit_nearest_word(name, words);
}

int suite_verb_unknown(const char *name, bool json)
{
    const suite_cli cli = {.json = json};
    const char *near = nearest_verb(name);
    bool option = name[0] == '-';
    dit_status st =
        DIT_FAIL(DIT_ERR_USAGE, option ? "'%s' is not a verb, and no verb follows it" : "unknown verb '%s'", name);
    if (near && !option)
        dit_error_hint(st, "did you mean `ditbench %s`?", near);
    else
        dit_error_hint(
            st, option ? "write ditbench VERB %s; `ditbench help` lists the verbs" : "`ditbench help` lists the verbs",
            name);
    return suite_cli_fail(&cli, st);
}

void suite_help_each(void (*take)(const suite_cli_spec *spec, void *context), void *context)
{
    char option[] = "--help";
    suite_cli_take_help(take, context);
    for (const suite_verb *row = suite_verbs; row->name; row++) {
        char name[32], *arguments[] = {name, option, NULL};
        snprintf(name, sizeof name, "%s", row->name);
        row->run(2, arguments);
    }
    suite_cli_take_help(NULL, NULL);
}

/* ---- the version ------------------------------------------------------------------------------------------------- */

static const char *suite_version_text(void)
{
    return DITBENCH_RELEASE " (commit " DITBENCH_COMMIT ")";
}

int suite_version_print(bool json)
{
    dit_json_writer w = {0};
    if (!json) return printf("ditbench %s\n", suite_version_text()) < 0 ? DIT_EXIT_ENVIRONMENT : DIT_EXIT_OK;
    cJSON *document = dit_json_new_object(&w);
    dit_json_put_string(&w, document, "version", DITBENCH_RELEASE);
    dit_json_put_string(&w, document, "commit", DITBENCH_VERSION);
    return suite_cli_answer(&w, "version", document, DIT_EXIT_OK);
}

/* ---- topics ------------------------------------------------------------------------------------------------------ */

static int answer_labels(void)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w), *list = dit_json_put_array(&w, document, "labels");
    for (int part = 0; part < DIT_LABEL_COUNT; part++) {
        dit_label_info info = dit_label_get(part);
        cJSON *row = dit_json_put_object(&w, list, NULL);
        dit_json_put_string(&w, row, "prefix", info.prefix);
        dit_json_put_string(&w, row, "parameter", info.key);
        dit_json_put_string(&w, row, "example", info.example);
        dit_json_put_string(&w, row, "meaning", info.meaning);
    }
    return suite_cli_answer(&w, "help-labels", document, DIT_EXIT_OK);
}

static int print_labels(bool json)
{
    if (json) return answer_labels();
    printf(
        "A label such as \"flux.1-dev 1024x1024 u2 r2 pp4 M4 W0\" names the model, the size, the mesh of ranks and "
        "its\n"
        "settings. The product of the degrees is the number of ranks. A part that is 1 is not written; \"1\" alone is\n"
        "one rank, and \"oracle\" is one rank that emulates an approximate method.\n\n");
    printf("  %-7s  %-22s %s\n", "part", "parameter", "meaning");
    for (int part = 0; part < DIT_LABEL_COUNT; part++) {
        dit_label_info info = dit_label_get(part);
        printf("  %-7s  %-22s %s\n", info.example, info.key, info.meaning);
    }
    printf("\ndocs/glossary.md explains the other words: cell, case, oracle, scope, tag, evidence, ...\n");
    return DIT_EXIT_OK;
}

static void add_exit_codes(dit_json_writer *w, cJSON *document)
{
    cJSON *codes = dit_json_put_object(w, document, "exit_codes");
    for (const suite_exit_row *row = suite_exit_codes; row->code; row++)
        dit_json_put_string(w, codes, row->code, row->meaning);
}

static int print_exit_codes(bool json)
{
    dit_json_writer w = {0};
    cJSON *document = json ? dit_json_new_object(&w) : NULL;
    if (document) add_exit_codes(&w, document);
    if (json) return suite_cli_answer(&w, "help-exit-codes", document, DIT_EXIT_OK);
    for (const suite_exit_row *row = suite_exit_codes; row->code; row++)
        printf("  %-4s  %s\n", row->code, row->meaning);
    return DIT_EXIT_OK;
}

static int print_man(bool json)
{
    (void)json;
    return suite_help_man();
}

static const struct {
    const char *name, *other; /* other: a second name, not listed */
    const char *help;         /* NULL: not listed */
    int (*print)(bool json);
} topics[] = {
    {"labels", "mesh", "what u2 r2 pp4 M4 W0 in the label of a case means", print_labels},
    {"glossary", "labels", NULL, print_labels},
    {"exit-codes", "exit", "the exit codes of every verb", print_exit_codes},
    {"--man", "man", NULL, print_man},
};
enum { TOPIC_COUNT = sizeof topics / sizeof *topics };

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static int answer_list(void)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w), *verbs = dit_json_put_array(&w, document, "verbs");
    for (const suite_verb *row = suite_verbs; row->name; row++) {
        cJSON *item = dit_json_put_object(&w, verbs, NULL);
        dit_json_put_string(&w, item, "verb", row->name);
        dit_json_put_string(&w, item, "help", row->help);
    }
    add_exit_codes(&w, document);
    return suite_cli_answer(&w, "help", document, DIT_EXIT_OK);
}

static void print_list(void)
{
    printf("usage: ditbench VERB [OPTION]... [OPERAND]...\n\n");
    for (const suite_verb *row = suite_verbs; row->name; row++) printf("  %-10s %s\n", row->name, row->help);
    printf("  %-10s %s\n", "help", "show this list, or the options and examples of one verb");
    printf("\n`ditbench help VERB` shows the options of a verb, with examples. Every verb takes --json, --dry-run, -q, "
           "-v and\n"
           "--output. Further pages:\n");
    for (int i = 0; i < TOPIC_COUNT; i++)
        if (topics[i].help) printf("  help %-10s %s\n", topics[i].name, topics[i].help);
    printf("\nexit codes:\n");
    print_exit_codes(false);
}

/* ---- help -------------------------------------------------------------------------------------------------------- */

static int unknown_topic(const char *name, bool json)
{
    const suite_cli cli = {.json = json};
    const char *near = nearest_verb(name);
    dit_status st = DIT_FAIL(DIT_ERR_USAGE, "no help on '%s'", name);
    if (near)
        dit_error_hint(st, "did you mean `ditbench help %s`?", near);
    else
        dit_error_hint(st, "`ditbench help` lists the verbs and the further pages");
    return suite_cli_fail(&cli, st);
}

static int help_on(char *name, bool json)
{
    char option[] = "--help", as_json[] = "--json", *arguments[] = {name, option, json ? as_json : NULL, NULL};
    const suite_verb *row = suite_verb_find(name);
    if (row) return row->run(json ? 3 : 2, arguments);
    for (int i = 0; i < TOPIC_COUNT; i++)
        if (strcmp(topics[i].name, name) == 0 || strcmp(topics[i].other, name) == 0) return topics[i].print(json);
    return unknown_topic(name, json);
}

static bool is_option(const char *word, const char *name, const char *letter)
{
    return strcmp(word, name) == 0 || strcmp(word, letter) == 0;
}

int suite_help(int argc, char **argv)
{
    bool json = suite_cli_asks_for_json(argc, argv);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--completion") == 0) return suite_help_completion(i + 1 < argc ? argv[i + 1] : "bash");
        if (strcmp(argv[i], "--names") == 0) return suite_help_names(i + 1 < argc ? argv[i + 1] : "workloads");
        bool common = strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "--no-color") == 0 ||
                      is_option(argv[i], "--help", "-h") || is_option(argv[i], "--verbose", "-v") ||
                      is_option(argv[i], "--quiet", "-q") || strcmp(argv[i], "help") == 0;
        if (!common) return help_on(argv[i], json);
    }
    if (json) return answer_list();
    print_list();
    return DIT_EXIT_OK;
}
