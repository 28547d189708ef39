/* Completion scripts for bash and zsh, made of the tables behind --help. Names of workloads, models, platforms and
 * sessions are asked of the program when they are completed. */
#include "suite/help.h"

#include "suite/catalogue/catalogue.h"
#include "suite/paths.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void print_options(const suite_option *options)
{
    for (; options && options->name; options++) {
        if (!options->help) continue;
        printf(" --%s", options->name);
        if (options->letter) printf(" -%c", options->letter);
    }
}

static void print_verb_options(const suite_cli_spec *spec, void *context)
{
    (void)context;
    printf("        %s) options='", spec->verb);
    print_options(spec->options);
    printf("' ;;\n");
}

/* Options that are followed by a value, so that no verb's operand is offered there. */
static void print_valued(const suite_cli_spec *spec, void *context)
{
    bool any = false;
    (void)context;
    for (const suite_option *option = spec->options; option && option->name; option++) {
        if (!option->help || option->kind == SUITE_OPTION_FLAG) continue;
        printf("%s%s:--%s", any ? "|" : "        ", spec->verb, option->name);
        any = true;
    }
    if (any) printf(") return 0 ;;\n");
}

static void print_bash(void)
{
    printf("# bash completion of ditbench; made by `ditbench help --completion bash`.\n"
           "_ditbench_names() { # names of one kind, as `ditbench list KIND` knows them\n"
           "    ditbench help --names \"$1\" 2>/dev/null\n"
           "}\n"
           "_ditbench() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb='' options='' i\n"
           "    COMPREPLY=()\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        case ${COMP_WORDS[i]} in -*) ;; *) verb=${COMP_WORDS[i]}; break ;; esac\n"
           "    done\n"
           "    if [ -z \"$verb\" ]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '");
    for (const suite_verb *row = suite_verbs; row->name; row++) printf("%s ", row->name);
    printf("help --version --help' -- \"$word\")\n"
           "        return 0\n"
           "    fi\n"
           "    case $verb:$before in\n"
           "        *:--output | *:-o | *:--engine | *:--points | *:--calibration | *:--plan | *:--raw | *:--inputs)\n"
           "            mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
           "            return 0 ;;\n"
           "        *:--model) mapfile -t COMPREPLY < <(compgen -W \"$(_ditbench_names models)\" -- \"$word\"); return "
           "0 ;;\n"
           "        *:--platform | *:--xml)\n"
           "            mapfile -t COMPREPLY < <(compgen -W \"$(_ditbench_names platforms)\" -- \"$word\")\n"
           "            return 0 ;;\n");
    suite_help_each(print_valued, NULL);
    printf("    esac\n"
           "    case $verb in\n");
    suite_help_each(print_verb_options, NULL);
    printf("    esac\n"
           "    case $verb:$word in\n"
           "        *:-*) mapfile -t COMPREPLY < <(compgen -W \"$options");
    print_options(suite_cli_common());
    printf("\" -- \"$word\") ;;\n"
           "        run:* | expand:* | plan:* | validate:*)\n"
           "            mapfile -t COMPREPLY < <(compgen -W \"$(_ditbench_names workloads)\" -- \"$word\"; compgen -f "
           "-- \"$word\") ;;\n"
           "        show:* | report:* | resume:* | status:* | verify:*)\n"
           "            mapfile -t COMPREPLY < <(compgen -W \"latest $(_ditbench_names sessions)\" -- \"$word\"; "
           "compgen -d -- \"$word\") ;;\n"
           "        list:*)\n"
           "            mapfile -t COMPREPLY < <(compgen -W 'models methods workloads platforms accelerators vaes "
           "sessions' -- \"$word\") ;;\n"
           "        help:*) mapfile -t COMPREPLY < <(compgen -W '");
    for (const suite_verb *row = suite_verbs; row->name; row++) printf("%s ", row->name);
    printf("labels exit-codes' -- \"$word\") ;;\n"
           "        *) mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n"
           "    esac\n"
           "}\n"
           "complete -o filenames -F _ditbench ditbench\n");
}

/* zsh runs the functions of bash. */
static void print_zsh(void)
{
    printf("#compdef ditbench\n"
           "# zsh completion of ditbench; made by `ditbench help --completion zsh`.\n"
           "autoload -U +X bashcompinit && bashcompinit\n");
    print_bash();
}

static void print_sessions(void)
{
    char root[SUITE_PATH], journal[SUITE_PATH];
    DIR *folder = suite_session_root(root) == DIT_OK ? opendir(root) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        bool fits = suite_path(journal, "%s/%s/journal.jsonl", root, entry->d_name) == DIT_OK;
        if (fits && entry->d_name[0] != '.' && access(journal, F_OK) == 0) puts(entry->d_name);
    }
    if (folder) closedir(folder);
}

int suite_help_names(const char *kind)
{
    char **names;
    const suite_cli cli = {0};
    if (strcmp(kind, "sessions") == 0) return print_sessions(), DIT_EXIT_OK;
    dit_status st = suite_catalogue_names(kind, &names);
    if (st != DIT_OK) return suite_cli_fail(&cli, st);
    for (char **name = names; *name; name++) puts(*name);
    suite_names_free(names);
    return DIT_EXIT_OK;
}

int suite_help_completion(const char *shell)
{
    static const char *const shells[] = {"bash", "zsh", NULL};
    if (strcmp(shell, shells[0]) == 0) return print_bash(), DIT_EXIT_OK;
    if (strcmp(shell, shells[1]) == 0) return print_zsh(), DIT_EXIT_OK;
    const suite_cli cli = {0};
    dit_status st = DIT_FAIL(DIT_ERR_USAGE, "there is no completion for '%s'", shell);
    return suite_cli_fail(&cli, dit_error_hint(st, "it is made for bash and zsh"));
}
