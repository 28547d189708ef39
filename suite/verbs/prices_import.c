#include "suite/verbs/prices_import.h"

#include "base/file.h"
#include "base/words.h"
#include "suite/catalogue/catalogue.h"
#include "suite/console/terminal.h"
#include "suite/prices/book.h"
#include "suite/prices/skypilot.h"
#include "suite/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 64 << 20 };

static dit_status check_request(const prices_import_request *request)
{
    static const char *const formats[] = {"skypilot", NULL};
    int64_t day;
    if (dit_words_find(formats, request->format) < 0)
        return dit_fail_word(DIT_ERR_USAGE, "format", request->format, formats);
    if (!request->file) return DIT_FAIL(DIT_ERR_USAGE, "--import %s needs one file, the catalogue", request->format);
    if (!request->map || !request->date || !request->commit)
        return dit_error_hint(DIT_FAIL(DIT_ERR_USAGE, "--import needs --map, --date and --commit"),
                              "a catalogue has no date: give its commit, the day of that commit, and the table "
                              "of its names");
    if (!suite_day_read(request->date, &day))
        return DIT_FAIL(DIT_ERR_USAGE, "--date \"%s\" is not a day of 1990 to 2199", request->date);
    return DIT_OK;
}

/* What is written must be read: names of accelerators and platforms are those of the catalogue. */
static dit_status check_book(const cJSON *document)
{
    suite_price_book book = {0};
    char *text = NULL, **accelerators = NULL, **platforms = NULL;
    dit_status st = dit_json_canonical(document, &text);
    if (st == DIT_OK) st = suite_catalogue_names("accelerators", &accelerators);
    if (st == DIT_OK) st = suite_catalogue_names("platforms", &platforms);
    if (st == DIT_OK)
        st = suite_price_book_parse(&book, text, strlen(text), "the imported file", (const char *const *)accelerators,
                                    (const char *const *)platforms);
    suite_names_free(accelerators);
    suite_names_free(platforms);
    suite_price_book_release(&book);
    free(text);
    return st;
}

static dit_status import_file(const prices_import_request *request, suite_skypilot_import *out)
{
    char *text = NULL;
    size_t length = 0;
    dit_json names = {0};
    dit_status st = dit_json_read_file(request->map, &names);
    if (st == DIT_OK) st = dit_file_read(request->file, MOST_BYTES, &text, &length);
    if (st == DIT_OK) {
        const suite_skypilot_request asked = {text, request->file, length, &names, request->commit, request->date};
        st = suite_skypilot_read(&asked, out);
    }
    if (st == DIT_OK) st = check_book(out->book);
    dit_json_release(&names);
    free(text);
    return st;
}

static void print(const prices_import_request *request, const suite_skypilot_import *import, const char *output)
{
    int others = 0, spots = 0;
    for (int i = 0; i < import->refused_count; i++) {
        const suite_skypilot_refused *refused = &import->refused[i];
        char reason[sizeof refused->reason];
        others += refused->why == SUITE_SKYPILOT_NO_ACCELERATOR;
        spots += suite_skypilot_keeps_line(refused->why);
        if (refused->why == SUITE_SKYPILOT_NO_ACCELERATOR) continue;
        memcpy(reason, refused->reason, sizeof reason);
        suite_text_clean(reason);
        printf("%s:%d: %s: %s\n", request->file, refused->line, suite_skypilot_refusal_name(refused->why), reason);
    }
    printf("%d line%s: %d quote%s, %d of them in doubt; %d line%s refused, %d spot price%s left out, %d without an "
           "accelerator\n",
           import->line_count, suite_plural(import->line_count), import->quote_count, suite_plural(import->quote_count),
           import->doubt_count, import->refused_count - others - spots,
           suite_plural(import->refused_count - others - spots), spots, suite_plural(spots), others);
    if (output) printf("%s\n", output);
}

static void put(dit_json_writer *w, cJSON *document, const suite_skypilot_import *import, const char *output)
{
    dit_json_put_int(w, document, "lines", import->line_count);
    dit_json_put_int(w, document, "in_doubt", import->doubt_count);
    cJSON *refused = dit_json_put_array(w, document, "refused");
    for (int i = 0; i < import->refused_count; i++) {
        cJSON *row = dit_json_put_object(w, refused, NULL);
        dit_json_put_int(w, row, "line", import->refused[i].line);
        dit_json_put_string(w, row, "code", suite_skypilot_refusal_name(import->refused[i].why));
        suite_text_put(w, row, "reason", import->refused[i].reason);
    }
    dit_json_put_copy(w, document, "book", import->book);
    if (output) dit_json_put_string(w, document, "path", output);
}

int prices_import(const suite_cli *cli, const prices_import_request *request)
{
    suite_skypilot_import import = {0};
    dit_json_writer w = {0};
    const char *output = cli->dry_run ? NULL : cli->output;
    dit_status st = check_request(request);
    if (st == DIT_OK) st = import_file(request, &import);
    if (st == DIT_OK && output) st = dit_json_write_file(import.book, output, false);
    int code = st == DIT_OK ? DIT_EXIT_OK : suite_cli_fail(cli, st);
    if (st == DIT_OK && cli->json) {
        cJSON *document = dit_json_new_object(&w);
        put(&w, document, &import, output);
        code = suite_cli_answer(&w, "prices-import", document, code);
    } else if (st == DIT_OK) {
        print(request, &import, output);
    }
    suite_skypilot_release(&import);
    return code;
}
