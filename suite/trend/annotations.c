#include "suite/trend/annotations.h"

#include "base/file.h"
#include "base/json_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ANNOTATIONS_BYTES = 16 << 20, COMMIT_LEAST = 6 };

static const char *const kind_names[] = {
    [SUITE_ANNOTATION_SHIFT] = "shift", [SUITE_ANNOTATION_NOTE] = "note", [SUITE_ANNOTATION_RELEASE] = "release", NULL};

const char *suite_annotation_kind_name(suite_annotation_kind kind)
{
    return kind_names[kind];
}

bool suite_annotation_same_commit(const char *one, const char *other)
{
    size_t a = strlen(one), b = strlen(other), shorter = a < b ? a : b;
    if (strcmp(one, other) == 0) return a > 0;
    return shorter >= COMMIT_LEAST && strncmp(one, other, shorter) == 0;
}

bool suite_annotation_concerns(const suite_annotation *row, const char *case_id, const char *metric)
{
    return (!row->case_id[0] || strcmp(row->case_id, case_id) == 0) &&
           (!row->metric[0] || strcmp(row->metric, metric) == 0);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static dit_status no_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for annotations");
}

static dit_status add_row(suite_annotations *list, suite_annotation **out)
{
    if (list->count == list->capacity) {
        int capacity = list->capacity * 2 + 16;
        suite_annotation *grown = realloc(list->rows, (size_t)capacity * sizeof *grown);
        if (!grown) return no_memory();
        list->rows = grown;
        list->capacity = capacity;
    }
    *out = &list->rows[list->count++];
    **out = (suite_annotation){0};
    return DIT_OK;
}

static dit_status read_kind(const dit_json *doc, suite_annotation_kind *out)
{
    const char *word = NULL;
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "kind", &word));
    for (int i = 0; kind_names[i]; i++)
        if (strcmp(word, kind_names[i]) == 0) return *out = (suite_annotation_kind)i, DIT_OK;
    return dit_json_fail_word(doc, "/kind", "kind", word, kind_names);
}

/* A name of fixed room; one that is longer is no name of ours, and half of it would be another one. */
static dit_status read_name(const dit_json *doc, const char *key, char *out, size_t size)
{
    const char *text = "";
    char pointer[32];
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", key, &text));
    snprintf(pointer, sizeof pointer, "/%s", key);
    if (strlen(text) >= size)
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "longer than %d bytes", (int)size - 1);
    return memcpy(out, text, strlen(text) + 1), DIT_OK;
}

static dit_status read_row(const dit_json *doc, suite_annotation *out)
{
    static const char *const keys[] = {"kind", "case_id", "label", "metric", "commit", "note", "author", "at", NULL};
    const char *commit = NULL, *note = "", *author = "", *at = "";
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(read_kind(doc, &out->kind));
    DIT_TRY(dit_json_require_string(doc, doc->root, "", "commit", &commit));
    DIT_TRY(read_name(doc, "commit", out->commit, sizeof out->commit));
    DIT_TRY(read_name(doc, "case_id", out->case_id, sizeof out->case_id));
    DIT_TRY(read_name(doc, "metric", out->metric, sizeof out->metric));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "note", &note));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "author", &author));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "at", &at));
    out->note = strdup(note);
    out->author = strdup(author);
    out->at = strdup(at);
    return out->note && out->author && out->at ? DIT_OK : no_memory();
}

static dit_status read_line(const char *path, int number, const char *line, size_t length, suite_annotations *out)
{
    suite_annotation *row = NULL;
    dit_json doc = {0};
    dit_status st = dit_json_parse(line, length, path, &doc);
    if (st == DIT_OK) st = add_row(out, &row);
    if (st == DIT_OK) st = read_row(&doc, row);
    dit_json_release(&doc);
    return st == DIT_OK ? st : dit_error_note(st, "%s: line %d", path, number);
}

dit_status suite_annotations_read(const char *path, suite_annotations *out)
{
    char *text = NULL;
    size_t length = 0;
    *out = (suite_annotations){0};
    if (access(path, F_OK) != 0) return DIT_OK;
    DIT_TRY(dit_file_read(path, ANNOTATIONS_BYTES, &text, &length));
    dit_status st = DIT_OK;
    int number = 1;
    for (char *line = text; st == DIT_OK && *line; number++) {
        size_t bytes = strcspn(line, "\n");
        if (strspn(line, " \t\r") < bytes) st = read_line(path, number, line, bytes, out);
        line += bytes + (line[bytes] == '\n');
    }
    free(text);
    if (st != DIT_OK) suite_annotations_release(out);
    return st;
}

void suite_annotations_release(suite_annotations *annotations)
{
    for (int i = 0; i < annotations->count; i++) {
        free(annotations->rows[i].note);
        free(annotations->rows[i].author);
        free(annotations->rows[i].at);
    }
    free(annotations->rows);
    *annotations = (suite_annotations){0};
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static dit_status make_line(const suite_annotation *row, char **out)
{
    dit_json_writer w = {0};
    cJSON *object = dit_json_new_object(&w), *document = NULL;
    dit_json_put_string(&w, object, "kind", kind_names[row->kind]);
    if (row->case_id[0]) dit_json_put_string(&w, object, "case_id", row->case_id);
    if (row->metric[0]) dit_json_put_string(&w, object, "metric", row->metric);
    dit_json_put_string(&w, object, "commit", row->commit);
    dit_json_put_string(&w, object, "note", row->note);
    dit_json_put_string(&w, object, "author", row->author);
    dit_json_put_string(&w, object, "at", row->at);
    DIT_TRY(dit_json_finish(&w, object, &document));
    dit_status st = dit_json_canonical(document, out);
    cJSON_Delete(document);
    return st;
}

dit_status suite_annotations_append(const char *path, const suite_annotation *row)
{
    char *line = NULL;
    DIT_TRY(make_line(row, &line));
    FILE *file = fopen(path, "ae");
    bool written = file && fprintf(file, "%s\n", line) > 0;
    if (file) written = (fclose(file) == 0) && written;
    free(line);
    return written ? DIT_OK : DIT_FAIL(DIT_ERR_IO, "cannot write %s: %s", path, strerror(errno));
}
