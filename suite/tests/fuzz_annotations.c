/* Fuzz target of the reader of annotations. Run by ci/fuzz.sh. Beyond not crashing: what is refused says why, and what
 * is accepted is read again as it was appended to another file. Both files lie in memory. */
#include "suite/trend/annotations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check(bool good)
{
    if (!good) abort();
}

static void check_equal(const suite_annotation *one, const suite_annotation *other)
{
    check(one->kind == other->kind && strcmp(one->case_id, other->case_id) == 0);
    check(strcmp(one->metric, other->metric) == 0 && strcmp(one->commit, other->commit) == 0);
    check(strcmp(one->note, other->note) == 0 && strcmp(one->author, other->author) == 0);
    check(strcmp(one->at, other->at) == 0);
}

static void check_again(const suite_annotations *list, int file)
{
    char path[64];
    suite_annotations again = {0};
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    check(ftruncate(file, 0) == 0);
    for (int i = 0; i < list->count; i++) check(suite_annotations_append(path, &list->rows[i]) == DIT_OK);
    check(suite_annotations_read(path, &again) == DIT_OK && again.count == list->count);
    for (int i = 0; i < list->count; i++) check_equal(&list->rows[i], &again.rows[i]);
    suite_annotations_release(&again);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    static int file = -1, second = -1;
    char path[64];
    suite_annotations list = {0};
    if (file < 0) file = memfd_create("annotations.jsonl", 0), second = memfd_create("again.jsonl", 0);
    check(file >= 0 && second >= 0 && ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    dit_error_clear();
    if (suite_annotations_read(path, &list) == DIT_OK)
        check_again(&list, second);
    else
        check(dit_error_last()->message[0] != '\0');
    suite_annotations_release(&list);
    return 0;
}
