#include "suite/console/cli.h"

#include "base/log.h"
#include "base/words.h"
#include "suite/error_place.h"
#include "suite/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The options of every verb, for help; suite_cli_parse gives them a place to write to. */
static const suite_option common_options[] = {
    {"json", 0, SUITE_OPTION_FLAG, NULL, "print the answer as one JSON document on stdout", NULL, 0, 0},
    {"dry-run", 'n', SUITE_OPTION_FLAG, NULL, "say what would be done, and change nothing", NULL, 0, 0},
    {"output", 'o', SUITE_OPTION_STRING, "DIR", "write there instead of the usual place", NULL, 0, 0},
    {"quiet", 'q', SUITE_OPTION_FLAG, NULL, "print errors only", NULL, 0, 0},
    {"verbose", 'v', SUITE_OPTION_FLAG, NULL, "print more messages", NULL, 0, 0},
    {"no-color", 0, SUITE_OPTION_FLAG, NULL, "no colour and no moving progress bar (as NO_COLOR, CI, TERM=dumb)", NULL,
     0, 0},
    {"help", 'h', SUITE_OPTION_FLAG, NULL, "print this text", NULL, 0, 0},
    {0},
};
enum { COMMON_COUNT = sizeof common_options / sizeof *common_options };

static void print_option(const suite_option *option)
{
    char form[64];
    int used = 0;
    if (option->letter) used = snprintf(form, sizeof form, "-%c, ", option->letter);
    snprintf(form + used, sizeof form - (size_t)used, "--%s%s%s", option->name, option->argument ? " " : "",
             option->argument ? option->argument : "");
    printf("  %-26s %s\n", form, option->help);
}

static void print_indented(const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        printf("  %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

/* Verbs whose answers name cases by their labels. */
static bool shows_labels(const char *verb)
{
    static const char *const verbs[] = {"run", "resume", "show", "expand", "plan", "explain", "report", NULL};
    const char *const *one = verbs;
    while (*one && strcmp(*one, verb) != 0) one++;
    return *one;
}

static void print_help(const suite_cli_spec *spec)
{
    printf("usage: ditbench %s [OPTION]...%s%s\n\n%s\n", spec->verb, spec->operands ? " " : "",
           spec->operands ? spec->operands : "", spec->purpose);
    printf("\noptions:\n");
    for (const suite_option *option = spec->options; option && option->name; option++)
        if (option->help) print_option(option);
    for (const suite_option *option = common_options; option->name; option++) print_option(option);
    if (!spec->examples) return;
    printf("\nexamples:\n");
    print_indented(spec->examples);
    if (shows_labels(spec->verb)) printf("\n`ditbench help labels` explains labels such as u2 r2 pp4 M4 W0.\n");
}

static void add_options(dit_json_writer *w, cJSON *list, const suite_option *options)
{
    for (const suite_option *option = options; option && option->name; option++) {
        char letter[2] = {option->letter, '\0'};
        if (!option->help) continue;
        cJSON *row = dit_json_put_object(w, list, NULL);
        dit_json_put_string(w, row, "name", option->name);
        if (option->letter) dit_json_put_string(w, row, "letter", letter);
        dit_json_put_string(w, row, "argument", option->argument);
        dit_json_put_string(w, row, "help", option->help);
    }
}

/* Of a verb; an option that two tables have is in both. */
static int answer_help(const suite_cli_spec *spec)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w);
    dit_json_put_string(&w, document, "verb", spec->verb);
    dit_json_put_string(&w, document, "operands", spec->operands);
    dit_json_put_string(&w, document, "purpose", spec->purpose);
    add_options(&w, dit_json_put_array(&w, document, "options"), spec->options);
    add_options(&w, dit_json_put_array(&w, document, "common_options"), common_options);
    dit_json_put_string(&w, document, "examples", spec->examples);
    return suite_cli_answer(&w, "help-verb", document, DIT_EXIT_OK);
}

const suite_option *suite_cli_common(void)
{
    return common_options;
}

