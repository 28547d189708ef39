/* The manual page, made of the tables behind --help. */
#include "suite/help.h"

#include "base/label.h"

#include "version.h"

#include <stdio.h>
#include <string.h>

/* Text of troff: backslashes and dashes are escaped, a point or quote at the start of a line is no request, and a line may
 * end behind a bar. */
static void print_text(const char *text)
{
    bool start = true;
    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\'')) fputs("\\&", stdout);
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '|') /* a long list of choices may be broken there */
            fputs("|\\:", stdout);
        else
            putchar(*text);
        start = *text == '\n';
    }
}

static void print_line(const char *request, const char *text)
{
    fputs(request, stdout);
    print_text(text);
    putchar('\n');
}

static void print_option(const suite_option *option)
{
    char form[96];
    if (!option->help) return;
    snprintf(form, sizeof form, "%s%.1s%s--%s%s%s", option->letter ? "-" : "",
             option->letter ? (char[]){option->letter, 0} : "", option->letter ? ", " : "", option->name,
             option->argument ? " " : "", option->argument ? option->argument : "");
    puts(".TP");
    print_line(".B ", form);
    print_line("", option->help);
}

static void print_verb(const suite_cli_spec *spec, void *context)
{
    char usage[256];
    (void)context;
    snprintf(usage, sizeof usage, "ditbench %s [OPTION]...%s%s", spec->verb, spec->operands ? " " : "",
             spec->operands ? spec->operands : "");
    print_line(".SS ", usage);
    print_line("", spec->purpose);
    for (const suite_option *option = spec->options; option && option->name; option++) print_option(option);
    if (!spec->examples) return;
    puts(".PP\nExamples:\n.PP\n.nf\n.RS");
    print_line("", spec->examples);
    puts(".RE\n.fi");
}

static void print_labels(void)
{
    puts(".SH LABELS");
    puts("The label of a case, such as \"flux.1\\-dev 1024x1024 u2 r2 pp4 M4 W0\", names the model, the size, the mesh "
         "of\n"
         "ranks and its settings. A part that is 1 is not written.");
    for (int part = 0; part < DIT_LABEL_COUNT; part++) {
        dit_label_info info = dit_label_get(part);
        char both[96];
        snprintf(both, sizeof both, "%s  (%s)", info.example, info.key);
        puts(".TP");
        print_line(".B ", both);
        print_line("", info.meaning);
    }
}

static void print_environment(void)
{
    static const struct {
        const char *name, *meaning;
    } rows[] = {{"DITBENCH_RESULTS", "The folder of sessions, instead of results/local."},
                {"DITBENCH_WORKLOADS", "The folder of workloads and data files."},
                {"NO_COLOR", "No colour and no moving progress bar, as --no-color."}};
    puts(".SH ENVIRONMENT");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        puts(".TP");
        print_line(".B ", rows[i].name);
        print_line("", rows[i].meaning);
    }
}

int suite_help_man(void)
{
    printf(".TH DITBENCH 1 \"\" \"ditbench %s\" \"User Commands\"\n", DITBENCH_RELEASE);
    puts(".ad l"); /* a long list of choices fills a line by itself, which cannot be stretched */
    puts(".SH NAME\nditbench \\- measures and simulates parallel inference of diffusion transformers");
    puts(".SH SYNOPSIS\n.B ditbench\n.I VERB\n[OPTION]... [OPERAND]...");
    puts(".SH DESCRIPTION\n"
         "Runs declared workloads across models, resolutions and parallel configurations, records latency,\n"
         "memory and communication as JSON, and draws the figures. Every measured number comes from a run whose result "
         "was\n"
         "checked.");
    for (const suite_verb *row = suite_verbs; row->name; row++) {
        puts(".TP");
        print_line(".B ", row->name);
        print_line("", row->help);
    }
    puts(".SH COMMON OPTIONS\nEvery verb takes these options, before or after its operands.");
    for (const suite_option *option = suite_cli_common(); option->name; option++) print_option(option);
    puts(".SH VERBS");
    suite_help_each(print_verb, NULL);
    print_labels();
    puts(".SH EXIT STATUS");
    for (const suite_exit_row *row = suite_exit_codes; row->code; row++) {
        puts(".TP");
        print_line(".B ", row->code);
        print_line("", row->meaning);
    }
    print_environment();
    puts(".SH SEE ALSO\n.BR mpirun (1),\n.BR gnuplot (1)\n.PP\nThe README and docs/glossary.md are installed under "
         "share/doc/ditbench.");
    return DIT_EXIT_OK;
}
