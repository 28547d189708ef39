/* Annotations: what people know about a series and the numbers cannot tell, one JSON line each, kept in the repository.
 *
 * A `shift` accepts that a new level begins at a commit: what comes later is held against values from there on. A
 * `note` is shown beside its commit. A `release` names a commit that later ones are held against, however slowly they
 * creep.
 */
#ifndef DIT_SUITE_TREND_ANNOTATIONS_H
#define DIT_SUITE_TREND_ANNOTATIONS_H

#include "base/hash.h"
#include "base/json.h"

typedef enum { SUITE_ANNOTATION_SHIFT, SUITE_ANNOTATION_NOTE, SUITE_ANNOTATION_RELEASE } suite_annotation_kind;

typedef struct {
    suite_annotation_kind kind;
    char case_id[DIT_HASH_HEX]; /* ""; all cases */
    char metric[48];            /* ""; all metrics */
    char commit[64];
    char *note, *author, *at; /* at: UTC */
} suite_annotation;

typedef struct {
    suite_annotation *rows; /* in the order of the file */
    int count, capacity;
} suite_annotations;

/* Reads a file; one that is not there has no annotations. Errors: DIT_ERR_IO, DIT_ERR_JSON_* with the line. */
dit_status suite_annotations_read(const char *path, suite_annotations *out);
void suite_annotations_release(suite_annotations *annotations);
/* Appends one line to the file, which is created where needed. Errors: DIT_ERR_IO, DIT_ERR_MEMORY. */
dit_status suite_annotations_append(const char *path, const suite_annotation *row);

/* "shift", "note", "release" */
const char *suite_annotation_kind_name(suite_annotation_kind kind);
/* Whether two names are one commit: one begins with the other, and has at least 6 digits. */
bool suite_annotation_same_commit(const char *one, const char *other);
/* Whether a row is about a case and a metric. */
bool suite_annotation_concerns(const suite_annotation *row, const char *case_id, const char *metric);

#endif