static struct {
    void (*take)(const suite_cli_spec *spec, void *context);
    void *context;
} help_taker;

void suite_cli_take_help(void (*take)(const suite_cli_spec *spec, void *context), void *context)
{
    help_taker.take = take;
    help_taker.context = context;
}

static void give_help(const suite_cli_spec *spec, bool json)
{
    if (help_taker.take)
        help_taker.take(spec, help_taker.context);
    else if (json)
        answer_help(spec);
    else
        print_help(spec);
}

bool suite_cli_asks_for_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0) return true;
    return false;
}

/* True when `given` (up to `length` bytes) names `name`; '-' and '_' are equal. */
static bool same_name(const char *given, size_t length, const char *name)
{
    if (strlen(name) != length) return false;
    for (size_t i = 0; i < length; i++) {
        char a = given[i] == '_' ? '-' : given[i], b = name[i] == '_' ? '-' : name[i];
        if (a != b) return false;
    }
    return true;
}

static const suite_option *find_long(const suite_option *table, const char *given, size_t length)
{
    for (; table && table->name; table++) {
        if (same_name(given, length, table->name)) return table;
    }
    return NULL;
}

static const suite_option *find_short(const suite_option *table, char letter)
{
    for (; table && table->name; table++) {
        if (table->letter == letter) return table;
    }
    return NULL;
}

static dit_status unknown_option(const suite_option *own, const suite_option *common, const char *given)
{
    enum { MOST = 255 };
    const char *words[MOST + 1];
    char wanted[64];
    int count = 0;
    const suite_option *tables[2] = {own, common};
    for (int t = 0; t < 2; t++) {
        for (const suite_option *row = tables[t]; row && row->name && count < MOST; row++) words[count++] = row->name;
    }
    words[count] = NULL;
    snprintf(wanted, sizeof wanted, "%.*s", (int)strcspn(given, "="), given);
    const char *near = dit_nearest_word(wanted, words);
    dit_status st = DIT_FAIL(DIT_ERR_USAGE, "unknown option --%s", wanted);
    return near ? dit_error_hint(st, "did you mean --%s?", near) : st;
}

dit_status suite_cli_duration(const char *text, double *seconds)
{
    static const struct {
        const char *suffix;
        double factor;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}, {"h", 3600}};
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].suffix) != 0) continue;
        *seconds = value * units[i].factor;
        if (*seconds > 0 && *seconds < 1e9) return DIT_OK;
        break;
    }
    return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "'%s' is not a length of time", text),
                          "write seconds or a unit: 90, 1.5s, 500ms, 10m, 2h");
}

static dit_status take_int(const suite_option *option, const char *text)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end)
        return DIT_FAIL(DIT_ERR_USAGE, "--%s: '%s' is not an integer", option->name, text);
    bool bounded = option->min || option->max;
    if (bounded && (value < option->min || value > option->max)) {
        return DIT_FAIL(DIT_ERR_USAGE, "--%s: %lld is outside %lld..%lld", option->name, value, (long long)option->min,
                        (long long)option->max);
    }
    *(int64_t *)option->out = value;
    return DIT_OK;
}

static dit_status take_number(const suite_option *option, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value))
        return DIT_FAIL(DIT_ERR_USAGE, "--%s: '%s' is not a number", option->name, text);
    *(double *)option->out = value;
    return DIT_OK;
}

static dit_status take_another(const suite_option *option, const char *text)
{
    suite_strings *list = option->out;
    if (list->count == SUITE_MOST_STRINGS)
        return DIT_FAIL(DIT_ERR_USAGE, "--%s may be given at most %d times", option->name, SUITE_MOST_STRINGS);
    list->items[list->count++] = text;
    return DIT_OK;
}

static dit_status take_value(const suite_option *option, const char *text)
{
    switch (option->kind) {
    case SUITE_OPTION_INT: return take_int(option, text);
    case SUITE_OPTION_NUMBER: return take_number(option, text);
    case SUITE_OPTION_DURATION: {
        dit_status st = suite_cli_duration(text, option->out);
        return st == DIT_OK ? st : dit_error_note(st, "reading --%s", option->name);
    }
    case SUITE_OPTION_STRING: *(const char **)option->out = text; return DIT_OK;
    case SUITE_OPTION_STRINGS: return take_another(option, text);
    default: return DIT_FAIL(DIT_ERR_USAGE, "--%s takes no value", option->name);
    }
}

typedef struct {
    const suite_option *own, *common;
    int argc, at;
    char **argv;
} option_reader;

static dit_status next_value(option_reader *reader, const suite_option *option, const char **value)
{
    if (reader->at + 1 >= reader->argc)
        return DIT_FAIL(DIT_ERR_USAGE, "--%s needs a value %s", option->name, option->argument);
    *value = reader->argv[++reader->at];
    return DIT_OK;
}

static dit_status read_long(option_reader *reader, const char *given)
{
    size_t length = strcspn(given, "=");
    const suite_option *option = find_long(reader->own, given, length);
    const char *value = given[length] ? given + length + 1 : NULL;
    if (!option) option = find_long(reader->common, given, length);
    if (!option) return unknown_option(reader->own, reader->common, given);
    if (option->kind == SUITE_OPTION_FLAG && !value) {
        *(bool *)option->out = true;
        return DIT_OK;
    }
    if (!value) DIT_TRY(next_value(reader, option, &value));
    return take_value(option, value);
}

static dit_status read_short(option_reader *reader, const char *letters)
{
    for (; *letters; letters++) {
        const suite_option *option = find_short(reader->own, *letters);
        const char *value = letters + 1;
        if (!option) option = find_short(reader->common, *letters);
        if (!option) return DIT_FAIL(DIT_ERR_USAGE, "unknown option -%c", *letters);
        if (option->kind == SUITE_OPTION_FLAG) {
            *(bool *)option->out = true;
            continue;
        }
        if (!*value) DIT_TRY(next_value(reader, option, &value));
        return take_value(option, value);
    }
    return DIT_OK;
}

static dit_status read_all(option_reader *reader, suite_cli *cli)
{
    bool operands_only = false;
    for (reader->at = 1; reader->at < reader->argc; reader->at++) {
        const char *word = reader->argv[reader->at];
        if (operands_only || word[0] != '-' || !word[1])
            cli->operands[cli->operand_count++] = word;
        else if (strcmp(word, "--") == 0)
            operands_only = true;
        else
            DIT_TRY(word[1] == '-' ? read_long(reader, word + 2) : read_short(reader, word + 1));
    }
    return DIT_OK;
}

static dit_status check_operands(const suite_cli_spec *spec, const suite_cli *cli)
{
    if (cli->operand_count < spec->min_operands)
        return DIT_FAIL(DIT_ERR_USAGE, "ditbench %s needs %s", spec->verb, spec->operands);
    if (spec->max_operands >= 0 && cli->operand_count > spec->max_operands)
        return DIT_FAIL(DIT_ERR_USAGE, "'%s' is one word too many", cli->operands[spec->max_operands]);
    return DIT_OK;
}

static void apply_common(const suite_cli *cli)
{
    dit_log_set_level(cli->quiet ? DIT_LOG_ERROR : cli->verbose ? DIT_LOG_DEBUG : DIT_LOG_INFO);
    if (cli->no_color) setenv("NO_COLOR", "1", 1);
}

int suite_cli_parse(const suite_cli_spec *spec, int argc, char **argv, suite_cli *out)
{
    bool help = false;
    *out = (suite_cli){0};
    suite_option common[COMMON_COUNT];
    void *const places[COMMON_COUNT] = {&out->json,    &out->dry_run,  &out->output, &out->quiet,
                                        &out->verbose, &out->no_color, &help};
    for (int i = 0; i < COMMON_COUNT; i++) common[i] = common_options[i], common[i].out = places[i];
    option_reader reader = {spec->options, common, argc, 1, argv};
    out->operands = calloc((size_t)argc + 1, sizeof *out->operands);
    dit_status st = out->operands ? read_all(&reader, out) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the command line");
    if (st == DIT_OK && !help) st = check_operands(spec, out);
    if (st == DIT_OK && !help) {
        apply_common(out);
        return -1;
    }
    out->json = out->json || suite_cli_asks_for_json(argc, argv); /* an error before it was read */
    int code = st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(out, st);
    if (st == DIT_OK)
        give_help(spec, out->json);
    else if (!out->json)
        fprintf(stderr, "  try: ditbench help %s\n", spec->verb);
    suite_cli_release(out);
    return code;
}

void suite_cli_release(suite_cli *cli)
{
    free(cli->operands);
    cli->operands = NULL;
    cli->operand_count = 0;
}

void suite_cli_put_error(dit_json_writer *w, cJSON *parent)
{
    const dit_error *error = dit_error_last();
    cJSON *document = dit_json_put_object(w, parent, "error");
    dit_json_put_string(w, document, "code", dit_status_name(error->status));
    dit_json_put_string(w, document, "message", error->message);
    suite_place_put(w, document, error->message);
    if (error->hint[0]) dit_json_put_string(w, document, "hint", error->hint);
    if (error->notes[0]) dit_json_put_string(w, document, "notes", error->notes);
}

/* Integers beyond 2^53 are rounded to 15 digits, so that they print with an exponent: strict readers refuse others. */
static void round_large(cJSON *item)
{
    static const double largest = 9007199254740992;
    char text[32];
    for (; item; item = item->next) {
        if (item->child) round_large(item->child);
        if (!cJSON_IsNumber(item) || fabs(item->valuedouble) <= largest) continue;
        snprintf(text, sizeof text, "%.14e", item->valuedouble);
        item->valuedouble = strtod(text, NULL);
    }
}

dit_status suite_cli_print_json(const char *name, const cJSON *document)
{
    dit_json_writer w = {0};
    char schema[64], *text = NULL;
    const cJSON *own = dit_json_member(document, "schema"), *member;
    cJSON *whole = dit_json_new_object(&w);
    snprintf(schema, sizeof schema, "ditbench.%s/1", name);
    if (!own) dit_json_put_string(&w, whole, "schema", schema);
    cJSON_ArrayForEach(member, document) dit_json_put_copy(&w, whole, member->string, member);
    if (w.status == DIT_OK) {
        round_large(whole->child);
        text = cJSON_Print(whole);
        if (!text) dit_json_put_status(&w, DIT_FAIL(DIT_ERR_MEMORY, "no memory to print an answer"));
    }
    if (text) puts(text);
    free(text);
    cJSON_Delete(whole);
    return w.status;
}

dit_status suite_cli_finish_json(dit_json_writer *w, const char *name, cJSON *document)
{
    if (w->status == DIT_OK) w->status = suite_cli_print_json(name, document);
    cJSON_Delete(document);
    return w->status;
}

int suite_cli_answer(dit_json_writer *w, const char *name, cJSON *document, int code)
{
    const suite_cli json = {.json = true};
    return suite_cli_finish_json(w, name, document) == DIT_OK ? code : suite_cli_fail(&json, w->status);
}

dit_status suite_cli_print_commands(const cJSON *commands)
{
    dit_json_writer w = {0};
    cJSON *document = dit_json_new_object(&w);
    dit_json_put_reference(&w, document, "commands", commands);
    return suite_cli_finish_json(&w, "commands", document);
}

int suite_cli_fail(const suite_cli *cli, dit_status status)
{
    dit_json_writer w = {0};
    cJSON *document = cli->json ? dit_json_new_object(&w) : NULL;
    if (document) suite_cli_put_error(&w, document);
    if (!cli->json || suite_cli_finish_json(&w, "error", document) != DIT_OK) dit_error_print("ditbench");
    return dit_status_exit_code(status);
}
